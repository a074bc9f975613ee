/* Writing stack maps. */
#pragma once

#include "../api/stackmap.h"
#include "bits.h"
#include "decode.h"
#include "prepare.h"
#include "unwind.h"

/* The live sets of the safe points, in the form that takes the fewest bits. */
typedef struct gc__encoded_sets {
    gc__live_sets form;
    uint32_t rows;           /* distinct sets, or changes */
    uint32_t *numbers;       /* for each point, that of its distinct set */
    uint32_t *firsts;        /* for each distinct set, the first point that has it */
    gc__change_list changes; /* between one point and the next, from an empty set on */
} gc__encoded_sets;

GC__FN const uint64_t *gc__encode_set(const gc__encoder *encoder, uint32_t point) {
    return encoder->sets + (size_t)point * encoder->set_words;
}

/* Numbers the distinct sets, by a table of hashes. */
GC__FN bool gc__encode_distinct(gc__encoder *encoder, gc__encoded_sets *sets) {
    uint32_t points = encoder->facts.point_count, size = 2;
    while (size < points * (uint64_t)2 && size < (uint32_t)1 << 31) size *= 2;
    sets->numbers = (uint32_t *)gc__scratch_take(&encoder->scratch, points, sizeof *sets->numbers);
    sets->firsts = (uint32_t *)gc__scratch_take(&encoder->scratch, points, sizeof *sets->firsts);
    uint32_t *table = (uint32_t *)gc__scratch_take(&encoder->scratch, size, sizeof *table);
    if (!sets->numbers || !sets->firsts || !table) return false;
    for (uint32_t point = 0; point < points; point++) {
        const uint64_t *set = gc__encode_set(encoder, point);
        uint64_t hash = 0;
        for (uint32_t word = 0; word < encoder->set_words; word++)
            hash = (hash ^ set[word]) * 0x9E3779B97F4A7C15, hash ^= hash >> 29;
        uint32_t at = (uint32_t)hash & (size - 1);
        while (table[at] &&
               memcmp(gc__encode_set(encoder, sets->firsts[table[at] - 1]), set, (size_t)encoder->set_words * 8) != 0)
            at = (at + 1) & (size - 1);
        if (!table[at]) {
            sets->firsts[sets->rows++] = point;
            table[at] = sets->rows;
        }
        sets->numbers[point] = table[at] - 1;
    }
    return true;
}

/* The changes from one point to the next: counts them, and stores them if the list has room. */
GC__FN uint32_t gc__encode_changes(const gc__encoder *encoder, gc__change_list *list) {
    uint32_t count = 0;
    for (uint32_t point = 0; point < encoder->facts.point_count; point++) {
        const uint64_t *set = gc__encode_set(encoder, point);
        for (uint32_t word = 0; word < encoder->set_words; word++) {
            uint64_t bits = set[word] ^ (point ? gc__encode_set(encoder, point - 1)[word] : 0);
            for (; bits; bits &= bits - 1, count += count < UINT32_MAX) {
                if (!list->places) continue;
                list->places[count] = point;
                list->slots[count] = word * 64 + (unsigned)__builtin_ctzll(bits);
            }
        }
    }
    return count;
}

GC__FN uint64_t gc__number_bits(uint32_t value, unsigned base) {
    gc__bit_writer counter = {NULL, 0};
    gc__bits_write_number(&counter, value, base);
    return counter.at;
}

GC__FN bool gc__encode_choose(gc__encoder *encoder, gc__encoded_sets *sets) {
    uint32_t points = encoder->facts.point_count, slots = encoder->sections[0];
    memset(sets, 0, sizeof *sets);
    if (!points || !slots) return true;
    if (!gc__encode_distinct(encoder, sets)) return false;
    uint32_t changes = gc__encode_changes(encoder, &sets->changes);
    uint64_t direct = (uint64_t)points * slots;
    uint64_t distinct = 1 + gc__number_bits(sets->rows, GC__BASE_MANY) + (uint64_t)points * gc__bits_for(sets->rows) +
                        (uint64_t)sets->rows * slots;
    uint64_t changing =
        1 + gc__number_bits(changes, GC__BASE_MANY) + gc__changes_place(0, changes, points - 1, slots).end;
    if (direct <= distinct && direct <= changing) return true;
    if (distinct <= changing) {
        sets->form = GC__SETS_DISTINCT;
        return true;
    }
    sets->form = GC__SETS_CHANGES;
    sets->rows = sets->changes.count = changes;
    sets->changes.places = (uint32_t *)gc__scratch_take(&encoder->scratch, changes, sizeof(uint32_t));
    sets->changes.slots = (uint32_t *)gc__scratch_take(&encoder->scratch, changes, sizeof(uint32_t));
    if (!sets->changes.places || !sets->changes.slots) return false;
    gc__encode_changes(encoder, &sets->changes);
    return true;
}

