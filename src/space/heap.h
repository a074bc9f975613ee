/* The heap: one instance of everything that the heaps of a process do not share. */
#pragma once

#include "../api/pause.h"
#include "../base/words.h"
#include "rank.h"
#include "arena.h"
#include "huge.h"
#include "mark_bits.h"

#define GC__SMALL_HEAP_BYTES ((size_t)4 << 20)
#define GC__REGIONS_MIN 4 /* heap_bytes_max must allow two windows, survivors, and room to copy them */
#define GC__RESERVE 256     /* the reserve for evacuation is at most a region plus this part of the limit */
#define GC__RESERVE_MARKING 32 /* with short pauses, plus this part: mutators wait for the final mark's evacuation */
#define GC__RESERVE_MIN 8      /* under a limit of fewer regions a reserved region would be too much */
#define GC__HOLE_LOG2_MIN 4
#define GC__HOLE_BYTES_MIN_MUTATOR ((size_t)1 << GC__HOLE_LOG2_MIN)
#define GC__HOLE_LOG2_EXACT 8 /* smaller holes have a list for each size */
#define GC__HOLE_SIZES ((1 << (GC__HOLE_LOG2_EXACT - 3)) - (1 << (GC__HOLE_LOG2_MIN - 3)))
#define GC__HOLE_LISTS (GC__HOLE_SIZES + (GC_REGION_SHIFT - GC__HOLE_LOG2_EXACT + 1) * 4)

typedef struct gc__profiler gc__profiler;

/* Free lists of holes by size: one for each size below 256 bytes, then four for each power of two. Holes are linked by
   their second words; the first word is a filler's. */
typedef struct gc__holes {
    gc_word first[GC__HOLE_LISTS];
    uint64_t listed[2]; /* a bit is set if its list is not empty */
    size_t bytes;       /* the sum of the listed holes; atomic */
} gc__holes;

/* Holes that one thread has to itself, linked by their second words. They count as allocated. */
typedef struct gc__local_spans {
    gc_word first;
    size_t bytes;      /* of the holes from `first` on */
    gc_word left;      /* leftover holes of the thread's windows, linked in the same way */
    size_t left_bytes; /* of the leftovers, including those too small to be a hole */
    size_t most;       /* bytes requested */
    gc__region *old;   /* the region of generation 2 that the thread fills; NULL: none */
    size_t born_bytes; /* of objects there that were not counted yet */
} gc__local_spans;

/* Unless they say otherwise, fields are written under the heap's lock, or by its collector. Later rooms define their
   own per-heap state. */
