/* Allocation's slow paths.

   A thread carves its window [allocation, allocation_limit) out of a span: the free end of a fresh region, or a hole.
   The window is zeroed a piece at a time just ahead of the allocation pointer, while that memory is in cache; the raw
   window, in a span of its own, is not zeroed. */
#pragma once

#include "holes.h"

#define GC__WINDOW_BYTES (GC_LARGE_BYTES < 16384 ? GC_LARGE_BYTES : (size_t)16384)

/* Implemented by collect/cycle.h. */
GC__SEAM void gc__collect(gc_heap *heap, int generation, gc_reason reason, bool compacting);
GC__SEAM void gc__collect_for_budget(gc_heap *heap);
GC__SEAM void gc__stress_at_allocation(gc_thread *thread);
GC__SEAM void gc__safepoint_run(gc_thread *thread); /* implemented by runtime/thread.h */

/* One of a thread's two windows. */
typedef struct gc__spot {
    char **next, **limit, **span_end, **flushed;
    gc__region **region;
    bool zeroed;
} gc__spot;

GC__FN gc__spot gc__thread_spot(gc_thread *thread, bool zeroed) {
    gc__spot spot = {&thread->allocation, &thread->allocation_limit, &thread->span_end,
                     &thread->flushed,    &thread->region,           true};
    gc__spot raw = {&thread->raw,         &thread->raw_limit,  &thread->raw_span_end,
                    &thread->raw_flushed, &thread->raw_region, false};
    return zeroed ? spot : raw;
}

/* Gives the rest of the window back to its span: its first word is a filler now, not zero. */
GC__FN void gc__spot_shrink(gc_heap *heap, gc__spot spot) {
    size_t rest = (size_t)(*spot.limit - *spot.next);
    *spot.limit = *spot.next;
    gc__count(&heap->generation_bytes[0], 0 - rest);
    gc__count(&heap->stats.allocated_bytes, 0 - rest);
}

/* Makes the window's region walkable. The window stays open. */
GC__FN void gc__spot_flush(gc__spot spot) {
    gc__region *region = *spot.region;
    if (!region || *spot.flushed == *spot.next) return;
    uintptr_t next = (uintptr_t)*spot.next;
    *spot.flushed = *spot.next;
    if (region->formatted) {
        gc__filler_write(next, (uintptr_t)*spot.span_end - next);
        region->indexed_end = region->base;
        if (spot.zeroed) gc__spot_shrink(region->heap, spot);
    } else {
        region->top = next;
    }
}

GC__FN void gc__spot_close(gc__spot spot) {
    gc__spot_flush(spot);
    *spot.next = *spot.limit = *spot.span_end = *spot.flushed = NULL;
    *spot.region = NULL;
}

GC__FN void gc__thread_flush_windows(gc_thread *thread) {
    gc__spot_flush(gc__thread_spot(thread, true));
    gc__spot_flush(gc__thread_spot(thread, false));
}

GC__FN void gc__thread_close_windows(gc_thread *thread) {
    gc__spot_close(gc__thread_spot(thread, true));
    gc__spot_close(gc__thread_spot(thread, false));
}

/* Opens a span with room for `bytes`. */
GC__FN bool gc__spot_open(gc_heap *heap, gc__spot spot, size_t bytes) {
    uintptr_t from = 0, limit = 0;
    gc__spot_close(spot);
    gc__region *region = gc__hole_recycled(heap, bytes, &from, &limit);
    if (!region) {
        region = gc__heap_take(heap, 0, 1);
        if (!region) return false;
        region->linear = true;
        gc__heap_push(heap, region);
        from = region->base;
        limit = gc__region_end(region);
    }
    *spot.region = region;
    *spot.next = *spot.limit = (char *)from;
    *spot.span_end = (char *)limit;
    return true;
}

