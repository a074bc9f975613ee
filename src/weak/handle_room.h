/* The room that handles and lists of finalizers have under the heap's limit. Functions that make handles or pairs never
   collect, and never wait for the heap's lock, since their callers hold references in no root. So they may exceed the
   limit a little, as far as a collection may free that much: the next allocation that needs memory collects. */
#pragma once

#include "../threads/lock.h"

#define GC__METADATA_PART 64                 /* handles may exceed the limit by this part of it, */
#define GC__METADATA_MORE ((size_t)1 << 17)  /* plus two segments of handles */

/* Returns by how much objects exceed what the last full collection left; the next one may free that. */
GC__FN size_t gc__perhaps_dead_bytes(const gc_heap *heap) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += gc__counted(&heap->generation_bytes[g]);
    return bytes - gc__min(bytes, heap->full_bytes);
}

GC__COLD void gc__metadata_fail(const gc_heap *heap, const char *remedy) {
    gc__fail(GC_ERROR_HEAP_FULL, "the heap holds %zu KiB of at most %zu (%s), and needs room for %s",
             gc__bytes_charged(heap) >> 10, heap->limit_bytes >> 10, gc__limit_name(heap), remedy);
    gc__heap_fail_with_others(heap);
}

/* Returns whether so many bytes more leave one region to objects: a heap whose memory handles have taken entirely could
   allocate nothing even after they were destroyed, since their places are reused for handles only. */
GC__FN bool gc__metadata_leaves_region(const gc_heap *heap, size_t bytes) {
    return gc__counted(&heap->metadata_bytes) + bytes + GC_REGION_BYTES + gc__table_bytes(1, 0) <= heap->limit_bytes;
}

static const char gc__room_for_handles[] =
    "more handles: raise the limit, end handles that nobody needs, or drop references and call gc_collect, since what makes "
    "handles does not collect";

/* Counts bytes that are about to be taken outside regions, and releases free regions for them. Returns false with
   gc__fail if there is no room; `remedy` names what the room is for, and what helps. Never waits: if another thread has
   the lock, only the next bytes are checked. */
GC__FN bool gc__metadata_reserve(gc_heap *heap, size_t bytes, const char *remedy) {
    bool locked = gc__heap_lock_unless_taken(heap), fits = true;
    if (locked && heap->options.heap_bytes_max) {
        size_t more = gc__min(gc__perhaps_dead_bytes(heap), heap->limit_bytes / GC__METADATA_PART + GC__METADATA_MORE);
        fits = gc__bytes_charged(heap) + bytes <= heap->limit_bytes + more && gc__metadata_leaves_region(heap, bytes);
        if (!fits) gc__metadata_fail(heap, remedy);
    }
    if (fits) gc__count(&heap->metadata_bytes, bytes);
    if (!locked) return fits;
    gc__heap_note_held(heap);
    gc__heap_unlock(heap);
    return fits;
}
