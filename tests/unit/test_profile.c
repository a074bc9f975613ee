/* Profiles: estimates, what lives and dies, rates, events, stacks of the host, files that cannot be written. */
#define _GNU_SOURCE
#include "profile.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

static gc_type named_type(const char *name, size_t bytes) {
    gc_type type = GC_TYPE_LEAF(small);
    type.name = name;
    type.bytes = (uint32_t)bytes;
    return type;
}

/* With each byte sampled nothing is estimated. */
static const gc_profile_options exact = {.period_bytes = 1, .seed = 1};

/* Estimates. */

#define TYPES 4

/* A mix: in each round as many objects as `counts` says of each type, in this order, of `bytes` each. */
typedef struct mix {
    const char *text;
    unsigned rounds, counts[TYPES], bytes[TYPES];
} mix;

static const mix mixes[] = {
    {"one type of small objects", 40000, {1, 0, 0, 0}, {24, 0, 0, 0}},
    {"small and large ones", 10000, {8, 1, 0, 0}, {16, 1000, 0, 0}},
    {"larger ones", 300, {16, 1, 0, 0}, {64, 48000, 0, 0}},
    {"four sizes", 10000, {1, 1, 1, 1}, {16, 48, 256, 1024}},
    {"a rare type", 20000, {20, 1, 0, 0}, {32, 32, 0, 0}},
    {"objects of about a period", 2000, {1, 1, 0, 0}, {4000, 4400, 0, 0}},
    {"objects of many periods", 300, {1, 16, 0, 0}, {24000, 64, 0, 0}},
    {"a period of one stride", 2000, {1, 64, 0, 0}, {2048, 32, 0, 0}},
    {"a period of two strides", 2000, {1, 127, 1, 0}, {64, 64, 16, 0}},
    {"a period of half a stride", 4000, {1, 125, 0, 0}, {48, 16, 0, 0}},
    {"almost a period of one stride", 4000, {1, 254, 1, 0}, {16, 16, 24, 0}},
};
#define MIXES (sizeof mixes / sizeof *mixes)
#define STRIDE 4096

static char type_names[TYPES][8] = {"first", "second", "third", "fourth"};

/* The worst relative error of a count, if the object with each STRIDE-th byte stands for STRIDE / bytes objects. */
static double stride_error(const mix *m) {
    double estimates[TYPES] = {0}, worst = 0;
    uint64_t at = 0;
    for (unsigned round = 0; round < m->rounds; round++)
        for (int type = 0; type < TYPES; type++)
            for (unsigned i = 0; i < m->counts[type]; i++) {
                uint64_t next = at + gc__align(m->bytes[type]);
                estimates[type] += (double)(next / STRIDE - at / STRIDE) * STRIDE / (double)gc__align(m->bytes[type]);
                at = next;
            }
    for (int type = 0; type < TYPES; type++) {
        double count = (double)m->rounds * m->counts[type];
        if (count > 0 && fabs(estimates[type] / count - 1) > worst) worst = fabs(estimates[type] / count - 1);
    }
    return worst;
}

static void allocate_mix(const mix *m, unsigned flags) {
    gc_type types[TYPES];
    for (int type = 0; type < TYPES; type++) types[type] = named_type(type_names[type], m->bytes[type]);
    for (unsigned round = 0; round < m->rounds; round++)
        for (int type = 0; type < TYPES; type++)
            for (unsigned i = 0; i < m->counts[type]; i++) gc_new_with(gc, &types[type], 0, flags);
}

static void is_estimated(const char *text, const char *name, double count, double bytes) {
    double chance = 1 - pow(1 - 1.0 / STRIDE, bytes), bound = 4 * sqrt((1 - chance) / (count * chance));
    reported all = report_now(name);
    ok(fabs(all.count / count - 1) <= bound + 1e-6, "%s, %s: %.0f of %.0f objects estimated: %+.1f %%, within %.1f %%", text,
       name, all.count, count, 100 * (all.count / count - 1), 100 * bound);
    ok(fabs(all.bytes / (count * bytes) - 1) <= bound + 1e-6, "%s, %s: bytes", text, name);
}

