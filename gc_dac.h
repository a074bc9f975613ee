/* Generated from src/gc_dac.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_dac.h - looks into a program that uses gc.h from outside: a live process, or a core file. Needs neither gc.h nor the
   program's symbols.

   In one .c file of a tool

       #define GC_DAC_IMPLEMENTATION
       #include "gc_dac.h"

   ahead of any system header (or compile that file with -D_GNU_SOURCE), and elsewhere just include it. C11 or C++14. */
#pragma once

/* A host's rules of style do not apply to gc.h: between GC__STYLE_BEGIN and GC__STYLE_END a compiler gives no warnings
   that many projects turn on, or into errors, but that show no fault. */

#include <stddef.h>

/* `#include GC__STOP` after an #error ends the compilation, so that the errors that would follow do not hide its sentence. */
#define GC__STOP <gc.h: see the error above>

#define GC__PRAGMA(text) _Pragma(#text)
#define GC__IGNORE_WARNING(name) GC__PRAGMA(GCC diagnostic ignored name)
#ifdef __cplusplus
#define GC__IGNORE_WARNINGS_OF_C
#else
#define GC__IGNORE_WARNINGS_OF_C                        \
    GC__IGNORE_WARNING("-Wdeclaration-after-statement") \
    GC__IGNORE_WARNING("-Wbad-function-cast")           \
    GC__IGNORE_WARNING("-Wmissing-prototypes")          \
    GC__IGNORE_WARNING("-Wc++-compat")
#endif
#define GC__STYLE_BEGIN                       \
    GC__PRAGMA(GCC diagnostic push)           \
    GC__IGNORE_WARNING("-Wredundant-decls")   \
    GC__IGNORE_WARNING("-Wcast-qual")         \
    GC__IGNORE_WARNING("-Wcast-align")        \
    GC__IGNORE_WARNING("-Wfloat-equal")       \
    GC__IGNORE_WARNING("-Wswitch-enum")       \
    GC__IGNORE_WARNING("-Wswitch-default")    \
    GC__IGNORE_WARNING("-Wformat-nonliteral") \
    GC__IGNORE_WARNING("-Wpadded")            \
    GC__IGNORE_WARNING("-Winline")            \
    GC__IGNORE_WARNING("-Wnull-dereference")  \
    GC__IGNORE_WARNINGS_OF_C
#define GC__STYLE_END GC__PRAGMA(GCC diagnostic pop)

GC__STYLE_BEGIN

/* Looking into a process or a core file from outside: the reader.

   The reader runs no code of the program that it looks into, and needs neither its symbols nor the headers that it was compiled
   with: the collector describes itself (GcDacVars), and the reader finds that description by a note in the program's files.

       gc_dac *dac = gc_dac_open_core("core");                  // or gc_dac_open_process(pid, GC_DAC_STOP)
       if (!gc_dac_heaps(dac, each_heap, &mine)) puts(gc_dac_message(dac));
       gc_dac_close(dac);

   Whatever is read may be damaged, or in the midst of a change. Each walk ends, reads within bounds, and reports what it can;
   what it cannot know it says by gc_dac_heap.doubts, by the flags of objects and regions, and by gc_dac_message. */

#if (defined(GC_DAC_IMPLEMENTATION) || defined(GC_IMPLEMENTATION)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* process_vm_readv, also under -std=c11 */
#endif

/* GcDacVars: how a collector describes itself to readers in other processes, which need no headers of it.

   The note ".note.gc.h" of a program or library (owner "gc.h", type 1) contains one signed number of 8 bytes, which added to its
   own address gives that of the record. So it is found without symbols, in a stripped file as well as in a core file. The record
   is in written memory, which core files have.

   Version rules: a reader rejects another major version. It accepts any minor version: entries are only ever appended to the
   lists below, and a reader uses none that a record does not have. */

/* Two shipped headers have this part, and a program may include both. */
#ifndef GC_DAC_MAJOR

#include <stddef.h>
#include <stdint.h>

#define GC_DAC_MAJOR 3
#define GC_DAC_MINOR 2
#define GC__DAC_MAGIC 0x7363615668636744 /* of 8 bytes */
#define GC__DAC_NOTE_OWNER "gc.h"
#define GC__DAC_NOTE_TYPE 1

/* Returns the length of the first of the names of GC_ROOTS. Commas within parentheses or brackets belong to a name. */
static inline size_t gc__name_bytes(const char *names) {
    size_t bytes = 0;
    for (int depth = 0; names[bytes] && (depth > 0 || names[bytes] != ','); bytes++)
        depth += (names[bytes] == '(' || names[bytes] == '[') - (names[bytes] == ')' || names[bytes] == ']');
    return bytes;
}

/* X(NAME, address): variables of the collector. */
#define GC__DAC_VARIABLES(X)     \
    X(ARENA, &gc__the_arena)     \
    X(HEAPS, &gc__heaps)         \
    X(REASONS, gc__reason_texts) \
    X(TABLES, &gc__tables)       \
    X(WEAK_TRACES, gc__weak_traces)

/* X(NAME, number): geometry, sizes, tags. */
#define GC__DAC_FACTS(X)                                           \
    X(REGION_SHIFT, GC_REGION_SHIFT)                               \
    X(GENERATIONS, GC_GENERATIONS)                                 \
    X(DEBUG, GC_DEBUG)                                             \
    X(HAS_VALUES, GC_HAS_VALUES)                                   \
    X(HAS_MODEL, GC_HAS_MODEL)                                     \
    X(REGION_BYTES, sizeof(gc__region))                            \
    X(MARK_SHIFT, 3)                                               \
    X(OBJECT_BYTES_MIN, GC_OBJECT_BYTES_MIN)                       \
    X(FORWARD_TAG, GC__FORWARD_TAG)                                \
    X(FILLER_TAG, GC__FILLER_TAG)                                  \
    X(FILLER_SHIFT, 2)                                             \
    X(KIND_FREE, GC__FREE)                                         \
    X(KIND_SMALL, GC__SMALL)                                       \
    X(KIND_LARGE, GC__LARGE)                                       \
    X(KIND_LARGE_REST, GC__LARGE_REST)                             \
    X(KIND_QUARANTINED, GC__QUARANTINED)                           \
    X(MODE_PREEMPTIVE, GC_MODE_PREEMPTIVE)                         \
    X(SLOT_INTERIOR, GC_SLOT_INTERIOR)                             \
    X(SLOT_PINNED, GC_SLOT_PINNED)                                 \
    X(SLOT_VALUE, GC_SLOT_VALUE)                                   \
    X(SLOT_CONTIGUOUS, GC__SLOT_CONTIGUOUS)                        \
    X(REGISTERS, GC__SAVED_REGISTERS)                              \
    X(SAVED_STACK_POINTER, GC__SAVED_STACK_POINTER)                \
    X(TYPE_BYTES, sizeof(gc_type))                                 \
    X(TYPE_OFFSETS, 17)                                            \
    X(HANDLE_KINDS, GC_HANDLE_KINDS)                               \
    X(HANDLE_WEAK, GC_HANDLE_WEAK)                                 \
    X(HANDLE_WEAK_LONG, GC_HANDLE_WEAK_LONG)                       \
    X(HANDLE_STRONG, GC_HANDLE_STRONG)                             \
    X(HANDLE_PINNED, GC_HANDLE_PINNED)                             \
    X(HANDLE_DEPENDENT, GC_HANDLE_DEPENDENT)                       \
    X(HANDLE_REF_COUNTED, GC_HANDLE_REF_COUNTED)                   \
    X(SEGMENT_BYTES, sizeof(gc__handle_segment))                   \
    X(SEGMENT_PLACES, GC__HANDLE_PLACES)                           \
    X(SEGMENT_BLOCK, GC__HANDLE_BLOCK)                             \
    X(HANDLE_FREE, GC__HANDLE_FREE)                                \
    X(HANDLE_TAG_SHIFT, GC__HANDLE_TAG_SHIFT)                      \
    X(DUE_BYTES, sizeof(gc__due))                                  \
    X(CODE_REGISTERS, GC__DAC_CODE_REGISTERS)                      \
    X(CODE_STACK_POINTER, 4)                                       \
    X(REASONS, sizeof gc__reason_texts / sizeof *gc__reason_texts) \
    X(CARD_SHIFT, GC_CARD_SHIFT)                                   \
    X(CARD_BITS, GC_CARD_BITS)                                     \
    X(CARD_BYTE_SHIFT, GC_CARD_BYTE_SHIFT)                         \
    X(BUNDLE_SHIFT, GC_BUNDLE_SHIFT)                               \
    X(STACK_WORDS, GC__STACK_WORDS)                                \
    X(SLOT_DERIVED, GC__SLOT_DERIVED)                              \
    X(SLOT_CONSERVATIVE, GC_SLOT_CONSERVATIVE)                     \
    X(VALUE_BYTES, GC_VALUE_BYTES)                                 \
    X(AGE_LOGGED, GC_AGE_LOGGED)

/* X(structure, member, type, path): offsets of members. */
#define GC__DAC_MEMBERS(X)                                           \
    X(arena, base, gc__arena, base)                                  \
    X(arena, bytes, gc__arena, bytes)                                \
    X(arena, count, gc__arena, count)                                \
    X(arena, regions, gc__arena, regions)                            \
    X(arena, marks, gc__arena, marks[0])                             \
    X(arena, marks_second, gc__arena, marks[1])                      \
    X(arena, used, gc__arena, used)                                  \
    X(region, heap, gc__region, heap)                                \
    X(region, base, gc__region, base)                                \
    X(region, top, gc__region, top)                                  \
    X(region, dirty_end, gc__region, dirty_end)                      \
    X(region, next, gc__region, next)                                \
    X(region, live_bytes, gc__region, live_bytes)                    \
    X(region, span, gc__region, span)                                \
    X(region, rest_index, gc__region, rest_index)                    \
    X(region, kind, gc__region, kind)                                \
    X(region, generation, gc__region, generation)                    \
    X(region, target, gc__region, target)                            \
    X(region, verdict, gc__region, verdict)                          \
    X(region, linear, gc__region, linear)                            \
    X(region, formatted, gc__region, formatted)                      \
    X(region, accessible, gc__region, accessible)                    \
    X(region, plane, gc__region, plane)                              \
    X(heap, heap_bytes_max, gc_heap, options.heap_bytes_max)         \
    X(heap, non_moving, gc_heap, options.non_moving)                 \
    X(heap, non_generational, gc_heap, options.non_generational)     \
    X(heap, conservative_stack, gc_heap, options.conservative_stack) \
    X(heap, scan_roots, gc_heap, options.scan_roots)                 \
    X(heap, stress, gc_heap, options.debug.stress)                         \
    X(heap, regions, gc_heap, regions)                               \
    X(heap, free, gc_heap, free)                                     \
    X(heap, held_regions, gc_heap, held_regions)                     \
    X(heap, held_peak_bytes, gc_heap, held_peak_bytes)               \
    X(heap, large_bytes, gc_heap, large_bytes)                       \
    X(heap, external_bytes, gc_heap, external_bytes)                 \
    X(heap, generation_bytes, gc_heap, generation_bytes)             \
    X(heap, nursery_survivor_bytes, gc_heap, nursery_survivor_bytes) \
    X(heap, budget_bytes, gc_heap, budget_bytes)                     \
    X(heap, phase, gc_heap, phase)                                   \
    X(heap, collection_number, gc_heap, collection.number)           \
    X(heap, collection_generation, gc_heap, collection.generation)   \
    X(heap, collection_reason, gc_heap, collection.reason)           \
    X(heap, stats, gc_heap, stats)                                   \
    X(heap, threads, gc_heap, threads)                               \
    X(heap, collector, gc_heap, collector)                           \
    X(heap, handles, gc_heap, handles)                               \
    X(heap, finalizers, gc_heap, finalizers)                         \
    X(threads, owner, gc__threads, lock.owner)                       \
    X(threads, stopping, gc__threads, stopping)                      \
    X(threads, first, gc__threads, first)                            \
    X(threads, next_heap, gc__threads, next_heap)                    \
    X(threads, stacks, gc__threads, stacks)                          \
    X(collector, globals, gc__collector, globals)                    \
    X(thread, window, gc__thread_record, thread.window)              \
    X(thread, raw, gc__thread_record, thread.raw)                    \
    X(thread, frames, gc__thread_record, thread.frames)              \
    X(thread, mode, gc__thread_record, thread.mode)                  \
    X(thread, stack, gc__thread_record, thread.stack)                \
    X(thread, code, gc__thread_record, thread.code)                  \
    X(thread, registers, gc__thread_record, thread.registers)        \
    X(thread, next, gc__thread_record, next)                         \
    X(thread, parked, gc__thread_record, parked)                     \
    X(thread, conservative, gc__thread_record, conservative)         \
    X(thread, name, gc__thread_record, name)                         \
    X(thread, stack_pointer, gc__thread_record, stack_pointer)       \
    X(thread, stack_base, gc__thread_record, stack_base)             \
    X(thread, own_stack, gc__thread_record, own_stack)               \
    X(thread, stop_total_ns, gc__thread_record, stop_total_ns)       \
    X(thread, stops, gc__thread_record, stops)                       \
    X(thread, tid, gc__thread_record, tid)                           \
    X(window, next, gc_window, next)                                 \
    X(window, limit, gc_window, limit)                               \
    X(window, end, gc_window, end)                                   \
    X(window, region, gc_window, region)                             \
    X(stack, next, gc_stack, next)                                   \
    X(stack, thread, gc_stack, thread)                               \
    X(stack, frames, gc_stack, frames)                               \
    X(stack, code, gc_stack, code)                                   \
    X(stack, conservative, gc_stack, conservative)                   \
    X(stack, base, gc_stack, base)                                   \
    X(stack, stack_pointer, gc_stack, stack_pointer)                 \
    X(stack, registers, gc_stack, registers)                         \
    X(frame, previous, gc_frame, previous)                           \
    X(frame, site, gc_frame, site)                                   \
    X(frame, count, gc_frame, count)                                 \
    X(frame, slots, gc_frame, slots)                                 \
    X(site, names, gc_frame_site, names)                             \
    X(site, function, gc_frame_site, function)                       \
    X(site, file, gc_frame_site, file)                               \
    X(site, line, gc_frame_site, line)                               \
    X(site, flags, gc_frame_site, flags)                             \
    X(code, previous, gc__dac_code_frame, previous)                  \
    X(code, pc, gc__dac_code_frame, pc)                              \
    X(code, registers, gc__dac_code_frame, registers)                \
    X(code, known, gc__dac_code_frame, known)                        \
    X(words, words, gc__words, words)                                \
    X(words, count, gc__words, count)                                \
    X(type, name, gc_type, name)                                     \
    X(type, bytes, gc_type, bytes)                                   \
    X(type, element_bytes, gc_type, element_bytes)                   \
    X(type, refs, gc_type, refs)                                     \
    X(type, values, gc_type, values)                                 \
    X(type, element_refs, gc_type, element_refs)                     \
    X(type, element_values, gc_type, element_values)                 \
    X(type, trace, gc_type, trace)                                   \
    X(type, finalizer, gc_type, finalizer)                           \
    X(type, fields, gc_type, fields)                                 \
    X(type, field_offsets, gc_type, field_offsets)                   \
    X(object, length, gc_array, length)                              \
    X(handles, segments, gc__handles, segments)                      \
    X(segment, next, gc__handle_segment, next)                       \
    X(segment, kinds, gc__handle_segment, kinds)                     \
    X(segment, extras, gc__handle_segment, extras)                   \
    X(segment, tags, gc__handle_segment, tags)                       \
    X(segment, places, gc__handle_segment, places)                   \
    X(finalizers, registered, gc__finalizers, registered)            \
    X(finalizers, due, gc__finalizers, due)                          \
    X(finalizers, running, gc__finalizers, running)                  \
    X(due, pairs, gc__due, pairs)                                    \
    X(due, head, gc__due, head)                                      \
    X(finalizing, next, gc__finalizing, next)                        \
    X(finalizing, thread, gc__finalizing, thread)                    \
    X(finalizing, type, gc__finalizing, type)                        \
    X(finalizing, started_ns, gc__finalizing, started_ns)            \
    X(tables, cards, gc_barrier_tables, cards)                       \
    X(tables, bundles, gc_barrier_tables, bundles)                   \
    X(tables, log_bits, gc_barrier_tables, log_bits)                 \
    X(heap, spare_bytes, gc_heap, spare_bytes)                       \
    X(heap, free_spare_bytes, gc_heap, free_spare_bytes)             \
    X(heap, cycle, gc_heap, cycle)                                   \
    X(cycle, roots, gc__cycle, roots)                                \
    X(cycle, reported, gc__cycle, reported)                          \
    X(cycle, stacks, gc__cycle, stacks)                              \
    X(value_stack, base, gc_value_stack, base)                       \
    X(value_stack, top, gc_value_stack, top)                         \
    X(value_stack, entry_bytes, gc_value_stack, entry_bytes)         \
    X(value_stack, flags, gc_value_stack, flags)                     \
    X(window, start, gc_window, start)                               \
    X(tables, age, gc_barrier_tables, age)                           \
    X(thread, unbound, gc__thread_record, unbound)

/* X(name, count): the numbers of gc_stats that are kept up to date, in its first members. */
#define GC__DAC_STATISTICS(X)      \
    X(collections, GC_GENERATIONS) \
    X(collections_compacting, 1)   \
    X(collections_moving, 1)       \
    X(pause_total_ns, 1)           \
    X(pause_max_ns, 1)             \
    X(pause_last_ns, 1)            \
    X(pauses, GC_PAUSE_BUCKETS)    \
    X(allocated_bytes, 1)          \
    X(promoted_bytes, 1)           \
    X(moved_bytes, 1)              \
    X(survived_bytes, 1)           \
    X(condemned_bytes, 1)          \
    X(stops, 1)                    \
    X(stop_total_ns, 1)            \
    X(stop_max_ns, 1)              \
    X(mark_stack_overflows, 1)     \
    X(conservative_objects, 1)     \
    X(conservative_bytes, 1)       \
    X(conservative_total_bytes, 1) \
    X(evacuation_failures, 1)

enum {
#define GC__DAC_NUMBER(name, address) GC__DAC_VARIABLE_##name,
    GC__DAC_VARIABLES(GC__DAC_NUMBER) GC__DAC_VARIABLE_COUNT
#undef GC__DAC_NUMBER
};
enum {
#define GC__DAC_NUMBER(name, number) GC__DAC_FACT_##name,
    GC__DAC_FACTS(GC__DAC_NUMBER) GC__DAC_FACT_COUNT
#undef GC__DAC_NUMBER
};
enum {
#define GC__DAC_NUMBER(structure, member, type, path) GC__DAC_AT_##structure##_##member,
    GC__DAC_MEMBERS(GC__DAC_NUMBER) GC__DAC_AT_COUNT
#undef GC__DAC_NUMBER
};
enum {
#define GC__DAC_NUMBER(name, count) GC__DAC_STATISTIC_##name,
    GC__DAC_STATISTICS(GC__DAC_NUMBER) GC__DAC_STATISTIC_COUNT
#undef GC__DAC_NUMBER
};

/* The record. The lists follow one another without gaps, each as long as its count says, so a reader finds them in a record of
   any minor version. */
typedef struct GcDacVars {
    uint64_t magic;
    uint16_t major, minor;
    uint16_t variable_count, fact_count, member_count, statistic_count;
    uint32_t bytes;   /* of the record */
    char version[16]; /* of gc.h */
    const void *variables[GC__DAC_VARIABLE_COUNT];
    uint32_t facts[GC__DAC_FACT_COUNT];
    uint16_t members[GC__DAC_AT_COUNT];
    uint16_t statistics[GC__DAC_STATISTIC_COUNT][2]; /* offset in gc_heap.stats, and count */
} GcDacVars;
#endif
/* The phases of a collection: what its time is divided among, and what readers in other processes see of it. */

/* Two shipped headers have this part, and a program may include both. */
#ifndef GC_PHASES

/* In their order; those from ROOTS to FINALIZERS may take turns. Until PLAN nothing has changed. From there to SWEEP roots
   and fields may be old or new, and objects in condemned regions cannot be listed. X(NAME, text). */
#define GC_PHASES(X)                                                                   \
    X(GC_PHASE_OPEN, "open")             /* the start hook, verification */            \
    X(GC_PHASE_GATHER, "gather roots")   /* asks the host for roots */                 \
    X(GC_PHASE_PLAN, "plan")             /* chooses regions to move, mark or ignore */ \
    X(GC_PHASE_ROOTS, "mark roots")      /* traces from roots */                       \
    X(GC_PHASE_CARDS, "cards")           /* traces from dirty cards */                 \
    X(GC_PHASE_REMARK, "remark")         /* what concurrent marking has left */        \
    X(GC_PHASE_AMBIGUOUS, "ambiguous")   /* traces from conservative words */          \
    X(GC_PHASE_HANDLES, "handles")       /* dependent and weak handles */              \
    X(GC_PHASE_FINALIZERS, "finalizers") /* queues finalizers, and traces from them */ \
    X(GC_PHASE_SWEEP, "sweep")           /* frees regions */                           \
    X(GC_PHASE_CLOSE, "close")           /* pacing, verification, statistics */

typedef enum gc_phase {
#define GC__PHASE_NAME(name, text) name,
    GC_PHASES(GC__PHASE_NAME)
#undef GC__PHASE_NAME
        GC_PHASE_COUNT,
    GC_PHASE_NONE = GC_PHASE_COUNT /* no collection runs */
} gc_phase;

#endif

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

#ifdef GC_DAC_IMPLEMENTATION
/* The system calls by which a process reads other processes: Linux. */

/* Files of programs in memory, on Linux: their sections, symbols and build ids. Nothing that they say is trusted: from
   a damaged file fewer of these are read. */

/* Two shipped headers include this file, and a program may include both. */
#ifndef GC__IMAGE_FN
#define GC__IMAGE_FN static __attribute__((unused, cold))

#if (defined(GC_DAC_IMPLEMENTATION) || defined(GC_IMPLEMENTATION)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* declares O_CLOEXEC, also under -std=c11 */
#endif

#ifdef __linux__
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GC__IMAGE_PATH 4096

#define GC__IMAGE_RISCV 243 /* not every C library names it */
#if defined(__x86_64__)
#define GC__IMAGE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define GC__IMAGE_MACHINE EM_AARCH64
#elif defined(__riscv)
#define GC__IMAGE_MACHINE GC__IMAGE_RISCV
#elif defined(__s390x__)
#define GC__IMAGE_MACHINE EM_S390
#elif defined(__powerpc64__)
#define GC__IMAGE_MACHINE EM_PPC64
#else
#define GC__IMAGE_MACHINE EM_NONE
#endif
#define GC__IMAGE_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

/* A file in memory, read only. */
typedef struct gc__image {
    const uint8_t *bytes;
    size_t size;
} gc__image;

#define GC__IMAGE_NO_FILE (-1) /* the path is not that of a regular file */
#define GC__IMAGE_EMPTY (-2)

/* Maps a regular file. Returns 0, the number of the system's error, or one of these constants. Safe in a fault
   handler. */
GC__IMAGE_FN int gc__image_open(const char *path, gc__image *image) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), fault = fd < 0 ? errno : 0;
    image->bytes = NULL;
    image->size = 0;
    if (!fault && fstat(fd, &status) != 0) fault = errno;
    if (!fault && !S_ISREG(status.st_mode)) fault = GC__IMAGE_NO_FILE;
    if (!fault && status.st_size == 0) fault = GC__IMAGE_EMPTY;
    if (!fault) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) fault = errno;
        if (!fault) image->bytes = (const uint8_t *)bytes, image->size = (size_t)status.st_size;
    }
    if (fd >= 0) close(fd);
    return fault;
}

