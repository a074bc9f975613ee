/* The operations. Each does the same to heap and model. Addresses are not kept across anything that may collect. */
#pragma once

#include "random_barrier.h"

typedef struct object {
    uint32_t index; /* 0: none */
    char *address;
} object;

static node *node_of(const world *w, object o) { return w->model.nodes[o.index]; }

/* An object that a slot of `from` refers to; `from` itself if a few tries find none. */
static object step(world *w, object from) {
    const node *n = node_of(w, from);
    size_t count = node_slots(n);
    for (int i = 0; i < 3 && count; i++) {
        size_t slot = below(&w->random, count);
        uint32_t index = cell_index(n->cells[slot]);
        if (!index || is_static(index)) continue;
        bool value;
        gc_word word = *slot_at(n->kind, from.address, slot, &value);
#if GC_HAS_VALUES
        if (value) word = GC_VALUE_TO_REF(word);
#endif
        node_check(w, index, (char *)word, n->kind->name, slot);
        return (object){index, (char *)word};
    }
    return from;
}

/* Some object, a few steps away from a root. {0} if tries find none. */
static object pick(world *w) {
    for (int i = 0; i < 8; i++) {
        root *r = root_any(w, one_in(&w->random, 16));
        if (!r->index || is_static(r->index)) continue;
        object o = {r->index, root_get(r)};
        if (!o.address) continue; /* a cleared weak handle: the next check looks whether that was right */
        node_check(w, o.index, o.address, home_names[r->home], (size_t)(r - w->roots));
        for (size_t steps = below(&w->random, 5); steps > 0; steps--) o = step(w, o);
        return o;
    }
    return (object){0, NULL};
}

/* What a slot is to hold: an object, null, a static object or, if values are allowed, a number. */
static cell pick_cell(world *w, bool value, char **address) {
    *address = NULL;
    size_t choice = below(&w->random, 20);
    if (choice == 0) return STATICS + below(&w->random, STATIC_COUNT);
    if (choice == 1) return 0;
    if (GC_HAS_VALUES && value && choice < 8) return CELL_NUMBER | bits(&w->random) >> 24;
    object o = pick(w);
    *address = o.address;
    return o.index ? o.index | (value ? (cell)below(&w->random, VALUE_TAGS) << 32 : 0) : 0;
}

/* Dropping. */

static void root_clear(world *w, root *r) { root_set(w, r, 0, NULL); }

static void drop_roots(world *w, size_t one_of) {
    for (size_t i = 0; i < ROOTS; i++)
        if (root_in_use(&w->roots[i]) && w->roots[i].index && one_in(&w->random, one_of)) root_clear(w, &w->roots[i]);
}

static void op_drop(world *w) {
    for (size_t count = 1 + below(&w->random, 4); count > 0; count--) root_clear(w, root_any(w, true));
}

static void op_drop_all(world *w) {
    if (one_in(&w->random, 30)) drop_roots(w, 1 + below(&w->random, 3));
}

static bool is_full(const world *w, size_t part) {
    return w->model.live > w->live_most / part || w->model.bytes > w->bytes_most / part;
}

/* Empties some objects. Just after a check, which has noted where they are. */
static void prune(world *w, size_t one_of) {
    for (uint32_t i = 1; i < w->model.count; i++) {
        node *n = w->model.nodes[i];
        if (!n || !one_in(&w->random, one_of)) continue;
        size_t count = node_slots(n);
        for (size_t slot = 0; slot < count; slot++) {
            bool value;
            if (!n->cells[slot]) continue;
            gc_word *at = slot_at(n->kind, n->address, slot, &value);
            gc_store(w->thread, at, NULL);
            if (place_words(value) > 1) __atomic_store_n(&at[1], 0, __ATOMIC_RELAXED);
            n->cells[slot] = 0;
        }
    }
}

/* Keeps the live set bounded: the model knows what is dead only after a check. */
static void bound_live(world *w) {
    if (!is_full(w, 1)) return;
    check(w, false);
    for (size_t tries = 8; tries > 0 && is_full(w, 2); tries--) {
        prune(w, tries + 1);
        drop_roots(w, tries);
        check(w, false);
    }
}

/* Allocating. */

