/* Suspects: condemned objects that conservative words found. Their mark bits are set before the trace, for they must stay;
   but they are scanned only when a reference reaches them, or when everything else has been traced. What is then still
   unreached is kept by conservative words alone, and so is what only it leads to: statistics count both.

   heap->cycle->suspects maps each to whether it was reached. */
#pragma once

#include "roots.h"

/* Empties the map and makes room for every conservative pin. False: no memory. */
GC__HOT bool gc__ambiguous_reserve(gc_heap *heap) {
    size_t found = 0;
    for (size_t i = 0; i < heap->cycle->pins.count; i++) found += heap->cycle->pins.words[i] & GC__PIN_CONSERVATIVE;
    gc__map_reset(&heap->cycle->ambiguous);
    return !found || gc__map_reserve(&heap->cycle->ambiguous, found);
}
