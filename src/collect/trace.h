/* The trace: from the roots and dirty cards to everything reachable in condemned regions.

   A slot found is prefetched into a small FIFO and processed some slots later, when its referent has reached the cache.
   Processing marks or copies the referent and pushes it, unless it has no references, on the mark stack. The depth of
   the C stack never depends on the data. If the mark stack cannot grow, the object's region is noted as overflowed, and
   its marked objects are scanned again at the end: scanning is idempotent. */
#pragma once

#include "suspects.h"

#define GC__FIFO 16     /* slots between prefetch and use; a power of two */
#define GC__CARD_FIFO 4 /* the same for dirty cards, and for dirty bundles */
#define GC__CHUNK 32    /* elements of an array that are scanned at a time */
#define GC__SMALL_MARK_STACK 64
#define GC__CONTINUED 1 /* tag of a mark stack entry: an array, whose next element's index lies below it */

typedef struct gc__tracer {
    gc_visitor visitor; /* for trace functions */
    gc_heap *heap;
    const uint8_t *verdicts;
    uintptr_t fifo[GC__FIFO];       /* slot | 1 if a tagged value; a ring */
    unsigned fifo_next;             /* counts up */
    uintptr_t *stack, *top, *limit; /* the mark stack, where it ends, and where its memory does */
    uintptr_t cards[GC__CARD_FIFO], bundles[GC__CARD_FIFO];
    unsigned cards_next, bundles_next;
    bool remember_all; /* objects may survive in different generations: slots of those may need cards, too */
    bool remember;     /* slots of older objects are scanned: keep their cards dirty as needed */
    bool overflowed;
    const gc__map *suspects; /* see suspects.h; NULL: there are none */
    const gc__map *keys;     /* objects that are waited for: numbers to put on heap->handles.ready; NULL: none */
    bool no_room[GC_GENERATIONS];
} gc__tracer;

GC__OUT_OF_LINE void gc__slot_dirty(const void *slot) { gc_barrier_dirty_card(&gc__tables, slot); }

GC__INLINED void gc__slot_remember(const void *slot, uintptr_t ref) {
    if (GC__UNLIKELY(gc_barrier_ranks(&gc__tables, slot, (const void *)ref) > 2)) gc__slot_dirty(slot);
}

/* Notes that an object could not be pushed: its region is scanned again at the end. */
GC__FN void gc__trace_overflow(gc__tracer *tracer, uintptr_t object) {
    gc__region_of(object)->overflowed = tracer->overflowed = true;
    tracer->heap->stats.mark_stack_overflows++;
}

/* Makes room for some more words on the mark stack, if there is memory. */
GC__OUT_OF_LINE bool gc__trace_stack_grow(gc__tracer *tracer) {
    gc__words *memory = &tracer->heap->mark_stack;
    bool small = tracer->heap->options.test_small_mark_stack;
    size_t count = (size_t)(tracer->top - tracer->stack);
    size_t capacity = tracer->stack ? memory->capacity + 1 : GC__SMALL_MARK_STACK;
    if ((small && tracer->stack) || !gc__words_reserve(memory, capacity)) return false;
    tracer->stack = memory->words;
    tracer->top = tracer->stack + count;
    tracer->limit = tracer->stack + (small ? GC__SMALL_MARK_STACK : memory->capacity);
    return true;
}

GC__FN bool gc__trace_stack_room(gc__tracer *tracer, size_t words) {
    return GC__LIKELY((size_t)(tracer->limit - tracer->top) >= words) || gc__trace_stack_grow(tracer);
}

GC__OUT_OF_LINE void gc__trace_push_slow(gc__tracer *tracer, uintptr_t object) {
    if (gc__trace_stack_grow(tracer))
        *tracer->top++ = object;
    else
        gc__trace_overflow(tracer, object);
}

GC__INLINED void gc__trace_push(gc__tracer *tracer, uintptr_t object) {
    if (GC__LIKELY(tracer->top != tracer->limit))
        *tracer->top++ = object;
    else
        gc__trace_push_slow(tracer, object);
}

/* Copying. */

