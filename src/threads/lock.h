/* The heap's lock.

   One lock guards everything that the threads of a heap share. The thread that collects holds it from before it stops
   the others until they may go on, so waiting for a collection and waiting for the lock are the same.

   Invariant: the function that takes the lock outermost is on the stack until gc__heap_unlock has released it and
   returned. Until then other heaps may scan the thread conservatively: whatever the thread does before that, the
   references of the function's callers are in gc__my_registers, or on the stack above the stack pointer that is saved
   there. So taking and releasing the lock are inlined into that function.

   Taking the lock may wait for a collection, so the caller must have its references in roots. Handles, finalizers and
   global slots, which are made from references that are in no root yet, have locks of their own, and no thread waits
   while it holds one of these.

   Lock order: the list of heaps; a heap's lock; its handles' lock; its finalizers' or roots lock, or the barrier lock;
   the arena lock; the lock of the profile; that of the code registry. No thread waits for a heap's lock while it holds
   another heap's, except a thread that stops all heaps, to fork for example: see gc__heaps_lock_all.

   In callbacks of the host the calling thread holds: in finalizers, releases of safe handles, and out_of_memory, no
   lock; in collection_start, collection_end, finalizers_ready, suspend, restart, and the visits of gc_heap_walk, the
   heap's lock; in scan_roots, trace functions, handle_is_held, and the visits of gc_handle_walk, the handles' lock,
   too; in is_suppressed during a collection, the finalizers' lock, too; in is_suppressed after a collection, that lock
   and perhaps the marker's; in barrier_changed, the barrier lock, and the heap's in most cases; in warning and fatal,
   whichever of these their callers hold. */
#pragma once

#include "../space/slots.h"
#include "mode.h"

/* of a stack above a collection's frame; addresses farther away are on another stack */
#define GC__LEFT_BYTES ((uintptr_t)1 << 20)
#define GC__LOCK_SPINS 400 /* polls before a thread that waits for the lock sleeps: the time of a short collection */

/* Takes the lock, after polling this often for it: going to sleep and being woken takes longer than many locks are held. */
GC__FN void gc__lock_take_polling(gc__lock *lock, unsigned polls) {
    for (; polls; polls--) {
        if (gc__lock_is_free(lock) && gc__lock_try(lock)) return;
        gc__cpu_pause();
    }
    gc__lock_take(lock);
}

/* Returns whether the calling thread is a collector thread that runs a trace function: the collecting thread waits for
   it, and holds locks until then. */
GC__FN bool gc__is_tracing_elsewhere(const gc_heap *heap) {
    uintptr_t traced = gc__traced;
    return traced && gc__in_arena(traced) && gc__region_is_of(gc__region_of(traced), heap) && !gc__heap_is_locked(heap);
}

#define GC__TRACING_ELSEWHERE \
    "called by the trace function of a `%s`, on a thread of the collector's (options.trace_functions): it would wait for ever. " \
    "Have the function set a flag and return, and make the call afterwards"

/* Refuses a call by such a thread. */
GC__COLD bool gc__refuse_in_trace(const char *function) {
    gc__misused(gc__fail(GC_ERROR_MISUSE, "%s: " GC__TRACING_ELSEWHERE, function, gc__object_name(gc__traced)));
    return true;
}

/* Ends the program where the lock's owner waits for the calling thread. */
GC__COLD void gc__heap_check_wait(const gc_heap *heap) {
    if (gc__is_tracing_elsewhere(heap))
        gc__fatal(&heap->options, "%s: " GC__TRACING_ELSEWHERE, gc__inside ? gc__inside : "a function of gc.h",
                  gc__object_name(gc__traced));
}

/* Lets collections of all heaps run while the thread waits, those too that wait for threads as the heap's host does. */
GC__COLD void gc__park_with_host(const gc_heap *heap) {
    gc__park(NULL);
    bool asks = heap->options.before_wait && !gc__my_host && !gc__is_abandoned(heap);
    if (asks && heap->options.before_wait(heap->options.host)) {
        gc__my_host = heap;
        gc__my_parked++;
    }
}

GC__FN bool gc__thread_resume(gc_thread *thread);

