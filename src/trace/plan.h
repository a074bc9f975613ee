/* The purpose and the plan of a collection: decided by policy, and constant from condemning on. */
#pragma once

#include "../api/pause.h"
#include "../platform/platform.h"

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
