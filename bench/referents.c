/* The longest pauses of a heap that marks beside the program, where a million objects have something besides references that
   lead to them: handles of each kind, finalizers, entries of weak tables. Some die before each cycle, and are made anew after
   it, when handles and tables know. Tab-separated.
   `referents [KINDS] [COUNT] [DEAD]`: of each of the kinds, comma-separated ("all"); how many; how many of 1,000 die. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BALLAST = 500000, CYCLES = 5 };

typedef struct node {
    gc_object header;
    uint64_t value[5];
} node;
typedef struct vector {
    gc_array header;
    void *items[];
} vector;
static const gc_type node_type = GC_TYPE_LEAF(node);
static const gc_type vector_type = GC_TYPE_ARRAY(vector, items);
static const gc_type weak_vector_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);
typedef struct pair {
    void *key, *value;
} pair;
typedef struct pairs {
    gc_array header;
    pair items[];
} pairs;
static const gc_type ephemerons_type = GC_TYPE_ARRAY_TRACED(pairs, items, gc_trace_ephemerons);

/* DUE: finalizers of objects that have died, which nobody runs. ROOT_TABLE: a weak table of the host's. */
typedef enum kind {
    NOTHING,
    STRONG,
    WEAK,
    WEAK_LONG,
    PINNED,
    DEPENDENT,
    HELD,
    FINALIZERS,
    DUE,
    WEAK_ARRAY,
    EPHEMERONS,
    ROOT_TABLE,
    KINDS
} kind;
static const struct {
    const char *name;
    gc_handle_kind handle;
} kinds[KINDS] = {{"nothing", 0},
                  {"strong", GC_HANDLE_STRONG},
                  {"weak", GC_HANDLE_WEAK},
                  {"weak-long", GC_HANDLE_WEAK_LONG},
                  {"pinned", GC_HANDLE_PINNED},
                  {"dependent", GC_HANDLE_DEPENDENT},
                  {"held", GC_HANDLE_REF_COUNTED},
                  {"finalizers", 0},
                  {"due", 0},
                  {"weak-array", 0},
                  {"ephemerons", 0},
                  {"root-table", 0}};

static gc_heap *heap;
static gc_thread *gc;
static kind measured;
static size_t count = 1000000, dead = 10, finalized;
static uint64_t numbers = 88172645463325252u;
static gc_handle *handles;
static void **table; /* of the host's, for ROOT_TABLE */

static uint64_t number(void) {
    numbers ^= numbers << 13;
    numbers ^= numbers >> 7;
    return numbers ^= numbers << 17;
}

static void finalize(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    finalized++;
}
static const gc_finalizer finalizer = {finalize, false, NULL};

static bool is_held(void *host, gc_handle handle, void *object, void *word) {
    (void)host, (void)handle, (void)object;
    return word != NULL;
}

static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread;
    gc_weak_entries entries = {.keys = table, .count = table ? count : 0};
    gc_visit_weak(visitor, &entries);
}

static void *checked(void *made) {
    if (made) return made;
    fprintf(stderr, "referents: %s\n", gc_last_message());
    exit(1);
}

/* The i-th object is another one from now on. Handles of the former one are destroyed. */
static void replace(vector *objects, void *weak, size_t i) {
    GC_ROOTS(gc, objects, weak);
    node *object = checked(gc_new(gc, &node_type)), *other = NULL;
    GC_ROOTS(gc, object, other);
    if (measured == DEPENDENT || measured == EPHEMERONS) other = checked(gc_new(gc, &node_type));
    gc_store(gc, &objects->items[i], object);
    if (handles) {
        if (handles[i]) gc_handle_destroy(heap, handles[i]);
        handles[i] = checked(other ? gc_handle_create_dependent(heap, object, other)
                                   : gc_handle_create(heap, kinds[measured].handle, object));
        if (measured == HELD) gc_handle_set_host_word(handles[i], &numbers);
    }
    if (measured == FINALIZERS || measured == DUE) gc_finalizer_register(gc, object, &finalizer);
    if (measured == WEAK_ARRAY) gc_store(gc, &((vector *)weak)->items[i], object);
    if (measured == ROOT_TABLE) table[i] = object;
    if (measured != EPHEMERONS) return;
    gc_store(gc, &((pairs *)weak)->items[i].key, object);
    gc_store(gc, &((pairs *)weak)->items[i].value, other);
}

/* The pauses of a kind, in us of CPU time as far as that is known. */
typedef struct pauses {
    double us[1024], phase_us[3]; /* of the longest: gathering roots, handles and weak tables, finalizers */
    size_t count;
    char why[300];
} pauses;
static pauses ends, others;

