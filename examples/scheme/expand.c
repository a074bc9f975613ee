/* expand.c - from data to nodes: names are resolved to variables here. The core forms; forms.c has the derived ones.

   Nothing but the table of literals is allocated on the heap meanwhile, but that is enough to move the very form that is
   being expanded: so each function that goes on using a form after a part of it was expanded has it in a frame. */
#include "compile.h"

#include <stdlib.h>

/* How much of the native stack expansion may use; what follows recurses alike, and needs no more. */
enum { EXPAND_STACK_BYTES_MAX = 2 << 20 };

/* Calls of these globals become single instructions, unless a program has redefined them before. */
static const struct operation {
    const char *name;
    int opcode;
    uint32_t arguments;
    bool folds; /* (+ a b c) is (+ (+ a b) c) */
} operations[] = {
    {"%record-ref", OP_RECORD_REF, 3, 0},
    {"%record-set!", OP_RECORD_SET, 4, 0},
    {"car", OP_CAR, 1, 0},
    {"cdr", OP_CDR, 1, 0},
    {"cadr", OP_CADR, 1, 0},
    {"cons", OP_CONS, 2, 0},
    {"set-car!", OP_SET_CAR, 2, 0},
    {"set-cdr!", OP_SET_CDR, 2, 0},
    {"+", OP_ADD, 2, 1},
    {"-", OP_SUBTRACT, 2, 1},
    {"*", OP_MULTIPLY, 2, 1},
    {"quotient", OP_QUOTIENT, 2, 0},
    {"remainder", OP_REMAINDER, 2, 0},
    {"=", OP_NUMBER_EQUAL, 2, 0},
    {"<", OP_LESS, 2, 0},
    {">", OP_GREATER, 2, 0},
    {"<=", OP_LESS_EQUAL, 2, 0},
    {">=", OP_GREATER_EQUAL, 2, 0},
    {"eq?", OP_EQ, 2, 0},
    {"eqv?", OP_EQV, 2, 0},
    {"not", OP_NOT, 1, 0},
    {"null?", OP_IS_NULL, 1, 0},
    {"pair?", OP_IS_PAIR, 1, 0},
    {"vector-ref", OP_VECTOR_REF, 2, 0},
    {"vector-set!", OP_VECTOR_SET, 3, 0},
    {"string-ref", OP_STRING_REF, 2, 0},
};
enum { OPERATIONS = sizeof operations / sizeof *operations, FOLD_MAX = 16 };
_Static_assert(OPERATIONS <= 64, "machine.redefined has a bit for each");

static const struct form {
    const char *name;
    node *(*expand)(expander *x, value form, scope s);
    size_t length_min, length_max; /* of the whole form; length_max 0: any */
} forms[] = {
#define FORM_ENTRY(id, name, function, min, max) {name, expand_##function, min, max},
    FORMS(FORM_ENTRY)
#undef FORM_ENTRY
};

void expand_init(machine *m) {
    static const char *const keywords[] = {"else",
                                           "=>",
                                           "unquote",
                                           "unquote-splicing",
                                           "%append",
                                           "%list->vector",
                                           "%guard",
                                           "raise-continuable",
                                           "call-with-values",
                                           "make-promise",
                                           "%make-record-type",
                                           "%make-record",
                                           "%record?"};
    for (size_t i = 0; i < FORM_COUNT; i++) intern_text(m, forms[i].name);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) intern_text(m, keywords[i]);
    for (size_t i = 0; i < OPERATIONS; i++) intern_text(m, operations[i].name);
}

static const struct operation *find_operation(machine *m, uint32_t id, uint32_t arguments) {
    uint32_t i = id - OPERATION_FIRST;
    if (i >= OPERATIONS || m->redefined >> i & 1) return NULL;
    const struct operation *o = &operations[i];
    return o->arguments == arguments || (o->folds && arguments > 2 && arguments <= FOLD_MAX) ? o : NULL;
}

/* A program that defines such a global means its own from there on. */
static void redefine(expander *x, uint32_t id) {
    if (id - OPERATION_FIRST < OPERATIONS) x->m->redefined |= (uint64_t)1 << (id - OPERATION_FIRST);
}

