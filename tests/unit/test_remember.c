/* Slots of old objects that are remembered instead of their cards. Every collection is verified, and checked by a second
   mark. */
#define _GNU_SOURCE
#include "gc.h"

#include "../fixture.h"

#include <pthread.h>
#include <string.h>

/* There is no thread that marks, and slots are remembered from the first card on. */
#define TESTED {.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .nursery_bytes = 4 << 20}
#define MOST 64512 /* slots in the buffer */

static vector *all;

static uint64_t remembered(void) { return stats().remembered_slots; }

/* An old vector; and a first young object in it, for which a card was scanned. */
static void old_vector(size_t length) {
    all = new_vector(length);
    age(&all, 2);
    gc_store(gc, &all->items[0], new_node(0));
    gc_collect(heap, 0, 0);
    full(); /* that node is old, too, and no card is dirty */
}

static bool holds(size_t index, uint64_t value) {
    const node *n = (const node *)all->items[index];
    return n && n->value == value;
}

static size_t count_wrong(size_t length) {
    size_t wrong = 0;
    for (size_t i = 0; i < length; i++) wrong += !holds(i, i);
    return wrong;
}

typedef void store_form(void **slot, void *ref);
static void by_gc_store(void **slot, void *ref) { gc_store(gc, slot, ref); }
static void by_gc_store_value(void **slot, void *ref) { gc_store_value(gc, slot, (uintptr_t)ref); }
static void by_copy(void **slot, void *ref) { gc_copy_refs(gc, slot, &ref, 1); }
static void by_copy_values(void **slot, void *ref) { gc_copy_values(gc, slot, &ref, 1); }
static void by_stores(void **slot, void *ref) {
    gc_stores_begin(gc, slot, 1, 0);
    *slot = ref;
    gc_stores_end(gc, slot, 1, 0);
}

static void each_form(void) {
    static store_form *const forms[] = {by_gc_store, by_gc_store_value, by_copy, by_copy_values, by_stores};
    const size_t length = 3 * GC_REGION_BYTES / 8, count = 500;
    GC_ROOTS(gc, all);
    old_vector(length);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        uint64_t before = remembered();
        for (size_t i = 0; i < count; i++) {
            size_t index = (f * count + i) * 37 % length;
            forms[f](&all->items[index], new_node(index));
        }
        for (int generation = 0; generation < 2; generation++) {
            gc_collect(heap, generation, 0);
            size_t wrong = 0;
            for (size_t i = 0; i < count; i++) wrong += !holds((f * count + i) * 37 % length, (f * count + i) * 37 % length);
            is((long long)wrong, 0, "form %zu: every slot leads to its object in a collection of generation %d", f, generation);
        }
        is((long long)(remembered() - before), (long long)count, "form %zu: each store is remembered", f);
    }
}

static void list_is_full(void) {
    const size_t length = MOST + 5000;
    GC_ROOTS(gc, all);
    old_vector(length);
    uint64_t before = remembered(), young = stats().collections[0] + stats().collections[1];
    for (size_t i = 0; i < length; i++) gc_store(gc, &all->items[i], new_node(i));
    is((long long)(stats().collections[0] + stats().collections[1] - young), 0, "no collection runs before the buffer is full");
    gc_collect(heap, 0, 0);
    is((long long)(remembered() - before), MOST, "as many slots are remembered as the buffer takes");
    is((long long)count_wrong(length), 0, "the others have cards");
    gc_collect(heap, 1, 0);
    is((long long)count_wrong(length), 0, "that are dirty as long as they are needed");
}

/* Its trace function would be called for each slot. */
typedef struct wide {
    gc_object header;
    void *slots[600];
} wide;
static size_t traces;
static void trace_wide(void *object, gc_visitor *visitor) {
    traces++;
    gc_visit(visitor, ((wide *)object)->slots, 600, 0);
}

