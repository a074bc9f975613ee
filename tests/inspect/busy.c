/* Two threads that allocate, store and collect until a line comes; then they check what they have. */
#include "inspect.h"

#include <pthread.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    uint64_t number;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);

enum { CELLS = 5000 };
static gc_heap *heap;
static uint32_t done, wrong; /* atomic */

static bool is_whole(const cell *list) {
    for (uint64_t number = CELLS; number > 0; list = list->next)
        if (!list || list->number != --number) return false;
    return true;
}

static void *work(void *unused) {
    gc_thread *gc = gc_thread_attach(heap);
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        cell *list = NULL;
        GC_ROOTS(gc, list);
        for (uint64_t number = 0; number < CELLS; number++) {
            cell *fresh = (cell *)gc_new(gc, &cell_type);
            fresh->number = number;
            gc_store(gc, &fresh->next, list);
            list = fresh;
        }
        if (!is_whole(list)) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
    }
    gc_thread_detach(gc);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    gc_options options = {.nursery_bytes = 1 << 20};
    heap = new_heap(&options);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 2;
    wait_for_inspection();
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    gc_heap_destroy(heap);
    puts(wrong ? "wrong" : "whole");
    return (int)wrong;
}
