/* For test_marking.c: what a heap that is marked beside mutators does with the holes that are left. */
#pragma once

#include "../fixture.h"

#define HELD 6000 /* objects of 24 to 216 bytes */

static void hold_one(vector *held, size_t at) {
    GC_ROOTS(gc, held);
    size_t length = 8 + random_bits() % 25 * 8;
    bytes *b = new_bytes(length);
    if (!b) exit(3);
    memset(b->items, (int)(at & 255), length);
    gc_store(gc, &held->items[at], b);
}

static vector *hold_many(size_t count) {
    vector *held = new_vector(count);
    GC_ROOTS(gc, held);
    for (size_t at = 0; at < count; at++) hold_one(held, at);
    return held;
}

static bool are_whole(const vector *held) {
    for (size_t at = 0; at < held->header.length; at++) {
        const bytes *b = held->items[at];
        for (size_t i = 0; b && i < b->header.length; i++)
            if (b->items[i] != (at & 255)) return false;
    }
    return true;
}

static size_t old_regions(void) {
    size_t count = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) count++;
    return count;
}

/* A cycle that leaves holes between old objects; they are listed as the marker would. */
static vector *leave_holes(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = hold_many(HELD);
    full();
    full();
    for (size_t at = 0; at < HELD; at++)
        if (random_bits() % 5 < 2) gc_store(gc, &held->items[at], NULL);
    begin_marking();
    mark_all();
    finish();
    return held;
}

static void holes_are_filled(void) {
    vector *held = NULL;
    bytes *array = NULL;
    GC_ROOTS(gc, held, array);
    held = leave_holes();
    ok(heap->pace->fills_holes, "holes between old objects are to be filled");
    heap->born_left = 0;
    while (gc__marker_turn(heap, 1)) continue;
    size_t listed = heap->old_holes.bytes, before = old_regions(), filled = 0;
    ok(listed > HELD * 20, "the marker lists them: %zu bytes", listed);
    for (size_t at = 0; at < HELD && filled < listed / 2; at++) {
        if (held->items[at]) continue;
        hold_one(held, at);
        filled += ((bytes *)held->items[at])->header.length + 16;
    }
    array = held->items[0] ? held->items[0] : held->items[1];
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    ok(listed - heap->old_holes.bytes >= filled, "what is promoted takes them: %zu of %zu bytes, for %zu",
       listed - heap->old_holes.bytes, listed, filled);
    ok(old_regions() <= before + 1, "and no regions: %zu, and %zu before", old_regions(), before);
    ok(are_whole(held), "no object is written over");
    ok(gc_heap_verify(heap), "and all is in order");
    array = NULL;
    for (size_t at = 0; at < HELD && !array; at++)
        if (held->items[at] && gc_object_generation(held->items[at]) == 2) array = held->items[at];
    ok(!gc_array_grow(gc, array, array->header.length + 64),
       "an old array does not grow into a hole that may be in a list");
    full();
    ok(!heap->old_holes.bytes && are_whole(held), "a full collection forgets the lists");
}

/* With a limit of twice what lives, no collection stops the program for all of its marking, though half of the objects that are
   made survive. */
static void keeps_to_the_limit(void) {
    enum { MANY = 40000 };
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = hold_many(MANY);
    for (size_t i = 0; i < 12 * MANY; i++) {
        hold_one(held, random_bits() % MANY);
        if (i % 16 == 0) gc__marking_take_turn(heap);
    }
    gc_stats s = stats();
    is(s.concurrent_lost, 0, "no cycle is lost at a limit of twice what lives");
    is(s.collections[2], s.concurrent_finished, "each full collection ends a cycle: %llu",
       (unsigned long long)s.concurrent_finished);
    ok(s.concurrent_finished >= 3, "there are several");
    ok(are_whole(held), "no object is lost");
}

/* The marker's log counts towards the limit as far as it was ever used, so a small heap has room beside it. */
static void small_limit(void) {
    node *first = NULL;
    GC_ROOTS(gc, first);
    for (int i = 0; i < 10000; i++) {
        node *n = new_node(i);
        if (!n) {
            ok(false, "a heap of 1 MiB holds 10,000 nodes while it marks: %s", gc_last_message());
            return;
        }
        n->left = first;
        first = n;
        if (i % 2000 == 0) begin_marking();
    }
    ok(true, "a heap of 1 MiB holds 10,000 nodes while it marks");
}

/* What lives in regions that are leaving is copied when the cycle ends, whether the marker, a barrier or a collection has seen the slot that
   leads there; and the regions are free. */
