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
    GC_ROOTS_ARRAY(gc, list, 3, 0);
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
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    if (depth == 0) throw std::runtime_error("thrown");
    GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
    void *node = new_node(9);
    GC_ROOTS(gc, node);
    in_preemptive(depth - 1);
}

static void modes() {
    gc_frame *mark = gc_frames_mark(gc);
    ok(throws(in_preemptive, 5) && gc_thread_mode(gc) == GC_MODE_COOPERATIVE, "the mode is what it was");
    ok(gc_frames_mark(gc) == mark, "and so are the frames");
}

static gc_safe_handle *no_handle() { throw std::runtime_error("thrown"); }
static void in_native_call(int) {
    GC_NATIVE_CALL(gc, no_handle(), value) (void)value, abort();
}
static void native_calls() {
    void *outer = new_node(4713);
    GC_ROOTS(gc, outer);
    gc_frame *mark = gc_frames_mark(gc);
    ok(throws(in_native_call, 0) && gc_frames_mark(gc) == mark && gc_thread_mode(gc) == GC_MODE_COOPERATIVE,
       "what says the handle of a native call throws");
    churn();
    ok(node_value(outer) == 4713, "the frames around it hold what they held");
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

/* Finalizers. */

static int ran;
static void finalize_throwing(gc_thread *, void *) { ran++, throw std::runtime_error("thrown"); }
static void finalize_nested(gc_thread *thread, void *);
static const gc_finalizer thrower = {finalize_throwing, false, nullptr}, nesting = {finalize_nested, false, nullptr};

static void finalized(const gc_finalizer *finalizer, int objects) {
    while (objects-- > 0) gc_finalizer_register(gc, new_node(1), finalizer);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
}

static void run_finalizers(int most) { gc_finalizer_run(gc, (size_t)most); }
static void wait_for_finalizers(int ms) { gc_finalizer_wait(gc, (uint64_t)ms); }
static void destroy(int) { gc_heap_destroy(heap); }

static void finalize_nested(gc_thread *, void *) {
    ran++;
    finalized(&thrower, 1);
    bool inner = throws(run_finalizers, 1);
    if (gc_finalizer_pending(heap) != 1 || gc_finalizer_wait(gc, 1) || !inner) ran = -1000;
}

static void smash() {
    volatile char bytes[4000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)i;
}

static void finalizers() {
    ran = 0;
    finalized(&thrower, 3);
    ok(throws(run_finalizers, 10), "an exception leaves a finalizer and gc_finalizer_run");
    smash();
    ok(gc_finalizer_pending(heap) == 2, "it counts as run");
    ok(throws(run_finalizers, 10) && throws(wait_for_finalizers, 1000), "and so do others");
    ok(gc_finalizer_wait(gc, 1000) && ran == 3, "until none is left");
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    finalized(&nesting, 1);
    ok(gc_finalizer_run(gc, 1) == 1 && ran == 5 && !gc_finalizer_pending(heap), "the same within another one");
    gc_finalizer_register(gc, new_node(1), &thrower);
    gc_finalizer_register(gc, new_node(1), &thrower);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    ok(throws(destroy, 0), "one leaves gc_heap_destroy");
    ok(!c_unwinds || gc_thread_mode(gc) == GC_MODE_PREEMPTIVE, "in the mode in which that was called");
    ok(throws(destroy, 0) && ran == 7, "which is called once more");
}

/* Callbacks of a collection that do not return. */
static void throw_roots(void *, gc_thread *, gc_visitor *) { throw std::runtime_error("thrown"); }
static void collect(int) { gc_collect(heap, 2, GC_COLLECT_DEFAULT); }
static void leave_collection() {
    throws(collect, 0);
    collect(0);
}

int main(int count, char **arguments) {
    gc_options options;
    memset(&options, 0, sizeof options);
    options.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    bool leave = count > 1 && strcmp(arguments[1], "leave") == 0;
    if (leave) options.scan_roots = throw_roots, options.debug.verify = 0;
    heap = gc_heap_create(&options);
    gc = gc_thread_attach(heap);
    if (count > 1 && strcmp(arguments[1], "forget") == 0) {
        c_functions(false);
    } else if (leave) {
        leave_collection();
    } else {
        scopes();
        destructors();
        modes();
    native_calls();
        c_functions(true);
        finalizers();
    }
    if (gc_thread_current(heap)) gc_thread_detach(gc);
    gc_heap_destroy(heap);
    printf("1..%d\n", tests);
    return failures != 0;
}
