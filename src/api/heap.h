/* Heaps: options, creation, statistics. */
#pragma once

#include "phases.h"
#include "result.h"
#include "types.h"

#define GC_GENERATIONS 3

/* Why a collection runs. */
#define GC_REASONS(X)                                   \
    X(GC_REASON_NURSERY, "nursery budget spent")        \
    X(GC_REASON_GROWTH, "heap grew past its threshold") \
    X(GC_REASON_LIMIT, "heap limit reached")            \
    X(GC_REASON_INDUCED, "gc_collect")                  \
    X(GC_REASON_STRESS, "stress")

typedef enum gc_reason {
#define GC__REASON_NAME(name, text) name,
    GC_REASONS(GC__REASON_NAME)
#undef GC__REASON_NAME
} gc_reason;

/* The text of a reason; static storage. [any thread; never collects; cannot fail] */
GC_API const char *gc_reason_text(gc_reason reason);

/* One collection, as its start and end hooks see it. */
typedef struct gc_collection {
    uint64_t number; /* 1 for the heap's first */
    int generation;  /* the oldest condemned generation */
    gc_reason reason;
    bool compacting;
    bool left_out; /* at the end: the lists of roots found no memory, so nothing has changed and nothing is counted */
    uint64_t pause_ns;         /* until the end hook, the time to stop included; 0 at the start */
    size_t promoted_bytes;     /* survivors, moved or not; 0 at the start */
    size_t moved_bytes;        /* the part of them that was copied; 0 at the start */
    size_t conservative_bytes; /* the part of them that conservative words alone keep; 0 at the start */
    /* The part of them whose generation is younger now, since mutators get the holes between them: later young collections
       may free these objects, so a list of the young ones that the host keeps must be made again; 0 at the start */
    size_t demoted_bytes;
} gc_collection;

typedef enum gc_stress {
    GC_STRESS_OFF,
    GC_STRESS_ALLOCATION, /* collect at every allocation */
    GC_STRESS_SAFEPOINT,  /* collect at every gc_safepoint and slow path of an allocation, and at random instructions of
                             compiled code that may be interrupted (gc_stackmap.h) */
    GC_STRESS_NTH,        /* collect at every stress_interval-th allocation */
    GC_STRESS_STACK,      /* collect at the first allocation from each distinct native call stack; when 10,000 allocations
                             have shown no new one, one in 16 is looked at until there is one */
    GC_STRESS_LOCATION    /* collect at the first allocation from each location of the program: gc_debug_options.location */
} gc_stress;

enum { GC_VERIFY_BEFORE = 1, GC_VERIFY_AFTER = 2 }; /* gc_debug_options.verify */

/* Whether a full collection's marking runs beside mutators. */
typedef enum gc_concurrent {
    GC_CONCURRENT_DEFAULT, /* on in heaps with a pause_goal_us other than the default */
    GC_CONCURRENT_ON,
    GC_CONCURRENT_OFF
} gc_concurrent;

/* Who may call trace functions (gc_type.trace). Each choice allows what those before it do. */
typedef enum gc_trace_functions {
    GC_TRACE_FUNCTIONS_ALONE,    /* the thread that collects, while the program is stopped */
    GC_TRACE_FUNCTIONS_PARALLEL, /* several collector threads at once, for several objects; the functions must not fork */
    /* The thread that marks beside mutators, too (gc_options.concurrent). What the functions read of their objects besides slots
       must be atomic, and what they follow must stay until the next collection. They must take no lock that is held at a safe
       point. Those that report weak entries, or slots outside of their objects, are called in the last pause all the same. */
    GC_TRACE_FUNCTIONS_CONCURRENT
} gc_trace_functions;

struct gc_barrier_change;
struct gc__handle;

/* Implemented by the host: address space and memory for objects and the tables beside them, instead of mmap and its kin.
   Sizes and addresses are multiples of the page size. A refusal is handled as that of the system: a smaller arena, another
   collection, GC_ERROR_RESERVE or GC_ERROR_MEMORY. They are called under a lock of gc.h, by any thread, and must call nothing
   of it. Small records and lists (gc_stats.metadata_bytes) are still malloc's and the system's. */
