/* Weak handles, and strong and pinned ones: created, set, destroyed; many of them. Weak arrays and tables on the heap. */
#include "../fixture.h"

static void kinds(void) {
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, NULL), strong = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    ok(weak && strong && !gc_handle_get(weak) && !gc_handle_get(strong), "handles of nothing");
    gc_handle_set(strong, new_node(1));
    gc_handle_set(weak, gc_handle_get(strong));
    for (int i = 0; i < 4; i++) {
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
        is(((node *)gc_handle_get(strong))->value, 1, "a strong handle keeps, %d", i);
        ok(gc_handle_get(weak) == gc_handle_get(strong), "a weak one follows, %d", i);
    }
    gc_handle_set(strong, new_node(2));
    ok(gc_handle_get(weak) != gc_handle_get(strong), "handles can be set");
    gc_collect(heap, 0, 0);
    is(((node *)gc_handle_get(weak))->value, 1, "a young collection leaves weak handles to the old alone");
    is(((node *)gc_handle_get(strong))->value, 2, "an old handle keeps a young object");
    full();
    ok(!gc_handle_get(weak), "a weak handle is cleared when its object dies");
    gc_handle_set(weak, new_node(3));
    gc_collect(heap, 0, 0);
    ok(!gc_handle_get(weak), "a young death clears an old weak handle");
    gc_handle_destroy(heap, strong);
    gc_handle_destroy(heap, weak);
    gc_handle_destroy(heap, NULL);
    full();
    ok(stats().live_bytes < 100, "destroyed handles keep nothing");
    static node outside;
    strong = gc_handle_create(heap, GC_HANDLE_STRONG, &outside), weak = gc_handle_create(heap, GC_HANDLE_WEAK, &outside);
    full();
    ok(gc_handle_get(strong) == &outside && gc_handle_get(weak) == &outside, "handles of what is on no heap");
}

/* Nobody holds ref-counted handles here. */
static bool keeps(size_t i) { return i % GC_HANDLE_KINDS == GC_HANDLE_STRONG || i % GC_HANDLE_KINDS == GC_HANDLE_PINNED; }

static void many(void) {
    enum { COUNT = 30000 };
    static gc_handle handles[COUNT];
    static uint64_t expected[COUNT];
    int wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        handles[i] = gc_handle_create(heap, (gc_handle_kind)(i % GC_HANDLE_KINDS), new_node(i));
        expected[i] = i;
        wrong += !handles[i];
    }
    for (int round = 0; round < 6; round++) {
        for (size_t k = 0; k < COUNT / 3; k++) {
            size_t i = random_bits() % COUNT;
            if (k % 3 == 0) gc_handle_destroy(heap, handles[i]), handles[i] = gc_handle_create(heap, (gc_handle_kind)(i % GC_HANDLE_KINDS), new_node(k));
            else gc_handle_set(handles[i], new_node(k));
            expected[i] = k;
        }
        if (round == 5) compact();
        else gc_collect(heap, round % 3, 0);
        for (size_t i = 0; i < COUNT; i++) {
            node *n = gc_handle_get(handles[i]);
            if (!keeps(i)) wrong += n && n->value != expected[i];
            else wrong += !n || n->value != expected[i];
        }
    }
    full(), full();
    for (size_t i = 0; i < COUNT; i++) wrong += !keeps(i) && gc_handle_get(handles[i]) != NULL;
    for (size_t i = 0; i < COUNT; i++) gc_handle_destroy(heap, handles[i]);
    is(wrong, 0, "many handles of all kinds");
    full(), full();
    ok(stats().live_bytes < 1000, "and nothing stays: %zu bytes", stats().live_bytes);
}

static void keep_alive(void) {
    node *n = new_node(1);
    gc_keep_alive(n);
    ok(true, "gc_keep_alive");
}

/* Weak tables. Each is an object whose entries lie in it, or in a buffer that it owns. */
typedef struct entry {
    node *key, *value;
    uint64_t hash; /* so that entries straddle cards */
} entry;

typedef struct table {
    gc_array header; /* its length: how many entries it has itself */
    entry *outside;
    size_t count, cleared;
    gc_weak_kind kind;
    unsigned flags;
    entry inside[];
} table;

static node tombstone;

static node **split; /* where values are instead, in a test of misuse */

static entry *entries_of(table *t) { return t->outside ? t->outside : t->inside; }

