/* What the marking of generation 2 beside mutators keeps, and how an object becomes known to it.

   An object is *white* until its bit in gc__next_marks is set, then *grey* until its slots were read. Grey objects are in
   one of four places: `grey`, the marker's stack; `log`, which barriers have found, and `seen`, which a collection has met or
   taken from there, where they may still be white; `waiting`, whose trace functions must not run beside mutators. An object for
   which there was no room is in none of them: its region is *unscanned*, and all marked objects there are scanned again; or,
   if the object should wait, the region is *unasked*, and they are scanned by the last collection. Where a collection has kept
   all objects as they were, the region is *unread*, and they are grey.

   Invariants while heap->marking: each region of generation 2 has GC__AGE_MARKING in its age, so each store into it comes
   here. What becomes generation 2 in a collection has been scanned by it or is unread, and it is marked. So at any time a
   white object to which a scanned one refers is grey by then, or about to be shaded by the thread that stores the reference.
   References from roots, young objects and waiting ones are looked at when the world is stopped for the last time. */
#pragma once

#include "../space/mark_bits.h"
#include "../space/rank.h"
#include "../space/slots.h"
#include "remembered.h"
#include "worker.h"
#include "workers.h"

#define GC__MARK_BUFFER_WORDS ((size_t)1 << 18) /* objects that barriers may note between two collections */
#define GC__MARK_BUFFER_BLIND_MOST (GC__MARK_BUFFER_WORDS / 4) /* so many of them may be marked already, or be no objects; */
#define GC__MARK_BUFFER_BLIND_LEAST (GC__MARK_BUFFER_WORDS / 16) /* in a heap whose limit is low, that is so many */
#define GC__MARK_BUFFER_CHUNK 64              /* entries of the log, a power of two, which a thread fills in their order */
#define GC__MARK_BUFFER_CHUNKS (GC__MARK_BUFFER_WORDS / GC__MARK_BUFFER_CHUNK)
#define GC__MARK_BUFFER_BYTES ((GC__MARK_BUFFER_WORDS + GC__MARK_BUFFER_CHUNKS) * sizeof(uintptr_t))
#define GC__MARK_BUFFER_OPEN 16               /* pieces that are being filled, and to which the marker comes again */
#define GC__NEXT 8                      /* a power of two */
#define GC__TABLE_SLICE ((size_t)128)    /* bytes of a weak table */
#define GC__TABLE_WORDS ((size_t)1 << 16) /* with more words for pieces, whole tables are left to the last collection */
#define GC__UNSCANNED 1                 /* gc__region.unscanned: marked objects were not noted */
#define GC__UNCOUNTED 2                 /* nor were their bytes, or some have grown since */
#define GC__UNASKED 4                   /* marked objects with trace functions were not noted */
#define GC__UNREAD 8                    /* a collection has kept all objects there, which are marked and counted, as they were */
#define GC__UNSEEN (GC__UNSCANNED | GC__UNASKED | GC__UNREAD)

