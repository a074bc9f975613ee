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
enum { _SC_PAGESIZE = 30 };
static inline long sysconf(int name) { return name == _SC_PAGESIZE ? 4096 : -1; }
static inline int mlock(const void *memory, size_t bytes) { return (void)memory, (void)bytes, -1; }
static inline int setenv(const char *name, const char *value, int replaces) {
    return replaces || !getenv(name) ? _putenv_s(name, value) : 0;
}
static inline int unsetenv(const char *name) { return _putenv_s(name, ""); }

/* One file in memory at a time. */
#include <stdio.h>
static FILE *tap_memory;
static char **tap_text;
static size_t *tap_bytes, tap_room;
static char *tap_buffer;
static inline FILE *fmemopen(void *buffer, size_t bytes, const char *mode) {
    (void)mode; /* "w" */
    tap_buffer = (char *)buffer, tap_room = bytes;
    return tap_memory = tmpfile();
}
static inline FILE *open_memstream(char **text, size_t *bytes) {
    tap_text = text, tap_bytes = bytes, tap_buffer = NULL;
    return tap_memory = tmpfile();
}
static inline int tap_close(FILE *file) {
    if (file && file == tap_memory && tap_buffer) {
        rewind(file);
        size_t bytes = fread(tap_buffer, 1, tap_room - 1, file);
        tap_buffer[bytes] = 0;
        tap_memory = NULL;
    }
    if (file && file == tap_memory) {
        *tap_bytes = (size_t)ftell(file);
        *tap_text = (char *)calloc(1, *tap_bytes + 1);
        rewind(file);
        *tap_bytes = fread(*tap_text, 1, *tap_bytes, file);
        tap_memory = NULL;
    }
    return fclose(file);
}
#define fclose tap_close
