/* What a collection is for, and how it goes about it: decided by policy, and constant from condemning on. */
#pragma once

#include "../api/pause.h"
#include "../platform/platform.h"

/* What a collection is for. */
typedef enum gc__purpose {
    GC__YOUNG,           /* traces young generations */
    GC__YOUNG_WHOLESALE, /* promotes the nursery untraced, since nearly all of it would survive */
    GC__MARK_BEGIN,      /* a young collection with which a concurrent cycle begins */
    GC__MARK_END,        /* a young collection, then the final mark of the cycle, which frees old objects */
    GC__FULL,            /* stops the program to mark all generations; sparse regions are evacuated */
    GC__FULL_REUSE,      /* the same, but nothing moves, and mutators get the holes */
    GC__COMPACT,         /* evacuates all that can move, as far as there is room */
    GC__SLIDE            /* slides objects together within their regions, which needs no free region */
} gc__purpose;

/* A collection that is called for, before the heap was looked at. */
typedef struct gc__request {
    gc__purpose purpose;
    int generation; /* the oldest one that it frees objects of */
    gc_reason reason;
    gc_degenerated degenerated; /* where a cycle that this ends, or takes the place of, has given up */
    bool compacting;       /* all that can move is to move */
    bool large_holes_only; /* copies into holes go to large ones, since they did not find the room that small ones promised */
    size_t room_for;       /* it is to make room for an object of this size; 0: of any; SIZE_MAX: for a whole region */
} gc__request;

/* Only policy writes to a plan, and only until regions are condemned. */
typedef struct gc__plan {
    gc__request request;
    gc__purpose purpose; /* the requested one; but the end of a cycle that missed stores is a full collection */
    int condemned; /* the oldest generation whose regions are condemned at first */
    bool moves;          /* no: all objects stay, in a heap that moves nothing */
    bool moves_all;      /* under stress all regions are evacuated that can be */
    uint8_t promote_to[GC_GENERATIONS]; /* where survivors of each generation go */
    bool promotes_huge;                 /* those of huge objects go to generation 2: to scan one again would be a long pause */
    bool ages_all;                      /* a full collection makes all survivors old, since young collections do not pay */
    bool promotes_in_place;             /* young regions that are nearly full stay, since nearly all objects in them survive */
    bool tight;                         /* room is short: a young region counts by its memory, not by its objects */
    bool pin_fragmented;                /* pins are in most regions, so they stay */
    bool recycles_young;                /* mutators get the holes of sparse young regions, in a heap that moves nothing */
    int evacuate_old, evacuate_young;   /* regions are evacuated if at most this percentage of them is predicted to live */
    int evacuate_partly;                /* of regions with exactly this percentage, only as many as fit into these bytes: */
    size_t evacuate_partly_bytes;
    bool evacuate_old_partly, evacuate_young_partly; /* of old ones, and of young ones */
    int recycle_below; /* mutators get the holes of regions that stay with less than this percentage */
    size_t into_holes;      /* copies go to holes of at least so many bytes in regions that stay; 0: to fresh regions */
    size_t into_holes_mean; /* what a hole must have to count as room */
    unsigned predicted[GC_GENERATIONS]; /* percent of a generation that is expected to survive */
} gc__plan;

/* Whether a concurrent cycle begins or ends with the collection. */
GC__FN bool gc__is_of_cycle(const gc__plan *plan) {
    return plan->purpose == GC__MARK_BEGIN || plan->purpose == GC__MARK_END;
}
