/* Threads: modes, stopping, joining, ending without detaching; stacks that are switched and left; signals; fork. */
#define _GNU_SOURCE
#include "../fixture.h"
#include "single_step.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

static void *in_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    void *result;
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    if (pthread_create(&thread, NULL, body, argument) != 0) abort();
    pthread_join(thread, &result);
    return result;
}

static void sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void attaching(void) {
    is(gc_thread_current(heap) == gc, true, "the calling thread's attachment");
    ok(!gc_thread_attach(heap), "a second one to the same heap is refused");
    is(gc_last_result(), GC_ERROR_ATTACHED, "by its result");
    has(gc_last_message(), "gc_thread_current", "and a message that says what to do");
    gc_heap *other = gc_heap_create(NULL);
    gc_thread *in_other = gc_thread_attach(other);
    ok(in_other && gc_thread_current(other) == in_other && gc_thread_current(heap) == gc, "but not to another heap");
    gc_heap_destroy(other);
    ok(gc_thread_current(heap) == gc, "whose end leaves the first");
    is(gc_thread_mode(gc), GC_MODE_COOPERATIVE, "attached threads are cooperative");
}

static void modes(void) {
    is(gc_thread_set_mode(gc, GC_MODE_COOPERATIVE), GC_MODE_COOPERATIVE, "no change");
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        is(gc_thread_mode(gc), GC_MODE_PREEMPTIVE, "a bracket");
        {
            GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
            is(gc_thread_mode(gc), GC_MODE_COOPERATIVE, "a callback in it");
            {
                GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
                GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
                is(gc_thread_mode(gc), GC_MODE_PREEMPTIVE, "brackets in that");
            }
            is(gc_thread_mode(gc), GC_MODE_COOPERATIVE, "back in the callback");
        }
        is(gc_thread_mode(gc), GC_MODE_PREEMPTIVE, "back in the bracket");
    }
    is(gc_thread_mode(gc), GC_MODE_COOPERATIVE, "back");
}

/* A bracket within one of the same mode must leave what the outer one saved: what its caller's registers held may be, by then,
   on a part of the stack that is not scanned. */
static __attribute__((noinline)) void nested_bracket(void) {
#if defined(__x86_64__)
    __asm__ volatile("movq $-1, %%rbx\n\tmovq $-1, %%r12\n\tmovq $-1, %%r13" : : : "rbx", "r12", "r13", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("mov x19, #-1\n\tmov x20, #-1\n\tmov x21, #-1" : : : "x19", "x20", "x21", "memory");
#endif
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
}

static void saved_registers(void) {
    uintptr_t before[GC__SAVED_REGISTERS];
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    memcpy(before, gc->registers, sizeof before);
    nested_bracket();
    is(memcmp(before, gc->registers, sizeof before), 0, "a nested bracket leaves the registers that were saved");
}

/* A thread whose root is looked at and moved while it waits in a system call: nothing is written to its pipe before the
   collection is over. */
typedef struct sleeper {
    int stage; /* atomic */
    uint64_t value;
    uintptr_t before, after;
    int pipe[2];
} sleeper;

static void reach(int *stage, int wanted) {
    while (__atomic_load_n(stage, __ATOMIC_SEQ_CST) < wanted) sleep_us(100);
}

static void *sleeping(void *argument) {
    sleeper *s = argument;
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_name(me, "sleeper");
    {
        node *n = gc_new(me, &node_type);
        GC_ROOTS(me, n);
        n->value = 4711;
        s->before = (uintptr_t)n;
        {
            GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
            char byte;
            __atomic_store_n(&s->stage, 1, __ATOMIC_SEQ_CST);
            if (read(s->pipe[0], &byte, 1) != 1) abort();
        }
        s->after = (uintptr_t)n;
        s->value = n->value;
    }
    gc_thread_detach(me);
    return NULL;
}

static void native_calls(void) {
    pthread_t thread;
    sleeper s = {0};
    if (pipe(s.pipe) != 0) abort();
    pthread_create(&thread, NULL, sleeping, &s);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE); /* it may collect */
        reach(&s.stage, 1);
    }
    compact();
    for (int i = 0; i < 200000; i++) new_node(0);
    if (write(s.pipe[1], "", 1) != 1) abort();
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    close(s.pipe[0]), close(s.pipe[1]);
    is(s.value, 4711, "a thread in read() is not waited for, and its roots live");
    ok(s.after != s.before, "and are updated");
}

