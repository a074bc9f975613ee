/* Concurrent marking of generation 2: the marker's work, and what collections do for it.

   A *cycle* begins in a collection of generation 1, which records every object of generation 2 that roots and
   survivors refer to. The marker goes on from these while mutators run and young collections come and go: it rests
   during collections, and between them holds nothing but objects of generation 2, which do not move. The cycle ends
   in a collection of all generations, the final mark, in which the old generation is marked already: its regions
   stay in place, the marker's bits become their mark bits, and the trace goes on with the objects that are still
   grey, and with those to which roots, dirty cards and young objects refer.

   If white objects with finalizers are left when the marker has nothing else to do, a *remark* comes before that: a
   collection of generation 1, after which, in the same pause, the marker's worker marks all that can be reached. Short
   weak references to objects that are white then are cleared, and the finalizers of white objects are due. From these
   objects the marker marks on. */
#pragma once

#include "../trace/scan.h"
#include "../trace/old_regions.h"
#include "../space/barrier_state.h"

/* If collections have met more objects than this, the marker takes these before grey ones. */
#define GC__SEEN_MOST ((size_t)1 << 13)
/* Whole chunks of the store buffer from which on the marker takes these first: a collection would wait for them. */
#define GC__CHUNKS_MANY ((size_t)8)
#define GC__PAGES_BYTES ((size_t)64 << GC_WATCH_SHIFT) /* of pages that are scanned together */

#define GC__PRECLEAN_PASSES 4 /* at most; over handles also one after each collection */

/* Returns whether another barrier, which did not log, has been in use since the cycle began. */
GC__FN bool gc__marker_is_spoilt(const gc_heap *heap) {
    return heap->marker->switches != __atomic_load_n(&gc__barrier_switches, __ATOMIC_RELAXED);
}

/* Makes the object grey to which the word refers, in generation 2, if it is white. The marker's lock is held. */
GC__FN void gc__marker_shade(gc_heap *heap, uintptr_t word) {
    bool white = !gc__shade_bit(heap->marker->marks, word) && gc__shade_is_object(word);
    if (white) gc__mark_concurrently(&heap->marker->worker, word);
}

/* Forgets what is precleaned. So many passes may follow in this cycle. */
GC__FN void gc__preclean_begin(gc__preclean *all, unsigned passes) {
    all->next = all->kept = all->unclean.count = 0;
    all->passes = passes;
    all->runs = all->again = false;
}

/* Lets a pass begin, if none is under way. */
GC__FN void gc__preclean_allow(gc__preclean *all) {
    all->again |= !all->runs;
    all->passes += !all->passes;
}

/* Returns how many words the marker's stack has. */
GC__FN size_t gc__marker_grey(const gc__marker *marker) { return (size_t)(marker->worker.top - marker->worker.stack); }

#if GC__HAS_MARKER
/* Scans an object of an unscanned region again. It may be waiting already, so objects with trace functions are not
   recorded one by one. */
GC__FN void gc__marker_scan_again(gc_heap *heap, gc__region *region, uintptr_t object) {
    if (gc__object_is_traced(object))
        gc__shade_unask(region);
    else if (!gc__object_is_leaf(object))
        gc__scan(&heap->marker->worker, object);
}

/* Scans every marked object of the next region for which there was no room. Returns false if there is none. */
GC__FN bool gc__marker_rescan(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!marker->rescans) { /* what is left during a search is found by the next one */
        bool unscanned = __atomic_exchange_n(&marker->unscanned, false, __ATOMIC_ACQUIRE);
        if (!unscanned && !marker->worker.overflowed) return false;
        marker->worker.overflowed = false;
    }
    for (size_t i = marker->rescans, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        /* not region->base, which a thread that takes the region may be writing */
        uintptr_t base = gc__the_arena.base + (i << GC_REGION_SHIFT);
        if (!(gc__barrier_age(&gc__tables, base) & GC__AGE_MARKING) || !gc__region_is_of(region, heap)) continue;
        uint8_t was = __atomic_fetch_and(&region->unscanned, (uint8_t)~GC__UNSCANNED, __ATOMIC_ACQ_REL);
        if (!(was & GC__UNSCANNED)) continue;
        uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marker->marks, base, end);
        for (; at < end; at = gc__bit_next(marker->marks, at + GC_OBJECT_BYTES_MIN, end))
            gc__marker_scan_again(heap, region, at);
        marker->rescans = i + 1;
        return true;
    }
    marker->rescans = 0;
    return true;
}

