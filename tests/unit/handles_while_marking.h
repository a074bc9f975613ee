/* What the marker has settled. For test_marking. */

/* Dependent handles that are emptied, before the marker has looked at them and after: their dependents die. */
static void emptied_dependents(void) {
    gc_handle early, late;
    node *key = NULL;
    GC_ROOTS(gc, key);
    scene_open();
    key = padded(new_node(1));
    early = gc_handle_create_dependent(heap, key, new_node(2));
    late = gc_handle_create_dependent(heap, key, new_node(3));
    full();
    full();
    gc_handle_set(early, NULL);
    begin_marking();
    mark_and_settle();
    gc_handle_set(late, NULL);
    finish(); /* which verifies handles */
    gc_handle_set(early, key), gc_handle_set(late, key);
    ok(!gc_handle_dependent(early) && !gc_handle_dependent(late), "an empty handle loses its dependent");
    gc_handle_set_dependent(early, key);
    full();
    is(((node *)gc_handle_dependent(early))->value, key->value, "and may have another one");
    gc_handle_destroy(heap, early), gc_handle_destroy(heap, late);
    scene_close();
}

/* A dead pair that refers to itself, among handles that young collections look at. */
static void dead_dependents(void) {
    gc_handle pair, weak, young;
    node *key = NULL, *value = NULL;
    GC_ROOTS(gc, key, value);
    scene_open();
    key = new_node(1), value = new_node(2);
    gc_store(gc, &value->left, key);
    pair = gc_handle_create_dependent(heap, key, value);
    young = gc_handle_create_dependent(heap, key, NULL); /* in the next place */
    weak = gc_handle_create(heap, GC_HANDLE_WEAK, key);
    full(), full();
    value = NULL;
    gc_handle_set(young, key = new_node(3));
    begin_marking();
    for (int i = 0; i < 3; i++) {
        gc_handle_set(young, key = new_node(3));
        mark_and_settle();
        gc_collect(heap, i % 2, 0);
    }
    finish();
    ok(!gc_handle_get(weak) && !gc_handle_get(pair), "a pair of which nothing else knows has died");
    ok(gc_handle_get(young) == key, "and the other lives");
    gc_handle_destroy(heap, pair), gc_handle_destroy(heap, weak), gc_handle_destroy(heap, young);
    key = NULL;
    scene_close();
}

/* Finalizers that the marker has looked at: the last collection looks only at those of unmarked objects, at those of regions
   that leave, and at those that became old since. */

enum { SETTLED = 3000 };

static size_t runs_of[SETTLED + 10];
static bool says_unneeded;
static void count_run(gc_thread *thread, void *object) {
    (void)thread;
    runs_of[((node *)object)->value]++;
}
static void count_run_twice(gc_thread *thread, void *object) {
    count_run(thread, object);
    count_run(thread, object);
}
static bool is_unneeded(const void *object) { return says_unneeded && ((const node *)object)->value % 2; }
static const gc_finalizer counting = {.finalize = count_run, .is_suppressed = is_unneeded}, counting_twice = {.finalize = count_run_twice, .critical = true};

static void mark_and_settle_all(void) {
    for (int turns = 0; turns < 100000 && gc__marker_turn(heap, 100); turns++) continue;
}

static size_t runs(void) {
    size_t sum = 0;
    gc_finalizer_run(gc, SIZE_MAX);
    for (size_t i = 0; i < SETTLED + 10; i++) sum += runs_of[i];
    return sum;
}

static size_t pairs_of_old(void) { return (heap->finalizers->start[1] - heap->finalizers->empty) / 2; }

