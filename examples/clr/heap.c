/* IGCHeap's functions, by their numbers. Those that do nothing give what the runtime takes for an empty answer. */
#include "heap.h"

#include "allocate.h"
#include "collector.h"
#include "diagnose.h"
#include "events.h"
#include "finalize.h"
#include "frozen.h"
#include "pause.h"
#include "report.h"
#include "settings.h"

#include <sys/mman.h>
#include <unistd.h>

gc_heap *heap;

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

enum { BUNDLE_SHIFT = 21 };
static void *bundles;
enum { MODE_BATCH, MODE_INTERACTIVE, MODE_LOW, MODE_SUSTAINED_LOW };
static int32_t latency_mode, large_compaction_mode = 1;
static uint64_t large_mode_since; /* the number of the last collection when it was set */

static const gc_barrier_tables *tables;
uintptr_t heap_lowest(void) { return tables->lowest; }
uintptr_t heap_highest(void) { return __atomic_load_n(&tables->highest, __ATOMIC_ACQUIRE); }
int32_t heap_latency_mode(void) { return latency_mode; }

static void stomp(void *host, const gc_barrier_change *change) {
    (void)host;
    if (change->operation != GC_STOMP_INITIALIZE)
        return; /* the bounds are those of all memory that objects may ever have */
    write_barrier_parameters parameters = {.operation = STOMP_INITIALIZE, .is_suspended = true};
    tables = change->tables;
    parameters.cards = tables->cards;
    parameters.bundles = (char *)bundles - (tables->lowest >> BUNDLE_SHIFT);
    parameters.lowest = parameters.ephemeral_low = tables->lowest;
    parameters.highest = parameters.ephemeral_high = tables->end;
    parameters.generations = tables->age;
    parameters.region_shift = GC_REGION_SHIFT;
    parameters.has_card_bits = GC_CARD_BITS;
    runtime_stomp(&parameters);
    parameters.operation = STOMP_WRITE_WATCH; /* the runtime's barriers have it only from then on */
    parameters.write_watch = tables->watch;
    runtime_stomp(&parameters);
}

