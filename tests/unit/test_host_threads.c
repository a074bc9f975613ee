/* A host that stops its threads itself, by modes of its own, and has records of them that no native thread owns. */
#define _GNU_SOURCE
#include "../tap.h"

#include "gc.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct node {
    gc_object header;
    struct node *next;
    size_t number;
} node;
static const gc_type node_type = GC_TYPE(node, next);

enum { THREADS = 4, ROUNDS = 20000, KEPT = 50 };

static gc_heap *heap;
static node *kept[THREADS][KEPT];
static pthread_mutex_t modes = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int cooperative; /* threads that may touch objects */
static bool suspended;
static unsigned suspensions, waits;
static __thread bool is_cooperative;
static __thread bool suspends, was_cooperative;

static void enter(void) {
    pthread_mutex_lock(&modes);
    while (suspended && !suspends) pthread_cond_wait(&changed, &modes);
    cooperative++;
    is_cooperative = true;
    pthread_mutex_unlock(&modes);
}

static void leave(void) {
    pthread_mutex_lock(&modes);
    cooperative--;
    is_cooperative = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&modes);
}

static bool before_wait(void *host) {
    (void)host;
    if (!is_cooperative) return false;
    __atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
    leave();
    return true;
}
static void after_wait(void *host) {
    (void)host;
    enter();
}

static void suspend(void *host) {
    (void)host;
    was_cooperative = is_cooperative;
    if (is_cooperative) leave();
    pthread_mutex_lock(&modes);
    suspended = suspends = true;
    suspensions++;
    while (cooperative) pthread_cond_wait(&changed, &modes);
    pthread_mutex_unlock(&modes);
}
static void restart(void *host) {
    (void)host;
    pthread_mutex_lock(&modes);
    suspended = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&modes);
    if (was_cooperative) enter();
    suspends = false;
}

static unsigned scans, scans_of_threads;
static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host;
    scans_of_threads += thread != NULL;
    scans++;
    gc_visit(visitor, kept, THREADS * KEPT, 0);
}

static void *work(void *argument) {
    node **mine = argument;
    gc_thread *thread = gc_thread_create(heap);
    size_t wrong = 0;
    uint64_t identity = 0;
    enter();
    for (size_t i = 0; i < ROUNDS; i++) {
        node *fresh = gc_new(thread, &node_type);
        fresh->number = i;
        fresh->next = mine[i % KEPT];
        if (fresh->next) gc_store(thread, &fresh->next->next, NULL);
        mine[i % KEPT] = fresh;
        wrong += fresh->next && fresh->next->number + KEPT != i;
        /* Others collect when they like, also while a number is asked for. */
        if (i) wrong += gc_object_identity(thread, mine[(i - 1) % KEPT]) != identity;
        identity = gc_object_identity(thread, mine[i % KEPT]);
        if (i % 64) continue;
        leave();
        enter();
    }
    leave();
    gc_thread_destroy(thread);
    return (void *)wrong;
}

/* Finalizers on a host's thread, and a fork, while others wait in the host's cooperative mode. */
static bool waiting, ran;
static void finalize(gc_thread *thread, void *object) {
    (void)object;
    while (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE)) usleep(1000);
    usleep(20000);
    for (int i = 0; i < 10000; i++) gc_new(thread, &node_type); /* collects */
    ran = true;
}
static const gc_finalizer slow = {.finalize = finalize};

static void *run_finalizers(void *unused) {
    gc_thread *thread = gc_thread_create(heap);
    enter();
    while (!gc_finalizer_run(thread, 1)) {}
    leave();
    gc_thread_destroy(thread);
    return unused;
}
#ifndef _WIN32 /* where a process cannot fork */
static void *collect_often(void *unused) {
    gc_thread *thread = gc_thread_create(heap);
    enter();
    for (int i = 0; i < 200; i++) gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    leave();
    gc_thread_destroy(thread);
    return unused;
}
#endif

static void stops_while_others_wait(void) {
    pthread_t other;
    gc_thread *thread = gc_thread_create(heap);
    alarm(60);
    enter();
    gc_finalizer_register(thread, gc_new(thread, &node_type), &slow);
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    pthread_create(&other, NULL, run_finalizers, NULL);
    usleep(20000);
    __atomic_store_n(&waiting, true, __ATOMIC_RELEASE);
    ok(gc_finalizer_wait(thread, UINT64_MAX) && ran, "a thread waits for a finalizer that collects");
    leave();
    pthread_join(other, NULL);
#ifndef _WIN32
    pthread_create(&other, NULL, collect_often, NULL);
    enter();
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        failed += child < 0 || waitpid(child, NULL, 0) != child;
    }
    leave();
    pthread_join(other, NULL);
    is(failed, 0, "a thread forks while another one collects");
#endif
    gc_thread_destroy(thread);
    alarm(0);
}

/* A host that stops a thread in cooperative mode, elsewhere than at a safe point: nobody knows its registers. */
static bool stands;
static void nothing(void *host) { (void)host; }
static void *stand(void *of) {
    gc_thread_attach(of);
    __atomic_store_n(&stands, true, __ATOMIC_RELEASE);
    for (;;) usleep(10000);
    return NULL;
}
static void stop_elsewhere(void *conservative) {
    gc_options options = {.suspend = nothing, .restart = nothing, .conservative_stack = conservative != NULL, .collector_threads = 1};
    gc_heap *own = gc_heap_create(&options);
    pthread_t other;
    pthread_create(&other, NULL, stand, own);
    gc_thread_attach(own);
    while (!__atomic_load_n(&stands, __ATOMIC_ACQUIRE)) usleep(1000);
    gc_collect(own, 2, 0);
    puts("collected");
}
static void stopped_elsewhere(void) {
    char text[2048];
    tap_child(stop_elsewhere, &stands, text, sizeof text);
    has(text, "have it call gc_safepoint, or stop in preemptive mode", "a conservative stack that cannot be scanned is refused");
    tap_child(stop_elsewhere, NULL, text, sizeof text);
    has(text, "collected", "one whose roots are precise needs no registers");
}

int main(void) {
    gc_options options = {.suspend = suspend,
                          .restart = restart,
                          .before_wait = before_wait,
                          .after_wait = after_wait,
                          .scan_roots = scan_roots,
                          .nursery_bytes = 65536,
                          .collector_threads = 1};
    heap = gc_heap_create(&options);
    pthread_t threads[THREADS];
    size_t wrong = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, kept[i]);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (size_t)result;
    }
    is(wrong, 0, "threads that only the host knows allocate, and wait in a mode of the host's");
    ok(suspensions > 10 && scans == suspensions && !scans_of_threads,
       "each collection has asked once for roots: %u, %u", suspensions, scans);
    diag("threads that touched objects have waited %u times", waits);
    gc_thread *thread = gc_thread_create(heap);
    enter();
    for (int i = 0; i < 3; i++) gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    node *fixed = gc_new_with(thread, &node_type, 0, GC_NEW_FIXED);
    kept[0][0] = fixed;
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    ok(kept[0][0] == fixed, "an object that never moves");
    leave();
    stops_while_others_wait();
    gc_thread_destroy(NULL);
    gc_heap_destroy(heap); /* ends the record, too */

    heap = gc_heap_create(NULL);
    ok(!gc_thread_create(heap) && strstr(gc_last_message(), "options.suspend"),
       "a host that stops nobody attaches threads: %s", gc_last_message());
    gc_heap_destroy(heap);
    stopped_elsewhere();
    return done();
}
