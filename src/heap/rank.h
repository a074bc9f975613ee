/* The ranks and the verdict of a region, in the tables that barriers and the trace read. */
#pragma once

#include "barrier_state.h"

/* Invariant: age and youth are those of the generation that the region's survivors are or will be in. */
GC__FN void gc__region_set_rank(const gc__region *region, int generation, bool ranked) {
    uint8_t *age = gc__tables.age + (region->base >> GC_REGION_SHIFT);
    for (uint32_t i = 0; i < region->span; i++) {
        age[i] = (uint8_t)generation;
        *(age + i - GC_RANK_ENTRIES) = (uint8_t)(ranked ? 2 - generation : 0);
    }
    uintptr_t end = gc__region_end(region);
    if (ranked && generation < 2 &&
        (region->base < gc__barrier_bound(&gc__tables.low) || end > gc__barrier_bound(&gc__tables.high)))
        gc__bounds_widen(region->base, end);
}

/* 2 - the generation of an object; 0 for an address on no heap. */
GC__FN uint8_t gc__youth(uintptr_t ref) { return *(gc__tables.age - GC_RANK_ENTRIES + (ref >> GC_REGION_SHIFT)); }

/* `copies`: the generation to which the region's objects are copied, if the verdict says so. */
GC__FN void gc__region_set_verdict(gc__region *region, uint8_t verdict, int copies) {
    region->verdict = verdict;
    int entry = verdict < GC__MOVE ? verdict : verdict | copies << GC__VERDICT_BITS;
    memset(GC__VERDICTS + (region->base >> GC_REGION_SHIFT), entry, region->span);
}