static int32_t initialize(interface *self) {
    (void)self;
    gc_options options = {.barrier_changed = stomp, .initializing_barriers = true, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT};
    bundles = mmap(NULL, GC_ARENA_BYTES >> BUNDLE_SHIFT, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bundles == MAP_FAILED) return E_OUTOFMEMORY;
    pause_set_hooks(&options);
    settings_read(&options);
    latency_mode = settings_beside ? MODE_INTERACTIVE : MODE_BATCH;
    heap = gc_heap_create(&options);
    if (heap && finalize_initialize()) return OK;
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

/* A marking ends when a thread allocates. One that the program has asked for must end in an idle program, too: the finalizer
   thread looks at it every millisecond, before it runs finalizers. */
static bool marking_is_watched;

static void watch_marking(void) {
    __atomic_store_n(&marking_is_watched, true, __ATOMIC_SEQ_CST);
    runtime_wake_finalizer(true);
}
static size_t finalizer_thread_woke(interface *self) {
    if (!__atomic_exchange_n(&marking_is_watched, false, __ATOMIC_SEQ_CST)) return 0;
    usleep(1000);
    runtime_enter_cooperative();
    bool goes_on = gc_step(heap, 0);
    runtime_enter_preemptive();
    if (goes_on) watch_marking();
    return (void)self, 0;
}

static int32_t collect(interface *self, int32_t generation, bool low_memory, int32_t mode) {
    (void)self;
    unsigned ways =
        (unsigned)mode & (GC_COLLECT_NON_BLOCKING | GC_COLLECT_BLOCKING | GC_COLLECT_OPTIMIZED | GC_COLLECT_COMPACTING);
    if (low_memory || mode & 16) ways |= GC_COLLECT_COMPACTING; /* 16: aggressive */
    if (generation < 0 || generation > 2) generation = 2;
    gc_collect(heap, generation, ways);
    if (settings_beside && generation == 2 && ways & GC_COLLECT_NON_BLOCKING) watch_marking();
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

static bool is_large(interface *self, uintptr_t object) {
    return (void)self, object_bytes(object) >= is_large_from(self);
}
static uint32_t which_generation(interface *self, uintptr_t object) {
    int generation = gc_object_generation(gc_of(object));
    if (generation < 2 && is_large(self, object)) return 2; /* as programs expect */
    return (void)self, generation < GC_GENERATIONS ? (uint32_t)generation : (uint32_t)INT32_MAX;
}
static bool is_promoted(interface *self, uintptr_t object) { return (void)self, pause_has_reached(object); }
static bool is_heap_pointer(interface *self, uintptr_t address, bool small_only) {
    return (void)self, (void)small_only, gc_heap_contains(heap, (void *)address);
}
/* The runtime asks during the collection, with addresses from before it, to know which entries of its weak tables young
   collections need not look at. */
static bool is_ephemeral(interface *self, uintptr_t object) { return (void)self, (void)object, true; }

static uintptr_t containing_object(interface *self, uintptr_t address, bool collected_only) {
    (void)self, (void)collected_only;
    void *object = pause_is_tracing() ? NULL : gc_heap_object_at(heap, gc_of(address));
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
static uintptr_t next_finalizable(interface *self) {
    gc_thread *thread = allocate_thread(runtime_context());
    return (void)self, thread ? finalize_next(thread) : 0;
}
static void suppress(interface *self, uintptr_t object) {
    (void)self, __atomic_fetch_or(object_header(object), HEADER_FINALIZED, __ATOMIC_RELAXED);
}
/* One that was suppressed is still registered. */
static bool register_again(interface *self, int32_t generation, uintptr_t object) {
    (void)self, (void)generation;
    uint32_t before = __atomic_fetch_and(object_header(object), ~HEADER_FINALIZED, __ATOMIC_RELAXED);
    return before & HEADER_FINALIZED || finalize_register_again(object);
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
    *to->heap = last->stats.live_bytes + last->stats.fragmentation_bytes;
    *to->fragmented = last->stats.fragmentation_bytes;
    *to->committed = last->stats.committed_bytes;
    *to->promoted = last->stats.survived_bytes;
    *to->pinned = 0;
    *to->finalizers = last->finalizers;
    *to->index = last->number;
    *to->generation = (uint32_t)last->generation;
    *to->pause_percent = (uint32_t)(now ? last->total_ns * 10000 / now : 0);
    *to->compacted = last->compacted;
    *to->concurrent = last->concurrent;
    for (int g = 0; g < 5; g++) {
        to->generations[g][1] = g == 2 ? last->before_fragmentation_bytes : 0;
        to->generations[g][3] = g == 2 ? last->stats.fragmentation_bytes : 0;
        to->generations[g][0] = to->generations[g][1] + (g < GC_GENERATIONS ? last->before_bytes[g] : 0);
        to->generations[g][2] = to->generations[g][3] + (g < GC_GENERATIONS ? last->stats.generation_bytes[g] : 0);
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

static uint32_t memory_load(interface *self) { return (void)self, settings_load_percent(); }
static int32_t last_percent(interface *self) { return (void)self, (int32_t)pause_last(0).percent; }
static uint64_t generation_budget(interface *self, int32_t generation) {
    return (void)self, generation ? 0 : pause_last(0).stats.nursery_bytes;
}
static size_t bytes_in_use(interface *self) { return (void)self, settings_bytes_in_use(); }
static uint64_t bytes_allocated(interface *self) { return (void)self, allocate_given(); }
static int64_t pause_total(interface *self) { return (void)self, (int64_t)(pause_last(0).total_ns / 100); }
static pause_record last_of(int32_t generation) {
    pause_record stopped = pause_last(generation == 2 ? 2 : 0), beside = pause_last(3);
    return stopped.number >= beside.number ? stopped : beside;
}
static size_t last_start(interface *self, int32_t generation) { return (void)self, (size_t)(last_of(generation).began_ns / 1000000); }
static size_t last_duration(interface *self, int32_t generation) {
    return (void)self, (size_t)(last_of(generation).pause_ns / 1000000);
}
static size_t now(interface *self) { return (void)self, (size_t)(settings_clock_ns() / 1000000); }
static size_t last_generation_size(interface *self, int32_t generation) {
    return (void)self,
           generation >= 0 && generation < GC_GENERATIONS ? pause_last(0).stats.generation_bytes[generation] : 0;
}

/* 1: what lives does not fit. */
static int32_t refresh_limit(interface *self) {
    gc_limits limits;
    (void)self;
    gc_heap_limits(heap, &limits);
    limits.heap_bytes_max = settings_limit();
    if (gc_heap_set_limits(heap, &limits) != GC_OK) return 1;
    settings_note_limit(limits.heap_bytes_max);
    return 0;
}

/* What is stored and returned. */

static int32_t get_latency_mode(interface *self) { return (void)self, latency_mode; }
/* A mode that this program cannot have is left out, as the runtime's own collectors do. */
static int32_t set_latency_mode(interface *self, int32_t mode) {
    bool server = false;
    runtime_bool_setting("gcServer", "System.GC.Server", &server);
    if (!(mode == MODE_LOW && server) && !(mode == MODE_SUSTAINED_LOW && !settings_beside)) latency_mode = mode;
    return (void)self, 0;
}
/* It lasts until a full collection has stopped the program. */
static int32_t get_large_mode(interface *self) {
    return (void)self, pause_last(2).number > large_mode_since ? 1 : large_compaction_mode;
}
static int32_t set_large_mode(interface *self, int32_t mode) {
    large_compaction_mode = mode;
    large_mode_since = pause_last(0).number;
    return (void)self, 0;
}

static void fill_settings(interface *self, void *info) { (void)self, memset(info, 0, 56); }

static void control_events(interface *self, int32_t keywords, int32_t level) { (void)self, events_control(keywords, level); }

/* clang-format off */
static void *const slots[HEAP_SLOTS] = {
    [0] = is_true, /* IsValidSegmentSize */
    [1] = is_true, /* IsValidGen0MaxSize */
    [2] = is_zero, /* GetValidSegmentSize */
    [3] = does_nothing, /* SetReservedVMLimit */
    [4] = does_nothing, /* WaitUntilConcurrentGCComplete */
    [5] = is_false, /* IsConcurrentGCInProgress */
    [6] = does_nothing, /* TemporaryEnableConcurrentGC */
    [7] = does_nothing, /* TemporaryDisableConcurrentGC */
    [8] = is_false, /* IsConcurrentGCEnabled */
    [9] = is_zero, /* WaitUntilConcurrentGCCompleteAsync */
    [10] = finalizer_count, /* GetNumberOfFinalizable */
    [11] = next_finalizable, /* GetNextFinalizable */
    [12] = get_memory_info, /* GetMemoryInfo */
    [13] = memory_load, /* GetMemoryLoad */
    [14] = get_latency_mode, /* GetGcLatencyMode */
    [15] = set_latency_mode, /* SetGcLatencyMode */
    [16] = get_large_mode, /* GetLOHCompactionMode */
    [17] = set_large_mode, /* SetLOHCompactionMode */
    [18] = is_false, /* RegisterForFullGCNotification */
    [19] = is_false, /* CancelFullGCNotification */
    [20] = is_not_applicable, /* WaitForFullGCApproach */
    [21] = is_not_applicable, /* WaitForFullGCComplete */
    [22] = which_generation, /* WhichGeneration */
    [23] = collection_count, /* CollectionCount */
    [24] = is_one, /* StartNoGCRegion */
    [25] = is_one, /* EndNoGCRegion */
    [26] = bytes_in_use, /* GetTotalBytesInUse */
    [27] = bytes_allocated, /* GetTotalAllocatedBytes */
    [28] = collect, /* GarbageCollect */
    [29] = is_two, /* GetMaxGeneration */
    [30] = suppress, /* SetFinalizationRun */
    [31] = register_again, /* RegisterForFinalization */
    [32] = last_percent, /* GetLastGCPercentTimeInGC */
    [33] = last_generation_size, /* GetLastGCGenerationSize */
    [34] = initialize, /* Initialize */
    [35] = is_promoted, /* IsPromoted */
    [36] = is_heap_pointer, /* IsHeapPointer */
    [37] = condemned, /* GetCondemnedGeneration */
    [38] = is_in_progress, /* IsGCInProgressHelper */
    [39] = collections, /* GetGcCount */
    [40] = is_true, /* IsThreadUsingAllocationContextHeap */
    [41] = is_ephemeral, /* IsEphemeral */
    [42] = wait_until_complete, /* WaitUntilGCComplete */
    [43] = fix_context, /* FixAllocContext */
    [44] = bytes_in_use, /* GetCurrentObjSize */
    [45] = set_in_progress, /* SetGCInProgress */
    [46] = is_true, /* RuntimeStructuresValid */
    [47] = does_nothing, /* SetSuspensionPending */
    [48] = does_nothing, /* SetYieldProcessorScalingFactor */
    [49] = does_nothing, /* Shutdown */
    [50] = last_start, /* GetLastGCStartTime */
    [51] = last_duration, /* GetLastGCDuration */
    [52] = now, /* GetNow */
    [53] = alloc, /* Alloc */
    [54] = does_nothing, /* PublishObject */
    [55] = set_event, /* SetWaitForGCEvent */
    [56] = reset_event, /* ResetWaitForGCEvent */
    [57] = is_large, /* IsLargeObject */
    [58] = does_nothing, /* ValidateObjectMember */
    [59] = is_zero, /* NextObj */
    [60] = containing_object, /* GetContainingObject */
    [61] = diagnose_object, /* DiagWalkObject */
    [62] = diagnose_slots, /* DiagWalkObject2 */
    [63] = diagnose_heap, /* DiagWalkHeap */
    [64] = diagnose_survivors, /* DiagWalkSurvivorsWithType */
    [65] = diagnose_finalizable, /* DiagWalkFinalizeQueue */
    [66] = diagnose_finalizer_roots, /* DiagScanFinalizeQueue */
    [67] = diagnose_handles, /* DiagScanHandles */
    [68] = diagnose_dependent_handles, /* DiagScanDependentHandles */
    [69] = diagnose_generations, /* DiagDescrGenerations */
    [70] = does_nothing, /* DiagTraceGCSegments */
    [71] = fill_settings, /* DiagGetGCSettings */
    [72] = is_false, /* StressHeap */
    [73] = register_frozen, /* RegisterFrozenSegment */
    [74] = unregister_frozen, /* UnregisterFrozenSegment */
    [75] = is_frozen, /* IsInFrozenSegment */
    [76] = control_events, /* ControlEvents */
    [77] = does_nothing, /* ControlPrivateEvents */
    [78] = generation_with_range, /* GetGenerationWithRange */
    [79] = pause_total, /* GetTotalPauseDuration */
    [80] = does_nothing, /* EnumerateConfigurationValues */
    [81] = update_frozen, /* UpdateFrozenSegment */
    [82] = refresh_limit, /* RefreshMemoryLimit */
    [83] = is_one, /* EnableNoGCRegionCallback */
    [84] = finalizer_thread_woke, /* GetExtraWorkForFinalization */
    [85] = generation_budget, /* GetGenerationBudget */
    [86] = is_large_from, /* GetLOHThreshold */
    [87] = diagnose_heap, /* DiagWalkHeapWithACHandling */
    [88] = does_nothing, /* NullBridgeObjectsWeakRefs */
};
/* clang-format on */
interface heap_interface = {slots};
