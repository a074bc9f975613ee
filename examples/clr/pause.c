/* One collection, in the order in which the runtime expects to be asked and told. */
#include "pause.h"

#include "allocate.h"
#include "diagnose.h"
#include "events.h"
#include "finalize.h"
#include "handle.h"
#include "loader.h"
#include "report.h"
#include "settings.h"

#include <pthread.h>
#include <time.h>

bool pause_in_progress;

static bool running, ended, traced;
static int generation;
static uint64_t counts[GC_GENERATIONS];
static bool was_cooperative, has_finalizers;
static pause_record records[4], begun; /* the last one of any kind and of each; and the start of the one that runs */
static char record_lock;

/* Stopping. */

static bool before_wait(void *host) { return (void)host, runtime_thread() && runtime_enter_preemptive(); }
static void after_wait(void *host) {
    (void)host;
    runtime_enter_cooperative();
}

/* Whoever suspends the others must not be one that they wait for; and collects as a thread that may touch objects. */
static void suspend(void *host) {
    (void)host;
    bool managed = runtime_thread() != NULL;
    doing("suspending the runtime");
    was_cooperative = managed && runtime_enter_preemptive();
    runtime_suspend();
    if (managed) runtime_enter_cooperative();
    doing("taking windows back");
    runtime_each_context(allocate_close);
}

static void restart(void *host) {
    (void)host;
    doing("restarting the runtime");
    bool found = has_finalizers; /* without that the runtime still looks for work of its own */
    has_finalizers = false;
    runtime_restart(true);
    if (runtime_thread() && !was_cooperative) runtime_enter_preemptive();
    runtime_wake_finalizer(found);
    doing("no collection runs");
}

/* Roots. */

static gc_visitor *visiting;
static uintptr_t scan_frame; /* of the function that has the runtime report its roots */

/* The runtime also reports variables of its own, which end before the collection does. The collector looks at pinned words at
   once, so these may be copies. */
static bool is_temporary(const uintptr_t *slot) {
    return (uintptr_t)slot < scan_frame && (uintptr_t)slot > (uintptr_t)__builtin_frame_address(0);
}

static void promote(uintptr_t *slot, scan_context *context, uint32_t flags) {
    (void)context;
    if (!*slot || gc_heap_contains(heap, slot))
        return; /* for servers the runtime also reports statics, which lie in objects */
    unsigned of_slot = GC_SLOT_VALUE;
    if (flags & SCAN_INTERIOR) of_slot |= GC_SLOT_INTERIOR;
    if (flags & SCAN_PINNED || is_temporary(slot)) of_slot |= GC_SLOT_PINNED;
    gc_visit(visiting, slot, 1, of_slot);
}

static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread;
    scan_context context = {.thread_count = 1, .promotion = true};
    visiting = visitor;
    scan_frame = (uintptr_t)__builtin_frame_address(0);
    doing("asking the runtime for roots");
    runtime_scan_roots(promote, running ? generation : 2, &context);
    doing("reporting handles");
    handle_visit(visitor);
    finalize_visit(visitor);
    doing("tracing");
}

/* Phases. */

static void collection_start(void *host, const gc_collection *collection) {
    (void)host;
    generation = collection->generation;
    traced = ended = false;
    running = true;
    for (int g = 0; g <= generation; g++) counts[g]++;
    begun.began_ns = settings_clock_ns();
    gc_heap_stats(heap, &begun.stats);
    loader_begin_collection();
    handle_begin_collection();
    doing("telling the runtime that a collection begins");
    runtime_start_work(generation);
    events_collection_begins(collection);
    runtime_collection_begins(generation, collection->reason == GC_REASON_INDUCED);
    diagnose_begin(generation);
    runtime_before_roots(generation);
    doing("tracing");
}

static void follow(uintptr_t *slot, uintptr_t *extra, uintptr_t first, uintptr_t second) {
    (void)extra, (void)first, (void)second;
    void *now = *slot ? gc_collection_find(heap, gc_of(*slot)) : NULL;
    *slot = now ? clr_of(now) : 0;
}

