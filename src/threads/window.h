/* Threads' windows. A window (unless it is the raw one) is zeroed in steps just ahead of the pointer, which brings that
   memory into the cache.

   Most windows are in generation 0. Where nearly all of each nursery survives, young collections would copy it for
   nothing, so in a heap with a pause goal threads allocate in generation 2: in the holes of regions, each of which has one
   thread to itself until the next collection, or in fresh regions. Objects that are *born old* get their start bits, which
   are the objects of such a region, when their thread leaves the hole or stops. Stores that initialized them had no barrier,
   so their cards become dirty if there are young objects. While generation 2 is being marked, heap->index_born marks them,
   too. */
#pragma once

#include "../space/holes.h"
#include "../space/index.h"
#include "../space/profiler.h"
#include "../space/window.h"
#include "mode.h"

GC__FN gc_window *gc__thread_window(gc_thread *thread, bool zeroed) { return zeroed ? &thread->window : &thread->raw; }
GC__FN gc_thread *gc__window_thread(gc_window *window, bool zeroed) {
    return (gc_thread *)(void *)((char *)window - (zeroed ? offsetof(gc_thread, window) : offsetof(gc_thread, raw)));
}

/* Returns whether the window lies in generation 2. The bytes of its objects are counted when it is flushed. */
GC__FN bool gc__window_is_old(const gc_window *window) {
    return GC__HAS_MARKER && window->region && window->region->generation == 2;
}

/* Counts bytes of generation 0 as allocated, or fewer of them. */
GC__FN void gc__allocation_count(gc_heap *heap, size_t bytes) {
    gc__count(&heap->generation_bytes[0], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
}

/* Reports to the profiler that the rest of the window will not be used. */
GC__FN void gc__allocation_note_unused(gc_heap *heap, gc_window *window, bool zeroed) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    size_t rest = gc__window_room(window);
    if (GC__UNLIKELY(profiler != NULL) && rest) profiler->unused(gc__window_thread(window, zeroed), !zeroed, rest);
}

/* Returns the rest of a thread's window to its span: from now on the first word of the rest is a filler, not zero. */
GC__FN void gc__allocation_shrink(gc_window *window, bool zeroed) {
    gc_heap *heap = window->region->heap;
    size_t rest = gc__window_room(window);
    if (!rest) return; /* as in most holes */
    gc__allocation_note_unused(heap, window, zeroed);
    window->limit = window->next;
    if (!gc__window_is_old(window)) gc__allocation_count(heap, 0 - rest);
}

/* Restarts the region's index, since objects were allocated in a hole. Another thread may be doing the same. */
GC__FN void gc__index_anew(gc__region *region) {
    if (__atomic_load_n(&region->indexed_end, __ATOMIC_RELAXED) != region->base)
        __atomic_store_n(&region->indexed_end, region->base, __ATOMIC_RELAXED);
}

/* Makes the objects known that were born old in the thread's window. */
GC__FN void gc__born_flush(gc_window *window, bool zeroed) {
    gc__region *region = window->region;
    const gc_heap *heap = region->heap;
    uintptr_t at = (uintptr_t)window->start, end = (uintptr_t)window->next;
    size_t (*index)(gc__region *, uintptr_t, uintptr_t) = GC__HAS_MARKER ? heap->index_born : NULL;
    size_t bytes = index ? index(region, at, end) : gc__index_range(region, at, end);
    region->live_bytes += bytes;
    gc__record(gc__window_thread(window, zeroed))->local_spans.born_bytes += bytes;
    gc__store_shadow(window->start, (end - at) / sizeof(gc_word));
    if (heap->options.initializing_barriers) { /* they show no slots outside the heap */
        for (; at < end; at += gc__object_bytes(at))
            if (gc__object_may_own(at)) gc__barrier_dirty_card(&gc__tables, (const void *)at);
        return;
    }
    if (!gc__counted(&heap->generation_bytes[0]) && !gc__counted(&heap->generation_bytes[1]) && !heap->nursery_survivor_bytes)
        return; /* there is no young object to which these may refer */
    for (; at < end; at = (at | (GC_CARD_BYTES - 1)) + 1) gc__barrier_dirty_card(&gc__tables, (const void *)at);
}

/* Counts what the thread's objects that were born old take. Requires the heap's lock, or that the world is stopped. */
GC__FN void gc__born_count(gc_heap *heap, gc__local_spans *spans) {
    if (!spans->born_bytes) return;
    gc__count(&heap->generation_bytes[2], spans->born_bytes);
    gc__count(&heap->stats.allocated_bytes, spans->born_bytes);
    spans->born_bytes = 0;
}

