/* generate.c - writes machine code for the instructions of a function. rax, rcx, rdx and xmm14, xmm15 are no value's home. */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#define FLOAT_ONE 14
#define FLOAT_OTHER 15
#define ELEMENTS ((int32_t)sizeof(gc_array)) /* where elements start */

static const ir_value *value_at(const generator *g, int v) { return &g->f->values[v]; }

holding holding_of_value(const generator *g, int v) { return holding_of(value_at(g, v)->class); }

asm_memory home_memory(const generator *g, ir_home home) {
    return at(g->f->is_debug ? RBP : RSP, g->m->home_offset + 8 * home.number);
}

/* Integers and references. */

void into_register(generator *g, int v, int reg) {
    ir_home home = value_at(g, v)->home;
    if (value_at(g, v)->is_literal)
        asm_mov_imm(g->a, reg, value_at(g, v)->literal);
    else if (home.place == HOME_STACK)
        asm_load(g->a, reg, home_memory(g, home));
    else if (home.number != reg)
        asm_mov(g->a, reg, home.number);
    track_hold(&g->t, reg, holding_of_value(g, v));
}

int in_register(generator *g, int v, int temporary) {
    ir_home home = value_at(g, v)->home;
    if (home.place == HOME_REGISTER) return home.number;
    into_register(g, v, temporary);
    return temporary;
}

int result_register(const generator *g, int v, int temporary) {
    ir_home home = value_at(g, v)->home;
    return home.place == HOME_REGISTER ? home.number : temporary;
}

void put(generator *g, int v, int reg) {
    ir_home home = value_at(g, v)->home;
    if (home.place == HOME_STACK)
        asm_store(g->a, home_memory(g, home), reg);
    else if (home.place == HOME_REGISTER && home.number != reg)
        asm_mov(g->a, home.number, reg);
}

static bool is_on_stack(const generator *g, int v) { return value_at(g, v)->home.place == HOME_STACK; }

static void write_constant(generator *g, const ir *i) {
    ir_home home = value_at(g, i->to)->home;
    if (home.place == HOME_VECTOR || value_at(g, i->to)->class == CLASS_FLOAT) {
        int to = home.place == HOME_VECTOR ? home.number : FLOAT_ONE;
        if (i->constant) {
            asm_mov_imm(g->a, RAX, i->constant);
            asm_float_from_bits(g->a, to, RAX);
        } else {
            asm_float_zero(g->a, to);
        }
        if (home.place == HOME_STACK) asm_float_store(g->a, home_memory(g, home), to);
    } else if (home.place == HOME_STACK && i->constant == (int32_t)i->constant) {
        asm_store_imm(g->a, home_memory(g, home), (int32_t)i->constant);
    } else {
        int to = result_register(g, i->to, RAX);
        asm_mov_imm(g->a, to, i->constant);
        put(g, i->to, to);
    }
}

static void write_string(generator *g, const ir *i) {
    int to = result_register(g, i->to, RAX);
    asm_mov_address(g->a, to, literal_slot((int)i->constant));
    asm_load(g->a, to, at(to, 0));
    put(g, i->to, to);
}

static void float_put(generator *g, int v, int reg) {
    ir_home home = value_at(g, v)->home;
    if (home.place == HOME_STACK)
        asm_float_store(g->a, home_memory(g, home), reg);
    else if (home.place == HOME_VECTOR && home.number != reg)
        asm_float_mov(g->a, home.number, reg);
}

static int float_in_register(generator *g, int v, int temporary) {
    ir_home home = value_at(g, v)->home;
    if (home.place == HOME_VECTOR) return home.number;
    asm_float_load(g->a, temporary, home_memory(g, home));
    return temporary;
}

static int float_result(const generator *g, int v) {
    ir_home home = value_at(g, v)->home;
    return home.place == HOME_VECTOR ? home.number : FLOAT_ONE;
}

