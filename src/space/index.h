/* Finding objects by address, by the starts of a region's objects. */
#pragma once

#include "mark_bits.h"
#include "object.h"

GC__FN size_t gc__marked_object_bytes(const gc__region *region) {
    const uint64_t *marks = gc__region_marks(region);
    size_t bytes = 0;
    uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marks, region->base, end);
    for (; at < end; at = gc__bit_next(marks, at + GC_OBJECT_BYTES_MIN, end)) bytes += gc__object_bytes(at);
    return bytes;
}

/* Sets the mark bits of the contiguous objects in [at, end) of a region, and returns their bytes. Most objects are
   of the same type as the one before, so the processor can proceed with that type's size while it waits for the
   header. Other threads may be reading the bits, and then the objects. */
GC__FN size_t gc__index_range(const gc__region *region, uintptr_t at, uintptr_t end) {
    uintptr_t known = GC__FORWARD_TAG;
    size_t known_bytes = 0, sum = 0, word = gc__mark_index(at) >> 6;
    uint64_t bits = 0, *marks = gc__region_marks(region);
    while (at < end) {
        uintptr_t header = GC__WORD(at);
        size_t bytes = known_bytes, index = gc__mark_index(at);
        if (header != known) {
            if (gc__is_filler(at)) {
                at += gc__filler_bytes(at);
                continue;
            }
            bytes = gc__object_bytes_as(at, header);
            if (gc__header_has_size(header)) {
                known = header;
                known_bytes = bytes;
            }
        }
        if (index >> 6 != word) {
            __atomic_store_n(&marks[word], marks[word] | bits, __ATOMIC_RELEASE);
            bits = 0;
            word = index >> 6;
        }
        bits |= (uint64_t)1 << (index & 63);
        sum += bytes;
        at += bytes;
    }
    if (bits) __atomic_store_n(&marks[word], marks[word] | bits, __ATOMIC_RELEASE);
    return sum;
}

/* Makes the region's objects findable by address: sets the mark bits of a linear region between indexed_end and top. */
GC__FN void gc__region_index(gc__region *region) {
    if (!region->linear || (region->indexed_end == region->top && region->top > region->base)) return;
    if (region->indexed_end == region->base) gc__marks_clear(region);
    gc__index_range(region, region->indexed_end, region->top);
    region->indexed_end = region->top;
}

/* Returns the object that covers the address, or 0. The region's allocation window must be flushed. */
GC__FN uintptr_t gc__object_covering(gc__region *region, uintptr_t address) {
    region = gc__region_first(region);
    if (region->kind != GC__SMALL && region->kind != GC__LARGE) return 0;
    gc__region_index(region);
    uintptr_t object = region->kind == GC__LARGE ? region->base : gc__mark_previous(region->base, address);
    if (!object || !gc__mark_get(object)) return 0;
    return address < object + gc__object_bytes(object) ? object : 0;
}

/* Calls visit(context, object) for each object of the region, until it returns false. */
GC__HOT bool gc__region_walk(gc__region *region, bool (*visit)(void *context, uintptr_t object), void *context) {
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

/* Returns the heap's object that covers the address, or 0. Windows must be flushed. */
GC__FN uintptr_t gc__heap_covering(gc_heap *heap, uintptr_t address) {
    if (!gc__in_arena(address)) return 0;
    gc__region *region = gc__region_of(address);
    return gc__region_is_of(region, heap) ? gc__object_covering(region, address) : 0;
}
