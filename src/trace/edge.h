/* What a trace does with an edge. The tracer finds slots; the functions below are implemented by its users, for each
   gc__tracer: gc__exchange reads a slot, and queues it if its referent is to be marked or copied; gc__process does that
   some slots later, when the referent has reached the cache, and pushes it on the mark stack. */
#pragma once

#include "../space/slots.h"
#include "copy.h"
#include "shade.h"
#include "candidates.h"

/* Two workers may handle the slots of an object that overlaps two cards; the result is the same. */
GC__INLINED uintptr_t gc__slot_read(const gc_word *slot, bool many) {
    return many ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : *slot;
}
GC__INLINED void gc__slot_write(gc_word *slot, uintptr_t word, bool many) {
    if (many)
        __atomic_store_n(slot, word, __ATOMIC_RELEASE);
    else
        *slot = word;
}

/* Where several workers run there was no room for the slot's referent: the trace goes on with one worker, who handles the
   slot. If even the list of such slots finds no memory, the object that is being scanned is scanned again, with all of its
   stacks, whose bounds are recorded already: the list has room for the slots of others that still were in the FIFO. That
   worker goes through all roots anyway. */
__attribute__((noinline)) GC__COLD void gc__refuse(gc__worker *worker, uintptr_t entry) {
    __atomic_store_n(&worker->workers->stop, 1u, __ATOMIC_RELAXED);
    worker->until_poll = 1;
    if (gc__words_push(&worker->workers->threads[worker->number].refused, entry)) return;
    worker->whole_stacks = true;
    uintptr_t owner = gc__traced;
    if (!owner && gc__in_arena(entry)) owner = gc__region_first(gc__region_of(entry))->base;
    if (owner) gc__trace_overflow(worker, owner);
}

/* The edges of the concurrent marker. Between reading a slot and marking the referent it keeps the referent rather than
   the slot, to which mutators may store meanwhile. */

/* Counts the object's bytes as alive. The marker's lock is held. */
GC__INLINED void gc__marker_add(gc_heap *heap, uintptr_t object) {
    size_t bytes = gc__object_bytes(object), *marked = &heap->marker->marked_bytes;
    gc__region_of(object)->next_live_bytes += bytes;
    __atomic_store_n(marked, *marked + bytes, __ATOMIC_RELAXED);
}

