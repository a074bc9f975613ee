/* For test_marking.c: regions whose mark bits are still the marker's, since nothing has come to them after the last collection of a
   cycle. There are no checks in between: they would settle all regions. */
#pragma once

#include "../fixture.h"

#define PAIRS 3000
#define FAR 40000

/* A cycle leaves so many nodes in a row alive, and then as many dead, by turns, each of which refers to a region that is empty by
   now. */
static bool is_dead(size_t i, size_t row) { return i / row & 1; }
static vector *leave_dead_rows(size_t row) {
    vector *all = NULL;
    node *far = new_list(FAR), *at = far;
    GC_ROOTS(gc, all, far, at);
    full();
    full();
    at = far;
    all = new_vector(2 * PAIRS);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
        if (is_dead(i, row)) gc_store(gc, &n->left, at);
        for (int k = 0; k < FAR / (2 * PAIRS); k++) at = at->left;
    }
    full();
    full();
    at = far = NULL;
    for (size_t i = 0; i < 2 * PAIRS; i++)
        if (is_dead(i, row)) gc_store(gc, &all->items[i], NULL);
    begin_marking();
    mark_all();
    finish();
    heap->old_unflipped = NULL; /* or allocating threads do the marker's work in these tests */
    gc__old_holes_forget(heap);
    return all;
}

static vector *leave_dead_neighbours(void) { return leave_dead_rows(1); }

static size_t count_beside(void) {
    size_t count = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) count += region->flip != 0;
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
    for (size_t i = 0; i < FAR / 2; i++) new_node(i); /* where dead neighbours refer to */
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        node *n = all->items[i];
        gc_store(gc, &n->right, new_node(i));
    }
    ok(count_beside() > 0, "some are left even now");
    gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    is(heap->stats.survived_bytes, PAIRS * sizeof(node), "dead neighbours keep nothing alive");
    for (int i = 1; i < 3; i++) gc_collect(heap, i % 2, GC_COLLECT_BLOCKING);
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        const node *n = all->items[i];
        whole += n->value == i && !n->left && n->right->value == i;
    }
    is(whole, PAIRS, "young collections see what is alive there, by %s", slots ? "slots" : "cards");
}

/* While a card is scanned what its objects refer to is copied into holes of the same region. */
static void holes_of_cards(void) {
    const size_t row = 12;
    vector *all = leave_dead_rows(row);
    GC_ROOTS(gc, all);
    size_t whole = 0, live = 0;
    gc__remembering_switch(heap, false);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        node *n = all->items[i];
        if (!is_dead(i, row)) gc_store(gc, &n->right, new_node(i));
    }
    ok(count_beside() > 0, "%zu regions have holes and are left as the marker has marked them", count_beside());
    heap->pace->fills_holes = heap->pace->tenures_at_once = true;
    heap->old_unlisted = heap->regions[2];
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        const node *n = all->items[i];
        live += !is_dead(i, row);
        whole += n && n->value == i && n->right->value == i && gc__region_of((uintptr_t)n->right)->generation == 2;
    }
    is(whole, live, "each object of a card is seen when a copy has taken a hole before it");
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
        heap->old_unflipped = heap->regions[2];
        begin_marking();
        ok(heap->marking && !count_beside(), "another cycle begins without them");
        mark_all();
        finish();
        ok(count_beside() > 0, "and ends in the same way");
        while (gc__holes_flip_next(heap)) {}
        is(count_beside(), 0, "the marker settles all of them");
    } else {
        full();
        is(count_beside(), 0, "a full collection that stops the program needs none");
    }
    is(count_marked(), 0, "no mark of the marker's is left");
    is(count_nodes(), PAIRS, "what lives is there");
}

static void starts(const gc_options *options) {
    for (int test = 0; test < 8; test++) {
        begin(options);
        if (test < 2) cards_of_dead_neighbours(test);
        if (test == 2) other_readers_of_starts();
        if (test == 3 || test == 4) full_collections_drop_marks(test == 3);
        if (test == 5) leave_dead_neighbours();
        if (test == 6) dead_objects_are_not_found();
        if (test == 7) holes_of_cards();
        end();
        if (test == 5) is(count_marked(), 0, "a heap that ends leaves no marks to the next one");
    }
}