void expand_fail(expander *x, scope s, const char *form, const char *problem) {
    error_throw_at(x->m, x->file, s.line, "%s: %s", form, problem);
}

void expand_check_depth(expander *x, scope s) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (x->stack - here > EXPAND_STACK_BYTES_MAX) expand_fail(x, s, "expression", "nested too deeply, or too long");
}

node *node_new(expander *x, enum node_kind kind, scope s) {
    node *n = arena_allocate(x->m, sizeof *n);
    n->kind = kind;
    n->line = s.line;
    return n;
}

node *node_none(expander *x, scope s) {
    node *n = node_new(x, NODE_IMMEDIATE, s);
    n->immediate = NONE;
    return n;
}

node *node_if(expander *x, node *test, node *then, node *otherwise, scope s) {
    node *n = node_new(x, NODE_IF, s);
    n->branch.test = test;
    n->branch.then = then;
    n->branch.otherwise = otherwise;
    return n;
}

static node *node_list(expander *x, enum node_kind kind, uint32_t count, scope s) {
    node *n = node_new(x, kind, s);
    n->list.items = arena_allocate(x->m, count * sizeof(node *));
    n->list.count = count;
    return n;
}

node *node_call(expander *x, node *callee, uint32_t count, scope s) {
    node *n = node_list(x, NODE_CALL, count, s);
    n->list.callee = callee;
    return n;
}

node *node_call_global(expander *x, uint32_t id, uint32_t count, scope s) {
    node *global = node_new(x, NODE_GLOBAL, s);
    global->index = id;
    return node_call(x, global, count, s);
}

node *node_operation(expander *x, int opcode, node *a, node *b, scope s) {
    node *n = node_list(x, NODE_OPERATION, b ? 2 : 1, s);
    n->list.opcode = opcode;
    n->list.items[0] = a;
    if (b) n->list.items[1] = b;
    return n;
}

static node *node_let_many(expander *x, enum node_kind kind, uint32_t count, scope s) {
    node *n = node_new(x, kind, s);
    n->let.variables = arena_allocate(x->m, count * sizeof(variable *));
    n->let.values = arena_allocate(x->m, count * sizeof(node *));
    n->let.count = count;
    return n;
}

node *node_let(expander *x, variable *v, node *value, node *body, scope s) {
    node *n = node_let_many(x, NODE_LET, 1, s);
    n->let.variables[0] = v;
    n->let.values[0] = value;
    n->let.body = body;
    return n;
}

variable *variable_new(expander *x, uint32_t name) {
    variable *v = arena_allocate(x->m, sizeof *v);
    v->name = name;
    return v;
}

scope scope_with(expander *x, scope s, variable *v) {
    environment *e = arena_allocate(x->m, sizeof *e);
    e->variable = v;
    e->outer = s.variables;
    s.variables = e;
    s.top = false;
    return s;
}

static variable *lookup(scope s, uint32_t id) {
    for (environment *e = s.variables; e; e = e->outer)
        if (e->variable->name == id) return e->variable;
    return NULL;
}

bool expand_is_keyword(value v, uint32_t id, scope s) {
    return is_kind(v, KIND_SYMBOL) && symbol_of(v)->id == id && !lookup(s, id);
}

static uint32_t variable_id(expander *x, value v, scope s, const char *form) {
    if (!is_kind(v, KIND_SYMBOL)) expand_fail(x, s, form, "a variable must be a symbol");
    return symbol_of(v)->id;
}

node *expand_constant(expander *x, value v, scope s) {
    intptr_t bits = (intptr_t)v;
    node *n = node_new(x, NODE_IMMEDIATE, s);
    n->immediate = v;
    if (is_object(v) || bits < -(1 << 23) || bits >= 1 << 23) {
        n->kind = NODE_LITERAL;
        n->index = literal_add(x->m, v);
    }
    return n;
}

/* A use of v other than a call that continues its loop. */
node *expand_local(expander *x, variable *v, scope s) {
    if (v->loop) {
        v->loop->escapes = true;
        loop_use(x, v->loop);
    }
    node *n = node_new(x, NODE_LOCAL, s);
    n->local.variable = v;
    return n;
}

