/* Before a stack map is written: its description is checked and put in order. */
#pragma once

#include "../api/stackmap.h"
#include "../base/report.h"
#include "bits.h"
#include "rules.h"
#include "unwind.h"

/* Memory for one encoding, which is freed at its end. The first of it is on the stack. */
typedef struct gc__scratch_block {
    struct gc__scratch_block *previous;
    size_t bytes;
} gc__scratch_block;

typedef struct gc__scratch {
    gc__scratch_block *last;
    size_t used;
    uint64_t first[512];
} gc__scratch;

/* Zeroed memory for `count` things of `size` bytes, which are aligned as a word. NULL: it has failed. */
GC__FN void *gc__scratch_take(gc__scratch *scratch, size_t count, size_t size) {
    size_t words = (count * size + 7) / 8;
    if (words <= sizeof scratch->first / 8 - scratch->used) {
        void *memory = memset(scratch->first + scratch->used, 0, words * 8);
        scratch->used += words;
        return memory;
    }
    size_t bytes = sizeof(gc__scratch_block) + words * 8;
    gc__scratch_block *block = (gc__scratch_block *)gc__os_map(bytes);
    if (!block) {
        gc__fail(GC_ERROR_MEMORY, "gc_stackmap_encode: the system has no %zu bytes more: %s", bytes, gc__os_refusal(bytes));
        return NULL;
    }
    block->previous = scratch->last;
    block->bytes = bytes;
    scratch->last = block;
    return block + 1;
}

GC__FN void gc__scratch_free(gc__scratch *scratch) {
    while (scratch->last) {
        gc__scratch_block *block = scratch->last;
        scratch->last = block->previous;
        gc__os_unmap(block, block->bytes);
    }
}

/* Changes of slots, from dead to live or back, in the map's order of slots. */
typedef struct gc__change_list {
    uint32_t *places, *slots;
    uint32_t count;
} gc__change_list;

/* A method that is being encoded. */
typedef struct gc__encoder {
    const gc_stackmap_method *method;
    gc_stackmap_facts facts; /* those of the map */
    gc__scratch scratch;
    gc__unwind_state frame;
    uint64_t *order;           /* the method's slot that the map has as its slot i */
    uint32_t *index_of;        /* the reverse */
    uint64_t *kept;            /* a set of the method's slots: those of the map which calls preserve */
    uint64_t *live;            /* another one */
    uint32_t sections[3];      /* slots of each section */
    uint32_t set_words;        /* words of a set of the kept slots, in the map's order */
    uint32_t *points;          /* offsets of the points that are not in ranges; facts.point_count */
    uint64_t *sets;            /* their live sets */
    gc__change_list in_ranges; /* the changes that have an effect */
} gc__encoder;

#define GC__SLOT_INDEX_BITS 28

#define GC__REFUSE(...) (gc__fail(GC_ERROR_FORMAT, "gc_stackmap_encode: " __VA_ARGS__), false)

GC__FN bool gc__set_has(const uint64_t *set, uint32_t i) { return set[i >> 6] >> (i & 63) & 1; }

/* Sorts by a heap, which needs no memory. */
GC__FN void gc__sort_words(uint64_t *words, size_t count) {
    for (size_t end = count, start = count / 2; end > 1;) {
        if (start) {
            start--;
        } else {
            uint64_t largest = words[0];
            words[0] = words[--end];
            words[end] = largest;
        }
        size_t at = start, child;
        uint64_t word = words[at];
        while ((child = 2 * at + 1) < end) {
            if (child + 1 < end && words[child + 1] > words[child]) child++;
            if (words[child] <= word) break;
            words[at] = words[child];
            at = child;
        }
        words[at] = word;
    }
}