/* Maps a regular file. Returns NULL, or why that is impossible. */
GC__IMAGE_FN const char *gc__image_map(const char *path, gc__image *image) {
    int fault = gc__image_open(path, image);
    if (fault == GC__IMAGE_NO_FILE) return "it is no regular file";
    if (fault == GC__IMAGE_EMPTY) return "it is empty";
    return fault ? strerror(fault) : NULL;
}

GC__IMAGE_FN void gc__image_unmap(gc__image *image) {
    if (image->bytes) munmap((void *)(uintptr_t)image->bytes, image->size);
    image->bytes = NULL;
    image->size = 0;
}

GC__IMAGE_FN bool gc__image_has(const gc__image *image, uint64_t offset, uint64_t bytes) {
    return offset <= image->size && bytes <= image->size - offset;
}

/* Returns the build id among notes; NULL if there is none. */
GC__IMAGE_FN const uint8_t *gc__image_id_in(const uint8_t *notes, uint64_t bytes, uint64_t alignment, size_t *length) {
    const uint64_t unit = alignment == 8 ? 8 : 4;
    uint64_t from = 0;
    Elf64_Nhdr note;
    while (from <= bytes && bytes - from >= sizeof note) {
        memcpy(&note, notes + from, sizeof note);
        uint64_t name = from + sizeof note, contents = name + ((note.n_namesz + unit - 1) & ~(unit - 1));
        if (contents > bytes || note.n_descsz > bytes - contents) return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            *length = note.n_descsz;
            return notes + contents;
        }
        from = contents + ((note.n_descsz + unit - 1) & ~(unit - 1));
    }
    return NULL;
}

/* Reads part `i` of the program headers; returns false if there are fewer. */
GC__IMAGE_FN bool gc__image_part(const gc__image *image, unsigned i, Elf64_Phdr *part) {
    Elf64_Ehdr header;
    if (!gc__image_has(image, 0, sizeof header)) return false;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t at = header.e_phoff + (uint64_t)i * sizeof *part;
    if (i >= header.e_phnum || header.e_phentsize != sizeof *part || at < header.e_phoff) return false;
    if (!gc__image_has(image, at, sizeof *part)) return false;
    memcpy(part, image->bytes + at, sizeof *part);
    return true;
}

/* Returns the build id of the file; NULL if it has none. The image may be only the beginning of the file. */
GC__IMAGE_FN const uint8_t *gc__image_build_id(const gc__image *image, size_t *length) {
    Elf64_Phdr part;
    for (unsigned i = 0; gc__image_part(image, i, &part); i++) {
        if (part.p_type != PT_NOTE || !gc__image_has(image, part.p_offset, part.p_filesz)) continue;
        const uint8_t *id = gc__image_id_in(image->bytes + part.p_offset, part.p_filesz, part.p_align, length);
        if (id) return id;
    }
    return NULL;
}

/* Reads section `i`, whose contents are in the file. Returns false if there are fewer, or the file is not a 64-bit ELF
   file. A section with incomplete contents counts as empty. */
GC__IMAGE_FN bool gc__image_section(const gc__image *image, uint64_t i, Elf64_Shdr *section) {
    Elf64_Ehdr header;
    if (!gc__image_has(image, 0, sizeof header)) return false;
    memcpy(&header, image->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != GC__IMAGE_ORDER || header.e_shentsize != sizeof *section || !header.e_shoff)
        return false;
    uint64_t count = header.e_shnum;
    if (!gc__image_has(image, header.e_shoff, sizeof *section)) return false;
    memcpy(section, image->bytes + header.e_shoff, sizeof *section);
    if (!count) count = section->sh_size; /* more than a half word can hold */
    if (i >= count || i > image->size / sizeof *section) return false;
    if (!gc__image_has(image, header.e_shoff, (i + 1) * sizeof *section)) return false;
    memcpy(section, image->bytes + header.e_shoff + i * sizeof *section, sizeof *section);
    if (section->sh_type == SHT_NOBITS || !gc__image_has(image, section->sh_offset, section->sh_size))
        section->sh_size = section->sh_offset = 0;
    return true;
}

/* Finds the first section of that type; returns false if there is none. */
GC__IMAGE_FN bool gc__image_section_of_type(const gc__image *image, uint32_t type, Elf64_Shdr *section) {
    for (uint64_t i = 0; gc__image_section(image, i, section); i++)
        if (section->sh_type == type && section->sh_size) return true;
    return false;
}

/* Returns a text in a section of texts; NULL if there is none. */
GC__IMAGE_FN const char *gc__image_text(const gc__image *image, const Elf64_Shdr *texts, uint64_t offset) {
    if (offset >= texts->sh_size) return NULL;
    const char *text = (const char *)image->bytes + texts->sh_offset + offset;
    return memchr(text, 0, texts->sh_size - offset) ? text : NULL;
}

GC__IMAGE_FN bool gc__image_section_named(const gc__image *image, const char *name, Elf64_Shdr *section) {
    Elf64_Ehdr header;
    Elf64_Shdr texts;
    if (!gc__image_section(image, 0, section)) return false;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t names = header.e_shstrndx == SHN_XINDEX ? section->sh_link : header.e_shstrndx;
    if (!gc__image_section(image, names, &texts)) return false;
    for (uint64_t i = 0; gc__image_section(image, i, section); i++) {
        const char *text = gc__image_text(image, &texts, section->sh_name);
        if (text && strcmp(text, name) == 0) return true;
    }
    return false;
}

/* A table of symbols. */
typedef struct gc__image_symbols {
    const gc__image *image;
    Elf64_Shdr table, texts;
    uint64_t count;
} gc__image_symbols;

/* Opens the file's .symtab, or if it has none its .dynsym; returns false if it has neither. */
GC__IMAGE_FN bool gc__image_symbols_open(gc__image_symbols *symbols, const gc__image *image) {
    symbols->image = image;
    symbols->count = 0;
    if (!gc__image_section_of_type(image, SHT_SYMTAB, &symbols->table) &&
        !gc__image_section_of_type(image, SHT_DYNSYM, &symbols->table))
        return false;
    if (!gc__image_section(image, symbols->table.sh_link, &symbols->texts)) return false;
    symbols->count = symbols->table.sh_size / sizeof(Elf64_Sym);
    return true;
}

/* Sets of symbol types, with a bit for each. */
#define GC__IMAGE_CODE (1u << STT_FUNC | 1u << STT_GNU_IFUNC | 1u << STT_NOTYPE)
#define GC__IMAGE_DATA (1u << STT_OBJECT)

/* Reads symbol `i`, and returns its name; NULL if it has none, or is of none of these types. */
GC__IMAGE_FN const char *gc__image_symbol(const gc__image_symbols *symbols, uint64_t i, unsigned types,
                                          Elf64_Sym *symbol) {
    memcpy(symbol, symbols->image->bytes + symbols->table.sh_offset + i * sizeof *symbol, sizeof *symbol);
    if (!(types >> ELF64_ST_TYPE(symbol->st_info) & 1) || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
        return NULL;
    const char *name = gc__image_text(symbols->image, &symbols->texts, symbol->st_name);
    return name && *name ? name : NULL;
}
#endif
#endif

#ifndef __linux__
#error "gc_dac.h: reading other processes is for Linux only, so far"
#include GC__STOP
#endif
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#ifndef MAP_ANONYMOUS
#error "gc_dac.h: with GC_DAC_IMPLEMENTATION, include it before any other header, or compile with -D_GNU_SOURCE"
#include GC__STOP
#endif

#define GC__DAC_FN static __attribute__((unused))

/* Releases a mapped file's pages, which count as this process's memory; they are loaded again when they are read. */
GC__DAC_FN void gc__dac_os_let_go(const gc__image *file) {
    madvise((void *)(uintptr_t)file->bytes, file->size, MADV_DONTNEED);
}

/* Returns how many bytes, from the first on, the system has copied out of the process. */
GC__DAC_FN size_t gc__dac_os_read(int pid, uint64_t address, void *to, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return done < 0 ? 0 : (size_t)done;
}

/* Returns why the process cannot be read, with the remedy; NULL: it can. `address` is readable in any readable
   process. */
GC__DAC_FN const char *gc__dac_os_refusal(int pid, uint64_t address) {
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)address, 1};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1) return NULL;
    if (errno == ESRCH) return "there is no such process";
    if (errno == ENOSYS) return "this system has no process_vm_readv";
    if (errno == EFAULT) return "its memory is not readable";
    return "the system does not permit it: be the same user or root; or `sysctl kernel.yama.ptrace_scope=0`; or have "
           "the "
           "program call prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); in a container, allow SYS_PTRACE";
}

/* Returns whether the thread has released its process's memory. The first thread remains visible until all have
   ended. */
GC__DAC_FN bool gc__dac_os_has_ended(int tid) {
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};
    return process_vm_readv(tid, &local, 1, &remote, 1, 0) < 0 && errno == ESRCH;
}

/* Returns the thread by whose number the process's memory is read: its first one, unless that has ended before
   others. */
GC__DAC_FN int gc__dac_os_living(int pid) {
    char path[64];
    int found = pid;
    if (!gc__dac_os_has_ended(pid)) return pid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (const struct dirent *each; folder && found == pid && (each = readdir(folder)) != NULL;)
        if (atoi(each->d_name) > 0 && !gc__dac_os_has_ended(atoi(each->d_name))) found = atoi(each->d_name);
    if (folder) closedir(folder);
    return found;
}

GC__DAC_FN uint64_t gc__dac_os_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A native thread that ptrace has stopped. */
typedef struct gc__dac_stopped {
    int tid;
    int signal; /* a signal that the thread was about to receive; it is delivered when the thread continues */
} gc__dac_stopped;

typedef struct gc__dac_stops {
    gc__dac_stopped *threads;
    size_t count, capacity;
} gc__dac_stops;

#define GC__DAC_STOP_MS 5000 /* a thread that does not stop in this time waits for a device */

/* Waits until the thread is outside any system call that only a fatal signal ends: in such a call ptrace could neither
   stop it nor detach from it. Returns false if it remains there. */
GC__DAC_FN bool gc__dac_os_leaves_kernel(int tid) {
    uint64_t deadline = gc__dac_os_now_ms() + GC__DAC_STOP_MS;
    const struct timespec pause = {0, 1000000};
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", tid);
    while (gc__dac_os_now_ms() <= deadline) {
        FILE *file = fopen(path, "re");
        size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file) fclose(file);
        text[length] = 0;
        const char *name_end = strrchr(text, ')');
        if (!name_end || strncmp(name_end, ") D", 3) != 0) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Waits until the seized thread stands still. Returns false if it has ended, or does not stop. */
GC__DAC_FN bool gc__dac_os_await(gc__dac_stopped *thread) {
    uint64_t deadline = gc__dac_os_now_ms() + GC__DAC_STOP_MS;
    const struct timespec pause = {0, 20000};
    for (;;) {
        int status;
        int found = waitpid(thread->tid, &status, __WALL | WNOHANG);
        if (found < 0 && errno != EINTR) return false;
        if (found == thread->tid) {
            if (!WIFSTOPPED(status)) return false;
            if (status >> 16 == 0) thread->signal = WSTOPSIG(status);
            return true;
        }
        if (gc__dac_os_now_ms() > deadline) return false;
        nanosleep(&pause, NULL);
    }
}

/* Stops one thread, unless it is stopped already. Returns false if there is no memory. Sets *fault to why the thread
   cannot be stopped. */
GC__DAC_FN bool gc__dac_os_stop_thread(gc__dac_stops *stops, int tid, bool *fresh, const char **fault) {
    for (size_t i = 0; i < stops->count; i++)
        if (stops->threads[i].tid == tid) return true;
    if (stops->count == stops->capacity) {
        size_t capacity = stops->capacity ? stops->capacity * 2 : 16;
        void *threads = realloc(stops->threads, capacity * sizeof *stops->threads);
        if (!threads) return false;
        stops->threads = (gc__dac_stopped *)threads;
        stops->capacity = capacity;
    }
    gc__dac_stopped thread = {tid, 0};
    const char *waits = "one of its threads waits in the kernel, for a child of vfork or for a device, and cannot be "
                        "stopped there: try again later, or read the process while it runs";
    if (!gc__dac_os_leaves_kernel(tid)) {
        *fault = waits;
        return true;
    }
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        if (errno != ESRCH && !gc__dac_os_has_ended(tid))
            *fault = "the system does not permit ptrace: a debugger has the process already; or be the same user or "
                     "root; or `sysctl kernel.yama.ptrace_scope=0`; in a container, allow SYS_PTRACE";
        return true;
    }
    *fresh = true;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || !gc__dac_os_await(&thread)) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
        if (!gc__dac_os_has_ended(tid)) *fault = waits;
        return true;
    }
    stops->threads[stops->count++] = thread;
    return true;
}

GC__DAC_FN void gc__dac_os_resume(gc__dac_stops *stops) {
    for (size_t i = 0; i < stops->count; i++)
        ptrace(PTRACE_DETACH, stops->threads[i].tid, NULL, (void *)(uintptr_t)stops->threads[i].signal);
    free(stops->threads);
    memset(stops, 0, sizeof *stops);
}

/* Stops all threads of the process, including those created during this call. Returns NULL, or why that is
   impossible. */
GC__DAC_FN const char *gc__dac_os_stop(int pid, gc__dac_stops *stops) {
    char path[64];
    bool fresh = true, memory = true;
    const char *fault = NULL;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    memset(stops, 0, sizeof *stops);
    for (int round = 0; fresh && memory && !fault && round < 1000; round++) {
        DIR *folder = opendir(path);
        if (!folder) return "there is no such process, or no /proc";
        fresh = false;
        for (const struct dirent *each; memory && !fault && (each = readdir(folder)) != NULL;)
            if (atoi(each->d_name) > 0) memory = gc__dac_os_stop_thread(stops, atoi(each->d_name), &fresh, &fault);
        closedir(folder);
    }
    if (!fault && memory && stops->count) return NULL;
    gc__dac_os_resume(stops);
    if (!memory) return "there is no memory for the list of its threads";
    return fault ? fault : "it has ended, or none of its threads stops";
}

/* Reads the registers of a stopped thread in the order of the kernel. Returns their number; 0: they are not known. */
GC__DAC_FN unsigned gc__dac_os_registers(int tid, uint64_t *words, unsigned most) {
    struct iovec to = {words, most * sizeof *words};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &to) != 0) return 0;
    return (unsigned)(to.iov_len / sizeof *words);
}
/* The reader's own record, its messages, memory and texts.

   Nothing that was read is trusted: a number is compared with what is readable before it counts or sizes anything; a list is
   followed only while it is no cycle; memory is taken from a budget that depends on the size of the target. */


#include <stdarg.h>

#define GC__DAC_MESSAGE_BYTES 1024
#define GC__DAC_BLOCK_SHIFT 14 /* log2 of the bytes that are read at a time from a target that is not in memory */
#define GC__DAC_BLOCKS_LOG2 9  /* of how many are kept of them */
#define GC__DAC_BLOCKS ((size_t)1 << GC__DAC_BLOCKS_LOG2)
#define GC__DAC_WAYS_LOG2 2    /* of how many places one block may be in: few tables must not drive each other out */
#define GC__DAC_BLOCK_PART 4096
#define GC__DAC_TEXT_MAX 400   /* of a name */

/* A map from a key, which is not 0, to a pointer. */
typedef struct gc__dac_map {
    uint64_t *keys;
    void **values;
    size_t count, capacity;
} gc__dac_map;

/* Texts and types live until the reader is closed. */
typedef struct gc__dac_chunk {
    struct gc__dac_chunk *next;
    size_t used, bytes;
} gc__dac_chunk;

typedef struct gc__dac_place {
    uint64_t heap, base, top, live_bytes;
    uint64_t next; /* the address of the next region's record in its list */
    uint32_t span, rest_index;
    uint8_t kind, generation, verdict;
    bool linear, formatted, accessible, second_plane;
    bool listed;      /* it is in a list of its heap, and so complete */
    bool condemned;   /* a collection is at work in it: nothing in it can be listed */
    uint64_t *starts; /* a bit for each 8 bytes: objects; NULL: not known yet */
} gc__dac_place;

/* A window of a thread. */
typedef struct gc__dac_window {
    uint64_t start, next, end; /* where marks show objects, those from `start` on have none yet */
    size_t place; /* number of its region */
    bool running;
} gc__dac_window;

/* A collector of the target. */
typedef struct gc__dac_copy {
    gc_dac_collector info;
    uint64_t variables[GC__DAC_VARIABLE_COUNT];
    uint32_t facts[GC__DAC_FACT_COUNT];
    uint16_t members[GC__DAC_AT_COUNT];
    uint16_t statistics[GC__DAC_STATISTIC_COUNT][2];
    unsigned variable_count, fact_count, member_count, statistic_count;
    uint64_t arena, arena_end, regions, marks[2];
    gc__dac_place *places;
    size_t place_count;
    gc__dac_window *windows;
    size_t window_count, window_room;
    const char *fault; /* what the tables of its heaps lack, for each call on one; NULL: nothing */
} gc__dac_copy;

/* A call that the caller has made, or made within a callback of another one. */
typedef struct gc__dac_call {
    uint64_t steps;  /* that it may still take */
    bool incomplete; /* it has left something out */
    char message[GC__DAC_MESSAGE_BYTES];
} gc__dac_call;

/* What a place for a block has. */
typedef struct gc__dac_block_tag {
    uint64_t number; /* of the block, and 1; 0: none */
    uint32_t parts;  /* a bit for each GC__DAC_BLOCK_PART: it was readable */
} gc__dac_block_tag;

#define GC__DAC_CALLS 6

struct gc_dac {
    gc_dac_target target;
    gc_dac_host host;
    const char *rejected;                /* why every call fails; NULL: it does not */
    bool moving;                         /* the target runs on: nothing is kept from call to call */
    uint64_t target_bytes, budget_bytes; /* what is readable at most; what the reader may still take */
    gc__dac_copy *copies;
    size_t copy_count;
    gc__dac_map types, texts;
    gc__dac_chunk *chunks;
    uint8_t *blocks;
    gc__dac_block_tag *block_tags;
    size_t block_turn;    /* the way that the next block takes */
    uint8_t *object;      /* the contents of gc_dac_object_at's last object */
    size_t object_bytes;
    gc_dac_type *last_type;
    char complaint[GC__DAC_MESSAGE_BYTES]; /* why something is not readable; goes with the messages of that */
    bool unnamed;                          /* a name was not readable */
    unsigned depth;                        /* of calls; 0: opening */
    gc__dac_call calls[GC__DAC_CALLS];
};

GC__DAC_FN gc__dac_call *gc__dac_this_call(gc_dac *dac) {
    return &dac->calls[dac->depth < GC__DAC_CALLS ? dac->depth : GC__DAC_CALLS - 1];
}

