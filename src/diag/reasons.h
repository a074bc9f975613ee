/* Why a pause was long, in words; and the report of pauses. */
#pragma once

#include "../api/pause.h"
#include "../base/text.h"
#include "../space/profiler.h"
#include "stats.h"

#define GC__REASONS_MAX 3 /* parts of a pause that are explained at most */
#define GC__REASON_PART 5 /* each takes at least 1/n of the pause */

/* The parts of a pause that are not phases of the collection. */
enum { GC__PAUSE_HELP = GC_PHASE_COUNT, GC__PAUSE_STOP, GC__PAUSE_MARKER, GC__PAUSE_WAKE, GC__PAUSE_HOOKS, GC__PAUSE_PARTS };

/* Appends 12044 as "12,044". */
GC__COLD void gc__text_add_number(gc__text *text, uint64_t number) {
    if (number >= 1000) gc__text_add_number(text, number / 1000);
    gc__text_add(text, number >= 1000 ? ",%03u" : "%u", (unsigned)(number % 1000));
}

/* Appends the number with a word, as in "12,044 dirty cards", unless it is 0. */
GC__COLD void gc__reason_count(gc__text *text, uint64_t number, const char *one, const char *many) {
    if (!number) return;
    gc__text_add(text, ", ");
    gc__text_add_number(text, number);
    gc__text_add(text, " %s", number == 1 ? one : many);
}

GC__COLD void gc__reason_bytes(gc__text *text, size_t bytes, const char *what) {
    if (bytes >= (size_t)1 << 20)
        gc__text_add(text, ", %.1f MiB %s", (double)bytes / 1048576.0, what);
    else
        gc__text_add(text, ", %zu KiB %s", (bytes + 1023) >> 10, what);
}

GC__COLD void gc__reason_us(gc__text *text, const char *before, uint64_t ns, const char *after) {
    gc__text_add(text, ", %s", before);
    gc__text_add_number(text, (ns + 500) / 1000);
    gc__text_add(text, " us %s", after);
}

GC__COLD uint64_t gc__pause_part_ns(const gc_pause *pause, int part) {
    uint64_t rest = pause->ns;
    if (part < GC_PHASE_COUNT) return pause->phase_ns[part];
    if (part == GC__PAUSE_HELP) return pause->help_ns;
    if (part == GC__PAUSE_STOP) return pause->stop_ns;
    if (part == GC__PAUSE_MARKER) return pause->marker_ns;
    if (part == GC__PAUSE_WAKE) return pause->wake_ns;
    for (int i = 0; i < GC__PAUSE_HOOKS; i++) rest -= gc__min(rest, gc__pause_part_ns(pause, i));
    return rest;
}

GC__COLD const char *gc__pause_part_name(int part) {
    static const char *const names[] = {"help", "stop", "wait for the marker", "wake the marker", "hooks"};
    return part < GC_PHASE_COUNT ? gc__phase_text((gc_phase)part) : names[part - GC_PHASE_COUNT];
}

static const char *const gc__degenerated_texts[] = {
#define GC__DEGENERATED_TEXT(name, text) text,
    GC_DEGENERATIONS(GC__DEGENERATED_TEXT)
#undef GC__DEGENERATED_TEXT
};

/* Appends the kind of collection, if that is a reason. */
GC__COLD void gc__reason_kind(gc__text *text, const gc_pause *pause) {
    double held = pause->goal_bytes ? (double)pause->held_bytes / (double)pause->goal_bytes : 0;
    if (pause->degenerated == GC_DEGENERATED_HOLES)
        gc__text_add(text, ", full collection: the heap held %.1f times its goal, most of the excess in holes", held);
    else if (pause->degenerated)
        gc__text_add(text, ", degenerated cycle: %s", gc__degenerated_texts[pause->degenerated]);
    else if (pause->compacting && pause->generation == 2)
        gc__text_add(text, ", compaction of all generations");
    else if (pause->concurrent)
        gc__text_add(text, ", final mark of a concurrent cycle");
    else if (pause->generation == 2)
        gc__text_add(text, ", all generations with the program stopped");
    else if (pause->concurrent_begun)
        gc__text_add(text, ", begin of a concurrent cycle");
}

