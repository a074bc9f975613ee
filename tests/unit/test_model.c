/* A host with headers of its own: no gc_type, a size and a kind in one word, as many interpreters have. */
#define _GNU_SOURCE
#include "../tap.h"

typedef struct thing {
    uint64_t header; /* size in bytes << 8 | kind << 1 */
    struct thing *fields[];
} thing;

enum { RECORD, TEXT, PAIR, OWNER }; /* all fields are references; none is; the last is; those in a buffer of its own are */

static inline size_t thing_bytes(const void *object) { return (size_t)(((const thing *)object)->header >> 8); }
static inline int thing_kind(const void *object) { return (int)(((const thing *)object)->header >> 1 & 0x7F); }

#define GC_MODEL_BYTES(object) thing_bytes(object)
#define GC_MODEL_TRACE(object, visitor) thing_trace((thing *)(object), visitor)
#define GC_MODEL_NAME(object) (thing_kind(object) == RECORD ? "record" : thing_kind(object) == TEXT ? "text" : "pair")
#ifdef MODEL_IS_SHARED
#define GC_MODEL_BYTES_AS(object, word) ((size_t)((word) >> 8))
#endif
struct gc_visitor;
static inline void thing_trace(thing *object, struct gc_visitor *visitor);

#define GC_IMPLEMENTATION
#include "gc.h"

static inline void thing_trace(thing *object, gc_visitor *visitor) {
    size_t count = thing_bytes(object) / 8 - 1;
    if (thing_kind(object) == RECORD && count) gc_visit(visitor, object->fields, count, 0);
    if (thing_kind(object) == PAIR) gc_visit(visitor, &object->fields[1], 1, 0);
    if (thing_kind(object) == OWNER && object->fields[0]) gc_visit(visitor, object->fields[0], (size_t)object->fields[1], GC_SLOT_OWNED);
}

static gc_heap *heap;
static gc_thread *gc;

static thing *make(int kind, size_t fields) {
    size_t bytes = gc__align(8 + fields * 8);
    thing *object = gc_new_with(gc, NULL, bytes, kind == TEXT ? GC_NEW_RAW : 0);
    object->header = (uint64_t)bytes << 8 | (uint64_t)kind << 1;
    return object;
}

static bool count_one(void *context, void *object, size_t bytes, int generation) {
    size_t *counts = context;
    counts[0]++, counts[1] += bytes != thing_bytes(object), counts[2] += generation != gc_object_generation(object);
    return true;
}

static void program(void) {
    enum { WIDTH = 5000 };
    thing *root = make(RECORD, WIDTH);
    GC_ROOTS(gc, root);
    size_t wrong = 0;
    for (int round = 0; round < (is_quick() ? 6 : 20); round++) {
        for (size_t i = 0; i < WIDTH; i++) {
            thing *text = make(TEXT, 1 + (i + (size_t)round) % 40);
            for (size_t k = 0; k < thing_bytes(text) / 8 - 1; k++) text->fields[k] = (thing *)(uintptr_t)(i + k);
            GC_ROOTS(gc, text);
            thing *pair = make(PAIR, 2);
            pair->fields[0] = (thing *)(uintptr_t)i;
            gc_store(gc, &pair->fields[1], text);
            if ((i + (size_t)round) % 3 == 0) gc_store(gc, &root->fields[i], pair);
        }
        gc_collect(heap, round % 3, round % 5 == 4 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < WIDTH; i++) {
            thing *pair = root->fields[i];
            if (!pair) continue;
            wrong += pair->fields[0] != (thing *)(uintptr_t)i || thing_kind(pair) != PAIR;
            thing *text = pair->fields[1];
            for (size_t k = 0; k < thing_bytes(text) / 8 - 1; k++) wrong += text->fields[k] != (thing *)(uintptr_t)(i + k);
        }
    }
    is(wrong, 0, "a program on its own headers");
    thing *large = make(RECORD, GC_REGION_BYTES / 8 * 2);
    GC_ROOTS(gc, large);
    size_t step = GC_REGION_BYTES / 8 * 2 / 200;
    for (size_t i = 0; i < 200; i++) {
        thing *text = make(TEXT, 1);
        text->fields[0] = (thing *)(uintptr_t)i;
        gc_store(gc, &large->fields[i * step], text);
        if (i % 20 == 0) gc_collect(heap, (int)(i / 20) % 3, 0);
    }
    for (size_t i = 0; i < 200; i++) wrong += large->fields[i * step]->fields[0] != (thing *)(uintptr_t)i;
    is(wrong, 0, "a large object on its own headers");
    uint64_t allocated = gc_heap_allocated(heap);
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    ok(stats.allocated_bytes <= allocated && allocated <= stats.allocated_bytes + 2 * GC_REGION_BYTES, "what was allocated, without a stop");
    gc_collect(heap, 2, 0);
    size_t counts[3] = {0};
    gc_heap_walk(heap, count_one, counts);
    ok(counts[0] > 200 && counts[1] == 0 && counts[2] == 0, "gc_heap_walk: %zu objects", counts[0]);
    is(strcmp(gc_object_type_name(root), "record"), 0, "the model's names");
    is(gc_object_bytes(root), thing_bytes(root), "the model's sizes");
    ok(gc_heap_object_at(heap, &root->fields[WIDTH - 1]) == root, "an interior pointer");
}