GC__FN void gc__window_close(gc_heap *heap, gc__window *window) {
    if (!window->region) return;
    size_t bytes = window->next - window->start;
    window->region->live_bytes += bytes;
    heap->copied_bytes[window->region->generation] += bytes;
    window->region->hole = window->next;
    if (window->region->dirty_end < window->next) window->region->dirty_end = window->next;
    window->region = NULL;
    window->start = window->next = window->limit = window->end = 0;
}

/* Moves the limit so that `bytes` fit, and to where memory was written before, but not to the end at once: of a region that
   was never written, only what is needed takes memory. */
GC__FN bool gc__window_extend(gc__window *window, size_t bytes) {
    if (bytes > window->end - window->next) return false;
    uintptr_t written = window->region->dirty_end, to = window->next + bytes;
    if (written < window->limit) written = window->limit;
    gc__region_populate(written, to);
    to = gc__populate_end(to);
    if (to < written) to = written;
    window->limit = to < window->end ? to : window->end;
    return true;
}

/* Makes room for `bytes` in the generation's window, or opens it in a hole or a fresh region. False: there is no room. */
GC__OUT_OF_LINE bool gc__window_room(gc__tracer *tracer, unsigned generation, size_t bytes) {
    gc_heap *heap = tracer->heap;
    gc__window *window = &heap->windows[generation];
    if (window->region && gc__window_extend(window, bytes)) return true;
    gc__window_close(heap, window);
    for (; window->cursor; window->cursor = window->cursor->next) {
        gc__region *region = window->cursor;
        if (region->kind != GC__SMALL || region->linear) continue;
        if (region->hole == region->base && region->live_bytes > GC_REGION_BYTES / 8 * 7) continue;
        uintptr_t from = gc__hole_by_marks(region, bytes, &window->limit);
        if (!from) continue;
        window->region = region;
        window->start = window->next = from;
        window->end = window->limit;
        return true;
    }
    if (tracer->no_room[generation]) return false;
    gc__region *region = gc__heap_take(heap, (int)generation, 1);
    tracer->no_room[generation] = !region;
    if (!region) return false;
    gc__marks_clear(region);
    gc__heap_push(heap, region);
    window->cursor = region;
    window->region = region;
    window->start = window->next = window->limit = region->base;
    window->end = region->hole = gc__region_end(region);
    return gc__window_extend(window, bytes);
}

/* Objects have 16 bytes at least. The last 16 may overlap what was copied before. */
GC__INLINED void gc__copy_words(uintptr_t to, uintptr_t from, size_t bytes) {
    if (GC__UNLIKELY(bytes > 128)) {
        memcpy((void *)to, (const void *)from, bytes);
        return;
    }
    size_t last = bytes - 16;
    for (size_t i = 0; i < last; i += 16) memcpy((void *)(to + i), (const void *)(from + i), 16);
    memcpy((void *)(to + last), (const void *)(from + last), 16);
}

/* A reference leads to an object that has its mark bit: if that is a suspect's, it is scanned now. */
GC__OUT_OF_LINE void gc__suspect_reached(gc__tracer *tracer, uintptr_t object) {
    uintptr_t *reached = gc__map_find(tracer->suspects, object);
    if (!reached || *reached) return;
    *reached = true;
    if (!gc__object_is_leaf(object)) gc__trace_push(tracer, object);
}

/* An object was reached, whose address was this one. */
GC__OUT_OF_LINE void gc__key_reached(gc__tracer *tracer, uintptr_t object) {
    const uintptr_t *number = gc__map_find(tracer->keys, object);
    if (number) gc__words_push(&tracer->heap->handles.ready, *number); /* for which there is room */
}

/* Marks the object; returns whether it had no mark yet. */
GC__INLINED bool gc__mark_counted(uintptr_t object) {
    bool fresh = gc__mark_set(object);
    if (fresh) gc__region_of(object)->live_bytes += gc__object_bytes(object);
    return fresh;
}

