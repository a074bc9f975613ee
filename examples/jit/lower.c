/* lower.c - makes the list of instructions of a function from its tree. */
#include "assembler.h"
#include "ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct loop {
    struct loop *outer;
    int on_break, on_continue; /* labels */
} loop;

typedef struct lowering {
    ir_function *f;
    int (*literal)(const char *, size_t);
    loop *loops;
    int line;
    int *checked; /* for each value: the stretch of code without labels in which it is known not to be null */
    uint32_t checked_room;
    int stretch;
} lowering;

/* An operand that may be a constant. */
typedef struct operand {
    int value; /* -1: a constant */
    int64_t constant;
} operand;

static int lower_value(lowering *l, const expression *e, int wanted);
static void lower_branch(lowering *l, const expression *e, bool sense, int label);
static void lower_statement(lowering *l, const statement *s);

static void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) fprintf(stderr, "jit: no memory for %zu bytes\n", bytes), exit(1);
    return memory;
}

static void *enlarged(void *array, uint32_t *room, uint32_t count, size_t element_bytes) {
    if (count < *room) return array;
    uint32_t before = *room;
    *room = before ? before * 2 : 64;
    char *larger = realloc(array, *room * element_bytes);
    if (!larger) fprintf(stderr, "jit: no memory for a function's code\n"), exit(1);
    memset(larger + before * element_bytes, 0, (*room - before) * element_bytes);
    return larger;
}

static ir *add(lowering *l, ir_op op) {
    ir_function *f = l->f;
    f->code = enlarged(f->code, &f->room, f->count, sizeof *f->code);
    ir *made = &f->code[f->count++];
    memset(made, 0, sizeof *made);
    made->op = op;
    made->to = made->a = made->b = made->c = made->label = -1;
    made->line = l->line;
    return made;
}

static int new_value(lowering *l, value_class class) {
    ir_function *f = l->f;
    f->values = enlarged(f->values, &f->value_room, f->value_count, sizeof *f->values);
    l->checked = enlarged(l->checked, &l->checked_room, f->value_count, sizeof *l->checked);
    f->values[f->value_count] = (ir_value){.class = class, .hint = -1, .partner = -1};
    return (int)f->value_count++;
}

/* The result of an instruction: the value that is wanted, or else a new temporary. */
static int result(lowering *l, int wanted, value_class class) {
    int to = wanted >= 0 ? wanted : new_value(l, class);
    l->checked[to] = 0;
    return to;
}

static int new_label(lowering *l) { return l->f->label_count++; }

static void place(lowering *l, int label) {
    add(l, IR_LABEL)->label = label;
    l->stretch++;
}

static void jump(lowering *l, int label) { add(l, IR_JUMP)->label = label; }

static int constant(lowering *l, int64_t value, value_class class, int wanted) {
    if (wanted < 0 && class != CLASS_FLOAT) {
        int literal = new_value(l, class);
        l->f->values[literal].is_literal = true;
        l->f->values[literal].literal = value;
        return literal;
    }
    int to = result(l, wanted, class);
    ir *i = add(l, IR_CONSTANT);
    i->to = to;
    i->constant = value;
    return to;
}

static bool is_small_constant(const expression *e, int64_t *value) {
    if (e->kind != EXPRESSION_INT && e->kind != EXPRESSION_BOOL && e->kind != EXPRESSION_NULL) return false;
    *value = e->kind == EXPRESSION_NULL ? 0 : e->int_value;
    return *value == (int32_t)*value;
}

static operand lower_operand(lowering *l, const expression *e) {
    operand o = {-1, 0};
    if (!is_small_constant(e, &o.constant)) o.value = lower_value(l, e, -1);
    return o;
}

static void set_operand(ir *i, int *place_of_value, operand o) {
    *place_of_value = o.value;
    i->has_constant = o.value < 0;
    i->constant = o.constant;
}

static void check_null(lowering *l, int value, position at) {
    if (l->checked[value] == l->stretch) return;
    l->checked[value] = l->stretch;
    ir *i = add(l, IR_CHECK_NULL);
    i->a = value;
    i->line = at.line;
}

