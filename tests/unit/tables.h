/* Weak tables whose entries lie in objects: the marker settles most of their pieces, so that the last collection looks at few
   entries. For test_marking. */

enum { ENTRIES = 6000, PIECE_ENTRIES = 16 };

typedef struct pair {
    void *key, *value;
} pair;
typedef struct pairs {
    gc_array header;
    pair items[];
} pairs;

/* Pairs as hosts of their own kinds report them. */
static gc_weak_kind pairs_kind;
static void trace_pairs(void *object, gc_visitor *visitor) {
    pairs *table = object;
    gc_weak_entries entries = {
        .kind = pairs_kind, .keys = &table->items[0].key, .values = &table->items[0].value, .count = table->header.length};
    gc_visit_weak(visitor, &entries);
}
static const gc_type weak_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);
static const gc_type ephemerons_type = GC_TYPE_ARRAY_TRACED(pairs, items, gc_trace_ephemerons);
static const gc_type pairs_type = GC_TYPE_ARRAY_TRACED(pairs, items, trace_pairs);

/* How many entries the last collection has looked at. */
static size_t looked_at(void) {
    const gc__discovered *notes = &heap->cycle->entries;
    size_t sum = 0;
    for (size_t at = 0; at < notes->words.count; at += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + at, sizeof entries);
        sum += entries.count;
    }
    return sum;
}

/* Entries of sparse regions would be looked at again. */
static void begin_marking_in_place(void) {
    begin_marking();
    for (gc__region *region = heap->regions[2]; region && !heap->options.test.candidates; region = region->next) {
        region->candidate = false;
        gc__region_set_rank(region, gc__region_age(heap, region), true);
    }
}

/* `many` keeps the weak parts, `others` the other ones where those are weak, too. */
static void settled_pairs(const gc_type *type, gc_weak_kind kind) {
    vector *many = NULL, *others = NULL;
    pairs *table = NULL;
    node *key = NULL, *value = NULL;
    GC_ROOTS(gc, many, others, table, key, value);
    scene_open();
    pairs_kind = kind;
    many = new_vector(ENTRIES);
    others = new_vector(ENTRIES);
    table = gc_new_array(gc, type, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++) {
        key = new_node(i), value = new_node(i + ENTRIES);
        gc_store(gc, &table->items[i].key, key);
        gc_store(gc, &table->items[i].value, value);
        gc_store(gc, &many->items[i], kind == GC_WEAK_VALUES ? value : key);
        if (kind == GC_WEAK_PAIRS) gc_store(gc, &others->items[i], value);
    }
    key = value = NULL;
    full();
    full();
    gc_store(gc, &many->items[10], NULL);
    gc_store(gc, &many->items[2000], NULL);
    begin_marking_in_place();
    mark_and_settle_all();
    gc_store(gc, &table->items[100].key, key = new_node(100)); /* stays, but where values keep their keys, not for its own sake */
    if (kind != GC_WEAK_VALUES) gc_store(gc, &many->items[100], key);
    gc_store(gc, &table->items[4000].value, value = new_node(4000 + ENTRIES));
    if (kind == GC_WEAK_VALUES) gc_store(gc, &many->items[4000], value);
    if (kind == GC_WEAK_PAIRS) gc_store(gc, &others->items[4000], value);
    key = value = NULL;
    if (kind != GC_WEAK_VALUES) gc_store(gc, &table->items[5000].key, new_node(1)); /* dies */
    finish();
    size_t looked = looked_at(), wrong = 0;
    if (!heap->options.test.scarce_memory && !heap->options.test.candidates)
        ok(looked <= 12 * PIECE_ENTRIES, "kind %d: %zu entries are looked at in the last pause", (int)kind, looked);
    for (size_t i = 0; i < ENTRIES; i++) {
        bool gone = i == 10 || i == 2000 || (i == 5000 && kind != GC_WEAK_VALUES);
        key = table->items[i].key, value = table->items[i].value;
        wrong += gone ? key || value : !key || key->value != i || !value || value->value != i + ENTRIES;
    }
    is(wrong, 0, "kind %d: what is dead was cleared, and nothing else", (int)kind);
    table = NULL;
    full();
    scene_close();
}

