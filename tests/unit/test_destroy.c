/* Heaps that are destroyed while other threads are attached: in native code, on their way out of it, waiting in gc.h, in a finalizer, or
   about to end. Under ThreadSanitizer too (threads.t). */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 3, ROUNDS = 120 };

static void sleep_us(long us) { nanosleep(&(struct timespec){0, us * 1000}, NULL); }
static bool is_set(const bool *flag) { return __atomic_load_n(flag, __ATOMIC_SEQ_CST); }
static void set(bool *flag) { __atomic_store_n(flag, true, __ATOMIC_SEQ_CST); }
static void await(const bool *flag) {
    while (!is_set(flag)) sleep_us(100);
}
static void native(gc_thread *thread) { gc_thread_set_mode(thread, GC_MODE_PREEMPTIVE); }
static bool is_there(gc_thread *thread) {
    gc_thread_set_mode(thread, GC_MODE_COOPERATIVE);
    return gc_thread_heap(thread) != NULL;
}
static void use(gc_thread *thread, uint64_t value) {
    node *list = NULL;
    GC_ROOTS(thread, list);
    for (uint64_t i = 0; i < 40; i++) {
        node *n = gc_new(thread, &node_type);
        if (!n) return;
        n->value = value + i;
        gc_store(thread, &n->left, list);
        list = n;
    }
    if (value % 8 == 0) gc_collect(gc_thread_heap(thread), 0, 0);
    for (uint64_t i = 40; i--; list = list->left)
        if (list->value != value + i) abort();
}

/* Threads that touch the heap and go away from it again, until it is gone, or until they end. */

static unsigned ready, times_gone, times_ended; /* atomic */

static void come_and_go(gc_thread *me, uint64_t x) {
    node *kept = gc_new(me, &node_type);
    GC_ROOTS(me, kept);
    for (uint64_t i = 0; i < 2000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        if (gc_thread_heap(me)) kept->value = i;
        native(me);
        if (x % 16 == 0) sched_yield();
        if (!is_there(me)) {
            __atomic_fetch_add(&times_gone, 1, __ATOMIC_SEQ_CST);
            return;
        }
        use(me, x % 1000);
        if (x % 256 == 1) break;
    }
    __atomic_fetch_add(&times_ended, 1, __ATOMIC_SEQ_CST);
}

static void *coming_and_going(void *seed) {
    gc_thread *me = gc_thread_attach(heap);
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    come_and_go(me, (uintptr_t)seed);
    native(me);
    /* or gc.h detaches the thread at its end, with a warning if the heap is there */
    if ((uintptr_t)seed % 3) gc_thread_detach(me);
    return NULL;
}

static void quiet(void *host, const char *message) { (void)host, (void)message; }

static void races(void) {
    unsigned rounds = is_quick() ? ROUNDS / 4 : ROUNDS;
    times_gone = times_ended = 0;
    for (uintptr_t round = 0; round < rounds; round++) {
        pthread_t threads[THREADS];
        ready = 0;
        heap = gc_heap_create(&(gc_options){.nursery_bytes = 256 << 10, .warning = quiet});
        for (uintptr_t i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, coming_and_going, (void *)(round * 7919 + i * 104729 + 1)) != 0) abort();
        while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < THREADS) sched_yield();
        if (round % 2) sleep_us((long)round % 7 * 100);
        gc_heap_destroy(heap);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    is(times_gone + times_ended, rounds * THREADS, "threads that a heap's end surprises: it is gone for %u, and %u have ended", times_gone,
       times_ended);
}

/* A thread that waits in gc.h for another heap has to return to this one. */

static gc_heap *second;
static bool is_attached, is_held, may_go, is_over;

