/* Types: what the macros make, what gc_type_check and gc_new refuse. */
#include "../fixture.h"

typedef struct wide {
    gc_object header;
    void *a, *b, *c, *d, *e, *f, *g, *h, *i, *j, *k, *l, *m, *n, *o, *p;
} wide;

typedef struct far {
    gc_object header;
    uint64_t fill[62];
    void *last; /* at offset 504, the last word that a mask reaches */
} far;

typedef struct pair {
    void *key;
    uint64_t number, value;
} pair;

typedef struct table {
    gc_array header;
    void *owner;
    pair pairs[];
} table;

static void trace(void *object, gc_visitor *visitor) { gc_visit(visitor, &((node *)object)->left, 1, 0); }

static const gc_type wide_type = GC_TYPE(wide, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
static const gc_type far_type = GC_TYPE(far, last);
static const gc_type table_type =
    GC_TYPE_ARRAY_WITH(table, pairs, element_values(value), refs(owner), element_refs(key));

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer finalizer = {finalize, false, NULL};

/* Clauses in any order; the same as by hand. */
static void clauses(void) {
    const gc_type all = GC_TYPE_WITH(node, finalizer(finalizer), values(value), trace(trace), refs(right, left));
    const gc_type traced = GC_TYPE_WITH(node, trace(trace)), wide_halves = GC_TYPE_WITH(wide, refs(a, b, c, d, e, f, g, h), refs(i, j, k, l, m, n, o, p));
    const gc_type words = GC_TYPE_ARRAY_WITH(vector, items, elements(refs)), values = GC_TYPE_ARRAY_WITH(vector, items, elements(values), trace(trace));
    const gc_type leaf = GC_TYPE_ARRAY_WITH(bytes, items, finalizer(finalizer));
    ok(all.bytes == sizeof(node) && all.element_bytes == 0 && strcmp(all.name, "node") == 0, "GC_TYPE_WITH: size and name");
    ok(all.refs == 6 && all.values == 8, "refs, values");
    ok(all.trace == trace && all.finalizer == &finalizer, "trace, finalizer");
    is(strcmp(all.fields, "value, right, left, "), 0, "the fields' names in the order of the clauses");
    ok(all.field_offsets[0] == 24 && all.field_offsets[1] == 16 && all.field_offsets[2] == 8 && all.field_offsets[3] == 0, "and their offsets");
    ok(!traced.refs && !traced.values && traced.trace == trace && !traced.finalizer, "no fields");
    ok(wide_halves.refs == 0x1FFFE && wide_halves.field_offsets[15] == offsetof(wide, p), "sixteen names, by a clause that stands twice");
    ok(words.bytes == sizeof(vector) && words.element_bytes == 8 && words.element_refs == 1 && !words.element_values, "elements(refs)");
    ok(!values.element_refs && values.element_values == 1 && values.trace == trace, "elements(values)");
    ok(leaf.element_bytes == 1 && !leaf.element_refs && leaf.finalizer == &finalizer, "elements that are neither");
    const gc_type *sound[] = {&all, &traced, &wide_halves, &words, &values, &leaf};
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) ok(!gc_type_check(sound[i]), "sound: clauses %zu", i);
}

/* Elements' fields have names, too, and types flags. */
static void names_and_flags(void) {
    const gc_type fixed = GC_TYPE_WITH(node, flags(GC_TYPE_FIXED), refs(left)), both = GC_TYPE_WITH(node, finalizer(finalizer), flags(GC_TYPE_FIXED));
    is(strcmp(table_type.fields, "value, owner, key, "), 0, "names of elements' fields are among the others");
    ok(table_type.field_offsets[0] == (GC_ELEMENT_FIELD | 16) && table_type.field_offsets[1] == 16 &&
           table_type.field_offsets[2] == GC_ELEMENT_FIELD && !table_type.field_offsets[3], "with a mark on their offsets");
    ok(fixed.flags == GC_TYPE_FIXED && fixed.finalizer == &gc_no_finalizer && fixed.refs == 2, "GC_TYPE_FIXED brings gc_no_finalizer");
    ok(both.flags == GC_TYPE_FIXED && both.finalizer == &finalizer, "or has the type's own");
    ok(!node_type.flags && !node_type.finalizer && !gc_type_check(&fixed) && !gc_type_check(&both), "other types have neither");
    gc_type wrong = fixed;
    wrong.finalizer = NULL;
    has(gc_type_check(&wrong), "gc_no_finalizer", "a fixed type that gc_new would make in line");
    wrong = fixed, wrong.flags = 6;
    has(gc_type_check(&wrong), "flags", "unknown flags");
}

static int finalized;
static void finalize_fixed(gc_thread *thread, void *object) { (void)thread, (void)object, finalized++; }
static const gc_finalizer fixed_finalizer = {finalize_fixed, false, NULL};
static const gc_type fixed_node = GC_TYPE_WITH(node, refs(left, right), flags(GC_TYPE_FIXED)),
                     fixed_ending = GC_TYPE_WITH(node, refs(left, right), finalizer(fixed_finalizer), flags(GC_TYPE_FIXED)),
                     fixed_vector = GC_TYPE_ARRAY_WITH(vector, items, elements(refs), flags(GC_TYPE_FIXED)),
                     fixed_bytes = GC_TYPE_ARRAY_WITH(bytes, items, flags(GC_TYPE_FIXED));

