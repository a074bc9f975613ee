/* frame.c - prolog, epilog, calls and allocations. */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

static const int argument_registers[] = {RDI, RSI, RDX, RCX, R8, R9};

/* Moves that happen at once: arguments into their registers, parameters into their homes. */

typedef struct moving {
    int to;   /* a register; -1: to the stack */
    int from; /* a register; -1: from the stack, or a literal */
    const ir_value *value;
    holding what;
    bool is_float, done;
} moving;

typedef struct moves {
    moving list[PARAMETERS_MAX + 1];
    int count;
} moves;

static void hold(generator *g, int location, holding what) { track_hold(&g->t, location, what); }

static void move_add(moves *m, int to, int from, const ir_value *value) {
    m->list[m->count++] = (moving){to, from, value, holding_of(value->class), value->class == CLASS_FLOAT, false};
}

static void move_to_stack(generator *g, moving *m) {
    if (m->is_float) {
        asm_float_store(g->a, home_memory(g, m->value->home), m->from);
    } else {
        asm_store(g->a, home_memory(g, m->value->home), m->from);
        hold(g, location_of(m->value->home), m->what);
    }
    m->done = true;
}

static bool is_source(const moves *m, int reg) {
    for (int i = 0; i < m->count; i++) {
        const moving *each = &m->list[i];
        if (!each->done && !each->is_float && each->from == reg && each->to != reg) return true;
    }
    return false;
}

/* Moves one register that no other move waits for; false: all that are left go round in circles, or none is left. */
static bool move_one(generator *g, moves *m) {
    for (int i = 0; i < m->count; i++) {
        moving *each = &m->list[i];
        if (each->done || each->is_float || each->from < 0 || (each->to != each->from && is_source(m, each->to)))
            continue;
        if (each->to != each->from) asm_mov(g->a, each->to, each->from);
        hold(g, each->to, each->what);
        return each->done = true;
    }
    return false;
}

/* Turns a circle by exchanging two registers of it. */
static bool move_circle(generator *g, moves *m) {
    moving *first = NULL;
    for (int i = 0; i < m->count && !first; i++)
        if (!m->list[i].done && !m->list[i].is_float && m->list[i].from >= 0) first = &m->list[i];
    if (!first) return false;
    int to = first->to, from = first->from;
    holding other = (holding)g->t.holds[to];
    asm_xchg(g->a, to, from);
    hold(g, to, first->what);
    hold(g, from, other);
    first->done = true;
    for (int i = 0; i < m->count; i++) {
        moving *each = &m->list[i];
        if (each->done || each->is_float) continue;
        each->from = each->from == to ? from : each->from == from ? to : each->from;
    }
    return true;
}

static void move_from_stack_or_float(generator *g, moving *m) {
    if (m->value->is_literal) {
        asm_mov_imm(g->a, m->to, m->value->literal);
        hold(g, m->to, HOLDS_NOTHING);
    } else if (!m->is_float) {
        asm_load(g->a, m->to, home_memory(g, m->value->home));
        hold(g, m->to, m->what);
    } else if (m->from < 0) {
        asm_float_load(g->a, m->to, home_memory(g, m->value->home));
    } else if (m->from != m->to) {
        asm_float_mov(g->a, m->to, m->from);
    }
    m->done = true;
}

/* Registers of floats that are written are none that are read. */
static void moves_write(generator *g, moves *m) {
    for (int i = 0; i < m->count; i++)
        if (m->list[i].to < 0) move_to_stack(g, &m->list[i]);
    do
        while (move_one(g, m)) continue;
    while (move_circle(g, m));
    for (int i = 0; i < m->count; i++)
        if (!m->list[i].done) move_from_stack_or_float(g, &m->list[i]);
}

/* Prolog and epilog. */

static const int saved_order[] = {RBX, RBP, R12, R13, R14};

