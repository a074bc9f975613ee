/* table.c - hash tables, open-addressed, on equal? or on eqv?.

   Objects move, so an address is a hash only until the next collection. What has a hash of its own does not care:
   fixnums, characters, flonums and symbols, and in equal? tables also strings, pairs and vectors, by content. A table
   that holds any other key (`by_address`) remembers at which collection it was arranged; the first use after a later one
   arranges it anew. The alternative, a hash word in every object, would cost every pair a word for the sake of the few
   that ever become keys. Looking up never allocates, so addresses hold still while it lasts. */
#include "scheme.h"

#include <stdlib.h>

enum { HASH_DEPTH_MAX = 8, HASH_ITEMS_MAX = 16 };

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
    return x ^ x >> 32;
}

/* The hash of v; sets *by_address if it will not survive a collection. Content counts only near the top of a structure,
   so that deep and circular keys are cheap. */
static uint64_t hash(value v, bool by_content, int depth, bool *by_address) {
    if (!is_object(v)) return mix(v);
    uint64_t h = (uint64_t)kind_of(v);
    size_t i = 0;
    switch (kind_of(v)) {
    case KIND_SYMBOL:
        return symbol_of(v)->hash;
    case KIND_FLONUM:
        return memcpy(&h, &flonum_of(v)->number, sizeof h), mix(h);
    case KIND_STRING:
        if (by_content) return hash_bytes(string_of(v)->bytes, string_length(v));
        break;
    case KIND_PAIR:
    case KIND_SOURCE_PAIR:
        if (!by_content) break;
        for (h = 1; is_pair(v) && i < HASH_ITEMS_MAX; i++, v = cdr(v))
            h = mix(h * 31 + (depth ? hash(car(v), true, depth - 1, by_address) : 1));
        return h;
    case KIND_VECTOR:
        if (!by_content) break;
        for (; i < vector_length(v) && i < HASH_ITEMS_MAX; i++)
            h = mix(h * 31 + (depth ? hash(vector_of(v)->items[i], true, depth - 1, by_address) : 1));
        return h;
    default:
        break;
    }
    *by_address = true;
    return mix(v);
}

static table *table_of(value v) { return object_of(v); }
static size_t capacity_of(const table *t) { return vector_length(t->entries) / 2; }
static value *entry(const table *t, size_t i) { return &vector_of(t->entries)->items[2 * i]; }

static bool is_same(const table *t, value a, value b) {
    return a == b || (t->by_content ? is_equal(a, b) : is_eqv(a, b));
}

/* The entry of the key, or else the free one where it would go. *by_address is set if that depends on the address. */
static value *find(const table *t, value key, bool *by_address) {
    size_t mask = capacity_of(t) - 1;
    value *free = NULL;
    for (size_t i = hash(key, t->by_content, HASH_DEPTH_MAX, by_address) & mask;; i = (i + 1) & mask) {
        value *e = entry(t, i);
        if (e[0] == UNDEFINED) return free ? free : e;
        if (e[0] == DELETED)
            free = free ? free : e;
        else if (is_same(t, e[0], key))
            return e;
    }
}

static bool is_live(const value *e) { return e[0] != UNDEFINED && e[0] != DELETED; }

/* Enters `count` keys and values that are in no entry at present. Plain stores: the barrier is the caller's. */
static void insert_all(machine *m, table *t, const value *from, size_t count) {
    t->by_address = false;
    t->collections = m->collections;
    t->used = t->count;
    for (size_t i = 0; i < count * 2; i += 2) {
        if (!is_live(&from[i])) continue;
        value *e = find(t, from[i], &t->by_address);
        e[0] = from[i];
        e[1] = from[i + 1];
    }
}

/* Moves all entries into a new vector, which needs no barrier for its contents. */
static void resize(machine *m, value v, size_t capacity) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, v);
    value entries = make_vector(m, capacity * 2, UNDEFINED);
    table *t = table_of(v);
    vector *old = vector_of(t->entries);
    set_field(m, &t->entries, entries);
    insert_all(m, t, old->items, old->array.length / 2);
}

/* Puts entries whose addresses have changed into place again. That allocates nothing on the heap, so it may be part of
   looking up. The vector may be old and the entries young, so that it needs the barrier for all of its slots. */
static void arrange(machine *m, table *t) {
    if (!t->by_address || t->collections == m->collections) return;
    vector *entries = vector_of(t->entries);
    size_t length = entries->array.length;
    value *copy = malloc(length * sizeof(value));
    if (!copy) error_memory(m);
    memcpy(copy, entries->items, length * sizeof(value));
    gc_stores_begin(m->gc, entries->items, length, GC_SLOT_VALUE);
    for (size_t i = 0; i < length; i++) entries->items[i] = UNDEFINED;
    insert_all(m, t, copy, length / 2);
    gc_stores_end(m->gc, entries->items, length, GC_SLOT_VALUE);
    free(copy);
}

