/* Comparing heap and model, in lockstep from all roots. */
#pragma once

#include "random_world.h"

typedef struct checker {
    world *w;
    size_t pending;
    size_t objects, bytes, external, large; /* reached from strong roots */
} checker;

/* What a header says it is; the word may be anything. */
static const char *header_name(const void *header) {
    for (size_t i = 0; i < KINDS; i++)
        if (header == &kinds[i].type) return kinds[i].name;
    return "(no object)";
}

/* Whether the object at `address` is the node's. Cheap: header, length and id. */
static void node_check(const world *w, uint32_t index, const char *address, const char *from, size_t slot) {
    const node *n = w->model.nodes[index];
    const kind *k = n->kind;
    if (!address || (uintptr_t)address & 7) wrong("%s slot %zu holds %p instead of a `%s`", from, slot, (const void *)address, k->name);
    const gc_array *array = (const gc_array *)(const void *)address;
    if (array->header.type != &k->type)
        wrong("%s slot %zu: the object %p (id %llu) is a `%s`, expected a `%s`", from, slot, (const void *)address,
              (unsigned long long)n->serial, header_name(array->header.type), k->name);
    if (k->type.element_bytes && array->length != n->length)
        wrong("%s slot %zu: the `%s` %p (id %llu) has length %zu, expected %zu", from, slot, k->name, (const void *)address,
              (unsigned long long)n->serial, array->length, n->length);
    uint64_t id;
    memcpy(&id, address + k->id_offset, 8);
    if (k->id_offset && id != n->serial)
        wrong("%s slot %zu: the `%s` %p has id %llu, expected %llu", from, slot, k->name, (const void *)address,
              (unsigned long long)id, (unsigned long long)n->serial);
}

static void meet(checker *c, uint32_t index, char *address, const char *from, size_t slot) {
    model *m = &c->w->model;
    node *n = m->nodes[index];
    if (!n) wrong("%s slot %zu: the model has no node %u: a fault of this test", from, slot, index);
    if (n->epoch == m->epoch) {
        if (n->address != address)
            wrong("%s slot %zu: the `%s` with id %llu is at %p, but another slot says %p", from, slot, n->kind->name,
                  (unsigned long long)n->serial, (void *)address, (void *)n->address);
        return;
    }
    node_check(c->w, index, address, from, slot);
    if (n->fixed_at && n->fixed_at != address)
        wrong("the `%s` (id %llu), which never moves, has moved from %p to %p", n->kind->name, (unsigned long long)n->serial,
              (void *)n->fixed_at, (void *)address);
    n->epoch = m->epoch;
    n->address = address;
    m->stack[c->pending++] = index;
    c->objects++;
    c->bytes += node_bytes(n);
    c->external += n->external;
    if (node_bytes(n) > GC_LARGE_BYTES) c->large += node_bytes(n);
}

static void check_slot(checker *c, const node *n, size_t i) {
    bool value;
    const gc_word *slot = slot_at(n->kind, n->address, i, &value);
    gc_word word = *slot, expected[VALUE_WORDS];
    cell cell_ = n->cells[i];
    uint32_t index = cell_index(cell_);
    bool is_object = index && !is_static(index);
    uintptr_t object = 0;
    if (is_object) object = word;
#if GC_HAS_VALUES
    if (is_object && value) object = GC__VALUE_IS_REF(slot, word) ? GC_VALUE_TO_REF(word) : 0;
#endif
    cell_words(expected, cell_, value, (void *)object);
    if (memcmp(slot, expected, 8 * place_words(value)) != 0)
        wrong("slot %zu of the `%s` %p (id %llu, generation %d) holds %#llx, expected %#llx", i, n->kind->name,
              (void *)n->address, (unsigned long long)n->serial, gc_object_generation(n->address),
              (unsigned long long)word, (unsigned long long)*expected);
    if (is_object) meet(c, index, (char *)object, n->kind->name, i);
}

static void drain(checker *c) {
    model *m = &c->w->model;
    while (c->pending) {
        const node *n = m->nodes[m->stack[--c->pending]];
        size_t fault = payload_each(n, n->address, payload_equal), count = node_slots(n);
        if (fault)
            wrong(
                "the payload at offset %zu of the `%s` %p (id %llu, length %zu, generation %d) is not what was written",
                fault, n->kind->name, (void *)n->address, (unsigned long long)n->serial, n->length,
                gc_object_generation(n->address));
        for (size_t i = 0; i < count; i++) check_slot(c, n, i);
    }
}

static const char *const home_names[HOMES] = {"frame", "global", "scan_roots", "weak table", "stack", "handle"};

