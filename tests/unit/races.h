/* For test_marking.c: what comes after a cycle that has not ended before the limit was met. */
#pragma once

#include "holes.h"

enum { RACERS = 40000 }; /* objects, of 5.5 MiB together */

/* Replaces objects at random, some of which die old. The marker has some turns, or next to none. */
static void replace(vector *held, size_t count, bool marks) {
    GC_ROOTS(gc, held);
    for (size_t i = 0; i < count; i++) {
        hold_one(held, random_bits() % RACERS);
        if (marks && i % 16 == 0) gc__marking_take_turn(heap);
    }
}

static uint64_t stopped(void) { return stats().collections[2] - stats().concurrent_finished; }

/* A marker that gets no processor for a while loses; once it has one again, full collections do not stop the program. */
static void lost_once(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = hold_many(RACERS);
    heap->marker->wanted = 1;
    for (int i = 0; i < 1000 && !stats().concurrent_lost; i++) replace(held, 1000, false);
    ok(stats().concurrent_lost, "a marker that gets no processor loses");
    heap->marker->wanted = 0;
    is(heap->pace->degenerated, 0, "the heap keeps to its goal all the same");
    heap->options.test.marker_steps = 256;
    replace(held, 3 * RACERS, true);
    uint64_t before = stopped(), finished = stats().concurrent_finished;
    replace(held, 6 * RACERS, true);
    is(stopped(), before, "soon after that no full collection stops the program");
    ok(stats().concurrent_finished >= finished + 3, "but cycles follow: %llu",
       (unsigned long long)(stats().concurrent_finished - finished));
    ok(are_whole(held), "no object is lost");
}

/* What a full collection decides of those that follow, by why it came, what it was, and how much lives. */
static void what_follows(void) {
    static const struct {
        gc_reason reason;
        gc__purpose purpose;
        unsigned percent, degenerated, next, stops_after, next_after;
    } cases[] = {{GC_REASON_LIMIT, GC__FULL, 90, 0, 0, 4, 8},     {GC_REASON_LIMIT, GC__FULL, 90, 0, 8, 8, 16},
                 {GC_REASON_LIMIT, GC__FULL, 90, 0, 64, 64, 64},  {GC_REASON_LIMIT, GC__FULL, 70, 0, 8, 0, 8},
                 {GC_REASON_LIMIT, GC__MARK_END, 90, 0, 8, 0, 8},   {GC_REASON_GROWTH, GC__MARK_END, 90, 0, 8, 0, 8},
                 {GC_REASON_GROWTH, GC__MARK_END, 70, 0, 8, 0, 4},  {GC_REASON_GROWTH, GC__FULL, 90, 2, 8, 1, 8},
                 {GC_REASON_LIMIT, GC__FULL, 90, 1, 8, 0, 8}};
    size_t full_bytes = heap->full_bytes;
    gc_reason reason = heap->collection.reason;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heap->collection.reason = cases[i].reason;
        heap->cycle->planned.purpose = cases[i].purpose;
        heap->full_bytes = heap->limit_bytes / 100 * cases[i].percent;
        heap->pace->degenerated = cases[i].degenerated;
        heap->pace->degenerated_next = cases[i].next;
        gc__pace_room(heap);
        is(heap->pace->degenerated, cases[i].stops_after, "%zu: so many full collections are to stop the program", i);
        is(heap->pace->degenerated_next, cases[i].next_after, "%zu: and so many the next time", i);
    }
    heap->collection.reason = reason;
    heap->cycle->planned.purpose = GC__YOUNG;
    heap->full_bytes = full_bytes;
    heap->pace->degenerated = heap->pace->degenerated_next = 0;
}

/* Where a limit leaves too little for cycles, some full collections stop the program, and mutators fill holes between them. After the
   last one a young collection does not meet all that lives. */
