/* The runtime's sink knows each event by its number there, adds what it knows itself, and drops what nobody listens to. What is
   not cheap to say is said only if somebody listens. */
#include "events.h"

#include "diagnose.h"
#include "handle.h"
#include "heap.h"
#include "settings.h"

enum { KEYWORD_COLLECTIONS = 1, KEYWORD_HANDLES = 2, KEYWORD_SURVIVORS = 0x400000, LEVEL_INFORMATIONAL = 4, LEVEL_VERBOSE = 5 };
/* A tick for each so many bytes of a kind, as with the runtime's own collector. */
enum { TICK_BYTES = 100 << 10 };

static int32_t keywords, level;

static bool wanted(int32_t keyword, int32_t of_level) {
    return __atomic_load_n(&keywords, __ATOMIC_RELAXED) & keyword && __atomic_load_n(&level, __ATOMIC_RELAXED) >= of_level;
}

void events_control(int32_t new_keywords, int32_t new_level) {
    __atomic_store_n(&keywords, new_keywords, __ATOMIC_RELAXED);
    __atomic_store_n(&level, new_level, __ATOMIC_RELAXED);
}

#define FIRE(number, ...) ((void (*)(interface *, __VA_ARGS__))runtime_event_sink()->slots[number])

enum { REASON_SMALL, REASON_INDUCED, REASON_NO_SPACE = 5, REASON_STRESS = 8 };
static uint32_t reason_of(gc_reason reason) {
    switch (reason) {
    case GC_REASON_INDUCED: return REASON_INDUCED;
    case GC_REASON_LIMIT: return REASON_NO_SPACE;
    case GC_REASON_STRESS: return REASON_STRESS;
    default: return REASON_SMALL;
    }
}

static void fire_pinned(uintptr_t *handle, uintptr_t extra, handle_type type, void *context) {
    (void)extra, (void)type, (void)context;
    FIRE(15, uintptr_t, uintptr_t *)(runtime_event_sink(), *handle, handle);
}
static void fire_range(void *context, int generation, uintptr_t start, uintptr_t end, uintptr_t reserved) {
    (void)context;
    FIRE(3, uint8_t, uintptr_t, uint64_t, uint64_t)
    (runtime_event_sink(), (uint8_t)generation, start, end - start, reserved - start);
}

void events_collection_begins(const gc_collection *collection) {
    if (!wanted(KEYWORD_COLLECTIONS | KEYWORD_SURVIVORS, LEVEL_INFORMATIONAL)) return;
    uint32_t reason = reason_of(collection->reason), generation = (uint32_t)collection->generation;
    FIRE(9, uint32_t)(runtime_event_sink(), reason); /* GCTriggered */
    FIRE(1, uint32_t, uint32_t, uint32_t, uint32_t)(runtime_event_sink(), (uint32_t)collection->number, generation, reason, 0);
    if (wanted(KEYWORD_COLLECTIONS, LEVEL_VERBOSE)) handle_each_pinned(fire_pinned, NULL);
    if (wanted(KEYWORD_SURVIVORS, LEVEL_INFORMATIONAL)) diagnose_ranges(fire_range, NULL);
}

/* Tools count on times of phases, 7, or 8 where objects moved. Those of other phases say nothing to them, so all are 0. */
static void fire_history(const pause_record *record, uint32_t reason) {
    enum { MOVED = 2, PROMOTED = 4 };
    const gc_stats *stats = &record->stats;
    uint32_t times[8] = {0}, mechanisms = PROMOTED | (record->compacted ? MOVED : 0), load = settings_load_percent();
    FIRE(12, uint64_t, int32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
         uint32_t, void *)
    (runtime_event_sink(), stats->nursery_bytes, 1, (uint32_t)record->generation, 0, reason, mechanisms,
     (uint32_t)heap_latency_mode(), load, 0, 0, record->compacted ? 8 : 7, sizeof times[0], times);
}

/* What survived counts as the oldest condemned generation's; holes, as everywhere, as generation 2's. */
static void fire_sizes(const pause_record *record) {
    const gc_stats *stats = &record->stats;
    uint64_t sizes[GC_GENERATIONS], survived[GC_GENERATIONS] = {0}, none = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) sizes[g] = stats->generation_bytes[g] + (g == 2 ? stats->fragmentation_bytes : 0);
    survived[record->generation] = stats->survived_bytes;
    FIRE(4, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
         uint64_t, uint32_t, uint32_t, uint32_t)
    (runtime_event_sink(), sizes[0], survived[0], sizes[1], survived[1], sizes[2], survived[2], none, none, none, none, none,
     record->finalizers, (uint32_t)handle_count_pinned(), runtime_sync_blocks(), (uint32_t)handle_count());
}

void events_collection_ends(const pause_record *record, gc_reason reason) {
    if (!wanted(KEYWORD_COLLECTIONS | KEYWORD_SURVIVORS, LEVEL_INFORMATIONAL)) return;
    if (wanted(KEYWORD_SURVIVORS, LEVEL_INFORMATIONAL)) diagnose_ranges(fire_range, NULL);
    fire_history(record, reason_of(reason));
    FIRE(2, uint32_t, uint32_t)(runtime_event_sink(), (uint32_t)record->number, (uint32_t)record->generation);
    fire_sizes(record);
}

void events_allocation(unsigned kind, int64_t given, uintptr_t object, size_t bytes) {
    static int64_t since[3];
    if (!wanted(KEYWORD_COLLECTIONS, LEVEL_VERBOSE)) return;
    if (__atomic_add_fetch(&since[kind], given, __ATOMIC_RELAXED) < TICK_BYTES) return;
    int64_t amount = __atomic_exchange_n(&since[kind], 0, __ATOMIC_RELAXED);
    if (amount <= 0) return;
    FIRE(14, uint64_t, uint32_t, uint32_t, uintptr_t, uint64_t)(runtime_event_sink(), (uint64_t)amount, kind, 0, object, bytes);
}

void events_handle(const uintptr_t *handle, uintptr_t object, int type) {
    if (!handle || !wanted(KEYWORD_HANDLES, LEVEL_INFORMATIONAL)) return;
    int generation = object ? gc_object_generation(gc_of(object)) : 0;
    FIRE(34, const uintptr_t *, uintptr_t, uint32_t, uint32_t)
    (runtime_event_sink(), handle, object, (uint32_t)type, (uint32_t)(generation < GC_GENERATIONS ? generation : 0));
}
void events_handle_destroyed(const uintptr_t *handle) {
    if (handle && wanted(KEYWORD_HANDLES, LEVEL_INFORMATIONAL)) FIRE(36, const uintptr_t *)(runtime_event_sink(), handle);
}
