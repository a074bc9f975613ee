/* Phase "condemn": which regions this collection looks at, and what it does with each. */
#pragma once

#include "../space/mark_bits.h"
#include "../space/object.h"
#include "../space/heap.h"
#include "../cycle/marker.h"
#include "../trace/collector.h"
#include "../trace/candidates.h"
#include "../trace/slide.h"

#define GC__SURVIVAL_HIGH 60   /* percent predicted to survive from which a region is promoted in place, not copied */
#define GC__SURVIVAL_FULL 90   /* and from which full regions are, if survivors become old at once */
#define GC__DENSITY_SPARSE 25  /* percent live up to which an old region is evacuated */
#define GC__DENSITY_TIGHT 75   /* up to which it is if the heap is near its limit or a fifth of it is holes */
#define GC__HOLE_COST 6        /* cost of allocating bytes in holes, as a multiple of the cost of marking them */
#define GC__DENSITY_RECYCLE 85 /* percent live below which a region that cannot be evacuated is recycled */

/* Returns whether the nursery and the copies of its survivors will soon exceed the limit. */
GC__FN bool gc__is_tight(const gc_heap *heap) {
    return heap->options.heap_bytes_max &&
           gc__regions_left(heap) < gc__limit_regions(heap) / 4 + 2 * (heap->pace->nursery_bytes >> GC_REGION_SHIFT);
}

/* Predicts for each generation the survival of recent collections. A full collection does not distinguish
   generations 1 and 2. It also expects, of the objects that the last full collection left, no more to be dead than
   was allocated and retained since then: so right after a full collection densities are exact. */
GC__FN void gc__predict_survival(gc_heap *heap, gc__plan *plan) {
    int generation = plan->condemned;
    size_t old = heap->generation_bytes[1] + heap->generation_bytes[2] + heap->nursery_survivor_bytes;
    size_t since = old + gc__counted(&heap->generation_bytes[0]);
    unsigned least = heap->full_bytes < since ? (unsigned)(heap->full_bytes / (since / 100 + 1)) : 100;
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        plan->predicted[g] = heap->pace->survival[g && generation == 2 ? 2 : g];
        if (g && generation == 2 && plan->predicted[g] < least) plan->predicted[g] = least;
    }
}

/* Returns the bytes that the region's objects take at most. */
GC__FN size_t gc__used_bytes(const gc__region *region) {
    if (!region->linear) return region->live_bytes;
    if (!region->formatted) return region->top - region->base;
    return region->live_bytes + region->taken_bytes;
}

/* Returns the part of these bytes that has survived a collection, in a region of generation 0 in whose holes
   mutators allocate. */
GC__FN size_t gc__survivor_bytes(const gc_heap *heap, const gc__region *region) {
    return region->formatted && !heap->options.non_generational ? region->live_bytes : 0;
}

/* Returns how many of the region's bytes are expected to survive. */
GC__FN size_t gc__predicted_bytes(const gc_heap *heap, const gc__region *region) {
    size_t survivors = gc__survivor_bytes(heap, region);
    return survivors / 100 * heap->cycle->plan->predicted[2] +
           (gc__used_bytes(region) - survivors) / 100 * heap->cycle->plan->predicted[region->generation];
}

/* Returns a cautious, high estimate of the region's surviving bytes. */
GC__FN size_t gc__most_bytes(const gc_heap *heap, const gc__region *region) {
    size_t used = gc__used_bytes(region), survivors = gc__survivor_bytes(heap, region);
    return region->linear ? survivors + (used - survivors) / 200 * (100 + heap->cycle->plan->predicted[0]) : used;
}

/* Returns the share of the region's memory that is expected to survive; for a young region the share of its objects,
   unless room is short. */
GC__COLD unsigned gc__predicted_percent(const gc_heap *heap, const gc__region *region) {
    const gc__plan *plan = heap->cycle->plan;
    bool young = region->linear && !region->formatted;
    if (young && !plan->tight && !plan->promotes_in_place) return plan->predicted[0];
    return (unsigned)gc__min(100, gc__predicted_bytes(heap, region) / (GC_REGION_BYTES / 100));
}

