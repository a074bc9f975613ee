/* Reading stack maps: the facts, the slots, and which of them are live. Everything here works in constant memory, takes no
   lock, and reads no more than it needs: it may run in signal handlers. The project's docs/stackmaps.md describes the format
   bit by bit. */
#pragma once

#include "../api/stackmap.h"
#include "bits.h"

/* The first byte: the version, and the processor in its two top bits. */
#define GC__STACKMAP_PROCESSOR 0
#define GC__STACKMAP_FIRST_BYTE (GC_STACKMAP_VERSION | GC__STACKMAP_PROCESSOR << 6)
#define GC__STACKMAP_BYTES_MAX ((uint32_t)1 << 27)
#define GC__PRESERVED_REGISTERS 0xF028 /* rbx, rbp, r12 to r15 */
#define GC__STACK_POINTER 4
#define GC__FRAME_POINTER 5

/* The bases of the numbers of varying length. */
enum {
    GC__BASE_CODE = 4,   /* bytes of code */
    GC__BASE_POINTS = 2, /* the number of safe points */
    GC__BASE_SLOTS = 2,  /* the number of slots */
    GC__BASE_FEW = 1,    /* what is usually 0 or 1 */
    GC__BASE_MANY = 4,   /* rows of a table */
    GC__BASE_OFFSET = 5, /* of the first stack slot of a run, in words */
    GC__BASE_GAP = 1,    /* words between the stack slots of a run */
    GC__BASE_AREA = 3    /* the size of an area of the stack, in words */
};

/* Live sets are stored as changes to the set before, and after each GC__CHANGES_APART changes there is a whole set. */
#define GC__CHANGES_APART 32

typedef enum gc__live_sets { GC__SETS_DIRECT, GC__SETS_DISTINCT, GC__SETS_CHANGES } gc__live_sets;

/* Changes of slots from dead to live or back, each with the place at which it takes effect. */
typedef struct gc__changes {
    gc__ascending places;
    uint64_t slots, sets, end; /* positions of bits */
    uint32_t columns;          /* slots of a set */
    unsigned slot_bits;
} gc__changes;

/* A map that was opened: its header, and where everything is. */
typedef struct gc__stackmap {
    gc__bits bits;
    gc_stackmap_facts facts;
    bool malformed;         /* a number of the header was too large */
    uint32_t kept_count;    /* slots that a call preserves: they come first */
    uint32_t tracked_count; /* then those which are reported of the innermost frame only; then the untracked ones */
    gc__live_sets form;
    uint32_t distinct_count;
    gc__ascending points, ranges;       /* ranges: starts and ends in turn */
    uint64_t sets;                      /* live sets of the points, or numbers of distinct ones */
    uint64_t distinct;                  /* the distinct ones */
    gc__changes at_points, in_ranges;   /* at_points is valid only with GC__SETS_CHANGES */
    uint64_t unwind, slots, header_end; /* positions of the unwind rows, and of the slots; and where the header ends */
} gc__stackmap;

GC__INLINED gc__changes gc__changes_place(uint64_t at, uint32_t count, uint32_t max, uint32_t columns) {
    gc__changes changes;
    changes.places = gc__ascending_place(at, count, max);
    changes.columns = columns;
    changes.slot_bits = gc__bits_for(columns);
    changes.slots = changes.places.end;
    changes.sets = changes.slots + (uint64_t)count * changes.slot_bits;
    changes.end = changes.sets + (uint64_t)(count / GC__CHANGES_APART) * columns;
    return changes;
}

/* A number of rows: never more than there are bits, so that no position overflows. */
GC__INLINED uint32_t gc__stackmap_count(gc__bit_reader *reader, unsigned base) {
    uint32_t count = gc__bits_read_number(reader, base);
    if (GC__LIKELY(count <= reader->bits.bytes * 8)) return count;
    reader->malformed = true;
    return 0;
}

GC__INLINED uint32_t gc__stackmap_words(gc__bit_reader *reader) {
    uint32_t words = gc__bits_read_number(reader, GC__BASE_AREA);
    if (GC__LIKELY(words <= INT32_MAX / 8)) return words * 8;
    reader->malformed = true;
    return 0;
}

GC__INLINED int32_t gc__stackmap_signed_words(gc__bit_reader *reader, unsigned base) {
    int32_t words = gc__bits_read_signed(reader, base);
    if (GC__LIKELY(words >= INT32_MIN / 8 && words <= INT32_MAX / 8)) return words * 8;
    reader->malformed = true;
    return 0;
}