static void check_index(lowering *l, int array, operand index, position at) {
    ir *i = add(l, IR_CHECK_INDEX);
    i->a = array;
    set_operand(i, &i->b, index);
    i->line = at.line;
}

/* Conditions. */

static int condition_of(int op) {
    switch ((binary_op)op) {
    case BINARY_EQUAL:
        return IF_EQUAL;
    case BINARY_NOT_EQUAL:
        return IF_NOT_EQUAL;
    case BINARY_LESS:
        return IF_LESS;
    case BINARY_LESS_EQUAL:
        return IF_LESS_EQUAL;
    case BINARY_GREATER:
        return IF_GREATER;
    case BINARY_GREATER_EQUAL:
        return IF_GREATER_EQUAL;
    default:
        return -1;
    }
}

/* The condition for operands in the other order. */
static int condition_swapped(int condition) {
    switch (condition) {
    case IF_LESS:
        return IF_GREATER;
    case IF_LESS_EQUAL:
        return IF_GREATER_EQUAL;
    case IF_GREATER:
        return IF_LESS;
    case IF_GREATER_EQUAL:
        return IF_LESS_EQUAL;
    default:
        return condition;
    }
}

/* ucomisd says "above" only if both are numbers: so "less" swaps the operands. */
static void lower_float_branch(lowering *l, const expression *e, bool sense, int label) {
    int left = lower_value(l, e->left, -1), right = lower_value(l, e->right, -1);
    binary_op op = (binary_op)e->op;
    bool swapped = op == BINARY_LESS || op == BINARY_LESS_EQUAL;
    ir *i = add(l, IR_FLOAT_BRANCH);
    i->a = swapped ? right : left;
    i->b = swapped ? left : right;
    i->label = label;
    asm_condition condition = op == BINARY_EQUAL                          ? IF_EQUAL
                              : op == BINARY_NOT_EQUAL                    ? IF_NOT_EQUAL
                              : op == BINARY_LESS || op == BINARY_GREATER ? IF_ABOVE
                                                                          : IF_ABOVE_EQUAL;
    i->condition = (uint8_t)(sense ? condition : asm_negated(condition));
}

static void lower_comparison(lowering *l, const expression *e, bool sense, int label) {
    int condition = condition_of(e->op);
    int64_t constant_left;
    operand left, right;
    if (is_small_constant(e->left, &constant_left)) { /* the constant goes to the right */
        left = (operand){lower_value(l, e->right, -1), 0};
        right = (operand){-1, constant_left};
        condition = condition_swapped(condition);
    } else {
        left = (operand){lower_value(l, e->left, -1), 0};
        right = lower_operand(l, e->right);
    }
    ir *i = add(l, IR_BRANCH);
    i->a = left.value;
    set_operand(i, &i->b, right);
    i->condition = (uint8_t)(sense ? condition : (int)asm_negated((asm_condition)condition));
    i->label = label;
}

static void lower_either(lowering *l, const expression *e, bool sense, int label) {
    bool is_or = e->op == BINARY_OR;
    if (is_or == sense) {
        lower_branch(l, e->left, sense, label);
        lower_branch(l, e->right, sense, label);
        return;
    }
    int skip = new_label(l);
    lower_branch(l, e->left, !sense, skip);
    lower_branch(l, e->right, sense, label);
    place(l, skip);
}

/* Jumps to the label if the condition is `sense`. */
static void lower_branch(lowering *l, const expression *e, bool sense, int label) {
    if (e->kind == EXPRESSION_BOOL) {
        if ((e->int_value != 0) == sense) jump(l, label);
        return;
    }
    if (e->kind == EXPRESSION_UNARY && e->op == UNARY_NOT) {
        lower_branch(l, e->left, !sense, label);
        return;
    }
    if (e->kind == EXPRESSION_BINARY && (e->op == BINARY_AND || e->op == BINARY_OR)) {
        lower_either(l, e, sense, label);
        return;
    }
    l->line = e->at.line;
    if (e->kind == EXPRESSION_BINARY && condition_of(e->op) >= 0) {
        if (e->left->type->kind == TYPE_FLOAT)
            lower_float_branch(l, e, sense, label);
        else
            lower_comparison(l, e, sense, label);
        return;
    }
    int value = lower_value(l, e, -1);
    ir *i = add(l, IR_BRANCH);
    i->a = value;
    i->has_constant = true;
    i->condition = sense ? IF_NOT_EQUAL : IF_EQUAL;
    i->label = label;
}

