/* Heaps, their regions, and the open windows of their threads. */
#pragma once

#include "vars.h"

/* A walk along a list, that notices a cycle by Brent's method. */
typedef struct gc__dac_list {
    uint64_t at, kept;
    uint64_t left, span;
} gc__dac_list;

GC__DAC_FN gc__dac_list gc__dac_list_begin(uint64_t first) {
    gc__dac_list list = {first, 0, 1, 1};
    return list;
}

/* Goes on to `next`. False: the list ends there. */
GC__DAC_FN bool gc__dac_list_next(gc_dac *dac, gc__dac_list *list, uint64_t next, const char *what) {
    list->at = next;
    if (!next) return false;
    if (next == list->kept) return gc__dac_fail(dac, "the list of %s is a cycle: what was read is damaged", what);
    if (!--list->left) {
        list->kept = next;
        list->left = list->span *= 2;
    }
    return gc__dac_step(dac, 1);
}

/* The number of the region whose record is at `address`; place_count: it is none. */
GC__DAC_FN size_t gc__dac_place_number(const gc__dac_copy *copy, uint64_t address) {
    if (address < copy->regions) return copy->place_count;
    uint64_t bytes = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES), offset = address - copy->regions;
    return offset % bytes || offset / bytes >= copy->place_count ? copy->place_count : (size_t)(offset / bytes);
}

GC__DAC_FN void gc__dac_places_free(gc_dac *dac, gc__dac_copy *copy) {
    for (size_t i = 0; i < copy->place_count; i++)
        gc__dac_free(dac, copy->places[i].starts, copy->info.region_bytes / 64, 1);
    gc__dac_free(dac, copy->places, copy->place_count, sizeof *copy->places);
    gc__dac_free(dac, copy->windows, copy->window_room, sizeof *copy->windows);
    copy->places = NULL;
    copy->windows = NULL;
    copy->place_count = copy->window_count = copy->window_room = 0;
}

/* A member of a record that was read as a whole. */
GC__DAC_FN uint64_t gc__dac_in(const gc__dac_copy *copy, const uint8_t *record, unsigned number, size_t bytes) {
    uint64_t word = 0;
    uint64_t room = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES);
    if (gc__dac_has(copy, number) && copy->members[number] + bytes <= room)
        memcpy(&word, record + copy->members[number], bytes);
    return word;
}

GC__DAC_FN void gc__dac_place_fill(const gc__dac_copy *copy, gc__dac_place *place, const uint8_t *record) {
    place->heap = gc__dac_in(copy, record, GC__DAC_AT_region_heap, 8);
    place->top = gc__dac_in(copy, record, GC__DAC_AT_region_top, 8);
    place->live_bytes = gc__dac_in(copy, record, GC__DAC_AT_region_live_bytes, 8);
    place->next = gc__dac_in(copy, record, GC__DAC_AT_region_next, 8);
    place->span = (uint32_t)gc__dac_in(copy, record, GC__DAC_AT_region_span, 4);
    place->rest_index = (uint32_t)gc__dac_in(copy, record, GC__DAC_AT_region_rest_index, 4);
    place->kind = (uint8_t)gc__dac_in(copy, record, GC__DAC_AT_region_kind, 1);
    place->generation = (uint8_t)gc__dac_in(copy, record, GC__DAC_AT_region_generation, 1);
    place->verdict = (uint8_t)gc__dac_in(copy, record, GC__DAC_AT_region_verdict, 1);
    place->linear = gc__dac_in(copy, record, GC__DAC_AT_region_linear, 1) != 0;
    place->formatted = gc__dac_in(copy, record, GC__DAC_AT_region_formatted, 1) != 0;
    place->second_plane = gc__dac_in(copy, record, GC__DAC_AT_region_plane, 1) != 0;
    place->accessible = gc__dac_in(copy, record, GC__DAC_AT_region_accessible, 1) != 0;
}

