/* Mark bits: one per 8 bytes, in two planes.

   Invariant: the mark bits of a region are those of its `plane`, which is the heap's outside of collections. Its other
   plane is clear, unless the region is `stale` or young; but while generation 2 is being marked concurrently, the marks
   of that cycle are there. The final mark, like any collection, marks in one plane, heap->mark_plane, and its sweep
   makes that the plane of all regions that are left. Their former bits make them stale: the marker clears these beside
   the program, and what is left of them is cleared before the next cycle marks anything. A region that becomes old is
   cleared then. The bits of free regions mean nothing in either plane. */
#pragma once

#include "region.h"

GC__FN size_t gc__mark_index(uintptr_t address) { return address >> 3; }

/* Returns the plane that holds the region's mark bits. */
GC__FN uint64_t *gc__region_marks(const gc__region *region) { return gc__the_arena.marks[GC__HAS_MARKER ? region->plane : 0]; }

/* Other threads may be setting bits of the same word. */
GC__FN bool gc__bit_get(const uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    return __atomic_load_n(&marks[index >> 6], __ATOMIC_RELAXED) >> (index & 63) & 1;
}

/* Returns whether the address has a mark in its region's plane. */
GC__FN bool gc__mark_get(uintptr_t address) { return gc__bit_get(gc__region_marks(gc__region_of(address)), address); }

/* Sets the bit; returns whether it was clear. */
GC__FN bool gc__bit_set(uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    bool clear = !(*word & bit);
    *word |= bit;
    return clear;
}

/* Sets the bit among `marks`, where several threads set bits of a word; returns whether it was clear. */
GC__INLINED bool gc__bit_set_shared(uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) return false;
    return !(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit);
}

/* Returns the number of words for the bits at which the region's objects may start. A large object has only one such
   bit, so its mark bits take hardly any memory. */
GC__FN size_t gc__mark_words(const gc__region *region) {
    return (gc__region_starts_end(region) - region->base + 511) / 512;
}

GC__FN void gc__plane_clear(const gc__region *region, uint64_t *marks) {
    memset(&marks[gc__mark_index(region->base) >> 6], 0, gc__mark_words(region) * sizeof(uint64_t));
}
GC__FN void gc__marks_clear(const gc__region *region) { gc__plane_clear(region, gc__region_marks(region)); }

/* Clears the region's other plane. */
GC__FN void gc__other_plane_clear(gc__region *region) {
    if (!GC__HAS_MARKER) return;
    uint64_t *other = __atomic_load_n(&gc__the_arena.marks[region->plane ^ 1], __ATOMIC_ACQUIRE);
    if (other) gc__plane_clear(region, other);
    region->stale = false;
}

/* Makes the plane in which the region was marked its own. */
GC__FN void gc__region_set_plane(gc__region *region, uint8_t plane) {
    if (!GC__HAS_MARKER) return;
    region->stale |= region->plane != plane;
    region->plane = plane;
}

GC__HOT size_t gc__marks_count(const gc__region *region) {
    const uint64_t *words = &gc__region_marks(region)[gc__mark_index(region->base) >> 6];
    size_t count = 0;
    for (size_t i = 0; i < gc__mark_words(region); i++) count += (size_t)__builtin_popcountll(words[i]);
    return count;
}

/* Reads a word of bits, to which another thread may be adding. */
GC__FN uint64_t gc__marks_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

/* Returns the first address in [from, end) that has a bit among `marks`, or end. */
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

/* Returns the first marked address in [from, end), or end. */
GC__OUT_OF_LINE uintptr_t gc__mark_next(uintptr_t from, uintptr_t end) {
    return from < end ? gc__bit_next(gc__region_marks(gc__region_of(from)), from, end) : end;
}

/* Returns the last address in [start, at] that has a bit among `marks`, or 0. */
GC__FN uintptr_t gc__bit_previous(const uint64_t *marks, uintptr_t start, uintptr_t at) {
    size_t index = gc__mark_index(at), first = gc__mark_index(start) >> 6, word = index >> 6;
    uint64_t bits = gc__marks_load(&marks[word]) & (~(uint64_t)0 >> (63 - (index & 63)));
    while (!bits) {
        if (word == first) return 0;
        bits = gc__marks_load(&marks[--word]);
    }
    uintptr_t found = ((word << 6) + 63 - (size_t)__builtin_clzll(bits)) * 8;
    return found >= start ? found : 0;
}

/* Returns the last marked address in [start, at], or 0. */
GC__OUT_OF_LINE uintptr_t gc__mark_previous(uintptr_t start, uintptr_t at) {
    return gc__bit_previous(gc__region_marks(gc__region_of(start)), start, at);
}
