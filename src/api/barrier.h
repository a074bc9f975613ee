/* Stores of references: every store into a heap object after its first safe point goes through one of these functions.
   Stores that initialize a new object need none of them until the next call that may collect. Slots outside the heap (on
   the stack, static, malloc'ed) may be stored to either way, except those that an object owns and reports with
   GC_SLOT_OWNED: gc_store_in and gc_remember are for these. None of these functions collects.

   What other threads see. Each of these stores is a release: a thread that reads the reference from the slot also sees what the
   storing thread had written before, such as the object's header and fields, and what these lead to. So an object is published by
   one such store, and the stores that initialize it before may be plain. The reader needs no more than a load of the whole word,
   since every processor of gc.h orders a load after the one that its address came from. Two threads that store to one slot leave
   one of the two references there.
   Three things are the host's own. References that reach a thread in another way than by these stores, handles and
   finalizers, as in a static root, need a release store there, or a lock. What is found by an index or a flag, not by a
   reference, needs a release and an acquire: gc_array_grow writes the length of an array after its elements, so other threads
   read that length by an acquire load. And compiled code whose stores are its own makes them release stores (stlr on AArch64,
   mov on x86-64), or begins to copy with a fence. Cards and logs need nothing: the collector reads them when it has stopped
   their threads, by a mode or lock that orders all that they have done; a host that stops threads itself (options.suspend)
   does so in a way that orders it, too.

   The barrier in them is GC_BARRIER, a compile-time choice from GC_BARRIERS (gc_barrier_x86_64.h). With GC_BARRIER
   at_run_time they call it out of line, and gc_barrier_switch chooses. */
#pragma once

#include "result.h"
#include "types.h"

GC__SHARED gc_barrier_tables gc__tables; /* ranks and cards: with the world stopped; bounds: under the barrier lock */
GC__SHARED gc_barrier_functions gc__barrier_calls; /* GC_BARRIER at_run_time: written with the world stopped */
GC_API void gc__shadow_store(void *slot, size_t count);
GC_API void gc__check_outside(const char *name); /* of any function of gc.h */

/* The heap's barrier in one of its forms: store, checked, after_checked, copy_checked. */
#if GC__PASTE(GC__IS_BARRIER_, GC_BARRIER) == GC__IS_BARRIER_at_run_time
#define GC__THE_BARRIER(form) gc__barrier_calls.form
#else
#define GC__THE_BARRIER(form) GC__PASTE(gc_barrier_##form##_, GC_BARRIER)
#endif

/* The heap's barrier, in its form for slots anywhere: barriers that ask for the slot's age first need no check. */
enum {
#define GC__BARRIER_FACTS(name, NAME, watch, filter, mark) \
    gc__barrier_is_##name = GC_BARRIER_##NAME, gc__anywhere_##name = GC__ANYWHERE(watch, GC__FILTER_##filter),
    GC_BARRIERS(GC__BARRIER_FACTS)
#undef GC__BARRIER_FACTS
        gc__barrier_is_at_run_time = GC_BARRIER_COUNT,
    gc__anywhere_at_run_time = 0
};
#define GC__BARRIER_CHOSEN ((int)GC__PASTE(gc__barrier_is_, GC_BARRIER))
#define GC__BARRIER_ANYWHERE GC__PASTE(gc__anywhere_, GC_BARRIER)

static inline void gc__barrier_store(void *slot, const void *ref) {
    if (GC__BARRIER_ANYWHERE)
        GC__THE_BARRIER(store)(&gc__tables, slot, ref);
    else
        GC__THE_BARRIER(checked)(&gc__tables, slot, ref);
}

static inline void gc__store_shadow(void *slot, size_t count) {
#if GC_SHADOW_HEAP
    gc__shadow_store(slot, count);
#else
    (void)slot, (void)count;
#endif
}

/* *slot = ref, with the write barrier. ref: an object of the same heap, null, or any address outside the heaps.
   [cooperative; never collects; cannot fail] */
static inline void gc_store(gc_thread *thread, void *slot, const void *ref) {
    (void)thread;
    GC_ASSERT(((uintptr_t)slot & 7) == 0, "gc_store: the slot %p is not 8-byte aligned", slot);
    if (GC_DEBUG >= 2) gc__check_outside("gc_store");
    gc__barrier_store(slot, ref);
    gc__store_shadow(slot, 1);
}

/* *slot = value, a tagged value, with the write barrier if it refers to an object. A tag beside the word
   (GC_VALUE_SLOT_IS_REF) is stored before the call. [cooperative; never collects; cannot fail] */
static inline void gc_store_value(gc_thread *thread, void *slot, uintptr_t value) {
    (void)thread;
    gc__barrier_publish(slot, value); /* the marker may be reading it, too */
    if (GC__VALUE_IS_REF(slot, value))
        GC__THE_BARRIER(after_checked)(&gc__tables, slot, (const void *)GC_VALUE_TO_REF(value));
    gc__store_shadow(slot, 1);
}

/* An owner in the place of a slot. Tables have the same entries for it, but where stores are logged its word is not read. */
static inline const void *gc__barrier_owner(const void *owner) { return (const char *)owner + 1; }

