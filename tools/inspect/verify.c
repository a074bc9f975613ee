/* verify: what GC_VERIFY checks, from outside: that headers lead to types, references to objects, and that the card of each slot
   of an old object that refers to a younger one is dirty. */
#include "commands.h"
#include "memory.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

typedef struct verifier {
    heap_graph graph;
    const command_options *options;
    gc_dac_region *regions; /* those that hold objects, by ascending addresses */
    size_t regions_count, regions_capacity;
    const gc_dac_object *object; /* the one that is checked */
    bool suspicious;             /* its references must be looked at one by one */
    uint64_t references, faults, cards;
    bool has_cards;   /* the heap has cards, and no collection is changing what they mean */
    bool has_running; /* a thread may be between a store and its card */
    uint64_t logged;  /* slots whose cards say nothing, since stores are logged */
} verifier;

static bool add_region(void *context, const gc_dac_region *region) {
    verifier *v = context;
    if (region->kind != GC_DAC_SMALL && region->kind != GC_DAC_LARGE) return true;
    v->regions = memory_grow(v->regions, v->regions_count, &v->regions_capacity, sizeof *region, "regions");
    v->regions[v->regions_count++] = *region;
    return true;
}

static int by_base(const void *a, const void *b) {
    const gc_dac_region *x = a, *y = b;
    return (x->base > y->base) - (x->base < y->base);
}

/* Regions and the ranges of objects are the same, in the same order, unless regions overlap. */
static const gc_dac_region *region_of(const verifier *v, uint64_t address) {
    size_t range = objects_range(&v->graph.objects, address);
    const gc_dac_region *region = range < v->regions_count ? &v->regions[range] : NULL;
    return region && address - region->base < region->end - region->base ? region : NULL;
}

static void fault(verifier *v, const char *holder, uint64_t reference, const char *what) {
    if (v->faults++ >= v->options->limit) return;
    json_begin(NULL, '{');
    json_text("holder", holder);
    json_address("reference", reference);
    json_text("fault", what);
    json_end();
    text("%s%s%s %s\n", clean(holder), reference ? " holds " : "", reference ? hex(reference) : "", what);
}

/* What is wrong with a reference of the heap; NULL: nothing, or a collection is at work there. */
static const char *reference_fault(const verifier *v, uint64_t reference) {
    const gc_dac_region *region = region_of(v, reference);
    if (!region)
        return "which is in no region of the heap that holds objects: that object was freed or moved, or is of another "
               "heap";
    if (region->condemned || objects_find(&v->graph.objects, reference) != OBJECT_NONE) return NULL;
    return "where no object begins: it points into an object, or to one that was freed or moved";
}

static const char *name_slot(const verifier *v, const gc_dac_slot *slot) {
    static char name[768];
    if (slot->name && slot->index != UINT64_MAX)
        snprintf(name, sizeof name, "field `%s` of element %s of %s %s", clean(slot->name), commas(slot->index),
                 clean(described(v->graph.target, v->object->address)), hex(v->object->address));
    else if (slot->name)
        snprintf(name, sizeof name, "field `%s` of %s %s", clean(slot->name),
                 clean(described(v->graph.target, v->object->address)), hex(v->object->address));
    else
        snprintf(name, sizeof name, "the slot at offset %s of %s %s", commas(slot->offset),
                 clean(described(v->graph.target, v->object->address)), hex(v->object->address));
    return name;
}

static bool check_slot(void *context, const gc_dac_slot *slot) {
    verifier *v = context;
    if (!slot->reference || slot->flags & GC_DAC_SLOT_GUESSED) return true;
    const char *wrong = slot->flags & GC_DAC_SLOT_VALUE ? NULL : reference_fault(v, slot->reference);
    if (wrong) fault(v, name_slot(v, slot), slot->reference, wrong);
    const gc_dac_region *holder = region_of(v, slot->address), *held = region_of(v, slot->reference);
    if (wrong || !v->has_cards || !holder || !held || held->generation >= holder->generation) return true;
    bool dirty, known = gc_dac_card(v->graph.target->dac, slot->address, &dirty);
    v->cards += known;
    v->logged += !known;
    if (known && !dirty)
        fault(
            v, name_slot(v, slot), slot->reference,
            v->has_running
                ? "which is younger, but the slot's card is clean: a missing write barrier, unless the thread that is "
                  "at no safe point has just stored it"
                : "which is younger, but the slot's card is clean: a missing write barrier");
    return true;
}

