/* The memory and the number of processors that the process may use: the limits of its control groups and its own. */
#pragma once

#include "platform.h"
#include "lines_linux.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

GC__VAR const char *gc__os_root = ""; /* precedes the names of the files below; tests use a folder of their own */

#define GC__OS_NAME_BYTES 1024

/* The hierarchy of control groups that has a controller: "memory" or "cpu". */
typedef struct gc__os_groups {
    const char *controller;
    char group[GC__OS_NAME_BYTES];  /* the process's group, as /proc/self/cgroup names it */
    char root[GC__OS_NAME_BYTES];   /* the group that is at the mount point */
    char folder[GC__OS_NAME_BYTES]; /* the mount point; later the folder of the process's group */
    size_t mount_bytes;             /* length of the mount point */
    bool first;                     /* version 1 of control groups */
} gc__os_groups;

GC__COLD bool gc__os_lines_open(gc__os_lines *lines, const char *folder, const char *file) {
    char name[2 * GC__OS_NAME_BYTES];
    snprintf(name, sizeof name, "%s%s/%s", gc__os_root, folder, file);
    lines->next = lines->end = 0;
    lines->patience_ms = 0;
    lines->file = open(name, O_RDONLY | O_CLOEXEC);
    return lines->file >= 0;
}

/* Reads the first line of a small file; empty if there is none. */
GC__COLD void gc__os_read_line(const char *folder, const char *file, char *line, size_t bytes) {
    gc__os_lines lines;
    *line = 0;
    if (!gc__os_lines_open(&lines, folder, file)) return;
    if (!gc__os_line(&lines, line, bytes)) *line = 0;
    close(lines.file);
}

/* Returns the number in a file; SIZE_MAX if there is none, as where the file says "max". */
GC__COLD size_t gc__os_number_in(const char *folder, const char *file) {
    char line[64], *end;
    gc__os_read_line(folder, file, line, sizeof line);
    unsigned long long number = strtoull(line, &end, 10);
    return end == line ? SIZE_MAX : (size_t)number;
}

/* Returns whether `word` is in a list that is separated by commas. */
GC__COLD bool gc__os_lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
    return false;
}

/* Lines are "4:memory:/group" in version 1, "0::/group" in version 2. Where both are in use, version 1 has the
   controller. */
GC__COLD bool gc__os_find_group(gc__os_groups *groups) {
    gc__os_lines lines;
    char line[GC__OS_NAME_BYTES];
    bool found = false;
    if (!gc__os_lines_open(&lines, "/proc/self", "cgroup")) return false;
    while (!(found && groups->first) && gc__os_line(&lines, line, sizeof line)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        bool first = gc__os_lists(controllers, groups->controller);
        if (!first && (*controllers || found)) continue;
        memcpy(groups->group, group, strlen(group) + 1);
        groups->first = first;
        found = true;
    }
    close(lines.file);
    return found;
}

/* Lines are "31 23 0:28 /root /mount/point options [more] - type source options". */
GC__COLD bool gc__os_find_mount(gc__os_groups *groups) {
    gc__os_lines lines;
    char line[2 * GC__OS_NAME_BYTES], type[32], options[GC__OS_NAME_BYTES];
    bool found = false;
    if (!gc__os_lines_open(&lines, "/proc/self", "mountinfo")) return false;
    while (!found && gc__os_line(&lines, line, sizeof line)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(rest, " - %31s %*s %1023s", type, options) != 2) continue;
        if (strcmp(type, groups->first ? "cgroup" : "cgroup2") != 0) continue;
        if (groups->first && !gc__os_lists(options, groups->controller)) continue;
        found = sscanf(line, "%*s %*s %*s %1023s %1023s", groups->root, groups->folder) == 2;
    }
    close(lines.file);
    return found;
}

/* Enters the process's group below the mount point; the mount point itself if the process does not see its group's
   name, as in a container. */
GC__COLD void gc__os_enter_group(gc__os_groups *groups) {
    size_t root = strcmp(groups->root, "/") == 0 ? 0 : strlen(groups->root);
    const char *rest = groups->group + root;
    groups->mount_bytes = strlen(groups->folder);
    if (strncmp(groups->group, groups->root, root) != 0 || *rest != '/' || !rest[1] || strstr(rest, "/..")) return;
    snprintf(groups->folder + groups->mount_bytes, sizeof groups->folder - groups->mount_bytes, "%s", rest);
}

/* Returns the least limit that `limit` finds in the folder of the process's group and of the groups around it; SIZE_MAX
   if there is none. */
GC__COLD size_t gc__os_group_least(const char *controller, size_t (*limit)(const gc__os_groups *groups)) {
    gc__os_groups groups;
    size_t least = SIZE_MAX;
    groups.controller = controller;
    if (!gc__os_find_group(&groups) || !gc__os_find_mount(&groups)) return least;
    gc__os_enter_group(&groups);
    for (;;) {
        size_t here = limit(&groups);
        if (here < least) least = here;
        char *slash = strrchr(groups.folder, '/');
        if (!slash || slash < groups.folder + groups.mount_bytes) return least;
        *slash = 0;
    }
}

