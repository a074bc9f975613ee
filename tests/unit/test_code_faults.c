/* What goes wrong with compiled frames, and what is said of it. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#define VERIFIED ((gc_options){.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER})

static uintptr_t call1(const method *m, uintptr_t argument) { return gc_code_call(gc, m->start, &argument, 1); }
static void collect_all(void) { full(); }

static char report[4096];
static int ending;
static void fails(void (*body)(void *), const char *what) {
    ending = tap_child(body, NULL, report, sizeof report);
    is(ending, 256 + SIGABRT, "%s ends the program", what);
}

static void says(const char *part, const char *what) { has(report, part, "%s: the message says %s", what, part); }

/* Code that is not registered. */

static method *unregistered(const char *name, const method *callee) {
    method *m = method_begin(name);
    if (callee)
        call_method(m, callee, 0);
    else
        call_native(m, collect_all, 0);
    ret(m), method_protect(m);
    return m;
}

static void forgotten(void *unused) {
    (void)unused;
    begin(NULL);
    call1(unregistered("forgotten", NULL), 0);
}

static method *calls_native(const char *name) {
    method *m = method_begin(name);
    call_native(m, collect_all, 0), ret(m);
    return method_end(m);
}

static void forgotten_caller(void *unused) {
    (void)unused;
    begin(&VERIFIED);
    call1(unregistered("forgotten", calls_native("innermost")), 0);
}

static void removed_too_early(gc_thread *thread, const method *m) {
    (void)thread;
    gc_code_remove(&m->code);
    full();
}

static void removed(void *unused) {
    (void)unused;
    begin(NULL);
    method *m = method_begin("removed");
    move(m, RSI, RDI), move(m, RDI, R15), call_native(m, removed_too_early, 0), ret(m), method_end(m);
    call1(m, (uintptr_t)m);
}

static void registration(void) {
    fails(forgotten, "code that was not registered");
    says("is in no registered code: register it by gc_code_add", "unregistered code");
    fails(removed, "code that was removed while it runs");
    says("keep it registered until its last call has returned", "removed code");
    fails(forgotten_caller, "an unregistered caller of registered code");
    says("the compiled method `innermost` seems to have been called from 0x", "an unregistered caller");
    says("neither in registered code nor in a loaded file", "an unregistered caller");
}

/* Maps that leave something out. */

static void no_point(void *unused) {
    (void)unused;
    begin(NULL);
    method *m = method_begin("pointless");
    nop(m), move(m, R10, R15), number(m, R11, (uintptr_t)collect_all), number(m, RAX, (uintptr_t)gc_code_call_native);
    byte(m, 0xFF), byte(m, 0xD0), ret(m), method_end(m);
    call1(m, 0);
}

static const char *visit_nothing(const gc_code_cursor *frame, gc_visitor *visitor) {
    return (void)frame, (void)visitor, (const char *)NULL;
}

/* A method with tables of the host's: pushes rbx and 8 bytes, and calls. */
static method *foreign(const gc_code_format *format, const method *callee) {
    method *m = method_begin("foreign");
    push_raw(m, RBX), push_raw(m, RDI), number(m, RBX, 5);
    if (callee)
        call_method(m, callee, 0);
    else
        call_native(m, collect_all, 0);
    pop_raw(m, RDI), pop_raw(m, RBX), ret(m), method_protect(m);
    m->code.format = format;
    if (gc_code_add(&m->code) != GC_OK) abort();
    return m;
}

static const char *lay_out_somewhere(gc_code_cursor *frame) {
    frame->cfa = frame->sp + 24;
    frame->saved[RBX] = frame->saved[RBP] = GC_SAVED_SOMEWHERE;
    return NULL;
}

static method *keeps_rbx(const method *callee) {
    method *m = method_begin("keeps");
    unsigned s = slot(m, GC_PLACE_REGISTER, RBX, 0);
    save(m, RBX), prolog_end(m), move(m, RBX, RDI), call_method(m, callee, BIT(s)), restore(m, RBX), ret(m);
    return method_end(m);
}

static void register_unknown(void *unused) {
    static const gc_code_format format = {.name = "f", .visit = visit_nothing, .layout = lay_out_somewhere};
    (void)unused;
    begin(NULL);
    call1(keeps_rbx(foreign(&format, NULL)), (uintptr_t)new_node(1));
}

static void frame_pointer_unknown(void *unused) {
    static const gc_code_format format = {.name = "f", .visit = visit_nothing, .layout = lay_out_somewhere};
    (void)unused;
    begin(NULL);
    method *callee = foreign(&format, NULL), *m = method_begin("by_rbp");
    enter(m), prolog_end(m), call_method(m, callee, 0), leave(m), ret(m), method_end(m);
    call1(m, 0);
}

