/* Verify: walks everything and reports the first reference that breaks the collector's invariants. */
#pragma once

#include "../space/cards.h"
#include "../trace/roots.h"
#include "../weak/weak.h"
#include "places.h"

typedef struct gc__verifier {
    gc_visitor visitor;
    gc_heap *heap;
    const char *by, *when; /* for reports: the name of the check, and its time */
    uintptr_t holder;      /* the object that holds the slot; 0: a root */
    size_t objects;
    /* Types found sound in this pass, by a hash of the address: checking one asks the system. */
    const gc_type *sound_types[256];
    uint64_t *reached;               /* checkmark: a bit per 8 bytes of the arena in use, biased like mark bits */
    gc__words stack;
    size_t reached_count;
    gc__map remembered; /* the slots that young collections find in the store buffer */
} gc__verifier;

GC__COLD void gc__verify_remembered(gc__verifier *verifier) {
    const gc__store_buffer *stores = verifier->heap->stores;
    size_t count = gc__stores_count(stores);
    if (!count || !gc__map_reserve(&verifier->remembered, count)) return;
    for (size_t i = 0; i < count; i++)
        if (stores->entries[i] & GC__STORE_TAG) gc__map_put(&verifier->remembered, stores->entries[i] & ~GC__STORE_TAG);
}

/* Returns the name of the object's field at an offset, or of the element's field there, and its length in *length.
   Returns NULL if its type has no name for it. */
GC__COLD const char *gc__field_name(uintptr_t object, size_t offset, size_t *length) {
#if !GC_HAS_MODEL
    const gc_type *type = gc__object_type(object);
    const char *name = type->fields;
    bool is_element = type->element_bytes && offset >= type->bytes;
    size_t at = is_element ? (offset - type->bytes) % type->element_bytes : offset;
    for (unsigned i = 0; name && *name && at < GC_ELEMENT_FIELD && i < 16; i++) {
        *length = strcspn(name, ", ");
        if (type->field_offsets[i] == (is_element ? GC_ELEMENT_FIELD | at : at)) return name;
        name += *length;
        name += strspn(name, ", ");
    }
#endif
    (void)object, (void)offset, (void)length;
    return NULL;
}

/* Finds the element at the offset. Returns false if the offset is in the fixed part. */
GC__COLD bool gc__element_of(uintptr_t object, size_t offset, size_t *element) {
#if !GC_HAS_MODEL
    const gc_type *type = gc__object_type(object);
    *element = type->element_bytes && offset >= type->bytes ? (offset - type->bytes) / type->element_bytes : 0;
    return type->element_bytes && offset >= type->bytes;
#else
    (void)object, (void)offset, (void)element;
    return false;
#endif
}

/* Writes a field's name to `text`, or its offset if the type has no name for it. */
GC__COLD void gc__describe_field(char *text, size_t bytes, uintptr_t holder, size_t offset) {
    if (offset >= gc__object_bytes(holder)) {
        snprintf(text, bytes, "the slot at %p, which the trace function reported,", (void *)(holder + offset));
        return;
    }
    size_t length = 0, element = 0;
    const char *name = gc__field_name(holder, offset, &length);
    bool is_element = gc__element_of(holder, offset, &element);
    if (name && is_element)
        snprintf(text, bytes, "field `%.*s` of element %zu (offset %zu)", (int)length, name, element, offset);
    else if (name)
        snprintf(text, bytes, "field `%.*s` (offset %zu)", (int)length, name, offset);
    else if (is_element)
        snprintf(text, bytes, "element %zu (offset %zu)", element, offset);
    else
        snprintf(text, bytes, "the slot at offset %zu", offset);
}