static bool check_reference(void *context, uint64_t reference, bool guessed) {
    verifier *v = context;
    const gc_dac_region *held = region_of(v, reference);
    v->references++;
    if (guessed) return true;
    bool younger = held && held->generation < v->object->generation && v->has_cards;
    v->suspicious |= younger || reference_fault(v, reference) != NULL;
    return true;
}

static bool check_object(void *context, const gc_dac_object *object) {
    verifier *v = context;
    gc_dac *dac = v->graph.target->dac;
    char holder[64];
    if (object->flags & GC_DAC_UNFINISHED) return true;
    if (!object->type) {
        snprintf(holder, sizeof holder, "the object %s", hex(object->address));
        fault(v, holder, 0,
              "has a header that leads to no type: it was overwritten, perhaps by a store beyond the end of the object "
              "before it");
        return true;
    }
    v->object = object;
    v->suspicious = false;
    gc_dac_references(dac, object, check_reference, v);
    if (v->suspicious) gc_dac_slots(dac, object, check_slot, v);
    return true;
}

static bool check_root(void *context, const gc_dac_root *root) {
    verifier *v = context;
    char holder[512];
    if (!root->certain || root->interior || root->value) return true;
    const char *wrong = reference_fault(v, root->reference);
    snprintf(holder, sizeof holder, "the root at %s%s%s%s%s", hex(root->slot), *root->variable ? ", variable " : "",
             clean(root->variable), *root->function ? " of " : "", clean(root->function));
    if (wrong) fault(v, holder, root->reference, wrong);
    return true;
}

static bool check_handle(void *context, const gc_dac_handle *handle) {
    verifier *v = context;
    char holder[128];
    const char *wrong = handle->object ? reference_fault(v, handle->object) : NULL;
    snprintf(holder, sizeof holder, "the %s handle %s", clean(handle->kind_name), hex(handle->handle));
    if (wrong) fault(v, holder, handle->object, wrong);
    return true;
}

static bool note_running(void *context, const gc_dac_thread *thread) {
    *(bool *)context |= thread->running || thread->unbound;
    return true;
}

void command_verify(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    verifier v = {.options = options, .has_cards = !heap->non_generational && !heap_is_collecting(heap)};
    if (heap_is_collecting(heap)) note("cards are not checked: a collection is changing them");
    graph_objects(&v.graph, target, heap);
    target_check(target, gc_dac_regions(target->dac, heap, add_region, &v));
    if (v.regions_count) qsort(v.regions, v.regions_count, sizeof *v.regions, by_base);
    gc_dac_threads(target->dac, heap, note_running, &v.has_running);
    json_begin("faults", '[');
    target_check(target, gc_dac_objects(target->dac, heap, check_object, &v));
    target_check(target, gc_dac_roots(target->dac, heap, check_root, &v));
    target_check(target, gc_dac_handles(target->dac, heap, check_handle, &v));
    json_end();
    if (v.logged)
        note("%s not checked: the collector has stores logged one by one now, and their cards do not have them",
             counted(v.logged, "slot of an old object is", "slots of old objects are"));
    json_number("objects", v.graph.objects.objects);
    json_number("references", v.references);
    json_number("cards", v.cards);
    json_number("fault_count", v.faults);
    text("%s, %s, %s to younger ones%s\n", counted(v.graph.objects.objects, "object", "objects"),
         counted(v.references, "reference", "references"),
         counted(v.cards, "slot of an old object that refers", "slots of old objects that refer"),
         v.faults ? "" : ": no fault");
    if (v.faults)
        text("%s%s\n", counted(v.faults, "fault", "faults"), v.faults > options->limit ? "; --limit N shows more" : "");
    if (v.faults) output_status = 1;
    free(v.regions);
    graph_free(&v.graph);
}
