/* Prints whether an object that only a native stack or a register may hold has survived a collection: with a gc_keep_alive
   behind it, and without. In the common part of C11 and C++. */
#include "gc.h"

#include <stdio.h>

typedef struct box {
    gc_object header;
    uint64_t value;
} box;

static const gc_type box_type = GC_TYPE_LEAF(box);
static gc_heap *heap;
static gc_thread *gc;
static gc_handle weak;

/* What earlier calls have left where the collector's own frames will be. */
static __attribute__((noinline)) void overwrite_stack(void) {
    char room[1 << 16];
    memset(room, 0, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static __attribute__((noinline)) void kept(void) {
    box *b = (box *)gc_new(gc, &box_type);
    gc_handle_set(weak, b);
    overwrite_stack();
    gc_collect(heap, 2, 0);
    gc_keep_alive(b);
}

static __attribute__((noinline)) void dropped(void) {
    box *b = (box *)gc_new(gc, &box_type);
    gc_handle_set(weak, b);
    overwrite_stack();
    gc_collect(heap, 2, 0);
}

static void report(const char *name, void (*f)(void)) {
    overwrite_stack();
    f();
    printf("%s %s\n", name, gc_handle_get(weak) ? "lives" : "died");
}

int main(void) {
    gc_options options;
    memset(&options, 0, sizeof options);
    options.conservative_stack = true;
    heap = gc_heap_create(&options);
    gc = gc_thread_attach(heap);
    weak = gc_handle_create(heap, GC_HANDLE_WEAK, NULL);
    report("kept", kept);
    report("dropped", dropped);
    gc_heap_destroy(heap);
    return 0;
}
