/* For test_marking.c: objects that are born in generation 2. */
#pragma once

#include "../fixture.h"

/* Objects are born old after every other collection: those that follow will be, or will not. */
static void be_born(bool old) {
    if ((heap->collection.number % 2 != 0) != old) gc_collect(heap, 0, GC_COLLECT_BLOCKING);
}

static void objects_are_born_old(void) {
    vector *young = NULL;
    node *first = NULL;
    GC_ROOTS(gc, young, first);
    full();
    be_born(false);
    young = new_vector(4);
    is(gc_object_generation(young), 0, "an object is born young");
    full();
    full();
    be_born(true);
    uint64_t before = heap->collection.number;
    first = new_node(1);
    void *place = first;
    first->left = new_node(2);
    gc_store(gc, &young->items[0], new_node(3));
    gc_handle dead = gc_handle_create(heap, GC_HANDLE_WEAK, new_node(4));
    is(gc_object_generation(first) + gc_object_generation(young->items[0]), 4, "or old");
    size_t bytes = stats().generation_bytes[2];
    ok(gc_heap_verify(heap), "and is found before a collection");
    for (int i = 0; i < 100; i++) new_node(5);
    is(stats().generation_bytes[2], bytes + 100 * sizeof(node), "its bytes are counted there");
    is(heap->collection.number, before, "and nothing was collected");
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    ok(first == place && gc_handle_get(dead), "a collection of young objects leaves it alone");
    be_born(true);
    gc_store(gc, &first->right, new_node(6));
    full();
    ok(!gc_handle_get(dead), "a full one frees what is dead");
    is(first->value + first->left->value + first->right->value + ((node *)young->items[0])->value, 12, "and nothing else");
    gc_handle_destroy(heap, dead);
}

/* A large hole, with another one behind it. */
static void born_in_all_of_a_hole(void) {
    enum { COUNT = 3000 };
    vector *all = NULL;
    GC_ROOTS(gc, all);
    full();
    be_born(false);
    all = new_vector(COUNT);
    for (size_t i = 0; i < COUNT; i++) gc_store(gc, &all->items[i], new_node(i));
    full(), full();
    for (size_t i = 0; i < COUNT; i++)
        if (i % 1000) gc_store(gc, &all->items[i], NULL);
    full();
    be_born(true);
    char *first = (char *)new_node(0), *at = first;
    size_t count = 1;
    for (char *next; count < 900 && (next = (char *)new_node(0)) == at + sizeof(node); at = next) count++;
    ok(gc_object_generation(first) == 2 && count == 900, "objects are born next to each other in a hole of 31 KiB: %zu", count);
    all = NULL;
    full();
}

/* An object that is born old may refer to a young one by a store that initialized it, which had no barrier. */
static void born_refer_to_young(void) {
    node *young = NULL, *old = NULL;
    GC_ROOTS(gc, young, old);
    full();
    be_born(false);
    young = new_node(1);
    be_born(true);
    int generation = gc_object_generation(young);
    old = new_node(2);
    old->left = young;
    young = NULL;
    is(generation + gc_object_generation(old), 3, "an old object is born that refers to a young one");
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    ok(old->left->value == 1 && gc_object_generation(old->left) == 2, "which a collection finds");
    ok(gc_heap_verify(heap), "and all is in order");
}

/* They are born into the holes of old regions, by size. */
static void holes_are_born_into(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = hold_many(HELD);
    full();
    full();
    for (size_t at = 0; at < HELD; at++)
        if (at % 4) gc_store(gc, &held->items[at], NULL);
    begin_marking();
    mark_all();
    finish();
    be_born(true);
    const gc__region *first = heap->regions[2];
    size_t count = 0;
    heap->old_unlisted = heap->regions[2];
    for (; count < HELD / 4; count++) gc_store(gc, &held->items[4 * count + 1], new_node(count));
    ok(heap->regions[2] == first, "objects are born in holes, and no fresh region is taken");
    full();
    size_t same = 0;
    for (size_t at = 0; at < count; at++) same += ((node *)held->items[4 * at + 1])->value == at;
    is(same, count, "and survive");
    ok(gc_heap_verify(heap), "and all is in order");
}

