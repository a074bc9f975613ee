/* GcDacVars: how a collector describes itself to readers in other processes, which need no headers of it.

   The note ".note.gc.h" of a program or library (owner "gc.h", type 1) contains one signed number of 8 bytes, which added to its
   own address gives that of the record. So it is found without symbols, in a stripped file as well as in a core file. The record
   is in written memory, which core files have.

   Version rules: a reader rejects another major version. It accepts any minor version: entries are only ever appended to the
   lists below, and a reader uses none that a record does not have. */
#pragma once

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
