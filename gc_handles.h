/* Generated from src/gc_handles.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_handles.h - handles, finalizers, SafeHandle. Part of gc.h, which includes it.

   Handles are references held outside the heap: weak, strong, pinned, dependent, ref-counted. Finalizers run when an
   object has died. Safe handles are objects that own handles of the operating system. gc_keep_alive is here, too. */
#include "gc.h"

/* Not #pragma once: gc.h includes this file in its middle, even where this file has included gc.h. */
#ifndef GC_HANDLES_H
#define GC_HANDLES_H

GC__STYLE_BEGIN

/* Finalizers: functions that run when an object has been found dead.

   A collection that finds an object with a finalizer dead keeps the object once more and queues it. The heap's finalizer
   thread (gc_finalizer_thread_start) or the host (gc_finalizer_run) then runs the finalizer. Finalizers of objects that
   died together run in no particular order, except that critical ones come last. A finalizer runs once; it may allocate,
   collect, store the object somewhere (resurrection) and register it again. Its argument is no root: before a call that may
   collect it must put the object into GC_ROOTS, like any other variable. The object may be visited even after its finalizer
   has run, so anything that its trace function reads through the object must stay, or be removed from the object. Source:
   Object.Finalize, CriticalFinalizerObject.

   A finalizer that is left by an exception counts as run, and the exception goes on to the caller of gc_finalizer_run,
   gc_finalizer_wait or gc_heap_destroy, which has to be called again. On the heap's finalizer thread nobody catches the
   exception, and the program ends. The same holds for longjmp. But a finalizer that was left by longjmp, or by an exception
   where the unit that has GC_IMPLEMENTATION is C without -fexceptions, counts as running for a while: until the thread
   detaches, or runs or counts finalizers again in the function that caught the exception or in one of its callers. */


/* Has `finalizer` run when `object` is found dead, in addition to those that are registered for it, even the same one: to
   replace one, call gc_finalizer_suppress first. On failure nothing has changed: with GC_ERROR_HEAP_FULL the lists have no
   room under heap_bytes_max, though gc_collect may make some. Source: GC.ReRegisterForFinalize. [cooperative; never collects;
   GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY; GC_ERROR_MISUSE: the address is on no heap or another one, or there is no function] */
GC_API gc_result gc_finalizer_register(gc_thread *thread, void *object, const gc_finalizer *finalizer);
/* Takes back the object's finalizer, the last one registered, even if it is queued already. Returns false if there was
   none; NULL is allowed. Searches from the youngest object: the time grows with the number of younger objects that have
   finalizers. Source: GC.SuppressFinalize. [cooperative; never collects; false: there was none] */
GC_API bool gc_finalizer_suppress(gc_thread *thread, void *object);

/* Runs up to `most` of the queued finalizers on the calling thread; returns how many. While another thread, or the caller's
   own finalizer, runs a normal one, critical ones stay queued. [cooperative; may collect; cannot fail] */
GC_API size_t gc_finalizer_run(gc_thread *thread, size_t most);
/* The record by which the finalizer that the thread runs now was registered. It may be the first member of a larger one, which
   has what a closure has captured, and which the finalizer may free: gc.h reads it no more. [its own thread; never collects;
   NULL: none runs] */
GC_API const gc_finalizer *gc_finalizer_running(gc_thread *thread);
/* How many finalizers are queued or running. [any thread; never collects; cannot fail] */
GC_API size_t gc_finalizer_pending(gc_heap *heap);
/* Returns true once no finalizer is queued or running, false after timeout_ms. In a heap without a finalizer thread it runs
   them itself, and looks at the clock between two of them. Returns false at once if a finalizer calls it. The calling
   thread waits in preemptive mode. Source: GC.WaitForPendingFinalizers. [cooperative; may collect; false] */
GC_API bool gc_finalizer_wait(gc_thread *thread, uint64_t timeout_ms);

/* Starts a thread that runs the heap's finalizers until gc_heap_destroy. Fails with GC_ERROR_MEMORY if the system gives no
   thread, with GC_ERROR_MISUSE if there is one, and with GC_ERROR_OPTION if the host stops threads itself (suspend). After
   fork() the child has no such thread, and may start one. [any thread; may wait; GC_ERROR_MEMORY, GC_ERROR_MISUSE,
   GC_ERROR_OPTION] */
GC_API gc_result gc_finalizer_thread_start(gc_heap *heap);
/* Handles: references to objects that are held outside the heap and the stacks. */


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
/* SafeHandle: an object that owns a handle of the operating system (a descriptor, say) and counts its users, so that it is
   closed exactly once, never while a call uses it, and at the latest by a critical finalizer. Not available with a host's
   own object model (GC_MODEL_BYTES). Source: System.Runtime.InteropServices.SafeHandle.

   The state word: bit 0 closed, bit 1 disposed, above them the count of references, which starts at 1. */


#if !GC_HAS_MODEL

/* A kind of handle; made by GC_SAFE_HANDLE_KIND. */
typedef struct gc_safe_handle_kind {
    const char *name;
    bool (*release)(intptr_t value); /* closes the value; false: that failed, which is only reported as a warning. Runs
                                           once, in preemptive mode, on the thread that is the last user */
    bool (*is_invalid)(intptr_t value); /* such values are never released */
} gc_safe_handle_kind;

/* Fields are the collector's: read them by the functions below. */
typedef struct gc_safe_handle {
    gc_object header;
    const gc_safe_handle_kind *kind;
    intptr_t value;
    uint32_t state; /* atomic */
    bool owned;
} gc_safe_handle;

/* Declares the handle type `name`, and name_new, which makes one. It is a struct of one pointer, `safe`, so passing another
   kind of handle does not compile; it can be a root (GC_ROOTS), and a field of an object (GC_TYPE). */
