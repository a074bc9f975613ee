/* trees.c - the counterpart of trees.jit in C, with malloc and free: what the JIT's speed is compared with. */
#include <stdio.h>
#include <stdlib.h>

typedef struct tree {
    struct tree *left, *right;
} tree;

static tree *build(long depth) {
    tree *made = malloc(sizeof *made);
    if (!made) abort();
    made->left = made->right = NULL;
    if (depth > 0) {
        made->left = build(depth - 1);
        made->right = build(depth - 1);
    }
    return made;
}

static long count(const tree *t) { return t->left ? 1 + count(t->left) + count(t->right) : 1; }

static void drop(tree *t) {
    if (t->left) {
        drop(t->left);
        drop(t->right);
    }
    free(t);
}

static long count_and_drop(tree *t) {
    long nodes = count(t);
    drop(t);
    return nodes;
}

int main(int argc, char **argv) {
    long depth_min = 4, depth_max = argc > 1 ? atol(argv[1]) : 10;
    if (depth_max < depth_min + 2) depth_max = depth_min + 2;
    printf("a tree of depth %ld has %ld nodes\n", depth_max + 1, count_and_drop(build(depth_max + 1)));
    tree *large = build(depth_max);
    for (long depth = depth_min; depth <= depth_max; depth += 2) {
        long trees = 1L << (depth_max - depth + depth_min), nodes = 0;
        for (long i = 0; i < trees; i++) nodes += count_and_drop(build(depth));
        printf("%ld trees of depth %ld have %ld nodes\n", trees, depth, nodes);
    }
    printf("the large tree of depth %ld has %ld nodes\n", depth_max, count(large));
    drop(large);
    return 0;
}
