/* Packing: a full heap whose holes are all smaller than its objects, and that has no free region to copy to. */
#ifndef GC_REGION_SHIFT
#define GC_REGION_SHIFT 18
#endif
#define GC_IMPLEMENTATION
#include "gc.h"

#include "../fixture.h"
#include "gc_handles.h"

#define UNIT (GC_REGION_BYTES / 64) /* bytes of an object of which a region holds few */

static bytes *sized(size_t size, size_t value) {
    bytes *b = (bytes *)gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
    if (b) memset(b->items, (int)(value & 255), size - sizeof(bytes));
    return b;
}

static bool are_whole(const vector *table) {
    for (size_t at = 0; at < table->header.length; at++) {
        const bytes *b = (const bytes *)table->items[at];
        for (size_t i = 0; b && i < b->header.length; i += 8)
            if (b->items[i] != (at & 255)) return false;
    }
    return true;
}

/* Whether objects of `least` to `most` bytes can be replaced at random. */
static bool replaced(size_t limit, size_t live, size_t least, size_t most) {
    size_t count = live / ((least + most) / 2 + sizeof(void *)), made = 0, total = 12 * count;
    begin(&(gc_options){.heap_bytes_max = limit});
    vector *table = new_vector(count);
    GC_ROOTS(gc, table);
    for (; table && made < total; made++) {
        size_t at = made < count ? made : random_bits() % count;
        bytes *b = sized(least + random_bits() % (most - least + 1), at);
        if (!b) break;
        gc_store(gc, &table->items[at], b);
    }
    ok(stats().committed_bytes_peak <= limit, "no more is held than the limit allows");
    return made == total && are_whole(table);
}

/* So much of a heap's regions may live. The tables take a part of one, so that one cannot be used. */
static void few_regions(void) {
    static const size_t sizes[][3] = {{24, UNIT / 2, 88}, {UNIT / 4 * 3, UNIT, 90}, {24, 2 * UNIT, 84}, {UNIT, UNIT, 96}};
    for (size_t regions = 4; regions <= 9; regions++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t limit = regions * GC_REGION_BYTES, live = (regions - 1) * GC_REGION_BYTES / 100 * sizes[i][2];
            ok(replaced(limit, live, sizes[i][0], sizes[i][1]), "%zu regions: objects of %zu to %zu bytes, %zu %% of the limit", regions,
               sizes[i][0], sizes[i][1], live * 100 / limit);
            end();
        }
}

/* Every second object of UNIT bytes dies; those that live are in roots, interior ones too, and under all kinds of handles. */

enum { HELD = 600, CHAIN = 40 };

static size_t finalized;
static const void *asked;
static bool is_unneeded(const void *object) {
    asked = object;
    return ((const node *)object)->value == 77;
}
static void count_finalized(gc_thread *thread, void *object) { finalized += ((node *)object)->value, (void)thread; }
static const gc_finalizer counting = {.finalize = count_finalized, .is_suppressed = is_unneeded};

/* Nodes that live only as dependents, each of the one before it; the handles are in the other order. */
static void make_chain(gc_handle *handles, node *first) {
    vector *all = new_vector(CHAIN);
    GC_ROOTS(gc, all, first);
    for (size_t i = 0; i < CHAIN; i++) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
    }
    for (size_t i = CHAIN; i-- > 0;) handles[i] = gc_handle_create_dependent(heap, i ? all->items[i - 1] : first, all->items[i]);
}

static void fill(vector *table) {
    GC_ROOTS(gc, table);
    for (size_t at = 0; at < table->header.length; at++) {
        bytes *b = sized(UNIT / 2 + random_bits() % 64 * 8, at);
        gc_store(gc, &table->items[at], b);
    }
    full();
    for (size_t at = 0; at < table->header.length; at += 2) gc_store(gc, &table->items[at], NULL);
    compact(); /* its copies are dense, so the holes come later */
    for (size_t at = 1; at < table->header.length; at += 6) gc_store(gc, &table->items[at], NULL);
    full();
}