/* By gc_new and its kin; the objects that they refer to move. */
static void fixed_objects(void) {
    node *a = gc_new(gc, &fixed_node), *b = NULL, *moves = NULL;
    vector *v = NULL;
    bytes *text = NULL;
    GC_ROOTS(gc, a, b, moves, v, text);
    b = gc_new(gc, &fixed_ending);
    v = gc_new_array(gc, &fixed_vector, 10);
    text = gc_new_with(gc, &fixed_bytes, 100, GC_NEW_RAW);
    memset(text->items, 7, 100);
    moves = new_node(5);
    gc_store(gc, &a->left, moves);
    gc_store(gc, &v->items[9], moves);
    uintptr_t at[] = {(uintptr_t)a, (uintptr_t)b, (uintptr_t)v, (uintptr_t)text};
    for (int i = 0; i < 4; i++) compact();
    ok(at[0] == (uintptr_t)a && at[1] == (uintptr_t)b && at[2] == (uintptr_t)v && at[3] == (uintptr_t)text, "objects of fixed types stay");
    ok(a->left == moves && v->items[9] == moves && moves->value == 5 && text->items[99] == 7, "what they refer to is followed");
    b = NULL;
    compact();
    gc_finalizer_run(gc, 10);
    is(finalized, 1, "a fixed object with a finalizer has it run; one without has none");
}

/* Reports name fields by clauses. */
static char report[4000];
static void forget_element(void *unused) {
    (void)unused;
    begin_verified((gc_options){0});
    table *t = gc_new_array(gc, &table_type, 5);
    GC_ROOTS(gc, t);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT), gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    t->pairs[3].key = gc_new(gc, &node_type);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
}
static void forget(void *unused) {
    static const gc_type type = GC_TYPE_WITH(node, trace(trace), refs(right));
    (void)unused;
    begin_verified((gc_options){0});
    node *n = gc_new(gc, &type);
    GC_ROOTS(gc, n);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT), gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    n->right = gc_new(gc, &node_type);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
}

static void reported(void) {
    is(tap_child(forget, NULL, report, sizeof report), 256 + 6, "a forgotten barrier");
    has(report, "field `right` (offset 16)", "is reported by the clause's name");
    is(tap_child(forget_element, NULL, report, sizeof report), 256 + 6, "a forgotten barrier of an element");
    has(report, "field `key` of element 3 (offset 96)", "is reported by field and element");
}

static void macros(void) {
    const gc_type mixed = GC_TYPE_WITH(node, refs(left), values(value));
    const gc_type leaf = GC_TYPE_LEAF(node), traced = GC_TYPE_TRACED(node, trace);
    is(node_type.bytes, sizeof(node), "GC_TYPE: the size");
    is(node_type.refs, 6, "GC_TYPE: a bit per named field");
    is(node_type.element_bytes, 0, "GC_TYPE: no elements");
    is(node_type.field_offsets[1], offsetof(node, right), "GC_TYPE: the offsets");
    is(strcmp(node_type.name, "node"), 0, "GC_TYPE: the name");
    is(strcmp(node_type.fields, "left, right"), 0, "GC_TYPE: the fields' names");
    is(wide_type.refs, 0x1FFFE, "GC_TYPE: sixteen fields");
    is(far_type.refs, (int64_t)((uint64_t)1 << 63), "GC_TYPE: the 64th word");
    is(mixed.refs, 2, "refs and values: references");
    is(mixed.values, 8, "refs and values: values");
    is(vector_type.bytes, sizeof(vector), "GC_TYPE_ARRAY: the fixed part");
    is(vector_type.element_refs, 1, "GC_TYPE_ARRAY: elements");
    is(table_type.element_refs, 1, "GC_TYPE_ARRAY_WITH: element references");
    is(table_type.element_values, 4, "GC_TYPE_ARRAY_WITH: element values");
    const gc_type *sound[] = {&node_type, &wide_type, &far_type, &table_type, &mixed, &leaf, &traced, &vector_type, &bytes_type};
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++)
        ok(!gc_type_check(sound[i]), "sound: %s (%s)", sound[i]->name, gc_type_check(sound[i]) ? gc_type_check(sound[i]) : "");
}

/* A thread without a window takes the slow path, which checks the type. */
static void allocate(void *type) {
    begin(NULL);
    void *object = ((gc_type *)type)->element_bytes ? gc_new_array(gc, type, 1) : gc_new(gc, type);
    if (object || gc_last_result() != GC_ERROR_TYPE || !strstr(gc_last_message(), gc_type_check(type)) || !new_node(1)) _exit(1);
    end();
}

