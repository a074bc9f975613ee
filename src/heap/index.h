/* Finding objects by address: the starts of a region's objects. */
#pragma once

#include "bits.h"
#include "object.h"

/* Has objects of the region be found by address: sets the mark bits of a linear one's between indexed_end and top. */
GC__FN void gc__region_index(gc__region *region) {
    gc__region_settle(region);
    if (!region->linear || (region->indexed_end == region->top && region->top > region->base)) return;
    if (region->indexed_end == region->base) gc__marks_clear(region);
    uintptr_t at = region->indexed_end;
    while (at < region->top) {
        if (gc__is_filler(at)) {
            at += gc__filler_bytes(at);
        } else {
            gc__mark_set(at);
            at += gc__object_bytes(at);
        }
    }
    region->indexed_end = at;
}

/* The object that covers the address, or 0. The region's allocation window must be flushed. */
GC__FN uintptr_t gc__object_covering(gc__region *region, uintptr_t address) {
    region = gc__region_first(region);
    if (region->kind != GC__SMALL && region->kind != GC__LARGE) return 0;
    gc__region_index(region);
    uintptr_t object = region->kind == GC__LARGE ? region->base : gc__mark_previous(region->base, address);
    if (!object || !gc__mark_get(object)) return 0;
    return address < object + gc__object_bytes(object) ? object : 0;
}

/* Calls visit(context, object) for each object of the region, until it returns false. */
GC__FN bool gc__region_walk(gc__region *region, bool (*visit)(void *context, uintptr_t object), void *context) {
    gc__region_settle(region);
    if (!region->linear) {
        uintptr_t end = gc__region_starts_end(region), at = gc__mark_next(region->base, end);
        for (; at < end; at = gc__mark_next(at + GC_OBJECT_BYTES_MIN, end))
            if (!visit(context, at)) return false;
        return true;
    }
    for (uintptr_t at = region->base; at < region->top;) {
        if (gc__is_filler(at)) {
            at += gc__filler_bytes(at);
            continue;
        }
        if (!visit(context, at)) return false;
        at += gc__object_bytes(at);
    }
    return true;
}

/* The heap's object that covers the address, 0 if there is none. Windows must be flushed. */
GC__FN uintptr_t gc__heap_covering(gc_heap *heap, uintptr_t address) {
    if (!gc__in_arena(address)) return 0;
    gc__region *region = gc__region_of(address);
    return gc__region_is_of(region, heap) ? gc__object_covering(region, address) : 0;
}

GC__FN size_t gc__marked_object_bytes(const gc__region *region) {
    const uint64_t *marks = gc__region_marks(region);
    size_t bytes = 0;
    uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marks, region->base, end);
    for (; at < end; at = gc__bit_next(marks, at + GC_OBJECT_BYTES_MIN, end)) bytes += gc__object_bytes(at);
    return bytes;
}
