/* When heaps are collected as a whole, and how much they hold: near a limit they use their holes; without one,
   growth_percent says how much. */
#ifndef GC_REGION_SHIFT
#define GC_REGION_SHIFT 18
#endif
#define GC_IMPLEMENTATION
#include "gc.h"

#include "../fixture.h"
#include "folders.h"

#define LIVE_REGIONS 24
#define LEAST_BYTES ((size_t)256)

static uint64_t state;

static uint64_t draw(uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
}

/* Whether a table of objects can be filled, and each of them replaced three times, where one store in three keeps its object
   and one kept object in `pin_every` is pinned until it is replaced. */
static bool replaced(size_t limit, size_t bytes_each, size_t pin_every) {
    begin(&(gc_options){.heap_bytes_max = limit});
    size_t count = LIVE_REGIONS * GC_REGION_BYTES / bytes_each - LIVE_REGIONS * GC_REGION_BYTES / bytes_each / 64, made = 0, i;
    gc_handle *pins = (gc_handle *)calloc(count, sizeof *pins);
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    state = UINT64_C(88172645463325252);
    for (i = 0; table && i < 9 * count; i++) {
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, bytes_each - sizeof(bytes), GC_NEW_RAW);
        if (!b) break;
        size_t at = i < count ? i : draw(count);
        b->items[0] = (unsigned char)at;
        if (i >= count && i % 3) continue;
        if (pins[at]) gc_handle_destroy(heap, pins[at]), pins[at] = NULL;
        gc_store(gc, &table->items[at], b);
        if (pin_every && ++made % pin_every == 0) pins[at] = gc_handle_create(heap, GC_HANDLE_PINNED, b);
    }
    bool all = i == 9 * count;
    for (size_t at = 0; all && at < count; at++) all = ((bytes *)table->items[at])->items[0] == (unsigned char)at;
    free(pins);
    return all;
}

static void near_the_limit(void) {
    static const size_t every[] = {0, 1000, 100, 10};
    size_t size = GC_REGION_BYTES / 4096 > LEAST_BYTES ? GC_REGION_BYTES / 4096 : LEAST_BYTES;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        size_t percent = every[i] && every[i] <= 10 ? 140 : 120;
        ok(replaced(LIVE_REGIONS * GC_REGION_BYTES / 100 * percent, size, every[i]),
           "random replacement with one of %zu objects pinned, in %zu %% of what lives", every[i], percent);
        end();
    }
}

/* What is free is allocated in before the heap is collected again, most of it at least. */
static void seldom_collected(void) {
    size_t live = LIVE_REGIONS * GC_REGION_BYTES, limit = live / 2 * 3;
    ok(replaced(limit, LEAST_BYTES, 0), "random replacement in 1.5 times what lives");
    gc_stats now = stats();
    size_t each = (size_t)(now.allocated_bytes / (now.collections[2] ? now.collections[2] : 1));
    ok(each >= (limit - live) / 10 * 6, "%zu KiB are allocated for each full collection, where %zu are free", each >> 10, (limit - live) >> 10);
    end();
}

/* Where pins are in every region, without a limit: mutators have the holes between them. */
static void pin_fragmented(void) {
    size_t live = LIVE_REGIONS * GC_REGION_BYTES;
    ok(replaced(0, LEAST_BYTES, 40), "random replacement with one of 40 objects pinned, without a limit");
    size_t held = stats().committed_bytes_peak;
    ok(held <= 3 * live + ((size_t)3 << 20), "%zu KiB live, %zu held", live >> 10, held >> 10);
    end();
}

/* Few regions, none of which is kept for evacuation: small objects are replaced at random, and now and then a large one needs
   regions next to each other. Compaction fills holes then. */
static void few_regions(size_t regions, size_t percent, size_t least, size_t most) {
    begin(&(gc_options){.heap_bytes_max = regions * GC_REGION_BYTES});
    size_t live = regions * GC_REGION_BYTES / 100 * percent, large = GC_REGION_BYTES * 2, made = 0;
    size_t mean = (least + most) / 2 + 4 + sizeof(void *), count = live / mean, total = 60 * live / mean;
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    state = UINT64_C(88172645463325252);
    for (; table && made < total; made++) {
        if (made % (count / 2) == 0 && !gc_new_array(gc, &bytes_type, large)) break;
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, least - sizeof(bytes) + draw(most - least + 1), GC_NEW_RAW);
        if (!b) break;
        gc_store(gc, &table->items[made < count ? made : draw(count)], b);
    }
    is(made, total, "a limit of %zu regions, %zu %% of that live, in objects of %zu to %zu bytes: %s", regions, percent, least, most,
       made < total ? gc_last_message() : "none is refused");
    end();
}