/* Records what the call could not do. Only the first fault is kept: later ones mostly follow from it. */
GC__DAC_FN bool gc__dac_fail(gc_dac *dac, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
GC__DAC_FN bool gc__dac_fail(gc_dac *dac, const char *format, ...) {
    va_list arguments;
    gc__dac_call *call = gc__dac_this_call(dac);
    call->incomplete = true;
    if (call->message[0]) return false;
    va_start(arguments, format);
    vsnprintf(call->message, sizeof call->message, format, arguments);
    va_end(arguments);
    return false;
}

/* Memory from the budget. */

GC__DAC_FN void *gc__dac_allocate(gc_dac *dac, uint64_t count, size_t bytes) {
    if (count > dac->budget_bytes / bytes) {
        gc__dac_fail(dac, "the reader would need more memory than its budget, which depends on the size of the target: "
                          "what was read contradicts itself");
        return NULL;
    }
    void *memory = calloc(count ? (size_t)count : 1, bytes);
    if (!memory) {
        gc__dac_fail(dac, "the system gives no memory to the reader");
        return NULL;
    }
    dac->budget_bytes -= count * bytes;
    return memory;
}

GC__DAC_FN void gc__dac_free(gc_dac *dac, void *memory, uint64_t count, size_t bytes) {
    if (memory) dac->budget_bytes += count * bytes;
    free(memory);
}

/* Memory that lives as long as the reader. */
GC__DAC_FN void *gc__dac_keep(gc_dac *dac, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (!dac->chunks || dac->chunks->bytes - dac->chunks->used < bytes) {
        size_t size = bytes > 4000 ? bytes : 65536 - 64;
        gc__dac_chunk *chunk = (gc__dac_chunk *)gc__dac_allocate(dac, 1, sizeof *chunk + 16 + size);
        if (!chunk) return NULL;
        chunk->next = dac->chunks;
        chunk->bytes = size;
        dac->chunks = chunk;
    }
    void *memory = (char *)(dac->chunks + 1) + dac->chunks->used;
    dac->chunks->used += bytes;
    return memory;
}

GC__DAC_FN size_t gc__dac_map_place(const gc__dac_map *map, uint64_t key) {
    size_t at = (size_t)((key >> 3) * 0x9E3779B97F4A7C15u >> 24);
    for (;; at++) {
        at &= map->capacity - 1;
        if (!map->keys[at] || map->keys[at] == key) return at;
    }
}

GC__DAC_FN void *gc__dac_map_get(const gc__dac_map *map, uint64_t key) {
    return map->capacity ? map->values[gc__dac_map_place(map, key)] : NULL;
}

GC__DAC_FN void gc__dac_map_free(gc_dac *dac, gc__dac_map *map) {
    gc__dac_free(dac, map->keys, map->capacity, sizeof *map->keys);
    gc__dac_free(dac, map->values, map->capacity, sizeof *map->values);
    memset(map, 0, sizeof *map);
}

/* Without memory the entry is left out, so that it will be made again. */
GC__DAC_FN void gc__dac_map_put(gc_dac *dac, gc__dac_map *map, uint64_t key, void *value) {
    if (map->capacity < 2 * map->count + 2) {
        gc__dac_map bigger = {NULL, NULL, 0, map->capacity ? 2 * map->capacity : 256};
        bigger.keys = (uint64_t *)gc__dac_allocate(dac, bigger.capacity, sizeof *bigger.keys);
        bigger.values = (void **)gc__dac_allocate(dac, bigger.capacity, sizeof *bigger.values);
        if (!bigger.keys || !bigger.values) {
            gc__dac_map_free(dac, &bigger);
            return;
        }
        for (size_t i = 0; i < map->capacity; i++) {
            if (!map->keys[i]) continue;
            size_t at = gc__dac_map_place(&bigger, map->keys[i]);
            bigger.keys[at] = map->keys[i];
            bigger.values[at] = map->values[i];
        }
        bigger.count = map->count;
        gc__dac_map_free(dac, map);
        *map = bigger;
    }
    size_t at = gc__dac_map_place(map, key);
    map->count += !map->keys[at];
    map->keys[at] = key;
    map->values[at] = value;
}

/* The target's memory. */

GC__DAC_FN void gc__dac_blocks_forget(gc_dac *dac) {
    if (dac->block_tags) memset(dac->block_tags, 0, GC__DAC_BLOCKS * sizeof *dac->block_tags);
}

GC__DAC_FN bool gc__dac_blocks_open(gc_dac *dac) {
    if (dac->blocks) return true;
    dac->blocks = (uint8_t *)malloc(GC__DAC_BLOCKS << GC__DAC_BLOCK_SHIFT);
    dac->block_tags = (gc__dac_block_tag *)calloc(GC__DAC_BLOCKS, sizeof *dac->block_tags);
    if (dac->blocks && dac->block_tags) return true;
    free(dac->blocks), free(dac->block_tags);
    dac->blocks = NULL, dac->block_tags = NULL;
    return false;
}

GC__DAC_FN bool gc__dac_block_read(gc_dac *dac, uint64_t address, uint8_t *to, size_t bytes) {
    return dac->target.read(dac->target.context, address, to, bytes) == bytes;
}

/* The place of a block: where it is, or the next way of its set. */
GC__DAC_FN size_t gc__dac_block_place(gc_dac *dac, uint64_t number) {
    const size_t ways = (size_t)1 << GC__DAC_WAYS_LOG2;
    /* Tables are far apart, by multiples of what their places could be counted by. */
    size_t set = (size_t)(number * 0x9E3779B97F4A7C15u >> (64 - GC__DAC_BLOCKS_LOG2 + GC__DAC_WAYS_LOG2));
    size_t place = set << GC__DAC_WAYS_LOG2;
    for (size_t way = 0; way < ways; way++)
        if (dac->block_tags[place + way].number == number + 1) return place + way;
    return place + dac->block_turn++ % ways;
}

/* The block that has the address, read at least from there on for so many bytes, which are all in it. Where a mapping begins
   or ends within it, it is read in parts. NULL: they are not readable. */
GC__DAC_FN const uint8_t *gc__dac_block(gc_dac *dac, uint64_t address, size_t bytes) {
    uint64_t number = address >> GC__DAC_BLOCK_SHIFT, base = number << GC__DAC_BLOCK_SHIFT;
    size_t first = (size_t)(address - base) / GC__DAC_BLOCK_PART;
    if (!gc__dac_blocks_open(dac)) return NULL;
    size_t place = gc__dac_block_place(dac, number);
    uint8_t *block = dac->blocks + (place << GC__DAC_BLOCK_SHIFT);
    gc__dac_block_tag *tag = &dac->block_tags[place];
    if (tag->number != number + 1) {
        tag->number = 0;
        bool whole = gc__dac_block_read(dac, base, block, (size_t)1 << GC__DAC_BLOCK_SHIFT);
        tag->parts = whole ? ~0u : 0;
        tag->number = number + 1;
    }
    for (size_t part = first; part * GC__DAC_BLOCK_PART < address - base + bytes; part++) {
        size_t within = part * GC__DAC_BLOCK_PART;
        if (tag->parts >> part & 1) continue;
        if (!gc__dac_block_read(dac, base + within, block + within, GC__DAC_BLOCK_PART)) return NULL;
        tag->parts |= 1u << part;
    }
    return block;
}

/* Copies memory; returns how many bytes, from the first on, were readable. */
GC__DAC_FN size_t gc__dac_copy_memory(gc_dac *dac, uint64_t address, void *to, size_t bytes) {
    if (address + bytes < address) bytes = (size_t)(0 - address);
    if (!bytes) return 0;
    if (dac->target.at) {
        const void *from = dac->target.at(dac->target.context, address, bytes);
        if (from) return memcpy(to, from, bytes), bytes;
    } else if (bytes <= 4096) {
        size_t within = (size_t)(address & (((uint64_t)1 << GC__DAC_BLOCK_SHIFT) - 1));
        const uint8_t *block = within + bytes <= (size_t)1 << GC__DAC_BLOCK_SHIFT ? gc__dac_block(dac, address, bytes) : NULL;
        if (block) return memcpy(to, block + within, bytes), bytes;
    }
    return dac->target.read(dac->target.context, address, to, bytes);
}

GC__DAC_FN bool gc__dac_load(gc_dac *dac, uint64_t address, void *to, size_t bytes) {
    if (gc__dac_copy_memory(dac, address, to, bytes) == bytes) return true;
    memset(to, 0, bytes);
    return gc__dac_fail(dac, "%zu bytes at 0x%llx are not readable%s", bytes, (unsigned long long)address,
                        dac->complaint);
}

GC__DAC_FN uint64_t gc__dac_u64(gc_dac *dac, uint64_t address) {
    uint64_t word = 0;
    gc__dac_load(dac, address, &word, sizeof word);
    return word;
}

/* Counts a step of a walk. False: there were more than could be of use in a target of that size. */
GC__DAC_FN bool gc__dac_step(gc_dac *dac, uint64_t steps) {
    gc__dac_call *call = gc__dac_this_call(dac);
    if (call->steps < steps)
        return gc__dac_fail(dac, "the walk takes longer than the target is large: what was read contradicts itself");
    call->steps -= steps;
    return true;
}

/* A copy of a text of the target. Control characters become question marks: the text may go to a terminal. */
GC__DAC_FN bool gc__dac_fetch_text(gc_dac *dac, uint64_t address, char *text, size_t room) {
    size_t length = 0;
    text[0] = 0;
    while (address && length + 1 < room) {
        char part[64];
        size_t got = sizeof part < room - 1 - length ? sizeof part : room - 1 - length;
        if ((got = gc__dac_copy_memory(dac, address + length, part, got)) == 0) break;
        for (size_t i = 0; i < got; i++) {
            unsigned char c = (unsigned char)part[i];
            text[length + i] = (char)(c && (c < 32 || c == 127) ? '?' : c);
            text[length + i + 1] = 0;
            if (!c) return true;
        }
        length += got;
    }
    return address && length;
}

/* The text at an address, kept; `otherwise` if it cannot be read. */
GC__DAC_FN const char *gc__dac_text(gc_dac *dac, uint64_t address, const char *otherwise) {
    char text[GC__DAC_TEXT_MAX];
    if (!address) return otherwise;
    const char *known = (const char *)gc__dac_map_get(&dac->texts, address);
    if (known) return known;
    if (!gc__dac_fetch_text(dac, address, text, sizeof text)) {
        dac->unnamed = true;
        return otherwise;
    }
    char *kept = (char *)gc__dac_keep(dac, strlen(text) + 1);
    if (!kept) return otherwise;
    strcpy(kept, text);
    gc__dac_map_put(dac, &dac->texts, address, kept);
    return kept;
}

GC__DAC_FN const char *gc__dac_format(gc_dac *dac, const char *format, ...) __attribute__((format(printf, 2, 3)));
GC__DAC_FN const char *gc__dac_format(gc_dac *dac, const char *format, ...) {
    char text[GC__DAC_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *kept = (char *)gc__dac_keep(dac, strlen(text) + 1);
    return kept ? strcpy(kept, text) : "(no memory)";
}
/* Finding collectors in the target: the notes of its files, and the records to which they lead. */


#define GC__DAC_NOTES_MAX ((uint64_t)1 << 20)
#define GC__DAC_HEADERS_MAX 512

/* A file of the target at the address where it is mapped. */
typedef struct gc__dac_module {
    uint64_t start, bias;
    const char *path;
    Elf64_Ehdr header;
} gc__dac_module;

/* A variable's address; 0: this collector has no such variable. */
GC__DAC_FN uint64_t gc__dac_variable(const gc__dac_copy *copy, unsigned number) {
    return number < copy->variable_count ? copy->variables[number] : 0;
}

GC__DAC_FN uint64_t gc__dac_fact(const gc__dac_copy *copy, unsigned number) {
    return number < copy->fact_count ? copy->facts[number] : 0;
}

/* Whether the collector says where the member is: one of an older minor version may not. */
GC__DAC_FN bool gc__dac_has(const gc__dac_copy *copy, unsigned number) { return number < copy->member_count; }

GC__DAC_FN uint64_t gc__dac_at(const gc__dac_copy *copy, uint64_t record, unsigned number) {
    return record + (gc__dac_has(copy, number) ? copy->members[number] : 0);
}

/* A member of 8, 4 or 1 bytes; 0 if it is not there or not readable. */
GC__DAC_FN uint64_t gc__dac_member(gc_dac *dac, const gc__dac_copy *copy, uint64_t record, unsigned number) {
    return gc__dac_has(copy, number) && record ? gc__dac_u64(dac, record + copy->members[number]) : 0;
}
GC__DAC_FN uint32_t gc__dac_member32(gc_dac *dac, const gc__dac_copy *copy, uint64_t record, unsigned number) {
    uint32_t word = 0;
    if (gc__dac_has(copy, number) && record) gc__dac_load(dac, record + copy->members[number], &word, sizeof word);
    return word;
}
GC__DAC_FN uint8_t gc__dac_member8(gc_dac *dac, const gc__dac_copy *copy, uint64_t record, unsigned number) {
    uint8_t word = 0;
    if (gc__dac_has(copy, number) && record) gc__dac_load(dac, record + copy->members[number], &word, sizeof word);
    return word;
}

/* Reads the lists of a record, of each as much as both sides have. */
GC__DAC_FN bool gc__dac_copy_lists(gc_dac *dac, gc__dac_copy *copy, const uint16_t counts[4]) {
    uint64_t at = copy->info.vars + offsetof(GcDacVars, variables);
    unsigned *mine[4] = {&copy->variable_count, &copy->fact_count, &copy->member_count, &copy->statistic_count};
    const unsigned known[4] = {GC__DAC_VARIABLE_COUNT, GC__DAC_FACT_COUNT, GC__DAC_AT_COUNT, GC__DAC_STATISTIC_COUNT};
    const size_t bytes[4] = {8, 4, 2, 4};
    void *to[4] = {copy->variables, copy->facts, copy->members, copy->statistics};
    bool ok = true;
    for (int i = 0; i < 4 && ok; at += counts[i] * bytes[i], i++) {
        *mine[i] = counts[i] < known[i] ? counts[i] : known[i];
        ok = gc__dac_load(dac, at, to[i], *mine[i] * bytes[i]);
    }
    return ok;
}

/* Why the record's numbers cannot be those of a collector; NULL: they can. */
GC__DAC_FN const char *gc__dac_copy_fault(const gc__dac_copy *copy) {
    uint64_t shift = gc__dac_fact(copy, GC__DAC_FACT_REGION_SHIFT),
             generations = gc__dac_fact(copy, GC__DAC_FACT_GENERATIONS);
    uint64_t region = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES),
             least = gc__dac_fact(copy, GC__DAC_FACT_OBJECT_BYTES_MIN);
    uint64_t block = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_BLOCK),
             places = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_PLACES);
    if (shift < 12 || shift > 40) return "the size of a region";
    if (generations < 1 || generations > 16) return "the number of generations";
    if (region < 32 || region > 4096) return "the size of a region's record";
    if (least < 8 || least > 256 || least % 8) return "the least size of an object";
    if (!block || block > 65536 || places > ((uint64_t)1 << 20)) return "the size of a segment of handles";
    if (gc__dac_fact(copy, GC__DAC_FACT_FILLER_SHIFT) > 16) return "the size of a filler";
    if (gc__dac_fact(copy, GC__DAC_FACT_MARK_SHIFT) != 3) return "the distance of mark bits";
    return NULL;
}

/* Reads the record at `address`. The copy is rejected, with the reason, if it is of another major version. */
GC__DAC_FN void gc__dac_copy_read(gc_dac *dac, gc__dac_copy *copy, uint64_t address, const char *module) {
    GcDacVars head;
    const size_t fixed = offsetof(GcDacVars, variables);
    memset(&head, 0, sizeof head);
    copy->info.vars = address;
    copy->info.module = module;
    copy->info.version = "";
    if (gc__dac_copy_memory(dac, address, &head, fixed) < fixed || head.magic != GC__DAC_MAGIC) {
        copy->info.rejected =
            gc__dac_format(dac, "the note of %s leads to 0x%llx, where there is no description of a collector", module,
                           (unsigned long long)address);
        return;
    }
    head.version[sizeof head.version - 1] = 0;
    copy->info.major = head.major;
    copy->info.minor = head.minor;
    copy->info.version = gc__dac_format(dac, "%s", head.version);
    if (head.major != GC_DAC_MAJOR) {
        copy->info.rejected = gc__dac_format(dac,
                                             "%s has gc.h %s, whose description is of version %u.%u, and this reader "
                                             "understands %d.x (it is %d.%d): use the "
                                             "gc_dac.h that came with that gc.h",
                                             module, copy->info.version, head.major, head.minor, GC_DAC_MAJOR,
                                             GC_DAC_MAJOR, GC_DAC_MINOR);
        return;
    }
    const uint16_t counts[4] = {head.variable_count, head.fact_count, head.member_count, head.statistic_count};
    const char *fault = gc__dac_copy_lists(dac, copy, counts) ? gc__dac_copy_fault(copy) : "its length";
    copy->info.region_bytes = fault ? 0 : (uint64_t)1 << gc__dac_fact(copy, GC__DAC_FACT_REGION_SHIFT);
    if (fault)
        copy->info.rejected =
            gc__dac_format(dac, "the description of the collector in %s is damaged: %s is wrong", module, fault);
}

/* Adds the collector to which a note leads, once. */
GC__DAC_FN bool gc__dac_note_found(gc_dac *dac, const gc__dac_module *module, uint64_t field) {
    uint64_t address = field + gc__dac_u64(dac, field);
    for (size_t i = 0; i < dac->copy_count; i++)
        if (dac->copies[i].info.vars == address) return true;
    if (dac->copy_count >= 64) return gc__dac_fail(dac, "there are more than 64 collectors: the rest is left out");
    gc__dac_copy *copies = (gc__dac_copy *)gc__dac_allocate(dac, dac->copy_count + 1, sizeof *copies);
    if (!copies) return false;
    if (dac->copy_count) memcpy(copies, dac->copies, dac->copy_count * sizeof *copies);
    gc__dac_free(dac, dac->copies, dac->copy_count, sizeof *copies);
    dac->copies = copies;
    copies += dac->copy_count;
    copies->info.index = (unsigned)dac->copy_count++;
    gc__dac_copy_read(dac, copies, address, module->path);
    return true;
}

/* Goes through the notes in [at, end). */
GC__DAC_FN void gc__dac_notes(gc_dac *dac, const gc__dac_module *module, uint64_t at, uint64_t end,
                              uint64_t alignment) {
    alignment = alignment == 8 ? 8 : 4;
    while (end - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        char owner[8] = "";
        if (gc__dac_copy_memory(dac, at, &note, sizeof note) < sizeof note) return;
        uint64_t name = at + sizeof note, contents = name + ((note.n_namesz + alignment - 1) & ~(alignment - 1));
        uint64_t next = contents + ((note.n_descsz + alignment - 1) & ~(alignment - 1));
        if (next <= at || next > end + 8) return;
        if (note.n_namesz == sizeof GC__DAC_NOTE_OWNER && note.n_descsz >= 8 && note.n_type == GC__DAC_NOTE_TYPE &&
            gc__dac_copy_memory(dac, name, owner, note.n_namesz) == note.n_namesz &&
            memcmp(owner, GC__DAC_NOTE_OWNER, note.n_namesz) == 0)
            gc__dac_note_found(dac, module, contents);
        at = next;
        if (at >= end) return;
    }
}

/* Reads the header of a file that is mapped at `start`. False: it is no ELF file, or of another kind of machine. */
GC__DAC_FN bool gc__dac_module_read(gc_dac *dac, uint64_t start, const char *path, gc__dac_module *module) {
    Elf64_Ehdr *header = &module->header;
    module->start = start;
    module->path = path;
    if (gc__dac_copy_memory(dac, start, header, sizeof *header) < sizeof *header) return false;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != GC__IMAGE_ORDER) {
        gc__dac_fail(dac, "%s is no 64-bit program with the order of bytes of this one", path);
        return false;
    }
    return header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum <= GC__DAC_HEADERS_MAX;
}

/* Goes through the notes of a mapped file. */
GC__DAC_FN void gc__dac_module_scan(gc_dac *dac, uint64_t start, const char *path) {
    gc__dac_module module;
    Elf64_Phdr part;
    bool based = false;
    if (!gc__dac_module_read(dac, start, path, &module)) return;
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < module.header.e_phnum; i++) {
            uint64_t at = start + module.header.e_phoff + i * sizeof part;
            if (gc__dac_copy_memory(dac, at, &part, sizeof part) < sizeof part) return;
            if (!pass && part.p_type == PT_LOAD && !based) {
                module.bias = start - (part.p_vaddr - part.p_offset);
                based = true;
            }
            uint64_t from = module.bias + part.p_vaddr;
            if (pass && based && part.p_type == PT_NOTE && part.p_memsz <= GC__DAC_NOTES_MAX &&
                from + part.p_memsz >= from)
                gc__dac_notes(dac, &module, from, from + part.p_memsz, part.p_align);
        }
}

GC_DAC_API bool gc_dac_mapping_at(gc_dac *dac, uint64_t address, gc_dac_mapping *mapping) {
    for (size_t i = 0; dac->target.mapping && dac->target.mapping(dac->target.context, i, mapping); i++)
        if (address >= mapping->start && address < mapping->end) return true;
    return false;
}

/* Finds the collectors of all files. */
GC__DAC_FN void gc__dac_copies_find(gc_dac *dac) {
    gc_dac_mapping mapping;
    uint64_t last = 0;
    for (size_t i = 0; dac->target.mapping && dac->target.mapping(dac->target.context, i, &mapping); i++) {
        if (mapping.file_offset != 0 || !mapping.path || !mapping.path[0] || (i && mapping.start == last)) continue;
        last = mapping.start;
        char path[1024];
        snprintf(path, sizeof path, "%s", mapping.path);
        gc__dac_module_scan(dac, mapping.start, gc__dac_format(dac, "%s", path));
    }
}

/* The reason, if no collector can be read at all. */
GC__DAC_FN const char *gc__dac_copies_fault(gc_dac *dac) {
    for (size_t i = 0; i < dac->copy_count; i++)
        if (!dac->copies[i].info.rejected) return NULL;
    if (dac->copy_count) return dac->copies[0].info.rejected;
    const char *faults = gc__dac_this_call(dac)->message;
    if (faults[0] || dac->complaint[0])
        return gc__dac_format(dac, "no file of the target has a readable note of gc.h%s%s%s", faults[0] ? "; " : "",
                              faults, dac->complaint);
    return "no file of the target has a note of gc.h: it does not use gc.h, or one that is older than gc_dac.h, or was "
           "compiled with GC_DIAGNOSTICS=0";
}
/* Heaps, their regions, and the open windows of their threads. */


/* A walk along a list, that notices a cycle by Brent's method. */
typedef struct gc__dac_list {
    uint64_t at, kept;
    uint64_t left, span;
} gc__dac_list;

GC__DAC_FN gc__dac_list gc__dac_list_begin(uint64_t first) {
    gc__dac_list list = {first, 0, 1, 1};
    return list;
}

/* Goes on to `next`. False: the list ends there. */
GC__DAC_FN bool gc__dac_list_next(gc_dac *dac, gc__dac_list *list, uint64_t next, const char *what) {
    list->at = next;
    if (!next) return false;
    if (next == list->kept) return gc__dac_fail(dac, "the list of %s is a cycle: what was read is damaged", what);
    if (!--list->left) {
        list->kept = next;
        list->left = list->span *= 2;
    }
    return gc__dac_step(dac, 1);
}

/* The number of the region whose record is at `address`; place_count: it is none. */
GC__DAC_FN size_t gc__dac_place_number(const gc__dac_copy *copy, uint64_t address) {
    if (address < copy->regions) return copy->place_count;
    uint64_t bytes = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES), offset = address - copy->regions;
    return offset % bytes || offset / bytes >= copy->place_count ? copy->place_count : (size_t)(offset / bytes);
}

GC__DAC_FN void gc__dac_places_free(gc_dac *dac, gc__dac_copy *copy) {
    for (size_t i = 0; i < copy->place_count; i++)
        gc__dac_free(dac, copy->places[i].starts, copy->info.region_bytes / 64, 1);
    gc__dac_free(dac, copy->places, copy->place_count, sizeof *copy->places);
    gc__dac_free(dac, copy->windows, copy->window_room, sizeof *copy->windows);
    copy->places = NULL;
    copy->windows = NULL;
    copy->place_count = copy->window_count = copy->window_room = 0;
}

/* A member of a record that was read as a whole. */
GC__DAC_FN uint64_t gc__dac_in(const gc__dac_copy *copy, const uint8_t *record, unsigned number, size_t bytes) {
    uint64_t word = 0;
    uint64_t room = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES);
    if (gc__dac_has(copy, number) && copy->members[number] + bytes <= room)
        memcpy(&word, record + copy->members[number], bytes);
    return word;
}

GC__DAC_FN void gc__dac_place_fill(const gc__dac_copy *copy, gc__dac_place *place, const uint8_t *record) {
    place->heap = gc__dac_in(copy, record, GC__DAC_AT_region_heap, 8);
    place->top = gc__dac_in(copy, record, GC__DAC_AT_region_top, 8);
    place->live_bytes = gc__dac_in(copy, record, GC__DAC_AT_region_live_bytes, 8);
    place->next = gc__dac_in(copy, record, GC__DAC_AT_region_next, 8);
    place->span = (uint32_t)gc__dac_in(copy, record, GC__DAC_AT_region_span, 4);
    place->rest_index = (uint32_t)gc__dac_in(copy, record, GC__DAC_AT_region_rest_index, 4);
    place->kind = (uint8_t)gc__dac_in(copy, record, GC__DAC_AT_region_kind, 1);
    place->generation = (uint8_t)gc__dac_in(copy, record, GC__DAC_AT_region_generation, 1);
    place->verdict = (uint8_t)gc__dac_in(copy, record, GC__DAC_AT_region_verdict, 1);
    place->linear = gc__dac_in(copy, record, GC__DAC_AT_region_linear, 1) != 0;
    place->formatted = gc__dac_in(copy, record, GC__DAC_AT_region_formatted, 1) != 0;
    place->second_plane = gc__dac_in(copy, record, GC__DAC_AT_region_plane, 1) != 0;
    place->accessible = gc__dac_in(copy, record, GC__DAC_AT_region_accessible, 1) != 0;
}

/* Reads the arena and its table of regions. */
GC__DAC_FN bool gc__dac_places_read(gc_dac *dac, gc__dac_copy *copy) {
    uint64_t arena = gc__dac_variable(copy, GC__DAC_VARIABLE_ARENA),
             bytes = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES);
    gc__dac_places_free(dac, copy);
    copy->arena = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_base);
    uint64_t size = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_bytes);
    copy->regions = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_regions);
    copy->marks[0] = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_marks);
    copy->marks[1] = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_marks_second);
    uint64_t used = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_used);
    copy->arena_end = copy->arena + size;
    if (!copy->arena) return true; /* no heap was ever created */
    if (copy->arena_end < copy->arena || copy->arena % copy->info.region_bytes ||
        used > size / copy->info.region_bytes || used > dac->target_bytes / bytes)
        return gc__dac_fail(dac, "the arena is damaged: it begins at 0x%llx, has 0x%llx bytes, and %llu regions in use",
                            (unsigned long long)copy->arena, (unsigned long long)size, (unsigned long long)used);
    copy->places = (gc__dac_place *)gc__dac_allocate(dac, used, sizeof *copy->places);
    if (!copy->places) return false;
    copy->place_count = (size_t)used;
    for (size_t i = 0; i < copy->place_count; i++) {
        uint8_t record[4096];
        if (!gc__dac_load(dac, copy->regions + i * bytes, record, (size_t)bytes)) return false;
        copy->places[i].base = copy->arena + i * copy->info.region_bytes;
        gc__dac_place_fill(copy, &copy->places[i], record);
    }
    return true;
}

GC__DAC_FN bool gc__dac_is_large(const gc__dac_copy *copy, const gc__dac_place *place) {
    return place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_LARGE);
}

/* Follows the lists of a heap: what is in them is complete. */
GC__DAC_FN void gc__dac_places_list(gc_dac *dac, gc__dac_copy *copy, uint64_t heap) {
    uint64_t lists = gc__dac_at(copy, heap, GC__DAC_AT_heap_regions);
    for (uint64_t g = 0; g < gc__dac_fact(copy, GC__DAC_FACT_GENERATIONS); g++) {
        uint64_t at = gc__dac_u64(dac, lists + 8 * g);
        while (at) {
            size_t number = gc__dac_place_number(copy, at);
            gc__dac_place *place = number < copy->place_count ? &copy->places[number] : NULL;
            if (!place || place->listed || place->heap != heap) {
                gc__dac_fail(
                    dac,
                    "the list of regions of generation %llu of the heap at 0x%llx leads to 0x%llx: it is being "
                    "changed, or damaged",
                    (unsigned long long)g, (unsigned long long)heap, (unsigned long long)at);
                break;
            }
            if (!gc__dac_is_large(copy, place) || !place->span || place->span > copy->place_count - number)
                place->span = 1;
            place->listed = true;
            at = place->next;
        }
    }
}

