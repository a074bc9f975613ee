/* The tree in which code is looked up by address, without a lock.

   The root has a cell for each 4 GiB of the address space. A node divides the span of the cell that refers to it among 8,
   16 .. 1024 cells. A leaf divides its span among 2, 4, 8 or 16 slices, which lie one behind the other in memory: so most of
   a tree is slices, of which a lookup reads one, and what refers to them is small enough for a cache. Neighbouring cells
   of a node may share a leaf: such a group has a power of two of cells, and is aligned. So a node that must have smaller
   cells doubles, and its leaves stay.

   Invariant: what a reader can come to is whole. A block (node or leaf) is written before a cell refers to it; afterwards
   only single cells and words of it change, each at once. A block that was replaced stays as it is until `epoch` has been
   raised, and a reader that finds another epoch than at first begins again. So a reader that has interrupted a writer on
   its own thread never does. */
#pragma once

#include "../api/code.h"
#include "../base/words.h"
#include "../platform/search.h"

#define GC__TREE_ADDRESS_BITS 48
#define GC__TREE_ROOT_SHIFT 32 /* the span of a cell of the root */
#define GC__TREE_ROOT_CELLS ((size_t)1 << (GC__TREE_ADDRESS_BITS - GC__TREE_ROOT_SHIFT))
#define GC__TREE_BYTES_MAX ((size_t)1 << 32) /* of all blocks, since a cell has 32 bits */
#define GC__TREE_BYTES_MIN ((size_t)1 << 20)
#define GC__TREE_BYTES_KEPT ((size_t)1 << 20) /* while no code is registered */
#define GC__TREE_BEHIND ((size_t)1 << 16) /* readable beyond the last block, of which a reader may see only the start */
#define GC__TREE_ROOT ((size_t)4096)      /* the offset of the root */
#define GC__TREE_START (GC__TREE_ROOT + GC__TREE_ROOT_CELLS * sizeof(uint32_t)) /* the offset of further blocks */
#define GC__TREE_RETIRED 32 /* blocks that wait until they may be used again */

/* Blocks have 256, 512 .. 4096 bytes; their kinds count from 0. */
#define GC__BLOCK_SHIFT 8
#define GC__BLOCK_KINDS 5

/* A cell is an offset among the blocks, plus 8 bits.
   Of a node: the offset of its block, plus GC__CELL_NODE, plus 32 minus the log2 of its cells: so 32 bits that begin with the
   index of a cell yield it if they are shifted by the low 5 bits.
   Of a leaf: the log2 of the span of a slice, plus 32 times the log2 of 16 by the number of slices. 4 bits of the address say
   which slice it is. If there are fewer than 16, the upper bits of these 4 are the same in the whole leaf, and so are its
   first slice's; the offset is that of the block less so many slices.
   It is 0 in an empty cell: where it refers to there are 16 empty slices. */
#define GC__CELL_OFFSET (~(uint32_t)255)
#define GC__CELL_NODE 128u
#define GC__CELL_INDEX ((1u << GC__BLOCK_SHIFT) - 4) /* these bits of an offset are those of a cell within a block */
#define GC__NODE_BITS_MIN 3
#define GC__NODE_BITS_MAX 10
#define GC__LEAF_SLICES 16 /* at most */

/* A slice lists where pieces of code start, in ascending order: 2^31 less than the low 32 bits of their addresses, as signed
   numbers. For each of these keys it has a word: the address of the gc_code * 2^16, plus the piece's bytes; if these are
   2^16 or more 0, and the piece extends to the next key, or the end of the slice. A word whose address is 0 says that there
   is no code. Entries that are not used come first. What precedes the first entry is words[0], whose low bits have, in a
   leaf's first slice, the number of words with code in the leaf. Key i, from 1 on, is keys[i + 1]; keys[0] and keys[1] are
   words[10]. */
#define GC__SLICE_ENTRIES 10
#define GC__SLICE_BYTES ((uint64_t)0xFFFF) /* of a word */
typedef union gc__slice {
    uint64_t words[16];
    struct {
        uint64_t space[10];
        int32_t keys[GC__SEARCH_NUMBERS];
    } part;
} gc__slice;
GC__STATIC_ASSERT(sizeof(gc__slice) == 128, "a slice is two cache lines");