/* With flags of gc_new_with. */
static void test_estimates(unsigned flags, size_t count_of_mixes) {
    bool fails = false;
    for (size_t i = 0; i < count_of_mixes; i++) {
        const mix *m = &mixes[i];
        begin(NULL);
        profile_begin((gc_profile_options){.period_bytes = STRIDE, .seed = 7 + i});
        allocate_mix(m, flags);
        for (int type = 0; type < TYPES; type++) {
            double count = (double)m->rounds * m->counts[type];
            if (count > 0) is_estimated(m->text, type_names[type], count, (double)gc__align(m->bytes[type]));
        }
        gc_profile_stop();
        end();
        diag("%s: a fixed stride errs by %.0f %%", m->text, 100 * stride_error(m));
        fails |= stride_error(m) > 0.9;
    }
    if (count_of_mixes == MIXES) ok(fails, "a fixed stride fails where allocation is periodic");
}

/* The host writes the header after the object was counted. */
static void test_untyped_fixed(void) {
    gc_type type = named_type("untyped", 48);
    begin(NULL);
    profile_begin((gc_profile_options){.period_bytes = STRIDE, .seed = 17});
    for (int i = 0; i < 20000; i++) ((gc_object *)gc_new_with(gc, NULL, 48, GC_NEW_FIXED))->type = &type;
    is_estimated("objects that never move", "untyped", 20000, 48);
    gc_profile_stop();
    end();
}

/* The mean of many profiles is right, though windows are given up that are not full. */
static void test_bias(unsigned profiles) {
    double sum = 0, objects = 200000;
    gc_type type = named_type("bias", 40);
    begin(NULL);
    for (unsigned i = 0; i < profiles; i++) {
        gc_profile_options options = {.period_bytes = 2000, .seed = 1000 + i, .depth_max = 1};
        gc_profile_start(&options, NULL);
        for (unsigned n = 0; n < (unsigned)objects; n++) {
            gc_new(gc, &type);
            if (n % 500 == 0) gc_collect(heap, 0, GC_COLLECT_BLOCKING); /* which ends the window */
        }
        gc_profile_write(profile_file("bias.txt"));
        gc_profile_stop();
        char *text = profile_text("bias.txt");
        sum += report_of(text, "bias").count;
        free(text);
    }
    end();
    double count = profiles * objects, chance = 1 - pow(1 - 1 / 2000.0, 40),
           bound = 4 * sqrt((1 - chance) / (count * chance));
    ok(fabs(sum / count - 1) < bound, "%.0f objects: the estimate is off by %+.3f %%, within %.3f %%", count,
       100 * (sum / count - 1), 100 * bound);
    ok(fabs(sum / count - 1) < 0.01, "that is under 1 %%");
}

/* All kinds of allocation are counted. */
static void test_kinds(void) {
    enum { COUNT = 300 };
    gc_type plain = named_type("plain", 48), raw = named_type("raw", 40), header = named_type("header", 64);
    gc_type array = bytes_type, large = bytes_type;
    array.name = "array", large.name = "large";
    begin(NULL);
    profile_begin(exact);
    for (int i = 0; i < COUNT; i++) {
        gc_new(gc, &plain);
        gc_new_with(gc, &raw, 0, GC_NEW_RAW);
        gc_new_with(gc, &array, 100, GC_NEW_RAW);
        if (i % 10 == 0) gc_new_array(gc, &large, GC_LARGE_BYTES + 1000);
        gc_object *object = gc_allocate(gc, header.bytes);
        object->type = &header;
    }
    full();
    is(report_now("plain").count, COUNT, "all objects of gc_new");
    is(report_now("raw").count, COUNT, "all of GC_NEW_RAW");
    is(report_now("array").count, COUNT, "all arrays of GC_NEW_RAW");
    is(report_now("array").bytes, COUNT * 120, "and their bytes");
    is(report_now("large").count, COUNT / 10, "all large objects");
    is(report_now("header").count, COUNT, "all of gc_allocate, under the types that their headers name later");
    is(report_now("header").live_count, 0, "no object is in use any more");
    gc_profile_stop();
    end();
}

/* What lives, and what dies young. */