/* References in memory of malloc's that an object owns. */
static void owned(void) {
    enum { COUNT = 300 };
    thing **buffer = calloc(COUNT, sizeof *buffer), *owner = make(OWNER, 2);
    size_t wrong = 0;
    GC_ROOTS(gc, owner);
    owner->fields[0] = (thing *)buffer, owner->fields[1] = (thing *)(uintptr_t)COUNT;
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            thing *text = make(TEXT, 1);
            text->fields[0] = (thing *)(uintptr_t)(i + (size_t)round);
            gc_store_in(gc, owner, &buffer[i], text);
        }
        gc_collect(heap, round % 3, 0);
        for (size_t i = 0; i < COUNT; i++) wrong += buffer[i]->fields[0] != (thing *)(uintptr_t)(i + (size_t)round);
    }
    is(wrong, 0, "references in a buffer of the object's");
    owner->fields[0] = NULL;
    free(buffer);
}

/* Looking at the heap while a window lies in a hole must leave zero memory to what is allocated next. */
static void holes(void) {
    enum { COUNT = 4000 };
    thing *keep = make(RECORD, COUNT);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < COUNT; i++) {
        thing *text = make(TEXT, 8);
        if (i % 8 == 0) gc_store(gc, &keep->fields[i], text);
    }
    for (int i = 0; i < 4; i++) gc_collect(heap, 2, 0);
    size_t wrong = 0, counts[3] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        size_t bytes = gc__align(8 + (i % 5) * 8);
        thing *fresh = gc_allocate(gc, bytes);
        for (size_t k = 0; k < bytes / 8; k++) wrong += ((uint64_t *)fresh)[k] != 0;
        fresh->header = (uint64_t)bytes << 8 | TEXT << 1;
        if (i % 3 == 0) gc_heap_walk(heap, count_one, counts);
    }
    is(wrong, 0, "new objects are zero after walks");
    is(counts[1], 0, "and walks see whole objects");
}

#ifdef MODEL_IS_SHARED
/* Old pairs whose texts are exchanged while objects are marked: each text is in one place, seldom where the marker looks next. */
static void marked(void) {
    enum { WIDTH = 20000 };
    const size_t exchanges = is_quick() ? 60000 : 400000;
    thing *root = make(RECORD, WIDTH);
    GC_ROOTS(gc, root);
    for (size_t i = 0; i < WIDTH; i++) {
        thing *text = make(TEXT, 2);
        GC_ROOTS(gc, text);
        text->fields[0] = text->fields[1] = (thing *)(uintptr_t)i;
        thing *pair = make(PAIR, 2);
        gc_store(gc, &pair->fields[1], text);
        gc_store(gc, &root->fields[i], pair);
    }
    for (int i = 0; i < 3; i++) gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    uint64_t seed = 1;
    size_t cycles = 0, wrong = 0;
    bool seen[WIDTH] = {false};
    for (size_t i = 0; i < exchanges; i++) {
        if (!heap->marking && i % 1000 == 0) gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING), cycles += heap->marking;
        seed = seed * 6364136223846793005 + 1442695040888963407;
        thing *a = root->fields[(seed >> 33) % WIDTH], *b = root->fields[(seed >> 13) % WIDTH], *text = a->fields[1];
        gc_store(gc, &a->fields[1], b->fields[1]);
        gc_store(gc, &b->fields[1], text);
        if (i % 16 == 0) make(TEXT, 20);
    }
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    for (size_t i = 0; i < WIDTH; i++) {
        const thing *text = root->fields[i]->fields[1];
        size_t name = (size_t)text->fields[0];
        wrong += name >= WIDTH || text->fields[1] != text->fields[0] || seen[name];
        seen[name % WIDTH] = true;
    }
    ok(cycles > 0, "objects are marked beside the program: %zu cycles", cycles);
    is(wrong, 0, "and none is lost");
}
#endif

