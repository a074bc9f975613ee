/* Marking beside mutators whose barriers show pages: nothing else tells which old object was stored to. The test does the
   marker's steps. Every collection is verified, and checked by a second mark. */
#define GC_BARRIER write_watch_byte_region
#define GC_IMPLEMENTATION
#include "gc.h"

#include "../fixture.h"
#include "cycle.h"

enum { LENGTH = 2000, HIDDEN = 4711 };

static vector *scanned;
static node *list, *last;

static void mark_all(void) {
    while (gc__marker_work(heap, 100)) {}
    heap->marker->done = true;
}
static bool is_marked(const void *object) { return gc__shade_bit(heap->marker->marks, (uintptr_t)object); }

/* An old list, at whose end is an object that nothing else refers to, and an old vector. */
static void scene_open(void) {
    gc_roots_add(heap, &scanned, 1, 0);
    gc_roots_add(heap, &list, 1, 0);
    gc_roots_add(heap, &last, 1, 0);
    list = last = new_node(0);
    for (uint64_t i = 1; i < LENGTH; i++) {
        node *n = new_node(i);
        gc_store(gc, &n->left, list);
        list = n;
    }
    scanned = new_vector(8);
    node *n = new_node(HIDDEN);
    gc_store(gc, &last->right, n);
    full();
    full();
}
static void scene_close(void) {
    gc_roots_remove(heap, &scanned);
    gc_roots_remove(heap, &list);
    gc_roots_remove(heap, &last);
    scanned = NULL, list = last = NULL;
}

/* The vector is scanned, and the object at the list's end is white. */
static void to_the_scene(void) {
    node *end = last;
    last = NULL;
    begin_marking();
    gc__marker_work(heap, 100);
    ok(is_marked(scanned) && !is_marked(end), "the marker is between the vector and the list's end");
    last = end;
}

static void by_gc_store(void *slot, void *ref) { gc_store(gc, slot, ref); }
static void by_copy_refs(void *slot, void *ref) { gc_copy_refs(gc, slot, &ref, 1); }
static void by_range(void *slot, void *ref) {
    gc_stores_begin(gc, slot, 1, 0);
    *(void **)slot = ref;
    gc_stores_end(gc, slot, 1, 0);
}
static void by_the_host(void *slot, void *ref) { gc_barrier_store_c(GC_BARRIER_WRITE_WATCH_BYTE_REGION, &gc__tables, slot, ref); }

static void hides(void (*store)(void *slot, void *ref)) {
    store(&scanned->items[0], last->right);
    gc_store(gc, &last->right, NULL);
}

/* An object that has gone from where the marker did not look yet to where it has looked. */
static void moved_meanwhile(void) {
    static const struct {
        const char *name;
        void (*store)(void *slot, void *ref);
    } ways[] = {{"gc_store", by_gc_store}, {"gc_copy_refs", by_copy_refs}, {"gc_stores_end", by_range}, {"the host's barrier", by_the_host}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        scene_open();
        to_the_scene();
        hides(ways[i].store);
        mark_all();
        ok(!is_marked(scanned->items[0]), "the marker does not find what is stored by %s", ways[i].name);
        gc_collect(heap, 1, GC_COLLECT_DEFAULT);
        mark_all();
        ok(is_marked(scanned->items[0]), "but after the next stop");
        finish();
        is(((node *)scanned->items[0])->value, HIDDEN, "so it survives");
        gc_store(gc, &last->right, scanned->items[0]);
        gc_store(gc, &scanned->items[0], NULL);
        to_the_scene();
        hides(ways[i].store);
        finish();
        is(((node *)scanned->items[0])->value, HIDDEN, "as it does if the next stop is the last one");
        scene_close();
    }
}

/* Pages that the host takes are the marker's, too. */
static void taken_by_the_host(void) {
    void *pages[64];
    scene_open();
    to_the_scene();
    hides(by_gc_store);
    mark_all();
    ok(gc_heap_take_written_pages(heap, pages, 64) > 0, "the host takes the pages");
    mark_all();
    ok(is_marked(scanned->items[0]), "and the marker looks at them");
    finish();
    is(((node *)scanned->items[0])->value, HIDDEN, "what was stored there survives");
    scene_close();
}

