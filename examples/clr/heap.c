/* IGCHeap's functions, by their numbers. Those that only diagnostic tools call say so, and end the process: none of the programs
   that were tried calls them. */
#include "heap.h"

#include "allocate.h"
#include "collector.h"
#include "finalize.h"
#include "frozen.h"
#include "pause.h"
#include "report.h"
#include "settings.h"

#include <time.h>

gc_heap *heap;
static gc_thread *finalizer_thread; /* of the runtime's: what takes finalizers, which allocates nothing */

/* Constants. */
static bool is_true(interface *self) { return (void)self, true; }
static bool is_false(interface *self) { return (void)self, false; }
static size_t is_zero(interface *self) { return (void)self, 0; }
static void does_nothing(interface *self) { (void)self; }
static int32_t is_one(interface *self) { return (void)self, 1; }
static int32_t is_not_applicable(interface *self) { return (void)self, 4; }
static uint32_t is_two(interface *self) { return (void)self, 2; }
static size_t is_large_from(interface *self) { return (void)self, 85000; }

/* Starting. */

static void stomp(void *host, const gc_barrier_change *change) {
    (void)host;
    if (change->operation != GC_STOMP_INITIALIZE)
        return; /* the bounds are those of all memory that objects may ever have */
    write_barrier_parameters parameters = {.operation = STOMP_INITIALIZE, .is_suspended = true};
    parameters.cards = change->tables->cards;
    parameters.bundles = change->tables->bundles;
    parameters.lowest = parameters.ephemeral_low = change->tables->lowest;
    parameters.highest = parameters.ephemeral_high = change->tables->lowest + GC_ARENA_BYTES;
    parameters.generations = change->tables->age;
    parameters.region_shift = GC_REGION_SHIFT;
    runtime_stomp(&parameters);
}

static int32_t initialize(interface *self) {
    (void)self;
    gc_options options = {.barrier_changed = stomp, .collector_threads = 1};
    pause_set_hooks(&options);
    settings_read(&options);
    heap = gc_heap_create(&options);
    finalizer_thread = heap ? gc_thread_create(heap) : NULL;
    if (finalizer_thread) return OK;
    report_error("libgch: %s", gc_last_message());
    return E_OUTOFMEMORY;
}

/* Allocation and collections. */

static uintptr_t alloc(interface *self, alloc_context *context, size_t bytes, uint32_t flags) {
    return (void)self, allocate(context, bytes, flags);
}

/* `of_collection`: the window is taken back, but the thread goes on. */
static void fix_context(interface *self, alloc_context *context, void *of_collection, void *of_heap) {
    (void)self, (void)of_heap;
    if (of_collection)
        allocate_close(context, NULL);
    else
        allocate_end(context);
}

static int32_t collect(interface *self, int32_t generation, bool low_memory, int32_t mode) {
    (void)self;
    unsigned ways =
        (unsigned)mode & (GC_COLLECT_NON_BLOCKING | GC_COLLECT_BLOCKING | GC_COLLECT_OPTIMIZED | GC_COLLECT_COMPACTING);
    if (low_memory || mode & 16) ways |= GC_COLLECT_COMPACTING; /* 16: aggressive */
    gc_collect(heap, generation < 0 || generation > 2 ? 2 : generation, ways);
    return OK;
}

static int32_t collection_count(interface *self, int32_t generation, int32_t of_background) {
    return (void)self, of_background ? 0 : (int32_t)pause_count(generation);
}
static uint32_t collections(interface *self) { return (void)self, (uint32_t)pause_count(0); }
static uint32_t condemned(interface *self) { return (void)self, (uint32_t)pause_generation(); }

static bool is_in_progress(interface *self, bool consider_start) {
    return (void)self, (void)consider_start, __atomic_load_n(&pause_in_progress, __ATOMIC_SEQ_CST);
}
static void set_in_progress(interface *self, bool on) {
    (void)self, __atomic_store_n(&pause_in_progress, on, __ATOMIC_SEQ_CST);
}
static uint32_t wait_until_complete(interface *self, bool consider_start) {
    if (is_in_progress(self, consider_start)) pause_await();
    return 0;
}
static void set_event(interface *self) { (void)self, pause_set_event(true); }
static void reset_event(interface *self) { (void)self, pause_set_event(false); }

/* Objects. */

static uint32_t which_generation(interface *self, uintptr_t object) {
    int generation = gc_object_generation(gc_of(object));
    return (void)self, generation < GC_GENERATIONS ? (uint32_t)generation : (uint32_t)INT32_MAX;
}
static bool is_promoted(interface *self, uintptr_t object) { return (void)self, pause_has_reached(object); }
static bool is_heap_pointer(interface *self, uintptr_t address, bool small_only) {
    return (void)self, (void)small_only, gc_heap_contains(heap, (void *)address);
}
/* The runtime asks during the collection, with addresses from before it, to know which entries of its weak tables young
   collections need not look at. */
