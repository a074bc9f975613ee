/* Objects as the collector sees them: the object-model seam, forwarding words and fillers. The default model is
   implemented here; a host implements its own by the GC_MODEL_ macros. */
#pragma once

#include "../api/allocate.h"
#include "../platform/platform.h"

/* The first word of an object that was copied is the copy's address + 1; that of a filler is its size * 4 + 3. */
#define GC__WORD(address) (*(gc_word *)(address))
#define GC__FORWARD_TAG ((uintptr_t)1)
#define GC__FILLER_TAG ((uintptr_t)3)

GC__FN void gc__filler_write(uintptr_t at, size_t bytes) {
    if (bytes) GC__WORD(at) = (uintptr_t)bytes << 2 | GC__FILLER_TAG;
}
GC__FN size_t gc__filler_bytes(uintptr_t at) { return GC__WORD(at) >> 2; }
GC__FN bool gc__is_filler(uintptr_t at) { return (GC__WORD(at) & 3) == GC__FILLER_TAG; }

#if GC_HAS_MODEL
GC__FN size_t gc__object_bytes(uintptr_t object) { return gc__align(GC_MODEL_BYTES((void *)object)); }
GC__FN bool gc__object_is_leaf(uintptr_t object) { return (void)object, false; }
GC__FN bool gc__object_is_traced(uintptr_t object) { return (void)object, true; }
GC__FN bool gc__object_may_own(uintptr_t object) { return (void)object, GC_MODEL_OWNS((void *)object); }
GC__FN size_t gc__object_bytes_as(uintptr_t object, uintptr_t header) {
    (void)object, (void)header; /* the host may need one of them only */
#ifdef GC_MODEL_BYTES_AS
    return gc__align(GC_MODEL_BYTES_AS((void *)object, header));
#else
    return gc__object_bytes(object);
#endif
}
GC__FN bool gc__header_is_leaf(uintptr_t header) { return (void)header, false; }
GC__FN bool gc__header_has_size(uintptr_t header) { return (void)header, false; }
GC__FN const char *gc__object_name(uintptr_t object) { return (void)object, GC_MODEL_NAME((void *)object); }
#else
GC__FN const gc_type *gc__object_type(uintptr_t object) { return (const gc_type *)GC__WORD(object); }
GC__FN size_t gc__object_length(uintptr_t object) {
    return __atomic_load_n(&GC__WORD(object + sizeof(gc_object)), __ATOMIC_RELAXED);
}

/* Sets the length of an array that has grown, in memory that is zeroed already, since a marker may be reading it. */
GC__FN void gc__object_set_length(uintptr_t object, size_t length) {
    __atomic_store_n(&GC__WORD(object + sizeof(gc_object)), length, __ATOMIC_RELEASE);
}

/* `header` is the object's first word, which is read once, since another thread may replace it by a copy's address. */
GC__FN size_t gc__object_bytes_as(uintptr_t object, uintptr_t header) {
    const gc_type *type = (const gc_type *)header;
    size_t bytes = type->bytes;
    if (type->element_bytes) bytes += gc__object_length(object) * type->element_bytes;
    return gc__align(bytes);
}
GC__FN size_t gc__object_bytes(uintptr_t object) { return gc__object_bytes_as(object, GC__WORD(object)); }

GC__FN bool gc__type_is_leaf(const gc_type *type) {
    return !type->refs && !(type->element_refs | type->values | type->element_values | (uintptr_t)type->trace);
}
GC__FN bool gc__header_is_leaf(uintptr_t header) { return gc__type_is_leaf((const gc_type *)header); }
GC__FN bool gc__object_is_leaf(uintptr_t object) { return gc__header_is_leaf(GC__WORD(object)); }

/* Returns whether a function of the host's reports slots of the object. */
GC__FN bool gc__object_is_traced(uintptr_t object) { return gc__object_type(object)->trace != NULL; }
/* Returns whether slots outside the object may be reported, too. */
GC__FN bool gc__object_may_own(uintptr_t object) { return gc__object_is_traced(object); }

/* True if all objects with that first word have the same size. */
GC__FN bool gc__header_has_size(uintptr_t header) { return !((const gc_type *)header)->element_bytes; }

GC__FN const char *gc__object_name(uintptr_t object) {
    const char *name = gc__object_type(object)->name;
    return name ? name : "(unnamed type)";
}
#endif

GC__FN const char *gc__mask_fault(uint64_t mask, size_t bytes, size_t first) {
    if (!mask) return NULL;
    size_t last = (size_t)(63 - __builtin_clzll(mask));
    if ((last + 1) * 8 > bytes) return "a reference mask reaches beyond the size";
    if ((size_t)__builtin_ctzll(mask) < first)
        return "a reference mask covers the header, which must be the first member, "
               "or the length, which must be the next";
    return NULL;
}

GC__FN const char *gc__elements_fault(const gc_type *type) {
    uint64_t mask = type->element_refs | type->element_values;
    if (!type->element_bytes) return mask ? "it has element masks but no elements" : NULL;
    if (type->bytes < sizeof(gc_array)) return "it has elements but no room for the length word";
    if (mask && (type->bytes % 8 || type->element_bytes % 8))
        return "its elements hold references but are not 8-byte aligned";
    return gc__mask_fault(mask, type->element_bytes, 0);
}

GC_API const char *gc_type_check(const gc_type *type) {
    if (!type) return "the type is NULL";
    if ((uintptr_t)type & 7) return "the type is not 8-byte aligned";
    if (type->bytes == 0) return "its size is 0";
    if (type->bytes < sizeof(gc_object)) return "its size is less than the header's 8 bytes";
    const char *fault = gc__mask_fault(type->refs | type->values, type->bytes, type->element_bytes ? 2 : 1);
    if (!fault) fault = gc__elements_fault(type);
    if (fault) return fault;
    if ((type->refs & type->values) || (type->element_refs & type->element_values))
        return "a word is declared both a reference and a value";
    if (type->flags & ~(unsigned)GC_TYPE_FIXED) return "it has flags that are none of GC_TYPE_*";
    if ((type->flags & GC_TYPE_FIXED) && !type->finalizer)
        return "it has GC_TYPE_FIXED but no finalizer: without one, gc_new makes its objects in line, where they move. Name "
               "gc_no_finalizer";
    return NULL;
}
