/* fork(): before it, all other threads of all heaps are stopped and every lock is taken, so the child gets a copy of
   heaps whose threads are between two steps. In the child these threads do not exist, and are forgotten.

   If fork is called in a callback, the calling thread holds some of the locks already, and still holds them
   afterwards. */
#pragma once

#include "../space/profiler.h"
#include "attach.h"
#include "../collection/components.h"
#include "../collection/worker_threads.h"

/* Calls f for each lock except those that stop threads, in the order in which locks are taken. */
GC__COLD void gc__fork_each_leaf(void (*f)(gc__lock *lock)) {
    GC__EACH_HEAP(heap) {
        gc__owned_locks(heap, f);
        if (!gc__heap_workers(heap)) continue;
        f(&gc__heap_workers(heap)->space);
        f(&gc__heap_workers(heap)->lock);
    }
    f(&gc__barrier_lock);
    f(&gc__the_arena.lock);
    f(&gc__profile_lock);
    f(&gc__code_lock);
}

/* Stops all heaps and takes all locks, until gc__fork_end. The caller's registers and stack pointer are saved, and
   its frames lie above that, so other heaps may scan this thread although this function returns. */
GC__COLD void gc__fork_begin(void) {
    if (GC_DEBUG >= 1) gc__check_outside("fork");
    gc__heaps_stop("fork");
    GC__EACH_HEAP(heap) if (heap->collecting && gc__heap_workers(heap)) gc__workers_stop(gc__heap_workers(heap));
    gc__fork_each_leaf(gc__lock_fork_take);
}

/* Forgets the finalizers that other threads were running, and the finalizer thread, unless it has forked itself. */
GC__COLD void gc__fork_forget_finalizers(gc__finalizers *all, const gc_thread *self) {
    gc__finalizing **link = &all->running;
    while (*link) {
        if ((*link)->thread == self)
            link = &(*link)->next;
        else
            gc__finalizing_remove(all, link);
    }
    bool mine = all->state != GC__FINALIZERS_NONE && gc__os_thread_is_self(&all->thread);
    if (!mine) __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_NONE, __ATOMIC_SEQ_CST);
}

/* Forgets, in the child, the threads that were not copied. Their stacks will be those of other threads. A callback
   of a collection or walk may have forked while that goes through the list of threads: then they stay in it, without
   roots. */
GC__COLD void gc__fork_forget_threads(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    gc_thread **link = &heap->threads->first;
    if (self) gc__record(self)->tid = gc__os_thread_number();
    gc__fork_forget_finalizers(heap->finalizers, self);
    while (*link) {
        gc_thread *thread = *link;
        bool stays = thread == self || gc__record(thread)->unbound;
        if (!stays) {
            thread->stack->stack_pointer = NULL; /* a fiber that the thread runs is lost */
            gc__thread_leave_stacks(thread);
            /* The thread has not stopped if the fork is in the callback of the warning that it does not stop. It needs the heap
               no more. */
            gc__set_parked(thread, false);
            __atomic_store_n(&thread->mode, (uint32_t)GC_MODE_PREEMPTIVE, __ATOMIC_RELAXED);
        }
        if (stays || heap->threads->lock_depth > 1) {
            link = &gc__record(thread)->next;
        } else {
            gc__thread_unlist(thread, link);
            gc__thread_free(thread);
        }
    }
    gc__workers_forget(heap);
    heap->marker->has_thread = false; /* what the marker has found is kept, and the next collection goes on with that */
    heap->marker->wanted = 0;
    /* No mutator waits for it: the end of this quantum of a nursery ends the marking. */
    heap->marker->undivided_bytes = 0;
    heap->pace->stopped_cpu_ns = heap->pace->resumed_cpu_ns = gc__os_cpu_ns(); /* the clock has been reset */
    heap->pace->resumed_by = gc__os_self();
}

GC__COLD void gc__fork_end(bool in_child) {
    gc__fork_each_leaf(gc__lock_fork_release);
    GC__EACH_HEAP(heap) {
        if (in_child) gc__fork_forget_threads(heap);
        gc__world_resume_locked(heap);
        gc__heap_let_go(heap);
    }
    gc__lock_release(&gc__heaps_lock);
    gc__unpark_all();
}

GC__COLD void gc__fork_end_parent(void) { gc__fork_end(false); }
GC__COLD void gc__fork_end_child(void) {
    gc__lock_fork_adopt(&gc__heaps_lock);
    gc__heaps_wanted = 0;
    GC__EACH_HEAP(heap) gc__lock_fork_adopt(&heap->threads->lock);
    gc__fork_each_leaf(gc__lock_fork_adopt);
    if (gc__the_profiling) gc__the_profiling->forked();
    gc__fork_end(true);
}

static bool gc__fork_is_open;

/* Installs the handlers before there is a second thread: one that forks while another creates the first heap would
   leave its child with locks that no thread releases. */
GC__AT_LOAD GC__FN void gc__fork_at_load(void) {
    gc__fork_is_open = gc__os_at_fork(gc__fork_begin, gc__fork_end_parent, gc__fork_end_child);
}

/* Tries once more for `caller` if the system had no memory then. The arena's lock is held. */
GC__COLD gc_result gc__fork_open(const char *caller) {
    if (!gc__fork_is_open) gc__fork_at_load();
    if (gc__fork_is_open) return GC_OK;
    return gc__fail_memory(caller, "the handlers of fork()");
}