static void test_live(gc_options options) {
    gc_type kept = vector_type, dead = named_type("dead", 32), old = named_type("old", 24);
    kept.name = "kept";
    reported last;
    begin_verified(options);
    profile_begin(exact);
    vector *list = gc_new_array(gc, &kept, 100);
    {
        GC_ROOTS(gc, list);
        for (int i = 0; i < 100; i++) {
            void *object = gc_new(gc, &old);
            gc_store(gc, &list->items[i], object);
            for (int n = 0; n < 9; n++) gc_new(gc, &dead);
        }
        full();
        is(report_now("kept").live_count, 1, "the list is in use");
        is(report_now("old").live_count, 100, "and its objects");
        is(report_now("old").live_bytes, 2400, "with their bytes");
        is(report_now("dead").live_count, 0, "not the others");
        is(report_now("dead").died[0], 100, "all of which have died young");
        age(&list, 2);
        for (int i = 50; i < 100; i++) gc_store(gc, &list->items[i], NULL);
        full();
        reported all = report_now("old");
        is(all.live_count, 50, "half of the old objects are in use");
        is(all.died[options.non_generational ? 0 : 2], 50,
           "the others have died in the oldest generation that there is");
    }
    gc_profile_stop();
    for (int i = 0; i < 100; i++) gc_new(gc, &dead);
    compact();
    is(report_now("dead").count, 900, "after its end a profile stays as it is");
    profile_begin(exact);
    full();
    is(report_now("dead").count, 0, "the next one begins anew");
    is(gc_profile_stop(), GC_OK, "and ends");
    list = gc_new_array(gc, &kept, 100);
    GC_ROOTS(gc, list);
    profile_begin(exact);
    for (int i = 0; i < 100; i++) {
        void *object = gc_new(gc, &old);
        gc_store(gc, &list->items[i], object);
    }
    full();
    gc_profile_stop();
    memset(list->items, 0, 100 * sizeof *list->items);
    profile_begin(exact);
    gc_new(gc, &dead);
    full();
    last = report_now("dead");
    ok(last.count == 1 && last.died[0] == 100 && last.died[1] == 0,
       "objects that the last one has sampled do not count in the next");
    gc_profile_stop();
    end();
}

/* A site has one entry, whatever code comes and goes meanwhile; and what a heap had in use when it was destroyed stays. */
static void test_changes(void) {
    static char code[3][64];
    const char *at;
    int sites = 0;
    begin(NULL);
    profile_begin(exact);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++) new_node(1);
        is(gc_profile_code_add(code[round], sizeof code[round], "compiled", NULL, 0), GC_OK, "code is named");
        if (round == 1) gc_profile_code_remove(code[0]);
    }
    is(report_now("node").count, 60, "all objects are counted");
    ok(gc_profile_write(profile_file("changes.folded")) == GC_OK, "stacks are written");
    char *text = profile_text("changes.folded");
    for (at = text; (at = strstr(at, ";node ")); at++) sites++;
    is(sites, 1, "at one site");
    free(text);
    double live = report_now("node").live_count;
    gc_thread_detach(gc);
    gc_heap_destroy(heap);
    reported last = report_now("node");
    ok(live == 60 && last.live_count == live && last.count == 60, "a heap that is destroyed leaves what was in use");
    gc_profile_stop();
}

/* A profile that ends in the midst of a collection leaves nothing of it to the next one. */
static void *end_and_begin(void *unused) {
    gc_profile_stop();
    gc_profile_start(&exact, NULL);
    return unused;
}

static void restart(void *host, gc_thread *thread, gc_visitor *visitor) {
    pthread_t other;
    (void)host, (void)thread, (void)visitor;
    if (pthread_create(&other, NULL, end_and_begin, NULL) != 0 || pthread_join(other, NULL) != 0) abort();
}

static int collections_in(const char *name) {
    ok(gc_profile_write(profile_file(name)) == GC_OK, "it is written");
    char *text = profile_text(name);
    int count = 0;
    for (const char *at = text; (at = strstr(at, "\"name\":\"GC ")); at++) count++;
    ok(strstr(text, "this file has collections only") != NULL, "a file that is written later says what it has not");
    free(text);
    return count;
}

