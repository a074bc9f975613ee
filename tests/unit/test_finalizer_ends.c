/* Finalizers on several threads, at the end of the heap, and where memory ends. */
#define _GNU_SOURCE
#include "finalizing.h"
#include "space_limit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

static void start_thread(void) { is(gc_finalizer_thread_start(heap), GC_OK, "the finalizer thread"); }

/* The finalizer thread. */

static void threaded(void) {
    forget_notes();
    start_thread();
    is(gc_finalizer_thread_start(heap), GC_ERROR_MISUSE, "a second one is refused");
    has(gc_last_message(), "already", "in words");
    for (int round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < 4; i++) new_final(i);
        gc_collect(heap, round % 3, 0);
        if (!gc_finalizer_wait(gc, 10000)) break;
    }
    is(noted(), 200, "it runs what each collection queues");
}

/* An object in its finalizer moves. */
static uintptr_t seen_before, seen_after;
static void note_moved(gc_thread *thread, void *object) {
    node *self = object;
    GC_ROOTS(thread, self);
    seen_before = (uintptr_t)self;
    enter_stage(1);
    await_stage(thread, 2);
    seen_after = (uintptr_t)self;
    note_value(self->value);
}
static const gc_finalizer moved = {note_moved, false, NULL};

static void in_flight(void) {
    forget_notes();
    enter_stage(0);
    start_thread();
    new_with(7, &moved), full();
    await_stage(gc, 1);
    is(gc_finalizer_pending(heap), 1, "a finalizer that runs is pending");
    ok(!gc_finalizer_wait(gc, 20), "and is waited for");
    for (int i = 0; i < 5; i++) compact();
    for (int i = 0; i < 1000; i++) new_node(0xBAD);
    enter_stage(2);
    ok(gc_finalizer_wait(gc, 10000), "until it ends");
    ok(seen_after != seen_before, "its object moved meanwhile");
    is(notes[0], 7, "and was followed");
}

/* A critical finalizer may use what normal ones of other threads still do. */
static void side_by_side(void) {
    forget_notes();
    enter_stage(0);
    start_thread();
    new_with(1, &slow), new_with(2, &critical), full();
    await_stage(gc, 1);
    is(gc_finalizer_run(gc, 10), 0, "while a normal finalizer runs elsewhere no critical one does");
    new_final(3), full();
    is(gc_finalizer_run(gc, 10), 1, "another normal one may");
    enter_stage(2);
    ok(gc_finalizer_wait(gc, 10000), "when it has ended");
    ok(noted() == 3 && notes[0] == 3 && notes[1] == 1 && notes[2] == 2, "the critical one runs");
}

/* Waiting for what another thread suppresses: it must be noticed long before the patience of ten seconds. */
static gc_handle waited_for;
static void *suppressing(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    await_stage(me, 1);
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        sleep_us(50000);
    }
    gc_finalizer_suppress(me, gc_handle_get(waited_for));
    gc_thread_detach(me);
    enter_stage(2);
    return unused;
}

static void suppressed_meanwhile(void) {
    pthread_t thread;
    forget_notes();
    enter_stage(0);
    start_thread();
    new_with(1, &slow), full();
    await_stage(gc, 1);
    waited_for = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_with(2, &critical)), full();
    pthread_create(&thread, NULL, suppressing, NULL);
    uint64_t start = now_ms();
    ok(gc_finalizer_wait(gc, 60000), "a wait for what is suppressed meanwhile");
    ok(now_ms() - start < 5000, "ends");
    is(noted(), 1, "and it did not run");
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

