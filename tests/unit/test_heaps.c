/* Several heaps that threads use at the same time: they share the arena and its tables; and a thread of two of them. Under
   ThreadSanitizer too (threads.t). */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>
#include <time.h>

enum { HEAPS = 3, STEPS = 60000, TABLE = 4096 };

/* Old tables whose cards are dirty, and large objects that come and go, so that regions do. Returns what is wrong. */
static void *mutate(void *argument) {
    uint64_t x = (uintptr_t)argument * 7919 + 1, wrong = 0;
    gc_heap *own = gc_heap_create(&(gc_options){.nursery_bytes = 256 << 10});
    gc_thread *me = gc_thread_attach(own);
    {
        vector *table = NULL, *large = NULL;
        node *fresh = NULL;
        GC_ROOTS(me, table, large, fresh);
        table = gc_new_array(me, &vector_type, TABLE);
        for (int i = 0; i < STEPS; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            size_t at = x % TABLE;
            if (at < 8) large = gc_new_array(me, &vector_type, 40000 + x % 100000);
            fresh = gc_new(me, &node_type);
            fresh->value = at;
            gc_store(me, &table->items[at], fresh);
            if (large) gc_store(me, &large->items[x % 40000], fresh);
        }
        for (size_t at = 0; at < TABLE; at++) {
            const node *n = (const node *)table->items[at];
            wrong += n && n->value != at;
        }
    }
    gc_thread_detach(me);
    gc_heap_destroy(own);
    return (void *)(uintptr_t)wrong;
}

static void apart(void) {
    pthread_t threads[HEAPS];
    for (uintptr_t i = 0; i < HEAPS; i++)
        if (pthread_create(&threads[i], NULL, mutate, (void *)i) != 0) abort();
    for (int i = 0; i < HEAPS; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        is((uintptr_t)wrong, 0, "objects of heap %d while other heaps collect", i);
    }
}

/* A thread of two heaps, of which the first has native stacks scanned. It calls a function of gc.h for the other heap, and
   waits there, while callee-saved registers alone hold its references into the first, which is collected meanwhile. */

enum { HELD = 6 };
typedef struct held_call {
    void *function;
    uintptr_t arguments[4];
    uintptr_t complements[HELD]; /* of the references, which thus are in registers alone */
} held_call;

/* Calls the function with a reference in each of six callee-saved registers, and returns what it does. */
extern uintptr_t call_holding(const held_call *call);
#if defined(__x86_64__)
__asm__(".pushsection .text\n\t.globl call_holding\n\t.type call_holding, @function\n"
        "call_holding:\n\t"
        "pushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\tsubq $8, %rsp\n\t"
        "movq %rdi, %rax\n\tmovq 8(%rax), %rdi\n\tmovq 16(%rax), %rsi\n\tmovq 24(%rax), %rdx\n\tmovq 32(%rax), %rcx\n\t"
        "movq 40(%rax), %rbx\n\tmovq 48(%rax), %rbp\n\tmovq 56(%rax), %r12\n\t"
        "movq 64(%rax), %r13\n\tmovq 72(%rax), %r14\n\tmovq 80(%rax), %r15\n\t"
        "notq %rbx\n\tnotq %rbp\n\tnotq %r12\n\tnotq %r13\n\tnotq %r14\n\tnotq %r15\n\t"
        "call *(%rax)\n\t"
        "addq $8, %rsp\n\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbp\n\tpopq %rbx\n\tret\n\t"
        ".size call_holding, .-call_holding\n\t.popsection");
