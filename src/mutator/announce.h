/* What a process reports about its collector: when the first heap is created, settings of the environment that have
   no effect in this process; at its end, if GC_VERBOSE is set, that the collector was in use and what it found. */
#pragma once

#include "../api/pause.h"
#include "../diag/verify.h"
#include "../space/profiler.h"

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
