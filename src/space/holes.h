/* Holes: free runs inside regions that hold survivors. Mutators allocate in the holes of generation 0 (regions that a
   non-moving or non-generational collection recycled), promotion in those of generations 1 and 2. */
#pragma once

#include "mark_bits.h"
#include "object.h"
#include "heap.h"

#define GC__HOLE_BYTES_MIN ((size_t)256)   /* for promotion: smaller holes are left until the region is evacuated, */
#define GC__HOLE_BYTES_LISTED ((size_t)32) /* or until they are filled, if many enough are left that they are listed */
#define GC__LOCAL_SPAN_MOST ((size_t)256)    /* the largest hole that becomes a local span */
#define GC__LOCAL_SPANS_BYTES ((size_t)8192)     /* a thread takes about this many bytes of spans at a time */
#define GC__LOCAL_SPANS_ROOM 3                   /* while the room above the live bytes is at least this part of them */

/* Adds `bytes` to the sum, which has one writer at a time. */
GC__FN void gc__holes_count(gc__holes *holes, size_t bytes) {
    __atomic_store_n(&holes->bytes, holes->bytes + bytes, __ATOMIC_RELAXED);
}

/* True if the mark bits are exactly the region's objects: all live ones, and those that died since the last full
   collection. */
GC__FN bool gc__is_by_marks(const gc__region *region) {
    return region->kind == GC__SMALL && !region->linear && !region->fixed;
}

/* The smallest suitable hole is taken from the lists; a window's leftover is listed again. */

GC__FN unsigned gc__hole_class(size_t bytes) {
    unsigned log2 = 63 - (unsigned)__builtin_clzll(bytes);
    if (log2 < GC__HOLE_LOG2_EXACT) return (unsigned)(bytes - GC__HOLE_BYTES_MIN_MUTATOR) / 8;
    return GC__HOLE_SIZES + (log2 - GC__HOLE_LOG2_EXACT) * 4 + (unsigned)(bytes >> (log2 - 2) & 3);
}

/* If no list has holes, the lists need not be cleared. */
GC__FN void gc__holes_forget(gc__holes *holes) {
    if (holes->listed[0] | holes->listed[1]) memset(holes->first, 0, sizeof holes->first);
    holes->listed[0] = holes->listed[1] = 0;
    __atomic_store_n(&holes->bytes, 0, __ATOMIC_RELAXED);
}

/* Adds a filler to the lists, unless it is too small for a hole. */
GC__FN void gc__hole_list(gc__holes *holes, uintptr_t at, size_t bytes) {
    if (bytes < GC__HOLE_BYTES_MIN_MUTATOR) return;
    unsigned list = gc__hole_class(bytes);
    GC__WORD(at + 8) = holes->first[list];
    holes->first[list] = at;
    holes->listed[list / 64] |= (uint64_t)1 << list % 64;
    gc__holes_count(holes, bytes);
}

/* Writes a filler into the hole between two objects. Appends a small hole to the list of spans that ends at *link, and
   adds others to the free lists. Returns the new end. */
GC__INLINED gc_word *gc__hole_format(gc__holes *holes, gc_word *link, uintptr_t from, uintptr_t to) {
    size_t bytes = to - from;
    gc__filler_write(from, bytes);
    if (bytes < GC__HOLE_BYTES_MIN_MUTATOR) return link;
    if (bytes > GC__LOCAL_SPAN_MOST) {
        gc__hole_list(holes, from, bytes);
        return link;
    }
    *link = from;
    return &GC__WORD(from + 8);
}

/* Makes a region linear by writing a filler into each of its holes, and makes these small spans or listed holes. */
GC__FN void gc__region_format(gc_heap *heap, gc__region *region) {
    uintptr_t end = gc__region_end(region), at = region->base;
    const uint64_t *marks = &gc__region_marks(region)[gc__mark_index(at) >> 6];
    gc_word *link = &heap->small_spans, rest = heap->small_spans;
    for (uintptr_t word = at; word < end; word += 512) {
        for (unsigned line = 0; line < 512; line += 64) __builtin_prefetch((const void *)(word + 1024 + line), 1);
        for (uint64_t bits = *marks++; bits; bits &= bits - 1) {
            uintptr_t object = word + 8 * (unsigned)__builtin_ctzll(bits);
            if (object > at) link = gc__hole_format(&heap->holes, link, at, object);
            at = object + gc__object_bytes(object);
        }
    }
    if (at < end) link = gc__hole_format(&heap->holes, link, at, end);
    *link = rest;
    region->top = region->dirty_end = end;
    region->indexed_end = region->base;
    region->taken_bytes = 0;
    region->formatted = true;
    __atomic_store_n(&region->linear, true, __ATOMIC_RELEASE); /* before this its mark bits are exactly its objects */
}

