/* All regions of generation 2 at once. Pauses of heaps with concurrent marking must hardly grow with their number,
   so work is done on their entries in the tables where possible: 8 entries take as long as the descriptor of one
   region, whose memory is not in cache. */
#pragma once

#include "../base/words.h"
#include "../space/heap.h"
#include "../space/rank.h"

#define GC__WALK_AHEAD ((size_t)8) /* regions */
/* A heap with at least 1/n of the process's regions walks the table to find its own. */
#define GC__WALK_PART 4

/* A walk through the regions of generation 2 with a given entry in the verdict table, against the order of
   addresses. Then their memory is prefetched in time, and a list that is made of them is in ascending order. In the
   order in which regions were taken, each would be waited for, 30 ns. A heap with few of the process's regions walks
   a list of the regions instead. */
typedef struct gc__old_walk {
    const gc_heap *heap;
    /* In the table, the region above the next one; in a list the next one, and `begin` is NULL. */
    gc__region *region, *begin;
    uint8_t entry;
} gc__old_walk;

GC__FN gc__old_walk gc__old_begin(const gc_heap *heap, gc__region *list, uint8_t entry) {
    gc__region *regions = gc__the_arena.regions;
    gc__old_walk by_list = {heap, list, NULL, entry}, by_table = {heap, regions + gc__regions_used(), regions, entry};
    return heap->held_regions >= gc__regions_used() / GC__WALK_PART ? by_table : by_list;
}

/* Returns the next region, or NULL after the last one. The walk goes on before the caller puts the region into
   another list. */
GC__FN gc__region *gc__old_next(gc__old_walk *walk) {
    gc__region *region = walk->region;
    if (!walk->begin) {
        walk->region = region ? region->next : NULL;
        return region;
    }
    while (region > walk->begin) {
        region--;
        const char *ahead = (const char *)(region - gc__min((size_t)(region - walk->begin), GC__WALK_AHEAD));
        __builtin_prefetch(ahead, 1);
        __builtin_prefetch(ahead + 64, 1);
        if (!gc__region_is_of(region, walk->heap) || region->generation < 2) continue;
        if (region->kind != GC__SMALL && region->kind != GC__LARGE) continue;
        if (GC__VERDICTS[region->base >> GC_REGION_SHIFT] != walk->entry) continue;
        walk->region = region;
        return region;
    }
    walk->region = region;
    return NULL;
}

/* Gives every old region with the verdict `before` this age and this verdict; candidates remain candidates. There is
   one heap. */
GC__HOT void gc__old_rank_all(uint8_t age, uint8_t before, uint8_t verdict) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint8_t *ages = gc__tables.age + (gc__the_arena.base >> GC_REGION_SHIFT), *verdicts = ages + GC_RANK_ENTRIES;
    for (size_t i = 0, used = gc__regions_used(); i < used;) {
        uint64_t eight = 0, had = 0, ranks = each * age, entries = each * verdict;
        if (used - i >= 8) {
            memcpy(&eight, ages + i, sizeof eight);
            memcpy(&had, verdicts + i, sizeof had);
        }
        if (had == each * before && (eight & each * (GC_AGE_GENERATION | GC__AGE_CANDIDATE)) == each * 2) {
            memcpy(ages + i, &ranks, sizeof ranks);
            memcpy(verdicts + i, &entries, sizeof entries);
            i += 8;
            continue;
        }
        if ((ages[i] & GC_AGE_GENERATION) == 2 && verdicts[i] == before) {
            ages[i] = (uint8_t)(age | (ages[i] & GC__AGE_CANDIDATE));
            verdicts[i] = verdict;
        }
        i++;
    }
}

/* Publishes to barriers, by the ages of old regions, what they are to do now, and gives regions with one of the verdicts
   GC__OLD_CONDEMNED and GC__IGNORE the same or the other one. Another heap's regions look the same in the tables; while
   the lock is held, no heap is created. The world is stopped. */
GC__HOT void gc__old_rank(const gc_heap *heap, uint8_t before, uint8_t verdict) {
    gc__lock_take(&gc__the_arena.lock);
    bool alone = gc__the_arena.heaps == 1;
    if (alone) gc__old_rank_all((uint8_t)gc__age_of(heap, 2), before, verdict);
    gc__lock_release(&gc__the_arena.lock);
    if (alone) return;
    gc__old_walk walk = gc__old_begin(heap, heap->regions[2], before);
    for (gc__region *region; (region = gc__old_next(&walk)) != NULL;) {
        gc__region_set_rank(region, gc__region_age(heap, region), true);
        gc__region_set_entries(region, verdict);
    }
}
