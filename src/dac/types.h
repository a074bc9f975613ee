/* Types of objects, each read once. */
#pragma once

#include "vars.h"

/* Whether the masks stay within the size, as gc_type_check demands. */
GC__DAC_FN bool gc__dac_mask_fits(uint64_t mask, uint64_t bytes) {
    return !mask || (uint64_t)(64 - __builtin_clzll(mask)) * 8 <= bytes;
}

GC__DAC_FN bool gc__dac_type_sound(const gc_dac_type *type) {
    if (type->bytes < 8 || type->address % 8) return false;
    if (type->element_bytes ? type->bytes < 16 : (type->element_refs | type->element_values) != 0) return false;
    return gc__dac_mask_fits(type->refs | type->values, type->bytes) &&
           gc__dac_mask_fits(type->element_refs | type->element_values, type->element_bytes);
}

#define GC__DAC_ELEMENT_FIELD 0x8000 /* GC_ELEMENT_FIELD of gc.h */

/* Cuts "next, value" into names. */
GC__DAC_FN void gc__dac_type_fields(gc_dac *dac, const gc__dac_copy *copy, gc_dac_type *type) {
    char names[GC__DAC_TEXT_MAX], *name = names;
    uint64_t text = gc__dac_member(dac, copy, type->address, GC__DAC_AT_type_fields);
    uint64_t offsets = gc__dac_at(copy, type->address, GC__DAC_AT_type_field_offsets);
    if (!text || !gc__dac_has(copy, GC__DAC_AT_type_field_offsets)) return;
    if (!gc__dac_fetch_text(dac, text, names, sizeof names)) return;
    while (*name && type->field_count < GC_DAC_FIELDS) {
        size_t length = strcspn(name, ", ");
        uint16_t offset = 0;
        if (gc__dac_copy_memory(dac, offsets + 2 * type->field_count, &offset, 2) < 2) return;
        char after = name[length];
        name[length] = 0;
        gc_dac_field *field = &type->fields[type->field_count++];
        field->name = gc__dac_format(dac, "%s", name);
        field->element = (offset & GC__DAC_ELEMENT_FIELD) != 0;
        field->offset = offset & ~(unsigned)GC__DAC_ELEMENT_FIELD;
        uint64_t values = field->element ? type->element_values : type->values;
        field->value = field->offset < 512 && (values >> (field->offset / 8) & 1);
        name += length + (after != 0);
        name += strspn(name, ", ");
    }
}

/* Reads a type; false: there is none. */
GC__DAC_FN bool gc__dac_type_read(gc_dac *dac, const gc__dac_copy *copy, uint64_t address, gc_dac_type *type) {
    uint8_t record[512];
    uint64_t bytes = gc__dac_fact(copy, GC__DAC_FACT_TYPE_BYTES);
    memset(type, 0, sizeof *type);
    type->address = address;
    if (bytes > sizeof record || address % 8 || gc__dac_copy_memory(dac, address, record, (size_t)bytes) < bytes)
        return false;
#define GC__DAC_TAKE(member, size)                                         \
    if (gc__dac_has(copy, GC__DAC_AT_type_##member) &&                     \
        copy->members[GC__DAC_AT_type_##member] + (uint64_t)size <= bytes) \
    memcpy(&type->member, record + copy->members[GC__DAC_AT_type_##member], size)
    GC__DAC_TAKE(bytes, 4);
    GC__DAC_TAKE(element_bytes, 4);
    GC__DAC_TAKE(refs, 8);
    GC__DAC_TAKE(values, 8);
    GC__DAC_TAKE(element_refs, 8);
    GC__DAC_TAKE(element_values, 8);
#undef GC__DAC_TAKE
    return gc__dac_type_sound(type);
}

/* What the type's trace function does, if it is one of gc.h's own. */
GC__DAC_FN void gc__dac_type_trace(gc_dac *dac, const gc__dac_copy *copy, gc_dac_type *type) {
    uint64_t trace = gc__dac_member(dac, copy, type->address, GC__DAC_AT_type_trace);
    uint64_t known = trace ? gc__dac_variable(copy, GC__DAC_VARIABLE_WEAK_TRACES) : 0;
    type->is_weak = known && gc__dac_u64(dac, known) == trace;
    type->is_ephemeral = known && gc__dac_u64(dac, known + 8) == trace;
    type->has_trace = trace && !type->is_weak && !type->is_ephemeral;
}

/* The type at an address; NULL: there is none, or it cannot be read. */
GC__DAC_FN gc_dac_type *gc__dac_type_find(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    gc_dac_type fresh, *type = (gc_dac_type *)gc__dac_map_get(&dac->types, address);
    if (type) return dac->last_type = type;
    if (!address || !gc__dac_type_read(dac, copy, address, &fresh)) return NULL;
    char otherwise[48];
    snprintf(otherwise, sizeof otherwise, "(type at 0x%llx)", (unsigned long long)address);
    uint64_t name = gc__dac_member(dac, copy, address, GC__DAC_AT_type_name);
    fresh.name = gc__dac_text(dac, name, NULL);
    if (!fresh.name) fresh.name = gc__dac_format(dac, "%s", otherwise);
    gc__dac_type_trace(dac, copy, &fresh);
    uint64_t finalizer = gc__dac_member(dac, copy, address, GC__DAC_AT_type_finalizer), function = 0;
    fresh.has_finalizer = finalizer && gc__dac_copy_memory(dac, finalizer, &function, 8) == 8 && function;
    gc__dac_type_fields(dac, copy, &fresh);
    type = (gc_dac_type *)gc__dac_keep(dac, sizeof *type);
    if (!type) return NULL;
    *type = fresh;
    gc__dac_map_put(dac, &dac->types, address, type);
    return dac->last_type = type;
}

GC__DAC_FN gc_dac_type *gc__dac_type_of(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    return dac->last_type && dac->last_type->address == address ? dac->last_type
                                                                : gc__dac_type_find(dac, copy, address);
}
