/* Which objects have finalizers, and which of these are due.

   registered: pairs of object and finalizer, generation 2 first; start[g] is where those of generation g begin. No object
   is younger than its part says, so a collection of generation n needs to look at the list from start[n] on only. Pairs of
   an object follow one another as they were registered. In the part of generation 2 a pair that has ended is empty, its
   words are 0, until the list is packed. due: two queues of pairs, normal and critical; their objects are roots. Where nobody
   runs finalizers these may be many, so collections visit only `young` ones, which may move, unless the whole heap is marked
   with the program stopped. A marking beside it takes a queue for an array that it scans: who takes a pair out before the
   marker has come there shades its object.

   During a marking beside mutators the marker looks at the old pairs, once it has marked what it can. A pair whose object is
   marked and will not move is what it is after the last collection, too, since marks are not taken back; so that one looks
   only at the others, which are `unmarked`, and at pairs that have become old since. Last of all the marker reprieves the objects
   of these, but for some, which are `kept` for that collection. Then nothing is left to trace from them, and whether they are due
   need not be known before somebody asks: that collection looks at a few, and the marker's thread at the rest, or whoever wants
   to know before it has. Until then (`deciding`) the others keep their places in the list.

   Invariant: each list has room for all pairs in existence, and for those promised to objects that are being allocated. So
   no collection needs memory for them, and none is ever dropped.

   All under finalizers.lock, a leaf. */
#pragma once

#include "../threads/mode.h"
#include "handle_room.h"
#include "../cycle/finalizer_marks.h"
#include "../trace/scan.h"
#include "../api/finalizer.h"

#ifndef GC__DECIDE_AT_ONCE
#define GC__DECIDE_AT_ONCE 512 /* reprieved pairs that a collection looks at */
#endif

enum { GC__NORMAL, GC__CRITICAL };

typedef struct gc__due {
    gc__words pairs;
    size_t head;            /* words that were taken */
    size_t looked;          /* what is before this word, and not in `young`, is of generation 2 and stays where it is */
    size_t shaded, shading; /* [shaded, shading) was there when the cycle began: the marker has not come to it yet */
} gc__due;

/* A finalizer that runs. The record is not on the thread's stack, so it outlives one that does not return to gc.h. */
typedef struct gc__finalizing {
    struct gc__finalizing *next;
    const gc_thread *thread;
    const gc_stack *stack; /* on which the thread ran */
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
    size_t empty;           /* words of the old part */
    size_t packed, packing; /* [packed, packing) of the old part is empty: what is moved there comes from there */
    size_t looked;          /* words of the old part that the marker has looked at in this cycle */
    gc__words unmarked;     /* the numbers of pairs among these whose objects were white */
    gc__words kept;         /* of those of them that the last collection looks at in any case */
    gc__words finalizer_grey;    /* of those whose objects were reprieved */
    bool deciding;          /* that collection is over, and these were not all looked at; atomic */
    size_t promised;
    gc__due due[2];
    gc__words young; /* queued pairs that collections visit: their first words, | GC__CRITICAL */
    bool young_unknown; /* there was no memory to note one of these, or old ones may have become young */
    gc__words moving;        /* during a collection */
    bool announce;           /* a collection has queued finalizers: written with the world stopped */
    gc__finalizing *running; /* lock */
    gc__finalizing *spare;   /* lock */
    gc__finalizing first;    /* a record, so that one finalizer can run even without memory */
    bool has_first;          /* lock; `first` is in one of these two lists */
    bool ending;             /* lock; the heap is being destroyed, which waits for the end of each finalizer */
    uint32_t event;          /* atomic; changes when finalizers were queued or have run, or the state has changed */
    uint32_t state;          /* the finalizer thread's; atomic */
    gc__os_thread thread;    /* written by the threads that start and end it */
} gc__finalizers;
enum { GC__FINALIZERS_NONE, GC__FINALIZERS_START, GC__FINALIZERS_RUN, GC__FINALIZERS_STOP, GC__FINALIZERS_ENDED };

