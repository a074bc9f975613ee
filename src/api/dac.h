/* Looking into a process or a core file from outside: the reader.

   The reader runs no code of the program that it looks into, and needs neither its symbols nor the headers that it was compiled
   with: the collector describes itself (GcDacVars), and the reader finds that description by a note in the program's files.

       gc_dac *dac = gc_dac_open_core("core");                  // or gc_dac_open_process(pid, GC_DAC_STOP)
       if (!gc_dac_heaps(dac, each_heap, &mine)) puts(gc_dac_message(dac));
       gc_dac_close(dac);

   Whatever is read may be damaged, or in the midst of a change. Each walk ends, reads within bounds, and reports what it can;
   what it cannot know it says by gc_dac_heap.doubts, by the flags of objects and regions, and by gc_dac_message. */
#pragma once

#if (defined(GC_DAC_IMPLEMENTATION) || defined(GC_IMPLEMENTATION)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* process_vm_readv, also under -std=c11 */
#endif

#include "dac_vars.h"
#include "phases.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define GC__DAC_EXTERN extern "C"
#else
#define GC__DAC_EXTERN extern
#endif
#ifndef GC_DAC_API
#define GC_DAC_API GC__DAC_EXTERN __attribute__((visibility("hidden"))) /* may be `static` */
#endif

/* A piece of the target's address space. */
typedef struct gc_dac_mapping {
    uint64_t start, end;
    uint64_t file_offset;
    const char *path; /* NULL: no file; valid until the next mapping is asked for */
} gc_dac_mapping;

#define GC_DAC_REGISTERS 32

/* A native thread of the target that is stopped. */
typedef struct gc_dac_native {
    uint64_t tid;
    uint64_t pc, sp;
    uint64_t registers[GC_DAC_REGISTERS]; /* all that may hold references, in no particular order */
    unsigned register_count;
} gc_dac_native;

/* Where memory is read from. Implemented by the reader for processes and core files, or by a host for anything else: a
   debugger, a snapshot, a remote machine. */
typedef struct gc_dac_target {
    void *context;
    /* Copies the memory at `address` to `to`. Returns how many bytes, from the first on, were readable. */
    size_t (*read)(void *context, uint64_t address, void *to, size_t bytes);
    /* The memory itself, if it is in this process; NULL: it is not, or not all of it. 0: never. */
    const void *(*at)(void *context, uint64_t address, size_t bytes);
    /* Stores the i-th mapping, in ascending order. False: there are no more. */
    bool (*mapping)(void *context, size_t i, gc_dac_mapping *mapping);
    /* Stores the i-th native thread. False: there are no more. 0: registers are not known. */
    bool (*native)(void *context, size_t i, gc_dac_native *native);
    void (*close)(void *context); /* 0: nothing to do */
} gc_dac_target;

typedef struct gc_dac gc_dac;

/* Opens a process: reads its memory by process_vm_readv. flags: 0 or GC_DAC_STOP. Returns NULL without memory only: a process
   that cannot be read, or has no gc.h, yields a reader that fails every call, and gc_dac_message says why. [any thread; never
   collects; NULL: no memory] */
GC_DAC_API gc_dac *gc_dac_open_process(int pid, unsigned flags);
enum {
    GC_DAC_STOP = 1 /* stops its threads by ptrace until gc_dac_close, which the same thread must call */
};
/* Opens an ELF core file, of the kernel or of gcore; it is mapped, not read. What it lacks of the program's files is read from
   them, if they are the same ones. `root`: a folder in which these are, NULL: "/". [any thread; never collects; NULL: no
   memory] */
GC_DAC_API gc_dac *gc_dac_open_core(const char *path, const char *root);
/* Opens a target of the host's own, which gc_dac_close closes. [any thread; never collects; NULL: no memory] */
GC_DAC_API gc_dac *gc_dac_open(const gc_dac_target *target);
/* Ends the reader, and lets the process go on; NULL is allowed. [the thread that opened it; never collects; cannot fail] */
GC_DAC_API void gc_dac_close(gc_dac *dac);
/* Why the last call failed, or what it could not know; "" if there is nothing to say. Valid until the next call. [the reader's
   thread; never collects; cannot fail] */
GC_DAC_API const char *gc_dac_message(const gc_dac *dac);

/* A collector in the target: each copy of gc.h is one. */
typedef struct gc_dac_collector {
    unsigned index;
    uint64_t vars; /* the address of its GcDacVars */
    unsigned major, minor;
    const char *version;  /* of gc.h */
    const char *module;   /* the file that it is in */
    const char *rejected; /* why the reader cannot read it; NULL: it can */
    uint64_t region_bytes;
} gc_dac_collector;