/* Returns the room for copies in the region's holes of at least `least` bytes: a part of each hole will stay unused. */
GC__HOT size_t gc__hole_room(gc__region *region, size_t least) {
    size_t bytes = 0;
    uintptr_t from, end;
    if (!gc__is_by_marks(region)) return 0;
    region->hole = region->base;
    while ((from = gc__hole_by_marks(region, least, &end)) != 0) bytes += (end - from) - least / 2;
    region->hole = region->base;
    return bytes;
}

/* Returns the bytes of objects that the last collection has left, and of those allocated since. */
GC__FN size_t gc__objects_bytes(const gc_heap *heap) {
    return gc__counted(&heap->generation_bytes[0]) + heap->nursery_survivor_bytes + heap->generation_bytes[1] +
           heap->generation_bytes[2];
}

/* Returns the bytes that copies may take up to the goal, but enough to free some of the holes: a 24th of what lives,
   or an 8th if the heap grows by less than it holds and so often comes near its goal. A compaction has no such
   limit. */
GC__FN size_t gc__goal_left(const gc_heap *heap) {
    if (heap->collection.compacting || heap->collection.generation < 2) return SIZE_MAX;
    size_t used = gc__bytes_in_use(heap) - gc__external_bytes(heap), holes = used - gc__min(used, gc__objects_bytes(heap));
    bool grows = heap->pace->full_threshold - heap->pace->full_live_bytes >= heap->pace->full_live_bytes / 8 * 7;
    return gc__max(gc__bytes_to_goal(heap), gc__min(heap->full_bytes / (grows ? 24 : 8), holes) + GC_REGION_BYTES);
}

/* Returns whether sliding makes room for `bytes`, and for enough to be worth its time. */
GC__HOT bool gc__is_worth_sliding(const gc_heap *heap, size_t bytes) {
    size_t holes = 0, used = 0;
    bool moves = !heap->options.non_moving && !gc__stress_of(heap);
    bool gives = !gc__supply_is_host() || gc__supply.discard != NULL;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next)
            if (gc__is_by_marks(region)) holes += GC_REGION_BYTES - region->live_bytes, used += GC_REGION_BYTES;
    return moves && gives && holes >= gc__max(bytes, used / GC__SLIDE_WORTH);
}

/* Returns how clustered small objects are: the sum of the squares of each region's bytes, in regions' worth of
   bytes. A compaction that increases it brings the next ones nearer to a free region, even if it has not made one. */
GC__HOT size_t gc__clustered_bytes(const gc_heap *heap) {
    size_t packed = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next)
            if (region->kind == GC__SMALL && !region->fixed)
                packed += gc__used_bytes(region) * gc__used_bytes(region) >> GC_REGION_SHIFT;
    return packed;
}

/* Decides the generation to which the survivors of each generation are promoted: the next older one; or the oldest,
   if the heap is compacted because it is full, since regions of another generation would be filled only partly, and
   if that spares most survivors a second pause. */
GC__COLD void gc__plan_tenuring(const gc_heap *heap, gc__plan *plan) {
    bool for_limit = plan->into_holes || (plan->request.reason == GC_REASON_LIMIT && plan->request.compacting);
    bool at_once = heap->collection.generation > 0 && heap->pace->tenures_at_once;
    bool all = for_limit || at_once || plan->ages_all;
    bool ages = !heap->options.non_generational;
    for (int g = 0; g < GC_GENERATIONS; g++) plan->promote_to[g] = (uint8_t)(!ages ? 0 : all || g == 2 ? 2 : g + 1);
    plan->promotes_huge = ages && heap->collection.generation > 0 && gc__has_pause_goal(heap);
}

GC__FN uint8_t gc__target_generation(const gc__plan *plan, const gc__region *region) {
    bool huge = plan->promotes_huge && gc__is_huge(region) && (GC_HAS_MODEL || GC__WORD(region->base)) /* it has its type */ &&
                !gc__object_is_leaf(region->base);
    return huge ? 2 : plan->promote_to[region->generation];
}

/* The small regions of a heap, by the percentage of them that is predicted to live. */
typedef struct gc__space {
    size_t live[101], regions[101];
    size_t likely[101];            /* the part of `live` that is expected to survive */
    size_t rooms[101];             /* room in their holes, if copies may go there */
    size_t staying, staying_holes; /* bytes of objects and of holes in regions that stay in place because of pins */
    /* The part of staying_holes that does not exceed, in each region, the objects between the holes. */
    size_t staying_gaps;
    size_t wanted;                 /* bytes of objects that should be evacuated */
    size_t young;                  /* the part of all these bytes that is promoted to generation 1 */
} gc__space;

