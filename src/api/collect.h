/* Collecting on request, and looking at the heap. */
#pragma once

#include "result.h"
#include "types.h"

/* How to collect; the CLR's bits. Without gc_options.concurrent every collection is complete on return. */
enum {
    GC_COLLECT_DEFAULT = 0,
    GC_COLLECT_NON_BLOCKING = 1, /* generation 2 may be marked beside mutators, and freed by a later collection */
    GC_COLLECT_BLOCKING = 2,     /* must be complete on return; wins over NON_BLOCKING */
    GC_COLLECT_OPTIMIZED = 4,    /* only if the generation has spent a part of its budget that makes it worth while */
    GC_COLLECT_COMPACTING = 8    /* move everything that can move, as far as heap_bytes_max has room for it; with generation 2,
                                    leaves no holes then but at pins */
};

/* Within gc_options.collection_traced: where the object is now, and NULL if it was not reached and dies. `object` is an address
   from before the collection, or any that is on no heap, which is returned. [collection_traced; never collects; cannot fail] */
GC_API void *gc_collection_find(gc_heap *heap, const void *object);

/* Collects generations 0..generation (0, 1 or 2) now. Call from an attached thread in cooperative mode (or with no
   thread attached), not from a hook or callback: that fails with GC_ERROR_MISUSE, as does another generation. Fails with
   GC_ERROR_MEMORY if there is no memory for the list of roots; then nothing has changed. Source:
   GC.Collect(generation, mode). [cooperative; may collect; GC_ERROR_MEMORY, GC_ERROR_MISUSE] */
GC_API gc_result gc_collect(gc_heap *heap, int generation, unsigned mode);
/* Does work of coming collections now, for a host that has nothing else to do: before a frame is due, or as a script's
   collectgarbage("step"). For up to `us` microseconds it marks what a cycle has left (gc_options.concurrent). When
   nothing is left to mark, it ends that cycle; or begins one if that is soon due; or collects generation 0, if a
   quarter of its budget or more is spent. Each of these is a pause of its own length, and also runs in a paused heap
   (gc_pacing). Returns whether a cycle is under way, so that another step would find work. [cooperative; may collect;
   false: GC_ERROR_MISUSE] */
GC_API bool gc_step(gc_heap *heap, unsigned us);

/* The functions below change nothing. Call them in cooperative mode or while the world is stopped. They never collect
   themselves, but gc_heap_object_at, gc_heap_walk, gc_heap_verify and gc_heap_stats stop the other threads, and may
   wait for a collection by one of these: where several threads are attached they are safe points. */

/* The heap of an object, for trace functions, say, which need the host's data (gc_heap_host); NULL for an address that is on
   none. [any thread, trace functions; never collects; cannot fail] */
GC_API gc_heap *gc_object_heap(const void *object);
/* Whether the address, which may be any, points into memory that may hold objects of this heap. [cooperative; never
   collects; cannot fail] */
GC_API bool gc_heap_contains(gc_heap *heap, const void *address);
/* The object that covers the address, which may be any. [cooperative; may wait; NULL: no object] */
GC_API void *gc_heap_object_at(gc_heap *heap, const void *address);
/* The object's generation: 0, 1 or 2; GC_GENERATIONS for any address that is on no heap. A new object's is 0, or 2 in a
   heap with a goal for pauses where nearly all new objects survive. It rises as the object survives, and falls where a
   collection gives mutators the holes around objects that stay in place: gc_collection.demoted_bytes tells. [cooperative;
   never collects; cannot fail] */
GC_API int gc_object_generation(const void *object);
/* A number of the object's own, from 1 on, which it keeps as long as it lives, though it moves: for tables that find objects
   by identity, and for the hash of an address. The heap keeps such numbers in tables, some 100 bytes for each object that
   was asked for its own. The object must be in a root. [cooperative; may wait, and so may collect; 0: GC_ERROR_MEMORY,
   GC_ERROR_MISUSE: the address is on no heap or another one, or within a collection; GC_ERROR_ARGUMENT] */
GC_API uint64_t gc_object_identity(gc_thread *thread, void *object);
/* The object's size on the heap in bytes, header included. [cooperative; never collects; cannot fail] */
GC_API size_t gc_object_bytes(const void *object);
/* The name of the object's type; static storage, or the host's. [cooperative; never collects; cannot fail] */
GC_API const char *gc_object_type_name(const void *object);
#if !GC_HAS_MODEL
/* The type that gc_new was given. [cooperative; never collects; cannot fail] */
GC_API const gc_type *gc_object_type(const void *object);
#endif
/* Calls visitor->visit for the object's slots, in runs of one or more, with flags 0 or, for a tagged value
   (GC_VALUE_IS_REF), GC_SLOT_VALUE: for tools of the host's that draw graphs or find what keeps an object alive. The
   visitor is the host's, maybe the first member of a larger record. [cooperative; never collects; cannot fail] */
GC_API void gc_object_visit(void *object, gc_visitor *visitor);

/* The number of collections so far that moved an object. A table keyed by the addresses of live objects is stale when
   this number has changed since the table was made. One load, no safe point. In cooperative mode the answer holds until
   the next call that may collect; in preemptive mode it may be out of date at once, as may any address. [any thread;
   never collects; cannot fail] */
GC_API uint64_t gc_heap_moves(const gc_heap *heap);

/* Calls `visit` for each object of the heap, in no particular order: those that survived the last collection and those
   allocated since, dead ones among them included. Stops when `visit` returns false. `visit` must not allocate or
   collect. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_walk(gc_heap *heap, bool (*visit)(void *context, void *object, size_t bytes, int generation),
                         void *context);

/* Verifies the whole heap now; a fault is reported to the fatal hook. Returns the number of objects. [cooperative; may
   wait; cannot fail] */
GC_API size_t gc_heap_verify(gc_heap *heap);
