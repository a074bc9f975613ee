/* Tests of tagged values, over a host's seam: the includer defines it, and box_ref, box_number, number. */
#pragma once

#include "../fixture.h"

typedef struct cons {
    gc_object header;
    uintptr_t car, cdr;
    void *plain; /* beside them an ordinary reference */
    uintptr_t raw; /* and a word that is neither */
} cons;

typedef struct row {
    gc_array header;
    uintptr_t items[];
} row;

static const gc_type cons_type = GC_TYPE_WITH(cons, refs(plain), values(car, cdr));
static const gc_type row_type = GC_TYPE_ARRAY_VALUES(row, items);

static inline cons *as_cons(uintptr_t value) { return (cons *)GC_VALUE_TO_REF(value); }

static inline uintptr_t new_cons(uintptr_t car, uintptr_t cdr) {
    cons *c = gc_new_with(gc, &cons_type, 0, GC_NEW_AT_ONCE);
    if (!c) GC_ROOTS_DURING(gc, GC_SLOT_VALUE, c = gc_new(gc, &cons_type), car, cdr);
    gc_store_value(gc, &c->car, car);
    gc_store_value(gc, &c->cdr, cdr);
    c->raw = (uintptr_t)c;
    return box_ref(c, c->car);
}

static void lists(void) {
    enum { COUNT = 100000 };
    uintptr_t list = box_number(0), other = 0;
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, list, other);
    for (uint64_t i = 0; i < COUNT; i++) {
        list = new_cons(box_number(i), list);
        node *n = new_node(i);
        gc_store(gc, &as_cons(list)->plain, n);
        if (i % 10000 == 0) gc_collect(heap, (int)(i / 10000 % 3), i % 40000 == 0 ? GC_COLLECT_COMPACTING : 0);
    }
    compact();
    uint64_t expected = COUNT, wrong = 0;
    uintptr_t at = list;
    for (; GC_VALUE_IS_REF(at); at = as_cons(at)->cdr) {
        expected--;
        wrong += number(as_cons(at)->car) != expected || ((node *)as_cons(at)->plain)->value != expected;
    }
    is(wrong, 0, "a list of tagged values");
    is(expected, 0, "to its end");
    is(number(at), 0, "which is a number");
}

static void tags(void) {
    uintptr_t values[4] = {0};
    GC_ROOTS_ARRAY(gc, values, 4, GC_SLOT_VALUE);
    for (int i = 0; i < 4; i++) {
        node *n = new_node(50 + (uint64_t)i);
        values[i] = box_tagged(n, i);
    }
    gc_handle strong = gc_handle_create(heap, GC_HANDLE_STRONG, (void *)GC_VALUE_TO_REF(values[0]));
    for (int round = 0; round < 4; round++) {
        gc_collect(heap, round % 3, round == 3 ? GC_COLLECT_COMPACTING : 0);
        for (int i = 0; i < 4; i++) {
            node *n = (node *)GC_VALUE_TO_REF(values[i]);
            is(n->value, 50 + i, "the object of a value with tag %d", i);
            ok(values[i] == box_tagged(n, i), "keeps tag %d when it moves", i);
        }
        ok(gc_handle_get(strong) == (void *)GC_VALUE_TO_REF(values[0]), "handles hold plain pointers");
    }
}

/* Old arrays of values, with young referents and numbers that look like anything. */
static void arrays(void) {
    enum { LENGTH = 40000 };
    row *old = gc_new_array(gc, &row_type, LENGTH), *young = NULL;
    GC_ROOTS(gc, old, young);
    age(&old, 2);
    size_t wrong = 0;
    for (int round = 0; round < 12; round++) {
        for (size_t i = (size_t)round; i < LENGTH; i += 3) {
            if (i % 2) gc_store_value(gc, &old->items[i], box_number(random_bits() >> 20));
            else {
                uintptr_t c = new_cons(box_number(i), box_number(7));
                gc_store_value(gc, &old->items[i], c);
            }
        }
        young = gc_new_array(gc, &row_type, 500);
        for (size_t i = 0; i < 500; i++) {
            uintptr_t c = new_cons(box_number(1000000 + i), box_number(0));
            gc_store_value(gc, &young->items[i], c);
        }
        size_t to = (random_bits() % (LENGTH - 500)) & ~(size_t)1;
        gc_copy_values(gc, &old->items[to], young->items, 500);
        gc_copy_values(gc, &old->items[to + 100], &old->items[to], 300);
        gc_collect(heap, round % 3, round == 8 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < 100; i++) wrong += number(as_cons(old->items[to + i])->car) != 1000000 + i;
        for (size_t i = 0; i < 300; i++) wrong += number(as_cons(old->items[to + 100 + i])->car) != 1000000 + i;
        for (size_t i = 0; i < LENGTH; i++)
            if (GC_VALUE_IS_REF(old->items[i]) && as_cons(old->items[i])->header.type != &cons_type) wrong++;
    }
    is(wrong, 0, "arrays of values");
    old = NULL, young = NULL;
    full(), full();
    is(stats().live_bytes, 0, "numbers keep nothing alive");
}

