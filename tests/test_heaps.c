/* Several heaps that threads use at the same time: they share the arena and its tables. Under ThreadSanitizer too (threads.t). */
#define _GNU_SOURCE
#include "fixture.h"

#include <pthread.h>

enum { HEAPS = 3, STEPS = 60000, TABLE = 4096 };

/* Old tables whose cards are dirty, and large objects that come and go, so that regions do. Returns what is wrong. */
static void *mutate(void *argument) {
    uint64_t x = (uintptr_t)argument * 7919 + 1, wrong = 0;
    gc_heap *own = gc_heap_create(&(gc_options){.nursery_bytes = 256 << 10});
    gc_thread *me = gc_thread_attach(own);
    {
        vector *table = NULL, *large = NULL;
        node *fresh = NULL;
        GC_ROOTS(me, table, large, fresh);
        table = gc_new_array(me, &vector_type, TABLE);
        for (int i = 0; i < STEPS; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            size_t at = x % TABLE;
            if (at < 8) large = gc_new_array(me, &vector_type, 40000 + x % 100000);
            fresh = gc_new(me, &node_type);
            fresh->value = at;
            gc_store(me, &table->items[at], fresh);
            if (large) gc_store(me, &large->items[x % 40000], fresh);
        }
        for (size_t at = 0; at < TABLE; at++) {
            const node *n = (const node *)table->items[at];
            wrong += n && n->value != at;
        }
    }
    gc_thread_detach(me);
    gc_heap_destroy(own);
    return (void *)(uintptr_t)wrong;
}

int main(void) {
    pthread_t threads[HEAPS];
    for (uintptr_t i = 0; i < HEAPS; i++)
        if (pthread_create(&threads[i], NULL, mutate, (void *)i) != 0) abort();
    for (int i = 0; i < HEAPS; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        is((uintptr_t)wrong, 0, "objects of heap %d while other heaps collect", i);
    }
    return done();
}