typedef struct gc__marker {
    gc__lock lock;  /* held by the thread that marks, and throughout collections */
    gc__words grey; /* objects; or the index of an element, and above it the array | GC__CONTINUED; or an object | GC__NUMBER,
                       of which all but what its trace function reports was scanned and counted */
    gc__words seen, waiting;
    char apart[64];  /* what mutators write is not in the same line of memory as what the marker does */
    uintptr_t *log;  /* the complements of words that may be white objects, or nothing; an entry is 0 until it was written */
    size_t logged;   /* entries that threads have taken to fill; atomic */
    size_t blind;    /* from so many entries on, barriers look before they note a word */
    char apart_too[64];
    size_t log_most;              /* the most entries that were ever used: they take memory */
    size_t taken;                 /* entries that the marker has taken, but for the rest of open pieces */
    size_t open[GC__MARK_BUFFER_OPEN];  /* the first entry of each of these that was not taken */
    unsigned open_count, left_count;
    size_t taken_words;                 /* words that were taken from the log since the last collection began */
    size_t *left;                 /* the same of pieces that are left to the next collection; behind the log */
    unsigned turns;               /* of the marker's; atomic */
    size_t marked_bytes, likely_bytes; /* that the marker has found alive in this cycle, atomic; that it is likely to find */
    size_t last_bytes, last_old_bytes; /* the former in the last cycle, and what generation 2 held then; 0: not known */
    size_t most_bytes;                /* what generation 2 may grow to */
    size_t began_growth, began_room;  /* how much it could grow when the cycle began, by that and by the limit */
    bool unscanned;               /* some region is; atomic */
    bool unasked;                 /* some region is */
    struct gc__handle_segment *precleaning; /* of which handles are looked at, from that clump on; NULL: of none */
    size_t preclean_from, preclean_passes; /* how many more such passes there may be */
    size_t stored, stored_before;      /* clumps that this pass, and the last one, has found stored to */
    bool preclean_again;            /* this one has shaded an object, so another one may find more */
    gc__words tables, pieces;     /* objects with weak entries; what is not settled of them: an object, and an address in it */
    size_t table_next, table_from; /* what is looked at next: an index there, and an offset in that object */
    size_t slice_next, slice_kept; /* of those that are looked at again */
    unsigned table_passes;        /* how many more such passes there may be */
    bool table_again;             /* the last one has shaded an object */
    size_t rescans;               /* the number of the region from which such ones are looked for; 0: not yet */
    gc__words slots;              /* of old objects, that refer to leaving regions */
    size_t slots_most;            /* how many are noted at most */
    gc__region *candidates_begin;    /* the first of the leaving regions, which follow one another in their list; NULL: none */
    gc__region *candidates_behind;   /* what they follow; NULL: they were all that there was */
    gc__words finalizer_grey;          /* the same as `grey` of reprieved objects */
    gc__words held;               /* those that the last collection scans */
    bool holds;                   /* the object that is being scanned is one of these */
    bool no_finalizer_marks, finalizer_marks; /* in this cycle nothing is reprieved any more; something is */
    uintptr_t fifo[GC__FIFO];     /* objects between the prefetch of their bits and its use */
    uintptr_t next[GC__NEXT];     /* grey objects between their prefetch and being scanned */
    unsigned fifo_next, next_next; /* count up */
    uint64_t began;               /* number of the collection that began it */
    unsigned switches;            /* how often the barrier had been switched then */
    size_t began_old_bytes;       /* what generation 2 held then */
    size_t grown_bytes;           /* by how much that grew during the last marking, or would have if nobody had waited */
    uint64_t began_ns, waited_ns; /* when it began; how long mutators have waited for it */
    unsigned starved;             /* waits one after the other in which it has done nothing */
    uint64_t late_ns;             /* by how much later than they had asked for they were woken lately */
    size_t provided, provided_end; /* regions below this number have memory for the marker's bits, and those below that should */
    bool done;                    /* nothing is left to scan but what waits for the last stop; atomic */
    gc_reason reason;             /* of that collection */
    bool gives_back;              /* memory is left to give back to the system; atomic */
    void (*rests)(gc_heap *);     /* called by the thread when it has rested for a while, and is done or is to give back */
    bool looks;                   /* it looks from time to time what free regions were taken; atomic */
    bool is_closing;              /* the heap is being destroyed: written under its lock */
    bool refused;                 /* the system gave no memory or no thread: not tried again */
    bool has_thread, is_ending;   /* the second is atomic */
    uint64_t cpu_ns;              /* of the thread; atomic */
    uint32_t awaited;             /* a mutator waits until the marking is done: atomic */
    size_t quantum_bytes;            /* of a nursery, after which a mutator waits for the marker */
    size_t undivided_bytes;       /* what follows after the part that is being spent */
    uint32_t wanted;              /* a collection waits for the lock: atomic */
    uint32_t turn;                /* changes when there may be something to do; atomic */
    gc__os_thread thread;
} gc__marker;

GC__FN uint64_t gc__marker_cpu_ns(const gc_heap *heap) { return __atomic_load_n(&heap->marker->cpu_ns, __ATOMIC_RELAXED); }

