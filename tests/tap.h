/* TAP for the C tests: one ok() per fact, done() at the end. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int tap_count, tap_failures;

/* Whether `make quick` runs the test: then it repeats less, and leaves out what takes more than a second. */
static inline bool is_quick(void) { return getenv("QUICK") != NULL; }

static inline __attribute__((format(printf, 1, 2))) void diag(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    va_start(arguments, format);
    fputs("# ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)
#define is(got, expected, ...) tap_is((long long)(got), (long long)(expected), __FILE__, __LINE__, #got, __VA_ARGS__)
#define has(text, part, ...) tap_has((text), (part), __FILE__, __LINE__, __VA_ARGS__)

static inline void tap_line(bool condition, const char *file, int line, const char *format, va_list arguments) {
    printf("%sok %d - ", condition ? "" : "not ", ++tap_count);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    if (condition) return;
    tap_failures++, diag("%s:%d:", file, line);
    if (getenv("TAP_FIRST_FAILURE_ENDS")) _exit(1); /* where a fault was planted, the first failure tells all */
}

static inline __attribute__((format(printf, 5, 6))) bool tap_ok(bool condition, const char *file, int line,
                                                                 const char *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tap_line(condition, file, line, format, arguments);
    va_end(arguments);
    if (!condition) diag("%s", text);
    return condition;
}

static inline __attribute__((format(printf, 6, 7))) bool tap_is(long long got, long long expected, const char *file, int line,
                                                                 const char *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tap_line(got == expected, file, line, format, arguments);
    va_end(arguments);
    if (got != expected) diag("%s: got %lld (%#llx), expected %lld (%#llx)", text, got, got, expected, expected);
    return got == expected;
}

static inline __attribute__((format(printf, 5, 6))) bool tap_has(const char *text, const char *part, const char *file,
                                                                  int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tap_line(strstr(text, part) != NULL, file, line, format, arguments);
    va_end(arguments);
    if (!strstr(text, part)) diag("no '%s' in: %s", part, text);
    return strstr(text, part) != NULL;
}

static inline int done(void) {
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}

#ifdef _WIN32
#include "platforms/windows/child.h"
#else
/* Runs `body` in a child process, and returns its exit status, or 256 + the signal that ended it. What the child wrote to
   stdout and stderr is in `output`, ended by 0. */
static inline int tap_child(void (*body)(void *), void *argument, char *output, size_t size) {
    int ends[2], status;
    size_t length = 0;
    ssize_t count;
    fflush(stdout);
    if (pipe(ends) != 0) abort();
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        dup2(ends[1], 1), dup2(ends[1], 2);
        close(ends[0]), close(ends[1]);
        body(argument);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    char rest[512];
    while ((count = length + 1 < size ? read(ends[0], output + length, size - 1 - length) : read(ends[0], rest, sizeof rest)) > 0)
        length += length + 1 < size ? (size_t)count : 0;
    output[length] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}
#endif
