/* control.c - primitives on procedures, errors and the machine itself. What must call procedures is Scheme, in
   prelude.c: a primitive never runs the machine, so that there is one run at a time and escapes stay simple. */
#define _POSIX_C_SOURCE 200809L
#include "scheme.h"

#include <time.h>

/* (apply f a ... list): replaces itself on the stack by the call of f. */
static value control_apply(machine *m, value *a, uint32_t count) {
    value list = a[count - 1], f = a[0];
    if (!is_list(list)) error_argument(m, "apply", count - 1, "a list", list);
    memmove(a, a + 1, (count - 2) * sizeof(value));
    m->sp = a + count - 2;
    m->call_count = count - 2;
    for (; list != NIL; list = cdr(list), m->call_count++) machine_push(m, car(list));
    machine_push(m, f);
    return CALL_AGAIN;
}

static value control_values(machine *m, value *a, uint32_t count) {
    if (count == 1) return a[0];
    for (uint32_t i = 0; i < count; i++) machine_push(m, a[i]);
    value list = machine_list(m, count);
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, list);
    values *v = make(m, KIND_VALUES);
    v->list = list;
    return value_of(v);
}

/* The values that a producer returned, as a list. */
static value control_values_list(machine *m, value *a, uint32_t count) {
    (void)count;
    return is_kind(a[0], KIND_VALUES) ? ((values *)object_of(a[0]))->list : make_pair(m, a[0], NIL);
}

/* Registers of the machine that the prelude keeps: handlers and winds. */
#define REGISTER(name)                                                                                            \
    static value control_##name(machine *m, value *a, uint32_t count) { return (void)a, (void)count, m->r.name; } \
    static value control_set_##name(machine *m, value *a, uint32_t count) {                                       \
        (void)count;                                                                                              \
        m->r.name = a[0];                                                                                         \
        return NONE;                                                                                              \
    }
REGISTER(handlers)
REGISTER(winds)

/* Ends the life of an escape whose frame returns normally. */
static value control_escape_end(machine *m, value *a, uint32_t count) {
    (void)count;
    escape *e = object_of(a[0]);
    e->alive = false;
    m->r.escapes = e->outer;
    return NONE;
}

static value control_escape_check(machine *m, value *a, uint32_t count) {
    (void)count;
    if (!((escape *)object_of(a[0]))->alive)
        error_throw(m, "a continuation is called after its call/cc has returned: here they can only escape");
    return NONE;
}

static value control_error(machine *m, value *a, uint32_t count) {
    char text[300];
    value where = FALSE_VALUE, irritants = NIL;
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, where, irritants);
    if (error_where(m, text, sizeof text)) where = make_string(m, text, strlen(text));
    for (uint32_t i = 1; i < count; i++) machine_push(m, a[i]);
    irritants = machine_list(m, count - 1);
    condition *c = make(m, KIND_CONDITION);
    c->message = a[0];
    c->irritants = irritants;
    c->where = where;
    error_throw_value(m, value_of(c));
}

/* The machine goes on with %raise, as for any failure, so that the place of this call is known. */
static value control_raise(machine *m, value *a, uint32_t count) {
    (void)count;
    error_throw_value(m, a[0]);
}

static value control_is_condition(machine *m, value *a, uint32_t count) {
    return (void)m, (void)count, boolean(is_kind(a[0], KIND_CONDITION));
}

static condition *want_condition(machine *m, const char *who, value *a) {
    want_kind(m, who, a, 0, KIND_CONDITION, "an error object");
    return object_of(a[0]);
}
static value control_message(machine *m, value *a, uint32_t count) {
    return (void)count, want_condition(m, "error-object-message", a)->message;
}
static value control_irritants(machine *m, value *a, uint32_t count) {
    return (void)count, want_condition(m, "error-object-irritants", a)->irritants;
}
static value control_where(machine *m, value *a, uint32_t count) {
    return (void)count, want_condition(m, "error-object-where", a)->where;
}

static value control_abort(machine *m, value *a, uint32_t count) {
    (void)count;
    error_abort(m, a[0]);
}

static value control_exit(machine *m, value *a, uint32_t count) {
    machine_exit(m, count == 0 || a[0] == TRUE_VALUE ? 0 : is_fixnum(a[0]) ? (int)fixnum_of(a[0]) : 1);
}

static value control_compile(machine *m, value *a, uint32_t count) {
    if (count == 1) return compile_datum(m, a[0], 0, 1);
    want_kind(m, "load", a, 1, KIND_PORT, "a port");
    return compile_datum(m, a[0], port_of(a[1])->file_id, port_of(a[1])->line);
}

static value control_command_line(machine *m, value *a, uint32_t count) { return (void)a, (void)count, m->r.arguments; }

static value control_seconds(machine *m, value *a, uint32_t count) {
    (void)a, (void)count;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return make_flonum(m, (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
}

static value control_collect(machine *m, value *a, uint32_t count) {
    size_t generation = count > 0 ? want_index(m, "gc", a, 0, 2) : 2;
    gc_collect(m->heap, (int)generation, GC_COLLECT_DEFAULT);
    return NONE;
}

static const primitive_info primitives[] = {
    {"apply", control_apply, 2, -1},
    {"values", control_values, 0, -1},
    {"%values->list", control_values_list, 1, 1},
    {"%handlers", control_handlers, 0, 0},
    {"%set-handlers!", control_set_handlers, 1, 1},
    {"%winds", control_winds, 0, 0},
    {"%set-winds!", control_set_winds, 1, 1},
    {"%escape-end", control_escape_end, 1, 1},
    {"%escape-check", control_escape_check, 1, 1},
    {"error", control_error, 1, -1},
    {"raise", control_raise, 1, 1},
    {"error-object?", control_is_condition, 1, 1},
    {"error-object-message", control_message, 1, 1},
    {"error-object-irritants", control_irritants, 1, 1},
    {"error-object-where", control_where, 1, 1},
    {"%abort", control_abort, 1, 1},
    {"exit", control_exit, 0, 1},
    {"%compile", control_compile, 1, 2},
    {"command-line", control_command_line, 0, 0},
    {"current-seconds", control_seconds, 0, 0},
    {"gc", control_collect, 0, 1},
};

void control_init(machine *m) { machine_define(m, primitives, sizeof primitives / sizeof *primitives); }
