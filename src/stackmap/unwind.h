/* Where a frame's saved registers and its caller are: the unwind rows of a stack map. They may be read in signal handlers. */
#pragma once

#include "../api/stackmap.h"
#include "bits.h"
#include "decode.h"

/* The rows that only few methods have take five bits; a push, a pop, and an allocation take two. */
enum { GC__UNWIND_CODE_PUSH, GC__UNWIND_CODE_POP, GC__UNWIND_CODE_ALLOCATE, GC__UNWIND_CODE_OTHER };

/* The frame has at most this many bytes, so that no sum overflows. */
#define GC__FRAME_BYTES_MAX (1 << 30)

/* How to leave a frame. The return address is at CFA - 8, and the caller's stack pointer is the CFA. */
typedef struct gc__frame_layout {
    bool by_frame;                    /* CFA = rbp + cfa; else CFA = stack pointer + cfa */
    int32_t cfa;
    int32_t saved[GC_CODE_REGISTERS]; /* the caller's value of the register is at CFA + saved; 0: it is in the register */
} gc__frame_layout;

/* Takes the rows of a map in turn. */
typedef struct gc__unwind_cursor {
    gc__bit_reader reader;
    uint64_t at;            /* where the bits of the last row begin */
    uint32_t left;
    gc_stackmap_unwind row; /* the last one */
} gc__unwind_cursor;

/* The bytes that the instruction of a row usually takes, which need not be stored. `before` is the row before it. */
GC__FN uint32_t gc__unwind_usual_bytes(const gc_stackmap_unwind *before, const gc_stackmap_unwind *row) {
    switch (row->op) {
    case GC_UNWIND_POP: /* the instruction `leave` is two rows */
        if (before->op == GC_UNWIND_LEAVE && row->number == GC__FRAME_POINTER) return 0;
        return row->number >= 8 && row->number < GC_CODE_REGISTERS ? 2 : 1;
    case GC_UNWIND_PUSH: return row->number >= 8 && row->number < GC_CODE_REGISTERS ? 2 : 1;
    case GC_UNWIND_ALLOCATE: return row->bytes >= -128 && row->bytes <= 127 ? 4 : 7;
    case GC_UNWIND_FRAME: return row->bytes ? 5 : 3;
    case GC_UNWIND_SAVE:
    case GC_UNWIND_RESTORE: return 5;
    case GC_UNWIND_LEAVE: return row->bytes ? 4 : 1;
    default: return 1;
    }
}

GC__FN bool gc__unwind_has_number(uint8_t op) {
    return op == GC_UNWIND_PUSH || op == GC_UNWIND_POP || op == GC_UNWIND_SAVE || op == GC_UNWIND_RESTORE;
}
GC__FN bool gc__unwind_has_bytes(uint8_t op) {
    return op == GC_UNWIND_ALLOCATE || op == GC_UNWIND_SAVE || op == GC_UNWIND_FRAME || op == GC_UNWIND_LEAVE;
}

/* Registers are written by their place in this table; after it, 7 means that the number itself follows. */
static const uint8_t gc__unwind_registers[8] = {3, 5, 12, 13, 14, 15, GC_NO_REGISTER, 0};

GC__FN uint8_t gc__unwind_read_register(gc__bit_reader *reader) {
    uint32_t index = gc__bits_read(reader, 3);
    return index < 7 ? gc__unwind_registers[index] : (uint8_t)gc__bits_read(reader, 4);
}

GC__FN gc__unwind_cursor gc__unwind_begin(const gc__stackmap *map) {
    gc__unwind_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.reader.bits = map->bits;
    cursor.reader.at = map->unwind;
    cursor.left = map->facts.unwind_count;
    return cursor;
}

