/* Large objects: own regions, never move, born young, scanned by card, their memory comes back. */
#include "../fixture.h"

static void thresholds(void) {
    vector *keep = new_vector(64);
    GC_ROOTS(gc, keep);
    static const size_t edges[] = {GC_LARGE_BYTES, GC_REGION_BYTES, 2 * GC_REGION_BYTES, 5 * GC_REGION_BYTES};
    size_t n = 0;
    void *where[64];
    for (size_t e = 0; e < 4; e++)
        for (int d = -3; d <= 3; d++, n++) {
            size_t length = edges[e] - sizeof(bytes) + (size_t)(ptrdiff_t)(d * 8);
            bytes *object = new_bytes(length);
            object->items[0] = object->items[length - 1] = (unsigned char)n;
            gc_store(gc, &keep->items[n], object);
            where[n] = keep->items[n];
        }
    int wrong = 0;
    for (int round = 0; round < 4; round++) {
        gc_collect(heap, round % 3, round == 3 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < n; i++) {
            bytes *object = keep->items[i];
            wrong += object->items[0] != i || object->items[object->header.length - 1] != i;
            wrong += gc_object_bytes(object) > GC_LARGE_BYTES && object != where[i];
            void *last = (char *)object + gc_object_bytes(object) - 1;
            wrong += gc_heap_object_at(heap, last) != object ||
                     gc_heap_object_at(heap, (char *)object + gc_object_bytes(object) / 2) != object;
        }
    }
    is(wrong, 0, "sizes around every threshold: contents, place, interior pointers");
}

static void die_young(void) {
    gc_stats before = stats();
    bytes *large = new_bytes(4 * GC_REGION_BYTES);
    is(gc_object_generation(large), 0, "large objects are born in generation 0");
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, large);
    ok(stats().large_bytes >= 4 * GC_REGION_BYTES, "large_bytes");
    gc_collect(heap, 0, 0);
    ok(!gc_handle_get(weak), "and die there");
    is(stats().large_bytes, 0, "and are counted no more");
    for (int i = 0; i < 2000; i++) {
        large = new_bytes(3 * GC_REGION_BYTES);
        large->items[0] = large->items[3 * GC_REGION_BYTES - 1] = 1;
    }
    ok(stats().committed_bytes_peak <= before.committed_bytes_peak + ((size_t)1 << 29), "2000 dead ones need little memory: %zu MiB",
       stats().committed_bytes_peak >> 20);
    large = NULL;
    GC_ROOTS(gc, large);
    large = new_bytes(4 * GC_REGION_BYTES);
    for (int i = 1; i < 3; i++) {
        gc_collect(heap, i - 1, 0);
        is(gc_object_generation(large), i, "large survivors grow older");
    }
    gc_collect(heap, 1, 0);
    ok(gc_object_generation(large) == 2 && large->header.length == 4 * GC_REGION_BYTES, "and stay");
}

static void reference_arrays(void) {
    size_t length = 3 * GC_REGION_BYTES / 8;
    vector *large = new_vector(length);
    GC_ROOTS(gc, large);
    age(&large, 2);
    size_t wrong = 0, step = length / 500 | 1;
    for (int round = 0; round < 8; round++) {
        for (size_t i = (size_t)round; i < length; i += step) {
            node *n = new_node(i);
            gc_store(gc, &large->items[i], n);
        }
        gc_store(gc, &large->items[length - 1], large->items[(size_t)round]);
        gc_collect(heap, round % 2, 0);
        if (round == 5) compact();
        for (size_t i = (size_t)round; i < length - 1; i += step) wrong += ((node *)large->items[i])->value != i;
        wrong += large->items[length - 1] != large->items[round];
    }
    is(wrong, 0, "young referents of a large old array live and are updated");
}

static void memory_comes_back(void) {
    enum { COUNT = 40 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    for (int round = 0; round < 12; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            if ((i + (size_t)round) % 3 == 0) continue;
            bytes *object = new_bytes((1 + (i * 7 + (size_t)round) % 5) * GC_REGION_BYTES / 2 + i);
            if (!ok(object != NULL, "large object %zu of round %d", i, round)) return;
            gc_store(gc, &keep->items[i], object);
        }
    }
    for (size_t i = 0; i < COUNT; i++) gc_store(gc, &keep->items[i], NULL);
    full();
    gc_stats now = stats();
    is(now.large_bytes, 0, "all are freed");
    ok(now.committed_bytes <= now.committed_bytes_peak / 2 || now.committed_bytes < (size_t)16 << 20, "their memory is returned: %zu of %zu", now.committed_bytes, now.committed_bytes_peak);
}

int main(void) {
    gc_options small = {.heap_bytes_max = 300 * GC_REGION_BYTES};
    run(thresholds, (gc_options){0});
    run(thresholds, (gc_options){.non_moving = true});
    run(die_young, (gc_options){0});
    run(reference_arrays, (gc_options){0});
    run(reference_arrays, (gc_options){.test.scarce_memory = true});
    run(memory_comes_back, small);
    return done();
}