/* Extends the window so that it holds `bytes`, which the span has room for. Spends budget. */
GC__FN void gc__spot_extend(gc_heap *heap, gc__spot spot, size_t bytes) {
    size_t extra = bytes - (size_t)(*spot.limit - *spot.next);
    if (!heap->options.stress && extra < GC__WINDOW_BYTES) extra = GC__WINDOW_BYTES;
    if (extra > (size_t)(*spot.span_end - *spot.limit)) extra = (size_t)(*spot.span_end - *spot.limit);
    gc__region *region = *spot.region;
    uintptr_t from = (uintptr_t)*spot.limit, to = from + extra;
    /* Other threads may have windows in other holes of the region. Only the one in its last hole moves the end. */
    uintptr_t dirty_end = __atomic_load_n(&region->dirty_end, __ATOMIC_RELAXED),
              dirty = to < dirty_end ? to : dirty_end;
    if (spot.zeroed && from < dirty) memset((void *)from, 0, dirty - from);
    if (dirty_end < to) {
        gc__region_populate(dirty_end, to);
        __atomic_store_n(&region->dirty_end, to, __ATOMIC_RELAXED);
    }
    *spot.limit = (char *)to;
    gc__count(&heap->generation_bytes[0], extra);
    gc__count(&heap->stats.allocated_bytes, extra);
}

GC__FN void gc__region_zero(gc__region *region, size_t bytes) {
    if (region->dirty_end <= region->base) return;
    size_t dirty = region->dirty_end - region->base;
    memset((void *)region->base, 0, dirty < bytes ? dirty : bytes);
}