struct gc_heap {
    gc_options options;
    gc__barrier_observer observer;
    gc__region *regions[GC_GENERATIONS];
    gc__region *free; /* the region freed last comes first, so that a small nursery stays in cache */
    size_t free_count;
    size_t free_for_copies; /* mutators leave this many free regions to the next collection, if the arena has others */
    gc__region *quarantine, *quarantine_last; /* stress: moved-from regions, inaccessible, oldest first */
    size_t quarantine_count;
    gc__region *recycled;          /* in the list regions[0]: the next region whose holes mutators get */
    gc__region *fixed_search;      /* in that list: where the search for holes for objects that never move resumes */
    gc__holes holes;               /* for mutators */
    gc_word small_spans; /* the first of mutators' other free spans, small ones; linked by their second words */
    gc__holes old_holes;           /* of generation 2, while promotion fills them; under the marker's lock */
    gc__region *old_stale; /* in the list regions[2]: the next one that may be stale; NULL: none is; atomic */
    uint8_t plane, mark_plane; /* the plane of its regions' mark bits, and the one in which a collection marks */
    gc__region *old_unlisted;      /* in the list regions[2]: the next one whose holes are not in old_holes; atomic */
    size_t unlisted_bytes;         /* approximate free bytes in that region and those after it; atomic */
    size_t held_regions;           /* in the lists, including the free list; without the quarantine */
    size_t held_peak_bytes;
    size_t limit_bytes;  /* heap_bytes_max, or what the arena has */
    bool reserve_open;   /* compaction gained nothing: mutators have the reserve until a full collection frees more */
    bool limit_is_share; /* heap_bytes_max is 0, and the limit is a share of the container's memory */
    bool limit_is_open;  /* heap_bytes_max is 0, and the container's limit has not been read yet */
    bool is_paused;        /* by the host: collected only at the limit, or when it asks for that */
    bool asked_concurrent; /* the host set options.concurrent; the option is off while it would have no effect */
    size_t metadata_bytes; /* of memory outside regions: handles, finalizers, the collector's lists; atomic */
    size_t large_bytes;
    size_t external_bytes;                /* off-heap bytes, with and without an owner; atomic */
    size_t owned_bytes;                   /* off-heap bytes that objects own */
    size_t unowned_bytes;                 /* those of gc_heap_add_external; atomic */
    size_t large_regions;                 /* regions that large objects occupy */
    size_t free_least_bytes;              /* the least that was free since `uncommitted_ns` */
    size_t uncommit_bytes;                    /* how much of the free memory is to be returned to the system */
    bool uncommit_waits;                      /* return only memory that is still free after a while */
    uint64_t uncommitted_ns;                  /* when `uncommit_bytes` was last decided */
    size_t spare_bytes, free_spare_bytes; /* the sum of `spare` of regions in use, and of free regions */
    size_t slack_bytes;                   /* what could become spare if it were returned to the system */
    size_t
        generation_bytes[GC_GENERATIONS]; /* survivors; of generation 0, atomic: allocated since the last collection */
    size_t nursery_survivor_bytes;        /* survivors in generation 0: recycled and pinned regions */
    size_t goal_bytes;                    /* the size that the heap should not exceed, below its limit */
    size_t full_bytes;                    /* bytes of objects that the last full collection left */
    size_t budget_bytes; /* a collection is due when generation 0 and the growth of off-heap bytes reach it; atomic */
    /* Bytes that objects may take in generation 2 before a nursery is traced to see what lives, as of the last collection,
       and the bytes taken since then. The second is atomic. */
    size_t born_left, born_bytes;
    bool collecting;
    uintptr_t frame; /* the frames of a collection's callbacks are below this address; 0: no callback runs */
    bool marking; /* generation 2 is being marked concurrently; written with the world stopped */
    /* While it is: marks the objects that were born old in [at, end), gives them start bits, and returns their bytes. */
    size_t (*index_born)(gc__region *region, uintptr_t at, uintptr_t end);
    bool remembers_slots; /* stores into generation 2 are remembered by slots, not cards; written as `marking` */
    uint32_t phase;           /* a gc_phase, also for readers in other processes; atomic */
    uint64_t phase_since;     /* when the running collection entered its current phase, by gc__cpu_ticks */
    gc_phase phase_counted;   /* the current phase */
    uint64_t phase_ticks[GC_PHASE_COUNT]; /* the ticks that each phase has taken */
    gc_collection collection; /* the last one, or the one that runs; its number is atomic */
    gc_stats stats;           /* allocated_bytes and collections_moving are atomic */
    gc_pause pause;           /* the last one, or the one that runs; updated while it runs */

    struct gc__threads *threads;
    struct gc__collector *collector;
    struct gc__pace *pace;
    struct gc__cycle *cycle;
    struct gc__marker *marker;
    struct gc__store_buffer *stores;
    struct gc__handles *handles;
    struct gc__finalizers *finalizers;
    struct gc__stress *stress;
    struct gc__pauses *pauses;
    const gc__profiler *profiler;       /* atomic; NULL: no profile is being taken */
    struct gc__profiled_heap *profiled; /* what gc_profile.h stores for this heap; written under that header's lock */
};

/* What of the options needs diagnostics. */
GC__FN gc_stress gc__stress_of(const gc_heap *heap) { return GC_DIAGNOSTICS ? heap->options.debug.stress : GC_STRESS_OFF; }
GC__FN unsigned gc__verify_of(const gc_heap *heap) { return GC_DIAGNOSTICS ? heap->options.debug.verify : 0; }
GC__FN bool gc__is_checkmarked(const gc_heap *heap) { return GC_DIAGNOSTICS && heap->options.debug.checkmark; }

