/* Collectors as libraries: what a program and a library exchange, and using several collectors.

   A library is gc.h in a shared object, which exports GC_VersionInfo and GC_Initialize and nothing else. It gives the
   program a table of functions (gc_functions), and the program gives it one of its own (gc_host). Tables begin with their
   size and grow at their ends only. A program and a library get on if their interfaces have the same major version and
   their geometry, which inline code depends on, is the same. If the library's minor version is lower, its table lacks the
   functions that are newer; GC_LIBRARY_HAS asks for one.

   Where the program is compiled with GC_STANDALONE, gc_NAME calls go to the collector in force, by a jump through a table:
   the embedded collector, or the library that was chosen before the first of these calls. The collectors of other libraries
   are used by their tables, as in library->functions->gc_collect(heap, 2, 0); inline functions and macros that store or
   allocate are for the collector in force only. */
#pragma once

#include "code.h"
#include "stackmap_dump.h"
#include "version.h"
#include "interface.h"
#include "allocate.h"
#include "barrier.h"
#include "collect.h"
#include "finalizer.h"
#include "handle.h"
#include "heap.h"
#include "pause.h"
#include "roots.h"
#include "safe_handle.h"
#include "value_stack.h"
#include "weak.h"

/* The environment variables that name a collector: one for the name of a file, which is looked for in the folder of the
   program's file alone, and one for an absolute path. A program that has rights its user lacks (setuid) ignores them. */
#ifndef GC_STANDALONE_NAME_VARIABLE
#define GC_STANDALONE_NAME_VARIABLE "GC_NAME"
#endif
#ifndef GC_STANDALONE_PATH_VARIABLE
#define GC_STANDALONE_PATH_VARIABLE "GC_PATH"
#endif
#ifndef GC_STANDALONE_CLR_VARIABLES
#define GC_STANDALONE_CLR_VARIABLES 0 /* 1: DOTNET_GCName, DOTNET_GCPath and COMPlus_GCName (either) are read, too */
#endif

#define GC_INTERFACE_MAJOR 1
#define GC_INTERFACE_MINOR 0

struct GcDacVars; /* gc_dac.h */

/* What GC_VersionInfo exchanges. */
typedef struct gc_version_info {
    uint32_t major, minor; /* GC_INTERFACE_*: the program's on entry, the library's on return */
    uint32_t build;        /* for display only */
    const char *name;      /* for display only; static storage */
} gc_version_info;

/* All that inline code depends on: name, value. */
#define GC_GEOMETRY(X)                                            \
    X(region_shift, GC_REGION_SHIFT)                              \
    X(card_shift, GC_CARD_SHIFT)                                  \
    X(card_bits, GC_CARD_BITS)                                    \
    X(bundle_shift, GC_BUNDLE_SHIFT)                              \
    X(address_bits, GC_ADDRESS_BITS)                              \
    X(barrier, (uint32_t)GC__BARRIER_CHOSEN)                      \
    X(own_values, GC_HAS_VALUES - GC_HAS_VALUE_TAG)               \
    X(own_model, GC_HAS_MODEL)                                    \
    X(generations, GC_GENERATIONS)                                \
    X(saved_registers, GC__SAVED_REGISTERS)                       \
    X(object_bytes, (uint32_t)sizeof(gc_object))                  \
    X(array_bytes, (uint32_t)sizeof(gc_array))                    \
    X(type_bytes, (uint32_t)sizeof(gc_type))                      \
    X(finalizer_bytes, (uint32_t)sizeof(gc_finalizer))            \
    X(window_bytes, (uint32_t)sizeof(gc_window))                  \
    X(frame_bytes, (uint32_t)sizeof(gc_frame))                    \
    X(frame_site_bytes, (uint32_t)sizeof(gc_frame_site))          \
    X(stack_bytes, (uint32_t)sizeof(gc_stack))                    \
    X(thread_bytes, (uint32_t)sizeof(gc_thread))                  \
    X(thread_raw, (uint32_t)offsetof(gc_thread, raw))             \
    X(thread_frames, (uint32_t)offsetof(gc_thread, frames))       \
    X(thread_poll, (uint32_t)offsetof(gc_thread, poll))           \
    X(thread_mode, (uint32_t)offsetof(gc_thread, mode))           \
    X(thread_code, (uint32_t)offsetof(gc_thread, code))           \
    X(thread_registers, (uint32_t)offsetof(gc_thread, registers)) \
    X(barrier_tables_bytes, (uint32_t)sizeof(gc_barrier_tables))  \
    X(barrier_change_bytes, (uint32_t)sizeof(gc_barrier_change))  \
    X(options_bytes, (uint32_t)sizeof(gc_options))                \
    X(collection_bytes, (uint32_t)sizeof(gc_collection))          \
    X(stats_bytes, (uint32_t)sizeof(gc_stats))                    \
    X(handle_kinds, (uint32_t)GC_HANDLE_KINDS)                    \
    X(code_bytes, (uint32_t)sizeof(gc_code))                      \
    X(code_frame_bytes, (uint32_t)sizeof(gc_code_frame))          \
    X(code_cursor_bytes, (uint32_t)sizeof(gc_code_cursor))        \
    X(code_format_bytes, (uint32_t)sizeof(gc_code_format))        \
    X(value_bytes, (uint32_t)GC_VALUE_BYTES)

