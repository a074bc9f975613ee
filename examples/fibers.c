/* fibers.c - coroutines, each on a native stack of its own, with roots of its own. Build: cc -O2 -I. examples/fibers.c -pthread

   Two generators are resumed by turns. What a fiber's GC_ROOTS name stays a root while it waits, and is updated when
   objects move, whoever collects meanwhile. A third fiber is dropped before it has ended. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdlib.h>
#include <ucontext.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;

static const gc_type cell_type = GC_TYPE(cell, next);

typedef struct fiber {
    ucontext_t context;
    char *memory;
    gc_stack *stack; /* what gc.h keeps of it */
    void (*body)(void);
    bool is_done;
} fiber;

enum { STACK_BYTES = 256 << 10 };

static gc_heap *heap;
static gc_thread *gc;
static ucontext_t host;
static fiber *running;
static cell *yielded; /* a global slot, which any fiber may read */

static void stop(void) {
    fprintf(stderr, "fibers: %s\n", gc_last_message());
    exit(1);
}

/* Both directions are the same: tell gc.h, then switch, and allocate nothing in between. */
static void resume(fiber *f) {
    running = f;
    gc_stack_switch(gc, f->stack);
    swapcontext(&host, &f->context);
}

static void yield(cell *c) {
    yielded = c;
    gc_stack_switch(gc, NULL); /* NULL: the thread's own stack */
    swapcontext(&running->context, &host);
}

/* A fiber ends when the scopes of its GC_ROOTS have ended, so they are in a function that returns here. */
static void enter(void) {
    running->body();
    running->is_done = true;
    gc_stack_switch(gc, NULL);
    setcontext(&host);
}

static void fiber_start(fiber *f, void (*body)(void)) {
    f->body = body;
    f->is_done = false;
    f->memory = malloc(STACK_BYTES);
    f->stack = f->memory ? gc_stack_create(heap, f->memory + STACK_BYTES) : NULL; /* the base: its highest address */
    if (!f->stack) stop();
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->memory;
    f->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&f->context, enter, 0);
}

/* Also for a fiber that waits: what it held is garbage from here on. */
static void fiber_end(fiber *f) {
    gc_stack_destroy(f->stack);
    free(f->memory);
}

static cell *prepend(cell *list, long value) {
    GC_ROOTS(gc, list);
    cell *c = gc_new(gc, &cell_type);
    if (!c) stop();
    c->value = value;
    c->next = list; /* c is new: no barrier */
    return c;
}

static long sum_of(const cell *list) {
    long sum = 0;
    for (; list; list = list->next) sum += list->value;
    return sum;
}

/* Yields 1, then 2 1, then 3 2 1, and so on: all of them share cells. */
static void generate(void) {
    cell *list = NULL;
    GC_ROOTS(gc, list);
    for (long i = 1; i <= 1000; i++) {
        list = prepend(list, i);
        yield(list);
    }
}

int main(void) {
    heap = gc_heap_create(NULL);
    gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc || gc_roots_add(heap, &yielded, 1, 0) != GC_OK) stop();
    fiber fibers[3];
    for (int i = 0; i < 3; i++) fiber_start(&fibers[i], generate);
    resume(&fibers[2]);

    long sums[2] = {0, 0};
    while (!fibers[0].is_done)
        for (int i = 0; i < 2; i++) {
            resume(&fibers[i]);
            if (!fibers[i].is_done) sums[i] = sum_of(yielded);
            for (int k = 0; k < 1000; k++) prepend(NULL, k); /* garbage, so that collections run */
        }
    printf("generators: %ld %ld\n", sums[0], sums[1]);

    for (int i = 0; i < 3; i++) fiber_end(&fibers[i]);
    yielded = NULL;
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    printf("bytes that live when no fiber is left: %zu\n", stats.live_bytes);
    gc_heap_destroy(heap);
    return 0;
}
