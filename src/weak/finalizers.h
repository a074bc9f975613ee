/* The objects that have finalizers, and the queues of those that are due.

   registered: pairs of object and finalizer, generation 2 first; start[g] is where those of generation g begin. No
   object is younger than its section of the list says, so a collection of generation n only needs the list from
   start[n] on. Pairs of one object are in the order of their registration. In the section of generation 2 a removed
   pair is empty (its words are 0) until the list is compacted. due: two queues of pairs, normal and critical; their
   objects are roots. If no thread runs finalizers these may be many, so collections visit only the `young` ones, which
   may move, unless the whole heap is marked with the program stopped. Concurrent marking treats a queue like an array
   that it scans: a thread that takes a pair out before the marker has come to it shades its object.

   During concurrent marking the marker precleans the old pairs, once it has marked what it can. A pair whose object is
   marked and will not move needs nothing in the final mark either, since marks are not taken back; so the final mark
   only processes the others, which are unclean, and pairs that have become old since. If objects of unclean pairs are
   white, a remark makes sure that these cannot be reached: then their finalizers are due. Which pairs that are need not
   be known before somebody asks: the remark decides about a few, and the marker's thread about the rest, or an earlier
   asker does. Until all are decided (`deciding`) the marker marks nothing. So what was white in the remark is white
   still, and no object counts as reached because another one refers to it whose finalizer is due.

   Invariant: each list has room for all existing pairs, and for those promised to objects that are being allocated. So
   no collection needs memory for pairs, and none is ever dropped.

   The finalizers' lock guards all of this; no other lock is taken under it. */
#pragma once

#include "../threads/mode.h"
#include "../policy/limits.h"
#include "../cycle/marker.h"
#include "../trace/scan.h"
#include "../api/finalizer.h"

#ifndef GC__DECIDE_AT_ONCE
#define GC__DECIDE_AT_ONCE 512 /* pairs about which a remark decides */
#endif

enum { GC__NORMAL, GC__CRITICAL };

typedef struct gc__due {
    gc__words pairs;
    size_t head;            /* words that were taken out */
    size_t looked;          /* objects before this word, and not in `young`, are of generation 2 and stay in place */
    /* [shaded, shading) was queued when the cycle began, or by a remark, and the marker has not come to it yet */
    size_t shaded, shading;
} gc__due;

/* A running finalizer. The record is not on the thread's stack, so it outlives one that does not return to gc.h. */
typedef struct gc__finalizing {
    struct gc__finalizing *next;
    const gc_thread *thread;
    const gc_stack *stack; /* the stack on which the thread ran */
    const char *frame;     /* frame of the function of gc.h that runs finalizers */
    const char *type;
    const gc_finalizer *finalizer;
    uint64_t started_ns;
    bool critical, reported;
} gc__finalizing;

typedef struct gc__finalizers {
    gc__lock lock;        /* guards the lists */
    gc__words registered; /* pairs, as above */
    size_t start[GC_GENERATIONS];
    size_t empty;           /* words of removed pairs in the old section */
    /* [packed, packing) of the old section is empty: pairs from `packing` on are moved to `packed` */
    size_t packed, packing;
    /* Pairs of the old section, by their numbers: [old.next, start[1]) were not looked at in this cycle. A pair is
       unclean if its object was white or will move. */
    gc__preclean old;
    gc__words asked;        /* the numbers of unclean pairs whose objects may be asked only with the world stopped */
    size_t sought;          /* so many of the unclean pairs had no white object any more, before a remark */
    size_t decided;         /* since the remark: so many unclean pairs are queued, or are the first `old.kept` ones */
    bool deciding;          /* since the remark: not all unclean pairs are decided; atomic */
    size_t promised;
    gc__due due[2];
    gc__words young; /* queued pairs that collections visit: the index of each pair's first word, | GC__CRITICAL */
    bool young_unknown; /* there was no memory to record one of these, or old objects may have become young */
    gc__words moving;        /* used during a collection */
    bool announce;           /* a collection has queued finalizers; written with the world stopped */
    gc__finalizing *running; /* under the lock */
    gc__finalizing *spare;   /* under the lock */
    gc__finalizing first;    /* a record in one of these two lists, so that one finalizer can run even without memory */
    bool ending;             /* under the lock; the heap is being destroyed, and waits for each finalizer's end */
    uint32_t event;          /* atomic; changes when finalizers were queued or have run, or the state has changed */
    uint32_t state;          /* of the finalizer thread; atomic */
    gc__os_thread thread;    /* written by the threads that start and end it */
} gc__finalizers;
enum { GC__FINALIZERS_NONE, GC__FINALIZERS_START, GC__FINALIZERS_RUN, GC__FINALIZERS_STOP, GC__FINALIZERS_ENDED };

