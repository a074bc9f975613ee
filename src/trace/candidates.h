/* Regions that are evacuated when the marking of generation 2 beside mutators ends.

   They are chosen when it begins, sparse ones, as many as can be copied within the goal for pauses. From then on they are
   *leaving*: GC__AGE_CANDIDATE is in their ages, and nothing is promoted into them. The marker notes each slot that refers to
   one, and barriers have the cards of such stores looked at, so that collections note those. In the last collection leaving
   regions are condemned together with the young ones, and what the trace reaches there is copied: from roots, cards and
   young objects, from the noted slots, and from what the marker has left to scan.

   Invariant: a slot of an old object that refers to a leaving region is noted, or remembered by a card or in the list, or its
   object is grey, or waits for its trace function to be called, or is in a leaving region itself; or the region stays. */
#pragma once

#include "../space/holes.h"
#include "../space/slots.h"
#include "shade.h"

#define GC__CANDIDATES_NS 5     /* for each byte that is copied, slots included */
#define GC__CANDIDATES_HURRY 4  /* times the goal, where the next nursery may not find room */
#define GC__CANDIDATES_DENSE 80 /* percent live from which evacuation frees too little */
#define GC__CANDIDATES_SLOT 16  /* bytes that are copied in the time in which a noted slot is looked at */
#define GC__CANDIDATES_NOTES 64 /* the part of the limit that the noted slots take at most */

GC__FN bool gc__is_candidate(uintptr_t object) {
    return GC__AGE_CANDIDATE && gc__in_arena(object) && gc__barrier_age(&gc__tables, object) & GC__AGE_CANDIDATE;
}

/* The leaving region to an object of which the slot refers now, if that may leave; NULL otherwise. */
GC__FN gc__region *gc__candidates_referent(const gc_word *slot) {
    uintptr_t word = __atomic_load_n(slot, __ATOMIC_RELAXED);
#if GC_HAS_VALUES
    if (!gc__is_candidate(word)) word = gc__slot_decode(word, true);
#endif
    gc__region *region = gc__is_candidate(word) ? gc__region_of(word) : NULL;
    return region && !region->retained ? region : NULL;
}

/* There are too many notes: the region to which most slots refer stays. Drops the notes of these slots, and of those that refer
   elsewhere by now: a barrier has seen to it that they are noted again if need be. */
GC__HOT void gc__candidates_keep(gc_heap *heap) {
    gc__words *slots = &heap->marker->slots;
    gc__region *most = NULL;
    size_t kept = 0;
    for (gc__region *region = heap->regions[2]; region; region = region->next)
        if (region->candidate && !region->retained && (!most || region->rset_slots > most->rset_slots)) most = region;
    if (most) most->retained = true;
    for (gc__region *region = heap->regions[2]; region; region = region->next) region->rset_slots = 0;
    for (size_t i = 0; i < slots->count; i++) {
        __builtin_prefetch((const void *)slots->words[gc__min(i + GC__FIFO, slots->count - 1)]);
        gc__region *region = gc__candidates_referent((const gc_word *)slots->words[i]);
        if (!region) continue;
        region->rset_slots++;
        slots->words[kept++] = slots->words[i];
    }
    slots->count = kept;
}

/* The slot, of an old object, refers to an object in a leaving region. The marker's lock is held. Any number of slots may refer
   to one object, so the notes have an end. A region stays of which one is missing. */
GC__FN void gc__candidates_note(gc_heap *heap, uintptr_t slot, uintptr_t ref) {
    gc__marker *marker = heap->marker;
    gc__region *region = gc__region_of(ref);
    while (!region->retained && marker->slots.count >= marker->slots_most) {
        if (!marker->slots.count) region->retained = true;
        gc__candidates_keep(heap);
    }
    if (region->retained) return;
    if (gc__shade_push(heap, &marker->slots, slot))
        region->rset_slots++;
    else
        region->retained = true;
}

