/* forms.c - the derived forms: each is put together from the nodes of the core. */
#include "compile.h"

node *expand_and(expander *x, value form, scope s) {
    expand_check_depth(x, s);
    value rest = cdr(form);
    if (rest == NIL) return expand_constant(x, TRUE_VALUE, s);
    if (cdr(rest) == NIL) return expand(x, car(rest), s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, rest);
    node *test = expand(x, car(rest), scope_inner(x, s));
    return node_if(x, test, expand_and(x, rest, s), expand_constant(x, FALSE_VALUE, s), s);
}

static node *node_or(expander *x, node *test, node *otherwise, scope s) {
    node *n = node_if(x, test, NULL, otherwise, s);
    n->kind = NODE_OR;
    return n;
}

node *expand_or(expander *x, value form, scope s) {
    expand_check_depth(x, s);
    value rest = cdr(form);
    if (rest == NIL) return expand_constant(x, FALSE_VALUE, s);
    if (cdr(rest) == NIL) return expand(x, car(rest), s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, rest);
    node *test = expand(x, car(rest), scope_inner(x, s));
    return node_or(x, test, expand_or(x, rest, s), s);
}

node *expand_when(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    bool unless = symbol_of(car(form))->id == FORM_UNLESS;
    node *test = expand(x, cadr(form), scope_inner(x, s));
    node *body = expand_sequence(x, cddr(form), s);
    return unless ? node_if(x, test, node_none(x, s), body, s) : node_if(x, test, body, node_none(x, s), s);
}

/* (test => receiver): the test's value goes to the receiver. `test` is a node for that value. */
static node *expand_arrow(expander *x, variable *v, value after, scope s) {
    if (after == NIL || cdr(after) != NIL) expand_fail(x, s, "=>", "one expression must follow");
    node *call = node_call(x, expand(x, car(after), scope_inner(x, s)), 1, s);
    call->list.items[0] = expand_local(x, v, s);
    return call;
}

/* The clauses of a cond; `otherwise` is what happens if none applies. */
static node *expand_clauses(expander *x, value clauses, node *otherwise, scope s) {
    expand_check_depth(x, s);
    if (clauses == NIL) return otherwise;
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, clauses);
    value clause = car(clauses);
    if (!is_list(clause) || clause == NIL) expand_fail(x, s, "cond", "a clause must be (test expression ...)");
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, clause);
    if (expand_is_keyword(car(clause), KEYWORD_ELSE, s)) {
        if (cdr(clauses) != NIL) expand_fail(x, s, "cond", "else must be the last clause");
        return expand_sequence(x, cdr(clause), s);
    }
    node *test = expand(x, car(clause), scope_inner(x, s));
    if (cdr(clause) == NIL) return node_or(x, test, expand_clauses(x, cdr(clauses), otherwise, s), s);
    if (!expand_is_keyword(cadr(clause), KEYWORD_ARROW, s)) {
        node *then = expand_sequence(x, cdr(clause), s);
        return node_if(x, test, then, expand_clauses(x, cdr(clauses), otherwise, s), s);
    }
    variable *v = variable_new(x, NO_NAME);
    node *then = expand_arrow(x, v, cddr(clause), s);
    node *rest = expand_clauses(x, cdr(clauses), otherwise, s);
    return node_let(x, v, test, node_if(x, expand_local(x, v, s), then, rest, s), s);
}

node *expand_cond(expander *x, value form, scope s) { return expand_clauses(x, cdr(form), node_none(x, s), s); }

/* Whether the key in v is one of the data. */
static node *expand_case_test(expander *x, value data, variable *v, scope s) {
    expand_check_depth(x, s);
    if (data == NIL) return expand_constant(x, FALSE_VALUE, s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, data);
    node *datum = expand_constant(x, car(data), s);
    int opcode = is_kind(car(data), KIND_FLONUM) ? OP_EQV : OP_EQ;
    node *test = node_operation(x, opcode, expand_local(x, v, s), datum, s);
    return cdr(data) == NIL ? test : node_or(x, test, expand_case_test(x, cdr(data), v, s), s);
}

static node *expand_case_body(expander *x, value body, variable *v, scope s) {
    if (is_pair(body) && expand_is_keyword(car(body), KEYWORD_ARROW, s)) return expand_arrow(x, v, cdr(body), s);
    return expand_sequence(x, body, s);
}