/* Returns the first list from `list` on that is not empty; GC__HOLE_LISTS if there is none. */
GC__FN unsigned gc__holes_from(const gc__holes *holes, unsigned list) {
    for (unsigned word = list / 64; word < 2; word++) {
        uint64_t listed = holes->listed[word];
        if (word == list / 64) listed &= ~(uint64_t)0 << list % 64;
        if (listed) return word * 64 + (unsigned)__builtin_ctzll(listed);
    }
    return GC__HOLE_LISTS;
}

#define GC__STALE_AT_ONCE 32 /* regions */
#define GC__HOLE_TRIES 8 /* holes of a list that are tried */

/* Takes a hole of at least `bytes` from the lists; 0 if there is none. The list of that size may have smaller holes,
   too. */
GC__FN uintptr_t gc__hole_take(gc__holes *holes, size_t bytes) {
    if (bytes < GC__HOLE_BYTES_MIN_MUTATOR) bytes = GC__HOLE_BYTES_MIN_MUTATOR;
    unsigned list = gc__hole_class(bytes);
    gc_word *link = &holes->first[list];
    for (int tries = GC__HOLE_TRIES; *link && gc__filler_bytes(*link) < bytes; link = &GC__WORD(*link + 8))
        if (--tries == 0) break;
    if (!*link || gc__filler_bytes(*link) < bytes) {
        list = gc__holes_from(holes, list + 1);
        if (list == GC__HOLE_LISTS) return 0;
        link = &holes->first[list];
    }
    uintptr_t hole = *link;
    *link = GC__WORD(hole + 8);
    __builtin_prefetch((const void *)*link, 1); /* probably the next hole to be taken */
    if (!holes->first[list]) holes->listed[list / 64] &= ~((uint64_t)1 << list % 64);
    gc__holes_count(holes, 0 - gc__filler_bytes(hole));
    return hole;
}

/* Appends a hole to a thread's spans, which end at *link; returns the new end. */
GC__FN gc_word *gc__local_spans_add(gc__local_spans *spans, gc_word *link, uintptr_t hole, size_t room) {
    *link = hole;
    spans->bytes += room;
    gc__region_of(hole)->taken_bytes += room;
    return &GC__WORD(hole + 8);
}

/* Moves holes of at least `bytes` from the list *from to the thread's spans, and smaller ones to the free lists. */
GC__FN void gc__local_spans_fill(gc_heap *heap, gc__local_spans *spans, uintptr_t *from, size_t bytes) {
    gc_word *link = &spans->first;
    uintptr_t hole = *from;
    while (hole && spans->bytes < spans->most) {
        uintptr_t next = GC__WORD(hole + 8);
        size_t room = gc__filler_bytes(hole);
        if (room < bytes)
            gc__hole_list(&heap->holes, hole, room);
        else
            link = gc__local_spans_add(spans, link, hole, room);
        hole = next;
    }
    *link = 0;
    *from = hole;
}

/* Fills the thread's spans from the free list of holes of this size. */
GC__FN void gc__local_spans_fill_listed(gc_heap *heap, gc__local_spans *spans, size_t bytes) {
    gc__holes *holes = &heap->holes;
    unsigned list = gc__hole_class(bytes);
    gc_word *link = &spans->first;
    while (holes->first[list] && gc__filler_bytes(holes->first[list]) >= bytes && spans->bytes < spans->most) {
        uintptr_t hole = holes->first[list];
        holes->first[list] = GC__WORD(hole + 8);
        link = gc__local_spans_add(spans, link, hole, gc__filler_bytes(hole));
    }
    *link = 0;
    if (!holes->first[list]) holes->listed[list / 64] &= ~((uint64_t)1 << list % 64);
    gc__holes_count(holes, 0 - spans->bytes);
}

GC__FN void gc__local_spans_list(gc_heap *heap) {
    for (gc_word hole = heap->small_spans, next; hole; hole = next) {
        next = GC__WORD(hole + 8);
        gc__hole_list(&heap->holes, hole, gc__filler_bytes(hole));
    }
    heap->small_spans = 0;
}

/* Finds holes of at least `bytes` for mutators: a list of spans if `spans` is given, which must be empty, or one hole.
   Returns false if there are none. Regions are formatted when no other holes are left. */