/* Takes the words of a chunk. If it is open, this happens again later. For a slot in a candidate's remembered set the word
   is read there. Shades the objects, or moves them to `seen` in a collection. */
GC__HOT void gc__marker_read_chunk(gc_heap *heap, const gc__store *chunk, bool stopped) {
    uintptr_t words[2 * GC__STORES_CHUNK];
    size_t count = 0;
    for (size_t i = GC__CHUNK_FIRST; i < GC__STORES_CHUNK; i++) {
        gc__store store = __atomic_load_n(&chunk[i], __ATOMIC_ACQUIRE);
        uintptr_t tag = store & GC__STORE_TAG, word = tag ? 0 : store & ~GC__STORE_WORD;
        heap->marker->taken_stores += store != 0;
        if (tag == GC__STORE_CANDIDATE) word = __atomic_load_n(&GC__WORD(store - tag), __ATOMIC_RELAXED);
        count = gc__shade_await(heap, words, count, word);
        if (GC_HAS_VALUES) count = gc__shade_await(heap, words, count, gc__shade_decode(word));
    }
    count = gc__shade_sift(heap, words, count);
    for (size_t i = 0; i < count; i++)
        if (!stopped || !gc__shade_push(heap, &heap->marker->seen, words[i])) gc__marker_shade(heap, words[i]);
}

/* Takes a chunk that is whole, or all of whose stores have been made since the world is stopped. */
GC__FN void gc__marker_take_chunk(gc_heap *heap, gc__store *chunk, bool stopped) {
    chunk[GC__CHUNK_EPOCH] = 0;
    gc__marker_read_chunk(heap, chunk, stopped);
}

/* Takes at most so many whole chunks, until a collection waits. Returns whether there may be more. */
GC__FN bool gc__marker_take_chunks(gc_heap *heap, size_t most) {
    gc__marker *marker = heap->marker;
    for (; most && !__atomic_load_n(&marker->wanted, __ATOMIC_RELAXED); most--) {
        if (!marker->whole) marker->whole = __atomic_exchange_n(&heap->stores->whole, NULL, __ATOMIC_ACQUIRE);
        gc__store *chunk = marker->whole;
        if (!chunk) return false;
        marker->whole = (gc__store *)chunk[GC__CHUNK_NEXT];
        marker->taken_chunks++;
        gc__marker_take_chunk(heap, chunk, false);
    }
    return true;
}

/* Looks at open chunks, for what is only there would have to be traced in the final mark. Returns whether that has led
   to something new. */
GC__FN bool gc__marker_look_at_open_chunks(gc_heap *heap) {
    const gc__store_buffer *stores = heap->stores;
    size_t count = gc__min(__atomic_load_n(&stores->count, __ATOMIC_RELAXED), GC__STORES_MOST);
    size_t before = heap->marker->taken_stores;
    for (size_t i = 0; i < count && !__atomic_load_n(&heap->marker->wanted, __ATOMIC_RELAXED); i += GC__STORES_CHUNK)
        if (__atomic_load_n(&stores->entries[i + GC__CHUNK_EPOCH], __ATOMIC_ACQUIRE) == stores->epoch)
            gc__marker_read_chunk(heap, &stores->entries[i], false);
    heap->marker->taken_stores = before;
    return gc__marker_grey(heap->marker) || __atomic_load_n(&heap->marker->wanted, __ATOMIC_RELAXED);
}

/* Takes all that barriers have logged and queues it for the marker. From now on threads have other chunks. The world is
   stopped. */
GC__FN void gc__marker_empty_buffer(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__store_buffer *stores = heap->stores;
    size_t count = gc__stores_count(stores);
    for (size_t i = 0; i < count; i += GC__STORES_CHUNK)
        if (stores->entries[i + GC__CHUNK_EPOCH] == stores->epoch) gc__marker_take_chunk(heap, &stores->entries[i], true);
    heap->pause.stored_objects += marker->taken_stores;
    marker->taken_stores = marker->taken_chunks = 0;
    marker->whole = NULL;
    if (count) gc__stores_renew(stores);
}

/* Takes some of the words that collections have met, or have moved from the store buffer. */
GC__FN void gc__marker_take_seen(gc_heap *heap) {
    gc__words *seen = &heap->marker->seen;
    if (!seen->count) return;
    size_t from = seen->count - gc__min(seen->count, GC__FIFO);
    for (size_t i = from; i < seen->count; i++) __builtin_prefetch(&heap->marker->marks[gc__mark_index(seen->words[i]) >> 6], 1);
    seen->count = from + gc__shade_sift(heap, seen->words + from, seen->count - from);
    for (; seen->count > from; seen->count--) gc__marker_shade(heap, seen->words[seen->count - 1]);
}

