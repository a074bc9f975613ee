/* Regions, the arena that they come from, and their side tables.

   The arena is one reserved address range for all heaps of the process. A region is in exactly one of these places: the
   arena (heap == NULL), a heap's free list, a heap's list of its generation, or a heap's quarantine (stress). A region
   in a generation's list is either *linear* (its objects follow one another from base to top, with fillers in the gaps)
   or its mark bits are exactly the starts of its objects. Generations 1 and 2 are never linear. */
#pragma once

#include "../api/barrier.h"
#include "../platform/platform.h"

enum { GC__FREE, GC__SMALL, GC__LARGE, GC__LARGE_REST, GC__QUARANTINED };

/* What a collection does with a region. The region's entry in the verdict table has this in its two lowest bits, and
   above them the generation to which copies go. Entries are 0 for other addresses, and between collections. */
enum {
    GC__IGNORE,     /* not condemned: the trace does not follow references into it */
    GC__MARK,       /* objects stay; a mark bit shows that one is live */
    GC__MOVE,       /* objects are copied; a forwarding word shows that one is live */
    GC__MOVE_MARKED /* as GC__MOVE, but objects with a mark bit stay */
};
#define GC__VERDICT_BITS 2
#define GC__VERDICT_MASK ((1 << GC__VERDICT_BITS) - 1)
#define GC__VERDICT_SPECIAL 0x80 /* in an entry: one of the following two */
/* The entry of an old region in a final mark: the region is condemned, with what the marker has marked. */
#define GC__OLD_CONDEMNED (GC__MARK | GC__VERDICT_SPECIAL)
/* in an entry: all objects were copied before the trace */
#define GC__VERDICT_SLID (GC__VERDICT_SPECIAL | GC__MOVE_MARKED)

/* Unless they say otherwise, fields are written by a mutator that allocates in the region, and by the collector with
   the world stopped. The pauses that begin and end concurrent marking visit all old regions, and are bound by memory
   there: the fields that they need are in the first 64 bytes, which is a cache line. */
typedef struct gc__region {
    gc_heap *heap; /* written under the arena's lock; atomic for threads that neither hold it nor use this heap */
    uintptr_t base;
    struct gc__region *next;     /* in its list */
    size_t live_bytes;           /* bytes of objects that the last trace found live, and of those copied in since */
    size_t next_live_bytes;          /* bytes of objects that the running concurrent marking has found live */
    uint32_t span;               /* a large object's number of regions */
    uint32_t born_bytes;         /* of objects that were born there and marked while generation 2 is being marked */
    uint8_t kind;                /* written under the arena lock while no heap has the region */
    uint8_t generation;
    uint8_t target; /* during a collection: the generation that its survivors will be in */
    uint8_t verdict;
    bool linear;
    bool formatted;  /* linear, with fillers in its holes; an allocation in a hole restarts the index */
    bool overflowed; /* holds marked objects that did not fit on the mark stack */
    uint8_t unscanned; /* the work that concurrent marking has left there: GC__UNSCANNED and others; atomic */
    bool pinned;     /* during a collection: holds objects that must stay */
    bool fixed;      /* its objects never move */
    bool candidate;    /* an evacuation candidate: it is evacuated at the final mark; changes with the world stopped */
    bool retained;      /* it was a candidate, but too many slots refer to it; under the marker's lock */
    uint8_t plane; /* the plane of its mark bits; changes with the world stopped */
    bool sparing;    /* its beginning is not populated, since a small heap may need no more */
    bool is_slid_into; /* during a collection: objects of slid regions were copied there */
    bool accessible; /* this and the next two are written as `kind` is */
    bool left_out;   /* core dumps leave the region out; its memory is zero */
    bool populated;  /* the system may have provided all of its memory, though nothing was written there */
    bool stale; /* its other mark plane may have bits; marker's lock, or the world is stopped */
    uintptr_t hole;              /* where the search for holes resumes */
    uintptr_t indexed_end;       /* a linear region's mark bits are object starts below this address; base: none */
    uint64_t condemned;          /* number of the last collection that condemned it */
    uintptr_t *offset_table; /* in a collection: for every 512 bytes, where the first object goes; NULL: not slid */
    uintptr_t top;               /* the objects of a linear region lie in [base, top); a large object ends there */
    uintptr_t dirty_end;         /* memory from here to the region's end is zero; atomic where windows are extended */
    size_t taken_bytes;          /* bytes of its holes in which mutators have allocated since the last collection */
    struct gc__region *previous; /* in the list of free regions */
    size_t spare;        /* bytes at its end that take no memory, of a large object's last region or a free one */
    uint32_t rest_index; /* GC__LARGE_REST: the number of regions back to the first of the object */
    uint32_t rset_slots;      /* recorded slots that referred to this candidate; under the marker's lock */
} __attribute__((aligned(64))) gc__region;