/* Returns whether pins are in most regions. Then evacuating other objects there would hardly free any region, only
   holes, which mutators can use without that. A compaction evacuates nevertheless, since it makes large holes of
   small ones. */
GC__HOT bool gc__is_pin_fragmented(const gc_heap *heap, const gc__plan *plan) {
    size_t pinned = 0, regions = 0;
    if (!heap->cycle->pins.count || plan->condemned < 2 || plan->request.compacting) return false;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            if (region->kind != GC__SMALL) continue;
            regions++;
            pinned += region->pinned;
        }
    return pinned > regions / 4 * 3;
}

/* Returns whether the region stays in place since pins are in most regions. */
GC__FN bool gc__is_staying(const gc_heap *heap, const gc__region *region) {
    return heap->cycle->plan->pin_fragmented && region->pinned && (!region->linear || region->formatted);
}

GC__HOT void gc__space_survey(const gc_heap *heap, const gc__plan *plan, gc__space *space) {
    memset(space, 0, sizeof *space);
    for (int g = 0; g <= plan->condemned; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            if (region->kind != GC__SMALL || region->fixed) continue;
            size_t bytes = gc__most_bytes(heap, region);
            int percent = (int)gc__predicted_percent(heap, region);
            if (gc__is_staying(heap, region)) {
                space->staying += bytes;
                space->staying_holes += GC_REGION_BYTES - bytes;
                space->staying_gaps += gc__min(GC_REGION_BYTES - bytes, bytes);
                continue;
            }
            space->live[percent] += bytes;
            space->likely[percent] += gc__predicted_bytes(heap, region);
            space->regions[percent]++;
            if (percent <= plan->evacuate_old || percent <= plan->evacuate_young) space->wanted += bytes;
            if (g == 0 && plan->promote_to[0] == 1) space->young += bytes;
        }
}

/* Returns the bytes in holes for the survivors of a young collection: half of those that were not searched yet,
   since the others may be in holes that are too small. */
GC__HOT size_t gc__holes_for_copies(const gc_heap *heap, int generation) {
    size_t bytes = heap->old_holes.bytes / 2;
    for (int g = generation + 1; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next)
            if (region->kind == GC__SMALL && !region->linear)
                bytes += (gc__region_end(region) - region->hole) / 200 *
                         (100 - gc__min(region->live_bytes * 100 / GC_REGION_BYTES, 100));
    return bytes;
}

GC__HOT size_t gc__mean_bytes(const gc_heap *heap) {
    size_t bytes = 0, objects = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            if (!gc__is_by_marks(region)) continue;
            bytes += region->live_bytes;
            objects += gc__marks_count(region);
        }
    return objects ? bytes / objects : 0;
}

/* Lets copies go to holes of regions that stay in place. Evacuating a region forfeits the room in its own holes. */
GC__HOT size_t gc__plan_holes(gc_heap *heap, gc__plan *plan, gc__space *space) {
    size_t least = GC__HOLE_BYTES_LISTED, room = 0;
    if (plan->request.large_holes_only) least = gc__max(least, GC_REGION_BYTES / 16);
    plan->into_holes = least;
    plan->into_holes_mean = gc__max(least, gc__mean_bytes(heap));
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next) {
            size_t bytes = gc__hole_room(region, plan->into_holes_mean);
            if (!bytes) continue;
            room += bytes;
            space->rooms[gc__predicted_percent(heap, region)] += bytes;
        }
    return room;
}

/* Limits evacuation to copies that fit under the limit, the sparsest regions first; of the regions at the last
   percentage, it takes as many as fit. An object that finds no room stays in place, and if that happened in every
   region, none would become free. Copies of the youngest objects go to a region of their own, whose free end nothing
   else can use. Copies go to holes only if there are too few regions for all that a compaction should move. The
   expected copies must fit into the goal, too. */
