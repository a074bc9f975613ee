/* Code ranges by address: adding and removing them. */
#pragma once

#include "tree.h"
#include "check.h"
#include "../mutator/fork.h"

#define GC__LEAF_SPARSE 2  /* a leaf with no more pieces than that for each slice should have fewer slices */
#define GC__LEAF_FEW_MAX 3 /* 2 slices */
#define GC__LEAF_LIVE_MAX ((unsigned)GC__LEAF_SLICES * GC__SLICE_ENTRIES)
#define GC__LEAF_MERGED 24u /* two leaves with no more pieces than that should be one */

static uint64_t gc__code_removals; /* atomic, written under the lock: how often code was removed */

GC_API const gc_code *gc_code_find(const void *pc) { return gc__tree_find((uintptr_t)pc); }
GC_API size_t gc_code_count(void) { return __atomic_load_n(&gc__the_tree.count, __ATOMIC_RELAXED); }

/* Where an address is in the tree: the group of cells that share a leaf or are all empty, and the way to it. */
typedef struct gc__place {
    uint32_t *way[4];     /* the cells that refer to the nodes on the way, and last that of the address itself */
    unsigned depth;       /* nodes on the way */
    unsigned bits;        /* log2 of the cells of the last of them */
    uint32_t *cells;      /* of the last node, or the root's cell */
    size_t first, count;  /* the group */
    uint32_t value;       /* what all of its cells are */
    uintptr_t start, end; /* the addresses that the group spans */
} gc__place;

GC__FN bool gc__cells_are(const uint32_t *cells, size_t count, uint32_t value) {
    while (count && cells[count - 1] == value) count--;
    return !count;
}

GC__FN gc__place gc__place_of(uintptr_t address) {
    gc__place place;
    memset(&place, 0, sizeof place);
    unsigned shift = GC__TREE_ROOT_SHIFT;
    place.way[0] = place.cells = gc__tree_root(address);
    while (gc__cell_is_node(place.value = *place.way[place.depth])) {
        place.bits = gc__node_bits(place.value);
        place.cells = gc__cell_node(place.value);
        shift -= place.bits;
        place.first = (address >> shift) & (((size_t)1 << place.bits) - 1);
        place.way[++place.depth] = &place.cells[place.first];
    }
    if (place.value) {
        place.count = (size_t)1 << (gc__leaf_shift(place.value) - shift);
        place.first &= ~(place.count - 1);
    } else {
        for (place.count = 1; place.count < (size_t)1 << place.bits; place.count *= 2) {
            if (!gc__cells_are(place.cells + (place.first ^ place.count), place.count, 0)) break;
            place.first &= ~place.count;
        }
    }
    place.start = (address >> (shift + place.bits) << (shift + place.bits)) + (place.first << shift);
    place.end = place.start + (place.count << shift);
    return place;
}

/* Has `count` cells refer to a leaf, or to none. */
GC__FN void gc__cells_fill(uint32_t *cells, size_t count, uint32_t value) {
    for (size_t i = 0; i < count; i++) gc__cell_set(&cells[i], value);
}

/* Makes the place's leaf another one, or none. */
GC__FN void gc__place_replace(const gc__place *place, uint32_t leaf) {
    gc__cells_fill(place->cells + place->first, place->count, leaf);
    if (place->value) gc__block_retire(place->value, place->start);
}

/* How many of the words of the leaf that has the address have code. */
GC__FN unsigned gc__leaf_live(uint32_t cell, uintptr_t address) {
    return cell ? (unsigned)(gc__leaf_first(cell, address)->words[0] & GC__SLICE_BYTES) : 0;
}

/* The slice that has the address, and its end. */
GC__FN gc__slice *gc__place_slice(const gc__place *place, uintptr_t address, uintptr_t *end) {
    unsigned shift = gc__slice_shift(place->value);
    *end = place->value ? ((address >> shift) + 1) << shift : place->end;
    return gc__leaf_slice(place->value, address);
}

/* Lists the pieces that the tree has in the slices of [start, end). `place` is where the last place was found. False: they
   are too many. */
GC__FN bool gc__tree_list(gc__place *place, uintptr_t start, uintptr_t end, gc__pieces *list) {
    for (list->count = 0; start < end;) {
        if (start < place->start || start >= place->end) *place = gc__place_of(start);
        if (list->count > GC__PIECES_MAX - GC__SLICE_ENTRIES - 1) return false;
        const gc__slice *slice = gc__place_slice(place, start, &start);
        gc__slice_read(slice, start, list);
    }
    return true;
}

