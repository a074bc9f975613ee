/* The tracer: finds the slots of objects, in fixed parts, elements, and what trace functions report, and goes on until
   the mark stack is empty. What it does with a slot's edge is gc__exchange and gc__process, and with what a trace
   function reports, gc__trace_visit or gc__concurrent_visit. */
#pragma once

#include "../space/cards.h"
#include "../space/slots.h"
#include "value_stacks.h"
#include "edge.h"

GC__INLINED void gc__enqueue_inline(gc__worker *worker, gc_word *slot, bool value, gc__tracer tracer) {
    uintptr_t oldest = gc__exchange(worker, slot, value, tracer);
    if (oldest) gc__process(worker, oldest, tracer);
}

GC__FN void gc__enqueue(gc__worker *worker, gc_word *slot, bool value) {
    uintptr_t oldest = gc__exchange(worker, slot, value, gc__tracer_of(worker));
    if (oldest) gc__process_one(worker, oldest);
}

/* gc__enqueue as a function of slots. */
GC__FN void gc__slot_enqueue(void *worker, gc_word *slot, bool value) { gc__enqueue((gc__worker *)worker, slot, value); }

/* Slots that a trace function reports must lie in its object, or in memory outside the heap that it owns: another object
   moves and dies by itself and, with generations, a store elsewhere dirties no card of this one's. */
GC__OUT_OF_LINE void gc__traced_check(const gc_heap *heap, const void *slot, size_t count, unsigned flags) {
    uintptr_t object = gc__traced, offset = (uintptr_t)slot - object;
    bool on_heap = gc__in_arena((uintptr_t)slot), plain = heap->options.non_generational;
    if (!count || (on_heap ? plain && heap->options.non_moving : plain || flags & GC_SLOT_OWNED)) return;
    size_t bytes = gc__object_bytes(object);
    if (offset < bytes && count <= (bytes - offset) / gc__flags_bytes(flags)) return;
    gc__fatal(&heap->options,
              "the trace function of `%s` reports %zu slots at %p, but its object lies at %p and has %zu bytes: %s, or "
              "keep the references in an array on the heap (GC_TYPE_ARRAY)",
              gc__object_name(object), count, slot, (void *)object, bytes,
              on_heap ? "slots of another object are not its own, even with GC_SLOT_OWNED. Take that buffer from malloc"
                      : "with generations, a young collection does not see stores elsewhere. If they are in a buffer of "
                        "the object's, visit them with GC_SLOT_OWNED and store to them by gc_store_in, or after "
                        "gc_remember; or report them from scan_roots, or set options.non_generational");
}

/* Returns whether the visit may come after that of the marker: in a collection of a cycle, but in the final mark only from
   a card or slot, where nothing is shaded. What is copied there is traced as a whole. The marker makes its own objects
   wait, and traces those in a remark. */
GC__FN bool gc__is_after_marker(const gc__worker *worker) {
    if (!gc__heap_is_marking(worker->heap) || gc__is_concurrent(worker)) return false;
    return worker->edges & GC__EDGES_CANDIDATE || !(worker->edges & GC__EDGES_SHADE);
}

/* Makes the traced object, which reports slots outside of itself, wait for the final pause. It may not have had
   those slots when the marker called its trace function, and raw stores there have only dirtied its card. An object
   that is not marked yet was not scanned either. */
__attribute__((noinline)) GC__COLD void gc__owner_waits(const gc__worker *worker) {
    uintptr_t owner = gc__traced;
    /* Otherwise it has waited since it was marked. */
    if (worker->heap->options.trace_functions != GC_TRACE_FUNCTIONS_CONCURRENT) return;
    if (!gc__is_marking(owner) || !gc__shade_bit(worker->heap->marker->marks, owner)) return;
    if (gc__workers_of(worker)) gc__lock_take(&worker->workers->space);
    gc__shade_wait(worker->heap, owner);
    if (gc__workers_of(worker)) gc__lock_release(&worker->workers->space);
}

/* Dirties the card of a slot of the traced object if the card will be needed, before the place of the referent is
   known: until then its rank is at most too high. Slots outside the heap that an object owns have no cards: the card
   of the object's first word stands for all of them. */
GC__FN void gc__slot_remember_early(const gc_word *slot, bool value) {
    const void *place = gc__in_arena((uintptr_t)slot) ? (const void *)slot : (const void *)gc__traced;
    gc__slot_remember(place, gc__slot_decode(slot, gc__slot_read(slot, true), value));
}

