/* GC_DEBUG 3: damage to the collector's own structures, planted on purpose, is reported by the next collection. And sums that
   collections keep, by numbers instead of clocks. */
#define _GNU_SOURCE
#undef GC_DEBUG
#define GC_DEBUG 3
#define GC_IMPLEMENTATION
#include "../fixture.h"

static const gc_finalizer finalizer = {.finalize = (void (*)(gc_thread *, void *))abort};
static char report[16384];
static void *kept[4]; /* a large object, and small ones of the generations 0 to 2 */
static gc_handle handles[3];

/* A heap with something in each structure. */
static void begin_full(void) {
    begin(&(gc_options){.skip_finalizers_at_end = true});
    gc_roots_add(heap, kept, 4, 0);
    for (int g = 2; g >= 0; g--) {
        kept[1 + g] = new_node((uint64_t)g);
        for (int i = 0; i < g; i++) gc_collect(heap, i, 0);
        gc_finalizer_register(gc, kept[1 + g], &finalizer);
    }
    gc_object_add_external(gc, kept[3], 1000);
    kept[0] = new_bytes(GC_REGION_BYTES);
    new_bytes(GC_REGION_BYTES);
    gc_collect(heap, 0, 0); /* makes some regions free */
    for (int i = 0; i < 3; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_STRONG, kept[3]);
    gc_handle_destroy(heap, handles[2]);
}

static gc__region *region_of_kept(int i) { return gc__region_of((uintptr_t)kept[i]); }

static void free_count(void) { heap->free_count++; }
static void held_regions(void) { heap->held_regions--; }
static void lost_list(void) { heap->regions[2] = NULL; }
static void lost_region(void) {
    heap->free = heap->free->next;
    heap->free_count--, heap->held_regions--;
}
static void endless_list(void) { region_of_kept(3)->next = region_of_kept(3); }
static void wrong_generation(void) { region_of_kept(3)->generation = 1; }
static void wrong_age(void) { gc__tables.age[(uintptr_t)kept[3] >> GC_REGION_SHIFT] = 1; }
static void verdict_left(void) { GC__VERDICTS[(uintptr_t)kept[3] >> GC_REGION_SHIFT] = GC__MARK; }
static void wrong_top(void) { region_of_kept(3)->top = region_of_kept(3)->base - 8; }
static void part_lost(void) { region_of_kept(0)[1].rest_index = 7; }
static void live_bytes(void) { region_of_kept(3)->live_bytes += 8; }
static void old_bytes(void) { heap->generation_bytes[2] += 8; }
static void large_bytes(void) { heap->large_bytes -= 8; }
static void external_bytes(void) { heap->owned_bytes++; }
static void external_count(void) { heap->collector->external[gc_object_generation(kept[3])].count++; }
static void cursor_astray(void) { heap->cycle->cursors[1] = region_of_kept(3); }
static void handle_cache_count(void) { gc__record(gc)->handle_caches[GC_HANDLE_STRONG].count--; }
static void handle_chain(void) { *(gc_word *)gc__record(gc)->handle_caches[GC_HANDLE_STRONG].first = 0x1000 | GC__HANDLE_FREE; }
static void handle_in_use(void) { *(gc_word *)gc__record(gc)->handle_caches[GC_HANDLE_STRONG].first = 0; }
static void handle_block(void) { heap->handles->segments->kinds[0] = GC_HANDLE_KINDS; }
static void handle_kind(void) { heap->handles->segments->kinds[GC__HANDLE_BLOCKS - 1] = GC_HANDLE_PINNED; }
static void handle_extra(void) { heap->handles->segments->extras[0] = (gc_word *)(void *)heap; }
static void finalizer_order(void) { heap->finalizers->start[1] = 1000; }
static void finalizer_object(void) { heap->finalizers->registered.words[0] = (uintptr_t)&heap; }
static void finalizer_young(void) {
    heap->finalizers->start[0] = heap->finalizers->start[1] = heap->finalizers->registered.count;
}
static void finalizer_room(void) { heap->finalizers->promised = 1000000; }

static void (*damage)(void);
static void body(void *unused) {
    (void)unused;
    alarm(20);
    begin_full();
    damage();
    gc_collect(heap, 0, 0);
}

static void reported(void (*planted)(void), const char *name, const char *words) {
    damage = planted;
    int status = tap_child(body, NULL, report, sizeof report);
    is(status, 256 + 6, "%s: the process aborts", name);
    has(report, words, "%s: the report says what is wrong", name);
    has(report, "check (start of collection", "%s: before the collection", name);
}
#define REPORTED(planted, words) reported(planted, #planted, words)

static void nothing(void) {}

/* The least share of a window of 1,000 ns that pauses of these times leave; an entry of the ring is 15 ns wide at most. */
static double share_of(const uint64_t (*pauses)[2], size_t count) {
    gc__window_share share = {.window_ns = 1000};
    for (size_t i = 0; i < count; i++) {
        gc__paused paused = {pauses[i][0], pauses[i][1], pauses[i][1], pauses[i][1] - pauses[i][0]};
        gc__window_note(&share, &paused);
    }
    return gc__window_utilisation(&share);
}
#define SHARE(...) share_of((const uint64_t[][2]){__VA_ARGS__}, sizeof((const uint64_t[][2]){__VA_ARGS__}) / sizeof(uint64_t[2]))
static void share_is(double got, double expected, const char *what) { ok(got > expected - 1e-9 && got < expected + 1e-9, "%s: %g", what, got); }

