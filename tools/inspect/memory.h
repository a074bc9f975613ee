/* Memory and numbers of the tool: what cannot be had ends the program with a sentence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Ends the program with status 2 and a message on stderr, and with --json one on stdout as well. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `count` things of `size` bytes, not cleared. `what` is named if there is no memory. Large ones are in large pages, where the
   system has them: they are mostly read here and there. */
void *memory_take(size_t count, size_t size, const char *what);
/* The same, cleared. */
void *memory_zeroed(size_t count, size_t size, const char *what);
/* Makes room for one more thing in an array that grows. */
void *memory_grow(void *array, size_t count, size_t *capacity, size_t size, const char *what);
/* Cuts an array to `count` things. */
void *memory_cut(void *array, size_t count, size_t size);
/* A copy of the first `length` bytes, ended by a 0. */
char *memory_text(const char *text, size_t length);
