/* The heap's lock, and stopping the heap's threads.

   Whatever the threads of a heap share is guarded by one lock, which the thread that collects holds from before it stops
   the others until they may go on. So waiting for a collection and waiting for the lock are the same. A thread that waits for
   the lock is in preemptive mode meanwhile, in all its heaps: nobody who waits for it to stop waits in vain.

   Invariant: while stop_depth > 0, no thread of the heap but the lock's owner is in cooperative mode.

   Invariant: the function that takes the lock outermost is on the stack until gc__heap_unlock has released it and returned.
   Other heaps may scan the thread conservatively until then: whatever the thread does meanwhile, what the function's callers
   hold is in gc__my_registers or above the stack pointer there. So both are inlined into that function.

   Taking the lock may wait for a collection, so whoever takes it must have its references in roots. Handles and global
   slots, which are made from references that are in none yet, have a lock of their own, under which nothing waits.

   Polling before sleeping, and a nursery per processor that allocates, is what makes two threads allocate 1.75 times as
   fast as one (bench/threads.c; 0.8 times without), for a collection of a dying nursery takes but microseconds.

   Lock order: a heap's lock, then its roots lock, the barrier lock or the arena's. No thread waits for a heap's lock while
   it holds another heap's. */
#pragma once

#include "stomp.h"

static __thread gc_thread *gc__mine;      /* attachments of the calling native thread */
static __thread unsigned gc__mine_parked; /* of them: waiting in gc.h */
static __thread char gc__me;              /* its address stands for the calling thread */
/* Saved by the function that took a heap's lock, or waits, before it did. */
static __thread uintptr_t gc__my_registers[GC__SAVED_REGISTERS];

GC__FN bool gc__heap_is_locked(const gc_heap *heap) {
    return __atomic_load_n(&heap->lock_owner, __ATOMIC_RELAXED) == &gc__me;
}

GC__FN gc_thread *gc__thread_self(const gc_heap *heap) {
    gc_thread *thread = gc__mine;
    while (thread && thread->heap != heap) thread = thread->next_mine;
    return thread;
}

GC__FN bool gc__is_cooperative(const gc_thread *thread) {
    return __atomic_load_n(&thread->mode, __ATOMIC_SEQ_CST) == GC_COOPERATIVE;
}

/* From here a collection may run. Its store and load are in one order with those of gc__world_stop: either it sees this
   thread preemptive, or this thread sees that it is waited for. */
GC__FN void gc__thread_stop(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (__atomic_load_n(&heap->stopping, __ATOMIC_SEQ_CST))
        __atomic_store_n(&thread->stopped_at_ns, gc__os_now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&thread->mode, (uint32_t)GC_PREEMPTIVE, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&heap->stopping, __ATOMIC_SEQ_CST)) return;
    __atomic_fetch_add(&heap->stopped_count, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&heap->stopped_count);
}

/* Puts the calling thread's cooperative attachments into preemptive mode while it waits; `heap` alone not, if it is given.
   gc__my_registers must be those of a function that is on the stack until they are back. */
GC__FN void gc__park(const gc_heap *heap) {
    for (gc_thread *thread = gc__mine; thread; thread = thread->next_mine) {
        if (!thread->heap || thread->heap == heap || !gc__is_cooperative(thread)) continue;
        memcpy(thread->registers, gc__my_registers, sizeof thread->registers);
        thread->stack_pointer = (char *)thread->registers[GC__SAVED_STACK_POINTER];
        thread->parked = true;
        gc__mine_parked++;
        gc__thread_stop(thread);
    }
}

GC__FN void gc__unpark(gc_thread *thread) {
    thread->parked = false;
    gc__mine_parked--;
}

#define GC__LOCK_SPINS 400 /* polls before a thread sleeps that waits for the lock: the time of a short collection */

/* Sleeping and being woken take longer than many a collection, so it polls first, unless a thread that the lock's owner
   waits for may need the processor. */
