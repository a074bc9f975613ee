/* Handles: weak, strong, pinned; created, set, destroyed; many of them. */
#include "../fixture.h"

static void kinds(void) {
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, NULL), strong = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    ok(weak && strong && !gc_handle_get(weak) && !gc_handle_get(strong), "handles of nothing");
    gc_handle_set(strong, new_node(1));
    gc_handle_set(weak, gc_handle_get(strong));
    for (int i = 0; i < 4; i++) {
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
        is(((node *)gc_handle_get(strong))->value, 1, "a strong handle keeps, %d", i);
        ok(gc_handle_get(weak) == gc_handle_get(strong), "a weak one follows, %d", i);
    }
    gc_handle_set(strong, new_node(2));
    ok(gc_handle_get(weak) != gc_handle_get(strong), "handles can be set");
    gc_collect(heap, 0, 0);
    is(((node *)gc_handle_get(weak))->value, 1, "a young collection leaves weak handles to the old alone");
    is(((node *)gc_handle_get(strong))->value, 2, "an old handle keeps a young object");
    full();
    ok(!gc_handle_get(weak), "a weak handle is cleared when its object dies");
    gc_handle_set(weak, new_node(3));
    gc_collect(heap, 0, 0);
    ok(!gc_handle_get(weak), "a young death clears an old weak handle");
    gc_handle_destroy(heap, strong);
    gc_handle_destroy(heap, weak);
    gc_handle_destroy(heap, NULL);
    full();
    ok(stats().live_bytes < 100, "destroyed handles keep nothing");
    static node outside;
    strong = gc_handle_create(heap, GC_HANDLE_STRONG, &outside), weak = gc_handle_create(heap, GC_HANDLE_WEAK, &outside);
    full();
    ok(gc_handle_get(strong) == &outside && gc_handle_get(weak) == &outside, "handles of what is on no heap");
}

/* Nobody holds ref-counted handles here. */
static bool keeps(size_t i) { return i % GC_HANDLE_KINDS == GC_HANDLE_STRONG || i % GC_HANDLE_KINDS == GC_HANDLE_PINNED; }

static void many(void) {
    enum { COUNT = 30000 };
    static gc_handle handles[COUNT];
    static uint64_t expected[COUNT];
    int wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        handles[i] = gc_handle_create(heap, (gc_handle_kind)(i % GC_HANDLE_KINDS), new_node(i));
        expected[i] = i;
        wrong += !handles[i];
    }
    for (int round = 0; round < 6; round++) {
        for (size_t k = 0; k < COUNT / 3; k++) {
            size_t i = random_bits() % COUNT;
            if (k % 3 == 0) gc_handle_destroy(heap, handles[i]), handles[i] = gc_handle_create(heap, (gc_handle_kind)(i % GC_HANDLE_KINDS), new_node(k));
            else gc_handle_set(handles[i], new_node(k));
            expected[i] = k;
        }
        if (round == 5) compact();
        else gc_collect(heap, round % 3, 0);
        for (size_t i = 0; i < COUNT; i++) {
            node *n = gc_handle_get(handles[i]);
            if (!keeps(i)) wrong += n && n->value != expected[i];
            else wrong += !n || n->value != expected[i];
        }
    }
    full(), full();
    for (size_t i = 0; i < COUNT; i++) wrong += !keeps(i) && gc_handle_get(handles[i]) != NULL;
    for (size_t i = 0; i < COUNT; i++) gc_handle_destroy(heap, handles[i]);
    is(wrong, 0, "many handles of all kinds");
    full(), full();
    ok(stats().live_bytes < 1000, "and nothing stays: %zu bytes", stats().live_bytes);
}

static void keep_alive(void) {
    node *n = new_node(1);
    gc_keep_alive(n);
    ok(true, "gc_keep_alive");
}

int main(void) {
    run(kinds, (gc_options){0});
    run(kinds, (gc_options){.non_moving = true});
    run(many, (gc_options){0});
    run(many, (gc_options){.non_generational = true});
    run(keep_alive, (gc_options){0});
    return done();
}
