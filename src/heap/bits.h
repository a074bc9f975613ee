/* Mark bits: one per 8 bytes. */
#pragma once

#include "region.h"

GC__FN size_t gc__mark_index(uintptr_t address) { return address >> 3; }

GC__FN bool gc__mark_get(uintptr_t address) {
    size_t index = gc__mark_index(address);
    return gc__the_arena.marks[index >> 6] >> (index & 63) & 1;
}

/* Sets the bit; returns whether it was clear. */
GC__FN bool gc__mark_set(uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &gc__the_arena.marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    bool clear = !(*word & bit);
    *word |= bit;
    return clear;
}

/* The same among `marks`, where several threads set bits of a word. */
GC__INLINED bool gc__bit_set_shared(uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) return false;
    return !(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit);
}

/* Sets the bit of a word that no other thread writes. A thread that finds the bit finds the object whole. */
GC__FN void gc__mark_publish(uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &gc__the_arena.marks[index >> 6];
    __atomic_store_n(word, *word | (uint64_t)1 << (index & 63), __ATOMIC_RELEASE);
}

/* The words of bits at which the region's objects may start. Of a large object's bits there is only one, so that they take
   hardly any memory. */
GC__FN size_t gc__mark_words(const gc__region *region) {
    return (gc__region_starts_end(region) - region->base + 511) / 512;
}

GC__FN void gc__marks_clear(const gc__region *region) {
    memset(&gc__the_arena.marks[gc__mark_index(region->base) >> 6], 0, gc__mark_words(region) * sizeof(uint64_t));
}

GC__FN size_t gc__marks_count(const gc__region *region) {
    const uint64_t *words = &gc__the_arena.marks[gc__mark_index(region->base) >> 6];
    size_t count = 0;
    for (size_t i = 0; i < gc__mark_words(region); i++) count += (size_t)__builtin_popcountll(words[i]);
    return count;
}

/* A word of bits, which another thread may be adding to. */
GC__FN uint64_t gc__marks_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

/* The first address in [from, end) that has a bit among `marks`, or end. */
GC__FN uintptr_t gc__bit_next(const uint64_t *marks, uintptr_t from, uintptr_t end) {
    if (from >= end) return end;
    size_t index = gc__mark_index(from), last = gc__mark_index(end - 1) >> 6, word = index >> 6;
    uint64_t bits = gc__marks_load(&marks[word]) & (~(uint64_t)0 << (index & 63));
    while (!bits) {
        if (++word > last) return end;
        bits = gc__marks_load(&marks[word]);
    }
    uintptr_t found = ((word << 6) + (size_t)__builtin_ctzll(bits)) * 8;
    return found < end ? found : end;
}

/* The first marked address in [from, end), or end. */
GC__FN uintptr_t gc__mark_next(uintptr_t from, uintptr_t end) {
    return gc__bit_next(gc__the_arena.marks, from, end);
}

/* The last marked address in [start, at], or 0. */
GC__FN uintptr_t gc__mark_previous(uintptr_t start, uintptr_t at) {
    const uint64_t *marks = gc__the_arena.marks;
    size_t index = gc__mark_index(at), first = gc__mark_index(start) >> 6, word = index >> 6;
    uint64_t bits = gc__marks_load(&marks[word]) & (~(uint64_t)0 >> (63 - (index & 63)));
    while (!bits) {
        if (word == first) return 0;
        bits = gc__marks_load(&marks[--word]);
    }
    uintptr_t found = ((word << 6) + 63 - (size_t)__builtin_clzll(bits)) * 8;
    return found >= start ? found : 0;
}
