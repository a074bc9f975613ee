/* Sampled objects, followed until they are found dead: which entries keep memory, and how old their objects get. */
#pragma once

#include "../trace/claim.h"
#include "state.h"
#include "store.h"

GC__FN void gc__amount_add(gc__profile_amount *amount, const gc__tracked *object) {
    amount->samples++;
    amount->count += object->weight;
    amount->bytes += object->weight * (double)object->bytes;
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
    if (gc__tracked_reserve(heap))
        heap->tracked[0].items[heap->tracked[0].count++] = *object;
    else
        gc__the_profile.profile.lost_samples++;
}

/* Follows the objects of a generation through a collection that has condemned it. Lock held. */
GC__FN void gc__tracked_follow(gc__profiled_heap *heap, int generation) {
    gc__tracked_list *from = &heap->tracked[generation];
    size_t kept = 0, count = from->count;
    for (size_t i = 0; i < count; i++) {
        gc__tracked object = from->items[i];
        object.object = gc__address_after_trace(object.object);
        int target = object.object ? gc__region_first(gc__region_of(object.object))->target : generation;
        if (object.object && target == generation) {
            from->items[kept++] = object;
            continue;
        }
        if (object.object) {
            heap->tracked[target].items[heap->tracked[target].count++] = object;
            continue;
        }
        gc__profile_amount *died = gc__site_died(&gc__the_profile.profile, object.site, generation);
        if (died)
            gc__amount_add(died, &object);
        else
            gc__the_profile.profile.lost_samples++;
    }
    from->count = kept;
}

/* Oldest first, so that none is looked at twice. */
GC__FN void gc__tracked_follow_all(gc__profiled_heap *heap, int generation) {
    for (int g = generation; g >= 0; g--) gc__tracked_follow(heap, g);
}

GC__FN void gc__tracked_free(gc__tracked_list *lists) {
    for (int g = 0; g < GC_GENERATIONS; g++)
        if (lists[g].capacity) gc__os_unmap(lists[g].items, lists[g].capacity);
    memset(lists, 0, GC_GENERATIONS * sizeof *lists);
}

/* The heap is about to be destroyed: what is in use remains so for the profile. Lock held. */
GC__FN void gc__tracked_end(gc__profiled_heap *heap) {
    gc__tracked_list *ended = gc__the_profile.ended;
    for (int g = 0; g < GC_GENERATIONS && heap->profile == gc__the_profile.number; g++) {
        for (size_t i = 0; i < heap->tracked[g].count; i++) {
            if (gc__profile_reserve(&ended[g].items, ended[g].count, &ended[g].capacity, sizeof *ended[g].items))
                ended[g].items[ended[g].count++] = heap->tracked[g].items[i];
            else
                gc__the_profile.profile.lost_samples++;
        }
    }
    gc__tracked_free(heap->tracked);
}

GC__FN void gc__tracked_sum_lists(gc__profile *profile, const gc__tracked_list *lists) {
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (size_t i = 0; i < lists[g].count; i++)
            gc__amount_add(&profile->entries[lists[g].items[i].site].live[g], &lists[g].items[i]);
}

/* Makes an entry of each site, with what is in use, and what was allocated. False: no memory. Lock held. */
GC__FN bool gc__tracked_sum(gc__profiling *all) {
    gc__profile *profile = &all->profile;
    profile->entries_count = 0;
    if (!gc__profile_reserve(&profile->entries, profile->sites_count, &profile->entries_capacity,
                             sizeof *profile->entries))
        return false;
    profile->entries_count = profile->sites_count;
    for (size_t i = 0; i < profile->entries_count; i++) {
        const gc__profile_site *site = &profile->sites[i];
        gc__profile_entry *entry = &profile->entries[i];
        memset(entry, 0, sizeof *entry);
        entry->type = site->type;
        entry->stack = site->stack;
        for (int g = 0; g < GC_GENERATIONS; g++) entry->died[g] = profile->amounts[site->died[g]];
        entry->marks = profile->marks[site->marks];
    }
    gc__tracked_sum_lists(profile, all->ended);
    for (const gc__profiled_heap *heap = all->heaps; heap; heap = heap->next)
        if (heap->profile == all->number) gc__tracked_sum_lists(profile, heap->tracked);
    for (size_t i = 0; i < profile->entries_count; i++) {
        gc__profile_entry *entry = &profile->entries[i];
        for (int g = 0; g < GC_GENERATIONS; g++) {
            gc__amount_sum(&entry->allocated, &entry->live[g]);
            gc__amount_sum(&entry->allocated, &entry->died[g]);
        }
    }
    return true;
}
