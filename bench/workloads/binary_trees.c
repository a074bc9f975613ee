/* binary-trees of the Benchmarks Game: many short-lived complete binary trees of growing depth beside a long-lived one. */
#include "workload.h"

#include <inttypes.h>

#define DEPTH_MIN 4

typedef struct tree {
    MM_HEADER
    struct tree *left, *right;
} tree;
MM_TYPE(tree, left, right);

/* Leaves are stored to by the same two barriered stores as all nodes. */
static tree *tree_new_leaf(mm *mm) {
    tree *t = MM_NEW(mm, tree);
    MM_STORE(mm, &t->left, NULL);
    MM_STORE(mm, &t->right, NULL);
    return t;
}

static tree *tree_make(mm *mm, uint64_t depth) {
    step();
    if (depth == 0) return tree_new_leaf(mm);
    tree *children[2] = {NULL, NULL};
    MM_ROOT_ARRAY(mm, children, 2);
    children[0] = tree_make(mm, depth - 1);
    children[1] = tree_make(mm, depth - 1);
    tree *t = MM_NEW(mm, tree);
    MM_STORE(mm, &t->left, children[0]);
    MM_STORE(mm, &t->right, children[1]);
    return t;
}

static uint64_t tree_count(const tree *t) { return t->left ? 1 + tree_count(t->left) + tree_count(t->right) : 1; }

static void tree_free(mm *mm, tree *t) {
    if (!MM_MANUAL) return;
    if (t->left) {
        tree_free(mm, t->left);
        tree_free(mm, t->right);
    }
    mm_free(mm, t);
}

static uint64_t make_and_count(mm *mm, uint64_t depth) {
    tree *t = tree_make(mm, depth);
    uint64_t count = tree_count(t);
    tree_free(mm, t);
    if (depth > 10) steps.ended_ns = 0; /* counting is no step */
    return count;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    uint64_t depth_max = args[0];
    uint64_t sum = make_and_count(mm, depth_max + 1);
    say(result, "stretch tree of depth %" PRIu64 "\t check: %" PRIu64 "\n", depth_max + 1, sum);

    tree *long_lived = tree_make(mm, depth_max);
    MM_ROOTS(mm, long_lived);
    for (uint64_t depth = DEPTH_MIN; depth <= depth_max; depth += 2) {
        uint64_t trees = (uint64_t)1 << (depth_max - depth + DEPTH_MIN), count = 0;
        for (uint64_t i = 0; i < trees; i++) count += make_and_count(mm, depth);
        say(result, "%" PRIu64 "\t trees of depth %" PRIu64 "\t check: %" PRIu64 "\n", trees, depth, count);
        sum += count;
    }
    uint64_t count = tree_count(long_lived);
    say(result, "long lived tree of depth %" PRIu64 "\t check: %" PRIu64 "\n", depth_max, count);
    tree_free(mm, long_lived);

    set_check(result, "%" PRIu64, sum + count);
    say(result, "binary-trees check %s\n", result->check);
}

const workload binary_trees_workload = {"binary-trees", {{"N", DEPTH_MIN, 32, 0}}, run};
