/* trees_gc.c - the counterpart of trees.jit in C, on gc.h: what the JIT's code is compared with, collector aside. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct tree {
    gc_object header;
    struct tree *left, *right;
} tree;

static const gc_type tree_type = GC_TYPE(tree, left, right);

static tree *build(gc_thread *gc, long depth) {
    tree *left = NULL, *right = NULL;
    GC_ROOTS(gc, left, right);
    if (depth > 0) {
        left = build(gc, depth - 1);
        right = build(gc, depth - 1);
    }
    tree *made = gc_new(gc, &tree_type);
    if (!made) abort();
    made->left = left; /* it is new: no safe point was since */
    made->right = right;
    return made;
}

static long count(const tree *t) { return t->left ? 1 + count(t->left) + count(t->right) : 1; }

static void run(gc_thread *gc, long depth_max) {
    long depth_min = 4;
    if (depth_max < depth_min + 2) depth_max = depth_min + 2;
    printf("a tree of depth %ld has %ld nodes\n", depth_max + 1, count(build(gc, depth_max + 1)));
    tree *large = build(gc, depth_max);
    GC_ROOTS(gc, large);
    for (long depth = depth_min; depth <= depth_max; depth += 2) {
        long trees = 1L << (depth_max - depth + depth_min), nodes = 0;
        for (long i = 0; i < trees; i++) nodes += count(build(gc, depth));
        printf("%ld trees of depth %ld have %ld nodes\n", trees, depth, nodes);
    }
    printf("the large tree of depth %ld has %ld nodes\n", depth_max, count(large));
}

int main(int argc, char **argv) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) return fprintf(stderr, "%s\n", gc_last_message()), 1;
    run(gc, argc > 1 ? atol(argv[1]) : 10);
    gc_heap_destroy(heap);
    return 0;
}