GC__INLINED void gc__mark_object(gc__tracer *tracer, uintptr_t object) {
    if (gc__mark_counted(object)) {
        if (GC__UNLIKELY(tracer->keys != NULL)) gc__key_reached(tracer, object);
        if (!gc__object_is_leaf(object)) gc__trace_push(tracer, object);
    } else if (GC__UNLIKELY(tracer->suspects != NULL)) {
        gc__suspect_reached(tracer, object);
    }
}

/* There was no room for a copy: from now on the region's objects may stay. */
GC__OUT_OF_LINE uintptr_t gc__evacuation_failed(gc__tracer *tracer, uintptr_t object, unsigned target) {
    gc__region *region = gc__region_of(object);
    if (region->verdict == GC__MOVE) {
        gc__marks_clear(region);
        gc__region_set_verdict(region, GC__MOVE_MARKED, (int)target);
    }
    tracer->heap->stats.evacuation_failures++;
    gc__mark_object(tracer, object);
    return object;
}

/* Copies the object to the target generation; returns the copy, or the object itself if there is no room. */
GC__INLINED uintptr_t gc__evacuate(gc__tracer *tracer, uintptr_t object, unsigned target) {
    gc__window *window = &tracer->heap->windows[target];
    size_t bytes = gc__object_bytes(object);
    bool leaf = gc__object_is_leaf(object);
    if (GC__UNLIKELY(bytes > window->limit - window->next) && !gc__window_room(tracer, target, bytes))
        return gc__evacuation_failed(tracer, object, target);
    uintptr_t copy = window->next;
    window->next = copy + bytes;
    gc__copy_words(copy, object, bytes);
    gc__mark_set(copy);
    GC__WORD(object) = copy | GC__FORWARD_TAG;
    if (GC__UNLIKELY(tracer->keys != NULL)) gc__key_reached(tracer, object);
    if (!leaf) gc__trace_push(tracer, copy);
    return copy;
}

/* Where a condemned object is now; 0 if it has not been reached. */
GC__FN uintptr_t gc__reached(uintptr_t object, uint8_t verdict) {
    if (verdict != GC__MOVE && gc__mark_get(object)) return object;
    if (verdict == GC__MARK) return 0;
    uintptr_t header = GC__WORD(object);
    return header & GC__FORWARD_TAG ? header - GC__FORWARD_TAG : 0;
}

/* Where an object is after the trace; 0 if it is dead, or none. */
GC__FN uintptr_t gc__survivor(uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    return verdict ? gc__reached(object, verdict & GC__VERDICT_MASK) : object;
}

/* The same for an object of a region that is moved out of, which is reached now. */
GC__INLINED uintptr_t gc__move_object(gc__tracer *tracer, uintptr_t object, uint8_t verdict) {
    if ((verdict & GC__VERDICT_MASK) == GC__MOVE_MARKED && gc__mark_get(object)) {
        if (GC__UNLIKELY(tracer->suspects != NULL)) gc__suspect_reached(tracer, object);
        return object;
    }
    uintptr_t header = GC__WORD(object);
    if (header & GC__FORWARD_TAG) return header - GC__FORWARD_TAG;
    return gc__evacuate(tracer, object, verdict >> GC__VERDICT_BITS);
}

/* Handles one slot whose referent was prefetched. */
GC__INLINED void gc__process(gc__tracer *tracer, uintptr_t entry) {
    bool value = GC_HAS_VALUES && (entry & 1);
    gc_word *slot = (gc_word *)(entry & ~(uintptr_t)1);
    uintptr_t word = *slot, ref = gc__slot_decode(word, value);
    uint8_t verdict = tracer->verdicts[ref >> GC_REGION_SHIFT];
    if (verdict == GC__MARK) {
        gc__mark_object(tracer, ref);
    } else if (verdict) {
        ref = gc__move_object(tracer, ref, verdict);
        *slot = gc__slot_encode(ref, word, value);
    }
    if (tracer->remember_all) gc__slot_remember(slot, ref);
}