static void write_move(generator *g, const ir *i) {
    if (value_at(g, i->a)->class == CLASS_FLOAT)
        float_put(g, i->to, float_in_register(g, i->a, FLOAT_ONE));
    else
        put(g, i->to, in_register(g, i->a, RAX));
}

static void alu_operand(generator *g, asm_operation operation, int to, int v) {
    if (is_on_stack(g, v))
        asm_alu_load(g->a, operation, to, home_memory(g, value_at(g, v)->home));
    else
        asm_alu(g->a, operation, to, in_register(g, v, RDX));
}

static asm_operation operation_of(ir_op op) {
    return op == IR_ADD        ? ASM_ADD
           : op == IR_SUBTRACT ? ASM_SUB
           : op == IR_AND      ? ASM_AND
           : op == IR_OR       ? ASM_OR
                               : ASM_XOR;
}

static bool shares_home(const generator *g, int one, int other) {
    ir_home a = value_at(g, one)->home, b = value_at(g, other)->home;
    return a.place == b.place && a.number == b.number;
}

/* to = a op constant. */
static void write_arithmetic_constant(generator *g, const ir *i) {
    int32_t constant = (int32_t)i->constant;
    if (i->op == IR_MULTIPLY) {
        int product = result_register(g, i->to, RAX);
        asm_imul_imm(g->a, product, in_register(g, i->a, RAX), constant);
        put(g, i->to, product);
        return;
    }
    if (is_on_stack(g, i->to) && shares_home(g, i->to, i->a)) {
        asm_alu_store_imm(g->a, operation_of(i->op), home_memory(g, value_at(g, i->to)->home), constant);
        return;
    }
    int to = result_register(g, i->to, RAX);
    bool adds = i->op == IR_ADD || (i->op == IR_SUBTRACT && constant != INT32_MIN);
    if (adds && value_at(g, i->a)->home.place == HOME_REGISTER && value_at(g, i->a)->home.number != to) {
        asm_lea(g->a, to, at(value_at(g, i->a)->home.number, i->op == IR_ADD ? constant : -constant));
    } else {
        into_register(g, i->a, to);
        asm_alu_imm(g->a, operation_of(i->op), to, constant);
    }
    put(g, i->to, to);
}

static void write_arithmetic(generator *g, const ir *i) {
    if (i->has_constant) {
        write_arithmetic_constant(g, i);
        return;
    }
    int a = i->a, b = i->b, to = result_register(g, i->to, RAX);
    if (i->op != IR_SUBTRACT && shares_home(g, i->to, b)) a = i->b, b = i->a;
    if (value_at(g, b)->home.place == HOME_REGISTER && value_at(g, b)->home.number == to && a != b) to = RAX;
    into_register(g, a, to);
    if (i->op != IR_MULTIPLY)
        alu_operand(g, operation_of(i->op), to, b);
    else if (is_on_stack(g, b))
        asm_imul_load(g->a, to, home_memory(g, value_at(g, b)->home));
    else
        asm_imul(g->a, to, in_register(g, b, RDX));
    put(g, i->to, to);
}

static void write_shift(generator *g, const ir *i) {
    asm_shift shift = i->op == IR_SHIFT_LEFT ? ASM_SHL : ASM_SAR;
    into_register(g, i->a, RAX);
    if (!i->has_constant) into_register(g, i->b, RCX);
    if (!i->has_constant)
        asm_shift_cl(g->a, shift, RAX);
    else if (i->constant & 63)
        asm_shift_imm(g->a, shift, RAX, (int)(i->constant & 63));
    put(g, i->to, RAX);
}

