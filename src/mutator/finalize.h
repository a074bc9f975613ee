/* Running finalizers: on the host's threads, on the heap's own thread, and when the heap is destroyed. */
#pragma once

#include "../collection/collection.h"
#include "attach.h"

#define GC__TEARDOWN_ROUNDS 16 /* rounds at the end of a heap, for finalizers that register others while they run */

/* Takes the next pair; a critical one only if no normal one is queued or running. The lock of the finalizers is
   held. */
GC__FN const gc_finalizer *gc__due_take(gc__finalizers *all, uintptr_t *object) {
    gc__due *due = &all->due[GC__NORMAL];
    while (!gc__due_count(due) && gc__is_deciding(all)) gc__finalizers_decide(all, GC__FIFO);
    if (!gc__due_count(due)) {
        due = &all->due[GC__CRITICAL];
        for (const gc__finalizing *record = all->running; record; record = record->next)
            if (!record->critical) return NULL;
    }
    if (!gc__due_count(due)) return NULL;
    const uintptr_t *pair = &due->pairs.words[due->head];
    gc__due_shade(due, due->head);
    due->head += 2;
    *object = pair[0];
    return (const gc_finalizer *)pair[1];
}

GC__FN void gc__finalizing_end(gc__finalizers *all, const gc__finalizing *record) {
    gc__lock_take(&all->lock);
    bool critical = record->critical;
    gc__finalizing **link = &all->running;
    while (*link && *link != record) link = &(*link)->next;
    if (*link) gc__finalizing_remove(all, link);
    bool left = !critical || !gc__due_count(&all->due[GC__CRITICAL]);
    left = left && !all->running && !gc__due_count(&all->due[GC__NORMAL]);
    left |= all->ending;
    gc__lock_release(&all->lock);
    /* Waking threads costs more than most finalizers, and threads wait only for the last finalizer, or the last
       normal one. */
    if (left) gc__finalizers_notify(all);
}

GC__FN const gc_finalizer *gc__finalizing_begin(gc__finalizing *record, gc__finalizers *all, uintptr_t *object) {
    const gc_finalizer *finalizer = gc__due_take(all, object);
    if (!finalizer) return NULL;
    record->type = gc__object_name(*object);
    record->started_ns = gc__os_now_ns();
    record->critical = finalizer->critical;
    record->finalizer = finalizer;
    record->reported = false;
    return finalizer;
}

/* The scope in which a finalizer runs. It is left when the finalizer returns, or by an exception. */
typedef struct gc__finalizing_scope {
    gc__finalizers *all;
    gc__finalizing *record;
} gc__finalizing_scope;

GC__FN void gc__finalizing_leave(gc__finalizing_scope *scope) {
    if (scope->record) gc__finalizing_end(scope->all, scope->record);
}

/* Runs a finalizer, if one is due. `frame` is the frame of the public function that calls this one. */
GC__HOT bool gc__finalizer_run(gc_thread *thread, const void *frame) {
    gc__finalizers *all = thread->heap->finalizers;
    gc__finalizing_scope scope __attribute__((cleanup(gc__finalizing_leave))) = {all, NULL};
    const gc_finalizer *finalizer = NULL;
    uintptr_t object = 0;
    gc__lock_take(&all->lock);
    gc__finalizing_drop(all, thread, frame);
    gc__finalizing *record = gc__is_abandoned(thread->heap) ? NULL : gc__finalizing_new(all);
    if (record) {
        finalizer = gc__finalizing_begin(record, all, &object);
        record->thread = thread;
        record->stack = thread->stack;
        record->frame = (const char *)frame;
        record->next = all->running;
        all->running = record;
        gc__record(thread)->finalizing++;
        if (!finalizer) gc__finalizing_remove(all, &all->running);
    }
    gc__lock_release(&all->lock);
    if (!finalizer) return false;
    scope.record = record;
    if (gc__is_suppressed(object, (uintptr_t)finalizer)) return true;
    const gc__profiler *profiler = gc__profiler_of(thread->heap);
    const char *type = record->type;
    uint64_t started_ns = record->started_ns;
    finalizer->finalize(thread, (void *)object);
    if (profiler) profiler->finalized(thread, type, started_ns);
    return true;
}

