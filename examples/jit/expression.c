/* expression.c - names, operators and calls: resolves and checks expressions. */
#include "check.h"

#include <string.h>

/* Nodes. */

expression *new_local_expression(source *s, local *l, position at) {
    expression *e = new_expression(s, EXPRESSION_LOCAL, at);
    e->local = l;
    e->type = l->type;
    return e;
}

static expression *new_field_expression(source *s, expression *object, const field *f, position at) {
    expression *e = new_expression(s, EXPRESSION_FIELD, at);
    e->left = object;
    e->field = f;
    e->type = f->type;
    return e;
}

void become_native_call(expression *e, native_number native, expression *arguments, const type *result) {
    e->kind = EXPRESSION_CALL_NATIVE;
    e->native = native;
    e->arguments = arguments;
    e->argument_count = 0;
    for (; arguments; arguments = arguments->next) e->argument_count++;
    e->type = result;
}

static void become_unary(expression *e, unary_op op, expression *operand, const type *t) {
    *e = (expression){.kind = EXPRESSION_UNARY, .op = op, .left = operand, .type = t, .at = e->at, .next = e->next};
}

/* Becomes a copy of another one, in its place among arguments. */
static void become(expression *e, const expression *other) {
    expression *next = e->next;
    *e = *other;
    e->next = next;
}

/* Variables. */

/* A variable of a function around this one becomes a field of the object that this one belongs to. */
static expression *capture(context *c, const char *name, position at) {
    local *object = c->function->locals;
    field *f = find_field(c->captures, name);
    if (!f) {
        expression *value = find_variable(c->outer, name, at);
        if (!value) return NULL;
        if (value->kind == EXPRESSION_LOCAL) value->local->is_captured = true;
        f = *c->last_capture = ARENA_NEW(c->s, field);
        *f = (field){.name = name, .type = value->type, .at = at};
        set_offset(c->captures, f);
        if (++c->captures->field_count == FIELDS_MAX + 1)
            error_at(c->s, at, "a function has at most %d copies of variables", FIELDS_MAX);
        c->last_capture = &f->next;
        *c->last_value = value;
        c->last_value = &value->next;
        c->value_count++;
    }
    return new_field_expression(c->s, new_local_expression(c->s, object, at), f, at);
}

expression *find_variable(context *c, const char *name, position at) {
    for (const binding *b = c->visible; b; b = b->outer) {
        if (strcmp(b->local->name, name) == 0) return new_local_expression(c->s, b->local, at);
    }
    return c->outer ? capture(c, name, at) : NULL;
}

/* The class whose members may be named without `this`; NULL: there is none. */
static const object_class *own_class(const context *c) {
    while (c->outer) c = c->outer;
    return c->function->of_class;
}

static void become_member(context *c, expression *e, expression *object, const char *name);

/* A variable, or a member of the method's class. False: there is none. */
static bool become_variable(context *c, expression *e, const char *name) {
    expression *found = find_variable(c, name, e->at);
    const object_class *of_class = own_class(c);
    if (found) {
        become(e, found);
    } else if (of_class && (find_field(of_class, name) || find_method(of_class, name))) {
        become_member(c, e, find_variable(c, "this", e->at), name);
    } else {
        return false;
    }
    return true;
}

static void check_name(context *c, expression *e) {
    const char *name = e->text;
    if (become_variable(c, e, name)) return;
    function *f = find_function(c->s, name);
    if (f) {
        become_delegate_of(c, e, f);
        return;
    }
    error_at(c->s, e->at,
             strcmp(name, "this") == 0 ? "there is no '%s' outside methods" : "no variable or function is named %s",
             name);
    e->type = unknown_type;
}

/* Members. */

static const object_class *class_of(const expression *object) {
    return object->type->kind == TYPE_CLASS ? object->type->of_class : NULL;
}

/* object.name, of an object that has been checked. */
static void become_member(context *c, expression *e, expression *object, const char *name) {
    const type *t = object->type;
    const object_class *of_class = class_of(object);
    const field *f = of_class ? find_field(of_class, name) : NULL;
    function *method = of_class ? find_method(of_class, name) : NULL;
    e->left = object;
    if (f) {
        e->kind = EXPRESSION_FIELD;
        e->field = f;
        e->type = f->type;
    } else if (method) {
        e->kind = EXPRESSION_DELEGATE;
        e->function = method;
        e->type = method->type;
    } else if ((t->kind == TYPE_ARRAY || t->kind == TYPE_STRING) && strcmp(name, "length") == 0) {
        e->kind = EXPRESSION_LENGTH;
        e->type = int_type;
    } else {
        e->type = unknown_type;
        if (of_class)
            error_at(c->s, e->at, "the class %s has no field or method %s", of_class->name, name);
        else if (t != unknown_type)
            error_at(c->s, e->at, "a value that is %s has no member %s", t->name, name);
    }
}