static void write_pushes(generator *g) {
    assembler *a = g->a;
    if (g->f->is_debug) {
        asm_push(a, RBP);
        track_unwind(&g->t, GC_UNWIND_PUSH, RBP, 0);
        asm_mov(a, RBP, RSP);
        track_unwind(&g->t, GC_UNWIND_FRAME, 0, 0);
    }
    for (size_t i = 0; i < sizeof saved_order / sizeof *saved_order; i++) {
        if (!(g->f->preserved >> saved_order[i] & 1)) continue;
        asm_push(a, saved_order[i]);
        track_unwind(&g->t, GC_UNWIND_PUSH, saved_order[i], 0);
    }
    if (g->frame_bytes) {
        asm_alu_imm(a, ASM_SUB, RSP, g->frame_bytes);
        track_unwind(&g->t, GC_UNWIND_ALLOCATE, 0, g->frame_bytes);
    }
    g->prolog_bytes = a->bytes;
}

static void gather_parameters(generator *g, moves *m) {
    const ir_function *f = g->f;
    int ints = 0, floats = 0;
    for (int v = 0; v < f->source->parameter_count; v++) {
        const ir_value *value = &f->values[v];
        int from = value->class == CLASS_FLOAT ? floats++ : argument_registers[ints++];
        if (value->home.place == HOME_NONE || (!f->is_debug && !set_has(f->live_entry, v))) continue;
        move_add(m, value->home.place == HOME_STACK ? -1 : value->home.number, from, value);
    }
}

/* In debug code variables are live before they are assigned. */
static void clear_variables(generator *g) {
    for (uint32_t v = (uint32_t)g->f->source->parameter_count; v < g->f->value_count; v++) {
        const ir_value *value = &g->f->values[v];
        if (!value->variable || !class_is_reference(value->class) || value->home.place == HOME_NONE) continue;
        if (value->home.place == HOME_REGISTER)
            asm_zero(g->a, value->home.number);
        else
            asm_store_imm(g->a, home_memory(g, value->home), 0);
        hold(g, location_of(value->home), holding_of(value->class));
    }
}

void write_prolog(generator *g) {
    moves parameters = {.count = 0};
    write_pushes(g);
    if (g->f->calls) {
        asm_alu_load(g->a, ASM_CMP, RSP, at_fs(runtime_stack_limit_offset()));
        asm_jump_if(g->a, IF_BELOW, cold_failure(g, ENTRY_fail_stack, NULL));
    }
    gather_parameters(g, &parameters);
    if (g->f->is_debug) {
        memset(g->holds, HOLDS_NOTHING, (size_t)location_count(&g->t));
        for (int i = 0; i < parameters.count; i++)
            if (!parameters.list[i].is_float) g->holds[parameters.list[i].from] = (uint8_t)parameters.list[i].what;
        track_open(&g->t, g->holds);
    }
    moves_write(g, &parameters);
    if (g->f->is_debug) clear_variables(g);
}

void write_epilog(generator *g) {
    assembler *a = g->a;
    track_close(&g->t);
    if (g->frame_bytes) {
        asm_alu_imm(a, ASM_ADD, RSP, g->frame_bytes);
        track_unwind(&g->t, GC_UNWIND_ALLOCATE, 0, -g->frame_bytes);
    }
    for (size_t i = sizeof saved_order / sizeof *saved_order; i-- > 0;) {
        if (!(g->f->preserved >> saved_order[i] & 1)) continue;
        asm_pop(a, saved_order[i]);
        track_unwind(&g->t, GC_UNWIND_POP, saved_order[i], 0);
    }
    if (g->f->is_debug) {
        asm_pop(a, RBP);
        track_unwind(&g->t, GC_UNWIND_POP, RBP, 0);
    }
    asm_ret(a);
    if (g->colds) track_unwind(&g->t, GC_UNWIND_BODY, 0, 0);
}

/* Calls. */

