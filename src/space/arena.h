/* The arena: reserves the address range, and hands out and takes back runs of regions. */
#pragma once

#include "../base/words.h"
#include "barrier_state.h"

#define GC__ARENA_BYTES_MIN ((size_t)16 * GC_REGION_BYTES)
GC__STATIC_ASSERT(GC_ARENA_BYTES >= GC__ARENA_BYTES_MIN,
                  "GC_ARENA_BYTES must hold 16 regions: raise it, or choose a smaller GC_REGION_SHIFT");

/* Reserves an arena of `bytes` with its tables, or reserves nothing. */
GC__COLD bool gc__arena_try(size_t bytes) {
    gc__arena *arena = &gc__the_arena;
    size_t alignment = gc__max(GC_REGION_BYTES, GC__HUGE_PAGE_BYTES);
    arena->count = bytes >> GC_REGION_SHIFT;
    size_t metadata = 0;
    for (int i = 0; i < GC__SIDE_ALWAYS; i++) metadata += gc__side_bytes(i, 0);
    char *marks = gc__side_reserve(GC__SIDE_MARKS);
    char *sides = marks ? (char *)gc__supply_reserve(metadata, GC__SIDE_BYTES_SMALL, true) : NULL;
    char *base = sides ? (char *)gc__supply_reserve(arena->count << GC_REGION_SHIFT, alignment, false) : NULL;
    if (!base) {
        if (sides) gc__supply_release(sides, metadata);
        if (marks) gc__supply_release(marks, gc__sides[GC__SIDE_MARKS].bytes);
        return false;
    }
    arena->base = (uintptr_t)base;
    arena->bytes = arena->count << GC_REGION_SHIFT;
    for (int i = 0; i < GC__SIDE_ALWAYS; sides += gc__sides[i++].bytes) gc__side_place(i, sides);
    return true;
}

GC__FN void gc__arena_close(void);

/* The rank tables have no entries for addresses beyond GC_ADDRESS_BITS. */
GC__COLD gc_result gc__arena_check(void) {
    uintptr_t base = gc__the_arena.base;
    if (base + gc__the_arena.bytes <= (uintptr_t)1 << GC_ADDRESS_BITS) return GC_OK;
    gc__arena_close();
    return gc__fail(
        GC_ERROR_RESERVE,
        "the system has placed the arena at %p, beyond the %d bits of an address: compile with more GC_ADDRESS_BITS",
        (void *)base, GC_ADDRESS_BITS);
}

/* Publishes the addresses of the tables, in the form in which their readers need them. */
GC__COLD void gc__arena_publish(uint8_t *ranks) {
    gc__arena *arena = &gc__the_arena;
    arena->regions = (gc__region *)(void *)gc__sides[GC__SIDE_REGIONS].start;
    arena->marks[0] = gc__side_bits(gc__sides[GC__SIDE_MARKS].start);
    arena->cards = (uint8_t *)gc__sides[GC__SIDE_CARDS].start;
    arena->bundles = (uint8_t *)gc__sides[GC__SIDE_BUNDLES].start;
    arena->taken = (uint8_t *)gc__sides[GC__SIDE_TAKEN].start;
    gc__tables.cards = (uint8_t *)((uintptr_t)arena->cards - (arena->base >> GC_CARD_BYTE_SHIFT));
    gc__tables.bundles = (uint8_t *)((uintptr_t)arena->bundles - (arena->base >> GC_BUNDLE_SHIFT));
    gc__tables.lowest = gc__tables.highest = arena->base;
    gc__tables.end = arena->base + arena->bytes;
    gc__tables.low = UINTPTR_MAX; /* no address is in [low, high) */
    gc__tables.age = ranks + GC_RANK_ENTRIES;
    for (int i = GC__SIDE_YOUTH; i <= GC__SIDE_VERDICT; i++)
        gc__side_place(i, (char *)ranks + (size_t)(i - GC__SIDE_YOUTH) * GC_RANK_ENTRIES +
                              (arena->base >> GC_REGION_SHIFT));
}

/* Reserves the largest arena that the system grants. */
GC__COLD gc_result gc__arena_reserve(void) {
    for (size_t bytes = GC_ARENA_BYTES; bytes >= GC__ARENA_BYTES_MIN; bytes /= 2) {
        /* If address space is short, as much again must remain for the host and the collector's own lists. */
        bool is_short = bytes < GC_ARENA_BYTES && !gc__supply_is_host();
        void *spare = is_short ? gc__os_reserve(bytes, GC_REGION_BYTES, false) : NULL;
        bool opened = (spare || !is_short) && gc__arena_try(bytes);
        if (spare) gc__os_unmap(spare, bytes);
        if (opened) return GC_OK;
    }
    return gc__fail(GC_ERROR_RESERVE,
                    "cannot reserve address space for even 16 regions (%zu MiB, and their tables): %s",
                    GC__ARENA_BYTES_MIN >> 20, gc__supply_refusal(2 * GC__ARENA_BYTES_MIN));
}