static void check_member(context *c, expression *e) {
    check_expression(c, e->left);
    become_member(c, e, e->left, e->text);
}

static void check_element(context *c, expression *e) {
    check_expression(c, e->left);
    check_expression(c, e->right);
    require_fit(c->s, int_type, e->right, "the index");
    const type *t = e->left->type;
    e->type = t->kind == TYPE_ARRAY ? t->element : t->kind == TYPE_STRING ? int_type : unknown_type;
    if (e->type == unknown_type && t != unknown_type && t->kind != TYPE_ARRAY)
        error_at(c->s, e->at, "a value that is %s has no elements", t->name);
}

/* Operators. */

static void check_unary(context *c, expression *e) {
    static const char *const signs[] = {"-", "~", "!"};
    expression *operand = e->left;
    check_expression(c, operand);
    const type *t = operand->type;
    bool fit = e->op == UNARY_NOT ? t == bool_type : t == int_type || (e->op == UNARY_NEGATE && t == float_type);
    if (!fit && t != unknown_type) error_at(c->s, e->at, "the operator %s is not for %s", signs[e->op], t->name);
    e->type = fit ? t : unknown_type;
    if (e->op == UNARY_NEGATE && operand->kind == EXPRESSION_FLOAT) {
        operand->float_value = -operand->float_value;
        become(e, operand);
    }
}

static const char *const binary_signs[] = {"+",  "-",  "*",  "/", "%",  "&", "|",  "^",  "<<",
                                           ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};

/* Strings are added, and compared, by native functions. False: the operator is not for strings. */
static bool check_string_operator(context *c, expression *e) {
    expression *left = e->left, *right = e->right;
    bool has_null = left->kind == EXPRESSION_NULL || right->kind == EXPRESSION_NULL;
    expression *call = new_expression(c->s, EXPRESSION_CALL_NATIVE, e->at);
    left->next = right;
    switch (e->op) {
    case BINARY_ADD:
        become_native_call(e, NATIVE_concat, left, string_type);
        return !has_null;
    case BINARY_EQUAL:
    case BINARY_NOT_EQUAL:
        e->type = bool_type;
        if (has_null) break;
        become_native_call(call, NATIVE_equal, left, bool_type);
        if (e->op == BINARY_EQUAL)
            become(e, call);
        else
            become_unary(e, UNARY_NOT, call, bool_type);
        return true;
    case BINARY_LESS:
    case BINARY_LESS_EQUAL:
    case BINARY_GREATER:
    case BINARY_GREATER_EQUAL:
        if (has_null) return false;
        become_native_call(call, NATIVE_compare, left, int_type);
        e->left = call;
        e->right = new_expression(c->s, EXPRESSION_INT, e->at);
        e->right->type = int_type;
        e->type = bool_type;
        return true;
    default:
        break;
    }
    left->next = NULL;
    return e->type == bool_type;
}

/* The type of the result; NULL: the operator is not for these operands. */
static const type *binary_type(int op, const type *t) {
    bool is_number = t == int_type || t == float_type;
    if (op <= BINARY_DIVIDE) return is_number ? t : NULL;
    if (op <= BINARY_SHIFT_RIGHT) return t == int_type ? t : NULL;
    if (op <= BINARY_NOT_EQUAL) return is_number || t == bool_type || type_is_reference(t) ? bool_type : NULL;
    if (op <= BINARY_GREATER_EQUAL) return is_number ? bool_type : NULL;
    return t == bool_type ? t : NULL;
}

void check_binary(context *c, expression *e) {
    expression *left = e->left, *right = e->right;
    e->type = unknown_type;
    if (left->type == unknown_type || right->type == unknown_type) return;
    bool same = left->type == right->type || fits(left->type, right) || fits(right->type, left);
    const type *t = same ? binary_type(e->op, left->type) : NULL;
    if (same && left->type == string_type && check_string_operator(c, e)) return;
    if (t) {
        e->type = t;
        return;
    }
    const char *advice = "";
    const type *l = left->type, *r = right->type;
    if ((l == int_type && r == float_type) || (l == float_type && r == int_type))
        advice = ": float(...) and int(...) convert";
    if (e->op == BINARY_ADD && (l == string_type) != (r == string_type)) advice = ": str(...) converts to a string";
    error_at(c->s, e->at, "the operator %s is not for %s and %s%s", binary_signs[e->op], l->name, r->name, advice);
}

/* Calls. */

