/* Stopping threads in compiled code: at every instruction and at random ones, by the signal and by replaced return addresses,
   with every object moved each time; and what the signal meets in a process. With --count=N, a thread is stopped N times in
   each loop. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"
#include "interrupt_code.h"
#include "step_code.h"

#include <pthread.h>
#include <time.h>

/* At every instruction. */

static long stops, replacements;

static void interrupt_here(void *context) {
    uintptr_t pc = gc__os_context_pc(context);
    const gc_code *code = gc_code_find((const void *)pc);
    uint64_t before = heap->collection.number;
    const uintptr_t *slot = gc__my_interruptee.slot;
    gc__code_interrupted(context);
    if (code && heap->collection.number != before) stops++;
    if (gc__my_interruptee.slot && gc__my_interruptee.slot != slot) replacements++;
    if (!code && (heap->collection.number != before || gc__my_interruptee.slot != slot))
        diag("stopped at %p", (void *)pc), abort();
}

/* Collections that did not move the whole list. */
static unsigned left_in_place, collections;
static void count_moves(void *host, const gc_collection *collection) {
    (void)host;
    collections++;
    left_in_place += collection->moved_bytes < LENGTH * sizeof(node);
}

static void step(method *m, uint64_t sum, const char *name, long stops_wanted, long replacements_wanted) {
    node *list = new_list(gc), *same = list;
    GC_ROOTS(gc, list);
    control control = {1, 0};
    uintptr_t arguments[4] = {(uintptr_t)list, (uintptr_t)&control};
    stops = replacements = 0, left_in_place = collections = 0;
    is(gc_thread_set_interruptible(gc, true), GC_OK, "%s: interruptible", name);
    is(step_through(gc, m->start, arguments, interrupt_here), sum, "%s: the sum is right", name);
    is(gc_thread_set_interruptible(gc, false), GC_OK, "%s: not interruptible", name);
    ok(list_is(list, 1), "%s: every value was incremented", name);
    ok(list != same && !gc__my_interruptee.slot && !gc->code, "%s: objects have moved, and no frame is left", name);
    is(stops, stops_wanted, "%s: of %ld steps it was stopped at all that are interruptible", name, step_count);
    is(replacements, replacements_wanted, "%s: return addresses were replaced in each call of compiled code", name);
    is(collections, stops_wanted + replacements_wanted, "%s: each of them led to a collection", name);
    is(left_in_place, 0, "%s: objects moved in each", name);
}

static void every_instruction(void) {
    leaves_create();
    method *body = full_loop(false), *everywhere = full_loop(true), *partial = partial_loop();
    step(body, full_sum(1), "full", 82, 0);
    step(everywhere, full_sum(1), "full, everywhere", 96, 0);
    step(partial, partial_sum(1), "partial", 0, 3 * LENGTH);
    method_free(body), method_free(everywhere), method_free(partial);
    leaves_free();
}

/* Where the thread must not wait, and is left alone: while it holds the lock of another heap, in a hook; and if the handler
   runs on another stack. */
static const method *stepped;
static void step_in_hook(void *host, const gc_collection *collection) {
    control control = {1, 0};
    uintptr_t arguments[4] = {0, (uintptr_t)&control};
    (void)host, (void)collection;
    step_through(gc, stepped->start, arguments, interrupt_here);
}

static void left_alone(void) {
    method *code = empty_loop();
    stack_t alternative = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16}, none = {.ss_flags = SS_DISABLE};
    stops = replacements = 0, stepped = code;
    gc_thread_set_interruptible(gc, true);
    gc_heap *other = gc_heap_create(&(gc_options){.collection_end = step_in_hook});
    gc_thread *attached = gc_thread_attach(other);
    gc_collect(other, 2, GC_COLLECT_BLOCKING);
    ok(step_count > 7 && stops == 0, "in another heap's hook it is not stopped, in %ld steps", step_count);
    gc_thread_detach(attached);
    gc_heap_destroy(other);
    sigaltstack(&alternative, NULL);
    step_flags = SA_ONSTACK;
    step_in_hook(NULL, NULL);
    ok(step_count > 7 && stops == 0, "by a handler on another stack it is not stopped");
    step_flags = 0;
    sigaltstack(&none, NULL);
    step_in_hook(NULL, NULL);
    is(stops, 8, "else it is");
    gc_thread_set_interruptible(gc, false);
    free(alternative.ss_sp);
    method_free(code);
}

