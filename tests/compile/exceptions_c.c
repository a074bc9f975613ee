/* The C half of tests/compile/exceptions.cc. */
#include "gc.h"

typedef struct node {
    gc_object header;
    struct node *next;
    uint64_t value;
} node;
static const gc_type node_type = GC_TYPE(node, next);

gc_thread *gc;
#ifdef __EXCEPTIONS
const int c_unwinds = 1;
#else
const int c_unwinds = 0;
#endif

void *new_node(uint64_t value);
uint64_t node_value(const node *n);
void through_c(void (*f)(int), int depth);

void *new_node(uint64_t value) {
    node *n = gc_new(gc, &node_type);
    n->value = value;
    return n;
}

uint64_t node_value(const node *n) { return n->value; }

void through_c(void (*f)(int), int depth) {
    node *n = new_node((uint64_t)depth);
    GC_ROOTS(gc, n);
    if (depth) through_c(f, depth - 1);
    else f(0);
    n->value++;
}
