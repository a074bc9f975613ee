/* Records of pauses: the longest ones, and the least share of any 1, 10 and 100 ms that pauses have left to the
   program.

   A pause begins when the thread that collects asks the others to stop, or earlier, when it begins to wait for the
   marker; it ends when they may go on. If several collections run in one stop, each is a pause, and the first
   includes the time to stop. The parts of the collector record their work in heap->pause, as sums. */
#pragma once

#include "../api/pause.h"
#include "../space/heap.h"
#include "../threads/mode.h"
#include "../threads/lock.h"
#include "../trace/collector.h"

#define GC__WINDOW_PARTS 64

/* Pauses from `began` to `ended`, which take `ns` together; the first one lasts until `first_ended`. */
typedef struct gc__paused {
    uint64_t began, first_ended, ended, ns;
} gc__paused;

/* The most time that pauses took in any window of that length. Only windows that end with a pause matter: a window
   that holds the most can be moved so that it does. Pauses that begin within a 64th of the window's length are one
   entry, so a ring of 66 has all entries that a window can overlap. If a window begins within an entry, its pauses
   count as if they were at its end, so the sum may be too large by a 64th of the window, and is never too small. */
typedef struct gc__window_share {
    uint64_t window_ns, most_ns;
    uint64_t ns; /* sum over all entries */
    unsigned first, count;
    gc__paused ring[GC__WINDOW_PARTS + 2];
} gc__window_share;

typedef struct gc__pauses {
    uint64_t created_ns; /* when the heap was created */
    uint64_t began_ns;   /* start of the current pause */
    uint64_t stopped_ns; /* when all threads had stopped */
    uint64_t help_ns;    /* time of waiting for the marker, to be counted in the next pause */
    unsigned count;
    gc_pause longest[GC_PAUSES_KEPT]; /* the longest first */
    gc__paused recent; /* pauses within a 64th of the shortest window, or one pause; not added to the windows yet */
    gc__window_share windows[GC_WINDOWS];
} gc__pauses;

GC__COLD void gc__pauses_open(gc__pauses *pauses) {
    uint64_t window_ns = GC__NS_PER_MS;
    pauses->created_ns = gc__os_now_ns();
    for (int i = 0; i < GC_WINDOWS; i++, window_ns *= 10) pauses->windows[i].window_ns = window_ns;
}

GC__COLD gc__paused *gc__window_entry(gc__window_share *share, unsigned i) {
    unsigned at = share->first + i, all = sizeof share->ring / sizeof *share->ring;
    return &share->ring[at < all ? at : at - all];
}

/* Adds consecutive pauses to a window, which end later than all before. If they do not, the clock has stepped back,
   and the window is emptied. */
GC__COLD void gc__window_note(gc__window_share *share, const gc__paused *paused) {
    if (share->count && paused->ended < gc__window_entry(share, share->count - 1)->ended) share->ns = share->count = 0;
    /* The start of the earliest window that ends with one of them. */
    uint64_t from = paused->first_ended - gc__min(paused->first_ended, share->window_ns);
    while (share->count && gc__window_entry(share, 0)->ended <= from) {
        share->ns -= gc__window_entry(share, 0)->ns;
        share->first = (unsigned)(gc__window_entry(share, 1) - share->ring);
        share->count--;
    }
    share->ns += paused->ns;
    gc__paused *last = share->count ? gc__window_entry(share, share->count - 1) : NULL;
    if (last && gc__ns_since(paused->began, last->began) < share->window_ns / GC__WINDOW_PARTS) {
        last->ended = paused->ended;
        last->ns += paused->ns;
    } else {
        *gc__window_entry(share, share->count++) = *paused;
    }
    const gc__paused *oldest = gc__window_entry(share, 0);
    uint64_t ns = share->ns, after = oldest->ended - gc__min(oldest->ended, from);
    if (oldest->began < from) ns -= oldest->ns - gc__min(oldest->ns, after);
    share->most_ns = gc__max(share->most_ns, gc__min(ns, share->window_ns));
}

GC__COLD void gc__pauses_close_windows(gc__pauses *pauses) {
    if (pauses->recent.ns)
        for (int i = 0; i < GC_WINDOWS; i++) gc__window_note(&pauses->windows[i], &pauses->recent);
    memset(&pauses->recent, 0, sizeof pauses->recent);
}

/* Records a pause that has ended. Many short ones in a row, as in a program that collects at each allocation, take
   some instructions each. */
GC__COLD void gc__pauses_note(gc__pauses *pauses, uint64_t began, uint64_t ended) {
    gc__paused *recent = &pauses->recent;
    if (recent->ns && ended >= recent->ended && gc__ns_since(ended, recent->began) < GC__NS_PER_MS / GC__WINDOW_PARTS) {
        recent->ended = ended;
        recent->ns += gc__ns_since(ended, began);
        return;
    }
    gc__pauses_close_windows(pauses);
    recent->began = began;
    recent->first_ended = recent->ended = ended;
    recent->ns = gc__ns_since(ended, began);
}

/* Returns the least share of any window that pauses have left to the program. */
GC__COLD double gc__window_utilisation(const gc__window_share *share) {
    return 1 - (double)share->most_ns / (double)share->window_ns;
}