/* Division by -1 would trap if the quotient does not fit; it is a negation, and its remainder is 0. */
static void write_division(generator *g, const ir *i) {
    assembler *a = g->a;
    int end = asm_label(a), by_minus_one = asm_label(a);
    bool is_safe = i->has_constant; /* neither 0 nor -1 */
    int by = RCX;
    if (is_safe)
        asm_mov_imm(a, RCX, i->constant);
    else
        by = in_register(g, i->b, RCX);
    if (!is_safe) {
        asm_test(a, by, by);
        asm_jump_if(a, IF_EQUAL, cold_failure(g, ENTRY_fail_division, i));
    }
    into_register(g, i->a, RAX);
    if (!is_safe) {
        asm_alu_imm(a, ASM_CMP, by, -1);
        asm_jump_if(a, IF_EQUAL, by_minus_one);
    }
    asm_cqo(a);
    asm_idiv(a, by);
    if (!is_safe) {
        asm_jump(a, end);
        asm_place(a, by_minus_one);
        if (i->op == IR_DIVIDE)
            asm_neg(a, RAX);
        else
            asm_zero(a, RDX);
        asm_place(a, end);
    }
    put(g, i->to, i->op == IR_DIVIDE ? RAX : RDX);
}

static void write_unary(generator *g, const ir *i) {
    int to = result_register(g, i->to, RAX);
    into_register(g, i->a, to);
    if (i->op == IR_NEGATE)
        asm_neg(g->a, to);
    else
        asm_not(g->a, to);
    put(g, i->to, to);
}

/* Comparisons. */

static void write_compare(generator *g, const ir *i) {
    if (!i->has_constant) {
        alu_operand(g, ASM_CMP, in_register(g, i->a, RAX), i->b);
    } else if (is_on_stack(g, i->a)) {
        asm_alu_store_imm(g->a, ASM_CMP, home_memory(g, value_at(g, i->a)->home), (int32_t)i->constant);
    } else if (i->constant == 0 && (i->condition == IF_EQUAL || i->condition == IF_NOT_EQUAL)) {
        int reg = in_register(g, i->a, RAX);
        asm_test(g->a, reg, reg);
    } else {
        asm_alu_imm(g->a, ASM_CMP, in_register(g, i->a, RAX), (int32_t)i->constant);
    }
}

static void write_set(generator *g, const ir *i) {
    int to = result_register(g, i->to, RAX);
    write_compare(g, i);
    asm_set(g->a, (asm_condition)i->condition, RAX);
    asm_extend_byte(g->a, to, RAX);
    put(g, i->to, to);
}

static void write_float_branch(generator *g, const ir *i) {
    int one = float_in_register(g, i->a, FLOAT_ONE);
    int label = g->labels[i->label], skip = asm_label(g->a);
    asm_float_compare(g->a, one, float_in_register(g, i->b, FLOAT_OTHER));
    /* Unordered operands set the flags of equal ones, and the parity flag. */
    if (i->condition == IF_EQUAL) asm_jump_if(g->a, IF_PARITY, skip);
    if (i->condition == IF_NOT_EQUAL) asm_jump_if(g->a, IF_PARITY, label);
    asm_jump_if(g->a, (asm_condition)i->condition, label);
    asm_place(g->a, skip);
}

/* Floating point. */

static asm_float float_operation_of(ir_op op) {
    return op == IR_FLOAT_ADD        ? FLOAT_ADD
           : op == IR_FLOAT_SUBTRACT ? FLOAT_SUB
           : op == IR_FLOAT_MULTIPLY ? FLOAT_MUL
                                     : FLOAT_DIV;
}

static void write_float_arithmetic(generator *g, const ir *i) {
    int to = float_result(g, i->to), one = float_in_register(g, i->a, FLOAT_ONE);
    ir_home b = value_at(g, i->b)->home;
    if (b.place == HOME_VECTOR && b.number == to && one != to) to = FLOAT_ONE;
    if (one != to) asm_float_mov(g->a, to, one);
    if (b.place == HOME_VECTOR)
        asm_float_alu(g->a, float_operation_of(i->op), to, b.number);
    else
        asm_float_alu_load(g->a, float_operation_of(i->op), to, home_memory(g, b));
    float_put(g, i->to, to);
}