typedef struct gc_memory {
    /* Reserves address space that starts at a multiple of `alignment`, a power of two: GC_REGION_BYTES, or 2 MiB for tables.
       If `readable`, all of it reads as zero from the start; otherwise nothing is touched before it was committed. First the
       tables for all addresses are asked for, readable, 1.5 GiB by default, and must be granted; then GC_ARENA_BYTES and their
       tables, or half of that, and so on. NULL: refused. */
    void *(*reserve)(void *context, size_t bytes, size_t alignment, bool readable);
    /* Makes reserved memory readable and writable. What was not committed before is zero, what was stays as it is. Stress
       takes access from such pages for a while (mprotect). False: refused. */
    bool (*commit)(void *context, void *address, size_t bytes);
    /* The contents of committed memory are needed no more: the memory may be given back, but the range stays committed, and
       reads as zero. False: it is as it was. 0: never. */
    bool (*discard)(void *context, void *address, size_t bytes);
    /* Ends what one call of `reserve` began, when the last heap is destroyed. */
    void (*release)(void *context, void *address, size_t bytes);
    void *context;
} gc_memory;

/* Checks of a heap, to find missed roots and barriers. All zero: none. The environment can switch them on, too:
   gc_heap_create. */
typedef struct gc_debug_options {
    unsigned verify;          /* GC_VERIFY_BEFORE | GC_VERIFY_AFTER: walk and check the whole heap; 0: do not */
    bool checkmark;           /* after each trace, check it by a second, simple mark */
    gc_stress stress;         /* 0: off. Environment GC_STRESS=allocation|safepoint|stack|location|N overrides */
    unsigned stress_interval; /* for GC_STRESS_NTH; 0: 100 */
    /* Where the thread is in the host's program, for stress: the address of an instruction of its bytecode, say; 0: nowhere.
       If `text` is not NULL, also describes the place there, "script.x:12 in f", for reports of what moved there, and of what
       is used there. Called at allocations, in collections, and in the handler of a fault: must not allocate, nor lock. 0:
       unknown; then there is no GC_STRESS_LOCATION. */
    uintptr_t (*location)(void *host, gc_thread *thread, char *text, size_t bytes);
} gc_debug_options;

/* The collector's own, for its tests: all zero elsewhere. */
typedef struct gc__test_options {
    bool scarce_memory;    /* the mark stack holds 64 entries, so that it overflows */
    bool born_old;         /* objects are born in generation 2 after every other collection */
    bool candidates;       /* any region may be evacuated at the end of a concurrent marking */
    unsigned collectors;   /* 1: all collector threads trace in each collection, however small; above that: one at a time, in
                              an order that follows from the number; 0: off */
    unsigned marker_steps; /* concurrent marking without a thread, so many steps at a time; 0: off */
} gc__test_options;

