/* Stopping threads in compiled code. A signal that lands on an instruction of registered code is as if that code had called
   a function there: no lock is held, and nothing of libc's or gc.h's is in progress. So its handler may wait for the
   collection, if the stack map says what lives at that instruction; if not, the method's return address is replaced. A signal
   that lands elsewhere does nothing: the thread polls, or a later one finds it in compiled code. */
#pragma once

#include "explain.h"
#include "walk.h"

#define GC__STRESS_NS_MAX 200000                    /* between two interrupts */
#define GC__SIGNAL_FRAME_BYTES ((uintptr_t)1 << 16) /* at most: the signal's frame and the handler's */

/* The signal has interrupted this very stack: it is handled neither later, nor on a stack for signals. */
GC__FN bool gc__code_is_on_stack(uintptr_t handler, const void *context, uintptr_t stack_pointer) {
    return handler < (uintptr_t)context && (uintptr_t)context < stack_pointer &&
           stack_pointer - handler < GC__SIGNAL_FRAME_BYTES;
}

/* Whether tables of this format say more than what lives after calls; else not even frames may be right elsewhere. */
GC__FN bool gc__code_may_be_interrupted(const gc_code *code) {
    return gc__code_format(code)->is_interruptible || gc__code_format(code)->return_kinds;
}

GC__FN bool gc__code_is_interruptible(const gc_code_cursor *at) {
    const gc_code_format *format = gc__code_format(at->code);
    return format->is_interruptible && format->is_interruptible(at);
}

/* Replaces the return address of the innermost frame whose caller may be stopped at its call; a caller whose call is no safe
   point is passed over. A native caller polls by itself. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_hijack(gc_code_cursor *at, uintptr_t stack_pointer) {
    gc__interruptee *self = &gc__my_interruptee;
    uintptr_t *slot;
    unsigned results;
    do {
        const gc_code_format *format = gc__code_format(at->code);
        if (!format->return_kinds) return;
        results = format->return_kinds(at->code);
        slot = (uintptr_t *)(at->cfa - 8);
        if (*slot == GC__CODE_RETURNED) return;
        gc__walk_leave(at);
        if (!at->code) return;
    } while (!gc__code_is_interruptible(at));
    gc__code_put_back(stack_pointer);
    self->original = at->pc;
    self->results = results;
    self->slot = slot;
    *slot = GC__CODE_RETURNED;
}

/* Under stress: the next interrupt comes after some hundred or thousand instructions. */
GC__FN void gc__code_interrupt_soon(void) {
    uint64_t *x = &gc__my_interruptee.random;
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    gc__os_interrupt_later(1 + *x % GC__STRESS_NS_MAX);
}

/* The frame must lie on the stack, and AddressSanitizer might put it elsewhere. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_interrupt_at(void *context) {
    gc_code_frame frame;
    frame.pc = gc__os_context_pc(context);
    const gc_code *code = gc_code_find((const void *)frame.pc);
    if (!code || !gc__code_may_be_interrupted(code)) return;
    gc_thread *thread = gc__interruptible_self();
    if (!gc__code_may_stop(thread) || !__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) return;
    gc__os_context_read(context, frame.registers);
    uintptr_t stack_pointer = frame.registers[GC__CODE_SP];
    if (!gc__code_is_on_stack((uintptr_t)__builtin_frame_address(0), context, stack_pointer)) return;
    frame.previous = thread->code;
    frame.known = 0xFFFF;
    frame.kind = GC_FRAME_INTERRUPTED;
    frame.results = 0;
    gc_code_cursor at = gc__walk_begin(thread->heap, thread->stack, &frame, NULL);
    if (!gc__code_is_interruptible(&at)) {
        gc__code_hijack(&at, stack_pointer);
        return;
    }
    gc__code_put_back(stack_pointer);
    gc__code_stop(thread, &frame);
    gc__os_context_write(context, frame.registers);
}

/* Runs in the signal's handler. */
GC__FN void gc__code_interrupted(void *context) {
    gc__code_interrupt_at(context);
    if (gc__my_interruptee.random && gc__interruptible_self()) gc__code_interrupt_soon();
}