static void settled_ephemerons(void) { settled_pairs(&ephemerons_type, GC_WEAK_EPHEMERONS); }
static void settled_kinds(void) {
    for (int kind = GC_WEAK_KEYS; kind <= GC_WEAK_EPHEMERONS; kind++) settled_pairs(&pairs_type, (gc_weak_kind)kind);
}

/* Ephemerons whose keys are the values of others: some passes settle the first of them, the last pause does the rest. */
static void chained_ephemerons(void) {
    enum { CHAIN = 300 };
    pairs *table = NULL;
    node *first = NULL, *next = NULL;
    GC_ROOTS(gc, table, first, next);
    scene_open();
    for (int backwards = 0; backwards < 2; backwards++) {
        table = gc_new_array(gc, &ephemerons_type, CHAIN);
        next = first = new_node(0);
        for (size_t i = 0; i < CHAIN; i++) {
            pair *at = &table->items[backwards ? CHAIN - 1 - i : i];
            gc_store(gc, &at->key, next);
            next = new_node(i + 1);
            gc_store(gc, &table->items[backwards ? CHAIN - 1 - i : i].value, next);
        }
        next = NULL;
        full();
        full();
        begin_marking();
        mark_and_settle_all();
        finish();
        size_t length = 0;
        for (; length < CHAIN; length++) {
            const pair *at = &table->items[backwards ? CHAIN - 1 - length : length];
            const node *key = at->key, *value = at->value;
            if (!key || key->value != length || !value || value->value != length + 1) break;
        }
        is(length, CHAIN, "a chain of ephemerons is whole");
        first = NULL;
        full();
        is(table->items[0].key || table->items[CHAIN - 1].value, false, "and gone when its first key is dead");
    }
    table = NULL;
    scene_close();
}

/* Random stores, young collections and cycles. What is in `many` lives; an entry for it is never cleared. */
static void random_tables(void) {
    enum { COUNT = 500, ROUNDS = 40 };
    vector *many = NULL, *weak = NULL;
    pairs *table = NULL;
    node *key = NULL, *value = NULL;
    uint64_t random = 88172645463325252u;
    size_t wrong = 0, kept = 0;
    GC_ROOTS(gc, many, weak, table, key, value);
    scene_open();
    many = new_vector(COUNT);
    for (size_t i = 0; i < COUNT; i++) gc_store(gc, &many->items[i], key = new_node(i));
    weak = gc_new_array(gc, &weak_type, COUNT);
    table = gc_new_array(gc, &ephemerons_type, COUNT);
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 4 == 0) begin_marking();
        for (int op = 0; op < 60; op++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t i = random % COUNT, j = (random >> 20) % COUNT;
            switch (random >> 40 & 7) {
            case 0: gc_store(gc, &many->items[i], key = new_node(i)); break;
            case 1: gc_store(gc, &many->items[i], random >> 50 & 1 ? NULL : many->items[i]); break;
            case 2:
            case 3: gc_store(gc, &weak->items[j], many->items[i]); break;
            case 4:
                if (!many->items[i]) break;
                value = new_node(((node *)many->items[i])->value + COUNT);
                gc_store(gc, &table->items[j].key, many->items[i]);
                gc_store(gc, &table->items[j].value, value);
                break;
            case 5: /* lives again, perhaps */
                key = gc_load_weak(gc, &weak->items[j]);
                if (key) gc_store(gc, &many->items[key->value], key);
                break;
            default:
                if (heap->marking) gc__marker_turn(heap, 1 + random % 50);
            }
        }
        key = value = NULL;
        if (round % 8 == 7 && heap->marking) mark_and_settle_all(); /* other cycles end before the tables are settled */
        if (round % 4 == 3)
            finish();
        else
            gc_collect(heap, round & 1, 0);
        for (size_t i = 0; i < COUNT; i++) {
            const node *held = weak->items[i], *of = table->items[i].key, *with = table->items[i].value;
            wrong += held && held->value >= COUNT;
            wrong += !of != !with || (of && with->value != of->value + COUNT);
            kept += of && held;
        }
    }
    is(wrong, 0, "entries refer to what they did");
    ok(kept > ROUNDS * COUNT / 20, "and many live");
    full();
    for (size_t i = 0; i < COUNT; i++) {
        bool held = !weak->items[i];
        for (size_t k = 0; k < COUNT && !held; k++) held = many->items[k] == weak->items[i];
        wrong += !held;
    }
    is(wrong, 0, "what is dead is in no table after a full collection");
    scene_close();
}