static void write_float_unary(generator *g, const ir *i) {
    int to = float_result(g, i->to);
    if (i->op == IR_FLOAT_SQRT) {
        asm_float_alu(g->a, FLOAT_SQRT, to, float_in_register(g, i->a, FLOAT_ONE));
    } else if (i->op == IR_TO_FLOAT) {
        asm_float_zero(g->a, FLOAT_ONE); /* breaks the dependency on what it held */
        asm_float_from_int(g->a, FLOAT_ONE, in_register(g, i->a, RAX));
        to = FLOAT_ONE;
    } else {
        int from = float_in_register(g, i->a, FLOAT_ONE);
        asm_mov_imm(g->a, RAX, INT64_MIN);
        asm_float_from_bits(g->a, FLOAT_OTHER, RAX);
        asm_float_xor(g->a, FLOAT_OTHER, from);
        to = FLOAT_OTHER;
    }
    float_put(g, i->to, to);
}

static void write_to_int(generator *g, const ir *i) {
    int to = result_register(g, i->to, RAX);
    asm_int_from_float(g->a, to, float_in_register(g, i->a, FLOAT_ONE));
    put(g, i->to, to);
}

/* Objects. */

static void write_check_null(generator *g, const ir *i) {
    if (is_on_stack(g, i->a)) {
        asm_alu_store_imm(g->a, ASM_CMP, home_memory(g, value_at(g, i->a)->home), 0);
    } else {
        int reg = in_register(g, i->a, RAX);
        asm_test(g->a, reg, reg);
    }
    asm_jump_if(g->a, IF_EQUAL, cold_failure(g, ENTRY_fail_null, i));
}

static void write_check_index(generator *g, const ir *i) {
    int array = in_register(g, i->a, RAX);
    asm_memory length = at(array, offsetof(gc_array, length));
    int failure = cold_failure(g, ENTRY_fail_bounds, i);
    if (i->has_constant && i->constant < 0) {
        asm_jump(g->a, failure);
    } else if (i->has_constant) {
        asm_alu_store_imm(g->a, ASM_CMP, length, (int32_t)i->constant);
        asm_jump_if(g->a, IF_BELOW_EQUAL, failure);
    } else {
        asm_alu_load(g->a, ASM_CMP, in_register(g, i->b, RCX), length);
        asm_jump_if(g->a, IF_ABOVE_EQUAL, failure);
    }
}

static asm_memory element_memory(generator *g, const ir *i, int scale) {
    int array = in_register(g, i->a, RAX);
    if (i->has_constant && i->b < 0) return at(array, ELEMENTS + (int32_t)i->constant * scale);
    return at_index(array, in_register(g, i->b, RCX), scale, ELEMENTS);
}

static void comment_field(generator *g, const ir *i) {
    const local *variable = value_at(g, i->a)->variable;
    if (variable && !variable->is_hidden) asm_comment(g->a, "%s", variable->name);
}

static void write_load(generator *g, const ir *i) {
    if (value_at(g, i->to)->home.place == HOME_NONE) return;
    asm_memory from = i->op == IR_LOAD ? at(in_register(g, i->a, RAX), i->offset)
                                       : element_memory(g, i, i->op == IR_LOAD_BYTE ? 1 : 8);
    if (value_at(g, i->to)->class == CLASS_FLOAT) {
        int vector = float_result(g, i->to);
        asm_float_load(g->a, vector, from);
        comment_field(g, i);
        float_put(g, i->to, vector);
        return;
    }
    int to = result_register(g, i->to, RAX);
    if (i->op == IR_LOAD_BYTE)
        asm_load_byte(g->a, to, from);
    else
        asm_load(g->a, to, from);
    comment_field(g, i);
    track_hold(&g->t, to, holding_of_value(g, i->to));
    put(g, i->to, to);
}