/* Has the slot wait for its referent, which is condemned; handles the one that has waited longest. */
GC__INLINED void gc__prefetch(gc__tracer *tracer, gc_word *slot, uintptr_t ref, uint8_t verdict, bool value) {
    __builtin_prefetch((const void *)ref, 1);
    __builtin_prefetch((const void *)(ref + 32), 1); /* objects straddle cache lines */
    if (verdict == GC__MARK) __builtin_prefetch(&gc__the_arena.marks[gc__mark_index(ref) >> 6], 1);
    uintptr_t *place = &tracer->fifo[tracer->fifo_next++ % GC__FIFO];
    uintptr_t oldest = *place;
    *place = (uintptr_t)slot | value;
    if (oldest) gc__process(tracer, oldest);
}

GC__INLINED void gc__enqueue_inline(gc__tracer *tracer, gc_word *slot, bool value) {
    uintptr_t ref = gc__slot_decode(*slot, value);
    uint8_t verdict = tracer->verdicts[ref >> GC_REGION_SHIFT];
    if (verdict)
        gc__prefetch(tracer, slot, ref, verdict, value);
    else if (tracer->remember)
        gc__slot_remember(slot, ref);
}

/* Takes note of a slot that may refer to a condemned object. */
GC__FN void gc__enqueue(gc__tracer *tracer, gc_word *slot, bool value) { gc__enqueue_inline(tracer, slot, value); }

GC__FN void gc__enqueue_mask(gc__tracer *tracer, uintptr_t words, uint64_t mask, bool value) {
    for (; mask; mask &= mask - 1) gc__enqueue(tracer, (gc_word *)(words + 8 * (unsigned)__builtin_ctzll(mask)), value);
}

GC__FN void gc__trace_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc_word *slots = (gc_word *)slot;
    for (size_t i = 0; i < count; i++)
        gc__enqueue((gc__tracer *)visitor, &slots[i], GC_HAS_VALUES && (flags & GC_ROOT_VALUE));
}

#if GC_HAS_MODEL
GC__FN void gc__scan(gc__tracer *tracer, uintptr_t object) { GC_MODEL_TRACE((void *)object, &tracer->visitor); }
GC__FN void gc__scan_inline(gc__tracer *tracer, uintptr_t object) { gc__scan(tracer, object); }

GC__FN void gc__scan_range(gc__tracer *tracer, uintptr_t object, uintptr_t from, uintptr_t to) {
    (void)from, (void)to;
    gc__scan(tracer, object);
}
#else
GC__FN void gc__scan_elements(gc__tracer *tracer, const gc_type *type, uintptr_t first, size_t count) {
    if (type->element_bytes == 8) {
        bool value = GC_HAS_VALUES && type->element_values;
        for (gc_word *slot = (gc_word *)first, *end = slot + count; slot < end; slot++)
            gc__enqueue_inline(tracer, slot, value);
        return;
    }
    for (size_t i = 0; i < count; i++, first += type->element_bytes) {
        gc__enqueue_mask(tracer, first, type->element_refs, false);
        gc__enqueue_mask(tracer, first, type->element_values, GC_HAS_VALUES);
    }
}

/* Scans some elements from `index` on, and pushes what is left of a long array, so that what it refers to is scanned
   while it is in cache, and the mark stack stays short. */
GC__FN void gc__scan_chunk(gc__tracer *tracer, uintptr_t object, size_t index) {
    const gc_type *type = gc__object_type(object);
    size_t count = gc__object_length(object) - index;
    if (count > GC__CHUNK) {
        if (gc__trace_stack_room(tracer, 2)) {
            count = GC__CHUNK;
            *tracer->top++ = index + count;
            *tracer->top++ = object | GC__CONTINUED;
        }
    }
    gc__scan_elements(tracer, type, object + type->bytes + index * type->element_bytes, count);
}

/* Enqueues what is not in the mask of references. */
GC__FN void gc__scan_rest(gc__tracer *tracer, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    if (type->values) gc__enqueue_mask(tracer, object, type->values, GC_HAS_VALUES);
    if (type->element_refs | type->element_values) gc__scan_chunk(tracer, object, 0);
    if (type->trace) type->trace((void *)object, &tracer->visitor);
}