/* Sizes on both sides of each threshold: of large objects, of their last page, and of their last region. */
static size_t large_bytes(prng *random) {
    size_t page = 4096, pages = 3 * GC_REGION_BYTES / page;
    switch (below(random, 4)) {
    case 0: return GC_LARGE_BYTES + below(random, 3 * GC_REGION_BYTES - GC_LARGE_BYTES);
    case 1: return GC_LARGE_BYTES + 8 * below(random, 4);
    case 2: return (GC_LARGE_BYTES / page + 1 + below(random, pages - GC_LARGE_BYTES / page)) * page + 8 * below(random, 4) - 16;
    default: return skewed(random, GC_LARGE_BYTES, 3 * GC_REGION_BYTES);
    }
}

static size_t random_length(world *w, const kind *k) {
    prng *random = &w->random;
    if (!k->type.element_bytes || one_in(random, 16)) return 0;
    size_t large = GC_REGION_BYTES >> 17 ? 20 * (GC_REGION_BYTES >> 16) : 100, bytes = 16 + skewed(random, 0, 900);
    if (w->options.heap_bytes_max) large /= 16;
    if (one_in(random, 40)) bytes = 16 + skewed(random, 0, GC_LARGE_BYTES);
    if (one_in(random, 160)) bytes = GC_LARGE_BYTES / 8 + below(random, GC_LARGE_BYTES / 8 * 7 + 8);
    if (one_in(random, large + 1)) bytes = large_bytes(random);
    return bytes / k->type.element_bytes;
}

static void check_fresh(const kind *k, const char *address, size_t bytes, bool raw) {
    size_t header = k->type.element_bytes ? 16 : 8;
    for (size_t i = header; i < bytes && !raw; i += i < 4096 ? 1 : 97)
        if (address[i]) wrong("a new `%s` %p has a byte %#x at offset %zu", k->name, (const void *)address, (unsigned char)address[i], i);
    if (gc_object_generation(address) != 0 && gc_object_generation(address) != 2)
        wrong("a new `%s` is in generation %d", k->name, gc_object_generation(address));
}

/* Stores of the object's own that need no barrier, and its payload. */
static void initialize(world *w, object o) {
    node *n = node_of(w, o);
    size_t count = node_slots(n);
    payload_each(n, o.address, payload_write);
    for (size_t i = 0; i < count; i += 1 + below(&w->random, 1 + count / 8)) {
        bool value;
        char *address;
        gc_word *slot = slot_at(n->kind, o.address, i, &value);
        n->cells[i] = pick_cell(w, value, &address);
        cell_words(slot, n->cells[i], value, address);
    }
}

/* Limits near what lives. */

/* What the model's objects take of the limit at least: whole pages if they are large, 2 % for tables, and what is beside. */
static size_t least_charge(world *w) {
    size_t bytes = 0;
    gc_stats s;
    gc_heap_stats(w->heap, &s);
    for (size_t i = 1; i < w->model.count; i++) {
        const node *n = w->model.nodes[i];
        if (!n) continue;
        size_t size = (node_bytes(n) + 7) & ~(size_t)7;
        bytes += (size > GC_LARGE_BYTES ? (size + 4095) & ~(size_t)4095 : size) + n->external;
    }
    return bytes + bytes / 50 + s.metadata_bytes;
}

/* What cannot be of use, at most: a region for each pinned object, and for each kind of window, and what is being filled. */
static size_t most_waste(const world *w) {
    size_t regions = 3;
    for (const root *r = w->roots; r < w->roots + ROOTS; r++) regions += root_in_use(r) && root_is_pinning(r) && r->index;
    return regions * GC_REGION_BYTES;
}

/* Whether `more` bytes must have found room, by what is free in all holes together. Where nothing moves, holes may be too small. */
static bool must_fit(world *w, size_t more, size_t limit) {
    size_t charge = least_charge(w);
    return !w->options.non_moving && charge + charge / 16 + more + more / 50 + most_waste(w) <= limit;
}

