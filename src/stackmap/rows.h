/* What a stack map says, row by row in the order of offsets, with the bits of each row. Nothing here takes memory. */
#pragma once

#include "../api/stackmap.h"
#include "bits.h"
#include "decode.h"
#include "unwind.h"

/* Rows of one offset come in this order. */
typedef enum gc__row_kind {
    GC__ROW_CALL,      /* a safe point */
    GC__ROW_UNWIND,    /* `unwind` */
    GC__ROW_DEAD,      /* slot number `slot` dies */
    GC__ROW_ENDED,     /* the same, since the range ends: no change says so */
    GC__ROW_RANGE_END, /* of a fully interruptible range */
    GC__ROW_RANGE,     /* one starts */
    GC__ROW_LIVE,      /* slot number `slot` becomes live */
    GC__ROW_NONE
} gc__row_kind;

/* What a row alone has of the map. What it shares with others, such as the high bits of offsets, is not in it. */
typedef struct gc__row_bits {
    uint8_t bytes[8];
    unsigned count; /* of bits; more than 64: the rest is left out */
} gc__row_bits;

typedef struct gc__row {
    gc__row_kind kind;
    uint32_t offset, slot;
    gc_stackmap_unwind unwind;
    gc__row_bits bits;
} gc__row;

/* A cursor for each kind of rows. */
typedef struct gc__rows {
    gc__stackmap map;
    const void *start;
    gc__unwind_cursor unwind;
    bool has_unwind;
    uint32_t point, range_end, change; /* the next ones; range_end counts starts and ends */
    uint32_t range_change;             /* the first change of the range */
    uint32_t dying;                    /* at the end of a range: the next slot that may die */
} gc__rows;

GC__FN void gc__row_add_bits(gc__row *row, const gc__bits *bits, uint64_t at, uint64_t count) {
    for (uint64_t i = 0; i < count; i++, row->bits.count++)
        if (row->bits.count < 64)
            row->bits.bytes[row->bits.count / 8] |= (uint8_t)(gc__bits_at(bits, at + i, 1) << row->bits.count % 8);
}

GC__FN void gc__row_add_low_bits(gc__row *row, const gc__bits *bits, const gc__ascending *list, uint32_t i) {
    gc__row_add_bits(row, bits, list->lows + (uint64_t)i * list->low_bits, list->low_bits);
}

GC__FN gc__rows gc__rows_begin(const void *map) {
    gc__rows rows;
    memset(&rows, 0, sizeof rows);
    rows.start = map;
    gc__stackmap_open(&rows.map, map, UINT64_MAX);
    rows.unwind = gc__unwind_begin(&rows.map);
    rows.has_unwind = gc__unwind_next(&rows.unwind);
    return rows;
}

/* Offers a row, which is taken unless `row` comes before it. */
GC__FN void gc__row_offer(gc__row *row, gc__row_kind kind, uint32_t offset, uint32_t slot) {
    if (row->kind != GC__ROW_NONE && (offset > row->offset || (offset == row->offset && kind >= row->kind))) return;
    row->kind = kind;
    row->offset = offset;
    row->slot = slot;
}

/* Whether the slot is live after the changes of the range up to number `last`. */
GC__FN bool gc__rows_is_live(const gc__rows *rows, uint32_t last, uint32_t slot) {
    uint64_t word = gc__changes_word(&rows->map.in_ranges, &rows->map.bits, rows->range_change, last, slot / 64);
    return word >> (slot & 63) & 1;
}

/* The next change, or what takes the place of changes at the end of a range: that each live slot dies. */
GC__FN void gc__rows_offer_change(gc__rows *rows, gc__row *row) {
    const gc__stackmap *map = &rows->map;
    if (!(rows->range_end & 1)) return;
    uint32_t end = gc__ascending_at(&map->ranges, &map->bits, rows->range_end);
    const gc__changes *changes = &map->in_ranges;
    if (rows->change < map->facts.change_count) {
        uint32_t offset = gc__ascending_at(&changes->places, &map->bits, rows->change);
        uint32_t slot = (uint32_t)gc__bits_at(&map->bits, changes->slots + (uint64_t)rows->change * changes->slot_bits,
                                              changes->slot_bits);
        if (offset < end) {
            bool was_live = gc__rows_is_live(rows, rows->change, slot);
            gc__row_offer(row, was_live ? GC__ROW_DEAD : GC__ROW_LIVE, offset, slot);
            return;
        }
    }
    while (rows->dying < map->tracked_count && !gc__rows_is_live(rows, rows->change, rows->dying)) rows->dying++;
    if (rows->dying < map->tracked_count) gc__row_offer(row, GC__ROW_ENDED, end, rows->dying);
}

