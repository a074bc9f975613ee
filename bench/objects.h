/* What the programs that measure memory share: objects, random numbers, and what the system says of the process. */
#pragma once

#include "gc.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    gc_array header;
    char items[];
} bytes;
static const gc_type bytes_type = GC_TYPE_ARRAY_LEAF(bytes, items);

typedef struct table {
    gc_array header;
    void *items[];
} table;
static const gc_type table_type = GC_TYPE_ARRAY(table, items);

/* Ends the program if what gc.h has returned is NULL. */
static inline void *checked(void *made) {
    if (made) return made;
    fprintf(stderr, "%s\n", gc_last_message());
    exit(1);
}

/* Of the one sequence that a program has. */
static inline uint64_t random_bits(void) {
    static uint64_t state = RANDOM_SEED;
    return next_random(&state);
}

/* A size in /proc/self/status: "VmRSS:", what is resident, or "VmHWM:", the most that was. */
static inline size_t status_bytes(const char *field) {
    char line[128];
    unsigned long kib = 0;
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, field, strlen(field)) == 0) kib = strtoul(line + strlen(field), NULL, 10);
    if (in) fclose(in);
    return (size_t)kib * 1024;
}