/* Writes "field `next` (offset 8) of `cell` 0x.. (generation 2)" or "the root .. in frame main (x.c:12)" to `text`. */
GC__COLD void gc__describe_slot(char *text, size_t bytes, const gc__verifier *verifier, const void *slot) {
    const gc__threads *threads = verifier->heap->threads;
    const gc_frame_site *site = threads->root_site;
    char field[160];
    if (verifier->holder) {
        gc__describe_field(field, sizeof field, verifier->holder, (uintptr_t)slot - verifier->holder);
        snprintf(text, bytes, "%s of `%s` %p (generation %d)", field, gc__object_name(verifier->holder),
                 (void *)verifier->holder, gc__region_of(verifier->holder)->generation);
    } else if (site) {
        snprintf(text, bytes, "the root at %p, one of (%s) of frame %s (%s:%u)", slot, site->names, site->function,
                 site->file, site->line);
    } else if (threads->root_method) {
        snprintf(text, bytes, "the root at %p, in the compiled frame of `%s` at +0x%zx,", slot, threads->root_method,
                 threads->root_offset);
    } else {
        snprintf(text, bytes, "the root at %p (%s)", slot, threads->root_kind);
    }
}

/* A search for the owner of an array. There are many arrays of the same few types, and most have a single owner. */
typedef struct gc__owner_search {
    gc_visitor visitor;
    gc__verifier found; /* where the slot is; its holder is 0 until one is found */
    uintptr_t array, looked_at;
    const void *slot;
} gc__owner_search;

GC__COLD void gc__owner_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__owner_search *search = (gc__owner_search *)visitor;
    for (size_t i = 0; i < count && !search->found.holder; i++) {
        gc_word *word = gc__slot_at(slot, i, gc__flags_value(flags));
        if (gc__slot_ref(word, gc__flags_value(flags)) != search->array) continue;
        search->found.holder = search->looked_at;
        search->slot = word;
    }
}

GC__COLD bool gc__owner_object(void *context, uintptr_t object) {
    gc__owner_search *search = (gc__owner_search *)context;
    search->looked_at = object;
    gc__object_visit(object, &search->visitor);
    return !search->found.holder;
}

/* Writes "That `values` is in field `items` (offset 8) of `list` 0x.. (generation 2)" to `text`, or nothing if the
   object is no array, or no object holds it. Without `young`, the search ignores objects allocated since the last
   collection. */
GC__COLD void gc__describe_owner(char *text, size_t bytes, gc_heap *heap, uintptr_t array, bool young) {
    gc__owner_search search;
    size_t element = 0;
    *text = 0;
    if (!array || !gc__element_of(array, gc__object_bytes(array), &element)) return;
    memset(&search, 0, sizeof search);
    search.visitor.visit = gc__owner_visit;
    search.found.heap = heap;
    search.array = array;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region && !search.found.holder; region = region->next)
            if (young || !region->linear) gc__region_walk(region, gc__owner_object, &search);
    if (!search.found.holder) return;
    char place[512];
    gc__describe_slot(place, sizeof place, &search.found, search.slot);
    snprintf(text, bytes, "That `%s` is in %s", gc__object_name(array), place);
}

/* Prints under stress after which call a stale reference has become stale, and between which collections it, or
   another reference that lacks a barrier, was stored. */
GC__COLD void gc__verify_print_places(const gc__verifier *verifier, uintptr_t ref, bool unseen) {
    const gc_heap *heap = verifier->heap;
    const gc__region *region = gc__in_arena(ref) ? gc__region_of(ref) : NULL;
    bool stale = region && region->kind == GC__QUARANTINED;
    if (!heap->stress->kept.words || !(stale || (unseen && heap->options.debug.verify))) return;
    uint64_t last = heap->collection.number - (strcmp(verifier->when, "before") == 0);
    if (stale)
        fprintf(stderr,
                "gc.h: %p is stale since collection %llu. If a variable's value was stored, it was read before that "
                "collection, and stored between collection %llu and this one:\n",
                (void *)ref, (unsigned long long)region->condemned, (unsigned long long)last);
    else
        fprintf(stderr, "gc.h: %p was stored without a barrier between collection %llu and this one:\n", (void *)ref,
                (unsigned long long)last);
    if (stale) gc__stress_print_place(heap, region->condemned);
    if (!stale || region->condemned != last) gc__stress_print_place(heap, last);
    void *frames[GC__STACK_FRAMES];
    fprintf(stderr, "gc.h: this collection is here:\n");
    gc__stress_print_location(verifier->heap);
    gc__os_name_frames(frames, gc__os_stack_frames(frames), 0);
}

