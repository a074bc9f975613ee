/* The limits of sizes, counts and memory at their edge: each fails with a message, and leaves the heap as it was. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

static int hook_calls;
static size_t hook_bytes;
static char hook_message[1000];
static node **hook_drops;

static bool out_of_memory(void *host, size_t bytes, const char *message) {
    (void)host;
    hook_calls++, hook_bytes = bytes;
    snprintf(hook_message, sizeof hook_message, "%s", message);
    if (!hook_drops || !*hook_drops) return false;
    *hook_drops = NULL;
    return true;
}

static size_t fill(node **list) {
    size_t count = 0;
    for (node *n; (n = new_node(count)) != NULL; *list = n, count++) gc_store(gc, &n->left, *list);
    return count;
}

static bool push(node **list, size_t value) {
    node *n = new_node(value);
    if (!n) return false;
    gc_store(gc, &n->left, *list);
    *list = n;
    return true;
}

static size_t length(const node *list, size_t count) {
    size_t right = 0;
    for (; list; list = list->left) right += list->value == --count;
    return right;
}

static size_t heap_max;

static void exhausted(void) {
    node *list = NULL;
    GC_ROOTS(gc, list);
    hook_calls = 0, hook_drops = NULL;
    size_t first = 0;
    for (int round = 0; round < 3; round++) {
        int calls = hook_calls;
        size_t count = fill(&list);
        if (round == 0) first = count;
        is(hook_calls, calls + 1, "the hook is called, round %d", round);
        ok(hook_bytes >= sizeof(node), "with the size");
        ok(strstr(hook_message, "heap_bytes_max") != NULL, "and a message that names the limit: %s", hook_message);
        ok(!strstr(hook_message, "finalizer"), "and says nothing of finalizers where there are none");
        is(gc_last_result(), GC_ERROR_HEAP_FULL, "GC_ERROR_HEAP_FULL");
        ok(strcmp(gc_last_message(), hook_message) == 0, "gc_last_message is the same");
        ok(count * sizeof(node) > heap_max / 4, "at least a quarter of the limit was of use: %zu of %zu KiB", count * sizeof(node) >> 10, heap_max >> 10);
        ok(count >= first - first / 4, "as much as at first: %zu, %zu", count, first);
        ok(stats().committed_bytes_peak <= heap_max, "the limit holds");
        is(length(list, count), count, "nothing was lost");
        compact();
        is(length(list, count), count, "a full heap can be compacted");
        gc_collect(heap, 0, 0);
        gc_heap_verify(heap);
        if (round % 2) full();
        list = NULL;
        ok(new_node(1) != NULL, "usable after data is dropped");
    }
    /* Dropping half, again and again, at the limit. */
    size_t count = fill(&list);
    for (int round = 0; round < 5; round++) {
        for (node *n = list; n && n->left; n = n->left) gc_store(gc, &n->left, n->left->left);
        size_t left = 0, kept = 0;
        for (node *n = list; n; n = n->left) left++;
        node *more = NULL;
        GC_ROOTS(gc, more);
        count = fill(&more);
        for (node *n = list; n; n = n->left) kept++;
        is(kept, left, "half dropped, round %d: the rest", round);
        is(length(more, count), count, "and what took its place");
        ok(count > left / 4, "the space of what was dropped is used: %zu for %zu", count, left);
    }
}

static void retried(void) {
    node *list = NULL;
    GC_ROOTS(gc, list);
    hook_drops = &list, hook_calls = 0;
    for (uint64_t i = 0; i < 20000000 && hook_calls < 3; i++) {
        node *n = new_node(i);
        if (!n) break;
        gc_store(gc, &n->left, list);
        list = n;
    }
    is(hook_calls, 3, "a hook that drops references has the allocation tried again");
    hook_drops = NULL;
}

/* Ballast, as docs/porting.md shows it. */
static bytes *ballast; /* a global root; so large that it owns whole regions, which are free once it is dropped */
static bool is_exhausted;

static bool drop_ballast(void *host, size_t needed, const char *message) {
    (void)host, (void)needed, (void)message;
    is_exhausted = true;
    if (!ballast) return false;
    ballast = NULL;
    return true;
}

