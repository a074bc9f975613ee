/* Random handles and finalizers over a random graph, compared with a shadow model in a hook after each collection. After a
   full one the model knows exactly which handles are cleared, which finalizers are queued, and how many objects are left.
   After a young one it knows bounds: what is reachable must be there; what is reachable neither from roots nor from objects
   that are older than the last collection must be gone. After one that ends a marking beside the program it knows only what must
   be there.

   handles [--mode=MODE] [--seed=S] [--ops=N]      The same arguments do the same again. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#define GC__DECIDE_AT_ONCE 2 /* most are left to what comes after a remark */
#include "replay.h"

enum { ITEMS = 3000, ROOTS = 24, HANDLES = 250, REFS = 4, TYPES = 6, FINALIZERS = 4, BIG_LENGTH = GC_LARGE_BYTES / 8 };
enum { NONE, REGISTERED, QUEUED };

/* What is on the heap. */
typedef struct thing {
    gc_object header;
    uint64_t id, suppressed;
    void *refs[REFS];
} thing;
typedef struct leaf {
    gc_object header;
    uint64_t id, suppressed;
} leaf;
typedef struct big {
    gc_array header;
    uint64_t id;
    void *items[];
} big;

static void finalize(gc_thread *thread, void *object);
static bool is_suppressed(const void *object) { return ((const leaf *)object)->suppressed; }
static const gc_finalizer normal = {finalize, false, NULL}, critical = {finalize, true, NULL};
static const gc_finalizer normal_asked = {finalize, false, is_suppressed},
                          critical_asked = {finalize, true, is_suppressed};
static const gc_finalizer *const finalizers[FINALIZERS] = {&normal, &critical, &normal_asked, &critical_asked};
static const gc_type types[TYPES] = {{.name = "thing", .bytes = sizeof(thing), .refs = 15 << 3},
                                     GC_TYPE_LEAF(leaf),
                                     GC_TYPE_ARRAY(big, items),
                                     {.name = "normal", .bytes = sizeof(thing), .refs = 15 << 3, .finalizer = &normal},
                                     {.name = "critical", .bytes = sizeof(thing), .refs = 15 << 3, .finalizer = &critical_asked},
                                     GC_TYPE_LEAF_FINALIZED(leaf, normal_asked)};
static const int type_finalizers[TYPES] = {-1, -1, -1, 0, 3, 2};

/* The model. Item 0 is null. */
typedef struct item {
    bool exists, suppressed;
    bool doomed; /* it was dead at the end of a marking, and said that it needs no finalizer: it is asked once more */
    int type, finalizer, state;
    uint32_t refs[REFS];
    uint64_t born; /* collections before */
} item;
typedef struct held {
    gc_handle handle;
    gc_handle_kind kind;
    uint32_t object, extra; /* extra of ref-counted ones: whether it is held */
    uint32_t former;        /* the dependent that one had which is empty now */
} held;
static item items[ITEMS];
static held handles[HANDLES];
static void *roots[ROOTS];
static uint32_t root_ids[ROOTS], running;
static uint64_t markings, remarks, cleared, queued, ran, left_over;
static bool ending;

/* Objects. */

static const gc_type *type_of(const void *object) { return ((const gc_object *)object)->type; }
static uint32_t id_of(const void *object) {
    if (!object) return 0;
    return (uint32_t)(type_of(object) == &types[2] ? ((const big *)object)->id : ((const leaf *)object)->id);
}
static void **slot_of(void *object, size_t k) {
    return type_of(object) == &types[2] ? &((big *)object)->items[k * (BIG_LENGTH - 1) / (REFS - 1)]
                                        : &((thing *)object)->refs[k];
}
static bool has_refs(uint32_t id) { return items[id].type != 1 && items[id].type != 5; }

static void check_object(const void *object, uint32_t id, const char *where, size_t number) {
    if (!object && !id) return;
    if (!object) wrong("%s %zu is NULL instead of item %u", where, number, id);
    if (!id) wrong("%s %zu is %p instead of NULL", where, number, object);
    if (!items[id].exists) wrong("%s %zu is item %u, which is gone: a fault of this test", where, number, id);
    if (type_of(object) != &types[items[id].type]) wrong("%s %zu has another type than item %u", where, number, id);
    if (id_of(object) != id) wrong("%s %zu is item %u instead of %u", where, number, id_of(object), id);
}

/* Reachability in the model: 1 in `set` for each item that is reached. */

