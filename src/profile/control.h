/* Starting, stopping and writing a profile. */
#pragma once

#include "codes.h"
#include "collections.h"
#include "formats.h"
#include "names.h"

/* Threads and heaps. */

/* Empties the thread's buffer for the last time, and frees it. Lock held. */
GC__FN void gc__thread_end(gc__profiled_thread *thread) {
    gc__profiled_thread **link = &gc__the_profile.threads;
    while (*link != thread) link = &(*link)->next;
    *link = thread->next;
    gc__thread_note_name(thread);
    gc__drain_thread(thread);
    if (thread->profile == gc__the_profile.number)
        gc__the_profile.profile.threads[thread->number].detached_ns = gc__os_now_ns();
    gc__record(thread->thread)->profiled = NULL;
    if (thread->rates_capacity) gc__os_unmap(thread->rates, thread->rates_capacity * sizeof *thread->rates);
    if (thread->buffer) gc__os_unmap(thread->buffer, thread->buffer_bytes);
    gc__os_unmap(thread, sizeof *thread);
}

GC__FN void gc__profile_detached(gc_thread *thread) {
    gc__profiled_thread *self = gc__record(thread)->profiled;
    if (self->waiting) gc__allocation_end(self);
    gc__lock_take(&gc__profile_lock);
    gc__thread_end(self);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__profile_attached(gc_thread *thread, bool attached) {
    gc__profiled_thread *self = attached ? gc__thread_begin(thread, true) : gc__record(thread)->profiled;
    gc_profile_event event;
    if (!self) return;
    memset(&event, 0, sizeof event);
    event.kind = GC_PROFILE_THREAD;
    event.amount = !attached;
    if (self->waiting) gc__allocation_end(self);
    if (gc__profile_wants(GC_PROFILE_THREAD)) gc__event_put(thread->heap, thread, &event, NULL);
    if (!attached) gc__profile_detached(thread);
}

static const gc__profiler gc__the_profiler = {
    gc__profile_extend,    gc__profile_unused,      gc__profile_allocated, gc__profile_stopped,
    gc__profile_resumed,   gc__profile_phase_begun, gc__profile_ended,     gc__profile_traced,
    gc__profile_finalized, gc__profile_handle,      gc__profile_attached,
};

/* Makes the heap part of the profile. Lock held. */
GC__FN bool gc__heap_enter(gc_heap *heap, bool created) {
    gc__profiling *all = &gc__the_profile;
    gc__profiled_heap *self = heap->profiled;
    if (self && self->profile == all->number) return true;
    gc__profile_heap *noted = GC__PROFILE_APPEND(&all->profile, heaps);
    if (!noted) return false;
    if (!self) {
        self = (gc__profiled_heap *)gc__os_map(sizeof *self);
        if (!self) return false;
        self->heap = heap;
        self->next = all->heaps;
        all->heaps = self;
        heap->profiled = self;
    }
    noted->address = (uintptr_t)heap;
    noted->created_ns = created ? gc__os_now_ns() : 0;
    self->number = (uint32_t)(all->profile.heaps_count - 1);
    __atomic_store_n(&self->profile, all->number, __ATOMIC_RELAXED);
    self->allocated_before = gc__counted(&heap->stats.allocated_bytes);
    for (int g = 0; g < GC_GENERATIONS; g++) self->tracked[g].count = 0;
    __atomic_store_n(&heap->profiler, &gc__the_profiler, __ATOMIC_RELEASE);
    return true;
}

/* What the heap's threads have allocated in the profile. They may have given back more of windows that they had before. */
GC__FN uint64_t gc__heap_allocated(const gc__profiled_heap *profiled) {
    uint64_t now = gc__counted(&profiled->heap->stats.allocated_bytes);
    return now - gc__min(now, profiled->allocated_before);
}

GC__FN void gc__heap_leave(gc_heap *heap) {
    gc__profiled_heap **link = &gc__the_profile.heaps, *self = heap->profiled;
    if (!self) return;
    for (gc__profiled_thread *thread = gc__the_profile.threads, *next; thread; thread = next) {
        next = thread->next;
        if (thread->thread->heap != heap) continue;
        if (thread->waiting) gc__allocation_end(thread);
        gc__thread_end(thread);
    }
    while (*link != self) link = &(*link)->next;
    *link = self->next;
    if (self->profile == gc__the_profile.number) {
        gc__the_profile.profile.heaps[self->number].destroyed_ns = gc__os_now_ns();
        gc__the_profile.ended_bytes += gc__heap_allocated(self);
    }
    gc__tracked_end(self);
    gc__os_unmap(self, sizeof *self);
    __atomic_store_n(&heap->profiler, (const gc__profiler *)NULL, __ATOMIC_RELEASE);
    heap->profiled = NULL;
}

/* Profiles. */

GC__FN gc_result gc__profile_fail_file(const char *file, int error) {
    char text[160];
    gc__os_error_text(error, text, sizeof text);
    return gc__fail(GC_ERROR_FILE, "the profile %s cannot be written: %s", file, text);
}

/* The format of the file, or NULL with gc__fail. */
GC__FN const gc__profile_format *gc__profile_find_format(const char *file) {
    char endings[256];
    size_t length = 0;
    const gc__profile_format *format = gc__profile_format_of(file);
    for (size_t i = 0; !format && i < sizeof gc__profile_formats / sizeof *gc__profile_formats; i++)
        length += (size_t)snprintf(endings + length, sizeof endings - length, " %s", gc__profile_formats[i].ending);
    if (!format)
        gc__fail(GC_ERROR_OPTION, "the profile %s has an unknown format: its name must end in one of%s", file, endings);
    return format;
}

#define GC__PERIOD_BYTES_MOST (UINT64_C(1) << 50) /* the chance of each byte must differ from 0 in calculations */

/* Fills in the defaults; false with gc__fail. */
GC__FN bool gc__profile_options_fill(gc_profile_options *options, const gc_profile_options *given) {
    const char *fault = NULL;
    memset(options, 0, sizeof *options);
    if (given) *options = *given;
    if (options->depth_max > GC__PROFILE_DEPTH_MAX) fault = "depth_max is over 256";
    if (options->what >> GC_PROFILE_KIND_COUNT) fault = "what has bits of no event";
    if (options->buffer_bytes > (size_t)1 << 30) fault = "buffer_bytes is over 1 GiB";
    if (fault) gc__fail(GC_ERROR_OPTION, "gc_profile_start: options.%s", fault);
    if (fault) return false;
    if (!options->period_bytes) options->period_bytes = 102400;
    if (!options->tick_bytes) options->tick_bytes = 102400;
    options->period_bytes = gc__min(options->period_bytes, GC__PERIOD_BYTES_MOST);
    options->tick_bytes = gc__min(options->tick_bytes, INT64_MAX);
    if (!options->per_second) options->per_second = 5;
    if (!options->what) options->what = GC_PROFILE_DEFAULT;
    if (!options->depth_max) options->depth_max = 128;
    if (!options->seed) options->seed = gc__os_now_ns() ^ gc__os_utc_ns() << 20;
    size_t bytes = 4096;
    while (bytes < (options->buffer_bytes ? options->buffer_bytes : 65536)) bytes *= 2;
    options->buffer_bytes = bytes;
    return true;
}

/* Forgets the last profile. Lock held. */
GC__FN void gc__profile_forget(gc__profiling *all) {
    if (all->number) gc__profile_free(&all->profile);
    gc__tracked_free(all->ended);
    if (all->code_order_capacity) gc__os_unmap(all->code_order, all->code_order_capacity);
    if (all->events.capacity) gc__os_unmap(all->events.items, all->events.capacity);
    if (all->sorted.capacity) gc__os_unmap(all->sorted.items, all->sorted.capacity);
    memset(&all->recent, 0, sizeof all->recent);
    all->doubled = false;
    memset(&all->events, 0, sizeof all->events);
    memset(&all->sorted, 0, sizeof all->sorted);
    all->code_order = NULL;
    all->code_order_count = all->code_order_capacity = 0;
    all->written_ns = all->ended_bytes = 0;
    all->file_changes = 0;
}

/* What can be known only now. False: no memory. Lock held. */
GC__FN bool gc__profile_refresh(gc__profiling *all) {
    gc__drain();
    if (all->on) all->profile.end_ns = gc__os_now_ns();
    for (gc__profiled_thread *thread = all->threads; thread; thread = thread->next) gc__thread_note_name(thread);
    if (!all->on) return all->profile.entries_count || !all->profile.sites_count;
    all->profile.allocated_bytes = all->ended_bytes;
    for (const gc__profiled_heap *heap = all->heaps; heap; heap = heap->next)
        if (heap->profile == all->number)
            all->profile.allocated_bytes += gc__heap_allocated(heap);
    all->profile.lost_events += __atomic_exchange_n(&all->lost_outside, 0, __ATOMIC_RELAXED);
    return gc__tracked_sum(all);
}

/* Writes a copy of the profile, which may go on. */
GC__FN gc_result gc__profile_write_copy(const char *file, const gc__profile_format *format) {
    gc__profile copy;
    gc__lock_take(&gc__profile_lock);
    bool any = gc__the_profile.number != 0, copied = false, doubled = false;
    if (any) {
        copied = gc__profile_refresh(&gc__the_profile) && gc__profile_copy(&copy, &gc__the_profile.profile);
        doubled = gc__the_profile.doubled;
    }
    gc__lock_release(&gc__profile_lock);
    if (copied && doubled && !gc__profile_unite(&copy)) {
        gc__profile_free(&copy);
        copied = false;
    }
    if (!any) return gc__fail(GC_ERROR_MISUSE, "gc_profile_write: there is no profile: start one by gc_profile_start");
    if (!copied)
        return gc__fail(GC_ERROR_MEMORY, "gc_profile_write: the system gives no memory for a copy of the profile");
    gc__output output;
    gc__names_find(&copy);
    if (gc__output_open(&output, file, false)) {
        if (format->begin) format->begin(&copy, &output);
        format->write(&copy, &output);
    }
    bool written = gc__output_close(&output);
    gc__profile_free(&copy);
    return written ? GC_OK : gc__profile_fail_file(file, output.error);
}

/* The thread that writes the file at intervals, for programs that are killed. */

GC__FN void gc__profile_writer(void *context) {
    gc__profiling *all = (gc__profiling *)context;
    uint64_t seconds = all->profile.options.interval_s, interval = seconds * 1000 * GC__NS_PER_MS;
    uint64_t written = gc__os_now_ns();
    while (__atomic_load_n(&all->writing, __ATOMIC_SEQ_CST)) {
        uint64_t now = gc__os_now_ns();
        if (!gc__ns_passed(now, written, interval)) {
            gc__os_wait_for(&all->writing, 1, interval - (now - written));
        } else {
            gc__profile_write_copy(all->file, all->format);
            written = gc__os_now_ns();
        }
    }
}

/* Lock held. */
GC__FN void gc__profile_writer_start(gc__profiling *all) {
    const gc__profile_format *format = all->format;
    if (!all->profile.options.interval_s || !format || format->events || format->objects) return;
    __atomic_store_n(&all->writing, 1u, __ATOMIC_SEQ_CST);
    if (!gc__os_thread_start(&all->writer, gc__profile_writer, all))
        __atomic_store_n(&all->writing, 0u, __ATOMIC_SEQ_CST);
}

GC__FN void gc__profile_writer_end(gc__profiling *all) {
    if (!__atomic_exchange_n(&all->writing, 0u, __ATOMIC_SEQ_CST)) return;
    gc__os_wake(&all->writing);
    gc__os_thread_join(&all->writer);
}

/* Lock held. */
GC__FN gc_result gc__profile_begin(const gc_profile_options *options, const char *file,
                                   const gc__profile_format *format) {
    gc__profiling *all = &gc__the_profile;
    bool streamed = format && format->events;
    if (file && strlen(file) >= sizeof all->file) return gc__profile_fail_file(file, ENAMETOOLONG);
    if (streamed && !gc__output_open(&all->output, file, true)) {
        int error = all->output.error;
        gc__output_close(&all->output);
        return gc__profile_fail_file(file, error);
    }
    gc__profile_forget(all);
    if (!gc__profile_open(&all->profile)) {
        if (streamed) gc__output_close(&all->output);
        return gc__fail(GC_ERROR_MEMORY, "gc_profile_start: the system gives no memory for the profile");
    }
    all->profile.options = *options;
    all->profile.start_ns = gc__os_now_ns();
    all->profile.start_utc_ns = gc__os_utc_ns();
    all->profile.process = gc__os_process_number();
    all->format = format;
    all->streaming = streamed;
    snprintf(all->file, sizeof all->file, "%s", file ? file : "");
    __atomic_store_n(&all->lost_outside, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < GC__BUDGETS; i++) __atomic_store_n(&all->budgets[i], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&all->what, options->what, __ATOMIC_RELAXED);
    __atomic_store_n(&all->hides_texts, options->hides_texts, __ATOMIC_RELAXED);
    __atomic_store_n(&all->number, all->number + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&all->on, 1u, __ATOMIC_RELEASE);
    gc__codes_begin(all);
    if (streamed) {
        format->begin(&all->profile, &all->output);
        gc__output_flush(&all->output);
    }
    gc__profile_writer_start(all);
    return GC_OK;
}

GC_API gc_result gc_profile_start(const gc_profile_options *options, const char *file) {
    GC__API_SCOPE("gc_profile_start");
    gc_profile_options filled;
    const gc__profile_format *format = NULL;
    if (file && !(format = gc__profile_find_format(file))) return GC_ERROR_OPTION;
    if (!gc__profile_options_fill(&filled, options)) return GC_ERROR_OPTION;
    gc__heaps_lock_take();
    gc__lock_take(&gc__profile_lock);
    gc_result result = GC_OK;
    if (gc__the_profile.on)
        result = gc__fail(GC_ERROR_MISUSE, "gc_profile_start: a profile is being taken: end it by gc_profile_stop");
    else
        result = gc__profile_begin(&filled, file, format);
    bool entered = true;
    for (gc_heap *heap = gc__heaps; result == GC_OK && heap; heap = heap->threads->next_heap)
        entered = gc__heap_enter(heap, false) && entered;
    if (!entered)
        result = gc__fail(GC_ERROR_MEMORY, "gc_profile_start: a heap is left out: the system gives no memory");
    gc__lock_release(&gc__profile_lock);
    gc__heaps_lock_release();
    return result;
}

/* Writes the objects of all heaps. The calling function has stopped them. */
GC__FN gc_result gc__profile_write_heaps(const char *file, const gc__profile_format *format) {
    gc__output output;
    size_t count = 0, at = 0;
    for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap) count++;
    gc_heap **heaps = (gc_heap **)gc__os_map((count + 1) * sizeof *heaps);
    for (gc_heap *heap = gc__heaps; heaps && heap; heap = heap->threads->next_heap) heaps[at++] = heap;
    bool open = gc__output_open(&output, file, false);
    if (!heaps) gc__output_fail(&output, ENOMEM);
    if (open && heaps) format->objects(heaps, count, false, &output);
    if (heaps) gc__os_unmap(heaps, (count + 1) * sizeof *heaps);
    return gc__output_close(&output) ? GC_OK : gc__profile_fail_file(file, output.error);
}

