/* print.c - writing values as text, into malloc'ed memory, so that nothing moves meanwhile. */
#include "compile.h"

#include <stdlib.h>

void text_add(text *t, const char *bytes, size_t length) {
    if (t->length + length + 1 > t->capacity) {
        t->capacity = (t->length + length + 1) * 2;
        t->bytes = realloc(t->bytes, t->capacity);
        if (!t->bytes) abort();
    }
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    t->bytes[t->length] = 0;
}

void text_free(text *t) { free(t->bytes); }

/* One print. Nesting deeper than DEPTH_MAX reads "..."; when that has happened DEEP_MAX times, or a list has turned out
   to be a circle, or `bytes_max` is reached, the rest is left out. So cyclic data ends too. */
typedef struct printer {
    text *text;
    bool write;
    int deep;
    size_t bytes_max;
} printer;

enum { DEPTH_MAX = 2000, DEEP_MAX = 20 };

static void print_to(printer *p, value v, int depth);

static void put(printer *p, const char *s) { text_add(p->text, s, strlen(s)); }

static bool is_over(const printer *p) { return p->deep >= DEEP_MAX || p->text->length >= p->bytes_max; }

size_t print_character_bytes(uint32_t c, char *out) {
    if (c < 0x100) return out[0] = (char)c, 1; /* strings are bytes: a character above ASCII is one byte of UTF-8 */
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n & 0xff) | c);
    return n;
}

static void print_character(printer *p, uint32_t c) {
    static const struct {
        uint32_t c;
        const char *name;
    } names[] = {{' ', "space"}, {'\n', "newline"}, {'\t', "tab"}, {'\r', "return"},
                 {0, "null"},    {127, "delete"},   {27, "escape"}};
    if (p->write) {
        put(p, "#\\");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (names[i].c == c) {
                put(p, names[i].name);
                return;
            }
    }
    char bytes[4];
    text_add(p->text, bytes, print_character_bytes(c, bytes));
}

static void print_string(printer *p, const string *s) {
    if (!p->write) {
        text_add(p->text, s->bytes, s->array.length);
        return;
    }
    put(p, "\"");
    for (size_t i = 0; i < s->array.length; i++) {
        char c = s->bytes[i];
        if (c == '\n')
            put(p, "\\n");
        else if (c == '\t')
            put(p, "\\t");
        else if (c == '\r')
            put(p, "\\r");
        else {
            if (c == '"' || c == '\\') put(p, "\\");
            text_add(p->text, &c, 1);
        }
    }
    put(p, "\"");
}

static const char *quote_prefix(value v) {
    static const char *const forms[][2] = {
        {"quote", "'"}, {"quasiquote", "`"}, {"unquote", ","}, {"unquote-splicing", ",@"}};
    if (!is_kind(car(v), KIND_SYMBOL) || !is_pair(cdr(v)) || cddr(v) != NIL) return NULL;
    const string *name = string_of(symbol_of(car(v))->name);
    for (size_t i = 0; i < 4; i++)
        if (name->array.length == strlen(forms[i][0]) && !memcmp(name->bytes, forms[i][0], name->array.length))
            return forms[i][1];
    return NULL;
}

static void print_list(printer *p, value v, int depth) {
    const char *prefix = quote_prefix(v);
    if (prefix) {
        put(p, prefix);
        print_to(p, cadr(v), depth + 1);
        return;
    }
    put(p, "(");
    value slow = v;
    for (size_t i = 1;; i++) {
        print_to(p, car(v), depth + 1);
        v = cdr(v);
        if (i % 2 == 0) slow = cdr(slow);
        if (!is_pair(v) || v == slow || is_over(p)) break;
        put(p, " ");
    }
    if (is_pair(v))
        put(p, " ...");
    else if (v != NIL) {
        put(p, " . ");
        print_to(p, v, depth + 1);
    }
    put(p, ")");
}

static void print_items(printer *p, const value *items, size_t count, int depth) {
    for (size_t i = 0; i < count; i++) {
        if (is_over(p)) {
            put(p, " ...");
            return;
        }
        if (i) put(p, " ");
        print_to(p, items[i], depth + 1);
    }
}

