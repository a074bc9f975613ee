/* Every private key that the runtime is asked for is a variable of the environment, DOTNET_ and the key, whose number is
   hexadecimal; some have a public name in runtimeconfig.json, too. */
#include "settings.h"

#include "allocate.h"
#include "interface.h"
#include "pause.h"
#include "report.h"

#include <time.h>
#include <unistd.h>

/* Class libraries do much after each full collection; and a process has more than that without any objects. */
#define SMALL_HEAP_BYTES ((size_t)8 << 20)
/* With a shorter goal nurseries are so small that more objects outlive them. */
#define PAUSE_GOAL_US 20000

/* The larger a heap, the smaller is the part of it by which it grows, as with the runtime's own collector: twice what lives, up to
   FAST_GROWTH_BYTES; more than that as much as lives; and from LARGE_HEAP_BYTES on three quarters of it. */
#define FAST_GROWTH_BYTES ((size_t)192 << 20)
#define FAST_GROWTH_PERCENT 200
#define LARGE_HEAP_BYTES ((size_t)512 << 20)
#define LARGE_GROWTH_PERCENT 75

static unsigned growth_percent, growth_percent_due; /* atomic; 0: of heaps that are marked beside the program, which hold more anyway */
static uint64_t started_ns, limit_bytes;
bool settings_beside;
static int64_t reports;

static uint64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int64_t number(const char *key, const char *public_key, int64_t otherwise) {
    int64_t value = 0;
    return runtime_int_setting(key, public_key, &value) ? value : otherwise;
}

static uint64_t machine_bytes(void) { return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE); }

void settings_note_limit(size_t bytes) {
    uint64_t container = bytes ? 0 : gc_container_bytes();
    uint64_t memory = bytes ? bytes : container ? container / 4 * 3 : machine_bytes();
    __atomic_store_n(&limit_bytes, memory, __ATOMIC_RELAXED);
}

size_t settings_limit(void) {
    int64_t percent = number("GCHeapHardLimitPercent", "System.GC.HeapHardLimitPercent", 0);
    int64_t bytes = number("GCHeapHardLimit", "System.GC.HeapHardLimit", 0);
    if (bytes || percent <= 0 || percent >= 100) return (size_t)bytes;
    uint64_t container = gc_container_bytes(); /* less than the machine has, or 0 */
    return (size_t)((container ? container : machine_bytes()) / 100 * (uint64_t)percent);
}

void settings_note_live(size_t bytes) {
    size_t percent = FAST_GROWTH_BYTES / (bytes / 100 + 1) / 25 * 25; /* in steps, since a change stops the runtime's threads */
    if (percent > FAST_GROWTH_PERCENT) percent = FAST_GROWTH_PERCENT;
    size_t least = bytes < LARGE_HEAP_BYTES ? 100 : LARGE_GROWTH_PERCENT;
    if (percent < least) percent = least;
    __atomic_store_n(&growth_percent_due, (unsigned)percent, __ATOMIC_RELAXED);
}

void settings_pace(void) {
    static char pacing_lock;
    unsigned due = __atomic_load_n(&growth_percent_due, __ATOMIC_RELAXED), now = __atomic_load_n(&growth_percent, __ATOMIC_RELAXED);
    gc_pacing pacing;
    if (!now || due == now || __atomic_test_and_set(&pacing_lock, __ATOMIC_ACQUIRE)) return;
    gc_heap_pacing(heap, &pacing);
    pacing.growth_percent = due;
    if (gc_heap_set_pacing(heap, &pacing) == GC_OK) __atomic_store_n(&growth_percent, due, __ATOMIC_RELAXED);
    __atomic_clear(&pacing_lock, __ATOMIC_RELEASE);
}

void settings_read(gc_options *options) {
    started_ns = clock_now();
    options->heap_bytes_max = settings_limit();
    options->nursery_bytes = (size_t)number("GCgen0size", "System.GC.Gen0Size", 0);
    /* It takes more of the processors, and of memory, than a program may expect that did not ask. By the key that is the
       runtime's own, gcConcurrent, it answers true where nobody has asked; but not when asked for a number. */
    bool concurrent = false;
    runtime_bool_setting("GCgchConcurrent", "System.GC.Concurrent", &concurrent);
    concurrent = settings_beside = number("gcConcurrent", NULL, concurrent) != 0;
    options->concurrent = concurrent ? GC_CONCURRENT_ON : GC_CONCURRENT_OFF;
    int64_t threads = number("GCHeapCount", "System.GC.HeapCount", concurrent ? 2 : 1); /* whoever asks for that wants short pauses */
    options->collector_threads = threads < 1 ? 1 : threads > 32 ? 32 : (unsigned)threads;
    if (concurrent)
        options->pause_goal_us = PAUSE_GOAL_US;
    else
        options->growth_percent = growth_percent = growth_percent_due = FAST_GROWTH_PERCENT;
    options->growth_bytes_min = SMALL_HEAP_BYTES;
    runtime_bool_setting("GCRetainVM", "System.GC.RetainVM", &options->keep_memory);
    options->debug.stress_interval = (unsigned)number("GCgchStress", NULL, 0);
    options->debug.stress = options->debug.stress_interval ? GC_STRESS_NTH : GC_STRESS_OFF;
    options->debug.checkmark = number("GCgchVerify", NULL, 0) != 0;
    options->debug.verify = options->debug.checkmark ? GC_VERIFY_BEFORE | GC_VERIFY_AFTER : 0;
    options->non_moving = number("GCgchNonMoving", NULL, 0) != 0;
    options->non_generational = number("GCgchNonGenerational", NULL, 0) != 0;
    const char *path = NULL;
    if (runtime_text_setting("GCgchNote", &path)) report_to(path);
    reports = number("GCgchReport", NULL, 0);
    settings_note_limit(options->heap_bytes_max);
}

/* The runtime tells nobody when it ends. */
__attribute__((destructor)) static void report_at_end(void) {
    if (!reports || !heap) return;
    if (reports > 1) gc_heap_print_pauses(heap, stderr);
    pause_record last = pause_last(0);
    const gc_stats *stats = &last.stats;
    fprintf(
        stderr,
        "libgch: collections %llu %llu %llu, moved %.1f MB, pauses %.1f ms, longest %.2f ms, held at most %.1f MB, %llu markings beside the program\n",
        (unsigned long long)pause_count(0), (unsigned long long)pause_count(1), (unsigned long long)pause_count(2),
        (double)stats->moved_bytes / 1e6, (double)stats->pause_total_ns / 1e6, (double)stats->pause_max_ns / 1e6,
        (double)stats->committed_bytes_peak / 1e6, (unsigned long long)stats->concurrent_finished);
}

uint64_t settings_memory(void) { return __atomic_load_n(&limit_bytes, __ATOMIC_RELAXED); }
uint64_t settings_load(void) { return pause_last(0).stats.committed_bytes; }
uint32_t settings_load_percent(void) { return (uint32_t)(settings_load() * 100 / settings_memory()); }
uint64_t settings_clock_ns(void) { return clock_now() - started_ns; }
size_t settings_bytes_in_use(void) {
    pause_record last = pause_last(0);
    return last.stats.live_bytes + (size_t)(allocate_given() - last.given_bytes);
}
