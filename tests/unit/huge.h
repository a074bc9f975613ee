/* For test_marking.c: large objects with many slots, which are scanned once and then old. */
#pragma once

#include "../fixture.h"

#define HUGE ((size_t)1 << 18) /* slots */


typedef struct written_runs {
    uintptr_t from[8], end[8];
    size_t count;
} written_runs;

static void see_run(void *context, uintptr_t from, uintptr_t end) {
    written_runs *seen = (written_runs *)context;
    if (seen->count < 8) seen->from[seen->count] = from, seen->end[seen->count] = end;
    seen->count++;
}

static written_runs find_written(uintptr_t from, uintptr_t end) {
    written_runs seen = {.count = 0};
    gc__os_each_written(from, end, see_run, &seen);
    return seen;
}

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

/* Its elements are scanned in the pages that were written to, however many others lie between. Verification would read, and so
   map, all of them. */
static void scattered(void) {
    enum { NODES = 8 }; /* pages of 64 KiB lie between two of them */
    vector *huge = NULL;
    GC_ROOTS(gc, huge);
    for (int round = 0; round < 2; round++) {
        full();
        heap->budget_bytes = 64 << 20;
        huge = new_vector(HUGE);
        for (size_t i = 0; i < NODES; i++) {
            node *n = new_node(i);
            huge->items[i * (HUGE / NODES) + i] = n; /* while it is young no store into it needs a barrier */
        }
        size_t runs = find_written((uintptr_t)huge->items, (uintptr_t)&huge->items[HUGE]).count;
        gc_collect(heap, round == 0 ? 1 : 2, 0);
        size_t wrong = 0;
        for (size_t i = 0; i < NODES; i++) {
            const node *n = (const node *)huge->items[i * (HUGE / NODES) + i];
            wrong += n->value != i || gc_heap_object_at(heap, n) != n;
        }
        is(wrong, 0, "what the parts of a huge array refer to has survived a collection of generation %d", round + 1);
        if (!GC_DEBUG) ok(runs >= NODES / 2, "of which there were %zu", runs);
    }
    ok(gc_heap_verify(heap) > NODES, "the heap is as it should be");
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
    uintptr_t from = (uintptr_t)memory + 16, end = (uintptr_t)memory + bytes - 8;
    written_runs seen = find_written(from, end);
    ok(seen.count == 1 && seen.from[0] == from && seen.end[0] == end, "without any page, nothing is known of what was written");
    memory[0] = 1;
    seen = find_written(from, end);
    if (seen.count == 1 && seen.end[0] == end) {
        ok(true, "# SKIP the system does not say what was written");
        munmap(memory, bytes);
        return;
    }
    ok(seen.count == 1 && seen.from[0] == from && seen.end[0] == (uintptr_t)memory + page, "one page was written to");
    /* Runs that end and begin where the system is asked again, after 512 pages, and one across that. */
    static const size_t runs[][2] = {{0, 1}, {3, 5}, {510, 514}, {1000, 1024}, {1536, 1537}, {1999, 2000}};
    enum { RUNS = sizeof runs / sizeof *runs };
    for (size_t i = 0; i < RUNS; i++)
        for (size_t at = runs[i][0]; at < runs[i][1]; at++) memory[at * page + page - 9] = 1;
    seen = find_written(from, end);
    is(seen.count, RUNS, "each run of pages is seen");
    for (size_t i = 0; i < RUNS; i++) {
        uintptr_t low = (uintptr_t)memory + runs[i][0] * page, high = (uintptr_t)memory + runs[i][1] * page;
        ok(seen.from[i] == gc__max(low, from) && seen.end[i] == gc__min(high, end), "from page %zu up to %zu", runs[i][0], runs[i][1]);
    }
    munmap(memory, bytes);
}