/* Objects of the region were marked, and are in no list. */
GC__IN_BARRIER GC__FN void gc__shade_left(gc__region *region, uint8_t flags) {
    __atomic_fetch_or(&region->unscanned, flags, __ATOMIC_RELEASE); /* after their bits */
    __atomic_store_n(&region->heap->marker->unscanned, true, __ATOMIC_RELEASE);
}
GC__IN_BARRIER GC__FN void gc__shade_unscanned(gc__region *region) {
    gc__shade_left(region, GC__UNSCANNED | GC__UNCOUNTED);
}

GC__IN_BARRIER GC__FN bool gc__shade_bit(const uint64_t *marks, uintptr_t word) {
    return __atomic_load_n(&marks[word >> 9], __ATOMIC_RELAXED) >> (word >> 3 & 63) & 1;
}

/* Whether a word that refers to generation 2 is an object. */
GC__IN_BARRIER GC__FN bool gc__shade_is_object(uintptr_t word) {
    const gc__region *region = &gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT];
    if (region->kind != GC__SMALL && (region->kind != GC__LARGE || word != region->base)) return false;
    return gc__shade_bit(gc__the_arena.marks, word);
}

/* There is no room in the log. */
GC__IN_BARRIER GC__OUT_OF_LINE void gc__shade_at_once(uintptr_t word) {
    uint64_t bit = (uint64_t)1 << (word >> 3 & 63);
    if (!gc__shade_is_object(word)) return;
    if (!(__atomic_fetch_or(&gc__next_marks[word >> 9], bit, __ATOMIC_RELAXED) & bit))
        gc__shade_unscanned(&gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT]);
}

/* Appends the word to the log of that heap, of which it has the marker. Any thread. */
GC__IN_BARRIER GC__FN bool gc__mark_buffer_append(gc__marker *marker, const gc__remembered *remembered, uintptr_t word, bool looked) {
#if GC__CHUNKS_OWN
    gc__own_chunks *mine = gc__chunks_of(remembered);
    if (mine->word == mine->word_end) {
        if (__atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= GC__MARK_BUFFER_WORDS) return false;
        size_t place = __atomic_fetch_add(&marker->logged, GC__MARK_BUFFER_CHUNK, __ATOMIC_RELAXED);
        if (place >= GC__MARK_BUFFER_WORDS) return false;
        mine->word = &marker->log[place];
        mine->word_end = mine->word + GC__MARK_BUFFER_CHUNK;
        mine->word_short = looked ? NULL : mine->word_end - 1;
    }
    __atomic_store_n(mine->word++, ~word, __ATOMIC_RELEASE);
#else
    (void)remembered, (void)looked;
    if (__atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= GC__MARK_BUFFER_WORDS) return false;
    size_t place = __atomic_fetch_add(&marker->logged, 1, __ATOMIC_RELAXED);
    if (place >= GC__MARK_BUFFER_WORDS) return false;
    __atomic_store_n(&marker->log[place], ~word, __ATOMIC_RELEASE);
#endif
    return true;
}

/* Makes the object grey if the word refers to a white one. Any thread. To look at the object and its bits is left to who takes
   the word from the log, since it means to wait for memory; but for its bit where many are noted, or nearly all are marked. */
GC__IN_BARRIER GC__FN void gc__shade_word(uintptr_t word) {
    uintptr_t offset = word - gc__the_arena.base;
    if (offset >= gc__the_arena.bytes || word & 7) return;
    if (!(__atomic_load_n(&gc__tables.age[word >> GC_REGION_SHIFT], __ATOMIC_RELAXED) & GC__AGE_MARKING)) return;
    const gc_heap *heap = gc__the_arena.regions[offset >> GC_REGION_SHIFT].heap;
    gc__marker *marker = heap->marker;
    bool looks = __atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= marker->blind ||
                 __atomic_load_n(&marker->done, __ATOMIC_RELAXED);
    if (looks && gc__shade_bit(gc__next_marks, word)) return;
    if (!gc__mark_buffer_append(marker, heap->remembered, word, looks)) gc__shade_at_once(word);
}