static asm_memory stored_to(generator *g, const ir *i) {
    bool is_field = i->op == IR_STORE || i->op == IR_STORE_REF;
    if (is_field) return at(in_register(g, i->a, RAX), i->offset);
    return at_index(in_register(g, i->a, RAX), in_register(g, i->b, RCX), 8, ELEMENTS);
}

static int stored_value(const ir *i) { return i->op == IR_STORE || i->op == IR_STORE_REF ? i->b : i->c; }

static void write_store(generator *g, const ir *i) {
    asm_memory to = stored_to(g, i);
    int v = stored_value(i);
    if (i->has_constant)
        asm_store_imm(g->a, to, (int32_t)i->constant);
    else if (value_at(g, v)->class == CLASS_FLOAT)
        asm_float_store(g->a, to, float_in_register(g, v, FLOAT_ONE));
    else
        asm_store(g->a, to, in_register(g, v, RDX));
    comment_field(g, i);
}

/* The barrier takes the slot in rdi, and the reference in rsi. */
static void write_store_ref(generator *g, const ir *i) {
    int v = stored_value(i);
    bool in_rdi = value_at(g, v)->home.place == HOME_REGISTER && value_at(g, v)->home.number == RDI;
    int slot = in_rdi ? RDX : RDI;
    asm_lea(g->a, slot, stored_to(g, i));
    comment_field(g, i);
    track_hold(&g->t, slot, HOLDS_INTERIOR);
    into_register(g, v, RSI);
    if (in_rdi) {
        asm_mov(g->a, RDI, RDX);
        track_hold(&g->t, RDI, HOLDS_INTERIOR);
    }
    asm_call(g->a, SYMBOL_STORE, "store_barrier");
    for (int reg = 0; reg < R12; reg++)
        if (reg != RBX && reg != RBP) track_hold(&g->t, reg, HOLDS_NOTHING);
}

static void write_return(generator *g, const ir *i) {
    if (i->a >= 0 && value_at(g, i->a)->class == CLASS_FLOAT) {
        int from = float_in_register(g, i->a, 0);
        if (from != 0) asm_float_mov(g->a, 0, from);
    } else if (i->a >= 0) {
        into_register(g, i->a, RAX);
    }
    if (g->index + 1 < (int)g->f->count) asm_jump(g->a, g->epilog);
}

static void write_jump(generator *g, const ir *i) { asm_jump(g->a, g->labels[i->label]); }

static void write_branch(generator *g, const ir *i) {
    write_compare(g, i);
    asm_jump_if(g->a, (asm_condition)i->condition, g->labels[i->label]);
}

static void write_nothing(generator *g, const ir *i) { (void)g, (void)i; }

static void (*const writers[IR_OP_COUNT])(generator *, const ir *) = {
    [IR_CONSTANT] = write_constant,
    [IR_STRING] = write_string,
    [IR_MOVE] = write_move,
    [IR_ADD] = write_arithmetic,
    [IR_SUBTRACT] = write_arithmetic,
    [IR_MULTIPLY] = write_arithmetic,
    [IR_AND] = write_arithmetic,
    [IR_OR] = write_arithmetic,
    [IR_XOR] = write_arithmetic,
    [IR_SHIFT_LEFT] = write_shift,
    [IR_SHIFT_RIGHT] = write_shift,
    [IR_DIVIDE] = write_division,
    [IR_REMAINDER] = write_division,
    [IR_NEGATE] = write_unary,
    [IR_COMPLEMENT] = write_unary,
    [IR_SET] = write_set,
    [IR_FLOAT_ADD] = write_float_arithmetic,
    [IR_FLOAT_SUBTRACT] = write_float_arithmetic,
    [IR_FLOAT_MULTIPLY] = write_float_arithmetic,
    [IR_FLOAT_DIVIDE] = write_float_arithmetic,
    [IR_FLOAT_SQRT] = write_float_unary,
    [IR_FLOAT_NEGATE] = write_float_unary,
    [IR_TO_FLOAT] = write_float_unary,
    [IR_TO_INT] = write_to_int,
    [IR_LABEL] = write_nothing, /* write_body places it */
    [IR_JUMP] = write_jump,
    [IR_BRANCH] = write_branch,
    [IR_FLOAT_BRANCH] = write_float_branch,
    [IR_CHECK_NULL] = write_check_null,
    [IR_CHECK_INDEX] = write_check_index,
    [IR_LOAD] = write_load,
    [IR_LOAD_ELEMENT] = write_load,
    [IR_LOAD_BYTE] = write_load,
    [IR_STORE] = write_store,
    [IR_STORE_ELEMENT] = write_store,
    [IR_STORE_REF] = write_store_ref,
    [IR_STORE_ELEMENT_REF] = write_store_ref,
    [IR_NEW] = write_new,
    [IR_NEW_DELEGATE] = write_new,
    [IR_NEW_ARRAY] = write_new_array,
    [IR_CALL] = write_call,
    [IR_CALL_NATIVE] = write_call,
    [IR_CALL_DELEGATE] = write_call,
    [IR_POLL] = write_poll,
    [IR_KEEP_ALIVE] = write_nothing,
    [IR_RETURN] = write_return,
};