GC__FN size_t gc__due_count(const gc__due *due) { return (due->pairs.count - due->head) / 2; }

GC__OUT_OF_LINE size_t gc__due_total(const gc__finalizers *all) {
    return gc__due_count(&all->due[GC__NORMAL]) + gc__due_count(&all->due[GC__CRITICAL]);
}

GC__FN gc__due *gc__due_of(gc__finalizers *all, uintptr_t finalizer) {
    return &all->due[((const gc_finalizer *)finalizer)->critical ? GC__CRITICAL : GC__NORMAL];
}

/* Returns whether the object itself says that its finalizer is not needed. */
GC__FN bool gc__is_suppressed(uintptr_t object, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return ask && ask((const void *)object);
}

/* Adjusts all indices into a queue before `words` words are removed from it, from `from` on. */
GC__HOT void gc__due_shift(gc__finalizers *all, uintptr_t queue, size_t from, size_t words) {
    gc__due *due = &all->due[queue];
    size_t *places[] = {&due->looked, &due->shaded, &due->shading}, kept = 0;
    for (size_t i = 0; i < 3; i++) *places[i] -= gc__min(words, *places[i] - gc__min(from, *places[i]));
    for (size_t i = 0; i < all->young.count; i++) {
        uintptr_t entry = all->young.words[i];
        if ((entry & 1) == queue && entry >= from && entry < from + words) continue;
        all->young.words[kept++] = (entry & 1) == queue && entry > from ? entry - words : entry;
    }
    all->young.count = kept;
}

/* Moves the queued pairs to the start of their list, if they are few compared to those that were taken out. */
GC__COLD void gc__due_compact(gc__finalizers *all, uintptr_t queue) {
    gc__due *due = &all->due[queue];
    if (!due->head || due->pairs.count - due->head > due->head / 4) return;
    gc__due_shift(all, queue, 0, due->head);
    due->pairs.count -= due->head;
    memmove(due->pairs.words, due->pairs.words + due->head, due->pairs.count * sizeof(uintptr_t));
    due->head = 0;
}

/* Shades the object of a pair that leaves its queue, if the marker has not come to it. Otherwise the final mark would
   have to trace what is found there. Most of these objects will be dead, so many of them must not fill the buffer. */
GC__FN void gc__due_shade(const gc__due *due, size_t at) {
    uintptr_t object = due->pairs.words[at];
    if (at >= due->shaded && at < due->shading && !gc__shade_checks(gc__region_of(object)->heap)) gc__shade_word(object);
}

/* Appends a pair. There must be room. */
GC__FN void gc__pair_push(gc__words *list, uintptr_t object, uintptr_t finalizer) {
    list->words[list->count++] = object;
    list->words[list->count++] = finalizer;
}

/* The lists that have room for all pairs: `registered`, `moving` and the queues. */
enum { GC__FINALIZER_LISTS = 4 };
GC__FN gc__words *gc__finalizers_list(gc__finalizers *all, int i) {
    return i > 1 ? &all->due[i - 2].pairs : i ? &all->moving : &all->registered;
}

