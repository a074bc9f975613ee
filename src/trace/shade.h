/* The state of concurrent marking of generation 2, and how an object becomes known to the marker.

   An object is *white* until its bit in the marker's plane is set, then *grey* until its slots have been read. A grey
   object is in one of four places: the marker's mark stack; the store buffer, which barriers fill, and `seen`, which
   collections fill with objects that they meet or move there from the buffer (objects in these two may still be white);
   or `waiting`, for objects whose trace functions must not run concurrently. An object for which there was no room
   is in none of them: its region is *unscanned*, and the marker scans all marked objects of the region again; or, if
   the object should have waited, the region is *unasked*, and the final mark scans them.

   Invariants while heap->marking: each region of generation 2 has GC__AGE_MARKING in its age, so each store into it
   comes here. An object that a collection promotes to generation 2 is marked, and has been scanned by that collection.
   One that is born there is marked and scanned by its thread when that leaves the hole or stops (gc__born_index); until
   then it has no start bit, and the marker passes over it. So at any time a white object to which a scanned one refers is
   grey by then, or about to be shaded by the thread that stores the reference. References from roots, young objects and
   waiting objects are traced in the final pause. */
#pragma once

#include "../base/map.h"
#include "../space/index.h"
#include "../space/rank.h"
#include "../space/slots.h"
#include "store_buffer.h"
#include "worker.h"
#include "workers.h"

/* Barriers log at most this many entries unchecked, which may lead to marked objects only; */
#define GC__BLIND_MOST GC__STORES_FULL
#define GC__BLIND_LEAST (GC__STORES_MOST / 16) /* in a heap with a low limit, this many */
#define GC__TABLE_SLICE ((size_t)128)    /* bytes of a weak table */
/* If the list of slices has more words than this, whole tables are left to the final mark. */
#define GC__TABLE_WORDS ((size_t)1 << 16)
/* gc__region.unscanned, beside GC__UNSCANNED: */
#define GC__UNCOUNTED 2                 /* the bytes of some marked objects were not counted, or some have grown since */
#define GC__UNASKED 4                   /* some marked objects with trace functions are in no list */
#define GC__UNSEEN (GC__UNSCANNED | GC__UNASKED)

/* Weak state of one kind that the marker precleans beside the program, piece by piece: clumps of handles, old pairs of
   objects and finalizers, or slices of weak tables. The lock of that kind guards it. */
typedef struct gc__preclean {
    size_t next;       /* the piece at which precleaning goes on, as the kind numbers its pieces */
    gc__words unclean; /* the pieces that the final mark processes; handles have bits for that */
    size_t kept;       /* words of `unclean` that this pass has looked at, and kept */
    size_t stored;     /* pieces in which this pass has found stores */
    unsigned passes;   /* passes that may still be made */
    bool runs, again;  /* a pass is under way; another one may find more pieces clean */
} gc__preclean;

enum { GC__REMARK_NEEDLESS, GC__REMARK_DUE, GC__REMARK_MADE };

/* Whether there may be marker->pages. While barriers show pages there are no candidates, as stores are not logged. */
#define GC__HAS_PAGES (GC__HAS_MARKER && gc__barrier_may_watch())

