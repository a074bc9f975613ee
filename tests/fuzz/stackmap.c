/* Stack maps from anywhere: gc_stackmap_check ends, reads nothing outside of the map, and says at which bit it is malformed. A
   map that it accepts is read in bounds; the ways to read it agree; and its description can be encoded again, which makes a map
   that says the same.

   The input is taken once as it is; and once behind a first byte and a size that are right, to get further. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#define CHECK(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

enum { SLOTS = 200, POINTS = 400, RANGES = 100, CHANGES = 600, ROWS = 400, OFFSETS = 64 };

static bool is_same(const gc_stackmap_slot *a, const gc_stackmap_slot *b) {
    return a->place == b->place && a->number == b->number && a->flags == b->flags && a->untracked == b->untracked &&
           a->offset == b->offset;
}

static void read_slots(const uint8_t *map, const gc_stackmap_facts *facts) {
    gc__stackmap opened;
    gc__stackmap_open(&opened, map, UINT64_MAX);
    gc__slot_cursor slots = gc__slots_begin(&opened);
    uint32_t count = 0;
    for (; gc__slots_next(&slots); count++) {
        if (count >= SLOTS && count % 97) continue;
        gc_stackmap_slot slot = gc_stackmap_slot_at(map, count);
        CHECK(is_same(&slot, &slots.slot));
        CHECK(slot.untracked == (count >= facts->slot_count - facts->untracked_count));
    }
    CHECK(count == facts->slot_count);
}

/* Returns whether there is a live set. It has `words` words, and no more are written. */
static bool read_live(const uint8_t *map, const gc_stackmap_facts *facts, uint32_t offset, gc_frame_kind kind,
                      uint64_t *live) {
    size_t words = (facts->slot_count + 63) / 64;
    memset(live, 0, words * 8);
    bool found = gc_stackmap_live(map, offset, kind, live);
    gc__live_cursor cursor;
    CHECK(gc__live_begin(&cursor, map, offset, kind) == found);
    if (kind == GC_FRAME_INTERRUPTED) CHECK(gc_stackmap_is_interruptible(map, offset) == found);
    if (!found) return false;
    bool silent = kind == GC_FRAME_CALLER && facts->flags & GC_METHOD_REPORT_LEAF_ONLY;
    if (facts->slot_count % 64) CHECK(live[words - 1] >> facts->slot_count % 64 == 0);
    for (uint32_t i = facts->slot_count - facts->untracked_count; i < facts->slot_count; i++)
        CHECK((live[i / 64] >> i % 64 & 1) == !silent);
    uint32_t next = 0;
    while (gc__live_next(&cursor)) {
        for (; next + 1 < cursor.slots.index; next++) CHECK(!(live[next / 64] >> next % 64 & 1));
        CHECK(next + 1 == cursor.slots.index && live[next / 64] >> next % 64 & 1);
        next++;
    }
    for (; next < facts->slot_count; next++) CHECK(!(live[next / 64] >> next % 64 & 1));
    return true;
}

static void read_layout(const uint8_t *map, const gc_stackmap_facts *facts, uint32_t offset, gc_frame_kind kind) {
    gc__frame_layout layout;
    bool inside = kind == GC_FRAME_CALLER ? offset && offset <= facts->code_bytes : offset < facts->code_bytes;
    CHECK(gc__stackmap_layout(map, offset, kind, &layout) == inside);
    bool dynamic = facts->flags & GC_METHOD_DYNAMIC_STACK;
    if (!dynamic || layout.by_frame) CHECK(layout.cfa >= 8 && layout.cfa <= GC__FRAME_BYTES_MAX && layout.cfa % 8 == 0);
    for (int i = 0; i < GC_CODE_REGISTERS; i++) {
        CHECK(layout.saved[i] <= 0 && layout.saved[i] != -8 && layout.saved[i] % 8 == 0);
        if (!layout.by_frame) CHECK(layout.saved[i] >= -layout.cfa);
        for (int k = 0; k < i; k++) CHECK(!layout.saved[i] || layout.saved[i] != layout.saved[k]);
    }
    CHECK(!layout.by_frame || layout.saved[GC__FRAME_POINTER]);
    CHECK(!layout.saved[GC__STACK_POINTER]);
}

