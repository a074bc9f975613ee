/* Phase "sweep": decides what becomes of each condemned region. Objects are not touched. */
#pragma once

#include "../space/mark_bits.h"
#include "../space/object.h"
#include "../space/heap.h"
#include "../space/index.h"
#include "../trace/collector.h"
#include "../trace/old_regions.h"
#include "../trace/shade.h"
#include "../trace/claim.h"

/* Stress: an evacuated region stays inaccessible for a while, so that a missed root faults at once. */
#define GC__QUARANTINE_REGIONS \
    ((GC_REGION_SHIFT < 26 ? (size_t)256 << 20 : (size_t)4 << GC_REGION_SHIFT) >> GC_REGION_SHIFT)

GC__FN void gc__quarantine_push(gc_heap *heap, gc__region *region) {
    gc__region_set_rank(region, 0, false);
    gc__region_set_verdict(region, GC__IGNORE, 0);
    heap->held_regions--;
    region->kind = GC__QUARANTINED;
    region->next = NULL;
    if (heap->quarantine_last)
        heap->quarantine_last->next = region;
    else
        heap->quarantine = region;
    heap->quarantine_last = region;
    /* If the system refuses access control, no misuse is detected there. Other barriers, and code emitted by the
       host, would mistake the stale ranks for those of a slot that needs a card, and slots outside the heap have
       none. */
    bool hidden = gc__os_access((void *)region->base, GC_REGION_BYTES, false), seen = GC__BARRIER_CHOSEN == GC_BARRIER_RANK_SUM;
    if (hidden && seen && !GC_EMBEDDED && !heap->options.barrier_changed)
        *(gc__tables.age + (region->base >> GC_REGION_SHIFT) - GC_RANK_ENTRIES) = GC__YOUTH_STALE;
    if (++heap->quarantine_count > GC__QUARANTINE_REGIONS) gc__quarantine_pop(heap);
}

/* Keeps the region, in its target generation, with the marks of this collection. */
GC__COLD void gc__sweep_keep(gc_heap *heap, gc__region *region) {
    gc__region_set_plane(region, heap->mark_plane);
    if (region->target == 2 && region->stale && heap->mark_plane == heap->plane) gc__other_plane_clear(region);
    if (GC__UNLIKELY(gc__heap_is_marking(heap)) && region->target == 2 && region->generation < 2)
        gc__shade_born(region, region->base, gc__region_end(region), region->live_bytes);
    if (region->target < region->generation) heap->collection.demoted_bytes += region->live_bytes;
    region->generation = region->target;
    if (!gc__heap_is_marking(heap)) region->unscanned = 0; /* the final mark may have met its objects */
    gc__region_set_verdict(region, GC__IGNORE, 0);
    gc__heap_push(heap, region);
    if (region->generation == 2) gc__small_regions_add(&heap->cycle->old_small, region);
}

GC__COLD void gc__sweep_large(gc_heap *heap, gc__region *region) {
    if (gc__is_marked(region->base)) {
        if (region->generation < 2) heap->cycle->large_kept_bytes += region->live_bytes;
        gc__sweep_keep(heap, region);
        if (!heap->options.keep_memory) gc__large_uncommit(heap, region);
    } else {
        heap->large_bytes -= gc__object_bytes(region->base);
        gc__heap_give(heap, region);
    }
}

GC__FN void gc__sweep_small(gc_heap *heap, gc__region *region) {
    if (region->verdict == GC__MOVE && gc__stress_of(heap)) {
        gc__quarantine_push(heap, region);
    } else if (region->verdict == GC__MOVE || region->live_bytes == 0) {
        gc__heap_give(heap, region);
    } else {
        region->linear = region->formatted = false;
        region->hole = region->indexed_end = region->base;
        gc__sweep_keep(heap, region);
    }
}

/* Sweeps a region in which the marker has marked: the marker's plane becomes its own. The former one is cleared
   concurrently later. Clearing it for all of a large heap would make a long pause. */
GC__FN void gc__sweep_marked(gc_heap *heap, gc__region *region) {
    bool counted = !(region->unscanned & GC__UNCOUNTED);
    region->live_bytes = region->next_live_bytes + region->born_bytes;
    region->next_live_bytes = region->born_bytes = 0;
    region->unscanned = 0;
    region->target = 2;
    region->condemned = heap->collection.number;
    gc__region_set_plane(region, heap->mark_plane);
    if (!counted) region->live_bytes = gc__marked_object_bytes(region);
    heap->cycle->marked_bytes[2] += region->live_bytes;
    heap->cycle->staying_kept_bytes += region->live_bytes;
    if (region->kind == GC__LARGE)
        gc__sweep_large(heap, region);
    else
        gc__sweep_small(heap, region);
}

GC__FN void gc__sweep_old(gc_heap *heap) {
    gc__old_walk walk = gc__old_begin(heap, heap->cycle->condemned_old, GC__OLD_CONDEMNED);
    for (gc__region *region; (region = gc__old_next(&walk)) != NULL; heap->pause.regions++) gc__sweep_marked(heap, region);
    heap->cycle->condemned_old = NULL;
}

GC__HOT void gc__sweep(gc_heap *heap, gc__region *condemned) {
    gc__small_regions *old = &heap->cycle->old_small;
    old->used_bytes = old->live_bytes = 0;
    if (heap->collection.generation == 2) /* the regions in the list have just received copies */
        for (const gc__region *region = heap->regions[2]; region; region = region->next) gc__small_regions_add(old, region);
    for (; condemned; heap->pause.regions++) {
        gc__region *next = condemned->next;
        size_t *bytes = condemned->is_slid_into ? heap->cycle->copied_bytes : heap->cycle->marked_bytes;
        bytes[condemned->target] += condemned->live_bytes;
        condemned->is_slid_into = false;
        condemned->offset_table = NULL;
        if (condemned->generation == 2 && condemned->verdict == GC__MARK)
            heap->cycle->staying_kept_bytes += condemned->live_bytes;
        if (condemned->generation == 0 && condemned->verdict == GC__MARK)
            heap->cycle->young_kept_bytes += condemned->live_bytes;
        condemned->candidate = false;
        if (condemned->kind == GC__LARGE)
            gc__sweep_large(heap, condemned);
        else
            gc__sweep_small(heap, condemned);
        condemned = next;
    }
    if (GC__HAS_MARKER && heap->cycle->condemned_old) gc__sweep_old(heap);
    for (int g = 0; g < GC_GENERATIONS; g++) heap->cycle->cursors[g] = heap->regions[g];
    if (heap->plane != heap->mark_plane) heap->old_stale = heap->regions[2];
    heap->plane = heap->mark_plane;
    heap->recycled = heap->fixed_search = heap->regions[0];
}

/* Publishes the bounds of young regions to barriers, and counts the regions of generation 1. */
GC__HOT void gc__sweep_bounds(gc_heap *heap) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    heap->pace->young_regions = 0;
    for (int g = 0; g < 2; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            uintptr_t end = gc__region_end(region);
            if (region->base < low) low = region->base;
            if (end > high) high = end;
            heap->pace->young_regions += g == 1 ? region->span : 0;
        }
    gc__bounds_tighten(&heap->observer, low, high);
}
