/* Tables whose entries are strong, weak or ephemerons, and something else later, in a random graph, compared with a shadow
   model in a hook after each collection. After a full one that stops the program the model knows exactly what is cleared and
   what lives; after any other it knows what must be there. With TABLES_NANBOX entries are words with a tag in them, and with
   TABLES_WIDE words with a tag beside them.

   tables [--mode=MODE] [--seed=S] [--ops=N] [--rounds=N]
   The same arguments do the same again. Each round has the next seed. */
#define _GNU_SOURCE
#include <stdint.h>

typedef struct value {
    uintptr_t word;
#ifdef TABLES_WIDE
    uint64_t tag; /* 1: the word is a reference */
#endif
} value;
#if defined(TABLES_WIDE)
#define GC_VALUE_SLOT_IS_REF(slot) (__atomic_load_n(&((const value *)(slot))->tag, __ATOMIC_RELAXED) == 1)
#elif defined(TABLES_NANBOX)
#define GC_VALUE_MASK ((uintptr_t)0xFFFC << 48)
#define GC_VALUE_TAG GC_VALUE_MASK
#endif
#ifdef SHARES_INSIDE
#include "../inside.h"
#else
#define GC_IMPLEMENTATION
#endif
#include "replay.h"

#include <stddef.h>

enum { ITEMS = 600, ROOTS = 16, ENTRIES = 250, STRONG = GC_WEAK_EPHEMERONS + 1, KEY = 0, VALUE = 1 };
enum { PLAIN, FINALIZED, TABLE, TYPES };
enum { NONE, REGISTERED, DOOMED, QUEUED }; /* DOOMED: perhaps a marking has found it dead, and queues it later */
static const uintptr_t cleared_word = 8;

/* All objects have entries. Those of plain objects are strong, and their type says where they are. */
typedef struct table {
    gc_array header;
    uint64_t id;
    size_t cleared, count; /* `count`: of the entries outside */
    void *outside;         /* a buffer; NULL: the entries are in the object */
    uint32_t kind, flags;
    bool apart; /* all keys in the object come before all values */
    uint64_t inside[];
} table;
/* The parts of an entry are not next to one another, so many entries begin in one slice of a table and end in the next. */
enum { PART_BYTES = sizeof(value) + 8, ENTRY_BYTES = PART_BYTES + sizeof(value) };

static value *place(void *entries, size_t i, size_t part) {
    return (value *)(void *)((char *)entries + i * ENTRY_BYTES + part * PART_BYTES);
}
static size_t count_of(const table *t) { return t->outside ? t->count : t->header.length; }
static bool is_apart(const table *t) { return t->apart && !t->outside; }
static value *slot_of(table *t, size_t i, size_t part) {
    if (is_apart(t)) return (value *)(void *)t->inside + part * count_of(t) + i;
    return place(t->outside ? t->outside : t->inside, i, part);
}

#ifdef TABLES_WIDE
static void set_tag(value *slot, uint64_t tag) { __atomic_store_n(&slot->tag, tag, __ATOMIC_RELAXED); }
#define IS_REF(slot, word) ((slot)->tag == 1)
#else
static void set_tag(value *slot, uint64_t tag) { (void)slot, (void)tag; }
#define IS_REF(slot, word) (GC_VALUE_IS_REF(word) && (word) != cleared_word)
#endif
static void *object_in(const value *slot) {
    uintptr_t word = gc_load_weak_value(gc, slot);
    return IS_REF(slot, word) ? (void *)GC_VALUE_TO_REF(word) : NULL;
}
static void on_cleared(void *key, void *partner) {
    set_tag(key, 0);
    if (partner) set_tag(partner, 0);
}