GC__FN bool gc__prepare_facts(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    gc_stackmap_facts *facts = &encoder->facts;
    facts->code_bytes = method->code_bytes;
    facts->prolog_bytes = method->prolog_bytes;
    facts->outgoing_bytes = method->outgoing_bytes;
    facts->argument_bytes = method->argument_bytes;
    facts->flags = method->flags;
    memcpy(facts->returns, method->returns, sizeof facts->returns);
    memcpy(facts->extra, method->extra, sizeof facts->extra);
    const char *fault = gc__facts_fault(facts);
    if (fault) return GC__REFUSE("%s", fault);
    if (method->slot_count >> (GC__SLOT_INDEX_BITS - 1)) return GC__REFUSE("%u slots are too many", method->slot_count);
    const char *missing = method->slot_count && !method->slots       ? "slots"
                          : method->point_count && !method->points   ? "points"
                          : method->range_count && !method->ranges   ? "ranges"
                          : method->change_count && !method->changes ? "changes"
                          : method->unwind_count && !method->unwind  ? "unwind"
                                                                     : NULL;
    return missing ? GC__REFUSE("`%s` is NULL, but its count is not 0", missing) : true;
}

GC__FN bool gc__prepare_unwind(gc__encoder *encoder) {
    static const char *const names[] = {"push", "pop", "allocate", "save", "frame", "leave", "restore", "body"};
    const gc_stackmap_method *method = encoder->method;
    encoder->frame = gc__unwind_start(method->prolog_bytes, method->flags);
    for (uint32_t i = 0; i < method->unwind_count; i++) {
        const gc_stackmap_unwind *row = &method->unwind[i];
        const char *fault = gc__unwind_row_fault(row);
        if (!fault && row->offset > method->code_bytes) fault = "its offset is outside of the code";
        if (!fault && i && row->offset < row[-1].offset) fault = "its offset is below that of the row before";
        if (!fault) fault = gc__unwind_step(&encoder->frame, row);
        const char *name = row->op <= GC_UNWIND_BODY ? names[row->op] : "?";
        if (fault)
            return GC__REFUSE("unwind row %u (%s, register %u, at offset %u): %s", i, name, row->number, row->offset,
                              fault);
    }
    encoder->facts.unwind_count = method->unwind_count;
    const char *fault = gc__unwind_end_fault(&encoder->frame);
    if (fault) return GC__REFUSE("%s", fault);
    if (method->outgoing_bytes > (uint32_t)encoder->frame.depth_max - 8)
        return GC__REFUSE("outgoing_bytes is %u, but the frame has %d bytes", method->outgoing_bytes,
                          encoder->frame.depth_max - 8);
    return true;
}

/* Two slots at one place would be visited twice if both were live. That cannot be known of untracked ones; of others it is
   for the compiler to say, which may keep there now an object, now a pointer into one. */
GC__FN bool gc__prepare_distinct(const gc__encoder *encoder, uint64_t *places) {
    const gc_stackmap_slot *slots = encoder->method->slots;
    uint32_t count = encoder->method->slot_count;
    for (uint32_t i = 0; i < count; i++) {
        gc_stackmap_slot where = slots[i];
        where.flags = 0;
        places[i] = gc__slot_rank(&where, 0) << GC__SLOT_INDEX_BITS | i;
    }
    gc__sort_words(places, count);
    for (uint32_t i = 1; i < count; i++) {
        if (places[i] >> GC__SLOT_INDEX_BITS != places[i - 1] >> GC__SLOT_INDEX_BITS) continue;
        uint32_t a = (uint32_t)(places[i - 1] & gc__bits_mask(GC__SLOT_INDEX_BITS));
        uint32_t b = (uint32_t)(places[i] & gc__bits_mask(GC__SLOT_INDEX_BITS));
        if (slots[a].untracked || slots[b].untracked)
            return GC__REFUSE("slots %u and %u are one place, and untracked", a, b);
        if (slots[a].flags == slots[b].flags) return GC__REFUSE("slots %u and %u are the same", a, b);
    }
    return true;
}

