/* Pins: pinned and conservative roots keep objects where they are, while all around them moves. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>

enum { PINS = 200 };
static void *pins[PINS], *words[PINS];
static unsigned pin_flags;

static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread;
    gc_visit(visitor, pins, PINS, pin_flags);
    gc_visit(visitor, words, PINS, GC_SLOT_CONSERVATIVE);
}

static void clear(void) {
    memset(pins, 0, sizeof pins);
    memset(words, 0, sizeof words);
}

static void pinned(void) {
    clear();
    pin_flags = GC_SLOT_PINNED;
    vector *keep = new_vector(20 * PINS);
    GC_ROOTS(gc, keep);
    void *where[PINS];
    for (size_t i = 0; i < 20 * PINS; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
        node *child = new_node(i + 1000000);
        gc_store(gc, &((node *)keep->items[i])->left, child);
        if (i % 20 == 0) where[i / 20] = pins[i / 20] = keep->items[i];
        if (i % 1500 == 0) gc_collect(heap, (int)(i / 1500 % 2), 0);
    }
    for (int round = 0; round < 5; round++) {
        if (round >= 3) compact();
        else gc_collect(heap, round, 0);
        size_t moved = 0, wrong = 0;
        for (size_t i = 0; i < 20 * PINS; i++) {
            node *n = keep->items[i];
            wrong += n->value != i || n->left->value != i + 1000000;
            if (i % 20 == 0) moved += n != where[i / 20] || pins[i / 20] != where[i / 20];
        }
        is(moved, 0, "pinned objects stay, round %d", round);
        is(wrong, 0, "contents of pinned and of others, round %d", round);
    }
    for (size_t i = 0; i < 20 * PINS; i++) gc_store(gc, &keep->items[i], NULL);
    full(), compact();
    size_t wrong = 0;
    for (size_t i = 0; i < PINS; i++) wrong += ((node *)pins[i])->value != i * 20 || ((node *)pins[i])->left->value != i * 20 + 1000000;
    is(wrong, 0, "pinned roots alone keep their objects");
    clear();
    full(), compact();
    ok(stats().live_bytes < 40 * PINS * 16, "and release them: %zu bytes live", stats().live_bytes);
}

static void pinned_interior(void) {
    clear();
    pin_flags = GC_SLOT_PINNED | GC_SLOT_INTERIOR;
    bytes *object = NULL;
    GC_ROOTS(gc, object);
    for (size_t i = 0; i < PINS; i++) {
        object = new_bytes(100 + i);
        memset(object->items, (int)i, 100 + i);
        pins[i] = &object->items[(i * 37) % (100 + i)];
    }
    void *before[PINS];
    memcpy(before, pins, sizeof pins);
    object = NULL;
    for (int round = 0; round < 4; round++) {
        if (round == 3) compact();
        else gc_collect(heap, round, 0);
        size_t wrong = 0;
        for (size_t i = 0; i < PINS; i++) wrong += pins[i] != before[i] || *(unsigned char *)pins[i] != (unsigned char)i;
        is(wrong, 0, "interior pins keep and hold, round %d", round);
    }
    clear();
}

static void conservative(void) {
    clear();
    pin_flags = 0;
    node *keep = new_node(1), *last = NULL;
    GC_ROOTS(gc, keep, last);
    uintptr_t hidden[PINS];
    for (size_t i = 0; i < PINS; i++) {
        last = new_node(i);
        node *child = new_node(i + 5000);
        gc_store(gc, &last->right, child);
        hidden[i] = (uintptr_t)last;
        words[i] = (void *)((uintptr_t)last + i % sizeof(node)); /* any byte of it */
    }
    uintptr_t region = (uintptr_t)last & ~(GC_REGION_BYTES - 1);
    last = NULL;
    void *before[PINS];
    memcpy(before, words, sizeof words);
    for (int round = 0; round < 5; round++) {
        if (round > 2) compact();
        else gc_collect(heap, round, 0);
        size_t wrong = 0;
        for (size_t i = 0; i < PINS; i++)
            wrong += ((node *)hidden[i])->value != i || ((node *)hidden[i])->right->value != i + 5000;
        is(wrong, 0, "ambiguous words keep and pin, round %d", round);
        is(memcmp(before, words, sizeof words), 0, "and are never written, round %d", round);
        for (int i = 0; i < 20000; i++) new_node(0);
    }
    /* Words that point at nothing, at free memory, at region ends, at tables, at everything. */
    clear();
    full();
    for (int round = 0; round < 40; round++) {
        for (size_t i = 0; i < PINS; i++)
            words[i] = (void *)(i % 4 == 0   ? region + random_bits() % (4 * GC_REGION_BYTES)
                                : i % 4 == 1 ? region + random_bits() % GC_REGION_BYTES
                                : i % 4 == 2 ? random_bits()
                                             : (uintptr_t)keep + random_bits() % 65536 - 32768);
        for (int i = 0; i < 3000; i++) {
            node *n = new_node(7);
            if (i % 100 == 0) gc_store(gc, &keep->left, n);
        }
        gc_collect(heap, round % 3, round % 7 == 0 ? GC_COLLECT_COMPACTING : 0);
    }
    is(keep->value, 1, "random words do no harm");
    is(keep->left->value, 7, "nor to what follows");
    clear();
}