GC__FN void gc__write_set(gc__bit_writer *writer, const uint64_t *set, uint32_t slots) {
    for (uint32_t i = 0; i < slots; i += 32) {
        unsigned width = slots - i < 32 ? (unsigned)(slots - i) : 32;
        gc__bits_write(writer, set[i >> 6] >> (i & 63) & gc__bits_mask(width), width);
    }
}

/* Writes changes: their places, their slots, and a whole set after each GC__CHANGES_APART. In ranges the set is empty at the
   start of each; a reader takes no whole set from before that, so this need not be known here, except for what it holds. */
GC__FN void gc__write_changes(gc__bit_writer *writer, gc__encoder *encoder, const gc__change_list *list, uint32_t max,
                              uint32_t slots) {
    gc__changes changes = gc__changes_place(writer->at, list->count, max, slots);
    gc__ascending_write(writer, list->places, list->count, max);
    for (uint32_t i = 0; i < list->count; i++) gc__bits_write(writer, list->slots[i], changes.slot_bits);
    const gc_stackmap_range *range = list == &encoder->in_ranges ? encoder->method->ranges : NULL;
    memset(encoder->live, 0, ((size_t)slots + 63) / 64 * 8);
    for (uint32_t i = 0; i < list->count && writer->start; i++) {
        if (range && list->places[i] >= range->end) {
            while (list->places[i] >= range->end) range++;
            memset(encoder->live, 0, ((size_t)slots + 63) / 64 * 8);
        }
        encoder->live[list->slots[i] >> 6] ^= (uint64_t)1 << (list->slots[i] & 63);
        if ((i + 1) % GC__CHANGES_APART == 0) gc__write_set(writer, encoder->live, slots);
    }
    writer->at = changes.end;
}

GC__FN void gc__write_sets(gc__bit_writer *writer, gc__encoder *encoder, const gc__encoded_sets *sets) {
    uint32_t points = encoder->facts.point_count, slots = encoder->sections[0];
    if (sets->form == GC__SETS_CHANGES) {
        gc__write_changes(writer, encoder, &sets->changes, points - 1, slots);
    } else if (sets->form == GC__SETS_DIRECT) {
        for (uint32_t i = 0; i < points; i++) gc__write_set(writer, gc__encode_set(encoder, i), slots);
    } else {
        for (uint32_t i = 0; i < points; i++) gc__bits_write(writer, sets->numbers[i], gc__bits_for(sets->rows));
        for (uint32_t i = 0; i < sets->rows; i++)
            gc__write_set(writer, gc__encode_set(encoder, sets->firsts[i]), slots);
    }
}

GC__FN void gc__write_ranges(gc__bit_writer *writer, const gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    gc__ascending list = gc__ascending_place(writer->at, method->range_count * 2, method->code_bytes);
    for (uint32_t i = 0; i < list.count; i++)
        gc__ascending_put(writer, &list, i, i & 1 ? method->ranges[i / 2].end : method->ranges[i / 2].start);
    writer->at = list.end;
}

GC__FN void gc__write_register(gc__bit_writer *writer, uint8_t number) {
    uint32_t index = 0;
    while (index < 7 && gc__unwind_registers[index] != number) index++;
    gc__bits_write(writer, index, 3);
    if (index == 7) gc__bits_write(writer, number, 4);
}

GC__FN void gc__write_unwind(gc__bit_writer *writer, const gc_stackmap_unwind *rows, uint32_t count) {
    gc_stackmap_unwind before = {0, GC_UNWIND_ALLOCATE, 0, 0};
    for (uint32_t i = 0; i < count; before = rows[i++]) {
        uint8_t op = rows[i].op;
        gc__bits_write(writer, op < GC_UNWIND_SAVE ? op : (uint32_t)GC__UNWIND_CODE_OTHER, 2);
        if (op >= GC_UNWIND_SAVE) gc__bits_write(writer, op - GC_UNWIND_SAVE, 3);
        if (gc__unwind_has_number(op)) gc__write_register(writer, rows[i].number);
        if (gc__unwind_has_bytes(op)) gc__bits_write_signed(writer, rows[i].bytes / 8, GC__BASE_AREA);
        uint32_t step = rows[i].offset - before.offset;
        bool usual = step == gc__unwind_usual_bytes(&before, &rows[i]);
        gc__bits_write(writer, usual, 1);
        if (!usual) gc__bits_write_number(writer, step, GC__BASE_MANY);
    }
}

