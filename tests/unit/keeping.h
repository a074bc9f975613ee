/* For test_marking.c: collections that keep a nursery as it is. */
#pragma once

#include "../fixture.h"

/* Every other nursery is kept: the next one will be. */
static void before_nursery(void) {
    if (heap->collection.number % 2) gc_collect(heap, 0, GC_COLLECT_BLOCKING);
}

static void collect_nursery(void) {
    const gc__request spent = gc__request_stopped(1, GC_REASON_NURSERY, false);
    gc__collect(heap, &spent);
}

static void spend_nursery(void) {
    gc__heap_lock(heap);
    collect_nursery();
    gc__heap_unlock(heap);
    ok(heap->cycle->plan->purpose == GC__YOUNG_WHOLESALE, "a nursery is kept");
}

static void nurseries_are_kept(void) {
    vector *old = NULL;
    node *first = NULL;
    bytes *large = NULL;
    GC_ROOTS(gc, old, first, large);
    old = new_vector(4);
    full();
    full();
    before_nursery();
    first = new_node(1);
    first->left = new_node(2);
    gc_store(gc, &old->items[0], new_node(3));
    large = new_bytes(GC_REGION_BYTES);
    gc_handle dead = gc_handle_create(heap, GC_HANDLE_WEAK, new_node(4));
    void *before = first;
    spend_nursery();
    ok(first == before && gc_object_generation(first) == 2, "its objects stay, and are old");
    is(gc_object_generation(first->left), 2, "all of them");
    is(gc_object_generation(large), 2, "large ones, too");
    is(((node *)old->items[0])->value, 3, "those that an old object refers to are as they were");
    is(heap->generation_bytes[1] + heap->nursery_survivor_bytes, 0, "no object is young");
    ok(gc_handle_get(dead) && gc_heap_verify(heap), "what is dead is kept, too");
    gc_store(gc, &first->right, new_node(5));
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    is(first->right->value, 5, "a store into one of them is seen");
    full();
    ok(!gc_handle_get(dead), "a full collection frees what is dead");
    is(first->left->value + first->right->value, 7, "and nothing else");
    gc_handle_destroy(heap, dead);
}

/* The marker reads what was kept: an object that only a weak handle led to when the marking began may be known to a kept one
   alone. The last collection does if the marker has not. */
static void kept_while_marking(void) {
    for (int read = 0; read < 2; read++) {
        node *kept = NULL;
        GC_ROOTS(gc, kept);
        kept = new_node(1);
        gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, kept);
        full();
        full();
        kept = NULL;
        begin_marking();
        mark_all();
        before_nursery();
        kept = new_node(2);
        kept->left = gc_handle_get(weak);
        spend_nursery();
        ok(heap->marking && gc_object_generation(kept) == 2, "the marking goes on");
        if (read) mark_all();
        ok(!read || is_marked(kept->left), "the marker reads what was kept");
        finish();
        ok(kept->left && kept->left->value == 1 && gc_handle_get(weak) == kept->left,
           "what a kept object alone refers to survives");
        ok(gc_heap_verify(heap), "and all is in order");
        gc_handle_destroy(heap, weak);
    }
}

/* A slot that refers to a leaving region is noted by the collection that keeps a nursery, too. */
static void kept_beside_leaving(void) {
    vector *held = NULL, *old = NULL;
    GC_ROOTS(gc, held, old);
    held = hold_many(HELD);
    old = new_vector(HELD);
    full();
    full();
    for (size_t at = 0; at < HELD; at++)
        if (at % 8) gc_store(gc, &held->items[at], NULL);
    full();
    gc__remembering_switch(heap, true);
    begin_marking();
    mark_all();
    before_nursery();
    for (size_t at = 0; at < HELD; at += 8) gc_store(gc, &old->items[at], held->items[at]);
    spend_nursery();
    mark_all();
    finish();
    size_t same = 0;
    for (size_t at = 0; at < HELD; at += 8) same += old->items[at] == held->items[at];
    is(same, HELD / 8, "slots that refer to leaving objects follow them");
    ok(are_whole(held) && gc_heap_verify(heap), "and all is in order");
}

/* A region of few objects that never move is used again while it is young: kept, each nursery would leave another one behind. */
static void sparse_fixed_are_not_kept(void) {
    enum { NODES = 12 * GC_REGION_BYTES / sizeof(node) };
    vector *held = NULL;
    GC_ROOTS(gc, held);
    heap->options.test.wholesale = false;
    for (int has_fixed = 0; has_fixed < 2; has_fixed++) {
        full();
        full();
        __atomic_store_n(&heap->budget_bytes, SIZE_MAX / 2, __ATOMIC_RELAXED); /* all that follows is one nursery */
        held = new_vector(NODES);
        for (size_t at = 0; at < NODES; at++) gc_store(gc, &held->items[at], new_node(1));
        if (has_fixed) gc_store(gc, &held->items[0], gc_new_with(gc, &node_type, 0, GC_NEW_FIXED));
        heap->pace->wholesale_most = 1;
        heap->pace->wholesale_count = 0;
        heap->pace->tenures_at_once = true;
        heap->pace->fills_holes = false;
        heap->pace->tenured_percent = 100;
        gc__heap_lock(heap);
        collect_nursery();
        gc__heap_unlock(heap);
        is(heap->cycle->plan->purpose == GC__YOUNG_WHOLESALE, !has_fixed,
           has_fixed ? "one with a sparse region of fixed objects is traced" : "one without is kept");
    }
}
