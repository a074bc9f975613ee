/* Collections by several threads: what they must find, whatever the order in which they work. */
#include "../fixture.h"

static node *tree(int depth, uintptr_t number) {
    node *root = NULL, *left = NULL, *right = NULL;
    GC_ROOTS(gc, root, left, right);
    if (depth) left = tree(depth - 1, 2 * number);
    if (depth) right = tree(depth - 1, 2 * number + 1);
    root = gc_new(gc, &node_type);
    root->left = left;
    root->right = right;
    root->value = number;
    return root;
}

static bool tree_is_whole(const node *n, int depth, uintptr_t number) {
    if (!n || n->value != number) return false;
    return !depth || (tree_is_whole(n->left, depth - 1, 2 * number) && tree_is_whole(n->right, depth - 1, 2 * number + 1));
}

int main(void) {
    begin_verified((gc_options){.collector_threads = 4, .test_collectors = 1});
    {
        node *root = NULL;
        GC_ROOTS(gc, root);
        root = tree(16, 1);
        for (int i = 0; i < 6; i++) {
            gc_collect(heap, i % 3, i & 1 ? GC_COLLECT_COMPACTING : 0);
            ok(tree_is_whole(root, 16, 1), "a tree");
        }
        gc_heap_print_stats(heap, stderr);
    }
    end();
    return done();
}