/* Waits for the lock. While the thread has it no collection runs, so its attachment to this heap is cooperative again. */
GC__COLD void gc__heap_wait(gc_heap *heap) {
    gc__heap_check_wait(heap);
    gc__park_with_host(heap);
    /* If there are fewer processors than threads, one for which the lock's owner waits may need this one. */
    gc__lock_take_polling(&heap->threads->lock, __atomic_load_n(&heap->threads->crowded, __ATOMIC_RELAXED) ? 0 : GC__LOCK_SPINS);
    gc_thread *self = gc__thread_self(heap);
    if (self && gc__record(self)->parked) gc__thread_resume(self);
}

/* Returns GC__FRAME_TOP() of the functions that the caller calls. */
GC__OUT_OF_LINE uintptr_t gc__stack_below(void) { return GC__FRAME_TOP(); }

/* Called by a function of gc.h that has this frame: if the recorded calls of out_of_memory are not on the stack above
   it, they were left by longjmp or an exception, and are forgotten. */
GC__OUT_OF_LINE void gc__asking_look(gc_thread *thread, uintptr_t frame) {
    gc__thread_record *record = gc__record(thread);
    if (!record->asking || (record->asking_stack == thread->stack && frame < record->asking_frame)) return;
    record->asking = 0;
    __atomic_fetch_sub(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
}

/* Refuses `function`, which ends the thread's attachment or its heap, if out_of_memory calls it, whose caller needs
   both. Returns whether it did. */
GC__FN bool gc__is_called_by_asked(gc_thread *thread, const char *function, uintptr_t frame) {
    if (!thread || !gc__record(thread)->asking) return false;
    gc__asking_look(thread, frame);
    if (!gc__record(thread)->asking) return false;
    gc__misused(gc__fail(GC_ERROR_MISUSE, "%s: called by the out_of_memory hook: return from that, or leave it by longjmp or an "
                                          "exception, first", function));
    return true;
}

/* Reports that a callback of the collection did not return, so that its thread would hold the locks for ever. */
GC__FN void gc__collection_was_left(const gc_heap *heap) {
    gc__fatal(&heap->options,
              "collection %llu was left by an exception, by longjmp or by the end of the thread, out of scan_roots, a trace "
              "function or a hook: these must return",
              (unsigned long long)heap->collection.number);
}

/* Refuses `function`, which needs the program to run and whose frame ends at `frame`, if this thread has stopped the
   program. Returns whether it did. */
GC__OUT_OF_LINE bool gc__is_refused_in_hook(const gc_heap *heap, const char *function, uintptr_t frame) {
    if (gc__is_tracing_elsewhere(heap)) return gc__refuse_in_trace(function);
    if (GC__LIKELY(!gc__heap_is_locked(heap))) return false;
    if (heap->frame && frame > heap->frame && frame - heap->frame < GC__LEFT_BYTES) gc__collection_was_left(heap);
    gc__misused(gc__fail(GC_ERROR_MISUSE, "%s: called by a hook or callback of a collection, by a callback of a walk, or after "
                                          "longjmp or an exception out of one: have it set a flag and return, and make the call "
                                          "afterwards", function));
    return true;
}
/* The same for a function that inlines this. */
GC__INLINED bool gc__is_called_by_hook(const gc_heap *heap, const char *function) {
    return gc__is_refused_in_hook(heap, function, GC__FRAME_TOP());
}

/* Takes the lock once more, if the calling thread has it. Returns whether it has. */
GC__OUT_OF_LINE bool gc__heap_lock_again(gc_heap *heap) {
    if (!gc__heap_is_locked(heap)) return false;
    heap->threads->lock_depth++;
    return true;
}

/* Takes the lock, after the caller has saved its registers. */
GC__OUT_OF_LINE void gc__heap_lock_or_wait(gc_heap *heap) {
    if (!gc__lock_try(&heap->threads->lock)) gc__heap_wait(heap);
    heap->threads->lock_depth++;
}

/* Takes the lock, which its owner may take again. Must not be called by signal handlers. */
GC__INLINED void gc__heap_lock(gc_heap *heap) {
    if (gc__heap_lock_again(heap)) return;
    gc__save_registers(gc__my_registers);
    gc__heap_lock_or_wait(heap);
}

/* Returns to the parked attachments one after the other. Waiting for one parks those again that were returned to. */
GC__COLD void gc__unpark_all(void) {
    const gc_heap *host = gc__my_host;
    if (host) {
        gc__my_host = NULL;
        gc__my_parked--;
        if (!gc__is_abandoned(host)) host->options.after_wait(host->options.host);
    }
    for (gc_thread *thread = GC__MY_ATTACHMENTS; thread && gc__my_parked; thread = gc__record(thread)->next_attachment)
        if (gc__record(thread)->parked) gc__thread_resume(thread);
}

/* Releases the lock once. Returns whether it is free now. */
GC__FN bool gc__heap_let_go(gc_heap *heap) {
    if (--heap->threads->lock_depth) return false;
    gc__lock_release(&heap->threads->lock);
    return true;
}

GC__OUT_OF_LINE void gc__heap_release(gc_heap *heap) {
    if (gc__heap_let_go(heap)) gc__unpark_all();
}

GC__INLINED void gc__heap_unlock(gc_heap *heap) {
    gc__heap_release(heap);
    gc__cpu_keep_frame();
}

/* Takes the lock, which the thread does not have, for callers that have a new reference in no root when they unlock. No
   attachment is parked then, so gc__heap_unlock need not return to one; that could wait, and let a collection run. */
GC__INLINED void gc__heap_lock_unparked(gc_heap *heap) {
    for (;;) {
        gc__save_registers(gc__my_registers);
        gc__heap_lock_or_wait(heap);
        if (!gc__my_parked) return;
        gc__heap_unlock(heap);
    }
}

/* Tries to take the lock, for callers with references in no root, so that no collection runs. Returns false if another
   thread has it. */
GC__INLINED bool gc__heap_lock_unless_taken(gc_heap *heap) {
    if (!gc__heap_is_locked(heap) && !gc__lock_try(&heap->threads->lock)) return false;
    heap->threads->lock_depth++;
    return true;
}

/* Returns to cooperative mode, after waiting for a running collection unless the thread has the lock. Returns false if the heap
   is gone instead. A parked thread needs the heap, so it is parked until the end. */
GC__FN bool gc__thread_resume(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    __atomic_store_n(&thread->mode, (uint32_t)GC_MODE_COOPERATIVE, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST) || gc__heap_is_locked(heap)) {
        gc__record(thread)->stack_pointer = NULL;
        gc__my_parked -= gc__record(thread)->parked;
        gc__set_parked(thread, false);
        return true;
    }
    gc__thread_stop(thread);
    gc__heap_lock(heap);
    bool is_there = !gc__thread_is_lost(heap, thread) && gc__thread_resume(thread);
    gc__heap_unlock(heap);
    return is_there;
}

