/* Random methods for stack maps, and what is true of them: computed straight from the description, uncompressed. */
#pragma once

#include "gc_stackmap.h"

#include "../tap.h"

enum { SLOTS_MAX = 200, POINTS_MAX = 600, RANGES_MAX = 40, CHANGES_MAX = 900, ROWS_MAX = 300, CODE_MAX = 6000 };
enum { WORDS = (SLOTS_MAX + 63) / 64 };

typedef struct set {
    uint64_t words[WORDS];
} set;

/* What the compiler's code looks like. */
typedef enum shape { SMALL, MEDIUM, LARGE, INTERRUPTIBLE, INTERRUPTIBLE_LARGE, ANYTHING, SHAPES } shape;

typedef struct model {
    uint64_t random; /* the state of the source of numbers */
    gc_stackmap_method method;
    gc_stackmap_slot slots[SLOTS_MAX];
    gc_stackmap_point points[POINTS_MAX];
    set sets[POINTS_MAX];
    gc_stackmap_range ranges[RANGES_MAX];
    gc_stackmap_change changes[CHANGES_MAX];
    gc_stackmap_unwind rows[ROWS_MAX];
    int32_t frame_bytes; /* of the frame after the prolog, with the return address */
    int32_t frame_cfa;   /* CFA - rbp; 0: no frame pointer */
    set kept;            /* the slots that are reported of callers */
    set untracked;
    bool stoppable[CODE_MAX + 1];    /* whether a range has the offset */
    uint16_t point_at[CODE_MAX + 1]; /* the number of the point there, and 1; 0: there is none */
    set live[CODE_MAX + 1];          /* what is live there, before the instruction */
} model;

static inline bool set_has(const set *s, uint32_t i) { return s->words[i / 64] >> (i % 64) & 1; }
static inline void set_put(set *s, uint32_t i, bool in) {
    s->words[i / 64] = (s->words[i / 64] & ~((uint64_t)1 << (i % 64))) | (uint64_t)in << (i % 64);
}

