/* How many bytes the CLR's GC info, version 2 for amd64, takes for a method of the model: the yardstick for the size of stack
   maps. Only sizes are computed. Where there is a choice, the smaller size is taken, so that the comparison favors the CLR;
   what it has no room for (a tagged value, arguments on the stack, unwind rows) costs it nothing. */
#pragma once

#include "stackmap_model.h"

enum { CLR_SKIP_BASE = 4, CLR_RUN_BASE = 2, CLR_CHUNK = 64 };

static inline uint64_t clr_bits_for(uint64_t count) {
    uint64_t bits = 0;
    while (bits < 64 && (uint64_t)1 << bits < count) bits++;
    return bits;
}

/* VarLen(base). */
static inline uint64_t clr_number(uint64_t value, unsigned base) {
    uint64_t bits = base + 1;
    for (; value >> base; value >>= base) bits += base + 1;
    return bits;
}

static inline uint64_t clr_signed(int64_t value, unsigned base) {
    uint64_t bits = base + 1;
    for (; value < -((int64_t)1 << (base - 1)) || value >= (int64_t)1 << (base - 1); value >>= base) bits += base + 1;
    return bits;
}

typedef struct clr {
    const model *m;
    uint32_t order[SLOTS_MAX], count; /* the used slots, in the CLR's order: registers, stack, untracked */
    uint32_t registers, stack, untracked;
    uint64_t first, second; /* bits of the two streams */
} clr;

static inline bool clr_flagless(const gc_stackmap_slot *slot) { return !(slot->flags & 3); }

/* Registers first, then the stack, then what is untracked; within each, those with flags first, then by number or offset. */
static inline int64_t clr_rank(const gc_stackmap_slot *slot) {
    int64_t class = slot->untracked ? 2 : slot->place != GC_PLACE_REGISTER;
    int64_t where = slot->place == GC_PLACE_REGISTER ? slot->number : slot->offset;
    return (class << 1 | clr_flagless(slot)) << 40 | (where + ((int64_t)1 << 32)) << 2 | slot->place;
}

static inline void clr_order(clr *c, const set *used) {
    for (uint32_t i = 0; i < c->m->method.slot_count; i++) {
        const gc_stackmap_slot *slot = &c->m->slots[i];
        if (!slot->untracked && !set_has(used, i)) continue;
        uint32_t at = c->count++;
        for (; at && clr_rank(&c->m->slots[c->order[at - 1]]) > clr_rank(slot); at--) c->order[at] = c->order[at - 1];
        c->order[at] = i;
        c->registers += slot->place == GC_PLACE_REGISTER;
        c->untracked += slot->untracked;
    }
    c->stack = c->count - c->registers - c->untracked;
}

static inline void clr_header(clr *c, uint32_t points) {
    const gc_stackmap_method *method = &c->m->method;
    int flags = method->flags & ~(GC_METHOD_HANDLERS | GC_METHOD_DYNAMIC_STACK);
    bool fat = flags || method->range_count || method->outgoing_bytes || method->returns[1];
    c->first += clr_number(method->code_bytes, 8) + clr_number(points, 2);
    if (!fat) {
        c->first += 1 + 1 + 2;
        return;
    }
    c->first += 1 + 10 + 4 + clr_number(method->outgoing_bytes / 8, 3) + clr_number(method->range_count, 1);
    if (c->m->frame_cfa) c->first += clr_number(0, 3);
    for (int i = 0; i < 5; i++)
        if (flags & GC_METHOD_SECURITY_OBJECT << i) c->first += clr_signed(method->extra[i] / 8, 6);
    if (flags & GC_METHOD_EDIT_AND_CONTINUE) c->first += clr_number((uint64_t)method->extra[5] / 8, 4);
}

static inline void clr_slot_table(clr *c) {
    uint64_t always = clr_number(c->registers, 2) + clr_number(c->stack, 2) + clr_number(c->untracked, 1);
    uint64_t if_any = 2 + (c->registers ? clr_number(c->registers, 2) : 0) +
                      (c->count > c->registers ? clr_number(c->stack, 2) + clr_number(c->untracked, 1) : 0);
    c->first += always < if_any ? always : if_any;
    const gc_stackmap_slot *before = NULL;
    for (uint32_t i = 0; i < c->count; i++) {
        const gc_stackmap_slot *slot = &c->m->slots[c->order[i]];
        bool starts = i == 0 || i == c->registers || i == c->registers + c->stack,
             whole = starts || !clr_flagless(before);
        if (slot->place == GC_PLACE_REGISTER)
            c->first +=
                whole ? clr_number(slot->number, 3) + 2
                      : clr_number((uint64_t)(slot->number - before->number - (slot->number > before->number)), 2);
        else
            c->first += 2 + (whole ? clr_signed(slot->offset / 8, 6) + 2
                                   : clr_number((uint64_t)(slot->offset - before->offset) / 8, 4));
        before = slot;
    }
}

