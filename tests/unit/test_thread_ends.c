/* How native threads end: detached by destructors of the host's, within scopes of GC_ROOTS, in either mode. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

static char warnings[2048];
static void on_warning(void *host, const char *message) {
    (void)host;
    size_t length = strlen(warnings);
    snprintf(warnings + length, sizeof warnings - length, "%s\n", message);
}

static void in_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    warnings[0] = 0;
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    if (pthread_create(&thread, NULL, body, argument) != 0) abort();
    pthread_join(thread, NULL);
}

/* A runtime that detaches in a destructor of its own, whose key is newer than gc.h's; in its round number `late`. */
static pthread_key_t key;
static int late, round_now;
static bool detached;
static void detach_at_end(void *thread) {
    if (++round_now <= late) {
        pthread_setspecific(key, thread);
        return;
    }
    detached = true;
    gc_thread_detach(thread);
}

static void *attached(void *unused) {
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_name(me, "careful");
    pthread_setspecific(key, me);
    return unused;
}

/* Whether the world consists of the calling thread: then nothing has to be stopped, and no stop is counted. */
static bool is_alone(void) {
    uint64_t stops = stats().stops;
    full();
    return stats().stops == stops;
}

static void detached_by_destructor(void) {
    pthread_key_create(&key, detach_at_end);
    late = round_now = 0, detached = false;
    in_thread(attached, NULL);
    ok(detached && !warnings[0], "a destructor that runs after gc.h's may detach its thread");
    if (warnings[0]) diag("%s", warnings);
    ok(is_alone(), "which is waited for no more");
    late = 3, round_now = 0, detached = false;
    if (GC_DEBUG == 0) {
        in_thread(attached, NULL);
        ok(detached, "one that comes too late to detach it");
        has(warnings, "`careful` ended without gc_thread_detach", "finds it detached, and does no harm");
    }
    pthread_key_delete(key);
    full();
}

/* Ends within a scope. */
static void *leave_scope(void *preemptive) {
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_name(me, "careless");
    node *lost = gc_new(me, &node_type);
    GC_ROOTS(me, lost);
    if (preemptive) gc_thread_set_mode(me, GC_MODE_PREEMPTIVE);
    if (me) pthread_exit(NULL);
    return lost;
}

static void within_scopes(void) {
    int yes;
    in_thread(leave_scope, &yes);
    has(warnings, "the thread `careless` ended within a scope of GC_ROOTS in preemptive mode", "an end in preemptive mode");
    has(warnings, "-fexceptions", "is reported with the remedy");
    has(warnings, "`careless` ended without gc_thread_detach", "and detached");
    in_thread(leave_scope, NULL);
    ok(!strstr(warnings, "-fexceptions"), "the same in cooperative mode is safe");
    full();
    is(stats().live_bytes, 0, "its roots are dropped");
    ok(is_alone(), "and neither thread is waited for any more");
}

/* A thread that has ended so while another one collects, and whose stack its destructors use. The key is older than gc.h's. */
static int stage; /* atomic */
static void __attribute__((noinline, no_sanitize("address"))) overwrite(void *depth) {
    volatile char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0x41;
    if ((uintptr_t)depth) overwrite((void *)((uintptr_t)depth - 1));
    bytes[0] = 0x41;
}

static void overwriting(void *unused) {
    (void)unused;
    overwrite((void *)(uintptr_t)40);
    __atomic_store_n(&stage, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 2) sched_yield();
}

static void *leave_scope_late(void *preemptive) {
    pthread_setspecific(key, &stage);
    return leave_scope(preemptive);
}

static void walked(void *unused) {
    pthread_t thread;
    pthread_key_create(&key, overwriting);
    begin(NULL);
    pthread_create(&thread, NULL, leave_scope_late, &stage);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 1) sched_yield();
    for (int i = 0; i < 3; i++) full();
    (void)unused;
}

int main(void) {
#ifdef __GLIBC__ /* with musl the stack of a thread that ends stays as it is until its destructors have run */
    static char report[4096];
    /* First: the key must be older than gc.h's. */
    int status = tap_child(walked, NULL, report, sizeof report);
    is(status, 256 + SIGABRT, "a thread that ends in preemptive mode within a scope, and whose stack others use, is noticed");
    has(report, "of the thread `careless`, which is in preemptive mode, was overwritten", "by its frames");
    has(report, "-fexceptions", "with the remedy");
#else
    (void)walked;
#endif
    run(detached_by_destructor, (gc_options){.warning = on_warning});
    run(within_scopes, (gc_options){.warning = on_warning});
    return done();
}
