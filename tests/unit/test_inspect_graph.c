/* The graphs of gc-inspect against the plainest reference there is: the set of objects, the store of references, the shortest
   way, the dominator tree. Random graphs print their seed: `test_inspect_graph SEED` runs that one alone. */
#define _GNU_SOURCE /* as gc-inspect is compiled */
#include "../../tools/inspect/dominators.c"
#include "../../tools/inspect/edges.c"
#include "../../tools/inspect/memory.c"
#include "../../tools/inspect/objects.c"
#include "../../tools/inspect/search.c"

#include "../tap.h"

/* What the tool does where memory ends. */
void output_fail(const char *sentence) {
    printf("Bail out! %s\n", sentence);
    exit(1);
}

#define VERTICES_MAX 60
#define EDGES_MAX 600

static uint64_t state;
static uint32_t below(uint32_t limit) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)((state * UINT64_C(0x2545F4914F6CDD1D)) >> 32) % limit;
}

typedef struct graph {
    uint32_t vertices, edges, starts;
    uint32_t from[EDGES_MAX], to[EDGES_MAX], start[2 * VERTICES_MAX];
} graph;

/* Of one of several shapes: sparse or dense, mostly forward, chains with references back, trees with references up. */
static void make_graph(graph *g, uint64_t seed) {
    state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (int i = 0; i < 4; i++) below(2);
    unsigned shape = below(5);
    g->vertices = 1 + below(VERTICES_MAX);
    g->edges = g->starts = 0;
    uint32_t wanted = shape == 0 ? g->vertices / 2 : below(shape == 1 ? EDGES_MAX : 3 * g->vertices + 1);
    if (shape == 3) /* a chain */
        for (uint32_t v = 0; v + 1 < g->vertices; v++) g->from[g->edges] = v, g->to[g->edges++] = v + 1;
    if (shape == 4) /* a tree whose vertices know their parents */
        for (uint32_t v = 1; v < g->vertices; v++) {
            uint32_t parent = below(v);
            g->from[g->edges] = parent, g->to[g->edges++] = v;
            g->from[g->edges] = v, g->to[g->edges++] = parent;
        }
    while (g->edges < wanted) {
        uint32_t a = below(g->vertices), b = below(g->vertices);
        bool swap = shape == 2 && a > b && below(8);
        g->from[g->edges] = swap ? b : a;
        g->to[g->edges++] = swap ? a : b;
    }
    for (uint32_t count = 1 + below(3); count > 0; count--) g->start[g->starts++] = shape > 2 ? 0 : below(g->vertices);
}

static void walk_graph(void *context, graph_sink *sink, void *to) {
    const graph *g = context;
    for (uint32_t i = 0; i < g->starts; i++) sink(to, GRAPH_ROOT, g->start[i]);
    for (uint32_t i = 0; i < g->edges; i++) sink(to, g->from[i], g->to[i]);
}

static edge_store edges_of_graph(const graph *g) {
    edge_store store = {0};
    for (uint32_t v = 0; v < g->vertices; v++)
        for (uint32_t i = 0; i < g->edges; i++)
            if (g->from[i] == v) edges_add(&store, v, g->to[i]);
    edges_end(&store, g->vertices);
    return store;
}

/* Which vertices are reached without `hole`, and how far they are from a start: UINT32_MAX if they are not. */
static void reach_without(const graph *g, uint32_t hole, uint32_t *distance) {
    memset(distance, 0xFF, VERTICES_MAX * 4);
    for (uint32_t i = 0; i < g->starts; i++)
        if (g->start[i] != hole) distance[g->start[i]] = 0;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < g->edges; i++) {
            uint32_t v = g->from[i], w = g->to[i];
            if (distance[v] == UINT32_MAX || w == hole || distance[w] <= distance[v] + 1) continue;
            distance[w] = distance[v] + 1;
            more = true;
        }
    }
}

/* Whether the tree's dominators of each vertex are exactly those without which it is not reached. `rooted`: the roots of g are
   the only ones; otherwise they are those of lost vertices, too. */
static bool dominators_agree(const graph *g, const dominators *tree, bool rooted) {
    uint32_t all[VERTICES_MAX], without[VERTICES_MAX], object[VERTICES_MAX + 1], reached = 1;
    reach_without(g, UINT32_MAX, all);
    memset(object, 0xFF, sizeof object);
    for (uint32_t v = 0; v < g->vertices; v++) {
        if (tree->number[v] < 1 || tree->number[v] > g->vertices || object[tree->number[v]] != UINT32_MAX) return false;
        object[tree->number[v]] = v;
        reached += all[v] != UINT32_MAX;
        if (rooted && (all[v] == UINT32_MAX) != (tree->number[v] >= tree->rooted)) return false;
    }
    if (rooted && reached != tree->rooted) return false;
    for (uint32_t hole = 0; hole < g->vertices; hole++) {
        if (all[hole] == UINT32_MAX) continue;
        reach_without(g, hole, without);
        for (uint32_t v = 0; v < g->vertices; v++) {
            if (all[v] == UINT32_MAX || v == hole) continue;
            uint32_t n = tree->number[v];
            while (n && object[n] != hole) n = tree->dominator[n];
            if ((without[v] == UINT32_MAX) != (n != 0)) return false;
        }
    }
    for (uint32_t n = 1; n <= g->vertices; n++)
        if (tree->dominator[n] >= n) return false;
    return true;
}