static node *expand_case_clauses(expander *x, value clauses, variable *v, scope s) {
    expand_check_depth(x, s);
    if (clauses == NIL) return node_none(x, s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, clauses);
    value clause = car(clauses);
    if (!is_list(clause) || clause == NIL) expand_fail(x, s, "case", "a clause must be ((datum ...) expression ...)");
    if (expand_is_keyword(car(clause), KEYWORD_ELSE, s)) return expand_case_body(x, cdr(clause), v, s);
    if (!is_list(car(clause))) expand_fail(x, s, "case", "a clause must be ((datum ...) expression ...)");
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, clause);
    node *test = expand_case_test(x, car(clause), v, s);
    node *then = expand_case_body(x, cdr(clause), v, s);
    return node_if(x, test, then, expand_case_clauses(x, cdr(clauses), v, s), s);
}

node *expand_case(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    variable *v = variable_new(x, NO_NAME);
    node *key = expand(x, cadr(form), scope_inner(x, s));
    return node_let(x, v, key, expand_case_clauses(x, cddr(form), v, s), s);
}

/* The next values of a do loop's variables, as a call of the loop. */
static node *expand_steps(expander *x, value bindings, loop *l, function *f, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, bindings);
    node *callee = node_new(x, NODE_LOCAL, s);
    callee->local.variable = l->name;
    loop_use(x, l);
    node *call = node_call(x, callee, f->parameters_count, s);
    for (uint32_t i = 0; i < f->parameters_count; i++, bindings = cdr(bindings)) {
        value step = cddr(car(bindings));
        call->list.items[i] =
            step == NIL ? expand_local(x, f->parameters[i], s) : expand(x, car(step), scope_inner(x, s));
    }
    return call;
}

/* (do ((variable first step) ...) (test result ...) body ...) is a loop that is always continued by a jump. */
node *expand_do(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    value b = cadr(form);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, b);
    if (!is_list(b)) expand_fail(x, s, "do", "the bindings are not a list");
    if (!is_pair(car(cddr(form))) || !is_list(car(cddr(form)))) expand_fail(x, s, "do", "the test clause is missing");
    uint32_t count = (uint32_t)list_length(b);
    function *f = arena_allocate(x->m, sizeof *f);
    f->parameters = arena_allocate(x->m, count * sizeof(variable *));
    node **values = arena_allocate(x->m, count * sizeof(node *));
    scope inner = s;
    for (; is_pair(b); b = cdr(b), f->parameters_count++) {
        size_t length = is_list(car(b)) ? list_length(car(b)) : 0;
        if (length < 2 || length > 3 || !is_kind(car(car(b)), KIND_SYMBOL))
            expand_fail(x, s, "do", "a binding must be (name first step)");
        variable *v = f->parameters[f->parameters_count] = variable_new(x, symbol_of(car(car(b)))->id);
        values[f->parameters_count] = expand(x, cadr(car(b)), scope_inner(x, s));
        inner = scope_with(x, inner, v);
    }
    loop *l = loop_open(x, NO_NAME, count);
    node *test = expand(x, car(car(cddr(form))), scope_inner(x, inner));
    node *result = expand_sequence(x, cdr(car(cddr(form))), inner);
    node *body = node_call(x, NULL, 2, s);
    body->kind = NODE_SEQUENCE;
    body->list.items[0] = expand_sequence(x, cdr(cddr(form)), scope_inner(x, inner));
    body->list.items[1] = expand_steps(x, cadr(form), l, f, inner);
    f->body = node_if(x, test, result, body, s);
    return loop_close(x, l, f, values, s);
}

/* Whether a template has anything in it that is not constant. */
static bool has_unquote(expander *x, value v, scope s) {
    expand_check_depth(x, s);
    if (is_kind(v, KIND_VECTOR)) {
        for (size_t i = 0; i < vector_length(v); i++)
            if (has_unquote(x, vector_of(v)->items[i], s)) return true;
        return false;
    }
    for (; is_pair(v); v = cdr(v))
        if (has_unquote(x, car(v), s)) return true;
    return expand_is_keyword(v, KEYWORD_UNQUOTE, s) || expand_is_keyword(v, KEYWORD_UNQUOTE_SPLICING, s);
}

