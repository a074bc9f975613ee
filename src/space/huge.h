/* Huge pages for regions. A heap that will grow by at least a huge page takes all regions of one together: that is one
   page fault instead of 512, and the trace, which accesses objects at random addresses, has fewer TLB misses. Some
   systems occasionally take long to provide a huge page: 5 ms in a guest whose free memory goes back to its host, where
   small pages of the same size take 0.7 ms. So each huge page is timed, and after a slow one regions are taken singly
   for a while. */
#pragma once

#include "../base/words.h"
#include "arena.h"

/* 1: huge pages are not used */
#define GC__HUGE_REGIONS (GC_REGION_SHIFT < 21 ? GC__HUGE_PAGE_BYTES >> GC_REGION_SHIFT : 1)
#define GC__HUGE_SLOW_NS ((uint64_t)2000000)
/* regions until the next huge page, after the first slow one; the wait grows with each slow page */
#define GC__HUGE_PAUSE ((size_t)32 << 20 >> GC_REGION_SHIFT)
#define GC__HUGE_PAUSE_GROWTH 16
#define GC__HUGE_PAUSE_FALL 4 /* the wait is divided by this after a fast page */

/* Returns the first region of a huge page; arena->count if there is none. The system provides a huge page only where
   there were no small pages before, and regions that have been in use are reused first. Requires the arena lock. */
GC__FN size_t gc__huge_find(void) {
    const gc__arena *arena = &gc__the_arena;
    size_t first = gc__arena_next_free(arena->free_from, arena->used);
    while (first < arena->used && arena->regions[first].heap) first = gc__arena_next_free(first + 1, arena->used);
    bool begins = first == arena->used && first % GC__HUGE_REGIONS == 0;
    return begins && first + GC__HUGE_REGIONS <= arena->count ? first : arena->count;
}

/* Sets the number of regions to wait before the next huge page, given how long the last one took. */
GC__FN void gc__huge_note(gc__arena *arena, uint64_t ns) {
    bool slow = ns > GC__HUGE_SLOW_NS;
    size_t more = gc__max(arena->huge_paid * GC__HUGE_PAUSE_GROWTH, GC__HUGE_PAUSE);
    arena->huge_paid = slow ? more : arena->huge_paid / GC__HUGE_PAUSE_FALL;
    arena->huge_waits = slow ? more : 0;
}

/* Makes the system provide the huge page. Requires the arena lock. */
GC__FN void gc__huge_touch(gc__region *region) {
    uint64_t before = gc__os_cpu_ns();
    gc__supply_prefer_huge_pages((void *)region->base, GC__HUGE_PAGE_BYTES);
    __atomic_fetch_or((uint8_t *)region->base, (uint8_t)0, __ATOMIC_RELAXED);
    gc__huge_note(&gc__the_arena, gc__ns_since(gc__os_cpu_ns(), before));
    for (size_t i = 0; i < GC__HUGE_REGIONS; i++) region[i].populated = true;
}

/* Takes the regions of a huge page for the heap; returns NULL if there is none, or none is wanted now. */
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
