/* Copying survivors. */
#pragma once

#include "../space/holes.h"
#include "../space/window.h"
#include "claim.h"
#include "workers.h"
#include "shade.h"

#define GC__LISTED_MOST 4     /* regions whose holes a collection lists */
#define GC__REGIONS_MANY 8     /* more free regions than 1/n of the limit are many */
#define GC__REGIONS_SCARCE 16 /* so few regions left, apart from those for evacuation, are scarce */

/* Returns whether copies go to listed holes, and the remainders of windows are listed. Several workers use regions
   of their own instead. */
GC__FN bool gc__worker_lists_holes(const gc__worker *worker, unsigned generation) {
    const gc_heap *heap = worker->heap;
    if (worker->cycle->plan->into_holes) return generation == gc__oldest(heap);
    bool young = heap->collection.generation < 2 || gc__heap_is_marking(heap);
    return generation == 2 && gc__fills_holes(heap) && young && !gc__workers_of(worker);
}

/* Closes the window. The sweep adds copies to the marked bytes of a condemned region, so copies in its holes must
   not be counted twice. */
GC__FN void gc__worker_close_window(gc__worker *worker, unsigned generation) {
    gc__region *region = worker->windows[generation].region;
    uintptr_t from = (uintptr_t)worker->windows[generation].start, to = (uintptr_t)worker->windows[generation].next;
    uintptr_t end = (uintptr_t)worker->windows[generation].end;
    size_t bytes = gc__copies_close(&worker->windows[generation]);
    if (GC__UNLIKELY(gc__heap_is_marking(worker->heap)) && generation == 2 && bytes)
        gc__shade_born(gc__region_of(from), from, to, bytes);
    worker->copied_bytes[generation] += bytes;
    if (region && gc__worker_lists_holes(worker, generation)) {
        gc__hole_list_old(worker->heap, region, to, end);
        region->hole = gc__region_end(region);
    }
    if (region && region->verdict) worker->cycle->marked_bytes[generation] -= bytes;
}

/* Opens the window in a hole, all of which may be written to. */
GC__FN void gc__worker_open_in(gc__worker *worker, unsigned generation, gc__region *region, uintptr_t from, uintptr_t end) {
    gc__window_set(&worker->windows[generation], region, from, end);
    worker->windows[generation].limit = (char *)end;
}

GC__FN bool gc__worker_open_hole_in(gc__worker *worker, unsigned generation, gc__region *region, size_t bytes) {
    uintptr_t end = 0;
    if (region->kind != GC__SMALL || region->linear || gc__region_is_candidate(region)) return false;
    if (region->fixed && gc__stress_of(worker->heap))
        return false; /* the copy could not move any more, as stress demands */
    if (region->hole == region->base && region->live_bytes > GC_REGION_BYTES / 8 * 7) return false;
    uintptr_t from = gc__hole_by_marks(region, gc__max(bytes, GC__HOLE_BYTES_MIN), &end);
    if (!from) return false;
    gc__worker_open_in(worker, generation, region, from, end);
    return true;
}

/* Returns the number of free regions at or below which copies should go to holes, since otherwise mutators would
   find none. */
GC__FN size_t gc__regions_scarce(const gc_heap *heap) {
    return gc__evacuation_reserve_of(heap, heap->full_bytes) + GC__REGIONS_SCARCE;
}

/* Lists the holes of another region that the marker has not reached yet: only those of a few regions in each pause,
   unless free regions are scarce. Returns whether it listed any. */
GC__FN bool gc__worker_list_more(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    if (worker->listed++ >= GC__LISTED_MOST && gc__regions_left(heap) > gc__regions_scarce(heap)) return false;
    return gc__holes_list_next(heap);
}

/* Opens the window in the smallest sufficient listed hole. */
GC__FN bool gc__worker_open_listed(gc__worker *worker, unsigned generation, size_t bytes) {
    uintptr_t hole;
    while ((hole = gc__hole_take(&worker->heap->old_holes, bytes)) == 0 || gc__region_is_candidate(gc__region_of(hole)))
        if (!hole && !gc__worker_list_more(worker)) return false;
    gc__worker_open_in(worker, generation, gc__region_of(hole), hole, hole + gc__filler_bytes(hole));
    return true;
}