typedef struct gc__marker {
    gc__lock lock;  /* held by the thread that marks, and throughout collections */
    gc__worker worker; /* its mark stack has the grey objects */
    gc__words grey;    /* the memory of that stack */
    gc__words asked;   /* objects that were scanned except for what their trace functions report */
    gc__words seen, waiting;
    gc__map waits; /* the objects in `waiting`: each collection that meets one makes it wait again */
    size_t blind;          /* from this many entries on, barriers check a store before they log it */
    gc__store *whole;      /* chunks that the marker has taken from the buffer's list, but not read */
    size_t taken_chunks;   /* whole chunks that the marker has read in this epoch */
    size_t taken_stores;   /* stores that the marker has read since the last collection began */
    uint64_t *marks;       /* the mark plane of the cycle: the objects of generation 2 that it has reached */
    unsigned turns;               /* turns that the marker has had; atomic */
    /* Bytes that the marker has found alive in this cycle (atomic); and that it is likely to find. */
    size_t marked_bytes, likely_bytes;
    size_t met_bytes; /* the value of marked_bytes when a collection has last met what young objects and roots refer to */
    unsigned met_again;           /* collections of this cycle that were made only for that */
    /* The value of marked_bytes in the last cycle, and the bytes of generation 2 when that began; 0: not known. */
    size_t last_bytes, last_old_bytes;
    size_t most_bytes;                /* the size to which generation 2 may grow */
    size_t began_growth, began_room;  /* how much it could grow when the cycle began, by most_bytes and by the limit */
    bool unscanned;               /* some region is unscanned; atomic */
    bool unasked;                 /* some region is unasked */
    gc__words tables; /* objects with weak entries */
    size_t table_next, table_from; /* where the first look at these goes on: an index in `tables`, and an offset there */
    gc__preclean slices; /* of these; each is a pair in `unclean`: an object, and an address in it */
    /* The number of the region at which the search for unscanned ones goes on; 0: no search has begun. */
    size_t rescans;
    gc__words pages; /* addresses in pages whose marked objects are to be scanned there: of stores, and of large objects */
    gc__words slots; /* the remembered set of the candidates: slots of old objects that refer to candidate regions */
    size_t slots_most;            /* the most slots that are recorded */
    /* The first candidate region; the candidates are consecutive in their list; NULL: none. */
    gc__region *candidates_begin;
    /* The region in front of the candidates in the list; NULL: all regions were chosen. */
    gc__region *candidates_behind;
    uint8_t remark;               /* GC__REMARK_*: of this cycle; atomic */
    size_t waiting_next, tables_next; /* in a remark: the objects before these in `waiting` and `tables` were traced */
    uint64_t began;               /* number of the collection that began the cycle */
    unsigned switches;            /* value of gc__barrier_switches at that time */
    size_t began_old_bytes;       /* bytes of generation 2 at that time */
    /* How much generation 2 grew during the last marking, or would have grown if no mutator had waited. */
    size_t grown_bytes;
    uint64_t began_ns, waited_ns; /* when the cycle began; how long mutators have waited for the marker */
    unsigned starved;             /* consecutive waits during which the marker has done nothing */
    uint64_t late_ns;             /* how late the system woke waiting mutators recently, on average */
    bool done;                    /* nothing is left to scan except what waits for the final pause; atomic */
    gc_reason reason;             /* the reason of the collection that began the cycle */
    bool gives_back;              /* some memory has still to be returned to the system; atomic */
    /* Called by the thread when it has been idle for a while, and marking is done or memory has to be returned. */
    void (*rests)(gc_heap *);
    bool is_closing;              /* the heap is being destroyed; written under the heap's lock */
    bool refused;                 /* the system gave no memory or no thread; the heap does not try again */
    bool has_thread, is_ending;   /* the second is atomic */
    uint64_t cpu_ns;              /* CPU time of the thread; atomic */
    uint32_t awaited;             /* a mutator waits until the marking is done; atomic */
    size_t quantum_bytes;            /* bytes of the nursery after which a mutator waits for the marker */
    size_t undivided_bytes;       /* bytes of the nursery that follow the current quantum */
    uint32_t wanted;              /* a collection waits for the lock; atomic */
    uint32_t turn;                /* changes when there may be work; atomic */
    gc__os_thread thread;
} gc__marker;

GC__FN uint64_t gc__marker_cpu_ns(const gc_heap *heap) { return __atomic_load_n(&heap->marker->cpu_ns, __ATOMIC_RELAXED); }

/* Records that marked objects of the region are in no list. */
GC__IN_BARRIER GC__FN void gc__shade_left(gc__region *region, uint8_t flags) {
    __atomic_fetch_or(&region->unscanned, flags, __ATOMIC_RELEASE); /* after their mark bits */
    __atomic_store_n(&region->heap->marker->unscanned, true, __ATOMIC_RELEASE);
}
GC__IN_BARRIER GC__FN void gc__shade_unscanned(gc__region *region) {
    gc__shade_left(region, GC__UNSCANNED | GC__UNCOUNTED);
}

GC__IN_BARRIER GC__FN bool gc__shade_bit(const uint64_t *marks, uintptr_t word) {
    return __atomic_load_n(&marks[word >> 9], __ATOMIC_ACQUIRE) >> (word >> 3 & 63) & 1;
}

/* Returns whether a word that refers to generation 2 is the address of an object. */
GC__IN_BARRIER GC__FN bool gc__shade_is_object(uintptr_t word) {
    const gc__region *region = &gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT];
    if (region->kind != GC__SMALL && (region->kind != GC__LARGE || word != region->base)) return false;
    return gc__shade_bit(gc__the_arena.marks[region->plane], word);
}

/* Returns whether the word may refer to an object that is being marked. */
GC__IN_BARRIER GC__FN bool gc__shade_wants(uintptr_t word) {
    uintptr_t offset = word - gc__the_arena.base;
    if (offset >= gc__the_arena.bytes || word & 7) return false;
    return __atomic_load_n(&gc__tables.age[word >> GC_REGION_SHIFT], __ATOMIC_ACQUIRE) & GC__AGE_MARKING;
}

