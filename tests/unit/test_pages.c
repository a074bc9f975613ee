/* Regions in huge pages: a heap takes all of one's regions at once while its goal and its limit have room for them, and what it
   gives back takes no memory. */
#define _GNU_SOURCE
#include "../tap.h"

#include <sys/mman.h>

#include "../inside.h"
#include "../fixture.h"

/* A heap in an arena that was never used, where no page was slow yet. */
static void begin_anew(const gc_options *options) {
    gc__arena *arena = &gc__the_arena;
    gc__lock_take(&arena->lock);
    gc__arena_close();
    arena->huge_waits = arena->huge_paid = 0;
    gc__lock_release(&arena->lock);
    begin(options);
}

/* The regions of heaps whose memory came with a huge page. */
static size_t populated(void) {
    size_t count = 0;
    for (size_t i = 0; i < gc__the_arena.used; i++)
        count += gc__the_arena.regions[i].heap != NULL && gc__the_arena.regions[i].populated;
    return count;
}

static size_t resident_pages(uintptr_t from, size_t bytes) {
    static unsigned char vector[1 << 12];
    size_t pages = bytes / gc__os_page_bytes(), count = 0;
    if (pages > sizeof vector || mincore((void *)from, bytes, vector) != 0) return SIZE_MAX;
    for (size_t i = 0; i < pages; i++) count += vector[i] & 1;
    return count;
}

/* Objects of so many bytes in a list, which has to be a root. */
static void grow(node **list, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof(node); i++) {
        node *n = new_node(i);
        gc_store(gc, &n->left, *list);
        *list = n;
    }
}

/* Grows a heap, and says how many of its regions came with huge pages. */
static size_t grown(const gc_options *options, size_t mib) {
    begin_anew(options);
    node *list = NULL;
    GC_ROOTS(gc, list);
    grow(&list, mib << 20);
    size_t count = populated();
    gc_heap_verify(heap);
    end();
    return count;
}

/* No more is held than the goal allows, as far as it is the goal that allows it. */
static void within_goal(void) {
    begin_anew(&(gc_options){.debug.verify = GC_VERIFY_AFTER});
    node *list = NULL;
    GC_ROOTS(gc, list);
    size_t worst = 0, most = 0, n = (4 << 20) / sizeof(node);
    for (size_t i = 0; i < 10 * n; i++) {
        bool wanted = !heap->free && gc__heap_wants_huge(heap);
        size_t goal = heap->goal_bytes;
        grow(&list, sizeof(node));
        if (wanted && gc__held_bytes(heap) > goal) worst = gc__max(worst, gc__held_bytes(heap) - goal);
        most = gc__max(most, heap->free_count);
    }
    ok(most < 2 * GC__HUGE_REGIONS + 64, "at most the regions of a page are free beside others: %zu", most);
    is(worst, 0, "a huge page keeps the heap within its goal");
    end();
}

/* Grows the heap until it has taken a huge page, and returns a region of it that was not written to. */
static gc__region *untouched(node **list) {
    for (size_t i = 0; i < ((size_t)64 << 20) / sizeof(node); i++) {
        grow(list, sizeof(node));
        for (gc__region *region = heap->free; region; region = region->next)
            if (region->populated && region->dirty_end == region->base) return region;
    }
    printf("Bail out! 64 MiB without a huge page\n");
    exit(2);
}

/* The end of a large object that lies in such a region is not spare. */
static void large_end(void) {
    begin_anew(NULL);
    node *list = NULL;
    bytes *large = NULL;
    GC_ROOTS(gc, list, large);
    gc__region *region = untouched(&list);
    large = new_bytes(GC_REGION_BYTES * 5 / 4);
    region = gc__region_of((uintptr_t)large);
    ok(region[1].populated, "a large object ends in a huge page");
    is(resident_pages(gc__region_end(region) - region->spare, region->spare), 0, "what counts as spare takes no memory");
    end();
}

/* Regions that were never written to are given back like others, and so are parts of a huge page. */
static void given_back(void) {
    begin_anew(NULL);
    node *list = NULL;
    GC_ROOTS(gc, list);
    size_t wrong = 0;
    gc__region *region = untouched(&list);
    size_t pages = resident_pages(region->base, GC_REGION_BYTES);
    while (heap->free) gc__heap_release_free(heap);
    printf("# of its %zu pages\n", pages);
    is(resident_pages(region->base, GC_REGION_BYTES), 0, "which goes back to the system");
    ok(!region->populated && !region->heap, "and the region to the arena");
    grow(&list, 1 << 20);
    list = NULL;
    full();
    while (heap->free) gc__heap_release_free(heap);
    is(gc__huge_find(), gc__the_arena.count, "regions that were in use are used again before there is another huge page");
    size_t length = 4 * GC_REGION_BYTES / sizeof(void *);
    vector *large = new_vector(length);
    for (size_t i = 0; i < length; i++) wrong += large->items[i] != NULL;
    is(wrong, 0, "what is taken after that is zero");
    end();
}

/* A slow huge page has as many regions taken singly as it costs, and the next one more. */
static void slow(void) {
    gc__arena arena;
    memset(&arena, 0, sizeof arena);
    gc__huge_note(&arena, GC__HUGE_SLOW_NS);
    is(arena.huge_waits, 0, "a fast page: the next one at once");
    gc__huge_note(&arena, GC__HUGE_SLOW_NS + 1);
    is(arena.huge_waits, GC__HUGE_PAUSE, "a slow one: a while without");
    gc__huge_note(&arena, 1);
    is(arena.huge_waits, 0, "again");
    gc__huge_note(&arena, GC__HUGE_SLOW_NS + 1);
    is(arena.huge_waits, 4 * GC__HUGE_PAUSE, "a longer while, though there was a fast one");
    begin_anew(NULL);
    node *list = NULL;
    GC_ROOTS(gc, list);
    gc__the_arena.huge_waits = SIZE_MAX / 2;
    size_t waits = gc__the_arena.huge_waits;
    grow(&list, 16 << 20);
    is(populated(), 0, "meanwhile regions are taken singly");
    ok(gc__the_arena.huge_waits < waits, "and counted");
    end();
}

int main(void) {
    size_t count = grown(NULL, 32);
    if (GC__HUGE_REGIONS > 1) {
        ok(count >= GC__HUGE_REGIONS && count % GC__HUGE_REGIONS == 0, "a heap of 32 MiB has %zu regions in huge pages", count);
        count = grown(&(gc_options){.heap_bytes_max = 64 << 20}, 32);
        ok(count >= GC__HUGE_REGIONS, "one with a limit has %zu", count);
        large_end();
        given_back();
        slow();
    }
    is(grown(&(gc_options){.heap_bytes_max = 4 << 20}, 1), 0, "a small limit: none");
    is(grown(&(gc_options){.pause_goal_us = 1000, .collector_threads = 1}, 32), 0, "short pauses: none");
    is(grown(&(gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 10000}, 8), 0, "stress: none");
    is(grown(NULL, 0), 0, "an empty heap: none");
    within_goal();
    return done();
}
