/* fork(): the child has the heaps as they are between two steps of their threads, and of these only the one that forked. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

enum { THREADS = 3, CHILDREN = 8, KEPT = 500, PATIENCE_S = 60 };

static gc_heap *second; /* the threads are attached to both */
static int stop, ready; /* atomic */
static gc_handle handles[GC_HANDLE_KINDS];
static vector *kept; /* a global root */

/* Allocates, stores and collects in both heaps, and makes and destroys handles and finalizers. */
static void on_finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer finalizer = {on_finalize, false, NULL};

static void *busy(void *argument) {
    gc_thread *first = gc_thread_attach(heap), *other = gc_thread_attach(second);
    uint64_t random = (uint64_t)(uintptr_t)argument * 7919 + 1;
    {
        node *mine = NULL, *theirs = NULL; /* allocating in one heap is a safe point of the other, too */
        GC_ROOTS(first, mine);
        GC_ROOTS(other, theirs);
        mine = gc_new(first, &node_type);
        theirs = gc_new(other, &node_type);
        __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
        while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            node *n = gc_new(first, &node_type);
            gc_store(first, &n->left, mine);
            mine = random >> 33 & 63 ? n : NULL;
            n = gc_new(other, &node_type);
            gc_store(other, &n->left, theirs);
            theirs = random >> 33 & 127 ? n : NULL;
            if ((random >> 40) % 64 == 0) gc_handle_destroy(heap, gc_handle_create(heap, GC_HANDLE_WEAK, mine));
            if ((random >> 40) % 256 == 1)
                gc_finalizer_register(other, theirs ? theirs : gc_new(other, &node_type), &finalizer);
            if ((random >> 40) % 4096 == 2) gc_collect(random >> 60 & 1 ? heap : second, (int)(random >> 61) % 3, 0);
            gc_safepoint(other);
        }
    }
    gc_thread_detach(other);
    gc_thread_detach(first);
    return argument;
}

/* One that is not attached takes the locks that such threads do. */
static void *unattached(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        gc_handle handle = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
        gc_stack_destroy(gc_stack_create(heap, NULL));
        gc_handle_destroy(heap, handle);
        gc_heap_destroy(gc_heap_create(NULL));
    }
    return unused;
}

/* Checks the child's heap, and that the child can go on with it. Returns the number of mistakes, 100 if it is attached wrongly. */
static int in_child(bool attached) {
    int wrong = 0;
    alarm(PATIENCE_S);
    gc_thread *me = gc_thread_current(heap);
    if (attached != (me != NULL)) return 100;
    if (!me) me = gc_thread_attach(heap);
    gc_mode former = gc_thread_set_mode(me, GC_MODE_COOPERATIVE);
    if (attached) gc_thread_set_mode(gc_thread_current(second), GC_MODE_COOPERATIVE);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < KEPT; i++) {
            if (((node *)kept->items[i])->value != i) wrong++;
            node *n = gc_new(me, &node_type);
            n->value = i;
            gc_store(me, &kept->items[i], n);
        }
        for (int i = 0; i < 20000; i++) gc_new(me, &node_type);
        gc_collect(heap, round, round == 2 ? GC_COLLECT_COMPACTING : 0);
        gc_collect(second, round, 0);
    }
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++) gc_handle_destroy(heap, handles[kind]);
    gc_heap_verify(heap);
    gc_heap_verify(second);
    gc_thread_set_mode(me, former);
    if (gc_thread_current(second)) gc_thread_detach(gc_thread_current(second));
    gc_heap_destroy(second);
    if (attached) gc_heap_destroy(heap);
    return wrong;
}

static int forked(bool attached) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(in_child(attached));
    waitpid(child, &status, 0);
    return status;
}

static void *fork_unattached(void *status) {
    *(int *)status = forked(false);
    return NULL;
}