static void trace_functions(void) {
    static const gc_type wide_type = {.name = "wide", .bytes = sizeof(wide), .trace = trace_wide};
    wide *object = NULL;
    GC_ROOTS(gc, all, object);
    old_vector(8);
    object = gc_new(gc, &wide_type);
    age(&object, 2);
    gc_store(gc, &all->items[0], new_node(0));
    for (int generation = 0; generation < 2; generation++) {
        for (size_t i = 0; i < 600; i++) gc_store(gc, &object->slots[i], new_node(i));
        gc_collect(heap, generation, GC_COLLECT_BLOCKING);
        size_t wrong = 0;
        for (size_t i = 0; i < 600; i++) wrong += ((node *)object->slots[i])->value != i;
        is((long long)wrong, 0, "slots of an object with a trace function lead to their objects, generation %d", generation);
    }
    traces = 0;
    for (size_t i = 0; i < 600; i++) gc_store(gc, &object->slots[i], new_node(i));
    gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    ok(traces < 200, "it is called for each card, not for each slot: %zu times with all checks", traces);
}

static void few(void) {
    GC_ROOTS(gc, all);
    old_vector(4000);
    for (size_t i = 0; i < 1000; i++) gc_store(gc, &all->items[i], new_node(i));
    gc_collect(heap, 0, 0);
    uint64_t before = remembered();
    ok(before >= 1000, "slots are remembered");
    full();
    for (int i = 0; i < 10; i++) gc_collect(heap, 0, 0);
    gc_store(gc, &all->items[1], new_node(1));
    gc_collect(heap, 0, 0);
    is((long long)(remembered() - before), 0, "where few slots are found, they are remembered by cards again");
    gc_store(gc, &all->items[2], new_node(2));
    gc_collect(heap, 0, 0);
    ok(holds(1, 1) && holds(2, 2), "which lose nothing");
}

/* A list is gone with its heap. */
static void another_life(void) {
    for (int life = 0; life < 3; life++) {
        begin_verified((gc_options)TESTED);
        {
            GC_ROOTS(gc, all);
            old_vector(100);
            for (size_t i = 0; i < 100; i++) gc_store(gc, &all->items[i], new_node(i));
            if (life) gc_collect(heap, 0, 0);
            if (life) is((long long)count_wrong(100), 0, "nothing is lost in life %d", life);
        }
        end();
    }
}

/* What was in the list before is not looked at again. */
static void stale_slots(void) {
    vector *gone = NULL;
    GC_ROOTS(gc, all, gone);
    old_vector(100);
    gone = new_vector(5 * GC_REGION_BYTES / 8);
    age(&gone, 2);
    for (size_t i = 0; i < 64; i++) gc_store(gc, &gone->items[i * (GC_REGION_BYTES / 8 / 16)], new_node(i));
    gc_collect(heap, 0, 0);
    gone = NULL;
    full();
    for (int i = 0; i < 20000; i++) new_node(0);
    gc_store(gc, &all->items[7], new_node(7));
    gc_collect(heap, 0, 0);
    ok(holds(7, 7), "a slot is found among those of objects that are gone");
}

/* One thread stores to two heaps in turn. */
static void two_heaps(void) {
    const gc_options tested = TESTED;
    gc_heap *heaps[2];
    gc_thread *threads[2];
    vector *vectors[2] = {NULL, NULL};
    for (int h = 0; h < 2; h++) {
        begin_verified(tested);
        heaps[h] = heap, threads[h] = gc;
        gc_roots_add(heap, &vectors[h], 1, 0);
        {
            GC_ROOTS(gc, all);
            old_vector(1000);
            vectors[h] = all;
        }
        all = NULL;
    }
    for (size_t i = 0; i < 1000; i++)
        for (int h = 0; h < 2; h++) {
            heap = heaps[h], gc = threads[h];
            gc_store(gc, &vectors[h]->items[i], new_node(i));
        }
    for (int h = 0; h < 2; h++) {
        heap = heaps[h], gc = threads[h];
        gc_collect(heap, 0, 0);
        all = vectors[h];
        is((long long)count_wrong(1000), 0, "heap %d has lost nothing", h);
        gc_roots_remove(heap, &vectors[h]);
        end();
    }
}

