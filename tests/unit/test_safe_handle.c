/* SafeHandle: its state word against a model, native calls, many threads. */
#define _GNU_SOURCE
#include "finalizing.h"

#include <errno.h>
#include <sched.h>

enum { CLOSED = 1, DISPOSED = 2, ONE = 4, INVALID = -1, VALUES = 2048 };
static int released[VALUES]; /* atomic; by value */
static bool release_ok = true;
static gc_mode released_in = GC_MODE_PREEMPTIVE;
static gc_mode asked_in = GC_MODE_COOPERATIVE; /* whether it is invalid */

static bool count_release(intptr_t value) {
    gc_thread *self = heap ? gc_thread_current(heap) : NULL;
    if (self && gc_thread_mode(self) != GC_MODE_PREEMPTIVE)
        __atomic_store_n(&released_in, GC_MODE_COOPERATIVE, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&released[value == INVALID ? VALUES - 1 : value], 1, __ATOMIC_SEQ_CST);
    errno = 99;
    return release_ok;
}
static bool ask(intptr_t value) {
    gc_thread *self = heap ? gc_thread_current(heap) : NULL;
    if (self && gc_thread_mode(self) != GC_MODE_COOPERATIVE)
        __atomic_store_n(&asked_in, GC_MODE_PREEMPTIVE, __ATOMIC_SEQ_CST);
    return value == INVALID;
}
GC_SAFE_HANDLE_KIND(counted, count_release, ask);

static int releases(intptr_t value) { return __atomic_load_n(&released[value], __ATOMIC_SEQ_CST); }
static void forget_releases(void) { memset(released, 0, sizeof released); }

/* The model, from the facts: what an operation does to a state. */

typedef enum operation { ADD_REF, RELEASE, DISPOSE, FINALIZE, SET_INVALID, SET, OPERATIONS } operation;
static const char *const names[] = {"add_ref", "release", "dispose", "finalize", "set_invalid", "set"};

typedef struct outcome {
    gc_result result;
    uint32_t state;
    int releases;
    bool success, changed; /* *success of add_ref; the value, by set */
} outcome;

static outcome expected(operation op, uint32_t state, bool owned, bool valid) {
    outcome o = {GC_OK, state, 0, false, false};
    uint32_t count = state / ONE;
    bool closed = state & CLOSED, disposed = state & DISPOSED;
    bool dispose = op == DISPOSE || op == FINALIZE;
    switch (op) {
    case ADD_REF:
        if (closed)
            o.result = GC_ERROR_DISPOSED;
        else
            o.success = true, o.state = state + ONE;
        return o;
    case FINALIZE:
        if (!owned || closed || disposed) return o; /* suppressed */
        break;
    case RELEASE:
    case DISPOSE:
        break;
    case SET_INVALID:
        o.state = state | CLOSED;
        return o;
    case SET:
        if (closed)
            o.result = GC_ERROR_DISPOSED;
        else if (disposed || count != 1)
            o.result = GC_ERROR_MISUSE;
        else
            o.changed = true;
        return o;
    case OPERATIONS:
        break;
    }
    if (dispose && disposed) return o;
    if (count == 0) {
        o.result = op == FINALIZE ? GC_OK : GC_ERROR_DISPOSED; /* nobody hears what a finalizer says */
        return o;
    }
    o.releases = count == 1 && !closed && owned && valid;
    o.state = (state - ONE) | (count == 1 ? CLOSED : 0) | (dispose ? DISPOSED : 0);
    return o;
}

/* The same by gc.h. The handle of a finalizer is asked for its state by a long weak handle. */
static outcome actual(operation op, uint32_t state, bool owned, bool valid) {
    outcome o = {GC_OK, 0, 0, false, false};
    gc_safe_handle *h = counted_new(gc, valid ? 1 : INVALID, owned).safe;
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, h);
    h->state = state;
    forget_releases();
    switch (op) {
    case ADD_REF:
        o.result = gc_safe_handle_add_ref(h, &o.success);
        break;
    case RELEASE:
        o.result = gc_safe_handle_release(gc, h);
        break;
    case DISPOSE:
        o.result = gc_safe_handle_dispose(gc, h);
        break;
    case SET_INVALID:
        o.result = gc_safe_handle_set_invalid(gc, h);
        break;
    case SET:
        o.result = gc_safe_handle_set_value(h, 2);
        break;
    case FINALIZE:
        h = NULL, full();
        if (gc_finalizer_pending(heap) != (owned && !(state & (CLOSED | DISPOSED)))) o.result = GC_ERROR_MISUSE;
        gc_finalizer_run(gc, 10);
        h = gc_handle_get(weak);
        break;
    case OPERATIONS:
        break;
    }
    o.state = h ? h->state : state;
    o.changed = h && h->value == 2;
    for (int i = 0; i < VALUES; i++) o.releases += released[i];
    if (h) h->state = DISPOSED | CLOSED; /* its own finalizer is not needed */
    gc_handle_destroy(heap, weak);
    return o;
}

