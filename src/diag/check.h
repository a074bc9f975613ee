/* With GC_DEBUG 3, structures check themselves at the start and the end of each collection: numbers that are kept
   twice must agree, and every list must hold what its name says. Verify checks objects and their slots; this part
   checks everything else. */
#pragma once

#include "../policy/external.h"
#include "../weak/handle_table.h"
#include "../weak/finalizers.h"
#include "../space/index.h"

typedef struct gc__checker {
    gc_heap *heap;
    const char *when;
    size_t regions;                    /* number of regions in the heap's lists */
    size_t live_bytes[GC_GENERATIONS]; /* the sum over the regions of each generation */
    size_t large_bytes, large_regions, spare_bytes, slack_bytes;
    const gc__handle_segment *segment; /* the segment that was last found to be one of the heap's */
    size_t free_places[GC_HANDLE_KINDS], free_blocks;
} gc__checker;

#define GC__CHECK_REMEDY                                                                                          \
    "either a fault of the collector, or the program has stored to memory that is not its own: AddressSanitizer " \
    "finds "                                                                                                      \
    "the second; the first, please report"

GC__COLD void gc__check_true(const gc__checker *checker, bool holds, const void *where, const char *what) {
    if (holds) return;
    gc__fatal(&checker->heap->options, "check (%s of collection %llu): %s (%p): " GC__CHECK_REMEDY, checker->when,
              (unsigned long long)checker->heap->collection.number, what, where);
}

GC__COLD void gc__check_equal(const gc__checker *checker, size_t counted, size_t recorded, const char *what) {
    if (counted == recorded) return;
    gc__fatal(&checker->heap->options,
              "check (%s of collection %llu): %s: %zu were counted, %zu are noted: " GC__CHECK_REMEDY, checker->when,
              (unsigned long long)checker->heap->collection.number, what, counted, recorded);
}

/* Checks a region's entries in the tables that are indexed by address. */
GC__COLD void gc__region_check_tables(const gc__checker *checker, const gc__region *region) {
    for (uint32_t i = 0; i < region->span; i++) {
        const gc__region *part = region + i;
        size_t entry = (region->base >> GC_REGION_SHIFT) + i;
        gc__check_true(checker, gc__region_is_of(part, checker->heap), part,
                       "a region in a list belongs to another heap");
        gc__check_true(checker, !i || (part->kind == GC__LARGE_REST && part->rest_index == i), part,
                       "a part of a large object is none");
        int age = gc__tables.age[entry] & ~(GC__AGE_CANDIDATE | (checker->heap->marking ? GC__AGE_FILLED : 0));
        gc__check_true(checker, age == gc__age_of(checker->heap, region->generation), part,
                       "a region's age is not its generation's");
        gc__check_true(checker, *(gc__tables.age + entry - GC_RANK_ENTRIES) == 2 - region->generation, part,
                       "a region's youth is not its generation's");
        gc__check_true(checker, GC__VERDICTS[entry] == GC__IGNORE, part, "a region has a verdict outside the trace");
    }
}

/* Returns whether the region's other plane is as mark_bits.h says. */
GC__COLD bool gc__region_has_clear_plane(const gc_heap *heap, const gc__region *region) {
    const uint64_t *other = __atomic_load_n(&gc__the_arena.marks[region->plane ^ 1], __ATOMIC_ACQUIRE);
    if (!other || region->stale || region->generation < 2 || gc__heap_is_marking(heap)) return true;
    uintptr_t end = gc__region_starts_end(region);
    return gc__bit_next(other, region->base, end) == end;
}

