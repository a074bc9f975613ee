/* Phase "condemn": which regions this collection looks at, and what it does with each. */
#pragma once

#include "trace.h"

#define GC__SURVIVAL_HIGH 60   /* percent predicted to survive from which a region is promoted in place, not copied */
#define GC__DENSITY_SPARSE 25  /* percent live up to which an old region is evacuated */
#define GC__DENSITY_TIGHT 75   /* the same where the heap is near its limit or half of it is holes */
#define GC__DENSITY_RECYCLE 75 /* percent live below which a region that cannot be evacuated is allocated into again */

GC__FN unsigned gc__density(const gc__region *region) {
    size_t percent = region->live_bytes * 100 / GC_REGION_BYTES;
    return percent < 100 ? (unsigned)percent : 100;
}

/* Whether the nursery and copying its survivors will soon not fit under the limit any more. */
GC__FN bool gc__is_tight(const gc_heap *heap) {
    return heap->options.heap_bytes_max &&
           gc__regions_left(heap) < heap->limit_regions / 4 + 2 * (heap->nursery_bytes >> GC_REGION_SHIFT);
}

/* The highest density, in percent, of old regions that are evacuated: the sparsest first, as far as there is room for
   the copies. What is chosen but finds no room stays in place, but then no region comes free, so choose with care. */
GC__FN unsigned gc__evacuate_up_to(const gc_heap *heap, bool compacting) {
    size_t live[101] = {0}, used = 0, total = 0;
    for (const gc__region *region = heap->regions[heap->options.non_generational ? 0 : 2]; region;
         region = region->next) {
        if (region->kind != GC__SMALL || (region->linear && !region->formatted)) continue;
        live[gc__density(region)] += region->live_bytes;
        total += region->live_bytes;
        used += GC_REGION_BYTES;
    }
    unsigned most = compacting ? 100 : gc__is_tight(heap) || used > 2 * total ? GC__DENSITY_TIGHT : GC__DENSITY_SPARSE;
    size_t young = (heap->generation_bytes[0] + heap->generation_bytes[1]) / 100 * heap->survival[0];
    size_t room = gc__regions_left(heap) * (GC_REGION_BYTES / 10 * 9), copies = young < room ? young : room;
    for (unsigned percent = 0; percent <= most; percent++) {
        copies += live[percent];
        if (copies > room) return percent ? percent - 1 : 0;
    }
    return most;
}

/* The share of the region's memory that is expected to survive. */
GC__FN unsigned gc__predicted_percent(const gc_heap *heap, const gc__region *region) {
    if (region->linear && !region->formatted) return heap->survival[0];
    return region->generation == 1 ? gc__density(region) * heap->survival[1] / 100 : gc__density(region);
}

GC__FN uint8_t gc__verdict_for(const gc_heap *heap, const gc__region *region, bool compacting) {
    if (region->kind == GC__LARGE || heap->options.non_moving) return GC__MARK;
    uint8_t move = (uint8_t)(region->pinned ? GC__MOVE_MARKED : GC__MOVE);
    if (heap->options.stress) return move;
    bool survivors =
        region->generation == 2 || (heap->options.non_generational && (!region->linear || region->formatted));
    if (compacting && !survivors) return move;
    unsigned most = survivors ? heap->evacuate_up_to : GC__SURVIVAL_HIGH;
    return gc__predicted_percent(heap, region) > most ? (uint8_t)GC__MARK : move;
}

/* The generation that the region itself will be in if it stays. Survivors grow a generation older; but a young region
   that only pins hold back, and a sparse one that cannot move, become generation 0, whose holes mutators allocate in. */
GC__FN uint8_t gc__target_for(const gc_heap *heap, const gc__region *region, uint8_t verdict) {
    if (heap->options.non_generational) return 0;
    if (region->kind == GC__SMALL) {
        size_t live = region->live_bytes;
        if (region->generation == 0 && verdict == GC__MOVE_MARKED) return 0;
        if (region->generation == 2 && heap->options.non_moving && live < GC_REGION_BYTES / 100 * GC__DENSITY_RECYCLE)
            return 0;
    }
    return region->generation < 2 ? (uint8_t)(region->generation + 1) : 2;
}

GC__FN void gc__region_condemn(gc_heap *heap, gc__region *region, bool compacting) {
    uint8_t verdict = gc__verdict_for(heap, region, compacting);
    region->target = gc__target_for(heap, region, verdict);
    region->condemned = heap->collection.number;
    region->overflowed = false;
    region->live_bytes = 0;
    if (region->generation > 0) gc__cards_clear(region->base, region->base + region->span * GC_REGION_BYTES);
    if (verdict != GC__MOVE) gc__marks_clear(region);
    gc__region_set_verdict(region, verdict);
    gc__region_set_rank(region, region->target, true);
}

/* Condemns generations 0..generation; returns their regions, in no list any more. Invariant from here to the end of the
   collection: ranks are those of the time after it. */
GC__FN gc__region *gc__condemn(gc_heap *heap, int generation, bool compacting) {
    gc__region *condemned = NULL;
    heap->evacuate_up_to = generation == 2 ? gc__evacuate_up_to(heap, compacting) : 0;
    for (size_t i = 0; i < heap->pins.count; i++) gc__region_of(heap->pins.words[i])->pinned = true;
    for (int g = 0; g <= generation; g++) {
        gc__region *region = heap->regions[g];
        heap->regions[g] = NULL;
        heap->windows[g].cursor = NULL;
        heap->condemned_bytes[g] = heap->generation_bytes[g] + (g ? 0 : heap->kept_bytes);
        while (region) {
            gc__region *next = region->next;
            gc__region_condemn(heap, region, compacting);
            region->next = condemned;
            condemned = region;
            region = next;
        }
    }
    for (size_t i = 0; i < heap->pins.count; i++) gc__region_of(heap->pins.words[i])->pinned = false;
    heap->recycled = NULL;
    return condemned;
}
