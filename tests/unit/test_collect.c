/* Collections: ages, survival, death, modes, hooks, deep and wide graphs, several heaps. */
#include "../fixture.h"

#include <pthread.h>

static void ages(void) {
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    is(gc_object_generation(a), 0, "born in generation 0");
    gc_collect(heap, 0, 0);
    is(gc_object_generation(a), 1, "a survivor of generation 0 goes to 1");
    gc_collect(heap, 0, 0);
    is(gc_object_generation(a), 1, "generation 1 is left alone by a collection of 0");
    gc_collect(heap, 1, 0);
    is(gc_object_generation(a), 2, "a survivor of generation 1 goes to 2");
    node *b = new_node(2);
    GC_ROOTS(gc, b);
    full();
    is(gc_object_generation(a), 2, "2 is the last");
    is(gc_object_generation(b), 1, "a full collection promotes by one, too");
    static node outside;
    is(gc_object_generation(&outside), GC_GENERATIONS, "outside is no generation");
    is(gc_object_generation(NULL), GC_GENERATIONS, "nor is NULL");
}

static void death(void) {
    gc_handle weak[3];
    vector *keep = new_vector(3);
    GC_ROOTS(gc, keep);
    for (int i = 2; i >= 0; i--) {
        node *n = new_node((uint64_t)i);
        gc_store(gc, &keep->items[i], n);
        n = NULL;
        GC_ROOTS(gc, n);
        n = keep->items[i];
        age(&n, i);
        weak[i] = gc_handle_create(heap, GC_HANDLE_WEAK, keep->items[i]);
    }
    for (int i = 0; i < 3; i++) gc_store(gc, &keep->items[i], NULL);
    int ages_now[3] = {0};
    for (int i = 0; i < 3; i++) ages_now[i] = gc_object_generation(gc_handle_get(weak[i]));
    gc_collect(heap, 0, 0);
    for (int i = 0; i < 3; i++) is(gc_handle_get(weak[i]) == NULL, ages_now[i] == 0, "collecting 0: an object of %d", ages_now[i]);
    gc_collect(heap, 1, 0);
    for (int i = 0; i < 3; i++) is(gc_handle_get(weak[i]) == NULL, ages_now[i] <= 1, "collecting 1: an object of %d", ages_now[i]);
    gc_collect(heap, 2, 0);
    for (int i = 0; i < 3; i++) ok(!gc_handle_get(weak[i]), "collecting 2: an object of %d", ages_now[i]);

    node *a = new_node(1), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = new_node(2);
    gc_store(gc, &a->left, b), gc_store(gc, &b->left, a), gc_store(gc, &a->right, a);
    gc_handle cycle = gc_handle_create(heap, GC_HANDLE_WEAK, a);
    age(&a, 2);
    a = b = NULL;
    full();
    ok(!gc_handle_get(cycle), "cycles die");
}

/* A random graph, mutated and collected at random; every object knows its own number, the model its edges. */
static void churn(void) {
    enum { NODES = 3000 };
    static int left[NODES], right[NODES];
    vector *all = new_vector(NODES);
    GC_ROOTS(gc, all);
    for (int i = 0; i < NODES; i++) {
        node *n = new_node((uint64_t)i);
        gc_store(gc, &all->items[i], n);
        left[i] = right[i] = -1;
    }
    long wrong = 0;
    for (int round = is_quick() ? 50 : 0; round < 60; round++) {
        for (int k = 0; k < 2000; k++) {
            int i = (int)(random_bits() % NODES), j = (int)(random_bits() % NODES);
            node *n = all->items[i];
            if (random_bits() % 4 == 0) { /* a fresh copy in its place; those who refer to the old one keep it */
                node *fresh = new_node((uint64_t)i);
                n = all->items[i];
                gc_store(gc, &fresh->left, n->left), gc_store(gc, &fresh->right, n->right);
                gc_store(gc, &all->items[i], fresh);
            } else if (random_bits() & 1) gc_store(gc, &n->left, all->items[j]), left[i] = j;
            else gc_store(gc, &n->right, all->items[j]), right[i] = j;
            new_bytes(random_bits() % 300);
        }
        gc_collect(heap, (int)(random_bits() % 3), random_bits() % 5 == 0 ? GC_COLLECT_COMPACTING : 0);
        for (int i = 0; i < NODES; i++) {
            node *n = all->items[i];
            wrong += n->value != (uint64_t)i || n->header.type != &node_type;
            wrong += n->left ? (int)n->left->value != left[i] : left[i] != -1;
            wrong += n->right ? (int)n->right->value != right[i] : right[i] != -1;
        }
    }
    is(wrong, 0, "a graph under mutation");
}

