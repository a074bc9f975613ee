/* Allocation: sizes, alignment, zeroed memory, contents that survive, lengths that overflow. */
#include "../fixture.h"

#include <sys/mman.h>

#define OBJECTS 600

static bool all(const unsigned char *at, size_t count, unsigned char expected) {
    for (size_t i = 0; i < count; i++)
        if (at[i] != expected) return false;
    return true;
}

/* Sizes around every boundary that the allocator may have. */
static size_t length_of(size_t i) {
    static const size_t edges[] = {0,    8,     16,    128,   256,   512,   4096, 32768, 65536,
                                   GC_LARGE_BYTES, GC_LARGE_BYTES - 16, GC_REGION_BYTES, GC_REGION_BYTES / 2};
    size_t count = sizeof edges / sizeof *edges, edge = edges[i % count];
    size_t offset = i / count % 9;
    return offset < 5 ? edge + offset : edge > 9 - offset ? edge - (9 - offset) : edge;
}

static void sizes(void) {
    vector *table = new_vector(OBJECTS);
    GC_ROOTS(gc, table);
    bool aligned = true, zeroed = true, sized = true, kept = true;
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t length = length_of(i);
        bytes *object = new_bytes(length);
        if (!object) break;
        aligned &= (uintptr_t)object % 8 == 0;
        zeroed &= all(object->items, length, 0);
        sized &= object->header.length == length && gc_object_bytes(object) == gc__align(sizeof(bytes) + length);
        memset(object->items, (int)(i % 255) + 1, length);
        gc_store(gc, &table->items[i], object);
        if (i % 4 == 3) gc_store(gc, &table->items[i - 2], NULL);
        if (i % 97 == 0) gc_collect(heap, (int)(i % 3), GC_COLLECT_DEFAULT);
    }
    ok(aligned, "objects are 8-byte aligned");
    ok(zeroed, "memory is zeroed, also when it was used before");
    ok(sized, "gc_object_bytes");
    for (int round = 0; round < 3; round++) {
        if (round == 1) full();
        if (round == 2) compact();
        for (size_t i = 0; i < OBJECTS; i++) {
            bytes *object = table->items[i];
            if (i % 4 == 1 && i + 2 < OBJECTS) kept &= object == NULL;
            else kept &= object && object->header.length == length_of(i) && all(object->items, object->header.length, (unsigned char)(i % 255 + 1));
        }
        ok(kept, "contents survive, round %d", round);
    }
}

static void zeroed_again(void) {
    bool zeroed = true;
    for (int round = 0; round < 30; round++) {
        vector *keep = new_vector(64);
        GC_ROOTS(gc, keep);
        for (int i = 0; i < 4000; i++) {
            size_t length = random_bits() % 700;
            bytes *object = new_bytes(length);
            zeroed &= all(object->items, length, 0);
            memset(object->items, 0xFF, length);
            if (i % 32 == 0) gc_store(gc, &keep->items[i / 32 % 64], object);
            node *small = new_node(0);
            zeroed &= !small->left && !small->right;
            small->left = small->right = small, small->value = ~(uint64_t)0;
        }
        gc_collect(heap, round % 3, round % 5 == 4 ? GC_COLLECT_COMPACTING : GC_COLLECT_DEFAULT);
    }
    ok(zeroed, "memory that dead objects left behind is zeroed");
}

static void raw(void) {
    bytes *keep = NULL;
    GC_ROOTS(gc, keep);
    bool kept = true;
    for (int i = 0; i < 20000; i++) {
        bytes *object = gc_new_with(gc, &bytes_type, (size_t)i % 1000, GC_NEW_RAW);
        kept &= object && object->header.length == (size_t)i % 1000 && object->header.header.type == &bytes_type;
        memset(object->items, i & 0xFF, object->header.length);
        if (i % 100 == 0) keep = object;
        if (i % 100 == 99) kept &= all(keep->items, keep->header.length, (unsigned char)((i - 99) & 0xFF));
        if (i % 1000 == 0) new_node(1), gc_collect(heap, i / 1000 % 3, 0);
    }
    ok(kept, "raw arrays have header and length, and keep what is written");
    bytes *large = gc_new_with(gc, &bytes_type, 3 * GC_REGION_BYTES, GC_NEW_RAW);
    is(large->header.length, 3 * GC_REGION_BYTES, "a large raw array");
}

static void overflow(void) {
    static const size_t lengths[] = {SIZE_MAX,           SIZE_MAX - 7,           SIZE_MAX / 2,           SIZE_MAX / 8,
                                     SIZE_MAX / 8 + 1,   SIZE_MAX / 8 - 1,       ((size_t)1 << 61) - 2,  (size_t)1 << 61,
                                     (size_t)1 << 60,    (size_t)1 << 50,        PTRDIFF_MAX,            (size_t)PTRDIFF_MAX + 1};
    node *keep = new_node(5);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ok(!new_vector(lengths[i]), "%zu references do not fit", lengths[i]);
        is(gc_last_result(), GC_ERROR_TOO_LARGE, "%zu: GC_ERROR_TOO_LARGE", lengths[i]);
        ok(gc_last_message() && gc_last_message()[0], "%zu: a message", lengths[i]);
        ok(!new_bytes(lengths[i]), "%zu bytes do not fit", lengths[i]);
        ok(!gc_new_with(gc, &bytes_type, lengths[i], GC_NEW_RAW), "%zu raw bytes do not fit", lengths[i]);
        ok(!gc_allocate(gc, lengths[i]), "%zu: gc_allocate", lengths[i]);
    }
    is(keep->value, 5, "nothing was lost");
    is(stats().external_bytes, 0, "nothing was charged");
}

