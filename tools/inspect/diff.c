/* diff: which types have grown between two targets. Types are matched by their names. */
#include "commands.h"
#include "memory.h"
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct growth {
    const char *name;
    uint64_t objects[2], bytes[2];
} growth;

typedef struct growth_list {
    growth *types;
    size_t count, capacity;
} growth_list;

static void add(growth_list *list, inspected *target, unsigned side) {
    for (size_t i = 0; i < target->types_count; i++) {
        list->types = memory_grow(list->types, list->count, &list->capacity, sizeof *list->types, "types");
        growth *type = &list->types[list->count++];
        *type = (growth){.name = target->types[i]->name};
        type->objects[side] = target->types[i]->objects;
        type->bytes[side] = target->types[i]->bytes;
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const growth *)a)->name, ((const growth *)b)->name);
}

static void unite(growth_list *list) {
    size_t kept = 0;
    if (list->count) qsort(list->types, list->count, sizeof *list->types, by_name);
    for (size_t i = 0; i < list->count; i++) {
        growth *type = &list->types[i], *last = kept ? &list->types[kept - 1] : NULL;
        if (!last || strcmp(last->name, type->name) != 0) {
            list->types[kept++] = *type;
            continue;
        }
        for (unsigned side = 0; side < 2; side++)
            last->objects[side] += type->objects[side], last->bytes[side] += type->bytes[side];
    }
    list->count = kept;
}

static int by_growth(const void *a, const void *b) {
    const growth *x = a, *y = b;
    int64_t grown_x = (int64_t)(x->bytes[1] - x->bytes[0]), grown_y = (int64_t)(y->bytes[1] - y->bytes[0]);
    return grown_x != grown_y ? grown_x < grown_y ? 1 : -1 : strcmp(x->name, y->name);
}

static const char *difference(uint64_t before, uint64_t after) {
    static char buffers[2][40];
    static unsigned next;
    char *buffer = buffers[next++ % 2];
    snprintf(buffer, sizeof buffers[0], "%c%s",
             after > before   ? '+'
             : after < before ? '-'
                              : ' ',
             commas(after > before ? after - before : before - after));
    return buffer;
}

static void print_growth(const growth *type) {
    json_begin(NULL, '{');
    json_text("type", type->name);
    json_number("objects_before", type->objects[0]);
    json_number("objects_after", type->objects[1]);
    json_signed("objects_grown", (int64_t)(type->objects[1] - type->objects[0]));
    json_number("bytes_before", type->bytes[0]);
    json_number("bytes_after", type->bytes[1]);
    json_signed("bytes_grown", (int64_t)(type->bytes[1] - type->bytes[0]));
    json_end();
    text("%16s  %14s  %16s  %s\n", difference(type->bytes[0], type->bytes[1]),
         difference(type->objects[0], type->objects[1]), commas(type->bytes[1]), clean(type->name));
}

static uint64_t count_heaps(inspected *target, growth_list *list, unsigned side, const command_options *options) {
    uint64_t objects = 0;
    for (size_t i = 0; i < target->heaps_count; i++) {
        if (options->heap >= 0 && (size_t)options->heap != i) continue;
        objects += count_types(target, &target->heaps[i], options->generation);
        add(list, target, side);
    }
    return objects;
}

void command_diff(inspected *before, inspected *after, const command_options *options) {
    growth_list list = {NULL, 0, 0};
    uint64_t objects_before = count_heaps(before, &list, 0, options);
    uint64_t objects_after = count_heaps(after, &list, 1, options);
    unite(&list);
    if (list.count) qsort(list.types, list.count, sizeof *list.types, by_growth);
    json_number("objects_before", objects_before);
    json_number("objects_after", objects_after);
    json_begin("types", '[');
    if (objects_before | objects_after)
        text("%16s  %14s  %16s  type\n", "bytes grown", "objects grown", "bytes after");
    else
        text("no objects, before or after\n");
    for (size_t i = 0; i < list.count && i < options->limit; i++)
        if (list.types[i].objects[0] | list.types[i].objects[1]) print_growth(&list.types[i]);
    json_end();
    free(list.types);
}