typedef struct gc_dac_heap {
    uint64_t address;
    unsigned collector; /* its index */
    gc_phase phase;
    bool stopping; /* a collection waits for the threads, or runs */
    bool locked;   /* a thread is in a slow path */
    bool non_moving, non_generational, conservative_stack, stress;
    uint64_t heap_bytes_max;
    uint64_t collections; /* the number of the last one, or of that which runs */
    int collection_generation;
    const char *collection_reason; /* of that one */
    const char *doubts;            /* sentences: what of this heap cannot be trusted now; "": everything can */
} gc_dac_heap;

typedef enum gc_dac_region_kind { GC_DAC_FREE, GC_DAC_SMALL, GC_DAC_LARGE, GC_DAC_QUARANTINED } gc_dac_region_kind;

typedef struct gc_dac_region {
    uint64_t base, end; /* of all regions of a large object */
    uint64_t top;       /* objects lie below; windows included */
    gc_dac_region_kind kind;
    int generation;
    uint64_t live_bytes; /* that the last trace found, and what was copied in since; 0 in young regions */
    bool linear;         /* its objects follow one another; else mark bits say where they are */
    bool condemned;      /* a collection is at work in it: its objects cannot be listed */
    bool accessible;
    unsigned windows; /* open ones */
} gc_dac_region;

/* A field that a type names. */
typedef struct gc_dac_field {
    const char *name;
    uint32_t offset;
    bool value;   /* a tagged value, not a plain reference */
    bool element; /* of each element, in which the offset is */
} gc_dac_field;

#define GC_DAC_FIELDS 16

/* A type. The reader keeps each until it is closed, so its address serves as a key. */
typedef struct gc_dac_type {
    uint64_t address;
    const char *name; /* "(type at 0x...)" if it has none, or cannot be read */
    uint32_t bytes, element_bytes;
    uint64_t refs, values, element_refs, element_values; /* masks, as of gc_type */
    bool has_trace; /* a function of the program's knows further slots: the reader guesses those within the object */
    bool is_weak;      /* its elements are weak references: gc_trace_weak */
    bool is_ephemeral; /* its elements are pairs of a weak key and what lives as long as that: gc_trace_ephemerons */
    bool has_finalizer;
    unsigned field_count;
    gc_dac_field fields[GC_DAC_FIELDS];
    void *user; /* the caller's, at first NULL */
} gc_dac_type;

typedef struct gc_dac_object {
    uint64_t address;
    uint64_t bytes;    /* 0: not known */
    gc_dac_type *type; /* NULL: not known */
    uint64_t length;   /* number of elements */
    /* Its first bytes; gc_dac_read has the rest of a large one. Valid in the callback, or until the next call: a copy of this
       record that is to last longer must have NULL and 0 here. */
    const uint8_t *contents;
    uint64_t contents_bytes;
    int generation;
    unsigned flags;
} gc_dac_object;
/* Flags of objects. */
enum {
    /* Type and bytes are not known: a thread is allocating it and has not written its header, or only the program knows what
       headers say (GC_MODEL_BYTES), and there is no gc_dac_host.bytes. */
    GC_DAC_UNFINISHED = 1,
    GC_DAC_OBJECT_LARGE = 2
};

typedef struct gc_dac_slot {
    uint64_t address;   /* of the slot */
    uint32_t offset;    /* in the object; of far slots, the lowest 32 bits */
    const char *name;   /* of the field; NULL: it has none */
    uint64_t index;     /* of the element; UINT64_MAX: it is in the fixed part */
    uint64_t word;      /* what the slot holds */
    uint64_t reference; /* the address that it refers to; 0: to no object of any heap */
    unsigned flags;
} gc_dac_slot;
/* Flags of slots. */
enum {
    GC_DAC_SLOT_VALUE =
        1, /* a tagged value; the reader guesses whether it is a reference, unless gc_dac_host.decode is there */
    GC_DAC_SLOT_GUESSED = 2, /* a trace function may know this slot: its word looks like a reference */
    GC_DAC_SLOT_WEAK = 4     /* it does not keep its object alive */
};

typedef enum gc_dac_mode { GC_DAC_COOPERATIVE, GC_DAC_PREEMPTIVE } gc_dac_mode;