/* A weak table of tagged values, with the host's own words for what was cleared. Numbers never die. */
typedef struct weak_row {
    gc_array header;
    size_t cleared;
    uintptr_t items[];
} weak_row;

static void weak_row_trace(void *object, gc_visitor *visitor) {
    weak_row *row = object;
    gc_weak_entries entries = {.keys = row->items, .values = row->items + 1, .count = row->header.length / 2};
    entries.kind = GC_WEAK_EPHEMERONS, entries.flags = GC_SLOT_VALUE, entries.cleared_count = &row->cleared;
    entries.cleared_key = box_number(1000), entries.cleared_value = box_number(2000);
    gc_visit_weak(visitor, &entries);
}
static const gc_type weak_row_type = GC_TYPE_ARRAY_TRACED(weak_row, items, weak_row_trace);

static void weak_values(void) {
    enum { LENGTH = 600 };
    weak_row *weak = gc_new_array(gc, &weak_row_type, LENGTH);
    row *held = NULL;
    GC_ROOTS(gc, weak, held);
    held = gc_new_array(gc, &row_type, LENGTH);
    for (size_t i = 0; i < LENGTH; i++) weak->items[i] = held->items[i] = box_number(0);
    for (size_t i = 0; i < LENGTH; i += 2) {
        uintptr_t key = i % 8 == 6 ? box_number(i) : new_cons(box_number(i), box_number(0));
        gc_store_value(gc, &weak->items[i], key);
        if (i % 4 == 0) gc_store_value(gc, &held->items[i], key);
        uintptr_t value = new_cons(box_number(i), gc_load_weak_value(gc, &weak->items[i]));
        gc_store_value(gc, &weak->items[i + 1], value);
        if (i % 100 == 0) gc_collect(heap, (int)(i / 100 % 3), 0);
    }
    compact();
    size_t wrong = 0;
    for (size_t i = 0; i < LENGTH; i += 2) {
        uintptr_t key = gc_load_weak_value(gc, &weak->items[i]), value = gc_load_weak_value(gc, &weak->items[i + 1]);
        if (i % 4 == 0) wrong += key != held->items[i] || number(as_cons(value)->car) != i;
        else if (i % 8 == 6) wrong += number(key) != i || number(as_cons(value)->car) != i;
        else wrong += number(key) != 1000 || number(value) != 2000;
    }
    is(wrong, 0, "a weak table of tagged values");
    is(weak->cleared, LENGTH / 8, "counts what it loses");
}

/* A boxed reference that only the native stack holds. */
static __attribute__((noinline)) uintptr_t boxed_alone(void) {
    return new_cons(box_number(77), box_number(78));
}

/* Overwrites what former calls left below. */
static __attribute__((noinline)) void scrub(void) {
    volatile char below[8192];
    for (size_t i = 0; i < sizeof below; i++) below[i] = 0;
}

static void on_the_stack(void) {
    volatile uintptr_t list = boxed_alone();
    scrub();
    for (int i = 0; i < 3; i++) {
        gc_collect(heap, i, GC_COLLECT_COMPACTING);
        for (int k = 0; k < 1000; k++) new_cons(box_number(1), box_number(2));
    }
    is(number(as_cons(list)->car), 77, "a conservative stack scan sees tagged values");
}

static int values(void) {
    run(on_the_stack, (gc_options){.conservative_stack = true});
    run(on_the_stack, (gc_options){.conservative_stack = true, .non_moving = true});
    run(lists, (gc_options){0});
    run(lists, (gc_options){.non_moving = true});
    run(tags, (gc_options){0});
    run(weak_values, (gc_options){0});
    run(weak_values, (gc_options){.nursery_bytes = 4096, .test.scarce_memory = true});
    run(arrays, (gc_options){0});
    run(arrays, (gc_options){.test.scarce_memory = true});
    return done();
}