/* Returns for how many words that list needs room, for that many more pairs. Lists of due pairs include pairs taken from
   the front: compacting at each registration would be slow. */
GC__COLD size_t gc__finalizers_needed(gc__finalizers *all, int i, size_t more) {
    size_t words = all->registered.count + 2 * (all->promised + more) - (i ? all->empty : 0);
    return i > 1 ? words + all->due[i - 2].pairs.count : words;
}

/* Computes how much of the lists' memory counts, now (sums[0]) and with room for all promised pairs and one more
   (sums[1]). If `does`, makes the room. */
GC__COLD bool gc__finalizers_size(gc__finalizers *all, bool close, bool does, size_t sums[2]) {
    bool ok = true;
    sums[0] = sums[1] = 0;
    for (int i = 0; i < GC__FINALIZER_LISTS; i++) {
        gc__words *list = gc__finalizers_list(all, i);
        size_t bytes = gc__words_room(list, gc__finalizers_needed(all, i, 1), close);
        sums[0] += gc__words_bytes(list);
        sums[1] += gc__words_charged(bytes);
        if (does) ok = ok && gc__words_resize(list, bytes);
    }
    return ok;
}

static const char gc__room_for_finalizers[] =
    "more finalizers, 64 bytes each: raise the limit, or drop references to objects that have them, call gc_collect unless an "
    "allocation has failed, and have finalizers run";

/* Makes the lists grow for one more pair, by doubling or, near the limit, by little. Returns false with gc__fail. */
GC__FN bool gc__finalizers_grow(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    const gc__words *normal = &all->due[GC__NORMAL].pairs, *critical = &all->due[GC__CRITICAL].pairs;
    size_t sums[2], words = all->registered.count + 2 * (all->promised + 1), live = words - all->empty;
    bool fits = all->registered.capacity >= words && all->moving.capacity >= live;
    if (GC__LIKELY(fits && normal->capacity - normal->count >= live && critical->capacity - critical->count >= live)) return true;
    for (int close = 0; close < 2; close++) {
        gc__finalizers_size(all, close, false, sums);
        if (!gc__metadata_reserve(heap, sums[1] - sums[0], gc__room_for_finalizers)) continue;
        if (gc__finalizers_size(all, close, true, sums)) return true;
        gc__fail(GC_ERROR_MEMORY, "the system gives no memory for one more finalizer");
        return false;
    }
    return false;
}

/* Shrinks the lists to what they need, after a collection near the limit. Requires that the world is stopped. */
GC__FN void gc__finalizers_shrink(gc__finalizers *all) {
    gc__lock_take(&all->lock);
    gc__due_compact(all, GC__NORMAL);
    gc__due_compact(all, GC__CRITICAL);
    for (int i = 0; i < GC__FINALIZER_LISTS; i++)
        gc__words_shrink(gc__finalizers_list(all, i), gc__finalizers_needed(all, i, 0));
    gc__words *numbers[] = {&all->old.unclean, &all->asked, &all->young};
    for (int i = 0; i < 3; i++) gc__words_shrink(numbers[i], numbers[i]->count);
    gc__lock_release(&all->lock);
}

GC__FN size_t gc__finalizers_neglected(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    bool attended = all->running || __atomic_load_n(&all->state, __ATOMIC_SEQ_CST) != GC__FINALIZERS_NONE;
    size_t count = attended ? 0 : gc__due_total(all);
    gc__lock_release(&all->lock);
    return count;
}

GC__FN size_t gc__finalizer_bytes_needed(gc_heap *heap) {
    size_t sums[2];
    gc__lock_take(&heap->finalizers->lock);
    gc__finalizers_size(heap->finalizers, true, false, sums);
    gc__lock_release(&heap->finalizers->lock);
    return sums[1] - sums[0];
}

