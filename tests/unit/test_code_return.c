/* Replaced return addresses in every special case: they are put back by deeper ones, by gc_code_release and by switches of
   stacks; forgotten after longjmp; kept over fork; and they are seen through by walks. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"
#include "interrupt_code.h"
#include "step_code.h"

#include <pthread.h>
#include <setjmp.h>

/* outer(list) calls middle, which calls native; each returns the object that it got. quiet stands between them: its call is
   no safe point. */
static method *outer, *middle;
static void (*native_now)(void);
static void native(void) { native_now(); }

static void byte_call(method *m, const void *start) { /* no safe point */
    number(m, RAX, (uintptr_t)start), byte(m, 0xFF), byte(m, 0xD0);
}

static method *through(const char *name, void (*call)(method *m, unsigned object)) {
    method *m = method_begin(name);
    unsigned object = slot(m, GC_PLACE_REGISTER, RBX, 0);
    m->map.returns[0] = GC_RETURN_OBJECT;
    save(m, RBX), prolog_end(m);
    move(m, RBX, RDI), call(m, object), move(m, RAX, RBX), restore(m, RBX), ret(m);
    return method_end(m);
}

static void call_the_native(method *m, unsigned object) { call_native(m, native, BIT(object)); }
static void call_the_middle(method *m, unsigned object) { call_method(m, middle, BIT(object)); }
static void call_the_leaf(method *m, unsigned object) { (void)object, byte_call(m, next_leaf->start); }

static void methods_create(void) {
    leaves_create();
    middle = through("middle", call_the_native);
    outer = through("outer", call_the_middle);
}

static void methods_free(void) { method_free(outer), method_free(middle), leaves_free(); }