static void full_of_holes(bool non_generational) {
    enum { REGIONS = 12 };
    begin(&(gc_options){.heap_bytes_max = REGIONS * GC_REGION_BYTES, .non_generational = non_generational});
    size_t count = REGIONS * GC_REGION_BYTES / 64, filled = 0;
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    for (bytes *b; table && (b = (bytes *)gc_new_with(gc, &bytes_type, 72, GC_NEW_RAW)) != NULL; filled++) {
        b->items[0] = (unsigned char)filled;
        gc_store(gc, &table->items[filled], b);
    }
    for (size_t i = 0; i < filled; i++)
        if (draw(10) < 6) gc_store(gc, &table->items[i], NULL);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    size_t holed = stats().regions;
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    size_t packed = stats().regions, least = stats().live_bytes / GC_REGION_BYTES + 1;
    ok(filled > 0 && holed >= REGIONS - 2, "%zu objects fill %zu regions", filled, holed);
    ok(packed <= (holed + least) / 2, "when six in ten are dropped, one compaction leaves %zu of them, where %zu would do", packed, least);
    bool same = true;
    for (size_t i = 0; i < filled; i++) same &= !table->items[i] || ((bytes *)table->items[i])->items[0] == (unsigned char)i;
    ok(same, "with the objects that live");
    end();
}

/* Of objects of two sizes the smaller ones die, in a full heap: no object of the other size has room in the holes. */
static void holes_too_small(void) {
    enum { REGIONS = 32, LARGER = GC_REGION_BYTES / 64, SMALLER = LARGER / 4 * 3 };
    begin(&(gc_options){.heap_bytes_max = REGIONS * GC_REGION_BYTES});
    size_t room = REGIONS * GC_REGION_BYTES / SMALLER, filled = 0, all;
    vector *table = (vector *)gc_new_array(gc, &vector_type, 2 * room);
    GC_ROOTS(gc, table);
    for (bytes *b; (b = (bytes *)gc_new_with(gc, &bytes_type, filled % 2 ? SMALLER : LARGER, GC_NEW_RAW)) != NULL; filled++)
        gc_store(gc, &table->items[filled], b);
    for (size_t i = 1; i < filled; i += 2) gc_store(gc, &table->items[i], NULL);
    all = filled;
    for (bytes *b; (b = (bytes *)gc_new_with(gc, &bytes_type, LARGER, GC_NEW_RAW)) != NULL; all++) gc_store(gc, &table->items[all], b);
    size_t live = (filled / 2 + all - filled) * LARGER;
    ok(live >= REGIONS * GC_REGION_BYTES / 100 * 80, "objects that are larger than all holes: %zu of %zu KiB are theirs in the end", live >> 10,
       REGIONS * GC_REGION_BYTES >> 10);
    end();
}

/* Nothing limits this heap, and nothing in it moves: what dies makes room for what is born. */
static void in_place(void) {
    enum { LIVE = 8, ROUNDS = 100 };
    size_t size = GC_REGION_BYTES / 4096 > LEAST_BYTES ? GC_REGION_BYTES / 4096 : LEAST_BYTES;
    size_t count = LIVE * GC_REGION_BYTES / size;
    begin(&(gc_options){.non_moving = true, .nursery_bytes = GC_REGION_BYTES});
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    for (size_t i = 0; i < ROUNDS * count; i++) {
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
        size_t at = i < count ? i : draw(count);
        if (i < count || i % 30 == 0) gc_store(gc, &table->items[at], b);
    }
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    ok(stats.committed_bytes_peak < LIVE * GC_REGION_BYTES / 2 * 5 + GC_REGION_BYTES, "a heap of %d regions that moves nothing held %.1f at most",
       LIVE, (double)stats.committed_bytes_peak / GC_REGION_BYTES);
}

/* Keeps a table of `live` bytes of objects; one in `every` new ones replaces another. Returns the most memory that was held. */
static size_t held_at_most(size_t live, size_t every, const gc_options *options) {
    begin(options);
    size_t count = live / (64 + sizeof(void *));
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    state = UINT64_C(88172645463325252);
    size_t each = every >= 10 ? 40 : is_quick() ? 2 * every : 4 * every; /* the most is held long before all has been replaced four times */
    for (size_t i = 0; table && i < each * count; i++) {
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, 64 - sizeof(bytes), GC_NEW_RAW);
        if (!b) return SIZE_MAX;
        if (i < count || i % every == 0) gc_store(gc, &table->items[i < count ? i : draw(count)], b);
    }
    return stats().committed_bytes_peak;
}

/* An array of 24 to 216 bytes, with zeroed contents or others, that is filled with what its place says. */
static size_t put(vector *table, size_t at) {
    size_t length = 8 + draw(25) * 8;
    bool zeroed = draw(2), clean = true;
    GC_ROOTS(gc, table);
    bytes *b = (bytes *)(zeroed ? gc_new_array(gc, &bytes_type, length) : gc_new_with(gc, &bytes_type, length, GC_NEW_RAW));
    for (size_t i = 0; zeroed && i < length; i++) clean &= !b->items[i];
    if (!clean) exit(3);
    memset(b->items, (int)(at & 255), length);
    gc_store(gc, &table->items[at], b);
    return gc_object_bytes(b);
}

