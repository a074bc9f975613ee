/* The write barrier: all destinations x all referents x card states, against what its definition says; then on a heap. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <sys/mman.h>

/* The barrier alone, with tables of the test's own: address space is divided into regions of a chosen age. */
static gc_barrier_tables tables;
static uint8_t *rank_base, *card_base;
static char *space; /* 8 regions: free, age 0, 1, 2, 3 (being marked), free.. */
enum { REGIONS = 8, FREE = 0, GEN0 = 1, GEN1 = 2, GEN2 = 3, MARKING = 4 };

static void *reserve(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        printf("1..0 # skip no address space for the tables\n");
        exit(0);
    }
    return at;
}

static size_t card_bytes(void) { return (REGIONS * GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT) + 1; }
#if GC_BUNDLE_SHIFT
static uint8_t *bundle_base;
#define BUNDLE(address) ((uintptr_t)(address) >> GC_BUNDLE_SHIFT)
static size_t bundle_bytes(void) { return (REGIONS * GC_REGION_BYTES >> GC_BUNDLE_SHIFT) + 1; }
#endif

static void set_up(void) {
    rank_base = reserve(2 * GC_RANK_ENTRIES);
    space = reserve((REGIONS + 1) * GC_REGION_BYTES);
    space = (char *)(((uintptr_t)space + GC_REGION_BYTES - 1) & ~(GC_REGION_BYTES - 1));
    tables.age = rank_base + GC_RANK_ENTRIES;
    card_base = reserve(card_bytes());
    tables.cards = (uint8_t *)((uintptr_t)card_base - ((uintptr_t)space >> GC_CARD_BYTE_SHIFT));
#if GC_BUNDLE_SHIFT
    bundle_base = reserve(bundle_bytes());
    tables.bundles = (uint8_t *)((uintptr_t)bundle_base - BUNDLE(space));
#endif
    for (int i = GEN0; i <= MARKING; i++) {
        size_t entry = ((uintptr_t)space >> GC_REGION_SHIFT) + (size_t)i;
        tables.age[entry] = (uint8_t)(i - GEN0);
        rank_base[entry] = (uint8_t)(i == MARKING ? 0 : 2 - (i - GEN0));
    }
}

static size_t nonzero(const uint8_t *at, size_t count) {
    size_t result = 0;
    if (at)
        for (size_t i = 0; i < count; i++) result += at[i] != 0;
    return result;
}

static bool is_dirty(const void *slot) {
    uint8_t card = tables.cards[(uintptr_t)slot >> GC_CARD_BYTE_SHIFT];
    return GC_CARD_BITS ? card >> ((uintptr_t)slot >> GC_CARD_SHIFT & 7) & 1 : card == GC_CARD_DIRTY;
}

static void clean(const void *slot) {
    memset(card_base + (((uintptr_t)slot - (uintptr_t)space) >> GC_CARD_BYTE_SHIFT) / 4096 * 4096, 0, 4096);
#if GC_BUNDLE_SHIFT
    tables.bundles[BUNDLE(slot)] = 0;
#endif
}

