/* Reads files and pipes line by line, without the C library's memory: a stopped thread may hold the lock of its
   allocator. */
#pragma once

#include "image.h"

#ifdef __linux__
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct gc__os_lines {
    int file;
    int patience_ms; /* after this time a silent pipe counts as ended; 0: it is a file */
    size_t next, end;
    char bytes[2048];
} gc__os_lines;

/* Returns whether something can be read before the patience ends. The header of poll() declares more names than
   programs expect here. */
static inline bool gc__os_lines_wait(const gc__os_lines *lines) {
    struct {
        int file;
        short wanted, ready;
    } of = {lines->file, 1 /* POLLIN */, 0};
    struct timespec time = {lines->patience_ms / 1000, (long)(lines->patience_ms % 1000) * 1000000};
    if (!lines->patience_ms) return true;
    long ready; /* the call takes what has passed from the time */
    while ((ready = syscall(SYS_ppoll, &of, 1, &time, NULL, (size_t)8)) < 0 && errno == EINTR) continue;
    return ready > 0;
}

/* Reads the next line, without its end, cut to `bytes`. Returns false if there is none. */
GC__IMAGE_FN bool gc__os_line(gc__os_lines *lines, char *line, size_t bytes) {
    size_t length = 0;
    for (bool any = false;; any = true) {
        if (lines->next == lines->end) {
            ssize_t got = gc__os_lines_wait(lines) ? read(lines->file, lines->bytes, sizeof lines->bytes) : 0;
            lines->next = 0, lines->end = got > 0 ? (size_t)got : 0;
            if (got <= 0 && !any) return false;
        }
        char byte = lines->end ? lines->bytes[lines->next++] : '\n';
        if (byte == '\n') break;
        if (length + 1 < bytes) line[length++] = byte;
    }
    line[length] = 0;
    return true;
}
#endif
