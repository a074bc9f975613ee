/* The state of a condemned object. Invariant: from condemning to sweeping only this part writes mark bits and
   forwarding words of condemned regions, and mark bits of copies.

   If a few workers run, each has its own mark bits in addition to the arena's, and sets an object's bit in both, by
   plain stores. Two workers that write a word of the arena's marks at the same time may lose each other's bits; the
   lost bits are in their own marks, and are added when the run is over. So two workers may mark and scan the same
   object, which does no harm; it is counted once. If there are many workers, or no memory for their marks, marking
   is an atomic OR.

   Copying is a compare-and-exchange of the first word, after the copy is complete: a worker that loses takes back
   its copy, which is the last in its window and to which nothing refers yet. The copy's mark bit is set only by the
   winner, since a worker that looks for objects in a card would mistake a copy that is then taken back for an
   object.

   An exclusive worker (gc__workers_look_exclusive) claims without locked instructions. */
#pragma once

#include "../space/mark_bits.h"
#include "../space/object.h"
#include "workers.h"
#include "shade.h"
#include "slide.h"
#include "worker.h"

/* Scans an ambiguous object that a reference has reached for the first time; other marked objects need nothing. */
GC__OUT_OF_LINE void gc__ambiguous_reached(gc__worker *worker, uintptr_t object) {
    uintptr_t *reached = gc__map_find(worker->ambiguous, object);
    if (!reached || __atomic_exchange_n(reached, true, __ATOMIC_RELAXED)) return;
    if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
}

/* Makes the dependent handles ready that wait for the object that was at this address, which has been reached. */
GC__OUT_OF_LINE void gc__awaited_reached(gc__worker *worker, uintptr_t object) {
    const uintptr_t *number = gc__map_find(worker->awaited, object);
    if (number) gc__words_push(worker->found, *number);
}

/* Marks the object while other workers may be writing the same word of the arena's marks. Returns true unless this
   worker had marked it already, or has seen another worker's mark. */
GC__INLINED bool gc__claim_mark_twice(gc__worker *worker, uintptr_t object) {
    size_t index = gc__mark_index(object);
    uint64_t *word = &worker->marks[index >> 6], *own = &worker->own_marks[index >> 6];
    uint64_t bit = (uint64_t)1 << (index & 63), seen = __atomic_load_n(word, __ATOMIC_RELAXED), before = *own;
    if (seen & bit) return false;
    if (GC_DEBUG >= 3) gc__workers_step(worker);
    __atomic_store_n(word, seen | bit, __ATOMIC_RELAXED);
    *own = before | bit;
    return !(before & bit);
}

GC__INLINED bool gc__claim_mark_many(gc__worker *worker, uintptr_t object) {
    if (GC__LIKELY(worker->own_marks != NULL)) return gc__claim_mark_twice(worker, object);
    return worker->exclusive ? gc__bit_set(worker->marks, object) : gc__bit_set_shared(worker->marks, object);
}

/* Marks the object, in a region in which the marker has marked if `premarked`. Returns whether it had no mark yet. */
GC__INLINED bool gc__claim_mark_as(gc__worker *worker, uintptr_t object, bool many, bool premarked) {
    bool fresh = premarked ? gc__bit_set_shared(worker->marks, object)
                 : many ? gc__claim_mark_many(worker, object)
                        : gc__bit_set(worker->marks, object);
    if (fresh && many)
        worker->live[object >> GC__STRIPE_SHIFT] += gc__object_bytes(object);
    else if (fresh)
        *(premarked ? &gc__region_of(object)->next_live_bytes : &gc__region_of(object)->live_bytes) += gc__object_bytes(object);
    return fresh;
}
GC__FN bool gc__claim_mark(gc__worker *worker, uintptr_t object, bool many) {
    return gc__claim_mark_as(worker, object, many, false);
}

