/* Values of 16 bytes whose tag is beside the word. */
#define _GNU_SOURCE
#include <stdint.h>

typedef struct value {
    union {
        void *object;
        uintptr_t word;
    } as;
    uint64_t tag;
} value;
enum { NIL, NUMBER, OBJECT };
#define GC_VALUE_SLOT_IS_REF(slot) (__atomic_load_n(&((const value *)(slot))->tag, __ATOMIC_RELAXED) == OBJECT)

#define GC_IMPLEMENTATION
#include "../fixture.h"

typedef struct pair {
    gc_object header;
    value first;
    uint64_t id;
    value second;
    void *plain;
} pair;
typedef struct row {
    gc_array header;
    value items[];
} row;
typedef struct record {
    uint64_t pad;
    value key, value;
} record;
typedef struct records {
    gc_array header;
    record items[];
} records;

static gc_heap *heap_of_traced;
static void traced_trace(void *object, gc_visitor *visitor) {
    row *r = (row *)object;
    size_t first, count = gc_visitor_range(visitor, r->items, sizeof(value), r->header.length, &first);
    heap_of_traced = gc_object_heap(object);
    gc_visit(visitor, &r->items[first], count, GC_SLOT_VALUE);
}
static void all_trace(void *object, gc_visitor *visitor) {
    gc_visit(visitor, ((row *)object)->items, ((row *)object)->header.length, GC_SLOT_VALUE);
}
static const gc_type pair_type = GC_TYPE_WITH(pair, refs(plain), values(first, second));
static const gc_type row_type = GC_TYPE_ARRAY_VALUES(row, items);
static const gc_type records_type = GC_TYPE_ARRAY_WITH(records, items, element_values(key, value));
static const gc_type all_type = GC_TYPE_ARRAY_TRACED(row, items, all_trace);
static const gc_type traced_type = GC_TYPE_ARRAY_TRACED(row, items, traced_trace);

static value number(uintptr_t word) { return (value){{.word = word}, NUMBER}; }
static value object(void *o) { return (value){{.object = o}, OBJECT}; }
static void store(value *slot, value v) {
    __atomic_store_n(&slot->tag, v.tag, __ATOMIC_RELAXED);
    gc_store_value(gc, slot, v.as.word);
}
static uint64_t value_of(const value *v) { return ((node *)v->as.object)->value; }

/* A third of the values are objects, a third numbers, which look like addresses of objects that die, and a third neither. */
static void fill(value *items, size_t count, uintptr_t dead) {
    for (size_t i = 0; i < count; i++) {
        if (i % 3 == 0) store(&items[i], object(new_node(i)));
        if (i % 3 == 1) store(&items[i], number(dead));
    }
}
static size_t wrong(const value *items, size_t count, uintptr_t dead) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 3 == 0) wrong += items[i].tag != OBJECT || value_of(&items[i]) != i;
        if (i % 3 == 1) wrong += items[i].tag != NUMBER || items[i].as.word != dead;
        if (i % 3 == 2) wrong += items[i].tag != NIL || items[i].as.word != 0;
    }
    return wrong;
}

enum { MANY = 1000 };
static void *make(const gc_type *type, size_t length) { return gc_new_array(gc, type, length); }

