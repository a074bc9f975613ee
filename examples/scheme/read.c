/* read.c - the reader: text from a port to data.

   Items of a list under construction wait on the machine's stack, where the collector sees them. */
#include "scheme.h"

enum { READ_DEPTH_MAX = 4000 };

typedef struct reader {
    machine *m;
    value port; /* a root while the reader runs */
    bool located;
    int depth;
} reader;

static value read_item(reader *r);

static int peek(reader *r) { return port_peek(r->m, r->port); }
static int next(reader *r) { return port_next(r->m, r->port); }
static uint32_t line_of(reader *r) { return port_of(r->port)->line; }

static _Noreturn void fail(reader *r, const char *message) {
    error_throw_at(r->m, port_of(r->port)->file_id, line_of(r), "%s", message);
}

static bool is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_delimiter(int c) {
    return c < 0 || is_blank(c) || c == '(' || c == ')' || c == '[' || c == ']' || c == '"' || c == ';' || c == '\'';
}

static void skip_block_comment(reader *r) {
    uint32_t start = line_of(r);
    for (int nesting = 1, c, before = 0; nesting > 0; before = c) {
        c = next(r);
        if (c < 0) error_throw_at(r->m, port_of(r->port)->file_id, start, "the comment #| is not closed");
        if (before == '#' && c == '|')
            nesting++, c = 0;
        else if (before == '|' && c == '#')
            nesting--, c = 0;
    }
}

/* Skips blanks and comments; returns the next character without taking it. */
static int skip(reader *r) {
    for (;;) {
        int c = peek(r);
        if (is_blank(c))
            next(r);
        else if (c == ';')
            while (c >= 0 && c != '\n') c = next(r);
        else
            return c;
    }
}

static void token_add(reader *r, int c) {
    char byte = (char)c;
    text_add(&r->m->token, &byte, 1);
}

static void token_rest(reader *r) {
    while (!is_delimiter(peek(r))) token_add(r, next(r));
}

static value make_located_pair(reader *r, value *item) {
    /* item[0] is the line, item[1] the car, and what follows it on the stack the cdr. */
    if (!r->located) {
        pair *p = make(r->m, KIND_PAIR);
        p->car = item[1];
        p->cdr = item[2];
        return value_of(p);
    }
    source_pair *p = make(r->m, KIND_SOURCE_PAIR);
    p->pair.car = item[1];
    p->pair.cdr = item[2];
    p->line = (uint32_t)fixnum_of(item[0]);
    p->file = port_of(r->port)->file_id;
    return value_of(p);
}

/* The rest of a list whose first `(` was taken. */
static value read_list(reader *r, int close) {
    machine *m = r->m;
    ptrdiff_t base = m->sp - m->stack;
    uint32_t start = line_of(r);
    value tail = NIL;
    for (int c; (c = skip(r)) != close;) {
        if (c < 0) error_throw_at(m, port_of(r->port)->file_id, start, "unexpected end of file: the ( is not closed");
        uint32_t line = m->sp == m->stack + base ? start : line_of(r);
        value item = read_item(r);
        if (item == UNDEFINED) continue; /* a comment */
        if (item == DELETED) {           /* the dot */
            if (m->sp == m->stack + base) fail(r, "nothing stands before the . of a pair");
            do tail = read_item(r);
            while (tail == UNDEFINED);
            machine_push(m, tail);
            while (skip(r) == '#' && read_item(r) == UNDEFINED) continue;
            if (skip(r) != close) fail(r, "more than one item follows the . of a pair");
            tail = machine_pop(m);
            break;
        }
        machine_push(m, fixnum(line));
        machine_push(m, item);
    }
    next(r);
    machine_push(m, tail);
    while (m->sp - 1 > m->stack + base) {
        tail = make_located_pair(r, m->sp - 3);
        m->sp -= 2;
        m->sp[-1] = tail;
    }
    return machine_pop(m);
}

static value read_quoted(reader *r, const char *name) {
    machine *m = r->m;
    value line = fixnum(line_of(r));
    value symbol = intern_text(m, name);
    machine_push(m, line);
    machine_push(m, symbol);
    machine_push(m, line);
    value item;
    do item = read_item(r);
    while (item == UNDEFINED);
    if (item == END_OF_FILE || item == DELETED) fail(r, "nothing is quoted");
    machine_push(m, item);
    machine_push(m, NIL);
    for (int i = 0; i < 2; i++) {
        value list = make_located_pair(r, m->sp - 3);
        m->sp -= 2;
        m->sp[-1] = list;
    }
    return machine_pop(m);
}

static value read_vector(reader *r) {
    machine *m = r->m;
    value list = read_list(r, ')');
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, list);
    value v = make_vector(m, list_length(list), fixnum(0));
    for (size_t i = 0; is_pair(list); list = cdr(list)) vector_of(v)->items[i++] = car(list);
    return v;
}