#define GC_SAFE_HANDLE_KIND(name, release, is_invalid)                                                     \
    typedef struct name {                                                                                  \
        gc_safe_handle *safe;                                                                              \
    } name;                                                                                                \
    static const gc_safe_handle_kind name##_kind = {#name, release, is_invalid};                           \
    static inline __attribute__((unused)) name name##_new(gc_thread *thread, intptr_t value, bool owned) { \
        name handle = {gc_safe_handle_new(thread, &name##_kind, value, owned)};                            \
        return handle;                                                                                     \
    }                                                                                                      \
    struct name /* takes the semicolon */

/* Predicates for GC_SAFE_HANDLE_KIND. [any thread; never collects; cannot fail] */
static inline bool gc_safe_handle_invalid_if_minus_one(intptr_t value) { return value == -1; }
static inline bool gc_safe_handle_invalid_if_zero(intptr_t value) { return value == 0; }
static inline bool gc_safe_handle_invalid_if_zero_or_minus_one(intptr_t value) { return value == 0 || value == -1; }

/* A new handle; called by name_new. Releasing a handle that is not owned closes nothing, and it has no finalizer. Returns
   NULL as gc_new does, and the value then remains the caller's: so that nothing leaks, make the handle first, with an
   invalid value, and store what the system returns by gc_safe_handle_set_value. [cooperative; may collect; NULL, as
   gc_new] */
GC_API gc_safe_handle *gc_safe_handle_new(gc_thread *thread, const gc_safe_handle_kind *kind, intptr_t value,
                                          bool owned);

/* All functions below need cooperative mode. NULL fails with GC_ERROR_ARGUMENT, a closed handle with GC_ERROR_DISPOSED.
   Those that may release the value let a collection of another thread pass meanwhile: they are safe points, but the
   argument need not be a root. */

/* Adds a user, and sets *success: a gc_safe_handle_release is owed. On failure *success stays as it is. A handle that was
   disposed, but is not closed yet because it has users, accepts more. Source: DangerousAddRef. [cooperative; never
   collects; GC_ERROR_ARGUMENT, GC_ERROR_DISPOSED, GC_ERROR_MISUSE] */
GC_API gc_result gc_safe_handle_add_ref(gc_safe_handle *handle, bool *success);
/* Takes a user away; the last one to go releases the value. Source: DangerousRelease. [cooperative; may wait;
   GC_ERROR_ARGUMENT, GC_ERROR_DISPOSED] */
GC_API gc_result gc_safe_handle_release(gc_thread *thread, gc_safe_handle *handle);
/* Gives up the owner's reference: the handle is closed now, or by its last user, and its finalizer is taken back. A second
   call, and NULL, do nothing. Source: SafeHandle.Dispose. [cooperative; may wait; GC_ERROR_DISPOSED: gc_safe_handle_release
   was called once too often, and has given up the owner's reference] */
GC_API gc_result gc_safe_handle_dispose(gc_thread *thread, gc_safe_handle *handle);
/* Closes the handle without releasing its value. Source: SetHandleAsInvalid. [cooperative; never collects;
   GC_ERROR_ARGUMENT] */
GC_API gc_result gc_safe_handle_set_invalid(gc_thread *thread, gc_safe_handle *handle);
/* Gives a new handle its value. Fails with GC_ERROR_MISUSE if the handle has more than one user. Source: SetHandle.
   [cooperative; never collects; GC_ERROR_ARGUMENT, GC_ERROR_DISPOSED, GC_ERROR_MISUSE] */
GC_API gc_result gc_safe_handle_set_value(gc_safe_handle *handle, intptr_t value);
/* The value, without any check; it is safe to use only between add_ref and release. Source: DangerousGetHandle.
   [cooperative; never collects; cannot fail] */
static inline intptr_t gc_safe_handle_value(const gc_safe_handle *handle) { return handle->value; }
static inline bool gc_safe_handle_is_closed(const gc_safe_handle *handle) {
    return __atomic_load_n(&handle->state, __ATOMIC_SEQ_CST) & 1;
}
static inline bool gc_safe_handle_is_invalid(const gc_safe_handle *handle) {
    return handle->kind->is_invalid(handle->value);
}

/* Native calls. The block that follows the macro runs in preemptive mode; `value` is declared in it as the raw handle, and
   the object that owns that is kept. The block must not touch objects, which may move meanwhile. It may be left in any way
   but longjmp; break and continue leave the block only. errno stays what the block left. Native calls nest, in either mode.
       ssize_t n = -1;
       GC_NATIVE_CALL(gc, file.safe, fd) n = read(fd, buffer, bytes);
   GC_NATIVE_CALL is a user of the safe handle meanwhile. Where the handle refuses, the block is skipped, and
   gc_last_result() is GC_ERROR_ARGUMENT or GC_ERROR_DISPOSED. Source: marshalling of SafeHandle in P/Invoke. */
#define GC_NATIVE_CALL(thread, safe, value) GC__NATIVE_CALL(__COUNTER__, thread, gc__native_begin, safe, value)
/* For a raw handle that an object of the host's own keeps open; ref is {object, raw handle}. It prevents that the object's
   finalizer runs meanwhile, but not that another thread closes the handle. Source: HandleRef. */
#define GC_NATIVE_CALL_REF(thread, ref, value) GC__NATIVE_CALL(__COUNTER__, thread, gc__native_begin_ref, ref, value)

typedef struct gc_native_ref {
    void *object;
    intptr_t value;
} gc_native_ref;

typedef enum gc__native_state {
    GC__NATIVE_NEW,
    GC__NATIVE_SKIPPED,
    GC__NATIVE_ENTERED,
    GC__NATIVE_DONE
} gc__native_state;

typedef struct gc__native_scope {
    gc_thread *thread;
    void *object; /* the root */
    void *slot;   /* its address */
    intptr_t value;
    gc_frame frame;
    gc__mode_scope outer, inner; /* cooperative, so that the object can be looked at; then preemptive */
    bool counted;
    gc__native_state state;
} gc__native_scope;

#define GC__NATIVE_CALL(id, thread, begin, from, value) \
    GC__NATIVE_CALL_AS(GC__NAME(gc__native, id), thread, begin, from, value)
/* `from` is evaluated once, in cooperative mode. */
#define GC__NATIVE_CALL_AS(scope, thread, begin, from, value_)                                        \
    for (gc__native_scope scope __attribute__((cleanup(gc__native_leave))) = gc__native_open(thread); \
         scope.state == GC__NATIVE_NEW && begin(&scope, (from)) && gc__native_enter(&scope);)         \
        for (intptr_t value_ = scope.value; scope.state == GC__NATIVE_ENTERED; scope.state = GC__NATIVE_DONE)

GC_API void gc__native_leave(gc__native_scope *scope);
static const gc_frame_site gc__native_site
    __attribute__((unused)) = {"the object of a native call", "GC_NATIVE_CALL", __FILE__, 0, 0};

static inline __attribute__((always_inline)) gc__native_scope gc__native_open(gc_thread *thread) {
    gc__native_scope scope;
    scope.thread = thread;
    scope.counted = false;
    scope.state = GC__NATIVE_NEW;
    scope.outer = gc__mode_enter(thread, GC_MODE_COOPERATIVE);
    return scope;
}

static inline bool gc__native_begin_ref(gc__native_scope *scope, gc_native_ref ref) {
    scope->object = ref.object;
    scope->value = ref.value;
    return true;
}

static inline bool gc__native_begin(gc__native_scope *scope, gc_safe_handle *handle) {
    scope->object = handle;
    if (gc_safe_handle_add_ref(handle, &scope->counted) == GC_OK)
        scope->value = handle->value;
    else
        scope->state = GC__NATIVE_SKIPPED;
    return scope->counted;
}

/* Inline, so that the caller's registers are saved. */
static inline __attribute__((always_inline)) bool gc__native_enter(gc__native_scope *scope) {
    scope->state = GC__NATIVE_ENTERED;
    scope->slot = &scope->object;
    scope->frame.previous = scope->thread->frames;
    scope->frame.site = &gc__native_site;
    scope->frame.thread = scope->thread;
    scope->frame.count = 1;
    scope->frame.slots = &scope->slot;
    scope->thread->frames = &scope->frame;
    scope->inner = gc__mode_enter(scope->thread, GC_MODE_PREEMPTIVE);
    return true;
}

#endif

#ifdef GC_IMPLEMENTATION
/* The handle table: segments of blocks of 64 handles of one kind.

   A place holds its object or, while it is free, the address of the next free place + 1. Each attached thread has a
   cache of free places per kind, and so has the heap; a cache is a list linked by these addresses. No place ever moves
   or is returned to the system before the heap is destroyed, so the tag of a place shows that a handle was destroyed.

   youth[clump] is 2 - the generation of the youngest object that the clump's 16 handles refer to, as in the rank table.
   Invariant: it is never too low, so a collection of generation n only processes clumps with a youth of at least 2 - n.
   Stores raise it to 2, always the same value, so that two threads cannot undo each other's store; collections lower
   it. A segment is young if any of its clumps has a youth. Each store also clears the precleaned bits of the clump's
   handles, after the place was written.

   Two kinds have an extra word for each place: the second object of a dependent handle, the host word of a ref-counted
   one.

   A thread in cooperative mode uses its caches, and the places of handles, without a lock: no collection runs. Stores
   to places release and loads acquire, so a handle also publishes what was stored into a new object. Any other thread
   takes heap->handles->lock. No thread waits while it holds that lock, and the collector holds it from gathering roots
   until it is done with handles. */


#define GC__HANDLE_SEGMENT_BYTES ((size_t)1 << 16)
#define GC__HANDLE_BLOCKS 96
#define GC__HANDLE_BLOCK 64
#define GC__HANDLE_EXTRA_BYTES (GC__HANDLE_BLOCK * sizeof(gc_word))
#define GC__HANDLE_CLUMP 16
#define GC__BLOCK_CLUMPS (GC__HANDLE_BLOCK / GC__HANDLE_CLUMP)
#define GC__HANDLE_CLUMPS (GC__HANDLE_BLOCKS * GC__BLOCK_CLUMPS)
#define GC__HANDLE_CHUNK 64 /* clumps in a chunk, the unit in which collections choose the handles to process */
#define GC__HANDLE_CHUNKS (GC__HANDLE_CLUMPS / GC__HANDLE_CHUNK)
#define GC__CHUNK_BLOCKS (GC__HANDLE_CHUNK / GC__BLOCK_CLUMPS)
#define GC__CHOSEN_SHIFT 4 /* a chosen chunk is the segment, the kinds in it, as bits, and its number */
#define GC__HANDLE_PLACES (GC__HANDLE_BLOCKS * GC__HANDLE_BLOCK)
#define GC__HANDLE_CACHE_MAX 512 /* free places of one kind in a thread's cache */
#define GC__HANDLE_TAG_SHIFT 48
#define GC__HANDLE_FREE ((uintptr_t)1)
#define GC__ALL_PRECLEANED 0xFFFFu /* all bits of a clump */

typedef struct gc__handle_segment {
    struct gc__handle_segment *next;
    gc_heap *heap;
    uint8_t young;                       /* atomic; 0: all of `youth` is 0 */
    uint8_t kinds[GC__HANDLE_BLOCKS];    /* GC_HANDLE_KINDS: the block is free */
    uint8_t youth[GC__HANDLE_CLUMPS];    /* atomic */
    uint16_t precleaned[GC__HANDLE_CLUMPS]; /* atomic; a bit for each handle, see gc__clump_preclean */
    gc_word *extras[GC__HANDLE_BLOCKS]; /* 64 words each, or NULL */
    uint16_t tags[GC__HANDLE_PLACES];
    gc_word places[GC__HANDLE_PLACES];
} gc__handle_segment;

/* A list of free places of one kind. */
typedef struct gc__handle_cache {
    uintptr_t first;
    size_t count;
} gc__handle_cache;

typedef struct gc__handles {
    gc__lock lock; /* guards all fields */
    bool is_kept;  /* a collection or a walk holds the lock, and its callbacks may call functions on handles */
    gc__handle_segment *segments;
    gc__handle_cache free[GC_HANDLE_KINDS]; /* places, by kind */
    gc__handle_cache free_blocks;           /* the first places of free blocks */
    uintptr_t *chosen;                      /* has room for all chunks, see gc__clumps_choose */
    size_t chosen_count, segment_count;
    size_t extra_count; /* blocks with extra words */
    unsigned least; /* the least youth of clumps that are processed */
    bool skips;     /* precleaned handles are skipped */
    gc__preclean preclean; /* a piece is the address of a segment plus the number of a clump in it; 0: the first one */
    gc__words waiting, ready;               /* during a collection: waits for keys; waits whose keys were reached */
    size_t indexed;                         /* the waits before this word are in `keys` */
    gc__map keys;
} gc__handles;

GC__STATIC_ASSERT(GC__BLOCK_CLUMPS == 4 && GC__HANDLE_CLUMPS % GC__HANDLE_CHUNK == 0, "the pieces of a segment");
GC__STATIC_ASSERT(GC__HANDLE_CHUNKS <= 1u << GC__CHOSEN_SHIFT && GC_HANDLE_KINDS + GC__CHOSEN_SHIFT < 16, "what names a piece");
GC__STATIC_ASSERT(sizeof(gc__handle_segment) <= GC__HANDLE_SEGMENT_BYTES, "a segment's size");

GC__FN bool gc__handle_has_extra(gc_handle_kind kind) {
    return kind == GC_HANDLE_DEPENDENT || kind == GC_HANDLE_REF_COUNTED;
}

/* True if the place holds no object: its handle has none, or it is free. */
GC__FN bool gc__place_is_empty(gc_word place) { return !place || (place & GC__HANDLE_FREE); }

GC__FN gc__handle_segment *gc__handle_segment_of(uintptr_t place) {
    return (gc__handle_segment *)(place & ~(GC__HANDLE_SEGMENT_BYTES - 1));
}

GC__FN size_t gc__handle_index(const gc__handle_segment *segment, uintptr_t place) {
    return (place - (uintptr_t)segment->places) / sizeof(gc_word);
}

GC__FN gc_handle_kind gc__handle_kind(const gc__handle_segment *segment, size_t index) {
    return (gc_handle_kind)segment->kinds[index / GC__HANDLE_BLOCK];
}

GC__FN gc_word *gc__handle_extra(gc__handle_segment *segment, size_t index) {
    return &segment->extras[index / GC__HANDLE_BLOCK][index % GC__HANDLE_BLOCK];
}

/* Return the kind, and the extra word, of the handle with that place. */
GC__FN gc_handle_kind gc__place_kind(const gc_word *place) {
    const gc__handle_segment *segment = gc__handle_segment_of((uintptr_t)place);
    return gc__handle_kind(segment, gc__handle_index(segment, (uintptr_t)place));
}
GC__FN gc_word *gc__place_extra(const gc_word *place) {
    gc__handle_segment *segment = gc__handle_segment_of((uintptr_t)place);
    return gc__handle_extra(segment, gc__handle_index(segment, (uintptr_t)place));
}

GC__FN gc_handle gc__handle_value(const gc__handle_segment *segment, size_t index) {
    uintptr_t tag = __atomic_load_n(&segment->tags[index], __ATOMIC_RELAXED);
    return (gc_handle)((uintptr_t)&segment->places[index] | tag << GC__HANDLE_TAG_SHIFT);
}

/* Returns whether an object of the heap seems to begin at the address, as far as that is cheap to determine: in a
   linear region, or where objects are born old, another word may look like a type. */
GC__FN bool gc__seems_object(const gc_heap *heap, uintptr_t address) {
    gc__region *region = gc__in_arena(address) ? gc__region_of(address) : NULL;
    if (!region || !gc__region_is_of(region, heap)) return true;
    if (region->kind == GC__LARGE) return address == region->base;
    if (region->kind != GC__SMALL || address % sizeof(gc_word)) return false;
    gc_word word = GC__WORD(address);
    bool linear = __atomic_load_n(&region->linear, __ATOMIC_ACQUIRE); /* another thread may be formatting the region */
    /* An object that has just been born old has no mark yet. */
    if (!linear && (!heap->born_left || gc__mark_get(address))) return gc__mark_get(address);
    return GC_HAS_MODEL || (word && word % sizeof(gc_word) == 0 && !gc__in_arena(word));
}

/* Must be called after `ref` was stored to the place, or to its extra word. */
GC__FN void gc__place_remember(const gc_word *place, uintptr_t ref) {
    gc__handle_segment *segment = gc__handle_segment_of((uintptr_t)place);
    size_t clump = gc__handle_index(segment, (uintptr_t)place) / GC__HANDLE_CLUMP;
    uint8_t *youth = &segment->youth[clump];
    GC_ASSERT(gc__seems_object(segment->heap, ref),
              "%p was given to a handle, but no object begins there: it is an address within an object, or one that a collection "
              "has made stale",
              (void *)ref);
    if (gc__youth(ref) > __atomic_load_n(youth, __ATOMIC_RELAXED)) {
        __atomic_store_n(youth, 2, __ATOMIC_RELAXED);
        __atomic_store_n(&segment->young, (uint8_t)1, __ATOMIC_RELAXED);
    }
    if (GC__HAS_MARKER) __atomic_store_n(&segment->precleaned[clump], (uint16_t)0, __ATOMIC_RELEASE);
}

GC__FN void gc__handle_cache_push(gc__handle_cache *cache, gc_word *place) {
    __atomic_store_n(place, cache->first | GC__HANDLE_FREE, __ATOMIC_RELAXED);
    cache->first = (uintptr_t)place;
    cache->count++;
}

GC__FN gc_word *gc__handle_cache_pop(gc__handle_cache *cache) {
    gc_word *place = (gc_word *)cache->first;
    cache->first = *place - GC__HANDLE_FREE;
    cache->count--;
    return place;
}

GC__OUT_OF_LINE void gc__handle_cache_move(gc__handle_cache *from, gc__handle_cache *to, size_t count) {
    for (; count && from->count; count--) gc__handle_cache_push(to, gc__handle_cache_pop(from));
}

/* Adds the block's places to the cache, the first one on top. */
GC__FN void gc__handle_block_chain(gc__handle_segment *segment, size_t block, gc__handle_cache *cache) {
    for (size_t i = GC__HANDLE_BLOCK; i-- > 0;)
        gc__handle_cache_push(cache, &segment->places[block * GC__HANDLE_BLOCK + i]);
}

/* Reports that memory for handles was refused, which counts towards the limit. */
GC__COLD bool gc__handle_no_memory(gc_heap *heap, size_t bytes) {
    gc__count(&heap->metadata_bytes, 0 - bytes);
    return gc__fail_memory("gc_handle_create", "more handles") == GC_OK;
}

/* Adds a segment; its free blocks are linked by their first places. Requires the handles' lock. */
GC__FN bool gc__handle_segment_add(gc__handles *handles, gc_heap *heap) {
    size_t pieces = (handles->segment_count + 1) * GC__HANDLE_CHUNKS;
    if (!gc__metadata_reserve(heap, GC__HANDLE_SEGMENT_BYTES, gc__room_for_handles)) return false;
    void *memory = realloc(handles->chosen, pieces * sizeof *handles->chosen);
    if (!memory) return gc__handle_no_memory(heap, GC__HANDLE_SEGMENT_BYTES);
    handles->chosen = (uintptr_t *)memory;
    /* Less than GC__HANDLE_SEGMENT_BYTES: otherwise, with malloc's word, the next segment could not follow directly. */
    if (!gc__os_new_aligned(&memory, GC__HANDLE_SEGMENT_BYTES, sizeof(gc__handle_segment)))
        return gc__handle_no_memory(heap, GC__HANDLE_SEGMENT_BYTES);
    gc__handle_segment *segment = (gc__handle_segment *)memory;
    memset(segment, 0, sizeof *segment);
    memset(segment->kinds, GC_HANDLE_KINDS, sizeof segment->kinds);
    segment->heap = heap;
    segment->next = handles->segments;
    handles->segments = segment;
    handles->segment_count++;
    for (size_t block = GC__HANDLE_BLOCKS; block-- > 0;)
        gc__handle_cache_push(&handles->free_blocks, &segment->places[block * GC__HANDLE_BLOCK]);
    return true;
}

/* Allocates the extra words of a block. Requires the handles' lock. */
GC__FN gc_word *gc__handle_extra_new(gc_heap *heap) {
    if (!gc__metadata_reserve(heap, GC__HANDLE_EXTRA_BYTES, gc__room_for_handles)) return NULL;
    gc_word *extra = (gc_word *)calloc(1, GC__HANDLE_EXTRA_BYTES);
    if (extra)
        heap->handles->extra_count++;
    else
        gc__handle_no_memory(heap, GC__HANDLE_EXTRA_BYTES);
    return extra;
}

/* Takes a block. Returns false with gc__fail if there is no memory, or no room. */
GC__FN bool gc__handle_block_take(gc_heap *heap, gc_handle_kind kind, gc__handle_cache *cache) {
    gc__handles *handles = heap->handles;
    gc_word *extra = NULL;
    if (!handles->free_blocks.count && !gc__handle_segment_add(handles, heap)) return false;
    if (gc__handle_has_extra(kind) && !(extra = gc__handle_extra_new(heap))) return false;
    uintptr_t first = (uintptr_t)gc__handle_cache_pop(&handles->free_blocks);
    gc__handle_segment *segment = gc__handle_segment_of(first);
    size_t block = gc__handle_index(segment, first) / GC__HANDLE_BLOCK;
    segment->kinds[block] = (uint8_t)kind;
    segment->extras[block] = extra;
    gc__handle_block_chain(segment, block, cache);
    return true;
}

/* Gives a cache some free places, or fails with gc__fail. Requires the handles' lock. */
GC__FN bool gc__handle_cache_fill(gc_heap *heap, gc_handle_kind kind, gc__handle_cache *cache) {
    gc__handle_cache *shared = &heap->handles->free[kind];
    if (cache != shared) gc__handle_cache_move(shared, cache, GC__HANDLE_BLOCK);
    return cache->count || gc__handle_block_take(heap, kind, cache);
}

/* Returns whether this thread holds the handles' lock for a collection or a walk, so that a callback is the caller. */
GC__FN bool gc__handles_are_mine(const gc_heap *heap) { return gc__heap_is_locked(heap) && heap->handles->is_kept; }

/* Returns whether a collection holds the handles' lock that waits for the trace function which this thread runs. */
GC__FN bool gc__handles_are_elsewhere(const gc_heap *heap) { return gc__is_tracing_elsewhere(heap) && heap->handles->is_kept; }

/* Takes the handles' lock, unless it is already held for this thread: a callback that only reads may be the caller. */
GC__FN bool gc__handles_lock(gc_heap *heap) {
    if (gc__handles_are_mine(heap) || gc__handles_are_elsewhere(heap)) return false;
    gc__lock_take(&heap->handles->lock);
    return true;
}
GC__FN void gc__handles_unlock(gc_heap *heap, bool taken) {
    if (taken) gc__lock_release(&heap->handles->lock);
}

/* Marks the handles' lock as held while callbacks run, until it is released. Requires that the world is stopped. */
GC__FN void gc__handles_keep(gc_heap *heap) {
    gc__lock_take(&heap->handles->lock);
    heap->handles->is_kept = true;
}
GC__FN void gc__handles_release(gc_heap *heap) {
    heap->handles->is_kept = false;
    gc__lock_release(&heap->handles->lock);
}

/* Not inlined, so that functions that make handles need no frame pointer. */
GC__COLD bool gc__handles_refuse(const gc_heap *heap, const char *function) { return gc__is_called_by_hook(heap, function); }

/* Refuses `function`, which makes or destroys a handle, if a callback of a collection or gc_handle_walk calls it. */
GC__FN bool gc__handles_are_kept(const gc_heap *heap, const char *function) {
    return gc__heap_is_locked(heap) && (heap->collecting || heap->handles->is_kept) && gc__handles_refuse(heap, function);
}

/* Returns the calling thread's caches; NULL if it may not use them. */
GC__FN gc__handle_cache *gc__handle_caches(const gc_heap *heap) {
    gc_thread *thread = gc__thread_self(heap);
    return thread && gc__is_cooperative(thread) ? gc__record(thread)->handle_caches : NULL;
}

/* Takes a free place; returns NULL with gc__fail. `mine` is the calling thread's caches, if it may use them; otherwise
   the place is cleared here, under the lock. */
GC__FN gc_word *gc__handle_take(gc_heap *heap, gc_handle_kind kind, gc__handle_cache *mine) {
    gc__handle_cache *cache = mine ? &mine[kind] : &heap->handles->free[kind];
    if (mine && cache->count) return gc__handle_cache_pop(cache);
    if (gc__handles_are_elsewhere(heap) && gc__refuse_in_trace("gc_handle_create")) return NULL;
    gc__lock_take(&heap->handles->lock);
    gc_word *place = cache->count || gc__handle_cache_fill(heap, kind, cache) ? gc__handle_cache_pop(cache) : NULL;
    if (place && !mine) __atomic_store_n(place, (gc_word)0, __ATOMIC_RELAXED);
    gc__lock_release(&heap->handles->lock);
    return place;
}

GC__FN void gc__handle_note(gc_heap *heap, gc_handle handle, gc_handle_kind kind, bool created) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (GC__UNLIKELY(profiler != NULL)) profiler->handle(heap, handle, (unsigned)kind, created);
}