/* Several threads make garbage with finalizers, register, suppress and run them, on one heap. */
enum { THREADS = 4, EACH = 2000 };
static int made, suppressed;
static void *making(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    for (uint64_t i = 0; i < EACH; i++) {
        node *n = gc_new(me, i % 2 ? &final_type : &node_type);
        __atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST);
        if (i % 2 == 0) gc_finalizer_register(me, n, i % 4 ? &plain : &critical);
        if (i % 7 == 0) __atomic_fetch_add(&suppressed, gc_finalizer_suppress(me, n), __ATOMIC_SEQ_CST);
        if (i % 100 == 0) gc_collect(heap, (int)(i / 100 % 3), 0);
        if (i % 50 == 0) gc_finalizer_run(me, 5);
        if (i % 500 == 0) gc_finalizer_wait(me, 5);
    }
    gc_thread_detach(me);
    return argument;
}

static void by_many(void) {
    pthread_t threads[THREADS];
    forget_notes();
    made = suppressed = 0;
    start_thread();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, making, NULL);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    full();
    ok(gc_finalizer_wait(gc, 60000), "four threads");
    is(noted() + suppressed, made, "each finalizer ran once, or was taken back");
}

/* Threads register the same object at once. */
static gc_handle shared;
enum { REGISTERED = 2000 };
static void *registering(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    for (int i = 0; i < REGISTERED; i++) {
        gc_finalizer_register(me, gc_handle_get(shared), i % 2 ? &plain : &critical);
        gc_safepoint(me);
    }
    gc_thread_detach(me);
    return argument;
}

static void one_by_many(void) {
    pthread_t threads[THREADS];
    forget_notes();
    shared = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(1));
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, registering, NULL);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    gc_handle_set(shared, NULL), full();
    is(gc_finalizer_run(gc, SIZE_MAX), THREADS * REGISTERED, "what several threads register at once all runs");
}

/* Threads that start the finalizer thread at once. */
static int started, refused;
static void *starting(void *argument) {
    pthread_barrier_wait(argument);
    gc_result result = gc_finalizer_thread_start(heap);
    __atomic_fetch_add(result == GC_OK ? &started : &refused, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void started_by_many(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, THREADS);
        started = refused = 0;
        begin(NULL);
        {
            GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
            for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, starting, &barrier);
            for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        }
        new_final(1), full();
        if (!gc_finalizer_wait(gc, 10000) || started != 1 || refused != THREADS - 1) break;
        end();
    }
    ok(!heap, "of threads that start the finalizer thread at once, one does");
}

/* A finalizer that does not return. */
static void hanging(void) {
    gc_options options = {.patience_ms = 60, .warning = on_warning};
    static gc_heap *left; /* for LeakSanitizer */
    forget_notes(), forget_warnings();
    enter_stage(0);
    begin(&options);
    left = heap;
    start_thread();
    new_with(1, &slow), full();
    await_stage(gc, 1);
    new_with(2, &plain), new_with(3, &critical), full();
    uint64_t start = now_ms();
    ok(!gc_finalizer_wait(gc, 200), "a wait for one that does not return ends");
    ok(now_ms() - start >= 200, "at its limit");
    is(warning_count, 1, "it is reported, once");
    has(warnings, "the finalizer of a `node`", "by its object's type");
    has(warnings, " ms, on the thread `finalizers`", "the time, and the thread");
    forget_warnings();
    for (int i = 0; i < 3; i++) full();
    is(warning_count, 0, "not again");
    start = now_ms();
    end();
    uint64_t took = now_ms() - start;
    ok(took >= 60 && took < 2000, "the heap's end waits for it as long: %llu ms", (unsigned long long)took);
    has(warnings, "gc_heap_destroy: a finalizer does not return", "says so, and leaves the heap's memory");
    is(noted(), 0, "nothing else has run");
    enter_stage(2);
    for (int i = 0; i < 1000 && noted() == 0; i++) sleep_us(1000);
    is(noted(), 1, "when it returns after all, it does no harm");
    sleep_us(20000);
    ok(left != NULL, "its thread ends");
}

