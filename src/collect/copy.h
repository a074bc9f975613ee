/* Copying survivors. */
#pragma once

#include "claim.h"
#include "../heap/window.h"

/* Makes room for `bytes` in the generation's window, or opens it in a hole or a fresh region. False: there is no room. */
GC__OUT_OF_LINE bool gc__window_room(gc__tracer *tracer, unsigned generation, size_t bytes) {
    gc_heap *heap = tracer->heap;
    gc__window *window = &heap->windows[generation];
    if (window->region && gc__window_extend(window, bytes)) return true;
    gc__window_close(heap, window);
    for (; window->cursor; window->cursor = window->cursor->next) {
        gc__region *region = window->cursor;
        if (region->kind != GC__SMALL || region->linear) continue;
        if (region->hole == region->base && region->live_bytes > GC_REGION_BYTES / 8 * 7) continue;
        uintptr_t from = gc__hole_by_marks(region, bytes, &window->limit);
        if (!from) continue;
        window->region = region;
        window->start = window->next = from;
        window->end = window->limit;
        return true;
    }
    if (tracer->no_room[generation]) return false;
    gc__region *region = gc__heap_take(heap, (int)generation, 1);
    tracer->no_room[generation] = !region;
    if (!region) return false;
    gc__marks_clear(region);
    gc__heap_push(heap, region);
    window->cursor = region;
    window->region = region;
    window->start = window->next = window->limit = region->base;
    window->end = region->hole = gc__region_end(region);
    return gc__window_extend(window, bytes);
}

/* Objects have 16 bytes at least. The last 16 may overlap what was copied before. */
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
GC__OUT_OF_LINE uintptr_t gc__evacuation_failed(gc__tracer *tracer, uintptr_t object, unsigned target) {
    gc__region *region = gc__region_of(object);
    if (region->verdict == GC__MOVE) {
        gc__marks_clear(region);
        gc__region_set_verdict(region, GC__MOVE_MARKED, (int)target);
    }
    tracer->heap->stats.evacuation_failures++;
    gc__mark_object(tracer, object);
    return object;
}

/* Copies the object to the target generation; returns the copy, or the object itself if there is no room. */
GC__INLINED uintptr_t gc__evacuate(gc__tracer *tracer, uintptr_t object, unsigned target) {
    gc__window *window = &tracer->heap->windows[target];
    size_t bytes = gc__object_bytes(object);
    bool leaf = gc__object_is_leaf(object);
    if (GC__UNLIKELY(bytes > window->limit - window->next) && !gc__window_room(tracer, target, bytes))
        return gc__evacuation_failed(tracer, object, target);
    uintptr_t copy = window->next;
    window->next = copy + bytes;
    gc__copy_words(copy, object, bytes);
    gc__mark_set(copy);
    GC__WORD(object) = copy | GC__FORWARD_TAG;
    if (GC__UNLIKELY(tracer->keys != NULL)) gc__key_reached(tracer, object);
    if (!leaf) gc__trace_push(tracer, copy);
    return copy;
}

/* The same for an object of a region that is moved out of, which is reached now. */
GC__INLINED uintptr_t gc__move_object(gc__tracer *tracer, uintptr_t object, uint8_t verdict) {
    if ((verdict & GC__VERDICT_MASK) == GC__MOVE_MARKED && gc__mark_get(object)) {
        if (GC__UNLIKELY(tracer->suspects != NULL)) gc__suspect_reached(tracer, object);
        return object;
    }
    uintptr_t header = GC__WORD(object);
    if (header & GC__FORWARD_TAG) return header - GC__FORWARD_TAG;
    return gc__evacuate(tracer, object, verdict >> GC__VERDICT_BITS);
}
