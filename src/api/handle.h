/* Handles: references to objects that are held outside the heap and the stacks. */
#pragma once

#include "result.h"
#include "types.h"

/* Kinds, with the CLR's names where it has one. */
typedef enum gc_handle_kind {
    GC_HANDLE_WEAK,        /* short weak: cleared when the object is found dead, before its finalizer runs */
    GC_HANDLE_WEAK_LONG,   /* tracks resurrection: cleared when the object's memory goes */
    GC_HANDLE_STRONG,      /* keeps the object */
    GC_HANDLE_PINNED,      /* keeps the object, and keeps it in its place */
    GC_HANDLE_DEPENDENT,   /* an ephemeron: while something else keeps the object, keeps a second one, its dependent */
    GC_HANDLE_REF_COUNTED, /* strong while gc_options.handle_is_held says so, else weak */
    GC_HANDLE_KINDS
} gc_handle_kind;

/* A handle; NULL is no handle. The value carries a tag that changes when its place is used again, so a destroyed handle
   is recognized (65,535 times out of 65,536 reuses). It is not an address: only compare and copy it. */
typedef struct gc__handle *gc_handle;

/* A handle belongs to a heap, and ends by gc_handle_destroy or with that heap. A call that takes or returns an object
   needs an attached thread in cooperative mode; any thread in any mode may destroy handles, and create handles of NULL.
   None of these functions collects. Finalizers may call them; a callback of a collection before collection_end may not:
   what makes, ends or lists handles fails there with GC_ERROR_MISUSE. A handle that was destroyed, or is of another heap
   or kind than the call is for, aborts the program if GC_DEBUG >= 1; otherwise the call fails with GC_ERROR_HANDLE and
   changes nothing. NULL likewise, with GC_ERROR_ARGUMENT. The places of handles that have ended are kept for others until
   the heap ends, and count towards heap_bytes_max. */

/* A handle of `kind` to object, which may be NULL; its dependent or host word is NULL. Handles count towards heap_bytes_max:
   where they have no room left, free regions are given back, and then it fails with GC_ERROR_HEAP_FULL, even if gc_collect
   would make room. [cooperative, with NULL any thread; never collects; NULL: GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY,
   GC_ERROR_OPTION] */
GC_API gc_handle gc_handle_create(gc_heap *heap, gc_handle_kind kind, void *object);
/* A dependent handle. Source: DependentHandle. [cooperative; never collects; NULL, as gc_handle_create] */
GC_API gc_handle gc_handle_create_dependent(gc_heap *heap, void *object, void *dependent);
/* Another handle of the same kind, object, and dependent or host word. [cooperative; never collects; NULL:
   GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY, GC_ERROR_HANDLE] */
GC_API gc_handle gc_handle_duplicate(gc_heap *heap, gc_handle handle);
/* Ends the handle; NULL is allowed. [any thread; never collects; GC_ERROR_HANDLE] */
GC_API gc_result gc_handle_destroy(gc_heap *heap, gc_handle handle);
/* Whether `handle` is an existing handle of this heap. Any value is allowed, also NULL and handles of destroyed heaps.
   The time grows with the number of the heap's segments of 6,144 handles. [any thread; never collects; cannot fail] */
GC_API bool gc_handle_is_valid(gc_heap *heap, gc_handle handle);

/* The handle's object, or NULL. The caller must put it into a root before the next call that may collect. [cooperative;
   never collects; NULL: GC_ERROR_HANDLE] */
GC_API void *gc_handle_get(gc_handle handle);
/* Stores the handle's object to *object. Distinguishes a handle that is empty or was cleared (GC_OK, and *object is
   NULL) from one that was destroyed (GC_ERROR_HANDLE) or is NULL (GC_ERROR_ARGUMENT). Never aborts: the caller asks. The
   handle's heap must exist: gc_handle_is_valid takes any handle.
   [cooperative; never collects; GC_ERROR_HANDLE, GC_ERROR_ARGUMENT] */
GC_API gc_result gc_handle_try_get(gc_handle handle, void **object);
/* Makes the handle hold another object, or NULL. [cooperative; never collects; GC_ERROR_HANDLE] */
GC_API gc_result gc_handle_set(gc_handle handle, void *object);
/* Stores `object` if the handle holds `expected`; returns what it held. Atomic. [cooperative; never collects; NULL:
   GC_ERROR_HANDLE] */
GC_API void *gc_handle_compare_exchange(gc_handle handle, void *object, void *expected);
/* The second object of a dependent handle; NULL if the first has died or was replaced by NULL. [cooperative; never
   collects; NULL: GC_ERROR_HANDLE] */
GC_API void *gc_handle_dependent(gc_handle handle);
/* Gives a dependent handle another dependent, or NULL. A handle that holds no object accepts a dependent, but does not keep it:
   the next collection drops it. [cooperative; never collects; GC_ERROR_HANDLE] */
GC_API gc_result gc_handle_set_dependent(gc_handle handle, void *dependent);
/* A word of the host's own in a ref-counted handle, at first NULL. The collector only hands it to handle_is_held. [any
   thread; never collects; NULL: GC_ERROR_HANDLE] */
GC_API void *gc_handle_host_word(gc_handle handle);
/* Gives a ref-counted handle another host word. [any thread; never collects; GC_ERROR_HANDLE] */
GC_API gc_result gc_handle_set_host_word(gc_handle handle, void *word);

/* Calls `visit` for every handle of the heap, grouped by kind, until it returns false. extra: the dependent, or the
   host word. `visit` must not allocate, nor create or destroy handles. [cooperative; may wait; cannot fail] */
GC_API void gc_handle_walk(gc_heap *heap,
                           bool (*visit)(void *context, gc_handle handle, gc_handle_kind kind, void *object,
                                         void *extra),
                           void *context);
/* How many handles of the kind exist; exact while no other thread creates or destroys handles. Looks at every place of
   the table. [any thread; never collects; cannot fail] */
GC_API size_t gc_handle_count(gc_heap *heap, gc_handle_kind kind);

/* Keeps `object` reachable up to this call: an empty body that no compiler removes. Source: GC.KeepAlive. [any thread;
   never collects; cannot fail] */
static inline void gc_keep_alive(const void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }
