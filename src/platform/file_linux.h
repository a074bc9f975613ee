/* Files that gc.h writes of its own accord. Errors are left in errno. */
#pragma once

#include "platform.h"

#ifndef __linux__
#error "gc_profile.h: profiles are for Linux only, so far: on Windows, leave GC_IMPLEMENTATION to gc.h or gc_stackmap.h"
#include GC__STOP
#endif
#include <fcntl.h>
#include <sys/stat.h>

#define GC__NAME_BYTES_MAX ((size_t)PATH_MAX)

/* Opens a file for writing, creating or emptying it; returns -1 if the system refuses. Processes started by exec do not
   inherit it. */
GC__FN int gc__os_file_create(const char *name) {
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
}

/* Opens a file in a folder to which everybody may write: refuses a link, and a file of another user. */
GC__FN int gc__os_file_create_own(const char *name) {
    struct stat status;
    int file = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    if (file < 0) return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() && ftruncate(file, 0) == 0)
        return file;
    close(file);
    errno = EPERM;
    return -1;
}

/* The identity of the file behind a descriptor. Programs close descriptors that are not theirs, as daemons do when they
   start, and then get the same numbers for files of their own, to which gc.h must not write. */
typedef struct gc__os_file_identity {
    uint64_t device, number;
} gc__os_file_identity;

GC__FN gc__os_file_identity gc__os_file_identify(int file) {
    struct stat status;
    gc__os_file_identity none = {0, 0};
    if (file < 0 || fstat(file, &status) != 0) return none;
    gc__os_file_identity identity = {(uint64_t)status.st_dev, (uint64_t)status.st_ino};
    return identity;
}

GC__FN bool gc__os_file_is(int file, const gc__os_file_identity *identity) {
    gc__os_file_identity now = gc__os_file_identify(file);
    bool same = now.device == identity->device && now.number == identity->number;
    if (!same) errno = EBADF;
    return same;
}

/* Maps the beginning of a file as code that this process never runs; returns NULL if the system refuses. */
GC__FN void *gc__os_file_map_code(int file, size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* The file in which perf looks for names of compiled code, by the number of the process. */
#define GC__PERF_MAP "/tmp/perf-%u.map"

/* Writes all of the data at a position or, if that is -1, where the last such call has ended. */
GC__FN bool gc__os_file_write(int file, const void *data, size_t bytes, int64_t position) {
    for (size_t done = 0; done < bytes;) {
        const char *from = (const char *)data + done;
        ssize_t count = position < 0 ? write(file, from, bytes - done)
                                     : pwrite(file, from, bytes - done, (off_t)(position + (int64_t)done));
        if (count < 0 && errno == EINTR) continue;
        if (count == 0) errno = EIO;
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

GC__FN bool gc__os_file_close(int file) { return close(file) == 0 || errno == EINTR; }
GC__FN bool gc__os_file_rename(const char *from, const char *to) { return rename(from, to) == 0; }
GC__FN void gc__os_file_remove(const char *name) { unlink(name); }

/* Returns whether the name is that of a device, a pipe or the like, which cannot be replaced by another file. */
GC__FN bool gc__os_file_is_special(const char *name) {
    struct stat status;
    return stat(name, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

GC__FN int gc__os_error(void) { return errno; }
GC__FN void gc__os_error_text(int error, char *text, size_t bytes) {
    int saved = errno;
    snprintf(text, bytes, "%s", strerror(error));
    errno = saved;
}

/* Returns the time of day, in ns since 1970. */
GC__FN uint64_t gc__os_utc_ns(void) { return gc__os_clock_ns(CLOCK_REALTIME); }