/* Objects of many sizes are allocated in the holes that others have left, and counted to the byte, while threads have holes that
   they have not used yet. */
static void small_holes(void) {
    enum { COUNT = 20000 };
    begin_verified((gc_options){.non_moving = true, .non_generational = true, .nursery_bytes = 64 * GC_REGION_BYTES});
    vector *table = (vector *)gc_new_array(gc, &vector_type, COUNT);
    GC_ROOTS(gc, table);
    size_t live = gc_object_bytes(table), least = SIZE_MAX;
    for (size_t at = 0; at < COUNT; at++) put(table, at);
    for (size_t at = 0; at < COUNT; at++)
        if (draw(2)) gc_store(gc, &table->items[at], NULL);
    full();
    gc_stats before = stats();
    for (size_t at = 0, bytes = 0; at < COUNT; at++) {
        if (table->items[at] || draw(4) == 0) continue;
        bytes += put(table, at);
        if (at % 64 == 0 && stats().allocated_bytes - before.allocated_bytes != bytes) least = at < least ? at : least;
    }
    is(least, SIZE_MAX, "allocated bytes are exact at any time");
    gc_stats after = stats();
    is(after.collections[2], before.collections[2], "no collection");
    ok(after.committed_bytes <= before.committed_bytes, "%llu regions, %llu before", (unsigned long long)after.regions, (unsigned long long)before.regions);
    full();
    for (size_t at = 0; at < COUNT; at++) {
        const bytes *b = (const bytes *)table->items[at];
        for (size_t i = 0; b && i < b->header.length; i++)
            if (b->items[i] != (at & 255)) least = at < least ? at : least;
        live += b ? gc_object_bytes(b) : 0;
    }
    is(least, SIZE_MAX, "all objects are whole");
    is(stats().live_bytes, live, "and all that lives");
    end();
}

/* What the heap holds follows what lives, as growth_percent says: a nursery is at most half of the growth. */
static void grows_as_said(void) {
    static const unsigned percents[] = {30, 100, 300};
    size_t live = 48 * GC_REGION_BYTES, before = 0;
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        size_t growth = live / 100 * percents[i], held = held_at_most(live, 3, &(gc_options){.growth_percent = percents[i]});
        size_t most = live + growth + growth / 2 + live / 4 + ((size_t)1 << 20);
        ok(held <= most, "growth_percent %u: %zu KiB live, at most %zu held, not more than %zu", percents[i], live >> 10, held >> 10,
           most >> 10);
        ok(held > before, "more than with a smaller one");
        before = held;
        end();
    }
}

/* Replaces objects in a table of `live` bytes by chance; one in `every` new ones is kept. */
static void replace_at_random(size_t live, size_t size, size_t every, size_t total) {
    size_t count = live / (size + sizeof(void *));
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    state = UINT64_C(88172645463325252);
    for (size_t i = 0; i < total / size; i++) {
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
        if (i < count || i % every == 0) gc_store(gc, &table->items[i < count ? i : draw(count)], b);
    }
}

/* Nurseries of a small heap are promoted several times before all of it is collected. */
static void small_heaps_have_generations(void) {
    begin(&(gc_options){0});
    replace_at_random((size_t)128 << 10, 64, 1, (size_t)32 << 20);
    gc_stats seen = stats();
    ok(seen.collections[2] && 10 * seen.collections[2] <= 7 * seen.collections[0],
       "128 KiB live, replaced at random: %llu young collections, %llu full ones", (unsigned long long)seen.collections[0],
       (unsigned long long)seen.collections[2]);
    end();
}

/* Replaces objects of a table until a full collection has run that growth has called for.
   Returns how many of its objects are not in generation 2 after that. */
static size_t young_after_full(vector *table, size_t count) {
    GC_ROOTS(gc, table);
    size_t young = 0;
    for (uint64_t before = stats().collections[2]; stats().collections[2] == before;) {
        vector *made = new_vector(1 + draw(6));
        gc_store(gc, &table->items[draw(count)], made);
    }
    for (size_t i = 0; i < count; i++) young += table->items[i] && gc_object_generation(table->items[i]) < 2;
    return young;
}

/* While most of a nursery survives, full collections leave one generation; when objects die young again, they do not. */
static void one_generation(void) {
    const size_t count = 40000;
    begin_verified((gc_options){0});
    {
        vector *table = new_vector(count);
        GC_ROOTS(gc, table);
        size_t most = count;
        for (int i = 0; i < 12; i++) {
            size_t young = young_after_full(table, count);
            if (young < most) most = young;
        }
        ok(most <= 1, "where most of a nursery survives all that a full collection leaves is old (%zu objects are not)", most);
        uint64_t before = stats().collections[0];
        for (int i = 0; i < 600000; i++) new_vector(4);
        ok(stats().collections[0] > before + 2, "when objects die young, young collections come again: %llu",
           (unsigned long long)(stats().collections[0] - before));
    }
    end();
}

