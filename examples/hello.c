/* hello.c - a list of a million cells on gc.h. Build: cc -O2 -I. examples/hello.c -pthread */
#define GC_IMPLEMENTATION
#include "gc.h"

typedef struct cell {
    gc_object header;
    struct cell *next;
    int value;
} cell;

static const gc_type cell_type = GC_TYPE(cell, next); /* its name, its size, its fields that are references */

int main(void) {
    gc_heap *heap = gc_heap_create(NULL); /* NULL: all defaults */
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) return fprintf(stderr, "hello: %s\n", gc_last_message()), 1;

    cell *list = NULL;
    GC_ROOTS(gc, list); /* from here to the end of the scope; collections update it when the cell has moved */
    for (int i = 0; i < 1000000; i++) {
        cell *c = gc_new(gc, &cell_type); /* may collect */
        if (!c) return fprintf(stderr, "hello: %s\n", gc_last_message()), 1;
        c->value = i;
        gc_store(gc, &c->next, list); /* the write barrier */
        list = c;
    }
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);

    long long sum = 0;
    for (cell *c = list; c; c = c->next) sum += c->value; /* nothing here may collect, so c needs no root */
    printf("the sum of a million cells: %lld\n", sum);
    gc_heap_print_stats(heap, stdout);
    gc_heap_destroy(heap);
    return 0;
}
