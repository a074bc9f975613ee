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
#pragma once

#include "../base/map.h"
#include "../space/profiler.h"
#include "../trace/shade.h"
#include "../threads/stop.h"
#include "../api/handle.h"
#include "../policy/limits.h"

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
