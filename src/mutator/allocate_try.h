/* Allocation without collecting: windows, large objects, objects that never move. */
#pragma once

#include "../space/profiler.h"
#include "../collection/collection.h"

GC__FN void gc__region_zero(gc__region *region, size_t bytes) {
    if (region->dirty_end <= region->base) return;
    size_t dirty = region->dirty_end - region->base;
    memset((void *)region->base, 0, dirty < bytes ? dirty : bytes);
}

GC__COLD void *gc__allocate_large(gc_heap *heap, size_t bytes, bool zeroed) {
    gc__region *region = gc__heap_take_large(heap, bytes);
    if (!region) return NULL;
    gc__marks_clear(region);
    gc__bit_set(gc__region_marks(region), region->base);
    for (size_t i = 0, rest = bytes; i < region->span; i++) {
        size_t part = rest < GC_REGION_BYTES ? rest : GC_REGION_BYTES;
        if (zeroed) gc__region_zero(region + i, part);
        uintptr_t end = gc__page_end(region[i].base + part);
        if (region[i].dirty_end < end) region[i].dirty_end = end;
        rest -= part;
    }
    region->live_bytes = bytes;
    GC__WORD(region->base) = 0;
    if (zeroed && gc__is_huge(region) && gc__has_pause_goal(heap)) heap->pace->has_huge = true;
    gc__heap_push(heap, region);
    heap->large_bytes += bytes;
    gc__count(&heap->generation_bytes[0], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
    return (void *)region->base;
}

/* The purpose of an allocation. */
enum { GC__FOR_RAW, GC__FOR_ZEROED, GC__FOR_FIXED };

GC__FN gc_window *gc__window_for(gc_thread *thread, unsigned kind) {
    return kind == GC__FOR_FIXED ? &gc__record(thread)->fixed : gc__thread_window(thread, kind != GC__FOR_RAW);
}

/* Opens a thread's window for objects that never move: in a hole of one of their regions, or in a fresh region, whose rest
   is for other threads. The heap's lock is held. */
GC__COLD bool gc__fixed_open(gc_heap *heap, gc_window *window, size_t bytes) {
    uintptr_t from = 0, end = 0;
    gc__fixed_close(window);
    for (; heap->fixed_search; heap->fixed_search = heap->fixed_search->next)
        if (heap->fixed_search->fixed &&
            (from = gc__hole_by_marks(heap->fixed_search, gc__max(bytes, GC__HOLE_BYTES_MIN), &end)) != 0)
            break;
    gc__region *region = from ? heap->fixed_search : gc__heap_take(heap, 0);
    if (!region) return false;
    if (!from) {
        gc__marks_clear(region);
        region->fixed = true;
        from = region->base;
        end = gc__region_end(region);
        gc__heap_push(heap, heap->fixed_search = region);
    }
    region->hole = end = gc__min(end, from + gc__max(bytes, 2 * GC__WINDOW_BYTES));
    if (region->dirty_end < end) __atomic_store_n(&region->dirty_end, end, __ATOMIC_RELAXED); /* while the lock is held */
    gc__window_set(window, region, from, end);
    return true;
}

/* Counts the object, which has its header, among its region's objects. Other threads may do the same concurrently. */
GC__FN void gc__fixed_begin(void *object) {
    size_t index = gc__mark_index((uintptr_t)object);
    gc__region *region = gc__region_of((uintptr_t)object);
    if (region->fixed)
        __atomic_fetch_or(&gc__region_marks(region)[index >> 6], (uint64_t)1 << (index & 63), __ATOMIC_RELEASE);
}

/* Allocates in the window's span, which has room. */
GC__FN void *gc__window_allocate(gc_heap *heap, gc_window *window, size_t bytes, bool zeroed) {
    if (bytes > gc__window_room(window)) gc__allocation_extend(heap, window, zeroed, bytes);
    char *object = window->next;
    if (!zeroed) GC__WORD(object) = 0; /* until the header is written */
    GC__WRITTEN();
    window->next = object + bytes;
    return object;
}

/* Allocates in the thread's other window if no region is left for the right one: a heap with a single free region
   would otherwise collect each time the two windows alternate. Returns NULL if the other window has no room either. */
GC__FN void *gc__allocate_in_other(gc_thread *thread, size_t bytes, bool zeroed) {
    gc_window *other = gc__thread_window(thread, !zeroed);
    if (bytes > gc__span_room(other)) return NULL;
    void *object = gc__window_allocate(thread->heap, other, bytes, !zeroed);
    return zeroed ? memset(object, 0, bytes) : object;
}

/* Allocates without collecting. Returns NULL, with gc__fail, at a limit. */
GC__FN void *gc__allocate_try(gc_thread *thread, size_t bytes, unsigned kind) {
    gc_heap *heap = thread->heap;
    bool zeroed = kind != GC__FOR_RAW;
    gc_window *window = gc__window_for(thread, kind);
    void *large = NULL;
    if (bytes > GC_LARGE_BYTES || bytes > gc__span_room(window)) {
        gc__heap_lock_unparked(heap); /* a collection could free the object that is allocated here */
        if (bytes > GC_LARGE_BYTES) large = gc__allocate_large(heap, bytes, zeroed);
        gc__local_spans *spans = &gc__record(thread)->local_spans;
        bool opened = bytes <= GC_LARGE_BYTES;
        if (opened && kind == GC__FOR_FIXED) opened = gc__fixed_open(heap, window, bytes);
        else if (opened) opened = gc__allocation_open(heap, spans, window, zeroed, bytes);
        gc__heap_unlock(heap);
        if (!opened && !large) {
            if (bytes > GC_LARGE_BYTES || kind == GC__FOR_FIXED) return NULL;
            void *object = gc__allocate_in_other(thread, bytes, zeroed);
            /* or between objects that never move, where it stays as they do */
            return object ? object : gc__allocate_try(thread, bytes, GC__FOR_FIXED);
        }
    }
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (GC__UNLIKELY(profiler != NULL) && (large || kind == GC__FOR_FIXED)) profiler->extend(thread, 2, 0, bytes, bytes);
    return large ? large : gc__window_allocate(heap, window, bytes, zeroed);
}

GC__COLD void gc__stress_at_allocation(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    bool now = gc__stress_of(heap) == GC_STRESS_ALLOCATION;
    if (gc__stress_of(heap) == GC_STRESS_STACK) now = gc__stack_is_new(heap);
    if (gc__stress_of(heap) == GC_STRESS_LOCATION) now = gc__location_is_new(thread);
    if (gc__stress_of(heap) == GC_STRESS_NTH) {
        now = gc__record(thread)->stress_countdown <= 1;
        gc__record(thread)->stress_countdown =
            now ? heap->options.debug.stress_interval : gc__record(thread)->stress_countdown - 1;
    }
    if (now) gc__collect_under_stress(heap);
}

