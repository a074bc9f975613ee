/* The slots of an object: where they are, and what they hold. All code that visits slots uses these functions, which
   inline the function that handles a slot. */
#pragma once

#include "../api/value_stack.h"
#include "../api/weak.h"
#include "../base/words.h"
#include "object.h"

/* Returns the object's address in the word that was read from the slot, 0 if it holds none. */
GC__FN uintptr_t gc__slot_decode(const gc_word *slot, uintptr_t word, bool value) {
#if GC_HAS_VALUES
    if (value) return GC__VALUE_IS_REF(slot, word) ? (uintptr_t)GC_VALUE_TO_REF(word) : 0;
#endif
    (void)slot, (void)value;
    return word;
}

/* Returns the object's address in a slot to which no other thread stores now, 0 if it holds none. */
GC__FN uintptr_t gc__slot_ref(const gc_word *slot, bool value) { return gc__slot_decode(slot, *slot, value); }

/* Returns the i-th of consecutive slots. */
GC__FN gc_word *gc__slot_at(void *first, size_t i, bool value) {
    return (gc_word *)first + i * (value ? GC_VALUE_BYTES / sizeof(gc_word) : 1);
}
GC__FN bool gc__flags_value(unsigned flags) { return GC_HAS_VALUES && (flags & GC_SLOT_VALUE); }
/* Returns the distance of consecutive slots. */
GC__FN size_t gc__flags_bytes(unsigned flags) { return gc__flags_value(flags) ? GC_VALUE_BYTES : sizeof(gc_word); }

GC__FN uintptr_t gc__slot_encode(uintptr_t ref, uintptr_t word, bool value) {
#if GC_HAS_VALUES
    if (value) return (uintptr_t)GC_VALUE_FROM_REF(ref, word);
#endif
    (void)value, (void)word;
    return ref;
}

/* The object whose trace function the calling thread runs; 0: none. For reports of faults, and of slots outside it. */
static __thread uintptr_t gc__traced;

