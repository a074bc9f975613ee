/* The collector's state of a heap: between collections, and during the collection that runs. */
#pragma once

#include "../api/heap.h"
#include "../api/pause.h"
#include "../api/weak.h"
#include "../base/map.h"
#include "../space/heap.h"

/* The purpose and the plan of a collection: decided by policy, and constant from condemning on. */
typedef enum gc__purpose {
    GC__YOUNG,           /* traces young generations */
    GC__MARK_BEGIN,      /* a young collection that begins a concurrent cycle */
    GC__REMARK,          /* a young collection, then a remark of the cycle, which finds dead objects with finalizers */
    GC__MARK_END,        /* a young collection, then the final mark of the cycle, which frees old objects */
    GC__FULL,            /* marks all generations with the world stopped; sparse regions are evacuated */
    GC__FULL_REUSE,      /* like GC__FULL, but nothing moves, and mutators get the holes */
    GC__COMPACT,         /* evacuates all that can move, as far as there is room */
    GC__SLIDE            /* slides objects together in address order, which takes no more memory than before */
} gc__purpose;

/* A request for a collection, made before the heap was surveyed. */
typedef struct gc__request {
    gc__purpose purpose;
    int generation; /* the oldest generation whose objects it frees */
    gc_reason reason;
    gc_degenerated degenerated; /* the point at which a cycle that this ends or replaces has given up */
    bool compacting;       /* all objects that can move should move */
    /* Copies into holes go only to large ones, since small ones had less room than was estimated. */
    bool large_holes_only;
    size_t room_for;       /* the object size for which room is needed; 0: any; SIZE_MAX: a whole region */
} gc__request;

/* Only policy writes to a plan, and only until regions are condemned. */
typedef struct gc__plan {
    gc__request request;
    gc__purpose purpose; /* that of the request; but a final mark becomes a full collection if stores were missed */
    /* The oldest generation whose regions are condemned at first; the final mark condemns the old ones later. */
    int condemned;
    bool moves;          /* false: no object moves, in a non-moving heap */
    bool moves_all;      /* under stress all regions that can be evacuated are */
    uint8_t promote_to[GC_GENERATIONS]; /* the generation of each generation's survivors */
    bool promotes_huge; /* surviving huge objects go to generation 2: scanning one again would be a long pause */
    bool ages_all; /* a full collection makes all survivors old, since young collections do not pay */
    /* Young regions that are nearly full stay in place, since nearly all their objects survive. */
    bool promotes_in_place;
    bool tight;                         /* room is short: a young region counts by its memory, not by its objects */
    bool pin_fragmented;                /* pins are in most regions, so they stay */
    bool recycles_young;                /* mutators get the holes of sparse young regions, in a non-moving heap */
    /* Regions are evacuated if at most this percentage of them is predicted to live. */
    int evacuate_old, evacuate_young;
    /* Of regions with exactly this percentage, only as many are evacuated as fit into these bytes: */
    int evacuate_partly;
    size_t evacuate_partly_bytes;
    bool evacuate_old_partly, evacuate_young_partly; /* this applies to old ones, and to young ones */
    int recycle_below; /* mutators get the holes of regions that stay in place with less than this percentage */
    /* Copies go to holes of at least this many bytes in regions that stay in place; 0: to fresh regions. */
    size_t into_holes;
    size_t into_holes_mean; /* the size from which a hole counts as room */
    unsigned predicted[GC_GENERATIONS]; /* percent of a generation that is expected to survive */
} gc__plan;

/* Returns whether the collection does more for a concurrent cycle than others that come meanwhile. */
GC__FN bool gc__is_of_cycle(const gc__plan *plan) {
    return plan->purpose >= GC__MARK_BEGIN && plan->purpose <= GC__MARK_END;
}

/* What was counted when an allocation met the limit. */
typedef struct gc__overhead {
    uint64_t ns, paused_ns, collections; /* full collections */
} gc__overhead;