#define THREADS 4
#define EACH 5000
static void *store_part(void *number) {
    gc_thread *self = gc_thread_attach(heap);
    size_t from = (size_t)(uintptr_t)number * EACH;
    for (int round = 0; round < 10; round++)
        for (size_t i = from; i < from + EACH; i++) {
            node *n = gc_new(self, &node_type);
            n->value = i;
            gc_store(self, &all->items[i], n);
            gc_safepoint(self);
        }
    gc_thread_detach(self);
    return NULL;
}

static void several_threads(void) {
    pthread_t threads[THREADS];
    GC_ROOTS(gc, all);
    old_vector(THREADS * EACH);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, store_part, (void *)i);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    gc_collect(heap, 0, 0);
    is((long long)count_wrong(THREADS * EACH), 0, "threads that store beside each other lose nothing");
    ok(remembered() > 0, "and remember slots: %llu", (unsigned long long)remembered());
}

/* A check puts the list in order. */
static void verified_meanwhile(void) {
    GC_ROOTS(gc, all);
    old_vector(1000);
    for (size_t i = 1000; i-- > 500;) gc_store(gc, &all->items[i], new_node(i));
    gc_heap_verify(heap);
    for (size_t i = 500; i-- > 0;) gc_store(gc, &all->items[i], new_node(i));
    gc_collect(heap, 0, 0);
    is((long long)count_wrong(1000), 0, "what was remembered before a check is found after it");
}

static void forget(void *nothing) {
    (void)nothing;
    begin_verified((gc_options)TESTED);
    GC_ROOTS(gc, all);
    old_vector(1000);
    gc_store(gc, &all->items[700], new_node(700));
    all->items[701] = new_node(701);
    gc_collect(heap, 0, 0);
}

/* A reference that two collections have made stale. */
static void store_stale(void *marking) {
    gc_options options = TESTED;
    options.debug.stress = GC_STRESS_NTH, options.debug.stress_interval = 1u << 30;
    begin(&options);
    GC_ROOTS(gc, all);
    old_vector(1000);
    node *lost = new_node(1);
    gc_collect(heap, 0, 0);
    if (marking) gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    printf("age 0x%x\n", gc__tables.age[(uintptr_t)all >> GC_REGION_SHIFT]);
    fflush(stdout);
    gc_store(gc, &all->items[700], lost); /* the mistake */
}

static void stale_stores(void) {
    static char output[16384];
    for (int marking = 0; marking < 2; marking++) {
        int status = tap_child(store_stale, marking ? output : NULL, output, sizeof output);
        is(status, 256 + SIGABRT, "a stale reference that is stored into an object whose slots are remembered ends the program");
        has(output, marking ? "age 0xe" : "age 0xd2", "such was the heap");
        has(output, "stored a reference to a `node`", "the store is reported");
    }
}

static void forgotten_barriers(void) {
    char output[2000];
    int status = tap_child(forget, NULL, output, sizeof output);
    is(status, 256 + SIGABRT, "a store without a barrier ends the program");
    ok(strstr(output, "missing write barrier") != NULL, "even beside a slot that is remembered");
}

int main(void) {
    gc_options crew = TESTED, scarce = TESTED;
    crew.collector_threads = 3, crew.test.collectors = 7;
    scarce.test.scarce_memory = true;
    static void (*const tests[])(void) = {each_form, list_is_full, trace_functions, few, stale_slots, verified_meanwhile};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        run(tests[i], (gc_options)TESTED);
        run(tests[i], scarce);
        run(tests[i], crew);
    }
    another_life();
    two_heaps();
    run(several_threads, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .nursery_bytes = 256 << 10});
    forgotten_barriers();
    stale_stores();
    return done();
}