GC__FN size_t gc__due_count(const gc__due *due) { return (due->pairs.count - due->head) / 2; }

GC__FN size_t gc__due_total(const gc__finalizers *all) {
    return gc__due_count(&all->due[GC__NORMAL]) + gc__due_count(&all->due[GC__CRITICAL]);
}

GC__FN gc__due *gc__due_of(gc__finalizers *all, uintptr_t finalizer) {
    return &all->due[((const gc_finalizer *)finalizer)->critical ? GC__CRITICAL : GC__NORMAL];
}

/* Whether the object itself says that its finalizer is not needed. */
GC__FN bool gc__is_suppressed(uintptr_t object, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return ask && ask((const void *)object);
}

/* So many words are about to be taken out of the queue, from that one on. */
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

/* Moves the queued pairs to the start of their list, if they are few beside those that were taken. */
GC__FN void gc__due_compact(gc__finalizers *all, uintptr_t queue) {
    gc__due *due = &all->due[queue];
    if (!due->head || due->pairs.count - due->head > due->head / 4) return;
    gc__due_shift(all, queue, 0, due->head);
    due->pairs.count -= due->head;
    memmove(due->pairs.words, due->pairs.words + due->head, due->pairs.count * sizeof(uintptr_t));
    due->head = 0;
}

/* The pair at that word leaves its queue. */
GC__FN void gc__due_shade(const gc__due *due, size_t at) {
    if (at >= due->shaded && at < due->shading) gc__shade_word(due->pairs.words[at]);
}

/* Appends a pair. There is room. */
GC__FN void gc__pair_push(gc__words *list, uintptr_t object, uintptr_t finalizer) {
    list->words[list->count++] = object;
    list->words[list->count++] = finalizer;
}

/* All that take memory: first those that have room for all pairs. */
enum { GC__FINALIZER_PAIRS = 4, GC__FINALIZER_LISTS = 8 };
GC__OUT_OF_LINE void gc__finalizers_lists(gc__finalizers *all, gc__words *lists[GC__FINALIZER_LISTS]) {
    gc__words *normal = &all->due[GC__NORMAL].pairs, *critical = &all->due[GC__CRITICAL].pairs;
    gc__words *each[GC__FINALIZER_LISTS] = {&all->registered, &all->moving, normal, critical,
                                            &all->unmarked, &all->kept, &all->finalizer_grey, &all->young};
    memcpy(lists, each, sizeof each);
}

/* What the lists' memory is to be for all pairs that are promised, and one more: sums[0] what it is now, sums[1] what it is to
   be, as they count. If `does`, makes it so. */
GC__FN bool gc__finalizers_size(gc__finalizers *all, bool close, bool does, size_t sums[2]) {
    size_t words = all->registered.count + 2 * (all->promised + 1), live = words - all->empty;
    gc__words *lists[GC__FINALIZER_LISTS];
    gc__finalizers_lists(all, lists);
    /* Those of due ones include pairs that were taken from the front: to compact at each registration would be slow. */
    size_t counts[] = {words, live, live + lists[2]->count, live + lists[3]->count};
    bool ok = true;
    sums[0] = sums[1] = 0;
    for (int i = 0; i < GC__FINALIZER_PAIRS; i++) {
        size_t bytes = gc__words_room(lists[i], counts[i], close);
        sums[0] += gc__words_bytes(lists[i]);
        sums[1] += gc__words_charged(bytes);
        if (does) ok = ok && gc__words_resize(lists[i], bytes);
    }
    return ok;
}

static const char gc__room_for_finalizers[] =
    "more finalizers, 64 bytes each: raise the limit, or drop references to objects that have them, call gc_collect unless an "
    "allocation has failed, and have finalizers run";