/* Checks arguments against the types of parameters; `callee` names the function in messages. */
static void check_arguments(context *c, expression *e, const type *t, const char *callee) {
    int i = 0;
    for (expression *a = e->arguments; a; a = a->next, i++) {
        check_expression(c, a);
        if (i < t->parameter_count)
            require_fit(c->s, t->parameters[i], a, arena_format(c->s, "argument %d of %s", i + 1, callee));
    }
    if (e->argument_count != t->parameter_count)
        error_at(c->s, e->at, "%s takes %d argument%s, not %d", callee, t->parameter_count,
                 t->parameter_count == 1 ? "" : "s", e->argument_count);
    e->type = t->result;
}

static void check_function_call(context *c, expression *e, function *f) {
    check_arguments(c, e, f->type, f->full_name);
    e->kind = EXPRESSION_CALL;
    e->function = f;
    e->left = NULL;
    if (f->native < 0) return;
    become_native_call(e, (native_number)f->native, e->arguments, f->type->result);
}

/* A call of what has been checked: of a method that is named after its receiver, or of a delegate. */
static void check_call_of_value(context *c, expression *e) {
    expression *callee = e->left;
    const type *t = callee->type;
    e->type = unknown_type;
    if (t == unknown_type) {
        for (expression *a = e->arguments; a; a = a->next) check_expression(c, a);
    } else if (t->kind != TYPE_FUNCTION) {
        error_at(c->s, e->at, "a value that is %s cannot be called", t->name);
    } else if (callee->kind == EXPRESSION_DELEGATE && callee->function->of_class &&
               !callee->function->of_class->is_hidden) {
        check_function_call(c, e, callee->function);
        callee->left->next = e->arguments;
        e->arguments = callee->left;
        e->argument_count++;
    } else {
        check_arguments(c, e, t, "the delegate");
        e->kind = EXPRESSION_CALL_DELEGATE;
    }
}

/* Builtin functions. Those with one type are native functions; `print` and `write` are statements, which check.c rewrites. */
static const struct {
    const char *name;
    int native, parameter_count;
    const type *const *parameters[3], *const *result;
} builtins[] = {
    {"char", NATIVE_char_to_string, 1, {&int_type}, &string_type},
    {"sub", NATIVE_substring, 3, {&string_type, &int_type, &int_type}, &string_type},
    {"arg", NATIVE_arg, 2, {&int_type, &int_type}, &int_type},
    {"fail", NATIVE_fail, 1, {&string_type}, &void_type},
    {"str", -1, 1, {NULL}, &string_type},
    {"int", -1, 1, {NULL}, &int_type},
    {"float", -1, 1, {NULL}, &float_type},
    {"sqrt", -1, 1, {&float_type}, &float_type},
    {"keep_alive", -1, 1, {NULL}, &void_type},
    {"print", -1, 0, {NULL}, &void_type},
    {"write", -1, 0, {NULL}, &void_type},
};

/* The builtin's row, or -1. */
static int find_builtin(const char *name) {
    int count = (int)(sizeof builtins / sizeof builtins[0]), i = 0;
    while (i < count && strcmp(builtins[i].name, name) != 0) i++;
    return i < count ? i : -1;
}

/* Programs may have variables and functions of the names of builtins. */
static bool is_defined(context *c, const char *name, position at) {
    const object_class *of_class = own_class(c);
    return find_variable(c, name, at) || find_function(c->s, name) ||
           (of_class && (find_field(of_class, name) || find_method(of_class, name)));
}

bool is_builtin_call(context *c, const expression *e, const char *name) {
    return e->kind == EXPRESSION_INVOKE && e->left->kind == EXPRESSION_NAME && strcmp(e->left->text, name) == 0 &&
           !is_defined(c, name, e->at);
}

/* str(x), int(x) and float(x). */
static bool become_conversion(expression *e, expression *x, const type *wanted) {
    const type *t = x->type;
    if (wanted == t || t == unknown_type)
        become(e, x);
    else if (wanted == string_type && t == int_type)
        become_native_call(e, NATIVE_int_to_string, x, wanted);
    else if (wanted == string_type && t == float_type)
        become_native_call(e, NATIVE_float_to_string, x, wanted);
    else if (wanted == string_type && t == bool_type)
        become_native_call(e, NATIVE_bool_to_string, x, wanted);
    else if (wanted == float_type && t == int_type)
        become_unary(e, UNARY_TO_FLOAT, x, wanted);
    else if (wanted == int_type && t == float_type)
        become_unary(e, UNARY_TO_INT, x, wanted);
    else
        return false;
    return true;
}