static void test_restart(void) {
    gc_options options = {.scan_roots = restart};
    begin(&options);
    profile_begin(exact);
    full();
    is(collections_in("restart.json"), 0, "the new profile has no part of the collection that was running");
    gc_profile_stop();
    end();
    begin(NULL);
    profile_begin(exact);
    full();
    is(collections_in("restart.json"), 1, "the next one is as always");
    gc_profile_stop();
    end();
}

/* Rates. */

static uint64_t kinds_seen[GC_PROFILE_KIND_COUNT], amounts_seen[GC_PROFILE_KIND_COUNT],
    details_seen[GC_PROFILE_KIND_COUNT];
static gc_profile_event last_seen[GC_PROFILE_KIND_COUNT];

static void note_event(void *host, const gc_profile_event *event) {
    (void)host;
    kinds_seen[event->kind]++;
    amounts_seen[event->kind] += event->amount;
    details_seen[event->kind] += event->detail;
    last_seen[event->kind] = *event;
}

static void listen(void) {
    gc_profile_host host = {NULL, note_event, NULL};
    memset(kinds_seen, 0, sizeof kinds_seen);
    memset(amounts_seen, 0, sizeof amounts_seen);
    memset(details_seen, 0, sizeof details_seen);
    gc_profile_set_host(&host);
}

/* What arrays grow by is sampled as theirs. */
static void note_amount(void *host, const gc_profile_event *event) {
    (void)host;
    if (event->kind == GC_PROFILE_SAMPLE) amounts_seen[0] += event->amount >= event->bytes;
}
static void test_growth(void) {
    enum { ROUNDS = 20000 };
    gc_type other = named_type("other", 24), grown = {.name = "grown", .bytes = sizeof(gc_array), .element_bytes = 1};
    size_t bytes = 0;
    begin(&(gc_options){.nursery_bytes = (size_t)64 << 20});
    gc_profile_host host = {NULL, note_amount, NULL};
    memset(amounts_seen, 0, sizeof amounts_seen);
    gc_profile_set_host(&host);
    profile_begin((gc_profile_options){.period_bytes = 4096, .seed = 3});
    for (int i = 0; i < ROUNDS; i++) {
        size_t length = 16;
        void *array = gc_new_array(gc, &grown, length);
        while (length < 1024 && gc_array_grow(gc, array, length + 200)) length += 200;
        bytes += gc__align(sizeof(gc_array) + length);
        gc_new(gc, &other);
    }
    reported of_other = report_now("other"), of_grown = report_now("grown");
    ok(fabs(of_other.bytes / (24.0 * ROUNDS) - 1) < 0.5, "an object behind arrays that grow: %.0f bytes of %d", of_other.bytes, 24 * ROUNDS);
    ok(fabs(of_grown.bytes / (double)bytes - 1) < 0.1, "the arrays: %.0f bytes of %zu", of_grown.bytes, bytes);
    is(amounts_seen[0], 0, "a sampled byte is one of its object's");
    gc_profile_stop();
    gc_profile_set_host(NULL);
    end();
}

static void test_rates(void) {
    gc_type type = named_type("counted", 32);
    struct timespec from, to;
    begin(NULL);
    listen();
    profile_begin((gc_profile_options){.what = GC_PROFILE_BIT(TICK), .tick_bytes = 10000});
    for (int i = 0; i < 100000; i++) gc_new(gc, &type);
    ok(kinds_seen[GC_PROFILE_TICK] >= 100 && kinds_seen[GC_PROFILE_TICK] <= 320, "%llu ticks",
       (unsigned long long)kinds_seen[GC_PROFILE_TICK]);
    ok(amounts_seen[GC_PROFILE_TICK] <= 3200000 + GC_REGION_BYTES && amounts_seen[GC_PROFILE_TICK] >= 3200000 - 40000,
       "%llu bytes of 3200000 in them", (unsigned long long)amounts_seen[GC_PROFILE_TICK]);
    is(kinds_seen[GC_PROFILE_SAMPLE], 0, "no samples, which nobody has asked for");
    gc_profile_stop();
    for (unsigned most = 5; most <= 100; most += 95) {
        listen();
        profile_begin((gc_profile_options){.what = GC_PROFILE_BIT(OBJECT), .per_second = most});
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < 100000; i++) gc_new(gc, &type);
        clock_gettime(CLOCK_MONOTONIC, &to);
        uint64_t events = kinds_seen[GC_PROFILE_OBJECT], seconds = (uint64_t)(to.tv_sec - from.tv_sec) + 1;
        ok(events >= 1 && events <= most * (seconds + 1),
           "%llu events of objects in less than %llu s, at most %u a second", (unsigned long long)events,
           (unsigned long long)seconds, most);
        ok(amounts_seen[GC_PROFILE_OBJECT] <= 100000, "%llu objects in them",
           (unsigned long long)amounts_seen[GC_PROFILE_OBJECT]);
        is(details_seen[GC_PROFILE_OBJECT], 32 * amounts_seen[GC_PROFILE_OBJECT], "and their bytes");
        is(report_now("counted").count, (double)amounts_seen[GC_PROFILE_OBJECT], "so says the report");
        gc_profile_stop();
    }
    gc_profile_set_host(NULL);
    end();
}

