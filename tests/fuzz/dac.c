/* Cores from anywhere: every walk of the reader ends, stays within the file, takes no more memory than its budget, and says what is
   wrong. Seeds: tests/fuzz/seeds/dac.c. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"

#define CHECK(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s\n", #condition), abort()))

typedef struct look {
    gc_dac *dac;
    const gc_dac_heap *heap;
    size_t size, objects, slots;
    uint64_t last;
} look;

static bool see_slot(void *context, const gc_dac_slot *slot) {
    look *all = context;
    CHECK(!slot->name || strlen(slot->name) < 1000);
    return ++all->slots < 100000;
}
static bool see_reference(void *context, uint64_t reference, bool guessed) {
    (void)guessed;
    CHECK(reference);
    return ++((look *)context)->slots < 100000;
}
static bool see_object(void *context, const gc_dac_object *object) {
    look *all = context;
    gc_dac_object same;
    uint64_t sum = 0;
    CHECK(object->address > all->last);
    all->last = object->address;
    CHECK(object->contents_bytes <= object->bytes || !object->type);
    for (uint64_t i = 0; i < object->contents_bytes; i++) sum += object->contents[i];
    CHECK(++all->objects <= all->size / 8 + sum % 2 + 64);
    if (!object->type) return true;
    CHECK(object->bytes >= 8 && object->type->name[0] != '\n');
    gc_dac_slots(all->dac, object, see_slot, all);
    gc_dac_references(all->dac, object, see_reference, all);
    if (all->objects < 20 && gc_dac_object_at(all->dac, object->address + object->bytes / 2, &same)) CHECK(same.bytes);
    return true;
}
static bool see_root(void *context, const gc_dac_root *root) {
    look *all = context;
    gc_dac_object object;
    CHECK(root->reference && root->variable && root->function && root->thread_name);
    if (++all->slots < 1000) gc_dac_object_at(all->dac, root->reference, &object);
    return true;
}
static bool see_handle(void *context, const gc_dac_handle *handle) { return (void)context, handle->kind_name != NULL; }
static bool see_finalizer(void *context, const gc_dac_finalizer *finalizer) {
    return (void)context, finalizer->type != NULL;
}
static bool see_region(void *context, const gc_dac_region *region) {
    (void)context;
    CHECK(region->base < region->end && region->top <= region->end);
    return true;
}
static bool see_number(void *context, const char *name, uint64_t value) {
    return (void)context, (void)value, name[0] != 0;
}
static bool see_frame(void *context, const gc_dac_frame *frame) {
    return (void)context, frame->names && frame->function && frame->file;
}
static bool see_thread(void *context, const gc_dac_thread *thread) {
    look *all = context;
    gc_dac_frames(all->dac, all->heap, thread, see_frame, all);
    return true;
}
static bool see_heap(void *context, const gc_dac_heap *heap) {
    look *all = context;
    all->heap = heap;
    all->last = 0;
    CHECK(heap->doubts && heap->collection_reason);
    if (!gc_dac_regions(all->dac, heap, see_region, all)) CHECK(gc_dac_message(all->dac)[0]);
    if (!gc_dac_objects(all->dac, heap, see_object, all)) CHECK(gc_dac_message(all->dac)[0]);
    if (!gc_dac_roots(all->dac, heap, see_root, all)) CHECK(gc_dac_message(all->dac)[0]);
    if (!gc_dac_handles(all->dac, heap, see_handle, all)) CHECK(gc_dac_message(all->dac)[0]);
    if (!gc_dac_finalizers(all->dac, heap, see_finalizer, all)) CHECK(gc_dac_message(all->dac)[0]);
    if (!gc_dac_threads(all->dac, heap, see_thread, all)) CHECK(gc_dac_message(all->dac)[0]);
    gc_dac_frames(all->dac, heap, NULL, see_frame, all);
    gc_dac_statistics(all->dac, heap, see_number, all);
    return true;
}
static bool see_collector(void *context, const gc_dac_collector *collector) {
    (void)context;
    CHECK(collector->version && collector->module);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gc_dac *dac = gc__dac_new(0, GC__DAC_BUDGET_BYTES);
    gc__dac_core *core = calloc(1, sizeof *core);
    if (!dac || !core) abort();
    core->file.bytes = data;
    core->file.size = size;
    const char *fault = gc__dac_core_use(dac, core, "/nonexistent");
    if (fault)
        gc__dac_reject(dac, fault);
    else
        gc__dac_opened(dac);
    uint64_t budget = ((uint64_t)64 << 20) + 2 * size;
    look all = {dac, NULL, size, 0, 0, 0};
    gc_dac_collectors(dac, see_collector, NULL);
    if (!gc_dac_heaps(dac, see_heap, &all)) CHECK(gc_dac_message(dac)[0]);
    CHECK(dac->budget_bytes <= budget);
    core->file.bytes = NULL; /* libFuzzer's, not mapped */
    gc_dac_close(dac);
    return 0;
}