/* The first code that has an address in [start, end); NULL: none has. */
GC__FN const gc_code *gc__tree_first(uintptr_t start, uintptr_t end) {
    gc__pieces list;
    for (uintptr_t at = start; at < end;) {
        gc__place place = gc__place_of(at);
        do {
            const gc__slice *slice = gc__place_slice(&place, at, &at);
            list.count = 0;
            gc__slice_read(slice, at, &list);
            for (unsigned i = 0; i < list.count; i++)
                if (list.piece[i].end > start && list.piece[i].start < end) return list.piece[i].code;
        } while (at < end && at < place.end);
    }
    return NULL;
}

typedef enum gc__built { GC__BUILT, GC__BUILT_TOO_MANY, GC__BUILT_NO_MEMORY } gc__built;

/* Makes a leaf for the span [start, end), with what the tree has there and in addition `added`. It has 16 >> few slices. 0
   if it would be empty. */
GC__FN gc__built gc__leaf_build(uintptr_t start, uintptr_t end, unsigned few, gc__piece added, uint32_t *leaf) {
    unsigned shift = (unsigned)__builtin_ctzll(end - start) - 4 + few, live = 0;
    gc__place place = gc__place_of(start);
    gc__pieces list;
    *leaf = gc__leaf_take(start, shift, few);
    if (!*leaf) return GC__BUILT_NO_MEMORY;
    gc__slice *first = gc__leaf_first(*leaf, start), *slice = first;
    for (uintptr_t at = start, next; at < end && live <= GC__LEAF_LIVE_MAX; at = next, slice++) {
        next = at + ((uintptr_t)1 << shift);
        bool adds = added.start < next && added.end > at;
        if (at < place.start || at >= place.end) place = gc__place_of(at);
        if (!adds && place.value && gc__slice_shift(place.value) == shift) {
            live += gc__slice_copy(slice, gc__leaf_slice(place.value, at));
            continue;
        }
        unsigned count = GC__SLICE_ENTRIES + 1;
        if (gc__tree_list(&place, at, next, &list)) {
            if (adds) gc__pieces_insert(&list, added.code, added.start, added.end);
            count = gc__slice_fill(slice, &list, at, next);
        }
        live += count > GC__SLICE_ENTRIES ? GC__LEAF_LIVE_MAX + 1 : count;
    }
    gc__word_set(&first->words[0], live);
    if (live && live <= GC__LEAF_LIVE_MAX) return GC__BUILT;
    gc__block_retire(*leaf, start);
    *leaf = 0;
    return live ? GC__BUILT_TOO_MANY : GC__BUILT;
}

static const gc__piece gc__piece_none = {0, 0, NULL};

/* The smallest such leaf, with at most GC__LEAF_SLICES >> few slices. */
GC__FN gc__built gc__leaf_build_small(uintptr_t start, uintptr_t end, unsigned few, uint32_t *leaf) {
    gc__built built = GC__BUILT_TOO_MANY;
    for (unsigned i = GC__LEAF_FEW_MAX + 1; built == GC__BUILT_TOO_MANY && i-- > few;)
        built = gc__leaf_build(start, end, i, gc__piece_none, leaf);
    return built;
}

/* Divides the span of the place's only cell: its node doubles, or if it has as many cells as nodes can, or is the root, the
   cell gets a node of its own. False: there is no memory. */
GC__FN bool gc__place_divide(const gc__place *place) {
    bool doubles = place->depth && place->bits < GC__NODE_BITS_MAX;
    unsigned bits = doubles ? place->bits + 1 : GC__NODE_BITS_MIN;
    uint32_t node = gc__node_take(bits);
    if (!node) return false;
    uint32_t *cells = gc__cell_node(node), *to = place->way[doubles ? place->depth - 1 : place->depth], former = *to;
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        gc__cell_set(&cells[i], doubles ? place->cells[i / 2] : place->value);
    gc__cell_set(to, node);
    if (doubles) gc__block_retire(former, place->start);
    return true;
}

