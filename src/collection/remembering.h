/* When slots are remembered instead of cards. */
#pragma once

#include "../trace/remembered.h"
#include "../trace/old_regions.h"
#include "../policy/pace.h"
#include "../policy/cycles.h"

/* Slots are remembered if scanning cards takes 1/n of a pause within the goal. */
#define GC__REMEMBERING_SHARE 8
#define GC__REMEMBERING_CARD_NS 250
#define GC__REMEMBERING_FEW 64 /* slots in a collection that do not justify a call for each store into an old object */
#define GC__REMEMBERING_PATIENCE 8 /* collections in a row with so few */

GC__FN void gc__remembering_switch(gc_heap *heap, bool on) {
    gc__remembered *remembered = heap->remembered;
    if (on && !remembered->slots) {
        remembered->slots = (uintptr_t *)gc__os_map(GC__REMEMBERED_MOST * sizeof *remembered->slots);
        gc__remembered_renew(remembered);
    }
    if (on && !remembered->slots) return;
    heap->remembers_slots = on;
    remembered->few = 0;
    gc__old_rank(heap, GC__IGNORE);
}

/* Chooses between slots and cards after a collection. The world is stopped. */
GC__FN void gc__remembering_choose(gc_heap *heap) {
    gc__remembered *remembered = heap->remembered;
    if (!GC__HAS_MARKER) return;
    bool possible = gc__marking_is_on(heap) && gc__stores_are_logged(heap);
    size_t dear = gc__pace_goal_ns(heap) / GC__REMEMBERING_SHARE / GC__REMEMBERING_CARD_NS;
    bool fixed = heap->options.nursery_bytes != 0; /* by the host; no time is measured */
    remembered->enough = fixed ? SIZE_MAX : gc__pace_aim_ns(heap) / heap->pace->slot_ns;
    if (heap->options.test.marker_steps) dear = 1;
    if (heap->remembers_slots) {
        remembered->few = remembered->found + heap->pause.dirty_cards < GC__REMEMBERING_FEW ? remembered->few + 1 : 0;
        if (!possible || remembered->few >= GC__REMEMBERING_PATIENCE) gc__remembering_switch(heap, false);
    } else if (possible && heap->pause.dirty_cards >= dear) {
        gc__remembering_switch(heap, true);
    }
}

/* Frees the memory that barriers write to. No thread uses the heap. */
GC__FN void gc__remembering_end(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!GC__HAS_MARKER) return;
    gc__store_logging_publish(heap, false);
    if (marker->log) gc__os_unmap(marker->log, GC__MARK_BUFFER_BYTES);
    marker->log = NULL;
    if (heap->remembered->slots) gc__os_unmap(heap->remembered->slots, GC__REMEMBERED_MOST * sizeof *heap->remembered->slots);
    heap->remembered->slots = NULL;
}