/* Makes the region of a thread's window walkable. The window stays open. */
GC__FN void gc__allocation_flush(gc_window *window, bool zeroed) {
    gc__region *region = window->region;
    if (!region || window->start == window->next) return;
    uintptr_t next = (uintptr_t)window->next;
    if (gc__window_is_old(window)) gc__born_flush(window, zeroed);
    window->start = window->next;
    if (gc__window_is_old(window)) return;
    if (region->formatted) {
        gc__filler_write(next, (uintptr_t)window->end - next);
        gc__index_anew(region);
        if (zeroed) gc__allocation_shrink(window, true);
    } else {
        region->top = next;
    }
}

/* Requires the heap's lock. */
GC__FN void gc__allocation_close(gc_window *window, bool zeroed) {
    gc__allocation_flush(window, zeroed);
    gc__region *region = window->region;
    if (region && region->formatted) {
        gc__allocation_shrink(window, zeroed);
        gc__hole_return(region->heap, region, (uintptr_t)window->next, (uintptr_t)window->end);
    } else if (region && !gc__window_is_old(window)) {
        gc__allocation_note_unused(region->heap, window, zeroed);
    }
    gc__window_set(window, NULL, 0, 0);
}

/* Ends the filling of a region of generation 2. The rest of its holes waits for the next cycle. */
GC__FN void gc__born_end(gc_heap *heap, gc__local_spans *spans) {
    gc__born_count(heap, spans);
    spans->old = NULL;
}

/* Counts the objects in a window for those that never move, which have marks, and gives back what is not used. */
GC__COLD void gc__fixed_flush(gc_window *window) {
    if (!window->region) return;
    gc__count(&window->region->live_bytes, (size_t)(window->next - window->start));
    gc__allocation_count(window->region->heap, 0 - gc__window_room(window));
    window->start = window->limit = window->next;
}

/* Another window may be opened in what is left, unless a later hole of the region was taken. Requires the heap's lock, or
   that the world is stopped. */
GC__COLD void gc__fixed_close(gc_window *window) {
    gc__region *region = window->region;
    gc__fixed_flush(window);
    if (region && region->hole == (uintptr_t)window->end) region->hole = (uintptr_t)window->next;
    gc__window_set(window, NULL, 0, 0);
}

GC__FN void gc__thread_flush_windows(gc_thread *thread) {
    gc__fixed_flush(&gc__record(thread)->fixed);
    gc__allocation_flush(&thread->window, true);
    gc__allocation_flush(&thread->raw, false);
    gc__born_count(thread->heap, &gc__record(thread)->local_spans);
}

/* Makes the thread's next allocation take the slow path. The windows stay open. */
GC__FN void gc__thread_shrink_windows(gc_thread *thread) {
    if (thread->window.region) gc__allocation_shrink(&thread->window, true);
    if (thread->raw.region) gc__allocation_shrink(&thread->raw, false);
    gc__fixed_flush(&gc__record(thread)->fixed);
}

GC__FN void gc__thread_close_windows(gc_thread *thread) {
    gc__allocation_close(&thread->window, true);
    gc__allocation_close(&thread->raw, false);
    gc__fixed_close(&gc__record(thread)->fixed);
    gc__born_end(thread->heap, &gc__record(thread)->local_spans);
}

/* Takes one of the thread's first spans with room for `bytes`; returns 0 if none of the first few has. */
GC__FN uintptr_t gc__local_spans_take(gc__local_spans *spans, size_t bytes) {
    gc_word *link = &spans->first;
    for (int tries = GC__HOLE_TRIES; *link && tries; link = &GC__WORD(*link + 8), tries--) {
        uintptr_t hole = *link;
        size_t room = gc__filler_bytes(hole);
        if (room < bytes) continue;
        *link = GC__WORD(hole + 8);
        spans->bytes -= room;
        return hole;
    }
    return 0;
}

/* Opens the thread's window, which is full, in one of its local spans with room for `bytes`. The lock is not held, so
   the old leftover is listed later. Returns false if there is no such span, or the window lies in no hole. */
GC__FN bool gc__local_spans_open(gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    uintptr_t rest = (uintptr_t)window->next;
    gc__region *region = window->region;
    if (!spans->first || window->limit != window->end || (region && !region->formatted)) return false;
    uintptr_t hole = gc__local_spans_take(spans, bytes);
    if (!hole) return false;
    size_t room = gc__filler_bytes(hole), left = gc__window_room(window);
    if (region) {
        gc__filler_write(rest, left);
        gc__index_anew(region);
    }
    spans->left_bytes += left;
    if (left >= GC__HOLE_BYTES_MIN_MUTATOR) {
        GC__WORD(rest + 8) = spans->left;
        spans->left = rest;
    }
    __builtin_prefetch((const void *)spans->first, 1);
    gc__window_set(window, gc__region_of(hole), hole, hole + room);
    window->start = NULL; /* flushing makes even an empty span walkable */
    if (zeroed) memset((void *)hole, 0, room);
    window->limit = window->end;
    return true;
}