/* An ephemeron whose key is the value of one behind it. */
static void settled_in_a_second_pass(void) {
    enum { LAST = 8 * PIECE_ENTRIES - 1 };
    pairs *table = NULL;
    node *first = NULL;
    GC_ROOTS(gc, table, first);
    scene_open();
    table = gc_new_array(gc, &ephemerons_type, LAST + 1);
    first = new_node(0);
    gc_store(gc, &table->items[LAST].key, first);
    gc_store(gc, &table->items[LAST].value, new_node(1));
    gc_store(gc, &table->items[0].key, table->items[LAST].value);
    gc_store(gc, &table->items[0].value, new_node(2));
    full(), full();
    begin_marking_in_place();
    mark_and_settle_all();
    ok(heap->options.test.scarce_memory || !heap->marker->slices.unclean.count, "another pass settles what the first one has found the key of");
    finish();
    ok(table->items[0].value && ((node *)table->items[0].value)->value == 2, "both are whole");
    table = NULL;
    full();
    scene_close();
}

/* What is stored into settled tables may be known to weak handles only; then a young collection cleans the card. */
static void stored_when_settled_by(void (*store)(void *slot, void *ref)) {
    vector *many = NULL, *weak = NULL;
    pairs *table = NULL;
    node *made = NULL;
    gc_handle handles[2];
    GC_ROOTS(gc, many, weak, table, made);
    scene_open();
    many = new_vector(ENTRIES);
    weak = gc_new_array(gc, &weak_type, ENTRIES);
    table = gc_new_array(gc, &ephemerons_type, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++) {
        gc_store(gc, &many->items[i], made = new_node(i));
        gc_store(gc, &weak->items[i], made);
        gc_store(gc, &table->items[i].key, made);
        gc_store(gc, &table->items[i].value, made);
    }
    gc_store(gc, &last_of(list)->right, made = new_node(ENTRIES));
    handles[0] = gc_handle_create(heap, GC_HANDLE_WEAK, made);
    gc_store(gc, &scanned->items[0], made = new_node(ENTRIES + 1));
    handles[1] = gc_handle_create(heap, GC_HANDLE_WEAK, made);
    made = NULL;
    full(), full();
    gc_store(gc, &last_of(list)->right, NULL);
    gc_store(gc, &scanned->items[0], NULL);
    begin_marking_in_place();
    mark_and_settle_all();
    store(&table->items[77].value, gc_handle_get(handles[0]));
    store(&weak->items[77], gc_handle_get(handles[1]));
    gc_collect(heap, 0, 0);
    finish();
    made = table->items[77].value;
    ok(made && made->value == ENTRIES && gc_handle_get(handles[0]) == made, "the value of an ephemeron whose key lives");
    ok(weak->items[77] == gc_handle_get(handles[1]), "an entry is cleared if its handle is");
    ok(gc_heap_verify(heap), "all is in order");
    for (int i = 0; i < 2; i++) gc_handle_destroy(heap, handles[i]);
    table = NULL, weak = NULL, made = NULL;
    full();
    scene_close();
}

static void stored_when_settled(void) { stored_when_settled_by(by_gc_store); }

/* A reference to a leaving object is stored into a piece that is settled, and a young collection cleans its card. */
static void met_when_settled(void) {
    vector *many = NULL, *weak = NULL;
    GC_ROOTS(gc, many, weak);
    scene_open();
    many = new_vector(ENTRIES);
    weak = gc_new_array(gc, &weak_type, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++) gc_store(gc, &many->items[i], new_vector(0));
    full();
    full();
    begin_marking();
    mark_and_settle_all();
    size_t leaves = 0;
    while (leaves + 1 < ENTRIES && !gc__is_candidate((uintptr_t)many->items[leaves])) leaves++;
    const void *before = many->items[leaves];
    ok(gc__is_candidate((uintptr_t)before) && !heap->marker->slices.unclean.count, "an object leaves, and all of a table is settled");
    gc_store(gc, &weak->items[77], many->items[leaves]);
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    finish();
    ok(many->items[leaves] != before && weak->items[77] == many->items[leaves], "a weak reference follows the object that has left");
    weak = NULL;
    full();
    scene_close();
}

