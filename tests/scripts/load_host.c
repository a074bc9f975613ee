/* A program that uses the collector which the environment names, or those at the paths that are its arguments, all at once.
   GO_ON=1: where one is refused, it goes on with its own. */
#define GC_IMPLEMENTATION
#include "gc_standalone.h"

#include <stdlib.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);

typedef struct world {
    const gc_functions *gc;
    gc_heap *heap;
    gc_thread *thread;
    void *list;
} world;

static bool go_on(void *context, const char *why) {
    printf("%s: %s\n", (const char *)context, why);
    return true;
}

static bool open_world(world *w, const gc_library *library) {
    w->gc = library->functions;
    w->heap = w->gc->gc_heap_create(NULL);
    w->thread = w->heap ? w->gc->gc_thread_attach(w->heap) : NULL;
    return w->thread && w->gc->gc_roots_add(w->heap, &w->list, 1, 0) == GC_OK;
}

/* Each world has a list of its own, which grows in all of them by turns. */
static bool work(world *worlds, int count) {
    for (long i = 0; i < 20000L * count; i++) {
        world *w = &worlds[i % count];
        cell *c = (cell *)w->gc->gc_new(w->thread, &cell_type);
        if (!c) return false;
        c->value = i;
        if (i / count % 16 == 0) {
            w->gc->gc_store(w->thread, &c->next, w->list);
            w->list = c;
        }
        if (i % 1000 == 0) w->gc->gc_collect(w->heap, (int)(i / 1000 % 3), 0);
    }
    for (int k = 0; k < count; k++) {
        long cells = 0;
        for (cell *c = (cell *)worlds[k].list; c; c = c->next) cells += c->value % count == k;
        if (cells != 20000 / 16) return false;
    }
    return true;
}

static void close_world(world *w) {
    w->gc->gc_roots_remove(w->heap, &w->list);
    w->gc->gc_thread_detach(w->thread);
    w->gc->gc_heap_destroy(w->heap);
}

int main(int count, char **arguments) {
    static world worlds[8];
    int used = 0, failures = 0;
    if (count == 1) {
        const gc_library *library = gc_library_choose(getenv("GO_ON") ? go_on : NULL, (void *)(uintptr_t) "told");
        if (gc_library_choose(NULL, NULL) != library) puts("chosen twice");
        puts(library->path ? "loaded" : "embedded");
        if (!open_world(&worlds[used++], library)) return 3;
    }
    for (int i = 1; i < count && used < 8; i++) {
        const char *why;
        const gc_library *library = gc_library_load(arguments[i], &why);
        puts(library ? "loaded" : why);
        failures += !library;
        if (library && !open_world(&worlds[used++], library)) return 3;
    }
    if (used && !work(worlds, used)) return 4;
    while (used) close_world(&worlds[--used]);
    if (getenv("SHOW_USER")) printf("user %u as %u\n", (unsigned)getuid(), (unsigned)geteuid());
    return failures != 0;
}