GC__OUT_OF_LINE void gc__owner_remember(const gc__worker *worker, gc_word *slots, size_t count, bool value) {
    if (gc__in_arena((uintptr_t)slots)) return;
    if (count && gc__is_after_marker(worker)) gc__owner_waits(worker);
    for (size_t i = 0; i < count; i++) gc__slot_remember_early(gc__slot_at(slots, i, value), value);
}

/* Returns whether a weak slot's referent is a candidate's, or was stored where only the card tells and is white. */
GC__FN bool gc__entry_part_waits(const gc__worker *worker, const gc_word *slot, bool value) {
    uintptr_t ref = gc__slot_decode(slot, gc__slot_read(slot, true), value);
    return gc__is_candidate(ref) || (worker->edges & GC__EDGES_SHADE_CARDS && gc__shade_is_white(ref));
}

/* Returns whether all entries have their slots in the traced object, and the slots of each entry are close together:
   with two long separate arrays, a part of the object would overlap most entries. */
GC__FN bool gc__entries_are_own(const gc_weak_entries *entries) {
    uintptr_t low = gc__entry_low(entries), bytes = gc__object_bytes(gc__traced), own = gc__traced;
    uintptr_t high = gc__entry_high(entries) + (entries->count - 1) * entries->entry_bytes;
    bool close = gc__entry_high(entries) - low <= GC__TABLE_SLICE;
    return close && low >= own && low < own + bytes && high > low && high <= own + bytes;
}

/* Makes the final mark look at a table with such a referent again: at the slice with the entry if the entries lie in the
   table and the marker may trace it, otherwise at all of the table. */
GC__OUT_OF_LINE void gc__trace_entry_waits(const gc__worker *worker, const gc_weak_entries *entries, size_t i, bool value) {
    uintptr_t low = gc__entry_low(entries) + i * entries->entry_bytes, table = gc__traced;
    if (!gc__entry_part_waits(worker, gc__entry_key(entries, i), value) &&
        !gc__entry_part_waits(worker, gc__entry_value(entries, i), value))
        return;
    if (!gc__is_marking(table)) return;
    if (gc__workers_of(worker)) gc__lock_take(&worker->workers->space);
    if (gc__entries_are_own(entries) && gc__shade_may_trace(worker->heap, table))
        gc__shade_slice(worker->heap, table, table + (low - table) / GC__TABLE_SLICE * GC__TABLE_SLICE);
    else
        gc__shade_wait(worker->heap, table);
    if (gc__workers_of(worker)) gc__lock_release(&worker->workers->space);
}

/* Records the entries of a weak table, for when the trace is done (gc__discovered_clear), and enqueues their strong
   slots. If there is no memory for the record, all slots are strong. */
GC__OUT_OF_LINE void gc__trace_entries(gc__worker *worker, const gc_weak_entries *entries) {
    bool many = gc__is_many(worker);
    bool value = gc__flags_value(entries->flags), pairs = entries->kind != GC_WEAK_REFS;
    uintptr_t low = gc__entry_low(entries), last = (entries->count - 1) * entries->entry_bytes;
    if (!entries->count) return;
    if (GC__UNLIKELY(gc__in_arena((uintptr_t)entries->keys) != gc__in_arena((uintptr_t)entries->values)))
        gc__fatal(&worker->heap->options, "keys or values of the weak entries of `%s` are in the object, and the others are not: "
                                          "keep both there, or both in a buffer", gc__object_name(gc__traced));
    gc__traced_check(worker->heap, (void *)low, (last + gc__entry_high(entries) - low) / 8,
                     entries->flags & (unsigned)GC_SLOT_OWNED);
    if (many) gc__lock_take(&worker->workers->space);
    bool listed = gc__discovered_push(&worker->cycle->entries, entries);
    if (many) gc__lock_release(&worker->workers->space);
    bool strong_keys = !listed || entries->kind == GC_WEAK_VALUES;
    bool strong_values = pairs && (!listed || entries->kind == GC_WEAK_KEYS);
    const uintptr_t bytes = entries->entry_bytes, keys = (uintptr_t)entries->keys;
    if (GC__UNLIKELY(gc__is_after_marker(worker)) && !gc__in_arena(low)) gc__owner_waits(worker);
    for (size_t i = 0; i < entries->count; i++) {
        gc_word *key = (gc_word *)(keys + i * bytes);
        if (GC__UNLIKELY(worker->edges & GC__EDGES_CANDIDATE)) gc__trace_entry_waits(worker, entries, i, value);
        if (gc__in_arena(gc__slot_decode(key, gc__slot_read(key, many), value)))
            gc__slot_remember_early(key, value);
        else if (!pairs)
            continue; /* as in most entries of a hash table that is not full */
        if (pairs) gc__slot_remember_early(gc__entry_value(entries, i), value);
        if (strong_keys) gc__enqueue(worker, key, value);
        if (strong_values) gc__enqueue(worker, gc__entry_value(entries, i), value);
    }
}