/* Reports a fault. `unseen`: the fault is that no barrier has seen the store. */
GC__COLD void gc__verify_fault(const gc__verifier *verifier, const void *slot, uintptr_t ref, const char *fault, bool unseen) {
    char holder[512], owner[640];
    gc__describe_slot(holder, sizeof holder, verifier, slot);
    gc__describe_owner(owner, sizeof owner, verifier->heap, verifier->holder, true);
    gc__verify_print_places(verifier, ref, unseen);
    gc__fatal(&verifier->heap->options, "%s (%s collection %llu): %s holds %p: %s%s%s", verifier->by, verifier->when,
              (unsigned long long)verifier->heap->collection.number, holder, (void *)ref, fault, *owner ? ". " : "", owner);
}

/* Returns what is wrong with a reference into the arena, or NULL if nothing is. */
GC__COLD const char *gc__reference_fault(gc_heap *heap, uintptr_t ref) {
    gc__region *region = gc__region_of(ref);
    if (region->kind == GC__QUARANTINED || region->kind == GC__FREE)
        return "that object was moved or freed by an earlier collection, and this slot was not updated: "
               "what was stored came from a variable that is no root (GC_ROOTS, or gc_roots_add for a static one), "
               "or the slot itself was not reported as a root, or the store into it had no write barrier (gc_store)";
    if (!gc__region_is_of(region, heap))
        return "that object belongs to another heap: references must stay within one heap";
    if (ref & 7) return "that address is not 8-byte aligned: the slot does not hold a plain reference";
    if (region->kind == GC__LARGE_REST || ref >= gc__region_starts_end(region))
        return "that address lies within a large object, not at its start";
    gc__region_index(region);
    if (!gc__mark_get(ref))
        return "no object starts there: it points into an object (which only a root may, that has GC_SLOT_INTERIOR), or "
               "to one that a collection has freed or moved because this slot was not reported as a root, or was stored "
               "to without the write barrier (gc_store)";
    return NULL;
}

GC__COLD void gc__verify_slot(gc__verifier *verifier, gc_word *slot, bool value) {
    uintptr_t ref = gc__slot_ref(slot, value);
    if (!ref || !gc__in_arena(ref)) return;
    const char *fault = gc__reference_fault(verifier->heap, ref);
    if (fault) gc__verify_fault(verifier, slot, ref, fault, false);
    bool owned = !gc__in_arena((uintptr_t)slot);
    uintptr_t place =
        /* The slot's own card, or the owner's, shows that the slot must be looked at. */
        owned ? verifier->holder : (uintptr_t)slot;
    if (!verifier->holder || !gc__ranks_need_card(gc__barrier_ranks(&gc__tables, (void *)place, (void *)ref))) return;
    if (gc__card_is_dirty(place) && gc__bundle_is_dirty(place)) return;
    bool unknown = !verifier->remembered.capacity && gc__stores_count(verifier->heap->stores); /* no memory for the map */
    if (unknown || gc__map_find(&verifier->remembered, place)) return;
    char text[256];
    snprintf(text, sizeof text,
             "a `%s` of generation %d, but the %s card is clean: a missing write barrier. Store it by %s",
             gc__object_name(ref), gc__region_of(ref)->generation, owned ? "owner's" : "slot's",
             owned ? "gc_store_in (or gc_store_value_in), or call gc_remember for the owner"
                   : "gc_store (or gc_store_value, gc_copy_refs, gc_stores_begin)");
    gc__verify_fault(verifier, slot, ref, text, true);
}

GC__COLD void gc__verify_stack(const gc__verifier *verifier, const gc_value_stack *stack) {
    uintptr_t fault = gc__stack_fault(stack), ref = fault ? gc__stack_ref(stack, fault) : 0;
    char text[256];
    if (!fault) return;
    snprintf(text, sizeof text,
             "a `%s` of generation %d, in entry %zu of a stack, below what the host says was stored to. Call "
             "gc_value_stack_touch at each return, and before stores through open upvalues",
             gc__object_name(ref), gc__region_of(ref)->generation,
             (fault - (uintptr_t)stack->base) / gc__stack_entry_bytes(stack));
    gc__verify_fault(verifier, (void *)fault, ref, text, true);
}