static void regions_leave(void) {
    vector *held = NULL;
    node *old = NULL, *late = NULL, *promoted = NULL;
    GC_ROOTS(gc, held, old, late, promoted);
    held = hold_many(HELD);
    old = new_node(1);
    late = new_node(2);
    full();
    full();
    for (size_t at = 0; at < HELD; at++)
        if (at % 8) gc_store(gc, &held->items[at], NULL);
    full();
    begin_marking();
    size_t candidate = 0, regions = old_regions();
    for (const gc__region *region = heap->regions[2]; region; region = region->next) candidate += region->candidate;
    ok(candidate > regions / 2, "sparse regions are leaving: %zu of %zu", candidate, regions);
    mark_all();
    void *before = held->items[8];
    gc_store(gc, &late->left, held->items[8]); /* to a scanned object */
    promoted = new_node(3);
    gc_store(gc, &promoted->left, held->items[16]);
    age(&promoted, 2);
    gc_store(gc, &held->items[16], NULL);
    mark_all();
    finish();
    ok(late->left == held->items[8] && held->items[8] != before, "an object has moved, and both slots know where to");
    ok(((bytes *)(void *)promoted->left)->items[0] == 16, "so does that of an object that has become old meanwhile");
    ok(are_whole(held), "all objects are whole");
    ok(old_regions() < regions, "regions are free: %zu are left of %zu", old_regions(), regions);
    ok(gc_heap_verify(heap), "and all is in order");
}

/* Where memory for notes is scarce most regions stay. */
static void regions_stay(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = leave_holes();
    begin_marking();
    mark_all();
    for (size_t at = 0; at < HELD; at++)
        if (!held->items[at]) hold_one(held, at);
    size_t staying = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) staying += region->retained;
    ok(staying > 0, "%zu regions stay", staying);
    finish();
    ok(are_whole(held) && gc_heap_verify(heap), "all is in order");
}

/* Regions leave whose holes were not listed yet: what becomes old in the last collection goes to holes of others only. */
static void unlisted_regions_leave(void) {
    vector *held = NULL;
    GC_ROOTS(gc, held);
    held = leave_holes();
    ok(heap->old_unlisted != NULL, "holes are not listed yet");
    begin_marking();
    mark_all();
    for (size_t at = 0; at < HELD; at++)
        if (!held->items[at]) hold_one(held, at);
    gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    finish();
    ok(are_whole(held) && gc_heap_verify(heap), "what becomes old while regions leave is whole");
}

/* A million slots may refer to one object in a region that is leaving: then that one stays, rather than that the notes of them fill
   the heap and the last pause. The others leave. */
static void notes_are_few(void) {
    enum { MANY = 400000, LOTS = 24000, LAST = LOTS - 8, MIDDLE = LOTS / 2 };
    vector *held = NULL, *many = NULL;
    GC_ROOTS(gc, held, many);
    held = hold_many(LOTS);
    many = new_vector(MANY);
    full();
    full();
    for (size_t at = 0; at < LOTS; at++)
        if (at % 8) gc_store(gc, &held->items[at], NULL);
    for (size_t i = 0; i < MANY; i++) gc_store(gc, &many->items[i], held->items[i % 2 ? 8 : LAST]);
    begin_marking();
    mark_all();
    finish();
    void *popular[] = {held->items[8], held->items[LAST]}, *alone = held->items[MIDDLE];
    begin_marking();
    size_t regions = old_regions(), most = 0;
    while (mark_some(100)) most = heap->marker->slots.count > most ? heap->marker->slots.count : most;
    for (size_t i = 0; i < 1000; i++) gc_store(gc, &many->items[i], held->items[MIDDLE]);
    mark_all();
    size_t noted = gc__words_bytes(&heap->marker->slots);
    ok(most > 10000, "notes are taken: %zu", most);
    ok(noted <= heap->limit_bytes / 32, "the notes take little of the limit: %zu KiB", noted >> 10);
    finish();
    ok(held->items[8] == popular[0] && held->items[LAST] == popular[1], "the region with an object to which most slots refer stays");
    ok(held->items[MIDDLE] != alone && many->items[0] == held->items[MIDDLE], "but others leave");
    ok(old_regions() < regions, "and are free: %zu are left of %zu", old_regions(), regions);
    ok(are_whole(held) && many->items[1001] == held->items[8] && many->items[MANY - 1] == held->items[8], "all slots are right");
    ok(gc_heap_verify(heap), "and all is in order");
}