GC__FN const char *gc__place_name(unsigned place) {
    static const char *const names[] = {"", "cfa", "rsp", "rbp"};
    return place <= GC_PLACE_FRAME ? names[place] : "unknown place";
}

GC__FN bool gc__prepare_slots(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    uint32_t count = method->slot_count;
    for (uint32_t i = 0; i < count; i++) {
        const gc_stackmap_slot *slot = &method->slots[i];
        const char *fault = gc__slot_fault(slot, &encoder->frame, &encoder->facts);
        if (fault && slot->place == GC_PLACE_REGISTER)
            return GC__REFUSE("slot %u (register %u): %s", i, slot->number, fault);
        if (fault) return GC__REFUSE("slot %u ([%s%+d]): %s", i, gc__place_name(slot->place), slot->offset, fault);
    }
    encoder->order = (uint64_t *)gc__scratch_take(&encoder->scratch, count, sizeof *encoder->order);
    encoder->index_of = (uint32_t *)gc__scratch_take(&encoder->scratch, count, sizeof *encoder->index_of);
    encoder->kept = (uint64_t *)gc__scratch_take(&encoder->scratch, (count + 63) / 64, 8);
    encoder->live = (uint64_t *)gc__scratch_take(&encoder->scratch, (count + 63) / 64, 8);
    if (!encoder->order || !encoder->index_of || !encoder->kept || !encoder->live) return false;
    return gc__prepare_distinct(encoder, encoder->order);
}

GC__FN bool gc__prepare_rows(const gc_stackmap_method *method) {
    for (uint32_t i = 0; i < method->point_count; i++) {
        uint32_t offset = method->points[i].offset, slots = method->slot_count;
        const uint64_t *live = method->points[i].live;
        if (!offset || offset > method->code_bytes)
            return GC__REFUSE(
                "safe point %u: its offset %u is not that of an instruction after a call, in %u bytes of code", i,
                offset, method->code_bytes);
        if (i && offset <= method->points[i - 1].offset)
            return GC__REFUSE("safe point %u: its offset %u is not above that of the one before", i, offset);
        for (uint32_t slot = 0; live && slot < slots; slot++)
            if (method->slots[slot].untracked && gc__set_has(live, slot))
                return GC__REFUSE("safe point %u (offset %u): slot %u is untracked, so no live set names it", i, offset,
                                  slot);
        if (live && slots % 64 && live[slots / 64] >> slots % 64)
            return GC__REFUSE("safe point %u (offset %u): a slot is live that does not exist; there are %u", i, offset,
                              slots);
    }
    for (uint32_t i = 0; i < method->range_count; i++) {
        const gc_stackmap_range *range = &method->ranges[i];
        const char *fault = range->start >= range->end          ? "it is empty"
                            : range->end > method->code_bytes   ? "it is outside of the code"
                            : i && range->start < range[-1].end ? "it overlaps the range before, or comes before it"
                                                                : NULL;
        if (fault) return GC__REFUSE("interruptible range %u, from %u to %u: %s", i, range->start, range->end, fault);
    }
    if (method->range_count > UINT32_MAX / 4)
        return GC__REFUSE("%u interruptible ranges are too many", method->range_count);
    return true;
}

/* Stores to `used` which slots are live anywhere, as far as that can be reported. */
GC__FN void gc__prepare_used(const gc__encoder *encoder, uint64_t *used) {
    const gc_stackmap_method *method = encoder->method;
    for (uint32_t i = 0; i < method->slot_count; i++)
        if (!gc__slot_section(&method->slots[i], &encoder->facts)) encoder->kept[i >> 6] |= (uint64_t)1 << (i & 63);
    for (uint32_t i = 0; i < method->point_count; i++)
        for (uint32_t word = 0; method->points[i].live && word * 64 < method->slot_count; word++)
            used[word] |= method->points[i].live[word] & encoder->kept[word];
    for (uint32_t i = 0; i < method->change_count; i++)
        if (method->changes[i].live && method->changes[i].slot < method->slot_count)
            used[method->changes[i].slot >> 6] |= (uint64_t)1 << (method->changes[i].slot & 63);
}

