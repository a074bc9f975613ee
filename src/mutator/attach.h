/* Mutator threads. */
#pragma once

#include "../space/profiler.h"
#include "../threads/frames.h"
#include "../weak/handle_table.h"
#include "../weak/finalizers.h"
#include "../collection/components.h"

/* Has one user less of the heap's record, and frees it after the last one. */
GC__COLD void gc__heap_let_go_of_record(gc_heap *heap) {
    if (__atomic_sub_fetch(&heap->threads->users, 1, __ATOMIC_ACQ_REL)) return;
    gc__lock_end(&heap->threads->lock);
    gc__owned_locks(heap, gc__lock_end);
    free(heap);
}

GC__COLD void gc__thread_free(gc_thread *thread) {
    gc_heap *heap = gc__record(thread)->own_stack.heap;
    free(thread);
    gc__heap_let_go_of_record(heap);
}

GC__COLD void gc__thread_close_frames(gc_thread *thread) {
    gc__frames_assign(thread->heap, thread->frames, thread, NULL);
    gc__frames_assign(thread->heap, gc__record(thread)->own_stack.frames, thread, NULL);
}

GC__OUT_OF_LINE void gc__thread_forget(gc_thread *thread) {
    if (gc__record(thread)->interruptible) gc__compiled->forget(thread);
    gc_thread **link = &GC__MY_ATTACHMENTS;
    while (*link != thread) link = &gc__record(*link)->next_attachment;
    *link = gc__record(thread)->next_attachment;
    GC__OS_KEEP(gc__my_attachments);
    gc__thread_free(thread);
}

GC__COLD void gc__attach_note(gc_thread *thread, bool attached) {
    const gc__profiler *profiler = gc__profiler_of(thread->heap);
    if (profiler)
        profiler->attached(thread, attached);
    else if (gc__record(thread)->profiled)
        gc__the_profiling->detached(thread);
}

/* Takes the thread out of its heap's list, in which `link` points to it. The heap's lock is held. */
GC__COLD void gc__thread_unlist(gc_thread *thread, gc_thread **link) {
    gc__thread_close_windows(thread);
    gc__local_spans_close(thread->heap, &gc__record(thread)->local_spans);
    gc__attach_note(thread, false);
    gc__thread_close_frames(thread);
    gc__handles_return_cached(thread);
    thread->stack->thread = NULL; /* it may be a fiber's */
    *link = gc__record(thread)->next;
}

/* Takes the thread, which is in either mode, out of its heap's list. */
GC__COLD void gc__thread_take_out(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    gc__heap_lock(heap);
    gc_thread **link = &heap->threads->first;
    while (*link && *link != thread) link = &gc__record(*link)->next;
    if (*link) gc__thread_unlist(thread, link); /* or else the heap was destroyed meanwhile */
    gc__heap_unlock(heap);
}

/* Separates the calling thread from its heap, which is gone. */
GC__COLD void gc__thread_lose_heap(gc_thread *thread) {
    gc__thread_take_out(thread);
    gc__thread_close_frames(thread);
    __atomic_store_n(&thread->heap, (gc_heap *)NULL, __ATOMIC_RELAXED);
}

/* Returns to cooperative mode, unless the heap is gone. Returns whether it is there. */
GC__COLD bool gc__thread_return(gc_thread *thread) {
    if (thread->heap && !gc__is_cooperative(thread) && !gc__thread_resume(thread)) gc__thread_lose_heap(thread);
    return thread->heap != NULL;
}

GC_API gc_mode gc__thread_set_mode(gc_thread *thread, gc_mode mode) {
    GC__API_SCOPE("gc_thread_set_mode");
    gc_mode former = gc_thread_mode(thread);
    if (GC__UNLIKELY(!thread->heap)) return former; /* the heap was destroyed */
    if (GC__UNLIKELY(gc__record(thread)->unbound)) return former; /* only the host knows in which mode its threads are */
    GC_ASSERT(gc__thread_self(thread->heap) == thread,
              "gc_thread_set_mode: called for another thread than the calling one");
    if (mode == former) return former;
    GC_ASSERT(!gc__heap_is_locked(thread->heap),
              "gc_thread_set_mode: called by a hook or callback of a collection or a walk, which runs in its caller's mode");
    if (mode == GC_MODE_PREEMPTIVE) {
        gc__record(thread)->stack_pointer = (char *)thread->registers[GC__SAVED_STACK_POINTER];
        gc__thread_stop(thread);
    } else if (!gc__thread_resume(thread)) {
        gc__thread_lose_heap(thread);
    }
    return former;
}

GC__COLD void gc__thread_leave(gc_thread *thread) {
    gc__finalizing_forget(thread);
    gc__asking_look(thread, UINTPTR_MAX);
    gc__thread_take_out(thread);
    gc__thread_forget(thread);
}

