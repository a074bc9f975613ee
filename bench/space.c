/* Programs that fill most of the memory that they are given, for bench/space.pl.
       space WORKLOAD [LIMIT_BYTES]
   One line: what lives at most, by the program's own account, the limit, "ok" or "full", CPU seconds, what the heap held at most,
   peak RSS, the collections by generation; bytes throughout. */
#define GC_IMPLEMENTATION
#include "objects.h"
#include "gc_handles.h"

#include <pthread.h>
#include <sys/resource.h>

typedef struct quad {
    gc_object header;
    struct quad *parts[4];
} quad;
static const gc_type quad_type = GC_TYPE_WITH(quad, refs(parts[0], parts[1], parts[2], parts[3]));

/* What a table is filled with. */
typedef struct mix {
    size_t least, most; /* bytes of objects; every size is as probable as any other */
    size_t live;        /* bytes that live, more or less */
    size_t pin_every;   /* one in so many objects is pinned while it is in the table; 0: none */
    size_t keep_every;  /* one in so many new objects gets into the table */
    size_t rounds;      /* how often an object is replaced, on average */
    size_t large_every; /* one in so many objects is of 100 kB to 1 MB; 0: none */
} mix;

static gc_heap *heap;
static size_t live_peak;

typedef struct source {
    uint64_t x;
    size_t live;
} source;

static size_t draw(source *s, size_t below) {
    return next_random(&s->x) % below;
}

static void count(source *s, size_t more, size_t less) {
    size_t before = s->live;
    s->live += more - less;
    if (s->live > before) {
        size_t most = __atomic_load_n(&live_peak, __ATOMIC_RELAXED);
        if (s->live > most) __atomic_store_n(&live_peak, s->live, __ATOMIC_RELAXED);
    }
}

static size_t aligned(size_t n) { return (n + 7) & ~(size_t)7; }

/* Fills a table, and replaces what is in it. */
static bool replace(gc_thread *gc, const mix *m, source *s) {
    size_t n = m->live / ((m->least + m->most) / 2 + 8), made = 0;
    if (m->large_every) n = m->live / ((m->least + m->most) / 2 + 550000 / m->large_every);
    table *all = gc_new_array(gc, &table_type, n);
    gc_handle *pins = calloc(n, sizeof *pins);
    bool fits = all && pins;
    GC_ROOTS(gc, all);
    count(s, 16 + 8 * n, 0);
    for (size_t i = 0; fits && i < n + m->rounds * n * m->keep_every; i++) {
        size_t size = m->least + draw(s, m->most - m->least + 1);
        if (m->large_every && draw(s, m->large_every) == 0) size = 100000 + draw(s, 900000);
        bytes *b = gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
        fits = b != NULL;
        if (!b) break;
        b->items[0] = 1;
        if (i >= n && i % m->keep_every) continue;
        size_t at = i < n ? i : draw(s, n);
        if (pins[at]) gc_handle_destroy(heap, pins[at]), pins[at] = NULL;
        size_t less = all->items[at] ? gc_object_bytes(all->items[at]) : 0;
        gc_store(gc, &all->items[at], b);
        count(s, aligned(size), less);
        if (m->pin_every && ++made % m->pin_every == 0) pins[at] = gc_handle_create(heap, GC_HANDLE_PINNED, b);
    }
    for (size_t at = 0; pins && at < n; at++)
        if (pins[at]) gc_handle_destroy(heap, pins[at]);
    free(pins);
    return fits;
}

static quad *quad_tree(gc_thread *gc, int depth) {
    quad *q = gc_new(gc, &quad_type);
    GC_ROOTS(gc, q);
    for (int i = 0; q && depth && i < 4; i++) {
        quad *part = quad_tree(gc, depth - 1);
        if (!part) return NULL;
        gc_store(gc, &q->parts[i], part);
    }
    return q;
}

static size_t quad_count(int depth) { return depth ? 1 + 4 * quad_count(depth - 1) : 1; }

/* A quad tree in which subtrees of four levels are replaced. */
static bool quads(gc_thread *gc, int depth, size_t rounds, source *s) {
    enum { LEVELS = 4 };
    quad *top = quad_tree(gc, depth), *at = top;
    GC_ROOTS(gc, top, at);
    count(s, quad_count(depth) * sizeof(quad), 0);
    for (size_t i = 0; top && i < rounds << 2 * (depth - LEVELS); i++) {
        at = top;
        for (int level = depth; level > LEVELS + 1; level--) at = at->parts[draw(s, 4)];
        quad *part = quad_tree(gc, LEVELS);
        if (!part) return false;
        gc_store(gc, &at->parts[draw(s, 4)], part);
    }
    count(s, quad_count(LEVELS) * sizeof(quad), 0); /* a subtree and what replaces it */
    return top != NULL;
}

