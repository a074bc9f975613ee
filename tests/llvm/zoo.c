/* Calls the functions of zoo.ll, or those that the arguments name, and says which of them returned what they should.
   zoo [--by-size] [NAME...], or zoo --section FILE, which reads stack maps that no linker has relocated. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

typedef struct node {
    gc_object header;
    struct node *left, *right;
    int64_t value;
} node;

static const gc_type node_type = GC_TYPE(node, left, right);
static gc_heap *heap;
static int moved, visited;
static bool others_collect; /* atomic */
static jmp_buf escaped;

static void rt_collect_now(gc_thread *gc) {
    uint64_t before = gc_heap_moves(heap);
    if (__atomic_load_n(&others_collect, __ATOMIC_RELAXED)) {
        gc_safepoint(gc);
        return;
    }
    gc_collect(heap, 2, GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING);
    moved += gc_heap_moves(heap) != before;
}

static void rt_escape_now(gc_thread *gc) {
    rt_collect_now(gc);
    longjmp(escaped, 1);
}

int64_t zoo_plain(gc_thread *, node *, node *);
int64_t zoo_deopt(gc_thread *, node *, node *, double);
int64_t zoo_vector(gc_thread *, node *, node *);
int64_t zoo_derived_vector(gc_thread *, node *, node *, int64_t);
int64_t zoo_select(gc_thread *, node *, node *, int64_t);
int64_t zoo_dynamic(gc_thread *, node *, node *, int64_t);
int64_t zoo_aligned(gc_thread *, node *, node *);
int64_t zoo_dynamic_aligned(gc_thread *, node *, node *, int64_t);
int64_t zoo_pushes(gc_thread *, node *, node *, int64_t);
int64_t zoo_deep(gc_thread *, node *, node *, int64_t);
int64_t zoo_back(gc_thread *, node *, int64_t);
int64_t zoo_loop(gc_thread *, node *, node *, int64_t);
void zoo_escape(gc_thread *, node *);
int64_t use_a(gc_thread *, node *) __attribute__((weak)); /* copies.ll, where it is linked */
int64_t use_b(gc_thread *, node *) __attribute__((weak));

static int64_t rt_call_back_now(gc_thread *gc, node *a, int64_t n) {
    GC_ROOTS(gc, a);
    int64_t below = zoo_back(gc, a, n);
    return below + a->value;
}

void rt_touch(char *room);
void rt_touch(char *room) { *room = 1; }

GC_CODE_EXPORT(rt_collect, rt_collect_now);
GC_CODE_EXPORT(rt_escape, rt_escape_now);
GC_CODE_EXPORT(rt_call_back, rt_call_back_now);

/* The return address of a call at the end of a function is that of what follows it. */
static int64_t escape(gc_thread *gc, node *a) {
    gc_code_frame *mark = gc_code_mark(gc);
    GC_ROOTS(gc, a);
    if (setjmp(escaped) == 0) zoo_escape(gc, a);
    gc_code_restore(gc, mark);
    return a->value;
}

/* A thread that signals interrupt within compiled code, which cannot be stopped there: it comes to a call of native code. */
typedef struct deep {
    int64_t result;
    bool started, stop; /* atomic */
} deep;

static void *run_deep(void *argument) {
    deep *it = argument;
    gc_thread *gc = gc_thread_attach(heap);
    node *a = gc_new(gc, &node_type), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = gc_new(gc, &node_type);
    a->value = 4, b->value = 7;
    if (gc_thread_set_interruptible(gc, true) != GC_OK) fprintf(stderr, "%s\n", gc_last_message());
    __atomic_store_n(&it->started, true, __ATOMIC_RELEASE);
    for (it->result = 605; it->result == 605 && !__atomic_load_n(&it->stop, __ATOMIC_RELAXED);)
        it->result = zoo_deep(gc, a, b, 9);
    gc_thread_set_interruptible(gc, false);
    a = b = NULL;
    gc_thread_detach(gc);
    return NULL;
}

