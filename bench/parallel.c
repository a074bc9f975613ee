/* Collections by 1, 2 and 8 threads: `parallel marks [MIB]`, full marks of a tree of small objects; `list [THOUSANDS]`, those of
   a list, which no two threads can share; `promoted [KIB]`, young collections that promote so much in place; `young [KIB]` and
   `random [KIB]`, those that copy as much, in the order of allocation or at random addresses. Elapsed and CPU time, the median
   and the least of 101 (of full marks 15); the numbers of threads alternate. Beside the ratio stands what is possible here: how
   much more two processes of one thread each get done than one, which collect in step. A number of threads behind the size: only
   those. `crossover`: from how much on a second thread pays. `phases`: what they spend their time on. `turns`: threads take turns: how
   they share the work of 2, 4, 8 and 16, whatever the machine. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc.h"
#include "gc_handles.h"
#include "random.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct node {
    gc_object header;
    struct node *left, *right;
    uint64_t value;
} node;
static const gc_type node_type = GC_TYPE(node, left, right);

typedef struct vector {
    gc_array header;
    node *items[];
} vector;
static const gc_type vector_type = GC_TYPE_ARRAY(vector, items);

typedef struct leaf {
    gc_array header;
    uint64_t words[];
} leaf;
static const gc_type leaf_type = GC_TYPE_ARRAY_LEAF(leaf, words);

#define ROUNDS 101
static int rounds = ROUNDS;
enum { CREWS = 3, TABLE = 1 << 16 };
static const unsigned crews[CREWS] = {1, 2, 8};
static unsigned only; /* so many threads are measured; 0: each of these */

static double clock_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* With each node, `garbage` others are made: if little survives of a nursery it is copied, else it is promoted in place. */
static int garbage;

static node *tree(gc_thread *gc, int depth) {
    node *root = NULL, *left = NULL, *right = NULL;
    GC_ROOTS(gc, root, left, right);
    if (depth) left = tree(gc, depth - 1);
    if (depth) right = tree(gc, depth - 1);
    for (int i = 0; i < garbage; i++) gc_new(gc, &node_type);
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
    options.test.collectors = order;
    options.nursery_bytes = (size_t)64 << 20;
    c->heap = gc_heap_create(&options);
    c->gc = c->heap ? gc_thread_attach(c->heap) : NULL;
    if (!c->gc) fprintf(stderr, "%s\n", gc_last_message()), exit(1);
}

static void crew_close(crew *c) {
    gc_thread_detach(c->gc);
    gc_heap_destroy(c->heap);
}

/* Two processes begin each collection at the same time. */
static unsigned *arrivals; /* shared by both */
static bool in_step;

static void await_other(void) {
    unsigned mine = __atomic_add_fetch(arrivals, 1, __ATOMIC_SEQ_CST), all = (mine + 1) & ~1u;
    while (__atomic_load_n(arrivals, __ATOMIC_SEQ_CST) < all) continue;
}

static void measure(crew *c, int generation, int round) {
    if (in_step) await_other();
    double elapsed = clock_ms(CLOCK_MONOTONIC), cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    gc_collect(c->heap, generation, GC_COLLECT_BLOCKING);
    c->elapsed[round] = clock_ms(CLOCK_MONOTONIC) - elapsed;
    usleep(200); /* the system counts the time of another processor's thread when that sleeps */
    c->cpu[round] = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The nodes of a tree in random order: neighbours in memory are none in the tree. */
static node *shuffled(gc_thread *gc, int depth) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    size_t count = (size_t)1 << depth;
    all = (vector *)gc_new_array(gc, &vector_type, count);
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < garbage; k++) gc_new(gc, &node_type);
        node *n = (node *)gc_new(gc, &node_type);
        gc_store(gc, &all->items[i], n);
    }
    uint64_t random = RANDOM_SEED;
    for (size_t i = count - 1; i > 1; i--) {
        size_t j = 1 + (size_t)(next_random(&random) % i);
        node *n = all->items[i];
        gc_store(gc, &all->items[i], all->items[j]);
        gc_store(gc, &all->items[j], n);
    }
    for (size_t i = 1; i < count / 2; i++) {
        gc_store(gc, &all->items[i]->left, all->items[2 * i]);
        gc_store(gc, &all->items[i]->right, all->items[2 * i + 1]);
    }
    return all->items[1];
}