static node *expand_symbol(expander *x, value form, scope s) {
    uint32_t id = symbol_of(form)->id;
    variable *v = lookup(s, id);
    if (v) return expand_local(x, v, s);
    if (id < FORM_COUNT) expand_fail(x, s, forms[id].name, "this is syntax, not a variable");
    node *n = node_new(x, NODE_GLOBAL, s);
    n->index = id;
    return n;
}

static void expand_arguments(expander *x, value arguments, node **items, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, arguments);
    s = scope_inner(x, s);
    for (; is_pair(arguments); arguments = cdr(arguments)) {
        if (is_kind(arguments, KIND_SOURCE_PAIR)) s.line = ((source_pair *)object_of(arguments))->line;
        *items++ = expand(x, car(arguments), s);
    }
}

static node *expand_operation(expander *x, const struct operation *o, value arguments, uint32_t count, scope s) {
    node *n = node_list(x, NODE_OPERATION, count, s);
    n->list.opcode = o->opcode;
    expand_arguments(x, arguments, n->list.items, s);
    if (count == o->arguments) return n;
    node *folded = n->list.items[0];
    for (uint32_t i = 1; i < count; i++) folded = node_operation(x, o->opcode, folded, n->list.items[i], s);
    return folded;
}

static node *expand_call(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    uint32_t count = (uint32_t)list_length(cdr(form));
    value head = car(form);
    variable *v = is_kind(head, KIND_SYMBOL) ? lookup(s, symbol_of(head)->id) : NULL;
    if (!v && is_kind(head, KIND_SYMBOL)) {
        const struct operation *o = find_operation(x->m, symbol_of(head)->id, count);
        if (o) return expand_operation(x, o, cdr(form), count, s);
    }
    node *call = node_call(x, NULL, count, s);
    if (v && v->loop && v->loop->depth >= s.jump_depth && count == v->loop->arguments) {
        loop_use(x, v->loop); /* it may become a jump */
        call->list.callee = node_new(x, NODE_LOCAL, s);
        call->list.callee->local.variable = v;
    } else {
        call->list.callee = expand(x, head, scope_inner(x, s));
    }
    expand_arguments(x, cdr(form), call->list.items, s);
    return call;
}

static node *expand_pair(expander *x, value form, scope s) {
    if (is_kind(form, KIND_SOURCE_PAIR)) {
        x->file = ((source_pair *)object_of(form))->file;
        s.line = ((source_pair *)object_of(form))->line;
    }
    value head = car(form);
    uint32_t id = is_kind(head, KIND_SYMBOL) ? symbol_of(head)->id : FORM_COUNT;
    bool is_form = id < FORM_COUNT && !lookup(s, id);
    if (!is_list(form)) expand_fail(x, s, is_form ? forms[id].name : "call", "the form is not a proper list");
    if (!is_form) return expand_call(x, form, s);
    size_t length = list_length(form);
    if (length < forms[id].length_min) expand_fail(x, s, forms[id].name, "a part is missing");
    if (forms[id].length_max && length > forms[id].length_max) expand_fail(x, s, forms[id].name, "too many parts");
    return forms[id].expand(x, form, s);
}

node *expand(expander *x, value form, scope s) {
    expand_check_depth(x, s);
    if (is_pair(form)) return expand_pair(x, form, s);
    if (is_kind(form, KIND_SYMBOL)) return expand_symbol(x, form, s);
    if (form == NIL) expand_fail(x, s, "()", "an empty list is not an expression; quote it");
    return expand_constant(x, form, s);
}

node *expand_sequence(expander *x, value forms, scope s) {
    if (forms == NIL) return node_none(x, s);
    if (cdr(forms) == NIL) return expand(x, car(forms), s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, forms);
    node *n = node_list(x, NODE_SEQUENCE, (uint32_t)list_length(forms), s);
    scope inner = scope_inner(x, s);
    inner.top = s.top;
    for (uint32_t i = 0; i < n->list.count; i++, forms = cdr(forms))
        n->list.items[i] = expand(x, car(forms), i + 1 < n->list.count ? inner : s);
    return n;
}