/* Enqueues the slots of a value stack that this collection has to look at. */
GC__OUT_OF_LINE void gc__trace_stack(gc__worker *worker, const gc__stack_part *part) {
    bool many = gc__is_many(worker);
    gc_value_stack *stack = part->stack;
    bool value = gc__flags_value(stack->flags);
    uintptr_t top = (uintptr_t)stack->top;
    gc__traced_check(worker->heap, stack->base, (top - (uintptr_t)stack->base) / 8, GC_SLOT_OWNED);
    if (GC__UNLIKELY(gc__is_after_marker(worker))) gc__owner_waits(worker);
    if (many) gc__lock_take(&worker->workers->space); /* two workers may have marked the same owner */
    uintptr_t from = gc__stack_begin(stack, worker->whole_stacks ? 2 : gc__roots_generation(worker->heap));
    gc__stack_note_bounds(stack, from, part->frame);
    unsigned youth = gc__stack_youth(stack);
    if (many) gc__lock_release(&worker->workers->space);
    if (gc__ranks_need_card(gc__barrier_age(&gc__tables, gc__traced) + youth))
        gc__barrier_dirty_card(&gc__tables, (void *)gc__traced);
    for (uintptr_t at = from; at < top; at += gc__stack_entry_bytes(stack))
        gc__enqueue(worker, (gc_word *)at, value);
}

GC__FN uintptr_t *gc__traced_by(gc__worker *worker) { return GC_HAS_MODEL && worker->traced ? worker->traced : &gc__traced; }

#define GC__RUN_OF_VALUES 4 /* added to an object of which a run of words is scanned */
GC__FN void gc__scan_chunk(gc__worker *worker, uintptr_t object, size_t index, size_t end);

typedef struct gc__written {
    gc__worker *worker;
    uintptr_t object, first; /* the address of the element with the index 0 */
    size_t bytes, next;      /* the size of an element; the first that was not scanned */
} gc__written;

/* Scans the elements that lie in a written range. */
GC__OUT_OF_LINE void gc__scan_written(void *context, uintptr_t from, uintptr_t end) {
    gc__written *written = (gc__written *)context;
    size_t index = gc__max((from - written->first) / written->bytes, written->next);
    written->next = gc__max((end - written->first + written->bytes - 1) / written->bytes, index);
    if (written->next > index) gc__scan_chunk(written->worker, written->object, index, written->next);
}

/* Scans the elements [index, end) of an array; with a goal for pauses, if they are many, only those in pages that were ever
   written to. If the others were read, the system would have to find pages for them. */
GC__OUT_OF_LINE void gc__scan_array(gc__worker *worker, uintptr_t object, size_t index, size_t end, bool values) {
#if GC_HAS_MODEL
    gc__written written = {worker, object, object & ~(uintptr_t)7, sizeof(gc_word), index};
    const gc_word zero[2] = {0, 0}; /* may lead to an object, as a value */
    bool whole = gc__slot_decode(zero, 0, values) || end - index < GC__HUGE_BYTES / sizeof(gc_word) || gc__is_concurrent(worker);
#else
    const gc_type *type = gc__object_type(object);
    gc__written written = {worker, object, object + type->bytes, type->element_bytes, index};
    bool whole = values;
#endif
    uintptr_t from = written.first + index * written.bytes, to = written.first + end * written.bytes;
    /* not memory of the host: the system may forget where shared pages are */
    if (whole || worker->heap->options.memory || !gc__has_pause_goal(worker->heap))
        gc__scan_written(&written, from, to);
    else
        gc__os_each_written(from, to, gc__scan_written, &written);
}

