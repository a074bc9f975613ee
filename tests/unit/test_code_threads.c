/* Several threads make, add, look up, run and remove compiled code at once, beside collections that move every object. Each
   thread runs the code of all, and compiled frames of several methods lie on one stack. With --seed=N --rounds=N. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"

#include <pthread.h>
#include <time.h>

enum { WORKERS = 4, OWN = 4, PLACES = WORKERS * OWN, DEPTH = 5 };

/* A place for a method that all threads may run. Guarded by places_lock; no thread waits while it holds that. */
typedef struct place {
    method *m; /* NULL: none, or it is about to be removed */
    uint64_t constant;
    unsigned users; /* threads that run it, or look for it */
} place;

static place places[PLACES];
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER, methods_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct worker {
    pthread_t id;
    unsigned number;
    gc_thread *thread;
    uint64_t random;
    uint64_t expected; /* what the methods that it has called are to add up to */
    long calls, faults;
} worker;

static worker workers[WORKERS];
static __thread worker *self;
static uint64_t seed = 1;
static long rounds = 150;

static uint64_t random_below(uint64_t limit) {
    uint64_t *x = &self->random;
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (*x * 0x2545F4914F6CDD1Du >> 8) % limit;
}

static place *any_place(void) { return &places[random_below(PLACES)]; }
static void check(bool condition) { self->faults += !condition; }

/* uintptr_t f(node *n, uint64_t depth): twice the value of n, read after all calls, plus a constant, plus what nested(depth)
   returns. It keeps n in a register and on the stack. */
static uint64_t nested(gc_thread *thread, uint64_t depth);

static void loop_interruptibly(method *m, unsigned in_register, unsigned on_stack) {
    range_begin(m), change(m, in_register, true), change(m, on_stack, true);
    number(m, RDX, 100);
    uint32_t loop = m->at;
    load(m, RCX, RBX, (int32_t)offsetof(node, value)), store(m, RBX, (int32_t)offsetof(node, value), RCX);
    add_number(m, RDX, -1), clear(m, R9), compare(m, RDX, R9), jump_back(m, IF_NOT_ZERO, loop);
    change(m, in_register, false), change(m, on_stack, false), range_end(m);
}

static method *make(uint64_t constant) {
    uint64_t shape = random_below(4), room = 16 + 8 * random_below(20);
    pthread_mutex_lock(&methods_lock);
    method *m = method_begin("made");
    pthread_mutex_unlock(&methods_lock);
    unsigned in_register = slot(m, GC_PLACE_REGISTER, RBX, 0), on_stack = slot(m, GC_PLACE_SP, 8, 0);
    if (shape & 1) enter(m);
    save(m, RBX), save(m, R12), save(m, R13), allocate(m, (int32_t)room), prolog_end(m);
    for (uint64_t i = random_below(300); i > 0; i--) nop(m);
    move(m, RBX, RDI), store(m, RSP, 8, RDI), move(m, RDI, R15);
    call_native(m, nested, BIT(in_register) | BIT(on_stack));
    move(m, R13, RAX);
    if (shape & 2) loop_interruptibly(m, in_register, on_stack);
    load(m, RCX, RBX, (int32_t)offsetof(node, value)), add(m, R13, RCX);
    load(m, RDX, RSP, 8), load(m, RCX, RDX, (int32_t)offsetof(node, value)), add(m, R13, RCX);
    number(m, RAX, constant), add(m, RAX, R13);
    allocate(m, -(int32_t)room), restore(m, R13), restore(m, R12), restore(m, RBX);
    if (shape & 1) restore(m, RBP);
    ret(m);
    return method_end(m);
}

/* What is at the place, which stays until that is left; its m is NULL if there is none. */
static place use(place *at) {
    pthread_mutex_lock(&places_lock);
    place it = *at;
    at->users += it.m != NULL;
    pthread_mutex_unlock(&places_lock);
    return it;
}

static void leave_place(place *it) {
    pthread_mutex_lock(&places_lock);
    it->users--;
    pthread_mutex_unlock(&places_lock);
}

/* Each address of a method that is used is found, and the one behind it is not its own. */
static void look_up(const method *m) {
    const char *start = (const char *)m->code.start;
    check(gc_code_find(start) == &m->code && gc_code_find(start + m->code.bytes - 1) == &m->code);
    check(gc_code_find(start + random_below(m->code.bytes)) == &m->code);
    check(gc_code_find(start + m->code.bytes) == NULL); /* of the memory that the method has to itself */
}

static uint64_t run_method(gc_thread *thread, const place *it, uint64_t depth) {
    uint64_t value = random_below(1000);
    node *n = (node *)gc_new(thread, &node_type);
    n->value = value;
    self->expected += 2 * value + it->constant;
    self->calls++;
    uintptr_t arguments[2] = {(uintptr_t)n, depth};
    return gc_code_call(thread, it->m->start, arguments, 2);
}