/* The bytes of the map, which follow its first byte, seven bits in each byte. 0: they are malformed. */
GC__FN uint32_t gc__stackmap_bytes(const uint8_t *map, uint64_t limit, uint32_t *length) {
    uint32_t bytes = 0;
    for (uint32_t i = 1; i < limit && i <= 5; i++) {
        bytes |= (uint32_t)(map[i] & 127) << 7 * (i - 1);
        *length = i + 1;
        if (map[i] < 128) return bytes <= GC__STACKMAP_BYTES_MAX && bytes > i ? bytes : 0;
    }
    return 0;
}

/* The facts of a method that is not plain: it has interruptible ranges, or special slots, or arguments on the stack. */
GC__FN void gc__stackmap_read_special(gc__stackmap *map, gc__bit_reader *reader, uint32_t *innermost_count) {
    gc_stackmap_facts *facts = &map->facts;
    facts->flags = (uint16_t)gc__bits_read(reader, 10);
    facts->returns[1] = (uint8_t)gc__bits_read(reader, 2);
    facts->outgoing_bytes = gc__stackmap_words(reader);
    facts->argument_bytes = gc__stackmap_words(reader);
    for (unsigned i = 0; i < 5 && facts->flags >= GC_METHOD_SECURITY_OBJECT << i; i++)
        if (facts->flags & GC_METHOD_SECURITY_OBJECT << i)
            facts->extra[i] = gc__stackmap_signed_words(reader, GC__BASE_OFFSET);
    if (facts->flags & GC_METHOD_EDIT_AND_CONTINUE) facts->extra[5] = (int32_t)gc__stackmap_words(reader);
    facts->range_count = gc__stackmap_count(reader, GC__BASE_FEW);
    if (facts->range_count) facts->change_count = gc__stackmap_count(reader, GC__BASE_MANY);
    *innermost_count = gc__stackmap_count(reader, GC__BASE_FEW);
    facts->untracked_count = gc__stackmap_count(reader, GC__BASE_FEW);
}

/* Where the live sets of the safe points are; returns where they end. */
GC__FN uint64_t gc__stackmap_place_sets(gc__stackmap *map, uint32_t rows) {
    uint32_t points = map->facts.point_count, slots = map->kept_count;
    map->sets = map->distinct = map->points.end;
    if (map->form == GC__SETS_CHANGES) {
        map->at_points = gc__changes_place(map->sets, rows, points - 1, slots);
        return map->at_points.end;
    }
    if (map->form == GC__SETS_DIRECT) return map->sets + (uint64_t)points * slots;
    map->distinct = map->sets + (uint64_t)points * gc__bits_for(rows);
    return map->distinct + (uint64_t)rows * slots;
}

/* Opens a map of which at least `limit` bytes may be read, or that has passed gc_stackmap_check, which needs no limit. */
GC__FN void gc__stackmap_open(gc__stackmap *map, const void *start, uint64_t limit) {
    uint32_t header = 0, innermost_count = 0, rows = 0;
    memset(&map->facts, 0, sizeof map->facts);
    map->facts.bytes = gc__stackmap_bytes((const uint8_t *)start, limit, &header);
    gc_stackmap_facts *facts = &map->facts;
    map->bits.start = (const uint8_t *)start;
    map->bits.bytes = facts->bytes;
    gc__bit_reader reader = gc__bits_read_from(&map->bits, (uint64_t)header * 8);
    facts->code_bytes = gc__bits_read_number(&reader, GC__BASE_CODE);
    bool special = gc__bits_read(&reader, 1), unwinds = gc__bits_read(&reader, 1);
    facts->returns[0] = (uint8_t)gc__bits_read(&reader, 2);
    if (special) gc__stackmap_read_special(map, &reader, &innermost_count);
    facts->point_count = gc__stackmap_count(&reader, GC__BASE_POINTS);
    map->kept_count = gc__stackmap_count(&reader, GC__BASE_SLOTS);
    map->tracked_count = map->kept_count + innermost_count;
    facts->slot_count = map->tracked_count + facts->untracked_count;
    map->form = GC__SETS_DIRECT;
    if (facts->point_count && map->kept_count && gc__bits_read(&reader, 1)) {
        map->form = gc__bits_read(&reader, 1) ? GC__SETS_CHANGES : GC__SETS_DISTINCT;
        rows = gc__stackmap_count(&reader, GC__BASE_MANY);
    }
    map->distinct_count = map->form == GC__SETS_DISTINCT ? rows : 0;
    uint32_t unwind_bits = 0;
    if (unwinds) {
        facts->prolog_bytes = gc__bits_read_number(&reader, GC__BASE_MANY);
        facts->unwind_count = gc__stackmap_count(&reader, GC__BASE_MANY);
        if (facts->unwind_count) unwind_bits = gc__stackmap_count(&reader, GC__BASE_OFFSET);
    }
    map->malformed = reader.malformed;
    map->header_end = reader.at;
    map->points = gc__ascending_place(reader.at, facts->point_count, facts->code_bytes);
    map->ranges = gc__ascending_place(gc__stackmap_place_sets(map, rows), facts->range_count * 2, facts->code_bytes);
    map->in_ranges = gc__changes_place(map->ranges.end, facts->change_count, facts->code_bytes, map->tracked_count);
    map->unwind = map->in_ranges.end;
    map->slots = map->unwind + unwind_bits;
}

