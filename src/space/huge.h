/* Huge pages for regions. A heap that will grow by as much as one takes all regions of one together: one fault instead of 512,
   and the trace, which goes from object to object at random, waits less for the processor to find where pages are. Some
   systems take long for a huge page now and then: a guest whose free memory goes back to its host 5 ms, where small pages
   for as much take 0.7. So it is timed, and after a slow one regions are taken singly for a while. */
#pragma once

#include "../base/words.h"
#include "arena.h"

#define GC__HUGE_REGIONS (GC_REGION_SHIFT < 21 ? GC__HUGE_PAGE_BYTES >> GC_REGION_SHIFT : 1) /* 1: not used */
#define GC__HUGE_SLOW_NS ((uint64_t)2000000)
#define GC__HUGE_PAUSE ((size_t)32 << 20 >> GC_REGION_SHIFT) /* regions until the next, after the first slow one; then more */
#define GC__HUGE_PAUSE_GROWTH 16
#define GC__HUGE_PAUSE_FALL 4 /* and less after one that was not */

/* The first region of a huge page; arena->count if there is none. The system provides one only where there have been no small
   pages before, and regions that have been in use are used again first. Lock held. */
GC__FN size_t gc__huge_find(void) {
    const gc__arena *arena = &gc__the_arena;
    size_t first = gc__arena_next_free(arena->free_from, arena->used);
    while (first < arena->used && arena->regions[first].heap) first = gc__arena_next_free(first + 1, arena->used);
    bool begins = first == arena->used && first % GC__HUGE_REGIONS == 0;
    return begins && first + GC__HUGE_REGIONS <= arena->count ? first : arena->count;
}

/* Whether a page that took so long is followed by a pause, and how long that is. */
GC__FN void gc__huge_note(gc__arena *arena, uint64_t ns) {
    bool slow = ns > GC__HUGE_SLOW_NS;
    size_t more = gc__max(arena->huge_paid * GC__HUGE_PAUSE_GROWTH, GC__HUGE_PAUSE);
    arena->huge_paid = slow ? more : arena->huge_paid / GC__HUGE_PAUSE_FALL;
    arena->huge_waits = slow ? more : 0;
}

/* Has the system provide the huge page. Lock held. */
GC__FN void gc__huge_touch(gc__region *region) {
    uint64_t before = gc__os_cpu_ns();
    gc__supply_prefer_huge_pages((void *)region->base, GC__HUGE_PAGE_BYTES);
    __atomic_fetch_or((uint8_t *)region->base, (uint8_t)0, __ATOMIC_RELAXED);
    gc__huge_note(&gc__the_arena, gc__ns_since(gc__os_cpu_ns(), before));
    for (size_t i = 0; i < GC__HUGE_REGIONS; i++) region[i].populated = true;
}

/* Takes the regions of a huge page for the heap; NULL: there is none, or none is wanted now. */
GC__FN gc__region *gc__huge_acquire(gc_heap *heap) {
    gc__arena *arena = &gc__the_arena;
    gc__lock_take(&arena->lock);
    size_t first = arena->huge_waits ? arena->count : gc__huge_find();
    if (arena->huge_waits) arena->huge_waits--;
    bool found = first < arena->count && gc__arena_grant(heap, first, GC__HUGE_REGIONS);
    if (found) gc__huge_touch(&arena->regions[first]);
    gc__lock_release(&arena->lock);
    if (!found) return NULL;
    gc__bounds_grow(arena->base + ((first + GC__HUGE_REGIONS) << GC_REGION_SHIFT));
    return &arena->regions[first];
}