static void of_many_threads(void) {
    pthread_t threads[THREADS + 1], forking;
    second = gc_heap_create(NULL);
    gc_thread *in_second = gc_thread_attach(second);
    kept = new_vector(KEPT);
    gc_roots_add(heap, &kept, 1, 0);
    for (uint64_t i = 0; i < KEPT; i++) {
        node *n = new_node(i);
        gc_store(gc, &kept->items[i], n);
    }
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        handles[kind] = gc_handle_create(heap, (gc_handle_kind)kind, kept);
    gc_thread_set_mode(in_second, GC_MODE_PREEMPTIVE);
    stop = ready = 0;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, busy, (void *)i);
    pthread_create(&threads[THREADS], NULL, unattached, NULL);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < THREADS) gc_safepoint(gc);
    int status = 0;
    for (int i = 0; i < CHILDREN && status == 0; i++) {
        for (int k = 0; k < 1000 * i; k++) gc_new(gc, &node_type);
        if (i % 2) gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
        status = forked(true);
        if (i % 2) gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    }
    is(status, 0, "a process of many threads, and two heaps, forks: the children collect, and end their heaps");
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_create(&forking, NULL, fork_unattached, &status);
        pthread_join(forking, NULL);
        is(status, 0, "the same by a thread that is not attached");
        __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
        for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
    }
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < KEPT; i++) wrong += ((node *)kept->items[i])->value != i;
    is(wrong, 0, "and the parent goes on");
    gc_roots_remove(heap, &kept);
    gc_heap_destroy(second);
}

/* The heap's finalizer thread is not in the child; one of its finalizers may have been running. */
static int finalized, holding; /* atomic */
static void count(gc_thread *thread, void *object) {
    (void)object;
    __atomic_fetch_add(&finalized, 1, __ATOMIC_SEQ_CST);
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    while (__atomic_load_n(&holding, __ATOMIC_SEQ_CST)) sched_yield();
}
static const gc_finalizer counting = {count, false, NULL};

static int finalize_in_child(bool start) {
    alarm(PATIENCE_S);
    finalized = holding = 0;
    if (start && gc_finalizer_thread_start(heap) != GC_OK) return 1;
    if (!gc_finalizer_wait(gc, UINT64_MAX)) return 2;
    if (finalized != 9) return 3; /* not the one that was running */
    gc_finalizer_register(gc, new_node(1), &counting);
    gc_heap_destroy(heap);
    return finalized == 10 ? 0 : 4;
}

static void with_finalizer_thread(void) {
    holding = 1;
    gc_finalizer_thread_start(heap);
    for (int i = 0; i < 10; i++) gc_finalizer_register(gc, new_node(1), &counting);
    full();
    while (!__atomic_load_n(&finalized, __ATOMIC_SEQ_CST)) gc_safepoint(gc);
    for (int start = 0; start < 2; start++) {
        int status = -1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) _exit(finalize_in_child(start));
        waitpid(child, &status, 0);
        is(status, 0,
           start ? "in the child a finalizer thread can be started" : "without it the child runs finalizers itself");
    }
    __atomic_store_n(&holding, 0, __ATOMIC_SEQ_CST);
    is(gc_finalizer_wait(gc, UINT64_MAX), true, "the parent's finalizer thread goes on");
    is(finalized, 10, "and runs each finalizer once");
}

/* In callbacks, when other threads are stopped, and some locks taken: before a collection looks at handles, and when it does; in
   a walk. */
enum { NOWHERE, IN_START, IN_SCAN, IN_HELD, IN_WALK, PLACES, IN_WARNING };
static const char *const places[] = {"", "collection_start", "scan_roots", "handle_is_held", "a walk of handles"};
static int place;       /* where to fork; NOWHERE once that has been done */
static int hook_status; /* of the child; in the child -1 */

static void fork_in(int where) {
    if (place != where || gc_thread_current(heap) != gc) return;
    place = NOWHERE;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        alarm(PATIENCE_S), hook_status = -1;
    else
        waitpid(child, &hook_status, 0);
}
static void on_start(void *host, const gc_collection *collection) {
    (void)host;
    if (collection->generation == 2) fork_in(IN_START);
}
static void on_scan(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread, (void)visitor;
    fork_in(IN_SCAN);
}
static bool on_held(void *host, gc_handle handle, void *object, void *word) {
    (void)host, (void)handle, (void)object, (void)word;
    fork_in(IN_HELD);
    return true;
}
static bool on_handle(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra) {
    (void)context, (void)handle, (void)kind, (void)object, (void)extra;
    fork_in(IN_WALK);
    return true;
}

