/* Creating and destroying heaps. */
#pragma once

#include "../collection/collection.h"
#include "../space/profiler.h"
#include "../threads/stack.h"
#include "../policy/pace.h"
#include "../diag/pauses.h"
#include "../diag/shadow.h"
#include "../diag/stress.h"
#include "../api/pause.h"
#include "../diag/verify.h"
#include "limits.h"
#include "../collection/worker_threads.h"
#include "finalize.h"
#include "../collection/components.h"
#include "fork.h"
#include "../collection/concurrent.h"

/* What a process reports about its collector: when the first heap is created, settings of the environment that have
   no effect in this process; at its end, if GC_VERBOSE is set, that the collector was in use and what it found. */

static uint32_t gc__announced_by; /* number of the process that created the first heap; atomic; 0: there was none */
static bool gc__is_verbose;       /* written by the thread that creates the first heap */
static bool gc__shows_pauses;     /* written likewise: GC_VERBOSE=pauses */

GC__COLD void gc__warn_unheeded(const gc_options *options, const char *variable, const char *why) {
    const char *value = gc__setting(variable);
    if (value)
        gc__warn(options,
                 "environment %s=%.300s: the program `%.60s` (process %u) does not heed it, for %s; or unset %s for this "
                 "program, if another one is meant",
                 variable, value, gc__os_program_name(), gc__os_process_number(), why, variable);
}

/* The same of those that ask for what the collector was compiled without. */
GC__COLD void gc__announce_left_out(const gc_options *options) {
    static const struct {
        const char *variable, *none, *macro;
        bool is_there;
    } settings[] = {
        {"GC_STRESS", "0", "GC_DIAGNOSTICS=0", GC_DIAGNOSTICS},      {"GC_VERIFY", "0", "GC_DIAGNOSTICS=0", GC_DIAGNOSTICS},
        {"GC_CHECKMARK", "0", "GC_DIAGNOSTICS=0", GC_DIAGNOSTICS},   {"GC_VERBOSE", "0", "GC_DIAGNOSTICS=0", GC_DIAGNOSTICS},
        {"GC_CONCURRENT", "0", "GC_CONCURRENT=0", GC_CONCURRENT},
        {"GC_COLLECTOR_THREADS", "1", "GC_COLLECTOR_THREADS_MAX=1", GC_COLLECTOR_THREADS_MAX > 1}};
    if (GC_DIAGNOSTICS && GC_CONCURRENT && GC_COLLECTOR_THREADS_MAX > 1) return;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = settings[i].is_there ? NULL : gc__setting(settings[i].variable);
        char why[80];
        if (!value || strcmp(value, settings[i].none) == 0) continue;
        snprintf(why, sizeof why, "its collector was compiled with %s: compile it without that", settings[i].macro);
        gc__warn_unheeded(options, settings[i].variable, why);
    }
}

