/* types.c - types are made once and compared by address; classes are found by name. */
#include "check.h"

#include <string.h>

#define SIMPLE_TYPE(symbol, kind_, text)                               \
    static const type symbol##_record = {.kind = kind_, .name = text}; \
    const type *const symbol = &symbol##_record
SIMPLE_TYPE(unknown_type, TYPE_UNKNOWN, "of an unknown type");
SIMPLE_TYPE(void_type, TYPE_VOID, "nothing");
SIMPLE_TYPE(int_type, TYPE_INT, "int");
SIMPLE_TYPE(float_type, TYPE_FLOAT, "float");
SIMPLE_TYPE(bool_type, TYPE_BOOL, "bool");
SIMPLE_TYPE(null_type, TYPE_NULL, "null");
SIMPLE_TYPE(string_type, TYPE_STRING, "string");

static type *new_type(source *s, type_kind kind, const char *name) {
    type *t = ARENA_NEW(s, type);
    t->kind = kind;
    t->name = name;
    t->next = s->types;
    s->types = t;
    return t;
}

const object_class *find_class(const source *s, const char *name) {
    const object_class *c = s->program.classes;
    while (c && strcmp(c->name, name) != 0) c = c->next;
    return c;
}

const type *class_type(source *s, const object_class *c) {
    type *t = new_type(s, TYPE_CLASS, c->name);
    t->of_class = c;
    return t;
}

static const type *array_type(source *s, const type *element) {
    for (const type *t = s->types; t; t = t->next) {
        if (t->kind == TYPE_ARRAY && t->element == element) return t;
    }
    type *t = new_type(s, TYPE_ARRAY, arena_format(s, "[]%s", element->name));
    t->element = element;
    return t;
}

static bool is_function_type(const type *t, const type *result, const type *const *parameters, int count) {
    if (t->kind != TYPE_FUNCTION || t->result != result || t->parameter_count != count) return false;
    for (int i = 0; i < count; i++) {
        if (t->parameters[i] != parameters[i]) return false;
    }
    return true;
}

static const char *function_type_name(source *s, const type *result, const type *const *parameters, int count) {
    const char *name = "fn(";
    for (int i = 0; i < count; i++) name = arena_format(s, "%s%s%s", name, i ? ", " : "", parameters[i]->name);
    if (result == void_type) return arena_format(s, "%s)", name);
    return arena_format(s, "%s): %s", name, result->name);
}

const type *resolve_function_type(source *s, const type_written *written) {
    const type *parameters[PARAMETERS_MAX];
    int count = 0;
    for (const type_written *p = written->parameters; p; p = p->next) {
        const type *t = resolve_type(s, p);
        if (count < PARAMETERS_MAX) parameters[count++] = t;
    }
    if (written->parameter_count > PARAMETERS_MAX)
        error_at(s, written->at, "a function has at most %d parameters, not %d", PARAMETERS_MAX,
                 written->parameter_count);
    const type *result = written->result ? resolve_type(s, written->result) : void_type;
    for (const type *t = s->types; t; t = t->next) {
        if (is_function_type(t, result, parameters, count)) return t;
    }
    type *t = new_type(s, TYPE_FUNCTION, function_type_name(s, result, parameters, count));
    t->result = result;
    t->parameter_count = count;
    t->parameters = arena_take(s, sizeof parameters);
    memcpy(t->parameters, parameters, (size_t)count * sizeof parameters[0]);
    return t;
}

const type *resolve_type(source *s, const type_written *written) {
    if (written->element) return array_type(s, resolve_type(s, written->element));
    if (!written->name) return resolve_function_type(s, written);
    const type *const simple[] = {int_type, float_type, bool_type, string_type};
    for (int i = 0; i < 4; i++) {
        if (strcmp(simple[i]->name, written->name) == 0) return simple[i];
    }
    const object_class *c = find_class(s, written->name);
    if (c) return c->type;
    error_at(s, written->at, "no class or type is named %s", written->name);
    return unknown_type;
}

void set_null(expression *e, const type *t) {
    if (e->kind == EXPRESSION_NULL) e->type = t;
}

bool fits(const type *wanted, expression *e) {
    if (e->type == unknown_type || wanted == unknown_type) return true;
    if (e->kind == EXPRESSION_NULL && type_is_reference(wanted)) e->type = wanted;
    return e->type == wanted;
}

void require_fit(source *s, const type *wanted, expression *e, const char *what) {
    if (fits(wanted, e)) return;
    const char *advice = "";
    if (wanted == float_type && e->type == int_type) advice = ": float(...) converts";
    if (wanted == int_type && e->type == float_type) advice = ": int(...) converts";
    if (wanted == string_type && !type_is_reference(e->type) && e->type != void_type) advice = ": str(...) converts";
    error_at(s, e->at, "%s is %s, but must be %s%s", what, e->type->name, wanted->name, advice);
}

void set_offset(object_class *c, field *f) {
    f->offset = c->instance_bytes;
    c->instance_bytes += 8;
}

field *find_field(const object_class *c, const char *name) {
    field *f = c->fields;
    while (f && strcmp(f->name, name) != 0) f = f->next;
    return f;
}

static function *find_in(function *f, const char *name) {
    while (f && strcmp(f->name, name) != 0) f = f->next;
    return f;
}

function *find_method(const object_class *c, const char *name) { return find_in(c->methods, name); }

function *find_function(const source *s, const char *name) { return find_in(s->program.functions, name); }