GC__DAC_FN uint64_t gc__dac_place_end(const gc__dac_copy *copy, const gc__dac_place *place) {
    return place->base + place->span * copy->info.region_bytes;
}

/* Notes a window, if it is one in a region of the heap. A thread may be in the midst of opening it: then it is none yet. */
GC__DAC_FN void gc__dac_window_add(gc_dac *dac, gc__dac_copy *copy, uint64_t heap, uint64_t window, bool running) {
    uint64_t start = gc__dac_member(dac, copy, window, GC__DAC_AT_window_start),
             next = gc__dac_member(dac, copy, window, GC__DAC_AT_window_next),
             end = gc__dac_member(dac, copy, window, GC__DAC_AT_window_end),
             region = gc__dac_member(dac, copy, window, GC__DAC_AT_window_region);
    size_t number = region ? gc__dac_place_number(copy, region) : copy->place_count;
    if (number == copy->place_count) return;
    const gc__dac_place *place = &copy->places[number];
    uint64_t region_end = place->base + copy->info.region_bytes;
    if (place->heap != heap || next < place->base || next > end || end > region_end || next % 8) return;
    if (copy->window_count == copy->window_room) {
        size_t room = copy->window_room ? 2 * copy->window_room : 16;
        gc__dac_window *windows = (gc__dac_window *)gc__dac_allocate(dac, room, sizeof *windows);
        if (!windows) return;
        if (copy->window_count) memcpy(windows, copy->windows, copy->window_count * sizeof *windows);
        gc__dac_free(dac, copy->windows, copy->window_room, sizeof *windows);
        copy->windows = windows;
        copy->window_room = room;
    }
    gc__dac_window fresh = {start, next, end, number, running};
    copy->windows[copy->window_count++] = fresh;
}

GC__DAC_FN bool gc__dac_thread_runs(gc_dac *dac, const gc__dac_copy *copy, uint64_t thread) {
    uint32_t mode = gc__dac_member32(dac, copy, thread, GC__DAC_AT_thread_mode);
    return mode != gc__dac_fact(copy, GC__DAC_FACT_MODE_PREEMPTIVE) &&
           !gc__dac_member8(dac, copy, thread, GC__DAC_AT_thread_parked);
}

GC__DAC_FN void gc__dac_windows_find(gc_dac *dac, gc__dac_copy *copy, uint64_t heap) {
    uint64_t threads = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_threads);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_first));
    bool more = list.at != 0;
    while (more) {
        bool runs = gc__dac_thread_runs(dac, copy, list.at);
        gc__dac_window_add(dac, copy, heap, gc__dac_at(copy, list.at, GC__DAC_AT_thread_window), runs);
        gc__dac_window_add(dac, copy, heap, gc__dac_at(copy, list.at, GC__DAC_AT_thread_raw), runs);
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_thread_next), "threads");
    }
}

/* Calls f for each heap of the collector. */
GC__DAC_FN void gc__dac_each_heap(gc_dac *dac, gc__dac_copy *copy,
                                  bool (*f)(gc_dac *dac, gc__dac_copy *copy, uint64_t heap, void *context),
                                  void *context) {
    uint64_t heaps = gc__dac_variable(copy, GC__DAC_VARIABLE_HEAPS);
    gc__dac_list list = gc__dac_list_begin(heaps ? gc__dac_u64(dac, heaps) : 0);
    bool more = list.at != 0;
    while (more && f(dac, copy, list.at, context)) {
        uint64_t threads = gc__dac_member(dac, copy, list.at, GC__DAC_AT_heap_threads);
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_next_heap), "heaps");
    }
}

/* Notes in which regions of a heap a collection is at work. It takes regions out of the lists before it gives them verdicts, and
   puts them back after taking these away. False: there are more heaps than there can be. */
GC__DAC_FN bool gc__dac_places_condemn(gc_dac *dac, gc__dac_copy *copy, uint64_t heap) {
    uint32_t phase = gc__dac_member32(dac, copy, heap, GC__DAC_AT_heap_phase);
    bool collects = phase >= GC_PHASE_PLAN && phase <= GC_PHASE_SWEEP;
    if (!gc__dac_step(dac, copy->place_count)) return false;
    for (size_t i = 0; i < copy->place_count; i++) {
        gc__dac_place *place = &copy->places[i];
        bool has_objects = place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_SMALL) || gc__dac_is_large(copy, place);
        if (place->heap == heap) place->condemned = place->verdict || (collects && has_objects && !place->listed);
    }
    return true;
}

GC__DAC_FN bool gc__dac_heap_survey(gc_dac *dac, gc__dac_copy *copy, uint64_t heap, void *context) {
    (void)context;
    gc__dac_places_list(dac, copy, heap);
    if (!gc__dac_places_condemn(dac, copy, heap)) return false;
    gc__dac_windows_find(dac, copy, heap);
    return true;
}

/* Reads the tables of all collectors, unless they are known. What is damaged in them is kept for later calls. */
GC__DAC_FN void gc__dac_survey(gc_dac *dac) {
    gc__dac_call *call = gc__dac_this_call(dac);
    bool incomplete = call->incomplete;
    for (size_t i = 0; i < dac->copy_count; i++) {
        gc__dac_copy *copy = &dac->copies[i];
        if (copy->info.rejected || (copy->places && !(dac->moving && dac->depth == 1))) continue;
        call->incomplete = false;
        if (gc__dac_places_read(dac, copy)) gc__dac_each_heap(dac, copy, gc__dac_heap_survey, NULL);
        copy->fault = call->incomplete ? gc__dac_format(dac, "%s", call->message) : NULL;
        incomplete |= call->incomplete;
    }
    call->incomplete = incomplete;
}

/* Begins a call, which ends by gc__dac_end. False: the reader was rejected. */
GC__DAC_FN bool gc__dac_begin(gc_dac *dac) {
    dac->depth++;
    gc__dac_call *call = gc__dac_this_call(dac);
    call->message[0] = 0;
    call->incomplete = false;
    call->steps = dac->target_bytes < UINT64_MAX / 64 - 1000000 ? 64 * (dac->target_bytes + 1000000) : UINT64_MAX;
    if (dac->rejected) return gc__dac_fail(dac, "%s", dac->rejected);
    if (dac->moving && dac->depth == 1) gc__dac_blocks_forget(dac);
    gc__dac_survey(dac);
    return true;
}

/* Returns whether the call has left nothing out. */
GC__DAC_FN bool gc__dac_end(gc_dac *dac) {
    bool complete = !gc__dac_this_call(dac)->incomplete;
    dac->depth--;
    return complete;
}

/* The same for walks that report names. */
GC__DAC_FN bool gc__dac_end_names(gc_dac *dac) {
    if (dac->unnamed) gc__dac_fail(dac, "names of types, fields, functions are not readable%s", dac->complaint);
    return gc__dac_end(dac);
}

GC_DAC_API const char *gc_dac_message(const gc_dac *dac) {
    if (!dac) return "the system gives no memory to the reader";
    return dac->calls[dac->depth + 1 < GC__DAC_CALLS ? dac->depth + 1 : GC__DAC_CALLS - 1].message;
}

static const char *const gc__dac_phase_texts[] = {
#define GC__DAC_PHASE_TEXT(name, text) text,
    GC_PHASES(GC__DAC_PHASE_TEXT)
#undef GC__DAC_PHASE_TEXT
};

GC__DAC_FN const char *gc__dac_doubts(gc_dac *dac, const gc__dac_copy *copy, const gc_dac_heap *heap) {
    if (heap->phase < GC_PHASE_PLAN || heap->phase > GC_PHASE_SWEEP)
        return dac->moving ? "the process runs on while it is read: what is reported is of different moments" : "";
    size_t condemned = 0, count = gc__dac_step(dac, copy->place_count) ? copy->place_count : 0;
    for (size_t i = 0; i < count; i++)
        condemned += copy->places[i].heap == heap->address && copy->places[i].condemned;
    return gc__dac_format(dac,
                          "collection %llu, of generation %d, is at work (%s): objects in its %zu condemned regions "
                          "cannot be listed; roots, handles "
                          "and references into these may be old or new, and dead objects are still in them%s",
                          (unsigned long long)heap->collections, heap->collection_generation, gc__dac_phase_texts[heap->phase],
                          condemned, dac->moving ? "; and the process runs on while it is read" : "");
}

GC__DAC_FN gc_dac_heap gc__dac_heap_read(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    gc_dac_heap heap;
    memset(&heap, 0, sizeof heap);
    uint64_t threads = gc__dac_member(dac, copy, address, GC__DAC_AT_heap_threads);
    uint32_t phase = gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_phase);
    heap.address = address;
    heap.collector = copy->info.index;
    heap.phase = phase <= GC_PHASE_NONE ? (gc_phase)phase : GC_PHASE_ROOTS;
    heap.stopping = gc__dac_member32(dac, copy, threads, GC__DAC_AT_threads_stopping) & 1;
    heap.locked = gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_owner) != 0;
    heap.non_moving = gc__dac_member8(dac, copy, address, GC__DAC_AT_heap_non_moving) != 0;
    heap.non_generational = gc__dac_member8(dac, copy, address, GC__DAC_AT_heap_non_generational) != 0;
    heap.conservative_stack = gc__dac_member8(dac, copy, address, GC__DAC_AT_heap_conservative_stack) != 0;
    heap.stress = gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_stress) != 0;
    heap.heap_bytes_max = gc__dac_member(dac, copy, address, GC__DAC_AT_heap_heap_bytes_max);
    heap.collections = gc__dac_member(dac, copy, address, GC__DAC_AT_heap_collection_number);
    heap.collection_generation = (int)gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_collection_generation);
    uint32_t reason = gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_collection_reason);
    uint64_t texts = gc__dac_variable(copy, GC__DAC_VARIABLE_REASONS);
    heap.collection_reason = "";
    if (texts && heap.collections && reason < gc__dac_fact(copy, GC__DAC_FACT_REASONS)) {
        uint64_t text = 0;
        gc__dac_copy_memory(dac, texts + 8 * reason, &text, sizeof text);
        heap.collection_reason = gc__dac_text(dac, text, "");
    }
    heap.doubts = gc__dac_doubts(dac, copy, &heap);
    return heap;
}

GC_DAC_API bool gc_dac_collectors(gc_dac *dac, bool (*visit)(void *context, const gc_dac_collector *collector),
                                  void *context) {
    gc__dac_begin(dac);
    for (size_t i = 0; i < dac->copy_count; i++)
        if (!visit(context, &dac->copies[i].info)) break;
    return gc__dac_end(dac);
}

typedef struct gc__dac_heap_walk {
    bool (*visit)(void *context, const gc_dac_heap *heap);
    void *context;
    bool stopped;
} gc__dac_heap_walk;

GC__DAC_FN bool gc__dac_heap_visit(gc_dac *dac, gc__dac_copy *copy, uint64_t address, void *context) {
    gc__dac_heap_walk *walk = (gc__dac_heap_walk *)context;
    gc_dac_heap heap = gc__dac_heap_read(dac, copy, address);
    walk->stopped = !walk->visit(walk->context, &heap);
    return !walk->stopped;
}

GC_DAC_API bool gc_dac_heaps(gc_dac *dac, bool (*visit)(void *context, const gc_dac_heap *heap), void *context) {
    gc__dac_heap_walk walk = {visit, context, false};
    if (!gc__dac_begin(dac)) return gc__dac_end(dac);
    for (size_t i = 0; i < dac->copy_count && !walk.stopped; i++) {
        if (dac->copies[i].info.rejected) continue;
        if (dac->copies[i].fault) gc__dac_fail(dac, "%s", dac->copies[i].fault);
        gc__dac_each_heap(dac, &dac->copies[i], gc__dac_heap_visit, &walk);
    }
    return gc__dac_end(dac);
}

/* Begins a call on a heap. Returns its collector; NULL with gc__dac_fail. */
GC__DAC_FN gc__dac_copy *gc__dac_copy_of(gc_dac *dac, const gc_dac_heap *heap) {
    if (!gc__dac_begin(dac)) return NULL;
    if (heap->collector >= dac->copy_count || dac->copies[heap->collector].info.rejected) {
        gc__dac_fail(dac, "that is no heap of this reader");
        return NULL;
    }
    if (dac->copies[heap->collector].fault) gc__dac_fail(dac, "%s", dac->copies[heap->collector].fault);
    return &dac->copies[heap->collector];
}

GC__DAC_FN gc_dac_region_kind gc__dac_kind_of(const gc__dac_copy *copy, const gc__dac_place *place) {
    if (place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_SMALL)) return GC_DAC_SMALL;
    if (gc__dac_is_large(copy, place)) return GC_DAC_LARGE;
    return place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_QUARANTINED) ? GC_DAC_QUARANTINED : GC_DAC_FREE;
}

/* Where a linear region's objects end. Only one window moves that end. */
GC__DAC_FN uint64_t gc__dac_place_top(const gc__dac_copy *copy, size_t number) {
    const gc__dac_place *place = &copy->places[number];
    uint64_t end = gc__dac_place_end(copy, place),
             top = place->top < place->base || place->top > end ? end : place->top;
    if (!place->linear || place->formatted || place->span > 1) return end;
    for (size_t i = 0; i < copy->window_count; i++)
        if (copy->windows[i].place == number && copy->windows[i].next > top) top = copy->windows[i].next;
    return top;
}

GC_DAC_API bool gc_dac_regions(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_region *region), void *context) {
    gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    for (size_t i = 0; copy && i < copy->place_count; i++) {
        gc__dac_place *place = &copy->places[i];
        if (place->heap != heap->address || place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_LARGE_REST)) continue;
        if (!gc__dac_step(dac, 2 * copy->window_count)) break;
        gc_dac_region region;
        memset(&region, 0, sizeof region);
        if (!place->listed) place->span = 1;
        region.base = place->base;
        region.end = gc__dac_place_end(copy, place);
        region.top = place->listed ? gc__dac_place_top(copy, i) : place->base;
        region.kind = gc__dac_kind_of(copy, place);
        region.generation = place->generation;
        region.live_bytes = place->live_bytes;
        region.linear = place->linear;
        region.condemned = place->condemned;
        region.accessible = place->accessible;
        for (size_t w = 0; w < copy->window_count; w++) region.windows += copy->windows[w].place == i;
        if (!visit(context, &region)) break;
    }
    return gc__dac_end(dac);
}

/* As gc_stats.committed_bytes. */
GC__DAC_FN uint64_t gc__dac_held_bytes(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap) {
    return gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_held_regions) * copy->info.region_bytes -
           gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_spare_bytes) -
           gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_free_spare_bytes);
}

GC_DAC_API bool gc_dac_statistics(gc_dac *dac, const gc_dac_heap *heap,
                                  bool (*visit)(void *context, const char *name, uint64_t value), void *context) {
    static const char *const names[] = {
#define GC__DAC_NAME(name, count) #name,
        GC__DAC_STATISTICS(GC__DAC_NAME)
#undef GC__DAC_NAME
    };
    static const struct {
        const char *name;
        uint8_t number;
    } own[] = {{"large_bytes", GC__DAC_AT_heap_large_bytes},
               {"external_bytes", GC__DAC_AT_heap_external_bytes},
               {"nursery_budget_bytes", GC__DAC_AT_heap_budget_bytes},
               {"nursery_survivor_bytes", GC__DAC_AT_heap_nursery_survivor_bytes},
               {"committed_bytes_peak", GC__DAC_AT_heap_held_peak_bytes}};
    gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (!copy) return gc__dac_end(dac);
    uint64_t stats = gc__dac_at(copy, heap->address, GC__DAC_AT_heap_stats);
    char name[64];
    for (unsigned i = 0; i < copy->statistic_count; i++)
        for (unsigned j = 0; j < copy->statistics[i][1] && j < 64; j++) {
            snprintf(name, sizeof name, copy->statistics[i][1] > 1 ? "%s[%u]" : "%s", names[i], j);
            if (!visit(context, name, gc__dac_u64(dac, stats + copy->statistics[i][0] + 8 * j)))
                return gc__dac_end(dac);
        }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!visit(context, own[i].name, gc__dac_member(dac, copy, heap->address, own[i].number)))
            return gc__dac_end(dac);
    if (!visit(context, "committed_bytes", gc__dac_held_bytes(dac, copy, heap->address))) return gc__dac_end(dac);
    for (unsigned g = 0; g < gc__dac_fact(copy, GC__DAC_FACT_GENERATIONS); g++) {
        snprintf(name, sizeof name, "generation_bytes[%u]", g);
        uint64_t bytes = gc__dac_u64(dac, gc__dac_at(copy, heap->address, GC__DAC_AT_heap_generation_bytes) + 8 * g);
        if (!visit(context, name, bytes)) break;
    }
    return gc__dac_end(dac);
}
/* Types of objects, each read once. */


/* Whether the masks stay within the size, as gc_type_check demands. */
GC__DAC_FN bool gc__dac_mask_fits(uint64_t mask, uint64_t bytes) {
    return !mask || (uint64_t)(64 - __builtin_clzll(mask)) * 8 <= bytes;
}

GC__DAC_FN bool gc__dac_type_sound(const gc_dac_type *type) {
    if (type->bytes < 8 || type->address % 8) return false;
    if (type->element_bytes ? type->bytes < 16 : (type->element_refs | type->element_values) != 0) return false;
    return gc__dac_mask_fits(type->refs | type->values, type->bytes) &&
           gc__dac_mask_fits(type->element_refs | type->element_values, type->element_bytes);
}

#define GC__DAC_ELEMENT_FIELD 0x8000 /* GC_ELEMENT_FIELD of gc.h */

/* Cuts "next, value" into names. */
GC__DAC_FN void gc__dac_type_fields(gc_dac *dac, const gc__dac_copy *copy, gc_dac_type *type) {
    char names[GC__DAC_TEXT_MAX], *name = names;
    uint64_t text = gc__dac_member(dac, copy, type->address, GC__DAC_AT_type_fields);
    uint64_t offsets = gc__dac_at(copy, type->address, GC__DAC_AT_type_field_offsets);
    if (!text || !gc__dac_has(copy, GC__DAC_AT_type_field_offsets)) return;
    if (!gc__dac_fetch_text(dac, text, names, sizeof names)) return;
    while (*name && type->field_count < GC_DAC_FIELDS) {
        size_t length = strcspn(name, ", ");
        uint16_t offset = 0;
        if (gc__dac_copy_memory(dac, offsets + 2 * type->field_count, &offset, 2) < 2) return;
        char after = name[length];
        name[length] = 0;
        gc_dac_field *field = &type->fields[type->field_count++];
        field->name = gc__dac_format(dac, "%s", name);
        field->element = (offset & GC__DAC_ELEMENT_FIELD) != 0;
        field->offset = offset & ~(unsigned)GC__DAC_ELEMENT_FIELD;
        uint64_t values = field->element ? type->element_values : type->values;
        field->value = field->offset < 512 && (values >> (field->offset / 8) & 1);
        name += length + (after != 0);
        name += strspn(name, ", ");
    }
}

