/* Allocation. All of these functions may collect, so every live reference must be in a root. When memory is exhausted they
   call the out_of_memory hook, and then return NULL (gc_last_message says which limit was met); nothing is lost. That holds if
   the hook is left by longjmp or an exception, too.
   The owning thread calls them, in cooperative mode. */
#pragma once

#include "thread.h"

#include <string.h>

#define GC_LARGE_BYTES \
    (GC_REGION_BYTES / 8) /* objects over this own regions, hold the pages they need, and never move */
#define GC_OBJECT_BYTES_MIN ((size_t)16)

GC_API void *gc__allocate_slow(gc_thread *thread, size_t bytes, bool zeroed);
GC_API void *gc__new_slow(gc_thread *thread, const gc_type *type, size_t length, bool zeroed);
GC_API void *gc__new_fixed(gc_thread *thread, const gc_type *type, size_t length);

/* An object's size from its parts: at least 16 bytes, a multiple of 8. */
static inline size_t gc__align(size_t bytes) {
    return bytes < GC_OBJECT_BYTES_MIN ? GC_OBJECT_BYTES_MIN : (bytes + 7) & ~(size_t)7;
}

/* A reader in another process may stop the thread at any instruction. What it finds before a window's `next` is a whole
   object, or one whose header is zero: headers are written last, or else before `next` is moved. The fence keeps the compiler
   from changing that order. */
#define GC__WRITTEN() __atomic_signal_fence(__ATOMIC_RELEASE)

/* `bytes` of zeroed heap memory, for hosts with an object model of their own (GC_MODEL_BYTES): the caller writes the header
   before the next call that may collect. [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY,
   GC_ERROR_TOO_LARGE] */
static inline void *gc_allocate(gc_thread *thread, size_t bytes) {
    size_t size = gc__align(bytes);
    char *object = thread->window.next;
    if (GC__UNLIKELY(size > (size_t)(thread->window.limit - object) || size < bytes))
        return gc__allocate_slow(thread, bytes, true);
    thread->window.next = object + size;
    return object;
}

/* The same without zeroing, but for the first word: until the header is written, there is no object. */
static inline void *gc__allocate_raw(gc_thread *thread, size_t bytes, bool at_once) {
    size_t size = gc__align(bytes);
    char *object = thread->raw.next;
    if (GC__UNLIKELY(size > (size_t)(thread->raw.limit - object) || size < bytes))
        return at_once ? NULL : gc__allocate_slow(thread, bytes, false);
    *(gc_word *)(void *)object = 0;
    GC__WRITTEN();
    thread->raw.next = object + size;
    return object;
}

#if !GC_HAS_MODEL
static inline void *gc__new_at_once(gc_thread *thread, const gc_type *type) {
    size_t size = gc__align(type->bytes);
    char *object = thread->window.next;
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || size > (size_t)(thread->window.limit - object))) return NULL;
    thread->window.next = object + size;
    ((gc_object *)object)->type = type;
    return object;
}

static inline void *gc__new_array_at_once(gc_thread *thread, const gc_type *type, size_t length) {
    char *object = thread->window.next;
    size_t room = (size_t)(thread->window.limit - object);
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || length > room)) return NULL;
    size_t size = gc__align(type->bytes + length * type->element_bytes);
    if (GC__UNLIKELY(size > room)) return NULL;
    thread->window.next = object + size;
    ((gc_array *)object)->length = length;
    GC__WRITTEN();
    ((gc_array *)object)->header.type = type;
    return object;
}

/* The length is written into objects without elements, too, whose contents are undefined there. */
static inline void *gc__new_raw_at_once(gc_thread *thread, const gc_type *type, size_t length) {
    char *object = thread->raw.next;
    size_t room = (size_t)(thread->raw.limit - object);
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || length > room)) return NULL;
    size_t size = gc__align(type->bytes + length * type->element_bytes);
    if (GC__UNLIKELY(size > room)) return NULL;
    ((gc_array *)object)->header.type = type;
    ((gc_array *)object)->length = length;
    GC__WRITTEN();
    thread->raw.next = object + size;
    return object;
}

/* A new object of a type without elements, zeroed but for its header. [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL,
   GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_TYPE] */
static inline void *gc_new(gc_thread *thread, const gc_type *type) {
    void *object = gc__new_at_once(thread, type);
    return GC__LIKELY(object != NULL) ? object : gc__new_slow(thread, type, 0, true);
}

/* A new object of a type with elements, of `length` elements (0 is allowed), zeroed but for its header and length. Fails
   with GC_ERROR_TOO_LARGE if the size overflows or could never fit. [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL,
   GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_TYPE] */
