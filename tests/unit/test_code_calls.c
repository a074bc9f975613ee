/* Calls between native and compiled code: arguments, results, registers, and how frames are left. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"

#include <unwind.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#define VALUE ((int32_t)offsetof(node, value))
#define STRESSED ((gc_options){.debug.stress = GC_STRESS_SAFEPOINT})

static uintptr_t call1(const method *m, uintptr_t argument) { return gc_code_call(gc, m->start, &argument, 1); }

/* The simplest method: calls a native function with its own arguments, and returns its result. */
static method *caller_of(const char *name, void (*stub)(void), void (*function)(void)) {
    method *m = method_begin(name);
    call_stub(m, stub, function, 0), ret(m);
    return method_end(m);
}

/* Arguments and results. */

static uint64_t digits(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
    return ((((a * 10 + b) * 10 + c) * 10 + d) * 10 + e) * 10 + f;
}

static void arguments(void) {
    uintptr_t six[] = {1, 2, 3, 4, 5, 6};
    method *m = caller_of("digits", gc_code_call_native, (void (*)(void))digits);
    is(gc_code_call(gc, m->start, six, 6), 123456, "six arguments go through compiled code to native code");
    is(gc_code_call(gc, m->start, six, 3), 123000, "those that are missing are 0");
    is(gc_code_call(gc, m->start, NULL, 0), 0, "as are all");
    method_free(m);
    m = method_begin("thread");
    move(m, RAX, R15), ret(m), method_end(m);
    is(gc_code_call(gc, m->start, six, 6), (uintptr_t)gc, "r15 is the thread");
    method_free(m);
}

/* Vectors: eight arguments, and results in xmm0 and xmm1. */
typedef struct two_doubles {
    double a, b;
} two_doubles;
typedef struct two_words {
    uint64_t a, b;
} two_words;

static two_doubles sum_and_product(double a, double b, double c, double d, double e, double f, double g, double h) {
    return (two_doubles){a + b + c + d + e + f + g + h, a * b * c * d * e * f * g * h};
}
static two_words swapped(uint64_t a, uint64_t b) { return (two_words){b, a}; }

static void vectors(void) {
    method *m = method_begin("vectors");
    for (unsigned i = 0; i < 8; i++) /* cvtsi2sd xmm<i>, rdi; inc rdi */
        byte(m, 0xF2), byte(m, 0x48), byte(m, 0x0F), byte(m, 0x2A), byte(m, 0xC0 | i << 3 | RDI), add_number(m, RDI, 1);
    call_native(m, sum_and_product, 0);
    byte(m, 0xF2), byte(m, 0x48), byte(m, 0x0F), byte(m, 0x2D), byte(m, 0xC0); /* cvtsd2si rax, xmm0 */
    byte(m, 0xF2), byte(m, 0x48), byte(m, 0x0F), byte(m, 0x2D), byte(m, 0xD1); /* cvtsd2si rdx, xmm1 */
    add(m, RAX, RDX), ret(m), method_end(m);
    is(call1(m, 1), 36 + 40320, "eight vectors are handed on, and two of them return");
    method_free(m);
    m = method_begin("words");
    number(m, RSI, 30), call_native(m, swapped, 0), add(m, RAX, RAX), add(m, RAX, RDX), ret(m), method_end(m);
    is(call1(m, 7), 67, "so do rax and rdx");
    method_free(m);
}

/* Compiled code that is called by gc_code_call need not preserve registers. */
static void clobbers(void) {
    method *m = method_begin("clobbers");
    static const unsigned preserved[] = {RBX, RBP, R12, R13, R14, R15};
    for (unsigned i = 0; i < 6; i++) clear(m, preserved[i]);
    move(m, RAX, RDI), ret(m), method_end(m);
    uintptr_t results[8] = {0};
    for (unsigned i = 0; i < 8; i++) results[i] = call1(m, i) + (i ? results[i - 1] : 0);
    is(results[7], 28, "gc_code_call preserves registers");
    method_free(m);
}