static void maps(void) {
    fails(no_point, "a call that is no safe point");
    says("the compiled frame of `pointless` at +0x1a", "a missing safe point");
    says("no safe point: name it in the points of the method", "a missing safe point");
    fails(register_unknown, "a register that was saved nobody knows where");
    says("`keeps` at +0x10", "an unknown register");
    says("rbx is live in it", "an unknown register");
    says("list each preserved register that a method saves in its unwind rows", "an unknown register");
    fails(frame_pointer_unknown, "a frame pointer that was saved nobody knows where");
    says("`by_rbp`", "an unknown frame pointer");
    says("its frame is found by rbp", "an unknown frame pointer");
}

/* Tables that contradict the stack. */

static int32_t wrong_cfa;
static const char *lay_out_wrongly(gc_code_cursor *frame) {
    frame->cfa = frame->sp + (uintptr_t)(intptr_t)wrong_cfa;
    return NULL;
}
static const char *refuse(gc_code_cursor *frame) { return (void)frame, "the host's tables have a hole"; }
static const char *refuse_to_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    return (void)frame, (void)visitor, "the host's tables have no such row";
}
static const char *lay_out(gc_code_cursor *frame) { return frame->cfa = frame->sp + 24, (const char *)NULL; }

static const gc_code_format wrong_formats[] = {{.name = "f", .visit = visit_nothing, .layout = lay_out_wrongly},
                                               {.name = "f", .visit = visit_nothing, .layout = refuse},
                                               {.name = "f", .visit = refuse_to_visit, .layout = lay_out}};

static void contradicts(void *which) {
    begin(&VERIFIED);
    call1(foreign(&wrong_formats[(uintptr_t)which], NULL), 0);
}

static void contradictions(void) {
    static const int32_t wrong[] = {0, -16, 12, 1 << 30};
    for (unsigned i = 0; i < 4; i++) {
        wrong_cfa = wrong[i];
        fails(contradicts, "a layout that contradicts the stack");
        says("`foreign` at +0x", "a contradiction");
        says("its unwind rows contradict the stack", "a contradiction");
    }
    wrong_cfa = 8; /* its return address would be its argument, which is 0 */
    fails(contradicts, "a layout that finds another word than the return address");
    says("`foreign` seems to have been called from", "a wrong layout");
    is(tap_child(contradicts, (void *)1, report, sizeof report), 256 + SIGABRT,
       "a layout that a host's format refuses");
    says("the host's tables have a hole", "a format");
    is(tap_child(contradicts, (void *)2, report, sizeof report), 256 + SIGABRT, "and a visit");
    says("the host's tables have no such row", "a format");
}

/* Records that were left. */

static jmp_buf away;
static void leave_by_longjmp(void) { longjmp(away, 1); }

static __attribute__((noinline)) uintptr_t deeper(const method *m, int depth) {
    volatile char room[512];
    room[0] = (char)depth;
    uintptr_t result = depth ? deeper(m, depth - 1) : call1(m, 0);
    return result + (uintptr_t)room[0];
}

/* `argument`: how a collection is made after the longjmp. */
static void longjmp_without_mark(void *argument) {
    begin(NULL);
    method *leaves = method_begin("leaves"), *collects = calls_native("collects");
    call_native(leaves, leave_by_longjmp, 0), ret(leaves), method_end(leaves);
    if (setjmp(away) == 0) deeper(leaves, 20);
    if (argument)
        full();
    else
        call1(collects, 0);
}

static void wrong_mark(void *unused) {
    (void)unused;
    begin(NULL);
    method *leaves = method_begin("leaves");
    call_native(leaves, leave_by_longjmp, 0), ret(leaves), method_end(leaves);
    gc_code_frame *mark = (gc_code_frame *)__builtin_frame_address(0) - 100;
    gc_code_frame live = {.pc = 0};
    gc->code = &live;
    gc_code_restore(gc, mark);
}

static void left(void) {
    fails(longjmp_without_mark, "a longjmp over compiled frames without gc_code_restore");
    says("left by longjmp or by an exception", "a record that was left");
    says("gc_code_restore", "a record that was left");
    if (GC_DEBUG < 1) return;
    is(tap_child(longjmp_without_mark, &away, report, sizeof report), 256 + SIGABRT,
       "and before other compiled code runs");
    says("below the stack pointer", "a record that was left");
    fails(wrong_mark, "a mark of a call that has ended");
    says("take it by gc_code_mark in the function that calls setjmp", "a wrong mark");
}

/* Stacks. */