/* Returns the finalizer that the thread runs, or NULL. If `frame` is not NULL, it is the frame of the public function in
   which the thread asks. */
GC__COLD const gc_finalizer *gc__finalizer_of(gc__finalizers *all, const gc_thread *thread, const void *frame) {
    gc__lock_take(&all->lock);
    if (frame) gc__finalizing_drop(all, thread, frame);
    const gc__finalizing *record = all->running;
    while (record && record->thread != thread) record = record->next;
    const gc_finalizer *running = record ? record->finalizer : NULL;
    gc__lock_release(&all->lock);
    return running;
}

GC_API const gc_finalizer *gc_finalizer_running(gc_thread *thread) {
    if (gc__is_null(thread, "gc_finalizer_running", "thread") || !thread->heap) return NULL;
    return gc__finalizer_of(thread->heap->finalizers, thread, NULL);
}

GC_API size_t gc_finalizer_run(gc_thread *thread, size_t most) {
    if (gc__is_null(thread, "gc_finalizer_run", "thread")) return 0;
    if (gc__collect_is_misuse(thread->heap, "gc_finalizer_run")) return 0;
    size_t count = 0;
    while (count < most && gc__finalizer_run(thread, (const void *)GC__FRAME_TOP())) count++;
    return count;
}

GC_API size_t gc_finalizer_pending(gc_heap *heap) {
    if (gc__is_null(heap, "gc_finalizer_pending", "heap")) return 0;
    gc__finalizers *all = heap->finalizers;
    const gc_thread *self = gc__thread_self(heap);
    gc__lock_take(&all->lock);
    if (self) gc__finalizing_drop(all, self, (const void *)GC__FRAME_TOP());
    gc__finalizers_decide(all, SIZE_MAX);
    size_t count = gc__due_total(all);
    for (const gc__finalizing *record = all->running; record; record = record->next) count++;
    gc__lock_release(&all->lock);
    return count;
}

/* Waits, in preemptive mode in all heaps of the thread, until `event` has changed or until `deadline_ns`. Then reports
   finalizers that run for too long. */
GC__COLD void gc__finalizers_await(gc_heap *heap, uint32_t event, uint64_t deadline_ns) {
    uint64_t now = gc__os_now_ns(), patience = heap->options.patience_ms * GC__NS_PER_MS;
    uint64_t wait = gc__ns_since(deadline_ns, now);
    gc__save_registers(gc__my_registers);
    gc__park_with_host(heap);
    gc__os_wait_for(&heap->finalizers->event, event, wait < patience ? wait : patience);
    gc__unpark_all();
    gc__finalizers_watch(heap);
}

GC__FN uint64_t gc__deadline(uint64_t timeout_ms) {
    uint64_t now = gc__os_now_ns();
    return timeout_ms < (UINT64_MAX - now) / GC__NS_PER_MS ? now + timeout_ms * GC__NS_PER_MS : UINT64_MAX;
}

GC_API bool gc_finalizer_wait(gc_thread *thread, uint64_t timeout_ms) {
    if (gc__is_null(thread, "gc_finalizer_wait", "thread")) return false;
    gc_heap *heap = thread->heap;
    if (gc__collect_is_misuse(heap, "gc_finalizer_wait")) return false;
    gc__finalizers *all = heap->finalizers;
    uint64_t deadline = gc__deadline(timeout_ms);
    if (gc__finalizer_of(all, thread, (const void *)GC__FRAME_TOP())) return false;
    for (;;) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        if (!gc_finalizer_pending(heap)) return true;
        if (gc__os_now_ns() >= deadline) return false;
        bool others = __atomic_load_n(&all->state, __ATOMIC_SEQ_CST) != GC__FINALIZERS_NONE;
        if (others || !gc__finalizer_run(thread, (const void *)GC__FRAME_TOP()))
            gc__finalizers_await(heap, event, deadline);
    }
}

