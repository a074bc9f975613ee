/* Free regions whose memory is prefaulted.

   The first touch of a page takes the system 0.3 us, or even ten in a guest whose host provides memory only then; a
   huge page of a table takes up to 5 ms. In a growing heap, copies and nurseries would wait for that. So the
   marker's thread takes regions in advance, twice as many as were taken recently, and has the system provide their
   memory and that of their tables while it holds no lock. */
#pragma once

#include "../space/heap.h"
#include "../threads/lock.h"

#define GC__PREFAULT_MOST 32    /* regions */
#define GC__PREFAULT_PART 16    /* at most 1/n of the heap's regions */
/* Tables are prefaulted for at most this many regions ahead: one huge page has marks for as many. */
#define GC__PREFAULT_AHEAD 512

/* Lists another free region if more of them are wanted; returns NULL if not. A collection that finds few others may
   take the region before its memory is there, so regions are listed one by one. The heap's lock is held. */
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

/* Prefaults the region and its tables. No lock is held: the region may be in use by now, or released to the system
   again; then the only effect is that it takes memory earlier. */
GC__FN void gc__prefault_region(const gc__region *region) {
    size_t number = (size_t)(region - gc__the_arena.regions), ahead = gc__min(gc__max(number / 4, 128), GC__PREFAULT_AHEAD);
    for (size_t i = number; i <= number + ahead; i += ahead) {
        gc__prefault_table(GC__SIDE_MARKS, i);
        gc__prefault_table(GC__SIDE_CARDS, i);
        gc__prefault_table(GC__SIDE_MARKS_SECOND, i);
    }
    gc__supply_populate((void *)region->base, GC_REGION_BYTES);
}

/* Replaces some of the free regions that were taken, on the marker's thread. Returns false if none was taken. */
GC__FN bool gc__prefault_next(gc_heap *heap) {
    if (!gc__counted(&heap->fresh_regions) || !gc__heap_lock_unless_taken(heap)) return false;
    bool may = !gc__stress_of(heap) && !gc__supply_is_host();
    gc__region *region = may ? gc__prefault_take(heap) : NULL;
    gc__heap_unlock(heap);
    if (region) gc__prefault_region(region);
    return true;
}