/* The bits of the set of live slots. */
GC__FN void gc__row_add_set(gc__row *row, const gc__stackmap *map, uint32_t point) {
    if (map->form == GC__SETS_DIRECT) {
        gc__row_add_bits(row, &map->bits, map->sets + (uint64_t)point * map->kept_count, map->kept_count);
    } else if (map->form == GC__SETS_DISTINCT) {
        unsigned width = gc__bits_for(map->distinct_count);
        gc__row_add_bits(row, &map->bits, map->sets + (uint64_t)point * width, width);
    } else {
        const gc__changes *changes = &map->at_points;
        bool next;
        uint32_t i = gc__ascending_below(&changes->places, &map->bits, point, &next);
        for (; i < changes->places.count && gc__ascending_at(&changes->places, &map->bits, i) == point; i++)
            gc__row_add_bits(row, &map->bits, changes->slots + (uint64_t)i * changes->slot_bits, changes->slot_bits);
    }
}

/* Moves the cursor behind the row, and adds the row's bits. */
GC__FN void gc__rows_take(gc__rows *rows, gc__row *row) {
    const gc__stackmap *map = &rows->map;
    const gc__changes *changes = &map->in_ranges;
    bool is_there;
    switch (row->kind) {
    case GC__ROW_CALL:
        gc__row_add_low_bits(row, &map->bits, &map->points, rows->point);
        gc__row_add_set(row, map, rows->point++);
        break;
    case GC__ROW_UNWIND:
        row->unwind = rows->unwind.row;
        gc__row_add_bits(row, &map->bits, rows->unwind.at, rows->unwind.reader.at - rows->unwind.at);
        rows->has_unwind = gc__unwind_next(&rows->unwind);
        break;
    case GC__ROW_RANGE:
        rows->change = gc__ascending_below(&changes->places, &map->bits, row->offset, &is_there);
        rows->range_change = rows->change;
        rows->dying = 0;
        gc__row_add_low_bits(row, &map->bits, &map->ranges, rows->range_end++);
        break;
    case GC__ROW_RANGE_END:
        gc__row_add_low_bits(row, &map->bits, &map->ranges, rows->range_end++);
        break;
    case GC__ROW_ENDED:
        rows->dying = row->slot + 1;
        break;
    case GC__ROW_DEAD:
    case GC__ROW_LIVE:
        gc__row_add_low_bits(row, &map->bits, &changes->places, rows->change);
        gc__row_add_bits(row, &map->bits, changes->slots + (uint64_t)rows->change * changes->slot_bits,
                         changes->slot_bits);
        rows->change++;
        break;
    case GC__ROW_NONE:
        break;
    }
}

/* The next row; false: there is none. */
GC__FN bool gc__rows_next(gc__rows *rows, gc__row *row) {
    const gc__stackmap *map = &rows->map;
    memset(row, 0, sizeof *row);
    row->kind = GC__ROW_NONE;
    if (rows->point < map->facts.point_count)
        gc__row_offer(row, GC__ROW_CALL, gc__ascending_at(&map->points, &map->bits, rows->point), 0);
    if (rows->has_unwind) gc__row_offer(row, GC__ROW_UNWIND, rows->unwind.row.offset, 0);
    if (rows->range_end < map->facts.range_count * 2)
        gc__row_offer(row, rows->range_end & 1 ? GC__ROW_RANGE_END : GC__ROW_RANGE,
                      gc__ascending_at(&map->ranges, &map->bits, rows->range_end), 0);
    gc__rows_offer_change(rows, row);
    gc__rows_take(rows, row);
    return row->kind != GC__ROW_NONE;
}