/* Stops all heaps, as fork does. */
GC__INLINED gc_result gc__profile_write_objects(const char *file, const gc__profile_format *format) {
    gc__heaps_stop("writing the objects of a profile");
    gc_result result = gc__profile_write_heaps(file, format);
    for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap) {
        gc__world_resume_locked(heap);
        gc__heap_let_go(heap);
    }
    gc__heaps_lock_release();
    return result;
}

GC_API gc_result gc_profile_write(const char *file) {
    GC__API_SCOPE("gc_profile_write");
    if (gc__is_null(file, "gc_profile_write", "file")) return GC_ERROR_ARGUMENT;
    const gc__profile_format *format = gc__profile_find_format(file);
    if (!format) return GC_ERROR_OPTION;
    return format->objects ? gc__profile_write_objects(file, format) : gc__profile_write_copy(file, format);
}

/* Completes the file of a streamed format. Lock held. */
GC__FN gc_result gc__profile_stream_end(gc__profiling *all) {
    gc__events_write(all, UINT64_MAX);
    all->streaming = false;
    gc__names_find(&all->profile);
    all->format->write(&all->profile, &all->output);
    return gc__output_close(&all->output) ? GC_OK : gc__profile_fail_file(all->file, all->output.error);
}

/* Ends the profile; `file` gets the name under which it is still to be written, or "". */
GC__FN gc_result gc__profile_end(char *file) {
    gc__profiling *all = &gc__the_profile;
    gc_result result = GC_OK;
    *file = 0;
    gc__profile_writer_end(all);
    gc__lock_take(&gc__profile_lock);
    if (!all->on) {
        result = gc__fail(GC_ERROR_MISUSE, "gc_profile_stop: no profile is being taken");
    } else {
        gc__profile_refresh(all);
        if (all->streaming)
            result = gc__profile_stream_end(all);
        else
            memcpy(file, all->file, sizeof all->file);
        for (gc__profiled_heap *heap = all->heaps; heap; heap = heap->next)
            __atomic_store_n(&heap->heap->profiler, (const gc__profiler *)NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&all->on, 0u, __ATOMIC_RELEASE);
        all->by_environment = false;
        gc__codes_end();
    }
    gc__lock_release(&gc__profile_lock);
    return result;
}