/* Says what is live when the call that has just been written returns. */
static void after_call(generator *g, const ir *i) {
    if (!g->t.is_open) {
        holds_after_call(g, i, g->holds);
        track_point(&g->t, g->holds);
        return;
    }
    for (int reg = 0; reg < REGISTER_LOCATIONS; reg++)
        if (reg != RBX && reg != RBP && reg < R12) hold(g, reg, HOLDS_NOTHING);
    if (i->to >= 0) hold(g, RAX, holding_of_value(g, i->to));
}

static void gather_arguments(generator *g, const ir *i, moves *m) {
    int ints = i->op == IR_CALL_NATIVE || i->op == IR_CALL_DELEGATE, floats = 0;
    for (int n = 0; n < i->argument_count; n++) {
        const ir_value *value = &g->f->values[i->arguments[n]];
        int to = value->class == CLASS_FLOAT ? floats++ : argument_registers[ints++];
        move_add(m, to, value->home.place == HOME_STACK || value->is_literal ? -1 : value->home.number, value);
    }
}

static void put_result(generator *g, const ir *i) {
    if (i->to < 0) return;
    if (g->f->values[i->to].class != CLASS_FLOAT) {
        put(g, i->to, RAX);
        return;
    }
    ir_home home = g->f->values[i->to].home;
    if (home.place == HOME_VECTOR)
        asm_float_mov(g->a, home.number, 0);
    else if (home.place == HOME_STACK)
        asm_float_store(g->a, home_memory(g, home), 0);
}

void write_call(generator *g, const ir *i) {
    moves arguments = {.count = 0};
    gather_arguments(g, i, &arguments);
    if (i->op == IR_CALL_DELEGATE) {
        into_register(g, i->a, RAX);
        moves_write(g, &arguments);
        asm_load(g->a, RDI, at(RAX, offsetof(delegate, receiver)));
        asm_comment(g->a, "receiver");
        hold(g, RDI, HOLDS_REF);
        asm_call_memory(g->a, at(RAX, offsetof(delegate, code)));
    } else {
        moves_write(g, &arguments);
        if (i->op == IR_CALL_NATIVE) {
            int function = ENTRY_NATIVES + (int)i->native;
            asm_mov(g->a, RDI, THREAD);
            hold(g, RDI, HOLDS_NOTHING);
            asm_call(g->a, SYMBOL_ENTRIES + function, entries[function].name);
        } else {
            asm_call(g->a, symbol_of_function(i->callee), i->callee->full_name);
        }
    }
    after_call(g, i);
    put_result(g, i);
}

static void write_poll_slow(generator *g, const cold *c) {
    asm_mov(g->a, RDI, THREAD);
    asm_call(g->a, SYMBOL_ENTRIES + ENTRY_poll, entries[ENTRY_poll].name);
    track_point(&g->t, c->holds);
    asm_jump(g->a, c->back);
}

void write_poll(generator *g, const ir *i) {
    cold *c = cold_add(g, i, write_poll_slow);
    c->back = asm_label(g->a);
    asm_cmp_word_imm(g->a, at(THREAD, offsetof(gc_thread, poll)), 0);
    asm_jump_if(g->a, IF_NOT_EQUAL, c->label);
    asm_place(g->a, c->back);
}

/* Allocations: the thread's window is a piece of zeroed memory. Between reading its start and writing its header no thread may
   be stopped. */

static const gc_type *type_of_new(const ir *i) {
    return i->op == IR_NEW         ? layout_of_class(i->of_class)
           : i->op == IR_NEW_ARRAY ? layout_of_array(i->element)
                                   : &delegate_layout;
}

static void write_new_slow(generator *g, const cold *c) {
    const ir *i = c->cause;
    const gc_type *type = type_of_new(i);
    int function = i->op == IR_NEW_ARRAY ? ENTRY_allocate_array : ENTRY_allocate;
    if (i->op == IR_NEW_ARRAY) into_register(g, i->arguments[0], RDX);
    asm_mov(g->a, RDI, THREAD);
    asm_mov_address(g->a, RSI, type);
    asm_comment(g->a, "%s", type->name);
    asm_call(g->a, SYMBOL_ENTRIES + function, entries[function].name);
    track_point(&g->t, c->holds);
    asm_jump(g->a, c->back);
}

