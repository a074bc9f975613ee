/* The backend of the Boehm-Demers-Weiser collector. It scans the stack, so roots need no declaration. */
#pragma once

#include "histogram.h"

#include <gc/gc.h>

#define MM_NAME "bdwgc"
#define MM_MANUAL 0
#define MM_HEADER
#define MM_HEADER_WORDS 0
#define MM_TYPE(T, ...) _Static_assert(sizeof(T) > 0, "")
#define MM_NEW(mm, T) ((void)(mm), (T *)GC_MALLOC(sizeof(T)))
#define MM_CLEAR(slot) ((void)(slot))
#define MM_STORE(mm, slot, ref) ((void)(mm), (void)(*(slot) = (ref)))
#define MM_ROOTS(mm, ...) ((void)(mm))
#define MM_ROOT_ARRAY(mm, first, n) ((void)(mm))

typedef struct mm mm;
typedef void *mm_refs;
typedef unsigned char mm_bytes;

static inline mm_refs *mm_new_refs(mm *mm, size_t n) {
    (void)mm;
    return GC_MALLOC(n * sizeof(void *));
}

static inline mm_bytes *mm_new_bytes(mm *mm, size_t n) {
    (void)mm;
    return GC_MALLOC_ATOMIC(n);
}

static inline void **mm_refs_at(mm_refs *refs) { return refs; }
static inline void *mm_bytes_at(mm_bytes *bytes) { return bytes; }
static inline void mm_free(mm *mm, void *object) { (void)mm, (void)object; }

static inline void *GC_CALLBACK mm_out_of_memory(size_t bytes) {
    (void)bytes;
    mm_exhausted("bdwgc is out of memory");
}

static inline histogram *mm_pauses(void) {
    static histogram pauses;
    return &pauses;
}

static inline void GC_CALLBACK mm_on_collection(GC_EventType event) {
    static uint64_t start_ns;
    if (event == GC_EVENT_START) start_ns = clock_ns();
    if (event == GC_EVENT_END) histogram_add(mm_pauses(), clock_ns() - start_ns);
}

static inline mm *mm_open(const mm_options *options) {
    GC_INIT();
    GC_set_oom_fn(mm_out_of_memory);
    GC_set_on_collection_event(mm_on_collection);
    if (options->heap_bytes_max) GC_set_max_heap_size(options->heap_bytes_max);
    return NULL;
}

static inline void mm_close(mm *mm, const mm_options *options, mm_report *report) {
    (void)mm, (void)options;
    const histogram *pauses = mm_pauses();
    report->generations = 1;
    report->collections[0] = GC_get_gc_no();
    report->pause_total_s = (double)pauses->total / 1e9;
    report->pause_max_s = (double)pauses->max / 1e9;
    report->pause_p999_s = (double)histogram_percentile(pauses, 0.999) / 1e9;
}
