/* Under stress, where in the program each of the last collections ran: for reports about references that a
   collection has made stale. */
#pragma once

#include "../base/map.h"
#include "../space/heap.h"
#include "../threads/mode.h"

#define GC__STRESS_KEPT 512u /* places of this many collections are kept */

typedef struct gc__stress {
    /* GC_STRESS_STACK, GC_STRESS_LOCATION: the keys are stacks or locations that have collected; under the roots
       lock. */
    gc__map seen;
    size_t allocations; /* allocations since the last new stack; atomic */
    gc__words kept;     /* a gc__stress_place for each of the last collections */
} gc__stress;

/* Where a collection ran. */
typedef struct gc__stress_place {
    uintptr_t number; /* of the collection; 0: no collection */
    int count;
    void *frames[GC__STACK_FRAMES];
    char location[104]; /* location in the host's program */
} gc__stress_place;

GC__STATIC_ASSERT(sizeof(gc__stress_place) % sizeof(uintptr_t) == 0, "places are kept among words");

/* Describes where the calling thread is in the host's program, or stores "" if that is not known. */
GC__COLD void gc__stress_location(gc_heap *heap, char *text, size_t bytes) {
    GC__HOST_SCOPE;
    gc_thread *thread = gc__thread_self(heap);
    *text = 0;
    if (heap->options.debug.location && thread) heap->options.debug.location(heap->options.host, thread, text, bytes);
    text[bytes - 1] = 0;
}

/* Prints where the calling thread is in the host's program, if that is known. */
GC__COLD void gc__stress_print_location(gc_heap *heap) {
    char location[sizeof(((gc__stress_place *)0)->location)];
    gc__stress_location(heap, location, sizeof location);
    if (*location) fprintf(stderr, "gc.h:     %s\n", location);
}

GC__COLD gc__stress_place *gc__stress_place_of(const gc_heap *heap, uint64_t number) {
    uintptr_t *words = heap->stress->kept.words;
    return words ? (gc__stress_place *)(void *)words + number % GC__STRESS_KEPT : NULL;
}

/* Records where the collection that begins runs, for reports about objects that it moves or finds dead. */
GC__COLD void gc__stress_keep_place(gc_heap *heap) {
    if (!gc__words_reserve(&heap->stress->kept, GC__STRESS_KEPT * sizeof(gc__stress_place) / sizeof(uintptr_t))) return;
    gc__stress_place *place = gc__stress_place_of(heap, heap->collection.number);
    place->number = heap->collection.number;
    place->count = gc__os_stack_frames(place->frames);
    gc__stress_location(heap, place->location, sizeof place->location);
}

GC__COLD void gc__stress_print_place(const gc_heap *heap, uint64_t number) {
    const gc__stress_place *place = gc__stress_place_of(heap, number);
    if (!number || !place || place->number != number) return;
    fprintf(stderr, "gc.h: collection %llu was here:\n", (unsigned long long)number);
    if (*place->location) fprintf(stderr, "gc.h:     %s\n", place->location);
    gc__os_name_frames(place->frames, place->count, 0);
}
