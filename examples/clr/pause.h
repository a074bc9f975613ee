/* Collections: how the runtime is stopped, what it is asked, and what it is told. */
#pragma once

#include "collector.h"
#include "interface.h"

/* Sets the callbacks among the heap's options. */
void pause_set_hooks(gc_options *options);

/* Whether a collection runs. */
bool pause_is_running(void);
/* Whether it has objects in two places, perhaps. */
bool pause_is_tracing(void);
int pause_generation(void);
/* Whether the object was reached by the collection that runs, or is none that it may free. */
bool pause_has_reached(uintptr_t object);
/* Collections of this generation or an older one. */
uint64_t pause_count(int generation);

/* The runtime's event for threads that wait for the end of a suspension. */
void pause_set_event(bool set);
void pause_await(void);
extern bool pause_in_progress; /* the runtime says so */

typedef struct pause_record {
    gc_stats stats;
    uint64_t number, began_ns, ended_ns, pause_ns, total_ns; /* began_ns and ended_ns by settings_clock_ns */
    uint64_t before_bytes[GC_GENERATIONS], before_fragmentation_bytes, given_bytes; /* to threads, until then */
    int generation;
    unsigned percent; /* of the time since the collection before */
    bool compacted, concurrent;
    size_t finalizers;
} pause_record;
/* The last collection; kind 1: of the young generations, 2: a full one that stopped the program, 3: one that ended a marking
   beside it. */
pause_record pause_last(int kind);