static bool have_ballast(void) {
    if (!ballast) ballast = new_bytes(2 * GC_REGION_BYTES - sizeof(bytes));
    return ballast != NULL;
}

/* The host: goes on for as long as allocations succeed, and raises its exception when it finds the flag set. Returns how
   many nodes it had made then; the one in whose allocation the limit was met is among them. */
static size_t until_exhausted(node **list) {
    size_t count = 0;
    for (node *n; !is_exhausted && (n = new_node(count)) != NULL; *list = n, count++) gc_store(gc, &n->left, *list);
    return count;
}

static void with_ballast(void) {
    node *list = NULL;
    GC_ROOTS(gc, list);
    is(gc_roots_add(heap, &ballast, 1, 0), GC_OK, "ballast is a global root");
    for (int round = 0; round < 2; round++) {
        ok(have_ballast(), "there is ballast, round %d", round);
        is_exhausted = false;
        size_t count = until_exhausted(&list);
        ok(is_exhausted && !ballast, "the limit is met");
        is(length(list, count), count, "the allocation that met it succeeds, and nothing was lost");
        if (round % 2 == 0) {
            node *more = NULL;
            GC_ROOTS(gc, more);
            size_t handler = fill(&more);
            ok(handler * sizeof(node) >= GC_REGION_BYTES, "so do those of the handler, %zu KiB of them", handler * sizeof(node) >> 10);
            is(gc_last_result(), GC_ERROR_HEAP_FULL, "but the next time that the limit is met they fail");
            ok(!have_ballast(), "and there is no room for new ballast yet");
            is(length(list, count) + length(more, handler), count + handler, "with nothing lost");
        }
        list = NULL;
    }
    ok(have_ballast(), "and it is there again");
    ballast = NULL;
    gc_roots_remove(heap, &ballast);
}

static void large_objects(void) {
    bytes *big = NULL;
    GC_ROOTS(gc, big);
    hook_calls = 0, hook_drops = NULL;
    big = new_bytes(heap_max / 2);
    ok(big != NULL, "an object of half the heap");
    ok(!new_bytes(heap_max / 2 + heap_max / 4), "no second one of three quarters");
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "GC_ERROR_HEAP_FULL");
    is(hook_calls, 1, "the hook was called");
    big->items[heap_max / 2 - 1] = 1;
    big = NULL;
    big = new_bytes(heap_max / 2 + heap_max / 4);
    ok(big != NULL, "there is, when the first is dead");
    big = NULL;
    ok(!new_bytes(heap_max + 1), "nothing larger than the heap");
    is(gc_last_result(), GC_ERROR_TOO_LARGE, "GC_ERROR_TOO_LARGE");
    is(hook_calls, 1, "which no hook could change");
    for (int i = 0; i < 200; i++) {
        big = NULL;
        big = new_bytes(heap_max / 3);
        if (!big) break;
        big->items[i] = 1;
    }
    ok(big != NULL, "again and again");
}

