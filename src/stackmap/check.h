/* Whether a stack map is whole. It may come from anywhere, so nothing is taken for granted; and it takes constant memory. */
#pragma once

#include "../api/stackmap.h"
#include "bits.h"
#include "decode.h"
#include "rules.h"
#include "unwind.h"

#include <stdarg.h>

#define GC__CHECK_WORDS 64

typedef struct gc__map_check {
    gc__stackmap map;
    gc__unwind_state frame;
} gc__map_check;

static __thread char gc__map_fault[256];

GC__FN const char *gc__malformed(const char *format, ...) __attribute__((GC__PRINTF(1, 2), cold));
GC__FN const char *gc__malformed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(gc__map_fault, sizeof gc__map_fault, format, arguments);
    va_end(arguments);
    return gc__map_fault;
}

GC__FN const char *gc__check_header(gc__map_check *check, const uint8_t *start, size_t bytes) {
    if (!start) return "the map is NULL";
    if (bytes < 3) return gc__malformed("%zu bytes are no stack map", bytes);
    if ((start[0] & 63) != GC_STACKMAP_VERSION)
        return gc__malformed("the map is of version %u, and this gc.h reads version %u", start[0] & 63u,
                             GC_STACKMAP_VERSION);
    if (start[0] >> 6 != GC__STACKMAP_PROCESSOR)
        return gc__malformed("the map is for processor %u, and this gc.h reads maps for processor %u", start[0] >> 6,
                             GC__STACKMAP_PROCESSOR);
    uint32_t header, said = gc__stackmap_bytes(start, bytes, &header);
    if (!said) return "bit 8: the number of bytes of the map is malformed";
    if (said != bytes) return gc__malformed("bit 8: the map has %u bytes, but %zu are given", said, bytes);
    gc__stackmap_open(&check->map, start, bytes);
    const gc__stackmap *map = &check->map;
    const char *fault = gc__facts_fault(&map->facts);
    if (map->malformed) fault = "a number is too large";
    if (map->header_end > bytes * 8) fault = "it is incomplete";
    if (fault) return gc__malformed("the header, up to bit %llu: %s", (unsigned long long)map->header_end, fault);
    if (map->slots > bytes * 8)
        return gc__malformed("bit %zu: the tables reach to bit %llu, and the map ends", bytes * 8,
                             (unsigned long long)map->slots);
    return NULL;
}

/* Whether a list has as many numbers as it should, all of them up to its maximum, and ascending. */
GC__FN const char *gc__check_list(const gc__map_check *check, const gc__ascending *list, bool strictly,
                                  const char *what) {
    const gc__bits *bits = &check->map.bits;
    uint64_t ones = 0, at = list->highs;
    for (uint64_t i = list->highs; i < list->end; i += 32)
        ones += gc__bits_count(gc__bits_at(bits, i, list->end - i < 32 ? (unsigned)(list->end - i) : 32));
    if (ones != list->count)
        return gc__malformed("%s, bit %llu: there are %u, but %llu bits are set", what, (unsigned long long)list->highs,
                             list->count, (unsigned long long)ones);
    for (uint32_t i = 0, before = 0, number; i < list->count; i++, before = number) {
        number = gc__ascending_next(list, bits, i, &at);
        const char *fault = number > list->max                ? "is too large"
                            : i && number < before + strictly ? "comes after"
                                                              : NULL;
        if (fault)
            return gc__malformed("%s, bit %llu: number %u, %u, %s %u", what, (unsigned long long)at - 1, i, number,
                                 fault, number > list->max ? list->max : before);
    }
    return NULL;
}

/* Goes through the ranges while offsets ascend. */
typedef struct gc__range_cursor {
    const gc__stackmap *map;
    uint32_t index, start, end; /* number `index` - 1 */
    uint64_t at;
} gc__range_cursor;

GC__FN gc__range_cursor gc__ranges_begin(const gc__stackmap *map) {
    gc__range_cursor cursor = {map, 0, 0, 0, map->ranges.highs};
    return cursor;
}