typedef struct gc__arena {
    gc__lock lock;
    uintptr_t base; /* this and the next three: written by the first heap, 0 again when gc.h is unloaded */
    size_t bytes;
    size_t count; /* number of regions */
    gc__region *regions;
    /* The two mark planes. An object's bit has the number address / 8: biased, like the card table that barriers see.
       The second is NULL until a heap is marked concurrently: written under the lock; atomic. */
    uint64_t *marks[2];
    uint8_t *cards;  /* the tables, unbiased */
    uint8_t *bundles;
    uint8_t *taken;   /* a byte for each region: 0 if it is free, in the arena or a heap's list; atomic */
    size_t used;      /* regions below this number have been in use; atomic, written under the lock */
    size_t free_from; /* every region below this number has a heap; under the lock */
    size_t heaps;     /* number of heaps that exist or are being created; under the lock */
    /* regions until the next huge page, and how many the last slow page required; under the lock */
    size_t huge_waits;
    size_t huge_paid;
    uintptr_t stale_stored; /* stress: the stale reference that a store has come with; atomic */
} gc__arena;

GC__VAR gc__arena gc__the_arena = {GC__LOCK_INITIALIZER, 0, 0, 0, NULL, {NULL, NULL}, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0};
GC__DATA(gc_barrier_tables gc__tables);

#define GC__VERDICTS (gc__tables.age + GC_RANK_ENTRIES)

GC__FN bool gc__in_arena(uintptr_t address) { return address - gc__the_arena.base < gc__the_arena.bytes; }

/* Precondition: gc__in_arena(address). */
GC__FN gc__region *gc__region_of(uintptr_t address) {
    return &gc__the_arena.regions[(address - gc__the_arena.base) >> GC_REGION_SHIFT];
}

/* Returns the end of a region, or of all the regions of a large object. */
GC__FN uintptr_t gc__region_end(const gc__region *region) { return region->base + region->span * GC_REGION_BYTES; }

/* Objects start below this address. A large object starts at the base, and its other mark bits have no meaning. */
GC__FN uintptr_t gc__region_starts_end(const gc__region *region) {
    return region->base + (region->kind == GC__LARGE ? 8 : GC_REGION_BYTES);
}

/* Returns whether the heap owns the region. Another heap's region may change at any time, so read nothing else of
   it. */
GC__FN bool gc__region_is_of(const gc__region *region, const gc_heap *heap) {
    return __atomic_load_n(&region->heap, __ATOMIC_RELAXED) == heap;
}

/* Records for the search for free regions that `span` regions are taken, or free. */
GC__FN void gc__region_note_taken(const gc__region *region, size_t span, bool taken) {
    uint8_t *table = gc__the_arena.taken + (region - gc__the_arena.regions);
    for (size_t i = 0; i < span; i++) __atomic_store_n(table + i, (uint8_t)taken, __ATOMIC_RELAXED);
}

GC__FN size_t gc__regions_used(void) { return __atomic_load_n(&gc__the_arena.used, __ATOMIC_RELAXED); }

/* Returns the first region of the large object of which `region` is a part; for other regions, `region`. */
GC__FN gc__region *gc__region_first(gc__region *region) {
    return region->kind == GC__LARGE_REST ? region - region->rest_index : region;
}
