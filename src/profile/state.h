/* The profile that is being taken, and what is kept of heaps and threads meanwhile.

   gc__profile_lock guards it. Who holds it waits for a file that is being written, or the registry of code. A thread that
   allocates never waits for it: it puts what happens into a buffer of its own, and empties all buffers if it finds the lock
   free. A collection takes the lock, and empties all buffers before it changes anything; so the addresses of objects that
   are in a buffer are right. */
#pragma once

#include "../stacks/native.h"
#include "chance.h"
#include "model.h"

#define GC__RECORD_BYTES_MAX ((size_t)16384)
#define GC__BUDGETS 1024

enum {
    GC__ZEROED,
    GC__RAW,
    GC__LARGE_OBJECTS,
    GC__STREAMS
}; /* of allocated bytes: a thread's windows, objects that are large or never move */

/* What happened on a thread, as its buffer has it. The call stack follows, as words, and then the name of the object's type.
   The word of a native frame is its pc. That of a frame of the host's language has bit 63 set, the lengths of the
   function's and the file's name in bits 40 to 47 and 32 to 39, and the line; the names follow it, without their zeros. */
typedef struct gc__noted {
    uint32_t bytes; /* of all this, a multiple of 8 */
    uint16_t kind;  /* gc_profile_kind; GC_PROFILE_KIND_COUNT: nothing, for the next record is at the buffer's start */
    uint16_t also;  /* GC_PROFILE_BIT of SAMPLE, TICK, OBJECT: what an allocation is; GC__RECORD_CUT */
    uint32_t type_bytes; /* of the type's name; 0: none */
    uint32_t stack_words;
    uint64_t origin;                                      /* of an allocation: see gc__origin_of */
    uint64_t time_ns, object, size, amount, detail;       /* as those of gc_profile_event */
    uint64_t tick_bytes, type_objects, type_object_bytes; /* amounts of TICK and OBJECT */
} gc__noted;

#define GC__HOST_FRAME ((uint64_t)1 << 63)
#define GC__RECORD_CUT ((uint16_t)0x8000) /* the stack had more frames */

/* Objects of a type that a thread has allocated since the type's last OBJECT event. */
typedef struct gc__type_rate {
    const void *key; /* the type, or its name; NULL: the place is free */
    uint64_t objects, bytes;
    uint64_t every; /* the number of objects after which the next event may come */
    uint64_t last_ns;
} gc__type_rate;

/* Written by the thread, unless a field says otherwise; by the collector while the thread is stopped. */
typedef struct gc__profiled_thread {
    struct gc__profiled_thread *next; /* lock */
    gc_thread *thread;
    uint64_t profile; /* the profile's number; atomic, written under the lock */
    uint32_t tid;
    uint32_t number;            /* in gc__profile.threads */
    gc_profile_options options; /* the profile's */
    const char *name;           /* that the profile knows; lock */
    gc__chance chance;
    uint64_t left[GC__STREAMS]; /* bytes beyond the limit before the next sampled one */
    int64_t since_tick;
    unsigned due;         /* GC_PROFILE_BIT of what the object is that is being allocated */
    uint64_t offset;      /* of its sampled byte */
    bool waiting;         /* the record in `scratch` waits for its object's header to be written */
    gc__type_rate *rates; /* by type, for OBJECT; open addressing */
    size_t rates_capacity, rates_count;
    uint64_t head;                           /* atomic, written by the thread */
    uint64_t tail;                           /* atomic, written under the lock */
    uint64_t lost, lost_samples;             /* atomic, written by the thread */
    uint64_t lost_noted, lost_samples_noted; /* lock: what the profile knows of them */
    size_t buffer_bytes;                     /* a power of two */
    char *buffer;
    union {
        gc__noted record;
        char bytes[GC__RECORD_BYTES_MAX];
    } scratch;
    gc__own_rule rules[1 << GC__OWN_RULES_SHIFT];
    gc__native_frame native_frames[GC__PROFILE_DEPTH_MAX];
    gc_profile_frame host_frames[GC__PROFILE_DEPTH_MAX];
    uintptr_t pcs[GC__PROFILE_DEPTH_MAX]; /* for the host's `event` */
    size_t pc_count;
} gc__profiled_thread;

/* A sampled object that has not been found dead. */
typedef struct gc__tracked {
    uintptr_t object;
    uint64_t bytes;
    double weight;
    uint32_t site;
} gc__tracked;