static bool is_ephemeral(interface *self, uintptr_t object) { return (void)self, (void)object, true; }
static bool is_large(interface *self, uintptr_t object) {
    return (void)self, object_bytes(object) >= is_large_from(self);
}

static uintptr_t containing_object(interface *self, uintptr_t address, bool collected_only) {
    (void)self, (void)collected_only;
    void *object = pause_is_running() ? NULL : gc_heap_object_at(heap, gc_of(address));
    return object ? clr_of(object) : 0;
}

static uint32_t generation_with_range(interface *self, uintptr_t object, uintptr_t *start, uintptr_t *allocated,
                                      uintptr_t *reserved) {
    *start = object & ~(uintptr_t)(GC_REGION_BYTES - 1);
    *allocated = *reserved = *start + GC_REGION_BYTES;
    return which_generation(self, object);
}

/* Finalizers. */

static size_t finalizer_count(interface *self) { return (void)self, finalize_count(); }
static uintptr_t next_finalizable(interface *self) { return (void)self, finalize_next(finalizer_thread); }
static void suppress(interface *self, uintptr_t object) {
    (void)self, __atomic_fetch_or(object_header(object), HEADER_FINALIZED, __ATOMIC_RELAXED);
}
/* One that was suppressed is still registered. */
static bool register_again(interface *self, int32_t generation, uintptr_t object) {
    (void)self, (void)generation;
    uint32_t before = __atomic_fetch_and(object_header(object), ~HEADER_FINALIZED, __ATOMIC_RELAXED);
    return before & HEADER_FINALIZED || finalize_register(finalizer_thread, object);
}

/* Frozen segments. */

static void *register_frozen(interface *self, const segment_info *info) { return (void)self, frozen_add(info); }
static void unregister_frozen(interface *self, void *segment) { (void)self, frozen_remove(segment); }
static bool is_frozen(interface *self, uintptr_t object) { return (void)self, frozen_contains(object); }
static void update_frozen(interface *self, void *segment, uintptr_t allocated, uintptr_t committed) {
    (void)self, frozen_update(segment, allocated, committed);
}

/* Numbers. */

typedef struct memory_info { /* where IGCHeap's function is to store what it says */
    uint64_t *high_load, *available, *load, *heap, *fragmented, *committed, *promoted, *pinned, *finalizers, *index;
    uint32_t *generation, *pause_percent;
    bool *compacted, *concurrent;
    uint64_t (*generations)[4], *pauses;
} memory_info;

static void memory_info_fill(const memory_info *to, const pause_record *last) {
    uint64_t memory = settings_memory(), now = settings_clock_ns();
    *to->high_load = memory / 10 * 9;
    *to->available = memory;
    *to->load = settings_load();
    *to->heap = last->stats.live_bytes;
    *to->fragmented = last->stats.fragmentation_bytes;
    *to->committed = last->stats.committed_bytes;
    *to->promoted = last->stats.survived_bytes;
    *to->pinned = 0;
    *to->finalizers = last->finalizers;
    *to->index = last->number;
    *to->generation = (uint32_t)last->generation;
    *to->pause_percent = (uint32_t)(now ? last->total_ns * 10000 / now : 0);
    *to->compacted = last->compacted;
    *to->concurrent = false;
    for (int g = 0; g < 5; g++) {
        uint64_t bytes = g < GC_GENERATIONS ? last->stats.generation_bytes[g] : 0;
        to->generations[g][0] = to->generations[g][2] = bytes;
        to->generations[g][1] = to->generations[g][3] = 0;
    }
    to->pauses[0] = last->pause_ns / 100;
    to->pauses[1] = 0;
}

static void get_memory_info(interface *self, uint64_t *high_load, uint64_t *available, uint64_t *load,
                            uint64_t *heap_bytes, uint64_t *fragmented, uint64_t *committed, uint64_t *promoted,
                            uint64_t *pinned, uint64_t *finalizers, uint64_t *index, uint32_t *generation,
                            uint32_t *pause_percent, bool *compacted, bool *concurrent, uint64_t (*generations)[4],
                            uint64_t *pauses, int32_t kind) {
    (void)self;
    memory_info info = {high_load,  available, load,       heap_bytes,    fragmented, committed,  promoted,    pinned,
                        finalizers, index,     generation, pause_percent, compacted,  concurrent, generations, pauses};
    pause_record last = pause_last(kind);
    memory_info_fill(&info, &last);
}

