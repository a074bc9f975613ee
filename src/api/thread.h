/* Mutator threads and shadow-stack frames. */
#pragma once

#include "heap.h"

/* What a frame tells reports: static data that GC_ROOTS makes. */
typedef struct gc_frame_site {
    const char *names; /* "list, cell" */
    const char *function;
    const char *file;
    unsigned line;
    unsigned flags; /* GC_ROOT_* of all slots of the frame */
} gc_frame_site;

/* One shadow-stack frame: the addresses of C variables that are roots. */
typedef struct gc_frame {
    struct gc_frame *previous;
    const gc_frame_site *site;
    gc_thread *thread; /* NULL: its heap was destroyed */
    size_t count;
    void **slots; /* count addresses of variables */
} gc_frame;

/* A mutator. The fields that the inline paths use come first; all are written by the owning thread, or by the collector
   while that thread is stopped. */
struct gc_thread {
    char *allocation;       /* next free byte of the zeroed window */
    char *allocation_limit; /* its end; allocation <= allocation_limit */
    char *raw;              /* the window for contents that are not zeroed */
    char *raw_limit;
    gc_frame *frames; /* innermost first */
    uint32_t poll;    /* nonzero: the next safe point must call gc__safepoint_slow */
    gc_heap *heap;
    gc_thread *next;
    char *stack_base; /* the highest address of the native stack, for conservative scanning */
    uint64_t stress_countdown;
    char *span_end; /* the zeroed window can be extended to here */
    char *raw_span_end;
    char *flushed; /* allocation and raw when the windows were last made walkable */
    char *raw_flushed;
    struct gc__region *region; /* of the zeroed window; NULL: none */
    struct gc__region *raw_region;
};

/* Makes the calling native thread a mutator of heap; detach it, or destroy the heap, to end that. At present a heap has
   at most one attached thread. Returns NULL on failure (gc_last_message). Never collects. */
GC_API gc_thread *gc_thread_attach(gc_heap *heap);
/* Ends the attachment. Frames that have not been left are roots no more. Never collects. */
GC_API void gc_thread_detach(gc_thread *thread);
GC_API gc_heap *gc_thread_heap(const gc_thread *thread);

/* A place where a collection may run. One load and one predicted branch. May collect. */
static inline void gc_safepoint(gc_thread *thread);
GC_API void gc__safepoint_slow(gc_thread *thread);
static inline void gc_safepoint(gc_thread *thread) {
    if (GC__UNLIKELY(__atomic_load_n(&thread->poll, __ATOMIC_RELAXED) != 0)) gc__safepoint_slow(thread);
}

/* Makes the named variables (1 to 16 pointers to objects, each initialized) roots of `thread` until the end of the
   enclosing scope. A collection updates them when their objects move. One frame: a few stores in, one store out. At most
   one of these macros stands on a source line. */
#define GC_ROOTS(thread, ...) GC__ROOTS(thread, 0, __VA_ARGS__)
/* The same for variables of tagged values. */
#define GC_ROOT_VALUES(thread, ...) GC__ROOTS(thread, GC_ROOT_VALUE, __VA_ARGS__)
/* Makes the array of `count` variables at `first` roots, until the end of the enclosing scope. */
#define GC_ROOT_ARRAY(thread, first, count_, flags_)                                                  \
    static const gc_frame_site GC__NAME(gc__site) = {#first "[]", __func__, __FILE__, __LINE__,       \
                                                     (flags_) | GC__ROOT_CONTIGUOUS};                 \
    gc_frame GC__NAME(gc__frame) __attribute__((cleanup(gc__frame_leave))) = {                        \
        (thread)->frames, &GC__NAME(gc__site), (thread), (size_t)(count_), (void **)(void *)(first)}; \
    (thread)->frames = &GC__NAME(gc__frame)

#define GC__ROOTS(thread_, flags_, ...)                                                                                \
    void *GC__NAME(gc__slots)[] = {GC__EACH(GC__ADDRESS, , __VA_ARGS__)};                                              \
    static const gc_frame_site GC__NAME(gc__site) = {#__VA_ARGS__, __func__, __FILE__, __LINE__, (flags_)};            \
    gc_frame GC__NAME(gc__frame) __attribute__((cleanup(gc__frame_leave))) = {                                         \
        (thread_)->frames, &GC__NAME(gc__site), (thread_), sizeof GC__NAME(gc__slots) / sizeof GC__NAME(gc__slots)[0], \
        GC__NAME(gc__slots)};                                                                                          \
    (thread_)->frames = &GC__NAME(gc__frame)
/* A variable that is not one word, an array for example, does not compile: GC_ROOT_ARRAY takes those. */
#define GC__ADDRESS(unused, variable) \
    (void *)((char *)&(variable) + 0 * sizeof(char[sizeof(variable) == sizeof(void *) ? 1 : -1])),
#define GC__NAME(prefix) GC__NAME2(prefix, __LINE__)
#define GC__NAME2(prefix, line) GC__NAME3(prefix, line)
#define GC__NAME3(prefix, line) prefix##line

static inline void gc__frame_leave(gc_frame *frame) {
    if (GC__UNLIKELY(!frame->thread)) return; /* the heap was destroyed within the scope */
    GC_ASSERT(frame->thread->frames == frame, "the frame of GC_ROOTS(%s) at %s:%u is left out of order",
              frame->site->names, frame->site->file, frame->site->line);
    frame->thread->frames = frame->previous;
}

/* Frames after a longjmp: save the mark before setjmp and restore it after. */
static inline gc_frame *gc_frames_mark(const gc_thread *thread) { return thread->frames; }
static inline void gc_frames_restore(gc_thread *thread, gc_frame *mark) { thread->frames = mark; }