/* *slot = ref, where the slot lies in a buffer outside the heap that belongs to `owner` and that its trace function visits
   with GC_SLOT_OWNED. [cooperative; never collects; cannot fail] */
static inline void gc_store_in(gc_thread *thread, const void *owner, void *slot, const void *ref) {
    (void)thread;
    if (GC_DEBUG >= 2) gc__check_outside("gc_store_in");
    gc__barrier_publish(slot, (uintptr_t)ref);
    GC__THE_BARRIER(after_checked)(&gc__tables, gc__barrier_owner(owner), ref);
}

/* gc_store_in for a tagged value. [cooperative; never collects; cannot fail] */
static inline void gc_store_value_in(gc_thread *thread, const void *owner, void *slot, uintptr_t value) {
    (void)thread;
    gc__barrier_publish(slot, value);
    if (GC__VALUE_IS_REF(slot, value))
        GC__THE_BARRIER(after_checked)(&gc__tables, gc__barrier_owner(owner), (const void *)GC_VALUE_TO_REF(value));
}

/* Has the next collection look at all slots that the object owns (GC_SLOT_OWNED). So raw stores to these may follow, as many
   as there are before the next call that may collect. Two loads if it was remembered before. A buffer that only moves (realloc),
   shrinks or loses references needs no call. [cooperative; never collects; cannot fail] */
static inline void gc_remember(gc_thread *thread, const void *object) {
    (void)thread;
    if (gc__barrier_age(&gc__tables, (uintptr_t)object)) gc__barrier_dirty_card(&gc__tables, object);
}

/* The barrier alone, around raw stores of whole words (by memcpy, say) into `count` slots of one object, or outside the heap.
   No safe point may come between the two calls. With `concurrent` the marker may read the slots meanwhile: no word is torn,
   but to C and ThreadSanitizer memcpy is a race then, where gc_copy_refs and gc_copy_values are none. flags: 0 or
   GC_SLOT_VALUE, the same in both. Pairs may nest, for different ranges. GC_DEBUG >= 1 asserts all of this but that the slots
   are of one object. [cooperative; never collects; cannot fail] */
GC_API void gc_stores_begin(gc_thread *thread, void *slots, size_t count, unsigned flags);
GC_API void gc_stores_end(gc_thread *thread, void *slots, size_t count, unsigned flags);
/* Copies `count` references from source to destination, which may overlap, as memmove does; with the barrier, in one pass.
   The destination lies in one object, or outside the heap. [cooperative; never collects; cannot fail] */
GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count);
/* gc_copy_refs for tagged values, of GC_VALUE_BYTES each. A second pass looks at them, but only at those in clean cards of an
   old object. [cooperative; never collects; cannot fail] */
GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count);

/* Hosts that compile barriers of their own (gc_barrier_emit) learn by gc_options.barrier_changed of changes to what
   barriers read, as the CLR does by IGCToCLR::StompWriteBarrier. All heaps share the tables, so every host is told of each
   change. */
typedef enum gc_stomp {
    GC_STOMP_INITIALIZE, /* the heap was created: emit code, from these tables */
    GC_STOMP_EPHEMERAL,  /* low and high changed: patch */
    GC_STOMP_RESIZE,     /* highest grew; the tables already cover what is new: patch */
    GC_STOMP_SWITCH      /* another barrier: emit anew; the tables that it reads are in place */
} gc_stomp;

typedef struct gc_barrier_change {
    gc_stomp operation;
    gc_barrier barrier; /* the one in force */
    bool is_suspended;  /* mutators are stopped; while they are not, bounds only widen, and patching is safe too */
    const gc_barrier_tables *tables; /* valid until gc.h is unloaded; for gc_barrier_emit and gc_barrier_patch */
} gc_barrier_change;

/* The barrier in force; GC_BARRIER unless that is at_run_time. [any thread; never collects; cannot fail] */
GC_API gc_barrier gc_barrier_current(void);
/* Has every heap of the process use another barrier from now on. Only with GC_BARRIER at_run_time; rank_sum is the first.
   Call it while no other thread runs mutator code. Fails with GC_ERROR_OPTION if the barrier was chosen at compile time or
   if `barrier` is GC_BARRIER_NONE and a heap has generations, and with GC_ERROR_RESERVE if there is no address space for
   its tables; then nothing has changed. Source: SwitchToWriteWatchBarrier. [any thread, while no other runs mutator code;
   never collects; GC_ERROR_OPTION, GC_ERROR_RESERVE] */
GC_API gc_result gc_barrier_switch(gc_barrier barrier);
/* Under a write_watch barrier: stores the addresses of up to `most` pages of 4 KiB of this heap that the barrier has seen
   stored to since they were last taken, and forgets them. Returns their number: `most` means that there may be more; 0
   under any other barrier. Only stores by barriers are seen, neither what initializes new objects nor what a collection
   moves; a page whose objects have moved away is forgotten, and so are pages that are taken to mark objects concurrently.
   So take pages before each collection, or use non_moving.
   Source: GetWriteWatch with reset. [cooperative; may wait; cannot fail] */
GC_API size_t gc_heap_take_written_pages(gc_heap *heap, void **pages, size_t most);
