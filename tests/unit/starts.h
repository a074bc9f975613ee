/* For test_marking.c: regions whose mark bits are still the marker's, since nothing has come to them after the last collection of a
   cycle. There are no checks in between: they would settle all regions. */
#pragma once

#include "../fixture.h"

#define PAIRS 3000
#define FAR 40000

/* A cycle leaves pairs of neighbours, of which the second one is dead, and refers to a region that is empty by now. */
static vector *leave_dead_neighbours(void) {
    vector *all = NULL;
    node *far = new_list(FAR), *at = far;
    GC_ROOTS(gc, all, far, at);
    full();
    full();
    at = far;
    all = new_vector(2 * PAIRS);
    for (size_t i = 0; i < 2 * PAIRS; i++, at = at->left) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
        if (i & 1) gc_store(gc, &n->left, at);
    }
    full();
    full();
    at = far = NULL;
    for (size_t i = 1; i < 2 * PAIRS; i += 2) gc_store(gc, &all->items[i], NULL);
    begin_marking();
    mark_all();
    finish();
    heap->old_unsettled = NULL; /* or allocating threads do the marker's work in these tests */
    gc__old_holes_forget(heap);
    return all;
}

static size_t count_beside(void) {
    size_t count = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) count += region->beside != 0;
    return count;
}

static bool count_node(void *context, void *object, size_t size, int generation) {
    (void)size, (void)generation;
    *(size_t *)context += gc__object_type((uintptr_t)object) == &node_type;
    return true;
}

static size_t count_nodes(void) {
    size_t count = 0;
    gc_heap_walk(heap, count_node, &count);
    return count;
}

/* A card of which a dead object is a part is scanned without it. */
static void cards_of_dead_neighbours(bool slots) {
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    size_t whole = 0;
    ok(count_beside() > 0, "%zu regions are left as the marker has marked them", count_beside());
    gc__remembering_switch(heap, slots);
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        node *n = all->items[i];
        gc_store(gc, &n->right, new_node(i));
    }
    for (int i = 0; i < 3; i++) gc_collect(heap, i % 2, GC_COLLECT_BLOCKING);
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        const node *n = all->items[i];
        whole += n->value == i && !n->left && n->right->value == i;
    }
    is(whole, PAIRS, "young collections see what is alive there, by %s", slots ? "slots" : "cards");
}

static void other_readers_of_starts(void) {
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    is(count_nodes(), PAIRS, "walks see no dead object");
    is(count_beside(), 0, "and settle the regions");
    is(count_marked(), 0, "which takes the marks away");
}

static void dead_objects_are_not_found(void) {
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    size_t found = 0, before = count_beside();
    const node *n = all->items[0];
    for (const node *at = n; at < n + 8; at++) found += gc_heap_object_at(heap, &at->value) == at;
    is(count_beside(), before - 1, "to look for an object by its address settles its region");
    ok(found < 8, "no address leads to a dead object: %zu of 8 to one that lives", found);
}

static void full_collections_drop_marks(bool cycle) {
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    size_t before = count_beside();
    ok(before > 0 && count_marked() >= PAIRS, "the marker's marks are there");
    if (cycle) {
        heap->old_unsettled = heap->regions[2];
        begin_marking();
        ok(heap->marking && !count_beside(), "another cycle begins without them");
        mark_all();
        finish();
        ok(count_beside() > 0, "and ends in the same way");
        while (gc__holes_settle_next(heap)) {}
        is(count_beside(), 0, "the marker settles all of them");
    } else {
        full();
        is(count_beside(), 0, "a full collection that stops the program needs none");
    }
    is(count_marked(), 0, "no mark of the marker's is left");
    is(count_nodes(), PAIRS, "what lives is there");
}

static void starts(const gc_options *options) {
    for (int test = 0; test < 7; test++) {
        begin(options);
        if (test < 2) cards_of_dead_neighbours(test);
        if (test == 2) other_readers_of_starts();
        if (test == 3 || test == 4) full_collections_drop_marks(test == 3);
        if (test == 5) leave_dead_neighbours();
        if (test == 6) dead_objects_are_not_found();
        end();
        if (test == 5) is(count_marked(), 0, "a heap that ends leaves no marks to the next one");
    }
}