/* Memory that the system does not take back, since it is locked, is zeroed before it is handed out again. */
static void locked(void) {
    size_t wrong = 0, length = 3 * GC_REGION_BYTES;
    for (int round = 0; round < 2; round++) {
        begin(NULL);
        bytes *b = gc_new_array(gc, &bytes_type, length);
        for (size_t i = 0; i < length; i += 64) wrong += b->items[i] != 0;
        memset(b->items, 0xA5, length);
        if (round == 0 && mlock(b, length) != 0) {
            printf("ok %d - locked memory # skip mlock is not allowed\n", ++tap_count);
            return end();
        }
        if (round == 1) munlock(b, length);
        end(); /* gives all regions back */
    }
    is(wrong, 0, "memory that was locked is zero");
}

static void empty(void) {
    vector *none = new_vector(0);
    bytes *nothing = NULL;
    GC_ROOTS(gc, none, nothing);
    nothing = gc_new_with(gc, &bytes_type, 0, GC_NEW_RAW);
    node *after = new_node(9);
    GC_ROOTS(gc, after);
    compact();
    is(none->header.length, 0, "an array of no references");
    is(nothing->header.length, 0, "an array of no bytes");
    is(gc_object_bytes(none), 16, "an empty array takes the least size");
    is(after->value, 9, "the object after an empty array");
}

/* Arrays that grow where they are, among others, of all ages and sizes. */
static void grown(void) {
    enum { COUNT = 200, ROUNDS = 30 };
    int wrong = 0, in_place = 0;
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < COUNT; k++) {
            size_t i = random_bits() % COUNT, length = random_bits() % 8 ? random_bits() % 90 : random_bits() % (GC_REGION_BYTES / 2);
            bytes *b = keep->items[i];
            if (b && random_bits() % 4) {
                size_t before = b->header.length, more = before + length / 2;
                wrong += gc_array_grow(gc, b, before ? before - 1 : 0) != !before;
                bool done = gc_array_grow(gc, b, more);
                in_place += done && gc__align(sizeof(bytes) + more) > gc__align(sizeof(bytes) + before);
                wrong += b->header.length != (done ? more : before);
                for (size_t j = 0; j < b->header.length; j++) wrong += b->items[j] != (j < before ? (unsigned char)(i + j) : 0);
                for (size_t j = before; j < b->header.length; j++) b->items[j] = (unsigned char)(i + j);
            } else {
                b = i % 3 == 0 ? gc_new_with(gc, &bytes_type, length, GC_NEW_FIXED) : i % 3 == 1 ? gc_new_with(gc, &bytes_type, length, GC_NEW_RAW) : new_bytes(length);
                for (size_t j = 0; j < length; j++) b->items[j] = (unsigned char)(i + j);
                gc_store(gc, &keep->items[i], b);
            }
            if (random_bits() % 40 == 0) gc_store(gc, &keep->items[random_bits() % COUNT], NULL);
        }
        gc_collect(heap, (int)(round % 3), round % 4 ? 0 : GC_COLLECT_COMPACTING);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const bytes *b = keep->items[i];
        for (size_t j = 0; b && j < b->header.length; j++) wrong += b->items[j] != (unsigned char)(i + j);
    }
    is(wrong, 0, "arrays grow in place, by zeros");
    ok(in_place > 100, "%d times", in_place);
    wrong = 0;
    for (size_t i = 0; i < COUNT; i++)
        if (keep->items[i]) wrong += gc_array_grow(gc, keep->items[i], SIZE_MAX) || gc_array_grow(gc, keep->items[i], (size_t)1 << 50);
    is(wrong, 0, "but not beyond all limits");
}

/* What finds objects by address has looked at the array before it grew. */
static void grown_after_a_look(void) {
    bytes *b = new_bytes(100);
    node *after = NULL;
    GC_ROOTS(gc, b, after);
    is((uintptr_t)gc_heap_object_at(heap, &b->items[50]), (uintptr_t)b, "an array is found");
    ok(gc_array_grow(gc, b, 300), "it grows");
    memset(b->items, 0x5A, 300);
    after = new_node(3);
    is((uintptr_t)gc_heap_object_at(heap, &b->items[250]), (uintptr_t)b, "and is found by an address in what it has grown by");
    is((uintptr_t)gc_heap_object_at(heap, &after->value), (uintptr_t)after, "as is the object behind it");
    gc_heap_verify(heap);
}

int main(void) {
    run(grown, (gc_options){0});
    run(grown, (gc_options){.non_moving = true});
    run(grown, (gc_options){.non_generational = true});
    run(grown, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 40});
    run(grown, (gc_options){.heap_bytes_max = 200 * GC_REGION_BYTES});
    run(sizes, (gc_options){0});
    run(sizes, (gc_options){.non_moving = true});
    run(sizes, (gc_options){.nursery_bytes = GC_REGION_BYTES});
    run(sizes, (gc_options){.test.scarce_memory = true, .non_generational = true});
    run(zeroed_again, (gc_options){0});
    run(zeroed_again, (gc_options){.non_moving = true});
    run(raw, (gc_options){0});
    run(overflow, (gc_options){0});
    run(overflow, (gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES});
    run(empty, (gc_options){0});
    run(grown_after_a_look, (gc_options){0});
    locked();
    return done();
}