/* Has the lists grow for one more pair, by as much as they like or, near the limit, by little. With gc__fail. */
GC__FN bool gc__finalizers_grow(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    size_t sums[2];
    for (int close = 0; close < 2; close++) {
        gc__finalizers_size(all, close, false, sums);
        if (sums[1] == sums[0]) return true; /* there is room */
        if (!gc__metadata_reserve(heap, sums[1] - sums[0], gc__room_for_finalizers)) continue;
        if (gc__finalizers_size(all, close, true, sums)) return true;
        gc__fail(GC_ERROR_MEMORY, "the system gives no memory for one more finalizer");
        return false;
    }
    return false;
}

/* After a collection near the limit: gives back what the lists need no more. World stopped. */
GC__FN void gc__finalizers_shrink(gc__finalizers *all) {
    gc__lock_take(&all->lock);
    gc__due_compact(all, GC__NORMAL);
    gc__due_compact(all, GC__CRITICAL);
    size_t words = all->registered.count + 2 * all->promised, live = words - all->empty;
    gc__words *lists[GC__FINALIZER_LISTS];
    gc__finalizers_lists(all, lists);
    size_t counts[GC__FINALIZER_PAIRS] = {words, live, live + lists[2]->count, live + lists[3]->count};
    for (int i = 0; i < GC__FINALIZER_LISTS; i++)
        gc__words_shrink(lists[i], i < GC__FINALIZER_PAIRS ? counts[i] : lists[i]->count);
    gc__lock_release(&all->lock);
}

GC__FN size_t gc__finalizers_bytes(gc__finalizers *all) {
    gc__words *lists[GC__FINALIZER_LISTS];
    size_t bytes = 0;
    gc__finalizers_lists(all, lists);
    for (int i = 0; i < GC__FINALIZER_LISTS; i++) bytes += gc__words_bytes(lists[i]);
    return bytes;
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

/* Registers the finalizer, for which room was promised; if object is NULL, only withdraws the promise, if there still is one. */
GC__FN void gc__finalizer_add(gc_thread *thread, void *object, const gc_finalizer *finalizer) {
    gc__finalizers *all = thread->heap->finalizers;
    if (!gc__record(thread)->promised) return;
    gc__record(thread)->promised--;
    gc__lock_take(&all->lock);
    all->promised--;
    if (object) gc__pair_push(&all->registered, (uintptr_t)object, (uintptr_t)finalizer);
    gc__lock_release(&all->lock);
}

GC__FN void gc__finalizer_withdraw(gc_thread *thread) { gc__finalizer_add(thread, NULL, NULL); }

/* The index of the object's last pair in words[from, count), or SIZE_MAX. */
GC__FN size_t gc__pair_find(const gc__words *list, size_t from, uintptr_t object) {
    size_t i = list->count;
    while (i > from && list->words[i - 2] != object) i -= 2;
    return i > from ? i - 2 : SIZE_MAX;
}

GC__FN void gc__pair_remove(gc__words *list, size_t at) {
    list->count -= 2;
    memmove(&list->words[at], &list->words[at + 2], (list->count - at) * sizeof(uintptr_t));
}

/* A pair of the old part ends. */
GC__FN void gc__pair_empty(gc__finalizers *all, uintptr_t *pair) {
    pair[0] = pair[1] = 0;
    all->empty += 2;
}

/* The old part is about to change in another way than to grow, or pairs to end: what was noted of it means nothing. */
GC__OUT_OF_LINE void gc__finalizers_preclean_begin(gc__finalizers *all) {
    all->packed = all->packing = all->looked = all->unmarked.count = all->kept.count = all->finalizer_grey.count = 0;
    __atomic_store_n(&all->deciding, false, __ATOMIC_RELEASE);
}

/* Moves some of the old pairs to where there are empty ones. Returns whether there are more. */
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

/* Does so if half of the old part is empty, unless numbers of pairs are needed. */
GC__FN void gc__finalizers_compact_half(gc__finalizers *all) {
    if (all->empty > all->start[1] / 2 && !all->deciding) gc__finalizers_compact(all);
}

GC__FN void gc__finalizers_notify(gc__finalizers *all) {
    __atomic_fetch_add(&all->event, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&all->event);
}

/* A record for one more running finalizer; NULL: no memory. Lock held. */
GC__FN gc__finalizing *gc__finalizing_new(gc__finalizers *all) {
    gc__finalizing *record = all->spare;
    if (record)
        all->spare = record->next;
    else
        record = all->has_first ? (gc__finalizing *)malloc(sizeof *record) : &all->first;
    all->has_first = true;
    return record;
}

/* Lock held. */
GC__FN void gc__finalizing_remove(gc__finalizers *all, gc__finalizing **link) {
    gc__finalizing *record = *link;
    *link = record->next;
    record->next = all->spare;
    all->spare = record;
}

/* Called by the thread, in a function of gc.h with this frame. Finalizers that it runs from there, or from a frame farther
   in, have been left by longjmp, or by an exception through C code: forgets them. NULL: all that the thread runs. Lock
   held. */
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

/* The thread ends its attachment: forgets the finalizers that it runs. */
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
        gc__finalizers_compact_half(all);
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
        gc__finalizers_notify(all); /* a thread may be waiting for this last one */
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
    if (!finalizer->finalize || !gc__in_arena((uintptr_t)object) ||
        !gc__region_is_of(gc__region_of((uintptr_t)object), heap)) {
        gc__fail(GC_ERROR_MISUSE, "gc_finalizer_register: %s",
                 finalizer->finalize ? "the object is not one of this heap" : "there is no function");
        GC_ASSERT(false, "%s", gc__last_message);
        return GC_ERROR_MISUSE;
    }
    if (!gc__finalizer_promise(thread)) return gc__last_result;
    gc__finalizer_add(thread, object, finalizer);
    return GC_OK;
}

