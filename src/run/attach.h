/* Mutator threads. */
#pragma once

#include "../heap/window.h"
#include "../threads/frames.h"
#include "../handles/table.h"

GC__FN void gc__thread_close_frames(gc_thread *thread) {
    gc__frames_assign(thread->heap, thread->frames, NULL);
    gc__frames_assign(thread->heap, thread->own_stack.frames, NULL);
}

GC__FN void gc__thread_forget(gc_thread *thread) {
    gc_thread **link = &gc__mine;
    while (*link != thread) link = &(*link)->next_mine;
    *link = thread->next_mine;
    free(thread);
}

/* Ends the calling thread's attachment, in whichever mode it is. */
GC__FN void gc__thread_leave(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    gc__heap_lock(heap);
    gc__thread_close_windows(thread);
    gc__thread_close_frames(thread);
    gc__handles_return_cached(thread);
    thread->stack->thread = NULL; /* a fiber's, maybe */
    gc_thread **link = &heap->threads->first;
    while (*link != thread) link = &(*link)->next;
    *link = thread->next;
    gc__heap_unlock(heap);
    gc__thread_forget(thread);
}

/* A native thread ends: whatever it is still attached to. */
GC__FN void gc__thread_ended(void) {
    while (gc__mine) {
        gc_thread *thread = gc__mine;
        if (!thread->heap) {
            gc__thread_forget(thread);
            continue;
        }
        char message[256];
        snprintf(message, sizeof message, "the thread `%s` ended without gc_thread_detach; its roots are dropped",
                 thread->name ? thread->name : "(unnamed)");
        thread->frames = thread->own_stack.frames = NULL; /* they were on its stack, which is no more */
        thread->conservative = false;
        gc__warn(&thread->heap->options, message);
        gc__thread_leave(thread);
    }
}

GC__FN gc_result gc__thread_prepare(gc_thread *thread) {
    if (!gc__os_at_thread_end(gc__thread_ended))
        return gc__fail(GC_ERROR_MEMORY,
                        "gc_thread_attach: the system has no thread-specific key left, by which the end of a "
                        "thread is noticed");
    thread->stack_base = gc__os_stack_base();
    thread->stack = &thread->own_stack;
    thread->own_stack.heap = thread->heap;
    thread->own_stack.thread = thread->own_stack.last = thread;
    thread->own_stack.base = thread->stack_base;
    if (thread->stack_base || !thread->conservative) return GC_OK;
    return gc__fail(GC_ERROR_MISUSE,
                    "gc_thread_attach: conservative_stack is set, but the system does not tell where the "
                    "thread's stack is: is /proc mounted?");
}

GC_API gc_thread *gc_thread_attach(gc_heap *heap) {
    GC__ENTER("gc_thread_attach");
    if (!heap) return NULL; /* gc_last_message() is why gc_heap_create failed */
    if (gc__thread_self(heap)) {
        gc__fail(GC_ERROR_THREADS,
                 "gc_thread_attach: this thread is attached to the heap already; gc_thread_current returns it");
        return NULL;
    }
    gc_thread *thread = (gc_thread *)calloc(1, sizeof *thread);
    if (!thread) {
        gc__fail(GC_ERROR_MEMORY, "gc_thread_attach: the system gives no memory for the thread's record");
        return NULL;
    }
    thread->heap = heap;
    thread->conservative = heap->options.conservative_stack;
    if (gc__thread_prepare(thread) != GC_OK) {
        free(thread);
        return NULL;
    }
    thread->poll = heap->options.stress == GC_STRESS_SAFEPOINT;
    thread->stress_countdown = heap->options.stress_interval;
    gc__heap_lock(heap);
    thread->next = heap->threads->first;
    heap->threads->first = thread;
    thread->next_mine = gc__mine;
    gc__mine = thread;
    gc__heap_unlock(heap);
    return thread;
}

GC_API void gc_thread_detach(gc_thread *thread) {
    GC__ENTER("gc_thread_detach");
    if (!thread) return;
    if (!thread->heap) { /* it was destroyed */
        gc__thread_forget(thread);
        return;
    }
    GC_ASSERT(gc__thread_self(thread->heap) == thread,
              "gc_thread_detach: called from another thread than the attached one");
    GC_ASSERT(!thread->frames, "gc_thread_detach: the frame of GC_ROOTS(%s) at %s:%u has not been left",
              thread->frames->site->names, thread->frames->site->file, thread->frames->site->line);
    GC_ASSERT(thread->stack == &thread->own_stack,
              "gc_thread_detach: called on a stack of gc_stack_create: switch back first");
    GC_ASSERT(!gc__heap_is_locked(thread->heap), "gc_thread_detach: called during a collection");
    gc__thread_leave(thread);
}

GC_API gc_thread *gc_thread_current(const gc_heap *heap) {
    return gc__is_null(heap, "gc_thread_current", "heap") ? NULL : gc__thread_self(heap);
}
GC_API gc_heap *gc_thread_heap(const gc_thread *thread) {
    return gc__is_null(thread, "gc_thread_heap", "thread") ? NULL : thread->heap;
}
GC_API void gc_thread_set_name(gc_thread *thread, const char *name) {
    if (!gc__is_null(thread, "gc_thread_set_name", "thread")) thread->name = name;
}
GC_API void gc_thread_set_conservative(gc_thread *thread, bool conservative) {
    if (!gc__is_null(thread, "gc_thread_set_conservative", "thread")) thread->conservative = conservative;
}