static void refused_options(void) {
    const struct {
        gc_options options;
        const char *word, *what;
    } wrong[] = {{{.heap_bytes_max = 1}, "heap_bytes_max", "a heap of one byte"},
                 {{.heap_bytes_max = 4 * GC_REGION_BYTES - 1}, "heap_bytes_max", "a heap under 4 regions"},
                 {{.debug.stress = (gc_stress)99}, "stress", "an unknown kind of stress"},
                 {{.trace_functions = (gc_trace_functions)3}, "trace_functions", "an unknown choice of trace_functions"},
                 {{.debug.verify = 64}, "verify", "an unknown bit of verify"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gc_heap *none = gc_heap_create(&wrong[i].options);
        ok(!none, "refused: %s", wrong[i].what);
        is(gc_last_result(), GC_ERROR_OPTION, "GC_ERROR_OPTION");
        ok(!gc_thread_attach(NULL) && gc_last_result() == GC_ERROR_OPTION, "attaching to it fails for the same reason");
        ok(strstr(gc_last_message(), wrong[i].word) != NULL, "a message that names it: %s", gc_last_message());
        if (none) gc_heap_destroy(none);
    }
    const gc_options right[] = {{.heap_bytes_max = SIZE_MAX},
                                {.nursery_bytes = 1},
                                {.nursery_bytes = SIZE_MAX},
                                {.heap_bytes_max = 4 * GC_REGION_BYTES, .nursery_bytes = (size_t)1 << 40},
                                {.growth_percent = 1},
                                {.growth_percent = ~0u},
                                {.pause_goal_us = 1},
                                {.pause_goal_us = ~0u}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        heap = gc_heap_create(&right[i]);
        gc = heap ? gc_thread_attach(heap) : NULL;
        if (!ok(gc != NULL, "extreme option %zu: %s", i, gc ? "accepted" : gc_last_message())) continue;
        {
            vector *keep = new_vector(1000);
            GC_ROOTS(gc, keep);
            size_t wrong_values = 0;
            for (size_t k = 0; k < 300000; k++) {
                node *n = new_node(k % 1000);
                if (n && keep) gc_store(gc, &keep->items[k % 1000], n);
                else wrong_values++;
            }
            for (size_t k = 0; k < 1000; k++) wrong_values += ((node *)keep->items[k])->value != k;
            is(wrong_values, 0, "extreme option %zu: works", i);
        }
        end();
    }
}

/* Children under resource limits: heap_create works with less, or says what to raise. */
static void in_little_space(void *limit) {
    struct rlimit space = {*(rlim_t *)limit, *(rlim_t *)limit};
    setrlimit(RLIMIT_AS, &space);
    gc_heap *small = gc_heap_create(NULL);
    if (!small) {
        printf("result %d: %s\n", gc_last_result(), gc_last_message());
        fflush(stdout);
        _exit(3);
    }
    gc = gc_thread_attach(heap = small);
    node *list = NULL;
    GC_ROOTS(gc, list);
    for (uint64_t i = 0; i < 100000; i++) {
        node *n = new_node(i);
        if (!n) _exit(4);
        gc_store(gc, &n->left, list);
        list = n;
    }
    full();
    _exit(length(list, 100000) == 100000 ? 0 : 5);
}

static void in_little_memory(void *limit) {
    struct rlimit data = {*(rlim_t *)limit, *(rlim_t *)limit};
    begin(NULL);
    setrlimit(RLIMIT_DATA, &data);
    node *list = NULL;
    GC_ROOTS(gc, list);
    size_t count = fill(&list);
    printf("%zu nodes, result %d: %s\n", count, gc_last_result(), gc_last_message());
    fflush(stdout);
    if (length(list, count) != count) _exit(5);
    full(), compact();
    if (length(list, count) != count) _exit(6);
    list = NULL;
    full();
    if (count && !new_node(1)) _exit(7); /* the tables alone may exceed the limit: then there was never any room */
    _exit(gc_last_result() == GC_ERROR_MEMORY ? 0 : 8);
}

static int starts, ends, left_out;
static gc_collection last_collection;
static void at_start(void *host, const gc_collection *collection) { (void)host, (void)collection, starts++; }
static void at_end(void *host, const gc_collection *collection) {
    (void)host;
    ends++, left_out += collection->left_out;
    last_collection = *collection;
}
static void ignore(void *host, const char *message) { (void)host, (void)message; }

/* No memory for the list of roots: collections are left out, and nothing else happens. */
static void without_memory_for_roots(void *unused) {
    (void)unused;
    enum { MIB = 1 << 20, GARBAGE = 64 * MIB };
    begin(&(gc_options){.collection_start = at_start, .collection_end = at_end, .warning = ignore});
    node *n = new_node(42);
    GC_ROOTS(gc, n);
    struct rlimit before, none;
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &none);
    is(gc_collect(heap, 2, 0), GC_ERROR_MEMORY, "gc_collect says that it could not");
    is(gc_last_result(), GC_ERROR_MEMORY, "GC_ERROR_MEMORY");
    has(gc_last_message(), "left out", "and why");
    is(starts * 10 + ends, 11, "both hooks are called");
    is(left_out, 1, "and told that it was left out");
    size_t made = 0;
    while (made < GARBAGE && new_node(made)) made += sizeof(node);
    ok(made >= GARBAGE, "allocation goes on: %s", made >= GARBAGE ? "64 MiB" : gc_last_message());
    gc_stats now = stats();
    ok(now.committed_bytes <= GARBAGE + 8 * GC_REGION_BYTES, "in whole regions: %zu KiB for 64 MiB", now.committed_bytes >> 10);
    is(now.collections[0] + now.collections[1] + now.collections[2], 0, "no collection is counted");
    is(now.pause_total_ns, 0, "nor a pause");
    ok(left_out == ends && ends < 300, "tried again now and then: %d times", ends);
    setrlimit(RLIMIT_AS, &before);
    is(gc_collect(heap, 2, 0), GC_OK, "with memory again, it collects");
    is(last_collection.number * 10 + last_collection.left_out, 10, "which is the first one");
    is(stats().collections[2], 1, "and counted");
    is(n->value, 42, "nothing was lost");
    ok(stats().live_bytes < MIB, "the garbage is gone");
    _exit(tap_failures);
}