static gc_stack *stack;
static void *enter_stack(void *unused) {
    gc_thread *thread = gc_thread_attach(heap);
    gc_thread_set_name(thread, "other");
    gc_stack_switch(thread, stack);
    return unused;
}

static void switch_away(gc_thread *thread) {
    pthread_t other;
    gc_stack_switch(thread, NULL);
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    if (pthread_create(&other, NULL, enter_stack, NULL)) abort();
    pthread_join(other, NULL);
}

static void migrates(void *unused) {
    (void)unused;
    begin(NULL);
    method *m = method_begin("migrates");
    move(m, RDI, R15), call_native(m, switch_away, 0), ret(m), method_end(m);
    stack = gc_stack_create(heap, NULL);
    gc_stack_switch(gc, stack);
    call1(m, 0);
}

static void detach_within(gc_thread *thread) { gc_thread_detach(thread); }
static void destroy_within(gc_thread *thread) { gc_heap_destroy(gc_thread_heap(thread)); }
static void within(void *native) {
    begin(NULL);
    method *m = method_begin("within");
    move(m, RDI, R15), call_stub(m, gc_code_call_native, (void (*)(void))(uintptr_t)native, 0), ret(m), method_end(m);
    call1(m, 0);
}

static void seven(void *unused) {
    uintptr_t arguments[7] = {0};
    (void)unused;
    begin(NULL);
    gc_code_call(gc, calls_native("m")->start, arguments, 7);
}

static void in_preemptive_mode(void *unused) {
    (void)unused;
    begin(NULL);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    call1(calls_native("m"), 0);
}

/* What stubs are called with instead of the thread: NULL, a gc_thread whose heap is gone, another thread's, or one in
   preemptive mode. */
static void ignored(gc_thread *thread) { (void)thread; }
GC_CODE_EXPORT(exported_here, ignored);

static gc_thread *others;
static void *attach_other(void *unused) {
    others = gc_thread_attach(heap);
    gc_thread_set_mode(others, GC_MODE_PREEMPTIVE);
    pause();
    return unused;
}

static gc_heap *past;
static void *destroy_past(void *unused) {
    gc_heap_destroy(past);
    return unused;
}

enum { NO_THREAD, PAST_THREAD, OTHER_THREAD, PREEMPTIVE_THREAD, WRONG_THREADS };
static gc_thread *wrong_thread(int kind) {
    pthread_t other;
    if (kind == NO_THREAD) return NULL;
    if (kind == PREEMPTIVE_THREAD) gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    if (kind == PAST_THREAD) {
        past = gc_heap_create(NULL);
        gc_thread *thread = gc_thread_attach(past);
        gc_thread_set_mode(thread, GC_MODE_PREEMPTIVE);
        if (pthread_create(&other, NULL, destroy_past, NULL)) abort();
        pthread_join(other, NULL);
        return thread;
    }
    if (kind == PREEMPTIVE_THREAD) return gc;
    if (pthread_create(&other, NULL, attach_other, NULL)) abort();
    while (!__atomic_load_n(&others, __ATOMIC_SEQ_CST)) sched_yield();
    return others;
}

/* With the thread in rdi. */
static void wrong_thread_in_stub(void *which) {
    int stub = *(int *)which / WRONG_THREADS;
    begin(NULL);
    method *m = method_begin("confused");
    if (stub == 2) {
        call_code(m, (const void *)(uintptr_t)exported_here, 0);
    } else {
        move(m, R10, RDI), number(m, R11, (uintptr_t)ignored);
        call_code(m, (const void *)(stub ? (uintptr_t)gc_code_call_native_ref : (uintptr_t)gc_code_call_native), 0);
    }
    ret(m), method_end(m);
    ((void (*)(gc_thread *))(uintptr_t)m->start)(wrong_thread(*(int *)which % WRONG_THREADS));
}

static void wrong_threads(void) {
    if (GC_DEBUG < 1) return;
    for (int which = 0; which < 3 * WRONG_THREADS; which++) {
        is(tap_child(wrong_thread_in_stub, &which, report, sizeof report), 256 + SIGABRT, "stub %d: wrong thread %d",
           which / WRONG_THREADS, which % WRONG_THREADS);
        says("gc_code_call_native: the call in `confused` that returns to 0x", "a wrong thread");
        if (which % WRONG_THREADS == PREEMPTIVE_THREAD) {
            says("is in preemptive mode: compiled code runs in cooperative mode", "a mode");
            continue;
        }
        says(" in r10, which is no attached gc_thread of the calling thread: load into r10 what", "a wrong thread");
        says(which / WRONG_THREADS == 2 ? "(+0xc) has" : "(+0x19) has", "a wrong thread");
    }
}