/* Results that are references. */

static const node *last_fresh; /* where it was */
static node *fresh(gc_thread *thread, uint64_t value) {
    node *n = (node *)gc_new(thread, &node_type);
    if (n) n->value = value;
    last_fresh = n;
    return n;
}

static void results(void) {
    method *m = method_begin("fresh");
    move(m, RSI, RDI), move(m, RDI, R15), call_native_ref(m, fresh, 0), ret(m), method_end(m);
    node *n = (node *)call1(m, 12);
    is(n->value, 12, "a reference that a native function returns is a root at the poll after it");
    ok(n != last_fresh, "where a collection has moved it");
    method_free(m);
    m = method_begin("scalar");
    move(m, RSI, RDI), move(m, RDI, R15), call_native(m, fresh, 0), ret(m), method_end(m);
    const uint64_t *stale = (const uint64_t *)call1(m, 12);
    ok(gc_heap_object_at(heap, stale) != stale, "without _ref it is a number, which keeps nothing");
    method_free(m);
}

/* Symbols for compiled code to call. */

static uint64_t exported(gc_thread *thread, uint64_t a, uint64_t b) {
    full();
    return a * 100 + b + (thread == gc ? 0 : 1000000);
}
static node *exported_ref(gc_thread *thread, node *left) {
    GC_ROOTS(thread, left);
    node *n = fresh(thread, 1);
    gc_store(thread, &n->left, left);
    return n;
}
GC_CODE_EXPORT(test_exported, exported);
GC_CODE_EXPORT_REF(test_exported_ref, exported_ref);

static void exports(void) {
    method *m = method_begin("exports");
    move(m, RSI, RDI), move(m, RDI, R15), call_code(m, (const void *)(uintptr_t)test_exported_ref, 0);
    ret(m), method_end(m);
    node *n = (node *)call1(m, (uintptr_t)fresh(gc, 8));
    ok(n->value == 1 && n->left->value == 8, "a symbol of GC_CODE_EXPORT_REF calls its function with the thread");
    method_free(m);
    uintptr_t three[] = {(uintptr_t)gc, 3, 14};
    is(gc_code_call(gc, (const void *)(uintptr_t)test_exported, three, 3), 314, "and gc_code_call may call one");
}

/* The native call stack: the unwinder of C++ exceptions and of debuggers comes through the stubs. */

static unsigned traced;
static bool through;
static _Unwind_Reason_Code count_frame(struct _Unwind_Context *frame, void *unused) {
    (void)unused;
    traced++;
    through |= _Unwind_GetIP(frame) == (uintptr_t)gc__code_entered;
    return _URC_NO_REASON;
}
static __attribute__((noinline)) void trace(gc_thread *thread) {
    (void)thread;
    traced = 0;
    _Unwind_Backtrace(count_frame, NULL);
}
GC_CODE_EXPORT(test_trace, trace);

static __attribute__((noinline)) unsigned depth_of(unsigned extra) {
    uintptr_t me = (uintptr_t)gc;
    through = false;
    if (extra) return depth_of(extra - 1) + (unsigned)(uintptr_t)__builtin_frame_address(0) % 2;
    gc_code_call(gc, (const void *)(uintptr_t)test_trace, &me, 1);
    return traced;
}

static void unwinding(void) {
    unsigned shallow = depth_of(0), deep = depth_of(5);
    ok(through && shallow > 4, "an unwinder sees gc_code_call below the native function");
    is(deep, shallow + 5, "and all frames below that");
}

/* longjmp and marks. */

static jmp_buf away;
static void leave_by_longjmp(void) { longjmp(away, 1); }
static void jumps(void) {
    method *leaves = caller_of("leaves", gc_code_call_native, leave_by_longjmp), *outer = method_begin("outer");
    method *stays = caller_of("stays", gc_code_call_native, (void (*)(void))full);
    call_method(outer, leaves, 0), ret(outer), method_end(outer);
    gc_code_frame *mark = gc_code_mark(gc);
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(away) == 0)
            call1(outer, 0);
        else
            gc_code_release(gc), gc_code_restore(gc, mark);
        ok(gc->code == mark, "longjmp over compiled frames, and the mark");
        call1(stays, 0);
    }
    ok(!gc->code, "no record is left");
    method_free(leaves), method_free(outer), method_free(stays);
}

