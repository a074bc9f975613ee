/* Waits, and the entries of weak tables.

   A wait is a slot that is to be traced when an object, its key, has been reached: the dependent of a dependent handle,
   or an ephemeron's value. A wait whose key was not reached yet is in heap->handles->waiting, as a triple: the key, the
   slot (| 1 if it holds a tagged value), and the number (from 1) of the next wait for the same key. heap->handles->keys
   maps each key to the number of its first wait; when the trace reaches the key (gc__awaited_reached), it puts that
   number on heap->handles->ready. So the time is linear in the number of waits. Without memory for this index, each
   round checks all waits again. So do the first rounds, since mostly nothing is left to trace soon, and then no other
   key can be reached. */
#pragma once

#include "handle_table.h"
#include "../cycle/marker.h"

#define GC__WAITS_ROUNDS 3 /* without an index, which takes ten times as long: few waits need more */
#define GC__NOTE_AHEAD 32  /* discovered entries with more pairs than this are not prefetched */

GC__FN void gc__waits_begin(gc_heap *heap) {
    gc__handles *handles = heap->handles;
    handles->waiting.count = handles->ready.count = handles->indexed = 0;
    gc__map_reset(&handles->keys);
}

/* Traces until nothing is left: in a remark on the marker's worker. */
GC__FN void gc__waits_drain(gc__worker *worker) {
    if (gc__is_concurrent(worker))
        gc__remark_drain(worker->heap);
    else
        gc__trace_drain(worker);
}

GC__FN void gc__wait_end(gc__worker *worker, uintptr_t slot) {
    gc__enqueue(worker, (gc_word *)(slot & ~(uintptr_t)1), slot & 1);
}

/* Makes the slot wait for the key, if that is necessary and there is memory for it; otherwise traces the slot. */
GC__FN void gc__wait(gc__worker *worker, uintptr_t key, uintptr_t slot) {
    gc__words *waiting = &worker->heap->handles->waiting;
    if (!key || gc__address_after_trace(key) || !gc__words_reserve(waiting, waiting->count + 3)) {
        gc__wait_end(worker, slot);
        return;
    }
    gc__words_push(waiting, key);
    gc__words_push(waiting, slot);
    gc__words_push(waiting, 0);
}

/* Checks all waits without an index, and traces from those whose key was reached. Returns whether there were any. */
GC__FN bool gc__waits_round(gc__worker *worker) {
    gc__words *waiting = &worker->heap->handles->waiting;
    size_t kept = worker->heap->handles->indexed, count = waiting->count;
    for (size_t i = kept; i < count; i += 3) {
        if (i + 3 * GC__FIFO < count) gc__reached_await(waiting->words[i + 3 * GC__FIFO]);
        if (gc__address_after_trace(waiting->words[i])) {
            gc__wait_end(worker, waiting->words[i + 1]);
        } else {
            waiting->words[kept] = waiting->words[i];
            waiting->words[kept + 1] = waiting->words[i + 1];
            kept += 3;
        }
    }
    waiting->count = kept;
    return kept < count;
}

/* Makes the trace detect when it reaches a key. Returns false if there is no memory. */
GC__FN bool gc__waits_index(gc__worker *worker) {
    gc__handles *handles = worker->heap->handles;
    gc__words *waiting = &handles->waiting;
    if (handles->indexed == waiting->count) return true;
    if (worker->heap->options.test.scarce_memory || !gc__map_reserve(&handles->keys, waiting->count / 3) ||
        !gc__words_reserve(&handles->ready, waiting->count / 3))
        return false;
    worker->found = &handles->ready;
    worker->awaited = &handles->keys; /* before the first key is entered: tracing may reach it at once */
    for (size_t i = handles->indexed; i < waiting->count; i += 3) {
        if (gc__address_after_trace(waiting->words[i])) {
            gc__wait_end(worker, waiting->words[i + 1]);
            continue;
        }
        uintptr_t *number = gc__map_put(&handles->keys, waiting->words[i]);
        waiting->words[i + 2] = *number;
        *number = i / 3 + 1;
    }
    handles->indexed = waiting->count;
    return true;
}