static int hex_digit(int c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void read_hex_escape(reader *r) {
    uint32_t code = 0;
    for (int c; (c = next(r)) != ';';) {
        if (hex_digit(c) < 0 || code > 0x10ffff) fail(r, "a \\x escape must be hex digits and a ;");
        code = code * 16 + (uint32_t)hex_digit(c);
    }
    char bytes[4];
    text_add(&r->m->token, bytes, print_character_bytes(code, bytes));
}

static void read_escape(reader *r, int c) {
    if (c == 'x')
        read_hex_escape(r);
    else if (c == '\n')
        while (peek(r) == ' ' || peek(r) == '\t') next(r);
    else if (c < 0)
        fail(r, "unexpected end of file in a string");
    else
        token_add(r, c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'a' ? 7 : c == '0' ? 0 : c);
}

/* A string or |symbol| up to `close`, into the token. */
static void read_delimited(reader *r, int close) {
    uint32_t start = line_of(r);
    r->m->token.length = 0;
    for (int c; (c = next(r)) != close;) {
        if (c < 0)
            error_throw_at(r->m, port_of(r->port)->file_id, start, "unexpected end of file: the %c is not closed",
                           close);
        if (c == '\\')
            read_escape(r, next(r));
        else
            token_add(r, c);
    }
}

static uint32_t utf8_decode(const text *t) {
    unsigned char first = (unsigned char)t->bytes[0];
    if (t->length == 1) return first;
    size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (n != t->length) return UINT32_MAX;
    uint32_t c = first & (0x7f >> n);
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)t->bytes[i] & 0x3f);
    return c;
}

static value read_character(reader *r) {
    static const struct {
        const char *name;
        uint32_t c;
    } names[] = {{"space", ' '},     {"newline", '\n'}, {"tab", '\t'},  {"return", '\r'}, {"null", 0}, {"nul", 0},
                 {"linefeed", '\n'}, {"delete", 127},   {"escape", 27}, {"backspace", 8}, {"alarm", 7}};
    text *token = &r->m->token;
    token->length = 0;
    if (peek(r) < 0) fail(r, "unexpected end of file after #\\");
    token_add(r, next(r));
    token_rest(r);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(token->bytes, names[i].name)) return character(names[i].c);
    if (token->bytes[0] == 'x' && token->length > 1 && token->length < 8) {
        uint32_t code = 0;
        size_t i = 1;
        for (; i < token->length && hex_digit(token->bytes[i]) >= 0; i++)
            code = code * 16 + (uint32_t)hex_digit(token->bytes[i]);
        if (i == token->length) return character(code);
    }
    uint32_t c = utf8_decode(token);
    if (c == UINT32_MAX) fail(r, "unknown character name");
    return character(c);
}

static value read_hash(reader *r) {
    int c = peek(r);
    if (c == '(') return next(r), read_vector(r);
    if (c == '\\') return next(r), read_character(r);
    if (c == '|') return next(r), skip_block_comment(r), UNDEFINED;
    if (c == ';') {
        next(r);
        while (read_item(r) == UNDEFINED) continue;
        return UNDEFINED;
    }
    text *token = &r->m->token;
    token->length = 0;
    token_add(r, '#');
    token_rest(r);
    const char *name = token->bytes + 1;
    if (!strcmp(name, "t") || !strcmp(name, "true")) return TRUE_VALUE;
    if (!strcmp(name, "f") || !strcmp(name, "false")) return FALSE_VALUE;
    int radix = *name == 'x' ? 16 : *name == 'b' ? 2 : *name == 'o' ? 8 : *name == 'd' ? 10 : 0;
    value number;
    if (radix && number_parse(r->m, name + 1, token->length - 2, radix, &number)) return number;
    error_throw_at(r->m, port_of(r->port)->file_id, line_of(r), "unknown syntax %.40s", token->bytes);
}

static value read_atom(reader *r) {
    text *token = &r->m->token;
    token->length = 0;
    token_rest(r);
    if (token->length == 1 && token->bytes[0] == '.') return DELETED;
    value number;
    if (number_parse(r->m, token->bytes, token->length, 10, &number)) return number;
    return intern(r->m, token->bytes, token->length);
}

/* One datum; END_OF_FILE; UNDEFINED for a comment that looks like a datum; DELETED for a lone dot. */
static value read_item_at(reader *r, int c) {
    switch (c) {
    case -1:
        return END_OF_FILE;
    case '(':
        return next(r), read_list(r, ')');
    case '[':
        return next(r), read_list(r, ']');
    case ')':
    case ']':
        next(r), fail(r, "unexpected )");
    case '\'':
        return next(r), read_quoted(r, "quote");
    case '`':
        return next(r), read_quoted(r, "quasiquote");
    case ',':
        next(r);
        if (peek(r) != '@') return read_quoted(r, "unquote");
        return next(r), read_quoted(r, "unquote-splicing");
    case '"':
        next(r), read_delimited(r, '"');
        return make_string(r->m, r->m->token.bytes ? r->m->token.bytes : "", r->m->token.length);
    case '|':
        next(r), read_delimited(r, '|');
        return intern(r->m, r->m->token.bytes ? r->m->token.bytes : "", r->m->token.length);
    case '#':
        return next(r), read_hash(r);
    default:
        return read_atom(r);
    }
}

static value read_item(reader *r) {
    if (++r->depth > READ_DEPTH_MAX) fail(r, "data is nested too deeply");
    value v = read_item_at(r, skip(r));
    r->depth--;
    return v;
}

value read_datum(machine *m, value port, bool located) {
    reader r = {m, port, located, 0};
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, r.port);
    value v;
    do v = read_item(&r);
    while (v == UNDEFINED);
    if (v == DELETED) fail(&r, "unexpected .");
    return v;
}