/* Whether generation 2 is being marked beside mutators. */
GC__FN bool gc__heap_is_marking(const gc_heap *heap) { return GC__HAS_MARKER && heap->marking; }

/* Returns what barriers read as the age of the heap's regions of that generation. */
GC__FN int gc__age_of(const gc_heap *heap, int generation) {
    if (!GC__HAS_MARKER || generation < 2 || !(heap->marking || heap->remembers_slots)) return generation;
    return 2 | GC_AGE_LOGGED | GC__AGE_LOGGED_TOO | (heap->marking ? GC__AGE_MARKING : GC__AGE_REMEMBERS);
}

/* Returns the age of a region of generation 2. */
GC__FN int gc__region_age(const gc_heap *heap, const gc__region *region) {
    return gc__age_of(heap, 2) | (gc__region_is_candidate(region) ? GC__AGE_CANDIDATE : 0);
}

/* Returns how much of the system's memory the heap takes. */
GC__FN size_t gc__held_bytes(const gc_heap *heap) {
    return (heap->held_regions << GC_REGION_SHIFT) - heap->spare_bytes - heap->free_spare_bytes;
}

/* Ends the quarantine of the region that has been there longest. */
GC__COLD void gc__quarantine_pop(gc_heap *heap) {
    gc__region *region = heap->quarantine;
    heap->quarantine = region->next;
    if (!heap->quarantine) heap->quarantine_last = NULL;
    heap->quarantine_count--;
    region->accessible = gc__os_access((void *)region->base, GC_REGION_BYTES, true);
    gc__region_set_rank(region, 0, false);
    gc__arena_release(region);
}

GC__FN void gc__region_fresh(gc__region *region, int generation, uint32_t span) {
    region->span = span;
    region->top = region->hole = region->indexed_end = region->base;
    region->live_bytes = region->taken_bytes = region->spare = region->next_live_bytes = 0;
    region->born_bytes = 0;
    region->generation = region->target = (uint8_t)generation;
    region->linear = region->formatted = region->overflowed = region->pinned = region->fixed = false;
    region->unscanned = 0;
    region->is_slid_into = false;
    region->stale = true;
    region->offset_table = NULL;
}

/* Puts a region on the heap's free list, to be used first; `spare` bytes at its end take no memory. */
GC__FN void gc__heap_list_free(gc_heap *heap, gc__region *region, size_t spare) {
    region->kind = GC__FREE;
    region->spare = spare;
    region->previous = NULL;
    region->next = heap->free;
    if (heap->free) heap->free->previous = region;
    heap->free = region;
    heap->free_count++;
    heap->free_spare_bytes += spare;
}

GC__FN size_t gc__free_bytes(const gc_heap *heap) {
    return (heap->free_count << GC_REGION_SHIFT) - heap->free_spare_bytes;
}

GC__FN void gc__heap_unlist_free(gc_heap *heap, gc__region *region) {
    if (region->previous)
        region->previous->next = region->next;
    else
        heap->free = region->next;
    if (region->next) region->next->previous = region->previous;
    heap->free_count--;
    heap->free_spare_bytes -= region->spare;
    region->spare = 0;
    if (gc__free_bytes(heap) < heap->free_least_bytes) heap->free_least_bytes = gc__free_bytes(heap);
}

/* Returns one free region to the arena and the system. */
GC__FN void gc__heap_release_free(gc_heap *heap) {
    gc__region *region = heap->free;
    gc__heap_unlist_free(heap, region);
    heap->held_regions--;
    gc__arena_release(region);
}

GC__FN size_t gc__limit_regions(const gc_heap *heap) { return heap->limit_bytes >> GC_REGION_SHIFT; }

GC__FN size_t gc__external_bytes(const gc_heap *heap) {
    return __atomic_load_n(&heap->external_bytes, __ATOMIC_RELAXED);
}

/* Returns the bytes of all regions that are not free, without spare ends, plus off-heap bytes. */
GC__FN size_t gc__bytes_in_use(const gc_heap *heap) {
    return ((heap->held_regions - heap->free_count) << GC_REGION_SHIFT) - heap->spare_bytes + gc__external_bytes(heap);
}