/* Reports when the first heap is created. In a forked process the parent has done so. */
GC__COLD void gc__announce(const gc_options *options) {
    uint32_t nobody = 0;
    if (!GC_ENVIRONMENT || !__atomic_compare_exchange_n(&gc__announced_by, &nobody, gc__os_process_number(), false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    gc__announce_left_out(options);
    const char *verbose = gc__setting("GC_VERBOSE");
    gc__is_verbose = GC_DIAGNOSTICS && verbose && strcmp(verbose, "0") != 0;
    gc__shows_pauses = GC_DIAGNOSTICS && verbose && strcmp(verbose, "pauses") == 0;
    for (int i = 0; i < 2 && !gc__the_outside.can_be_chosen; i++)
        gc__warn_unheeded(options, i ? "GC_PATH" : "GC_NAME",
                          "its collector was compiled without GC_STANDALONE: define that, and include gc_standalone.h "
                          "instead of gc.h, in the file that defines GC_IMPLEMENTATION");
    if (!gc__the_profiling)
        gc__warn_unheeded(options, "GC_PROFILE",
                          gc__the_outside.can_be_chosen
                              ? "the collector in force was compiled without gc_profile.h: set GC_PATH to libgc-profile.so"
                              : "its collector was compiled without gc_profile.h: include that, after gc.h, in the file "
                                "that defines GC_IMPLEMENTATION");
}

GC__COLD void gc__announce_pauses(gc_heap *heap) {
    if (!GC_DIAGNOSTICS || !gc__shows_pauses) return;
    fprintf(stderr, "gc.h: the pauses of heap %p of `%s` (process %u)\n", (void *)heap, gc__os_program_name(),
            gc__os_process_number());
    gc_heap_print_pauses(heap, stderr);
}

/* Reports at the end of the process, or of a library with this collector. */
GC__COLD void gc__announce_end(void) {
    uint64_t count = __atomic_load_n(&gc__verifications, __ATOMIC_RELAXED);
    const char *name = gc__the_outside.name ? gc__the_outside.name : "gc.h " GC_VERSION_TEXT;
    if (!GC_DIAGNOSTICS || !gc__is_verbose || gc__announced_by != gc__os_process_number()) return;
    fprintf(stderr, "gc.h: `%s` (process %u) ran on the collector `%s`, which ", gc__os_program_name(),
            gc__os_process_number(), name);
    if (count)
        fprintf(stderr, "verified its heaps %llu time%s and found no fault\n", (unsigned long long)count,
                count == 1 ? "" : "s");
    else
        fputs("was not asked to verify its heaps\n", stderr);
}

/* Reads a number from the environment; leaves *number unchanged if the variable is not set. Returns false, with
   gc__fail, if the value is no number. */
GC__COLD bool gc__number_from_environment(const char *name, unsigned *number) {
    const char *text = gc__setting(name);
    if (!text) return true;
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value > ~0u)
        return gc__fail(GC_ERROR_OPTION, "environment %s=%s: it must be a number", name, text) == GC_OK;
    *number = (unsigned)value;
    return true;
}

/* Returns whether the variable is set, and not to 0. */
GC__COLD bool gc__is_set(const char *name) {
    const char *text = gc__setting(name);
    return text && strcmp(text, "0") != 0;
}

GC__COLD gc_result gc__stress_from_environment(gc_options *options) {
    static const char *const names[] = {"", "allocation", "safepoint", "", "stack", "location"}; /* by GC_STRESS_* */
    const char *stress = gc__setting("GC_STRESS");
    if (!stress) return GC_OK;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(stress, names[i]) != 0) continue;
        options->debug.stress = (gc_stress)i;
        return GC_OK;
    }
    char *end;
    unsigned long every = strtoul(stress, &end, 10);
    if (*end || every > 0xFFFFFFFF)
        return gc__fail(
            GC_ERROR_OPTION,
            "environment GC_STRESS=%s: it must be allocation, safepoint, stack, location, or a number N to collect at "
            "every Nth allocation",
            stress);
    options->debug.stress = every ? GC_STRESS_NTH : GC_STRESS_OFF;
    options->debug.stress_interval = (unsigned)every;
    return GC_OK;
}

/* Reads GC_STRESS, GC_VERIFY, GC_CHECKMARK, GC_COLLECTOR_THREADS and GC_CONCURRENT. */
GC__COLD gc_result gc__options_from_environment(gc_options *options) {
    if (!GC_ENVIRONMENT) return GC_OK;
    if (GC_COLLECTOR_THREADS_MAX > 1 && (!gc__number_from_environment("GC_COLLECTOR_THREADS", &options->collector_threads) ||
                                         !gc__number_from_environment("GC_TEST_COLLECTORS", &options->test.collectors)))
        return GC_ERROR_OPTION;
    if (GC_CONCURRENT && gc__setting("GC_CONCURRENT"))
        options->concurrent = gc__is_set("GC_CONCURRENT") ? GC_CONCURRENT_ON : GC_CONCURRENT_OFF;
    if (!GC_DIAGNOSTICS) return GC_OK;
    if (gc__is_set("GC_VERIFY")) options->debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    if (gc__is_set("GC_CHECKMARK")) options->debug.checkmark = true;
    return gc__stress_from_environment(options);
}

GC__COLD bool gc__options_are_present(const gc_options *options) {
    const char *option = NULL, *macro = "GC_DIAGNOSTICS";
    if (!GC_DIAGNOSTICS && options->debug.stress) option = "debug.stress";
    if (!GC_DIAGNOSTICS && options->debug.verify) option = "debug.verify";
    if (!GC_DIAGNOSTICS && options->debug.checkmark) option = "debug.checkmark";
    if (!GC_CONCURRENT && options->concurrent == GC_CONCURRENT_ON) option = "concurrent", macro = "GC_CONCURRENT";
    if (!option) return true;
    gc__fail(GC_ERROR_OPTION,
             "options.%s asks for what this collector does not have, since gc.h was compiled with %s=0: compile the file "
             "that defines GC_IMPLEMENTATION with %s=1, or leave the option off",
             option, macro, macro);
    return false;
}