/* The fence keeps the store in place: the fault handler must find the object exactly while its trace function runs. */
GC__INLINED void gc__traced_set(uintptr_t *traced, uintptr_t object) {
    *traced = object;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Calls the object's trace function. The visitor may call that of another object. `traced` is where gc__traced is. */
GC__INLINED void gc__object_trace(uintptr_t *traced, uintptr_t object, gc_visitor *visitor) {
    uintptr_t outer = *traced;
    gc__traced_set(traced, object);
#if GC_HAS_MODEL
    GC_MODEL_TRACE((void *)object, visitor);
#else
    gc__object_type(object)->trace((void *)object, visitor);
#endif
    gc__traced_set(traced, outer);
}

/* Weak entries as walks see them: gc_visit_weak has filled in `entry_bytes`, and `values` if there are none. */

GC__FN gc_word *gc__entry_key(const gc_weak_entries *entries, size_t i) {
    return (gc_word *)((uintptr_t)entries->keys + i * entries->entry_bytes);
}
GC__FN gc_word *gc__entry_value(const gc_weak_entries *entries, size_t i) {
    return (gc_word *)((uintptr_t)entries->values + i * entries->entry_bytes);
}

/* Return where the slots of the first entry begin and end. */
GC__FN uintptr_t gc__entry_low(const gc_weak_entries *entries) {
    return gc__min((uintptr_t)entries->keys, (uintptr_t)entries->values);
}
GC__FN uintptr_t gc__entry_high(const gc_weak_entries *entries) {
    return gc__max((uintptr_t)entries->keys, (uintptr_t)entries->values) + 8;
}

/* Calls the visitor for each slot of the entries, as if the slots were strong. */
GC__FN void gc__entries_visit(gc_visitor *visitor, const gc_weak_entries *entries) {
    unsigned flags = (entries->flags & (unsigned)(GC_SLOT_VALUE | GC_SLOT_OWNED)) | (unsigned)GC_SLOT_WEAK;
    for (size_t i = 0; i < entries->count; i++) {
        gc_visit(visitor, gc__entry_key(entries, i), 1, flags);
        if (entries->kind != GC_WEAK_REFS) gc_visit(visitor, gc__entry_value(entries, i), 1, flags);
    }
}

#if !GC_HAS_MODEL
GC__FN void gc__trace_elements(void *object, gc_visitor *visitor, gc_weak_kind kind, size_t value_at) {
    gc_weak_entries entries;
    memset(&entries, 0, sizeof entries);
    entries.keys = (char *)object + gc__object_type((uintptr_t)object)->bytes;
    entries.values = (char *)entries.keys + value_at;
    entries.count = gc__object_length((uintptr_t)object);
    entries.entry_bytes = gc__object_type((uintptr_t)object)->element_bytes;
    entries.kind = kind;
    gc_visit_weak(visitor, &entries);
}

GC_API void gc_trace_weak(void *object, gc_visitor *visitor) { gc__trace_elements(object, visitor, GC_WEAK_REFS, 0); }
GC_API void gc_trace_ephemerons(void *object, gc_visitor *visitor) {
    gc__trace_elements(object, visitor, GC_WEAK_EPHEMERONS, 8);
}

/* Returns whether the function is one of the two above, which may run concurrently with mutators. */
GC__FN bool gc__trace_is_own(void (*trace)(void *object, gc_visitor *visitor)) {
    return trace == gc_trace_weak || trace == gc_trace_ephemerons;
}

/* For readers in other processes, which cannot call these. Not const, since core files leave constant data out. */
GC__VAR __attribute__((unused)) void (*gc__weak_traces[2])(void *object, gc_visitor *visitor) = {gc_trace_weak,
                                                                                                gc_trace_ephemerons};
#else
GC__VAR __attribute__((unused)) void (*gc__weak_traces[2])(void *object, gc_visitor *visitor); /* such hosts have none */
#endif

/* Stacks of values as walks see them. */

GC__FN size_t gc__stack_entry_bytes(const gc_value_stack *stack) {
    return stack->entry_bytes ? stack->entry_bytes : gc__flags_bytes(stack->flags);
}

/* Calls the visitor for each slot of the stack. */
GC__FN void gc__stack_visit_slots(gc_visitor *visitor, const gc_value_stack *stack) {
    unsigned flags = (stack->flags & (unsigned)GC_SLOT_VALUE) | (unsigned)GC_SLOT_OWNED;
    for (char *at = (char *)stack->base; at < (char *)stack->top; at += gc__stack_entry_bytes(stack))
        gc_visit(visitor, at, 1, flags);
}

/* Calls the visitor for each slot of the weak entries or value stack whose address was passed in place of a slot's.
   Returns false if `slot` is a slot. */
GC__FN bool gc__visit_slots_of(gc_visitor *visitor, void *slot, unsigned flags) {
    if (flags & GC__SLOT_ENTRIES)
        gc__entries_visit(visitor, (const gc_weak_entries *)slot);
    else if (flags & GC__SLOT_STACK)
        gc__stack_visit_slots(visitor, ((const gc__stack_part *)slot)->stack);
    else
        return false;
    return true;
}

typedef void (*gc__slot_function)(void *context, gc_word *slot, bool value);

#if !GC_HAS_MODEL
/* Returns the slot of the mask's lowest bit. */
GC__FN gc_word *gc__mask_slot(uintptr_t words, uint64_t mask) {
    return (gc_word *)(words + 8 * (unsigned)__builtin_ctzll(mask));
}

GC__INLINED void gc__slots_of_mask(uintptr_t words, uint64_t mask, bool value, gc__slot_function f, void *context) {
    for (; mask; mask &= mask - 1) f(context, gc__mask_slot(words, mask), value);
}

/* Calls f for each slot of `count` elements. */
GC__INLINED void gc__slots_of_elements(const gc_type *type, uintptr_t first, size_t count, gc__slot_function f, void *context) {
    if (type->element_bytes == 8) {
        bool value = GC_HAS_VALUES && type->element_values;
        for (gc_word *slot = (gc_word *)first, *end = slot + count; slot < end; slot++) f(context, slot, value);
        return;
    }
    for (size_t i = 0; i < count; i++, first += type->element_bytes) {
        gc__slots_of_mask(first, type->element_refs, false, f, context);
        gc__slots_of_mask(first, type->element_values, GC_HAS_VALUES, f, context);
    }
}

GC__FN bool gc__type_has_slots_in_elements(const gc_type *type) { return type->element_refs | type->element_values; }

GC__FN uint64_t gc__mask_clip(uint64_t mask, uintptr_t object, uintptr_t from, uintptr_t to) {
    if (from > object) mask = from - object >= 512 ? 0 : mask & (~(uint64_t)0 << ((from - object) / 8));
    if (to - object < 512) mask &= ((uint64_t)1 << ((to - object) / 8)) - 1;
    return mask;
}

/* Calls f for each slot of the object that masks declare. */
GC__INLINED void gc__slots_of(uintptr_t object, gc__slot_function f, void *context) {
    const gc_type *type = gc__object_type(object);
    gc__slots_of_mask(object, type->refs, false, f, context);
    gc__slots_of_mask(object, type->values, GC_HAS_VALUES, f, context);
    if (gc__type_has_slots_in_elements(type))
        gc__slots_of_elements(type, object + type->bytes, gc__object_length(object), f, context);
}

/* Calls f for each slot in [from, to) that masks declare, except those of elements. */
GC__INLINED void gc__slots_of_head(uintptr_t object, uintptr_t from, uintptr_t to, gc__slot_function f, void *context) {
    const gc_type *type = gc__object_type(object);
    gc__slots_of_mask(object, gc__mask_clip(type->refs, object, from, to), false, f, context);
    gc__slots_of_mask(object, gc__mask_clip(type->values, object, from, to), GC_HAS_VALUES, f, context);
}

/* Counts the elements with slots that lie at least partly in [from, to), and stores the first one's address in
   *first. */
GC__FN size_t gc__elements_in(uintptr_t object, uintptr_t from, uintptr_t to, uintptr_t *first) {
    const gc_type *type = gc__object_type(object);
    if (!gc__type_has_slots_in_elements(type)) return 0;
    uintptr_t start = object + type->bytes;
    size_t length = gc__object_length(object), begin = from > start ? (from - start) / type->element_bytes : 0;
    size_t end = to > start ? (to - start + type->element_bytes - 1) / type->element_bytes : 0;
    *first = start + begin * type->element_bytes;
    if (end > length) end = length;
    return begin < end ? end - begin : 0;
}
#endif

GC__FN void gc__slot_visit(void *visitor, gc_word *slot, bool value) {
    gc_visit((gc_visitor *)visitor, slot, 1, value && GC__VALUES_IN_USE ? GC_SLOT_VALUE : 0);
}

/* Calls visitor->visit for every slot of the object, or for the entries and stacks that slots belong to. */
GC__FN void gc__object_visit_entries(uintptr_t object, gc_visitor *visitor) {
#if !GC_HAS_MODEL
    gc__slots_of(object, gc__slot_visit, visitor);
    if (!gc__object_type(object)->trace) return;
#endif
    gc__object_trace(&gc__traced, object, visitor);
}

/* Passes slots to a visitor that does not know entries and stacks. */
typedef struct gc__slot_visitor {
    gc_visitor visitor, *inner;
} gc__slot_visitor;

GC__FN void gc__slot_visitor_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc_visitor *inner = ((gc__slot_visitor *)visitor)->inner;
    if (!gc__visit_slots_of(inner, slot, flags)) gc_visit(inner, slot, count, flags);
}

/* Calls visitor->visit for every slot of the object. */
GC__FN void gc__object_visit(uintptr_t object, gc_visitor *visitor) {
    gc__slot_visitor outer = {{gc__slot_visitor_visit}, visitor};
    gc__object_visit_entries(object, &outer.visitor);
}