/* Promises the thread room for one more pair; false with gc__fail. */
GC__FN bool gc__finalizer_promise(gc_thread *thread) {
    gc__finalizers *all = thread->heap->finalizers;
    gc__lock_take(&all->lock);
    bool ok = gc__finalizers_grow(thread->heap);
    all->promised += ok;
    gc__lock_release(&all->lock);
    gc__record(thread)->promised += ok;
    return ok;
}

/* Registers the finalizer, for which room was promised. If object is NULL, only withdraws the promise, if there is
   one. */
GC__FN void gc__finalizer_add(gc_thread *thread, void *object, const gc_finalizer *finalizer) {
    gc__finalizers *all = thread->heap->finalizers;
    if (!gc__record(thread)->promised) return;
    gc__record(thread)->promised--;
    gc__lock_take(&all->lock);
    all->promised--;
    if (object) gc__pair_push(&all->registered, (uintptr_t)object, (uintptr_t)finalizer);
    gc__lock_release(&all->lock);
}

/* Returns the index of the object's last pair in words[from, count), or SIZE_MAX. */
GC__FN size_t gc__pair_find(const gc__words *list, size_t from, uintptr_t object) {
    size_t i = list->count;
    while (i > from && list->words[i - 2] != object) i -= 2;
    return i > from ? i - 2 : SIZE_MAX;
}

GC__FN void gc__pair_remove(gc__words *list, size_t at) {
    list->count -= 2;
    memmove(&list->words[at], &list->words[at + 2], (list->count - at) * sizeof(uintptr_t));
}

GC__FN bool gc__is_deciding(const gc__finalizers *all) {
    return GC__HAS_MARKER && __atomic_load_n(&all->deciding, __ATOMIC_ACQUIRE);
}

/* Removes a pair of the old section. */
GC__FN void gc__pair_empty(gc__finalizers *all, uintptr_t *pair) {
    pair[0] = pair[1] = 0;
    all->empty += 2;
}

/* Forgets what is recorded about the old section, which is about to change otherwise than by growth or removal. */
GC__COLD void gc__finalizers_preclean_begin(gc__finalizers *all) {
    gc__preclean_begin(&all->old, 0);
    all->packed = all->packing = all->asked.count = all->sought = 0;
    __atomic_store_n(&all->deciding, false, __ATOMIC_RELEASE);
}

/* Moves some of the old pairs into the gaps of removed ones. Returns whether more are left. */
GC__FN bool gc__finalizers_compact_some(gc__finalizers *all, size_t pairs) {
    uintptr_t *words = all->registered.words;
    size_t end = all->start[1];
    for (; pairs && all->packing < end; pairs--, all->packing += 2) {
        if (!words[all->packing]) continue;
        if (all->packed < all->packing) {
            memcpy(&words[all->packed], &words[all->packing], 2 * sizeof *words);
            words[all->packing] = words[all->packing + 1] = 0;
        }
        all->packed += 2;
    }
    if (all->packing < end) return true;
    size_t gap = end - all->packed;
    memmove(&words[all->packed], &words[end], (all->registered.count - end) * sizeof *words);
    all->registered.count -= gap;
    for (int g = 0; g < 2; g++) all->start[g] -= gap;
    all->empty -= gap;
    gc__finalizers_preclean_begin(all);
    return false;
}

GC__FN void gc__finalizers_compact(gc__finalizers *all) {
    gc__finalizers_preclean_begin(all);
    if (all->empty) gc__finalizers_compact_some(all, SIZE_MAX);
}

GC__FN void gc__finalizers_notify(gc__finalizers *all) {
    __atomic_fetch_add(&all->event, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&all->event);
}

/* Returns a record for one more running finalizer; NULL if there is no memory. Requires the lock. */
GC__FN gc__finalizing *gc__finalizing_new(gc__finalizers *all) {
    gc__finalizing *record = all->spare;
    if (!record) return (gc__finalizing *)malloc(sizeof *record);
    all->spare = record->next;
    return record;
}

