/* Objects that live on only since dead ones with finalizers refer to them, or are these: they are *reprieved*.

   When the marker has reached all that it can, what is white and has a finalizer will most likely become due. So it goes on
   from there, and sets bits in gc__finalizer_marks, not among its marks: whether such an object is dead the last collection of the
   cycle finds out, after which references to it from weak handles are gone. From when finalizers have their turn there, those
   bits count as marks, and what they show need not be traced.

   Invariant: by then each reprieved object's referents are young, marked, or reprieved, or leave, and it was counted in its
   region; or it is in `reprieved`, the marker's stack of those that it has not scanned, or in `held`: of these some refer to
   leaving regions, and those with trace functions may report weak entries, or must not be scanned beside mutators. A store into
   a reprieved object, which a mutator can only have found by a weak handle, shades both references as any other does. */
#pragma once

#include "marker.h"

#if GC__HAS_MARKER
/* Has the bits. False: nothing can be reprieved in this cycle. The marker's lock is held. */
GC__FN bool gc__finalizer_marks_open(gc__marker *marker) {
    if (marker->no_finalizer_marks) return false;
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__finalizer_marks) gc__finalizer_marks = gc__side_reserve_bits(GC__SIDE_FINALIZER_MARKS);
    gc__lock_release(&gc__the_arena.lock);
    marker->no_finalizer_marks = !gc__finalizer_marks;
    return gc__finalizer_marks != NULL;
}

/* Reprieves an object of generation 2 that stays, unless it is marked. */
GC__FN void gc__finalizer_mark(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    gc__region *region = gc__region_of(object);
    if (gc__bit_get(gc__next_marks, object) || gc__is_finalizer_marked(object)) return;
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

/* What the object reports or, if the marker must not ask it, whether all is left to the last collection. */
GC__FN bool gc__finalizer_mark_trace(gc_heap *heap, uintptr_t object) {
    gc__marker_visitor concurrent = {{gc__marker_visit}, heap, gc__finalizer_mark_slot, false, false};
    if (!gc__shade_may_trace(heap, object)) return false;
    gc__object_trace(object, &concurrent.visitor);
    heap->marker->holds |= concurrent.waits || concurrent.has_entries;
    return true;
}

/* The object, or a part of it, was scanned. */
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

/* Counts the object, which is scanned unless it was marked since. */
GC__FN void gc__finalizer_mark_look(gc_heap *heap, uintptr_t object) {
    gc__marker_add(heap, object);
    if (!gc__bit_get(gc__next_marks, object)) gc__finalizer_mark_scan(heap, object);
}

/* Scans some of what is reprieved, until a collection waits. The marker's lock is held. Returns whether more is left. */
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

/* There is no memory: what is not marked is left to the last collection. The marker's lock is held, or the world is stopped. */
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

/* A full collection that stops the program is about to condemn everything, and knows all objects by their marks alone. */
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) {
    for (gc__region *region = heap->regions[2]; region; region = region->next)
        if (region->finalizer_marks) gc__region_flip_whole(region);
}

/* In the last collection of a cycle: from now on what is reprieved counts as reached, and the trace goes on with what the marker
   has not scanned of it. */
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