static void transitions(void) {
    for (operation op = ADD_REF; op < OPERATIONS; op++)
        for (int variant = 0; variant < 4; variant++) {
            bool owned = variant & 1, valid = variant & 2;
            int wrong = 0;
            for (uint32_t state = 0; state < 4 * ONE; state++) {
                outcome want = expected(op, state, owned, valid), got = actual(op, state, owned, valid);
                if (want.result == got.result && want.state == got.state && want.releases == got.releases &&
                    want.success == got.success && want.changed == got.changed)
                    continue;
                wrong++;
                diag("%s in state %#x: result %d for %d, state %#x for %#x, releases %d for %d", names[op], state,
                     got.result, want.result, got.state, want.state, got.releases, want.releases);
            }
            is(wrong, 0, "%s, %s, %s: as the model says in all states", names[op], owned ? "owned" : "not owned",
               valid ? "valid" : "invalid");
        }
}

/* Texts, as the host sees them. */

static void texts(void) {
    bool success = false;
    gc_safe_handle *h = counted_new(gc, 1, true).safe;
    is(gc_safe_handle_value(h), 1, "the value");
    ok(!gc_safe_handle_is_closed(h) && !gc_safe_handle_is_invalid(h), "open, valid");
    is(gc_safe_handle_dispose(gc, h), GC_OK, "disposed");
    ok(gc_safe_handle_is_closed(h), "closed");
    is(gc_safe_handle_add_ref(h, &success), GC_ERROR_DISPOSED, "no more users");
    has(gc_last_message(), "gc_safe_handle_add_ref: the safe handle (counted) has been closed", "says add_ref");
    is(gc_last_result(), GC_ERROR_DISPOSED, "as the last result too");
    gc_safe_handle_release(gc, h);
    has(gc_last_message(), "gc_safe_handle_release: the safe handle (counted) has been closed", "says release");
    gc_safe_handle_set_value(h, 5);
    has(gc_last_message(), "gc_safe_handle_set_value: the safe handle (counted) has been closed", "says set");
    h = counted_new(gc, INVALID, true).safe;
    ok(gc_safe_handle_is_invalid(h), "an invalid value");
    gc_safe_handle_release(gc, h), gc_safe_handle_dispose(gc, h);
    has(gc_last_message(), "gc_safe_handle_dispose: the safe handle (counted) has been closed", "says dispose");
    h = counted_new(gc, INVALID, true).safe;
    gc_safe_handle_add_ref(h, &success);
    is(gc_safe_handle_set_value(h, 5), GC_ERROR_MISUSE, "no new value while there are users");
    has(gc_last_message(), "gc_safe_handle_set_value: the safe handle (counted) has users already", "says set");
    h->state = UINT32_MAX - 3; /* as many users as there can be */
    success = false;
    is(gc_safe_handle_add_ref(h, &success), GC_ERROR_MISUSE, "too many users");
    ok(!success && h->state == UINT32_MAX - 3, "change nothing");
    h->state = CLOSED;
    is(gc_safe_handle_add_ref(NULL, &success), GC_ERROR_ARGUMENT, "NULL: add_ref");
    is(gc_safe_handle_release(gc, NULL), GC_ERROR_ARGUMENT, "NULL: release");
    is(gc_safe_handle_set_invalid(gc, NULL), GC_ERROR_ARGUMENT, "NULL: set_invalid");
    is(gc_safe_handle_set_value(NULL, 1), GC_ERROR_ARGUMENT, "NULL: set");
    has(gc_last_message(), "gc_safe_handle_set_value: the safe handle is NULL", "says set");
    is(gc_safe_handle_dispose(gc, NULL), GC_OK, "NULL: dispose does nothing");
    ok(gc_safe_handle_invalid_if_minus_one(-1) && !gc_safe_handle_invalid_if_minus_one(0) &&
           gc_safe_handle_invalid_if_zero(0) && !gc_safe_handle_invalid_if_zero(-1),
       "predicates");
    ok(gc_safe_handle_invalid_if_zero_or_minus_one(0) && gc_safe_handle_invalid_if_zero_or_minus_one(-1) &&
           !gc_safe_handle_invalid_if_zero_or_minus_one(1),
       "both");
}

