/* pause.c - a long pause, and its explanation: nearly all of it is "stop threads", for one thread computes without coming to a
   safe point, and every collection waits for it.

       GC_PROFILE=pause.json build/examples/profile/pause      and then open pause.json in https://ui.perfetto.dev
       build/examples/profile/pause polite                     the thread calls gc_safepoint, and pauses are short */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc_profile.h"

#include <pthread.h>
#include <time.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);

static gc_heap *heap;
static bool polite;
static int computing; /* atomic: 1 while the thread computes, 2 when it has ended */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *compute(void *unused) {
    gc_thread *gc = gc_thread_attach(heap);
    gc_thread_set_name(gc, "computing");
    volatile double sum = 0;
    for (int round = 0; round < 5; round++) {
        double end = seconds() + 0.04;
        __atomic_store_n(&computing, 1, __ATOMIC_SEQ_CST);
        while (seconds() < end) {
            for (int i = 1; i < 1000; i++) sum += 1.0 / i;
            if (polite) gc_safepoint(gc); /* the line that is missing */
        }
        gc_safepoint(gc);
    }
    __atomic_store_n(&computing, 2, __ATOMIC_SEQ_CST);
    gc_thread_detach(gc);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    gc_options options = {.nursery_bytes = (size_t)1 << 20};
    polite = argc > 1 && strcmp(argv[1], "polite") == 0;
    heap = gc_heap_create(&options);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) return 1;
    gc_thread_set_name(gc, "main");
    pthread_create(&thread, NULL, compute, NULL);
    while (!__atomic_load_n(&computing, __ATOMIC_SEQ_CST)) gc_safepoint(gc);
    {
        cell *list = NULL;
        GC_ROOTS(gc, list);
        for (int i = 0; __atomic_load_n(&computing, __ATOMIC_SEQ_CST) < 2; i++) {
            cell *c = gc_new(gc, &cell_type);
            gc_store(gc, &c->next, list);
            list = i % 1000 ? c : NULL;
        }
    }
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, NULL);
    }
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    printf("%s: the longest pause took %s than 20 ms\n", polite ? "polite" : "rude", stats.pause_max_ns + stats.stop_max_ns > 20000000 ? "more" : "less");
    gc_thread_detach(gc);
    return 0;
}