/* Events. */

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer nothing_finalizer = {.finalize = finalize};

static void test_events(void) {
    gc_type type = named_type("finalized", 32);
    type.finalizer = &nothing_finalizer;
    listen();
    profile_begin((gc_profile_options){.what = (1u << GC_PROFILE_KIND_COUNT) - 1, .period_bytes = 1});
    begin(NULL);
    is(kinds_seen[GC_PROFILE_THREAD], 1, "the thread's attachment");
    for (int i = 0; i < 10; i++) gc_new(gc, &type);
    is(kinds_seen[GC_PROFILE_SAMPLE], 10, "samples at once");
    ok(strcmp(last_seen[GC_PROFILE_SAMPLE].type, "finalized") == 0 && last_seen[GC_PROFILE_SAMPLE].bytes == 32,
       "with type and size");
    ok(last_seen[GC_PROFILE_SAMPLE].heap == heap && last_seen[GC_PROFILE_SAMPLE].depth > 1, "with heap and stack");
    full();
    is(kinds_seen[GC_PROFILE_COLLECTION_START], 1, "a collection's start");
    is(kinds_seen[GC_PROFILE_COLLECTION_END], 1, "and end");
    is(last_seen[GC_PROFILE_COLLECTION_END].detail, 2, "with its generation");
    ok(kinds_seen[GC_PROFILE_PHASE] >= 9, "its phases");
    ok(details_seen[GC_PROFILE_PHASE] ==
           last_seen[GC_PROFILE_COLLECTION_END].time_ns - last_seen[GC_PROFILE_COLLECTION_START].time_ns,
       "which follow one another without gaps");
    gc_finalizer_run(gc, SIZE_MAX);
    is(kinds_seen[GC_PROFILE_FINALIZER], 10, "finalizers that have run");
    ok(strcmp(last_seen[GC_PROFILE_FINALIZER].type, "finalized") == 0, "with the type");
    gc_handle handle = gc_handle_create(heap, GC_HANDLE_WEAK, NULL);
    is(last_seen[GC_PROFILE_HANDLE_CREATED].object, (uintptr_t)handle, "a handle's creation");
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        gc_handle_destroy(heap, handle);
    }
    is(last_seen[GC_PROFILE_HANDLE_DESTROYED].object, (uintptr_t)handle, "and end, in preemptive mode");
    end();
    gc_profile_stop();
    gc_profile_set_host(NULL);
}

/* Stacks of the host's language. */

static const char *loop_names[] = {"outer", "inner"};
static const void *loop_addresses[2];
static int loop_depth;

static size_t loop_stack(void *host, gc_thread *thread, gc_profile_frame *frames, size_t most) {
    (void)host, (void)thread;
    size_t count = 0;
    for (int i = loop_depth; i-- > 0 && count + 2 <= most;) {
        frames[count++] = (gc_profile_frame){.function = "leaf", .native = loop_addresses[i]};
        frames[count++] = (gc_profile_frame){.function = loop_names[i], .file = "program", .line = 7};
    }
    return count;
}

