/* The arena: reserving the address range, handing out and taking back runs of regions. */
#pragma once

#include "region.h"

#define GC__ARENA_BYTES_MIN ((size_t)16 * GC_REGION_BYTES)
#define GC__TABLE_BYTES_SMALL ((size_t)2 << 20)

/* In a large heap each mark or dirty card is looked for in memory that no TLB knows, and then the way to its page takes
   longer than the look. The start of the table, all that a small heap needs, keeps small pages. */
GC__FN void gc__table_pages(char *table, size_t bytes) {
    if (bytes > GC__TABLE_BYTES_SMALL)
        gc__os_prefer_huge_pages(table + GC__TABLE_BYTES_SMALL, bytes - GC__TABLE_BYTES_SMALL);
}

/* Reserves everything for an arena of `bytes`, or nothing. */
GC__FN bool gc__arena_try(size_t bytes) {
    gc__arena *arena = &gc__the_arena;
    bytes &= ~(GC_REGION_BYTES - 1);
    size_t table = (bytes >> GC_REGION_SHIFT) * sizeof(gc__region), marks = bytes / 64;
    size_t cards = bytes >> GC_BARRIER_CARD_BYTE_SHIFT, bundles = GC_BUNDLE_SHIFT ? bytes >> GC_BUNDLE_SHIFT : 0;
    size_t page = gc__os_page_bytes();
    table = (table + page - 1) & ~(page - 1);
    size_t beside = table + marks + cards + ((bundles + page - 1) & ~(page - 1));
    char *tables = (char *)gc__os_map(beside);
    char *base = tables ? (char *)gc__os_reserve(bytes, GC_REGION_BYTES) : NULL;
    if (!base) {
        if (tables) gc__os_unmap(tables, beside);
        return false;
    }
    arena->base = (uintptr_t)base;
    arena->bytes = bytes;
    gc__covered_start = arena->base;
    gc__covered_bytes = bytes;
    arena->count = bytes >> GC_REGION_SHIFT;
    arena->regions = (gc__region *)(void *)tables;
    arena->marks = (uint64_t *)((uintptr_t)tables + table - (arena->base >> 9) * sizeof(uint64_t));
    arena->cards = (uint8_t *)tables + table + marks;
    arena->bundles = (uint8_t *)tables + table + marks + cards;
    gc__table_pages(tables + table, marks);
    gc__table_pages(tables + table + marks, cards);
    gc__tables.cards = (uint8_t *)((uintptr_t)arena->cards - (arena->base >> GC_BARRIER_CARD_BYTE_SHIFT));
    gc__tables.lowest = gc__tables.highest = arena->base;
    gc__tables.low = UINTPTR_MAX; /* no address is in [low, high) */
    gc__tables.bundles = (uint8_t *)((uintptr_t)arena->bundles - (arena->base >> GC_BUNDLE_SHIFT));
    return true;
}

/* Reserves the rank and verdict tables and the largest arena that the system grants. Lock held. */
GC__FN gc_result gc__arena_open(void) {
    if (gc__the_arena.base) return GC_OK;
    size_t ranks = 3 * GC_RANK_ENTRIES;
    uint8_t *tables = (uint8_t *)gc__os_map(ranks);
    if (!tables)
        return gc__fail(GC_ERROR_RESERVE,
                        "cannot reserve %zu MiB of address space for the rank tables: raise "
                        "`ulimit -v`, or compile with a larger GC_REGION_SHIFT (now %d)",
                        ranks >> 20, GC_REGION_SHIFT);
    for (size_t bytes = GC_ARENA_BYTES; bytes >= GC__ARENA_BYTES_MIN; bytes /= 2) {
        /* Where address space is short, as much again must be left for the host and the collector's own lists. */
        void *spare = bytes < GC_ARENA_BYTES ? gc__os_reserve(bytes, GC_REGION_BYTES) : NULL;
        bool opened = (spare || bytes == GC_ARENA_BYTES) && gc__arena_try(bytes);
        if (spare) gc__os_unmap(spare, bytes);
        if (!opened) continue;
        gc__tables.age = tables + GC_RANK_ENTRIES;
        return GC_OK;
    }
    gc__os_unmap(tables, ranks);
    return gc__fail(GC_ERROR_RESERVE,
                    "cannot reserve address space for even 16 regions (%zu MiB, and their tables): "
                    "raise `ulimit -v`",
                    GC__ARENA_BYTES_MIN >> 20);
}