/* Requires the lock. */
GC__FN void gc__finalizing_remove(gc__finalizers *all, gc__finalizing **link) {
    gc__finalizing *record = *link;
    gc__record(record->thread)->finalizing--;
    *link = record->next;
    record->next = all->spare;
    all->spare = record;
}

/* Called by the thread, in a function of gc.h with this frame. Finalizers that the thread ran from there, or from a
   frame farther in, have been left by longjmp, or by an exception through C code: forgets them. If `frame` is NULL,
   forgets all that the thread runs. Requires the lock. */
GC__FN void gc__finalizing_drop(gc__finalizers *all, const gc_thread *thread, const void *frame) {
    for (gc__finalizing **link = &all->running; *link;) {
        const gc__finalizing *record = *link;
        bool gone = !frame || (record->stack == thread->stack && record->frame <= (const char *)frame);
        if (record->thread == thread && gone)
            gc__finalizing_remove(all, link);
        else
            link = &(*link)->next;
    }
}

GC__FN void gc__finalizing_forget(const gc_thread *thread) {
    gc__finalizers *all = thread->heap->finalizers;
    gc__lock_take(&all->lock);
    bool any = all->running != NULL;
    gc__finalizing_drop(all, thread, NULL);
    gc__lock_release(&all->lock);
    if (any) gc__finalizers_notify(all);
}

GC__FN bool gc__finalizer_remove(gc__finalizers *all, uintptr_t object) {
    size_t at = gc__pair_find(&all->registered, 0, object);
    if (at < all->start[1]) {
        gc__pair_empty(all, &all->registered.words[at]);
        /* If half of the section is empty, unless numbers of pairs are still needed. */
        if (all->empty > all->start[1] / 2 && !gc__is_deciding(all)) gc__finalizers_compact(all);
        return true;
    }
    if (at != SIZE_MAX) {
        gc__pair_remove(&all->registered, at);
        if (all->start[0] > at) all->start[0] -= 2;
        return true;
    }
    for (int i = 0; i < 2; i++) {
        at = gc__pair_find(&all->due[i].pairs, all->due[i].head, object);
        if (at == SIZE_MAX) continue;
        gc__due_shade(&all->due[i], at);
        gc__due_shift(all, (uintptr_t)i, at, 2);
        gc__pair_remove(&all->due[i].pairs, at);
        gc__finalizers_notify(all); /* a thread may be waiting for this last finalizer */
        return true;
    }
    return false;
}

GC_API bool gc_finalizer_suppress(gc_thread *thread, void *object) {
    if (gc__is_null(thread, "gc_finalizer_suppress", "thread") || !object) return false;
    gc__finalizers *all = thread->heap->finalizers;
    gc__lock_take(&all->lock);
    bool found = gc__finalizer_remove(all, (uintptr_t)object);
    gc__lock_release(&all->lock);
    return found;
}

GC_API gc_result gc_finalizer_register(gc_thread *thread, void *object, const gc_finalizer *finalizer) {
    if (gc__is_null(thread, "gc_finalizer_register", "thread") ||
        gc__is_null(object, "gc_finalizer_register", "object") ||
        gc__is_null(finalizer, "gc_finalizer_register", "finalizer"))
        return GC_ERROR_ARGUMENT;
    gc_heap *heap = thread->heap;
    if (!finalizer->finalize || !gc__in_arena((uintptr_t)object) || !gc__region_is_of(gc__region_of((uintptr_t)object), heap))
        return gc__misused(gc__fail(GC_ERROR_MISUSE, "gc_finalizer_register: %s",
                                   finalizer->finalize ? "the object is not one of this heap" : "there is no function"));
    if (!gc__finalizer_promise(thread)) return gc__last_result;
    gc__finalizer_add(thread, object, finalizer);
    return GC_OK;
}

/* Finalizers in a collection. */