/* What is about to be overwritten is shaded, so that nothing can be hidden from the marker while it works; and what is about
   to be stored, so that nothing is hidden from the last stop, however it was found. */
GC__IN_BARRIER GC__FN void gc__shade_store(const void *slot, const void *ref) {
    uintptr_t old = __atomic_load_n((const gc_word *)slot, __ATOMIC_RELAXED);
    gc__shade_word(old);
#if GC_HAS_VALUES
    if (GC_VALUE_IS_REF(old)) gc__shade_word((uintptr_t)GC_VALUE_TO_REF(old));
#endif
    gc__shade_word((uintptr_t)ref);
}

static __attribute__((unused)) uintptr_t gc__stale_stored; /* stress: such a reference, which a store has come with; atomic */

/* The barrier of a slot whose age has GC_AGE_LOGGED. False: `ref` is stale, and reading it faults. */
GC__IN_BARRIER GC__FN bool gc__store_look(const void *slot, const void *ref) {
    uintptr_t place = (uintptr_t)slot;
    const uint8_t *ages = gc__tables.age, *stored = ages + ((uintptr_t)ref >> GC_REGION_SHIFT);
    unsigned age = __atomic_load_n(&ages[place >> GC_REGION_SHIFT], __ATOMIC_RELAXED), youth = *(stored - GC_RANK_ENTRIES);
    if (GC_DIAGNOSTICS && youth == GC__YOUTH_STALE) {
        __atomic_store_n(&gc__stale_stored, (uintptr_t)ref, __ATOMIC_RELAXED);
        return false;
    }
    if (age & GC__AGE_MARKING) gc__shade_store(slot, ref);
    unsigned ranks = (age & GC_AGE_GENERATION) + youth;
    bool candidate = __atomic_load_n(stored, __ATOMIC_RELAXED) & GC__AGE_CANDIDATE; /* the next collection notes the slot */
    if ((ranks <= 2 && !candidate) || (age & GC__AGE_REMEMBERS && gc__remember_slot(place))) return true;
    uint8_t *card = gc__tables.cards + (place >> GC_CARD_BYTE_SHIFT);
    uint8_t mask = (uint8_t)(GC_CARD_BITS ? 1u << ((place >> GC_CARD_SHIFT) & 7) : GC_CARD_DIRTY);
    if ((__atomic_load_n(card, __ATOMIC_RELAXED) & mask) == mask) return true;
    if (GC_CARD_BITS)
        __atomic_fetch_or(card, mask, __ATOMIC_RELAXED);
    else
        __atomic_store_n(card, mask, __ATOMIC_RELAXED);
    if (GC_BUNDLE_SHIFT)
        __atomic_store_n(&gc__tables.bundles[place >> GC_BUNDLE_SHIFT], (uint8_t)GC_CARD_DIRTY, __ATOMIC_RELAXED);
    return true;
}

GC__IN_BARRIER GC__FN void gc__store_logged(const void *slot, const void *ref) {
    if (!gc__store_look(slot, ref)) (void)*(volatile const gc_word *)ref;
}

/* Without either, no region is marked or stale, and no store is logged. */
#if GC__HAS_MARKER || GC_DIAGNOSTICS
GC__LOG_STORE_CALL(gc__store_logged_call, gc__store_look, gc__tables.age, gc__the_store_logging)
#else
#define gc__store_logged_call NULL
#endif

/* Makes room for some more words on one of the marker's lists. False: there is no memory. */
GC__FN bool gc__shade_room(const gc_heap *heap, gc__words *list, size_t words) {
    if (heap->options.test_scarce_memory && list->count + words > GC__SMALL_MARK_STACK) return false;
    return gc__words_reserve(list, list->count + words);
}
GC__FN bool gc__shade_push(const gc_heap *heap, gc__words *list, uintptr_t word) {
    return gc__shade_room(heap, list, 1) && gc__words_push(list, word);
}