/* Runs finalizers on the heap's own thread. */

GC__COLD void gc__finalizer_thread(void *context) {
    gc_heap *heap = (gc_heap *)context;
    gc__finalizers *all = heap->finalizers;
    gc_thread *thread = gc_thread_attach(heap);
    if (thread) gc_thread_set_name(thread, "finalizers");
    __atomic_store_n(&all->state, (uint32_t)(thread ? GC__FINALIZERS_RUN : GC__FINALIZERS_ENDED), __ATOMIC_SEQ_CST);
    gc__finalizers_notify(all);
    while (thread) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&all->state, __ATOMIC_SEQ_CST) == GC__FINALIZERS_STOP) break;
        if (!gc__finalizer_run(thread, (const void *)GC__FRAME_TOP())) gc__finalizers_await(heap, event, UINT64_MAX);
    }
    if (!thread) return;
    gc_thread_detach(thread);
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_ENDED, __ATOMIC_SEQ_CST);
    gc__finalizers_notify(all);
}

/* Waits while the thread's state is `state`. */
GC__COLD bool gc__finalizer_thread_await(gc_heap *heap, uint32_t state, uint64_t deadline_ns) {
    gc__finalizers *all = heap->finalizers;
    for (;;) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&all->state, __ATOMIC_SEQ_CST) != state) return true;
        if (gc__os_now_ns() >= deadline_ns) return false;
        gc__finalizers_await(heap, event, deadline_ns);
    }
}

GC_API gc_result gc_finalizer_thread_start(gc_heap *heap) {
    if (gc__is_null(heap, "gc_finalizer_thread_start", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__is_called_by_hook(heap, "gc_finalizer_thread_start")) return GC_ERROR_MISUSE;
    gc__finalizers *all = heap->finalizers;
    uint32_t none = GC__FINALIZERS_NONE;
    if (heap->options.suspend)
        return gc__fail(GC_ERROR_OPTION, "gc_finalizer_thread_start: options.suspend is set, and does not know gc.h's "
                                         "threads: have one of the host's call gc_finalizer_run");
    if (!__atomic_compare_exchange_n(&all->state, &none, (uint32_t)GC__FINALIZERS_START, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return gc__fail(GC_ERROR_MISUSE, "gc_finalizer_thread_start: the heap has such a thread already");
    bool started = gc__os_thread_start(&all->thread, gc__finalizer_thread, heap);
    if (started) gc__finalizer_thread_await(heap, GC__FINALIZERS_START, UINT64_MAX);
    if (started && __atomic_load_n(&all->state, __ATOMIC_SEQ_CST) == GC__FINALIZERS_RUN) return GC_OK;
    if (started) gc__os_thread_join(&all->thread);
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_NONE, __ATOMIC_SEQ_CST);
    return gc__fail(GC_ERROR_MEMORY, "gc_finalizer_thread_start: the system gives no thread");
}

/* The functions below end the heap. */

/* Stops the finalizer thread. Returns false if a finalizer does not return, so that the heap's memory must not be
   freed. */
GC__COLD bool gc__finalizer_thread_stop(gc_heap *heap, uint64_t deadline_ns) {
    gc__finalizers *all = heap->finalizers;
    if (__atomic_load_n(&all->state, __ATOMIC_SEQ_CST) == GC__FINALIZERS_NONE) return true;
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_STOP, __ATOMIC_SEQ_CST);
    gc__finalizers_notify(all);
    if (!gc__finalizer_thread_await(heap, GC__FINALIZERS_STOP, deadline_ns)) {
        gc__os_thread_abandon(&all->thread);
        return false;
    }
    gc__os_thread_join(&all->thread);
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_NONE, __ATOMIC_SEQ_CST);
    return true;
}

