/* For test_stats.c: pauses that are long on purpose, and what the report says of them. No check expects that anything is fast. */
#pragma once

#include "../fixture.h"

#include <pthread.h>
#include <time.h>

#define MS 1000000

static void sleep_ms(long ms) {
    struct timespec time = {0, ms * MS};
    nanosleep(&time, NULL);
}

/* The pause of the only collection that `collect` makes, and why it was long. */
static char why[1024];
static gc_pause pause_of(void (*collect)(void)) {
    gc_pause pauses[GC_PAUSES_KEPT];
    gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true);
    collect();
    size_t count = gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, false);
    is(count, 1, "one pause since the last question");
    gc_pause_explain(&pauses[0], why, sizeof why);
    return pauses[0];
}
/* A part that took a fifth of the pause is explained; it may not have, where the test had no processor in another part. */
static void explained(const gc_pause *pause, uint64_t part_ns, const char *words) {
    if (part_ns >= pause->ns / 5)
        has(why, words, "in words");
    else
        ok(true, "in words # SKIP the machine was busy");
}

static void young(void) { gc_collect(heap, 0, GC_COLLECT_DEFAULT); }

/* The whole of the pause is in its parts. */
static void sums_up(const gc_pause *pause, const char *name) {
    uint64_t sum = pause->help_ns + pause->stop_ns + pause->marker_ns + pause->wake_ns;
    for (int i = 0; i < GC_PHASE_COUNT; i++) sum += pause->phase_ns[i];
    ok(sum <= pause->ns, "%s: the parts are no more than all", name);
}

static void dirty_cards(void) {
    vector *all = new_vector(1 << 16);
    GC_ROOTS(gc, all);
    full();
    full();
    size_t cards = 0, step = 4 * GC_CARD_BYTES / 8;
    for (size_t i = 0; i < 1 << 16; i += step, cards++) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
    }
    gc_pause pause = pause_of(young);
    sums_up(&pause, "cards");
    /* A barrier may dirty eight cards at once, where a card is a bit. */
    ok(pause.dirty_cards >= cards && pause.dirty_cards <= 8 * cards, "%zu dirty cards: %zu", cards, pause.dirty_cards);
    is(pause.survived_bytes, cards * sizeof(node), "what they led to");
    is(pause.number, stats().collections[0] + stats().collections[1] + stats().collections[2], "the number of the collection");
    is(pause.generation, 0, "its generation");
    is(pause.reason, GC_REASON_INDUCED, "and reason");
    ok(pause.condemned_bytes >= pause.survived_bytes && pause.moved_bytes <= pause.survived_bytes, "bytes");
}

static void slow_start(void *host, const gc_collection *collection) { (void)host, (void)collection, sleep_ms(20); }

/* A thread that comes to no safe point for 20 ms after it was asked to. */
static void *stubborn(void *ready) {
    gc_thread *self = gc_thread_attach(heap);
    gc_thread_set_name(self, "stubborn");
    __atomic_store_n((int *)ready, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&self->poll, __ATOMIC_SEQ_CST)) continue;
    sleep_ms(20);
    gc_safepoint(self);
    gc_thread_detach(self);
    return NULL;
}

static pthread_t begin_stubborn(void) {
    pthread_t thread;
    int ready = 0;
    if (pthread_create(&thread, NULL, stubborn, &ready) != 0) abort();
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) sleep_ms(1);
    return thread;
}