static void arrays(void) {
    row *masked = NULL, *traced = NULL;
    records *structs = NULL;
    pair *last = NULL;
    GC_ROOTS(gc, masked, traced, structs, last);
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, new_node(1));
    uintptr_t dead = (uintptr_t)gc_handle_get(weak);
    masked = (row *)make(&row_type, MANY);
    for (size_t i = 0; i < MANY; i++) {
        node *n = i % 3 ? NULL : new_node(i);
        store(&masked->items[i], n ? object(n) : i % 3 == 1 ? number(dead) : (value){{0}, NIL});
    }
    traced = (row *)make(&traced_type, MANY);
    for (size_t i = 0; i < MANY; i += 3) {
        node *n = new_node(i);
        store(&traced->items[i], object(n));
        if (i + 1 < MANY) store(&traced->items[i + 1], number(dead));
    }
    structs = (records *)make(&records_type, MANY);
    for (size_t i = 0; i < MANY; i++) {
        node *n = new_node(i);
        store(&structs->items[i].key, object(n));
        structs->items[i].pad = dead;
        store(&structs->items[i].value, number(dead));
    }
    for (size_t i = 0; i < MANY; i++) {
        pair *p = (pair *)gc_new(gc, &pair_type);
        p->id = i;
        store(&p->first, last ? object(last) : number(dead));
        store(&p->second, number(dead));
        last = p;
    }
    for (int generation = 0; generation < 3; generation++) {
        gc_collect(heap, generation, generation == 2 ? GC_COLLECT_COMPACTING : 0);
        is(wrong(masked->items, MANY, dead), 0, "an array by its mask, after a collection of generation %d", generation);
        is(wrong(traced->items, MANY, dead), 0, "an array by its trace function");
        size_t bad = 0, length = 0;
        for (size_t i = 0; i < MANY; i++)
            bad += structs->items[i].pad != dead || value_of(&structs->items[i].key) != i ||
                   structs->items[i].value.as.word != dead;
        is(bad, 0, "structs with two values each");
        for (pair *p = last; p; p = p->first.tag == OBJECT ? (pair *)p->first.as.object : NULL)
            bad += p->id != MANY - 1 - length++ || p->second.as.word != dead;
        is(bad, 0, "fields");
        is(length, MANY, "to the end of the list");
    }
    ok(!gc_handle_get(weak), "a number that looks like an address keeps nothing");
    ok(heap_of_traced == heap, "a trace function is told its heap");
    ok(!gc_object_heap(&heap_of_traced) && !gc_object_heap(NULL), "there is none outside");
    gc_handle_destroy(heap, weak);
}

/* Stores to an old array, one by one and in ranges, which dirty cards of their own. */
static void old_arrays_of(const gc_type *type) {
    row *from = NULL, *to = NULL;
    GC_ROOTS(gc, from, to);
    to = (row *)make(type, MANY);
    age(&to, 2);
    size_t bad = 0, collections = 0;
    for (size_t i = 0; i < MANY; i += 1 + i % 7) {
        node *n = new_node(i);
        store(&to->items[i], object(n));
        if (random_bits() % 16 == 0) gc_collect(heap, 0, 0), collections++;
    }
    gc_collect(heap, 0, 0);
    for (size_t i = 0; i < MANY; i += 1 + i % 7) bad += value_of(&to->items[i]) != i;
    is(bad, 0, "old slots keep what is stored to them, through %zu young collections", collections);
    for (size_t count = 1; count < 300; count = count * 2 + 1) {
        size_t at = random_bits() % (MANY - 2 * count);
        from = (row *)make(&row_type, count);
        for (size_t i = 0; i < count; i++) {
            node *n = new_node(i);
            store(&from->items[i], object(n));
        }
        gc_copy_values(gc, &to->items[at], from->items, count);
        gc_collect(heap, 0, 0);
        for (size_t i = 0; i < count; i++) bad += value_of(&to->items[at + i]) != i;
        gc_copy_values(gc, &to->items[at + count / 2], &to->items[at], count); /* overlapping */
        for (size_t i = 0; i < count; i++) bad += value_of(&to->items[at + count / 2 + i]) != i;
        from = (row *)make(&row_type, count);
        for (size_t i = 0; i < count; i++) {
            node *n = new_node(i + 1);
            store(&from->items[i], object(n));
        }
        gc_stores_begin(gc, &to->items[at], count, GC_SLOT_VALUE);
        memcpy(&to->items[at], from->items, count * sizeof(value));
        gc_stores_end(gc, &to->items[at], count, GC_SLOT_VALUE);
        gc_collect(heap, 0, 0);
        for (size_t i = 0; i < count; i++) bad += value_of(&to->items[at + i]) != i + 1;
    }
    is(bad, 0, "and what is copied there");
}

static void old_arrays(void) {
    old_arrays_of(&row_type);
    old_arrays_of(&traced_type);
    old_arrays_of(&all_type);
}