/* errno, and releases that fail. */

static void spoil_errno(void *host, const char *message) {
    on_warning(host, message);
    errno = 77;
}

static void failing(void) {
    for (int fails = 0; fails < 2; fails++) {
        forget_warnings();
        release_ok = !fails;
        counted h = counted_new(gc, 3, true);
        errno = 5;
        is(gc_safe_handle_dispose(gc, h.safe), GC_OK, "the result of release is ignored, %d", fails);
        is(errno, 5, "errno is what it was, %d", fails);
        is(warning_count, fails, "a failure is a warning");
    }
    has(warnings, "the release of a counted (value 3) failed", "which says what failed");
    release_ok = true;
}

/* Native calls. */

static void calls(void) {
    forget_releases();
    counted h = counted_new(gc, 4, true);
    GC_ROOTS(gc, h);
    gc_frame *frames = gc->frames;
    int ran = 0;
    GC_NATIVE_CALL(gc, NULL, fd) ran += (int)fd;
    is(gc_last_result(), GC_ERROR_ARGUMENT, "NULL: an argument error");
    GC_NATIVE_CALL(gc, h.safe, fd) {
        ran += fd == 4 && gc_thread_mode(gc) == GC_MODE_PREEMPTIVE && h.safe->state == 2 * ONE;
        errno = 42;
    }
    is(ran, 1, "the block runs in preemptive mode, with the value, as one more user");
    is(errno, 42, "errno is what it left");
    ok(gc_thread_mode(gc) == GC_MODE_COOPERATIVE && h.safe->state == ONE, "and then it is as before");
    for (int i = 0; i < 3; i++) {
        GC_NATIVE_CALL(gc, h.safe, fd) {
            if (fd) continue;
            ran = 100;
        }
        GC_NATIVE_CALL(gc, h.safe, fd) {
            if (fd) break;
            ran = 100;
        }
        ran++;
    }
    is(ran, 4, "break and continue leave the block");
    is(h.safe->state, ONE, "properly");
    GC_NATIVE_CALL(gc, h.safe, fd)
    if (fd) goto out;
    ran = 100;
out:
    is(ran, 4, "goto leaves it");
    is(h.safe->state, ONE, "properly");
    gc_safe_handle_dispose(gc, h.safe);
    GC_NATIVE_CALL(gc, h.safe, fd) ran = (int)fd + 200;
    is(ran, 4, "a closed handle: the block is skipped");
    is(gc_last_result(), GC_ERROR_DISPOSED, "with the result");
    ok(gc_thread_mode(gc) == GC_MODE_COOPERATIVE && gc->frames == frames, "and nothing else changed");
}

static int returning(counted h) {
    GC_NATIVE_CALL(gc, h.safe, fd) return (int)fd + 1;
    return 0;
}

static void returns(void) {
    counted h = counted_new(gc, 5, true);
    gc_frame *frames = gc->frames;
    is(returning(h), 6, "return leaves the block");
    ok(h.safe->state == ONE && gc_thread_mode(gc) == GC_MODE_COOPERATIVE && gc->frames == frames, "properly");
    is(returning((counted){NULL}), 0, "NULL");
}

/* Evaluated once. */
static int evaluated;
static gc_safe_handle *evaluate(counted h) {
    evaluated++;
    return h.safe;
}