static void read_offset(const uint8_t *map, const gc_stackmap_facts *facts, uint32_t offset) {
    size_t words = (facts->slot_count + 63) / 64;
    uint64_t *interrupted = (uint64_t *)malloc(words * 8 + 1), *caller = (uint64_t *)malloc(words * 8 + 1);
    CHECK(interrupted && caller);
    bool stoppable = read_live(map, facts, offset, GC_FRAME_INTERRUPTED, interrupted);
    bool returns = offset < UINT32_MAX && read_live(map, facts, offset + 1, GC_FRAME_CALLER, caller);
    /* A frame in a range that has called reports some of what it would report if it were interrupted there. */
    if (stoppable && returns)
        for (size_t i = 0; i < words; i++) CHECK(!(caller[i] & ~interrupted[i]));
    CHECK(!stoppable || returns || offset == UINT32_MAX);
    free(interrupted), free(caller);
    read_layout(map, facts, offset, GC_FRAME_INTERRUPTED);
    read_layout(map, facts, offset, GC_FRAME_CALLER);
}

/* The rows, in order; what a dump shows. */
static void read_rows(const uint8_t *map, const gc_stackmap_facts *facts) {
    gc__rows rows = gc__rows_begin(map);
    gc__row row;
    uint32_t points = 0, unwinds = 0, changes = 0, ends = 0;
    for (uint32_t before = 0; gc__rows_next(&rows, &row); before = row.offset) {
        CHECK(row.offset >= before && row.offset <= facts->code_bytes);
        points += row.kind == GC__ROW_CALL, unwinds += row.kind == GC__ROW_UNWIND;
        changes += row.kind == GC__ROW_LIVE || row.kind == GC__ROW_DEAD, ends += row.kind == GC__ROW_RANGE_END;
    }
    CHECK(points == facts->point_count && unwinds == facts->unwind_count && changes == facts->change_count &&
          ends == facts->range_count);
}

/* The description of a map. */
typedef struct description {
    gc_stackmap_method method;
    gc_stackmap_slot slots[SLOTS];
    gc_stackmap_point points[POINTS];
    uint64_t sets[POINTS][(SLOTS + 63) / 64];
    gc_stackmap_range ranges[RANGES];
    gc_stackmap_change changes[CHANGES];
    gc_stackmap_unwind rows[ROWS];
} description;

static void describe_code(description *d, const gc__stackmap *map) {
    gc_stackmap_method *m = &d->method;
    for (uint32_t i = 0; i < m->point_count; i++) {
        d->points[i].offset = gc__ascending_at(&map->points, &map->bits, i);
        d->points[i].live = d->sets[i];
        gc__live_set set;
        memset(&set, 0, sizeof set);
        gc__stackmap_point_set(map, i, &set);
        for (uint32_t word = 0; word * 64 < map->kept_count; word++) d->sets[i][word] = gc__live_word(map, &set, word);
    }
    for (uint32_t i = 0; i < m->range_count; i++) {
        d->ranges[i].start = gc__ascending_at(&map->ranges, &map->bits, 2 * i);
        d->ranges[i].end = gc__ascending_at(&map->ranges, &map->bits, 2 * i + 1);
    }
    bool live[SLOTS] = {false};
    const gc__changes *changes = &map->in_ranges;
    for (uint32_t i = 0, range = 0; i < m->change_count; i++) {
        uint32_t offset = gc__ascending_at(&changes->places, &map->bits, i);
        uint32_t slot =
            (uint32_t)gc__bits_at(&map->bits, changes->slots + (uint64_t)i * changes->slot_bits, changes->slot_bits);
        while (d->ranges[range].end <= offset) range++, memset(live, 0, sizeof live);
        live[slot] = !live[slot];
        gc_stackmap_change change = {offset, slot, live[slot]};
        d->changes[i] = change;
    }
}

static bool describe(description *d, const uint8_t *start) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    const gc_stackmap_facts *f = &map.facts;
    if (f->slot_count > SLOTS || f->point_count > POINTS || f->range_count > RANGES || f->change_count > CHANGES ||
        f->unwind_count > ROWS)
        return false;
    memset(d, 0, sizeof *d);
    gc_stackmap_method *m = &d->method;
    m->code_bytes = f->code_bytes, m->prolog_bytes = f->prolog_bytes, m->outgoing_bytes = f->outgoing_bytes,
    m->argument_bytes = f->argument_bytes;
    m->flags = f->flags, m->returns[0] = f->returns[0], m->returns[1] = f->returns[1];
    memcpy(m->extra, f->extra, sizeof m->extra);
    m->slots = d->slots, m->slot_count = f->slot_count, m->points = d->points, m->point_count = f->point_count,
    m->ranges = d->ranges;
    m->range_count = f->range_count, m->changes = d->changes, m->change_count = f->change_count, m->unwind = d->rows,
    m->unwind_count = f->unwind_count;
    for (uint32_t i = 0; i < f->slot_count; i++) d->slots[i] = gc_stackmap_slot_at(start, i);
    describe_code(d, &map);
    gc__unwind_cursor rows = gc__unwind_begin(&map);
    for (uint32_t i = 0; gc__unwind_next(&rows); i++) d->rows[i] = rows.row;
    return true;
}

