/* SafeHandle's state word: bit 0 closed, bit 1 disposed, above them the count. Every change is one compare-and-exchange
   of the whole word, so `release` runs exactly once: by the change that takes the count from 1 to 0 while not
   closed. */
#pragma once

#include "../api/allocate.h"
#include "../api/safe_handle.h"
#include "../base/report.h"
#include "../space/heap.h"

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
