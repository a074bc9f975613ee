/* compile.c - from nodes to instructions. First analyse() finds out which variables are captured, and which of those
   need a box; then emit() writes the code. Nodes, variables and code are malloc'ed: only a closure that runs the result
   is on the heap. */
#include "compile.h"

#include <stdlib.h>

/* The arena of a compilation. */

typedef struct arena {
    struct arena *previous;
    size_t used;
    char bytes[64 * 1024 - 16];
} arena;

static void *must(void *memory) {
    if (!memory) {
        fputs("scheme: the compiler ran out of memory\n", stderr);
        exit(70);
    }
    return memory;
}

static arena *arena_push(machine *m, size_t bytes) {
    arena *a = must(malloc(sizeof *a > bytes ? sizeof *a : bytes));
    a->previous = m->arena;
    a->used = 0;
    return m->arena = a;
}

void *arena_allocate(machine *m, size_t bytes) {
    size_t size = (bytes + 15) & ~(size_t)15;
    arena *a = m->arena;
    if (!a || a->used + size > sizeof a->bytes) a = arena_push(m, offsetof(arena, bytes) + size);
    void *memory = a->bytes + a->used;
    a->used += size;
    return memset(memory, 0, bytes);
}

void arena_reset(machine *m) {
    while (m->arena) {
        arena *a = m->arena;
        m->arena = a->previous;
        free(a);
    }
}

/* Analysis. */

static void analyse(machine *m, node *n, function *f);

static void add_capture(machine *m, function *f, variable *v) {
    for (uint32_t i = 0; i < f->captures_count; i++)
        if (f->captures[i] == v) return;
    if (f->captures_count == f->captures_capacity) {
        variable **old = f->captures;
        f->captures_capacity = f->captures_capacity * 2 + 4;
        f->captures = arena_allocate(m, f->captures_capacity * sizeof *old);
        if (old) memcpy(f->captures, old, f->captures_count * sizeof *old);
    }
    f->captures[f->captures_count++] = v;
}

/* v is used in f: every function between it and v's own captures it. */
static void use(machine *m, variable *v, function *f) {
    if (v->owner == f) return;
    for (; f != v->owner; f = f->outer) add_capture(m, f, v);
    v->captured = true;
    if (v->pending && !v->run) v->boxed = true; /* a copy made now would miss the value */
}

static bool is_jump(const node *n) {
    return n->kind == NODE_CALL && n->list.callee->kind == NODE_LOCAL && n->list.callee->local.variable->loop &&
           !n->list.callee->local.variable->loop->escapes;
}

static bool is_boxed(const variable *v) { return v->boxed || (v->captured && v->assigned); }

static void analyse_function(machine *m, function *inner, function *outer) {
    inner->outer = outer;
    for (uint32_t i = 0; i < inner->parameters_count; i++) inner->parameters[i]->owner = inner;
    analyse(m, inner->body, inner);
}

/* The lambdas from i on that are created together: each may capture the others, patched in once all are there. */
static uint32_t run_end(const node *n, uint32_t i) {
    while (i < n->let.count && n->let.variables[i] && n->let.values[i]->kind == NODE_LAMBDA) i++;
    return i;
}

static void analyse_letrec(machine *m, node *n, function *f) {
    for (uint32_t i = 0; i < n->let.count; i++)
        if (n->let.variables[i]) n->let.variables[i]->owner = f, n->let.variables[i]->pending = true;
    for (uint32_t i = 0; i < n->let.count;) {
        uint32_t end = run_end(n, i);
        for (uint32_t k = i; k < end; k++) n->let.variables[k]->run = true;
        for (uint32_t k = i; k < end || k == i; k++) analyse(m, n->let.values[k], f);
        if (end == i) end++;
        for (; i < end; i++)
            if (n->let.variables[i]) n->let.variables[i]->run = n->let.variables[i]->pending = false;
    }
    analyse(m, n->let.body, f);
}

static void analyse_loop(machine *m, node *n, function *f) {
    for (uint32_t i = 0; i < n->loop.count; i++) {
        analyse(m, n->loop.values[i], f);
        n->loop.function->parameters[i]->owner = f;
    }
    analyse(m, n->loop.function->body, f);
}

static void analyse_all(machine *m, node **nodes, uint32_t count, function *f) {
    for (uint32_t i = 0; i < count; i++) analyse(m, nodes[i], f);
}

