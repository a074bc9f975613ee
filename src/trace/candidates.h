/* Evacuation candidates: regions that are evacuated when a concurrent marking of generation 2 ends.

   They are chosen when the cycle begins: sparse regions, as many as can be copied within the goal for pauses. From
   then on GC__AGE_CANDIDATE is in their ages, and nothing is promoted into them. The marker records each slot that
   refers to a candidate region, and barriers dirty the cards of such stores, so that collections record the slots.
   The final mark condemns the candidates together with the young regions, and copies what the trace reaches there:
   from roots, cards and young objects, from the recorded slots, and from what the marker has left to scan.

   Invariant: a slot of an old object that refers to a candidate region is recorded, or remembered by a card or in
   the list; or its object is grey, waits for its trace function to be called, or lies in a candidate region itself;
   or the referent's region is *retained*: it is not evacuated. */
#pragma once

#include "../space/holes.h"
#include "../space/slots.h"
#include "shade.h"

#define GC__CANDIDATES_NS 5     /* for each byte that is copied, its slots included */
#define GC__CANDIDATES_HURRY 4  /* the budget is this multiple of the goal's if the next nursery may not find room */
#define GC__CANDIDATES_DENSE 80 /* percent live from which evacuation frees too little */
#define GC__CANDIDATES_SLOT 16  /* bytes that are copied in the time it takes to look at a recorded slot */
#define GC__CANDIDATES_NOTES 64 /* the recorded slots take at most 1/n of the limit */

GC__FN bool gc__is_candidate(uintptr_t object) {
    return GC__AGE_CANDIDATE && gc__in_arena(object) && gc__barrier_age(&gc__tables, object) & GC__AGE_CANDIDATE;
}

/* Returns the candidate region to which the slot refers now, or NULL if it refers to none or to a retained one. */
GC__FN gc__region *gc__candidates_referent(const gc_word *slot) {
    uintptr_t word = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (GC_HAS_VALUES && !gc__is_candidate(word)) word = gc__shade_decode(word);
    gc__region *region = gc__is_candidate(word) ? gc__region_of(word) : NULL;
    return region && !region->retained ? region : NULL;
}

/* Makes room for slots: retains the region to which most slots refer. Drops these slots, and those that refer
   elsewhere by now: a barrier has made sure that they are recorded again if necessary. */
GC__HOT void gc__candidates_keep(gc_heap *heap) {
    gc__words *slots = &heap->marker->slots;
    gc__region *most = NULL;
    size_t kept = 0;
    gc__region *regions = __atomic_load_n(&heap->regions[2], __ATOMIC_ACQUIRE); /* a thread may be adding one */
    for (gc__region *region = regions; region; region = region->next)
        if (region->candidate && !region->retained && (!most || region->rset_slots > most->rset_slots)) most = region;
    if (most) most->retained = true;
    for (gc__region *region = regions; region; region = region->next) region->rset_slots = 0;
    for (size_t i = 0; i < slots->count; i++) {
        __builtin_prefetch((const void *)slots->words[gc__min(i + GC__FIFO, slots->count - 1)]);
        gc__region *region = gc__candidates_referent((const gc_word *)slots->words[i]);
        if (!region) continue;
        region->rset_slots++;
        slots->words[kept++] = slots->words[i];
    }
    slots->count = kept;
}

/* Records the slot of an old object, which refers to an object in a candidate region. The marker's lock is held. Any
   number of slots may refer to one object, so their number is limited. A region is retained if a slot that refers to
   it is not recorded. */
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

/* Records a slot that a collection has met, whose referent is old. A slot outside the heap belongs to the traced
   object. */
GC__OUT_OF_LINE void gc__candidates_meet(const gc__worker *worker, uintptr_t slot, uintptr_t ref) {
    uintptr_t place = gc__in_arena(slot) ? slot : gc__traced; /* the final mark calls the owner's trace function */
    if (!gc__is_candidate(ref) || !gc__is_marking(place)) return;
    if (gc__workers_of(worker)) gc__lock_take(&worker->workers->space);
    if (place == slot)
        gc__candidates_note(worker->heap, slot, ref);
    else
        gc__shade_wait(worker->heap, place);
    if (gc__workers_of(worker)) gc__lock_release(&worker->workers->space);
}

/* Returns how much of a small region lives, in percent, if it may become a candidate; otherwise 100. */
GC__FN unsigned gc__candidates_percent(const gc__region *region) {
    bool may = gc__is_by_marks(region) && region->live_bytes;
    return may ? (unsigned)(region->live_bytes / (GC_REGION_BYTES / 100 + 1)) : 100;
}

/* Moves the chosen regions behind the first region of the list that was not chosen, so that the final mark need not
   look for them: a list grows at its front. Searches for holes go on behind them. */
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

/* Chooses the sparsest regions when a cycle has begun, as many as the byte budget allows to be copied. */
GC__HOT void gc__candidates_choose(gc_heap *heap, size_t budget) {
    size_t bytes[101] = {0};
    unsigned most = 0;
    size_t notes = heap->limit_bytes / GC__CANDIDATES_NOTES / sizeof(uintptr_t);
    heap->marker->slots_most = gc__min(budget / GC__CANDIDATES_SLOT, notes);
    for (const gc__region *region = heap->regions[2]; region; region = region->next)
        bytes[gc__candidates_percent(region)] += region->live_bytes;
    for (; most < GC__CANDIDATES_DENSE && bytes[most] <= budget; most++) budget -= bytes[most];
    gc__candidates_move(heap, most, budget);
}

/* Condemns in the final mark the candidates that are not retained. Returns `condemned` with them added. Searches for
   holes must not follow them into that list. */
GC__HOT gc__region *gc__candidates_condemn(gc_heap *heap, gc__region *condemned) {
    gc__region *behind = heap->marker->candidates_behind, **link = behind ? &behind->next : &heap->regions[2], *region;
    bool any = heap->marker->candidates_begin != NULL;
    /* If all regions were chosen, and others have been added since. */
    while (any && *link != heap->marker->candidates_begin) link = &(*link)->next;
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