static uint32_t pending[ITEMS * 2];
static size_t pending_count;
static void reach(uint8_t *set, uint32_t id) {
    if (!id || set[id]) return;
    set[id] = 1;
    pending[pending_count++] = id;
}

static void close_set(uint8_t *set) {
    do {
        while (pending_count) {
            const item *i = &items[pending[--pending_count]];
            for (size_t k = 0; k < REFS; k++) reach(set, i->refs[k]);
        }
        for (size_t i = 0; i < HANDLES; i++) {
            const held *h = &handles[i];
            if (h->handle && h->kind == GC_HANDLE_DEPENDENT && h->object && set[h->object]) reach(set, h->extra);
        }
    } while (pending_count);
}

static bool is_strong(const held *h) {
    return h->kind == GC_HANDLE_STRONG || h->kind == GC_HANDLE_PINNED || (h->kind == GC_HANDLE_REF_COUNTED && h->extra);
}

/* From roots, queued finalizers, and if `old` from all that the last collection may have left. */
static void reach_all(uint8_t *set, bool old) {
    memset(set, 0, ITEMS);
    for (size_t i = 0; i < ROOTS; i++) reach(set, root_ids[i]);
    reach(set, running);
    for (size_t i = 0; i < HANDLES; i++)
        if (handles[i].handle && is_strong(&handles[i])) reach(set, handles[i].object);
    for (uint32_t id = 1; id < ITEMS; id++)
        if (items[id].exists && (items[id].state == QUEUED || (old && items[id].born < collections))) reach(set, id);
    close_set(set);
}

static size_t count_of(const uint8_t *set) {
    size_t count = 0;
    for (size_t i = 0; i < ITEMS; i++) count += set[i];
    return count;
}

static bool says_suppressed(const item *i) { return i->suppressed && finalizers[i->finalizer]->is_suppressed; }

/* Whether the old pair of that number will be queued as soon as anybody asks. */
static bool is_doomed(const gc__finalizers *all, size_t at) {
    uintptr_t object = all->registered.words[at];
    bool found = false;
    for (size_t i = all->decided; all->deciding && i < all->old.unclean.count; i++) found |= all->old.unclean.words[i] == at;
    left_over += found;
    return found && gc__shade_is_white(object);
}

/* The heap's lists of finalizers: the state of each item by them. */
static void read_finalizers(uint8_t *states) {
    const gc__finalizers *all = heap->finalizers;
    memset(states, NONE, ITEMS);
    for (int list = 0; list < 3; list++) {
        const gc__words *pairs = list ? &all->due[list - 1].pairs : &all->registered;
        for (size_t at = list ? all->due[list - 1].head : 0; at < pairs->count; at += 2) {
            if (!list && at < all->start[1] && !pairs->words[at]) continue; /* it has ended */
            uint32_t id = id_of((const void *)pairs->words[at]);
            if (!id || id >= ITEMS || states[id] != NONE) wrong("item %u has two finalizers", id);
            if (pairs->words[at + 1] != (uintptr_t)finalizers[items[id].finalizer])
                wrong("item %u has another finalizer", id);
            if (list && (list == 2) != finalizers[items[id].finalizer]->critical)
                wrong("item %u is in the other queue", id);
            bool is_queued = list || is_doomed(all, at);
            if (!list && is_queued && says_suppressed(&items[id])) is_queued = false, items[id].doomed = true;
            states[id] = is_queued ? QUEUED : REGISTERED;
        }
    }
}

/* What was queued, and is not any more without having run, must have said that it is not needed. */
static void drop_suppressed(const uint8_t *states) {
    for (uint32_t id = 1; id < ITEMS; id++) {
        if (items[id].state != QUEUED || states[id] == QUEUED) continue;
        if (!says_suppressed(&items[id])) wrong("the finalizer of item %u was queued, and is lost", id);
        items[id].state = NONE;
    }
}

static uint8_t least[ITEMS], most[ITEMS], states[ITEMS], seen[ITEMS], strong[ITEMS];
static bool checks_marks; /* a remark is over, for which there was memory */

