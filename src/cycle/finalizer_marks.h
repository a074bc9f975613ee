/* Marks for objects that are reachable only from dead objects with finalizers, or are such objects: they are
   *finalizer-reachable*.

   When the marker has traced all that it can reach, white objects with finalizers will most likely become due. So it
   goes on from these, and sets bits in gc__finalizer_marks rather than among its own marks: the final mark decides
   whether such an object is dead, and then clears the weak handles that refer to it. Once the final mark comes to
   finalizers, those bits count as marks, and what they mark need not be traced.

   Invariant: by then each object with a finalizer mark was counted in its region, and its referents are young,
   marked, finalizer-marked, or in candidate regions; or the object is in `finalizer_grey`, the marker's stack of
   those that it has not scanned, or in `held`, for the final mark. Objects are held if they refer to candidate
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

/* Sets the finalizer mark of an object of generation 2 in a region that is no candidate, unless it is marked. */
GC__FN void gc__finalizer_mark(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    gc__region *region = gc__region_of(object);
    if (gc__bit_get(heap->marker->marks, object) || gc__is_finalizer_marked(object)) return;
    region->finalizer_marks = marker->finalizer_marks = true;
    gc__finalizer_marks[gc__mark_index(object) >> 6] |= (uint64_t)1 << (gc__mark_index(object) & 63);
    __builtin_prefetch((const void *)object);
    if (!gc__shade_push(heap, &marker->finalizer_grey, object)) marker->no_finalizer_marks = true;
}

GC__INLINED void gc__finalizer_mark_slot(void *heap, gc_word *slot, bool value) {
    uintptr_t object = gc__slot_decode(__atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if (!gc__is_marking(object)) return;
    if (gc__is_candidate(object))
        ((gc_heap *)heap)->marker->holds = true;
    else
        gc__finalizer_mark((gc_heap *)heap, object);
}

GC__FN void gc__finalizer_mark_elements(gc_heap *heap, uintptr_t array, size_t index) {
    gc__marker_elements_to(heap, &heap->marker->finalizer_grey, gc__finalizer_mark_slot, array, index);
}

/* Scans what the object reports. Returns false if the marker must not call its trace function, so that all is left
   to the final mark. */
GC__FN bool gc__finalizer_mark_trace(gc_heap *heap, uintptr_t object) {
    gc__marker_visitor concurrent = {{gc__marker_visit}, heap, gc__finalizer_mark_slot, false, false};
    if (!gc__shade_may_trace(heap, object)) return false;
    gc__object_trace(object, &concurrent.visitor);
    heap->marker->holds |= concurrent.waits || concurrent.has_entries;
    return true;
}

/* Holds the object for the final mark if that is necessary, after the object, or a part of it, was scanned. */
GC__FN void gc__finalizer_mark_hold(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    if (marker->holds && !gc__shade_push(heap, &marker->held, object)) marker->no_finalizer_marks = true;
    marker->holds = false;
}

GC__FN void gc__finalizer_mark_scan(gc_heap *heap, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    if (!type->trace || gc__finalizer_mark_trace(heap, object)) {
        gc__slots_of_mask(object, type->refs, false, gc__finalizer_mark_slot, heap);
        gc__slots_of_mask(object, type->values, GC_HAS_VALUES, gc__finalizer_mark_slot, heap);
        if (gc__type_has_slots_in_elements(type)) gc__finalizer_mark_elements(heap, object, 0);
    } else {
        heap->marker->holds = true;
    }
    gc__finalizer_mark_hold(heap, object);
}

/* Counts the object, and scans it unless it has been marked since. */
GC__FN void gc__finalizer_mark_look(gc_heap *heap, uintptr_t object) {
    gc__marker_add(heap, object);
    if (!gc__bit_get(heap->marker->marks, object)) gc__finalizer_mark_scan(heap, object);
}

/* Scans some of the finalizer-reachable objects, until a collection waits. The marker's lock is held. Returns
   whether more are left. */
GC__FN bool gc__finalizer_marks_work(gc_heap *heap, size_t steps) {
    gc__marker *marker = heap->marker;
    gc__words *grey = &marker->finalizer_grey;
    for (; steps && grey->count && !__atomic_load_n(&marker->wanted, __ATOMIC_RELAXED); steps--) {
        uintptr_t object = grey->words[--grey->count];
        if (!(object & GC__CONTINUED)) {
            gc__finalizer_mark_look(heap, object);
            continue;
        }
        object -= GC__CONTINUED;
        gc__finalizer_mark_elements(heap, object, grey->words[--grey->count]);
        gc__finalizer_mark_hold(heap, object);
    }
    return grey->count != 0;
}

/* Drops the finalizer marks, since there is no memory: unmarked objects are left to the final mark. The marker's
   lock is held, or the world is stopped. */
GC__FN void gc__finalizer_marks_drop(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->finalizer_grey.count = marker->held.count = 0;
    marker->finalizer_marks = false;
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, heap) || !region->finalizer_marks) continue;
        gc__finalizer_marks_clear(region);
        __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    }
}

/* Drops the finalizer marks, since a stop-the-world full collection is about to condemn all regions and knows objects by
   their marks alone. */
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) {
    for (gc__region *region = heap->regions[2]; region; region = region->next) gc__finalizer_marks_clear(region);
}

/* Counts finalizer-reachable objects as reached from now on, and queues those that the marker has not scanned for
   the trace. Called in the final mark. */
GC__FN void gc__finalizer_marks_count(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    gc__marker *marker = heap->marker;
    gc__words *grey = &marker->finalizer_grey;
    heap->finalizer_marks = marker->finalizer_marks;
    while (grey->count) {
        uintptr_t entry = grey->words[--grey->count], object = entry & ~(uintptr_t)GC__CONTINUED;
        if (entry != object)
            grey->count--;
        else
            gc__region_of(object)->next_live_bytes += gc__object_bytes(object);
        gc__trace_push(worker, object);
    }
    for (size_t i = 0; i < marker->held.count; i++) gc__trace_push(worker, marker->held.words[i]);
    marker->held.count = 0;
}
#else
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) { (void)heap; }
GC__FN void gc__finalizer_marks_count(gc__worker *worker) { (void)worker; }
#endif