/* What the host has freed when gc_heap_destroy has returned. Each callback counts calls after that. */
typedef struct host {
    int calls, calls_after;
    bool freed;
} host;
static void on_call(void *context) {
    host *h = context;
    __atomic_fetch_add(__atomic_load_n(&h->freed, __ATOMIC_SEQ_CST) ? &h->calls_after : &h->calls, 1, __ATOMIC_SEQ_CST);
}
static void on_roots(void *h, gc_thread *thread, gc_visitor *visitor) {
    (void)thread, (void)visitor;
    on_call(h);
}
static void on_collection(void *h, const gc_collection *collection) {
    (void)collection;
    on_call(h);
}
static bool on_no_memory(void *h, size_t bytes, const char *message) {
    (void)bytes, (void)message;
    on_call(h);
    return false;
}
static void on_barrier(void *h, const struct gc_barrier_change *change) {
    (void)change;
    on_call(h);
}
static bool on_held(void *h, gc_handle handle, void *object, void *word) {
    (void)handle, (void)object, (void)word;
    on_call(h);
    return true;
}
static void on_message(void *h, const char *message) {
    (void)message;
    on_call(h);
}
static const gc_options counting = {.heap_bytes_max = 8 * GC_REGION_BYTES,
                                    .patience_ms = 30,
                                    .scan_roots = on_roots,
                                    .collection_start = on_collection,
                                    .collection_end = on_collection,
                                    .out_of_memory = on_no_memory,
                                    .barrier_changed = on_barrier,
                                    .handle_is_held = on_held,
                                    .finalizers_ready = on_call,
                                    .warning = on_message};

/* Uses all of gc.h that might call the host. */
static char outlast_message[1024];
static size_t outlast_ran, outlast_verified;
static bool outlast_large;
static void outlast(gc_thread *thread, void *object) {
    gc_heap *mine = gc_thread_heap(thread);
    node *self = object, *list = NULL;
    GC_ROOTS(thread, self, list);
    enter_stage(1);
    await_stage(thread, 2);
    for (node *n; (n = gc_new(thread, &node_type));) {
        gc_store(thread, &n->left, list);
        list = n;
    }
    snprintf(outlast_message, sizeof outlast_message, "%s", gc_last_message());
    outlast_large = gc_new_array(thread, &vector_type, GC_REGION_BYTES / 8) != NULL;
    gc_collect(mine, 2, GC_COLLECT_COMPACTING);
    outlast_ran = gc_finalizer_run(thread, 10);
    outlast_verified = gc_heap_verify(mine);
    gc_finalizer_wait(thread, 1);
    gc_safepoint(thread);
    note_value(self->value);
}
static const gc_finalizer outlasting = {outlast, false, NULL};

static void *running(void *unused);

/* On a thread that ends attached, as far as gc.h knows when it abandons the heap. */
static void *destroy_attached(void *unused) {
    pthread_t runner;
    gc = gc_thread_attach(heap);
    gc_handle_create(heap, GC_HANDLE_REF_COUNTED, new_node(5));
    new_with(4, &outlasting), full();
    if (unused)
        start_thread();
    else
        pthread_create(&runner, NULL, running, NULL), pthread_detach(runner);
    await_stage(gc, 1);
    new_with(6, &plain), new_with(7, &critical), full();
    end();
    return NULL;
}

static void outlasted(bool finalizer_thread) {
    static host h;
    static gc_heap *left[2]; /* for LeakSanitizer */
    pthread_t destroyer;
    gc_options options = counting;
    memset(&h, 0, sizeof h);
    options.host = &h;
    forget_notes();
    enter_stage(0);
    heap = left[finalizer_thread] = gc_heap_create(&options);
    pthread_create(&destroyer, NULL, destroy_attached, finalizer_thread ? left : NULL);
    pthread_join(destroyer, NULL);
    ok(h.calls >= 6, "a heap's host is called: %d times", h.calls);
    __atomic_store_n(&h.freed, true, __ATOMIC_SEQ_CST);
    begin(NULL), new_node(1), full(), end(); /* what barriers read changes */
    enter_stage(2);
    for (int i = 0; i < 10000 && noted() == 0; i++) sleep_us(1000);
    is(h.calls_after, 0, "not after the heap's end, which a finalizer outlasts");
    is(noted(), 1, "which ends, alone");
    is(outlast_ran + outlast_verified + outlast_large, 0, "having run and verified nothing, nor allocated a large object");
    has(outlast_message, "a finalizer that outlasted patience_ms", "its allocations fail");
    sleep_us(1000);
}

