/* The processing of handles in a collection, and of the entries of weak tables, each kind of which is processed with a
   kind of handles. Strong, pinned and held ref-counted handles are roots. After the trace from the roots, in this
   order: dependents of reached objects are traced, to a fixpoint; short weak handles are cleared; objects with
   finalizers that were not reached are queued, and traced; dependents are traced again; long weak handles and dead
   dependent ones are cleared. Source: the order of the CLR's mark phase. In a cycle with a remark, this order holds for
   old objects from the remark to the final mark. */
#pragma once

#include "../space/profiler.h"
#include "../trace/parallel.h"
#include "entries.h"
#include "finalizers.h"
#include "preclean.h"

/* Called for handles of the given kinds (a mask) whose objects may be of the condemned generations: for `count`
   contiguous handles of a clump or, if `whole`, for all handles of the clump. */
typedef void (*gc__clump_function)(void *context, gc__handle_segment *segment, size_t first, size_t count);

typedef struct gc__clumps {
    const gc__handles *handles;
    unsigned kinds;
    bool whole;
    gc__clump_function f;
    void *context;
} gc__clumps;

GC__FN bool gc__handles_skip(const gc__handles *handles) { return GC__HAS_MARKER && handles->skips; }

GC__FN bool gc__handle_chunk_is_idle(const gc__handles *handles, const gc__handle_segment *segment, size_t piece) {
    uint64_t words[GC__HANDLE_CHUNK / 4], some = 0, all = ~(uint64_t)0;
    size_t from = piece * GC__HANDLE_CHUNK;
    if (handles->least) {
        memcpy(words, &segment->youth[from], GC__HANDLE_CHUNK);
        for (size_t i = 0; i < GC__HANDLE_CHUNK / 8; i++) some |= words[i];
        return !some;
    }
    memcpy(words, &segment->precleaned[from], sizeof words);
    for (size_t i = 0; i < GC__HANDLE_CHUNK / 4; i++) all &= words[i];
    return gc__handles_skip(handles) && all == ~(uint64_t)0;
}

/* Chooses the chunks of segments that are processed from now on: those with objects that may be of generations up to
   the given one, if `skips` without those whose handles are all precleaned. So the others are skipped once, not for
   each kind again. Requires that the world is stopped, and the handles' lock. */
GC__HOT void gc__clumps_choose(gc_heap *heap, int generation, bool skips) {
    gc__handles *handles = heap->handles;
    handles->least = generation < 2 ? 2u - (unsigned)generation : 0;
    handles->skips = skips;
    handles->chosen_count = 0;
    for (gc__handle_segment *segment = handles->segments; segment; segment = segment->next) {
        if (handles->least && !segment->young) continue;
        for (size_t piece = 0; piece < GC__HANDLE_CHUNKS; piece++) {
            if (gc__handle_chunk_is_idle(handles, segment, piece)) continue;
            uintptr_t kinds = 0;
            for (size_t i = 0; i < GC__CHUNK_BLOCKS; i++) kinds |= 1u << segment->kinds[piece * GC__CHUNK_BLOCKS + i];
            handles->chosen[handles->chosen_count++] = (uintptr_t)segment + (kinds << GC__CHOSEN_SHIFT) + piece;
        }
    }
}

GC__FN void gc__clump_visit(const gc__clumps *all, gc__handle_segment *segment, size_t clump) {
    unsigned precleaned = gc__handles_skip(all->handles) ? segment->precleaned[clump] : 0;
    unsigned left = GC__ALL_PRECLEANED & ~precleaned;
    size_t first = clump * GC__HANDLE_CLUMP;
    if (segment->youth[clump] < all->handles->least) return;
    if (all->whole && left) left = GC__ALL_PRECLEANED;
    while (left) {
        unsigned from = (unsigned)__builtin_ctz(left), count = (unsigned)__builtin_ctz(~(left >> from));
        all->f(all->context, segment, first + from, count);
        left &= left + (1u << from);
    }
}

/* Visits the four clumps of a block. In a collection that skips precleaned handles objects only get older, so the youth
   of clumps without young objects does not change. */
GC__FN void gc__clumps_of_block(const gc__clumps *all, gc__handle_segment *segment, size_t block) {
    size_t first = block * GC__BLOCK_CLUMPS;
    uint64_t precleaned;
    uint32_t youth;
    if (!(all->kinds >> segment->kinds[block] & 1)) return;
    memcpy(&precleaned, &segment->precleaned[first], sizeof precleaned);
    memcpy(&youth, &segment->youth[first], sizeof youth);
    if (gc__handles_skip(all->handles) && (precleaned == ~(uint64_t)0 || (all->whole && !youth))) return;
    if (all->handles->least && !youth) return;
    for (size_t clump = first; clump < first + GC__BLOCK_CLUMPS; clump++) gc__clump_visit(all, segment, clump);
}