static void analyse(machine *m, node *n, function *f) {
    switch (n->kind) {
    case NODE_IMMEDIATE:
    case NODE_LITERAL:
    case NODE_GLOBAL:
        break;
    case NODE_LOCAL:
        use(m, n->local.variable, f);
        n->local.checked = n->local.variable->pending && n->local.variable->owner == f;
        break;
    case NODE_SET_LOCAL:
        use(m, n->set.variable, f); /* fall through */
    case NODE_SET_GLOBAL:
    case NODE_DEFINE:
        analyse(m, n->set.value, f);
        break;
    case NODE_IF:
        analyse(m, n->branch.then, f); /* fall through */
    case NODE_OR:
        analyse(m, n->branch.test, f);
        analyse(m, n->branch.otherwise, f);
        break;
    case NODE_CALL:
        if (!is_jump(n)) analyse(m, n->list.callee, f); /* fall through */
    case NODE_SEQUENCE:
    case NODE_OPERATION:
        analyse_all(m, n->list.items, n->list.count, f);
        break;
    case NODE_LAMBDA:
        analyse_function(m, n->function, f);
        break;
    case NODE_LET:
        for (uint32_t i = 0; i < n->let.count; i++) n->let.variables[i]->owner = f;
        analyse_all(m, n->let.values, n->let.count, f);
        analyse(m, n->let.body, f);
        break;
    case NODE_LETREC:
        analyse_letrec(m, n, f);
        break;
    case NODE_LOOP:
        analyse_loop(m, n, f);
        break;
    }
}

/* Emission. */

typedef struct emitter {
    machine *m;
    function *function;
    code *code;
    uint32_t capacity;
    uint32_t children, children_capacity;
    int32_t depth; /* values above the frame */
    uint32_t line;
} emitter;

static void emit(emitter *e, node *n, bool tail);

static void word(emitter *e, uint32_t w) {
    code *c = e->code;
    if (c->length == e->capacity) {
        e->capacity = e->capacity * 2 + 16;
        c->instructions = must(realloc(c->instructions, e->capacity * sizeof(uint32_t)));
        c->lines = must(realloc(c->lines, e->capacity * sizeof(uint32_t)));
    }
    c->lines[c->length] = e->line;
    c->instructions[c->length++] = w;
}

static void deepen(emitter *e, int32_t change) {
    e->depth += change;
    if (e->depth > (int32_t)e->code->slots) e->code->slots = (uint32_t)e->depth;
}

/* Writes an instruction that pushes `change` values more than it pops. */
static void op(emitter *e, int opcode, int32_t operand, int32_t change) {
    if (operand != (int32_t)(instruction(0, operand)) >> 8)
        error_throw_at(e->m, e->code->file, e->line, "the procedure is too large");
    word(e, instruction(opcode, operand));
    deepen(e, change);
}

static uint32_t jump(emitter *e, int opcode, int32_t change) {
    op(e, opcode, 0, change);
    return e->code->length - 1;
}

/* Jumps count from the instruction after them. */
static void land(emitter *e, uint32_t at) {
    uint32_t *w = &e->code->instructions[at];
    *w = instruction((int)(*w & 0xff), (int32_t)(e->code->length - at - 1));
}

static int32_t capture_index(const emitter *e, const variable *v) {
    uint32_t i = 0;
    while (e->function->captures[i] != v) i++;
    return (int32_t)i;
}

static void emit_variable(emitter *e, variable *v, bool checked) {
    bool own = v->owner == e->function;
    if (own)
        op(e, is_boxed(v) ? OP_LOCAL_BOX : checked ? OP_LOCAL_CHECKED : OP_LOCAL, v->slot, 1);
    else
        op(e, is_boxed(v) ? OP_CAPTURE_BOX : OP_CAPTURE, capture_index(e, v), 1);
}

/* Stores the top of the stack and pops it. */
static void emit_store(emitter *e, variable *v) {
    if (v->owner != e->function)
        op(e, OP_SET_CAPTURE_BOX, capture_index(e, v), -1);
    else
        op(e, is_boxed(v) ? OP_SET_LOCAL_BOX : OP_SET_LOCAL, v->slot, -1);
}

static void emit_none(emitter *e) { op(e, OP_IMMEDIATE, (int32_t)NONE, 1); }