/* Copies have their part of the goal, even where most of the young generation dies later than was expected. */
static void copies_keep_to_the_goal(void) {
    size_t live = (size_t)24 << 20;
    begin(&(gc_options){0});
    replace_at_random(live, 512, 3, 15 * live);
    size_t held = stats().committed_bytes_peak, most = live / 2 * 5;
    ok(held <= most, "%zu MiB live: %zu KiB held at most, not more than %zu", live >> 20, held >> 10, most >> 10);
    end();
}

/* Puts new objects into a ring, and so drops those that are there. */
static void go_round(vector *ring, size_t size, size_t total) {
    GC_ROOTS(gc, ring);
    for (size_t i = 0; i < total / size; i++) {
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
        gc_store(gc, &ring->items[i % ring->header.length], b);
    }
}

/* Where old objects live on, what was promoted and has died is freed without looking at them. */
static void young_collections_suffice(void) {
    size_t live = (size_t)6 << 20;
    begin(&(gc_options){.nursery_bytes = live});
    vector *old = NULL, *ring = NULL;
    GC_ROOTS(gc, old, ring);
    old = new_vector(live / 64);
    go_round(old, 64 - sizeof(void *), live);
    ring = new_vector(live / 3 / 64);
    go_round(ring, 64, 8 * live);
    gc_stats before = stats();
    go_round(ring, 64, 40 * live);
    gc_stats after = stats();
    unsigned long long young = after.collections[1] - before.collections[1], full = after.collections[2] - before.collections[2];
    ok(young > 2 * full, "old objects live on: generation 1 is collected %llu times, all %llu times", young, full);
    end();
}

/* At the goal dense regions stay, even if half of their objects are expected to be dead: copies that go beyond it must free holes
   that are known. */
static void dense_regions_stay(void) {
    size_t live = 16 * GC_REGION_BYTES;
    begin(&(gc_options){.nursery_bytes = 4 * live});
    vector *old = new_vector(live / 64), *young = NULL;
    GC_ROOTS(gc, old, young);
    go_round(old, 64, live);
    full();
    full();
    young = new_vector(live / 64);
    go_round(young, 64, live);
    heap->pace->survival[0] = 100;
    heap->pace->survival[2] = 50;
    heap->goal_bytes = gc__bytes_in_use(heap);
    heap->collection.generation = 2;
    heap->collection.compacting = false;
    ok(gc__goal_left(heap) <= 3 * GC_REGION_BYTES, "at most %zu KiB of copies go beyond the goal", gc__goal_left(heap) >> 10);
    size_t before = (size_t)stats().moved_bytes;
    full();
    is(stats().moved_bytes - before, 0, "and dense regions stay as they are");
    end();
}

static void small_heaps(void) {
    size_t held = held_at_most(100000, 50, &(gc_options){0});
    ok(held <= (size_t)1 << 20, "a heap with 100 kB live holds %zu KiB, and tables of %zu KiB", held >> 10, stats().table_bytes >> 10);
    end();
    size_t least = 4 * GC_REGION_BYTES;
    ok(held_at_most(least / 100 * 55, 3, &(gc_options){.heap_bytes_max = least}) <= least, "four regions hold two regions of objects, and more");
    end();
}

/* Limits that change while the heap runs. */

/* Fills the table, and replaces each of its objects `rounds` times. */
static bool replaced_often(vector *table, size_t count, size_t rounds) {
    GC_ROOTS(gc, table);
    for (size_t i = 0; i < (rounds + 1) * count; i++) {
        bytes *b = (bytes *)gc_new_with(gc, &bytes_type, LEAST_BYTES - sizeof(bytes), GC_NEW_RAW);
        if (!b) return false;
        gc_store(gc, &table->items[i < count ? i : draw(count)], b);
    }
    return true;
}

static void limits_are(size_t max, size_t soft, unsigned percent, const char *why) {
    gc_limits limits;
    gc_heap_limits(heap, &limits);
    ok(limits.heap_bytes_max == max && limits.heap_bytes_soft == soft && limits.overhead_percent_max == percent, "%s", why);
}

