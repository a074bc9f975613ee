/* A profiler for .NET (ICorProfilerCallback, a COM interface by hand) that checks what it is told of collections: each object
   that is there after a full one lies where a survivor went. At the end it says what it was told. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t result;
typedef struct interface {
    void **slots;
} interface;

enum { MONITOR_COLLECTIONS = 0x80 };
enum { /* of ICorProfilerInfo5 */ SET_EVENT_MASK = 16, GENERATION_BOUNDS = 54 };
enum { /* of ICorProfilerCallback5 */
    INITIALIZE = 3, ALLOCATED = 51, REFERENCES = 52, STARTED = 73, FINISHED = 75, FINALIZABLE = 76, ROOTS = 77, MOVED = 87,
    SURVIVED = 88, WEAK_ELEMENTS = 89, SLOTS = 160
};

static interface *info;
static long started, finished, full, allocated, objects, outside, moved, finalizable, handles, stacks, pairs, most_bounds;
static int generation;

typedef struct range {
    uintptr_t start, end;
} range;
static range ranges[1 << 20]; /* of survivors of the collection that runs */
static size_t range_count;

static void range_add(uintptr_t start, size_t bytes) {
    if (range_count < sizeof ranges / sizeof *ranges) ranges[range_count++] = (range){start, start + bytes};
}
static int range_order(const void *a, const void *b) {
    uintptr_t first = ((const range *)a)->start, second = ((const range *)b)->start;
    return (first > second) - (first < second);
}
static int range_find(const void *address, const void *in) {
    const range *one = in;
    return *(const uintptr_t *)address < one->start ? -1 : *(const uintptr_t *)address >= one->end;
}

typedef struct generation_bounds {
    int32_t generation;
    uintptr_t start, bytes, reserved;
} generation_bounds;

static result on_started(interface *self, int32_t count, const int32_t *collected, int32_t reason) {
    static generation_bounds bounds[4096];
    uint32_t filled = 0;
    (void)self, (void)reason;
    ((result(*)(interface *, uint32_t, uint32_t *, generation_bounds *))info->slots[GENERATION_BOUNDS])
    (info, 4096, &filled, bounds);
    if (filled > most_bounds) most_bounds = filled;
    started++;
    generation = collected[2] && count > 2 ? 2 : collected[1] ? 1 : 0;
    full += generation == 2;
    range_count = 0;
    return 0;
}
static result on_finished(interface *self) { return (void)self, finished++, 0; }

static result on_moved(interface *self, uint32_t count, const uintptr_t *from, const uintptr_t *to, const size_t *bytes) {
    (void)self;
    for (uint32_t i = 0; i < count; i++) range_add(to[i], bytes[i]), moved += from[i] != to[i];
    return 0;
}
static result on_survived(interface *self, uint32_t count, const uintptr_t *start, const size_t *bytes) {
    (void)self;
    for (uint32_t i = 0; i < count; i++) range_add(start[i], bytes[i]);
    return 0;
}

static result on_references(interface *self, uintptr_t object) {
    static long sorted_in;
    (void)self, objects += generation == 2;
    if (sorted_in != started) qsort(ranges, range_count, sizeof *ranges, range_order);
    sorted_in = started;
    outside += generation == 2 && !bsearch(&object, ranges, range_count, sizeof *ranges, range_find);
    return 0;
}

static result on_roots(interface *self, uint32_t count, const uintptr_t *roots, const int32_t *kinds) {
    (void)self, (void)roots;
    for (uint32_t i = 0; i < count; i++) kinds[i] == 1 ? stacks++ : kinds[i] == 3 ? handles++ : 0;
    return 0;
}
static result on_allocated(interface *self, uint32_t count, void *const *types, const uint32_t *counts) {
    (void)self, (void)types;
    for (uint32_t i = 0; i < count; i++) allocated += counts[i];
    return 0;
}
static result on_finalizable(interface *self) { return (void)self, finalizable++, 0; }
static result on_pairs(interface *self, uint32_t count) { return (void)self, pairs += count, 0; }

static result initialize(interface *self, interface *runtime) {
    static const uint8_t info5[16] = {0x28, 0x29, 0x60, 0x07, 0x38, 0xCE, 0x83, 0x4B,
                                      0x81, 0xE7, 0x74, 0xAD, 0xAF, 0x78, 0x12, 0x14};
    (void)self;
    result got = ((result(*)(interface *, const void *, interface **))runtime->slots[0])(runtime, info5, &info);
    return got ? got : ((result(*)(interface *, uint32_t))info->slots[SET_EVENT_MASK])(info, MONITOR_COLLECTIONS);
}

__attribute__((destructor)) static void tell(void) {
    if (!info) return;
    fprintf(stderr, "profiler: unfinished %ld, full %ld, outside %ld of %ld, ", started - finished, full, outside, objects);
    fprintf(stderr, "moved %ld, allocated %ld, finalizable %ld, ", moved, allocated, finalizable);
    fprintf(stderr, "handles %ld, stacks %ld, pairs %ld, bounds %ld\n", handles, stacks, pairs, most_bounds);
}

static result nothing(void) { return 0; }
static result itself(interface *self, const void *id, interface **out) { return (void)id, *out = self, 0; }
static void *slots[SLOTS], *factory_slots[5];
static interface profiler = {slots}, factory = {factory_slots};
static result create(interface *self, void *outer, const void *id, interface **out) {
    return (void)self, (void)outer, (void)id, *out = &profiler, 0;
}

result DllGetClassObject(const void *class, const void *id, interface **out);
result DllGetClassObject(const void *class, const void *id, interface **out) {
    (void)class, (void)id;
    for (int i = 0; i < SLOTS; i++) slots[i] = nothing;
    for (int i = 0; i < 5; i++) factory_slots[i] = nothing;
    slots[0] = factory_slots[0] = itself;
    factory_slots[3] = create;
    slots[INITIALIZE] = initialize, slots[STARTED] = on_started, slots[FINISHED] = on_finished, slots[MOVED] = on_moved;
    slots[SURVIVED] = on_survived, slots[REFERENCES] = on_references, slots[ROOTS] = on_roots, slots[ALLOCATED] = on_allocated;
    slots[FINALIZABLE] = on_finalizable, slots[WEAK_ELEMENTS] = on_pairs;
    *out = &factory;
    return 0;
}
