/* What a thread sees of the objects that it finds in slots to which others store, without a lock: whole objects, whose references it may
   keep. x86-64 keeps the order of stores by itself; elsewhere the stores of gc.h have to ask for it. tests/models/order.pml takes the
   order away. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>

enum { PLAYERS = 3, PLACES = 16, KEPT = 64, GROWN = 48 };

/* Ways by which a reference gets to another thread. */
enum { BY_STORE, BY_COPY, BY_BRACKET, BY_HANDLE, WAYS };

static vector *board, *arrays; /* neither moves */
static gc_handle shared;
static int rounds;

static void publish(gc_thread *me, int way, size_t at, node *object) {
    void *one[] = {object};
    if (way == BY_STORE) gc_store(me, &board->items[at], object);
    if (way == BY_COPY) gc_copy_refs(me, &board->items[at], one, 1);
    if (way == BY_HANDLE) gc_handle_set(shared, object);
    if (way != BY_BRACKET) return;
    gc_stores_begin(me, &board->items[at], 1, 0);
    __atomic_store_n(&board->items[at], object, __ATOMIC_RELAXED);
    gc_stores_end(me, &board->items[at], 1, 0);
}

/* Each object refers to another one, with the complement of its number. */
static bool is_whole(const node *object) {
    return object->header.type == &node_type && object->left->header.type == &node_type && object->left->value == ~object->value;
}

static node *find(int way, size_t at) {
    return way == BY_HANDLE ? (node *)gc_handle_get(shared) : (node *)__atomic_load_n(&board->items[at], __ATOMIC_RELAXED);
}

/* Counts the elements that another thread's array should not have, while it grows. */
static uint64_t look_at_array(size_t at) {
    const vector *array = (const vector *)__atomic_load_n(&arrays->items[at], __ATOMIC_RELAXED);
    size_t length = array ? __atomic_load_n(&array->header.length, __ATOMIC_ACQUIRE) : 0;
    uint64_t wrong = length > GROWN;
    for (size_t i = 0; i < length && !wrong; i++) wrong += __atomic_load_n(&array->items[i], __ATOMIC_RELAXED) != NULL;
    return wrong;
}

static void *play(void *argument) {
    uint64_t number = (uintptr_t)argument, x = number * 7919 + 1, wrong = 0;
    gc_thread *me = gc_thread_attach(heap);
    {
        vector *mine = NULL, *array = NULL;
        node *other = NULL, *fresh = NULL, *seen = NULL;
        GC_ROOTS(me, mine, array, other, fresh, seen);
        mine = gc_new_array(me, &vector_type, KEPT);
        for (int i = 0; i < rounds; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            int way = (int)(x >> 32) % WAYS;
            other = gc_new(me, &node_type);
            other->value = ~x;
            fresh = gc_new(me, &node_type);
            fresh->value = x;
            fresh->left = other;
            publish(me, way, x % PLACES, fresh);
            for (size_t k = 0; k < PLACES; k++) {
                seen = find((int)(x >> 40) % WAYS, (x + k) % PLACES);
                if (!seen) continue;
                wrong += !is_whole(seen);
                gc_store(me, &mine->items[(x + k) % KEPT], seen);
            }
            if (i % 8 == 0) {
                array = gc_new_array(me, &vector_type, 1);
                gc_store(me, &arrays->items[number], array);
            }
            if (array->header.length < GROWN) gc_array_grow(me, array, array->header.length + 4 < GROWN ? array->header.length + 4 : GROWN);
            wrong += look_at_array((number + 1) % PLAYERS);
        }
        for (size_t at = 0; at < KEPT; at++) wrong += mine->items[at] && !is_whole((const node *)mine->items[at]);
    }
    gc_thread_detach(me);
    return (void *)(uintptr_t)wrong;
}

static void found(gc_options options, const char *name) {
    pthread_t threads[PLAYERS];
    uint64_t sum = 0;
    begin_verified(options);
    {
        board = gc_new_with(gc, &vector_type, PLACES, GC_NEW_FIXED);
        GC_ROOTS(gc, board);
        arrays = gc_new_with(gc, &vector_type, PLAYERS, GC_NEW_FIXED);
        GC_ROOTS(gc, arrays);
        full();
        full(); /* the arrays are old */
        shared = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (uintptr_t i = 0; i < PLAYERS; i++)
            if (pthread_create(&threads[i], NULL, play, (void *)i) != 0) abort();
        for (int i = 0; i < PLAYERS; i++) {
            void *wrong = NULL;
            pthread_join(threads[i], &wrong);
            sum += (uintptr_t)wrong;
        }
    }
    is(sum, 0, "%s: objects that other threads have stored are whole", name);
    end();
}

int main(void) {
    rounds = is_quick() ? 5000 : 100000;
    found((gc_options){.nursery_bytes = 256 << 10}, "beside collections");
    if (GC_CONCURRENT) found((gc_options){.nursery_bytes = 256 << 10, .concurrent = GC_CONCURRENT_ON}, "while old objects are marked");
    return done();
}
