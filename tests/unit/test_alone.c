/* A worker of a collection is alone if nobody else works and nobody can find work. Here others can, in each way there is, while a
   worker has one reference only: it must not take itself for alone. Threads take turns in orders that follow from numbers; with
   GC_DEBUG 3 also between a copy and its claim, and the crew checks that nobody finds work beside one that is alone. And: how
   often those share an array who have nothing else. */
#define _GNU_SOURCE
#include "../fixture.h"

enum { UNIT = 64, ROOTS = 6 * UNIT, SHARED = 128, CHAINS = 3, LINKS = 200, ORDERS = 24 };

static void begin_order(unsigned threads, unsigned order) {
    begin_verified((gc_options){.collector_threads = threads, .test.collectors = 2 + order * 7919});
}

/* Many roots refer to few objects. The first object is large, so that it is marked, and not copied: a worker has it before any
   other one had a turn. */
static void *roots[ROOTS];
static unsigned root_of[ROOTS];

static void roots_make(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    all = new_vector(SHARED);
    for (unsigned i = 0; i < SHARED; i++) {
        node *n = new_node(i);
        gc_store(gc, &all->items[i], n);
    }
    for (unsigned i = 0; i < ROOTS; i++) roots[i] = all->items[root_of[i] = (unsigned)(random_bits() % SHARED)];
    roots[0] = new_vector(GC_LARGE_BYTES / 8);
    gc_store(gc, &((vector *)roots[0])->items[0], roots[1]);
}

static bool roots_are_whole(void) {
    static const node *seen[SHARED];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 1; i < ROOTS; i++) {
        const node *n = roots[i];
        if (n->value != root_of[i] || (seen[n->value] && seen[n->value] != n)) return false;
        seen[n->value] = n;
    }
    return ((const vector *)roots[0])->items[0] == roots[1];
}

static void roots_are_left(void) {
    bool whole = true;
    for (unsigned order = 0; order < ORDERS && whole; order++) {
        begin_order(3, order);
        gc_roots_add(heap, roots, ROOTS, 0);
        for (int i = 0; i < 6 && whole; i++) {
            roots_make();
            gc_collect(heap, i % 2, GC_COLLECT_BLOCKING);
            whole = roots_are_whole();
        }
        gc_roots_remove(heap, roots);
        end();
    }
    ok(whole, "one worker has one reference while others can find roots");
}

/* Lists whose links have trace functions, which only the thread that collects calls when it has nothing else to do: while another
   one goes along a list. Links never move, so that they are marked, and nobody has a turn between two of them. */
typedef struct chain {
    gc_object header;
    struct chain *next;
    node *own;
    uint64_t number;
} chain;
static void chain_trace(void *object, gc_visitor *visitor) { gc_visit(visitor, &((chain *)object)->own, 1, 0); }
static const gc_type chain_type = GC_TYPE_WITH(chain, refs(next), trace(chain_trace));

static chain *chain_make(unsigned links) {
    chain *first = NULL;
    GC_ROOTS(gc, first);
    for (unsigned i = links; i-- > 0;) {
        chain *c = gc_new_with(gc, &chain_type, 0, GC_NEW_FIXED);
        c->next = first;
        c->number = i;
        first = c;
        if (i % 16) continue;
        node *n = new_node(i);
        gc_store(gc, &first->own, n);
    }
    return first;
}

static bool chain_is_whole(const chain *c, unsigned links) {
    unsigned i = 0;
    for (; c && i < links; c = c->next, i++)
        if (c->number != i || (i % 16 ? c->own != NULL : c->own->value != i)) return false;
    return i == links && !c;
}

static bool chains_survive(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    bool whole = true;
    all = new_vector(CHAINS);
    for (unsigned i = 0; i < CHAINS; i++) {
        chain *c = chain_make((i + 1) * LINKS);
        gc_store(gc, &all->items[i], c);
    }
    for (int k = 0; k < 4; k++) full();
    for (unsigned i = 0; i < CHAINS; i++) whole &= chain_is_whole(all->items[i], (i + 1) * LINKS);
    return whole;
}

static void trace_functions_are_left(void) {
    bool whole = true;
    for (unsigned order = 0; order < ORDERS && whole; order++) {
        begin_order(3, order);
        whole = chains_survive();
        end();
    }
    ok(whole, "one worker has one reference while trace functions are to be called");
}

/* Of an array that is not all that a worker holds, it gives half away: who has nothing else left would soon ask for it again. */
static void an_array_among_others(void) {
    enum { ELEMENTS = 100000 };
    static char text[8192];
    unsigned shared[2] = {0, 0}, taken[2];
    begin_order(2, 1);
    {
        vector *all = NULL;
        GC_ROOTS(gc, all);
        all = new_vector(ELEMENTS);
        for (unsigned i = 0; i < ELEMENTS; i++) {
            node *n = new_node(i), *more = NULL;
            GC_ROOTS(gc, n, more);
            more = new_node(i);
            n->left = more;
            gc_store(gc, &all->items[i], n);
        }
        full();
        bool whole = true;
        for (unsigned i = 0; i < ELEMENTS; i++) whole &= ((node *)all->items[i])->left->value == i;
        ok(whole, "two threads trace an array of objects that lead to others");
        FILE *file = fmemopen(text, sizeof text, "w");
        gc_heap_print_stats(heap, file);
        fclose(file);
                const char *line = strstr(text, "collectors ");
        for (unsigned i = 0; i < 2 && line; i++) {
            line = strchr(line, '\n') + 1;
            sscanf(line, "%*u %*u objects, %*f %*s copied, %u pieces shared, %u taken", &shared[i], &taken[i]);
        }
        ok(shared[0] + shared[1] > 0 && shared[0] + shared[1] < 200, "and share it seldom: %u + %u times", shared[0], shared[1]);
    }
    end();
}

int main(void) {
    roots_are_left();
    trace_functions_are_left();
    an_array_among_others();
    return done();
}
