/* Pacing: when to collect which generation, how large the nursery is, what memory to keep. */
#pragma once

#include "../trace/workers.h"
#include "plan.h"
#include "external.h"

/* Bytes in generation 2 from which a stop-the-world collection of them takes notable time. */
#define GC__MARKING_WORTH ((size_t)2 << 20)
#define GC__NURSERY_MIN ((size_t)256 << 10)
#define GC__NURSERY_MAX ((size_t)32 << 20)
/* The goal includes this many bytes beyond growth, for the nursery and partly filled regions; */
#define GC__GOAL_EXTRA ((size_t)3 << 19)
#define GC__GOAL_EXTRA_MOST ((size_t)9 << 18) /* or up to this many, */
#define GC__GOAL_EXTRA_PART 5                 /* if they are no more than 1/n of the growth. */
/* 1/n of the goal is reserved for the huge pages in which tables end, and for mark stacks, */
#define GC__GOAL_UNSEEN 48
#define GC__GOAL_SEEN ((size_t)32 << 20) /* but only of the part of the goal beyond this. */
/* Bytes in generation 2 from which a full collection that was asked for is timed. */
#define GC__TIMED_BYTES ((size_t)1 << 20)
#define GC__SOFT_PART 8      /* a heap grows by at least 1/n of its live bytes, even beyond the soft limit */
/* If most of a nursery survived, it may grow to this multiple of its size before the next collection. */
#define GC__NURSERY_GROWTH 4
#define GC__GC_SHARE_HIGH 8  /* percent of the time in young collections above which the nursery grows */

/* Returns by how much the heap may grow beyond its live bytes. */
GC__OUT_OF_LINE size_t gc__growth_of(const gc_heap *heap, size_t live_bytes) {
    unsigned percent = heap->options.growth_percent ? heap->options.growth_percent : 100;
    size_t growth = gc__times_at_most(live_bytes / 100, percent, GC__BUDGET_MOST);
    size_t soft = heap->options.heap_bytes_soft;
    growth = gc__max(growth, heap->options.growth_bytes_min);
    /* `used` includes room for copies. */
    size_t least = live_bytes / GC__SOFT_PART, used = live_bytes + soft / GC__SOFT_PART;
    if (soft) growth = gc__min(growth, gc__max(soft - gc__min(soft, used), least));
    return gc__max(growth, GC__NURSERY_MIN);
}

/* Returns the largest nursery: half of that growth, so that it stays in proportion to the live bytes. */
GC__COLD size_t gc__nursery_most(const gc_heap *heap) {
    size_t old = heap->generation_bytes[1] + heap->generation_bytes[2], limit = heap->options.heap_bytes_max;
    size_t live = gc__max(old, heap->full_bytes) + gc__external_bytes(heap);
    size_t most = gc__min(gc__growth_of(heap, live) / 2, GC__NURSERY_MAX);
    return gc__max(limit ? gc__min(most, limit / 6) : most, GC__NURSERY_MIN);
}

/* Sets the goal after a full collection: what the heap should hold at most until the next one has ended, without the
   share that tables take of it. */
GC__COLD void gc__pace_goal(gc_heap *heap, size_t live_bytes) {
    size_t growth = gc__growth_of(heap, live_bytes), nursery = heap->options.nursery_bytes;
    size_t extra = gc__max(GC__GOAL_EXTRA, gc__min(growth / GC__GOAL_EXTRA_PART, GC__GOAL_EXTRA_MOST));
    if (heap->options.non_moving) extra = GC__GOAL_EXTRA / 3 * 2; /* evacuation cannot make up for an excess */
    if (!nursery) nursery = gc__min(growth, extra);
    if (nursery > heap->limit_bytes) nursery = heap->limit_bytes;
    heap->pace->full_live_bytes = live_bytes;
    /* With concurrent marking, half of the room to the limit is left for what mutators allocate meanwhile. */
    size_t left = heap->limit_bytes - gc__min(heap->limit_bytes, live_bytes);
    size_t due = gc__has_pause_goal(heap) ? gc__max(gc__min(growth, left / 2), GC__NURSERY_MIN) : growth;
    heap->pace->full_threshold = live_bytes + due;
    size_t goal = live_bytes + growth + nursery, soft = heap->options.heap_bytes_soft;
    if (gc__has_pause_goal(heap)) goal = gc__min(goal, heap->limit_bytes);
    if (soft && goal > soft) goal = gc__max(soft, live_bytes + live_bytes / GC__SOFT_PART);
    goal -= gc__table_bytes(goal >> GC_REGION_SHIFT, 0) + (goal - gc__min(goal, GC__GOAL_SEEN)) / GC__GOAL_UNSEEN;
    heap->goal_bytes = gc__max(goal, GC__REGIONS_MIN * GC_REGION_BYTES);
}