static void end_stubborn(pthread_t thread) {
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

static void waited_for_a_thread(void) {
    pthread_t thread = begin_stubborn();
    gc_pause pause = pause_of(young);
    sums_up(&pause, "stop");
    ok(pause.stop_ns >= 20 * MS, "the pause has the time to stop: %llu ns", (unsigned long long)pause.stop_ns);
    ok(pause.slowest_ns >= 20 * MS && pause.slowest_ns <= pause.stop_ns, "and that of the slowest thread: %llu",
       (unsigned long long)pause.slowest_ns);
    is(strcmp(pause.slowest, "stubborn"), 0, "with its name");
    explained(&pause, pause.stop_ns, "us for the thread `stubborn` to stop");
    ok(stats().pause_max_ns >= pause.ns && pause.ns >= 20 * MS, "so have statistics");
    is(stats().utilisation[0] == 0 && stats().utilisation[1] == 0, true, "1 and 10 ms were all pause");
    ok(stats().utilisation[2] <= 0.8 && stats().utilisation[2] >= 0, "a fifth of 100 ms at least");
    end_stubborn(thread);
    pause = pause_of(young);
    is(pause.stop_ns, 0, "a thread alone stops nobody");
    is(pause.slowest[0], 0, "nobody");
}

/* A limit that cannot be reached has the heap collected and compacted in one stop. */
static void stopped_once(void) {
    bytes *kept = new_bytes(16 * GC_REGION_BYTES);
    GC_ROOTS(gc, kept);
    gc_pause pauses[GC_PAUSES_KEPT];
    gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true);
    pthread_t thread = begin_stubborn();
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 4 * GC_REGION_BYTES}), GC_ERROR_HEAP_FULL, "a limit below what lives");
    size_t count = gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true), stops = 0;
    for (size_t i = 0; i < count; i++) stops += pauses[i].stop_ns != 0;
    ok(count >= 2, "%zu collections", count);
    is(stops, 1, "of which one has the time to stop");
    end_stubborn(thread);
}

static void hooks(void) {
    gc_pause pause = pause_of(young);
    sums_up(&pause, "hook");
    ok(pause.phase_ns[GC_PHASE_OPEN] >= 15 * MS, "the start hook is in the phase `open`");
    explained(&pause, pause.phase_ns[GC_PHASE_OPEN], "us before anything was collected (start hook, verification)");
}

static void end_hook(void) {
    gc_pause pause = pause_of(young);
    sums_up(&pause, "hook");
    uint64_t rest = pause.ns - pause.stop_ns;
    for (int i = 0; i < GC_PHASE_COUNT; i++) rest -= pause.phase_ns[i];
    ok(pause.ns >= 20 * MS && rest >= 15 * MS, "the end hook is in the pause, and in no phase");
    explained(&pause, rest, "us in hooks at the end");
}

typedef struct slow {
    gc_object header;
    void *ref;
} slow;
static bool is_slow;
static void trace_slow(void *object, gc_visitor *visitor) {
    if (is_slow) sleep_ms(1);
    gc_visit(visitor, &((slow *)object)->ref, 1, 0);
}
static const gc_type slow_type = {.bytes = sizeof(slow), .name = "slow", .trace = trace_slow};

static void trace_functions(void) {
    slow *objects[20] = {NULL};
    GC_ROOTS_ARRAY(gc, (void **)objects, 20, 0);
    for (int i = 0; i < 20; i++) objects[i] = gc_new(gc, &slow_type);
    is_slow = true;
    gc_pause pause = pause_of(young);
    is_slow = false;
    sums_up(&pause, "trace");
    is(pause.trace_calls, 20, "calls of trace functions");
    ok(pause.phase_ns[GC_PHASE_ROOTS] >= 15 * MS, "in the phase that traces from roots");
    explained(&pause, pause.phase_ns[GC_PHASE_ROOTS], "20 calls of trace functions");
}

static void finalize_nothing(gc_thread *thread, void *object) { (void)thread, (void)object; }
static void finalizers(void) {
    static const gc_finalizer finalizer = {finalize_nothing, false, NULL};
    for (int i = 0; i < 30; i++) gc_finalizer_register(gc, new_node(0), &finalizer);
    is(pause_of(young).finalizers, 30, "finalizers that become due");
    is(pause_of(young).finalizers, 0, "only once");
}

static void kinds(void) {
    node *root = new_node(1);
    GC_ROOTS(gc, root);
    gc_pause pause = pause_of(compact);
    ok(pause.compacting && pause.generation == 2, "compacting");
    has(why, "compaction of all generations", "in words");
    is(pause.survived_bytes, sizeof(node), "what survived");
    ok(pause.roots >= 1 && pause.pins == 0, "roots");
    pause = pause_of(full);
    ok(!pause.compacting && !pause.concurrent, "a full collection");
    has(why, "all generations with the program stopped", "in words");
    GC_ROOTS_ARRAY(gc, (void **)&root, 1, GC_SLOT_PINNED);
    is(pause_of(young).pins, 1, "a pin");
}

