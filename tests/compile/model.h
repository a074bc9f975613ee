/* A host with headers of its own: the object's size in its first word, then references only. */
#define GC_MODEL_BYTES(object) ((size_t) * (const uint64_t *)(object))
#define GC_MODEL_TRACE(object, visitor) \
    gc_visit(visitor, (char *)(object) + 8, GC_MODEL_BYTES(object) / 8 - 1, 0)
#define GC_MODEL_NAME(object) ((void)(object), "record")
#include "gc.h"
