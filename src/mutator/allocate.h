/* Allocation's slow paths. */
#pragma once

#include "../diag/walk.h"
#include "limits.h"

/* Returns whether the heap allows no allocation now, with gc__fail. No part of gc.h allocates under the lock, so a
   thread that has it is in a callback. */
GC__COLD bool gc__allocation_is_misuse(const gc_heap *heap) {
    if (!gc__heap_is_locked(heap)) {
        gc__fail(GC_ERROR_MISUSE, "an allocation by a finalizer that outlasted patience_ms, in a heap that was destroyed "
                                  "meanwhile: have the finalizer return");
        return true;
    }
    gc__misused(gc__fail(GC_ERROR_MISUSE, "an allocation during a collection or a walk: in a hook, a trace function, scan_roots "
                                          "or a signal handler, or after longjmp or an exception out of one"));
    gc__warn(&heap->options, "%s", gc__last_message); /* few callers expect it */
    return true;
}

GC__COLD bool gc__allocation_is_too_large(const gc_heap *heap, size_t bytes) {
    const char *share = heap->limit_is_share ? "three quarters of the container's memory, since heap_bytes_max is 0" : NULL;
    size_t arena = gc__the_arena.bytes, limit = gc__min(heap->limit_bytes, arena);
    gc__fail(GC_ERROR_TOO_LARGE, "an object of %zu bytes can never fit into the heap, whose limit is %zu bytes (%s)", bytes,
             limit, share ? share : limit < arena ? "heap_bytes_max" : "GC_ARENA_BYTES");
    return true;
}

GC__FN void *gc__allocate_any(gc_thread *thread, size_t bytes, unsigned kind) {
    gc_heap *heap = thread->heap;
    bool refused = gc__heap_is_locked(heap) || gc__is_abandoned(heap);
    if (GC__UNLIKELY(refused) && gc__allocation_is_misuse(heap)) return NULL;
    if (GC__UNLIKELY(gc__record(thread)->asking)) gc__asking_look(thread, gc__stack_below());
    GC__API_SCOPE("an allocation");
    GC_ASSERT(gc__record(thread)->unbound || gc__thread_self(heap) == thread,
              "an allocation for the thread `%s` by another native thread, or after gc_thread_detach: "
              "gc_thread_current(heap) is the calling thread's own, gc_thread_attach makes it",
              gc__thread_name(thread));
    GC_ASSERT(gc__is_cooperative(thread),
              "an allocation in preemptive mode, in which a thread must not touch the heap: bracket it by "
              "GC_IN_MODE(thread, GC_MODE_COOPERATIVE)");
    bool is_large = bytes > gc__the_arena.bytes || gc__align(bytes) > gc__counted(&heap->limit_bytes);
    if (GC__UNLIKELY(is_large) && gc__allocation_is_too_large(heap, bytes)) return NULL;
    size_t size = gc__align(bytes);
    if (kind == GC__FOR_FIXED && heap->options.non_moving) kind = GC__FOR_ZEROED; /* no object moves there */
    gc__marking_take_turn(heap);
    if (gc__stress_of(heap))
        gc__stress_at_allocation(thread);
    else if (size <= gc__window_room(gc__window_for(thread, kind)))
        return gc__allocate_try(thread, size, kind);
    if (__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) gc__safepoint_run(thread);
    if (gc__nursery_is_spent(heap, size > GC_LARGE_BYTES ? size : 0)) gc__collect_for_budget(heap);
    void *object = gc__allocate_try(thread, size, kind);
    return object ? object : gc__allocate_last_resort(thread, size, kind);
}

/* Reports the allocation to a profiler. `caller` is the return address of the function that the program has called. */
GC__FN void gc__allocation_note(gc_thread *thread, void *object, size_t bytes, const void *caller, bool typed) {
    const gc__profiler *profiler = gc__profiler_of(thread->heap);
    if (GC__UNLIKELY(profiler != NULL) && object) profiler->allocated(thread, object, gc__align(bytes), caller, typed);
}

GC__COLD void *gc__allocation_failed(const gc_options *options) {
    if (options->abort_when_exhausted)
        gc__fatal(options, "an allocation failed, and options.abort_when_exhausted is set: %s", gc__last_message);
    return NULL;
}