static void matrix(void) {
    static void *static_slot;
    void *stack_slot = NULL, **malloc_slot = malloc(sizeof *malloc_slot);
    static const size_t within[] = {0, 8, 64, GC_CARD_BYTES - 8, GC_CARD_BYTES, 7 * GC_CARD_BYTES + 16, GC_REGION_BYTES - 8};
    enum { WITHIN = sizeof within / sizeof *within, SLOTS = 5 * WITHIN + 3 };
    void **slots[SLOTS];
    int slot_age[SLOTS], count = 0, wrong_value = 0, wrong_card = 0, wrong_extent = 0, cases = 0;
    for (int region = FREE; region <= MARKING; region++)
        for (size_t i = 0; i < WITHIN; i++) {
            slots[count] = (void **)(space + (size_t)region * GC_REGION_BYTES + within[i]);
            slot_age[count++] = region == FREE ? 0 : region - GEN0;
        }
    slots[count] = &static_slot, slot_age[count++] = 0;
    slots[count] = &stack_slot, slot_age[count++] = 0;
    slots[count] = malloc_slot, slot_age[count++] = 0;

    struct {
        uintptr_t ref;
        int youth;
    } refs[] = {{0, 0},
                {1, 0},
                {(uintptr_t)&static_slot, 0},
                {(uintptr_t)&stack_slot, 0},
                {(uintptr_t)malloc_slot, 0},
                {((uintptr_t)1 << GC_ADDRESS_BITS) - 1, 0}, /* the last user address */
                {(uintptr_t)space, 0},
                {(uintptr_t)space + GEN0 * GC_REGION_BYTES, 2},
                {(uintptr_t)space + GEN1 * GC_REGION_BYTES - 8, 2},
                {(uintptr_t)space + GEN0 * GC_REGION_BYTES + 12345, 2}, /* interior */
                {(uintptr_t)space + GEN1 * GC_REGION_BYTES, 1},
                {(uintptr_t)space + GEN2 * GC_REGION_BYTES - 1, 1},
                {(uintptr_t)space + GEN2 * GC_REGION_BYTES, 0},
                {(uintptr_t)space + MARKING * GC_REGION_BYTES + 8, 0}};

    for (int s = 0; s < count; s++)
        for (size_t r = 0; r < sizeof refs / sizeof *refs; r++)
            for (int dirty = 0; dirty < 2; dirty++) {
                bool in_space = s < 5 * (int)WITHIN, expected = slot_age[s] + refs[r].youth > 2;
                if (dirty && (!in_space || slot_age[s] == 0)) continue;
                if (dirty) gc__barrier_dirty_card(&tables, slots[s]);
                void *before = in_space && (uintptr_t)slots[s] % GC_REGION_BYTES ? slots[s][-1] : NULL;
                *slots[s] = (void *)~(uintptr_t)0;
                gc_barrier_store_rank_sum(&tables, slots[s], (void *)refs[r].ref);
                cases++;
                wrong_value += *slots[s] != (void *)refs[r].ref;
                wrong_value += in_space && (uintptr_t)slots[s] % GC_REGION_BYTES && slots[s][-1] != before;
                size_t cards = nonzero(card_base, card_bytes()), bundles = 0;
                wrong_card += in_space && is_dirty(slots[s]) != (expected || dirty);
#if GC_BUNDLE_SHIFT
                bundles = nonzero(bundle_base, bundle_bytes());
                wrong_card += in_space && (tables.bundles[BUNDLE(slots[s])] == GC_CARD_DIRTY) != (expected || dirty);
#else
                bundles = cards;
#endif
                wrong_extent += cards != (size_t)(expected || dirty) || bundles != (size_t)(expected || dirty);
                if (in_space) clean(slots[s]);
            }
    diag("%d cases", cases);
    is(wrong_value, 0, "the slot, and it alone, gets the reference");
    is(wrong_card, 0, "card and bundle are dirty exactly if age + youth > 2, or before");
    is(wrong_extent, 0, "no other card or bundle is written");
    free(malloc_slot);
}

/* On a heap: every entry point, every pair of generations. */

static bool card_is_dirty(const void *slot) {
    uint8_t card = gc__tables.cards[(uintptr_t)slot >> GC_CARD_BYTE_SHIFT];
    return GC_CARD_BITS ? card >> ((uintptr_t)slot >> GC_CARD_SHIFT & 7) & 1 : card == GC_CARD_DIRTY;
}

static void store_one(void **slot, void *ref) { gc_store(gc, slot, ref); }
static void store_value(void **slot, void *ref) { gc_store_value(gc, slot, (uintptr_t)ref); }
static void store_range(void **slot, void *ref) {
    gc_stores_begin(gc, slot, 1, 0);
    *slot = ref;
    gc_stores_end(gc, slot, 1, 0);
}
static void store_range_values(void **slot, void *ref) {
    gc_stores_begin(gc, slot, 1, GC_SLOT_VALUE);
    *slot = ref;
    gc_stores_end(gc, slot, 1, GC_SLOT_VALUE);
}
static void copy_refs(void **slot, void *ref) { gc_copy_refs(gc, slot, &ref, 1); }
static void copy_values(void **slot, void *ref) { gc_copy_values(gc, slot, &ref, 1); }

static const struct {
    const char *name;
    void (*store)(void **slot, void *ref);
} stores[] = {{"gc_store", store_one},           {"gc_store_value", store_value}, {"gc_stores_end", store_range},
              {"gc_stores_end of values", store_range_values}, {"gc_copy_refs", copy_refs},     {"gc_copy_values", copy_values}};

static node static_node = {{&node_type}, NULL, NULL, 1};