/* Makes the thread's next allocation take the lock. */
GC__FN void gc__local_spans_retire(gc__local_spans *spans) {
    gc_word *link = &spans->left;
    while (*link) link = &GC__WORD(*link + 8);
    *link = spans->first;
    spans->left_bytes += spans->bytes;
    spans->first = spans->bytes = 0;
    spans->old = NULL;
}

/* Lists the holes, which count as allocated. */
GC__FN void gc__local_spans_return(gc_heap *heap, gc_word hole) {
    while (hole) {
        gc_word next = GC__WORD(hole + 8);
        gc__hole_return(heap, gc__region_of(hole), hole, hole + gc__filler_bytes(hole));
        hole = next;
    }
}

/* Lists the thread's unused spans and the leftovers of its windows. */
GC__FN void gc__local_spans_close(gc_heap *heap, gc__local_spans *spans) {
    size_t bytes = spans->bytes + spans->left_bytes;
    gc__born_end(heap, spans);
    if (!bytes) return;
    gc__local_spans_return(heap, spans->left);
    gc__local_spans_return(heap, spans->first);
    memset(spans, 0, sizeof *spans);
    gc__allocation_count(heap, 0 - bytes);
}

/* Fills the thread's local spans with holes for objects of `bytes`, with more of them if it used up the last ones.
   Returns false if there are none, or only *hole. */
GC__FN bool gc__local_spans_renew(gc_heap *heap, gc__local_spans *spans, size_t bytes, uintptr_t *hole) {
    size_t most = spans->first ? GC__LOCAL_SPANS_BYTES / 16 : gc__min(2 * spans->most, GC__LOCAL_SPANS_BYTES);
    gc__local_spans_close(heap, spans);
    spans->most = gc__max(most, GC__LOCAL_SPANS_BYTES / 16);
    if (!gc__holes_find(heap, spans, bytes, hole)) return false;
    gc__allocation_count(heap, spans->bytes);
    return spans->first != 0;
}

/* Returns whether threads get local spans for objects of `bytes`. Where objects differ in size, some then lie in holes
   that are much larger than needed, so a heap with little more room than its live bytes gives each object the smallest
   hole that suffices. */
GC__FN bool gc__is_in_local_span(const gc_heap *heap, size_t bytes) {
    size_t live = heap->full_bytes + gc__external_bytes(heap);
    bool tight = live / GC__LOCAL_SPANS_ROOM > heap->limit_bytes - gc__min(heap->limit_bytes, live);
    return bytes <= GC__LOCAL_SPAN_MOST && !tight && !gc__stress_of(heap) && !gc__profiler_of(heap);
}

/* Extends a thread's window so that it holds `bytes`, for which the span has room. Spends budget. */
GC__FN void gc__allocation_extend(gc_heap *heap, gc_window *window, bool zeroed, size_t bytes) {
    size_t extra = bytes - gc__window_room(window);
    if (!gc__stress_of(heap) && extra < GC__WINDOW_BYTES) extra = GC__WINDOW_BYTES;
    if (extra > (size_t)(window->end - window->limit)) extra = (size_t)(window->end - window->limit);
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (GC__UNLIKELY(profiler != NULL)) {
        size_t room = gc__window_room(window), more = bytes - room;
        extra = window->region->fixed ? more : profiler->extend(gc__window_thread(window, zeroed), !zeroed, room, more, extra);
    }
    gc__region *region = window->region;
    uintptr_t from = (uintptr_t)window->limit, to = from + extra;
    /* Other threads may have windows in other holes of the region. Only the window in the last hole moves the end. */
    uintptr_t dirty_end = __atomic_load_n(&region->dirty_end, __ATOMIC_RELAXED),
              dirty = to < dirty_end ? to : dirty_end;
    if (zeroed && from < dirty) memset((void *)from, 0, dirty - from);
    if (dirty_end < to) {
        gc__region_populate(region, dirty_end, to);
        __atomic_store_n(&region->dirty_end, to, __ATOMIC_RELAXED);
    }
    window->limit = (char *)to;
    if (!gc__window_is_old(window)) gc__allocation_count(heap, extra);
}

/* From this size on an object is born old in a fresh region, or else young, rather than in the next hole that is large
   enough: all smaller ones before it would be lost. */
#define GC__BORN_LARGE ((size_t)1024)
#define GC__BORN_DENSE 16 /* a region with less than 1/n of it in holes is not filled */