GC__COLD size_t gc__os_group_bytes(const gc__os_groups *groups) {
    static const char *const first[] = {"memory.limit_in_bytes", NULL}, *const second[] = {"memory.max", "memory.high",
                                                                                           NULL};
    size_t least = SIZE_MAX;
    for (const char *const *file = groups->first ? first : second; *file; file++) {
        size_t bytes = gc__os_number_in(groups->folder, *file);
        if (bytes < least) least = bytes;
    }
    return least;
}

/* Returns the number of processors that the group's quota amounts to, at least 1. The quota is in microseconds of all
   processors per period. */
GC__COLD size_t gc__os_group_processors(const gc__os_groups *groups) {
    char line[64];
    unsigned long long quota, period;
    if (groups->first) {
        quota = gc__os_number_in(groups->folder, "cpu.cfs_quota_us"); /* -1: no quota */
        period = gc__os_number_in(groups->folder, "cpu.cfs_period_us");
        if (quota > (unsigned long long)INT64_MAX || period == SIZE_MAX) return SIZE_MAX;
    } else {
        gc__os_read_line(groups->folder, "cpu.max", line, sizeof line);
        if (sscanf(line, "%llu %llu", &quota, &period) != 2) return SIZE_MAX;
    }
    return period ? (size_t)((quota + period - 1) / period) + !quota : SIZE_MAX;
}

GC__COLD unsigned gc__os_quota(void) {
    int error = errno;
    size_t quota = gc__os_group_least("cpu", gc__os_group_processors);
    errno = error;
    return quota < UINT_MAX ? (unsigned)quota : UINT_MAX;
}

/* this bit of a page's entry and those above it are 0 if the page is neither in memory nor in swap */
#define GC__OS_PAGE_HELD 61

GC__HOT void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t),
                                 void *context) {
    uint64_t entries[512];
    size_t page = gc__os_page_bytes(), most = sizeof entries / sizeof *entries;
    uintptr_t at = from / page, last = (end + page - 1) / page, run = 0; /* 0: `at` is in no run of pages */
    bool any = false;
    /* qemu-user leaves the entries in the order of its own machine, where pages then seem to be missing. */
    bool ordered = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    int error = errno, file = ordered ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    while (file >= 0 && at < last) {
        size_t count = last - at < most ? last - at : most, bytes = count * sizeof *entries;
        if (pread(file, entries, bytes, (off_t)(at * sizeof *entries)) != (ssize_t)bytes) break;
        for (size_t i = 0; i < count; i++, at++) {
            bool held = entries[i] >> GC__OS_PAGE_HELD;
            any |= held;
            if (held && !run) run = at;
            if (held || !run) continue;
            visit(context, run * page > from ? run * page : from, at * page);
            run = 0;
        }
    }
    if (file >= 0) close(file);
    errno = error;
    if (!any) run = from / page; /* if no page is present, the table cannot be right */
    if (!run && at < last) run = at;
    if (run) visit(context, run * page > from ? run * page : from, end);
}

GC__COLD size_t gc__os_machine_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? (size_t)pages * gc__os_page_bytes() : SIZE_MAX;
}

GC__COLD size_t gc__os_container_bytes(void) {
    int error = errno;
    size_t bytes = gc__os_group_least("memory", gc__os_group_bytes);
    errno = error;
    return bytes < gc__os_machine_bytes() ? bytes : 0;
}

/* Returns whether a limit of which `used` pages are in use has no room for `bytes` more. */
GC__FN bool gc__os_exceeds(const struct rlimit *limit, unsigned long used, size_t bytes) {
    return limit->rlim_cur != RLIM_INFINITY && used * gc__os_page_bytes() + bytes > limit->rlim_cur;
}

GC__COLD const char *gc__os_refusal(size_t bytes) {
    if (errno == EAGAIN)
        return "raise `ulimit -l`, which counts address space too once the program has called mlockall";
    char line[256];
    unsigned long size = 0, data = 0;
    gc__os_read_line("/proc/self", "statm", line, sizeof line);
    if (sscanf(line, "%lu %*u %*u %*u %*u %lu", &size, &data) != 2) size = data = 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && gc__os_exceeds(&limit, size, bytes)) return "raise `ulimit -v`";
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && gc__os_exceeds(&limit, data, bytes)) return "raise `ulimit -d`";
    if (gc__os_number_in("/proc/sys/vm", "overcommit_memory") == 2)
        return "vm.overcommit_memory is 2, so the system promises no more memory than it has: raise "
               "vm.overcommit_ratio";
    return "raise `ulimit -v`, or vm.max_map_count if the process has many mappings, or give the machine more memory";
}
#endif