#define MB ((size_t)1000000)
static const mix with_512[] = {{512, 512, 50 * MB, 0, 3, 4, 0}, {512, 512, 50 * MB, 1000, 3, 4, 0}, {512, 512, 50 * MB, 100, 3, 4, 0}};
static const mix large = {100000, 2 * MB, 100 * MB, 0, 1, 10, 0};
static const mix in_place = {24, 2000, 30 * MB, 0, 3, 4, 0};
static const mix unlimited = {512, 512, 10 * MB, 0, 30, 7, 0};
static const mix half = {24, 2000, 15 * MB, 1000, 3, 4, 1000};

static bool run_plain(gc_thread *gc, source *s) { return replace(gc, &with_512[0], s); }
static bool run_pinned_1000(gc_thread *gc, source *s) { return replace(gc, &with_512[1], s); }
static bool run_pinned_100(gc_thread *gc, source *s) { return replace(gc, &with_512[2], s); }
static bool run_large(gc_thread *gc, source *s) { return replace(gc, &large, s); }
static bool run_in_place(gc_thread *gc, source *s) { return replace(gc, &in_place, s); }
static bool run_unlimited(gc_thread *gc, source *s) { return replace(gc, &unlimited, s); }
static bool run_quads(gc_thread *gc, source *s) { return quads(gc, 10, 4, s); }
static bool run_half(gc_thread *gc, source *s) {
    quad *tree = quad_tree(gc, 8);
    GC_ROOTS(gc, tree);
    count(s, quad_count(8) * sizeof(quad), 0);
    return tree && replace(gc, &half, s);
}

static void *second(void *unused) {
    (void)unused;
    gc_thread *gc = gc_thread_attach(heap);
    source s = {UINT64_C(0x9E3779B97F4A7C15), 0};
    bool ok = gc && run_half(gc, &s);
    gc_thread_detach(gc);
    return ok ? heap : NULL;
}

/* A quad tree, small objects some of which are pinned, and large ones; by two threads. */
static bool run_mixed(gc_thread *gc, source *s) {
    pthread_t thread;
    void *ok = NULL;
    if (pthread_create(&thread, NULL, second, NULL) != 0) return false;
    bool mine = run_half(gc, s);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, &ok);
    }
    live_peak *= 2;
    return mine && ok;
}

static const struct {
    const char *name;
    bool (*run)(gc_thread *gc, source *s);
    bool non_moving;
} workloads[] = {{"random", run_plain, false},       {"random-pinned-1000", run_pinned_1000, false},
                 {"random-pinned-100", run_pinned_100, false}, {"quads", run_quads, false},
                 {"large", run_large, false},        {"mixed", run_mixed, false},
                 {"non-moving", run_in_place, true}, {"non-moving-unlimited", run_unlimited, true}};

static double cpu_s(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
    size_t limit = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, i = 0, all = sizeof workloads / sizeof *workloads;
    while (argc > 1 && i < all && strcmp(workloads[i].name, argv[1]) != 0) i++;
    if (argc < 2 || i == all) {
        fputs("usage: space WORKLOAD [LIMIT_BYTES]\nworkloads:", stderr);
        for (i = 0; i < all; i++) fprintf(stderr, " %s", workloads[i].name);
        fputc('\n', stderr);
        return 2;
    }
    heap = gc_heap_create(&(gc_options){.heap_bytes_max = limit, .non_moving = workloads[i].non_moving});
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) return fprintf(stderr, "space: %s\n", gc_last_message()), 1;
    source s = {RANDOM_SEED, 0};
    bool ok = workloads[i].run(gc, &s);
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    printf("%zu\t%zu\t%s\t%.3f\t%zu\t%zu\t%llu+%llu+%llu\n", live_peak, limit, ok ? "ok" : "full", cpu_s(), stats.committed_bytes_peak,
           status_bytes("VmHWM:"), (unsigned long long)stats.collections[0], (unsigned long long)stats.collections[1],
           (unsigned long long)stats.collections[2]);
    return 0;
}