static value globals[9];
static void roots(void) {
    value locals[7] = {{{0}, NIL}};
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, new_node(1));
    uintptr_t dead = (uintptr_t)gc_handle_get(weak);
    GC_ROOTS_ARRAY(gc, locals, 7, GC_SLOT_VALUE);
    ok(gc_roots_add(heap, globals, 9, GC_SLOT_VALUE) == GC_OK, "global values");
    fill(locals, 7, dead);
    fill(globals, 9, dead);
    for (int generation = 0; generation < 3; generation++) {
        gc_collect(heap, generation, generation == 2 ? GC_COLLECT_COMPACTING : 0);
        is(wrong(locals, 7, dead) + wrong(globals, 9, dead), 0, "roots, after a collection of generation %d", generation);
    }
    ok(!gc_handle_get(weak), "a number in a root keeps nothing");
    gc_handle_destroy(heap, weak);
    ok(gc_roots_remove(heap, globals) == GC_OK, "they end");
    memset(globals, 0, sizeof globals);
}

typedef struct coroutine {
    gc_object header;
    gc_value_stack values;
} coroutine;
static void coroutine_trace(void *object, gc_visitor *visitor) {
    gc_visit_stack(visitor, &((coroutine *)object)->values, NULL);
}
static const gc_type coroutine_type = GC_TYPE_TRACED(coroutine, coroutine_trace);

static void stacks(void) {
    coroutine *c = NULL;
    ptrdiff_t moved;
    GC_ROOTS(gc, c);
    c = (coroutine *)gc_new(gc, &coroutine_type);
    c->values.flags = GC_SLOT_VALUE;
    ok(gc_value_stack_reserve(heap, &c->values, 300 * sizeof(value), &moved) == GC_OK, "a stack of values");
    memset(c->values.base, 0, 300 * sizeof(value));
    c->values.top = (value *)c->values.base + 300;
    for (int round = 0; round < 4; round++) {
        gc_remember(gc, c);
        for (size_t i = 0; i < 300; i += 3) {
            node *n = new_node(i);
            ((value *)c->values.base)[i] = object(n);
            ((value *)c->values.base)[i + 1] = number((uintptr_t)77);
            gc_remember(gc, c);
        }
        gc_collect(heap, round % 3, 0);
        is(wrong((value *)c->values.base, 300, 77), 0, "keeps its objects");
    }
    gc_value_stack_free(heap, &c->values);
}

static gc_weak_kind kind;
static size_t told, told_wrong;
static void cleared(void *key, void *partner) {
    value *k = (value *)key, *v = (value *)partner;
    told++;
    told_wrong += k->tag != OBJECT || (kind == GC_WEAK_KEYS && v->tag != NUMBER);
    k->tag = NIL;
    if (v) v->tag = NIL;
}


static unsigned weak_flags;
static size_t count;
static void table_trace(void *object, gc_visitor *visitor) {
    records *r = (records *)object;
    gc_weak_entries entries = {&r->items[0].key, &r->items[0].value, r->header.length, sizeof(record), kind,
                               (unsigned)GC_SLOT_VALUE | weak_flags, 0, 0, &count, cleared};
    gc_visit_weak(visitor, &entries);
}
static const gc_type table_type = GC_TYPE_ARRAY_TRACED(records, items, table_trace);

static void tables(void) {
    records *table = NULL;
    row *kept = NULL;
    GC_ROOTS(gc, table, kept);
    for (int k = 0; k < 2; k++) {
        table = NULL, kept = NULL;
        full(); /* no table of the other kind is left */
        kind = k ? GC_WEAK_EPHEMERONS : GC_WEAK_KEYS;
        told = told_wrong = count = 0;
        kept = (row *)make(&row_type, 300);
        table = (records *)make(&table_type, 300);
        for (size_t i = 0; i < 300; i++) {
            node *n = new_node(i);
            if (i % 3 == 0) store(&kept->items[i], object(n));
            if (i % 3 != 2) store(&table->items[i].key, object(n));
            else store(&table->items[i].key, number((uintptr_t)n));
            store(&table->items[i].value, number(i));
        }
        gc_collect(heap, 2, GC_COLLECT_COMPACTING);
        gc_collect(heap, 2, 0);
        size_t bad = 0;
        for (size_t i = 0; i < 300; i++) {
            const record *r = &table->items[i];
            if (i % 3 == 0) bad += r->key.as.object != kept->items[i].as.object || value_of(&r->key) != i || r->value.as.word != i;
            if (i % 3 == 1) bad += r->key.tag != NIL || r->key.as.word || r->value.tag != NIL || r->value.as.word;
            if (i % 3 == 2) bad += r->key.tag != NUMBER || r->value.as.word != i;
        }
        is(bad, 0, "entries of kind %d are cleared with their tags", kind);
        is(told, 100, "the host is told of each");
        is(told_wrong, 0, "while it is as it was");
        is(count, 100, "and they are counted");
    }
}

