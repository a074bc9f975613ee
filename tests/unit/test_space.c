/* The memory that heaps hold: near a limit they use their holes; without one, growth_percent says how much. */
#ifndef GC_REGION_SHIFT
#define GC_REGION_SHIFT 18
#endif
#define GC_IMPLEMENTATION
#include "gc.h"

#include "../fixture.h"

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
        bytes *b = (bytes *)gc_new_array_raw(gc, &bytes_type, bytes_each - sizeof(bytes));
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

/* Nothing limits this heap, and nothing in it moves: what dies makes room for what is born. */
static void in_place(void) {
    enum { LIVE = 8, ROUNDS = 100 };
    size_t size = GC_REGION_BYTES / 4096 > LEAST_BYTES ? GC_REGION_BYTES / 4096 : LEAST_BYTES;
    size_t count = LIVE * GC_REGION_BYTES / size;
    begin(&(gc_options){.non_moving = true, .nursery_bytes = GC_REGION_BYTES});
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    for (size_t i = 0; i < ROUNDS * count; i++) {
        bytes *b = (bytes *)gc_new_array_raw(gc, &bytes_type, size - sizeof(bytes));
        size_t at = i < count ? i : draw(count);
        if (i < count || i % 30 == 0) gc_store(gc, &table->items[at], b);
    }
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    ok(stats.committed_bytes_peak < LIVE * GC_REGION_BYTES * 4, "a heap of %d regions that moves nothing held %.1f at most",
       LIVE, (double)stats.committed_bytes_peak / GC_REGION_BYTES);
}

/* Keeps a table of `live` bytes of objects; one in `every` new ones replaces another. Returns the most memory that was held. */
static size_t held_at_most(size_t live, size_t every, const gc_options *options) {
    begin(options);
    size_t count = live / (64 + sizeof(void *));
    vector *table = (vector *)gc_new_array(gc, &vector_type, count);
    GC_ROOTS(gc, table);
    state = UINT64_C(88172645463325252);
    for (size_t i = 0; table && i < 40 * count; i++) {
        bytes *b = (bytes *)gc_new_array_raw(gc, &bytes_type, 64 - sizeof(bytes));
        if (!b) return SIZE_MAX;
        if (i < count || i % every == 0) gc_store(gc, &table->items[i < count ? i : draw(count)], b);
    }
    return stats().committed_bytes_peak;
}

/* What the heap holds follows what lives, as growth_percent says: a nursery is at most half of the growth. */
static void grows_as_said(void) {
    static const unsigned percents[] = {30, 100, 300};
    size_t live = 64 * GC_REGION_BYTES, before = 0;
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

static void small_heaps(void) {
    size_t held = held_at_most(100000, 50, &(gc_options){0});
    ok(held <= (size_t)1 << 20, "a heap with 100 kB live holds %zu KiB, and tables of %zu KiB", held >> 10, stats().table_bytes >> 10);
    end();
    size_t least = 4 * GC_REGION_BYTES;
    ok(held_at_most(least / 100 * 55, 3, &(gc_options){.heap_bytes_max = least}) <= least, "four regions hold two regions of objects, and more");
    end();
}

int main(void) {
    near_the_limit();
    in_place();
    end();
    grows_as_said();
    small_heaps();
    return done();
}