/* Scans the marked objects in some consecutive pages of a region, or what they have of them; or only looks whether there is
   anything to do for them. A trace function may go through all of a large object each time. */
GC__HOT bool gc__marker_scan_pages(gc_heap *heap, uintptr_t from, uintptr_t to, bool looks) {
    const gc__region *region = gc__region_first(gc__region_of(from));
    const uint64_t *starts = gc__region_marks(region), *marks = heap->marker->marks;
    bool large = region->kind == GC__LARGE, found = false;
    uintptr_t object = gc__bit_previous(starts, region->base, large ? region->base : from);
    if (!object) object = gc__bit_next(starts, from, to);
    for (; object < to && !found; object = large ? to : gc__bit_next(starts, object + GC_OBJECT_BYTES_MIN, to)) {
        if (!gc__shade_bit(marks, object) || object + gc__object_bytes(object) <= from) continue;
        if (GC_HAS_MODEL && looks)
            found = gc__trace_part_look(&heap->marker->worker, object, from, to);
        else
            gc__scan_range(&heap->marker->worker, object, from, to);
    }
    return found;
}

/* Takes a page, or some consecutive ones of a region, and scans them. Returns false if there is none. */
GC__HOT bool gc__marker_take_page(gc_heap *heap) {
    gc__words *pages = &heap->marker->pages;
    if (!GC__HAS_PAGES || !pages->count) return false;
    uintptr_t from = pages->words[--pages->count], to = gc__watched_end(from);
    const gc__region *region = gc__region_first(gc__region_of(from));
    while (pages->count && to - from < GC__PAGES_BYTES && gc__watched_end(pages->words[pages->count - 1]) == from &&
           pages->words[pages->count - 1] >= region->base)
        from = pages->words[--pages->count];
    gc__marker_scan_pages(heap, from, to, false);
    return true;
}

/* Finds something to scan when the stack is empty, by looking at some words. Returns false if there is nothing. The
   buffer comes last: if mutators never stop logging marked objects, the rest would never have its turn. */
GC__FN bool gc__marker_refill(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__marker_take_seen(heap);
    if (marker->seen.count) return true;
    if (marker->asked.count) gc__trace_concurrently(&marker->worker, marker->asked.words[--marker->asked.count]);
    gc__fifo_drain(&marker->worker);
    if (marker->asked.count || gc__marker_grey(marker)) return true;
    bool more = gc__marker_take_chunks(heap, 1);
    return more || gc__marker_grey(marker) || gc__marker_take_page(heap) || gc__marker_rescan(heap);
}

/* Scans some objects or parts of arrays, until a collection waits. The marker's lock is held. Returns false if
   nothing is left except what waits for the final mark. */
GC__FN bool gc__marker_work(gc_heap *heap, size_t steps) {
    gc__worker *worker = &heap->marker->worker;
    bool more = heap->marking;
    if (GC_HAS_MODEL) worker->traced = &gc__traced;
    for (; more && steps && !__atomic_load_n(&heap->marker->wanted, __ATOMIC_RELAXED); steps--)
        if (GC__LIKELY(worker->top != worker->stack && heap->marker->seen.count <= GC__SEEN_MOST))
            gc__scan_entry(worker, *--worker->top, GC__CONCURRENT);
        else
            more = gc__marker_refill(heap);
    if (GC_HAS_MODEL) worker->traced = NULL;
    return more;
}

/* The functions below are called by collections. The world is stopped, and the marker rests. */

/* Makes the marker's worker ready, without any work. */
GC__FN void gc__marker_renew_worker(gc_heap *heap) {
    gc__worker *worker = &heap->marker->worker;
    memset(worker, 0, sizeof *worker);
    worker->visitor.visit = gc__trace_visit;
    worker->heap = heap;
    worker->cycle = heap->cycle;
    worker->verdicts = GC__VERDICTS;
    worker->marks = heap->marker->marks;
    worker->memory = &heap->marker->grey;
    worker->tracer = GC__CONCURRENT;
}

/* Makes sure that there is memory for a cycle; the tables are shared by all heaps. */
GC__FN bool gc__marker_open(gc__store_buffer *stores) {
    gc__lock_take(&gc__the_arena.lock);
    uint64_t **second = &gc__the_arena.marks[1];
    if (!*second) __atomic_store_n(second, gc__side_reserve_bits(GC__SIDE_MARKS_SECOND), __ATOMIC_RELEASE);
    bool opened = gc__stores_open(stores) && *second;
    gc__lock_release(&gc__the_arena.lock);
    return opened;
}