static void stacks(void) {
    fails(migrates, "a stack with compiled code that another thread enters");
    says("the thread `other` enters a stack on which another thread has left compiled code", "a migrating stack");
    if (GC_DEBUG < 1) return;
    is(tap_child(within, (void *)(uintptr_t)detach_within, report, sizeof report), 256 + SIGABRT,
       "gc_thread_detach within compiled code");
    says("returns to compiled code", "gc_thread_detach");
    is(tap_child(within, (void *)(uintptr_t)destroy_within, report, sizeof report), 256 + SIGABRT,
       "gc_heap_destroy within compiled code");
    says("returns to compiled code", "gc_heap_destroy");
    fails(seven, "a seventh argument");
    says("only six fit in registers", "gc_code_call");
    fails(in_preemptive_mode, "compiled code in preemptive mode");
    says("cooperative mode", "gc_code_call");
}

/* What verify and stress say of slots of compiled frames. */

static void bad_slot(void *unused) {
    (void)unused;
    begin(&VERIFIED);
    method *m = method_begin("holds");
    unsigned s = slot(m, GC_PLACE_SP, 0, 0);
    allocate(m, 8), prolog_end(m), add_number(m, RDI, 8), store(m, RSP, 0, RDI);
    call_native(m, collect_all, BIT(s)), allocate(m, -8), ret(m), method_end(m);
    call1(m, (uintptr_t)new_node(1));
}

/* A slot that the map forgets: the compiled code uses the object after it has moved. */
static void use_stale(gc_thread *thread, volatile node *n) {
    (void)thread;
    n->value++;
}

static void forgotten_slot(void *unused) {
    gc_options options = {.debug.stress = GC_STRESS_SAFEPOINT};
    (void)unused;
    begin(&options);
    method *m = method_begin("forgets"), *outer = method_begin("outermost");
    save(m, RBX), prolog_end(m), move(m, RBX, RDI), call_native(m, collect_all, 0);
    move(m, RDI, R15), move(m, RSI, RBX), call_native(m, use_stale, 0), restore(m, RBX), ret(m), method_end(m);
    call_method(outer, m, 0), ret(outer), method_end(outer);
    call1(outer, (uintptr_t)new_node(1));
}

/* The same, where compiled code uses the object. `after` and `use` are the offsets of its last safe point and of the use. */
static method *uses_itself(uint32_t *after, uint32_t *use) {
    method *m = method_begin("uses_itself");
    unsigned kept = slot(m, GC_PLACE_REGISTER, R12, 0);
    save(m, RBX), save(m, R12), save(m, R13), prolog_end(m), move(m, RBX, RDI), clear(m, R12);
    call_native(m, collect_all, BIT(kept)), *after = m->at;
    nop(m), *use = m->at, load(m, RAX, RBX, (int32_t)offsetof(node, value));
    call_native(m, collect_all, 0);
    restore(m, R13), restore(m, R12), restore(m, RBX), ret(m);
    return method_end(m);
}

static void forgotten_use(void *stress) {
    gc_options options = {.debug.stress = *(gc_stress *)stress, .debug.stress_interval = 1, .debug.verify = GC_VERIFY_AFTER};
    uint32_t after, use;
    begin(&options);
    call1(uses_itself(&after, &use), (uintptr_t)new_node(1));
}

static void uses(void) {
    static gc_stress stresses[] = {GC_STRESS_SAFEPOINT, GC_STRESS_NTH};
    char part[160];
    uint32_t after, use;
    method_free(uses_itself(&after, &use));
    for (int i = 0; i < 2; i++) {
        is(tap_child(forgotten_use, &stresses[i], report, sizeof report), 256 + SIGABRT,
           "compiled code that uses what its map forgot ends the program");
        says("missed root or barrier: the program used a `node` at 0x", "the use");
        snprintf(part, sizeof part, "gc.h:   the use is in compiled code: `uses_itself` at +0x%x", use);
        says(part, "the use");
        says("gc.h:   its map must name the slot that held the reference. Of the last safe point it says:", "the use");
        snprintf(part, sizeof part, "Live at +0x%02x: r12.", after);
        says(part, "the last safe point");
    }
}

static void reports(void) {
    fails(bad_slot, "a slot that holds no reference");
    says("in the compiled frame of `holds` at +0x", "verify");
    fails(forgotten_slot, "a slot that is missing from a map");
    says("missed root", "stress");
    says("compiled frames, innermost first", "stress");
    says("`forgets` at +0x", "stress");
    says("`outermost` at +0x", "stress");
}

int main(void) {
    registration();
    maps();
    contradictions();
    left();
    stacks();
    wrong_threads();
    reports();
    uses();
    return done();
}
