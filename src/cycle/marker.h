/* Concurrent marking of generation 2: the marker's work, and what collections do for it.

   A *cycle* begins in a collection of generation 1, which records every object of generation 2 that roots and
   survivors refer to. The marker goes on from these while mutators run and young collections come and go: it rests
   during collections, and between them holds nothing but objects of generation 2, which do not move. The cycle ends
   in a collection of all generations, the final mark, in which the old generation is marked already: its regions
   stay in place, the marker's bits become their mark bits, and the trace goes on with the objects that are still
   grey, and with those to which roots, dirty cards and young objects refer. */
#pragma once

#include "../trace/shade.h"
#include "../trace/claim.h"
#include "../trace/candidates.h"
#include "../trace/old_regions.h"
#include "../space/slots.h"
#include "../space/barrier_state.h"

/* If collections have met more objects than this, the marker takes these before grey ones. */
#define GC__SEEN_MOST ((size_t)1 << 13)
#define GC__MARK_CHUNK 128 /* elements of an array that are scanned at a time */
/* Words that are taken from the log at a time: a collection may be waiting. */
#define GC__MARK_BUFFER_TAKEN ((size_t)1 << 10)

/* Returns the bytes outside the regions that the marker takes. */
GC__FN size_t gc__marker_bytes(const gc__marker *marker) {
    return marker->log_most * sizeof *marker->log + gc__words_bytes(&marker->grey) + gc__words_bytes(&marker->seen) +
           gc__words_bytes(&marker->waiting) + gc__words_bytes(&marker->slots) + gc__words_bytes(&marker->tables) +
           gc__words_bytes(&marker->pieces) + gc__words_bytes(&marker->finalizer_grey) + gc__words_bytes(&marker->held);
}

/* Returns whether another barrier, which did not log, has been in use since the cycle began. */
GC__FN bool gc__marker_is_spoilt(const gc_heap *heap) {
    return heap->marker->switches != __atomic_load_n(&gc__barrier_switches, __ATOMIC_RELAXED);
}

GC__FN void gc__marker_push(gc_heap *heap, uintptr_t object) {
    if (!gc__shade_push(heap, &heap->marker->grey, object)) gc__shade_unscanned(gc__region_of(object));
}

/* Makes the object grey to which the word refers, in generation 2, if it is white. The marker's lock is held. */
GC__FN void gc__marker_shade(gc_heap *heap, uintptr_t word) {
    if (gc__shade_bit(heap->marker->marks, word) || !gc__shade_is_object(word)) return;
    if (gc__bit_set_shared(heap->marker->marks, word)) gc__marker_push(heap, word);
}

#if GC__HAS_MARKER
/* Counts the object's bytes as alive. The marker's lock is held. */
GC__INLINED void gc__marker_add(gc_heap *heap, uintptr_t object) {
    size_t bytes = gc__object_bytes(object), *marked = &heap->marker->marked_bytes;
    gc__region_of(object)->next_live_bytes += bytes;
    __atomic_store_n(marked, *marked + bytes, __ATOMIC_RELAXED);
}

/* Counts a marked object, unless it was counted when it got a finalizer mark. */
GC__INLINED void gc__marker_count(gc_heap *heap, uintptr_t object) {
    if (!GC__UNLIKELY(gc__is_finalizer_marked(object))) gc__marker_add(heap, object);
}

/* Marks the object, whose bit has reached the cache. */
GC__INLINED void gc__marker_reach(gc_heap *heap, uintptr_t object) {
    if (gc__bit_set_shared(heap->marker->marks, object)) gc__marker_push(heap, object);
}

/* Objects wait in a FIFO for the prefetch of their mark bits, and grey objects, once they are taken from the stack,
   in another for that of their memory: an object may leave the stack a long time after it was found. */
GC__INLINED void gc__marker_prefetch(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    __builtin_prefetch(&heap->marker->marks[gc__mark_index(object) >> 6], 1);
    uintptr_t *place = &marker->fifo[marker->fifo_next++ % GC__FIFO], oldest = *place;
    *place = object;
    if (oldest) gc__marker_reach(heap, oldest);
}

