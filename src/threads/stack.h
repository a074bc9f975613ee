/* Stacks that threads run on: their own, fibers, coroutines. */
#pragma once

#include "frames.h"

GC_API gc_stack *gc_stack_create(gc_heap *heap, void *base) {
    if (gc__is_null(heap, "gc_stack_create", "heap")) return NULL;
    gc_stack *stack = (gc_stack *)calloc(1, sizeof *stack);
    if (!stack) {
        gc__fail_memory("gc_stack_create", "the stack's record");
        return NULL;
    }
    stack->heap = heap;
    stack->base = (char *)base;
    stack->conservative = heap->options.conservative_stack;
    gc__lock_take(&heap->threads->roots_lock);
    stack->next = heap->threads->stacks;
    heap->threads->stacks = stack;
    gc__lock_release(&heap->threads->roots_lock);
    return stack;
}

GC_API __attribute__((cold)) void gc_stack_destroy(gc_stack *stack) {
    if (!stack) return;
    GC_ASSERT(!stack->thread, "gc_stack_destroy: the stack is running");
    gc__frames_assign(stack->heap, stack->frames, stack->last, NULL);
    gc__lock_take(&stack->heap->threads->roots_lock);
    gc_stack **link = &stack->heap->threads->stacks;
    while (*link != stack) link = &(*link)->next;
    *link = stack->next;
    gc__lock_release(&stack->heap->threads->roots_lock);
    free(stack);
}

GC_API void gc__stack_switch(gc_thread *thread, gc_stack *stack) {
    GC__API_SCOPE("gc_stack_switch");
    gc_stack *left = thread->stack;
    if (!stack) stack = &gc__record(thread)->own_stack;
    GC_ASSERT(!stack->thread || stack->thread == thread, "gc_stack_switch: the stack runs on another thread");
    GC_ASSERT(stack->heap == thread->heap, "gc_stack_switch: the stack belongs to another heap");
    GC_ASSERT(
        stack->base || !gc__record(thread)->conservative,
        "gc_stack_switch: the thread's native stacks are scanned conservatively, but gc_stack_create was not told "
        "this one's highest address");
    if (GC__UNLIKELY(stack->code && stack->last != thread))
        gc__fatal(&thread->heap->options,
                  "gc_stack_switch: the thread `%s` enters a stack on which another thread has left compiled code: that "
                  "code holds its gc_thread, so the same thread must enter the stack again",
                  gc__thread_name(thread));
    if (gc__record(thread)->interruptible) gc__compiled->leave_stack(thread);
    left->frames = thread->frames;
    left->code = thread->code;
    left->stack_pointer = (char *)left->registers[GC__SAVED_STACK_POINTER];
    left->thread = left == &gc__record(thread)->own_stack ? thread : NULL;
    left->conservative |= gc__record(thread)->conservative && left != &gc__record(thread)->own_stack;
    if (stack->last != thread) gc__frames_assign(thread->heap, stack->frames, stack->last, thread);
    stack->thread = stack->last = thread;
    thread->stack = stack;
    thread->frames = stack->frames;
    thread->code = stack->code;
    stack->frames = NULL; /* while the thread runs there the frames are in the thread's own list */
    stack->code = NULL;
    gc__record(thread)->stack_base = stack->base;
}