static void changed_limit(void) {
    size_t live = LIVE_REGIONS * GC_REGION_BYTES, count = live / (LEAST_BYTES + sizeof(void *));
    begin(NULL);
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    is(stats().heap_bytes_max, 0, "at first there is no limit");
    replaced_often(table, count, 3);
    ok(stats().committed_bytes > live / 10 * 15, "the heap holds %zu KiB", stats().committed_bytes >> 10);
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = live / 10 * 13}), GC_OK, "the limit becomes 1.3 times what lives: %s", gc_last_message());
    is(stats().heap_bytes_max, live / 10 * 13, "which statistics show");
    gc_stats now = stats();
    /* The collector's lists may have grown since regions were given back. */
    ok(now.committed_bytes + now.table_bytes + now.metadata_bytes <= live / 10 * 13 + GC_REGION_BYTES, "the heap gives back what it holds beyond that: %zu, %zu and %zu of %zu", now.committed_bytes, now.table_bytes, now.metadata_bytes, live / 10 * 13);
    ok(replaced_often(table, count, 3), "and goes on within it");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = live / 2, .heap_bytes_soft = live, .overhead_percent_max = 7}), GC_ERROR_HEAP_FULL, "half of what lives is refused");
    limits_are(live / 10 * 13, 0, 0, "then all limits stay");
    has(gc_last_message(), "drop references", "with a message");
    is(stats().heap_bytes_max, live / 10 * 13, "and the limit stays");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 1}), GC_ERROR_OPTION, "a limit that no heap can have is refused");
    has(gc_last_message(), "heap_bytes_max is 1 bytes", "with a message");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 4 * live}), GC_OK, "a higher limit");
    vector *other = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, other);
    ok(replaced_often(other, count, 1), "lets the heap grow again");
    table = other = NULL;
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = live / 2}), GC_OK, "what has died is in no limit's way");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = SIZE_MAX}), GC_OK, "and there may be none");
    end();
}

static void soft_limit(void) {
    size_t live = 48 * GC_REGION_BYTES, free = held_at_most(live, 3, &(gc_options){.growth_percent = 300});
    end();
    size_t held = held_at_most(live, 3, &(gc_options){.growth_percent = 300, .heap_bytes_soft = 2 * live});
    ok(held <= 2 * live + live / 4 + ((size_t)2 << 20) && held < free / 3 * 2, "a soft limit of twice what lives: %zu KiB held, %zu without it", held >> 10, free >> 10);
    end();
    live /= 4; /* each nursery is followed by a full collection */
    held = held_at_most(live, 3, &(gc_options){.growth_percent = 300, .heap_bytes_soft = live / 2});
    ok(held > live && held < 2 * live + ((size_t)1 << 20), "one that is too small is exceeded, %zu KiB are held, and nothing fails", held >> 10);
    limits_are(0, live / 2, 0, "the heap's limits are those of its options");
    gc_limits limits;
    gc_heap_limits(heap, &limits);
    limits.overhead_percent_max = 60;
    is(gc_heap_set_limits(heap, &limits), GC_OK, "one of them is changed");
    limits_are(0, live / 2, 60, "and the others stay");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 4 * live, .overhead_percent_max = 101}), GC_ERROR_OPTION, "where one is refused");
    limits_are(0, live / 2, 60, "all stay");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 4 * live}), GC_OK, "fields that are 0");
    limits_are(4 * live, 0, 0, "take limits away");
    end();
}

/* What was free for a while goes back to the system as regions are taken; no full collection runs for that. */
static void falls_back(bool keep_memory) {
    enum { FREE = 100, PERIODS = 60 };
    begin(&(gc_options){.keep_memory = keep_memory, .nursery_bytes = 4 * GC_REGION_BYTES});
    gc_new_array(gc, &bytes_type, FREE * GC_REGION_BYTES - sizeof(bytes));
    heap->options.keep_memory = true; /* as if it had been needed until now */
    full();
    heap->options.keep_memory = keep_memory;
    size_t before = stats().committed_bytes, fulls = (size_t)stats().collections[2];
    for (size_t i = 0; i < PERIODS * GC_REGION_BYTES / sizeof(node); i++) {
        if (i % (GC_REGION_BYTES / sizeof(node)) == 0) heap->uncommitted_ns = 0; /* a while */
        new_node(i);
    }
    size_t after = stats().committed_bytes;
    ok(before >= FREE * GC_REGION_BYTES, "%zu KiB are free after a burst", before >> 10);
    ok(keep_memory ? after == before : after < 16 * GC_REGION_BYTES, "%zu KiB are left a while later%s", after >> 10, keep_memory ? ", with keep_memory" : "");
    is(stats().collections[2], fulls, "without a full collection");
    end();
}

