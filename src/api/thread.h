/* Mutator threads, their modes, and shadow-stack frames.

   A thread in cooperative mode may touch the heap; a collection waits until it comes to a safe point: gc_safepoint, an
   allocation's slow path, or a change of mode. In preemptive mode it must not touch the heap, nor roots that a collection
   may update, and a collection does not wait for it. Every call that may block brackets itself with preemptive mode.

   A thread may end by pthread_exit, or by a cancellation that finds it in preemptive mode. Its scopes of GC_ROOTS and
   GC_IN_MODE must be left then, as they are in C that is compiled with -fexceptions. Otherwise collections find frames on a
   stack that other code uses, and where they notice that they stop the program with a sentence.

   fork() is a safe point of all heaps: it waits for their other threads as a collection does (options.suspend is called,
   and options.restart in both processes), and for locks of gc.h that other threads hold. The child has copies of the heaps,
   in which only the thread that forked is attached: the roots of the others are dropped, and the finalizers that they were
   running are not run again. So do not call fork in a signal handler, and use _Fork, vfork and clone only for children that
   call exec or _exit. With musl, and with glibc before 2.36, a second thread that calls fork meanwhile waits in the C
   library, where gc.h cannot stop it: there threads call fork in preemptive mode, if several do, and none while a callback of
   a collection or walk does. Two threads that call fork in such callbacks of two heaps, or write the objects of a profile in
   callbacks of walks, would wait for each other: that ends the program.

   Signal handlers may run at any time, and may read the mode (gc_thread_mode), but call nothing else of gc.h: the thread
   may be in the middle of an allocation or a collection, or hold a lock. Let the handler set a flag, and test it where the
   thread calls gc_safepoint. GC_DEBUG >= 1 reports calls by a handler that has interrupted a slow path, GC_DEBUG >= 2 also
   stores. */
#pragma once

#include "roots.h"

#include <string.h>

/* Whether a thread may touch objects. */
typedef enum gc_mode {
    GC_MODE_COOPERATIVE, /* it may: collections wait for its next safe point */
    GC_MODE_PREEMPTIVE   /* it may not: collections go on without it */
} gc_mode;

/* What reports say of a frame: static data that GC_ROOTS makes. */
typedef struct gc_frame_site {
    const char *names; /* "list, cell" */
    const char *function;
    const char *file;
    unsigned line;
    unsigned flags; /* GC_SLOT_* of all slots of the frame */
} gc_frame_site;

/* One shadow-stack frame: the addresses of C variables that are roots. */
typedef struct gc_frame {
    struct gc_frame *previous;
    const gc_frame_site *site;
    gc_thread *thread; /* NULL: its heap was destroyed */
    size_t count;
    void **slots; /* count addresses of variables */
} gc_frame;

/* A stack and, while no thread runs on it, the state in which it was left. Written by the thread that leaves it. */
typedef struct gc_stack {
    struct gc_stack *next; /* in the heap's list: roots lock */
    gc_heap *heap;
    struct gc_thread *thread; /* runs on this stack; NULL: none does */
    struct gc_thread *last;   /* has last run on it; its frames name that thread */
    gc_frame *frames;
    struct gc_code_frame *code; /* compiled frames that were left on it (gc_stackmap.h) */
    bool
        conservative; /* a fiber's: a thread whose native stacks are scanned has run on it, so it is scanned ever after */
    char *base;       /* the highest address; NULL: not scanned conservatively */
    char *stack_pointer; /* below it nothing is in use */
    uintptr_t registers[GC__SAVED_REGISTERS];
} gc_stack;

/* A piece of memory in which objects are allocated by moving a pointer. Inline code, and compiled code of a host's, uses
   the first two fields only: bytes fit if they are at most limit - next, and then next moves by them. */
typedef struct gc_window {
    char *next;                /* next free byte */
    char *limit;               /* next <= limit */
    char *end;                 /* the furthest to which the limit can be moved */
    char *start;               /* objects from here on are not accounted for yet */
    struct gc__region *region; /* NULL: none is open, and next == limit */
} gc_window;