/* A thread that compacts the heap all the time, while another one makes old arrays longer where they are. */
static bool grown_enough; /* atomic */

static void *compacting(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    while (!__atomic_load_n(&grown_enough, __ATOMIC_SEQ_CST)) {
        gc_collect(heap, 1, GC_COLLECT_COMPACTING);
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        sleep_us(50);
    }
    gc_thread_detach(me);
    return argument;
}

static void growing(void) {
    pthread_t thread;
    size_t moved = 0, grown = 0;
    vector *v = new_vector(1);
    GC_ROOTS(gc, v);
    __atomic_store_n(&grown_enough, false, __ATOMIC_SEQ_CST);
    pthread_create(&thread, NULL, compacting, NULL);
    for (int i = 0; i < 20000 || (!grown && i < 1000000); i++) {
        const vector *before = v;
        grown += gc_array_grow(gc, v, v->header.length + 1);
        moved += v != before;
        if (v->header.length > 500 || i % 100 == 0) v = new_vector(1);
        if (i % 1000 == 10) gc_collect(heap, 0, 0);
    }
    __atomic_store_n(&grown_enough, true, __ATOMIC_SEQ_CST);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, NULL);
    }
    is(moved, 0, "an array is not moved while it grows");
    ok(grown > 0, "though another thread collects");
}

/* Several threads that ask for full collections at once. */
static void *asking(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    pthread_barrier_wait(argument);
    gc_collect(heap, 2, 0);
    gc_thread_detach(me);
    return NULL;
}

static void joining(void) {
    enum { THREADS = 6, ROUNDS = 20 };
    uint64_t before = stats().collections[2];
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t start;
        pthread_barrier_init(&start, NULL, THREADS);
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, asking, &start);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    uint64_t ran = stats().collections[2] - before;
    ok(ran >= ROUNDS && ran <= THREADS * ROUNDS, "%llu collections for %d requests: those that come at once are joined",
       (unsigned long long)ran, THREADS * ROUNDS);
}

static char warning[512];
static int warned; /* atomic */
static void on_warning(void *host, const char *message) {
    (void)host;
    snprintf(warning, sizeof warning, "%s", message);
    __atomic_store_n(&warned, 1, __ATOMIC_SEQ_CST);
}

/* Polls again only after a warning. */
static void *stubborn(void *ready) {
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_name(me, "stubborn");
    __atomic_store_n((int *)ready, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&warned, __ATOMIC_SEQ_CST)) continue;
    gc_thread_detach(me);
    return NULL;
}

static void late(void) {
    int ready = 0;
    pthread_t thread;
    warned = 0;
    pthread_create(&thread, NULL, stubborn, &ready);
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) continue;
    full();
    has(warning, "`stubborn`", "a thread that does not stop is named while a collection waits for it");
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

static void *ending(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_name(me, "careless");
    node *lost = gc_new(me, &node_type);
    GC_ROOTS(me, lost);
    if (!argument) pthread_exit(lost); /* within the scope */
    return argument;
}

/* Whether the world consists of the calling thread: then nothing has to be stopped, and no stop is counted. */
static bool is_alone(void) {
    uint64_t stops = stats().stops;
    full();
    return stats().stops == stops;
}

static void ended(void) {
    in_thread(ending, NULL);
    has(warning, "careless", "a thread that ends without detaching is reported by name");
    full();
    is(stats().live_bytes, 0, "its roots are dropped");
    ok(is_alone(), "and it is waited for no more");
}

/* Leaving scopes. */

static jmp_buf buffer;
static __attribute__((noinline)) void jump_out(void) {
    node *inner = new_node(2);
    GC_ROOTS(gc, inner);
    longjmp(buffer, 1);
}
/* So deep that later calls neither cover nor overwrite the frame that is left. */
static __attribute__((noinline)) void jump_from_below(void) {
    volatile char depth[4096];
    depth[0] = 0;
    jump_out();
    depth[1] = depth[0];
}

static __attribute__((noinline)) void jump(bool restore) {
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    gc_frame *mark = gc_frames_mark(gc);
    if (setjmp(buffer) == 0) jump_from_below();
    if (restore) gc_frames_restore(gc, mark);
    full();
    is(a->value, 1, "frames after longjmp");
}