/* Puts an object, or 0, into the second FIFO. Returns the object that has waited longest there, or 0 if there is
   none. */
GC__INLINED uintptr_t gc__marker_await_next(gc__marker *marker, uintptr_t object) {
    __builtin_prefetch((const void *)object);
    uintptr_t *place = &marker->next[marker->next_next++ % GC__NEXT], oldest = *place;
    *place = object;
    return oldest;
}

/* Visits a slot. Each slot is read once, while mutators may be storing to it. */
GC__INLINED void gc__marker_slot(void *heap, gc_word *slot, bool value) {
    uintptr_t object = gc__slot_decode(__atomic_load_n(slot, __ATOMIC_RELAXED), value);
    unsigned age = gc__in_arena(object) ? gc__barrier_age(&gc__tables, object) : 0;
    if (!(age & GC__AGE_MARKING)) return;
    if (GC__UNLIKELY(age & GC__AGE_CANDIDATE)) gc__candidates_note((gc_heap *)heap, (uintptr_t)slot, object);
    gc__marker_prefetch((gc_heap *)heap, object);
}

/* A visitor for what an object's trace function reports concurrently. Stores to slots in the object go through
   barriers, so weak entries there can be precleaned when all else is marked; slots elsewhere are left to the final
   pause. */
typedef struct gc__marker_visitor {
    gc_visitor visitor;
    gc_heap *heap;
    gc__slot_function slot;
    bool waits, has_entries;
} gc__marker_visitor;

/* Returns whether all entries have their slots in the traced object, and the slots of each entry are close together:
   with two long separate arrays, a part of the object would overlap most entries. */
GC__FN bool gc__entries_are_own(const gc_weak_entries *entries) {
    uintptr_t low = gc__entry_low(entries), bytes = gc__object_bytes(gc__traced), own = gc__traced;
    uintptr_t high = gc__entry_high(entries) + (entries->count - 1) * gc__entry_bytes(entries);
    bool close = gc__entry_high(entries) - low <= GC__TABLE_SLICE;
    return close && low >= own && low < own + bytes && high > low && high <= own + bytes;
}

GC__FN void gc__marker_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__marker_visitor *concurrent = (gc__marker_visitor *)visitor;
    uintptr_t offset = (uintptr_t)slot - gc__traced, bytes = gc__object_bytes(gc__traced);
    bool value = GC_HAS_VALUES && (flags & GC_SLOT_VALUE);
    if (flags & GC__SLOT_ENTRIES) {
        const gc_weak_entries *entries = (const gc_weak_entries *)slot;
        if (entries->count) *(gc__entries_are_own(entries) ? &concurrent->has_entries : &concurrent->waits) = true;
        return;
    }
    if (offset >= bytes || count > (bytes - offset) / sizeof(gc_word)) {
        concurrent->waits |= count != 0;
        return;
    }
    for (size_t i = 0; i < count; i++) concurrent->slot(concurrent->heap, (gc_word *)slot + i, value);
}

/* Calls the object's trace function if the marker may, makes the object wait for the final pause, or does both.
   Returns whether the function may be called. */
GC__FN bool gc__marker_trace(gc_heap *heap, uintptr_t object) {
    bool may = gc__shade_may_trace(heap, object);
    gc__marker_visitor concurrent = {{gc__marker_visit}, heap, gc__marker_slot, !may, false};
    if (may) gc__object_trace(object, &concurrent.visitor);
    if (concurrent.waits)
        gc__shade_wait(heap, object);
    else if (concurrent.has_entries)
        gc__shade_ask(heap, &heap->marker->tables, object, 0);
    return may;
}

/* Scans elements from `index` on, and pushes the rest on the stack. An array may be growing: its new elements are
   stored to through barriers. */
GC__INLINED void gc__marker_elements_to(gc_heap *heap, gc__words *grey, gc__slot_function slot, uintptr_t array, size_t index) {
    const gc_type *type = gc__object_type(array);
    size_t length = __atomic_load_n(&GC__WORD(array + sizeof(gc_object)), __ATOMIC_ACQUIRE);
    size_t count = length > index ? length - index : 0;
    if (count > GC__MARK_CHUNK && gc__shade_room(heap, grey, 2)) {
        count = GC__MARK_CHUNK;
        gc__words_push(grey, index + count);
        gc__words_push(grey, array | GC__CONTINUED);
    }
    gc__slots_of_elements(type, array + type->bytes + index * type->element_bytes, count, slot, heap);
}
GC__FN void gc__marker_elements(gc_heap *heap, uintptr_t array, size_t index) {
    gc__marker_elements_to(heap, &heap->marker->grey, gc__marker_slot, array, index);
}