static void entry_points(void) {
    enum { OWNERS = 5 };
    static const char *const names[] = {"gen0", "gen1", "gen2", "a large array", "a large array of gen2", "outside", "null"};
    for (size_t s = 0; s < sizeof stores / sizeof *stores; s++) {
        void *owners[OWNERS] = {NULL}, *refs[7] = {NULL};
        GC_ROOTS_ARRAY(gc, owners, OWNERS, 0);
        GC_ROOTS_ARRAY(gc, refs, 7, 0);
        size_t large = GC_LARGE_BYTES / 8 + 1000;
        owners[2] = new_vector(20), refs[2] = new_node(2), owners[4] = new_vector(large), refs[4] = new_vector(large);
        age(&owners[2], 2);
        owners[1] = new_vector(20), refs[1] = new_node(1);
        age(&owners[1], 1);
        owners[0] = new_vector(20), refs[0] = new_node(0), owners[3] = new_vector(large), refs[3] = new_vector(large);
        refs[5] = &static_node;
        bool expected_ages = gc_object_generation(owners[4]) == 2 && gc_object_generation(owners[3]) == 0 &&
                             gc_object_generation(refs[1]) == 1;
        ok(expected_ages, "%s: generations are as planned", stores[s].name);
        int missed = 0, needless = 0, wrong = 0;
        for (int o = 0; o < OWNERS; o++)
            for (int r = 0; r < 7; r++) {
                vector *owner = owners[o];
                void **slot = &owner->items[o >= 3 ? large - 5 - (size_t)r * 2000 % 900 : (size_t)r];
                int owner_age = gc_object_generation(owner);
                bool expected = refs[r] && gc_object_generation(refs[r]) < owner_age;
                bool before = card_is_dirty(slot);
                stores[s].store(slot, refs[r]);
                wrong += *slot != refs[r];
                if (expected && !card_is_dirty(slot)) missed++, diag("%s: %s into %s", stores[s].name, names[r], names[o]);
                needless += !expected && !before && card_is_dirty(slot);
            }
        is(wrong, 0, "%s: the slot has the reference", stores[s].name);
        is(missed, 0, "%s: old to young has its card", stores[s].name);
        is(needless, 0, "%s: no other store has one", stores[s].name);
        gc_collect(heap, 0, 0);
        gc_collect(heap, 1, 0);
        is(((node *)((vector *)owners[2])->items[0])->value, 0, "%s: the referent lives", stores[s].name);
        void *stack_slot = NULL;
        stores[s].store(&stack_slot, refs[0]);
        ok(stack_slot == refs[0], "%s: a slot on the stack", stores[s].name);
    }
}

/* Whatever a range's place and overlap, old slots must keep their young referents. */
static void ranges(void) {
    enum { LENGTH = 3000 };
    vector *a = new_vector(LENGTH), *b = new_vector(LENGTH);
    void **model = calloc(LENGTH, sizeof *model);
    GC_ROOTS(gc, a, b);
    age(&a, 2);
    int wrong = 0;
    for (int round = 0; round < 60; round++) {
        size_t from = random_bits() % LENGTH, to = random_bits() % LENGTH, count = random_bits() % LENGTH;
        if (count > LENGTH - (from > to ? from : to)) count = LENGTH - (from > to ? from : to);
        for (size_t i = 0; i < LENGTH; i++) {
            node *fresh = i % 7 ? new_node(i) : NULL;
            gc_store(gc, &b->items[i], fresh);
        }
        if (round % 3 == 0) gc_copy_refs(gc, &a->items[to], &b->items[from], count);
        else if (round % 3 == 1) gc_copy_refs(gc, &a->items[to], &a->items[from], count);
        else {
            gc_stores_begin(gc, &a->items[to], count, 0);
            memmove(&a->items[to], &b->items[from], count * sizeof(void *));
            gc_stores_end(gc, &a->items[to], count, 0);
        }
        for (size_t i = 0; i < LENGTH; i++) model[i] = a->items[i] ? (void *)(uintptr_t)(((node *)a->items[i])->value + 1) : NULL;
        gc_collect(heap, round % 2, 0);
        for (size_t i = 0; i < LENGTH; i++)
            wrong += model[i] != (a->items[i] ? (void *)(uintptr_t)(((node *)a->items[i])->value + 1) : NULL);
    }
    is(wrong, 0, "ranges and overlapping copies keep what they refer to");
    gc_copy_refs(gc, a->items, a->items, 0);
    gc_stores_begin(gc, a->items + LENGTH, 0, 0);
    gc_stores_end(gc, a->items + LENGTH, 0, 0);
    ok(true, "ranges of nothing");
    free(model);
}

int main(void) {
    set_up();
    matrix();
    run(entry_points, (gc_options){.nursery_bytes = (size_t)1 << 30}); /* no collection by itself */
    run(ranges, (gc_options){0});
    run(ranges, (gc_options){.non_moving = true});
    run(ranges, (gc_options){.nursery_bytes = GC_REGION_BYTES});
    return done();
}