/* When to collect, as learned up to the last collection. */
typedef struct gc__pace {
    size_t nursery_bytes; /* budget of generation 0 */
    /* The size that generation 0 may reach while young collections are not worth their time; or 0. */
    size_t nursery_grows;
    size_t cache_bytes;   /* size of the L2 cache, read once: the CPU takes long to answer */
    size_t young_regions; /* regions of generation 1 */
    /* Threads that had a window when the last collection began: at least 1, at most as many as processors. */
    unsigned allocating;
    size_t full_live_bytes;            /* what the last full collection left, off-heap bytes included */
    gc__overhead overhead;             /* counts from the time since when full collections have hardly made room */
    size_t overhead_allocated_bytes;   /* bytes allocated before the last time an allocation met the limit */
    size_t full_used_bytes;            /* what the last stopped one left in use, holes included */
    size_t full_copied_bytes;          /* bytes of copies in the last full collection that did not compact */
    size_t full_threshold;             /* bytes in generation 2 that start a full collection */
    uint64_t young_ns_per_mib; /* CPU time for each MiB that a young collection condemns; 0: not known yet */
    uint64_t copy_ns_per_mib;  /* CPU time for each surviving MiB, and */
    uint64_t slot_ns;          /* for each remembered slot; both include all that comes with it */
    /* The highest of both costs since copies began to fill holes; 0: not known. */
    uint64_t filling_young_ns, filling_slot_ns;
    /* CPU time of all collector threads for each MiB that survives a young collection, and a full one. */
    uint64_t trace_ns_per_mib[2];
    bool has_huge; /* there is a new huge object, which becomes generation 2 in the next collection of generation 1 */
    bool tenures_at_once;      /* most of each nursery survives, and becomes generation 2 in its first collection */
    size_t born_bytes; /* the first value of heap->born_left, after the last nursery that was traced */
    unsigned tenured_percent;  /* how much of what the last young collection condemned has survived */
    /* A fifth of generation 2 is holes, or room is short, and no collection will evacuate its regions. */
    bool fills_holes;
    /* Remaining full collections that stop the world, since the limit leaves no room for concurrent marking. */
    unsigned degenerated;
    unsigned degenerated_next; /* length of the next series of stop-the-world collections */
    size_t external_bytes;             /* off-heap bytes that the last collection left; atomic */
    unsigned survival[GC_GENERATIONS]; /* percent, averaged over the last collections that condemned the generation */
    unsigned old_survival;             /* percent of generation 2 alone, as estimated in the last full collection */
    uint64_t stopped_cpu_ns;           /* thread CPU time when the collection that runs began; 0: it is not timed */
    uint64_t resumed_cpu_ns;           /* and when the last one ended */
    uint64_t workers_cpu_ns;              /* CPU time of the collector threads when the last one ended */
    uint64_t resumed_by;               /* the native thread that ran the last one, whose clock was read; 0: not known */
} gc__pace;

/* The weak tables that the trace has found, as consecutive gc_weak_entries. */
typedef struct gc__discovered {
    gc__words words;
    size_t waited;   /* the ephemerons before this word have been turned into waits */
    size_t cleared;  /* entries before this word that are not long have been cleared */
    gc__words ended; /* for checkmark: objects that survive only as the strong part of a cleared entry */
} gc__discovered;
#define GC__DISCOVERED_WORDS (sizeof(gc_weak_entries) / sizeof(uintptr_t))

GC__FN bool gc__discovered_push(gc__discovered *notes, const gc_weak_entries *entries) {
    size_t count = notes->words.count;
    if (!gc__words_reserve(&notes->words, count + GC__DISCOVERED_WORDS)) return false;
    memcpy(notes->words.words + count, entries, sizeof *entries);
    notes->words.count += GC__DISCOVERED_WORDS;
    return true;
}

/* The bytes that regions of small objects hold. */
typedef struct gc__small_regions {
    size_t used_bytes, live_bytes;
} gc__small_regions;

GC__FN void gc__small_regions_add(gc__small_regions *regions, const gc__region *region) {
    if (region->kind != GC__SMALL) return;
    regions->used_bytes += GC_REGION_BYTES;
    regions->live_bytes += region->live_bytes;
}

#define GC__STACK_WORDS 5 /* stack, begin, frame; numbers of its first root, and of the first one behind */

