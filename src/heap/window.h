/* Windows: pieces of regions that a thread or the collector allocates in. */
#pragma once

#include "holes.h"

/* Adds to a counter that threads add to without the lock. */
GC__FN void gc__count(size_t *counter, size_t amount) { __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED); }
GC__FN size_t gc__counted(const size_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

#define GC__WINDOW_BYTES (GC_LARGE_BYTES < 16384 ? GC_LARGE_BYTES : (size_t)16384)

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

GC__FN void gc__window_close(gc_heap *heap, gc__window *window) {
    if (!window->region) return;
    size_t bytes = window->next - window->start;
    window->region->live_bytes += bytes;
    heap->copied_bytes[window->region->generation] += bytes;
    window->region->hole = window->next;
    if (window->region->dirty_end < window->next) window->region->dirty_end = window->next;
    window->region = NULL;
    window->start = window->next = window->limit = window->end = 0;
}

/* Moves the limit so that `bytes` fit, and to where memory was written before, but not to the end at once: of a region that
   was never written, only what is needed takes memory. */
GC__FN bool gc__window_extend(gc__window *window, size_t bytes) {
    if (bytes > window->end - window->next) return false;
    uintptr_t written = window->region->dirty_end, to = window->next + bytes;
    if (written < window->limit) written = window->limit;
    gc__region_populate(written, to);
    to = gc__populate_end(to);
    if (to < written) to = written;
    window->limit = to < window->end ? to : window->end;
    return true;
}