static void *handling(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        gc_handle some[64];
        for (int i = 0; i < 64; i++) some[i] = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
        for (int i = 0; i < 64; i++) gc_handle_destroy(heap, some[i]);
    }
    return unused;
}

/* Uses the stack of a thread that the child has not. */
static void *overwriting(void *unused) {
    volatile char bytes[16384];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0x41;
    return unused;
}

static int after_hook(gc_handle held) {
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&thread, NULL, overwriting, NULL) != 0) return 1;
        pthread_join(thread, NULL);
        full();
    }
    if (!gc_handle_get(held)) return 2;
    gc_handle_destroy(heap, gc_handle_create(heap, GC_HANDLE_STRONG, new_node(1)));
    gc_handle_destroy(heap, held);
    gc_finalizer_register(gc, new_node(1), &finalizer);
    full();
    if (!gc_finalizer_wait(gc, UINT64_MAX)) return 3;
    gc_heap_destroy(second);
    gc_heap_destroy(heap);
    return 0;
}

static void in_hooks(void) {
    pthread_t threads[4];
    second = gc_heap_create(NULL);
    gc_handle held = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, new_node(1));
    gc_finalizer_thread_start(heap);
    stop = ready = 0;
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, i < 2 ? busy : handling, (void *)i);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 2) gc_safepoint(gc);
    for (int where = IN_START; where < PLACES; where++) {
        if (GC_DEBUG && (where == IN_SCAN || where == IN_HELD)) continue; /* callbacks that must not */
        hook_status = 0;
        for (int i = 0; i < CHILDREN && hook_status == 0; i++) {
            for (place = where; place != NOWHERE;) {
                full(); /* that of another thread may be joined */
                if (where == IN_WALK) gc_handle_walk(heap, on_handle, NULL);
            }
            if (hook_status == -1) _exit(after_hook(held));
        }
        is(hook_status, 0, "a child of %s ends the collection, runs others, and ends the heap", places[where]);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    gc_heap_destroy(second);
}

/* While one thread forks in a callback, another one that forks has the list of heaps and waits for that heap: given the time
   for that, which the test passes without, too. */
static void *fork_when_ready(void *status) {
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) sched_yield();
    __atomic_store_n(&ready, 2, __ATOMIC_SEQ_CST);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        gc_heap_destroy(second);
        _exit(gc_heap_verify(heap) == 1 ? 0 : 1);
    }
    waitpid(child, (int *)status, 0);
    return NULL;
}
static void on_start_of_two(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (place != IN_START) return;
    __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) != 2) sched_yield();
    usleep(50000);
    fork_in(IN_START);
}
static void of_two_threads_in_a_hook(void) {
    int status = 0;
    alarm(PATIENCE_S);
    second = gc_heap_create(NULL);
    gc_handle held = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(1));
    hook_status = 0;
    for (int i = 0; i < 4 && status == 0 && hook_status == 0; i++) {
        pthread_t thread;
        ready = 0;
        status = -1;
        pthread_create(&thread, NULL, fork_when_ready, &status);
        place = IN_START;
        full();
        if (hook_status == -1) _exit(after_hook(held));
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, NULL);
    }
    is(hook_status, 0, "a thread forks in a callback, while another one forks: its child goes on");
    is(status, 0, "and so does the other's");
    gc_handle_destroy(heap, held);
    gc_heap_destroy(second);
    alarm(0);
}

/* In callbacks of two heaps each thread keeps what the other needs. */
static int in_callbacks; /* atomic */
static void on_start_of_either(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    __atomic_fetch_add(&in_callbacks, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&in_callbacks, __ATOMIC_SEQ_CST) < 2) sched_yield();
    if (fork() == 0) _exit(1);
}
static void on_fatal(void *host, const char *message) {
    (void)host;
    _exit(strstr(message, "each would wait for the other") ? 42 : 2);
}
static void *collecting(void *of) {
    gc_collect((gc_heap *)of, 2, 0);
    return NULL;
}
static int two_heaps(void) {
    gc_options options = {.collection_start = on_start_of_either, .fatal = on_fatal};
    pthread_t thread;
    alarm(PATIENCE_S);
    second = gc_heap_create(&options);
    pthread_create(&thread, NULL, collecting, second);
    collecting(gc_heap_create(&options));
    return 3;
}
static void in_hooks_of_two_heaps(void) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) execl("/proc/self/exe", "test_fork", "two heaps", (char *)NULL), _exit(4);
    waitpid(child, &status, 0);
    is(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 42,
       "two threads that fork in callbacks of two heaps end the program with a sentence");
}