/* object and extra must be 0 unless the calling thread is cooperative. */
GC__FN gc_handle gc__handle_make(gc_heap *heap, gc_handle_kind kind, uintptr_t object, uintptr_t extra) {
    if (gc__handles_are_kept(heap, "gc_handle_create")) return NULL;
    gc__handle_cache *mine = gc__handle_caches(heap);
    GC_ASSERT(mine || !(object | extra),
              "gc_handle_create: a thread that is not attached, or is in preemptive mode, passes an object, which a "
              "collection may move or free meanwhile: attach the thread, and bracket the call by "
              "GC_IN_MODE(thread, GC_MODE_COOPERATIVE)");
    gc_word *place = gc__handle_take(heap, kind, mine);
    if (!place) return NULL;
    if (extra) __atomic_store_n(gc__place_extra(place), extra, __ATOMIC_RELEASE);
    if (mine || object) __atomic_store_n(place, object, __ATOMIC_RELEASE);
    if (extra && kind == GC_HANDLE_DEPENDENT) gc__place_remember(place, extra);
    if (object) gc__place_remember(place, object);
    const gc__handle_segment *segment = gc__handle_segment_of((uintptr_t)place);
    gc_handle handle = gc__handle_value(segment, gc__handle_index(segment, (uintptr_t)place));
    gc__handle_note(heap, handle, kind, true);
    return handle;
}

GC_API gc_handle gc_handle_create(gc_heap *heap, gc_handle_kind kind, void *object) {
    GC__API_SCOPE("gc_handle_create");
    if (gc__is_null(heap, "gc_handle_create", "heap")) return NULL;
    if ((unsigned)kind < GC_HANDLE_KINDS) return gc__handle_make(heap, kind, (uintptr_t)object, 0);
    gc__fail(GC_ERROR_OPTION, "gc_handle_create: %d is not a kind of handle", (int)kind);
    return NULL;
}

GC_API gc_handle gc_handle_create_dependent(gc_heap *heap, void *object, void *dependent) {
    GC__API_SCOPE("gc_handle_create_dependent");
    if (gc__is_null(heap, "gc_handle_create_dependent", "heap")) return NULL;
    return gc__handle_make(heap, GC_HANDLE_DEPENDENT, (uintptr_t)object, (uintptr_t)dependent);
}

/* Returns the place of a handle; NULL if the handle is NULL or was destroyed. */
GC__INLINED gc_word *gc__handle_at(gc_handle handle) {
    uintptr_t place = (uintptr_t)handle & (((uintptr_t)1 << GC__HANDLE_TAG_SHIFT) - 1);
    if (GC__UNLIKELY(!place)) return NULL;
    const gc__handle_segment *segment = gc__handle_segment_of(place);
    uintptr_t tag = __atomic_load_n(&segment->tags[gc__handle_index(segment, place)], __ATOMIC_RELAXED);
    return GC__LIKELY(tag == (uintptr_t)handle >> GC__HANDLE_TAG_SHIFT) ? (gc_word *)place : NULL;
}

GC__OUT_OF_LINE gc_word *gc__handle_lost(gc_handle handle, const char *caller) {
    if (!gc__is_null(handle, caller, "handle"))
        gc__misused(gc__fail(GC_ERROR_HANDLE, "%s: the handle %p was destroyed", caller, (void *)handle));
    return NULL;
}

/* Returns the place of a handle, or NULL with gc__fail. */
GC__INLINED gc_word *gc__handle_find(gc_handle handle, const char *caller) {
    gc_word *place = gc__handle_at(handle);
    return GC__LIKELY(place != NULL) ? place : gc__handle_lost(handle, caller);
}

/* Returns the place of a handle that must belong to the heap, or NULL with gc__fail. */
GC__OUT_OF_LINE gc_word *gc__handle_find_in(gc_heap *heap, gc_handle handle, const char *caller) {
    gc_word *place = gc__handle_find(handle, caller);
    if (!place || GC__LIKELY(gc__handle_segment_of((uintptr_t)place)->heap == heap)) return place;
    gc__misused(gc__fail(GC_ERROR_HANDLE, "%s: the handle %p belongs to another heap", caller, (void *)handle));
    return NULL;
}

/* Returns the place of a handle that must be of the kind, which has an extra word, or NULL with gc__fail. */
GC__OUT_OF_LINE gc_word *gc__handle_find_with_extra(gc_handle handle, const char *caller, gc_handle_kind kind) {
    gc_word *place = gc__handle_find(handle, caller);
    if (!place || gc__place_kind(place) == kind) return place;
    gc__misused(gc__fail(GC_ERROR_HANDLE, "%s: %p is a handle of another kind than %s", caller, (void *)handle,
                         kind == GC_HANDLE_DEPENDENT ? "GC_HANDLE_DEPENDENT" : "GC_HANDLE_REF_COUNTED"));
    return NULL;
}

GC_API gc_handle gc_handle_duplicate(gc_heap *heap, gc_handle handle) {
    GC__API_SCOPE("gc_handle_duplicate");
    if (gc__is_null(heap, "gc_handle_duplicate", "heap")) return NULL;
    const gc_word *place = gc__handle_find_in(heap, handle, "gc_handle_duplicate");
    if (!place) return NULL;
    gc_handle_kind kind = gc__place_kind(place);
    uintptr_t extra = gc__handle_has_extra(kind) ? *gc__place_extra(place) : 0;
    return gc__handle_make(heap, kind, __atomic_load_n(place, __ATOMIC_ACQUIRE), extra);
}

GC__FN void gc__handle_free(gc_word *place, gc__handle_cache *cache) {
    gc__handle_segment *segment = gc__handle_segment_of((uintptr_t)place);
    uint16_t *tag = &segment->tags[gc__handle_index(segment, (uintptr_t)place)];
    __atomic_store_n(tag, (uint16_t)(*tag + 1), __ATOMIC_RELAXED);
    if (gc__handle_has_extra(gc__place_kind(place)))
        __atomic_store_n(gc__place_extra(place), (gc_word)0, __ATOMIC_RELAXED);
    gc__handle_cache_push(cache, place);
}

GC_API gc_result gc_handle_destroy(gc_heap *heap, gc_handle handle) {
    GC__API_SCOPE("gc_handle_destroy");
    if (!handle) return GC_OK;
    if (gc__handles_are_kept(heap, "gc_handle_destroy")) return GC_ERROR_MISUSE;
    gc_word *place = gc__handle_find_in(heap, handle, "gc_handle_destroy");
    if (!place) return gc__last_result;
    gc_handle_kind kind = gc__place_kind(place);
    gc__handle_cache *mine = gc__handle_caches(heap), *shared = &heap->handles->free[kind];
    if (!mine && gc__handles_are_elsewhere(heap) && gc__refuse_in_trace("gc_handle_destroy")) return GC_ERROR_MISUSE;
    gc__handle_note(heap, handle, kind, false);
    if (mine) gc__handle_free(place, &mine[kind]);
    if (mine && mine[kind].count <= GC__HANDLE_CACHE_MAX) return GC_OK;
    gc__lock_take(&heap->handles->lock);
    if (mine)
        gc__handle_cache_move(&mine[kind], shared, GC__HANDLE_CACHE_MAX / 2);
    else
        gc__handle_free(place, shared);
    gc__lock_release(&heap->handles->lock);
    return GC_OK;
}

/* Moves the free places of a thread that detaches to the heap's cache. */
GC__FN void gc__handles_return_cached(gc_thread *thread) {
    gc__handles *handles = thread->heap->handles;
    gc__lock_take(&handles->lock);
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        gc__handle_cache_move(&gc__record(thread)->handle_caches[kind], &handles->free[kind], SIZE_MAX);
    gc__lock_release(&handles->lock);
}

GC_API void *gc_handle_get(gc_handle handle) {
    const gc_word *place = gc__handle_find(handle, "gc_handle_get");
    return place ? (void *)__atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;
}

/* Returns whether the place is one of the segment's, in use, and has the handle's tag. Asserts nothing. */
GC__FN bool gc__handle_is_current(gc__handle_segment *segment, uintptr_t place, uintptr_t tag) {
    uintptr_t first = (uintptr_t)segment->places;
    if (place < first || place >= first + sizeof segment->places || (place - first) % sizeof(gc_word)) return false;
    size_t index = gc__handle_index(segment, place);
    return segment->kinds[index / GC__HANDLE_BLOCK] != GC_HANDLE_KINDS &&
           __atomic_load_n(&segment->tags[index], __ATOMIC_RELAXED) == tag &&
           !(__atomic_load_n(&segment->places[index], __ATOMIC_RELAXED) & GC__HANDLE_FREE);
}

GC_API bool gc_handle_is_valid(gc_heap *heap, gc_handle handle) {
    if (gc__is_null(heap, "gc_handle_is_valid", "heap") || !handle) return false;
    uintptr_t tag = (uintptr_t)handle >> GC__HANDLE_TAG_SHIFT;
    uintptr_t place = (uintptr_t)handle ^ tag << GC__HANDLE_TAG_SHIFT;
    bool valid = false;
    bool taken = gc__handles_lock(heap);
    for (gc__handle_segment *segment = heap->handles->segments; segment && !valid; segment = segment->next)
        valid = gc__handle_is_current(segment, place, tag);
    gc__handles_unlock(heap, taken);
    return valid;
}

GC_API gc_result gc_handle_try_get(gc_handle handle, void **object) {
    if (gc__is_null(object, "gc_handle_try_get", "object")) return GC_ERROR_ARGUMENT;
    *object = NULL;
    if (!handle) return gc__fail(GC_ERROR_ARGUMENT, "gc_handle_try_get: handle is NULL");
    const gc_word *place = gc__handle_at(handle);
    if (!place) return gc__fail(GC_ERROR_HANDLE, "gc_handle_try_get: the handle %p was destroyed", (void *)handle);
    *object = (void *)__atomic_load_n(place, __ATOMIC_ACQUIRE);
    return GC_OK;
}

GC_API gc_result gc_handle_set(gc_handle handle, void *object) {
    gc_word *place = gc__handle_find(handle, "gc_handle_set");
    if (!place) return gc__last_result;
    __atomic_store_n(place, (uintptr_t)object, __ATOMIC_RELEASE);
    gc__place_remember(place, (uintptr_t)object);
    return GC_OK;
}

