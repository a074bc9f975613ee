#include "dominators.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

/* A row of bits that is written once, and then read from either end. */
typedef struct bit_row {
    uint64_t *words;
    uint64_t count;
    size_t capacity;
} bit_row;

static void bits_put(bit_row *bits, bool bit) {
    size_t word = (size_t)(bits->count / 64);
    if (bits->count % 64 == 0) {
        bits->words = memory_grow(bits->words, word, &bits->capacity, 8, "bits");
        bits->words[word] = 0;
    }
    bits->words[word] |= (uint64_t)bit << bits->count++ % 64;
}
static bool bits_get(const bit_row *bits, uint64_t at) { return bits->words[at / 64] >> at % 64 & 1; }

/* Semi-NCA's state. Where an array has two names, the second is what it holds from phase `dominate` on, or the first until
   phase `link`. All are indexed by number, but `number`. */
typedef struct semi_nca {
    uint32_t *number;
    uint32_t reached, rooted;
    uint32_t *parent; /* in the search's tree; then the ancestor that compression leaves; then the dominator */
    uint32_t *offset; /* in `before`; then the least semidominator on the way to the ancestor; then a stack */
    uint32_t
        *before; /* the numbers that refer to each number, but its parent. After a number's semidominator is known, that
                         takes the place of the first of them; where there is none it is the parent */
    uint64_t before_count;
    bit_row degrees; /* of each number from 1 on: as many 1s as it has entries in `before`, and a 0 */
    bit_row
        closes; /* of each number from 1 on: as many 1s as the search has left numbers before it came there, and a 0 */
} semi_nca;

/* Depth first search. */

typedef struct place {
    uint32_t object;
    uint32_t at; /* its next reference, relative to where the object's block begins */
} place;

typedef struct depth_search {
    semi_nca *finder;
    const edge_store *edges;
    size_t parents_capacity;
    place *stack; /* objects that have references left, for which the search comes back */
    size_t depth, capacity;
} depth_search;

static void reach(depth_search *search, uint32_t object, uint32_t parent) {
    semi_nca *finder = search->finder;
    finder->parent =
        memory_grow(finder->parent, finder->reached, &search->parents_capacity, sizeof *finder->parent, "parents");
    finder->parent[finder->reached] = parent;
    finder->number[object] = finder->reached++;
    uint64_t at = edges_of(search->edges, object), first = search->edges->blocks[object / EDGES_BLOCK];
    if (!search->edges->bytes[at]) return; /* it has no references */
    if (at - first > UINT32_MAX) die("an object has references of more than 4 GiB");
    search->stack =
        memory_grow(search->stack, search->depth, &search->capacity, sizeof *search->stack, "the search's stack");
    search->stack[search->depth++] = (place){object, (uint32_t)(at - first)};
}

/* Goes on with the references of the object on top of the stack, until one leads to an object that was not reached before. */
static void step(depth_search *search) {
    place *top = &search->stack[search->depth - 1];
    const edge_store *edges = search->edges;
    uint32_t object = top->object, to;
    uint64_t first = edges->blocks[object / EDGES_BLOCK], at = first + top->at;
    while ((to = edges_next(edges, object, &at)) != OBJECT_NONE)
        if (search->finder->number[to] == OBJECT_NONE) break;
    if (at - first > UINT32_MAX) die("an object has references of more than 4 GiB");
    top->at = (uint32_t)(at - first);
    if (to == OBJECT_NONE || !edges->bytes[at]) search->depth--; /* so the stack of a list does not grow */
    if (to != OBJECT_NONE) reach(search, to, search->finder->number[object]);
}

static void search_from(depth_search *search, uint32_t start) {
    if (search->finder->number[start] == OBJECT_NONE) reach(search, start, 0);
    while (search->depth) step(search);
}

static void number_objects(semi_nca *finder, const edge_store *edges, uint32_t objects, const uint32_t *starts,
                           size_t count, const uint64_t *referred) {
    depth_search search = {.finder = finder, .edges = edges};
    finder->number = memory_take(objects, 4, "numbers");
    memset(finder->number, 0xFF, (size_t)objects * 4);
    finder->parent = memory_grow(NULL, 0, &search.parents_capacity, 4, "parents");
    finder->parent[0] = 0;
    finder->reached = 1;
    for (size_t i = 0; i < count; i++) search_from(&search, starts[i]);
    finder->rooted = finder->reached;
    for (uint32_t i = 0; i < objects; i++)
        if (!(referred[i / 64] >> i % 64 & 1)) search_from(&search, i);
    for (uint32_t i = 0; i < objects; i++) search_from(&search, i);
    free(search.stack);
    finder->parent = memory_cut(finder->parent, finder->reached, 4);
}

/* Predecessors. */

/* The number from which a reference comes that is not the search's own; OBJECT_NONE: it may be ignored. What is lost keeps
   nothing that is not. */
static inline uint32_t other_way(const semi_nca *finder, uint32_t from, uint32_t to) {
    uint32_t holder = from == GRAPH_ROOT ? 0 : finder->number[from], held = finder->number[to];
    bool lost = holder >= finder->rooted && held < finder->rooted;
    return lost || holder == held || holder == finder->parent[held] ? OBJECT_NONE : holder;
}

/* References wait here while the memory is fetched that they need: they lead everywhere, and one alone would wait for it. */
enum { BATCH = 64 };
typedef struct edge_batch {
    semi_nca *finder;
    bool filling; /* else counting */
    unsigned count;
    uint32_t from[BATCH], to[BATCH];
} edge_batch;