/* A page is looked at once after it was written to, and not for what was written before the cycle. */
static void pages_are_few(void) {
    vector *many = NULL;
    GC_ROOTS(gc, many);
    many = new_vector(100000);
    for (size_t i = 0; i < many->header.length; i++) gc_store(gc, &many->items[i], many);
    full();
    full();
    begin_marking();
    mark_all();
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 5; k++) gc_store(gc, &many->items[20000 + 10000 * i + k], many);
    gc_collect(heap, 1, GC_COLLECT_DEFAULT);
    is(heap->marker->pages.count, 3, "the pages that were written to since the cycle began");
    mark_all();
    gc_collect(heap, 1, GC_COLLECT_DEFAULT);
    is(heap->marker->pages.count, 0, "are looked at once");
    gc_store(gc, &many->items[0], many);
    heap->marker->done = false;
    gc_collect(heap, 1, GC_COLLECT_DEFAULT);
    is(heap->marker->pages.count, 0, "and when nothing else is left");
    mark_all();
    finish();
    void *page;
    begin_marking();
    gc_store(gc, &many->items[0], many);
    is(gc_heap_take_written_pages(heap, &page, 1) + heap->marker->pages.count, 2, "the host takes one");
    full();
    is(heap->marker->pages.count, 0, "a cycle that is given up leaves none");
}

/* There is memory for fewer pages than were written to. */
static void too_many_pages(void) {
    scene_open();
    vector *many = new_vector(40000);
    GC_ROOTS(gc, many);
    full();
    full();
    to_the_scene();
    while (!is_marked(many)) gc__marker_work(heap, 1);
    gc__marker_work(heap, many->header.length / GC__CHUNK + 50); /* all of the vector */
    ok(!is_marked(last->right), "the list's end is still white");
    for (size_t i = 0; i < many->header.length; i += 100) by_gc_store(&many->items[i], scanned);
    void **stored = &many->items[many->header.length - 1];
    by_gc_store(stored, last->right);
    gc_store(gc, &last->right, NULL);
    finish();
    is(((node *)*stored)->value, HIDDEN, "what is stored in the last of many pages survives");
    scene_close();
}

/* An entry that is stored into a weak table after the marker has looked at that. */
static void trace_table(void *object, gc_visitor *visitor) {
    vector *table = (vector *)object;
    gc_visit_weak(visitor, &(gc_weak_entries){.kind = GC_WEAK_EPHEMERONS, .keys = (void *)table->items, .values = (void *)(table->items + 1), .count = table->header.length / 2});
}
static const gc_type table_type = GC_TYPE_ARRAY_TRACED(vector, items, trace_table);

static void stored_into_tables(bool seen_before) {
    vector *table = NULL;
    node *key = NULL;
    GC_ROOTS(gc, table, key);
    scene_open();
    table = gc_new_array(gc, &table_type, 8);
    key = new_node(1);
    full();
    full();
    node *end = last;
    last = NULL;
    begin_marking();
    for (int i = 0; i < 10 && !is_marked(table); i++) gc__marker_work(heap, 20);
    while (heap->marker->table_next < 1 && heap->marker->tables.count) gc__tables_preclean(heap);
    last = end;
    ok(is_marked(table) && !is_marked(last->right), "a table has been precleaned");
    gc_store(gc, &table->items[0], key);
    gc_store(gc, &table->items[1], last->right);
    gc_store(gc, &last->right, NULL);
    mark_all();
    if (seen_before) gc_collect(heap, 1, GC_COLLECT_DEFAULT), mark_all();
    finish();
    ok(table->items[0] == key && ((node *)table->items[1])->value == HIDDEN, "what is stored there then survives%s", seen_before ? ", if a stop came between" : "");
    scene_close();
}
static void tables(void) { stored_into_tables(false), stored_into_tables(true); }

static int finalized;
static void finalize(gc_thread *thread, void *object) { finalized += thread && object; }

/* An object that only a weak handle leads to is stored after the marker was done, and the remark comes at once. */
static void stored_before_a_remark(void) {
    static const gc_finalizer finalizer = {.finalize = finalize};
    node *dead = NULL, *handled = NULL;
    GC_ROOTS(gc, dead, handled);
    scene_open();
    dead = new_node(13), handled = new_node(14);
    gc_finalizer_register(gc, dead, &finalizer);
    gc_finalizer_register(gc, handled, &finalizer);
    full();
    full();
    gc_handle handle = gc_handle_create(heap, GC_HANDLE_WEAK, handled);
    dead = handled = NULL;
    finalized = 0;
    begin_marking();
    while (gc__marker_turn(heap, 1000)) {}
    gc_collect(heap, 1, GC_COLLECT_DEFAULT); /* the marker may have more to do */
    gc_store(gc, &scanned->items[0], gc_handle_get(handle));
    remark();
    gc_finalizer_run(gc, 100);
    ok(scanned->items[0] && gc_handle_get(handle) == scanned->items[0], "the handle to an object that lives again stays");
    is(finalized, 1, "only the dead object is finalized");
    full();
    gc_handle_destroy(heap, handle);
    scene_close();
}

