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
    const uint64_t others[] = {pause->help_ns, pause->stop_ns, pause->marker_ns, pause->wake_ns};
    uint64_t rest = pause->ns;
    if (part < GC__PAUSE_HOOKS) return part < GC_PHASE_COUNT ? pause->phase_ns[part] : others[part - GC_PHASE_COUNT];
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

GC__COLD void gc__reason_kind(gc__text *text, const gc_pause *pause) {
    double held = pause->goal_bytes ? (double)pause->held_bytes / (double)pause->goal_bytes : 0;
    const char *kind = NULL;
    if (pause->degenerated == GC_DEGENERATED_HOLES)
        gc__text_add(text, ", full collection: the heap held %.1f times its goal, most of the excess in holes", held);
    else if (pause->degenerated)
        gc__text_add(text, ", degenerated cycle: %s", gc__degenerated_texts[pause->degenerated]);
    else if (pause->compacting && pause->generation == 2)
        kind = "compaction of all generations";
    else if (pause->concurrent)
        kind = "final mark of a concurrent cycle";
    else if (pause->generation == 2)
        kind = "all generations with the program stopped";
    else if (pause->concurrent_begun)
        kind = "begin of a concurrent cycle";
    if (kind) gc__text_add(text, ", %s", kind);
}

/* The numbers of a pause that explain some of its phases (a bit each), with their words. No words: the bytes that the trace
   found, or moved where all that was marked concurrently has survived, too. */
#define GC__TRACE_PHASES (1u << GC_PHASE_ROOTS | 1u << GC_PHASE_CARDS)
typedef struct gc__amount {
    unsigned phases, at;
    const char *one, *many;
} gc__amount;

static const gc__amount gc__amounts[] = {
#define GC__AMOUNT(phases, member, one, many) {phases, offsetof(gc_pause, member), one, many}
    GC__AMOUNT(1u << GC_PHASE_GATHER, roots, "root", "roots"),
    GC__AMOUNT(1u << GC_PHASE_GATHER, pins, "pin", "pins"),
    GC__AMOUNT(GC__TRACE_PHASES, dirty_cards, "dirty card", "dirty cards"),
    GC__AMOUNT(GC__TRACE_PHASES, remembered_slots, "remembered slot", "remembered slots"),
    GC__AMOUNT(GC__TRACE_PHASES, survived_bytes, NULL, NULL),
    GC__AMOUNT(GC__TRACE_PHASES, trace_calls, "call of a trace function", "calls of trace functions"),
    GC__AMOUNT(1u << GC_PHASE_REMARK, left_objects, "object left to scan", "objects left to scan"),
    GC__AMOUNT(1u << GC_PHASE_REMARK, stored_objects, "object stored", "objects stored"),
    GC__AMOUNT(1u << GC_PHASE_REMARK, waiting_objects, "object with a trace function", "objects with trace functions"),
    GC__AMOUNT(1u << GC_PHASE_REMARK, regions, "region marked", "regions marked"),
    GC__AMOUNT(1u << GC_PHASE_AMBIGUOUS, ambiguous, "object that a conservative word alone keeps",
               "objects that conservative words alone keep"),
    GC__AMOUNT(1u << GC_PHASE_FINALIZERS, finalizers, "finalizer is due", "finalizers are due"),
    GC__AMOUNT(1u << GC_PHASE_FINALIZERS, finalizers_left, "more left for later", "more left for later"),
    GC__AMOUNT(1u << GC_PHASE_PLAN | 1u << GC_PHASE_SWEEP, regions, "region", "regions")
#undef GC__AMOUNT
};

GC__COLD void gc__reason_stop(gc__text *text, const gc_pause *pause) {
    if (!pause->slowest[0]) {
        gc__reason_us(text, "waited ", pause->stop_ns, "for the threads to stop");
        return;
    }
    gc__reason_us(text, "waited ", pause->slowest_ns, "for the thread `");
    gc__text_add(text, "%s` to stop", pause->slowest);
}

/* Appends the amounts of what was done in the part, and its time, unless the amounts say enough. */
GC__COLD void gc__reason_part(gc__text *text, const gc_pause *pause, int part) {
    static const char *const after[] = {"before anything was collected (start hook, verification)",
                                        "in gathering roots", "in planning", NULL, NULL, NULL, NULL,
                                        "in handles and weak tables", NULL, "in freeing memory",
                                        "in pacing, verification or giving memory back",
                                        "for the marking, since the program allocates faster than is marked", NULL,
                                        "for the thread that marks", "in waking the thread that marks",
                                        "in hooks at the end"}; /* by part */
    GC__STATIC_ASSERT(sizeof after / sizeof *after == GC__PAUSE_PARTS, "a text for each part");
    for (const gc__amount *amount = gc__amounts; amount < gc__amounts + sizeof gc__amounts / sizeof *amount; amount++) {
        if (!(amount->phases >> part & 1)) continue;
        if (amount->one)
            gc__reason_count(text, *(const size_t *)((const char *)pause + amount->at), amount->one, amount->many);
        else if (pause->concurrent)
            gc__reason_bytes(text, pause->moved_bytes, "copied");
        else
            gc__reason_bytes(text, pause->survived_bytes, "survived");
    }
    bool waits = part == GC__PAUSE_HELP || part == GC__PAUSE_MARKER;
    if (after[part]) gc__reason_us(text, waits ? "waited " : "", gc__pause_part_ns(pause, part), after[part]);
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
    unsigned done = 0;
    gc__reason_kind(text, pause);
    for (int i = 0; i < GC__REASONS_MAX; i++) {
        int part = gc__pause_longest_part(pause, done);
        uint64_t ns = gc__pause_part_ns(pause, part);
        if (!ns || (i && ns < pause->ns / GC__REASON_PART)) break;
        gc__reason_part(text, pause, part);
        done |= GC__TRACE_PHASES >> part & 1 ? GC__TRACE_PHASES : 1u << part;
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