static __attribute__((noinline)) void test_loop(int depth) {
    volatile char here = 0;
    loop_addresses[loop_depth++] = (const void *)&here;
    if (depth)
        test_loop(depth - 1);
    else
        new_node(1);
    loop_depth--;
    here = 1;
}

static __attribute__((noinline)) void test_host_stack(void) {
    gc_profile_host host = {loop_stack, NULL, NULL};
    gc_profile_set_host(&host);
    begin(NULL);
    profile_begin(exact);
    test_loop(1);
    ok(gc_profile_write(profile_file("host.folded")) == GC_OK, "stacks are written");
    char *text = profile_text("host.folded");
#if defined(__x86_64__) || defined(__aarch64__)
    has(text, ";test_host_stack;outer;leaf;inner;leaf;",
        "the language's frames are where the interpreter's loop is, which they replace");
    ok(!strstr(text, "test_loop"), "the loop itself is not among them");
#else /* the C library does not say how far native frames reach */
    has(text, ";outer;leaf;inner;leaf;node ", "the language's frames are the innermost, in their order");
#endif
    has(text, ";node 32\n", "at the end is the type, with its bytes");
    free(text);
    ok(gc_profile_write(profile_file("host.txt")) == GC_OK, "a report is written");
    text = profile_text("host.txt");
    has(text, "      outer at program:7\n", "with file and line");
    free(text);
    gc_profile_stop();
    end();
    gc_profile_set_host(NULL);
}

/* A thread that has had a window before gives more back than it takes. */
static void test_given_back(void) {
    gc_type type = named_type("before", 40);
    begin(NULL);
    gc_new(gc, &type);
    profile_begin(exact);
    gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    gc_profile_write(profile_file("back.txt"));
    char *text = profile_text("back.txt");
    has(text, " s, 0 bytes allocated;", "nothing was allocated meanwhile");
    free(text);
    end();
    gc_profile_stop();
    gc_profile_write(profile_file("ended.txt"));
    text = profile_text("ended.txt");
    has(text, " s, 0 bytes allocated;", "nor was it when the heap has ended");
    free(text);
}

/* Misuse. */

static void test_misuse(void) {
    gc_profile_options options = {.depth_max = 257};
    is(gc_profile_stop(), GC_ERROR_MISUSE, "no profile is being taken");
    is(gc_profile_start(&options, NULL), GC_ERROR_OPTION, "too many frames");
    has(gc_last_message(), "depth_max", "the option is named");
    options = (gc_profile_options){.what = 1u << GC_PROFILE_KIND_COUNT};
    is(gc_profile_start(&options, NULL), GC_ERROR_OPTION, "unknown events");
    is(gc_profile_start(NULL, "/tmp/profile.xyz"), GC_ERROR_OPTION, "an unknown format");
    has(gc_last_message(), ".folded", "the known ones are named");
    profile_begin(exact);
    is(gc_profile_start(NULL, NULL), GC_ERROR_MISUSE, "one profile at a time");
    is(gc_profile_write("/tmp/profile.xyz"), GC_ERROR_OPTION, "an unknown format");
    is(gc_profile_write("/nowhere/at/all.txt"), GC_ERROR_FILE, "no such folder");
    has(gc_last_message(), "/nowhere/at/all.txt", "the file is named");
    has(gc_last_message(), "No such file", "and why");
    is(gc_profile_stop(), GC_OK, "the profile ends");
    is(gc_profile_stop(), GC_ERROR_MISUSE, "once");
    char name[PATH_MAX + 8];
    memset(name, 'x', sizeof name);
    snprintf(name + PATH_MAX, 8, "y.txt");
    is(gc_profile_start(NULL, name), GC_ERROR_FILE, "a name that is too long for the system");
    is(gc_profile_stop(), GC_ERROR_MISUSE, "starts no profile");
    int input = open("/dev/null", O_RDONLY);
    ok(input >= 0 && dup2(input, 0) == 0, "standard input is open");
    snprintf(name + PATH_MAX - 8, 8, "y.json");
    is(gc_profile_start(NULL, name), GC_ERROR_FILE, "a name to which nothing can be appended: it is not streamed");
    is(gc_profile_write(name + 1), GC_ERROR_FILE, "nor written");
    ok(fcntl(0, F_GETFD) >= 0, "and no file was closed that the profile has not opened");
    close(input);
}