/* Appends the work of the traces from roots and cards. */
GC__COLD void gc__reason_trace(gc__text *text, const gc_pause *pause) {
    gc__reason_count(text, pause->dirty_cards, "dirty card", "dirty cards");
    gc__reason_count(text, pause->remembered_slots, "remembered slot", "remembered slots");
    if (pause->concurrent) /* all that was marked concurrently has survived, too */
        gc__reason_bytes(text, pause->moved_bytes, "copied");
    else
        gc__reason_bytes(text, pause->survived_bytes, "survived");
    gc__reason_count(text, pause->trace_calls, "call of a trace function", "calls of trace functions");
}

GC__COLD void gc__reason_remark(gc__text *text, const gc_pause *pause) {
    gc__reason_count(text, pause->left_objects, "object left to scan", "objects left to scan");
    gc__reason_count(text, pause->stored_objects, "object stored or overwritten", "objects stored or overwritten");
    gc__reason_count(text, pause->waiting_objects, "object with a trace function", "objects with trace functions");
    gc__reason_count(text, pause->regions, "region marked", "regions marked");
}

GC__COLD void gc__reason_stop(gc__text *text, const gc_pause *pause) {
    if (!pause->slowest[0]) {
        gc__reason_us(text, "waited ", pause->stop_ns, "for the threads to stop");
        return;
    }
    gc__reason_us(text, "waited ", pause->slowest_ns, "for the thread `");
    gc__text_add(text, "%s` to stop", pause->slowest);
}

/* Appends the amounts of what the phase did. Returns what it did in its time; NULL: the amounts say that. */
GC__COLD const char *gc__reason_phase(gc__text *text, const gc_pause *pause, int phase) {
    switch (phase) {
    case GC_PHASE_OPEN: return "before anything was collected (start hook, verification)";
    case GC_PHASE_GATHER:
        gc__reason_count(text, pause->roots, "root", "roots");
        gc__reason_count(text, pause->pins, "pin", "pins");
        return "in gathering them";
    case GC_PHASE_ROOTS:
    case GC_PHASE_CARDS: gc__reason_trace(text, pause); return NULL;
    case GC_PHASE_REMARK: gc__reason_remark(text, pause); return NULL;
    case GC_PHASE_AMBIGUOUS:
        gc__reason_count(text, pause->ambiguous, "object that a conservative word alone keeps",
                         "objects that conservative words alone keep");
        return NULL;
    case GC_PHASE_FINALIZERS:
        gc__reason_count(text, pause->finalizers, "finalizer is due", "finalizers are due");
        gc__reason_count(text, pause->finalizers_left, "more left for later", "more left for later");
        return NULL;
    case GC_PHASE_PLAN:
    case GC_PHASE_SWEEP:
        gc__reason_count(text, pause->regions, "region", "regions");
        return phase == GC_PHASE_PLAN ? "in planning" : "in freeing memory";
    case GC_PHASE_HANDLES: return "in handles and weak tables";
    default: return "in pacing, verification or giving memory back";
    }
}

GC__COLD void gc__reason_part(gc__text *text, const gc_pause *pause, int part) {
    static const char *const outside[][2] = {
        {"waited ", "for the marking, since the program allocates faster than is marked"},
        {NULL, NULL},
        {"waited ", "for the thread that marks"},
        {"", "in waking the thread that marks"},
        {"", "in hooks at the end"}};
    const char *const *words = outside[part < GC_PHASE_COUNT ? 0 : part - GC_PHASE_COUNT];
    const char *before = part < GC_PHASE_COUNT ? "" : words[0];
    const char *after = part < GC_PHASE_COUNT ? gc__reason_phase(text, pause, part) : words[1];
    if (after) gc__reason_us(text, before, gc__pause_part_ns(pause, part), after);
    if (part == GC__PAUSE_STOP) gc__reason_stop(text, pause);
}

/* Returns the part of the pause that took longest among those that are not in the set `done`. */
GC__COLD int gc__pause_longest_part(const gc_pause *pause, unsigned done) {
    int longest = -1;
    for (int part = 0; part < GC__PAUSE_PARTS; part++)
        if (!(done >> part & 1) && (longest < 0 || gc__pause_part_ns(pause, part) > gc__pause_part_ns(pause, longest)))
            longest = part;
    return longest;
}

/* Returns for how long the thread that collects had no processor, or waited. */
GC__COLD uint64_t gc__pause_idle_ns(const gc_pause *pause) {
    uint64_t ns = 0;
    for (int i = 0; i < GC_PHASE_COUNT; i++) ns += pause->phase_ns[i];
    return pause->cpu_ns ? ns - gc__min(ns, pause->cpu_ns) : 0;
}