static void compare_finalizers(void) {
    for (uint32_t id = 1; id < ITEMS; id++) {
        item *i = &items[id];
        if (i->state != REGISTERED && states[id] != i->state)
            wrong("item %u: state %d became %d", id, i->state, states[id]);
        if (i->state != REGISTERED) continue;
        if (states[id] == REGISTERED && !most[id]) wrong("item %u has died, but its finalizer is not queued", id);
        if (states[id] != REGISTERED && least[id] && !i->doomed)
            wrong("the finalizer of item %u is queued, or lost, but it lives", id);
        if (states[id] == QUEUED && says_suppressed(i)) wrong("the finalizer of item %u is queued, but suppressed", id);
        if (states[id] == NONE && !says_suppressed(i)) wrong("the finalizer of item %u is lost", id);
        i->state = states[id];
        queued += i->state == QUEUED;
    }
}

/* Handles of these kinds, by what must be and what may be reached. */
static void compare_handles(unsigned kinds) {
    for (size_t n = 0; n < HANDLES; n++) {
        held *h = &handles[n];
        if (!h->handle || !(kinds >> h->kind & 1) || is_strong(h) || !h->object) continue;
        void *object = gc_handle_get(h->handle);
        if (!object && least[h->object])
            wrong("handle %zu (kind %d) is cleared, but item %u lives", n, h->kind, h->object);
        if (object && !most[h->object])
            wrong("handle %zu (kind %d) is not cleared, but item %u is dead", n, h->kind, h->object);
        if (object) continue;
        h->object = 0;
        if (h->kind == GC_HANDLE_DEPENDENT) h->extra = 0;
        cleared++;
    }
}

/* Everything that can be reached from what the program holds, and the words of handles. */
static void check_graph(void *object, uint32_t id, const char *where, size_t number) {
    check_object(object, id, where, number);
    if (!id || seen[id]) return;
    seen[id] = 1;
    if (checks_marks && strong[id] && gc__shade_is_white((uintptr_t)object)) wrong("item %u lives, but a remark has not marked it", id);
    for (size_t k = 0; has_refs(id) && k < REFS; k++)
        check_graph(*slot_of(object, k), items[id].refs[k], "a field of item", id);
}

static void check_all(void) {
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < ROOTS; i++) check_graph(roots[i], root_ids[i], "root", i);
    for (size_t i = 0; i < HANDLES; i++) {
        const held *h = &handles[i];
        if (!h->handle) continue;
        check_graph(gc_handle_get(h->handle), h->object, "handle", i);
        bool is_short = h->kind == GC_HANDLE_WEAK || (h->kind == GC_HANDLE_REF_COUNTED && !h->extra);
        if (checks_marks && is_short && gc__shade_is_white((uintptr_t)gc_handle_get(h->handle)))
            wrong("handle %zu (kind %d) still refers to item %u, which a remark has not marked", i, h->kind, h->object);
        if (h->kind == GC_HANDLE_DEPENDENT)
            check_graph(gc_handle_dependent(h->handle), h->extra, "the dependent of handle", i);
        if (h->kind == GC_HANDLE_REF_COUNTED && (uintptr_t)gc_handle_host_word(h->handle) != h->extra)
            wrong("handle %zu has another host word", i);
    }
}

/* What may be there. */
static void find_most(bool exact, bool beside) {
    if (exact)
        memcpy(most, least, ITEMS);
    else
        reach_all(most, true);
    for (uint32_t id = 1; beside && id < ITEMS; id++) most[id] = items[id].exists;
}

/* The world is stopped, the collection is done. */
static void on_collection_end(void *host, const gc_collection *collection) {
    bool beside = gc__is_mark_end(heap), exact = collection->generation == 2 && !beside;
    (void)host;
    if (ending) return;
    markings += beside;
    remarks += gc__is_remark(heap);
    read_finalizers(states);
    drop_suppressed(states);
    reach_all(least, false);
    memcpy(strong, least, ITEMS);
    checks_marks = gc__is_remark(heap) && heap->marking && !heap->marker->unasked;
    find_most(exact, beside);
    compare_handles(1u << GC_HANDLE_WEAK | 1u << GC_HANDLE_REF_COUNTED);
    compare_finalizers();
    reach_all(least, false);
    find_most(exact, beside);
    compare_handles(1u << GC_HANDLE_WEAK_LONG | 1u << GC_HANDLE_DEPENDENT);
    for (uint32_t id = 1; id < ITEMS; id++)
        if (items[id].exists && !most[id]) memset(&items[id], 0, sizeof items[id]);
    if (exact && gc__count_marks(heap) != count_of(least))
        wrong("%zu objects have survived instead of %zu", gc__count_marks(heap), count_of(least));
    check_all();
    collections++;
}