static void add_parameter(expander *x, function *f, value name, scope *s) {
    uint32_t id = variable_id(x, name, *s, "parameter");
    for (uint32_t i = 0; i < f->parameters_count; i++)
        if (f->parameters[i]->name == id) expand_fail(x, *s, "parameter", "the same name twice");
    variable *v = variable_new(x, id);
    f->parameters[f->parameters_count++] = v;
    *s = scope_with(x, *s, v);
}

node *expand_function(expander *x, value parameters, value body, scope s, uint32_t name) {
    function *f = arena_allocate(x->m, sizeof *f);
    f->parameters = arena_allocate(x->m, (list_length(parameters) + 1) * sizeof(variable *));
    f->name = name;
    scope inner = scope_inner(x, s);
    for (; is_pair(parameters); parameters = cdr(parameters)) add_parameter(x, f, car(parameters), &inner);
    f->rest = parameters != NIL;
    if (f->rest) add_parameter(x, f, parameters, &inner);
    f->body = expand_body(x, body, inner);
    node *n = node_new(x, NODE_LAMBDA, s);
    n->function = f;
    return n;
}

node *expand_lambda(expander *x, value form, scope s) { return expand_function(x, cadr(form), cddr(form), s, NO_NAME); }

node *expand_quote(expander *x, value form, scope s) { return expand_constant(x, cadr(form), s); }

node *expand_if(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    s.top = false;
    node *test = expand(x, cadr(form), scope_inner(x, s));
    node *then = expand(x, car(cddr(form)), s);
    value rest = cdr(cddr(form));
    return node_if(x, test, then, rest == NIL ? node_none(x, s) : expand(x, car(rest), s), s);
}

node *expand_begin(expander *x, value form, scope s) { return expand_sequence(x, cdr(form), s); }

node *expand_set(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    uint32_t id = variable_id(x, cadr(form), s, "set!");
    variable *v = lookup(s, id);
    node *n = node_new(x, v ? NODE_SET_LOCAL : NODE_SET_GLOBAL, s);
    n->set.variable = v;
    n->set.global = id;
    if (v)
        v->assigned = true;
    else
        redefine(x, id);
    if (v && v->loop) expand_local(x, v, s);
    n->set.value = expand(x, car(cddr(form)), scope_inner(x, s));
    return n;
}

/* The value of a definition whose name is known. */
static node *expand_defined(expander *x, value form, scope s, uint32_t name) {
    if (is_pair(cadr(form))) {
        if (cddr(form) == NIL) expand_fail(x, s, "define", "the body is missing");
        return expand_function(x, cdr(cadr(form)), cddr(form), s, name);
    }
    if (cddr(form) == NIL) return node_none(x, s);
    if (cdr(cddr(form)) != NIL) expand_fail(x, s, "define", "too many parts");
    node *n = expand(x, car(cddr(form)), scope_inner(x, s));
    if (n->kind == NODE_LAMBDA) n->function->name = name;
    return n;
}

static value defined_name(value form) { return is_pair(cadr(form)) ? car(cadr(form)) : cadr(form); }

node *expand_define(expander *x, value form, scope s) {
    if (!s.top) expand_fail(x, s, "define", "a definition must be at the start of a body or at the top level");
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    node *n = node_new(x, NODE_DEFINE, s);
    n->set.global = variable_id(x, defined_name(form), s, "define");
    if (n->set.global < FORM_COUNT) expand_fail(x, s, "define", "the name is that of syntax");
    redefine(x, n->set.global);
    n->set.value = expand_defined(x, form, s, n->set.global);
    return n;
}

/* Pushes the forms of a body on the machine's stack, with what (begin ...) and record definitions contain. */
static void push_body(expander *x, value forms, scope s) {
    expand_check_depth(x, s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, forms);
    for (; is_pair(forms); forms = cdr(forms)) {
        value form = car(forms);
        bool proper = is_pair(form) && is_list(form);
        if (proper && expand_is_keyword(car(form), FORM_BEGIN, s))
            push_body(x, cdr(form), s);
        else if (proper && expand_is_keyword(car(form), FORM_RECORD_TYPE, s))
            push_body(x, cdr(expand_record_definitions(x, form, s)), s);
        else
            machine_push(x->m, form);
    }
}

