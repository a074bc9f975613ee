/* What the tests use of POSIX beyond headers of their own, on Windows: included before each of them. */
#pragma once

#include <signal.h>
#include <stdlib.h>

enum { SIGBUS = 100, SIGKILL, SIGURG, SIGUSR1, SIGALRM, SIGTRAP };
static inline const char *strsignal(int number) {
    return number == SIGSEGV ? "Segmentation fault" : number == SIGABRT ? "Aborted" : "a signal";
}
static inline int mlock(const void *memory, size_t bytes) { return (void)memory, (void)bytes, -1; }