/* A region's worth of objects of which a few are pinned, again and again: pins must not leak the regions around them. */
static void scattered(void) {
    clear();
    pin_flags = GC_SLOT_PINNED;
    size_t peak = 0;
    for (int round = 0; round < 60; round++) {
        for (size_t i = 0; i < 40000; i++) {
            node *n = new_node(i);
            if (i % 200 == 0) pins[i / 200] = n;
        }
        gc_collect(heap, round % 3, 0);
        if (stats().committed_bytes > peak) peak = stats().committed_bytes;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < PINS; i++) wrong += ((node *)pins[i])->value != i * 200;
    is(wrong, 0, "scattered pins");
    ok(peak < ((size_t)512 << 20), "memory around pins is used again: %zu MiB", peak >> 20);
    clear();
}

static void handles(void) {
    gc_handle handle = gc_handle_create(heap, GC_HANDLE_PINNED, new_node(3));
    void *where = gc_handle_get(handle);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 1000; i++) new_node(1);
        if (round == 3) compact();
        else gc_collect(heap, round, 0);
        ok(gc_handle_get(handle) == where && ((node *)where)->value == 3, "a pinned handle, round %d", round);
    }
    gc_handle_destroy(heap, handle);
}

static __attribute__((noinline)) uintptr_t hide(void) {
    node *n = new_node(11);
    gc_store(gc, &n->left, new_node(12));
    return ~(uintptr_t)n;
}

static __attribute__((noinline)) void overwrite_stack(void) {
    volatile char fill[4096];
    for (size_t i = 0; i < sizeof fill; i++) fill[i] = 0;
}

/* The lowest rung of the porting ladder: no roots, no barriers, no moving. */
static __attribute__((noinline)) void stack_list(void) {
    node *volatile list = NULL;
    for (uint64_t i = 0; i < 100000; i++) {
        node *n = new_node(i);
        n->left = list;
        list = n;
    }
    full();
    uint64_t expected = 100000;
    int wrong = 0;
    for (node *n = list; n; n = n->left) wrong += n->value != --expected;
    is(wrong + (int)expected, 0, "what only the C stack refers to lives");
    ok(stats().conservative_objects >= 1 && stats().conservative_bytes >= 100000 * sizeof(node), "and is counted as kept by its words");
}

static void conservative_stack(void) {
    stack_list();
    overwrite_stack();
    uintptr_t hidden = hide();
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, (void *)~hidden);
    overwrite_stack();
    full();
    if (gc_handle_get(weak)) diag("a hidden object lives by chance");
    ok(stats().live_bytes < 100000 * sizeof(node) / 2, "what nothing refers to dies: %zu bytes live", stats().live_bytes);
}

/* What statistics count as kept by conservative words alone. */
static size_t ended_bytes, ended_sum;
static void at_end(void *host, const gc_collection *collection) {
    (void)host;
    ended_bytes = collection->conservative_bytes;
    ended_sum += ended_bytes;
}