GC__HOT void gc__clumps_unit(void *context, size_t unit) {
    const gc__clumps *all = (const gc__clumps *)context;
    uintptr_t chosen = all->handles->chosen[unit];
    gc__handle_segment *segment = gc__handle_segment_of(chosen);
    if (!((chosen >> GC__CHOSEN_SHIFT) & all->kinds & ((1u << GC_HANDLE_KINDS) - 1))) return;
    size_t from = (chosen & (((uintptr_t)1 << GC__CHOSEN_SHIFT) - 1)) * GC__CHUNK_BLOCKS;
    for (size_t block = from; block < from + GC__CHUNK_BLOCKS; block++) gc__clumps_of_block(all, segment, block);
}

GC__HOT void gc__clumps_each(gc_heap *heap, unsigned kinds, gc__clump_function f, void *context) {
    gc__clumps all = {heap->handles, kinds, false, f, context};
    for (size_t i = 0; i < heap->handles->chosen_count; i++) gc__clumps_unit(&all, i);
}

/* Calls f for handles in the chosen chunks on any worker, where f changes nothing except the clump. */
GC__OUT_OF_LINE void gc__clumps_share(gc__worker *worker, unsigned kinds, bool whole, gc__clump_function f) {
    gc__clumps all = {worker->heap->handles, kinds, whole, f, NULL};
    gc__workers_each(worker, worker->heap->handles->chosen_count, gc__clumps_unit, &all);
}

/* Roots. Free places look like slots that refer to no heap. */

typedef struct gc__handle_visitor {
    gc_heap *heap;
    gc_visitor *visitor;
    unsigned flags;
} gc__handle_visitor;

GC__FN void gc__handles_visit_strong(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    gc_visit(all->visitor, &segment->places[first], count, all->flags);
}

GC__FN void gc__handles_visit_held(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    const gc_options *options = &all->heap->options;
    for (size_t i = first; options->handle_is_held && i < first + count; i++) {
        gc_word *place = &segment->places[i];
        if (gc__place_is_empty(*place)) continue;
        void *word = (void *)__atomic_load_n(gc__handle_extra(segment, i), __ATOMIC_RELAXED);
        if (options->handle_is_held(options->host, gc__handle_value(segment, i), (void *)*place, word))
            gc_visit(all->visitor, place, 1, 0);
    }
}

GC__FN void gc__handles_visit_dependents(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc_visit(((gc__handle_visitor *)context)->visitor, gc__handle_extra(segment, first), count, 0);
}

GC__FN void gc__handles_visit(gc_heap *heap, gc_visitor *visitor, int generation) {
    gc__handle_visitor all = {heap, visitor, GC_SLOT_PINNED};
    bool skips = gc__is_last_of_marking(heap);
    if (skips) gc__handles_preclean_last(heap);
    gc__clumps_choose(heap, generation, skips && !gc__is_checkmarked(heap)); /* checkmark begins with all roots */
    gc__clumps_each(heap, 1u << GC_HANDLE_PINNED, gc__handles_visit_strong, &all);
    all.flags = 0;
    gc__clumps_each(heap, 1u << GC_HANDLE_STRONG, gc__handles_visit_strong, &all);
    gc__clumps_each(heap, 1u << GC_HANDLE_REF_COUNTED, gc__handles_visit_held, &all);
    gc__finalizers_visit_due(heap, visitor);
}

GC__FN void gc__handles_clear_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    (void)context;
    for (size_t i = first; count > 1 && i < first + count; i++) gc__reached_await(segment->places[i]);
    for (size_t i = first; i < first + count; i++)
        segment->places[i] = gc__address_after_trace(segment->places[i]);
}

GC__FN void gc__dependents_clear_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc_word *extra = gc__handle_extra(segment, first);
    gc__handles_clear_clump(context, segment, first, count);
    for (size_t i = 0; i < count; i++)
        if (!segment->places[first + i]) extra[i] = 0;
}

/* Makes those dependents of dependent handles that the trace has to reach wait for their objects. */
GC__FN void gc__dependents_gather(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc__worker *worker = (gc__worker *)context;
    for (size_t i = first; count > 1 && i < first + count; i++) gc__reached_await(segment->places[i]);
    for (size_t i = first; i < first + count; i++) {
        const gc_word *place = &segment->places[i];
        uint8_t verdict = worker->verdicts[*gc__handle_extra(segment, i) >> GC_REGION_SHIFT];
        if (!gc__place_is_empty(*place) && verdict) gc__wait(worker, *place, (uintptr_t)gc__handle_extra(segment, i));
    }
}