/* Accepts any slot in the object's region that is not said to be owned; GC_DEBUG and verify check more closely. */
GC__FN void gc__trace_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__worker *worker = (gc__worker *)visitor;
    gc_word *slots = (gc_word *)slot;
    bool value = gc__flags_value(flags);
    uintptr_t object = *gc__traced_by(worker);
    if (GC__UNLIKELY(((uintptr_t)slot ^ object) >> GC_REGION_SHIFT != 0 || flags & GC_SLOT_OWNED) || GC_DEBUG >= 1) {
        worker->has_more |= !gc__in_arena((uintptr_t)slot);
        if (flags & GC__SLOT_ENTRIES) {
            gc__trace_entries(worker, (const gc_weak_entries *)slot);
            return;
        }
        if (flags & GC__SLOT_STACK) {
            gc__trace_stack(worker, (const gc__stack_part *)slot);
            return;
        }
        gc__traced_check(worker->heap, slot, count, flags);
        if (flags & GC_SLOT_OWNED) gc__owner_remember(worker, slots, count, value);
    }
    bool own = GC_HAS_MODEL && worker->traces_all && gc__in_arena((uintptr_t)slot) && (uintptr_t)slot > object;
    size_t index = own ? ((uintptr_t)slot - object) / sizeof(gc_word) : 0;
    if (index && count > GC__CHUNK && gc__flags_bytes(flags) == 8)
        gc__scan_array(worker, object + (value ? GC__RUN_OF_VALUES : 0), index, index + count, value);
    else
        for (size_t i = 0; i < count; i++) gc__enqueue(worker, gc__slot_at(slots, i, value), value);
}

/* A visitor for trace functions of objects of which only [from, to) is scanned. Slots outside the heap belong to the
   range with the object's first word. */
typedef struct gc__part_visitor {
    gc_visitor visitor;
    gc__worker *worker;
    uintptr_t from, to;
    const gc__part *all; /* the ranges of which [from, to) is one; NULL: it is the only one */
} gc__part_visitor;

/* Finds which of `count` items overlap the range. The first item extends from `low` to `high`, and each starts
   `bytes` after the one before it. Stores the index of the first of them in *first, and returns their number. */
GC__FN size_t gc__part_clip(const gc__part_visitor *part, uintptr_t low, uintptr_t high, size_t bytes, size_t count,
                            size_t *first) {
    size_t end = part->to > low ? (part->to - low + bytes - 1) / bytes : 0;
    *first = 0;
    if (!gc__in_arena(low)) return gc__traced >= part->from ? count : 0;
    if (part->from >= high) *first = (part->from - high) / bytes + 1;
    end = gc__min(end, count);
    return end > *first ? end - *first : 0;
}

GC__FN void gc__trace_visit_part(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    const gc__part_visitor *part = (const gc__part_visitor *)visitor;
    size_t first;
    if (flags & GC__SLOT_ENTRIES) {
        gc_weak_entries entries = *(const gc_weak_entries *)slot;
        entries.count = gc__part_clip(part, gc__entry_low(&entries), gc__entry_high(&entries),
                                      entries.entry_bytes, entries.count, &first);
        entries.keys = gc__entry_key(&entries, first);
        entries.values = gc__entry_value(&entries, first);
        part->worker->visitor.visit(&part->worker->visitor, &entries, 1, flags);
    } else if (flags & GC__SLOT_STACK) {
        if (gc__traced >= part->from) part->worker->visitor.visit(&part->worker->visitor, slot, count, flags);
    } else {
        count = gc__part_clip(part, (uintptr_t)slot, (uintptr_t)slot + 8, gc__flags_bytes(flags), count, &first);
        slot = gc__slot_at(slot, first, gc__flags_value(flags));
        part->worker->visitor.visit(&part->worker->visitor, slot, count, flags);
    }
}

/* Visits what lies in any of the part's ranges. */
GC__FN void gc__trace_visit_ranges(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__part_visitor *part = (gc__part_visitor *)visitor;
    const gc__part *all = part->all;
    const gc_weak_entries *entries = flags & GC__SLOT_ENTRIES ? (const gc_weak_entries *)slot : NULL;
    uintptr_t low = entries ? gc__entry_low(entries) : (uintptr_t)slot, high = low + count * gc__flags_bytes(flags);
    if (entries) high = gc__entry_high(entries) + entries->count * entries->entry_bytes;
    size_t i = 0, end = all->count;
    bool inside = gc__in_arena(low) && !(flags & GC__SLOT_STACK);
    while (inside && i < end) { /* finds the first range that ends above `low` */
        size_t middle = i + (end - i) / 2;
        if (all->ranges[middle].to <= low)
            i = middle + 1;
        else
            end = middle;
    }
    do {
        if (i == all->count) return;
        part->from = all->ranges[i].from;
        part->to = all->ranges[i].to;
        gc__trace_visit_part(visitor, slot, count, flags);
    } while (inside && part->to < high && ++i);
}

GC__FN void gc__object_trace_part(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__part_visitor part = {{gc__trace_visit_part}, worker, from, to, NULL};
    worker->trace_calls++;
    gc__object_trace(&gc__traced, object, &part.visitor);
}