GC_API void *gc_handle_compare_exchange(gc_handle handle, void *object, void *expected) {
    gc_word *place = gc__handle_find(handle, "gc_handle_compare_exchange"), held = (uintptr_t)expected;
    if (!place) return NULL;
    if (__atomic_compare_exchange_n(place, &held, (uintptr_t)object, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        gc__place_remember(place, (uintptr_t)object);
    return (void *)held;
}

/* The clump's youth must account for a dependent, which is a reference, but not for a host word. */
GC__FN gc_result gc__handle_set_extra(gc_handle handle, const char *caller, gc_handle_kind kind, void *word) {
    gc_word *place = gc__handle_find_with_extra(handle, caller, kind);
    if (!place) return gc__last_result;
    __atomic_store_n(gc__place_extra(place), (uintptr_t)word, __ATOMIC_RELEASE);
    if (kind == GC_HANDLE_DEPENDENT) gc__place_remember(place, (uintptr_t)word);
    return GC_OK;
}

GC_API void *gc_handle_dependent(gc_handle handle) {
    const gc_word *place = gc__handle_find_with_extra(handle, "gc_handle_dependent", GC_HANDLE_DEPENDENT);
    if (!place || !__atomic_load_n(place, __ATOMIC_ACQUIRE)) return NULL;
    return (void *)__atomic_load_n(gc__place_extra(place), __ATOMIC_ACQUIRE);
}

GC_API gc_result gc_handle_set_dependent(gc_handle handle, void *dependent) {
    return gc__handle_set_extra(handle, "gc_handle_set_dependent", GC_HANDLE_DEPENDENT, dependent);
}

GC_API void *gc_handle_host_word(gc_handle handle) {
    const gc_word *place = gc__handle_find_with_extra(handle, "gc_handle_host_word", GC_HANDLE_REF_COUNTED);
    return place ? (void *)__atomic_load_n(gc__place_extra(place), __ATOMIC_RELAXED) : NULL;
}

GC_API gc_result gc_handle_set_host_word(gc_handle handle, void *word) {
    return gc__handle_set_extra(handle, "gc_handle_set_host_word", GC_HANDLE_REF_COUNTED, word);
}

typedef bool (*gc__handle_visit)(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra);

GC__FN bool gc__handle_segment_walk(gc__handle_segment *segment, gc_handle_kind kind, gc__handle_visit visit,
                                    void *context) {
    for (size_t index = 0; index < GC__HANDLE_PLACES; index++) {
        uintptr_t object = segment->places[index];
        if (gc__handle_kind(segment, index) != kind || (object & GC__HANDLE_FREE)) continue;
        uintptr_t extra = gc__handle_has_extra(kind) ? *gc__handle_extra(segment, index) : 0;
        if (!visit(context, gc__handle_value(segment, index), kind, (void *)object, (void *)extra)) return false;
    }
    return true;
}

GC_API void gc_handle_walk(gc_heap *heap, gc__handle_visit visit, void *context) {
    if (gc__is_null(heap, "gc_handle_walk", "heap") || gc__is_null(visit ? heap : NULL, "gc_handle_walk", "visit"))
        return;
    if (gc__handles_are_kept(heap, "gc_handle_walk")) return;
    bool going = true;
    gc__world_stop(heap);
    gc__handles_keep(heap);
    for (int kind = 0; going && kind < GC_HANDLE_KINDS; kind++)
        for (gc__handle_segment *segment = heap->handles->segments; going && segment; segment = segment->next)
            going = gc__handle_segment_walk(segment, (gc_handle_kind)kind, visit, context);
    gc__handles_release(heap);
    gc__world_resume(heap);
}

/* Cooperative threads may use their places during the count. */
GC_API size_t gc_handle_count(gc_heap *heap, gc_handle_kind kind) {
    if (gc__is_null(heap, "gc_handle_count", "heap")) return 0;
    size_t count = 0;
    bool taken = gc__handles_lock(heap);
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        for (size_t i = 0; i < GC__HANDLE_PLACES; i++)
            count += gc__handle_kind(segment, i) == kind &&
                     !(__atomic_load_n(&segment->places[i], __ATOMIC_RELAXED) & GC__HANDLE_FREE);
    gc__handles_unlock(heap, taken);
    return count;
}

GC__FN void gc__handles_free_all(gc_heap *heap) {
    while (heap->handles->segments) {
        gc__handle_segment *segment = heap->handles->segments;
        heap->handles->segments = segment->next;
        for (size_t block = 0; block < GC__HANDLE_BLOCKS; block++) free(segment->extras[block]);
        gc__os_free_aligned(segment);
    }
    free(heap->handles->chosen);
}
/* The objects that have finalizers, and the queues of those that are due.

   registered: pairs of object and finalizer, generation 2 first; start[g] is where those of generation g begin. No
   object is younger than its section of the list says, so a collection of generation n only needs the list from
   start[n] on. Pairs of one object are in the order of their registration. In the section of generation 2 a removed
   pair is empty (its words are 0) until the list is compacted. due: two queues of pairs, normal and critical; their
   objects are roots. If no thread runs finalizers these may be many, so collections visit only the `young` ones, which
   may move, unless the whole heap is marked with the program stopped. Concurrent marking treats a queue like an array
   that it scans: a thread that takes a pair out before the marker has come to it shades its object.

   During concurrent marking the marker precleans the old pairs, once it has marked what it can. A pair whose object is
   marked and will not move needs nothing in the final mark either, since marks are not taken back; so the final mark
   only processes the others, which are unclean, and pairs that have become old since. If objects of unclean pairs are
   white, a remark makes sure that these cannot be reached: then their finalizers are due. Which pairs that are need not
   be known before somebody asks: the remark decides about a few, and the marker's thread about the rest, or an earlier
   asker does. Until all are decided (`deciding`) the marker marks nothing. So what was white in the remark is white
   still, and no object counts as reached because another one refers to it whose finalizer is due.

   Invariant: each list has room for all existing pairs, and for those promised to objects that are being allocated. So
   no collection needs memory for pairs, and none is ever dropped.

   The finalizers' lock guards all of this; no other lock is taken under it. */


#ifndef GC__DECIDE_AT_ONCE
#define GC__DECIDE_AT_ONCE 512 /* pairs about which a remark decides */
#endif

enum { GC__NORMAL, GC__CRITICAL };

typedef struct gc__due {
    gc__words pairs;
    size_t head;            /* words that were taken out */
    size_t looked;          /* objects before this word, and not in `young`, are of generation 2 and stay in place */
    /* [shaded, shading) was queued when the cycle began, or by a remark, and the marker has not come to it yet */
    size_t shaded, shading;
} gc__due;

/* A running finalizer. The record is not on the thread's stack, so it outlives one that does not return to gc.h. */
typedef struct gc__finalizing {
    struct gc__finalizing *next;
    const gc_thread *thread;
    const gc_stack *stack; /* the stack on which the thread ran */
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
    size_t empty;           /* words of removed pairs in the old section */
    /* [packed, packing) of the old section is empty: pairs from `packing` on are moved to `packed` */
    size_t packed, packing;
    /* Pairs of the old section, by their numbers: [old.next, start[1]) were not looked at in this cycle. A pair is
       unclean if its object was white or will move. */
    gc__preclean old;
    gc__words asked;        /* the numbers of unclean pairs whose objects may be asked only with the world stopped */
    size_t sought;          /* so many of the unclean pairs had no white object any more, before a remark */
    size_t decided;         /* since the remark: so many unclean pairs are queued, or are the first `old.kept` ones */
    bool deciding;          /* since the remark: not all unclean pairs are decided; atomic */
    size_t promised;
    gc__due due[2];
    gc__words young; /* queued pairs that collections visit: the index of each pair's first word, | GC__CRITICAL */
    bool young_unknown; /* there was no memory to record one of these, or old objects may have become young */
    gc__words moving;        /* used during a collection */
    bool announce;           /* a collection has queued finalizers; written with the world stopped */
    gc__finalizing *running; /* under the lock */
    gc__finalizing *spare;   /* under the lock */
    gc__finalizing first;    /* a record in one of these two lists, so that one finalizer can run even without memory */
    bool ending;             /* under the lock; the heap is being destroyed, and waits for each finalizer's end */
    uint32_t event;          /* atomic; changes when finalizers were queued or have run, or the state has changed */
    uint32_t state;          /* of the finalizer thread; atomic */
    gc__os_thread thread;    /* written by the threads that start and end it */
} gc__finalizers;
enum { GC__FINALIZERS_NONE, GC__FINALIZERS_START, GC__FINALIZERS_RUN, GC__FINALIZERS_STOP, GC__FINALIZERS_ENDED };

GC__FN size_t gc__due_count(const gc__due *due) { return (due->pairs.count - due->head) / 2; }

GC__OUT_OF_LINE size_t gc__due_total(const gc__finalizers *all) {
    return gc__due_count(&all->due[GC__NORMAL]) + gc__due_count(&all->due[GC__CRITICAL]);
}

GC__FN gc__due *gc__due_of(gc__finalizers *all, uintptr_t finalizer) {
    return &all->due[((const gc_finalizer *)finalizer)->critical ? GC__CRITICAL : GC__NORMAL];
}

/* Returns whether the object itself says that its finalizer is not needed. */
GC__FN bool gc__is_suppressed(uintptr_t object, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return ask && ask((const void *)object);
}

/* Adjusts all indices into a queue before `words` words are removed from it, from `from` on. */
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

/* Moves the queued pairs to the start of their list, if they are few compared to those that were taken out. */
GC__COLD void gc__due_compact(gc__finalizers *all, uintptr_t queue) {
    gc__due *due = &all->due[queue];
    if (!due->head || due->pairs.count - due->head > due->head / 4) return;
    gc__due_shift(all, queue, 0, due->head);
    due->pairs.count -= due->head;
    memmove(due->pairs.words, due->pairs.words + due->head, due->pairs.count * sizeof(uintptr_t));
    due->head = 0;
}

/* Shades the object of a pair that leaves its queue, if the marker has not come to it. Otherwise the final mark would
   have to trace what is found there. Most of these objects will be dead, so many of them must not fill the buffer. */
GC__FN void gc__due_shade(const gc__due *due, size_t at) {
    uintptr_t object = due->pairs.words[at];
    if (at >= due->shaded && at < due->shading && !gc__shade_checks(gc__region_of(object)->heap)) gc__shade_word(object);
}

/* Appends a pair. There must be room. */
GC__FN void gc__pair_push(gc__words *list, uintptr_t object, uintptr_t finalizer) {
    list->words[list->count++] = object;
    list->words[list->count++] = finalizer;
}

/* The lists that have room for all pairs: `registered`, `moving` and the queues. */
enum { GC__FINALIZER_LISTS = 4 };
GC__FN gc__words *gc__finalizers_list(gc__finalizers *all, int i) {
    return i > 1 ? &all->due[i - 2].pairs : i ? &all->moving : &all->registered;
}

/* Returns for how many words that list needs room, for that many more pairs. Lists of due pairs include pairs taken from
   the front: compacting at each registration would be slow. */
GC__COLD size_t gc__finalizers_needed(gc__finalizers *all, int i, size_t more) {
    size_t words = all->registered.count + 2 * (all->promised + more) - (i ? all->empty : 0);
    return i > 1 ? words + all->due[i - 2].pairs.count : words;
}

/* Computes how much of the lists' memory counts, now (sums[0]) and with room for all promised pairs and one more
   (sums[1]). If `does`, makes the room. */
GC__COLD bool gc__finalizers_size(gc__finalizers *all, bool close, bool does, size_t sums[2]) {
    bool ok = true;
    sums[0] = sums[1] = 0;
    for (int i = 0; i < GC__FINALIZER_LISTS; i++) {
        gc__words *list = gc__finalizers_list(all, i);
        size_t bytes = gc__words_room(list, gc__finalizers_needed(all, i, 1), close);
        sums[0] += gc__words_bytes(list);
        sums[1] += gc__words_charged(bytes);
        if (does) ok = ok && gc__words_resize(list, bytes);
    }
    return ok;
}

static const char gc__room_for_finalizers[] =
    "more finalizers, 64 bytes each: raise the limit, or drop references to objects that have them, call gc_collect unless an "
    "allocation has failed, and have finalizers run";

/* Makes the lists grow for one more pair, by doubling or, near the limit, by little. Returns false with gc__fail. */
GC__FN bool gc__finalizers_grow(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    const gc__words *normal = &all->due[GC__NORMAL].pairs, *critical = &all->due[GC__CRITICAL].pairs;
    size_t sums[2], words = all->registered.count + 2 * (all->promised + 1), live = words - all->empty;
    bool fits = all->registered.capacity >= words && all->moving.capacity >= live;
    if (GC__LIKELY(fits && normal->capacity - normal->count >= live && critical->capacity - critical->count >= live)) return true;
    for (int close = 0; close < 2; close++) {
        gc__finalizers_size(all, close, false, sums);
        if (!gc__metadata_reserve(heap, sums[1] - sums[0], gc__room_for_finalizers)) continue;
        if (gc__finalizers_size(all, close, true, sums)) return true;
        gc__fail(GC_ERROR_MEMORY, "the system gives no memory for one more finalizer");
        return false;
    }
    return false;
}

/* Shrinks the lists to what they need, after a collection near the limit. Requires that the world is stopped. */
GC__FN void gc__finalizers_shrink(gc__finalizers *all) {
    gc__lock_take(&all->lock);
    gc__due_compact(all, GC__NORMAL);
    gc__due_compact(all, GC__CRITICAL);
    for (int i = 0; i < GC__FINALIZER_LISTS; i++)
        gc__words_shrink(gc__finalizers_list(all, i), gc__finalizers_needed(all, i, 0));
    gc__words *numbers[] = {&all->old.unclean, &all->asked, &all->young};
    for (int i = 0; i < 3; i++) gc__words_shrink(numbers[i], numbers[i]->count);
    gc__lock_release(&all->lock);
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

/* Registers the finalizer, for which room was promised. If object is NULL, only withdraws the promise, if there is
   one. */
GC__FN void gc__finalizer_add(gc_thread *thread, void *object, const gc_finalizer *finalizer) {
    gc__finalizers *all = thread->heap->finalizers;
    if (!gc__record(thread)->promised) return;
    gc__record(thread)->promised--;
    gc__lock_take(&all->lock);
    all->promised--;
    if (object) gc__pair_push(&all->registered, (uintptr_t)object, (uintptr_t)finalizer);
    gc__lock_release(&all->lock);
}

/* Returns the index of the object's last pair in words[from, count), or SIZE_MAX. */
GC__FN size_t gc__pair_find(const gc__words *list, size_t from, uintptr_t object) {
    size_t i = list->count;
    while (i > from && list->words[i - 2] != object) i -= 2;
    return i > from ? i - 2 : SIZE_MAX;
}

GC__FN void gc__pair_remove(gc__words *list, size_t at) {
    list->count -= 2;
    memmove(&list->words[at], &list->words[at + 2], (list->count - at) * sizeof(uintptr_t));
}

GC__FN bool gc__is_deciding(const gc__finalizers *all) {
    return GC__HAS_MARKER && __atomic_load_n(&all->deciding, __ATOMIC_ACQUIRE);
}

/* Removes a pair of the old section. */
GC__FN void gc__pair_empty(gc__finalizers *all, uintptr_t *pair) {
    pair[0] = pair[1] = 0;
    all->empty += 2;
}

/* Forgets what is recorded about the old section, which is about to change otherwise than by growth or removal. */
GC__COLD void gc__finalizers_preclean_begin(gc__finalizers *all) {
    gc__preclean_begin(&all->old, 0);
    all->packed = all->packing = all->asked.count = all->sought = 0;
    __atomic_store_n(&all->deciding, false, __ATOMIC_RELEASE);
}

/* Moves some of the old pairs into the gaps of removed ones. Returns whether more are left. */
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

GC__FN void gc__finalizers_notify(gc__finalizers *all) {
    __atomic_fetch_add(&all->event, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&all->event);
}

/* Returns a record for one more running finalizer; NULL if there is no memory. Requires the lock. */
GC__FN gc__finalizing *gc__finalizing_new(gc__finalizers *all) {
    gc__finalizing *record = all->spare;
    if (!record) return (gc__finalizing *)malloc(sizeof *record);
    all->spare = record->next;
    return record;
}

/* Requires the lock. */
GC__FN void gc__finalizing_remove(gc__finalizers *all, gc__finalizing **link) {
    gc__finalizing *record = *link;
    gc__record(record->thread)->finalizing--;
    *link = record->next;
    record->next = all->spare;
    all->spare = record;
}

/* Called by the thread, in a function of gc.h with this frame. Finalizers that the thread ran from there, or from a
   frame farther in, have been left by longjmp, or by an exception through C code: forgets them. If `frame` is NULL,
   forgets all that the thread runs. Requires the lock. */
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
        /* If half of the section is empty, unless numbers of pairs are still needed. */
        if (all->empty > all->start[1] / 2 && !gc__is_deciding(all)) gc__finalizers_compact(all);
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
        gc__finalizers_notify(all); /* a thread may be waiting for this last finalizer */
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
    if (!finalizer->finalize || !gc__in_arena((uintptr_t)object) || !gc__region_is_of(gc__region_of((uintptr_t)object), heap))
        return gc__misused(gc__fail(GC_ERROR_MISUSE, "gc_finalizer_register: %s",
                                   finalizer->finalize ? "the object is not one of this heap" : "there is no function"));
    if (!gc__finalizer_promise(thread)) return gc__last_result;
    gc__finalizer_add(thread, object, finalizer);
    return GC_OK;
}

/* Finalizers in a collection. */

GC__HOT void gc__due_visit(const gc__due *due, size_t from, size_t end, gc_visitor *visitor) {
    for (size_t at = gc__max(from, due->head); at < end; at += 2) gc_visit(visitor, &due->pairs.words[at], 1, 0);
}

GC__HOT void gc__finalizers_visit_queued(gc_heap *heap, gc_visitor *visitor) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    for (int i = 0; i < 2; i++) gc__due_visit(&all->due[i], 0, all->due[i].pairs.count, visitor);
    gc__lock_release(&all->lock);
}

/* Returns whether a collection during concurrent marking may move a queued object, or free it unless it is visited. */
GC__FN bool gc__due_is_young(uintptr_t object) { return gc__youth(object) || gc__is_candidate(object); }

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

/* Visits the roots of the collection that begins: queued objects that it may move, and in a final mark those that the
   marker has not come to. */
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
    all->young_unknown |= full; /* in a non-moving heap, holes of old regions may be given to mutators */
    for (size_t i = 0; !whole && i < all->young.count; i++) {
        uintptr_t entry = all->young.words[i];
        gc_visit(visitor, &all->due[entry & 1].pairs.words[entry & ~(uintptr_t)1], 1, 0);
    }
    gc__lock_release(&all->lock);
}