/* Begins the record of a pause. The world is stopped. */
GC__COLD void gc__pause_begin(gc_heap *heap) {
    gc_pause *pause = &heap->pause;
    gc__threads *threads = heap->threads;
    gc__pauses *pauses = heap->pauses;
    uint64_t now = gc__os_now_ns(), asked = threads->stop_started_ns ? threads->stop_started_ns : now;
    memset(pause, 0, sizeof *pause);
    pause->help_ns = pauses->help_ns;
    pause->stop_ns = gc__ns_since(now, asked);
    if (pause->stop_ns) pause->slowest_ns = threads->slowest_ns;
    pauses->began_ns = gc__ns_since(asked, pause->help_ns);
    pauses->stopped_ns = now;
    pause->held_bytes = gc__bytes_in_use(heap);
    pause->goal_bytes = heap->goal_bytes;
    pauses->help_ns = threads->stop_started_ns = 0;
}

GC__COLD void gc__pause_describe(gc_heap *heap) {
    gc_pause *pause = &heap->pause;
    const gc_collection *collection = &heap->collection;
    const gc__cycle *cycle = heap->cycle;
    const gc__plan *plan = cycle->plan;
    const gc_thread *slowest = pause->stop_ns ? heap->threads->slowest : NULL;
    if (slowest) snprintf(pause->slowest, sizeof pause->slowest, "%s", gc__thread_name(slowest));
    pause->number = collection->number;
    pause->generation = collection->generation;
    pause->reason = collection->reason;
    pause->compacting = collection->compacting;
    pause->concurrent = plan->purpose == GC__MARK_END;
    pause->concurrent_begun = plan->purpose == GC__MARK_BEGIN;
    if (plan->purpose == GC__FULL) pause->degenerated = plan->request.degenerated;
    pause->roots = cycle->roots.count + cycle->interior.count / 3;
    pause->pins = cycle->pins.count;
    pause->condemned_bytes = heap->stats.condemned_bytes;
    pause->survived_bytes = heap->stats.survived_bytes;
    pause->moved_bytes = collection->moved_bytes;
    pause->ambiguous = heap->stats.conservative_objects;
}

GC__COLD void gc__pause_keep(gc_heap *heap) {
    gc__pauses *pauses = heap->pauses;
    gc__pause_describe(heap);
    unsigned place = pauses->count < GC_PAUSES_KEPT ? pauses->count++ : GC_PAUSES_KEPT - 1;
    for (; place && pauses->longest[place - 1].ns < heap->pause.ns; place--)
        pauses->longest[place] = pauses->longest[place - 1];
    pauses->longest[place] = heap->pause;
}

/* Records that a thread has waited for the marker between two collections, while others may have run: this is no
   pause, but the time counts. */
GC__COLD void gc__pauses_note_wait(gc_heap *heap, uint64_t began_ns, uint64_t ended_ns) {
    heap->stats.pause_total_ns += gc__ns_since(ended_ns, began_ns);
    gc__pauses_note(heap->pauses, began_ns, ended_ns);
}

/* Records a wait after which no collection has come. */
GC__COLD void gc__pauses_waited(gc_heap *heap) {
    uint64_t now = gc__os_now_ns();
    gc__pauses_note_wait(heap, gc__ns_since(now, heap->pauses->help_ns), now);
    heap->pauses->help_ns = 0;
}

/* Ends the record of a pause; the threads are about to go on. woken_ns is when the marker's thread was about to go
   on, or 0 if there is none. */
GC__COLD void gc__pause_end(gc_heap *heap, uint64_t woken_ns) {
    gc_stats *stats = &heap->stats;
    gc__pauses *pauses = heap->pauses;
    uint64_t now = gc__os_now_ns(), ns = gc__ns_since(now, pauses->began_ns);
    unsigned bucket = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;
    stats->pauses[bucket < GC_PAUSE_BUCKETS ? bucket : GC_PAUSE_BUCKETS - 1]++;
    stats->pause_total_ns += ns;
    stats->pause_last_ns = ns;
    if (ns > stats->pause_max_ns) stats->pause_max_ns = ns;
    gc__pauses_note(pauses, pauses->began_ns, now);
    heap->pause.ns = ns;
    heap->pause.wake_ns = woken_ns ? gc__ns_since(now, woken_ns) : 0;
    heap->pause.began_ns = gc__ns_since(pauses->began_ns, pauses->created_ns);
    if (pauses->count < GC_PAUSES_KEPT || ns > pauses->longest[GC_PAUSES_KEPT - 1].ns) gc__pause_keep(heap);
}

/* Forgets the pauses that were reported. Windows that begin before now and end later keep what they have recorded. */
GC__COLD void gc__pauses_forget(gc__pauses *pauses) {
    gc__pauses_close_windows(pauses);
    pauses->count = 0;
    for (int i = 0; i < GC_WINDOWS; i++) pauses->windows[i].most_ns = 0;
}

GC_API size_t gc_heap_pauses(gc_heap *heap, gc_pause *longest, size_t count, bool forget) {
    GC__API_SCOPE("gc_heap_pauses");
    if (gc__is_null(heap, "gc_heap_pauses", "heap") || gc__is_null(longest, "gc_heap_pauses", "longest")) return 0;
    gc__heap_lock(heap);
    size_t told = gc__min(count, heap->pauses->count);
    memcpy(longest, heap->pauses->longest, told * sizeof *longest);
    if (forget) gc__pauses_forget(heap->pauses);
    gc__heap_unlock(heap);
    return told;
}