GC__FN void gc__marker_read(gc_heap *heap, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    if (type->trace && !gc__marker_trace(heap, object)) return;
    gc__slots_of_mask(object, type->refs, false, gc__marker_slot, heap);
    gc__slots_of_mask(object, type->values, GC_HAS_VALUES, gc__marker_slot, heap);
    if (gc__type_has_slots_in_elements(type)) gc__marker_elements(heap, object, 0);
}

GC__FN void gc__marker_scan(gc_heap *heap, uintptr_t object) {
    gc__marker_count(heap, object);
    gc__marker_read(heap, object);
}

/* Scans an object of an unscanned region again. It may be waiting already, so objects with trace functions are not
   recorded one by one. */
GC__FN void gc__marker_scan_again(gc_heap *heap, gc__region *region, uintptr_t object) {
    if (gc__object_type(object)->trace)
        gc__shade_unask(region);
    else if (!gc__object_is_leaf(object))
        gc__marker_scan(heap, object);
}

/* Scans every marked object of the next region for which there was no room. Returns false if there is none. */
GC__FN bool gc__marker_rescan(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!marker->rescans && !__atomic_exchange_n(&marker->unscanned, false, __ATOMIC_ACQUIRE)) return false;
    for (size_t i = marker->rescans, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        /* not region->base, which a thread that takes the region may be writing */
        uintptr_t base = gc__the_arena.base + (i << GC_REGION_SHIFT);
        if (!(gc__barrier_age(&gc__tables, base) & GC__AGE_MARKING) || !gc__region_is_of(region, heap)) continue;
        uint8_t left = GC__UNSCANNED | GC__UNREAD, was = __atomic_fetch_and(&region->unscanned, (uint8_t)~left, __ATOMIC_ACQ_REL);
        if (!(was & left)) continue;
        uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marker->marks, base, end);
        for (; at < end; at = gc__bit_next(marker->marks, at + GC_OBJECT_BYTES_MIN, end))
            was & GC__UNREAD ? gc__marker_read(heap, at) : gc__marker_scan_again(heap, region, at);
        marker->rescans = i + 1;
        return true;
    }
    marker->rescans = 0;
    return true;
}

GC__INLINED void gc__marker_await(const gc_heap *heap, uintptr_t object) {
    __builtin_prefetch((const void *)object);
    __builtin_prefetch(&heap->marker->marks[gc__mark_index(object) >> 6], 1);
    __builtin_prefetch(&gc__the_arena.marks[heap->plane][gc__mark_index(object) >> 6]);
}

/* Returns whether a word of the log refers to an object that is being marked. Ages have not changed since the word
   was written. */
GC__FN bool gc__marker_wants(const gc_heap *heap, uintptr_t word) {
    return !(word & 7) && gc__is_marking(word) && gc__region_is_of(gc__region_of(word), heap);
}

/* Empties the entry of the log. Returns its content, or 0 if its thread has not written it yet. */
GC__INLINED uintptr_t gc__marker_take_entry(gc__marker *marker, size_t at) {
    uintptr_t entry = __atomic_load_n(&marker->log[at], __ATOMIC_ACQUIRE);
    if (!entry) return 0;
    __atomic_store_n(&marker->log[at], (uintptr_t)0, __ATOMIC_RELAXED);
    marker->taken_words++;
    return entry;
}

/* Takes the written entries of one chunk of the log, from the given entry on. Returns the first unwritten one. */
GC__FN size_t gc__marker_take_chunk(gc_heap *heap, size_t from, size_t end) {
    gc__marker *marker = heap->marker;
    for (; from < end; from++) {
        uintptr_t entry = gc__marker_take_entry(marker, from), ahead = 0;
        if (!entry) break;
        if (from + GC__FIFO < GC__MARK_BUFFER_WORDS) ahead = __atomic_load_n(&marker->log[from + GC__FIFO], __ATOMIC_RELAXED);
        if (ahead && gc__is_marking(~ahead)) gc__marker_await(heap, ~ahead);
        if (gc__marker_wants(heap, ~entry)) gc__marker_shade(heap, ~entry);
    }
    return from;
}