GC__FN bool gc__ranges_next(gc__range_cursor *cursor) {
    const gc__stackmap *map = cursor->map;
    if (cursor->index == map->facts.range_count) return false;
    cursor->start = gc__ascending_next(&map->ranges, &map->bits, cursor->index * 2, &cursor->at);
    cursor->end = gc__ascending_next(&map->ranges, &map->bits, cursor->index * 2 + 1, &cursor->at);
    cursor->index++;
    return true;
}

/* Whether a range has the offset, which is not below those that were asked for before. */
GC__FN bool gc__ranges_have(gc__range_cursor *cursor, uint32_t offset) {
    while (cursor->end <= offset)
        if (!gc__ranges_next(cursor)) return false;
    return cursor->start <= offset;
}

GC__FN const char *gc__check_ranges(const gc__map_check *check) {
    const char *fault = gc__check_list(check, &check->map.ranges, false, "interruptible ranges");
    gc__range_cursor ranges = gc__ranges_begin(&check->map);
    while (!fault && gc__ranges_next(&ranges))
        if (ranges.start == ranges.end)
            fault = gc__malformed("interruptible range %u, bit %llu: it is empty", ranges.index - 1,
                                  (unsigned long long)ranges.at - 1);
    return fault;
}

GC__FN const char *gc__check_points(const gc__map_check *check) {
    const gc__stackmap *map = &check->map;
    const char *fault = gc__check_list(check, &map->points, true, "safe points");
    gc__range_cursor ranges = gc__ranges_begin(map);
    uint64_t at = map->points.highs;
    for (uint32_t i = 0; !fault && i < map->facts.point_count; i++) {
        uint32_t offset = gc__ascending_next(&map->points, &map->bits, i, &at);
        const char *why = !offset                                ? "it is at the start of the code"
                          : gc__ranges_have(&ranges, offset - 1) ? "it is in an interruptible range"
                                                                 : NULL;
        if (why) fault = gc__malformed("safe point %u, bit %llu: %s", i, (unsigned long long)at - 1, why);
    }
    if (fault || map->form != GC__SETS_DISTINCT) return fault;
    unsigned width = gc__bits_for(map->distinct_count);
    for (uint32_t i = 0; i < map->facts.point_count; i++)
        if (gc__bits_at(&map->bits, map->sets + (uint64_t)i * width, width) >= map->distinct_count)
            return gc__malformed("safe point %u, bit %llu: there are only %u live sets", i,
                                 (unsigned long long)(map->sets + (uint64_t)i * width), map->distinct_count);
    return NULL;
}

/* Whether the whole sets are what the changes before them make, for GC__CHECK_WORDS words of a set from `word` on. With
   `ranges`, the set is empty at the start of each range; NULL: it never becomes empty. */
GC__FN const char *gc__check_sets(const gc__stackmap *map, const gc__changes *changes, uint32_t word,
                                  gc__range_cursor *ranges) {
    uint64_t set[GC__CHECK_WORDS] = {0}, at = changes->places.highs, index = (uint64_t)word * 64;
    for (uint32_t i = 0; i < changes->places.count; i++) {
        uint32_t place = gc__ascending_next(&changes->places, &map->bits, i, &at);
        uint64_t slot_at = changes->slots + (uint64_t)i * changes->slot_bits;
        uint64_t slot = gc__bits_at(&map->bits, slot_at, changes->slot_bits);
        if (slot >= changes->columns)
            return gc__malformed("change %u, bit %llu: there is no slot %llu", i, (unsigned long long)slot_at,
                                 (unsigned long long)slot);
        if (ranges && (!ranges->index || place >= ranges->end)) {
            memset(set, 0, sizeof set);
            if (!gc__ranges_have(ranges, place))
                return gc__malformed("change %u, bit %llu: it is in no interruptible range", i,
                                     (unsigned long long)at - 1);
        }
        if (slot - index < GC__CHECK_WORDS * 64) set[(slot - index) >> 6] ^= (uint64_t)1 << (slot & 63);
        if ((i + 1) % GC__CHANGES_APART) continue;
        uint64_t whole = changes->sets + (uint64_t)(i / GC__CHANGES_APART) * changes->columns;
        for (uint64_t k = index; k < changes->columns && k - index < GC__CHECK_WORDS * 64; k += 64) {
            unsigned width = changes->columns - k < 64 ? (unsigned)(changes->columns - k) : 64;
            if (gc__bits_word(&map->bits, whole + k, width) != set[(k - index) >> 6])
                return gc__malformed("bit %llu: the set differs from what the %u changes before it make",
                                     (unsigned long long)(whole + k), i + 1);
        }
    }
    return NULL;
}