#elif defined(__riscv)
__asm__(".pushsection .text\n\t.globl call_holding\n\t.type call_holding, @function\n"
        "call_holding:\n\t"
        "addi sp, sp, -64\n\tsd ra, 0(sp)\n\tsd s1, 8(sp)\n\tsd s2, 16(sp)\n\tsd s3, 24(sp)\n\t"
        "sd s4, 32(sp)\n\tsd s5, 40(sp)\n\tsd s6, 48(sp)\n\t"
        "mv t0, a0\n\tld a0, 8(t0)\n\tld a1, 16(t0)\n\tld a2, 24(t0)\n\tld a3, 32(t0)\n\t"
        "ld s1, 40(t0)\n\tld s2, 48(t0)\n\tld s3, 56(t0)\n\tld s4, 64(t0)\n\tld s5, 72(t0)\n\tld s6, 80(t0)\n\t"
        "not s1, s1\n\tnot s2, s2\n\tnot s3, s3\n\tnot s4, s4\n\tnot s5, s5\n\tnot s6, s6\n\t"
        "ld t1, 0(t0)\n\tjalr t1\n\t"
        "ld ra, 0(sp)\n\tld s1, 8(sp)\n\tld s2, 16(sp)\n\tld s3, 24(sp)\n\t"
        "ld s4, 32(sp)\n\tld s5, 40(sp)\n\tld s6, 48(sp)\n\taddi sp, sp, 64\n\tret\n\t"
        ".size call_holding, .-call_holding\n\t.popsection");
#elif defined(__s390x__)
__asm__(".pushsection .text\n\t.globl call_holding\n\t.type call_holding, @function\n"
        "call_holding:\n\t"
        "stmg %r6, %r15, 48(%r15)\n\taghi %r15, -160\n\tlgr %r1, %r2\n\tlmg %r2, %r5, 8(%r1)\n\t"
        "lmg %r6, %r11, 40(%r1)\n\tlghi %r0, -1\n\t"
        "xgr %r6, %r0\n\txgr %r7, %r0\n\txgr %r8, %r0\n\txgr %r9, %r0\n\txgr %r10, %r0\n\txgr %r11, %r0\n\t"
        "lg %r1, 0(%r1)\n\tbasr %r14, %r1\n\t"
        "lmg %r6, %r15, 208(%r15)\n\tbr %r14\n\t"
        ".size call_holding, .-call_holding\n\t.popsection");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n\t.globl call_holding\n\t.type call_holding, %function\n"
        "call_holding:\n\t"
        "stp x29, x30, [sp, #-64]!\n\tstp x19, x20, [sp, #16]\n\tstp x21, x22, [sp, #32]\n\tstp x23, x24, [sp, #48]\n\t"
        "ldp x9, x10, [x0]\n\tldp x1, x2, [x0, #16]\n\tldr x3, [x0, #32]\n\t"
        "ldp x19, x20, [x0, #40]\n\tldp x21, x22, [x0, #56]\n\tldp x23, x24, [x0, #72]\n\t"
        "mvn x19, x19\n\tmvn x20, x20\n\tmvn x21, x21\n\tmvn x22, x22\n\tmvn x23, x23\n\tmvn x24, x24\n\t"
        "mov x0, x10\n\tblr x9\n\t"
        "ldp x23, x24, [sp, #48]\n\tldp x21, x22, [sp, #32]\n\tldp x19, x20, [sp, #16]\n\tldp x29, x30, [sp], "
        "#64\n\tret\n\t"
        ".size call_holding, .-call_holding\n\t.popsection");
#endif

/* What the threads of a test share. Flags are atomic, and set once. */
static struct {
    gc_heap *other;
    gc_thread *in_other; /* the holder's attachment */
    held_call call;
    gc_handle weak[HELD]; /* to the references */
    uintptr_t result;     /* of the call */
    bool object_is_there; /* which the call returned, or it is none */
    bool stops_itself;    /* the holder stops the other heap */
    bool is_ready, may_call, is_stopped, release, may_go_on, is_free;
} two;

static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}
static bool is_set(const bool *flag) { return __atomic_load_n(flag, __ATOMIC_SEQ_CST); }
static void set(bool *flag) { __atomic_store_n(flag, true, __ATOMIC_SEQ_CST); }
static void await(const bool *flag) {
    while (!is_set(flag)) sleep_ms(1);
}