static void table_trace(void *object, gc_visitor *visitor) {
    table *t = object;
    size_t count = count_of(t);
    unsigned flags = (GC_HAS_VALUES ? GC_SLOT_VALUE : 0u) | (t->outside ? GC_SLOT_OWNED : 0u);
    for (size_t i = 0; i < count && t->kind == STRONG; i++) gc_visit(visitor, slot_of(t, i, KEY), 1, flags);
    for (size_t i = 0; i < count && (t->kind == STRONG || t->kind == GC_WEAK_REFS); i++)
        gc_visit(visitor, slot_of(t, i, VALUE), 1, flags);
    if (t->kind == STRONG || !count) return;
    gc_weak_entries entries = {.keys = slot_of(t, 0, KEY), .values = slot_of(t, 0, VALUE), .count = count};
    entries.entry_bytes = is_apart(t) ? sizeof(value) : ENTRY_BYTES;
    entries.kind = (gc_weak_kind)t->kind;
    entries.flags = flags | t->flags;
    entries.cleared_key = entries.cleared_value = cleared_word;
    entries.cleared_count = &t->cleared;
    entries.cleared = on_cleared;
    gc_visit_weak(visitor, &entries);
}

static void finalize(gc_thread *thread, void *object);
static const gc_finalizer finalizer = {finalize, false, NULL};
enum { MASK = 1 | 1 << PART_BYTES / 8 };
#define TABLE_TYPE .bytes = offsetof(table, inside), .element_bytes = ENTRY_BYTES
#define PLAIN_TYPE TABLE_TYPE, .element_refs = GC_HAS_VALUES ? 0 : MASK, .element_values = GC_HAS_VALUES ? MASK : 0
static const gc_type types[TYPES] = {{.name = "plain", PLAIN_TYPE},
                                     {.name = "finalized", PLAIN_TYPE, .finalizer = &finalizer},
                                     {.name = "table", TABLE_TYPE, .trace = table_trace}};

/* The model. Item 0 is null. */
typedef struct item {
    bool exists;
    int type, state;
    uint32_t kind, flags;
    size_t count, cleared;
    void *outside;
    uint32_t entries[ENTRIES][2];
} item;
static item items[ITEMS];
static table *roots[ROOTS];
static uint32_t root_ids[ROOTS];
static uint64_t compared, markings, remarks, cleared;
static bool ending;

/* What is reached from roots, and with what only finalizers will see: 1 for each item. */
static uint8_t live[ITEMS], kept[ITEMS], seen[ITEMS];
static bool exact;
static uint32_t pending[ITEMS];
static size_t pending_count;
static void reach(uint8_t *set, uint32_t id) {
    if (!id || set[id]) return;
    set[id] = 1;
    pending[pending_count++] = id;
}

/* The set by which a table's entries are cleared: late ones, and those in what only finalizers will see, by all that is kept. */
static const uint8_t *deciding(uint32_t id) {
    const item *x = &items[id];
    bool late = x->kind == GC_WEAK_EPHEMERONS ? !(x->flags & GC_SLOT_WEAK_SHORT) : x->flags & GC_SLOT_WEAK_LONG;
    return late || (exact && !live[id]) ? kept : live;
}

/* A strong part of an entry must be there only while the weak one lives, but a full collection always keeps it. */
static void follow(uint8_t *set, uint32_t id) {
    const item *x = &items[id];
    const uint8_t *by = set == live ? live : deciding(id);
    for (size_t i = 0; i < x->count; i++) {
        uint32_t key = x->entries[i][KEY], partner = x->entries[i][VALUE], weak = x->kind == GC_WEAK_VALUES ? partner : key;
        bool stays = !weak || by[weak] || (exact && x->kind != GC_WEAK_EPHEMERONS);
        bool pair = x->kind == GC_WEAK_KEYS || x->kind == GC_WEAK_EPHEMERONS;
        if (x->kind == STRONG || (x->kind == GC_WEAK_VALUES && stays)) reach(set, key);
        if (x->kind == STRONG || x->kind == GC_WEAK_REFS || (pair && stays)) reach(set, partner);
    }
}

static void close_set(uint8_t *set) {
    do {
        while (pending_count) follow(set, pending[--pending_count]);
        for (uint32_t id = 1; id < ITEMS; id++)
            if (set[id] && items[id].kind != STRONG) follow(set, id);
    } while (pending_count);
}

