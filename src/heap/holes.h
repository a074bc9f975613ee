/* Holes: free runs inside regions that hold survivors. Mutators allocate in the holes of generation 0 (regions that a
   non-moving or non-generational collection recycled), promotion in those of generations 1 and 2. */
#pragma once

#include "bits.h"
#include "object.h"
#include "heap.h"

#define GC__HOLE_BYTES_MIN ((size_t)256) /* for promotion: smaller ones are left until the region is evacuated */
#define GC__HOLE_BYTES_MIN_MUTATOR ((size_t)32)

/* Makes a region linear by writing a filler into each of its holes. */
GC__FN void gc__region_format(gc__region *region) {
    uintptr_t end = gc__region_end(region), at = region->base;
    while (at < end) {
        uintptr_t object = gc__mark_next(at, end);
        gc__filler_write(at, object - at);
        at = object < end ? object + gc__object_bytes(object) : end;
    }
    region->top = region->dirty_end = end;
    region->hole = region->indexed_end = region->base;
    region->formatted = true;
    __atomic_store_n(&region->linear, true, __ATOMIC_RELEASE); /* until here its mark bits are its objects */
}

/* The next hole of at least `bytes` in a formatted region, from region->hole on; 0 if there is none. */
GC__FN uintptr_t gc__hole_in_formatted(gc__region *region, size_t bytes, uintptr_t *limit) {
    while (region->hole < region->top) {
        uintptr_t at = region->hole;
        bool filler = gc__is_filler(at);
        size_t size = filler ? GC__WORD(at) >> 2 : gc__object_bytes(at);
        region->hole = at + size;
        if (filler && size >= bytes && size >= GC__HOLE_BYTES_MIN_MUTATOR) {
            *limit = at + size;
            return at;
        }
    }
    return 0;
}

/* A hole of at least `bytes` for mutators, or NULL. A failing search leaves the smaller holes that it passed to others, and
   holes of that size or larger are not searched for again before the next collection. */
GC__FN gc__region *gc__hole_recycled(gc_heap *heap, size_t bytes, uintptr_t *from, uintptr_t *limit) {
    if (bytes >= heap->hole_missed_bytes) return NULL;
    gc__region *start = heap->recycled;
    for (gc__region *region = start; region; region = region->next) {
        if (region->kind != GC__SMALL || (region->linear && !region->formatted)) continue;
        if (!region->linear) gc__region_format(region);
        uintptr_t hole = region->hole;
        heap->recycled = region;
        if ((*from = gc__hole_in_formatted(region, bytes, limit)) != 0) return region;
        region->hole = hole;
    }
    heap->recycled = start;
    heap->hole_missed_bytes = bytes;
    return NULL;
}

/* The next hole of at least `bytes` in a region whose mark bits are its objects, from region->hole on. Sizes are looked
   up only where two marks are far enough apart. */
GC__FN uintptr_t gc__hole_by_marks(gc__region *region, size_t bytes, uintptr_t *limit) {
    uintptr_t end = gc__region_end(region), at = region->hole;
    size_t least = bytes > GC__HOLE_BYTES_MIN ? bytes : GC__HOLE_BYTES_MIN;
    while (at < end) {
        bool object = gc__mark_get(at);
        uintptr_t next = gc__mark_next(object ? at + GC_OBJECT_BYTES_MIN : at, end);
        uintptr_t start = at;
        if (next - start >= least && object) start += gc__object_bytes(at);
        region->hole = at = next;
        if (next - start >= least && next > start) {
            *limit = next;
            return start;
        }
    }
    return 0;
}