static void table_trace(void *object, gc_visitor *visitor) {
    table *t = object;
    gc_weak_entries entries = {.keys = &entries_of(t)->key, .values = &entries_of(t)->value, .count = t->count, .kind = t->kind};
    entries.entry_bytes = sizeof(entry);
    entries.flags = t->flags | (t->outside ? GC_SLOT_OWNED : 0);
    entries.cleared_key = (uintptr_t)&tombstone;
    entries.cleared_count = &t->cleared;
    if (split) entries.values = split;
    gc_visit_weak(visitor, &entries);
}
static void table_end(gc_thread *thread, void *object) {
    table *t = object;
    (void)thread;
    free(t->outside);
    t->outside = NULL, t->count = 0;
}
static const gc_finalizer table_finalizer = {.finalize = table_end};
static const gc_type table_type = GC_TYPE_ARRAY_WITH(table, inside, trace(table_trace), finalizer(table_finalizer));

static table *new_table(gc_weak_kind kind, size_t count, bool outside) {
    table *t = gc_new_array(gc, &table_type, outside ? 0 : count);
    t->kind = kind, t->count = count;
    if (outside) t->outside = calloc(count, sizeof *t->outside);
    return t;
}

static void table_set(table *t, size_t i, node *key, node *value) {
    entry *e = &entries_of(t)[i];
    if (t->outside) gc_store_in(gc, t, &e->key, key), gc_store_in(gc, t, &e->value, value);
    else gc_store(gc, &e->key, key), gc_store(gc, &e->value, value);
}

/* Objects by number, each of which refers to another one; some are held. Tables of all kinds refer to them. The model says
   which of them a full collection leaves, and which entries. */
enum { OBJECTS = 60, TABLES = 2 * (GC_WEAK_EPHEMERONS + 1), ENTRIES = 130 };
static struct {
    vector *tables;
    uint64_t collections;
    int wrong;
    gc_handle handle[OBJECTS];
    int next[OBJECTS];
    bool held[OBJECTS], reached[OBJECTS];
    struct { int key, value; } entries[TABLES][ENTRIES]; /* -1: none, -2: cleared */
    size_t cleared[TABLES];
} model;

static bool model_lives(int i) { return i < 0 || model.reached[i]; }

static bool model_reach(int i) {
    bool any = false;
    for (; i >= 0 && !model.reached[i]; i = model.next[i]) any = model.reached[i] = true;
    return any;
}

static void model_collect(void) {
    memset(model.reached, 0, sizeof model.reached);
    for (int i = 0; i < OBJECTS; i++)
        if (model.held[i]) model_reach(i);
    for (bool more = true; more;) {
        more = false;
        for (int t = 0; t < TABLES; t++)
            for (int i = 0; i < ENTRIES; i++) {
                int key = model.entries[t][i].key, value = model.entries[t][i].value;
                if (t / 2 == GC_WEAK_VALUES) more |= model_reach(key);
                if (t / 2 == GC_WEAK_KEYS || (t / 2 == GC_WEAK_EPHEMERONS && model_lives(key))) more |= model_reach(value);
            }
    }
    for (int t = 0; t < TABLES; t++)
        for (int i = 0; i < ENTRIES; i++) {
            int *key = &model.entries[t][i].key, *value = &model.entries[t][i].value;
            if (model_lives(*key) && model_lives(*value)) continue;
            *key = -2, *value = -1;
            model.cleared[t]++;
        }
}

static bool model_died(int i) { return i >= 0 && !gc_handle_get(model.handle[i]); }

/* After a collection of any kind: an entry is cleared exactly if the object that it refers to weakly is dead, as a weak
   handle knows. */
static void model_observe(void) {
    gc_stats s = stats();
    uint64_t collections = s.collections[0] + s.collections[1] + s.collections[2];
    if (collections == model.collections) return;
    model.collections = collections;
    for (int t = 0; t < TABLES; t++) {
        bool weak_key = t / 2 != GC_WEAK_VALUES, weak_value = t / 2 == GC_WEAK_VALUES || t / 2 == GC_WEAK_PAIRS;
        for (int i = 0; i < ENTRIES; i++) {
            int *key = &model.entries[t][i].key, *value = &model.entries[t][i].value;
            bool ended = (weak_key && model_died(*key)) || (weak_value && model_died(*value));
            bool cleared = entries_of(model.tables->items[t])[i].key == &tombstone;
            model.wrong += cleared != (ended || *key == -2);
            model.wrong += !cleared && (model_died(*key) || model_died(*value));
            if (!ended) continue;
            model.cleared[t]++;
            *key = -2, *value = -1;
        }
    }
}

