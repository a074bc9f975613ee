/* The slots of an object, and what they refer to. */
#pragma once

#include "objects.h"

/* A word of the object, from its contents where they have it. */
GC__DAC_FN uint64_t gc__dac_object_word(gc_dac *dac, const gc_dac_object *object, uint64_t offset) {
    uint64_t word = 0;
    if (object->contents && offset + 8 <= object->contents_bytes)
        memcpy(&word, object->contents + offset, sizeof word);
    else
        gc__dac_copy_memory(dac, object->address + offset, &word, sizeof word);
    return word;
}

/* The address in the heap that a plain reference is; 0: it leads to no heap of the collector. */
GC__DAC_FN uint64_t gc__dac_reference(const gc__dac_copy *copy, uint64_t word) {
    return word >= copy->arena && word < copy->arena_end ? word : 0;
}

/* The same of a tagged value: as the host says, or else a guess, since most tags are in the low or the high bits. */
GC__DAC_FN uint64_t gc__dac_value(gc_dac *dac, const gc__dac_copy *copy, uint64_t word) {
    if (dac->host.decode) return gc__dac_reference(copy, dac->host.decode(dac->host.context, word));
    uint64_t plain = gc__dac_reference(copy, word & ~(uint64_t)7);
    return plain ? plain : gc__dac_reference(copy, word & 0x0000FFFFFFFFFFF8);
}

/* Whether the word is the address at which an object begins. */
GC__DAC_FN bool gc__dac_is_start(gc_dac *dac, gc__dac_copy *copy, uint64_t word) {
    if (word % 8) return false;
    gc__dac_place *place = gc__dac_place_of(copy, word);
    if (!place || !place->listed || place->condemned) return false;
    if (gc__dac_is_large(copy, place)) return word == place->base;
    const uint64_t *starts = gc__dac_starts(dac, copy, (size_t)(place - copy->places));
    uint64_t bit = (word - place->base) / 8;
    return starts && (starts[bit / 64] >> (bit % 64) & 1);
}

/* Calls f for each slot until it returns false. */
typedef bool (*gc__dac_slot_function)(void *context, uint64_t offset, uint64_t index, unsigned flags);

GC__DAC_FN bool gc__dac_slots_of_mask(uint64_t mask, uint64_t base, uint64_t end, uint64_t index, unsigned flags,
                                      gc__dac_slot_function f, void *context) {
    for (; mask; mask &= mask - 1) {
        uint64_t offset = base + 8 * (uint64_t)__builtin_ctzll(mask);
        if (offset + 8 > end) return true;
        if (!f(context, offset, index, flags)) return false;
    }
    return true;
}

/* Whether one of the masks of elements covers the word of an object. */
GC__DAC_FN bool gc__dac_is_masked_element(const gc_dac_type *type, uint64_t offset) {
    if (!type->element_bytes || offset < type->bytes) return false;
    uint64_t within = (offset - type->bytes) % type->element_bytes;
    return within < 512 && ((type->element_refs | type->element_values) >> (within / 8) & 1);
}

/* The words that no mask covers may be slots that the type's trace function knows. */
GC__DAC_FN bool gc__dac_slots_traced(const gc_dac_type *type, uint64_t end, gc__dac_slot_function f, void *context) {
    uint64_t known = type->refs | type->values;
    for (uint64_t offset = 8; offset + 8 <= end; offset += 8) {
        bool masked = offset < 512 && offset < type->bytes && (known >> (offset / 8) & 1);
        if (masked || gc__dac_is_masked_element(type, offset)) continue;
        if (!f(context, offset, UINT64_MAX, GC_DAC_SLOT_GUESSED)) return false;
    }
    return true;
}