/* Collecting. */

GC__HOT void gc__due_visit(const gc__due *due, size_t from, size_t end, gc_visitor *visitor) {
    for (size_t at = gc__max(from, due->head); at < end; at += 2) gc_visit(visitor, &due->pairs.words[at], 1, 0);
}

GC__HOT void gc__finalizers_visit_queued(gc_heap *heap, gc_visitor *visitor) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    for (int i = 0; i < 2; i++) gc__due_visit(&all->due[i], 0, all->due[i].pairs.count, visitor);
    for (size_t i = 0; all->deciding && i < all->finalizer_grey.count; i++)
        gc_visit(visitor, &all->registered.words[all->finalizer_grey.words[i]], 1, 0);
    gc__lock_release(&all->lock);
}

/* Whether the object of a queued pair may be moved, or freed if it is not visited, by a collection beside whose mutators
   generation 2 is marked. */
GC__FN bool gc__due_is_young(uintptr_t object) { return gc__youth(object) || gc__is_candidate(object); }

/* Notes the young ones of the queued pairs. */
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

/* Roots of the collection that begins: what it may move, and in the last one of a cycle what the marker has not come to. */
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
    all->young_unknown |= full; /* holes of old regions may be given to mutators, where nothing is moved */
    for (size_t i = 0; !whole && i < all->young.count; i++) {
        uintptr_t entry = all->young.words[i];
        gc_visit(visitor, &all->due[entry & 1].pairs.words[entry & ~(uintptr_t)1], 1, 0);
    }
    gc__lock_release(&all->lock);
}

