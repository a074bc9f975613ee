/* Marks for objects that are reachable only from dead objects with finalizers, or are such objects: they are
   *finalizer-reachable*.

   When the marker has traced all that it can reach, white objects with finalizers will most likely become due. So it
   goes on from these, and sets bits in gc__finalizer_marks rather than among its own marks: the final mark decides
   whether such an object is dead, and then clears the weak handles that refer to it. Once the final mark comes to
   finalizers, those bits count as marks, and what they mark need not be traced.

   Invariant: by then each object with a finalizer mark was counted in its region, and its referents are young,
   marked, finalizer-marked, or in candidate regions; or the object is on the mark stack of
   those that were not scanned, or in `held`, for the final mark. Objects are held if they refer to candidate
   regions, or have trace functions that may report weak entries or must not run concurrently. A store into such an
   object, which a mutator can only have found through a weak handle, shades both references as any other store does. */
#pragma once

#include "marker.h"

#if GC__HAS_MARKER
/* Makes sure that the bits exist. Returns false if no object can get a finalizer mark in this cycle. The marker's
   lock is held. */
GC__FN bool gc__finalizer_marks_open(gc__marker *marker) {
    if (marker->no_finalizer_marks) return false;
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__finalizer_marks) gc__finalizer_marks = gc__side_reserve_bits(GC__SIDE_FINALIZER_MARKS);
    gc__lock_release(&gc__the_arena.lock);
    marker->no_finalizer_marks = !gc__finalizer_marks;
    return gc__finalizer_marks != NULL;
}

/* Holds the object for the final mark if that is necessary, after the object, or a part of it, was scanned. */
GC__FN void gc__finalizer_mark_hold(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    if (marker->holds && !gc__shade_push(heap, &marker->held, object)) gc__trace_overflow(&marker->finalizing, object);
    marker->holds = false;
}

/* Scans some of the finalizer-reachable objects, until a collection waits. The marker's lock is held. Returns
   whether more are left. */
GC__FN bool gc__finalizer_marks_work(gc_heap *heap, size_t steps) {
    gc__worker *worker = &heap->marker->finalizing;
    for (; steps && !__atomic_load_n(&heap->marker->wanted, __ATOMIC_RELAXED); steps--) {
        if (worker->top == worker->stack) gc__fifo_drain(worker);
        if (worker->top == worker->stack) return false;
        uintptr_t entry = *--worker->top;
        gc__scan_entry(worker, entry, GC__CONCURRENT);
        gc__finalizer_mark_hold(heap, entry & ~(uintptr_t)GC__CONTINUED);
    }
    return true;
}

/* Drops the finalizer marks, since a stop-the-world full collection is about to condemn all regions and knows objects by
   their marks alone. */
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) {
    for (gc__region *region = heap->regions[2]; region; region = region->next) gc__finalizer_marks_clear(region);
}

/* Scans all regions with finalizer marks again, since there was no memory for some of the marker's lists. */
GC__COLD void gc__finalizer_marks_overflowed(gc__worker *worker) {
    worker->overflowed = true;
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (gc__region_is_of(region, worker->heap) && region->finalizer_marks) region->overflowed = true;
    }
}

/* Counts finalizer-reachable objects as reached from now on, and queues those that the marker has not scanned for
   the trace. Called in the final mark. */
GC__FN void gc__finalizer_marks_count(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    gc__marker *marker = heap->marker;
    heap->finalizer_marks = marker->finalizer_marks;
    for (unsigned i = 0; i < GC__FIFO; i++)
        if (marker->finalizing.fifo[i]) gc__finalizer_mark(&marker->finalizing, marker->finalizing.fifo[i]);
    gc__marker_hand_stack_over(worker, &marker->finalizing);
    for (size_t i = 0; i < marker->held.count; i++) gc__trace_push(worker, marker->held.words[i]);
    if (marker->finalizing.overflowed) gc__finalizer_marks_overflowed(worker);
    gc__marker_renew_finalizing(heap);
}
#else
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) { (void)heap; }
GC__FN void gc__finalizer_marks_count(gc__worker *worker) { (void)worker; }
#endif
