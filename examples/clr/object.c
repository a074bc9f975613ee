/* Sizes and references of objects, by what the CLR keeps below their types. */
#include "loader.h"

/* An object that never moves is known to the collector before the runtime has stored its type: until then it takes the rest of
   its region. */
size_t object_bytes_untyped(uintptr_t object) {
    return GC_REGION_BYTES - ((object - HEADER_BYTES) & (GC_REGION_BYTES - 1));
}

/* An array of structures: items of a run of references, and of bytes to be skipped, repeat until the object's end. The collector
   may want a part of them only. */
static void trace_structures(uintptr_t object, uintptr_t type, intptr_t items, gc_visitor *visitor) {
    uintptr_t at =
        object + ((const uintptr_t *)type)[-2]; /* the first reference, beyond the object's end if it has no element */
    const uint32_t *run = (const uint32_t *)(type - 24);
    size_t bytes = 0, first; /* of a structure */
    for (intptr_t i = 0; i < items; i++) bytes += (size_t)run[-2 * i] * 8 + run[-2 * i + 1];
    size_t count = gc_visitor_range(visitor, (void *)at, bytes, *(const uint32_t *)(object + 8), &first);
    for (at += first * bytes; count; count--)
        for (intptr_t i = 0; i < items; i++) {
            gc_visit(visitor, (void *)at, run[-2 * i], GC_SLOT_VALUE);
            at += (size_t)run[-2 * i] * 8 + run[-2 * i + 1];
        }
}

static void trace_runs(uintptr_t object, uintptr_t type, intptr_t runs, gc_visitor *visitor) {
    size_t bytes = object_bytes_of(object, type);
    for (intptr_t i = 0; i < runs; i++) {
        const intptr_t *run =
            (const intptr_t *)type - 3 - 2 * i; /* its bytes without the object's, and where it starts */
        gc_visit(visitor, (void *)(object + (uintptr_t)run[1]), ((size_t)run[0] + bytes) / 8, GC_SLOT_VALUE);
    }
}

void object_trace(uintptr_t object, gc_visitor *visitor) {
    uintptr_t type = object_type(object);
    if (!type) return;
    if (type_flags(type) & TYPE_COLLECTIBLE) loader_trace(object, type, visitor);
    if (!(type_flags(type) & TYPE_HAS_REFS)) return;
    intptr_t count = ((const intptr_t *)type)[-1];
    if (count > 0)
        trace_runs(object, type, count, visitor); /* one run of elements: the collector takes its part of that */
    else
        trace_structures(object, type, -count, visitor);
}

const char *object_name(uintptr_t object) {
    static char name[48];
    snprintf(name, sizeof name, "object of type %p", (void *)object_type(object));
    return name;
}