/* The object of that number, which may be dead: then it is made anew, and not held. */
static node *model_object(int i) {
    if (i < 0) return NULL;
    if (model_died(i)) {
        node *made = new_node((uint64_t)i);
        GC_ROOTS(gc, made);
        model_observe();
        gc_handle_set(model.handle[i], made);
        model.next[i] = -1;
    }
    return gc_handle_get(model.handle[i]);
}

static void model_set(int t, size_t i, int key, int value) {
    if (t / 2 == GC_WEAK_REFS) value = -1;
    node *a = model_object(key), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = model_object(value);
    model.entries[t][i].key = key, model.entries[t][i].value = value;
    table_set(model.tables->items[t], i, a, b);
}

static void model_change(vector *held) {
    int i = (int)(random_bits() % OBJECTS), j = (int)(random_bits() % OBJECTS), t = (int)(random_bits() % TABLES);
    unsigned what = (unsigned)(random_bits() % 8);
    GC_ROOTS(gc, held);
    if (what == 0) {
        node *a = model_object(i);
        model.held[i] = true;
        gc_store(gc, &held->items[i], a);
    } else if (what == 1) {
        model.held[i] = false;
        gc_store(gc, &held->items[i], NULL);
    } else if (what == 2) {
        node *a = model_object(i), *b = NULL;
        GC_ROOTS(gc, a, b);
        b = model_object(j);
        model.next[i] = j;
        gc_store(gc, &a->left, b);
    } else {
        model_set(t, random_bits() % ENTRIES, i, random_bits() % 16 ? j : -1);
    }
}

static int model_compare(void) {
    int wrong = 0;
    for (int i = 0; i < OBJECTS; i++) wrong += (gc_handle_get(model.handle[i]) != NULL) != model.reached[i];
    for (int t = 0; t < TABLES; t++) {
        table *now = model.tables->items[t];
        for (int i = 0; i < ENTRIES; i++) {
            const node *key = gc_load_weak(gc, &entries_of(now)[i].key), *value = gc_load_weak(gc, &entries_of(now)[i].value);
            int k = model.entries[t][i].key, v = model.entries[t][i].value;
            wrong += k == -2 ? key != &tombstone : k == -1 ? key != NULL : key->value != (uint64_t)k;
            if (t / 2 != GC_WEAK_REFS) wrong += v < 0 ? value != NULL : value->value != (uint64_t)v;
        }
        wrong += now->cleared != model.cleared[t];
    }
    return wrong;
}

static void tables_of_all_kinds(void) {
    int rounds = GC_DEBUG ? 60 : 200;
    vector *held = NULL;
    memset(&model, 0, sizeof model);
    gc_roots_add(heap, &model.tables, 1, 0);
    GC_ROOTS(gc, held);
    model.tables = new_vector(TABLES);
    held = new_vector(OBJECTS);
    for (int i = 0; i < OBJECTS; i++) model.handle[i] = gc_handle_create(heap, GC_HANDLE_WEAK, NULL), model.next[i] = -1;
    for (int t = 0; t < TABLES; t++) {
        table *made = new_table((gc_weak_kind)(t / 2), ENTRIES, t % 2);
        gc_store(gc, &model.tables->items[t], made);
        for (int i = 0; i < ENTRIES; i++) model.entries[t][i].key = model.entries[t][i].value = -1;
    }
    for (int round = 0; round < rounds; round++) {
        /* Ephemerons in a chain, against the order of entries. */
        for (int i = 0; round % 4 == 0 && i + 1 < OBJECTS; i++) model_set(TABLES - 1 - round / 4 % 2, (size_t)i, OBJECTS - 1 - i, OBJECTS - 2 - i);
        for (int i = 0; i < 100; i++) {
            model_change(held);
            if (random_bits() % 32 == 0) gc_collect(heap, (int)(random_bits() % 3), random_bits() % 2 ? 0 : GC_COLLECT_COMPACTING);
            model_observe();
        }
        model_collect();
        full();
        model.wrong += model_compare();
        model.collections = 0;
        model_observe();
    }
    is(model.wrong, 0, "weak tables of all kinds, in objects and in buffers, agree with a model");
    for (int i = 0; i < OBJECTS; i++) gc_handle_destroy(heap, model.handle[i]);
    gc_roots_remove(heap, &model.tables);
}

/* Arrays with ready-made trace functions. */
static const gc_type names_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);
typedef struct pairs {
    gc_array header;
    struct { node *key, *value; } items[];
} pairs;
static const gc_type pairs_type = GC_TYPE_ARRAY_TRACED(pairs, items, gc_trace_ephemerons);