GC__COLD bool gc__option_is_known(unsigned value, unsigned most, const char *option, const char *constants) {
    if (value <= most) return true;
    return gc__fail(GC_ERROR_OPTION, "options.%s is %u, which is none of %s", option, value, constants) == GC_OK;
}

GC__COLD gc_result gc__options_check(const gc_options *options) {
    const unsigned verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    if (!gc__limit_is_least(options->heap_bytes_max) || !gc__overhead_is_percent(options->overhead_percent_max) ||
        !gc__option_is_known(options->debug.stress, GC_STRESS_LOCATION, "debug.stress", "GC_STRESS_*") ||
        !gc__option_is_known(options->debug.verify, verify, "debug.verify", "GC_VERIFY_*, nor their sum") ||
        !gc__option_is_known(options->concurrent, GC_CONCURRENT_OFF, "concurrent", "GC_CONCURRENT_*") ||
        !gc__option_is_known(options->trace_functions, GC_TRACE_FUNCTIONS_CONCURRENT, "trace_functions",
                             "GC_TRACE_FUNCTIONS_*") ||
        !gc__options_are_present(options))
        return GC_ERROR_OPTION;
    if (options->debug.stress == GC_STRESS_LOCATION && !options->debug.location)
        return gc__fail(GC_ERROR_OPTION, "GC_STRESS=location needs options.debug.location, by which the host says where it is");
    if (options->collector_threads > GC__WORKERS_MAX)
        return gc__fail(GC_ERROR_OPTION,
                        "options.collector_threads is %u: at most %u threads trace together "
                        "(GC_COLLECTOR_THREADS_MAX, which is 32 at most)",
                        options->collector_threads, GC__WORKERS_MAX);
    return GC_OK;
}

/* Frees what all heaps share. The arena's lock is held; there is no heap. */
GC__COLD void gc__arena_end(void) {
    gc__shadow = NULL; /* it is unmapped with the arena */
    gc__arena_close();
}

/* Counts one heap less, or a heap that was not created after all. */
GC__COLD void gc__arena_left(void) {
    gc__lock_take(&gc__the_arena.lock);
    if (!--gc__the_arena.heaps && gc__supply_is_host()) gc__arena_end();
    gc__lock_release(&gc__the_arena.lock);
}

GC__COLD void gc__heap_start_pace(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    pace->cache_bytes = gc__os_l2_bytes();
    pace->allocating = 1;
    pace->nursery_bytes = heap->options.nursery_bytes;
    if (!pace->nursery_bytes)
        pace->nursery_bytes = gc__min(gc__max(pace->cache_bytes, GC__NURSERY_MIN), gc__nursery_most(heap));
    pace->young_ns_per_mib = GC__YOUNG_NS_FIRST;
    pace->copy_ns_per_mib = GC__COPY_NS_PER_MIB;
    pace->slot_ns = GC__SLOT_NS;
    pace->trace_ns_per_mib[0] = pace->trace_ns_per_mib[1] = GC__TRACE_NS_FIRST;
    if (!heap->options.nursery_bytes && gc__has_pause_goal(heap))
        pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_in_time(heap));
    heap->budget_bytes = pace->nursery_bytes;
    pace->resumed_cpu_ns = gc__os_cpu_ns();
    pace->resumed_by = gc__os_self();
    gc__pace_goal(heap, 0);
    pace->survival[0] = 20;
    pace->survival[1] = pace->survival[2] = 100; /* not known yet: promoting in place is the cheaper mistake */
    pace->old_survival = 100;
}

/* Creates the record of an empty heap. Returns NULL, with gc__fail, if there is no memory. */
GC__COLD gc_heap *gc__heap_new(const gc_options *options) {
    gc__instance *all = (gc__instance *)calloc(1, sizeof *all);
    if (!all) {
        gc__fail_memory("gc_heap_create", "the heap's record");
        return NULL;
    }
    gc_heap *heap = &all->heap;
    heap->options = *options;
    heap->threads = &all->threads;
    heap->collector = &all->collector;
    heap->pace = &all->pace;
    heap->cycle = &all->cycle;
    heap->cycle->plan = &heap->cycle->planned;
    heap->phase = GC_PHASE_NONE;
    heap->handles = &all->handles;
    heap->finalizers = &all->finalizers;
    heap->finalizers->spare = &heap->finalizers->first;
    heap->stress = &all->stress;
    heap->marker = &all->marker;
    heap->pauses = &all->pauses;
    gc__pauses_open(heap->pauses);
    heap->stores = &all->stores;
    heap->threads->users = 1;
    gc__lock_init(&heap->threads->lock);
    gc__owned_locks(heap, gc__lock_init);
    heap->threads->processors = gc__os_processors();
    heap->threads->crowded = heap->threads->processors == 1;
    heap->observer.changed = options->barrier_changed;
    heap->observer.host = options->host;
    heap->observer.needs_barrier = !options->non_generational;
    gc__limit_set(heap, options->heap_bytes_max, 0);
    heap->limit_is_open = !options->heap_bytes_max;
    heap->asked_concurrent = options->concurrent == GC_CONCURRENT_ON;
    gc__marking_resolve(heap, true);
    gc__heap_start_pace(heap);
    return heap;
}