/* Finishes a public allocation function. Such functions are never inlined, so that their return addresses are in the
   program. */
GC__FN void *gc__allocated(const gc_thread *thread, void *object) {
    return object ? object : gc__allocation_failed(&thread->heap->options);
}

/* Opens a window in the thread's next local span, and returns where the object begins, or NULL if that is not
   enough. The budget was spent when the local spans were taken. */
GC__FN char *gc__local_spans_next(gc_thread *thread, size_t bytes, bool zeroed) {
    gc__local_spans *spans = &gc__record(thread)->local_spans;
    gc_window *window = gc__thread_window(thread, zeroed);
    if (bytes > GC__LOCAL_SPAN_MOST || GC_DEBUG >= 2 || gc__profiler_of(thread->heap)) return NULL;
    if (__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) return NULL;
    if (spans->old) return gc__born_open_next(spans, window, zeroed, bytes) ? window->next : NULL;
    return gc__local_spans_open(spans, window, zeroed, bytes) ? window->next : NULL;
}

GC_API __attribute__((noinline)) void *gc__allocate_slow(gc_thread *thread, size_t bytes, bool zeroed) {
    size_t size = gc__align(bytes);
    char *found = bytes <= size ? gc__local_spans_next(thread, size, zeroed) : NULL;
    if (found) {
        if (!zeroed) GC__WORD(found) = 0; /* until the header is written */
        GC__WRITTEN();
        gc__thread_window(thread, zeroed)->next = found + size;
        return found;
    }
    void *object = gc__allocate_any(thread, bytes, zeroed ? GC__FOR_ZEROED : GC__FOR_RAW);
    if (object) gc__fixed_begin(object);
    gc__allocation_note(thread, object, bytes, __builtin_return_address(0), false);
    return gc__allocated(thread, object);
}

#if !GC_HAS_MODEL
/* Computes the size of an object. Returns false, with gc__fail, if the type is faulty or the size is too large. */
GC__FN bool gc__new_bytes(const gc_type *type, size_t length, size_t *bytes) {
    const char *fault = gc_type_check(type);
    if (!fault && length && !type->element_bytes)
        fault = "it has no elements: gc_new makes its objects, not gc_new_array";
    if (fault) {
        const char *name = type && ((uintptr_t)type & 7) == 0 && type->name ? type->name : "(unnamed)";
        gc__misused(gc__fail(GC_ERROR_TYPE, "type `%s` is misdeclared: %s", name, fault));
        return false;
    }
    bool overflows = __builtin_mul_overflow(length, (size_t)type->element_bytes, bytes) ||
                     __builtin_add_overflow(*bytes, (size_t)type->bytes, bytes) || *bytes > SIZE_MAX - 7;
    if (overflows)
        gc__fail(GC_ERROR_TOO_LARGE, "the size of `%s` with %zu elements of %u bytes overflows",
                 type->name ? type->name : "(unnamed)", length, type->element_bytes);
    return !overflows;
}

GC__OUT_OF_LINE void *gc__new(gc_thread *thread, const gc_type *type, size_t length, unsigned kind,
                              const void *caller) {
    size_t bytes;
    if (!gc__new_bytes(type, length, &bytes)) return NULL;
    bool ends = type->finalizer && type->finalizer->finalize;
    if (ends && !gc__finalizer_promise_collecting(thread)) return NULL;
    void *object = gc__allocate_any(thread, bytes, kind);
    GC__SCOPE("an allocation"); /* a handler that allocated now would find an object without its header */
    if (ends) gc__finalizer_add(thread, object, type->finalizer);
    if (!object) return NULL;
    if (type->element_bytes) ((gc_array *)object)->length = length;
    GC__WRITTEN();
    ((gc_object *)object)->type = type;
    gc__fixed_begin(object);
    gc__allocation_note(thread, object, bytes, caller, true);
    return object;
}