/* Lets the marker shade what is queued when a cycle begins. */
GC__COLD void gc__due_preclean_begin(gc__finalizers *all) {
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

/* Puts back the pairs whose objects survive in `generation`. */
GC__FN void gc__finalizers_put(gc__finalizers *all, int generation) {
    for (size_t i = 0; i < all->moving.count; i += 2) {
        uintptr_t object = all->moving.words[i];
        if (!object || gc__region_of(object)->target != generation) continue;
        gc__pair_push(&all->registered, object, all->moving.words[i + 1]);
    }
}

/* After the trace, updates the pair to its object's address; queues it if that was not reached. Returns whether it
   was. */
GC__FN bool gc__finalizer_follow(gc__finalizers *all, uintptr_t *pair) {
    uintptr_t object = pair[0], finalizer = pair[1];
    pair[0] = gc__address_after_trace(object);
    if (!pair[0] && !gc__is_suppressed(gc__memory_of_dead(object), finalizer))
        gc__pair_push(&gc__due_of(all, finalizer)->pairs, object, finalizer);
    return pair[0] != 0;
}

/* Prefetches the object of the old pair, which is about to be read, and its mark. */
GC__FN void gc__finalizer_await(const gc__finalizers *all, size_t at) {
    uintptr_t object = at < all->start[1] ? all->registered.words[at] : 0;
    if (!object) return;
    __builtin_prefetch((const void *)object);
    __builtin_prefetch(&gc__region_of(object)->heap->marker->marks[gc__mark_index(object) >> 6]);
}

GC__HOT void gc__finalizers_follow_some(gc__finalizers *all, const gc__words *numbers) {
    for (size_t i = 0; i < numbers->count; i++) {
        if (i + GC__FIFO < numbers->count) gc__finalizer_await(all, numbers->words[i + GC__FIFO]);
        uintptr_t *pair = &all->registered.words[numbers->words[i]];
        if (pair[0] && !gc__finalizer_follow(all, pair)) gc__pair_empty(all, pair);
    }
}

/* Follows the old pairs, except those about which the marker has found that nothing is to be done, or, in a remark, that
   are decided later. */
GC__FN void gc__finalizers_follow_old(gc__finalizers *all) {
    uintptr_t *words = all->registered.words;
    gc__finalizers_follow_some(all, &all->asked);
    for (size_t at = all->old.next; at < all->start[1]; at += 2) {
        gc__finalizer_await(all, at + 2 * GC__FIFO);
        if (words[at] && !gc__finalizer_follow(all, &words[at])) gc__pair_empty(all, &words[at]);
    }
}

/* Queues an old object that stays in place, for the marker to shade. Collections need not visit it unless they have to
   visit one before it. */
GC__FN void gc__due_push_old(gc__finalizers *all, uintptr_t object, uintptr_t finalizer) {
    gc__due *due = gc__due_of(all, finalizer);
    bool looked = due->looked == due->pairs.count;
    gc__pair_push(&due->pairs, object, finalizer);
    due->shading = due->pairs.count;
    if (looked) due->looked = due->pairs.count;
}

/* After a remark, queues the white objects of `pairs` unclean pairs, and of more until one is due. Requires the lock. */
GC__HOT void gc__finalizers_decide(gc__finalizers *all, size_t pairs) {
    gc__words *numbers = &all->old.unclean;
    if (!gc__is_deciding(all)) return;
    for (size_t due = gc__due_total(all); all->decided < numbers->count; pairs -= pairs != 0) {
        if (!pairs && gc__due_total(all) != due) return;
        if (all->decided + GC__FIFO < numbers->count) gc__finalizer_await(all, numbers->words[all->decided + GC__FIFO]);
        size_t number = numbers->words[all->decided++];
        uintptr_t *pair = &all->registered.words[number], object = pair[0];
        if (!object) continue;
        if (!gc__shade_is_white(object)) {
            numbers->words[all->old.kept++] = number;
            continue;
        }
        if (!gc__is_suppressed(object, pair[1])) gc__due_push_old(all, object, pair[1]);
        gc__pair_empty(all, pair);
    }
    numbers->count = all->old.kept;
    __atomic_store_n(&all->deciding, false, __ATOMIC_RELEASE);
}

/* Decides about all pairs that are left. Requires that the world is stopped. */
GC__FN void gc__finalizers_decide_all(gc__finalizers *all) {
    gc__lock_take(&all->lock);
    gc__finalizers_decide(all, SIZE_MAX);
    gc__lock_release(&all->lock);
}

/* In a remark, when nothing white can be reached: finalizers of old white objects are due. */
GC__COLD void gc__finalizers_remark(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    size_t before = gc__due_total(all);
    gc__finalizers_follow_old(all);
    for (int i = 0; i < 2; i++) all->due[i].shading = all->due[i].pairs.count;
    all->decided = all->old.kept = 0;
    all->deciding = all->old.unclean.count != 0;
    gc__finalizers_decide(all, GC__DECIDE_AT_ONCE);
    size_t due = gc__due_total(all) - before;
    all->announce |= due != 0;
    heap->pause.finalizers += due;
    heap->pause.finalizers_left = gc__is_deciding(all) ? all->old.unclean.count - all->decided : 0;
    gc__lock_release(&all->lock);
}

/* After the trace: queues all objects that were not reached, and only then traces from them, so that none counts as
   reached because another one refers to it. */
GC__HOT void gc__finalizers_queue_dead(gc__worker *worker, int generation) {
    gc__finalizers *all = worker->heap->finalizers;
    size_t from[2];
    gc__lock_take(&all->lock);
    for (int i = 0; i < 2; i++) {
        gc__due_compact(all, (uintptr_t)i);
        from[i] = all->due[i].pairs.count;
    }
    if (gc__is_mark_end(worker->heap)) {
        gc__finalizers_follow_some(all, &all->old.unclean);
        gc__finalizers_follow_old(all);
        gc__finalizers_preclean_begin(all);
        generation = 1;
    }
    gc__finalizers_take(all, generation);
    for (size_t i = 0; i < all->moving.count; i += 2) gc__finalizer_follow(all, &all->moving.words[i]);
    for (int g = GC_GENERATIONS; g-- > 0;) {
        if (g <= generation) all->start[g] = all->registered.count;
        gc__finalizers_put(all, g); /* into this section, or into a younger one whose start is known already */
    }
    for (int i = 0; i < 2; i++)
        for (size_t at = from[i]; at < all->due[i].pairs.count; at += 2) {
            all->announce = true;
            worker->heap->pause.finalizers++;
            gc__enqueue(worker, &all->due[i].pairs.words[at], false);
        }
    gc__lock_release(&all->lock);
}

/* Warns once about each finalizer that has run for longer than the host's patience. */
GC__COLD void gc__finalizers_watch(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    uint64_t now = gc__os_now_ns(), ms = 0;
    const char *type = NULL, *thread = NULL;
    gc__lock_take(&all->lock);
    for (gc__finalizing *record = all->running; record && !type; record = record->next) {
        ms = gc__ns_since(now, record->started_ns) / GC__NS_PER_MS;
        if (record->reported || ms < heap->options.patience_ms) continue;
        record->reported = true;
        type = record->type;
        thread = gc__thread_name(record->thread);
    }
    gc__lock_release(&all->lock);
    if (type)
        gc__warn(&heap->options,
                 "the finalizer of a `%s` has been running for %llu ms, on the thread `%s`, and all others wait for it", type,
                 (unsigned long long)ms, thread);
}

/* If finalizers were queued, wakes the finalizer thread and waiting threads, and calls the host. The world is
   stopped. */
GC__FN void gc__finalizers_announce(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    if (all->running) gc__finalizers_watch(heap);
    if (!all->announce) return;
    all->announce = false;
    gc__lock_take(&all->lock);
    if (gc__is_deciding(all)) gc__due_note_young(all); /* pairs queued later have old objects */
    gc__lock_release(&all->lock);
    gc__finalizers_notify(all);
    if (heap->options.finalizers_ready) heap->options.finalizers_ready(heap->options.host);
}
/* Waits, and the entries of weak tables.

   A wait is a slot that is to be traced when an object, its key, has been reached: the dependent of a dependent handle,
   or an ephemeron's value. A wait whose key was not reached yet is in heap->handles->waiting, as a triple: the key, the
   slot (| 1 if it holds a tagged value), and the number (from 1) of the next wait for the same key. heap->handles->keys
   maps each key to the number of its first wait; when the trace reaches the key (gc__awaited_reached), it puts that
   number on heap->handles->ready. So the time is linear in the number of waits. Without memory for this index, each
   round checks all waits again. So do the first rounds, since mostly nothing is left to trace soon, and then no other
   key can be reached. */


#define GC__WAITS_ROUNDS 3 /* without an index, which takes ten times as long: few waits need more */
#define GC__NOTE_AHEAD 32  /* discovered entries with more pairs than this are not prefetched */

GC__FN void gc__waits_begin(gc_heap *heap) {
    gc__handles *handles = heap->handles;
    handles->waiting.count = handles->ready.count = handles->indexed = 0;
    gc__map_reset(&handles->keys);
}

/* Traces until nothing is left: in a remark on the marker's worker. */
GC__FN void gc__waits_drain(gc__worker *worker) {
    if (gc__is_concurrent(worker))
        gc__remark_drain(worker->heap);
    else
        gc__trace_drain(worker);
}

GC__FN void gc__wait_end(gc__worker *worker, uintptr_t slot) {
    gc__enqueue(worker, (gc_word *)(slot & ~(uintptr_t)1), slot & 1);
}

/* Makes the slot wait for the key, if that is necessary and there is memory for it; otherwise traces the slot. */
GC__FN void gc__wait(gc__worker *worker, uintptr_t key, uintptr_t slot) {
    gc__words *waiting = &worker->heap->handles->waiting;
    if (!key || gc__address_after_trace(key) || !gc__words_reserve(waiting, waiting->count + 3)) {
        gc__wait_end(worker, slot);
        return;
    }
    gc__words_push(waiting, key);
    gc__words_push(waiting, slot);
    gc__words_push(waiting, 0);
}

/* Checks all waits without an index, and traces from those whose key was reached. Returns whether there were any. */
GC__FN bool gc__waits_round(gc__worker *worker) {
    gc__words *waiting = &worker->heap->handles->waiting;
    size_t kept = worker->heap->handles->indexed, count = waiting->count;
    for (size_t i = kept; i < count; i += 3) {
        if (i + 3 * GC__FIFO < count) gc__reached_await(waiting->words[i + 3 * GC__FIFO]);
        if (gc__address_after_trace(waiting->words[i])) {
            gc__wait_end(worker, waiting->words[i + 1]);
        } else {
            waiting->words[kept] = waiting->words[i];
            waiting->words[kept + 1] = waiting->words[i + 1];
            kept += 3;
        }
    }
    waiting->count = kept;
    return kept < count;
}

/* Makes the trace detect when it reaches a key. Returns false if there is no memory. */
GC__FN bool gc__waits_index(gc__worker *worker) {
    gc__handles *handles = worker->heap->handles;
    gc__words *waiting = &handles->waiting;
    if (handles->indexed == waiting->count) return true;
    if (worker->heap->options.test.scarce_memory || !gc__map_reserve(&handles->keys, waiting->count / 3) ||
        !gc__words_reserve(&handles->ready, waiting->count / 3))
        return false;
    worker->found = &handles->ready;
    worker->awaited = &handles->keys; /* before the first key is entered: tracing may reach it at once */
    for (size_t i = handles->indexed; i < waiting->count; i += 3) {
        if (gc__address_after_trace(waiting->words[i])) {
            gc__wait_end(worker, waiting->words[i + 1]);
            continue;
        }
        uintptr_t *number = gc__map_put(&handles->keys, waiting->words[i]);
        waiting->words[i + 2] = *number;
        *number = i / 3 + 1;
    }
    handles->indexed = waiting->count;
    return true;
}

/* Traces from the waits whose keys were reached. Returns whether there were any. */
GC__FN bool gc__waits_trace_ready(gc__worker *worker) {
    const gc__words *waiting = &worker->heap->handles->waiting;
    gc__words *ready = &worker->heap->handles->ready;
    if (!ready->count) return false;
    while (ready->count) {
        size_t number = ready->words[--ready->count];
        for (; number; number = waiting->words[3 * number - 1]) gc__wait_end(worker, waiting->words[3 * number - 2]);
        gc__waits_drain(worker);
    }
    return true;
}

/* Prefetches the marks of the weak references of discovered entries that come next, if these are few. */
GC__FN void gc__discovered_await(const gc__discovered *notes, size_t at) {
    gc_weak_entries entries;
    if (at >= notes->words.count) return;
    memcpy(&entries, notes->words.words + at, sizeof entries);
    bool value = gc__flags_value(entries.flags), keys = entries.kind != GC_WEAK_VALUES;
    for (size_t i = 0; i < entries.count && entries.count <= GC__NOTE_AHEAD; i++)
        gc__reached_await(gc__slot_ref(keys ? gc__entry_key(&entries, i) : gc__entry_value(&entries, i), value));
}

/* Turns ephemerons that the trace has discovered since the last call into waits, or traces them. Returns whether there
   were any. */
GC__FN bool gc__discovered_wait(gc__worker *worker) {
    gc__discovered *notes = &worker->cycle->entries;
    bool any = false;
    for (; notes->waited < notes->words.count; notes->waited += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + notes->waited, sizeof entries);
        if (entries.kind != GC_WEAK_EPHEMERONS) continue;
        gc__discovered_await(notes, notes->waited + GC__DISCOVERED_WORDS);
        any = true;
        bool value = gc__flags_value(entries.flags);
        for (size_t i = 0; i < entries.count; i++) {
            const gc_word *slot = gc__entry_value(&entries, i);
            if (worker->verdicts[gc__slot_ref(slot, value) >> GC_REGION_SHIFT])
                gc__wait(worker, gc__slot_ref(gc__entry_key(&entries, i), value), (uintptr_t)slot | value);
        }
    }
    return any;
}

/* Traces until no wait has a key that was reached. If nothing was left to trace after the waits were recorded, none
   has. */
GC__HOT void gc__waits_fixpoint(gc__worker *worker) {
    unsigned rounds = 0;
    for (bool more = true; more;) {
        bool traces = !gc__trace_is_done(worker);
        gc__waits_drain(worker);
        more = gc__discovered_wait(worker);
        if (!rounds && !traces && gc__trace_is_done(worker)) return;
        if (!more && !worker->heap->handles->waiting.count) return;
        if (rounds++ < GC__WAITS_ROUNDS || !gc__waits_index(worker)) more |= gc__waits_round(worker);
        gc__waits_drain(worker);
        more |= gc__waits_trace_ready(worker);
        more |= worker->cycle->entries.waited < worker->cycle->entries.words.count; /* either has met more tables */
    }
}

/* Updates a weak slot to its object's new address. Returns false if the object is dead. */
GC__FN bool gc__weak_follow(gc_word *slot, bool value) {
    uintptr_t word = *slot, ref = gc__slot_decode(slot, word, value), now = gc__address_after_trace(ref);
    if (now != ref && now) *slot = gc__slot_encode(now, word, value);
    return now || !ref;
}

/* For checkmark: records the strong part of an entry that is cleared, unless only its table is old and dead. */
GC__FN void gc__entry_ended(gc__discovered *notes, const gc_weak_entries *entries, size_t i) {
    const gc_word *strong = entries->kind == GC_WEAK_KEYS     ? gc__entry_value(entries, i)
                            : entries->kind == GC_WEAK_VALUES ? gc__entry_key(entries, i) : NULL;
    uintptr_t ref = strong ? gc__slot_ref(strong, gc__flags_value(entries->flags)) : 0;
    if (ref && gc__address_after_trace(ref)) gc__words_push(&notes->ended, ref);
}

/* Returns the index of the first weak reference, from the i-th on, that has to change; `value` is constant where this
   is inlined. Most entries of a table do not change, or are empty, and cost a few instructions each. */
GC__INLINED size_t gc__entries_next(uintptr_t keys, size_t i, size_t count, size_t bytes, bool value) {
    const uintptr_t base = gc__the_arena.base, size = gc__the_arena.bytes;
    for (const char *at = (const char *)keys + i * bytes; i < count; i++, at += bytes) {
        uintptr_t ref = gc__slot_ref((const gc_word *)(const void *)at, value);
        if (ref - base >= size) continue;
        uint8_t verdict = GC__VERDICTS[ref >> GC_REGION_SHIFT];
        if (verdict && (!(verdict & GC__MARK) || gc__reached(ref, verdict) != ref)) break;
    }
    return i;
}

/* Updates the weak slots of the entries to their objects' new addresses; clears and counts entries whose objects
   died. */
