/* The ranks and the verdict of a region, in the tables that barriers and the trace read. */
#pragma once

#include "barrier_state.h"

/* Every age with GC_AGE_LOGGED also has GC__AGE_LOGGED_TOO: so its sum with GC__YOUTH_STALE has the sign bit, as all
   other sums with that youth have. */
#define GC__AGE_LOGGED_TOO 0x40
#define GC__AGE_MARKING (GC__HAS_MARKER ? 0x20 : 0)   /* added to an age: the object is being marked concurrently */
#define GC__AGE_REMEMBERS (GC__HAS_MARKER ? 0x10 : 0) /* without GC__AGE_MARKING: the object's slots are remembered */
#define GC__AGE_FILLED GC__AGE_REMEMBERS /* with it: objects are born in the region, some of which have no start bit yet */
#define GC__AGE_CANDIDATE (GC__HAS_MARKER ? 0x08 : 0) /* slots that refer to the object are recorded, since it will be copied */
#define GC__RANKS 0x07         /* the bits of a sum that generations alone would yield */

/* Invariant: age and youth belong to the generation that the region's survivors are or will be in. */
GC__COLD void gc__region_set_rank(const gc__region *region, int age, bool ranked) {
    uint8_t *entry = gc__tables.age + (region->base >> GC_REGION_SHIFT);
    int generation = age & GC_AGE_GENERATION;
    for (uint32_t i = 0; i < region->span; i++) {
        __atomic_store_n(entry + i, (uint8_t)age, __ATOMIC_RELEASE); /* a marker or barrier may be reading it */
        __atomic_store_n(entry + i - GC_RANK_ENTRIES, (uint8_t)(ranked ? 2 - generation : 0), __ATOMIC_RELAXED);
    }
    uintptr_t end = gc__region_end(region);
    if (ranked && generation < 2 &&
        (region->base < gc__barrier_bound(&gc__tables.low) || end > gc__barrier_bound(&gc__tables.high)))
        gc__bounds_widen(region->base, end);
}

/* Stress: the youth of an inaccessible region that a collection has emptied. A store of a reference to it takes the
   logging path, by the sign bit of its sum, and needs no card. */
#define GC__YOUTH_STALE (GC_AGE_LOGGED | GC__AGE_LOGGED_TOO)

/* Whether what lives of it is copied when the marking beside mutators ends. */
GC__FN bool gc__region_is_candidate(const gc__region *region) { return GC__HAS_MARKER && region->candidate; }

/* Returns the age of the object's region, as who reads mark bits of regions that mutators may be taking has to read it. */
GC__FN unsigned gc__age_before_marks(uintptr_t object) {
    return __atomic_load_n(&gc__tables.age[object >> GC_REGION_SHIFT], __ATOMIC_ACQUIRE);
}

/* True if the object is of generation 2, and that generation is being marked concurrently. */
GC__FN bool gc__is_marking(uintptr_t object) {
    return GC__AGE_MARKING && gc__in_arena(object) && gc__age_before_marks(object) & GC__AGE_MARKING;
}

/* Returns whether a slot needs a card for a referent; `ranks` is the slot's age plus the referent's youth. */
GC__FN bool gc__ranks_need_card(unsigned ranks) {
    return (ranks & GC__RANKS) > 2;
}

/* Returns 2 - the generation of an object; 0 for an address on no heap. */
GC__FN uint8_t gc__youth(uintptr_t ref) {
    return __atomic_load_n(gc__tables.age - GC_RANK_ENTRIES + (ref >> GC_REGION_SHIFT), __ATOMIC_RELAXED) & GC_AGE_GENERATION;
}

/* Sets the region's entries in the verdict table. Most regions have one, for which calling memset would take longer. */
GC__INLINED void gc__region_set_entries(const gc__region *region, int entry) {
    uint8_t *first = GC__VERDICTS + (region->base >> GC_REGION_SHIFT);
    if (GC__LIKELY(region->span == 1))
        *first = (uint8_t)entry;
    else
        memset(first, entry, region->span);
}

/* `copies` is the generation to which the region's objects are copied, if the verdict says so. */
GC__OUT_OF_LINE void gc__region_set_verdict(gc__region *region, uint8_t verdict, int copies) {
    region->verdict = verdict;
    int entry = verdict < GC__MOVE ? verdict : verdict | copies << GC__VERDICT_BITS;
    gc__region_set_entries(region, entry);
}
