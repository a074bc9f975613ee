/* Regions, the arena that they come from, and the tables beside them.

   The arena is one reserved address range for all heaps of the process. A region is in exactly one of these places:
   the arena (heap == NULL), a heap's free list, a heap's list of its generation, or a heap's quarantine (stress).
   A region in a generation's list is either *linear* (its objects follow one another from base to top, with fillers in
   the gaps) or its mark bits are exactly the starts of its objects. Generations 1 and 2 are never linear. */
#pragma once

#include "../api/barrier.h"
#include "../platform/platform.h"

enum { GC__FREE, GC__SMALL, GC__LARGE, GC__LARGE_REST, GC__QUARANTINED };

/* What a collection does with a region. The verdict table has it in the two lowest bits of the region's entry, and above
   them the generation that copies go to. Entries are 0 elsewhere, and between collections. */
enum {
    GC__IGNORE,     /* not condemned: references into it are not followed */
    GC__MARK,       /* objects stay; a mark bit shows that one lives */
    GC__MOVE,       /* objects are copied; a forwarding word shows that one lives */
    GC__MOVE_MARKED /* as MOVE, but objects with a mark bit stay */
};
#define GC__VERDICT_BITS 2
#define GC__VERDICT_MASK ((1 << GC__VERDICT_BITS) - 1)
#define GC__VERDICT_NEXT_MARKS 0x80 /* in an entry, with GC__MARK: the mark bits are those of gc__next_marks */
/* The entry of an old region in the last collection of a cycle, which is condemned with what is marked in it. */
#define GC__OLD_CONDEMNED (GC__MARK | GC__VERDICT_NEXT_MARKS)
#define GC__VERDICT_SLID (GC__VERDICT_NEXT_MARKS | GC__MOVE_MARKED) /* in an entry: all objects were copied before the trace */

/* Fields are written by a mutator that allocates in the region, and by the collector with the world stopped, unless they
   say otherwise. The pauses that begin and end a marking beside mutators go through all old regions, and wait for memory there:
   what they need is in the first 64 bytes, which is a line of the cache. */
typedef struct gc__region {
    gc_heap *heap; /* written under the arena's lock; atomic for threads that neither hold it nor use this heap */
    uintptr_t base;
    struct gc__region *next;     /* in its list */
    size_t live_bytes;           /* bytes of objects that the last trace found alive, and of those copied in since */
    size_t next_live_bytes;          /* the same of the marking that goes on beside mutators */
    uint32_t span;               /* a large object's number of regions */
    uint8_t kind;                /* arena lock while no heap has the region */
    uint8_t generation;
    uint8_t target; /* during a collection: the generation its survivors will be in */
    uint8_t verdict;
    bool linear;
    bool formatted;  /* linear, with fillers in its holes; an allocation in a hole makes the index start anew */
    bool overflowed; /* holds marked objects that did not fit on the mark stack */
    uint8_t unscanned; /* what the marking beside mutators has left there: GC__UNSCANNED and others; atomic */
    bool pinned;     /* during a collection: holds objects that must stay */
    bool fixed;      /* its objects never move */
    bool candidate;    /* it is evacuated when the marking beside mutators ends: changes with the world stopped */
    bool retained;      /* it is leaving, but too many slots refer to it: marker's lock */
    uint8_t flip;  /* GC__FLIP_DUE or GC__FLIPPING: its mark bits are in gc__next_marks; else 0; atomic */
    bool sparing;    /* its first part is not populated: a small heap may need no more */
    bool is_slid_into; /* during a collection: objects of packed regions were copied there */
    bool accessible; /* this and the next two: as `kind` */
    bool left_out;   /* core dumps leave the region out; its memory is zero */
    bool populated;  /* the system has provided all of its memory, perhaps, though nothing was written there */
    bool finalizer_marks;  /* it may have bits in gc__finalizer_marks: marker's lock, or who settles it */
    uintptr_t hole;              /* the search for holes goes on here */
    uintptr_t indexed_end;       /* a linear region's mark bits are object starts up to here; base: none */
    uint64_t condemned;          /* number of the last collection that condemned it */
    /* During a collection: for each 512 bytes, where the first object has slid to. NULL: the region does not slide. */
    uintptr_t *offset_table;
    uintptr_t top;               /* objects of a linear region lie in [base, top); a large object ends there */
    uintptr_t dirty_end;         /* memory from here to the region's end is zero; atomic where windows are extended */
    size_t taken_bytes;          /* bytes of its holes in which mutators allocate, since the last collection */
    struct gc__region *previous; /* in the list of free regions */
    size_t spare;        /* bytes at its end that take no memory: of a large object's last region, or a free one */
    uint32_t rest_index; /* GC__LARGE_REST: the number of regions back to the object's first */
    uint32_t rset_slots;      /* slots that are noted because they referred to this leaving region: marker's lock */
} __attribute__((aligned(64))) gc__region;

