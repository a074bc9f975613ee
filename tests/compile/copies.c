/* A part of tests/compile/copies.t: a user of gc.h, who is called NAME, and with MAIN the program that runs some of them. */
#ifdef MAIN
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USERS(X) X(run_a) X(run_b) X(run_c)
#define DECLARE(name) int name(int rounds) __attribute__((weak));
USERS(DECLARE)

static int mappings(void) {
    int lines = 0, c;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && (c = getc(maps)) != EOF) lines += c == '\n';
    if (maps) fclose(maps);
    return lines;
}

/* Loads and unloads the libraries so many times, on a thread that ends afterwards. The first time the C library may map memory
   of its own. */
static char **cycle;
static void *cycling(void *unused) {
    int before = 0;
    for (int i = 0; i < atoi(cycle[2]); i++) {
        void *library = dlopen(cycle[3], RTLD_NOW | RTLD_LOCAL);
        int (*run)(int) = NULL;
        if (library) *(void **)&run = dlsym(library, cycle[4]);
        if (!run || run(1) != 0) return printf("cycle %d: %s\n", i, library ? "fails" : dlerror()), unused;
        dlclose(library);
        if (i == 0) before = mappings();
    }
    if (mappings() > before + 3) printf("%d mappings more\n", mappings() - before);
    puts("unloaded");
    fflush(stdout);
    return unused;
}

static int (*loaded(const char *path, const char *name))(int) {
    int (*run)(int) = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library) *(void **)&run = dlsym(library, name);
    if (!run) printf("%s\n", dlerror());
    return run;
}

/* Nothing: runs whom it is linked with. cycle N LIBRARY NAME; or LIBRARY NAME...: loads them for all, and runs them. */
int main(int count, char **arguments) {
    int result = 0;
    if (count > 4 && strcmp(arguments[1], "cycle") == 0) {
        pthread_t thread;
        cycle = arguments;
        pthread_create(&thread, NULL, cycling, NULL);
        pthread_join(thread, NULL);
        puts("ended");
        return 0;
    }
    for (int round = 0; round < 2; round++) {
#define RUN(name) \
    if (name) result |= name(2);
        USERS(RUN)
        for (int i = 1; i + 1 < count; i += 2) {
            int (*run)(int) = loaded(arguments[i], arguments[i + 1]);
            result |= run ? run(2) : 1;
        }
    }
    puts(result ? "failed" : "all right");
    return result;
}
#else
#ifdef WITH_CODE
#include "gc_stackmap.h"

static const char *visit(const gc_code_cursor *frame, gc_visitor *visitor) { return (void)frame, (void)visitor, (const char *)0; }
static const char *layout(gc_code_cursor *frame) { return (void)frame, (const char *)0; }
static const gc_code_format format = {"none", visit, layout, 0, 0, 0, 0};

/* The registry of code. */
static long registered(void) {
    static gc_code code = {(const void *)0x10000, 100, 0, 0, &format, "code", 0};
    if (gc_code_add(&code) != GC_OK) return -1;
    long lost = gc_code_find((const void *)0x10063) != &code;
    return gc_code_remove(&code) == GC_OK ? lost : -1;
}
#else
#include "gc.h"
static long registered(void) { return 0; }
#endif

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) int
    NAME(int rounds);

/* All that is inlined, and names of gc.h that are needed for it: mode, frames, allocation, barrier. */
static long fill(gc_thread *gc, long most) {
    cell *list = NULL;
    GC_ROOTS(gc, list);
    for (long i = 0; i < most; i++) {
        cell *c = (cell *)gc_new(gc, &cell_type);
        if (!c) return -1;
        c->value = i;
        gc_store(gc, &c->next, list);
        list = c;
        gc_safepoint(gc);
    }
    gc_collect(gc_thread_heap(gc), 2, GC_COLLECT_COMPACTING);
    long rest = most;
    while (list && list->value == rest - 1) rest--, list = list->next;
    return rest;
}

int NAME(int rounds) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    long lost = gc ? 0 : -1;
    while (!lost && rounds-- > 0) lost = fill(gc, 20000);
    if (!lost) lost = registered();
    if (lost) fprintf(stderr, "lost %ld: %s\n", lost, gc_last_message());
    if (gc) {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    }
    if (gc) gc_thread_detach(gc);
    gc_heap_destroy(heap);
    return lost != 0;
}
#endif