/* Reads the arena and its table of regions. */
GC__DAC_FN bool gc__dac_places_read(gc_dac *dac, gc__dac_copy *copy) {
    uint64_t arena = gc__dac_variable(copy, GC__DAC_VARIABLE_ARENA),
             bytes = gc__dac_fact(copy, GC__DAC_FACT_REGION_BYTES);
    gc__dac_places_free(dac, copy);
    copy->arena = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_base);
    uint64_t size = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_bytes);
    copy->regions = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_regions);
    copy->marks[0] = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_marks);
    copy->marks[1] = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_marks_second);
    uint64_t used = gc__dac_member(dac, copy, arena, GC__DAC_AT_arena_used);
    copy->arena_end = copy->arena + size;
    if (!copy->arena) return true; /* no heap was ever created */
    if (copy->arena_end < copy->arena || copy->arena % copy->info.region_bytes ||
        used > size / copy->info.region_bytes || used > dac->target_bytes / bytes)
        return gc__dac_fail(dac, "the arena is damaged: it begins at 0x%llx, has 0x%llx bytes, and %llu regions in use",
                            (unsigned long long)copy->arena, (unsigned long long)size, (unsigned long long)used);
    copy->places = (gc__dac_place *)gc__dac_allocate(dac, used, sizeof *copy->places);
    if (!copy->places) return false;
    copy->place_count = (size_t)used;
    for (size_t i = 0; i < copy->place_count; i++) {
        uint8_t record[4096];
        if (!gc__dac_load(dac, copy->regions + i * bytes, record, (size_t)bytes)) return false;
        copy->places[i].base = copy->arena + i * copy->info.region_bytes;
        gc__dac_place_fill(copy, &copy->places[i], record);
    }
    return true;
}

GC__DAC_FN bool gc__dac_is_large(const gc__dac_copy *copy, const gc__dac_place *place) {
    return place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_LARGE);
}

/* Follows the lists of a heap: what is in them is complete. */
GC__DAC_FN void gc__dac_places_list(gc_dac *dac, gc__dac_copy *copy, uint64_t heap) {
    uint64_t lists = gc__dac_at(copy, heap, GC__DAC_AT_heap_regions);
    for (uint64_t g = 0; g < gc__dac_fact(copy, GC__DAC_FACT_GENERATIONS); g++) {
        uint64_t at = gc__dac_u64(dac, lists + 8 * g);
        while (at) {
            size_t number = gc__dac_place_number(copy, at);
            gc__dac_place *place = number < copy->place_count ? &copy->places[number] : NULL;
            if (!place || place->listed || place->heap != heap) {
                gc__dac_fail(
                    dac,
                    "the list of regions of generation %llu of the heap at 0x%llx leads to 0x%llx: it is being "
                    "changed, or damaged",
                    (unsigned long long)g, (unsigned long long)heap, (unsigned long long)at);
                break;
            }
            if (!gc__dac_is_large(copy, place) || !place->span || place->span > copy->place_count - number)
                place->span = 1;
            place->listed = true;
            at = place->next;
        }
    }
}

GC__DAC_FN uint64_t gc__dac_place_end(const gc__dac_copy *copy, const gc__dac_place *place) {
    return place->base + place->span * copy->info.region_bytes;
}

/* Notes a window, if it is one in a region of the heap. A thread may be in the midst of opening it: then it is none yet. */
GC__DAC_FN void gc__dac_window_add(gc_dac *dac, gc__dac_copy *copy, uint64_t heap, uint64_t window, bool running) {
    uint64_t start = gc__dac_member(dac, copy, window, GC__DAC_AT_window_start),
             next = gc__dac_member(dac, copy, window, GC__DAC_AT_window_next),
             end = gc__dac_member(dac, copy, window, GC__DAC_AT_window_end),
             region = gc__dac_member(dac, copy, window, GC__DAC_AT_window_region);
    size_t number = region ? gc__dac_place_number(copy, region) : copy->place_count;
    if (number == copy->place_count) return;
    const gc__dac_place *place = &copy->places[number];
    uint64_t region_end = place->base + copy->info.region_bytes;
    if (place->heap != heap || next < place->base || next > end || end > region_end || next % 8) return;
    if (copy->window_count == copy->window_room) {
        size_t room = copy->window_room ? 2 * copy->window_room : 16;
        gc__dac_window *windows = (gc__dac_window *)gc__dac_allocate(dac, room, sizeof *windows);
        if (!windows) return;
        if (copy->window_count) memcpy(windows, copy->windows, copy->window_count * sizeof *windows);
        gc__dac_free(dac, copy->windows, copy->window_room, sizeof *windows);
        copy->windows = windows;
        copy->window_room = room;
    }
    gc__dac_window fresh = {start, next, end, number, running};
    copy->windows[copy->window_count++] = fresh;
}