/* Gives each half of the place's cells a leaf of its own. False: there is no memory. */
GC__FN bool gc__place_split(const gc__place *place) {
    if (place->count == 1) return gc__place_divide(place);
    uint32_t *cells = place->cells + place->first, leaves[2];
    uintptr_t middle = place->start + (place->end - place->start) / 2;
    if (gc__leaf_build_small(place->start, middle, 0, &leaves[0]) != GC__BUILT) return false;
    if (gc__leaf_build_small(middle, place->end, 0, &leaves[1]) != GC__BUILT) {
        if (leaves[0]) gc__block_retire(leaves[0], place->start);
        return false;
    }
    gc__cells_fill(cells, place->count / 2, leaves[0]);
    gc__cells_fill(cells + place->count / 2, place->count / 2, leaves[1]);
    gc__block_retire(place->value, place->start);
    return true;
}

/* Unites the place with the group beside it, if that has one leaf or none, and both have few pieces. Returns whether it has. */
GC__FN bool gc__place_merge(const gc__place *place) {
    uint32_t *beside = place->cells + (place->first ^ place->count), other = *beside, leaf;
    uintptr_t bytes = place->end - place->start, start = place->start & ~bytes, there = place->start ^ bytes;
    if (gc__cell_is_node(other) || (other && (uintptr_t)1 << gc__leaf_shift(other) != bytes)) return false;
    if (!other && !gc__cells_are(beside, place->count, 0)) return false;
    if (gc__leaf_live(place->value, place->start) + gc__leaf_live(other, there) > GC__LEAF_MERGED) return false;
    if (gc__leaf_build_small(start, start + 2 * bytes, 0, &leaf) != GC__BUILT) return false;
    gc__cells_fill(beside, place->count, leaf);
    if (other) gc__block_retire(other, there);
    gc__place_replace(place, leaf);
    return true;
}

/* Frees what is empty around the address, and unites what has become small, as far as there is memory for it. */
GC__FN void gc__tree_tidy(uintptr_t address) {
    for (;;) {
        gc__place place = gc__place_of(address);
        unsigned live = gc__leaf_live(place.value, address);
        if (place.value && !live) {
            gc__place_replace(&place, 0);
        } else if (!place.depth) {
            return;
        } else if (place.count == (size_t)1 << place.bits) {
            uint32_t *to = place.way[place.depth - 1], node = *to;
            gc__cell_set(to, place.value);
            gc__block_retire(node, address);
        } else if (!gc__place_merge(&place)) {
            uint32_t leaf;
            if (!place.value || live > GC__LEAF_SPARSE * gc__leaf_slices(place.value)) return;
            if (gc__leaf_build_small(place.start, place.end, gc__leaf_few(place.value) + 1, &leaf) != GC__BUILT) return;
            gc__place_replace(&place, leaf);
            return;
        }
    }
}

GC__FN void gc__tree_remove(const gc_code *code, uintptr_t start, uintptr_t end) {
    while (start < end) {
        gc__place place = gc__place_of(start);
        uint64_t live = gc__leaf_live(place.value, start);
        uintptr_t at = start;
        while (place.value && at < end && at < place.end) {
            gc__slice *slice = gc__place_slice(&place, at, &at);
            for (unsigned i = 1; i <= GC__SLICE_ENTRIES; i++)
                if (gc__word_code(slice->words[i]) == code) gc__word_set(&slice->words[i], 0), live--;
        }
        if (place.value) gc__word_set(&gc__leaf_first(place.value, start)->words[0], live);
        gc__tree_tidy(start);
        start = place.end;
    }
}

/* False: there is no memory, and a part of the code may be in the tree. */
GC__FN bool gc__tree_add(const gc_code *code, uintptr_t start, uintptr_t end) {
    gc__piece added = {start, end, code};
    for (uintptr_t at = start; at < end;) {
        gc__place place = gc__place_of(at);
        gc__built built = GC__BUILT_TOO_MANY;
        uint32_t leaf = 0;
        unsigned few = (place.value ? gc__leaf_few(place.value) : GC__LEAF_FEW_MAX) + 1;
        while (built == GC__BUILT_TOO_MANY && few-- > 0)
            built = gc__leaf_build(place.start, place.end, few, added, &leaf);
        if (built == GC__BUILT_NO_MEMORY) return false;
        if (built == GC__BUILT) {
            gc__place_replace(&place, leaf);
            at = place.end;
        } else if (!gc__place_split(&place)) {
            return false;
        }
    }
    return true;
}