static bool handle_is_held(void *host, gc_handle handle, void *object, void *word) {
    (void)host, (void)handle;
    if (!object || !items[id_of(object)].exists) wrong("handle_is_held is asked about no object");
    return word != NULL;
}

/* Operations. Each finds objects from roots, for only their addresses are kept up to date. */

static size_t some_root(void) { return below(ROOTS); }

/* Goes some steps from a root. */
static void *some_object(void) {
    void *object = roots[some_root()];
    for (size_t steps = below(4); object && has_refs(id_of(object)) && steps; steps--) {
        void *next = *slot_of(object, below(REFS));
        if (next) object = next;
    }
    return object;
}

static void root_set(size_t i, void *object) {
    roots[i] = object;
    root_ids[i] = id_of(object);
}

static void op_new(void) {
    uint32_t id = 0;
    size_t root = some_root();
    for (int tries = 0; tries < 20 && (!id || items[id].exists); tries++) id = 1 + (uint32_t)below(ITEMS - 1);
    if (items[id].exists) {
        gc_collect(heap, 2, 0);
        return;
    }
    int type = below(60) ? (int)below(TYPES) : 2;
    if (type == 2 && below(20)) type = 0;
    void *object = type == 2 ? gc_new_array(gc, &types[type], BIG_LENGTH) : gc_new(gc, &types[type]);
    if (!object) wrong("no memory: %s", gc_last_message());
    if (type == 2)
        ((big *)object)->id = id;
    else
        ((leaf *)object)->id = id;
    items[id] = (item){.exists = true,
                       .type = type,
                       .finalizer = type_finalizers[type] < 0 ? 0 : type_finalizers[type],
                       .born = collections};
    items[id].state = type_finalizers[type] < 0 ? NONE : REGISTERED;
    if (has_refs(id) && below(3)) {
        size_t k = below(REFS);
        gc_store(gc, slot_of(object, k), roots[root]);
        items[id].refs[k] = root_ids[root];
    }
    root_set(root, object);
}

static void op_link(void) {
    void *holder = some_object(), *object = below(5) ? some_object() : NULL;
    if (!holder || !has_refs(id_of(holder))) return;
    size_t k = below(REFS);
    gc_store(gc, slot_of(holder, k), object);
    items[id_of(holder)].refs[k] = id_of(object);
}

static void op_root(void) { root_set(some_root(), below(3) ? NULL : some_object()); }

static void op_handle(void) {
    held *h = &handles[below(HANDLES)], *from = &handles[below(HANDLES)];
    void *object = below(6) ? some_object() : NULL, *dependent = below(6) ? some_object() : NULL;
    if (h->handle) {
        gc_handle_destroy(heap, h->handle);
        if (below(2)) {
            h->handle = NULL;
            return;
        }
    }
    if (from != h && from->handle && below(4) == 0) {
        *h = *from;
        h->handle = gc_handle_duplicate(heap, from->handle);
        return;
    }
    *h = (held){NULL, (gc_handle_kind)below(GC_HANDLE_KINDS), id_of(object), 0, 0};
    if (below(3) == 0) h->kind = GC_HANDLE_DEPENDENT;
    if (h->kind == GC_HANDLE_DEPENDENT) {
        *(object ? &h->extra : &h->former) = id_of(dependent);
        h->handle = gc_handle_create_dependent(heap, object, dependent);
        return;
    }
    h->handle = gc_handle_create(heap, h->kind, object);
    if (h->kind == GC_HANDLE_REF_COUNTED) gc_handle_set_host_word(h->handle, (void *)(uintptr_t)(h->extra = below(2)));
}

/* An empty dependent handle may have lost its dependent when it gets an object again, or none of the collections since has
   dropped that. */
static void handle_now_holds(held *h, void *object) {
    bool was_empty = !h->object;
    h->object = id_of(object);
    if (h->kind != GC_HANDLE_DEPENDENT) return;
    if (!object) h->former = h->former ? h->former : h->extra;
    h->extra = object ? h->extra : 0;
    if (!object || !was_empty) return;
    void *dependent = gc_handle_dependent(h->handle);
    if (dependent && id_of(dependent) != h->former) wrong("a handle that was empty has the dependent %u", id_of(dependent));
    h->extra = id_of(dependent);
    h->former = 0;
}

