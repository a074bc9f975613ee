/* Compiled frames: calls to and from native code, walks, and what is live in frames while objects move. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#define VALUE ((int32_t)offsetof(node, value))
#define LEFT ((int32_t)offsetof(node, left))
#define STRESSED ((gc_options){.stress = GC_STRESS_SAFEPOINT})

static uintptr_t call2(const method *m, uintptr_t a, uintptr_t b) {
    uintptr_t arguments[] = {a, b};
    return gc_code_call(gc, m->start, arguments, 2);
}

static uintptr_t call_node(const method *m, node *n) { return call2(m, (uintptr_t)n, 0); }

/* Native functions, called with whatever the argument registers hold. */
static void collect_all(void) { compact(); }

/* A place in a frame for one reference across a call that collects: five of frames with a frame pointer, six without. */
static void put_and_take(method *m, gc_stackmap_place place, int where, int32_t depth, bool put) {
    unsigned to = put ? RDI : RAX;
    if (place == GC_PLACE_REGISTER) {
        put ? move(m, (unsigned)where, RDI) : move(m, RAX, (unsigned)where);
        return;
    }
    unsigned base = place == GC_PLACE_FRAME ? RBP : RSP;
    int32_t offset = place == GC_PLACE_CFA ? depth + where : where;
    put ? store(m, base, offset, to) : load(m, to, base, offset);
}

/* Takes a node, keeps it at the place while a native function collects, and returns it. */
static method *keeper(const char *name, bool with_frame, gc_stackmap_place place, int where, unsigned flags) {
    method *m = method_begin(name);
    unsigned s = slot(m, place, where, flags);
    if (with_frame) enter(m);
    for (unsigned i = 0; i < 6; i++) {
        static const unsigned saved[] = {RBX, RBP, R12, R13, R14, R15};
        if (saved[i] != RBP || !with_frame) save(m, saved[i]);
    }
    allocate(m, 32);
    prolog_end(m);
    int32_t depth = 8 * 7 + 32;
    put_and_take(m, place, where, depth, true);
    call_native(m, collect_all, BIT(s));
    put_and_take(m, place, where, depth, false);
    allocate(m, -32);
    for (unsigned i = 6; i-- > 0;) {
        static const unsigned saved[] = {RBX, RBP, R12, R13, R14, R15};
        if (saved[i] != RBP || !with_frame) restore(m, saved[i]);
    }
    if (with_frame) restore(m, RBP);
    ret(m);
    return method_end(m);
}

static void kept(const char *name, bool with_frame, gc_stackmap_place place, int where) {
    method *m = keeper(name, with_frame, place, where, 0);
    node *before = new_node(4711), *after = (node *)call_node(m, before);
    ok(after != before, "%s: the object has moved", name);
    is(after->value, 4711, "%s: and the slot has followed it", name);
    method_free(m);
}

static void places(void) {
    kept("frame pointer, slot by CFA", true, GC_PLACE_CFA, -64);
    kept("frame pointer, slot by stack pointer", true, GC_PLACE_SP, 8);
    kept("frame pointer, slot by frame pointer", true, GC_PLACE_FRAME, -56);
    kept("frame pointer, slot in rbx", true, GC_PLACE_REGISTER, RBX);
    kept("frame pointer, slot in r14", true, GC_PLACE_REGISTER, R14);
    kept("no frame pointer, slot by CFA", false, GC_PLACE_CFA, -64);
    kept("no frame pointer, slot by stack pointer", false, GC_PLACE_SP, 0);
    kept("no frame pointer, slot in rbx", false, GC_PLACE_REGISTER, RBX);
    kept("no frame pointer, slot in rbp", false, GC_PLACE_REGISTER, RBP);
    kept("no frame pointer, slot in r12", false, GC_PLACE_REGISTER, R12);
    kept("no frame pointer, slot in r13", false, GC_PLACE_REGISTER, R13);
}


/* Five preserved registers, used as `first` .. say by each of two callers and a callee, which save one another's. */
static const unsigned five[] = {RBX, RBP, R12, R13, R14};

/* Takes two arrays of five nodes each: uses the first, and hands the second to the callee as its first. Returns the sum of
   the values that the registers hold after the call, and of what the callee has returned. */