/* Allocates an object in what the thread has, a window or a local span. Returns NULL if that is not enough. */
GC__FN void *gc__new_at_hand(gc_thread *thread, const gc_type *type, size_t length, unsigned kind) {
    gc_window *window = gc__window_for(thread, kind);
    if (!type || length > GC__LOCAL_SPAN_MOST || (type->finalizer && type->finalizer->finalize)) return NULL;
    size_t bytes = gc__align(type->bytes + length * type->element_bytes);
    char *object = GC_DEBUG < 2 && bytes <= gc__window_room(window) ? window->next : NULL;
    if (!object && kind != GC__FOR_FIXED) object = gc__local_spans_next(thread, bytes, kind == GC__FOR_ZEROED);
    if (!object) return NULL;
    if (type->element_bytes) ((gc_array *)object)->length = length;
    ((gc_object *)object)->type = type;
    GC__WRITTEN();
    window->next = object + bytes;
    if (kind == GC__FOR_FIXED) gc__fixed_begin(object);
    return object;
}

GC__OUT_OF_LINE void *gc__new_by(gc_thread *thread, const gc_type *type, size_t length, unsigned kind,
                                 const void *caller) {
    if (type && type->flags & GC_TYPE_FIXED) kind = GC__FOR_FIXED;
    void *object = gc__new_at_hand(thread, type, length, kind);
    return object ? object : gc__allocated(thread, gc__new(thread, type, length, kind, caller));
}

GC_API __attribute__((noinline)) void *gc__new_slow(gc_thread *thread, const gc_type *type, size_t length,
                                                    bool zeroed) {
    unsigned kind = zeroed || (type && !gc__type_is_leaf(type)) ? GC__FOR_ZEROED : GC__FOR_RAW;
    return gc__new_by(thread, type, length, kind, __builtin_return_address(0));
}
#endif

/* `type` NULL: `length` bytes, whose header the host writes. */
GC_API __attribute__((noinline)) void *gc__new_fixed(gc_thread *thread, const gc_type *type, size_t length) {
#if !GC_HAS_MODEL
    if (type) return gc__new_by(thread, type, length, GC__FOR_FIXED, __builtin_return_address(0));
#endif
    (void)type;
    GC_ASSERT(!type, "gc_new_with: with GC_MODEL_BYTES its type must be NULL");
    void *object = gc__allocate_any(thread, length, GC__FOR_FIXED);
    if (object) gc__fixed_begin(object);
    gc__allocation_note(thread, object, length, __builtin_return_address(0), false);
    return gc__allocated(thread, object);
}