GC__HOT void gc__due_visit(const gc__due *due, size_t from, size_t end, gc_visitor *visitor) {
    for (size_t at = gc__max(from, due->head); at < end; at += 2) gc_visit(visitor, &due->pairs.words[at], 1, 0);
}

GC__HOT void gc__finalizers_visit_queued(gc_heap *heap, gc_visitor *visitor) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    for (int i = 0; i < 2; i++) gc__due_visit(&all->due[i], 0, all->due[i].pairs.count, visitor);
    gc__lock_release(&all->lock);
}

/* Returns whether a collection during concurrent marking may move a queued object, or free it unless it is visited. */
GC__FN bool gc__due_is_young(uintptr_t object) { return gc__youth(object) || gc__is_candidate(object); }

GC__HOT void gc__due_note_young(gc__finalizers *all) {
    size_t kept = 0;
    if (all->young_unknown) all->young.count = all->due[GC__NORMAL].looked = all->due[GC__CRITICAL].looked = 0;
    all->young_unknown = false;
    for (size_t i = 0; i < all->young.count; i++) {
        uintptr_t entry = all->young.words[i], at = entry & ~(uintptr_t)1;
        const gc__due *due = &all->due[entry & 1];
        if (at >= due->head && gc__due_is_young(due->pairs.words[at])) all->young.words[kept++] = entry;
    }
    all->young.count = kept;
    for (uintptr_t queue = 0; queue < 2; queue++) {
        gc__due *due = &all->due[queue];
        for (size_t at = gc__max(due->looked, due->head); at < due->pairs.count; at += 2)
            if (gc__due_is_young(due->pairs.words[at])) all->young_unknown |= !gc__words_push(&all->young, at | queue);
        due->looked = due->pairs.count;
    }
}

/* Visits the roots of the collection that begins: queued objects that it may move, and in a final mark those that the
   marker has not come to. */
GC__HOT void gc__finalizers_visit_due(gc_heap *heap, gc_visitor *visitor) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    gc__due_note_young(all);
    bool ends = gc__is_mark_end(heap), full = heap->collection.generation == 2 && !ends;
    bool whole = full || all->young_unknown;
    for (int i = 0; i < 2; i++) {
        const gc__due *due = &all->due[i];
        if (whole || ends) gc__due_visit(due, whole ? 0 : due->shaded, whole ? due->pairs.count : due->shading, visitor);
    }
    all->young_unknown |= full; /* in a non-moving heap, holes of old regions may be given to mutators */
    for (size_t i = 0; !whole && i < all->young.count; i++) {
        uintptr_t entry = all->young.words[i];
        gc_visit(visitor, &all->due[entry & 1].pairs.words[entry & ~(uintptr_t)1], 1, 0);
    }
    gc__lock_release(&all->lock);
}

/* Lets the marker shade what is queued when a cycle begins. */
GC__COLD void gc__due_preclean_begin(gc__finalizers *all) {
    for (int i = 0; i < 2; i++) {
        all->due[i].shaded = all->due[i].head;
        all->due[i].shading = all->due[i].pairs.count;
    }
}

GC__FN void gc__finalizers_visit_registered(gc_heap *heap, gc_visitor *visitor) {
    const gc__words *list = &heap->finalizers->registered;
    for (size_t at = 0; at < list->count; at += 2) gc_visit(visitor, &list->words[at], 1, 0);
}

/* Takes the pairs of the generations up to the given one out of their list. */
GC__FN void gc__finalizers_take(gc__finalizers *all, int generation) {
    if (generation == 2) gc__finalizers_compact(all);
    size_t from = all->start[generation], count = all->registered.count - from;
    if (count) memcpy(all->moving.words, all->registered.words + from, count * sizeof(uintptr_t));
    all->moving.count = count;
    all->registered.count = from;
}