static void nested(void) {
    forget_releases();
    counted a = counted_new(gc, 6, true), b = {NULL};
    GC_ROOTS(gc, a, b);
    b = counted_new(gc, 7, true);
    intptr_t sum = 0;
    asked_in = GC_MODE_COOPERATIVE;
    GC_NATIVE_CALL(gc, evaluate(a), x) {
        GC_NATIVE_CALL(gc, evaluate(b), y) {
            sum = x + y;
            GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
            compact();
            gc_safe_handle_dispose(gc, a.safe), gc_safe_handle_dispose(gc, b.safe);
            compact();
            is(releases(6) + releases(7), 0, "disposed during the call, and not closed");
        }
        is(gc_thread_mode(gc), GC_MODE_PREEMPTIVE, "back in the outer call");
        is(releases(7), 1, "the inner one's handle is closed");
        is(releases(6), 0, "the outer one's is not");
        GC_NATIVE_CALL(gc, b.safe, y) sum = y;
        is(gc_last_result(), GC_ERROR_DISPOSED, "the inner one is refused now");
        is(gc_thread_mode(gc), GC_MODE_PREEMPTIVE, "in the mode");
    }
    is(releases(6), 1, "now it is");
    is(sum, 13, "nested calls");
    is(evaluated, 2, "which ask for each handle once");
    is(asked_in, GC_MODE_COOPERATIVE, "look at them in cooperative mode only");
}

/* During the call nothing but the call refers to the handle, and it moves. */
static void held_by_the_call(void) {
    forget_releases();
    bool lived = false, moved = false;
    gc_safe_handle *before = counted_new(gc, 8, true).safe;
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, before);
    GC_NATIVE_CALL(gc, before, fd) {
        GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
        for (int i = 0; i < 3; i++) {
            compact(), gc_finalizer_run(gc, 10);
            moved = moved || gc_handle_get(weak) != before;
        }
        const gc_safe_handle *now = gc_handle_get(weak);
        lived = now && now->value == fd && releases(8) == 0;
    }
    ok(lived && moved, "the call keeps its handle, which moves");
    const gc_safe_handle *after = gc_handle_get(weak);
    is(after ? after->state : 0, ONE, "and is one of its users no more after it");
    full(), gc_finalizer_run(gc, 10);
    is(releases(8), 1, "then it is closed");
    node *owner = new_node(11);
    gc_handle_set(weak, owner);
    lived = false;
    GC_NATIVE_CALL_REF(gc, ((gc_native_ref){owner, 9}), raw) {
        owner = NULL;
        GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
        for (int i = 0; i < 4; i++) compact();
        const node *now = gc_handle_get(weak);
        lived = raw == 9 && now && now->value == 11;
    }
    ok(lived, "GC_NATIVE_CALL_REF keeps the object beside the raw handle");
    full();
    ok(!gc_handle_get(weak), "as long as it lasts");
    intptr_t seen = 0;
    GC_NATIVE_CALL_REF(gc, ((gc_native_ref){NULL, 9}), raw) seen = raw;
    is(seen, 9, "it may be NULL");
}

/* Another thread disposes during a call. */
static gc_handle shared;
static void *disposing(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    await_stage(me, 1);
    gc_safe_handle_dispose(me, gc_handle_get(shared));
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    gc_thread_detach(me);
    enter_stage(2);
    return unused;
}

static void disposed_elsewhere(void) {
    pthread_t thread;
    int during = -1;
    forget_releases();
    enter_stage(0);
    shared = gc_handle_create(heap, GC_HANDLE_STRONG, counted_new(gc, 10, true).safe);
    pthread_create(&thread, NULL, disposing, NULL);
    GC_NATIVE_CALL(gc, (gc_safe_handle *)gc_handle_get(shared), fd) {
        enter_stage(1);
        while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) < 2) sleep_us(100);
        during = releases(fd);
    }
    is(during, 0, "disposed by another thread during a call, it is not closed");
    is(releases(10), 1, "but after it");
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

/* Four threads do anything to shared handles, while collections run and finalizers too. */
enum { THREADS = 4, SHARED = 24, STEPS = 10000 };
static gc_handle table[SHARED];
static int next_value, used_closed, invalidated[VALUES]; /* atomic */

static gc_safe_handle *renewed(gc_thread *me) {
    int value = __atomic_fetch_add(&next_value, 1, __ATOMIC_SEQ_CST);
    return value < VALUES - 1 ? counted_new(me, value, true).safe : NULL;
}