typedef struct gc__tracked_list {
    gc__tracked *items;
    size_t count, capacity; /* bytes */
} gc__tracked_list;

/* Written by the collector, with the heap's lock held, unless a field says otherwise. */
typedef struct gc__profiled_heap {
    struct gc__profiled_heap *next; /* this and the next four: lock; `profile` is atomic */
    gc_heap *heap;
    uint64_t profile;
    uint32_t number;                          /* in gc__profile.heaps */
    gc__tracked_list tracked[GC_GENERATIONS]; /* by the generation of the object; each has room for all */
    uint64_t allocated_before;                /* the profile */
    uint64_t collecting; /* the profile in which the collection that is running has begun; else 0 or a former one */
    uint64_t asked_ns, part_ns; /* the threads were asked to stop; the phase has begun. 0: not so */
    gc__profile_collection collection;
} gc__profiled_heap;

/* The words of the last new stack, with the outermost frame first, and the stacks that its frames are: the next one has most of
   them. And frames of native code by their pc. */
#define GC__RECENT_FRAMES 256
typedef struct gc__recent {
    size_t count;
    uint64_t words[GC__RECORD_BYTES_MAX / sizeof(uint64_t)];
    uint32_t stacks[GC__RECORD_BYTES_MAX / sizeof(uint64_t)]; /* where a frame's first word is; else 0 */
    struct {
        uintptr_t pc;
        uint32_t frame; /* 0: none */
    } frames[GC__RECENT_FRAMES];
} gc__recent;

typedef struct gc__events {
    gc__profile_event *items;
    size_t count, capacity; /* bytes */
} gc__events;

typedef struct gc__profiling {
    uint64_t number;  /* of the profile; atomic: 0 if none was ever taken */
    uint32_t on;      /* atomic; heaps that are created get a profiler */
    uint32_t what;    /* atomic; GC_PROFILE_BIT of what is recorded */
    bool hides_texts; /* atomic; of the last profile's options */
    gc__profile profile;
    gc__profiled_thread *threads;
    gc__profiled_heap *heaps;
    gc__recent recent;
    uint64_t site_changes;                  /* of code and files, when `recent` and profile.site_index were begun */
    bool doubled;                           /* stacks from before a change of code or files may have come again */
    gc__tracked_list ended[GC_GENERATIONS]; /* sampled objects that were in use when their heaps were destroyed */
    uint64_t lost_outside;                  /* atomic; events of threads that have no buffer to put them into */
    uint64_t budgets[GC__BUDGETS];    /* atomic; of types, by a hash: a second, and the number of OBJECT events in it */
    const gc__profile_format *format; /* of the file; NULL: there is none */
    gc__output output;                /* if it is streamed */
    bool streaming;
    gc__events events, sorted; /* not yet written, and memory to sort them */
    uint64_t written_ns;       /* time of the last event that was */
    uint64_t ended_bytes;      /* that heaps had allocated which are destroyed */
    char file[GC__NAME_BYTES_MAX];
    bool by_environment;   /* GC_PROFILE asked for the profile that is being taken; lock, or the end of the program */
    uintptr_t *code_order; /* numbers of profile.codes, by address */
    size_t code_order_count, code_order_capacity;
    uint64_t code_changes;
    gc__os_thread writer;  /* writes the file at intervals */
    uint32_t writing;      /* atomic; it runs, and ends when this is 0 */
    uint32_t file_changes; /* atomic, written under the lock: gc__os_file_changes when profile.modules was complete */
} gc__profiling;

GC__VAR gc__profiling gc__the_profile;

/* What the host adds. Former ones stay, since threads may be using them. */
typedef struct gc__profile_host_set {
    gc_profile_host host;
    struct gc__profile_host_set *next;
} gc__profile_host_set;
static gc__profile_host_set *gc__the_profile_host;  /* atomic; written under the lock */
static gc__profile_host_set *gc__the_profile_hosts; /* all that there ever were, each once; lock */

GC__FN const gc_profile_host *gc__profile_host(void) {
    static const gc_profile_host none = {NULL, NULL, NULL};
    const gc__profile_host_set *set = __atomic_load_n(&gc__the_profile_host, __ATOMIC_ACQUIRE);
    return set ? &set->host : &none;
}

GC__FN bool gc__profile_wants(gc_profile_kind kind) {
    return __atomic_load_n(&gc__the_profile.what, __ATOMIC_RELAXED) >> kind & 1;
}