/* What young collections find: how it is made, how much garbage is made with each node, and what is left of it. */
typedef struct survivors {
    const char *command, *name;
    node *(*make)(gc_thread *gc, int depth);
    int garbage;
} survivors;
static const survivors kinds[] = {{"promoted", "promoted in place", tree, 0},
                                  {"young", "copied in order", tree, 2},
                                  {"random", "copied at random", shuffled, 2}};

/* The depth of trees of which at most `size` KiB survive; how much that is. */
static int depth_for(const survivors *kind, unsigned long size, unsigned long *survive) {
    int depth = 4, one = kind->make == tree;
    while ((32ul << (depth + 1 + one)) >> 10 <= size) depth++;
    *survive = (32ul << (depth + one)) >> 10;
    garbage = kind->garbage;
    return depth;
}

static void young_round(crew *c, const survivors *kind, int depth, int round) {
    node *root = NULL;
    GC_ROOTS(c->gc, root);
    root = kind->make(c->gc, depth);
    measure(c, 0, round);
    root = NULL;
    gc_collect(c->heap, 1, GC_COLLECT_BLOCKING); /* so that the next round copies to memory that it has */
}

static node *list(gc_thread *gc, int thousands) {
    node *first = NULL;
    GC_ROOTS(gc, first);
    for (long i = 0; i < thousands * 1000L; i++) {
        node *n = (node *)gc_new(gc, &node_type);
        n->left = first;
        first = n;
    }
    return first;
}

/* What is measured: young collections of a kind, or full marks of what `make` has made once. */
typedef struct task {
    char name[64];
    const survivors *kind; /* NULL: full marks */
    node *(*make)(gc_thread *gc, int size);
    int size;
} task;

static void task_open(crew *c, const task *t, node **root) {
    if (t->kind) return;
    *root = t->make(c->gc, t->size);
    gc_collect(c->heap, 2, GC_COLLECT_BLOCKING);
}

static void task_round(crew *c, const task *t, int round) {
    if (t->kind)
        young_round(c, t->kind, t->size, round);
    else
        measure(c, 2, round);
}

/* Has the process run on the given one of its processors. */
static void bind_to(const cpu_set_t *processors, int number) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, processors) && number-- == 0) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* How much more two processes of one thread each get done than one. */
static double possible(const task *t) {
    cpu_set_t processors;
    int go[2];
    double alone[ROUNDS], both[ROUNDS];
    sched_getaffinity(0, sizeof processors, &processors);
    if (CPU_COUNT(&processors) < 2) return 1;
    arrivals = (unsigned *)mmap(NULL, sizeof *arrivals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arrivals == MAP_FAILED || pipe(go)) perror("possible"), exit(1);
    pid_t other = fork();
    if (!other) prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_to(&processors, !other);
    crew c;
    crew_open(&c, 1, 0);
    {
        node *root = NULL;
        GC_ROOTS(c.gc, root);
        task_open(&c, t, &root);
        for (int round = 0; round < rounds; round++) {
            char turn = 0;
            if (other) task_round(&c, t, round);
            alone[round] = c.elapsed[round];
            if ((other ? write(go[1], &turn, 1) : read(go[0], &turn, 1)) != 1) perror("possible"), exit(1);
            in_step = true;
            task_round(&c, t, round);
            in_step = false;
            both[round] = c.elapsed[round];
        }
    }
    crew_close(&c);
    if (!other) _exit(0);
    waitpid(other, NULL, 0);
    close(go[0]), close(go[1]);
    munmap(arrivals, sizeof *arrivals);
    sched_setaffinity(0, sizeof processors, &processors);
    qsort(alone, (size_t)rounds, sizeof(double), by_size);
    qsort(both, (size_t)rounds, sizeof(double), by_size);
    return 2 * alone[rounds / 2] / both[rounds / 2];
}

static void report(const task *t, crew *all, double most) {
    for (int i = 0; i < CREWS; i++) {
        if (only && crews[i] != only) continue;
        qsort(all[i].elapsed, (size_t)rounds, sizeof(double), by_size);
        qsort(all[i].cpu, (size_t)rounds, sizeof(double), by_size);
        printf("%-40s %u threads: elapsed %.2f ms (least %.2f), CPU %.2f ms (least %.2f)", t->name, crews[i],
               all[i].elapsed[rounds / 2], all[i].elapsed[0], all[i].cpu[rounds / 2], all[i].cpu[0]);
        if (!only && i)
            printf(", %.2f times as fast (least %.2f), of %.2f possible", all[0].elapsed[rounds / 2] / all[i].elapsed[rounds / 2],
                   all[0].elapsed[0] / all[i].elapsed[0], most);
        putchar('\n');
    }
}

