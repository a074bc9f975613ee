/* Roots that hold values of two words: a reader goes from value to value, as the collector does. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"

typedef struct value {
    uint64_t word, is_object;
} value;
#define GC_VALUE_SLOT_IS_REF(slot) (((const value *)(slot))->is_object)
#define GC_VALUE_BYTES 16
#define GC_IMPLEMENTATION
#include "../fixture.h"
#include "dac_self.h"

enum { VALUES = 4 };
static value globals[VALUES], entries[VALUES];
static gc_value_stack values;

static void scan(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host;
    if (thread) gc_visit_stack(visitor, &values, NULL);
}

typedef struct found {
    gc_dac_heap heap;
    unsigned roots[GC_DAC_ROOT_KINDS], indices;
} found;
static bool find_heap(void *context, const gc_dac_heap *each) { return ((found *)context)->heap = *each, true; }
static bool find_root(void *context, const gc_dac_root *root) {
    found *all = context;
    all->roots[root->kind]++;
    if (root->kind == GC_DAC_ROOT_FRAME) all->indices += 1u << root->index;
    return true;
}

int main(void) {
    begin(&(gc_options){.scan_roots = scan});
    gc_roots_add(heap, globals, VALUES, GC_SLOT_VALUE);
    values.base = values.top = entries;
    values.limit = entries + VALUES;
    values.flags = GC_SLOT_VALUE;
    value local[VALUES] = {{0, 0}}, *entry = local;
    GC_ROOTS_ARRAY(gc, entry, VALUES, GC_SLOT_VALUE);
    for (int i = 0; i < VALUES; i++) {
        globals[i] = (value){(uintptr_t)new_node(1), 1};
        local[i] = (value){(uintptr_t)new_node(2), 1};
        entries[i] = (value){(uintptr_t)new_node(3), 1};
        values.top = entries + i + 1;
    }
    full();
    found all;
    memset(&all, 0, sizeof all);
    gc_dac *dac = gc_dac_open(&self);
    ok(gc_dac_heaps(dac, find_heap, &all), "a heap: %s", gc_dac_message(dac));
    ok(!gc_dac_roots(dac, &all.heap, find_root, &all), "its roots: %s", gc_dac_message(dac));
    is(all.roots[GC_DAC_ROOT_GLOBAL], VALUES, "each global value");
    is(all.roots[GC_DAC_ROOT_FRAME], VALUES, "each value of an array");
    is(all.indices, (1 << VALUES) - 1, "by its number");
    is(all.roots[GC_DAC_ROOT_SCANNED], VALUES, "each value on a stack");
    gc_dac_close(dac);
    values.top = values.base;
    return done();
}