GC__FN const char *gc__check_changes(const gc__map_check *check, const gc__changes *changes, bool in_ranges,
                                     const char *what) {
    const char *fault = gc__check_list(check, &changes->places, false, what);
    for (uint32_t word = 0; !fault && (!word || (uint64_t)word * 64 < changes->columns); word += GC__CHECK_WORDS) {
        gc__range_cursor ranges = gc__ranges_begin(&check->map);
        fault = gc__check_sets(&check->map, changes, word, in_ranges ? &ranges : NULL);
    }
    return fault;
}

GC__FN const char *gc__check_unwind(gc__map_check *check) {
    const gc_stackmap_facts *facts = &check->map.facts;
    check->frame = gc__unwind_start(facts->prolog_bytes, facts->flags);
    gc__unwind_cursor rows = gc__unwind_begin(&check->map);
    while (gc__unwind_next(&rows)) {
        const char *fault = rows.reader.malformed ? "a number is too large" : gc__unwind_row_fault(&rows.row);
        if (!fault && rows.row.offset > facts->code_bytes) fault = "its offset is outside of the code";
        if (!fault && rows.reader.at > check->map.slots) fault = "it reaches beyond the rows";
        if (!fault) fault = gc__unwind_step(&check->frame, &rows.row);
        if (fault)
            return gc__malformed("unwind row %u, bit %llu: %s", facts->unwind_count - rows.left - 1,
                                 (unsigned long long)rows.at, fault);
    }
    if (rows.reader.at != check->map.slots)
        return gc__malformed("bit %llu: the unwind rows end, but not their bits", (unsigned long long)rows.reader.at);
    if (facts->outgoing_bytes > (uint32_t)check->frame.depth_max - 8)
        return "the header: outgoing_bytes are more than the frame has";
    const char *fault = gc__unwind_end_fault(&check->frame);
    return fault ? gc__malformed("the header: %s", fault) : NULL;
}

GC__FN const char *gc__check_slots(const gc__map_check *check) {
    const gc__stackmap *map = &check->map;
    gc__slot_cursor cursor = gc__slots_begin(map);
    uint64_t end = (uint64_t)map->facts.bytes * 8;
    for (uint64_t before = 0; gc__slots_next(&cursor);) {
        const char *fault = cursor.reader.malformed  ? "its run is malformed"
                            : cursor.reader.at > end ? "it is incomplete"
                                                     : NULL;
        if (!fault) fault = gc__slot_fault(&cursor.slot, &check->frame, &map->facts);
        if (!fault && gc__slot_section(&cursor.slot, &map->facts) != cursor.section)
            fault = "it belongs in another section";
        uint64_t rank = fault ? 0 : gc__slot_rank(&cursor.slot, cursor.section) + 1;
        if (!fault && rank <= before) fault = "it is not in order";
        if (fault)
            return gc__malformed("slot %u, bit %llu: %s", cursor.index - 1, (unsigned long long)cursor.at, fault);
        before = rank;
    }
    if (cursor.reader.at > end) return gc__malformed("bit %llu: the map is incomplete", (unsigned long long)end);
    if (end - cursor.reader.at >= 8 || gc__bits_at(&map->bits, cursor.reader.at, (unsigned)(end - cursor.reader.at)))
        return gc__malformed("bit %llu: something follows the slots", (unsigned long long)cursor.reader.at);
    return NULL;
}

GC_API const char *gc_stackmap_check(const void *start, size_t bytes) {
    gc__map_check check;
    const char *fault = gc__check_header(&check, (const uint8_t *)start, bytes);
    if (!fault) fault = gc__check_ranges(&check);
    if (!fault) fault = gc__check_points(&check);
    if (!fault) fault = gc__check_changes(&check, &check.map.in_ranges, true, "changes in ranges");
    if (!fault && check.map.form == GC__SETS_CHANGES)
        fault = gc__check_changes(&check, &check.map.at_points, false, "changes at safe points");
    if (!fault) fault = gc__check_unwind(&check);
    return fault ? fault : gc__check_slots(&check);
}