GC__FN size_t gc__old_bytes(const gc_heap *heap) { return heap->generation_bytes[2] + gc__external_bytes(heap); }

/* Returns the old bytes, and those of survivors between which mutators allocate. */
GC__FN size_t gc__grown_bytes(const gc_heap *heap) { return gc__old_bytes(heap) + heap->nursery_survivor_bytes; }

/* Returns by how much the heap may grow from one full collection to the next. */
GC__COLD size_t gc__growth_due(const gc_heap *heap) { return heap->pace->full_threshold - heap->pace->full_live_bytes; }

/* Returns the memory in use, apart from holes that promotion, or objects that are born old, will fill. */
GC__COLD size_t gc__pace_used(const gc_heap *heap) {
    size_t used = gc__bytes_in_use(heap) - gc__counted(&heap->old_holes.bytes);
    size_t unlisted = heap->born_left ? gc__counted(&heap->unlisted_bytes) : 0;
    return used - gc__min(used, unlisted);
}

/* Returns the part of that memory that no object occupies. */
GC__COLD size_t gc__pace_holes(const gc_heap *heap) {
    size_t used = gc__pace_used(heap);
    size_t bytes = gc__grown_bytes(heap) + heap->generation_bytes[1] + gc__counted(&heap->generation_bytes[0]);
    return used - gc__min(used, bytes);
}

/* Predicts what the copies of a full collection will take: as much as those of the last one and an eighth, or a
   quarter of the bytes in holes; at most a quarter of the growth. It adds the regions that the copies begin, which
   may be few in a small heap. */
GC__COLD size_t gc__pace_copies(const gc_heap *heap) {
    if (heap->options.non_moving) return 0;
    size_t growth = gc__growth_due(heap), begun = gc__min(2 * GC_REGION_BYTES, growth / 8);
    size_t last = heap->pace->full_copied_bytes, holes = gc__pace_holes(heap);
    return gc__min(gc__max(last + last / 8, holes / 4), growth / 4) + begun;
}

/* Returns the least to which a nursery shrinks as the heap approaches its goal. */
GC__COLD size_t gc__nursery_near_goal(const gc_heap *heap) {
    return gc__min(heap->pace->nursery_bytes / 2, gc__max(gc__growth_due(heap) / 8, GC__NURSERY_MIN));
}

/* Returns by how much a nursery grows at a time: little, so that the heap comes near its goal. */
GC__COLD size_t gc__pace_step(const gc_heap *heap) { return gc__min(heap->pace->nursery_bytes, GC__NURSERY_MIN); }

/* Returns whether the heap will exceed its goal unless it is collected as a whole now that a nursery is spent: a
   young collection leaves the nursery's survivors, and the next full collection, perhaps after a smaller nursery,
   needs room for copies. A full collection must also be worth its time: enough was promoted for it to free a part of
   that; or less, if it can free holes. */
GC__COLD bool gc__pace_is_full(const gc_heap *heap) {
    size_t spent = gc__counted(&heap->generation_bytes[0]);
    size_t old = gc__grown_bytes(heap) + heap->generation_bytes[1], live = heap->pace->full_live_bytes;
    size_t used = gc__pace_used(heap), growth = gc__growth_due(heap);
    bool grows = heap->pace->nursery_grows != 0;
    size_t holes = heap->options.non_moving ? 0 : gc__pace_holes(heap), enough = growth / (holes > growth / 4 ? 8 : 4);
    if (holes > growth / 2) enough = gc__min(enough, gc__max(growth / 32, GC__NURSERY_MIN));
    size_t promoted = old + (grows ? spent : 0), next = grows ? gc__pace_step(heap) : spent / 100 * heap->pace->survival[0];
    if (!grows) used -= gc__min(used, spent - gc__min(spent, gc__nursery_near_goal(heap)));
    return promoted >= live + enough && used + next + gc__pace_copies(heap) > heap->goal_bytes;
}

/* Returns whether a collection of the young generations frees enough, at less than half the cost per byte of the
   full one that is due, as in programs whose old objects stay alive. */
GC__COLD bool gc__pace_is_for_young(const gc_heap *heap) {
    const gc__pace *pace = heap->pace;
    size_t growth = gc__growth_due(heap), young = heap->generation_bytes[1], old = gc__grown_bytes(heap);
    if (gc__has_pause_goal(heap) || old > pace->full_live_bytes + growth / 8) return false;
    size_t nursery = gc__counted(&heap->generation_bytes[0]), of_nursery = nursery / 100 * pace->survival[0];
    size_t of_young = young / 100 * pace->survival[1], of_old = old / 100 * pace->old_survival, live = of_nursery + of_young;
    size_t freed = young - of_young + (pace->nursery_grows ? nursery - of_nursery : 0), dead = nursery + young - live;
    return freed >= growth / 4 && (double)dead * (double)(live + of_old) >= 2 * (double)(dead + old - of_old) * (double)live;
}