GC__FN bool gc__holes_find(gc_heap *heap, gc__local_spans *spans, size_t bytes, uintptr_t *found) {
    for (;;) {
        if (spans) {
            gc__local_spans_fill_listed(heap, spans, bytes);
            if (!spans->first && heap->small_spans) gc__local_spans_fill(heap, spans, &heap->small_spans, bytes);
            if (spans->first) return true;
        } else if (bytes <= GC__LOCAL_SPAN_MOST) {
            gc__local_spans_list(heap);
        }
        if ((*found = gc__hole_take(&heap->holes, bytes)) != 0) return true;
        gc__region *region = heap->recycled;
        if (!region) return false;
        heap->recycled = region->next;
        if (gc__is_by_marks(region)) gc__region_format(heap, region);
    }
}

/* Prepares a hole that was taken from the lists for allocation by mutators. */
GC__FN gc__region *gc__hole_enter(uintptr_t hole, uintptr_t *end) {
    gc__region *region = gc__region_of(hole);
    size_t taken = gc__filler_bytes(hole);
    *end = hole + taken;
    region->taken_bytes += taken;
    return region;
}

/* Lists the leftover of a window's hole, in which a filler was written. */
GC__FN void gc__hole_return(gc_heap *heap, gc__region *region, uintptr_t from, uintptr_t end) {
    region->taken_bytes -= end - from;
    gc__hole_list(&heap->holes, from, end - from);
}

/* Returns the next hole of at least `least` bytes from region->hole on, in a region whose mark bits are exactly its
   objects. Object sizes are read only where two marks are far enough apart. */
GC__FN uintptr_t gc__hole_by_marks(gc__region *region, size_t least, uintptr_t *limit) {
    uintptr_t end = gc__region_end(region), at = region->hole;
    const uint64_t *marks = gc__region_marks(region);
    while (at < end) {
        bool object = gc__bit_get(marks, at);
        uintptr_t next = gc__bit_next(marks, object ? at + GC_OBJECT_BYTES_MIN : at, end);
        uintptr_t start = at;
        for (unsigned line = 0; line < 128; line += 64) __builtin_prefetch((const void *)(next + 512 + line));
        if (next - start >= least && object) start += gc__object_bytes(at);
        region->hole = at = next;
        if (next - start >= least && next > start) {
            *limit = next;
            return start;
        }
    }
    return 0;
}

/* Lists a hole for promotion, in a region whose mark bits are its objects. */
GC__FN void gc__hole_list_old(gc_heap *heap, gc__region *region, uintptr_t from, uintptr_t end) {
    if (end - from < GC__HOLE_BYTES_LISTED) return;
    gc__filler_write(from, end - from);
    gc__hole_list(&heap->old_holes, from, end - from);
    if (region->dirty_end < from + 2 * sizeof(gc_word)) region->dirty_end = from + 2 * sizeof(gc_word);
}

/* Lists the region's holes of at least `least` bytes, from region->hole on. */
GC__FN void gc__region_list_holes(gc_heap *heap, gc__region *region, size_t least) {
    uintptr_t from, end;
    while ((from = gc__hole_by_marks(region, least, &end)) != 0) gc__hole_list_old(heap, region, from, end);
}

/* Clears what the last cycle has left in some stale regions, and returns false if none is left. */
GC__FN bool gc__stale_clear(gc_heap *heap, size_t most) {
    gc__region *region = heap->old_stale;
    for (; region && most; region = region->next, most--)
        if (region->stale) gc__other_plane_clear(region);
    __atomic_store_n(&heap->old_stale, region, __ATOMIC_RELAXED);
    return region != NULL;
}

/* Lists the holes of the next region of generation 2, unless it is nearly full: the search reads every object there.
   Returns false if there is no region left. */
GC__FN bool gc__holes_list_next(gc_heap *heap) {
    gc__region *region = heap->old_unlisted;
    if (!region) return false;
    __atomic_store_n(&heap->old_unlisted, region->next, __ATOMIC_RELAXED);
    if (!gc__is_by_marks(region)) return true; /* a large object may be growing */
    size_t unlisted = heap->unlisted_bytes, holes = GC_REGION_BYTES - region->live_bytes;
    __atomic_store_n(&heap->unlisted_bytes, unlisted - gc__min(unlisted, holes), __ATOMIC_RELAXED);
    bool full = region->live_bytes > GC_REGION_BYTES - GC_REGION_BYTES / 16;
    if (!full) gc__region_list_holes(heap, region, GC__HOLE_BYTES_LISTED);
    return true;
}

GC__FN void gc__old_holes_forget(gc_heap *heap) {
    gc__holes_forget(&heap->old_holes);
    heap->old_unlisted = NULL;
    __atomic_store_n(&heap->unlisted_bytes, (size_t)0, __ATOMIC_RELAXED);
}