GC__FN size_t gc__marker_chunk_end(size_t entry) { return (entry | (GC__MARK_BUFFER_CHUNK - 1)) + 1; }

/* Records that the marker will return to the rest of a chunk. If there are many such chunks, the one that has been
   open for longest is left to the next collection: otherwise idle threads would keep the marker from what other
   threads log. */
GC__FN void gc__marker_open_chunk(gc__marker *marker, size_t from) {
    if (marker->open_count == GC__MARK_BUFFER_OPEN) {
        unsigned first = 0;
        for (unsigned i = 1; i < GC__MARK_BUFFER_OPEN; i++)
            if (marker->open[i] < marker->open[first]) first = i;
        marker->left[marker->left_count++] = marker->open[first];
        marker->open[first] = marker->open[--marker->open_count];
    }
    marker->open[marker->open_count++] = from;
}

/* Takes about `most` words that barriers have logged, until a collection waits. Returns whether more is left of what
   had been logged when it was called. */
GC__FN bool gc__marker_take_buffer(gc_heap *heap, size_t most) {
    gc__marker *marker = heap->marker;
    size_t logged = gc__min(__atomic_load_n(&marker->logged, __ATOMIC_RELAXED), GC__MARK_BUFFER_WORDS);
    for (unsigned i = marker->open_count; i-- > 0;) {
        size_t from = marker->open[i], end = gc__marker_chunk_end(from), to = gc__marker_take_chunk(heap, from, end);
        marker->open[i] = to < end ? to : marker->open[--marker->open_count];
    }
    size_t last = gc__min(logged, marker->taken + most);
    while (marker->taken < last && !__atomic_load_n(&marker->wanted, __ATOMIC_RELAXED)) {
        size_t from = marker->taken, end = gc__marker_chunk_end(from), to = gc__marker_take_chunk(heap, from, end);
        if (to < end) gc__marker_open_chunk(marker, to);
        marker->taken = end;
    }
    return marker->taken < logged;
}

/* Resets the log after all entries were consumed. The world is stopped. */
GC__FN void gc__marker_renew_buffer(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->log_most = gc__max(marker->log_most, gc__min(marker->logged, GC__MARK_BUFFER_WORDS));
    marker->logged = marker->taken = 0;
    marker->open_count = marker->left_count = 0;
    gc__remembered_renew(heap->remembered);
}

/* Moves the words that are left in a part of the log to `seen`, or shades them if there is no room. */
GC__HOT void gc__marker_move(gc_heap *heap, size_t from, size_t end) {
    gc__marker *marker = heap->marker;
    bool room = gc__shade_room(heap, &marker->seen, end - from);
    for (; from < end; from++) {
        uintptr_t entry = gc__marker_take_entry(marker, from);
        if (!entry || !gc__marker_wants(heap, ~entry)) continue;
        if (room)
            gc__words_push(&marker->seen, ~entry);
        else
            gc__marker_shade(heap, ~entry);
    }
}

/* Empties the log: takes what barriers have logged and queues it for the marker. The world is stopped. */
GC__FN void gc__marker_empty_buffer(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t end = gc__min(marker->logged, GC__MARK_BUFFER_WORDS);
    for (unsigned i = 0; i < marker->open_count; i++)
        gc__marker_move(heap, marker->open[i], gc__marker_chunk_end(marker->open[i]));
    for (unsigned i = 0; i < marker->left_count; i++)
        gc__marker_move(heap, marker->left[i], gc__marker_chunk_end(marker->left[i]));
    if (marker->taken < end) gc__marker_move(heap, marker->taken, gc__marker_chunk_end(end - 1));
    heap->pause.stored_objects += marker->taken_words;
    marker->taken_words = 0;
    if (end) gc__marker_renew_buffer(heap);
}

