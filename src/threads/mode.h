/* Attached threads, and their modes: how a thread becomes preemptive, and how a thread that stops the others sees that.

   A thread that waits in gc.h is parked: until it returns it is in preemptive mode in all heaps to which it is
   attached. So no collection waits for a thread that itself waits. */
#pragma once

#include "../api/thread.h"
#include "../space/heap.h"

/* The private part of an attached thread. The rules for writing gc_thread hold here, unless a field says otherwise. */
typedef struct gc__thread_record {
    gc_thread thread;           /* comes first: a thread's address is its record's */
    gc_thread *next;            /* in the heap's list; under the heap's lock */
    gc_thread *next_attachment; /* in the native thread's list, which only that thread uses */
    bool parked;                /* atomic; a function of gc.h waits, and returns to cooperative mode before it ends */
    bool conservative;          /* the native stack is a root, too */
    bool unbound;               /* of gc_thread_create: no native thread's, so it has no stack, nor roots */
    unsigned asking;            /* known nested calls of out_of_memory, see gc__asking_look */
    uintptr_t asking_frame;     /* the frames of the innermost such call are below this address */
    const gc_stack *asking_stack;
    unsigned finalizing; /* finalizers that the thread runs; under their lock, changed by the thread */
    unsigned promised; /* finalizers that have room: of the object being allocated, and of one a hook registers */
    const char *name;           /* for statistics and reports; atomic */
    uint32_t tid;               /* the system's number of the native thread, for readers in other processes */
    char *stack_pointer;        /* of a stopped thread: the heap does not read the stack below it; NULL: in cooperative mode */
    char *stack_base;           /* the highest address of the native stack in use, for conservative scanning */
    gc_stack own_stack;
    uint64_t stopped_at_ns;                     /* atomic; when it last stopped for a waiting collection */
    uint64_t stop_max_ns, stop_total_ns, stops; /* how long collections have waited for the thread, and how often */
    struct gc__handle_cache *handle_caches;     /* free handles, by kind; used in cooperative mode */
    uint64_t stress_countdown;
    gc__local_spans local_spans;                            /* serve both windows of gc_thread */
    gc_window fixed; /* for objects that never move: in a region of which other threads may have other holes */
    struct gc__profiled_thread *profiled;  /* what gc_profile.h stores for this thread; NULL: nothing */
    struct gc__interruptee *interruptible; /* atomic, written by the thread; NULL: the thread is not interrupted */
} gc__thread_record;

GC__FN gc__thread_record *gc__record(const gc_thread *thread) { return (gc__thread_record *)thread; }

GC__FN const char *gc__thread_name(const gc_thread *thread) {
    const char *name = __atomic_load_n(&gc__record(thread)->name, __ATOMIC_ACQUIRE);
    return name ? name : "(unnamed)";
}

/* The functions that threads with compiled code need. gc_stackmap.h implements them, and sets gc__compiled before any
   thread has a gc_code_frame or is interruptible. */
typedef struct gc__compiled_code {
    /* Visits the roots in the compiled frames of the stack, from `innermost` on, and sets root_method. */
    void (*visit)(gc_heap *heap, const gc_stack *stack, struct gc_code_frame *innermost, gc_visitor *visitor);
    /* Makes a thread in cooperative mode stop soon. May be called again until the thread has stopped. */
    void (*interrupt)(gc_thread *thread);
    /* Prints the innermost compiled frames of the calling thread to stderr, for a report. */
    void (*print)(gc_thread *thread);
    /* Prints which compiled method the pc is in, if any, for a report of the use of a stale reference there. */
    void (*print_use)(uintptr_t pc);
    /* Ends the record of an interruptible attachment of the calling thread. */
    void (*forget)(gc_thread *thread);
    /* Called when the calling thread leaves the stack that it runs on. */
    void (*leave_stack)(gc_thread *thread);
    /* For walks of the calling thread's native stack, also in signal handlers. Returns whether the pc (a return address
       if `is_call`) is in compiled code. If so, sets the cfa of its frame and where registers are saved, as a
       gc_code_cursor has them, and removes registers whose value in the caller is lost from `known`. Reads nothing from
       `end` on. */
    bool (*lay_out)(uintptr_t pc, bool is_call, uintptr_t *registers, uintptr_t end, uint32_t *known, uintptr_t *cfa,
                    int32_t *saved);
    /* Returns what a return address, read from a compiled frame of the calling thread, was before it was replaced. */
    uintptr_t (*original)(uintptr_t address);
    /* Calls f for all registered code; no code is added or removed during the call. */
    void (*each)(void (*f)(void *context, const void *start, size_t bytes, const char *name), void *context);
} gc__compiled_code;
static const gc__compiled_code *gc__compiled;

/* Called after compiled code was registered, and before it is removed. gc_profile.h sets it while a profile is taken.
   Atomic; NULL: nobody needs the calls. */
typedef void (*gc__code_watch_call)(const void *start, size_t bytes, const char *name, bool is_added);
static gc__code_watch_call gc__code_watcher;

GC__FN void gc__code_tell(const void *start, size_t bytes, const char *name, bool is_added) {
    gc__code_watch_call watcher = __atomic_load_n(&gc__code_watcher, __ATOMIC_ACQUIRE);
    if (watcher) watcher(start, bytes, name, is_added);
}

