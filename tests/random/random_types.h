/* The random test's numbers and its types: kinds, generated from the seed, that tell where an object's slots and payload
   lie. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct prng {
    uint64_t state;
} prng;

static uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static uint64_t bits(prng *random) { return mix(random->state += 0x9E3779B97F4A7C15); }
static size_t below(prng *random, size_t limit) { return (size_t)((bits(random) >> 32) * limit >> 32); }
static bool one_in(prng *random, size_t count) { return below(random, count) == 0; }
/* A number from least to most, small ones as likely as large ones. */
static size_t skewed(prng *random, size_t least, size_t most) {
    size_t range = most - least, shift = below(random, 64 - (size_t)__builtin_clzll(range | 1) + 1);
    return least + below(random, (range >> shift) + 1);
}

#define KINDS 44
#define KIND_SLOTS 256 /* of a fixed part */
#define ELEMENT_SLOTS 8

#define VALUE_WORDS (GC_VALUE_BYTES / 8)

typedef struct slot_place {
    uint16_t offset;
    bool value;
} slot_place;

typedef struct kind {
    gc_type type; /* first, so that a trace function finds its kind */
    char name[24];
    char fields[192];
    size_t index;
    size_t id_offset; /* 0: the object carries no id */
    size_t slots, element_slots;
    size_t traced;         /* the first of `slots` that only the trace function tells */
    bool traced_elements;
    bool small;            /* little memory, for lists and trees */
    slot_place places[KIND_SLOTS];
    slot_place element_places[ELEMENT_SLOTS];
    uint8_t is_slot[KIND_SLOTS + 16]; /* of the words of the fixed part: a slot or the header */
    uint8_t element_is_slot[32];
} kind;

static kind kinds[KINDS];

static size_t slot_count(const kind *k, size_t length) { return k->slots + k->element_slots * length; }
static size_t kind_bytes(const kind *k, size_t length) {
    size_t bytes = k->type.bytes + k->type.element_bytes * length;
    return bytes < 16 ? 16 : (bytes + 7) & ~(size_t)7;
}
/* Whether its elements are slots that the range operations can be used on. */
static size_t place_words(bool value) { return value ? VALUE_WORDS : 1; }
static bool is_vector(const kind *k) {
    return k->element_slots == 1 && k->type.element_bytes == 8 * place_words(k->element_places[0].value);
}
static bool is_leaf(const kind *k) { return !k->slots && !k->element_slots; }

static gc_word *slot_at(const kind *k, void *object, size_t slot, bool *value) {
    char *at = object;
    const slot_place *place;
    if (slot < k->slots) {
        place = &k->places[slot];
    } else {
        size_t element = (slot - k->slots) / k->element_slots;
        place = &k->element_places[(slot - k->slots) % k->element_slots];
        at += k->type.bytes + element * k->type.element_bytes;
    }
    *value = place->value;
    return (gc_word *)(void *)(at + place->offset);
}

static void kind_trace(void *object, gc_visitor *visitor) {
    const kind *k = *(const kind **)object;
    char *at = object;
    for (size_t i = k->traced; i < k->slots; i++)
        gc_visit(visitor, at + k->places[i].offset, 1, k->places[i].value ? GC_SLOT_VALUE : 0);
    if (!k->traced_elements) return;
    size_t length = ((gc_array *)object)->length;
    for (size_t e = 0; e < length; e++) {
        at = (char *)object + k->type.bytes + e * k->type.element_bytes;
        for (size_t i = 0; i < k->element_slots; i++)
            gc_visit(visitor, at + k->element_places[i].offset, 1, k->element_places[i].value ? GC_SLOT_VALUE : 0);
    }
}

static void kind_mask(slot_place place, uint64_t *refs, uint64_t *values) {
    uint64_t bit = (uint64_t)1 << (place.offset / 8);
    if (place.value) *values |= bit;
    else *refs |= bit;
}

/* The masks reach 512 bytes; the rest, or all of the slots, is left to the trace function. */
static void kind_masks(kind *k, bool all_traced) {
    gc_type *type = &k->type;
    for (k->traced = 0; k->traced < k->slots && k->places[k->traced].offset < 512 && !all_traced; k->traced++)
        kind_mask(k->places[k->traced], &type->refs, &type->values);
    k->traced_elements = all_traced && k->element_slots;
    if (!k->traced_elements)
        for (size_t i = 0; i < k->element_slots; i++)
            kind_mask(k->element_places[i], &type->element_refs, &type->element_values);
    if (k->traced < k->slots || k->traced_elements) type->trace = kind_trace;
    size_t used = 0;
    for (size_t i = 0; i < k->slots && i < 16; i++) {
        type->field_offsets[i] = k->places[i].offset;
        used += (size_t)snprintf(k->fields + used, sizeof k->fields - used, "%sslot%zu", i ? ", " : "", i);
    }
    if (k->slots) type->fields = k->fields;
}

