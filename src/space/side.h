/* The side tables of the arena, with an entry or more for each region.

   Each is reserved for the whole arena. Only the entries of regions that have been in use are writable and take memory. The
   rest counts towards no limit, is not locked with the program's memory, and is not in core dumps. It reads as zero, but for
   marks, which nobody asks for: tools that dump all that can be read would write 16 GiB of them for each TiB. */
#pragma once

#include "../api/heap.h"
#include "../platform/platform.h"
#include "region.h"

/* The source of address space and memory for regions and tables: the system, or functions of the host (gc_memory). */

static gc_memory gc__supply; /* all zero: the system; written under the arena lock while there is no arena */

GC__FN bool gc__supply_is_host(void) { return gc__supply.reserve != NULL; }

/* As gc__os_reserve. The address that a host returns is its own choice, so it is checked. */
GC__FN void *gc__supply_reserve(size_t bytes, size_t alignment, bool readable) {
    if (!gc__supply_is_host()) return gc__os_reserve(bytes, alignment, readable);
    void *start = gc__supply.reserve(gc__supply.context, bytes, alignment, readable);
    if (!((uintptr_t)start & (alignment - 1))) return start;
    gc__supply.release(gc__supply.context, start, bytes);
    return NULL;
}

GC__FN bool gc__supply_commit(void *address, size_t bytes) {
    return gc__supply_is_host() ? gc__supply.commit(gc__supply.context, address, bytes) : gc__os_commit(address, bytes);
}

GC__FN bool gc__supply_discard(void *address, size_t bytes) {
    if (!gc__supply_is_host()) return gc__os_discard(address, bytes);
    return gc__supply.discard && gc__supply.discard(gc__supply.context, address, bytes);
}

/* Releases all that one call has reserved. */
GC__OUT_OF_LINE void gc__supply_release(void *address, size_t bytes) {
    if (gc__supply_is_host())
        gc__supply.release(gc__supply.context, address, bytes);
    else
        gc__os_unmap(address, bytes);
}

/* Returns which source has just refused `bytes`, and the remedy. */
GC__FN const char *gc__supply_refusal(size_t bytes) {
    return gc__supply_is_host() ? "options.memory of the host refuses it" : gc__os_refusal(bytes);
}

/* Gives this advice for the system's memory only; a host advises for its own. */
GC__FN void gc__supply_prefer_huge_pages(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_prefer_huge_pages(address, bytes);
}
GC__FN void gc__supply_populate(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_populate(address, bytes);
}

enum {
    GC__SIDE_REGIONS,
    GC__SIDE_CARDS,
    GC__SIDE_BUNDLES,
    GC__SIDE_TAKEN,
    GC__SIDE_ALWAYS, /* the tables before this are reserved together with the arena */
    GC__SIDE_YOUTH = GC__SIDE_ALWAYS,
    GC__SIDE_AGE,
    GC__SIDE_VERDICT,
    GC__SIDE_MARKS,
    GC__SIDE_MARKS_SECOND,
    GC__SIDE_WATCH,
    GC__SIDE_LOG_BITS,
    GC__SIDE_SHADOW,
    GC__SIDES
};

static const size_t gc__side_bytes_per_region[GC__SIDES] = {
    sizeof(gc__region),
    GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT,
    GC_BUNDLE_SHIFT ? GC_REGION_BYTES >> GC_BUNDLE_SHIFT : 0,
    1,
    1,
    1,
    1,
    GC_REGION_BYTES / 64,
    GC_REGION_BYTES / 64,
    GC_REGION_BYTES >> GC_WATCH_SHIFT,
    GC_REGION_BYTES / 64,
    GC_REGION_BYTES,
};

/* Written under the arena lock. */
typedef struct gc__side {
    char *start;          /* page-aligned; NULL: the table is not in use */
    size_t lead;          /* bytes from `start` to the first region's entries */
    size_t bytes, opened; /* bytes reserved from `start` on; bytes that are writable */
} gc__side;
static gc__side gc__sides[GC__SIDES];
static size_t gc__sides_opened; /* number of regions for which all tables are writable */