static void forgotten(void *unused) {
    (void)unused;
    begin(NULL);
    jump(false);
}

static void jumps(void) {
    static char report[4096];
    jump(true);
    if (GC_DEBUG == 0) return;
    tap_child(forgotten, NULL, report, sizeof report);
    has(report, "GC_ROOTS", "frames that longjmp left are reported");
    has(report, "gc_frames_restore", "with the remedy");
}

/* The heap goes while a thread is in a native call; then it leaves the bracket, and detaches. */
static void *outliving(void *stage) {
    gc_thread *me = gc_thread_attach(heap);
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        __atomic_store_n((int *)stage, 1, __ATOMIC_SEQ_CST);
        while (__atomic_load_n((int *)stage, __ATOMIC_SEQ_CST) != 2) sched_yield();
    }
    gc_thread_detach(me);
    return NULL;
}

/* One that does not poll meanwhile, and may touch the heap. */
static void *straggling(void *stage) {
    gc_thread_set_name(gc_thread_attach(heap), "straggler");
    __atomic_store_n((int *)stage, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n((int *)stage, __ATOMIC_SEQ_CST) != 2) sched_yield();
    return NULL;
}

/* argument: whether the calling thread is attached itself. */
static void destroyed_too_early(void *attached) {
    static int stage;
    pthread_t thread;
    begin(&(gc_options){.patience_ms = 30});
    if (!attached) gc_thread_detach(gc);
    pthread_create(&thread, NULL, straggling, &stage);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 1) sched_yield();
    end();
}

static void stragglers(void) {
    static char report[4096];
    static int yes;
    if (GC_DEBUG == 0) return;
    for (int attached = 0; attached < 2; attached++) {
        int status = tap_child(destroyed_too_early, attached ? &yes : NULL, report, sizeof report);
        is(status, 256 + SIGABRT, "a heap that ends under a thread in cooperative mode is reported, %d", attached);
        has(report, "gc_heap_destroy: the thread `straggler`", "by the thread's name");
        has(report, "gc_thread_detach", "with the remedy");
    }
}

static void outlived(void) {
    int stage = 0;
    pthread_t thread;
    begin(NULL);
    pthread_create(&thread, NULL, outliving, &stage);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 1) sched_yield();
    end();
    __atomic_store_n(&stage, 2, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    ok(true, "a thread may leave a native call, and detach, after its heap was destroyed");
}

/* A thread must not do this in preemptive mode. */
static void in_preemptive_mode(void *what) {
    begin(NULL);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    if (what)
        gc_new_array(gc, &vector_type, GC_LARGE_BYTES);
    else
        gc_collect(heap, 0, 0);
}

static void leaves_scope(void *unused) {
    (void)unused;
    begin(NULL);
    node *held = new_node(1);
    GC_ROOTS(gc, held);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
}

static void misused_mode(void) {
    static char report[4096];
    if (GC_DEBUG >= 2) {
        tap_child(leaves_scope, NULL, report, sizeof report);
        has(report, "GC_ROOTS(held)", "a scope that is left in preemptive mode is reported");
        has(report, "is left in preemptive mode", "with what is wrong");
    }
    if (GC_DEBUG == 0) return;
    tap_child(in_preemptive_mode, report, report, sizeof report);
    has(report, "an allocation in preemptive mode", "an allocation in preemptive mode is reported");
    tap_child(in_preemptive_mode, NULL, report, sizeof report);
    has(report, "gc_collect: the calling thread is attached and in preemptive mode", "so is gc_collect");
}

#ifdef __GLIBC__ /* musl has no makecontext */
/* Fibers: each on a native stack of its own. */
enum { FIBERS = 5, FIBER_BYTES = 256 << 10 };
static struct fiber {
    ucontext_t context, *back;
    gc_stack *stack;
    char *memory;
    gc_thread **thread; /* that it runs on now */
    uint64_t number, sum;
    bool ended;
} fibers[FIBERS];

static void yield(struct fiber *f) {
    gc_stack_switch(*f->thread, NULL);
    swapcontext(&f->context, f->back);
}