GC__INLINED void gc__scan_inline(gc__tracer *tracer, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    for (uint64_t mask = type->refs; mask; mask &= mask - 1)
        gc__enqueue_inline(tracer, (gc_word *)(object + 8 * (unsigned)__builtin_ctzll(mask)), false);
    if (type->values | type->element_refs | type->element_values | (uintptr_t)type->trace)
        gc__scan_rest(tracer, object);
}

/* Enqueues every slot of the object. */
GC__FN void gc__scan(gc__tracer *tracer, uintptr_t object) { gc__scan_inline(tracer, object); }

GC__FN uint64_t gc__mask_clip(uint64_t mask, uintptr_t object, uintptr_t from, uintptr_t to) {
    if (from > object) mask = from - object >= 512 ? 0 : mask & (~(uint64_t)0 << ((from - object) / 8));
    if (to < object + 512) mask &= ((uint64_t)1 << ((to - object) / 8)) - 1;
    return mask;
}

/* Enqueues the object's slots in [from, to), whole elements and what a trace function visits at the least. */
GC__FN void gc__scan_range(gc__tracer *tracer, uintptr_t object, uintptr_t from, uintptr_t to) {
    const gc_type *type = gc__object_type(object);
    gc__enqueue_mask(tracer, object, gc__mask_clip(type->refs, object, from, to), false);
    gc__enqueue_mask(tracer, object, gc__mask_clip(type->values, object, from, to), GC_HAS_VALUES);
    if (type->element_refs | type->element_values) {
        uintptr_t first = object + type->bytes;
        size_t length = gc__object_length(object), begin = from > first ? (from - first) / type->element_bytes : 0;
        size_t end = to > first ? (to - first + type->element_bytes - 1) / type->element_bytes : 0;
        if (end > length) end = length;
        if (begin < end) gc__scan_elements(tracer, type, first + begin * type->element_bytes, end - begin);
    }
    if (type->trace) type->trace((void *)object, &tracer->visitor);
}
#endif

GC__FN void gc__fifo_drain(gc__tracer *tracer) {
    for (unsigned i = 0; i < GC__FIFO; i++) {
        uintptr_t *place = &tracer->fifo[tracer->fifo_next++ % GC__FIFO];
        uintptr_t oldest = *place;
        *place = 0;
        if (oldest) gc__process(tracer, oldest);
    }
}

/* Until the mark stack is empty; the FIFO may still hold slots. */
GC__FN void gc__stack_drain(gc__tracer *tracer) {
    while (tracer->top != tracer->stack) {
        uintptr_t object = *--tracer->top;
#if !GC_HAS_MODEL
        if (object & GC__CONTINUED) {
            gc__scan_chunk(tracer, object - GC__CONTINUED, *--tracer->top);
            continue;
        }
#endif
        gc__scan_inline(tracer, object);
    }
}

/* Scans again every marked object of one overflowed region. */
GC__FN void gc__rescan_overflowed(gc__tracer *tracer) {
    tracer->overflowed = false;
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, tracer->heap) || !region->overflowed) continue;
        region->overflowed = false;
        uintptr_t end = gc__region_end(region), at = gc__mark_next(region->base, end);
        for (; at < end; at = gc__mark_next(at + GC_OBJECT_BYTES_MIN, end)) {
            gc__scan(tracer, at);
            gc__stack_drain(tracer);
        }
    }
}

/* Until mark stack and FIFO are empty and nothing overflowed. */
GC__FN void gc__trace_drain(gc__tracer *tracer) {
    for (;;) {
        do {
            gc__stack_drain(tracer);
            gc__fifo_drain(tracer);
        } while (tracer->top != tracer->stack);
        if (!tracer->overflowed) return;
        gc__rescan_overflowed(tracer);
    }
}

/* Sets the mark bits of the suspects. */
GC__FN void gc__suspects_mark(gc__tracer *tracer) {
    gc_heap *heap = tracer->heap;
    for (size_t i = 0; i < heap->pins.count; i++) {
        uintptr_t object = heap->pins.words[i] - GC__PIN_CONSERVATIVE;
        if (!(heap->pins.words[i] & GC__PIN_CONSERVATIVE) || !tracer->verdicts[object >> GC_REGION_SHIFT]) continue;
        if (!gc__mark_counted(object)) continue; /* by another word */
        gc__map_put(&heap->suspects, object);
        tracer->suspects = &heap->suspects;
    }
}