/* Returns the bytes that were allocated since the last collection, on the heap and off it. */
GC__FN size_t gc__spent_bytes(const gc_heap *heap) {
    size_t born = gc__counted(&heap->born_bytes);
    return gc__counted(&heap->generation_bytes[0]) + born + gc__external_growth(heap, gc__external_bytes(heap));
}

/* Returns whether a young collection would look at most of the heap, since mutators allocate in the holes of old
   regions. Then a full collection costs little more and frees more, so it runs when the limit or the goal is met. */
GC__COLD bool gc__pace_is_all_young(const gc_heap *heap) {
    return !heap->options.non_moving && !heap->options.non_generational &&
           heap->nursery_survivor_bytes > heap->generation_bytes[1] + gc__old_bytes(heap);
}

/* Returns which of the young generations a spent nursery calls for. */
GC__COLD int gc__pace_young(const gc_heap *heap) {
    size_t young = heap->generation_bytes[1], budget = 2 * heap->pace->nursery_bytes;
    if (heap->pace->tenures_at_once || heap->pace->has_huge) return 1;
    bool sparse = heap->pace->young_regions * GC_REGION_BYTES > 2 * young + budget + 4 * GC_REGION_BYTES;
    return young >= budget || sparse ? 1 : 0;
}

/* Returns whether generation 2 has grown by as much as it may, or the heap will exceed its goal. */
GC__COLD bool gc__pace_is_due(const gc_heap *heap) {
    size_t old = gc__grown_bytes(heap);
    if (heap->pace->nursery_grows) old += heap->generation_bytes[1] + gc__counted(&heap->generation_bytes[0]);
    return old >= heap->pace->full_threshold || gc__pace_is_full(heap);
}

/* Returns which generation a spent nursery calls for. */
GC__COLD int gc__pace_generation(const gc_heap *heap) {
    if (heap->options.non_generational || gc__pace_is_all_young(heap)) return 2;
    if (gc__pace_is_due(heap)) return gc__pace_is_for_young(heap) ? 1 : 2;
    return gc__pace_young(heap);
}

/* Returns whether the nursery grows instead, since most of it is likely to survive. */
GC__COLD bool gc__pace_waits(const gc_heap *heap, int generation) {
    size_t born = gc__counted(&heap->born_bytes);
    if (born && generation < 2 && gc__spent_bytes(heap) - born < heap->pace->nursery_bytes)
        return !gc__stores_enough(heap);
    return generation < 2 && gc__spent_bytes(heap) < heap->pace->nursery_grows && !gc__pace_is_due(heap);
}

#define GC__PAUSE_GOAL_US 5000 /* of heaps without a pause_goal_us */
GC__COLD uint64_t gc__pace_goal_ns(const gc_heap *heap) {
    return (heap->options.pause_goal_us ? heap->options.pause_goal_us : GC__PAUSE_GOAL_US) * (uint64_t)1000;
}

/* Returns how long a collection should be predicted to take: half of the goal, since the same work occasionally
   takes twice as long. */
GC__COLD uint64_t gc__pace_aim_ns(const gc_heap *heap) { return gc__pace_goal_ns(heap) / 2; }

#define GC__TENURE_PERCENT ((size_t)60) /* survival from which a nursery's survivors are promoted at once */
#define GC__NURSERY_LEAST ((size_t)64 << 10)
/* With a pause goal, a nursery takes at most 1/n of the limit: promotion needs the rest. */
#define GC__NURSERY_PART 32
#define GC__YOUNG_NS_FIRST ((uint64_t)1 << 20) /* for each condemned MiB, before it was measured */
#define GC__COPY_NS_PER_MIB ((uint64_t)200000) /* the least cost of a MiB of survivors, */
#define GC__COPY_MEASURED ((size_t)256 << 10)  /* which is measured if there are this many bytes of them */
#define GC__SLOT_NS ((uint64_t)40)             /* the least cost of a remembered slot, */
#define GC__SLOTS_MEASURED 1024                /* which is measured if there are this many */
#define GC__COST_GROWTH 2                      /* a cost is at most this multiple of the one measured before */
/* First guess for each condemned MiB while survivors are copied to holes, */
#define GC__FILL_NS_PER_MIB ((uint64_t)12000000)
#define GC__FILL_SLOT_NS ((uint64_t)800) /* and for each remembered slot: a hole may have room for one object only */
#define GC__FILL_COST 4 /* times the usual cost of copies: first guess for copies to holes */

