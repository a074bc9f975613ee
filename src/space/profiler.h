/* The events of a heap that a profile receives: gc_profile.h implements them. A heap has no profiler unless a profile
   is being taken; otherwise the only cost is the check for one. */
#pragma once

#include "heap.h"

/* Unless they say otherwise, functions are called by the allocating thread, in cooperative mode, or by the collecting
   one. None of them waits for another thread. */
struct gc__profiler {
    /* Called when a window is about to be extended by `extra` bytes, of which the object to be allocated needs
       `needed`. Returns how far to extend it: less than `extra`, if a sampled byte comes before that. raw: 1 for the
       raw window, 2 for an object that is large or never moves, for which nothing more is given. */
    size_t (*extend)(gc_thread *thread, int raw, size_t room, size_t needed, size_t extra);
    /* The last `bytes` by which a window was extended are not used. May be called by another thread for a stopped
       one. */
    void (*unused)(gc_thread *thread, int raw, size_t bytes);
    /* An object was allocated by a slow path. caller: gc.h's return address. typed: the header is written. */
    void (*allocated)(gc_thread *thread, void *object, size_t bytes, const void *caller, bool typed);
    void (*stopped)(gc_heap *heap, uint64_t asked_ns); /* the world has stopped; threads were asked to at that time */
    void (*resumed)(gc_heap *heap);                    /* the world resumes */
    void (*phase)(gc_heap *heap, gc_phase phase);      /* a collection begins the phase, or begins with it */
    void (*ended)(gc_heap *heap);                      /* the collection has ended */
    /* Everything that survives a collection of that generation was reached, and nothing has been freed yet. */
    void (*traced)(gc_heap *heap, int generation);
    void (*finalized)(gc_thread *thread, const char *type, uint64_t started_ns);
    void (*handle)(gc_heap *heap, const void *handle, unsigned kind, bool created); /* may be called by any thread */
    void (*attached)(gc_thread *thread, bool attached); /* called with the heap's lock held and windows closed */
};

/* The functions of gc_profile.h for all heaps, set when the program is loaded; NULL: that header is not part of it. */
typedef struct gc__profiling_calls {
    void (*created)(gc_heap *heap);   /* the heap is listed, and has no thread yet; may set heap->profiler */
    void (*destroyed)(gc_heap *heap); /* no thread uses the heap any more; its objects still exist */
    /* A thread of which a profile holds data is detached after the profile ended. Called with the heap's lock held. */
    void (*detached)(gc_thread *thread);
    void (*forked)(void); /* called in the child, with all locks held */
} gc__profiling_calls;
GC__VAR const gc__profiling_calls *gc__the_profiling;

/* May be called by any thread. */
GC__FN const gc__profiler *gc__profiler_of(const gc_heap *heap) {
    return __atomic_load_n(&heap->profiler, __ATOMIC_ACQUIRE);
}

static const char *const gc__phase_texts[] = {
#define GC__PHASE_TEXT(name, text) text,
    GC_PHASES(GC__PHASE_TEXT)
#undef GC__PHASE_TEXT
};

GC__FN const char *gc__phase_text(gc_phase phase) {
    return (unsigned)phase < GC_PHASE_COUNT ? gc__phase_texts[phase] : "unknown phase";
}

/* Ends the current phase of a collection, and begins another. If two processors' ticks differ, the phase counts
   less. */
GC__FN void gc__phase_count(gc_heap *heap, gc_phase phase) {
    uint64_t now = gc__cpu_ticks();
    if (phase == GC_PHASE_OPEN)
        memset(heap->phase_ticks, 0, sizeof heap->phase_ticks);
    else if (now > heap->phase_since)
        heap->phase_ticks[heap->phase_counted] += now - heap->phase_since;
    heap->phase_since = now;
    heap->phase_counted = phase;
}

/* Divides the time of a collection among its phases, the last of which is about to end. */
GC__FN void gc__phases_share(gc_heap *heap, uint64_t all_ns) {
    uint64_t ticks = 0;
    gc__phase_count(heap, GC_PHASE_CLOSE);
    for (int i = 0; i < GC_PHASE_COUNT; i++) ticks += heap->phase_ticks[i];
    double ns = (double)all_ns / (double)(ticks + !ticks);
    for (int i = 0; i < GC_PHASE_COUNT; i++) {
        heap->pause.phase_ns[i] = (uint64_t)((double)heap->phase_ticks[i] * ns);
        heap->stats.phase_total_ns[i] += heap->pause.phase_ns[i];
    }
}

/* Announces that a collection begins this phase or, with GC_PHASE_NONE, that it has ended. */
GC__FN void gc__phase_begin(gc_heap *heap, gc_phase phase) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    __atomic_store_n(&heap->phase, (uint32_t)phase, __ATOMIC_SEQ_CST);
    if (phase != GC_PHASE_NONE) gc__phase_count(heap, phase);
    if (profiler && phase == GC_PHASE_NONE) profiler->ended(heap);
    if (profiler && phase != GC_PHASE_NONE) profiler->phase(heap, phase);
}

GC__FN void gc__traced_note(gc_heap *heap, int generation) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (profiler) profiler->traced(heap, generation);
}