GC__COLD void gc__fit_evacuation(gc_heap *heap, gc__plan *plan, gc__space *space) {
    size_t left = gc__regions_left(heap) << GC_REGION_SHIFT;
    size_t unused = (GC_REGION_BYTES - space->young % GC_REGION_BYTES) % GC_REGION_BYTES;
    if (plan->condemned < 2) {
        left += gc__holes_for_copies(heap, plan->condemned);
    } else if (plan->request.compacting && plan->moves && !plan->moves_all && space->wanted + unused > left) {
        left += gc__plan_holes(heap, plan, space);
        unused = 0;
    }
    left -= gc__min(left, unused);
    size_t goal = gc__goal_left(heap);
    int percent = 0;
    for (; percent <= 100; percent++) {
        size_t takes = space->live[percent] + space->rooms[percent];
        if (takes > left || space->likely[percent] > goal) break;
        left -= takes;
        goal -= space->likely[percent];
    }
    size_t bytes = left; /* the part of the regions at the last percentage for which the goal has room */
    if (percent <= 100 && space->likely[percent] > goal)
        bytes = gc__min(left, (size_t)((double)goal / (double)space->likely[percent] * (double)space->live[percent]));
    plan->evacuate_partly = percent;
    plan->evacuate_partly_bytes = bytes;
    plan->evacuate_old_partly = percent <= plan->evacuate_old;
    plan->evacuate_young_partly = percent <= plan->evacuate_young;
    if (plan->evacuate_old >= percent) plan->evacuate_old = percent - 1;
    if (plan->evacuate_young >= percent) plan->evacuate_young = percent - 1;
}

/* Returns whether this full collection is the last one of a series of stop-the-world collections, after which
   concurrent marking is tried again. */
GC__FN bool gc__plan_resumes_cycles(const gc_heap *heap) {
    return GC__HAS_MARKER && heap->options.concurrent == GC_CONCURRENT_ON && heap->pace->degenerated == 1;
}

/* Gives all holes to mutators if that pays: allocating in holes costs a multiple of marking as many bytes, while
   without holes only memory freed by evacuation is allocated, and collections come sooner. A heap with a pause goal
   reserves holes for promotion, since young collections would otherwise have to look at all regions. */
GC__COLD void gc__plan_recycling(const gc_heap *heap, gc__plan *plan, const gc__space *space) {
    if (plan->request.room_for > GC_LARGE_BYTES || gc__has_pause_goal(heap) || gc__plan_resumes_cycles(heap)) return;
    size_t live = space->staying, copied = 0, holes = space->staying_holes, gaps = space->staying_gaps;
    size_t freed = gc__regions_left(heap) << GC_REGION_SHIFT;
    if (plan->pin_fragmented) freed = gc__min(freed, gc__bytes_to_goal(heap));
    for (int percent = 0; percent <= 100; percent++) {
        size_t free = (space->regions[percent] << GC_REGION_SHIFT) - space->live[percent];
        live += space->live[percent];
        if (percent <= plan->evacuate_old) {
            copied += space->live[percent];
            freed += free;
        } else if (percent < 100) {
            holes += free;
            gaps += gc__min(free, space->live[percent]);
        }
    }
    if (heap->options.heap_bytes_max) freed -= gc__min(freed, gc__evacuation_reserve_of(heap, live) << GC_REGION_SHIFT);
    double often = (double)(live + copied), seldom = (double)live + GC__HOLE_COST * (double)gaps;
    if (holes && often * (double)(freed + holes) > seldom * (double)freed) plan->recycle_below = 100;
}

/* Returns whether at most a fifth of the memory of small old objects is holes. */
GC__FN bool gc__is_mostly_used(const gc__small_regions *old) { return 4 * old->used_bytes <= 5 * old->live_bytes; }

GC__HOT bool gc__is_fragmented(const gc_heap *heap) {
    gc__small_regions old = {0, 0};
    for (const gc__region *region = heap->regions[2]; region; region = region->next) gc__small_regions_add(&old, region);
    return !gc__is_mostly_used(&old);
}

/* Returns whether a non-moving heap is spread over much more memory than its objects take. Until it is, and under
   stress, which is to find stores into old objects, survivors grow older as in any heap. */
GC__FN bool gc__is_spread(const gc_heap *heap) {
    size_t used = gc__bytes_in_use(heap) - gc__external_bytes(heap);
    return used > gc__objects_bytes(heap) + heap->pace->nursery_bytes + 4 * GC_REGION_BYTES;
}

/* Returns whether all movable objects are old and in one region, so that their copies would take as much memory. */
GC__FN bool gc__is_one_region(const gc_heap *heap) {
    unsigned found = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region && found < 2; region = region->next)
            if (region->kind == GC__SMALL && !region->fixed) found += g == 2 ? 1 : 2;
    return found == 1;
}

