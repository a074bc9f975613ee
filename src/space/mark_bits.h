/* Mark bits: one per 8 bytes. */
#pragma once

#include "region.h"

GC__FN size_t gc__mark_index(uintptr_t address) { return address >> 3; }

/* True if the address's mark bits are invalid: their flip is due, or the region is old and a final mark runs. */
GC__FN bool gc__mark_means_nothing(uintptr_t address) {
    bool condemned = GC__VERDICTS[address >> GC_REGION_SHIFT] == GC__OLD_CONDEMNED;
    return condemned || __atomic_load_n(&gc__region_of(address)->flip, __ATOMIC_RELAXED) == GC__FLIP_DUE;
}

GC__FN void gc__mark_check(uintptr_t address) {
    GC_ASSERT(GC_DEBUG < 3 || !gc__mark_means_nothing(address),
              "gc.h: mark bits of the region of %p were used before they were flipped", (void *)address);
    (void)address;
}

/* Other threads may be setting bits of the same word. */
GC__FN bool gc__bit_get(const uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    return __atomic_load_n(&marks[index >> 6], __ATOMIC_RELAXED) >> (index & 63) & 1;
}

GC__FN bool gc__mark_get(uintptr_t address) {
    gc__mark_check(address);
    return gc__bit_get(gc__the_arena.marks, address);
}

/* Sets the bit; returns whether it was clear. */
GC__FN bool gc__mark_set(uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &gc__the_arena.marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    gc__mark_check(address);
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

/* Sets the bit in a word that no other thread writes. A thread that sees the bit also sees the complete object. */
GC__FN void gc__mark_publish(uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &gc__the_arena.marks[index >> 6];
    __atomic_store_n(word, *word | (uint64_t)1 << (index & 63), __ATOMIC_RELEASE);
}

/* Returns the number of words for the bits at which the region's objects may start. A large object has only one such
   bit, so its mark bits take hardly any memory. */
GC__FN size_t gc__mark_words(const gc__region *region) {
    return (gc__region_starts_end(region) - region->base + 511) / 512;
}

GC__FN bool gc__flip_is_due(const gc__region *region) {
    return GC__HAS_MARKER && __atomic_load_n(&region->flip, __ATOMIC_ACQUIRE);
}

/* Returns the plane that holds the region's mark bits. No other thread may flip the region during its use. */
GC__FN uint64_t *gc__region_marks(const gc__region *region) {
    return gc__flip_is_due(region) ? gc__next_marks : gc__the_arena.marks;
}

/* Moves the marker's bits and finalizer marks to gc__the_arena.marks. Objects with both lose their finalizer mark. */
GC__FN void gc__marks_take_both(const gc__region *region) {
    size_t from = gc__mark_index(region->base) >> 6, end = from + gc__mark_words(region);
    for (size_t i = from; i < end; i++) {
        gc__the_arena.marks[i] = gc__next_marks[i] | gc__finalizer_marks[i];
        gc__finalizer_marks[i] &= ~gc__next_marks[i];
        gc__next_marks[i] = 0;
    }
}

/* Moves the marker's bits to gc__the_arena.marks, or drops them. */
GC__FN void gc__marks_take(const gc__region *region, bool keep) {
    size_t from = gc__mark_index(region->base) >> 6, bytes = gc__mark_words(region) * sizeof(uint64_t);
    if (keep && region->finalizer_marks) {
        gc__marks_take_both(region);
        return;
    }
    if (keep) memcpy(&gc__the_arena.marks[from], &gc__next_marks[from], bytes);
    memset(&gc__next_marks[from], 0, bytes);
}

GC__FN bool gc__region_has_finalizer_marks(const gc__region *region) { return GC__HAS_MARKER && region->finalizer_marks; }

/* Clears the region's finalizer marks. */
GC__OUT_OF_LINE void gc__finalizer_marks_clear(gc__region *region) {
    if (!gc__region_has_finalizer_marks(region)) return;
    memset(&gc__finalizer_marks[gc__mark_index(region->base) >> 6], 0, gc__mark_words(region) * sizeof(uint64_t));
    region->finalizer_marks = false;
}

/* Returns whether the object has a finalizer mark. The caller ensures that its region stays in place. */
GC__FN bool gc__is_finalizer_marked(uintptr_t object) {
    return gc__region_has_finalizer_marks(gc__region_of(object)) && gc__bit_get(gc__finalizer_marks, object);
}

GC__OUT_OF_LINE void gc__region_flip_now(gc__region *region) {
    uint8_t due = GC__FLIP_DUE;
    if (__atomic_compare_exchange_n(&region->flip, &due, GC__FLIPPING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        gc__marks_take(region, true);
        __atomic_store_n(&region->flip, 0, __ATOMIC_RELEASE);
    }
    while (gc__flip_is_due(region)) gc__cpu_pause(); /* another thread is flipping them, in less than a microsecond */
}

/* Must be called before mark bits of a region of generation 2 are read, except in a final mark. */
GC__FN void gc__region_flip(gc__region *region) {
    if (GC__UNLIKELY(gc__flip_is_due(region))) gc__region_flip_now(region);
}

/* Flips the region, and drops its finalizer marks, which nobody needs any more. */
GC__FN void gc__region_flip_whole(gc__region *region) {
    gc__region_flip(region);
    gc__finalizer_marks_clear(region);
}

GC__FN void gc__marks_clear(const gc__region *region) {
    memset(&gc__the_arena.marks[gc__mark_index(region->base) >> 6], 0, gc__mark_words(region) * sizeof(uint64_t));
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
GC__FN uintptr_t gc__mark_next(uintptr_t from, uintptr_t end) {
    if (from < end) gc__mark_check(from);
    return gc__bit_next(gc__the_arena.marks, from, end);
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
GC__FN uintptr_t gc__mark_previous(uintptr_t start, uintptr_t at) {
    gc__mark_check(start);
    return gc__bit_previous(gc__the_arena.marks, start, at);
}
