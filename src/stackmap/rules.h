/* What a stack map may say: rules for the descriptions that are encoded, and for maps that are checked. Each returns NULL, or
   what is wrong. */
#pragma once

#include "../api/roots.h"
#include "../api/stackmap.h"
#include "decode.h"
#include "unwind.h"

GC__FN const char *gc__facts_fault(const gc_stackmap_facts *facts) {
    if (!facts->code_bytes) return "the method has no code";
    if (facts->prolog_bytes > facts->code_bytes) return "the prolog is longer than the code";
    if (facts->flags >= GC_METHOD_EDIT_AND_CONTINUE * 2) return "a flag of the method is unknown";
    if (facts->returns[0] > GC_RETURN_VALUE || facts->returns[1] > GC_RETURN_VALUE) return "a return kind is unknown";
    if (facts->outgoing_bytes > GC__FRAME_BYTES_MAX || facts->outgoing_bytes % 8)
        return "outgoing_bytes is no multiple of 8, or more than 1 GiB";
    if (facts->argument_bytes > GC__FRAME_BYTES_MAX || facts->argument_bytes % 8)
        return "argument_bytes is no multiple of 8, or more than 1 GiB";
    for (unsigned i = 0; i < 6; i++) {
        uint32_t flag = (uint32_t)(i < 5 ? GC_METHOD_SECURITY_OBJECT << i : GC_METHOD_EDIT_AND_CONTINUE);
        if (facts->extra[i] && !(facts->flags & flag)) return "an `extra` is set, but its flag is not";
        if (facts->extra[i] % 8) return "an `extra` is no multiple of 8";
    }
    if (facts->extra[5] < 0) return "the edit-and-continue area has less than no bytes";
    return NULL;
}

/* What a row may say whatever came before it. */
GC__FN const char *gc__unwind_row_fault(const gc_stackmap_unwind *row) {
    if (row->op > GC_UNWIND_BODY) return "its op is unknown";
    if (row->bytes % 8) return "its bytes are no multiple of 8";
    if (row->bytes && !gc__unwind_has_bytes(row->op)) return "its op has no bytes";
    if (!row->bytes && row->op == GC_UNWIND_ALLOCATE) return "it allocates nothing";
    return NULL;
}

/* A place by its distance from the CFA. */
GC__FN const char *gc__place_fault(int64_t place, const gc__unwind_state *frame, const gc_stackmap_facts *facts) {
    if (place == -8) return "it is the return address";
    if (place < -(int64_t)frame->depth_max || place >= (int64_t)facts->argument_bytes)
        return "it is outside of the frame";
    return NULL;
}

GC__FN const char *gc__stack_slot_fault(const gc_stackmap_slot *slot, const gc__unwind_state *frame,
                                        const gc_stackmap_facts *facts) {
    if (slot->offset % 8) return "its offset is no multiple of 8";
    if (slot->place == GC_PLACE_SP) {
        if (slot->offset < 0) return "it is below the stack pointer";
        if (slot->untracked && (uint32_t)slot->offset < facts->outgoing_bytes)
            return "it is untracked, but in the area of outgoing arguments";
        return frame->dynamic ? NULL : gc__place_fault((int64_t)slot->offset - frame->depth_max, frame, facts);
    }
    if (slot->place == GC_PLACE_FRAME && !frame->frame_cfa) return "no unwind row makes rbp the frame pointer";
    int64_t place = slot->offset - (int64_t)(slot->place == GC_PLACE_FRAME ? frame->frame_cfa : 0);
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (frame->places[i] && frame->places[i] == place) return "it is where a register is saved";
    return gc__place_fault(place, frame, facts);
}

/* `frame` is the state after all unwind rows. */
GC__FN const char *gc__slot_fault(const gc_stackmap_slot *slot, const gc__unwind_state *frame,
                                  const gc_stackmap_facts *facts) {
    if (slot->place > GC_PLACE_FRAME) return "its place is unknown";
    if (slot->flags & ~(GC_SLOT_INTERIOR | GC_SLOT_PINNED | GC_SLOT_VALUE)) return "one of its flags is unknown";
    if (slot->untracked > 1) return "untracked is neither 0 nor 1";
    if (slot->place != GC_PLACE_REGISTER) return gc__stack_slot_fault(slot, frame, facts);
    if (slot->untracked) return "a register cannot be untracked";
    if (slot->number >= GC_CODE_REGISTERS) return "there is no such register";
    if (slot->number == GC__STACK_POINTER) return "it is the stack pointer";
    if (slot->number == GC__FRAME_POINTER && frame->frame_cfa) return "rbp is the frame pointer";
    if (slot->offset) return "a register has no offset";
    return NULL;
}

/* Which section of the map a slot is in: 0, calls preserve it; 1, it is reported of the innermost frame only; 2, untracked. */
GC__FN unsigned gc__slot_section(const gc_stackmap_slot *slot, const gc_stackmap_facts *facts) {
    if (slot->untracked) return 2;
    if (slot->place == GC_PLACE_REGISTER) return GC__PRESERVED_REGISTERS >> slot->number & 1 ? 0 : 1;
    return slot->place == GC_PLACE_SP && (uint32_t)slot->offset < facts->outgoing_bytes;
}

/* The order in which a map has its slots: by section, flags, place, and number or offset. Equal only for equal slots. */
GC__FN uint64_t gc__slot_rank(const gc_stackmap_slot *slot, unsigned section) {
    uint32_t flags = (slot->flags & 3u) | (slot->flags & GC_SLOT_VALUE) >> 1;
    uint32_t where = slot->place == GC_PLACE_REGISTER ? slot->number : ((uint32_t)slot->offset ^ 0x80000000) >> 3;
    return (uint64_t)(section << 5 | flags << 2 | slot->place) << 29 | where;
}
