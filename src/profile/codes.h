/* Code that the host has named. */
#pragma once

#include "../threads/lock.h"
#include "drain.h"
#include "perf.h"

/* The place in the order of addresses of the first code that starts at `start` or later. */
GC__FN size_t gc__code_place(const gc__profiling *all, uintptr_t start) {
    size_t low = 0, high = all->code_order_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->profile.codes[all->code_order[middle]].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Copies code with its texts and lines into a profile; NULL: no memory. */
GC__FN gc__profile_code *gc__code_copy(gc__profile *to, const void *start, size_t bytes, const char *name,
                                       const gc_profile_line *lines, size_t line_count) {
    size_t first = to->lines_count;
    for (size_t i = 0; i < line_count; i++) {
        uint32_t file = gc__profile_text_add(to, lines[i].file);
        gc__profile_line *line = GC__PROFILE_APPEND(to, lines);
        if (!line) return NULL;
        line->address = lines[i].address;
        line->line = lines[i].line;
        line->file = file;
    }
    uint32_t text = gc__profile_text_add(to, name);
    gc__profile_code *code = GC__PROFILE_APPEND(to, codes);
    if (!code) return NULL;
    code->start = (uintptr_t)start;
    code->bytes = bytes;
    code->name = text;
    code->first_line = (uint32_t)first;
    code->line_count = (uint32_t)line_count;
    return code;
}

/* Enters the last code of the profile in the order of addresses. */
GC__FN bool gc__codes_enter(gc__profiling *all) {
    size_t number = all->profile.codes_count - 1;
    const gc__profile_code *code = &all->profile.codes[number];
    if (!gc__profile_reserve(&all->code_order, all->code_order_count, &all->code_order_capacity,
                             sizeof *all->code_order))
        return false;
    size_t at = gc__code_place(all, code->start);
    bool replaces = at < all->code_order_count && all->profile.codes[all->code_order[at]].start == code->start;
    if (!replaces)
        memmove(all->code_order + at + 1, all->code_order + at, (all->code_order_count - at) * sizeof *all->code_order);
    all->code_order[at] = number;
    all->code_order_count += !replaces;
    all->code_changes++;
    return true;
}

/* What the host has named, whether or not a profile is being taken, so that one that starts later has it. */
typedef struct gc__known_code {
    struct gc__known_code *next, *previous;
    const void *start;
    size_t bytes, line_count;
    gc_profile_line *lines;
    char *name; /* after the lines; the files' names follow it */
} gc__known_code;

typedef struct gc__known_codes {
    gc__known_code *first;
    gc__map places; /* records by start; a value of 0: none */
} gc__known_codes;

static gc__known_codes gc__the_known_codes; /* lock */

GC__FN gc__known_code *gc__known_make(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                      size_t line_count) {
    size_t size = sizeof(gc__known_code) + line_count * sizeof *lines + strlen(name) + 1;
    for (size_t i = 0; i < line_count; i++) size += (lines[i].file ? strlen(lines[i].file) : 0) + 1;
    gc__known_code *code = (gc__known_code *)malloc(size);
    if (!code) return NULL;
    memset(code, 0, sizeof *code);
    code->start = start;
    code->bytes = bytes;
    code->line_count = line_count;
    code->lines = (gc_profile_line *)(void *)(code + 1);
    code->name = (char *)(code->lines + line_count);
    char *text = code->name;
    text += strlen(strcpy(text, name)) + 1;
    for (size_t i = 0; i < line_count; i++) {
        code->lines[i] = lines[i];
        code->lines[i].file = strcpy(text, lines[i].file ? lines[i].file : "");
        text += strlen(text) + 1;
    }
    return code;
}

/* Forgets the code that starts there. */
GC__FN void gc__known_remove(const void *start) {
    uintptr_t *place = gc__map_find(&gc__the_known_codes.places, (uintptr_t)start);
    gc__known_code *code = place ? (gc__known_code *)*place : NULL;
    if (!code) return;
    *place = 0;
    if (code->next) code->next->previous = code->previous;
    if (code->previous)
        code->previous->next = code->next;
    else
        gc__the_known_codes.first = code->next;
    free(code);
}

GC__FN void gc__known_free(void) {
    while (gc__the_known_codes.first) gc__known_remove(gc__the_known_codes.first->start);
    gc__map_free(&gc__the_known_codes.places);
}

GC__FN void gc__profile_warn(const char *message) {
    gc_options options;
    memset(&options, 0, sizeof options);
    gc__warn(&options, "%s", message);
}

/* The profile learns of code that is there. False: no memory. Lock held. */
GC__FN bool gc__code_note(gc__profiling *all, const void *start, size_t bytes, const char *name,
                          const gc_profile_line *lines, size_t line_count, uint64_t added_ns) {
    gc__profile_code *noted = gc__code_copy(&all->profile, start, bytes, name, lines, line_count);
    if (!noted) return false;
    noted->added_ns = added_ns;
    gc__perf_note(start, bytes, name, lines, line_count);
    return gc__codes_enter(all);
}

/* The code is about to go. Lock held. */
GC__FN void gc__code_gone(gc__profiling *all, uintptr_t start) {
    size_t at = gc__code_place(all, start);
    if (at == all->code_order_count || all->profile.codes[all->code_order[at]].start != start) return;
    gc__drain(); /* stacks that were taken before have this code */
    all->profile.codes[all->code_order[at]].removed_ns = gc__os_now_ns();
    all->code_order_count--;
    memmove(all->code_order + at, all->code_order + at + 1, (all->code_order_count - at) * sizeof *all->code_order);
    all->code_changes++;
}

/* Code of gc_stackmap.h is added or removed. */
GC__FN void gc__code_watch(const void *start, size_t bytes, const char *name, bool is_added) {
    gc__profiling *all = &gc__the_profile;
    gc__lock_take(&gc__profile_lock);
    if (all->on && is_added) gc__code_note(all, start, bytes, name, NULL, 0, gc__os_now_ns());
    if (all->on && !is_added) gc__code_gone(all, (uintptr_t)start);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__code_was_there(void *context, const void *start, size_t bytes, const char *name) {
    gc__code_note((gc__profiling *)context, start, bytes, name, NULL, 0, 0);
}

/* A new profile begins: it has all code that is known, and that gc_stackmap.h has registered. Lock held. */
GC__FN void gc__codes_begin(gc__profiling *all) {
    if (!gc__perf_open(all->profile.options.perf))
        gc__profile_warn(
            "the files for perf (/tmp/perf-PID.map, jit-PID.dump in JITDUMPDIR or here) cannot be written, so "
            "perf will not know the names of compiled code: see that nobody else's are there");
    for (const gc__known_code *code = gc__the_known_codes.first; code; code = code->next)
        gc__code_note(all, code->start, code->bytes, code->name, code->lines, code->line_count, 0);
    __atomic_store_n(&gc__code_watcher, &gc__code_watch, __ATOMIC_RELEASE);
    if (gc__compiled) gc__compiled->each(gc__code_was_there, all);
}

/* The profile ends. Lock held. */
GC__FN void gc__codes_end(void) {
    __atomic_store_n(&gc__code_watcher, (gc__code_watch_call)0, __ATOMIC_RELEASE);
    gc__perf_close();
}

GC_API gc_result gc_profile_code_add(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                     size_t line_count) {
    gc__known_codes *known = &gc__the_known_codes;
    gc__profiling *all = &gc__the_profile;
    if (gc__is_null(start, "gc_profile_code_add", "start") || gc__is_null(name, "gc_profile_code_add", "name"))
        return GC_ERROR_ARGUMENT;
    gc__known_code *code = gc__known_make(start, bytes, name, lines, line_count);
    gc__lock_take(&gc__profile_lock);
    bool ok = code && gc__map_reserve(&known->places, known->places.count + 1);
    if (ok) {
        gc__known_remove(start);
        code->next = known->first;
        if (code->next) code->next->previous = code;
        known->first = code;
        *gc__map_put(&known->places, (uintptr_t)start) = (uintptr_t)code;
    } else {
        free(code);
    }
    if (ok && all->on) ok = gc__code_note(all, start, bytes, name, lines, line_count, gc__os_now_ns());
    gc__lock_release(&gc__profile_lock);
    return ok ? GC_OK : gc__fail(GC_ERROR_MEMORY, "gc_profile_code_add: the system gives no memory for the name");
}

GC_API void gc_profile_code_remove(const void *start) {
    gc__profiling *all = &gc__the_profile;
    gc__lock_take(&gc__profile_lock);
    gc__known_remove(start);
    if (all->on) gc__code_gone(all, (uintptr_t)start);
    gc__lock_release(&gc__profile_lock);
}