/* Returns whether a worker must leave trace functions to the thread that collects. */
GC__FN bool gc__trace_is_for_host(const gc__worker *worker) {
    return GC__HAS_WORKERS && worker->number && worker->heap->options.trace_functions == GC_TRACE_FUNCTIONS_ALONE;
}

/* Calls the trace function of the object whose dirty cards were looked at last. */
GC__OUT_OF_LINE void gc__trace_part(gc__worker *worker) {
    gc__part *all = &worker->part;
    uint8_t edges = worker->edges;
    if (!all->count) return;
    if (!(edges & GC__EDGES_SHADE_CARDS)) worker->edges = gc__edges_of_dead(edges);
    if (gc__trace_is_for_host(worker)) {
        gc__workers_hand_over(worker, all->object, all->ranges[0].from, all->ranges[all->count - 1].to);
    } else {
        gc__part_visitor part = {{gc__trace_visit_ranges}, worker, 0, 0, all};
        worker->trace_calls++;
        gc__object_trace(&gc__traced, all->object, &part.visitor);
    }
    all->count = 0;
    worker->edges = edges;
}

/* Has the object's trace function called for [from, to). Cards come in the order of addresses, and a trace function
   goes through all slots of its object each time: so it is called once for many cards of an object. */
GC__FN void gc__trace_part_later(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__part *all = &worker->part;
    bool goes_on = all->count && all->object == object;
    if (goes_on && all->ranges[all->count - 1].to >= from) {
        all->ranges[all->count - 1].to = gc__max(all->ranges[all->count - 1].to, to);
        return;
    }
    if (!goes_on || all->count == GC__PART_RANGES) gc__trace_part(worker);
    all->object = object;
    all->ranges[all->count].from = from;
    all->ranges[all->count++].to = to;
}

GC__INLINED void gc__object_trace_all(gc__worker *worker, uintptr_t object) {
    worker->trace_calls++;
    if (GC_HAS_MODEL) worker->traces_all = true;
    gc__object_trace(gc__traced_by(worker), object, &worker->visitor);
    if (GC_HAS_MODEL) worker->traces_all = false;
}

#if !GC_HAS_MODEL
/* The loop is written out, since gcc inlines functions of slots at -O2 but refuses to at -Og. */
GC__OUT_OF_LINE void gc__scan_elements(gc__worker *worker, const gc_type *type, uintptr_t first, size_t count) {
    bool value = GC_HAS_VALUES && type->element_values;
    gc_word *slot = (gc_word *)first, *end = slot + count;
    if (type->element_bytes != 8 || gc__is_many(worker))
        gc__slots_of_elements(type, first, count, gc__slot_enqueue, worker);
    else if (gc__is_concurrent(worker))
        for (; slot < end; slot++) gc__enqueue_inline(worker, slot, value, GC__CONCURRENT);
    else
        for (; slot < end; slot++) gc__enqueue_inline(worker, slot, value, GC__ALONE);
}

/* Enqueues the slots in [from, to) that the type's masks describe; whole elements at least. */
GC__OUT_OF_LINE void gc__scan_masks_in(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    uintptr_t first;
    gc__slots_of_head(object, from, to, gc__slot_enqueue, worker);
    size_t count = gc__elements_in(object, from, to, &first);
    if (count) gc__scan_elements(worker, gc__object_type(object), first, count);
}
#endif

/* Scans some of the elements in [index, end) and pushes the rest, so that their referents are scanned while they are
   in cache, and the mark stack stays short. If several workers run, others may take the rest, or half of it. Where
   objects have the host's headers, these are words of the object. */
GC__FN void gc__scan_chunk(gc__worker *worker, uintptr_t object, size_t index, size_t end) {
    if (end - index > GC__CHUNK && gc__trace_stack_room(worker, 3)) {
        *worker->top++ = end << 2 | GC__NUMBER;
        *worker->top++ = (index + GC__CHUNK) << 2 | GC__NUMBER;
        *worker->top++ = object | GC__CONTINUED;
        end = index + GC__CHUNK;
    }
#if GC_HAS_MODEL
    for (; index < end; index++) gc__enqueue(worker, (gc_word *)(object & ~(uintptr_t)7) + index, object & GC__RUN_OF_VALUES);
#else
    const gc_type *type = gc__object_type(object);
    gc__scan_elements(worker, type, object + type->bytes + index * type->element_bytes, end - index);
#endif
}

#define GC__RUN 64 /* slots that are looked at together */
/* Where barriers show pages, an object with a trace function is traced at once up to this size. */
#define GC__WHOLE_BYTES ((size_t)4 << GC_WATCH_SHIFT)