/* Opens what all heaps share, and counts one heap more. */
GC__COLD gc_result gc__arena_enter(const gc_options *options) {
    gc__lock_take(&gc__the_arena.lock);
    gc_result opened = gc__arena_supply(options->memory);
    if (opened == GC_OK) opened = gc__arena_open();
    if (opened == GC_OK) opened = gc__shadow_open();
    if (opened == GC_OK) opened = gc__fork_open("gc_heap_create");
    if (opened == GC_OK) gc__marking_tables();
    gc__the_arena.heaps += opened == GC_OK;
    gc__lock_release(&gc__the_arena.lock);
    bool debugs = options->debug.stress || options->debug.verify || options->debug.checkmark;
    if (GC_DIAGNOSTICS && opened == GC_OK && debugs) gc__faults_watch();
    return opened;
}

/* Returns a heap whose barriers are in force, or NULL, with gc__fail. */
GC__COLD gc_heap *gc__heap_open(const gc_options *options) {
    gc_heap *heap = gc__heap_new(options);
    if (!heap || gc__barrier_attach(&heap->observer) == GC_OK) return heap;
    gc__heap_let_go_of_record(heap);
    return NULL;
}

GC_API __attribute__((cold)) gc_heap *gc_heap_create(const gc_options *given) {
    GC__API_SCOPE("gc_heap_create");
    gc_options options;
    memset(&options, 0, sizeof options);
    if (given) options = *given;
    if (gc__options_from_environment(&options) != GC_OK || gc__options_check(&options) != GC_OK) return NULL;
    gc__options_resolve(&options);
    if (gc__arena_enter(&options) != GC_OK) return NULL;
    gc_heap *heap = gc__heap_open(&options);
    if (!heap) {
        gc__arena_left();
        return NULL;
    }
    gc__marking_explain(heap);
    gc__heaps_add(heap);
    if (gc__the_profiling) gc__the_profiling->created(heap);
    gc__announce(&heap->options);
    return heap;
}

GC__COLD void gc__heap_free_regions(gc_heap *heap) {
    while (GC_DIAGNOSTICS && heap->quarantine) gc__quarantine_pop(heap);
    for (int g = 0; g < GC_GENERATIONS; g++) {
        while (heap->regions[g]) {
            gc__region *region = heap->regions[g];
            heap->regions[g] = region->next;
            if (g) gc__cards_clear(region->base, gc__region_end(region));
            gc__heap_give(heap, region);
        }
    }
    while (heap->free) gc__heap_release_free(heap);
}

#define GC__NOT_LEFT \
    "gc_heap_destroy: the thread `%s` is in cooperative mode: have it call gc_thread_detach, or wait in preemptive mode"

/* Waits until each other thread has left the heap, or is idle, and will learn that the heap is gone. Returns false if one uses
   the heap for longer than patience_ms, so that it must not be freed. */
GC__COLD bool gc__heap_await_users(gc_heap *heap) {
    for (uint64_t deadline = gc__deadline(heap->options.patience_ms);;) {
        gc__heap_lock(heap);
        __atomic_fetch_or(&heap->threads->stopping, (uint32_t)GC__STOP_ENDS, __ATOMIC_SEQ_CST);
        const gc_thread *self = gc__thread_self(heap), *user = heap->threads->first;
        for (; user && (user == self || gc__record(user)->unbound || gc__thread_is_idle(user)); user = gc__record(user)->next)
            GC_ASSERT(!user->code,
                      "gc_heap_destroy: the thread `%s` is in a native function that returns to compiled code",
                      gc__thread_name(user));
        bool late = user && gc__os_now_ns() >= deadline;
        GC_ASSERT(!late, GC__NOT_LEFT, gc__thread_name(user));
        if (late) gc__warn(&heap->options, GC__NOT_LEFT ": the heap's memory stays", gc__thread_name(user));
        uint32_t event = __atomic_load_n(&heap->finalizers->event, __ATOMIC_SEQ_CST);
        gc__heap_unlock(heap);
        if (!user || late) return !user;
        gc__finalizers_await(heap, event, gc__os_now_ns() + GC__NS_PER_MS);
    }
}