GC__INLINED void gc__mark_object_as(gc__worker *worker, uintptr_t object, bool many, bool premarked) {
    if (gc__claim_mark_as(worker, object, many, premarked)) {
        if (!many && GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
        if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
    } else if (GC__UNLIKELY(worker->ambiguous != NULL)) {
        gc__ambiguous_reached(worker, object);
    }
}
GC__INLINED void gc__mark_object(gc__worker *worker, uintptr_t object, bool many) {
    gc__mark_object_as(worker, object, many, false);
}
/* Marks the object in a region in which the marker has marked, or whose objects have slid. Returns where the
   object is now. */
GC__OUT_OF_LINE uintptr_t gc__mark_elsewhere(gc__worker *worker, uintptr_t object, uint8_t verdict) {
    bool many = gc__is_many(worker);
    if (verdict != GC__VERDICT_SLID) {
        gc__mark_object_as(worker, object, many, true);
        return object;
    }
    uintptr_t place = gc__slid_address(gc__region_of(object), object);
    if (!gc__claim_mark(worker, place, many)) return place;
    if (!many && GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
    if (!gc__object_is_leaf(place)) gc__trace_push(worker, place);
    return place;
}

/* Marks an old object of a region that is not evacuated, in the final mark. */
GC__FN void gc__mark_old(gc__worker *worker, uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    if (verdict & GC__VERDICT_SPECIAL)
        gc__mark_elsewhere(worker, object, verdict);
    else
        gc__mark_object(worker, object, false);
}

/* Sets the copy's bit; in the final mark in both planes, since the copy may be in a hole of an old region, whose cards
   are scanned. `shared`: other workers run. A thread that sees the bit also sees the complete object. */
GC__INLINED void gc__mark_copy(const gc__worker *worker, uintptr_t copy, bool shared) {
    size_t word = gc__mark_index(copy) >> 6;
    uint64_t bit = (uint64_t)1 << (gc__mark_index(copy) & 63), *start = &worker->starts[word];
    bool both = GC__HAS_MARKER && GC__UNLIKELY(worker->marks != worker->starts);
    if (both) __atomic_fetch_or(&worker->marks[word], bit, __ATOMIC_RELAXED);
    if (shared) /* no other worker writes this word */
        __atomic_store_n(start, *start | bit, __ATOMIC_RELEASE);
    else
        *start |= bit;
}

/* Records that the object, whose first word was `header`, was copied, and where to. Returns the object's first word
   if another worker has copied it first; otherwise the forwarding word for this copy. */
GC__INLINED uintptr_t gc__claim_copied(const gc__worker *worker, uintptr_t object, uintptr_t header, uintptr_t copy,
                                       bool many) {
    uintptr_t forward = copy | GC__FORWARD_TAG;
    if (!many || worker->exclusive) {
        gc__mark_copy(worker, copy, false);
        GC__WORD(object) = forward;
    } else if (__atomic_compare_exchange_n(&GC__WORD(object), &header, forward, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE)) {
        gc__mark_copy(worker, copy, true);
    } else {
        return header;
    }
    return forward;
}

/* Lets objects of the region stay in place from now on: those without a forwarding word are marked as they are
   reached. */
GC__FN void gc__claim_in_place(gc__region *region, unsigned target) {
    if (region->verdict != GC__MOVE) return;
    gc__condemned_marks_clear(region);
    gc__region_set_verdict(region, GC__MOVE_MARKED, (int)target);
}

/* Returns whether the collection has marked at this address. */
GC__FN bool gc__is_marked(uintptr_t address) {
    return gc__bit_get(gc__marks_of(gc__region_of(address)->heap), address);
}

/* Returns where an object is now, or 0 if it has not been reached, for a region in which the marker has marked, or whose
   objects have slid. */
GC__OUT_OF_LINE uintptr_t gc__reached_elsewhere(uintptr_t object, uint8_t entry) {
    if (GC__HAS_MARKER && entry != GC__VERDICT_SLID)
        return gc__shade_bit(gc__region_of(object)->heap->marker->marks, object) ? object : 0;
    uintptr_t place = gc__slid_address(gc__region_of(object), object);
    return gc__is_marked(place) ? place : 0;
}

/* Returns where a condemned object is now, or 0 if it has not been reached. `entry` is that of the verdict table. */
GC__FN uintptr_t gc__reached(uintptr_t object, uint8_t entry) {
    uint8_t verdict = entry & GC__VERDICT_MASK;
    if (entry & GC__VERDICT_SPECIAL) return gc__reached_elsewhere(object, entry);
    if (verdict != GC__MOVE && gc__is_marked(object)) return object;
    if (verdict == GC__MARK) return 0;
    uintptr_t header = GC__WORD(object);
    return header & GC__FORWARD_TAG ? header - GC__FORWARD_TAG : 0;
}

/* Prefetches the mark word that gc__reached will read for an old object. */
GC__FN void gc__reached_await(uintptr_t object) {
    if (GC__VERDICTS[object >> GC_REGION_SHIFT])
        __builtin_prefetch(&gc__marks_of(gc__region_of(object)->heap)[gc__mark_index(object) >> 6]);
}

/* Returns where an object is after the trace, or 0 if it is dead or null. */
GC__FN uintptr_t gc__address_after_trace(uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    return verdict ? gc__reached(object, verdict) : object;
}