/* Options of a heap. All zero is the default; each field says what 0 means, and that value written out means the same. */
typedef struct gc_options {
    size_t heap_bytes_max;   /* memory the heap may hold, tables and handles included; at least 4 regions. From 8 on a
                                   region and a 256th of it is kept for evacuation while that helps, unless non_moving;
                                   a 32nd if `concurrent`. 0: three quarters of what the container (control group) lets
                                   the process have, if any; SIZE_MAX: no limit */
    size_t heap_bytes_soft;  /* as it comes near this, the heap is collected more often; it may hold more. 0: none */
    /* An allocation that meets heap_bytes_max also fails where full collections have taken at least this part of the last
       second or longer, each making room for less than a 64th of the limit, while more than seven eighths of what objects can
       have live: 60, say, for a program that would rather end than crawl. The allocations after it go on, until that is so
       once more. 0: it goes on as long as there is any room */
    unsigned overhead_percent_max;
    size_t nursery_bytes;    /* allocation between young collections; 0: adapting to survival and to what lives */
    unsigned growth_percent; /* how much more than what lives the heap may hold, besides a nursery; 0: 100 */
    size_t growth_bytes_min; /* by which it may grow in any case: a small heap is seldom collected as a whole then; 0: 256 KiB */
    unsigned pause_goal_us;  /* what an adaptive nursery keeps young pauses under; 0: 5000. Any other goal turns
                                `concurrent` on, unless that says otherwise */
    bool non_moving;         /* objects never move; survivors stay in place with holes between them */
    bool non_generational;   /* the host has no write barriers: every collection is a full one */
    bool conservative_stack; /* also scan the native stack and registers of attached threads, pinning what they hold */
    /* Threads that work together in a collection, the one that collects included: 1 to 32, or 0 for as many as there are
       processors for the process (by its affinity and the quota of its container, which it asks for again twice a second), at
       most 16. The others are started when a collection can use them (with 0 and no goal for pauses, one that should take 30 ms),
       and end with the heap. No more work at a time than there are processors. With a model (GC_MODEL_BYTES) there
       is one, unless GC_MODEL_BYTES_AS is defined. */
    unsigned collector_threads;
    gc_trace_functions trace_functions; /* who may call trace functions */
    /* GC_CONCURRENT_ON: objects of generation 2 are marked by a thread of the heap's while mutators run, so that no pause
       grows with their number. A full collection that is due begins that, and another one, short, ends it later; it copies
       only what the goal for pauses allows. That takes room: with a limit of less than 1.5 times what lives, full collections
       stop the program. Best with the barrier rank_sum: with others, and with code by gc_barrier_emit, whose host must set
       barrier_changed, young collections take longer; barriers with the filters LOW, RANGE, REGION and OLD do only with write
       watch, and then the last pause grows with the number of pages that are stored to all the time. A warning
       says what stands against it; it is off until the first full collection, or change of limits, after that has changed.
       If nobody allocates for a tenth of a second, a thread that comes to a safe point ends it; if all are in
       preemptive mode, and `suspend` is 0, that thread of the heap's does, and makes the collection's callbacks. By
       default it is on in heaps with a pause_goal_us other than 5000, unless something stands against it or
       collector_threads is 1. */
    gc_concurrent concurrent;
    bool abort_when_exhausted;    /* an allocation that fails calls the fatal hook, instead of returning NULL */
    bool keep_memory;             /* never return free memory to the system before gc_heap_destroy */
    /* Memory from the host. All heaps that exist at the same time have the same one; it must stay as long as they. 0: from
       the system. */
    const gc_memory *memory;

    /* Callbacks of a collection, and trace functions, must return: an exception or longjmp that leaves one ends the program
       with a message, at once or when it next calls gc_collect or ends a thread or the heap; until then nothing can be
       allocated. */
    /* All callbacks but out_of_memory may run while other threads are stopped and locks of gc.h are held. So they must not
       wait for a lock that another thread may hold while it calls gc.h, in whichever mode. */

    /* Implemented by the host. Reports every root of the host's own that is not a frame, a global slot or a handle, by
       gc_visit(visitor, slot, count, flags). Called for each attached thread, or once with NULL if there is none: report
       roots that belong to no thread in any one of these calls. Runs with the world stopped; must not allocate or collect.
       0: none. */
    void (*scan_roots)(void *host, gc_thread *thread, gc_visitor *visitor);
    /* Implemented by a host that stops threads by itself. suspend returns when every other thread that is attached to the
       heap and in cooperative mode (gc_thread_mode) is stopped at a safe point (a thread that waits within gc.h is, too);
       restart lets them go on. 0: gc.h stops them by gc_safepoint. */
    void (*suspend)(void *host);
    void (*restart)(void *host);
    /* Implemented by such a host whose threads have modes of its own, and use gc_thread_create. before_wait is called by a
       thread that has to wait for the heap's lock, and maybe for a collection: until after_wait suspend need not wait for that
       thread, which touches no object unless it is the one that has called suspend. after_wait is called without any lock. The
       first returns whether the second is to be called. 0: neither. */
    bool (*before_wait)(void *host);
    void (*after_wait)(void *host);
    /* Three functions rather than one that is told the phase, since most hosts need only one of them. */
    void (*collection_start)(void *host, const gc_collection *collection); /* must not allocate; 0: none */
    void (*collection_end)(void *host, const gc_collection *collection);   /* must not allocate; 0: none */
    /* Called in a collection when it is known what survives, but before anything is freed: gc_collection_find then answers what
       became of an object. For tables of the host's own whose entries go with their objects. Must not allocate; 0: none. */
    void (*collection_traced)(void *host, const gc_collection *collection);
    /* Called when an allocation of `bytes` has failed, before that returns NULL, but not if its type is misdeclared or it could
       never fit. Returns true to have it tried once more, after the hook has dropped references, say. It may also be left by
       longjmp or an exception: the allocation has not been then, and nothing is lost; gc_frames_restore drops the frames of
       GC_ROOTS that longjmp skips. Must not allocate from this heap, nor end it. 0: none. */
    bool (*out_of_memory)(void *host, size_t bytes, const char *message);
    /* For hosts that compile their own write barriers: called when what barriers read has changed (gc_barrier_change), and
       first from within gc_heap_create. It runs under a lock of gc.h, so it must call nothing of gc.h but gc_barrier_emit
       and gc_barrier_patch, or it waits forever. 0: none. */
    void (*barrier_changed)(void *host, const struct gc_barrier_change *change);
    /* The host runs the barrier for stores into new objects, too, so these need no other look, but for slots outside the heap:
       with headers of its own it says by GC_MODEL_OWNS which objects have such. */
    bool initializing_barriers;
    /* Whether a ref-counted handle (gc_handles.h) keeps its object now; word is the handle's host word. Called during
       collections, for handles to objects that may be condemned. Must call nothing of gc.h. 0: no handle keeps its
       object. */
    bool (*handle_is_held)(void *host, struct gc__handle *handle, void *object, void *word);
    /* Called when a collection has queued finalizers: the host should call gc_finalizer_run soon. Runs in the collection,
       so it must not allocate. 0: none; a heap with a finalizer thread needs none. */
    void (*finalizers_ready)(void *host);
    bool skip_finalizers_at_end; /* gc_heap_destroy runs critical finalizers only */
    /* If a collection waits longer than this for a thread, or a finalizer runs for longer, a warning names it, and
       gc_heap_destroy does not wait longer for a finalizer, or for a thread in cooperative mode. 0: 10,000. */
    unsigned patience_ms;
    void (*warning)(void *host, const char *message); /* may run in a collection: must not allocate; 0: to stderr */
    void (*fatal)(void *host, const char *message);   /* the process aborts if it returns; 0: to stderr */
    void *host;                                       /* handed to all of these */

    gc_debug_options debug; /* checks that find mistakes of the host */
    gc__test_options test;
} gc_options;

