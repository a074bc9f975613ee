/* closure.c - functions as values: a delegate is a function with its receiver, so the others are given one. */
#include "check.h"

/* The name of a receiver that the program cannot name. */
#define RECEIVER "(receiver)"

static local *new_receiver(source *s, const type *t, position at) {
    local *receiver = ARENA_NEW(s, local);
    *receiver = (local){.name = RECEIVER, .type = t, .at = at, .is_hidden = true};
    return receiver;
}

static const char *inner_name(context *c) {
    while (c->outer) c = c->outer;
    return arena_format(c->s, "%s.fn%d", c->function->full_name, ++c->inner_functions);
}

static void add_class(source *s, object_class *added) {
    object_class **last = &s->program.classes;
    while (*last) last = &(*last)->next;
    *last = added;
}

static object_class *new_captures(context *c, const char *name, position at) {
    object_class *captures = ARENA_NEW(c->s, object_class);
    *captures = (object_class){.name = name, .at = at, .instance_bytes = OBJECT_HEADER_BYTES, .is_hidden = true};
    captures->type = class_type(c->s, captures);
    return captures;
}

void check_function_value(context *c, expression *e) {
    function *f = e->function;
    f->name = f->full_name = inner_name(c);
    f->type = resolve_function_type(c->s, f->type_written);
    add_compiled(c->s, f);
    context inner = {.s = c->s, .function = f, .outer = c, .captures = new_captures(c, f->name, e->at)};
    inner.last_capture = &inner.captures->fields;
    inner.last_value = &inner.values;
    local *receiver = new_receiver(c->s, inner.captures->type, e->at);
    declare_parameters(&inner, receiver);
    check_body(&inner);

    expression *object = new_expression(c->s, EXPRESSION_NULL, e->at);
    object->type = null_type;
    if (inner.value_count) {
        f->of_class = inner.captures;
        add_class(c->s, inner.captures);
        object->kind = EXPRESSION_NEW;
        object->type = inner.captures->type;
        object->arguments = inner.values;
        object->argument_count = inner.value_count;
    } else {
        receiver->type = null_type;
    }
    e->kind = EXPRESSION_DELEGATE;
    e->left = object;
    e->type = f->type;
}

/* A function that ignores its receiver and calls f. */
static function *new_forwarder(context *c, function *f) {
    function *forwarder = ARENA_NEW(c->s, function);
    *forwarder =
        (function){.name = f->name, .type = f->type, .at = f->at, .end = f->end, .native = -1, .is_hidden = true};
    forwarder->full_name = arena_format(c->s, "%s.value", f->full_name);
    context inner = {.s = c->s, .function = forwarder};
    const local *from = f->locals;
    local **last = &forwarder->locals;
    for (int i = 0; i < f->type->parameter_count; i++, from = from->next) {
        *last = ARENA_NEW(c->s, local);
        **last = (local){.name = from->name, .at = from->at};
        last = &(*last)->next;
    }
    declare_parameters(&inner, new_receiver(c->s, null_type, f->at));
    expression *call = new_expression(c->s, EXPRESSION_CALL, f->at), **last_argument = &call->arguments;
    for (local *l = forwarder->locals->next; l; l = l->next) {
        *last_argument = new_local_expression(c->s, l, l->at);
        last_argument = &(*last_argument)->next;
    }
    call->function = f;
    call->type = f->type->result;
    call->argument_count = f->type->parameter_count;
    if (f->native >= 0) become_native_call(call, (native_number)f->native, call->arguments, call->type);
    statement_kind kind = f->type->result == void_type ? STATEMENT_EXPRESSION : STATEMENT_RETURN;
    forwarder->body = new_statement(c->s, STATEMENT_BLOCK, f->at);
    forwarder->body->end = f->end;
    forwarder->body->first = new_statement(c->s, kind, f->at);
    forwarder->body->first->value = call;
    add_compiled(c->s, forwarder);
    return forwarder;
}

void become_delegate_of(context *c, expression *e, function *f) {
    if (!f->as_value) f->as_value = new_forwarder(c, f);
    e->kind = EXPRESSION_DELEGATE;
    e->function = f->as_value;
    e->left = new_expression(c->s, EXPRESSION_NULL, e->at);
    e->left->type = null_type;
    e->type = f->type;
}
