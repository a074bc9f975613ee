/* Statistics. */
#pragma once

#include "../base/text.h"
#include "../threads/window.h"
#include "../threads/stop.h"
#include "../trace/workers.h"
#include "../policy/pace.h"
#include "../trace/shade.h"
#include "pauses.h"

GC__COLD void gc__stats_stopped(gc_heap *heap, gc_stats *stats) {
    size_t open_bytes = 0;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__thread_flush_windows(thread);
        const gc__local_spans *spans = &gc__record(thread)->local_spans;
        open_bytes += spans->bytes + spans->left_bytes;
        if (!gc__window_is_old(&thread->window)) open_bytes += gc__window_room(&thread->window);
        if (!gc__window_is_old(&thread->raw)) open_bytes += gc__window_room(&thread->raw);
    }
    *stats = heap->stats;
    stats->allocated_bytes -= open_bytes;
    stats->generation_bytes[0] =
        heap->generation_bytes[0] - gc__min(open_bytes, heap->generation_bytes[0]) + heap->nursery_survivor_bytes;
    stats->generation_bytes[1] = heap->generation_bytes[1];
    stats->generation_bytes[2] = heap->generation_bytes[2];
    stats->large_bytes = heap->large_bytes;
    stats->external_bytes = gc__external_bytes(heap);
    stats->nursery_bytes = heap->pace->nursery_bytes;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        stats->live_bytes += stats->generation_bytes[g];
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            stats->regions += region->span;
            if (region->kind == GC__LARGE)
                stats->used_bytes += gc__region_end(region) - region->base - region->spare;
            else
                stats->used_bytes += region->linear ? region->top - region->base : GC_REGION_BYTES;
        }
    }
    stats->fragmentation_bytes = stats->used_bytes > stats->live_bytes ? stats->used_bytes - stats->live_bytes : 0;
    stats->committed_bytes = gc__held_bytes(heap);
    stats->committed_bytes_peak = heap->held_peak_bytes;
    stats->table_bytes = gc__table_bytes(heap->held_regions, heap->large_regions);
    stats->metadata_bytes = __atomic_load_n(&heap->metadata_bytes, __ATOMIC_RELAXED);
    stats->heap_bytes_max = gc__limit_told(heap);
    stats->concurrent_cpu_ns = gc__marker_cpu_ns(heap);
    gc__pauses_close_windows(heap->pauses);
    for (int i = 0; i < GC_WINDOWS; i++) stats->utilisation[i] = gc__window_utilisation(&heap->pauses->windows[i]);
}

GC_API void gc_heap_stats(gc_heap *heap, gc_stats *stats) {
    GC__API_SCOPE("gc_heap_stats");
    if (gc__is_null(heap, "gc_heap_stats", "heap") || gc__is_null(stats, "gc_heap_stats", "stats")) return;
    gc__world_stop(heap);
    gc__stats_stopped(heap, stats);
    gc__world_resume(heap);
}

GC_API uint64_t gc_heap_allocated(const gc_heap *heap) {
    return gc__is_null(heap, "gc_heap_allocated", "heap") ? 0 : gc__counted(&heap->stats.allocated_bytes);
}

GC_API uint64_t gc_heap_moves(const gc_heap *heap) {
    if (gc__is_null(heap, "gc_heap_moves", "heap")) return 0;
    return __atomic_load_n(&heap->stats.collections_moving, __ATOMIC_RELAXED);
}

GC_API uint64_t gc_stats_pause_percentile(const gc_stats *stats, double fraction) {
    if (gc__is_null(stats, "gc_stats_pause_percentile", "stats")) return 0;
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) total += stats->pauses[i];
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) {
        seen += stats->pauses[i];
        if (seen && (double)seen >= fraction * (double)total) {
            uint64_t end = (uint64_t)2 << i; /* the last bucket has no end */
            return end < stats->pause_max_ns && i < GC_PAUSE_BUCKETS - 1 ? end : stats->pause_max_ns;
        }
    }
    return 0;
}

GC__COLD void gc__print_pauses_line(const gc_stats *s, FILE *file) {
    gc__print(file,
              "pauses       total %t ms, longest %t ms, p99 %t ms, p99.9 %t ms; at least %f %% of any 1 ms is left to the "
              "program, %f %% of any 10 ms, %f %% of any 100 ms\n",
              s->pause_total_ns, s->pause_max_ns, gc_stats_pause_percentile(s, 0.99), gc_stats_pause_percentile(s, 0.999),
              100 * s->utilisation[0], 100 * s->utilisation[1], 100 * s->utilisation[2]);
}