/* Begins a cycle in the collection that runs, which has not condemned anything yet. */
GC__FN void gc__marker_begin(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (heap->marking || marker->refused) return;
    if (!gc__marker_open(heap->stores)) {
        marker->refused = true;
        gc__warn(&heap->options, "the system gives no memory to mark objects concurrently: full collections stop "
                                 "it for as long as they take");
        return;
    }
    heap->marking = true;
    heap->index_born = gc__born_index;
    marker->marks = gc__the_arena.marks[heap->plane ^ 1];
    gc__marker_renew_worker(heap);
    size_t entries = heap->limit_bytes / 64 / sizeof(gc__store);
    marker->blind = gc__min(gc__max(entries, GC__BLIND_LEAST), GC__BLIND_MOST);
    gc__stores_renew(heap->stores); /* what has been logged is of no use to the marker */
    heap->stats.concurrent_cycles++;
    marker->began = heap->collection.number;
    marker->reason = heap->collection.reason;
    marker->switches = __atomic_load_n(&gc__barrier_switches, __ATOMIC_RELAXED);
    marker->began_old_bytes = heap->generation_bytes[2];
    marker->began_ns = gc__os_now_ns();
    marker->waited_ns = 0;
    marker->starved = marker->met_again = 0;
    marker->candidates_begin = NULL;
    marker->remark = GC__REMARK_NEEDLESS;
    marker->slices.passes = GC__PRECLEAN_PASSES;
    gc__stale_clear(heap, SIZE_MAX);
    for (const gc__region *region = heap->regions[2]; region && GC_DEBUG >= 3; region = region->next)
        GC_ASSERT(!region->stale && !region->unscanned,
                  "gc.h: the region at %p keeps something of the last marking", (void *)region->base);
    gc__old_rank(heap, GC__IGNORE, GC__IGNORE);
}

/* Forgets what was grey, after the final mark or when the cycle is given up. */
GC__FN void gc__marker_forget(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__marker_renew_worker(heap);
    marker->asked.count = marker->waiting.count = 0;
    gc__map_reset(&marker->waits);
    marker->tables.count = marker->table_next = marker->table_from = 0;
    gc__preclean_begin(&marker->slices, 0);
    gc__marker_empty_buffer(heap);
    marker->seen.count = 0;
    marker->slots.count = marker->pages.count = 0;
    marker->unscanned = marker->unasked = false;
    marker->rescans = 0;
    __atomic_store_n(&marker->done, false, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->threads->asked, false, __ATOMIC_RELAXED);
}

/* Gives the cycle up. All regions are in the heap's lists. */
GC__FN void gc__marker_abort(gc_heap *heap) {
    if (!heap->marking) return;
    heap->marking = false;
    heap->index_born = NULL;
    for (gc__region *region = heap->regions[2]; region; region = region->next) {
        gc__other_plane_clear(region);
        region->next_live_bytes = region->born_bytes = 0;
        region->unscanned = 0;
        region->candidate = false;
        gc__region_set_rank(region, gc__age_of(heap, 2), true);
    }
    gc__marker_forget(heap);
}

/* Drops from `seen` words that are no objects or are already marked, as most of them are. */
GC__HOT void gc__marker_sift_seen(gc_heap *heap) {
    gc__words *seen = &heap->marker->seen;
    size_t kept = 0;
    for (size_t i = 0; i < seen->count; i++) {
        uintptr_t word = seen->words[i], ahead = seen->words[gc__min(i + GC__FIFO, seen->count - 1)];
        __builtin_prefetch(&heap->marker->marks[gc__mark_index(ahead) >> 6]);
        if (!gc__shade_bit(heap->marker->marks, word) && gc__shade_is_object(word)) seen->words[kept++] = word;
    }
    seen->count = kept;
}

#define GC__WAITED_MOST 8 /* the growth with waits is at most this many times the growth without */

/* Estimates by how much generation 2 would have grown during the marking if mutators had not waited for it. */
GC__FN size_t gc__marker_growth(const gc__marker *marker, size_t grown) {
    uint64_t took = gc__ns_since(gc__os_now_ns(), marker->began_ns), ran = took - gc__min(took, marker->waited_ns);
    return (size_t)((double)grown * (double)took / (double)gc__max(ran, took / GC__WAITED_MOST + 1));
}