/* The limit becomes 1.1 to 3 times what lives. */
static void op_follow(world *w) {
    run.doing = "changing the limit";
    check(w, false);
    size_t charge = least_charge(w), least = 8 * GC_REGION_BYTES;
    size_t limit = charge / 100 * (110 + below(&w->random, 190)) + GC_REGION_BYTES;
    if (limit < least) limit = least;
    gc_result result = gc_heap_set_limits(w->heap, &(gc_limits){.heap_bytes_max = limit});
    if (result == GC_OK) w->options.heap_bytes_max = limit;
    else if (result != GC_ERROR_HEAP_FULL || must_fit(w, 0, limit))
        wrong("gc_heap_set_limits(%zu), while %zu are needed: %s", limit, charge, gc_last_message());
    gc_stats s;
    gc_heap_stats(w->heap, &s);
    if (s.heap_bytes_max != w->options.heap_bytes_max) wrong("the limit is %zu, expected %zu", s.heap_bytes_max, w->options.heap_bytes_max);
}

/* Another nursery, growth and goal; in a heap with a limit also a pause, until the next such change. */
static void op_pace(world *w) {
    run.doing = "changing the pacing";
    gc_pacing pacing = {.nursery_bytes = one_in(&w->random, 3) ? 0 : skewed(&w->random, 16 << 10, 1 << 20),
                        .growth_percent = one_in(&w->random, 2) ? 20 + (unsigned)below(&w->random, 100) : 0,
                        .pause_goal_us = one_in(&w->random, 2) ? 100 : 0,
                        .paused = w->options.heap_bytes_max && one_in(&w->random, 3)}, now = {0};
    if (gc_heap_set_pacing(w->heap, &pacing) != GC_OK) wrong("gc_heap_set_pacing: %s", gc_last_message());
    gc_heap_pacing(w->heap, &now);
    if (now.nursery_bytes != pacing.nursery_bytes || now.paused != pacing.paused) wrong("the pacing is not what was set");
    /* Without time, so that a seed does the same again. */
    for (unsigned steps = (unsigned)below(&w->random, 4); steps; steps--) gc_step(w->heap, 0);
}

static void allocation_failed(world *w, const kind *k, size_t length, size_t hook_calls) {
    gc_result result = gc_last_result();
    bool allowed = w->options.heap_bytes_max && (result == GC_ERROR_HEAP_FULL || result == GC_ERROR_TOO_LARGE);
    if (!allowed) wrong("no `%s` of length %zu: %s", k->name, length, gc_last_message());
    if (result == GC_ERROR_HEAP_FULL && w->out_of_memory == hook_calls) wrong("the out_of_memory hook was not called");
    check(w, false);
    if (w->follows && result == GC_ERROR_HEAP_FULL && must_fit(w, kind_bytes(k, length), w->options.heap_bytes_max))
        wrong("no `%s` of %zu bytes, where objects need %zu of %zu bytes: %s", k->name, kind_bytes(k, length), least_charge(w),
              w->options.heap_bytes_max, gc_last_message());
    drop_roots(w, 1 + below(&w->random, 3));
}

/* A new object that nothing refers to yet; {0} if there is no memory. */
static object allocate(world *w, kind *k, size_t length) {
    size_t hook_calls = w->out_of_memory;
    bool raw = is_leaf(k) && k->type.element_bytes && one_in(&w->random, 2);
    bound_live(w);
    bool fixed = one_in(&w->random, 16);
    raw &= !fixed;
    char *address = fixed && k->type.element_bytes ? gc_new_with(w->thread, &k->type, length, GC_NEW_FIXED)
                    : fixed                ? gc_new_with(w->thread, &k->type, 0, GC_NEW_FIXED)
                    : !k->type.element_bytes ? gc_new(w->thread, &k->type)
                    : raw                  ? gc_new_with(w->thread, &k->type, length, GC_NEW_RAW)
                                           : gc_new_array(w->thread, &k->type, length);
    if (!address) {
        allocation_failed(w, k, length, hook_calls);
        return (object){0, NULL};
    }
    if ((uintptr_t)address & 7) wrong("a new `%s` is at %p", k->name, (void *)address);
    check_fresh(k, address, kind_bytes(k, length), raw);
    object o = {model_add(&w->model, k, length), address};
    node_of(w, o)->fixed_at = fixed ? address : NULL;
    initialize(w, o);
    return o;
}

/* A store that needs its barrier, since an older object comes to refer to a younger one; these are counted, and one of
   them can be forgotten on purpose. */
static bool forget_barrier(const void *owner, uint32_t index, const char *address) {
    if (!index || is_static(index) || gc_object_generation(owner) <= gc_object_generation(address)) return false;
    return ++run.barriers == run.forget_barrier;
}