/* Returns whether nearly all young objects are likely to survive, and become old at once. Then regions that are full
   of them are promoted in place, unless holes are to be filled: copies take three times as long, and memory that may
   not be there. */
GC__FN bool gc__plan_in_place(const gc_heap *heap, const gc__plan *plan) {
    const gc__pace *pace = heap->pace;
    bool young = plan->condemned == 1 && !plan->request.compacting;
    return GC__HAS_MARKER && young && pace->tenures_at_once && !pace->fills_holes && pace->tenured_percent >= GC__SURVIVAL_FULL;
}

/* Returns whether all survivors of a full collection become generation 2. While young collections do not pay,
   objects grow old in full collections only, and a trace after which there is one generation has no slots to
   remember. The survival of the nursery is then seen in its regions that stay in place. The last stop-the-world
   collection before concurrent marking resumes does so, too: young collections keep to a goal from then on, and
   could not condemn all that lives. */
GC__COLD bool gc__plan_ages_all(const gc_heap *heap, const gc__plan *plan) {
    const gc_options *options = &heap->options;
    if (plan->condemned < 2 || gc__plan_resumes_cycles(heap)) return plan->condemned == 2;
    bool stays = heap->pace->nursery_grows && heap->pace->survival[0] > GC__SURVIVAL_HIGH;
    return stays && plan->request.reason == GC_REASON_GROWTH && plan->moves && !options->non_generational &&
           options->concurrent != GC_CONCURRENT_ON;
}

/* Plans a young collection. Young regions are evacuated unless most of their objects are likely to survive. Looking
   at them one by one costs more as the heap grows, so that is done only if room is short. */
GC__COLD void gc__plan_young(gc_heap *heap, gc__plan *plan) {
    gc__space space;
    if (!plan->tight) return;
    plan->evacuate_old = plan->request.compacting ? 100 : GC__DENSITY_TIGHT;
    gc__space_survey(heap, plan, &space);
    gc__fit_evacuation(heap, plan, &space);
}

/* Plans a full collection. Sparse old regions are evacuated, and more of them if room is short or much of it is in
   holes. */
GC__COLD void gc__plan_full(gc_heap *heap, gc__plan *plan) {
    gc__space space;
    if (!plan->request.compacting && gc__is_one_region(heap)) return;
    bool more = plan->tight || gc__is_fragmented(heap);
    plan->evacuate_old = plan->request.compacting ? 100 : more ? GC__DENSITY_TIGHT : GC__DENSITY_SPARSE;
    gc__space_survey(heap, plan, &space);
    gc__fit_evacuation(heap, plan, &space);
    /* Was the collection caused by heap_bytes_max rather than the growth goal? */
    bool limited = heap->goal_bytes >= heap->limit_bytes || heap->collection.reason == GC_REASON_LIMIT;
    if (!plan->into_holes && ((limited && heap->options.heap_bytes_max) || plan->pin_fragmented))
        gc__plan_recycling(heap, plan, &space);
}

/* Returns up to which predicted percentage of survival young regions are evacuated. */
GC__COLD int gc__plan_young_percent(const gc_heap *heap, const gc__plan *plan) {
    bool fills = GC__HAS_MARKER && (heap->pace->fills_holes || heap->pace->tenures_at_once) && plan->condemned == 1;
    if (plan->promotes_in_place) return GC__DENSITY_TIGHT;
    return plan->request.compacting || fills ? 100 : GC__SURVIVAL_HIGH;
}

/* Opens the collection that was requested. The final mark of a cycle from which stores were hidden becomes a full
   collection, before roots are gathered, since it needs all of them. */
GC__COLD void gc__policy_open(gc_heap *heap, const gc__request *request) {
    gc__plan *plan = &heap->cycle->planned;
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    plan->purpose = request->purpose;
    if (heap->options.non_generational) {
        plan->request.generation = 2;
        if (plan->purpose == GC__YOUNG) plan->purpose = request->compacting ? GC__COMPACT : GC__FULL;
    }
    if (plan->purpose == GC__MARK_END && gc__marker_is_spoilt(heap)) {
        plan->purpose = GC__FULL;
        plan->request.degenerated = GC_DEGENERATED_BARRIER;
    }
    plan->condemned = plan->purpose == GC__MARK_END ? 1 : plan->request.generation;
}

