/* Objects of the CLR, as the collector sees them. To gc.h an object begins with its header word, one word before the place
   to which the CLR's pointers lead; so slots hold tagged values: each word is the object's address and 8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADER_BYTES 8

/* A slot's word that is not null refers to the object one word before. */
#define GC_VALUE_IS_REF(word) ((word) != 0)
#define GC_VALUE_TO_REF(word) ((word)-HEADER_BYTES)
#define GC_VALUE_FROM_REF(ref, word) ((uintptr_t)(ref) + HEADER_BYTES)

#define GC_MODEL_BYTES(object) object_bytes((uintptr_t)(object) + HEADER_BYTES)
#define GC_MODEL_BYTES_AS(object, word) GC_MODEL_BYTES(object) /* the header word says nothing about the size */
#define GC_MODEL_TRACE(object, visitor) object_trace((uintptr_t)(object) + HEADER_BYTES, visitor)
#define GC_MODEL_OWNS(object) object_has_owner((uintptr_t)(object) + HEADER_BYTES)
#define GC_MODEL_NAME(object) object_name((uintptr_t)(object) + HEADER_BYTES)

/* Of the header's upper half. */
#define HEADER_FINALIZED 0x40000000u /* its finalizer is not to run */

/* Of a type's first word. */
#define TYPE_HAS_ELEMENTS 0x80000000u /* its lower half is the element's size */
#define TYPE_HAS_REFS 0x01000000u
#define TYPE_COLLECTIBLE 0x00200000u
#define TYPE_CRITICAL 0x00000002u /* without elements: has a critical finalizer */

    static inline uintptr_t object_type(uintptr_t object) {
    return *(const uintptr_t *)object & ~(uintptr_t)7;
}
static inline uint32_t type_flags(uintptr_t type) { return *(const uint32_t *)type; }
static inline uint32_t type_bytes(uintptr_t type) { return ((const uint32_t *)type)[1]; }
static inline uint32_t *object_header(uintptr_t object) { return (uint32_t *)(object - 4); }

static inline bool object_has_critical_finalizer(uintptr_t object) {
    return (type_flags(object_type(object)) & (TYPE_HAS_ELEMENTS | TYPE_CRITICAL)) == TYPE_CRITICAL;
}

/* Whether there is an edge to the owner of its type's code. */
static inline bool object_has_owner(uintptr_t object) {
    uintptr_t type = object_type(object);
    return type && type_flags(type) & TYPE_COLLECTIBLE;
}

static inline size_t object_bytes_of(uintptr_t object, uintptr_t type) {
    size_t bytes = type_bytes(type);
    uint32_t flags = type_flags(type);
    if (flags & TYPE_HAS_ELEMENTS) bytes += (size_t)(flags & 0xFFFF) * *(const uint32_t *)(object + 8);
    return (bytes + 7) & ~(size_t)7;
}

size_t object_bytes_untyped(uintptr_t object);

/* The object's size, header included. */
static inline size_t object_bytes(uintptr_t object) {
    uintptr_t type = object_type(object);
    return type ? object_bytes_of(object, type) : object_bytes_untyped(object);
}

struct gc_visitor;
void object_trace(uintptr_t object, struct gc_visitor *visitor);
const char *object_name(uintptr_t object);
