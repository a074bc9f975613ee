/* Stops the heap's threads.

   Invariant: while stop_depth > 0, no thread of the heap except the lock's owner is in cooperative mode.

   Two threads allocate 1.75 times as fast as one because threads poll before they sleep, and because the nursery grows
   with the number of threads that allocate (0.8 times without): a collection in which nothing survives takes only
   microseconds. */
#pragma once

#include "../space/profiler.h"
#include "window.h"
#include "lock.h"

#define GC__STOP_SPINS \
    200 /* polls before the collector sleeps: about the time in which a running thread reaches a poll */

/* A thread that has not stopped is interrupted again after this time; after this many tries, at growing intervals. */
#define GC__INTERRUPT_NS ((uint64_t)200000)
#define GC__INTERRUPT_TRIES 32

/* Warns about a thread that does not stop; nothing else would show why the program stands still. */
GC__FN void gc__world_complain(const gc_heap *heap, const gc_thread *thread, uint64_t waited_ms) {
    gc__warn(&heap->options,
             "a collection has waited for %llu ms for the thread `%s` to come to a safe point: have it call gc_safepoint in "
             "loops that do not allocate, and bracket calls that block by GC_IN_MODE(thread, GC_MODE_PREEMPTIVE)",
             (unsigned long long)waited_ms, gc__thread_name(thread));
}

/* Interrupts a thread by a signal if it may run compiled code, which need not poll. Returns whether it did. */
GC__FN bool gc__world_interrupt(gc_thread *thread) {
    if (!__atomic_load_n(&gc__record(thread)->interruptible, __ATOMIC_ACQUIRE) || !gc__is_cooperative(thread))
        return false;
    gc__compiled->interrupt(thread);
    return true;
}

GC__FN void gc__world_await(gc_heap *heap, gc_thread *thread) {
    const uint64_t patience_ms = heap->options.patience_ms;
    bool complained = false;
    for (unsigned spins = 0; gc__is_cooperative(thread); spins++) {
        uint32_t count = __atomic_load_n(&heap->threads->stopped_count, __ATOMIC_SEQ_CST);
        if (spins < GC__STOP_SPINS) {
            gc__cpu_pause();
            continue;
        }
        uint64_t wait_ns = patience_ms * GC__NS_PER_MS, waited_ns = gc__ns_since(gc__os_now_ns(), heap->threads->stop_started_ns);
        /* An interrupt has no effect in native code, nor where the code cannot be stopped. */
        if (gc__world_interrupt(thread)) wait_ns = GC__INTERRUPT_NS + waited_ns / GC__INTERRUPT_TRIES;
        if (gc__is_cooperative(thread)) gc__os_wait_for(&heap->threads->stopped_count, count, wait_ns);
        if (complained) continue;
        uint64_t waited_ms = gc__ns_since(gc__os_now_ns(), heap->threads->stop_started_ns) / GC__NS_PER_MS;
        complained = waited_ms >= patience_ms && gc__is_cooperative(thread);
        if (complained) gc__world_complain(heap, thread, waited_ms);
    }
    uint64_t stopped = __atomic_load_n(&gc__record(thread)->stopped_at_ns, __ATOMIC_RELAXED),
             waited = gc__ns_since(stopped, heap->threads->stop_started_ns);
    gc__record(thread)->stops++;
    gc__record(thread)->stop_total_ns += waited;
    if (waited > gc__record(thread)->stop_max_ns) gc__record(thread)->stop_max_ns = waited;
    if (waited > heap->threads->slowest_ns) {
        heap->threads->slowest_ns = waited;
        heap->threads->slowest = thread;
    }
    if (waited <= heap->stats.stop_max_ns) return;
    heap->stats.stop_max_ns = waited;
    snprintf(heap->stats.stop_slowest, sizeof heap->stats.stop_slowest, "%s", gc__thread_name(thread));
}

GC__FN void gc__stop_note(gc_heap *heap) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (profiler) profiler->stopped(heap, heap->threads->stop_started_ns);
}

GC__FN void gc__world_stop_others(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    gc__park(heap);
    heap->threads->stop_started_ns = gc__os_now_ns();
    heap->threads->slowest_ns = 0;
    heap->threads->slowest = NULL;
    __atomic_fetch_or(&heap->threads->stopping, (uint32_t)GC__STOP_COLLECTS, __ATOMIC_SEQ_CST);
    if (heap->options.suspend) {
        GC__HOST_SCOPE;
        heap->options.suspend(heap->options.host);
        gc__stop_note(heap);
        return;
    }
    unsigned running = 1;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        if (thread == self) continue;
        __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
        gc__world_interrupt(thread);
        running += gc__is_cooperative(thread);
    }
    __atomic_store_n(&heap->threads->crowded, running > heap->threads->processors, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        if (thread != self && !gc__record(thread)->unbound) gc__world_await(heap, thread);
    uint64_t waited = gc__ns_since(gc__os_now_ns(), heap->threads->stop_started_ns);
    heap->stats.stops++;
    heap->stats.stop_total_ns += waited;
    gc__stop_note(heap);
}