GC_API gc_stackmap_facts gc_stackmap_read(const void *start) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    return map.facts;
}

/* Takes the slots of a map in turn. They are in runs of one place and equal flags, and no run crosses from the kept slots
   to those of the innermost frame or the untracked ones. */
typedef struct gc__slot_cursor {
    gc__bit_reader reader;
    uint32_t index, section_end, run_end;
    uint32_t sections[3]; /* where each ends */
    uint32_t registers;   /* those of the run that are still to come */
    uint64_t at; /* where the bits of the last slot begin: of a run's first one they include the run's header */
    gc_stackmap_slot slot; /* the last one */
    unsigned section;
} gc__slot_cursor;

GC__FN gc__slot_cursor gc__slots_begin(const gc__stackmap *map) {
    gc__slot_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.reader = gc__bits_read_from(&map->bits, map->slots);
    cursor.sections[0] = map->kept_count;
    cursor.sections[1] = map->tracked_count;
    cursor.sections[2] = map->facts.slot_count;
    cursor.section_end = map->kept_count;
    return cursor;
}

/* Which registers a mask of them has: in the innermost frame's section the scratch ones, otherwise those preserved. */
GC__FN uint32_t gc__slot_registers(unsigned section) {
    return section == 1 ? 0xFFFF & ~(uint32_t)GC__PRESERVED_REGISTERS & ~((uint32_t)1 << GC__STACK_POINTER)
                        : GC__PRESERVED_REGISTERS;
}

/* Moves the bits of `mask` to the places of the ones of `among`, in order. */
GC__FN uint32_t gc__bits_spread(uint32_t mask, uint32_t among) {
    uint32_t result = 0;
    for (; mask; mask >>= 1, among &= among - 1)
        if (mask & 1) result |= among & (0 - among);
    return result;
}

GC__FN void gc__slots_begin_run(gc__slot_cursor *cursor) {
    gc__bit_reader *reader = &cursor->reader;
    while (cursor->index == cursor->section_end && cursor->section < 2)
        cursor->section_end = cursor->sections[++cursor->section];
    uint32_t left = cursor->section_end - cursor->index;
    memset(&cursor->slot, 0, sizeof cursor->slot);
    cursor->slot.place = (uint8_t)gc__bits_read(reader, 2);
    cursor->slot.untracked = cursor->section == 2;
    if (gc__bits_read(reader, 1)) {
        uint32_t flags = gc__bits_read(reader, 3);
        cursor->slot.flags = (uint8_t)((flags & 3) | (flags & 4) << 1);
    }
    cursor->run_end = cursor->section_end;
    if (cursor->slot.place == GC_PLACE_REGISTER) {
        uint32_t among = gc__slot_registers(cursor->section);
        cursor->registers = gc__bits_spread(gc__bits_read(reader, gc__bits_count(among)), among);
        uint32_t count = gc__bits_count(cursor->registers);
        if (count < left) cursor->run_end = cursor->index + count;
        reader->malformed |= !count || count > left;
    } else {
        if (!gc__bits_read(reader, 1)) {
            uint32_t count = gc__bits_read_number(reader, GC__BASE_POINTS);
            if (count < left) cursor->run_end = cursor->index + count + 1;
            reader->malformed |= count >= left - 1;
        }
        cursor->slot.offset = gc__stackmap_signed_words(reader, GC__BASE_OFFSET);
    }
}

