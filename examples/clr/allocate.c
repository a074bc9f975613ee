/* A thread of the runtime has a window [pointer, limit) of its own, in which compiled code allocates. Each has a gc_thread, whose
   window is the same one: the two agree except while the thread allocates in it, which moves only the runtime's pointer. */
#include "allocate.h"

#include "events.h"
#include "finalize.h"
#include "report.h"
#include "settings.h"

static gc_thread **thread_of(alloc_context *context) { return (gc_thread **)&context->reserved[0]; }

static int64_t given_bytes;
uint64_t allocate_given(void) { return (uint64_t)__atomic_load_n(&given_bytes, __ATOMIC_RELAXED); }

static void count(int64_t *bytes_of_thread, int64_t bytes) {
    *bytes_of_thread += bytes;
    if (bytes) __atomic_fetch_add(&given_bytes, bytes, __ATOMIC_RELAXED);
}

/* Takes the window back, and returns what was left of it, which counts as given to the thread. */
static int64_t context_close(alloc_context *context) {
    gc_thread *thread = *thread_of(context);
    int64_t room = (int64_t)(context->limit - context->pointer);
    if (thread && context->pointer) thread->window.next = (char *)gc_of(context->pointer);
    context->pointer = context->limit = 0;
    return room;
}

void allocate_close(alloc_context *context, void *argument) {
    (void)argument;
    count(&context->bytes, -context_close(context));
}

/* Hands the window of the gc_thread to the runtime. */
static void context_open(alloc_context *context, const gc_thread *thread) {
    int64_t room = thread->window.limit - thread->window.next;
    if (room <= 0) return;
    context->pointer = clr_of(thread->window.next);
    context->limit = clr_of(thread->window.limit);
    count(&context->bytes, room);
}

void allocate_end(alloc_context *context) {
    gc_thread *thread = *thread_of(context);
    context_close(context); /* the runtime has noted what is left, and subtracts it from what was given */
    *thread_of(context) = NULL;
    gc_thread_destroy(thread);
}

gc_thread *allocate_thread(alloc_context *context) {
    gc_thread **thread = thread_of(context);
    return *thread ? *thread : (*thread = gc_thread_create(heap));
}

/* Makes an object that nobody will use one that can be walked. */
static void make_free(uintptr_t object, size_t bytes) {
    uintptr_t type = runtime_free_type();
    *(size_t *)(object + 8) = bytes - type_bytes(type); /* its elements, of a byte each */
    *(uintptr_t *)object = type;
}

uintptr_t allocate(alloc_context *context, size_t bytes, uint32_t flags) {
    gc_thread *thread = allocate_thread(context);
    if (!thread) return 0;
    int64_t before = context->bytes + context->bytes_large;
    allocate_close(context, NULL); /* a collection may do the same meanwhile */
    settings_pace();
    int64_t size = (int64_t)((bytes + 7) & ~(size_t)7);
    void *object = NULL;
    for (bool again = false;; again = true) {
        object = gc_new_with(thread, NULL, bytes, flags & ALLOC_PINNED ? GC_NEW_FIXED : 0);
        if (!object || !(flags & ALLOC_FINALIZE) || finalize_register(thread, clr_of(object))) break;
        make_free(clr_of(object), (size_t)size);
        object = NULL;
        if (again) break;
        gc_collect(heap, 2, 0); /* the list of objects with finalizers has met the limit */
    }
    context_open(context, thread);
    if (!object) return 0;
    count(flags & (ALLOC_LARGE | ALLOC_PINNED) ? &context->bytes_large : &context->bytes, size);
    unsigned kind = flags & ALLOC_PINNED ? 2 : flags & ALLOC_LARGE ? 1 : 0;
    events_allocation(kind, context->bytes + context->bytes_large - before, clr_of(object), (size_t)size);
    return clr_of(object);
}