/* Under GC_STRESS_SAFEPOINT a thread does not wait for a collection of another's: it collects wherever it can be stopped. */
GC__FN void gc__code_stress(const gc_heap *heap, bool interruptible) {
    bool stress = interruptible && heap && heap->options.debug.stress == GC_STRESS_SAFEPOINT;
    gc__my_interruptee.random = 0;
    gc__os_interrupt_later(0);
    if (!stress) return;
    gc__os_interrupt_later(GC__STRESS_NS_MAX); /* makes the timer while no interrupt would make another one */
    gc__my_interruptee.random = gc__os_now_ns() | 1;
    gc__code_interrupt_soon();
}

/* A collection that waits for the calling thread already looks at it again. */
GC__FN void gc__code_tell_collector(gc_thread *thread) {
    uint32_t *count = &thread->heap->threads->stopped_count;
    if (!__atomic_load_n(&thread->heap->threads->stopping, __ATOMIC_SEQ_CST)) return;
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(count);
}

GC_API gc_result gc_thread_set_interruptible(gc_thread *thread, bool interruptible) {
    GC__API_SCOPE("gc_thread_set_interruptible");
    if (gc__is_null(thread, "gc_thread_set_interruptible", "thread")) return GC_ERROR_ARGUMENT;
    GC_ASSERT(!thread->heap || gc__thread_self(thread->heap) == thread,
              "gc_thread_set_interruptible: called for another thread than the calling one");
    gc__interruptee *self = NULL;
    if (interruptible) {
        const gc_thread *other = gc__interruptible_self();
        if (other && other != thread)
            return gc__fail(
                GC_ERROR_MISUSE,
                "gc_thread_set_interruptible: the calling thread is interruptible as `%s`, attached to another "
                "heap, and compiled code does not show whose it is: end that first",
                gc__thread_name(other));
        const char *refusal;
        self = &gc__my_interruptee;
        self->target = gc__os_interruptible(gc__code_interrupted, &refusal);
        if (!self->target) return gc__fail(GC_ERROR_MISUSE, "gc_thread_set_interruptible: %s", refusal);
    } else if (gc__record(thread)->interruptible) {
        gc__code_put_back((uintptr_t)__builtin_frame_address(0));
    }
    bool was = gc__record(thread)->interruptible != NULL;
    __atomic_store_n(&gc__record(thread)->interruptible, self, __ATOMIC_SEQ_CST);
    if (interruptible || was)
        gc__code_stress(thread->heap, interruptible); /* last: what it arms rearms itself only then */
    if (self && thread->heap) gc__code_tell_collector(thread);
    return GC_OK;
}

/* What the world's stop does to a thread. */
GC__FN void gc__code_interrupt(gc_thread *thread) {
    const gc__interruptee *it = __atomic_load_n(&gc__record(thread)->interruptible, __ATOMIC_ACQUIRE);
    if (it) gc__os_interrupt(it->target);
}

GC__FN void gc__code_leave_stack(gc_thread *thread) {
    (void)thread;
    gc__code_put_back((uintptr_t)__builtin_frame_address(0));
}

GC__FN void gc__code_forget(gc_thread *thread) {
    gc__code_stress(thread->heap, false);
    __atomic_store_n(&gc__record(thread)->interruptible, NULL, __ATOMIC_SEQ_CST);
}

static const gc__compiled_code gc__compiled_by_stackmap = {
    gc__code_visit_stack, gc__code_interrupt,   gc__code_print,   gc__code_print_use,
    gc__code_forget,      gc__code_leave_stack, gc__code_lay_out, gc__code_original, gc__code_each};

GC__AT_LOAD GC__FN void gc__compiled_open(void) { gc__compiled = &gc__compiled_by_stackmap; }