typedef struct gc_dac_thread {
    uint64_t address; /* its gc_thread */
    uint64_t tid;     /* 0: not known */
    const char *name; /* "" if it has none */
    gc_dac_mode mode;
    bool parked;       /* waits within gc.h */
    bool conservative; /* its native stack is a root */
    bool running;      /* cooperative, and at no safe point: its last allocation or store may be unfinished */
    bool unbound;      /* of gc_thread_create: no native thread's, so its mode is not known, and its frames are no roots */
    uint64_t windows[2], window_ends[2]; /* the next free byte of its two windows, and their ends; 0: none */
    uint64_t pc, sp;                     /* of the native thread; 0: not known */
    uint64_t stack_base, stack_pointer;  /* what is scanned of a conservative stack; 0: not known */
    uint64_t stopped_ns, stops;          /* how long collections have waited for it */
} gc_dac_thread;

typedef enum gc_dac_frame_kind {
    GC_DAC_FRAME_ROOTS,    /* a scope of GC_ROOTS */
    GC_DAC_FRAME_COMPILED, /* compiled code left there (gc_stackmap.h) */
    GC_DAC_FRAME_NATIVE    /* the native stack of a conservative thread */
} gc_dac_frame_kind;

typedef struct gc_dac_frame {
    gc_dac_frame_kind kind;
    uint64_t address;
    const char *function, *file; /* "" if not known, as of compiled code */
    unsigned line;
    const char *names; /* "list, cell" */
    uint64_t count;    /* of slots */
    uint64_t pc;       /* of compiled code */
    uint64_t stack;    /* the gc_stack, if it is a fiber's that is not running; else 0 */
} gc_dac_frame;

typedef enum gc_dac_root_kind {
    GC_DAC_ROOT_FRAME,     /* a variable in GC_ROOTS */
    GC_DAC_ROOT_STACK,     /* a word on a native stack that is scanned conservatively, or in a register */
    GC_DAC_ROOT_COMPILED,  /* a word in a compiled frame, which may be a root: the reader does not decode stack maps */
    GC_DAC_ROOT_GLOBAL,    /* gc_roots_add */
    GC_DAC_ROOT_HANDLE,    /* strong, pinned; ref-counted, which may be held */
    GC_DAC_ROOT_FINALIZER, /* queued for its finalizer, or being finalized */
    GC_DAC_ROOT_SCANNED,   /* scan_roots reported it to the last collection; it may be no root any more */
    GC_DAC_ROOT_KINDS
} gc_dac_root_kind;

typedef struct gc_dac_root {
    gc_dac_root_kind kind;
    uint64_t slot;      /* where it is; 0: in a register */
    uint64_t word;      /* what it holds */
    uint64_t reference; /* the address that it refers to: in an object of the heap, not always its start */
    bool interior, pinned, value;
    bool certain;    /* false: conservative, or guessed; it may be no root */
    uint64_t thread; /* the gc_thread; 0: none */
    const char *thread_name;
    const char *function, *file; /* of a frame; "" */
    unsigned line;
    const char *variable; /* of a frame: its name; "" */
    uint64_t index;       /* of a frame of GC_ROOTS_ARRAY, or of global slots: which one */
    uint64_t handle;      /* of a handle; else 0 */
    unsigned handle_kind;
    const char *handle_kind_name; /* NULL: it is none */
} gc_dac_root;

typedef struct gc_dac_handle {
    uint64_t handle; /* the gc_handle */
    unsigned kind;   /* gc_handle_kind */
    const char *kind_name;
    uint64_t object; /* 0: none, or cleared */
    uint64_t extra;  /* the dependent object, or the host's word */
} gc_dac_handle;

typedef enum gc_dac_finalizer_state {
    GC_DAC_REGISTERED,
    GC_DAC_DUE,
    GC_DAC_DUE_CRITICAL,
    GC_DAC_RUNNING
} gc_dac_finalizer_state;

typedef struct gc_dac_finalizer {
    gc_dac_finalizer_state state;
    uint64_t object;     /* 0: not known, as of those that run */
    uint64_t finalizer;  /* the gc_finalizer; 0: not known */
    const char *type;    /* of the object */
    uint64_t thread;     /* that runs it; 0 */
    uint64_t started_ns; /* when that began, by the system's monotonic clock; 0 */
} gc_dac_finalizer;

/* Walks. Each calls `visit` until that returns false. Returns false if something could not be reported, which gc_dac_message
   then says; what could be was reported all the same. Strings last until the reader is closed. Callbacks may call the reader,
   but gc_dac_close. */