/* The next row; false: there is none. */
GC__FN bool gc__unwind_next(gc__unwind_cursor *cursor) {
    if (!cursor->left) return false;
    gc__bit_reader *reader = &cursor->reader;
    gc_stackmap_unwind before = cursor->row, row = {0, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, 0};
    cursor->at = reader->at;
    uint32_t code = gc__bits_read(reader, 2);
    if (code <= GC__UNWIND_CODE_POP) {
        row.op = code == GC__UNWIND_CODE_PUSH ? GC_UNWIND_PUSH : GC_UNWIND_POP;
    } else if (code == GC__UNWIND_CODE_OTHER) {
        row.op = (uint8_t)(GC_UNWIND_SAVE + gc__bits_read(reader, 3));
    }
    if (gc__unwind_has_number(row.op)) row.number = gc__unwind_read_register(reader);
    if (gc__unwind_has_bytes(row.op)) row.bytes = gc__stackmap_signed_words(reader, GC__BASE_AREA);
    bool usual = gc__bits_read(reader, 1);
    uint64_t offset = before.offset;
    offset += usual ? gc__unwind_usual_bytes(&before, &row) : gc__bits_read_number(reader, GC__BASE_MANY);
    reader->malformed |= offset > UINT32_MAX;
    row.offset = (uint32_t)offset;
    cursor->row = row;
    cursor->left--;
    return true;
}

/* A frame while its rows act. */
typedef struct gc__unwind_frame {
    gc__frame_layout layout; /* its cfa holds only while the frame is found by rbp */
    int32_t depth;           /* CFA - stack pointer: that includes the return address */
} gc__unwind_frame;

typedef struct gc__unwind_state {
    gc__unwind_frame now, body; /* body: at the end of the prolog */
    uint32_t prolog_bytes;
    bool dynamic; /* the method allocates stack of variable size: after the prolog, rbp alone finds the frame */
    bool in_body;
    /* What the slots of the method are checked by. */
    int32_t depth_max;
    int32_t frame_cfa;                 /* CFA - rbp, wherever rbp is the frame pointer; 0: it never is */
    int32_t places[GC_CODE_REGISTERS]; /* where each register was saved last */
} gc__unwind_state;

GC__FN gc__unwind_state gc__unwind_start(uint32_t prolog_bytes, uint16_t flags) {
    gc__unwind_state state;
    memset(&state, 0, sizeof state);
    state.now.depth = state.depth_max = 8;
    state.prolog_bytes = prolog_bytes;
    state.dynamic = (flags & GC_METHOD_DYNAMIC_STACK) != 0;
    return state;
}

GC__FN const char *gc__unwind_move(gc__unwind_state *state, int64_t depth) {
    if (depth < 8) return "the return address would be below the stack pointer";
    if (depth > GC__FRAME_BYTES_MAX) return "the frame has more than 1 GiB";
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (state->now.layout.saved[i] < -depth) return "a saved register would be below the stack pointer, and no row takes it back";
    state->now.depth = (int32_t)depth;
    if (depth > state->depth_max) state->depth_max = (int32_t)depth;
    return NULL;
}

GC__FN const char *gc__unwind_save(gc__unwind_state *state, unsigned number, int64_t place) {
    int32_t *saved = state->now.layout.saved;
    if (number >= GC_CODE_REGISTERS || number == GC__STACK_POINTER) return "there is no such register to save";
    if (saved[number]) return "the register is saved already";
    if (place < -(int64_t)state->now.depth || place > -16) return "the place is outside of the frame";
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (saved[i] == place) return "another register is saved at the same place";
    saved[number] = state->places[number] = (int32_t)place;
    return NULL;
}

/* The register has its caller's value again. */
GC__FN const char *gc__unwind_take_back(gc__unwind_state *state, unsigned number) {
    if (number >= GC_CODE_REGISTERS || !state->now.layout.saved[number]) return "the register is not saved";
    state->now.layout.saved[number] = 0;
    if (number == GC__FRAME_POINTER) state->now.layout.by_frame = false;
    return NULL;
}

GC__FN const char *gc__unwind_set_frame(gc__unwind_state *state, int64_t bytes) {
    gc__unwind_frame *now = &state->now;
    if (now->layout.by_frame) return "rbp is the frame pointer already";
    if (!now->layout.saved[GC__FRAME_POINTER]) return "rbp is not saved";
    if (bytes < 0 || bytes > now->depth - 16) return "rbp would not point into the frame";
    int32_t cfa = now->depth - (int32_t)bytes;
    if (state->frame_cfa && state->frame_cfa != cfa) return "rbp would point to another place of the frame than before";
    state->frame_cfa = now->layout.cfa = cfa;
    now->layout.by_frame = true;
    return NULL;
}