/* GC_PROFILE in a program of its own. */

static __attribute__((noinline)) int program(void) {
    begin(NULL);
    for (int i = 0; i < 100000; i++) new_node(1);
    end();
    puts("went on");
    return 0;
}

/* A program that ends the profile of GC_PROFILE and takes one of its own, without a file. */
static int own_program(void) {
    begin(NULL);
    bool ended = gc_profile_stop() == GC_OK, started = gc_profile_start(NULL, NULL) == GC_OK;
    new_node(1);
    end();
    puts("went on");
    return !ended || !started;
}

static const char *program_kind = "--program";

static void program_with(void *setting) {
    setenv("GC_PROFILE", setting, 1);
    execl("/proc/self/exe", "test_profile", program_kind, (char *)NULL);
}

/* Where a file must not be longer than some bytes, so that it fails in the midst. */
static rlim_t file_bytes = RLIM_INFINITY;
static void program_within(void *setting) {
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){file_bytes, file_bytes});
    signal(SIGXFSZ, SIG_IGN);
    program_with(setting);
}

static void runs_with(const char *setting, const char *text, int warnings) {
    char output[4096], *copy = strdup(setting);
    int status = tap_child(program_within, copy, output, sizeof output), count = 0;
    for (const char *at = output; (at = strstr(at, "warning")); at++) count++;
    is(status, 0, "%s: the program ends well", text);
    has(output, "went on\n", "%s: it has gone on", text);
    is(count, warnings, "%s: %d warnings", text, warnings);
    if (count != warnings) diag("%s", output);
    free(copy);
}

static void test_environment(void) {
    char setting[256];
    snprintf(setting, sizeof setting, "%s,period=1000,ticks,seed=3,depth=20", profile_file("program.txt"));
    runs_with(setting, "GC_PROFILE", 0);
    char *text = profile_text("program.txt");
    reported all = report_of(text, "node");
    ok(fabs(all.count / 100000 - 1) < 0.1, "%.0f of 100000 objects in the report", all.count);
    has(text, "\n      program\n", "with names of functions");
    free(text);
    runs_with("/tmp/profile,ticks", "a file without an ending", 1);
    runs_with("/tmp/profile.txt,period", "half an option", 1);
    runs_with("/tmp/profile.txt,tick=5x", "an unknown option", 1);
    runs_with("/tmp/profile.txt,period=-1", "a number with a sign", 1);
    runs_with("/tmp/profile.txt,depth=4294967300", "a number that is too large", 1);
    runs_with("/tmp/profile.txt,perfmap,tick", "an unknown option after perfmap", 1);
    program_kind = "--own";
    snprintf(setting, sizeof setting, "%s", profile_file("ended.txt"));
    runs_with(setting, "a program with a profile of its own", 0);
    program_kind = "--program";
    runs_with("/nowhere/profile.txt", "a folder that does not exist", 1);
    static const char *const endings[] = {"txt", "folded", "pb", "json", "nettrace", "html", "svg", "heapsnapshot"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[32], text_of[64];
        snprintf(name, sizeof name, "full.%s", endings[i]);
        snprintf(setting, sizeof setting, "%s", profile_file(name));
        ok(symlink("/dev/full", setting) == 0, "a link to a full disk");
        snprintf(text_of, sizeof text_of, "a full disk for a .%s", endings[i]);
        runs_with(setting, text_of, 1);
    }
    snprintf(setting, sizeof setting, "%s,period=200", profile_file("cut.nettrace"));
    for (file_bytes = 300000; file_bytes < 300004; file_bytes++) runs_with(setting, "a disk that becomes full", 1);
    file_bytes = RLIM_INFINITY;
    snprintf(setting, sizeof setting, "%s", profile_file("folder.txt"));
    ok(mkdir(setting, 0700) == 0, "a folder");
    runs_with(setting, "a folder for a file", 1);
    is(entries_ending(profile_folder, "tmp"), 0, "no temporary file is left");
}

/* Programs that are killed. */

static __attribute__((noinline, noreturn)) void endless_program(void) {
    begin(NULL);
    for (;;) new_node(1);
}