GC__FN void gc__world_stop_locked(gc_heap *heap) {
    if (heap->threads->stop_depth++) return;
    bool alone = !heap->threads->first ||
                 (heap->threads->first == gc__thread_self(heap) && !gc__record(heap->threads->first)->next);
    heap->threads->stop_started_ns = 0;
    if (heap->options.suspend || !alone) gc__world_stop_others(heap);
}

/* Takes the lock and stops the heap's threads, except the calling one. Nests. */
GC__INLINED void gc__world_stop(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__world_stop_locked(heap);
}

GC__FN void gc__world_restart(gc_heap *heap) {
    GC__HOST_SCOPE;
    if (heap->options.restart) heap->options.restart(heap->options.host);
}

GC__FN void gc__world_resume_locked(gc_heap *heap) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (--heap->threads->stop_depth) return;
    if (profiler) profiler->resumed(heap);
    gc__world_restart(heap);
    __atomic_fetch_and(&heap->threads->stopping, ~(uint32_t)GC__STOP_COLLECTS, __ATOMIC_SEQ_CST);
    bool polls = gc__stress_of(heap) == GC_STRESS_SAFEPOINT || __atomic_load_n(&heap->threads->asked, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        __atomic_store_n(&thread->poll, (uint32_t)polls, __ATOMIC_RELAXED);
}

GC__INLINED void gc__world_resume(gc_heap *heap) {
    gc__world_resume_locked(heap);
    gc__heap_unlock(heap);
}

/* Takes the locks of all heaps. False: another thread keeps one of them, and none is taken. The list's lock is held. */
GC__COLD bool gc__heaps_try_all(void) {
    GC__EACH_HEAP(heap) {
        bool taken = gc__heap_is_locked(heap) || gc__lock_try(&heap->threads->lock);
        if (!taken) {
            gc__heap_check_wait(heap);
            gc__park_with_host(heap);
            taken = gc__lock_take_for(&heap->threads->lock, GC__HEAPS_PATIENCE_NS);
        }
        if (taken) {
            heap->threads->lock_depth++;
            continue;
        }
        for (gc_heap *other = gc__heaps; other != heap; other = other->threads->next_heap) gc__heap_let_go(other);
        return false;
    }
    return true;
}

/* A heap whose lock the calling thread holds, in a callback; NULL: none. The list's lock is held. */
GC__COLD const gc_heap *gc__heaps_mine(void) {
    GC__EACH_HEAP(heap) if (gc__heap_is_locked(heap)) return heap;
    return NULL;
}

/* Takes the locks of the list of heaps and of all heaps. In a callback the thread holds a heap's lock already while it waits
   for the list. So a thread that has the list gives all back if another keeps a heap's lock, and lets those go first that
   wait for the list. Of two such callbacks each has a lock for ever that the other needs. The caller has saved its registers. */
GC__COLD void gc__heaps_lock_all(const char *purpose) {
    unsigned counted = 0;
    for (;;) {
        __atomic_fetch_add(&gc__heaps_wanted, 1, __ATOMIC_SEQ_CST);
        if (!gc__lock_try(&gc__heaps_lock)) {
            gc__park(NULL);
            gc__lock_take(&gc__heaps_lock);
        }
        __atomic_fetch_sub(&gc__heaps_wanted, 1, __ATOMIC_SEQ_CST);
        const gc_heap *mine = gc__heaps_mine();
        if (mine && gc__heaps_owners > counted)
            gc__fatal(&mine->options,
                      "%s, called in a callback of a collection or walk of one heap, while another thread does so in one "
                      "of another heap: each would wait for the other for ever. Have one of the callbacks set a flag and "
                      "return, and make the call afterwards",
                      purpose);
        if (gc__heaps_try_all()) break;
        if (mine && !counted) gc__heaps_owners += counted = 1;
        gc__lock_release(&gc__heaps_lock);
        for (uint32_t wanted; (wanted = __atomic_load_n(&gc__heaps_wanted, __ATOMIC_SEQ_CST));)
            gc__os_wait_for(&gc__heaps_wanted, wanted, GC__NS_PER_MS);
    }
    gc__heaps_owners -= counted;
}

/* Stops all heaps' threads, except the calling one. */
GC__INLINED void gc__heaps_stop(const char *purpose) {
    gc__save_registers(gc__my_registers);
    gc__heaps_lock_all(purpose);
    GC__EACH_HEAP(heap) gc__world_stop_locked(heap);
}

/* Makes the regions of all windows walkable. Requires that the world is stopped. */
GC__FN void gc__heap_flush(gc_heap *heap) {
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        gc__thread_flush_windows(thread);
}

/* Flushes all windows, and makes each thread's next allocation take the slow path, which detects callbacks that
   allocate. */
GC__FN void gc__heap_flush_for_callbacks(gc_heap *heap) {
    gc__heap_flush(heap);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__thread_shrink_windows(thread);
        gc__local_spans_close(heap, &gc__record(thread)->local_spans);
    }
}