static method *five_registers(const char *name, const method *callee) {
    method *m = method_begin(name);
    uint64_t live = 0;
    for (unsigned i = 0; i < 5; i++) live |= BIT(slot(m, GC_PLACE_REGISTER, (int)five[i], 0));
    for (unsigned i = 0; i < 5; i++) save(m, five[i]);
    prolog_end(m);
    for (unsigned i = 0; i < 5; i++) load(m, five[i], RDI, (int32_t)i * 8);
    move(m, RDI, RSI), add_number(m, RSI, 40);
    if (callee)
        call_method(m, callee, live);
    else
        call_native(m, collect_all, live), clear(m, RAX);
    for (unsigned i = 0; i < 5; i++) load(m, five[i], five[i], VALUE), add(m, RAX, five[i]);
    for (unsigned i = 5; i-- > 0;) restore(m, five[i]);
    ret(m);
    return method_end(m);
}

/* The same with a frame pointer and one register, so that the rest is where it was. */
static method *one_register(const char *name, const method *callee) {
    method *m = method_begin(name);
    uint64_t live = BIT(slot(m, GC_PLACE_REGISTER, R13, 0));
    enter(m), allocate(m, 16), save(m, R13), prolog_end(m);
    load(m, R13, RDI, 0), move(m, RDI, RSI), add_number(m, RSI, 40);
    call_method(m, callee, live);
    load(m, R13, R13, VALUE), add(m, RAX, R13);
    restore(m, R13), leave(m), ret(m);
    return method_end(m);
}

static void saved_registers(void) {
    method *c = five_registers("c", NULL), *b = one_register("b", c), *a = five_registers("a", b), *z = one_register("z", a);
    node *nodes[20] = {0};
    for (unsigned i = 0; i < 20; i++) nodes[i] = NULL;
    GC_ROOTS_ARRAY(gc, nodes, 20, 0);
    for (unsigned i = 0; i < 20; i++) nodes[i] = new_node((uint64_t)1 << i);
    const node *old = nodes[0];
    /* The array is no root of the compiled code's, which holds its own references to the nodes. */
    is(call2(z, (uintptr_t)nodes, (uintptr_t)(nodes + 5)), 0x1FFFFF & (1 | 0x3E0 | 1 << 10 | 0xF8000),
       "registers are updated where deeper frames saved them");
    ok(nodes[0] != old, "and the objects have moved");
    method_free(a), method_free(b), method_free(c), method_free(z);
}

/* Recursion: count(n, node) keeps the node and its successor in rbx and on the stack, and returns the sum of the values of
   all nodes that were kept. */
static void collect_at_the_end(void) { compact(), full(); }

static void *linked(gc_thread *thread, node *left, uint64_t value) {
    GC_ROOTS(thread, left);
    node *n = (node *)gc_new(thread, &node_type);
    if (!n) abort();
    gc_store(thread, &n->left, left);
    n->value = value;
    return n;
}

static method *counter(bool with_frame) {
    method *m = method_begin("count");
    unsigned kept = slot(m, GC_PLACE_REGISTER, RBX, 0), spilled = slot(m, GC_PLACE_SP, 0, 0);
    if (with_frame) enter(m);
    save(m, RBX), save(m, R12), allocate(m, 8), prolog_end(m);
    move(m, R12, RDI), move(m, RBX, RSI), store(m, RSP, 0, RSI);
    compare(m, R12, R12), add_number(m, R12, 0);
    uint32_t at_end = jump_if(m, IF_ZERO);
    move(m, RDI, R15), move(m, RSI, RBX), move(m, RDX, R12);
    call_native_ref(m, linked, BIT(kept) | BIT(spilled));
    move(m, RSI, RAX), move(m, RDI, R12), add_number(m, RDI, -1);
    number(m, RAX, (uintptr_t)m->start), byte(m, 0xFF), byte(m, 0xD0), point(m, BIT(kept) | BIT(spilled));
    uint32_t out = (compare(m, RSP, RSP), jump_if(m, IF_ZERO));
    land(m, at_end);
    call_native(m, collect_at_the_end, BIT(kept) | BIT(spilled));
    clear(m, RAX);
    land(m, out);
    load(m, RBX, RBX, VALUE), add(m, RAX, RBX);
    load(m, RDI, RSP, 0), load(m, RDI, RDI, VALUE), add(m, RAX, RDI);
    allocate(m, -8), restore(m, R12), restore(m, RBX);
    if (with_frame) restore(m, RBP);
    ret(m);
    return method_end(m);
}