/* Youth, and free blocks. */

GC__FN void gc__handles_age_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    uint8_t youngest = 0;
    bool dependent = gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT;
    (void)context;
    for (size_t i = first; i < first + count; i++) {
        uint8_t youth = gc__youth(segment->places[i]);
        if (youth > youngest) youngest = youth;
        if (dependent && (youth = gc__youth(*gc__handle_extra(segment, i))) > youngest) youngest = youth;
    }
    segment->youth[first / GC__HANDLE_CLUMP] = youngest;
}

GC__FN void gc__handles_chain_block(gc__handles *handles, gc__handle_segment *segment, size_t block) {
    gc_word *places = &segment->places[block * GC__HANDLE_BLOCK];
    uint8_t kind = segment->kinds[block];
    size_t count = 0;
    for (size_t i = 0; i < GC__HANDLE_BLOCK; i++) count += places[i] & GC__HANDLE_FREE;
    if (kind == GC_HANDLE_KINDS || count == GC__HANDLE_BLOCK) {
        segment->kinds[block] = GC_HANDLE_KINDS;
        handles->extra_count -= segment->extras[block] != NULL;
        free(segment->extras[block]);
        segment->extras[block] = NULL;
        gc__handle_cache_push(&handles->free_blocks, places);
        return;
    }
    for (size_t i = GC__HANDLE_BLOCK; i-- > 0;)
        if (places[i] & GC__HANDLE_FREE) gc__handle_cache_push(&handles->free[kind], &places[i]);
}

/* Rebuilds the lists of free places, in the order of addresses, and frees blocks without handles for any kind. */
GC__HOT void gc__handles_chain(gc_heap *heap) {
    gc__handles *handles = heap->handles;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        memset(gc__record(thread)->handle_caches, 0, GC_HANDLE_KINDS * sizeof(gc__handle_cache));
    memset(handles->free, 0, sizeof handles->free);
    memset(&handles->free_blocks, 0, sizeof handles->free_blocks);
    for (gc__handle_segment *segment = handles->segments; segment; segment = segment->next)
        for (size_t block = GC__HANDLE_BLOCKS; block-- > 0;) gc__handles_chain_block(handles, segment, block);
}

/* Updates the youth of segments after that of their clumps was computed. */
GC__HOT void gc__handles_age_segments(gc__handles *handles) {
    static const uint8_t none[GC__HANDLE_CLUMPS] = {0};
    for (size_t i = 0; i < handles->chosen_count; i++) {
        gc__handle_segment *segment = gc__handle_segment_of(handles->chosen[i]);
        if (i && gc__handle_segment_of(handles->chosen[i - 1]) == segment) continue;
        segment->young = memcmp(segment->youth, none, sizeof none) != 0;
    }
}

GC__FN void gc__handles_trace(gc__worker *worker, int generation) {
    gc_heap *heap = worker->heap;
    const unsigned dependent = 1u << GC_HANDLE_DEPENDENT;
    gc__waits_begin(heap);
    gc__clumps_choose(heap, generation, gc__is_mark_end(heap));
    gc__clumps_each(heap, dependent, gc__dependents_gather, worker);
    gc__waits_fixpoint(worker);
    /* Short weak handles are cleared before finalizers can see their objects again, long ones below. */
    gc__clumps_share(worker, 1u << GC_HANDLE_WEAK | 1u << GC_HANDLE_REF_COUNTED, false, gc__handles_clear_clump);
    gc__discovered_clear(heap, false);
    gc__phase_begin(heap, GC_PHASE_FINALIZERS);
    gc__finalizers_queue_dead(worker, generation);
    gc__waits_fixpoint(worker);
    /* Everything that survives this collection has been reached. */
    gc__phase_begin(heap, GC_PHASE_HANDLES);
    gc__traced_note(heap, generation);
    gc__clumps_share(worker, 1u << GC_HANDLE_WEAK_LONG, false, gc__handles_clear_clump);
    gc__clumps_share(worker, dependent, false, gc__dependents_clear_clump);
    gc__discovered_clear(heap, true);
    gc__clumps_share(worker, (1u << GC_HANDLE_KINDS) - 1, true, gc__handles_age_clump);
    gc__handles_age_segments(heap->handles);
    if (generation == 2 && !gc__is_mark_end(heap)) gc__handles_chain(heap);
}