static size_t finalized;
static records *seen;
static void finalize(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    finalized += seen->items[0].key.tag == OBJECT ? 1 : 100; /* 100: the entry was cleared before */
}
static const gc_finalizer finalizer = {finalize, false, NULL};

/* Ephemerons whose key has a finalizer. */
static void finalizable_keys(void) {
    records *table = NULL;
    node *key = NULL;
    GC_ROOTS(gc, table, key);
    kind = GC_WEAK_EPHEMERONS;
    for (int early = 0; early < 2; early++) {
        weak_flags = early ? GC_SLOT_WEAK_SHORT : 0;
        finalized = told = 0;
        table = (records *)make(&table_type, 1);
        key = new_node(5);
        gc_finalizer_register(gc, key, &finalizer);
        store(&table->items[0].key, object(key));
        node *kept = new_node(6);
        store(&table->items[0].value, object(kept));
        gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, kept);
        key = NULL;
        gc_collect(heap, 2, GC_COLLECT_BLOCKING);
        seen = table;
        gc_finalizer_run(gc, SIZE_MAX);
        is(finalized, early ? 100 : 1, early ? "with GC_SLOT_WEAK_SHORT before the finalizer" : "otherwise after it");
        gc_collect(heap, 2, GC_COLLECT_BLOCKING);
        is(told, 1, "each is told of once");
        ok(!gc_handle_get(weak), "its value is gone");
        gc_handle_destroy(heap, weak);
    }
    weak_flags = 0;
}

static void all(void) {
    arrays();
    old_arrays();
    roots();
    stacks();
    tables();
    finalizable_keys();
}

#if GC_CONCURRENT
/* What the marker reads while a thread has stored the tag of a value, but not the word yet, or the other way round. */
static void torn(void) {
    row *r = NULL, *kept = NULL;
    GC_ROOTS(gc, r, kept);
    enum { COUNT = 64 };
    const uintptr_t first = (uintptr_t)&heap, strange[] = {1, 8, UINTPTR_MAX, (uintptr_t)1 << 63, (uintptr_t)0x7FF8 << 48, first};
    r = (row *)make(&row_type, COUNT);
    kept = (row *)make(&row_type, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        node *n = new_node(i);
        store(&kept->items[i], object(n));
        store(&r->items[i], object(n));
    }
    age(&r, 2), age(&kept, 2), age(&kept->items[0], 2);
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    ok(heap->marking, "objects are marked");
    for (size_t i = 0; i < COUNT; i++) {
        uintptr_t here = kept->items[i].as.word, none = strange[i % 6];
        r->items[i].as.word = i % 4 == 0 ? here + 8 : i % 4 == 1 ? here + 4 : i % 4 == 2 ? here + GC_REGION_BYTES * 500 : none;
    }
    size_t turns = 0;
    while (gc__marker_work(heap, 100) && turns < 1000) turns++;
    ok(turns < 1000, "words that are no objects are read as if they were, and left alone");
    size_t marked = 0;
    for (size_t i = 0; i < COUNT; i++) marked += gc__shade_bit(heap->marker->marks, kept->items[i].as.word);
    is(marked, COUNT, "objects are marked through the other array");
    for (size_t i = 0; i < COUNT; i++) store(&r->items[i], i % 2 ? number(i) : kept->items[i]);
    full();
    size_t bad = 0;
    for (size_t i = 0; i < COUNT; i++)
        bad += i % 2 ? r->items[i].as.word != i : r->items[i].as.object != kept->items[i].as.object || value_of(&r->items[i]) != i;
    is(bad, 0, "and what is stored in the end counts");
}
#endif

int main(void) {
    run(all, (gc_options){0});
    run(all, (gc_options){.non_moving = true});
    run(all, (gc_options){.non_generational = true});
    run(all, (gc_options){.debug.stress = GC_STRESS_ALLOCATION, .debug.stress_interval = 997});
    run(all, (gc_options){.collector_threads = 3, .test.collectors = 3});
    run(all, (gc_options){.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000});
#if GC_CONCURRENT
    run(torn, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1});
#endif
    return done();
}