/* Whether a slot is to be a value, if there is room for one. */
static bool pick_value(prng *random, bool room) { return GC_HAS_VALUES && one_in(random, 2) && (VALUE_WORDS == 1 || room); }

static void kind_fixed_slots(kind *k, prng *random, size_t first, size_t percent) {
    memset(k->is_slot, 1, first);
    for (size_t word = first; word < k->type.bytes / 8; word++) {
        if (k->id_offset == word * 8 || below(random, 100) >= percent || k->slots == KIND_SLOTS) continue;
        bool value = pick_value(random, word + 1 < k->type.bytes / 8 && k->id_offset != (word + 1) * 8);
        k->places[k->slots++] = (slot_place){(uint16_t)(word * 8), value};
        memset(&k->is_slot[word], 1, place_words(value));
        word += place_words(value) - 1;
    }
}

static void kind_make_fixed(kind *k, prng *random) {
    static const uint16_t sizes[] = {16, 24, 32, 48, 80, 128, 264, 512, 520, 1000, 2000};
    k->type.bytes = k->index < 11 ? sizes[k->index] : (uint32_t)(8 * skewed(random, 2, 250));
    k->id_offset = k->type.bytes > 16 || one_in(random, 2) ? 8 * (1 + below(random, k->type.bytes / 8 - 1)) : 0;
    kind_fixed_slots(k, random, 1, k->index % 5 == 4 ? 0 : 20 + 80 * below(random, 2));
    if (!k->slots && !k->id_offset) k->id_offset = 8;
    kind_masks(k, k->index % 7 == 6);
}

/* Vectors, arrays of structures, and arrays without references, of bytes and odd sizes among them. */
static void kind_make_array(kind *k, prng *random) {
    bool id = one_in(random, 2);
    k->type.bytes = (uint32_t)(16 + 8 * id + (one_in(random, 3) ? 8 * below(random, 20) : 0));
    k->id_offset = id ? 16 : 0;
    if (k->index % 3 == 0) {
        k->type.element_bytes = (uint32_t)(1 + below(random, 24));
        if (one_in(random, 3)) k->type.bytes += (uint32_t)below(random, 7);
        memset(k->is_slot, 1, 2);
        return;
    }
    k->type.element_bytes = k->index % 3 == 1 ? 8 : (uint32_t)(8 * (1 + below(random, 8)));
    if (VALUE_WORDS > 1 && k->index % 6 == 1) k->type.element_bytes = GC_VALUE_BYTES;
    kind_fixed_slots(k, random, 2, 30);
    size_t words = k->type.element_bytes / 8;
    for (size_t word = 0; word < words && k->element_slots < ELEMENT_SLOTS; word++) {
        if (words > 1 && one_in(random, 2) && !(word + 1 == words && !k->element_slots)) continue;
        bool value = pick_value(random, word + 1 < words);
        k->element_places[k->element_slots++] = (slot_place){(uint16_t)(word * 8), value};
        memset(&k->element_is_slot[word], 1, place_words(value));
        word += place_words(value) - 1;
    }
    kind_masks(k, k->index % 5 == 0);
}

static void kinds_make(uint64_t seed) {
    prng random = {mix(seed)};
    for (size_t i = 0; i < KINDS; i++) {
        kind *k = &kinds[i];
        k->index = i;
        bool fixed = i < KINDS / 2;
        snprintf(k->name, sizeof k->name, "%s%zu", fixed ? "fixed" : "array", i);
        k->type.name = k->name;
        if (fixed) kind_make_fixed(k, &random);
        else kind_make_array(k, &random);
        k->small = fixed && k->type.bytes <= 128 && k->slots;
        const char *fault = gc_type_check(&k->type);
        if (fault) {
            printf("Bail out! the type `%s` of seed %llu: %s\n", k->name, (unsigned long long)seed, fault);
            exit(2);
        }
    }
}

/* At least one kind is small: the sizes of the first are given. */
static kind *kind_small(prng *random) {
    for (;;) {
        kind *k = &kinds[below(random, KINDS / 2)];
        if (k->small) return k;
    }
}