static void find_live(void) {
    memset(live, 0, sizeof live);
    for (size_t i = 0; i < ROOTS; i++) reach(live, root_ids[i]);
    for (uint32_t id = 1; id < ITEMS; id++)
        if (items[id].state == QUEUED) reach(live, id);
    close_set(live);
    memcpy(kept, live, sizeof kept);
    for (uint32_t id = 1; id < ITEMS; id++)
        if (items[id].state != NONE) reach(kept, id);
    close_set(kept);
}

/* The comparison goes wherever the program could, through weak parts, too. */
static table *to_compare[ITEMS];
static size_t to_compare_count;
static void meet(table *object, uint32_t id, const char *what, uint32_t number) {
    if (!object && !id) return;
    if (!object || !id) wrong("%s %u is %p instead of item %u", what, number, (void *)object, id);
    if (!items[id].exists) wrong("%s %u is item %u, which is gone: a fault of this test", what, number, id);
    if (!gc_heap_contains(heap, object)) wrong("%s %u, item %u, leads nowhere", what, number, id);
    if (gc_object_type(object) != &types[items[id].type]) wrong("%s %u has another type than item %u", what, number, id);
    if (object->id != id) wrong("%s %u is item %u instead of %u", what, number, (unsigned)object->id, id);
    if (exact && !kept[id]) wrong("%s %u is item %u, which is dead", what, number, id);
    if (!seen[id]) to_compare[to_compare_count++] = object;
    seen[id] = 1;
}

/* Compares an entry, which is empty in the model once it is cleared. Returns whether that has happened now. */
static bool compare_entry(table *t, size_t i) {
    uint32_t id = (uint32_t)t->id, *is = items[id].entries[i], kind = items[id].kind;
    table *key = object_in(slot_of(t, i, KEY)), *partner = object_in(slot_of(t, i, VALUE));
    const uint8_t *by = deciding(id);
    bool weak_key = kind != STRONG && kind != GC_WEAK_VALUES, weak_value = kind == GC_WEAK_VALUES || kind == GC_WEAK_PAIRS;
    bool dies = (weak_key && is[KEY] && !by[is[KEY]]) || (weak_value && is[VALUE] && !by[is[VALUE]]);
    bool gone = kind == GC_WEAK_REFS ? !key && is[KEY] : !key && !partner && (is[KEY] || is[VALUE]);
    if (gone ? !dies : exact && dies)
        wrong("entry %zu of table %u (kind %u, flags %#x), items %u and %u, is%s cleared", i, id, kind, items[id].flags, is[KEY],
              is[VALUE], gone ? "" : " not");
    if (gone) is[KEY] = 0;
    if (gone && kind != GC_WEAK_REFS) is[VALUE] = 0;
    meet(key, is[KEY], "a key of item", id);
    meet(partner, is[VALUE], "a value of item", id);
    return gone;
}

static void compare_table(table *t) {
    item *x = &items[t->id];
    size_t now = 0;
    for (size_t i = 0; i < x->count; i++) now += compare_entry(t, i);
    x->cleared += now, cleared += now;
    if (t->cleared != x->cleared) wrong("table %u counts %zu cleared entries, not %zu", (unsigned)t->id, t->cleared, x->cleared);
}