/* Returns whether copies should go to fresh regions instead, since pauses have a goal and there is memory enough: if
   old objects have died one by one, each hole has room for one copy, and finding it takes longer than copying. */
GC__FN bool gc__worker_leaves_holes(const gc__worker *worker, unsigned generation) {
    const gc_heap *heap = worker->heap;
    bool old = generation == 2 && heap->collection.generation < 2 && !gc__fills_holes(heap);
    return old && gc__has_pause_goal(heap) && gc__regions_left(heap) > gc__limit_regions(heap) / GC__REGIONS_MANY;
}

GC__FN bool gc__worker_open_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation];
    if (gc__worker_leaves_holes(worker, generation)) return false;
    if (gc__worker_lists_holes(worker, generation)) return gc__worker_open_listed(worker, generation, bytes);
    for (; *cursor; *cursor = (*cursor)->next)
        if (gc__worker_open_hole_in(worker, generation, *cursor, bytes)) return true;
    return false;
}

/* Opens the window in a hole if several workers run: each has regions to itself, so that no other one writes their
   mark bits, bounds and counts. */
GC__FN bool gc__worker_open_own_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation], **own = &worker->searched[generation];
    for (bool next = !*own;; next = true) {
        gc__lock_take(&worker->workers->space); /* others may be taking regions */
        bool leaves = gc__worker_leaves_holes(worker, generation);
        if (next && !leaves) {
            *own = *cursor;
            if (*cursor) *cursor = (*cursor)->next;
        }
        gc__lock_release(&worker->workers->space);
        if (leaves || !*own) return false;
        if (gc__worker_open_hole_in(worker, generation, *own, bytes)) return true;
    }
}

/* Returns a region for copies, which is in the heap's list, or NULL if there is no room. */
GC__FN gc__region *gc__worker_take(gc__worker *worker, unsigned generation) {
    if (worker->cycle->no_room[generation]) return NULL;
    gc__region *region = gc__heap_take(worker->heap, (int)generation);
    worker->cycle->no_room[generation] = !region;
    if (!region) return NULL;
    gc__marks_clear(region);
    if (generation == 2 && worker->marks == worker->starts) gc__other_plane_clear(region);
    gc__heap_push(worker->heap, region);
    region->hole = gc__region_end(region);
    return region;
}

/* Makes room for `bytes` in the generation's window, or opens it in a hole or a fresh region. Returns false if there
   is no room. */
GC__OUT_OF_LINE bool gc__worker_window(gc__worker *worker, unsigned generation, size_t bytes) {
    bool many = gc__is_many(worker);
    gc_window *window = &worker->windows[generation];
    if (window->region && gc__copies_extend(window, bytes)) return true;
    gc__worker_close_window(worker, generation);
    if (many ? gc__worker_open_own_hole(worker, generation, bytes) : gc__worker_open_hole(worker, generation, bytes))
        return true;
    if (many) gc__lock_take(&worker->workers->space);
    gc__region *region = gc__worker_take(worker, generation);
    if (many) gc__lock_release(&worker->workers->space);
    if (!region) return false;
    if (!many) worker->cycle->cursors[generation] = region;
    gc__window_set(window, region, region->base, gc__region_end(region));
    return gc__copies_extend(window, bytes);
}

/* Adds the worker's counts to the collection's. */
GC__FN void gc__worker_end(gc__worker *worker) {
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        gc__worker_close_window(worker, g);
        worker->cycle->copied_bytes[g] += worker->copied_bytes[g];
    }
    worker->heap->stats.mark_stack_overflows += worker->mark_stack_overflows;
    worker->heap->stats.evacuation_failures += worker->evacuation_failures;
    worker->heap->pause.trace_calls += worker->trace_calls;
}

/* Copies an object of `bytes` bytes, at least 16, apart from the first 0 or 16: 16 bytes at a time. The last 16 may
   overlap those before, and then do not reach the first word. */