typedef struct gc__tree {
    uintptr_t limit; /* atomic; addresses below it are looked up; 0: there are no blocks yet, nor a mask */
    uint64_t epoch;  /* atomic; raised before blocks that were replaced are used again */
    char *blocks;
    uint32_t mask;     /* of the offset in a cell */
    char separate[36]; /* readers have the line above, writers those below */
    size_t count;      /* atomic; of registered code */
    /* The rest is guarded by gc__code_lock. */
    size_t bytes, committed, used;      /* of the blocks: how many are reserved, can be used, and have been used */
    uint32_t free[GC__BLOCK_KINDS];     /* the first of each list, which are linked by their first words */
    uint32_t retired[GC__TREE_RETIRED]; /* replaced in this epoch: offsets, plus kinds */
    size_t retired_count;
} gc__tree;
GC__VAR gc__tree gc__the_tree __attribute__((aligned(64)));

/* Reading and writing what readers without the lock may read. */
GC__FN uint32_t gc__cell_get(const uint32_t *cell) { return __atomic_load_n(cell, __ATOMIC_ACQUIRE); }
GC__FN void gc__cell_set(uint32_t *cell, uint32_t value) { __atomic_store_n(cell, value, __ATOMIC_RELEASE); }
GC__FN uint64_t gc__word_get(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
GC__FN void gc__word_set(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

GC__FN bool gc__cell_is_node(uint32_t cell) { return (cell & GC__CELL_NODE) != 0; }
/* What the 4 bits are, for the low bits of an address. */
GC__FN unsigned gc__cell_slice(uint32_t cell, uint32_t x) { return x >> (cell & 31) & (GC__LEAF_SLICES - 1); }
GC__FN const gc_code *gc__word_code(uint64_t word) { return (const gc_code *)(uintptr_t)(word >> 16); }

GC__FN int32_t gc__key_of(uintptr_t address) { return (int32_t)((uint32_t)address ^ 0x80000000u); }

/* Looking up. There is no jump after the first read of a slice. Its outcome could not be predicted, and so all that comes
   afterwards, such as further lookups, would wait for the read. */

GC__INLINED const gc_code *gc__slice_find(const gc__slice *slice, int32_t x) {
    __builtin_prefetch(slice);
    size_t above = gc__cpu_search(slice->part.keys, x);
    uint64_t word = gc__word_get(&slice->words[above - 2]);
    uint32_t into = (uint32_t)x - (uint32_t)__atomic_load_n(&slice->part.keys[above - 1], __ATOMIC_ACQUIRE);
    return into <= (uint32_t)(word & GC__SLICE_BYTES) - 1 ? gc__word_code(word) : NULL;
}

/* The cell of a node; the node's index is in the upper bits of `next`. */
GC__INLINED uint32_t gc__node_cell(const char *blocks, uint32_t mask, uint32_t cell, uint32_t next) {
    uint32_t at = (cell & mask) + (next >> (cell & 31)) * (uint32_t)sizeof cell; /* any, if the block is another one by now */
    return gc__cell_get((const uint32_t *)(const void *)(blocks + (at & (mask | GC__CELL_INDEX))));
}

/* Looks up an address below the limit. False: the epoch has changed. The cell may be of a block that became another one
   meanwhile: `mask` keeps all that is read within the blocks. */
GC__INLINED bool gc__tree_try(const gc__tree *tree, uintptr_t address, const gc_code **code) {
    const char *blocks = tree->blocks;
    const uint32_t *root = (const uint32_t *)(const void *)(blocks + GC__TREE_ROOT);
    uint32_t mask = tree->mask, x = (uint32_t)address;
    uint64_t epoch = gc__word_get(&tree->epoch);
    uint32_t cell = gc__cell_get(&root[address >> GC__TREE_ROOT_SHIFT]);
    if (gc__cell_is_node(cell)) cell = gc__node_cell(blocks, mask, cell, x);
    if (gc__cell_is_node(cell)) cell = gc__node_cell(blocks, mask, cell, x << GC__NODE_BITS_MAX);
    if (gc__cell_is_node(cell)) cell = gc__node_cell(blocks, mask, cell, x << 2 * GC__NODE_BITS_MAX);
    const gc__slice *first = (const gc__slice *)(const void *)(blocks + (cell & mask));
    *code = gc__slice_find(first + gc__cell_slice(cell, x), gc__key_of(address));
    return GC__LIKELY(gc__word_get(&tree->epoch) == epoch);
}

GC__OUT_OF_LINE const gc_code *gc__tree_find_again(uintptr_t address) {
    const gc_code *code;
    while (!gc__tree_try(&gc__the_tree, address, &code)) {
    }
    return code;
}

GC__INLINED const gc_code *gc__tree_find(uintptr_t address) {
    const gc_code *code;
    if (GC__UNLIKELY(address >= __atomic_load_n(&gc__the_tree.limit, __ATOMIC_ACQUIRE))) return NULL;
    return gc__tree_try(&gc__the_tree, address, &code) ? code : gc__tree_find_again(address);
}

/* Blocks. The lock is held from here on. */

GC__FN uint32_t *gc__tree_root(uintptr_t address) {
    return (uint32_t *)(void *)(gc__the_tree.blocks + GC__TREE_ROOT) + (address >> GC__TREE_ROOT_SHIFT);
}
GC__FN uint32_t *gc__block_at(uint32_t offset) { return (uint32_t *)(void *)(gc__the_tree.blocks + offset); }
GC__FN uint32_t *gc__cell_node(uint32_t cell) { return gc__block_at(cell & GC__CELL_OFFSET); }
GC__FN unsigned gc__node_bits(uint32_t cell) { return 32 - (cell & 31); }

/* Of a leaf: the log2 of 16 by the number of its slices, this number, and the log2 of the span of a slice and of the leaf. */
GC__FN unsigned gc__leaf_few(uint32_t cell) { return cell >> 5 & 3; }
GC__FN unsigned gc__leaf_slices(uint32_t cell) { return GC__LEAF_SLICES >> gc__leaf_few(cell); }
GC__FN unsigned gc__slice_shift(uint32_t cell) { return cell & 31; }
GC__FN unsigned gc__leaf_shift(uint32_t cell) { return gc__slice_shift(cell) + 4 - gc__leaf_few(cell); }

/* The slice of the leaf that has the address, and the first slice, whose leaf has it. */
GC__FN gc__slice *gc__leaf_slice(uint32_t cell, uintptr_t address) {
    return (gc__slice *)(void *)gc__block_at(cell & GC__CELL_OFFSET) + gc__cell_slice(cell, (uint32_t)address);
}
GC__FN gc__slice *gc__leaf_first(uint32_t cell, uintptr_t address) {
    return gc__leaf_slice(cell, address >> gc__leaf_shift(cell) << gc__leaf_shift(cell));
}

/* The kind of block of which a cell with these low bits is. */
GC__FN unsigned gc__block_kind(uint32_t cell) {
    if (!gc__cell_is_node(cell)) return 3 - gc__leaf_few(cell);
    unsigned bits = gc__node_bits(cell);
    return bits + 2 > GC__BLOCK_SHIFT ? bits + 2 - GC__BLOCK_SHIFT : 0;
}

/* Reserves address space for the blocks; the less is to be had, the smaller a part of it. */
GC__FN bool gc__tree_reserve(gc__tree *tree) {
    for (size_t bytes = GC__TREE_BYTES_MAX; bytes >= GC__TREE_BYTES_MIN; bytes /= 2) {
        void *spare = bytes < GC__TREE_BYTES_MAX ? gc__os_reserve(3 * bytes, GC__HUGE_PAGE_BYTES, false) : NULL;
        bool enough = spare || bytes == GC__TREE_BYTES_MAX;
        char *blocks = enough ? (char *)gc__os_reserve(bytes + GC__TREE_BEHIND, GC__HUGE_PAGE_BYTES, true) : NULL;
        if (spare) gc__os_unmap(spare, 3 * bytes);
        if (!blocks) continue;
        tree->bytes = bytes;
        tree->committed = GC__TREE_BYTES_MIN / 2;
        tree->used = GC__TREE_START;
        tree->mask = (uint32_t)(bytes - 1) & GC__CELL_OFFSET;
        if (gc__os_commit(blocks, tree->committed)) {
            tree->blocks = blocks;
            __atomic_store_n(&tree->limit, (uintptr_t)1 << GC__TREE_ADDRESS_BITS, __ATOMIC_RELEASE);
            return true;
        }
        gc__os_unmap(blocks, bytes + GC__TREE_BEHIND);
        return false;
    }
    return false;
}

/* Provides memory for further blocks: as much as they have already, but not more than 64 MiB. From 2 MiB on in huge pages,
   without which a lookup in many ranges would wait for page tables as well. */
GC__FN bool gc__tree_commit(gc__tree *tree) {
    size_t more = gc__min(gc__min(tree->committed, (size_t)1 << 26), tree->bytes - tree->committed);
    char *at = tree->blocks + tree->committed;
    if (!more || !gc__os_commit(at, more)) return false;
    if (tree->committed >= GC__HUGE_PAGE_BYTES) gc__os_prefer_huge_pages(at, more);
    tree->committed += more;
    return true;
}

GC__FN void gc__block_free(uint32_t offset, unsigned kind) {
    gc__cell_set(gc__block_at(offset), gc__the_tree.free[kind]);
    gc__the_tree.free[kind] = offset;
}

/* Begins an epoch: blocks that were replaced may be used again. */
GC__FN void gc__tree_reuse(gc__tree *tree) {
    gc__word_set(&tree->epoch, tree->epoch + 1);
    for (size_t i = 0; i < tree->retired_count; i++)
        gc__block_free(tree->retired[i] & GC__CELL_OFFSET, tree->retired[i] & ~GC__CELL_OFFSET);
    tree->retired_count = 0;
}

/* Gives up the block to which a cell referred, as a node, or as the leaf of the address. */
GC__FN void gc__block_retire(uint32_t cell, uintptr_t address) {
    gc__tree *tree = &gc__the_tree;
    char *block = (char *)gc__cell_node(cell);
    if (!gc__cell_is_node(cell)) block = (char *)gc__leaf_first(cell, address);
    if (tree->retired_count == GC__TREE_RETIRED) gc__tree_reuse(tree);
    tree->retired[tree->retired_count++] = (uint32_t)(block - tree->blocks) + gc__block_kind(cell);
}

/* A free block of the kind, if need be cut from a larger one. 0: there is none. */
GC__FN uint32_t gc__block_reuse(gc__tree *tree, unsigned kind) {
    unsigned from = kind;
    while (from < GC__BLOCK_KINDS && !tree->free[from]) from++;
    if (from == GC__BLOCK_KINDS) return 0;
    uint32_t offset = tree->free[from];
    tree->free[from] = gc__cell_get(gc__block_at(offset));
    while (from > kind) from--, gc__block_free(offset + ((uint32_t)1 << (from + GC__BLOCK_SHIFT)), from);
    return offset;
}

/* Takes a block. Returns its offset; 0: there is no memory. */
GC__FN uint32_t gc__block_take(unsigned kind) {
    gc__tree *tree = &gc__the_tree;
    size_t bytes = (size_t)1 << (kind + GC__BLOCK_SHIFT);
    for (;;) {
        uint32_t offset = gc__block_reuse(tree, kind);
        if (offset) return offset;
        if (tree->used + bytes <= tree->committed || gc__tree_commit(tree)) {
            tree->used += bytes;
            return (uint32_t)(tree->used - bytes);
        }
        if (!tree->retired_count) return 0;
        gc__tree_reuse(tree);
    }
}

/* Takes a block for a node, or for the leaf that starts at the address. Returns the cell; 0: there is no memory. */
GC__FN uint32_t gc__node_take(unsigned bits) {
    uint32_t low = GC__CELL_NODE + 32 - bits, offset = gc__block_take(gc__block_kind(low));
    return offset ? offset + low : 0;
}
GC__FN uint32_t gc__leaf_take(uintptr_t start, unsigned shift, unsigned few) {
    uint32_t low = shift | few << 5, offset = gc__block_take(gc__block_kind(low));
    return offset ? offset + low - gc__cell_slice(low, (uint32_t)start) * (uint32_t)sizeof(gc__slice) : 0;
}

/* When there is no code any more all blocks are free. Gives most of their memory back. */
GC__FN void gc__tree_clear(gc__tree *tree) {
    if (tree->used <= GC__TREE_BYTES_KEPT) return;
    gc__tree_reuse(tree);
    memset(tree->free, 0, sizeof tree->free);
    tree->used = GC__TREE_START;
    gc__os_discard(tree->blocks + GC__TREE_BYTES_KEPT, tree->committed - GC__TREE_BYTES_KEPT);
}

/* Slices, while they are changed, are lists of the pieces of code in a span of addresses. */

typedef struct gc__piece {
    uintptr_t start, end;
    const gc_code *code;
} gc__piece;

#define GC__PIECES_MAX 64
typedef struct gc__pieces {
    unsigned count;
    gc__piece piece[GC__PIECES_MAX];
} gc__pieces;

/* Appends a piece; one that continues the last one is joined to it. */
GC__FN void gc__pieces_push(gc__pieces *list, const gc_code *code, uintptr_t start, uintptr_t end) {
    gc__piece *last = list->count ? &list->piece[list->count - 1] : NULL;
    if (last && last->code == code && last->end == start) {
        last->end = end;
        return;
    }
    gc__piece piece = {start, end, code};
    list->piece[list->count++] = piece;
}

/* Inserts a piece in the order of addresses. */
GC__FN void gc__pieces_insert(gc__pieces *list, const gc_code *code, uintptr_t start, uintptr_t end) {
    unsigned i = list->count++;
    for (; i && list->piece[i - 1].start > start; i--) list->piece[i] = list->piece[i - 1];
    gc__piece piece = {start, end, code};
    list->piece[i] = piece;
}

/* Appends the pieces of the slice, which ends at `end`. */
GC__FN void gc__slice_read(const gc__slice *slice, uintptr_t end, gc__pieces *list) {
    uintptr_t base = (end - 1) >> GC__TREE_ROOT_SHIFT << GC__TREE_ROOT_SHIFT;
    for (unsigned i = 1; i <= GC__SLICE_ENTRIES; i++) {
        uint64_t word = slice->words[i], bytes = word & GC__SLICE_BYTES;
        if (!word) continue;
        uintptr_t start = base + ((uint32_t)slice->part.keys[i + 1] ^ 0x80000000u);
        uintptr_t next = i < GC__SLICE_ENTRIES ? base + ((uint32_t)slice->part.keys[i + 2] ^ 0x80000000u) : end;
        gc__pieces_push(list, gc__word_code(word), start, bytes ? start + bytes : next);
    }
}

/* Writes what the pieces are in [start, end) to a slice that no reader can come to. Returns how many words have code; more
   than GC__SLICE_ENTRIES: the slice has no room, and is as it was. */
GC__FN unsigned gc__slice_fill(gc__slice *slice, const gc__pieces *list, uintptr_t start, uintptr_t end) {
    int32_t keys[GC__SLICE_ENTRIES + 2];
    uint64_t words[GC__SLICE_ENTRIES + 2];
    uintptr_t until = 0; /* the end of a long piece */
    unsigned count = 0, live = 0;
    for (unsigned i = 0; i < list->count && count <= GC__SLICE_ENTRIES; i++) {
        uintptr_t from = list->piece[i].start > start ? list->piece[i].start : start;
        uintptr_t to = list->piece[i].end < end ? list->piece[i].end : end;
        if (from >= to) continue;
        if (until && until < from) keys[count] = gc__key_of(until), words[count++] = 0;
        bool is_long = to - from > GC__SLICE_BYTES;
        keys[count] = gc__key_of(from);
        words[count++] = (uint64_t)(uintptr_t)list->piece[i].code << 16 | (is_long ? 0 : to - from);
        until = is_long ? to : 0;
        live++;
    }
    if (until && until < end && count <= GC__SLICE_ENTRIES) keys[count] = gc__key_of(until), words[count++] = 0;
    if (count > GC__SLICE_ENTRIES) return count;
    gc__word_set(&slice->words[0], 0);
    for (unsigned i = 1, unused = GC__SLICE_ENTRIES - count; i <= GC__SLICE_ENTRIES; i++) {
        gc__word_set(&slice->words[i], i > unused ? words[i - unused - 1] : 0);
        __atomic_store_n(&slice->part.keys[i + 1], i > unused ? keys[i - unused - 1] : INT32_MIN, __ATOMIC_RELEASE);
    }
    return live;
}

/* Copies a slice to one that no reader can come to. Returns how many words have code. */
GC__FN unsigned gc__slice_copy(gc__slice *to, const gc__slice *from) {
    unsigned live = 0;
    for (unsigned i = 0; i < sizeof to->words / sizeof *to->words; i++) {
        gc__word_set(&to->words[i], from->words[i]);
        live += i && i <= GC__SLICE_ENTRIES && from->words[i];
    }
    gc__word_set(&to->words[0], 0);
    return live;
}