static bool is_tagged(value v, uint32_t id, scope s) {
    return is_pair(v) && expand_is_keyword(car(v), id, s) && is_pair(cdr(v)) && cddr(v) == NIL;
}

static node *expand_template(expander *x, value v, int level, scope s);

/* (keyword template) one quasiquotation level in or out, as data. */
static node *expand_nested_template(expander *x, value v, int level, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, v);
    node *keyword = expand_constant(x, car(v), s);
    return node_operation(x, OP_CONS, keyword, expand_template(x, cdr(v), level, s), s);
}

static node *expand_vector_template(expander *x, value v, int level, scope s) {
    for (size_t i = 0; i < vector_length(v); i++) machine_push(x->m, vector_of(v)->items[i]);
    value list = machine_list(x->m, vector_length(v));
    node *call = node_call_global(x, KEYWORD_LIST_TO_VECTOR, 1, s);
    call->list.items[0] = expand_template(x, list, level, s);
    return call;
}

static node *expand_template(expander *x, value v, int level, scope s) {
    if (!has_unquote(x, v, s)) return expand_constant(x, v, s);
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, v);
    node *n;
    if (is_kind(v, KIND_VECTOR))
        n = expand_vector_template(x, v, level, s);
    else if (!is_pair(v))
        n = expand_constant(x, v, s);
    else if (is_tagged(v, KEYWORD_UNQUOTE, s) && level == 1)
        n = expand(x, cadr(v), s);
    else if (is_tagged(v, KEYWORD_UNQUOTE, s))
        n = expand_nested_template(x, v, level - 1, s);
    else if (is_tagged(v, FORM_QUASIQUOTE, s))
        n = expand_nested_template(x, v, level + 1, s);
    else if (is_tagged(v, KEYWORD_UNQUOTE_SPLICING, s) && level > 1)
        n = expand_nested_template(x, v, level - 1, s);
    else if (is_tagged(car(v), KEYWORD_UNQUOTE_SPLICING, s) && level == 1) {
        n = node_call_global(x, KEYWORD_APPEND, 2, s);
        n->list.items[0] = expand(x, cadr(car(v)), s);
        n->list.items[1] = expand_template(x, cdr(v), level, s);
    } else {
        node *first = expand_template(x, car(v), level, s);
        n = node_operation(x, OP_CONS, first, expand_template(x, cdr(v), level, s), s);
    }
    return n;
}

node *expand_quasiquote(expander *x, value form, scope s) {
    return expand_template(x, cadr(form), 1, scope_inner(x, s));
}

/* (guard (e clause ...) body ...) calls (%guard (lambda () body ...) (lambda (e) (cond clause ... (else raise again)))). */
node *expand_guard(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    value clauses = cadr(form);
    if (!is_pair(clauses) || !is_kind(car(clauses), KIND_SYMBOL) || !is_list(clauses))
        expand_fail(x, s, "guard", "it must be (guard (name clause ...) body ...)");
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, clauses);
    node *n = node_call_global(x, KEYWORD_GUARD, 2, s);
    n->list.items[0] = expand_function(x, NIL, cddr(form), s, NO_NAME);
    function *handler = arena_allocate(x->m, sizeof *handler);
    variable *e = variable_new(x, symbol_of(car(clauses))->id);
    handler->name = NO_NAME;
    handler->parameters = arena_allocate(x->m, sizeof e);
    handler->parameters[handler->parameters_count++] = e;
    scope inner = scope_with(x, scope_inner(x, s), e);
    node *again = node_call_global(x, KEYWORD_RAISE_CONTINUABLE, 1, s);
    again->list.items[0] = expand_local(x, e, inner);
    handler->body = expand_clauses(x, cdr(clauses), again, inner);
    n->list.items[1] = node_new(x, NODE_LAMBDA, s);
    n->list.items[1]->function = handler;
    return n;
}

static node *expand_receiver(expander *x, value formals, node *producer, value body, scope s) {
    node *n = node_call_global(x, KEYWORD_CALL_WITH_VALUES, 2, s);
    n->list.items[0] = producer;
    n->list.items[1] = expand_function(x, formals, body, s, NO_NAME);
    return n;
}

static node *expand_producer(expander *x, value expression, scope s) {
    value body = make_pair(x->m, expression, NIL);
    return expand_function(x, NIL, body, s, NO_NAME);
}