static bool is_definition(value form, scope s) {
    return is_pair(form) && is_list(form) && list_length(form) >= 2 && expand_is_keyword(car(form), FORM_DEFINE, s);
}

/* Definitions and what stands between them, as a letrec*. items: `count` forms on the machine's stack. */
static node *expand_definitions(expander *x, const value *items, uint32_t count, uint32_t defined, scope s) {
    node *n = node_let_many(x, NODE_LETREC, defined, s);
    scope inner = s;
    for (uint32_t i = 0; i < defined; i++) {
        if (!is_definition(items[i], s)) continue;
        uint32_t id = variable_id(x, defined_name(items[i]), s, "define");
        for (uint32_t k = 0; k < i; k++)
            if (n->let.variables[k] && n->let.variables[k]->name == id)
                expand_fail(x, s, "define", "the same name twice in one body");
        n->let.variables[i] = variable_new(x, id);
        inner = scope_with(x, inner, n->let.variables[i]);
    }
    for (uint32_t i = 0; i < defined; i++)
        n->let.values[i] = n->let.variables[i] ? expand_defined(x, items[i], inner, n->let.variables[i]->name)
                                               : expand(x, items[i], scope_inner(x, inner));
    node *body = node_list(x, NODE_SEQUENCE, count - defined, s);
    for (uint32_t i = defined; i < count; i++)
        body->list.items[i - defined] = expand(x, items[i], i + 1 < count ? scope_inner(x, inner) : inner);
    n->let.body = count == defined ? node_none(x, s) : body;
    return n;
}

node *expand_body(expander *x, value forms, scope s) {
    machine *m = x->m;
    value *items = m->sp; /* the machine's stack does not move */
    s.top = false;
    push_body(x, forms, s);
    uint32_t count = (uint32_t)(m->sp - items), defined = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_definition(items[i], s)) defined = i + 1;
    node *n;
    if (defined)
        n = expand_definitions(x, items, count, defined, s);
    else if (count == 1)
        n = expand(x, items[0], s);
    else {
        n = node_list(x, NODE_SEQUENCE, count, s);
        for (uint32_t i = 0; i < count; i++)
            n->list.items[i] = expand(x, items[i], i + 1 < count ? scope_inner(x, s) : s);
        if (count == 0) n = node_none(x, s);
    }
    m->sp = items;
    return n;
}

/* Checks the ((name value) ...) of a let and fills in both arrays; the variables are not in scope yet. */
static node *expand_bindings(expander *x, value bindings, scope s, enum node_kind kind, const char *form) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, bindings);
    if (!is_list(bindings)) expand_fail(x, s, form, "the bindings are not a list");
    node *n = node_let_many(x, kind, (uint32_t)list_length(bindings), s);
    for (uint32_t i = 0; is_pair(bindings); bindings = cdr(bindings), i++) {
        value b = car(bindings);
        if (!is_list(b) || list_length(b) != 2) expand_fail(x, s, form, "a binding must be (name value)");
        uint32_t id = variable_id(x, car(b), s, form);
        for (uint32_t k = 0; k < i; k++)
            if (n->let.variables[k]->name == id) expand_fail(x, s, form, "the same name twice");
        n->let.variables[i] = variable_new(x, id);
        if (kind == NODE_LETREC) continue; /* its values are expanded in the inner scope */
        n->let.values[i] = expand(x, cadr(b), scope_inner(x, s));
        if (n->let.values[i]->kind == NODE_LAMBDA) n->let.values[i]->function->name = id;
    }
    return n;
}

static scope scope_with_all(expander *x, scope s, const node *n) {
    for (uint32_t i = 0; i < n->let.count; i++) s = scope_with(x, s, n->let.variables[i]);
    return s;
}