GC__DAC_FN bool gc__dac_thread_runs(gc_dac *dac, const gc__dac_copy *copy, uint64_t thread) {
    uint32_t mode = gc__dac_member32(dac, copy, thread, GC__DAC_AT_thread_mode);
    return mode != gc__dac_fact(copy, GC__DAC_FACT_MODE_PREEMPTIVE) &&
           !gc__dac_member8(dac, copy, thread, GC__DAC_AT_thread_parked);
}

GC__DAC_FN void gc__dac_windows_find(gc_dac *dac, gc__dac_copy *copy, uint64_t heap) {
    uint64_t threads = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_threads);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_first));
    bool more = list.at != 0;
    while (more) {
        bool runs = gc__dac_thread_runs(dac, copy, list.at);
        gc__dac_window_add(dac, copy, heap, gc__dac_at(copy, list.at, GC__DAC_AT_thread_window), runs);
        gc__dac_window_add(dac, copy, heap, gc__dac_at(copy, list.at, GC__DAC_AT_thread_raw), runs);
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_thread_next), "threads");
    }
}

/* Calls f for each heap of the collector. */
GC__DAC_FN void gc__dac_each_heap(gc_dac *dac, gc__dac_copy *copy,
                                  bool (*f)(gc_dac *dac, gc__dac_copy *copy, uint64_t heap, void *context),
                                  void *context) {
    uint64_t heaps = gc__dac_variable(copy, GC__DAC_VARIABLE_HEAPS);
    gc__dac_list list = gc__dac_list_begin(heaps ? gc__dac_u64(dac, heaps) : 0);
    bool more = list.at != 0;
    while (more && f(dac, copy, list.at, context)) {
        uint64_t threads = gc__dac_member(dac, copy, list.at, GC__DAC_AT_heap_threads);
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_next_heap), "heaps");
    }
}

/* Notes in which regions of a heap a collection is at work. It takes regions out of the lists before it gives them verdicts, and
   puts them back after taking these away. False: there are more heaps than there can be. */
GC__DAC_FN bool gc__dac_places_condemn(gc_dac *dac, gc__dac_copy *copy, uint64_t heap) {
    uint32_t phase = gc__dac_member32(dac, copy, heap, GC__DAC_AT_heap_phase);
    bool collects = phase >= GC_PHASE_PLAN && phase <= GC_PHASE_SWEEP;
    if (!gc__dac_step(dac, copy->place_count)) return false;
    for (size_t i = 0; i < copy->place_count; i++) {
        gc__dac_place *place = &copy->places[i];
        bool has_objects = place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_SMALL) || gc__dac_is_large(copy, place);
        if (place->heap == heap) place->condemned = place->verdict || (collects && has_objects && !place->listed);
    }
    return true;
}

GC__DAC_FN bool gc__dac_heap_survey(gc_dac *dac, gc__dac_copy *copy, uint64_t heap, void *context) {
    (void)context;
    gc__dac_places_list(dac, copy, heap);
    if (!gc__dac_places_condemn(dac, copy, heap)) return false;
    gc__dac_windows_find(dac, copy, heap);
    return true;
}