static void old_finalizers(bool remarks) {
    gc__finalizers *all = heap->finalizers;
    vector *many = NULL;
    node *one = NULL;
    bool scarce = heap->options.test.scarce_memory;
    size_t leave = 0;
    GC_ROOTS(gc, many, one);
    scene_open();
    memset(runs_of, 0, sizeof runs_of);
    says_unneeded = false;
    many = new_vector(SETTLED);
    for (size_t i = 0; i < SETTLED; i++) {
        gc_store(gc, &many->items[i], one = new_node(i));
        gc_finalizer_register(gc, one, &counting);
    }
    full();
    full();
    is(pairs_of_old(), SETTLED, "all are in the old part");
    for (size_t i = 0; i < SETTLED; i += 3) gc_store(gc, &many->items[i], NULL); /* 1000 */
    gc_handle found = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, many->items[1]), lost = gc_handle_create(heap, GC_HANDLE_WEAK, many->items[1]);
    gc_store(gc, &many->items[1], one = NULL);
    begin_marking();
    is(all->old.next, 0, "none has been looked at when a cycle begins");
    mark_and_settle_all();
    if (!scarce) is(all->old.next, 2 * SETTLED, "all are looked at beside the program");
    for (size_t i = 0; i < all->old.next; i += 2) leave += gc__is_candidate(all->registered.words[i]);
    size_t noted = all->old.unclean.count + all->asked.count;
    if (!scarce) ok(noted >= 1001 && noted <= 1001 + leave, "and those of dead objects are noted");
    if (scarce) ok(noted <= 2 * GC__SMALL_MARK_STACK, "as many are looked at as there is memory for");
    gc_store(gc, &many->items[0], gc_handle_get(found)); /* lives again: the barrier has noted it */
    ok(gc_finalizer_suppress(gc, many->items[2]), "an object is suppressed whose finalizer was settled");
    gc_finalizer_register(gc, many->items[4], &counting_twice); /* a second one, beside the marker */
    gc_finalizer_register(gc, one = new_node(SETTLED), &counting);
    gc_store(gc, &many->items[3], one);
    gc_finalizer_register(gc, new_node(SETTLED + 1), &counting);
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    gc_finalizer_register(gc, new_node(SETTLED + 2), &counting);
    bool marked = gc__is_precleaned((uintptr_t)many->items[5]); /* marked already: it dies in the next cycle */
    gc_store(gc, &many->items[5], one = NULL);
    if (remarks) mark_and_settle_all(), remark(), mark_and_settle_all();
    finish();
    size_t late = 1003 - runs();
    ok(late <= 1 && (late || !marked), "the dead are finalized");
    is(runs_of[1] + runs_of[5], 1 - late, "but not what was found again, nor what has died meanwhile");
    is(runs_of[SETTLED + 1] + runs_of[SETTLED + 2], 2, "of the young ones, too");
    ok(gc_handle_get(lost) == many->items[0] && gc_handle_get(found) == gc_handle_get(lost), "what was found again has its weak handles");
    is(all->registered.count - all->empty, 2 * (SETTLED - 1000 - 1 + late + 1), "all others are registered as before");
    mark_and_settle_all(); /* packs */
    is(all->empty, 0, "the list is packed beside the program");
    gc_store(gc, &many->items[2], NULL); /* suppressed */
    gc_store(gc, &many->items[0], NULL);
    ok(gc_finalizer_suppress(gc, many->items[4]), "of two finalizers the last one is suppressed first");
    gc_finalizer_register(gc, many->items[4], &counting_twice);
    gc_collect(heap, 1, 0);
    gc_collect(heap, 1, 0);
    ok(gc_finalizer_suppress(gc, many->items[4]), "also where both are old");
    size_t before = runs(), due = 0;
    for (size_t i = 7; i < SETTLED; i++) {
        due += many->items[i] && i % 2 == 0;
        gc_store(gc, &many->items[i], NULL);
    }
    says_unneeded = true; /* half of them */
    begin_marking();
    mark_and_settle_all();
    finish();
    is(runs(), before + due, "the others are finalized");
    is(runs_of[1] + runs_of[5], 1 - late, "but no objects that say that they need not be");
    is(runs_of[2], 0, "nor suppressed ones");
    gc_store(gc, &many->items[4], NULL);
    full();
    is(runs(), before + due + 1, "what dies later is, too");
    is(runs_of[4], 1, "by the first of two");
    is(all->registered.count, 2 * 1, "one is left");
    gc_handle_destroy(heap, found), gc_handle_destroy(heap, lost);
    scene_close();
}

static void settled_finalizers(void) { old_finalizers(false); }
static void remarked_finalizers(void) { old_finalizers(true); }

/* The list is packed in pieces, between which objects are suppressed and registered, and collections come. */
static void packed_finalizers(void) {
    gc__finalizers *all = heap->finalizers;
    vector *many = NULL;
    node *one = NULL;
    size_t gone = 0;
    GC_ROOTS(gc, many, one);
    scene_open();
    memset(runs_of, 0, sizeof runs_of);
    says_unneeded = false;
    many = new_vector(SETTLED);
    for (size_t i = 0; i < SETTLED; i++) {
        gc_store(gc, &many->items[i], one = new_node(i));
        gc_finalizer_register(gc, one, &counting);
    }
    full();
    full();
    for (size_t i = 0; i < SETTLED; i++)
        if (i % 3 == 0) gone += gc_finalizer_suppress(gc, many->items[i]);
    is(gone, SETTLED / 3, "a third of the old ones are suppressed");
    is(all->empty, 2 * gone, "their pairs are empty");
    ok(gc__finalizers_compact_some(all, 600), "some are moved");
    ok(all->packed == 800 && all->packing == 1200, "to where there is room");
    gone += gc_finalizer_suppress(gc, many->items[1]) + gc_finalizer_suppress(gc, many->items[SETTLED - 1]);
    gc_finalizer_register(gc, many->items[1], &counting_twice);
    gc_finalizer_register(gc, one = new_node(SETTLED), &counting);
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    if (GC_DEBUG >= 3) gc_collect(heap, 1, 0); /* checks it */
    while (gc__finalizers_compact_some(all, 7)) continue;
    is(all->empty, 2, "what has ended before there stays empty");
    gc__finalizers_compact(all);
    is(all->registered.count, 2 * (SETTLED - gone + 2), "all are there");
    one = NULL;
    many = NULL;
    full();
    is(runs(), SETTLED - gone + 3, "and run");
    size_t wrong = runs_of[1] != 2;
    for (size_t i = 2; i < SETTLED - 1; i++) wrong += runs_of[i] != (i % 3 != 0);
    is(wrong, 0, "each once");
    for (int i = 0; i < 50; i++) { /* an old object that is used again and again */
        if (!one) one = new_node(1), full(), full();
        gc_finalizer_register(gc, one, &counting);
        gc_collect(heap, 1, 0);
        gc_collect(heap, 1, 0);
        gc_finalizer_suppress(gc, one);
    }
    ok(all->registered.count <= 4, "what has ended takes no memory");
    scene_close();
}