node *expand_receive(expander *x, value form, scope s) {
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    node *producer = expand_producer(x, car(cddr(form)), s);
    return expand_receiver(x, cadr(form), producer, cdr(cddr(form)), s);
}

/* As nested receives: each expression sees the variables before it, as let*-values asks and let-values tolerates. */
node *expand_let_values(expander *x, value form, scope s) {
    value bindings = cadr(form);
    if (bindings == NIL) return expand_body(x, cddr(form), s);
    if (!is_list(bindings) || !is_list(car(bindings)) || list_length(car(bindings)) != 2)
        expand_fail(x, s, "let-values", "a binding must be (formals expression)");
    GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, form);
    node *producer = expand_producer(x, cadr(car(bindings)), s);
    if (cdr(cadr(form)) == NIL) return expand_receiver(x, car(car(cadr(form))), producer, cddr(form), s);
    value rest = make_pair(x->m, cdr(cadr(form)), cddr(form));
    rest = make_pair(x->m, car(form), rest);
    rest = make_pair(x->m, rest, NIL);
    return expand_receiver(x, car(car(cadr(form))), producer, rest, s);
}

node *expand_delay(expander *x, value form, scope s) {
    node *n = node_call_global(x, KEYWORD_MAKE_PROMISE, 1, s);
    n->list.items[0] = expand_producer(x, cadr(form), s);
    return n;
}

node *expand_define_syntax(expander *x, value form, scope s) {
    (void)form;
    expand_fail(x, s, "define-syntax", "this Scheme has no macros");
}

/* The escape continuation of the procedure that this stands in; for the prelude. */
node *expand_escape_new(expander *x, value form, scope s) {
    (void)form;
    node *n = node_call(x, NULL, 0, s);
    n->kind = NODE_OPERATION;
    n->list.opcode = OP_ESCAPE_NEW;
    return n;
}

/* Record definitions are rewritten as data: (begin (define name ...) ...). Parts are pushed on the machine's stack,
   where they are safe, and machine_list makes a list of the topmost. */

static void push_symbol(machine *m, uint32_t id) { machine_push(m, vector_of(m->r.symbols)->items[id]); }

static void push_list(machine *m, size_t count) {
    value list = machine_list(m, count);
    machine_push(m, list);
}

static bool is_field_spec(value spec) {
    if (is_kind(spec, KIND_SYMBOL)) return true;
    if (!is_list(spec) || spec == NIL || list_length(spec) > 3) return false;
    for (; is_pair(spec); spec = cdr(spec))
        if (!is_kind(car(spec), KIND_SYMBOL)) return false;
    return true;
}

static value field_name(value spec) { return is_pair(spec) ? car(spec) : spec; }

static size_t field_index(expander *x, value fields, value name, scope s) {
    for (size_t i = 0; is_pair(fields); fields = cdr(fields), i++)
        if (field_name(car(fields)) == name) return i;
    expand_fail(x, s, "define-record-type", "the constructor names a field that does not exist");
}

/* (define (constructor field ...) (%make-record type value ...)). parts[0] is the whole form. */
static void push_constructor(expander *x, value *parts, scope s) {
    machine *m = x->m;
    push_symbol(m, FORM_DEFINE);
    machine_push(m, car(cddr(parts[0])));
    push_symbol(m, KEYWORD_MAKE_RECORD);
    machine_push(m, cadr(parts[0]));
    size_t count = 0;
    value fields = cddr(cddr(parts[0])), given = cdr(car(cddr(parts[0])));
    for (value g = given; is_pair(g); g = cdr(g)) field_index(x, fields, car(g), s);
    for (; is_pair(fields); fields = cdr(fields), count++) {
        value g = given;
        while (is_pair(g) && car(g) != field_name(car(fields))) g = cdr(g);
        machine_push(m, is_pair(g) ? car(g) : FALSE_VALUE);
    }
    push_list(m, count + 2);
    push_list(m, 3);
}

