/* Looking into a process from outside: a child of this one, whose heap is known. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
#define GC_IMPLEMENTATION
#include "../fixture.h"

#include <signal.h>

static node *list;
static vector *items;

typedef struct counts {
    gc_dac *dac;
    const gc_dac_heap *heap;
    size_t nodes, vectors, bytes, others, unfinished, elements, named;
    uint64_t sum, address_of_list;
} counts;

static bool count_slot(void *context, const gc_dac_slot *slot) {
    counts *all = context;
    if (slot->index != UINT64_MAX) all->elements += slot->reference != 0;
    if (slot->name && strcmp(slot->name, "left") == 0 && slot->offset == offsetof(node, left)) all->named++;
    return true;
}

static bool count_object(void *context, const gc_dac_object *object) {
    counts *all = context;
    if (object->flags & GC_DAC_UNFINISHED) return all->unfinished++, true;
    const char *name = object->type->name;
    if (strcmp(name, "node") == 0) {
        all->nodes++;
        all->sum += ((const node *)(const void *)object->contents)->value;
        if (all->nodes == 1) gc_dac_slots(all->dac, object, count_slot, all);
    } else if (strcmp(name, "vector") == 0) {
        all->vectors++;
        if (!gc_dac_slots(all->dac, object, count_slot, all)) diag("%s", gc_dac_message(all->dac));
    } else if (strcmp(name, "bytes") == 0) {
        all->bytes += object->length;
    } else {
        all->others++;
    }
    return true;
}

static bool one_heap(void *context, const gc_dac_heap *each) {
    counts *all = context;
    static gc_dac_heap found;
    found = *each;
    all->heap = &found;
    return true;
}

/* A child that has filled the heap, and waits. */
static pid_t child(void (*fill)(void)) {
    int ready[2];
    char byte;
    if (pipe(ready) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        begin(NULL);
        gc_roots_add(heap, &list, 1, 0);
        gc_roots_add(heap, &items, 1, 0);
        fill();
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) diag("the child has ended");
    close(ready[0]);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static counts count(gc_dac *dac) {
    counts all = {dac, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ok(gc_dac_heaps(dac, one_heap, &all), "its heaps: %s", gc_dac_message(dac));
    if (all.heap) ok(gc_dac_objects(dac, all.heap, count_object, &all), "its objects: %s", gc_dac_message(dac));
    return all;
}

static void fill(void) {
    for (uint64_t i = 0; i < 10000; i++) {
        node *fresh = new_node(i);
        gc_store(gc, &fresh->left, list);
        list = fresh;
    }
    items = new_vector(100);
    for (int i = 0; i < 10; i++) gc_store(gc, &items->items[i], list);
    void *large = new_bytes(3 * GC_REGION_BYTES);
    gc_store(gc, &items->items[50], large);
    full();
    for (uint64_t i = 10000; i < 20000; i++) {
        node *fresh = new_node(i);
        gc_store(gc, &fresh->left, list);
        list = fresh;
    }
    for (int i = 0; i < 5; i++) gc_new_array_raw(gc, &bytes_type, 100);
}

static void check(const counts *all) {
    is(all->nodes, 20000, "nodes, in windows and out of them");
    is(all->sum, 20000 * 19999 / 2, "with their contents");
    is(all->vectors, 1, "a vector");
    is(all->elements, 11, "eleven of whose elements refer to something");
    is(all->bytes, 500 + 3 * GC_REGION_BYTES, "bytes, a large object among them");
    is(all->others + all->unfinished, 0, "nothing else");
    is(all->named, 1, "a field by its name");
}

static void test_live(void) {
    pid_t pid = child(fill);
    gc_dac *dac = gc_dac_open_process(pid, GC_DAC_STOP);
    counts all = count(dac);
    check(&all);
    gc_dac_close(dac);
    stop(pid);
}

int main(void) {
    test_live();
    return done();
}
