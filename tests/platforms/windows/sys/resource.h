/* What the tests and examples use of this header of POSIX, on Windows. Limits are accepted, and limit nothing. */
#pragma once

#include <windows.h>

#include <psapi.h>
#include <sys/time.h>

enum { RLIMIT_CORE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_MEMLOCK, RLIMIT_NOFILE, RLIMIT_CPU };
enum { RUSAGE_SELF, RUSAGE_THREAD };
#define RLIM_INFINITY (~0ull)
struct rlimit {
    unsigned long long rlim_cur, rlim_max;
};
struct rusage {
    struct timeval ru_utime, ru_stime;
    long long ru_maxrss; /* in KiB */
};

static inline int setrlimit(int which, const struct rlimit *limit) { return (void)which, (void)limit, 0; }
static inline int getrlimit(int which, struct rlimit *limit) {
    (void)which;
    limit->rlim_cur = limit->rlim_max = RLIM_INFINITY;
    return 0;
}

static inline struct timeval tap_filetime(FILETIME time) {
    unsigned long long us = (((unsigned long long)time.dwHighDateTime << 32) | time.dwLowDateTime) / 10;
    struct timeval value = {(long)(us / 1000000), (long)(us % 1000000)};
    return value;
}
static inline int getrusage(int who, struct rusage *use) {
    FILETIME start, end, kernel, user;
    PROCESS_MEMORY_COUNTERS memory = {0};
    if (who == RUSAGE_SELF)
        GetProcessTimes(GetCurrentProcess(), &start, &end, &kernel, &user);
    else
        GetThreadTimes(GetCurrentThread(), &start, &end, &kernel, &user);
    GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory);
    use->ru_utime = tap_filetime(user);
    use->ru_stime = tap_filetime(kernel);
    use->ru_maxrss = (long long)(memory.PeakWorkingSetSize >> 10);
    return 0;
}