/* The same while objects are being marked beside the program, which only such a collection could end. */
static void *many_roots[20000];
static void without_memory_beside_marking(void *unused) {
    (void)unused;
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .heap_bytes_max = 32 << 20, .warning = ignore});
    node *list = NULL;
    GC_ROOTS(gc, list);
    for (size_t i = 0; i < 100000; i++) push(&list, i);
    /* A whole cycle: libc ends the program where a thread that has just begun gets no memory for a library's variables. */
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    while (!stats().concurrent_finished) new_node(0);
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    is(stats().concurrent_cycles - stats().concurrent_finished, 1, "objects are being marked");
    gc_roots_add(heap, many_roots, sizeof many_roots / sizeof *many_roots, 0);
    for (size_t i = 0; i < sizeof many_roots / sizeof *many_roots; i++) many_roots[i] = list;
    setrlimit(RLIMIT_AS, &(struct rlimit){1, RLIM_INFINITY});
    alarm(60);
    while (push(&list, 0)) {}
    is(gc_last_result(), GC_ERROR_MEMORY, "an allocation fails instead of waiting for ever");
    has(gc_last_message(), "left out", "and says why");
    _exit(tap_failures);
}

/* An emulator of processors may leave RLIMIT_AS alone. */
static void exceed(void *unused) {
    (void)unused;
    setrlimit(RLIMIT_AS, &(struct rlimit){1, 1});
    _exit(mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

static void resources(void) {
    static char output[4000];
    bool unlimited = !HAS_ASAN && tap_child(exceed, NULL, output, sizeof output);
    if (HAS_ASAN || unlimited) {
        ok(true, "limits of address space # skip %s",
           unlimited ? "they are not enforced here" : "AddressSanitizer needs terabytes of it");
        return;
    }
    rlim_t limits[] = {(rlim_t)200 << 20, (rlim_t)1 << 30, (rlim_t)8 << 30, (rlim_t)64 << 30, (rlim_t)2 << 40};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int status = tap_child(in_little_space, &limits[i], output, sizeof output);
        diag("ulimit -v %llu: status %d %s", (unsigned long long)limits[i] >> 10, status, output);
        ok(status == 0 || (status == 3 && strstr(output, "ulimit -v")), "with %llu MiB of address space: %s",
           (unsigned long long)limits[i] >> 20, status == 0 ? "works" : "says what to raise");
        if (limits[i] >= (rlim_t)8 << 30) is(status, 0, "which is enough");
    }
    int failures = tap_child(without_memory_for_roots, NULL, output, sizeof output);
    if (!is(failures, 0, "no memory for the list of roots")) diag("%s", output);
    failures = tap_child(without_memory_beside_marking, NULL, output, sizeof output);
    if (!is(failures, 0, "nor while objects are being marked")) diag("%s", output);
    if (is_quick()) return;
    rlim_t data = (rlim_t)200 << 20;
    int status = tap_child(in_little_memory, &data, output, sizeof output);
    is(status, 0, "a system out of memory is an expected failure");
    diag("%s", output);
    ok(status == 0 && (strstr(output, "ulimit") || strstr(output, "memory")), "with a message");
}

/* The hook must not allocate: that fails as the first allocation did, and would call the hook again, without end. */
static size_t misused;
static bool allocating_hook(void *host, size_t bytes, const char *message) {
    (void)host, (void)bytes, (void)message;
    hook_calls++;
    if (new_node(0)) _exit(1);
    if (gc_last_result() == GC_ERROR_MISUSE) misused++, puts(gc_last_message());
    return false;
}

static void allocate_in_hook(void *unused) {
    (void)unused;
    begin(&(gc_options){.heap_bytes_max = 8 * GC_REGION_BYTES, .out_of_memory = allocating_hook});
    node *list = NULL;
    GC_ROOTS(gc, list);
    hook_calls = 0;
    fill(&list);
    if (misused != 1 || gc_last_result() != GC_ERROR_HEAP_FULL) _exit(2);
    list = NULL;
    fflush(stdout);
    _exit(new_node(0) ? 0 : 3);
}

/* Without heap_bytes_max it is no remedy to raise it. */
static void no_limit(void) {
    begin(NULL);
    ok(!new_bytes((size_t)1 << 60), "an object beyond the address space is refused");
    is(gc_last_result(), GC_ERROR_TOO_LARGE, "with a result");
    has(gc_last_message(), "GC_ARENA_BYTES", "and a message that names the limit");
    end();
}

static void finalize_nothing(gc_thread *thread, void *object) { (void)thread, (void)object; }

/* SIZE_MAX is no limit, and what is less by a little is none that is met. */
static void far_limits(void) {
    static const gc_finalizer finalizer = {.finalize = finalize_nothing};
    static const size_t below[] = {0, 1, 4096, (size_t)1 << 40, SIZE_MAX / 64, SIZE_MAX / 4, SIZE_MAX / 2};
    for (size_t i = 0; i < 2 * sizeof below / sizeof *below; i++) {
        size_t limit = SIZE_MAX - below[i / 2], failed = 0;
        begin(i % 2 ? &(gc_options){0} : &(gc_options){.heap_bytes_max = limit});
        if (i % 2) is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = limit}), GC_OK, "a limit of %zu bytes is set", limit);
        node *n = NULL;
        GC_ROOTS(gc, n);
        for (size_t j = 0; j < 2000; j++) {
            n = new_node(j);
            failed += !n || !gc_handle_create(heap, GC_HANDLE_WEAK, n);
            failed += gc_finalizer_register(gc, n, &finalizer) != GC_OK;
            failed += gc_object_add_external(gc, n, 1000) != GC_OK;
        }
        is(failed, 0, "objects with a handle and a finalizer, under a limit of %zu bytes", limit);
        if (failed) diag("%s", gc_last_message());
        is(stats().heap_bytes_max, i / 2 ? limit : 0, "which statistics tell");
        end();
    }
}

