/* Sampled objects, followed until they are found dead: which entries keep memory, and how old their objects get. */
#pragma once

#include "../collect/claim.h"
#include "state.h"
#include "store.h"

GC__FN void gc__amount_add(gc__profile_amount *amount, const gc__tracked *object) {
    amount->samples++;
    amount->count += object->weight;
    amount->bytes += object->weight * (double)object->bytes;
}

/* What is left of no samples is exactly nothing. */
GC__FN void gc__amount_subtract(gc__profile_amount *amount, const gc__tracked *object) {
    static const gc__profile_amount none = {0, 0, 0};
    amount->samples--;
    amount->count -= object->weight;
    amount->bytes -= object->weight * (double)object->bytes;
    if (!amount->samples) *amount = none;
}

/* Every list of the heap has room for all its objects, so that a collection needs no memory. */
GC__FN bool gc__tracked_reserve(gc__profiled_heap *heap) {
    size_t count = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) count += heap->tracked[g].count;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        gc__tracked_list *list = &heap->tracked[g];
        if (!gc__profile_reserve(&list->items, count, &list->capacity, sizeof *list->items)) return false;
    }
    return true;
}

/* An object was sampled. Lock held. */
GC__FN void gc__tracked_add(gc__profiled_heap *heap, const gc__tracked *object) {
    gc__profile *profile = &gc__the_profile.profile;
    gc__profile_entry *entry = &profile->entries[object->entry];
    gc__amount_add(&entry->allocated, object);
    if (!gc__tracked_reserve(heap)) {
        profile->lost_samples++;
        return;
    }
    gc__amount_add(&entry->live[0], object);
    heap->tracked[0].items[heap->tracked[0].count++] = *object;
}

/* Follows the objects of a generation through a collection that has condemned it. Lock held. */
GC__FN void gc__tracked_follow(gc__profiled_heap *heap, int generation) {
    gc__tracked_list *from = &heap->tracked[generation];
    size_t kept = 0, count = from->count;
    for (size_t i = 0; i < count; i++) {
        gc__tracked object = from->items[i];
        gc__profile_entry *entry = &gc__the_profile.profile.entries[object.entry];
        object.object = gc__address_after_trace(object.object);
        int target = object.object ? gc__region_first(gc__region_of(object.object))->target : generation;
        if (object.object && target == generation) {
            from->items[kept++] = object;
            continue;
        }
        gc__amount_subtract(&entry->live[generation], &object);
        gc__amount_add(object.object ? &entry->live[target] : &entry->died[generation], &object);
        if (object.object) heap->tracked[target].items[heap->tracked[target].count++] = object;
    }
    from->count = kept;
}

/* Oldest first, so that none is looked at twice. */
GC__FN void gc__tracked_follow_all(gc__profiled_heap *heap, int generation) {
    for (int g = generation; g >= 0; g--) gc__tracked_follow(heap, g);
}

GC__FN void gc__tracked_free(gc__profiled_heap *heap) {
    for (int g = 0; g < GC_GENERATIONS; g++)
        if (heap->tracked[g].capacity) gc__os_unmap(heap->tracked[g].items, heap->tracked[g].capacity);
    memset(heap->tracked, 0, sizeof heap->tracked);
}