GC__FN void gc__entries_clear(gc_heap *heap, const gc_weak_entries *entries) {
    bool value = gc__flags_value(entries->flags), pairs = entries->kind != GC_WEAK_REFS;
    size_t cleared = 0;
    const uintptr_t bytes = entries->entry_bytes, keys = (uintptr_t)entries->keys;
    for (size_t i = 0; i < entries->count; i++) {
        if (!pairs && value) i = gc__entries_next(keys, i, entries->count, bytes, true);
        if (!pairs && !value) i = gc__entries_next(keys, i, entries->count, bytes, false);
        if (i == entries->count) break;
        gc_word *key = (gc_word *)(keys + i * bytes);
        gc_word *partner = pairs ? gc__entry_value(entries, i) : NULL;
        bool lives = entries->kind == GC_WEAK_VALUES || gc__weak_follow(key, value);
        if (entries->kind == GC_WEAK_VALUES || entries->kind == GC_WEAK_PAIRS) lives &= gc__weak_follow(partner, value);
        if (lives) continue;
        if (gc__is_checkmarked(heap)) gc__entry_ended(&heap->cycle->entries, entries, i);
        if (entries->cleared) entries->cleared(key, partner);
        *key = entries->cleared_key;
        if (pairs) *partner = entries->cleared_value;
        cleared++;
    }
    if (entries->cleared_count) *entries->cleared_count += cleared;
}

/* Clears the short entries that the trace has discovered; if `all`, the long ones, and those discovered since. */
GC__HOT void gc__discovered_clear(gc_heap *heap, bool all) {
    gc__discovered *notes = &heap->cycle->entries;
    for (size_t at = 0; at < notes->words.count; at += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + at, sizeof entries);
        gc__discovered_await(notes, at + GC__DISCOVERED_WORDS);
        bool ephemerons = entries.kind == GC_WEAK_EPHEMERONS;
        unsigned late = ephemerons ? ~entries.flags & GC_SLOT_WEAK_SHORT : entries.flags & GC_SLOT_WEAK_LONG;
        if (all ? late || at >= notes->cleared : !late) gc__entries_clear(heap, &entries);
    }
    notes->cleared = notes->words.count;
}

/* For checkmark: visits the values of ephemerons with reached keys. Returns whether any value was not reached yet. */
GC__FN bool gc__discovered_checkmark(gc_heap *heap, gc_visitor *visitor,
                                bool (*reached)(gc_visitor *visitor, uintptr_t object)) {
    const gc__discovered *notes = &heap->cycle->entries;
    bool any = false;
    for (size_t at = 0; at < notes->words.count; at += GC__DISCOVERED_WORDS) {
        gc_weak_entries entries;
        memcpy(&entries, notes->words.words + at, sizeof entries);
        bool value = gc__flags_value(entries.flags);
        for (size_t i = 0; entries.kind == GC_WEAK_EPHEMERONS && i < entries.count; i++) {
            gc_word *partner = gc__entry_value(&entries, i);
            if (!reached(visitor, gc__slot_ref(gc__entry_key(&entries, i), value)) ||
                reached(visitor, gc__slot_ref(partner, value)))
                continue;
            any = true;
            gc_visit(visitor, partner, 1, entries.flags & (unsigned)GC_SLOT_VALUE);
        }
    }
    return any;
}
/* SafeHandle's state word: bit 0 closed, bit 1 disposed, above them the count. Every change is one compare-and-exchange
   of the whole word, so `release` runs exactly once: by the change that takes the count from 1 to 0 while not
   closed. */


#if !GC_HAS_MODEL

#define GC__SAFE_CLOSED 1u
#define GC__SAFE_DISPOSED 2u
#define GC__SAFE_ONE 4u

GC__FN gc_result gc__safe_disposed(const gc_safe_handle *handle, const char *caller) {
    return gc__fail(GC_ERROR_DISPOSED, "%s: the safe handle (%s) has been closed", caller, handle->kind->name);
}

GC__FN gc_result gc__safe_null(const char *caller) {
    return gc__fail(GC_ERROR_ARGUMENT, "%s: the safe handle is NULL", caller);
}