static void deep_list(void) {
    size_t count = is_quick() ? 100000 : GC_DEBUG >= 2 ? 1000000 : 10000000; /* the debug variants have the same paths, but not the time */
    node *list = NULL, *n = NULL;
    GC_ROOTS(gc, list, n);
    for (size_t i = 0; i < count; i++) {
        n = new_node(i);
        gc_store(gc, &n->left, list);
        list = n;
    }
    n = NULL;
    full();
    compact();
    size_t length = 0, wrong = 0;
    for (node *at = list; at; at = at->left) wrong += at->value != count - ++length;
    is(length, count, "a list of %zu nodes", count);
    is(wrong, 0, "in order");
}

static void wide_tree(void) {
    size_t count = is_quick() ? 100000 : 1000000;
    vector *root = new_vector(count);
    GC_ROOTS(gc, root);
    for (size_t i = 0; i < count; i++) {
        vector *inner = new_vector(2);
        gc_store(gc, &root->items[i], inner);
        node *leaf = new_node(i);
        gc_store(gc, &((vector *)root->items[i])->items[1], leaf);
    }
    full();
    compact();
    gc_collect(heap, 0, 0);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += ((node *)((vector *)root->items[i])->items[1])->value != i;
    is(wrong, 0, "a tree of %zu branches", count);
}

static void modes(void) {
    vector *keep = new_vector(20000);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < 200000; i++) {
        node *n = new_node(i);
        if (i % 10 == 0) gc_store(gc, &keep->items[i / 10], n);
    }
    full(), full();
    for (size_t i = 0; i < 20000; i++)
        if (i % 3) gc_store(gc, &keep->items[i], NULL);
    uint64_t before = stats().collections_compacting;
    compact();
    gc_stats now = stats();
    is(now.collections_compacting, before + 1, "a compacting collection is counted");
    ok(now.fragmentation_bytes <= 2 * GC_REGION_BYTES, "compacting leaves no holes: %zu of %zu bytes", now.fragmentation_bytes, now.used_bytes);
    size_t wrong = 0;
    for (size_t i = 0; i < 20000; i += 3) wrong += ((node *)keep->items[i])->value != i * 10;
    is(wrong, 0, "and all objects");

    now = stats();
    gc_collect(heap, 2, GC_COLLECT_OPTIMIZED);
    gc_collect(heap, 0, GC_COLLECT_OPTIMIZED);
    gc_stats then = stats();
    is(then.collections[0] + then.collections[1] + then.collections[2], now.collections[0] + now.collections[1] + now.collections[2],
       "OPTIMIZED does nothing when there is nothing to do");
    gc_collect(heap, 1, GC_COLLECT_NON_BLOCKING);
    is(stats().collections[1], then.collections[1] + 1, "NON_BLOCKING is complete on return at present");
    gc_collect(heap, 1, GC_COLLECT_NON_BLOCKING | GC_COLLECT_BLOCKING);
    is(stats().collections[1], then.collections[1] + 2, "BLOCKING wins");
}

static void non_moving(void) {
    enum { COUNT = 5000 };
    vector *keep = new_vector(COUNT);
    static void *where[COUNT];
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < COUNT; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
        where[i] = keep->items[i];
        new_bytes(i % 200);
        if (i % 1000 == 0) gc_collect(heap, (int)(i / 1000 % 3), GC_COLLECT_COMPACTING);
    }
    compact(), full();
    int moved = 0;
    for (size_t i = 0; i < COUNT; i++) moved += keep->items[i] != where[i] || ((node *)where[i])->value != i;
    is(moved, 0, "nothing moves in a non-moving heap");
    is(stats().moved_bytes, 0, "and nothing was");
    for (int round = 0; round < 200; round++) { /* ten times the memory of what lives */
        for (size_t i = 0; i < COUNT; i++) {
            node *n = new_node(i);
            if (i % 5 == 0) gc_store(gc, &keep->items[i], n);
        }
    }
    full();
    ok(stats().committed_bytes < 64 * GC_REGION_BYTES + ((size_t)64 << 20), "holes are used again: %zu bytes committed", stats().committed_bytes);
}