/* By the heap's lists of finalizers, which lead to what the program may see again. */
static void compare_finalizers(bool full) {
    const gc__finalizers *all = heap->finalizers;
    int states[ITEMS] = {NONE};
    for (int list = 0; list < 3; list++) {
        const gc__words *pairs = list ? &all->due[list - 1].pairs : &all->registered;
        for (size_t at = list ? all->due[list - 1].head : 0; at < pairs->count; at += 2) {
            table *t = (table *)pairs->words[at];
            if (!t) continue; /* it has ended */
            meet(t, (uint32_t)t->id, "the object of finalizer", (uint32_t)at / 2);
            states[t->id] = list ? QUEUED : REGISTERED;
        }
    }
    bool later = !full && (heap->marking || gc__is_deciding(all));
    for (uint32_t id = 1; id < ITEMS; id++) {
        int was = items[id].state, *now = &states[id];
        if ((was == NONE) != (*now == NONE) || (was == QUEUED && *now != QUEUED)) wrong("the finalizer of item %u is lost", id);
        if (was == REGISTERED && *now == QUEUED && live[id]) wrong("the finalizer of item %u is queued, but it lives", id);
        if (exact && *now == REGISTERED && !live[id]) wrong("item %u has died, but its finalizer is not queued", id);
        if (*now == REGISTERED && later && (!live[id] || was == DOOMED)) *now = DOOMED;
        items[id].state = *now;
    }
}

static void forget_dead(void) {
    size_t count = 0;
    for (uint32_t id = 1; id < ITEMS; id++) {
        count += kept[id];
        if (!items[id].exists || kept[id]) continue;
        free(items[id].outside);
        memset(&items[id], 0, sizeof items[id]);
    }
    if (gc__count_marks(heap) != count) wrong("%zu objects have survived instead of %zu", gc__count_marks(heap), count);
}

/* The world is stopped, the collection is done. */
static void on_collection_end(void *host, const gc_collection *collection) {
    bool full = collection->generation == 2 && !gc__is_mark_end(heap);
    (void)host;
    if (ending) return;
    exact = full;
    for (uint32_t id = 1; id < ITEMS; id++) exact &= items[id].state != DOOMED;
    collections++, compared += exact, markings += gc__is_mark_end(heap), remarks += gc__is_remark(heap);
    find_live();
    memset(seen, 0, sizeof seen);
    compare_finalizers(full);
    for (uint32_t i = 0; i < ROOTS; i++) meet(roots[i], root_ids[i], "root", i);
    while (to_compare_count) compare_table(to_compare[--to_compare_count]);
    if (exact) forget_dead();
}

/* Operations. Each finds objects from roots, for only their addresses are kept up to date. */

static void root_set(size_t i, table *t) {
    roots[i] = t;
    root_ids[i] = t ? (uint32_t)t->id : 0;
}

/* Goes some steps from a root, also where only weak parts lead. */
static table *some_object(void) {
    table *t = roots[below(ROOTS)];
    for (size_t steps = below(6), tries = 12; t && count_of(t) && steps && tries; tries--) {
        size_t i = below(count_of(t));
        table *next = object_in(slot_of(t, i, below(2)));
        if (next) t = next, steps--;
    }
    return t;
}

/* A number may look like an address. */
static void put(table *t, size_t i, size_t part, table *object) {
    value *slot = slot_of(t, i, part), v = {0};
    if (object) v.word = GC_VALUE_FROM_REF((uintptr_t)object, 0);
    if (!object && GC_HAS_VALUES && below(3) == 0) v.word = (uintptr_t)roots[below(ROOTS)];
    set_tag(&v, object != NULL);
    size_t how = below(3);
    if (how) set_tag(slot, object != NULL);
    if (how && t->outside)
        gc_store_value_in(gc, t, slot, v.word);
    else if (how)
        gc_store_value(gc, slot, v.word);
    else if (t->outside)
        gc_remember(gc, t), *slot = v;
    else
        gc_copy_values(gc, slot, &v, 1);
    items[t->id].entries[i][part] = object ? (uint32_t)object->id : 0;
}

/* Puts the object or null, and maybe another object, into an entry of some table, or the first into a root. */
static void keep(table *object) {
    table *t = some_object();
    if (!t || !count_of(t) || below(10) == 0) {
        root_set(below(ROOTS), object);
        return;
    }
    size_t i = below(count_of(t)), part = below(2);
    put(t, i, part, object);
    put(t, i, !part, below(2) ? some_object() : NULL);
}