GC__COLD void gc__region_check(const gc__checker *checker, const gc__region *region, int generation) {
    uintptr_t end = gc__region_end(region);
    bool large = region->kind == GC__LARGE;
    gc__check_true(checker, large || region->kind == GC__SMALL, region,
                   "a region in a generation's list is of another kind");
    gc__check_true(checker, region->generation == generation, region, "a region is in another generation's list");
    gc__check_true(checker, large ? region->span >= 1 : region->span == 1, region, "a region's span is wrong");
    gc__check_true(checker, !region->linear || generation == 0, region, "a region of an old generation is linear");
    gc__check_true(checker, !region->formatted || region->linear, region, "a formatted region is not linear");
    gc__check_true(checker, !region->pinned && !region->overflowed, region, "a flag of a collection is left over");
    gc__check_true(checker,
                   region->top - region->base <= end - region->base && region->hole - region->base <= GC_REGION_BYTES,
                   region, "a region's top or hole lies outside it");
    gc__check_true(checker, region->indexed_end >= region->base && region->indexed_end <= end, region,
                   "a region's index lies outside it");
    gc__check_true(checker, region->dirty_end >= region->base && region->dirty_end <= end, region,
                   "a region's written part lies outside it");
    gc__check_true(checker, large || region->live_bytes <= GC_REGION_BYTES, region,
                   "a region holds more than its size");
    gc__check_true(checker, region->plane == checker->heap->plane, region, "a region's mark plane is not the heap's");
    bool clear = gc__region_has_clear_plane(checker->heap, region);
    gc__check_true(checker, clear, region, "marks are left in a region's other plane");
    if (generation == 2 && !large && !region->linear)
        gc__check_equal(checker, gc__marked_object_bytes(region), region->live_bytes, "bytes of objects in an old region");
    gc__region_check_tables(checker, region);
}

GC__COLD void gc__large_check(gc__checker *checker, const gc__region *region) {
    size_t bytes = gc__object_bytes(region->base), end = gc__region_end(region) - gc__page_end(region->top);
    gc__check_equal(checker, region->top - region->base, bytes, "bytes of a large object");
    gc__check_true(checker, end < GC_REGION_BYTES && region->spare <= end, region, "the end of a large object is amiss");
    checker->large_bytes += bytes;
    checker->large_regions += region->span;
    checker->spare_bytes += region->spare;
    checker->slack_bytes += end - region->spare;
}

GC__COLD void gc__region_list_check(gc__checker *checker, int generation) {
    size_t most = gc__regions_used(), count = 0;
    for (const gc__region *region = checker->heap->regions[generation]; region; region = region->next) {
        gc__check_true(checker, count++ < most, region, "a list of regions has no end");
        gc__region_check(checker, region, generation);
        checker->regions += region->span;
        checker->live_bytes[generation] += region->live_bytes;
        if (region->kind == GC__LARGE) gc__large_check(checker, region);
    }
}

/* Checks the free list, or the quarantine: `count` regions of a kind. */
GC__COLD void gc__region_chain_check(const gc__checker *checker, const gc__region *first, size_t count, uint8_t kind,
                                   const char *what) {
    size_t found = 0;
    for (const gc__region *region = first; region && found <= count; region = region->next, found++)
        gc__check_true(checker, gc__region_is_of(region, checker->heap) && region->kind == kind, region, what);
    gc__check_equal(checker, found, count, what);
}

GC__COLD bool gc__region_is_listed(const gc__region *region, const gc__region *first) {
    while (first && first != region) first = first->next;
    return !region || first;
}

GC__COLD void gc__regions_check(gc__checker *checker) {
    const gc_heap *heap = checker->heap;
    size_t owned = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        gc__region_list_check(checker, g);
        gc__check_true(checker, gc__region_is_listed(heap->cycle->cursors[g], heap->regions[g]),
                       heap->cycle->cursors[g], "the region to search for holes is not in its generation's list");
    }
    gc__check_true(checker, gc__region_is_listed(heap->recycled, heap->regions[0]), heap->recycled,
                   "the region to search for holes is not in the list of generation 0");
    gc__region_chain_check(checker, heap->free, heap->free_count, GC__FREE, "regions in the free list");
    gc__region_chain_check(checker, heap->quarantine, heap->quarantine_count, GC__QUARANTINED,
                           "regions in the quarantine");
    gc__check_equal(checker, checker->regions + heap->free_count, heap->held_regions, "regions in the heap's lists");
    gc__check_equal(checker, checker->large_regions, heap->large_regions, "regions of large objects");
    gc__check_equal(checker, checker->spare_bytes, heap->spare_bytes, "spare bytes of large objects");
    gc__check_equal(checker, checker->slack_bytes, heap->slack_bytes, "slack of large objects");
    for (size_t i = 0, used = gc__regions_used(); i < used; i++)
        owned += gc__region_is_of(&gc__the_arena.regions[i], heap);
    gc__check_equal(checker, owned, heap->held_regions + heap->quarantine_count, "regions that are the heap's");
}