static void use(gc_thread *me, gc_safe_handle *h) {
    bool success = false;
    GC_ROOTS(me, h);
    if (gc_safe_handle_add_ref(h, &success) != GC_OK) return;
    intptr_t value = gc_safe_handle_value(h);
    gc_safepoint(me);
    __atomic_fetch_add(&used_closed, releases(value), __ATOMIC_SEQ_CST);
    gc_safe_handle_release(me, h);
}

static void call(gc_thread *me, gc_safe_handle *h) {
    GC_NATIVE_CALL(me, h, value) {
        sched_yield();
        __atomic_fetch_add(&used_closed, releases(value), __ATOMIC_SEQ_CST);
    }
}

static void *doing(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    uint64_t x = 88172645463325252 * (uint64_t)(uintptr_t)argument;
    for (int i = 0; i < STEPS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        gc_handle place = table[x % SHARED];
        gc_safe_handle *h = gc_handle_get(place);
        unsigned what = x >> 20 & 127;
        if (what == 0 && h) {
            __atomic_store_n(&invalidated[h->value], 1, __ATOMIC_SEQ_CST);
            gc_safe_handle_set_invalid(me, h);
        } else if (what < 3) {
            gc_safe_handle_dispose(me, h);
        } else if (what < 8) {
            h = renewed(me); /* the former one is found dead */
            if (h) gc_handle_set(place, h);
        } else if (what < 9) {
            gc_collect(heap, (int)(x >> 30 & 1) + (int)(x >> 31 & 1), x >> 33 & 1 ? GC_COLLECT_COMPACTING : 0);
        } else if (h && what < 60) {
            use(me, h);
        } else if (h) {
            call(me, h);
        }
    }
    gc_thread_detach(me);
    return NULL;
}

/* As many changes of one state word as four threads can make. */
static void *counting(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    for (int i = 0; i < 50000; i++) {
        bool success = false;
        gc_safe_handle *h = gc_handle_get(shared);
        gc_safe_handle_add_ref(h, &success);
        gc_safepoint(me);
        gc_safe_handle_release(me, gc_handle_get(shared));
    }
    gc_thread_detach(me);
    return unused;
}

static void counted_by_many(void) {
    pthread_t threads[THREADS];
    forget_releases();
    shared = gc_handle_create(heap, GC_HANDLE_STRONG, counted_new(gc, 12, true).safe);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, counting, NULL);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    const gc_safe_handle *h = gc_handle_get(shared);
    is(h->state, ONE, "the users of four threads come and go: one is left");
    is(releases(12), 0, "and it is open");
}

static void anything_at_once(void) {
    pthread_t threads[THREADS];
    forget_releases();
    next_value = used_closed = 0;
    memset(invalidated, 0, sizeof invalidated);
    is(gc_finalizer_thread_start(heap), GC_OK, "a finalizer thread");
    for (int i = 0; i < SHARED; i++) {
        table[i] = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
        gc_handle_set(table[i], renewed(gc));
    }
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, doing, (void *)(i + 1));
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < SHARED; i++) gc_handle_destroy(heap, table[i]);
    full();
    ok(gc_finalizer_wait(gc, 60000), "all handles are gone");
    int made = next_value < VALUES - 1 ? next_value : VALUES - 1, never = 0, twice = 0, after = 0;
    for (int i = 0; i < made; i++) {
        never += released[i] == 0 && !invalidated[i];
        twice += released[i] > 1;
        after += released[i] == 1 && invalidated[i];
    }
    ok(made > SHARED, "%d handles, of which %d were closed before they were set invalid", made, after);
    is(never, 0, "each is released, unless it was set invalid");
    is(twice, 0, "once");
    is(used_closed, 0, "and not while it is used");
}

int main(void) {
    run(transitions, (gc_options){0});
    run(texts, (gc_options){0});
    run(failing, (gc_options){.warning = spoil_errno});
    run(calls, (gc_options){0});
    run(returns, (gc_options){0});
    run(nested, (gc_options){0});
    run(held_by_the_call, (gc_options){0});
    run(held_by_the_call, (gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    run(disposed_elsewhere, (gc_options){0});
    begin(&(gc_options){.nursery_bytes = 64 << 10}), anything_at_once(), end();
    run(counted_by_many, (gc_options){0});
    is(released_in, GC_MODE_PREEMPTIVE, "all releases were in preemptive mode");
    return done();
}