/* Orders the slots, without those that are never live. */
GC__FN void gc__prepare_order(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    uint32_t count = 0;
    gc__prepare_used(encoder, encoder->live);
    for (uint32_t i = 0; i < method->slot_count; i++) {
        unsigned section = gc__slot_section(&method->slots[i], &encoder->facts);
        if (section < 2 && !gc__set_has(encoder->live, i)) continue;
        encoder->sections[section]++;
        encoder->order[count++] = gc__slot_rank(&method->slots[i], section) << GC__SLOT_INDEX_BITS | i;
    }
    gc__sort_words(encoder->order, count);
    for (uint32_t i = 0; i < count; i++) {
        encoder->order[i] &= gc__bits_mask(GC__SLOT_INDEX_BITS);
        encoder->index_of[encoder->order[i]] = i;
    }
    encoder->set_words = (encoder->sections[0] + 63) / 64;
    encoder->facts.slot_count = count;
    encoder->facts.untracked_count = encoder->sections[2];
}

/* Takes a safe point, in the map's order of slots. */
GC__FN void gc__prepare_point(gc__encoder *encoder, const gc_stackmap_point *point) {
    uint64_t *set = encoder->sets + (size_t)encoder->facts.point_count * encoder->set_words;
    encoder->points[encoder->facts.point_count++] = point->offset;
    for (uint32_t word = 0; point->live && word * 64 < encoder->method->slot_count; word++) {
        for (uint64_t bits = point->live[word] & encoder->kept[word]; bits; bits &= bits - 1) {
            uint32_t index = encoder->index_of[word * 64 + (unsigned)__builtin_ctzll(bits)];
            set[index >> 6] |= (uint64_t)1 << (index & 63);
        }
    }
}

/* A safe point within a range must say what the range says there, of the slots that a call preserves. */
GC__FN bool gc__prepare_agrees(const gc__encoder *encoder, uint32_t i) {
    const gc_stackmap_point *point = &encoder->method->points[i];
    for (uint32_t word = 0; word * 64 < encoder->method->slot_count; word++) {
        uint64_t differ = ((point->live ? point->live[word] : 0) ^ encoder->live[word]) & encoder->kept[word];
        if (!differ) continue;
        uint32_t slot = word * 64 + (unsigned)__builtin_ctzll(differ);
        bool here = gc__set_has(encoder->live, slot);
        return GC__REFUSE(
            "safe point %u (offset %u) is in an interruptible range, in which slot %u is %s there: the point says %s",
            i, point->offset, slot, here ? "live" : "dead", here ? "dead" : "live");
    }
    return true;
}

/* Lets a change act; those which undo each other at one offset leave nothing. */
GC__FN void gc__prepare_change(gc__encoder *encoder, const gc_stackmap_change *change) {
    gc__change_list *list = &encoder->in_ranges;
    if (gc__set_has(encoder->live, change->slot) == change->live) return;
    encoder->live[change->slot >> 6] ^= (uint64_t)1 << (change->slot & 63);
    uint32_t index = encoder->index_of[change->slot];
    for (uint32_t i = list->count; i && list->places[i - 1] == change->offset; i--) {
        if (list->slots[i - 1] != index) continue;
        memmove(list->slots + i - 1, list->slots + i, (list->count - i) * sizeof *list->slots);
        list->count--;
        return;
    }
    list->places[list->count] = change->offset;
    list->slots[list->count++] = index;
}

/* Goes through the code in the order of offsets: where in its points and changes one is. */
typedef struct gc__prepare_place {
    uint32_t point, change;
} gc__prepare_place;