static bool path_agrees(const graph *g, const edge_store *store, uint32_t to, uint32_t distance) {
    search_path path = search_shortest(store, g->vertices, g->start, g->starts, to);
    bool agrees = path.count == (distance == UINT32_MAX ? 0 : distance + 1), starts = false;
    if (path.count) {
        agrees &= path.objects[path.count - 1] == to;
        for (uint32_t i = 0; i < g->starts; i++) starts |= g->start[i] == path.objects[0];
        agrees &= starts;
    }
    for (size_t p = 0; p + 1 < path.count; p++) {
        bool found = false;
        for (uint32_t i = 0; i < g->edges; i++)
            found |= g->from[i] == path.objects[p] && g->to[i] == path.objects[p + 1];
        agrees &= found;
    }
    free(path.objects);
    return agrees;
}

static const uint64_t *referred_bits(const graph *g) {
    static uint64_t bits;
    bits = 0;
    for (uint32_t i = 0; i < g->edges; i++) bits |= (uint64_t)(g->from[i] != g->to[i]) << g->to[i];
    return &bits;
}

/* Makes roots of the lost vertices at which the search began, and takes out their references to others than lost ones: then
   the tree is as if they had been roots from the beginning. */
static void root_lost(graph *g, const dominators *tree) {
    uint32_t distance[VERTICES_MAX];
    reach_without(g, UINT32_MAX, distance);
    for (uint32_t i = 0; i < g->edges; i++)
        if (distance[g->from[i]] == UINT32_MAX && distance[g->to[i]] != UINT32_MAX) g->to[i] = g->from[i];
    for (uint32_t n = tree->rooted; n <= g->vertices; n++)
        for (uint32_t v = 0; v < g->vertices; v++) {
            if (tree->number[v] != n || distance[v] != UINT32_MAX) continue;
            g->start[g->starts++] = v;
            reach_without(g, UINT32_MAX, distance);
        }
}

/* The graph, but the second walk finds more edges or fewer: a program that runs has changed it. */
typedef struct changing {
    graph *g;
    int walks, change;
} changing;
static void walk_changing(void *context, graph_sink *sink, void *to) {
    changing *c = context;
    uint32_t last = c->g->vertices - 1, edges = c->g->edges;
    int change = c->walks++ ? c->change : 0;
    c->g->edges = change < 0 ? edges / 2 : edges;
    walk_graph(c->g, sink, to);
    c->g->edges = edges;
    for (int i = 0; i < change; i++) sink(to, (uint32_t)i % (last + 1), last);
}

/* The tree is of either graph or none, but it is a tree. */
static bool test_changing(uint64_t seed, int change) {
    static graph g;
    make_graph(&g, seed);
    edge_store store = edges_of_graph(&g);
    changing c = {&g, 0, change};
    dominators tree;
    dominators_find(&tree, &store, g.vertices, g.start, g.starts, referred_bits(&g), walk_changing, &c);
    bool above = true;
    for (uint32_t n = 1; n <= g.vertices; n++) above &= tree.dominator[n] < n;
    dominators_free(&tree);
    return above;
}

static bool test_graph(uint64_t seed) {
    static graph g;
    uint32_t distance[VERTICES_MAX];
    make_graph(&g, seed);
    edge_store store = edges_of_graph(&g);
    reach_without(&g, UINT32_MAX, distance);
    for (uint32_t v = 0; v < g.vertices; v++)
        if (!path_agrees(&g, &store, v, distance[v]))
            return diag("path to %u: seed %llu", v, (unsigned long long)seed), false;
    dominators tree;
    dominators_find(&tree, &store, g.vertices, g.start, g.starts, referred_bits(&g), walk_graph, &g);
    bool agree = dominators_agree(&g, &tree, true);
    root_lost(&g, &tree);
    agree &= dominators_agree(&g, &tree, false);
    dominators_free(&tree);
    if (!agree) diag("dominators: seed %llu", (unsigned long long)seed);
    return agree;
}

/* Long chains and wide fans: nothing is recursive. */
enum { LONG = 200000 };
static void walk_long(void *context, graph_sink *sink, void *to) {
    bool back = *(bool *)context;
    sink(to, GRAPH_ROOT, 0);
    for (uint32_t v = 0; v + 1 < LONG; v++) {
        if (v && back) sink(to, v, v - 1);
        sink(to, v, v + 1);
        if (back) sink(to, v, LONG - 1);
    }
}
static void add_edge(void *context, uint32_t from, uint32_t to) {
    if (from != GRAPH_ROOT) edges_add(context, from, to);
}