static void compare(const uint8_t *a, const uint8_t *b, uint32_t offset, gc_frame_kind kind) {
    gc__live_cursor x, y;
    gc__frame_layout layout_x, layout_y;
    CHECK(gc__live_begin(&x, a, offset, kind) == gc__live_begin(&y, b, offset, kind));
    if (gc__live_begin(&x, a, offset, kind)) {
        while (gc__live_next(&x)) CHECK(gc__live_next(&y) && is_same(&x.slots.slot, &y.slots.slot));
        CHECK(!gc__live_next(&y));
    }
    CHECK(gc__stackmap_layout(a, offset, kind, &layout_x) == gc__stackmap_layout(b, offset, kind, &layout_y));
    CHECK(layout_x.by_frame == layout_y.by_frame && layout_x.cfa == layout_y.cfa &&
          memcmp(layout_x.saved, layout_y.saved, sizeof layout_x.saved) == 0);
}

static void encode_again(const uint8_t *map) {
    static description d;
    if (!describe(&d, map)) return;
    size_t bytes = gc_stackmap_encode(&d.method, NULL, 0);
    /* An untracked slot at the place of another one is the only thing that a check does not see, for it has no memory. */
    if (!bytes) {
        CHECK(strstr(gc_last_message(), "are one place, and untracked"));
        return;
    }
    uint8_t *again = (uint8_t *)malloc(bytes);
    CHECK(again && gc_stackmap_encode(&d.method, again, bytes) == bytes);
    CHECK(!gc_stackmap_check(again, bytes));
    uint32_t step = d.method.code_bytes / OFFSETS + 1;
    for (uint64_t offset = 0; offset <= (uint64_t)d.method.code_bytes + 1; offset += step)
        compare(map, again, (uint32_t)offset, GC_FRAME_CALLER),
            compare(map, again, (uint32_t)offset, GC_FRAME_INTERRUPTED);
    for (uint32_t i = 0; i < d.method.point_count; i++) compare(map, again, d.points[i].offset, GC_FRAME_CALLER);
    for (uint32_t i = 0; i < d.method.change_count; i++) compare(map, again, d.changes[i].offset, GC_FRAME_INTERRUPTED);
    free(again);
}

static void read_map(const uint8_t *map, size_t size) {
    const char *fault = gc_stackmap_check(map, size);
    if (fault) {
        const char *at = strstr(fault, "bit ");
        CHECK(at ? strtoull(at + 4, NULL, 10) <= size * 8 + 512
                 : strstr(fault, "stack map") || strstr(fault, "version") || strstr(fault, "processor") ||
                       strstr(fault, "header"));
        return;
    }
    gc_stackmap_facts facts = gc_stackmap_read(map);
    CHECK(facts.bytes == size);
    read_slots(map, &facts);
    uint32_t step = facts.code_bytes / OFFSETS + 1;
    for (uint64_t offset = 0; offset <= (uint64_t)facts.code_bytes + 1 && offset <= UINT32_MAX; offset += step)
        read_offset(map, &facts, (uint32_t)offset);
    read_offset(map, &facts, UINT32_MAX);
    gc__stackmap opened;
    gc__stackmap_open(&opened, map, UINT64_MAX);
    for (uint32_t i = 0; i < facts.point_count; i += facts.point_count / 16 + 1) {
        uint32_t offset = gc__ascending_at(&opened.points, &opened.bits, i);
        read_offset(map, &facts, offset - 1);
        CHECK(gc__stackmap_find(&opened, offset, GC_FRAME_CALLER, &(gc__live_set){0}));
    }
    for (uint32_t i = 0; i < facts.range_count * 2; i += facts.range_count / 8 + 1) {
        uint32_t offset = gc__ascending_at(&opened.ranges, &opened.bits, i);
        read_offset(map, &facts, offset);
        if (!(i & 1))
            CHECK(gc_stackmap_is_interruptible(map, offset) &&
                  gc_stackmap_is_interruptible(map, gc__ascending_at(&opened.ranges, &opened.bits, i + 1) - 1));
    }
    if ((uint64_t)facts.slot_count * (facts.point_count + facts.change_count) < 100000) read_rows(map, &facts);
    encode_again(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_map(data, size);
    size_t bytes = size + 2;
    while (size + gc__write_size(NULL, bytes) != bytes) bytes = size + gc__write_size(NULL, bytes);
    uint8_t *map = (uint8_t *)malloc(bytes);
    CHECK(map);
    if (size) memcpy(map + gc__write_size(map, bytes), data, size);
    if (size) read_map(map, bytes);
    free(map);
    return 0;
}