/* Waits for finalizers that run on the host's threads. Returns false if one does not return. */
GC__COLD bool gc__finalizers_stop(gc_heap *heap, uint64_t deadline_ns) {
    gc__finalizers *all = heap->finalizers;
    for (;;) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        gc__lock_take(&all->lock);
        bool runs = all->running != NULL;
        all->ending = true;
        gc__lock_release(&all->lock);
        if (!runs) return true;
        if (gc__os_now_ns() >= deadline_ns) return false;
        gc__finalizers_await(heap, event, deadline_ns);
    }
}

/* Queues all registered finalizers, or only the critical ones if `skip`; then the normal ones are forgotten. Returns
   how many are queued. A collection by another thread goes through the lists without their lock, so it must not run. */
GC__COLD size_t gc__finalizers_queue_all(gc_heap *heap, bool skip) {
    gc__finalizers *all = heap->finalizers;
    gc__heap_lock(heap);
    gc__lock_take(&all->lock);
    gc__finalizers_compact(all);
    for (size_t i = 0; i < all->registered.count; i += 2) {
        gc__shade_word(all->registered.words[i]); /* the object was not queued when a cycle began, and may be dead */
        gc__pair_push(&gc__due_of(all, all->registered.words[i + 1])->pairs, all->registered.words[i],
                      all->registered.words[i + 1]);
    }
    all->registered.count = 0;
    memset(all->start, 0, sizeof all->start);
    if (skip) all->due[GC__NORMAL].head = all->due[GC__NORMAL].pairs.count;
    size_t count = gc__due_total(all);
    gc__lock_release(&all->lock);
    gc__heap_unlock(heap);
    return count;
}

/* Runs finalizers in several rounds, since finalizers can register and queue others; each round runs those that are
   queued when it begins. The thread is in cooperative mode. */
GC__COLD void gc__finalizers_run_all(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    for (int round = 0; round < GC__TEARDOWN_ROUNDS; round++) {
        size_t count = gc__finalizers_queue_all(heap, heap->options.skip_finalizers_at_end);
        if (!count) return;
        gc_finalizer_run(thread, count);
    }
    gc__warn(&heap->options,
             "finalizers that run as the heap is destroyed keep registering others: only critical ones run now, once");
    gc_finalizer_run(thread, gc__finalizers_queue_all(heap, true));
}

/* Runs the remaining finalizers. Returns false if the heap cannot be freed. */
GC__COLD bool gc__finalizers_end(gc_heap *heap, const void *frame) {
    gc_thread *self = gc__thread_self(heap);
    const gc_finalizer *running = self ? gc__finalizer_of(heap->finalizers, self, frame) : NULL;
    (void)running;
    GC_ASSERT(!running, "gc_heap_destroy: called by a finalizer");
    uint64_t deadline = gc__deadline(heap->options.patience_ms);
    bool stopped = gc__finalizer_thread_stop(heap, deadline) && gc__finalizers_stop(heap, deadline);
    if (!stopped)
        gc__warn(&heap->options,
                 "gc_heap_destroy: a finalizer does not return: the heap's memory stays, and other "
                 "finalizers do not run");
    if (!stopped || !gc__finalizers_queue_all(heap, heap->options.skip_finalizers_at_end)) return stopped;
    gc_thread *thread = self ? self : gc_thread_attach(heap);
    if (!thread) {
        gc__warn(&heap->options, "gc_heap_destroy: finalizers do not run: the calling thread could not be attached");
        return true;
    }
    GC_IN_MODE(thread, GC_MODE_COOPERATIVE);
    gc__finalizers_run_all(thread);
    return true;
}

GC__COLD void gc__finalizers_free(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    while (all->spare) {
        gc__finalizing *record = all->spare;
        all->spare = record->next;
        if (record != &all->first) free(record);
    }
}
