/* check.c - declarations and statements: resolves and checks what the parser has read. Errors are printed, and the checker
   goes on; what has an error has the unknown type, about which there are no further messages. */
#include "check.h"

#include <string.h>

/* Locals. */

local *declare_hidden_local(context *c, const char *name, const type *t, position at) {
    local *l = ARENA_NEW(c->s, local);
    *l = (local){.name = name, .type = t, .index = c->function->local_count++, .is_hidden = true, .at = at};
    *c->last_local = l;
    c->last_local = &l->next;
    return l;
}

static void make_visible(context *c, local *l) {
    binding *b = ARENA_NEW(c->s, binding);
    *b = (binding){.local = l, .level = c->level, .outer = c->visible};
    for (const binding *old = c->visible; old && old->level == c->level; old = old->outer) {
        if (strcmp(old->local->name, l->name) == 0)
            error_at(c->s, l->at, "%s is declared already, in line %d", l->name, old->local->at.line);
    }
    if (l->index > 0 && strcmp(l->name, "this") == 0) error_at(c->s, l->at, "'this' is the receiver of a method");
    c->visible = b;
}

local *declare_local(context *c, const char *name, const type *t, position at) {
    local *l = declare_hidden_local(c, name, t, at);
    l->is_hidden = false;
    make_visible(c, l);
    return l;
}

static void open_scope(context *c) { c->level++; }

static void close_scope(context *c, position end) {
    for (; c->visible && c->visible->level == c->level; c->visible = c->visible->outer) c->visible->local->end = end;
    c->level--;
}

void declare_parameters(context *c, local *receiver) {
    function *f = c->function;
    local *first = f->locals;
    if (receiver) {
        receiver->next = first;
        f->locals = first = receiver;
    }
    int i = receiver ? -1 : 0;
    for (c->last_local = &f->locals; *c->last_local; c->last_local = &(*c->last_local)->next, i++) {
        local *l = *c->last_local;
        if (i >= 0) l->type = i < f->type->parameter_count ? f->type->parameters[i] : unknown_type;
        l->index = f->local_count++;
        l->end = f->end;
        make_visible(c, l);
    }
    f->parameter_count = f->local_count;
    f->has_receiver = receiver != NULL;
}

/* Whether control never comes to the end of the statement. */
static bool has_break(const statement *st) {
    if (!st || st->kind == STATEMENT_WHILE) return false;
    if (st->kind == STATEMENT_BREAK) return true;
    for (const statement *inner = st->first; inner; inner = inner->next) {
        if (has_break(inner)) return true;
    }
    return has_break(st->body) || has_break(st->otherwise);
}

static bool never_ends(const statement *st) {
    if (!st) return false;
    switch (st->kind) {
    case STATEMENT_RETURN:
        return true;
    case STATEMENT_EXPRESSION:
        return st->value->kind == EXPRESSION_CALL_NATIVE && st->value->native == NATIVE_fail;
    case STATEMENT_IF:
        return never_ends(st->body) && never_ends(st->otherwise);
    case STATEMENT_WHILE:
        return st->value->kind == EXPRESSION_BOOL && st->value->int_value && !has_break(st->body);
    case STATEMENT_BLOCK:
        for (const statement *inner = st->first; inner; inner = inner->next) {
            if (never_ends(inner)) return true;
        }
        return false;
    default:
        return false;
    }
}

/* Statements. */

static void check_statement(context *c, statement *st);

static void check_scope(context *c, statement *st, position end) {
    open_scope(c);
    for (; st; st = st->next) check_statement(c, st);
    close_scope(c, end);
}

/* The value of a variable that is declared without one. */
static expression *zero(context *c, const type *t, position at) {
    expression *e = new_expression(c->s, EXPRESSION_INT, at);
    if (t->kind == TYPE_FLOAT) e->kind = EXPRESSION_FLOAT;
    if (t->kind == TYPE_BOOL) e->kind = EXPRESSION_BOOL;
    if (type_is_reference(t)) e->kind = EXPRESSION_NULL;
    e->type = t;
    return e;
}

