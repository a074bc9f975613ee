/* The process or core file that is inspected, and what commands ask of one of its heaps. */
#pragma once

#include "dominators.h"
#include "gc_dac.h"

/* A type, and what a pass over the objects has counted. Types that are unknown share one. */
typedef struct type_count {
    const gc_dac_type *type; /* NULL: the unknown one */
    const char *name;        /* the host's, or that of the type */
    uint32_t index;
    uint64_t objects, bytes;
} type_count;

typedef struct inspected {
    gc_dac *dac;
    const char *name; /* as the user has given it */
    const char *root; /* folder of the program's files; NULL: "/" */
    bool is_process;
    gc_dac_heap *heaps;
    size_t heaps_count, heaps_capacity;
    type_count **types; /* by index */
    size_t types_count, types_capacity;
    bool has_listed; /* `objects` has found one */
    uint64_t opened_ns;
} inspected;

typedef struct target_options {
    const char *root; /* folder of the program's files; NULL: "/" */
    bool running;     /* a process is not stopped */
} target_options;

/* Opens a process, if the name is a number, or a core file, and lists its heaps; ends the program if there is none to inspect. */
void target_open(inspected *target, const char *name, const target_options *options);
/* Lets a process go on. Returns for how many nanoseconds it was stopped; 0: it was not. */
uint64_t target_close(inspected *target);
/* The system's monotonic clock. */
uint64_t target_now_ns(void);
/* How long ago that was by it; 0: a clock that runs ahead, as those of other containers may, has shown it. */
uint64_t target_ns_since(uint64_t earlier_ns);
/* Notes the reader's message, if a call has failed. */
void target_check(const inspected *target, bool complete);
/* The record of an object's type. */
type_count *target_type(inspected *target, const gc_dac_type *type);

/* Whether there may be references to regions whose objects are not listed, and cards are in the midst of a change. */
bool heap_is_collecting(const gc_dac_heap *heap);

/* One heap, as a graph of objects. */
typedef struct heap_graph {
    inspected *target;
    const gc_dac_heap *heap;
    object_set objects;
    uint64_t bytes;
    uint32_t *roots; /* objects to which roots refer; those that certainly do come first */
    size_t roots_count, roots_capacity, roots_certain;
    struct dependent *dependents; /* by ascending keys */
    size_t dependents_count, dependents_capacity;
    uint64_t *referred;  /* by object: a bit, whether another object refers to it; graph_edges makes it */
    uint64_t bad;        /* references to what is no object */
    uint64_t guessed;    /* references that were guessed */
    uint64_t bad_holder; /* the first object that has one */
} heap_graph;

typedef struct dependent {
    uint64_t handle;
    uint32_t key, value;
} dependent;

/* Numbers the objects of the heap. */
void graph_objects(heap_graph *graph, inspected *target, const gc_dac_heap *heap);
/* Lists roots and dependent handles. */
void graph_roots(heap_graph *graph);
/* The references between objects; a dependent handle counts as one from its object to the dependent. */
edge_store graph_edges(heap_graph *graph);
/* A graph_walk of a heap_graph. */
void graph_walk_edges(void *graph, graph_sink *sink, void *context);
/* The object that covers the address, exactly or not; OBJECT_NONE: none does. */
uint32_t graph_object_at(const heap_graph *graph, uint64_t address);
void graph_free(heap_graph *graph);