GC__FN bool gc__safe_change(gc_safe_handle *handle, uint32_t *state, uint32_t next) {
    return __atomic_compare_exchange_n(&handle->state, state, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

GC_API gc_result gc_safe_handle_add_ref(gc_safe_handle *handle, bool *success) {
    if (!handle) return gc__safe_null("gc_safe_handle_add_ref");
    uint32_t state = __atomic_load_n(&handle->state, __ATOMIC_SEQ_CST);
    do {
        if (state & GC__SAFE_CLOSED) return gc__safe_disposed(handle, "gc_safe_handle_add_ref");
        if (state > UINT32_MAX - GC__SAFE_ONE)
            return gc__fail(GC_ERROR_MISUSE,
                            "gc_safe_handle_add_ref: 2^30 - 1 users of one safe handle (%s) are too many",
                            handle->kind->name);
    } while (!gc__safe_change(handle, &state, state + GC__SAFE_ONE));
    *success = true;
    return GC_OK;
}

/* The object may move or die during the host's release, so nothing of it is read after that. */
GC__COLD void gc__safe_close(gc_thread *thread, const gc_safe_handle_kind *kind, intptr_t value) {
    int error = errno;
    bool closed;
    {
        GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
        closed = kind->release(value);
    }
    if (!closed && thread->heap)
        gc__warn(&thread->heap->options, "the release of a %s (value %lld) failed", kind->name, (long long)value);
    errno = error;
}

GC__FN gc_result gc__safe_release(gc_thread *thread, gc_safe_handle *handle, bool dispose, const char *caller) {
    if (!handle) return gc__safe_null(caller);
    const gc_safe_handle_kind *kind = handle->kind;
    intptr_t value = handle->value;
    uint32_t state = __atomic_load_n(&handle->state, __ATOMIC_SEQ_CST), next;
    bool last;
    do {
        if (dispose && (state & GC__SAFE_DISPOSED)) return GC_OK;
        if (state < GC__SAFE_ONE) return gc__safe_disposed(handle, caller);
        last = state / GC__SAFE_ONE == 1;
        next = state - GC__SAFE_ONE;
        if (last) next |= GC__SAFE_CLOSED;
        if (dispose) next |= GC__SAFE_DISPOSED;
    } while (!gc__safe_change(handle, &state, next));
    if (last && !(state & GC__SAFE_CLOSED) && handle->owned && !kind->is_invalid(value))
        gc__safe_close(thread, kind, value);
    return GC_OK;
}

GC_API gc_result gc_safe_handle_release(gc_thread *thread, gc_safe_handle *handle) {
    return gc__safe_release(thread, handle, false, "gc_safe_handle_release");
}

GC_API gc_result gc_safe_handle_dispose(gc_thread *thread, gc_safe_handle *handle) {
    return handle ? gc__safe_release(thread, handle, true, "gc_safe_handle_dispose") : GC_OK;
}

GC_API gc_result gc_safe_handle_set_invalid(gc_thread *thread, gc_safe_handle *handle) {
    (void)thread;
    if (!handle) return gc__safe_null("gc_safe_handle_set_invalid");
    __atomic_fetch_or(&handle->state, GC__SAFE_CLOSED, __ATOMIC_SEQ_CST);
    return GC_OK;
}

GC_API gc_result gc_safe_handle_set_value(gc_safe_handle *handle, intptr_t value) {
    if (!handle) return gc__safe_null("gc_safe_handle_set_value");
    uint32_t state = __atomic_load_n(&handle->state, __ATOMIC_SEQ_CST);
    if (state & GC__SAFE_CLOSED) return gc__safe_disposed(handle, "gc_safe_handle_set_value");
    if (state != GC__SAFE_ONE)
        return gc__fail(GC_ERROR_MISUSE, "gc_safe_handle_set_value: the safe handle (%s) has users already",
                        handle->kind->name);
    handle->value = value;
    return GC_OK;
}

GC__FN void gc__safe_finalize(gc_thread *thread, void *object) {
    gc__safe_release(thread, (gc_safe_handle *)object, true, "the finalizer");
}

/* Returns whether the finalizer would do nothing: the handle was closed by its last user, or set invalid; or it was
   disposed, and its last user will close it. */
GC__FN bool gc__safe_is_suppressed(const void *object) {
    const gc_safe_handle *handle = (const gc_safe_handle *)object;
    return __atomic_load_n(&handle->state, __ATOMIC_SEQ_CST) & (GC__SAFE_CLOSED | GC__SAFE_DISPOSED);
}

static const gc_finalizer gc__safe_finalizer = {gc__safe_finalize, true, gc__safe_is_suppressed};

static const gc_type gc__safe_type = GC_TYPE_LEAF(gc_safe_handle);
static const gc_type gc__safe_owning_type = GC_TYPE_LEAF_FINALIZED(gc_safe_handle, gc__safe_finalizer);

GC_API gc_safe_handle *gc_safe_handle_new(gc_thread *thread, const gc_safe_handle_kind *kind, intptr_t value,
                                          bool owned) {
    if (gc__is_null(thread, "gc_safe_handle_new", "thread") || gc__is_null(kind, "gc_safe_handle_new", "kind"))
        return NULL;
    gc_safe_handle *handle = (gc_safe_handle *)gc_new(thread, owned ? &gc__safe_owning_type : &gc__safe_type);
    if (!handle) return NULL;
    handle->kind = kind;
    handle->value = value;
    handle->state = GC__SAFE_ONE;
    handle->owned = owned;
    return handle;
}

GC_API void gc__native_leave(gc__native_scope *scope) {
    int error = errno;
    if (scope->state == GC__NATIVE_ENTERED || scope->state == GC__NATIVE_DONE) { /* or else what says the handle has thrown */
        gc__mode_leave(&scope->inner);
        scope->thread->frames = scope->frame.previous;
        if (scope->counted && scope->thread->heap) /* which may have been destroyed meanwhile */
            gc__safe_release(scope->thread, (gc_safe_handle *)scope->object, false, "GC_NATIVE_CALL");
    }
    gc__mode_leave(&scope->outer);
    errno = error;
}
#else
GC__VAR bool (*const gc__safe_is_suppressed)(const void *) = NULL; /* there are none */
#endif
/* Precleaning: the marker determines concurrently with mutators which handles, which pairs of objects and finalizers, and
   which slices of weak tables the final mark need not process.

   They are processed in pieces. A piece is clean if all objects to which it refers, weakly or not, are of generation 2,
   marked, and will not move: the final mark would change nothing there. The marker makes passes over the pieces of a
   kind, and shades strong parts on the way: the object of a strong or pinned handle, the dependent of a marked object,
   a value of a marked key. Since that may lead to the object of another piece, more passes follow. A clean piece stays
   so until somebody stores to it:

   * A handle is stored to without a lock. Each store clears the precleaned bits of its clump, after the place was
     written. An empty handle is clean only if it has no dependent, since the dependent is dropped, and may be dead.
   * Pairs change under the finalizers' lock, and a registered object never changes.
   * Only tables whose entries lie in an object are precleaned, since then every store to an entry passes a barrier: the
     stored object is marked by the end of the cycle, or collections process its card or slot. */


#define GC__PRECLEAN_PAIRS 512 /* pairs processed, or moved, under one hold of the finalizers' lock */
#define GC__PRECLEAN_CLUMPS 32 /* clumps processed under one hold of the handles' lock */
#define GC__PRECLEAN_FEW 256   /* pieces stored to during a pass: so few that the final mark processes them quickly */
/* Entries that begin in a slice may end in the next one, and be plain slots when the slice is looked at again. */
#define GC__TABLE_REACH (2 * GC__TABLE_SLICE)
#define GC__TABLE_STRETCH (32 * GC__TABLE_SLICE) /* bytes for which the trace function is called once */
#define GC__TABLE_AGAIN 32                       /* slices processed again under one hold of the marker's lock */

/* Calls `step`, which processes a part, under the lock of what it processes. Returns whether more is left: always if
   another thread has the lock, which may be forking, and taking the marker's lock. */
GC__FN bool gc__preclean_locked(gc_heap *heap, gc__lock *lock, bool (*step)(gc_heap *heap)) {
    if (!gc__lock_try(lock)) return true;
    bool more = step(heap);
    gc__lock_release(lock);
    return more;
}

/* Returns whether a pass is under way, or one begins. */
GC__OUT_OF_LINE bool gc__preclean_is_due(gc__preclean *all) {
    if (all->runs || !all->again || !all->passes) return all->runs;
    all->passes--;
    all->again = false;
    all->next = all->kept = all->stored = 0;
    return all->runs = true;
}

/* Ends a pass if it is over. Returns whether there is more to do. Another pass pays off if this one has shaded an
   object or has met many stores, and after the next collection. */
GC__OUT_OF_LINE bool gc__preclean_goes_on(gc__preclean *all, bool over) {
    all->runs = !over;
    all->again |= over && all->stored > GC__PRECLEAN_FEW;
    return all->runs || (all->again && all->passes);
}

GC__FN bool gc__is_precleaned(uintptr_t object) {
    if (!gc__in_arena(object)) return true;
    unsigned age = gc__barrier_age(&gc__tables, object);
    if (!(age & GC__AGE_MARKING) || age & GC__AGE_CANDIDATE) return false;
    return gc__shade_bit(gc__region_of(object)->heap->marker->marks, object);
}

/* Returns whether the handle is clean. If `shaded` is not NULL, shades the object of a strong or pinned handle, or a
   marked object's dependent, and sets *shaded. */
GC__FN bool gc__handle_is_clean(gc__handle_segment *segment, size_t index, gc_handle_kind kind, bool *shaded) {
    uintptr_t object = __atomic_load_n(&segment->places[index], __ATOMIC_RELAXED), other = 0;
    if (kind == GC_HANDLE_DEPENDENT) other = __atomic_load_n(gc__handle_extra(segment, index), __ATOMIC_RELAXED);
    if (gc__place_is_empty(object)) return !other;
    bool strong = kind == GC_HANDLE_STRONG || kind == GC_HANDLE_PINNED;
    if (!strong && !gc__is_precleaned(object)) return false;
    uintptr_t kept = strong ? object : other;
    if (gc__is_precleaned(kept)) return true;
    if (!shaded || !gc__is_marking(kept)) return false;
    gc__marker_shade(segment->heap, kept);
    *shaded = true;
    return gc__is_precleaned(kept);
}

/* Determines which of the clump's other handles are clean, too, and sets their precleaned bits. `shaded` as above. */
GC__FN void gc__clump_preclean(gc__handle_segment *segment, size_t clump, bool *shaded) {
    size_t first = clump * GC__HANDLE_CLUMP;
    gc_handle_kind kind = gc__handle_kind(segment, first);
    uint16_t all = GC__ALL_PRECLEANED;
    /* read before the clump's places */
    uint16_t precleaned = __atomic_exchange_n(&segment->precleaned[clump], all, __ATOMIC_ACQ_REL);
    for (unsigned i = 0; i < GC__HANDLE_CLUMP; i++) {
        if (precleaned >> i & 1) continue;
        bool clean = kind == GC_HANDLE_KINDS || gc__handle_is_clean(segment, first + i, kind, shaded);
        precleaned |= (uint16_t)((unsigned)clean << i);
    }
    /* If a store has come in between, the exchange fails, and no handle of the clump is precleaned. */
    __atomic_compare_exchange_n(&segment->precleaned[clump], &all, precleaned, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Begins a cycle: no handle is precleaned. */
GC__COLD void gc__handles_preclean_begin(gc_heap *heap) {
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        memset(segment->precleaned, 0, sizeof segment->precleaned);
    gc__preclean_begin(&heap->handles->preclean, GC__PRECLEAN_PASSES);
    gc__preclean_allow(&heap->handles->preclean);
}

/* Precleans some clumps. Requires the handles' lock. */
GC__HOT bool gc__handles_preclean_some(gc_heap *heap) {
    gc__preclean *all = &heap->handles->preclean;
    if (!gc__preclean_is_due(all)) return false;
    gc__handle_segment *segment = all->next ? gc__handle_segment_of(all->next) : heap->handles->segments;
    size_t clump = all->next & (GC__HANDLE_SEGMENT_BYTES - 1);
    for (size_t left = GC__PRECLEAN_CLUMPS; segment && left;) {
        unsigned precleaned = __atomic_load_n(&segment->precleaned[clump], __ATOMIC_RELAXED);
        if (precleaned != GC__ALL_PRECLEANED) {
            all->stored += !precleaned;
            gc__clump_preclean(segment, clump, &all->again);
            left--;
        }
        if (++clump < GC__HANDLE_CLUMPS) continue;
        segment = segment->next;
        clump = 0;
    }
    all->next = (uintptr_t)segment + clump;
    return gc__preclean_goes_on(all, !segment);
}

GC__FN void gc__clump_await(const gc__handle_segment *segment, size_t clump) {
    for (size_t i = clump * GC__HANDLE_CLUMP; i < (clump + 1) * GC__HANDLE_CLUMP; i++) {
        uintptr_t object = segment->places[i];
        if (gc__is_marking(object)) __builtin_prefetch(&segment->heap->marker->marks[gc__mark_index(object) >> 6]);
    }
}

/* At the start of the final mark, precleans clumps that were stored to; most of their handles have not changed.
   Requires that the world is stopped. */
GC__HOT void gc__handles_preclean_last(gc_heap *heap) {
    for (gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        for (size_t clump = 0; clump < GC__HANDLE_CLUMPS; clump++) {
            uint64_t block;
            memcpy(&block, &segment->precleaned[clump / GC__BLOCK_CLUMPS * GC__BLOCK_CLUMPS], sizeof block);
            if (block == ~(uint64_t)0) clump |= GC__BLOCK_CLUMPS - 1;
            if (segment->precleaned[clump]) continue;
            gc__clump_await(segment, clump);
            gc__clump_preclean(segment, clump, NULL);
        }
}

/* Shades some objects whose finalizers are due. Returns false when all that were queued when the cycle began are
   shaded. Requires the finalizers' lock, as do the next functions. */
GC__HOT bool gc__due_preclean_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    size_t left = GC__PRECLEAN_PAIRS;
    bool more = false;
    for (uintptr_t queue = 0; queue < 2; queue++) {
        gc__due *due = &all->due[queue];
        due->shaded = gc__max(due->shaded, due->head);
        for (; left && due->shaded < due->shading; left--, due->shaded += 2) {
            uintptr_t object = due->pairs.words[due->shaded], ahead = gc__min(due->shaded + 2 * GC__FIFO, due->shading - 2);
            __builtin_prefetch(&heap->marker->marks[gc__mark_index(due->pairs.words[ahead]) >> 6], 1);
            if (!gc__is_marking(object)) continue;
            if (gc__is_candidate(object)) all->young_unknown |= !gc__words_push(&all->young, due->shaded | queue);
            gc__marker_shade(heap, object);
        }
        more |= due->shaded < due->shading;
    }
    return more || gc__marker_grey(heap->marker);
}

#if GC__HAS_MARKER
/* Returns whether the marker may ask if a finalizer is suppressed: the host allows it, or the function is gc.h's. */
GC__FN bool gc__finalizer_may_ask(const gc_heap *heap, uintptr_t finalizer) {
    bool (*ask)(const void *) = ((const gc_finalizer *)finalizer)->is_suppressed;
    return !ask || ask == gc__safe_is_suppressed || heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT;
}

/* While no pair is precleaned, compacts part of the list, if much of it is empty. Returns false if there is no need. */
GC__FN bool gc__pairs_compact_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    return (all->packing || all->empty > all->start[1] / 8) && gc__finalizers_compact_some(all, GC__PRECLEAN_PAIRS);
}

/* Precleans some of the old pairs. Returns false if all are done, or there is no memory to record more. */
GC__FN bool gc__pairs_preclean_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__preclean *old = &all->old;
    bool room = true;
    if (!old->next && gc__pairs_compact_some(heap)) return true;
    for (size_t i = 0; room && i < GC__PRECLEAN_PAIRS && old->next < all->start[1]; i++) {
        gc__finalizer_await(all, old->next + 2 * GC__FIFO);
        uintptr_t object = all->registered.words[old->next];
        if (object && !gc__is_precleaned(object)) {
            bool asks = gc__shade_is_white(object) && !gc__finalizer_may_ask(heap, all->registered.words[old->next + 1]);
            room = gc__shade_push(heap, asks ? &all->asked : &old->unclean, old->next);
        }
        if (room) old->next += 2;
    }
    return room && old->next < all->start[1];
}

/* When nothing else is left, seeks a white object that has a finalizer. Then a remark is due, once in a cycle. Not if a
   remark would have to scan regions for want of memory: the final mark does. Returns false if the answer is known. */
GC__FN bool gc__pairs_seek_some(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__marker *marker = heap->marker;
    const gc__words *numbers = &all->old.unclean;
    if (marker->remark || marker->unasked) return false;
    bool found = all->asked.count != 0;
    for (size_t i = 0; i < GC__PRECLEAN_PAIRS && !found && all->sought < numbers->count; i++) {
        uintptr_t object = all->registered.words[numbers->words[all->sought]];
        found = object && gc__shade_is_white(object);
        all->sought += !found;
    }
    if (found) __atomic_store_n(&marker->remark, (uint8_t)GC__REMARK_DUE, __ATOMIC_RELAXED);
    return !found && all->sought < numbers->count;
}

/* After a remark, decides which of some pairs are due. */
GC__FN bool gc__pairs_decide_some(gc_heap *heap) {
    gc__finalizers_decide(heap->finalizers, GC__PRECLEAN_PAIRS);
    return true;
}

typedef struct gc__precleaner {
    gc__part_visitor part; /* the part's worker is NULL */
    gc_heap *heap;
    uint32_t left; /* bit n: the n-th slice of the stretch is not clean */
} gc__precleaner;

/* Returns whether the slot's referent is clean, which it is not if half of a store is seen. If `strong`, shades it. */
GC__FN bool gc__entry_part_is_clean(gc__precleaner *precleaner, gc_word *slot, bool value, bool strong) {
    uintptr_t object = gc__slot_decode(slot, __atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if (GC__VALUES_ARE_WIDE && value && gc__in_arena(object) && !gc__shade_is_sound(precleaner->heap, object)) return false;
    if (gc__is_precleaned(object)) return true;
    if (!strong || !gc__is_marking(object) || gc__is_candidate(object)) return false;
    gc__marker_shade(precleaner->heap, object);
    precleaner->heap->marker->slices.again = true;
    return gc__is_precleaned(object);
}

GC__FN void gc__table_preclean_entries(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__precleaner *precleaner = (gc__precleaner *)visitor;
    /* Strong slots may have been parts of weak entries when their object was scanned. */
    const gc_weak_entries slots = {slot, slot, count, gc__flags_bytes(flags), GC_WEAK_VALUES, flags, 0, 0, NULL, NULL};
    const gc_weak_entries *entries = flags & GC__SLOT_ENTRIES ? (const gc_weak_entries *)slot : &slots;
    bool value = gc__flags_value(entries->flags);
    size_t first;
    if (flags & GC__SLOT_STACK) return; /* the object waits */
    if (entries->count && !gc__entries_are_own(entries)) { /* the entries have moved out of the object */
        gc__shade_wait(precleaner->heap, gc__traced);
        return;
    }
    count = gc__part_clip(&precleaner->part, gc__entry_low(entries), gc__entry_high(entries), entries->entry_bytes,
                          entries->count, &first);
    for (size_t i = first; i < first + count; i++) {
        bool lives = gc__entry_part_is_clean(precleaner, gc__entry_key(entries, i), value, entries->kind == GC_WEAK_VALUES);
        bool strong = entries->kind == GC_WEAK_KEYS || (entries->kind == GC_WEAK_EPHEMERONS && lives);
        if (entries->kind != GC_WEAK_REFS)
            lives &= gc__entry_part_is_clean(precleaner, gc__entry_value(entries, i), value, strong);
        uintptr_t from = precleaner->part.from, at = gc__max(gc__entry_low(entries) + i * entries->entry_bytes, from);
        if (!lives) precleaner->left |= UINT32_C(1) << (at - from) / GC__TABLE_SLICE;
    }
}

/* Returns which slices of that stretch of the table are not clean, as bits. */
GC__FN uint32_t gc__table_preclean_part(gc_heap *heap, uintptr_t table, uintptr_t from, size_t bytes) {
    gc__precleaner precleaner = {{{gc__table_preclean_entries}, NULL, from, from + bytes, NULL}, heap, 0};
    gc__object_trace(&gc__traced, table, &precleaner.part.visitor);
    return precleaner.left;
}

/* Precleans the next stretch of the tables that the marker has found. */
GC__FN void gc__tables_preclean_found(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    uintptr_t table = marker->tables.words[marker->table_next], from = table + marker->table_from;
    uint32_t left = gc__table_preclean_part(heap, table, from, GC__TABLE_STRETCH);
    for (; left; left &= left - 1)
        gc__shade_slice(heap, table, from + (unsigned)__builtin_ctz(left) * GC__TABLE_SLICE);
    marker->table_from += GC__TABLE_STRETCH;
    if (marker->table_from < gc__object_bytes(table)) return;
    marker->table_next++;
    marker->table_from = 0;
}

/* Precleans some of the slices again that were not clean. Collections may have recorded slices of dead tables. */
GC__FN void gc__slices_preclean_again(gc_heap *heap) {
    gc__preclean *all = &heap->marker->slices;
    gc__words *slices = &all->unclean;
    for (unsigned i = 0; i < GC__TABLE_AGAIN && all->next < slices->count; i++) {
        uintptr_t table = slices->words[all->next++], from = slices->words[all->next++];
        if (gc__is_precleaned(table) && !gc__table_preclean_part(heap, table, from, GC__TABLE_REACH)) continue;
        slices->words[all->kept++] = table;
        slices->words[all->kept++] = from;
    }
    if (all->next == slices->count) slices->count = all->kept;
}

/* Precleans a part of the weak tables. Requires the marker's lock. Returns false if all are done. */
GC__FN bool gc__tables_preclean(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__preclean *all = &marker->slices;
    if (!all->runs && marker->table_next < marker->tables.count) {
        gc__tables_preclean_found(heap);
        return true;
    }
    if (!gc__preclean_is_due(all)) return false;
    gc__slices_preclean_again(heap);
    return gc__preclean_goes_on(all, all->next >= all->unclean.count) || marker->table_next < marker->tables.count;
}

/* In a remark, traces the slices that are not clean, of tables that are marked. */
GC__FN void gc__slices_remark(const gc_heap *heap) {
    gc__marker *marker = heap->marker;
    const gc__words *slices = &marker->slices.unclean;
    for (size_t i = 0; i < slices->count; i += 2) {
        uintptr_t table = slices->words[i], from = slices->words[i + 1];
        if (gc__shade_bit(marker->marks, table)) gc__object_trace_part(&marker->worker, table, from, from + GC__TABLE_REACH);
    }
}

/* In a final mark, processes the tables and slices that are left. */
GC__FN void gc__tables_hand_over(gc__worker *worker) {
    const gc__marker *marker = worker->heap->marker;
    for (size_t i = marker->table_next; i < marker->tables.count; i++)
        if (!gc__marker_evacuates(marker->tables.words[i])) gc__trace_push(worker, marker->tables.words[i]);
    for (size_t i = 0; i < marker->slices.unclean.count; i += 2) {
        uintptr_t table = marker->slices.unclean.words[i], from = marker->slices.unclean.words[i + 1];
        if (!gc__map_find(&marker->waits, table) && !gc__marker_evacuates(table) && gc__address_after_trace(table))
            gc__object_trace_part(worker, table, from, from + GC__TABLE_REACH);
    }
}

/* Precleans a part of everything. Requires the marker's lock. Returns false if nothing is left to do. */
GC__FN bool gc__preclean_some(gc_heap *heap) {
    gc__lock *pairs = &heap->finalizers->lock;
    return gc__preclean_locked(heap, pairs, gc__due_preclean_some) ||
           gc__preclean_locked(heap, &heap->handles->lock, gc__handles_preclean_some) ||
           gc__preclean_locked(heap, pairs, gc__pairs_preclean_some) || gc__tables_preclean(heap);
}
#endif
/* The processing of handles in a collection, and of the entries of weak tables, each kind of which is processed with a
   kind of handles. Strong, pinned and held ref-counted handles are roots. After the trace from the roots, in this
   order: dependents of reached objects are traced, to a fixpoint; short weak handles are cleared; objects with
   finalizers that were not reached are queued, and traced; dependents are traced again; long weak handles and dead
   dependent ones are cleared. Source: the order of the CLR's mark phase. In a cycle with a remark, this order holds for
   old objects from the remark to the final mark. */


/* Called for handles of the given kinds (a mask) whose objects may be of the condemned generations: for `count`
   contiguous handles of a clump or, if `whole`, for all handles of the clump. */
typedef void (*gc__clump_function)(void *context, gc__handle_segment *segment, size_t first, size_t count);

typedef struct gc__clumps {
    const gc__handles *handles;
    unsigned kinds;
    bool whole;
    gc__clump_function f;
    void *context;
} gc__clumps;

GC__FN bool gc__handles_skip(const gc__handles *handles) { return GC__HAS_MARKER && handles->skips; }

GC__FN bool gc__handle_chunk_is_idle(const gc__handles *handles, const gc__handle_segment *segment, size_t piece) {
    uint64_t words[GC__HANDLE_CHUNK / 4], some = 0, all = ~(uint64_t)0;
    size_t from = piece * GC__HANDLE_CHUNK;
    if (handles->least) {
        memcpy(words, &segment->youth[from], GC__HANDLE_CHUNK);
        for (size_t i = 0; i < GC__HANDLE_CHUNK / 8; i++) some |= words[i];
        return !some;
    }
    memcpy(words, &segment->precleaned[from], sizeof words);
    for (size_t i = 0; i < GC__HANDLE_CHUNK / 4; i++) all &= words[i];
    return gc__handles_skip(handles) && all == ~(uint64_t)0;
}

/* Chooses the chunks of segments that are processed from now on: those with objects that may be of generations up to
   the given one, if `skips` without those whose handles are all precleaned. So the others are skipped once, not for
   each kind again. Requires that the world is stopped, and the handles' lock. */
GC__HOT void gc__clumps_choose(gc_heap *heap, int generation, bool skips) {
    gc__handles *handles = heap->handles;
    handles->least = generation < 2 ? 2u - (unsigned)generation : 0;
    handles->skips = skips;
    handles->chosen_count = 0;
    for (gc__handle_segment *segment = handles->segments; segment; segment = segment->next) {
        if (handles->least && !segment->young) continue;
        for (size_t piece = 0; piece < GC__HANDLE_CHUNKS; piece++) {
            if (gc__handle_chunk_is_idle(handles, segment, piece)) continue;
            uintptr_t kinds = 0;
            for (size_t i = 0; i < GC__CHUNK_BLOCKS; i++) kinds |= 1u << segment->kinds[piece * GC__CHUNK_BLOCKS + i];
            handles->chosen[handles->chosen_count++] = (uintptr_t)segment + (kinds << GC__CHOSEN_SHIFT) + piece;
        }
    }
}

GC__FN void gc__clump_visit(const gc__clumps *all, gc__handle_segment *segment, size_t clump) {
    unsigned precleaned = gc__handles_skip(all->handles) ? segment->precleaned[clump] : 0;
    unsigned left = GC__ALL_PRECLEANED & ~precleaned;
    size_t first = clump * GC__HANDLE_CLUMP;
    if (segment->youth[clump] < all->handles->least) return;
    if (all->whole && left) left = GC__ALL_PRECLEANED;
    while (left) {
        unsigned from = (unsigned)__builtin_ctz(left), count = (unsigned)__builtin_ctz(~(left >> from));
        all->f(all->context, segment, first + from, count);
        left &= left + (1u << from);
    }
}

/* Visits the four clumps of a block. In a collection that skips precleaned handles objects only get older, so the youth
   of clumps without young objects does not change. */
GC__FN void gc__clumps_of_block(const gc__clumps *all, gc__handle_segment *segment, size_t block) {
    size_t first = block * GC__BLOCK_CLUMPS;
    uint64_t precleaned;
    uint32_t youth;
    if (!(all->kinds >> segment->kinds[block] & 1)) return;
    memcpy(&precleaned, &segment->precleaned[first], sizeof precleaned);
    memcpy(&youth, &segment->youth[first], sizeof youth);
    if (gc__handles_skip(all->handles) && (precleaned == ~(uint64_t)0 || (all->whole && !youth))) return;
    if (all->handles->least && !youth) return;
    for (size_t clump = first; clump < first + GC__BLOCK_CLUMPS; clump++) gc__clump_visit(all, segment, clump);
}

GC__HOT void gc__clumps_unit(void *context, size_t unit) {
    const gc__clumps *all = (const gc__clumps *)context;
    uintptr_t chosen = all->handles->chosen[unit];
    gc__handle_segment *segment = gc__handle_segment_of(chosen);
    if (!((chosen >> GC__CHOSEN_SHIFT) & all->kinds & ((1u << GC_HANDLE_KINDS) - 1))) return;
    size_t from = (chosen & (((uintptr_t)1 << GC__CHOSEN_SHIFT) - 1)) * GC__CHUNK_BLOCKS;
    for (size_t block = from; block < from + GC__CHUNK_BLOCKS; block++) gc__clumps_of_block(all, segment, block);
}

GC__HOT void gc__clumps_each(gc_heap *heap, unsigned kinds, gc__clump_function f, void *context) {
    gc__clumps all = {heap->handles, kinds, false, f, context};
    for (size_t i = 0; i < heap->handles->chosen_count; i++) gc__clumps_unit(&all, i);
}

/* Calls f for handles in the chosen chunks on any worker, where f changes nothing except the clump. */
GC__OUT_OF_LINE void gc__clumps_share(gc__worker *worker, unsigned kinds, bool whole, gc__clump_function f) {
    gc__clumps all = {worker->heap->handles, kinds, whole, f, NULL};
    gc__workers_each(worker, worker->heap->handles->chosen_count, gc__clumps_unit, &all);
}

/* Roots. Free places look like slots that refer to no heap. */

typedef struct gc__handle_visitor {
    gc_heap *heap;
    gc_visitor *visitor;
    unsigned flags;
} gc__handle_visitor;

GC__FN void gc__handles_visit_strong(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    gc_visit(all->visitor, &segment->places[first], count, all->flags);
}

GC__FN void gc__handles_visit_held(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    const gc_options *options = &all->heap->options;
    for (size_t i = first; options->handle_is_held && i < first + count; i++) {
        gc_word *place = &segment->places[i];
        if (gc__place_is_empty(*place)) continue;
        void *word = (void *)__atomic_load_n(gc__handle_extra(segment, i), __ATOMIC_RELAXED);
        if (options->handle_is_held(options->host, gc__handle_value(segment, i), (void *)*place, word))
            gc_visit(all->visitor, place, 1, 0);
    }
}

GC__FN void gc__handles_visit_dependents(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc_visit(((gc__handle_visitor *)context)->visitor, gc__handle_extra(segment, first), count, 0);
}

GC__FN void gc__handles_visit(gc_heap *heap, gc_visitor *visitor, int generation) {
    gc__handle_visitor all = {heap, visitor, GC_SLOT_PINNED};
    bool skips = gc__is_last_of_marking(heap);
    if (skips) gc__handles_preclean_last(heap);
    gc__clumps_choose(heap, generation, skips && !gc__is_checkmarked(heap)); /* checkmark begins with all roots */
    gc__clumps_each(heap, 1u << GC_HANDLE_PINNED, gc__handles_visit_strong, &all);
    all.flags = 0;
    gc__clumps_each(heap, 1u << GC_HANDLE_STRONG, gc__handles_visit_strong, &all);
    gc__clumps_each(heap, 1u << GC_HANDLE_REF_COUNTED, gc__handles_visit_held, &all);
    gc__finalizers_visit_due(heap, visitor);
}

GC__FN void gc__handles_clear_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    (void)context;
    for (size_t i = first; count > 1 && i < first + count; i++) gc__reached_await(segment->places[i]);
    for (size_t i = first; i < first + count; i++)
        segment->places[i] = gc__address_after_trace(segment->places[i]);
}

GC__FN void gc__dependents_clear_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc_word *extra = gc__handle_extra(segment, first);
    gc__handles_clear_clump(context, segment, first, count);
    for (size_t i = 0; i < count; i++)
        if (!segment->places[first + i]) extra[i] = 0;
}

/* Makes those dependents of dependent handles that the trace has to reach wait for their objects. */
GC__FN void gc__dependents_gather(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc__worker *worker = (gc__worker *)context;
    for (size_t i = first; count > 1 && i < first + count; i++) gc__reached_await(segment->places[i]);
    for (size_t i = first; i < first + count; i++) {
        const gc_word *place = &segment->places[i];
        uint8_t verdict = worker->verdicts[*gc__handle_extra(segment, i) >> GC_REGION_SHIFT];
        if (!gc__place_is_empty(*place) && verdict) gc__wait(worker, *place, (uintptr_t)gc__handle_extra(segment, i));
    }
}

/* Youth, and free blocks. */

GC__FN void gc__handles_age_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    uint8_t youngest = 0;
    bool dependent = gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT;
    (void)context;
    for (size_t i = first; i < first + count; i++) {
        uint8_t youth = gc__youth(segment->places[i]);
        if (youth > youngest) youngest = youth;
        if (dependent && (youth = gc__youth(*gc__handle_extra(segment, i))) > youngest) youngest = youth;
    }
    segment->youth[first / GC__HANDLE_CLUMP] = youngest;
}

