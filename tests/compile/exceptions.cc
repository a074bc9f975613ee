/* C++ exceptions that leave scopes of GC_ROOTS and GC_IN_MODE; and those that pass C functions, whose scopes end only if C
   is compiled with -fexceptions: else the frames are restored where the exception is caught. exceptions [forget]: does not
   restore them. */
#include "gc.h"

#include <stdexcept>
#include <stdlib.h>
#include <string.h>

extern "C" {
extern gc_thread *gc;
extern const int c_unwinds;
void *new_node(uint64_t value);
uint64_t node_value(const void *node);
void through_c(void (*f)(int), int depth);
}

static gc_heap *heap;
static int tests, failures;

static void ok(bool condition, const char *name) {
    printf("%sok %d - %s\n", condition ? "" : "not ", ++tests, name);
    failures += !condition;
}

static void churn() {
    for (int i = 0; i < 2000; i++) new_node(0xBAD);
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
}

/* Destructors run while the frames below them are being left, and may use the heap. */
struct in_destructor {
    static int wrong;
    ~in_destructor() {
        void *node = new_node(77);
        GC_ROOTS(gc, node);
        churn();
        wrong += node_value(node) != 77;
    }
};
int in_destructor::wrong;

static void nested(int depth) {
    void *a = new_node((uint64_t)depth), *list[3] = {NULL, NULL, NULL};
    GC_ROOTS(gc, a);
    GC_ROOT_ARRAY(gc, list, 3, 0);
    list[1] = new_node((uint64_t)depth + 100);
    if (depth == 0) throw std::runtime_error("thrown");
    if (depth % 3 == 0) {
        try {
            nested(depth - 1);
        } catch (const std::runtime_error &) {
            churn();
            if (node_value(a) != (uint64_t)depth || node_value(list[1]) != (uint64_t)depth + 100) abort();
            throw;
        }
    }
    {
        void *inner = new_node(5);
        GC_ROOTS(gc, inner);
        gc_safepoint(gc);
        nested(depth - 1);
        abort();
    }
}

static bool throws(void (*f)(int), int depth) {
    try {
        f(depth);
    } catch (const std::runtime_error &) {
        return true;
    }
    return false;
}

static void scopes() {
    void *outer = new_node(4711);
    GC_ROOTS(gc, outer);
    gc_frame *mark = gc_frames_mark(gc);
    ok(throws(nested, 10), "an exception is thrown through frames, caught and thrown again on its way");
    ok(gc_frames_mark(gc) == mark, "every frame that it left is left");
    churn();
    ok(node_value(outer) == 4711, "the frames around it hold what they held");
    ok(throws(nested, 1) && gc_frames_mark(gc) == mark, "once more");
}

static void with_destructor(int depth) {
    void *node = new_node(8);
    GC_ROOTS(gc, node);
    in_destructor object;
    if (depth) with_destructor(depth - 1);
    throw std::runtime_error("thrown");
}

static void destructors() {
    gc_frame *mark = gc_frames_mark(gc);
    in_destructor::wrong = 0;
    ok(throws(with_destructor, 3), "an exception through frames and objects with destructors");
    ok(gc_frames_mark(gc) == mark && !in_destructor::wrong, "which collect, with frames of their own");
}

static void in_preemptive(int depth) {
    GC_IN_MODE(gc, GC_PREEMPTIVE);
    if (depth == 0) throw std::runtime_error("thrown");
    GC_IN_MODE(gc, GC_COOPERATIVE);
    void *node = new_node(9);
    GC_ROOTS(gc, node);
    in_preemptive(depth - 1);
}

static void modes() {
    gc_frame *mark = gc_frames_mark(gc);
    ok(throws(in_preemptive, 5) && gc_get_mode(gc) == GC_COOPERATIVE, "the mode is what it was");
    ok(gc_frames_mark(gc) == mark, "and so are the frames");
}

static void throwing(int) { throw std::runtime_error("thrown"); }
static void passing_c(int depth) { through_c(throwing, depth); }

static void c_functions(bool restore) {
    void *outer = new_node(4712);
    GC_ROOTS(gc, outer);
    gc_frame *mark = gc_frames_mark(gc);
    ok(throws(passing_c, 3), "an exception passes C functions");
    ok((gc_frames_mark(gc) == mark) == (c_unwinds != 0), c_unwinds ? "whose scopes end" : "whose scopes do not end");
    if (restore) gc_frames_restore(gc, mark);
    churn();
    ok(node_value(outer) == 4712, "the frames around them hold what they held");
}

int main(int count, char **arguments) {
    gc_options options;
    memset(&options, 0, sizeof options);
    options.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    heap = gc_heap_create(&options);
    gc = gc_thread_attach(heap);
    if (count > 1 && strcmp(arguments[1], "forget") == 0) {
        c_functions(false);
    } else {
        scopes();
        destructors();
        modes();
        c_functions(true);
    }
    gc_thread_detach(gc);
    gc_heap_destroy(heap);
    printf("1..%d\n", tests);
    return failures != 0;
}
