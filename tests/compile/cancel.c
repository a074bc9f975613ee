/* Threads that are cancelled in native code, or call pthread_exit there, while others collect: with -fexceptions they leave
   their scopes. */
#include "gc.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);

static gc_heap *heap;
static pthread_key_t key;
static int ready; /* atomic */
static volatile bool never;

/* The stack below is what the thread's scopes were on. */
static void overwrite(void *unused) {
    volatile char bytes[8000];
    (void)unused;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0x41;
    sched_yield();
}

static void __attribute__((noinline)) nested(gc_thread *gc, int depth, bool exits) {
    cell *c = (cell *)gc_new(gc, &cell_type);
    GC_ROOTS(gc, c);
    c->value = depth;
    if (depth) {
        nested(gc, depth - 1, exits);
    } else {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
        if (exits) pthread_exit(NULL);
        while (!never) pause();
    }
    c->value++;
}

static void *thread(void *exits) {
    pthread_setspecific(key, &key);
    nested(gc_thread_attach(heap), 10, exits != NULL);
    return NULL;
}

static int warnings; /* atomic */
static void on_warning(void *host, const char *message) {
    (void)host;
    if (strstr(message, "GC_ROOTS") || !strstr(message, "ended without gc_thread_detach")) abort();
    __atomic_fetch_add(&warnings, 1, __ATOMIC_SEQ_CST);
}

int main(void) {
    enum { THREADS = 4, ROUNDS = 10 };
    pthread_t threads[THREADS];
    gc_options options;
    memset(&options, 0, sizeof options);
    options.warning = on_warning;
    options.debug.verify = GC_VERIFY_BEFORE;
    pthread_key_create(&key, overwrite); /* before gc.h's, so that it is called before */
    heap = gc_heap_create(&options);
    gc_thread *gc = gc_thread_attach(heap);
    for (int round = 0; round < ROUNDS; round++) {
        __atomic_store_n(&ready, 0, __ATOMIC_SEQ_CST);
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, thread, i % 2 ? &key : NULL);
        while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < THREADS) gc_safepoint(gc);
        for (int i = 0; i < THREADS; i++) {
            gc_collect(heap, 2, GC_COLLECT_COMPACTING);
            if (i % 2 == 0) pthread_cancel(threads[i]);
        }
        for (int i = 0; i < 5; i++) gc_collect(heap, i % 3, GC_COLLECT_COMPACTING);
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    gc_heap_destroy(heap);
    printf("%d threads ended\n", warnings);
    return warnings != THREADS * ROUNDS;
}