/* Marks the object, since there is no room in the buffer, and has its region scanned again. */
GC__IN_BARRIER GC__OUT_OF_LINE void gc__shade_at_once(uintptr_t word) {
    uint64_t bit = (uint64_t)1 << (word >> 3 & 63);
    if (!gc__shade_wants(word) || !gc__shade_is_object(word)) return;
    gc__region *region = &gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT];
    if (!(__atomic_fetch_or(&region->heap->marker->marks[word >> 9], bit, __ATOMIC_RELAXED) & bit)) gc__shade_unscanned(region);
}

/* Returns whether barriers check stores before they log them, since the buffer is rather full or nearly all objects are
   marked. */
GC__IN_BARRIER GC__FN bool gc__shade_checks(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    return __atomic_load_n(&heap->stores->count, __ATOMIC_RELAXED) >= marker->blind ||
           __atomic_load_n(&marker->done, __ATOMIC_RELAXED);
}

GC__IN_BARRIER GC__FN bool gc__shade_is_white(uintptr_t word) {
    if (!gc__shade_wants(word)) return false;
    const gc_heap *heap = gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT].heap;
    return !gc__shade_bit(heap->marker->marks, word);
}

/* Makes the object grey if the word refers to a white one. May be called by any thread. The check of the object and
   its mark bit, which would wait for memory, is left to the thread that takes the word from the buffer. */
GC__IN_BARRIER GC__FN void gc__shade_word(uintptr_t word) {
    if (!GC__HAS_MARKER || !gc__shade_wants(word)) return;
    const gc_heap *heap = gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT].heap;
    bool checks = gc__shade_checks(heap);
    if (checks && gc__shade_bit(heap->marker->marks, word)) return;
    if (!gc__stores_append(heap->stores, word | GC__STORE_WORD, checks)) gc__shade_at_once(word);
}

/* Returns the reference in a word from anywhere, if that is a tagged one; 0: it is none. */
GC__IN_BARRIER GC__FN uintptr_t gc__shade_decode(uintptr_t word) {
    return GC_HAS_VALUES && GC_VALUE_IS_REF(word) ? (uintptr_t)GC_VALUE_TO_REF(word) : 0;
}

/* Returns whether a word from anywhere leads to where an object may be that is being marked in this heap. */
GC__FN bool gc__shade_is_sound(const gc_heap *heap, uintptr_t word) {
    return !(word & 7) && gc__is_marking(word) && gc__region_is_of(gc__region_of(word), heap);
}

/* Appends the word to those that will be looked at together, if an object that is being marked may be there, in any heap.
   Returns how many there are then. */
GC__INLINED size_t gc__shade_await(const gc_heap *heap, uintptr_t *words, size_t count, uintptr_t word) {
    if (word & 7 || !gc__is_marking(word)) return count;
    __builtin_prefetch(&heap->marker->marks[gc__mark_index(word) >> 6], 1);
    words[count] = word;
    return count + 1;
}

/* Drops those words that refer to marked objects, as most do, or to other heaps, and prefetches the others. Returns how many
   are left. */
GC__INLINED size_t gc__shade_sift(const gc_heap *heap, uintptr_t *words, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t word = words[i];
        if (gc__shade_bit(heap->marker->marks, word) || !gc__region_is_of(gc__region_of(word), heap)) continue;
        __builtin_prefetch((const void *)word);
        __builtin_prefetch(&gc__the_arena.marks[heap->plane][gc__mark_index(word) >> 6]);
        words[kept++] = word;
    }
    return kept;
}

/* Logs a store into a heap that is being marked or whose slots are remembered. What is stored is shaded, so that nothing
   is hidden from the final mark, however the reference was found. Returns false if the slot needs a card. */
GC__IN_BARRIER GC__FN bool gc__store_log(uintptr_t slot, uintptr_t ref, uintptr_t tag, bool marking) {
    const gc_heap *heap = gc__the_arena.regions[(slot - gc__the_arena.base) >> GC_REGION_SHIFT].heap;
    if (!marking) return !tag || gc__stores_append(heap->stores, slot | tag, false);
    ref &= ~(uintptr_t)7;
    if (!tag && !gc__shade_wants(ref)) return true;
    bool checks = gc__shade_checks(heap);
    if (checks && (!tag || tag == GC__STORE_CANDIDATE) && !gc__shade_is_white(ref)) return !tag;
    /* Where threads share chunks, the marker may read a candidate's slot before the store. */
    if (!GC__CHUNKS_OWN && tag == GC__STORE_CANDIDATE) gc__shade_word(ref);
    if (gc__stores_append(heap->stores, tag ? slot | tag : ref | GC__STORE_WORD, checks)) return true;
    gc__shade_at_once(ref);
    return !tag;
}