/* (define (procedure r) (%record-ref r type index)), or with `modify` (define (procedure r v) (%record-set! ...)). */
static void push_field_procedure(machine *m, value *parts, value name, size_t index, bool modify) {
    push_symbol(m, FORM_DEFINE);
    machine_push(m, name);
    push_symbol(m, KEYWORD_APPEND); /* any symbols do as parameters */
    if (modify) push_symbol(m, KEYWORD_GUARD);
    push_list(m, modify ? 3 : 2);
    push_symbol(m, modify ? KEYWORD_RECORD_SET : KEYWORD_RECORD_REF);
    push_symbol(m, KEYWORD_APPEND);
    machine_push(m, cadr(parts[0]));
    machine_push(m, fixnum((intptr_t)index));
    if (modify) push_symbol(m, KEYWORD_GUARD);
    push_list(m, modify ? 5 : 4);
    push_list(m, 3);
}

/* (define type (%make-record-type 'type '(field ...))) */
static void push_type(machine *m, value *parts) {
    push_symbol(m, FORM_DEFINE);
    machine_push(m, cadr(parts[0]));
    push_symbol(m, KEYWORD_MAKE_RECORD_TYPE);
    push_symbol(m, FORM_QUOTE);
    machine_push(m, cadr(parts[0]));
    push_list(m, 2);
    push_symbol(m, FORM_QUOTE);
    size_t count = 0;
    for (value f = cddr(cddr(parts[0])); is_pair(f); f = cdr(f), count++) machine_push(m, field_name(car(f)));
    push_list(m, count);
    push_list(m, 2);
    push_list(m, 3);
    push_list(m, 3);
}

/* (define (predicate r) (%record? r type)) */
static void push_predicate(machine *m, value *parts) {
    push_symbol(m, FORM_DEFINE);
    machine_push(m, cadr(cddr(parts[0])));
    push_symbol(m, KEYWORD_APPEND);
    push_list(m, 2);
    push_symbol(m, KEYWORD_IS_RECORD);
    push_symbol(m, KEYWORD_APPEND);
    machine_push(m, cadr(parts[0]));
    push_list(m, 3);
    push_list(m, 3);
}

static void check_record(expander *x, value form, scope s) {
    const char *name = "define-record-type";
    if (list_length(form) < 4)
        expand_fail(x, s, name, "it must be (define-record-type name constructor predicate field ...)");
    if (!is_kind(cadr(form), KIND_SYMBOL)) expand_fail(x, s, name, "the name must be a symbol");
    value constructor = car(cddr(form));
    if (constructor != FALSE_VALUE && (!is_pair(constructor) || !is_list(constructor)))
        expand_fail(x, s, name, "the constructor must be (name field ...) or #f");
    if (!is_kind(cadr(cddr(form)), KIND_SYMBOL)) expand_fail(x, s, name, "the predicate must be a symbol");
    for (value f = cddr(cddr(form)); is_pair(f); f = cdr(f))
        if (!is_field_spec(car(f))) expand_fail(x, s, name, "a field must be (name accessor modifier)");
}

value expand_record_definitions(expander *x, value form, scope s) {
    machine *m = x->m;
    check_record(x, form, s);
    value *parts = m->sp;
    machine_push(m, form);
    push_symbol(m, FORM_BEGIN);
    push_type(m, parts);
    if (car(cddr(parts[0])) != FALSE_VALUE) push_constructor(x, parts, s);
    push_predicate(m, parts);
    size_t count = list_length(parts[0]) - 4;
    for (size_t i = 0; i < count; i++) {
        value spec = cddr(cddr(parts[0]));
        for (size_t k = 0; k < i; k++) spec = cdr(spec);
        if (!is_pair(car(spec)) || cdr(car(spec)) == NIL) continue;
        machine_push(m, car(spec));
        value *kept = m->sp - 1;
        push_field_procedure(m, parts, cadr(*kept), i, false);
        if (cddr(*kept) != NIL) push_field_procedure(m, parts, car(cddr(*kept)), i, true);
        memmove(kept, kept + 1, (size_t)(m->sp - kept - 1) * sizeof *kept);
        m->sp--;
    }
    value definitions = machine_list(m, (size_t)(m->sp - parts - 1));
    m->sp = parts;
    return definitions;
}

node *expand_record_type(expander *x, value form, scope s) {
    if (!s.top)
        expand_fail(x, s, "define-record-type", "a definition must be at the start of a body or at the top level");
    return expand_sequence(x, cdr(expand_record_definitions(x, form, s)), s);
}
