/* Finalizers that are due and that nobody runs. For test_marking. */

enum { QUEUED = 2000 };

static size_t times_run[QUEUED];
static size_t wrong_children, hidden_objects;
static void check_child(gc_thread *thread, void *object) {
    const node *one = (const node *)object;
    (void)thread;
    if (heap->marking && gc__is_marking((uintptr_t)object)) hidden_objects += !is_known(object);
    if (one->value >= QUEUED || !one->right || one->right->value != one->value + 1) {
        wrong_children++;
        return;
    }
    times_run[one->value]++;
}
static const gc_finalizer checking = {.finalize = check_child}, checking_critical = {.finalize = check_child, .critical = true};

/* So many new objects, from that number on, in whose queues every fourth one is critical. */
static void make_queued(vector *many, size_t from, size_t count) {
    node *one = NULL;
    GC_ROOTS(gc, many, one);
    for (size_t i = from; i < from + count; i++) {
        gc_store(gc, &many->items[i], one = new_node(i));
        gc_store(gc, &one->right, new_node(i + 1));
        gc_finalizer_register(gc, one, i % 4 ? &checking : &checking_critical);
    }
}

static size_t queued_roots(void) {
    const gc__finalizers *all = heap->finalizers;
    size_t found = 0;
    for (size_t i = 0; i < heap->cycle->roots.count; i++)
        for (int queue = 0; queue < 2; queue++) {
            uintptr_t from = (uintptr_t)all->due[queue].pairs.words;
            found += heap->cycle->roots.words[i] - from < all->due[queue].pairs.count * sizeof(uintptr_t);
        }
    return found;
}

/* Returns a handle of one of them. */
static gc_handle make_due(vector **many, size_t old) {
    *many = new_vector(QUEUED);
    make_queued(*many, 0, old);
    full(), full();
    gc_handle one = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, (*many)->items[old / 2 + 1]);
    for (size_t i = 0; i < old; i++) gc_store(gc, &(*many)->items[i], NULL);
    return one;
}

/* Takes the finalizer of the handle's object out of its queue. */
static void suppress(gc_handle found) {
    const node *one = gc_handle_get(found);
    ok(gc_finalizer_suppress(gc, (void *)one), "a finalizer is taken out of its queue");
    times_run[one->value]++;
    gc_handle_destroy(heap, found);
}

static void all_have_run(size_t taken) {
    size_t wrong = 0;
    gc_finalizer_run(gc, SIZE_MAX);
    for (size_t i = 0; i < QUEUED; i++) wrong += times_run[i] != (i < taken ? 0 : 1);
    is(wrong, 0, "each runs once");
    is(wrong_children, 0, "and what its object refers to is there");
    is(hidden_objects, 0, "and the marker knows of what is taken out of its queue");
}

static void one_more_dies(vector *many, size_t i, int generation) {
    GC_ROOTS(gc, many);
    make_queued(many, i, 1);
    gc_store(gc, &many->items[i], NULL);
    gc_collect(heap, generation, 0);
    gc_collect(heap, 0, 0);
    is(queued_roots(), 1, "what is queued later is a root");
}

static void due_finalizers(void) {
    gc__finalizers *all = heap->finalizers;
    vector *many = NULL;
    gc_handle found[2];
    GC_ROOTS(gc, many);
    scene_open();
    for (int ends_early = 0; ends_early < 2; ends_early++) {
        memset(times_run, 0, sizeof times_run);
        wrong_children = hidden_objects = 0;
        found[0] = make_due(&many, QUEUED - 100);
        full();
        is(gc_finalizer_pending(heap), QUEUED - 100, "many finalizers are due");
        make_queued(many, QUEUED - 100, 98);
        found[1] = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, many->items[QUEUED - 98]);
        memset(many->items, 0, QUEUED * sizeof *many->items);
        gc_collect(heap, 1, 0);
        is(queued_roots(), 0, "those of old objects are no roots of young collections");
        is(gc_finalizer_pending(heap), QUEUED - 2, "of the young ones, too, now");
        gc_collect(heap, 0, 0);
        is(queued_roots(), 98, "which are roots");
        suppress(found[0]);
        begin_marking();
        gc_finalizer_run(gc, 10);
        suppress(found[1]);
        one_more_dies(many, QUEUED - 1, 0);
        size_t left = 0, leave = 0;
        if (!ends_early) {
            mark_and_settle_all();
            for (int queue = 0; queue < 2; queue++)
                for (size_t at = all->due[queue].head; at < all->due[queue].pairs.count; at += 2) {
                    uintptr_t object = all->due[queue].pairs.words[at];
                    left += gc__is_marking(object) && !is_marked((const void *)object);
                    leave += gc__is_candidate(object);
                }
            is(left, 0, "the marker marks those that are old");
        }
        gc_collect(heap, 1, 0);
        finish();
        if (!ends_early) is(queued_roots(), leave, "the last collection visits only those that leave");
        gc_finalizer_run(gc, 10);
        gc_finalizer_run(gc, QUEUED - 200);
        one_more_dies(many, QUEUED - 2, 2);
        ok(all->due[0].head == 0, "few are left of the queue, and these are where it begins");
        gc_collect(heap, 1, 0);
        begin_marking();
        mark_and_settle_all();
        finish();
        all_have_run(0);
    }
    scene_close();
}

/* The heap ends amid a marking: what is registered becomes due, though the marker would not have found it. */
static void due_at_the_end(void) {
    vector *many = NULL;
    GC_ROOTS(gc, many);
    scene_open();
    memset(times_run, 0, sizeof times_run);
    wrong_children = hidden_objects = 0;
    gc_handle_destroy(heap, make_due(&many, QUEUED));
    begin_marking();
    mark_and_settle_all();
    gc__finalizers_queue_all(heap, false);
    gc_finalizer_run(gc, 2);
    finish();
    full();
    all_have_run(0);
    scene_close();
}