/* The same for one that a thread of the host's runs: collections look for it too. */
static void *running(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    gc_finalizer_run(me, 1);
    gc_thread_detach(me);
    return unused;
}

static void hanging_elsewhere(void) {
    pthread_t thread;
    forget_notes(), forget_warnings();
    enter_stage(0);
    new_with(1, &slow), full();
    pthread_create(&thread, NULL, running, NULL);
    await_stage(gc, 1);
    sleep_us(60000);
    full();
    has(warnings, "on the thread `(unnamed)`", "a collection reports one that a thread of the host's runs");
    ok(!gc_finalizer_wait(gc, 30), "and it is waited for");
    enter_stage(2);
    ok(gc_finalizer_wait(gc, 10000), "until it ends");
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

/* Stores to an old object that are noted, before the end of the heap and after it. */
static vector *stored_to;
static void store_late(gc_thread *thread, void *object) {
    node *self = object;
    vector *young = NULL;
    GC_ROOTS(thread, self, young);
    young = gc_new_array(thread, &vector_type, 1);
    gc_store(thread, &stored_to->items[0], young);
    enter_stage(1);
    await_stage(thread, 2);
    for (int i = 0; i < 200; i++) gc_store(thread, &stored_to->items[i], young);
    note_value(self->value);
}
static const gc_finalizer stores_late = {store_late, false, NULL};

static void outlasting_stores(bool marking) {
    static gc_heap *left[2]; /* for LeakSanitizer */
    forget_notes();
    enter_stage(0);
    begin(&(gc_options){
        .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 32, .patience_ms = 30, .warning = on_warning});
    left[marking] = heap;
    stored_to = new_vector(400);
    gc_roots_add(heap, &stored_to, 1, 0);
    age(&stored_to, 2);
    for (int i = 0; i < 4; i++) gc_store(gc, &stored_to->items[64 * i], new_node(1)), gc_collect(heap, 0, 0);
    ok(stats().remembered_slots > 0, "slots are remembered");
    if (marking) gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    new_with(1, &stores_late), gc_collect(heap, 0, 0);
    start_thread();
    await_stage(gc, 1);
    end();
    enter_stage(2);
    for (int i = 0; i < 1000 && noted() == 0; i++) sleep_us(1000);
    is(noted(), 1, "a finalizer that outlasts the heap stores to old objects%s", marking ? ", which were being marked" : "");
    sleep_us(20000);
    ok(left[marking] != NULL, "its thread ends");
}

/* The end of the heap. */

static void make_all(void) {
    node *held = new_final(1), *old = NULL;
    GC_ROOTS(gc, held, old);
    old = new_with(2, &critical);
    age(&old, 2);
    gc_store(gc, &held->left, old);
    gc_handle_create(heap, GC_HANDLE_STRONG, new_final(3));
    new_final(4), new_with(5, &critical), full(); /* queued */
    new_final(6), new_with(7, &critical);         /* dead, but not found so */
}

static void ends(const char *name, gc_options options, bool thread) {
    forget_notes();
    begin_verified(options);
    make_all();
    if (thread) start_thread(), gc_finalizer_wait(gc, 10000);
    end();
    bool skip = options.skip_finalizers_at_end && !thread;
    is(noted(), skip ? 3 : options.skip_finalizers_at_end ? 4 : 7, "%s: what runs at the heap's end", name);
    for (uint64_t i = 2; i < 8; i++)
        if (i == 2 || i == 5 || i == 7) ok(noted_at(i) >= 0, "%s: critical %d", name, (int)i);
    if (!thread && !skip) ok(noted_at(2) > 3 && noted_at(5) > 3 && noted_at(7) > 3, "%s: critical ones last", name);
    ok(!skip || noted_at(4) < 0, "%s: and normal ones that were queued only if wanted", name);
}

static void *destroying(void *unused) {
    end();
    return unused;
}

static void ended_by_a_stranger(bool finalizer_thread) {
    pthread_t thread;
    forget_notes();
    begin(NULL);
    make_all();
    if (finalizer_thread) start_thread();
    gc_thread_detach(gc);
    pthread_create(&thread, NULL, destroying, NULL);
    pthread_join(thread, NULL);
    is(noted(), 7, "a thread that is not attached ends the heap: all run");
}

/* Another thread stays attached, in native code. */
static void *staying(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_mode(me, GC_MODE_PREEMPTIVE);
    enter_stage(1);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) < 2) sleep_us(100);
    return unused;
}