/* Returns the bytes of young objects that a collection has condemned, without large objects, whose promotion takes
   little time. */
GC__COLD size_t gc__condemned_small(const gc_heap *heap) {
    size_t condemned = heap->cycle->condemned_bytes[0] + heap->cycle->condemned_bytes[1];
    return condemned - gc__min(condemned, heap->cycle->large_bytes);
}

/* Objects that are born old take at most 1/n of the growth before a nursery is traced. */
#define GC__BORN_PART 4
#define GC__BORN_HOLES 32 /* none are if there are no regions for them, and less than 1/n of the limit is in holes */

/* Decides after a collection how much is born old before a nursery is traced. */
GC__COLD void gc__pace_born(gc_heap *heap) {
    if (!GC__HAS_MARKER) return;
    if (gc__is_mark_end(heap)) heap->born_left = gc__min(heap->pace->born_bytes, gc__growth_due(heap) / GC__BORN_PART);
    bool holes = gc__counted(&heap->unlisted_bytes) >= heap->limit_bytes / GC__BORN_HOLES;
    if (!holes && !gc__born_has_regions(heap)) heap->born_left = 0;
    if (heap->options.test.born_old) heap->born_left = heap->collection.number % 2 ? GC__BUDGET_MOST : 0;
    if (!gc__has_pause_goal(heap)) heap->born_left = 0;
}

/* Decides on tenuring by the survivors of what a young collection has condemned. */
GC__COLD void gc__pace_tenure(gc_heap *heap, int generation) {
    const gc__cycle *cycle = heap->cycle;
    size_t condemned = gc__condemned_small(heap);
    if (generation == 2 || !gc__has_pause_goal(heap) || condemned < GC__NURSERY_LEAST) return;
    size_t percent = (gc__survived_bytes(cycle) - cycle->large_kept_bytes) / (condemned / 100 + 1);
    heap->pace->tenured_percent = (unsigned)gc__min(percent, 100);
    heap->pace->tenures_at_once =
        percent >= (heap->pace->tenures_at_once ? GC__TENURE_PERCENT - 20 : GC__TENURE_PERCENT);
    size_t born = gc__min(2 * heap->pace->born_bytes + heap->pace->nursery_bytes, gc__growth_due(heap) / GC__BORN_PART);
    heap->born_left = heap->pace->born_bytes = percent >= GC__SURVIVAL_FULL ? born : 0;
}

/* Returns the nursery that is collected within the goal, by the measured costs. If objects are not tenured at once,
   a collection of generation 1 condemns three nurseries at most. If all of one nursery survives for once, that
   should not take much longer than the goal. */
GC__COLD size_t gc__nursery_in_time(const gc_heap *heap) {
    const gc__pace *pace = heap->pace;
    uint64_t aim = gc__pace_aim_ns(heap), each = gc__max(pace->young_ns_per_mib, 1);
    size_t bytes = (size_t)((aim << 20) / each), most = (size_t)((aim / 4 * 5 << 20) / pace->copy_ns_per_mib);
    most = gc__min(gc__min(pace->tenures_at_once ? bytes : bytes / 3, most), heap->limit_bytes / GC__NURSERY_PART);
    return gc__max(most, GC__NURSERY_LEAST);
}

/* Updates a cost: it is measured if there were `enough` units, and slowly falls otherwise. It falls slowly since
   what happens to be in cache may not be the next time, and rises by a factor at most since the system sometimes
   takes milliseconds for something else. */
GC__COLD void gc__cost_note(uint64_t *cost, uint64_t ns, size_t units, size_t enough, uint64_t least) {
    uint64_t each = units >= enough ? gc__min(ns / units, GC__COST_GROWTH * *cost) : *cost / 4 * 3;
    *cost = gc__max(gc__max(each, (7 * *cost + each) / 8), least);
}

/* Learns what a young collection took for survivors, and for remembered slots with what they lead to. */
GC__COLD void gc__pace_costs(gc_heap *heap, uint64_t pause_ns) {
    const gc__cycle *cycle = heap->cycle;
    size_t survived = gc__survived_bytes(cycle), slots = heap->pause.remembered_slots;
    survived -= gc__min(survived, cycle->large_kept_bytes);
    gc__cost_note(&heap->pace->copy_ns_per_mib, pause_ns << 10, survived >> 10, GC__COPY_MEASURED >> 10, GC__COPY_NS_PER_MIB);
    gc__cost_note(&heap->pace->slot_ns, pause_ns, slots, GC__SLOTS_MEASURED, GC__SLOT_NS);
    if (gc__fills_holes(heap) && !gc__heap_is_marking(heap) && slots >= GC__SLOTS_MEASURED)
        heap->pace->filling_slot_ns = gc__max(heap->pace->filling_slot_ns, pause_ns / slots);
}