/* Reads the tables of all collectors, unless they are known. What is damaged in them is kept for later calls. */
GC__DAC_FN void gc__dac_survey(gc_dac *dac) {
    gc__dac_call *call = gc__dac_this_call(dac);
    bool incomplete = call->incomplete;
    for (size_t i = 0; i < dac->copy_count; i++) {
        gc__dac_copy *copy = &dac->copies[i];
        if (copy->info.rejected || (copy->places && !(dac->moving && dac->depth == 1))) continue;
        call->incomplete = false;
        if (gc__dac_places_read(dac, copy)) gc__dac_each_heap(dac, copy, gc__dac_heap_survey, NULL);
        copy->fault = call->incomplete ? gc__dac_format(dac, "%s", call->message) : NULL;
        incomplete |= call->incomplete;
    }
    call->incomplete = incomplete;
}

/* Begins a call, which ends by gc__dac_end. False: the reader was rejected. */
GC__DAC_FN bool gc__dac_begin(gc_dac *dac) {
    dac->depth++;
    gc__dac_call *call = gc__dac_this_call(dac);
    call->message[0] = 0;
    call->incomplete = false;
    call->steps = dac->target_bytes < UINT64_MAX / 64 - 1000000 ? 64 * (dac->target_bytes + 1000000) : UINT64_MAX;
    if (dac->rejected) return gc__dac_fail(dac, "%s", dac->rejected);
    if (dac->moving && dac->depth == 1) gc__dac_blocks_forget(dac);
    gc__dac_survey(dac);
    return true;
}

/* Returns whether the call has left nothing out. */
GC__DAC_FN bool gc__dac_end(gc_dac *dac) {
    bool complete = !gc__dac_this_call(dac)->incomplete;
    dac->depth--;
    return complete;
}

/* The same for walks that report names. */
GC__DAC_FN bool gc__dac_end_names(gc_dac *dac) {
    if (dac->unnamed) gc__dac_fail(dac, "names of types, fields, functions are not readable%s", dac->complaint);
    return gc__dac_end(dac);
}

GC_DAC_API const char *gc_dac_message(const gc_dac *dac) {
    if (!dac) return "the system gives no memory to the reader";
    return dac->calls[dac->depth + 1 < GC__DAC_CALLS ? dac->depth + 1 : GC__DAC_CALLS - 1].message;
}

static const char *const gc__dac_phase_texts[] = {
#define GC__DAC_PHASE_TEXT(name, text) text,
    GC_PHASES(GC__DAC_PHASE_TEXT)
#undef GC__DAC_PHASE_TEXT
};

GC__DAC_FN const char *gc__dac_doubts(gc_dac *dac, const gc__dac_copy *copy, const gc_dac_heap *heap) {
    if (heap->phase < GC_PHASE_PLAN || heap->phase > GC_PHASE_SWEEP)
        return dac->moving ? "the process runs on while it is read: what is reported is of different moments" : "";
    size_t condemned = 0, count = gc__dac_step(dac, copy->place_count) ? copy->place_count : 0;
    for (size_t i = 0; i < count; i++)
        condemned += copy->places[i].heap == heap->address && copy->places[i].condemned;
    return gc__dac_format(dac,
                          "collection %llu, of generation %d, is at work (%s): objects in its %zu condemned regions "
                          "cannot be listed; roots, handles "
                          "and references into these may be old or new, and dead objects are still in them%s",
                          (unsigned long long)heap->collections, heap->collection_generation, gc__dac_phase_texts[heap->phase],
                          condemned, dac->moving ? "; and the process runs on while it is read" : "");
}