/* Plans the collection. Its pins are known, and windows are closed. */
GC__COLD void gc__policy_plan(gc_heap *heap) {
    gc__plan *plan = &heap->cycle->planned;
    plan->moves = !heap->options.non_moving;
    plan->moves_all = gc__stress_of(heap) != GC_STRESS_OFF;
    plan->ages_all = gc__plan_ages_all(heap, plan);
    gc__predict_survival(heap, plan);
    plan->promotes_in_place = gc__plan_in_place(heap, plan);
    if (plan->promotes_in_place) plan->predicted[0] = heap->pace->tenured_percent;
    plan->evacuate_young = gc__plan_young_percent(heap, plan);
    plan->evacuate_old = plan->evacuate_partly = -1;
    plan->recycles_young = !plan->moves && !plan->moves_all && gc__is_spread(heap);
    plan->tight = gc__is_tight(heap);
    plan->pin_fragmented = gc__is_pin_fragmented(heap, plan);
    gc__plan_tenuring(heap, plan);
    if (plan->purpose == GC__FULL_REUSE) {
        plan->evacuate_young = -1;
        plan->recycle_below = 100;
    } else if (plan->condemned < 2) {
        gc__plan_young(heap, plan);
    } else if (plan->purpose != GC__SLIDE) {
        gc__plan_full(heap, plan);
        gc__plan_tenuring(heap, plan);
    }
}

/* Decides the region's verdict in a sliding collection: regions with pins, and those that are nearly full, stay in
   place. */
GC__FN uint8_t gc__verdict_for_sliding(gc__region *region) {
    bool full = region->live_bytes > GC_REGION_BYTES - GC_REGION_BYTES / GC__SLIDE_WORTH;
    if (region->pinned || gc__region_is_candidate(region) || full || !gc__is_by_marks(region)) return GC__MARK;
    return GC__MOVE;
}

/* Decides the verdict by how much of the region is predicted to live. Of the regions at the last percentage only as
   many as fit are evacuated. */
GC__FN uint8_t gc__verdict_by_density(gc_heap *heap, gc__region *region, uint8_t move) {
    const gc__plan *plan = heap->cycle->plan;
    int percent = (int)gc__predicted_percent(heap, region);
    /* The density of a region is known if its objects have survived a collection. */
    bool old = region->generation == 2 || (heap->options.non_generational && (!region->linear || region->formatted));
    if (percent <= (old ? plan->evacuate_old : plan->evacuate_young)) return move;
    bool partly = old ? plan->evacuate_old_partly : plan->evacuate_young_partly;
    if (!partly || percent != plan->evacuate_partly) return GC__MARK;
    size_t bytes = gc__most_bytes(heap, region), *left = &heap->cycle->evacuate_left_bytes;
    if (plan->into_holes) bytes += gc__hole_room(region, plan->into_holes_mean);
    bool worthwhile = percent <= GC__DENSITY_TIGHT || plan->request.compacting;
    if (!worthwhile || bytes > *left) return GC__MARK;
    *left -= bytes;
    return move;
}

GC__FN uint8_t gc__verdict_for(gc_heap *heap, gc__region *region) {
    const gc__plan *plan = heap->cycle->plan;
    bool stays = region->kind == GC__LARGE || region->fixed || !plan->moves;
    uint8_t move = (uint8_t)(region->pinned ? GC__MOVE_MARKED : GC__MOVE);
    if (stays) return GC__MARK;
    if (plan->moves_all) return move;
    if (plan->purpose == GC__SLIDE) return gc__verdict_for_sliding(region);
    if (gc__is_staying(heap, region)) return GC__MARK;
    return gc__verdict_by_density(heap, region, move);
}

/* Returns whether a region of objects that never move is recycled, so that mutators allocate in its holes. There
   should be enough such holes for a nursery, but few regions that each young collection has to look at. Under stress
   such objects grow old in turns, even if they are few: a store to a young object needs no barrier, so a forgotten
   barrier would not show. */
GC__FN bool gc__is_fixed_recycled(gc_heap *heap, const gc__region *region) {
    if (heap->cycle->plan->moves_all && heap->collection.number / GC_GENERATIONS % 2) return false;
    unsigned percent = gc__predicted_percent(heap, region);
    size_t enough = gc__max(heap->pace->nursery_bytes, 2 * GC_REGION_BYTES);
    if (percent >= GC__DENSITY_RECYCLE || heap->cycle->fixed_holes_bytes >= enough) return false;
    heap->cycle->fixed_holes_bytes += GC_REGION_BYTES / 100 * (100 - percent);
    return true;
}

