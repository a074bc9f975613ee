/* fork(): before it all other threads of all heaps are stopped and every lock is taken, so the child has a copy of heaps
   between two steps of their threads. In the child these do not exist, and are forgotten.

   A heap that the calling thread has locked already, since fork was called in a callback of a collection or walk, keeps its
   other threads in the child: they stay stopped, and what runs may be going through their list. */
#pragma once

#include "attach.h"

#define GC__EACH_HEAP(heap) for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap)

/* Whether the heap is locked for fork alone. */
GC__FN bool gc__fork_owns(const gc_heap *heap) { return heap->threads->lock_depth == 1; }

/* All that is locked here stays so until gc__fork_end. The caller's registers are saved, and what its frames hold lies above
   the stack pointer that is, so other heaps may scan this thread meanwhile although this function returns. */
GC__FN void gc__fork_begin(void) {
    if (GC_DEBUG >= 1) gc__check_outside("fork");
    gc__heaps_lock_take();
    GC__EACH_HEAP(heap) gc__world_stop(heap);
    GC__EACH_HEAP(heap) {
        if (!gc__fork_owns(heap)) continue;
        gc__lock_take(&heap->handles->lock);
        gc__lock_take(&heap->finalizers->lock);
        gc__lock_take(&heap->threads->roots_lock);
    }
    gc__lock_take(&gc__barrier_lock);
    gc__lock_take(&gc__the_arena.lock);
}

/* The child's copies of locks were taken by a thread of another process. */
GC__FN void gc__fork_adopt(gc__lock *lock) {
    gc__lock_init(lock);
    gc__lock_take(lock);
}

GC__FN void gc__fork_adopt_all(void) {
    gc__fork_adopt(&gc__heaps_lock);
    gc__fork_adopt(&gc__the_arena.lock);
    gc__fork_adopt(&gc__barrier_lock);
    GC__EACH_HEAP(heap) {
        gc__fork_adopt(&heap->threads->lock);
        if (!gc__fork_owns(heap)) continue;
        gc__fork_adopt(&heap->threads->roots_lock);
        gc__fork_adopt(&heap->handles->lock);
        gc__fork_adopt(&heap->finalizers->lock);
    }
}

/* A finalizer that another thread was running does not run on. */
GC__FN void gc__fork_forget_finalizers(gc__finalizers *all, const gc_thread *self) {
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

/* In the child: the threads that were not copied. */
GC__FN void gc__fork_forget_threads(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    gc_thread **link = &heap->threads->first;
    while (*link) {
        gc_thread *thread = *link;
        if (thread == self) {
            link = &gc__record(thread)->next;
            continue;
        }
        thread->frames = gc__record(thread)->own_stack.frames =
            NULL;                            /* on a stack that may be another thread's from now on */
        thread->stack->stack_pointer = NULL; /* a fiber that it runs is lost */
        gc__thread_unlist(thread, link);
        free(thread);
    }
    gc__fork_forget_finalizers(heap->finalizers, self);
    heap->pace->resumed_cpu_ns = gc__os_cpu_ns(); /* the clock has begun anew */
    heap->pace->resumed_by = &gc__my_identity;
}

GC__FN void gc__fork_end(bool in_child) {
    gc__lock_release(&gc__the_arena.lock);
    gc__lock_release(&gc__barrier_lock);
    GC__EACH_HEAP(heap) {
        if (gc__fork_owns(heap)) {
            gc__lock_release(&heap->finalizers->lock);
            gc__lock_release(&heap->handles->lock);
            gc__lock_release(&heap->threads->roots_lock);
            if (in_child) gc__fork_forget_threads(heap);
        }
        gc__world_resume_locked(heap);
        gc__heap_let_go(heap);
    }
    gc__lock_release(&gc__heaps_lock);
    gc__unpark_all();
}

GC__FN void gc__fork_end_parent(void) { gc__fork_end(false); }
GC__FN void gc__fork_end_child(void) {
    gc__fork_adopt_all();
    gc__fork_end(true);
}

/* Arena's lock held. */
GC__FN gc_result gc__fork_open(void) {
    static bool open;
    if (!open) open = gc__os_at_fork(gc__fork_begin, gc__fork_end_parent, gc__fork_end_child);
    if (open) return GC_OK;
    return gc__fail(GC_ERROR_MEMORY, "gc_heap_create: the system gives no memory to have gc.h told of fork()");
}
