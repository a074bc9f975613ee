/* Pauses: the longest ones, where their time went, and why. */
#pragma once

#include "heap.h"

#define GC_PAUSES_KEPT 10

/* Where a concurrent cycle has given up. Its final mark then comes at once, and traces what is left while the program is stopped;
   or, where that is said, a full collection takes the place of the cycle. X(NAME, text). */
#define GC_DEGENERATIONS(X)                                                                                     \
    X(GC_DEGENERATED_NOT, "")                                                                                   \
    X(GC_DEGENERATED_GROWTH, "the heap had grown to its bound before all was marked")                           \
    X(GC_DEGENERATED_LIMIT, "an allocation met the limit before all was marked")                                \
    X(GC_DEGENERATED_REQUEST, "its end was asked for before all was marked")                                    \
    X(GC_DEGENERATED_THREAD, "there was no thread to mark")                                                     \
    X(GC_DEGENERATED_BARRIER, "the barrier was switched, so stores were missed: a full collection")             \
    X(GC_DEGENERATED_HOLES, "the heap held much more than its goal, most of the excess in holes: a full collection")

typedef enum gc_degenerated {
#define GC__DEGENERATED_NAME(name, text) name,
    GC_DEGENERATIONS(GC__DEGENERATED_NAME)
#undef GC__DEGENERATED_NAME
} gc_degenerated;

/* A pause for a collection: where its time went, and what there was to do. */
typedef struct gc_pause {
    uint64_t number;   /* of the collection */
    uint64_t began_ns; /* since the heap was created */
    uint64_t ns;       /* its length, all of the following but cpu_ns included; the rest are hooks at its end */
    uint64_t help_ns;  /* first, that thread has waited for the marking beside it, since it allocates faster than is marked */
    uint64_t stop_ns;  /* until all threads had stopped */
    uint64_t slowest_ns;               /* until the last of them had, if gc.h has stopped them */
    uint64_t marker_ns;                /* until the thread that marks concurrently rested */
    uint64_t phase_ns[GC_PHASE_COUNT]; /* in each phase of the collection */
    uint64_t wake_ns; /* until the thread that marks was woken */
    uint64_t cpu_ns;  /* CPU time of the thread that collects, in all phases; 0: not known. Less than theirs: it did not run */
    char slowest[32];                  /* the name of the thread that was the last to stop; "": none */
    gc_reason reason;
    int generation;          /* the oldest condemned one */
    bool compacting;         /* everything that could move was to be moved */
    bool concurrent;         /* it has ended a concurrent cycle */
    bool concurrent_begun;   /* it has begun one */
    gc_degenerated degenerated; /* why it has ended a marking too early, or stopped the program for one */
    size_t roots;            /* slots that were roots */
    size_t pins;             /* roots that pin their objects, conservative words among them */
    size_t dirty_cards;      /* of generations that were not condemned */
    size_t remembered_slots; /* of generation 2, instead of more cards */
    size_t condemned_bytes;  /* of objects that might have died */
    size_t survived_bytes;   /* the part that has not */
    size_t moved_bytes;      /* the part of that which was copied */
    size_t regions;          /* condemned */
    size_t trace_calls;      /* of trace functions */
    size_t ambiguous;         /* objects that only conservative words have found */
    size_t finalizers;       /* that have become due */
    size_t finalizers_left;  /* of objects that are most likely dead, which are looked at after the pause */
    size_t left_objects;     /* that the marker, or this collection, had found and nobody scanned when the marking ended */
    size_t waiting_objects;  /* whose trace functions waited for the end of the marking */
    size_t stored_objects;   /* that barriers (of several collector threads, they, too) have noted since the collection before */
    size_t held_bytes;       /* in use when it began, holes included, and off the heap */
    size_t goal_bytes;       /* what should be in use at most */
} gc_pause;

/* Copies the longest pauses of the heap, at most GC_PAUSES_KEPT of them, to `longest`, which has room for `count`: the
   longest first. Returns how many. forget: they are not told again, and gc_stats.utilisation begins anew, so that regular
   calls tell of the time between: ask for the statistics first. `longest` must not be NULL, even if `count` is 0: then nothing
   is forgotten. A safe point, as gc_heap_stats is. [cooperative; may wait; 0: GC_ERROR_ARGUMENT] */
GC_API size_t gc_heap_pauses(gc_heap *heap, gc_pause *longest, size_t count, bool forget);
/* Writes why the pause was as long as it was, in words: "12,044 dirty cards, 3.1 MiB survived". The text ends with 0 if
   `bytes` is not 0. Returns its length, as snprintf does. [any thread; never collects; cannot fail] */
GC_API size_t gc_pause_explain(const gc_pause *pause, char *text, size_t bytes);
/* A readable report: the histogram of pauses, the least share of any 1, 10 and 100 ms that they left to the program, and the
   longest ones with their phases and reasons. It is a safe point, as gc_heap_print_stats is. [cooperative; may wait; cannot
   fail] */
GC_API void gc_heap_print_pauses(gc_heap *heap, FILE *file);
