/* For test_marking.c: what keeps pauses within their goal, and the marking ahead of mutators. */
#pragma once

#include "../fixture.h"

static size_t collected(void) { return (size_t)heap->collection.number; }

/* A cycle that has room to grow, of which the test says how much is spent and marked. */
static void begin_spending(void) {
    list = new_list(20000);
    full();
    full();
    begin_marking();
    gc__marker *marker = heap->marker;
    marker->began_growth = 64 << 20;
    marker->most_bytes = gc__grown_bytes(heap) + marker->began_growth;
    marker->began_room = 0;
    marker->likely_bytes = 64 << 20;
    marker->marked_bytes = 0;
}

static void spend(size_t mib) { heap->marker->most_bytes = gc__grown_bytes(heap) + ((size_t)(64 - mib) << 20); }

static void lateness(void) {
    begin_spending();
    gc__marker *marker = heap->marker;
    is(gc__marking_left(heap), 64, "all of the room is left");
    is(gc__marking_lateness(heap), 0, "nobody waits");
    spend(8);
    unsigned late = gc__marking_lateness(heap);
    ok(late > 1 && late < 8, "an eighth of the room is spent, and nothing marked: waits are short");
    spend(32);
    is(gc__marking_lateness(heap), 8, "half of it: they are as long as the goal");
    marker->marked_bytes = (size_t)40 << 20;
    is(gc__marking_lateness(heap), 0, "more than half is marked: there are none");
    marker->marked_bytes = marker->likely_bytes;
    spend(58);
    is(gc__marking_lateness(heap), 8, "hardly any room is left, whatever is marked");
    ok(!gc__marking_is_lost(heap), "and the marking is not lost for that");
    marker->began_growth = gc__grown_bytes(heap) / 4;
    marker->most_bytes = gc__grown_bytes(heap) - 2 * marker->began_growth;
    ok(gc__marking_is_lost(heap), "but when the heap has grown by three times its room");
    mark_all();
    finish();
    ok(marker->last_bytes >= 20000 * sizeof(node), "%zu bytes were marked", marker->last_bytes);
    begin_marking();
    is(marker->likely_bytes, gc__min(marker->last_bytes, marker->began_old_bytes), "and so many are likely to be the next time");
    ok(marker->most_bytes > gc__grown_bytes(heap), "there is room to grow");
}

/* Waits are of parts of a nursery, smaller ones while they are too short. */
static void parts(void) {
    begin_spending();
    gc__marker *marker = heap->marker;
    size_t number = collected(), budget = heap->budget_bytes;
    uint64_t waited = marker->waited_ns;
    marker->quantum_bytes = 128 << 10;
    marker->undivided_bytes = 1 << 20;
    gc__heap_lock(heap);
    ok(gc__marking_await_quantum(heap) && heap->budget_bytes == budget + (128 << 10), "a part follows");
    is(marker->waited_ns, waited, "without a wait while the marker is on time");
    spend(60);
    ok(gc__marking_await_quantum(heap), "another part follows when it is late");
    ok(marker->waited_ns > waited, "after a wait");
    is(marker->quantum_bytes, 64 << 10, "and the next one is smaller");
    for (int i = 0; i < 4; i++) gc__marking_await_quantum(heap);
    is(marker->quantum_bytes, GC__WINDOW_BYTES, "but not smaller than windows are");
    spend(0);
    marker->quantum_bytes = 64 << 10;
    gc__marking_divide_quantum(heap);
    is(marker->quantum_bytes, 128 << 10, "larger again where the marker is on time");
    marker->undivided_bytes = 0;
    ok(!gc__marking_await_quantum(heap), "no part is left: a collection is due");
    marker->undivided_bytes = 1 << 20;
    marker->done = true;
    ok(!gc__marking_await_quantum(heap), "likewise when the marking is done");
    marker->done = false;
    gc__heap_unlock(heap);
    is(collected(), number, "none has run meanwhile");
    spend(60);
    marker->undivided_bytes = 1 << 20;
    fflush(stdout);
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        gc__heap_lock(heap);
        _exit(gc__marking_await_quantum(heap));
    }
    waitpid(child, &status, 0);
    is(status, 0, "nor does anybody wait in the child of a fork, where there is no marker");
    uint64_t now = gc__os_now_ns();
    marker->began_ns = now - 1000 * GC__NS_PER_MS;
    marker->waited_ns = 0;
    ok(gc__marker_growth(marker, 1 << 20) <= (1 << 20) + 1, "what has grown while nobody waited");
    marker->waited_ns = 750 * GC__NS_PER_MS;
    size_t grown = gc__marker_growth(marker, 1 << 20);
    ok(grown > 3 << 20 && grown <= 4 << 20, "would have been four times as much, had they not waited three quarters: %zu", grown);
}