static void store_by_call(world *w, gc_word *slot, const gc_word *words, bool value) {
    switch (below(&w->random, 4)) {
    case 0:
        gc_stores_begin(w->thread, slot, 1, value ? GC_SLOT_VALUE : 0);
        memcpy(slot, words, 8 * place_words(value));
        gc_stores_end(w->thread, slot, 1, value ? GC_SLOT_VALUE : 0);
        break;
    case 1:
        if (value || !GC_HAS_VALUES) gc_copy_values(w->thread, slot, words, 1);
        else gc_copy_refs(w->thread, slot, words, 1);
        break;
    default:
        if (place_words(value) > 1) __atomic_store_n(&slot[1], words[1], __ATOMIC_RELAXED);
        if (value || (!GC_HAS_VALUES && one_in(&w->random, 2))) gc_store_value(w->thread, slot, *words);
        else gc_store(w->thread, slot, (void *)*words);
    }
}

static void store(world *w, object owner, size_t i, cell c, char *address) {
    node *n = node_of(w, owner);
    bool value;
    gc_word *slot = slot_at(n->kind, owner.address, i, &value);
    gc_word words[VALUE_WORDS];
    cell_words(words, c, value, address);
    bool emitted = !(GC_HAS_VALUES && value) && !GC_SHADOW_HEAP && w->options.barrier_changed && one_in(&w->random, 6);
    n->cells[i] = c;
    if (forget_barrier(owner.address, cell_index(c), address)) {
        memcpy(slot, words, 8 * place_words(value));
        return;
    }
    card_state before = card_of(slot);
    if (emitted) emitted_store(slot, (void *)*words);
    else store_by_call(w, slot, words, value);
    if (cell_index(c)) check_watch(slot);
    if (forget_card(&before, slot, owner.address, cell_index(c), address)) card_restore(&before, slot);
}

/* A slot of the node, an empty one if a few tries find one and it is `wanted`, so that more lives. */
static size_t pick_slot(world *w, const node *n, size_t count, bool wanted) {
    size_t slot = below(&w->random, count);
    for (int i = 0; wanted && i < 8 && n->cells[slot]; i++) slot = below(&w->random, count);
    return slot;
}

static bool store_somewhere(world *w, object owner, uint32_t index, char *address) {
    size_t count = node_slots(node_of(w, owner));
    if (count) store(w, owner, pick_slot(w, node_of(w, owner), count, true), index, address);
    return count != 0;
}

static object pick_owner(world *w) {
    for (int i = 0; i < 4; i++) {
        object o = pick(w);
        if (o.index && node_slots(node_of(w, o))) return o;
    }
    return (object){0, NULL};
}

/* A root that is null, if a few tries find one. */
static root *root_null(world *w) {
    root *r = root_any(w, true);
    for (int i = 0; i < 8 && r->index; i++) r = root_any(w, true);
    return r;
}

static void op_allocate(world *w) {
    kind *k = &kinds[below(&w->random, KINDS)];
    object o = allocate(w, k, random_length(w, k));
    if (!o.index) return;
    object owner = pick_owner(w);
    if (!owner.index || one_in(&w->random, 16)) root_set(w, root_null(w), o.index, o.address);
    else store_somewhere(w, owner, o.index, o.address);
}

/* A list grown at its head, or at its tail, which is old by then. */
static void op_list(world *w) {
    root *head = &w->roots[0], *tail = &w->roots[1];
    object o = allocate(w, kind_small(&w->random), 0);
    if (!o.index) return;
    char *old = root_get(head);
    if (head->index && !is_static(head->index) && one_in(&w->random, 2)) {
        object last = {tail->index, root_get(tail)};
        if (!last.index || is_static(last.index)) last = (object){head->index, old};
        if (node_slots(node_of(w, last))) store(w, last, 0, o.index, o.address);
        root_set(w, tail, o.index, o.address);
    } else {
        store(w, o, 0, head->index, old);
        root_set(w, head, o.index, o.address);
    }
}