/* A bool as a value. */
static int lower_bool(lowering *l, const expression *e, int wanted) {
    bool is_comparison = e->kind == EXPRESSION_BINARY && condition_of(e->op) >= 0;
    if (is_comparison && e->left->type->kind != TYPE_FLOAT) {
        int left = lower_value(l, e->left, -1);
        operand right = lower_operand(l, e->right);
        int to = result(l, wanted, CLASS_INT);
        ir *i = add(l, IR_SET);
        i->to = to;
        i->a = left;
        set_operand(i, &i->b, right);
        i->condition = (uint8_t)condition_of(e->op);
        return to;
    }
    int on_true = new_label(l), end = new_label(l);
    lower_branch(l, e, true, on_true);
    int to = result(l, wanted, CLASS_INT);
    constant(l, 0, CLASS_INT, to);
    jump(l, end);
    place(l, on_true);
    constant(l, 1, CLASS_INT, to);
    place(l, end);
    return to;
}

/* Arithmetic. */

static const ir_op int_ops[] = {[BINARY_ADD] = IR_ADD,
                                [BINARY_SUBTRACT] = IR_SUBTRACT,
                                [BINARY_MULTIPLY] = IR_MULTIPLY,
                                [BINARY_DIVIDE] = IR_DIVIDE,
                                [BINARY_REMAINDER] = IR_REMAINDER,
                                [BINARY_AND_BITS] = IR_AND,
                                [BINARY_OR_BITS] = IR_OR,
                                [BINARY_XOR_BITS] = IR_XOR,
                                [BINARY_SHIFT_LEFT] = IR_SHIFT_LEFT,
                                [BINARY_SHIFT_RIGHT] = IR_SHIFT_RIGHT};
static const ir_op float_ops[] = {[BINARY_ADD] = IR_FLOAT_ADD,
                                  [BINARY_SUBTRACT] = IR_FLOAT_SUBTRACT,
                                  [BINARY_MULTIPLY] = IR_FLOAT_MULTIPLY,
                                  [BINARY_DIVIDE] = IR_FLOAT_DIVIDE};

static bool is_commutative(ir_op op) {
    return op == IR_ADD || op == IR_MULTIPLY || op == IR_AND || op == IR_OR || op == IR_XOR;
}

static int lower_binary(lowering *l, const expression *e, int wanted) {
    if (e->type->kind == TYPE_BOOL) return lower_bool(l, e, wanted);
    bool is_float = e->type->kind == TYPE_FLOAT;
    ir_op op = is_float ? float_ops[e->op] : int_ops[e->op];
    const expression *one = e->left, *other = e->right;
    int64_t number;
    if (is_commutative(op) && is_small_constant(one, &number)) one = e->right, other = e->left;
    int left = lower_value(l, one, -1);
    bool divides = op == IR_DIVIDE || op == IR_REMAINDER, takes_constant = !is_float;
    if (divides && is_small_constant(other, &number)) takes_constant = number != 0 && number != -1;
    operand right = takes_constant ? lower_operand(l, other) : (operand){lower_value(l, other, -1), 0};
    int to = result(l, wanted, is_float ? CLASS_FLOAT : CLASS_INT);
    ir *i = add(l, op);
    i->to = to;
    i->a = left;
    set_operand(i, &i->b, right);
    i->line = e->at.line;
    return to;
}

static int lower_unary(lowering *l, const expression *e, int wanted) {
    if (e->op == UNARY_NOT) return lower_bool(l, e, wanted);
    bool is_float = e->type->kind == TYPE_FLOAT;
    ir_op op = e->op == UNARY_NEGATE       ? is_float ? IR_FLOAT_NEGATE : IR_NEGATE
               : e->op == UNARY_COMPLEMENT ? IR_COMPLEMENT
               : e->op == UNARY_TO_FLOAT   ? IR_TO_FLOAT
               : e->op == UNARY_TO_INT     ? IR_TO_INT
                                           : IR_FLOAT_SQRT;
    int left = lower_value(l, e->left, -1);
    int to = result(l, wanted, class_of(e->type));
    ir *i = add(l, op);
    i->to = to;
    i->a = left;
    return to;
}