static inline uint64_t number(model *m) {
    uint64_t x = (m->random += 0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9, x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}
static inline uint32_t below(model *m, uint32_t end) { return (uint32_t)(number(m) % end); }
static inline uint32_t from_to(model *m, uint32_t first, uint32_t last) { return first + below(m, last - first + 1); }
static inline bool one_in(model *m, uint32_t n) { return below(m, n) == 0; }

/* Unwind rows: a prolog, pushes in the body, epilogs. `used` is the code up to the last row. */
static inline void put_row(model *m, uint32_t *used, int op, int number, int32_t bytes) {
    gc_stackmap_unwind row = {0, (uint8_t)op, (uint8_t)number, bytes}, none = {0, GC_UNWIND_ALLOCATE, 0, 0};
    gc_stackmap_unwind *before = m->method.unwind_count ? &m->rows[m->method.unwind_count - 1] : &none;
    *used += one_in(m, 8) ? below(m, 9) : gc__unwind_usual_bytes(before, &row);
    row.offset = *used;
    m->rows[m->method.unwind_count++] = row;
}

/* A frame's parts in the order of its prolog. */
typedef struct frame_parts {
    uint8_t pushed[8], push_count, saved[8], save_count;
    int32_t bytes; /* allocated below */
    int32_t frame_bytes;
    bool has_frame, frame_first;
} frame_parts;

static inline void put_prolog(model *m, uint32_t *used, frame_parts *f) {
    static const uint8_t preserved[] = {3, 12, 13, 14, 15};
    if (f->has_frame) put_row(m, used, GC_UNWIND_PUSH, 5, 0);
    if (f->has_frame && f->frame_first) put_row(m, used, GC_UNWIND_FRAME, 0, 0);
    uint32_t wanted = below(m, 6), save = one_in(m, 6);
    for (uint32_t i = 0; i < 5 && wanted; i++) {
        if (below(m, 5 - i) >= wanted) continue;
        wanted--;
        if (save) {
            f->saved[f->save_count++] = preserved[i];
        } else {
            f->pushed[f->push_count++] = preserved[i];
            put_row(m, used, GC_UNWIND_PUSH, preserved[i], 0);
        }
    }
    f->bytes = one_in(m, 3) ? 0 : 8 * (int32_t)from_to(m, 1, one_in(m, 6) ? 400 : 12);
    if (f->bytes < f->save_count * 8) f->bytes = f->save_count * 8;
    if (f->bytes) put_row(m, used, GC_UNWIND_ALLOCATE, 0, f->bytes);
    for (int i = 0; i < f->save_count; i++) put_row(m, used, GC_UNWIND_SAVE, f->saved[i], f->bytes - 8 * (i + 1));
    f->frame_bytes = 8 + 8 * f->has_frame + 8 * f->push_count + f->bytes;
    int32_t distance = f->frame_first ? f->frame_bytes - 16 : f->bytes;
    if (f->has_frame && !f->frame_first) put_row(m, used, GC_UNWIND_FRAME, 0, distance);
    m->frame_bytes = f->frame_bytes;
    m->frame_cfa = f->has_frame ? f->frame_bytes - distance : 0;
}

static inline void put_epilog(model *m, uint32_t *used, const frame_parts *f) {
    for (int i = 0; i < f->save_count; i++) put_row(m, used, GC_UNWIND_RESTORE, f->saved[i], 0);
    bool leave = f->has_frame && (m->method.flags & GC_METHOD_DYNAMIC_STACK || one_in(m, 2));
    if (leave) {
        put_row(m, used, GC_UNWIND_LEAVE, 0, f->frame_bytes - f->bytes - m->frame_cfa); /* to the last push */
    } else if (f->bytes) {
        put_row(m, used, GC_UNWIND_ALLOCATE, 0, -f->bytes);
    }
    for (int i = f->push_count; i--;) put_row(m, used, GC_UNWIND_POP, f->pushed[i], 0);
    if (f->has_frame) put_row(m, used, GC_UNWIND_POP, 5, 0);
    put_row(m, used, GC_UNWIND_BODY, 0, 0);
}

static inline void make_frame(model *m, uint32_t pieces) {
    gc_stackmap_method *method = &m->method;
    frame_parts f = {0};
    uint32_t used = 0;
    m->frame_bytes = 8;
    method->unwind = m->rows;
    if (one_in(m, 12)) return; /* a leaf without a frame */
    f.has_frame = one_in(m, 2);
    f.frame_first = one_in(m, 2);
    if (f.has_frame && one_in(m, 6)) method->flags |= GC_METHOD_DYNAMIC_STACK;
    put_prolog(m, &used, &f);
    method->prolog_bytes = used;
    while (pieces-- && method->unwind_count < ROWS_MAX - 40) {
        used += 1 + below(m, 60);
        if (one_in(m, 2)) {
            put_epilog(m, &used, &f);
        } else {
            uint32_t pushed = from_to(m, 1, 3);
            for (uint32_t i = 0; i < pushed; i++, used += below(m, 4))
                put_row(m, &used, GC_UNWIND_PUSH, GC_NO_REGISTER, 0);
            used += below(m, 20);
            for (uint32_t i = 0; i < pushed && one_in(m, 2); i++)
                put_row(m, &used, GC_UNWIND_POP, GC_NO_REGISTER, 0), pushed--;
            if (pushed) put_row(m, &used, GC_UNWIND_ALLOCATE, 0, -8 * (int32_t)pushed);
        }
    }
    method->code_bytes = used;
}

static inline bool slot_is_new(const model *m, const gc_stackmap_slot *slot) {
    for (uint32_t i = 0; i < m->method.slot_count; i++) {
        const gc_stackmap_slot *other = &m->slots[i];
        if (other->place != slot->place || other->offset != slot->offset) continue;
        if (slot->place == GC_PLACE_REGISTER && other->number != slot->number) continue;
        if (other->flags == slot->flags || other->untracked || slot->untracked) return false;
    }
    return true;
}

static inline int32_t stack_offset(model *m, int place, uint32_t spread) {
    int32_t area = m->frame_bytes - 8, arguments = (int32_t)m->method.argument_bytes;
    int32_t words = area / 8, cfa = -8 - 8 * (int32_t)(1 + below(m, (uint32_t)words));
    if (words > (int32_t)spread) cfa = -8 - area + 8 * (int32_t)below(m, spread);
    if (arguments && one_in(m, 5)) cfa = 8 * (int32_t)below(m, (uint32_t)arguments / 8);
    if (place == GC_PLACE_SP) {
        int32_t deepest = 8;
        gc__unwind_state state = gc__unwind_start(m->method.prolog_bytes, m->method.flags);
        for (uint32_t i = 0; i < m->method.unwind_count; i++) gc__unwind_step(&state, &m->rows[i]);
        deepest = state.depth_max;
        return cfa >= 0 ? cfa + deepest : cfa + m->frame_bytes;
    }
    return place == GC_PLACE_FRAME ? cfa + m->frame_cfa : cfa;
}

/* Makes up to `count` slots; some of the tries fail, as they would be where a register is saved, or double. */
static inline void make_slots(model *m, uint32_t count, uint32_t scratch_in, uint32_t untracked_in, uint32_t flags_in) {
    static const uint8_t preserved[] = {3, 12, 13, 14, 15}, scratch[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
    static const uint8_t flags[] = {
        GC_SLOT_INTERIOR, GC_SLOT_INTERIOR, GC_SLOT_INTERIOR, GC_SLOT_PINNED, GC_SLOT_VALUE, 3, 9, 10, 11};
    gc_stackmap_method *method = &m->method;
    int base = m->frame_cfa ? one_in(m, 4) ? GC_PLACE_SP : GC_PLACE_FRAME : one_in(m, 3) ? GC_PLACE_CFA : GC_PLACE_SP;
    method->slots = m->slots;
    for (uint32_t tries = 0; tries < 4 * count && method->slot_count < count; tries++) {
        gc_stackmap_slot slot = {GC_PLACE_REGISTER, 0, 0, 0, 0};
        if (!one_in(m, flags_in))
            slot.flags = 0;
        else
            slot.flags = flags[below(m, sizeof flags)];
        if (one_in(m, 2) || m->frame_bytes <= 8) {
            bool is_scratch = scratch_in && one_in(m, scratch_in);
            slot.number = is_scratch ? scratch[below(m, sizeof scratch)] : preserved[below(m, sizeof preserved)];
            if (!m->frame_cfa && one_in(m, 8)) slot.number = 5;
        } else {
            slot.place = (uint8_t)(one_in(m, 6) ? GC_PLACE_CFA : base);
            slot.untracked = untracked_in && one_in(m, untracked_in);
            slot.offset = stack_offset(m, slot.place, count + 3);
        }
        gc_stackmap_facts facts = {0};
        facts.outgoing_bytes = method->outgoing_bytes, facts.argument_bytes = method->argument_bytes;
        gc__unwind_state state = gc__unwind_start(method->prolog_bytes, method->flags);
        for (uint32_t i = 0; i < method->unwind_count; i++) gc__unwind_step(&state, &m->rows[i]);
        if (gc__slot_fault(&slot, &state, &facts) || !slot_is_new(m, &slot)) continue;
        bool scratched = slot.place == GC_PLACE_REGISTER && strchr("\1\2\6\7\10\11\12\13", slot.number); /* and rax */
        bool outgoing = slot.place == GC_PLACE_SP && (uint32_t)slot.offset < method->outgoing_bytes;
        set_put(&m->kept, method->slot_count, !slot.untracked && !scratched && !outgoing);
        set_put(&m->untracked, method->slot_count, slot.untracked);
        m->slots[method->slot_count++] = slot;
    }
}

/* Ranges, and changes in them; then what is live at each offset. */
static inline void make_ranges(model *m, uint32_t count, uint32_t bytes_per_change) {
    gc_stackmap_method *method = &m->method;
    uint32_t at = one_in(m, 4) ? 0 : method->prolog_bytes, step = method->code_bytes / (count ? count : 1);
    method->ranges = m->ranges, method->changes = m->changes;
    for (; count && at < method->code_bytes; count--) {
        uint32_t length = step > 2 ? from_to(m, step / 2, step) : 1;
        if (length > method->code_bytes - at) length = method->code_bytes - at;
        if (!length) break;
        m->ranges[method->range_count++] = (gc_stackmap_range){at, at + length};
        at += length + (one_in(m, 4) ? 0 : below(m, step / 4 + 2));
    }
    for (uint32_t r = 0; r < method->range_count; r++) {
        for (uint32_t offset = m->ranges[r].start; offset <= m->ranges[r].end; offset++) {
            while (method->slot_count && method->change_count < CHANGES_MAX && one_in(m, bytes_per_change)) {
                uint32_t slot = below(m, method->slot_count);
                bool live = one_in(m, 2);
                if (set_has(&m->untracked, slot)) break;
                if (!one_in(m, 8)) live = !set_has(&m->live[offset], slot); /* else it may change nothing */
                if (offset < m->ranges[r].end) set_put(&m->live[offset], slot, live);
                m->changes[method->change_count++] = (gc_stackmap_change){offset, slot, live};
            }
            m->stoppable[offset] = offset < m->ranges[r].end;
            if (offset + 1 < m->ranges[r].end) m->live[offset + 1] = m->live[offset];
        }
        /* What was tried at the end of the range belongs to the next one only if that begins there. */
        if (r + 1 < method->range_count && m->ranges[r + 1].start == m->ranges[r].end)
            for (uint32_t i = 0; i < method->change_count; i++)
                if (m->changes[i].offset == m->ranges[r].end)
                    set_put(&m->live[m->ranges[r].end], m->changes[i].slot, m->changes[i].live);
    }
}

static inline void make_points(model *m, uint32_t count, int style) {
    gc_stackmap_method *method = &m->method;
    set now = {{0}}, few[5] = {{{0}}};
    uint32_t step = method->code_bytes / (count ? count : 1), at = 0;
    method->points = m->points;
    for (int i = 0; i < 5; i++)
        for (uint32_t slot = 0; slot < method->slot_count; slot++) set_put(&few[i], slot, one_in(m, 4));
    for (uint32_t i = 0; i < count && i < POINTS_MAX; i++) {
        at += 1 + below(m, step ? 2 * step : 1);
        if (at > method->code_bytes) break;
        for (uint32_t changes = below(m, 4); changes-- && method->slot_count;) {
            uint32_t slot = below(m, method->slot_count);
            set_put(&now, slot, !set_has(&now, slot));
        }
        set *live = &m->sets[i];
        *live = style == 0 ? now : few[below(m, 5)];
        for (uint32_t slot = 0; slot < method->slot_count; slot++) {
            if (style == 2) set_put(live, slot, one_in(m, 3));
            if (set_has(&m->untracked, slot)) set_put(live, slot, false);
            if (m->stoppable[at - 1] && set_has(&m->kept, slot)) set_put(live, slot, set_has(&m->live[at - 1], slot));
        }
        m->points[method->point_count++] = (gc_stackmap_point){at, live->words};
        m->point_at[at] = (uint16_t)method->point_count;
        if (one_in(m, 16)) {
            bool empty = true;
            for (int word = 0; word < WORDS; word++) empty &= !live->words[word];
            if (empty) m->points[method->point_count - 1].live = NULL;
        }
    }
}

static inline void make_facts(model *m) {
    gc_stackmap_method *method = &m->method;
    method->returns[0] = (uint8_t)below(m, 4);
    method->returns[1] = (uint8_t)(one_in(m, 6) ? below(m, 4) : 0);
    if (!one_in(m, 8)) return;
    method->flags |= (uint16_t)(number(m) & 1023 & ~(uint32_t)GC_METHOD_DYNAMIC_STACK);
    for (int i = 0; i < 5; i++)
        if (method->flags & GC_METHOD_SECURITY_OBJECT << i) method->extra[i] = 8 * ((int32_t)below(m, 200) - 150);
    if (method->flags & GC_METHOD_EDIT_AND_CONTINUE) method->extra[5] = 8 * (int32_t)below(m, 300);
}

/* Makes a method of the shape. Only `random` of the model is kept. */
static inline void make_method(model *m, shape s) {
    static const struct limits {
        uint32_t pieces, rest, slots, points, ranges, spread;
    } limits[SHAPES] = {[SMALL] = {3, 150, 6, 8, 0, 0},
                        [MEDIUM] = {6, 600, 16, 24, 0, 0},
                        [LARGE] = {12, 3000, 70, 150, 0, 0},
                        [INTERRUPTIBLE] = {3, 250, 9, 6, 1, 6},
                        [INTERRUPTIBLE_LARGE] = {8, 1500, 40, 20, 3, 6},
                        [ANYTHING] = {12, 3000, SLOTS_MAX, POINTS_MAX, RANGES_MAX, 12}};
    const struct limits *most = &limits[s];
    uint64_t random = m->random;
    memset(m, 0, sizeof *m);
    m->random = random;
    gc_stackmap_method *method = &m->method;
    bool any = s == ANYTHING;
    make_frame(m, below(m, most->pieces + 1));
    method->code_bytes += 1 + below(m, any && one_in(m, 2) ? 80 : most->rest);
    if (any && one_in(m, 4)) method->argument_bytes = 8 * below(m, 5);
    if (any && one_in(m, 4)) method->outgoing_bytes = 8 * below(m, (uint32_t)m->frame_bytes / 8);
    if (any || one_in(m, 8)) make_facts(m);
    make_slots(m, below(m, (any && one_in(m, 2) ? 12 : most->slots) + 1),
               most->ranges ? 3
               : any        ? 5
                            : 0,
               any            ? 6
               : one_in(m, 8) ? 6
                              : 0,
               any ? 3 : 10);
    uint32_t ranges =
        most->ranges && (!any || one_in(m, 2)) ? from_to(m, 1, any && one_in(m, 2) ? 2 : most->ranges) : 0;
    make_ranges(m, ranges, 1 + from_to(m, 2, most->spread + 2));
    make_points(m, below(m, (any && one_in(m, 2) ? 12 : most->points) + 1), (int)below(m, any ? 3 : 2));
}

/* The truth. Whether a frame at the offset may be walked, and what is live there; bit i is the method's slot i. */
static inline bool model_live(const model *m, uint32_t offset, gc_frame_kind kind, set *live) {
    const gc_stackmap_method *method = &m->method;
    bool found = false;
    *live = (set){{0}};
    if (kind == GC_FRAME_INTERRUPTED) {
        if (offset > method->code_bytes || !m->stoppable[offset]) return false;
        *live = m->live[offset], found = true;
    } else {
        const gc_stackmap_point *point =
            offset <= method->code_bytes && m->point_at[offset] ? &m->points[m->point_at[offset] - 1] : NULL;
        for (uint32_t word = 0; point && point->live && word * 64 < method->slot_count; word++)
            live->words[word] = point->live[word];
        found = point != NULL;
        if (!found && offset && offset <= method->code_bytes && m->stoppable[offset - 1])
            *live = m->live[offset - 1], found = true;
        for (int word = 0; word < WORDS; word++) live->words[word] &= m->kept.words[word];
        if (method->flags & GC_METHOD_REPORT_LEAF_ONLY) {
            *live = (set){{0}};
            return found;
        }
    }
    for (int word = 0; word < WORDS; word++) live->words[word] |= m->untracked.words[word];
    return found;
}