/* The entries move to a new buffer outside the heap, with empty ones behind them. */
static void move_outside(table *t, size_t count) {
    char *buffer = calloc(count, ENTRY_BYTES);
    gc_remember(gc, t);
    for (size_t i = 0; i < count_of(t); i++)
        for (size_t part = 0; part < 2; part++) *place(buffer, i, part) = *slot_of(t, i, part);
    free(t->outside);
    t->outside = items[t->id].outside = buffer;
    t->count = items[t->id].count = count;
}

/* Most tables that become strong had something that nothing else kept. */
static void change_kind(table *t) {
    item *x = &items[t->id];
    x->kind = t->kind = (uint32_t)(below(2) ? STRONG : below(STRONG));
    x->flags = t->flags = below(2) ? 0 : x->kind == GC_WEAK_EPHEMERONS ? GC_SLOT_WEAK_SHORT : GC_SLOT_WEAK_LONG;
}

static void collect_all(void) {
    gc_finalizer_run(gc, SIZE_MAX);
    full();
    full();
}

static void op_new(void) {
    uint32_t id = 0;
    for (size_t tries = 30; (!id || items[id].exists) && tries; tries--) id = 1 + (uint32_t)below(ITEMS - 1);
    for (size_t i = 0; i < ROOTS && items[id].exists; i++)
        if (below(2)) root_set(i, NULL);
    if (items[id].exists) {
        collect_all();
        return;
    }
    size_t choice = below(8), type = choice < 3 ? PLAIN : choice < 4 ? FINALIZED : TABLE;
    size_t count = below(40) ? 1 + below(14) : 1 + below(ENTRIES), inside = type == TABLE && below(4) == 0 ? 0 : count;
    unsigned fixed = below(12) ? 0 : GC_NEW_FIXED;
    table *t = gc_new_with(gc, &types[type], inside, fixed);
    if (!t) wrong("no memory: %s", gc_last_message());
    items[id] = (item){.exists = true, .type = (int)type, .kind = STRONG, .count = inside};
    if (type == FINALIZED) items[id].state = REGISTERED;
    t->id = id;
    t->kind = STRONG;
    t->apart = type == TABLE && below(3) == 0;
    if (type == TABLE) change_kind(t);
    if (!inside) move_outside(t, count);
    keep(t);
}

static void op_keep(void) { keep(some_object()); }
static void op_drop(void) { root_set(below(ROOTS), NULL); }

static void op_change(void) {
    for (size_t n = 1 + below(4); n; n--) {
        table *t = some_object();
        if (t && items[t->id].type == TABLE) change_kind(t);
    }
}

static void op_grow(void) {
    table *t = some_object();
    size_t count = t ? count_of(t) + 1 + below(6) : SIZE_MAX;
    if (count > ENTRIES) return;
    if (items[t->id].type == TABLE && (t->outside || t->apart || below(4) == 0))
        move_outside(t, count);
    else if (gc_array_grow(gc, t, count))
        items[t->id].count = count;
}

static void finalize(gc_thread *thread, void *object) {
    item *x = &items[((table *)object)->id];
    if (!ending && x->state < DOOMED) wrong("the finalizer of item %zu runs, but it is not queued", (size_t)(x - items));
    x->state = NONE;
    if (ending || below(3)) return;
    root_set(below(ROOTS), object);
    if (below(2) && gc_finalizer_register(thread, object, &finalizer) == GC_OK) x->state = REGISTERED;
}
static void op_run(void) { gc_finalizer_run(gc, below(3) ? below(8) : SIZE_MAX); }

static void op_collect(void) {
    static const unsigned how[] = {0, GC_COLLECT_BLOCKING, GC_COLLECT_NON_BLOCKING, GC_COLLECT_COMPACTING};
    int generation = below(3) ? (int)below(2) : 2;
    if (generation == 2 && heap->marking && below(4)) return; /* most markings come to their ends */
    gc_collect(heap, generation, how[below(4)]);
}