/* Creates a heap; options may be NULL for all defaults. The caller owns it and ends it by gc_heap_destroy. Returns NULL on
   failure: gc_last_message() then names the limit and the remedy. Unless GC_ENVIRONMENT is 0, the environment overrides
   options: GC_STRESS (see there), GC_VERIFY=1 (before and after), GC_CHECKMARK=1, GC_COLLECTOR_THREADS=N,
   GC_CONCURRENT=0|1. For GC_VERIFY, GC_CHECKMARK and GC_CONCURRENT any value but 0 means 1; for the other two an unknown
   value is GC_ERROR_OPTION. GC_VERBOSE=pauses has each heap call gc_heap_print_pauses when it is destroyed. [any thread; never
   collects; NULL: GC_ERROR_OPTION, GC_ERROR_RESERVE, GC_ERROR_MEMORY] */
GC_API gc_heap *gc_heap_create(const gc_options *options);

/* Runs the finalizers of all objects that are left (but see skip_finalizers_at_end), then frees the heap, its objects, handles
   and attached threads. No other thread may use it: each has detached, or is in preemptive mode, where it learns that the heap is
   gone (gc_thread_set_mode); that none stays in cooperative mode is asserted if GC_DEBUG >= 1. Afterwards gc.h calls no callback,
   trace function or finalizer for this heap. If a finalizer, or that, outlasts patience_ms, the heap's memory stays (allocations
   fail), and the library that has this gc.h must stay loaded; otherwise that may be unloaded once its heaps are destroyed. [any
   thread, the last of the heap; may collect; cannot fail] */