/* Traces from the gathered roots. Pinned objects first, so that they are marked before anything could copy them. */
GC__FN void gc__trace_roots(gc__tracer *tracer) {
    gc_heap *heap = tracer->heap;
    gc__suspects_mark(tracer);
    for (size_t i = 0; i < heap->pins.count; i++) {
        uintptr_t object = heap->pins.words[i];
        if (!(object & GC__PIN_CONSERVATIVE) && tracer->verdicts[object >> GC_REGION_SHIFT])
            gc__mark_object(tracer, object);
    }
    for (size_t i = 0; i < heap->roots.count; i++) {
        gc__enqueue(tracer, (gc_word *)(heap->roots.words[i] & ~(uintptr_t)1), heap->roots.words[i] & 1);
        gc__stack_drain(tracer);
    }
    for (size_t i = 0; i < heap->interior.count; i += 3)
        gc__enqueue(tracer, (gc_word *)&heap->interior.words[i + 2], false);
    gc__trace_drain(tracer);
}

/* Points interior slots into where their objects are now. After the trace. */
GC__FN void gc__roots_update_interior(gc_heap *heap) {
    for (size_t i = 0; i < heap->interior.count; i += 3) {
        bool value = heap->interior.words[i] & 1;
        gc_word *slot = (gc_word *)(heap->interior.words[i] & ~(uintptr_t)1);
        *slot = gc__slot_encode(heap->interior.words[i + 2] + heap->interior.words[i + 1], *slot, value);
    }
}

/* Scans the objects of an older region that overlap the card [from, to). */
GC__FN void gc__trace_card(gc__tracer *tracer, gc__region *region, uintptr_t from, uintptr_t to) {
    bool large = region->kind == GC__LARGE;
    uintptr_t object = large ? region->base : gc__mark_previous(region->base, from);
    if (!object) object = gc__mark_next(from, to);
    while (object < to) {
        uintptr_t end = object + gc__object_bytes(object);
        if (object >= from && end <= to)
            gc__scan(tracer, object);
        else if (end > from)
            gc__scan_range(tracer, object, from, to < end ? to : end);
        object = large ? to : gc__mark_next(object + GC_OBJECT_BYTES_MIN, to);
    }
}

/* Has the card wait for its memory; scans the one that has waited longest. */
GC__FN void gc__card_prefetch(gc__tracer *tracer, uintptr_t card) {
    uintptr_t *place = &tracer->cards[tracer->cards_next++ % GC__CARD_FIFO], oldest = *place;
    *place = card;
    if (card) {
        __builtin_prefetch(&gc__the_arena.marks[gc__mark_index(card) >> 6]);
        for (size_t line = 0; line < GC_CARD_BYTES; line += 64) __builtin_prefetch((const void *)(card + line));
    }
    if (!oldest) return;
    gc__trace_card(tracer, gc__region_first(gc__region_of(oldest)), oldest, oldest + GC_CARD_BYTES);
    gc__stack_drain(tracer);
}

/* Cleans the dirty cards of [from, end), which lies in one region or bundle, and scans them. */
GC__FN void gc__trace_cards_of(gc__tracer *tracer, uintptr_t from, uintptr_t end) {
    for (uintptr_t card = from; (card = gc__card_next_dirty(card, end)) < end; card += GC_CARD_BYTES) {
        gc__card_clear(card);
        gc__card_prefetch(tracer, card);
    }
}