static void check_variable(context *c, statement *st) {
    const type *t = st->type_written ? resolve_type(c->s, st->type_written) : NULL;
    if (st->value) {
        check_expression(c, st->value);
        if (t) {
            require_fit(c->s, t, st->value, "the value");
        } else {
            t = st->value->type;
            if (t == null_type || t == void_type) {
                error_at(c->s, st->value->at, "the type of %s is not known: the value is %s", st->local->name, t->name);
                t = unknown_type;
            }
        }
    } else {
        st->value = zero(c, t, st->at);
    }
    st->local = declare_local(c, st->local->name, t, st->local->at);
}

/* Checks what is assigned to. */
static void check_target(context *c, expression *e) {
    check_expression(c, e);
    const char *why = NULL;
    if (e->type == unknown_type) return;
    if (e->kind == EXPRESSION_LOCAL) {
        e->local->assignments++;
        if (c->function->has_receiver && e->local->index == 0) why = "'this' cannot be assigned";
    } else if (e->kind == EXPRESSION_FIELD) {
        if (e->left->type->of_class->is_hidden)
            why = "a function within another one has copies of its variables: they cannot be assigned";
    } else if (e->kind == EXPRESSION_ELEMENT) {
        if (e->left->type == string_type) why = "the bytes of a string cannot be assigned";
    } else {
        why = "expected a variable, a field or an element before the assignment";
    }
    if (why) error_at(c->s, e->at, "%s", why);
}

/* Replaces an operand by a hidden local that is declared before `st`, so that it is evaluated once. */
static statement **hoist(context *c, expression **e, const char *name, statement **last) {
    if ((*e)->kind == EXPRESSION_LOCAL || (*e)->kind == EXPRESSION_INT) return last;
    statement *st = *last = new_statement(c->s, STATEMENT_VARIABLE, (*e)->at);
    st->local = declare_hidden_local(c, name, (*e)->type, (*e)->at);
    st->local->end = (*e)->at;
    st->value = *e;
    *e = new_local_expression(c->s, st->local, (*e)->at);
    return &st->next;
}

/* x += e becomes x = x + e, in a block that first evaluates the parts of x. */
static void check_operator_assignment(context *c, statement *st) {
    expression *target = st->target;
    statement *assignment = new_statement(c->s, STATEMENT_ASSIGN, st->at), **last = &st->first;
    if (target->kind == EXPRESSION_FIELD || target->kind == EXPRESSION_ELEMENT)
        last = hoist(c, &target->left, "(object)", last);
    if (target->kind == EXPRESSION_ELEMENT) last = hoist(c, &target->right, "(index)", last);
    *last = assignment;
    expression *value = new_expression(c->s, EXPRESSION_BINARY, st->at);
    value->op = st->op;
    value->left = ARENA_NEW(c->s, expression);
    *value->left = *target;
    value->right = st->value;
    check_binary(c, value);
    require_fit(c->s, target->type, value, "the value");
    assignment->target = target;
    assignment->value = value;
    if (st->first == assignment) {
        st->first = NULL;
        st->value = value;
        return;
    }
    st->kind = STATEMENT_BLOCK;
    st->end = st->at;
}

static void check_assignment(context *c, statement *st) {
    check_target(c, st->target);
    check_expression(c, st->value);
    if (st->target->type == unknown_type) return;
    if (st->op >= 0)
        check_operator_assignment(c, st);
    else
        require_fit(c->s, st->target->type, st->value, "the value");
}

/* The native function that writes a value of the type; -1: there is none. */
static int writer(const type *t) {
    switch (t->kind) {
    case TYPE_INT:
        return NATIVE_write_int;
    case TYPE_FLOAT:
        return NATIVE_write_float;
    case TYPE_BOOL:
        return NATIVE_write_bool;
    case TYPE_STRING:
        return NATIVE_write_string;
    default:
        return -1;
    }
}