/* Checks counts of bytes. Objects allocated in generation 0 since the last collection are counted in
   generation_bytes[0] alone. */
GC__COLD void gc__bytes_check(const gc__checker *checker, bool collected) {
    const gc_heap *heap = checker->heap;
    size_t external = 0;
    gc__check_equal(checker, checker->live_bytes[1], heap->generation_bytes[1], "bytes of generation 1");
    gc__check_equal(checker, checker->live_bytes[2], heap->generation_bytes[2], "bytes of generation 2");
    if (collected)
        gc__check_equal(checker, checker->live_bytes[0], heap->nursery_survivor_bytes, "bytes kept in generation 0");
    gc__check_equal(checker, checker->large_bytes, heap->large_bytes, "bytes of large objects");
    for (int g = 0; g < GC_GENERATIONS; g++) {
        const gc__map *map = &heap->collector->external[g];
        size_t count = 0;
        for (size_t i = 0; i < map->capacity; i++) {
            if (!map->keys[i]) continue;
            count++;
            if (!(map->keys[i] & GC__IDENTITY)) external += map->values[i];
            gc__check_true(checker, gc__in_arena(map->keys[i]) && gc__region_of(map->keys[i])->generation == g,
                           (void *)map->keys[i], "an object with external bytes is of another generation");
        }
        gc__check_equal(checker, count, map->count, "objects with external bytes");
    }
    gc__check_equal(checker, external, heap->owned_bytes, "external bytes");
}

GC__COLD void gc__threads_check(const gc__checker *checker, bool collected) {
    for (const gc_thread *thread = checker->heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__check_true(checker, thread->heap == checker->heap, thread, "a thread in the list is another heap's");
        gc__check_true(checker,
                       !collected || (!thread->window.region && !thread->raw.region && !thread->window.limit &&
                                      !thread->raw.limit),
                       thread, "a thread has a window open");
    }
}

GC__COLD bool gc__handle_segment_is_known(gc__checker *checker, uintptr_t place) {
    const gc__handle_segment *segment = checker->segment;
    if (!segment || segment != gc__handle_segment_of(place)) segment = checker->heap->handles->segments;
    while (segment && segment != gc__handle_segment_of(place)) segment = segment->next;
    checker->segment = segment;
    return segment && gc__handle_index(segment, place) < GC__HANDLE_PLACES && place % sizeof(gc_word) == 0;
}

/* Checks a list of free handles; `kind` is GC_HANDLE_KINDS for the list of free blocks. */
GC__COLD void gc__handle_cache_check(gc__checker *checker, const gc__handle_cache *cache, int kind) {
    uintptr_t place = cache->first;
    for (size_t i = 0; i < cache->count; i++) {
        gc__check_true(checker, gc__handle_segment_is_known(checker, place), (void *)place,
                       "a chain of free handles leads astray");
        size_t index = gc__handle_index(checker->segment, place);
        gc__check_true(checker, checker->segment->kinds[index / GC__HANDLE_BLOCK] == kind, (void *)place,
                       "a chain of free handles leads to another kind");
        gc_word next = *(const gc_word *)place;
        gc__check_true(checker, (next & GC__HANDLE_FREE) != 0, (void *)place,
                       "a chain of free handles leads to one in use");
        place = next - GC__HANDLE_FREE;
    }
    gc__check_true(checker, !place, (void *)place, "a chain of free handles is longer than noted");
    *(kind < GC_HANDLE_KINDS ? &checker->free_places[kind] : &checker->free_blocks) += cache->count;
}

GC__COLD void gc__handle_segment_check(const gc__checker *checker, const gc__handle_segment *segment, size_t *free_places,
                                     size_t *free_blocks) {
    gc__check_true(checker, segment->heap == checker->heap, segment, "a segment of handles is another heap's");
    for (size_t block = 0; block < GC__HANDLE_BLOCKS; block++) {
        uint8_t kind = segment->kinds[block];
        gc__check_true(checker, kind <= GC_HANDLE_KINDS, segment, "a block of handles is of no kind");
        bool extra = kind < GC_HANDLE_KINDS && gc__handle_has_extra((gc_handle_kind)kind);
        gc__check_true(checker, extra == (segment->extras[block] != NULL), segment,
                       "a block of handles lacks its extra words, or has some");
        if (kind == GC_HANDLE_KINDS) ++*free_blocks;
        for (size_t i = 0; kind < GC_HANDLE_KINDS && i < GC__HANDLE_BLOCK; i++)
            free_places[kind] += segment->places[block * GC__HANDLE_BLOCK + i] & GC__HANDLE_FREE;
    }
}