/* Returns whether the next windows are opened in generation 2. */
GC__FN bool gc__is_born_old(const gc_heap *heap) {
    if (!GC__HAS_MARKER || gc__counted(&heap->born_bytes) >= heap->born_left) return false;
    return !gc__stress_of(heap) && !gc__profiler_of(heap);
}

/* Opens the thread's window, which is full, in a hole with room for `bytes` in a region that the thread fills. Returns
   false if there is none. */
GC__FN bool gc__born_open_next(gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    uintptr_t end;
    if (!spans->old || (window->region && !gc__window_is_old(window))) return false;
    if (bytes <= gc__span_room(window)) { /* the hole is a large one */
        gc__allocation_extend(window->region->heap, window, zeroed, bytes);
        return true;
    }
    gc__allocation_flush(window, zeroed);
    uintptr_t from = gc__hole_by_marks(spans->old, bytes, &end);
    if (!from) return false;
    gc__window_set(window, gc__region_of(from), from, end);
    gc__allocation_extend(window->region->heap, window, zeroed, bytes);
    return true;
}

/* Tells the marker that not all objects of the region may have start bits. */
GC__COLD void gc__region_set_filled(const gc_heap *heap, const gc__region *region) {
    gc__region_set_rank(region, gc__age_of(heap, 2) | (heap->marking ? GC__AGE_FILLED : 0), true);
}

/* Returns a fresh region of generation 2, or NULL with gc__fail. */
GC__COLD gc__region *gc__born_take_fresh(gc_heap *heap) {
    gc__region *region = gc__heap_take(heap, 0);
    if (!region) return NULL;
    gc__heap_uncommit(heap);
    gc__marks_clear(region);
    gc__other_plane_clear(region);
    region->generation = region->target = 2;
    gc__region_set_filled(heap, region);
    gc__heap_push(heap, region);
    return region;
}

/* Returns the next region with holes, or NULL. */
GC__COLD gc__region *gc__born_take_sparse(gc_heap *heap) {
    for (gc__region *region; (region = heap->old_unlisted) != NULL;) {
        size_t holes = GC_REGION_BYTES - gc__min(region->live_bytes, GC_REGION_BYTES), unlisted = heap->unlisted_bytes;
        __atomic_store_n(&heap->old_unlisted, region->next, __ATOMIC_RELAXED);
        if (!gc__is_by_marks(region)) continue;
        __atomic_store_n(&heap->unlisted_bytes, unlisted - gc__min(unlisted, holes), __ATOMIC_RELAXED);
        if (holes < GC_REGION_BYTES / GC__BORN_DENSE || gc__region_is_candidate(region)) continue;
        if (heap->marking) gc__region_set_filled(heap, region);
        region->hole = region->base;
        return region;
    }
    return NULL;
}

/* Opens the thread's window, which is closed, in generation 2. Returns false if there is no room. The heap's lock is
   held. */
GC__COLD bool gc__born_open(gc_heap *heap, gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    gc__born_count(heap, spans);
    bool large = bytes >= GC__BORN_LARGE;
    while (large || !gc__born_open_next(spans, window, zeroed, bytes)) {
        gc__region *region = large ? NULL : gc__born_take_sparse(heap);
        if (!region && gc__born_has_regions(heap)) region = gc__born_take_fresh(heap);
        if (!region) return false;
        gc__count(&heap->born_bytes, GC_REGION_BYTES - gc__min(region->live_bytes, GC_REGION_BYTES));
        if (large) {
            region->hole = gc__region_end(region);
            gc__window_set(window, region, region->base, gc__region_end(region));
            return true;
        }
        spans->old = region;
    }
    return true;
}

/* Opens a thread's window in a span with room for `bytes`. Requires the heap's lock. */
GC__FN bool gc__allocation_open(gc_heap *heap, gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    uintptr_t from = 0, end = 0;
    gc__allocation_close(window, zeroed);
    if (gc__is_born_old(heap) && gc__born_open(heap, spans, window, zeroed, bytes)) return true;
    gc__born_end(heap, spans);
    bool in_span = gc__is_in_local_span(heap, bytes);
    if (in_span && gc__local_spans_renew(heap, spans, bytes, &from)) return gc__local_spans_open(spans, window, zeroed, bytes);
    if (!in_span) gc__holes_find(heap, NULL, bytes, &from);
    gc__region *region = from ? gc__hole_enter(from, &end) : NULL;
    if (!region) {
        region = gc__heap_take(heap, 0);
        if (!region) return false;
        gc__heap_uncommit(heap);
        region->linear = true;
        gc__heap_push(heap, region);
        from = region->base;
        end = gc__region_end(region);
    }
    gc__window_set(window, region, from, end);
    window->start = NULL; /* flushing makes even an empty span walkable */
    return true;
}