/* print(a, b) becomes a block of calls that write a, b and the end of the line; `write` leaves that out. */
static void check_print(context *c, statement *st, bool ends_line) {
    expression *call = st->value, *argument = call->arguments;
    statement **last = &st->first;
    if (ends_line) {
        expression **end = &call->arguments;
        while (*end) end = &(*end)->next;
        *end = new_expression(c->s, EXPRESSION_STRING, call->at);
        (*end)->text = "\n";
        (*end)->text_bytes = 1;
        argument = call->arguments;
    }
    for (expression *next; argument; argument = next) {
        next = argument->next;
        argument->next = NULL;
        check_expression(c, argument);
        if (argument->type == unknown_type) continue;
        int native = writer(argument->type);
        if (native < 0) error_at(c->s, argument->at, "a value that is %s cannot be printed", argument->type->name);
        statement *write = *last = new_statement(c->s, STATEMENT_EXPRESSION, st->at);
        write->value = new_expression(c->s, EXPRESSION_CALL_NATIVE, call->at);
        become_native_call(write->value, (native_number)native, argument, void_type);
        last = &write->next;
    }
    st->kind = STATEMENT_BLOCK;
    st->end = st->at;
}

static void check_expression_statement(context *c, statement *st) {
    if (is_builtin_call(c, st->value, "print")) {
        check_print(c, st, true);
    } else if (is_builtin_call(c, st->value, "write")) {
        check_print(c, st, false);
    } else {
        bool is_call = st->value->kind == EXPRESSION_INVOKE;
        check_expression(c, st->value);
        if (!is_call) error_at(c->s, st->at, "the statement has no effect: expected an assignment or a call");
    }
}

static void check_condition(context *c, expression *e) {
    check_expression(c, e);
    require_fit(c->s, bool_type, e, "the condition");
}

static void check_body_of(context *c, statement *st) {
    if (st->kind == STATEMENT_VARIABLE)
        error_at(c->s, st->at, "a variable that is declared here could not be used: expected '{'");
    check_scope(c, st, st->at);
}

static void check_loop(context *c, statement *st) {
    check_condition(c, st->value);
    c->loops++;
    check_body_of(c, st->body);
    c->loops--;
    if (st->step) check_statement(c, st->step);
}

/* for becomes a block with its first part and a while. */
static void check_for(context *c, statement *st) {
    statement *loop = new_statement(c->s, STATEMENT_WHILE, st->at);
    loop->value = st->value;
    if (!loop->value) {
        loop->value = new_expression(c->s, EXPRESSION_BOOL, st->at);
        loop->value->int_value = 1;
    }
    loop->body = st->body;
    loop->step = st->step;
    if (st->first)
        st->first->next = loop;
    else
        st->first = loop;
    st->kind = STATEMENT_BLOCK;
    st->value = NULL;
    st->body = st->step = NULL;
    check_scope(c, st->first, st->end);
}

static void check_return(context *c, statement *st) {
    const type *result = c->function->type->result;
    if (st->value) {
        check_expression(c, st->value);
        if (result == void_type)
            error_at(c->s, st->value->at, "%s returns no value", c->function->full_name);
        else
            require_fit(c->s, result, st->value, "the result");
    } else if (result != void_type && result != unknown_type) {
        error_at(c->s, st->at, "expected a value to return: %s returns %s", c->function->full_name, result->name);
    }
}

static void check_statement(context *c, statement *st) {
    switch (st->kind) {
    case STATEMENT_BLOCK:
        check_scope(c, st->first, st->end);
        break;
    case STATEMENT_VARIABLE:
        check_variable(c, st);
        break;
    case STATEMENT_ASSIGN:
        check_assignment(c, st);
        break;
    case STATEMENT_EXPRESSION:
        check_expression_statement(c, st);
        break;
    case STATEMENT_IF:
        check_condition(c, st->value);
        check_body_of(c, st->body);
        if (st->otherwise) check_body_of(c, st->otherwise);
        break;
    case STATEMENT_WHILE:
        check_loop(c, st);
        break;
    case STATEMENT_FOR:
        check_for(c, st);
        break;
    case STATEMENT_RETURN:
        check_return(c, st);
        break;
    case STATEMENT_BREAK:
    case STATEMENT_CONTINUE:
        if (c->loops == 0) error_at(c->s, st->at, "there is no loop around this");
        break;
    }
}

/* Declarations. */

void add_compiled(source *s, function *f) {
    function **last = &s->program.compiled;
    while (*last) last = &(*last)->next_compiled;
    *last = f;
}