/* Objects. */

static int lower_receiver(lowering *l, const expression *e, position at) {
    int value = lower_value(l, e, -1);
    check_null(l, value, at);
    return value;
}

static int lower_load(lowering *l, ir_op op, int object, int offset, operand index, const expression *e, int wanted) {
    int to = result(l, wanted, class_of(e->type));
    ir *i = add(l, op);
    i->to = to;
    i->a = object;
    i->offset = offset;
    set_operand(i, &i->b, index);
    return to;
}

/* An index that may stand in an address. */
static operand lower_index(lowering *l, const expression *e) {
    operand index = lower_operand(l, e);
    if (index.value < 0 && index.constant > 1 << 24) index.value = constant(l, index.constant, CLASS_INT, -1);
    return index;
}

static int lower_element(lowering *l, const expression *e, int wanted) {
    int array = lower_value(l, e->left, -1);
    operand index = lower_index(l, e->right);
    check_null(l, array, e->at);
    check_index(l, array, index, e->at);
    return lower_load(l, e->left->type->kind == TYPE_STRING ? IR_LOAD_BYTE : IR_LOAD_ELEMENT, array, 0, index, e,
                      wanted);
}

static int *lower_arguments(lowering *l, const expression *first, int count) {
    int *arguments = zeroed((size_t)count * sizeof *arguments), n = 0;
    for (const expression *e = first; e && n < count; e = e->next) arguments[n++] = lower_value(l, e, -1);
    return arguments;
}

static int lower_call(lowering *l, const expression *e, int wanted) {
    ir_op op = e->kind == EXPRESSION_CALL          ? IR_CALL
               : e->kind == EXPRESSION_CALL_NATIVE ? IR_CALL_NATIVE
                                                   : IR_CALL_DELEGATE;
    int delegate = op == IR_CALL_DELEGATE ? lower_value(l, e->left, -1) : -1;
    int *arguments = lower_arguments(l, e->arguments, e->argument_count);
    l->line = e->at.line;
    if (delegate >= 0) check_null(l, delegate, e->at);
    if (op == IR_CALL && e->function->has_receiver && !e->function->is_hidden) check_null(l, arguments[0], e->at);
    int to = e->type->kind == TYPE_VOID ? -1 : result(l, wanted, class_of(e->type));
    ir *i = add(l, op);
    i->to = to;
    i->a = delegate;
    i->arguments = arguments;
    i->argument_count = e->argument_count;
    if (op == IR_CALL) i->callee = e->function;
    if (op == IR_CALL_NATIVE) i->native = e->native;
    return to;
}

static int lower_new(lowering *l, const expression *e, int wanted) {
    bool is_array = e->kind == EXPRESSION_NEW_ARRAY, is_delegate = e->kind == EXPRESSION_DELEGATE;
    int count = is_array || is_delegate ? 1 : e->argument_count;
    int *arguments = lower_arguments(l, is_array || is_delegate ? e->left : e->arguments, count);
    l->line = e->at.line;
    if (is_delegate && e->left->kind != EXPRESSION_NULL) check_null(l, arguments[0], e->at);
    int to = result(l, wanted, class_of(e->type));
    ir *i = add(l, is_array ? IR_NEW_ARRAY : is_delegate ? IR_NEW_DELEGATE : IR_NEW);
    i->to = to;
    i->arguments = arguments;
    i->argument_count = count;
    if (is_array)
        i->element = e->type->element;
    else if (is_delegate)
        i->callee = e->function;
    else
        i->of_class = e->type->of_class;
    l->checked[to] = l->stretch;
    return to;
}

static int lower_local(lowering *l, const expression *e, int wanted) {
    if (wanted < 0 || wanted == e->local->index) return e->local->index;
    bool is_known = l->checked[e->local->index] == l->stretch;
    ir *i = add(l, IR_MOVE);
    i->to = result(l, wanted, CLASS_INT);
    i->a = e->local->index;
    if (is_known) l->checked[wanted] = l->stretch;
    return wanted;
}

