/* Mutator threads. */
#pragma once

#include "../diag/stress.h"

GC_API gc_thread *gc_thread_attach(gc_heap *heap) {
    if (heap->threads) {
        gc__fail(GC_ERROR_THREADS,
                 "gc_thread_attach: the heap already has a thread; detach it first, or give each thread a heap");
        return NULL;
    }
    gc_thread *thread = (gc_thread *)calloc(1, sizeof *thread);
    if (!thread) {
        gc__fail(GC_ERROR_MEMORY, "gc_thread_attach: the system gives no memory for the thread's record");
        return NULL;
    }
    thread->heap = heap;
    thread->stack_base = gc__os_stack_base();
    if (!thread->stack_base && heap->options.conservative_stack) {
        gc__fail(GC_ERROR_MISUSE, "gc_thread_attach: conservative_stack is set, but the system does not tell where the "
                                  "thread's stack is: is /proc mounted?");
        free(thread);
        return NULL;
    }
    thread->poll = heap->options.stress == GC_STRESS_SAFEPOINT;
    thread->stress_countdown = heap->options.stress_interval;
    heap->threads = thread;
    return thread;
}

GC_API void gc_thread_detach(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    GC_ASSERT(!thread->frames, "gc_thread_detach: the frame of GC_ROOTS(%s) at %s:%u has not been left",
              thread->frames->site->names, thread->frames->site->file, thread->frames->site->line);
    GC_ASSERT(!heap->collecting, "gc_thread_detach: called during a collection");
    gc__thread_close_windows(thread);
    for (gc_frame *frame = thread->frames; frame; frame = frame->previous) frame->thread = NULL;
    gc_thread **link = &heap->threads;
    while (*link != thread) link = &(*link)->next;
    *link = thread->next;
    free(thread);
}

GC_API gc_heap *gc_thread_heap(const gc_thread *thread) { return thread->heap; }

GC_API void gc__safepoint_slow(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (heap->options.stress == GC_STRESS_SAFEPOINT)
        gc__collect(heap, (int)(heap->collection.number % GC_GENERATIONS), GC_REASON_STRESS, true);
}