loop *loop_open(expander *x, uint32_t name, uint32_t arguments) {
    loop *l = arena_allocate(x->m, sizeof *l);
    l->name = variable_new(x, name);
    l->name->loop = l;
    l->depth = ++x->loops_depth;
    l->arguments = arguments;
    l->opened_at = x->loop_uses;
    l->outer = x->loops;
    return x->loops = l;
}

void loop_use(expander *x, loop *l) { l->used_at = ++x->loop_uses; }

/* Ends the scope of a loop. If its body has to be a procedure after all, then the outer loops that the body continues
   are continued from within a procedure, so that they have to be procedures too. */
node *loop_close(expander *x, loop *l, function *f, node **values, scope s) {
    x->loops = l->outer;
    x->loops_depth--;
    node *n = node_new(x, NODE_LOOP, s);
    n->loop.loop = l;
    n->loop.function = f;
    n->loop.values = values;
    n->loop.count = f->parameters_count;
    if (!l->escapes) return n;
    for (loop *o = l->outer; o; o = o->outer)
        if (o->used_at > l->opened_at) o->escapes = true;
    node *lambda = node_new(x, NODE_LAMBDA, s), *call = node_call(x, node_new(x, NODE_LOCAL, s), n->loop.count, s);
    lambda->function = f;
    call->list.callee->local.variable = l->name;
    call->list.items = values;
    node *letrec = node_let(x, l->name, lambda, call, s);
    letrec->kind = NODE_LETREC;
    return letrec;
}

static node *expand_named_let(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    if (cdr(cddr(form)) == NIL) expand_fail(x, s, "let", "the body is missing");
    node *bindings = expand_bindings(x, car(cddr(form)), s, NODE_LET, "let");
    uint32_t name = symbol_of(cadr(form))->id;
    loop *l = loop_open(x, name, bindings->let.count);
    function *f = arena_allocate(x->m, sizeof *f);
    f->name = name;
    f->parameters = bindings->let.variables;
    f->parameters_count = bindings->let.count;
    scope inner = scope_with_all(x, scope_with(x, s, l->name), bindings);
    f->body = expand_body(x, cdr(cddr(form)), inner);
    return loop_close(x, l, f, bindings->let.values, s);
}

node *expand_let(expander *x, value form, scope s) {
    if (is_kind(cadr(form), KIND_SYMBOL)) return expand_named_let(x, form, s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    node *n = expand_bindings(x, cadr(form), s, NODE_LET, "let");
    n->let.body = expand_body(x, cddr(form), scope_with_all(x, s, n));
    return n;
}

static node *expand_let_star_from(expander *x, value bindings, value body, scope s) {
    expand_check_depth(x, s);
    if (bindings == NIL) return expand_body(x, body, s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, bindings, body);
    value first = make_pair(x->m, car(bindings), NIL);
    node *n = expand_bindings(x, first, s, NODE_LET, "let*");
    n->let.body = expand_let_star_from(x, cdr(bindings), body, scope_with_all(x, s, n));
    return n;
}

node *expand_let_star(expander *x, value form, scope s) {
    if (!is_list(cadr(form))) expand_fail(x, s, "let*", "the bindings are not a list");
    return expand_let_star_from(x, cadr(form), cddr(form), s);
}

node *expand_letrec(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    node *n = expand_bindings(x, cadr(form), s, NODE_LETREC, "letrec");
    scope inner = scope_with_all(x, s, n);
    value bindings = cadr(form);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, bindings);
    for (uint32_t i = 0; i < n->let.count; i++, bindings = cdr(bindings)) {
        n->let.values[i] = expand(x, cadr(car(bindings)), scope_inner(x, inner));
        if (n->let.values[i]->kind == NODE_LAMBDA) n->let.values[i]->function->name = n->let.variables[i]->name;
    }
    n->let.body = expand_body(x, cddr(form), inner);
    return n;
}

node *expand_datum(machine *m, value datum, uint32_t *file, uint32_t line) {
    expander x = {.m = m, .file = *file, .stack = (uintptr_t)__builtin_frame_address(0)};
    scope s = {.line = line, .jump_depth = 1, .top = true};
    node *n = expand(&x, datum, s);
    *file = x.file;
    return n;
}