/* The reverse of gc__bits_spread. */
GC__FN uint32_t gc__bits_gather(uint32_t bits, uint32_t among) {
    uint32_t result = 0;
    for (unsigned i = 0; among; among &= among - 1, i++)
        if (bits & among & (0 - among)) result |= (uint32_t)1 << i;
    return result;
}

GC__FN const gc_stackmap_slot *gc__encode_slot(const gc__encoder *encoder, uint32_t i) {
    return &encoder->method->slots[encoder->order[i]];
}

/* Writes the run of slots that begins at `i`, and returns where it ends, at `end` at the latest. */
GC__FN uint32_t gc__write_run(gc__bit_writer *writer, const gc__encoder *encoder, uint32_t i, uint32_t end,
                              unsigned section) {
    const gc_stackmap_slot *slot = gc__encode_slot(encoder, i);
    uint32_t last = i + 1, registers = 0;
    while (last < end && gc__encode_slot(encoder, last)->place == slot->place &&
           gc__encode_slot(encoder, last)->flags == slot->flags)
        last++;
    gc__bits_write(writer, slot->place, 2);
    gc__bits_write(writer, slot->flags != 0, 1);
    if (slot->flags) gc__bits_write(writer, (slot->flags & 3u) | (slot->flags & GC_SLOT_VALUE) >> 1, 3);
    if (slot->place == GC_PLACE_REGISTER) {
        uint32_t among = gc__slot_registers(section);
        for (uint32_t k = i; k < last; k++) registers |= (uint32_t)1 << gc__encode_slot(encoder, k)->number;
        gc__bits_write(writer, gc__bits_gather(registers, among), gc__bits_count(among));
        return last;
    }
    gc__bits_write(writer, last == end, 1);
    if (last < end) gc__bits_write_number(writer, last - i - 1, GC__BASE_POINTS);
    gc__bits_write_signed(writer, slot->offset / 8, GC__BASE_OFFSET);
    for (uint32_t k = i + 1; k < last; k++) {
        int64_t gap = (int64_t)gc__encode_slot(encoder, k)->offset - gc__encode_slot(encoder, k - 1)->offset;
        gc__bits_write_number(writer, (uint32_t)(gap / 8 - 1), GC__BASE_GAP);
    }
    return last;
}

GC__FN void gc__write_slots(gc__bit_writer *writer, const gc__encoder *encoder) {
    uint32_t i = 0, end = 0;
    for (unsigned section = 0; section < 3; section++) {
        end += encoder->sections[section];
        while (i < end) i = gc__write_run(writer, encoder, i, end, section);
    }
}

GC__FN bool gc__encode_is_special(const gc__encoder *encoder) {
    const gc_stackmap_facts *facts = &encoder->facts;
    return facts->flags || facts->returns[1] || facts->outgoing_bytes || facts->argument_bytes || facts->range_count ||
           encoder->sections[1] || encoder->sections[2];
}

GC__FN void gc__write_special(gc__bit_writer *writer, const gc__encoder *encoder) {
    const gc_stackmap_facts *facts = &encoder->facts;
    gc__bits_write(writer, facts->flags, 10);
    gc__bits_write(writer, facts->returns[1], 2);
    gc__bits_write_number(writer, facts->outgoing_bytes / 8, GC__BASE_AREA);
    gc__bits_write_number(writer, facts->argument_bytes / 8, GC__BASE_AREA);
    for (unsigned i = 0; i < 5; i++)
        if (facts->flags & GC_METHOD_SECURITY_OBJECT << i)
            gc__bits_write_signed(writer, facts->extra[i] / 8, GC__BASE_OFFSET);
    if (facts->flags & GC_METHOD_EDIT_AND_CONTINUE)
        gc__bits_write_number(writer, (uint32_t)facts->extra[5] / 8, GC__BASE_AREA);
    gc__bits_write_number(writer, facts->range_count, GC__BASE_FEW);
    if (facts->range_count) gc__bits_write_number(writer, facts->change_count, GC__BASE_MANY);
    gc__bits_write_number(writer, encoder->sections[1], GC__BASE_FEW);
    gc__bits_write_number(writer, encoder->sections[2], GC__BASE_FEW);
}