static void refused(gc_type type, const char *what) {
    const char *message = gc_type_check(&type);
    if (!ok(message && message[0], "refused: %s", what)) return;
    static char report[4096];
    static gc_type shared;
    shared = type;
    int status = tap_child(allocate, &shared, report, sizeof report);
    if (GC_DEBUG >= 1) is(status, 256 + 6, "gc_new aborts: %s", what);
    else is(status, 0, "gc_new fails: %s", what);
    if (GC_DEBUG >= 1) has(report, message, "and says why: %s", what);
}

static void misdeclared(void) {
    gc_type good = GC_TYPE(node, left, right), good_array = GC_TYPE_ARRAY_WITH(table, pairs, refs(owner), element_refs(key)), t;
    refused((t = good, t.bytes = 0, t), "size 0");
    refused((t = good, t.bytes = 4, t), "smaller than its header");
    refused((t = good, t.bytes = 16, t), "a reference beyond the end");
    refused((t = good, t.refs |= 1, t), "a reference in the header");
    refused((t = good, t.values = 2, t), "a field that is both reference and value");
    refused((t = good, t.bytes = 20, t.refs = 4, t), "a reference that crosses the end");
    refused((t = good, t.element_refs = 1, t), "element references without elements");
    refused((t = good_array, t.element_refs = 8, t), "an element reference beyond the element");
    refused((t = good_array, t.element_bytes = 4, t.element_refs = 1, t), "a reference in 4-byte elements");
    refused((t = good_array, t.element_bytes = 12, t), "references in elements of unaligned size");
    refused((t = good_array, t.bytes = 20, t.refs = 0, t), "reference elements at an unaligned start");
    refused((t = good_array, t.bytes = 8, t.refs = 0, t), "elements where the length is");
    refused((t = good_array, t.refs = 2, t), "a reference where the length is");
    ok(gc_type_check(NULL) != NULL, "refused: no type at all");
}

static void last_word(void) {
    far *object = gc_new(gc, &far_type);
    GC_ROOTS(gc, object);
    node *referent = new_node(77);
    gc_store(gc, &object->last, referent);
    referent = NULL;
    compact();
    is(((node *)object->last)->value, 77, "the 64th word is traced");
    table *t = gc_new_array(gc, &table_type, 3);
    GC_ROOTS(gc, t);
    for (int i = 0; i < 3; i++) {
        node *key = new_node(100 + (uint64_t)i);
        gc_store(gc, &t->pairs[i].key, key);
        t->pairs[i].number = 5;
    }
    gc_store(gc, &t->owner, object);
    compact();
    ok(t->owner == object, "fixed part and elements: the fixed part is traced");
    is(((node *)t->pairs[2].key)->value, 102, "fixed part and elements: the last element is traced");
    is(t->pairs[1].number, 5, "words beside references stay");
}

/* A host's own record of a class, which its objects lead to. */
struct class {
    gc_type gc;
    const char *display_name;
    size_t (*size)(const void *object);
};

static size_t node_size(const void *object) { return ((const node *)object)->value; }
static size_t vector_size(const void *object) { return ((const vector *)object)->header.length; }
static const struct class node_class = {GC_TYPE(node, left, right), "Node", node_size};
static const struct class vector_class = {GC_TYPE_ARRAY(vector, items), "Vector", vector_size};

static const struct class *class_of(const void *object) { return (const struct class *)((const gc_object *)object)->type; }

static void host_records(void) {
    node *n = gc_new(gc, &node_class.gc);
    GC_ROOTS(gc, n);
    n->value = 12;
    vector *v = gc_new_array(gc, &vector_class.gc, 5);
    GC_ROOTS(gc, v);
    gc_store(gc, &v->items[4], n);
    const void *before = n;
    compact();
    ok(n != before && v->items[4] == n, "a type within a record: its objects are traced and move");
    ok(class_of(n) == &node_class && class_of(v) == &vector_class, "and still lead to the record");
    is(strcmp(class_of(n)->display_name, "Node"), 0, "with the host's data");
    is(class_of(n)->size(n) + class_of(v)->size(v), 17, "and functions");
    is(strcmp(gc_object_type_name(v), "vector"), 0, "while reports use the type's name");
}

/* A string has room for a 0 behind its characters. */
typedef struct text {
    gc_array header;
    char characters[];
} text;
static const gc_type text_type = GC_TYPE_STRING(text, characters);

static void strings(void) {
    text *t = gc_new_array(gc, &text_type, 8), *next = NULL;
    GC_ROOTS(gc, t, next);
    next = gc_new_array(gc, &text_type, 0);
    memcpy(t->characters, "12345678", 8);
    is(strlen(t->characters) + strlen(next->characters), 8, "strings end in a 0");
    is(gc_object_bytes(t), 32, "for which there is room");
    compact();
    is(strcmp(t->characters, "12345678") + (int)strlen(next->characters), 0, "also after they have moved");
}

int main(void) {
    macros();
    names_and_flags();
    clauses();
    reported();
    misdeclared();
    run(last_word, (gc_options){0});
    run(host_records, (gc_options){0});
    run(strings, (gc_options){0});
    run(fixed_objects, (gc_options){0});
    return done();
}