GC__FN const char *gc__unwind_leave(gc__unwind_state *state, int64_t bytes) {
    if (!state->now.layout.by_frame) return "rbp is not the frame pointer here";
    state->now.layout.by_frame = false;
    return gc__unwind_move(state, state->frame_cfa + bytes);
}

GC__FN const char *gc__unwind_pop(gc__unwind_state *state, unsigned number) {
    int32_t depth = state->now.depth;
    if (number != GC_NO_REGISTER) {
        if (number < GC_CODE_REGISTERS && state->now.layout.saved[number] && state->now.layout.saved[number] != -depth)
            return "the register is not saved at the stack pointer";
        const char *fault = gc__unwind_take_back(state, number);
        if (fault) return fault;
    }
    return gc__unwind_move(state, (int64_t)depth - 8);
}

/* The rows whose effect depends on where the stack pointer is. */
GC__FN const char *gc__unwind_act(gc__unwind_state *state, const gc_stackmap_unwind *row) {
    int64_t depth = state->now.depth;
    if (state->dynamic && state->now.layout.by_frame && state->in_body) {
        bool plain = row->op == GC_UNWIND_ALLOCATE || (row->op != GC_UNWIND_SAVE && row->number == GC_NO_REGISTER);
        return plain ? NULL : "the stack pointer is not known before the frame is left, since the stack is dynamic";
    }
    if (row->op == GC_UNWIND_ALLOCATE) return gc__unwind_move(state, depth + row->bytes);
    if (row->op == GC_UNWIND_POP) return gc__unwind_pop(state, row->number);
    if (row->op == GC_UNWIND_SAVE) return gc__unwind_save(state, row->number, row->bytes - depth);
    const char *fault = gc__unwind_move(state, depth + 8);
    if (fault || row->number == GC_NO_REGISTER) return fault;
    return gc__unwind_save(state, row->number, -depth - 8);
}

/* Lets a row act. NULL, or why it cannot. */
GC__FN const char *gc__unwind_step(gc__unwind_state *state, const gc_stackmap_unwind *row) {
    if (!state->in_body && row->offset > state->prolog_bytes) {
        state->in_body = true;
        state->body = state->now;
    }
    switch (row->op) {
    case GC_UNWIND_FRAME: return gc__unwind_set_frame(state, row->bytes);
    case GC_UNWIND_LEAVE: return gc__unwind_leave(state, row->bytes);
    case GC_UNWIND_RESTORE:
        if (row->number == GC__FRAME_POINTER && state->dynamic) return "rbp can only be popped, since the stack is dynamic";
        return gc__unwind_take_back(state, row->number);
    case GC_UNWIND_BODY:
        if (!state->in_body) return "no epilog can have ended in the prolog";
        state->now = state->body;
        return NULL;
    default: return gc__unwind_act(state, row);
    }
}

/* The layout of a frame whose pc is at `offset`: what the rows have done up to there. Without rows it is that of a method
   which has only been called: CFA = stack pointer + 8. False: `offset` is outside of the code. */
GC__FN bool gc__stackmap_layout(const void *start, uint32_t offset, gc_frame_kind kind, gc__frame_layout *layout) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    gc__unwind_state state = gc__unwind_start(map.facts.prolog_bytes, map.facts.flags);
    gc__unwind_cursor rows = gc__unwind_begin(&map);
    while (gc__unwind_next(&rows) && rows.row.offset + (uint64_t)(kind == GC_FRAME_CALLER) <= offset)
        gc__unwind_step(&state, &rows.row);
    *layout = state.now.layout;
    if (!layout->by_frame) layout->cfa = state.now.depth;
    return kind == GC_FRAME_CALLER ? offset && offset <= map.facts.code_bytes : offset < map.facts.code_bytes;
}