/* Traces in a remark from an object, with the world stopped, if it is marked. */
GC__FN void gc__remark_trace(gc__worker *worker, uintptr_t object) {
    bool marked = gc__shade_bit(worker->marks, object);
    uintptr_t *waits = marked ? NULL : gc__map_find(&worker->heap->marker->waits, object);
    if (marked) gc__object_trace_all(worker, object);
    if (waits) *waits = 0; /* it was met before it is marked: it waits again from then on */
}

/* Marks in a remark all that can be reached from grey objects, also from those that wait for the final mark. */
GC__HOT void gc__remark_drain(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__worker *worker = &marker->worker;
    do {
        gc__marker_work(heap, SIZE_MAX);
        while (marker->waiting_next < marker->waiting.count)
            gc__remark_trace(worker, marker->waiting.words[marker->waiting_next++]);
        while (marker->tables_next < marker->tables.count)
            gc__remark_trace(worker, marker->tables.words[marker->tables_next++]);
    } while (!gc__trace_is_done(worker));
}

/* Begins a remark: the marker's worker goes on until nothing is left. */
GC__FN void gc__marker_remark(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->remark = GC__REMARK_MADE;
    __atomic_store_n(&heap->threads->asked, false, __ATOMIC_RELAXED);
    __atomic_store_n(&marker->wanted, 0u, __ATOMIC_SEQ_CST); /* the thread waits for the lock */
    gc__marker_empty_buffer(heap);
    marker->waiting_next = 0;
    marker->tables_next = marker->table_next;
    heap->pause.waiting_objects = marker->waiting.count;
    heap->pause.left_objects = gc__marker_grey(marker) + marker->seen.count;
}

/* Ends the concurrent part of the cycle, after the final mark has traced the young generations. From now on barriers
   and the collector work as outside a cycle. */
GC__FN void gc__marker_finish(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t old = heap->generation_bytes[2];
    marker->grown_bytes = gc__marker_growth(marker, old - gc__min(old, marker->began_old_bytes));
    gc__marker_empty_buffer(heap);
    gc__marker_sift_seen(heap);
    heap->stats.concurrent_finished++;
    heap->stats.concurrent_lost += !marker->done;
    heap->stats.concurrent_marked_bytes += marker->marked_bytes;
    marker->last_bytes = marker->done ? marker->marked_bytes : 0;
    marker->last_old_bytes = marker->done ? marker->began_old_bytes : 0;
    heap->stats.concurrent_waited += marker->waiting.count;
    heap->pause.waiting_objects = marker->waiting.count;
    heap->pause.left_objects = gc__marker_grey(marker) + marker->seen.count;
    if (!marker->done) heap->pause.degenerated = heap->cycle->plan->request.degenerated;
    heap->marking = false;
    heap->index_born = NULL;
}

/* Returns whether the object's region is evacuated, so that its survivors are copied, and scanned then. */
GC__FN bool gc__marker_evacuates(uintptr_t object) { return gc__region_of(object)->candidate; }

/* Hands the grey objects over to the trace of the final mark, except those that are evacuated. */
GC__HOT void gc__marker_hand_over(gc__worker *worker) {
    gc__marker *marker = worker->heap->marker;
    gc__worker *from = &marker->worker;
    for (unsigned i = 0; i < GC__FIFO; i++)
        if (marker->worker.fifo[i] && !gc__marker_evacuates(marker->worker.fifo[i])) gc__mark_old(worker, marker->worker.fifo[i]);
    for (size_t i = 0; i < marker->seen.count; i++)
        if (!gc__marker_evacuates(marker->seen.words[i])) gc__mark_old(worker, marker->seen.words[i]);
    for (size_t words; from->stack != from->top; from->stack += words) {
        words = gc__entry_words(from->stack);
        if (!gc__marker_evacuates(from->stack[words - 1])) gc__workers_push(worker, from->stack, words);
    }
    for (size_t i = 0; i < marker->asked.count; i++)
        if (!gc__marker_evacuates(marker->asked.words[i])) gc__trace_push(worker, marker->asked.words[i]);
    for (size_t i = 0; i < marker->waiting.count; i++) /* except dead ones, to which a dirty card has led */
        if (!gc__marker_evacuates(marker->waiting.words[i]) && gc__address_after_trace(marker->waiting.words[i]))
            gc__trace_push(worker, marker->waiting.words[i]);
    worker->overflowed |= marker->worker.overflowed || marker->unscanned || marker->unasked || marker->rescans;
    gc__marker_forget(worker->heap);
}
#else
GC__FN void gc__remark_drain(gc_heap *heap) { (void)heap; }
#endif
