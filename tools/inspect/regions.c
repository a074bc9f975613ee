/* regions: a list of the heap's regions, and maps of them. */
#include "commands.h"
#include "memory.h"
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_WIDTH = 64, MAP_CELLS_MAX = 1 << 20 };

typedef struct region_list {
    gc_dac_region *regions;
    size_t count, capacity;
} region_list;

static bool add_region(void *context, const gc_dac_region *region) {
    region_list *list = context;
    list->regions = memory_grow(list->regions, list->count, &list->capacity, sizeof *region, "regions");
    list->regions[list->count++] = *region;
    return true;
}

static int by_base(const void *a, const void *b) {
    const gc_dac_region *x = a, *y = b;
    return (x->base > y->base) - (x->base < y->base);
}

static const char *kind_name(const gc_dac_region *region) {
    switch (region->kind) {
    case GC_DAC_FREE:
        return "free";
    case GC_DAC_SMALL:
        return "small";
    case GC_DAC_LARGE:
        return "large";
    default:
        return "quarantined";
    }
}

static char map_character(const gc_dac_region *region) {
    if (region->condemned) return '!';
    if (region->kind == GC_DAC_FREE) return '.';
    if (region->kind == GC_DAC_QUARANTINED) return 'q';
    if (region->kind == GC_DAC_LARGE) return 'L';
    return (char)('0' + (region->generation < 0 || region->generation > 2 ? 9 : region->generation));
}

/* The share that is in use; of old regions what the last trace found, of others what lies below `top`. */
static double fill(const gc_dac_region *region) {
    uint64_t size = region->end - region->base, used = region->top - region->base;
    if (region->kind == GC_DAC_FREE || !size) return 0;
    if (!region->linear && region->live_bytes) used = region->live_bytes;
    return used >= size ? 1 : (double)used / (double)size;
}

/* Runs of regions that have no gap: a row of the map begins anew after each gap. */
static void print_map(const region_list *list, uint64_t unit) {
    uint64_t expected = 0;
    unsigned width = 0;
    text("each character is %s bytes: 0, 1, 2 a generation, L and l a large object, . free, q quarantined, ! being "
         "collected\n",
         commas(unit));
    for (size_t i = 0; i < list->count; i++) {
        const gc_dac_region *region = &list->regions[i];
        uint64_t cells = (region->end - region->base + unit - 1) / unit;
        for (uint64_t cell = 0; cell < cells && cell < MAP_CELLS_MAX; cell++) {
            if (width == MAP_WIDTH || (cell == 0 && region->base != expected)) text(width ? "\n" : ""), width = 0;
            if (!width) text("%16s  ", hex(region->base + cell * unit));
            text("%c", cell && region->kind == GC_DAC_LARGE ? 'l' : map_character(region));
            width++;
        }
        expected = region->end;
    }
    text(width ? "\n" : "");
}

static const char *color(const gc_dac_region *region) {
    static const char *const generations[] = {"#8ecae6", "#ffb703", "#3a5a40"};
    if (region->condemned) return "#d62828";
    if (region->kind == GC_DAC_QUARANTINED) return "#9d4edd";
    return region->generation >= 0 && region->generation <= 2 ? generations[region->generation] : "#000000";
}

/* A square for each region, filled from below by what is in use. A large object is as wide as it has regions, up to a row. */
static void write_svg(const char *path, const region_list *list, uint64_t unit) {
    enum { CELL = 14, GAP = 2, COLUMNS = 64, TOP = 46 };
    FILE *file = fopen(path, "w");
    uint64_t cells = 0, row_count;
    if (!file) die("cannot write the map to %s: %s", path, strerror(errno));
    for (size_t i = 0; i < list->count; i++) cells += (list->regions[i].end - list->regions[i].base + unit - 1) / unit;
    if (cells > MAP_CELLS_MAX) cells = MAP_CELLS_MAX;
    row_count = (cells + COLUMNS - 1) / COLUMNS;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu64
            "\" font-family=\"sans-serif\" font-size=\"12\">\n",
            COLUMNS * (CELL + GAP) + 20, row_count * (CELL + GAP) + TOP + 10);
    fputs("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", file);
    fprintf(
        file,
        "<text x=\"10\" y=\"16\">%" PRIu64
        " regions: light blue generation 0, yellow 1, green 2, red being collected, violet quarantined</text>\n",
        cells);
    fprintf(file, "<text x=\"10\" y=\"34\">each square is %s bytes, filled as far as it is in use</text>\n",
            commas(unit));
    uint64_t cell = 0;
    for (size_t i = 0; i < list->count; i++) {
        const gc_dac_region *region = &list->regions[i];
        for (uint64_t at = region->base; at < region->end && cell < cells; at += unit, cell++) {
            uint64_t x = 10 + cell % COLUMNS * (CELL + GAP), y = TOP + cell / COLUMNS * (CELL + GAP);
            double height = CELL * (region->kind == GC_DAC_LARGE ? 1 : fill(region));
            fprintf(file, "<g><title>%s %s, generation %d, %.0f %% in use</title>", hex(at), kind_name(region),
                    region->generation, 100 * fill(region));
            fprintf(file, "<rect x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" width=\"%d\" height=\"%d\" fill=\"#eeeeee\"/>", x,
                    y, CELL, CELL);
            fprintf(file, "<rect x=\"%" PRIu64 "\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\"/></g>\n", x,
                    (double)y + CELL - height, CELL, height, color(region));
        }
    }
    fputs("</svg>\n", file);
    if (fclose(file)) die("cannot write the map to %s: %s", path, strerror(errno));
}

static bool take_unit(void *context, const gc_dac_collector *collector) {
    uint64_t *unit = context;
    if (collector->index == unit[1]) unit[0] = collector->region_bytes;
    return true;
}

static void print_list(const region_list *list) {
    static const column columns[] = {{"base", "base", 16},           {"bytes", "bytes", 14},
                                     {"kind", "kind", -11},          {"generation", "gen", 3},
                                     {"used", "below top", 14},      {"live", "live", 14},
                                     {"windows", "windows", 7},      {"linear", "linear", -6},
                                     {"condemned", "condemned", -9}, {0}};
    table_begin("regions", columns);
    for (size_t i = 0; i < list->count; i++) {
        const gc_dac_region *region = &list->regions[i];
        table_address(region->base);
        table_number(region->end - region->base);
        table_text(kind_name(region));
        table_number((uint64_t)region->generation);
        table_number(region->top - region->base);
        table_number(region->live_bytes);
        table_number(region->windows);
        table_bool(region->linear);
        table_bool(region->condemned);
        table_row_end();
    }
    table_end();
}

void command_regions(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    region_list list = {NULL, 0, 0};
    uint64_t unit[2] = {0, heap->collector};
    target_check(target, gc_dac_regions(target->dac, heap, add_region, &list));
    gc_dac_collectors(target->dac, take_unit, unit);
    if (list.count) qsort(list.regions, list.count, sizeof *list.regions, by_base);
    if (!unit[0]) unit[0] = 4 << 20;
    json_number("region_bytes", unit[0]);
    print_list(&list);
    if (list.count)
        text("\n"), print_map(&list, unit[0]);
    else
        text("no regions\n");
    if (options->svg) write_svg(options->svg, &list, unit[0]);
    free(list.regions);
}
