/* Copying survivors. */
#pragma once

#include "../space/window.h"
#include "claim.h"
#include "workers.h"
#include "shade.h"

#define GC__LISTED_MOST 4     /* regions whose holes a collection lists */
#define GC__REGIONS_MANY 8     /* this part of the limit, and more */
#define GC__REGIONS_SCARCE 16 /* so few that are left, besides those for evacuation */

/* Whether what is copied goes to listed holes, and what windows leave is listed. Several workers keep to regions of their
   own. */
GC__FN bool gc__worker_lists_holes(const gc__worker *worker, unsigned generation) {
    const gc_heap *heap = worker->heap;
    if (worker->cycle->plan->into_holes) return generation == gc__oldest(heap);
    bool young = heap->collection.generation < 2 || heap->marking;
    return generation == 2 && heap->pace->fills_holes && young && !worker->workers;
}

/* Ends the window. The sweep adds copies to what is marked in a condemned region, so copies in its holes must not be
   counted twice. */
GC__FN void gc__worker_close_window(gc__worker *worker, unsigned generation) {
    gc__region *region = worker->windows[generation].region;
    uintptr_t from = (uintptr_t)worker->windows[generation].start, to = (uintptr_t)worker->windows[generation].next;
    uintptr_t end = (uintptr_t)worker->windows[generation].end;
    size_t bytes = gc__copies_close(&worker->windows[generation]);
    if (GC__UNLIKELY(worker->heap->marking) && generation == 2 && bytes)
        gc__shade_born(gc__region_of(from), from, to, bytes);
    worker->copied_bytes[generation] += bytes;
    if (region && gc__worker_lists_holes(worker, generation)) {
        gc__hole_list_old(worker->heap, region, to, end);
        region->hole = gc__region_end(region);
    }
    if (region && region->verdict) worker->cycle->marked_bytes[generation] -= bytes;
}

/* Opens the window in a hole, of which all may be written to. */
GC__FN void gc__worker_open_in(gc__worker *worker, unsigned generation, gc__region *region, uintptr_t from, uintptr_t end) {
    gc__window_set(&worker->windows[generation], region, from, end);
    worker->windows[generation].limit = (char *)end;
}

/* Opens the window in a hole of the region. */
GC__FN bool gc__worker_open_hole_in(gc__worker *worker, unsigned generation, gc__region *region, size_t bytes) {
    uintptr_t end = 0;
    if (region->kind != GC__SMALL || region->linear || region->candidate) return false;
    if (region->fixed && worker->heap->options.debug.stress)
        return false; /* the copy could not move any more, as it should */
    if (region->hole == region->base && region->live_bytes > GC_REGION_BYTES / 8 * 7) return false;
    uintptr_t from = gc__hole_by_marks(region, gc__max(bytes, GC__HOLE_BYTES_MIN), &end);
    if (!from) return false;
    gc__worker_open_in(worker, generation, region, from, end);
    return true;
}

/* So few regions are left that copies should go to holes, or else mutators would find none. */
GC__FN size_t gc__regions_scarce(const gc_heap *heap) {
    return gc__evacuation_reserve_of(heap, heap->full_bytes) + GC__REGIONS_SCARCE;
}

/* Lists the holes of another region, to which the marker has not come yet: in few regions in a pause, unless free ones are
   scarce. False: no. */
GC__FN bool gc__worker_list_more(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    if (worker->listed++ >= GC__LISTED_MOST && gc__regions_left(heap) > gc__regions_scarce(heap)) return false;
    return gc__holes_list_next(heap);
}

/* Opens the window in the smallest listed hole that suffices. */
GC__FN bool gc__worker_open_listed(gc__worker *worker, unsigned generation, size_t bytes) {
    uintptr_t hole;
    while ((hole = gc__hole_take(&worker->heap->old_holes, bytes)) == 0 || gc__region_of(hole)->candidate)
        if (!hole && !gc__worker_list_more(worker)) return false;
    gc__worker_open_in(worker, generation, gc__region_of(hole), hole, hole + gc__filler_bytes(hole));
    return true;
}

/* Whether copies had better go to fresh regions, since pauses are to be short and memory suffices: where old objects have died
   one by one, each hole has room for one copy, and to find it takes longer than to copy. */
GC__FN bool gc__worker_leaves_holes(const gc__worker *worker, unsigned generation) {
    const gc_heap *heap = worker->heap;
    bool old = generation == 2 && heap->collection.generation < 2 && !heap->pace->fills_holes;
    return old && gc__has_pause_goal(heap) && gc__regions_left(heap) > gc__limit_regions(heap) / GC__REGIONS_MANY;
}

/* Opens the window in a hole of the generation's regions. */
GC__FN bool gc__worker_open_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation];
    if (gc__worker_leaves_holes(worker, generation)) return false;
    if (gc__worker_lists_holes(worker, generation)) return gc__worker_open_listed(worker, generation, bytes);
    for (; *cursor; *cursor = (*cursor)->next)
        if (gc__worker_open_hole_in(worker, generation, *cursor, bytes)) return true;
    return false;
}

/* The same where several workers run: each has regions to itself, so no other one writes their mark bits, bounds and
   counts. */
