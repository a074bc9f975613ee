/* Numbers for all objects of some heaps, in the order of their addresses, while the heaps are stopped.

   For each 64 mark bits there is the number of objects before them, so that an object's number is found by one count of
   bits. That takes 0.8 % of the heap. Every region is indexed: its mark bits are its objects' starts. */
#pragma once

#include "../space/index.h"

#define GC__NUMBERED_BYTES ((size_t)512) /* for which there is an entry */

enum {
    GC__NUMBERED_NOT,
    GC__NUMBERED_SMALL,
    GC__NUMBERED_LARGE,
    GC__NUMBERED_KIND = 3, /* the bits of these */
    GC__NUMBERED_HOLDS = 4 /* set by the first walk: some object in the region has references */
};

typedef struct gc__numbering {
    uint32_t *before;
    uint8_t *kinds; /* of regions: whether objects of the heaps begin in them; behind that table */
    size_t regions;
    size_t bytes; /* of both tables */
    size_t count; /* objects */
} gc__numbering;

GC__FN uint8_t gc__numbering_kind(const gc__region *region, gc_heap *const *heaps, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!gc__region_is_of(region, heaps[i])) continue;
        return region->kind == GC__SMALL   ? GC__NUMBERED_SMALL
               : region->kind == GC__LARGE ? GC__NUMBERED_LARGE
                                           : GC__NUMBERED_NOT;
    }
    return GC__NUMBERED_NOT;
}

/* A large object's only mark bit with a meaning is the first. */
GC__FN void gc__numbering_count(gc__numbering *numbering, const gc__region *region, bool large) {
    const uint64_t *marks = &gc__region_marks(region)[gc__mark_index(region->base) >> 6];
    uint32_t *before = numbering->before + (region->base - gc__the_arena.base) / GC__NUMBERED_BYTES;
    for (size_t i = 0; i < gc__mark_words(region); i++) {
        before[i] = (uint32_t)numbering->count;
        numbering->count += large ? marks[i] & 1 : (size_t)__builtin_popcountll(marks[i]);
    }
}

/* False: the system gives no memory. */
GC__FN bool gc__numbering_make(gc__numbering *numbering, gc_heap *const *heaps, size_t count) {
    size_t regions = gc__regions_used(), entries = regions * (GC_REGION_BYTES / GC__NUMBERED_BYTES);
    memset(numbering, 0, sizeof *numbering);
    numbering->regions = regions;
    numbering->bytes = entries * sizeof(uint32_t) + regions + 1;
    numbering->before = (uint32_t *)gc__os_map(numbering->bytes);
    if (!numbering->before) return false;
    numbering->kinds = (uint8_t *)(numbering->before + entries);
    for (size_t i = 0; i < regions; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        numbering->kinds[i] = gc__numbering_kind(region, heaps, count);
        if (numbering->kinds[i] == GC__NUMBERED_NOT) continue;
        gc__region_index(region);
        gc__numbering_count(numbering, region, numbering->kinds[i] == GC__NUMBERED_LARGE);
    }
    return true;
}

GC__FN void gc__numbering_free(gc__numbering *numbering) {
    if (numbering->before) gc__os_unmap(numbering->before, numbering->bytes);
}

/* Whether an object of the heaps starts at the address. */
GC__FN bool gc__is_numbered(const gc__numbering *numbering, uintptr_t address) {
    size_t offset = address - gc__the_arena.base, region = offset >> GC_REGION_SHIFT;
    if (region >= numbering->regions || (address & 7)) return false;
    unsigned kind = numbering->kinds[region] & GC__NUMBERED_KIND;
    if (kind == GC__NUMBERED_SMALL) return gc__mark_get(address);
    return kind == GC__NUMBERED_LARGE && !(offset & (GC_REGION_BYTES - 1));
}

GC__FN size_t gc__number_of(const gc__numbering *numbering, uintptr_t object) {
    size_t index = gc__mark_index(object);
    uint64_t below = gc__region_marks(gc__region_of(object))[index >> 6] & (((uint64_t)1 << (index & 63)) - 1);
    return numbering->before[(object - gc__the_arena.base) / GC__NUMBERED_BYTES] + (size_t)__builtin_popcountll(below);
}

GC__FN void gc__numbering_holds(gc__numbering *numbering, uintptr_t object) {
    numbering->kinds[(object - gc__the_arena.base) >> GC_REGION_SHIFT] |= GC__NUMBERED_HOLDS;
}

/* Calls visit(context, object) for all objects by their numbers, until it returns false; `holders`: of regions that
   gc__numbering_holds was called for. */
GC__FN bool gc__numbering_walk(const gc__numbering *numbering, bool holders,
                               bool (*visit)(void *context, uintptr_t object), void *context) {
    for (size_t i = 0; i < numbering->regions; i++) {
        if (numbering->kinds[i] == GC__NUMBERED_NOT) continue;
        if (holders && !(numbering->kinds[i] & GC__NUMBERED_HOLDS)) continue;
        const gc__region *region = &gc__the_arena.regions[i];
        uintptr_t end = gc__region_starts_end(region), at = gc__mark_next(region->base, end);
        for (; at < end; at = gc__mark_next(at + GC_OBJECT_BYTES_MIN, end))
            if (!visit(context, at)) return false;
    }
    return true;
}