static uint32_t memory_load(interface *self) {
    return (void)self, (uint32_t)(settings_load() * 100 / settings_memory());
}
static size_t bytes_in_use(interface *self) { return (void)self, settings_bytes_in_use(); }
static uint64_t bytes_allocated(interface *self) { return (void)self, settings_bytes_allocated(); }
static int64_t pause_total(interface *self) { return (void)self, (int64_t)(pause_last(0).total_ns / 100); }
static size_t last_start(interface *self, int32_t generation) { return (void)self, (void)generation, 0; }
static size_t last_duration(interface *self, int32_t generation) {
    return (void)self, (size_t)(pause_last(generation == 2 ? 2 : 0).pause_ns / 1000000);
}
static size_t now(interface *self) { return (void)self, (size_t)(settings_clock_ns() / 1000000); }
static size_t last_generation_size(interface *self, int32_t generation) {
    return (void)self,
           generation >= 0 && generation < GC_GENERATIONS ? pause_last(0).stats.generation_bytes[generation] : 0;
}

/* What is stored and returned. */

static int32_t latency_mode = 1, large_compaction_mode = 1;
static int32_t get_latency_mode(interface *self) { return (void)self, latency_mode; }
static int32_t set_latency_mode(interface *self, int32_t mode) { return (void)self, latency_mode = mode, 0; }
static int32_t get_large_mode(interface *self) { return (void)self, large_compaction_mode; }
static int32_t set_large_mode(interface *self, int32_t mode) { return (void)self, large_compaction_mode = mode, 0; }

static void fill_settings(interface *self, void *info) { (void)self, memset(info, 0, 56); }

/* Functions of tools that are not there. */
#define MISSING(number, name)                                                                          \
    static void missing_##number(void) {                                                               \
        fatal("the runtime called IGCHeap::" #name " (slot " #number "), which libgch does not have"); \
    }
MISSING(61, DiagWalkObject)
MISSING(62, DiagWalkObject2)
MISSING(63, DiagWalkHeap)
MISSING(64, DiagWalkSurvivorsWithType)
MISSING(65, DiagWalkFinalizeQueue)
MISSING(66, DiagScanFinalizeQueue)
MISSING(67, DiagScanHandles)
MISSING(68, DiagScanDependentHandles)
MISSING(69, DiagDescrGenerations)
MISSING(87, DiagWalkHeapWithACHandling)
MISSING(88, NullBridgeObjectsWeakRefs)

static void *const slots[HEAP_SLOTS] = {[0] = is_true,
                                        is_true,
                                        is_zero,
                                        does_nothing,
                                        does_nothing,
                                        is_false,
                                        does_nothing,
                                        does_nothing,
                                        is_false,
                                        is_zero,
                                        [10] = finalizer_count,
                                        next_finalizable,
                                        get_memory_info,
                                        memory_load,
                                        get_latency_mode,
                                        set_latency_mode,
                                        get_large_mode,
                                        [17] = set_large_mode,
                                        is_false,
                                        is_false,
                                        is_not_applicable,
                                        is_not_applicable,
                                        which_generation,
                                        collection_count,
                                        [24] = is_one,
                                        is_one,
                                        bytes_in_use,
                                        bytes_allocated,
                                        collect,
                                        is_two,
                                        suppress,
                                        register_again,
                                        is_zero,
                                        [33] = last_generation_size,
                                        initialize,
                                        is_promoted,
                                        is_heap_pointer,
                                        condemned,
                                        is_in_progress,
                                        collections,
                                        is_true,
                                        [41] = is_ephemeral,
                                        wait_until_complete,
                                        fix_context,
                                        bytes_in_use,
                                        set_in_progress,
                                        is_true,
                                        does_nothing,
                                        does_nothing,
                                        [49] = does_nothing,
                                        last_start,
                                        last_duration,
                                        now,
                                        alloc,
                                        does_nothing,
                                        set_event,
                                        reset_event,
                                        is_large,
                                        does_nothing,
                                        [59] = is_zero,
                                        containing_object,
                                        missing_61,
                                        missing_62,
                                        missing_63,
                                        missing_64,
                                        missing_65,
                                        missing_66,
                                        missing_67,
                                        [68] = missing_68,
                                        missing_69,
                                        does_nothing,
                                        fill_settings,
                                        is_false,
                                        register_frozen,
                                        unregister_frozen,
                                        is_frozen,
                                        [76] = does_nothing,
                                        does_nothing,
                                        generation_with_range,
                                        pause_total,
                                        does_nothing,
                                        update_frozen,
                                        is_zero,
                                        is_one,
                                        [84] = is_zero,
                                        is_zero,
                                        is_large_from,
                                        missing_87,
                                        missing_88};
interface heap_interface = {slots};
