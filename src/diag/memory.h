/* Where the memory of a heap goes: sums, and a picture of its regions. */
#pragma once

#include "../base/words.h"
#include "../threads/stop.h"

#define GC__MAP_WIDTH 64
#define GC__MAP_CELLS ((size_t)32 * GC__MAP_WIDTH)
#define GC__BAR_WIDTH 40

/* Bytes of the memory that a heap holds; the first six sum up to that. */
typedef struct gc__memory {
    size_t live, holes, nursery, nursery_rest, large_waste, free;
    size_t tables, metadata, external, held;
} gc__memory;

GC__COLD void gc__memory_add(gc__memory *memory, const gc__region *region) {
    size_t bytes = gc__region_end(region) - region->base;
    if (region->kind == GC__LARGE) {
        memory->live += region->top - region->base;
        memory->large_waste += gc__region_end(region) - region->top - region->spare;
    } else if (region->linear && !region->formatted) {
        memory->nursery += region->top - region->base;
        memory->nursery_rest += gc__region_end(region) - region->top;
    } else {
        size_t taken = region->linear ? region->taken_bytes : 0;
        memory->live += region->live_bytes;
        memory->nursery += taken;
        memory->holes += bytes - gc__min(bytes, region->live_bytes + taken);
    }
}

GC__COLD void gc__memory_sum(const gc_heap *heap, gc__memory *memory) {
    memset(memory, 0, sizeof *memory);
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) gc__memory_add(memory, region);
    memory->free = gc__free_bytes(heap);
    memory->tables = gc__table_bytes(heap->held_regions, heap->large_regions);
    memory->metadata = __atomic_load_n(&heap->metadata_bytes, __ATOMIC_RELAXED);
    memory->external = gc__external_bytes(heap);
    memory->held = gc__held_bytes(heap);
}

GC__COLD char gc__memory_symbol(const gc__region *region) {
    if (region->kind == GC__FREE) return '.';
    if (region->kind == GC__LARGE || region->kind == GC__LARGE_REST) return 'L';
    if (region->linear && !region->formatted) return 'n';
    size_t tenths = region->live_bytes * 10 / GC_REGION_BYTES;
    return (char)('0' + gc__min(tenths, 9));
}

/* Fills the picture with the heap's regions, by address. Returns how many there are, which may be more than it has
   room for. */
GC__COLD size_t gc__memory_map(const gc_heap *heap, char *map) {
    size_t count = 0, used = gc__regions_used();
    for (size_t i = 0; i < used; i++) {
        const gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, heap) || region->kind == GC__QUARANTINED) continue;
        if (count < GC__MAP_CELLS) map[count] = gc__memory_symbol(region);
        count++;
    }
    return count;
}

GC__COLD void gc__memory_line(FILE *file, const char *name, size_t bytes, size_t all, const char *meaning) {
    static const char bar[] = "########################################";
    double length = all ? (double)bytes / (double)all * GC__BAR_WIDTH + 0.5 : 0;
    fprintf(file, "%-14s %10.2f MiB  %-*.*s  %s\n", name, (double)bytes / 1048576.0, GC__BAR_WIDTH,
            length < GC__BAR_WIDTH ? (int)length : GC__BAR_WIDTH, bar, meaning);
}

GC_API __attribute__((cold)) void gc_heap_print_memory(gc_heap *heap, FILE *file) {
    GC__API_SCOPE("gc_heap_print_memory");
    if (gc__is_null(heap, "gc_heap_print_memory", "heap") || gc__is_null(file, "gc_heap_print_memory", "file")) return;
    if (!GC_DIAGNOSTICS) {
        gc__print_nothing(file);
        return;
    }
    char map[GC__MAP_CELLS];
    gc__memory m;
    gc__world_stop(heap);
    gc__heap_flush(heap);
    gc__memory_sum(heap, &m);
    size_t regions = gc__memory_map(heap, map), limit = gc__limit_told(heap);
    gc__world_resume(heap);
    size_t all = m.held + m.tables + m.metadata + m.external;
    gc__memory_line(file, "live", m.live, all, "objects that the last collections left, large ones included");
    gc__memory_line(file, "holes", m.holes, all, "between them");
    gc__memory_line(file, "nursery", m.nursery, all, "allocated since the last collection");
    gc__memory_line(file, "nursery, rest", m.nursery_rest, all, "not allocated yet");
    gc__memory_line(file, "large, waste", m.large_waste, all, "ends of large objects' last pages, and what is kept beyond");
    gc__memory_line(file, "free", m.free, all, "regions");
    gc__memory_line(file, "tables", m.tables, all, "mark bits, cards, regions");
    gc__memory_line(file, "beside", m.metadata, all, "handles, finalizers, the collector's lists");
    gc__memory_line(file, "off-heap", m.external, all, "gc_object_add_external, gc_heap_add_external");
    gc__memory_line(file, "all", all, all, limit ? "" : "no limit");
    if (limit) gc__memory_line(file, "limit", limit, all, "heap_bytes_max in force");
    fprintf(file, "regions of %zu KiB: . free, n nursery, L large, 0 to 9 tenths that live\n", GC_REGION_BYTES >> 10);
    for (size_t i = 0; i < gc__min(regions, GC__MAP_CELLS); i += GC__MAP_WIDTH)
        fprintf(file, "%.*s\n", (int)gc__min(regions - i, GC__MAP_WIDTH), map + i);
    if (regions > GC__MAP_CELLS) fprintf(file, "and %zu more\n", regions - GC__MAP_CELLS);
}