/* Takes some of the words that collections have met, or have moved from the log. */
GC__FN void gc__marker_take_seen(gc_heap *heap) {
    gc__words *seen = &heap->marker->seen;
    size_t from = seen->count - gc__min(seen->count, GC__FIFO);
    for (size_t i = from; i < seen->count; i++) gc__marker_await(heap, seen->words[i]);
    for (; seen->count > from; seen->count--) gc__marker_shade(heap, seen->words[seen->count - 1]);
}

/* Sets all bits that wait in the FIFO. */
GC__FN void gc__marker_reach_all(gc_heap *heap) {
    for (unsigned i = 0; i < GC__FIFO; i++) {
        uintptr_t *place = &heap->marker->fifo[i], oldest = *place;
        *place = 0;
        if (oldest) gc__marker_reach(heap, oldest);
    }
}

/* Scans objects that wait in the second FIFO, until that has made an object grey. */
GC__FN void gc__marker_scan_waiting(gc_heap *heap) {
    const gc__words *grey = &heap->marker->grey;
    for (unsigned i = 0; i < GC__NEXT && !grey->count; i++) {
        uintptr_t object = gc__marker_await_next(heap->marker, 0);
        if (!object) continue;
        gc__marker_scan(heap, object);
        gc__marker_reach_all(heap);
    }
}

/* Finds something to scan when the stack is empty, by looking at some words. Returns false if there is nothing. The
   log comes last: if mutators never stop logging marked objects, the rest would never have its turn. */
GC__FN bool gc__marker_refill(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__marker_take_seen(heap);
    if (marker->seen.count) return true;
    gc__marker_reach_all(heap);
    gc__marker_scan_waiting(heap);
    if (marker->grey.count) return true;
    bool more = gc__marker_take_buffer(heap, GC__MARK_BUFFER_CHUNK);
    return more || marker->grey.count || gc__marker_rescan(heap);
}

/* Scans some objects or parts of arrays, until a collection waits. The marker's lock is held. Returns false if
   nothing is left except what waits for the final mark. */
GC__FN bool gc__marker_work(gc_heap *heap, size_t steps) {
    gc__words *grey = &heap->marker->grey;
    for (; steps && heap->marking && !__atomic_load_n(&heap->marker->wanted, __ATOMIC_RELAXED); steps--) {
        if (!grey->count || heap->marker->seen.count > GC__SEEN_MOST) {
            if (!gc__marker_refill(heap)) return false;
            continue;
        }
        uintptr_t object = grey->words[--grey->count];
        if (object & GC__CONTINUED)
            gc__marker_elements(heap, object - GC__CONTINUED, grey->words[--grey->count]);
        else if (object & GC__NUMBER)
            gc__marker_trace(heap, object - GC__NUMBER);
        else if ((object = gc__marker_await_next(heap->marker, object)) != 0)
            gc__marker_scan(heap, object);
    }
    return heap->marking;
}

/* The functions below are called by collections. The world is stopped, and the marker rests. */

/* Makes sure that there is memory for a cycle; the tables are shared by all heaps. */
GC__FN bool gc__marker_open(gc__marker *marker) {
    if (!marker->log) marker->log = (uintptr_t *)gc__os_map(GC__MARK_BUFFER_BYTES);
    marker->left = marker->log + GC__MARK_BUFFER_WORDS;
    gc__lock_take(&gc__the_arena.lock);
    uint64_t **second = &gc__the_arena.marks[1];
    if (!*second) __atomic_store_n(second, gc__side_reserve_bits(GC__SIDE_MARKS_SECOND), __ATOMIC_RELEASE);
    bool opened = marker->log && *second;
    gc__lock_release(&gc__the_arena.lock);
    return opened;
}