/* A call that is the last instruction of a method returns to the end of its code. */
static void collect_and_leave(void) {
    full();
    longjmp(away, 1);
}

static void last_call(void) {
    method *m = method_begin("last");
    call_native(m, collect_and_leave, 0), method_end(m);
    gc_code_frame *mark = gc_code_mark(gc);
    if (setjmp(away) == 0) call1(m, 0);
    gc_code_release(gc), gc_code_restore(gc, mark);
    ok(m->code.bytes == m->points[0].offset, "a call that never returns ends its method, which is found nevertheless");
    method_free(m);
}

/* A longjmp below other compiled frames, whose roots live on. */
static method *jumps_within;
static uint64_t native_with_jump(gc_thread *thread, node *kept) {
    GC_ROOTS(thread, kept);
    gc_code_frame *mark = gc_code_mark(thread);
    gc_frame *roots = gc_frames_mark(thread);
    if (setjmp(away) == 0) {
        gc_code_call(thread, jumps_within->start, NULL, 0);
    } else {
        gc_frames_restore(thread, roots);
        gc_code_restore(thread, mark);
    }
    full();
    return kept->value;
}

static void jumps_below(void) {
    jumps_within = caller_of("leaves", gc_code_call_native, leave_by_longjmp);
    method *m = method_begin("keeps");
    unsigned s = slot(m, GC_PLACE_REGISTER, RBX, 0);
    save(m, RBX), prolog_end(m), move(m, RBX, RDI), move(m, RSI, RDI), move(m, RDI, R15);
    call_native(m, native_with_jump, BIT(s));
    load(m, RBX, RBX, VALUE), add(m, RAX, RBX), restore(m, RBX), ret(m), method_end(m);
    is(call1(m, (uintptr_t)fresh(gc, 21)), 42, "frames below a longjmp keep their roots");
    method_free(m), method_free(jumps_within);
}

/* Fibers: compiled frames are left on stacks that do not run. */
enum { FIBERS = 4, FIBER_BYTES = 256 << 10 };
static struct fiber {
    ucontext_t context, back;
    gc_stack *stack;
    char *memory;
    uint64_t number, sum;
    bool ended;
} fibers[FIBERS];
static method *recursive;

static void yield(gc_thread *thread, uint64_t number) {
    struct fiber *f = &fibers[number];
    gc_stack_switch(thread, NULL);
    swapcontext(&f->context, &f->back);
}

/* recursive(number, depth): holds a new node, goes deeper, yields, and adds the node's value to what was returned. */
static method *new_recursive(void) {
    method *m = method_begin("recursive");
    unsigned s = slot(m, GC_PLACE_REGISTER, RBX, 0), t = slot(m, GC_PLACE_SP, 0, 0);
    save(m, RBX), save(m, R12), save(m, R13), save(m, R14), allocate(m, 8), prolog_end(m);
    move(m, R12, RDI), move(m, R13, RSI), clear(m, R14), store(m, RSP, 0, R14), clear(m, RBX);
    move(m, RDI, R15), call_native_ref(m, fresh, BIT(s) | BIT(t));
    move(m, RBX, RAX), store(m, RSP, 0, RAX);
    add_number(m, R13, 0);
    uint32_t end = jump_if(m, IF_ZERO);
    move(m, RDI, R12), move(m, RSI, R13), add_number(m, RSI, -1);
    call_code(m, m->start, BIT(s) | BIT(t)), move(m, R14, RAX);
    land(m, end);
    move(m, RDI, R15), move(m, RSI, R12), call_native(m, yield, BIT(s) | BIT(t));
    load(m, RAX, RBX, VALUE), add(m, R14, RAX);
    load(m, RAX, RSP, 0), load(m, RAX, RAX, VALUE), add(m, RAX, R14);
    allocate(m, -8), restore(m, R14), restore(m, R13), restore(m, R12), restore(m, RBX), ret(m);
    return method_end(m);
}