/* settled: how many parts of the table are, when the cycle ends. */
/* Keys and values in two arrays of one object. */
static void trace_apart(void *object, gc_visitor *visitor) {
    vector *table = object;
    size_t count = table->header.length / 2;
    gc_weak_entries entries = {.kind = GC_WEAK_EPHEMERONS, .keys = table->items, .values = table->items + count, .count = count, .entry_bytes = 8};
    gc_visit_weak(visitor, &entries);
}
static const gc_type apart_type = GC_TYPE_ARRAY_TRACED(vector, items, trace_apart);

static void arrays_apart(void) {
    vector *many = NULL, *table = NULL;
    node *made = NULL;
    size_t wrong = 0;
    GC_ROOTS(gc, many, table, made);
    scene_open();
    many = new_vector(500);
    table = gc_new_array(gc, &apart_type, 1000);
    for (size_t i = 0; i < 500; i++) {
        gc_store(gc, &many->items[i], made = new_node(i));
        gc_store(gc, &table->items[i], made);
        gc_store(gc, &table->items[500 + i], made = new_node(i));
    }
    made = NULL;
    full();
    full();
    gc_store(gc, &many->items[3], NULL);
    begin_marking();
    mark_and_settle_all();
    is(heap->marker->tables.count, 0, "two arrays are not looked at in pieces");
    gc_store(gc, &many->items[4], NULL);
    finish();
    for (size_t i = 0; i < 500; i++) wrong += !table->items[i] != (i == 3) || !table->items[i] != !table->items[500 + i];
    is(wrong - (wrong && !table->items[4]), 0, "what is dead was cleared, and nothing else");
    scene_close();
}

static void settled_references_of(size_t settled) {
    vector *many = NULL, *weak = NULL;
    node *young = NULL;
    GC_ROOTS(gc, many, weak, young);
    scene_open();
    many = new_vector(ENTRIES);
    weak = gc_new_array(gc, &weak_type, ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++) {
        gc_store(gc, &many->items[i], young = new_node(i));
        gc_store(gc, &weak->items[i], young);
    }
    young = NULL;
    full();
    full();
    for (size_t i = 0; i < 3; i++) gc_store(gc, &many->items[1000 * i], NULL);
    begin_marking_in_place();
    if (settled == SIZE_MAX) mark_and_settle_all();
    mark_all();
    for (size_t i = 0; settled < SIZE_MAX && i < settled; i++) gc__tables_preclean(heap);
    gc_store(gc, &many->items[5], gc_load_weak(gc, &weak->items[1000])); /* lives again: not even its entry changes */
    gc_store(gc, &weak->items[7], young = new_node(7));
    gc_store(gc, &many->items[7], young);
    gc_store(gc, &weak->items[2500], young = new_node(2500));
    young = NULL;
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    finish();
    size_t looked = looked_at(), wrong = 0;
    if (settled == SIZE_MAX && !heap->options.test.scarce_memory && !heap->options.test.candidates)
        ok(looked <= 8 * PIECE_ENTRIES, "%zu weak references are looked at in the last pause", looked);
    for (size_t i = 0; i < ENTRIES; i++) {
        const node *held = gc_load_weak(gc, &weak->items[i]);
        bool gone = i == 0 || i == 2000 || i == 2500;
        wrong += i == 1000 ? held != many->items[5] : gone ? held != NULL : held != many->items[i] && i != 5;
    }
    is(wrong, 0, "what is dead was cleared, and nothing else");
    weak = NULL;
    full();
    scene_close();
}

static void settled_references(void) {
    settled_references_of(SIZE_MAX);
    settled_references_of(0);
    settled_references_of(1);
}

/* A table and an object that have slots in memory of their own only after the marker has called their trace functions: raw stores
   follow gc_remember, and a young collection cleans the cards. */
enum { OWNED = 64, OWNED_LIVE = 20, OWNED_AGAIN = 50 };

typedef struct owner {
    gc_object header;
    void *own[OWNED], **buffer;
    size_t count; /* in the buffer; 0: there is none */
    bool strong;
} owner;

static void trace_owner(void *object, gc_visitor *visitor) {
    const owner *o = object;
    size_t count = __atomic_load_n(&o->count, __ATOMIC_ACQUIRE);
    gc_weak_entries entries = {.keys = count ? o->buffer : (void **)&o->own, .count = count ? count : OWNED, .flags = count ? GC_SLOT_OWNED : 0};
    if (o->strong)
        gc_visit(visitor, o->buffer, count, GC_SLOT_OWNED);
    else
        gc_visit_weak(visitor, &entries);
}
static const gc_type owner_type = {.name = "owner", .bytes = sizeof(owner), .trace = trace_owner};