/* The picture of memory accounts for all that the heap holds. */
static void pictured(void) {
    char text[8000];
    begin(&(gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES});
    node *list = NULL;
    bytes *big = new_bytes(3 * GC_REGION_BYTES + 100);
    GC_ROOTS(gc, list, big);
    for (size_t i = 0; i < 30 * GC_REGION_BYTES / sizeof(node); i++) {
        node *n = new_node(i);
        if (i % 3) gc_store(gc, &n->left, list), list = n;
    }
    for (int round = 0; round < 3; round++) {
        gc__memory m;
        gc_stats now = stats();
        gc__memory_sum(heap, &m);
        is(m.live + m.holes + m.nursery + m.nursery_rest + m.large_waste + m.free, now.committed_bytes, "all that the heap holds is accounted for, round %d", round);
        ok(m.live + m.nursery >= now.live_bytes - GC_REGION_BYTES && m.live + m.nursery <= now.live_bytes + GC_REGION_BYTES, "what lives, too");
        if (round) full();
        else gc_collect(heap, 0, 0);
    }
    FILE *file = fmemopen(text, sizeof text, "w");
    gc_heap_print_memory(heap, file);
    fclose(file);
    has(text, "live", "live objects are in the picture");
    has(text, "LLLL", "so are the regions of a large one");
    has(text, "heap_bytes_max in force", "and the limit");
    diag("%s", text);
    gc_heap_add_external(heap, PTRDIFF_MAX);
    file = fmemopen(text, sizeof text, "w");
    gc_heap_print_memory(heap, file);
    fclose(file);
    has(text, "MiB  ########################################  gc_object_add_external", "any number of off-heap bytes has a bar");
    gc_heap_add_external(heap, -PTRDIFF_MAX);
    end();
}

/* What is beside the regions counts. */
static void counted(void) {
    enum { LIMIT = 64, HANDLES = 200000 };
    size_t made[2] = {0, 0};
    for (int with = 0; with < 2; with++) {
        begin(&(gc_options){.heap_bytes_max = LIMIT * GC_REGION_BYTES});
        for (size_t i = 0; with && i < HANDLES; i++) gc_handle_create(heap, GC_HANDLE_WEAK, NULL);
        node *list = NULL, *n;
        GC_ROOTS(gc, list);
        for (; (n = new_node(0)) != NULL; made[with]++, list = n) gc_store(gc, &n->left, list);
        gc_stats now = stats();
        ok(now.committed_bytes + now.table_bytes + now.metadata_bytes <= LIMIT * GC_REGION_BYTES, "regions, tables and the rest are within the limit: %zu of %zu", now.committed_bytes + now.table_bytes + now.metadata_bytes, LIMIT * GC_REGION_BYTES);
        ok(!with || now.metadata_bytes >= HANDLES * sizeof(void *), "handles are counted: %zu KiB", now.metadata_bytes >> 10);
        end();
    }
    ok(made[1] * sizeof(node) + HANDLES * sizeof(void *) < made[0] * sizeof(node) + GC_REGION_BYTES, "what handles take objects cannot: %zu nodes, %zu beside handles",
       made[0], made[1]);
}

/* So do the collector's lists: notes of weak tables, and what each of several threads has. */
static void lists_counted(void) {
    enum { TABLES = 20000 };
    static const gc_type weak_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);
    begin(NULL);
    vector *tables = new_vector(TABLES);
    GC_ROOTS(gc, tables);
    full();
    size_t before = stats().metadata_bytes;
    for (size_t i = 0; i < TABLES; i++) {
        vector *weak = (vector *)gc_new_array(gc, &weak_type, 1);
        gc_store(gc, &tables->items[i], weak);
    }
    full();
    size_t notes = stats().metadata_bytes - before;
    ok(notes >= TABLES * sizeof(gc_weak_entries), "notes of %d weak tables count as %zu KiB", TABLES, notes >> 10);
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = (size_t)8 << 20}), GC_OK, "near a limit");
    full();
    ok(stats().metadata_bytes < before + ((size_t)64 << 10), "they are given back after each collection");
    end();
    begin(&(gc_options){.collector_threads = 4, .test.collectors = 1});
    full();
    ok(stats().metadata_bytes > before + sizeof(gc__workers), "and the lists of several threads count: %zu KiB", stats().metadata_bytes >> 10);
    end();
}

/* Control groups, in a folder that has their files. */

static char root[] = "/tmp/test_space.XXXXXX";

static void write_file(const char *file, const char *text) {
    char name[500];
    snprintf(name, sizeof name, "%s%s", root, file);
    make_folders(name);
    FILE *out = fopen(name, "w");
    if (!out) printf("Bail out! cannot write %s\n", name), exit(2);
    fputs(text, out);
    fclose(out);
}

static void is_limited(size_t bytes, const char *where) {
    is(gc__os_container_bytes(), bytes, "%s: %zu MiB", where, bytes >> 20);
}

#define MIB ((size_t)1 << 20)
#define MOUNTED_2 "30 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNTED_1 "22 1 8:1 / / rw - ext4 /dev/root rw\n35 31 0:32 %s /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