/* Returns the nursery that fits the goal after measuring again what young collections take for each byte. A quarter
   is left for collections that take more than usual. */
GC__COLD size_t gc__nursery_for_goal(gc_heap *heap, uint64_t pause_ns) {
    gc__pace *pace = heap->pace;
    size_t condemned = gc__condemned_small(heap);
    if (!gc__has_pause_goal(heap)) return SIZE_MAX;
    if (condemned < GC__NURSERY_LEAST)
        pace->young_ns_per_mib -= pace->young_ns_per_mib / 16; /* until it is measured again */
    if (!gc__is_of_cycle(heap->cycle->plan)) gc__pace_costs(heap, pause_ns);
    if (condemned >= GC__NURSERY_LEAST && !gc__is_of_cycle(heap->cycle->plan)) {
        uint64_t each = (pause_ns << 10) / (condemned >> 10);
        pace->young_ns_per_mib = gc__max(each, (3 * pace->young_ns_per_mib + each) / 4);
        if (gc__fills_holes(heap) && !gc__heap_is_marking(heap)) pace->filling_young_ns = gc__max(pace->filling_young_ns, each);
    }
    return gc__nursery_in_time(heap);
}

/* Estimates how much of generation 2 has survived a full collection, which does not distinguish its survivors from
   those of generation 1: the estimate comes from the regions that stayed in place, and the rest follows from it. */
GC__COLD void gc__pace_survival_old(gc_heap *heap, size_t survivors) {
    const gc__cycle *cycle = heap->cycle;
    gc__pace *pace = heap->pace;
    size_t young = cycle->condemned_bytes[1], old = cycle->condemned_bytes[2];
    if (gc__is_of_cycle(cycle->plan) || heap->collection.compacting || cycle->staying_bytes < old / 8) return;
    pace->old_survival = (unsigned)gc__min(100, cycle->staying_kept_bytes / (cycle->staying_bytes / 100 + 1) + 1);
    size_t of_old = old / 100 * pace->old_survival;
    if (young) pace->survival[1] = (unsigned)gc__min(100, (survivors - gc__min(survivors, of_old)) / (young / 100 + 1));
}

/* Returns how much of generation 0 has survived if all survivors became generation 2: as much as in the regions that
   stayed in place. */
GC__COLD size_t gc__young_percent(const gc_heap *heap) {
    size_t staying = heap->cycle->young_staying_bytes;
    return staying ? gc__min(100, heap->cycle->young_kept_bytes / (staying / 100 + 1)) : heap->pace->survival[0];
}

GC__COLD void gc__pace_survival(gc_heap *heap, int generation) {
    const size_t *copied = heap->cycle->copied_bytes, *marked = heap->cycle->marked_bytes;
    size_t survivors[3] = {copied[1] + marked[1] + copied[0] + marked[0], copied[2] + marked[2], copied[2] + marked[2]};
    if (heap->cycle->plan->ages_all) {
        survivors[0] = heap->cycle->condemned_bytes[0] / 100 * gc__young_percent(heap);
        survivors[2] -= gc__min(survivors[2], survivors[0]);
    }
    for (int g = 0; g <= generation; g++) {
        if (g == 1 && generation == 2) continue; /* the sum includes the old generation's survivors */
        size_t condemned = heap->cycle->condemned_bytes[g] + (g == 2 ? heap->cycle->condemned_bytes[1] : 0);
        if (!condemned || (g < 2 && heap->pace->tenures_at_once)) continue; /* that sum includes their survivors, too */
        unsigned percent = (unsigned)gc__min(100, survivors[g] / (condemned / 100 + 1));
        heap->pace->survival[g] = (heap->pace->survival[g] + 3 * percent) / 4;
    }
    if (generation == 2) gc__pace_survival_old(heap, survivors[2]);
}

/* Returns the nursery of a heap without generations: a share of its live bytes, with those off the heap. */
GC__COLD size_t gc__nursery_non_generational(const gc_heap *heap) {
    size_t bytes = gc__growth_of(heap, heap->nursery_survivor_bytes + gc__external_bytes(heap));
    size_t left = gc__regions_left(heap) << GC_REGION_SHIFT;
    return heap->options.heap_bytes_max ? gc__min(bytes, gc__max(left, GC__NURSERY_MIN)) : bytes;
}

/* Returns whether the time of the collection is irrelevant for the nursery. Then the thread's clock, a system call, is
   read for large heaps only: a program may collect a nearly empty one thousands of times. */
GC__COLD bool gc__pace_ignores_time(int generation, gc_reason reason) {
    return generation == 2 && reason == GC_REASON_INDUCED;
}