/* While objects are marked: the marker meets an object that its thread still initializes, and passes over it. What only a
   weak handle led to when the marking began is known to that object alone. */
static void born_while_marking(void) {
    node *first = NULL, *born = NULL;
    GC_ROOTS(gc, first, born);
    be_born(false);
    born = new_node(1);
    for (size_t i = 0; i < 100; i++) {
        node *n = new_node(i);
        n->left = first;
        first = n;
    }
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, born);
    full();
    full();
    born = NULL;
    be_born(true);
    for (size_t i = 0; i < 3; i++) new_node(i); /* which leaves a window open */
    begin_marking();
    be_born(true);
    node *last = first;
    while (last->left) last = last->left;
    born = new_node(2);
    is(gc_object_generation(born), 2, "while objects are marked they are born old");
    gc_store(gc, &last->right, born);
    ok(!is_marked(last), "one is stored into an object that the marker has not scanned");
    mark_all();
    ok(!is_marked(born) && !gc__shade_is_object((uintptr_t)born), "the marker passes over an object before it is complete");
    born->left = gc_handle_get(weak);
    stats(); /* stops */
    ok(is_marked(born) && is_known(born->left), "when its thread stops, it is marked, and what it refers to is known");
    born = NULL;
    mark_all();
    finish();
    for (last = first; last->left;) last = last->left;
    born = last->right;
    ok(born->value == 2 && born->left && born->left->value == 1, "both survive");
    ok(gc_handle_get(weak) == born->left, "under one address");
    ok(gc_heap_verify(heap), "and all is in order");
    gc_handle_destroy(heap, weak);
}

/* Objects with trace functions are left to the marker; those that nobody refers to live until the next cycle ends. */
static void born_are_counted(void) {
    traced *first = NULL;
    GC_ROOTS(gc, first);
    full();
    begin_marking();
    be_born(true);
    size_t before = stats().generation_bytes[2];
    first = gc_new(gc, &traced_type);
    first->next = gc_new(gc, &traced_type);
    for (size_t i = 0; i < 10; i++) new_node(i);
    is(stats().generation_bytes[2] - before, 2 * sizeof(traced) + 10 * sizeof(node), "all bytes are counted");
    ok(!is_marked(first) && is_known(first) && is_known(first->next), "an object with a trace function is noted for the marker");
    mark_all();
    finish();
    is(heap->regions[2]->live_bytes, gc__marked_object_bytes(heap->regions[2]), "their region's bytes are exact");
    ok(!((traced *)first->next)->next && gc_heap_verify(heap), "and all is in order");
    full();
    is(stats().generation_bytes[2], before + 2 * sizeof(traced), "the others are freed");
}

/* How much was born old before a nursery was traced is no measure where the heap has become small. */
static void born_in_a_smaller_heap(void) {
    full();
    begin_marking();
    mark_all();
    heap->pace->born_bytes = (size_t)1 << 40;
    finish();
    ok(heap->born_left <= gc__growth_due(heap) / GC__BORN_PART, "after a cycle %zu bytes are born old at most", heap->born_left);
    ok(heap->born_left > 0, "and some");
}

/* An array that is born old grows, also after it has become known. */
static void born_arrays_grow(void) {
    vector *array = NULL;
    GC_ROOTS(gc, array);
    full();
    be_born(true);
    array = new_vector(4);
    for (size_t length = 6; length <= 40; length += 2) {
        if (length % 4) stats();
        if (!gc_array_grow(gc, array, length)) break;
        array->items[length - 1] = NULL;
    }
    is(gc__object_length((uintptr_t)array), 40, "an array that was born old grows");
    gc_store(gc, &array->items[39], new_node(7));
    ok(gc_heap_verify(heap), "and all is in order");
    full();
    is(((node *)array->items[39])->value, 7, "with what was stored");
}
