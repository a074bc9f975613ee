/* The state that barriers read besides ranks and cards (bounds, write watch, log), and notification of hosts when it
   changes.

   Invariants, for mutators: every region of generation 0 or 1 lies in [low, high), and every region that is or was in
   use lies in [lowest, highest). Both hold whichever barrier is in force, since a host's own code may use any. */
#pragma once

#include "../base/outside.h"
#include "../base/report.h"
#include "side.h"

#define GC__LOG_ENTRIES ((size_t)1 << 16)

/* A heap, which is notified of changes. */
typedef struct gc__barrier_observer {
    struct gc__barrier_observer *next;
    void (*changed)(void *host, const gc_barrier_change *change); /* NULL: the host needs no notification */
    void *host;
    bool needs_barrier; /* the heap has generations */
} gc__barrier_observer;

/* Guards all variables of this file. Only the arena lock is taken under it; hosts, too, are called under it. */
static gc__lock gc__barrier_lock = GC__LOCK_INITIALIZER;
static gc__barrier_observer *gc__barrier_observers;
static gc_barrier gc__barrier_in_force =
    GC__BARRIER_CHOSEN < (int)GC_BARRIER_COUNT ? (gc_barrier)GC__BARRIER_CHOSEN : GC_BARRIER_RANK_SUM;
static unsigned gc__barrier_switches; /* atomic */
static uintptr_t gc__log_start, gc__log_flushed; /* entries below gc__log_flushed are dirty cards already */
GC__VAR gc_barrier_log gc__the_log;

GC__DATA(gc_barrier_functions gc__barrier_calls);

/* The same, which the compiler knows where it was chosen then. */
GC__FN gc_barrier gc__barrier_now(void) {
    return GC__BARRIER_CHOSEN < (int)GC_BARRIER_COUNT ? (gc_barrier)GC__BARRIER_CHOSEN : gc__barrier_in_force;
}

/* Whether there may be a log, or a table of written pages, of that barrier or one that was in force before. */
GC__FN bool gc__barrier_may_log(void) {
    return GC__BARRIER_CHOSEN == (int)GC_BARRIER_COUNT || gc__barrier_parts_of(gc__barrier_now()).mark == GC__MARK_LOG;
}
GC__FN bool gc__barrier_may_watch(void) {
    return GC__BARRIER_CHOSEN == (int)GC_BARRIER_COUNT || gc__barrier_parts_of(gc__barrier_now()).watch;
}

/* Hosts are notified on their own threads. Mutators go on only after the changes of collector threads are announced. */
static __thread bool gc__tells_later;
static unsigned gc__untold; /* one bit for each gc_stomp */

/* Requires the barrier lock. */
GC__FN void gc__barrier_tell(gc_stomp operation, bool is_suspended) {
    if (gc__tells_later) {
        gc__untold |= 1u << operation;
        return;
    }
    gc_barrier_change change = {operation, gc__barrier_now(), is_suspended, &gc__tables};
    gc__outside_stomp(&change);
    for (const gc__barrier_observer *each = gc__barrier_observers; each; each = each->next)
        if (each->changed) each->changed(each->host, &change);
}

/* Requires the barrier lock. Mutators of other heaps may be reading the bounds. */
GC__FN void gc__bounds_set(uintptr_t low, uintptr_t high) {
    __atomic_store_n(&gc__tables.low, low, __ATOMIC_RELEASE);
    __atomic_store_n(&gc__tables.high, high, __ATOMIC_RELEASE);
}

GC__FN gc_result gc__barrier_no_tables(gc_barrier barrier) {
    return gc__fail(
        GC_ERROR_RESERVE,
        "the system gives no address space for the tables of barrier %s: %s, or compile with a smaller GC_ARENA_BYTES",
        gc_barrier_name(barrier), gc__supply_refusal(gc__the_arena.bytes >> GC_WATCH_SHIFT));
}

/* Reserves a side table for a barrier; returns its biased base, or NULL. */
GC__FN uint8_t *gc__barrier_side(int which, int shift) {
    gc__lock_take(&gc__the_arena.lock);
    char *side = gc__side_reserve(which);
    gc__lock_release(&gc__the_arena.lock);
    return side ? (uint8_t *)((uintptr_t)side - (gc__the_arena.base >> shift)) : NULL;
}

GC__FN void gc__barrier_side_zero(int which) {
    gc__lock_take(&gc__the_arena.lock);
    gc__side_zero(which);
    gc__lock_release(&gc__the_arena.lock);
}