/* Runs a program until its file has some bytes, and kills it. */
static void kill_with(const char *file, const char *options) {
    char setting[256], path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s", profile_file(file));
    snprintf(setting, sizeof setting, "%s%s", path, options);
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        setenv("GC_PROFILE", setting, 1);
        execl("/proc/self/exe", "test_profile", "--endless", (char *)NULL);
        _exit(1);
    }
    bool written = false;
    for (int i = 0; i < 30000 && !written; i++) {
        usleep(1000);
        written = stat(path, &status) == 0 && status.st_size > 200;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(written, "%s: there is something when the program is killed", file);
}

static void test_killed(void) {
    kill_with("killed.txt", ",period=1000,interval=1");
    char *text = profile_text("killed.txt");
    ok(report_of(text, "node").count > 0, "a report that was written at an interval is whole");
    has(text, "      endless_program\n", "with its stacks");
    free(text);
    kill_with("killed.json", ",period=1000");
    text = profile_text("killed.json");
    /* The system may stop in the middle of the last write. */
    char *cut = strrchr(text, '\n');
    ok(text[0] == '[' && cut && cut - text > 2 && cut[-1] == ',' && cut[-2] == '}',
       "what was streamed are whole records");
    has(text, "\"name\":\"node\"", "and has events");
    free(text);
}

/* A child of fork goes on without its parent's file. */
static unsigned others_events; /* in the child, of another thread than its only one */

static void note_others(void *host, const gc_profile_event *event) {
    (void)host;
    others_events += event->thread != (uint32_t)getpid();
}

static void test_fork(void) {
    char before[128];
    snprintf(before, sizeof before, "%s", profile_file("forked.json"));
    ok(gc_profile_start(&exact, before) == GC_OK, "a profile is streamed");
    begin(NULL);
    new_node(1);
    pid_t child = fork();
    if (child == 0) {
        gc_profile_host host = {NULL, note_others, NULL};
        gc_profile_set_host(&host);
        for (int i = 0; i < 1000; i++) new_node(1);
        full();
        int result = gc_profile_stop();
        _exit(result != GC_OK || others_events || gc_profile_write(profile_file("child.txt")) != GC_OK);
    }
    int status = 1;
    waitpid(child, &status, 0);
    is(status, 0, "the child ends its copy of the profile, whose events are those of its own thread");
    new_node(1);
    is(gc_profile_stop(), GC_OK, "and the parent its own");
    char *text = profile_text("child.txt");
    is(report_of(text, "node").count, 1001, "the child's has the child's objects");
    free(text);
    text = profile_text("forked.json");
    int nodes = 0;
    for (const char *at = text; (at = strstr(at, "\"ph\":\"i\",\"name\":\"node\"")); at++) nodes++;
    is(nodes, 2, "the parent's file its own only");
    free(text);
    end();
}

/* Emulated programs cannot, unless the system knows the emulator. */
enum { STARTED = 42 };
static void start_again(void *unused) {
    (void)unused;
    execl("/proc/self/exe", "test_profile", "--nothing", (char *)NULL);
}
static bool can_start_again(void) {
    char output[64];
    return tap_child(start_again, NULL, output, sizeof output) == STARTED;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--nothing") == 0) return STARTED;
    if (argc > 1 && strcmp(argv[1], "--program") == 0) return program();
    if (argc > 1 && strcmp(argv[1], "--own") == 0) return own_program();
    if (argc > 1 && strcmp(argv[1], "--endless") == 0) endless_program();
    test_given_back();
    test_misuse();
    test_estimates(0, MIXES);
    test_estimates(GC_NEW_FIXED, 4);
    test_untyped_fixed();
    test_bias(50);
    test_kinds();
    test_live((gc_options){0});
    test_live((gc_options){.non_moving = true});
    test_live((gc_options){.non_generational = true});
    test_changes();
    test_restart();
    test_growth();
    test_rates();
    test_events();
    test_host_stack();
    if (can_start_again()) {
        test_environment();
        test_killed();
    } else {
        ok(true, "GC_PROFILE # skip the system does not start the program again");
    }
    test_fork();
    profile_clean();
    return done();
}
