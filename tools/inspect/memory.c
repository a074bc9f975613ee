#include "memory.h"
#include "output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE_BYTES (4 * LARGE_PAGE)

void die(const char *format, ...) {
    static bool is_dying; /* or writing the sentence has failed in its turn */
    char sentence[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "gc-inspect: %s\n", sentence);
    if (!is_dying) {
        is_dying = true;
        output_fail(sentence);
        is_dying = false;
    }
    exit(2);
}

static void *had(void *memory, size_t count, size_t size, const char *what) {
    if (!memory)
        die("there is no memory for %zu bytes of %s: raise `ulimit -v`, or inspect a core file on a machine with more",
            count * size, what);
    return memory;
}

void *memory_take(size_t count, size_t size, const char *what) {
    if (size && count > SIZE_MAX / 2 / size) return had(NULL, SIZE_MAX / size, size, what);
    if (count * size < LARGE_BYTES) return had(malloc(count && size ? count * size : 1), count, size, what);
    void *memory =
        had(aligned_alloc(LARGE_PAGE, (count * size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1)), count, size, what);
    madvise(memory, count * size, MADV_HUGEPAGE);
    return memory;
}

void *memory_zeroed(size_t count, size_t size, const char *what) {
    if (size && count > SIZE_MAX / 2 / size) return had(NULL, SIZE_MAX / size, size, what);
    if (count * size < LARGE_BYTES) return had(calloc(count + !count, size), count, size, what);
    char *memory = had(calloc(count, size), count, size, what),
         *page = memory + LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE;
    madvise(page, count * size - (size_t)(page - memory), MADV_HUGEPAGE); /* what is not written costs nothing */
    return memory;
}

/* By a quarter beyond a megabyte: the system moves such arrays without a copy, and what was not written costs nothing. */
void *memory_grow(void *array, size_t count, size_t *capacity, size_t size, const char *what) {
    if (count < *capacity) return array;
    size_t more = count * size < (1 << 20) ? count : count / 4;
    *capacity = count + more + 16;
    if (*capacity > SIZE_MAX / 2 / size) return had(NULL, SIZE_MAX / size, size, what);
    return had(realloc(array, *capacity * size), *capacity, size, what);
}

void *memory_cut(void *array, size_t count, size_t size) {
    void *less = realloc(array, count ? count * size : 1);
    return less ? less : array;
}

char *memory_text(const char *text, size_t length) {
    char *copy = memory_take(length + 1, 1, "text");
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}