#if GC_BUNDLE_SHIFT
/* Has the bundle wait for its part of the card table; goes through the one that has waited longest. */
GC__FN void gc__bundle_prefetch(gc__tracer *tracer, uintptr_t bundle) {
    const size_t bytes = (size_t)1 << GC_BUNDLE_SHIFT;
    uintptr_t *place = &tracer->bundles[tracer->bundles_next++ % GC__CARD_FIFO], oldest = *place;
    *place = bundle;
    if (bundle)
        for (size_t line = 0; line < bytes; line += 64 * GC__CARD_BYTE_SPAN)
            __builtin_prefetch(gc__tables.cards + ((bundle + line) >> GC_BARRIER_CARD_BYTE_SHIFT), 1);
    if (oldest) gc__trace_cards_of(tracer, oldest, oldest + bytes);
}

/* Goes through the bundles of all heaps, eight at a time, which takes less than going from region to region. */
GC__FN void gc__trace_bundles(gc__tracer *tracer, int condemned) {
    const size_t bytes = (size_t)1 << GC_BUNDLE_SHIFT;
    size_t count = gc__regions_used() << (GC_REGION_SHIFT - GC_BUNDLE_SHIFT);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t dirty = __atomic_load_n((const uint64_t *)(const void *)(gc__the_arena.bundles + i), __ATOMIC_RELAXED);
        for (; dirty; dirty &= ~((uint64_t)0xFF << (__builtin_ctzll(dirty) & 56))) {
            uintptr_t bundle = gc__the_arena.base + (i + (size_t)__builtin_ctzll(dirty) / 8) * bytes;
            gc__region *region = gc__region_of(bundle);
            if (!gc__region_is_of(region, tracer->heap)) continue;
            region = gc__region_first(region);
            if (region->generation <= condemned) continue;
            if (region->kind != GC__SMALL && region->kind != GC__LARGE) continue;
            gc__bundle_clear(bundle);
            gc__bundle_prefetch(tracer, bundle);
        }
    }
    for (int i = 0; i < GC__CARD_FIFO; i++) gc__bundle_prefetch(tracer, 0);
}
#else
GC__FN void gc__trace_bundles(gc__tracer *tracer, int condemned) {
    for (int generation = condemned + 1; generation < GC_GENERATIONS; generation++)
        for (gc__region *region = tracer->heap->regions[generation]; region; region = region->next)
            gc__trace_cards_of(tracer, region->base, region->base + region->span * GC_REGION_BYTES);
}
#endif

/* Traces from the dirty cards of the generations above `condemned`. Cards that are still needed become dirty again. */
GC__FN void gc__trace_cards(gc__tracer *tracer, int condemned) {
    tracer->remember = tracer->remember_all = true;
    gc__trace_bundles(tracer, condemned);
    for (int i = 0; i < GC__CARD_FIFO; i++) gc__card_prefetch(tracer, 0);
    gc__trace_drain(tracer);
    tracer->remember = false;
}

GC__FN size_t gc__traced_bytes(const gc_heap *heap, const gc__region *condemned) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        bytes += heap->copied_bytes[g] + (heap->windows[g].next - heap->windows[g].start);
    for (; condemned; condemned = condemned->next) bytes += condemned->live_bytes;
    return bytes;
}

/* Traces from the suspects that nothing else has reached, after everything else, and counts what they keep. (A mark stack
   that overflowed may have had some of them scanned before: what they lead to is not counted then.) */
GC__FN void gc__trace_suspects(gc__tracer *tracer, const gc__region *condemned) {
    gc_heap *heap = tracer->heap;
    gc__map *suspects = &heap->suspects;
    size_t objects = 0, bytes = 0;
    if (tracer->suspects) {
        size_t before = gc__traced_bytes(heap, condemned);
        for (size_t i = 0; i < suspects->capacity; i++) {
            uintptr_t object = suspects->keys[i];
            if (!object || suspects->values[i]) continue;
            suspects->values[i] = true;
            objects++;
            bytes += gc__object_bytes(object);
            if (!gc__object_is_leaf(object)) gc__trace_push(tracer, object);
        }
        gc__trace_drain(tracer);
        bytes += gc__traced_bytes(heap, condemned) - before;
    }
    heap->collection.conservative_bytes = heap->stats.conservative_bytes = bytes;
    heap->stats.conservative_objects = objects;
    heap->stats.conservative_total_bytes += bytes;
}