/* Reads a type; false: there is none. */
GC__DAC_FN bool gc__dac_type_read(gc_dac *dac, const gc__dac_copy *copy, uint64_t address, gc_dac_type *type) {
    uint8_t record[512];
    uint64_t bytes = gc__dac_fact(copy, GC__DAC_FACT_TYPE_BYTES);
    memset(type, 0, sizeof *type);
    type->address = address;
    if (bytes > sizeof record || address % 8 || gc__dac_copy_memory(dac, address, record, (size_t)bytes) < bytes)
        return false;
#define GC__DAC_TAKE(member, size)                                         \
    if (gc__dac_has(copy, GC__DAC_AT_type_##member) &&                     \
        copy->members[GC__DAC_AT_type_##member] + (uint64_t)size <= bytes) \
    memcpy(&type->member, record + copy->members[GC__DAC_AT_type_##member], size)
    GC__DAC_TAKE(bytes, 4);
    GC__DAC_TAKE(element_bytes, 4);
    GC__DAC_TAKE(refs, 8);
    GC__DAC_TAKE(values, 8);
    GC__DAC_TAKE(element_refs, 8);
    GC__DAC_TAKE(element_values, 8);
#undef GC__DAC_TAKE
    return gc__dac_type_sound(type);
}

/* What the type's trace function does, if it is one of gc.h's own. */
GC__DAC_FN void gc__dac_type_trace(gc_dac *dac, const gc__dac_copy *copy, gc_dac_type *type) {
    uint64_t trace = gc__dac_member(dac, copy, type->address, GC__DAC_AT_type_trace);
    uint64_t known = trace ? gc__dac_variable(copy, GC__DAC_VARIABLE_WEAK_TRACES) : 0;
    type->is_weak = known && gc__dac_u64(dac, known) == trace;
    type->is_ephemeral = known && gc__dac_u64(dac, known + 8) == trace;
    type->has_trace = trace && !type->is_weak && !type->is_ephemeral;
}

/* The type at an address; NULL: there is none, or it cannot be read. */
GC__DAC_FN gc_dac_type *gc__dac_type_find(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    gc_dac_type fresh, *type = (gc_dac_type *)gc__dac_map_get(&dac->types, address);
    if (type) return dac->last_type = type;
    if (!address || !gc__dac_type_read(dac, copy, address, &fresh)) return NULL;
    char otherwise[48];
    snprintf(otherwise, sizeof otherwise, "(type at 0x%llx)", (unsigned long long)address);
    uint64_t name = gc__dac_member(dac, copy, address, GC__DAC_AT_type_name);
    fresh.name = gc__dac_text(dac, name, NULL);
    if (!fresh.name) fresh.name = gc__dac_format(dac, "%s", otherwise);
    gc__dac_type_trace(dac, copy, &fresh);
    uint64_t finalizer = gc__dac_member(dac, copy, address, GC__DAC_AT_type_finalizer), function = 0;
    fresh.has_finalizer = finalizer && gc__dac_copy_memory(dac, finalizer, &function, 8) == 8 && function;
    gc__dac_type_fields(dac, copy, &fresh);
    type = (gc_dac_type *)gc__dac_keep(dac, sizeof *type);
    if (!type) return NULL;
    *type = fresh;
    gc__dac_map_put(dac, &dac->types, address, type);
    return dac->last_type = type;
}

GC__DAC_FN gc_dac_type *gc__dac_type_of(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    return dac->last_type && dac->last_type->address == address ? dac->last_type
                                                                : gc__dac_type_find(dac, copy, address);
}
/* Objects: listing those of a region, and finding the one that covers an address.

   A linear region is walked from its base: objects and fillers follow one another. A thread's open window is the place where that
   would fail: its objects end at the window's `next`, and what is behind that, up to the window's end, is no object. So the walk
   jumps from there to the end. In other regions mark bits say where objects begin. */


#define GC__DAC_CONTENTS_MAX ((uint64_t)1 << 16) /* of a large object's bytes, as many are read with it */

/* A walk through one region. */
typedef struct gc__dac_cursor {
    gc__dac_copy *copy;
    gc__dac_place *place;
    size_t number;
    const uint8_t *memory; /* from the region's base to `readable` */
    uint8_t *own;          /* the same, if it had to be copied */
    uint64_t own_bytes;
    uint64_t *marks; /* NULL: the region is linear, or large */
    uint64_t at, readable, end;
    gc__dac_window *window; /* the first one whose `next` is not below `at`; NULL: none */
    gc_dac_object object;
} gc__dac_cursor;

GC__DAC_FN uint64_t gc__dac_align(const gc__dac_copy *copy, uint64_t bytes) {
    uint64_t least = gc__dac_fact(copy, GC__DAC_FACT_OBJECT_BYTES_MIN);
    return bytes < least ? least : (bytes + 7) & ~(uint64_t)7;
}

/* Fills in the object whose first `known` bytes are at `memory`, and which has at most `room` bytes. False: its header says
   nothing, or something impossible. */
GC__DAC_FN bool gc__dac_object_parse(gc_dac *dac, const gc__dac_copy *copy, const uint8_t *memory, uint64_t known,
                                     uint64_t room, gc_dac_object *object) {
    uint64_t header, length = 0, bytes;
    object->type = NULL;
    object->bytes = object->length = 0;
    object->flags = 0;
    object->contents = memory;
    object->contents_bytes = known < room ? known : room;
    if (known < 16 || room < 16) return false;
    memcpy(&header, memory, 8);
    if (gc__dac_fact(copy, GC__DAC_FACT_HAS_MODEL)) {
        if (!dac->host.bytes || !header) return false;
        bytes = dac->host.bytes(dac->host.context, dac, object->address, memory, (size_t)object->contents_bytes);
        if (!bytes || bytes > room) return false;
    } else {
        gc_dac_type *type = gc__dac_type_of(dac, copy, header);
        if (!type) return false;
        bytes = type->bytes;
        if (type->element_bytes) {
            if (copy->members[GC__DAC_AT_object_length] > 8) return false;
            memcpy(&length, memory + copy->members[GC__DAC_AT_object_length], 8);
            if (length > room / type->element_bytes) return false;
            bytes += length * type->element_bytes;
        }
        object->type = type;
    }
    bytes = gc__dac_align(copy, bytes);
    if (bytes > room) {
        object->type = NULL;
        return false;
    }
    object->bytes = bytes;
    object->length = length;
    if (object->contents_bytes > bytes) object->contents_bytes = bytes;
    return true;
}

/* Whether only the program knows what headers of the collector's objects say. */
GC__DAC_FN bool gc__dac_is_of_unknown_model(const gc_dac *dac, const gc__dac_copy *copy) {
    return gc__dac_fact(copy, GC__DAC_FACT_HAS_MODEL) && !dac->host.bytes;
}

GC__DAC_FN void gc__dac_cursor_close(gc_dac *dac, gc__dac_cursor *cursor) {
    gc__dac_free(dac, cursor->own, cursor->own_bytes, 1);
    gc__dac_free(dac, cursor->marks, cursor->copy->info.region_bytes / 64, 1);
    cursor->own = NULL;
    cursor->marks = NULL;
}

/* Brings the first `bytes` of the region into reach, or as many as are readable. */
GC__DAC_FN bool gc__dac_cursor_load(gc_dac *dac, gc__dac_cursor *cursor, uint64_t bytes) {
    uint64_t base = cursor->place->base;
    cursor->readable = base + bytes;
    cursor->memory = dac->target.at ? (const uint8_t *)dac->target.at(dac->target.context, base, (size_t)bytes) : NULL;
    if (cursor->memory || !bytes) return true;
    cursor->own = (uint8_t *)gc__dac_allocate(dac, bytes, 1);
    if (!cursor->own) return false;
    cursor->own_bytes = bytes;
    cursor->memory = cursor->own;
    cursor->readable = base + dac->target.read(dac->target.context, base, cursor->own, (size_t)bytes);
    return true;
}

/* The window that the walk meets next. */
GC__DAC_FN void gc__dac_cursor_window(gc_dac *dac, gc__dac_cursor *cursor) {
    gc__dac_copy *copy = cursor->copy;
    cursor->window = NULL;
    if (!gc__dac_step(dac, copy->window_count)) cursor->end = cursor->at;
    for (size_t i = 0; i < copy->window_count; i++) {
        gc__dac_window *each = &copy->windows[i];
        bool ahead = each->next > cursor->at || (each->next == cursor->at && each->end > cursor->at);
        if (each->place == cursor->number && ahead && (!cursor->window || each->next < cursor->window->next))
            cursor->window = each;
    }
}

/* Marks the objects of a window that have no marks before its thread leaves it: those that are born in generation 2. They follow
   one another. */
GC__DAC_FN void gc__dac_cursor_mark_born(gc_dac *dac, gc__dac_cursor *cursor, const gc__dac_window *window) {
    const uint64_t filler = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_TAG),
                   shift = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_SHIFT), base = cursor->place->base;
    uint64_t at = window->start, header, bytes;
    if (at < base || at % 8) return;
    for (; at < window->next && at < cursor->readable && cursor->readable - at >= 8; at += bytes) {
        gc_dac_object object;
        const uint8_t *memory = cursor->memory + (at - base);
        memcpy(&header, memory, 8);
        bytes = header >> shift;
        if ((header & filler) == filler && (bytes < 8 || bytes % 8 || bytes > window->next - at)) return;
        if ((header & filler) == filler) continue;
        cursor->marks[(at - base) / 512] |= (uint64_t)1 << (at - base) / 8 % 64;
        object.address = at;
        if (!gc__dac_object_parse(dac, cursor->copy, memory, cursor->readable - at, window->next - at, &object)) return;
        bytes = object.bytes;
    }
}

/* Begins with a region that is in a list and that no collection is at work in. False: its memory cannot be had. */
GC__DAC_FN bool gc__dac_cursor_open(gc_dac *dac, gc__dac_copy *copy, size_t number, gc__dac_cursor *cursor) {
    memset(cursor, 0, sizeof *cursor);
    cursor->copy = copy;
    cursor->number = number;
    cursor->place = &copy->places[number];
    if (!gc__dac_step(dac, 2 * copy->window_count)) return false;
    cursor->at = cursor->place->base;
    cursor->end = gc__dac_place_top(copy, number);
    cursor->object.generation = cursor->place->generation;
    uint64_t bytes = cursor->end - cursor->at;
    if (gc__dac_is_large(copy, cursor->place) && bytes > GC__DAC_CONTENTS_MAX) bytes = GC__DAC_CONTENTS_MAX;
    if (!gc__dac_cursor_load(dac, cursor, bytes)) return false;
    gc__dac_cursor_window(dac, cursor);
    if (cursor->place->linear || gc__dac_is_large(copy, cursor->place)) return true;
    uint64_t mark_bytes = copy->info.region_bytes / 64;
    cursor->marks = (uint64_t *)gc__dac_allocate(dac, mark_bytes, 1);
    uint64_t plane = copy->marks[cursor->place->second_plane];
    if (!cursor->marks || !gc__dac_load(dac, plane + (cursor->at >> 9) * 8, cursor->marks, (size_t)mark_bytes)) return false;
    for (size_t i = 0; i < copy->window_count; i++)
        if (copy->windows[i].place == number) gc__dac_cursor_mark_born(dac, cursor, &copy->windows[i]);
    return true;
}

/* The header says nothing: the walk cannot go on behind it. */
GC__DAC_FN bool gc__dac_cursor_lost(gc_dac *dac, gc__dac_cursor *cursor, uint64_t at) {
    uint64_t header = 0;
    if (at < cursor->readable && cursor->readable - at >= 8) memcpy(&header, cursor->memory + (at - cursor->place->base), 8);
    if (at >= cursor->readable)
        return gc__dac_fail(
            dac, "the region at 0x%llx is not readable from 0x%llx on: the objects from there on are left out%s",
            (unsigned long long)cursor->place->base, (unsigned long long)at, dac->complaint);
    if (gc__dac_fact(cursor->copy, GC__DAC_FACT_HAS_MODEL))
        return gc__dac_fail(
            dac, "this program has an object model of its own (GC_MODEL_BYTES): only gc_dac_host.bytes can say "
                 "how long its objects are");
    return gc__dac_fail(
        dac,
        "the header 0x%llx of the object at 0x%llx leads to no type: it was overwritten, or the file that has the "
        "types is not readable. Objects behind it are left out%s",
        (unsigned long long)header, (unsigned long long)at, dac->complaint);
}

GC__DAC_FN bool gc__dac_cursor_unfinished(gc__dac_cursor *cursor, uint64_t next) {
    cursor->object.type = NULL;
    cursor->object.bytes = cursor->object.length = 0;
    cursor->object.flags = GC_DAC_UNFINISHED;
    cursor->at = next;
    return true;
}

/* The next object of a linear region. */
GC__DAC_FN bool gc__dac_cursor_linear(gc_dac *dac, gc__dac_cursor *cursor) {
    const uint64_t filler = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_TAG),
                   shift = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_SHIFT);
    while (cursor->at < cursor->end) {
        uint64_t at = cursor->at, header, limit = cursor->end;
        gc__dac_window *window = cursor->window;
        if (window && window->next == at) {
            cursor->at = window->end;
            gc__dac_cursor_window(dac, cursor);
            continue;
        }
        if (window) limit = window->next;
        if (cursor->readable < at + 8 || cursor->readable < at) return gc__dac_cursor_lost(dac, cursor, at);
        const uint8_t *memory = cursor->memory + (at - cursor->place->base);
        memcpy(&header, memory, 8);
        if ((header & filler) == filler) {
            uint64_t bytes = header >> shift;
            if (bytes < 8 || bytes % 8 || bytes > cursor->end - at) return gc__dac_cursor_lost(dac, cursor, at);
            cursor->at += bytes;
            if (window && cursor->at > window->next) gc__dac_cursor_window(dac, cursor);
            continue;
        }
        cursor->object.address = at;
        if (gc__dac_object_parse(dac, cursor->copy, memory, cursor->readable - at, limit - at, &cursor->object)) {
            cursor->at += cursor->object.bytes;
            return true;
        }
        if (window && window->running && !header) return gc__dac_cursor_unfinished(cursor, window->next);
        return gc__dac_cursor_lost(dac, cursor, at);
    }
    return false;
}

/* As of an object without a type that was made with GC_NEW_FIXED, which is marked before its host writes the header. */
GC__DAC_FN bool gc__dac_has_no_header(const gc__dac_cursor *cursor, uint64_t at) {
    uint64_t header = 1;
    if (cursor->readable - at >= 8) memcpy(&header, cursor->memory + (at - cursor->place->base), 8);
    return !header;
}

/* The next object that a mark bit shows. One whose header says nothing is reported without its size. */
GC__DAC_FN bool gc__dac_cursor_marked(gc_dac *dac, gc__dac_cursor *cursor) {
    uint64_t base = cursor->place->base, bit = (cursor->at - base) / 8, bits = (cursor->end - base) / 8;
    while (bit < bits) {
        uint64_t word = cursor->marks[bit / 64] >> (bit % 64);
        if (!word) {
            bit = (bit / 64 + 1) * 64;
            continue;
        }
        bit += (uint64_t)__builtin_ctzll(word);
        uint64_t at = base + 8 * bit;
        cursor->at = at + 8;
        if (at >= cursor->readable) return gc__dac_cursor_lost(dac, cursor, at);
        cursor->object.address = at;
        if (gc__dac_object_parse(dac, cursor->copy, cursor->memory + 8 * bit, cursor->readable - at, cursor->end - at,
                                 &cursor->object))
            cursor->at = at + cursor->object.bytes;
        else if (gc__dac_has_no_header(cursor, at))
            gc__dac_cursor_unfinished(cursor, at + 8);
        else if (!gc__dac_cursor_lost(dac, cursor, at) && gc__dac_is_of_unknown_model(dac, cursor->copy))
            gc__dac_cursor_unfinished(cursor, at + 8);
        return true;
    }
    return false;
}

GC__DAC_FN bool gc__dac_cursor_large(gc_dac *dac, gc__dac_cursor *cursor) {
    uint64_t at = cursor->at, header = 0;
    if (at != cursor->place->base) return false;
    cursor->at = cursor->end;
    cursor->object.address = at;
    if (cursor->readable < at + 16) return gc__dac_cursor_lost(dac, cursor, at);
    memcpy(&header, cursor->memory, 8);
    if (gc__dac_object_parse(dac, cursor->copy, cursor->memory, cursor->readable - at, cursor->end - at,
                             &cursor->object)) {
        cursor->object.flags |= GC_DAC_OBJECT_LARGE;
        return true;
    }
    if (!header) return gc__dac_cursor_unfinished(cursor, cursor->end);
    return gc__dac_cursor_lost(dac, cursor, at);
}

/* The region's next object, in cursor->object. False: there is none, or none that can be found. */
GC__DAC_FN bool gc__dac_cursor_next(gc_dac *dac, gc__dac_cursor *cursor) {
    if (cursor->marks) return gc__dac_cursor_marked(dac, cursor);
    return gc__dac_is_large(cursor->copy, cursor->place) ? gc__dac_cursor_large(dac, cursor)
                                                         : gc__dac_cursor_linear(dac, cursor);
}

/* Whether objects of the region can be listed now. */
GC__DAC_FN bool gc__dac_place_listable(const gc__dac_place *place, uint64_t heap) {
    return place->listed && place->heap == heap && !place->condemned;
}

GC_DAC_API bool gc_dac_objects(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_object *object), void *context) {
    gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    bool on = copy != NULL;
    size_t condemned = 0;
    for (size_t i = 0; on && i < copy->place_count; i++) {
        gc__dac_cursor cursor;
        condemned += copy->places[i].heap == heap->address && copy->places[i].condemned;
        if (!gc__dac_place_listable(&copy->places[i], heap->address)) continue;
        if (gc__dac_cursor_open(dac, copy, i, &cursor))
            while (on && gc__dac_cursor_next(dac, &cursor)) on = visit(context, &cursor.object);
        gc__dac_cursor_close(dac, &cursor);
    }
    if (condemned)
        gc__dac_fail(dac, "a collection is at work in %zu regions of this heap: their objects are left out", condemned);
    return gc__dac_end_names(dac);
}

/* Which objects begin where in a region; NULL: no memory. */
GC__DAC_FN const uint64_t *gc__dac_starts(gc_dac *dac, gc__dac_copy *copy, size_t number) {
    gc__dac_place *place = &copy->places[number];
    if (place->starts && !dac->moving) return place->starts;
    uint64_t bytes = copy->info.region_bytes / 64;
    uint64_t *starts = place->starts ? place->starts : (uint64_t *)gc__dac_allocate(dac, bytes, 1);
    if (!starts) return NULL;
    memset(starts, 0, (size_t)bytes);
    gc__dac_cursor cursor;
    if (gc__dac_cursor_open(dac, copy, number, &cursor))
        while (gc__dac_cursor_next(dac, &cursor)) {
            uint64_t bit = (cursor.object.address - place->base) / 8;
            starts[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    gc__dac_cursor_close(dac, &cursor);
    return place->starts = starts;
}

/* The last bit set in [0, bit]; UINT64_MAX: none. */
GC__DAC_FN uint64_t gc__dac_last_bit(const uint64_t *bits, uint64_t bit) {
    uint64_t word = bits[bit / 64] << (63 - bit % 64);
    if (word) return bit - (uint64_t)__builtin_clzll(word);
    for (uint64_t i = bit / 64; i-- > 0;)
        if (bits[i]) return i * 64 + 63 - (uint64_t)__builtin_clzll(bits[i]);
    return UINT64_MAX;
}

/* Has the object's contents in reach. */
GC__DAC_FN const uint8_t *gc__dac_contents(gc_dac *dac, uint64_t address, uint64_t *bytes) {
    const uint8_t *memory =
        dac->target.at ? (const uint8_t *)dac->target.at(dac->target.context, address, (size_t)*bytes) : NULL;
    if (memory) return memory;
    if (*bytes > GC__DAC_CONTENTS_MAX) *bytes = GC__DAC_CONTENTS_MAX;
    if (!dac->object) {
        dac->object = (uint8_t *)gc__dac_allocate(dac, GC__DAC_CONTENTS_MAX, 1);
        if (!dac->object) return NULL;
    }
    *bytes = gc__dac_copy_memory(dac, address, dac->object, (size_t)*bytes);
    return dac->object;
}

/* The region that has the address; NULL: it is in no heap. */
GC__DAC_FN gc__dac_place *gc__dac_place_of(gc__dac_copy *copy, uint64_t address) {
    if (address < copy->arena || address >= copy->arena_end) return NULL;
    uint64_t number = (address - copy->arena) / copy->info.region_bytes;
    if (number >= copy->place_count) return NULL;
    gc__dac_place *place = &copy->places[number];
    if (place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_LARGE_REST)) {
        if (place->rest_index > number) return NULL;
        place -= place->rest_index;
        if (!gc__dac_is_large(copy, place) || address >= gc__dac_place_end(copy, place)) return NULL;
    }
    return place->heap ? place : NULL;
}

/* The object that covers the address. The message says why there is none. */
GC__DAC_FN bool gc__dac_object_find(gc_dac *dac, gc__dac_copy *copy, uint64_t address, gc_dac_object *object) {
    gc__dac_place *place = gc__dac_place_of(copy, address);
    memset(object, 0, sizeof *object);
    if (place && place->condemned)
        return gc__dac_fail(dac, "a collection is at work in the region of 0x%llx", (unsigned long long)address);
    if (!place || !place->listed)
        return gc__dac_fail(dac, "0x%llx is in no region that holds objects", (unsigned long long)address);
    uint64_t start = place->base;
    if (!gc__dac_is_large(copy, place)) {
        const uint64_t *starts = gc__dac_starts(dac, copy, (size_t)(place - copy->places));
        uint64_t bit = starts ? gc__dac_last_bit(starts, (address - place->base) / 8) : UINT64_MAX;
        if (bit == UINT64_MAX) return gc__dac_fail(dac, "no object covers 0x%llx", (unsigned long long)address);
        start += 8 * bit;
    }
    uint64_t room = gc__dac_place_end(copy, place) - start, bytes = 64 < room ? 64 : room;
    object->address = start;
    const uint8_t *memory = gc__dac_contents(dac, start, &bytes);
    if (!memory || !gc__dac_object_parse(dac, copy, memory, bytes, room, object))
        return gc__dac_fail(dac, "the header of the object at 0x%llx leads to no type%s", (unsigned long long)start,
                            dac->complaint);
    object->generation = place->generation;
    if (gc__dac_is_large(copy, place)) object->flags |= GC_DAC_OBJECT_LARGE;
    if (address - start >= object->bytes)
        return gc__dac_fail(dac, "no object covers 0x%llx", (unsigned long long)address);
    bytes = object->bytes;
    object->contents = gc__dac_contents(dac, start, &bytes);
    object->contents_bytes = object->contents ? bytes : 0;
    return true;
}

/* The collector in whose arena the address is; NULL: none. */
GC__DAC_FN gc__dac_copy *gc__dac_copy_at(gc_dac *dac, uint64_t address) {
    for (size_t i = 0; i < dac->copy_count; i++)
        if (!dac->copies[i].info.rejected && address >= dac->copies[i].arena && address < dac->copies[i].arena_end)
            return &dac->copies[i];
    return NULL;
}

GC_DAC_API bool gc_dac_object_at(gc_dac *dac, uint64_t address, gc_dac_object *object) {
    memset(object, 0, sizeof *object);
    if (!gc__dac_begin(dac)) return gc__dac_end(dac);
    gc__dac_copy *copy = gc__dac_copy_at(dac, address);
    if (copy)
        gc__dac_object_find(dac, copy, address, object);
    else
        gc__dac_fail(dac, "0x%llx is in no heap", (unsigned long long)address);
    return gc__dac_end(dac);
}
/* The slots of an object, and what they refer to. */


/* A word of the object, from its contents where they have it. */
GC__DAC_FN uint64_t gc__dac_object_word(gc_dac *dac, const gc_dac_object *object, uint64_t offset) {
    uint64_t word = 0;
    if (object->contents && offset + 8 <= object->contents_bytes)
        memcpy(&word, object->contents + offset, sizeof word);
    else
        gc__dac_copy_memory(dac, object->address + offset, &word, sizeof word);
    return word;
}

/* The address in the heap that a plain reference is; 0: it leads to no heap of the collector. */
GC__DAC_FN uint64_t gc__dac_reference(const gc__dac_copy *copy, uint64_t word) {
    return word >= copy->arena && word < copy->arena_end ? word : 0;
}

/* The same of a tagged value: as the host says, or else a guess, since most tags are in the low or the high bits. */
GC__DAC_FN uint64_t gc__dac_value(gc_dac *dac, const gc__dac_copy *copy, uint64_t word) {
    if (dac->host.decode) return gc__dac_reference(copy, dac->host.decode(dac->host.context, word));
    uint64_t plain = gc__dac_reference(copy, word & ~(uint64_t)7);
    return plain ? plain : gc__dac_reference(copy, word & 0x0000FFFFFFFFFFF8);
}

/* Whether the word is the address at which an object begins. */
GC__DAC_FN bool gc__dac_is_start(gc_dac *dac, gc__dac_copy *copy, uint64_t word) {
    if (word % 8) return false;
    gc__dac_place *place = gc__dac_place_of(copy, word);
    if (!place || !place->listed || place->condemned) return false;
    if (gc__dac_is_large(copy, place)) return word == place->base;
    const uint64_t *starts = gc__dac_starts(dac, copy, (size_t)(place - copy->places));
    uint64_t bit = (word - place->base) / 8;
    return starts && (starts[bit / 64] >> (bit % 64) & 1);
}

/* Calls f for each slot until it returns false. */
typedef bool (*gc__dac_slot_function)(void *context, uint64_t offset, uint64_t index, unsigned flags);

GC__DAC_FN bool gc__dac_slots_of_mask(uint64_t mask, uint64_t base, uint64_t end, uint64_t index, unsigned flags,
                                      gc__dac_slot_function f, void *context) {
    for (; mask; mask &= mask - 1) {
        uint64_t offset = base + 8 * (uint64_t)__builtin_ctzll(mask);
        if (offset + 8 > end) return true;
        if (!f(context, offset, index, flags)) return false;
    }
    return true;
}

/* Whether one of the masks of elements covers the word of an object. */
GC__DAC_FN bool gc__dac_is_masked_element(const gc_dac_type *type, uint64_t offset) {
    if (!type->element_bytes || offset < type->bytes) return false;
    uint64_t within = (offset - type->bytes) % type->element_bytes;
    return within < 512 && ((type->element_refs | type->element_values) >> (within / 8) & 1);
}

/* The words that no mask covers may be slots that the type's trace function knows. */
GC__DAC_FN bool gc__dac_slots_traced(const gc_dac_type *type, uint64_t end, gc__dac_slot_function f, void *context) {
    uint64_t known = type->refs | type->values;
    for (uint64_t offset = 8; offset + 8 <= end; offset += 8) {
        bool masked = offset < 512 && offset < type->bytes && (known >> (offset / 8) & 1);
        if (masked || gc__dac_is_masked_element(type, offset)) continue;
        if (!f(context, offset, UINT64_MAX, GC_DAC_SLOT_GUESSED)) return false;
    }
    return true;
}

/* The elements of weak arrays and of tables of ephemerons. */
GC__DAC_FN void gc__dac_slots_weak(const gc_dac_object *object, gc__dac_slot_function f, void *context) {
    const gc_dac_type *type = object->type;
    for (uint64_t i = 0, at = type->bytes; i < object->length && at + 8 <= object->bytes;
         i++, at += type->element_bytes) {
        if (!f(context, at, i, GC_DAC_SLOT_WEAK)) return;
        if (type->is_ephemeral && at + 16 <= object->bytes && !f(context, at + 8, i, 0)) return;
    }
}

GC__DAC_FN void gc__dac_slots_each(const gc_dac_object *object, gc__dac_slot_function f, void *context) {
    const gc_dac_type *type = object->type;
    uint64_t end = object->bytes;
    if (!type) return;
    if (!gc__dac_slots_of_mask(type->refs, 0, end, UINT64_MAX, 0, f, context)) return;
    if (!gc__dac_slots_of_mask(type->values, 0, end, UINT64_MAX, GC_DAC_SLOT_VALUE, f, context)) return;
    if (type->element_refs | type->element_values)
        for (uint64_t i = 0, at = type->bytes; i < object->length; i++, at += type->element_bytes) {
            if (!gc__dac_slots_of_mask(type->element_refs, at, end, i, 0, f, context)) return;
            if (!gc__dac_slots_of_mask(type->element_values, at, end, i, GC_DAC_SLOT_VALUE, f, context)) return;
        }
    if (type->is_weak || type->is_ephemeral) gc__dac_slots_weak(object, f, context);
    if (type->has_trace) gc__dac_slots_traced(type, end, f, context);
}

GC_DAC_API bool gc_dac_card(gc_dac *dac, uint64_t slot, bool *dirty) {
    gc__dac_copy *copy = gc__dac_begin(dac) ? gc__dac_copy_at(dac, slot) : NULL;
    uint64_t tables = copy ? gc__dac_variable(copy, GC__DAC_VARIABLE_TABLES) : 0;
    *dirty = false;
    if (!tables || !gc__dac_has(copy, GC__DAC_AT_tables_log_bits)) {
        gc__dac_fail(dac, "0x%llx has no card", (unsigned long long)slot);
        return gc__dac_end(dac);
    }
    uint64_t cards = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_cards);
    uint64_t bundles = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_bundles);
    uint64_t log_bits = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_log_bits);
    unsigned byte_shift = gc__dac_fact(copy, GC__DAC_FACT_CARD_BYTE_SHIFT) & 63;
    unsigned bundle_shift = gc__dac_fact(copy, GC__DAC_FACT_BUNDLE_SHIFT) & 63;
    uint8_t card = 0, bundle = 1, logged = 0, age = 0;
    uint64_t ages = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_age);
    if (ages) gc__dac_load(dac, ages + slot / copy->info.region_bytes, &age, 1);
    if (age & gc__dac_fact(copy, GC__DAC_FACT_AGE_LOGGED)) {
        gc__dac_fail(dac, "stores are logged in the region of 0x%llx now, so its cards do not have them",
                     (unsigned long long)slot);
        return gc__dac_end(dac);
    }
    gc__dac_load(dac, cards + (slot >> byte_shift), &card, 1);
    if (gc__dac_fact(copy, GC__DAC_FACT_CARD_BITS))
        card = card >> ((slot >> (gc__dac_fact(copy, GC__DAC_FACT_CARD_SHIFT) & 63)) & 7) & 1;
    if (bundle_shift) gc__dac_load(dac, bundles + (slot >> bundle_shift), &bundle, 1);
    if (log_bits) gc__dac_load(dac, log_bits + (slot >> 6), &logged, 1);
    *dirty = (card && bundle) || (logged >> (slot >> 3 & 7) & 1);
    return gc__dac_end(dac);
}