#define GC__SIDE_BYTES_SMALL ((size_t)2 << 20)

/* Rounds the size of a table. A small heap needs only its start; the rest is opened in slices that may be huge
   pages. */
GC__COLD size_t gc__side_round(size_t bytes) {
    size_t unit = bytes > GC__SIDE_BYTES_SMALL ? GC__SIDE_BYTES_SMALL : gc__os_page_bytes();
    return (bytes + unit - 1) & ~(unit - 1);
}

/* Returns the bytes of the table for the whole arena. */
GC__FN size_t gc__side_bytes(int which, size_t lead) {
    return gc__side_round(lead + gc__the_arena.count * gc__side_bytes_per_region[which]);
}

/* Places the table so that the entries of the first region are at `first`, in reserved memory. Asks for huge pages for marks
   and cards, except for the start of the table. In a large heap most accesses to these miss the TLB, and then the address
   translation takes longer than reading the entry. */
GC__COLD void gc__side_place(int which, char *first) {
    size_t lead = (uintptr_t)first & (gc__os_page_bytes() - 1);
    gc__side side = {first - lead, lead, gc__side_bytes(which, lead), 0};
    gc__sides[which] = side;
    if ((which == GC__SIDE_MARKS || which == GC__SIDE_CARDS) && side.bytes > GC__SIDE_BYTES_SMALL)
        gc__supply_prefer_huge_pages(side.start + GC__SIDE_BYTES_SMALL, side.bytes - GC__SIDE_BYTES_SMALL);
}

/* Makes the table writable for the first `regions` regions. Returns false if the system refuses. */
GC__COLD bool gc__side_open(int which, size_t regions) {
    gc__side *side = &gc__sides[which];
    size_t end = side->start ? gc__side_round(side->lead + regions * gc__side_bytes_per_region[which]) : 0;
    if (end > side->bytes) end = side->bytes;
    if (end <= side->opened) return true;
    if (!gc__supply_commit(side->start + side->opened, end - side->opened)) return false;
    side->opened = end;
    return true;
}

GC__COLD bool gc__sides_open_exactly(size_t regions) {
    for (int which = 0; which < GC__SIDES; which++)
        if (!gc__side_open(which, regions)) return false;
    gc__sides_opened = regions;
    return true;
}

/* Makes all tables writable for the first `regions` regions, and if possible for half as many more, so that this
   happens rarely. Returns false if the system refuses. */
GC__COLD bool gc__sides_open(size_t regions) {
    if (regions <= gc__sides_opened) return true;
    size_t more = regions + regions / 2 + 8;
    if (more > gc__the_arena.count) more = gc__the_arena.count;
    return gc__sides_open_exactly(more) || gc__sides_open_exactly(regions);
}

/* Reserves a table alone, and opens it as far as the others; NULL if the system refuses. */
GC__COLD char *gc__side_reserve(int which) {
    size_t bytes = gc__side_bytes(which, 0);
    char *start = (char *)gc__supply_reserve(bytes, GC__SIDE_BYTES_SMALL, which > GC__SIDE_MARKS_SECOND);
    if (!start) return NULL;
    gc__side_place(which, start);
    if (gc__side_open(which, gc__sides_opened)) return start;
    gc__sides[which].start = NULL;
    gc__supply_release(start, bytes);
    return NULL;
}

/* Returns a table with a bit for every 8 bytes, biased like the mark bits. */
GC__FN uint64_t *gc__side_bits(char *start) { return (uint64_t *)(void *)(start - (gc__the_arena.base >> 6)); }

/* Reserves a table with a bit for every 8 bytes, biased like the mark bits. Returns NULL if the system refuses. */
GC__COLD uint64_t *gc__side_reserve_bits(int which) {
    char *start = gc__side_reserve(which);
    return start ? gc__side_bits(start) : NULL;
}

GC__FN void gc__side_zero(int which) {
    const gc__side *side = &gc__sides[which];
    if (side->opened && !gc__supply_discard(side->start, side->opened)) memset(side->start, 0, side->opened);
}
