/* language.h - the part of the interpreter that no rung changes: it neither allocates objects nor stores references
   into them. Each rung includes it behind its struct definitions and is_kind(). */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static program the_program;
static value globals[GLOBALS_MAX]; /* and the literals */
static int calls;

static string *string_of(value v) { return object_of(v); }
static list *list_of(value v) { return object_of(v); }
static table *table_of(value v) { return object_of(v); }

static bool is_equal(value a, value b) {
    if (a == b) return true;
    if (!is_kind(a, KIND_STRING) || !is_kind(b, KIND_STRING)) return false;
    const string *s = string_of(a), *t = string_of(b);
    return s->length == t->length && memcmp(s->bytes, t->bytes, s->length) == 0;
}

static bool is_live(const value *entry) { return entry[0] != NIL && entry[0] != DELETED; }

/* What a value looks like. */

static const char *kind_name(value v) {
    if (!is_object(v)) return v == NIL ? "nil" : v == TRUE_VALUE ? "true" : v == FALSE_VALUE ? "false" : "number";
    return is_kind(v, KIND_STRING)  ? "string"
           : is_kind(v, KIND_LIST)  ? "list"
           : is_kind(v, KIND_TABLE) ? "table"
                                    : "function";
}

static void show(text *t, value v) {
    if (is_number(v)) {
        text_number(t, number_of(v));
    } else if (is_kind(v, KIND_STRING)) {
        text_add(t, string_of(v)->bytes, string_of(v)->length);
    } else if (is_kind(v, KIND_LIST)) {
        text_add(t, "[", 1);
        for (size_t i = 0; i < list_of(v)->count; i++) {
            if (i) text_add(t, ", ", 2);
            show(t, list_of(v)->items->items[i]);
        }
        text_add(t, "]", 1);
    } else {
        text_add(t, kind_name(v), strlen(kind_name(v)));
    }
}

static value arithmetic(const node *n, double a, double b) {
    switch (n->op) {
    case '+':
        return number(a + b);
    case '-':
        return number(a - b);
    case '*':
        return number(a * b);
    case '/':
        return number(a / b);
    case '%':
        return number(a - floor(a / b) * b);
    case '<':
        return boolean(a < b);
    case '>':
        return boolean(a > b);
    case 'l':
        return boolean(a <= b);
    default:
        return boolean(a >= b);
    }
}

static size_t want_index(int line, value v, size_t length) {
    double d = is_number(v) ? number_of(v) : -1;
    if (!(d >= 0 && d < (double)length)) fail(line, "the index must be a number from 0 to %zu", length - 1);
    return (size_t)d;
}

/* Builtins. */

static void *want(const char *who, value v, kind kind, const char *name) {
    if (!is_kind(v, kind)) fail(0, "%s takes a %s, not a %s", who, name, kind_name(v));
    return object_of(v);
}

static value builtin_print(value *arguments, int count) {
    text t = {0};
    for (int i = 0; i < count; i++) {
        if (i) text_add(&t, " ", 1);
        show(&t, arguments[i]);
    }
    printf("%.*s\n", (int)t.length, t.length ? t.bytes : "");
    free(t.bytes);
    return NIL;
}

static value builtin_len(value *arguments, int count) {
    value v = arguments[0];
    (void)count;
    if (is_kind(v, KIND_STRING)) return number((double)string_of(v)->length);
    if (is_kind(v, KIND_LIST)) return number((double)list_of(v)->count);
    return number((double)((table *)want("len", v, KIND_TABLE, "string, list or table"))->count);
}

static value builtin_floor(value *arguments, int count) {
    (void)count;
    if (!is_number(arguments[0])) fail(0, "floor takes a number, not a %s", kind_name(arguments[0]));
    return number(floor(number_of(arguments[0])));
}

static void define(const char *name, value v) {
    int index = program_global(&the_program, name, strlen(name), false);
    globals[index] = v;
    the_program.globals[index].is_defined = true;
}