static gc_collection last_start, last_end;
static int starts, ends;
static void at_start(void *host, const gc_collection *collection) { starts += host == &starts, last_start = *collection; }
static void at_end(void *host, const gc_collection *collection) { ends += host == &starts, last_end = *collection; }

#define ONE(name, text) +1
enum { REASONS = 0 GC_REASONS(ONE) };

static void hooks(void) {
    starts = ends = 0;
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    for (int i = 0; i < 3; i++) {
        gc_collect(heap, i, i == 2 ? GC_COLLECT_COMPACTING : 0);
        is(starts, i + 1, "the start hook runs");
        is(ends, i + 1, "the end hook runs");
        is(last_end.generation, i, "the generation");
        is(last_end.number, (uint64_t)i + 1, "the number");
        is(last_start.number, last_end.number, "start and end are of the same collection");
        is(last_end.reason, GC_REASON_INDUCED, "the reason");
        is(last_end.compacting, i == 2, "whether compacting");
        is(last_start.pause_ns, 0, "no pause at the start");
        ok(last_end.pause_ns > 0, "a pause at the end");
        ok(last_end.promoted_bytes >= sizeof(node), "what survived");
    }
    for (int i = 0; i < 3000000 && last_end.reason == GC_REASON_INDUCED; i++) new_node(1);
    is(last_end.reason, GC_REASON_NURSERY, "the reason of a collection by itself");
        for (int i = 0; i < REASONS; i++) ok(strcmp(gc_reason_text((gc_reason)i), "unknown reason"), "reason %d has a text", i);
    ok(!strcmp(gc_reason_text((gc_reason)REASONS), "unknown reason"), "there is none beyond");
}

static void garbage(void) {
    size_t total = (size_t)1 << (GC_DEBUG >= 2 ? 27 : 30);
    for (size_t i = 0; i < total / 64; i++) new_bytes(48);
    gc_stats now = stats();
    ok(now.collections[0] > 0, "allocation collects by itself");
    ok(now.committed_bytes_peak <= ((size_t)192 << 20), "garbage needs no memory: %zu MiB at the peak", now.committed_bytes_peak >> 20);
    ok(now.allocated_bytes >= total, "allocated_bytes");
}

/* `count` nodes, each referring to the one before. */
static node *chain(size_t count) {
    node *last = NULL, *next = NULL;
    GC_ROOTS(gc, last, next);
    for (size_t i = 0; i < count; i++) {
        next = new_node(i);
        gc_store(gc, &next->left, last);
        last = next;
    }
    return last;
}

/* Now and then a nursery survives, between much that dies: that must not call for a full collection each time. */
static void bursts(void) {
    enum { ROUNDS = GC_DEBUG >= 3 ? 4 : 20, MIB = 1 << 20 }; /* GC_DEBUG 3 looks at all objects in every collection */
    node *live = NULL, *burst = NULL;
    GC_ROOTS(gc, live, burst);
    live = chain((size_t)24 * MIB / sizeof *live);
    uint64_t before = stats().collections[2];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < (size_t)40 * MIB / 64; i++) new_bytes(48);
        burst = NULL;
        burst = chain((size_t)4 * MIB / sizeof *burst);
    }
    uint64_t ran = stats().collections[2] - before;
    ok(ran <= ROUNDS / 2, "%d bursts of objects that survive: %d full collections", ROUNDS, (int)ran);
}

