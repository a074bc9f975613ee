/* Copying survivors. */
#pragma once

#include "../heap/window.h"
#include "claim.h"

/* Ends the window. The sweep adds copies to what is marked in a condemned region, so copies in its free end must not be
   counted twice. */
GC__FN void gc__worker_close_window(gc__worker *worker, unsigned generation) {
    const gc__region *region = worker->windows[generation].region;
    size_t bytes = gc__copies_close(&worker->windows[generation]);
    worker->copied_bytes[generation] += bytes;
    if (region && region->verdict) worker->cycle->marked_bytes[generation] -= bytes;
}

/* Opens the window in the free end that the plan has chosen. */
GC__FN void gc__worker_open_free_end(gc__worker *worker) {
    gc__region *region = worker->cycle->evacuate_into;
    if (!region) return;
    gc_window *window = &worker->windows[region->target];
    gc__window_set(window, region, worker->cycle->evacuate_into_from, gc__region_end(region));
}

/* Opens the window in a hole of the generation's regions. */
GC__FN bool gc__worker_open_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation];
    for (; *cursor; *cursor = (*cursor)->next) {
        gc__region *region = *cursor;
        uintptr_t end = 0;
        if (region->kind != GC__SMALL || region->linear) continue;
        if (region->hole == region->base && region->live_bytes > GC_REGION_BYTES / 8 * 7) continue;
        uintptr_t from = gc__hole_by_marks(region, bytes, &end);
        if (!from) continue;
        gc__window_set(&worker->windows[generation], region, from, end);
        worker->windows[generation].limit = (char *)end;
        return true;
    }
    return false;
}

/* Makes room for `bytes` in the generation's window, or opens it in a hole or a fresh region. False: there is no room. */
GC__OUT_OF_LINE bool gc__worker_window(gc__worker *worker, unsigned generation, size_t bytes) {
    gc_window *window = &worker->windows[generation];
    if (window->region && gc__copies_extend(window, bytes)) return true;
    gc__worker_close_window(worker, generation);
    if (gc__worker_open_hole(worker, generation, bytes)) return true;
    if (worker->cycle->no_room[generation]) return false;
    gc__region *region = gc__heap_take(worker->heap, (int)generation);
    worker->cycle->no_room[generation] = !region;
    if (!region) return false;
    gc__marks_clear(region);
    gc__heap_push(worker->heap, region);
    worker->cycle->cursors[generation] = region;
    gc__window_set(window, region, region->base, gc__region_end(region));
    region->hole = gc__region_end(region);
    return gc__copies_extend(window, bytes);
}

/* Hands in what the worker has counted. */
GC__FN void gc__worker_end(gc__worker *worker) {
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        gc__worker_close_window(worker, g);
        worker->cycle->copied_bytes[g] += worker->copied_bytes[g];
    }
    worker->heap->stats.mark_stack_overflows += worker->mark_stack_overflows;
    worker->heap->stats.evacuation_failures += worker->evacuation_failures;
}

/* Copies 16 bytes at a time; objects have at least as many. The last 16 may overlap those before. */
GC__INLINED void gc__copy_words(uintptr_t to, uintptr_t from, size_t bytes) {
    if (GC__UNLIKELY(bytes > 128)) {
        memcpy((void *)to, (const void *)from, bytes);
        return;
    }
    size_t last = bytes - 16;
    for (size_t i = 0; i < last; i += 16) memcpy((void *)(to + i), (const void *)(from + i), 16);
    memcpy((void *)(to + last), (const void *)(from + last), 16);
}

/* There was no room for a copy: from now on the region's objects may stay. */
GC__OUT_OF_LINE uintptr_t gc__evacuation_failed(gc__worker *worker, uintptr_t object, unsigned target) {
    gc__claim_in_place(gc__region_of(object), target);
    worker->evacuation_failures++;
    gc__mark_object(worker, object);
    return object;
}

/* Copies the object to the target generation; returns the copy, or the object itself if there is no room. */
GC__INLINED uintptr_t gc__evacuate(gc__worker *worker, uintptr_t object, unsigned target) {
    gc_window *window = &worker->windows[target];
    size_t bytes = gc__object_bytes(object);
    bool leaf = gc__object_is_leaf(object);
    if (GC__UNLIKELY(bytes > gc__window_room(window)) && !gc__worker_window(worker, target, bytes))
        return gc__evacuation_failed(worker, object, target);
    uintptr_t copy = (uintptr_t)window->next;
    window->next += bytes;
    gc__copy_words(copy, object, bytes);
    gc__claim_copied(object, copy);
    if (GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
    if (!leaf) gc__trace_push(worker, copy);
    return copy;
}

/* The same for an object that is reached now, in a region that is evacuated. */
GC__INLINED uintptr_t gc__move_object(gc__worker *worker, uintptr_t object, uint8_t verdict) {
    if ((verdict & GC__VERDICT_MASK) == GC__MOVE_MARKED && gc__mark_get(object)) {
        if (GC__UNLIKELY(worker->suspects != NULL)) gc__suspect_reached(worker, object);
        return object;
    }
    uintptr_t header = GC__WORD(object);
    if (header & GC__FORWARD_TAG) return header - GC__FORWARD_TAG;
    return gc__evacuate(worker, object, verdict >> GC__VERDICT_BITS);
}
