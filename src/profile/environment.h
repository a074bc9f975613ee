/* GC_PROFILE in the environment, and what happens with the program's heaps, processes and end. */
#pragma once

#include "control.h"

static bool gc__profile_asked;         /* the environment was looked at; profile lock */
static bool gc__profile_objects_tried; /* objects were written, or a warning said why not */

/* The bits of the events with that name; 0: none has it. */
GC__FN unsigned gc__profile_events_named(const char *name, size_t length) {
    static const char *const names[] = {
#define GC__PROFILE_OPTION(name, option, text) option,
        GC_PROFILE_KINDS(GC__PROFILE_OPTION)
#undef GC__PROFILE_OPTION
    };
    unsigned bits = 0;
    for (unsigned i = 0; i < GC_PROFILE_KIND_COUNT; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) bits |= 1u << i;
    return bits;
}

/* Reads one option, "name" or "name=number". */
GC__FN bool gc__profile_option_read(gc_profile_options *options, const char *option, size_t length) {
    const char *equals = (const char *)memchr(option, '=', length);
    size_t name = equals ? (size_t)(equals - option) : length;
    char *end = NULL;
    uint64_t number = equals ? strtoull(equals + 1, &end, 10) : 0;
    unsigned events = gc__profile_events_named(option, name);
    bool wide = number > UINT32_MAX; /* for a number of 32 bits */
    if (equals && (end != option + length || equals[1] < '0' || equals[1] > '9')) return false;
    if (equals && !number && strncmp(option, "seed=", 5) != 0) return false; /* which would be the default */
    options->what |= events;
    if (!equals && name == 7 && strncmp(option, "notexts", name) == 0)
        options->hides_texts = true;
    else if (!equals && name == 7 && strncmp(option, "perfmap", name) == 0)
        options->perf |= GC_PROFILE_PERF_MAP;
    else if (!equals && name == 7 && strncmp(option, "jitdump", name) == 0)
        options->perf |= GC_PROFILE_JITDUMP;
    else if (name == 5 && strncmp(option, "ticks", name) == 0)
        options->tick_bytes = number;
    else if (!wide && name == 7 && strncmp(option, "objects", name) == 0)
        options->per_second = (unsigned)number;
    else if (events || !equals)
        return events && !equals;
    else if (name == 6 && strncmp(option, "period", name) == 0)
        options->period_bytes = number;
    else if (!wide && name == 5 && strncmp(option, "depth", name) == 0)
        options->depth_max = (unsigned)number;
    else if (name == 6 && strncmp(option, "buffer", name) == 0)
        options->buffer_bytes = (size_t)number;
    else if (!wide && name == 8 && strncmp(option, "interval", name) == 0)
        options->interval_s = (unsigned)number;
    else if (name == 4 && strncmp(option, "seed", name) == 0)
        options->seed = number;
    else
        return false;
    return true;
}

/* Takes the text "FILE,option,option=number" apart; false with gc__fail. */
GC__FN bool gc__profile_setting_read(const char *setting, char *file, gc_profile_options *options) {
    size_t length = strcspn(setting, ",");
    memset(options, 0, sizeof *options);
    options->what = GC_PROFILE_DEFAULT;
    snprintf(file, GC__NAME_BYTES_MAX, "%.*s", (int)gc__min(length, GC__NAME_BYTES_MAX), setting);
    for (const char *at = setting + length; *at; at += length) {
        length = strcspn(++at, ",");
        if (gc__profile_option_read(options, at, length)) continue;
        gc__fail(GC_ERROR_OPTION,
                 "environment GC_PROFILE: no profile is taken, for `%.*s` is none of its options: period=N, "
                 "ticks, ticks=N, objects, objects=N, handles, depth=N, interval=SECONDS, buffer=N, seed=N, notexts, "
                 "perfmap, jitdump; numbers begin at 1",
                 (int)length, at);
        return false;
    }
    return true;
}

/* Starts the profile that the environment asks for, once. Lock held. */
GC__FN void gc__profile_ask(void) {
    char file[GC__NAME_BYTES_MAX];
    gc_profile_options options, filled;
    const char *setting = GC_ENVIRONMENT && !gc__profile_asked ? gc__setting("GC_PROFILE") : NULL;
    gc__profile_asked = true;
    if (!setting || !*setting) return;
    const gc__profile_format *format = NULL;
    bool ok = gc__profile_setting_read(setting, file, &options) && (format = gc__profile_find_format(file)) != NULL &&
              gc__profile_options_fill(&filled, &options) && gc__profile_begin(&filled, file, format) == GC_OK;
    gc__the_profile.by_environment = ok;
    if (!ok) gc__profile_warn(gc__last_message);
}