/* A cycle begins: the marker is to shade what is queued. */
GC__HOT void gc__due_preclean_begin(gc__finalizers *all) {
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

/* Puts back the pairs whose objects live on in `generation`. */
GC__FN void gc__finalizers_put(gc__finalizers *all, int generation) {
    for (size_t i = 0; i < all->moving.count; i += 2) {
        uintptr_t object = all->moving.words[i];
        if (!object || gc__region_of(object)->target != generation) continue;
        gc__pair_push(&all->registered, object, all->moving.words[i + 1]);
    }
}

/* After the trace: has the pair refer to where its object is now; queues it if that was not reached. Returns whether it is. */
GC__FN bool gc__finalizer_follow(gc__finalizers *all, uintptr_t *pair) {
    uintptr_t object = pair[0], finalizer = pair[1];
    pair[0] = gc__address_after_trace(object);
    if (!pair[0] && !gc__is_suppressed(gc__memory_of_dead(object), finalizer))
        gc__pair_push(&gc__due_of(all, finalizer)->pairs, object, finalizer);
    return pair[0] != 0;
}

/* The old pair's object is about to be looked at. */
GC__FN void gc__finalizer_await(const gc__finalizers *all, size_t at) {
    uintptr_t object = at < all->start[1] ? all->registered.words[at] : 0;
    if (!object) return;
    __builtin_prefetch((const void *)object);
    __builtin_prefetch(&gc__next_marks[gc__mark_index(object) >> 6]);
}

GC__HOT void gc__finalizers_follow_some(gc__finalizers *all, const gc__words *numbers) {
    for (size_t i = 0; i < numbers->count; i++) {
        if (i + GC__FIFO < numbers->count) gc__finalizer_await(all, numbers->words[i + GC__FIFO]);
        uintptr_t *pair = &all->registered.words[numbers->words[i]];
        if (pair[0] && !gc__finalizer_follow(all, pair)) gc__pair_empty(all, pair);
    }
}

/* In the last collection of a cycle: the old pairs that the marker has not seen to live on, nor reprieved. */
GC__FN void gc__finalizers_follow_old(gc__finalizers *all, bool dropped) {
    uintptr_t *words = all->registered.words;
    if (dropped) gc__finalizers_preclean_begin(all);
    gc__finalizers_follow_some(all, &all->unmarked);
    gc__finalizers_follow_some(all, &all->kept);
    for (size_t at = all->looked; at < all->start[1]; at += 2) {
        gc__finalizer_await(all, at + 2 * GC__FIFO);
        if (words[at] && !gc__finalizer_follow(all, &words[at])) gc__pair_empty(all, &words[at]);
    }
    all->looked = all->unmarked.count = all->kept.count = 0;
    all->deciding = all->finalizer_grey.count != 0;
    if (!all->deciding) gc__finalizers_preclean_begin(all);
    gc__finalizers_compact_half(all);
}

/* Queues an old object that stays, at which collections need not look unless they have to look at one before it. */
GC__HOT void gc__due_push_old(gc__finalizers *all, uintptr_t object, uintptr_t finalizer) {
    gc__due *due = gc__due_of(all, finalizer);
    bool looked = due->looked == due->pairs.count;
    gc__pair_push(&due->pairs, object, finalizer);
    if (looked) due->looked = due->pairs.count;
}

/* Queues reprieved objects that have turned out to be dead: the last collection of the cycle has not marked them. Looks at so
   many pairs, and at more until one is due. `stopped`: it still runs. Lock held. */
GC__HOT void gc__finalizers_decide(gc__finalizers *all, size_t pairs, bool stopped) {
    if (!all->deciding) return;
    gc__words *numbers = &all->finalizer_grey;
    for (size_t due = gc__due_total(all); numbers->count && (pairs || gc__due_total(all) == due); pairs -= pairs != 0) {
        if (numbers->count > GC__FIFO) gc__finalizer_await(all, numbers->words[numbers->count - 1 - GC__FIFO]);
        uintptr_t *pair = &all->registered.words[numbers->words[--numbers->count]], object = pair[0];
        if (!object) continue;
        if (!stopped) gc__region_flip(gc__region_of(object));
        if (!gc__is_finalizer_marked(object) || (stopped && gc__bit_get(gc__next_marks, object))) continue;
        if (!gc__is_suppressed(object, pair[1])) gc__due_push_old(all, object, pair[1]);
        gc__pair_empty(all, pair);
    }
    if (!numbers->count) gc__finalizers_preclean_begin(all);
}

/* All that are left, before a collection that relies on what is due gathers roots. The world is stopped. */
GC__FN void gc__finalizers_decide_all(gc__finalizers *all) {
    gc__lock_take(&all->lock);
    gc__finalizers_decide(all, SIZE_MAX, false);
    gc__lock_release(&all->lock);
}

/* The same for what is reprieved, which needs no trace but for what the marker has left of it. */
GC__FN void gc__finalizers_marked(gc__worker *worker) {
    gc__finalizers *all = worker->heap->finalizers;
    gc_pause *pause = &worker->heap->pause;
    if (!gc__is_mark_end(worker->heap)) return;
    size_t before = gc__due_total(all);
    gc__finalizer_marks_count(worker);
    gc__finalizers_decide(all, GC__DECIDE_AT_ONCE, true);
    size_t due = gc__due_total(all) - before;
    all->announce |= due != 0;
    pause->finalizers += due;
    pause->finalizers_left = all->finalizer_grey.count;
}

/* After the trace: queues all objects that were not reached, and only then traces from them, so that none counts as reached
   because another one refers to it. */
GC__HOT void gc__finalizers_queue_dead(gc__worker *worker, int generation) {
    gc__finalizers *all = worker->heap->finalizers;
    size_t from[2];
    gc__lock_take(&all->lock);
    for (int i = 0; i < 2; i++) {
        gc__due_compact(all, (uintptr_t)i);
        from[i] = all->due[i].pairs.count;
    }
    if (gc__is_mark_end(worker->heap)) {
        gc__finalizers_follow_old(all, worker->heap->marker->no_finalizer_marks && all->kept.count + all->finalizer_grey.count);
        generation = 1;
    }
    gc__finalizers_take(all, generation);
    for (size_t i = 0; i < all->moving.count; i += 2) gc__finalizer_follow(all, &all->moving.words[i]);
    for (int g = GC_GENERATIONS; g-- > 0;) {
        if (g <= generation) all->start[g] = all->registered.count;
        gc__finalizers_put(all, g); /* into this part, or into a younger one whose start is known already */
    }
    for (int i = 0; i < 2; i++)
        for (size_t at = from[i]; at < all->due[i].pairs.count; at += 2) {
            all->announce = true;
            worker->heap->pause.finalizers++;
            gc__enqueue(worker, &all->due[i].pairs.words[at], false);
        }
    gc__finalizers_marked(worker);
    gc__lock_release(&all->lock);
}

/* Reports, once each, the finalizers that have run for longer than the host's patience. */
GC__HOT void gc__finalizers_watch(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    uint64_t now = gc__os_now_ns();
    char message[256];
    bool late = false;
    gc__lock_take(&all->lock);
    for (gc__finalizing *record = all->running; record && !late; record = record->next) {
        uint64_t ms = gc__ns_since(now, record->started_ns) / GC__NS_PER_MS;
        if (record->reported || ms < heap->options.patience_ms) continue;
        late = record->reported = true;
        snprintf(message, sizeof message,
                 "the finalizer of a `%s` has been running for %llu ms, on the thread `%s`, and all others wait for it",
                 record->type, (unsigned long long)ms, gc__thread_name(record->thread));
    }
    gc__lock_release(&all->lock);
    if (late) gc__warn(&heap->options, message);
}

/* If finalizers were queued, wakes the finalizer thread and waiting threads, and calls the host. The world is stopped. */
GC__FN void gc__finalizers_announce(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (all->running) gc__finalizers_watch(heap);
    if (!all->announce) return;
    all->announce = false;
    gc__lock_take(&all->lock);
    if (all->deciding) gc__due_note_young(all); /* what comes behind them is old */
    gc__lock_release(&all->lock);
    gc__finalizers_notify(all);
    if (heap->options.finalizers_ready) heap->options.finalizers_ready(heap->options.host);
}