static __attribute__((noinline)) void fiber_nested(struct fiber *f, int depth) {
    node *n = gc_new(*f->thread, &node_type);
    GC_ROOTS(*f->thread, n);
    n->value = f->number * 1000 + (uint64_t)depth;
    if (depth) fiber_nested(f, depth - 1);
    yield(f);
    for (int i = 0; i < 200; i++) gc_new(*f->thread, &node_type);
    f->sum += n->value;
}

static void fiber_main(unsigned low, unsigned high) {
    struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);
    for (int round = 0; round < 3; round++) fiber_nested(f, 4);
    f->ended = true;
    gc_stack_switch(*f->thread, NULL);
    setcontext(f->back);
}

static void resume(struct fiber *f, gc_thread **thread, ucontext_t *back) {
    f->thread = thread, f->back = back;
    gc_stack_switch(*thread, f->stack);
    swapcontext(back, &f->context);
}

static void fibers_start(void) {
    for (uint64_t i = 0; i < FIBERS; i++) {
        struct fiber *f = &fibers[i];
        *f = (struct fiber){.number = i + 1, .memory = malloc(FIBER_BYTES)};
        f->stack = gc_stack_create(heap, f->memory + FIBER_BYTES);
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->memory, f->context.uc_stack.ss_size = FIBER_BYTES;
        makecontext(&f->context, (void (*)(void))(uintptr_t)fiber_main, 2, (unsigned)(uintptr_t)f,
                    (unsigned)((uintptr_t)f >> 32));
    }
}

static void fibers_end(const char *what) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < FIBERS; i++) {
        wrong += !fibers[i].ended || fibers[i].sum != 3 * (5 * (i + 1) * 1000 + 10);
        gc_stack_destroy(fibers[i].stack);
        free(fibers[i].memory);
    }
    is(wrong, 0, "%s: what frames of fibers hold lives, and follows", what);
    full();
}

static void fibers_of_one_thread(void) {
    ucontext_t back;
    fibers_start();
    node *own = new_node(99);
    GC_ROOTS(gc, own);
    for (int turn = 0, running = FIBERS; running; turn++) {
        struct fiber *f = &fibers[random_bits() % FIBERS];
        if (f->ended) continue;
        resume(f, &gc, &back);
        running -= f->ended;
        if (turn % 3 == 0) compact();
        if (own->value != 99) break;
    }
    is(own->value, 99, "what the thread's own stack holds lives");
    fibers_end("one thread");
}

/* Fibers that go on on another thread. */
static void *fiber_runner(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    ucontext_t back;
    for (int i = 0; i < FIBERS; i++)
        if (!fibers[i].ended) resume(&fibers[i], &me, &back);
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    gc_thread_detach(me);
    return argument;
}

static void fibers_that_migrate(void) {
    ucontext_t back;
    fibers_start();
    for (int round = 0; round < 40; round++) {
        in_thread(fiber_runner, NULL);
        for (int i = 0; i < FIBERS; i++)
            if (!fibers[i].ended && round % 2) resume(&fibers[i], &gc, &back);
        compact();
    }
    fibers_end("several threads");
}

/* The heap's end, on a fiber that has left a scope in which it had been left. */
static void on_fiber(unsigned low, unsigned high) {
    struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);
    fiber_nested(f, 3);
    uint64_t words[400];
    for (int i = 0; i < 400; i++) words[i] = ~(uint64_t)0;
    __asm__ volatile("" : : "r"(words) : "memory");
    gc_heap_destroy(heap);
    f->sum = 0;
    for (int i = 0; i < 400; i++) f->sum += words[i] != ~(uint64_t)0;
    f->ended = true;
    setcontext(f->back);
}

static void destroyed_on_a_fiber(void) {
    struct fiber *f = &fibers[0];
    ucontext_t back;
    begin(NULL);
    {
        node *own = new_node(1);
        GC_ROOTS(gc, own);
        *f = (struct fiber){.number = 1, .memory = malloc(FIBER_BYTES)};
        f->stack = gc_stack_create(heap, f->memory + FIBER_BYTES);
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->memory, f->context.uc_stack.ss_size = FIBER_BYTES;
        makecontext(&f->context, (void (*)(void))(uintptr_t)on_fiber, 2, (unsigned)(uintptr_t)f,
                    (unsigned)((uintptr_t)f >> 32));
        for (int i = 0; i < 8 && !f->ended; i++) resume(f, &gc, &back);
    }
    ok(f->ended, "a heap is destroyed on a fiber, and scopes of the thread's own stack end after that");
    is(f->sum, 0, "nothing of the stack is overwritten");
    free(f->memory);
    heap = NULL, gc = NULL;
}