static void in_second_version(void) {
    is_limited(0, "no files at all");
    write_file("/proc/self/cgroup", "0::/system.slice/program.service\n");
    write_file("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" MOUNTED_2);
    is_limited(0, "a group without files");
    write_file("/sys/fs/cgroup/system.slice/program.service/memory.max", "max\n");
    is_limited(0, "a group without a limit");
    write_file("/sys/fs/cgroup/system.slice/memory.max", "268435456\n");
    is_limited(256 * MIB, "the group around it has one");
    write_file("/sys/fs/cgroup/system.slice/program.service/memory.max", "134217728\n");
    is_limited(128 * MIB, "the group has a smaller one");
    write_file("/sys/fs/cgroup/system.slice/program.service/memory.high", "100663296\n");
    is_limited(96 * MIB, "memory.high is a limit, too");
    write_file("/sys/fs/cgroup/memory.max", "67108864\n");
    write_file("/proc/self/cgroup", "0::/\n");
    is_limited(64 * MIB, "a container that sees itself as the top");
    write_file("/proc/self/cgroup", "0::/../../elsewhere\n");
    is_limited(64 * MIB, "a group outside what the container sees");
    write_file("/sys/fs/cgroup/memory.max", "18446744073709551615\n");
    is_limited(0, "more than the machine has");
    write_file("/sys/fs/cgroup/memory.max", "rubbish");
    is_limited(0, "no number");
}

static void in_first_version(void) {
    char mounts[300];
    snprintf(mounts, sizeof mounts, MOUNTED_2 MOUNTED_1, "/");
    write_file("/proc/self/cgroup", "12:cpu,cpuacct:/a\n4:hugetlb,memory:/docker/12ab\n0::/b\n");
    write_file("/proc/self/mountinfo", mounts);
    write_file("/sys/fs/cgroup/memory/docker/12ab/memory.limit_in_bytes", "33554432\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    is_limited(32 * MIB, "the first version");
    snprintf(mounts, sizeof mounts, MOUNTED_1, "/docker/12ab");
    write_file("/proc/self/mountinfo", mounts);
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "16777216\n");
    is_limited(16 * MIB, "where the container's group is mounted");
    write_file("/proc/self/cgroup", "4:memory_other:/a\n");
    is_limited(0, "another controller");
}

/* The nursery after a young collection that took 1 ms of 100 ms of CPU, and of other collector threads `beside`. */
static size_t nursery_after(uint64_t beside) {
    uint64_t now = gc__os_cpu_ns();
    heap->collection.generation = 0;
    heap->pace->nursery_bytes = 8 * MIB;
    heap->pace->stopped_cpu_ns = now - 1000000;
    heap->pace->resumed_cpu_ns = now - 100000000;
    heap->pace->resumed_by = gc__os_self();
    heap->pace->workers_cpu_ns = 0;
    heap->collector->workers->threads[1].cpu_ns = beside;
    gc__pace_nursery(heap);
    return heap->pace->nursery_bytes;
}

/* The collector's own structures, without threads. */
static void pacing_counts_all_threads(void) {
    begin(NULL);
    gc__workers *workers = gc__workers_new(heap);
    workers->count = 2;
    heap->full_bytes = (size_t)1 << 30;
    heap->collector->workers = workers;
    ok(nursery_after(0) < 8 * MIB, "a nursery shrinks whose collections take a hundredth of the CPU time");
    ok(nursery_after(50000000) > 8 * MIB, "and grows if other collector threads took a third of it");
    workers->count = 1;
    end();
}

static void has_quota(unsigned processors, const char *where) { is(gc__os_quota(), processors, "%s", where); }

static void processors_by_quota(void) {
    char mounts[300];
    write_file("/proc/self/cgroup", "0::/system.slice/program.service\n");
    write_file("/proc/self/mountinfo", MOUNTED_2);
    has_quota(UINT_MAX, "no quota of processors");
    write_file("/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n");
    has_quota(UINT_MAX, "a group without one");
    write_file("/sys/fs/cgroup/system.slice/cpu.max", "250000 100000\n");
    has_quota(3, "a quota of 2.5 processors is three threads");
    write_file("/sys/fs/cgroup/system.slice/program.service/cpu.max", "20000 100000\n");
    has_quota(1, "one of a fifth is one");
    snprintf(mounts, sizeof mounts, "35 31 0:32 %s /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n", "/");
    write_file("/proc/self/cgroup", "12:cpu,cpuacct:/a\n4:memory:/b\n");
    write_file("/proc/self/mountinfo", mounts);
    write_file("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
    write_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    has_quota(UINT_MAX, "the first version, without a quota");
    write_file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
    has_quota(2, "with one of two processors");
}

static void in_container(void) {
    if (!mkdtemp(root)) printf("Bail out! cannot make %s\n", root), exit(2);
    gc__os_root = root;
    in_second_version();
    write_file("/sys/fs/cgroup/memory.max", "33554432\n");
    begin(NULL);
    is(gc_container_bytes(), 32 * MIB, "a host learns what its container has");
    is(stats().heap_bytes_max, 0, "a new heap does not look for a container");
    node *list = NULL, *n;
    GC_ROOTS(gc, list);
    for (; (n = new_node(0)) != NULL; list = n) gc_store(gc, &n->left, list);
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "a heap in a container is limited");
    has(gc_last_message(), "three quarters of the container's memory", "and says so");
    is(stats().heap_bytes_max, 24 * MIB, "to three quarters of it");
    write_file("/sys/fs/cgroup/memory.max", "67108864\n");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 0}), GC_OK, "it can look again");
    is(stats().heap_bytes_max, 48 * MIB, "and has three quarters of what there is now");
    list = NULL;
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 8 * MIB}), GC_OK, "or have a limit of its own");
    has((gc_new_array(gc, &bytes_type, 9 * MIB), gc_last_message()), "(heap_bytes_max)", "which messages name");
    end();
    begin(NULL);
    gc_pacing paused = {.paused = true};
    is(gc_heap_set_pacing(heap, &paused), GC_OK, "a paused heap");
    for (size_t bytes = 0; bytes < 200 * MIB; bytes += 1024) new_bytes(1024);
    ok(stats().committed_bytes_peak <= 48 * MIB, "keeps to the container's limit, too");
    end();
    begin(NULL);
    ok(!gc_new_array(gc, &bytes_type, 100 * MIB), "nor does its first object exceed it");
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "by an error");
    end();
    in_first_version();
    processors_by_quota();
    gc__os_root = "";
    ok(remove_folder(root), "the folder is removed");
}