/* At random instructions: the main thread collects all the time. */

static uint64_t count_wanted = 100;

typedef struct looper {
    pthread_t id;
    const method *code;
    uint64_t (*sum)(uint64_t rounds);
    uint64_t stops, replacements; /* collections that found the thread so */
    control control;
    gc_thread *thread; /* atomic; NULL: it does not loop yet */
    bool right;
} looper;

static looper loopers[3];
static unsigned looper_count;

static void note_stops(void *host, const gc_collection *collection) {
    (void)host;
    collections++;
    left_in_place += collection->moved_bytes < looper_count * LENGTH * sizeof(node);
    for (unsigned i = 0; i < looper_count; i++) {
        const gc_code_frame *frame = loopers[i].thread ? loopers[i].thread->code : NULL;
        if (frame) *(frame->kind == GC_FRAME_INTERRUPTED ? &loopers[i].stops : &loopers[i].replacements) += 1;
    }
}

static void run_attached(looper *self, gc_thread *thread) {
    node *list = new_list(thread);
    GC_ROOTS(thread, list);
    uintptr_t arguments[2] = {(uintptr_t)list, (uintptr_t)&self->control};
    gc_thread_set_interruptible(thread, true);
    __atomic_store_n(&self->thread, thread, __ATOMIC_SEQ_CST);
    uint64_t got = gc_code_call(thread, self->code->start, arguments, 2);
    self->right = got == self->sum(self->control.rounds) && list_is(list, self->control.rounds);
    gc_thread_set_interruptible(thread, false);
}

static void *run_loop(void *context) {
    gc_thread *thread = gc_thread_attach(heap);
    run_attached((looper *)context, thread);
    gc_thread_detach(thread);
    return NULL;
}

