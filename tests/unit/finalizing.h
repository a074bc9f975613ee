/* What the tests of finalizers share: finalizers that note what they ran for, and threads that meet. */
#pragma once

#include "../fixture.h"

#include <pthread.h>
#include <time.h>

enum { NOTES = 256 };
static uint64_t notes[NOTES]; /* the values of the objects, in the order in which their finalizers ran */
static int note_count;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER; /* of both */

static inline void note_value(uint64_t value) {
    pthread_mutex_lock(&notes_lock);
    if (note_count < NOTES) notes[note_count] = value;
    note_count++;
    pthread_mutex_unlock(&notes_lock);
}
static inline int noted(void) {
    pthread_mutex_lock(&notes_lock);
    int count = note_count;
    pthread_mutex_unlock(&notes_lock);
    return count;
}
static inline void forget_notes(void) {
    pthread_mutex_lock(&notes_lock);
    note_count = 0;
    pthread_mutex_unlock(&notes_lock);
}

/* The place of a value among the notes; -1: it is not there. */
static inline int noted_at(uint64_t value) {
    for (int i = 0; i < noted() && i < NOTES; i++)
        if (notes[i] == value) return i;
    return -1;
}

static inline void note(gc_thread *thread, void *object) {
    (void)thread;
    note_value(((const node *)object)->value);
}

static const gc_finalizer plain = {note, false, NULL}, critical __attribute__((unused)) = {note, true, NULL};
static const gc_type final_type = GC_TYPE_FINALIZED(node, plain, left, right);

static inline node *new_final(uint64_t value) {
    node *object = gc_new(gc, &final_type);
    if (object) object->value = value;
    return object;
}

static inline node *new_with(uint64_t value, const gc_finalizer *finalizer) {
    node *object = new_node(value);
    if (object && gc_finalizer_register(gc, object, finalizer) != GC_OK) return NULL;
    return object;
}

static inline void sleep_us(long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static inline uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Threads meet at stages, in preemptive mode. */
static int stage; /* atomic */
static inline void enter_stage(int which) { __atomic_store_n(&stage, which, __ATOMIC_SEQ_CST); }
static inline void await_stage(gc_thread *thread, int which) {
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) < which) sleep_us(100);
}

/* A finalizer that enters stage 1 and waits for stage 2. */
static inline void note_slowly(gc_thread *thread, void *object) {
    uint64_t value = ((const node *)object)->value;
    enter_stage(1);
    await_stage(thread, 2);
    note_value(value);
}
static const gc_finalizer slow __attribute__((unused)) = {note_slowly, false, NULL};

/* Warnings of the heap. */
static char warnings[4096];
static int warning_count;
static inline void on_warning(void *host, const char *message) {
    (void)host;
    warning_count++;
    snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n", message);
}
static inline void forget_warnings(void) { warning_count = 0, warnings[0] = 0; }

/* Registers a finalizer in place of the one that the object has, if any. */
static inline gc_result replace_finalizer(gc_thread *thread, void *object, const gc_finalizer *finalizer) {
    gc_finalizer_suppress(thread, object);
    return gc_finalizer_register(thread, object, finalizer);
}