/* Reserves the tables that only this barrier needs. On failure nothing has changed. */
GC__FN gc_result gc__barrier_reserve(gc_barrier barrier) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    if (gc__barrier_may_watch() && parts.watch && !gc__tables.watch) {
        gc__tables.watch = gc__barrier_side(GC__SIDE_WATCH, GC_WATCH_SHIFT);
        if (!gc__tables.watch) return gc__barrier_no_tables(barrier);
    }
    if (gc__barrier_may_log() && parts.mark == GC__MARK_LOG && !gc__tables.log) {
        size_t bytes = GC__LOG_ENTRIES * 8;
        void *log = gc__os_map(bytes);
        uint8_t *bits = log ? gc__barrier_side(GC__SIDE_LOG_BITS, 6) : NULL;
        if (!bits) {
            gc_result refused = gc__barrier_no_tables(barrier);
            if (log) gc__os_unmap(log, bytes);
            return refused;
        }
        gc__log_start = gc__log_flushed = gc__the_log.next = (uintptr_t)log;
        gc__the_log.limit = gc__log_start + bytes;
        gc__tables.log_bits = bits;
        gc__tables.log = &gc__the_log;
    }
    return GC_OK;
}

GC__FN bool gc__barrier_watches(void) { return gc__barrier_parts_of(gc__barrier_now()).watch != 0; }

/* Makes gc_store call this barrier. If it begins to watch writes, all pages are clean at first. With a barrier chosen
   at compile time nothing calls gc__barrier_calls, and the functions of other barriers are not linked in. */
GC__FN void gc__barrier_use(gc_barrier barrier) {
    if (gc__barrier_may_watch() && gc__tables.watch && !gc__barrier_watches()) gc__barrier_side_zero(GC__SIDE_WATCH);
    if (GC__BARRIER_CHOSEN == (int)GC_BARRIER_COUNT) gc__barrier_calls = *gc_barrier_functions_of(barrier);
    gc__barrier_in_force = barrier;
}

GC__FN gc_result gc__barrier_refuses(const gc__barrier_observer *observer) {
    if (gc__barrier_now() != GC_BARRIER_NONE || !observer->needs_barrier) return GC_OK;
    return gc__fail(GC_ERROR_OPTION,
                    "a heap with generations needs a write barrier, and the barrier in force is \"none\": set "
                    "options.non_generational, or choose another barrier by GC_BARRIER or gc_barrier_switch");
}

/* Starts to notify the observer of changes. */
GC__FN gc_result gc__barrier_attach(gc__barrier_observer *observer) {
    gc__lock_take(&gc__barrier_lock);
    gc_result result = gc__barrier_refuses(observer);
    if (result == GC_OK) result = gc__barrier_reserve(gc__barrier_now());
    if (result == GC_OK) {
        gc_barrier_change change = {GC_STOMP_INITIALIZE, gc__barrier_now(), true, &gc__tables};
        gc__barrier_use(gc__barrier_now());
        if (!gc__barrier_observers) gc__bounds_set(UINTPTR_MAX, 0);
        gc__outside_stomp(&change);
        observer->next = gc__barrier_observers;
        gc__barrier_observers = observer;
        if (observer->changed) observer->changed(observer->host, &change);
    }
    gc__lock_release(&gc__barrier_lock);
    return result;
}

GC__FN void gc__barrier_detach(gc__barrier_observer *observer) {
    gc__lock_take(&gc__barrier_lock);
    gc__barrier_observer **link = &gc__barrier_observers;
    while (*link != observer) link = &(*link)->next;
    *link = observer->next;
    gc__lock_release(&gc__barrier_lock);
}

/* Announces the changes that collector threads have made. */
GC__FN void gc__barrier_tell_untold(void) {
    gc__lock_take(&gc__barrier_lock);
    unsigned untold = gc__untold;
    gc__untold = 0;
    if (untold >> GC_STOMP_RESIZE & 1) gc__barrier_tell(GC_STOMP_RESIZE, false);
    if (untold >> GC_STOMP_EPHEMERAL & 1) gc__barrier_tell(GC_STOMP_EPHEMERAL, false);
    gc__lock_release(&gc__barrier_lock);
}

/* Widens the bounds, since young objects may now lie in [from, end), too. */
GC__FN void gc__bounds_widen(uintptr_t from, uintptr_t end) {
    gc__lock_take(&gc__barrier_lock);
    gc__bounds_set(from < gc__tables.low ? from : gc__tables.low, end > gc__tables.high ? end : gc__tables.high);
    gc__barrier_tell(GC_STOMP_EPHEMERAL, false);
    gc__lock_release(&gc__barrier_lock);
}