static void check_builtin_of_any_type(context *c, expression *e, int row) {
    expression *x = e->arguments;
    const char *name = builtins[row].name;
    if (strcmp(name, "sqrt") == 0) {
        become_unary(e, UNARY_SQRT, x, float_type);
    } else if (strcmp(name, "keep_alive") == 0) {
        e->kind = EXPRESSION_KEEP_ALIVE;
        e->left = x;
        e->arguments = NULL;
        e->argument_count = 0;
        if (!type_is_reference(x->type) && x->type != unknown_type)
            error_at(c->s, x->at, "keep_alive is for references, not for %s", x->type->name);
    } else if (!become_conversion(e, x, *builtins[row].result)) {
        error_at(c->s, x->at, "%s is not for %s", name, x->type->name);
    }
}

static void check_builtin_call(context *c, expression *e, int row) {
    const type *parameters[3] = {NULL};
    type t = {.kind = TYPE_FUNCTION, .result = *builtins[row].result, .parameters = parameters};
    t.parameter_count = builtins[row].parameter_count;
    for (int i = 0; i < t.parameter_count; i++)
        parameters[i] = builtins[row].parameters[i] ? *builtins[row].parameters[i] : unknown_type;
    if (t.parameter_count == 0) {
        error_at(c->s, e->at, "%s is a statement, not a value", builtins[row].name);
        e->type = unknown_type;
        return;
    }
    check_arguments(c, e, &t, builtins[row].name);
    if (e->argument_count != t.parameter_count) return;
    if (builtins[row].native >= 0)
        become_native_call(e, (native_number)builtins[row].native, e->arguments, t.result);
    else
        check_builtin_of_any_type(c, e, row);
}

static void check_call(context *c, expression *e) {
    expression *callee = e->left;
    if (callee->kind == EXPRESSION_NAME) {
        const char *name = callee->text;
        function *f = find_function(c->s, name);
        int row = find_builtin(name);
        if (!become_variable(c, callee, name)) {
            if (f) {
                check_function_call(c, e, f);
            } else if (row >= 0) {
                check_builtin_call(c, e, row);
            } else {
                error_at(c->s, callee->at, "no function is named %s", name);
                e->type = unknown_type;
            }
            return;
        }
    } else {
        check_expression(c, callee);
    }
    check_call_of_value(c, e);
}

static void check_new(context *c, expression *e) {
    const type *t = e->type = resolve_type(c->s, e->type_written);
    for (expression *a = e->arguments; a; a = a->next) check_expression(c, a);
    if (t->kind == TYPE_CLASS) {
        e->kind = EXPRESSION_NEW;
        const field *f = t->of_class->fields;
        for (expression *a = e->arguments; a && f; a = a->next, f = f->next)
            require_fit(c->s, f->type, a, arena_format(c->s, "the value of %s.%s", t->name, f->name));
        if (e->argument_count > t->of_class->field_count)
            error_at(c->s, e->at, "%s has %d field%s, but there are %d values", t->name, t->of_class->field_count,
                     t->of_class->field_count == 1 ? "" : "s", e->argument_count);
    } else if (t->kind == TYPE_ARRAY) {
        e->kind = EXPRESSION_NEW_ARRAY;
        if (e->argument_count == 1)
            require_fit(c->s, int_type, e->arguments, "the length of an array");
        else
            error_at(c->s, e->at, "expected one length: new %s(n)", t->name);
        e->left = e->arguments;
        e->arguments = NULL;
        e->argument_count = 0;
    } else if (t != unknown_type) {
        error_at(c->s, e->at, "new makes objects and arrays, not values that are %s", t->name);
        e->type = unknown_type;
    }
}

void check_expression(context *c, expression *e) {
    switch (e->kind) {
    case EXPRESSION_INT:
        e->type = int_type;
        break;
    case EXPRESSION_FLOAT:
        e->type = float_type;
        break;
    case EXPRESSION_BOOL:
        e->type = bool_type;
        break;
    case EXPRESSION_STRING:
        e->type = string_type;
        break;
    case EXPRESSION_NULL:
        e->type = null_type;
        break;
    case EXPRESSION_NAME:
        check_name(c, e);
        break;
    case EXPRESSION_MEMBER:
        check_member(c, e);
        break;
    case EXPRESSION_ELEMENT:
        check_element(c, e);
        break;
    case EXPRESSION_UNARY:
        check_unary(c, e);
        break;
    case EXPRESSION_BINARY:
        check_expression(c, e->left);
        check_expression(c, e->right);
        check_binary(c, e);
        break;
    case EXPRESSION_INVOKE:
        check_call(c, e);
        break;
    case EXPRESSION_NEW_TYPE:
        check_new(c, e);
        break;
    case EXPRESSION_FUNCTION:
        check_function_value(c, e);
        break;
    default:
        break; /* has been checked, as part of what the checker has rewritten */
    }
}