/* Conservative stacks: what only a native stack, a register in a native call, or a stack that was left holds. */
static __attribute__((noinline)) uint64_t fiber_conservative(struct fiber *f) {
    node *n = gc_new(*f->thread, &node_type);
    n->value = f->number;
    yield(f);
    return n->value;
}

static void fiber_conservative_main(unsigned low, unsigned high) {
    struct fiber *f = (struct fiber *)((uintptr_t)high << 32 | low);
    f->sum = fiber_conservative(f);
    f->ended = true;
    gc_stack_switch(*f->thread, NULL);
    setcontext(f->back);
}

static void conservative_fibers(void) {
    ucontext_t back;
    fibers_start();
    for (int i = 0; i < FIBERS; i++) {
        struct fiber *f = &fibers[i];
        makecontext(&f->context, (void (*)(void))(uintptr_t)fiber_conservative_main, 2, (unsigned)(uintptr_t)f,
                    (unsigned)((uintptr_t)f >> 32));
        resume(f, &gc, &back);
    }
    compact();
    for (int i = 0; i < 10000; i++) new_node(0xBAD);
    compact();
    uint64_t wrong = 0;
    for (int i = 0; i < FIBERS; i++) {
        resume(&fibers[i], &gc, &back);
        wrong += fibers[i].sum != (uint64_t)i + 1;
        gc_stack_destroy(fibers[i].stack);
        free(fibers[i].memory);
    }
    is(wrong, 0, "native stacks that were left are scanned");
}

/* The same for a thread that is scanned by its own choice, in a heap where none is by default. */
static void chosen_fibers(void) {
    gc_thread_set_conservative(gc, true);
    conservative_fibers();
}

/* Attaching on a fiber's stack, whose end is not known. argument: what is done there. */
static gc_heap *fiber_heap;
static gc_thread *fiber_thread;
static void attach_on_fiber(void) { fiber_thread = gc_thread_attach(fiber_heap); }
static void choose_on_fiber(void) { gc_thread_set_conservative(gc_thread_attach(fiber_heap), true); }

static void on_a_fiber(void (*body)(void), const gc_options *options) {
    ucontext_t context, back;
    char *memory = malloc(FIBER_BYTES);
    fiber_heap = gc_heap_create(options);
    getcontext(&context);
    context.uc_stack.ss_sp = memory, context.uc_stack.ss_size = FIBER_BYTES, context.uc_link = &back;
    makecontext(&context, body, 0);
    swapcontext(&back, &context);
    free(memory);
}

static void chosen_on_fiber(void *unused) {
    (void)unused;
    on_a_fiber(choose_on_fiber, NULL);
}

static void attached_on_fibers(void) {
    static char report[4096];
    on_a_fiber(attach_on_fiber, &(gc_options){.conservative_stack = true});
    ok(!fiber_thread, "attaching on a fiber's stack is refused where stacks are scanned");
    is(gc_last_result(), GC_ERROR_MISUSE, "by its result");
    has(gc_last_message(), "gc_stack_create", "with the remedy");
    gc_heap_destroy(fiber_heap);
    on_a_fiber(attach_on_fiber, NULL);
    ok(fiber_thread != NULL, "and possible elsewhere");
    gc_heap_destroy(fiber_heap);
    is(tap_child(chosen_on_fiber, NULL, report, sizeof report), 256 + SIGABRT,
       "where it cannot be scanned later either");
    has(report, "gc_thread_set_conservative", "which is reported");
}
#endif

static void *conservative_sleeper(void *argument) {
    sleeper *s = argument;
    gc_thread *me = gc_thread_attach(heap);
    node *n = gc_new(me, &node_type);
    n->value = 4712;
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        __atomic_store_n(&s->stage, 1, __ATOMIC_SEQ_CST);
        reach(&s->stage, 2);
    }
    s->value = n->value;
    gc_thread_detach(me);
    return NULL;
}

static void conservative_threads(void) {
    pthread_t thread;
    sleeper s = {0};
    pthread_create(&thread, NULL, conservative_sleeper, &s);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        reach(&s.stage, 1);
    }
    compact();
    for (int i = 0; i < 10000; i++) new_node(0xBAD);
    compact();
    __atomic_store_n(&s.stage, 2, __ATOMIC_SEQ_CST);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    is(s.value, 4712, "the native stack and registers of a thread in native code are scanned");
}