static void check_root(checker *c, root *r) {
    char *object = root_get(r);
    size_t which = (size_t)(r - c->w->roots);
    if (root_is_pinning(r) && object != r->pinned_at)
        wrong("%s root %zu: what it pins moved from %p to %p", home_names[r->home], which, (void *)r->pinned_at, (void *)object);
    if (!is_static(r->index)) meet(c, r->index, object, home_names[r->home], which);
    else if (object != static_object(r->index)) wrong("%s root %zu: the static object became %p", home_names[r->home], which, (void *)object);
}

/* Weak handles are null only if nothing else reaches the object; after a full collection they are null if nothing does. */
static void check_weak(checker *c, bool exact) {
    model *m = &c->w->model;
    uint64_t epoch = m->epoch;
    for (root *r = c->w->roots; r < c->w->roots + ROOTS; r++) {
        if (!root_in_use(r) || !root_is_weak(r) || !r->index || is_static(r->index)) continue;
        const node *n = m->nodes[r->index];
        bool reachable = n->epoch == epoch;
        char *object = root_get(r);
        if (!object && reachable) wrong("a weak handle of the `%s` %p (id %llu) was cleared, but it is reachable", n->kind->name,
                                        (void *)n->address, (unsigned long long)n->serial);
        if (object && !reachable && exact) wrong("a weak handle of the `%s` %p (id %llu) was not cleared by a full collection, but it "
                                                 "is not reachable", n->kind->name, (void *)object, (unsigned long long)n->serial);
        if (object && reachable && object != n->address) wrong("a weak handle of the `%s` %p (id %llu) says %p", n->kind->name,
                                                               (void *)n->address, (unsigned long long)n->serial, (void *)object);
        if (!object) r->index = 0;
    }
}

/* What only uncleared weak handles reach must be whole too, since they can bring it back. */
static void check_resurrectable(checker *c) {
    for (root *r = c->w->roots; r < c->w->roots + ROOTS; r++)
        if (root_in_use(r) && root_is_weak(r) && r->index && !is_static(r->index)) meet(c, r->index, root_get(r), "weak handle", 0);
    drain(c);
}

typedef struct walked {
    world *w;
    size_t objects, bytes, generation_bytes[GC_GENERATIONS];
} walked;

static bool walk_visit(void *context, void *object, size_t bytes, int generation) {
    walked *walk = context;
    if (bytes != gc_object_bytes(object))
        wrong("gc_heap_walk: %zu bytes, gc_object_bytes: %zu", bytes, gc_object_bytes(object));
    if (generation != gc_object_generation(object))
        wrong("gc_heap_walk: generation %d, gc_object_generation: %d", generation, gc_object_generation(object));
    walk->objects++;
    walk->bytes += bytes;
    walk->generation_bytes[generation] += bytes;
    return true;
}

/* Just after a full collection what the heap holds is what is reachable. */
static void check_exact(const checker *c) {
    walked walk = {.w = c->w};
    gc_stats stats;
    gc_heap_walk(c->w->heap, walk_visit, &walk);
    gc_heap_stats(c->w->heap, &stats);
    if (walk.objects != c->objects)
        wrong("gc_heap_walk finds %zu objects after a full collection, expected %zu", walk.objects, c->objects);
    if (walk.bytes != c->bytes)
        wrong("gc_heap_walk finds %zu bytes after a full collection, expected %zu", walk.bytes, c->bytes);
    if (stats.live_bytes != c->bytes) wrong("stats.live_bytes is %zu after a full collection, expected %zu", stats.live_bytes, c->bytes);
    size_t external = c->external + (size_t)((char *)c->w->stack.limit - (char *)c->w->stack.base);
    if (stats.external_bytes != external)
        wrong("stats.external_bytes is %zu after a full collection, expected %zu", stats.external_bytes, external);
    if (stats.large_bytes != c->large) wrong("stats.large_bytes is %zu after a full collection, expected %zu", stats.large_bytes, c->large);
    size_t verified = gc_heap_verify(c->w->heap);
    if (GC_DIAGNOSTICS && verified != c->objects)
        wrong("gc_heap_verify says %zu objects after a full collection, expected %zu", verified, c->objects);
}

static struct {
    unsigned long long count, objects;
} checks;

/* `exact`: a full collection has just run. The model then forgets what nothing can reach any more. */
static void check(world *w, bool exact) {
    checker c = {.w = w};
    const char *doing = run.doing;
    run.doing = exact ? "checking after a full collection" : "checking";
    w->model.epoch++;
    for (root *r = w->roots; r < w->roots + ROOTS; r++)
        if (root_in_use(r) && !root_is_weak(r) && r->index) check_root(&c, r);
    drain(&c);
    check_weak(&c, exact);
    if (exact) check_exact(&c);
    else check_resurrectable(&c);
    for (uint32_t i = 1; i < w->model.count; i++)
        if (w->model.nodes[i] && w->model.nodes[i]->epoch != w->model.epoch) model_remove(&w->model, i);
    w->checked_collections = w->collections;
    checks.count++;
    checks.objects += c.objects;
    run.doing = doing;
}