/* The elements of weak arrays and of tables of ephemerons. */
GC__DAC_FN void gc__dac_slots_weak(const gc_dac_object *object, gc__dac_slot_function f, void *context) {
    const gc_dac_type *type = object->type;
    for (uint64_t i = 0, at = type->bytes; i < object->length && at + 8 <= object->bytes;
         i++, at += type->element_bytes) {
        if (!f(context, at, i, GC_DAC_SLOT_WEAK)) return;
        if (type->is_ephemeral && at + 16 <= object->bytes && !f(context, at + 8, i, 0)) return;
    }
}

GC__DAC_FN void gc__dac_slots_each(const gc_dac_object *object, gc__dac_slot_function f, void *context) {
    const gc_dac_type *type = object->type;
    uint64_t end = object->bytes;
    if (!type) return;
    if (!gc__dac_slots_of_mask(type->refs, 0, end, UINT64_MAX, 0, f, context)) return;
    if (!gc__dac_slots_of_mask(type->values, 0, end, UINT64_MAX, GC_DAC_SLOT_VALUE, f, context)) return;
    if (type->element_refs | type->element_values)
        for (uint64_t i = 0, at = type->bytes; i < object->length; i++, at += type->element_bytes) {
            if (!gc__dac_slots_of_mask(type->element_refs, at, end, i, 0, f, context)) return;
            if (!gc__dac_slots_of_mask(type->element_values, at, end, i, GC_DAC_SLOT_VALUE, f, context)) return;
        }
    if (type->is_weak || type->is_ephemeral) gc__dac_slots_weak(object, f, context);
    if (type->has_trace) gc__dac_slots_traced(type, end, f, context);
}

GC_DAC_API bool gc_dac_card(gc_dac *dac, uint64_t slot, bool *dirty) {
    gc__dac_copy *copy = gc__dac_begin(dac) ? gc__dac_copy_at(dac, slot) : NULL;
    uint64_t tables = copy ? gc__dac_variable(copy, GC__DAC_VARIABLE_TABLES) : 0;
    *dirty = false;
    if (!tables || !gc__dac_has(copy, GC__DAC_AT_tables_log_bits)) {
        gc__dac_fail(dac, "0x%llx has no card", (unsigned long long)slot);
        return gc__dac_end(dac);
    }
    uint64_t cards = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_cards);
    uint64_t bundles = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_bundles);
    uint64_t log_bits = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_log_bits);
    unsigned byte_shift = gc__dac_fact(copy, GC__DAC_FACT_CARD_BYTE_SHIFT) & 63;
    unsigned bundle_shift = gc__dac_fact(copy, GC__DAC_FACT_BUNDLE_SHIFT) & 63;
    uint8_t card = 0, bundle = 1, logged = 0, age = 0;
    uint64_t ages = gc__dac_member(dac, copy, tables, GC__DAC_AT_tables_age);
    if (ages) gc__dac_load(dac, ages + slot / copy->info.region_bytes, &age, 1);
    if (age & gc__dac_fact(copy, GC__DAC_FACT_AGE_LOGGED)) {
        gc__dac_fail(dac, "stores are logged in the region of 0x%llx now, so its cards do not have them",
                     (unsigned long long)slot);
        return gc__dac_end(dac);
    }
    gc__dac_load(dac, cards + (slot >> byte_shift), &card, 1);
    if (gc__dac_fact(copy, GC__DAC_FACT_CARD_BITS))
        card = card >> ((slot >> (gc__dac_fact(copy, GC__DAC_FACT_CARD_SHIFT) & 63)) & 7) & 1;
    if (bundle_shift) gc__dac_load(dac, bundles + (slot >> bundle_shift), &bundle, 1);
    if (log_bits) gc__dac_load(dac, log_bits + (slot >> 6), &logged, 1);
    *dirty = (card && bundle) || (logged >> (slot >> 3 & 7) & 1);
    return gc__dac_end(dac);
}

typedef struct gc__dac_slot_walk {
    gc_dac *dac;
    gc__dac_copy *copy;
    const gc_dac_object *object;
    bool (*visit)(void *context, const gc_dac_slot *slot);
    bool (*refer)(void *context, uint64_t reference, bool guessed);
    void *context;
} gc__dac_slot_walk;

