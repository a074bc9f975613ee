/* Sliding: the last resort of a full heap whose holes are too small, and that has no free region to copy to.

   Before the trace begins, regions are copied one after the other to fresh ones, object by object in the order of
   addresses. Copied memory is released to the system 16 KiB at a time, so all of it takes no more memory than
   before. Nothing stays at the old place, not even forwarding words: an object's new address follows from its old
   mark bit, which is not changed, and from the offset table, which has the new address of the first object of the
   same 512 bytes. The copied objects are those that the last collection left. Those that have died since are copied,
   too, but not marked; so their memory is a hole after this collection. */
#pragma once

#include "../space/mark_bits.h"
#include "../space/object.h"
#include "collector.h"

#define GC__SLIDE_BYTES ((size_t)16384) /* released at a time */
#define GC__SLIDE_WORTH 64              /* a heap is slid if at least 1/n of it is holes */

/* Where a region's objects go: to `next` and on, up to `end`. */
typedef struct gc__sliding {
    gc_heap *heap;
    gc__region *into;      /* NULL: none yet */
    gc__region *spare;     /* the region after that; NULL: not taken yet */
    uintptr_t next, end;
    gc__region *condemned; /* the regions that are filled, and those that were condemned before */
    bool refused;          /* the system does not take memory back, or gives no more regions */
} gc__sliding;

/* Returns where an object of a slid region is. */
GC__FN uintptr_t gc__slid_address(const gc__region *region, uintptr_t object) {
    size_t index = gc__mark_index(object);
    uint64_t below = gc__region_marks(region)[index >> 6] & (((uint64_t)1 << (index & 63)) - 1);
    uintptr_t at = region->offset_table[(object - region->base) / 512];
    for (; below; below &= below - 1) at += gc__object_bytes(at);
    return at;
}

/* Returns the memory of an object that the trace has not reached. */
GC__FN uintptr_t gc__memory_of_dead(uintptr_t object) {
    const gc__region *region = gc__region_of(object);
    return region->offset_table ? gc__slid_address(region, object) : object;
}

/* Returns the bytes of the objects that begin in these 512. */
GC__FN size_t gc__slide_bytes(uintptr_t from, uint64_t bits) {
    size_t bytes = 0;
    for (; bits; bits &= bits - 1) bytes += gc__object_bytes(from + 8 * (unsigned)__builtin_ctzll(bits));
    return bytes;
}

GC__FN void gc__slide_close(gc__sliding *packing) {
    if (packing->into && packing->into->dirty_end < packing->next) packing->into->dirty_end = packing->next;
}

GC__FN void gc__slide_open(gc__sliding *packing) {
    gc__region *region = packing->spare;
    gc__slide_close(packing);
    packing->spare = NULL;
    packing->into = region;
    packing->next = region->base;
    packing->end = gc__region_end(region);
    region->is_slid_into = true;
    region->target = (uint8_t)gc__oldest(packing->heap);
    region->condemned = packing->heap->collection.number;
    gc__region_set_verdict(region, GC__MARK, region->target);
    region->next = packing->condemned;
    packing->condemned = region;
}

/* Copies the objects that begin in these 512 bytes. Returns the end of the last one. */
GC__FN uintptr_t gc__slide_copy(gc__sliding *packing, uintptr_t from, uint64_t bits) {
    uintptr_t end = from;
    for (; bits; bits &= bits - 1) {
        uintptr_t object = from + 8 * (unsigned)__builtin_ctzll(bits);
        size_t bytes = gc__object_bytes(object);
        memcpy((void *)packing->next, (const void *)object, bytes);
        packing->next += bytes;
        end = object + bytes;
    }
    return end;
}

/* Copies all objects of a region, for which there is room, and records where they go. */
GC__FN void gc__slide_region(gc__sliding *packing, gc__region *region, uintptr_t *places) {
    const uint64_t *marks = &gc__region_marks(region)[gc__mark_index(region->base) >> 6];
    size_t step = gc__max(GC__SLIDE_BYTES, gc__os_page_bytes());
    uintptr_t given = region->base, end = gc__region_end(region);
    for (uintptr_t at = region->base; at < end; at += 512, places++) {
        uint64_t bits = *marks++;
        if (!bits) continue;
        if (gc__slide_bytes(at, bits) > packing->end - packing->next) gc__slide_open(packing);
        *places = packing->next;
        uintptr_t until = gc__slide_copy(packing, at, bits) & ~(uintptr_t)(step - 1);
        if (until <= given || packing->refused) continue;
        packing->refused = !gc__supply_discard((void *)given, until - given);
        given = until;
    }
    bool clean = !packing->refused && (given == end || gc__supply_discard((void *)given, end - given));
    packing->refused = !clean;
    if (clean) region->dirty_end = region->base;
    if (clean) region->spare = GC_REGION_BYTES;
}

/* Returns whether there is a region to go on in when the one that is being filled is full: one suffices for all
   objects of another. */
GC__FN bool gc__slide_has_room(gc__sliding *packing) {
    size_t clean;
    if (!packing->refused && !packing->spare)
        packing->spare = gc__heap_take_run(packing->heap, (int)gc__oldest(packing->heap), 1, &clean);
    packing->refused |= !packing->spare;
    return !packing->refused;
}

/* Slides the condemned regions that are to be moved; or leaves them in place if the system refuses memory. Returns
   the list of condemned regions with those that have been filled. */
GC__HOT gc__region *gc__slide(gc_heap *heap, gc__region *condemned) {
    gc__sliding packing = {heap, NULL, NULL, 0, 0, condemned, false};
    gc__words *places = &heap->cycle->offsets;
    size_t count = 0, each = GC_REGION_BYTES / 512;
    for (const gc__region *region = condemned; region; region = region->next) count += region->verdict == GC__MOVE;
    packing.refused = !gc__words_reserve(places, count * each);
    count = 0;
    for (gc__region *region = condemned; region; region = region->next) {
        if (region->verdict != GC__MOVE) continue;
        if (!gc__slide_has_room(&packing)) {
            gc__region_set_verdict(region, GC__MARK, region->target);
            continue;
        }
        if (!packing.into) gc__slide_open(&packing);
        region->offset_table = &places->words[each * count++];
        gc__slide_region(&packing, region, region->offset_table);
        gc__region_set_entries(region, GC__VERDICT_SLID);
    }
    gc__slide_close(&packing);
    if (packing.spare) {
        packing.spare->spare = packing.spare->dirty_end == packing.spare->base ? GC_REGION_BYTES : 0;
        gc__heap_give(heap, packing.spare);
    }
    return packing.condemned;
}