/* A mutator, as inline code sees it: the collector's record has more. All fields are written by the owning thread, or by
   the collector while that thread is stopped, unless they say otherwise. */
struct gc_thread {
    gc_window window; /* zeroed memory */
    gc_window raw;    /* for contents that are not zeroed */
    gc_frame *frames; /* innermost first */
    uint32_t poll;    /* nonzero: the next safe point calls gc__safepoint_slow; atomic, written under the heap's lock */
    uint32_t mode;    /* gc_mode; atomic, written by the owning thread */
    gc_heap *heap;    /* atomic; NULL: it was destroyed, and the owning thread still has to forget this record */
    gc_stack *stack;  /* on which it runs: its own, or one of gc_stack_create */
    struct gc_code_frame *code;               /* where compiled code was left (gc_stackmap.h), innermost first */
    void (*safepoint)(struct gc_thread *);    /* what gc_safepoint calls if poll is not 0; for assembly */
    uintptr_t registers[GC__SAVED_REGISTERS]; /* in preemptive mode: what callee-saved registers held */
};

/* Makes the calling native thread a mutator of heap, in cooperative mode, after waiting for a collection that runs. A
   native thread may be attached to several heaps, once to each; a call that may wait for one is a safe point of all. Detach
   on the same native thread, at the latest in a destructor of thread-specific data; a thread that ends attached is detached
   with a warning. If native stacks are scanned conservatively, attach on the native thread's own stack, not on a fiber's.
   Returns NULL on failure; if heap is NULL, gc_last_message stays that of gc_heap_create. [any thread; may wait; NULL:
   GC_ERROR_MEMORY, GC_ERROR_ATTACHED, GC_ERROR_MISUSE] */
GC_API gc_thread *gc_thread_attach(gc_heap *heap);
/* Ends the attachment; NULL is allowed. Leave the scopes of GC_ROOTS first, as GC_DEBUG >= 1 asserts: otherwise their
   variables cease to be roots. What the thread has not used of its window, up to 16 KiB, counts as allocated, so a host that
   attaches for each request spends as much of the nursery each time. [its own thread; may wait; cannot fail] */
GC_API void gc_thread_detach(gc_thread *thread);
/* A gc_thread that is bound to no native thread, for a host that stops threads by itself (options.suspend) and has such records
   of its own: any native thread may allocate and store by it, one at a time, while it may touch objects. It has no frames, and
   its mode says nothing; gc.h may wait only if the host has before_wait, or lets one thread at a time call it. scan_roots is
   not called for it. It ends by gc_thread_destroy, on any thread, or with the heap. Source: gc_alloc_context. [any thread; may
   wait; NULL: GC_ERROR_MEMORY, GC_ERROR_OPTION] */
GC_API gc_thread *gc_thread_create(gc_heap *heap);
/* Ends a record of gc_thread_create; NULL is allowed. [any thread; may wait; cannot fail] */
GC_API void gc_thread_destroy(gc_thread *thread);
/* The calling native thread's attachment to the heap, NULL if it has none. [any thread; never collects; NULL: not
   attached] */
GC_API gc_thread *gc_thread_current(const gc_heap *heap);
/* The heap that the thread is attached to; NULL: another thread has destroyed it, or is about to. The record of the thread that
   destroys the heap is freed with that, so it must not be asked. [any thread; never collects; cannot fail] */
GC_API gc_heap *gc_thread_heap(const gc_thread *thread);
/* A name for statistics and reports; the string stays the caller's and must outlive the attachment. [any thread; never
   collects; cannot fail] */
GC_API void gc_thread_set_name(gc_thread *thread, const char *name);
/* Sets whether the native stacks on which the calling thread runs are scanned conservatively; options.conservative_stack is
   the initial value. A fiber's stack on which such a thread has run is scanned ever after. Ends the program if the bounds
   of the stack on which the thread was attached are unknown. [its own thread; never collects; cannot fail] */
GC_API void gc_thread_set_conservative(gc_thread *thread, bool conservative);