GC_API void gc_heap_destroy(gc_heap *heap);

/* The limits among the options, which may change while the heap runs. 0 means in each field what it means there. */
typedef struct gc_limits {
    size_t heap_bytes_max;
    size_t heap_bytes_soft;
    unsigned overhead_percent_max;
} gc_limits;

/* Fills *limits with those that were set last, by the options or by gc_heap_set_limits, so that one of them can be changed.
   A heap_bytes_soft beyond SIZE_MAX / 64 is that. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_limits(gc_heap *heap, gc_limits *limits);
/* Changes all limits at once. With heap_bytes_max 0 the container's limit at the time of the call counts. A heap that holds more
   than a lower heap_bytes_max is collected and compacted first; if what lives needs more, that fails with GC_ERROR_HEAP_FULL.
   For overhead_percent_max the time counts, too, that collections have taken before the call. On failure nothing has changed.
   [cooperative; may collect; GC_ERROR_HEAP_FULL, GC_ERROR_OPTION, GC_ERROR_MISUSE] */
GC_API gc_result gc_heap_set_limits(gc_heap *heap, const gc_limits *limits);

/* The least limit on memory among the control groups of the process and those around them, if the machine has more; 0: none,
   or the system does not say. Without heap_bytes_max a heap takes three quarters of it. [any thread; never collects; cannot
   fail] */
GC_API size_t gc_container_bytes(void);

/* The options that say when the heap is collected, which may change while it runs. 0 means in each field what it means there. */
typedef struct gc_pacing {
    size_t nursery_bytes;
    size_t growth_bytes_min;
    unsigned growth_percent;
    unsigned pause_goal_us; /* another goal does not turn `concurrent` on */
    /* No collection begins, and no marking ends, but at heap_bytes_max, by gc_collect, gc_heap_set_limits and under stress. So
       finalizers become due, and weak handles are cleared, by none but these. Off-heap bytes count towards nothing until then. */
    bool paused;
} gc_pacing;

/* Fills *pacing with what is in force, so that one field can be changed. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_pacing(gc_heap *heap, gc_pacing *pacing);
/* Changes all of it at once. A heap that is paused no more is collected when a thread has next allocated some KiB, if that is
   due. [cooperative; may wait; never collects; GC_ERROR_ARGUMENT, GC_ERROR_MISUSE] */
GC_API gc_result gc_heap_set_pacing(gc_heap *heap, const gc_pacing *pacing);

/* The host pointer of the heap's options. [any thread; never collects; cannot fail] */
GC_API void *gc_heap_host(const gc_heap *heap);

#define GC_PAUSE_BUCKETS 32
#define GC_WINDOWS 3 /* gc_stats.utilisation */

