/* Tracing from dirty cards and remembered slots. */
#pragma once

#include "../space/cards.h"
#include "store_buffer.h"
#include "scan.h"

/* Prefetches the bits that mark where the object at this address starts. */
GC__INLINED void gc__old_starts_await(const gc__worker *worker, uintptr_t at) {
    __builtin_prefetch(&worker->starts[gc__mark_index(at) >> 6]);
}

/* Scans the objects of an older region that overlap the card [from, to). */
GC__INLINED void gc__trace_card(gc__worker *worker, gc__region *region, uintptr_t from, uintptr_t to) {
    bool large = region->kind == GC__LARGE;
    const uint64_t *marks = gc__region_marks(region);
    uint8_t edges = worker->edges;
    uintptr_t object = gc__bit_previous(marks, region->base, large ? region->base : from);
    if (!(edges & GC__EDGES_SHADE_CARDS)) worker->edges = gc__edges_of_dead(edges);
    if (!object) object = large ? to : gc__bit_next(marks, from, to);
    while (object < to) {
        uintptr_t end = object + gc__object_bytes(object);
        uintptr_t until = to < end ? to : end;
        if (object >= from && end <= to)
            gc__scan(worker, object);
        else if (end > from)
            gc__scan_range(worker, object, from, until);
        object = large ? to : gc__bit_next(marks, object + GC_OBJECT_BYTES_MIN, to);
    }
    worker->edges = edges;
}

/* Prefetches the card's memory and puts the card in the FIFO; scans the card that has waited longest. Returns false
   if the worker must stop. */
GC__HOT bool gc__card_prefetch(gc__worker *worker, uintptr_t card) {
    uintptr_t *place = &worker->cards[worker->cards_next++ % GC__CARD_FIFO], oldest = *place;
    *place = card;
    if (card) {
        gc__old_starts_await(worker, card);
        for (size_t line = 0; line < GC_CARD_BYTES; line += 64) __builtin_prefetch((const void *)(card + line));
    }
    if (!oldest) return true;
    gc__trace_card(worker, gc__region_first(gc__region_of(oldest)), oldest, oldest + GC_CARD_BYTES);
    return gc__stack_drain_some(worker);
}

/* Scans the cards that are left in the FIFO. Returns false if the worker must stop. */
GC__FN bool gc__cards_finish(gc__worker *worker) {
    for (int i = 0; i < GC__CARD_FIFO; i++)
        if (!gc__card_prefetch(worker, 0)) return false;
    gc__trace_part(worker);
    return gc__stack_drain_some(worker);
}

/* Cleans the dirty cards of [from, end), which lies in one region or bundle, and scans them; or appends them to the
   list, if there is one and memory for it. */
GC__HOT void gc__trace_cards_of(gc__worker *worker, uintptr_t from, uintptr_t end, gc__words *list) {
    for (uintptr_t card = from; (card = gc__card_next_dirty(card, end)) < end; card += GC_CARD_BYTES) {
        gc__card_clear(card);
        if (list && gc__words_push(list, card)) continue;
        gc__card_prefetch(worker, card);
    }
}

/* Returns whether the region's dirty cards lead to roots. A final mark evacuates some old regions, in which headers may be
   forwarding words; what stays there is scanned when it is reached. */
GC__FN bool gc__has_cards(const gc__region *region, int condemned) {
    return region->generation > condemned && !region->verdict && (region->kind == GC__SMALL || region->kind == GC__LARGE);
}

#if GC_BUNDLE_SHIFT
/* Prefetches the bundle's part of the card table and puts the bundle in the FIFO; handles the bundle that has waited
   longest. */
GC__INLINED void gc__bundle_prefetch(gc__worker *worker, uintptr_t bundle, gc__words *list) {
    const size_t bytes = (size_t)1 << GC_BUNDLE_SHIFT;
    uintptr_t *place = &worker->bundles[worker->bundles_next++ % GC__CARD_FIFO], oldest = *place;
    *place = bundle;
    if (bundle)
        for (size_t line = 0; line < bytes; line += 64 * GC__CARD_BYTE_SPAN)
            __builtin_prefetch(gc__tables.cards + ((bundle + line) >> GC_CARD_BYTE_SHIFT), 1);
    if (oldest) gc__trace_cards_of(worker, oldest, oldest + bytes, list);
}

/* Looks at the bundles of all heaps, eight at a time, which is faster than going from region to region. */
GC__HOT void gc__trace_bundles(gc__worker *worker, int condemned, gc__words *list) {
    const size_t bytes = (size_t)1 << GC_BUNDLE_SHIFT;
    size_t count = gc__regions_used() << (GC_REGION_SHIFT - GC_BUNDLE_SHIFT);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t dirty = gc__cpu_eight(gc__the_arena.bundles + i);
        for (; dirty; dirty &= ~((uint64_t)0xFF << (__builtin_ctzll(dirty) & 56))) {
            uintptr_t bundle = gc__the_arena.base + (i + (size_t)__builtin_ctzll(dirty) / 8) * bytes;
            gc__region *region = gc__region_of(bundle);
            if (!gc__region_is_of(region, worker->heap)) continue;
            region = gc__region_first(region);
            if (!gc__has_cards(region, condemned)) continue;
            gc__bundle_clear(bundle);
            gc__bundle_prefetch(worker, bundle, list);
        }
    }
    for (int i = 0; i < GC__CARD_FIFO; i++) gc__bundle_prefetch(worker, 0, list);
}

