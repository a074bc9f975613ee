/* check.h - what the parts of the checker share: types.c, check.c for declarations and statements, expression.c, and
   closure.c for functions as values. */
#pragma once

#include "source.h"

/* A local that is in scope. */
typedef struct binding {
    local *local;
    int level; /* of its block */
    struct binding *outer;
} binding;

/* A function that is being checked. */
typedef struct context {
    source *s;
    function *function;
    struct context *outer; /* of a function within another one; else NULL */
    binding *visible;      /* innermost first */
    int level;             /* of blocks */
    int loops;             /* around the statement */
    local **last_local;    /* where the next one is linked */
    int inner_functions;   /* found so far, in a function of the top level */

    /* Of a function within another one: the class of the object that holds the captured variables, and their values. */
    object_class *captures;
    field **last_capture;
    expression *values, **last_value;
    int value_count;
} context;

/* types.c: types, and how values fit them. */
extern const type *const unknown_type;
const type *resolve_type(source *s, const type_written *written);
/* The type of a function; NULL as the result means none. */
const type *resolve_function_type(source *s, const type_written *written);
const type *class_type(source *s, const object_class *c);
const object_class *find_class(const source *s, const char *name);
/* Whether the value may be stored where the type is wanted; a null takes that type. */
bool fits(const type *wanted, expression *e);
/* Reports what does not fit: "the condition is int, but must be bool". */
void require_fit(source *s, const type *wanted, expression *e, const char *what);
void set_offset(object_class *c, field *f);
field *find_field(const object_class *c, const char *name);
function *find_method(const object_class *c, const char *name);
function *find_function(const source *s, const char *name);

/* check.c. */
local *declare_local(context *c, const char *name, const type *t, position at);
local *declare_hidden_local(context *c, const char *name, const type *t, position at);
/* Gives the function's parameters their types and indices; `receiver` is `this`, or NULL. */
void declare_parameters(context *c, local *receiver);
void check_body(context *c);
void add_compiled(source *s, function *f);

/* expression.c: each resolves an expression in place, and its type is known then. */
void check_expression(context *c, expression *e);
/* The same for a binary expression whose operands have been checked. */
void check_binary(context *c, expression *e);
/* A call of a native function with arguments that have been checked and fit. */
void become_native_call(expression *e, native_number native, expression *arguments, const type *result);
expression *new_local_expression(source *s, local *l, position at);
/* The variable of that name; in a function within another one, its copy. NULL: there is none. */
expression *find_variable(context *c, const char *name, position at);
/* Whether the expression calls the builtin of that name. */
bool is_builtin_call(context *c, const expression *e, const char *name);
void set_null(expression *e, const type *t);

/* closure.c: functions as values. */
/* A function within another one: resolves an EXPRESSION_FUNCTION. */
void check_function_value(context *c, expression *e);
/* A function of the top level, as a value. */
void become_delegate_of(context *c, expression *e, function *f);