GC__COLD void gc__print_phases(const gc_stats *stats, FILE *file) {
    uint64_t total = 0;
    for (int i = 0; i < GC_PHASE_COUNT; i++) total += stats->phase_total_ns[i];
    fprintf(file, "phases      ");
    const char *between = "";
    for (int i = 0; i < GC_PHASE_COUNT; i++) {
        double percent = total ? 100 * (double)stats->phase_total_ns[i] / (double)total : 0;
        if (percent < 0.05) continue;
        gc__print(file, "%s %s %f %%", between, gc__phase_text((gc_phase)i), percent);
        between = ",";
    }
    fprintf(file, "\n");
}

GC__COLD void gc__print_workers(gc_heap *heap, FILE *file) {
    gc__heap_lock(heap);
    gc__workers *workers = gc__heap_workers(heap);
    if (workers) gc__lock_take(&workers->lock);
    if (workers) gc__print(file, "collectors   %n threads, in %n of the traces\n", (uint64_t)workers->count, workers->traces);
    for (unsigned i = 0; workers && i < workers->count; i++) {
        const gc__worker_thread *thread = &workers->threads[i];
        fprintf(file, "  %-11u", i);
        gc__print(file,
                  "%n objects, %m MiB copied, %n pieces shared, %n taken; %n copies lost; waited %t ms, CPU %t ms\n",
                  thread->objects, thread->bytes, thread->shared, thread->steals, thread->lost, thread->asleep_ns,
                  __atomic_load_n(&thread->cpu_ns, __ATOMIC_RELAXED));
        if (workers->seed)
            gc__print(file, "             %n of %n turns idle\n", thread->steps_asleep, workers->steps);
    }
    if (workers) gc__lock_release(&workers->lock);
    gc__heap_unlock(heap);
}

GC_API __attribute__((cold)) void gc_heap_print_stats(gc_heap *heap, FILE *file) {
    if (gc__is_null(heap, "gc_heap_print_stats", "heap") || gc__is_null(file, "gc_heap_print_stats", "file")) return;
    if (!GC_DIAGNOSTICS) {
        gc__print_nothing(file);
        return;
    }
    gc_stats s;
    gc_heap_stats(heap, &s);
    gc__print(file, "collections  gen0 %n, gen1 %n, gen2 %n (%n compacting); %n moved objects\n", s.collections[0],
              s.collections[1], s.collections[2], s.collections_compacting, s.collections_moving);
    gc__print_pauses_line(&s, file);
    gc__print_phases(&s, file);
    gc__print(file,
              "allocated    %m MiB\n"
              "promoted     %m MiB, of which moved %m MiB\n"
              "last         %m of %m MiB condemned survived\n"
              "live         %m MiB (gen0 %m, gen1 %m, gen2 %m; large objects %m)\n"
              "regions      %n of %n KiB; used %m MiB, holes %m MiB\n"
              "committed    %m MiB, at most %m MiB; tables %m MiB; off-heap %m MiB\n",
              s.allocated_bytes, s.promoted_bytes, s.moved_bytes, s.survived_bytes, s.condemned_bytes, s.live_bytes,
              s.generation_bytes[0], s.generation_bytes[1], s.generation_bytes[2], s.large_bytes, s.regions,
              GC_REGION_BYTES >> 10, s.used_bytes, s.fragmentation_bytes, s.committed_bytes, s.committed_bytes_peak,
              s.table_bytes, s.external_bytes);
    if (s.stops)
        gc__print(file, "stops        %n, %f us each; the slowest thread took %f us: %s\n", s.stops,
                  (double)s.stop_total_ns / 1e3 / (double)s.stops, (double)s.stop_max_ns / 1e3, s.stop_slowest);
    if (s.concurrent_cycles)
        gc__print(file,
                  "concurrent   %n cycles, %n finished, of which %n too late; %m MiB marked in %t ms of the marker's; "
                  "%n objects waited for the last pause\n",
                  s.concurrent_cycles, s.concurrent_finished, s.concurrent_lost, s.concurrent_marked_bytes,
                  s.concurrent_cpu_ns, s.concurrent_waited);
    else if (heap->options.concurrent == GC_CONCURRENT_ON)
        gc__print(file, "concurrent   no cycle: one begins when a full collection is due and %n MiB or more are old\n",
                  (uint64_t)(GC__MARKING_WORTH >> 20));
    if (s.conservative_total_bytes)
        gc__print(file,
                  "conservative %n objects, %m MiB, at the last collection kept by conservative words alone; %m MiB in all "
                  "collections\n",
                  s.conservative_objects, s.conservative_bytes, s.conservative_total_bytes);
    gc__print(file, "nursery      %m MiB\n", s.nursery_bytes);
    gc__print_workers(heap, file);
}
