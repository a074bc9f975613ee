/* The store buffer: in a heap that is being marked concurrently, or that remembers slots instead of cards, each store
   into generation 2 as what was stored, which the marker takes. Where a young reference was stored the entry is the slot
   instead, and young collections trace from there; for a dirty card a collection reads all of the card, for such a slot
   one word.

   Logging costs a call for each store into an old object, so slots are remembered only while it pays. Then, or while
   the heap is being marked, each region of generation 2 has GC__AGE_REMEMBERS or GC__AGE_MARKING in its age, and the
   barrier calls gc__store_logged for each store there.

   Invariant, outside a collection: a slot whose age + its referent's youth exceeds 2 lies in a dirty card, or is in
   an entry with a tag, even if its card is clean. The buffer may contain a slot twice, or a slot that holds something
   else by now.

   A thread reserves one *chunk* of entries at a time, so that filling one takes no atomic operation, which would
   wait until all stores before it have got their memory. A chunk is *whole* once its thread has reserved the next one:
   then all of its stores have been made, too, and the marker may read slots. The other chunks are *open*. */
#pragma once

#include "../space/heap.h"

#define GC__STORES_CHUNK ((size_t)128)     /* entries, the first two of which are the chunk's header; a power of two */
#define GC__STORES_CHUNK_BYTES (GC__STORES_CHUNK * sizeof(gc__store))
#define GC__STORES_MOST ((size_t)1 << 17)  /* entries between two collections of a heap that is being marked, */
#define GC__STORES_SLOTS ((size_t)1 << 16) /* and of one whose slots are remembered */
#define GC__STORES_FULL (GC__STORES_MOST / 4) /* of the first, from which on it is collected to empty the buffer */
#define GC__STORES_BYTES (GC__STORES_MOST * sizeof(gc__store))

/* An entry; 0: it has not been written. With a tag in its low bits it is a slot, and the tag tells why a young collection
   needs it: the youth of the reference that was stored, or that this refers to a candidate region. The header's words
   have no tags. */
typedef uintptr_t gc__store;
enum { GC__CHUNK_NEXT, GC__CHUNK_EPOCH, GC__CHUNK_FIRST }; /* a whole chunk's next; an untaken one's epoch; the first entry */
#define GC__STORE_TAG ((uintptr_t)3)
#define GC__STORE_CANDIDATE ((uintptr_t)3)
#define GC__STORE_WORD ((uintptr_t)4) /* without a tag: the rest is not a slot, but what was stored */
#define GC__STORE_OWNED ((uintptr_t)1)   /* in the slot with which gc_store_in calls the barrier: it is the owner */

typedef struct gc__store_buffer {
    gc__store *entries; /* NULL until stores are first logged */
    size_t count;       /* entries that were reserved, headers included; atomic */
    size_t limit;       /* entries that may be reserved */
    gc__store *whole;   /* the list of whole chunks that the marker has not taken; atomic */
    size_t whole_count; /* chunks that became whole; atomic */
    size_t slots;       /* entries with tags in whole chunks; atomic */
    /* A multiple of 8 that no buffer has had before. It changes when chunks do not belong to their threads any more. */
    uintptr_t epoch;
    bool notes;       /* stores to old objects are logged; under the arena's lock */
    size_t enough;    /* slots from which a collection is due, since more slots would take longer than its goal */
    size_t most;      /* the most entries that were ever used: they take memory */
    size_t found;     /* slots that the last collection has scanned */
    unsigned few;     /* consecutive collections that found few slots and few dirty cards */
    bool again;       /* cards were dirtied for slots of objects with trace functions; atomic */
} gc__store_buffer;

/* Functions with this attribute run in the middle of a barrier, on the mutator's registers: no vector register may
   be touched, and nothing may be called that might do so, such as code that sanitizers insert. */
#define GC__IN_BARRIER __attribute__((GC__KEEPS_VECTORS, no_instrument_function, no_sanitize("address", "thread", "undefined")))

static uintptr_t gc__stores_epochs; /* the last epoch given out; atomic */

/* The state for the short path of GC__LOG_STORE_CALL: while one heap of the process has its stores logged, a thread
   that has a chunk of this epoch need not find the heap of a slot. */
typedef struct gc__store_logging {
    uintptr_t epoch;  /* of that heap; 0: there is no short path; atomic */
    uintptr_t offset; /* of a thread's gc__my_chunk from its thread pointer */
    uint8_t least;    /* the youth of references whose stores are logged: 0 if the heap is being marked, otherwise 1 */
    unsigned heaps;   /* heaps whose stores are logged; under the arena's lock */
} gc__store_logging;

GC__VAR gc__store_logging gc__the_store_logging;