#if defined(__aarch64__)
/* Calls preserve d8 to d15, too, where compilers keep values that are doubles to them, such as NaN-boxed references. */
static __attribute__((noinline)) uintptr_t hidden_node(gc_thread *me) {
    node *n = gc_new(me, &node_type);
    n->value = 4713;
    return ~(uintptr_t)n;
}

static void *vector_sleeper(void *argument) {
    sleeper *s = argument;
    gc_thread *me = gc_thread_attach(heap);
    register double held __asm__("d8");
    node *n;
    for (int i = 0; i < 100; i++) hidden_node(me); /* not the first of a region, whose address others have */
    __asm__ volatile("mvn x9, %1\n\tfmov %d0, x9\n\tmov x9, xzr" : "=w"(held) : "r"(hidden_node(me)) : "x9");
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        __atomic_store_n(&s->stage, 1, __ATOMIC_SEQ_CST);
        reach(&s->stage, 2);
    }
    __asm__ volatile("fmov %0, %d1" : "=r"(n) : "w"(held));
    s->value = n->value;
    gc_thread_detach(me);
    return NULL;
}

static void vector_registers(void) {
    pthread_t thread;
    sleeper s = {0};
    pthread_create(&thread, NULL, vector_sleeper, &s);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        reach(&s.stage, 1);
    }
    compact();
    for (int i = 0; i < 10000; i++) new_node(0xBAD);
    compact();
    __atomic_store_n(&s.stage, 2, __ATOMIC_SEQ_CST);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    is(s.value, 4713, "so are the vector registers that calls preserve");
}
#endif

/* Signals that interrupt anything: the handler counts what it interrupts. */
enum { ALLOCATING, STORING, SWITCHING, OTHERWISE, ACTIVITIES };
static volatile sig_atomic_t signals[ACTIVITIES], activity = OTHERWISE, in_handler_wrong;
static void on_signal(int number) {
    (void)number;
    signals[activity]++;
    gc_mode mode = gc_thread_mode(gc); /* the one call that is allowed */
    in_handler_wrong += mode != GC_MODE_COOPERATIVE && activity != SWITCHING;
}

static void interrupted(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    vector *keep = new_vector(1000);
    GC_ROOTS(gc, keep);
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 3000000; i++) {
        if (i % 1000 == 0 && signals[ALLOCATING] >= 200 && signals[STORING] >= 200 && signals[SWITCHING] >= 200) break;
        activity = ALLOCATING;
        node *n = new_node(i);
        activity = STORING;
        for (int k = 0; k < 20; k++) gc_store(gc, &keep->items[i % 1000], n);
        activity = SWITCHING;
        for (int k = 0; k < 4; k++) {
            GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        }
        activity = OTHERWISE;
        const node *old = keep->items[i * 7 % 1000];
        wrong += old && old->value % 1000 != i * 7 % 1000;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    ok(signals[ALLOCATING] >= 20 && signals[STORING] >= 20 && signals[SWITCHING] >= 20,
       "%d signals came at allocations, %d at stores, %d at changes of mode", (int)signals[ALLOCATING],
       (int)signals[STORING], (int)signals[SWITCHING]);
    is(wrong + (uint64_t)in_handler_wrong, 0, "and did no harm");
}

/* Functions that a signal handler may not call, and what it may not interrupt. The handler runs at an instruction
   within the latter. */
static vector *signal_vector;
static void *signal_slots[1];
static void do_allocate(void) { signal_vector = new_vector(GC_REGION_BYTES / 64 + 1); }
static void do_collect(void) { gc_collect(heap, 0, 0); }
static void do_mode(void) {
    gc_thread_set_mode(gc, gc_thread_mode(gc) == GC_MODE_COOPERATIVE ? GC_MODE_PREEMPTIVE : GC_MODE_COOPERATIVE);
}
static void do_handle(void) { gc_handle_destroy(heap, gc_handle_create(heap, GC_HANDLE_STRONG, NULL)); }
static void do_roots(void) { gc_roots_add(heap, signal_slots, 1, 0), gc_roots_remove(heap, signal_slots); }
static void do_stats(void) {
    static gc_stats all; /* not copied out of a function: the interruption is to be within gc.h */
    gc_heap_stats(heap, &all);
}
static void do_verify(void) { gc_heap_verify(heap); }
static void do_find(void) { gc_heap_object_at(heap, signal_vector); }
static void do_attach(void) { gc_thread_attach(heap); }
static void do_detach(void) { gc_thread_detach(gc); }
static void do_create(void) { gc_heap_create(NULL); }
static void do_destroy(void) { gc_heap_destroy(heap); }
static void do_external(void) { gc_object_add_external(gc, signal_vector, 8); }
static void do_switch(void) { gc_stack_switch(gc, NULL); }
static void do_store(void) { gc_store(gc, &signal_vector->items[0], NULL); }

