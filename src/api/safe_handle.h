/* SafeHandle: an object that owns a handle of the operating system (a descriptor, say) and counts its users, so that it is
   closed exactly once, never while a call uses it, and at the latest by a critical finalizer. Not available with a host's
   own object model (GC_MODEL_BYTES). Source: System.Runtime.InteropServices.SafeHandle.

   The state word: bit 0 closed, bit 1 disposed, above them the count of references, which starts at 1. */
#pragma once

#include "thread.h"

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
