/* text.c - what values look like, and the end of the program. */
#include "vm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void text_add(text *t, const char *bytes, size_t length) {
    if (t->length + length > t->capacity) {
        size_t capacity = (t->length + length) * 2;
        t->bytes = reallocate(t->bytes, t->capacity, capacity);
        t->capacity = capacity;
    }
    if (length) memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
}

void text_format(text *t, const char *format, ...) {
    char bytes[512];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(bytes, sizeof bytes, format, list);
    va_end(list);
    text_add(t, bytes, length < (int)sizeof bytes ? (size_t)length : sizeof bytes - 1);
}

void text_free(text *t) {
    reallocate(t->bytes, t->capacity, 0);
    memset(t, 0, sizeof *t);
}

static void show_array(text *t, const array *a, int depth) {
    text_add(t, "[", 1);
    for (size_t i = 0; i < a->count; i++) {
        if (i) text_add(t, ", ", 2);
        text_show(t, a->values->items[i], depth + 1);
    }
    text_add(t, "]", 1);
}

static void show_table(text *t, const table *table, int depth) {
    size_t at = 0;
    value key, v;
    const char *between = "";
    text_add(t, "{", 1);
    while (map_next(&table->map, &at, &key, &v)) {
        text_format(t, "%s", between);
        text_show(t, key, depth + 1);
        text_add(t, ": ", 2);
        text_show(t, v, depth + 1);
        between = ", ";
    }
    text_add(t, "}", 1);
}

static void show_name(text *t, const char *what, const string *name) {
    text_format(t, "<%s %.*s>", what, name ? (int)name->length : 1, name ? name->bytes : "?");
}

static void show_object(text *t, value v, int depth) {
    void *o = object_of(v);
    switch (kind_of(v)) {
    case KIND_STRING:
        text_add(t, ((string *)o)->bytes, ((string *)o)->length);
        break;
    case KIND_FUNCTION:
        show_name(t, "code", ((function *)o)->name);
        break;
    case KIND_NATIVE:
        text_format(t, "<native %s>", ((native *)o)->name);
        break;
    case KIND_CLOSURE:
        show_name(t, "fn", ((closure *)o)->function->name);
        break;
    case KIND_CLASS:
        show_name(t, "class", ((class *)o)->name);
        break;
    case KIND_INSTANCE:
        show_name(t, "instance", ((instance *)o)->class->name);
        break;
    case KIND_BOUND:
        show_name(t, "method", ((bound *)o)->method->function->name);
        break;
    case KIND_ARRAY:
        show_array(t, o, depth);
        break;
    case KIND_TABLE:
        show_table(t, o, depth);
        break;
    default:
        text_format(t, "<%s>", kind_name(v));
        break;
    }
}

void text_show(text *t, value v, int depth) {
    enum { DEPTH_MAX = 8 };
    double d = number_of(v);
    if (is_object(v)) {
        if (depth > DEPTH_MAX)
            text_add(t, "...", 3);
        else
            show_object(t, v, depth);
    } else if (!is_number(v)) {
        text_format(t, "%s", v == NIL ? "nil" : v == TRUE_VALUE ? "true" : "false");
    } else if (d > -1e9 && d < 1e9 && d == (int)d) {
        text_format(t, "%d", (int)d);
    } else {
        text_format(t, "%.14g", d);
    }
}

const char *kind_name(value v) {
    static const char *const names[] = {"string",   "code",   "native", "function", "upvalue",  "class",
                                        "instance", "method", "array",  "table",    "coroutine"};
    if (is_object(v)) return names[kind_of(v)];
    return is_number(v) ? "number" : v == NIL ? "nil" : "boolean";
}

void quit(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fflush(stdout);
    fprintf(stderr, "%s: ", vm.script ? vm.script : "vm");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}