GC__FN void gc__lock_take_soon(gc_heap *heap) {
    unsigned spins = __atomic_load_n(&heap->crowded, __ATOMIC_RELAXED) ? GC__LOCK_SPINS : 0;
    for (; spins < GC__LOCK_SPINS; spins++) {
        if (!__atomic_load_n(&heap->lock_owner, __ATOMIC_RELAXED) && gc__lock_try(&heap->lock)) return;
        gc__cpu_pause();
    }
    gc__lock_take(&heap->lock);
}

/* Waits for the lock. Having it, the attachment to this heap can be cooperative: no collection runs. */
GC__FN void gc__heap_wait(gc_heap *heap) {
    gc__park(NULL);
    gc__lock_take_soon(heap);
    gc_thread *self = gc__thread_self(heap);
    if (!self || !self->parked) return;
    gc__unpark(self);
    __atomic_store_n(&self->mode, (uint32_t)GC_COOPERATIVE, __ATOMIC_SEQ_CST);
}

GC__FN void gc__heap_acquire(gc_heap *heap) {
    if (!gc__lock_try(&heap->lock)) gc__heap_wait(heap);
    __atomic_store_n(&heap->lock_owner, (const void *)&gc__me, __ATOMIC_RELAXED);
}

/* May be taken again by its owner. Not from a signal handler. */
GC__INLINED void gc__heap_lock(gc_heap *heap) {
    if (!gc__heap_is_locked(heap)) {
        gc__save_registers(gc__my_registers);
        gc__heap_acquire(heap);
    }
    heap->lock_depth++;
}

GC__FN void gc__thread_resume(gc_thread *thread);

/* Returns to what was parked, one after the other; waiting for one parks those that are back. */
GC__FN void gc__unpark_all(void) {
    for (gc_thread *thread = gc__mine; thread && gc__mine_parked; thread = thread->next_mine) {
        if (!thread->parked) continue;
        gc__unpark(thread);
        gc__thread_resume(thread);
    }
}

GC__FN void gc__heap_release(gc_heap *heap) {
    if (--heap->lock_depth) return;
    __atomic_store_n(&heap->lock_owner, (const void *)NULL, __ATOMIC_RELAXED);
    gc__lock_release(&heap->lock);
    gc__unpark_all();
}

GC__INLINED void gc__heap_unlock(gc_heap *heap) {
    gc__heap_release(heap);
    gc__cpu_keep_frame();
}

/* The same as gc__heap_lock, for callers who have a new reference when they unlock, which is in no root yet: nothing is parked
   then, so returning to it does not wait, which a collection could use. */
GC__INLINED void gc__heap_lock_unparked(gc_heap *heap) {
    for (;;) {
        gc__heap_lock(heap);
        if (!gc__mine_parked) return;
        gc__heap_unlock(heap);
    }
}

/* Back to cooperative mode, after a collection that runs. */
GC__FN void gc__thread_resume(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    __atomic_store_n(&thread->mode, (uint32_t)GC_COOPERATIVE, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&heap->stopping, __ATOMIC_SEQ_CST) || gc__heap_is_locked(heap)) return;
    gc__thread_stop(thread);
    thread->parked = true;
    gc__mine_parked++;
    gc__heap_lock(heap);
    gc__heap_unlock(heap); /* returns to it, if that has not happened while it waited */
}

#define GC__STOP_SPINS \
    200 /* polls before the collector sleeps: about the time in which a running thread comes to a poll */

/* Names a thread that does not stop; nothing else would tell why the program stands still. */
GC__FN void gc__world_complain(const gc_heap *heap, const gc_thread *thread, uint64_t waited_ms) {
    char message[320];
    snprintf(
        message, sizeof message,
        "a collection has waited for %llu ms for the thread `%s` to come to a safe point: have it call gc_safepoint in "
        "loops that do not allocate, and bracket calls that block by GC_IN_MODE(thread, GC_PREEMPTIVE)",
        (unsigned long long)waited_ms, thread->name ? thread->name : "(unnamed)");
    gc__warn(&heap->options, message);
}

