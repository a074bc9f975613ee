/* Statistics add up, and say why pauses were long. */
#define _GNU_SOURCE
#include "pauses.h"

static void consistent(const char *when) {
    gc_stats s = stats();
    uint64_t collections = s.collections[0] + s.collections[1] + s.collections[2], pauses = 0;
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) pauses += s.pauses[i];
    is(pauses, collections, "%s: a pause per collection", when);
    ok(s.pause_max_ns <= s.pause_total_ns && s.pause_last_ns <= s.pause_max_ns, "%s: pauses", when);
    is(s.live_bytes, s.generation_bytes[0] + s.generation_bytes[1] + s.generation_bytes[2], "%s: live is the sum of the generations", when);
    is(s.fragmentation_bytes, s.used_bytes - s.live_bytes, "%s: fragmentation", when);
    ok(s.live_bytes <= s.used_bytes && s.used_bytes <= s.committed_bytes && s.committed_bytes <= s.committed_bytes_peak,
       "%s: live %zu <= used %zu <= committed %zu <= peak %zu", when, s.live_bytes, s.used_bytes, s.committed_bytes, s.committed_bytes_peak);
    ok(s.moved_bytes <= s.promoted_bytes, "%s: moved <= promoted", when);
    ok(s.promoted_bytes == 0 || s.survived_bytes <= s.condemned_bytes, "%s: survived %zu <= condemned %zu", when, s.survived_bytes, s.condemned_bytes);
    ok(s.used_bytes == 0 || s.regions > 0, "%s: regions", when);
    ok((s.table_bytes > 0 || s.regions == 0) && s.nursery_bytes > 0, "%s: tables and nursery", when);
    ok(gc_stats_pause_percentile(&s, 1.0) >= s.pause_max_ns, "%s: the last percentile covers the longest pause", when);
    ok(gc_stats_pause_percentile(&s, 0.5) <= gc_stats_pause_percentile(&s, 0.99), "%s: percentiles rise", when);
}

static void figures(void) {
    consistent("at first");
    vector *keep = new_vector(10000);
    GC_ROOTS(gc, keep);
    size_t live = gc_object_bytes(keep), made = live;
    for (size_t i = 0; i < 10000; i++) {
        node *n = new_node(i);
        made += sizeof(node);
        if (i % 4 == 0) gc_store(gc, &keep->items[i], n), live += sizeof(node);
    }
    consistent("with young objects");
    ok(stats().allocated_bytes >= made, "allocated_bytes");
    full();
    consistent("after a full collection");
    static const gc_phase always[] = {GC_PHASE_GATHER, GC_PHASE_PLAN, GC_PHASE_ROOTS, GC_PHASE_HANDLES, GC_PHASE_SWEEP, GC_PHASE_CLOSE};
    gc_stats s = stats();
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        ok(s.phase_total_ns[always[i]] > 0, "phase %d took time: %llu ns", (int)always[i], (unsigned long long)s.phase_total_ns[always[i]]);
    is(stats().live_bytes, live, "live_bytes is exact after a full collection");
    is(stats().survived_bytes, live, "survived_bytes");
    full();
    /* A heap that moves nothing may allocate in old regions again, which are young then. */
    is(stats().generation_bytes[1], 0, "none of it in generation 1");
    compact();
    consistent("after compacting");
    is(stats().live_bytes, live, "live_bytes after compacting");
    for (size_t i = 0; i < 3000000; i++) new_node(i);
    consistent("after much garbage");
    keep = NULL;
    full(), full();
    is(stats().live_bytes, 0, "an empty heap");
    consistent("empty");
}

/* Returns how many bytes were printed. */
static long print(char *text, size_t bytes) {
    FILE *file = tmpfile();
    gc_heap_print_stats(heap, file);
    long size = ftell(file);
    rewind(file);
    text[fread(text, 1, bytes - 1, file)] = 0;
    fclose(file);
    return size;
}

static void printed(void) {
    static char text[8192];
    full();
    long size = print(text, sizeof text);
    ok(size > 200 && size < 4000, "gc_heap_print_stats prints a page");
    has(text, "collections", "collections are on it");
    has(text, "pause", "and pauses");
    has(text, "phases       ", "and the share of each phase");
    has(text, "live", "and the heap");
    ok(!strstr(text, "conservative"), "and nothing of conservative words where there are none");
    ok(!strstr(text, "concurrent"), "nor of marking beside the program where nobody has asked for it");
}

static void printed_small(void) {
    static char text[8192];
    full();
    print(text, sizeof text);
    has(text, "concurrent   no cycle: one begins when a full collection is due and 2 MiB or more are old",
        "where it was asked for, why there was none");
}

/* Where objects stay in place, some become younger again; the hook is told how much, in young collections none. */
enum { AGING = 60000 };
static node *aging[AGING];
static unsigned char ages[AGING];
static size_t demotions, wrong_demotions, demoted_by_young;

static void compare_ages(void *unused, const gc_collection *collection) {
    (void)unused;
    size_t demoted = 0;
    for (size_t i = 0; i < AGING; i++) {
        if (!aging[i]) continue;
        unsigned char age = (unsigned char)gc_object_generation(aging[i]);
        if (age < ages[i]) demoted += sizeof(node);
        ages[i] = age;
    }
    demotions += demoted > 0;
    wrong_demotions += demoted != collection->demoted_bytes;
    demoted_by_young += collection->generation == 0 ? collection->demoted_bytes : 0;
}

static void demoted(bool stay) {
    demotions = wrong_demotions = demoted_by_young = 0;
    is(gc_roots_add(heap, aging, AGING, 0), GC_OK, "objects that are replaced at random");
    for (int k = 0; k < 1000000; k++) {
        size_t i = random_bits() % AGING;
        aging[i] = NULL, ages[i] = 0;
        aging[i] = new_node(i);
        if (k % 200000 == 199999) full();
    }
    ok(stay == (demotions > 0), "%zu collections have made living objects younger", demotions);
    is(wrong_demotions, 0, "and each hook is told of how many bytes");
    is(demoted_by_young, 0, "none of them young");
    is(gc_roots_remove(heap, aging), GC_OK, "they are dropped");
    memset(aging, 0, sizeof aging);
}

static void demoted_in_place(void) { demoted(true); }
static void none_demoted(void) { demoted(false); }

#define ONE(name, text) +1
enum { RESULTS = 0 GC_RESULTS(ONE) };

static void host(void) {
    int mine;
    gc_heap *other = gc_heap_create(&(gc_options){.host = &mine});
    ok(gc_heap_host(other) == &mine, "gc_heap_host");
    gc_heap_destroy(other);
    for (int i = 0; i < RESULTS; i++) ok(strcmp(gc_result_text((gc_result)i), "unknown result"), "result %d: %s", i, gc_result_text((gc_result)i));
    ok(!strcmp(gc_result_text((gc_result)RESULTS), "unknown result"), "there is none beyond");
}

int main(void) {
    run(figures, (gc_options){0});
    run(figures, (gc_options){.non_moving = true});
    run(demoted_in_place, (gc_options){.collection_end = compare_ages, .non_moving = true});
    run(none_demoted, (gc_options){.collection_end = compare_ages});
    run(printed, (gc_options){0});
    run(printed_small, (gc_options){.concurrent = GC_CONCURRENT_ON});
    host();
    test_pauses();
    return done();
}