/* Forgets the thread's stacks, whose contents are gone. */
GC__COLD void gc__thread_leave_stacks(gc_thread *thread) {
    thread->stack->thread = NULL; /* it may be a fiber's */
    thread->stack = &gc__record(thread)->own_stack;
    gc__record(thread)->stack_base = gc__record(thread)->own_stack.base;
    thread->frames = gc__record(thread)->own_stack.frames = NULL;
    thread->code = gc__record(thread)->own_stack.code = NULL;
    gc__record(thread)->conservative = false;
}

/* Drops the roots of a thread that ends. If it is in preemptive mode, a collection may be reading its stacks. */
GC__COLD void gc__thread_drop_roots(gc_thread *thread) {
    gc_heap *heap = thread->heap; /* which may be destroyed meanwhile */
    bool within = thread->frames != NULL, preemptive = !gc__is_cooperative(thread);
    if (preemptive) gc__heap_lock(heap);
    gc__thread_leave_stacks(thread);
    if (within && preemptive && !gc__thread_is_lost(heap, thread))
        gc__warn(&heap->options,
                 "the thread `%s` ended within a scope of GC_ROOTS in preemptive mode, so a collection could have read what "
                 "has overwritten its stack: compile with -fexceptions what pthread_exit or a cancellation leaves",
                 gc__thread_name(thread));
    if (preemptive) gc__heap_unlock(heap);
}

static __thread bool gc__ending; /* the native thread has begun to end */

/* Detaches a native thread that ends. Returns true to be called again, after other destructors, each of which may
   detach the thread. */
GC__COLD bool gc__thread_ended(void) {
    if (!gc__ending) {
        gc__ending = true;
        for (gc_thread *thread = GC__MY_ATTACHMENTS; thread; thread = gc__record(thread)->next_attachment) {
            if (thread->heap && gc__heap_is_locked(thread->heap)) gc__collection_was_left(thread->heap);
            if (thread->heap) gc__thread_drop_roots(thread);
        }
        return GC__MY_ATTACHMENTS != NULL;
    }
    while (GC__MY_ATTACHMENTS) {
        gc_thread *thread = GC__MY_ATTACHMENTS;
        if (!gc__thread_return(thread)) {
            gc__thread_forget(thread);
            continue;
        }
        gc__warn(&thread->heap->options, "the thread `%s` ended without gc_thread_detach; its roots are dropped",
                 gc__thread_name(thread));
        gc__thread_leave(thread);
    }
    return false;
}

GC__COLD gc_result gc__thread_prepare(gc_thread *thread) {
    if (!gc__os_at_thread_end(gc__thread_ended))
        return gc__fail(GC_ERROR_MEMORY, "gc_thread_attach: no thread-specific key is left, to notice the end of a thread");
    bool elsewhere = false;
    gc__record(thread)->stack_base = gc__os_stack_base(&elsewhere);
    gc__record(thread)->own_stack.base = gc__record(thread)->stack_base;
    if (gc__record(thread)->stack_base || !gc__record(thread)->conservative) return GC_OK;
    if (elsewhere)
        return gc__fail(GC_ERROR_MISUSE,
                        "gc_thread_attach: conservative_stack is set, and the thread runs on a fiber's stack, whose end is not "
                        "known: attach before the first switch, and enter each by gc_stack_switch to one of gc_stack_create");
    return gc__fail(GC_ERROR_MISUSE,
                    "gc_thread_attach: conservative_stack is set, but the system does not tell where the "
                    "thread's stack is: is /proc mounted and allowed?");
}

/* The record of a thread, with the caches of its handles. */
typedef struct gc__attachment {
    gc__thread_record record;
    gc__handle_cache handle_caches[GC_HANDLE_KINDS];
} gc__attachment;

GC__COLD gc_thread *gc__thread_new(gc_heap *heap, const char *function) {
    gc__attachment *all = (gc__attachment *)calloc(1, sizeof *all);
    if (!all) {
        gc__fail_memory(function, "the thread's record");
        return NULL;
    }
    gc_thread *thread = &all->record.thread;
    all->record.handle_caches = all->handle_caches;
    thread->heap = all->record.own_stack.heap = heap;
    thread->stack = &all->record.own_stack;
    thread->stack->thread = thread->stack->last = thread;
    __atomic_fetch_add(&heap->threads->users, 1, __ATOMIC_RELAXED);
    return thread;
}

/* Enters the thread, which is ready, in the heap's list. The heap's lock is held. */
GC__FN void gc__thread_list(gc_heap *heap, gc_thread *thread) {
    thread->safepoint = gc__safepoint_slow;
    thread->poll = gc__stress_of(heap) == GC_STRESS_SAFEPOINT;
    gc__record(thread)->stress_countdown = heap->options.debug.stress_interval;
    gc__record(thread)->next = heap->threads->first;
    heap->threads->first = thread;
    gc__attach_note(thread, true);
}

GC_API gc_thread *gc_thread_create(gc_heap *heap) {
    if (gc__is_null(heap, "gc_thread_create", "heap")) return NULL;
    if (!heap->options.suspend)
        gc__fail(GC_ERROR_OPTION, "gc_thread_create: options.suspend is 0, so gc.h stops threads itself, and must know "
                                  "each one's native thread: call gc_thread_attach");
    gc_thread *thread = heap->options.suspend ? gc__thread_new(heap, "gc_thread_create") : NULL;
    if (!thread) return NULL;
    gc__record(thread)->unbound = true;
    gc__heap_lock(heap);
    gc__thread_list(heap, thread);
    gc__heap_unlock(heap);
    return thread;
}