static void print_named(printer *p, const char *what, value name) {
    put(p, "#<");
    put(p, what);
    if (is_kind(name, KIND_SYMBOL)) name = symbol_of(name)->name;
    if (is_kind(name, KIND_STRING)) {
        put(p, " ");
        text_add(p->text, string_of(name)->bytes, string_length(name));
    }
    put(p, ">");
}

static void print_record(printer *p, const record *r, int depth) {
    const record_type *type = object_of(r->type);
    value name = type->name, fields = type->fields;
    put(p, "#<");
    text_add(p->text, string_of(symbol_of(name)->name)->bytes, string_length(symbol_of(name)->name));
    for (size_t i = 0; i < r->array.length && is_pair(fields) && !is_over(p); i++, fields = cdr(fields)) {
        put(p, " ");
        print_to(p, car(fields), depth + 1);
        put(p, ": ");
        print_to(p, r->fields[i], depth + 1);
    }
    put(p, ">");
}

static void print_condition(printer *p, const condition *c, int depth) {
    put(p, "#<condition ");
    print_to(p, c->message, depth + 1);
    for (value v = c->irritants; is_pair(v) && !is_over(p); v = cdr(v)) {
        put(p, " ");
        print_to(p, car(v), depth + 1);
    }
    put(p, ">");
}

static void print_object(printer *p, value v, int depth) {
    char number[80];
    switch (kind_of(v)) {
    case KIND_PAIR:
    case KIND_SOURCE_PAIR:
        print_list(p, v, depth);
        break;
    case KIND_FLONUM:
        text_add(p->text, number, number_format(v, 10, number));
        break;
    case KIND_STRING:
        print_string(p, string_of(v));
        break;
    case KIND_SYMBOL:
        text_add(p->text, string_of(symbol_of(v)->name)->bytes, string_length(symbol_of(v)->name));
        break;
    case KIND_VECTOR:
        put(p, "#(");
        print_items(p, vector_of(v)->items, vector_length(v), depth);
        put(p, ")");
        break;
    case KIND_CLOSURE:
        put(p, "#<procedure>");
        break;
    case KIND_PRIMITIVE:
        put(p, "#<procedure ");
        put(p, ((primitive *)object_of(v))->info->name);
        put(p, ">");
        break;
    case KIND_ESCAPE:
        put(p, "#<continuation>");
        break;
    case KIND_TABLE:
        put(p, "#<hash-table>");
        break;
    case KIND_RECORD:
        print_record(p, record_of(v), depth);
        break;
    case KIND_RECORD_TYPE:
        print_named(p, "record-type", ((record_type *)object_of(v))->name);
        break;
    case KIND_CONDITION:
        print_condition(p, object_of(v), depth);
        break;
    case KIND_PORT:
        print_named(p, "port", port_of(v)->name);
        break;
    case KIND_VALUES:
        print_items(p, &((values *)object_of(v))->list, 1, depth);
        break;
    default:
        put(p, "#<object>");
        break;
    }
}

static void print_to(printer *p, value v, int depth) {
    char number[80];
    if (depth > DEPTH_MAX || is_over(p)) {
        p->deep += depth > DEPTH_MAX;
        put(p, "...");
    } else if (is_fixnum(v))
        text_add(p->text, number, number_format(v, 10, number));
    else if (is_character(v))
        print_character(p, character_of(v));
    else if (is_object(v))
        print_object(p, v, depth);
    else if (v == TRUE_VALUE)
        put(p, "#t");
    else if (v == FALSE_VALUE)
        put(p, "#f");
    else if (v == NIL)
        put(p, "()");
    else if (v == END_OF_FILE)
        put(p, "#<eof>");
    else
        put(p, "#<none>");
}

void print_value(text *t, value v, bool write) {
    printer p = {t, write, 0, SIZE_MAX};
    print_to(&p, v, 0);
}

void print_brief(char *buffer, size_t bytes, value v) {
    text t = {0};
    printer p = {&t, true, 0, bytes};
    print_to(&p, v, 0);
    snprintf(buffer, bytes, "%s", t.bytes ? t.bytes : "");
    if (t.length >= bytes) memcpy(buffer + bytes - 4, "...", 4);
    text_free(&t);
}