/* Puts back the pairs whose objects survive in `generation`. */
GC__FN void gc__finalizers_put(gc__finalizers *all, int generation) {
    for (size_t i = 0; i < all->moving.count; i += 2) {
        uintptr_t object = all->moving.words[i];
        if (!object || gc__region_of(object)->target != generation) continue;
        gc__pair_push(&all->registered, object, all->moving.words[i + 1]);
    }
}

/* After the trace, updates the pair to its object's address; queues it if that was not reached. Returns whether it
   was. */
GC__FN bool gc__finalizer_follow(gc__finalizers *all, uintptr_t *pair) {
    uintptr_t object = pair[0], finalizer = pair[1];
    pair[0] = gc__address_after_trace(object);
    if (!pair[0] && !gc__is_suppressed(gc__memory_of_dead(object), finalizer))
        gc__pair_push(&gc__due_of(all, finalizer)->pairs, object, finalizer);
    return pair[0] != 0;
}

/* Prefetches the object of the old pair, which is about to be read, and its mark. */
GC__FN void gc__finalizer_await(const gc__finalizers *all, size_t at) {
    uintptr_t object = at < all->start[1] ? all->registered.words[at] : 0;
    if (!object) return;
    __builtin_prefetch((const void *)object);
    __builtin_prefetch(&gc__region_of(object)->heap->marker->marks[gc__mark_index(object) >> 6]);
}

GC__HOT void gc__finalizers_follow_some(gc__finalizers *all, const gc__words *numbers) {
    for (size_t i = 0; i < numbers->count; i++) {
        if (i + GC__FIFO < numbers->count) gc__finalizer_await(all, numbers->words[i + GC__FIFO]);
        uintptr_t *pair = &all->registered.words[numbers->words[i]];
        if (pair[0] && !gc__finalizer_follow(all, pair)) gc__pair_empty(all, pair);
    }
}

/* Follows the old pairs, except those about which the marker has found that nothing is to be done, or, in a remark, that
   are decided later. */
GC__FN void gc__finalizers_follow_old(gc__finalizers *all) {
    uintptr_t *words = all->registered.words;
    gc__finalizers_follow_some(all, &all->asked);
    for (size_t at = all->old.next; at < all->start[1]; at += 2) {
        gc__finalizer_await(all, at + 2 * GC__FIFO);
        if (words[at] && !gc__finalizer_follow(all, &words[at])) gc__pair_empty(all, &words[at]);
    }
}

/* Queues an old object that stays in place, for the marker to shade. Collections need not visit it unless they have to
   visit one before it. */
GC__FN void gc__due_push_old(gc__finalizers *all, uintptr_t object, uintptr_t finalizer) {
    gc__due *due = gc__due_of(all, finalizer);
    bool looked = due->looked == due->pairs.count;
    gc__pair_push(&due->pairs, object, finalizer);
    due->shading = due->pairs.count;
    if (looked) due->looked = due->pairs.count;
}

/* After a remark, queues the white objects of `pairs` unclean pairs, and of more until one is due. Requires the lock. */
GC__HOT void gc__finalizers_decide(gc__finalizers *all, size_t pairs) {
    gc__words *numbers = &all->old.unclean;
    if (!gc__is_deciding(all)) return;
    for (size_t due = gc__due_total(all); all->decided < numbers->count; pairs -= pairs != 0) {
        if (!pairs && gc__due_total(all) != due) return;
        if (all->decided + GC__FIFO < numbers->count) gc__finalizer_await(all, numbers->words[all->decided + GC__FIFO]);
        size_t number = numbers->words[all->decided++];
        uintptr_t *pair = &all->registered.words[number], object = pair[0];
        if (!object) continue;
        if (!gc__shade_is_white(object)) {
            numbers->words[all->old.kept++] = number;
            continue;
        }
        if (!gc__is_suppressed(object, pair[1])) gc__due_push_old(all, object, pair[1]);
        gc__pair_empty(all, pair);
    }
    numbers->count = all->old.kept;
    __atomic_store_n(&all->deciding, false, __ATOMIC_RELEASE);
}

