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

int main(void) {
    run(odd, (gc_options){0});
    run(odd, (gc_options){.non_moving = true});
    run(odd, (gc_options){.test.scarce_memory = true});
    return done();
}
