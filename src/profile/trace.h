/* Trace events, as Perfetto and chrome://tracing read them: pauses with their phases on the threads that collected, finalizers,
   the heap's sizes, and threads by name.

   The file is a bare array. Each record begins with the comma that follows the one before it, so a file that was cut between
   records is whole but for the closing bracket, without which chrome://tracing reads it. Times are microseconds since the
   profile's start. */
#pragma once

#include "../space/profiler.h"
#include "page.h"
#include "text.h"
#include "totals.h"

/* Puts a time or duration in microseconds. */
GC__FN void gc__trace_us(gc__output *output, uint64_t ns) {
    gc__put_format(output, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* Begins a record: the members that all have. The first record is that of gc__trace_begin. */
GC__FN void gc__trace_open(const gc__profile *profile, gc__output *output, const char *ph, const char *name,
                           uint32_t thread) {
    gc__put_text(output, ",\n{\"ph\":\"");
    gc__put_text(output, ph);
    gc__put_text(output, "\",\"name\":");
    gc__put_json(output, name);
    gc__put_format(output, ",\"pid\":%u,\"tid\":%u", (unsigned)profile->process, (unsigned)thread);
}

/* What happened before the profile started is shown at its start. */
GC__FN void gc__trace_time(const gc__profile *profile, gc__output *output, uint64_t ns) {
    gc__put_text(output, ",\"ts\":");
    gc__trace_us(output, gc__ns_since(ns, profile->start_ns));
}

/* A span of time, without its end: arguments may follow. */
GC__FN void gc__trace_span(const gc__profile *profile, gc__output *output, const char *name, uint32_t thread,
                           uint64_t from_ns, uint64_t to_ns) {
    from_ns = from_ns > profile->start_ns ? from_ns : profile->start_ns;
    gc__trace_open(profile, output, "X", name, thread);
    gc__put_text(output, ",\"cat\":\"gc\"");
    gc__trace_time(profile, output, from_ns);
    gc__put_text(output, ",\"dur\":");
    gc__trace_us(output, gc__ns_since(to_ns, from_ns));
}

/* Ends a record. */
GC__FN void gc__trace_close(gc__output *output) {
    gc__put_text(output, "}");
    gc__output_record(output);
}

/* The phases lie one after another from the collection's start on, and within it. */
GC__FN void gc__trace_phases(const gc__profile *profile, gc__output *output, const gc__profile_collection *collection) {
    uint64_t from = collection->start_ns;
    if (from > collection->asked_ns && collection->asked_ns) {
        gc__trace_span(profile, output, "stop threads", collection->thread, collection->asked_ns, from);
        gc__trace_close(output);
    }
    for (unsigned i = 0; i < collection->part_count; i++) {
        uint64_t to = from + collection->parts[i].ns;
        if (to > collection->end_ns) to = collection->end_ns;
        gc__trace_span(profile, output, gc__phase_text(collection->parts[i].phase), collection->thread, from, to);
        gc__trace_close(output);
        from = to;
    }
}

/* What a heap holds, as counters. A process may have several heaps. */
GC__FN void gc__trace_space(const gc__profile *profile, gc__output *output, uint32_t heap, uint64_t ns,
                            const gc__profile_space *space) {
    gc__trace_open(profile, output, "C", "live bytes", 0);
    gc__put_format(output, ",\"id\":\"heap %u\"", (unsigned)heap + 1);
    gc__trace_time(profile, output, ns);
    gc__put_format(output, ",\"args\":{\"generation 0\":%zu,\"generation 1\":%zu,\"generation 2\":%zu}",
                   space->generation_bytes[0], space->generation_bytes[1], space->generation_bytes[2]);
    gc__trace_close(output);
    gc__trace_open(profile, output, "C", "memory", 0);
    gc__put_format(output, ",\"id\":\"heap %u\"", (unsigned)heap + 1);
    gc__trace_time(profile, output, ns);
    gc__put_format(output, ",\"args\":{\"held\":%zu,\"large objects\":%zu,\"off-heap\":%zu}", space->held_bytes,
                   space->large_bytes, space->external_bytes);
    gc__trace_close(output);
}

GC__FN void gc__trace_collection(const gc__profile *profile, gc__output *output,
                                 const gc__profile_collection *collection) {
    char name[64];
    uint64_t from = collection->asked_ns ? collection->asked_ns : collection->start_ns;
    snprintf(name, sizeof name, "GC %u%s%s", (unsigned)collection->generation,
             collection->compacting ? ", compacting" : "", collection->left_out ? ", left out" : "");
    gc__trace_span(profile, output, name, collection->thread, from, collection->end_ns);
    gc__put_format(output, ",\"args\":{\"number\":%llu,\"heap\":%u,\"reason\":\"%s\"",
                   (unsigned long long)collection->number, (unsigned)collection->heap + 1,
                   gc_reason_text(collection->reason));
    size_t condemned = 0, survived = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        condemned += collection->condemned_bytes[g], survived += collection->promoted_bytes[g];
    gc__put_format(output, ",\"condemned bytes\":%zu,\"survived bytes\":%zu,\"moved bytes\":%zu}", condemned, survived,
                   collection->moved_bytes);
    gc__trace_close(output);
    gc__trace_phases(profile, output, collection);
    gc__trace_space(profile, output, collection->heap, collection->start_ns, &collection->before);
    gc__trace_space(profile, output, collection->heap, collection->end_ns, &collection->after);
}

GC__FN void gc__trace_thread(const gc__profile *profile, gc__output *output, const gc__profile_thread *thread) {
    gc__trace_open(profile, output, "M", "thread_name", thread->number);
    gc__put_text(output, ",\"args\":{\"name\":");
    gc__put_json(output, gc__profile_text(profile, thread->name));
    gc__put_text(output, "}");
    gc__trace_close(output);
}

/* A sampled allocation, or a tick. */
GC__FN void gc__trace_allocation(const gc__profile *profile, gc__output *output, const gc__profile_event *event) {
    gc__trace_open(profile, output, "i", gc__profile_type_name(profile, event->type), event->thread);
    gc__put_format(output, ",\"s\":\"t\",\"cat\":\"%s\"", event->kind == GC_PROFILE_TICK ? "tick" : "sample");
    gc__trace_time(profile, output, event->time_ns);
    gc__put_format(output, ",\"args\":{\"bytes\":%llu}", (unsigned long long)event->bytes);
    gc__trace_close(output);
}

GC__FN void gc__trace_lost(const gc__profile *profile, gc__output *output, const gc__profile_event *event) {
    gc__trace_open(profile, output, "i", "events lost", event->thread);
    gc__put_text(output, ",\"s\":\"t\",\"cat\":\"profile\"");
    gc__trace_time(profile, output, event->time_ns);
    gc__put_format(output, ",\"args\":{\"count\":%llu}", (unsigned long long)event->amount);
    gc__trace_close(output);
}

GC__FN void gc__trace_event(const gc__profile *profile, gc__output *output, const gc__profile_event *event) {
    if (event->kind == GC_PROFILE_SAMPLE || event->kind == GC_PROFILE_TICK)
        gc__trace_allocation(profile, output, event);
    if (event->kind == GC_PROFILE_LOST) gc__trace_lost(profile, output, event);
    if (event->kind == GC_PROFILE_COLLECTION_END)
        gc__trace_collection(profile, output, &profile->collections[event->collection]);
    if (event->kind != GC_PROFILE_FINALIZER) return;
    gc__trace_span(profile, output, "finalizer", event->thread, gc__ns_since(event->time_ns, event->amount), event->time_ns);
    gc__trace_close(output);
}

GC__FN void gc__trace_begin(const gc__profile *profile, gc__output *output) {
    gc__put_format(output, "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,\"args\":{\"name\":",
                   (unsigned)profile->process);
    gc__put_json(output, gc__program_name(profile));
    gc__put_text(output, "}");
    gc__trace_close(output);
}

GC__FN void gc__trace_events(const gc__profile *profile, const gc__profile_event *events, size_t count,
                             gc__output *output) {
    for (size_t i = 0; i < count; i++) gc__trace_event(profile, output, &events[i]);
}

/* What was allocated, by type, as one event at the end. */
GC__FN void gc__trace_types(const gc__profile *profile, gc__output *output) {
    const char *comma = "";
    gc__profile_amount *totals = gc__type_totals(profile, output);
    if (!totals) return;
    gc__trace_open(profile, output, "i", "allocated, by type", 0);
    gc__put_text(output, ",\"s\":\"p\",\"cat\":\"profile\"");
    gc__trace_time(profile, output, profile->end_ns);
    gc__put_text(output, ",\"args\":{");
    for (uint32_t type = 0; type < profile->types_count; type++) {
        if (!totals[type].samples) continue;
        gc__put_text(output, comma);
        gc__put_json(output, gc__profile_type_name(profile, type));
        gc__put_format(output, ":{\"count\":%.0f,\"bytes\":%.0f}", totals[type].count, totals[type].bytes);
        comma = ",";
    }
    gc__put_text(output, "}");
    gc__trace_close(output);
    gc__type_totals_free(profile, totals);
}

/* Says what a file does not have that is written by gc_profile_write. */
GC__FN void gc__trace_notice(const gc__profile *profile, gc__output *output) {
    gc__trace_open(profile, output, "i", "this file has collections only", 0);
    gc__put_text(output, ",\"s\":\"p\",\"cat\":\"profile\"");
    gc__trace_time(profile, output, profile->end_ns);
    gc__put_text(
        output, ",\"args\":{\"remedy\":\"start the profile with a .json file to have samples, finalizers and losses as "
                "well\"}");
    gc__trace_close(output);
}

GC__FN void gc__write_trace(const gc__profile *profile, gc__output *output) {
    for (size_t i = 0; i < profile->collections_count && !output->streamed; i++)
        gc__trace_collection(profile, output, &profile->collections[i]);
    for (size_t i = 0; i < profile->threads_count; i++)
        if (profile->threads[i].name) gc__trace_thread(profile, output, &profile->threads[i]);
    gc__trace_types(profile, output);
    if (!output->streamed) gc__trace_notice(profile, output);
    gc__put_text(output, "\n]\n");
}
