/* The whole profile as one page that needs nothing else: flame graphs, pauses, the heap over time, and what dies young. The page
   has the profile as JSON, and draws it itself, so a large profile is no larger as a page. */
#pragma once

#include "folded.h"
#include "html_script.h"
#include "page.h"
#include "text.h"
#include "../space/profiler.h"

/* Puts "[", then what `put` puts of each of `count` items, with commas between them, then "]". */
#define GC__PUT_LIST(output, name, count, i, put)              \
    do {                                                       \
        gc__put_format(output, "%s\"" name "\":[", ",\n");     \
        for (size_t i = 0; i < (count); i++) {                 \
            if (i) gc__put_text(output, i % 16 ? "," : ",\n"); \
            put;                                               \
        }                                                      \
        gc__put_text(output, "]");                             \
    } while (0)

GC__FN void gc__page_amount(gc__output *output, const gc__profile_amount *amount) {
    if (amount->samples)
        gc__put_format(output, ",%.1f,%.0f", amount->count, amount->bytes);
    else
        gc__put_text(output, ",0,0");
}

/* Its innermost frame, and the stack of the caller. */
GC__FN void gc__page_stack(const gc__profile *profile, gc__output *output, uint32_t stack) {
    if (!stack || gc__stack_is_caller(profile, stack))
        gc__put_text(output, "[0,0]");
    else
        gc__put_format(output, "[%u,%u]", (unsigned)gc__stack_frame_number(profile, stack),
                       (unsigned)gc__stack_caller(profile, stack));
}

GC__FN void gc__page_entry(gc__output *output, const gc__profile_entry *entry) {
    gc__put_format(output, "[%u,%u", (unsigned)entry->type, (unsigned)entry->stack);
    gc__page_amount(output, &entry->allocated);
    for (int g = 0; g < GC_GENERATIONS; g++) gc__page_amount(output, &entry->live[g]);
    for (int g = 0; g < GC_GENERATIONS; g++) gc__page_amount(output, &entry->died[g]);
    gc__put_text(output, "]");
}

GC__FN void gc__page_frame(const gc__profile *profile, gc__output *output, const gc__profile_frame *frame) {
    char text[24];
    gc__put_json(output, gc__frame_name(profile, frame, text));
}

GC__FN void gc__page_space(gc__output *output, const gc__profile_space *space) {
    gc__put_format(output, "[%zu,%zu,%zu,%zu]", space->generation_bytes[0], space->generation_bytes[1],
                   space->generation_bytes[2], space->held_bytes);
}

GC__FN uint64_t gc__page_time(const gc__profile *profile, uint64_t ns) {
    return gc__ns_since(ns, profile->start_ns);
}

GC__FN void gc__page_collection(const gc__profile *profile, gc__output *output,
                                const gc__profile_collection *collection) {
    uint64_t asked = collection->asked_ns ? collection->asked_ns : collection->start_ns;
    gc__put_format(output, "\n{\"number\":%llu,\"generation\":%u,\"reason\":\"%s\",\"compacting\":%s,\"thread\":%u",
                   (unsigned long long)collection->number, (unsigned)collection->generation,
                   gc_reason_text(collection->reason), collection->compacting ? "true" : "false",
                   (unsigned)collection->thread);
    gc__put_format(output, ",\"asked\":%llu,\"start\":%llu,\"end\":%llu,\"parts\":[",
                   (unsigned long long)gc__page_time(profile, asked),
                   (unsigned long long)gc__page_time(profile, collection->start_ns),
                   (unsigned long long)gc__page_time(profile, collection->end_ns));
    for (unsigned i = 0; i < collection->part_count; i++)
        gc__put_format(output, "%s[%u,%llu]", i ? "," : "", (unsigned)collection->parts[i].phase,
                       (unsigned long long)collection->parts[i].ns);
    gc__put_text(output, "],\"before\":");
    gc__page_space(output, &collection->before);
    gc__put_text(output, ",\"after\":");
    gc__page_space(output, &collection->after);
    gc__put_text(output, "}");
}

