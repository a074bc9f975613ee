/* What the tests and examples use of this header of POSIX, on Windows. Limits are accepted, and limit nothing. */
#pragma once

#include <stddef.h>
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

/* The system's header would define names that tests have, too. */
void *tap_process(void) __asm__("GetCurrentProcess");
void *tap_thread(void) __asm__("GetCurrentThread");
int tap_process_times(void *, unsigned long long *, unsigned long long *, unsigned long long *, unsigned long long *) __asm__("GetProcessTimes");
int tap_thread_times(void *, unsigned long long *, unsigned long long *, unsigned long long *, unsigned long long *) __asm__("GetThreadTimes");
int tap_process_memory(void *, size_t *, unsigned) __asm__("K32GetProcessMemoryInfo");

static inline struct timeval tap_time(unsigned long long units) {
    struct timeval value = {(long)(units / 10000000), (long)(units / 10 % 1000000)};
    return value;
}
static inline int getrusage(int who, struct rusage *use) {
    unsigned long long start, end, kernel = 0, user = 0;
    size_t memory[9] = {0}; /* the second word is the peak */
    if (who == RUSAGE_SELF)
        tap_process_times(tap_process(), &start, &end, &kernel, &user);
    else
        tap_thread_times(tap_thread(), &start, &end, &kernel, &user);
    tap_process_memory(tap_process(), memory, sizeof memory);
    use->ru_utime = tap_time(user);
    use->ru_stime = tap_time(kernel);
    use->ru_maxrss = (long long)(memory[1] >> 10);
    return 0;
}