/* Waits until each thread has gone on, and then for as long as it takes to execute some more instructions. */
static void let_run(unsigned threads) {
    for (unsigned i = 0; i < threads; i++) {
        uint64_t before = __atomic_load_n(&loopers[i].control.rounds, __ATOMIC_RELAXED);
        while (__atomic_load_n(&loopers[i].control.rounds, __ATOMIC_RELAXED) == before) sched_yield();
    }
    for (uint64_t i = random_bits() % 256; i > 0; i--) gc__cpu_pause();
}

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Runs the loopers, one for each method, until `count` collections have stopped them. */
static void loop(const char *name, uint64_t count, unsigned threads, method *const *codes,
                 uint64_t (*const *sums)(uint64_t rounds)) {
    looper_count = threads;
    memset(loopers, 0, sizeof loopers);
    for (unsigned i = 0; i < threads; i++) {
        loopers[i].code = codes[i], loopers[i].sum = sums[i];
        pthread_create(&loopers[i].id, NULL, run_loop, &loopers[i]);
    }
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    for (unsigned i = 0; i < threads; i++)
        while (!__atomic_load_n(&loopers[i].thread, __ATOMIC_SEQ_CST)) sched_yield();
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    left_in_place = collections = 0;
    uint64_t stops_before = heap->stats.stops, *times_ns = (uint64_t *)calloc(count, sizeof *times_ns);
    for (uint64_t i = 0; i < count; i++) {
        let_run(threads);
        uint64_t before_ns = heap->stats.stop_total_ns;
        compact();
        times_ns[i] = heap->stats.stop_total_ns - before_ns;
    }
    is(heap->stats.stops - stops_before, count, "%s: statistics count the stops", name);
    qsort(times_ns, count, sizeof *times_ns, compare_times);
    diag("%s: stopped within %.1f us in half of all cases, %.1f us in nine of ten", name,
         (double)times_ns[count / 2] / 1e3, (double)times_ns[count * 9 / 10] / 1e3);
    free(times_ns);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    for (unsigned i = 0; i < threads; i++) __atomic_store_n(&loopers[i].control.stop, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < threads; i++) pthread_join(loopers[i].id, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    for (unsigned i = 0; i < threads; i++) {
        const looper *it = &loopers[i];
        ok(it->right, "%s %u: the sum and the values are right after %llu rounds", name, i,
           (unsigned long long)it->control.rounds);
        diag("%s %u: %llu stops at instructions, %llu at returns", name, i, (unsigned long long)it->stops,
             (unsigned long long)it->replacements);
        ok(it->stops + it->replacements + 2 >= count, "%s %u: compiled code was stopped", name, i);
    }
    ok(collections == count && left_in_place == 0, "%s: objects moved in each of %u collections", name, collections);
}

static void random_instructions(void) {
    leaves_create();
    method *codes[] = {full_loop(false), full_loop(true), partial_loop()};
    uint64_t (*const sums[])(uint64_t rounds) = {full_sum, full_sum, partial_sum};
    loop("full", count_wanted, 1, codes, sums);
    loop("full, everywhere", count_wanted, 1, codes + 1, sums + 1);
    loop("partial", count_wanted, 1, codes + 2, sums + 2);
    loop("three threads", count_wanted / 3, 3, codes, sums);
    for (int i = 0; i < 3; i++) method_free(codes[i]);
    leaves_free();
}

/* A thread becomes interruptible while a collection waits for it already, and then does not poll. */
static void *loop_late(void *unused) {
    looper *self = &loopers[0];
    gc_thread *thread = gc_thread_attach(heap);
    __atomic_store_n(&self->thread, thread, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST)) sched_yield();
    usleep(20000); /* the collector sleeps */
    uintptr_t arguments[2] = {0, (uintptr_t)&self->control};
    gc_thread_set_interruptible(thread, true);
    gc_code_call(thread, self->code->start, arguments, 2);
    gc_thread_detach(thread);
    return unused;
}

