/* host.c - errors, files, text, and the line of statistics. */
#define _GNU_SOURCE
#include "calc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static const char *script = "calc";

void fail(int line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fflush(stdout);
    fprintf(stderr, "%s", script);
    if (line) fprintf(stderr, ":%d", line);
    fprintf(stderr, ": error: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}

arguments read_arguments(int argc, char **argv) {
    arguments a = {NULL, 0, false};
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        if (strcmp(argv[i], "--stats") == 0)
            a.stats = true;
        else if (!a.path)
            a.path = script = argv[i];
        else if (a.n = strtod(argv[i], &end), end == argv[i] || *end)
            a.path = NULL, i = argc;
    }
    if (a.path) return a;
    fprintf(stderr, "usage: %s [--stats] SCRIPT [N]\n", argv[0]);
    exit(2);
}

char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    text t = {0};
    char part[4096];
    size_t length;
    if (!file) fail(0, "cannot be opened");
    while ((length = fread(part, 1, sizeof part, file)) > 0) text_add(&t, part, length);
    fclose(file);
    text_add(&t, "", 1);
    return t.bytes;
}

void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) fail(0, "out of memory");
    return memory;
}

void text_add(text *t, const char *bytes, size_t length) {
    if (t->length + length > t->capacity) {
        t->capacity = (t->length + length) * 2;
        t->bytes = realloc(t->bytes, t->capacity);
        if (!t->bytes) fail(0, "out of memory");
    }
    if (length) memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
}

void text_number(text *t, double d) {
    char digits[40];
    bool is_short = d > -1e9 && d < 1e9 && d == (int)d; /* most are, and that is faster */
    int length = is_short ? snprintf(digits, sizeof digits, "%d", (int)d) : snprintf(digits, sizeof digits, "%.14g", d);
    text_add(t, digits, (size_t)length);
}

uint64_t hash_bytes(const char *bytes, size_t length) {
    uint64_t h = length;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)bytes[i]) * 0x100000001b3;
    return mix(h) | 1;
}

void print_stats_line(unsigned long long collections, unsigned long long pause_max_ns) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    fprintf(stderr, "calc-stats seconds=%.3f rss_peak_mib=%.1f collections=%llu pause_max_ms=%.2f\n", seconds,
            (double)use.ru_maxrss / 1024, collections, (double)pause_max_ns / 1e6);
}