/* Changes the calling thread's mode. Returns the former mode, which the caller sets again later: so brackets nest, even
   those of callbacks that need cooperative mode within a preemptive call. Entering cooperative mode waits for a collection
   that runs; entering preemptive mode never waits. Neither collects by itself. If the heap was destroyed meanwhile, the thread
   stays in preemptive mode, and gc_thread_heap is NULL. Source: EnablePreemptiveGC, DisablePreemptiveGC. [its own thread; may
   wait; cannot fail] */
static inline __attribute__((always_inline)) gc_mode gc_thread_set_mode(gc_thread *thread, gc_mode mode);
/* The thread's mode now; a signal handler may ask, too. [any thread; never collects; cannot fail] */
static inline gc_mode gc_thread_mode(const gc_thread *thread) {
    return (gc_mode)__atomic_load_n(&thread->mode, __ATOMIC_SEQ_CST);
}
/* Puts the rest of the scope into that mode. The scope must end before the heap does. Where native stacks are scanned
   conservatively, callbacks from preemptive mode use this rather than gc_thread_set_mode: it keeps the registers that the
   outer call has saved. */
#define GC_IN_MODE(thread, mode) GC__IN_MODE(__COUNTER__, thread, mode)
#define GC__IN_MODE(id, thread, mode)                                                        \
    gc__mode_scope GC__NAME(gc__mode, id) __attribute__((cleanup(gc__mode_leave), unused)) = \
        gc__mode_enter((thread), (mode))

GC__EXTERN GC__VISIBLE void gc__save_registers(uintptr_t *registers);
GC_API gc_mode gc__thread_set_mode(gc_thread *thread, gc_mode mode);
static inline __attribute__((always_inline)) gc_mode gc_thread_set_mode(gc_thread *thread, gc_mode mode) {
    /* First of all, while the registers still hold what the caller holds. In preemptive mode they were saved before. */
    if (mode == GC_MODE_PREEMPTIVE && gc_thread_mode(thread) != GC_MODE_PREEMPTIVE)
        gc__save_registers(thread->registers);
    return gc__thread_set_mode(thread, mode);
}

typedef struct gc__mode_scope {
    gc_thread *thread;
    gc_mode former;
    uintptr_t registers[GC__SAVED_REGISTERS]; /* those that were saved when the former mode was entered */
} gc__mode_scope;

static inline __attribute__((always_inline)) gc__mode_scope gc__mode_enter(gc_thread *thread, gc_mode mode) {
    gc__mode_scope scope;
    for (int i = 0; i < GC__SAVED_REGISTERS; i++) scope.registers[i] = thread->registers[i];
    scope.thread = thread;
    scope.former = gc_thread_set_mode(thread, mode);
    return scope;
}

static inline void gc__mode_leave(gc__mode_scope *scope) {
    gc_thread *thread = scope->thread;
    if (scope->former == GC_MODE_PREEMPTIVE && gc_thread_mode(thread) != GC_MODE_PREEMPTIVE)
        for (int i = 0; i < GC__SAVED_REGISTERS; i++) thread->registers[i] = scope->registers[i];
    gc__thread_set_mode(thread, scope->former);
}

/* A stack for a coroutine or fiber. It has frames (GC_ROOTS) of its own, which stay roots while it does not run. If threads
   are scanned conservatively, so is the native stack, from where it was left to `base`, its highest address; otherwise
   `base` may be NULL. The caller owns the gc_stack, and destroys it when the fiber will not run again, on any thread in
   cooperative mode. Returns NULL when memory is exhausted. [any thread; never collects; NULL: GC_ERROR_MEMORY] */
GC_API gc_stack *gc_stack_create(gc_heap *heap, void *base);
/* Ends the stack; NULL is allowed. The frames that are left on it cease to be roots. [cooperative; never collects; cannot
   fail] */
GC_API void gc_stack_destroy(gc_stack *stack);
/* Leaves the stack on which the thread runs, and enters `stack`, or with NULL the thread's own. Call it just before the
   native switch: between the two nothing may allocate or poll. Some ten stores; more if `stack` was left by another thread
   of the heap. [cooperative; never collects; cannot fail] */
static inline void gc_stack_switch(gc_thread *thread, gc_stack *stack);

