/* The limit of a heap, and its memory outside its regions, which counts towards the limit. */
#pragma once

#include "../trace/workers.h"
#include "../cycle/marker.h"
#include "../trace/store_buffer.h"
#include "../weak/finalizers.h"
#include "../weak/handle_table.h"

/* Returns the bytes of a list that is empty between collections but keeps its memory; frees that memory if it is to
   be released. */
GC__OUT_OF_LINE size_t gc__list_bytes(gc__words *list, bool release) {
    size_t bytes = gc__words_bytes(list);
    if (release) gc__words_free(list);
    return bytes;
}

GC__COLD size_t gc__workers_lists_bytes(gc__workers *workers, bool release) {
    if (!workers) return 0;
    size_t bytes = sizeof *workers + gc__list_bytes(&workers->for_host, release) + gc__list_bytes(&workers->cards, release);
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        size_t own = gc__own_marks_bytes(thread);
        if (release) gc__own_marks_free(thread);
        bytes += own + gc__list_bytes(&thread->stack, release) + gc__list_bytes(&thread->live, release) +
                 gc__list_bytes(&thread->refused, release) + gc__list_bytes(&thread->seen, release);
    }
    return bytes;
}

/* Returns the bytes of all such lists of the collector. */
GC__COLD size_t gc__collection_lists_bytes(const gc_heap *heap, bool release) {
    gc__cycle *cycle = heap->cycle;
    gc__words *all[] = {&cycle->roots,           &cycle->interior,        &cycle->pins,
                        &cycle->stacks,          &cycle->external_moving, &cycle->entries.words,
                        &cycle->entries.ended,   &cycle->offsets,          &cycle->reported,
                        &heap->handles->waiting, &heap->handles->ready,   &heap->collector->mark_stack};
    size_t bytes = gc__workers_lists_bytes(gc__heap_workers(heap), release);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bytes += gc__list_bytes(all[i], release);
    return bytes;
}

/* Returns the bytes of the tables of off-heap memory. */
GC__FN size_t gc__external_table_bytes(const gc_heap *heap) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += gc__map_bytes(&heap->collector->external[g]);
    return bytes;
}

/* The finalizer marks keep their memory from the first cycle on, if there are finalizers. */
GC__FN size_t gc__finalizer_marks_bytes(const gc_heap *heap) {
    if (!heap->stats.concurrent_cycles || !heap->finalizers->registered.capacity) return 0;
    return (heap->held_regions - heap->free_count - heap->large_regions) * GC__MARK_BYTES;
}

GC__FN size_t gc__lasting_lists_bytes(const gc_heap *heap) {
    size_t bytes = gc__words_bytes(&heap->collector->globals) + gc__map_bytes(&heap->cycle->ambiguous) +
                   gc__map_bytes(&heap->handles->keys) + gc__finalizers_bytes(heap->finalizers) +
                   gc__finalizer_marks_bytes(heap) + gc__marker_bytes(heap->marker) +
                   gc__stores_bytes(heap->stores) + gc__external_table_bytes(heap);
    return bytes + heap->handles->segment_count * GC__HANDLE_SEGMENT_BYTES + heap->handles->extra_count * GC__HANDLE_EXTRA_BYTES;
}

/* Counts the metadata again after a collection. Near the limit, objects have a better use for the memory of the
   collector's lists, which the next collection makes again, and for unused room in tables of off-heap bytes and
   lists of finalizers. The world is stopped. */
GC__COLD void gc__metadata_count(gc_heap *heap) {
    size_t much = heap->limit_bytes / 64, lists = gc__collection_lists_bytes(heap, false);
    if (gc__external_table_bytes(heap) > much)
        for (int g = 0; g < GC_GENERATIONS; g++) gc__map_shrink(&heap->collector->external[g]);
    if (gc__finalizers_bytes(heap->finalizers) > much) gc__finalizers_shrink(heap->finalizers);
    size_t lasting = gc__lasting_lists_bytes(heap);
    if (lists > much) {
        gc__collection_lists_bytes(heap, true);
        lists = gc__collection_lists_bytes(heap, false);
    }
    __atomic_store_n(&heap->metadata_bytes, lasting + lists, __ATOMIC_RELAXED);
}

/* Returns the share of a container's memory that a heap takes without heap_bytes_max: the rest is for the program's
   other memory. */
GC__COLD size_t gc__container_share(void) { return gc__os_container_bytes() / 4 * 3; }

/* Sets the limit to `bytes`, or to `share` if that is 0; if both are 0, there is no limit. */
GC__COLD void gc__limit_set(gc_heap *heap, size_t bytes, size_t share) {
    heap->limit_is_open = false;
    heap->limit_is_share = !bytes && share;
    if (heap->limit_is_share) bytes = gc__max(share, GC__REGIONS_MIN * GC_REGION_BYTES);
    heap->options.heap_bytes_max = bytes;
    heap->limit_bytes = bytes ? gc__min(bytes, GC__LIMIT_MOST) : gc__the_arena.bytes;
}

/* Looks for a container's limit once the heap has grown a little: reading the system's files takes longer than
   creating a heap. The world is stopped. */
GC__COLD void gc__limit_look(gc_heap *heap) {
    if (heap->limit_is_open && gc__held_bytes(heap) >= GC__SMALL_HEAP_BYTES)
        gc__limit_set(heap, 0, gc__container_share());
}
