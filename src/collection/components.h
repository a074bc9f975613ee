/* The record of a heap: the structures in which the components of the collector keep its state, and one table of the
   locks and the memory that they own. By this table a heap is opened and closed, its memory counted, and what it does
   not need given back near the limit. Not in it are the segments of handles, the threads of the collector, and what
   barriers write to. */
#pragma once

#include "../trace/workers.h"
#include "../trace/store_buffer.h"
#include "../weak/finalizers.h"
#include "../weak/handle_table.h"
#include "../diag/pauses.h"
#include "../diag/places.h"

typedef struct gc__instance {
    gc_heap heap;
    gc__threads threads;
    gc__collector collector;
    gc__pace pace;
    gc__cycle cycle;
    gc__handles handles;
    gc__finalizers finalizers;
    gc__stress stress;
    gc__marker marker;
    gc__pauses pauses;
    gc__store_buffer stores;
} gc__instance;

/* What a component owns: locks; lists that are empty between collections but keep their memory; lists that are empty
   between concurrent cycles; other lists; maps; and what finds faults, which does not count towards the limit. */
enum { GC__LOCK = 1, GC__SCRATCH = 2, GC__CYCLE_LIST = 4, GC__LIST = 8, GC__MAP = 16, GC__STRESS_LIST = 32, GC__STRESS_MAP = 64 };

#define GC__OWNED(kind, part) {(uint32_t)offsetof(gc__instance, part), GC__##kind}
static const struct gc__owned { uint32_t offset, kind; } gc__heap_owns[] = {
    /* in the order in which they are taken, after the lock that stops threads */
    GC__OWNED(LOCK, marker.lock), GC__OWNED(LOCK, handles.lock), GC__OWNED(LOCK, finalizers.lock),
    GC__OWNED(LOCK, threads.roots_lock), GC__OWNED(SCRATCH, cycle.roots), GC__OWNED(SCRATCH, cycle.interior),
    GC__OWNED(SCRATCH, cycle.pins), GC__OWNED(SCRATCH, cycle.stacks), GC__OWNED(SCRATCH, cycle.offsets),
    GC__OWNED(SCRATCH, cycle.external_moving), GC__OWNED(SCRATCH, cycle.entries.words),
    GC__OWNED(SCRATCH, cycle.entries.ended), GC__OWNED(SCRATCH, cycle.reported), GC__OWNED(MAP, cycle.ambiguous),
    GC__OWNED(SCRATCH, collector.mark_stack), GC__OWNED(LIST, collector.globals), GC__OWNED(MAP, collector.external[0]),
    GC__OWNED(MAP, collector.external[1]), GC__OWNED(MAP, collector.external[2]), GC__OWNED(SCRATCH, handles.waiting),
    GC__OWNED(SCRATCH, handles.ready), GC__OWNED(MAP, handles.keys), GC__OWNED(LIST, finalizers.registered),
    GC__OWNED(LIST, finalizers.moving), GC__OWNED(LIST, finalizers.due[0].pairs),
    GC__OWNED(LIST, finalizers.due[1].pairs), GC__OWNED(LIST, finalizers.old.unclean), GC__OWNED(LIST, finalizers.asked),
    GC__OWNED(LIST, finalizers.young), GC__OWNED(CYCLE_LIST, marker.grey), GC__OWNED(CYCLE_LIST, marker.asked),
    GC__OWNED(CYCLE_LIST, marker.seen), GC__OWNED(CYCLE_LIST, marker.waiting), GC__OWNED(CYCLE_LIST, marker.slots),
    GC__OWNED(MAP, marker.waits), GC__OWNED(CYCLE_LIST, marker.tables), GC__OWNED(CYCLE_LIST, marker.pages),
    GC__OWNED(CYCLE_LIST, marker.slices.unclean), GC__OWNED(STRESS_LIST, stress.kept), GC__OWNED(STRESS_MAP, stress.seen),
};