/* Returns the reasons, whose text lies in `text`. */
GC__COLD const char *gc__pause_reasons(gc__text *text, const gc_pause *pause) {
    const unsigned trace = 1u << GC_PHASE_ROOTS | 1u << GC_PHASE_CARDS;
    unsigned done = 0;
    gc__reason_kind(text, pause);
    for (int i = 0; i < GC__REASONS_MAX; i++) {
        int part = gc__pause_longest_part(pause, done);
        uint64_t ns = gc__pause_part_ns(pause, part);
        if (!ns || (i && ns < pause->ns / GC__REASON_PART)) break;
        gc__reason_part(text, pause, part);
        done |= trace >> part & 1 ? trace : 1u << part;
    }
    if (gc__pause_idle_ns(pause) > pause->ns / GC__REASON_PART)
        gc__reason_us(text, "", gc__pause_idle_ns(pause), "in which the thread that collects did not run");
    return text->length ? text->text + 2 : ""; /* each reason begins with ", " */
}

GC_API size_t gc_pause_explain(const gc_pause *pause, char *text, size_t bytes) {
    gc__text reasons = {"", 0};
    if (gc__is_null(pause, "gc_pause_explain", "pause") || (bytes && gc__is_null(text, "gc_pause_explain", "text"))) return 0;
    const char *words = GC_DIAGNOSTICS ? gc__pause_reasons(&reasons, pause) : "not explained: " GC__NO_DIAGNOSTICS;
    return (size_t)snprintf(text, bytes, "%s", words);
}

/* Prints how many pauses there were, by length: each line is for pauses twice as long as the one before. */
GC__COLD void gc__print_histogram(const gc_stats *stats, FILE *file) {
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) total += stats->pauses[i];
    fprintf(file, "%14s%14s%12s%12s\n", "from us", "to us", "pauses", "all until");
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) {
        if (!stats->pauses[i]) continue;
        seen += stats->pauses[i];
        fprintf(file, "%14.1f%14.1f%12llu%11.3f%%\n", (double)((uint64_t)1 << i) / 1e3, (double)((uint64_t)2 << i) / 1e3,
                (unsigned long long)stats->pauses[i], 100 * (double)seen / (double)total);
    }
}

GC__COLD void gc__print_pause(const gc_pause *pause, FILE *file) {
    gc__text reasons = {"", 0};
    fprintf(file, "%10.3f ms at %.3f s, collection %llu of generation %d (%s): %s\n", (double)pause->ns / (double)GC__NS_PER_MS,
            (double)pause->began_ns / 1e9, (unsigned long long)pause->number, pause->generation,
            gc_reason_text(pause->reason), gc__pause_reasons(&reasons, pause));
    fprintf(file, "              us:");
    const char *between = "";
    const int first = GC__PAUSE_MARKER + 1 - GC_PHASE_COUNT; /* the number of parts before the collection */
    for (int i = 0; i < GC__PAUSE_PARTS; i++) {
        int part = i < first ? GC_PHASE_COUNT + i : i < GC_PHASE_COUNT + first ? i - first : i;
        uint64_t ns = gc__pause_part_ns(pause, part);
        if (ns < 500) continue;
        fprintf(file, "%s %s %.0f", between, gc__pause_part_name(part), (double)ns / 1e3);
        between = ",";
    }
    fputc('\n', file);
}

GC_API __attribute__((cold)) void gc_heap_print_pauses(gc_heap *heap, FILE *file) {
    if (gc__is_null(heap, "gc_heap_print_pauses", "heap") || gc__is_null(file, "gc_heap_print_pauses", "file")) return;
    if (!GC_DIAGNOSTICS) {
        gc__print_nothing(file);
        return;
    }
    gc_stats stats;
    gc_pause longest[GC_PAUSES_KEPT];
    gc_heap_stats(heap, &stats);
    size_t count = gc_heap_pauses(heap, longest, GC_PAUSES_KEPT, false);
    gc__print_pauses_line(&stats, file);
    gc__print_histogram(&stats, file);
    if (count) fprintf(file, "the longest\n");
    for (size_t i = 0; i < count; i++) gc__print_pause(&longest[i], file);
}