/* Begins a cycle in the collection that runs, which has not condemned anything yet. */
GC__FN void gc__marker_begin(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (heap->marking || marker->refused) return;
    if (!gc__marker_open(marker)) {
        marker->refused = true;
        gc__warn(&heap->options, "the system gives no memory to mark objects concurrently: full collections stop "
                                 "it for as long as they take");
        return;
    }
    heap->marking = true;
    size_t entries = heap->limit_bytes / 64 / sizeof *marker->log;
    marker->blind = gc__min(gc__max(entries, GC__MARK_BUFFER_BLIND_LEAST), GC__MARK_BUFFER_BLIND_MOST);
    gc__remembered_renew(heap->remembered);
    heap->stats.concurrent_cycles++;
    marker->began = heap->collection.number;
    marker->reason = heap->collection.reason;
    marker->switches = __atomic_load_n(&gc__barrier_switches, __ATOMIC_RELAXED);
    marker->began_old_bytes = heap->generation_bytes[2];
    marker->began_ns = gc__os_now_ns();
    marker->waited_ns = 0;
    marker->starved = 0;
    marker->candidates_begin = NULL;
    marker->no_finalizer_marks = marker->finalizer_marks = false;
    marker->provided_end = gc__has_many_regions(heap) ? gc__regions_used() : 0;
    gc__stale_clear(heap, SIZE_MAX);
    marker->marks = gc__the_arena.marks[heap->plane ^ 1];
    for (const gc__region *region = heap->regions[2]; region && GC_DEBUG >= 3; region = region->next)
        GC_ASSERT(!region->stale && !region->unscanned && !region->finalizer_marks,
                  "gc.h: the region at %p keeps something of the last marking", (void *)region->base);
    gc__old_rank(heap, GC__IGNORE);
}

/* Forgets what was grey, after the final mark or when the cycle is given up. */
GC__FN void gc__marker_forget(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->grey.count = marker->waiting.count = 0;
    marker->tables.count = marker->pieces.count = 0;
    marker->table_next = marker->table_from = marker->slice_next = marker->slice_kept = 0;
    memset(marker->fifo, 0, sizeof marker->fifo);
    memset(marker->next, 0, sizeof marker->next);
    gc__marker_empty_buffer(heap);
    marker->seen.count = 0;
    marker->slots.count = 0;
    marker->unscanned = marker->unasked = false;
    marker->rescans = 0;
    __atomic_store_n(&marker->done, false, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->threads->asked, false, __ATOMIC_RELAXED);
}

/* Gives the cycle up. All regions are in the heap's lists. */
GC__FN void gc__marker_abort(gc_heap *heap) {
    if (!heap->marking) return;
    heap->marking = false;
    for (gc__region *region = heap->regions[2]; region; region = region->next) {
        gc__other_plane_clear(region);
        gc__finalizer_marks_clear(region);
        region->next_live_bytes = 0;
        region->unscanned = 0;
        region->candidate = false;
        gc__region_set_rank(region, gc__age_of(heap, 2), true);
    }
    heap->marker->finalizer_grey.count = heap->marker->held.count = 0;
    heap->marker->finalizer_marks = false;
    gc__marker_forget(heap);
}

/* Drops from `seen` words that are no objects or are already marked, as most of them are. */
GC__HOT void gc__marker_sift_seen(gc_heap *heap) {
    gc__words *seen = &heap->marker->seen;
    size_t kept = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (i + GC__FIFO < seen->count) gc__marker_await(heap, seen->words[i + GC__FIFO]);
        uintptr_t word = seen->words[i];
        if (!gc__shade_bit(heap->marker->marks, word) && gc__shade_is_object(word)) seen->words[kept++] = word;
    }
    seen->count = kept;
}

/* Drops most repetitions from `waiting`: an object is appended again by each collection that meets a candidate's
   object in its slots outside the heap. */
GC__HOT void gc__marker_sift_waiting(gc_heap *heap) {
    gc__words *waiting = &heap->marker->waiting;
    uintptr_t met[256] = {0}; /* by a hash of the address */
    size_t kept = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        uintptr_t object = waiting->words[i], *place = &met[(object >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 56];
        if (*place != object) waiting->words[kept++] = object;
        *place = object;
    }
    waiting->count = kept;
}

#define GC__WAITED_MOST 8 /* the growth with waits is at most this many times the growth without */

/* Estimates by how much generation 2 would have grown during the marking if mutators had not waited for it. */
GC__FN size_t gc__marker_growth(const gc__marker *marker, size_t grown) {
    uint64_t took = gc__ns_since(gc__os_now_ns(), marker->began_ns), ran = took - gc__min(took, marker->waited_ns);
    return (size_t)((double)grown * (double)took / (double)gc__max(ran, took / GC__WAITED_MOST + 1));
}