/* Overwrites what calls have left below the stack pointer, and callee-saved registers. */
static __attribute__((noinline)) void scrub(void) {
    volatile char room[32 << 10];
    for (size_t i = 0; i < sizeof room; i++) room[i] = 0;
#if defined(__x86_64__)
    __asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15", "memory");
#elif defined(__riscv)
    __asm__ volatile("" : : : "s1", "s2", "s3", "s4", "s5", "s6", "memory");
#elif defined(__s390x__)
    __asm__ volatile("" : : : "r6", "r7", "r8", "r9", "r10", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("" : : : "x19", "x20", "x21", "x22", "x23", "x24", "memory");
#endif
}

static __attribute__((noinline)) void hold(gc_thread *me) {
    for (uint64_t i = 0; i < HELD; i++) {
        node *n = gc_new(me, &node_type);
        n->value = 100 + i;
        two.call.complements[i] = ~(uintptr_t)n;
        two.weak[i] = gc_handle_create(heap, GC_HANDLE_WEAK, n);
    }
}

/* Runs until the other threads may go on. */
static void finalize(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    set(&two.is_stopped);
    await(&two.may_go_on);
    set(&two.is_free);
}
static const gc_finalizer slow_finalizer = {finalize, false, NULL};
static const gc_type slow_type = GC_TYPE_FINALIZED(node, slow_finalizer, left, right);

/* What a call needs before it. */
static __attribute__((noinline)) void prepare(void) {
    const void *function = two.call.function;
    two.call.arguments[0] = function == (void *)gc_collect ? (uintptr_t)two.other : (uintptr_t)two.in_other;
    if (two.stops_itself) gc_new(two.in_other, &node_type); /* so that some of the budget is spent */
    if (function == (void *)gc_finalizer_wait) {
        gc_finalizer_thread_start(two.other);
        gc_new(two.in_other, &slow_type);
        gc_collect(two.other, 2, GC_COLLECT_BLOCKING);
    }
    if (function == (void *)gc__thread_set_mode) gc_thread_set_mode(two.in_other, GC_MODE_PREEMPTIVE);
}

/* Farther down the stack than earlier calls of gc.h were, so that what they noted there does not do. */
static __attribute__((noinline)) void call_deep(void) {
    volatile char room[16 << 10];
    room[0] = 0;
    two.result = call_holding(&two.call);
    room[sizeof room - 1] = 0;
}

/* Returns how many of the references it has lost. */
static void *holder(void *unused) {
    (void)unused;
    uintptr_t lost = 0;
    gc_thread *me = gc_thread_attach(heap);
    two.in_other = gc_thread_attach(two.other);
    prepare();
    hold(me);
    scrub();
    set(&two.is_ready);
    while (!is_set(&two.may_call) && !__atomic_load_n(&two.in_other->poll, __ATOMIC_SEQ_CST)) sleep_ms(1);
    call_deep();
    for (uint64_t i = 0; i < HELD; i++) {
        const node *n = (const node *)~two.call.complements[i];
        lost += gc_handle_get(two.weak[i]) != n || n->value != 100 + i;
    }
    if (two.call.function == (void *)gc__new_slow)
        two.object_is_there = gc_heap_object_at(two.other, (void *)two.result) == (void *)two.result;
    gc_thread_detach(two.in_other);
    gc_thread_detach(me);
    return (void *)lost;
}

/* Hooks of the other heap. */

static void stopped(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (is_set(&two.is_stopped)) return;
    scrub();
    set(&two.is_stopped);
    await(&two.may_go_on);
}

/* A host's way to stop threads: it has no need of polls, so that the holder may find the lock taken anywhere. */
static void suspend(void *host) {
    (void)host;
    if (gc_thread_current(two.other)) return; /* the holder */
    set(&two.may_call);
    while (gc_thread_mode(two.in_other) == GC_MODE_COOPERATIVE) sleep_ms(1);
}
static void restart(void *host) { (void)host; }

/* Stops the other heap, and does it again when the holder has had the time to go on, and to wait for the first heap. */
static void *stopper(void *unused) {
    (void)unused;
    gc_thread *bystander = two.stops_itself ? gc_thread_attach(two.other) : NULL;
    if (!bystander) {
        gc_collect(two.other, 2, GC_COLLECT_BLOCKING);
    } else {
        GC_IN_MODE(bystander, GC_MODE_PREEMPTIVE);
        set(&two.may_call);
        await(&two.may_go_on);
    }
    sleep_ms(20);
    gc_collect(two.other, 2, GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING);
    if (bystander) gc_thread_detach(bystander);
    set(&two.is_free);
    return NULL;
}

/* A hook of the first heap, before its roots are looked for: has the other threads go on as far as they can. */
static void first_stopped(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (!is_set(&two.is_stopped) || !is_set(&two.release)) return;
    set(&two.may_go_on);
    await(&two.is_free);
    sleep_ms(20);
}

/* Has the holder call the function with its attachment to the other heap (gc_collect: with that heap) and the arguments. */
static void waits(const char *name, gc_options options, void *function, uintptr_t second, uintptr_t third,
                  uintptr_t fourth) {
    pthread_t threads[2];
    void *lost = NULL;
    memset(&two, 0, sizeof two);
    two.call = (held_call){function, {0, second, third, fourth}, {0}};
    two.stops_itself = !options.suspend && (function == (void *)gc_collect || function == (void *)gc__new_slow);
    bool finalizes = function == (void *)gc_finalizer_wait;
    if (!finalizes) options.collection_end = stopped;
    two.other = gc_heap_create(&options);
    pthread_create(&threads[0], NULL, holder, NULL);
    await(&two.is_ready);
    if (!finalizes) pthread_create(&threads[1], NULL, stopper, NULL);
    await(&two.is_stopped);
    set(&two.may_call);
    sleep_ms(20);
    compact();
    set(&two.release);
    compact();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        if (!finalizes) pthread_join(threads[1], NULL);
        pthread_join(threads[0], &lost);
    }
    is((uintptr_t)lost, 0, "references in registers of a thread that %s", name);
    for (int i = 0; i < HELD; i++) gc_handle_destroy(heap, two.weak[i]);
    gc_heap_destroy(two.other);
}