/* A collection has met the slot, whose referent is old; outside of the heap it is one of the object's that is traced. */
GC__OUT_OF_LINE void gc__candidates_meet(const gc__worker *worker, uintptr_t slot, uintptr_t ref) {
    uintptr_t place = gc__in_arena(slot) ? slot : gc__traced; /* the owner's trace function is called in the last pause */
    if (!gc__is_candidate(ref) || !gc__is_marking(place)) return;
    if (gc__workers_of(worker)) gc__lock_take(&worker->workers->space);
    if (place == slot)
        gc__candidates_note(worker->heap, slot, ref);
    else
        gc__shade_wait(worker->heap, place);
    if (gc__workers_of(worker)) gc__lock_release(&worker->workers->space);
}

/* How much of a small region lives, in percent, if it may leave; otherwise 100. */
GC__FN unsigned gc__candidates_percent(const gc__region *region) {
    bool may = gc__is_by_marks(region) && region->live_bytes;
    return may ? (unsigned)(region->live_bytes / (GC_REGION_BYTES / 100 + 1)) : 100;
}

/* Puts chosen regions behind the first one of the list that was not chosen, so that the last collection need not look for them:
   a list grows at its begin. Searches for holes go on behind them. */
GC__HOT void gc__candidates_move(gc_heap *heap, unsigned most, size_t budget) {
    gc__region **link = &heap->regions[2], *chosen = NULL, *last = NULL, *before = NULL, *region;
    while ((region = *link) != NULL) {
        unsigned percent = gc__candidates_percent(region);
        if (percent > most || percent >= GC__CANDIDATES_DENSE || (percent == most && region->live_bytes > budget)) {
            if (!before) before = region;
            link = &region->next;
            continue;
        }
        if (percent == most) budget -= region->live_bytes;
        if (heap->cycle->cursors[2] == region) heap->cycle->cursors[2] = region->next;
        if (heap->old_unlisted == region) heap->old_unlisted = region->next;
        *link = region->next;
        region->next = chosen;
        chosen = region;
        if (!last) last = region;
        region->candidate = true;
        region->retained = false;
        region->rset_slots = 0;
        gc__region_set_rank(region, gc__region_age(heap, region), true);
    }
    heap->marker->candidates_begin = chosen;
    heap->marker->candidates_behind = before;
    if (!chosen) return;
    link = before ? &before->next : &heap->regions[2];
    last->next = *link;
    *link = chosen;
}

/* A cycle has begun: chooses the sparsest regions, of which so many bytes can be copied. */
GC__HOT void gc__candidates_choose(gc_heap *heap, size_t budget) {
    size_t bytes[101] = {0};
    unsigned most = 0;
    heap->marker->slots_most = gc__min(budget / GC__CANDIDATES_SLOT, heap->limit_bytes / GC__CANDIDATES_NOTES / sizeof(uintptr_t));
    for (const gc__region *region = heap->regions[2]; region; region = region->next)
        bytes[gc__candidates_percent(region)] += region->live_bytes;
    for (; most < GC__CANDIDATES_DENSE && bytes[most] <= budget; most++) budget -= bytes[most];
    gc__candidates_move(heap, most, budget);
}

/* In the last collection: condemns those of which no note is missing. Returns `condemned` with them; the searches for holes
   must not follow them there. */
GC__HOT gc__region *gc__candidates_condemn(gc_heap *heap, gc__region *condemned) {
    gc__region *behind = heap->marker->candidates_behind, **link = behind ? &behind->next : &heap->regions[2], *region;
    bool any = heap->marker->candidates_begin != NULL;
    while (any && *link != heap->marker->candidates_begin) link = &(*link)->next; /* if all were chosen, and others have come */
    while (any && (region = *link) != NULL && region->candidate) {
        bool leaves = !region->retained && !region->pinned;
        gc__region_set_rank(region, gc__age_of(heap, 2), true);
        if (!leaves) {
            region->candidate = false;
            link = &region->next;
            continue;
        }
        *link = region->next;
        region->target = 2;
        region->condemned = heap->collection.number;
        region->overflowed = false;
        region->live_bytes = 0;
        gc__region_set_verdict(region, GC__MOVE, 2);
        region->next = condemned;
        condemned = region;
    }
    heap->cycle->cursors[2] = heap->regions[2];
    heap->old_unlisted = NULL;
    return condemned;
}