/* All after the bytes of the map; in the order in which gc__stackmap_open reads it. */
GC__FN void gc__write_map(gc__bit_writer *writer, gc__encoder *encoder, const gc__encoded_sets *sets) {
    const gc_stackmap_facts *facts = &encoder->facts;
    bool special = gc__encode_is_special(encoder), unwinds = facts->unwind_count || facts->prolog_bytes;
    gc__bit_writer unwind = {NULL, 0};
    gc__write_unwind(&unwind, encoder->method->unwind, facts->unwind_count);
    gc__bits_write_number(writer, facts->code_bytes, GC__BASE_CODE);
    gc__bits_write(writer, special, 1);
    gc__bits_write(writer, unwinds, 1);
    gc__bits_write(writer, facts->returns[0], 2);
    if (special) gc__write_special(writer, encoder);
    gc__bits_write_number(writer, facts->point_count, GC__BASE_POINTS);
    gc__bits_write_number(writer, encoder->sections[0], GC__BASE_SLOTS);
    if (facts->point_count && encoder->sections[0]) {
        gc__bits_write(writer, sets->form != GC__SETS_DIRECT, 1);
        if (sets->form != GC__SETS_DIRECT) {
            gc__bits_write(writer, sets->form == GC__SETS_CHANGES, 1);
            gc__bits_write_number(writer, sets->rows, GC__BASE_MANY);
        }
    }
    if (unwinds) {
        gc__bits_write_number(writer, facts->prolog_bytes, GC__BASE_MANY);
        gc__bits_write_number(writer, facts->unwind_count, GC__BASE_MANY);
        if (facts->unwind_count) gc__bits_write_number(writer, (uint32_t)unwind.at, GC__BASE_OFFSET);
    }
    gc__ascending_write(writer, encoder->points, facts->point_count, facts->code_bytes);
    gc__write_sets(writer, encoder, sets);
    gc__write_ranges(writer, encoder);
    gc__write_changes(writer, encoder, &encoder->in_ranges, facts->code_bytes,
                      encoder->sections[0] + encoder->sections[1]);
    gc__write_unwind(writer, encoder->method->unwind, facts->unwind_count);
    gc__write_slots(writer, encoder);
}

/* The first byte, and the bytes of the map. Returns how many bytes they take themselves. */
GC__FN uint32_t gc__write_size(uint8_t *map, uint64_t bytes) {
    uint32_t length = 1;
    if (map) map[0] = GC__STACKMAP_FIRST_BYTE;
    do {
        if (map) map[length] = (uint8_t)((bytes & 127) | (bytes > 127 ? 128 : 0));
        length++;
    } while (bytes >>= 7);
    return length;
}

GC__FN size_t gc__encode(gc__encoder *encoder, uint8_t *map, size_t room) {
    gc__encoded_sets sets;
    if (!gc__prepare(encoder) || !gc__encode_choose(encoder, &sets)) return 0;
    gc__bit_writer writer = {NULL, 0};
    gc__write_map(&writer, encoder, &sets);
    uint64_t body = (writer.at + 7) / 8, bytes = body + 2;
    while (body + gc__write_size(NULL, bytes) != bytes) bytes = body + gc__write_size(NULL, bytes);
    if (bytes > GC__STACKMAP_BYTES_MAX) {
        gc__fail(GC_ERROR_FORMAT, "gc_stackmap_encode: the map would have more than %u bytes", GC__STACKMAP_BYTES_MAX);
        return 0;
    }
    if (bytes > room) return bytes;
    memset(map, 0, bytes);
    writer.start = map;
    writer.at = (uint64_t)gc__write_size(map, bytes) * 8;
    gc__write_map(&writer, encoder, &sets);
    return bytes;
}

GC_API size_t gc_stackmap_encode(const gc_stackmap_method *method, void *map, size_t room) {
    if (gc__is_null(method, "gc_stackmap_encode", "method") || (room && gc__is_null(map, "gc_stackmap_encode", "map")))
        return 0;
    gc__encoder encoder;
    memset(&encoder, 0, offsetof(gc__encoder, scratch));
    memset(&encoder.scratch, 0, offsetof(gc__scratch, first));
    memset(&encoder.frame, 0, sizeof encoder - offsetof(gc__encoder, frame));
    encoder.method = method;
    size_t bytes = gc__encode(&encoder, (uint8_t *)map, room);
    gc__scratch_free(&encoder.scratch);
    return bytes;
}