/* Traces from the waits whose keys were reached. Returns whether there were any. */
GC__FN bool gc__waits_trace_ready(gc__worker *worker) {
    const gc__words *waiting = &worker->heap->handles->waiting;
    gc__words *ready = &worker->heap->handles->ready;
    if (!ready->count) return false;
    while (ready->count) {
        size_t number = ready->words[--ready->count];
        for (; number; number = waiting->words[3 * number - 1]) gc__wait_end(worker, waiting->words[3 * number - 2]);
        gc__waits_drain(worker);
    }
    return true;
}

/* Prefetches the marks of the weak references of discovered entries that come next, if these are few. */
GC__FN void gc__discovered_await(const gc__discovered *notes, size_t at) {
    gc_weak_entries entries;
    if (at >= notes->words.count) return;
    memcpy(&entries, notes->words.words + at, sizeof entries);
    bool value = gc__flags_value(entries.flags), keys = entries.kind != GC_WEAK_VALUES;
    for (size_t i = 0; i < entries.count && entries.count <= GC__NOTE_AHEAD; i++)
        gc__reached_await(gc__slot_ref(keys ? gc__entry_key(&entries, i) : gc__entry_value(&entries, i), value));
}

/* Turns ephemerons that the trace has discovered since the last call into waits, or traces them. Returns whether there
   were any. */
GC__FN bool gc__discovered_wait(gc__worker *worker) {
    gc__discovered *notes = &worker->cycle->entries;
    bool any = false;
    for (; notes->waited < notes->words.count; notes->waited += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + notes->waited, sizeof entries);
        if (entries.kind != GC_WEAK_EPHEMERONS) continue;
        gc__discovered_await(notes, notes->waited + GC__DISCOVERED_WORDS);
        any = true;
        bool value = gc__flags_value(entries.flags);
        for (size_t i = 0; i < entries.count; i++) {
            const gc_word *slot = gc__entry_value(&entries, i);
            if (worker->verdicts[gc__slot_ref(slot, value) >> GC_REGION_SHIFT])
                gc__wait(worker, gc__slot_ref(gc__entry_key(&entries, i), value), (uintptr_t)slot | value);
        }
    }
    return any;
}

/* Traces until no wait has a key that was reached. If nothing was left to trace after the waits were recorded, none
   has. */
GC__HOT void gc__waits_fixpoint(gc__worker *worker) {
    unsigned rounds = 0;
    for (bool more = true; more;) {
        bool traces = !gc__trace_is_done(worker);
        gc__waits_drain(worker);
        more = gc__discovered_wait(worker);
        if (!rounds && !traces && gc__trace_is_done(worker)) return;
        if (!more && !worker->heap->handles->waiting.count) return;
        if (rounds++ < GC__WAITS_ROUNDS || !gc__waits_index(worker)) more |= gc__waits_round(worker);
        gc__waits_drain(worker);
        more |= gc__waits_trace_ready(worker);
        more |= worker->cycle->entries.waited < worker->cycle->entries.words.count; /* either has met more tables */
    }
}

/* Updates a weak slot to its object's new address. Returns false if the object is dead. */
GC__FN bool gc__weak_follow(gc_word *slot, bool value) {
    uintptr_t word = *slot, ref = gc__slot_decode(slot, word, value), now = gc__address_after_trace(ref);
    if (now != ref && now) *slot = gc__slot_encode(now, word, value);
    return now || !ref;
}

/* For checkmark: records the strong part of an entry that is cleared, unless only its table is old and dead. */
GC__FN void gc__entry_ended(gc__discovered *notes, const gc_weak_entries *entries, size_t i) {
    const gc_word *strong = entries->kind == GC_WEAK_KEYS     ? gc__entry_value(entries, i)
                            : entries->kind == GC_WEAK_VALUES ? gc__entry_key(entries, i) : NULL;
    uintptr_t ref = strong ? gc__slot_ref(strong, gc__flags_value(entries->flags)) : 0;
    if (ref && gc__address_after_trace(ref)) gc__words_push(&notes->ended, ref);
}