/* The ten longest of many, in their order, and each of them once. */
static void longest(void) {
    gc_pause pauses[GC_PAUSES_KEPT];
    uint64_t sum = 0, max = 0;
    slow *objects[20] = {NULL};
    GC_ROOTS_ARRAY(gc, (void **)objects, 20, 0);
    is(gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, false), 0, "no pause yet");
    for (int i = 0; i < GC_WINDOWS; i++) ok(stats().utilisation[i] == 1, "all of window %d is the program's", i);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; i == 25 && k < 20; k++) objects[k] = gc_new(gc, &slow_type);
        is_slow = i == 25; /* so that no later pause is worse because the machine is busy */
        gc_collect(heap, i % 3, GC_COLLECT_DEFAULT);
        sum += stats().pause_last_ns;
        if (stats().pause_last_ns > max) max = stats().pause_last_ns;
    }
    is(stats().pause_total_ns, sum, "the total is the sum");
    is(gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, false), GC_PAUSES_KEPT, "the longest");
    is(pauses[0].ns, max, "the first is the longest of all");
    for (int i = 1; i < GC_PAUSES_KEPT; i++) {
        ok(pauses[i].ns <= pauses[i - 1].ns, "in their order");
        for (int j = 0; j < i; j++) {
            const gc_pause *a = &pauses[i], *b = &pauses[j];
            if (a->began_ns > b->began_ns) a = &pauses[j], b = &pauses[i];
            ok(a->number < b->number && a->began_ns + a->ns <= b->began_ns, "one after the other");
        }
    }
    for (int i = 0; i + 1 < GC_WINDOWS; i++)
        ok(stats().utilisation[i] <= stats().utilisation[i + 1] + 0.04, "a longer window has no worse a share");
    double least = stats().utilisation[2];
    is(gc_heap_pauses(heap, pauses, 3, true), 3, "as many as there is room for");
    is(gc_heap_pauses(heap, pauses, 3, false), 0, "and then they are forgotten");
    for (int i = 0; i < GC_WINDOWS; i++) ok(stats().utilisation[i] == 1, "window %d begins anew", i);
    sleep_ms(101);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    ok(stats().utilisation[0] < 1 && stats().utilisation[2] > least, "and tells of what came after, alone");
}

/* A pause of a minute is in the last bucket, which has no end. */
static void percentiles(void) {
    gc_stats s = {.pause_max_ns = (uint64_t)60000 * MS};
    s.pauses[10] = 9, s.pauses[GC_PAUSE_BUCKETS - 1] = 1;
    is(gc_stats_pause_percentile(&s, 1), s.pause_max_ns, "the longest pause, of a minute");
    is(gc_stats_pause_percentile(&s, 0.9), 2048, "the end of a bucket");
}

/* The words, of pauses that are made up. */
static void says(gc_pause pause, const char *expected) {
    size_t length = gc_pause_explain(&pause, why, sizeof why);
    ok(!strcmp(why, expected), "%s", expected);
    if (strcmp(why, expected)) diag("%s", why);
    is(length, strlen(expected), "its length");
}