GC__FN void gc__page_data(const gc__profile *profile, gc__output *output) {
    gc__put_format(output, "{\"duration_ns\":%llu,\"period_bytes\":%llu,\"allocated_bytes\":%llu,\"lost_samples\":%llu",
                   (unsigned long long)gc__ns_since(profile->end_ns, profile->start_ns),
                   (unsigned long long)profile->options.period_bytes, (unsigned long long)profile->allocated_bytes,
                   (unsigned long long)profile->lost_samples);
    GC__PUT_LIST(output, "phases", (size_t)GC_PHASE_COUNT, i, gc__put_json(output, gc__phase_text((gc_phase)i)));
    GC__PUT_LIST(output, "types", profile->types_count, i,
                 gc__put_json(output, gc__profile_type_name(profile, (uint32_t)i)));
    GC__PUT_LIST(output, "frames", profile->frames_count, i, gc__page_frame(profile, output, &profile->frames[i]));
    GC__PUT_LIST(output, "stacks", profile->stacks_count, i, gc__page_stack(profile, output, (uint32_t)i));
    GC__PUT_LIST(output, "entries", profile->entries_count, i, gc__page_entry(output, &profile->entries[i]));
    GC__PUT_LIST(output, "collections", profile->collections_count, i,
                 gc__page_collection(profile, output, &profile->collections[i]));
    gc__put_text(output, "}");
}

/* The page's head in words: how long, how much, how often. */
GC__FN void gc__page_summary(const gc__profile *profile, gc__output *output) {
    char bytes[32];
    uint64_t pauses = 0, longest = 0;
    for (size_t i = 0; i < profile->collections_count; i++) {
        const gc__profile_collection *collection = &profile->collections[i];
        uint64_t asked = collection->asked_ns ? collection->asked_ns : collection->start_ns,
                 pause = gc__ns_since(collection->end_ns, asked);
        pauses += pause;
        if (pause > longest) longest = pause;
    }
    gc__put_format(
        output,
        "<p>%s bytes allocated in %.3f s; %zu collections paused for %.1f ms in all, and %.2f ms at most.</p>\n",
        gc__grouped(bytes, (double)profile->allocated_bytes), (double)gc__ns_since(profile->end_ns, profile->start_ns) / 1e9,
        profile->collections_count, (double)pauses / 1e6, (double)longest / 1e6);
    gc__put_format(output,
                   "<p class='quiet'>One byte in %s was sampled, and what is shown of objects is estimated from that.",
                   gc__grouped(bytes, (double)profile->options.period_bytes));
    if (profile->lost_samples || profile->lost_collections)
        gc__put_format(output, " There was no room for %llu samples and %llu collections, which are missing.",
                       (unsigned long long)profile->lost_samples, (unsigned long long)profile->lost_collections);
    gc__put_text(output, "</p>\n");
}

GC__FN void gc__write_html(const gc__profile *profile, gc__output *output) {
    gc__put_text(output, "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n<title>Profile of ");
    gc__put_xml(output, gc__program_name(profile));
    gc__put_text(output, "</title>\n<meta name='viewport' content='width=device-width'>\n<style>\n");
    GC__PUT_LINES(output, gc__page_style);
    gc__put_text(output, "</style></head><body>\n<h1>");
    gc__put_xml(output, gc__program_name(profile));
    gc__put_text(output, "</h1>\n");
    gc__page_summary(profile, output);
    GC__PUT_LINES(output, gc__page_body);
    gc__put_text(output, "<script id='data' type='application/json'>");
    gc__page_data(profile, output);
    gc__put_text(output, "</script>\n<script>\n");
    GC__PUT_LINES(output, gc__page_script);
    gc__put_text(output, "</script>\n</body></html>\n");
}
