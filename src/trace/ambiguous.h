/* Ambiguous objects: condemned objects that conservative words found. Their mark bits are set before the trace,
   since they must stay; but they are scanned only when a reference reaches them, or when everything else has been
   traced. What is still unreached then is retained by conservative words alone, and so is what only it leads to:
   statistics count both. heap->cycle->ambiguous maps each ambiguous object to whether it was reached. */
#pragma once

#include "roots.h"

/* Empties the map and makes room for every conservative pin. Returns false if there is no memory. */
GC__HOT bool gc__ambiguous_reserve(gc_heap *heap) {
    size_t found = 0;
    for (size_t i = 0; i < heap->cycle->pins.count; i++) found += heap->cycle->pins.words[i] & GC__PIN_CONSERVATIVE;
    gc__map_reset(&heap->cycle->ambiguous);
    return !found || gc__map_reserve(&heap->cycle->ambiguous, found);
}