typedef struct gc__dac_slot_walk {
    gc_dac *dac;
    gc__dac_copy *copy;
    const gc_dac_object *object;
    bool (*visit)(void *context, const gc_dac_slot *slot);
    bool (*refer)(void *context, uint64_t reference, bool guessed);
    void *context;
} gc__dac_slot_walk;

/* What the slot's word refers to. */
GC__DAC_FN uint64_t gc__dac_slot_target(const gc__dac_slot_walk *walk, uint64_t word, unsigned flags) {
    if (flags & GC_DAC_SLOT_GUESSED) {
        uint64_t reference = gc__dac_reference(walk->copy, word);
        return reference && gc__dac_is_start(walk->dac, walk->copy, reference) ? reference : 0;
    }
    return flags & GC_DAC_SLOT_VALUE ? gc__dac_value(walk->dac, walk->copy, word) : gc__dac_reference(walk->copy, word);
}

GC__DAC_FN bool gc__dac_slot_visit(void *context, uint64_t offset, uint64_t index, unsigned flags) {
    const gc__dac_slot_walk *walk = (const gc__dac_slot_walk *)context;
    const gc_dac_type *type = walk->object->type;
    gc_dac_slot slot;
    memset(&slot, 0, sizeof slot);
    slot.address = walk->object->address + offset;
    slot.offset = (uint32_t)offset;
    slot.index = index;
    slot.flags = flags;
    slot.word = gc__dac_object_word(walk->dac, walk->object, offset);
    slot.reference = gc__dac_slot_target(walk, slot.word, flags);
    if ((flags & GC_DAC_SLOT_GUESSED) && !slot.reference) return true;
    bool is_element = index != UINT64_MAX;
    uint64_t at = is_element && type->element_bytes ? (offset - type->bytes) % type->element_bytes : offset;
    for (unsigned i = 0; i < type->field_count; i++)
        if (type->fields[i].element == is_element && type->fields[i].offset == at) slot.name = type->fields[i].name;
    return walk->visit(walk->context, &slot);
}

GC__DAC_FN bool gc__dac_slot_refer(void *context, uint64_t offset, uint64_t index, unsigned flags) {
    const gc__dac_slot_walk *walk = (const gc__dac_slot_walk *)context;
    (void)index;
    if (flags & GC_DAC_SLOT_WEAK) return true;
    uint64_t word = gc__dac_object_word(walk->dac, walk->object, offset);
    uint64_t reference = word ? gc__dac_slot_target(walk, word, flags) : 0;
    return !reference || walk->refer(walk->context, reference, (flags & GC_DAC_SLOT_GUESSED) != 0);
}

GC__DAC_FN bool gc__dac_slots_begin(gc_dac *dac, gc__dac_slot_walk *walk) {
    if (!gc__dac_begin(dac)) return false;
    walk->copy = gc__dac_copy_at(dac, walk->object->address);
    if (!walk->copy) return gc__dac_fail(dac, "0x%llx is in no heap", (unsigned long long)walk->object->address);
    if (!walk->object->type)
        return gc__dac_fail(dac, "the slots of the object at 0x%llx are not known: its type is not",
                            (unsigned long long)walk->object->address);
    return true;
}

GC_DAC_API bool gc_dac_slots(gc_dac *dac, const gc_dac_object *object,
                             bool (*visit)(void *context, const gc_dac_slot *slot), void *context) {
    gc__dac_slot_walk walk = {dac, NULL, object, visit, NULL, context};
    if (gc__dac_slots_begin(dac, &walk)) gc__dac_slots_each(object, gc__dac_slot_visit, &walk);
    return gc__dac_end(dac);
}

GC_DAC_API bool gc_dac_references(gc_dac *dac, const gc_dac_object *object,
                                  bool (*visit)(void *context, uint64_t reference, bool guessed), void *context) {
    gc__dac_slot_walk walk = {dac, NULL, object, NULL, visit, context};
    if (gc__dac_slots_begin(dac, &walk)) gc__dac_slots_each(object, gc__dac_slot_refer, &walk);
    return gc__dac_end(dac);
}
/* Attached threads, and the frames on their stacks. */


#define GC__DAC_STACK_BYTES ((uint64_t)64 << 20) /* of a native stack, as many are looked at */

/* The native thread with that number. False: it is not known. */
GC__DAC_FN bool gc__dac_native_find(gc_dac *dac, uint64_t tid, gc_dac_native *native) {
    size_t i = 0;
    while (tid && dac->target.native && gc__dac_step(dac, 1) && dac->target.native(dac->target.context, i++, native))
        if (native->tid == tid) return true;
    memset(native, 0, sizeof *native);
    return false;
}

GC__DAC_FN void gc__dac_thread_windows(gc_dac *dac, const gc__dac_copy *copy, gc_dac_thread *thread) {
    const unsigned members[2] = {GC__DAC_AT_thread_window, GC__DAC_AT_thread_raw};
    for (int i = 0; i < 2; i++) {
        uint64_t window = gc__dac_at(copy, thread->address, members[i]);
        if (!gc__dac_member(dac, copy, window, GC__DAC_AT_window_region)) continue;
        thread->windows[i] = gc__dac_member(dac, copy, window, GC__DAC_AT_window_next);
        thread->window_ends[i] = gc__dac_member(dac, copy, window, GC__DAC_AT_window_end);
    }
}

/* Whether its own stack is a root. Another one that it has entered may be one by itself. */
GC__DAC_FN bool gc__dac_thread_is_conservative(gc_dac *dac, const gc__dac_copy *copy, uint64_t thread) {
    return gc__dac_member8(dac, copy, thread, GC__DAC_AT_thread_conservative) != 0;
}

GC__DAC_FN gc_dac_thread gc__dac_thread_read(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    gc_dac_thread thread;
    gc_dac_native native;
    memset(&thread, 0, sizeof thread);
    thread.address = address;
    thread.tid = gc__dac_member32(dac, copy, address, GC__DAC_AT_thread_tid);
    thread.name = gc__dac_text(dac, gc__dac_member(dac, copy, address, GC__DAC_AT_thread_name), "");
    bool preemptive = gc__dac_member32(dac, copy, address, GC__DAC_AT_thread_mode) ==
                      gc__dac_fact(copy, GC__DAC_FACT_MODE_PREEMPTIVE);
    thread.mode = preemptive ? GC_DAC_PREEMPTIVE : GC_DAC_COOPERATIVE;
    thread.parked = gc__dac_member8(dac, copy, address, GC__DAC_AT_thread_parked) != 0;
    uint64_t stack = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stack);
    thread.conservative = gc__dac_thread_is_conservative(dac, copy, address) ||
                          gc__dac_member8(dac, copy, stack, GC__DAC_AT_stack_conservative);
    thread.unbound = gc__dac_member8(dac, copy, address, GC__DAC_AT_thread_unbound) != 0;
    thread.running = !thread.unbound && gc__dac_thread_runs(dac, copy, address);
    gc__dac_thread_windows(dac, copy, &thread);
    gc__dac_native_find(dac, thread.tid, &native);
    thread.pc = native.pc;
    thread.sp = native.sp;
    thread.stack_base = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stack_base);
    thread.stack_pointer =
        thread.running ? native.sp : gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stack_pointer);
    thread.stopped_ns = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stop_total_ns);
    thread.stops = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stops);
    return thread;
}

/* Calls f for each attached thread until it returns false. */
GC__DAC_FN void gc__dac_each_thread(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap,
                                    bool (*f)(void *context, const gc_dac_thread *thread), void *context) {
    uint64_t threads = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_threads);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_first));
    bool more = list.at != 0;
    while (more) {
        gc_dac_thread thread = gc__dac_thread_read(dac, copy, list.at);
        if (!f(context, &thread)) return;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_thread_next), "threads");
    }
}

GC_DAC_API bool gc_dac_threads(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_thread *thread), void *context) {
    const gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (copy) gc__dac_each_thread(dac, copy, heap->address, visit, context);
    return gc__dac_end(dac);
}

/* Receives frames, and with them what roots need. */
typedef bool (*gc__dac_frame_function)(void *context, const gc_dac_frame *frame, uint64_t site);

/* The frames of a list of GC_ROOTS. */
GC__DAC_FN bool gc__dac_each_roots_frame(gc_dac *dac, const gc__dac_copy *copy, uint64_t first, uint64_t stack,
                                         gc__dac_frame_function f, void *context) {
    gc__dac_list list = gc__dac_list_begin(first);
    bool more = first != 0;
    while (more) {
        gc_dac_frame frame;
        memset(&frame, 0, sizeof frame);
        uint64_t site = gc__dac_member(dac, copy, list.at, GC__DAC_AT_frame_site);
        frame.kind = GC_DAC_FRAME_ROOTS;
        frame.address = list.at;
        frame.stack = stack;
        frame.function = gc__dac_text(dac, gc__dac_member(dac, copy, site, GC__DAC_AT_site_function), "");
        frame.file = gc__dac_text(dac, gc__dac_member(dac, copy, site, GC__DAC_AT_site_file), "");
        frame.names = gc__dac_text(dac, gc__dac_member(dac, copy, site, GC__DAC_AT_site_names), "");
        frame.line = gc__dac_member32(dac, copy, site, GC__DAC_AT_site_line);
        frame.count = gc__dac_member(dac, copy, list.at, GC__DAC_AT_frame_count);
        if (!f(context, &frame, site)) return false;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_frame_previous),
                                 "frames of GC_ROOTS");
    }
    return true;
}

/* The records that compiled code has left. */
GC__DAC_FN bool gc__dac_each_code_frame(gc_dac *dac, const gc__dac_copy *copy, uint64_t first, uint64_t stack,
                                        gc__dac_frame_function f, void *context) {
    gc__dac_list list = gc__dac_list_begin(first);
    bool more = first != 0;
    while (more) {
        gc_dac_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.kind = GC_DAC_FRAME_COMPILED;
        frame.address = list.at;
        frame.stack = stack;
        frame.pc = gc__dac_member(dac, copy, list.at, GC__DAC_AT_code_pc);
        frame.function = frame.file = frame.names = "";
        if (!f(context, &frame, 0)) return false;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_code_previous),
                                 "records of compiled code");
    }
    return true;
}

/* The frames of a stack on which no thread runs. */
GC__DAC_FN bool gc__dac_each_left_frame(gc_dac *dac, const gc__dac_copy *copy, uint64_t stack, gc__dac_frame_function f,
                                        void *context) {
    return gc__dac_each_roots_frame(dac, copy, gc__dac_member(dac, copy, stack, GC__DAC_AT_stack_frames), stack, f,
                                    context) &&
           gc__dac_each_code_frame(dac, copy, gc__dac_member(dac, copy, stack, GC__DAC_AT_stack_code), stack, f,
                                   context);
}

/* Calls f for each stack of gc_stack_create on which no thread runs. */
GC__DAC_FN void gc__dac_each_stack(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap,
                                   bool (*f)(void *context, uint64_t stack), void *context) {
    uint64_t threads = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_threads);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_stacks));
    bool more = list.at != 0;
    while (more) {
        if (!gc__dac_member(dac, copy, list.at, GC__DAC_AT_stack_thread) && !f(context, list.at)) return;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_stack_next), "stacks");
    }
}

/* The thread's own stack, if it runs on another one; else 0. */
GC__DAC_FN uint64_t gc__dac_left_stack(gc_dac *dac, const gc__dac_copy *copy, uint64_t thread) {
    uint64_t own = gc__dac_at(copy, thread, GC__DAC_AT_thread_own_stack);
    return gc__dac_has(copy, GC__DAC_AT_thread_own_stack) &&
                   gc__dac_member(dac, copy, thread, GC__DAC_AT_thread_stack) != own
               ? own
               : 0;
}

GC__DAC_FN bool gc__dac_each_frame(gc_dac *dac, const gc__dac_copy *copy, const gc_dac_thread *thread,
                                   gc__dac_frame_function f, void *context) {
    uint64_t address = thread->address, left = gc__dac_left_stack(dac, copy, address);
    gc_dac_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.kind = GC_DAC_FRAME_NATIVE;
    frame.address = thread->stack_pointer;
    frame.pc = thread->pc;
    frame.function = frame.file = frame.names = "";
    frame.count = thread->stack_base > thread->stack_pointer ? (thread->stack_base - thread->stack_pointer) / 8 : 0;
    return gc__dac_each_roots_frame(dac, copy, gc__dac_member(dac, copy, address, GC__DAC_AT_thread_frames), 0, f,
                                    context) &&
           gc__dac_each_code_frame(dac, copy, gc__dac_member(dac, copy, address, GC__DAC_AT_thread_code), 0, f,
                                   context) &&
           (!thread->conservative || !thread->stack_pointer || f(context, &frame, 0)) &&
           (!left || gc__dac_each_left_frame(dac, copy, left, f, context));
}

typedef struct gc__dac_frame_walk {
    gc_dac *dac;
    const gc__dac_copy *copy;
    bool (*visit)(void *context, const gc_dac_frame *frame);
    void *context;
} gc__dac_frame_walk;

GC__DAC_FN bool gc__dac_frame_visit(void *context, const gc_dac_frame *frame, uint64_t site) {
    const gc__dac_frame_walk *walk = (const gc__dac_frame_walk *)context;
    (void)site;
    return walk->visit(walk->context, frame);
}

GC__DAC_FN bool gc__dac_frames_of_stack(void *context, uint64_t stack) {
    gc__dac_frame_walk *walk = (gc__dac_frame_walk *)context;
    return gc__dac_each_left_frame(walk->dac, walk->copy, stack, gc__dac_frame_visit, walk);
}

GC_DAC_API bool gc_dac_frames(gc_dac *dac, const gc_dac_heap *heap, const gc_dac_thread *thread,
                              bool (*visit)(void *context, const gc_dac_frame *frame), void *context) {
    gc__dac_frame_walk walk = {dac, gc__dac_copy_of(dac, heap), visit, context};
    if (walk.copy && thread)
        gc__dac_each_frame(dac, walk.copy, thread, gc__dac_frame_visit, &walk);
    else if (walk.copy)
        gc__dac_each_stack(dac, walk.copy, heap->address, gc__dac_frames_of_stack, &walk);
    return gc__dac_end_names(dac);
}
/* Handles and finalizers. */


GC__DAC_FN const char *gc__dac_handle_kind_name(const gc__dac_copy *copy, unsigned kind) {
    static const struct {
        unsigned fact;
        const char *name;
    } kinds[] = {{GC__DAC_FACT_HANDLE_WEAK, "weak"},           {GC__DAC_FACT_HANDLE_WEAK_LONG, "weak long"},
                 {GC__DAC_FACT_HANDLE_STRONG, "strong"},       {GC__DAC_FACT_HANDLE_PINNED, "pinned"},
                 {GC__DAC_FACT_HANDLE_DEPENDENT, "dependent"}, {GC__DAC_FACT_HANDLE_REF_COUNTED, "ref-counted"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (gc__dac_fact(copy, kinds[i].fact) == kind) return kinds[i].name;
    return "of a kind that this reader does not know";
}

typedef bool (*gc__dac_handle_function)(void *context, const gc_dac_handle *handle, uint64_t place);

/* The handles in one block of a segment. */
GC__DAC_FN bool gc__dac_block_handles(gc_dac *dac, const gc__dac_copy *copy, uint64_t segment, uint64_t block,
                                      uint8_t kind, gc__dac_handle_function f, void *context) {
    uint64_t count = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_BLOCK), first = block * count;
    uint64_t places = gc__dac_at(copy, segment, GC__DAC_AT_segment_places) + 8 * first;
    uint64_t tags = gc__dac_at(copy, segment, GC__DAC_AT_segment_tags) + 2 * first;
    uint64_t extras = gc__dac_u64(dac, gc__dac_at(copy, segment, GC__DAC_AT_segment_extras) + 8 * block);
    for (uint64_t i = 0; i < count; i++) {
        if (!gc__dac_step(dac, 1)) return false;
        uint64_t object = gc__dac_u64(dac, places + 8 * i);
        uint16_t tag = 0;
        if (object & gc__dac_fact(copy, GC__DAC_FACT_HANDLE_FREE)) continue;
        gc__dac_load(dac, tags + 2 * i, &tag, sizeof tag);
        gc_dac_handle handle;
        handle.handle = (places + 8 * i) | (uint64_t)tag << (gc__dac_fact(copy, GC__DAC_FACT_HANDLE_TAG_SHIFT) & 63);
        handle.kind = kind;
        handle.kind_name = gc__dac_handle_kind_name(copy, kind);
        handle.object = object;
        handle.extra = extras ? gc__dac_u64(dac, extras + 8 * i) : 0;
        if (!f(context, &handle, places + 8 * i)) return false;
    }
    return true;
}

/* Calls f for each handle of the heap until it returns false. */
GC__DAC_FN bool gc__dac_each_handle(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap, gc__dac_handle_function f,
                                    void *context) {
    uint64_t handles = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_handles);
    uint64_t blocks = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_PLACES) / gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_BLOCK);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, handles, GC__DAC_AT_handles_segments));
    bool more = list.at != 0;
    while (more) {
        for (uint64_t block = 0; block < blocks; block++) {
            uint8_t kind = 0;
            if (!gc__dac_step(dac, 1)) return false;
            if (!gc__dac_load(dac, gc__dac_at(copy, list.at, GC__DAC_AT_segment_kinds) + block, &kind, 1)) return false;
            if (kind < gc__dac_fact(copy, GC__DAC_FACT_HANDLE_KINDS) &&
                !gc__dac_block_handles(dac, copy, list.at, block, kind, f, context))
                return false;
        }
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_segment_next),
                                 "segments of handles");
    }
    return true;
}

typedef struct gc__dac_handle_walk {
    bool (*visit)(void *context, const gc_dac_handle *handle);
    void *context;
} gc__dac_handle_walk;

GC__DAC_FN bool gc__dac_handle_visit(void *context, const gc_dac_handle *handle, uint64_t place) {
    const gc__dac_handle_walk *walk = (const gc__dac_handle_walk *)context;
    (void)place;
    return walk->visit(walk->context, handle);
}

GC_DAC_API bool gc_dac_handles(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_handle *handle), void *context) {
    gc__dac_handle_walk walk = {visit, context};
    const gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (copy) gc__dac_each_handle(dac, copy, heap->address, gc__dac_handle_visit, &walk);
    return gc__dac_end(dac);
}

/* The name of an object's type, as far as it can be known. */
GC__DAC_FN const char *gc__dac_object_type_name(gc_dac *dac, const gc__dac_copy *copy, uint64_t object) {
    uint64_t header = 0;
    if (gc__dac_fact(copy, GC__DAC_FACT_HAS_MODEL)) return "";
    gc__dac_copy_memory(dac, object, &header, sizeof header);
    const gc_dac_type *type = gc__dac_type_of(dac, copy, header);
    return type ? type->name : "";
}

typedef bool (*gc__dac_finalizer_function)(void *context, const gc_dac_finalizer *finalizer, uint64_t slot);

/* The pairs of a list, from the word `head` on. */
GC__DAC_FN bool gc__dac_pairs(gc_dac *dac, const gc__dac_copy *copy, uint64_t list, uint64_t head,
                              gc_dac_finalizer_state state, gc__dac_finalizer_function f, void *context) {
    uint64_t words = gc__dac_member(dac, copy, list, GC__DAC_AT_words_words);
    uint64_t count = gc__dac_member(dac, copy, list, GC__DAC_AT_words_count);
    for (uint64_t i = head; i < count && count - i >= 2 && gc__dac_step(dac, 1); i += 2) {
        uint64_t pair[2];
        gc_dac_finalizer finalizer;
        if (!gc__dac_load(dac, words + 8 * i, pair, sizeof pair)) return false;
        if (!pair[0]) continue; /* it has ended */
        memset(&finalizer, 0, sizeof finalizer);
        finalizer.state = state;
        finalizer.object = pair[0];
        finalizer.finalizer = pair[1];
        finalizer.type = gc__dac_object_type_name(dac, copy, pair[0]);
        if (!f(context, &finalizer, words + 8 * i)) return false;
    }
    return true;
}

/* Those that run. Their objects are in variables of the finalizers. */
GC__DAC_FN bool gc__dac_finalizing(gc_dac *dac, const gc__dac_copy *copy, uint64_t first, gc__dac_finalizer_function f,
                                   void *context) {
    gc__dac_list list = gc__dac_list_begin(first);
    bool more = first != 0;
    while (more) {
        gc_dac_finalizer finalizer;
        memset(&finalizer, 0, sizeof finalizer);
        finalizer.state = GC_DAC_RUNNING;
        finalizer.type = gc__dac_text(dac, gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_type), "");
        finalizer.thread = gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_thread);
        finalizer.started_ns = gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_started_ns);
        if (!f(context, &finalizer, 0)) return false;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_next),
                                 "running finalizers");
    }
    return true;
}

