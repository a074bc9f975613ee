/* What the collector keeps of a heap: between collections, and of the collection that runs. */
#pragma once

#include "../api/heap.h"
#include "../api/weak.h"
#include "../base/map.h"
#include "../space/heap.h"
#include "plan.h"

/* What was counted at a time when an allocation met the limit. */
typedef struct gc__overhead {
    uint64_t ns, paused_ns, collections; /* full ones */
} gc__overhead;

/* When to collect, as of the last collection. */
typedef struct gc__pace {
    size_t nursery_bytes; /* budget of generation 0 */
    size_t nursery_grows; /* bytes that generation 0 may reach while young collections are not worth their time; or 0 */
    size_t cache_bytes;   /* size of the L2 cache, asked for once: the CPU takes long to answer */
    size_t young_regions; /* of generation 1 */
    unsigned allocating;  /* threads that had a window when the last collection began: at least 1, at most processors */
    size_t full_live_bytes;            /* what the last full collection left, off-heap bytes included */
    gc__overhead overhead;             /* since then full collections have hardly made room */
    size_t overhead_allocated_bytes;   /* had been allocated when an allocation met the limit last */
    size_t full_copied_bytes;          /* what copies took in the last full collection that did not compact */
    size_t full_threshold;             /* bytes in generation 2 that start a full collection */
    uint64_t young_ns_per_mib; /* of what a young collection condemns, in CPU time; 0: not known yet */
    uint64_t copy_ns_per_mib;  /* of what survives one, and */
    uint64_t slot_ns;          /* of what it finds in remembered slots; both with all that comes with it */
    uint64_t filling_young_ns, filling_slot_ns; /* the most of both since copies have begun to fill holes; 0: not known */
    uint64_t trace_ns_per_mib[2]; /* of what survives a young collection, and a full one, in CPU time of all collector threads */
    bool has_huge;             /* a new object becomes generation 2 in the next collection of generation 1 */
    bool tenures_at_once;      /* most of each nursery survives, and becomes generation 2 in its first collection */
    unsigned wholesale_most, wholesale_count;      /* how many collections may keep all after the last one that did not; and how many have */
    unsigned tenured_percent;  /* how much of what the last young collection condemned has survived */
    bool fills_holes; /* a fifth of generation 2 is holes, or room is short, and no collection will evacuate its regions */
    unsigned degenerated;      /* full collections to come that stop the program, as the limit leaves no room to mark beside it */
    unsigned degenerated_next; /* how many that are the next time */
    size_t external_bytes;             /* off-heap bytes that the last collection left; atomic */
    unsigned survival[GC_GENERATIONS]; /* percent, averaged over the last collections that condemned it */
    unsigned old_survival;             /* the same of generation 2 alone, of which the last full collection has kept so much */
    uint64_t stopped_cpu_ns;           /* thread CPU time when the collection that runs began; 0: it is not timed */
    uint64_t resumed_cpu_ns;           /* and when the last one ended */
    uint64_t workers_cpu_ns;              /* that of collector threads when the last one ended */
    uint64_t resumed_by;               /* the native thread that ran the last one, by whose clock that is; 0: not known */
} gc__pace;

/* What the trace has seen of weak tables: a gc_weak_entries after the other. */
typedef struct gc__discovered {
    gc__words words;
    size_t waited;   /* the ephemerons before this word have become waits */
    size_t cleared;  /* the entries before this word that are not long have been cleared */
    gc__words ended; /* for checkmark: what survives only as the strong part of an entry that was cleared */
} gc__discovered;
#define GC__DISCOVERED_WORDS (sizeof(gc_weak_entries) / sizeof(uintptr_t))

GC__FN void gc__discovered_begin(gc__discovered *notes) {
    notes->words.count = notes->ended.count = notes->waited = notes->cleared = 0;
}

GC__FN bool gc__discovered_push(gc__discovered *notes, const gc_weak_entries *entries) {
    size_t count = notes->words.count;
    if (!gc__words_reserve(&notes->words, count + GC__DISCOVERED_WORDS)) return false;
    memcpy(notes->words.words + count, entries, sizeof *entries);
    notes->words.count += GC__DISCOVERED_WORDS;
    return true;
}

/* What regions of small objects hold. */
typedef struct gc__small_regions {
    size_t used_bytes, live_bytes;
} gc__small_regions;

GC__FN void gc__small_regions_add(gc__small_regions *regions, const gc__region *region) {
    if (region->kind != GC__SMALL) return;
    regions->used_bytes += GC_REGION_BYTES;
    regions->live_bytes += region->live_bytes;
}