void check_body(context *c) {
    function *f = c->function;
    check_scope(c, f->body->first, f->end);
    if (f->type->result != void_type && f->type->result != unknown_type && !never_ends(f->body))
        error_at(c->s, f->end, "%s may end here without returning a value", f->full_name);
    for (const local *l = f->locals; l; l = l->next) {
        if (l->is_captured && l->assignments)
            error_at(
                c->s, l->at,
                "%s is assigned, so a function within this one cannot have a copy of it: copy it to another variable",
                l->name);
    }
}

static void declare_class(source *s, object_class *c) {
    const char *const reserved[] = {"int", "float", "bool", "string"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(c->name, reserved[i]) == 0) error_at(s, c->at, "%s is the name of a type of the language", c->name);
    }
    const object_class *first = find_class(s, c->name);
    if (first != c) error_at(s, c->at, "the class %s is declared already, in line %d", c->name, first->at.line);
    if (c->field_count > FIELDS_MAX)
        error_at(s, c->at, "a class has at most %d fields, not %d", FIELDS_MAX, c->field_count);
    c->type = class_type(s, c);
    c->instance_bytes = OBJECT_HEADER_BYTES;
}

static void declare_members(source *s, object_class *c) {
    for (field *f = c->fields; f; f = f->next) {
        f->type = resolve_type(s, f->type_written);
        set_offset(c, f);
        const field *first = find_field(c, f->name);
        if (first != f) error_at(s, f->at, "the field %s is declared already, in line %d", f->name, first->at.line);
    }
    for (function *f = c->methods; f; f = f->next) {
        f->of_class = c;
        f->full_name = arena_format(s, "%s.%s", c->name, f->name);
        f->type = resolve_function_type(s, f->type_written);
        const function *first = find_method(c, f->name);
        const field *same = find_field(c, f->name);
        if (first != f) error_at(s, f->at, "the method %s is declared already, in line %d", f->name, first->at.line);
        if (same) error_at(s, f->at, "%s is a field already, in line %d", f->name, same->at.line);
        add_compiled(s, f);
    }
}

static const struct {
    const char *name, *type;
} natives[NATIVE_COUNT] = {
#define X(name, type) {#name, type},
    NATIVES(X)
#undef X
};

/* A native function must be one of the runtime's, and of its type: compiled code calls it without another check. */
static void declare_native(source *s, function *f) {
    int i = NATIVE_FIRST_DECLARED;
    while (i < NATIVE_COUNT && strcmp(natives[i].name, f->name) != 0) i++;
    f->native = i;
    if (i == NATIVE_COUNT)
        error_at(s, f->at, "the runtime has no native function %s", f->name);
    else if (strcmp(natives[i].type, f->type->name) != 0 && f->type != unknown_type)
        error_at(s, f->at, "the native function %s is %s, not %s", f->name, natives[i].type, f->type->name);
}

static void declare_function(source *s, function *f) {
    f->full_name = f->name;
    f->type = resolve_function_type(s, f->type_written);
    const function *first = find_function(s, f->name);
    if (first != f) error_at(s, f->at, "the function %s is declared already, in line %d", f->name, first->at.line);
    if (f->body)
        add_compiled(s, f);
    else
        declare_native(s, f);
}

static void check_function(source *s, function *f) {
    context c = {.s = s, .function = f};
    local *receiver = NULL;
    if (f->of_class) {
        receiver = ARENA_NEW(s, local);
        *receiver = (local){.name = "this", .type = f->of_class->type, .at = f->at};
    }
    declare_parameters(&c, receiver);
    check_body(&c);
}

static void find_main(source *s) {
    function *f = s->program.main = find_function(s, "main");
    if (!f || !f->body)
        error_at(s, (position){1, 1}, "the program has no function main");
    else if (f->type->parameter_count || f->type->result != void_type)
        error_at(s, f->at, "main has no parameters and no result, so it is fn(), not %s", f->type->name);
}

bool check_source(source *s) {
    for (object_class *c = s->program.classes; c; c = c->next) declare_class(s, c);
    for (object_class *c = s->program.classes; c; c = c->next) declare_members(s, c);
    for (function *f = s->program.functions; f; f = f->next) declare_function(s, f);
    find_main(s);
    /* Functions that the checker makes are appended meanwhile; those it has checked itself. */
    for (function *f = s->program.compiled; f; f = f->next_compiled) {
        if (!f->local_count && !f->is_hidden) check_function(s, f);
    }
    return s->errors == 0;
}
