/* Profiles: what allocates, what lives, and when collections paused. One profile at a time is taken, of all heaps of the
   process. GC_PROFILE=FILE in the environment takes one from the first heap on, and writes it when the program ends (a
   .heapsnapshot when a heap is destroyed); options follow the name, each after a comma: GC_PROFILE=lisp.pb,period=4096,ticks.

   Samples are unbiased: each allocated byte is chosen with the same probability, independently of all others, and an object
   is sampled if one of its bytes is. Sources: the CLR's AllocationSampled, AllocationTick and SampledObjectAllocation
   events. */
#pragma once

#include "heap.h"
#include "result.h"

/* Which events are recorded: bits of gc_profile_options.what. X(NAME, option, text). */
#define GC_PROFILE_KINDS(X)                                                         \
    X(SAMPLE, "samples", "an object with a sampled byte")                           \
    X(TICK, "ticks", "the object with which another tick_bytes were allocated")     \
    X(OBJECT, "objects", "an object of a type that had few of these events lately") \
    X(COLLECTION_START, "collections", "a collection starts")                       \
    X(PHASE, "phases", "a phase of a collection has ended")                         \
    X(COLLECTION_END, "collections", "a collection has ended: the heap's summary")  \
    X(STOP, "stops", "the threads of a heap have stopped")                          \
    X(RESUME, "stops", "the threads of a heap go on")                               \
    X(FINALIZER, "finalizers", "a finalizer has run")                               \
    X(HANDLE_CREATED, "handles", "a handle was created")                            \
    X(HANDLE_DESTROYED, "handles", "a handle was destroyed")                        \
    X(THREAD, "threads", "a thread was attached, detached or named")                \
    X(LOST, "losses", "a thread's buffer was full: events before this one are lost")

typedef enum gc_profile_kind {
#define GC__PROFILE_KIND(name, option, text) GC_PROFILE_##name,
    GC_PROFILE_KINDS(GC__PROFILE_KIND)
#undef GC__PROFILE_KIND
        GC_PROFILE_KIND_COUNT
} gc_profile_kind;

#define GC_PROFILE_BIT(name) (1u << GC_PROFILE_##name)
/* What costs next to nothing: samples, collections with their phases, stops, finalizers, threads. */
#define GC_PROFILE_DEFAULT                                                                                        \
    (GC_PROFILE_BIT(SAMPLE) | GC_PROFILE_BIT(COLLECTION_START) | GC_PROFILE_BIT(PHASE) |                          \
     GC_PROFILE_BIT(COLLECTION_END) | GC_PROFILE_BIT(STOP) | GC_PROFILE_BIT(RESUME) | GC_PROFILE_BIT(FINALIZER) | \
     GC_PROFILE_BIT(THREAD) | GC_PROFILE_BIT(LOST))

/* One event, as a subscriber gets it. What a field means depends on the kind; one that is not named there is 0.
   SAMPLE: object; bytes: its size; amount: which of its bytes was the first sampled one.
   TICK: object, bytes; amount: bytes allocated since the last tick of the thread.
   OBJECT: object, bytes; amount: objects of the type since the type's last event; detail: their bytes.
   COLLECTION_START: amount: its number; detail: generation.
   PHASE: amount: gc_phase; detail: ns.
   COLLECTION_END: amount: its number; detail: generation; bytes: survivors; `collection` is all of it.
   STOP: amount: ns from asking the threads until the last one had stopped; detail: the number of that thread.
   FINALIZER: object; amount: ns that it took.
   HANDLE_CREATED, HANDLE_DESTROYED: object: the handle; detail: its gc_handle_kind.
   THREAD: amount: 0 attached, 1 detached, 2 named; LOST: amount: number of events. */
typedef struct gc_profile_event {
    gc_profile_kind kind;
    uint32_t thread; /* the system's number of the native thread */
    uint64_t time_ns;
    gc_heap *heap;
    const char *type; /* the name of the object's type; NULL: the event is of no object */
    uintptr_t object; /* its address, which a later collection may change */
    uint64_t bytes, amount, detail;
    const uintptr_t *stack; /* of SAMPLE, TICK and OBJECT: return addresses, the innermost first */
    size_t depth;
    const gc_collection *collection;
} gc_profile_event;

/* A frame of the host's language: a function of an interpreted program, say. */
typedef struct gc_profile_frame {
    const char *function; /* copied, as `file` is, when a stack is first seen */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    /* An address in the frame of the C function, an interpreter's loop, that runs this one: that frame is replaced in the
       call stack. NULL: the same as of the frame before; of the first: the frame is the innermost of all. */
    const void *native;
} gc_profile_frame;