/* Guards the list of all heaps that are not being created or destroyed. A thread that forks holds it while it stops all
   other threads, so a thread must be parked while it waits for this lock. */
static gc__lock gc__heaps_lock = GC__LOCK_INITIALIZER;
GC__VAR gc_heap *gc__heaps;
static uint32_t gc__heaps_wanted; /* atomic; threads that wait for the list in order to stop all heaps */
static unsigned gc__heaps_owners; /* threads that hold a heap's lock and have given the list back: the list's lock */

#define GC__EACH_HEAP(heap) for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap)
#define GC__HEAPS_PATIENCE_NS (5 * GC__NS_PER_MS) /* for which a thread that has the list waits for a heap's lock */

static gc__lock gc__code_lock = GC__LOCK_INITIALIZER;    /* guards gc_stackmap.h's registry of code */
static gc__lock gc__profile_lock = GC__LOCK_INITIALIZER; /* guards gc_profile.h's profile */

GC__INLINED void gc__heaps_lock_take(void) {
    if (gc__lock_try(&gc__heaps_lock)) return;
    gc__save_registers(gc__my_registers);
    gc__park(NULL);
    gc__lock_take(&gc__heaps_lock);
}

GC__INLINED void gc__heaps_lock_release(void) {
    gc__lock_release(&gc__heaps_lock);
    gc__unpark_all();
    gc__cpu_keep_frame();
}

GC__FN void gc__heaps_add(gc_heap *heap) {
    gc__heaps_lock_take();
    heap->threads->next_heap = gc__heaps;
    gc__heaps = heap;
    gc__heaps_lock_release();
}

GC__FN void gc__heaps_remove(const gc_heap *heap) {
    gc__heaps_lock_take();
    gc_heap **link = &gc__heaps;
    while (*link != heap) link = &(*link)->threads->next_heap;
    *link = heap->threads->next_heap;
    gc__heaps_lock_release();
}