static void late(void) {
    leaves_create();
    method *code = empty_loop();
    memset(loopers, 0, sizeof loopers);
    loopers[0].code = code;
    pthread_create(&loopers[0].id, NULL, loop_late, NULL);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    while (!__atomic_load_n(&loopers[0].thread, __ATOMIC_SEQ_CST)) sched_yield();
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    compact();
    ok(stats().stop_max_ns < 30 * 1000000000ull, "late: a collection that waits already interrupts the thread: %.0f ms",
       (double)stats().stop_max_ns / 1e6);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    __atomic_store_n(&loopers[0].control.stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(loopers[0].id, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    method_free(code);
    leaves_free();
}

/* A thread that is stopped in compiled code waits for its heap. Then another heap, to which it is attached as well, can be
   collected. */
static gc_heap *second;
static uint32_t second_asked, second_done; /* atomic; collections of the second heap */

static void await_second(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    uint32_t number = __atomic_add_fetch(&second_asked, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&second_done, __ATOMIC_SEQ_CST) != number) sched_yield();
}

static void *collect_second(void *unused) {
    for (uint32_t done = 0; done != UINT32_MAX;) {
        uint32_t asked = __atomic_load_n(&second_asked, __ATOMIC_SEQ_CST);
        if (asked == done)
            sched_yield();
        else if (asked != UINT32_MAX)
            gc_collect(second, 2, GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING);
        __atomic_store_n(&second_done, done = asked, __ATOMIC_SEQ_CST);
    }
    return unused;
}

static void run_with_second(looper *self, gc_thread *thread) {
    node *list = new_list(thread), *same = list;
    GC_ROOTS(thread, list);
    run_loop(self);
    ok(list_is(list, 0) && list != same, "two heaps: the second one was collected");
}

static void *loop_in_both(void *context) {
    gc_thread *thread = gc_thread_attach(second);
    run_with_second((looper *)context, thread);
    gc_thread_detach(thread);
    return NULL;
}

static void two_heaps(void) {
    pthread_t collector;
    looper *it = &loopers[0];
    second = gc_heap_create(NULL);
    leaves_create();
    method *code = partial_loop();
    memset(loopers, 0, sizeof loopers);
    it->code = code, it->sum = partial_sum;
    pthread_create(&it->id, NULL, loop_in_both, it);
    pthread_create(&collector, NULL, collect_second, NULL);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    while (!__atomic_load_n(&it->thread, __ATOMIC_SEQ_CST)) sched_yield();
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    for (int i = 0; i < 50; i++) let_run(1), compact();
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    __atomic_store_n(&it->control.stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(it->id, NULL);
    __atomic_store_n(&second_asked, UINT32_MAX, __ATOMIC_SEQ_CST);
    pthread_join(collector, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    ok(it->right, "two heaps: the sum and the values are right");
    method_free(code);
    leaves_free();
    gc_heap_destroy(second);
}

/* Under stress a thread interrupts itself, and so finds a mistake in a map of one instruction. */
static control stress_control;
static void stop_stress(void *host, const gc_collection *collection) {
    count_moves(host, collection);
    if (collections >= count_wanted) stress_control.stop = 1;
}

static uintptr_t run_stress(method *m) {
    node *list = new_list(gc);
    GC_ROOTS(gc, list);
    uintptr_t arguments[2] = {(uintptr_t)list, (uintptr_t)&stress_control};
    stress_control.stop = stress_control.rounds = collections = left_in_place = 0;
    gc_thread_set_interruptible(gc, true);
    uintptr_t sum = gc_code_call(gc, m->start, arguments, 2);
    gc_thread_set_interruptible(gc, false);
    return list_is(list, stress_control.rounds) ? sum : 0;
}

static void run_wrong(void *wrong) { run_stress((method *)wrong); }

static void stress_interrupts(void) {
    leaves_create();
    method *full = full_loop(true), *partial = partial_loop(), *wrong = full_loop_of(true, true);
    uintptr_t sum = run_stress(full);
    is(sum, full_sum(stress_control.rounds), "stress: full: the sum is right");
    sum = run_stress(partial);
    is(sum, partial_sum(stress_control.rounds), "stress: partial: the sum is right");
    char output[4096];
    uint64_t wanted = count_wanted;
    count_wanted = UINT64_MAX;
    is(tap_child(run_wrong, wrong, output, sizeof output), 256 + SIGABRT,
       "stress: a mistake in the map ends the program");
    has(output, "missed root", "stress: with a report");
    count_wanted = wanted;
    method_free(full), method_free(partial), method_free(wrong);
    leaves_free();
}

/* What is refused, and signals from elsewhere. */

static volatile sig_atomic_t foreign;
static void count_foreign(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context, foreign++;
}

static void handle(int number, void (*f)(int number, siginfo_t *info, void *context)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = f;
    action.sa_flags = SA_SIGINFO;
    sigaction(number, &action, NULL);
}

/* A handler of the host's runs on top of compiled code. */
static void interrupt_handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
    raise(GC_CODE_SIGNAL);
    gc__os_interrupt(&gc__os_me);
}
static void interrupt_a_handler(void *context) {
    (void)context;
    uint64_t before = heap->collection.number;
    gc->poll = 1;
    raise(SIGUSR1);
    if (heap->collection.number != before || gc__my_interruptee.slot) abort();
}

static void signals(void) {
    leaves_create();
    method *code = full_loop(true), *partial = partial_loop();
    foreign = 0;
    raise(GC_CODE_SIGNAL);
    is(foreign, 1, "the former handler is called for signals from elsewhere");
    gc__os_interrupt(&gc__os_me);
    is(foreign, 1, "but not for gc.h's own, although they come late");
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, GC_CODE_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &urgent, NULL);
    is(gc_thread_set_interruptible(gc, true), GC_ERROR_MISUSE, "refused: the signal is blocked");
    has(gc_last_message(), "unblock it by pthread_sigmask", "with the remedy");
    pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
    is(gc_thread_set_interruptible(gc, true), GC_OK, "not refused: it is unblocked");
    second = gc_heap_create(NULL);
    gc_thread *other = gc_thread_attach(second);
    gc_thread_set_name(gc, "first");
    is(gc_thread_set_interruptible(other, true), GC_ERROR_MISUSE, "refused: the same thread in a second heap");
    has(gc_last_message(), "interruptible as `first`", "with the reason");
    gc_thread_detach(other);
    gc_heap_destroy(second);
    handle(SIGUSR1, interrupt_handler);
    node *list = new_list(gc);
    GC_ROOTS(gc, list);
    control control = {1, 0};
    uintptr_t arguments[4] = {(uintptr_t)list, (uintptr_t)&control};
    foreign = 0;
    is(step_through(gc, code->start, arguments, interrupt_a_handler), full_sum(1),
       "a handler interrupts compiled code");
    is(foreign, step_count, "it is not stopped itself");
    gc_thread_set_interruptible(gc, false);
    method_free(code), method_free(partial);
    leaves_free();
}

/* Former dispositions of the signal, each in a child, whose first interruptible thread it is. */

static void handle_plainly(int number) { foreign += number == GC_CODE_SIGNAL; }

/* How many of the signals that a child sends itself arrive at the disposition that `argument` is, and whether it is back at
   the end. */
static void keep_disposition(void *argument) {
    const struct sigaction *former = (const struct sigaction *)argument;
    struct sigaction now;
    begin(NULL);
    sigaction(GC_CODE_SIGNAL, former, NULL);
    foreign = 0;
    if (gc_thread_set_interruptible(gc, true) != GC_OK) abort();
    for (int i = 0; i < 3; i++) raise(GC_CODE_SIGNAL);
    gc_thread_set_interruptible(gc, false);
    raise(GC_CODE_SIGNAL);
    end();
    gc__os_interrupts_end();
    sigaction(GC_CODE_SIGNAL, NULL, &now);
    bool same =
        now.sa_sigaction == former->sa_sigaction && (now.sa_flags & SA_SIGINFO) == (former->sa_flags & SA_SIGINFO);
    printf("%d arrived, %s", (int)foreign, same ? "restored" : "not restored");
}

static void dispositions(void) {
    static void (*const handlers[])(int) = {SIG_DFL, SIG_IGN, handle_plainly};
    static const char *const names[] = {"SIG_DFL", "SIG_IGN", "a handler"};
    for (int i = 0; i < 6; i++) {
        struct sigaction action;
        char output[256];
        memset(&action, 0, sizeof action);
        action.sa_handler = handlers[i / 2];
        if (i == 5)
            action.sa_flags = SA_SIGINFO, action.sa_sigaction = count_foreign;
        else if (i % 2)
            action.sa_flags = SA_SIGINFO;
        is(tap_child(keep_disposition, &action, output, sizeof output), 0,
           "%s with%s SA_SIGINFO: signals of others do no harm", names[i / 2], i % 2 ? "" : "out");
        has(output, i < 4 ? "0 arrived, restored" : "4 arrived, restored", "they are handled as before");
    }
}

/* On top of the handler of gc.h's signal, which has not begun: asks until another one is sent. */
static void ask_again(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
    while (gc__os_me.sent <= GC__OS_SENT_LOST) gc__os_interrupt(&gc__os_me);
}

/* Each of the two signals is held back, and comes before the other's handler begins. */
static void send_twice(void) {
    sigset_t both;
    handle(SIGWINCH, ask_again);
    sigemptyset(&both);
    sigaddset(&both, GC_CODE_SIGNAL), sigaddset(&both, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    gc__os_interrupt(&gc__os_me);
    raise(SIGWINCH);
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    printf("# %d of two that were sent, %u are to come\n", (int)foreign, (unsigned)gc__os_me.sent);
}

/* No signal is queued any more: they arrive without the data that tells whose they are. */
static void limit_signals(void *unused) {
    struct rlimit none = {0, 0};
    (void)unused;
    setrlimit(RLIMIT_SIGPENDING, &none);
    handle(GC_CODE_SIGNAL, count_foreign);
    foreign = 0;
    begin(&(gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 1u << 30, .collection_end = note_stops});
    random_instructions();
    printf("# %d of gc.h's were handed on\n", (int)foreign);
    foreign = 0;
    gc_thread_set_interruptible(gc, true);
    send_twice();
    raise(GC_CODE_SIGNAL), kill(getpid(), GC_CODE_SIGNAL);
    printf("# %d of the host's\n", (int)foreign);
    end();
    if (tap_failures) _exit(1);
}

static void limited_signals(void) {
    static char output[8192];
    uint64_t wanted = count_wanted;
    count_wanted = 12;
    is(tap_child(limit_signals, NULL, output, sizeof output), 0, "RLIMIT_SIGPENDING is 0: threads are stopped as ever");
    has(output, "# 0 of gc.h's were handed on", "no signal of gc.h's is taken for the host's");
    has(output, "# 0 of two that were sent, 0 are to come", "nor one that was sent before the first one's handler began");
    has(output, "# 2 of the host's", "and none of the host's for gc.h's");
    count_wanted = wanted;
}

/* Timers of stress. */

/* Of this process; -1: the system does not say. */
static int timer_count(void) {
    char line[200];
    int count = 0;
    FILE *file = fopen("/proc/self/timers", "r");
    if (!file) return -1;
    while (fgets(line, sizeof line, file)) count += strncmp(line, "ID:", 3) == 0;
    fclose(file);
    return count;
}

typedef struct sleeper {
    int timers;         /* while it was interruptible */
    int woken;          /* sleeps that were ended early after that */
    void (*stop)(void); /* being interruptible */
} sleeper;

static __thread gc_thread *sleeping;
static void stop_being(void) { gc_thread_set_interruptible(sleeping, false), gc_thread_detach(sleeping); }
static void detach(void) { gc_thread_detach(sleeping); }

static void *sleep_afterwards(void *context) {
    sleeper *self = (sleeper *)context;
    sleeping = gc_thread_attach(heap);
    gc_thread_set_interruptible(sleeping, true);
    self->timers = timer_count();
    self->stop();
    for (int i = 0; i < 20; i++) {
        struct timespec time = {0, 1000000};
        self->woken += nanosleep(&time, NULL) != 0;
    }
    return NULL;
}

static void timers(void) {
    static void (*const stops[])(void) = {stop_being, detach};
    for (int i = 0; i < 6; i++) {
        sleeper it = {0, 0, stops[i % 2]};
        pthread_t thread;
        int before = timer_count();
        gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
        pthread_create(&thread, NULL, sleep_afterwards, &it);
        pthread_join(thread, NULL);
        gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
        ok(before < 0 || it.timers == before + 1, "under stress an interruptible thread has a timer");
        is(timer_count(), before, "which is gone after %s", i % 2 ? "gc_thread_detach" : "gc_thread_set_interruptible");
        is(it.woken, 0, "and wakes nobody");
    }
}

int main(int count, char **arguments) {
    if (count > 1 && strncmp(arguments[1], "--count=", 8) == 0) count_wanted = strtoull(arguments[1] + 8, NULL, 10);
    gc_options stress = {.debug.stress = GC_STRESS_SAFEPOINT, .non_generational = true, .collection_end = count_moves},
               quarantine = {.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 1u << 30, .collection_end = note_stops},
               nested = {.collection_end = await_second}, none = {0}, patient = {.patience_ms = 60000},
               timed = {.debug.stress = GC_STRESS_SAFEPOINT, .non_generational = true, .collection_end = stop_stress};
    dispositions();
    limited_signals();
    handle(GC_CODE_SIGNAL, count_foreign);
    for (int i = 0; i < 2; i++) {
        plain = i != 0;
        run(every_instruction, stress);
    }
    run(left_alone, stress);
    run(random_instructions, quarantine);
    run(late, patient);
    run(two_heaps, nested);
    is(foreign, 0, "no signal of gc.h's own was handed on");
    run(stress_interrupts, timed);
    run(signals, none);
    run(timers, timed);
    return done();
}