/* A collection waits for the threads, or runs; the heap is being destroyed, or was; and its callbacks have ended. */
enum { GC__STOP_COLLECTS = 1, GC__STOP_ENDS = 2, GC__STOP_ABANDONED = 4 };

typedef struct gc__threads {
    gc__lock lock; /* the heap's lock */
    unsigned lock_depth;
    gc__lock roots_lock;    /* guards global slots and stacks */
    uint32_t stopping;      /* atomic; GC__STOP_*, written under the lock; 0: threads become cooperative without that */
    uint32_t stopped_count; /* atomic; changes when a thread that a collection may wait for has stopped */
    bool asked;             /* atomic; concurrent marking is done, and the next thread at a safe point is to end it */
    bool crowded;           /* atomic; the last stop was of more running threads than there are processors */
    unsigned stop_depth;
    uint64_t stop_started_ns;  /* when threads were asked to stop; 0: there were none, or the time was counted */
    uint64_t slowest_ns;       /* until the last thread had stopped */
    const gc_thread *slowest;  /* the last thread to stop, while they are stopped; NULL: the host has stopped them */
    unsigned processors; /* read once from the system */
    gc_thread *first;
    uint32_t users;     /* atomic; the records of threads, and 1 while the heap exists: the last to leave frees the heap's */
    uint32_t asking; /* atomic; number of threads in out_of_memory, which is called without the lock */
    gc_heap *next_heap;    /* in the list of all heaps; under that list's lock */
    gc_stack *stacks;      /* made by gc_stack_create; under the roots lock */
    const char *root_kind; /* while roots are visited: what reports them */
    const gc_frame_site *root_site;
    const char *root_method; /* the method of a compiled frame, with its pc's offset; NULL: not compiled */
    size_t root_offset;
} gc__threads;

static __thread gc_thread *gc__my_attachments; /* the attachments of the calling native thread */
#define GC__MY_ATTACHMENTS GC__OS_KEPT(gc__my_attachments)
static __thread unsigned gc__my_parked;        /* the number of these attachments that are parked, and gc__my_host */
static __thread const gc_heap *gc__my_host;    /* its after_wait is to be called; NULL: none */
/* Saved by the function that takes a heap's lock, or waits, before it does so. */
GC__VAR __thread uintptr_t gc__my_registers[GC__SAVED_REGISTERS];

GC__FN bool gc__heap_is_locked(const gc_heap *heap) { return gc__lock_is_mine(&heap->threads->lock); }

GC__FN bool gc__is_abandoned(const gc_heap *heap) {
    return (__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST) & GC__STOP_ABANDONED) != 0;
}

GC__FN gc_thread *gc__thread_self(const gc_heap *heap) {
    gc_thread *thread = GC__MY_ATTACHMENTS;
    while (thread && thread->heap != heap) thread = gc__record(thread)->next_attachment;
    return thread;
}

GC__FN bool gc__is_cooperative(const gc_thread *thread) {
    return __atomic_load_n(&thread->mode, __ATOMIC_SEQ_CST) == GC_MODE_COOPERATIVE;
}

/* Returns whether the thread is preemptive of its own will, and not within a finalizer: it needs nothing of the heap. */
GC__FN bool gc__thread_is_idle(const gc_thread *thread) {
    const gc__thread_record *record = gc__record(thread);
    return !gc__is_cooperative(thread) && !__atomic_load_n(&record->parked, __ATOMIC_RELAXED) && !record->finalizing;
}

/* Returns whether the heap is gone for the thread. Under the heap's lock that stays so. */
GC__OUT_OF_LINE bool gc__thread_is_lost(const gc_heap *heap, const gc_thread *thread) {
    return __atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST) & GC__STOP_ENDS && gc__thread_is_idle(thread);
}

GC__FN void gc__set_parked(gc_thread *thread, bool parked) {
    __atomic_store_n(&gc__record(thread)->parked, parked, __ATOMIC_RELAXED);
}

/* From the end of this function on a collection may run. The store and load here and those of gc__world_stop have one
   total order: either the collector sees that this thread is preemptive, or this thread sees that the collector waits,
   and wakes it. */
GC__FN void gc__thread_stop(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST))
        __atomic_store_n(&gc__record(thread)->stopped_at_ns, gc__os_now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&thread->mode, (uint32_t)GC_MODE_PREEMPTIVE, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST)) return;
    __atomic_fetch_add(&heap->threads->stopped_count, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&heap->threads->stopped_count);
}

/* Puts the calling thread's cooperative attachments, except that to `heap`, into preemptive mode while the thread
   waits. gc__my_registers must hold the registers of a function that is on the stack until the attachments are
   cooperative again. */
GC__FN void gc__park(const gc_heap *heap) {
    for (gc_thread *thread = GC__MY_ATTACHMENTS; thread; thread = gc__record(thread)->next_attachment) {
        if (!thread->heap || thread->heap == heap || !gc__is_cooperative(thread)) continue;
        memcpy(thread->registers, gc__my_registers, sizeof thread->registers);
        gc__record(thread)->stack_pointer = (char *)thread->registers[GC__SAVED_STACK_POINTER];
        gc__set_parked(thread, true);
        gc__my_parked++;
        gc__thread_stop(thread);
    }
}
