/* SafeHandle: an object that owns a handle of the operating system (a descriptor, say) and counts who uses it, so that it
   is closed exactly once, never while a call uses it, and at the latest by a critical finalizer. Not available with a host's
   own object model (GC_MODEL_BYTES). Source: System.Runtime.InteropServices.SafeHandle.

   The state word: bit 0 closed, bit 1 disposed, above them the count of references, which starts at 1. */
#pragma once

#include "thread.h"

#if !GC_HAS_MODEL

/* A kind of handle; made by GC_SAFE_HANDLE_KIND. */
typedef struct gc_safe_handle_kind {
    const char *name;
    bool (*release)(intptr_t value);    /* closes it; false: failed, which is only reported as a warning. Runs once, in
                                           preemptive mode, on whichever thread lets go of it last */
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

/* A new handle, by name_new. Not owned: releasing it closes nothing, and it has no finalizer. Returns NULL as gc_new does,
   and then the value is still the caller's: so that nothing leaks, make the handle first, with an invalid value, and then
   gc_safe_handle_set_value what the system returns. [cooperative; may collect; NULL, as gc_new] */
GC_API gc_safe_handle *gc_safe_handle_new(gc_thread *thread, const gc_safe_handle_kind *kind, intptr_t value,
                                          bool owned);

/* All of these: cooperative mode. NULL fails with GC_ERROR_ARGUMENT, one that is closed with GC_ERROR_DISPOSED. Those that may
   release let a collection of another thread pass meanwhile: they are safe points, but the argument need not be a root. */

/* One more user; *success tells whether a gc_safe_handle_release is owed, and is left alone on failure. Disposed handles
   still have users until they are closed. Source: DangerousAddRef. [cooperative; never collects; GC_ERROR_ARGUMENT,
   GC_ERROR_DISPOSED, GC_ERROR_MISUSE] */
GC_API gc_result gc_safe_handle_add_ref(gc_safe_handle *handle, bool *success);
/* One user less; the last one releases. Source: DangerousRelease. [cooperative; may wait; GC_ERROR_ARGUMENT,
   GC_ERROR_DISPOSED] */
GC_API gc_result gc_safe_handle_release(gc_thread *thread, gc_safe_handle *handle);
/* Gives up the owner's reference, once: it is closed now, or by its last user; the finalizer is taken back. Doing it again,
   and NULL, do nothing. Source: SafeHandle.Dispose. [cooperative; may wait; GC_ERROR_DISPOSED] */
GC_API gc_result gc_safe_handle_dispose(gc_thread *thread, gc_safe_handle *handle);
/* Closed from now on, without release. Source: SetHandleAsInvalid. [cooperative; never collects; GC_ERROR_ARGUMENT] */
GC_API gc_result gc_safe_handle_set_invalid(gc_thread *thread, gc_safe_handle *handle);
/* Gives a new handle its value: GC_ERROR_MISUSE if it has more than one user. Source: SetHandle. [cooperative; never
   collects; GC_ERROR_ARGUMENT, GC_ERROR_DISPOSED, GC_ERROR_MISUSE] */
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

/* Native calls: the block behind one runs in preemptive mode, with `value` declared as the raw handle and the object that
   owns it kept; it must not touch objects, which may move meanwhile. It may be left in any way but longjmp; break and continue
   leave the block alone. errno stays what the block left. They nest, in either mode.
       ssize_t n = -1;
       GC_NATIVE_CALL(gc, file.safe, fd) n = read(fd, buffer, bytes);
   GC_NATIVE_CALL references a safe handle meanwhile. Where that fails the block is skipped, and gc_last_result() is
   GC_ERROR_ARGUMENT or GC_ERROR_DISPOSED. Source: marshalling of SafeHandle in P/Invoke. */
#define GC_NATIVE_CALL(thread, safe, value) GC__NATIVE_CALL(__COUNTER__, thread, gc__native_begin, safe, value)
/* For raw handles that an object of the host's own keeps open: HandleRef, {object, raw handle}. It protects from the object's
   finalizer, but not from somebody who closes the handle. Source: HandleRef. */
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
/* The object is asked for when the mode is cooperative, once. */
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

/* Inline, so that it is the caller's registers that are saved. */
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
