/* Looking at the heap: walk, interior pointers, questions about addresses, gc_heap_verify's count. */
#include "../fixture.h"

static size_t seen, seen_bytes, wrong;
static size_t nodes_by_value[20000];

static bool look(void *context, void *object, size_t bytes, int generation) {
    size_t *limit = context;
    seen++, seen_bytes += bytes;
    wrong += bytes != gc_object_bytes(object) || generation != gc_object_generation(object) || bytes % 8 || bytes < 16;
    wrong += gc_heap_object_at(heap, object) != object || gc_heap_object_at(heap, (char *)object + bytes - 1) != object;
    wrong += gc_heap_object_at(heap, (char *)object + bytes / 2) != object || !gc_heap_contains(heap, object);
    if (((gc_object *)object)->type == &node_type) nodes_by_value[((node *)object)->value]++;
    return !limit || --*limit > 0;
}

static void walk(size_t *limit) {
    seen = seen_bytes = wrong = 0;
    memset(nodes_by_value, 0, sizeof nodes_by_value);
    gc_heap_walk(heap, look, limit);
}

static void walks(void) {
    enum { COUNT = 20000 };
    walk(NULL);
    is(seen, 0, "an empty heap");
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < COUNT; i++) {
        node *n = new_node(i);
        if (i % 3) gc_store(gc, &keep->items[i], n);
        if (i % 100 == 0) {
            bytes *text = new_bytes(i);
            if (i % 300 == 0) gc_store(gc, &keep->items[i], text);
        }
        if (i % 5000 == 4999) gc_collect(heap, (int)(i / 5000 % 3), 0);
    }
    walk(NULL);
    size_t missing = 0, doubled = 0;
    for (size_t i = 0; i < COUNT; i++) missing += i % 3 && nodes_by_value[i] == 0, doubled += nodes_by_value[i] > 1;
    is(missing, 0, "all the living are seen between collections");
    is(doubled, 0, "nothing is seen twice");
    is(wrong, 0, "sizes, generations, interior pointers between collections");

    full();
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    for (int round = 0; round < 3; round++) {
        if (round == 1)
            for (size_t i = 0; i < COUNT; i++)
                if (i % 5 == 0) gc_store(gc, &keep->items[i], NULL);
        if (round) full();
        size_t living = 1, living_bytes = gc_object_bytes(keep);
        for (size_t i = 0; i < COUNT; i++)
            if (keep->items[i]) living++, living_bytes += gc_object_bytes(keep->items[i]);
        walk(NULL);
        is(seen, living, "after a full collection exactly the living are seen, round %d", round);
        is(seen_bytes, living_bytes, "with their sizes, round %d", round);
        is(wrong, 0, "generations and interior pointers, round %d", round);
        is(gc_heap_verify(heap), living, "gc_heap_verify counts the same, round %d", round);
    }
    size_t limit = 10;
    walk(&limit);
    is(seen, 10, "the visitor can stop");
}

static void addresses(void) {
    node *n = new_node(1);
    bytes *large = NULL;
    GC_ROOTS(gc, n, large);
    large = new_bytes(2 * GC_REGION_BYTES);
    static node outside;
    int local;
    const void *not_on_heap[] = {NULL, &outside, &local, (void *)1, (void *)~(uintptr_t)0, (void *)((uintptr_t)1 << 47),
                                 (void *)(((uintptr_t)1 << 47) - 1), heap, gc};
    for (size_t i = 0; i < sizeof not_on_heap / sizeof *not_on_heap; i++) {
        ok(!gc_heap_contains(heap, not_on_heap[i]), "%p is not on the heap", not_on_heap[i]);
        ok(!gc_heap_object_at(heap, not_on_heap[i]), "%p is in no object", not_on_heap[i]);
        if ((uintptr_t)not_on_heap[i] >> 47 == 0)
            is(gc_object_generation(not_on_heap[i]), GC_GENERATIONS, "%p has no generation", not_on_heap[i]);
    }
    for (int i = 0; i < 4; i++) {
        size_t bad = 0;
        for (size_t k = 0; k < sizeof *n; k++) bad += gc_heap_object_at(heap, (char *)n + k) != n;
        for (size_t k = 0; k < 2 * GC_REGION_BYTES; k += 4099)
            bad += gc_heap_object_at(heap, &large->items[k]) != large;
        is(bad, 0, "every byte of an object leads to it, generation %d", gc_object_generation(n));
        ok(gc_heap_object_at(heap, (char *)large + gc_object_bytes(large)) != large, "the byte behind does not");
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
    }
    is(strcmp(gc_object_type_name(n), "node"), 0, "gc_object_type_name");
}

/* A table of the host's whose entries go with their objects: collection_traced sweeps it. */
static node *table[100];
static int dropped, strange;
static void sweep_table(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    strange += gc_collection_find(heap, NULL) != NULL || gc_collection_find(heap, &table) != &table;
    for (int i = 0; i < 100; i++) {
        if (!table[i]) continue;
        table[i] = gc_collection_find(heap, table[i]);
        dropped += !table[i];
    }
}

static void host_tables(void) {
    vector *keep = new_vector(100);
    GC_ROOTS(gc, keep);
    dropped = strange = 0;
    for (size_t i = 0; i < 100; i++) {
        table[i] = new_node(i);
        if (i % 4 == 0) gc_store(gc, &keep->items[i], table[i]);
        if (i == 50) gc_collect(heap, 0, 0);
    }
    for (int round = 0; round < 4; round++) {
        int wrong = 0;
        gc_collect(heap, round % 3, round == 3 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < 100; i++) wrong += i % 4 == 0 ? table[i] != keep->items[i] : round >= 2 && table[i];
        is(wrong, 0, "collection_traced finds what became of objects, round %d", round);
    }
    is(dropped * 10 + strange, 750, "each that died, once");
    memset(table, 0, sizeof table);
}

int main(void) {
    run(host_tables, (gc_options){.collection_traced = sweep_table});
    run(host_tables, (gc_options){.collection_traced = sweep_table, .non_moving = true});
    run(host_tables, (gc_options){.collection_traced = sweep_table, .debug.stress = GC_STRESS_NTH, .debug.stress_interval = 10});
    run(walks, (gc_options){0});
    run(walks, (gc_options){.non_moving = true});
    run(walks, (gc_options){.nursery_bytes = GC_REGION_BYTES, .test.scarce_memory = true});
    run(addresses, (gc_options){0});
    return done();
}