/* Ends the concurrent part of the cycle, after the final mark has traced the young generations. From now on barriers
   and the collector work as outside a cycle. */
GC__FN void gc__marker_finish(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t old = heap->generation_bytes[2];
    marker->grown_bytes = gc__marker_growth(marker, old - gc__min(old, marker->began_old_bytes));
    gc__marker_empty_buffer(heap);
    gc__marker_sift_seen(heap);
    gc__marker_sift_waiting(heap);
    heap->stats.concurrent_finished++;
    heap->stats.concurrent_lost += !marker->done;
    heap->stats.concurrent_marked_bytes += marker->marked_bytes;
    marker->last_bytes = marker->done ? marker->marked_bytes : 0;
    marker->last_old_bytes = marker->done ? marker->began_old_bytes : 0;
    heap->stats.concurrent_waited += marker->waiting.count;
    heap->pause.waiting_objects = marker->waiting.count;
    heap->pause.left_objects = marker->grey.count + marker->seen.count;
    if (!marker->done) heap->pause.degenerated = heap->cycle->plan->request.degenerated;
    heap->marking = false;
}

/* Drops what the marker has counted in a candidate region, since its live objects are copied. */
GC__FN void gc__marker_drop(gc__region *region) {
    if (region->generation < 2) return;
    region->next_live_bytes = 0;
    region->unscanned = 0;
}

/* Condemns in the final mark the regions of generation 2 that are not evacuated, with the objects that are marked in
   them: the marker's bits are their mark bits, and `next_live_bytes` counts them. Region descriptors do not change
   until the sweep. */
GC__FN void gc__marker_condemn_old(gc_heap *heap) {
    heap->cycle->condemned_old = heap->regions[2];
    heap->cycle->condemns_old = true;
    gc__old_rank(heap, GC__OLD_CONDEMNED);
    heap->regions[2] = NULL;
}

/* Returns whether the object's region is evacuated, so that its survivors are copied, and scanned then. */
GC__FN bool gc__marker_evacuates(uintptr_t object) { return gc__region_of(object)->candidate; }

/* Hands an entry of the grey stack over to the trace. An object that was not begun was not counted either. */
GC__FN void gc__marker_hand_grey_over(gc__worker *worker, uintptr_t entry) {
    uintptr_t object = entry & ~(uintptr_t)(GC__CONTINUED | GC__NUMBER);
    gc__region *region = gc__region_of(object);
    if (region->candidate) return;
    if (entry == object && !gc__is_finalizer_marked(object)) region->next_live_bytes += gc__object_bytes(object);
    gc__trace_push(worker, object);
}

/* Hands the grey objects over to the trace of the final mark. */
GC__HOT void gc__marker_hand_over(gc__worker *worker) {
    gc__marker *marker = worker->heap->marker;
    for (unsigned i = 0; i < GC__FIFO; i++)
        if (marker->fifo[i] && !gc__marker_evacuates(marker->fifo[i])) gc__mark_old(worker, marker->fifo[i]);
    for (size_t i = 0; i < marker->seen.count; i++)
        if (!gc__marker_evacuates(marker->seen.words[i])) gc__mark_old(worker, marker->seen.words[i]);
    for (unsigned i = 0; i < GC__NEXT; i++)
        if (marker->next[i]) gc__marker_hand_grey_over(worker, marker->next[i]);
    for (size_t i = marker->grey.count; i > 0; i--) {
        uintptr_t entry = marker->grey.words[i - 1];
        if (entry & GC__CONTINUED) i--;
        gc__marker_hand_grey_over(worker, entry);
    }
    for (size_t i = 0; i < marker->waiting.count; i++) /* except dead ones, to which a dirty card has led */
        if (!gc__marker_evacuates(marker->waiting.words[i]) && gc__address_after_trace(marker->waiting.words[i]))
            gc__trace_push(worker, marker->waiting.words[i]);
    worker->overflowed |= marker->unscanned || marker->unasked || marker->rescans;
    gc__marker_forget(worker->heap);
}
#endif