static int lower_string(lowering *l, const expression *e, int wanted) {
    int to = result(l, wanted, CLASS_REF);
    ir *i = add(l, IR_STRING);
    i->to = to;
    i->constant = l->literal(e->text, e->text_bytes);
    l->checked[to] = l->stretch;
    return to;
}

static int64_t bits_of(double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Has the value of the expression computed, into `wanted` unless that is -1. Returns where it is; -1 if it has none. */
static int lower_value(lowering *l, const expression *e, int wanted) {
    if (e->at.line) l->line = e->at.line;
    switch (e->kind) {
    case EXPRESSION_INT:
    case EXPRESSION_BOOL:
        return constant(l, e->int_value, CLASS_INT, wanted);
    case EXPRESSION_FLOAT:
        return constant(l, bits_of(e->float_value), CLASS_FLOAT, wanted);
    case EXPRESSION_NULL:
        return constant(l, 0, class_of(e->type), wanted);
    case EXPRESSION_STRING:
        return lower_string(l, e, wanted);
    case EXPRESSION_LOCAL:
        return lower_local(l, e, wanted);
    case EXPRESSION_FIELD:
        return lower_load(l, IR_LOAD, lower_receiver(l, e->left, e->at), e->field->offset, (operand){-1, 0}, e, wanted);
    case EXPRESSION_LENGTH:
        return lower_load(l, IR_LOAD, lower_receiver(l, e->left, e->at), OBJECT_HEADER_BYTES, (operand){-1, 0}, e,
                          wanted);
    case EXPRESSION_ELEMENT:
        return lower_element(l, e, wanted);
    case EXPRESSION_UNARY:
        return lower_unary(l, e, wanted);
    case EXPRESSION_BINARY:
        return lower_binary(l, e, wanted);
    case EXPRESSION_CALL:
    case EXPRESSION_CALL_NATIVE:
    case EXPRESSION_CALL_DELEGATE:
        return lower_call(l, e, wanted);
    case EXPRESSION_NEW:
    case EXPRESSION_NEW_ARRAY:
    case EXPRESSION_DELEGATE:
        return lower_new(l, e, wanted);
    case EXPRESSION_KEEP_ALIVE: {
        int value = lower_value(l, e->left, -1);
        add(l, IR_KEEP_ALIVE)->a = value;
        return -1;
    }
    default:
        fprintf(stderr, "jit: expression %d is not one that the checker leaves\n", (int)e->kind), abort();
    }
}

/* Statements. */

static void lower_store(lowering *l, const statement *s) {
    const expression *target = s->target;
    bool is_field = target->kind == EXPRESSION_FIELD, is_reference = type_is_reference(target->type);
    int64_t number;
    int object = lower_value(l, target->left, -1);
    operand index = is_field ? (operand){-1, 0} : lower_index(l, target->right);
    bool is_constant = is_small_constant(s->value, &number) && (is_field || index.value >= 0);
    operand stored = {-1, is_constant ? number : 0};
    if (!is_constant) stored.value = lower_value(l, s->value, -1);
    if (is_constant) is_reference = false; /* null is no younger than anything */
    check_null(l, object, target->at);
    if (!is_field) check_index(l, object, index, target->at);
    if (!is_field && index.value < 0) index.value = constant(l, index.constant, CLASS_INT, -1);
    l->line = target->at.line;
    ir *i = add(l, is_field       ? is_reference ? IR_STORE_REF : IR_STORE
                   : is_reference ? IR_STORE_ELEMENT_REF
                                  : IR_STORE_ELEMENT);
    i->a = object;
    i->offset = is_field ? target->field->offset : 0;
    if (!is_field) i->b = index.value;
    set_operand(i, is_field ? &i->b : &i->c, stored);
}

static void lower_assign(lowering *l, const statement *s) {
    if (s->target->kind == EXPRESSION_LOCAL)
        lower_value(l, s->value, s->target->local->index);
    else
        lower_store(l, s);
}

static void lower_if(lowering *l, const statement *s) {
    int otherwise = new_label(l), end = s->otherwise ? new_label(l) : otherwise;
    lower_branch(l, s->value, false, otherwise);
    lower_statement(l, s->body);
    if (s->otherwise) {
        jump(l, end);
        place(l, otherwise);
        lower_statement(l, s->otherwise);
    }
    place(l, end);
}

/* The condition stands at the end, so that each round has one jump. */
static void lower_while(lowering *l, const statement *s) {
    int body = new_label(l), test = new_label(l), end = new_label(l), again = s->step ? new_label(l) : test;
    loop inner = {l->loops, end, again};
    bool is_forever = s->value->kind == EXPRESSION_BOOL && s->value->int_value;
    l->loops = &inner;
    if (!is_forever || s->step) jump(l, test);
    place(l, body);
    if (l->f->has_polls) add(l, IR_POLL);
    lower_statement(l, s->body);
    if (s->step) {
        place(l, again);
        lower_statement(l, s->step);
    }
    place(l, test);
    lower_branch(l, s->value, true, body);
    place(l, end);
    l->loops = inner.outer;
}

static void lower_return(lowering *l, const statement *s) {
    int value = s->value ? lower_value(l, s->value, -1) : -1;
    if (s->at.line) l->line = s->at.line;
    add(l, IR_RETURN)->a = value;
}

static void lower_statement(lowering *l, const statement *s) {
    if (s->at.line) l->line = s->at.line;
    switch (s->kind) {
    case STATEMENT_BLOCK:
        for (const statement *each = s->first; each; each = each->next) lower_statement(l, each);
        break;
    case STATEMENT_VARIABLE:
        lower_value(l, s->value, s->local->index);
        break;
    case STATEMENT_ASSIGN:
        lower_assign(l, s);
        break;
    case STATEMENT_EXPRESSION:
        lower_value(l, s->value, -1);
        break;
    case STATEMENT_IF:
        lower_if(l, s);
        break;
    case STATEMENT_WHILE:
        lower_while(l, s);
        break;
    case STATEMENT_RETURN:
        lower_return(l, s);
        break;
    case STATEMENT_BREAK:
        jump(l, l->loops->on_break);
        break;
    case STATEMENT_CONTINUE:
        jump(l, l->loops->on_continue);
        break;
    default:
        fprintf(stderr, "jit: statement %d is not one that the checker leaves\n", (int)s->kind), abort();
    }
}

void lower(ir_function *f, const function *source, int (*literal)(const char *, size_t)) {
    lowering l = {.f = f, .literal = literal, .line = source->at.line, .stretch = 1};
    f->source = source;
    for (const local *each = source->locals; each; each = each->next) {
        int value = new_value(&l, class_of(each->type));
        f->values[value].variable = each;
    }
    if (source->has_receiver && !source->locals->is_hidden) l.checked[0] = l.stretch;
    lower_statement(&l, source->body);
    l.line = source->body->end.line;
    if (source->type->result->kind == TYPE_VOID) add(&l, IR_RETURN);
    free(l.checked);
}

ir_effect ir_effect_of(ir_op op) {
    static const ir_effect effects[] = {
#define X(name, effect) EFFECT_##effect,
        IR_OPS(X)
#undef X
    };
    return effects[op];
}

void ir_each_use(const ir_function *f, const ir *i, void (*each)(void *, int, bool), void *context) {
    bool late = ir_effect_of(i->op) == EFFECT_ALLOCATES;
    const int operands[] = {i->a, i->b, i->c};
    for (int n = 0; n < 3; n++)
        if (operands[n] >= 0 && !f->values[operands[n]].is_literal) each(context, operands[n], false);
    for (int n = 0; n < i->argument_count; n++)
        if (!f->values[i->arguments[n]].is_literal) each(context, i->arguments[n], late);
}

void ir_free(ir_function *f) {
    for (uint32_t i = 0; i < f->count; i++) free(f->code[i].arguments);
    free(f->code);
    free(f->values);
    free(f->live_after);
    free(f->live_entry);
    free(f->interruptible);
    free(f->depth);
    free(f->offsets);
}