/* Whether the region can become part of a run for `heap`. */
GC__FN bool gc__arena_takes(const gc__region *region, const gc_heap *heap) {
    return !region->heap || (region->heap == heap && region->kind == GC__FREE);
}

/* The index of the first of `span` regions in a row that are free for `heap`; arena->count if there are none. Lock held. */
GC__FN size_t gc__arena_find(const gc_heap *heap, size_t span) {
    const gc__arena *arena = &gc__the_arena;
    size_t run = 0;
    for (size_t i = 0; i < arena->used; i++) {
        run = gc__arena_takes(&arena->regions[i], heap) ? run + 1 : 0;
        if (run == span) return i + 1 - span;
    }
    return arena->used - run + span <= arena->count ? arena->used - run : arena->count;
}

/* Takes `span` contiguous regions for the heap, from the arena or from the heap's own free ones (*cached says how many of
   them were). Returns the first, or NULL with gc__fail. */
GC__FN gc__region *gc__arena_acquire(gc_heap *heap, size_t span, size_t *cached) {
    gc__arena *arena = &gc__the_arena;
    *cached = 0;
    gc__lock_take(&arena->lock);
    size_t first = span <= arena->count ? gc__arena_find(heap, span) : arena->count;
    bool found = first < arena->count;
    for (size_t i = first; found && i < first + span; i++) {
        gc__region *region = &arena->regions[i];
        if (!region->base) region->base = region->dirty_end = arena->base + (i << GC_REGION_SHIFT);
        if (!region->accessible && !gc__os_access((void *)region->base, GC_REGION_BYTES, true))
            found = false;
        else
            region->accessible = true;
    }
    for (size_t i = first; found && i < first + span; i++) {
        gc__region *region = &arena->regions[i];
        *cached += region->heap == heap;
        __atomic_store_n(&region->heap, heap, __ATOMIC_RELAXED);
        region->kind = i == first ? (span > 1 ? GC__LARGE : GC__SMALL) : GC__LARGE_REST;
        region->rest_index = (uint32_t)(i - first);
    }
    if (found && first + span > arena->used) __atomic_store_n(&arena->used, first + span, __ATOMIC_RELAXED);
    gc__lock_release(&arena->lock);
    if (found) {
        gc__bounds_grow(arena->base + ((first + span) << GC_REGION_SHIFT));
        return &arena->regions[first];
    }
    if (first < arena->count)
        gc__fail(GC_ERROR_MEMORY, "the system gives no memory for %zu more regions of %zu KiB", span,
                 GC_REGION_BYTES >> 10);
    else
        gc__fail(GC_ERROR_MEMORY,
                 "the arena of %zu MiB has no %zu free regions in a row: raise `ulimit -v` or GC_ARENA_BYTES",
                 arena->bytes >> 20, span);
    return NULL;
}

/* Gives a region back to the arena, its memory to the system. */
GC__FN void gc__arena_release(gc__region *region) {
    bool zero = region->dirty_end <= region->base || gc__os_discard((void *)region->base, GC_REGION_BYTES);
    gc__lock_take(&gc__the_arena.lock);
    if (zero) region->dirty_end = region->base;
    region->kind = GC__FREE;
    __atomic_store_n(&region->heap, (gc_heap *)NULL, __ATOMIC_RELAXED);
    gc__lock_release(&gc__the_arena.lock);
}
