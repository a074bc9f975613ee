/* runtime.c - the runtime of a language that LLVM compiles: types, what compiled code calls, and the call by which a
   collection finds the references in its frames. `make build/examples/llvm`; see docs/stackmaps.md. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include <stdlib.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    int64_t value;
} cell;

typedef struct tree {
    gc_object header;
    struct tree *left, *right;
    int64_t key;
} tree;

typedef struct words {
    gc_array header;
    int64_t items[];
} words;

/* The IR names these, and has their sizes and offsets as numbers. */
extern const gc_type cell_type, tree_type;
const gc_type cell_type = GC_TYPE(cell, next), tree_type = GC_TYPE(tree, left, right);
static const gc_type words_type = GC_TYPE_ARRAY_LEAF(words, items);

_Static_assert(sizeof(cell) == 24 && offsetof(cell, next) == 8 && offsetof(cell, value) == 16, "lists.ll");
_Static_assert(sizeof(tree) == 32 && offsetof(tree, right) == 16 && offsetof(tree, key) == 24, "trees.ll");
_Static_assert(offsetof(words, items) == 16, "lists.ll");
_Static_assert(offsetof(gc_thread, window) == 0 && offsetof(gc_window, next) == 0 && offsetof(gc_window, limit) == 8 &&
                   offsetof(gc_thread, poll) == 88,
               "lists.ll and trees.ll");

static void *checked(void *object) {
    if (object) return object;
    fprintf(stderr, "llvm: %s\n", gc_last_message());
    exit(1);
}

/* What compiled code calls that may collect: through a stub, which records where it was left. */
static void *new_object(gc_thread *gc, const gc_type *type) { return checked(gc_new(gc, type)); }
static void *new_words(gc_thread *gc, size_t length) { return checked(gc_new_array(gc, &words_type, length)); }
static void poll(gc_thread *gc) { gc_safepoint(gc); }

static int64_t mix(gc_thread *gc, int64_t a, int64_t b) {
    new_object(gc, &cell_type); /* garbage */
    return (int64_t)((uint64_t)a * 31 + (uint64_t)b);
}

GC_CODE_EXPORT_REF(rt_new, new_object);
GC_CODE_EXPORT_REF(rt_new_words, new_words);
GC_CODE_EXPORT(rt_poll, poll);
GC_CODE_EXPORT(rt_mix, mix);

/* What never collects needs no stub: the IR declares it as a "gc-leaf-function". */
void rt_store(gc_thread *gc, void **slot, void *object);
void rt_store(gc_thread *gc, void **slot, void *object) { gc_store(gc, slot, object); }

/* Compiled functions, called as any other. What they take and return are plain pointers here, and so in GC_ROOTS. */
cell *list_make(gc_thread *gc, int64_t n);
cell *list_reverse(gc_thread *gc, cell *list);
int64_t list_sum(gc_thread *gc, cell *list);
int64_t words_sum(gc_thread *gc, int64_t n);
tree *tree_make(gc_thread *gc, int64_t depth);
int64_t tree_count(gc_thread *gc, tree *tree);
tree *tree_insert(gc_thread *gc, tree *root, int64_t key);
int64_t tree_sum(gc_thread *gc, tree *tree, int64_t sum, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                 int64_t factor);

static void lists(gc_thread *gc, int64_t n) {
    cell *list = list_make(gc, n);
    GC_ROOTS(gc, list);
    printf("list of %lld: %lld", (long long)n, (long long)list_sum(gc, list));
    list = list_reverse(gc, list);
    printf(", reversed: %lld\n", (long long)list_sum(gc, list));
    printf("array of %lld: %lld\n", (long long)n, (long long)words_sum(gc, n));
}

static void trees(gc_thread *gc, int64_t depth, int64_t keys) {
    tree *full = tree_make(gc, depth), *search = NULL;
    GC_ROOTS(gc, full, search);
    uint64_t key = 1;
    for (int64_t i = 0; i < keys; i++) {
        key = key * 6364136223846793005u + 1442695040888963407u;
        search = tree_insert(gc, search, (int64_t)(key >> 40));
    }
    printf("tree of depth %lld: %lld nodes\n", (long long)depth, (long long)tree_count(gc, full));
    printf("search tree: %lld nodes, %lld\n", (long long)tree_count(gc, search),
           (long long)tree_sum(gc, search, 0, 1, 2, 3, 4, 5, 3));
}

/* The section, which the linker has gathered from all modules. */
extern const char __start_llvm_stackmaps[], __stop_llvm_stackmaps[];

int main(int argc, char **argv) {
    int64_t scale = argc > 1 ? atoll(argv[1]) : 1;
    gc_llvm_module *code =
        gc_code_add_llvm(__start_llvm_stackmaps, (size_t)(__stop_llvm_stackmaps - __start_llvm_stackmaps), 0);
    gc_heap *heap = code ? gc_heap_create(NULL) : NULL;
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    checked(gc);
    lists(gc, 100 * scale);
    trees(gc, scale < 100 ? 6 : 16, 100 * scale);
    if (getenv("GC_STRESS")) {
        gc_stats stats;
        gc_heap_stats(heap, &stats);
        fprintf(stderr, "%llu of %llu collections moved %llu bytes\n", (unsigned long long)stats.collections_moving,
                (unsigned long long)(stats.collections[0] + stats.collections[1] + stats.collections[2]),
                (unsigned long long)stats.moved_bytes);
    }
    gc_heap_destroy(heap);
    gc_code_remove_llvm(code);
    return 0;
}