/* Finalizers of objects without types: each is registered by hand. */
static uint64_t order[8];
static size_t ran;
static gc_handle kept;
static void note(gc_thread *thread, void *object) {
    (void)thread;
    if (ran < 8) order[ran] = (uint64_t)(uintptr_t)((thing *)object)->fields[0];
    ran++;
}
static void keep(gc_thread *thread, void *object) {
    note(thread, object);
    gc_handle_set(kept, object);
}
static bool is_marked(const void *object) { return ((const thing *)object)->header & 1 << 7; }
static const gc_finalizer plain = {note, false, is_marked}, critical = {note, true, NULL}, keeps = {keep, false, NULL};

static void finalizers(void) {
    ran = 0;
    kept = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    const gc_finalizer *all[] = {&critical, &plain, &plain, &keeps};
    for (uintptr_t i = 0; i < 4; i++) {
        thing *text = make(TEXT, 2);
        text->fields[0] = (thing *)i;
        if (i == 2) text->header |= 1 << 7;
        is(gc_finalizer_register(gc, text, all[i]), GC_OK, "a finalizer for an object without a type");
    }
    gc_collect(heap, 2, 0);
    is(gc_finalizer_run(gc, 10), 3, "runs, unless the object is marked");
    is(order[2], 0, "critical ones last");
    thing *again = (thing *)gc_handle_get(kept);
    ok(again && again->fields[0] == (thing *)3, "resurrection");
    gc_finalizer_register(gc, again, &plain);
    gc_handle_destroy(heap, kept);
    again = make(TEXT, 2);
    again->fields[0] = (thing *)7;
    gc_finalizer_register(gc, again, &critical);
}

static void ended(void) { ok(ran == 5 && order[3] == 3 && order[4] == 7, "at the heap's end too"); }

#ifdef MODEL_IS_SHARED
#include "cycle.h"

/* A large object whose referents are evacuated at the end of a marking. */
static void evacuated(void) {
    enum { WIDTH = 100000, KEPT = 8 };
    gc_options options = {.concurrent = GC_CONCURRENT_ON, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT, .nursery_bytes = 8 << 20,
                          .test.marker_steps = 1, .test.candidates = true, .debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER};
    heap = gc_heap_create(&options), gc = gc_thread_attach(heap);
    thing *root = make(RECORD, WIDTH);
    GC_ROOTS(gc, root);
    for (size_t i = 0; i < WIDTH; i++) {
        thing *text = make(TEXT, 10);
        text->fields[0] = (thing *)(uintptr_t)i;
        gc_store(gc, &root->fields[i], text);
    }
    for (int i = 0; i < 2; i++) gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    for (size_t i = 0; i < WIDTH; i++)
        if (i % KEPT) gc_store(gc, &root->fields[i], NULL);
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    begin_marking();
    while (gc__marker_work(heap, 1000)) {}
    size_t candidates = 0, wrong = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) candidates += region->candidate;
    uint64_t moves = gc_heap_moves(heap);
    finish();
    ok(candidates > 0 && gc_heap_moves(heap) > moves, "objects in %zu regions move", candidates);
    for (size_t i = 0; i < WIDTH; i += KEPT) wrong += root->fields[i]->fields[0] != (thing *)(uintptr_t)i;
    is(wrong, 0, "and a large object refers to them");
    gc_heap_destroy(heap);
}