/* So many slots are remembered that the next collection would take too long. */
static void many_slots(void) {
    vector *old = new_vector(8192);
    GC_ROOTS(gc, old);
    full();
    full();
    gc__remembering_switch(heap, true);
    heap->budget_bytes = 64 << 20;
    heap->stores->enough = 4096;
    size_t number = collected(), at = 0;
    for (; at < 4000; at++) {
        node *n = new_node(at);
        gc_store(gc, &old->items[at], n);
    }
    is(collected(), number, "%zu remembered slots call for no collection", at);
    for (; at < 8192 && collected() == number; at++) {
        node *n = new_node(at);
        gc_store(gc, &old->items[at], n);
    }
    is(collected(), number + 1, "more do, though the nursery is not spent");
    uint64_t cost = 100;
    gc__cost_note(&cost, 1000000, 5000, 1000, 40);
    is(cost, 200, "a slot that took longer counts at once");
    gc__cost_note(&cost, 100000000, 5000, 1000, 40);
    is(cost, 400, "but for no more than twice what it took before, or one long pause would have many follow");
    for (int i = 0; i < 100; i++) gc__cost_note(&cost, 0, 10, 1000, 40);
    is(cost, 40, "where few slots were found the cost falls to the least");
}

/* Mutators leave regions that were written to before to the copies of the next collection. */
static void touched_regions(void) {
    list = new_list(200000);
    full();
    gc_collect(heap, 0, 0);
    ok(heap->free && heap->free_for_copies > 0, "%zu free regions are for copies", heap->free_for_copies);
    gc__heap_lock(heap);
    heap->free_for_copies = heap->free_count + 1;
    size_t count = heap->free_count;
    gc__region *untouched = gc__heap_take(heap, 0);
    ok(untouched->dirty_end == untouched->base && heap->free_count == count, "a mutator takes one that was never written to");
    gc__heap_give(heap, untouched);
    heap->free_for_copies = 1;
    gc__region *first = heap->free;
    is((uintptr_t)gc__heap_take(heap, 0), (uintptr_t)first, "or a free one, where there are more than copies need");
    gc__heap_give(heap, first);
    heap->free_for_copies = heap->free_count + 1;
    heap->collecting = true;
    first = heap->free;
    is((uintptr_t)gc__heap_take(heap, 0), (uintptr_t)first, "a collection takes free ones");
    gc__heap_give(heap, first);
    heap->collecting = false;
    gc__heap_unlock(heap);
}

/* A mutator that finds no region ends its nursery, and the program is not stopped for all that lives. */
static void no_region(void) {
    gc_stats before = stats();
    node *keep = new_list(40000); /* 1 MiB and more */
    GC_ROOTS(gc, keep);
    full();
    for (int i = 0; i < 8; i++) {
        heap->budget_bytes = 64 << 20;
        for (size_t k = 0; k < 400000; k++) new_node(k);
    }
    gc_stats now = stats();
    is(now.collections[2], before.collections[2] + 1, "no full collection but the one that was asked for");
    ok(now.collections[1] + now.collections[0] > before.collections[1] + before.collections[0], "young ones made room");
    size_t length = 0;
    for (const node *n = keep; n; n = n->left) length++;
    is(length, 40000, "what lives is there");
}

/* Where few old objects have died, copies do not go to the holes that they have left. */
#define KEPT 60000
static void few_holes(void) {
    gc__region *regions[256];
    size_t count = 0, filled = 0, moved = 0;
    vector *all = new_vector(KEPT);
    GC_ROOTS(gc, all);
    for (size_t i = 0; i < KEPT; i++) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
    }
    full();
    full();
    for (size_t i = 0; i < KEPT; i++)
        if (i % 6 < 2) gc_store(gc, &all->items[i], NULL);
    full();
    heap->pace->fills_holes = false;
    for (size_t i = 0; i < KEPT; i += 60) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
    }
    gc_collect(heap, 0, 0);
    for (gc__region *region = heap->regions[2]; region && count < 256; region = region->next) regions[count++] = region;
    gc_collect(heap, 1, GC_COLLECT_COMPACTING); /* which copies them */
    for (size_t i = 0; i < KEPT; i += 60) {
        const gc__region *region = gc__region_of((uintptr_t)all->items[i]);
        moved += region->generation == 2;
        for (size_t k = 0; k < count; k++) filled += region == regions[k];
    }
    is(moved, KEPT / 60, "all are old");
    is(filled, 0, "none of them in a hole");
}

