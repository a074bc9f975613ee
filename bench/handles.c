/* Handles and finalizers: what each operation costs, the best of several rounds, and the pause that many handles make, the
   median of several. `handles [COUNT]` */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 7 };

typedef struct node {
    gc_object header;
    uint64_t value;
} node;
static const gc_type node_type = GC_TYPE_LEAF(node);
static uint64_t finalized;
static void finalize(gc_thread *thread, void *object) {
    (void)thread;
    finalized += ((node *)object)->value;
}
static const gc_finalizer finalizer = {finalize, false, NULL};
static const gc_type finalized_type = GC_TYPE_LEAF_FINALIZED(node, finalizer);

static bool release(intptr_t value) { return value != 0; }
GC_SAFE_HANDLE_KIND(resource, release, gc_safe_handle_invalid_if_zero);

static gc_heap *heap;
static gc_thread *gc;
static gc_handle *handles;
static size_t count = 1000000;
static uint64_t sum;

static int by_time(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The median of several pauses, in us. */
static double pause_us(int generation) {
    uint64_t pauses[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        gc_stats stats;
        gc_collect(heap, generation, 0);
        gc_heap_stats(heap, &stats);
        pauses[i] = stats.pause_last_ns;
    }
    qsort(pauses, ROUNDS, sizeof *pauses, by_time);
    return (double)pauses[ROUNDS / 2] / 1e3;
}

static double last_pause_us(void) {
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    return (double)stats.pause_last_ns / 1e3;
}

/* Measures the statement, `count` times, in each round; keeps the best in ns for each. */
#define BEST(best, statement)                                           \
    do {                                                                \
        uint64_t from_ = gc__os_now_ns();                               \
        for (size_t i = 0; i < count; i++) statement;                   \
        double ns_ = (double)(gc__os_now_ns() - from_) / (double)count; \
        if (best == 0 || ns_ < best) best = ns_;                        \
    } while (0)

static void print(const char *what, double value, const char *unit, const char *target) {
    printf("%-72s %10.1f %s %s\n", what, value, unit, target);
}

static void operations(gc_handle_kind kind, const char *name) {
    double create = 0, destroy = 0, get = 0, set = 0, again = 0;
    char text[100];
    node *n = gc_new(gc, &node_type);
    GC_ROOTS(gc, n);
    for (int round = 0; round < ROUNDS; round++) {
        BEST(create, handles[i] = gc_handle_create(heap, kind, n));
        BEST(get, sum += (uintptr_t)gc_handle_get(handles[i]));
        BEST(set, gc_handle_set(handles[i], n));
        BEST(destroy, gc_handle_destroy(heap, handles[i]));
        BEST(again, gc_handle_destroy(heap, gc_handle_create(heap, kind, n)));
    }
    bool strong = kind == GC_HANDLE_STRONG;
    snprintf(text, sizeof text, "create a %s handle, of %zu", name, count);
    print(text, create, "ns", strong ? "(target 20)" : "");
    print("  destroy it", destroy, "ns", strong ? "(target 25)" : "");
    print("  get", get, "ns", "");
    print("  set", set, "ns", "");
    print("  create and destroy one, again and again", again, "ns", "");
}

static void pauses(void) {
    char text[100];
    print("a young collection of an empty heap", pause_us(0), "us", "");
    for (size_t i = 0; i < count; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_STRONG, gc_new(gc, &node_type));
    gc_collect(heap, 1, 0), gc_collect(heap, 1, 0);
    snprintf(text, sizeof text, "a young collection with %zu strong handles of old objects", count);
    print(text, pause_us(0), "us", "(target 1000)");
    print("  with nothing to do but them, a full one", pause_us(2), "us", "");
    double best = 0, full = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) gc_handle_set(handles[i], NULL);
        gc_collect(heap, 2, 0), gc_collect(heap, 2, 0);
        for (size_t i = 0; i < count; i++) gc_handle_set(handles[i], gc_new(gc, &node_type));
        gc_collect(heap, 0, 0);
        if (best == 0 || last_pause_us() < best) best = last_pause_us();
    }
    snprintf(text, sizeof text, "a young collection with %zu strong handles of young objects", count);
    print(text, best, "us", "");
    print("  for each", best * 1e3 / (double)count, "ns", "");
    for (size_t i = 0; i < count; i++) gc_handle_destroy(heap, handles[i]);
    for (int round = 0; round < ROUNDS; round++) {
        node *first = gc_new(gc, &node_type), *key = first, *next = NULL;
        GC_ROOTS(gc, first, key, next);
        for (size_t i = count; i-- > 0; key = next) {
            next = gc_new(gc, &node_type);
            handles[i] = gc_handle_create_dependent(heap, key, next);
        }
        gc_collect(heap, 2, 0);
        if (full == 0 || last_pause_us() < full) full = last_pause_us();
        for (size_t i = 0; i < count; i++) gc_handle_destroy(heap, handles[i]);
    }
    print("a full collection of a chain of as many dependent handles, for each", full * 1e3 / (double)count, "ns", "");
    gc_collect(heap, 2, 0);
}