/* Marks an object of generation 2. */
GC__INLINED void gc__mark_concurrently(gc__worker *worker, uintptr_t object) {
    if (!gc__bit_set_shared(worker->marks, object)) return;
    gc__marker_add(worker->heap, object);
    if (GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
    if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
}

/* Prefetches an object to be marked. Returns the one that has waited longest, or 0 if there is none. */
GC__INLINED uintptr_t gc__concurrent_await(gc__worker *worker, uintptr_t object) {
    __builtin_prefetch((const void *)object);
    __builtin_prefetch((const void *)(object + 24));
    __builtin_prefetch(&worker->marks[gc__mark_index(object) >> 6], 1);
    uintptr_t *place = &worker->fifo[worker->fifo_next++ % GC__FIFO], oldest = *place;
    *place = object;
    return oldest;
}

/* Reads a slot, once. Returns an object that is to be marked now, or 0 if there is none. */
GC__INLINED uintptr_t gc__exchange_concurrent(gc__worker *worker, const gc_word *slot, bool value) {
    uintptr_t ref = gc__slot_decode(slot, __atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if (GC__VALUES_ARE_WIDE && value && !(gc__shade_is_sound(worker->heap, ref) && gc__shade_is_object(ref))) return 0;
    unsigned age = gc__age_before_marks(ref);
    if (!(age & GC__AGE_MARKING)) return 0;
    if (GC__UNLIKELY(age & GC__AGE_CANDIDATE) && gc__is_marking((uintptr_t)slot)) /* a remark reads other slots, too */
        gc__candidates_note(worker->heap, (uintptr_t)slot, ref);
    return gc__concurrent_await(worker, ref);
}

/* Handles one slot whose referent was prefetched. */
GC__INLINED void gc__process(gc__worker *worker, uintptr_t entry, gc__tracer tracer) {
    bool many = tracer == GC__MANY;
    if (tracer == GC__CONCURRENT) {
        bool filled = gc__barrier_age(&gc__tables, entry) & GC__AGE_FILLED; /* then it may be for its thread to mark it */
        if (!filled || (!gc__shade_bit(worker->marks, entry) && gc__shade_is_object(entry))) gc__mark_concurrently(worker, entry);
        return;
    }
    bool value = GC_HAS_VALUES && (entry & 1);
    gc_word *slot = (gc_word *)(entry - value);
    uintptr_t word = gc__slot_read(slot, many), ref = gc__slot_decode(slot, word, value);
    uint8_t verdict = worker->verdicts[ref >> GC_REGION_SHIFT];
    if (verdict == GC__MARK) {
        gc__mark_object(worker, ref, many);
    } else if (verdict) {
        ref = gc__move_object(worker, ref, verdict, many);
        if (many && GC__UNLIKELY(!ref)) {
            gc__refuse(worker, entry);
            return;
        }
        gc__slot_write(slot, gc__slot_encode(ref, word, value), many);
    }
    if (worker->remember_all) gc__slot_remember(slot, ref);
}

/* gc__process as a call, for all but the hottest loops. */
GC__OUT_OF_LINE void gc__process_one(gc__worker *worker, uintptr_t entry) { gc__process(worker, entry, gc__tracer_of(worker)); }

/* Prefetches the slot's referent, which is condemned, and puts the slot in the FIFO. Returns the slot that has
   waited longest, or 0 if there is none. */
GC__INLINED uintptr_t gc__prefetch(gc__worker *worker, gc_word *slot, uintptr_t ref, uint8_t verdict, bool value,
                                   bool many) {
    /* Objects straddle cache lines: the first slots, and the bytes to be copied, may be in another line than the
       header. Verdicts come in no order, so a jump here would be mispredicted: mark bits are fetched for copies,
       too. */
    __builtin_prefetch((const void *)ref, 1);
    __builtin_prefetch((const void *)(ref + 24 + 24u * (verdict != GC__MARK)), 1);
    __builtin_prefetch(&worker->marks[gc__mark_index(ref) >> 6], 1);
    if (many && verdict == GC__MARK)
        __builtin_prefetch((const void *)((uintptr_t)worker->own_marks + (gc__mark_index(ref) >> 6) * sizeof(uint64_t)), 1);
    uintptr_t *place = &worker->fifo[worker->fifo_next++ % GC__FIFO];
    uintptr_t oldest = *place;
    *place = (uintptr_t)slot | value;
    return oldest;
}

/* Handles an edge that leaves the collection set, as worker->edges says: dirties the card, shades the referent for
   the marker, or records an edge into a candidate. */
GC__INLINED void gc__edge(gc__worker *worker, const gc_word *slot, uintptr_t ref) {
    if (worker->edges & GC__EDGES_REMEMBER) gc__slot_remember(slot, ref);
    if (GC__UNLIKELY(worker->edges & GC__EDGES_SHADE)) gc__shade(worker, ref);
    if (GC__UNLIKELY(worker->edges & GC__EDGES_CANDIDATE)) gc__candidates_meet(worker, (uintptr_t)slot, ref);
}

/* Takes a slot that may refer to a condemned object. Returns a slot that is to be handled now, or 0 if there is
   none. */
GC__INLINED uintptr_t gc__exchange(gc__worker *worker, gc_word *slot, bool value, gc__tracer tracer) {
    bool many = tracer == GC__MANY;
    if (tracer == GC__CONCURRENT) return gc__exchange_concurrent(worker, slot, value);
    uintptr_t ref = gc__slot_decode(slot, gc__slot_read(slot, many), value);
    uint8_t verdict = worker->verdicts[ref >> GC_REGION_SHIFT];
    if (verdict) return gc__prefetch(worker, slot, ref, verdict, value, many);
    if (worker->edges) gc__edge(worker, slot, ref);
    return 0;
}