/* A visitor for what an object's trace function reports concurrently. Stores to slots in the object go through
   barriers, so weak entries there can be precleaned when all else is marked; slots elsewhere are left to the final
   pause. */
typedef struct gc__concurrent_visitor {
    gc__part_visitor part;
    bool waits, has_entries;
    bool looks, is_white; /* only finds out whether a slot refers to an object that is not marked */
} gc__concurrent_visitor;

/* Enqueues the slots concurrently, in a heap without evacuation candidates. As most of an array's referents may be marked,
   their memory is not fetched before that is known. */
GC__FN void gc__enqueue_run(gc__concurrent_visitor *visitor, gc_word *slots, size_t count, bool value) {
    gc__worker *worker = visitor->part.worker;
    uintptr_t words[GC__RUN];
    for (size_t i = 0, kept = 0; i < count; kept = 0) {
        for (size_t end = gc__min(count, i + GC__RUN); i < end; i++) {
            gc_word *slot = gc__slot_at(slots, i, value);
            uintptr_t ref = gc__slot_decode(slot, __atomic_load_n(slot, __ATOMIC_RELAXED), value);
            bool torn = GC__VALUES_ARE_WIDE && value && !(gc__shade_is_sound(worker->heap, ref) && gc__shade_is_object(ref));
            if (!torn) kept = gc__shade_await(worker->heap, words, kept, ref);
        }
        kept = gc__shade_sift(worker->heap, words, kept);
        visitor->is_white |= kept != 0;
        for (size_t k = 0; k < kept && !visitor->looks; k++) {
            uintptr_t oldest = gc__concurrent_await(worker, words[k]);
            if (oldest) gc__process_one(worker, oldest);
        }
    }
}

GC__FN void gc__concurrent_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__concurrent_visitor *concurrent = (gc__concurrent_visitor *)visitor;
    gc__worker *worker = concurrent->part.worker;
    uintptr_t object = *gc__traced_by(worker), offset = (uintptr_t)slot - object, bytes = gc__object_bytes(object);
    size_t first;
    bool value = gc__flags_value(flags);
    if (flags & GC__SLOT_ENTRIES) {
        const gc_weak_entries *entries = (const gc_weak_entries *)slot;
        if (entries->count) *(gc__entries_are_own(entries) ? &concurrent->has_entries : &concurrent->waits) = true;
        return;
    }
    if (offset >= bytes || count > (bytes - offset) / gc__flags_bytes(flags)) {
        concurrent->waits |= count != 0;
        return;
    }
    if (gc__barrier_watches()) {
        count = gc__part_clip(&concurrent->part, (uintptr_t)slot, (uintptr_t)slot + 8, gc__flags_bytes(flags), count, &first);
        gc__enqueue_run(concurrent, gc__slot_at(slot, first, value), count, value);
        return;
    }
    for (size_t i = 0; i < count; i++) gc__enqueue(worker, gc__slot_at(slot, i, value), value);
}

GC_API size_t gc_visitor_range(const gc_visitor *visitor, const void *items, size_t bytes, size_t count, size_t *first) {
    uintptr_t low = (uintptr_t)items;
    *first = 0;
    bool part_only = visitor->visit == gc__trace_visit_part || visitor->visit == gc__trace_visit_ranges ||
                     (GC__HAS_PAGES && visitor->visit == gc__concurrent_visit);
    if (!part_only || !bytes) return count;
    gc__part_visitor part = *(const gc__part_visitor *)visitor;
    if (part.all) part.from = part.all->ranges[0].from, part.to = part.all->ranges[part.all->count - 1].to;
    return gc__part_clip(&part, low, low + bytes, bytes, count, first);
}

/* Calls the object's trace function for [from, to) if the marker may, and has the final pause look at what the marker may
   not. */
GC__OUT_OF_LINE void gc__trace_part_concurrently(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__marker *marker = worker->heap->marker;
    bool may = gc__shade_may_trace(worker->heap, object);
    gc__concurrent_visitor concurrent = {{{gc__concurrent_visit}, worker, from, to, NULL}, !may, false, false, false};
    if (may) gc__object_trace(gc__traced_by(worker), object, &concurrent.part.visitor);
    if (concurrent.waits)
        gc__shade_wait(worker->heap, object);
    else if (concurrent.has_entries && !(GC__HAS_PAGES && marker->tables.count > marker->table_next + (marker->table_from != 0) &&
                                         gc__words_end_with(&marker->tables, object)))
        gc__shade_ask(worker->heap, &marker->tables, object);
}