#define GC__TRACE_NS_FIRST ((uint64_t)100000) /* for each surviving MiB, before it was measured */
#define GC__TRACE_MEASURED ((size_t)256 << 10) /* it is measured if this many bytes survive */

/* Learns what a collection took for each byte that survived it. */
GC__COLD void gc__pace_trace_note(gc_heap *heap, int generation, uint64_t ns) {
    size_t survived = gc__survived_bytes(heap->cycle);
    uint64_t *each = &heap->pace->trace_ns_per_mib[generation == 2];
    if (ns && survived >= GC__TRACE_MEASURED) *each = (*each + (ns << 10) / (survived >> 10)) / 2;
}

/* Doubles the nursery while collections take a notable share of the time and objects survive: survivors and dirty
   cards are then looked at less often. Halves it towards the cache's size when pauses exceed the goal or little
   survives, but not below the cache's size for each thread that allocates. Both are measured in CPU time, so that
   other load on the machine has no influence: the share in that of all threads that collect, and the pause in that
   of the first. If another thread ran the last collection, or its time was ignored, the share is unknown. */
GC__COLD void gc__pace_nursery(gc_heap *heap) {
    uint64_t stopped = heap->pace->stopped_cpu_ns, now = stopped ? gc__os_cpu_ns() : 0, pause = gc__ns_since(now, stopped);
    uint64_t workers_ns = gc__workers_cpu_ns(gc__heap_workers(heap)),
             helped_ns = gc__ns_since(workers_ns, heap->pace->workers_cpu_ns);
    heap->pause.cpu_ns = pause;
    heap->pace->workers_cpu_ns = workers_ns;
    if (stopped) gc__pace_trace_note(heap, heap->collection.generation, pause + helped_ns);
    if (heap->options.nursery_bytes) return;
    if (heap->options.non_generational) {
        heap->pace->nursery_bytes = gc__nursery_non_generational(heap);
        return;
    }
    if (gc__pace_ignores_time(heap->collection.generation, heap->collection.reason)) {
        heap->pace->resumed_by = 0;
        return;
    }
    uint64_t since = gc__ns_since(now, heap->pace->resumed_cpu_ns);
    bool known = heap->pace->resumed_by == gc__os_self();
    uint64_t share = known ? (pause + helped_ns) * 100 / (since + helped_ns + 1) : GC__GC_SHARE_HIGH;
    heap->pace->resumed_cpu_ns = now;
    heap->pace->resumed_by = gc__os_self();
    if (heap->collection.generation == 2) return;
    size_t cached = gc__max(heap->pace->cache_bytes * heap->pace->allocating, GC__NURSERY_MIN),
           most = gc__min(gc__nursery_most(heap), gc__nursery_for_goal(heap, pause));
    uint64_t goal = gc__pace_goal_ns(heap);
    if (share > GC__GC_SHARE_HIGH && pause < 4 * goal)
        heap->pace->nursery_bytes = gc__min(2 * heap->pace->nursery_bytes, most);
    else if (pause > goal || share < GC__GC_SHARE_HIGH / 4)
        heap->pace->nursery_bytes = heap->pace->nursery_bytes / 2;
    heap->pace->nursery_bytes = gc__min(gc__max(heap->pace->nursery_bytes, gc__min(cached, most)), most);
}

/* Returns about how many bytes of the holes belong to mutators. */
GC__COLD size_t gc__pace_recycled(const gc_heap *heap) {
    size_t recycled = heap->nursery_survivor_bytes, all = gc__grown_bytes(heap) + heap->generation_bytes[1];
    return (size_t)((double)gc__pace_holes(heap) * (double)recycled / (double)gc__max(all, 1));
}

/* Returns the nursery until the next collection, within the goal if that leaves enough of it. A nursery is rounded
   up to whole small regions, since their memory is taken whole; but not with a pause goal, where time is short. */
GC__COLD size_t gc__nursery_in_goal(const gc_heap *heap) {
    size_t nursery = heap->pace->nursery_bytes, step = gc__min(GC_REGION_BYTES, GC__NURSERY_MIN);
    if (heap->options.nursery_bytes || heap->options.non_generational) return nursery;
    size_t used = gc__bytes_in_use(heap) + gc__pace_copies(heap), left = heap->goal_bytes;
    if (heap->options.non_moving) left += gc__pace_recycled(heap) / 6;
    left -= gc__min(left, used);
    if (gc__pace_is_all_young(heap)) { /* holes serve as a nursery, too */
        size_t growth = gc__growth_of(heap, heap->full_bytes);
        return gc__min(growth, gc__max(left + gc__pace_holes(heap), growth / 4));
    }
    nursery = gc__min(nursery, gc__max(gc__max(left, gc__nursery_near_goal(heap)), GC__NURSERY_LEAST));
    return gc__has_pause_goal(heap) ? nursery : (nursery + step - 1) & ~(step - 1);
}