static uint64_t run_at(place *at, gc_thread *thread, uint64_t depth) {
    const place it = use(at);
    if (!it.m) return 0;
    look_up(it.m);
    uint64_t result = run_method(thread, &it, depth);
    leave_place(at);
    return result;
}

static uint64_t nested(gc_thread *thread, uint64_t depth) {
    uint64_t result = 0;
    node *own = NULL;
    GC_ROOTS(thread, own);
    own = (node *)gc_new(thread, &node_type);
    own->value = depth;
    if (depth) result = run_at(any_place(), thread, depth - 1);
    if (random_below(16) == 0) gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    check(own->value == depth);
    return result;
}

/* Puts a new method into one of the worker's own places, which is empty. */
static void publish(place *it) {
    uint64_t constant = random_below((uint64_t)1 << 40);
    method *m = make(constant);
    look_up(m);
    pthread_mutex_lock(&places_lock);
    it->m = m, it->constant = constant;
    pthread_mutex_unlock(&places_lock);
}

static bool is_used(const place *it) {
    pthread_mutex_lock(&places_lock);
    bool used = it->users != 0;
    pthread_mutex_unlock(&places_lock);
    return used;
}

/* Takes out the method that is there, if any. */
static void withdraw(place *it) {
    pthread_mutex_lock(&places_lock);
    method *m = it->m;
    it->m = NULL;
    pthread_mutex_unlock(&places_lock);
    if (!m) return;
    gc_thread_set_mode(self->thread, GC_MODE_PREEMPTIVE);
    while (is_used(it)) sched_yield();
    gc_thread_set_mode(self->thread, GC_MODE_COOPERATIVE);
    look_up(m);
    check(gc_code_remove(&m->code) == GC_OK);
    check(!gc_code_find(m->start) && !gc_code_find(m->start + m->code.bytes - 1));
    pthread_mutex_lock(&methods_lock);
    method_discard(m);
    pthread_mutex_unlock(&methods_lock);
}

static void run_and_check(place *at) {
    self->expected = 0;
    uint64_t result = run_at(at, self->thread, random_below(DEPTH));
    check(result == self->expected);
}

static long collections, left; /* atomic; and workers that have not ended */

static void await_collection(void) {
    gc_thread_set_mode(self->thread, GC_MODE_PREEMPTIVE);
    long before = __atomic_load_n(&collections, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&collections, __ATOMIC_SEQ_CST) == before) sched_yield();
    gc_thread_set_mode(self->thread, GC_MODE_COOPERATIVE);
}

static void *work(void *context) {
    self = (worker *)context;
    self->random = (seed + self->number) * 0x9E3779B97F4A7C15u | 1;
    self->thread = gc_thread_attach(heap);
    /* ThreadSanitizer defers signals, so that nobody would ever be interrupted. */
    if (self->number % 2 && !GC__THREAD_SANITIZER) check(gc_thread_set_interruptible(self->thread, true) == GC_OK);
    for (long i = 0; i < rounds; i++) {
        place *own = &places[self->number * OWN + random_below(OWN)];
        withdraw(own), publish(own), run_and_check(own);
        for (int k = 0; k < 4; k++) run_and_check(any_place());
        if (i % 4 == 0) await_collection();
    }
    for (unsigned i = 0; i < OWN; i++) withdraw(&places[self->number * OWN + i]);
    gc_thread_detach(self->thread);
    __atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Collects all the time, until none of the workers is left. It sleeps in between: the workers got hardly a step further from
   one collection to the next where it only yielded. */
static void together(void) {
    const struct timespec between = {0, 100000};
    left = WORKERS;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].id, NULL, work, &workers[i])) abort();
    }
    while (__atomic_load_n(&left, __ATOMIC_SEQ_CST)) {
        compact();
        __atomic_fetch_add(&collections, 1, __ATOMIC_SEQ_CST);
        gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
        nanosleep(&between, NULL);
        gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    }
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    for (unsigned i = 0; i < WORKERS; i++) pthread_join(workers[i].id, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    long calls = 0;
    for (unsigned i = 0; i < WORKERS; i++) {
        is(workers[i].faults, 0, "thread %u: methods are found while they are there, and compute what they should", i);
        calls += workers[i].calls;
    }
    diag("seed %llu: %ld methods were added and removed, and called %ld times, beside %ld collections",
         (unsigned long long)seed, WORKERS * rounds, calls, collections);
    ok(calls >= WORKERS * rounds && collections >= rounds / 4, "all were added, run and removed");
    is(gc_code_count(), 0, "and none is left");
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        if (!strncmp(arguments[i], "--seed=", 7)) seed = strtoull(arguments[i] + 7, NULL, 10);
        if (!strncmp(arguments[i], "--rounds=", 9)) rounds = strtol(arguments[i] + 9, NULL, 10);
    }
    run(together, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 1u << 30});
    return done();
}
