/* A stock of free regions whose memory the system has provided already.

   A page that is touched for the first time takes the system 0.3 us, in a guest whose host provides it only then even ten; a huge
   page of a table up to 5 ms. In a heap that grows, copies and nurseries would wait for that. So the thread that marks takes
   regions ahead of them, twice as many as were taken lately, and has the system provide their memory and that of their tables
   while it holds no lock. */
#pragma once

#include "../space/heap.h"
#include "../threads/lock.h"

#define GC__PREFAULT_MOST 32    /* regions */
#define GC__PREFAULT_PART 16    /* at most this part of what the heap has */
#define GC__PREFAULT_AHEAD 512  /* tables are provided for so many regions ahead, at most: what a huge page has marks for */

/* Lists another free region, if more of them are wanted. A collection that finds few others may take it before its memory is
   there, so they are listed one by one. NULL: no. The lock is held. */
GC__FN gc__region *gc__prefault_take(gc_heap *heap) {
    size_t used = gc__counted(&heap->fresh_regions), most = gc__min(heap->held_regions / GC__PREFAULT_PART, GC__PREFAULT_MOST);
    bool wanted = heap->free_count < gc__min(2 * used, most);
    bool fits = gc__free_bytes(heap) + 2 * GC_REGION_BYTES < gc__bytes_left(heap);
    gc__region *region = wanted && fits ? gc__arena_acquire(heap, 1) : NULL;
    if (!region) {
        __atomic_store_n(&heap->fresh_regions, 0, __ATOMIC_RELAXED);
        return NULL;
    }
    gc__region_note_taken(region, 1, false);
    gc__os_mark_free(region->base, GC_REGION_BYTES, true);
    heap->held_regions++;
    gc__heap_list_free_last(heap, region);
    gc__heap_note_held(heap);
    return region;
}

GC__FN void gc__prefault_table(int which, size_t region) {
    uintptr_t page = gc__os_page_bytes();
    gc__lock_take(&gc__the_arena.lock);
    bool opened = region < gc__the_arena.count && gc__sides_open(region + 1);
    const gc__side *side = &gc__sides[which];
    uintptr_t start = (uintptr_t)side->start + side->lead + region * gc__side_bytes_per_region[which];
    bool exists = opened && side->start;
    gc__lock_release(&gc__the_arena.lock);
    if (exists) gc__supply_populate((void *)(start & ~(page - 1)), page);
}

/* No lock is held: the region may be in use by now, or with the system again, and then this has no effect on it but that it takes
   memory earlier. */
GC__FN void gc__prefault_region(const gc__region *region) {
    size_t number = (size_t)(region - gc__the_arena.regions), ahead = gc__min(gc__max(number / 4, 128), GC__PREFAULT_AHEAD);
    for (size_t i = number; i <= number + ahead; i += ahead) {
        gc__prefault_table(GC__SIDE_MARKS, i);
        gc__prefault_table(GC__SIDE_CARDS, i);
        gc__prefault_table(GC__SIDE_NEXT_MARKS, i);
    }
    gc__supply_populate((void *)region->base, GC_REGION_BYTES);
}

/* On the marker's thread: replaces some of what was taken. False: nothing was. */
GC__FN bool gc__prefault_next(gc_heap *heap) {
    if (!gc__counted(&heap->fresh_regions) || !gc__heap_lock_unless_taken(heap)) return false;
    bool may = !heap->options.debug.stress && !gc__supply_is_host();
    gc__region *region = may ? gc__prefault_take(heap) : NULL;
    gc__heap_unlock(heap);
    if (region) gc__prefault_region(region);
    return true;
}
