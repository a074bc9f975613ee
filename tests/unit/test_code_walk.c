/* Compiled frames: calls to and from native code, walks, and what is live in frames while objects move. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"

#include <pthread.h>

#define VALUE ((int32_t)offsetof(node, value))
#define LEFT ((int32_t)offsetof(node, left))
#define STRESSED ((gc_options){.debug.stress = GC_STRESS_SAFEPOINT})

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

static uint16_t facts_of_keepers; /* GC_METHOD_* */

/* Takes a node, keeps it at the place while a native function collects, and returns it. */
static method *keeper(const char *name, bool with_frame, gc_stackmap_place place, int where, unsigned flags) {
    method *m = method_begin(name);
    unsigned s = slot(m, place, where, flags);
    m->map.flags = facts_of_keepers;
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

/* A method that reports only as the innermost one is that while native code runs. */
static void as_innermost(void) {
    facts_of_keepers = GC_METHOD_REPORT_LEAF_ONLY;
    kept("reports as the innermost, slot in rbx", true, GC_PLACE_REGISTER, RBX);
    kept("reports as the innermost, slot by CFA", false, GC_PLACE_CFA, -64);
    facts_of_keepers = 0;
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
    method *c = five_registers("c", NULL), *b = one_register("b", c), *a = five_registers("a", b),
           *z = one_register("z", a);
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
    for (const node *each = (node *)call2(ping, 40, (uintptr_t)before); each;
         before = (node *)(uintptr_t)each, each = each->left)
        wrong += each->value != 81 - 2 * length++ || each->right != before;
    is(length, 41, "native and compiled code call each other, 41 deep");
    is(wrong, 0, "and every result is right");
    method_free(ping);
}

/* Arguments that are pushed for a call move the stack pointer under the slots that are found by it, and under the return
   address; and the callee owns them. */
static void pushed_arguments(void) {
    method *callee = method_begin("callee");
    callee->map.argument_bytes = 16;
    unsigned own = slot(callee, GC_PLACE_CFA, 8, 0);
    call_native(callee, collect_all, BIT(own));
    load(callee, RAX, RSP, 16), load(callee, RAX, RAX, VALUE); /* its second argument */
    ret(callee), method_end(callee);

    method *m = method_begin("pushes");
    m->map.outgoing_bytes = 16;
    unsigned far = slot(m, GC_PLACE_CFA, -24, 0), near = slot(m, GC_PLACE_SP, 16, 0),
             outgoing = slot(m, GC_PLACE_SP, 8, 0);
    allocate(m, 24), prolog_end(m);
    store(m, RSP, 8, RDI), store(m, RSP, 0, RSI);
    push(m, RDI), push(m, RSI);
    call_method(m, callee, BIT(far) | BIT(near) | BIT(outgoing));
    pop(m, RSI), pop(m, RDI);
    load(m, RDX, RSP, 0), load(m, RDX, RDX, VALUE), add(m, RAX, RDX);
    load(m, RDX, RSP, 8), load(m, RDX, RDX, VALUE), add(m, RAX, RDX);
    allocate(m, -24), ret(m), method_end(m);

    node *first = new_node(1000), *second = NULL;
    GC_ROOTS(gc, first, second);
    second = new_node(1);
    is(call2(m, (uintptr_t)first, (uintptr_t)second), 2001,
       "slots by the stack pointer are found while arguments are pushed, which belong to the callee");
    method_free(m), method_free(callee);
}

/* Interior pointers stay within their objects, and pinned objects where they are. */
static void flags(void) {
    method *m = keeper("interior", true, GC_PLACE_REGISTER, RBX, GC_SLOT_INTERIOR);
    node *before = new_node(99);
    uintptr_t moved = call2(m, (uintptr_t)&before->value, 0);
    ok(moved != (uintptr_t)&before->value && *(uint64_t *)moved == 99, "an interior pointer follows its object");
    method_free(m);
    m = keeper("pinned", false, GC_PLACE_CFA, -64, GC_SLOT_PINNED);
    before = new_node(98);
    node *after = (node *)call_node(m, before);
    ok(after == before && after->value == 98, "a pinned object stays where it is");
    method_free(m);
    m = keeper("both", false, GC_PLACE_REGISTER, R12, GC_SLOT_PINNED | GC_SLOT_INTERIOR);
    before = new_node(97);
    ok(call2(m, (uintptr_t)&before->value, 0) == (uintptr_t)&before->value && before->value == 97,
       "also by an interior pointer");
    method_free(m);
}

/* More slots than collections keep in mind. */
static void many_slots(void) {
    enum { SLOTS = 30 };
    method *m = method_begin("many");
    uint64_t live = 0;
    for (int i = 0; i < SLOTS; i++) live |= BIT(slot(m, GC_PLACE_SP, i * 8, 0));
    allocate(m, SLOTS * 8), prolog_end(m);
    for (int i = 0; i < SLOTS; i++) store(m, RSP, i * 8, RDI);
    call_native(m, collect_all, live), call_native(m, collect_all, live), clear(m, RAX);
    for (int i = 0; i < SLOTS; i++) load(m, RDX, RSP, i * 8), load(m, RDX, RDX, VALUE), add(m, RAX, RDX);
    allocate(m, -SLOTS * 8), ret(m), method_end(m);
    for (uint64_t i = 1; i < 4; i++) is(call_node(m, new_node(i)), SLOTS * i, "%d slots that are live at once", SLOTS);
    method_free(m);
}

/* Code that takes the place of other code: what collections have found out of that holds no more. */
static void replaced(void) {
    method *m = keeper("first", false, GC_PLACE_REGISTER, R12, 0);
    unsigned char *place = m->start;
    for (int round = 0; round < 4; round++) {
        unsigned reg = round & 1 ? R13 : R12;
        uint32_t returns = m->points[0].offset;
        is(((node *)call_node(m, new_node(6)))->value, 6, "code in the place of other code keeps its reference in %s",
           round & 1 ? "r13" : "r12");
        method_free(m);
        m = keeper("next", false, GC_PLACE_REGISTER, reg == R12 ? R13 : R12, 0);
        if (m->start != place || m->points[0].offset != returns) diag("it is at another address");
    }
    method_free(m);
}

/* A slot that is dead after the call keeps nothing, and is not read: it may hold anything. */
static void dead_slots(void) {
    method *m = method_begin("dead");
    unsigned alive = slot(m, GC_PLACE_REGISTER, RBX, 0);
    slot(m, GC_PLACE_SP, 0, 0);
    save(m, RBX), allocate(m, 16), prolog_end(m);
    move(m, RBX, RDI), add_number(m, RDI, 8), store(m, RSP, 0, RDI);
    call_native(m, collect_all, BIT(alive));
    move(m, RAX, RBX), allocate(m, -16), restore(m, RBX), ret(m), method_end(m);
    is(((node *)call_node(m, new_node(5)))->value, 5, "a dead slot is not looked at");
    method_free(m);
}

/* What gc_code_first and gc_code_next say. */
typedef struct seen {
    const char *name;
    const method *m;
    uintptr_t pc, sp, cfa, rbx;
    bool innermost, knows_rbx, knows_scratch;
} seen;
static seen frames[8];
static unsigned frame_count, visits;

static void count_visit(gc_visitor *visitor, void *at, size_t count, unsigned slot_flags) {
    (void)visitor, (void)at, (void)slot_flags;
    visits += (unsigned)count;
}

static void look(gc_thread *thread) {
    gc_visitor visitor = {count_visit};
    frame_count = visits = 0;
    thread->code->known |= BIT(RAX); /* as of code that was stopped */
    for (gc_code_cursor at = gc_code_first(thread); at.code && frame_count < 8; gc_code_next(&at)) {
        frames[frame_count++] = (seen){.name = at.code->name,
                                       .m = (const method *)at.code,
                                       .pc = at.pc,
                                       .sp = at.sp,
                                       .cfa = at.cfa,
                                       .rbx = at.registers[RBX] ? *at.registers[RBX] : 0,
                                       .innermost = at.innermost,
                                       .knows_rbx = at.registers[RBX],
                                       .knows_scratch = at.registers[RAX] || at.registers[R11]};
        gc_code_visit(&at, &visitor);
    }
}

/* Calls the callee, or `look`, with rbx = n; with 0 the callee is native code that calls compiled code. */
static method *inner_start;
static void call_inner(gc_thread *thread) { gc_code_call(thread, inner_start->start, NULL, 0); }

static method *with_rbx(const char *name, uint64_t n, const method *callee, void (*native)(gc_thread *)) {
    method *m = method_begin(name);
    unsigned s = slot(m, GC_PLACE_SP, 0, 0);
    save(m, RBX), push(m, RDI), prolog_end(m);
    clear(m, RAX), store(m, RSP, 0, RAX), number(m, RBX, n), move(m, RDI, R15);
    if (callee)
        call_method(m, callee, BIT(s));
    else
        call_native(m, native, BIT(s));
    pop(m, RDI), restore(m, RBX), ret(m);
    return method_end(m);
}

static void walking(void) {
    gc_code_cursor none = gc_code_first(gc);
    ok(!none.code, "a thread without compiled frames");
    method *d = with_rbx("d", 4, NULL, look), *c = with_rbx("c", 3, d, NULL);
    inner_start = c;
    method *b = with_rbx("b", 2, NULL, call_inner), *a = with_rbx("a", 1, b, NULL), *all[] = {d, c, b, a};
    gc_code_call(gc, a->start, NULL, 0);
    is(frame_count, 4, "four frames in two runs");
    unsigned wrong = 0;
    for (unsigned i = 0; i < 4; i++)
        wrong += frames[i].m != all[i] || !frames[i].knows_rbx || frames[i].rbx != 4 - i ||
                 frames[i].knows_scratch != !i || frames[i].pc != (uintptr_t)all[i]->start + all[i]->points[0].offset ||
                 frames[i].innermost != !(i & 1) || frames[i].cfa != frames[i].sp + 24 ||
                 (i && frames[i].sp < frames[i - 1].cfa) || (i & 1 && frames[i].sp != frames[i - 1].cfa);
    is(wrong, 0, "with their methods, pcs, stack pointers and registers");
    is(visits, 4, "whose slots gc_code_visit visits");
    ok(!gc->code, "no record is left");
    for (unsigned i = 0; i < 4; i++) method_free(all[i]);
}

/* A format of the host's: frames of 16 bytes above the return address, with a reference in the first word. */
static unsigned format_calls;
static const char *visit_host(const gc_code_cursor *frame, gc_visitor *visitor) {
    gc_visit(visitor, (void *)frame->sp, 1, (unsigned)(uintptr_t)frame->code->map);
    format_calls++;
    return NULL;
}
static const char *lay_out_host(gc_code_cursor *frame) {
    frame->cfa = frame->sp + 24;
    return NULL;
}

static void host_format(void) {
    static const gc_code_format format = {.name = "host's", .visit = visit_host, .layout = lay_out_host};
    method *m = method_begin("host's"), *rbx = keeper("keeper", false, GC_PLACE_REGISTER, RBX, 0);
    add_number(m, RSP, -16), store(m, RSP, 0, RSI), call_method(m, rbx, 0);
    load(m, RDX, RSP, 0), load(m, RDX, RDX, VALUE), load(m, RAX, RAX, VALUE), add(m, RAX, RDX), add_number(m, RSP, 16),
        ret(m);
    method_protect(m);
    m->code.format = &format;
    is(gc_code_add(&m->code), GC_OK, "tables of the host's own are registered");
    node *first = new_node(30), *second = NULL;
    GC_ROOTS(gc, first, second);
    second = new_node(3);
    is(call2(m, (uintptr_t)first, (uintptr_t)second), 33, "frames of two kinds of tables lie on one stack");
    ok(format_calls, "the host's functions were called");
    method_free(m), method_free(rbx);
}

int main(void) {
    run(places, (gc_options){0});
    run(places, STRESSED);
    run(as_innermost, (gc_options){0});
    run(saved_registers, (gc_options){0});
    run(saved_registers, STRESSED);
    run(recursion, (gc_options){0});
    run(recursion, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 7});
    run(deep, (gc_options){0});
    run(threads, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 50});
    run(by_turns, (gc_options){0});
    run(by_turns, STRESSED);
    run(pushed_arguments, STRESSED);
    run(flags, STRESSED);
    run(many_slots, STRESSED);
    run(replaced, STRESSED);
    run(dead_slots, STRESSED);
    run(walking, (gc_options){0});
    run(host_format, STRESSED);
    return done();
}