/* What the slot's word refers to. */
GC__DAC_FN uint64_t gc__dac_slot_target(const gc__dac_slot_walk *walk, uint64_t word, unsigned flags) {
    if (flags & GC_DAC_SLOT_GUESSED) {
        uint64_t reference = gc__dac_reference(walk->copy, word);
        return reference && gc__dac_is_start(walk->dac, walk->copy, reference) ? reference : 0;
    }
    return flags & GC_DAC_SLOT_VALUE ? gc__dac_value(walk->dac, walk->copy, word) : gc__dac_reference(walk->copy, word);
}

GC__DAC_FN bool gc__dac_slot_visit(void *context, uint64_t offset, uint64_t index, unsigned flags) {
    const gc__dac_slot_walk *walk = (const gc__dac_slot_walk *)context;
    const gc_dac_type *type = walk->object->type;
    gc_dac_slot slot;
    memset(&slot, 0, sizeof slot);
    slot.address = walk->object->address + offset;
    slot.offset = (uint32_t)offset;
    slot.index = index;
    slot.flags = flags;
    slot.word = gc__dac_object_word(walk->dac, walk->object, offset);
    slot.reference = gc__dac_slot_target(walk, slot.word, flags);
    if ((flags & GC_DAC_SLOT_GUESSED) && !slot.reference) return true;
    bool is_element = index != UINT64_MAX;
    uint64_t at = is_element && type->element_bytes ? (offset - type->bytes) % type->element_bytes : offset;
    for (unsigned i = 0; i < type->field_count; i++)
        if (type->fields[i].element == is_element && type->fields[i].offset == at) slot.name = type->fields[i].name;
    return walk->visit(walk->context, &slot);
}

GC__DAC_FN bool gc__dac_slot_refer(void *context, uint64_t offset, uint64_t index, unsigned flags) {
    const gc__dac_slot_walk *walk = (const gc__dac_slot_walk *)context;
    (void)index;
    if (flags & GC_DAC_SLOT_WEAK) return true;
    uint64_t word = gc__dac_object_word(walk->dac, walk->object, offset);
    uint64_t reference = word ? gc__dac_slot_target(walk, word, flags) : 0;
    return !reference || walk->refer(walk->context, reference, (flags & GC_DAC_SLOT_GUESSED) != 0);
}

GC__DAC_FN bool gc__dac_slots_begin(gc_dac *dac, gc__dac_slot_walk *walk) {
    if (!gc__dac_begin(dac)) return false;
    walk->copy = gc__dac_copy_at(dac, walk->object->address);
    if (!walk->copy) return gc__dac_fail(dac, "0x%llx is in no heap", (unsigned long long)walk->object->address);
    if (!walk->object->type)
        return gc__dac_fail(dac, "the slots of the object at 0x%llx are not known: its type is not",
                            (unsigned long long)walk->object->address);
    return true;
}

GC_DAC_API bool gc_dac_slots(gc_dac *dac, const gc_dac_object *object,
                             bool (*visit)(void *context, const gc_dac_slot *slot), void *context) {
    gc__dac_slot_walk walk = {dac, NULL, object, visit, NULL, context};
    if (gc__dac_slots_begin(dac, &walk)) gc__dac_slots_each(object, gc__dac_slot_visit, &walk);
    return gc__dac_end(dac);
}

GC_DAC_API bool gc_dac_references(gc_dac *dac, const gc_dac_object *object,
                                  bool (*visit)(void *context, uint64_t reference, bool guessed), void *context) {
    gc__dac_slot_walk walk = {dac, NULL, object, NULL, visit, context};
    if (gc__dac_slots_begin(dac, &walk)) gc__dac_slots_each(object, gc__dac_slot_refer, &walk);
    return gc__dac_end(dac);
}
