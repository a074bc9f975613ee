/* Walks of the heap and questions about addresses. */
#pragma once

#include "shadow.h"
#include "stress.h"

GC_API bool gc_heap_contains(gc_heap *heap, const void *address) {
    if (gc__is_null(heap, "gc_heap_contains", "heap")) return false;
    if (!gc__in_arena((uintptr_t)address)) return false;
    const gc__region *region = gc__region_of((uintptr_t)address);
    return gc__region_is_of(region, heap) && region->kind != GC__FREE && region->kind != GC__QUARANTINED;
}

/* Returns whether `function`, which looks at objects, is called while the collection has objects in two places. */
GC__COLD bool gc__is_amid_collection(gc_heap *heap, const char *function) {
    if (!gc__heap_is_locked(heap) || !heap->collecting || heap->phase < GC_PHASE_PLAN || heap->phase >= GC_PHASE_CLOSE)
        return false;
    gc__misused(gc__fail(GC_ERROR_MISUSE,
                        "%s: called within options.collection_traced or a trace function, where objects cannot be listed: call "
                        "gc_collection_find, or have options.collection_end call %s",
                        function, function));
    return true;
}

GC_API void *gc_heap_object_at(gc_heap *heap, const void *address) {
    GC__API_SCOPE("gc_heap_object_at");
    if (gc__is_null(heap, "gc_heap_object_at", "heap")) return NULL;
    if (!gc_heap_contains(heap, address) || gc__is_amid_collection(heap, "gc_heap_object_at")) return NULL;
    gc__world_stop(heap);
    gc__heap_flush(heap);
    uintptr_t object = gc__heap_covering(heap, (uintptr_t)address);
    gc__world_resume(heap);
    return (void *)object;
}

GC_API int gc_object_generation(const void *object) {
    if (!gc__in_arena((uintptr_t)object)) return GC_GENERATIONS;
    gc__region *region = gc__region_of((uintptr_t)object);
    if (gc__region_is_of(region, NULL) || region->kind == GC__FREE || region->kind == GC__QUARANTINED)
        return GC_GENERATIONS;
    return gc__region_first(region)->generation;
}

GC_API gc_heap *gc_object_heap(const void *object) {
    return gc__in_arena((uintptr_t)object) ? gc__region_of((uintptr_t)object)->heap : NULL;
}

GC_API size_t gc_object_bytes(const void *object) {
    return gc__is_null(object, "gc_object_bytes", "object") ? 0 : gc__object_bytes((uintptr_t)object);
}

GC_API const char *gc_object_type_name(const void *object) {
    return gc__is_null(object, "gc_object_type_name", "object") ? NULL : gc__object_name((uintptr_t)object);
}

#if !GC_HAS_MODEL
GC_API const gc_type *gc_object_type(const void *object) {
    return gc__is_null(object, "gc_object_type", "object") ? NULL : gc__object_type((uintptr_t)object);
}
#endif

GC_API void gc_object_visit(void *object, gc_visitor *visitor) {
    if (gc__is_null(object, "gc_object_visit", "object") || gc__is_null(visitor, "gc_object_visit", "visitor")) return;
    gc__object_visit((uintptr_t)object, visitor);
}

typedef struct gc__walk {
    bool (*visit)(void *context, void *object, size_t bytes, int generation);
    void *context;
    int generation;
} gc__walk;

GC__COLD bool gc__walk_object(void *context, uintptr_t object) {
    const gc__walk *walk = (const gc__walk *)context;
    return walk->visit(walk->context, (void *)object, gc__object_bytes(object), walk->generation);
}

GC_API void gc_heap_walk(gc_heap *heap, bool (*visit)(void *context, void *object, size_t bytes, int generation),
                         void *context) {
    if (gc__is_null(heap, "gc_heap_walk", "heap") || gc__is_null(visit ? heap : NULL, "gc_heap_walk", "visit")) return;
    if (gc__is_amid_collection(heap, "gc_heap_walk")) return;
    gc__walk walk = {visit, context, 0};
    bool on = true;
    gc__world_stop(heap);
    gc__heap_flush_for_callbacks(heap);
    for (; on && walk.generation < GC_GENERATIONS; walk.generation++)
        for (gc__region *region = heap->regions[walk.generation]; on && region; region = region->next)
            on = gc__region_walk(region, gc__walk_object, &walk);
    gc__world_resume(heap);
}

GC_API size_t gc_heap_verify(gc_heap *heap) {
    GC__API_SCOPE("gc_heap_verify");
    if (gc__is_null(heap, "gc_heap_verify", "heap") || gc__is_amid_collection(heap, "gc_heap_verify")) return 0;
    if (!GC_DIAGNOSTICS) {
        gc__fail(GC_ERROR_OPTION, "gc_heap_verify: nothing is verified: " GC__NO_DIAGNOSTICS ": compile it with 1");
        return 0;
    }
    if (gc__handles_are_mine(heap) && gc__is_called_by_hook(heap, "gc_heap_verify")) return 0;
    gc__faults_watch();
    gc__world_stop(heap);
    gc__heap_flush(heap);
    gc__log_flush();
    if (!gc__is_abandoned(heap)) gc__shadow_check(heap);
    size_t objects = gc__is_abandoned(heap) ? 0 : gc__verify_heap(heap, "after");
    gc__world_resume(heap);
    return objects;
}