/* Where room is made of the slack behind an array that grows into it, what it takes of that is spare, and counted as such. */
static void slack_of_what_grows(void) {
    bytes *array = NULL;
    GC_ROOTS(gc, array);
    for (int i = 0; i < 8; i++) {
        array = new_bytes(2 * GC_REGION_BYTES - 64);
        memset(array->items, 1, array->header.length);
    }
    array = NULL;
    vector *small = new_vector(100); /* a reserve is kept where objects can be copied */
    GC_ROOTS(gc, small);
    full();
    array = new_bytes(GC_REGION_BYTES + GC_REGION_BYTES / 8);
    const gc__region *region = gc__region_of((uintptr_t)array);
    size_t reserve = gc__evacuation_reserve(heap) * GC_REGION_BYTES, length = array->header.length;
    is(heap->slack_bytes, gc__large_slack(region), "what is behind an array was written to before");
    ok(heap->slack_bytes >= 3 * gc__page_end(1) && reserve, "and takes memory, of which a reserve is kept");
    heap->metadata_bytes += gc__bytes_left(heap) - reserve + gc__page_end(1);
    ok(gc_array_grow(gc, array, length + gc__page_end(1)), "the array grows where room is short");
    is(heap->slack_bytes, gc__large_slack(region), "its slack is counted as it is");
    is(heap->spare_bytes, region->spare, "and so is what became spare");
    size_t wrong = 0;
    for (size_t i = length; i < array->header.length; i++) wrong += array->items[i] != 0;
    is(wrong, 0, "what it has grown by is zero");
}

/* Collections of the whole heap while little lives and some of it is replaced. */
static size_t full_of_little(size_t growth) {
    enum { COUNT = 4000 };
    begin(&(gc_options){.growth_bytes_min = growth, .nursery_bytes = GC_REGION_BYTES / 4});
    vector *table = (vector *)gc_new_array(gc, &vector_type, COUNT);
    GC_ROOTS(gc, table);
    for (size_t i = 0; i < 100 * COUNT; i++) put(table, i % COUNT);
    return stats().collections[2];
}
static void little_may_grow(void) {
    size_t usual = full_of_little(0);
    end();
    size_t few = full_of_little(32 << 20);
    end();
    ok(few * 4 < usual, "growth_bytes_min: %zu full collections of a small heap, %zu without", few, usual);
    full_of_little(SIZE_MAX);
    is(stats().collections[2], 0, "and none where it may grow without end");
    end();
}

int main(void) {
    little_may_grow();
    near_the_limit();
    seldom_collected();
    pin_fragmented();
    few_regions(16, 40, 24, 168);
    few_regions(16, 60, 24, 168);
    few_regions(8, 35, 24, 168);
    few_regions(16, 50, 256, 4096);
    full_of_holes(false);
    full_of_holes(true);
    holes_too_small();
    in_place();
    end();
    small_holes();
    grows_as_said();
    small_heaps_have_generations();
    one_generation();
    copies_keep_to_the_goal();
    young_collections_suffice();
    dense_regions_stay();
    small_heaps();
    changed_limit();
    soft_limit();
    falls_back(false);
    falls_back(true);
    pictured();
    counted();
    lists_counted();
    pacing_counts_all_threads();
    in_container();
    run(slack_of_what_grows, (gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES, .nursery_bytes = 16 * GC_REGION_BYTES});
    return done();
}