static void run(const task *t) {
    crew all[CREWS];
    node *roots[CREWS] = {NULL};
    fflush(stdout);
    double most = only ? 0 : possible(t);
    for (int i = 0; i < CREWS; i++) crew_open(&all[i], crews[i], 0);
    GC_ROOTS_ARRAY(all[0].gc, &roots[0], 1, 0);
    GC_ROOTS_ARRAY(all[1].gc, &roots[1], 1, 0);
    GC_ROOTS_ARRAY(all[2].gc, &roots[2], 1, 0);
    for (int i = 0; i < CREWS; i++)
        if (!only || crews[i] == only) task_open(&all[i], t, &roots[i]);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < CREWS; i++)
            if (!only || crews[i] == only) task_round(&all[i], t, round);
    report(t, all, most);
}

/* Nurseries of which `size` KiB survive. */
static void young_collections(const survivors *kind, unsigned long size) {
    task t = {.kind = kind};
    t.size = depth_for(kind, size, &size);
    snprintf(t.name, sizeof t.name, "young, %lu KiB survive, %s", size, kind->name);
    run(&t);
}

/* Heaps with `size` MiB of nodes; each round marks all of them. */
static void full_marks(unsigned long size) {
    task t = {.make = tree, .size = 14};
    rounds = 15;
    while ((32ul << (t.size + 2)) >> 20 <= size) t.size++;
    snprintf(t.name, sizeof t.name, "full mark, %lu MiB of 32-byte objects", (32ul << (t.size + 1)) >> 20);
    run(&t);
}

static void lists(unsigned long thousands) {
    task t = {.make = list, .size = (int)thousands};
    rounds = 15;
    snprintf(t.name, sizeof t.name, "full mark, list of %lu,000 objects", thousands);
    run(&t);
}

static void compare(const char *what, crew *one, crew *two) {
    qsort(one->elapsed, (size_t)rounds, sizeof(double), by_size);
    qsort(two->elapsed, (size_t)rounds, sizeof(double), by_size);
    printf("%-46s 1 thread %.3f ms, 2 threads %.3f ms, %.2f times as fast\n", what, one->elapsed[rounds / 2],
           two->elapsed[rounds / 2], one->elapsed[rounds / 2] / two->elapsed[rounds / 2]);
}

/* Stores new nodes at random places of old vectors, and collects the nodes. */
static void cards_round(crew *c, const vector *table, size_t count, int round) {
    static uint64_t state = RANDOM_SEED;
    for (size_t i = 0; i < count; i++) {
        uint64_t random = next_random(&state);
        node *n = (node *)gc_new(c->gc, &node_type);
        gc_store(c->gc, &((vector *)table->items[(random >> 33) % TABLE])->items[(random >> 20) % 126], n);
    }
    measure(c, 0, round);
    gc_collect(c->heap, 1, GC_COLLECT_BLOCKING);
}

static vector *old_table(gc_thread *gc) {
    vector *table = NULL;
    GC_ROOTS(gc, table);
    table = (vector *)gc_new_array(gc, &vector_type, TABLE);
    for (size_t i = 0; i < TABLE; i++) {
        vector *v = (vector *)gc_new_array(gc, &vector_type, 126);
        gc_store(gc, &table->items[i], (node *)v);
    }
    return table;
}

static void crossover_of_cards(void) {
    crew one, two;
    char what[64];
    crew_open(&one, 1, 0);
    crew_open(&two, 2, 1);
    {
        vector *first = NULL, *second = NULL;
        GC_ROOTS(one.gc, first);
        GC_ROOTS_ARRAY(two.gc, &second, 1, 0);
        first = old_table(one.gc);
        second = old_table(two.gc);
        for (int i = 0; i < 2; i++)
            gc_collect(one.heap, 2, GC_COLLECT_BLOCKING), gc_collect(two.heap, 2, GC_COLLECT_BLOCKING);
        for (size_t count = 128; count <= 16384; count *= 2) {
            for (int round = 0; round < rounds; round++) {
                cards_round(&one, first, count, round);
                cards_round(&two, second, count, round);
            }
            snprintf(what, sizeof what, "young, found by %zu stores into old objects:", count);
            compare(what, &one, &two);
        }
    }
    crew_close(&one);
    crew_close(&two);
}