/* rax = the object, whose end is at the address, and whose header has its type. */
static void write_bump(generator *g, asm_memory end, const gc_type *type, int slow) {
    assembler *a = g->a;
    asm_load(a, RAX, at(THREAD, offsetof(gc_thread, window.next)));
    asm_comment(a, "window.next");
    asm_lea(a, RDX, end);
    asm_alu_load(a, ASM_CMP, RDX, at(THREAD, offsetof(gc_thread, window.limit)));
    asm_comment(a, "window.limit");
    asm_jump_if(a, IF_ABOVE, slow);
    asm_store(a, at(THREAD, offsetof(gc_thread, window.next)), RDX);
    asm_mov_address(a, RDX, type);
    asm_comment(a, "%s", type->name);
    asm_store(a, at(RAX, 0), RDX);
}

/* The first fields need no barrier: the object is new, and nothing has collected since. */
static void write_fields(generator *g, const ir *i) {
    int32_t first = i->op == IR_NEW_DELEGATE ? (int32_t)offsetof(delegate, receiver) : OBJECT_HEADER_BYTES;
    for (int n = 0; n < i->argument_count; n++) {
        const ir_value *value = &g->f->values[i->arguments[n]];
        asm_memory field_at = at(RAX, first + 8 * n);
        if (value->is_literal && value->literal == (int32_t)value->literal) {
            if (value->literal) asm_store_imm(g->a, field_at, (int32_t)value->literal);
        } else if (value->home.place == HOME_VECTOR)
            asm_float_store(g->a, field_at, value->home.number);
        else
            asm_store(g->a, field_at, in_register(g, i->arguments[n], RCX));
    }
}

void write_new(generator *g, const ir *i) {
    const gc_type *type = type_of_new(i);
    track_close(&g->t);
    cold *c = cold_add(g, i, write_new_slow);
    c->back = asm_label(g->a);
    write_bump(g, at(RAX, type->bytes < 16 ? 16 : (int32_t)type->bytes), type, c->label);
    asm_place(g->a, c->back);
    write_fields(g, i);
    if (i->op == IR_NEW_DELEGATE) {
        asm_lea_symbol(g->a, RCX, symbol_of_function(i->callee), i->callee->full_name);
        asm_store(g->a, at(RAX, offsetof(delegate, code)), RCX);
    }
    put(g, i->to, RAX);
}

#define INLINE_LENGTH_MAX 1024

void write_new_array(generator *g, const ir *i) {
    const gc_type *type = type_of_new(i);
    const ir_value *length = &g->f->values[i->arguments[0]];
    bool is_known = length->is_literal && length->literal >= 0 && length->literal <= INLINE_LENGTH_MAX;
    asm_memory length_at = at(RAX, offsetof(gc_array, length));
    track_close(&g->t);
    cold *c = cold_add(g, i, write_new_slow);
    c->back = asm_label(g->a);
    if (is_known) {
        write_bump(g, at(RAX, (int32_t)sizeof(gc_array) + 8 * (int32_t)length->literal), type, c->label);
        asm_store_imm(g->a, length_at, (int32_t)length->literal);
    } else {
        int reg = in_register(g, i->arguments[0], RCX);
        asm_alu_imm(g->a, ASM_CMP, reg, INLINE_LENGTH_MAX);
        asm_jump_if(g->a, IF_ABOVE, c->label); /* or negative */
        write_bump(g, at_index(RAX, reg, 8, sizeof(gc_array)), type, c->label);
        asm_store(g->a, length_at, reg);
    }
    asm_place(g->a, c->back);
    put(g, i->to, RAX);
}
