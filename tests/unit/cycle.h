/* For tests that end concurrent cycles themselves, at a point of their choice; `heap` is theirs. */
#pragma once

static inline void begin_marking(void) { gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING); }

static inline void collect_as(gc__request request) {
    gc__heap_lock(heap);
    gc__collect_requested(heap, &request);
    gc__heap_unlock(heap);
}
static inline void finish(void) { collect_as(gc__request_mark_end(heap, GC_REASON_GROWTH, GC_DEGENERATED_REQUEST)); }

/* The remark, or the end, whichever is due. */
static inline void remark(void) { collect_as(gc__request_when_done(heap, GC_REASON_GROWTH)); }