/* Lets the nursery grow if most of it survives a young collection, which costs more than it frees: the full
   collection that the survivors call for looks at them again. Then the nursery grows until a full collection is due,
   as long as full collections still find much of it alive; but only to a multiple of what has survived, which may
   have been a burst. */
GC__COLD void gc__pace_worth(gc_heap *heap, int generation) {
    if (gc__has_pause_goal(heap)) return; /* the pause would grow with it */
    if (heap->options.nursery_bytes || heap->cycle->condemned_bytes[0] < heap->pace->nursery_bytes / 2) return;
    size_t percent =
        (heap->cycle->copied_bytes[1] + heap->cycle->marked_bytes[1]) / (heap->cycle->condemned_bytes[0] / 100 + 1);
    if (heap->cycle->plan->ages_all) percent = gc__young_percent(heap);
    bool grows = percent >= GC__SURVIVAL_HIGH;
    if (generation == 2) grows = heap->pace->nursery_grows && percent >= GC__SURVIVAL_HIGH / 2;
    heap->pace->nursery_grows = grows ? GC__NURSERY_GROWTH * heap->cycle->condemned_bytes[0] : 0;
}

/* Keeps free regions for what will soon be allocated, and releases the others to the system: at once if the program
   has asked for the collection, otherwise a part now and the rest as mutators take regions, so that this does not
   lengthen the pause. After a concurrent cycle nothing is released for a while, since as much as died may be needed
   during the next one; then mutators release what is still free, or the marker's thread does when it rests. */
GC__COLD void gc__pace_release(gc_heap *heap, int generation) {
    if (heap->options.keep_memory || generation < 2) return;
    size_t soon = heap->pace->nursery_bytes + GC__UNCOMMIT_REGIONS_MIN * GC_REGION_BYTES +
                  (heap->pace->full_threshold - gc__min(heap->pace->full_threshold, gc__old_bytes(heap)));
    size_t least = heap->pace->nursery_bytes + GC__UNCOMMIT_REGIONS_MIN * GC_REGION_BYTES;
    soon = gc__min(soon, gc__max(gc__bytes_to_goal(heap), least));
    bool concurrent = gc__is_mark_end(heap) && heap->marker->has_thread;
    size_t most = concurrent ? 0 : heap->collection.reason == GC_REASON_INDUCED ? SIZE_MAX : GC__UNCOMMIT_REGIONS_MAX;
    heap->uncommit_bytes = gc__free_bytes(heap) - gc__min(gc__free_bytes(heap), soon);
    for (size_t i = 0; heap->uncommit_bytes && heap->free && i < most; i++) {
        gc__heap_release_free(heap);
        heap->uncommit_bytes = gc__free_bytes(heap) - gc__min(gc__free_bytes(heap), soon);
    }
    heap->uncommit_waits = concurrent;
    if (!concurrent) return;
    heap->free_least_bytes = gc__free_bytes(heap);
    heap->uncommitted_ns = gc__os_now_ns();
    __atomic_store_n(&heap->marker->gives_back, heap->uncommit_bytes >= GC_REGION_BYTES, __ATOMIC_RELAXED);
}

#define GC__DEGENERATED_FIRST 4
#define GC__DEGENERATED_MOST 64
#define GC__DEGENERATED_ROOM 5 /* only for heaps whose limit leaves less than 1/n of it free */

/* Returns whether live objects leave so little room that mutators would wait for most of each concurrent marking. */
GC__COLD bool gc__pace_is_cramped(const gc_heap *heap) {
    size_t lives = heap->full_bytes + gc__external_bytes(heap) + gc__counted(&heap->metadata_bytes);
    return lives > heap->limit_bytes - heap->limit_bytes / GC__DEGENERATED_ROOM;
}

/* Ends a series of stop-the-world collections: all survivors are old, and nurseries fit the pause goal again. */
GC__COLD void gc__pace_return(gc_heap *heap) {
    heap->pace->nursery_grows = 0;
    if (!heap->options.nursery_bytes)
        heap->pace->nursery_bytes = gc__min(heap->pace->nursery_bytes, gc__nursery_in_time(heap));
}

/* Forgets what young collections have shown, when concurrent cycles come into force or end: a heap with a goal for
   pauses and one without learn different things, and neither would ever replace what the other has learned. */
GC__COLD void gc__pace_forget(gc_heap *heap) {
    heap->pace->tenures_at_once = false;
    heap->born_left = heap->pace->born_bytes = 0;
    heap->pace->tenured_percent = 0;
    if (gc__has_pause_goal(heap))
        gc__pace_return(heap);
    else
        heap->pace->nursery_grows = 0;
}