static void many_heaps(void) {
    gc_options options = {.heap_bytes_max = 16 * GC_REGION_BYTES};
    int failures = 0;
    for (int i = is_quick() ? 450 : 0; i < 500; i++) {
        begin(&options);
        {
            node *a = new_node((uint64_t)i);
            GC_ROOTS(gc, a);
            new_bytes(GC_LARGE_BYTES + 100);
            gc_collect(heap, i % 3, 0);
            failures += a->value != (uint64_t)i;
        }
        end();
    }
    is(failures, 0, "five hundred heaps, one after the other");

    enum { HEAPS = 20 };
    gc_heap *heaps[HEAPS];
    gc_thread *threads[HEAPS];
    node *lists[HEAPS] = {NULL};
    for (int h = 0; h < HEAPS; h++) {
        heaps[h] = gc_heap_create(&options), threads[h] = gc_thread_attach(heaps[h]);
        failures +=
            !threads[h] || gc_thread_heap(threads[h]) != heaps[h] || gc_roots_add(heaps[h], &lists[h], 1, 0) != GC_OK;
    }
    for (int i = 0; i < 20000; i++)
        for (int h = 0; h < HEAPS; h++) {
            node *n = gc_new(threads[h], &node_type);
            n->value = (uint64_t)(i % 100 + h);
            if (i % 100) gc_store(threads[h], &n->left, lists[h]);
            lists[h] = n;
        }
    for (int h = 0; h < HEAPS; h++) {
        gc_collect(heaps[h], h % 3, 0);
        failures += gc_heap_contains(heaps[h], lists[(h + 1) % HEAPS]) || !gc_heap_contains(heaps[h], lists[h]);
        int expected = 99 + h;
        for (node *n = lists[h]; n; n = n->left) failures += (int)n->value != expected--;
    }
    is(failures, 0, "twenty heaps side by side");
    for (int h = 0; h < HEAPS; h += 2) gc_heap_destroy(heaps[h]);
    for (int h = 1; h < HEAPS; h += 2) {
        gc_collect(heaps[h], 2, GC_COLLECT_COMPACTING);
        failures += (int)lists[h]->value != 99 + h;
        gc_heap_destroy(heaps[h]);
    }
    is(failures, 0, "the ones that are left when others are destroyed");
}

static node *handed_over;
static void *other_thread(void *unused) {
    gc_thread *mine = gc_thread_attach(heap);
    node *n = gc_new(mine, &node_type);
    n->value = 8;
    gc_store(mine, &n->left, handed_over);
    handed_over = n;
    gc_collect(heap, 1, 0);
    gc_thread_detach(mine);
    return unused;
}

static void threads(void) {
    begin(NULL);
    ok(!gc_thread_attach(heap), "a second thread is refused");
    is(gc_last_result(), GC_ERROR_ATTACHED, "GC_ERROR_ATTACHED");
    static node *root;
    gc_roots_add(heap, &root, 1, 0);
    root = new_node(5);
    gc_thread_detach(gc);
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    is(root->value, 5, "collecting with no thread attached");
    gc = gc_thread_attach(heap);
    ok(gc && new_node(6), "attached again");
    gc_roots_add(heap, &handed_over, 1, 0);
    handed_over = new_node(7);
    gc_thread_detach(gc);
    pthread_t other;
    pthread_create(&other, NULL, other_thread, NULL);
    pthread_join(other, NULL);
    gc = gc_thread_attach(heap);
    compact();
    is(handed_over->value * 10 + handed_over->left->value, 87, "one native thread after another");
    end();
}

static int heap_never_moves[1];

/* gc_heap_moves: what a table keyed by addresses looks at. */
static void moves_count(void) {
    bool moving = !gc_heap_host(heap); /* of a heap that does not move it is set */
    is(gc_heap_moves(heap), stats().collections_moving, "gc_heap_moves is in the statistics");
    uint64_t before = gc_heap_moves(heap);
    full(), compact(), gc_collect(heap, 0, GC_COLLECT_COMPACTING);
    is(gc_heap_moves(heap), before, "gc_heap_moves: a collection with nothing alive moves nothing");
    vector *keep = new_vector(64);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < 64; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
    }
    for (int round = 0; round < 6; round++) {
        const void *addresses[65] = {keep};
        memcpy(addresses + 1, keep->items, 64 * sizeof(void *));
        before = gc_heap_moves(heap);
        gc_collect(heap, round % 3, round < 3 ? GC_COLLECT_COMPACTING : GC_COLLECT_DEFAULT);
        bool moved = addresses[0] != keep || memcmp(addresses + 1, keep->items, 64 * sizeof(void *)) != 0;
        is(gc_heap_moves(heap), before + moved, "gc_heap_moves: round %d, in which %s", round,
           moved ? "objects moved" : "nothing moved");
        if (round == 0) is(moved, moving, "a compacting collection moves, where anything may");
    }
    is(gc_heap_moves(heap), stats().collections_moving, "gc_heap_moves is in the statistics still");
    if (!moving) is(gc_heap_moves(heap), 0, "gc_heap_moves stays 0 where nothing may move");
}

