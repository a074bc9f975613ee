/* What the tests use of POSIX beyond headers of their own, on Windows: included before each of them. */
#pragma once

#include <signal.h>
#include <stdlib.h>

#undef SIGABRT
#define SIGABRT 6 /* the tests write the number, too; signal() takes both */
enum { SIGBUS = 100, SIGKILL, SIGURG, SIGUSR1, SIGALRM, SIGTRAP };
static inline const char *strsignal(int number) {
    return number == SIGSEGV ? "Segmentation fault" : number == SIGABRT ? "Aborted" : "a signal";
}
static inline int mlock(const void *memory, size_t bytes) { return (void)memory, (void)bytes, -1; }
static inline int setenv(const char *name, const char *value, int replaces) {
    return replaces || !getenv(name) ? _putenv_s(name, value) : 0;
}
static inline int unsetenv(const char *name) { return _putenv_s(name, ""); }