static bool hold(void *context, void *object, size_t bytes, int generation) {
    (void)context, (void)object, (void)bytes, (void)generation;
    set(&is_held);
    await(&may_go);
    return false;
}
static void *holding(void *unused) {
    gc_thread *me = gc_thread_attach(second);
    gc_new(me, &node_type);
    gc_heap_walk(second, hold, NULL);
    gc_thread_detach(me);
    return unused;
}
static void *waiting(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    set(&is_attached);
    await(&is_held);
    {
        node *kept = gc_new(me, &node_type);
        GC_ROOTS(me, kept);
        kept->value = 7;
        gc_thread_detach(gc_thread_attach(second)); /* which waits for the walk */
        use(me, kept->value);
    }
    gc_thread_detach(me);
    return unused;
}
static void *destroying(void *unused) {
    gc_heap_destroy(heap);
    set(&is_over);
    return unused;
}

static void parked(void) {
    pthread_t threads[3];
    heap = gc_heap_create(NULL), second = gc_heap_create(NULL);
    pthread_create(&threads[0], NULL, waiting, NULL);
    await(&is_attached);
    pthread_create(&threads[1], NULL, holding, NULL);
    await(&is_held);
    sleep_us(10000);
    pthread_create(&threads[2], NULL, destroying, NULL);
    sleep_us(10000);
    set(&may_go);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    gc_heap_destroy(second);
    ok(is_over, "a thread that waits in gc.h is waited for");
}

/* A thread that runs finalizers is in gc.h when the last one has returned. */

static bool runs;
static void finalize(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    set(&runs);
    sleep_us(300);
}
static const gc_finalizer slow = {finalize, false, NULL};

static void *running(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    for (int i = 0; i < 4; i++) {
        void *object = gc_new(me, &node_type);
        gc_finalizer_register(me, object, &slow);
    }
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    while (gc_finalizer_run(me, 1)) use(me, 8);
    gc_thread_detach(me);
    return unused;
}

static void finalizers(void) {
    for (int round = 0; round < (is_quick() ? 5 : 20); round++) {
        pthread_t thread;
        runs = false;
        heap = gc_heap_create(NULL);
        pthread_create(&thread, NULL, running, NULL);
        await(&runs);
        gc_heap_destroy(heap);
        pthread_join(thread, NULL);
    }
    ok(true, "a thread leaves gc_finalizer_run before its heap is gone");
}

/* A thread that does not cease to use the heap in time keeps it. */

static bool may_end;
static void *staying(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    set(&is_attached);
    await(&may_end);
    {
        node *object = NULL;
        GC_ROOTS(me, object);
        is(gc_thread_heap(me) == heap, true, "for a thread in cooperative mode the heap is there");
        object = gc_new(me, &node_type);
        is(object, NULL, "but ends");
        gc_collect(heap, 2, GC_COLLECT_BLOCKING); /* does nothing, and changes nothing of that */
        native(me);
        is(gc_thread_heap(me), NULL, "it is gone in preemptive mode");
        gc_thread_set_mode(me, GC_MODE_COOPERATIVE);
        is(gc_thread_mode(me) == GC_MODE_PREEMPTIVE && !gc_thread_heap(me), true, "which the thread cannot leave any more");
    }
    gc_thread_detach(me);
    return unused;
}

static char warned[256];
static void warn(void *host, const char *message) {
    (void)host;
    snprintf(warned, sizeof warned, "%s", message);
}

static void kept(void) {
    static gc_heap *left; /* for LeakSanitizer */
    pthread_t thread;
    if (GC_DEBUG) return; /* which asserts that there is no such thread */
    is_attached = false;
    heap = left = gc_heap_create(&(gc_options){.patience_ms = 20, .warning = warn});
    pthread_create(&thread, NULL, staying, NULL);
    await(&is_attached);
    gc_heap_destroy(heap);
    has(warned, "is in cooperative mode", "a thread that stays in cooperative mode is reported");
    set(&may_end);
    pthread_join(thread, NULL);
    ok(left != NULL, "and keeps the heap's memory");
}

int main(void) {
    races();
    parked();
    finalizers();
    kept();
    return done();
}