/* Decides about all pairs that are left. Requires that the world is stopped. */
GC__FN void gc__finalizers_decide_all(gc__finalizers *all) {
    gc__lock_take(&all->lock);
    gc__finalizers_decide(all, SIZE_MAX);
    gc__lock_release(&all->lock);
}

/* In a remark, when nothing white can be reached: finalizers of old white objects are due. */
GC__COLD void gc__finalizers_remark(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    size_t before = gc__due_total(all);
    gc__finalizers_follow_old(all);
    for (int i = 0; i < 2; i++) all->due[i].shading = all->due[i].pairs.count;
    all->decided = all->old.kept = 0;
    all->deciding = all->old.unclean.count != 0;
    gc__finalizers_decide(all, GC__DECIDE_AT_ONCE);
    size_t due = gc__due_total(all) - before;
    all->announce |= due != 0;
    heap->pause.finalizers += due;
    heap->pause.finalizers_left = gc__is_deciding(all) ? all->old.unclean.count - all->decided : 0;
    gc__lock_release(&all->lock);
}

/* After the trace: queues all objects that were not reached, and only then traces from them, so that none counts as
   reached because another one refers to it. */
GC__HOT void gc__finalizers_queue_dead(gc__worker *worker, int generation) {
    gc__finalizers *all = worker->heap->finalizers;
    size_t from[2];
    gc__lock_take(&all->lock);
    for (int i = 0; i < 2; i++) {
        gc__due_compact(all, (uintptr_t)i);
        from[i] = all->due[i].pairs.count;
    }
    if (gc__is_mark_end(worker->heap)) {
        gc__finalizers_follow_some(all, &all->old.unclean);
        gc__finalizers_follow_old(all);
        gc__finalizers_preclean_begin(all);
        generation = 1;
    }
    gc__finalizers_take(all, generation);
    for (size_t i = 0; i < all->moving.count; i += 2) gc__finalizer_follow(all, &all->moving.words[i]);
    for (int g = GC_GENERATIONS; g-- > 0;) {
        if (g <= generation) all->start[g] = all->registered.count;
        gc__finalizers_put(all, g); /* into this section, or into a younger one whose start is known already */
    }
    for (int i = 0; i < 2; i++)
        for (size_t at = from[i]; at < all->due[i].pairs.count; at += 2) {
            all->announce = true;
            worker->heap->pause.finalizers++;
            gc__enqueue(worker, &all->due[i].pairs.words[at], false);
        }
    gc__lock_release(&all->lock);
}

/* Warns once about each finalizer that has run for longer than the host's patience. */
GC__COLD void gc__finalizers_watch(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    uint64_t now = gc__os_now_ns(), ms = 0;
    const char *type = NULL, *thread = NULL;
    gc__lock_take(&all->lock);
    for (gc__finalizing *record = all->running; record && !type; record = record->next) {
        ms = gc__ns_since(now, record->started_ns) / GC__NS_PER_MS;
        if (record->reported || ms < heap->options.patience_ms) continue;
        record->reported = true;
        type = record->type;
        thread = gc__thread_name(record->thread);
    }
    gc__lock_release(&all->lock);
    if (type)
        gc__warn(&heap->options,
                 "the finalizer of a `%s` has been running for %llu ms, on the thread `%s`, and all others wait for it", type,
                 (unsigned long long)ms, thread);
}

/* If finalizers were queued, wakes the finalizer thread and waiting threads, and calls the host. The world is
   stopped. */
GC__FN void gc__finalizers_announce(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (all->running) gc__finalizers_watch(heap);
    if (!all->announce) return;
    all->announce = false;
    gc__lock_take(&all->lock);
    if (gc__is_deciding(all)) gc__due_note_young(all); /* pairs queued later have old objects */
    gc__lock_release(&all->lock);
    gc__finalizers_notify(all);
    if (heap->options.finalizers_ready) heap->options.finalizers_ready(heap->options.host);
}