/* What an object that is born old owns outside the heap is shown by no barrier for its own slots. */
static node *owned;
static void trace_owner(void *object, gc_visitor *visitor) {
    (void)object;
    gc_visit(visitor, &owned, 1, GC_SLOT_OWNED);
}
static const gc_type owner_type = {.name = "owner", .bytes = sizeof(node), .trace = trace_owner};

static void owners_are_born_old(void) {
    node *owner = NULL, *young = NULL;
    GC_ROOTS(gc, owner, young);
    for (int tries = 0; tries < 6 && gc_object_generation(owner) != 2; tries++) {
        heap->born_left = 0;
        gc_collect(heap, 0, GC_COLLECT_DEFAULT);
        heap->born_left = 0;
        owned = young = new_node(HIDDEN);
        heap->born_left = GC__BUDGET_MOST;
        for (int i = 0; i < 100000 && (!owner || gc_object_generation(owner) != 2); i++) owner = gc_new(gc, &owner_type);
        young = NULL;
    }
    ok(gc_object_generation(owner) == 2 && gc_object_generation(owned) < 2, "an object that was born old owns a young one");
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    gc_collect(heap, 1, GC_COLLECT_DEFAULT);
    for (int i = 0; i < 10000; i++) new_node(7);
    is(owned->value, HIDDEN, "which survives");
}

static size_t taken_in_hooks;
static void take_pages(void *host, const gc_collection *collection) {
    void *pages[8];
    (void)host, (void)collection;
    taken_in_hooks += gc_heap_take_written_pages(heap, pages, 8);
}
static void taken_in_a_hook(void) {
    begin(&(gc_options){.collection_start = take_pages, .collection_end = take_pages, .concurrent = GC_CONCURRENT_ON});
    vector *some = new_vector(100);
    GC_ROOTS(gc, some);
    gc_store(gc, &some->items[0], some);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    ok(taken_in_hooks > 0, "a hook of a collection takes pages");
    end();
}

static void warned(void *host, const char *message) { ok(false, "no warning: %s%s", host ? "" : "", message); }

static void marked_by_a_thread(void) {
    gc_options options = {.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000, .nursery_bytes = 1 << 20, .warning = warned};
    vector *table = NULL;
    uint64_t state = 1, wrong = 0;
    begin_verified(options);
    GC_ROOTS(gc, table);
    table = new_vector(60000);
    for (size_t i = 0; i < 60 * (size_t)(is_quick() ? 5000 : 20000); i++) {
        size_t from = (state = state * UINT64_C(6364136223846793005) + 1) >> 33, at = from % table->header.length, to = (from >> 8) % table->header.length;
        node *n = new_node(at);
        gc_store(gc, &n->left, table->items[at]);
        if (table->items[at] && i % 8) gc_store(gc, &n->left, ((node *)table->items[at])->left);
        if (i % 64 == 0) gc_store(gc, &n->left, NULL);
        gc_store(gc, &table->items[at], n);
        void *other = table->items[to]; /* two objects change places */
        gc_store(gc, &table->items[to], table->items[at]);
        gc_store(gc, &table->items[at], other);
    }
    for (size_t i = 0; i < table->header.length; i++)
        for (const node *n = table->items[i]; n; n = n->left) wrong += n->value >= table->header.length;
    is(wrong, 0, "objects that change places survive");
    ok(stats().concurrent_finished > 0, "%llu cycles came to their end", (unsigned long long)stats().concurrent_finished);
    end();
}

int main(void) {
    gc_options tested = {.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .nursery_bytes = 1 << 20, .warning = warned};
    gc_options scarce = tested, workers = tested;
    scarce.test.scarce_memory = true;
    workers.collector_threads = 3, workers.test.collectors = 7;
    run(moved_meanwhile, tested), run(moved_meanwhile, scarce), run(moved_meanwhile, workers);
    run(taken_by_the_host, tested), run(taken_by_the_host, scarce);
    run(pages_are_few, tested);
    run(too_many_pages, tested), run(too_many_pages, scarce);
    gc_options tracing = tested;
    tracing.trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT;
    run(tables, tracing), run(stored_before_a_remark, tested);
    tracing.test.born_old = tracing.initializing_barriers = true;
    tracing.nursery_bytes = 32 << 20;
    run(owners_are_born_old, tracing);
    taken_in_a_hook();
    if (GC_CONCURRENT) marked_by_a_thread();
    return done();
}