static int in_wrong_mode;
static void allocate_lots(gc_thread *thread, void *object) {
    note(thread, object);
    in_wrong_mode += gc_thread_mode(thread) != GC_MODE_COOPERATIVE;
    for (int i = 0; i < 2000; i++) gc_new(thread, &node_type);
    gc_collect(gc_thread_heap(thread), 2, GC_COLLECT_COMPACTING);
}
static const gc_finalizer lots = {allocate_lots, false, NULL};

static void ended_beside_others(void) {
    pthread_t thread;
    forget_notes();
    enter_stage(0);
    begin(NULL);
    pthread_create(&thread, NULL, staying, NULL);
    await_stage(gc, 1);
    for (uint64_t i = 0; i < 4; i++) new_with(i, &lots);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    end();
    is(noted(), 4, "ended in preemptive mode, with another thread in native code");
    is(in_wrong_mode, 0, "finalizers run in cooperative mode");
    enter_stage(2);
    pthread_join(thread, NULL);
}

/* Finalizers that register more at the end: others, a few times; themselves, always; with a collection that queues them. */
static void note_and_make(gc_thread *thread, void *object);
static const gc_finalizer makes = {note_and_make, false, NULL};
static void note_and_make(gc_thread *thread, void *object) {
    uint64_t value = ((const node *)object)->value;
    note_value(value);
    if (value % 10 == 5) return;
    node *next = gc_new(thread, &node_type);
    next->value = value + 1;
    gc_finalizer_register(thread, next, &makes);
}

static void again(gc_thread *thread, void *object);
static const gc_finalizer always = {again, false, NULL};
static bool collects;
static void again(gc_thread *thread, void *object) {
    note_value(1);
    if (noted() > 100000) return; /* it would not end */
    gc_finalizer_register(thread, object, &always);
    if (collects) gc_collect(gc_thread_heap(thread), 2, 0);
}

static void ended_with_more(void) {
    const gc_options options = {.warning = on_warning};
    forget_notes(), forget_warnings();
    begin(&options), new_with(10, &makes), end();
    ok(noted() == 6 && notes[5] == 15, "finalizers that run at the end may make others");
    is(warning_count, 0, "in silence");
    for (int i = 0; i < 2; i++) {
        collects = i == 1;
        forget_notes(), forget_warnings();
        begin(&options), new_with(1, &always), new_with(1, &always), new_with(2, &critical);
        if (collects) gc_handle_create(heap, GC_HANDLE_STRONG, new_final(3)), gc_collect(heap, 0, 0);
        end();
        ok(noted() < 1000, "not for ever: %d", noted());
        ok(noted_at(2) >= 0, "critical ones run all the same");
        has(warnings, "keep registering others", "with a warning");
    }
}

/* Where memory ends. */