static void op_handle_change(void) {
    held *h = &handles[below(HANDLES)], *other = &handles[below(HANDLES)];
    void *object = below(6) ? some_object() : NULL;
    if (!object && other->handle) object = gc_handle_get(other->handle); /* perhaps nothing else leads there */
    if (!h->handle) return;
    switch (below(4)) {
    case 0:
        gc_handle_set(h->handle, object);
        handle_now_holds(h, object);
        break;
    case 1: {
        void *expected = below(2) ? gc_handle_get(h->handle) : some_object(), *was = gc_handle_get(h->handle);
        if (gc_handle_compare_exchange(h->handle, object, expected) != was)
            wrong("gc_handle_compare_exchange returns something else");
        if (was == expected) handle_now_holds(h, object);
        break;
    }
    case 2:
        if (h->kind == GC_HANDLE_REF_COUNTED)
            gc_handle_set_host_word(h->handle, (void *)(uintptr_t)(h->extra = below(2)));
        if (h->kind != GC_HANDLE_DEPENDENT || !h->object) break;
        gc_handle_set_dependent(h->handle, object);
        h->extra = id_of(object);
        break;
    default:
        /* What is not reachable otherwise, but is there, becomes so. */
        root_set(some_root(), gc_handle_get(h->handle));
    }
}

static void op_finalizer(void) {
    void *object = some_object();
    item *i = &items[id_of(object)];
    if (!object) return;
    if (below(3) == 0 && i->type != 2) {
        ((leaf *)object)->suppressed = i->suppressed = below(2);
    } else if (below(3) == 0) {
        if (gc_finalizer_suppress(gc, object) != (i->state != NONE))
            wrong("gc_finalizer_suppress finds something else");
        i->state = NONE;
    } else {
        if (gc_finalizer_suppress(gc, object) != (i->state != NONE))
            wrong("gc_finalizer_suppress finds something else");
        i->finalizer = (int)below(i->type == 2 ? 2 : FINALIZERS);
        if (gc_finalizer_register(gc, object, finalizers[i->finalizer]) != GC_OK)
            wrong("gc_finalizer_register: %s", gc_last_message());
        i->state = REGISTERED;
    }
}

static void op_run(void) {
    size_t count = below(3) ? below(6) : SIZE_MAX;
    if (gc_finalizer_run(gc, count) > count) wrong("more finalizers have run than were asked for");
    read_finalizers(states);
    drop_suppressed(states);
    if (count == SIZE_MAX && !running && gc_finalizer_pending(heap))
        wrong("finalizers are pending after all have run");
}

static void op_collect(void) {
    if (below(3)) return;
    gc_collect(heap, (int)below(GC_GENERATIONS), below(3) ? 0 : GC_COLLECT_COMPACTING);
}

/* Some steps of a marking beside the program. */
static void op_mark(void) {
    if (heap->options.concurrent != GC_CONCURRENT_ON) return;
    if (!heap->marking) {
        if (below(4) == 0) gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
        if (below(2) == 0) gc__marker_turn(heap, 100);
        return;
    }
    if (below(12) == 0) { /* whatever is due; or at once */
        gc__heap_lock(heap);
        const gc__request end = gc__request_mark_end(heap, GC_REASON_GROWTH, GC_DEGENERATED_REQUEST);
        const gc__request full_one = gc__request_stopped(2, GC_REASON_INDUCED, false);
        const gc__request done = gc__request_when_done(heap, GC_REASON_GROWTH);
        gc__collect_requested(heap, below(4) ? &done : &end);
        /* before all is decided */
        if (gc__is_deciding(heap->finalizers) && below(3) == 0) gc__collect_requested(heap, below(2) ? &full_one : &end);
        gc__heap_unlock(heap);
        return;
    }
    size_t turns = below(3) ? below(4) : 1000;
    while (turns && gc__marker_turn(heap, 1 + below(50))) turns--;
}

static void finalize(gc_thread *thread, void *object) {
    uint32_t id = id_of(object);
    item *i = &items[id];
    GC_ROOTS(thread, object);
    ran++;
    if (!i->exists || i->state == NONE || (i->state == REGISTERED && !ending && !i->doomed))
        wrong("the finalizer of item %u runs", id);
    if (says_suppressed(i)) wrong("the suppressed finalizer of item %u runs", id);
    for (uint32_t k = 1; k < ITEMS && finalizers[i->finalizer]->critical; k++) {
        bool due = items[k].state == QUEUED || (ending && items[k].state == REGISTERED);
        if (due && !finalizers[items[k].finalizer]->critical && !says_suppressed(&items[k]) &&
            !heap->options.skip_finalizers_at_end)
            wrong("the critical finalizer of item %u runs before that of %u", id, k);
    }
    if (ending && heap->options.skip_finalizers_at_end && !finalizers[i->finalizer]->critical && i->state == REGISTERED)
        wrong("the normal finalizer of item %u runs at the end", id);
    i->state = NONE;
    if (ending) return;
    running = id;
    if (below(3) == 0) root_set(some_root(), object);
    if (below(4) == 0) {
        i->finalizer = (int)below(i->type == 2 ? 2 : FINALIZERS);
        gc_finalizer_register(thread, object, finalizers[i->finalizer]);
        i->state = REGISTERED;
    }
    if (below(4) == 0) op_collect();
    if (below(2)) op_new();
    if (below(4) == 0) op_handle();
    check_object(object, id, "the argument of the finalizer", 0);
    running = 0;
}