/* Checks the handles. The handles' lock is held. */
GC__COLD void gc__handles_check(gc__checker *checker) {
    const gc__handles *handles = checker->heap->handles;
    size_t free_places[GC_HANDLE_KINDS] = {0}, free_blocks = 0;
    for (const gc__handle_segment *segment = handles->segments; segment; segment = segment->next)
        gc__handle_segment_check(checker, segment, free_places, &free_blocks);
    gc__handle_cache_check(checker, &handles->free_blocks, GC_HANDLE_KINDS);
    gc__check_equal(checker, checker->free_blocks, free_blocks, "free blocks of handles");
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++) {
        gc__handle_cache_check(checker, &handles->free[kind], kind);
        for (const gc_thread *thread = checker->heap->threads->first; thread; thread = gc__record(thread)->next)
            gc__handle_cache_check(checker, &gc__record(thread)->handle_caches[kind], kind);
        gc__check_equal(checker, checker->free_places[kind], free_places[kind], "free handles of a kind, in chains");
    }
}

/* Checks the finalizers. The finalizers' lock is held. */
GC__COLD void gc__finalizers_check(const gc__checker *checker) {
    const gc__finalizers *all = checker->heap->finalizers;
    const gc__words *registered = &all->registered;
    size_t room = registered->count + 2 * all->promised, empty = 0;
    gc__check_true(
        checker, all->start[2] <= all->start[1] && all->start[1] <= all->start[0] && all->start[0] <= registered->count,
        all->start, "the parts of the finalizers' list are out of order");
    for (size_t i = 0; i < registered->count; i += 2) {
        uintptr_t object = registered->words[i];
        int part = i < all->start[1] ? 2 : i < all->start[0] ? 1 : 0;
        if (part == 2 && !object && !registered->words[i + 1]) {
            empty += 2;
            continue;
        }
        gc__check_true(checker, gc__in_arena(object) && gc__region_is_of(gc__region_of(object), checker->heap),
                       (void *)object, "a finalizer is registered for what is no object of the heap");
        gc__check_true(checker, gc__region_of(object)->generation >= part, (void *)object,
                       "an object with a finalizer is younger than its part of the list");
    }
    gc__check_equal(checker, empty, all->empty, "words of pairs that have ended");
    gc__check_true(checker, all->packed <= all->packing && all->packing <= all->start[1] && all->old.next <= all->start[1], all,
                   "the finalizers' list is packed, or looked at, outside of its old part");
    bool fits = registered->capacity >= room && all->moving.capacity >= room - empty;
    room -= empty;
    for (int i = 0; i < 2; i++) {
        const gc__due *due = &all->due[i];
        gc__check_true(checker, due->head <= due->pairs.count && due->head % 2 == 0, due,
                       "a queue of finalizers has its head outside");
        fits = fits && due->pairs.capacity >= room + due->pairs.count;
    }
    gc__check_true(checker, fits, all, "a list of finalizers has no room for all there are");
}

/* Checks all structures. The world is stopped, and windows are flushed. If `collected`, windows are closed, and
   nothing was allocated since the collection. */
GC__COLD void gc__check_heap(gc_heap *heap, const char *when, bool collected) {
    gc__checker checker;
    memset(&checker, 0, sizeof checker);
    checker.heap = heap;
    checker.when = when;
    gc__regions_check(&checker);
    gc__bytes_check(&checker, collected);
    gc__threads_check(&checker, collected);
    gc__lock_take(&heap->handles->lock);
    gc__handles_check(&checker);
    gc__lock_release(&heap->handles->lock);
    gc__lock_take(&heap->finalizers->lock);
    gc__finalizers_check(&checker);
    gc__lock_release(&heap->finalizers->lock);
}