static void shares_by_hand(void) {
    share_is(share_of(NULL, 0), 1, "without a pause all is left");
    share_is(SHARE({100, 200}), 0.9, "a tenth is taken");
    share_is(SHARE({5000, 5100}, {9000, 9200}), 0.8, "pauses too far apart for one window: the longer one counts");
    share_is(SHARE({0, 100}, {500, 600}, {1000, 1100}), 0.8, "no window meets all of the three");
    share_is(SHARE({0, 100}, {500, 600}, {999, 1000}), 0.799, "but this one does");
    share_is(SHARE({1000, 1400}, {1900, 2300}), 0.5, "a part of a pause that began before the window");
    share_is(SHARE({1000, 3000}), 0, "a pause that is longer than the window");
    share_is(SHARE({1000, 3000}, {3100, 3200}), 0, "and stays the worst");
    share_is(SHARE({1000, 1990}, {1995, 2005}), 0.005, "the worst window ends with the second pause");
    share_is(SHARE({100, 105}, {110, 115}, {1100, 1105}), 0.985, "where the window begins between two pauses of an entry, both count");
    share_is(SHARE({100, 105}, {120, 125}, {1100, 1105}), 0.99, "but not where they are further apart");
}

/* The least share by looking at each window that ends with a pause. */
static double share_exact(const uint64_t (*pauses)[2], size_t count, uint64_t window_ns) {
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = pauses[i][1], from = end > window_ns ? end - window_ns : 0, sum = 0;
        for (size_t j = i + 1; j-- > 0 && pauses[j][1] > from;)
            sum += pauses[j][1] - (pauses[j][0] > from ? pauses[j][0] : from);
        if (sum > most) most = sum;
    }
    return 1 - (double)most / (double)window_ns;
}

static void shares_at_random(void) {
    enum { PAUSES = 4000 };
    static uint64_t pauses[PAUSES][2];
    static gc__pauses all;
    for (int round = 0; round < 24; round++) {
        uint64_t now = 1000 * GC__NS_PER_MS, scale = (uint64_t)100 << round / 2;
        memset(&all, 0, sizeof all);
        gc__pauses_open(&all);
        for (int i = 0; i < PAUSES; i++) {
            pauses[i][0] = now += random_bits() % (random_bits() % 8 ? 2 * scale : 40 * scale);
            pauses[i][1] = now += 1 + random_bits() % (random_bits() % 16 ? scale : 20 * scale);
            gc__pauses_note(&all, pauses[i][0], pauses[i][1]);
        }
        gc__pauses_close_windows(&all);
        for (int i = 0; i < GC_WINDOWS; i++) {
            double exact = share_exact((const uint64_t (*)[2])pauses, PAUSES, all.windows[i].window_ns),
                   got = gc__window_utilisation(&all.windows[i]);
            ok(got <= exact + 1e-9 && got >= exact - 2.0 / GC__WINDOW_PARTS - 1e-9, "round %d, window %d: %g, exactly %g", round, i, got, exact);
            if (all.windows[i].count > GC__WINDOW_PARTS + 2) ok(false, "the ring is long enough");
        }
    }
}

int main(void) {
    damage = nothing;
    is(tap_child(body, NULL, report, sizeof report), 0, "without damage nothing is reported");
    is(strcmp(report, ""), 0, "nothing at all: %s", report);
    REPORTED(free_count, "regions in the free list");
    REPORTED(held_regions, "regions in the heap's lists");
    REPORTED(lost_list, "not in its generation's list");
    REPORTED(lost_region, "regions that are the heap's");
    REPORTED(endless_list, "a list of regions has no end");
    REPORTED(wrong_generation, "another generation's list");
    REPORTED(wrong_age, "a region's age");
    REPORTED(verdict_left, "a verdict outside the trace");
    REPORTED(wrong_top, "top or hole lies outside");
    REPORTED(part_lost, "a part of a large object");
    REPORTED(live_bytes, "bytes of objects in an old region");
    REPORTED(old_bytes, "bytes of generation 2");
    REPORTED(large_bytes, "bytes of large objects");
    REPORTED(external_bytes, "external bytes");
    REPORTED(external_count, "objects with external bytes");
    REPORTED(cursor_astray, "to search for holes");
    REPORTED(handle_cache_count, "longer than noted");
    REPORTED(handle_chain, "leads astray");
    REPORTED(handle_in_use, "leads to one in use");
    REPORTED(handle_block, "free blocks of handles");
    REPORTED(handle_kind, "leads to another kind");
    REPORTED(handle_extra, "extra words");
    REPORTED(finalizer_order, "out of order");
    REPORTED(finalizer_object, "no object of the heap");
    REPORTED(finalizer_young, "younger than its part");
    REPORTED(finalizer_room, "no room");
    shares_by_hand();
    shares_at_random();
    return done();
}