static inline void *gc_new_array(gc_thread *thread, const gc_type *type, size_t length) {
    void *object = gc__new_array_at_once(thread, type, length);
    return GC__LIKELY(object != NULL) ? object : gc__new_slow(thread, type, length, true);
}
#endif

/* How gc_new_with allocates: a sum of these. */
enum {
    /* Contents are undefined after header and length, or where the type is NULL, after the first word, which is 0. For an
       object without references: the caller fills them. */
    GC_NEW_RAW = 1,
    /* The object never moves, as strings that C code keeps, or stacks of fibers: it is marked in place, in regions of its kind,
       and its address may be kept as long as it lives. Objects that stay leave holes among them, which are used again if they are
       long enough, so it is for such objects only. It fails in a full heap that has a pinned movable object in each of its other
       regions, though there are holes around these. Not with GC_NEW_AT_ONCE. */
    GC_NEW_FIXED = 2,
    /* The call never collects, and returns NULL, without a message, if more would have to be done than to take memory that is
       ready. So variables are roots only where that is so, which makes constructors in hot loops faster:
           cell *c = (cell *)gc_new_with(gc, &cell_type, 0, GC_NEW_AT_ONCE);
           if (!c) GC_ROOTS_DURING(gc, 0, c = (cell *)gc_new(gc, &cell_type), next); */
    GC_NEW_AT_ONCE = 4
};

/* gc_new_array in the way that `flags` say (GC_NEW_*); gc_new if the type has no elements and `length` is 0; gc_allocate of
   `length` bytes if the type is NULL, as it must be with GC_MODEL_BYTES. With constant flags it is as fast as those.
   [cooperative; may collect, but for GC_NEW_AT_ONCE; NULL: as those] */
static inline __attribute__((always_inline)) void *gc_new_with(gc_thread *thread, const gc_type *type, size_t length,
                                                               unsigned flags) {
    bool at_once = (flags & GC_NEW_AT_ONCE) != 0;
    if (flags & GC_NEW_FIXED) return at_once ? NULL : gc__new_fixed(thread, type, length);
    if (GC_HAS_MODEL || !type) {
        if (flags & GC_NEW_RAW) return gc__allocate_raw(thread, length, at_once);
        size_t room = (size_t)(thread->window.limit - thread->window.next);
        bool fits = length <= room && gc__align(length) <= room;
        return at_once && !fits ? NULL : gc_allocate(thread, length);
    }
#if !GC_HAS_MODEL
    void *object;
    if (flags & GC_NEW_RAW)
        object = gc__new_raw_at_once(thread, type, length);
    else if (__builtin_constant_p(length) && !length) /* an array's length is 0 already */
        object = gc__new_at_once(thread, type);
    else
        object = gc__new_array_at_once(thread, type, length);
    if (GC__LIKELY(object != NULL) || at_once) return object;
    return gc__new_slow(thread, type, length, (flags & GC_NEW_RAW) == 0);
#endif
}

#if !GC_HAS_MODEL
/* Makes an array longer where it is, with zeroed elements, if the memory behind it is free: at the end of what the thread has
   just allocated, in a hole, or in the pages of a large object. False: it is not, or `length` is less than before, or
   another thread has the heap's lock; then nothing has changed, and a new array is what remains. Another thread that uses the
   array meanwhile reads its length by an acquire load. [cooperative; never collects; false] */
GC_API bool gc_array_grow(gc_thread *thread, void *array, size_t length);
#endif

/* Adds `bytes` (may be negative) to the memory that the object holds outside the heap, which counts towards budgets and
   heap_bytes_max until the object dies. May collect, so the object must be in a root. On failure nothing was added; the
   out_of_memory hook is not called.
   [cooperative; may collect; GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE; GC_ERROR_MISUSE: the address is on no
   heap or another one, within a collection, or more is taken off than the object has] */
GC_API gc_result gc_object_add_external(gc_thread *thread, void *object, ptrdiff_t bytes);
/* The same for memory of no particular object, as a hook in place of realloc sees it; -bytes takes it off when it is freed.
   If a collection is due then, the calling thread's next allocation collects. heap_bytes_max does not refuse the bytes, but
   what is allocated on the heap after them. Takes no lock. [any thread; never collects;
   GC_ERROR_MISUSE: less than 0, GC_ERROR_TOO_LARGE: the sum exceeds PTRDIFF_MAX] */
GC_API gc_result gc_heap_add_external(gc_heap *heap, ptrdiff_t bytes);