static void ready_made(void) {
    enum { COUNT = 2000 };
    vector *names = gc_new_array(gc, &names_type, COUNT), *keep = NULL;
    pairs *notes = NULL;
    GC_ROOTS(gc, names, keep, notes);
    keep = new_vector(COUNT);
    notes = gc_new_array(gc, &pairs_type, COUNT);
    age(&names, 2), age(&notes, 2);
    for (size_t i = 0; i < COUNT; i++) {
        node *n = new_node(i);
        GC_ROOTS(gc, n);
        gc_store(gc, &names->items[i], n);
        gc_store(gc, &notes->items[i].key, n);
        if (i % 3 == 0) gc_store(gc, &keep->items[i], n);
        node *note = new_node(i + COUNT);
        gc_store(gc, &notes->items[i].value, note);
        if (i % 500 == 0) gc_collect(heap, 0, 0);
    }
    for (int round = 0; round < 4; round++) {
        int wrong = 0;
        gc_collect(heap, round == 3 ? 2 : round, round == 3 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < COUNT; i++) {
            const node *name = gc_load_weak(gc, &names->items[i]), *key = gc_load_weak(gc, &notes->items[i].key);
            const node *note = gc_load_weak(gc, &notes->items[i].value);
            wrong += key != name || (i % 3 == 0 && !name) || (round >= 2 && i % 3 && name);
            wrong += (key != NULL) != (note != NULL) || (name && name->value != i) || (note && note->value != i + COUNT);
        }
        is(wrong, 0, "ready-made weak arrays and ephemerons, round %d", round);
    }
}

/* In which order the entries of an object with a finalizer are cleared, and that it comes back. */
static table *short_table, *long_table, *ephemerons;
static node *returned;
static int states[2];

static int entry_state(const table *t) { return t->inside[0].key == &tombstone ? 0 : t->inside[0].value && t->inside[0].value->value == 2 ? 2 : 1; }

static void key_end(gc_thread *thread, void *object) {
    (void)thread;
    states[0] = entry_state(short_table) * 100 + entry_state(long_table) * 10 + entry_state(ephemerons);
    returned = object;
}

static void finalized_keys(void) {
    static const gc_finalizer key_finalizer = {.finalize = key_end};
    void **roots[] = {(void **)&short_table, (void **)&long_table, (void **)&ephemerons, (void **)&returned};
    for (int i = 0; i < 4; i++) *roots[i] = NULL, gc_roots_add(heap, roots[i], 1, 0);
    short_table = new_table(GC_WEAK_REFS, 1, false);
    long_table = new_table(GC_WEAK_REFS, 1, false);
    ephemerons = new_table(GC_WEAK_EPHEMERONS, 1, false);
    long_table->flags = GC_SLOT_WEAK_LONG;
    {
        node *key = new_node(1), *value = NULL;
        GC_ROOTS(gc, key, value);
        gc_finalizer_register(gc, key, &key_finalizer);
        value = new_node(2);
        table_set(short_table, 0, key, NULL);
        table_set(long_table, 0, key, NULL);
        table_set(ephemerons, 0, key, value);
    }
    full();
    is(gc_finalizer_run(gc, 10), 1, "a key is finalized");
    is(states[0], 12, "then its short entry is cleared, but neither the long one nor the ephemeron, which has its value");
    full();
    ok(returned == gc_load_weak(gc, &long_table->inside[0].key) && returned == ephemerons->inside[0].key && ephemerons->inside[0].value->value == 2,
       "it came back, and they stay");
    is(short_table->cleared * 100 + long_table->cleared * 10 + ephemerons->cleared, 100, "one was counted");
    returned = NULL;
    full();
    is(entry_state(long_table) + entry_state(ephemerons), 0, "it is gone for good, and so are they");
    is(short_table->cleared * 100 + long_table->cleared * 10 + ephemerons->cleared, 111, "and counted");
    for (int i = 0; i < 4; i++) gc_roots_remove(heap, roots[i]);
}

/* A table of the host's, whose entries scan_roots reports, and what visitors of the host's see. */
static entry own[3];
static void scan_own(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread;
    gc_weak_entries refs = {.keys = &own[0].key, .count = 1}, values = {.keys = &own[1].key, .values = &own[1].value, .count = 1};
    values.kind = GC_WEAK_VALUES;
    gc_weak_entries ephemeron = {.keys = &own[2].key, .values = &own[2].value, .count = 1, .kind = GC_WEAK_EPHEMERONS};
    gc_visit_weak(visitor, &refs), gc_visit_weak(visitor, &values), gc_visit_weak(visitor, &ephemeron);
}