GC_API void gc__stack_switch(gc_thread *thread, gc_stack *stack);
static inline void gc_stack_switch(gc_thread *thread, gc_stack *stack) {
    gc__save_registers(thread->stack->registers);
    gc__stack_switch(thread, stack);
}

/* A place where a collection may run. One load and one predicted branch. [cooperative; may collect; cannot fail] */
static inline void gc_safepoint(gc_thread *thread);
GC_API void gc__safepoint_slow(gc_thread *thread);
static inline void gc_safepoint(gc_thread *thread) {
    if (GC__UNLIKELY(__atomic_load_n(&thread->poll, __ATOMIC_RELAXED) != 0)) gc__safepoint_slow(thread);
}

/* Makes the named variables (1 to 16 pointers to objects, each initialized) roots of `thread` until the end of the
   enclosing scope. A collection updates them when their objects move. One frame: a few stores in, one store out.
   A computed goto (goto *label) must not leave the scope: gcc runs no cleanup there, and clang refuses to compile it. In an
   interpreter's loop all labels lie in the scope of one GC_ROOTS before the loop, whose variables the opcodes use by turns. */
#define GC_ROOTS(thread, ...) GC__ROOTS(__COUNTER__, thread, 0, __VA_ARGS__)
/* GC_ROOTS for variables of another kind: `flags` is GC_SLOT_VALUE, GC_SLOT_PINNED, GC_SLOT_INTERIOR or GC_SLOT_DERIVED. With
   GC_SLOT_INTERIOR they may lead anywhere into objects, from the first byte to the last; the object is kept, and the pointer
   moves with it. With GC_SLOT_DERIVED the first is a pointer to an object or null, and the others keep their distance from that
   object wherever they lead: one past its end, say. Addresses outside the heap stay as they are. */
#define GC_ROOTS_WITH(thread, flags, ...) GC__ROOTS(__COUNTER__, thread, flags, __VA_ARGS__)
/* Makes the array of `count` variables at `first` roots, until the end of the enclosing scope; flags: as GC_ROOTS_WITH, or 0,
   but not GC_SLOT_DERIVED. */