/* What a host adds. All zero is a host that adds nothing. */
typedef struct gc_profile_host {
    /* Implemented by the host: fills in at most `most` frames of the language's call stack, the innermost first, and
       returns how many there are, which may be more. It is called within allocations, by the thread that allocates. It
       must not allocate, wait, nor call gc.h. 0: none. */
    size_t (*stack)(void *host, gc_thread *thread, gc_profile_frame *frames, size_t most);
    /* Called for each event at once, beside what is recorded, by the thread to which it happens: perhaps within a
       collection and under locks of gc.h, so it must not allocate, wait for other threads, nor call gc.h. 0: none. */
    void (*event)(void *host, const gc_profile_event *event);
    void *host; /* handed to both */
} gc_profile_host;

/* Files for perf: /tmp/perf-PID.map; and jit-PID.dump, in the folder of the environment's JITDUMPDIR or else in the current
   one, for `perf record -k mono` and `perf inject --jit`. */
enum { GC_PROFILE_PERF_MAP = 1, GC_PROFILE_JITDUMP = 2 };

/* How a profile is taken. All zero is the default. */
typedef struct gc_profile_options {
    uint64_t period_bytes; /* a byte in so many is sampled; 1: each; 0: 102,400 */
    uint64_t tick_bytes;   /* from one tick to the next, for each thread; 0: 102,400 */
    unsigned per_second;   /* OBJECT: how many events a type has in a second at most; 0: 5 (the CLR's High is 100) */
    unsigned what;         /* GC_PROFILE_BIT(...) of the events that are recorded; 0: GC_PROFILE_DEFAULT */
    unsigned depth_max;    /* frames of a call stack that are kept, the innermost ones, at most 256; 0: 128 */
    unsigned interval_s; /* a file that is written as a whole is also written at this interval, by a thread of its own;
                              0: at the end only */
    uint64_t seed;       /* of the generators that choose bytes; 0: another one each time */
    size_t buffer_bytes; /* of each thread's buffer; 0: 65,536 */
    bool hides_texts; /* heap snapshots, of this profile and until the next one starts, do not show what strings contain;
                         else the first 80 bytes, of types made by GC_TYPE_STRING with elements of one byte */
    unsigned perf; /* GC_PROFILE_PERF_MAP, GC_PROFILE_JITDUMP: Linux's perf is told of named code, too; 0: it is not */
} gc_profile_options;

/* Sets what the host adds, for the profile that is taken and later ones; NULL: nothing. Call it before the first heap is
   created for it to be in force from the start. [any thread; may wait; cannot fail] */
GC_API void gc_profile_set_host(const gc_profile_host *host);

/* Starts a profile of all heaps, forgetting the last one; options may be NULL. With a file name, whose ending says the
   format (see gc_profile_write), it is written there: streamed formats from now on, others by gc_profile_stop. If a heap's
   threads must be stopped for that, the call waits. [any thread in no heap's collection; may wait; GC_ERROR_MISUSE: one is
   being taken; GC_ERROR_OPTION; GC_ERROR_FILE; GC_ERROR_MEMORY] */
GC_API gc_result gc_profile_start(const gc_profile_options *options, const char *file);
/* Ends the profile, and writes its file if it has one. It stays for gc_profile_write until the next start.
   [any thread in no heap's collection; may wait; GC_ERROR_MISUSE: none is being taken; GC_ERROR_FILE] */
GC_API gc_result gc_profile_stop(void);

/* Writes what was recorded so far, in the format of the name's ending: .folded, .txt (a report), .pb, .svg, .html, .json,
   .nettrace; or, with .heapsnapshot, the objects of all heaps, which are collected and stopped for it. An existing file is
   replaced once the new one is complete. [any thread in no heap's collection; may collect; GC_ERROR_FILE: why is in
   gc_last_message; GC_ERROR_OPTION: no such format; GC_ERROR_MISUSE: there is no profile] */
GC_API gc_result gc_profile_write(const char *file);

/* A place in compiled code: from this address on, this line. */
typedef struct gc_profile_line {
    uintptr_t address;
    uint32_t line;
    const char *file;
} gc_profile_line;

/* Names `bytes` of compiled code at `start` from now on; all strings are copied. Code that was there before a profile
   starts may be named at any time. Code of gc_stackmap.h is named without this call. [any thread; may wait; GC_ERROR_MEMORY] */
GC_API gc_result gc_profile_code_add(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                     size_t line_count);
/* The code that starts there is gone; call it before the memory is used again. [any thread; may wait; cannot fail] */
GC_API void gc_profile_code_remove(const void *start);