/* A huge object grows old in its first collection of generation 1, in which only pages that were written to are looked at. */
static void huge(void) {
    enum { WIDTH = 1 << 20 };
    gc_options options = {.concurrent = GC_CONCURRENT_ON, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT, .nursery_bytes = 64 << 20,
                          .test.marker_steps = 1, .debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER};
    heap = gc_heap_create(&options), gc = gc_thread_attach(heap);
    thing *root = make(RECORD, WIDTH);
    GC_ROOTS(gc, root);
    size_t wrong = 0;
    for (size_t i = 0; i < WIDTH; i += 60000) {
        thing *text = make(TEXT, 1);
        text->fields[0] = (thing *)(uintptr_t)i;
        gc_store(gc, &root->fields[i], text);
    }
    gc_collect(heap, 1, 0);
    is(gc_object_generation(root), 2, "a huge object is scanned once");
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    for (size_t i = 0; i < WIDTH; i += 60000) wrong += root->fields[i]->fields[0] != (thing *)(uintptr_t)i;
    is(wrong, 0, "and what it refers to lives");
    gc_heap_destroy(heap);
}

/* An object is taken out of a list behind which the marker has not come, into a record that it has scanned: only the page shows
   that, at which all workers look in the last pause. */
static void shown_by_a_page(void) {
    enum { LENGTH = 2000 };
    gc_options options = {.concurrent = GC_CONCURRENT_ON, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT, .nursery_bytes = 1 << 20,
                          .test.marker_steps = 1, .collector_threads = 3, .test.collectors = 7,
                          .debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .debug.checkmark = true};
    heap = gc_heap_create(&options), gc = gc_thread_attach(heap);
    thing *scanned = make(RECORD, 8), *list = NULL, *last = NULL, *end;
    GC_ROOTS(gc, scanned, list, last);
    list = last = make(RECORD, 2);
    for (size_t i = 1; i < LENGTH; i++) {
        thing *next = make(RECORD, 2);
        gc_store(gc, &next->fields[0], list);
        list = next;
    }
    thing *text = make(TEXT, 1);
    text->fields[0] = (thing *)4711;
    gc_store(gc, &last->fields[1], text);
    for (int i = 0; i < 2; i++) gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    end = last, last = NULL;
    begin_marking();
    gc__marker_work(heap, 100);
    ok(gc__shade_bit(heap->marker->marks, (uintptr_t)scanned) && !gc__shade_bit(heap->marker->marks, (uintptr_t)end),
       "the marker is between the record and the list's end");
    gc_store(gc, &scanned->fields[3], end->fields[1]);
    gc_store(gc, &end->fields[1], NULL);
    while (gc__marker_work(heap, 100)) {}
    heap->marker->done = true;
    ok(!gc__shade_bit(heap->marker->marks, (uintptr_t)scanned->fields[3]), "and what was moved is not marked");
    finish();
    is((uintptr_t)scanned->fields[3]->fields[0], 4711, "it lives");
    gc_heap_destroy(heap);
}
#endif

static void run_all(gc_options options) {
    options.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    options.debug.checkmark = true;
    heap = gc_heap_create(&options), gc = gc_thread_attach(heap);
    program();
    holes();
    if (!options.non_generational) owned();
#ifdef MODEL_IS_SHARED
    if (options.concurrent == GC_CONCURRENT_ON) marked();
#endif
    finalizers();
    gc_heap_destroy(heap);
    ended();
}

int main(void) {
    static const gc_options tested[] = {
        {0},
        {.non_moving = true},
        {.test.scarce_memory = true},
        {.non_generational = true},
#ifdef MODEL_IS_SHARED
        {.collector_threads = 3, .test.collectors = 77},
        {.collector_threads = 3, .test.collectors = 77, .trace_functions = GC_TRACE_FUNCTIONS_PARALLEL},
        {.collector_threads = 2, .test.collectors = 1, .trace_functions = GC_TRACE_FUNCTIONS_PARALLEL, .non_moving = true},
        {.concurrent = GC_CONCURRENT_ON, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT, .pause_goal_us = 1000},
        {.concurrent = GC_CONCURRENT_ON, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT, .collector_threads = 3, .test.collectors = 5},
#endif
    };
    for (size_t i = 0; i < sizeof tested / sizeof *tested; i++) run_all(tested[i]);
#ifdef MODEL_IS_SHARED
    evacuated();
    huge();
    is(gc_barrier_switch(GC_BARRIER_WRITE_WATCH_BYTE_REGION), GC_OK, "the barrier shows pages");
    run_all(tested[8]);
    shown_by_a_page();
#endif
    return done();
}