/* Returns how many bundles of all heaps are dirty. */
GC__HOT size_t gc__count_dirty_bundles(void) {
    size_t bits = 0, count = gc__regions_used() << (GC_REGION_SHIFT - GC_BUNDLE_SHIFT);
    for (size_t i = 0; i < count; i += 8)
        bits += (size_t)__builtin_popcountll(
            __atomic_load_n((const uint64_t *)(const void *)(gc__the_arena.bundles + i), __ATOMIC_RELAXED));
    return bits / 8;
}
#else
GC__HOT void gc__trace_bundles(gc__worker *worker, int condemned, gc__words *list) {
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (gc__region_is_of(region, worker->heap) && gc__has_cards(region, condemned))
            gc__trace_cards_of(worker, region->base, gc__region_end(region), list);
    }
}

GC__HOT size_t gc__count_dirty_bundles(void) { return 0; }
#endif

#if !GC_HAS_MODEL
/* Enqueues the slots in the word, according to its object's type. Most are elements of arrays of references, or in
   the mask. */
GC__INLINED void gc__trace_word(gc__worker *worker, uintptr_t object, uintptr_t slot) {
    const gc_type *type = gc__object_type(object);
    size_t index = (slot - object - type->bytes) / sizeof(gc_word), word = (slot - object) / sizeof(gc_word);
    bool element = slot - object >= type->bytes && type->element_bytes == sizeof(gc_word) && type->element_refs &&
                   index < gc__object_length(object);
    if (element || (word < 64 && type->refs >> word & 1))
        gc__enqueue(worker, (gc_word *)slot, false);
    else
        gc__scan_masks_in(worker, object, slot, slot + sizeof(gc_word));
}
#endif

/* Enqueues a remembered slot, according to its object's type. A trace function would be called for each slot, so the
   object's card is dirtied instead. */
GC__INLINED void gc__trace_slot(gc__worker *worker, uintptr_t slot) {
    gc__region *region = gc__region_first(gc__region_of(slot));
    if (gc__region_is_candidate(region) && worker->verdicts[slot >> GC_REGION_SHIFT]) return; /* the object's copy is scanned */
#if !GC_HAS_MODEL
    uintptr_t last = region->kind == GC__LARGE ? region->base : slot;
    uintptr_t object = gc__bit_previous(gc__region_marks(region), region->base, last);
    if (!gc__object_type(object)->trace) {
        uint8_t edges = worker->edges;
        worker->edges = gc__edges_of_dead(edges);
        gc__trace_word(worker, object, slot);
        worker->edges = edges;
        return;
    }
#endif
    gc__barrier_dirty_card(&gc__tables, (const void *)slot);
    __atomic_store_n(&worker->heap->stores->again, true, __ATOMIC_RELAXED);
}

/* Returns an entry of a list of slots, or the slot of an entry of the store buffer; 0 if that has no tag. */
GC__INLINED uintptr_t gc__slot_listed(const void *list, bool stores, size_t i) {
    if (!stores) return ((const uintptr_t *)list)[i];
    gc__store slot = ((const gc__store *)list)[i];
    return slot & GC__STORE_TAG ? slot & ~GC__STORE_TAG : 0;
}

/* Traces from the slots [from, end) of a list. Returns false if the worker must stop. */
GC__HOT bool gc__trace_slots_of(gc__worker *worker, const void *list, bool stores, size_t from, size_t end) {
    for (size_t i = from; i < end + GC__FIFO; i++) {
        uintptr_t ahead = i < end ? gc__slot_listed(list, stores, i) : 0;
        if (ahead) {
            __builtin_prefetch((const void *)ahead);
            gc__old_starts_await(worker, ahead);
        }
        uintptr_t slot = i < from + GC__FIFO ? 0 : gc__slot_listed(list, stores, i - GC__FIFO);
        if (!slot) continue;
        gc__trace_slot(worker, slot);
        if (!gc__stack_drain_some(worker)) return false;
    }
    return true;
}

/* Traces from the dirty cards of the generations above `condemned`, and then from `slots` remembered slots. Cards
   that are still needed become dirty again, as do those of such slots. */
GC__FN void gc__trace_cards(gc__worker *worker, int condemned, size_t slots) {
    unsigned before = worker->cards_next;
    worker->remember_all = true;
    gc__worker_remember(worker, true);
    gc__trace_bundles(worker, condemned, NULL);
    worker->heap->pause.dirty_cards += worker->cards_next - before;
    gc__cards_finish(worker);
    gc__trace_drain(worker);
    if (slots) {
        gc__trace_slots_of(worker, worker->heap->stores->entries, true, 0, slots);
        gc__trace_drain(worker);
    }
    gc__worker_remember(worker, false);
}

/* Traces in the final mark from the recorded slots that refer to candidate regions. */
GC__FN void gc__trace_candidates(gc__worker *worker) {
    const gc__marker *marker = worker->heap->marker;
    bool *again = &worker->heap->stores->again;
    if (!gc__is_mark_end(worker->heap)) return;
    *again = false;
    gc__trace_slots_of(worker, marker->slots.words, false, 0, marker->slots.count);
    gc__trace_drain(worker);
    if (*again) gc__trace_cards(worker, worker->heap->cycle->plan->condemned, 0);
}

/* Cleans the dirty cards and lists them, for any worker to scan. All are clean before the first is scanned: a worker
   that copies into a hole dirties its card, and no other worker cleans that card afterwards. Returns whether some
   cards were scanned at once, for want of memory. */
GC__FN bool gc__list_cards(gc__worker *worker, int condemned, gc__words *list) {
    unsigned scanned = worker->cards_next;
    bool before = worker->remember_all;
    list->count = 0;
    worker->remember_all = true;
    gc__worker_remember(worker, true);
    gc__trace_bundles(worker, condemned, list);
    bool some = worker->cards_next != scanned;
    gc__cards_finish(worker);
    worker->remember_all = before;
    return some;
}
