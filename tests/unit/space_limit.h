/* Whether the system keeps a limit of a process's address space, which an emulator does not. */
#pragma once

#include <stdbool.h>
#include <sys/resource.h>

static inline bool space_can_be_limited(void) {
    struct rlimit before, is = {0, 0};
    getrlimit(RLIMIT_AS, &before);
    struct rlimit some = {(rlim_t)1 << 46, before.rlim_max};
    setrlimit(RLIMIT_AS, &some);
    getrlimit(RLIMIT_AS, &is);
    setrlimit(RLIMIT_AS, &before);
    return is.rlim_cur == some.rlim_cur;
}