/* A wide tree: a vector filled with small objects, each allocated after it. */
static void op_tree(world *w) {
    kind *k = &kinds[KINDS / 2 + below(&w->random, KINDS / 2)];
    if (!k->element_slots) return;
    root *r = &w->roots[2];
    object top = allocate(w, k, 1 + skewed(&w->random, 0, 300));
    if (!top.index) return;
    root_set(w, r, top.index, top.address);
    for (size_t i = skewed(&w->random, 1, 200); i > 0; i--) {
        object o = allocate(w, kind_small(&w->random), 0);
        if (!o.index || !r->index || is_static(r->index)) return;
        store_somewhere(w, (object){r->index, root_get(r)}, o.index, o.address);
    }
}

/* First in, first out. */
static void op_churn(world *w) {
    static size_t turn;
    kind *k = &kinds[below(&w->random, KINDS)];
    object o = allocate(w, k, random_length(w, k));
    if (o.index) root_set(w, &w->roots[4 + turn++ % (FRAMES - 4)], o.index, o.address);
}

/* Storing. */

static void op_store(world *w) {
    object owner = pick_owner(w);
    if (!owner.index) return;
    size_t count = node_slots(node_of(w, owner));
    bool value;
    char *address;
    size_t i = one_in(&w->random, 4) ? count - 1 - below(&w->random, count < 8 ? count : 8)
                                       : pick_slot(w, node_of(w, owner), count, one_in(&w->random, 2));
    slot_at(node_of(w, owner)->kind, owner.address, i, &value);
    cell c = pick_cell(w, value, &address);
    store(w, owner, i, c, address);
}

static object pick_vector(world *w, bool value) {
    for (int i = 0; i < 6; i++) {
        object o = pick(w);
        if (!o.index) continue;
        const kind *k = node_of(w, o)->kind;
        if (is_vector(k) && k->element_places[0].value == value && node_of(w, o)->length) return o;
    }
    return (object){0, NULL};
}

static void copy(world *w, bool value, gc_word *to, const gc_word *from, size_t count) {
    unsigned flags = value ? GC_SLOT_VALUE : 0;
    if (one_in(&w->random, 3)) {
        gc_stores_begin(w->thread, to, count, flags);
        memmove(to, from, count * 8 * place_words(value));
        gc_stores_end(w->thread, to, count, flags);
    } else if (value || (!GC_HAS_VALUES && one_in(&w->random, 2))) {
        gc_copy_values(w->thread, to, from, count);
    } else {
        gc_copy_refs(w->thread, to, from, count);
    }
}

/* Within an array, overlapping either way, or from one to another. */
static void op_copy(world *w) {
    bool value = GC_HAS_VALUES && one_in(&w->random, 2), ignored;
    object from = pick_vector(w, value), to = one_in(&w->random, 2) ? from : pick_vector(w, value);
    if (!from.index || !to.index) return;
    node *source = node_of(w, from), *destination = node_of(w, to);
    size_t start = below(&w->random, source->length), at = below(&w->random, destination->length);
    size_t most = source->length - start;
    if (most > destination->length - at) most = destination->length - at;
    if (source == destination && one_in(&w->random, 2)) at = start > 3 ? start - below(&w->random, 4) : start;
    size_t count = one_in(&w->random, 10) ? most : skewed(&w->random, 0, most < 64 ? most : 64);
    if (count > destination->length - at) count = destination->length - at;
    start += source->kind->slots, at += destination->kind->slots;
    if (!count) return;
    copy(w, value, slot_at(destination->kind, to.address, at, &ignored), slot_at(source->kind, from.address, start, &ignored), count);
    memmove(&destination->cells[at], &source->cells[start], count * sizeof(cell));
}

/* From slots outside the heap into an array, all at once. */
static void op_fill(world *w) {
    bool value = GC_HAS_VALUES && one_in(&w->random, 2), ignored;
    object to = pick_vector(w, value);
    if (!to.index) return;
    node *n = node_of(w, to);
    gc_word words[32 * VALUE_WORDS];
    cell cells[32];
    size_t at = below(&w->random, n->length), count = n->length - at < 32 ? n->length - at : 32;
    for (size_t i = 0; i < count; i++) {
        char *address;
        cells[i] = pick_cell(w, value, &address);
        cell_words(&words[i * place_words(value)], cells[i], value, address);
    }
    memcpy(&n->cells[n->kind->slots + at], cells, count * sizeof *cells);
    copy(w, value, slot_at(n->kind, to.address, n->kind->slots + at, &ignored), words, count);
}