static void tables_of_the_host(void) {
    memset(own, 0, sizeof own);
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    own[0].key = own[1].value = own[2].key = n;
    own[1].key = new_node(2);
    own[2].value = new_node(3);
    for (int i = 0; i < 4; i++) {
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
        ok(own[0].key == n && own[1].value == n && own[2].key == n && own[1].key->value == 2 && own[2].value->value == 3,
           "weak tables outside the heap, %d", i);
    }
    n = NULL;
    full();
    ok(!own[0].key && !own[1].key && !own[1].value && !own[2].key && !own[2].value, "are cleared");
    full();
    ok(stats().live_bytes < 100, "and keep nothing");
}

static size_t visited_slots, visited_weak;
static void count_slots(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    (void)visitor, (void)slot;
    visited_slots += count;
    visited_weak += flags & GC_SLOT_WEAK ? count : 0;
}

static void visited(void) {
    table *t = new_table(GC_WEAK_EPHEMERONS, 10, false);
    gc_visitor visitor = {count_slots};
    gc_object_visit(t, &visitor);
    is(visited_slots, 20, "gc_object_visit visits the slots of entries");
    is(visited_weak, 20, "with a flag");
}

/* Dependent handles lead to one another, and the last one, when the trace goes over to an index of keys, to a table. */
static void table_behind_a_chain(void) {
    enum { CHAIN = 12 };
    for (int length = 1; length < CHAIN; length++) {
        pairs *table = gc_new_array(gc, &pairs_type, 1);
        node *first = NULL, *key = NULL, *last = NULL;
        gc_handle chain[CHAIN], weak;
        GC_ROOTS(gc, table, first, key, last);
        key = new_node(1), first = last = new_node(2);
        {
            node *value = new_node(3);
            gc_store(gc, &table->items[0].key, key), gc_store(gc, &table->items[0].value, value);
            weak = gc_handle_create(heap, GC_HANDLE_WEAK, value);
        }
        for (int i = 0; i < length; i++) {
            chain[i] = gc_handle_create_dependent(heap, last, NULL);
            last = i < length - 1 ? new_node(4) : NULL;
            gc_handle_set_dependent(chain[i], last ? (void *)last : (void *)table);
        }
        table = NULL;
        gc_collect(heap, length % 3, 0);
        const node *value = gc_handle_get(weak);
        is(value ? value->value : 0, 3, "a value of a table behind a chain of %d dependents", length);
        for (int i = 0; i < length; i++) gc_handle_destroy(heap, chain[i]);
        gc_handle_destroy(heap, weak);
    }
}

static void split_entries(void *unused) {
    (void)unused;
    begin(NULL);
    table *t = new_table(GC_WEAK_EPHEMERONS, 1, false);
    GC_ROOTS(gc, t);
    t->flags = GC_SLOT_OWNED;
    split = calloc(1, sizeof *split);
    full();
}

static void refused_entries(void) {
    char text[1024];
    int status = tap_child(split_entries, NULL, text, sizeof text);
    ok(status, "entries of which one half is elsewhere end the program");
    has(text, "keep both there, or both in a buffer", "with a remedy");
}

int main(void) {
    run(kinds, (gc_options){0});
    run(kinds, (gc_options){.non_moving = true});
    run(many, (gc_options){0});
    run(many, (gc_options){.non_generational = true});
    run(keep_alive, (gc_options){0});
    run(ready_made, (gc_options){0});
    run(ready_made, (gc_options){.non_moving = true});
    run(ready_made, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 100});
    run(finalized_keys, (gc_options){0});
    run(finalized_keys, (gc_options){.test.scarce_memory = true});
    run(tables_of_the_host, (gc_options){.scan_roots = scan_own});
    run(visited, (gc_options){0});
    run(table_behind_a_chain, (gc_options){0});
    run(table_behind_a_chain, (gc_options){.collector_threads = 3, .test.collectors = 5});
    run(table_behind_a_chain, (gc_options){.test.scarce_memory = true});
    refused_entries();
    run(tables_of_all_kinds, (gc_options){0});
    run(tables_of_all_kinds, (gc_options){.non_moving = true});
    run(tables_of_all_kinds, (gc_options){.non_generational = true});
    run(tables_of_all_kinds, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 20});
    run(tables_of_all_kinds, (gc_options){.nursery_bytes = 4096, .test.scarce_memory = true});
    return done();
}
