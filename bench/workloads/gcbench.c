/* Boehm's GCBench: binary trees built top-down and bottom-up beside a long-lived tree and a large array of doubles. */
#include "workload.h"

#include <inttypes.h>

enum { DEPTH_STRETCH = 18, DEPTH_LONG_LIVED = 16, DEPTH_MIN = 4, DEPTH_MAX = 16, ARRAY_LENGTH = 500000 };

typedef struct node {
    MM_HEADER
    struct node *left, *right;
    int32_t i, j;
} node;
MM_TYPE(node, left, right);

static uint64_t tree_size(int depth) { return ((uint64_t)2 << depth) - 1; }

static node *node_new(mm *mm) {
    node *n = MM_NEW(mm, node);
    MM_CLEAR(&n->left);
    MM_CLEAR(&n->right);
    n->i = n->j = 0;
    return n;
}

/* Grows a tree of `depth` under n. */
static void populate(mm *mm, int depth, node *n) {
    if (depth == 0) return;
    MM_ROOTS(mm, n);
    node *child = node_new(mm);
    MM_STORE(mm, &n->left, child);
    child = node_new(mm);
    MM_STORE(mm, &n->right, child);
    populate(mm, depth - 1, n->left);
    populate(mm, depth - 1, n->right);
}

static node *make_top_down(mm *mm, int depth) {
    node *root = node_new(mm);
    MM_ROOTS(mm, root);
    populate(mm, depth, root);
    return root;
}

static node *make_bottom_up(mm *mm, int depth) {
    if (depth == 0) return node_new(mm);
    node *children[2] = {NULL, NULL};
    MM_ROOT_ARRAY(mm, children, 2);
    children[0] = make_bottom_up(mm, depth - 1);
    children[1] = make_bottom_up(mm, depth - 1);
    node *n = node_new(mm);
    n->left = children[0];
    n->right = children[1];
    return n;
}

static uint64_t tree_count(const node *n) { return n ? 1 + tree_count(n->left) + tree_count(n->right) : 0; }

static void tree_free(mm *mm, node *n) {
    if (!MM_MANUAL || !n) return;
    tree_free(mm, n->left);
    tree_free(mm, n->right);
    mm_free(mm, n);
}

static void build_trees(mm *mm, int depth) {
    uint64_t trees = 2 * tree_size(DEPTH_STRETCH) / tree_size(depth);
    for (uint64_t i = 0; i < trees; i++) tree_free(mm, make_top_down(mm, depth));
    for (uint64_t i = 0; i < trees; i++) tree_free(mm, make_bottom_up(mm, depth));
}

/* Returns the nodes of the long-lived tree plus the array elements that have the right value. */
static uint64_t run_once(mm *mm) {
    tree_free(mm, make_bottom_up(mm, DEPTH_STRETCH));

    node *long_lived = make_top_down(mm, DEPTH_LONG_LIVED);
    mm_bytes *array = NULL;
    MM_ROOTS(mm, long_lived, array);
    array = mm_new_bytes(mm, ARRAY_LENGTH * sizeof(double));
    double *numbers = mm_bytes_at(array);
    for (int i = 0; i < ARRAY_LENGTH; i++) numbers[i] = i < ARRAY_LENGTH / 2 ? 1.0 / (i + 1) : 0;

    for (int depth = DEPTH_MIN; depth <= DEPTH_MAX; depth += 2) build_trees(mm, depth);

    uint64_t sum = tree_count(long_lived);
    numbers = mm_bytes_at(array);
    for (int i = 0; i < ARRAY_LENGTH; i++) sum += numbers[i] == (i < ARRAY_LENGTH / 2 ? 1.0 / (i + 1) : 0);
    tree_free(mm, long_lived);
    mm_free(mm, array);
    return sum;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < args[0]; i++) sum += run_once(mm);
    set_check(result, "%" PRIu64, sum);
    say(result, "gcbench check %s\n", result->check);
}

const workload gcbench_workload = {"gcbench", {{"runs", 1, 1000, 1}}, run};