/* Some steps of a marking beside the program, or its end. */
static void op_mark(void) {
    if (heap->options.concurrent != GC_CONCURRENT_ON) return;
    if (!heap->marking && below(4) == 0) gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    if (heap->marking && below(12) == 0) {
        gc__heap_lock(heap);
        const gc__request end = gc__request_mark_end(heap, GC_REASON_GROWTH, GC_DEGENERATED_REQUEST);
        const gc__request done = gc__request_when_done(heap, GC_REASON_GROWTH);
        gc__collect_requested(heap, below(4) ? &done : &end);
        gc__heap_unlock(heap);
        return;
    }
    size_t turns = below(8) ? below(6) : 1000;
    while (turns && gc__marker_turn(heap, 1 + below(8))) turns--;
}

/* Modes. The seed chooses the numbers. */

#define BESIDE .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1
#define TRACING BESIDE, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT
static const run_mode modes[] = {{"moving", {.debug.stress = GC_STRESS_NTH}},
             {"non_moving", {.non_moving = true}},
             {"non_generational", {.non_generational = true}},
             {"beside", {BESIDE}},
             {"tracing", {TRACING}},
             {"tracing_stress", {TRACING, .debug.stress = GC_STRESS_NTH}},
             {"leaving", {TRACING, .test.candidates = true}},
             {"without_memory", {TRACING, .test.scarce_memory = true}}};

static void work(void) {
    static const operation ops[] = {{op_new, 60}, {op_keep, 50},   {op_drop, 6}, {op_change, 30},
               {op_grow, 6}, {op_collect, 4}, {op_run, 2},  {op_mark, 40}};
    GC_ROOTS_ARRAY(gc, roots, ROOTS, 0);
    /* Most of what can go wrong goes on beside the program. */
    unsigned long long count = heap->options.concurrent == GC_CONCURRENT_ON ? run_options.ops : run_options.ops / 4;
    operate(ops, sizeof ops / sizeof *ops, count);
    for (size_t i = 0; i < 2; i++) collect_all();
    ending = true;
}

static void run_round(gc_options options) {
    state = (run_options.seed + 1) * 0x9E3779B97F4A7C15u | 1;
    for (int i = 0; i < 8; i++) below(2);
    memset(items, 0, sizeof items), memset(roots, 0, sizeof roots), memset(root_ids, 0, sizeof root_ids);
    ending = false;
    options.collection_end = on_collection_end;
    options.nursery_bytes = (32 << 10) + below(200 << 10);
    if (options.test.marker_steps) options.test.marker_steps = 1 + (unsigned)below(8);
    if (options.debug.stress) options.debug.stress_interval = 1 + (unsigned)below(60);
    if (below(4) == 0) options.collector_threads = 3, options.test.collectors = 2 + (unsigned)below(100);
    options.debug.verify = below(4) ? 0 : GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    options.debug.checkmark = below(2);
    begin(&options);
    work();
    end();
    for (size_t id = 1; id < ITEMS; id++) free(items[id].outside);
}

static void run_one(const run_mode *mode, size_t number) {
    unsigned long long first = run_options.seed;
    collections = compared = markings = remarks = cleared = 0;
    for (; run_options.seed < first + run_options.rounds; run_options.seed++) run_round(mode->options);
    run_options.seed = first;
    bool enough = cleared && compared && (remarks || mode->options.concurrent != GC_CONCURRENT_ON);
    if (!enough && run_options.rounds > 1) wrong("too little has happened");
    printf("ok %zu - %s: %llu collections, %llu exact, %llu markings, %llu remarks, %llu entries cleared\n", number,
           run_options.mode, (unsigned long long)collections, (unsigned long long)compared, (unsigned long long)markings,
           (unsigned long long)remarks, (unsigned long long)cleared);
    fflush(stdout);
}

int main(int count, char **arguments) {
    run_options.seed = 1, run_options.ops = 4000, run_options.rounds = 1;
    return run_modes(count, arguments, modes, sizeof modes / sizeof *modes, run_one);
}