GC__FN bool gc__prepare_change_fault(const gc__encoder *encoder, uint32_t i, uint32_t range) {
    const gc_stackmap_method *method = encoder->method;
    const gc_stackmap_change *change = &method->changes[i];
    if (i && change->offset < change[-1].offset)
        return GC__REFUSE("change %u: its offset %u is below that of the one before", i, change->offset);
    if (change->slot >= method->slot_count)
        return GC__REFUSE("change %u (offset %u): there is no slot %u", i, change->offset, change->slot);
    if (method->slots[change->slot].untracked)
        return GC__REFUSE("change %u (offset %u): slot %u is untracked, so no change names it", i, change->offset,
                          change->slot);
    bool at_end = range && change->offset == method->ranges[range - 1].end;
    bool in_range = range < method->range_count && change->offset >= method->ranges[range].start;
    if (!at_end && !in_range)
        return GC__REFUSE("change %u: its offset %u is in no interruptible range", i, change->offset);
    return true;
}

/* The points of a range that come before the change at `offset`, or before the end of the range there. */
GC__FN bool gc__prepare_points_below(gc__encoder *encoder, gc__prepare_place *place, uint32_t offset) {
    const gc_stackmap_method *method = encoder->method;
    for (; place->point < method->point_count && method->points[place->point].offset - 1 < offset; place->point++)
        if (!gc__prepare_agrees(encoder, place->point)) return false;
    return true;
}

GC__FN bool gc__prepare_range(gc__encoder *encoder, gc__prepare_place *place, uint32_t range) {
    const gc_stackmap_method *method = encoder->method;
    uint32_t end = method->ranges[range].end;
    memset(encoder->live, 0, ((size_t)method->slot_count + 63) / 64 * 8);
    for (; place->change < method->change_count && method->changes[place->change].offset < end; place->change++) {
        const gc_stackmap_change *change = &method->changes[place->change];
        if (!gc__prepare_change_fault(encoder, place->change, range)) return false;
        if (change->offset < method->ranges[range].start) continue; /* it is at the end of the range before */
        if (!gc__prepare_points_below(encoder, place, change->offset)) return false;
        gc__prepare_change(encoder, change);
    }
    return gc__prepare_points_below(encoder, place, end);
}

GC__FN bool gc__prepare_code(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    gc__prepare_place place = {0, 0};
    gc__prepare_order(encoder);
    size_t set_bytes = (size_t)encoder->set_words * 8;
    encoder->points = (uint32_t *)gc__scratch_take(&encoder->scratch, method->point_count, sizeof *encoder->points);
    encoder->sets = (uint64_t *)gc__scratch_take(&encoder->scratch, method->point_count, set_bytes);
    encoder->in_ranges.places = (uint32_t *)gc__scratch_take(&encoder->scratch, method->change_count, sizeof(uint32_t));
    encoder->in_ranges.slots = (uint32_t *)gc__scratch_take(&encoder->scratch, method->change_count, sizeof(uint32_t));
    if (!encoder->points || !encoder->sets || !encoder->in_ranges.places || !encoder->in_ranges.slots) return false;
    for (uint32_t range = 0; range <= method->range_count; range++) {
        uint32_t start = range < method->range_count ? method->ranges[range].start : UINT32_MAX;
        for (; place.point < method->point_count && method->points[place.point].offset - 1 < start; place.point++)
            gc__prepare_point(encoder, &method->points[place.point]);
        if (range < method->range_count && !gc__prepare_range(encoder, &place, range)) return false;
    }
    for (; place.change < method->change_count; place.change++)
        if (!gc__prepare_change_fault(encoder, place.change, method->range_count)) return false;
    encoder->facts.range_count = method->range_count;
    encoder->facts.change_count = encoder->in_ranges.count;
    return true;
}

/* Checks the description, and puts it in order. False: gc__fail has been called. */
GC__FN bool gc__prepare(gc__encoder *encoder) {
    return gc__prepare_facts(encoder) && gc__prepare_unwind(encoder) && gc__prepare_slots(encoder) &&
           gc__prepare_rows(encoder->method) && gc__prepare_code(encoder);
}