static void test_long(bool back) {
    edge_store store = {0};
    uint32_t start = 0;
    walk_long(&back, add_edge, &store);
    edges_end(&store, LONG);
    search_path path = search_shortest(&store, LONG, &start, 1, LONG - 1);
    is(path.count, back ? 2 : LONG, "the way to the end of a chain%s", back ? " that all refer to" : "");
    free(path.objects);
    dominators tree;
    static uint64_t referred[LONG / 64 + 1];
    dominators_find(&tree, &store, LONG, &start, 1, referred, walk_long, &back);
    bool right = tree.rooted == LONG + 1 && tree.dominator[tree.number[LONG - 1]] == tree.number[back ? 0 : LONG - 2];
    for (uint32_t v = 1; v + 1 < LONG; v++) right &= tree.dominator[tree.number[v]] == tree.number[v - 1];
    ok(right, "its dominators%s", back ? ", with references back" : "");
    dominators_free(&tree);
}

static void test_objects(void) {
    object_set set = {0};
    static uint64_t addresses[4000];
    uint32_t count = 0;
    state = 42;
    ok(objects_add_range(&set, 0x7000000000, 0x7000010000, false), "a range");
    ok(objects_add_range(&set, 0x1000, 0x1008, false), "a range of one object, below it");
    ok(!objects_add_range(&set, 0x5000, 0x5000, false) && !objects_add_range(&set, 0x5004, 0x5008, false),
       "no bad ones");
    ok(objects_add_range(&set, 0x7000010000, 0x7000020000, false), "a range that touches the first");
    ok(objects_add_range(&set, 0x700000fff8, 0x7000018000, false), "a range that overlaps");
    ok(objects_add_range(&set, 0x8000000000, 0x8000000000 + ((uint64_t)1 << 44), true),
       "a range of one object of 16 TiB");
    is(objects_sort(&set), 1, "the one that overlaps is dropped");
    objects_add(&set, addresses[count++] = 0x1000);
    for (uint64_t at = 0x7000000000; at < 0x7000020000; at += 8 + 8 * below(12)) {
        if (at >= 0x7000004000 && at < 0x7000009000) continue; /* a gap of several ranks */
        objects_add(&set, at);
        addresses[count++] = at;
    }
    ok(!objects_add(&set, 0x8000000008), "a range of one object has no other");
    objects_add(&set, addresses[count++] = 0x8000000000);
    ok(!objects_add(&set, 0x6fffffff8) && !objects_add(&set, 0x7000020000) && !objects_add(&set, 0x7000000004),
       "an address outside, or not a multiple of 8, is refused");
    objects_number(&set);
    is(set.objects, count, "they are counted");
    bool right = true;
    for (uint32_t i = 0; i < count; i++) {
        right &= objects_find(&set, addresses[i]) == i && objects_address(&set, i) == addresses[i];
        right &= objects_before(&set, addresses[i] + 7) == i;
    }
    ok(right, "number and address follow from one another");
    for (uint64_t at = 0x7000000000, i = 1; at < 0x7000020000; at += 8) {
        while (i < count && addresses[i] < at) i++;
        right &= objects_find(&set, at) == (i < count && addresses[i] == at ? i : OBJECT_NONE);
    }
    ok(right, "no other address has a number");
    is(objects_find(&set, 0x1004), OBJECT_NONE, "an address within an object has none");
    is(objects_before(&set, 0x0ff8), OBJECT_NONE, "no object is before the first range");
    objects_free(&set);
    ok(objects_find(&set, 0x1000) == OBJECT_NONE, "an empty set has no object");
}

static void test_edges(void) {
    static const uint32_t to[] = {0, 2, 64, 65, 127, 128, 129, 8191, 8192, 16384, 1 << 20, 1 << 27, UINT32_MAX - 2};
    edge_store store = {0};
    bool right = true;
    for (uint32_t from = 1; from < 200; from += from < 100 ? 1 : 50)
        for (size_t i = 0; i < sizeof to / sizeof *to; i++) edges_add(&store, from, to[i]);
    edges_end(&store, 1000);
    for (uint32_t from = 0; from < 1000; from++) {
        uint64_t at = edges_of(&store, from);
        if (from > 0 && (from <= 100 || from == 150))
            for (size_t i = 0; i < sizeof to / sizeof *to; i++)
                if (to[i] != from) right &= edges_next(&store, from, &at) == to[i];
        right &= edges_next(&store, from, &at) == OBJECT_NONE;
    }
    ok(right, "references of all distances");
    edges_free(&store);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        ok(test_graph(strtoull(argv[1], NULL, 10)), "seed %s", argv[1]);
        return done();
    }
    test_objects();
    test_edges();
    bool all = true;
    uint64_t first = 1, seed = first;
    for (; all && seed < first + 4000; seed++) all = test_graph(seed);
    ok(all, "%llu random graphs from seed %llu", (unsigned long long)(seed - first), (unsigned long long)first);
    for (seed = first, all = true; all && seed < first + 1000; seed++) all = test_changing(seed, seed % 2 ? -1 : 100);
    ok(all, "graphs that change between two walks");
    test_long(false);
    test_long(true);
    return done();
}