static const struct forbidden {
    void (*call)(void);
    const char *name;
    int debug; /* the level that reports it */
} forbidden[] = {
    {do_allocate, "allocation", 1},      {do_collect, "gc_collect", 1},     {do_mode, "gc_thread_set_mode", 1},
    {do_handle, "gc_handle_create", 1},  {do_roots, "gc_roots_add", 1},     {do_stats, "gc_heap_stats", 1},
    {do_verify, "gc_heap_verify", 1},    {do_find, "gc_heap_object_at", 1}, {do_attach, "gc_thread_attach", 1},
    {do_detach, "gc_thread_detach", 1},  {do_create, "gc_heap_create", 1},  {do_destroy, "gc_heap_destroy", 1},
    {do_external, "gc_object_add_external", 1}, {do_switch, "gc_stack_switch", 1}, {do_store, "gc_store", 2}};
enum { FORBIDDEN = sizeof forbidden / sizeof *forbidden, INTERRUPTED = 6 };

static long step_at;
static void (*step_call)(void);
/* At the step, or after the instruction that repeats itself there. */
static void at_step(void) {
    if (single_step_count < step_at) return;
    step_at = LONG_MAX;
    step_call();
}

/* The steps of a collection are not counted, nor taken from its beginning: there are many, and each costs a signal. */
static void step_from_here(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (step_call) single_step_begin();
}

static long count_steps(void (*interrupted)(void)) {
    single_step_begin();
    interrupted();
    long steps = single_step_end();
    if (gc_thread_mode(gc) != GC_MODE_COOPERATIVE) do_mode();
    return steps;
}

/* Runs one of them with the handler's call in its middle. argument: interrupted * FORBIDDEN + called. */
static void in_the_middle(void *argument) {
    size_t which = (size_t)(uintptr_t)argument;
    void (*interrupted)(void) = forbidden[which / FORBIDDEN].call;
    begin(&(gc_options){.collection_start = step_from_here});
    gc_roots_add(heap, &signal_vector, 1, 0);
    do_allocate();
    for (int i = 0; i < 2; i++) interrupted(); /* has every function bound that a call binds only once */
    if (gc_thread_mode(gc) != GC_MODE_COOPERATIVE) do_mode();
    /* Within the first of the two calls, if there are two. */
    step_at = interrupted == do_collect ? 200 : count_steps(interrupted) * (interrupted == do_roots ? 1 : 2) / 3;
    step_call = forbidden[which % FORBIDDEN].call;
    single_step_each = at_step;
    if (interrupted != do_collect) single_step_begin();
    interrupted();
    single_step_end();
}

static void from_handlers(void) {
    static char report[4096];
    if (GC_DEBUG == 0 || !single_step_available()) return;
    for (size_t i = 0; i < INTERRUPTED; i++)
        for (size_t k = 0; k < FORBIDDEN; k++) {
            if (forbidden[k].debug > GC_DEBUG || (i != 1 && k && k != i)) continue; /* all of them in gc_collect */
            int status = tap_child(in_the_middle, (void *)(uintptr_t)(i * FORBIDDEN + k), report, sizeof report);
            ok(status != 0 && strstr(report, "misuse") && strstr(report, forbidden[k].name) &&
                   strstr(report, "signal handler"),
               "%s in a handler that interrupts %s is reported", forbidden[k].name, forbidden[i].name);
            if (status == 0 || !strstr(report, forbidden[k].name)) diag("status %d: %s", status, report);
        }
    has(report, "set a flag", "with the remedy");
}