static void returns(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = hold_many(RACERS);
    heap->pace->degenerated = 3;
    for (int i = 0; i < 1000 && heap->pace->degenerated > 1; i++) replace(held, 1000, false);
    ok(heap->nursery_survivor_bytes > heap->generation_bytes[2] / 2, "what has come is young while full collections stop the program");
    while (heap->pace->degenerated) replace(held, 1, false);
    is(heap->nursery_survivor_bytes + heap->generation_bytes[1], 0, "and old after the last one that does");
    uint64_t before = heap->collection.number;
    while (heap->collection.number == before) replace(held, 1, false);
    ok(stats().condemned_bytes <= heap->limit_bytes / 8, "so the next collection condemns a nursery: %zu", stats().condemned_bytes);
    ok(are_whole(held), "no object is lost");
}

/* A cycle begins in time although the marker has not come to list holes. */
static void room_is_estimated(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = leave_holes();
    gc__stale_clear(heap, SIZE_MAX);
    heap->born_left = 0;
    size_t unlisted = heap->unlisted_bytes, regions = gc__marking_room(heap) - unlisted / 2;
    ok(unlisted && !heap->old_holes.bytes, "holes that are not listed are known to be there: %zu bytes", unlisted);
    while (gc__marker_turn(heap, 1)) continue;
    size_t listed = gc__marking_room(heap) - regions;
    ok(heap->unlisted_bytes < unlisted / 16, "until they are listed: then %zu bytes are left", heap->unlisted_bytes);
    ok(unlisted / 2 <= listed * 3 / 2 && listed <= unlisted, "the estimate is near: %zu bytes for %zu", unlisted / 2, listed);
    heap->marker->grown_bytes = heap->limit_bytes;
    ok(gc__marking_is_short(heap), "a heap that needs more room than that begins a cycle");
    heap->old_unlisted = heap->regions[2];
    heap->unlisted_bytes = unlisted;
    ok(gc__marking_is_short(heap), "even before the holes are listed");
    gc__old_holes_forget(heap);
    ok(are_whole(held), "no object is lost");
}

/* A mutator that finds no region waits for the marker, unless that does nothing. */
static void waits_for_the_marker(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = hold_many(HELD);
    full();
    ok(!gc__collect_after_marking(heap), "nobody waits where nothing is being marked");
    begin_marking();
    gc__lock_take(&heap->marker->lock);
    int waits = 0;
    heap->marker->starved = 0; /* a slow marker may have let the thread wait before */
    bool done = heap->marker->done;
    while (!done && waits <= GC__MARKING_STARVED && gc__collect_after_marking(heap)) waits++;
    if (!done) is(waits, GC__MARKING_STARVED - 1, "waits that are in vain have an end");
    gc__lock_release(&heap->marker->lock);
    heap->marker->starved = 0;
    while (gc__collect_after_marking(heap)) continue;
    ok(!heap->marking, "the cycle has ended");
    is(stats().concurrent_lost, 0, "and was not lost");
    ok(are_whole(held), "no object is lost");
}

/* A mutator that finds no region has a cycle begun, if that may free something, rather than the program stopped. */
static void begins_for_a_region(void) {
    vector *held = NULL, *more = NULL;
    GC_ROOTS(gc, held, more);
    held = hold_many(RACERS);
    full();
    full();
    gc__collect_before_marking(heap);
    ok(!heap->marking, "no cycle begins right after a full collection");
    more = hold_many(RACERS / 5);
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    size_t full_bytes = heap->full_bytes;
    heap->full_bytes = heap->limit_bytes;
    gc__collect_before_marking(heap);
    ok(!heap->marking, "nor where there is no room for one");
    heap->full_bytes = full_bytes;
    gc__collect_before_marking(heap);
    ok(heap->marking, "but when something has become old since");
    while (gc__collect_after_marking(heap)) continue;
    ok(!heap->marking && !stats().concurrent_lost, "and it ends in time");
    ok(are_whole(held) && are_whole(more), "no object is lost");
}