/* Returns whether the marker has something to do for [from, to) of an object. Any worker may call it, as it changes nothing. */
GC__FN bool gc__trace_part_look(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__concurrent_visitor looks = {{{gc__concurrent_visit}, worker, from, to, NULL}, false, false, true, false};
    if (!gc__shade_may_trace(worker->heap, object)) return true;
    gc__object_trace(&gc__traced, object, &looks.part.visitor);
    return looks.waits || looks.has_entries || looks.is_white;
}

/* Calls the trace function of a whole object. Where barriers show pages, the rest of a large one is left for later, page by
   page, since a collection waits for the marker. */
GC__FN void gc__trace_concurrently(gc__worker *worker, uintptr_t object) {
    uintptr_t from = object, end = gc__barrier_watches() ? object + gc__object_bytes(object) : object;
    for (; end - from > GC__WHOLE_BYTES && gc__shade_push(worker->heap, &worker->heap->marker->pages, from);)
        from = gc__watched_end(from);
    gc__trace_part_concurrently(worker, object, from == object ? 0 : from, UINTPTR_MAX);
}

GC__FN void gc__trace_range(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    if (GC__HAS_PAGES && gc__is_concurrent(worker))
        gc__trace_part_concurrently(worker, object, from, to);
    else
        gc__trace_part_later(worker, object, from, to);
}

/* Schedules another look at an object that has just become generation 2 and whose trace function was called. The
   final mark needs the weak entries and values outside the heap that the function reports, or, if the marker may not call
   it, may report. */
GC__OUT_OF_LINE void gc__shade_waits(const gc__worker *worker, uintptr_t object) {
    if (!gc__is_marking(object) || gc__is_mark_end(worker->heap)) return;
    if (gc__workers_of(worker)) gc__lock_take(&worker->workers->space);
    if (gc__shade_may_trace(worker->heap, object))
        gc__shade_ask(worker->heap, &worker->heap->marker->asked, object);
    else
        gc__shade_wait(worker->heap, object);
    if (gc__workers_of(worker)) gc__lock_release(&worker->workers->space);
}

/* Enqueues the slots that the object's trace function reports, or has another thread do so. */
GC__FN void gc__scan_traced(gc__worker *worker, uintptr_t object) {
    bool marks = gc__is_concurrent(worker), shades = GC__UNLIKELY(worker->edges & GC__EDGES_SHADE) && !marks;
    worker->has_more = shades && !gc__shade_may_trace(worker->heap, object);
    if (marks)
        gc__trace_concurrently(worker, object);
    else if (gc__trace_is_for_host(worker))
        gc__workers_hand_over(worker, object, 0, 0);
    else
        gc__object_trace_all(worker, object);
    if (shades && worker->has_more) gc__shade_waits(worker, object);
}

#if GC_HAS_MODEL
GC__FN void gc__scan(gc__worker *worker, uintptr_t object) { gc__scan_traced(worker, object); }
GC__FN void gc__scan_inline(gc__worker *worker, uintptr_t object, gc__tracer by) { (void)by, gc__scan_traced(worker, object); }

GC__FN void gc__scan_range(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__trace_range(worker, object, from, to);
}
#else
/* Enqueues the slots that are not in the mask of references. */
GC__FN void gc__scan_rest(gc__worker *worker, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    gc__slots_of_mask(object, type->values, GC_HAS_VALUES, gc__slot_enqueue, worker);
    if (gc__type_has_slots_in_elements(type)) {
        /* an array may be growing beside the marker; its new elements are stored to through barriers */
        size_t length = __atomic_load_n(&GC__WORD(object + sizeof(gc_object)), __ATOMIC_ACQUIRE);
        if (GC__UNLIKELY(length >= GC__HUGE_BYTES / sizeof(gc_word)) && !gc__is_concurrent(worker))
            gc__scan_array(worker, object, 0, length, type->element_values != 0);
        else
            gc__scan_chunk(worker, object, 0, length);
    }
    if (type->trace) gc__scan_traced(worker, object);
}

GC__INLINED void gc__scan_inline(gc__worker *worker, uintptr_t object, gc__tracer tracer) {
    const gc_type *type = gc__object_type(object);
    for (uint64_t mask = type->refs; mask; mask &= mask - 1)
        gc__enqueue_inline(worker, gc__mask_slot(object, mask), false, tracer);
    if (type->values | type->element_refs | type->element_values | (uintptr_t)type->trace) gc__scan_rest(worker, object);
}

