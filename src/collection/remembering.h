/* When slots are remembered instead of cards. */
#pragma once

#include "../trace/store_buffer.h"
#include "../trace/old_regions.h"
#include "../policy/pace.h"
#include "../policy/cycles.h"

/* Slots are remembered if scanning cards takes 1/n of a pause within the goal. */
#define GC__REMEMBERING_SHARE 8
#define GC__REMEMBERING_CARD_NS 250
#define GC__REMEMBERING_FEW 64 /* slots in a collection that do not justify a call for each store into an old object */
#define GC__REMEMBERING_PATIENCE 8 /* collections in a row with so few */

GC__FN void gc__remembering_switch(gc_heap *heap, bool on) {
    if (on && !gc__stores_open(heap->stores)) return;
    heap->remembers_slots = on;
    heap->stores->few = 0;
    gc__old_rank(heap, GC__IGNORE, GC__IGNORE);
}

/* Chooses between slots and cards after a collection. The world is stopped. */
GC__FN void gc__remembering_choose(gc_heap *heap) {
    gc__store_buffer *stores = heap->stores;
    if (!GC__HAS_MARKER) return;
    bool possible = gc__marking_is_on(heap) && gc__stores_are_logged(heap);
    size_t dear = gc__pace_goal_ns(heap) / GC__REMEMBERING_SHARE / GC__REMEMBERING_CARD_NS;
    bool fixed = heap->options.nursery_bytes != 0; /* by the host; no time is measured */
    stores->enough = fixed ? SIZE_MAX : gc__pace_aim_ns(heap) / heap->pace->slot_ns;
    if (heap->options.test.marker_steps) dear = 1;
    if (heap->remembers_slots) {
        stores->few = stores->found + heap->pause.dirty_cards < GC__REMEMBERING_FEW ? stores->few + 1 : 0;
        if (!possible || stores->few >= GC__REMEMBERING_PATIENCE) gc__remembering_switch(heap, false);
    } else if (possible && heap->pause.dirty_cards >= dear) {
        gc__remembering_switch(heap, true);
    }
}

/* Frees the memory that barriers write to. No thread uses the heap. */
GC__FN void gc__remembering_end(gc_heap *heap) {
    gc__store_buffer *stores = heap->stores;
    if (!GC__HAS_MARKER) return;
    gc__store_logging_publish(heap, false);
    if (stores->entries) gc__os_unmap(stores->entries, GC__STORES_BYTES);
    stores->entries = NULL;
}