/* The interrupt arrives before the first instruction of a method. */
static const void *interrupt_at;
static uintptr_t *replaced; /* where the address was that it has replaced; NULL: it has replaced none */
static uintptr_t replaced_address;
static void interrupt_once(void *context) {
    if (gc__os_context_pc(context) != (uintptr_t)interrupt_at) return;
    interrupt_at = NULL;
    uintptr_t address = *(uintptr_t *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
    gc__code_interrupted(context);
    replaced = gc__my_interruptee.slot;
    replaced_address = address;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100; /* from now on it runs at full speed */
}

static bool is_replaced(const uintptr_t *slot) { return *slot == GC__CODE_RETURNED; }
static bool is_put_back(void) { return *replaced == replaced_address && !gc__my_interruptee.slot; }

/* Calls outer, or another method, which is interrupted at `method`. */
static bool call_interrupted(const method *called, const method *method_at, void (*f)(void)) {
    node *list = new_list(gc);
    GC_ROOTS(gc, list);
    uintptr_t arguments[4] = {(uintptr_t)list};
    native_now = f, interrupt_at = method_at->start, replaced = NULL;
    gc_thread_set_interruptible(gc, true);
    uintptr_t got = step_through(gc, called->start, arguments, interrupt_once);
    gc_thread_set_interruptible(gc, false);
    return got == (uintptr_t)list && list_is(list, 0) && !gc->code;
}

static uint16_t fpu_tags;
static unsigned returns; /* collections when a method has just returned a reference, to the stub as a rule */
static void count_returns(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    returns += gc && gc->code && gc->code->results != 0;
    uint16_t environment[14];
    __asm__ volatile("fnstenv %0" : "=m"(environment));
    fpu_tags = environment[4];
}

static void collect_in_native(void) {
    ok(is_replaced(replaced), "walk: the address of middle's caller is replaced");
    unsigned frames = 0;
    for (gc_code_cursor at = gc_code_first(gc); at.code; gc_code_next(&at)) frames++;
    is(frames, 2, "walk: it sees both frames");
    compact();
}

static void release_in_native(void) {
    gc_code_release(gc);
    ok(is_put_back(), "release: the address is put back");
    gc_code_release(gc);
    compact();
}

static void switch_off_in_native(void) {
    gc_thread_set_interruptible(gc, false);
    ok(is_put_back(), "not interruptible any more: the address is put back");
    compact();
}

static void switch_stacks_in_native(void) {
    gc_stack *fiber = gc_stack_create(heap, NULL);
    gc_stack_switch(gc, fiber);
    ok(is_put_back(), "switch of stacks: the address is put back");
    compact();
    gc_stack_switch(gc, NULL);
    compact();
    gc_stack_destroy(fiber);
}

static void put_back(void) {
    returns = 0;
    ok(call_interrupted(outer, middle, collect_in_native), "walk: the object is returned where it is now");
    is(returns, 1, "walk: the method returned to the stub");
    void (*const natives[])(void) = {release_in_native, switch_off_in_native, switch_stacks_in_native};
    for (size_t i = 0; i < 3; i++) {
        returns = 0;
        ok(call_interrupted(outer, middle, natives[i]), "the object is returned where it is now");
        is(returns, 0, "the method returned to its caller");
    }
}

/* Native code calls compiled code again, which is interrupted deeper. */
static void interrupt_deeper(void) {
    uintptr_t *former = replaced, address = replaced_address;
    node *list = new_list(gc);
    GC_ROOTS(gc, list);
    uintptr_t arguments[4] = {(uintptr_t)list};
    native_now = compact, interrupt_at = middle->start;
    uintptr_t got = step_through(gc, outer->start, arguments, interrupt_once);
    ok(got == (uintptr_t)list, "deeper: the inner call returns");
    ok(replaced < former && *former == address, "deeper: the former address was put back");
}

static void deeper(void) {
    returns = 0;
    ok(call_interrupted(outer, middle, interrupt_deeper), "deeper: the outer call returns");
    is(returns, 1, "deeper: only the inner method returned to the stub");
}

/* Frames that are left by longjmp. */
static jmp_buf leave_to;
static void leave_by_longjmp(void) { longjmp(leave_to, 1); }

static void call_and_leave(void) {
    if (setjmp(leave_to) == 0) call_interrupted(outer, middle, leave_by_longjmp);
}

static void after_longjmp(void) {
    gc_code_frame *mark = gc_code_mark(gc);
    gc_frame *frames = gc_frames_mark(gc);
    for (int i = 0; i < 3; i++) {
        call_and_leave();
        gc_code_restore(gc, mark);
        gc_frames_restore(gc, frames);
        uintptr_t *stale = gc__my_interruptee.slot;
        ok(stale && stale == replaced, "longjmp: the replaced address is left behind");
        if (i == 0) gc_code_release(gc);
        if (i == 1) compact();
        if (i < 2) ok(call_interrupted(outer, middle, collect_in_native), "longjmp: the same again");
    }
    uintptr_t word = 12345; /* has been put where the address was */
    gc__my_interruptee.slot = &word;
    gc_thread_set_interruptible(gc, false);
    ok(word == 12345 && !gc__my_interruptee.slot, "longjmp: forgotten, and nothing is written there");
}

/* A method jumps to native code, which returns to the stub. There unwinders end. */
static void unwind_in_native(void) {
#ifdef __GLIBC__
    void *frames[64];
    int count = backtrace(frames, 64);
    ok(count > 0 && (uintptr_t)frames[count - 1] == GC__CODE_RETURNED, "tail call: the stub is the last of %d frames",
       count);
#endif
    compact();
}

static void tail(void) {
    method *m = method_begin("tail");
    m->map.returns[0] = GC_RETURN_OBJECT;
    move(m, R10, R15), number(m, R11, (uintptr_t)native), number(m, RAX, (uintptr_t)gc_code_call_native_ref);
    byte(m, 0xFF), byte(m, 0xE0);
    method *jumping = method_end(m), *middle_before = middle;
    middle = jumping;
    method *caller = through("caller", call_the_middle);
    middle = middle_before;
    returns = 0;
    ok(call_interrupted(caller, jumping, unwind_in_native), "tail call: walked through while the address is replaced");
    is(returns, 2, "tail call: native code returned, and then to the stub");
    ok(call_interrupted(caller, jumping, release_in_native), "tail call: walked through after it is put back");
    method_free(caller), method_free(jumping);
}

/* Callers that cannot be stopped at their calls, and native ones. */
static void callers(void) {
    method *quiet = through("quiet", call_the_leaf), *middle_before = middle;
    middle = quiet;
    method *caller = through("caller", call_the_middle);
    middle = middle_before;
    returns = 0;
    ok(call_interrupted(caller, next_leaf, NULL), "no safe point: the caller's caller is stopped");
    ok(replaced && replaced_address != GC__CODE_RETURNED && returns == 1, "no safe point: one address is replaced");
    node *list = new_list(gc);
    GC_ROOTS(gc, list);
    uintptr_t arguments[4] = {(uintptr_t)list};
    gc_thread_set_interruptible(gc, true);
    interrupt_at = next_leaf->start;
    ok(step_through(gc, next_leaf->start, arguments, interrupt_once) == (uintptr_t)list->left && !interrupt_at &&
           !replaced,
       "native caller: its address is not replaced");
    gc_thread_set_interruptible(gc, false);
    method_free(caller), method_free(quiet);
}

/* What else a method returns. */
static void results(void) {
    static double numbers[3];
    method *m = method_begin("leaf");
    static const unsigned char leaf[] = {0xF2, 0x48, 0x0F, 0x2A, 0xC6,  /* cvtsi2sd xmm0, rsi */
                                         0xF2, 0x48, 0x0F, 0x2A, 0xCA,  /* cvtsi2sd xmm1, rdx */
                                         0xD9, 0xE8,                    /* fld1 */
                                         0x48, 0x89, 0xF0, 0x90, 0xC3}; /* mov rax, rsi; nop; ret */
    for (size_t i = 0; i < sizeof leaf; i++) byte(m, leaf[i]);
    method *callee = method_end(m);
    m = method_begin("caller");
    save(m, RBX), prolog_end(m);
    move(m, RBX, RDI), call_method(m, callee, 0);
    static const unsigned char stores[] = {0xF2, 0x0F, 0x11, 0x03,       /* movsd [rbx], xmm0 */
                                           0xF2, 0x0F, 0x11, 0x4B, 0x08, /* movsd [rbx + 8], xmm1 */
                                           0xDD, 0x5B, 0x10};            /* fstp qword [rbx + 16] */
    for (size_t i = 0; i < sizeof stores; i++) byte(m, stores[i]);
    add(m, RAX, RDX), restore(m, RBX), ret(m);
    method *caller = method_end(m);
    uintptr_t arguments[4] = {(uintptr_t)numbers, 40, 2};
    gc_thread_set_interruptible(gc, true);
    interrupt_at = callee->start;
    uint64_t before = stats().collections[2];
    is(step_through(gc, caller->start, arguments, interrupt_once), 42, "results: rax and rdx");
    ok(numbers[0] == 40 && numbers[1] == 2 && numbers[2] == 1, "results: xmm0, xmm1, st0");
    is(fpu_tags, 0xFFFF, "results: the FPU's stack was empty meanwhile, as C functions expect");
    is(stats().collections[2] - before, 1, "results: the method returned to the stub");
    gc_thread_set_interruptible(gc, false);
    method_free(caller), method_free(callee);
}

/* fork() while an address is replaced: both processes return through the stub. */
static int fork_status;
static void fork_in_native(void) {
    pid_t child = fork();
    compact();
    if (child)
        waitpid(child, &fork_status, 0);
    else
        tap_failures = -1;
}

static void forks(void) {
    returns = 0;
    fflush(stdout);
    bool right = call_interrupted(outer, middle, fork_in_native);
    if (tap_failures < 0) _exit(right && returns == 1 && gc__os_me.id == getpid() ? 7 : 8);
    ok(right && returns == 1, "fork: the parent returns through the stub");
    ok(WIFEXITED(fork_status) && WEXITSTATUS(fork_status) == 7, "fork: so does the child, which can be interrupted");
}

/* A thread ends by pthread_exit, or detaches, while an address is replaced. */
static void exit_in_native(void) { pthread_exit(NULL); }
static void detach_in_native(void) {
    gc_thread *thread = gc_thread_current(heap);
    ok(is_replaced(replaced), "detached: the address is replaced");
    gc_thread_detach(thread);
}

static void *end_in_native(void *unused) {
    gc_thread *thread = gc_thread_attach(heap);
    uintptr_t arguments[4] = {0};
    gc_thread_set_interruptible(thread, true);
    __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
    native_now = exit_in_native, interrupt_at = middle->start;
    step_through(thread, outer->start, arguments, interrupt_once);
    return unused;
}

/* Calls the native function directly, not by the stub. */
static void call_direct(method *m, unsigned object) {
    (void)object;
    number(m, RAX, (uintptr_t)native), byte(m, 0xFF), byte(m, 0xD0);
}

static void *detach_in_call(void *start) {
    gc_thread *thread = gc_thread_attach(heap);
    uintptr_t arguments[4] = {0};
    gc_thread_set_interruptible(thread, true);
    __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
    native_now = detach_in_native, interrupt_at = middle->start;
    uintptr_t got = step_through(thread, start, arguments, interrupt_once);
    ok(got == 0 && !gc_thread_current(heap), "detached: the method returns through the stub");
    return NULL;
}

static void run_thread(void *(*f)(void *), void *context) {
    pthread_t thread;
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    pthread_create(&thread, NULL, f, context);
    pthread_join(thread, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
}

static unsigned warnings;
static void count_warnings(void *host, const char *message) {
    (void)host, warnings += strstr(message, "without gc_thread_detach") != NULL;
}

static void ends(void) {
    run_thread(end_in_native, NULL);
    is(warnings, 1, "pthread_exit: the thread's end is noticed");
    compact();
    method *middle_before = middle;
    middle = through("direct", call_direct);
    method *caller = through("caller", call_the_middle);
    run_thread(detach_in_call, caller->start);
    method_free(caller), method_free(middle);
    middle = middle_before;
    compact();
}

static void all(void) {
    methods_create();
    put_back();
    deeper();
    after_longjmp();
    tail();
    callers();
    results();
    forks();
    ends();
    methods_free();
}

int main(void) {
    gc_options stress = {.debug.stress = GC_STRESS_SAFEPOINT,
                         .non_generational = true,
                         .collection_end = count_returns,
                         .warning = count_warnings};
    run(all, stress);
    return done();
}