/* Begins an epoch: from now on threads reserve new chunks. The world is stopped. */
GC__FN void gc__stores_renew(gc__store_buffer *stores) {
    /* Until the collection ends, there is no short path. */
    if (stores->notes) __atomic_store_n(&gc__the_store_logging.epoch, (uintptr_t)0, __ATOMIC_RELAXED);
    stores->epoch = __atomic_add_fetch(&gc__stores_epochs, 8, __ATOMIC_RELAXED);
    stores->count = (stores->count + GC__STORES_CHUNK - 1) & ~(GC__STORES_CHUNK - 1);
    stores->whole = NULL;
    stores->whole_count = 0;
}

/* Makes sure that the buffer has memory. */
GC__FN bool gc__stores_open(gc__store_buffer *stores) {
    if (stores->entries) return true;
    stores->entries = (gc__store *)gc__os_map(GC__STORES_BYTES);
    gc__stores_renew(stores);
    return stores->entries != NULL;
}

/* Adds a whole chunk to the list. May be called by any thread. */
GC__IN_BARRIER GC__FN void gc__stores_hand_over(gc__store_buffer *stores, gc__store *chunk) {
    size_t slots = 0;
    for (size_t i = GC__CHUNK_FIRST; i < GC__STORES_CHUNK; i++) slots += (chunk[i] & GC__STORE_TAG) != 0;
    if (slots) __atomic_fetch_add(&stores->slots, slots, __ATOMIC_RELAXED);
    gc__store *next = __atomic_load_n(&stores->whole, __ATOMIC_RELAXED);
    do
        chunk[GC__CHUNK_NEXT] = (uintptr_t)next;
    while (!__atomic_compare_exchange_n(&stores->whole, &next, chunk, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    __atomic_fetch_add(&stores->whole_count, 1, __ATOMIC_RELAXED);
}

#if defined(__PIC__) && !defined(__PIE__)
#define GC__CHUNKS_OWN 0 /* a function would be called to find the thread's variables */

/* Appends an entry. Returns false if there is no room. A chunk is whole when all of its entries are written, which says
   nothing of their stores. */
GC__IN_BARRIER GC__FN bool gc__stores_append(gc__store_buffer *stores, gc__store store, bool checked) {
    size_t place;
    (void)checked;
    do {
        if (__atomic_load_n(&stores->count, __ATOMIC_RELAXED) >= stores->limit) return false;
        place = __atomic_fetch_add(&stores->count, 1, __ATOMIC_RELAXED);
    } while (place % GC__STORES_CHUNK < GC__CHUNK_FIRST);
    if (place >= stores->limit) return false;
    gc__store *entry = &stores->entries[place], *chunk = entry - place % GC__STORES_CHUNK;
    __atomic_store_n(entry, store, __ATOMIC_RELEASE);
    __atomic_store_n(&chunk[GC__CHUNK_EPOCH], stores->epoch, __ATOMIC_RELEASE);
    /* until then the header's first word counts, without tags */
    uintptr_t written = __atomic_add_fetch(&chunk[GC__CHUNK_NEXT], 8, __ATOMIC_ACQ_REL);
    if (written == (GC__STORES_CHUNK - GC__CHUNK_FIRST) * 8) gc__stores_hand_over(stores, chunk);
    return true;
}
#else
#define GC__CHUNKS_OWN 1

/* A thread's own chunk: its next entry, or a multiple of the chunk's size if there is none. GC__LOG_STORE_CALL knows
   this layout, and appends to `next` whatever is stored. */
typedef struct gc__own_chunk {
    uintptr_t epoch; /* the epoch of the heap's buffer */
    uintptr_t next;
    uintptr_t checked; /* instead of `next`, if stores are checked before they are logged */
    gc__store *chunk;  /* the one that belongs to the thread; NULL: none */
} gc__own_chunk;

/* The epochs are those of no heap at first, nor is 0, which gc__store_logging may have. The former chunk is the one
   that a thread with several heaps had before: otherwise it would reserve new chunks at each store. */
static __thread gc__own_chunk gc__my_chunk = {UINTPTR_MAX, 0, 0, NULL};
static __thread gc__own_chunk gc__my_former_chunk = {UINTPTR_MAX, 0, 0, NULL};

GC__IN_BARRIER GC__OUT_OF_LINE void gc__chunk_change(uintptr_t epoch) {
    gc__own_chunk former = gc__my_former_chunk;
    gc__my_former_chunk = gc__my_chunk;
    if (former.epoch != epoch) { /* field by field: for a whole record compilers call memset, which uses vectors */
        former.epoch = epoch;
        former.next = former.checked = 0;
        former.chunk = NULL;
    }
    gc__my_chunk = former;
}

/* Reserves a chunk for the thread, all entries of which are empty, and hands its last one over. Returns false if there
   is no room. */
GC__IN_BARRIER GC__OUT_OF_LINE bool gc__chunk_take(gc__store_buffer *stores, bool checked) {
    gc__own_chunk *mine = &gc__my_chunk;
    if (mine->chunk) gc__stores_hand_over(stores, mine->chunk);
    mine->chunk = NULL;
    if (__atomic_load_n(&stores->count, __ATOMIC_RELAXED) >= stores->limit) return false;
    size_t place = __atomic_fetch_add(&stores->count, GC__STORES_CHUNK, __ATOMIC_RELAXED);
    if (place >= stores->limit) return false;
    gc__store *chunk = mine->chunk = &stores->entries[place];
    for (size_t i = 0; i < GC__STORES_CHUNK; i++) __atomic_store_n(&chunk[i], (gc__store)0, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk[GC__CHUNK_EPOCH], stores->epoch, __ATOMIC_RELEASE);
    *(checked ? &mine->checked : &mine->next) = (uintptr_t)(chunk + GC__CHUNK_FIRST);
    return true;
}

/* Appends an entry. Returns false if there is no room. */
GC__IN_BARRIER GC__FN bool gc__stores_append(gc__store_buffer *stores, gc__store store, bool checked) {
    gc__own_chunk *mine = &gc__my_chunk;
    if (mine->epoch != stores->epoch) gc__chunk_change(stores->epoch);
    bool none = !((mine->next | mine->checked) & (GC__STORES_CHUNK_BYTES - 1));
    if (none && !gc__chunk_take(stores, checked)) return false;
    uintptr_t *next = mine->next & (GC__STORES_CHUNK_BYTES - 1) ? &mine->next : &mine->checked;
    __atomic_store_n((gc__store *)*next, store, __ATOMIC_RELEASE); /* the marker may look at open chunks */
    *next += sizeof(gc__store);
    return true;
}
#endif

/* Publishes how the next stores are logged, at the end of a collection or of the heap. The world is stopped. */
GC__FN void gc__store_logging_publish(gc_heap *heap, bool notes) {
    gc__store_logging *logging = &gc__the_store_logging;
    if (!GC__HAS_MARKER) return;
    gc__lock_take(&gc__the_arena.lock);
    logging->heaps += (unsigned)notes - (unsigned)heap->stores->notes;
    heap->stores->notes = notes;
    heap->stores->limit = gc__heap_is_marking(heap) ? GC__STORES_MOST : GC__STORES_SLOTS;
    if (logging->heaps != 1) __atomic_store_n(&logging->epoch, (uintptr_t)0, __ATOMIC_RELAXED);
#if GC__CHUNKS_OWN
    if (logging->heaps == 1 && notes) {
        logging->least = !gc__heap_is_marking(heap);
        logging->offset = (uintptr_t)&gc__my_chunk - GC__THREAD_POINTER();
        __atomic_store_n(&logging->epoch, heap->stores->epoch, __ATOMIC_RELAXED);
    }
#endif
    gc__lock_release(&gc__the_arena.lock);
}

/* Returns the number of reserved entries. The world is stopped. */
GC__FN size_t gc__stores_count(const gc__store_buffer *stores) {
    return GC__HAS_MARKER ? gc__min(stores->count, stores->limit) : 0;
}

/* Returns whether so many slots are remembered that a collection is due. */
GC__FN bool gc__stores_enough(const gc_heap *heap) {
    const gc__store_buffer *stores = heap->stores;
    size_t whole = __atomic_load_n(&stores->whole_count, __ATOMIC_RELAXED) * GC__STORES_CHUNK;
    bool full = heap->marking && whole >= GC__STORES_FULL && !heap->is_paused;
    return GC__HAS_MARKER && (full || __atomic_load_n(&stores->slots, __ATOMIC_RELAXED) > stores->enough);
}

/* Returns how many entries are slots that young collections need. */
GC__HOT size_t gc__stores_slots(const gc_heap *heap) {
    size_t places = gc__stores_count(heap->stores), count = 0;
    for (size_t i = 0; i < places; i++) count += (heap->stores->entries[i] & GC__STORE_TAG) != 0;
    return count;
}

/* Empties the buffer, after the collection that runs has traced from all slots, or from the objects that they are in,
   and the marker has taken all that it needs. */
GC__FN void gc__stores_forget(gc_heap *heap) {
    gc__store_buffer *stores = heap->stores;
    if (!GC__HAS_MARKER || !stores->entries) return;
    size_t count = gc__stores_count(stores);
    stores->found = gc__stores_slots(heap);
    stores->most = gc__max(stores->most, count);
    if (!GC__CHUNKS_OWN) memset(stores->entries, 0, count * sizeof *stores->entries);
    stores->count = stores->slots = 0;
    gc__stores_renew(stores);
    heap->pause.remembered_slots = stores->found;
    heap->stats.remembered_slots += stores->found;
}
