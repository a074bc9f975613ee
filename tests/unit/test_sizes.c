/* Objects of every size: how much of a limit they fill, at the edges of every unit of memory; the least limit under random
   replacement; and that what is given back to the system beyond large objects' ends is whole when it is used again. */
#include "../fixture.h"

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define SPARE_PERCENT 12

static const gc_options plain = {0};

/* Fills the table with objects of `size`, which nothing writes to, until none fits any more. Returns how many did. */
static size_t fill(vector *all, size_t size) {
    size_t filled = 0;
    GC_ROOTS(gc, all);
    for (; all && filled < all->header.length; filled++) {
        bytes *object = gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
        if (!object) break;
        gc_store(gc, &all->items[filled], object);
    }
    return filled;
}

/* The same in a heap of `limit`; returns the bytes of all. */
static size_t filled_bytes(size_t limit, size_t size, gc_options options) {
    options.heap_bytes_max = limit;
    begin(&options);
    vector *all = new_vector(limit / size + 1);
    GC_ROOTS(gc, all);
    size_t filled = fill(all, size);
    return all ? filled * size + gc_object_bytes(all) : 0;
}

static void fills(size_t size, gc_options options) {
    size_t limit = 14 * size > 100 * GC_REGION_BYTES ? 14 * size : 100 * GC_REGION_BYTES;
    size_t bytes = filled_bytes(limit, size, options), free = limit - bytes;
    gc_stats now = stats();
    end();
    /* One more would fit but for what is wasted, and the collector's tables; the table has a region, and one is kept for evacuation. */
    ok(bytes && free < limit / 100 * (SPARE_PERCENT + 2) + size + 2 * GC_REGION_BYTES, "%zu bytes each%s: %zu of %zu KiB filled; %s", size,
       options.non_moving ? ", in place" : "", bytes >> 10, limit >> 10, gc_last_message());
    ok(now.committed_bytes_peak <= limit && now.used_bytes <= now.committed_bytes, "the limit holds: %zu KiB used, %zu held",
       now.used_bytes >> 10, now.committed_bytes_peak >> 10);
}

/* A heap that is filled to the last object can still be compacted: some of its objects die, and larger ones get their room. */
static void refills(size_t dead_every) {
    enum { REGIONS = 100, LARGER = 9 };
    size_t size = GC_REGION_BYTES / 100 / 8 * 8, limit = REGIONS * GC_REGION_BYTES;
    begin(&(gc_options){.heap_bytes_max = limit});
    vector *all = new_vector(limit / size), *more = NULL;
    GC_ROOTS(gc, all, more);
    size_t count = fill(all, size), dead = 0;
    ok(count * size > limit / 100 * 90, "a heap is full with %zu of %zu KiB", count * size >> 10, limit >> 10);
    for (size_t i = 0; i < count; i += dead_every, dead++) gc_store(gc, &all->items[i], NULL);
    more = new_vector(dead / LARGER);
    size_t larger = more ? fill(more, LARGER * size) : 0;
    ok(larger * LARGER >= dead * 8 / 10, "one in %zu objects dies: %zu of %d times their size find room, where %zu have died", dead_every, larger, LARGER, dead);
    end();
}

/* From 16 bytes to 64 MB; on both sides of what is large, of pages and of regions. */
static void waste(void) {
    const size_t edges[] = {GC_LARGE_BYTES / 2, GC_LARGE_BYTES, 2 * GC_LARGE_BYTES, GC_REGION_BYTES, GC_REGION_BYTES + PAGE,
                                   2 * GC_REGION_BYTES, 7 * GC_REGION_BYTES, (size_t)64 << 20};
    for (size_t size = 32; size < GC_LARGE_BYTES / 2; size = size * 5 / 8 * 8) fills(size, plain);
    for (size_t e = 0; e < sizeof edges / sizeof *edges; e++)
        for (size_t at = 0; at < 3; at++) {
            size_t size = edges[e] - 8 + 8 * at;
            if (size > GC_LARGE_BYTES && size / PAGE < 100 / SPARE_PERCENT) continue; /* a page more is more than that */
            fills(size, plain);
            if (e % 2) fills(size, (gc_options){.non_moving = true});
        }
}

/* Replaces objects of random sizes in [least, most] at random in a heap that may hold `percent` of what lives. */
static bool replaced(size_t live, size_t least, size_t most, size_t percent, gc_options options) {
    options.heap_bytes_max = live / 100 * percent;
    begin(&options);
    size_t count = live / ((least + most) / 2), now = 0, i, wrong = 0;
    vector *all = new_vector(count);
    GC_ROOTS(gc, all);
    for (i = 0; all && i < 8 * count; i++) {
        size_t at = i < count ? i : random_bits() % count, size = least + random_bits() % (most - least);
        bytes *old = all->items[at];
        if (old) wrong += old->items[0] != (unsigned char)at || old->items[old->header.length - 1] != (unsigned char)at;
        size_t others = now - (old ? gc_object_bytes(old) : 0);
        if (others + size + 8 * count > live) size = others + least + 8 * count > live ? least : live - others - 8 * count;
        bytes *object = new_bytes((size - sizeof(bytes)) & ~(size_t)7);
        if (!object) break;
        wrong += object->items[0] || object->items[object->header.length - 1];
        object->items[0] = object->items[object->header.length - 1] = (unsigned char)at;
        now = others + gc_object_bytes(object);
        gc_store(gc, &all->items[at], object);
    }
    bool done = i == 8 * count && !wrong;
    end();
    return done;
}