/* Returns the index of the first weak reference, from the i-th on, that has to change; `value` is constant where this
   is inlined. Most entries of a table do not change, or are empty, and cost a few instructions each. */
GC__INLINED size_t gc__entries_next(uintptr_t keys, size_t i, size_t count, size_t bytes, bool value) {
    const uintptr_t base = gc__the_arena.base, size = gc__the_arena.bytes;
    for (const char *at = (const char *)keys + i * bytes; i < count; i++, at += bytes) {
        uintptr_t ref = gc__slot_ref((const gc_word *)(const void *)at, value);
        if (ref - base >= size) continue;
        uint8_t verdict = GC__VERDICTS[ref >> GC_REGION_SHIFT];
        if (verdict && (!(verdict & GC__MARK) || gc__reached(ref, verdict) != ref)) break;
    }
    return i;
}

/* Updates the weak slots of the entries to their objects' new addresses; clears and counts entries whose objects
   died. */
GC__FN void gc__entries_clear(gc_heap *heap, const gc_weak_entries *entries) {
    bool value = gc__flags_value(entries->flags), pairs = entries->kind != GC_WEAK_REFS;
    size_t cleared = 0;
    const uintptr_t bytes = entries->entry_bytes, keys = (uintptr_t)entries->keys;
    for (size_t i = 0; i < entries->count; i++) {
        if (!pairs && value) i = gc__entries_next(keys, i, entries->count, bytes, true);
        if (!pairs && !value) i = gc__entries_next(keys, i, entries->count, bytes, false);
        if (i == entries->count) break;
        gc_word *key = (gc_word *)(keys + i * bytes);
        gc_word *partner = pairs ? gc__entry_value(entries, i) : NULL;
        bool lives = entries->kind == GC_WEAK_VALUES || gc__weak_follow(key, value);
        if (entries->kind == GC_WEAK_VALUES || entries->kind == GC_WEAK_PAIRS) lives &= gc__weak_follow(partner, value);
        if (lives) continue;
        if (gc__is_checkmarked(heap)) gc__entry_ended(&heap->cycle->entries, entries, i);
        if (entries->cleared) entries->cleared(key, partner);
        *key = entries->cleared_key;
        if (pairs) *partner = entries->cleared_value;
        cleared++;
    }
    if (entries->cleared_count) *entries->cleared_count += cleared;
}

/* Clears the short entries that the trace has discovered; if `all`, the long ones, and those discovered since. */
GC__HOT void gc__discovered_clear(gc_heap *heap, bool all) {
    gc__discovered *notes = &heap->cycle->entries;
    for (size_t at = 0; at < notes->words.count; at += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + at, sizeof entries);
        gc__discovered_await(notes, at + GC__DISCOVERED_WORDS);
        bool ephemerons = entries.kind == GC_WEAK_EPHEMERONS;
        unsigned late = ephemerons ? ~entries.flags & GC_SLOT_WEAK_SHORT : entries.flags & GC_SLOT_WEAK_LONG;
        if (all ? late || at >= notes->cleared : !late) gc__entries_clear(heap, &entries);
    }
    notes->cleared = notes->words.count;
}

/* For checkmark: visits the values of ephemerons with reached keys. Returns whether any value was not reached yet. */
GC__FN bool gc__discovered_checkmark(gc_heap *heap, gc_visitor *visitor,
                                bool (*reached)(gc_visitor *visitor, uintptr_t object)) {
    const gc__discovered *notes = &heap->cycle->entries;
    bool any = false;
    for (size_t at = 0; at < notes->words.count; at += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + at, sizeof entries);
        bool value = gc__flags_value(entries.flags);
        for (size_t i = 0; entries.kind == GC_WEAK_EPHEMERONS && i < entries.count; i++) {
            gc_word *partner = gc__entry_value(&entries, i);
            if (!reached(visitor, gc__slot_ref(gc__entry_key(&entries, i), value)) ||
                reached(visitor, gc__slot_ref(partner, value)))
                continue;
            any = true;
            gc_visit(visitor, partner, 1, entries.flags & (unsigned)GC_SLOT_VALUE);
        }
    }
    return any;
}