static void own_later(owner *object, void **buffer, size_t count) {
    object->buffer = buffer;
    __atomic_store_n(&object->count, count, __ATOMIC_RELEASE);
}

static void owned_later_than(void (*mark)(void)) {
    void *buffer[OWNED], *again[1];
    owner *weak = NULL, *strong = NULL;
    vector *many = NULL;
    GC_ROOTS(gc, weak, strong, many);
    scene_open();
    weak = gc_new(gc, &owner_type), strong = gc_new(gc, &owner_type), many = new_vector(OWNED);
    strong->strong = true;
    for (size_t i = 0; i < OWNED; i++) {
        gc_store(gc, &many->items[i], new_node(i));
        gc_store(gc, &weak->own[i], many->items[i]);
    }
    gc_handle handle = gc_handle_create(heap, GC_HANDLE_WEAK, many->items[OWNED_AGAIN]);
    full();
    full();
    for (size_t i = OWNED_LIVE; i < OWNED; i++) gc_store(gc, &many->items[i], NULL);
    begin_marking_in_place();
    mark();
    gc_remember(gc, weak);
    memcpy(buffer, weak->own, sizeof buffer);
    own_later(weak, buffer, OWNED);
    gc_remember(gc, strong);
    again[0] = gc_handle_get(handle);
    own_later(strong, again, 1);
    mark_and_settle_all();
    gc_collect(heap, 0, 0);
    mark_and_settle_all();
    finish();
    size_t held = 0;
    for (size_t i = 0; i < OWNED; i++) held += buffer[i] != NULL;
    is(held, OWNED_LIVE + 1, "entries of dead objects are cleared where they are by now");
    ok(again[0] && gc_handle_get(handle) == again[0], "and what a buffer keeps lives");
    ok(gc_heap_verify(heap), "all is in order");
    weak = strong = NULL;
    gc_handle_destroy(heap, handle);
    full();
    scene_close();
}

/* An old object that the marker has scanned gets a buffer, and in it what nothing else leads to, before the last stop. */
static void owned_at_last(void) {
    void *buffer[1];
    owner *strong = NULL;
    GC_ROOTS(gc, strong);
    scene_open();
    strong = gc_new(gc, &owner_type);
    strong->strong = true;
    full(), full();
    begin_marking_in_place();
    mark_some(100);
    node *holder = last_of(list), *hidden = holder->right;
    gc_store(gc, &holder->right, NULL);
    mark_and_settle_all();
    ok(is_marked(strong) && !is_marked(hidden), "an object was scanned, and another one was not found");
    gc_remember(gc, strong);
    buffer[0] = hidden;
    own_later(strong, buffer, 1);
    finish();
    is(((node *)buffer[0])->value, 4711, "what the object has owned at last lives");
    ok(gc_heap_verify(heap), "all is in order");
    strong = NULL;
    full();
    scene_close();
}

/* Several owners in a remark, which traces each of them once. */
static void owners_in_a_remark(void) {
    void *buffers[2][1] = {{NULL}, {NULL}};
    owner *first = NULL, *second = NULL;
    node *dead = NULL;
    GC_ROOTS(gc, first, second, dead);
    first = gc_new(gc, &owner_type), second = gc_new(gc, &owner_type), dead = new_node(1);
    first->strong = second->strong = true;
    gc_remember(gc, first), gc_remember(gc, second);
    own_later(first, buffers[0], 1), own_later(second, buffers[1], 1);
    gc_finalizer_register(gc, dead, &counting);
    full(), full();
    dead = NULL;
    begin_marking_in_place();
    mark_and_settle_all();
    remark();
    ok(heap->marking && heap->marker->remark == GC__REMARK_MADE, "two owners are traced in a remark");
    ok(heap->marker->waiting.count < 10, "which adds none of them to those that wait: %zu", heap->marker->waiting.count);
    mark_and_settle_all();
    finish();
    gc_finalizer_run(gc, SIZE_MAX);
    ok(!heap->marking && gc_heap_verify(heap), "and so does the cycle");
}

static void owned_later(void) {
    owned_later_than(mark_and_settle_all);
    owned_later_than(mark_all);
    owned_at_last();
    owners_in_a_remark();
}