static method *counts[2];

static uint64_t counted(gc_thread *thread, int which, uint64_t depth) {
    uintptr_t arguments[] = {depth, (uintptr_t)linked(thread, NULL, 0)};
    return gc_code_call(thread, counts[which]->start, arguments, 2);
}

static void recursion(void) {
    for (int i = 0; i < 2; i++) {
        counts[i] = counter(i);
        is(counted(gc, i, 300), 300 * 301, "recursion, %s frame pointer", i ? "with" : "without");
    }
}

typedef struct runner {
    pthread_t thread;
    uint64_t depth, rounds, wrong;
} runner;

static void *run_recursion(void *argument) {
    runner *r = (runner *)argument;
    gc_thread *thread = gc_thread_attach(heap);
    if (!thread) return NULL;
    for (uint64_t i = 0; i < r->rounds; i++)
        r->wrong += counted(thread, (int)(i & 1), r->depth) != r->depth * (r->depth + 1);
    gc_thread_detach(thread);
    return NULL;
}

static void run_threads(runner *runners, unsigned count, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&runners[i].thread, &attributes, run_recursion, &runners[i])) abort();
    for (unsigned i = 0; i < count; i++) pthread_join(runners[i].thread, NULL);
}

static void deep(void) {
    runner r = {.depth = 100000, .rounds = 2};
    run_threads(&r, 1, 64 << 20);
    is(r.wrong, 0, "a recursion of 100,000 compiled frames");
}

static void threads(void) {
    runner all[4];
    for (unsigned i = 0; i < 4; i++) all[i] = (runner){.depth = 100 + i * 50, .rounds = 10};
    run_threads(all, 4, 1 << 20);
    uint64_t wrong = 0;
    for (unsigned i = 0; i < 4; i++) wrong += all[i].wrong;
    is(wrong, 0, "four threads that are in compiled code");
}

/* Native and compiled code call each other by turns: compiled ping(n, node) calls native pong, which calls ping. */
static method *ping;

static void *pong(gc_thread *thread, uint64_t n, node *kept) {
    GC_ROOTS(thread, kept);
    node *next = (node *)linked(thread, NULL, n), *deepest = NULL;
    GC_ROOTS(thread, next, deepest);
    uintptr_t arguments[] = {n - 1, (uintptr_t)next};
    if (n) deepest = (node *)gc_code_call(thread, ping->start, arguments, 2);
    full();
    if (deepest) gc_store(thread, &next->left, deepest);
    next->value += kept->value;
    return next;
}

static method *new_ping(void) {
    method *m = method_begin("ping");
    unsigned s = slot(m, GC_PLACE_REGISTER, RBX, 0);
    save(m, RBX), prolog_end(m);
    move(m, RBX, RSI), move(m, RDX, RSI), move(m, RSI, RDI), move(m, RDI, R15);
    call_native_ref(m, pong, BIT(s));
    store(m, RAX, (int32_t)offsetof(node, right), RBX); /* RAX is the younger one */
    restore(m, RBX), ret(m);
    return method_end(m);
}

static void by_turns(void) {
    ping = new_ping();
    node *before = new_node(41);
    GC_ROOTS(gc, before);
    uint64_t length = 0, wrong = 0;
    for (const node *each = (node *)call2(ping, 40, (uintptr_t)before); each; before = (node *)(uintptr_t)each, each = each->left)
        wrong += each->value != 81 - 2 * length++ || each->right != before;
    is(length, 41, "native and compiled code call each other, 41 deep");
    is(wrong, 0, "and every result is right");
    method_free(ping);
}

int main(void) {
    run(places, (gc_options){0});
    run(places, STRESSED);
    run(saved_registers, (gc_options){0});
    run(saved_registers, STRESSED);
    run(recursion, (gc_options){0});
    run(recursion, (gc_options){.stress = GC_STRESS_NTH, .stress_interval = 7});
    run(deep, (gc_options){0});
    run(threads, (gc_options){.stress = GC_STRESS_NTH, .stress_interval = 50});
    run(by_turns, (gc_options){0});
    run(by_turns, STRESSED);
    return done();
}
