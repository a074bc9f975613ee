/* Collections by 1, 2 and 8 threads: full marks of a tree of small objects, and young collections of which all survives.
   Elapsed and CPU time, the median and the least of 15; the numbers of threads alternate. With an argument, `parallel turns`,
   threads take turns: how they share the work of 2, 4, 8 and 16, whatever the machine. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <time.h>

typedef struct node {
    gc_object header;
    struct node *left, *right;
    uint64_t value;
} node;
static const gc_type node_type = GC_TYPE(node, left, right);

#define ROUNDS 15
enum { CREWS = 3 };
static const unsigned crews[CREWS] = {1, 2, 8};

static double clock_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static node *tree(gc_thread *gc, int depth) {
    node *root = NULL, *left = NULL, *right = NULL;
    GC_ROOTS(gc, root, left, right);
    if (depth) left = tree(gc, depth - 1);
    if (depth) right = tree(gc, depth - 1);
    root = (node *)gc_new(gc, &node_type);
    root->left = left;
    root->right = right;
    return root;
}

typedef struct crew {
    gc_heap *heap;
    gc_thread *gc;
    double elapsed[ROUNDS], cpu[ROUNDS];
} crew;

static void crew_open(crew *c, unsigned threads, unsigned order) {
    gc_options options;
    memset(&options, 0, sizeof options);
    options.collector_threads = threads;
    options.test_collectors = order;
    options.nursery_bytes = (size_t)64 << 20;
    c->heap = gc_heap_create(&options);
    c->gc = c->heap ? gc_thread_attach(c->heap) : NULL;
    if (!c->gc) fprintf(stderr, "%s\n", gc_last_message()), exit(1);
}

static void measure(crew *c, int generation, int round) {
    double elapsed = clock_ms(CLOCK_MONOTONIC), cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    gc_collect(c->heap, generation, GC_COLLECT_BLOCKING);
    c->elapsed[round] = clock_ms(CLOCK_MONOTONIC) - elapsed;
    c->cpu[round] = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, crew *all) {
    for (int i = 0; i < CREWS; i++) {
        qsort(all[i].elapsed, ROUNDS, sizeof(double), by_size);
        qsort(all[i].cpu, ROUNDS, sizeof(double), by_size);
        printf("%-40s %u threads: elapsed %.2f ms (least %.2f), CPU %.2f ms (least %.2f)\n", what, crews[i],
               all[i].elapsed[ROUNDS / 2], all[i].elapsed[0], all[i].cpu[ROUNDS / 2], all[i].cpu[0]);
    }
}

static void full_marks(int depth) {
    crew all[CREWS];
    node *roots[CREWS] = {NULL};
    for (int i = 0; i < CREWS; i++) crew_open(&all[i], crews[i], 0);
    GC_ROOTS_ARRAY(all[0].gc, &roots[0], 1, 0);
    GC_ROOTS_ARRAY(all[1].gc, &roots[1], 1, 0);
    GC_ROOTS_ARRAY(all[2].gc, &roots[2], 1, 0);
    for (int i = 0; i < CREWS; i++) roots[i] = tree(all[i].gc, depth), gc_collect(all[i].heap, 2, GC_COLLECT_BLOCKING);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CREWS; i++) measure(&all[i], 2, round);
    report("full mark, 128 MiB of 32-byte objects", all);
}

static void young_collections(int depth) {
    crew all[CREWS];
    for (int i = 0; i < CREWS; i++) crew_open(&all[i], crews[i], 0);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CREWS; i++) {
            node *root = NULL;
            GC_ROOTS(all[i].gc, root);
            root = tree(all[i].gc, depth);
            measure(&all[i], 0, round);
        }
    report("young, 8 MiB of 32-byte objects survive", all);
}

static void turns(void) {
    for (unsigned threads = 2; threads <= 16; threads *= 2) {
        crew c;
        crew_open(&c, threads, 12345);
        node *root = NULL;
        GC_ROOTS(c.gc, root);
        root = tree(c.gc, 16);
        gc_collect(c.heap, 0, GC_COLLECT_BLOCKING);
        gc_collect(c.heap, 2, GC_COLLECT_BLOCKING);
        gc_heap_print_stats(c.heap, stdout);
    }
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        turns();
        return 0;
    }
    full_marks(21);
    young_collections(17);
    return 0;
}
