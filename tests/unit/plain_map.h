/* A kind of tables of a host's own: the uncompressed description of a method (code.h) serves as its map. After code.h. */
#pragma once

/* What the rows up to the frame's pc have done. */
static inline const char *plain_layout(gc_code_cursor *frame) {
    const gc_stackmap_method *map = &((const method *)frame->code->host)->map;
    uint32_t offset = (uint32_t)(frame->pc - (uintptr_t)frame->code->start);
    struct {
        int32_t depth, by_frame, saved[16];
    } now = {8, 0, {0}}, body = now;
    bool in_body = false;
    for (uint32_t i = 0; i < map->unwind_count; i++) {
        const gc_stackmap_unwind *row = &map->unwind[i];
        if (row->offset + (frame->kind == GC_FRAME_CALLER) > offset) break;
        if (!in_body && row->offset > map->prolog_bytes) in_body = true, body = now;
        if (row->op == GC_UNWIND_PUSH) now.depth += 8;
        if (row->op == GC_UNWIND_PUSH && row->number != GC_NO_REGISTER) now.saved[row->number] = -now.depth;
        if (row->op == GC_UNWIND_POP) now.depth -= 8;
        if (row->op == GC_UNWIND_POP && row->number != GC_NO_REGISTER) now.saved[row->number] = 0;
        if (row->op == GC_UNWIND_POP && row->number == RBP) now.by_frame = 0;
        if (row->op == GC_UNWIND_ALLOCATE) now.depth += row->bytes;
        if (row->op == GC_UNWIND_FRAME) now.by_frame = now.depth - row->bytes;
        if (row->op == GC_UNWIND_LEAVE) now.depth = now.by_frame + row->bytes, now.by_frame = 0;
        if (row->op == GC_UNWIND_BODY) now = body;
    }
    frame->cfa = now.by_frame ? *frame->registers[RBP] + (uintptr_t)now.by_frame : frame->sp + (uintptr_t)now.depth;
    memcpy(frame->saved, now.saved, sizeof now.saved);
    return NULL;
}

/* False: that is no place to stop at. */
static inline bool plain_live(const gc_code_cursor *frame, uint64_t *live) {
    const gc_stackmap_method *map = &((const method *)frame->code->host)->map;
    uint32_t offset = (uint32_t)(frame->pc - (uintptr_t)frame->code->start);
    *live = 0;
    for (uint32_t i = 0; i < map->range_count; i++) {
        const gc_stackmap_range *range = &map->ranges[i];
        if (offset < range->start || offset >= range->end) continue;
        for (uint32_t k = 0; k < map->change_count; k++) {
            const gc_stackmap_change *change = &map->changes[k];
            if (change->offset < range->start || change->offset > offset) continue;
            *live = change->live ? *live | BIT(change->slot) : *live & ~BIT(change->slot);
        }
        return true;
    }
    for (uint32_t i = 0; i < map->point_count && frame->kind == GC_FRAME_CALLER; i++) {
        if (map->points[i].offset != offset) continue;
        *live = *map->points[i].live;
        return true;
    }
    return false;
}

static inline const char *plain_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    const gc_stackmap_method *map = &((const method *)frame->code->host)->map;
    uint64_t live;
    if (!plain_live(frame, &live)) return "it is no place to stop at";
    for (uint32_t i = 0; i < map->slot_count; i++) {
        const gc_stackmap_slot *slot = &map->slots[i];
        bool scratch = slot->place == GC_PLACE_REGISTER && !(GC__CODE_PRESERVED >> slot->number & 1);
        if (!(live >> i & 1 || slot->untracked) || (scratch && frame->kind == GC_FRAME_CALLER)) continue;
        uintptr_t base = slot->place == GC_PLACE_CFA  ? frame->cfa
                         : slot->place == GC_PLACE_SP ? frame->sp
                                                      : *frame->registers[RBP];
        void *at = slot->place == GC_PLACE_REGISTER ? (void *)frame->registers[slot->number]
                                                    : (void *)(base + (uintptr_t)(intptr_t)slot->offset);
        if (!at) return "a register is not known";
        gc_visit(visitor, at, 1, slot->flags);
    }
    return NULL;
}

static inline bool plain_is_interruptible(const gc_code_cursor *frame) {
    uint64_t live;
    return plain_live(frame, &live);
}

static inline unsigned plain_return_kinds(const gc_code *code) {
    const gc_stackmap_method *map = &((const method *)code->host)->map;
    return map->returns[0] | (unsigned)map->returns[1] << 2;
}

static const gc_code_format plain_format = {.name = "plain",
                                            .visit = plain_visit,
                                            .layout = plain_layout,
                                            .is_interruptible = plain_is_interruptible,
                                            .return_kinds = plain_return_kinds};