/* The size of the youth, age and verdict tables. The last slice of them that is opened may reach beyond their end. */
#define GC__RANKS_BYTES (3 * GC_RANK_ENTRIES + GC__SIDE_BYTES_SMALL)

/* Makes memory come from these functions, or from the system if `memory` is NULL. Requires the arena lock. */
GC__FN gc_result gc__arena_supply(const gc_memory *memory) {
    static const gc_memory of_system = {NULL, NULL, NULL, NULL, NULL};
    const gc_memory *from = memory ? memory : &of_system;
    if (memory && (!memory->reserve || !memory->commit || !memory->release))
        return gc__fail(GC_ERROR_OPTION, "options.memory has no reserve, commit or release: only discard may be NULL");
    if (from->reserve == gc__supply.reserve && from->commit == gc__supply.commit &&
        from->discard == gc__supply.discard && from->release == gc__supply.release &&
        from->context == gc__supply.context)
        return GC_OK;
    if (gc__the_arena.heaps)
        return gc__fail(GC_ERROR_OPTION, "options.memory differs from that of the heaps that are there: all heaps of a "
                                         "process share one address range, so destroy them first");
    gc__arena_close();
    gc__supply = *from;
    return GC_OK;
}

/* Reserves the rank and verdict tables and the arena. Requires the arena lock. */
GC__COLD gc_result gc__arena_open(void) {
    if (gc__the_arena.base) return GC_OK;
    size_t ranks = GC__RANKS_BYTES;
    uint8_t *tables = (uint8_t *)gc__supply_reserve(ranks, GC__SIDE_BYTES_SMALL, true);
    if (!tables)
        return gc__fail(GC_ERROR_RESERVE,
                        "cannot reserve %zu MiB for the rank tables: %s, or compile with a larger "
                        "GC_REGION_SHIFT (now %d)",
                        ranks >> 20, gc__supply_refusal(ranks), GC_REGION_SHIFT);
    gc_result result = gc__arena_reserve();
    if (result == GC_OK) {
        gc__arena_publish(tables);
        return gc__arena_check();
    }
    gc__supply_release(tables, ranks);
    return result;
}

/* Returns the arena and its tables to the system. Requires the arena lock; there must be no heap. */
GC__COLD void gc__arena_close(void) {
    gc__arena *arena = &gc__the_arena;
    if (!arena->base) return;
    for (size_t i = 0; i < arena->used; i++)
        if (arena->regions[i].base) gc__os_mark_free(arena->regions[i].base, GC_REGION_BYTES, false);
    gc__supply_release((void *)arena->base, arena->bytes);
    gc__supply_release(gc__tables.age - GC_RANK_ENTRIES, GC__RANKS_BYTES);
    const gc__side *last = &gc__sides[GC__SIDE_ALWAYS - 1]; /* of those that were reserved together */
    gc__supply_release(gc__sides[0].start, (size_t)(last->start + last->bytes - gc__sides[0].start));
    for (int i = GC__SIDE_MARKS; i < GC__SIDES; i++)
        if (gc__sides[i].start) gc__supply_release(gc__sides[i].start, gc__sides[i].bytes);
    memset(gc__sides, 0, sizeof gc__sides);
    gc__sides_opened = 0;
    if (gc__barrier_may_log() && gc__tables.log) gc__os_unmap((void *)gc__log_start, GC__LOG_ENTRIES * 8);
    memset(&gc__tables, 0, sizeof gc__tables);
    arena->marks[1] = NULL;
    arena->base = arena->bytes = arena->used = arena->free_from = 0;
}

/* Returns the index of the first region at or after `from` that may be free, or `used` if there is none. Most of a
   large heap is taken, so this reads the table eight regions at a time. */
GC__FN size_t gc__arena_next_free(size_t from, size_t used) {
    const uint8_t *taken = gc__the_arena.taken;
    const uint64_t ones = UINT64_MAX / 255;
    while (from < used) {
        uint64_t word = 0;
        if (from % 8 == 0) word = __atomic_load_n((const uint64_t *)(const void *)(taken + from), __ATOMIC_RELAXED);
        if (word == ones) {
            from += 8;
            continue;
        }
        if (!__atomic_load_n(taken + from, __ATOMIC_RELAXED)) return from;
        from++;
    }
    return used;
}

/* Returns the index of the first of `span` contiguous regions free for `heap`; arena->count if there are none. Requires
   the arena lock. */
