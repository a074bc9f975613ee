/* What the C tests share: a heap, its thread, some types, and questions to ask of objects. */
#pragma once

#include "tap.h"

#include "gc.h"

typedef struct node {
    gc_object header;
    struct node *left, *right;
    uint64_t value;
} node;

typedef struct vector {
    gc_array header;
    void *items[];
} vector;

typedef struct bytes {
    gc_array header;
    unsigned char items[];
} bytes;

static const gc_type node_type __attribute__((unused)) = GC_TYPE(node, left, right);
static const gc_type vector_type __attribute__((unused)) = GC_TYPE_ARRAY(vector, items);
static const gc_type bytes_type __attribute__((unused)) = GC_TYPE_ARRAY_LEAF(bytes, items);

static gc_heap *heap;
static gc_thread *gc;

static inline void begin(const gc_options *options) {
    heap = gc_heap_create(options);
    gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) {
        printf("Bail out! %s\n", gc_last_message());
        exit(2);
    }
}

/* The same with each collection checked, if the collector can. */
static inline void begin_verified(gc_options options) {
    options.debug.verify = GC_DIAGNOSTICS ? GC_VERIFY_BEFORE | GC_VERIFY_AFTER : 0;
    options.debug.checkmark = GC_DIAGNOSTICS;
    begin(&options);
}

static inline void end(void) {
    gc_heap_destroy(heap);
    heap = NULL, gc = NULL;
}

/* Whether the collector was compiled with what the options ask for. */
static inline bool collector_has(const gc_options *options) {
    bool concurrent = options->concurrent == GC_CONCURRENT_ON || options->test.marker_steps;
    bool many = options->collector_threads > 1 || options->test.collectors;
    return (GC_DIAGNOSTICS || !options->debug.stress) && (GC_CONCURRENT || !concurrent) && (GC_COLLECTOR_THREADS_MAX > 1 || !many);
}

/* Runs a test, whose frames are left before its heap goes, unless the collector was compiled without what it is about. `make quick`
   has no time for a collection at every allocation. */
static inline void run(void (*test)(void), gc_options options) {
    if (!collector_has(&options) || (options.debug.stress && is_quick())) return;
    begin_verified(options);
    test();
    end();
}

static inline node *new_node(uint64_t value) {
    node *object = gc_new(gc, &node_type);
    if (object) object->value = value;
    return object;
}

static inline vector *new_vector(size_t length) { return gc_new_array(gc, &vector_type, length); }
static inline bytes *new_bytes(size_t length) { return gc_new_array(gc, &bytes_type, length); }
static inline void full(void) { gc_collect(heap, 2, GC_COLLECT_BLOCKING); }
static inline void compact(void) { gc_collect(heap, 2, GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING); }

static inline gc_stats stats(void) {
    gc_stats result;
    gc_heap_stats(heap, &result);
    return result;
}

/* A cheap, repeatable source of numbers. */
static inline uint64_t random_bits(void) {
    static uint64_t x = 88172645463325252;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

/* Collects until `slot`'s object, which must be in a root, is in `generation`. */
static inline void age(void *slot, int generation) {
    for (int i = 0; i < 5 && gc_object_generation(*(void **)slot) < generation; i++)
        gc_collect(heap, gc_object_generation(*(void **)slot), GC_COLLECT_BLOCKING);
}
