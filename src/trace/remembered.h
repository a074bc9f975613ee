/* Remembered slots: in a heap with a goal for pauses, slots of old objects to which young references are stored one
   at a time. For a dirty card a collection reads all of the card; for a remembered slot, one word.

   Remembering costs a call for each store into an old object, so it is done only while it pays. Then each region of
   generation 2 has GC__AGE_REMEMBERS in its age, and the barrier calls gc__store_logged for each store there.

   Invariant, outside a collection: a slot whose age + its referent's youth exceeds 2 lies in a dirty card, or is in
   the list even if its card is clean. The list may contain a slot twice, a slot that holds something else by now, or
   0.

   A thread reserves one *chunk* of entries at a time, so that filling one takes no atomic operation, which would
   wait until all stores before it have got their memory. */
#pragma once

#include "../space/heap.h"

#define GC__REMEMBERED_MOST ((size_t)1 << 16)
#define GC__REMEMBERED_CHUNK ((size_t)64) /* slots */

typedef struct gc__remembered {
    uintptr_t *slots; /* NULL until they are first remembered */
    size_t count;     /* entries that were reserved, some of which may be 0; atomic */
    /* A number that no list has had before. It changes when chunks do not belong to their threads any more. It also
       covers the chunks of the marker's log. */
    uint64_t epoch;
    bool notes;       /* stores to old objects are logged; under the arena's lock */
    size_t enough;    /* entries from which a collection is due, since more slots would take longer than its goal */
    size_t most;      /* the most that were ever in the list: they take memory */
    size_t found;     /* slots that the last collection has scanned */
    unsigned few;     /* consecutive collections that found few slots and few dirty cards */
    bool again;       /* cards were dirtied for slots of objects with trace functions; atomic */
} gc__remembered;

/* Functions with this attribute run in the middle of a barrier, on the mutator's registers: no vector register may
   be touched, and nothing may be called that might do so, such as code that sanitizers insert. */
#define GC__IN_BARRIER __attribute__((GC__KEEPS_VECTORS, no_instrument_function, no_sanitize("address", "thread", "undefined")))

static uint64_t gc__remembered_epochs; /* the last epoch given out; atomic */

/* The state for the short path of GC__LOG_STORE_CALL: while one heap of the process has its stores logged, a thread
   that has chunks of this epoch need not find the heap of a slot. */
typedef struct gc__store_logging {
    uint64_t epoch;   /* of that heap; 0: there is no short path; atomic */
    uintptr_t offset;  /* of a thread's gc__own_chunks from its thread pointer */
    uint8_t marks;     /* the heap is being marked; 2: and words may be tagged */
    uint8_t remembers; /* the heap's slots are remembered */
    unsigned heaps;    /* heaps whose stores are logged; under the arena's lock */
} gc__store_logging;

GC__VAR gc__store_logging gc__the_store_logging;

/* Begins an epoch: from now on threads reserve new chunks. The world is stopped. */
GC__FN void gc__remembered_renew(gc__remembered *remembered) {
    /* Until the collection ends, there is no short path. */
    if (remembered->notes) __atomic_store_n(&gc__the_store_logging.epoch, 0, __ATOMIC_RELAXED);
    remembered->epoch = __atomic_add_fetch(&gc__remembered_epochs, 1, __ATOMIC_RELAXED);
}

/* Reserves a chunk, all entries of which are 0. Returns NULL if there is no room. May be called by any thread. */
GC__IN_BARRIER GC__FN uintptr_t *gc__remembered_take(gc__remembered *remembered) {
    if (__atomic_load_n(&remembered->count, __ATOMIC_RELAXED) >= GC__REMEMBERED_MOST) return NULL;
    size_t place = __atomic_fetch_add(&remembered->count, GC__REMEMBERED_CHUNK, __ATOMIC_RELAXED);
    if (place >= GC__REMEMBERED_MOST) return NULL;
    for (size_t i = 0; i < GC__REMEMBERED_CHUNK; i++)
        __atomic_store_n(&remembered->slots[place + i], (uintptr_t)0, __ATOMIC_RELAXED);
    return &remembered->slots[place];
}

#if defined(__PIC__) && !defined(__PIE__)
#define GC__CHUNKS_OWN 0 /* a function would be called to find the thread's variables */
#else
#define GC__CHUNKS_OWN 1

/* A thread's own chunks: of the list of slots, and of the marker's log. GC__LOG_STORE_CALL knows this layout. */
typedef struct gc__own_chunks {
    uint64_t epoch;              /* the epoch of the heap's list */
    uintptr_t *slot, *slot_end;   /* the rest of a chunk of the list; both NULL: none */
    /* The rest of a chunk of the log, and the end of the part in which there is room for two more words; NULL there:
       words are checked first. */
    uintptr_t *word, *word_short;
    uintptr_t *word_end;
} gc__own_chunks;

/* The epochs are those of no heap at first, nor is 0, which gc__store_logging may have. The former chunks are those
   that a thread with several heaps had before: otherwise it would reserve new chunks at each store. */
static __thread gc__own_chunks gc__my_chunks = {~(uint64_t)0, NULL, NULL, NULL, NULL, NULL};
static __thread gc__own_chunks gc__my_former_chunks = {~(uint64_t)0, NULL, NULL, NULL, NULL, NULL};