#define GC__MARK_BYTES (GC_REGION_BYTES / 64) /* bytes of a region's mark bits */

/* Returns the bytes of the side tables for so many regions. Of a large object's mark bits only one is ever touched. */
GC__FN size_t gc__table_bytes(size_t regions, size_t large_regions) {
    size_t each = (GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT) + sizeof(gc__region) + 4;
    if (GC_BUNDLE_SHIFT) each += GC_REGION_BYTES >> GC_BUNDLE_SHIFT;
    if (gc__barrier_may_watch() && gc__tables.watch) each += GC_REGION_BYTES >> GC_WATCH_SHIFT;
    if (gc__barrier_may_log() && gc__tables.log) each += GC__MARK_BYTES;
    size_t planes = __atomic_load_n(&gc__the_arena.marks[1], __ATOMIC_RELAXED) ? 2 : 1;
    return regions * each + (regions - large_regions) * planes * GC__MARK_BYTES;
}

/* Returns the bytes that count towards the limit: those in use, their side tables, and memory outside regions. */
GC__FN size_t gc__bytes_charged(const gc_heap *heap) {
    return gc__bytes_in_use(heap) + gc__table_bytes(heap->held_regions - heap->free_count, heap->large_regions) +
           __atomic_load_n(&heap->metadata_bytes, __ATOMIC_RELAXED);
}

GC__OUT_OF_LINE size_t gc__bytes_left(const gc_heap *heap) {
    size_t used = gc__bytes_charged(heap);
    return used < heap->limit_bytes ? heap->limit_bytes - used : 0;
}

GC__FN size_t gc__bytes_to_goal(const gc_heap *heap) {
    size_t used = gc__bytes_in_use(heap);
    return used < heap->goal_bytes ? heap->goal_bytes - used : 0;
}

GC__FN size_t gc__regions_left(const gc_heap *heap) { return gc__bytes_left(heap) >> GC_REGION_SHIFT; }

/* Returns whether objects may be born old in fresh regions. If few are left, objects should rather be copied to the holes that
   are listed, if there are any. */
GC__FN bool gc__born_has_regions(const gc_heap *heap) {
    size_t holes = gc__counted(&heap->old_holes.bytes), part = holes > heap->limit_bytes / 64 ? 4 : 12;
    return gc__regions_left(heap) > gc__limit_regions(heap) / part;
}

/* Returns the number of regions under the limit that only the collector may take, so that it can compact a full heap
   whose holes are too small for the live objects. The reserve is small, since mutators make better use of memory: a
   larger one makes collections more frequent. It is at most half of what is not live, and at most the number of regions
   whose objects can be copied. */
GC__FN size_t gc__evacuation_reserve_of(const gc_heap *heap, size_t live_bytes) {
    size_t limit = gc__limit_regions(heap), live = live_bytes >> GC_REGION_SHIFT;
    size_t movable = heap->held_regions - heap->free_count - heap->large_regions;
    if (heap->options.non_moving || live >= limit || limit < GC__RESERVE_MIN) return 0;
    size_t most = limit / (heap->options.concurrent == GC_CONCURRENT_ON ? GC__RESERVE_MARKING : GC__RESERVE) + 1;
    if (most > movable) most = movable;
    return gc__min((limit - live) / 2, most);
}

/* Returns the part of the reserve that mutators may not use now. With concurrent marking that is half of it, so that
   mutators need not wait for the end of a cycle, or for the holes that it leaves. In the last resort nothing is
   reserved: sliding needs no room. */
GC__COLD size_t gc__evacuation_reserve(const gc_heap *heap) {
    if (heap->collecting || heap->reserve_open) return 0;
    size_t reserve = gc__evacuation_reserve_of(heap, heap->full_bytes);
    return heap->options.concurrent == GC_CONCURRENT_ON ? reserve - reserve / 2 : reserve;
}

/* Returns the limit as it is reported to programs; 0: none. */
GC__FN size_t gc__limit_told(const gc_heap *heap) {
    return heap->options.heap_bytes_max == SIZE_MAX ? 0 : heap->options.heap_bytes_max;
}