GC__FN void gc__handles_chain_block(gc__handles *handles, gc__handle_segment *segment, size_t block) {
    gc_word *places = &segment->places[block * GC__HANDLE_BLOCK];
    uint8_t kind = segment->kinds[block];
    size_t count = 0;
    for (size_t i = 0; i < GC__HANDLE_BLOCK; i++) count += places[i] & GC__HANDLE_FREE;
    if (kind == GC_HANDLE_KINDS || count == GC__HANDLE_BLOCK) {
        segment->kinds[block] = GC_HANDLE_KINDS;
        handles->extra_count -= segment->extras[block] != NULL;
        free(segment->extras[block]);
        segment->extras[block] = NULL;
        gc__handle_cache_push(&handles->free_blocks, places);
        return;
    }
    for (size_t i = GC__HANDLE_BLOCK; i-- > 0;)
        if (places[i] & GC__HANDLE_FREE) gc__handle_cache_push(&handles->free[kind], &places[i]);
}

/* Rebuilds the lists of free places, in the order of addresses, and frees blocks without handles for any kind. */
GC__HOT void gc__handles_chain(gc_heap *heap) {
    gc__handles *handles = heap->handles;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        memset(gc__record(thread)->handle_caches, 0, GC_HANDLE_KINDS * sizeof(gc__handle_cache));
    memset(handles->free, 0, sizeof handles->free);
    memset(&handles->free_blocks, 0, sizeof handles->free_blocks);
    for (gc__handle_segment *segment = handles->segments; segment; segment = segment->next)
        for (size_t block = GC__HANDLE_BLOCKS; block-- > 0;) gc__handles_chain_block(handles, segment, block);
}

/* Updates the youth of segments after that of their clumps was computed. */
GC__HOT void gc__handles_age_segments(gc__handles *handles) {
    static const uint8_t none[GC__HANDLE_CLUMPS] = {0};
    for (size_t i = 0; i < handles->chosen_count; i++) {
        gc__handle_segment *segment = gc__handle_segment_of(handles->chosen[i]);
        if (i && gc__handle_segment_of(handles->chosen[i - 1]) == segment) continue;
        segment->young = memcmp(segment->youth, none, sizeof none) != 0;
    }
}

GC__FN void gc__handles_trace(gc__worker *worker, int generation) {
    gc_heap *heap = worker->heap;
    const unsigned dependent = 1u << GC_HANDLE_DEPENDENT;
    gc__waits_begin(heap);
    gc__clumps_choose(heap, generation, gc__is_mark_end(heap));
    gc__clumps_each(heap, dependent, gc__dependents_gather, worker);
    gc__waits_fixpoint(worker);
    /* Short weak handles are cleared before finalizers can see their objects again, long ones below. */
    gc__clumps_share(worker, 1u << GC_HANDLE_WEAK | 1u << GC_HANDLE_REF_COUNTED, false, gc__handles_clear_clump);
    gc__discovered_clear(heap, false);
    gc__phase_begin(heap, GC_PHASE_FINALIZERS);
    gc__finalizers_queue_dead(worker, generation);
    gc__waits_fixpoint(worker);
    /* Everything that survives this collection has been reached. */
    gc__phase_begin(heap, GC_PHASE_HANDLES);
    gc__traced_note(heap, generation);
    gc__clumps_share(worker, 1u << GC_HANDLE_WEAK_LONG, false, gc__handles_clear_clump);
    gc__clumps_share(worker, dependent, false, gc__dependents_clear_clump);
    gc__discovered_clear(heap, true);
    gc__clumps_share(worker, (1u << GC_HANDLE_KINDS) - 1, true, gc__handles_age_clump);
    gc__handles_age_segments(heap->handles);
    if (generation == 2 && !gc__is_mark_end(heap)) gc__handles_chain(heap);
}

#if !GC__HAS_MARKER
GC__FN void gc__remark(gc_heap *heap) { (void)heap; }
#else
/* Marks in a remark what can be reached through dependent handles and ephemerons. */
GC__FN void gc__remark_waits(gc_heap *heap) {
    gc__worker *worker = &heap->marker->worker;
    gc__waits_begin(heap);
    heap->cycle->entries.waited = heap->cycle->entries.cleared = 0; /* those of young objects, too */
    gc__clumps_choose(heap, 2, true);
    gc__clumps_each(heap, 1u << GC_HANDLE_DEPENDENT, gc__dependents_gather, worker);
    gc__waits_fixpoint(worker);
    worker->awaited = NULL;
}

/* Makes the remark of a cycle: marks all old objects that can be reached, clears short weak references to the others,
   and finds out which finalizers are due. The young generations have been collected in this pause, so their objects
   are alive, and the old ones to which they and roots refer were shaded. Long weak references wait for the final mark,
   when it is known which objects finalizers can reach. Without memory for lists, all of it is left to the final mark. */
GC__COLD void gc__remark(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__is_remark(heap) || !gc__heap_is_marking(heap) || gc__marker_is_spoilt(heap)) return;
    gc__phase_begin(heap, GC_PHASE_REMARK);
    gc__marker_remark(heap);
    gc__old_rank(heap, GC__IGNORE, GC__OLD_CONDEMNED);
    gc__slices_remark(heap);
    gc__remark_drain(heap);
    gc__remark_waits(heap);
    gc__phase_begin(heap, GC_PHASE_FINALIZERS);
    if (!marker->unasked) {
        gc__clumps_each(heap, 1u << GC_HANDLE_WEAK | 1u << GC_HANDLE_REF_COUNTED, gc__handles_clear_clump, NULL);
        gc__discovered_clear(heap, false);
        gc__finalizers_remark(heap);
    }
    gc__old_rank(heap, GC__OLD_CONDEMNED, GC__IGNORE);
    gc__preclean_allow(&marker->slices);
}
#endif

/* For verify. */

GC__COLD void gc__handles_check_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    const gc__handle_visitor *all = (const gc__handle_visitor *)context;
    uint8_t youth_noted = segment->youth[first / GC__HANDLE_CLUMP];
    gc__handles_age_clump(NULL, segment, first, count);
    if (segment->youth[first / GC__HANDLE_CLUMP] > youth_noted || (youth_noted && !segment->young))
        gc__fatal(
            &all->heap->options,
            "verify (collection %llu): the handles at %p refer to an object that is younger than noted: a fault of "
            "the collector, or an object was stored without gc_handle_set",
            (unsigned long long)all->heap->collection.number, (void *)&segment->places[first]);
    segment->youth[first / GC__HANDLE_CLUMP] = youth_noted;
    gc__handles_visit_strong(context, segment, first, count);
    if (gc__handle_kind(segment, first) == GC_HANDLE_DEPENDENT)
        gc__handles_visit_dependents(context, segment, first, count);
}

GC__FN void gc__handles_verify(gc_heap *heap, gc_visitor *visitor) {
    gc__handle_visitor all = {heap, visitor, 0};
    gc__lock_take(&heap->handles->lock);
    gc__clumps_choose(heap, 2, false);
    gc__clumps_each(heap, (1u << GC_HANDLE_KINDS) - 1, gc__handles_check_clump, &all);
    gc__lock_release(&heap->handles->lock);
    gc__finalizers_visit_queued(heap, visitor);
    gc__finalizers_visit_registered(heap, visitor);
}

typedef struct gc__dependent_checker {
    gc_visitor *visitor;
    bool (*reached)(gc_visitor *visitor, uintptr_t object);
    bool any;
} gc__dependent_checker;

GC__COLD void gc__dependents_check_clump(void *context, gc__handle_segment *segment, size_t first, size_t count) {
    gc__dependent_checker *checker = (gc__dependent_checker *)context;
    for (size_t i = first; i < first + count; i++) {
        gc_word *extra = gc__handle_extra(segment, i), place = segment->places[i];
        if (gc__place_is_empty(place) || !checker->reached(checker->visitor, place)) continue;
        if (checker->reached(checker->visitor, *extra)) continue;
        checker->any = true;
        gc_visit(checker->visitor, extra, 1, 0);
    }
}

GC__FN bool gc__handles_checkmark(gc_heap *heap, gc_visitor *visitor,
                                  bool (*reached)(gc_visitor *visitor, uintptr_t object)) {
    gc__dependent_checker checker = {visitor, reached, false};
    gc__clumps_choose(heap, 2, false);
    gc__clumps_each(heap, 1u << GC_HANDLE_DEPENDENT, gc__dependents_check_clump, &checker);
    return checker.any;
}
#endif

GC__STYLE_END
#endif
