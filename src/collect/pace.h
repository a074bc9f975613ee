/* Pacing: when to collect which generation, how large the nursery is, what memory to keep. */
#pragma once

#include "sweep.h"

#define GC__NURSERY_MIN ((size_t)256 << 10)
#define GC__NURSERY_MAX ((size_t)32 << 20)

GC__FN size_t gc__min(size_t a, size_t b) { return a < b ? a : b; }
GC__FN size_t gc__max(size_t a, size_t b) { return a > b ? a : b; }

GC__FN unsigned gc__growth_percent(const gc_heap *heap) {
    return heap->options.growth_percent ? heap->options.growth_percent : 100;
}

/* Bytes that the old generation may reach before a full collection, given what survived the last one. Under a limit,
   there must be room left for the nursery and for copying it. */
GC__FN size_t gc__threshold_for(const gc_heap *heap, size_t old_bytes) {
    size_t grown = old_bytes + gc__max(old_bytes / 100 * gc__growth_percent(heap), 4 * GC__NURSERY_MAX / 16);
    size_t limit = heap->limit_regions << GC_REGION_SHIFT;
    size_t reserve = 2 * heap->nursery_bytes + 4 * GC_REGION_BYTES;
    size_t most = limit > reserve ? limit - reserve : limit / 2;
    most -= (most - gc__min(most, old_bytes)) / 8;
    return heap->options.heap_bytes_max ? gc__max(gc__min(grown, most), old_bytes + (limit - gc__min(limit, old_bytes)) / 8) : grown;
}

GC__FN size_t gc__old_bytes(const gc_heap *heap) { return heap->generation_bytes[2] + heap->external_bytes; }

/* Which generation a spent nursery calls for. */
GC__FN int gc__pace_generation(const gc_heap *heap) {
    if (heap->options.non_generational) return 2;
    size_t young = heap->generation_bytes[1], regions = 0;
    if (gc__old_bytes(heap) + young >= heap->full_threshold) return 2;
    for (const gc__region *region = heap->regions[1]; region; region = region->next) regions += region->span;
    size_t budget = 4 * heap->nursery_bytes;
    bool sparse = regions * GC_REGION_BYTES > 2 * young + budget + 4 * GC_REGION_BYTES;
    return young >= budget || sparse ? 1 : 0;
}

GC__FN void gc__pace_survival(gc_heap *heap, int generation) {
    const size_t *copied = heap->copied_bytes, *marked = heap->marked_bytes;
    size_t survivors[2] = {copied[1] + marked[1] + copied[0] + marked[0], copied[2] + marked[2]};
    for (int g = 0; g < 2 && g <= generation; g++) {
        if (g == 1 && generation == 2) break; /* the old generation's survivors are in the same sum */
        if (!heap->condemned_bytes[g]) continue;
        unsigned percent = (unsigned)gc__min(100, survivors[g] / (heap->condemned_bytes[g] / 100 + 1));
        heap->survival[g] = (heap->survival[g] + percent) / 2;
    }
}

/* A nursery in which much survives is too small to be generational: double it. One in which little survives should fit
   the cache: halve it, down to that. */
GC__FN void gc__pace_nursery(gc_heap *heap) {
    if (heap->options.nursery_bytes) return;
    size_t cached = gc__max(gc__os_l2_bytes() / 2, GC__NURSERY_MIN), most = GC__NURSERY_MAX;
    uint64_t goal_ns = heap->options.pause_goal_us ? heap->options.pause_goal_us * (uint64_t)1000 : 5000000;
    if (heap->options.heap_bytes_max) most = gc__max(gc__min(most, heap->options.heap_bytes_max / 16), GC__NURSERY_MIN);
    if (heap->options.non_generational) {
        heap->nursery_bytes = gc__max(heap->kept_bytes / 100 * gc__growth_percent(heap), 4 * GC__NURSERY_MAX / 16);
        if (heap->options.heap_bytes_max) heap->nursery_bytes = gc__min(heap->nursery_bytes, gc__max(heap->options.heap_bytes_max / 4, GC__NURSERY_MIN));
        return;
    }
    if (heap->collection.generation == 2) return;
    uint64_t pause = heap->collection.pause_ns;
    if (heap->survival[0] > 20 && pause < goal_ns / 2) heap->nursery_bytes = gc__min(2 * heap->nursery_bytes, most);
    else if (heap->survival[0] < 10 || pause > goal_ns) heap->nursery_bytes = gc__max(heap->nursery_bytes / 2, gc__min(cached, most));
}

/* Keeps free regions for what will soon be allocated, and returns the others to the system. */
GC__FN void gc__pace_release(gc_heap *heap, int generation) {
    if (heap->options.keep_memory || generation < 2) return;
    size_t soon = heap->nursery_bytes + (heap->full_threshold - gc__min(heap->full_threshold, gc__old_bytes(heap)));
    size_t keep = (soon >> GC_REGION_SHIFT) + 4;
    while (heap->free_count > keep) gc__heap_release_free(heap);
}

GC__FN void gc__pace_after(gc_heap *heap, int generation) {
    size_t promoted[GC_GENERATIONS];
    gc__pace_survival(heap, generation);
    for (int g = 0; g < GC_GENERATIONS; g++) {
        promoted[g] = heap->copied_bytes[g] + heap->marked_bytes[g];
        heap->generation_bytes[g] = g ? (g <= generation ? 0 : heap->generation_bytes[g]) + promoted[g] : 0;
    }
    heap->kept_bytes = promoted[0];
    gc__pace_nursery(heap);
    if (generation == 2) heap->full_threshold = gc__threshold_for(heap, gc__old_bytes(heap) + heap->kept_bytes);
    gc__pace_release(heap, generation);
}

GC__FN void gc__collect_for_budget(gc_heap *heap) {
    int generation = gc__pace_generation(heap);
    gc__collect(heap, generation, generation == 2 ? GC_REASON_GROWTH : GC_REASON_NURSERY, false);
}
