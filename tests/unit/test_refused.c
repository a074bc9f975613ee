/* Slots whose referents find no room while several workers run, when the list of such slots gets no memory either. */
#define _GNU_SOURCE
#include "../inside.h"
#include "../fixture.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool refuses;
static size_t asked;
void *mremap(void *address, size_t old_bytes, size_t bytes, int flags, ...) {
    if (refuses) {
        asked++;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    va_list rest;
    va_start(rest, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    return (void *)syscall(SYS_mremap, address, old_bytes, bytes, flags, wanted);
}

static void refuse(gc__worker *worker, void *slot) {
    gc__words *list = &worker->workers->threads[0].refused;
    list->count = list->capacity;
    worker->overflowed = false;
    refuses = true;
    gc__refuse(worker, (uintptr_t)slot);
    refuses = false;
}

/* An array that is scanned in one go, since the mark stack is full: no trace function names it. */
static void an_element(gc__worker *worker, size_t length) {
    vector *array = new_vector(length);
    GC_ROOTS(gc, array);
    refuse(worker, &array->items[length - 1]);
    ok(worker->overflowed && gc__region_of((uintptr_t)array)->overflowed, "an array of %zu elements is scanned again", length);
    gc__region_of((uintptr_t)array)->overflowed = false;
}

static void refused(void) {
    gc__workers *workers = gc__os_map(sizeof *workers);
    gc__worker worker;
    memset(&worker, 0, sizeof worker);
    worker.workers = workers;
    worker.heap = heap;
    gc__words_reserve(&workers->threads[0].refused, 1);
    an_element(&worker, 1000);
    an_element(&worker, GC_REGION_BYTES / 4);
    gc_word root = 0;
    refuse(&worker, &root);
    ok(!worker.overflowed && workers->stop, "a root is not: one worker goes through all of them again");
    gc__words_free(&workers->threads[0].refused);
    gc__os_unmap(workers, sizeof *workers);
}

/* The collection is left out: what it would still find is no reason to ask the system again. */
static void roots(void) {
    enum { LISTS = 20, ROOTS = 5000 };
    static node *slots[LISTS][ROOTS];
    for (size_t i = 0; i < LISTS; i++) {
        for (size_t k = 0; k < ROOTS; k++) slots[i][k] = new_node(k);
        gc_roots_add(heap, slots[i], ROOTS, 0);
    }
    asked = 0;
    refuses = true;
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    refuses = false;
    ok(asked > 0 && asked <= LISTS, "%d roots without memory for their list: the system is asked %zu times", LISTS * ROOTS, asked);
    full();
    size_t wrong = 0;
    for (size_t i = 0; i < LISTS; i++) {
        for (size_t k = 0; k < ROOTS; k++) wrong += slots[i][k]->value != k;
        gc_roots_remove(heap, slots[i]);
    }
    is(wrong, 0, "and the next collection finds them");
}

int main(void) {
    run(roots, (gc_options){.nursery_bytes = 16 << 20});
    run(refused, (gc_options){0});
    return done();
}