enum { BY_TYPE, BY_HAND };
static void out_of_space(void *how) {
    begin(NULL);
    uint64_t count = 0, failed = 0;
    char message[200] = ""; /* of the finalizers: a collection may be left out for want of memory afterwards, and says so */
    node *list = NULL;
    GC_ROOTS(gc, list);
    new_final(count++);
    full();
    limit_space(1 << 20);
    for (int i = 0; i < 200000; i++) {
        node *n = how ? new_node(0) : new_final(0);
        if (how && n && gc_finalizer_register(gc, n, i % 2 ? &plain : &critical) != GC_OK) n = NULL;
        if (!n) {
            failed++;
            if (gc_last_result() != GC_ERROR_MEMORY) _exit(4);
            snprintf(message, sizeof message, "%s", gc_last_message());
        } else {
            count++;
            if (i % 3) gc_store(gc, &n->left, list), list = n;
        }
        if (i % 20000 == 0) gc_collect(heap, i / 20000 % 3, 0);
    }
    list = NULL;
    for (int i = 0; i < 3; i++) full();
    if (gc_finalizer_pending(heap) != count) _exit(5);
    gc_finalizer_run(gc, SIZE_MAX);
    printf("%llu made, %llu failed, %d ran: %s\n", (unsigned long long)count, (unsigned long long)failed, noted(),
           message);
    fflush(stdout);
    if ((uint64_t)noted() != count || !failed) _exit(6);
    end();
    _exit((uint64_t)noted() == count ? 0 : 7);
}

/* Finalizers that are registered and taken back, or run, again and again take no more memory. */
static void steady(void *how) {
    begin(NULL);
    uint64_t wrong = 0, ran = 0;
    node *n = new_final(0);
    GC_ROOTS(gc, n);
    full();
    limit_space(1 << 20);
    for (int i = 0; i < 300000; i++) {
        if (how) {
            wrong += gc_finalizer_register(gc, n, i % 2 ? &plain : &critical) != GC_OK;
            wrong += !gc_finalizer_suppress(gc, n);
            continue;
        }
        wrong += !new_final(1);
        if (i % 1000) continue;
        gc_collect(heap, 0, 0);
        ran += gc_finalizer_run(gc, SIZE_MAX);
    }
    _exit(wrong != 0 || ran != (how ? 0 : 299001));
}

static void no_space(void) {
    static char output[4000];
    if (HAS_SANITIZER || !space_can_be_limited()) {
        ok(true, "limits of address space # skip sanitizers need terabytes of it, and emulators have none");
        return;
    }
    for (int how = BY_TYPE; how <= BY_HAND; how++) {
        int status = tap_child(out_of_space, how ? &stage : NULL, output, sizeof output);
        is(status, 0, "without memory for more finalizers, %s, making them fails, and none is lost",
           how ? "by hand" : "by type");
        has(output, "one more finalizer", "with a message that says so");
        diag("%s", output);
        is(tap_child(steady, how ? &stage : NULL, output, sizeof output), 0,
           "finalizers that come and go need no more");
    }
}

/* A heap at its limit: objects that wait for their finalizers fill it. */
typedef struct padded {
    node as_node;
    uint64_t pad[60];
} padded;
static const gc_type padded_type = GC_TYPE_FINALIZED(padded, plain, as_node.left);

static void full_heap(void) {
    uint64_t count = 0, wrong = 0;
    forget_notes();
    while (gc_new(gc, &padded_type)) count++;
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "a heap full of objects that wait for their finalizers");
    char expected[100];
    snprintf(expected, sizeof expected, "; %llu finalizers are queued", (unsigned long long)count);
    has(gc_last_message(), expected, "says so");
    has(gc_last_message(), "call gc_finalizer_run more often, or gc_finalizer_thread_start", "and what to do");
    for (int round = 0; round < 3; round++) {
        full();
        size_t pending = gc_finalizer_pending(heap);
        is(pending, count, "all are queued");
        is(gc_finalizer_run(gc, SIZE_MAX), count, "all run, round %d", round);
        wrong += (uint64_t)noted() != count;
        full();
        for (count = 0, forget_notes(); gc_new(gc, &padded_type);) count++;
    }
    is(wrong, 0, "none twice");
}