GC__FN void *gc__allocate_large(gc_heap *heap, size_t bytes, bool zeroed) {
    size_t span = (bytes + GC_REGION_BYTES - 1) >> GC_REGION_SHIFT;
    gc__region *region = gc__heap_take(heap, 0, span);
    if (!region) return NULL;
    region->kind = GC__LARGE;
    gc__marks_clear(region);
    gc__mark_set(region->base);
    for (size_t i = 0, rest = bytes; i < span; i++) {
        size_t part = rest < GC_REGION_BYTES ? rest : GC_REGION_BYTES;
        if (zeroed) gc__region_zero(region + i, part);
        uintptr_t end = region[i].base + ((part + 4095) & ~(size_t)4095);
        if (region[i].dirty_end < end) region[i].dirty_end = end;
        rest -= part;
    }
    region->live_bytes = bytes;
    gc__heap_push(heap, region);
    heap->large_bytes += bytes;
    gc__count(&heap->generation_bytes[0], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
    return (void *)region->base;
}

/* Allocates without collecting; NULL with gc__fail at a limit. */
GC__FN void *gc__allocate_try(gc_thread *thread, size_t bytes, bool zeroed) {
    gc_heap *heap = thread->heap;
    gc__spot spot = gc__thread_spot(thread, zeroed);
    if (bytes > GC_LARGE_BYTES || bytes > (size_t)(*spot.span_end - *spot.next)) {
        gc__heap_lock_unparked(heap); /* a collection could take what is allocated here */
        void *large = bytes > GC_LARGE_BYTES ? gc__allocate_large(heap, bytes, zeroed) : NULL;
        bool opened = bytes <= GC_LARGE_BYTES && gc__spot_open(heap, spot, bytes);
        gc__heap_unlock(heap);
        if (!opened) return large;
    }
    if (bytes > (size_t)(*spot.limit - *spot.next)) gc__spot_extend(heap, spot, bytes);
    char *object = *spot.next;
    *spot.next = object + bytes;
    return object;
}

/* Collects, and compacts for as long as that brings regions free: each time there is room only for a part. */
GC__FN void *gc__allocate_collecting(gc_thread *thread, size_t bytes, bool zeroed) {
    gc_heap *heap = thread->heap;
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__heap_lock(heap);
    if (heap->collection.number == before) gc__collect(heap, 2, GC_REASON_LIMIT, false);
    gc__heap_unlock(heap);
    for (;;) {
        void *object = gc__allocate_try(thread, bytes, zeroed);
        if (object) return object;
        size_t left = gc__regions_left(heap);
        gc__collect(heap, 2, GC_REASON_LIMIT, true);
        if (gc__regions_left(heap) <= left) return gc__allocate_try(thread, bytes, zeroed);
    }
}

GC__FN bool gc__ask_host(const gc_options *options, size_t bytes) {
    GC__LEAVE;
    return options->out_of_memory && options->out_of_memory(options->host, bytes, gc__last_message);
}

/* What is tried when a limit was met: harder collections, then the host's hook, and collections again. */
GC__FN void *gc__allocate_last_resort(gc_thread *thread, size_t bytes, bool zeroed) {
    void *object = gc__allocate_collecting(thread, bytes, zeroed);
    if (object || !gc__ask_host(&thread->heap->options, bytes)) return object;
    return gc__allocate_collecting(thread, bytes, zeroed);
}

GC_API void *gc__allocate_slow(gc_thread *thread, size_t bytes, bool zeroed) {
    gc_heap *heap = thread->heap;
    if (gc__heap_is_locked(heap)) { /* and not by a part of gc.h that allocates */
        gc__fail(GC_ERROR_MISUSE,
                 "an allocation during a collection: in a hook, a trace function, scan_roots or a signal handler");
        GC_ASSERT(false, "%s", gc__last_message);
        return NULL;
    }
    GC__ENTER("an allocation");
    GC_ASSERT(gc__thread_self(heap) == thread,
              "an allocation for the thread `%s` by another native thread: gc_thread_current(heap) is that one's own, "
              "gc_thread_attach makes it",
              thread->name ? thread->name : "(unnamed)");
    GC_ASSERT(gc__is_cooperative(thread),
              "an allocation in preemptive mode, in which a thread must not touch the heap: bracket it by "
              "GC_IN_MODE(thread, GC_COOPERATIVE)");
    if (bytes > gc__the_arena.bytes || gc__align(bytes) > heap->limit_regions * GC_REGION_BYTES) {
        gc__fail(GC_ERROR_TOO_LARGE,
                 "an object of %zu bytes can never fit into the heap, whose limit is %zu bytes (heap_bytes_max)", bytes,
                 heap->limit_regions * GC_REGION_BYTES);
        return NULL;
    }
    size_t size = gc__align(bytes);
    gc__spot spot = gc__thread_spot(thread, zeroed);
    if (heap->options.stress)
        gc__stress_at_allocation(thread);
    else if (size <= (size_t)(*spot.limit - *spot.next))
        return gc__allocate_try(thread, size, zeroed);
    if (__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) gc__safepoint_run(thread);
    size_t large = size > GC_LARGE_BYTES ? size : 0;
    size_t spent = gc__counted(&heap->generation_bytes[0]);
    if (spent && spent + large >= gc__counted(&heap->budget_bytes)) gc__collect_for_budget(heap);
    void *object = gc__allocate_try(thread, size, zeroed);
    return object ? object : gc__allocate_last_resort(thread, size, zeroed);
}

/* Implemented by gc_handles.h. */
GC__SEAM bool gc__finalizer_promise(gc_heap *heap);
GC__SEAM void gc__finalizer_add(gc_heap *heap, void *object, const gc_finalizer *finalizer);

#if !GC_HAS_MODEL
GC_API void *gc__new_slow(gc_thread *thread, const gc_type *type, size_t length, bool zeroed) {
    const char *fault = gc_type_check(type);
    if (!fault && length && !type->element_bytes)
        fault = "it has no elements: gc_new makes its objects, not gc_new_array";
    if (fault) {
        const char *name = type && ((uintptr_t)type & 7) == 0 && type->name ? type->name : "(unnamed)";
        gc__fail(GC_ERROR_TYPE, "type `%s` is misdeclared: %s", name, fault);
        GC_ASSERT(false, "%s", gc__last_message);
        return NULL;
    }
    size_t bytes;
    if (__builtin_mul_overflow(length, (size_t)type->element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)type->bytes, &bytes) || bytes > SIZE_MAX - 7) {
        gc__fail(GC_ERROR_TOO_LARGE, "the size of `%s` with %zu elements of %u bytes overflows",
                 type->name ? type->name : "(unnamed)", length, type->element_bytes);
        return NULL;
    }
    if (type->finalizer && !gc__finalizer_promise(thread->heap)) return NULL;
    void *object = gc__allocate_slow(thread, bytes, zeroed || !gc__type_is_leaf(type));
    if (type->finalizer) gc__finalizer_add(thread->heap, object, type->finalizer);
    if (!object) return NULL;
    ((gc_object *)object)->type = type;
    if (type->element_bytes) ((gc_array *)object)->length = length;
    return object;
}
#endif
