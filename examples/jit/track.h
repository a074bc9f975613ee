/* track.h - writes down, while code is generated, what its stack map must say: which registers and words of the frame hold
   references, from which instruction on, and what the instructions do to the frame. */
#pragma once

#include "assembler.h"
#include "ir.h"

#include "gc_stackmap.h"

/* What a location holds. */
typedef enum holding { HOLDS_NOTHING, HOLDS_REF, HOLDS_PINNED, HOLDS_INTERIOR, HOLDING_COUNT } holding;

static inline holding holding_of(value_class class) {
    return class == CLASS_REF ? HOLDS_REF : class == CLASS_PINNED ? HOLDS_PINNED : HOLDS_NOTHING;
}

/* Locations are numbered: 16 registers, then the words of homes. */
#define REGISTER_LOCATIONS 16

/* The safe points' live sets are lists of slots until all slots are known. */
typedef struct tracked_point {
    uint32_t offset, first, count; /* in `listed` */
} tracked_point;

typedef struct tracker {
    assembler *a;
    int home_words;
    int32_t home_offset;           /* of the first home, from the stack pointer or rbp */
    bool has_frame;                /* homes are found by rbp */
    bool is_open;                  /* in a range where threads may be stopped anywhere */
    uint8_t *holds;                /* holding, for each location; correct in a range only */
    int (*slot_of)[HOLDING_COUNT]; /* for each location; -1: none yet */

    gc_stackmap_slot *slots;
    uint32_t slot_count, slot_room;
    gc_stackmap_change *changes;
    uint32_t change_count, change_room;
    gc_stackmap_range *ranges;
    uint32_t range_count, range_room;
    gc_stackmap_unwind *unwind;
    uint32_t unwind_count, unwind_room;
    tracked_point *points;
    uint32_t point_count, point_room;
    uint32_t *listed;
    uint32_t listed_count, listed_room;
} tracker;

void track_begin(tracker *t, assembler *a, const ir_function *f, int32_t home_offset);
void track_free(tracker *t);

static inline int location_count(const tracker *t) { return REGISTER_LOCATIONS + t->home_words; }
/* The location of a home; -1: a vector register, which holds no reference. */
int location_of(ir_home home);

/* From the next instruction on the location holds this. Says nothing outside of a range. */
void track_hold(tracker *t, int location, holding what);
/* What every location holds from the next instruction on; opens a range if none is open. */
void track_open(tracker *t, const uint8_t *holds);
void track_close(tracker *t);
/* The next instruction is the return address of a call, after which these locations are live. */
void track_point(tracker *t, const uint8_t *holds);
void track_unwind(tracker *t, gc_unwind_op op, int number, int32_t bytes);

/* The slot of a location that holds this, or -1 if there never was one. */
int track_slot(const tracker *t, int location, holding what);
/* The map, malloc'ed. The code is complete, and the description has what this module does not know. Ends the program if the
   description is wrong. */
void *track_encode(tracker *t, gc_stackmap_method *description, size_t *bytes);