/* The value on top becomes a let's variable. */
static void bind_top(emitter *e, variable *v) {
    v->slot = e->depth - 1;
    if (is_boxed(v)) op(e, OP_BOX_LOCAL, v->slot, 0);
}

static void leave(emitter *e, uint32_t count, bool tail) {
    if (!tail && count) op(e, OP_SLIDE, (int32_t)count, -(int32_t)count);
}

static code *compile_function(machine *m, function *f, uint32_t file, uint32_t line);

static void emit_lambda(emitter *e, function *f) {
    if (e->children == e->children_capacity) {
        e->children_capacity = e->children_capacity * 2 + 4;
        e->code->children = must(realloc(e->code->children, e->children_capacity * sizeof(code *)));
    }
    e->code->children[e->children] = compile_function(e->m, f, e->code->file, e->line);
    op(e, OP_CLOSURE, (int32_t)e->children++, 1);
    word(e, f->captures_count);
    for (uint32_t i = 0; i < f->captures_count; i++) {
        variable *v = f->captures[i]; /* boxes are captured as boxes */
        if (v->owner == e->function)
            word(e, instruction(OP_LOCAL, v->slot));
        else
            word(e, instruction(OP_CAPTURE, capture_index(e, v)));
    }
}

/* Gives closures first..end-1 of a letrec the references to those of them that were made after. */
static void emit_patches(emitter *e, node *n, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        function *f = n->let.values[i]->function;
        for (uint32_t k = i; k < end; k++)
            for (uint32_t c = 0; c < f->captures_count; c++) {
                if (f->captures[c] != n->let.variables[k] || is_boxed(n->let.variables[k])) continue;
                emit_variable(e, n->let.variables[i], false);
                op(e, OP_PATCH, (int32_t)c, -1);
                word(e, instruction(OP_LOCAL, n->let.variables[k]->slot));
            }
    }
}

static void emit_letrec(emitter *e, node *n, bool tail) {
    uint32_t variables = 0;
    for (uint32_t i = 0; i < n->let.count; i++) {
        if (!n->let.variables[i]) continue;
        op(e, OP_IMMEDIATE, (int32_t)UNDEFINED, 1);
        bind_top(e, n->let.variables[i]);
        variables++;
    }
    for (uint32_t i = 0; i < n->let.count;) {
        uint32_t first = i, end = run_end(n, i);
        do {
            emit(e, n->let.values[i], false);
            if (n->let.variables[i])
                emit_store(e, n->let.variables[i]);
            else
                op(e, OP_POP, 0, -1);
        } while (++i < end);
        emit_patches(e, n, first, end);
    }
    emit(e, n->let.body, tail);
    leave(e, variables, tail);
}

static void emit_let(emitter *e, node *n, bool tail) {
    int32_t base = e->depth;
    for (uint32_t i = 0; i < n->let.count; i++) emit(e, n->let.values[i], false);
    for (uint32_t i = 0; i < n->let.count; i++) {
        variable *v = n->let.variables[i];
        v->slot = base + (int32_t)i;
        if (is_boxed(v)) op(e, OP_BOX_LOCAL, v->slot, 0);
    }
    emit(e, n->let.body, tail);
    leave(e, n->let.count, tail);
}

static void emit_loop(emitter *e, node *n, bool tail) {
    int32_t base = e->depth;
    variable **parameters = n->loop.function->parameters;
    for (uint32_t i = 0; i < n->loop.count; i++) emit(e, n->loop.values[i], false);
    n->loop.loop->label = e->code->length;
    n->loop.loop->base = base;
    for (uint32_t i = 0; i < n->loop.count; i++) {
        parameters[i]->slot = base + (int32_t)i;
        if (is_boxed(parameters[i])) op(e, OP_BOX_LOCAL, parameters[i]->slot, 0); /* each turn has its own box */
    }
    emit(e, n->loop.function->body, tail);
    leave(e, n->loop.count, tail);
}

static void emit_jump(emitter *e, node *n) {
    loop *l = n->list.callee->local.variable->loop;
    for (uint32_t i = 0; i < n->list.count; i++) emit(e, n->list.items[i], false);
    op(e, OP_LOOP, l->base, 1 - (int32_t)n->list.count);
    word(e, n->list.count);
    word(e, l->label - (e->code->length + 1)); /* like all jumps, from what follows */
}

