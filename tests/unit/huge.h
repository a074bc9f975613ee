/* For test_marking.c: large objects with many slots, which are scanned once and then old. */
#pragma once

#include "../fixture.h"

#define HUGE ((size_t)1 << 18) /* slots */


static void become_old(bool marking) {
    vector *huge = NULL;
    node *young = NULL, *hidden = NULL;
    GC_ROOTS(gc, huge, young, hidden);
    hidden = new_node(4711);
    full();
    full();
    if (marking) begin_marking();
    heap->budget_bytes = 64 << 20; /* no collection comes of itself */
    young = new_node(2);
    huge = new_vector(HUGE);
    huge->items[0] = huge->items[HUGE / 2] = young;
    huge->items[HUGE / 2 + 1] = hidden;
    hidden = NULL;
    young = new_node(3);
    gc_store(gc, &huge->items[1], young);
    young = NULL;
    gc_collect(heap, 1, 0);
    is(gc_object_generation(huge), 2, "a huge array is old once it has survived%s", marking ? ", beside a marking" : "");
    ok(((node *)huge->items[0])->value == 2 && huge->items[HUGE / 2] == huge->items[0], "what it refers to has survived");
    is(gc_object_generation(huge->items[1]), 1, "and is young");
    gc_store(gc, &huge->items[HUGE - 1], new_node(5));
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    ok(((node *)huge->items[1])->value == 3 && ((node *)huge->items[HUGE / 2])->value == 2, "it is remembered from then on");
    is(((node *)huge->items[HUGE - 1])->value, 5, "up to its last slot");
    if (marking) {
        ok(heap->marking, "it still goes on");
        mark_all();
        finish();
    }
    full();
    is(((node *)huge->items[HUGE / 2 + 1])->value, 4711, "and so is an old object");
}

/* A spent nursery with such an array calls for a collection in which that grows old, and the next nursery is not larger for it. */
static void huge_arrays(void) {
    vector *huge = NULL, *kept = NULL;
    bytes *buffer = NULL;
    GC_ROOTS(gc, huge, kept, buffer);
    become_old(false);
    become_old(true);
    heap->budget_bytes = 64 << 20;
    huge = new_vector(HUGE);
    huge->items[HUGE - 1] = huge;
    buffer = new_bytes(HUGE * 8);
    gc_collect(heap, 0, 0);
    ok(gc_object_generation(huge) == 1 && huge->items[HUGE - 1] == huge, "no collection of generation 0 makes anything old");
    gc_collect(heap, 1, 0);
    ok(gc_object_generation(huge) == 2 && gc_object_generation(buffer) == 2, "the next one of generation 1 does");
    heap->budget_bytes = 64 << 20;
    buffer = new_bytes(HUGE * 8);
    gc_collect(heap, 1, 0);
    is(gc_object_generation(buffer), 1, "bytes grow old as other objects do");
    gc_collect(heap, 1, 0);
    is(gc__pace_young(heap), 0, "the next nursery is for a collection of generation 0");
    kept = new_vector(HUGE);
    is(gc__pace_young(heap), 1, "but not with a huge array");
    uint64_t before = heap->collection.number;
    while (heap->collection.number == before) new_node(1);
    ok(gc_object_generation(kept) == 2, "a nursery is spent: the array is old");
    ok(!heap->pace->tenures_at_once, "but nobody takes the nursery for one that survives");
}

static void written_memory(void) {
    size_t page = gc__os_page_bytes(), bytes = 2000 * page;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    uintptr_t from = (uintptr_t)memory, end = from + bytes - 8;
    is(gc__os_written_end(from + 16, end), end, "without any page, nothing is known of what was written");
    memory[0] = 1;
    if (gc__os_written_end(from + 16, end) == end) {
        ok(true, "# SKIP the system does not say what was written");
    } else {
        static const size_t places[] = {0, 1, 511, 512, 1000, 1998};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            memory[places[i] * page + page - 1] = 1;
            is(gc__os_written_end(from + 16, end), from + (places[i] + 1) * page, "written up to page %zu", places[i]);
        }
        memory[1999 * page] = 1;
        is(gc__os_written_end(from + 16, end), end, "and up to the end");
    }
    munmap(memory, bytes);
}
