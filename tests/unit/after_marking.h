/* For test_marking.c: regions whose marks are those of the marker, and whose former marks nobody has cleared yet. */
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
    heap->old_stale = NULL; /* or allocating threads do the marker's work in these tests */
    gc__old_holes_forget(heap);
    return all;
}

static vector *leave_dead_neighbours(void) { return leave_dead_rows(1); }

static size_t count_stale(void) {
    size_t count = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) count += region->stale;
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
    ok(count_stale() > 0, "%zu regions have marks of before", count_stale());
    gc__remembering_switch(heap, slots);
    for (size_t i = 0; i < FAR / 2; i++) new_node(i); /* where dead neighbours refer to */
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        node *n = all->items[i];
        gc_store(gc, &n->right, new_node(i));
    }
    ok(count_stale() > 0, "some are left even now");
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
    ok(count_stale() > 0, "%zu regions have holes and marks of before", count_stale());
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
    ok(count_stale() && count_marked(), "and the former marks are still there");
}

static void dead_objects_are_not_found(void) {
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    size_t found = 0;
    const node *n = all->items[0];
    for (const node *at = n; at < n + 8; at++) found += gc_heap_object_at(heap, &at->value) == at;
    ok(found < 8, "no address leads to a dead object: %zu of 8 to one that lives", found);
}

static void full_collections_drop_marks(bool cycle) {
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    size_t before = count_stale();
    ok(before > 0 && count_marked() >= PAIRS, "the former marks are there");
    if (cycle) {
        heap->old_stale = heap->regions[2];
        begin_marking();
        ok(heap->marking && !count_stale(), "another cycle begins without them");
        mark_all();
        finish();
        ok(count_stale() > 0, "and ends in the same way");
        while (gc__stale_clear(heap, 1)) {}
        is(count_stale(), 0, "the marker clears all of them");
    } else {
        full();
        is(count_stale(), 0, "a full collection that stops the program clears them");
    }
    is(count_marked(), 0, "no former mark is left");
    is(count_nodes(), PAIRS, "what lives is there");
}

/* A heap that has ended leaves marks in both planes to the next one that uses its regions. */
static void a_heap_leaves_stale_regions(const gc_options *options) {
    leave_dead_neighbours();
    end();
    begin(options);
    vector *all = leave_dead_neighbours();
    GC_ROOTS(gc, all);
    is(count_nodes(), PAIRS, "marks of an earlier heap mean nothing");
}

static void starts(const gc_options *options) {
    for (int test = 0; test < 8; test++) {
        begin(options);
        if (test < 2) cards_of_dead_neighbours(test);
        if (test == 2) other_readers_of_starts();
        if (test == 3 || test == 4) full_collections_drop_marks(test == 3);
        if (test == 5) a_heap_leaves_stale_regions(options);
        if (test == 6) dead_objects_are_not_found();
        if (test == 7) holes_of_cards();
        end();
    }
}