/* Out of an array into global slots. */
static void op_unload(world *w) {
    object from = pick_vector(w, false);
    if (!from.index || !w->blocks[0].added) return;
    node *n = node_of(w, from);
    bool ignored;
    size_t count = n->length < BLOCK_SLOTS ? n->length : BLOCK_SLOTS, at = below(&w->random, n->length - count + 1) + n->kind->slots;
    gc_copy_refs(w->thread, w->blocks[0].slots, slot_at(n->kind, from.address, at, &ignored), count);
    for (size_t i = 0; i < count; i++) w->roots[FRAMES + i].index = cell_index(n->cells[at + i]);
}

static void op_payload(world *w) {
    object o = pick(w);
    if (!o.index) return;
    node_of(w, o)->seed = bits(&w->random);
    payload_each(node_of(w, o), o.address, payload_write);
}

static void op_root(world *w) {
    char *address;
    root *r = root_any(w, true);
    cell c = pick_cell(w, false, &address);
    root_set(w, r, (uint32_t)c, is_static((uint32_t)c) ? static_object((uint32_t)c) : address);
}

static void op_block(world *w) {
    size_t i = 1 + below(&w->random, BLOCKS - 1);
    if (w->blocks[i].added) block_remove(w, i);
    else block_add(w, i);
}

static void op_handle(world *w) {
    root *r = &w->roots[ROOTS - NESTED - 1 - below(&w->random, HANDLES)];
    if (!r->handle) {
        handle_make(w, r);
        return;
    }
    gc_handle_destroy(w->heap, r->handle);
    r->handle = NULL;
    r->index = 0;
    if (!one_in(&w->random, 3)) handle_make(w, r);
}

/* Calls and returns on the stack of values, which grows as it must. */
static void op_stack(world *w) {
    size_t count = (size_t)((gc_word *)w->stack.top - (gc_word *)w->stack.base);
    if (count < STACKED - 8 && one_in(&w->random, 2)) {
        ptrdiff_t moved;
        size_t more = 1 + below(&w->random, 8);
        if (gc_value_stack_reserve(w->heap, &w->stack, more * 8, &moved) != GC_OK) wrong("gc_value_stack_reserve: %s", gc_last_message());
        memset(w->stack.top, 0, more * 8);
        w->stack.top = (gc_word *)w->stack.top + more;
        w->frame = count;
    } else if (count) {
        w->frame = below(&w->random, w->frame + 1);
        count = w->frame + below(&w->random, count - w->frame + 1);
        w->stack.top = (gc_word *)w->stack.base + count;
        gc_value_stack_touch(&w->stack, (gc_word *)w->stack.base + w->frame);
    }
    stack_roots(w);
}

/* An array that grows where it is, if it can: what was just allocated, mostly. */
static void op_grow(world *w) {
    kind *k = &kinds[KINDS / 2 + below(&w->random, KINDS / 2)];
    object o = one_in(&w->random, 2) ? pick(w) : allocate(w, k, random_length(w, k));
    if (!o.index) return;
    node *n = node_of(w, o);
    k = n->kind;
    if (!k->type.element_bytes) return;
    size_t length = n->length, cells = node_slots(n), more = skewed(&w->random, 0, 64), bytes = node_bytes(n);
    if (gc_array_grow(w->thread, o.address, length + more)) {
        w->model.nodes[o.index] = n = or_die(realloc(n, sizeof *n + slot_count(k, length + more) * sizeof(cell)));
        n->length += more;
        memset(n->cells + cells, 0, (node_slots(n) - cells) * sizeof(cell));
        w->model.bytes += node_bytes(n) - bytes;
        const char *end = o.address + k->type.bytes + n->length * k->type.element_bytes;
        for (const char *at = end - more * k->type.element_bytes; at < end; at++)
            if (*at) wrong("a new element of the `%s` %p that has grown is not zero", k->name, (void *)o.address);
        payload_each(n, o.address, payload_write);
        run.grown += more > 0;
    }
    node_check(w, o.index, o.address, "growing", 0);
    if (root_null(w)->home != HANDLE) root_set(w, root_null(w), o.index, o.address);
}

