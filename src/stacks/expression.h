/* Evaluating DWARF's expressions, by which few frames say where a register is: those of signal handlers and of stubs. */
#pragma once

#include "bytes.h"
#include "frame.h"

#define GC__EXPRESSION_DEPTH 16
#define GC__EXPRESSION_STEPS 256

typedef struct gc__expression {
    gc__byte_reader reader;
    gc__native_cursor *frame;
    uintptr_t stack[GC__EXPRESSION_DEPTH];
    unsigned depth;
    bool is_wrong;
} gc__expression;

GC__FN void gc__expression_push(gc__expression *e, uintptr_t value) {
    if (e->depth == GC__EXPRESSION_DEPTH)
        e->is_wrong = true;
    else
        e->stack[e->depth++] = value;
}

GC__FN uintptr_t gc__expression_pop(gc__expression *e) {
    if (e->depth) return e->stack[--e->depth];
    e->is_wrong = true;
    return 0;
}

GC__FN void gc__expression_pick(gc__expression *e, uint64_t index) {
    e->is_wrong |= index >= e->depth;
    gc__expression_push(e, e->is_wrong ? 0 : e->stack[e->depth - 1 - index]);
}

GC__FN void gc__expression_register(gc__expression *e, uint64_t number, int64_t offset) {
    uintptr_t value = 0;
    e->is_wrong |= !gc__native_register(e->frame, number, &value);
    gc__expression_push(e, value + (uintptr_t)offset);
}

GC__FN void gc__expression_load(gc__expression *e) {
    uintptr_t value = 0;
    e->is_wrong |= !gc__native_read(e->frame, gc__expression_pop(e), &value);
    gc__expression_push(e, value);
}

/* What takes two numbers: `a` was pushed before `b`. */
GC__FN uintptr_t gc__expression_two(gc__expression *e, unsigned op, uintptr_t a, uintptr_t b) {
    intptr_t x = (intptr_t)a, y = (intptr_t)b;
    switch (op) {
    case 0x1a:
        return a & b;
    case 0x1c:
        return a - b;
    case 0x1e:
        return a * b;
    case 0x21:
        return a | b;
    case 0x22:
        return a + b;
    case 0x24:
        return b < 64 ? a << b : 0;
    case 0x25:
        return b < 64 ? a >> b : 0;
    case 0x27:
        return a ^ b;
    case 0x29:
        return x == y;
    case 0x2a:
        return x >= y;
    case 0x2b:
        return x > y;
    case 0x2c:
        return x <= y;
    case 0x2d:
        return x < y;
    case 0x2e:
        return x != y;
    default:
        e->is_wrong = true;
        return 0;
    }
}

/* What takes no two numbers, but for the ranges of numbers and registers. */
GC__FN void gc__expression_other(gc__expression *e, unsigned op) {
    gc__byte_reader *reader = &e->reader;
    switch (op) {
    case 0x03:
        gc__expression_push(e, gc__byte_number(reader, 8));
        break;
    case 0x06:
        gc__expression_load(e);
        break;
    case 0x08:
    case 0x0a:
    case 0x0c:
    case 0x0e:
        gc__expression_push(e, gc__byte_number(reader, 1u << (op - 0x08) / 2));
        break;
    case 0x09:
    case 0x0b:
    case 0x0d:
    case 0x0f:
        gc__expression_push(e, (uintptr_t)gc__byte_signed(reader, 1u << (op - 0x09) / 2));
        break;
    case 0x10:
        gc__expression_push(e, gc__byte_uleb(reader));
        break;
    case 0x11:
        gc__expression_push(e, (uintptr_t)gc__byte_sleb(reader));
        break;
    case 0x12:
        gc__expression_pick(e, 0);
        break;
    case 0x13:
        gc__expression_pop(e);
        break;
    case 0x14:
        gc__expression_pick(e, 1);
        break;
    case 0x15:
        gc__expression_pick(e, gc__byte_number(reader, 1));
        break;
    case 0x1f:
        gc__expression_push(e, 0 - gc__expression_pop(e));
        break;
    case 0x20:
        gc__expression_push(e, ~gc__expression_pop(e));
        break;
    case 0x23:
        gc__expression_push(e, gc__expression_pop(e) + gc__byte_uleb(reader));
        break;
    case 0x96:
        break;
    default:
        e->is_wrong = true;
        break;
    }
}

GC__FN void gc__expression_step(gc__expression *e) {
    unsigned op = (unsigned)gc__byte_number(&e->reader, 1);
    bool takes_two = (op >= 0x1a && op <= 0x1e) || (op >= 0x21 && op <= 0x2e && op != 0x23 && op != 0x28);
    if (op >= 0x30 && op <= 0x4f) {
        gc__expression_push(e, op - 0x30);
    } else if (op >= 0x70 && op <= 0x8f) {
        gc__expression_register(e, op - 0x70, gc__byte_sleb(&e->reader));
    } else if (takes_two) {
        uintptr_t b = gc__expression_pop(e), a = gc__expression_pop(e);
        gc__expression_push(e, gc__expression_two(e, op, a, b));
    } else {
        gc__expression_other(e, op);
    }
}

/* The value of the expression, which its length precedes, with `first` on the stack if `has_first`. False: it is damaged, or
   needs what is not known. */
GC__FN bool gc__expression_value(gc__native_cursor *frame, gc__byte_reader reader, const uintptr_t *first,
                                 uintptr_t *value) {
    gc__expression e;
    uint64_t bytes = gc__byte_uleb(&reader);
    const uint8_t *start = gc__byte_skip(&reader, bytes);
    memset(&e, 0, sizeof e);
    if (!start) return false;
    e.frame = frame;
    e.reader = gc__byte_reader_of((uintptr_t)start, (uintptr_t)(start + bytes));
    if (first) gc__expression_push(&e, *first);
    for (int i = 0; i < GC__EXPRESSION_STEPS && e.reader.at < e.reader.end && !e.is_wrong && !e.reader.is_broken; i++)
        gc__expression_step(&e);
    *value = gc__expression_pop(&e);
    return !e.is_wrong && !e.reader.is_broken;
}