static int64_t interrupted(gc_thread *gc) {
    deep it = {0};
    pthread_t thread;
    __atomic_store_n(&others_collect, true, __ATOMIC_RELAXED);
    if (pthread_create(&thread, NULL, run_deep, &it) != 0) return 0;
    while (!__atomic_load_n(&it.started, __ATOMIC_ACQUIRE)) gc_safepoint(gc);
    for (int i = 0; i < 300; i++) gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    __atomic_store_n(&it.stop, true, __ATOMIC_RELAXED);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    __atomic_store_n(&others_collect, false, __ATOMIC_RELAXED);
    moved++;
    return it.result;
}

static char **wanted;

static bool is_wanted(const char *name) {
    bool all = !*wanted;
    for (char **want = wanted; *want; want++) all |= strcmp(*want, name) == 0;
    visited += all;
    return all;
}

#define CHECK(name, call, expected)                                                                      \
    if (is_wanted(#name)) {                                                                              \
        long long got = (long long)(call);                                                               \
        printf("%s: %s\n", #name, got == (expected) ? "right" : "wrong");                                \
        if (got != (expected)) fprintf(stderr, "%s: %lld instead of %d\n", #name, got, (int)(expected)); \
    }

static void visit_all(gc_thread *gc) {
    node *a = gc_new(gc, &node_type), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = gc_new(gc, &node_type);
    a->value = 4, b->value = 7;
    CHECK(plain, zoo_plain(gc, a, b), 47);
    CHECK(deopt, zoo_deopt(gc, a, b, 1.5), 47);
    CHECK(vector, zoo_vector(gc, a, b), 47);
    CHECK(derived_vector, zoo_derived_vector(gc, a, b, 24), 47);
    CHECK(select, zoo_select(gc, a, b, 24), 7);
    CHECK(select, zoo_select(gc, a, b, 25), 4);
    CHECK(dynamic, zoo_dynamic(gc, a, b, 100), 47);
    CHECK(aligned, zoo_aligned(gc, a, b), 47);
    CHECK(dynamic_aligned, zoo_dynamic_aligned(gc, a, b, 100), 47);
    CHECK(pushes, zoo_pushes(gc, a, b, 100), 74 * 100 + 47 * 100 + 8);
    CHECK(deep, zoo_deep(gc, a, b, 9), 5 * (47 + 74));
    CHECK(back, zoo_back(gc, a, 5), 11 * 4);
    CHECK(loop, zoo_loop(gc, a, b, 3), 47);
    CHECK(interrupted, interrupted(gc), 605);
    CHECK(escape, escape(gc, a), 4);
    if (use_a) {
        CHECK(a copy, use_a(gc, a), 4);
        CHECK(a copy, use_b(gc, a), 4);
    }
    a = b = NULL;
}

extern const char __start_llvm_stackmaps[], __stop_llvm_stackmaps[];

static int read_section(const char *name) {
    static char section[1 << 16];
    FILE *file = fopen(name, "rb");
    size_t bytes = file ? fread(section, 1, sizeof section, file) : 0;
    if (file) fclose(file);
    gc_llvm_module *module = gc_code_add_llvm(section, bytes, 0);
    printf("%zu bytes: %s\n", bytes, module ? "accepted" : gc_last_message());
    gc_code_remove_llvm(module);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--section") == 0) return read_section(argv[2]);
    bool by_size = argc > 1 && strcmp(argv[1], "--by-size") == 0;
    wanted = argv + 1 + by_size;
    gc_llvm_module *code =
        gc_code_add_llvm(__start_llvm_stackmaps, (size_t)(__stop_llvm_stackmaps - __start_llvm_stackmaps),
                         by_size ? GC_LLVM_FRAMES_BY_SIZE : 0);
    gc_options options = {.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .debug.stress = 1};
    heap = code ? gc_heap_create(&options) : NULL;
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) {
        printf("%s\n", gc_last_message());
        return 1;
    }
    visit_all(gc);
    if (moved < visited) printf("collections that moved objects: %d\n", moved);
    gc_heap_destroy(heap);
    gc_code_remove_llvm(code);
    return 0;
}