/* Adding and removing. */

GC__FN const char *gc__code_name(const gc_code *code) { return code->name ? code->name : "code without a name"; }
GC__FN uintptr_t gc__code_start(const gc_code *code) { return (uintptr_t)code->start; }
GC__FN uintptr_t gc__code_end(const gc_code *code) { return (uintptr_t)code->start + code->bytes; }

/* Checks where the code is. */
GC__FN gc_result gc__code_check_range(const gc_code *code) {
    uintptr_t limit = (uintptr_t)1 << GC__TREE_ADDRESS_BITS;
    if (!code->bytes)
        return gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p has 0 bytes: set gc_code.bytes to the size of its code",
                        gc__code_name(code), code->start);
    if (gc__code_start(code) >= limit || code->bytes > limit - gc__code_start(code))
        return gc__fail(
            GC_ERROR_FORMAT,
            "gc_code_add: %s at %p with %zu bytes reaches beyond the %d bits of an address: set gc_code.start "
            "and gc_code.bytes to where its code is",
            gc__code_name(code), code->start, code->bytes, GC__TREE_ADDRESS_BITS);
    if ((uintptr_t)code >= limit)
        return gc__fail(
            GC_ERROR_FORMAT,
            "gc_code_add: the record of %s is at %p, an address of more than %d bits: pass it without a tag in "
            "its upper bits",
            gc__code_name(code), (const void *)code, GC__TREE_ADDRESS_BITS);
    return GC_OK;
}

/* Checks the map. */
GC__FN gc_result gc__code_check_map(const gc_code *code) {
    const gc_code_format *format = code->format;
    const char *wrong = NULL;
    if (!format) {
        if (gc__is_null(code->map, "gc_code_add", "code->map")) return GC_ERROR_ARGUMENT;
        wrong = gc_stackmap_check(code->map, code->map_bytes);
        uint32_t bytes = wrong ? 0 : gc_stackmap_read(code->map).code_bytes;
        if (!wrong && bytes != code->bytes)
            return gc__fail(
                GC_ERROR_FORMAT,
                "gc_code_add: %s at %p has %zu bytes, but its map is that of %u bytes of code: the map must be "
                "encoded with gc_stackmap_method.code_bytes = gc_code.bytes",
                gc__code_name(code), code->start, code->bytes, bytes);
    } else {
        if (gc__is_null((const void *)(uintptr_t)format->visit, "gc_code_add", "code->format->visit") ||
            gc__is_null((const void *)(uintptr_t)format->layout, "gc_code_add", "code->format->layout"))
            return GC_ERROR_ARGUMENT;
        GC__HOST_SCOPE;
        if (format->check) wrong = format->check(code);
    }
    if (!wrong) return GC_OK;
    return gc__fail(GC_ERROR_FORMAT, "gc_code_add: the map of %s at %p is refused: %s", gc__code_name(code),
                    code->start, wrong);
}

/* Lock held. */
GC__FN gc_result gc__code_overlaps(const gc_code *code, const gc_code *other) {
    if (code == other)
        return gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p is registered already: gc_code_remove it first",
                        gc__code_name(code), code->start);
    return gc__fail(
        GC_ERROR_FORMAT,
        "gc_code_add: %s in [%p, %p) overlaps %s in [%p, %p): call gc_code_remove for what is gone before its "
        "addresses are used again",
        gc__code_name(code), code->start, (void *)gc__code_end(code), gc__code_name(other), other->start,
        (void *)gc__code_end(other));
}

/* Lock held. */
GC__FN gc_result gc__code_insert(gc__tree *tree, const gc_code *code) {
    uintptr_t start = gc__code_start(code), end = gc__code_end(code);
    if (!tree->blocks && !gc__tree_reserve(tree))
        return gc__fail(GC_ERROR_MEMORY, "gc_code_add: cannot reserve address space for even %zu MiB: %s",
                        GC__TREE_BYTES_MIN >> 20, gc__os_refusal(GC__TREE_BYTES_MIN));
    const gc_code *other = gc__tree_first(start, end);
    if (other) return gc__code_overlaps(code, other);
    if (!gc__tree_add(code, start, end)) {
        gc__tree_remove(code, start, end);
        bool full = tree->committed == tree->bytes;
        return gc__fail(
            GC_ERROR_MEMORY, "gc_code_add: %s at %p: the registry of %zu ranges has %zu MiB and gets no more: %s",
            gc__code_name(code), code->start, tree->count, tree->committed >> 20,
            full && tree->bytes == GC__TREE_BYTES_MAX ? "remove code that is not needed" : gc__os_refusal(tree->committed));
    }
    __atomic_store_n(&tree->count, tree->count + 1, __ATOMIC_RELAXED);
    return GC_OK;
}