/* What is huge means that collections are rare, and goals far. */
static void far_budgets(void) {
    const gc_options far[] = {{.nursery_bytes = SIZE_MAX},
                              {.nursery_bytes = SIZE_MAX - 4096},
                              {.nursery_bytes = SIZE_MAX, .heap_bytes_max = SIZE_MAX},
                              {.nursery_bytes = SIZE_MAX / 2, .heap_bytes_soft = SIZE_MAX - 1},
                              {.nursery_bytes = SIZE_MAX, .growth_percent = ~0u},
                              {.nursery_bytes = SIZE_MAX, .non_generational = true},
                              {.nursery_bytes = SIZE_MAX, .concurrent = GC_CONCURRENT_ON, .pause_goal_us = ~0u}};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        begin(&far[i]);
        node *n = NULL;
        GC_ROOTS(gc, n);
        for (int j = 0; j < 200000; j++) n = new_node(1);
        gc_stats s = stats();
        is(s.collections[0] + s.collections[1] + s.collections[2], 0, "no collection with far budgets, %zu", i);
        is(gc_collect(heap, 2, 0), GC_OK, "but the one that is asked for");
        for (int j = 0; j < 200000; j++) n = new_node(1);
        s = stats();
        is(s.collections[0] + s.collections[1] + s.collections[2], 1, "and none after it");
        end();
    }
}