GC__DAC_FN gc_dac_heap gc__dac_heap_read(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    gc_dac_heap heap;
    memset(&heap, 0, sizeof heap);
    uint64_t threads = gc__dac_member(dac, copy, address, GC__DAC_AT_heap_threads);
    uint32_t phase = gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_phase);
    heap.address = address;
    heap.collector = copy->info.index;
    heap.phase = phase <= GC_PHASE_NONE ? (gc_phase)phase : GC_PHASE_ROOTS;
    heap.stopping = gc__dac_member32(dac, copy, threads, GC__DAC_AT_threads_stopping) & 1;
    heap.locked = gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_owner) != 0;
    heap.non_moving = gc__dac_member8(dac, copy, address, GC__DAC_AT_heap_non_moving) != 0;
    heap.non_generational = gc__dac_member8(dac, copy, address, GC__DAC_AT_heap_non_generational) != 0;
    heap.conservative_stack = gc__dac_member8(dac, copy, address, GC__DAC_AT_heap_conservative_stack) != 0;
    heap.stress = gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_stress) != 0;
    heap.heap_bytes_max = gc__dac_member(dac, copy, address, GC__DAC_AT_heap_heap_bytes_max);
    heap.collections = gc__dac_member(dac, copy, address, GC__DAC_AT_heap_collection_number);
    heap.collection_generation = (int)gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_collection_generation);
    uint32_t reason = gc__dac_member32(dac, copy, address, GC__DAC_AT_heap_collection_reason);
    uint64_t texts = gc__dac_variable(copy, GC__DAC_VARIABLE_REASONS);
    heap.collection_reason = "";
    if (texts && heap.collections && reason < gc__dac_fact(copy, GC__DAC_FACT_REASONS)) {
        uint64_t text = 0;
        gc__dac_copy_memory(dac, texts + 8 * reason, &text, sizeof text);
        heap.collection_reason = gc__dac_text(dac, text, "");
    }
    heap.doubts = gc__dac_doubts(dac, copy, &heap);
    return heap;
}

GC_DAC_API bool gc_dac_collectors(gc_dac *dac, bool (*visit)(void *context, const gc_dac_collector *collector),
                                  void *context) {
    gc__dac_begin(dac);
    for (size_t i = 0; i < dac->copy_count; i++)
        if (!visit(context, &dac->copies[i].info)) break;
    return gc__dac_end(dac);
}

typedef struct gc__dac_heap_walk {
    bool (*visit)(void *context, const gc_dac_heap *heap);
    void *context;
    bool stopped;
} gc__dac_heap_walk;

GC__DAC_FN bool gc__dac_heap_visit(gc_dac *dac, gc__dac_copy *copy, uint64_t address, void *context) {
    gc__dac_heap_walk *walk = (gc__dac_heap_walk *)context;
    gc_dac_heap heap = gc__dac_heap_read(dac, copy, address);
    walk->stopped = !walk->visit(walk->context, &heap);
    return !walk->stopped;
}

GC_DAC_API bool gc_dac_heaps(gc_dac *dac, bool (*visit)(void *context, const gc_dac_heap *heap), void *context) {
    gc__dac_heap_walk walk = {visit, context, false};
    if (!gc__dac_begin(dac)) return gc__dac_end(dac);
    for (size_t i = 0; i < dac->copy_count && !walk.stopped; i++) {
        if (dac->copies[i].info.rejected) continue;
        if (dac->copies[i].fault) gc__dac_fail(dac, "%s", dac->copies[i].fault);
        gc__dac_each_heap(dac, &dac->copies[i], gc__dac_heap_visit, &walk);
    }
    return gc__dac_end(dac);
}

/* Begins a call on a heap. Returns its collector; NULL with gc__dac_fail. */
GC__DAC_FN gc__dac_copy *gc__dac_copy_of(gc_dac *dac, const gc_dac_heap *heap) {
    if (!gc__dac_begin(dac)) return NULL;
    if (heap->collector >= dac->copy_count || dac->copies[heap->collector].info.rejected) {
        gc__dac_fail(dac, "that is no heap of this reader");
        return NULL;
    }
    if (dac->copies[heap->collector].fault) gc__dac_fail(dac, "%s", dac->copies[heap->collector].fault);
    return &dac->copies[heap->collector];
}

GC__DAC_FN gc_dac_region_kind gc__dac_kind_of(const gc__dac_copy *copy, const gc__dac_place *place) {
    if (place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_SMALL)) return GC_DAC_SMALL;
    if (gc__dac_is_large(copy, place)) return GC_DAC_LARGE;
    return place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_QUARANTINED) ? GC_DAC_QUARANTINED : GC_DAC_FREE;
}

