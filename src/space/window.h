/* Windows: parts of a region in which objects are allocated by bumping a pointer. A thread has three, one of which is
   for objects that never move; a worker of the collector has one for each generation that it copies to.

   A window lies in a span: the free end of a fresh region, or a hole. Its limit moves within the span. A worker's limit
   stops where memory was never written, so that no memory is taken before it is needed.

   The objects between start and next are not accounted for in the region yet, so a region cannot be walked before its
   windows are flushed. */
#pragma once

#include "../api/thread.h"
#include "heap.h"

#define GC__WINDOW_BYTES (GC_LARGE_BYTES < 16384 ? GC_LARGE_BYTES : (size_t)16384)

GC__FN size_t gc__window_room(const gc_window *window) { return (size_t)(window->limit - window->next); }
GC__FN size_t gc__span_room(const gc_window *window) { return (size_t)(window->end - window->next); }

GC__FN void gc__window_set(gc_window *window, gc__region *region, uintptr_t from, uintptr_t end) {
    window->region = region;
    window->start = window->next = window->limit = (char *)from;
    window->end = (char *)end;
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

/* Moves a worker's limit so that `bytes` fit: to where memory has been written, or a little further, but not to the end
   at once. */
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