/* Off-heap bytes may be any number, and so the heap's goal is: the growth must not overflow. */
static void far_growth(void) {
    const unsigned percent[] = {0, 1000000, 0x7FFFFFFF, ~0u};
    for (size_t i = 0; i < sizeof percent / sizeof *percent; i++) {
        for (size_t off = (size_t)1 << 36; off < SIZE_MAX / 2; off *= 2) {
            begin(&(gc_options){.growth_percent = percent[i]});
            gc_heap_add_external(heap, (ptrdiff_t)off);
            gc_collect(heap, 2, 0), gc_collect(heap, 2, 0);
            gc_pause pauses[GC_PAUSES_KEPT];
            size_t count = gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, false), goal = 0;
            for (size_t j = 0; j < count; j++) goal = pauses[j].number == 2 ? pauses[j].goal_bytes : goal;
            if (goal < off + off / 64) ok(false, "growth of %u %% and %zu bytes off the heap: a goal of %zu", percent[i], off, goal);
            end();
        }
        ok(true, "a heap that grows by %u %% has a goal beyond what it holds", percent[i]);
    }
}

static void end_when_exhausted(void *bytes) {
    begin(&(gc_options){.heap_bytes_max = 8 * GC_REGION_BYTES, .abort_when_exhausted = true});
    node *list = NULL;
    GC_ROOTS(gc, list);
    if (*(size_t *)bytes) new_bytes(*(size_t *)bytes);
    fill(&list);
}

static void ended_when_exhausted(void) {
    static char output[4000];
    size_t bytes = 0;
    is(tap_child(end_when_exhausted, &bytes, output, sizeof output), 256 + 6, "abort_when_exhausted ends the program");
    has(output, "raise heap_bytes_max", "with the limit that was met: %s", output);
    bytes = SIZE_MAX - 8;
    is(tap_child(end_when_exhausted, &bytes, output, sizeof output), 256 + 6, "also if a size overflows");
    has(output, "overflows", "says so: %s", output);
}

static void misused_hook(void) {
    static char output[4000];
    is(tap_child(allocate_in_hook, NULL, output, sizeof output), GC_DEBUG >= 1 ? 256 + 6 : 0,
       "an allocation in the out_of_memory hook %s", GC_DEBUG >= 1 ? "is asserted" : "fails");
    has(output, "an allocation in the out_of_memory hook", "and says why");
}

/* Small holes in all regions become whole regions, for as many as all that lives leaves but for the reserve of two. */
static void fragmented(void) {
    enum { OBJECTS = 40, COUNT = 12 * OBJECTS, FREE = 4 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < COUNT; i++) {
        bytes *b = new_bytes(GC_REGION_BYTES / OBJECTS - sizeof *b - 32);
        gc_store(gc, &keep->items[i], b);
    }
    full(), full();
    for (size_t i = 0; i < COUNT; i += 5) gc_store(gc, &keep->items[i], NULL);
    ok(new_bytes(FREE * GC_REGION_BYTES - sizeof(bytes)) != NULL, "%d of 16 regions, out of a fifth of each of 12", FREE);
}

int main(void) {
    resources(); /* first: its children must find the arena not reserved yet */
    if (!is_quick()) misused_hook();
    no_limit();
    far_limits();
    far_budgets();
    if (!is_quick()) far_growth();
    ended_when_exhausted();
    static const size_t regions[] = {8, 9, 16};
    for (size_t i = 0; i < 3; i += is_quick() ? 2 : 1) {
        heap_max = regions[i] * GC_REGION_BYTES;
        gc_options options = {.heap_bytes_max = heap_max, .out_of_memory = out_of_memory};
        diag("heap_bytes_max: %zu regions", regions[i]);
        if (regions[i] < 16) {
            begin(&options), exhausted(), end();
            options.non_moving = true;
            begin(&options), exhausted(), end();
            continue;
        }
        options.debug.verify = GC_VERIFY_AFTER;
        begin(&options), retried(), end();
        begin(&options), large_objects(), end();
    }
    run(fragmented, (gc_options){.heap_bytes_max = 16 * GC_REGION_BYTES + GC_REGION_BYTES / 2});
    for (int fixed = 0; fixed < 2 && !is_quick(); fixed++) {
        begin(&(gc_options){.heap_bytes_max = 10 * GC_REGION_BYTES, .out_of_memory = drop_ballast, .non_moving = fixed});
        with_ballast();
        end();
    }
    refused_options();
    return done();
}