static void least_limits(void) {
    size_t unit = GC_REGION_BYTES / 256 * 100, live = 200 * GC_REGION_BYTES;
    ok(replaced(live, unit, 20 * unit, 120, plain), "sizes from 0.4 to 8 regions, replaced at random in 120 %% of what lives");
    ok(replaced(live, unit, 20 * unit, 120, (gc_options){.non_moving = true}), "the same in place");
    ok(replaced(live, unit, 20 * unit, 120, (gc_options){.non_generational = true}), "the same without generations");
    ok(replaced(live, unit / 10, 3 * unit, 130, plain), "sizes from 0.04 to 1.2 regions, in 130 %%");
}

/* Memory that was written to in every way and given back is zero when objects are made there. */
static void ends_are_whole(void) {
    vector *keep = new_vector(64);
    GC_ROOTS(gc, keep);
    size_t wrong = 0, spare = 0;
    for (size_t round = 0; round < 60; round++) {
        for (size_t i = 0; i < 64; i++) {
            bool large = random_bits() % 2;
            size_t size = large ? GC_LARGE_BYTES + random_bits() % (2 * GC_REGION_BYTES) : random_bits() % GC_LARGE_BYTES;
            bytes *object = new_bytes(size + 1);
            for (size_t at = 0; at <= size; at += 97) wrong += object->items[at] != 0;
            memset(object->items, 0xA5, size + 1);
            if (random_bits() % 3 == 0) gc_store(gc, &keep->items[i], object);
            else if (random_bits() % 3 == 0) gc_store(gc, &keep->items[i], NULL);
        }
        gc_collect(heap, (int)(random_bits() % 3), random_bits() % 8 == 0 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < 64; i++) {
            bytes *object = keep->items[i];
            for (size_t at = 0; object && at < object->header.length; at += 997) wrong += object->items[at] != 0xA5;
        }
        gc_stats now = stats();
        spare += now.regions * GC_REGION_BYTES - now.used_bytes > 0;
    }
    is(wrong, 0, "new objects are zero, and old ones keep what was written");
    ok(spare > 10, "ends of large objects were given back");
}

/* What survives holds the pages that it needs, although its regions were full of other objects before. */
static void survivors_give_back(void) {
    enum { COUNT = 24 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < 40 * GC_REGION_BYTES / 64; i++) new_bytes(64 - sizeof(bytes))->items[0] = 1;
    gc_collect(heap, 0, 0);
    size_t size = GC_REGION_BYTES + GC_REGION_BYTES / 4, before = stats().used_bytes;
    for (size_t i = 0; i < COUNT; i++) gc_store(gc, &keep->items[i], new_bytes(size));
    gc_collect(heap, 0, 0);
    size_t used = stats().used_bytes - before;
    ok(used <= COUNT * (size + 2 * PAGE) + 2 * GC_REGION_BYTES, "%d objects of %zu bytes use %zu KiB", COUNT, size, used >> 10);
    for (size_t i = 0; i < COUNT; i++) gc_store(gc, &keep->items[i], NULL);
    full();
    is(stats().large_bytes, 0, "they die");
    ok(stats().used_bytes < 4 * GC_REGION_BYTES, "and use nothing");
}

static bool count_walked(void *context, void *object, size_t bytes, int generation) {
    (void)object, (void)generation;
    if (bytes > GC_LARGE_BYTES) ++*(size_t *)context;
    return true;
}

/* Pins, interior words, weak handles and walks, for an object that ends in the middle of a region. */
static void promises(void) {
    vector *large = new_vector((2 * GC_REGION_BYTES + GC_REGION_BYTES / 2) / 8);
    char *inside = (char *)large + 2 * GC_REGION_BYTES + 1000, *beyond = (char *)large + 2 * GC_REGION_BYTES + GC_REGION_BYTES * 3 / 4;
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, large), pin = gc_handle_create(heap, GC_HANDLE_PINNED, large);
    size_t walked = 0;
    full();
    ok(gc_handle_get(weak) == large, "a pin keeps it, where it is");
    ok(gc_heap_object_at(heap, inside) == large && !gc_heap_object_at(heap, beyond), "addresses in it resolve to it, others do not");
    gc_store(gc, &large->items[2 * GC_REGION_BYTES / 8 + 5], new_node(7));
    gc_collect(heap, 0, 0);
    is(((node *)large->items[2 * GC_REGION_BYTES / 8 + 5])->value, 7, "a card in its last region leads to a young object");
    gc_heap_walk(heap, count_walked, &walked);
    is(walked, 1, "a walk finds it once");
    gc_handle_destroy(heap, pin);
    gc_roots_add(heap, &inside, 1, GC_SLOT_INTERIOR);
    full();
    ok(gc_handle_get(weak) == large, "an interior root in its last region keeps it");
    gc_roots_remove(heap, &inside);
    gc_roots_add(heap, &beyond, 1, GC_SLOT_CONSERVATIVE);
    full();
    ok(!gc_handle_get(weak), "a word beyond its end does not");
    gc_roots_remove(heap, &beyond);
    gc_handle_destroy(heap, weak);
}

int main(void) {
    waste();
    refills(2);
    refills(7);
    least_limits();
    run(ends_are_whole, plain);
    run(ends_are_whole, (gc_options){.non_moving = true});
    run(ends_are_whole, (gc_options){.heap_bytes_max = 400 * GC_REGION_BYTES});
    run(ends_are_whole, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 50});
    run(survivors_give_back, (gc_options){.nursery_bytes = 64 * GC_REGION_BYTES});
    run(promises, plain);
    run(promises, (gc_options){.non_moving = true});
    run(promises, (gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    return done();
}