/* Memory outside the heap. */
static void op_external(world *w) {
    object o = pick(w);
    if (!o.index) return;
    node *n = node_of(w, o);
    bool add = !n->external || one_in(&w->random, 2);
    size_t bytes = 1 + skewed(&w->random, 0, add ? (size_t)1 << 16 : n->external - 1);
    if (!add && gc_object_add_external(w->thread, o.address, -(ptrdiff_t)(n->external + 1)) == GC_OK)
        wrong("gc_object_add_external takes off more than the `%s` has", n->kind->name);
    gc_result result = gc_object_add_external(w->thread, o.address, add ? (ptrdiff_t)bytes : -(ptrdiff_t)bytes);
    if (result == GC_OK) n->external += add ? bytes : -bytes;
    else if (!w->options.heap_bytes_max || result != GC_ERROR_HEAP_FULL)
        wrong("gc_object_add_external: %s", gc_last_message());
}

static void op_identity(world *w) {
    object o = pick(w);
    if (!o.index) return;
    node *n = node_of(w, o);
    uint64_t number = gc_object_identity(w->thread, o.address);
    if (!n->identity) n->identity = ++w->identities;
    if (number != n->identity)
        wrong("the identity number of a `%s` is %llu, expected %llu", n->kind->name, (unsigned long long)number, (unsigned long long)n->identity);
}

/* Collecting and asking. */

/* What gc_collect was asked for, as the hooks see it; returns the number of collections that ran. */
/* Whether a full collection would not be complete on return. */
static bool begins_marking(const world *w, unsigned mode) {
    return gc__marking_is_on(w->heap) && mode == GC_COLLECT_NON_BLOCKING;
}

static size_t collect(world *w, int generation, unsigned mode) {
    size_t before = w->collections;
    w->asked_generation = w->options.non_generational ? 2 : generation;
    w->asked_compacting = mode & GC_COLLECT_COMPACTING;
    if (generation == 2 && begins_marking(w, mode)) w->asked_generation = 1;
    gc_collect(w->heap, generation, mode);
    return w->collections - before;
}

/* The collection that a heap falls back on whose holes are too small for its objects. */
static void op_pack(world *w) {
    run.doing = "packing";
    w->asked_generation = 2;
    w->asked_compacting = GC_COLLECT_COMPACTING;
    gc__collect_at_limit(w->heap, GC__SLIDE);
    check(w, true);
}

static void op_collect(world *w) {
    static const unsigned modes[] = {GC_COLLECT_DEFAULT, GC_COLLECT_BLOCKING, GC_COLLECT_NON_BLOCKING, GC_COLLECT_OPTIMIZED,
                                     GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING, GC_COLLECT_COMPACTING};
    bool packs = !w->options.non_moving && !w->options.debug.stress && one_in(&w->random, 8);
    if (packs) {
        op_pack(w);
        return;
    }
    int generation = (int)below(&w->random, GC_GENERATIONS);
    unsigned mode = modes[below(&w->random, sizeof modes / sizeof *modes)];
    size_t ran = collect(w, generation, mode);
    bool beside = generation == 2 && begins_marking(w, mode);
    if (!(mode & GC_COLLECT_OPTIMIZED) && !beside && ran != 1) wrong("gc_collect ran %zu collections", ran);
    bool full = ran && !beside && (generation == 2 || w->options.non_generational);
    if (full || one_in(&w->random, 2)) check(w, full);
}

/* Lengths that no heap can hold: the product overflows, or the sum with the fixed part, or nothing does. */
static void op_absurd(world *w) {
    const kind *k = &kinds[below(&w->random, KINDS)];
    if (!k->type.element_bytes) return;
    const size_t lengths[] = {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / k->type.element_bytes, SIZE_MAX / k->type.element_bytes + 1};
    gc_stats before, after;
    gc_heap_stats(w->heap, &before);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t hook_calls = w->out_of_memory, collections = w->collections, length = lengths[i];
        if (length == 0) length = SIZE_MAX; /* the sum that wrapped around, for elements of one byte */
        void *object = is_leaf(k) && one_in(&w->random, 2) ? gc_new_with(w->thread, &k->type, length, GC_NEW_RAW)
                                                           : gc_new_array(w->thread, &k->type, length);
        if (object) wrong("a `%s` of length %zu", k->name, length);
        if (gc_last_result() != GC_ERROR_TOO_LARGE) wrong("no `%s` of length %zu: %s", k->name, length, gc_last_message());
        if (w->out_of_memory != hook_calls || w->collections != collections)
            wrong("a `%s` of length %zu: the hook was called, or a collection ran, in vain", k->name, length);
    }
    gc_heap_stats(w->heap, &after);
    if (after.allocated_bytes != before.allocated_bytes || after.live_bytes != before.live_bytes || after.regions != before.regions ||
        after.used_bytes != before.used_bytes || after.large_bytes != before.large_bytes || after.committed_bytes != before.committed_bytes)
        wrong("an allocation of a `%s` that failed has changed the heap", k->name);
}