/* What is live. */

static void hold_value(const generator *g, int v, uint8_t *holds) {
    const ir_value *value = value_at(g, v);
    if (class_is_reference(value->class) && value->home.place != HOME_NONE)
        holds[location_of(value->home)] = (uint8_t)holding_of(value->class);
}

typedef struct hold_context {
    const generator *g;
    uint8_t *holds;
    bool late_only;
} hold_context;

static void hold_use(void *context, int v, bool late) {
    hold_context *use = context;
    if (late || !use->late_only) hold_value(use->g, v, use->holds);
}

static void holds_without_result(const generator *g, const ir *i, uint8_t *holds) {
    const uint64_t *live = g->f->live_after + (size_t)(i - g->f->code) * g->f->words;
    memset(holds, HOLDS_NOTHING, (size_t)location_count(&g->t));
    for (uint32_t v = 0; v < g->f->value_count; v++) {
        bool extended = g->f->is_debug && value_at(g, (int)v)->variable;
        if (extended || (set_has(live, (int)v) && (int)v != i->to)) hold_value(g, (int)v, holds);
    }
}

void holds_after_call(generator *g, const ir *i, uint8_t *holds) {
    hold_context use = {g, holds, true};
    holds_without_result(g, i, holds);
    ir_each_use(g->f, i, hold_use, &use);
}

static void holds_before(generator *g, const ir *i, uint8_t *holds) {
    hold_context use = {g, holds, false};
    holds_without_result(g, i, holds);
    ir_each_use(g->f, i, hold_use, &use);
}

/* Cold code. */

cold *cold_add(generator *g, const ir *cause, void (*write)(generator *, const cold *)) {
    cold *c = calloc(1, sizeof *c);
    uint8_t *holds = calloc((size_t)location_count(&g->t), 1);
    if (!c || !holds) fprintf(stderr, "jit: no memory for code\n"), exit(1);
    *c = (cold){NULL, write, asm_label(g->a), -1, cause, 0, g->a->line, holds};
    if (cause) holds_after_call(g, cause, holds);
    *g->cold_end = c;
    g->cold_end = &c->next;
    return c;
}

static void write_failure(generator *g, const cold *c) {
    asm_mov(g->a, RDI, THREAD);
    asm_call(g->a, SYMBOL_ENTRIES + c->symbol, entries[c->symbol].name);
    track_point(&g->t, c->holds);
    asm_trap(g->a);
}

/* Failures of one kind on one line share their code. Nothing is live in it, for it does not return. */
int cold_failure(generator *g, int symbol, const ir *cause) {
    for (const cold *c = g->colds; c; c = c->next)
        if (c->write == write_failure && c->symbol == symbol && c->line == g->a->line) return c->label;
    cold *c = cold_add(g, cause, write_failure);
    memset(c->holds, HOLDS_NOTHING, (size_t)location_count(&g->t));
    c->symbol = symbol;
    return c->label;
}