/* All objects, where they lie. */
typedef struct extent {
    uintptr_t low, high;
    size_t bytes;
} extent;

static bool extend(void *context, void *object, size_t bytes, int generation) {
    extent *all = context;
    uintptr_t at = (uintptr_t)object;
    (void)generation;
    if (at < all->low) all->low = at;
    if (at + bytes > all->high) all->high = at + bytes;
    all->bytes += bytes;
    return true;
}

/* GC_COLLECT_COMPACTING leaves no holes, also where heap_bytes_max has the collector count on room. */
static void compacts(void) {
    enum { COUNT = 300 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < COUNT; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
    }
    full(), full();
    for (size_t i = 1; i < COUNT; i += 2) gc_store(gc, &keep->items[i], NULL);
    for (int round = 0; round < 2; round++) {
        const void *before = keep;
        extent all = {UINTPTR_MAX, 0, 0};
        compact();
        gc_heap_walk(heap, extend, &all);
        ok(keep != before, "a compacting collection moves, round %d", round);
        is(all.high - all.low, all.bytes, "and leaves no holes");
    }
}

/* A plan knows what mutators have put into holes: what it chooses to move finds room. */
static void refilled(void) {
    enum { COUNT = 8 * 1000 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    int failures = 0;
    for (size_t i = 0; i < 20 * COUNT; i++) {
        bytes *b = new_bytes(GC_REGION_BYTES / 2000 + random_bits() % (GC_REGION_BYTES / 1000));
        failures += !b;
        if (i < COUNT || i % 3 == 0) gc_store(gc, &keep->items[i < COUNT ? i : random_bits() % COUNT], b);
    }
    is(failures, 0, "a heap half full takes new objects for old ones");
    ok(stats().evacuation_failures < COUNT / 5, "and objects that should move have room: %llu had none",
       (unsigned long long)stats().evacuation_failures);
}

int main(void) {
    gc_options moving = {0}, fixed = {.non_moving = true}, one = {.non_generational = true},
               narrow = {.test.scarce_memory = true};
    run(ages, moving);
    run(death, moving);
    run(death, fixed);
    run(churn, moving);
    run(churn, fixed);
    run(churn, one);
    run(churn, narrow);
    run(churn, (gc_options){.nursery_bytes = GC_REGION_BYTES, .keep_memory = true});
    run(modes, moving);
    run(compacts, moving);
    run(compacts, (gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES});
    run(compacts, (gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES, .non_generational = true});
    for (int one_only = 0; one_only < 2; one_only++) {
        begin(&(gc_options){.heap_bytes_max = 20 * GC_REGION_BYTES, .non_generational = one_only});
        refilled();
        end();
    }
    run(non_moving, fixed);
    run(moves_count, moving);
    run(moves_count, (gc_options){.non_moving = true, .host = heap_never_moves});
    run(hooks, (gc_options){.collection_start = at_start, .collection_end = at_end, .host = &starts});
    void (*const big[])(void) = {deep_list, wide_tree, garbage};
    for (int i = 0; i < 3; i++) {
        begin(&(gc_options){.test.scarce_memory = i == 1});
        big[i]();
        end();
    }
    begin(&narrow), deep_list(), end();
    begin(&fixed), wide_tree(), end();
    if (!is_quick()) begin(&(gc_options){.pause_goal_us = 1}), bursts(), end(); /* the nursery stays small */
    many_heaps();
    threads();
    return done();
}