/* Each copy of gc.h in the target, those that the reader rejects included. [the reader's thread; never collects; false:
   message] */
GC_DAC_API bool gc_dac_collectors(gc_dac *dac, bool (*visit)(void *context, const gc_dac_collector *collector),
                                  void *context);
/* Each heap of all collectors. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_heaps(gc_dac *dac, bool (*visit)(void *context, const gc_dac_heap *heap), void *context);
/* Each number of gc_stats, by its name: "live_bytes", "collections[2]". [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_statistics(gc_dac *dac, const gc_dac_heap *heap,
                                  bool (*visit)(void *context, const char *name, uint64_t value), void *context);
/* Each region that the heap holds, by address. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_regions(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_region *region), void *context);
/* Each object, by the address of its region. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_objects(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_object *object), void *context);
/* Each attached thread. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_threads(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_thread *thread), void *context);
/* Each frame of the thread, innermost first of its kind. `thread` NULL: those of fibers that no thread runs. [the reader's
   thread; never collects; false: message] */
GC_DAC_API bool gc_dac_frames(gc_dac *dac, const gc_dac_heap *heap, const gc_dac_thread *thread,
                              bool (*visit)(void *context, const gc_dac_frame *frame), void *context);
/* Each root that refers to the heap. What options.scan_roots would report only the program knows: slots that it has reported
   to the last collection are uncertain roots, and the message says so. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_roots(gc_dac *dac, const gc_dac_heap *heap,
                             bool (*visit)(void *context, const gc_dac_root *root), void *context);
/* Each handle, weak ones and dependents included. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_handles(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_handle *handle), void *context);
/* Each finalizer that is registered, due or running. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_finalizers(gc_dac *dac, const gc_dac_heap *heap,
                                  bool (*visit)(void *context, const gc_dac_finalizer *finalizer), void *context);

/* The object that covers the address, in any heap. [the reader's thread; never collects; false: none, or message] */
GC_DAC_API bool gc_dac_object_at(gc_dac *dac, uint64_t address, gc_dac_object *object);
/* Each slot of the object that may hold a reference, those that hold none included. [the reader's thread; never collects;
   false: message] */
GC_DAC_API bool gc_dac_slots(gc_dac *dac, const gc_dac_object *object,
                             bool (*visit)(void *context, const gc_dac_slot *slot), void *context);
/* The same without names, for those that hold a reference and keep it alive: the fast way through a graph. `guessed`: of a slot
   that only a trace function knows. [the reader's thread; never collects; false: message] */
GC_DAC_API bool gc_dac_references(gc_dac *dac, const gc_dac_object *object,
                                  bool (*visit)(void *context, uint64_t reference, bool guessed), void *context);
/* Whether what write barriers keep says that the slot, of an object, may hold a reference to a younger object: its card and
   bundle are dirty, or it is in the log. They do not say it while the collector has stores logged one by one. [the reader's
   thread; never collects; false: message] */
GC_DAC_API bool gc_dac_card(gc_dac *dac, uint64_t slot, bool *dirty);
/* The mapping that has the address. [the reader's thread; never collects; false: none has it] */
GC_DAC_API bool gc_dac_mapping_at(gc_dac *dac, uint64_t address, gc_dac_mapping *mapping);
/* Reads memory of the target. Returns how many bytes, from the first on, were readable. [the reader's thread; never collects;
   less than `bytes`: the rest is not readable] */
GC_DAC_API size_t gc_dac_read(gc_dac *dac, uint64_t address, void *to, size_t bytes);
/* Reads a string of at most `room` - 1 characters; false: it is not readable, and *text is "". [the reader's thread; never
   collects; false: not readable] */
GC_DAC_API bool gc_dac_read_text(gc_dac *dac, uint64_t address, char *text, size_t room);

/* What only the program knows, and a host's own tool may tell the reader. All may be 0. */
typedef struct gc_dac_host {
    void *context;
    /* The object that a tagged value refers to; 0: none. */
    uint64_t (*decode)(void *context, uint64_t value);
    /* For an object model of the host's own (GC_MODEL_BYTES): the object's size, from its first bytes; 0: not known. */
    uint64_t (*bytes)(void *context, gc_dac *dac, uint64_t address, const uint8_t *contents, size_t contents_bytes);
} gc_dac_host;
/* Has the reader ask the host. [the reader's thread; never collects; cannot fail] */
GC_DAC_API void gc_dac_set_host(gc_dac *dac, const gc_dac_host *host);