typedef struct gc__arena {
    gc__lock lock;
    uintptr_t base; /* this and the next three: written by the first heap, 0 again when gc.h is unloaded */
    size_t bytes;
    size_t count; /* number of regions */
    gc__region *regions;
    uint64_t *marks; /* an object's bit is number address / 8: biased, like the card table that barriers see */
    uint8_t *cards;  /* the tables, unbiased */
    uint8_t *bundles;
    uint8_t *taken;   /* a byte for each region: 0 if it is free, in the arena or a heap's list; atomic */
    size_t used;      /* regions below this number have been in use; atomic, written under the lock */
    size_t free_from; /* every region below this number has a heap: lock */
    size_t heaps;     /* number of heaps that exist or are being created: lock */
    size_t huge_waits; /* how many times no huge page is asked for now, and how many the last slow one has cost: lock */
    size_t huge_paid;
} gc__arena;

/* Which objects of generation 2 the marking beside mutators has reached; biased like the mark bits. NULL: never used yet. All
   are 0 but those of regions of a heap that is being marked, and of those that are `beside`: since the last collection of a
   cycle these bits are the starts of the region's objects, until gc__region_flip moves them to where mark bits are. */
GC__VAR uint64_t *gc__next_marks;
/* Which objects the marker has reached only from dead ones with finalizers: they are *reprieved*. NULL: none ever was. From the
   last collection of the cycle on they are marked by these bits, too. All are 0 but those of regions that say so. */
GC__VAR uint64_t *gc__finalizer_marks;
#define GC__FLIP_DUE 1
#define GC__FLIPPING 2 /* a thread moves them */

GC__VAR gc__arena gc__the_arena = {GC__LOCK_INITIALIZER, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0};
GC__DATA(gc_barrier_tables gc__tables);

#define GC__VERDICTS (gc__tables.age + GC_RANK_ENTRIES)

GC__FN bool gc__in_arena(uintptr_t address) { return address - gc__the_arena.base < gc__the_arena.bytes; }

/* Precondition: gc__in_arena(address). */
GC__FN gc__region *gc__region_of(uintptr_t address) {
    return &gc__the_arena.regions[(address - gc__the_arena.base) >> GC_REGION_SHIFT];
}

/* The end of a region, or of all the regions of a large object. */
GC__FN uintptr_t gc__region_end(const gc__region *region) { return region->base + region->span * GC_REGION_BYTES; }

/* Objects start below this address. A large one starts at the base, and no other mark bit of its regions means anything. */
GC__FN uintptr_t gc__region_starts_end(const gc__region *region) {
    return region->base + (region->kind == GC__LARGE ? 8 : GC_REGION_BYTES);
}

/* Whether the region belongs to the heap. Others may come and go at any time, so nothing else of them may be read. */
GC__FN bool gc__region_is_of(const gc__region *region, const gc_heap *heap) {
    return __atomic_load_n(&region->heap, __ATOMIC_RELAXED) == heap;
}

/* Notes for the search for free regions that `span` of them are taken, or free. */
GC__FN void gc__region_note_taken(const gc__region *region, size_t span, bool taken) {
    uint8_t *table = gc__the_arena.taken + (region - gc__the_arena.regions);
    for (size_t i = 0; i < span; i++) __atomic_store_n(table + i, (uint8_t)taken, __ATOMIC_RELAXED);
}

GC__FN size_t gc__regions_used(void) { return __atomic_load_n(&gc__the_arena.used, __ATOMIC_RELAXED); }

/* The first region of the large object of which `region` is a part; for other regions, `region`. */
GC__FN gc__region *gc__region_first(gc__region *region) {
    return region->kind == GC__LARGE_REST ? region - region->rest_index : region;
}