#if !GC__HAS_MARKER
GC__FN void gc__remark(gc_heap *heap) { (void)heap; }
#else
/* Marks in a remark what can be reached through dependent handles and ephemerons. */
GC__FN void gc__remark_waits(gc_heap *heap) {
    gc__worker *worker = &heap->marker->worker;
    gc__waits_begin(heap);
    heap->cycle->entries.waited = heap->cycle->entries.cleared = 0; /* those of young objects, too */
    gc__clumps_choose(heap, 2, true);
    gc__clumps_each(heap, 1u << GC_HANDLE_DEPENDENT, gc__dependents_gather, worker);
    gc__waits_fixpoint(worker);
    worker->awaited = NULL;
}

/* Makes the remark of a cycle: marks all old objects that can be reached, clears short weak references to the others,
   and finds out which finalizers are due. The young generations have been collected in this pause, so their objects
   are alive, and the old ones to which they and roots refer were shaded. Long weak references wait for the final mark,
   when it is known which objects finalizers can reach. Without memory for lists, all of it is left to the final mark. */
GC__COLD void gc__remark(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__is_remark(heap) || !gc__heap_is_marking(heap) || gc__marker_is_spoilt(heap)) return;
    gc__phase_begin(heap, GC_PHASE_REMARK);
    gc__marker_remark(heap);
    gc__old_rank(heap, GC__IGNORE, GC__OLD_CONDEMNED);
    gc__slices_remark(heap);
    gc__remark_drain(heap);
    gc__remark_waits(heap);
    gc__phase_begin(heap, GC_PHASE_FINALIZERS);
    if (!marker->unasked) {
        gc__clumps_each(heap, 1u << GC_HANDLE_WEAK | 1u << GC_HANDLE_REF_COUNTED, gc__handles_clear_clump, NULL);
        gc__discovered_clear(heap, false);
        gc__finalizers_remark(heap);
    }
    gc__old_rank(heap, GC__OLD_CONDEMNED, GC__IGNORE);
    gc__preclean_allow(&marker->slices);
}
#endif

/* For verify. */

GC__COLD void gc__handles_check_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    uint8_t youth_noted = segment->youth[first / GC__HANDLE_CLUMP];
    gc__handles_age_clump(NULL, segment, first, count);
    if (segment->youth[first / GC__HANDLE_CLUMP] > youth_noted || (youth_noted && !segment->young))
        gc__fatal(
            &all->heap->options,
            "verify (collection %llu): the handles at %p refer to an object that is younger than noted: a fault of "
            "the collector, or an object was stored without gc_handle_set",
            (unsigned long long)all->heap->collection.number, (void *)&segment->places[first]);
    segment->youth[first / GC__HANDLE_CLUMP] = youth_noted;
    gc__handles_visit_strong(context, segment, first, count);
    if (gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT)
        gc__handles_visit_dependents(context, segment, first, count);
}

GC__FN void gc__handles_verify(gc_heap *heap, gc_visitor *visitor) {
    gc__handle_visitor all = {heap, visitor, 0};
    gc__lock_take(&heap->handles->lock);
    gc__clumps_choose(heap, 2, false);
    gc__clumps_each(heap, (1u << GC_HANDLE_KINDS) - 1, gc__handles_check_clump, &all);
    gc__lock_release(&heap->handles->lock);
    gc__finalizers_visit_queued(heap, visitor);
    gc__finalizers_visit_registered(heap, visitor);
}

typedef struct gc__dependent_checker {
    gc_visitor *visitor;
    bool (*reached)(gc_visitor *visitor, uintptr_t object);
    bool any;
} gc__dependent_checker;

GC__COLD void gc__dependents_check_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc__dependent_checker *checker = (gc__dependent_checker *)context;
    for (size_t i = first; i < first + count; i++) {
        gc_word *extra = gc__handle_extra(segment, i), place = segment->places[i];
        if (gc__place_is_empty(place) || !checker->reached(checker->visitor, place)) continue;
        if (checker->reached(checker->visitor, *extra)) continue;
        checker->any = true;
        gc_visit(checker->visitor, extra, 1, 0);
    }
}

GC__FN bool gc__handles_checkmark(gc_heap *heap, gc_visitor *visitor,
                                  bool (*reached)(gc_visitor *visitor, uintptr_t object)) {
    gc__dependent_checker checker = {visitor, reached, false};
    gc__clumps_choose(heap, 2, false);
    gc__clumps_each(heap, 1u << GC_HANDLE_DEPENDENT, gc__dependents_check_clump, &checker);
    return checker.any;
}