/* Modes. */

/* In so short a pause hardly any region is evacuated, so what is dead and has a finalizer is reprieved. */
#define STAYING \
    .nursery_bytes = 64 << 10, .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 20, .pause_goal_us = 1, \
    .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT

static const run_mode modes[] = {{"moving", {.nursery_bytes = 256 << 10}},
             {"compacting", {.nursery_bytes = 64 << 10, .skip_finalizers_at_end = true}},
             {"non_moving", {.nursery_bytes = 256 << 10, .non_moving = true}},
             {"non_generational", {.nursery_bytes = 256 << 10, .non_generational = true}},
             {"stress", {.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 50}},
             {"without_memory", {.nursery_bytes = 256 << 10, .test.scarce_memory = true}},
             {"concurrent", {.nursery_bytes = 64 << 10, .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 20}},
             {"staying", {STAYING}},
             {"staying_without_memory", {STAYING, .test.scarce_memory = true}},
             {"leaving", {.nursery_bytes = 64 << 10, .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 20, .test.candidates = true}},
             {"concurrent_without_memory",
              {.nursery_bytes = 64 << 10, .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 20, .test.scarce_memory = true}}};

static void work(void) {
    static const operation ops[] = {{op_new, 100},          {op_link, 80},      {op_root, 50}, {op_handle, 60},
               {op_handle_change, 60}, {op_finalizer, 20}, {op_run, 4},   {op_collect, 8}, {op_mark, 30}};
    GC_ROOTS_ARRAY(gc, roots, ROOTS, 0);
    operate(ops, sizeof ops / sizeof *ops, run_options.ops);
    full();
    for (size_t i = 0; i < HANDLES; i++)
        if (below(2)) gc_handle_destroy(heap, handles[i].handle), handles[i].handle = NULL;
    full();
    gc_heap_verify(heap);
    ending = true;
}

static void run_one(const run_mode *mode, size_t number) {
    gc_options options = mode->options;
    memset(items, 0, sizeof items), memset(handles, 0, sizeof handles), memset(roots, 0, sizeof roots);
    memset(root_ids, 0, sizeof root_ids);
    collections = markings = remarks = cleared = queued = ran = left_over = 0, running = 0, ending = false;
    state = run_options.seed * 0x9E3779B97F4A7C15u | 1;
    options.collection_end = on_collection_end;
    options.handle_is_held = handle_is_held;
    begin_verified(options);
    work();
    bool skip = options.skip_finalizers_at_end;
    end();
    for (uint32_t id = 1; id < ITEMS; id++) {
        const item *i = &items[id];
        if (i->state != NONE && !says_suppressed(i) && !(skip && !finalizers[i->finalizer]->critical))
            wrong("the finalizer of item %u has not run at the end", id);
    }
    printf("ok %zu - %s: %llu operations, %llu collections, %llu handles cleared, %llu finalizers queued, %llu ran\n",
           number, mode->name, (unsigned long long)operations, (unsigned long long)collections,
           (unsigned long long)cleared, (unsigned long long)queued, (unsigned long long)ran);
    bool beside = options.concurrent == GC_CONCURRENT_ON;
    if (run_options.ops >= 10000 && (!cleared || !queued || !ran || (beside && markings < 10))) wrong("too little has happened");
    if (run_options.ops >= 20000 && beside && !remarks) wrong("no marking had a remark");
    if (run_options.ops >= 20000 && options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT && !options.test.scarce_memory && !left_over) wrong("no finalizers were left for later");
    fflush(stdout);
}

int main(int count, char **arguments) {
    run_options.seed = 1, run_options.ops = 20000;
    return run_modes(count, arguments, modes, sizeof modes / sizeof *modes, run_one);
}