GC__FN bool gc__worker_open_own_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation], **own = &worker->searched[generation];
    for (bool next = !*own;; next = true) {
        gc__lock_take(&worker->workers->space); /* others take regions now */
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

/* A region for copies, in the heap's list; NULL: there is no room. */
GC__FN gc__region *gc__worker_take(gc__worker *worker, unsigned generation) {
    if (worker->cycle->no_room[generation]) return NULL;
    gc__region *region = gc__heap_take(worker->heap, (int)generation);
    worker->cycle->no_room[generation] = !region;
    if (!region) return NULL;
    gc__marks_clear(region);
    gc__heap_push(worker->heap, region);
    region->hole = gc__region_end(region);
    return region;
}

/* Makes room for `bytes` in the generation's window, or opens it in a hole or a fresh region. False: there is no room. */
GC__INLINED bool gc__worker_find_room(gc__worker *worker, unsigned generation, size_t bytes, bool many) {
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

GC__OUT_OF_LINE bool gc__worker_window(gc__worker *worker, unsigned generation, size_t bytes) {
    return gc__worker_find_room(worker, generation, bytes, false);
}
GC__OUT_OF_LINE bool gc__worker_window_many(gc__worker *worker, unsigned generation, size_t bytes) {
    return gc__worker_find_room(worker, generation, bytes, true);
}

/* Hands in what the worker has counted. */
GC__FN void gc__worker_end(gc__worker *worker) {
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        gc__worker_close_window(worker, g);
        worker->cycle->copied_bytes[g] += worker->copied_bytes[g];
    }
    worker->heap->stats.mark_stack_overflows += worker->mark_stack_overflows;
    worker->heap->stats.evacuation_failures += worker->evacuation_failures;
    worker->heap->pause.trace_calls += worker->trace_calls;
}

/* Copies an object of so many bytes, at least 16, but for the first 0 or 16: 16 at a time, of which the last may overlap those
   before, and then do not reach the first word. */
GC__INLINED void gc__copy_words(uintptr_t to, uintptr_t from, size_t first, size_t bytes) {
    if (GC__UNLIKELY(bytes > 128)) {
        memcpy((void *)(to + first), (const void *)(from + first), bytes - first);
        return;
    }
    size_t last = bytes - 16;
    for (size_t i = first; i < last; i += 16) memcpy((void *)(to + i), (const void *)(from + i), 16);
    if (!first || last) memcpy((void *)(to + last), (const void *)(from + last), 16);
}

/* The same of all bytes where another worker may be replacing the first word, which was `header`: it is not read again. */
GC__INLINED void gc__copy_body(uintptr_t to, uintptr_t from, uintptr_t header, size_t bytes) {
    GC__WORD(to) = header;
    GC__WORD(to + 8) = GC__WORD(from + 8);
    gc__copy_words(to, from, 16, bytes);
}

/* Another worker's copy came first, to which the object's first word `forward` refers: takes this worker's back. */
GC__OUT_OF_LINE uintptr_t gc__copy_lost(gc__worker *worker, gc_window *window, size_t bytes, uintptr_t forward) {
    gc__region *region = window->region;
    if (region->dirty_end < (uintptr_t)window->next) region->dirty_end = (uintptr_t)window->next;
    window->next -= bytes;
    worker->lost++;
    return forward - GC__FORWARD_TAG;
}

/* There was no room for a copy: from now on the region's objects may stay. */
__attribute__((noinline)) GC__COLD uintptr_t gc__evacuation_failed(gc__worker *worker, uintptr_t object, unsigned target) {
    gc__claim_in_place(gc__region_of(object), target);
    worker->evacuation_failures++;
    gc__mark_object(worker, object, false);
    return object;
}

/* Copies the object, whose first word is `header`, to the target generation. Returns the copy, or if there is no room the
   object itself; where several workers run, 0. */
GC__INLINED uintptr_t gc__evacuate(gc__worker *worker, uintptr_t object, uintptr_t header, unsigned target, bool many) {
    gc_window *window = &worker->windows[target];
    size_t bytes = gc__object_bytes_as(object, header);
    if (GC__UNLIKELY(bytes > gc__window_room(window))) {
        if (many ? !gc__worker_window_many(worker, target, bytes) : !gc__worker_window(worker, target, bytes))
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

/* The same for an object that is reached now, in a region that is evacuated or whose mark bits are the marker's. */
GC__INLINED uintptr_t gc__move_object(gc__worker *worker, uintptr_t object, uint8_t verdict, bool many) {
    if (verdict & GC__MARK) { /* as in GC__MOVE_MARKED */
        if (verdict & GC__VERDICT_NEXT_MARKS)
            return many ? gc__mark_elsewhere_many(worker, object, verdict) : gc__mark_elsewhere(worker, object, verdict);
        if (gc__mark_get(object)) {
            if (GC__UNLIKELY(worker->ambiguous != NULL)) gc__ambiguous_reached(worker, object);
            return object;
        }
    }
    uintptr_t header = many ? __atomic_load_n(&GC__WORD(object), __ATOMIC_ACQUIRE) : GC__WORD(object);
    if (header & GC__FORWARD_TAG) return header - GC__FORWARD_TAG;
    return gc__evacuate(worker, object, header, verdict >> GC__VERDICT_BITS, many);
}
