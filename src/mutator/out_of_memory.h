/* Asking the host for room, by its out_of_memory hook. */
#pragma once

#include "../weak/finalizers.h"
#include "../threads/lock.h"

/* Adds to the last error, if that is the cause, that finalizers are queued and no thread runs them. */
GC__COLD void gc__explain_full(gc_heap *heap) {
    size_t finalizers = gc__last_result == GC_ERROR_HEAP_FULL ? gc__finalizers_neglected(heap) : 0;
    if (finalizers)
        gc__fail_more("; %zu finalizers are queued, for objects that stay until these have run, and no thread runs them now: "
                      "call gc_finalizer_run more often, or gc_finalizer_thread_start",
                      finalizers);
}

#define GC__ASKING_MAX 64

/* Returns whether the hook allocates, and so calls itself without end. A hook that was left by longjmp deeper and
   deeper in the stack looks the same, but not as often. */
GC__COLD bool gc__asks_itself(const gc__thread_record *record) {
    if (record->asking < GC__ASKING_MAX) return false;
    gc__fail(GC_ERROR_MISUSE,
             "an allocation in the out_of_memory hook, which must not allocate from this heap: it has called itself %d "
             "times by that",
             GC__ASKING_MAX);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

/* Calls the hook. It may be left by longjmp or an exception, so nothing is held here, and the record of the call
   shows later that it is over: gc.h is called from above its frame then. */
GC__COLD bool gc__call_out_of_memory(gc_thread *thread, size_t bytes, const char *message) {
    const gc_options *options = &thread->heap->options;
    gc__thread_record *record = gc__record(thread);
    uintptr_t frame = gc__stack_below(), outer_frame = record->asking_frame;
    const gc_stack *outer_stack = record->asking_stack;
    unsigned outer = record->asking;
    if (!outer) __atomic_fetch_add(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
    record->asking = outer + 1;
    record->asking_frame = frame;
    record->asking_stack = thread->stack;
    GC__HOST_SCOPE;
    bool again = options->out_of_memory(options->host, bytes, message);
    record->asking = outer;
    record->asking_frame = outer_frame;
    record->asking_stack = outer_stack;
    if (!outer) __atomic_fetch_sub(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
    return again;
}

GC__COLD bool gc__ask_host(gc_thread *thread, size_t bytes) {
    gc_heap *heap = thread->heap;
    gc__thread_record *record = gc__record(thread);
    if (!heap->options.out_of_memory || gc__is_abandoned(heap)) return false;
    gc__asking_look(thread, gc__stack_below());
    if (gc__asks_itself(record)) return false;
    gc_result result = gc__last_result;
    char message[GC__MESSAGE_BYTES];
    memcpy(message, gc__last_message, sizeof message);
    bool promised = record->promised;
    if (promised) gc__finalizer_withdraw(thread);
    bool again = gc__call_out_of_memory(thread, bytes, message);
    if (again && promised) return gc__finalizer_promise(thread);
    if (!again) gc__fail(result, "%s", message); /* whatever has failed in the hook */
    return again;
}