/* Decides after a full collection whether the next ones stop the world. If a cramped heap with concurrent marking
   has met its limit, some full collections stop the world, which takes less room and time. Then marking is tried
   again, and if less lives when it ends, the length of the next series is halved. Other heaps have lost a single
   race: their next cycle begins at once, with what this collection has freed. A marking that has ended early does
   not show how much lives. */
GC__COLD void gc__pace_room(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    bool cramped = gc__pace_is_cramped(heap), ends = gc__is_mark_end(heap);
    if (!GC__HAS_MARKER || heap->options.concurrent != GC_CONCURRENT_ON) return;
    if (pace->degenerated) {
        pace->degenerated--;
        if (!pace->degenerated) gc__pace_return(heap);
    } else if (heap->collection.reason == GC_REASON_LIMIT && cramped && !ends) {
        pace->degenerated = pace->degenerated_next > GC__DEGENERATED_FIRST ? pace->degenerated_next : GC__DEGENERATED_FIRST;
        pace->degenerated_next = pace->degenerated < GC__DEGENERATED_MOST ? 2 * pace->degenerated : GC__DEGENERATED_MOST;
    } else if (ends && !cramped) {
        pace->degenerated_next /= 2;
    }
}

/* Lets promotion fill holes from now on, and predicts its cost: the worst of the last time, or a pessimistic guess
   the first time. While a cycle runs, holes may be used up, and copies cost less. */
GC__COLD void gc__pace_fill(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    uint64_t young = pace->filling_young_ns, slot = pace->filling_slot_ns;
    if (!young) young = gc__max(GC__FILL_COST * gc__min(pace->young_ns_per_mib, GC__FILL_NS_PER_MIB), GC__FILL_NS_PER_MIB);
    pace->young_ns_per_mib = gc__max(pace->young_ns_per_mib, young);
    pace->slot_ns = gc__max(pace->slot_ns, slot ? slot : GC__FILL_SLOT_NS);
    pace->filling_young_ns = pace->filling_slot_ns = 0;
    if (!heap->options.nursery_bytes) pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_in_time(heap));
}

/* Learns from a collection of all generations. */
GC__COLD void gc__pace_full(gc_heap *heap) {
    heap->full_bytes = heap->generation_bytes[1] + heap->generation_bytes[2] + heap->nursery_survivor_bytes;
    if (gc__regions_left(heap) > gc__evacuation_reserve_of(heap, heap->full_bytes)) heap->reserve_open = false;
    gc__pace_room(heap);
    if (!gc__is_mark_end(heap)) heap->pace->full_used_bytes = gc__bytes_in_use(heap);
    if (!heap->collection.compacting)
        heap->pace->full_copied_bytes = heap->cycle->copied_bytes[1] + heap->cycle->copied_bytes[2];
    gc__pace_goal(heap, heap->full_bytes + gc__external_bytes(heap));
    bool fills = gc__has_pause_goal(heap) && (!gc__is_mostly_used(&heap->cycle->old_small) || gc__is_tight(heap));
    if (fills) gc__pace_fill(heap);
    heap->pace->fills_holes = fills;
    heap->old_unlisted = fills ? heap->regions[2] : NULL;
    heap->unlisted_bytes = fills ? gc__pace_holes(heap) : 0;
}

GC__FN void gc__policy_learn(gc_heap *heap) {
    int generation = heap->collection.generation;
    size_t promoted[GC_GENERATIONS];
    gc__pace_survival(heap, generation);
    if (generation) heap->pace->has_huge = false;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        promoted[g] = heap->cycle->copied_bytes[g] + heap->cycle->marked_bytes[g];
        heap->generation_bytes[g] = g ? (g <= generation ? 0 : heap->generation_bytes[g]) + promoted[g] : 0;
    }
    heap->born_left -= gc__min(heap->born_left, gc__counted(&heap->born_bytes));
    heap->born_bytes = 0;
    heap->nursery_survivor_bytes = promoted[0];
    gc__pace_worth(heap, generation);
    gc__pace_tenure(heap, generation);
    gc__pace_nursery(heap);
    if (generation == 2) gc__pace_full(heap);
    gc__pace_born(heap);
    heap->budget_bytes = gc__nursery_in_goal(heap);
    size_t copies = (heap->budget_bytes >> GC_REGION_SHIFT) + 2;
    heap->free_for_copies = gc__has_pause_goal(heap) ? gc__min(copies, heap->held_regions / 8) : 0;
    __atomic_store_n(&heap->pace->external_bytes, gc__external_bytes(heap), __ATOMIC_RELAXED);
    gc__pace_release(heap, generation);
}