/* A set of tracked slots: plain, or the lengths of runs; the smallest of three forms. */
static inline uint64_t clr_set(const clr *c, const set *s) {
    uint32_t tracked = c->registers + c->stack, start = 0;
    uint64_t plain = 1 + tracked, runs = 2, inverse = 2;
    bool before = false;
    if (plain <= 2 + CLR_SKIP_BASE + 1 + CLR_RUN_BASE + 1) return plain;
    for (uint32_t i = 0; i <= tracked; i++) {
        bool live = i < tracked ? set_has(s, c->order[i]) : !before;
        if (live == before) continue;
        runs += clr_number(i - start, before ? CLR_RUN_BASE : CLR_SKIP_BASE);
        inverse += clr_number(i - start, before ? CLR_SKIP_BASE : CLR_RUN_BASE);
        before = live, start = i + 1;
    }
    return runs < plain && runs <= inverse ? runs : inverse < plain ? inverse : plain;
}

/* The live sets of the safe points: directly, or by pointers to the distinct sets. */
static inline void clr_points(clr *c, const set *sets, uint32_t points) {
    static uint32_t distinct[POINTS_MAX];
    uint32_t count = 0, tracked = c->registers + c->stack;
    uint64_t bits = 0, largest = 0;
    if (!points || !c->count) return;
    for (uint32_t i = 0; i < points; i++) {
        uint32_t k = 0;
        while (k < count && memcmp(&sets[distinct[k]], &sets[i], sizeof *sets) != 0) k++;
        if (k < count) continue;
        distinct[count++] = i;
        largest = bits;
        bits += clr_set(c, &sets[i]);
    }
    uint64_t pointer = largest < 2 ? 1 : clr_bits_for(largest + 1);
    uint64_t direct = (uint64_t)points * tracked, sizes = clr_number(pointer, 3);
    c->first += 1;
    if (sizes + points * pointer + 7 + bits < direct) {
        c->first += clr_number(pointer - 1, 3) + points * pointer;
        c->second += bits;
    } else {
        c->first += direct;
    }
}

/* Ranges side by side are cut into chunks of 64 offsets; one in which something changes has the slots that may be live in it,
   whether each is live at its end, and the changes of each. */
static inline void clr_ranges(clr *c) {
    static set lives[CODE_MAX + 1];
    uint32_t length = 0, tracked = c->registers + c->stack, last_end = 0;
    const model *m = c->m;
    for (uint32_t r = 0; r < m->method.range_count; r++) {
        c->first +=
            clr_number(m->ranges[r].start - last_end, 6) + clr_number(m->ranges[r].end - m->ranges[r].start - 1, 6);
        last_end = m->ranges[r].end;
        for (uint32_t offset = m->ranges[r].start; offset < last_end; offset++) lives[length++] = m->live[offset];
    }
    if (!length || !c->count) return;
    uint64_t largest = 0;
    set before = {{0}};
    for (uint32_t chunk = 0; chunk < length; chunk += CLR_CHUNK) {
        uint32_t end = chunk + CLR_CHUNK < length ? chunk + CLR_CHUNK : length, changes = 0, shown = 0, maybe_live = 0;
        set maybe = before;
        for (uint32_t at = chunk; at < end; at++) {
            const set *previous = at ? &lives[at - 1] : &before;
            for (uint32_t i = 0; i < tracked; i++) {
                if (set_has(previous, c->order[i]) == set_has(&lives[at], c->order[i])) continue;
                set_put(&maybe, c->order[i], true);
                changes++, shown += at > chunk;
            }
        }
        before = lives[end - 1];
        if (!changes) continue;
        largest = c->second + 1;
        for (uint32_t i = 0; i < tracked; i++) maybe_live += set_has(&maybe, c->order[i]);
        c->second += clr_set(c, &maybe) + 2 * maybe_live + 7 * shown;
    }
    uint64_t pointer = clr_bits_for(largest + 1);
    c->first += clr_number(pointer, 3) + pointer * ((length + CLR_CHUNK - 1) / CLR_CHUNK);
}

static inline uint64_t clr_bytes(const model *m) {
    static set sets[POINTS_MAX];
    clr c = {0};
    uint32_t points = 0;
    set used = {{0}};
    c.m = m;
    for (uint32_t i = 0; i < m->method.point_count; i++) {
        if (m->stoppable[m->points[i].offset - 1]) continue;
        set *s = &sets[points++];
        *s = (set){{0}};
        for (uint32_t word = 0; m->points[i].live && word * 64 < m->method.slot_count; word++)
            s->words[word] = m->points[i].live[word] & m->kept.words[word];
        for (int word = 0; word < WORDS; word++) used.words[word] |= s->words[word];
    }
    for (uint32_t offset = 0; offset < m->method.code_bytes; offset++)
        for (int word = 0; word < WORDS; word++) used.words[word] |= m->live[offset].words[word];
    clr_order(&c, &used);
    clr_header(&c, points);
    c.first += points * clr_bits_for(m->method.code_bytes);
    clr_slot_table(&c);
    clr_points(&c, sets, points);
    clr_ranges(&c);
    return (c.first + 7) / 8 + (c.second + 7) / 8;
}