/* The same by off-heap bytes, which finalizers would free. */
static void full_of_external(void) {
    size_t count = 0;
    for (padded *p; (p = gc_new(gc, &padded_type)) && gc_object_add_external(gc, p, 100000) == GC_OK; count++) {}
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "a heap full of off-heap bytes of objects that wait for their finalizers");
    char expected[100];
    snprintf(expected, sizeof expected, "; %zu finalizers are queued", count);
    has(gc_last_message(), expected, "says so: %s", gc_last_message());
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    is(gc_object_add_external(gc, n, 1000000000), GC_ERROR_HEAP_FULL, "more than the limit, which finalizers could not free");
    ok(!strstr(gc_last_message(), "finalizers"), "does not speak of them: %s", gc_last_message());
    ok(gc_finalizer_run(gc, SIZE_MAX) >= count, "they run");
    is(gc_object_add_external(gc, n, 1000000), GC_OK, "and then there is room");
    while (gc_object_add_external(gc, n, 1000) == GC_OK) {}
    while (new_final(1)) {}
    has(gc_last_message(), " finalizers are queued", "an object with a finalizer is refused, with the same words: %s", gc_last_message());
}

/* Where somebody runs them the message says nothing of finalizers, however many are queued. */
static void full_heap_attended(void) {
    enter_stage(0);
    new_with(1, &slow);
    full();
    is(gc_finalizer_thread_start(heap), GC_OK, "a finalizer thread");
    await_stage(gc, 1);
    while (gc_new(gc, &padded_type)) {}
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "the heap is full while a finalizer takes its time");
    ok(gc_finalizer_pending(heap) > 100 && !strstr(gc_last_message(), "finalizer"), "which is not said to be nobody's work: %s", gc_last_message());
    enter_stage(2);
    ok(gc_finalizer_wait(gc, 10000), "all run");
    ok(gc_new(gc, &padded_type) != NULL, "and then there is room");
}

static void suspend(void *host) { (void)host; }

static void own_suspension(void) {
    is(gc_finalizer_thread_start(heap), GC_ERROR_OPTION,
       "a host that stops its threads itself gets no thread that it does not know");
    forget_notes();
    new_final(1), full();
    ok(gc_finalizer_wait(gc, 10000) && noted() == 1, "but runs finalizers");
}

int main(void) {
    no_space(); /* first: before there is memory to use again */
    run(threaded, (gc_options){0});
    run(in_flight, (gc_options){0});
    run(side_by_side, (gc_options){0});
    run(suppressed_meanwhile, (gc_options){0});
    run(by_many, (gc_options){.nursery_bytes = 64 << 10});
    begin(&(gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 100}), by_many(), end();
    run(one_by_many, (gc_options){0});
    started_by_many();
    hanging();
    outlasted(true);
    outlasted(false);
    outlasting_stores(false);
    outlasting_stores(true);
    run(hanging_elsewhere, (gc_options){.patience_ms = 40, .warning = on_warning});
    ends("defaults", (gc_options){0}, false);
    ends("stress", (gc_options){.debug.stress = GC_STRESS_ALLOCATION}, false);
    ends("non_moving", (gc_options){.non_moving = true}, false);
    ends("critical only", (gc_options){.skip_finalizers_at_end = true}, false);
    ends("with a thread", (gc_options){0}, true);
    ends("critical only, with a thread", (gc_options){.skip_finalizers_at_end = true}, true);
    ended_by_a_stranger(false);
    ended_by_a_stranger(true);
    ended_beside_others();
    ended_with_more();
    for (size_t regions = 8; regions < 20; regions += 5)
        begin(&(gc_options){.heap_bytes_max = regions * GC_REGION_BYTES}), full_heap(), end();
    begin(&(gc_options){.heap_bytes_max = 4 << 20}), full_of_external(), end();
    begin(&(gc_options){.heap_bytes_max = 8 * GC_REGION_BYTES}), full_heap_attended(), end();
    run(own_suspension, (gc_options){.suspend = suspend, .restart = suspend});
    return done();
}
