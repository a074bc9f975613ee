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
    bool by_frame; /* CFA = rbp + cfa; else CFA = stack pointer + cfa */
    int32_t cfa;
    int32_t
        saved[GC_CODE_REGISTERS]; /* the caller's value of the register is at CFA + saved; 0: it is in the register */
} gc__frame_layout;

/* Takes the rows of a map in turn. */
typedef struct gc__unwind_cursor {
    gc__bit_reader reader;
    uint64_t at; /* where the bits of the last row begin */
    uint32_t left;
    gc_stackmap_unwind row; /* the last one */
} gc__unwind_cursor;

/* The bytes that the instruction of a row usually takes, which need not be stored. `before` is the row before it. */
GC__FN uint32_t gc__unwind_usual_bytes(const gc_stackmap_unwind *before, const gc_stackmap_unwind *row) {
    switch (row->op) {
    case GC_UNWIND_POP: /* the instruction `leave` is two rows */
        if (before->op == GC_UNWIND_LEAVE && row->number == GC__FRAME_POINTER) return 0;
        return row->number >= 8 && row->number < GC_CODE_REGISTERS ? 2 : 1;
    case GC_UNWIND_PUSH:
        return row->number >= 8 && row->number < GC_CODE_REGISTERS ? 2 : 1;
    case GC_UNWIND_ALLOCATE:
        return row->bytes >= -128 && row->bytes <= 127 ? 4 : 7;
    case GC_UNWIND_FRAME:
        return row->bytes ? 5 : 3;
    case GC_UNWIND_SAVE:
    case GC_UNWIND_RESTORE:
        return 5;
    case GC_UNWIND_LEAVE:
        return row->bytes ? 4 : 1;
    default:
        return 1;
    }
}

GC__FN bool gc__unwind_has_number(uint8_t op) {
    return op == GC_UNWIND_PUSH || op == GC_UNWIND_POP || op == GC_UNWIND_SAVE || op == GC_UNWIND_RESTORE;
}
GC__FN bool gc__unwind_has_bytes(uint8_t op) {
    return op == GC_UNWIND_ALLOCATE || op == GC_UNWIND_SAVE || op == GC_UNWIND_FRAME || op == GC_UNWIND_LEAVE;
}

/* Registers are written by their place in this table; 7 means that the number itself follows. */
static const uint8_t gc__unwind_registers[8] = {3, 5, 12, 13, 14, 15, GC_NO_REGISTER, 0};

GC__FN gc__unwind_cursor gc__unwind_begin(const gc__stackmap *map) {
    gc__unwind_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.reader = gc__bits_read_from(&map->bits, map->unwind);
    cursor.left = map->facts.unwind_count;
    return cursor;
}