#define GC__STACK_WORDS 5 /* stack, begin, frame; numbers of the roots from the one up to the other */

/* One collection. The lists keep their memory for the next one. */
typedef struct gc__cycle {
    gc__words roots;                    /* slots | 1 if of tagged values */
    gc__words reported;                 /* pairs of numbers: roots from the one up to the other are scan_roots'; for readers */
    gc__words interior;                 /* triples: slot | 1 if of a tagged value, offset, object */
    gc__words pins;                     /* objects | 1 if found by a conservative word */
    gc__map ambiguous;                   /* objects that only conservative words found */
    gc__words external_moving;          /* pairs: object, bytes */
    gc__discovered entries;                  /* of weak tables */
    gc__words stacks;                   /* of values, that scan_roots has reported, GC__STACK_WORDS of each */
    gc__plan planned;                   /* by policy; others read it through */
    const gc__plan *plan;
    bool recycles;                      /* some regions will be in generation 0 again */
    size_t evacuate_left_bytes;         /* of plan->evacuate_partly_bytes, while regions are condemned */
    size_t fixed_holes_bytes;           /* in regions of objects that never move that will be allocated in again */
    gc__words offsets;                  /* where the objects go that slide */
    size_t copied_bytes[GC_GENERATIONS], marked_bytes[GC_GENERATIONS], condemned_bytes[GC_GENERATIONS];
    size_t large_bytes, large_kept_bytes; /* of young large objects that were condemned, and of those that live */
    size_t young_staying_bytes, young_kept_bytes; /* in regions of generation 0 that stay: before the collection, and after it */
    size_t staying_bytes, staying_kept_bytes; /* in regions of generation 2 that stay: before the collection, and after it */
    gc__small_regions old_small;         /* of generation 2, after a full collection */
    bool condemns_old;                   /* old regions are, with what the marker has marked, until the sweep */
    gc__region *condemned_old;           /* the list that they were in */
    gc__region *cursors[GC_GENERATIONS]; /* the search for holes goes on here, in the list of the generation */
    bool no_room[GC_GENERATIONS];        /* the heap gives no more regions for copies */
} gc__cycle;

/* What the collection has copied, or left where it was, in all generations. */
GC__FN size_t gc__survived_bytes(const gc__cycle *cycle) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += cycle->copied_bytes[g] + cycle->marked_bytes[g];
    return bytes;
}

typedef struct gc__collector {
    gc__words mark_stack;                                   /* its memory, kept for the next collection */
    gc__words globals;                                      /* triples: first slot, count, flags; roots lock */
    gc__map external[GC_GENERATIONS];                       /* off-heap bytes of objects */
    struct gc__workers *workers;                                  /* NULL: there are no collector threads yet */
    unsigned processors;                                    /* for collector threads, when that was asked last */
    uint64_t processors_asked_ns;                           /* when that was; 0: never */
    bool workers_refused;                                      /* the system has given fewer threads than were asked for */
    uint64_t finished[GC_GENERATIONS], finished_compacting; /* the last collection of that generation or an older */
} gc__collector;

/* Heaps that are marked beside mutators keep to a goal for pauses, unless they have no room for that. */
GC__FN bool gc__has_pause_goal(const gc_heap *heap) {
    return GC__HAS_MARKER && heap->options.concurrent == GC_CONCURRENT_ON && !heap->pace->degenerated;
}

GC__FN bool gc__fills_holes(const gc_heap *heap) { return GC__HAS_MARKER && heap->pace->fills_holes; }

GC__FN struct gc__workers *gc__heap_workers(const gc_heap *heap) {
    return GC__HAS_WORKERS ? heap->collector->workers : NULL;
}

/* The generation that compaction copies to. */
GC__FN unsigned gc__oldest(const gc_heap *heap) { return heap->options.non_generational ? 0 : 2; }

/* From this size on objects with references grow old at once where pauses are to be short: so they are scanned once. */
#define GC__HUGE_BYTES ((size_t)1 << 20)

GC__FN bool gc__is_huge(const gc__region *region) {
    return region->kind == GC__LARGE && region->top - region->base >= GC__HUGE_BYTES;
}

/* The generation up to which roots are looked at. A marking begins with all of them. */
GC__FN int gc__roots_generation(const gc_heap *heap) {
    return heap->cycle->plan->purpose == GC__MARK_BEGIN ? 2 : heap->collection.generation;
}

/* Whether the collection that runs is the final mark of a concurrent cycle. */
GC__FN bool gc__is_mark_end(const gc_heap *heap) { return GC__HAS_MARKER && heap->cycle->plan->purpose == GC__MARK_END; }