GC__FN const char *gc__limit_name(const gc_heap *heap) {
    return heap->limit_is_share ? "three quarters of the container's memory" : "heap_bytes_max";
}

#define GC__METADATA_MUCH 8 /* this part of the limit is worth mentioning */

/* Appends large shares of metadata and off-heap bytes to the message about a full heap. */
GC__COLD void gc__heap_fail_with_others(const gc_heap *heap) {
    size_t metadata = gc__counted(&heap->metadata_bytes), external = gc__external_bytes(heap);
    if (metadata > heap->limit_bytes / GC__METADATA_MUCH)
        gc__fail_more("; handles, lists of finalizers and the collector's take %zu KiB of it", metadata >> 10);
    if (external > heap->limit_bytes / GC__METADATA_MUCH)
        gc__fail_more("; %zu KiB of it are off the heap (gc_object_add_external, gc_heap_add_external), until their "
                      "objects are freed, or the program says that it has freed them", external >> 10);
}

GC__OUT_OF_LINE void gc__heap_fail_full(const gc_heap *heap, size_t bytes) {
    gc__fail(GC_ERROR_HEAP_FULL,
             "the heap holds %zu KiB of at most %zu (%s), %zu are kept for evacuation, and it needs %zu more: raise %s, or drop "
             "references",
             gc__bytes_charged(heap) >> 10, heap->limit_bytes >> 10, gc__limit_name(heap),
             gc__evacuation_reserve(heap) * (GC_REGION_BYTES >> 10), (bytes + 1023) >> 10,
             heap->limit_is_share ? "the container's limit, or set heap_bytes_max" : "heap_bytes_max");
    gc__heap_fail_with_others(heap);
}

/* A large object's last region ends beyond the pages that the object needs. While nothing was written there, that end
   takes no memory; then it is *spare*, and does not count. An end that earlier objects have written to is *slack*: it
   counts until its memory is returned to the system. That takes time, so it is done for objects that survive a
   collection, if room is short, and if there is much slack. */

GC__FN uintptr_t gc__page_end(uintptr_t address) {
    uintptr_t page = gc__os_page_bytes();
    return (address + page - 1) & ~(page - 1);
}

GC__FN size_t gc__large_slack(const gc__region *region) {
    return gc__region_end(region) - gc__page_end(region->top) - region->spare;
}

/* Makes the end of a large object's region spare, unless the system refuses. */
GC__COLD void gc__large_uncommit(gc_heap *heap, gc__region *region) {
    gc__region *last = region + region->span - 1;
    uintptr_t from = gc__page_end(region->top), to = gc__region_end(region);
    size_t slack = gc__large_slack(region);
    if (!slack || !gc__supply_discard((void *)from, to - from)) return;
    if (last->dirty_end > from) last->dirty_end = from;
    region->spare += slack;
    heap->spare_bytes += slack;
    heap->slack_bytes -= slack;
}