GC__FN void gc__profile_heap_created(gc_heap *heap) {
    gc__lock_take(&gc__profile_lock);
    if (!gc__profile_asked && !gc__the_profile.on) gc__profile_ask();
    if (gc__the_profile.on) gc__heap_enter(heap, true);
    gc__lock_release(&gc__profile_lock);
}

/* Writes the objects of a heap that is about to be destroyed, if that is what the environment asked for. */
GC__FN void gc__profile_write_last_objects(gc_heap *heap) {
    const gc__profile_format *format = gc__the_profile.format;
    gc__output output;
    if (!gc__the_profile.by_environment || !gc__the_profile.on || !format->objects) return;
    gc__profile_objects_tried = true;
    gc__world_stop(heap);
    if (gc__output_open(&output, gc__the_profile.file, false)) format->objects(&heap, 1, true, &output);
    gc__world_resume(heap);
    if (gc__output_close(&output)) return;
    gc__profile_fail_file(gc__the_profile.file, output.error);
    gc__profile_warn(gc__last_message);
}

GC__FN void gc__profile_heap_destroyed(gc_heap *heap) {
    gc__profile_write_last_objects(heap);
    gc__lock_take(&gc__profile_lock);
    gc__heap_leave(heap);
    gc__lock_release(&gc__profile_lock);
}

/* The child goes on with a copy of the profile, but must not write to the parent's files. */
GC__FN void gc__profile_forked(void) {
    gc__profiling *all = &gc__the_profile;
    all->by_environment = false;
    if (all->streaming) {
        all->streaming = false;
        gc__output_fail(&all->output, ECANCELED);
        gc__output_close(&all->output);
    }
    gc__perf_forget();
    all->file[0] = 0;
    all->writing = 0;
    all->profile.process = gc__os_process_number();
    for (gc__profiled_thread *thread = all->threads; thread; thread = thread->next) {
        if (gc__thread_self(thread->thread->heap) != thread->thread) continue;
        thread->tid = gc__os_thread_number();
        if (thread->profile == all->number) all->profile.threads[thread->number].number = thread->tid;
    }
}

static const gc__profiling_calls gc__the_profiling_calls = {gc__profile_heap_created, gc__profile_heap_destroyed,
                                                            gc__profile_detached, gc__profile_forked};

GC__AT_LOAD GC__FN void gc__profile_at_load(void) { gc__the_profiling = &gc__the_profiling_calls; }

/* Ends the profile that the environment asked for. */
GC__FN gc_result gc__profile_end_asked(void) {
    char file[GC__NAME_BYTES_MAX];
    gc_result result = gc__profile_end(file);
    const gc__profile_format *format = *file ? gc__profile_format_of(file) : NULL;
    if (result == GC_OK && format && !format->objects) result = gc__profile_write_copy(file, format);
    if (result == GC_OK && format && format->objects && !gc__profile_objects_tried)
        result = gc__fail(GC_ERROR_FILE,
                          "the profile %s is not written: the program ended without gc_heap_destroy; call that, or "
                          "gc_profile_write at the moment of interest",
                          file);
    return result;
}

/* Ends a profile that the host has left, whose writer would run on in a library that is gone, and frees everything, unless there
   still is a heap: then all of it may be in use. */
GC__FN gc_result gc__profile_unload(void) {
    char file[GC__NAME_BYTES_MAX];
    gc_result result = GC_OK;
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__the_arena.heaps) {
        if (gc__the_profile.on) result = gc__profile_end(file);
        gc__lock_take(&gc__profile_lock);
        gc__profile_free_all();
        gc__lock_release(&gc__profile_lock);
    }
    gc__lock_release(&gc__the_arena.lock);
    return result;
}

/* The end of the program, or of the library with this gc.h. Other threads may be running, and nothing waits for them. */
GC__AT_UNLOAD GC__FN void gc__profile_at_end(void) {
    if (gc__the_profile.by_environment && gc__profile_end_asked() != GC_OK) gc__profile_warn(gc__last_message);
    if (gc__profile_unload() != GC_OK) gc__profile_warn(gc__last_message);
}