static void op_safepoint(world *w) { gc_safepoint(w->thread); }

static void op_ask(world *w) {
    object o = pick(w);
    int local = 0, generation = gc_object_generation(&local);
    if (generation != GC_GENERATIONS) wrong("gc_object_generation says %d of a variable", generation);
    if (gc_heap_contains(w->heap, &local) || gc_heap_object_at(w->heap, statics))
        wrong("a variable is taken for a part of the heap");
    if (!o.index) return;
    const node *n = node_of(w, o);
    size_t offset = below(&w->random, node_bytes(n));
    if (gc_object_bytes(o.address) != node_bytes(n)) wrong("gc_object_bytes says %zu of a `%s` of %zu", gc_object_bytes(o.address), n->kind->name, node_bytes(n));
    if (!gc_heap_contains(w->heap, o.address + offset))
        wrong("gc_heap_contains denies offset %zu of a `%s`", offset, n->kind->name);
    if (strcmp(gc_object_type_name(o.address), n->kind->name) != 0) wrong("gc_object_type_name: %s", gc_object_type_name(o.address));
    if (one_in(&w->random, 8) && gc_heap_object_at(w->heap, o.address + offset) != o.address)
        wrong("gc_heap_object_at offset %zu of the `%s` %p says %p", offset, n->kind->name, (void *)o.address,
              gc_heap_object_at(w->heap, o.address + offset));
    generation = gc_object_generation(o.address);
    if (generation < 0 || generation >= GC_GENERATIONS || (w->options.non_generational && generation))
        wrong("gc_object_generation says %d of a `%s`", generation, n->kind->name);
}

/* Another barrier for all heaps, where it is chosen at run time. */
static void op_switch(world *w) {
    if (GC__BARRIER_CHOSEN != GC_BARRIER_COUNT || run.barrier) return;
    gc_barrier barrier = (gc_barrier)below(&w->random, GC_BARRIER_COUNT);
    gc_result result = gc_barrier_switch(barrier);
    bool refused = result == GC_ERROR_OPTION && barrier == GC_BARRIER_NONE && !w->options.non_generational;
    if (result != GC_OK && !refused && !strstr(gc_last_message(), "has generations"))
        wrong("gc_barrier_switch(%s): %s", gc_barrier_name(barrier), gc_last_message());
    if (result == GC_OK && gc_barrier_current() != barrier) wrong("%s is not in force", gc_barrier_name(barrier));
}

static void op_statistics(world *w) {
    gc_stats s;
    walked walk = {.w = w};
    gc_heap_stats(w->heap, &s);
    uint64_t pauses = 0, collections = s.collections[0] + s.collections[1] + s.collections[2];
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) pauses += s.pauses[i];
    if (collections != w->collections || pauses != collections) wrong("%zu collections ran, statistics say %llu, and %llu pauses", w->collections,
                                                                     (unsigned long long)collections, (unsigned long long)pauses);
    if (s.used_bytes > s.committed_bytes || s.committed_bytes > s.committed_bytes_peak || s.pause_max_ns > s.pause_total_ns)
        wrong("statistics: used %zu, committed %zu, peak %zu", s.used_bytes, s.committed_bytes, s.committed_bytes_peak);
    if (w->options.heap_bytes_max && s.committed_bytes > w->options.heap_bytes_max)
        wrong("the heap holds %zu bytes, more than its maximum of %zu", s.committed_bytes, w->options.heap_bytes_max);
    if (s.moved_bytes > s.promoted_bytes || s.survived_bytes > s.promoted_bytes) wrong("statistics: moved more than promoted");
    if (w->options.non_moving && s.moved_bytes) wrong("a non-moving heap has moved %llu bytes", (unsigned long long)s.moved_bytes);
    gc_heap_walk(w->heap, walk_visit, &walk);
    if (walk.objects < 1 && w->model.live > 0 && w->checked_collections == w->collections) check(w, false);
}
