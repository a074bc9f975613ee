/* torture.c - collections at random times: a thread that does nothing but collect, and moves every object each time. At the
   end it says where the main thread was stopped. */
#define _POSIX_C_SOURCE 200809L
#include "method.h"
#include "runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static pthread_t torturer;
static atomic_bool has_begun, is_over;

/* Where the main thread was stopped. Written while the world is stopped. */
static struct {
    gc_thread *thread;
    uintptr_t last; /* what was known of it the last time */
    uint64_t interrupted, returned, called, still;
    uintptr_t places[4096]; /* instructions at which it was interrupted, by hash */
    int place_count;
} seen;

/* The pc, and all registers that hold no reference: if these are the same, the thread has not run meanwhile. */
static uintptr_t state_of(const gc_code_frame *record) {
    uintptr_t state = record->pc;
    for (int i = 0; i < GC_CODE_REGISTERS; i++) {
        bool known = record->known >> i & 1;
        if (known && !gc_heap_contains(runtime_heap, (void *)record->registers[i]))
            state = state * 31 + record->registers[i];
    }
    return state;
}

static void count_place(uintptr_t pc) {
    size_t i = pc % 4096;
    while (seen.places[i] && seen.places[i] != pc) i = (i + 1) % 4096;
    if (seen.places[i] || seen.place_count == 4000) return;
    seen.places[i] = pc;
    seen.place_count++;
}

void torture_observe(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    const gc_code_frame *record = seen.thread ? seen.thread->code : NULL;
    if (!record) return;
    uintptr_t state = state_of(record);
    if (state == seen.last) {
        seen.still++;
    } else if (record->kind == GC_FRAME_INTERRUPTED) {
        seen.interrupted++;
        count_place(record->pc);
    } else if (is_native_call((const void *)record->pc)) {
        seen.called++;
    } else {
        seen.returned++;
    }
    seen.last = state;
}

/* Lets the others run for a random time. */
static void let_run(uint64_t *seed) {
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    struct timespec pause = {0, (long)(*seed % 20000)};
    nanosleep(&pause, NULL);
}

static void *torture(void *unused) {
    uint64_t seed = 20110;
    (void)unused;
    gc_thread *thread = gc_thread_attach(runtime_heap);
    if (!thread) fprintf(stderr, "jit: --torture: %s\n", gc_last_message()), exit(1);
    gc_thread_set_name(thread, "torture");
    while (!atomic_load(&is_over)) {
        gc_collect(runtime_heap, GC_GENERATIONS - 1, GC_COLLECT_COMPACTING);
        GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
        atomic_store(&has_begun, true);
        let_run(&seed);
    }
    gc_thread_detach(thread);
    return NULL;
}

void torture_begin(gc_thread *thread) {
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    seen.thread = thread;
    if (pthread_create(&torturer, NULL, torture, NULL) != 0)
        fputs("jit: --torture: no thread can be made\n", stderr), exit(1);
    while (!atomic_load(&has_begun)) nanosleep(&(struct timespec){0, 100000}, NULL);
}

void torture_end(gc_thread *thread) {
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    atomic_store(&is_over, true);
    pthread_join(torturer, NULL);
    fprintf(
        stderr,
        "torture: main was interrupted %llu times, at %d instructions; stopped %llu times at a return, %llu times in "
        "native code; %llu times it had not moved\n",
        (unsigned long long)seen.interrupted, seen.place_count, (unsigned long long)seen.returned,
        (unsigned long long)seen.called, (unsigned long long)seen.still);
}