/* Returns whether a region that stays in place is recycled, so that mutators allocate in its holes: a young one that
   stays only because of pins, or near the limit any such region; a sparse one, if the plan says so; and in a heap
   that cannot evacuate, one that is not dense, or any if memory is short. */
GC__FN bool gc__is_recycled(gc_heap *heap, const gc__region *region, uint8_t verdict) {
    const gc__plan *plan = heap->cycle->plan;
    if (region->kind != GC__SMALL) return false;
    if (region->fixed) return gc__is_fixed_recycled(heap, region);
    if (plan->moves) {
        if (verdict == GC__MOVE_MARKED) return region->generation == 0 || plan->tight;
        return (int)gc__predicted_percent(heap, region) < plan->recycle_below;
    }
    if (plan->request.reason == GC_REASON_LIMIT) return true;
    return (region->generation == 2 || plan->recycles_young) &&
           gc__predicted_percent(heap, region) < GC__DENSITY_RECYCLE;
}

GC__HOT void gc__region_condemn(gc_heap *heap, gc__region *region) {
    uint8_t verdict = gc__verdict_for(heap, region);
    uint8_t older = gc__target_generation(heap->cycle->plan, region);
    region->target = gc__is_recycled(heap, region, verdict) ? 0 : older; /* if the region itself stays in place */
    if (region->kind == GC__LARGE && region->generation < 2) heap->cycle->large_bytes += region->live_bytes;
    if (region->generation == 2 && verdict == GC__MARK) heap->cycle->staying_bytes += region->live_bytes;
    if (region->generation == 0 && verdict == GC__MARK) heap->cycle->young_staying_bytes += gc__used_bytes(region);
    heap->cycle->recycles |= region->target == 0;
    region->condemned = heap->collection.number;
    region->overflowed = false;
    region->live_bytes = 0;
    gc__region_set_verdict(region, verdict, older);
    gc__region_set_rank(region, gc__age_of(heap, region->target), true);
}

/* Lists the holes of the regions that stay in place, while their mark bits are those of the last collection. */
GC__HOT void gc__list_into_holes(gc_heap *heap, gc__region *condemned) {
    for (gc__region *region = condemned; region; region = region->next) {
        if (region->verdict != GC__MARK || !gc__is_by_marks(region) || region->target != gc__oldest(heap)) continue;
        region->hole = region->base;
        gc__region_list_holes(heap, region, heap->cycle->plan->into_holes);
    }
}

/* Condemns the collection's generations. Returns their regions, which are in no list now. Invariant from here to the
   end of the collection: ranks are those of the time after it. */
GC__FN gc__region *gc__condemn(gc_heap *heap) {
    gc__region *condemned = NULL;
    for (size_t i = 0; i < heap->cycle->pins.count; i++) gc__region_of(heap->cycle->pins.words[i])->pinned = true;
    gc__policy_plan(heap);
    int generation = heap->cycle->plan->condemned;
    heap->cycle->evacuate_left_bytes = heap->cycle->plan->evacuate_partly_bytes;
    heap->cycle->recycles = false;
    heap->cycle->fixed_holes_bytes = 0;
    for (int g = 0; g <= generation; g++) {
        gc__region *region = heap->regions[g];
        heap->regions[g] = NULL;
        heap->cycle->cursors[g] = NULL;
        heap->cycle->condemned_bytes[g] = heap->generation_bytes[g] + (g ? 0 : heap->nursery_survivor_bytes);
        while (region) {
            gc__region *next = region->next;
            gc__region_condemn(heap, region);
            region->next = condemned;
            condemned = region;
            region = next;
        }
    }
    if (gc__is_mark_end(heap)) condemned = gc__candidates_condemn(heap, condemned);
    for (size_t i = 0; i < heap->cycle->pins.count; i++) gc__region_of(heap->cycle->pins.words[i])->pinned = false;
    heap->recycled = heap->fixed_search = NULL;
    gc__holes_forget(&heap->holes);
    heap->small_spans = 0;
    if (generation == 2) gc__old_holes_forget(heap);
    if (heap->cycle->plan->into_holes) gc__list_into_holes(heap, condemned);
    if (generation == 2) heap->old_stale = NULL;
    return condemned;
}