typedef struct gc_stats {
    uint64_t collections[GC_GENERATIONS]; /* by oldest condemned generation */
    uint64_t collections_compacting;
    uint64_t collections_moving; /* those that moved an object: gc_heap_moves */
    uint64_t pause_total_ns, pause_max_ns, pause_last_ns; /* the time to stop included: gc_heap_pauses */
    uint64_t pauses[GC_PAUSE_BUCKETS];       /* bucket i counts pauses of [2^i, 2^(i+1)) ns, the last one longer ones, too */
    uint64_t allocated_bytes;                /* by mutators since creation */
    uint64_t promoted_bytes;                 /* survivors of all collections, by age */
    uint64_t moved_bytes;                    /* the part of them that was copied */
    size_t survived_bytes;                   /* by the last collection */
    size_t condemned_bytes;                  /* by the last collection */
    size_t live_bytes;                       /* objects in use as far as known: exact just after a full collection; after
                                                one that ended a marking, with what has died since that began */
    size_t generation_bytes[GC_GENERATIONS]; /* the same, for each generation */
    size_t used_bytes;                       /* of the memory for objects, holes included */
    size_t committed_bytes;                  /* memory that the heap holds, free regions included */
    size_t committed_bytes_peak;
    size_t large_bytes;         /* in large objects */
    size_t external_bytes;      /* gc_object_add_external, gc_heap_add_external */
    size_t table_bytes;         /* card table, mark bits and region table for what is committed */
    size_t metadata_bytes;        /* handles, lists of finalizers, the collector's lists */
    size_t heap_bytes_max;      /* the limit in force; 0: none */
    size_t fragmentation_bytes; /* used_bytes - live_bytes */
    size_t regions;             /* those that hold objects */
    size_t nursery_bytes;       /* the current budget */
    uint64_t stops;             /* of several threads, for collections and walks */
    uint64_t stop_total_ns;     /* from asking the threads until the last one had stopped */
    uint64_t stop_max_ns;       /* the longest that one thread has taken */
    char stop_slowest[32];      /* its name */
    uint64_t mark_stack_overflows;
    /* What conservative words alone keep, in condemned generations: objects that such words found and nothing else reached,
       and (in bytes) also what only those objects lead to. An upper bound of what is kept falsely, for such a word may be a
       reference after all. */
    size_t conservative_objects;       /* found by the last collection */
    size_t conservative_bytes;         /* kept by the last collection */
    uint64_t conservative_total_bytes; /* the sum over all collections */
    uint64_t evacuation_failures;      /* objects that stayed in place because there was no room for a copy */
    uint64_t phase_total_ns[GC_PHASE_COUNT]; /* the part of the pauses that each phase took */
    double utilisation[GC_WINDOWS]; /* the least share of any 1, 10 and 100 ms that pauses left to the program (MMU), at most
                                       0.032 too low; 1: all. Since gc_heap_pauses has forgotten, if it has */
    /* Of marking beside mutators (gc_options.concurrent). */
    uint64_t concurrent_cycles;      /* that were begun */
    uint64_t concurrent_finished;    /* full collections that ended one: the others stopped the world for all of their marking */
    uint64_t concurrent_lost;        /* of those, how many came before all was marked, because the heap had grown too far */
    uint64_t concurrent_marked_bytes; /* that the marker had found alive before the last pauses */
    uint64_t concurrent_waited;      /* objects whose trace functions were called in a last pause instead */
    uint64_t concurrent_cpu_ns;      /* CPU time of the marker's thread */
    uint64_t remembered_slots;       /* of old objects, that young collections looked at instead of cards */
} gc_stats;

/* Fills *stats. Where several threads are attached, it is a safe point. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_stats(gc_heap *heap, gc_stats *stats);
/* The bytes that threads have allocated since the heap's creation, with what is left of their windows: gc_stats.allocated_bytes
   without a stop. [any thread; never collects; cannot fail] */
GC_API uint64_t gc_heap_allocated(const gc_heap *heap);
/* The pause that `fraction` (0..1) of all pauses did not exceed, in ns: the upper end of its bucket. [any thread; never
   collects; cannot fail] */
GC_API uint64_t gc_stats_pause_percentile(const gc_stats *stats, double fraction);
/* A readable page of gc_heap_stats, and a safe point likewise. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_print_stats(gc_heap *heap, FILE *file);
/* A picture of where the heap's memory goes, in text: live objects, holes, nursery, large objects' waste, free regions, tables,
   handles; and its regions, one character each. It is a safe point, as gc_heap_print_stats is. [cooperative; may wait; cannot
   fail] */
GC_API void gc_heap_print_memory(gc_heap *heap, FILE *file);