/* The next slot; false: there is none. */
GC__FN bool gc__slots_next(gc__slot_cursor *cursor) {
    if (cursor->index == cursor->sections[2]) return false;
    cursor->at = cursor->reader.at;
    if (cursor->index == cursor->run_end) {
        gc__slots_begin_run(cursor);
    } else if (cursor->slot.place != GC_PLACE_REGISTER) {
        uint32_t gap = gc__bits_read_number(&cursor->reader, GC__BASE_GAP);
        uint64_t offset = (uint64_t)(cursor->slot.offset + (int64_t)8 + (int64_t)gap * 8);
        cursor->reader.malformed |= (int64_t)offset > INT32_MAX;
        cursor->slot.offset = (int32_t)(uint32_t)offset;
    }
    if (cursor->slot.place == GC_PLACE_REGISTER) {
        cursor->slot.number = cursor->registers ? (uint8_t)__builtin_ctz(cursor->registers) : 0;
        cursor->registers &= cursor->registers - 1;
    }
    cursor->index++;
    return true;
}

GC_API gc_stackmap_slot gc_stackmap_slot_at(const void *start, uint32_t i) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    gc__slot_cursor cursor = gc__slots_begin(&map);
    while (cursor.index <= i && gc__slots_next(&cursor)) continue;
    return cursor.slot;
}

/* Word `word` of the set that changes first .. last - 1 make of an empty one. A whole set that is stored between replaces
   those before it. */
GC__FN uint64_t gc__changes_word(const gc__changes *changes, const gc__bits *bits, uint32_t first, uint32_t last,
                                 uint32_t word) {
    uint64_t set = 0, index = (uint64_t)word * 64;
    uint32_t whole = last / GC__CHANGES_APART;
    if (whole * GC__CHANGES_APART > first) {
        first = whole * GC__CHANGES_APART;
        uint64_t left = changes->columns - index;
        set = gc__bits_word(bits, changes->sets + (uint64_t)(whole - 1) * changes->columns + index,
                            left < 64 ? (unsigned)left : 64);
    }
    uint32_t width = changes->slot_bits, at_once = width ? GC__BITS_AT_ONCE / width : 32;
    while (first < last) {
        uint32_t count = last - first < at_once ? last - first : at_once;
        uint64_t numbers = gc__bits_load(bits, changes->slots + (uint64_t)first * width);
        for (first += count; count; count--, numbers >>= width) {
            uint64_t slot = (numbers & gc__bits_mask(width)) - index;
            set ^= (uint64_t)(slot < 64) << (slot & 63);
        }
    }
    return set;
}

/* A live set that was found. */
typedef struct gc__live_set {
    const gc__changes *changes;
    uint32_t first, last; /* of the changes; without those the set is at the bit `at` */
    uint64_t at;
    uint32_t columns; /* how many slots it says something about */
    bool untracked;
} gc__live_set;

/* Finds the interruptible range with the offset: the changes from its start up to there. */
GC__FN bool gc__stackmap_find_in_range(const gc__stackmap *map, uint32_t offset, uint32_t *first, uint32_t *last) {
    bool next;
    uint32_t ends = gc__ascending_below(&map->ranges, &map->bits, (uint64_t)offset + 1, &next);
    if (!(ends & 1)) return false;
    const gc__ascending *places = &map->in_ranges.places;
    *last = gc__ascending_below(places, &map->bits, (uint64_t)offset + 1, &next);
    *first = 0;
    if (ends > 1)
        *first = gc__ascending_below(places, &map->bits, gc__ascending_at(&map->ranges, &map->bits, ends - 1), &next);
    return true;
}

GC__FN void gc__stackmap_point_set(const gc__stackmap *map, uint32_t point, gc__live_set *set) {
    set->columns = map->kept_count;
    if (map->form == GC__SETS_CHANGES) {
        bool next;
        set->changes = &map->at_points;
        set->last = gc__ascending_below(&set->changes->places, &map->bits, (uint64_t)point + 1, &next);
    } else if (map->form == GC__SETS_DIRECT) {
        set->at = map->sets + (uint64_t)point * map->kept_count;
    } else {
        unsigned width = gc__bits_for(map->distinct_count);
        set->at = map->distinct + gc__bits_at(&map->bits, map->sets + (uint64_t)point * width, width) * map->kept_count;
    }
}