GC__FN void gc__world_await(gc_heap *heap, gc_thread *thread) {
    const uint64_t patience_ms = heap->options.stop_patience_ms;
    bool complained = false;
    for (unsigned spins = 0; gc__is_cooperative(thread); spins++) {
        uint32_t count = __atomic_load_n(&heap->stopped_count, __ATOMIC_SEQ_CST);
        if (spins < GC__STOP_SPINS)
            gc__cpu_pause();
        else if (gc__is_cooperative(thread))
            gc__os_wait_for(&heap->stopped_count, count, patience_ms * GC__NS_PER_MS);
        if (spins < GC__STOP_SPINS || complained) continue;
        uint64_t waited_ms = (gc__os_now_ns() - heap->stop_started_ns) / GC__NS_PER_MS;
        complained = waited_ms >= patience_ms && gc__is_cooperative(thread);
        if (complained) gc__world_complain(heap, thread, waited_ms);
    }
    uint64_t stopped = __atomic_load_n(&thread->stopped_at_ns, __ATOMIC_RELAXED),
             waited = stopped > heap->stop_started_ns ? stopped - heap->stop_started_ns : 0;
    thread->stops++;
    thread->stop_total_ns += waited;
    if (waited > thread->stop_max_ns) thread->stop_max_ns = waited;
    if (waited <= heap->stats.stop_max_ns) return;
    heap->stats.stop_max_ns = waited;
    snprintf(heap->stats.stop_slowest, sizeof heap->stats.stop_slowest, "%s",
             thread->name ? thread->name : "(unnamed)");
}

GC__FN void gc__world_stop_others(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    gc__park(heap);
    heap->stop_started_ns = gc__os_now_ns();
    __atomic_store_n(&heap->stopping, 1u, __ATOMIC_SEQ_CST);
    if (heap->options.suspend) {
        GC__LEAVE;
        heap->options.suspend(heap->options.host);
        return;
    }
    unsigned running = 1;
    for (gc_thread *thread = heap->threads; thread; thread = thread->next) {
        if (thread == self) continue;
        __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
        running += gc__is_cooperative(thread);
    }
    __atomic_store_n(&heap->crowded, running > heap->processors, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads; thread; thread = thread->next)
        if (thread != self) gc__world_await(heap, thread);
    uint64_t waited = gc__os_now_ns() - heap->stop_started_ns;
    heap->stats.stops++;
    heap->stats.stop_total_ns += waited;
}

GC__FN void gc__world_stop_locked(gc_heap *heap) {
    if (heap->stop_depth++) return;
    bool alone = !heap->threads || (heap->threads == gc__thread_self(heap) && !heap->threads->next);
    if (heap->options.suspend || !alone) gc__world_stop_others(heap);
}

/* Stops the heap's threads, but for the calling one; takes the lock. Nests. */
GC__INLINED void gc__world_stop(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__world_stop_locked(heap);
}

GC__FN void gc__world_restart(gc_heap *heap) {
    GC__LEAVE;
    if (heap->options.restart) heap->options.restart(heap->options.host);
}

GC__FN void gc__world_resume_locked(gc_heap *heap) {
    if (--heap->stop_depth) return;
    gc__world_restart(heap);
    __atomic_store_n(&heap->stopping, 0u, __ATOMIC_SEQ_CST);
    for (gc_thread *thread = heap->threads; thread; thread = thread->next)
        __atomic_store_n(&thread->poll, heap->options.stress == GC_STRESS_SAFEPOINT ? 1u : 0u, __ATOMIC_RELAXED);
}

GC__INLINED void gc__world_resume(gc_heap *heap) {
    gc__world_resume_locked(heap);
    gc__heap_unlock(heap);
}

/* Adds to a counter that threads add to without the lock. */
GC__FN void gc__count(size_t *counter, size_t amount) { __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED); }
GC__FN size_t gc__counted(const size_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }
