/* Windows: pieces of a region in which objects are allocated by moving a pointer. A thread has two of them; a worker of the
   collector has one for each generation that it copies to.

   A window lies in a span: the free end of a fresh region, or a hole. Its limit moves within the span. A thread's window
   (unless it is the raw one) is zeroed a piece at a time just ahead of the pointer, which brings that memory into the
   cache. A worker's limit stops where memory was never written, so that no memory is taken before it is needed.

   The objects between start and next are not accounted for in the region yet, so a region cannot be walked before its
   windows are flushed. */
#pragma once

#include "holes.h"
#include "profiler.h"

#define GC__WINDOW_BYTES (GC_LARGE_BYTES < 16384 ? GC_LARGE_BYTES : (size_t)16384)

GC__FN size_t gc__window_room(const gc_window *window) { return (size_t)(window->limit - window->next); }
GC__FN size_t gc__span_room(const gc_window *window) { return (size_t)(window->end - window->next); }

GC__FN void gc__window_set(gc_window *window, gc__region *region, uintptr_t from, uintptr_t end) {
    window->region = region;
    window->start = window->next = window->limit = (char *)from;
    window->end = (char *)end;
}

GC__FN gc_window *gc__thread_window(gc_thread *thread, bool zeroed) { return zeroed ? &thread->window : &thread->raw; }
GC__FN gc_thread *gc__window_thread(gc_window *window, bool zeroed) {
    return (gc_thread *)(void *)((char *)window - (zeroed ? offsetof(gc_thread, window) : offsetof(gc_thread, raw)));
}

/* What is left of the window will not be used. */
GC__FN void gc__allocation_note_unused(gc_heap *heap, gc_window *window, bool zeroed) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    size_t rest = gc__window_room(window);
    if (GC__UNLIKELY(profiler != NULL) && rest) profiler->unused(gc__window_thread(window, zeroed), !zeroed, rest);
}

/* Gives the rest of a thread's window back to its span: the first word of the rest is a filler now, not zero. */
GC__FN void gc__allocation_shrink(gc_window *window, bool zeroed) {
    gc_heap *heap = window->region->heap;
    size_t rest = gc__window_room(window);
    if (!rest) return; /* as in most holes */
    gc__allocation_note_unused(heap, window, zeroed);
    window->limit = window->next;
    gc__count(&heap->generation_bytes[0], 0 - rest);
    gc__count(&heap->stats.allocated_bytes, 0 - rest);
}

/* Objects were allocated in a hole, so the region's index starts anew: another thread may be doing the same. */
GC__FN void gc__index_anew(gc__region *region) {
    if (__atomic_load_n(&region->indexed_end, __ATOMIC_RELAXED) != region->base)
        __atomic_store_n(&region->indexed_end, region->base, __ATOMIC_RELAXED);
}

/* Makes the region of a thread's window walkable. The window stays open. */
GC__FN void gc__allocation_flush(gc_window *window, bool zeroed) {
    gc__region *region = window->region;
    if (!region || window->start == window->next) return;
    uintptr_t next = (uintptr_t)window->next;
    window->start = window->next;
    if (region->formatted) {
        gc__filler_write(next, (uintptr_t)window->end - next);
        gc__index_anew(region);
        if (zeroed) gc__allocation_shrink(window, true);
    } else {
        region->top = next;
    }
}

/* Lock held. */
GC__FN void gc__allocation_close(gc_window *window, bool zeroed) {
    gc__allocation_flush(window, zeroed);
    gc__region *region = window->region;
    if (region && region->formatted) {
        gc__allocation_shrink(window, zeroed);
        gc__hole_return(region->heap, region, (uintptr_t)window->next, (uintptr_t)window->end);
    } else if (region) {
        gc__allocation_note_unused(region->heap, window, zeroed);
    }
    gc__window_set(window, NULL, 0, 0);
}

GC__FN void gc__thread_flush_windows(gc_thread *thread) {
    gc__allocation_flush(&thread->window, true);
    gc__allocation_flush(&thread->raw, false);
}

/* Has the thread's next allocation take the slow path. The windows stay open. */
GC__FN void gc__thread_shrink_windows(gc_thread *thread) {
    if (thread->window.region) gc__allocation_shrink(&thread->window, true);
    if (thread->raw.region) gc__allocation_shrink(&thread->raw, false);
}

GC__FN void gc__thread_close_windows(gc_thread *thread) {
    gc__allocation_close(&thread->window, true);
    gc__allocation_close(&thread->raw, false);
}

/* Takes one of the first holes with room for `bytes` out of a thread's chain; 0 if none of these has. */
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

/* Opens the thread's window, in which there is no room, in a hole of its chain that has room for `bytes`. Without the lock: so
   what is left of the old hole is kept for when there is one. False: there is none, or the window does not lie in a hole. */
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

/* Has the thread's next allocation take the lock. */
GC__FN void gc__local_spans_retire(gc__local_spans *spans) {
    gc_word *link = &spans->left;
    while (*link) link = &GC__WORD(*link + 8);
    *link = spans->first;
    spans->left_bytes += spans->bytes;
    spans->first = spans->bytes = 0;
}

/* Lists the holes, which count as allocated. */
GC__FN void gc__local_spans_return(gc_heap *heap, gc_word hole) {
    while (hole) {
        gc_word next = GC__WORD(hole + 8);
        gc__hole_return(heap, gc__region_of(hole), hole, hole + gc__filler_bytes(hole));
        hole = next;
    }
}

/* Lists what is left of the thread's chain and of the holes that its windows were in. */
GC__FN void gc__local_spans_close(gc_heap *heap, gc__local_spans *spans) {
    size_t bytes = spans->bytes + spans->left_bytes;
    if (!bytes) return;
    gc__local_spans_return(heap, spans->left);
    gc__local_spans_return(heap, spans->first);
    memset(spans, 0, sizeof *spans);
    gc__count(&heap->generation_bytes[0], 0 - bytes);
    gc__count(&heap->stats.allocated_bytes, 0 - bytes);
}

/* Fills the thread's chain with holes for objects of `bytes`, with more of them if it has used all that it had. False: there
   are none, or only *hole. */
GC__FN bool gc__local_spans_renew(gc_heap *heap, gc__local_spans *spans, size_t bytes, uintptr_t *hole) {
    size_t most = spans->first ? GC__LOCAL_SPANS_BYTES / 16 : gc__min(2 * spans->most, GC__LOCAL_SPANS_BYTES);
    gc__local_spans_close(heap, spans);
    spans->most = gc__max(most, GC__LOCAL_SPANS_BYTES / 16);
    if (!gc__holes_find(heap, spans, bytes, hole)) return false;
    gc__count(&heap->generation_bytes[0], spans->bytes);
    gc__count(&heap->stats.allocated_bytes, spans->bytes);
    return spans->first != 0;
}

/* Whether threads get chains of holes for objects of `bytes`. Where objects differ in size, some then lie in holes that were much
   larger than needed, so a heap that has little more than what lives gives each the smallest that suffices. */
GC__FN bool gc__is_in_local_span(const gc_heap *heap, size_t bytes) {
    size_t live = heap->full_bytes + gc__external_bytes(heap);
    bool tight = live / GC__LOCAL_SPANS_ROOM > heap->limit_bytes - gc__min(heap->limit_bytes, live);
    return bytes <= GC__LOCAL_SPAN_MOST && !tight && !heap->options.debug.stress && !gc__profiler_of(heap);
}

/* Opens a thread's window in a span with room for `bytes`. Heap lock held. */
GC__FN bool gc__allocation_open(gc_heap *heap, gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    uintptr_t from = 0, end = 0;
    gc__allocation_close(window, zeroed);
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

/* Extends a thread's window so that it holds `bytes`, which the span has room for. Spends budget. */
GC__FN void gc__allocation_extend(gc_heap *heap, gc_window *window, bool zeroed, size_t bytes) {
    size_t extra = bytes - gc__window_room(window);
    if (!heap->options.debug.stress && extra < GC__WINDOW_BYTES) extra = GC__WINDOW_BYTES;
    if (extra > (size_t)(window->end - window->limit)) extra = (size_t)(window->end - window->limit);
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (GC__UNLIKELY(profiler != NULL)) {
        size_t room = gc__window_room(window);
        extra = profiler->extend(gc__window_thread(window, zeroed), !zeroed, room, bytes - room, extra);
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
    gc__count(&heap->generation_bytes[0], extra);
    gc__count(&heap->stats.allocated_bytes, extra);
}

/* Ends a worker's window; returns the bytes of the copies in it. */
GC__FN size_t gc__copies_close(gc_window *window) {
    gc__region *region = window->region;
    if (!region) return 0;
    size_t bytes = (size_t)(window->next - window->start);
    region->live_bytes += bytes;
    region->hole = (uintptr_t)window->next;
    if (region->dirty_end < region->hole) region->dirty_end = region->hole;
    gc__window_set(window, NULL, 0, 0);
    return bytes;
}

/* Moves a worker's limit so that `bytes` fit: up to where memory has been written, or a little further, but not to the end
   of the span at once. */
GC__FN bool gc__copies_extend(gc_window *window, size_t bytes) {
    if (bytes > gc__span_room(window)) return false;
    uintptr_t written = window->region->dirty_end, to = (uintptr_t)window->next + bytes, end = (uintptr_t)window->end;
    if (written < (uintptr_t)window->limit) written = (uintptr_t)window->limit;
    gc__region_populate(window->region, written, to);
    to = gc__populate_end(to);
    if (to < written) to = written;
    window->limit = (char *)(to < end ? to : end);
    return true;
}