/* The state of one collection. The lists keep their memory for the next one. */
typedef struct gc__cycle {
    gc__words roots;                    /* slots | 1 if they hold tagged values */
    /* Pairs of numbers: the roots from the first up to the second are from scan_roots; for readers. */
    gc__words reported;
    gc__words interior;                 /* triples: slot | 1 if it holds a tagged value, offset, object */
    gc__words pins;                     /* objects | 1 if found by a conservative word */
    gc__map ambiguous;                   /* objects that only conservative words found */
    gc__words external_moving;          /* pairs: object, bytes */
    gc__discovered entries;                  /* entries of weak tables */
    gc__words stacks;                   /* value stacks that scan_roots has reported, GC__STACK_WORDS words of each */
    gc__plan planned;                   /* written by policy; others read it through `plan` */
    const gc__plan *plan;
    bool recycles;                      /* some regions become generation 0 again */
    size_t evacuate_left_bytes;         /* the rest of plan->evacuate_partly_bytes, while regions are condemned */
    size_t fixed_holes_bytes;           /* bytes of holes in recycled regions of objects that never move */
    gc__words offsets;                  /* the offset tables of regions whose objects slide */
    size_t copied_bytes[GC_GENERATIONS], marked_bytes[GC_GENERATIONS], condemned_bytes[GC_GENERATIONS];
    size_t large_bytes, large_kept_bytes; /* bytes of condemned young large objects, and of those that live */
    /* Bytes in regions of generation 0 that stay in place: before the collection, and after it. */
    size_t young_staying_bytes, young_kept_bytes;
    /* Bytes in regions of generation 2 that stay in place: before the collection, and after it. */
    size_t staying_bytes, staying_kept_bytes;
    gc__small_regions old_small;         /* of generation 2, after a full collection */
    gc__region *condemned_old;           /* the list of old regions with what the marker has marked; NULL: none is condemned */
    gc__region *cursors[GC_GENERATIONS]; /* where the search for holes goes on in the list of the generation */
    bool no_room[GC_GENERATIONS];        /* the heap gives no more regions for copies */
} gc__cycle;

/* Returns the bytes that the collection has copied or left in place, in all generations. */
GC__FN size_t gc__survived_bytes(const gc__cycle *cycle) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += cycle->copied_bytes[g] + cycle->marked_bytes[g];
    return bytes;
}

typedef struct gc__collector {
    gc__words mark_stack;                                   /* its memory, kept for the next collection */
    gc__words globals; /* triples: first slot, count, flags; under the roots lock */
    gc__map external[GC_GENERATIONS];                       /* off-heap bytes of objects, and their identity numbers */
    uintptr_t identities;                                   /* how many numbers were given */
    struct gc__workers *workers;                                  /* NULL: there are no collector threads yet */
    unsigned processors;                                    /* processors for collector threads, when last asked for */
    uint64_t processors_asked_ns;                           /* when they were last asked for; 0: never */
    bool workers_refused; /* the system has given fewer threads than were requested */
    /* The number of the last collection of that generation or an older one. */
    uint64_t finished[GC_GENERATIONS], finished_compacting;
} gc__collector;

/* Returns whether the heap keeps to a goal for pauses, as heaps with concurrent marking do unless they have no room
   for that. */
GC__FN bool gc__has_pause_goal(const gc_heap *heap) {
    return GC__HAS_MARKER && heap->options.concurrent == GC_CONCURRENT_ON && !heap->pace->degenerated;
}

GC__FN bool gc__fills_holes(const gc_heap *heap) { return GC__HAS_MARKER && heap->pace->fills_holes; }

GC__FN struct gc__workers *gc__heap_workers(const gc_heap *heap) {
    return GC__HAS_WORKERS ? heap->collector->workers : NULL;
}

/* Returns the generation to which compaction copies. */
GC__FN unsigned gc__oldest(const gc_heap *heap) { return heap->options.non_generational ? 0 : 2; }

/* From this size on, objects with references grow old at once if pauses have a goal, so that they are scanned once. */
#define GC__HUGE_BYTES ((size_t)1 << 20)

GC__FN bool gc__is_huge(const gc__region *region) {
    return region->kind == GC__LARGE && region->top - region->base >= GC__HUGE_BYTES;
}

/* Returns the generation up to which roots are looked at. What a cycle finds depends on all of them. */
GC__FN int gc__roots_generation(const gc_heap *heap) {
    return gc__is_of_cycle(heap->cycle->plan) ? 2 : heap->collection.generation;
}

/* Returns whether the collection that runs is the final mark of a concurrent cycle. */
GC__FN bool gc__is_mark_end(const gc_heap *heap) { return GC__HAS_MARKER && heap->cycle->plan->purpose == GC__MARK_END; }
/* Returns whether a remark of a concurrent cycle follows the collection that runs, in the same pause. */
GC__FN bool gc__is_remark(const gc_heap *heap) { return GC__HAS_MARKER && heap->cycle->plan->purpose == GC__REMARK; }
/* Returns whether the marker does what is left in this pause. */
GC__FN bool gc__is_last_of_marking(const gc_heap *heap) { return gc__is_mark_end(heap) || gc__is_remark(heap); }
