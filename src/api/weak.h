/* Weak arrays and tables on the heap: entries that do not keep their objects alive, and are cleared by the collector.

   A trace function reports them by gc_visit_weak, each time anew, so a table may become weak, or cease to be, as it likes.
   For arrays of nothing but weak references, or of pairs, there are ready-made trace functions:
       static const gc_type names_type = GC_TYPE_ARRAY_TRACED(names, items, gc_trace_weak);
   Stores into weak slots have the write barrier as all others do: gc_store, or gc_store_in for a buffer outside the heap.
   Loads use gc_load_weak. In the words of gc_handles.h: weak slots are like weak handles, ephemerons like dependent ones. */
#pragma once

#include "roots.h"

typedef enum gc_weak_kind {
    GC_WEAK_REFS,      /* each entry is one weak reference, the key */
    GC_WEAK_KEYS,      /* pairs of a weak key and a value that the table keeps alive */
    GC_WEAK_VALUES,    /* pairs of a key that the table keeps alive and a weak value */
    GC_WEAK_PAIRS,     /* pairs of two weak references; an entry ends with either */
    GC_WEAK_EPHEMERONS /* pairs of a weak key and a value that lives, as far as the table goes, as long as the key does */
} gc_weak_kind;

/* Entries of a table, all of one kind, at equal distances. A key or value that is no reference (null, an address outside the
   heap, a tagged number) never dies. */
typedef struct gc_weak_entries {
    void *keys;   /* the first entry's key */
    void *values; /* the first entry's value, if there are pairs; in the object or off the heap, as the keys are */
    size_t count;
    size_t entry_bytes; /* from one entry to the next, a multiple of 8; 0: a slot, or of pairs two */
    gc_weak_kind kind;
    unsigned flags;        /* GC_SLOT_VALUE, GC_SLOT_OWNED, GC_SLOT_WEAK_LONG, GC_SLOT_WEAK_SHORT */
    uintptr_t cleared_key; /* both words of a cleared entry: no references to objects of a heap; a tombstone, say */
    uintptr_t cleared_value;
    size_t *cleared_count; /* increased by the number of entries that a collection clears; NULL: nobody counts */
    /* Called for each entry just before its words are cleared, with the places of its key and its value (NULL: there are no
       pairs): to set a tag beside them, or to learn which object has died, of which only the address is good, unless objects
       stay where they are (non_moving). Runs within the collection, and calls nothing of gc.h. NULL: nobody is told. */
    void (*cleared)(void *key, void *value);
} gc_weak_entries;

/* Reports entries of a weak table. An entry whose weak part has died is cleared as a whole in the collection that finds it
   dead: before the dead object's finalizer runs, or with GC_SLOT_WEAK_LONG, and in ephemerons without GC_SLOT_WEAK_SHORT, when
   the object is gone for good. If there is no memory for a note of the entries, the collection treats them as strong. For
   gc_object_visit's visitors all are slots with the flag GC_SLOT_WEAK. scan_roots may report a table of the host's so, which
   every collection then looks at as a whole. [trace functions, scan_roots; never collects; cannot fail] */
static inline void gc_visit_weak(gc_visitor *visitor, const gc_weak_entries *entries) {
    gc_weak_entries given = *entries; /* which may be in the object, where slots are */
    if (!given.entry_bytes) {
        given.entry_bytes = given.flags & (unsigned)GC_SLOT_VALUE ? (size_t)GC_VALUE_BYTES : 8;
        if (given.kind != GC_WEAK_REFS) given.entry_bytes *= 2;
    }
    if (given.kind == GC_WEAK_REFS) given.values = given.keys;
    visitor->visit(visitor, &given, 1, GC__SLOT_ENTRIES);
}

#if !GC_HAS_MODEL
/* Trace functions of types with elements: of one weak reference each, and of ephemerons, which are two references each, the
   key first. Cleared elements are null. [as gc_type.trace; never collects; cannot fail] */
GC_API void gc_trace_weak(void *object, gc_visitor *visitor);
GC_API void gc_trace_ephemerons(void *object, gc_visitor *visitor);
#endif

/* The object to which a weak slot refers: null, or what the slot was cleared to, once that is dead. One load. Weak slots, and
   values of ephemerons, are read in no other way. [cooperative; never collects; cannot fail] */
static inline void *gc_load_weak(gc_thread *thread, const void *slot) {
    (void)thread;
    return (void *)*(const gc_word *)slot;
}
/* The same for a tagged value. [cooperative; never collects; cannot fail] */
static inline uintptr_t gc_load_weak_value(gc_thread *thread, const void *slot) {
    (void)thread;
    return *(const gc_word *)slot;
}
