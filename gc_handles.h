/* Generated from src/gc_handles.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_handles.h - handles: references to objects that are held outside the heap and the stacks.

   A handle is a stable value that C code can keep in any structure. A strong handle keeps its object alive, a pinned
   one also in place, a weak one reads as NULL once its object has died. Part of gc.h, which includes it. */
#pragma once

#include "gc.h"

typedef enum gc_handle_kind {
    GC_HANDLE_WEAK, /* cleared when the object is found dead */
    GC_HANDLE_STRONG,
    GC_HANDLE_PINNED,
    GC_HANDLE_KINDS
} gc_handle_kind;

/* A handle; NULL is none. */
typedef struct gc__handle *gc_handle;

/* A handle of `kind` to object, which may be NULL. The caller owns it; gc_handle_destroy ends it. Returns NULL when
   memory is exhausted (gc_last_message). Cooperative mode; never collects. */
GC_API gc_handle gc_handle_create(gc_heap *heap, gc_handle_kind kind, void *object);
/* Its object, or NULL. The caller must put it into a root before the next call that may collect. */
GC_API void *gc_handle_get(gc_handle handle);
GC_API void gc_handle_set(gc_handle handle, void *object);
GC_API void gc_handle_destroy(gc_heap *heap, gc_handle handle);

/* Keeps `object` reachable up to this call: an empty body that no compiler removes. Never collects.
   Source: GC.KeepAlive. */
static inline void gc_keep_alive(const void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }

#ifdef GC_IMPLEMENTATION
/* Handles live in blocks that never move; free ones are chained through `object`. */

#define GC__HANDLE_BLOCK 510

struct gc__handle {
    void *object;
    uintptr_t kind; /* GC_HANDLE_KINDS: free */
};

struct gc__handle_block {
    struct gc__handle_block *next;
    struct gc__handle handles[GC__HANDLE_BLOCK];
};

GC__FN bool gc__handle_block_add(gc_heap *heap) {
    struct gc__handle_block *block = (struct gc__handle_block *)malloc(sizeof *block);
    if (!block) return false;
    block->next = heap->handle_blocks;
    heap->handle_blocks = block;
    for (int i = GC__HANDLE_BLOCK; i-- > 0;) {
        block->handles[i].kind = GC_HANDLE_KINDS;
        block->handles[i].object = heap->handle_free;
        heap->handle_free = &block->handles[i];
    }
    return true;
}

GC_API gc_handle gc_handle_create(gc_heap *heap, gc_handle_kind kind, void *object) {
    GC__ENTER("gc_handle_create");
    if ((unsigned)kind >= GC_HANDLE_KINDS) {
        gc__fail(GC_ERROR_OPTION, "gc_handle_create: %d is not a kind of handle", (int)kind);
        return NULL;
    }
    gc__lock_take(&heap->roots_lock);
    gc_handle handle = heap->handle_free || gc__handle_block_add(heap) ? heap->handle_free : NULL;
    if (handle) {
        heap->handle_free = (struct gc__handle *)handle->object;
        handle->kind = (uintptr_t)kind;
        handle->object = object;
    }
    gc__lock_release(&heap->roots_lock);
    if (!handle) gc__fail(GC_ERROR_MEMORY, "gc_handle_create: the system gives no memory for more handles");
    return handle;
}

GC_API void *gc_handle_get(gc_handle handle) {
    GC_ASSERT(handle && handle->kind < GC_HANDLE_KINDS, "gc_handle_get: %p is not a handle, or was destroyed",
              (void *)handle);
    return handle->object;
}

GC_API void gc_handle_set(gc_handle handle, void *object) {
    GC_ASSERT(handle && handle->kind < GC_HANDLE_KINDS, "gc_handle_set: %p is not a handle, or was destroyed",
              (void *)handle);
    handle->object = object;
}

GC_API void gc_handle_destroy(gc_heap *heap, gc_handle handle) {
    GC__ENTER("gc_handle_destroy");
    if (!handle) return;
    GC_ASSERT(handle->kind < GC_HANDLE_KINDS, "gc_handle_destroy: the handle %p was destroyed before", (void *)handle);
    gc__lock_take(&heap->roots_lock);
    handle->kind = GC_HANDLE_KINDS;
    handle->object = heap->handle_free;
    heap->handle_free = handle;
    gc__lock_release(&heap->roots_lock);
}

/* Seam: called by collect/. */
GC__SEAM void gc__handles_visit(gc_heap *heap, gc_visitor *visitor) {
    gc__lock_take(&heap->roots_lock);
    for (struct gc__handle_block *block = heap->handle_blocks; block; block = block->next)
        for (int i = 0; i < GC__HANDLE_BLOCK; i++) {
            struct gc__handle *handle = &block->handles[i];
            if (handle->kind == GC_HANDLE_STRONG || handle->kind == GC_HANDLE_PINNED)
                gc_visit(visitor, &handle->object, 1, handle->kind == GC_HANDLE_PINNED ? GC_ROOT_PINNED : 0);
        }
    gc__lock_release(&heap->roots_lock);
}

GC__SEAM void gc__handles_clear_dead(gc_heap *heap) {
    gc__lock_take(&heap->roots_lock);
    for (struct gc__handle_block *block = heap->handle_blocks; block; block = block->next)
        for (int i = 0; i < GC__HANDLE_BLOCK; i++) {
            struct gc__handle *handle = &block->handles[i];
            if (handle->kind == GC_HANDLE_WEAK) handle->object = (void *)gc__survivor((uintptr_t)handle->object);
        }
    gc__lock_release(&heap->roots_lock);
}

GC__SEAM void gc__handles_free_all(gc_heap *heap) {
    while (heap->handle_blocks) {
        struct gc__handle_block *block = heap->handle_blocks;
        heap->handle_blocks = block->next;
        free(block);
    }
}
#endif
