/* The report as text: types by what was allocated of them, each with its call stacks and their counts, the most first. */
#pragma once

#include "../base/words.h"
#include "folded.h"
#include "totals.h"

#define GC__REPORT_STACKS_MAX 10 /* that are listed of each type */

/* What an entry stands for: estimated, or as OBJECT or TICK events count it if there are no samples. */
typedef struct gc__report_sum {
    double count, bytes, live_count, live_bytes;
    uint64_t events;
} gc__report_sum;

GC__FN void gc__report_add(gc__report_sum *sum, const gc__profile_entry *entry) {
    const gc__profile_marks *marks = &entry->marks;
    bool samples = entry->allocated.samples != 0, objects = marks->events != 0;
    sum->count += samples ? entry->allocated.count : objects ? (double)marks->objects : (double)marks->ticks;
    sum->bytes += samples ? entry->allocated.bytes : objects ? (double)marks->object_bytes : (double)marks->tick_bytes;
    sum->events += samples ? entry->allocated.samples : objects ? marks->events : marks->ticks;
    gc__profile_amount live = gc__entry_live(entry);
    sum->live_count += live.count;
    sum->live_bytes += live.bytes;
}

/* An entry or a type, and what it is sorted by. */
typedef struct gc__report_item {
    double bytes;
    uint32_t number;
} gc__report_item;

GC__FN int gc__report_compare(const void *a, const void *b) {
    const gc__report_item *x = (const gc__report_item *)a, *y = (const gc__report_item *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Entries of one type, sorted, with their sums. */
GC__FN size_t gc__report_entries(const gc__profile *profile, uint32_t type, gc__report_item *items) {
    size_t count = 0;
    for (size_t i = 0; i < profile->entries_count; i++) {
        gc__report_sum sum = {0, 0, 0, 0, 0};
        if (profile->entries[i].type != type) continue;
        gc__report_add(&sum, &profile->entries[i]);
        items[count].number = (uint32_t)i;
        items[count++].bytes = sum.bytes;
    }
    qsort(items, count, sizeof *items, gc__report_compare);
    return count;
}

GC__FN void gc__report_stack(const gc__profile *profile, const gc__profile_entry *entry, gc__output *output) {
    gc__report_sum sum = {0, 0, 0, 0, 0};
    char text[24];
    gc__report_add(&sum, entry);
    gc__put_format(output, "  %.0f objects, %.0f bytes (%llu events)", sum.count, sum.bytes,
                   (unsigned long long)sum.events);
    if (sum.live_count > 0) gc__put_format(output, "; in use: %.0f, %.0f bytes", sum.live_count, sum.live_bytes);
    gc__put_byte(output, '\n');
    for (uint32_t stack = entry->stack; stack; stack = gc__stack_caller(profile, stack)) {
        const gc__profile_frame *frame = gc__profile_frame_of(profile, stack);
        gc__put_text(output, "      ");
        gc__folded_put(output, gc__frame_name(profile, frame, text));
        if (frame->file) {
            gc__put_text(output, " at ");
            gc__folded_put(output, gc__profile_text(profile, frame->file));
        }
        if (frame->file && frame->line) gc__put_format(output, ":%u", (unsigned)frame->line);
        gc__put_byte(output, '\n');
    }
}

GC__FN void gc__report_type(const gc__profile *profile, uint32_t type, gc__report_item *items, gc__output *output) {
    gc__report_sum sum = {0, 0, 0, 0, 0};
    double died[GC_GENERATIONS] = {0}, all = 0;
    size_t count = gc__report_entries(profile, type, items);
    for (size_t i = 0; i < count; i++) {
        const gc__profile_entry *entry = &profile->entries[items[i].number];
        gc__report_add(&sum, entry);
        for (int g = 0; g < GC_GENERATIONS; g++) {
            died[g] += entry->died[g].count;
            all += entry->died[g].count + entry->live[g].count;
        }
    }
    gc__put_byte(output, '\n');
    gc__folded_put(output, gc__profile_type_name(profile, type));
    gc__put_format(output, ": %.0f objects, %.0f bytes (%llu events)", sum.count, sum.bytes,
                   (unsigned long long)sum.events);
    if (all > 0)
        gc__put_format(output, "; in use: %.0f, %.0f bytes; of 100 died %.0f young, %.0f in generation 1, %.0f in 2",
                       sum.live_count, sum.live_bytes, 100 * died[0] / all, 100 * died[1] / all, 100 * died[2] / all);
    gc__put_byte(output, '\n');
    for (size_t i = 0; i < count && i < GC__REPORT_STACKS_MAX; i++)
        gc__report_stack(profile, &profile->entries[items[i].number], output);
    if (count > GC__REPORT_STACKS_MAX)
        gc__put_format(output, "  and %zu other stacks\n", count - GC__REPORT_STACKS_MAX);
}

/* What the profile is, and what it lacks. */
GC__FN void gc__report_head(const gc__profile *profile, gc__output *output) {
    uint64_t pause_ns = 0, longest_ns = 0;
    for (size_t i = 0; i < profile->collections_count; i++) {
        uint64_t ns = gc__ns_since(profile->collections[i].end_ns, profile->collections[i].asked_ns);
        pause_ns += ns;
        if (ns > longest_ns) longest_ns = ns;
    }
    gc__put_format(output, "%.3f s, %llu bytes allocated; a byte in %llu is sampled\n",
                   (double)gc__ns_since(profile->end_ns, profile->start_ns) / 1e9, (unsigned long long)profile->allocated_bytes,
                   (unsigned long long)profile->options.period_bytes);
    gc__put_format(output, "%zu collections, %.3f ms in all, the longest %.3f ms\n", profile->collections_count,
                   (double)pause_ns / 1e6, (double)longest_ns / 1e6);
    if (profile->lost_events | profile->lost_samples | profile->lost_collections)
        gc__put_format(output, "lost: %llu events, %llu of them samples; %llu collections\n",
                       (unsigned long long)profile->lost_events, (unsigned long long)profile->lost_samples,
                       (unsigned long long)profile->lost_collections);
}

GC__FN void gc__write_report(const gc__profile *profile, gc__output *output) {
    size_t most = gc__max(profile->entries_count, profile->types_count) + 1, bytes = most * sizeof(gc__report_item);
    gc__report_item *items = (gc__report_item *)gc__os_map(2 * bytes), *types = items + most;
    gc__report_head(profile, output);
    if (!items) {
        gc__output_fail(output, ENOMEM);
        return;
    }
    for (size_t i = 0; i < profile->types_count; i++) types[i].number = (uint32_t)i;
    for (size_t i = 0; i < profile->entries_count; i++) {
        gc__report_sum sum = {0, 0, 0, 0, 0};
        gc__report_add(&sum, &profile->entries[i]);
        types[profile->entries[i].type].bytes += sum.bytes;
    }
    qsort(types, profile->types_count, sizeof *types, gc__report_compare);
    for (size_t i = 0; i < profile->types_count && types[i].bytes > 0; i++)
        gc__report_type(profile, types[i].number, items, output);
    gc__os_unmap(items, 2 * bytes);
}