#if !GC_HAS_MODEL
/* Counts the bytes by which an object has grown. The heap's lock is held. */
GC__FN void gc__growth_count(gc_heap *heap, gc__region *region, size_t bytes) {
    region->live_bytes += bytes;
    if (gc__heap_is_marking(heap) && region->generation == 2)
        __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    gc__count(&heap->generation_bytes[region->generation], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
}

/* Returns whether the heap has room for the spare pages that a large object takes if it grows to `to`. */
GC__FN bool gc__large_has_room(gc_heap *heap, const gc__region *region, uintptr_t to) {
    size_t left = gc__region_end(region) - gc__page_end(to), before;
    do { /* room may have been made of the object's own slack, which is spare then */
        before = region->spare;
        if (!gc__heap_has_room(heap, before - gc__min(before, left))) return false;
    } while (region->spare != before);
    return true;
}

/* Takes the pages behind a large object: first those that were written to before, and then spare ones. */
GC__FN bool gc__large_grow(gc_heap *heap, gc__region *region, size_t bytes) {
    gc__region *last = region + region->span - 1;
    uintptr_t end = region->top, to = region->base + bytes;
    if (to > gc__region_end(region) || to < end || !gc__large_has_room(heap, region, to)) return false;
    uintptr_t clean = gc__region_end(region) - region->spare;
    size_t slack = gc__large_slack(region), spare = gc__min(region->spare, gc__region_end(region) - gc__page_end(to));
    if (end < clean) memset((void *)end, 0, gc__min(to, clean) - end);
    if (last->dirty_end < gc__page_end(to)) last->dirty_end = gc__page_end(to);
    heap->spare_bytes -= region->spare - spare;
    region->spare = spare;
    region->top = to;
    heap->slack_bytes -= slack - gc__large_slack(region);
    heap->large_bytes += to - end;
    gc__growth_count(heap, region, to - end);
    gc__heap_note_held(heap);
    return true;
}

/* Takes the beginning of the hole behind an object, in a region whose mark bits show its objects. */
GC__FN bool gc__hole_grow(gc_heap *heap, gc__region *region, uintptr_t end, size_t bytes) {
    /* The hole may be in a list, or in another thread's window. */
    if ((gc__fills_holes(heap) || heap->born_left) && region->generation == 2) return false;
    for (const gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        if (gc__record(thread)->fixed.region == region) return false;
    if (gc__mark_next(end, gc__region_end(region)) < end + bytes || end + bytes > gc__region_end(region)) return false;
    if (region->hole >= end && region->hole < end + bytes) region->hole = end + bytes;
    if (region->dirty_end < end + bytes) region->dirty_end = end + bytes;
    memset((void *)end, 0, bytes);
    gc__growth_count(heap, region, bytes);
    return true;
}

/* Grows the object, if it was the last one in a window of the thread. */
GC__FN bool gc__window_grow(gc_thread *thread, uintptr_t end, size_t bytes) {
    for (unsigned kind = GC__FOR_RAW; kind <= GC__FOR_FIXED; kind++) {
        gc_window *window = gc__window_for(thread, kind);
        if ((uintptr_t)window->next != end || gc__span_room(window) < bytes) continue;
        gc__region *region = window->region;
        void *more = gc__window_allocate(thread->heap, window, bytes, kind != GC__FOR_RAW);
        if (kind == GC__FOR_RAW) memset(more, 0, bytes);
        /* No object starts there. The index of a formatted region, in which other threads may have windows, is built
           again from its start. */
        if (!region->formatted && region->indexed_end == end) region->indexed_end += bytes;
        if (gc__window_is_old(window) && (uintptr_t)window->start == end) { /* the object was flushed */
            window->start += bytes;
            region->live_bytes += bytes;
            if (gc__heap_is_marking(thread->heap))
                __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
            gc__record(thread)->local_spans.born_bytes += bytes;
        }
        return true;
    }
    return false;
}

/* Grows the array. The length is also written under the lock: from then on other threads that look for holes ask the
   array for its size. The function does not wait for the lock, since that could be to wait for a collection, which
   would move the array. */
GC__FN bool gc__array_grow(gc_thread *thread, uintptr_t array, size_t from, size_t to, size_t length) {
    gc_heap *heap = thread->heap;
    gc__region *region = gc__region_of(array);
    if (region->kind == GC__SMALL && (to > GC_LARGE_BYTES || gc__window_grow(thread, array + from, to - from)))
        return to <= GC_LARGE_BYTES;
    bool grown = false;
    if (!gc__heap_lock_unless_taken(heap)) return false;
    if (region->kind == GC__LARGE) grown = gc__large_grow(heap, region, to);
    if (region->kind == GC__SMALL && !region->linear) grown = gc__hole_grow(heap, region, array + from, to - from);
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (GC__UNLIKELY(profiler != NULL) && grown) profiler->extend(thread, 2, 0, to - from, to - from);
    if (grown) gc__object_set_length(array, length);
    gc__heap_unlock(heap);
    return grown;
}

GC_API bool gc_array_grow(gc_thread *thread, void *array, size_t length) {
    if (gc__is_null(thread, "gc_array_grow", "thread") || gc__is_null(array, "gc_array_grow", "array")) return false;
    const gc_type *type = gc__in_arena((uintptr_t)array) ? gc__object_type((uintptr_t)array) : NULL;
    if (!type || !type->element_bytes) {
        gc__misused(gc__fail(GC_ERROR_MISUSE, "gc_array_grow: %p, a `%s`, is no array on the heap", array,
                             type ? gc__object_name((uintptr_t)array) : "(unknown)"));
        return false;
    }
    size_t from = gc__object_bytes((uintptr_t)array), bytes;
    if (length < ((gc_array *)array)->length || __builtin_mul_overflow(length, (size_t)type->element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)type->bytes, &bytes) || bytes > gc__the_arena.bytes)
        return false;
    size_t to = gc__align(bytes), used = type->bytes + ((gc_array *)array)->length * type->element_bytes;
    memset((char *)array + used, 0, from - used); /* the bytes by which the old size was rounded up */
    if (to > from && !gc__array_grow(thread, (uintptr_t)array, from, to, length)) return false;
    gc__object_set_length((uintptr_t)array, length);
    gc__allocation_note(thread, array, to - from, __builtin_return_address(0), true);
    return true;
}
#endif

/* Collects if `bytes` more off-heap bytes, and `table_bytes` for their table, call for that. */
GC__COLD gc_result gc__external_make_room(gc_heap *heap, size_t bytes, size_t table_bytes) {
    bool fits = gc__external_fits(heap, bytes + table_bytes);
    size_t spent =
        gc__counted(&heap->generation_bytes[0]) + gc__external_growth(heap, gc__external_bytes(heap) + bytes);
    if (fits && spent < gc__counted(&heap->budget_bytes)) return GC_OK;
    if (bytes > gc__min(heap->limit_bytes, gc__the_arena.bytes)) return gc__last_result; /* the bytes can never fit */
    if (fits)
        gc__collect_for_budget(heap);
    else
        fits = gc__room_make(heap, bytes + table_bytes);
    if (!fits) gc__explain_full(heap);
    return fits ? GC_OK : gc__last_result;
}

/* Adds off-heap bytes to the object, or subtracts them. The heap's lock is held. */
GC__FN gc_result gc__external_add(gc_heap *heap, void **root, ptrdiff_t bytes) {
    uintptr_t object = (uintptr_t)*root;
    gc__map *table = &heap->collector->external[gc__region_of(object)->generation];
    if (bytes <= 0) return bytes ? gc__external_remove(heap, table, object, (size_t)0 - (size_t)bytes) : GC_OK;
    size_t tables = GC_GENERATIONS * gc__map_growth(table); /* collections make as much room in each table */
    gc_result result = gc__external_make_room(heap, (size_t)bytes, tables);
    if (result != GC_OK) return result;
    uintptr_t *held = gc__external_entry(heap, (uintptr_t)*root, 0, "gc_object_add_external");
    if (!held || !gc__external_count(heap, (size_t)bytes, "gc_object_add_external")) return gc__last_result;
    *held += (size_t)bytes;
    heap->owned_bytes += (size_t)bytes;
    gc__heap_note_held(heap);
    return GC_OK;
}

/* Adds off-heap bytes to the object, or says its number if `identity` is not NULL. */
GC__OUT_OF_LINE gc_result gc__object_know(gc_thread *thread, void *object, ptrdiff_t bytes, uint64_t *identity) {
    const char *function = identity ? "gc_object_identity" : "gc_object_add_external";
    if (gc__is_null(thread, function, "thread") || gc__is_null(object, function, "object")) return GC_ERROR_ARGUMENT;
    if (GC_DEBUG >= 1) gc__check_outside(function);
    gc_heap *heap = thread->heap;
    if (identity ? gc__is_amid_collection(heap, function) : gc__is_called_by_hook(heap, function)) return GC_ERROR_MISUSE;
    if (gc_object_heap(object) != heap)
        return gc__fail(GC_ERROR_MISUSE, "%s: %p is no object of this heap", function, object);
    GC_ROOTS(thread, object); /* waiting for the lock may be waiting for a collection */
    bool unbound = gc__record(thread)->unbound; /* such a record's frames are no roots */
    if (unbound && gc_roots_add(heap, &object, 1, 0) != GC_OK) return gc__last_result;
    gc__heap_lock(heap);
    uintptr_t *number = identity ? gc__external_entry(heap, (uintptr_t)object, GC__IDENTITY, function) : NULL;
    if (number) *identity = *number ? *number : (*number = ++heap->collector->identities);
    gc_result result = identity ? GC_OK : gc__external_add(heap, &object, bytes);
    gc__heap_unlock(heap);
    if (unbound) gc_roots_remove(heap, &object);
    return result;
}

GC_API gc_result gc_object_add_external(gc_thread *thread, void *object, ptrdiff_t bytes) {
    return gc__object_know(thread, object, bytes, NULL);
}

GC_API uint64_t gc_object_identity(gc_thread *thread, void *object) {
    uint64_t identity = 0;
    gc__object_know(thread, object, 0, &identity);
    return identity;
}

/* Subtracts bytes without an owner. Returns false, with gc__fail, if there are fewer. */
GC__FN bool gc__unowned_remove(gc_heap *heap, size_t bytes) {
    size_t before = gc__counted(&heap->unowned_bytes);
    do {
        if (before >= bytes) continue;
        gc__fail(GC_ERROR_MISUSE, "gc_heap_add_external: %zu bytes are taken off, more than were added without an owner",
                 bytes);
        return false;
    } while (!__atomic_compare_exchange_n(&heap->unowned_bytes, &before, before - bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    __atomic_fetch_sub(&heap->external_bytes, bytes, __ATOMIC_RELAXED);
    return true;
}

/* Changes the number of bytes without an owner. Returns false, with gc__fail, if there are fewer, or cannot be as
   many. */
GC__FN bool gc__unowned_add(gc_heap *heap, ptrdiff_t bytes) {
    size_t unowned = gc__counted(&heap->unowned_bytes), all = gc__external_bytes(heap);
    bool fits = bytes < 0 ? unowned >= (size_t)0 - (size_t)bytes : (size_t)bytes <= GC__EXTERNAL_MOST - all;
    /* Two locked instructions would make an interpreter's realloc a tenth slower. */
    if (fits && gc__os_is_single_threaded()) {
        __atomic_store_n(&heap->unowned_bytes, unowned + (size_t)bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&heap->external_bytes, all + (size_t)bytes, __ATOMIC_RELAXED);
        return true;
    }
    if (bytes < 0) return gc__unowned_remove(heap, (size_t)0 - (size_t)bytes);
    if (!gc__external_count(heap, (size_t)bytes, "gc_heap_add_external")) return false;
    gc__count(&heap->unowned_bytes, (size_t)bytes);
    return true;
}

/* Makes the calling thread's next allocation look at the budget, unless the thread has no window that it may touch
   now. */
GC__FN void gc__allocation_interrupt(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    if (!self || !gc__is_cooperative(self) || gc__heap_is_locked(heap)) return;
    gc__local_spans_retire(&gc__record(self)->local_spans);
    gc__thread_shrink_windows(self);
}

/* Does so if a collection is due, now that off-heap bytes were added. */
GC__FN void gc__external_interrupt(gc_heap *heap) {
    if (gc__spent_bytes(heap) >= gc__counted(&heap->budget_bytes)) gc__allocation_interrupt(heap);
}

GC_API gc_result gc_heap_add_external(gc_heap *heap, ptrdiff_t bytes) {
    if (gc__is_null(heap, "gc_heap_add_external", "heap")) return GC_ERROR_ARGUMENT;
    if (!gc__unowned_add(heap, bytes)) return gc__last_result;
    if (bytes > 0) gc__external_interrupt(heap);
    return GC_OK;
}

GC_API __attribute__((cold)) gc_result gc_value_stack_reserve(gc_heap *heap, gc_value_stack *stack, size_t bytes,
                                                              ptrdiff_t *moved) {
    uintptr_t before = (uintptr_t)stack->base;
    size_t used = (uintptr_t)stack->top - before, old = (uintptr_t)stack->limit - before, size = gc__max(old, 1024);
    *moved = 0;
    if (bytes <= old - used) return GC_OK;
    while (size - used < bytes && size < SIZE_MAX / 4) size *= 2;
    bool counted = size - used >= bytes && gc__unowned_add(heap, (ptrdiff_t)(size - old));
    char *base = counted ? (char *)realloc(stack->base, size) : NULL;
    if (counted && !base) gc__unowned_add(heap, -(ptrdiff_t)(size - old));
    if (!base)
        return gc__fail(GC_ERROR_MEMORY,
                        "gc_value_stack_reserve: the system gives no memory for %zu bytes more than the %zu in use",
                        bytes, used);
    *moved = (ptrdiff_t)((uintptr_t)base - before);
    stack->base = base;
    stack->top = base + used;
    stack->limit = base + size;
    void **marks[] = {&stack->untouched, &stack->settled[0], &stack->settled[1]};
    for (int i = 0; i < 3; i++)
        if (*marks[i]) *marks[i] = (void *)((uintptr_t)*marks[i] + (uintptr_t)*moved);
    gc__external_interrupt(heap);
    return GC_OK;
}

GC_API void gc_value_stack_free(gc_heap *heap, gc_value_stack *stack) {
    gc_heap_add_external(heap, (ptrdiff_t)((uintptr_t)stack->base - (uintptr_t)stack->limit));
    free(stack->base);
    stack->base = stack->top = stack->limit = stack->untouched = stack->settled[0] = stack->settled[1] = NULL;
}