/* What copies into holes took is what the next ones are expected to take, after a cycle in which others took less. */
static void filling_again(void) {
    enum { SLOTS = 2 * GC__SLOTS_MEASURED, SLOT_NS = 500 };
    gc__pace *pace = heap->pace;
    pace->young_ns_per_mib = 1000;
    pace->slot_ns = GC__SLOT_NS;
    gc__pace_fill(heap);
    is(pace->slot_ns, GC__FILL_SLOT_NS, "at first slots are expected to take long");
    ok(pace->young_ns_per_mib >= GC__FILL_NS_PER_MIB, "and so are bytes");
    for (int i = 0; i < 40; i++) gc__pace_fill(heap);
    ok(pace->young_ns_per_mib <= GC__FILL_COST * GC__FILL_NS_PER_MIB, "and no longer each time, while nothing is measured");
    pace->fills_holes = true;
    heap->cycle->condemned_bytes[0] = 1 << 20;
    heap->cycle->large_bytes = 0;
    heap->pause.remembered_slots = SLOTS;
    gc__nursery_for_goal(heap, SLOTS * SLOT_NS);
    for (int i = 0; i < 40; i++) gc__nursery_for_goal(heap, SLOTS * GC__SLOT_NS);
    ok(pace->slot_ns < SLOT_NS / 4 && pace->young_ns_per_mib < SLOTS * SLOT_NS / 4, "what is measured is believed");
    gc__pace_fill(heap);
    is(pace->slot_ns, SLOT_NS, "the most that a slot has taken is expected when holes are filled again");
    is(pace->young_ns_per_mib, SLOTS * SLOT_NS, "and the same of bytes");
    ok(gc__nursery_in_time(heap) <= gc__pace_goal_ns(heap) / 2 * 1024 / (SLOTS * SLOT_NS / 1024),
       "so that they take half of the goal");
    heap->cycle->condemned_bytes[0] = heap->pause.remembered_slots = 0;
}

/* After a marking beside mutators memory is given back only if nobody has needed it for a while. */
static void given_back_later(void) {
    enum { FREE = 64 };
    gc_new_array(gc, &bytes_type, FREE * GC_REGION_BYTES - sizeof(bytes));
    heap->options.keep_memory = true;
    full();
    heap->options.keep_memory = false;
    size_t before = heap->free_count;
    heap->cycle->planned.purpose = GC__MARK_END;
    heap->marker->has_thread = true; /* which would give it back */
    gc__pace_release(heap, 2);
    heap->cycle->planned.purpose = GC__YOUNG;
    heap->marker->has_thread = false;
    size_t excess = heap->uncommit_bytes >> GC_REGION_SHIFT;
    ok(before >= FREE && excess > FREE / 2, "%zu regions are free, %zu of them not needed soon", before, excess);
    gc__heap_uncommit(heap);
    is(heap->free_count, before, "but none is given back at once");
    heap->free_least_bytes = 16 * GC_REGION_BYTES; /* all others were needed meanwhile */
    heap->uncommitted_ns = 0;                          /* a while */
    for (int i = 0; i < 100; i++) gc__heap_uncommit(heap);
    is(before - heap->free_count, 16 - gc__max(GC__UNCOMMIT_REGIONS_MIN, heap->free_for_copies), "later, what was free all the time, but for some");
}

static void on_time(void) {
    gc_options options = {.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .nursery_bytes = 1 << 20};
    run(lateness, options);
    run(parts, options);
    run(many_slots, options);
    run(touched_regions, options);
    run(filling_again, options);
    run(given_back_later, options);
    options.heap_bytes_max = 48 * GC_REGION_BYTES + (4 << 20);
    run(no_region, options);
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .nursery_bytes = 4 << 20});
    few_holes();
    end();
}