/* A collection of a younger generation has met the object in a slot, root or pin. It may be a copy that this collection has made,
   whose bit and bytes come later: so no bit is set here, unless there is no memory for its name, and then nothing is counted. */
GC__OUT_OF_LINE void gc__shade(const gc__worker *worker, uintptr_t object) {
    if (!gc__is_marking(object)) return;
    bool helps = GC__HAS_WORKERS && worker->number;
    gc__words *seen = helps ? &worker->workers->threads[worker->number].seen : &worker->heap->marker->seen;
    if (gc__shade_push(worker->heap, seen, object)) return;
    __atomic_fetch_or(&gc__region_of(object)->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    gc__shade_word(object);
}

/* Several workers have stopped: what each of them has met. */
GC__FN void gc__shade_met(gc__workers *workers, const gc__worker *first) {
    for (unsigned i = 1; i < workers->count; i++) {
        gc__words *seen = &workers->threads[i].seen;
        for (size_t k = 0; k < seen->count; k++) gc__shade(first, seen->words[k]);
        seen->count = 0;
    }
}

GC__FN void gc__shade_unask(gc__region *region) {
    __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNASKED, __ATOMIC_RELAXED);
    region->heap->marker->unasked = true;
}

/* The object, which is marked, is appended to a list, so that its trace function is called again. Without memory, or where others
   of its region are in no list, the last collection calls it. */
GC__FN void gc__shade_ask(gc_heap *heap, gc__words *list, uintptr_t object, uintptr_t tag) {
    gc__region *region = gc__region_of(object);
    bool unasked = __atomic_load_n(&region->unscanned, __ATOMIC_RELAXED) & GC__UNASKED;
    if (unasked || !gc__shade_push(heap, list, object | tag)) gc__shade_unask(region);
}

/* It is left to the last collection. The same object comes for each of its slots, one after another. */
GC__FN void gc__shade_wait(gc_heap *heap, uintptr_t object) {
    gc__words *waiting = &heap->marker->waiting;
    if (!waiting->count || waiting->words[waiting->count - 1] != object) gc__shade_ask(heap, waiting, object, 0);
}

/* Whether the marker may call the object's trace function: the host says so, or the function is gc.h's own. */
GC__FN bool gc__shade_may_trace(const gc_heap *heap, uintptr_t object) {
#if GC_HAS_MODEL
    (void)object;
    return heap->options.concurrent_trace_functions;
#else
    return heap->options.concurrent_trace_functions || gc__trace_is_own(gc__object_type(object)->trace);
#endif
}

/* The same for a piece of a weak table whose entries lie in the object. The same piece comes for each of its entries. */
GC__FN void gc__shade_slice(gc_heap *heap, uintptr_t table, uintptr_t from) {
    gc__words *pieces = &heap->marker->pieces;
    size_t count = pieces->count;
    if (count && pieces->words[count - 2] == table && pieces->words[count - 1] == from) return;
    if (count < GC__TABLE_WORDS && gc__shade_room(heap, pieces, 2)) {
        gc__words_push(pieces, table);
        gc__words_push(pieces, from);
    } else {
        gc__shade_wait(heap, table);
    }
}

/* The objects that start in [from, to) are of generation 2 from now on, and were scanned. The world is stopped. */
GC__FN void gc__shade_born(gc__region *region, uintptr_t from, uintptr_t to, size_t bytes) {
    uintptr_t end = gc__min(to, gc__region_starts_end(region));
    region->next_live_bytes += bytes;
    if (from >= end) return;
    size_t first = gc__mark_index(from), last = gc__mark_index(end - 1);
    for (size_t word = first >> 6; word <= last >> 6; word++) {
        uint64_t bits = gc__the_arena.marks[word];
        if (word == first >> 6) bits &= ~(uint64_t)0 << (first & 63);
        if (word == last >> 6) bits &= ~(uint64_t)0 >> (63 - (last & 63));
        if (bits) __atomic_fetch_or(&gc__next_marks[word], bits, __ATOMIC_RELAXED); /* other workers shade beside it */
    }
}