/* In the warning that a thread does not stop, which the child does not have. */
static void *stubborn(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    node *mine = gc_new(me, &node_type);
    {
        GC_ROOTS(me, mine);
        __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
        while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) sched_yield();
    }
    gc_thread_detach(me);
    return unused;
}
static void on_warning(void *host, const char *message) {
    (void)host, (void)message;
    fork_in(IN_WARNING);
    if (hook_status != -1) __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
}

static void in_a_warning(void) {
    pthread_t thread;
    second = NULL;
    stop = ready = hook_status = 0;
    place = IN_WARNING;
    gc_handle held = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(1));
    pthread_create(&thread, NULL, stubborn, NULL);
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) gc_safepoint(gc);
    full();
    if (hook_status == -1) _exit(after_hook(held));
    ok(place == NOWHERE && hook_status == 0, "a child of the warning that a thread does not stop goes on without it");
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

/* A host that stops threads by itself is asked once, and told in both processes. */
static int suspended, restarted;
static void on_suspend(void *host) { (void)host, suspended++; }
static void on_restart(void *host) { (void)host, restarted++; }

static void of_a_host_that_stops(void) {
    int status = -1, before = suspended;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(suspended - before != 1 || restarted != suspended);
    waitpid(child, &status, 0);
    ok(status == 0 && suspended == before + 1 && restarted == suspended,
       "a host that stops its threads does so for fork");
}

/* Beside marking, which is about to look at handles: in the midst of a walk of them, whose lock the forking thread has. */
static bool fork_on_handle(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra) {
    (void)handle, (void)kind, (void)object, (void)extra;
    usleep(100000);
    pid_t child = fork();
    if (child) waitpid(child, (int *)context, 0);
    if (child == 0) *(int *)context = -1;
    return false;
}

static void beside_marking(void) {
    enum { HANDLES = 5000 };
    static gc_handle many[HANDLES];
    int status = 1;
    size_t wrong = 0;
    for (uint64_t i = 0; i < HANDLES; i++) many[i] = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(i));
    full();
    full();
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    alarm(PATIENCE_S);
    gc_handle_walk(heap, fork_on_handle, &status);
    full();
    for (uint64_t i = 0; i < HANDLES; i++) wrong += ((node *)gc_handle_get(many[i]))->value != i;
    if (status == -1) _exit(wrong ? 1 : 0);
    is(status, 0, "a child forked beside marking goes on");
    is(wrong, 0, "and so does the parent");
    alarm(0);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return two_heaps();
    run(beside_marking, (gc_options){.concurrent = GC_CONCURRENT_ON});
    run(of_many_threads, (gc_options){.nursery_bytes = 256 << 10});
    run(of_many_threads, (gc_options){.conservative_stack = true, .nursery_bytes = 256 << 10});
    run(with_finalizer_thread, (gc_options){0});
    run(in_hooks, (gc_options){.collection_start = on_start, .scan_roots = on_scan, .handle_is_held = on_held});
#ifdef __GLIBC__ /* musl holds a lock of its own while it calls those who watch forks, so one of the threads would wait for ever */
    run(of_two_threads_in_a_hook, (gc_options){.collection_start = on_start_of_two});
    run(in_hooks_of_two_heaps, (gc_options){0});
#else
    (void)of_two_threads_in_a_hook, (void)on_start_of_two, (void)in_hooks_of_two_heaps;
#endif
    run(in_a_warning, (gc_options){.warning = on_warning, .patience_ms = 10});
    run(of_a_host_that_stops, (gc_options){.suspend = on_suspend, .restart = on_restart});
    return done();
}