/* Calls f for each finalizer until it returns false: first those that are due, whose objects are roots. */
GC__DAC_FN bool gc__dac_each_finalizer(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap,
                                       gc__dac_finalizer_function f, void *context) {
    uint64_t all = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_finalizers);
    uint64_t due = gc__dac_at(copy, all, GC__DAC_AT_finalizers_due), bytes = gc__dac_fact(copy, GC__DAC_FACT_DUE_BYTES);
    if (!all) return true;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t pairs = gc__dac_at(copy, due + i * bytes, GC__DAC_AT_due_pairs);
        uint64_t head = gc__dac_member(dac, copy, due + i * bytes, GC__DAC_AT_due_head);
        if (!gc__dac_pairs(dac, copy, pairs, head, i ? GC_DAC_DUE_CRITICAL : GC_DAC_DUE, f, context)) return false;
    }
    return gc__dac_finalizing(dac, copy, gc__dac_member(dac, copy, all, GC__DAC_AT_finalizers_running), f, context) &&
           gc__dac_pairs(dac, copy, gc__dac_at(copy, all, GC__DAC_AT_finalizers_registered), 0, GC_DAC_REGISTERED, f,
                         context);
}

typedef struct gc__dac_finalizer_walk {
    bool (*visit)(void *context, const gc_dac_finalizer *finalizer);
    void *context;
} gc__dac_finalizer_walk;

GC__DAC_FN bool gc__dac_finalizer_visit(void *context, const gc_dac_finalizer *finalizer, uint64_t slot) {
    const gc__dac_finalizer_walk *walk = (const gc__dac_finalizer_walk *)context;
    (void)slot;
    return walk->visit(walk->context, finalizer);
}

GC_DAC_API bool gc_dac_finalizers(gc_dac *dac, const gc_dac_heap *heap,
                                  bool (*visit)(void *context, const gc_dac_finalizer *finalizer), void *context) {
    gc__dac_finalizer_walk walk = {visit, context};
    const gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (copy) gc__dac_each_finalizer(dac, copy, heap->address, gc__dac_finalizer_visit, &walk);
    return gc__dac_end_names(dac);
}
/* Roots: what keeps objects alive. */


typedef struct gc__dac_root_walk {
    gc_dac *dac;
    gc__dac_copy *copy;
    uint64_t heap;
    bool (*visit)(void *context, const gc_dac_root *root);
    void *context;
    const gc_dac_thread *thread; /* whose roots are reported; NULL: nobody's */
    bool stopped;
} gc__dac_root_walk;

GC__DAC_FN gc_dac_root gc__dac_root_new(const gc__dac_root_walk *walk, gc_dac_root_kind kind) {
    gc_dac_root root;
    memset(&root, 0, sizeof root);
    root.kind = kind;
    root.certain = true;
    root.thread = walk->thread ? walk->thread->address : 0;
    root.thread_name = walk->thread ? walk->thread->name : "";
    root.function = root.file = root.variable = "";
    return root;
}

/* Reports the root if its word refers to the heap. False: the visitor wants no more. */
GC__DAC_FN bool gc__dac_root_report(gc__dac_root_walk *walk, gc_dac_root *root) {
    root->reference =
        root->value ? gc__dac_value(walk->dac, walk->copy, root->word) : gc__dac_reference(walk->copy, root->word);
    const gc__dac_place *place = root->reference ? gc__dac_place_of(walk->copy, root->reference) : NULL;
    if (!place || place->heap != walk->heap) return true;
    walk->stopped = !walk->visit(walk->context, root);
    return !walk->stopped;
}

/* The root is a word that may be anything: a plain reference, or else a value. */
GC__DAC_FN void gc__dac_root_guess(const gc__dac_copy *copy, gc_dac_root *root) {
    root->certain = false;
    root->interior = root->pinned = true;
    root->value = gc__dac_fact(copy, GC__DAC_FACT_HAS_VALUES) && !gc__dac_reference(copy, root->word);
}

/* What the flags say of the root, whose word is known. */
GC__DAC_FN void gc__dac_root_flags(const gc__dac_copy *copy, gc_dac_root *root, uint64_t flags) {
    root->interior = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_INTERIOR)) != 0;
    root->pinned = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_PINNED)) != 0;
    root->value = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_VALUE)) != 0;
    if (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_CONSERVATIVE)) gc__dac_root_guess(copy, root);
}

/* The distance of slots with these flags. */
GC__DAC_FN uint64_t gc__dac_slot_bytes(const gc__dac_copy *copy, uint64_t flags) {
    uint64_t bytes = gc__dac_fact(copy, GC__DAC_FACT_VALUE_BYTES);
    return bytes && flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_VALUE) ? bytes : 8;
}

/* The i-th of "list, cell". */
GC__DAC_FN const char *gc__dac_name_of(gc_dac *dac, const char *names, uint64_t i) {
    for (; i && *names; i--) {
        names += gc__name_bytes(names);
        names += *names == ',';
    }
    names += strspn(names, " ");
    return strchr(names, ',') ? gc__dac_format(dac, "%.*s", (int)gc__name_bytes(names), names) : names;
}

/* Words on a stack, or in registers, that may be references. */
GC__DAC_FN bool gc__dac_root_words(gc__dac_root_walk *walk, gc_dac_root_kind kind, uint64_t from, uint64_t end) {
    uint64_t chunk[512];
    from = (from + 7) & ~(uint64_t)7;
    if (end > from && end - from > GC__DAC_STACK_BYTES) end = from + GC__DAC_STACK_BYTES;
    while (from && end > from && end - from >= 8) {
        size_t bytes = end - from < sizeof chunk ? (size_t)(end - from) & ~(size_t)7 : sizeof chunk;
        size_t got = gc__dac_copy_memory(walk->dac, from, chunk, bytes) / 8;
        if (!gc__dac_step(walk->dac, got + 1)) return false;
        for (size_t i = 0; i < got; i++) {
            gc_dac_root root = gc__dac_root_new(walk, kind);
            root.slot = from + 8 * i;
            root.word = chunk[i];
            gc__dac_root_guess(walk->copy, &root);
            if (!gc__dac_root_report(walk, &root)) return false;
        }
        if (got * 8 < bytes)
            return gc__dac_fail(walk->dac, "the stack is not readable at 0x%llx: roots on it are left out%s",
                                (unsigned long long)(from + 8 * got), walk->dac->complaint);
        from += bytes;
    }
    return true;
}

GC__DAC_FN bool gc__dac_root_registers(gc__dac_root_walk *walk, gc_dac_root_kind kind, const uint64_t *words,
                                       unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        gc_dac_root root = gc__dac_root_new(walk, kind);
        root.word = words[i];
        root.index = i;
        gc__dac_root_guess(walk->copy, &root);
        if (!gc__dac_root_report(walk, &root)) return false;
    }
    return true;
}

/* The variables of a frame of GC_ROOTS. */
GC__DAC_FN bool gc__dac_frame_roots(gc__dac_root_walk *walk, const gc_dac_frame *frame, uint64_t site) {
    gc_dac *dac = walk->dac;
    const gc__dac_copy *copy = walk->copy;
    uint64_t flags = gc__dac_member32(dac, copy, site, GC__DAC_AT_site_flags);
    uint64_t slots = gc__dac_member(dac, copy, frame->address, GC__DAC_AT_frame_slots);
    bool array = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_CONTIGUOUS)) != 0;
    bool named = !array || strchr(frame->names, ','); /* each variable, not the array */
    uint64_t slot_bytes = array ? gc__dac_slot_bytes(copy, flags) : 8;
    bool derived = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_DERIVED)) != 0; /* what follows the base keeps nothing */
    for (uint64_t i = 0; i < (derived ? 1 : frame->count) && gc__dac_step(dac, 1); i++) {
        gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_FRAME);
        uint64_t entry = 0;
        if (!gc__dac_load(dac, slots + slot_bytes * i, &entry, sizeof entry)) return true;
        root.slot = array ? slots + slot_bytes * i : entry;
        root.word = array ? entry : gc__dac_u64(dac, entry);
        gc__dac_root_flags(copy, &root, flags);
        root.index = i;
        root.function = frame->function;
        root.file = frame->file;
        root.line = frame->line;
        if (!root.word) continue;
        root.variable = named ? gc__dac_name_of(dac, frame->names, i) : frame->names;
        if (!gc__dac_root_report(walk, &root)) return false;
    }
    return true;
}

/* A record of compiled code: its registers, and the stack from its stack pointer to where the next record or the stack ends.
   Which of these are references only stack maps could say. */
GC__DAC_FN bool gc__dac_code_roots(gc__dac_root_walk *walk, const gc_dac_frame *frame) {
    gc_dac *dac = walk->dac;
    const gc__dac_copy *copy = walk->copy;
    uint64_t words[GC_DAC_REGISTERS], count = gc__dac_fact(copy, GC__DAC_FACT_CODE_REGISTERS);
    uint64_t sp_number = gc__dac_fact(copy, GC__DAC_FACT_CODE_STACK_POINTER),
             known = gc__dac_member32(dac, copy, frame->address, GC__DAC_AT_code_known);
    if (!count || count > GC_DAC_REGISTERS || sp_number >= count) return true;
    if (!gc__dac_load(dac, gc__dac_at(copy, frame->address, GC__DAC_AT_code_registers), words, (size_t)count * 8))
        return true;
    uint64_t sp = words[sp_number], next = gc__dac_member(dac, copy, frame->address, GC__DAC_AT_code_previous);
    for (unsigned i = 0; i < count; i++)
        if (!(known >> i & 1)) words[i] = 0;
    words[sp_number] = 0;
    if (!next && frame->stack) next = gc__dac_member(dac, copy, frame->stack, GC__DAC_AT_stack_base);
    if (!next && !frame->stack && walk->thread) next = walk->thread->stack_base;
    if (!gc__dac_root_registers(walk, GC_DAC_ROOT_COMPILED, words, (unsigned)count)) return false;
    return next <= sp || gc__dac_root_words(walk, GC_DAC_ROOT_COMPILED, sp, next) || !walk->stopped;
}

GC__DAC_FN bool gc__dac_roots_of_frame(void *context, const gc_dac_frame *frame, uint64_t site) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    if (frame->kind == GC_DAC_FRAME_ROOTS) return gc__dac_frame_roots(walk, frame, site);
    return frame->kind != GC_DAC_FRAME_COMPILED || gc__dac_code_roots(walk, frame);
}

/* Registers that were saved at an address. */
GC__DAC_FN bool gc__dac_saved_roots(gc__dac_root_walk *walk, uint64_t address) {
    uint64_t saved[GC_DAC_REGISTERS], count = gc__dac_fact(walk->copy, GC__DAC_FACT_REGISTERS);
    if (!count || count > GC_DAC_REGISTERS || !gc__dac_load(walk->dac, address, saved, (size_t)count * 8)) return true;
    return gc__dac_root_registers(walk, GC_DAC_ROOT_STACK, saved, (unsigned)count);
}

/* What a conservative scan of a thread would find: registers, and the stack. */
GC__DAC_FN bool gc__dac_stack_roots(gc__dac_root_walk *walk, const gc_dac_thread *thread) {
    gc_dac_native native;
    if (!thread->stack_base || !thread->stack_pointer)
        return gc__dac_fail(walk->dac, "the native stack of the thread `%s` is a root, but its bounds are not known",
                            thread->name);
    if (thread->running) {
        gc__dac_native_find(walk->dac, thread->tid, &native);
        if (!gc__dac_root_registers(walk, GC_DAC_ROOT_STACK, native.registers, native.register_count)) return false;
    } else if (!gc__dac_saved_roots(walk, gc__dac_at(walk->copy, thread->address, GC__DAC_AT_thread_registers))) {
        return false;
    }
    return gc__dac_root_words(walk, GC_DAC_ROOT_STACK, thread->stack_pointer, thread->stack_base);
}

/* The native part of a stack that was left, and is scanned. */
GC__DAC_FN bool gc__dac_left_roots(gc__dac_root_walk *walk, uint64_t stack, bool conservative) {
    if (!conservative) return true;
    uint64_t base = gc__dac_member(walk->dac, walk->copy, stack, GC__DAC_AT_stack_base);
    uint64_t pointer = gc__dac_member(walk->dac, walk->copy, stack, GC__DAC_AT_stack_stack_pointer);
    if (!base || !pointer) return true;
    if (gc__dac_has(walk->copy, GC__DAC_AT_stack_registers) &&
        !gc__dac_saved_roots(walk, gc__dac_at(walk->copy, stack, GC__DAC_AT_stack_registers)))
        return false;
    return gc__dac_root_words(walk, GC_DAC_ROOT_STACK, pointer, base);
}

GC__DAC_FN bool gc__dac_roots_of_thread(void *context, const gc_dac_thread *thread) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    uint64_t left = gc__dac_left_stack(walk->dac, walk->copy, thread->address);
    if (thread->unbound) return true; /* the frames of such a record are no roots */
    walk->thread = thread;
    gc__dac_each_frame(walk->dac, walk->copy, thread, gc__dac_roots_of_frame, walk);
    if (!walk->stopped && thread->conservative) gc__dac_stack_roots(walk, thread);
    if (!walk->stopped && left)
        gc__dac_left_roots(walk, left, gc__dac_thread_is_conservative(walk->dac, walk->copy, thread->address));
    walk->thread = NULL;
    return !walk->stopped;
}

GC__DAC_FN bool gc__dac_roots_of_stack(void *context, uint64_t stack) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    gc__dac_each_left_frame(walk->dac, walk->copy, stack, gc__dac_roots_of_frame, walk);
    bool conservative = gc__dac_member8(walk->dac, walk->copy, stack, GC__DAC_AT_stack_conservative) != 0;
    if (!walk->stopped) gc__dac_left_roots(walk, stack, conservative);
    return !walk->stopped;
}

GC__DAC_FN bool gc__dac_root_of_handle(void *context, const gc_dac_handle *handle, uint64_t place) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    bool counted = handle->kind == gc__dac_fact(walk->copy, GC__DAC_FACT_HANDLE_REF_COUNTED);
    bool pinned = handle->kind == gc__dac_fact(walk->copy, GC__DAC_FACT_HANDLE_PINNED);
    if (!counted && !pinned && handle->kind != gc__dac_fact(walk->copy, GC__DAC_FACT_HANDLE_STRONG)) return true;
    gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_HANDLE);
    root.slot = place;
    root.word = handle->object;
    root.handle = handle->handle;
    root.handle_kind = handle->kind;
    root.handle_kind_name = handle->kind_name;
    root.pinned = pinned;
    root.certain = !counted;
    return gc__dac_root_report(walk, &root);
}

GC__DAC_FN bool gc__dac_root_of_finalizer(void *context, const gc_dac_finalizer *finalizer, uint64_t slot) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    if (finalizer->state == GC_DAC_REGISTERED) return false;
    gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_FINALIZER);
    root.slot = slot;
    root.word = finalizer->object;
    return gc__dac_root_report(walk, &root);
}

GC__DAC_FN void gc__dac_global_roots(gc__dac_root_walk *walk) {
    gc_dac *dac = walk->dac;
    uint64_t collector = gc__dac_member(dac, walk->copy, walk->heap, GC__DAC_AT_heap_collector);
    uint64_t list = gc__dac_at(walk->copy, collector, GC__DAC_AT_collector_globals);
    uint64_t words = gc__dac_member(dac, walk->copy, list, GC__DAC_AT_words_words);
    uint64_t count = gc__dac_member(dac, walk->copy, list, GC__DAC_AT_words_count);
    for (uint64_t i = 0; i < count && count - i >= 3 && gc__dac_step(dac, 1); i += 3) {
        uint64_t entry[3], word;
        if (!gc__dac_load(dac, words + 8 * i, entry, sizeof entry)) return;
        uint64_t slot_bytes = gc__dac_slot_bytes(walk->copy, entry[2]);
        for (uint64_t j = 0; j < entry[1] && gc__dac_step(dac, 1); j++) {
            gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_GLOBAL);
            if (!gc__dac_load(dac, entry[0] + slot_bytes * j, &word, sizeof word)) break;
            root.slot = entry[0] + slot_bytes * j;
            root.word = word;
            gc__dac_root_flags(walk->copy, &root, entry[2]);
            root.index = j;
            if (!gc__dac_root_report(walk, &root)) return;
        }
    }
}

/* A slot that scan_roots has reported: what it holds now, if it can be read. */
GC__DAC_FN bool gc__dac_scanned_root(gc__dac_root_walk *walk, uint64_t slot, bool value) {
    gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_SCANNED);
    if (gc__dac_copy_memory(walk->dac, slot, &root.word, sizeof root.word) < sizeof root.word) return true;
    root.slot = slot;
    root.value = value;
    root.certain = false;
    return gc__dac_root_report(walk, &root);
}

/* A stack of values that it has reported. The host may have freed it since. */
GC__DAC_FN bool gc__dac_scanned_stack(gc__dac_root_walk *walk, uint64_t stack) {
    gc_dac *dac = walk->dac;
    uint8_t record[32];
    if (!gc__dac_has(walk->copy, GC__DAC_AT_value_stack_flags) ||
        gc__dac_copy_memory(dac, stack, record, sizeof record) < sizeof record)
        return true;
    uint64_t base = gc__dac_member(dac, walk->copy, stack, GC__DAC_AT_value_stack_base);
    uint64_t top = gc__dac_member(dac, walk->copy, stack, GC__DAC_AT_value_stack_top);
    uint64_t bytes = gc__dac_member32(dac, walk->copy, stack, GC__DAC_AT_value_stack_entry_bytes);
    uint64_t flags = gc__dac_member32(dac, walk->copy, stack, GC__DAC_AT_value_stack_flags);
    bool value = (flags & gc__dac_fact(walk->copy, GC__DAC_FACT_SLOT_VALUE)) != 0;
    if (!bytes) bytes = gc__dac_slot_bytes(walk->copy, flags);
    for (uint64_t at = base, word; at < top && top - at >= 8 && !(base % 8) && !(bytes % 8); at += bytes) {
        if (gc__dac_copy_memory(dac, at, &word, sizeof word) < sizeof word) return true;
        if (!gc__dac_step(dac, 1) || !gc__dac_scanned_root(walk, at, value)) return false;
    }
    return true;
}

/* A list of the collector's. */
typedef struct gc__dac_words {
    uint64_t words, count;
} gc__dac_words;

GC__DAC_FN gc__dac_words gc__dac_words_of(gc__dac_root_walk *walk, unsigned member) {
    uint64_t cycle = gc__dac_member(walk->dac, walk->copy, walk->heap, GC__DAC_AT_heap_cycle);
    uint64_t list = gc__dac_at(walk->copy, cycle, member);
    gc__dac_words found = {gc__dac_member(walk->dac, walk->copy, list, GC__DAC_AT_words_words),
                           gc__dac_member(walk->dac, walk->copy, list, GC__DAC_AT_words_count)};
    return found;
}

/* The slots from one number to another in the list of roots. Those that were entries of stacks are left out, since what is in
   use of a stack is known. */
GC__DAC_FN bool gc__dac_scanned_slots(gc__dac_root_walk *walk, gc__dac_words roots, gc__dac_words *stacks,
                                      uint64_t from, uint64_t to) {
    uint64_t stack_words = gc__dac_fact(walk->copy, GC__DAC_FACT_STACK_WORDS);
    for (uint64_t i = from; i < to && i < roots.count;) {
        uint64_t of_stack[2] = {roots.count, roots.count}, slot;
        while (stacks->count >= stack_words) {
            if (!gc__dac_step(walk->dac, 1)) return false;
            if (!gc__dac_load(walk->dac, stacks->words + 8 * 3, of_stack, sizeof of_stack)) return false;
            if (of_stack[1] > i) break;
            stacks->words += 8 * stack_words;
            stacks->count -= stack_words;
        }
        for (; i < of_stack[0] && i < to && i < roots.count; i++)
            if (!gc__dac_step(walk->dac, 1) || !gc__dac_load(walk->dac, roots.words + 8 * i, &slot, sizeof slot) ||
                !gc__dac_scanned_root(walk, slot & ~(uint64_t)7, slot & 1))
                return false;
        if (stacks->count < stack_words) break;
        i = of_stack[1];
    }
    return true;
}

/* What scan_roots has reported to the last collection. */
GC__DAC_FN void gc__dac_scanned_roots(gc__dac_root_walk *walk) {
    uint64_t stack_words = gc__dac_fact(walk->copy, GC__DAC_FACT_STACK_WORDS);
    if (stack_words < 5 || !gc__dac_has(walk->copy, GC__DAC_AT_cycle_stacks)) return;
    gc__dac_words reported = gc__dac_words_of(walk, GC__DAC_AT_cycle_reported);
    gc__dac_words roots = gc__dac_words_of(walk, GC__DAC_AT_cycle_roots);
    gc__dac_words stacks = gc__dac_words_of(walk, GC__DAC_AT_cycle_stacks), rest = stacks;
    for (uint64_t i = 0; i < reported.count && reported.count - i >= 2; i += 2) {
        uint64_t pair[2];
        if (!gc__dac_step(walk->dac, 1) || !gc__dac_load(walk->dac, reported.words + 8 * i, pair, sizeof pair) ||
            !gc__dac_scanned_slots(walk, roots, &rest, pair[0], pair[1]))
            return;
    }
    for (uint64_t i = 0, stack; i < stacks.count && gc__dac_step(walk->dac, 1); i += stack_words)
        if (!gc__dac_load(walk->dac, stacks.words + 8 * i, &stack, sizeof stack) || !gc__dac_scanned_stack(walk, stack))
            return;
}

GC_DAC_API bool gc_dac_roots(gc_dac *dac, const gc_dac_heap *heap,
                             bool (*visit)(void *context, const gc_dac_root *root), void *context) {
    gc__dac_root_walk walk = {dac, gc__dac_copy_of(dac, heap), heap->address, visit, context, NULL, false};
    if (!walk.copy) return gc__dac_end(dac);
    gc__dac_each_thread(dac, walk.copy, heap->address, gc__dac_roots_of_thread, &walk);
    if (!walk.stopped) gc__dac_each_stack(dac, walk.copy, heap->address, gc__dac_roots_of_stack, &walk);
    if (!walk.stopped) gc__dac_global_roots(&walk);
    if (!walk.stopped) gc__dac_each_handle(dac, walk.copy, heap->address, gc__dac_root_of_handle, &walk);
    if (!walk.stopped) gc__dac_each_finalizer(dac, walk.copy, heap->address, gc__dac_root_of_finalizer, &walk);
    if (gc__dac_member(dac, walk.copy, heap->address, GC__DAC_AT_heap_scan_roots)) {
        if (!walk.stopped) gc__dac_scanned_roots(&walk);
        gc__dac_fail(
            dac, "this heap has a scan_roots callback, whose roots only the program knows: the slots that it reported "
                 "to the last collection are taken for perhaps roots, and what others keep looks lost. Roots of "
                 "gc_roots_add are seen");
    }
    return gc__dac_end_names(dac);
}
/* A live process as a target; and opening and closing readers. */


#define GC__DAC_KERNEL_REGISTERS 34

/* The order of the kernel: where the pc and the stack pointer are. The registers before `count` may hold references. */
GC__DAC_FN bool gc__dac_registers(unsigned machine, const uint64_t *words, unsigned count, gc_dac_native *native) {
    static const struct {
        unsigned machine, pc, sp, general;
    } orders[] = {{EM_X86_64, 16, 19, 15}, {EM_AARCH64, 32, 31, 31}, {GC__IMAGE_RISCV, 0, 2, 32}, {EM_S390, 1, 17, 18}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (machine != orders[i].machine || count <= orders[i].pc || count <= orders[i].sp) continue;
        native->pc = words[orders[i].pc];
        native->sp = words[orders[i].sp];
        native->register_count = orders[i].general;
        memcpy(native->registers, words, orders[i].general * sizeof *words);
        return true;
    }
    return false;
}

typedef struct gc__dac_mapped {
    uint64_t start, end, offset;
    char *path;
} gc__dac_mapped;

typedef struct gc__dac_process {
    int tid; /* of a thread that has its memory */
    gc__dac_stops stops;
    gc__dac_mapped *mappings;
    size_t count, room;
    uint64_t readable_bytes;
} gc__dac_process;