/* The barrier of a slot whose age has GC_AGE_LOGGED. Returns false if `ref` is stale, so that reading it faults. */
GC__IN_BARRIER GC__FN bool gc__store_look(const void *slot, const void *ref) {
    uintptr_t place = (uintptr_t)slot;
    const uint8_t *ages = gc__tables.age, *stored = ages + ((uintptr_t)ref >> GC_REGION_SHIFT);
    unsigned age = __atomic_load_n(&ages[place >> GC_REGION_SHIFT], __ATOMIC_RELAXED), youth = *(stored - GC_RANK_ENTRIES);
    if (GC_DIAGNOSTICS && youth == GC__YOUTH_STALE) {
        __atomic_store_n(&gc__the_arena.stale_stored, (uintptr_t)ref, __ATOMIC_RELAXED);
        return false;
    }
    bool marking = age & GC__AGE_MARKING;
    uintptr_t tag = (age & GC_AGE_GENERATION) + youth > 2 ? youth & GC__STORE_TAG : 0;
    if (__atomic_load_n(stored, __ATOMIC_RELAXED) & GC__AGE_CANDIDATE) tag = GC__STORE_CANDIDATE; /* it will be recorded */
    if (place & GC__STORE_OWNED) {
        if (marking) gc__shade_word((uintptr_t)ref);
    } else if (marking || age & GC__AGE_REMEMBERS) {
        if (gc__store_log(place, (uintptr_t)ref, tag, marking)) return true;
    }
    if (!tag) return true;
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
#define gc__store_logged_call_address() NULL
#endif

/* Makes room for this many more words on one of the marker's lists. Returns false if there is no memory. */
GC__FN bool gc__shade_room(const gc_heap *heap, gc__words *list, size_t words) {
    if (heap->options.test.scarce_memory && list->count + words > GC__SMALL_MARK_STACK) return false;
    return gc__words_reserve(list, list->count + words);
}
GC__FN bool gc__shade_push(const gc_heap *heap, gc__words *list, uintptr_t word) {
    return gc__shade_room(heap, list, 1) && gc__words_push(list, word);
}

/* Shades an object that a collection of a younger generation has met in a slot, root or pin. The object may be a
   copy made by this collection, whose bit and bytes come later: so no bit is set here, unless there is no memory for
   an entry, and then nothing is counted. */
GC__OUT_OF_LINE void gc__shade(const gc__worker *worker, uintptr_t object) {
    if (!gc__is_marking(object)) return;
    bool other = GC__HAS_WORKERS && worker->number;
    gc__words *seen = other ? &worker->workers->threads[worker->number].seen : &worker->heap->marker->seen;
    if (gc__shade_push(worker->heap, seen, object)) return;
    __atomic_fetch_or(&gc__region_of(object)->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    gc__shade_word(object);
}

/* Merges the objects that each worker has met. The workers have stopped. */
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

/* Appends the marked object to a list, so that its trace function is called again. Without memory, or if other
   objects of its region are in no list, the final mark calls it. */
GC__FN void gc__shade_ask(gc_heap *heap, gc__words *list, uintptr_t object) {
    gc__region *region = gc__region_of(object);
    bool unasked = __atomic_load_n(&region->unscanned, __ATOMIC_RELAXED) & GC__UNASKED;
    if (unasked || !gc__shade_push(heap, list, object)) gc__shade_unask(region);
}

/* Defers the object to the final pause. */
GC__OUT_OF_LINE void gc__shade_wait(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    bool room = gc__map_reserve(&marker->waits, marker->waits.count + 1);
    if (!room || !(*gc__map_put(&marker->waits, object))++) gc__shade_ask(heap, &marker->waiting, object);
}

/* Returns whether the marker may call the object's trace function: the host allows it, or the function is gc.h's
   own. */
GC__FN bool gc__shade_may_trace(const gc_heap *heap, uintptr_t object) {
#if GC_HAS_MODEL
    (void)object;
    return heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT;
#else
    return heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT || gc__trace_is_own(gc__object_type(object)->trace);
#endif
}

/* Records a slice of a weak table, whose entries lie in the object, to be looked at again. Callers report a slice
   once per entry in a row, so only the last one is compared. */
GC__FN void gc__shade_slice(gc_heap *heap, uintptr_t table, uintptr_t from) {
    gc__words *slices = &heap->marker->slices.unclean;
    size_t count = slices->count;
    if (count && slices->words[count - 2] == table && slices->words[count - 1] == from) return;
    if (count < GC__TABLE_WORDS && gc__shade_room(heap, slices, 2)) {
        gc__words_push(slices, table);
        gc__words_push(slices, from);
    } else {
        gc__shade_wait(heap, table);
    }
}

/* Marks the objects that start in [from, to), which this collection has promoted to generation 2 and scanned. The
   world is stopped. */
GC__FN void gc__shade_born(gc__region *region, uintptr_t from, uintptr_t to, size_t bytes) {
    uintptr_t end = gc__min(to, gc__region_starts_end(region));
    const uint64_t *marks = gc__marks_of(region->heap);
    region->next_live_bytes += bytes;
    if (from >= end || marks == region->heap->marker->marks) return;
    size_t first = gc__mark_index(from), last = gc__mark_index(end - 1);
    for (size_t word = first >> 6; word <= last >> 6; word++) {
        uint64_t bits = marks[word];
        if (word == first >> 6) bits &= ~(uint64_t)0 << (first & 63);
        if (word == last >> 6) bits &= ~(uint64_t)0 >> (63 - (last & 63));
        /* other workers shade concurrently */
        if (bits) __atomic_fetch_or(&region->heap->marker->marks[word], bits, __ATOMIC_RELAXED);
    }
}

#if !GC_HAS_MODEL
typedef struct gc__born {
    gc_heap *heap;
    uintptr_t at, end; /* where the new objects are, which need no shade */
} gc__born;

/* Shades what a slot refers to after stores that have initialized it, which had no barrier. */
GC__OUT_OF_LINE void gc__born_shade_slot(void *context, gc_word *slot, bool value) {
    const gc__born *born = (const gc__born *)context;
    uintptr_t ref = gc__slot_decode(slot, __atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if ((ref >= born->at && ref < born->end) || !gc__shade_wants(ref)) return;
    if (GC__UNLIKELY(gc__barrier_age(&gc__tables, ref) & GC__AGE_CANDIDATE)) {
        if (gc__stores_append(born->heap->stores, (uintptr_t)slot | GC__STORE_CANDIDATE, false)) return;
        gc__barrier_dirty_card(&gc__tables, slot);
    }
    if (!gc__shade_bit(born->heap->marker->marks, ref)) gc__shade_word(ref);
}

/* Marks the objects in [at, end), but for those with trace functions, and returns their bytes. */
GC__HOT size_t gc__born_mark(gc_heap *heap, uintptr_t at, uintptr_t end) {
    uint64_t *marks = heap->marker->marks, bits = 0;
    size_t sum = 0, word = gc__mark_index(at) >> 6;
    gc__born born = {heap, at, end};
    for (size_t bytes; at < end; at += bytes) {
        bool filler = gc__is_filler(at);
        bytes = filler ? gc__filler_bytes(at) : gc__object_bytes(at);
        if (filler || gc__object_is_traced(at)) continue;
        gc__slots_of(at, gc__born_shade_slot, &born);
        if (gc__mark_index(at) >> 6 != word) {
            __atomic_fetch_or(&marks[word], bits, __ATOMIC_RELEASE);
            bits = 0;
            word = gc__mark_index(at) >> 6;
        }
        bits |= (uint64_t)1 << (gc__mark_index(at) & 63);
        sum += bytes;
    }
    __atomic_fetch_or(&marks[word], bits, __ATOMIC_RELEASE);
    return sum;
}
#else
GC__FN size_t gc__born_mark(const gc_heap *heap, uintptr_t at, uintptr_t end) { return (void)heap, (void)at, (void)end, 0; }
#endif

/* heap->index_born: the thread itself marks its objects, and shades what they refer to, before their start bits show the
   marker that they are objects. The marker is left those with trace functions. */
GC__HOT size_t gc__born_index(gc__region *region, uintptr_t at, uintptr_t end) {
    gc_heap *heap = region->heap;
    const uint64_t *starts = gc__region_marks(region);
    region->born_bytes += (uint32_t)gc__born_mark(heap, at, end);
    size_t bytes = gc__index_range(region, at, end);
    for (; (at = gc__bit_next(starts, at, end)) < end; at += GC_OBJECT_BYTES_MIN)
        if (!gc__shade_bit(heap->marker->marks, at)) gc__shade_word(at);
    return bytes;
}