static void finalizers(void) {
    double plain = 0, with = 0, new_ = 0, dead = 0, run = 0, live = 0, young = 0;
    for (int round = 0; round < ROUNDS; round++) {
        BEST(plain, gc_new(gc, &node_type));
        gc_collect(heap, 2, 0);
        BEST(with, gc_finalizer_register(gc, gc_new(gc, &node_type), &finalizer));
        gc_collect(heap, 2, 0);
        if (dead == 0 || last_pause_us() < dead) dead = last_pause_us();
        uint64_t from = gc__os_now_ns();
        gc_finalizer_run(gc, SIZE_MAX);
        double ns = (double)(gc__os_now_ns() - from) / (double)count;
        if (run == 0 || ns < run) run = ns;
        gc_collect(heap, 2, 0);
        BEST(new_, gc_new(gc, &finalized_type));
        gc_collect(heap, 2, 0);
        gc_finalizer_run(gc, SIZE_MAX);
        gc_collect(heap, 2, 0);
        for (size_t i = 0; i < count; i++) {
            node *n = gc_new(gc, &finalized_type);
            handles[i] = gc_handle_create(heap, GC_HANDLE_STRONG, n);
        }
        gc_collect(heap, 2, 0);
        live = pause_us(2);
        young = pause_us(0);
        for (size_t i = 0; i < count; i++) gc_handle_destroy(heap, handles[i]);
        gc_collect(heap, 2, 0);
        gc_finalizer_run(gc, SIZE_MAX);
        gc_collect(heap, 2, 0);
    }
    print("gc_new", plain, "ns", "");
    print("gc_new and gc_finalizer_register", with, "ns", "");
    print("gc_new of a type with a finalizer", new_, "ns", "");
    print("a full collection that finds such objects dead, for each", dead * 1e3 / (double)count, "ns", "");
    print("running the finalizer, for each", run, "ns", "");
    print("a full collection of such objects alive (and their handles), for each", live * 1e3 / (double)count, "ns",
          "");
    print("a young collection with as many of them old", young, "us", "");
}

static void safe_handles(void) {
    double create = 0, dispose = 0, call = 0;
    resource r = {NULL};
    GC_ROOTS(gc, r);
    for (int round = 0; round < ROUNDS; round++) {
        BEST(create, r = resource_new(gc, 1, true));
        gc_collect(heap, 2, 0);
        gc_finalizer_run(gc, SIZE_MAX);
        BEST(call, { GC_NATIVE_CALL(gc, r.safe, value) sum += (uint64_t)value; });
        double both = 0;
        BEST(both, {
            r = resource_new(gc, 1, true);
            gc_safe_handle_dispose(gc, r.safe);
        });
        if (dispose == 0 || both < dispose) dispose = both;
        gc_collect(heap, 2, 0);
    }
    print("a new safe handle", create, "ns", "");
    print("  new, and disposed of", dispose, "ns", "");
    print("  a native call with it", call, "ns", "");
}

int main(int argument_count, char **arguments) {
    if (argument_count > 1) count = strtoull(arguments[1], NULL, 10);
    handles = malloc(count * sizeof *handles);
    gc_options options = {.nursery_bytes = (size_t)1 << 30};
    heap = gc_heap_create(&options);
    gc = heap && handles ? gc_thread_attach(heap) : NULL;
    if (!gc) return 1;
    operations(GC_HANDLE_STRONG, "strong");
    operations(GC_HANDLE_WEAK, "weak");
    operations(GC_HANDLE_DEPENDENT, "dependent");
    pauses();
    finalizers();
    safe_handles();
    gc_keep_alive((void *)(uintptr_t)(sum + finalized)); /* so that nothing is computed in vain */
    gc_heap_destroy(heap);
    free(handles);
    return 0;
}