static void followed(void) {
    gc_handle chain[CHAIN];
    vector *table = new_vector(HELD);
    node *first = new_node(1), *pinned = new_node(2), *final = NULL, *unneeded = NULL;
    void *inner = NULL, *weak = NULL;
    GC_ROOTS(gc, table, first, pinned, final, unneeded);
    gc_roots_add(heap, &inner, 1, GC_SLOT_INTERIOR);
    finalized = 0;
    final = new_node(5), unneeded = new_node(77);
    make_chain(chain, first);
    fill(table);
    gc_finalizer_register(gc, final, &counting);
    gc_finalizer_register(gc, unneeded, &counting);
    gc_object_add_external(gc, table->items[3], 1000);
    age(&final, 2);
    inner = ((bytes *)table->items[3])->items + 100;
    gc_handle to_weak = gc_handle_create(heap, GC_HANDLE_WEAK, table->items[5]), to_dead = gc_handle_create(heap, GC_HANDLE_WEAK, final);
    const void *before = table->items[3], *stays = NULL;
    gc_stats old = stats();
    uint64_t moves = gc_heap_moves(heap);
    final = unneeded = NULL;
    gc__collect_at_limit(heap, GC__SLIDE);
    gc_stats now = stats();
    weak = gc_handle_get(to_weak);
    ok(table->items[3] != before && gc_heap_moves(heap) != moves, "objects have moved, and it is said");
    ok(are_whole(table), "all are whole");
    ok(inner == ((bytes *)table->items[3])->items + 100, "an interior root follows its object");
    ok(weak == table->items[5] && !gc_handle_get(to_dead), "a weak handle does, too, or is cleared");
    is(now.external_bytes, old.external_bytes, "off-heap bytes stay their object's");
    ok(now.regions < old.regions, "%llu regions were %llu", (unsigned long long)now.regions, (unsigned long long)old.regions);
    size_t lived = 0;
    for (size_t i = 0; i < CHAIN; i++) {
        const node *n = (const node *)gc_handle_dependent(chain[i]);
        lived += n && n->value == i;
    }
    is(lived, CHAIN, "dependents of dependents live on");
    ok(asked && ((const node *)asked)->value, "a finalizer was asked about its object where that is");
    gc_finalizer_run(gc, SIZE_MAX);
    is(finalized, 5, "that which was needed has run");
    gc_handle pin = gc_handle_create(heap, GC_HANDLE_PINNED, pinned);
    stays = pinned;
    gc__collect_at_limit(heap, GC__SLIDE);
    ok(stays == pinned && are_whole(table), "what is pinned stays");
    gc_handle_destroy(heap, pin);
    gc_roots_remove(heap, &inner);
}

/* What is on its way takes no more memory than before: the host's functions count what is given back in time. */

static size_t given_back, commits;
static bool gives = true;
static void *reserve(void *context, size_t bytes, size_t alignment, bool readable) { return (void)context, gc__os_reserve(bytes, alignment, readable); }
static bool commit(void *context, void *address, size_t bytes) { return (void)context, commits++, gc__os_commit(address, bytes); }
static bool discard(void *context, void *address, size_t bytes) {
    (void)context;
    given_back += gives ? bytes : 0;
    return gives && gc__os_discard(address, bytes);
}
static void release(void *context, void *address, size_t bytes) { (void)context, gc__os_unmap(address, bytes); }

static void refused(void) {
    static const gc_memory memory = {.reserve = reserve, .commit = commit, .discard = discard, .release = release};
    for (gives = false;; gives = true) {
        begin_verified((gc_options){.memory = &memory});
        vector *table = new_vector(HELD);
        GC_ROOTS(gc, table);
        fill(table);
        size_t before = (size_t)stats().regions, held = heap->held_regions;
        given_back = 0;
        gc__collect_at_limit(heap, GC__SLIDE);
        ok(are_whole(table), "all is whole where memory %s given back", gives ? "is" : "cannot be");
        if (gives)
            ok(given_back >= (before - 1) * GC_REGION_BYTES / 2, "%zu KiB are given back of %zu regions", given_back >> 10, before);
        else
            ok(heap->held_regions <= held + 2, "then one region is packed, not all: %zu regions were %zu", heap->held_regions, held);
        end();
        if (gives) return;
    }
}

int main(void) {
    few_regions();
    run(followed, (gc_options){0});
    run(followed, (gc_options){.non_generational = true});
    run(followed, (gc_options){.collector_threads = 4, .test.collectors = 1});
    refused();
    return done();
}