GC__FN size_t gc__arena_find(const gc_heap *heap, size_t span) {
    const gc__arena *arena = &gc__the_arena;
    size_t used = arena->used, first = gc__arena_next_free(span > 1 ? 0 : arena->free_from, used), end = first;
    while (end < used) {
        const gc__region *region = &arena->regions[end++];
        bool takes = !region->heap || (region->heap == heap && region->kind == GC__FREE);
        if (takes && end - first == span) return first;
        if (!takes) first = end = gc__arena_next_free(end, used);
    }
    return first + span <= arena->count ? first : arena->count;
}

/* Provides memory for the region. Returns false if the system refuses. Requires the arena lock. */
GC__FN bool gc__arena_commit(gc__region *region) {
    if (!region->base) {
        region->base = gc__the_arena.base + ((uintptr_t)(region - gc__the_arena.regions) << GC_REGION_SHIFT);
        region->dirty_end = region->base;
    }
    if (region->accessible && !region->left_out) return true;
    if (!gc__supply_commit((void *)region->base, GC_REGION_BYTES)) return false;
    region->accessible = true;
    region->left_out = false;
    return true;
}

GC__FN void gc__bounds_grow(uintptr_t highest); /* takes the end of the regions that have been in use */

/* Gives regions to the heap. Returns false if the system has no memory for them. Requires the arena lock. */
GC__FN bool gc__arena_grant(gc_heap *heap, size_t first, size_t span) {
    gc__arena *arena = &gc__the_arena;
    bool found = gc__sides_open(first + span);
    for (size_t i = first; found && i < first + span; i++) found = gc__arena_commit(&arena->regions[i]);
    for (size_t i = first; found && i < first + span; i++) {
        gc__region *region = &arena->regions[i];
        if (region->heap != heap) region->kind = GC__SMALL;
        __atomic_store_n(&region->heap, heap, __ATOMIC_RELAXED);
    }
    if (!found) return false;
    gc__region_note_taken(&arena->regions[first], span, true);
    if (first + span > arena->used) __atomic_store_n(&arena->used, first + span, __ATOMIC_RELAXED);
    return true;
}

/* Takes `span` contiguous regions for the heap from the arena and, if `span` is more than one, also from the heap's own
   free regions, which are still GC__FREE. Returns the first region, or NULL with gc__fail. */
GC__FN gc__region *gc__arena_acquire(gc_heap *heap, size_t span) {
    gc__arena *arena = &gc__the_arena;
    gc__lock_take(&arena->lock);
    size_t first = span <= arena->count ? gc__arena_find(span > 1 ? heap : NULL, span) : arena->count;
    bool found = first < arena->count && gc__arena_grant(heap, first, span);
    if (found && span == 1) arena->free_from = first + 1;
    gc__lock_release(&arena->lock);
    if (found) {
        gc__bounds_grow(arena->base + ((first + span) << GC_REGION_SHIFT));
        return &arena->regions[first];
    }
    if (first < arena->count)
        gc__fail(GC_ERROR_MEMORY, "the system gives no memory for %zu more regions of %zu KiB: %s", span,
                 GC_REGION_BYTES >> 10, gc__supply_refusal(span * GC_REGION_BYTES));
    else
        gc__fail(GC_ERROR_MEMORY,
                 "the arena of %zu MiB has no %zu free regions in a row: raise `ulimit -v` or GC_ARENA_BYTES",
                 arena->bytes >> 20, span);
    return NULL;
}

/* Core dumps leave out memory that was given back, but not that of every region: if every second region were left out,
   each would be a separate mapping, and a process may have only some 65,000 mappings. */
#define GC__ARENA_LEFT_OUT_MAX ((size_t)8192)

/* Returns a region to the arena, and its memory to the system. */
GC__COLD void gc__arena_release(gc__region *region) {
    bool resident = region->dirty_end > region->base || region->populated;
    bool zero = !resident || gc__supply_discard((void *)region->base, GC_REGION_BYTES);
    bool left_out = zero && region->accessible && (size_t)(region - gc__the_arena.regions) < GC__ARENA_LEFT_OUT_MAX;
    bool advises = left_out && !gc__supply_is_host();
    if (advises) gc__os_leave_out_of_dumps((void *)region->base, GC_REGION_BYTES);
    if (advises && region->populated) gc__os_prefer_small_pages((void *)region->base, GC_REGION_BYTES);
    gc__lock_take(&gc__the_arena.lock);
    if (zero) region->dirty_end = region->base;
    region->populated &= !zero;
    region->left_out = left_out;
    region->kind = GC__FREE;
    size_t index = (size_t)(region - gc__the_arena.regions);
    if (index < gc__the_arena.free_from) gc__the_arena.free_from = index;
    gc__region_note_taken(region, 1, false);
    __atomic_store_n(&region->heap, (gc_heap *)NULL, __ATOMIC_RELAXED);
    gc__lock_release(&gc__the_arena.lock);
}