typedef struct gc_geometry {
    uint32_t bytes; /* of this record */
#define GC__GEOMETRY_FIELD(name, value) uint32_t name;
    GC_GEOMETRY(GC__GEOMETRY_FIELD)
#undef GC__GEOMETRY_FIELD
} gc_geometry;

#ifdef __cplusplus
#define GC__TYPE_OF(name) __typeof__(::name)
#else
#define GC__TYPE_OF(name) __typeof__(name)
#endif
#define GC__FIELD_CALL(name) GC__TYPE_OF(name) * name;
#define GC__FIELD_INLINE(name) GC__FIELD_CALL(name)
#define GC__FIELD_MACHINE(name) GC__FIELD_CALL(name)
#if GC_HAS_MODEL
#define GC__FIELD_TYPED(name) void (*name)(void);
#else
#define GC__FIELD_TYPED(name) GC__FIELD_CALL(name)
#endif
#define GC__FIELD_TYPED_INLINE(name) GC__FIELD_TYPED(name)
#define GC__FIELD(kind, name) GC__FIELD_##kind(name)

/* The functions of a collector. */
struct gc_functions {
    uint32_t bytes; /* of this table; what lies beyond it is missing */
    uint32_t unused;
    const gc_geometry *geometry;
    GC__INTERFACE(GC__FIELD)
};

/* What a program gives to a library; 0 is allowed for each function, and means what its comment says. The other things that
   a collector needs of a host (suspend, restart, scan_roots, finalizers_ready...) are those of each heap: gc_options. */
typedef struct gc_host {
    uint32_t bytes;        /* of this table; what lies beyond it is missing */
    uint32_t major, minor; /* GC_INTERFACE_* of the program */
    uint32_t shadow_heap;  /* GC_SHADOW_HEAP: whether inline stores keep the shadow heap */
    const gc_geometry *geometry;
    uintptr_t value_mask, value_tag; /* GC_VALUE_MASK and GC_VALUE_TAG; 0: the program has none */
    void *context;                   /* handed to all of these */
    /* Is told by GC_Initialize, which then fails, why it does: a sentence. 0: is not told. */
    void (*refused)(void *context, const char *why);
    /* A setting, by the name of its environment variable; NULL: it is not set. 0: the library reads the environment. */
    const char *(*setting)(void *context, const char *name);
    /* What barriers read has changed: called before any heap's gc_options.barrier_changed, under the same rules, and first
       when the first heap is created. 0: the program does not store inline. */
    void (*stomp)(void *context, const gc_barrier_change *change);
    /* Take warnings and fatal faults of heaps whose options have no function for them. 0: to stderr. */
    void (*warning)(void *context, const char *message);
    void (*fatal)(void *context, const char *message);
} gc_host;

/* What a library exports. GC_VersionInfo comes first. GC_Initialize is called once for each process: it stores the address
   of the table, keeps that of `host`, and returns 0, or a gc_result. */
typedef void gc_version_info_function(gc_version_info *info);
typedef int32_t gc_initialize_function(const gc_host *host, const gc_functions **functions, struct GcDacVars *vars);

/* A collector that a program uses. Never unloaded once it was initialized. */
typedef struct gc_library {
    const gc_functions *functions;
    gc_version_info version;         /* the library's */
    const char *path;                /* NULL: the embedded collector */
    void *handle;                    /* of dlopen; NULL: the embedded collector */
    gc_host host;                    /* what the library was given */
    const gc_barrier_tables *tables; /* what barriers read; NULL before the first heap */
    gc_barrier barrier;              /* the one in force */
    struct GcDacVars *vars;          /* how the collector describes itself to readers: gc_dac.h. magic 0: it does not */
    struct gc_library *next;         /* in the list of those loaded */
} gc_library;

/* Whether the collector has the function, which is newer than version 1.0 of the interface. */
#define GC_LIBRARY_HAS(library, name) \
    ((library)->functions->bytes >= offsetof(gc_functions, name) + sizeof(void *) && (library)->functions->name)

/* Is asked where the collector that the environment names cannot be used, for which `why` is a paragraph: whether the program
   goes on with the embedded one. It must call nothing of gc.h. */
typedef bool gc_library_refused(void *context, const char *why);

/* Loads the collector at the absolute path and starts it, for use by its table beside those in use. If it cannot be used,
   *why is a paragraph, valid until the next failure on this thread; `why` may be NULL. [any thread; waits; NULL: *why] */
GC_API gc_library *gc_library_load(const char *path, const char **why);
/* Returns the collector in force. The first call chooses it: the one that the environment names (GC_STANDALONE_NAME_VARIABLE
   and GC_STANDALONE_PATH_VARIABLE), or else the embedded one. If it cannot be used, `refused` decides; 0: the program ends
   with the message. With GC_STANDALONE any other call of gc.h chooses as well, as if `refused` were 0. [any thread; waits;
   cannot fail] */
GC_API const gc_library *gc_library_choose(gc_library_refused *refused, void *context);

/* The embedded collector. [any thread; never collects; cannot fail] */
GC_API gc_library *gc_library_embedded(void);
