/* The heap: one instance of everything that heaps of a process do not share. */
#pragma once

#include "rank.h"
#include "arena.h"

/* Fields are written under the heap's lock, or by its collector, unless they say otherwise. What later rooms of src/ keep
   of a heap they define themselves. */
struct gc_heap {
    gc_options options;
    gc__barrier_observer observer;
    gc__region *regions[GC_GENERATIONS];
    gc__region *free; /* last freed first, so that a small nursery stays in cache */
    size_t free_count;
    gc__region *quarantine, *quarantine_last; /* stress: moved-from regions, inaccessible, oldest first */
    size_t quarantine_count;
    gc__region *recycled;     /* in the list regions[0]: where mutators go on searching for holes */
    size_t hole_missed_bytes; /* a search for a hole of this size or more has failed */
    size_t held_regions;      /* in the lists, the free list included; not the quarantine */
    size_t held_peak;
    size_t limit_regions;
    size_t large_bytes, external_bytes;
    size_t
        generation_bytes[GC_GENERATIONS]; /* survivors; of generation 0, atomic: allocated since the last collection */
    size_t nursery_survivor_bytes;        /* survivors in generation 0: recycled and pinned regions */
    size_t full_bytes;                    /* bytes of objects that the last full collection left */
    size_t external_growth_bytes;         /* growth of external_bytes since the last collection, at least 0; atomic */
    size_t budget_bytes; /* a collection is due when generation 0 and external growth reach it; atomic */
    bool collecting;
    gc_collection collection; /* the last one, or the one that runs; its number is atomic */
    gc_stats stats;           /* allocated_bytes and collections_moving are atomic */

    struct gc__threads *threads;
    struct gc__collector *collector;
    struct gc__pace *pace;
    struct gc__cycle *cycle;
    struct gc__handles *handles;
    struct gc__finalizers *finalizers;
    struct gc__stress *stress;
};

/* Regions of the heap. */

GC__FN void gc__heap_note_held(gc_heap *heap) {
    if (heap->held_regions > heap->held_peak) heap->held_peak = heap->held_regions;
}

/* Ends the quarantine of the region that has been there longest. */
GC__FN void gc__quarantine_pop(gc_heap *heap) {
    gc__region *region = heap->quarantine;
    heap->quarantine = region->next;
    if (!heap->quarantine) heap->quarantine_last = NULL;
    heap->quarantine_count--;
    region->accessible = gc__os_access((void *)region->base, GC_REGION_BYTES, true);
    gc__arena_release(region);
}

GC__FN void gc__region_fresh(gc__region *region, int generation, uint32_t span) {
    region->span = span;
    region->top = region->hole = region->indexed_end = region->base;
    region->live_bytes = 0;
    region->generation = region->target = (uint8_t)generation;
    region->linear = region->formatted = region->overflowed = region->pinned = false;
}

/* Takes the regions that the arena has chosen for a run out of the heap's free list. */
GC__FN void gc__heap_unlist_free(gc_heap *heap) {
    for (gc__region **link = &heap->free; *link;) {
        if ((*link)->kind == GC__FREE) {
            link = &(*link)->next;
        } else {
            *link = (*link)->next;
            heap->free_count--;
        }
    }
}

/* Gives one free region back to the arena and the system. */
GC__FN void gc__heap_release_free(gc_heap *heap) {
    gc__region *region = heap->free;
    heap->free = region->next;
    heap->free_count--;
    heap->held_regions--;
    gc__arena_release(region);
}

GC__FN size_t gc__regions_in_use(const gc_heap *heap) {
    return heap->held_regions - heap->free_count + ((heap->external_bytes + GC_REGION_BYTES - 1) >> GC_REGION_SHIFT);
}

GC__FN size_t gc__regions_left(const gc_heap *heap) {
    size_t used = gc__regions_in_use(heap);
    return used < heap->limit_regions ? heap->limit_regions - used : 0;
}

/* The number of regions under the limit that only the collector takes, so that it always finds room to evacuate into:
   without them a heap that is full of small holes could not be compacted. At most half of what is not live: where little is
   free, mutators have the better use for it. */
GC__FN size_t gc__evacuation_reserve_of(const gc_heap *heap, size_t live_bytes) {
    size_t live = live_bytes >> GC_REGION_SHIFT;
    if (heap->options.non_moving || live >= heap->limit_regions) return 0;
    size_t rest = (heap->limit_regions - live) / 2;
    return rest < heap->limit_regions / 8 ? rest : heap->limit_regions / 8;
}

GC__FN size_t gc__evacuation_reserve(const gc_heap *heap) {
    return heap->collecting ? 0 : gc__evacuation_reserve_of(heap, heap->full_bytes);
}

GC__OUT_OF_LINE void gc__heap_fail_full(const gc_heap *heap, size_t span) {
    gc__fail(
        GC_ERROR_HEAP_FULL,
        "the heap holds %zu KiB of at most %zu (heap_bytes_max), of which %zu are kept for evacuation, and needs %zu "
        "more: raise heap_bytes_max, or drop references",
        gc__regions_in_use(heap) * (GC_REGION_BYTES >> 10), heap->options.heap_bytes_max >> 10,
        gc__evacuation_reserve(heap) * (GC_REGION_BYTES >> 10), span * (GC_REGION_BYTES >> 10));
}

GC__FN bool gc__heap_has_room(gc_heap *heap, size_t span) {
    if (!heap->options.heap_bytes_max || span + gc__evacuation_reserve(heap) <= gc__regions_left(heap)) return true;
    gc__heap_fail_full(heap, span);
    return false;
}

/* A run of `span` regions for objects of `generation`; not in a list yet. NULL with gc__fail at a limit. */
GC__FN gc__region *gc__heap_take(gc_heap *heap, int generation, size_t span) {
    if (!gc__heap_has_room(heap, span)) return NULL;
    gc__region *region = heap->free;
    if (span == 1 && region) {
        heap->free = region->next;
        heap->free_count--;
        region->kind = GC__SMALL;
        region->rest_index = 0;
    } else {
        size_t cached;
        while (!(region = gc__arena_acquire(heap, span, &cached))) {
            if (!heap->quarantine) return NULL;
            gc__quarantine_pop(heap);
        }
        if (cached) gc__heap_unlist_free(heap);
        heap->held_regions += span - cached;
        while (heap->held_regions > heap->limit_regions && heap->free) gc__heap_release_free(heap);
        gc__heap_note_held(heap);
    }
    gc__os_mark_free(region->base, span * GC_REGION_BYTES, false);
    gc__region_fresh(region, generation, (uint32_t)span);
    if (gc__tables.watch) /* earlier stores there do not concern the objects to come */
        memset(gc__tables.watch + (region->base >> GC_WATCH_SHIFT), 0, span * GC_REGION_BYTES >> GC_WATCH_SHIFT);
    gc__region_set_rank(region, generation, true);
    return region;
}

/* Puts a region (all regions of a large object) on the free list; its memory stays with the heap. */
GC__FN void gc__heap_give(gc_heap *heap, gc__region *region) {
    gc__region_set_rank(region, 0, false);
    gc__region_set_verdict(region, GC__IGNORE, 0);
    gc__os_mark_free(region->base, region->span * GC_REGION_BYTES, true);
    for (uint32_t i = region->span; i-- > 0;) {
        gc__region *part = region + i;
        part->kind = GC__FREE;
        part->next = heap->free;
        heap->free = part;
        heap->free_count++;
    }
}

GC__FN void gc__heap_push(gc_heap *heap, gc__region *region) {
    region->next = heap->regions[region->generation];
    heap->regions[region->generation] = region;
}
