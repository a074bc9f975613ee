/* What only the program knows: tagged values, objects of its own model. The reader guesses, or a host's tool tells it. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"

#define GC_MODEL_BYTES(object) (*(const uint64_t *)(object) >> 8)
#define GC_MODEL_NAME(object) ((void)(object), "thing")
#define GC_MODEL_TRACE(object, visitor) ((void)(object), (void)(visitor))
#define TAG ((uint64_t)0xFFFC << 48)
#define GC_VALUE_IS_REF(word) ((word) >> 48 == 0xFFFC)
#define GC_VALUE_TO_REF(word) ((word) & ~TAG)
#define GC_VALUE_FROM_REF(ref, word) ((void)(word), (ref) | TAG)
#define GC_IMPLEMENTATION
#include "gc.h"

#include "../tap.h"
#include "dac_self.h"

static gc_heap *heap;
static gc_thread *gc;
static uint64_t global;

static void *thing(uint64_t bytes) {
    uint64_t *object = gc_allocate(gc, bytes);
    *object = bytes << 8;
    return object;
}

typedef struct found {
    gc_dac_heap heap;
    size_t objects, bytes, roots, unfinished, on_stacks;
    uint64_t reference;
} found;
static bool find_heap(void *context, const gc_dac_heap *each) { return ((found *)context)->heap = *each, true; }
static bool find_object(void *context, const gc_dac_object *object) {
    found *all = context;
    all->objects++;
    all->bytes += object->bytes;
    all->unfinished += object->flags & GC_DAC_UNFINISHED;
    return true;
}
static bool find_root(void *context, const gc_dac_root *root) {
    found *all = context;
    if (root->kind == GC_DAC_ROOT_STACK) return all->on_stacks++, true;
    all->roots++;
    all->reference = root->reference;
    return true;
}

static uint64_t bytes_of(void *context, gc_dac *dac, uint64_t address, const uint8_t *contents, size_t contents_bytes) {
    (void)context, (void)dac, (void)address;
    return contents_bytes >= 8 ? *(const uint64_t *)(const void *)contents >> 8 : 0;
}
static uint64_t decode(void *context, uint64_t value) { return (void)context, value >> 48 == 0xFFFC ? value & ~TAG : 0; }

int main(void) {
    heap = gc_heap_create(NULL);
    gc = gc_thread_attach(heap);
    gc_roots_add(heap, &global, 1, GC_SLOT_VALUE);
    for (uint64_t i = 0; i < 50; i++) global = (uintptr_t)thing(16 + 8 * i) | TAG;
    gc_dac *dac = gc_dac_open(&self);
    found all;
    memset(&all, 0, sizeof all);
    ok(gc_dac_heaps(dac, find_heap, &all), "a heap: %s", gc_dac_message(dac));
    ok(!gc_dac_objects(dac, &all.heap, find_object, &all), "its objects are not known");
    has(gc_dac_message(dac), "has an object model of its own (GC_MODEL_BYTES): only gc_dac_host.bytes can say",
        "and why");
    is(all.objects, 0, "so none is reported");
    ok(gc_dac_roots(dac, &all.heap, find_root, &all), "its roots are: %s", gc_dac_message(dac));
    is(all.reference, global & ~TAG, "a tagged value is guessed");

    const gc_dac_host host = {NULL, decode, bytes_of};
    gc_dac_set_host(dac, &host);
    ok(gc_dac_objects(dac, &all.heap, find_object, &all), "with the host's help they are known: %s",
       gc_dac_message(dac));
    is(all.objects, 50, "all of them");
    is(all.bytes, 50 * 16 + 8 * (49 * 50 / 2), "with their sizes");
    all.roots = 0;
    ok(gc_dac_roots(dac, &all.heap, find_root, &all) && all.roots == 1, "the root as the host says");
    global ^= (uint64_t)1 << 48; /* a value that is no reference to the host */
    all.roots = 0;
    gc_dac *fresh = gc_dac_open(&self);
    gc_dac_set_host(fresh, &host);
    ok(gc_dac_roots(fresh, &all.heap, find_root, &all) && all.roots == 0, "a value that is no reference is no root");
    gc_dac_close(fresh);

    /* A conservative stack that was left, with plain references and values in its words and registers. */
    static uint64_t words[8];
    gc_stack *left = gc_stack_create(heap, words + 8);
    left->conservative = true;
    left->stack_pointer = (char *)words;
    left->registers[0] = words[1] = all.reference;
    left->registers[1] = words[3] = all.reference | TAG;
    for (int i = 0; i < 2; i++) {
        fresh = gc_dac_open(&self);
        if (i) gc_dac_set_host(fresh, &host);
        all.on_stacks = 0;
        ok(gc_dac_roots(fresh, &all.heap, find_root, &all), "roots on a stack: %s", gc_dac_message(fresh));
        is(all.on_stacks, 4, "%s: plain references, and values", i ? "as the host decodes them" : "guessed");
        gc_dac_close(fresh);
    }
    gc_stack_destroy(left);

    /* Tables that are far apart, and variables at the end of a mapping, which is no multiple of what is read at a time. */
    unsigned before = reads, known = 0;
    bool dirty;
    for (uint64_t i = 0; i < 2000; i++) known += gc_dac_card(dac, all.reference + i % 2 * GC_REGION_BYTES, &dirty);
    ok(known == 2000 && reads - before < 40, "2,000 cards are looked up by %u reads of the target", reads - before);

    /* Two tables, wherever they are, are read once each. */
    static char tables[4096 << GC__DAC_BLOCK_SHIFT];
    unsigned most = 0;
    for (size_t other = 1; other < 4096; other++) {
        before = reads;
        for (unsigned i = 0; i < 8; i++)
            gc__dac_load(dac, (uintptr_t)tables + (i % 2 * other << GC__DAC_BLOCK_SHIFT), &dirty, 1);
        if (reads - before > most) most = reads - before;
    }
    ok(most > 0 && most <= 2, "two far places are read once each, not %u times in all", most);
    gc_dac_close(dac);

    uint64_t *fixed = gc_new_with(gc, NULL, 64, GC_NEW_FIXED);
    ok(!*fixed, "an object that never moves, of which the host has not written the header");
    fresh = gc_dac_open(&self);
    gc_dac_set_host(fresh, &host);
    all.objects = all.unfinished = 0;
    ok(gc_dac_objects(fresh, &all.heap, find_object, &all), "the heap is read: %s", gc_dac_message(fresh));
    ok(all.objects == 51 && all.unfinished == 1, "and it is unfinished");
    gc_dac_close(fresh);
    *fixed = 64 << 8;
    fresh = gc_dac_open(&self);
    gc_dac_set_host(fresh, &host);
    all.objects = all.unfinished = 0;
    ok(gc_dac_objects(fresh, &all.heap, find_object, &all), "the heap is read: %s", gc_dac_message(fresh));
    ok(all.objects == 51 && all.unfinished == 0, "and it is no more");
    gc_dac_close(fresh);
    fresh = gc_dac_open(&self);
    all.objects = all.unfinished = 0;
    ok(!gc_dac_objects(fresh, &all.heap, find_object, &all), "without the host's help: %s", gc_dac_message(fresh));
    ok(all.objects > 0 && all.unfinished == all.objects, "objects that marks show are no fault");
    gc_dac_close(fresh);
    global = 0;
    gc_heap_destroy(heap);
    return done();
}