/* From how much on two threads are faster than one: both, whatever survives. */
static void crossover(void) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        crew one, two;
        crew_open(&one, 1, 0);
        crew_open(&two, 2, 1);
        for (unsigned long size = 32; size <= 8192; size *= 2) {
            unsigned long survive;
            int depth = depth_for(&kinds[k], size, &survive);
            for (int round = 0; round < rounds; round++) {
                young_round(&one, &kinds[k], depth, round);
                young_round(&two, &kinds[k], depth, round);
            }
            char what[64];
            snprintf(what, sizeof what, "young, %lu KiB survive, %s:", survive, kinds[k].name);
            compare(what, &one, &two);
        }
        crew_close(&one);
        crew_close(&two);
    }
    crossover_of_cards();
}

/* Heaps of `bytes` for the share of each phase. */
enum { SMALL, LEAVES, DYING, HANDLES, SLOTS, SHAPES };
static const char *const shape_names[] = {"32-byte objects", "leaves of 4 KiB", "7 of 8 KiB dead",
                                          "a handle for each 1 KiB", "global slots for each 1 KiB"};

static vector *shape(crew *c, int which, size_t bytes, node **slots) {
    vector *all = NULL;
    size_t each = which == SMALL ? 32 : which == LEAVES ? 4096 : 1024, count = bytes / each;
    GC_ROOTS(c->gc, all);
    all = (vector *)gc_new_array(c->gc, &vector_type, count);
    for (size_t i = 0; i < count; i++) {
        size_t length = (each - 16) / 8;
        node *n = which == SMALL ? (node *)gc_new(c->gc, &node_type) : (node *)gc_new_array(c->gc, &leaf_type, length);
        if (which == SLOTS)
            slots[i] = n;
        else if (which != DYING || i % 8 == 0)
            gc_store(c->gc, &all->items[i], n);
        if (which == HANDLES) gc_handle_create(c->heap, (gc_handle_kind)(i % 3), n);
    }
    return all;
}

static void phases(unsigned long size) {
    static const char *const names[] = {
#define NAME(name, text) text,
        GC_PHASES(NAME)};
    size_t bytes = (size_t)size << 20;
    node **slots = (node **)calloc(bytes / 1024, sizeof *slots);
    for (int which = 0; which < SHAPES; which++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            crew c;
            vector *all = NULL;
            crew_open(&c, threads, 0);
            {
                GC_ROOTS(c.gc, all);
                if (which == SLOTS) gc_roots_add(c.heap, slots, bytes / 1024, 0);
                all = shape(&c, which, bytes, slots);
                gc_stats before, after;
                if (which != DYING) gc_collect(c.heap, 2, GC_COLLECT_BLOCKING);
                gc_heap_stats(c.heap, &before);
                int times = which == DYING ? 1 : 5;
                for (int i = 0; i < times; i++) gc_collect(c.heap, 2, GC_COLLECT_BLOCKING);
                gc_heap_stats(c.heap, &after);
                printf("%lu MiB of %s, %u threads, ms:", size, shape_names[which], threads);
                for (int i = 0; i < GC_PHASE_COUNT; i++) {
                    double ms = (double)(after.phase_total_ns[i] - before.phase_total_ns[i]) / 1e6 / times;
                    if (ms > 0.005) printf(" %s %.2f", names[i], ms);
                }
                putchar('\n');
            }
            gc_heap_destroy(c.heap);
        }
    free(slots);
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
    const char *what = argc > 1 ? argv[1] : "";
    unsigned long size = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    only = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(what, kinds[k].command) == 0) return young_collections(&kinds[k], size ? size : 8192), 0;
    if (strcmp(what, "marks") == 0)
        full_marks(size ? size : 128);
    else if (strcmp(what, "list") == 0)
        lists(size ? size : 2000);
    else if (strcmp(what, "crossover") == 0)
        crossover();
    else if (strcmp(what, "phases") == 0)
        phases(size ? size : 1024);
    else if (strcmp(what, "turns") == 0)
        turns();
    else
        return fprintf(stderr, "usage: parallel marks [MIB [THREADS]] | list [THOUSANDS [THREADS]] | "
                               "promoted|young|random [KIB [THREADS]] | crossover | phases [MIB] | turns\n"),
               2;
    return 0;
}