GC_API gc_result gc_profile_stop(void) {
    GC__API_SCOPE("gc_profile_stop");
    char file[GC__NAME_BYTES_MAX];
    gc_result result = gc__profile_end(file);
    if (result != GC_OK || !*file) return result;
    const gc__profile_format *format = gc__profile_format_of(file);
    return format->objects ? gc__profile_write_objects(file, format) : gc__profile_write_copy(file, format);
}

/* The record of that host; NULL: no memory. Lock held. */
GC__FN gc__profile_host_set *gc__profile_host_find(const gc_profile_host *host) {
    gc__profile_host_set *set = gc__the_profile_hosts;
    while (set && memcmp(&set->host, host, sizeof *host) != 0) set = set->next;
    if (set) return set;
    set = (gc__profile_host_set *)calloc(1, sizeof *set);
    if (!set) return NULL;
    set->host = *host;
    set->next = gc__the_profile_hosts;
    return gc__the_profile_hosts = set;
}

GC_API void gc_profile_set_host(const gc_profile_host *host) {
    const gc_profile_host none = {NULL, NULL, NULL};
    gc__lock_take(&gc__profile_lock);
    gc__profile_host_set *set = gc__profile_host_find(host ? host : &none);
    if (set) __atomic_store_n(&gc__the_profile_host, set, __ATOMIC_RELEASE);
    gc__lock_release(&gc__profile_lock);
}

/* Frees what is left of profiles. Lock held; there is no heap, nor thread of a profile. */
GC__FN void gc__profile_free_all(void) {
    gc__profile_forget(&gc__the_profile);
    __atomic_store_n(&gc__the_profile.number, 0, __ATOMIC_RELEASE);
    gc__known_free();
    gc__rules_free();
    __atomic_store_n(&gc__the_profile_host, (gc__profile_host_set *)NULL, __ATOMIC_RELEASE);
    while (gc__the_profile_hosts) {
        gc__profile_host_set *next = gc__the_profile_hosts->next;
        free(gc__the_profile_hosts);
        gc__the_profile_hosts = next;
    }
}
