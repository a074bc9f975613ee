/* Regions, the arena that they come from, and the tables beside them.

   The arena is one reserved address range for all heaps of the process. A region is in exactly one of these places:
   the arena (heap == NULL), a heap's free list, a heap's list of its generation, or a heap's quarantine (stress).
   A region in a generation's list is either *linear* (its objects follow one another from base to top, with fillers in
   the gaps) or its mark bits are exactly the starts of its objects. Generations 1 and 2 are never linear. */
#pragma once

#include "../api/barrier.h"
#include "../platform/platform.h"

#define GC__POPULATE_BYTES ((uintptr_t)1 << (GC_REGION_SHIFT < 17 ? GC_REGION_SHIFT : 17)) /* asked for at once */

enum { GC__FREE, GC__SMALL, GC__LARGE, GC__LARGE_REST, GC__QUARANTINED };

/* What a collection does with a region. The verdict table has it at the region's address, with the generation that copies go
   to above the two lowest bits; 0 everywhere else, and between collections. */
enum {
    GC__IGNORE,     /* not condemned: references into it are not followed */
    GC__MARK,       /* objects stay; the mark bit tells the living */
    GC__MOVE,       /* objects are copied; a forwarding word tells the living */
    GC__MOVE_MARKED /* as MOVE, but objects with a mark bit stay */
};
#define GC__VERDICT_BITS 2
#define GC__VERDICT_MASK ((1 << GC__VERDICT_BITS) - 1)

/* Written by the heap's mutator in allocation and by its collector with the world stopped, unless it says otherwise. */
typedef struct gc__region {
    gc_heap
        *heap; /* atomic, but for who holds the arena's lock, which it is written under, or for the heap that has it */
    uintptr_t base;
    uintptr_t top;           /* objects of a linear region lie in [base, top) */
    uintptr_t dirty_end;     /* memory from here to the region's end is zero; atomic where windows are extended */
    uintptr_t hole;          /* where the search for holes goes on */
    uintptr_t indexed_end;   /* a linear region's mark bits are object starts up to here; base: none */
    struct gc__region *next; /* in its list */
    size_t live_bytes;       /* of its objects, as of the last mark, plus what was copied in since */
    uint64_t condemned;      /* number of the last collection that condemned it */
    uint32_t span;           /* a large object's number of regions */
    uint32_t rest_index;     /* of a GC__LARGE_REST: regions back to the first */
    uint8_t kind;            /* arena lock when it turns from or to GC__FREE */
    uint8_t generation;
    uint8_t target; /* during a collection: the generation its survivors will be in */
    uint8_t verdict;
    bool linear;
    bool formatted;  /* linear, with fillers in its holes: what is allocated in them makes the index start anew */
    bool overflowed; /* holds marked objects that did not fit on the mark stack */
    bool pinned;     /* during a collection: holds objects that must stay */
    bool accessible; /* this and the next: arena lock */
    bool left_out;   /* of core dumps; it is zero */
} gc__region;

typedef struct gc__arena {
    gc__lock lock;
    uintptr_t base; /* this and the next three: written by the first heap, 0 again when gc.h is unloaded */
    size_t bytes;
    size_t count; /* of regions */
    gc__region *regions;
    uint64_t *marks; /* bit address / 8: biased, as the card table that the barriers see */
    uint8_t *cards;  /* the tables, unbiased */
    uint8_t *bundles;
    size_t used;  /* regions below this have been in use: written under the lock, atomic */
    size_t heaps; /* that are, or are being created: lock */
} gc__arena;

static gc__arena gc__the_arena = {GC__LOCK_INITIALIZER, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0};
GC__DATA(gc_barrier_tables gc__tables);

#define GC__VERDICTS (gc__tables.age + GC_RANK_ENTRIES)

GC__FN bool gc__in_arena(uintptr_t address) { return address - gc__the_arena.base < gc__the_arena.bytes; }

/* Precondition: gc__in_arena(address). */
GC__FN gc__region *gc__region_of(uintptr_t address) {
    return &gc__the_arena.regions[(address - gc__the_arena.base) >> GC_REGION_SHIFT];
}

/* The end of a region, or of all the regions of a large object. */
GC__FN uintptr_t gc__region_end(const gc__region *region) { return region->base + region->span * GC_REGION_BYTES; }

/* Objects start below this address; a large one starts at the base. Mark bits of its other regions mean nothing. */
GC__FN uintptr_t gc__region_starts_end(const gc__region *region) { return region->base + GC_REGION_BYTES; }

/* Whether the region is the heap's; those that are not may come and go meanwhile, so nothing else of them may be read. */
GC__FN bool gc__region_is_of(const gc__region *region, const gc_heap *heap) {
    return __atomic_load_n(&region->heap, __ATOMIC_RELAXED) == heap;
}

GC__FN size_t gc__regions_used(void) { return __atomic_load_n(&gc__the_arena.used, __ATOMIC_RELAXED); }

/* The first region of the large object that `region` is a part of; itself for others. */
GC__FN gc__region *gc__region_first(gc__region *region) {
    return region->kind == GC__LARGE_REST ? region - region->rest_index : region;
}

GC__FN uintptr_t gc__populate_end(uintptr_t address) {
    return (address + GC__POPULATE_BYTES - 1) & ~(GC__POPULATE_BYTES - 1);
}

/* Before memory of a region up to `to` is written, of which nothing was beyond `written`. Not for the first part of a region:
   a tiny heap may need no more, and stress leaves most regions after a few objects. */
GC__FN void gc__region_populate(uintptr_t written, uintptr_t to) {
    uintptr_t from = gc__populate_end(written);
    if (from < to && from % GC_REGION_BYTES) gc__os_populate((void *)from, gc__populate_end(to) - from);
}

/* Mark bits: one per 8 bytes. */