GC__DAC_FN size_t gc__dac_process_read(void *context, uint64_t address, void *to, size_t bytes) {
    return gc__dac_os_read(((const gc__dac_process *)context)->tid, address, to, bytes);
}

GC__DAC_FN bool gc__dac_process_mapping(void *context, size_t i, gc_dac_mapping *mapping) {
    const gc__dac_process *process = (const gc__dac_process *)context;
    if (i >= process->count) return false;
    mapping->start = process->mappings[i].start;
    mapping->end = process->mappings[i].end;
    mapping->file_offset = process->mappings[i].offset;
    mapping->path = process->mappings[i].path;
    return true;
}

GC__DAC_FN bool gc__dac_process_native(void *context, size_t i, gc_dac_native *native) {
    const gc__dac_process *process = (const gc__dac_process *)context;
    uint64_t words[GC__DAC_KERNEL_REGISTERS];
    memset(native, 0, sizeof *native);
    if (i >= process->stops.count) return false;
    native->tid = (uint64_t)process->stops.threads[i].tid;
    unsigned count = gc__dac_os_registers(process->stops.threads[i].tid, words, GC__DAC_KERNEL_REGISTERS);
    gc__dac_registers(GC__IMAGE_MACHINE, words, count, native);
    return true;
}

GC__DAC_FN void gc__dac_process_close(void *context) {
    gc__dac_process *process = (gc__dac_process *)context;
    gc__dac_os_resume(&process->stops);
    for (size_t i = 0; i < process->count; i++) free(process->mappings[i].path);
    free(process->mappings);
    free(process);
}

/* Takes in a line of /proc/PID/maps. */
GC__DAC_FN bool gc__dac_process_line(gc__dac_process *process, const char *line) {
    unsigned long long start, end, offset;
    char access[8];
    int at = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, access, &offset, &at) < 4) return true;
    if (process->count == process->room) {
        size_t room = process->room ? 2 * process->room : 64;
        void *mappings = realloc(process->mappings, room * sizeof *process->mappings);
        if (!mappings) return false;
        process->mappings = (gc__dac_mapped *)mappings;
        process->room = room;
    }
    gc__dac_mapped *mapping = &process->mappings[process->count];
    size_t length = at ? strcspn(line + at, "\n") : 0;
    mapping->start = start, mapping->end = end, mapping->offset = offset;
    mapping->path = (char *)malloc(length + 1);
    if (!mapping->path) return false;
    memcpy(mapping->path, line + at, length);
    mapping->path[length] = 0;
    process->count++;
    if (access[0] == 'r') process->readable_bytes += end - start;
    return true;
}

/* NULL, or why the mappings cannot be read. */
GC__DAC_FN const char *gc__dac_process_maps(gc__dac_process *process) {
    char name[64], line[5000];
    snprintf(name, sizeof name, "/proc/%d/maps", process->tid);
    FILE *file = fopen(name, "re");
    if (!file) return errno == ENOENT ? "there is no such process, or no /proc" : strerror(errno);
    bool memory = true;
    while (memory && fgets(line, sizeof line, file)) memory = gc__dac_process_line(process, line);
    fclose(file);
    if (!memory) return "there is no memory for the list of its mappings";
    return process->count ? NULL : "it has ended, or is not one that can be read";
}

/* An address that is readable: an ELF header's. */
GC__DAC_FN uint64_t gc__dac_process_probe(const gc__dac_process *process) {
    for (size_t i = 0; i < process->count; i++)
        if (process->mappings[i].path[0] == '/' && process->mappings[i].offset == 0) return process->mappings[i].start;
    return process->mappings[0].start;
}

/* A reader that is not open yet. NULL: no memory. */
GC__DAC_FN gc_dac *gc__dac_new(uint64_t target_bytes, uint64_t budget_bytes) {
    gc_dac *dac = (gc_dac *)calloc(1, sizeof *dac);
    if (!dac) return NULL;
    dac->target_bytes = target_bytes;
    dac->budget_bytes = budget_bytes;
    return dac;
}

/* From now on every call fails, and says why. */
GC__DAC_FN void gc__dac_reject(gc_dac *dac, const char *reason) {
    dac->rejected = reason;
    dac->depth = 1;
    gc__dac_this_call(dac)->message[0] = 0;
    gc__dac_fail(dac, "%s", reason);
    dac->depth = 0;
}

/* Looks for collectors. */
GC__DAC_FN gc_dac *gc__dac_opened(gc_dac *dac) {
    gc__dac_copies_find(dac);
    const char *fault = gc__dac_copies_fault(dac);
    if (fault) gc__dac_reject(dac, fault);
    return dac;
}

#define GC__DAC_BUDGET_BYTES ((uint64_t)4 << 30) /* for a target of unknown size */

GC_DAC_API gc_dac *gc_dac_open(const gc_dac_target *target) {
    gc_dac *dac = gc__dac_new((uint64_t)1 << 40, GC__DAC_BUDGET_BYTES);
    if (!dac) return NULL;
    dac->target = *target;
    return gc__dac_opened(dac);
}

GC_DAC_API gc_dac *gc_dac_open_process(int pid, unsigned flags) {
    gc_dac *dac = gc__dac_new(0, GC__DAC_BUDGET_BYTES);
    gc__dac_process *process = dac ? (gc__dac_process *)calloc(1, sizeof *process) : NULL;
    if (!process) {
        free(dac);
        return NULL;
    }
    gc_dac_target target = {
        process, gc__dac_process_read, NULL, gc__dac_process_mapping, gc__dac_process_native, gc__dac_process_close};
    dac->target = target;
    dac->moving = !(flags & GC_DAC_STOP);
    const char *fault = flags & GC_DAC_STOP ? gc__dac_os_stop(pid, &process->stops) : NULL;
    const char *step = fault ? "cannot be stopped" : "cannot be read";
    process->tid = gc__dac_os_living(pid);
    if (!fault) fault = gc__dac_process_maps(process);
    if (!fault) fault = gc__dac_os_refusal(process->tid, gc__dac_process_probe(process));
    dac->target_bytes = process->readable_bytes;
    if (!fault) return gc__dac_opened(dac);
    gc__dac_reject(dac, gc__dac_format(dac, "process %d %s: %s", pid, step, fault));
    return dac;
}

GC_DAC_API void gc_dac_close(gc_dac *dac) {
    if (!dac) return;
    if (dac->target.close) dac->target.close(dac->target.context);
    for (size_t i = 0; i < dac->copy_count; i++) gc__dac_places_free(dac, &dac->copies[i]);
    free(dac->copies);
    gc__dac_map_free(dac, &dac->types);
    gc__dac_map_free(dac, &dac->texts);
    while (dac->chunks) {
        gc__dac_chunk *chunk = dac->chunks;
        dac->chunks = chunk->next;
        free(chunk);
    }
    free(dac->blocks);
    free(dac->block_tags);
    free(dac->object);
    free(dac);
}

GC_DAC_API void gc_dac_set_host(gc_dac *dac, const gc_dac_host *host) { dac->host = *host; }

GC_DAC_API size_t gc_dac_read(gc_dac *dac, uint64_t address, void *to, size_t bytes) {
    size_t done = gc__dac_begin(dac) ? gc__dac_copy_memory(dac, address, to, bytes) : 0;
    gc__dac_end(dac);
    return done;
}

GC_DAC_API bool gc_dac_read_text(gc_dac *dac, uint64_t address, char *text, size_t room) {
    if (room) text[0] = 0;
    if (gc__dac_begin(dac) && (!room || !gc__dac_fetch_text(dac, address, text, room)))
        gc__dac_fail(dac, "there is no readable text at 0x%llx", (unsigned long long)address);
    return gc__dac_end(dac);
}
/* An ELF core file as a target. What it lacks of the program's files is read from these, once they have been compared. */


#define GC__DAC_PAGE ((uint64_t)4096) /* the first page of a program's file, which cores have */

/* Memory that the core has: bytes of its file. */
typedef struct gc__dac_segment {
    uint64_t start, end, offset;
} gc__dac_segment;

/* A file of the program. Several mappings may be of one. */
typedef struct gc__dac_image {
    char *path;
    gc__image file;
    bool tried, usable;
} gc__dac_image;

typedef struct gc__dac_part {
    uint64_t start, end, offset;
    size_t image;
} gc__dac_part;

#define GC__DAC_REACHED_MAX ((size_t)64 << 20)

typedef struct gc__dac_core {
    gc_dac *dac;
    gc__image file;
    bool is_on_disk; /* the bytes are those of a file */
    size_t reached;  /* bytes that were looked at since its pages were let go */
    const char *root;
    unsigned machine;
    gc__dac_segment *segments;
    size_t segment_count;
    gc__dac_part *parts; /* of NT_FILE, ascending */
    size_t part_count;
    gc__dac_image *images;
    size_t image_count;
    gc_dac_native *natives;
    size_t native_count, native_room;
} gc__dac_core;

/* The segment that has the address; NULL: none. */
GC__DAC_FN const gc__dac_segment *gc__dac_segment_of(const gc__dac_core *core, uint64_t address) {
    size_t low = 0, high = core->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->segments[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < core->segment_count && core->segments[low].start <= address ? &core->segments[low] : NULL;
}

GC__DAC_FN const gc__dac_part *gc__dac_part_of(const gc__dac_core *core, uint64_t address) {
    size_t low = 0, high = core->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->parts[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < core->part_count && core->parts[low].start <= address ? &core->parts[low] : NULL;
}

/* Whether the file is the one that the program had. The core has its first page, or else nothing can be compared. */
GC__DAC_FN const char *gc__dac_image_fault(const gc__dac_core *core, size_t number) {
    const gc__image *file = &core->images[number].file;
    for (size_t i = 0; i < core->part_count; i++) {
        const gc__dac_part *part = &core->parts[i];
        if (part->image != number || part->offset) continue;
        const gc__dac_segment *segment = gc__dac_segment_of(core, part->start);
        if (!segment || segment->end - part->start < GC__DAC_PAGE) continue;
        const uint8_t *page = core->file.bytes + segment->offset + (part->start - segment->start);
        size_t bytes = file->size < GC__DAC_PAGE ? file->size : (size_t)GC__DAC_PAGE, mine = 0, its = 0;
        if (memcmp(page, file->bytes, bytes) == 0) return NULL;
        gc__image start = {page, (size_t)GC__DAC_PAGE};
        const uint8_t *a = gc__image_build_id(&start, &mine), *b = gc__image_build_id(file, &its);
        if (a && b && mine == its && memcmp(a, b, mine) == 0) return NULL;
        return a && b ? "its build id is another one: it was built anew since" : "its first page is another one";
    }
    return "the core does not have its first page, so nothing shows that it is the same file";
}

/* Opens the image when it is first needed. NULL: it is not usable; the reader's complaint says why. */
GC__DAC_FN const gc__image *gc__dac_image_use(gc__dac_core *core, size_t number) {
    gc__dac_image *image = &core->images[number];
    if (image->tried) return image->usable ? &image->file : NULL;
    image->tried = true;
    if (image->path[0] != '/') return NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s%s", core->root ? core->root : "", image->path);
    size_t length = strlen(path), suffix = sizeof " (deleted)" - 1;
    if (length > suffix && strcmp(path + length - suffix, " (deleted)") == 0) path[length - suffix] = 0;
    const char *fault = gc__image_map(path, &image->file);
    if (!fault) fault = gc__dac_image_fault(core, number);
    image->usable = !fault;
    if (fault && !core->dac->complaint[0])
        snprintf(core->dac->complaint, sizeof core->dac->complaint,
                 "; %.600s, which has what the core lacks, cannot be used: %s", path, fault);
    return fault ? NULL : &image->file;
}

GC__DAC_FN const void *gc__dac_core_at(void *context, uint64_t address, size_t bytes) {
    gc__dac_core *core = (gc__dac_core *)context;
    const gc__dac_segment *segment = gc__dac_segment_of(core, address);
    if (segment) {
        core->reached += bytes;
        if (core->is_on_disk && core->reached > GC__DAC_REACHED_MAX) {
            gc__dac_os_let_go(&core->file);
            core->reached = 0;
        }
        return segment->end - address >= bytes ? core->file.bytes + segment->offset + (address - segment->start) : NULL;
    }
    const gc__dac_part *part = gc__dac_part_of(core, address);
    if (!part || part->end - address < bytes) return NULL;
    /* The segment may begin within the part: what was written of it. */
    const gc__image *file = gc__dac_image_use(core, part->image);
    uint64_t offset = part->offset + (address - part->start);
    if (!file || offset > file->size || file->size - offset < bytes) return NULL;
    for (uint64_t at = address; at - address < bytes; at += GC__DAC_PAGE)
        if (gc__dac_segment_of(core, at)) return NULL;
    return file->bytes + offset;
}

GC__DAC_FN size_t gc__dac_core_read(void *context, uint64_t address, void *to, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        uint64_t at = address + done, page = GC__DAC_PAGE - at % GC__DAC_PAGE;
        gc__dac_core *core = (gc__dac_core *)context;
        const gc__dac_segment *segment = gc__dac_segment_of(core, at);
        uint64_t part = segment ? segment->end - at : page;
        if (part > bytes - done) part = bytes - done;
        const void *from = gc__dac_core_at(context, at, (size_t)part);
        if (!from) break;
        memcpy((char *)to + done, from, (size_t)part);
        done += (size_t)part;
    }
    return done;
}

GC__DAC_FN bool gc__dac_core_mapping(void *context, size_t i, gc_dac_mapping *mapping) {
    const gc__dac_core *core = (const gc__dac_core *)context;
    if (i >= core->part_count) return false;
    mapping->start = core->parts[i].start;
    mapping->end = core->parts[i].end;
    mapping->file_offset = core->parts[i].offset;
    mapping->path = core->images[core->parts[i].image].path;
    return true;
}

GC__DAC_FN bool gc__dac_core_native(void *context, size_t i, gc_dac_native *native) {
    const gc__dac_core *core = (const gc__dac_core *)context;
    if (i >= core->native_count) return false;
    *native = core->natives[i];
    return true;
}

GC__DAC_FN void gc__dac_core_close(void *context) {
    gc__dac_core *core = (gc__dac_core *)context;
    for (size_t i = 0; i < core->image_count; i++) gc__image_unmap(&core->images[i].file);
    gc__image_unmap(&core->file);
    free(core->segments);
    free(core->parts);
    free(core->images);
    free(core->natives);
    free((char *)(uintptr_t)core->root);
    free(core);
}

GC__DAC_FN uint64_t gc__dac_core_u64(const gc__dac_core *core, uint64_t offset) {
    uint64_t word;
    memcpy(&word, core->file.bytes + offset, sizeof word);
    return word;
}

/* Reads the registers of a thread. */
GC__DAC_FN void gc__dac_core_prstatus(gc__dac_core *core, uint64_t at, uint64_t bytes) {
    uint64_t words[GC__DAC_KERNEL_REGISTERS];
    uint32_t tid;
    if (bytes < 112 + 8) return;
    if (core->native_count == core->native_room) {
        size_t room = core->native_room ? 2 * core->native_room : 16;
        void *natives = realloc(core->natives, room * sizeof *core->natives);
        if (!natives) return;
        core->natives = (gc_dac_native *)natives;
        core->native_room = room;
    }
    uint64_t count = (bytes - 112) / 8;
    if (count > GC__DAC_KERNEL_REGISTERS) count = GC__DAC_KERNEL_REGISTERS;
    memcpy(words, core->file.bytes + at + 112, (size_t)count * 8);
    memcpy(&tid, core->file.bytes + at + 32, sizeof tid);
    gc_dac_native *native = &core->natives[core->native_count];
    memset(native, 0, sizeof *native);
    native->tid = tid;
    if (gc__dac_registers(core->machine, words, (unsigned)count, native)) core->native_count++;
}

/* Reads the list of mapped files. The unit of its offsets differs: the kernel counts pages, gcore bytes. */
GC__DAC_FN const char *gc__dac_core_files(gc__dac_core *core, uint64_t at, uint64_t bytes) {
    if (core->parts || bytes < 16) return NULL;
    uint64_t count = gc__dac_core_u64(core, at), unit = gc__dac_core_u64(core, at + 8);
    if (count > (bytes - 16) / 24) return "its list of files is damaged";
    const char *path = (const char *)core->file.bytes + at + 16 + count * 24;
    const char *end = (const char *)core->file.bytes + at + bytes;
    core->parts = (gc__dac_part *)calloc((size_t)count + 1, sizeof *core->parts);
    core->images = (gc__dac_image *)calloc((size_t)count + 1, sizeof *core->images);
    if (!core->parts || !core->images) return "the system gives no memory to the reader";
    for (uint64_t i = 0; i < count && path < end; i++) {
        const char *zero = (const char *)memchr(path, 0, (size_t)(end - path));
        if (!zero) return "its list of files is damaged";
        gc__dac_part *part = &core->parts[core->part_count];
        part->start = gc__dac_core_u64(core, at + 16 + i * 24);
        part->end = gc__dac_core_u64(core, at + 24 + i * 24);
        part->offset = gc__dac_core_u64(core, at + 32 + i * 24) * unit;
        if (part->start >= part->end || (core->part_count && part->start < part[-1].end))
            return "its list of files is damaged";
        /* Mappings of one file follow one another. */
        if (!core->image_count || strcmp(core->images[core->image_count - 1].path, path) != 0)
            core->images[core->image_count++].path = (char *)(uintptr_t)path;
        part->image = core->image_count - 1;
        core->part_count++;
        path = zero + 1;
    }
    return NULL;
}

GC__DAC_FN const char *gc__dac_core_notes(gc__dac_core *core, uint64_t at, uint64_t end) {
    Elf64_Nhdr note;
    const char *fault = NULL;
    while (!fault && at < end && end - at >= sizeof note) {
        memcpy(&note, core->file.bytes + at, sizeof note);
        uint64_t name = at + sizeof note, contents = name + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
        if (contents > end || note.n_descsz > end - contents) return NULL;
        if (note.n_namesz == 5 && memcmp(core->file.bytes + name, "CORE", 5) == 0) {
            if (note.n_type == NT_PRSTATUS) gc__dac_core_prstatus(core, contents, note.n_descsz);
            if (note.n_type == NT_FILE) fault = gc__dac_core_files(core, contents, note.n_descsz);
        }
        at = contents + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
    }
    return fault;
}

GC__DAC_FN int gc__dac_segment_order(const void *a, const void *b) {
    uint64_t left = ((const gc__dac_segment *)a)->start, right = ((const gc__dac_segment *)b)->start;
    return (left > right) - (left < right);
}

/* Reads the program headers. */
GC__DAC_FN const char *gc__dac_core_headers(gc__dac_core *core, const Elf64_Ehdr *header, uint64_t count) {
    uint64_t total = 0;
    const uint64_t size = core->file.size;
    if (header->e_phoff > size || count > (size - header->e_phoff) / sizeof(Elf64_Phdr))
        return "it is cut off, or damaged";
    core->segments = (gc__dac_segment *)calloc((size_t)count + 1, sizeof *core->segments);
    if (!core->segments) return "the system gives no memory to the reader";
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr part;
        memcpy(&part, core->file.bytes + header->e_phoff + i * sizeof part, sizeof part);
        bool cut = part.p_offset > size || part.p_filesz > size - part.p_offset;
        if (cut && part.p_filesz && !core->dac->complaint[0])
            snprintf(core->dac->complaint, sizeof core->dac->complaint, "; the core is cut off: raise `ulimit -c`");
        if (cut) part.p_filesz = part.p_offset > size ? 0 : size - part.p_offset;
        if (part.p_type == PT_NOTE) {
            const char *fault = gc__dac_core_notes(core, part.p_offset, part.p_offset + part.p_filesz);
            if (fault) return fault;
        }
        if (part.p_type != PT_LOAD || !part.p_filesz || part.p_filesz > part.p_memsz) continue;
        gc__dac_segment segment = {part.p_vaddr, part.p_vaddr + part.p_filesz, part.p_offset};
        total += part.p_filesz;
        if (segment.end < segment.start || total > size) return "its segments overlap: it is damaged";
        core->segments[core->segment_count++] = segment;
    }
    qsort(core->segments, core->segment_count, sizeof *core->segments, gc__dac_segment_order);
    for (size_t i = 1; i < core->segment_count; i++)
        if (core->segments[i].start < core->segments[i - 1].end) return "its segments overlap: it is damaged";
    return NULL;
}

/* What the file is, if it is no core. */
GC__DAC_FN const char *gc__dac_core_kind(const gc__image *file) {
    static const struct {
        const char magic[7], *kind;
    } known[] = {{"\x28\xB5\x2F\xFD", "it is compressed by zstd: unpack it by `zstd -d`, or `coredumpctl dump`"},
                 {"\x04\x22\x4D\x18", "it is compressed by lz4: unpack it by `lz4 -d`, or `coredumpctl dump`"},
                 {"\xFD"
                  "7zXZ",
                  "it is compressed by xz: unpack it by `xz -d`, or `coredumpctl dump`"},
                 {"\x1F\x8B", "it is compressed by gzip: unpack it by `gzip -d`"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].magic);
        if (file->size >= length && memcmp(file->bytes, known[i].magic, length) == 0) return known[i].kind;
    }
    return "it is no ELF file";
}

/* NULL, or why the file cannot be read as a core. */
GC__DAC_FN const char *gc__dac_core_parse(gc__dac_core *core) {
    Elf64_Ehdr header;
    if (core->file.size < sizeof header || memcmp(core->file.bytes, ELFMAG, SELFMAG) != 0)
        return gc__dac_core_kind(&core->file);
    memcpy(&header, core->file.bytes, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != GC__IMAGE_ORDER)
        return "it is of a program that is not 64-bit, or has another order of bytes than this one";
    if (header.e_type != ET_CORE) return "it is an ELF file, but no core";
    if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64 && header.e_machine != GC__IMAGE_MACHINE)
        return "it is of a processor that gc.h does not know";
    if (header.e_phentsize != sizeof(Elf64_Phdr)) return "it is damaged";
    core->machine = header.e_machine;
    uint64_t count = header.e_phnum;
    if (count == PN_XNUM) {
        Elf64_Shdr first;
        if (header.e_shoff > core->file.size || core->file.size - header.e_shoff < sizeof first)
            return "it is cut off, or damaged";
        memcpy(&first, core->file.bytes + header.e_shoff, sizeof first);
        count = first.sh_info;
    }
    return gc__dac_core_headers(core, &header, count);
}

/* Makes the mapped file the reader's target; closes it in the end. `root` is copied. */
GC__DAC_FN const char *gc__dac_core_use(gc_dac *dac, gc__dac_core *core, const char *root) {
    gc_dac_target target = {
        core, gc__dac_core_read, gc__dac_core_at, gc__dac_core_mapping, gc__dac_core_native, gc__dac_core_close};
    char *copied = root ? (char *)malloc(strlen(root) + 1) : NULL;
    if (copied) strcpy(copied, root);
    core->root = copied;
    core->dac = dac;
    dac->target = target;
    dac->target_bytes = core->file.size;
    dac->budget_bytes = ((uint64_t)64 << 20) + 2 * core->file.size;
    return root && !copied ? "the system gives no memory to the reader" : gc__dac_core_parse(core);
}

GC_DAC_API gc_dac *gc_dac_open_core(const char *path, const char *root) {
    gc_dac *dac = gc__dac_new(0, GC__DAC_BUDGET_BYTES);
    gc__dac_core *core = dac ? (gc__dac_core *)calloc(1, sizeof *core) : NULL;
    if (!core) {
        free(dac);
        return NULL;
    }
    const char *fault = gc__image_map(path, &core->file);
    core->is_on_disk = !fault;
    const char *refused = gc__dac_core_use(dac, core, root);
    if (!fault) fault = refused;
    if (!fault) return gc__dac_opened(dac);
    gc__dac_reject(dac, gc__dac_format(dac, "the core file %.500s: %s", path, fault));
    return dac;
}
#endif

GC__STYLE_END