/* A test whose outcome is only jumped on. Returns the jumps that are taken if it fails, linked through their operands. */
typedef struct exits {
    uint32_t at;
    struct exits *next;
} exits;

static exits *exit_add(emitter *e, exits *list, uint32_t at) {
    exits *x = arena_allocate(e->m, sizeof *x);
    x->at = at;
    x->next = list;
    return x;
}

static int fused_jump(const node *n) {
    if (n->kind != NODE_OPERATION) return -1;
    switch (n->list.opcode) {
    case OP_IS_PAIR:
        return OP_JUMP_UNLESS_PAIR;
    case OP_IS_NULL:
        return OP_JUMP_UNLESS_NULL;
    case OP_EQ:
        return OP_JUMP_UNLESS_EQ;
    case OP_LESS:
        return OP_JUMP_UNLESS_LESS;
    case OP_GREATER:
        return OP_JUMP_UNLESS_GREATER;
    case OP_LESS_EQUAL:
        return OP_JUMP_UNLESS_LESS_EQUAL;
    case OP_GREATER_EQUAL:
        return OP_JUMP_UNLESS_GREATER_EQUAL;
    case OP_NUMBER_EQUAL:
        return OP_JUMP_UNLESS_NUMBER_EQUAL;
    case OP_NOT:
        return OP_JUMP_IF_TRUE;
    default:
        return -1;
    }
}

static exits *emit_test(emitter *e, node *n, exits *list) {
    if (n->kind == NODE_IF && n->branch.otherwise->kind == NODE_IMMEDIATE &&
        n->branch.otherwise->immediate == FALSE_VALUE)
        return emit_test(e, n->branch.then, emit_test(e, n->branch.test, list));
    int opcode = fused_jump(n);
    if (opcode < 0) {
        emit(e, n, false);
        return exit_add(e, list, jump(e, OP_JUMP_IF_FALSE, -1));
    }
    for (uint32_t i = 0; i < n->list.count; i++) emit(e, n->list.items[i], false);
    e->line = n->line;
    return exit_add(e, list, jump(e, opcode, -(int32_t)n->list.count));
}

static void emit_if(emitter *e, node *n, bool tail) {
    exits *fails = emit_test(e, n->branch.test, NULL);
    int32_t depth = e->depth;
    emit(e, n->branch.then, tail);
    uint32_t end = tail ? 0 : jump(e, OP_JUMP, 0);
    for (; fails; fails = fails->next) land(e, fails->at);
    e->depth = depth;
    emit(e, n->branch.otherwise, tail);
    if (!tail) land(e, end);
}

static void emit_return(emitter *e) { op(e, OP_RETURN, (int32_t)e->code->parameters, 0); }

static void emit_or(emitter *e, node *n, bool tail) {
    emit(e, n->branch.test, false);
    uint32_t end = jump(e, OP_JUMP_OR_POP, -1);
    int32_t depth = e->depth;
    emit(e, n->branch.otherwise, tail);
    land(e, end);
    e->depth = depth + 1;
    if (tail) emit_return(e);
}

/* Operand of a tail call: the number of arguments, and of the caller's own parameters, which they replace. */
static void emit_call(emitter *e, node *n, bool tail) {
    uint32_t count = n->list.count;
    for (uint32_t i = 0; i < count; i++) emit(e, n->list.items[i], false);
    node *callee = n->list.callee;
    bool global = callee->kind == NODE_GLOBAL;
    if (!global) emit(e, callee, false);
    e->line = n->line;
    if (count > 4000 || e->code->parameters > 1000)
        error_throw_at(e->m, e->code->file, n->line, "a call has too many arguments");
    int32_t operand = tail ? (int32_t)(count | e->code->parameters << 12) : (int32_t)count;
    int opcode = global ? (tail ? OP_TAIL_CALL_GLOBAL : OP_CALL_GLOBAL) : (tail ? OP_TAIL_CALL : OP_CALL);
    deepen(e, FRAME_SLOTS); /* room for the callee's frame */
    e->depth -= FRAME_SLOTS;
    op(e, opcode, operand, (global ? 1 : 0) - (int32_t)count);
    if (global) word(e, callee->index);
}

static bool is_small_fixnum(const node *n) { return n->kind == NODE_IMMEDIATE && is_fixnum(n->immediate); }

