/* Remembered slots: in a heap that keeps to a goal for pauses, the slots of old objects to which young references are stored
   one at a time. A dirty card has its collection read all of the card; a remembered slot, one word.

   It costs a call for each store into an old object, so it is done only while it pays. Then each region of generation 2 has
   GC__AGE_REMEMBERS in its age, and the barrier calls gc__store_noted for each store there.

   Invariant, outside a collection: a slot whose age + its referent's youth exceeds 2 lies in a dirty card, or is in the list,
   even if its card is clean. The list may have a slot twice, or one that holds something else by now, or 0.

   A thread takes places one *piece* at a time, so that to fill one takes no atomic operation: that would wait until all stores
   before it have found their memory. */
#pragma once

#include "../heap/heap.h"

#define GC__REMEMBERED_MOST ((size_t)1 << 16)
#define GC__REMEMBERED_PIECE ((size_t)32) /* slots */

typedef struct gc__remembered {
    uintptr_t *slots; /* NULL until they are first remembered */
    size_t count;     /* of places that were taken, some of which may be 0; atomic */
    uint64_t period;  /* a number that no list has had before; another one when pieces are not their threads' any more */
    size_t most;      /* the most that were ever in the list: they take memory */
    size_t found;     /* that the last collection has scanned */
    unsigned few;     /* collections in a row that found few, and few cards */
    bool again;       /* cards were dirtied for slots of objects with trace functions; atomic */
} gc__remembered;

/* These run in the middle of a barrier, on the mutator's registers: no vector may be touched, and nothing called that
   might do so, such as what sanitizers put in. */
#define GC__IN_BARRIER __attribute__((GC__KEEPS_VECTORS, no_instrument_function, no_sanitize("address", "thread", "undefined")))

static uint64_t gc__remembered_periods; /* the last of them; atomic */

/* From now on threads take new pieces. The world is stopped. */
GC__FN void gc__remembered_renew(gc__remembered *remembered) {
    remembered->period = __atomic_add_fetch(&gc__remembered_periods, 1, __ATOMIC_RELAXED);
}

/* Takes a piece, whose other places are 0. NULL: there is no room. Any thread. */
GC__IN_BARRIER GC__FN uintptr_t *gc__remembered_take(gc__remembered *remembered) {
    if (__atomic_load_n(&remembered->count, __ATOMIC_RELAXED) >= GC__REMEMBERED_MOST) return NULL;
    size_t place = __atomic_fetch_add(&remembered->count, GC__REMEMBERED_PIECE, __ATOMIC_RELAXED);
    if (place >= GC__REMEMBERED_MOST) return NULL;
    for (size_t i = 0; i < GC__REMEMBERED_PIECE; i++)
        __atomic_store_n(&remembered->slots[place + i], (uintptr_t)0, __ATOMIC_RELAXED);
    return &remembered->slots[place];
}

#if defined(__PIC__) && !defined(__PIE__)
#define GC__REMEMBERED_OWN 0 /* a function would be called to find what a thread has */
#else
#define GC__REMEMBERED_OWN 1
static __thread uint64_t gc__my_remembered_period; /* whose piece the thread has */
static __thread uintptr_t *gc__my_remembered, *gc__my_remembered_end;
#endif

/* False: there is no room. Any thread; none is stopped meanwhile. */
GC__IN_BARRIER GC__FN bool gc__remember_slot(uintptr_t slot) {
    const gc_heap *heap = gc__the_arena.regions[(slot - gc__the_arena.base) >> GC_REGION_SHIFT].heap;
    gc__remembered *remembered = heap->remembered;
#if GC__REMEMBERED_OWN
    if (gc__my_remembered_period != remembered->period || gc__my_remembered == gc__my_remembered_end) {
        uintptr_t *piece = gc__remembered_take(remembered);
        if (!piece) return false;
        gc__my_remembered = piece;
        gc__my_remembered_end = piece + GC__REMEMBERED_PIECE;
        gc__my_remembered_period = remembered->period;
    }
    __atomic_store_n(gc__my_remembered++, slot, __ATOMIC_RELAXED);
#else
    if (__atomic_load_n(&remembered->count, __ATOMIC_RELAXED) >= GC__REMEMBERED_MOST) return false;
    size_t place = __atomic_fetch_add(&remembered->count, 1, __ATOMIC_RELAXED);
    if (place >= GC__REMEMBERED_MOST) return false;
    __atomic_store_n(&remembered->slots[place], slot, __ATOMIC_RELAXED);
#endif
    return true;
}

/* The world is stopped. */
GC__FN size_t gc__remembered_count(const gc_heap *heap) { return gc__min(heap->remembered->count, GC__REMEMBERED_MOST); }

/* How many of those are slots. */
GC__FN size_t gc__remembered_slots(const gc_heap *heap) {
    size_t places = gc__remembered_count(heap), count = 0;
    for (size_t i = 0; i < places; i++) count += heap->remembered->slots[i] != 0;
    return count;
}

/* The collection that runs has traced from all of them, or from the objects that they are in. */
GC__FN void gc__remembered_forget(gc_heap *heap) {
    if (!heap->remembered->slots) return;
    heap->remembered->found = gc__remembered_slots(heap);
    heap->remembered->most = gc__max(heap->remembered->most, gc__remembered_count(heap));
    heap->remembered->count = 0;
    gc__remembered_renew(heap->remembered);
    heap->pause.remembered_slots = heap->remembered->found;
    heap->stats.remembered_slots += heap->remembered->found;
}

GC__FN size_t gc__remembered_bytes(const gc__remembered *remembered) {
    return remembered->most * sizeof *remembered->slots;
}

/* Puts the slots in order, for gc__is_remembered. */
GC__FN void gc__remembered_sort(gc_heap *heap) {
    uintptr_t *slots = heap->remembered->slots;
    size_t count = gc__remembered_count(heap), gap = 1;
    if (count) gc__remembered_renew(heap->remembered); /* what is left of pieces is moved as well */
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (size_t i = gap; i < count; i++) {
            uintptr_t slot = slots[i];
            size_t at = i;
            for (; at >= gap && slots[at - gap] > slot; at -= gap) slots[at] = slots[at - gap];
            slots[at] = slot;
        }
}

/* Whether the slot is in the list, which is in order. */
GC__FN bool gc__is_remembered(const gc_heap *heap, uintptr_t slot) {
    const uintptr_t *slots = heap->remembered->slots;
    size_t from = 0, end = gc__remembered_count(heap);
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (slots[middle] == slot) return true;
        if (slots[middle] < slot)
            from = middle + 1;
        else
            end = middle;
    }
    return false;
}