#define GC_ROOTS_ARRAY(thread, first, count, flags) \
    GC__ROOTS_CONTIGUOUS(__COUNTER__, thread, first, count, flags, #first "[]")
/* Evaluates an expression with the named variables (1 to 16) as roots, and then has them lead to where their objects are:
   GC_ROOTS_DURING(gc, 0, ok = grow(f), f). For what a function seldom does: the rest of it pays nothing, since the variables
   stay in registers. Within the expression the variables themselves are not updated. flags: as GC_ROOTS_ARRAY. */
#define GC_ROOTS_DURING(thread, flags, expression, ...) \
    do {                                                \
        GC__DURING_BEGIN(thread, flags, __VA_ARGS__)    \
        expression;                                     \
        GC__DURING_END(__VA_ARGS__)                     \
    } while (0)
#define GC__DURING_BEGIN(thread, flags, ...)                                                                        \
    gc_word gc__copies[GC__EACH(GC__FIELD_ONE, , __VA_ARGS__) 0], *gc__copy = gc__copies;                           \
    GC__EACH(GC__COPY_IN, gc__copy, __VA_ARGS__) {                                                                  \
        GC__ROOTS_CONTIGUOUS(__COUNTER__, thread, gc__copies, sizeof gc__copies / sizeof gc__copies[0], flags,      \
                             #__VA_ARGS__);
#define GC__DURING_END(...) \
    }                       \
    gc__copy = gc__copies;  \
    GC__EACH(GC__COPY_OUT, gc__copy, __VA_ARGS__)
/* By memcpy, for values of any type, which does not take a variable out of its register. */
#define GC__COPY_IN(copy, variable) memcpy(copy++, GC__ADDRESS_OF(variable), 8);
#define GC__COPY_OUT(copy, variable) memcpy(GC__ADDRESS_OF(variable), copy++, 8);

#define GC__ROOTS_CONTIGUOUS(id, thread, first, count, flags, names) \
    GC__ROOTS_ARRAY(id, thread, first, count, flags, names)
#define GC__ROOTS_ARRAY(id, thread, first, count_, flags_, names_)                                   \
    static const gc_frame_site GC__NAME(gc__site, id) = {names_, __func__, __FILE__, __LINE__,            \
                                                         (flags_) | GC__SLOT_CONTIGUOUS};                 \
    gc_frame GC__NAME(gc__frame, id) __attribute__((cleanup(gc__frame_leave))) = {                        \
        (thread)->frames, &GC__NAME(gc__site, id), (thread), (size_t)(count_), (void **)(void *)(first)}; \
    (thread)->frames = gc__frame_written(&GC__NAME(gc__frame, id))

#define GC__ROOTS(id, thread_, flags_, ...)                                                                     \
    void *GC__NAME(gc__slots, id)[] = {GC__EACH(GC__ADDRESS, , __VA_ARGS__)};                                   \
    static const gc_frame_site GC__NAME(gc__site, id) = {#__VA_ARGS__, __func__, __FILE__, __LINE__, (flags_)}; \
    gc_frame GC__NAME(gc__frame, id) __attribute__((cleanup(gc__frame_leave))) = {                              \
        (thread_)->frames, &GC__NAME(gc__site, id), (thread_),                                                  \
        sizeof GC__NAME(gc__slots, id) / sizeof GC__NAME(gc__slots, id)[0], GC__NAME(gc__slots, id)};           \
    (thread_)->frames = gc__frame_written(&GC__NAME(gc__frame, id))
/* A variable that is not one word, an array for example, does not compile: GC_ROOTS_ARRAY takes those. */
#define GC__ADDRESS(unused, variable) GC__ADDRESS_OF(variable),
#define GC__ADDRESS_OF(variable) \
    (void *)((char *)&(variable) + 0 * sizeof(char[sizeof(variable) == sizeof(void *) ? 1 : -1]))
#define GC__FRAME_AGAIN                                                                                                \
    "the frame of GC_ROOTS(%s) at %s:%u was entered again while it was in force: its scope was left without its end. " \
    "A "                                                                                                               \
    "computed goto (goto *label) runs no cleanup: end the scope before it. After longjmp, gc_frames_restore must "     \
    "restore "                                                                                                         \
    "what gc_frames_mark returned"
/* Has the frame written to memory before it is in force. The compiler could otherwise write it after a load that faults,
   and the report of such a fault lists frames. */
static inline gc_frame *gc__frame_written(gc_frame *frame) {
    GC_ASSERT(frame->previous != frame, GC__FRAME_AGAIN, frame->site->names, frame->site->file, frame->site->line);
    __asm__("" : "+r"(frame) : "m"(*frame));
    return frame;
}
#define GC__NAME(prefix, id) prefix##id /* `id`: __COUNTER__, so that several may stand on a line */

static inline void gc__frame_leave(gc_frame *frame) {
    if (GC__UNLIKELY(!frame->thread)) return; /* the heap was destroyed within the scope */
    GC_ASSERT(
        frame->thread->frames == frame,
        "the frame of GC_ROOTS(%s) at %s:%u is left out of order: after longjmp, or an exception through C code, "
        "gc_frames_restore must restore what gc_frames_mark returned before; and a scope must end before a computed "
        "goto (goto *label) leaves it",
        frame->site->names, frame->site->file, frame->site->line);
    GC_ASSERT(GC_DEBUG < 2 || gc_thread_mode(frame->thread) == GC_MODE_COOPERATIVE,
              "the frame of GC_ROOTS(%s) at %s:%u is left in preemptive mode, while a collection may be reading it: "
              "return to cooperative mode before the scope ends, as GC_IN_MODE within it does",
              frame->site->names, frame->site->file, frame->site->line);
    frame->thread->frames = frame->previous;
}

/* Keep the list of frames right across a longjmp: take the mark before setjmp and restore it afterwards. Do the same around
   a try whose exceptions pass C functions that were compiled without -fexceptions; C++ exceptions leave all other scopes as
   they unwind. [its own thread; never collects; cannot fail] */
static inline gc_frame *gc_frames_mark(const gc_thread *thread) { return thread->frames; }
static inline void gc_frames_restore(gc_thread *thread, gc_frame *mark) { thread->frames = mark; }