GC_API gc_result gc_code_add(const gc_code *code) {
    GC__API_SCOPE("gc_code_add");
    if (gc__is_null(code, "gc_code_add", "code") || gc__is_null(code->start, "gc_code_add", "code->start"))
        return GC_ERROR_ARGUMENT;
    gc_result result = gc__code_check_range(code);
    if (result == GC_OK) result = gc__code_check_map(code);
    if (result != GC_OK) return result;
    gc__lock_take(&gc__the_arena.lock);
    result = gc__fork_open("gc_code_add");
    gc__lock_release(&gc__the_arena.lock);
    if (result != GC_OK) return result;
    gc__lock_take(&gc__code_lock);
    result = gc__code_insert(&gc__the_tree, code);
    gc__lock_release(&gc__code_lock);
    if (result == GC_OK) gc__code_tell(code->start, code->bytes, gc__code_name(code), true);
    return result;
}

/* Whether the code is registered with the range that it says. */
GC__FN bool gc__code_is_registered(const gc_code *code) {
    uintptr_t start = gc__code_start(code), end = gc__code_end(code);
    return code->bytes && gc__tree_find(start) == code && gc__tree_find(end - 1) == code &&
           gc__tree_find(end) != code && gc__tree_find(start - 1) != code;
}

GC_API gc_result gc_code_remove(const gc_code *code) {
    GC__API_SCOPE("gc_code_remove");
    if (gc__is_null(code, "gc_code_remove", "code")) return GC_ERROR_ARGUMENT;
    gc__tree *tree = &gc__the_tree;
    gc__lock_take(&gc__code_lock);
    bool registered = gc__code_is_registered(code);
    gc__lock_release(&gc__code_lock);
    /* Profiles are told before: code that takes the place is told of as soon as it is there. */
    if (registered) gc__code_tell(code->start, code->bytes, gc__code_name(code), false);
    gc__lock_take(&gc__code_lock);
    registered = registered && gc__code_is_registered(code);
    if (registered) {
        gc__tree_remove(code, gc__code_start(code), gc__code_end(code));
        __atomic_store_n(&tree->count, tree->count - 1, __ATOMIC_RELAXED);
        __atomic_store_n(&gc__code_removals, gc__code_removals + 1, __ATOMIC_RELEASE);
        if (!tree->count) gc__tree_clear(tree);
    }
    gc__lock_release(&gc__code_lock);
    if (registered) return GC_OK;
    gc__fail(GC_ERROR_MISUSE,
             "gc_code_remove: %s at %p with %zu bytes is not registered, or start or bytes have changed since it was: "
             "pass the "
             "record that was added, as it was then",
             gc__code_name(code), code->start, code->bytes);
    GC_ASSERT(false, "%s", gc__last_message);
    return GC_ERROR_MISUSE;
}

/* gc__compiled_code.each. */
GC__FN void gc__code_each(void (*f)(void *context, const void *start, size_t bytes, const char *name), void *context) {
    const uintptr_t limit = (uintptr_t)1 << GC__TREE_ADDRESS_BITS;
    gc__lock_take(&gc__code_lock);
    const gc_code *code = gc__the_tree.count ? gc__tree_first(0, limit) : NULL;
    for (; code; code = gc__tree_first(gc__code_end(code), limit))
        f(context, code->start, code->bytes, gc__code_name(code));
    gc__lock_release(&gc__code_lock);
}

/* As long as there is code, as when the program ends without removing it, other threads may look it up. */
GC__AT_UNLOAD GC__FN void gc__code_unload(void) {
    gc__tree *tree = &gc__the_tree;
    gc__lock_take(&gc__code_lock);
    if (tree->blocks && !tree->count) {
        gc__os_unmap(tree->blocks, tree->bytes + GC__TREE_BEHIND);
        memset(tree, 0, sizeof *tree);
    }
    gc__lock_release(&gc__code_lock);
}