/* Where a linear region's objects end. Only one window moves that end. */
GC__DAC_FN uint64_t gc__dac_place_top(const gc__dac_copy *copy, size_t number) {
    const gc__dac_place *place = &copy->places[number];
    uint64_t end = gc__dac_place_end(copy, place),
             top = place->top < place->base || place->top > end ? end : place->top;
    if (!place->linear || place->formatted || place->span > 1) return end;
    for (size_t i = 0; i < copy->window_count; i++)
        if (copy->windows[i].place == number && copy->windows[i].next > top) top = copy->windows[i].next;
    return top;
}

GC_DAC_API bool gc_dac_regions(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_region *region), void *context) {
    gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    for (size_t i = 0; copy && i < copy->place_count; i++) {
        gc__dac_place *place = &copy->places[i];
        if (place->heap != heap->address || place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_LARGE_REST)) continue;
        if (!gc__dac_step(dac, 2 * copy->window_count)) break;
        gc_dac_region region;
        memset(&region, 0, sizeof region);
        if (!place->listed) place->span = 1;
        region.base = place->base;
        region.end = gc__dac_place_end(copy, place);
        region.top = place->listed ? gc__dac_place_top(copy, i) : place->base;
        region.kind = gc__dac_kind_of(copy, place);
        region.generation = place->generation;
        region.live_bytes = place->live_bytes;
        region.linear = place->linear;
        region.condemned = place->condemned;
        region.accessible = place->accessible;
        for (size_t w = 0; w < copy->window_count; w++) region.windows += copy->windows[w].place == i;
        if (!visit(context, &region)) break;
    }
    return gc__dac_end(dac);
}

/* As gc_stats.committed_bytes. */
GC__DAC_FN uint64_t gc__dac_held_bytes(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap) {
    return gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_held_regions) * copy->info.region_bytes -
           gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_spare_bytes) -
           gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_free_spare_bytes);
}

GC_DAC_API bool gc_dac_statistics(gc_dac *dac, const gc_dac_heap *heap,
                                  bool (*visit)(void *context, const char *name, uint64_t value), void *context) {
    static const char *const names[] = {
#define GC__DAC_NAME(name, count) #name,
        GC__DAC_STATISTICS(GC__DAC_NAME)
#undef GC__DAC_NAME
    };
    static const struct {
        const char *name;
        uint8_t number;
    } own[] = {{"large_bytes", GC__DAC_AT_heap_large_bytes},
               {"external_bytes", GC__DAC_AT_heap_external_bytes},
               {"nursery_budget_bytes", GC__DAC_AT_heap_budget_bytes},
               {"nursery_survivor_bytes", GC__DAC_AT_heap_nursery_survivor_bytes},
               {"committed_bytes_peak", GC__DAC_AT_heap_held_peak_bytes}};
    gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (!copy) return gc__dac_end(dac);
    uint64_t stats = gc__dac_at(copy, heap->address, GC__DAC_AT_heap_stats);
    char name[64];
    for (unsigned i = 0; i < copy->statistic_count; i++)
        for (unsigned j = 0; j < copy->statistics[i][1] && j < 64; j++) {
            snprintf(name, sizeof name, copy->statistics[i][1] > 1 ? "%s[%u]" : "%s", names[i], j);
            if (!visit(context, name, gc__dac_u64(dac, stats + copy->statistics[i][0] + 8 * j)))
                return gc__dac_end(dac);
        }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!visit(context, own[i].name, gc__dac_member(dac, copy, heap->address, own[i].number)))
            return gc__dac_end(dac);
    if (!visit(context, "committed_bytes", gc__dac_held_bytes(dac, copy, heap->address))) return gc__dac_end(dac);
    for (unsigned g = 0; g < gc__dac_fact(copy, GC__DAC_FACT_GENERATIONS); g++) {
        snprintf(name, sizeof name, "generation_bytes[%u]", g);
        uint64_t bytes = gc__dac_u64(dac, gc__dac_at(copy, heap->address, GC__DAC_AT_heap_generation_bytes) + 8 * g);
        if (!visit(context, name, bytes)) break;
    }
    return gc__dac_end(dac);
}