static void counts(size_t objects, size_t nodes, const char *what) {
    gc_stats s = stats();
    is(s.conservative_objects, objects, "%s: objects", what);
    is(s.conservative_bytes, nodes * sizeof(node), "%s: bytes", what);
    is(ended_bytes, s.conservative_bytes, "%s: as the hook is told", what);
}

static node *chain(size_t length) {
    node *list = NULL, *next;
    GC_ROOTS(gc, list);
    for (size_t i = 0; i < length; i++) next = new_node(i), gc_store(gc, &next->left, list), list = next;
    return list;
}

static void retained(void) {
    node *live = chain(5), *dead = NULL;
    vector *old = new_vector(10);
    GC_ROOTS(gc, live, old);
    clear(), full();
    ended_sum = 0;
    counts(0, 0, "no conservative words");
    words[0] = &live->value, words[1] = live, words[2] = live->left->left;
    full();
    counts(0, 0, "what is rooted, and what that refers to");
    words[3] = (char *)chain(3) + 9;
    full();
    counts(1, 3, "an integer like an object's address, and what that refers to");
    full();
    counts(1, 3, "at the next collection");
    gc_collect(heap, 0, 0);
    ok(ended_bytes <= sizeof(node), "what lies in generations that are not condemned is not counted");
    dead = words[4] = chain(4), words[5] = dead->left->left;
    full();
    counts(3, 7, "words that lead to one another's objects");
    gc_store(gc, &live->right, dead->left);
    full();
    counts(2, 4, "one of them refers to what is live now");
    words[3] = words[4] = words[5] = NULL;
    full(), full();
    counts(0, 0, "words that are gone");
    words[3] = chain(2);
    gc_store(gc, &old->items[0], words[3]);
    gc_collect(heap, 0, 0);
    counts(0, 0, "an old object refers to it");
    words[3] = pins[0] = chain(2);
    pin_flags = GC_SLOT_PINNED;
    compact();
    counts(0, 0, "pinned, and so a reference");
    pins[0] = NULL;
    compact();
    counts(1, 2, "pinned before");
    gc_stats s = stats();
    is(s.conservative_total_bytes, ended_sum, "the sum of them");
    static char text[8192];
    FILE *file = tmpfile();
    gc_heap_print_stats(heap, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    has(text, "conservative 1 objects", "it is printed");
    clear();
}

/* The thread that attaches is the mutator, whichever it is; its stack is the one to scan. That is fresh memory: the C library
   gives a thread the stack of one that has ended, a collector's thread of an earlier heap, say, with what that left there. */
static char fresh_stack[1 << 20] __attribute__((aligned(4096)));

static void *elsewhere(void *unused) {
    run(conservative_stack, (gc_options){.non_generational = true, .conservative_stack = true});
    return unused;
}

/* Objects that never move, of all sizes, among others: their addresses are kept outside the heap. */
static void fixed(void) {
    enum { COUNT = 1500, ROUNDS = 40 };
    static struct { node *at; vector *keep; } known[COUNT];
    int wrong = 0, moved = 0;
    vector *keep = new_vector(COUNT), *plain = NULL;
    GC_ROOTS(gc, keep, plain);
    plain = new_vector(COUNT);
    memset(known, 0, sizeof known);
    for (size_t round = 0; round < ROUNDS / (GC_DEBUG || is_quick() ? 4 : 1); round++) {
        for (size_t k = 0; k < COUNT / 4; k++) {
            size_t i = random_bits() % COUNT, length = random_bits() % 64 ? random_bits() % 40 : random_bits() % (GC_REGION_BYTES / 4);
            node *n = new_node(i);
            gc_store(gc, &plain->items[i], n);
            vector *v = i % 2 ? gc_new_with(gc, &vector_type, length + 1, GC_NEW_FIXED) : gc_new_with(gc, &node_type, 0, GC_NEW_FIXED);
            wrong += i % 2 ? v->header.length != length + 1 || v->items[length] || v->items[0] : ((node *)v)->left || ((node *)v)->value;
            gc_store(gc, i % 2 ? (void *)&v->items[0] : (void *)&((node *)v)->left, plain->items[i]);
            gc_store(gc, &keep->items[i], v);
            known[i].at = (node *)v;
        }
        gc_collect(heap, (int)(round % 3), round % 2 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < COUNT; i++) {
            const node *n = keep->items[i];
            moved += n != known[i].at;
            if (n) wrong += (i % 2 ? ((vector *)keep->items[i])->items[0] : n->left) != plain->items[i] || ((node *)plain->items[i])->value != i;
        }
        for (size_t i = round % 3; i < COUNT; i += 3) gc_store(gc, &keep->items[i], NULL), known[i].at = NULL;
    }
    is(moved, 0, "objects that never move, do not");
    is(wrong, 0, "and hold what they should");
    keep = plain = NULL;
    full(), full();
    ok(stats().live_bytes < 100, "when they are dead nothing stays: %zu bytes", stats().live_bytes);
}

/* Their holes are used again. */
static void fixed_holes(void) {
    enum { COUNT = 20000 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    size_t most = 0;
    for (int round = 0; round < 12; round++) {
        for (size_t i = 0; i < COUNT; i++)
            if (!keep->items[i]) {
                node *n = gc_new_with(gc, &node_type, 0, GC_NEW_FIXED);
                gc_store(gc, &keep->items[i], n);
            }
        for (size_t i = 0; i < COUNT; i++)
            if (random_bits() % 2) gc_store(gc, &keep->items[i], NULL);
        full();
        if (round > 2 && stats().used_bytes > most) most = stats().used_bytes;
    }
    ok(most < 8 * COUNT * sizeof(node), "of %zu KiB that were allocated at a time, regions take %zu KiB",
       COUNT * sizeof(node) >> 10, most >> 10);
}

/* A heap was full of objects that never move, of which few are left: others find room between them. */
static void between_fixed(void) {
    enum { KEPT = 1000, OTHERS = 20000 };
    vector *all = NULL, *keep = NULL, *others = NULL;
    size_t made = 0, kept = 0, wrong = 0;
    GC_ROOTS(gc, all, keep, others);
    keep = new_vector(KEPT), others = new_vector(OTHERS), all = new_vector(stats().heap_bytes_max / 1000);
    for (vector *v; made < all->header.length && (v = gc_new_with(gc, &vector_type, 123, GC_NEW_FIXED)) != NULL;)
        gc_store(gc, &all->items[made++], v);
    for (size_t i = 0; i < made; i += GC_REGION_BYTES / 2000) gc_store(gc, &keep->items[kept++], all->items[i]);
    all = NULL;
    for (int i = 0; i < 3; i++) gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    for (size_t i = 0; i < OTHERS; i++) {
        node *n = gc_new(gc, &node_type);
        if (!n) break;
        n->value = i;
        gc_store(gc, &others->items[i], n);
    }
    ok(others->items[OTHERS - 1], "objects lie between %zu of %zu that never move", kept, made);
    full();
    for (size_t i = 0; i < OTHERS && others->items[i]; i++) wrong += ((node *)others->items[i])->value != i;
    is(wrong, 0, "and are as they were");
}

/* A thread allocates objects that never move, behind which another one's arrays grow. */
static uint32_t beside_ends;
static void *beside(void *wrong) {
    static void *keep[64];
    gc_thread *self = gc_thread_attach(heap);
    memset(keep, 0, sizeof keep);
    gc_roots_add(heap, keep, 64, 0);
    for (size_t i = 0; !__atomic_load_n(&beside_ends, __ATOMIC_RELAXED); i++) {
        node *n = keep[i % 64] = gc_new_with(self, &node_type, 0, GC_NEW_FIXED);
        n->value = i;
        for (size_t k = 0; k < 64 && k <= i; k++) {
            n = keep[k];
            *(size_t *)wrong += n->header.type != &node_type || n->left || n->value % 64 != k;
        }
    }
    gc_roots_remove(heap, keep);
    gc_thread_detach(self);
    return NULL;
}

static void fixed_grow(void) {
    size_t overlaps = 0, wrong = 0, grown = 0;
    vector *v = NULL;
    GC_ROOTS(gc, v);
    pthread_t thread;
    __atomic_store_n(&beside_ends, 0, __ATOMIC_RELAXED);
    pthread_create(&thread, NULL, beside, &overlaps);
    for (size_t i = 0; i < 200000 / (GC_DEBUG ? 10 : 1); i++) {
        v = gc_new_with(gc, &vector_type, 2, GC_NEW_FIXED);
        for (size_t length = 3; length < 20; length++) grown += gc_array_grow(gc, v, length);
        for (size_t k = 0; k < v->header.length; k++) wrong += v->items[k] != NULL;
    }
    __atomic_store_n(&beside_ends, 1, __ATOMIC_RELAXED);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    is(overlaps + wrong, 0, "arrays grow %zu times, but not over what another thread allocates", grown);
}

/* Threads that allocate one such object each, and end, leave room for the next one. */
static bool are_together;
static pthread_barrier_t together;
static void *allocate_one(void *keep) {
    gc_thread *self = gc_thread_attach(heap);
    node *n = gc_new_with(self, &node_type, 0, GC_NEW_FIXED);
    n->value = 7;
    gc_store(self, keep, n);
    for (int i = 0; i < 2 && are_together; i++) {
        GC_IN_MODE(self, GC_MODE_PREEMPTIVE);
        pthread_barrier_wait(&together);
    }
    gc_thread_detach(self);
    return NULL;
}

/* So do many at the same time. */
static void fixed_together(void) {
    enum { COUNT = 40 };
    pthread_t threads[COUNT];
    vector *keep = gc_new_with(gc, &vector_type, COUNT, GC_NEW_FIXED);
    GC_ROOTS(gc, keep);
    size_t before = stats().regions, taken = 0;
    are_together = true;
    pthread_barrier_init(&together, NULL, COUNT + 1);
    for (size_t i = 0; i < COUNT; i++) pthread_create(&threads[i], NULL, allocate_one, &keep->items[i]);
    for (int i = 0; i < 2; i++) {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_barrier_wait(&together);
        GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
        if (i == 0) taken = stats().regions - before;
    }
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    for (size_t i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    are_together = false;
    pthread_barrier_destroy(&together);
    ok(taken <= COUNT * 32768 / GC_REGION_BYTES + 1, "%u threads take %zu regions together", COUNT, taken);
}

static void fixed_threads(void) {
    enum { COUNT = 100 };
    size_t wrong = 0, before;
    vector *keep = gc_new_with(gc, &vector_type, COUNT, GC_NEW_FIXED);
    GC_ROOTS(gc, keep);
    before = stats().regions;
    for (size_t i = 0; i < COUNT; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, allocate_one, &keep->items[i]);
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, NULL);
    }
    for (size_t i = 0; i < COUNT; i++) wrong += ((node *)keep->items[i])->value != 7 || (i && keep->items[i] == keep->items[i - 1]);
    ok(wrong == 0 && stats().regions - before < COUNT / 4, "objects of %u threads that have ended take %zu regions", COUNT, stats().regions - before);
}

int main(void) {
    run(fixed_threads, (gc_options){0});
    run(fixed_together, (gc_options){0});
    run(fixed_grow, (gc_options){0});
    run(fixed, (gc_options){0});
    run(fixed, (gc_options){.non_moving = true});
    run(fixed, (gc_options){.non_generational = true});
    run(fixed, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 50});
    run(fixed, (gc_options){.heap_bytes_max = 400 * GC_REGION_BYTES, .test.scarce_memory = true});
    run(fixed_holes, (gc_options){0});
    run(between_fixed, (gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES, .debug.verify = GC_VERIFY_AFTER});
    gc_options hosted = {.scan_roots = scan_roots};
    run(pinned, hosted);
    run(pinned_interior, hosted);
    run(conservative, hosted);
    run(scattered, hosted);
    run(handles, hosted);
    run(conservative_stack, (gc_options){.non_generational = true, .non_moving = true, .conservative_stack = true});
    run(conservative_stack, (gc_options){.non_generational = true, .conservative_stack = true});
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, fresh_stack, sizeof fresh_stack);
    pthread_create(&thread, &attributes, elsewhere, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    hosted.collection_end = at_end;
    run(retained, hosted);
    hosted.test.scarce_memory = true;
    run(retained, hosted);
    hosted.test.scarce_memory = false;
    hosted.non_moving = true;
    run(retained, hosted);
    run(conservative, hosted);
    hosted.non_moving = false, hosted.nursery_bytes = GC_REGION_BYTES;
    run(scattered, hosted);
    return done();
}