static void finish_batch(edge_batch *batch) {
    semi_nca *finder = batch->finder;
    for (unsigned i = 0; i < batch->count; i++) {
        uint32_t held = finder->number[batch->to[i]];
        __builtin_prefetch(&finder->parent[held]);
        __builtin_prefetch(&finder->offset[held], 1);
    }
    for (unsigned i = 0; i < batch->count; i++) {
        uint32_t holder = other_way(finder, batch->from[i], batch->to[i]), held = finder->number[batch->to[i]];
        if (holder == OBJECT_NONE) continue;
        uint32_t at = finder->offset[held]++;
        if (batch->filling && at < finder->before_count) finder->before[at] = holder; /* a program that runs may have made it */
    }
    batch->count = 0;
}

static void add_to_batch(void *context, uint32_t from, uint32_t to) {
    edge_batch *batch = context;
    __builtin_prefetch(&batch->finder->number[to]);
    batch->from[batch->count] = from;
    batch->to[batch->count++] = to;
    if (batch->count == BATCH) finish_batch(batch);
}

static void list_before(semi_nca *finder, graph_walk *walk, void *graph) {
    finder->offset = memory_zeroed(finder->reached, 4, "predecessors");
    edge_batch batch = {.finder = finder};
    walk(graph, add_to_batch, &batch);
    finish_batch(&batch);
    for (uint32_t n = 1; n < finder->reached; n++) {
        uint32_t degree = finder->offset[n];
        finder->offset[n] = (uint32_t)finder->before_count;
        finder->before_count += degree;
        for (; degree; degree--) bits_put(&finder->degrees, true);
        bits_put(&finder->degrees, false);
    }
    if (finder->before_count > UINT32_MAX) die("the heap has more than %u references, which is too many", UINT32_MAX);
    finder->before = memory_zeroed((size_t)finder->before_count, 4, "predecessors"); /* those that are gone: the root */
    batch.filling = true;
    walk(graph, add_to_batch, &batch);
    finish_batch(&batch);
}

/* Parents will be overwritten; this row of bits is enough to find them again in ascending order. */
static void note_closes(semi_nca *finder) {
    for (uint32_t n = 1; n < finder->reached; n++) {
        for (uint32_t left = n - 1; left != finder->parent[n]; left = finder->parent[left])
            bits_put(&finder->closes, true);
        bits_put(&finder->closes, false);
    }
}

/* Semidominators. */

/* The least semidominator of `n` and those above it that are linked, which all have a number above `least`. The way up is
   walked with its links reversed, and down again, so that it needs no stack. */
static uint32_t evaluate(uint32_t *ancestor, uint32_t *best, uint32_t n, uint32_t least) {
    uint32_t below = OBJECT_NONE, at = n;
    if (ancestor[n] <= least) return best[n];
    while (ancestor[at] > least) {
        uint32_t above = ancestor[at];
        ancestor[at] = below;
        below = at;
        at = above;
    }
    uint32_t root = ancestor[at], lowest = best[at];
    while (below != OBJECT_NONE) {
        uint32_t next = ancestor[below];
        ancestor[below] = root;
        if (best[below] < lowest) lowest = best[below];
        best[below] = lowest;
        below = next;
    }
    return best[n];
}

static void find_semidominators(semi_nca *finder) {
    uint32_t *ancestor = finder->parent, *best = finder->offset, *before = finder->before;
    uint64_t bit = finder->degrees.count, end = finder->before_count;
    for (uint32_t n = finder->reached; n-- > 1;) {
        uint32_t semi = ancestor[n]; /* not compressed yet: its parent */
        uint64_t first = end;
        bit--;
        for (; bit > 0 && bits_get(&finder->degrees, bit - 1); bit--) {
            uint32_t from = before[--first], least = from <= n ? from : evaluate(ancestor, best, from, n);
            if (least < semi) semi = least;
        }
        if (first < end) before[first] = semi;
        best[n] = semi;
        end = first;
    }
}

/* Dominators: `dominator` overwrites what compression left. `open` is the way from the root to the number before. */
static void find_dominators(semi_nca *finder) {
    uint32_t *dominator = finder->parent, *open = finder->offset;
    uint64_t degree_bit = 0, close_bit = 0, first = 0, depth = 1;
    dominator[0] = open[0] = 0;
    for (uint32_t n = 1; n < finder->reached; n++) {
        while (bits_get(&finder->closes, close_bit++)) depth--;
        uint32_t above = open[depth - 1], semi = above;
        uint64_t degree = 0;
        while (bits_get(&finder->degrees, degree_bit++)) degree++;
        if (degree) semi = finder->before[first];
        first += degree;
        open[depth++] = n;
        while (above > semi) above = dominator[above];
        dominator[n] = above;
    }
}

void dominators_find(dominators *tree, edge_store *edges, uint32_t objects, const uint32_t *starts, size_t starts_count,
                     const uint64_t *referred, graph_walk *walk, void *graph) {
    semi_nca finder = {0};
    number_objects(&finder, edges, objects, starts, starts_count, referred);
    edges_free(edges);
    list_before(&finder, walk, graph);
    note_closes(&finder);
    find_semidominators(&finder);
    find_dominators(&finder);
    free(finder.offset), free(finder.before), free(finder.degrees.words), free(finder.closes.words);
    *tree = (dominators){objects, finder.rooted, finder.number, finder.parent};
}

void dominators_free(dominators *tree) {
    free(tree->number), free(tree->dominator);
    memset(tree, 0, sizeof *tree);
}