static void emit_operation(emitter *e, node *n) {
    node **items = n->list.items;
    uint32_t count = n->list.count;
    int opcode = n->list.opcode;
    if ((opcode == OP_ADD || opcode == OP_SUBTRACT) && is_small_fixnum(items[1])) {
        emit(e, items[0], false);
        e->line = n->line;
        int32_t by = (int32_t)fixnum_of(items[1]->immediate);
        op(e, OP_ADD_IMMEDIATE, opcode == OP_ADD ? by : -by, 0);
        return;
    }
    for (uint32_t i = 0; i < count; i++) emit(e, items[i], false);
    e->line = n->line;
    op(e, opcode, 0, 1 - (int32_t)count);
}

static void emit_sequence(emitter *e, node *n, bool tail) {
    for (uint32_t i = 0; i + 1 < n->list.count; i++) {
        emit(e, n->list.items[i], false);
        op(e, OP_POP, 0, -1);
    }
    emit(e, n->list.items[n->list.count - 1], tail);
}

static void emit_set(emitter *e, node *n) {
    emit(e, n->set.value, false);
    e->line = n->line;
    if (n->kind == NODE_SET_LOCAL)
        emit_store(e, n->set.variable);
    else
        op(e, n->kind == NODE_DEFINE ? OP_DEFINE : OP_SET_GLOBAL, (int32_t)n->set.global, -1);
    emit_none(e);
}

/* Kinds that pass a tail position on to their parts. They return by themselves. */
static bool emit_compound(emitter *e, node *n, bool tail) {
    switch (n->kind) {
    case NODE_IF:
        emit_if(e, n, tail);
        return true;
    case NODE_OR:
        emit_or(e, n, tail);
        return true;
    case NODE_SEQUENCE:
        emit_sequence(e, n, tail);
        return true;
    case NODE_LET:
        emit_let(e, n, tail);
        return true;
    case NODE_LETREC:
        emit_letrec(e, n, tail);
        return true;
    case NODE_LOOP:
        emit_loop(e, n, tail);
        return true;
    case NODE_CALL:
        if (is_jump(n))
            emit_jump(e, n);
        else
            emit_call(e, n, tail);
        return true;
    default:
        return false;
    }
}

/* Writes code that pushes n's value; in tail position, that returns it. */
static void emit(emitter *e, node *n, bool tail) {
    uint32_t line = e->line;
    e->line = n->line;
    if (!emit_compound(e, n, tail)) {
        switch (n->kind) {
        case NODE_IMMEDIATE:
            op(e, OP_IMMEDIATE, (int32_t)(intptr_t)n->immediate, 1);
            break;
        case NODE_LITERAL:
            op(e, OP_LITERAL, (int32_t)n->index, 1);
            break;
        case NODE_LOCAL:
            emit_variable(e, n->local.variable, n->local.checked);
            break;
        case NODE_GLOBAL:
            op(e, OP_GLOBAL, (int32_t)n->index, 1);
            break;
        case NODE_LAMBDA:
            emit_lambda(e, n->function);
            break;
        case NODE_OPERATION:
            emit_operation(e, n);
            break;
        default:
            emit_set(e, n);
            break;
        }
        if (tail) emit_return(e);
    }
    e->line = line;
}

static code *compile_function(machine *m, function *f, uint32_t file, uint32_t line) {
    code *c = must(calloc(1, sizeof *c));
    c->next = m->codes;
    m->codes = c;
    emitter e = {.m = m, .function = f, .code = c, .line = line};
    c->file = file;
    c->parameters = f->parameters_count;
    c->rest = f->rest;
    c->name = f->name;
    for (uint32_t i = 0; i < f->parameters_count; i++) {
        variable *v = f->parameters[i];
        v->slot = (int32_t)i - (int32_t)f->parameters_count - FRAME_SLOTS;
        if (is_boxed(v)) op(&e, OP_BOX_LOCAL, v->slot, 0);
    }
    emit(&e, f->body, true);
    return c;
}

value compile_datum(machine *m, value datum, uint32_t file, uint32_t line) {
    arena_reset(m);
    node *body = expand_datum(m, datum, &file, line);
    function top = {.name = NO_NAME, .body = body};
    analyse(m, body, &top);
    code *c = compile_function(m, &top, file, body->line);
    arena_reset(m);
    closure *thunk = make_array(m, KIND_CLOSURE, 0);
    thunk->code = c;
    return value_of(thunk);
}
