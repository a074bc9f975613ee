/* The backend of gc.h, with profiles: GC_PROFILE=FILE takes one. */
#pragma once

#include "gc_profile.h"
#include "histogram.h"

#include <stdlib.h>
#include <string.h>

#define MM_NAME "gc.h"
#define MM_MANUAL 0
#define MM_HEADER gc_object header;
#define MM_HEADER_WORDS 1
#define MM_TYPE(T, ...) static const gc_type T##_type = GC_TYPE(T, __VA_ARGS__)
#define MM_NEW(mm, T) ((T *)gc_new(mm, &T##_type))
#define MM_CLEAR(slot) ((void)(slot))
#define MM_STORE(mm, slot, ref) gc_store(mm, slot, ref)
#define MM_ROOTS GC_ROOTS
#define MM_ROOT_ARRAY(mm, first, n) GC_ROOTS_ARRAY(mm, first, n, 0)

typedef gc_thread mm;

typedef struct mm_refs {
    gc_array header;
    void *at[];
} mm_refs;

typedef struct mm_bytes {
    gc_array header;
    unsigned char at[];
} mm_bytes;

static const gc_type mm_refs_type = GC_TYPE_ARRAY(mm_refs, at);
static const gc_type mm_bytes_type = GC_TYPE_ARRAY_LEAF(mm_bytes, at);

/* The out_of_memory hook does not see what could never fit. */
static inline void *mm_checked(void *array) {
    if (!array) mm_exhausted(gc_last_message());
    return array;
}

static inline mm_refs *mm_new_refs(mm *mm, size_t n) { return mm_checked(gc_new_array(mm, &mm_refs_type, n)); }
static inline void **mm_refs_at(mm_refs *refs) { return refs->at; }
static inline mm_bytes *mm_new_bytes(mm *mm, size_t n) { return mm_checked(gc_new_with(mm, &mm_bytes_type, n, GC_NEW_RAW)); }
static inline void *mm_bytes_at(mm_bytes *bytes) { return bytes->at; }
static inline void mm_free(mm *mm, void *object) { (void)mm, (void)object; }

static inline bool mm_out_of_memory(void *host, size_t bytes, const char *message) {
    (void)host, (void)bytes;
    mm_exhausted(message);
}

typedef struct mm_seen {
    histogram pauses;
    uint64_t live_peak_bytes;
} mm_seen;

static inline void mm_collection_end(void *host, const gc_collection *collection) {
    mm_seen *seen = host;
    histogram_add(&seen->pauses, collection->pause_ns);
    bool full = collection->generation == GC_GENERATIONS - 1;
    if (full && collection->promoted_bytes > seen->live_peak_bytes) seen->live_peak_bytes = collection->promoted_bytes;
}

static inline mm *mm_open(const mm_options *options) {
    static mm_seen seen;
    gc_heap *heap = gc_heap_create(&(gc_options){.nursery_bytes = options->nursery_bytes,
                                                 .heap_bytes_max = options->heap_bytes_max,
                                                 .growth_percent = (unsigned)options->growth_percent,
                                                 .collector_threads = (unsigned)options->collector_threads,
                                                 .pause_goal_us = (unsigned)options->pause_goal_us,
                                                 .concurrent = options->concurrent ? GC_CONCURRENT_ON : GC_CONCURRENT_OFF,
                                                 .non_moving = options->non_moving,
                                                 .non_generational = options->non_generational,
                                                 .conservative_stack = options->conservative_stack,
                                                 .keep_memory = options->keep_memory,
                                                 .heap_bytes_soft = options->heap_bytes_soft,
                                                 .growth_bytes_min = options->growth_bytes_min,
                                                 .overhead_percent_max = (unsigned)options->overhead_percent_max,
                                                 .trace_functions = (gc_trace_functions)options->trace_functions,
                                                 .out_of_memory = mm_out_of_memory,
                                                 .collection_end = mm_collection_end,
                                                 .host = &seen});
    mm *mm = heap ? gc_thread_attach(heap) : NULL;
    if (!mm) mm_exhausted(gc_last_message());
    return mm;
}

static inline void mm_close(mm *mm, const mm_options *options, mm_report *report) {
    gc_heap *heap = gc_thread_heap(mm);
    const mm_seen *seen = gc_heap_host(heap);
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    if (getenv("WORKLOADS_STATS")) gc_heap_print_stats(heap, stderr);
    if (options->print_pauses) gc_heap_print_pauses(heap, stderr);
    memcpy(report->utilisation, stats.utilisation, sizeof stats.utilisation);
    report->generations = GC_GENERATIONS;
    for (int i = 0; i < GC_GENERATIONS; i++) report->collections[i] = stats.collections[i];
    report->pause_total_s = (double)stats.pause_total_ns / 1e9;
    report->pause_max_s = (double)stats.pause_max_ns / 1e9;
    report->pause_p999_s = (double)histogram_percentile(&seen->pauses, 0.999) / 1e9;
    report->live_peak_bytes = seen->live_peak_bytes;
    gc_heap_destroy(heap);
}
