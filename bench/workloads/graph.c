/* A mutating graph: N vertices, each with a list of edges. M times a random vertex gets an edge to another one; a list that
   has grown to 8 edges loses the older half. */
#include "workload.h"

#include <inttypes.h>

enum { EDGES_MAX = 8 };

typedef struct vertex {
    MM_HEADER
    struct edge *edges;
    uint64_t id, degree;
} vertex;
MM_TYPE(vertex, edges);

typedef struct edge {
    MM_HEADER
    struct edge *next;
    vertex *to;
} edge;
MM_TYPE(edge, next, to);

static void free_edges(mm *mm, edge *e) {
    while (MM_MANUAL && e) {
        edge *next = e->next;
        mm_free(mm, e);
        e = next;
    }
}

static void add_edge(mm *mm, mm_refs **graph, uint64_t from, uint64_t to) {
    edge *e = MM_NEW(mm, edge);
    vertex *v = mm_refs_at(*graph)[from];
    e->next = v->edges;
    e->to = mm_refs_at(*graph)[to];
    MM_STORE(mm, &v->edges, e);
    if (++v->degree < EDGES_MAX) return;
    for (v->degree = 1; v->degree < EDGES_MAX / 2; v->degree++) e = e->next;
    free_edges(mm, e->next);
    MM_STORE(mm, &e->next, NULL);
}

static uint64_t checksum(mm_refs *graph, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const vertex *v = mm_refs_at(graph)[i];
        for (const edge *e = v->edges; e; e = e->next) sum = sum * 31 + e->to->id + v->id;
    }
    return sum;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    uint64_t n = args[0], m = args[1], state = RANDOM_SEED;
    mm_refs *graph = NULL;
    MM_ROOTS(mm, graph);
    graph = mm_new_refs(mm, n);
    for (uint64_t i = 0; i < n; i++) {
        vertex *v = MM_NEW(mm, vertex);
        MM_CLEAR(&v->edges);
        v->id = i;
        v->degree = 0;
        MM_STORE(mm, &mm_refs_at(graph)[i], v);
        step();
    }
    for (uint64_t i = 0; i < m; i++) {
        uint64_t x = next_random(&state);
        add_edge(mm, &graph, x % n, (x >> 32) % n);
        step();
    }
    set_check(result, "%016" PRIx64, checksum(graph, n));
    say(result, "graph checksum %s\n", result->check);
    for (uint64_t i = 0; MM_MANUAL && i < n; i++) {
        free_edges(mm, ((vertex *)mm_refs_at(graph)[i])->edges);
        mm_free(mm, mm_refs_at(graph)[i]);
    }
    mm_free(mm, graph);
}

const workload graph_workload = {"graph", {{"N", 1, UINT64_C(1) << 32, 0}, {"M", 0, UINT64_C(1) << 48, 0}}, run};
