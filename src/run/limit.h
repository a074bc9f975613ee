/* The limit of a heap, and what it takes beside its regions, which counts towards the limit. */
#pragma once

#include "../collect/collector.h"
#include "../handles/finalizers.h"
#include "../handles/table.h"

/* The collector's lists that are empty between collections; they keep their memory. */
#define GC__COLLECTION_LISTS 7
GC__FN void gc__collection_lists(const gc_heap *heap, gc__words **lists) {
    gc__words *all[] = {&heap->cycle->roots,           &heap->cycle->interior,       &heap->cycle->pins,
                        &heap->cycle->external_moving, &heap->collector->mark_stack, &heap->handles->waiting,
                        &heap->handles->ready};
    for (size_t i = 0; i < GC__COLLECTION_LISTS; i++) lists[i] = all[i];
}

GC__FN size_t gc__collection_lists_bytes(const gc_heap *heap) {
    gc__words *lists[GC__COLLECTION_LISTS];
    size_t bytes = 0;
    gc__collection_lists(heap, lists);
    for (size_t i = 0; i < GC__COLLECTION_LISTS; i++) bytes += gc__words_bytes(lists[i]);
    return bytes;
}

GC__FN size_t gc__lasting_lists_bytes(const gc_heap *heap) {
    const gc__finalizers *finalizers = heap->finalizers;
    size_t bytes = gc__words_bytes(&heap->collector->globals) + gc__map_bytes(&heap->cycle->suspects) +
                   gc__map_bytes(&heap->handles->keys) + gc__finalizers_bytes(finalizers);
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += gc__map_bytes(&heap->collector->external[g]);
    for (const gc__handle_segment *segment = heap->handles->segments; segment; segment = segment->next)
        bytes += GC__HANDLE_SEGMENT_BYTES;
    return bytes;
}

/* After a collection: counts anew. Near the limit objects have the better use for the memory of the collector's lists, and
   the next collection makes them again. The world is stopped. */
GC__FN void gc__beside_count(gc_heap *heap) {
    size_t lasting = gc__lasting_lists_bytes(heap), lists = gc__collection_lists_bytes(heap);
    if (lists > heap->limit_bytes / 64) {
        gc__words *all[GC__COLLECTION_LISTS];
        gc__collection_lists(heap, all);
        for (size_t i = 0; i < GC__COLLECTION_LISTS; i++) gc__words_free(all[i]);
        lists = 0;
    }
    __atomic_store_n(&heap->beside_bytes, lasting + lists, __ATOMIC_RELAXED);
}

/* The share of a container's memory that a heap takes without heap_bytes_max: the rest is for the program's other memory. */
GC__FN size_t gc__container_share(void) { return gc__os_container_bytes() / 4 * 3; }

/* `share`: the limit if `bytes` is 0; if it is 0, too, there is none. */
GC__FN void gc__limit_set(gc_heap *heap, size_t bytes, size_t share) {
    heap->limit_is_open = false;
    heap->limit_is_share = !bytes && share;
    if (heap->limit_is_share) bytes = gc__max(share, GC__REGIONS_MIN * GC_REGION_BYTES);
    heap->options.heap_bytes_max = bytes;
    heap->limit_bytes = bytes ? bytes : gc__the_arena.bytes;
}

/* To read the system's files takes longer than to create a heap, so that is done once the heap has grown a little. The world is
   stopped. */
GC__FN void gc__limit_look(gc_heap *heap) {
    if (heap->limit_is_open && gc__held_bytes(heap) >= GC__SMALL_HEAP_BYTES)
        gc__limit_set(heap, 0, gc__container_share());
}