GC_API __attribute__((cold)) void gc_thread_destroy(gc_thread *thread) {
    GC_ASSERT(!thread || gc__record(thread)->unbound, "gc_thread_destroy: that is a thread of gc_thread_attach");
    if (!thread || !gc__record(thread)->unbound || gc__is_called_by_hook(thread->heap, "gc_thread_destroy")) return;
    gc__finalizing_forget(thread);
    gc__asking_look(thread, UINTPTR_MAX);
    gc__thread_take_out(thread);
    gc__thread_free(thread);
}

GC_API __attribute__((cold)) gc_thread *gc_thread_attach(gc_heap *heap) {
    GC__API_SCOPE("gc_thread_attach");
    if (!heap) { /* if gc_heap_create has failed, gc_last_message() says why */
        if (gc__last_result == GC_OK) gc__fail(GC_ERROR_ARGUMENT, "gc_thread_attach: heap is NULL");
        return NULL;
    }
    if (gc__thread_self(heap)) {
        gc__fail(GC_ERROR_ATTACHED,
                 "gc_thread_attach: this thread is attached to the heap already; gc_thread_current returns it");
        return NULL;
    }
    gc_thread *thread = gc__thread_new(heap, "gc_thread_attach");
    if (!thread) return NULL;
    gc__record(thread)->conservative = heap->options.conservative_stack;
    if (gc__thread_prepare(thread) != GC_OK) {
        gc__thread_free(thread);
        return NULL;
    }
    gc__record(thread)->tid = gc__os_thread_number();
    gc__heap_lock(heap);
    gc__thread_list(heap, thread);
    gc__record(thread)->next_attachment = GC__MY_ATTACHMENTS;
    GC__OS_KEEP(gc__my_attachments = thread);
    gc__heap_unlock(heap);
    return thread;
}

/* Returns whether the thread is an attachment of the caller. Does not read *thread, which may have ended. */
GC__COLD bool gc__thread_is_mine(const gc_thread *thread) {
    const gc_thread *mine = GC__MY_ATTACHMENTS;
    while (mine && mine != thread) mine = gc__record(mine)->next_attachment;
    return mine != NULL;
}

GC_API void gc_thread_detach(gc_thread *thread) {
    GC__API_SCOPE("gc_thread_detach");
    if (!thread) return;
    if (!gc__thread_is_mine(thread)) {
        GC_ASSERT(false,
                  "gc_thread_detach: that is no attachment of the calling thread: it is another thread's, or has "
                  "ended");
        return;
    }
    if (thread->heap && (gc__is_called_by_hook(thread->heap, "gc_thread_detach") ||
                         gc__is_called_by_asked(thread, "gc_thread_detach", GC__FRAME_TOP())))
        return;
    if (!gc__thread_return(thread)) {
        gc__thread_forget(thread);
        return;
    }
    GC_ASSERT(!thread->frames, "gc_thread_detach: the frame of GC_ROOTS(%s) at %s:%u has not been left",
              thread->frames->site->names, thread->frames->site->file, thread->frames->site->line);
    GC_ASSERT(!thread->code, "gc_thread_detach: called by a native function that returns to compiled code");
    GC_ASSERT(thread->stack == &gc__record(thread)->own_stack,
              "gc_thread_detach: called on a stack of gc_stack_create: switch back first");
    gc__thread_leave(thread);
}

GC_API gc_thread *gc_thread_current(const gc_heap *heap) {
    return gc__is_null(heap, "gc_thread_current", "heap") ? NULL : gc__thread_self(heap);
}
GC_API gc_heap *gc_thread_heap(const gc_thread *thread) {
    if (gc__is_null(thread, "gc_thread_heap", "thread")) return NULL;
    gc_heap *heap = __atomic_load_n(&thread->heap, __ATOMIC_RELAXED);
    return heap && gc__thread_is_lost(heap, thread) ? NULL : heap;
}
GC_API void gc_thread_set_name(gc_thread *thread, const char *name) {
    if (gc__is_null(thread, "gc_thread_set_name", "thread")) return;
    __atomic_store_n(&gc__record(thread)->name, name, __ATOMIC_RELEASE);
}

GC_API void gc_thread_set_conservative(gc_thread *thread, bool conservative) {
    if (gc__is_null(thread, "gc_thread_set_conservative", "thread")) return;
    if (conservative && (!gc__record(thread)->own_stack.base || !gc__record(thread)->stack_base))
        gc__fatal(
            &thread->heap->options,
            "gc_thread_set_conservative: where the stack of the thread `%s` ends is not known: attach on the native "
            "thread's own stack, not on a fiber's, and hand gc_stack_create the highest address of each fiber's",
            gc__thread_name(thread));
    gc__record(thread)->conservative = conservative;
}
