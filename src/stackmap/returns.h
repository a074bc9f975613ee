/* Replaced return addresses. A thread that was interrupted where compiled code cannot be stopped stops when that method
   returns: its return address is replaced by that of a stub, which calls gc__code_on_return.

   A thread has at most one, which it replaces and puts back itself: in the handler of the signal, in the stub, or in
   gc_code_release. So nobody else writes here; collections read while the thread is stopped. If the frame was left by a
   longjmp or an exception, the address is stale; then its slot is below the stack pointer, or holds something else. */
#pragma once

#include "../platform/code_x86_64.h"
#include "../platform/interrupt_linux.h"
#include "../platform/interrupt_windows.h"
#include "../threads/mode.h"

typedef struct gc__interruptee {
    uintptr_t *slot; /* where the replaced address is; NULL: none is */
    uintptr_t original;
    unsigned results; /* of the method that returns there: gc_return_kind of rax, and that of rdx * 4 */
    gc__os_target *target;
    uint64_t random; /* state of a generator, under stress; 0: it is not interrupted without need */
} gc__interruptee;

GC__VAR __thread gc__interruptee gc__my_interruptee;

#define GC__CODE_SP 4
#define GC__CODE_PRESERVED 0xF038u /* with the stack pointer */
#define GC__CODE_RESULTS 0x5u      /* rax, rdx */

/* The attachment of the calling thread whose compiled code may be stopped; NULL: none. */
GC__FN gc_thread *gc__interruptible_self(void) {
    gc_thread *thread = GC__MY_ATTACHMENTS;
    while (thread && !(thread->heap && gc__record(thread)->interruptible)) thread = gc__record(thread)->next_attachment;
    return thread;
}

/* Whether the calling thread may wait for a collection. It is in compiled code, or has just left it: so it can be in gc.h
   only if that has called the host back. */
GC__FN bool gc__code_may_stop(const gc_thread *thread) {
    if (!thread || !thread->heap || !gc__is_cooperative(thread) || gc__inside) return false;
    for (const gc_thread *mine = GC__MY_ATTACHMENTS; mine; mine = gc__record(mine)->next_attachment)
        if (mine->heap && gc__heap_is_locked(mine->heap)) return false;
    return true;
}

/* Waits for a collection at a safe point of compiled code; the frame is what is known of it. */
GC__FN void gc__code_stop(gc_thread *thread, gc_code_frame *frame) {
    frame->previous = thread->code;
    thread->code = frame;
    gc__safepoint_slow(thread);
    thread->code = frame->previous;
}

GC__FN void gc__code_return_lost(const gc_thread *thread, const void *slot) __attribute__((__noreturn__, __cold__));
GC__FN void gc__code_return_lost(const gc_thread *thread, const void *slot) {
    gc__fatal(thread && thread->heap ? &thread->heap->options : NULL,
              "the return address at %p was replaced by an interrupt, but not in this frame, or on another stack: call "
              "gc_stack_switch before each switch of stacks, and gc_code_release before frames are copied",
              slot);
}

__attribute__((used)) GC__FN void gc__code_on_return(gc_code_frame *frame) {
    gc__interruptee *self = &gc__my_interruptee;
    gc_thread *thread = gc__interruptible_self();
    uintptr_t slot = frame->registers[GC__CODE_SP] - 8;
    if ((uintptr_t)self->slot != slot) gc__code_return_lost(thread, (const void *)slot);
    frame->pc = self->original;
    frame->kind = GC_FRAME_CALLER;
    frame->results = (uint16_t)self->results;
    frame->known = GC__CODE_PRESERVED | (self->results ? GC__CODE_RESULTS : 0);
    self->slot = NULL;
    if (gc__code_may_stop(thread)) gc__code_stop(thread, frame);
}

GC__CODE_RETURN_STUB(gc__code_return_stub, gc__code_on_return)
#define GC__CODE_RETURNED GC__CODE_RETURN_TO(gc__code_return_stub)

/* The return address at the slot, in a frame of compiled code, as it was before it was replaced. `thread` runs on that
   stack; NULL: none does. */
__attribute__((no_sanitize("address"))) GC__FN uintptr_t gc__code_return_address(const gc_thread *thread,
                                                                                 const uintptr_t *slot) {
    uintptr_t address = *slot;
    if (GC__LIKELY(address != GC__CODE_RETURNED)) return address;
    const gc__interruptee *owner = thread ? gc__record(thread)->interruptible : NULL;
    if (GC__UNLIKELY(!owner || owner->slot != slot)) gc__code_return_lost(thread, slot);
    return owner->original;
}

/* Forgets the replaced address; puts it back unless its frame has been left. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_put_back(uintptr_t stack_pointer) {
    gc__interruptee *self = &gc__my_interruptee;
    if ((uintptr_t)self->slot >= stack_pointer && *self->slot == GC__CODE_RETURNED) *self->slot = self->original;
    self->slot = NULL;
}

GC_API void gc_code_release(gc_thread *thread) {
    GC__API_SCOPE("gc_code_release");
    GC_ASSERT(!thread || !thread->heap || gc__thread_self(thread->heap) == thread,
              "gc_code_release: called for another thread than the calling one");
    (void)thread;
    if (gc__my_interruptee.slot) gc__code_put_back((uintptr_t)__builtin_frame_address(0));
}