/* Enqueues every slot of the object. */
GC__FN void gc__scan(gc__worker *worker, uintptr_t object) {
    if (gc__tracer_of(worker) == GC__ALONE) {
        gc__scan_inline(worker, object, GC__ALONE);
        return;
    }
    gc__slots_of_mask(object, gc__object_type(object)->refs, false, gc__slot_enqueue, worker);
    gc__scan_rest(worker, object);
}

/* Enqueues the object's slots in [from, to); whole elements at least. */
GC__FN void gc__scan_range(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__scan_masks_in(worker, object, from, to);
    if (gc__object_type(object)->trace) gc__trace_range(worker, object, from, to);
}
#endif

GC__FN void gc__fifo_drain(gc__worker *worker) {
    if (worker->fifo_drained == worker->fifo_next) return;
    for (unsigned i = 0; i < GC__FIFO; i++) {
        uintptr_t *place = &worker->fifo[worker->fifo_next++ % GC__FIFO];
        uintptr_t oldest = *place;
        *place = 0;
        if (oldest) gc__process_one(worker, oldest);
    }
    worker->fifo_drained = worker->fifo_next;
}

/* Scans an entry of the mark stack. */
GC__INLINED void gc__scan_entry(gc__worker *worker, uintptr_t entry, gc__tracer tracer) {
    if (entry & GC__CONTINUED) {
        worker->top -= 2;
        gc__scan_chunk(worker, entry - GC__CONTINUED, worker->top[1] >> 2, worker->top[0] >> 2);
        return;
    }
    gc__scan_inline(worker, entry, tracer);
}

/* Scans until the mark stack is empty; the FIFO may still hold slots. */
GC__FN void gc__stack_drain(gc__worker *worker) {
    if (GC_HAS_MODEL) worker->traced = &gc__traced;
    while (worker->top != worker->stack) gc__scan_entry(worker, *--worker->top, GC__ALONE);
    if (GC_HAS_MODEL) worker->traced = NULL;
}

/* Scans like gc__stack_drain, also where several workers run. Returns false if the worker must stop, with what it
   holds. */
GC__FN bool gc__stack_drain_some(gc__worker *worker) {
    if (!gc__is_many(worker)) return gc__stack_drain(worker), true;
    while (worker->top != worker->stack) {
        if (GC__UNLIKELY(--worker->until_poll == 0)) {
            if (!gc__workers_poll(worker)) return false;
            if (worker->top == worker->stack) break; /* all of it was shared */
        }
        gc__scan_entry(worker, *--worker->top, GC__MANY);
    }
    return true;
}

GC__FN void gc__rescan_marked(gc__worker *worker, const gc__region *region, const uint64_t *marks) {
    uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marks, region->base, end);
    for (; at < end; at = gc__bit_next(marks, at + GC_OBJECT_BYTES_MIN, end)) {
        gc__scan(worker, at);
        gc__stack_drain(worker);
    }
}

/* Scans again every marked object of each overflowed region. */
GC__HOT void gc__rescan_overflowed(gc__worker *worker) {
    worker->overflowed = false;
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, worker->heap)) continue;
        uint8_t verdict = worker->verdicts[region->base >> GC_REGION_SHIFT];
        bool premarked = verdict == GC__OLD_CONDEMNED && region->kind != GC__LARGE_REST;
        if (!region->overflowed && !(premarked && region->unscanned & GC__UNSEEN)) continue;
        region->overflowed = false;
        if (premarked) region->unscanned &= (uint8_t)~GC__UNSEEN;
        gc__rescan_marked(worker, region, worker->marks);
    }
}

/* Returns whether the mark stack and the FIFO are empty and no region has overflowed. */
GC__FN bool gc__trace_is_done(const gc__worker *worker) {
    return worker->top == worker->stack && worker->fifo_drained == worker->fifo_next && !worker->overflowed;
}

/* Scans until gc__trace_is_done. */
GC__HOT void gc__trace_drain(gc__worker *worker) {
    for (;;) {
        do {
            gc__stack_drain(worker);
            gc__fifo_drain(worker);
        } while (worker->top != worker->stack);
        if (!worker->overflowed) return;
        gc__rescan_overflowed(worker);
    }
}

/* Traces from the gathered roots [from, end). */
GC__HOT void gc__trace_slots(gc__worker *worker, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) {
        uintptr_t root = worker->cycle->roots.words[i];
        gc__enqueue_inline(worker, (gc_word *)(root & ~(uintptr_t)1), root & 1, GC__ALONE);
        if (worker->top != worker->stack) gc__stack_drain(worker);
    }
}