static value want_table(machine *m, const char *who, value *a) {
    want_kind(m, who, a, 0, KIND_TABLE, "a hash table");
    arrange(m, table_of(a[0]));
    return a[0];
}

static value make_table(machine *m, bool by_content) {
    value entries = make_vector(m, 16, UNDEFINED);
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, entries);
    table *t = make(m, KIND_TABLE);
    t->entries = entries;
    t->by_content = by_content;
    t->collections = m->collections;
    return value_of(t);
}

static value table_make(machine *m, value *a, uint32_t count) { return (void)a, (void)count, make_table(m, true); }
static value table_make_eqv(machine *m, value *a, uint32_t count) { return (void)a, (void)count, make_table(m, false); }

static value table_is(machine *m, value *a, uint32_t count) {
    return (void)m, (void)count, boolean(is_kind(a[0], KIND_TABLE));
}

static value table_ref(machine *m, value *a, uint32_t count) {
    value v = want_table(m, "hash-table-ref/default", a);
    bool ignored;
    value *e = find(table_of(v), a[1], &ignored);
    return is_live(e) ? e[1] : count > 2 ? a[2] : FALSE_VALUE;
}

static value table_has(machine *m, value *a, uint32_t count) {
    (void)count;
    bool ignored;
    return boolean(is_live(find(table_of(want_table(m, "hash-table-contains?", a)), a[1], &ignored)));
}

static value table_set(machine *m, value *a, uint32_t count) {
    (void)count;
    table *t = table_of(want_table(m, "hash-table-set!", a));
    if ((t->used + 1) * 4 > capacity_of(t) * 3) {
        resize(m, a[0], t->count * 2 >= capacity_of(t) ? capacity_of(t) * 2 : capacity_of(t));
        t = table_of(a[0]); /* it may have moved */
    }
    bool by_address = false;
    value *e = find(t, a[1], &by_address);
    if (!is_live(e)) {
        t->used += e[0] == UNDEFINED;
        t->count++;
        t->by_address = t->by_address || by_address;
        t->collections = m->collections;
        set_field(m, &e[0], a[1]);
    }
    set_field(m, &e[1], a[2]);
    return NONE;
}

static value table_delete(machine *m, value *a, uint32_t count) {
    (void)count;
    table *t = table_of(want_table(m, "hash-table-delete!", a));
    bool ignored;
    value *e = find(t, a[1], &ignored);
    if (is_live(e)) {
        e[0] = DELETED; /* not references: no barrier */
        e[1] = fixnum(0);
        t->count--;
    }
    return NONE;
}

static value table_count(machine *m, value *a, uint32_t count) {
    (void)count;
    want_kind(m, "hash-table-count", a, 0, KIND_TABLE, "a hash table");
    return fixnum((intptr_t)table_of(a[0])->count);
}

static value table_clear(machine *m, value *a, uint32_t count) {
    (void)count, want_table(m, "hash-table-clear!", a);
    value entries = make_vector(m, 16, UNDEFINED);
    table *t = table_of(a[0]);
    set_field(m, &t->entries, entries);
    t->count = t->used = 0;
    t->by_address = false;
    return NONE;
}

/* All entries as a list of (key . value), in no particular order. */
static value table_to_alist(machine *m, value *a, uint32_t count) {
    (void)count;
    want_kind(m, "hash-table->alist", a, 0, KIND_TABLE, "a hash table");
    value list = NIL;
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, list);
    for (size_t i = 0; i < capacity_of(table_of(a[0])); i++) {
        if (!is_live(entry(table_of(a[0]), i))) continue;
        value p = make_pair(m, NIL, NIL);
        GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, p);
        pair_of(p)->car = entry(table_of(a[0]), i)[0];
        pair_of(p)->cdr = entry(table_of(a[0]), i)[1];
        list = make_pair(m, p, list);
    }
    return list;
}

static const primitive_info primitives[] = {
    {"make-hash-table", table_make, 0, 0},
    {"make-equal-hash-table", table_make, 0, 0},
    {"make-eq-hash-table", table_make_eqv, 0, 0},
    {"make-eqv-hash-table", table_make_eqv, 0, 0},
    {"hash-table?", table_is, 1, 1},
    {"hash-table-ref/default", table_ref, 2, 3},
    {"hash-table-contains?", table_has, 2, 2},
    {"hash-table-set!", table_set, 3, 3},
    {"hash-table-delete!", table_delete, 2, 2},
    {"hash-table-count", table_count, 1, 1},
    {"hash-table-size", table_count, 1, 1},
    {"hash-table-clear!", table_clear, 1, 1},
    {"hash-table->alist", table_to_alist, 1, 1},
};

void table_init(machine *m) { machine_define(m, primitives, sizeof primitives / sizeof *primitives); }