/* Finds the live set of the innermost frame. False: the thread may not be stopped there. */
GC__FN bool gc__stackmap_find_innermost(const gc__stackmap *map, uint32_t offset, gc_frame_kind kind, gc__live_set *set) {
    bool is_point;
    memset(set, 0, sizeof *set);
    set->untracked = true;
    if (kind == GC_FRAME_INTERRUPTED) {
        set->changes = &map->in_ranges;
        set->columns = map->tracked_count;
        return gc__stackmap_find_in_range(map, offset, &set->first, &set->last);
    }
    if (!offset) return false;
    uint32_t point = gc__ascending_below(&map->points, &map->bits, offset, &is_point);
    if (is_point) {
        gc__stackmap_point_set(map, point, set);
    } else {
        set->changes = &map->in_ranges;
        set->columns = map->kept_count;
        if (!gc__stackmap_find_in_range(map, offset - 1, &set->first, &set->last)) return false;
    }
    return true;
}

/* The same for a frame that has called another one, if its kind is GC_FRAME_CALLER. */
GC__FN bool gc__stackmap_find(const gc__stackmap *map, uint32_t offset, gc_frame_kind kind, gc__live_set *set) {
    bool found = gc__stackmap_find_innermost(map, offset, kind, set);
    bool nothing = kind == GC_FRAME_CALLER && map->facts.flags & GC_METHOD_REPORT_LEAF_ONLY;
    if (nothing) set->columns = 0, set->untracked = false;
    return found;
}

/* Word `word` of a live set. */
GC__FN uint64_t gc__live_word(const gc__stackmap *map, const gc__live_set *set, uint32_t word) {
    uint64_t index = (uint64_t)word * 64, live = 0;
    if (index < set->columns) {
        uint64_t left = set->columns - index;
        unsigned width = left < 64 ? (unsigned)left : 64;
        live = set->changes ? gc__changes_word(set->changes, &map->bits, set->first, set->last, word)
                            : gc__bits_word(&map->bits, set->at + index, width);
        if (width < 64) live &= gc__bits_mask(width);
    }
    if (set->untracked && index + 64 > map->tracked_count && index < map->facts.slot_count) {
        uint64_t above = map->facts.slot_count - index;
        uint64_t mask = above < 64 ? gc__bits_mask((unsigned)above) : UINT64_MAX;
        live |= index < map->tracked_count ? mask & ~gc__bits_mask((unsigned)(map->tracked_count - index)) : mask;
    }
    return live;
}

GC_API bool gc_stackmap_live(const void *start, uint32_t offset, gc_frame_kind kind, uint64_t *live) {
    gc__stackmap map;
    gc__live_set set;
    gc__stackmap_open(&map, start, UINT64_MAX);
    if (!gc__stackmap_find(&map, offset, kind, &set)) return false;
    for (uint32_t word = 0; (uint64_t)word * 64 < map.facts.slot_count; word++)
        live[word] = gc__live_word(&map, &set, word);
    return true;
}

GC_API bool gc_stackmap_is_interruptible(const void *start, uint32_t offset) {
    gc__stackmap map;
    bool next;
    gc__stackmap_open(&map, start, UINT64_MAX);
    return gc__ascending_below(&map.ranges, &map.bits, (uint64_t)offset + 1, &next) & 1;
}

/* Takes the live slots of a frame in turn:
       gc__live_cursor live;
       if (!gc__live_begin(&live, map, offset, kind)) ... the thread may not be stopped there
       while (gc__live_next(&live)) ... live.slots.slot */
typedef struct gc__live_cursor {
    gc__stackmap map;
    gc__live_set set;
    gc__slot_cursor slots;
    uint64_t word;
} gc__live_cursor;

GC__FN void gc__live_open(gc__live_cursor *cursor, const void *start) {
    gc__stackmap_open(&cursor->map, start, UINT64_MAX);
    cursor->slots = gc__slots_begin(&cursor->map);
}

GC__FN bool gc__live_begin(gc__live_cursor *cursor, const void *start, uint32_t offset, gc_frame_kind kind) {
    gc__live_open(cursor, start);
    return gc__stackmap_find(&cursor->map, offset, kind, &cursor->set);
}

GC__FN bool gc__live_next(gc__live_cursor *cursor) {
    for (;;) {
        uint32_t index = cursor->slots.index, count = cursor->map.facts.slot_count;
        if (!(index & 63)) cursor->word = gc__live_word(&cursor->map, &cursor->set, index / 64);
        /* The slots after the last live one need not be read. */
        if (!(cursor->word >> (index & 63)) && (index | 63) >= count - 1) return false;
        if (!gc__slots_next(&cursor->slots)) return false;
        if (cursor->word >> (index & 63) & 1) return true;
    }
}