/* The next row; false: there is none. */
GC__FN bool gc__unwind_next(gc__unwind_cursor *cursor) {
    if (!cursor->left) return false;
    gc__bit_reader *reader = &cursor->reader;
    gc_stackmap_unwind before = cursor->row, row = {0, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, 0};
    cursor->at = reader->at;
    uint32_t word = gc__bits_read(reader, 2);
    if (word <= GC__UNWIND_CODE_POP)
        row.op = word == GC__UNWIND_CODE_PUSH ? GC_UNWIND_PUSH : GC_UNWIND_POP;
    else if (word == GC__UNWIND_CODE_OTHER)
        row.op = (uint8_t)(GC_UNWIND_SAVE + gc__bits_read(reader, 3));
    if (gc__unwind_has_number(row.op)) {
        uint32_t index = gc__bits_read(reader, 3);
        row.number = index < 7 ? gc__unwind_registers[index] : (uint8_t)gc__bits_read(reader, 4);
    }
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

/* Rows act on `now`; when the first one behind the prolog comes, `body` becomes a copy of it. */
typedef struct gc__unwind_state {
    gc__unwind_frame now, body;
    uint32_t prolog_bytes;
    bool in_body;
    bool dynamic; /* the method allocates stack of variable size: after the prolog, only rbp finds the frame */
    /* By these the slots of the method are checked. */
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

/* The register has its caller's value again. */
GC__INLINED void gc__unwind_take_back(gc__unwind_frame *now, unsigned number) {
    now->layout.saved[number & (GC_CODE_REGISTERS - 1)] = 0;
    if (number == GC__FRAME_POINTER) now->layout.by_frame = false;
}

/* Lets a row act that is known to be right. Sums are unsigned, since in a dynamic stack the depth may be anything. */
GC__INLINED void gc__unwind_act(gc__unwind_frame *now, const gc__unwind_frame *body, const gc_stackmap_unwind *row) {
    uint32_t depth = (uint32_t)now->depth, bytes = (uint32_t)row->bytes;
    int32_t *saved = &now->layout.saved[row->number & (GC_CODE_REGISTERS - 1)];
    switch (row->op) {
    case GC_UNWIND_PUSH:
        now->depth = (int32_t)(depth + 8);
        if (row->number != GC_NO_REGISTER) *saved = (int32_t)(0 - depth - 8);
        break;
    case GC_UNWIND_POP:
        now->depth = (int32_t)(depth - 8);
        if (row->number != GC_NO_REGISTER) gc__unwind_take_back(now, row->number);
        break;
    case GC_UNWIND_ALLOCATE:
        now->depth = (int32_t)(depth + bytes);
        break;
    case GC_UNWIND_SAVE:
        *saved = (int32_t)(bytes - depth);
        break;
    case GC_UNWIND_RESTORE:
        gc__unwind_take_back(now, row->number);
        break;
    case GC_UNWIND_FRAME:
        now->layout.by_frame = true;
        now->layout.cfa = (int32_t)(depth - bytes);
        break;
    case GC_UNWIND_LEAVE:
        now->layout.by_frame = false;
        now->depth = (int32_t)((uint32_t)now->layout.cfa + bytes);
        break;
    default:
        *now = *body;
        break;
    }
}

/* Why a row cannot save the register `number` when the stack pointer is `depth` below the CFA. */
GC__FN const char *gc__unwind_save_fault(const gc__unwind_state *state, unsigned number, int64_t depth, int64_t bytes) {
    const int32_t *saved = state->now.layout.saved;
    if (number >= GC_CODE_REGISTERS || number == GC__STACK_POINTER) return "there is no such register to save";
    if (saved[number]) return "the register is saved already";
    if (bytes < 0 || bytes > depth - 16) return "the place is outside of the frame";
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (saved[i] == bytes - depth) return "another register is saved at the same place";
    return NULL;
}

GC__FN const char *gc__unwind_take_back_fault(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    int32_t place = row->number < GC_CODE_REGISTERS ? state->now.layout.saved[row->number] : 0;
    if (!place) return "the register is not saved";
    if (row->op == GC_UNWIND_POP)
        return place == -state->now.depth ? NULL : "the register is not saved at the stack pointer";
    bool loses = state->dynamic && row->number == GC__FRAME_POINTER && state->now.layout.by_frame;
    return loses ? "only rbp finds the frame, since the stack is dynamic" : NULL;
}

GC__FN const char *gc__unwind_frame_fault(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    const gc__unwind_frame *now = &state->now;
    if (row->op == GC_UNWIND_LEAVE) return now->layout.by_frame ? NULL : "rbp is not the frame pointer here";
    if (now->layout.by_frame) return "rbp is the frame pointer already";
    if (!now->layout.saved[GC__FRAME_POINTER]) return "rbp is not saved";
    if (row->bytes < 0 || row->bytes > now->depth - 16) return "rbp would not point into the frame";
    if (state->frame_cfa && state->frame_cfa != now->depth - row->bytes)
        return "rbp would point to another place of the frame than before";
    return NULL;
}

/* Where the stack pointer is after the row, as a distance from the CFA. */
GC__FN int64_t gc__unwind_depth(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    int64_t depth = state->now.depth;
    switch (row->op) {
    case GC_UNWIND_PUSH:
        return depth + 8;
    case GC_UNWIND_POP:
        return depth - 8;
    case GC_UNWIND_ALLOCATE:
        return depth + row->bytes;
    case GC_UNWIND_LEAVE:
        return (int64_t)state->frame_cfa + row->bytes;
    default:
        return depth;
    }
}

/* Why the row cannot act; NULL: it can. */
GC__FN const char *gc__unwind_fault(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    const gc__unwind_frame *now = &state->now;
    int64_t depth = gc__unwind_depth(state, row);
    bool takes_back = row->op == GC_UNWIND_RESTORE || (row->op == GC_UNWIND_POP && row->number != GC_NO_REGISTER);
    bool saves = row->op == GC_UNWIND_SAVE || (row->op == GC_UNWIND_PUSH && row->number != GC_NO_REGISTER);
    const char *fault = NULL;
    if (row->op == GC_UNWIND_BODY) return state->in_body ? NULL : "no epilog can have ended in the prolog";
    if (row->op == GC_UNWIND_FRAME || row->op == GC_UNWIND_LEAVE) fault = gc__unwind_frame_fault(state, row);
    if (!fault && state->dynamic && state->in_body && now->layout.by_frame && row->op != GC_UNWIND_LEAVE &&
        row->op != GC_UNWIND_RESTORE)
        return saves || takes_back
                   ? "the stack pointer is not known before the frame is left, since the stack is dynamic"
                   : NULL;
    if (!fault && takes_back) fault = gc__unwind_take_back_fault(state, row);
    if (!fault && saves) fault = gc__unwind_save_fault(state, row->number, depth, row->bytes);
    if (fault) return fault;
    if (depth < 8) return "the return address would be below the stack pointer";
    if (depth > GC__FRAME_BYTES_MAX) return "the frame has more than 1 GiB";
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (now->layout.saved[i] < -depth && !(takes_back && i == row->number))
            return "a saved register would be below the stack pointer, and no row takes it back";
    return NULL;
}

GC__INLINED void gc__unwind_pass_prolog(gc__unwind_state *state, uint32_t offset) {
    if (state->in_body || offset <= state->prolog_bytes) return;
    state->in_body = true;
    state->body = state->now;
}

/* Checks a row, and lets it act. NULL, or why it cannot. */
GC__FN const char *gc__unwind_step(gc__unwind_state *state, const gc_stackmap_unwind *row) {
    gc__unwind_pass_prolog(state, row->offset);
    const char *fault = gc__unwind_fault(state, row);
    if (fault) return fault;
    bool known = !state->dynamic || !state->in_body || !state->now.layout.by_frame;
    gc__unwind_act(&state->now, &state->body, row);
    if (known && state->now.depth > state->depth_max) state->depth_max = state->now.depth;
    if (row->op == GC_UNWIND_FRAME) state->frame_cfa = state->now.layout.cfa;
    if ((row->op == GC_UNWIND_PUSH || row->op == GC_UNWIND_SAVE) && row->number != GC_NO_REGISTER)
        state->places[row->number] = state->now.layout.saved[row->number];
    return NULL;
}

/* Why the rows as a whole cannot describe the method; NULL: they can. */
GC__FN const char *gc__unwind_end_fault(const gc__unwind_state *state) {
    const gc__unwind_frame *body = state->in_body ? &state->body : &state->now;
    bool lost = state->dynamic && !body->layout.by_frame;
    return lost ? "a dynamic stack needs rbp as the frame pointer where the prolog ends: nothing else finds the return address"
                : NULL;
}

/* The layout of a frame whose pc is at `offset`: what the rows have done up to there. Without rows it is that of a method
   which has only been called: CFA = stack pointer + 8. False: `offset` is outside of the code. */
GC__FN bool gc__stackmap_layout(const void *start, uint32_t offset, gc_frame_kind kind, gc__frame_layout *layout) {
    gc__stackmap map;
    gc__unwind_frame now = {{false, 0, {0}}, 8}, body;
    gc__stackmap_open(&map, start, UINT64_MAX);
    gc__unwind_cursor rows = gc__unwind_begin(&map);
    uint64_t end = offset + (uint64_t)(kind == GC_FRAME_INTERRUPTED), prolog_bytes = map.facts.prolog_bytes;
    bool in_body = false;
    while (gc__unwind_next(&rows) && rows.row.offset < end) {
        if (!in_body && rows.row.offset > prolog_bytes) in_body = true, body = now;
        gc__unwind_act(&now, &body, &rows.row);
    }
    *layout = now.layout;
    if (!layout->by_frame) layout->cfa = now.depth;
    return kind == GC_FRAME_CALLER ? offset && offset <= map.facts.code_bytes : offset < map.facts.code_bytes;
}