static void collection_traced(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    scan_context context = {.thread_count = 1, .promotion = true};
    traced = true;
    doing("having the runtime look at its weak tables");
    runtime_after_roots(generation, &context);
    runtime_scan_sync_blocks(follow);
    handle_update_interior();
    diagnose_traced();
    doing("sweeping");
}

static void record(const gc_collection *collection) {
    pause_record now = {.number = collection->number, .began_ns = begun.began_ns, .pause_ns = collection->pause_ns};
    now.generation = generation;
    for (int g = 0; g < GC_GENERATIONS; g++) now.before_bytes[g] = begun.stats.generation_bytes[g];
    now.before_fragmentation_bytes = begun.stats.fragmentation_bytes;
    gc_heap_stats(heap, &now.stats); /* without this pause, which has not ended */
    if (generation == 2) settings_note_live(now.stats.live_bytes);
    now.compacted = collection->moved_bytes != 0;
    now.concurrent = now.stats.concurrent_finished != records[0].stats.concurrent_finished;
    now.total_ns = now.stats.pause_total_ns + now.pause_ns;
    now.finalizers = finalize_count();
    now.given_bytes = allocate_given();
    now.ended_ns = settings_clock_ns();
    uint64_t since_ns = now.ended_ns - records[0].ended_ns;
    now.percent = since_ns ? (unsigned)(now.pause_ns * 100 / since_ns) : 0;
    if (now.percent > 100) now.percent = 100; /* the pause began before the callback that took the time */
    while (__atomic_test_and_set(&record_lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
    records[0] = records[now.concurrent ? 3 : generation == 2 ? 2 : 1] = now;
    __atomic_clear(&record_lock, __ATOMIC_RELEASE);
}

static void collection_end(void *host, const gc_collection *collection) {
    (void)host;
    doing("telling the runtime that a collection ends");
    handle_end_collection();
    runtime_promotions_granted();
    runtime_done(generation);
    ended = true;
    runtime_collection_ends(collection->number, generation, collection->reason == GC_REASON_INDUCED ? 1 : 0);
    record(collection);
    events_collection_ends(&records[0], collection->reason);
    running = false;
}

static void finalizers_ready(void *host) {
    (void)host;
    has_finalizers = true;
}

static void fail(void *host, const char *message) {
    (void)host;
    fatal("%s", message);
}

static void ignore(void *host, const char *message) { (void)host, (void)message; }

void pause_set_hooks(gc_options *options) {
    options->suspend = suspend;
    options->restart = restart;
    options->before_wait = before_wait;
    options->after_wait = after_wait;
    options->scan_roots = scan_roots;
    options->collection_start = collection_start;
    options->collection_traced = collection_traced;
    options->collection_end = collection_end;
    options->finalizers_ready = finalizers_ready;
    options->fatal = fail;
    options->warning = ignore;
}

/* Questions. */

bool pause_is_running(void) { return running; }
bool pause_is_tracing(void) { return running && !ended; }
int pause_generation(void) { return generation; }
uint64_t pause_count(int of) {
    return of >= 0 && of < GC_GENERATIONS ? __atomic_load_n(&counts[of], __ATOMIC_RELAXED) : 0;
}

bool pause_has_reached(uintptr_t object) { return !traced || gc_collection_find(heap, gc_of(object)) != NULL; }

pause_record pause_last(int kind) {
    while (__atomic_test_and_set(&record_lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
    pause_record record = records[kind > 0 && kind < 4 ? kind : 0];
    __atomic_clear(&record_lock, __ATOMIC_RELEASE);
    return record;
}

/* The event, which is set at first. */

static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event_changed = PTHREAD_COND_INITIALIZER;
static bool event_is_reset;

void pause_set_event(bool set) {
    pthread_mutex_lock(&event_lock);
    event_is_reset = !set;
    if (set) pthread_cond_broadcast(&event_changed);
    pthread_mutex_unlock(&event_lock);
}

void pause_await(void) {
    pthread_mutex_lock(&event_lock);
    while (event_is_reset) pthread_cond_wait(&event_changed, &event_lock);
    pthread_mutex_unlock(&event_lock);
}