GC__COLD void gc__verify_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__verifier *verifier = (gc__verifier *)visitor;
    if (flags & (GC_SLOT_CONSERVATIVE | GC_SLOT_INTERIOR | GC__SLOT_DERIVED)) return;
    if (flags & GC__SLOT_STACK) gc__verify_stack(verifier, ((const gc__stack_part *)slot)->stack);
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    if (gc__traced) gc__traced_check(verifier->heap, slot, count, flags);
    bool value = gc__flags_value(flags);
    for (size_t i = 0; i < count; i++) gc__verify_slot(verifier, gc__slot_at(slot, i, value), value);
}

/* Checks an object's header, before anything asks the object for its size. */
GC__COLD bool gc__verify_header(void *context, uintptr_t object) {
    gc__verifier *verifier = (gc__verifier *)context;
#if !GC_HAS_MODEL
    const gc_type *type = gc__object_type(object);
    const gc_type **sound = &verifier->sound_types[((uintptr_t)type >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 56];
    if (type == *sound) return true;
    const char *fault = gc__os_is_mapped(type, sizeof *type) ? gc_type_check(type) : "it points to nothing";
    if (fault)
        gc__fatal(&verifier->heap->options,
                  "verify (%s collection %llu): the object %p has a bad type: %s. Its header was overwritten, by a "
                  "store beyond the end of the object before it perhaps, or its type is misdeclared",
                  verifier->when, (unsigned long long)verifier->heap->collection.number, (void *)object, fault);
    *sound = type;
#else
    (void)verifier, (void)object;
#endif
    return true;
}

GC__COLD bool gc__verify_object(void *context, uintptr_t object) {
    gc__verifier *verifier = (gc__verifier *)context;
    verifier->objects++;
    verifier->holder = object;
    gc__object_visit_entries(object, &verifier->visitor);
    return true;
}

/* Checks the bounds of barriers, and the headers of the region's objects. */
GC__COLD void gc__verify_region(gc__verifier *verifier, gc__region *region) {
    const gc_barrier_tables *tables = &gc__tables; /* other heaps may be widening the bounds */
    uintptr_t end = gc__region_end(region);
    bool young = region->generation < 2;
    if (region->base < gc__barrier_bound(&tables->lowest) || end > gc__barrier_bound(&tables->highest) ||
        (young && (region->base < gc__barrier_bound(&tables->low) || end > gc__barrier_bound(&tables->high))))
        gc__fatal(&verifier->heap->options,
                  "verify (%s collection %llu): the region at %p (generation %d) lies outside the bounds of barriers: "
                  "a fault of the collector, please report it",
                  verifier->when, (unsigned long long)verifier->heap->collection.number, (void *)region->base,
                  region->generation);
    gc__region_walk(region, gc__verify_header, verifier);
}

/* Remembers active objects: memory that they own is stored to without a barrier. */
GC__COLD void gc__verify_visit_active(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    (void)visitor;
    if (flags & GC_SLOT_ACTIVE) gc__root_remember((gc_word *)slot, count, gc__flags_value(flags));
}

static uint64_t gc__verifications; /* verifications that found no fault, in all heaps; atomic */

/* Verifies the heap. Windows must be closed or flushed. */
GC__COLD size_t gc__verify_heap(gc_heap *heap, const char *when) {
    gc__verifier verifier;
    memset(&verifier, 0, sizeof verifier);
    verifier.visitor.visit = gc__verify_visit;
    verifier.heap = heap;
    verifier.by = "verify";
    verifier.when = when;
    gc__verify_remembered(&verifier);
    gc_visitor active = {gc__verify_visit_active};
    gc__roots_visit(heap, &active);
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next) gc__verify_region(&verifier, region);
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            gc__region_walk(region, gc__verify_object, &verifier);
    verifier.holder = 0;
    gc__roots_visit(heap, &verifier.visitor);
    heap->threads->root_kind = "handle";
    gc__handles_verify(heap, &verifier.visitor);
    heap->threads->root_kind = NULL;
    gc__map_free(&verifier.remembered);
    __atomic_add_fetch(&gc__verifications, 1, __ATOMIC_RELAXED);
    return verifier.objects;
}