static void two_heaps(void) {
    waits("polls", (gc_options){0}, (void *)gc__safepoint_slow, 0, 0, 0);
    waits("returns to cooperative mode", (gc_options){0}, (void *)gc__thread_set_mode, GC_MODE_COOPERATIVE, 0, 0);
    waits("waits for finalizers", (gc_options){0}, (void *)gc_finalizer_wait, 5000, 0, 0);
    is((unsigned char)two.result, true, "which another thread runs meanwhile");
    waits("collects and stops others", (gc_options){0}, (void *)gc_collect, 2, GC_COLLECT_BLOCKING, 0);
    waits("collects to allocate", (gc_options){.nursery_bytes = 1 << 20}, (void *)gc__new_slow, (uintptr_t)&bytes_type,
          2 << 20, true);
    const gc_options host_stops = {.nursery_bytes = 4 << 20, .suspend = suspend, .restart = restart};
    waits("allocates what is large", host_stops, (void *)gc__new_slow, (uintptr_t)&bytes_type, 1 << 20, true);
    is(two.object_is_there, true, "which a collection of its heap leaves there");
    waits("allocates", host_stops, (void *)gc__new_slow, (uintptr_t)&node_type, 0, true);
    is(two.object_is_there, true, "what a collection of its heap leaves there");
}

int main(void) {
    apart();
    run(two_heaps, (gc_options){.conservative_stack = true, .collection_start = first_stopped});
    return done();
}