/* fork() of a single-threaded host. */
static void forked(void) {
    vector *keep = new_vector(1000);
    GC_ROOTS(gc, keep);
    for (uint64_t i = 0; i < 1000; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
    }
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    uint64_t wrong = 0;
    for (int round = 0; round < 10; round++) {
        for (uint64_t i = 0; i < 1000; i++) {
            node *n = new_node(i + (child ? 0 : 1));
            gc_store(gc, &keep->items[i], n);
        }
        gc_collect(heap, round % 3, round % 2 ? GC_COLLECT_COMPACTING : 0);
        for (uint64_t i = 0; i < 1000; i++) wrong += ((node *)keep->items[i])->value != i + (child ? 0 : 1);
    }
    if (child == 0) _exit(wrong != 0);
    waitpid(child, &status, 0);
    ok(wrong == 0 && status == 0, "after fork() both heaps work");
}

/* A host that stops threads by itself: here by a lock that one thread at a time holds, as an interpreter's. */
static pthread_mutex_t giant = PTHREAD_MUTEX_INITIALIZER;
static int suspended, restarted;
static void host_suspend(void *host) { (void)host, suspended++; }
static void host_restart(void *host) { (void)host, restarted++; }

static void *under_giant(void *argument) {
    pthread_mutex_lock(&giant);
    gc_thread *me = gc_thread_attach(heap);
    uint64_t *wrong = argument;
    {
        node *n = gc_new(me, &node_type);
        GC_ROOTS(me, n);
        n->value = 5;
        for (int i = 0; i < 2000; i++) {
            pthread_mutex_unlock(&giant);
            if (i % 16 == 0) sched_yield();
            pthread_mutex_lock(&giant);
            for (int k = 0; k < 20; k++) gc_new(me, &node_type);
            *wrong += n->value != 5;
        }
    }
    gc_thread_detach(me);
    pthread_mutex_unlock(&giant);
    return NULL;
}

static void host_stops(void) {
    pthread_t threads[3];
    uint64_t wrong[3] = {0};
    pthread_mutex_lock(&giant);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, under_giant, &wrong[i]);
    pthread_mutex_unlock(&giant);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    gc_collect(heap, 2, 0);
    is(wrong[0] + wrong[1] + wrong[2], 0, "a host that stops its threads itself");
    ok(suspended > 2 && suspended == restarted, "is asked for each collection: %d times", suspended);
}

static void across_heaps(void *unused) {
    (void)unused;
    begin(NULL);
    gc_heap *other = gc_heap_create(NULL);
    gc_thread *in_other = gc_thread_attach(other);
    node *theirs = gc_new(in_other, &node_type), *ours = new_node(1);
    gc_store(gc, &ours->left, theirs);
    gc_heap_verify(heap);
}

int main(void) {
    static char report[4096];
    run(attaching, (gc_options){0});
    run(modes, (gc_options){0});
    run(saved_registers, (gc_options){0});
    run(native_calls, (gc_options){0});
    run(joining, (gc_options){0});
    run(growing, (gc_options){.debug.verify = GC_VERIFY_AFTER});
    run(late, (gc_options){.warning = on_warning, .patience_ms = 20});
    run(ended, (gc_options){.warning = on_warning});
    run(jumps, (gc_options){0});
    stragglers();
    outlived();
    misused_mode();
#ifdef __GLIBC__
    run(fibers_of_one_thread, (gc_options){.nursery_bytes = 64 << 10});
    run(fibers_that_migrate, (gc_options){.nursery_bytes = 64 << 10});
    run(fibers_of_one_thread, (gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    destroyed_on_a_fiber();
    run(conservative_fibers, (gc_options){.conservative_stack = true});
    run(chosen_fibers, (gc_options){0});
    attached_on_fibers();
#endif
    run(conservative_threads, (gc_options){.conservative_stack = true});
#if defined(__aarch64__)
    run(vector_registers, (gc_options){.conservative_stack = true});
#endif
    begin(&(gc_options){0}), interrupted(), end();
    from_handlers();
    run(forked, (gc_options){0});
    run(host_stops, (gc_options){.suspend = host_suspend, .restart = host_restart, .nursery_bytes = 64 << 10});
    tap_child(across_heaps, NULL, report, sizeof report);
    has(report, "belongs to another heap", "a reference across heaps is reported");
    has(report, "field `left`", "by the field that holds it");
    return done();
}