void colds_write(generator *g) {
    size_t count = 0;
    for (const cold *c = g->colds; c; c = c->next) count++;
    g->m->cold_ranges = calloc(count + 1, sizeof *g->m->cold_ranges);
    if (!g->m->cold_ranges) fprintf(stderr, "jit: no memory for code\n"), exit(1);
    while (g->colds) {
        cold *c = g->colds;
        g->colds = c->next;
        g->a->line = c->line;
        asm_place(g->a, c->label);
        cold_range *range = &g->m->cold_ranges[g->m->cold_count++];
        *range = (cold_range){g->a->bytes, 0, c->cause ? (int)(c->cause - g->f->code) : -1};
        c->write(g, c);
        range->end = g->a->bytes;
        free(c->holds);
        free(c);
    }
}

/* One function. */

static bool may_fail(const ir_function *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        const ir *each = &f->code[i];
        if (each->op == IR_CHECK_NULL || each->op == IR_CHECK_INDEX) return true;
        if ((each->op == IR_DIVIDE || each->op == IR_REMAINDER) && !each->has_constant) return true;
    }
    return false;
}

/* Calls need the stack aligned to 16 bytes. */
static void lay_out(generator *g) {
    const ir_function *f = g->f;
    int words = (int)f->stack_words;
    for (int reg = 0; reg < 16; reg++) g->saved_count += f->preserved >> reg & 1;
    if (f->calls || may_fail(f)) words += (words + g->saved_count + f->is_debug) % 2 == 0;
    g->frame_bytes = 8 * words;
    g->m->home_offset = f->is_debug ? -(g->frame_bytes + 8 * g->saved_count) : 0;
}

static void write_body(generator *g) {
    for (g->index = 0; g->index < (int)g->f->count; g->index++) {
        const ir *i = &g->f->code[g->index];
        g->a->line = (uint32_t)i->line;
        g->f->offsets[g->index] = g->a->bytes;
        if (i->op == IR_LABEL) asm_place(g->a, g->labels[i->label]);
        if (g->f->interruptible[g->index]) {
            holds_before(g, i, g->holds);
            track_open(&g->t, g->holds);
        } else {
            track_close(&g->t);
        }
        writers[i->op](g, i);
    }
}

static void describe(generator *g) {
    value_class class = class_of(g->f->source->type->result);
    gc_stackmap_method description = {.prolog_bytes = g->prolog_bytes};
    description.returns[0] = class_is_reference(class) ? GC_RETURN_OBJECT : GC_RETURN_SCALAR;
    g->m->map = track_encode(&g->t, &description, &g->m->code.map_bytes);
}

void generate(method *m) {
    generator g = {.m = m, .f = &m->ir, .a = &m->a};
    g.cold_end = &g.colds;
    lay_out(&g);
    track_begin(&g.t, g.a, g.f, m->home_offset);
    g.holds = calloc((size_t)location_count(&g.t), 1);
    g.labels = calloc((size_t)g.f->label_count + 1, sizeof *g.labels);
    g.f->offsets = calloc((size_t)g.f->count + 1, sizeof *g.f->offsets);
    if (!g.holds || !g.labels || !g.f->offsets) fprintf(stderr, "jit: no memory for code\n"), exit(1);
    for (int i = 0; i < g.f->label_count; i++) g.labels[i] = asm_label(g.a);
    g.epilog = asm_label(g.a);
    g.a->line = (uint32_t)m->source->at.line;
    write_prolog(&g);
    write_body(&g);
    asm_place(g.a, g.epilog);
    m->epilog = g.a->bytes;
    g.a->line = (uint32_t)m->source->end.line;
    write_epilog(&g);
    colds_write(&g);
    asm_finish(g.a);
    describe(&g);
    track_free(&g.t);
    free(g.holds);
    free(g.labels);
}
