/* Dead objects with finalizers: a remark finds them, and leaves most of them for later. For test_marking. */

enum { LIVE = 10, STRONG = 1500, LONG, SHORT, LATE, TAKEN, FOUND = 5 };
static const gc_finalizer of_parent = {.finalize = check_child}, of_parent_critical = {.finalize = check_child, .critical = true};

/* Old objects with finalizers, of which only LIVE survive, and handles of some of them, and of the children of others. */
static void make_dying(vector *many, gc_handle *parents, gc_handle *children) {
    node *one = NULL;
    GC_ROOTS(gc, many, one);
    for (size_t i = 0; i < QUEUED; i++) {
        gc_store(gc, &many->items[i], one = new_node(i));
        gc_store(gc, &one->right, new_node(i + 1));
        gc_finalizer_register(gc, one, i % 4 ? &of_parent : &of_parent_critical);
    }
    full(), full();
    for (int i = 0; i < FOUND; i++) {
        parents[i] = gc_handle_create(heap, i == SHORT - STRONG ? GC_HANDLE_WEAK : GC_HANDLE_WEAK_LONG, many->items[STRONG + i]);
        children[i] = gc_handle_create(heap, i % 2 ? GC_HANDLE_WEAK : GC_HANDLE_WEAK_LONG, ((node *)many->items[LIVE + i])->right);
    }
    memset(&many->items[LIVE], 0, (QUEUED - LIVE) * sizeof *many->items);
}

/* How many of the queued objects the marker has not come to. */
static size_t white_of_due(void) {
    const gc__finalizers *all = heap->finalizers;
    size_t count = 0;
    for (int queue = 0; queue < 2; queue++)
        for (size_t at = all->due[queue].head; at < all->due[queue].pairs.count; at += 2)
            count += gc__shade_is_white(all->due[queue].pairs.words[at]);
    return count;
}

/* As many are due as have died and are not in `run` yet; each runs once. */
static void rest_is_due(size_t run) {
    size_t wrong = 0;
    is(gc_finalizer_pending(heap), QUEUED - LIVE - 1 - run, "all others are due");
    mark_and_settle_all();
    gc_finalizer_run(gc, SIZE_MAX);
    for (size_t i = 0; i < QUEUED; i++) wrong += times_run[i] != (i >= LIVE && i != STRONG);
    is(wrong + wrong_children, 0, "each runs once, and its child is there");
}

static void finalizable_garbage(void) {
    gc__finalizers *all = heap->finalizers;
    gc_handle parents[FOUND], children[FOUND];
    vector *many = NULL;
    GC_ROOTS(gc, many);
    scene_open();
    memset(times_run, 0, sizeof times_run);
    wrong_children = hidden_objects = 0;
    make_dying(many = new_vector(QUEUED), parents, children);
    begin_marking();
    mark_and_settle_all();
    is(heap->marker->remark, GC__REMARK_DUE, "white objects with finalizers call for a remark");
    gc_store(gc, &scanned->items[3], gc_handle_get(parents[0])); /* lives again, and the marker comes to know it only now */
    gc_collect(heap, 0, 0);
    mark_and_settle_all();
    size_t left = all->old.unclean.count, ended = stats().concurrent_finished;
    remark();
    ok(stats().concurrent_finished == ended && heap->marking, "after which the marking goes on");
    if (left) is(heap->pause.finalizers_left, left - gc__min(left, GC__DECIDE_AT_ONCE), "what the pause leaves for later is counted");
    ok(!gc_handle_get(parents[2]) && gc_handle_get(parents[1]), "of what is dead short weak handles are cleared, and long ones are not");
    ok(!gc_handle_get(children[1]) && gc_handle_get(children[0]), "and of what it refers to");
    ok(gc_finalizer_suppress(gc, gc_handle_get(parents[TAKEN - STRONG])), "a finalizer is taken back, whether it is known to be due or not");
    times_run[TAKEN]++;
    gc_store(gc, &scanned->items[4], gc_handle_get(parents[LATE - STRONG])); /* too late */
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    is(gc_finalizer_run(gc, 5), 5, "some are run");
    mark_and_settle_all();
    is(white_of_due(), 0, "the marker marks on from what is due");
    is(heap->marker->remark, GC__REMARK_MADE, "and no cycle has two remarks");
    finish();
    is(heap->pause.finalizers, 0, "the end of the cycle finds no others");
    rest_is_due(6);
    gc_store(gc, &scanned->items[3], NULL);
    full();
    gc_finalizer_run(gc, SIZE_MAX);
    is(times_run[STRONG], 1, "what was found again is finalized when it dies");
    for (int i = 0; i < FOUND; i++) gc_handle_destroy(heap, parents[i]), gc_handle_destroy(heap, children[i]);
    scene_close();
}

/* Before anybody has asked which are due comes a full collection, or the end of the cycle; or the cycle ends without a
   remark. */
static void undecided_objects(void) {
    gc_handle parents[FOUND], children[FOUND];
    vector *many = NULL;
    GC_ROOTS(gc, many);
    for (int way = 0; way < 4; way++) {
        scene_open();
        memset(times_run, 0, sizeof times_run);
        wrong_children = hidden_objects = 0;
        make_dying(many = new_vector(QUEUED), parents, children);
        begin_marking();
        mark_and_settle_all();
        gc_store(gc, &scanned->items[3], gc_handle_get(parents[0]));
        if (way < 3) remark();
        if (way == 1) gc_collect(heap, 1, 0);
        if (way < 2)
            full();
        else
            finish();
        ok(!heap->marking && !gc__is_deciding(heap->finalizers), "then all is decided");
        rest_is_due(0);
        for (int i = 0; i < FOUND; i++) gc_handle_destroy(heap, parents[i]), gc_handle_destroy(heap, children[i]);
        gc_store(gc, &scanned->items[3], many = NULL);
        full();
        gc_finalizer_run(gc, SIZE_MAX);
        scene_close();
    }
}