/* Records that regions up to `highest` are or have been in use. */
GC__FN void gc__bounds_grow(uintptr_t highest) {
    gc__lock_take(&gc__barrier_lock);
    if (highest > gc__tables.highest) {
        __atomic_store_n(&gc__tables.highest, highest, __ATOMIC_RELEASE);
        gc__barrier_tell(GC_STOMP_RESIZE, false);
    }
    gc__lock_release(&gc__barrier_lock);
}

/* After a collection, narrows the bounds to the heap's young objects, in [low, high). With several heaps the bounds can
   only widen, since mutators of other heaps may be running. */
GC__FN void gc__bounds_tighten(const gc__barrier_observer *observer, uintptr_t low, uintptr_t high) {
    gc__lock_take(&gc__barrier_lock);
    if (gc__barrier_observers == observer && !observer->next && (low != gc__tables.low || high != gc__tables.high)) {
        gc__bounds_set(low, high);
        gc__barrier_tell(GC_STOMP_EPHEMERAL, true);
    }
    gc__lock_release(&gc__barrier_lock);
}

#define GC__LOG_DONE 1 /* an entry whose card is dirty; 0: a mutator of another heap is about to write the entry */

/* Empties the log, unless a mutator of another heap is about to write an entry, or has just begun one. */
GC__FN void gc__log_reset(uintptr_t next, uintptr_t end) {
    memset((void *)gc__log_start, 0, end - gc__log_start);
    gc__log_flushed = end;
    if (__atomic_compare_exchange_n(&gc__the_log.next, &next, gc__log_start, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        gc__log_flushed = gc__log_start;
}

/* Turns the log into dirty cards, whatever the slots hold now: a slot may be of another heap, whose mutators run. */
GC__HOT void gc__log_flush(void) {
    if (!gc__barrier_may_log() || !gc__tables.log) return;
    gc__lock_take(&gc__barrier_lock);
    uintptr_t next = __atomic_load_n(&gc__the_log.next, __ATOMIC_ACQUIRE), gap = 0;
    uintptr_t end = next < gc__the_log.limit ? next : gc__the_log.limit;
    for (uintptr_t entry = gc__log_flushed; entry < end; entry += 8) {
        uintptr_t slot = __atomic_load_n((gc_word *)entry, __ATOMIC_ACQUIRE);
        if (!slot && !gap) gap = entry;
        if (slot <= GC__LOG_DONE) continue;
        uint8_t bit = (uint8_t)(1u << ((slot >> 3) & 7));
        __atomic_store_n((gc_word *)entry, (uintptr_t)GC__LOG_DONE, __ATOMIC_RELAXED);
        __atomic_fetch_and(gc__tables.log_bits + (slot >> 6), (uint8_t)~bit, __ATOMIC_ACQ_REL);
        gc__barrier_dirty_card(&gc__tables, (const void *)slot);
    }
    /* A slot to which a store was made while the log was full has its bit set and its card dirty, but has no entry. */
    if (next > gc__the_log.limit) gc__barrier_side_zero(GC__SIDE_LOG_BITS);
    if (gap)
        gc__log_flushed = gap;
    else
        gc__log_reset(next, end);
    gc__lock_release(&gc__barrier_lock);
}

GC_API gc_barrier gc_barrier_current(void) { return gc__barrier_now(); }

GC__FN gc_result gc__barrier_check(gc_barrier barrier) {
    if (GC__BARRIER_CHOSEN != (int)GC_BARRIER_COUNT)
        return gc__fail(GC_ERROR_OPTION,
                        "gc_barrier_switch: %s was chosen at compile time: compile with GC_BARRIER=at_run_time",
                        gc_barrier_name(gc__barrier_now()));
    if ((unsigned)barrier >= GC_BARRIER_COUNT)
        return gc__fail(GC_ERROR_OPTION, "gc_barrier_switch: there is no barrier %d: see GC_BARRIERS", (int)barrier);
    for (const gc__barrier_observer *each = gc__barrier_observers; each && barrier == GC_BARRIER_NONE;
         each = each->next)
        if (each->needs_barrier)
            return gc__fail(GC_ERROR_OPTION, "gc_barrier_switch: a heap of the process has generations, and needs a "
                                             "write barrier: \"none\" is for heaps with "
                                             "options.non_generational only");
    return gc__barrier_observers ? gc__barrier_reserve(barrier) : GC_OK;
}

GC_API gc_result gc_barrier_switch(gc_barrier barrier) {
    gc__lock_take(&gc__barrier_lock);
    gc_result result = gc__barrier_check(barrier);
    if (result == GC_OK) {
        gc__barrier_use(barrier);
        __atomic_fetch_add(&gc__barrier_switches, 1, __ATOMIC_RELAXED);
        gc__barrier_tell(GC_STOMP_SWITCH, true);
    }
    gc__lock_release(&gc__barrier_lock);
    return result;
}