static void fiber_main(unsigned number) {
    struct fiber *f = &fibers[number];
    uintptr_t two[] = {number, 10 + number};
    f->sum = gc_code_call(gc, recursive->start, two, 2);
    f->ended = true;
    gc_stack_switch(gc, NULL);
    setcontext(&f->back);
}

static void fibers_start(void) {
    recursive = new_recursive();
    for (unsigned i = 0; i < FIBERS; i++) {
        fibers[i] = (struct fiber){.number = i, .memory = (char *)malloc(FIBER_BYTES)};
        fibers[i].stack = gc_stack_create(heap, fibers[i].memory + FIBER_BYTES);
        if (!fibers[i].memory || !fibers[i].stack || getcontext(&fibers[i].context)) abort();
        fibers[i].context.uc_stack.ss_sp = fibers[i].memory;
        fibers[i].context.uc_stack.ss_size = FIBER_BYTES;
        makecontext(&fibers[i].context, (void (*)(void))(uintptr_t)fiber_main, 1, i);
    }
}

static void resume(struct fiber *f) {
    gc_stack_switch(gc, f->stack);
    swapcontext(&f->back, &f->context);
}

static void fibers_end(void) {
    for (unsigned i = 0; i < FIBERS; i++) gc_stack_destroy(fibers[i].stack), free(fibers[i].memory);
    method_free(recursive);
}

static void on_fibers(void) {
    fibers_start();
    unsigned left = FIBERS;
    while (left) {
        struct fiber *f = &fibers[random_bits() % FIBERS];
        if (f->ended) continue;
        resume(f);
        left -= f->ended;
        if (random_bits() % 4 == 0) compact();
        for (int i = 0; i < 20; i++) new_node(0);
    }
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < FIBERS; i++) wrong += fibers[i].sum != 2 * (11 + i) * (10 + i) / 2;
    is(wrong, 0, "compiled frames that are left on the stacks of fibers keep their roots");
    fibers_end();
}

/* Native code below compiled code in preemptive mode, while another thread collects. */
static uint32_t stage; /* atomic */
static void *collector(void *unused) {
    gc_thread *thread = gc_thread_attach(heap);
    (void)unused;
    for (int i = 0; i < 3; i++) full();
    __atomic_store_n(&stage, 1u, __ATOMIC_SEQ_CST);
    gc_thread_detach(thread);
    return NULL;
}

static void waits(gc_thread *thread) {
    pthread_t other;
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    if (pthread_create(&other, NULL, collector, NULL)) abort();
    pthread_join(other, NULL);
}

static void preemptive(void) {
    method *m = method_begin("waits");
    unsigned s = slot(m, GC_PLACE_REGISTER, R13, 0);
    save(m, R13), prolog_end(m), move(m, R13, RDI), move(m, RDI, R15), call_native(m, waits, BIT(s));
    load(m, RAX, R13, VALUE), restore(m, R13), ret(m), method_end(m);
    is(call1(m, (uintptr_t)fresh(gc, 77)), 77,
       "frames below native code that waits are visited by collections of other threads");
    is(stage, 1, "which have run");
    method_free(m);
}

int main(void) {
    run(arguments, (gc_options){0});
    run(arguments, STRESSED);
    run(vectors, (gc_options){0});
    run(vectors, STRESSED);
    run(clobbers, (gc_options){0});
    run(results, STRESSED);
    run(exports, STRESSED);
    run(unwinding, (gc_options){0});
    run(jumps, (gc_options){0});
    run(jumps, STRESSED);
    run(last_call, (gc_options){0});
    run(jumps_below, (gc_options){0});
    run(jumps_below, STRESSED);
    run(on_fibers, (gc_options){0});
    run(on_fibers, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 3});
    run(preemptive, (gc_options){0});
    return done();
}
