/* Statistics. */
#pragma once

#include "../space/window.h"
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
        open_bytes += gc__window_room(&thread->window) + gc__window_room(&thread->raw) + spans->bytes + spans->left_bytes;
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
    const double ms = (double)GC__NS_PER_MS;
    fprintf(file,
            "pauses       total %.3f ms, longest %.3f ms, p99 %.3f ms, p99.9 %.3f ms; at least %.1f %% of any 1 ms is left "
            "to the program, %.1f %% of any 10 ms, %.1f %% of any 100 ms\n",
            (double)s->pause_total_ns / ms, (double)s->pause_max_ns / ms,
            (double)gc_stats_pause_percentile(s, 0.99) / ms, (double)gc_stats_pause_percentile(s, 0.999) / ms,
            100 * s->utilisation[0], 100 * s->utilisation[1], 100 * s->utilisation[2]);
}

/* Prints the share of the pauses that each phase took. */
GC__COLD void gc__print_phases(const gc_stats *stats, FILE *file) {
    uint64_t total = 0;
    for (int i = 0; i < GC_PHASE_COUNT; i++) total += stats->phase_total_ns[i];
    fprintf(file, "phases      ");
    const char *between = "";
    for (int i = 0; i < GC_PHASE_COUNT; i++) {
        double percent = total ? 100 * (double)stats->phase_total_ns[i] / (double)total : 0;
        if (percent < 0.05) continue;
        fprintf(file, "%s %s %.1f %%", between, gc__phase_text((gc_phase)i), percent);
        between = ",";
    }
    fprintf(file, "\n");
}

/* Prints a line for each collector thread with what it has done. */
GC__COLD void gc__print_workers(gc_heap *heap, FILE *file) {
    gc__heap_lock(heap);
    gc__workers *workers = gc__heap_workers(heap);
    if (workers) gc__lock_take(&workers->lock);
    if (workers)
        fprintf(file, "collectors   %u threads, in %llu of the traces\n", workers->count,
                (unsigned long long)workers->traces);
    for (unsigned i = 0; workers && i < workers->count; i++) {
        const gc__worker_thread *thread = &workers->threads[i];
        fprintf(
            file,
            "  %-11u%llu objects, %.2f MiB copied, %llu pieces shared, %llu taken; %llu copies lost; waited %.3f ms, "
            "CPU %.3f ms\n",
            i, (unsigned long long)thread->objects, (double)thread->bytes / 1048576.0,
            (unsigned long long)thread->shared, (unsigned long long)thread->steals, (unsigned long long)thread->lost,
            (double)thread->asleep_ns / (double)GC__NS_PER_MS,
            (double)__atomic_load_n(&thread->cpu_ns, __ATOMIC_RELAXED) / (double)GC__NS_PER_MS);
        if (workers->seed)
            fprintf(file, "             %llu of %llu turns idle\n", (unsigned long long)thread->steps_asleep,
                    (unsigned long long)workers->steps);
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
    const double mib = 1048576.0, ms = (double)GC__NS_PER_MS;
    fprintf(file, "collections  gen0 %llu, gen1 %llu, gen2 %llu (%llu compacting); %llu moved objects\n",
            (unsigned long long)s.collections[0], (unsigned long long)s.collections[1],
            (unsigned long long)s.collections[2], (unsigned long long)s.collections_compacting,
            (unsigned long long)s.collections_moving);
    gc__print_pauses_line(&s, file);
    gc__print_phases(&s, file);
    fprintf(file, "allocated    %.2f MiB\n", (double)s.allocated_bytes / mib);
    fprintf(file, "promoted     %.2f MiB, of which moved %.2f MiB\n", (double)s.promoted_bytes / mib,
            (double)s.moved_bytes / mib);
    fprintf(file, "last         %.2f of %.2f MiB condemned survived\n", (double)s.survived_bytes / mib,
            (double)s.condemned_bytes / mib);
    fprintf(file, "live         %.2f MiB (gen0 %.2f, gen1 %.2f, gen2 %.2f; large objects %.2f)\n",
            (double)s.live_bytes / mib, (double)s.generation_bytes[0] / mib, (double)s.generation_bytes[1] / mib,
            (double)s.generation_bytes[2] / mib, (double)s.large_bytes / mib);
    fprintf(file, "regions      %zu of %zu KiB; used %.2f MiB, holes %.2f MiB\n", s.regions, GC_REGION_BYTES >> 10,
            (double)s.used_bytes / mib, (double)s.fragmentation_bytes / mib);
    fprintf(file, "committed    %.2f MiB, at most %.2f MiB; tables %.2f MiB; off-heap %.2f MiB\n",
            (double)s.committed_bytes / mib, (double)s.committed_bytes_peak / mib, (double)s.table_bytes / mib,
            (double)s.external_bytes / mib);
    if (s.stops)
        fprintf(file, "stops        %llu, %.1f us each; the slowest thread took %.1f us: %s\n",
                (unsigned long long)s.stops, (double)s.stop_total_ns / 1e3 / (double)s.stops,
                (double)s.stop_max_ns / 1e3, s.stop_slowest);
    if (s.concurrent_cycles)
        fprintf(file,
                "concurrent   %llu cycles, %llu finished, of which %llu too late; %.2f MiB marked in %.3f ms of the marker's; "
                "%llu objects waited for the last pause\n",
                (unsigned long long)s.concurrent_cycles, (unsigned long long)s.concurrent_finished,
                (unsigned long long)s.concurrent_lost, (double)s.concurrent_marked_bytes / mib,
                (double)s.concurrent_cpu_ns / ms, (unsigned long long)s.concurrent_waited);
    else if (heap->options.concurrent == GC_CONCURRENT_ON)
        fprintf(file, "concurrent   no cycle: one begins when a full collection is due and %zu MiB or more are old\n",
                GC__MARKING_WORTH >> 20);
    if (s.conservative_total_bytes)
        fprintf(
            file,
            "conservative %zu objects, %.2f MiB, at the last collection kept by conservative words alone; %.2f MiB in "
            "all collections\n",
            s.conservative_objects, (double)s.conservative_bytes / mib, (double)s.conservative_total_bytes / mib);
    fprintf(file, "nursery      %.2f MiB\n", (double)s.nursery_bytes / mib);
    gc__print_workers(heap, file);
}
