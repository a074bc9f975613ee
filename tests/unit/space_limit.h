/* Address space: how much of it the process has, and limits of it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct space_use {
    size_t bytes, resident_bytes;
} space_use;

static inline space_use space_used(void) {
    size_t pages = 0, resident = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu %zu", &pages, &resident) != 2) exit(3);
    fclose(file);
    space_use use = {pages * page, resident * page};
    return use;
}

/* Limits address space to what the process has now, and `more` bytes. */
static inline void limit_space(size_t more) {
    struct rlimit space;
    space.rlim_cur = space.rlim_max = space_used().bytes + more;
    setrlimit(RLIMIT_AS, &space);
}

/* Whether the system keeps such a limit, which an emulator does not. */
static inline bool space_can_be_limited(void) {
    struct rlimit before, is = {0, 0};
    getrlimit(RLIMIT_AS, &before);
    struct rlimit some = {(rlim_t)1 << 46, before.rlim_max};
    setrlimit(RLIMIT_AS, &some);
    getrlimit(RLIMIT_AS, &is);
    setrlimit(RLIMIT_AS, &before);
    return is.rlim_cur == some.rlim_cur;
}