GC__IN_BARRIER GC__FN void gc__chunk_swap(uintptr_t **one, uintptr_t **other) {
    uintptr_t *place = *one;
    *one = *other;
    *other = place;
}

GC__IN_BARRIER GC__OUT_OF_LINE void gc__chunks_change(uint64_t period) {
    gc__own_chunks *mine = &gc__my_chunks, *former = &gc__my_former_chunks;
    bool known = former->epoch == period;
    former->epoch = mine->epoch;
    mine->epoch = period;
    gc__chunk_swap(&mine->slot, &former->slot);
    gc__chunk_swap(&mine->slot_end, &former->slot_end);
    gc__chunk_swap(&mine->word, &former->word);
    gc__chunk_swap(&mine->word_short, &former->word_short);
    gc__chunk_swap(&mine->word_end, &former->word_end);
    if (known) return;
    mine->slot = mine->slot_end = NULL;
    mine->word = mine->word_short = mine->word_end = NULL;
}

/* Returns the thread's chunks of the heap's lists. */
GC__IN_BARRIER GC__FN gc__own_chunks *gc__chunks_of(const gc__remembered *remembered) {
    if (gc__my_chunks.epoch != remembered->epoch) gc__chunks_change(remembered->epoch);
    return &gc__my_chunks;
}
#endif

/* Remembers the slot. Returns false if there is no room. Any thread may call it, and is not stopped in the middle of
   it. */
GC__IN_BARRIER GC__FN bool gc__remember_slot(uintptr_t slot) {
    const gc_heap *heap = gc__the_arena.regions[(slot - gc__the_arena.base) >> GC_REGION_SHIFT].heap;
    gc__remembered *remembered = heap->remembered;
#if GC__CHUNKS_OWN
    gc__own_chunks *mine = gc__chunks_of(remembered);
    if (mine->slot == mine->slot_end) {
        uintptr_t *piece = gc__remembered_take(remembered);
        if (!piece) return false;
        mine->slot = piece;
        mine->slot_end = piece + GC__REMEMBERED_CHUNK;
    }
    __atomic_store_n(mine->slot++, slot, __ATOMIC_RELAXED);
#else
    if (__atomic_load_n(&remembered->count, __ATOMIC_RELAXED) >= GC__REMEMBERED_MOST) return false;
    size_t place = __atomic_fetch_add(&remembered->count, 1, __ATOMIC_RELAXED);
    if (place >= GC__REMEMBERED_MOST) return false;
    __atomic_store_n(&remembered->slots[place], slot, __ATOMIC_RELAXED);
#endif
    return true;
}

/* Publishes how the next stores are logged, at the end of a collection or of the heap. The world is stopped. */
GC__FN void gc__store_logging_publish(gc_heap *heap, bool notes) {
    gc__store_logging *logging = &gc__the_store_logging;
    if (!GC__HAS_MARKER) return;
    gc__lock_take(&gc__the_arena.lock);
    logging->heaps += (unsigned)notes - (unsigned)heap->remembered->notes;
    heap->remembered->notes = notes;
    if (logging->heaps != 1) __atomic_store_n(&logging->epoch, 0, __ATOMIC_RELAXED);
#if GC__CHUNKS_OWN
    if (logging->heaps == 1 && notes) {
        logging->marks = gc__heap_is_marking(heap) ? (uint8_t)(GC_HAS_VALUES ? 2 : 1) : 0;
        logging->remembers = heap->remembers_slots;
        logging->offset = (uintptr_t)&gc__my_chunks - GC__THREAD_POINTER();
        __atomic_store_n(&logging->epoch, heap->remembered->epoch, __ATOMIC_RELAXED);
    }
#endif
    gc__lock_release(&gc__the_arena.lock);
}

/* Returns the number of reserved entries. The world is stopped. */
GC__FN size_t gc__remembered_count(const gc_heap *heap) {
    return GC__HAS_MARKER ? gc__min(heap->remembered->count, GC__REMEMBERED_MOST) : 0;
}

/* Returns whether so many slots are remembered that a collection is due. */
GC__FN bool gc__remembered_enough(const gc_heap *heap) {
    return GC__HAS_MARKER && __atomic_load_n(&heap->remembered->count, __ATOMIC_RELAXED) > heap->remembered->enough;
}

/* Returns how many of the reserved entries are slots. */
GC__HOT size_t gc__remembered_slots(const gc_heap *heap) {
    size_t places = gc__remembered_count(heap), count = 0;
    for (size_t i = 0; i < places; i++) count += heap->remembered->slots[i] != 0;
    return count;
}

/* Empties the list, after the collection that runs has traced from all slots, or from the objects that they are in. */
GC__FN void gc__remembered_forget(gc_heap *heap) {
    if (!GC__HAS_MARKER || !heap->remembered->slots) return;
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

/* Sorts the slots, for gc__is_remembered. */
GC__FN void gc__remembered_sort(gc_heap *heap) {
    uintptr_t *slots = heap->remembered->slots;
    size_t count = gc__remembered_count(heap), gap = 1;
    if (count) gc__remembered_renew(heap->remembered); /* the unused rests of chunks are moved as well */
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (size_t i = gap; i < count; i++) {
            uintptr_t slot = slots[i];
            size_t at = i;
            for (; at >= gap && slots[at - gap] > slot; at -= gap) slots[at] = slots[at - gap];
            slots[at] = slot;
        }
}

/* Returns whether the slot is in the list, which is sorted. */
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
