/* Suspects: condemned objects that conservative words found. Their mark bits are set before the trace, for they must stay;
   but they are scanned only when a reference reaches them, or when everything else has been traced. What is then still
   unreached is kept by conservative words alone, and so is what only it leads to: statistics count both.

   heap->suspects is an open-addressing table: object, bit 0 set once it was reached. Its count is its size, 0 or a power of
   two, at least twice the number of suspects. */
#pragma once

#include "roots.h"

#define GC__SUSPECT_REACHED 1

/* Room for every conservative pin; false: no memory. */
GC__FN bool gc__suspects_reserve(gc_heap *heap) {
    size_t found = 0, size = 16;
    for (size_t i = 0; i < heap->pins.count; i++) found += heap->pins.words[i] & GC__PIN_CONSERVATIVE;
    while (size < 2 * found) size *= 2;
    heap->suspects.count = 0;
    if (!found) return true;
    if (!gc__words_reserve(&heap->suspects, size)) return false;
    heap->suspects.count = size;
    memset(heap->suspects.words, 0, size * sizeof *heap->suspects.words);
    return true;
}

/* Where the object is in the table, or where it would be. The table is not empty. */
GC__FN uintptr_t *gc__suspect_place(const gc__words *table, uintptr_t object) {
    size_t last = table->count - 1, at = (size_t)((object * 0x9E3779B97F4A7C15u) >> 32) & last;
    while (table->words[at] && (table->words[at] & ~(uintptr_t)GC__SUSPECT_REACHED) != object) at = (at + 1) & last;
    return &table->words[at];
}
