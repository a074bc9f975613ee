/* A user of every macro and inline function of gc.h, in the common part of C11 and C++. */
#include "gc.h"

#ifdef __cplusplus
#define ELEMENTS 1 /* flexible array members are an extension there */
#else
#define ELEMENTS
#endif

typedef struct value_struct {
    gc_word words[GC_VALUE_BYTES / 8];
} value_struct;

typedef struct node {
    gc_object header;
    struct node *left, *right;
    value_struct value;
} node;

typedef struct vector {
    gc_array header;
    node *items[ELEMENTS];
} vector;

typedef struct bytes {
    gc_array header;
    char items[ELEMENTS];
} bytes;

typedef struct wide {
    gc_object header;
    void *a, *b, *c, *d, *e, *f, *g, *h, *i, *j, *k, *l, *m, *n, *o, *p;
} wide;

typedef struct pair {
    void *key;
    value_struct value;
} pair;

typedef struct values {
    gc_array header;
    value_struct items[ELEMENTS];
} values;

typedef struct pairs {
    gc_array header;
    node *owner;
    pair items[ELEMENTS];
} pairs;

static inline void node_end(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer node_finalizer = {node_end, false, NULL};

static inline void node_trace(void *object, gc_visitor *visitor) {
    node *self = (node *)object;
    gc_visit(visitor, &self->left, 2, 0);
    gc_visit(visitor, &self->value, 1, GC_SLOT_VALUE);
}

static const gc_type user_types[] = {
    GC_TYPE(node, left, right),
    GC_TYPE_VALUES(node, value),
    GC_TYPE_WITH(node, values(value), trace(node_trace), refs(left, right), finalizer(node_finalizer)),
    GC_TYPE_LEAF(node),
    GC_TYPE_TRACED(node, node_trace),
    GC_TYPE_ARRAY(vector, items),
    GC_TYPE_ARRAY_VALUES(values, items),
    GC_TYPE_ARRAY_LEAF(bytes, items),
    GC_TYPE_ARRAY_TRACED(vector, items, node_trace),
    GC_TYPE_ARRAY_WITH(vector, items, elements(refs)),
    GC_TYPE_ARRAY_WITH(pairs, items, refs(owner), trace(node_trace), element_values(value), element_refs(key), finalizer(node_finalizer)),
    GC_TYPE(wide, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p),
};

struct record {
    gc_type gc;
    const char *display_name;
};
static const struct record user_record = {GC_TYPE(node, left, right), "Node"};
static inline const struct record *record_of(const void *object) {
    return object ? (const struct record *)((const gc_object *)object)->type : &user_record;
}

static inline void *user(gc_heap *heap, gc_thread *gc) {
    node *a = (node *)gc_new(gc, &user_types[0]), *b = a, *list[2] = {a, b};
    uint64_t value = 0;
    GC_ROOTS(gc, a, b);
    GC_ROOTS_WITH(gc, GC_SLOT_VALUE, value);
    GC_ROOTS_ARRAY(gc, list, 2, 0);
    GC_ROOTS_DURING(gc, 0, gc_safepoint(gc), a, b);
    GC_ROOTS_DURING(gc, GC_SLOT_VALUE, gc_safepoint(gc), value);
    char *inside = (char *)b, *past = (char *)(a + 1);
    GC_ROOTS_DURING(gc, GC_SLOT_INTERIOR, gc_safepoint(gc), inside, past);
    GC_ROOTS_WITH(gc, GC_SLOT_INTERIOR, inside);
    GC_ROOTS_WITH(gc, GC_SLOT_DERIVED, a, past);
    GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
    GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
    {
        vector *v = (vector *)gc_new_array(gc, &user_types[5], 3);
        GC_ROOTS(gc, v);
        gc_copy_refs(gc, &v->items[0], &v->items[1], 2);
        gc_stores_begin(gc, v->items, 3, 0); gc_stores_end(gc, v->items, 3, 0);
    }
    gc_frame *mark = gc_frames_mark(gc);
    bytes *raw = (bytes *)gc_new_with(gc, &user_types[7], 10, GC_NEW_RAW);
    gc_keep_alive(gc_new_with(gc, &user_types[3], 0, GC_NEW_RAW));
    gc_store(gc, &a->left, b);
    gc_store_value(gc, &a->value, value);
    gc_safepoint(gc);
    gc_frames_restore(gc, mark);
    gc_keep_alive(raw);
    gc_handle handle = gc_handle_create(heap, GC_HANDLE_PINNED, a);
    gc_handle_destroy(heap, handle);
    gc_collect(heap, 2, GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING);
    return gc_allocate(gc, 64);
}

static void *(*const used)(gc_heap *, gc_thread *) = user;
static const struct record *(*const used_record)(const void *) = record_of;
static inline const struct record *call_record(void) { return used_record(NULL); }
static inline void *(*call_user(void))(gc_heap *, gc_thread *) { return used; }
