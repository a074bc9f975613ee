/* Marks and forwarding words: the state of a condemned object. */
#pragma once

#include "worker.h"

/* A reference leads to an object that has its mark bit: if that is a suspect's, it is scanned now. */
GC__OUT_OF_LINE void gc__suspect_reached(gc__tracer *tracer, uintptr_t object) {
    uintptr_t *reached = gc__map_find(tracer->suspects, object);
    if (!reached || *reached) return;
    *reached = true;
    if (!gc__object_is_leaf(object)) gc__trace_push(tracer, object);
}

/* An object was reached, whose address was this one. */
GC__OUT_OF_LINE void gc__key_reached(gc__tracer *tracer, uintptr_t object) {
    const uintptr_t *number = gc__map_find(tracer->keys, object);
    if (number) gc__words_push(&tracer->heap->handles.ready, *number); /* for which there is room */
}

/* Marks the object; returns whether it had no mark yet. */
GC__INLINED bool gc__mark_counted(uintptr_t object) {
    bool fresh = gc__mark_set(object);
    if (fresh) gc__region_of(object)->live_bytes += gc__object_bytes(object);
    return fresh;
}

GC__INLINED void gc__mark_object(gc__tracer *tracer, uintptr_t object) {
    if (gc__mark_counted(object)) {
        if (GC__UNLIKELY(tracer->keys != NULL)) gc__key_reached(tracer, object);
        if (!gc__object_is_leaf(object)) gc__trace_push(tracer, object);
    } else if (GC__UNLIKELY(tracer->suspects != NULL)) {
        gc__suspect_reached(tracer, object);
    }
}

/* Where a condemned object is now; 0 if it has not been reached. */
GC__FN uintptr_t gc__reached(uintptr_t object, uint8_t verdict) {
    if (verdict != GC__MOVE && gc__mark_get(object)) return object;
    if (verdict == GC__MARK) return 0;
    uintptr_t header = GC__WORD(object);
    return header & GC__FORWARD_TAG ? header - GC__FORWARD_TAG : 0;
}

/* Where an object is after the trace; 0 if it is dead, or none. */
GC__FN uintptr_t gc__survivor(uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    return verdict ? gc__reached(object, verdict & GC__VERDICT_MASK) : object;
}