static int by_length(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void note(pauses *all, const gc_pause *pause) {
    double us = (double)(pause->cpu_ns ? pause->cpu_ns : pause->ns) / 1e3;
    const gc_phase phases[3] = {GC_PHASE_ROOTS, GC_PHASE_HANDLES, GC_PHASE_FINALIZERS};
    bool longest = true;
    for (size_t i = 0; i < all->count; i++) longest &= us > all->us[i];
    if (all->count < 1024) all->us[all->count++] = us;
    if (!longest) return;
    for (int i = 0; i < 3; i++) all->phase_us[i] = (double)pause->phase_ns[phases[i]] / 1e3;
    gc_pause_explain(pause, all->why, sizeof all->why);
}

static void take_pauses(bool notes) {
    gc_pause pauses[GC_PAUSES_KEPT];
    size_t kept = gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true);
    for (size_t i = 0; notes && i < kept; i++) note(pauses[i].concurrent ? &ends : &others, &pauses[i]);
}

/* Makes anew what has died. */
static void revive(vector *objects, void *weak) {
    GC_ROOTS(gc, objects, weak);
    for (size_t i = 0; i < count; i++)
        if (!objects->items[i]) replace(objects, weak, i);
}

/* So many objects become garbage that CYCLES markings begin and end. */
static void churn(vector *objects, void *weak) {
    vector *ballast = checked(gc_new_array(gc, &vector_type, BALLAST));
    GC_ROOTS(gc, objects, weak, ballast);
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    uint64_t first = stats.concurrent_finished, last = first;
    for (size_t i = 0; i < (size_t)100 * BALLAST; i++) {
        node *next = checked(gc_new(gc, &node_type));
        gc_store(gc, &ballast->items[i % BALLAST], next);
        if (i % 4096) continue;
        if (measured == FINALIZERS) gc_finalizer_run(gc, SIZE_MAX);
        gc_heap_stats(heap, &stats);
        take_pauses(last > first); /* the first cycle may not be a whole one */
        if (i && stats.concurrent_finished == last) continue;
        if ((last = stats.concurrent_finished) > first + CYCLES) return;
        if (measured != DUE) revive(objects, weak);
        for (size_t k = 0; k < count * dead / 1000; k++) gc_store(gc, &objects->items[number() % count], NULL);
    }
}

static void print(pauses *all) {
    double longest = 0;
    qsort(all->us, all->count, sizeof *all->us, by_length);
    if (all->count) longest = all->us[all->count - 1];
    printf("\t%zu\t%.0f\t%.0f", all->count, all->count ? all->us[all->count / 2] : 0, longest);
    for (int i = 0; i < 3; i++) printf("\t%.0f", all->phase_us[i]);
    printf("\t%s", all->why);
    memset(all, 0, sizeof *all);
}

static void report(void) {
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    printf("%s", kinds[measured].name);
    print(&ends), print(&others);
    printf("\t%llu\n", (unsigned long long)stats.collections[2]);
    fflush(stdout);
}

static void measure(void) {
    vector *objects = NULL;
    void *weak = NULL;
    heap = checked(gc_heap_create(&(gc_options){.pause_goal_us = 1000,
                                                .concurrent = GC_CONCURRENT_ON,
                                                .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT,
                                                .handle_is_held = is_held,
                                                .scan_roots = scan_roots,
                                                .skip_finalizers_at_end = true}));
    gc = checked(gc_thread_attach(heap));
    GC_ROOTS(gc, objects, weak);
    objects = checked(gc_new_array(gc, &vector_type, count));
    if (measured == WEAK_ARRAY) weak = checked(gc_new_array(gc, &weak_vector_type, count));
    if (measured == EPHEMERONS) weak = checked(gc_new_array(gc, &ephemerons_type, count));
    handles = measured >= STRONG && measured <= HELD ? calloc(count, sizeof *handles) : NULL;
    table = measured == ROOT_TABLE ? calloc(count, sizeof *table) : NULL;
    for (size_t i = 0; i < count; i++) replace(objects, weak, i);
    if (measured == DUE) memset(objects->items, 0, count * sizeof *objects->items);
    gc_collect(heap, 2, 0);
    churn(objects, weak);
    report();
    gc_heap_destroy(heap);
    free(handles), free(table);
    handles = NULL, table = NULL;
}

int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : "all";
    if (argc > 2) count = strtoull(argv[2], NULL, 0);
    if (argc > 3) dead = strtoull(argv[3], NULL, 0);
    for (int i = 0; i < 2; i++) printf("%s\tmedian_us\tmost_us\troots\thandles\tfinalizers\twhy\t", i ? "others" : "kind\tends");
    printf("full\n");
    for (measured = NOTHING; measured < KINDS; measured++) {
        const char *at = strstr(wanted, kinds[measured].name);
        size_t length = strlen(kinds[measured].name);
        while (at && ((at > wanted && at[-1] != ',') || (at[length] && at[length] != ','))) at = strstr(at + 1, kinds[measured].name);
        if (at || !strcmp(wanted, "all")) measure();
    }
    return 0;
}