GC__INLINED void gc__copy_words(uintptr_t to, uintptr_t from, size_t first, size_t bytes) {
    if (GC__UNLIKELY(bytes > 128)) {
        memcpy((void *)(to + first), (const void *)(from + first), bytes - first);
        return;
    }
    size_t last = bytes - 16;
    for (size_t i = first; i < last; i += 16) memcpy((void *)(to + i), (const void *)(from + i), 16);
    if (!first || last) memcpy((void *)(to + last), (const void *)(from + last), 16);
}

/* Copies all bytes while another worker may be replacing the first word, which was `header` and is not read again. */
GC__INLINED void gc__copy_body(uintptr_t to, uintptr_t from, uintptr_t header, size_t bytes) {
    GC__WORD(to) = header;
    GC__WORD(to + 8) = GC__WORD(from + 8);
    gc__copy_words(to, from, 16, bytes);
}

/* Takes this worker's copy back, since another worker's copy came first, to which the object's first word `forward`
   refers. */
GC__OUT_OF_LINE uintptr_t gc__copy_lost(gc__worker *worker, gc_window *window, size_t bytes, uintptr_t forward) {
    gc__region *region = window->region;
    if (region->dirty_end < (uintptr_t)window->next) region->dirty_end = (uintptr_t)window->next;
    window->next -= bytes;
    worker->lost++;
    return forward - GC__FORWARD_TAG;
}

/* Lets the region's objects stay in place from now on, since there was no room for a copy. */
__attribute__((noinline)) GC__COLD uintptr_t gc__evacuation_failed(gc__worker *worker, uintptr_t object, unsigned target) {
    gc__claim_in_place(gc__region_of(object), target);
    worker->evacuation_failures++;
    gc__mark_object(worker, object, false);
    return object;
}

/* Copies the object, whose first word is `header`, to the target generation. Returns the copy. If there is no room,
   returns the object itself, or 0 if several workers run. */
GC__INLINED uintptr_t gc__evacuate(gc__worker *worker, uintptr_t object, uintptr_t header, unsigned target, bool many) {
    gc_window *window = &worker->windows[target];
    size_t bytes = gc__object_bytes_as(object, header);
    if (GC__UNLIKELY(bytes > gc__window_room(window))) {
        if (!gc__worker_window(worker, target, bytes))
            return many ? 0 : gc__evacuation_failed(worker, object, target);
    }
    uintptr_t copy = (uintptr_t)window->next;
    window->next += bytes;
    if (many)
        gc__copy_body(copy, object, header, bytes);
    else
        gc__copy_words(copy, object, 0, bytes);
    if (GC_DEBUG >= 3 && many) gc__workers_step(worker);
    uintptr_t forward = gc__claim_copied(worker, object, header, copy, many);
    if (many && GC__UNLIKELY(forward != (copy | GC__FORWARD_TAG))) return gc__copy_lost(worker, window, bytes, forward);
    if (!many && GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
    if (!gc__header_is_leaf(header)) gc__trace_push(worker, copy);
    return copy;
}

/* Marks or copies an object that is reached in a region that is evacuated, in which the marker has marked, or
   whose objects have slid. Returns where the object is now, or 0 as gc__evacuate does. */
GC__INLINED uintptr_t gc__move_object(gc__worker *worker, uintptr_t object, uint8_t verdict, bool many) {
    if (verdict & GC__MARK) { /* as in GC__MOVE_MARKED */
        if (verdict & GC__VERDICT_SPECIAL)
            return gc__mark_elsewhere(worker, object, verdict);
        if (gc__bit_get(worker->marks, object)) {
            if (GC__UNLIKELY(worker->ambiguous != NULL)) gc__ambiguous_reached(worker, object);
            return object;
        }
    }
    uintptr_t header = many ? __atomic_load_n(&GC__WORD(object), __ATOMIC_ACQUIRE) : GC__WORD(object);
    if (header & GC__FORWARD_TAG) return header - GC__FORWARD_TAG;
    return gc__evacuate(worker, object, header, verdict >> GC__VERDICT_BITS, many);
}
