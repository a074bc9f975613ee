/* Growing arrays of words outside the heap. */
#pragma once

#include "../platform/platform.h"

GC__FN size_t gc__min(size_t a, size_t b) { return a < b ? a : b; }
GC__FN size_t gc__max(size_t a, size_t b) { return a > b ? a : b; }

/* Programs may set a limit to any number, and SIZE_MAX means that there is none. Sums and products with limits must not
   overflow, so these are the largest values that are used: */
#define GC__LIMIT_MOST (SIZE_MAX / 4 * 3)
#define GC__BUDGET_MOST (SIZE_MAX / 64) /* of a nursery, a soft limit, and the growth of a heap */
#define GC__EXTERNAL_MOST (SIZE_MAX / 2) /* of the sum of off-heap bytes */

GC__FN size_t gc__times_at_most(size_t a, size_t b, size_t most) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? most : gc__min(product, most);
}

/* Adds to a counter to which threads add without a lock. */
GC__FN void gc__count(size_t *counter, size_t amount) { __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED); }
GC__FN size_t gc__counted(const size_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

#define GC__WORDS_FIRST_BYTES ((size_t)1 << 16) /* the initial size of a list */

typedef struct gc__words {
    uintptr_t *words;
    size_t count, capacity;
} gc__words;

/* Returns the bytes for a list of `count` words: the size is doubled or, if `close`, grows by about a 16th. */
GC__COLD size_t gc__words_room(const gc__words *list, size_t count, bool close) {
    size_t bytes = list->capacity ? list->capacity * sizeof(uintptr_t) : GC__WORDS_FIRST_BYTES, least = count * sizeof(uintptr_t);
    if (close && least > bytes) return (least + least / 16 + GC__WORDS_FIRST_BYTES) & ~(GC__WORDS_FIRST_BYTES - 1);
    while (bytes < least) bytes *= 2;
    return bytes;
}

/* On failure the list is unchanged. */
GC__COLD bool gc__words_remap(gc__words *list, size_t bytes) {
    size_t old_bytes = list->capacity * sizeof(uintptr_t);
    void *words = old_bytes ? gc__os_remap(list->words, old_bytes, bytes) : gc__os_map(bytes);
    if (!words) return false;
    list->words = (uintptr_t *)words;
    list->capacity = bytes / sizeof(uintptr_t);
    return true;
}

GC__FN bool gc__words_resize(gc__words *list, size_t bytes) {
    return bytes <= list->capacity * sizeof(uintptr_t) || gc__words_remap(list, bytes);
}

/* Shrinks a list that takes at least twice what `count` words need. The list holds at most that many words. */
GC__FN void gc__words_shrink(gc__words *list, size_t count) {
    const gc__words none = {NULL, 0, 0};
    size_t bytes = gc__words_room(&none, count, true);
    if (list->capacity * sizeof(uintptr_t) / 2 >= bytes) gc__words_remap(list, bytes);
}

GC__OUT_OF_LINE bool gc__words_reserve(gc__words *list, size_t count) {
    return GC__LIKELY(list->capacity >= count) || gc__words_resize(list, gc__words_room(list, count, false));
}

GC__FN bool gc__words_end_with(const gc__words *list, uintptr_t word) {
    return list->count && list->words[list->count - 1] == word;
}

GC__OUT_OF_LINE bool gc__words_push(gc__words *list, uintptr_t word) {
    if (!gc__words_reserve(list, list->count + 1)) return false;
    list->words[list->count++] = word;
    return true;
}

/* Returns how much of a list's memory counts: as a rule its first 64 KiB are hardly touched. */
GC__FN size_t gc__words_charged(size_t bytes) { return bytes > GC__WORDS_FIRST_BYTES ? bytes : bytes / 16; }

/* Returns the bytes of memory that count as the list's. */
GC__FN size_t gc__words_bytes(const gc__words *list) { return gc__words_charged(list->capacity * sizeof(uintptr_t)); }

GC__OUT_OF_LINE void gc__words_free(gc__words *list) {
    if (list->capacity) gc__os_unmap(list->words, list->capacity * sizeof(uintptr_t));
    memset(list, 0, sizeof *list);
}
