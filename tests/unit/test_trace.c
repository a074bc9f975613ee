/* Trace functions, for layouts that no mask describes. */
#include "../fixture.h"

/* A stack that is in use only up to `depth`, above which is rubbish. */
typedef struct stack {
    gc_array header;
    size_t depth;
    void *slots[];
} stack;

/* The second word says whether the third refers to an object. */
typedef struct variant {
    gc_object header;
    uint64_t is_ref;
    union {
        void *ref;
        uint64_t number;
    } as;
} variant;

/* References beyond what masks reach. */
typedef struct huge {
    gc_object header;
    uint64_t fill[200];
    void *first;
    uint64_t more[10];
    void *second;
} huge;

static void stack_trace(void *object, gc_visitor *visitor) {
    stack *self = object;
    if (self->depth) gc_visit(visitor, self->slots, self->depth, 0);
}
static void variant_trace(void *object, gc_visitor *visitor) {
    variant *self = object;
    if (self->is_ref) gc_visit(visitor, &self->as.ref, 1, 0);
}
static void huge_trace(void *object, gc_visitor *visitor) {
    huge *self = object;
    gc_visit(visitor, &self->first, 1, 0);
    gc_visit(visitor, &self->second, 1, 0);
}

static const gc_type stack_type = GC_TYPE_ARRAY_TRACED(stack, slots, stack_trace);
static const gc_type variant_type = GC_TYPE_TRACED(variant, variant_trace);
static const gc_type huge_type = GC_TYPE_TRACED(huge, huge_trace);

static void odd(void) {
    enum { DEPTH = 20000 };
    stack *s = gc_new_array(gc, &stack_type, DEPTH);
    GC_ROOTS(gc, s);
    size_t wrong = 0;
    for (int round = 0; round < 9; round++) {
        for (size_t i = 0; i < DEPTH; i++) s->slots[i] = (void *)(uintptr_t)(0x1000 + i * 8 + 1);
        s->depth = 0;
        size_t depth = 100 + random_bits() % (DEPTH - 100);
        for (size_t i = 0; i < depth; i++) {
            if (i % 3 == 0) {
                huge *h = gc_new(gc, &huge_type);
                GC_ROOTS(gc, h);
                node *n = new_node(i);
                gc_store(gc, &h->second, n);
                h->fill[199] = i, h->more[0] = (uint64_t)h;
                gc_store(gc, &s->slots[i], h);
            } else {
                variant *v = gc_new(gc, &variant_type);
                GC_ROOTS(gc, v);
                if (i % 3 == 1) {
                    node *n = new_node(i);
                    v->is_ref = 1;
                    gc_store(gc, &v->as.ref, n);
                } else v->as.number = i * 8 + 3;
                gc_store(gc, &s->slots[i], v);
            }
            s->depth = i + 1;
        }
        gc_collect(heap, round % 3, round == 7 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < depth; i++) {
            huge *h = s->slots[i];
            variant *v = s->slots[i];
            if (i % 3 == 0) wrong += ((node *)h->second)->value != i || h->fill[199] != i || h->first;
            else if (i % 3 == 1) wrong += ((node *)v->as.ref)->value != i;
            else wrong += v->as.number != i * 8 + 3;
        }
        for (size_t i = depth; i < DEPTH; i++) wrong += s->slots[i] != (void *)(uintptr_t)(0x1000 + i * 8 + 1);
    }
    is(wrong, 0, "odd layouts");
    s = NULL;
    full(), full();
    is(stats().live_bytes, 0, "and their death");
}

/* Items of a slot and a tag, all of one object or only those that are wanted. */
typedef struct tagged {
    gc_array header;
    struct item {
        void *ref;
        uint64_t tag;
    } items[];
} tagged;
static size_t tagged_calls, tagged_visits;
static bool tagged_asks;

static void tagged_trace(void *object, gc_visitor *visitor) {
    tagged *self = object;
    size_t first = 0, count = self->header.length;
    tagged_calls++;
    if (tagged_asks) count = gc_visitor_range(visitor, self->items, sizeof *self->items, count, &first);
    for (size_t i = first; i < first + count; i++)
        if (self->items[i].tag) gc_visit(visitor, &self->items[i].ref, 1, 0), tagged_visits++;
}
static const gc_type tagged_type = GC_TYPE_ARRAY_TRACED(tagged, items, tagged_trace);

/* Items [from, end) of an old object get young referents, each `step`-th one. */
static void young_items(tagged *t, size_t from, size_t end, size_t step) {
    GC_ROOTS(gc, t);
    for (size_t i = from; i < end; i += step) {
        node *n = new_node(i);
        t->items[i].tag = 1;
        gc_store(gc, &t->items[i].ref, n);
    }
    tagged_calls = tagged_visits = 0;
    gc_collect(heap, 0, 0);
}

static void many_dirty_cards(void) {
    enum { COUNT = 30000 };
    tagged *t = gc_new_array(gc, &tagged_type, COUNT);
    GC_ROOTS(gc, t);
    for (int i = 0; i < 3; i++) full();
    is(gc_object_generation(t), 2, "an array of values is old");
    young_items(t, 0, COUNT, 1);
    ok(tagged_calls == 1, "its trace function is called once for all of its dirty cards: %zu times", tagged_calls);
    is(tagged_visits, COUNT, "and each of its slots is visited once");
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) wrong += ((node *)t->items[i].ref)->value != i;
    is(wrong, 0, "which refers to what it referred to");
    for (int i = 0; i < 3; i++) full();
    tagged_asks = true;
    young_items(t, 20000, 20100, 7);
    ok(tagged_calls == 1 && tagged_visits <= COUNT - 19900, "one that asks for the range visits none before what is new: %zu slots",
       tagged_visits);
    for (size_t i = 0; i < COUNT; i++) wrong += ((node *)t->items[i].ref)->value != i;
    is(wrong, 0, "and loses nothing");
    tagged_asks = false;
}

int main(void) {
    /* verify and checkmark would call trace functions, too */
    for (int i = 0; i < 2; i++) {
        begin(&(gc_options){.collector_threads = 1, .non_moving = i, .nursery_bytes = 16 << 20});
        many_dirty_cards();
        end();
    }
    run(odd, (gc_options){0});
    run(odd, (gc_options){.non_moving = true});
    run(odd, (gc_options){.test.scarce_memory = true});
    return done();
}