GC__FN void gc__large_uncommit_all(gc_heap *heap) {
    for (int g = 0; heap->slack_bytes && g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            if (region->kind == GC__LARGE) gc__large_uncommit(heap, region);
}

/* Returns the share of a container's memory that a heap takes without heap_bytes_max: the rest is for the program's
   other memory. */
GC__COLD size_t gc__container_share(void) { return gc__os_container_bytes() / 4 * 3; }

/* Sets the limit to `bytes`, or to `share` if that is 0; if both are 0, there is no limit. */
GC__COLD void gc__limit_set(gc_heap *heap, size_t bytes, size_t share) {
    heap->limit_is_open = false;
    heap->limit_is_share = !bytes && share;
    if (heap->limit_is_share) bytes = gc__max(share, GC__REGIONS_MIN * GC_REGION_BYTES);
    heap->options.heap_bytes_max = bytes;
    __atomic_store_n(&heap->limit_bytes, bytes ? gc__min(bytes, GC__LIMIT_MOST) : gc__the_arena.bytes, __ATOMIC_RELAXED);
}

/* Returns whether `bytes` more may be used; false with gc__fail. A container's limit is read once the heap has grown a
   little, which takes longer than creating a heap. */
GC__COLD bool gc__heap_has_room(gc_heap *heap, size_t bytes) {
    bool grows = heap->limit_is_open && gc__held_bytes(heap) + gc__external_bytes(heap) + bytes >= GC__SMALL_HEAP_BYTES;
    if (grows && !heap->collecting) gc__limit_set(heap, 0, gc__container_share());
    if (!heap->options.heap_bytes_max) return true;
    size_t needed = bytes + (gc__evacuation_reserve(heap) << GC_REGION_SHIFT);
    if (needed > gc__bytes_left(heap)) gc__large_uncommit_all(heap);
    if (needed <= gc__bytes_left(heap)) return true;
    gc__heap_fail_full(heap, bytes);
    return false;
}

/* Makes the system provide memory for the region's entries in the side tables now rather than in a pause. */
GC__FN void gc__tables_touch(const gc__region *region) {
    size_t word = gc__mark_index(region->base) >> 6;
    __atomic_fetch_or(gc__tables.cards + (region->base >> GC_CARD_BYTE_SHIFT), (uint8_t)0, __ATOMIC_RELAXED);
    for (int plane = 0; plane < 2; plane++) {
        uint64_t *marks = __atomic_load_n(&gc__the_arena.marks[plane], __ATOMIC_ACQUIRE); /* another heap may be opening it */
        if (marks) __atomic_fetch_or(&marks[word], (uint64_t)0, __ATOMIC_RELAXED);
    }
}

/* Returns a region for a mutator whose memory may not be present yet, in a heap with no more free regions than the next
   collection's copies may take: those were written to before, so that copying into them causes no page fault. Returns
   NULL if there are more, or the limit is near. */
GC__FN gc__region *gc__heap_take_untouched(gc_heap *heap) {
    if (heap->collecting || heap->free_count >= heap->free_for_copies) return NULL;
    if (gc__free_bytes(heap) + 2 * GC_REGION_BYTES >= gc__bytes_left(heap)) return NULL;
    return gc__arena_acquire(heap, 1);
}

/* Returns whether the heap will soon need as much as a huge page, judging by its goal and its limit, so that taking one
   does not make the heap larger. Where pauses are to be short no fault may take milliseconds. */
GC__FN bool gc__heap_wants_huge(const gc_heap *heap) {
    size_t kept = (gc__evacuation_reserve(heap) + 2) << GC_REGION_SHIFT;
    bool suits = GC__HUGE_REGIONS > 1 && !gc__stress_of(heap) && !gc__supply_is_host();
    if (!suits || heap->options.pause_goal_us || heap->options.concurrent == GC_CONCURRENT_ON) return false;
    return gc__bytes_to_goal(heap) >= GC__HUGE_PAGE_BYTES / 4 * 5 && gc__bytes_left(heap) >= GC__HUGE_PAGE_BYTES + kept;
}

/* Puts the regions of a huge page on the free list so that the first one is taken first. */
GC__FN void gc__heap_take_huge(gc_heap *heap) {
    gc__region *region = gc__huge_acquire(heap);
    if (!region) return;
    gc__region_note_taken(region, GC__HUGE_REGIONS, false);
    for (size_t i = GC__HUGE_REGIONS; i-- > 0; heap->held_regions++) gc__heap_list_free(heap, &region[i], 0);
}

/* Returns the free region that is used next, or NULL if the arena has to give one. */
GC__COLD gc__region *gc__heap_next_free(gc_heap *heap) {
    gc__region *region = gc__heap_take_untouched(heap);
    if (region) {
        heap->held_regions++;
        gc__heap_list_free(heap, region, 0);
    }
    if (!heap->free && gc__heap_wants_huge(heap)) gc__heap_take_huge(heap);
    if (heap->free) gc__region_note_taken(heap->free, 1, true);
    return heap->free;
}

/* Takes a run of `span` regions for objects of `generation`, and puts it in no list. Stores in *clean how many bytes at
   the end of the run take no memory. Returns NULL with gc__fail at a limit. */
GC__COLD gc__region *gc__heap_take_run(gc_heap *heap, int generation, size_t span, size_t *clean) {
    gc__region *region = span == 1 ? gc__heap_next_free(heap) : NULL;
    while (!region && !(region = gc__arena_acquire(heap, span))) {
        if (!GC_DIAGNOSTICS || !heap->quarantine) return NULL;
        gc__quarantine_pop(heap);
    }
    const gc__region *last = region + span - 1;
    *clean = last->dirty_end == last->base && !last->populated ? GC_REGION_BYTES : last->spare;
    for (uint32_t i = 0; i < span; i++) {
        gc__region *part = region + i;
        if (part->kind == GC__FREE)
            gc__heap_unlist_free(heap, part);
        else
            heap->held_regions++;
        part->kind = i ? GC__LARGE_REST : GC__SMALL;
        part->rest_index = i;
    }
    gc__os_mark_free(region->base, span * GC_REGION_BYTES, false);
    gc__region_fresh(region, generation, (uint32_t)span);
    region->plane = heap->mark_plane;
    region->sparing = gc__stress_of(heap) || heap->held_regions << GC_REGION_SHIFT < GC__SMALL_HEAP_BYTES;
    if (gc__barrier_may_watch() && gc__tables.watch) /* earlier stores to this memory do not concern the objects to come */
        memset(gc__tables.watch + (region->base >> GC_WATCH_SHIFT), 0, span * GC_REGION_BYTES >> GC_WATCH_SHIFT);
    gc__region_set_rank(region, gc__age_of(heap, generation), true);
    if (heap->free_for_copies && !heap->collecting) gc__tables_touch(region);
    return region;
}

/* After regions were taken, keeps free regions and their tables under the limit, too. */
GC__FN void gc__heap_note_held(gc_heap *heap) {
    while (heap->free &&
           gc__free_bytes(heap) + gc__table_bytes(heap->free_count, 0) + gc__bytes_charged(heap) > heap->limit_bytes)
        gc__heap_release_free(heap);
    if (gc__held_bytes(heap) > heap->held_peak_bytes) heap->held_peak_bytes = gc__held_bytes(heap);
}

/* Memory that was free all the time is not needed, so it is returned to the system. This is checked after some time, as
   regions are taken, and in steps, since the allocating thread waits for it. */
#define GC__UNCOMMIT_NS ((uint64_t)200000000)
#define GC__UNCOMMIT_REGIONS_MIN 4   /* regions returned in one step */
#define GC__UNCOMMIT_REGIONS_MAX 64
#define GC__UNCOMMIT_PART 8          /* one step returns this part */

GC__FN void gc__heap_plan_uncommit(gc_heap *heap, uint64_t now) {
    size_t kept = gc__max(GC__UNCOMMIT_REGIONS_MIN, heap->free_for_copies) * GC_REGION_BYTES, least = heap->free_least_bytes;
    size_t unneeded = least - gc__min(least, kept);
    if (heap->uncommit_waits || unneeded > heap->uncommit_bytes) heap->uncommit_bytes = unneeded;
    heap->uncommit_waits = false;
    heap->free_least_bytes = gc__free_bytes(heap);
    heap->uncommitted_ns = now;
}

GC__COLD void gc__heap_uncommit(gc_heap *heap) {
    if (heap->options.keep_memory) return;
    uint64_t now = gc__os_now_ns();
    if (gc__ns_passed(now, heap->uncommitted_ns, GC__UNCOMMIT_NS)) gc__heap_plan_uncommit(heap, now);
    if (heap->uncommit_waits) return;
    size_t count = heap->uncommit_bytes / GC__UNCOMMIT_PART >> GC_REGION_SHIFT;
    if (count < GC__UNCOMMIT_REGIONS_MIN) count = GC__UNCOMMIT_REGIONS_MIN;
    if (count > GC__UNCOMMIT_REGIONS_MAX) count = GC__UNCOMMIT_REGIONS_MAX;
    for (; count && heap->uncommit_bytes >= GC_REGION_BYTES; count--) {
        if (heap->free_count <= GC__UNCOMMIT_REGIONS_MIN) heap->uncommit_bytes = 0;
        if (!heap->uncommit_bytes) return;
        gc__heap_release_free(heap);
        heap->uncommit_bytes -= GC_REGION_BYTES;
    }
}

/* Takes a region for objects of `generation`, and puts it in no list. Returns NULL with gc__fail at a limit. */
GC__FN gc__region *gc__heap_take(gc_heap *heap, int generation) {
    size_t clean;
    gc__region *region =
        gc__heap_has_room(heap, GC_REGION_BYTES + gc__table_bytes(1, 0)) ? gc__heap_take_run(heap, generation, 1, &clean) : NULL;
    if (region) gc__heap_note_held(heap);
    return region;
}

/* Takes as many regions as one large object of `bytes` needs. Returns NULL with gc__fail at a limit. */
GC__FN gc__region *gc__heap_take_large(gc_heap *heap, size_t bytes) {
    size_t clean, span = (bytes + GC_REGION_BYTES - 1) >> GC_REGION_SHIFT;
    bool fits = gc__heap_has_room(heap, gc__page_end(bytes) + gc__table_bytes(span, span));
    gc__region *region = fits ? gc__heap_take_run(heap, 0, span, &clean) : NULL;
    if (!region) return NULL;
    region->kind = GC__LARGE;
    region->top = region->base + bytes;
    size_t end = gc__large_slack(region);
    region->spare = end < clean ? end : clean;
    heap->large_regions += span;
    heap->spare_bytes += region->spare;
    heap->slack_bytes += end - region->spare;
    bool much = heap->slack_bytes > __atomic_load_n(&heap->budget_bytes, __ATOMIC_RELAXED) / 4;
    if (much || gc__bytes_charged(heap) > heap->limit_bytes) gc__large_uncommit(heap, region);
    gc__heap_note_held(heap);
    return region;
}

GC__FN void gc__large_end(gc_heap *heap, const gc__region *region) {
    heap->slack_bytes -= gc__large_slack(region);
    heap->spare_bytes -= region->spare;
    heap->large_regions -= region->span;
}

#define GC__POPULATE_BYTES ((uintptr_t)1 << (GC_REGION_SHIFT < 17 ? GC_REGION_SHIFT : 17)) /* requested at a time */

GC__FN uintptr_t gc__populate_end(uintptr_t address) {
    return (address + GC__POPULATE_BYTES - 1) & ~(GC__POPULATE_BYTES - 1);
}

/* Makes the system provide the region's memory up to `to` before it is written; nothing beyond `written` was yet. */
GC__FN void gc__region_populate(const gc__region *region, uintptr_t written, uintptr_t to) {
    uintptr_t from = gc__populate_end(written);
    if (from < to && (from % GC_REGION_BYTES || !region->sparing))
        gc__supply_populate((void *)from, gc__populate_end(to) - from);
}

/* Puts a region (or all regions of a large object) on the free list; its memory stays with the heap. */
GC__HOT void gc__heap_give(gc_heap *heap, gc__region *region) {
    size_t spare = region->spare;
    gc__region_set_rank(region, 0, false);
    gc__region_set_verdict(region, GC__IGNORE, 0);
    gc__os_mark_free(region->base, region->span * GC_REGION_BYTES, true);
    if (region->kind == GC__LARGE) gc__large_end(heap, region);
    gc__region_note_taken(region, region->span, false);
    for (uint32_t i = region->span; i-- > 0; spare = 0) gc__heap_list_free(heap, region + i, spare);
}

/* Returns the plane in which the heap's collections mark. */
GC__FN uint64_t *gc__marks_of(const gc_heap *heap) { return gc__the_arena.marks[GC__HAS_MARKER ? heap->mark_plane : 0]; }

/* Clears the marks of a region that this collection has condemned, in the plane in which it marks. */
GC__FN void gc__condemned_marks_clear(gc__region *region) {
    gc__plane_clear(region, gc__marks_of(region->heap));
    if (region->plane != region->heap->mark_plane) region->stale = false;
}

GC__FN void gc__heap_push(gc_heap *heap, gc__region *region) {
    region->next = heap->regions[region->generation];
    /* A reader in another process may read the list at any time, so a region is complete before it is in a list. */
    __atomic_store_n(&heap->regions[region->generation], region, __ATOMIC_RELEASE);
}