/* Takes all threads out of the heap's list. Those of other native threads then free their records themselves. */
GC__COLD void gc__heap_dismiss_all(gc_heap *heap) {
    for (gc_stack *stack; (stack = heap->threads->stacks); gc_stack_destroy(stack)) {
        if (stack->thread) stack->thread->stack = &gc__record(stack->thread)->own_stack;
        stack->thread = NULL;
    }
    for (gc_thread *thread; (thread = heap->threads->first);) {
        heap->threads->first = gc__record(thread)->next;
        gc__attach_note(thread, false);
        if (gc__record(thread)->unbound) gc__thread_free(thread);
    }
}

/* Ends the calling thread's attachment, the collector's threads, and all callbacks, of which those that run under the lock are
   removed under the lock; code that makes a callback without it checks gc__is_abandoned first. */
GC__COLD void gc__heap_leave_alone(gc_heap *heap, bool is_unused) {
    gc_options *options = &heap->options;
    gc_thread *self = gc__thread_self(heap);
    gc__heap_lock(heap); /* after a collection that a finalizer has begun */
    if (self && !gc__record(self)->finalizing) gc__thread_leave(self);
    __atomic_fetch_or(&heap->threads->stopping, (uint32_t)(GC__STOP_ENDS | GC__STOP_ABANDONED), __ATOMIC_SEQ_CST);
    options->scan_roots = NULL;
    options->suspend = options->restart = NULL;
    options->collection_start = options->collection_end = options->collection_traced = NULL;
    options->handle_is_held = NULL;
    options->debug.location = NULL;
    if (options->debug.stress == GC_STRESS_LOCATION) options->debug.stress = GC_STRESS_OFF;
    options->finalizers_ready = NULL;
    options->warning = options->fatal = NULL;
    if (is_unused) gc__heap_dismiss_all(heap);
    gc__workers_end(heap);
    gc__marking_end_thread(heap);
    /* The memory that barriers write to is not freed while another thread may be storing. */
    if (!is_unused) gc__store_logging_publish(heap, false);
    gc__heap_unlock(heap);
}

GC_API __attribute__((cold)) void gc_heap_destroy(gc_heap *heap) {
    if (!heap) return;
    if (GC_DEBUG >= 1) gc__check_outside("gc_heap_destroy");
    if (gc__is_called_by_hook(heap, "gc_heap_destroy")) return;
    if (gc__is_called_by_asked(gc__thread_self(heap), "gc_heap_destroy", GC__FRAME_TOP())) return;
    gc__marking_close(heap);
    bool ended = gc__finalizers_end(heap, (const void *)GC__FRAME_TOP()) && gc__heap_await_users(heap);
    if (ended) gc__announce_pauses(heap);
    gc__heaps_remove(heap);
    if (ended && gc__the_profiling) gc__the_profiling->destroyed(heap);
    gc__heap_leave_alone(heap, ended);
    if (!ended) {
        gc__barrier_detach(&heap->observer);
        uint64_t deadline = gc__deadline(heap->options.patience_ms);
        while (__atomic_load_n(&heap->threads->asking, __ATOMIC_SEQ_CST) && gc__os_now_ns() < deadline)
            gc__finalizers_await(heap, __atomic_load_n(&heap->finalizers->event, __ATOMIC_SEQ_CST),
                                 gc__os_now_ns() + GC__NS_PER_MS);
        return;
    }
    gc__remembering_end(heap);
    gc__log_flush();
    gc__heap_free_regions(heap);
    gc__barrier_detach(&heap->observer);
    gc__handles_free_all(heap);
    gc__finalizers_free(heap);
    gc__owned_each(heap, ~(unsigned)GC__LOCK, GC__OWN_FREE);
    gc__heap_let_go_of_record(heap);
    gc__arena_left();
}

/* Cleans up for a library that is unloaded: otherwise it would leave its arena behind, and a call into itself at the
   end of each thread that ever attached. If there still is a heap, for example when the program ends without
   destroying it, all of that may be in use. */
GC__AT_UNLOAD GC__FN void gc__unload(void) {
    gc__announce_end();
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__the_arena.heaps) {
        gc__os_leave();
        gc__arena_end();
    }
    gc__lock_release(&gc__the_arena.lock);
}

GC_API void *gc_heap_host(const gc_heap *heap) {
    return gc__is_null(heap, "gc_heap_host", "heap") ? NULL : heap->options.host;
}