static void words(void) {
    says((gc_pause){.ns = 900 * 1000, .dirty_cards = 12044, .survived_bytes = 3250586, .phase_ns[GC_PHASE_CARDS] = 800 * 1000},
         "12,044 dirty cards, 3.1 MiB survived");
    says((gc_pause){.ns = 900 * 1000, .dirty_cards = 1, .survived_bytes = 1, .trace_calls = 2100, .phase_ns[GC_PHASE_ROOTS] = 800 * 1000},
         "1 dirty card, 1 KiB survived, 2,100 calls of trace functions");
    says((gc_pause){.ns = 340 * 1000, .stop_ns = 310 * 1000, .slowest_ns = 309 * 1000, .slowest = "X"},
         "waited 309 us for the thread `X` to stop");
    says((gc_pause){.ns = 340 * 1000, .stop_ns = 310 * 1000}, "waited 310 us for the threads to stop");
    says((gc_pause){.ns = 4000 * 1000, .generation = 2, .concurrent = true, .phase_ns[GC_PHASE_REMARK] = 3900 * 1000, .stored_objects = 65536,
                    .left_objects = 1, .waiting_objects = 1234567},
         "final mark of a concurrent cycle, 1 object left to scan, 65,536 objects stored, 1,234,567 objects with "
         "trace functions");
    says((gc_pause){.ns = 100 * MS, .generation = 2, .degenerated = GC_DEGENERATED_HOLES, .held_bytes = 160, .goal_bytes = 100,
                    .phase_ns[GC_PHASE_ROOTS] = 99 * MS, .survived_bytes = (size_t)10 << 20},
         "full collection: the heap held 1.6 times its goal, most of the excess in holes, 10.0 MiB survived");
    says((gc_pause){.ns = 5 * MS, .generation = 1, .concurrent_begun = true, .help_ns = 2 * MS, .marker_ns = 2 * MS, .wake_ns = 900 * 1000},
         "begin of a concurrent cycle, waited 2,000 us for the marking, since the program allocates faster than is marked, waited "
         "2,000 us for the thread that marks");
    says((gc_pause){.ns = 5 * MS, .generation = 2, .concurrent = true, .degenerated = GC_DEGENERATED_GROWTH, .wake_ns = 5 * MS},
         "degenerated cycle: the heap had grown to its bound before all was marked, 5,000 us in waking the thread that marks");
    says((gc_pause){.ns = 5 * MS, .phase_ns[GC_PHASE_CARDS] = 5 * MS, .cpu_ns = 1 * MS, .dirty_cards = 7},
         "7 dirty cards, 0 KiB survived, 4,000 us in which the thread that collects did not run");
    says((gc_pause){.ns = 3 * MS, .phase_ns[GC_PHASE_GATHER] = 1 * MS, .phase_ns[GC_PHASE_FINALIZERS] = 1 * MS,
                    .phase_ns[GC_PHASE_SWEEP] = 1 * MS, .roots = 2, .pins = 1, .finalizers = 9, .regions = 3},
         "2 roots, 1 pin, 1,000 us in gathering roots, 9 finalizers are due, 3 regions, 1,000 us in freeing memory");
    says((gc_pause){.ns = 0}, "");
    char small[8];
    gc_pause pause = {.ns = 9000, .phase_ns[GC_PHASE_CLOSE] = 9000};
    size_t length = gc_pause_explain(&pause, small, sizeof small);
    ok(length > sizeof small && strlen(small) == sizeof small - 1, "a text that finds no room is cut");
    is(gc_pause_explain(&pause, NULL, 0), length, "and its length is told where there is no room at all");
}

static void report_of_pauses(void) {
    full();
    young();
    FILE *file = tmpfile();
    static char text[16384];
    gc_heap_print_pauses(heap, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    has(text, "pauses       total", "the report has the sums");
    has(text, "is left to the program", "the least share of some times");
    has(text, "from us         to us      pauses", "a histogram");
    has(text, "the longest\n", "the longest pauses");
    has(text, "collection 1 of generation 2 (gc_collect): all generations with the program stopped", "why they were long");
    has(text, "collection 2 of generation 0 (gc_collect)", "each of them");
    has(text, "us:", "and their phases");
}

/* The thread's CPU time is known of all pauses but those for an empty heap that the program asks for. */
static void timed(void) {
    gc_pause pause;
    vector *kept = NULL;
    GC_ROOTS(gc, kept);
    full();
    is(gc_heap_pauses(heap, &pause, 1, true), 1, "a full collection of an empty heap");
    is(pause.cpu_ns, 0, "whose CPU time is not known");
    young();
    is(gc_heap_pauses(heap, &pause, 1, true), 1, "a young collection with a fixed nursery");
    ok(pause.cpu_ns > 0, "whose CPU time is: %llu ns", (unsigned long long)pause.cpu_ns);
    kept = new_vector((size_t)1 << 17);
    full(), full();
    gc_heap_pauses(heap, &pause, 1, true);
    full();
    is(gc_heap_pauses(heap, &pause, 1, true), 1, "a full collection of 1 MiB");
    ok(pause.cpu_ns > 0, "of which it is known, too: %llu ns", (unsigned long long)pause.cpu_ns);
}

static void test_pauses(void) {
    static void (*const tests[])(void) = {dirty_cards, waited_for_a_thread, stopped_once, trace_functions, finalizers, kinds, longest, report_of_pauses};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        begin(NULL);
        tests[i]();
        end();
    }
    begin(&(gc_options){.nursery_bytes = 1 << 20});
    timed();
    end();
    begin(&(gc_options){.collection_start = slow_start});
    hooks();
    end();
    begin(&(gc_options){.collection_end = slow_start});
    end_hook();
    end();
    words();
    percentiles();
}