/* Counts the bytes of the lists and maps of these kinds; and then shrinks maps that are far too large, or frees all. */
typedef enum gc__own_step { GC__OWN_COUNT, GC__OWN_TRIM, GC__OWN_FREE } gc__own_step;
GC__COLD size_t gc__owned_each(gc_heap *heap, unsigned kinds, gc__own_step step) {
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof gc__heap_owns / sizeof *gc__heap_owns; i++) {
        void *part = (char *)heap + gc__heap_owns[i].offset;
        if (!(gc__heap_owns[i].kind & kinds)) continue;
        bool is_map = gc__heap_owns[i].kind & (GC__MAP | GC__STRESS_MAP);
        bytes += is_map ? gc__map_bytes((gc__map *)part) : gc__words_bytes((gc__words *)part);
        if (is_map && step == GC__OWN_TRIM) gc__map_shrink((gc__map *)part);
        if (is_map && step == GC__OWN_FREE) gc__map_free((gc__map *)part);
        if (!is_map && step == GC__OWN_FREE) gc__words_free((gc__words *)part);
    }
    return bytes;
}

/* Calls f for the locks, except the one that stops threads. */
GC__COLD void gc__owned_locks(gc_heap *heap, void (*f)(gc__lock *lock)) {
    for (size_t i = 0; gc__heap_owns[i].kind == GC__LOCK; i++) f((gc__lock *)((char *)heap + gc__heap_owns[i].offset));
}

/* Returns the bytes of the workers' lists, which are empty between collections. Frees them if they are to be released. */
GC__COLD size_t gc__workers_lists_bytes(gc__workers *workers, bool release) {
    if (!workers) return 0;
    size_t bytes = sizeof *workers;
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        gc__words *lists[] = {&thread->stack, &thread->live, &thread->stale, &thread->refused, &thread->seen,
                              i ? NULL : &workers->for_host, &workers->cards};
        bytes += gc__min(thread->own_stripes << (GC__STRIPE_SHIFT - 6), thread->own_marks.capacity * sizeof(uint64_t));
        if (release) gc__own_marks_free(thread);
        for (size_t k = 0; k < sizeof lists / sizeof *lists && lists[k]; k++) {
            bytes += gc__words_bytes(lists[k]);
            if (release) gc__words_free(lists[k]);
        }
    }
    return bytes;
}

/* Counts the metadata again, after releasing the memory of empty lists if so asked. */
GC__COLD void gc__metadata_set(gc_heap *heap, bool release) {
    if (release) gc__owned_each(heap, heap->marking ? GC__SCRATCH : GC__SCRATCH | GC__CYCLE_LIST, GC__OWN_FREE);
    size_t bytes = gc__owned_each(heap, GC__SCRATCH | GC__CYCLE_LIST | GC__LIST | GC__MAP, GC__OWN_COUNT) +
                   gc__workers_lists_bytes(gc__heap_workers(heap), release) + heap->stores->most * sizeof(gc__store) +
                   heap->handles->segment_count * GC__HANDLE_SEGMENT_BYTES +
                   heap->handles->extra_count * GC__HANDLE_EXTRA_BYTES;
    __atomic_store_n(&heap->metadata_bytes, bytes, __ATOMIC_RELAXED);
}

/* Counts the metadata again after a collection. Near the limit, objects have a better use for the memory of lists that
   the next collection makes again, and for unused room in maps and lists of finalizers. The world is stopped. */
GC__COLD void gc__metadata_count(gc_heap *heap) {
    size_t much = heap->limit_bytes / 64;
    if (gc__owned_each(heap, GC__MAP, GC__OWN_COUNT) > much) gc__owned_each(heap, GC__MAP, GC__OWN_TRIM);
    if (gc__owned_each(heap, GC__LIST, GC__OWN_COUNT) > much) gc__finalizers_shrink(heap->finalizers);
    bool release =
        gc__owned_each(heap, GC__SCRATCH, GC__OWN_COUNT) + gc__workers_lists_bytes(gc__heap_workers(heap), false) > much;
    gc__metadata_set(heap, release);
    if (!release && gc__bytes_charged(heap) > heap->limit_bytes) gc__metadata_set(heap, true);
}
