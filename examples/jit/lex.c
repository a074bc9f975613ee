/* lex.c - the text of a program as tokens, one at a time. */
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const token_texts[TOKEN_KINDS] = {
#define X(name, text) text,
    TOKENS(X)
#undef X
};

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static int hex_digit(char c) {
    if (is_digit(c)) return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char advance(source *s) {
    char c = *s->cursor++;
    s->cursor_at.column++;
    if (c == '\n') s->cursor_at = (position){s->cursor_at.line + 1, 1};
    return c;
}

static _Noreturn void leave(source *s) { longjmp(*s->syntax_error, 1); }

static bool at_end(const source *s) { return s->cursor == s->text + s->text_bytes; }

static void skip_block_comment(source *s) {
    position start = s->cursor_at;
    while (!at_end(s)) {
        if (advance(s) == '*' && *s->cursor == '/') {
            advance(s);
            return;
        }
    }
    error_at(s, start, "the comment that starts here does not end");
    leave(s);
}

static void skip_blanks(source *s) {
    while (!at_end(s)) {
        char c = *s->cursor;
        if (c == '/' && s->cursor[1] == '/') {
            while (!at_end(s) && *s->cursor != '\n') advance(s);
        } else if (c == '/' && s->cursor[1] == '*') {
            skip_block_comment(s);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            advance(s);
        } else {
            return;
        }
    }
}

static void take_name(source *s, token *t) {
    const char *start = s->cursor;
    while (is_letter(*s->cursor) || is_digit(*s->cursor)) advance(s);
    size_t bytes = (size_t)(s->cursor - start);
    for (int kind = TOKEN_FIRST_KEYWORD; kind < TOKEN_FIRST_SIGN; kind++) {
        if (strlen(token_texts[kind]) == bytes && memcmp(token_texts[kind], start, bytes) == 0) {
            t->kind = (token_kind)kind;
            return;
        }
    }
    t->kind = TOKEN_NAME;
    t->text = arena_text(s, start, bytes);
    t->text_bytes = bytes;
}

static void take_hexadecimal(source *s, token *t) {
    advance(s), advance(s);
    int digits = 0;
    for (; hex_digit(*s->cursor) >= 0; digits++) t->int_value = t->int_value << 4 | (uint64_t)hex_digit(advance(s));
    if (digits >= 1 && digits <= 16) return;
    error_at(s, t->at, "a hexadecimal integer has 1 to 16 digits after 0x, not %d", digits);
    leave(s);
}

static void take_number(source *s, token *t) {
    const char *start = s->cursor;
    t->kind = TOKEN_INT;
    if (start[0] == '0' && start[1] == 'x') {
        take_hexadecimal(s, t);
    } else {
        while (is_digit(*s->cursor)) advance(s);
        if (*s->cursor == '.' && is_digit(s->cursor[1])) {
            t->kind = TOKEN_FLOAT;
            do advance(s);
            while (is_digit(*s->cursor));
        }
        if (*s->cursor == 'e' || *s->cursor == 'E') {
            t->kind = TOKEN_FLOAT;
            advance(s);
            if (*s->cursor == '+' || *s->cursor == '-') advance(s);
            if (!is_digit(*s->cursor)) {
                error_at(s, s->cursor_at, "expected the digits of an exponent");
                leave(s);
            }
            while (is_digit(*s->cursor)) advance(s);
        }
        errno = 0;
        if (t->kind == TOKEN_FLOAT)
            t->float_value = strtod(start, NULL);
        else
            t->int_value = strtoull(start, NULL, 10);
        t->needs_minus = t->kind == TOKEN_INT && t->int_value == (uint64_t)1 << 63;
        if (t->kind == TOKEN_INT && (errno || t->int_value > (uint64_t)1 << 63)) {
            error_at(s, t->at, "the integer has more than 64 bits");
            leave(s);
        }
    }
    if (is_letter(*s->cursor)) {
        error_at(s, s->cursor_at, "expected no letter after a number");
        leave(s);
    }
}

/* One byte of a string or character; a backslash starts an escape. */
static char take_byte(source *s) {
    if (*s->cursor != '\\') return advance(s);
    position at = s->cursor_at;
    advance(s);
    static const char letters[] = "ntr0\\\"'", bytes[] = "\n\t\r\0\\\"'";
    char letter = advance(s);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) return bytes[found - letters];
    if (letter == 'x' && hex_digit(s->cursor[0]) >= 0 && hex_digit(s->cursor[1]) >= 0) {
        int high = hex_digit(advance(s));
        return (char)(high << 4 | hex_digit(advance(s)));
    }
    error_at(s, at, "expected one of \\n \\t \\r \\0 \\\\ \\\" \\' \\xHH");
    leave(s);
}

static void take_string(source *s, token *t) {
    advance(s);
    const char *start = s->cursor;
    const char *end = s->text + s->text_bytes, *p = start;
    while (p < end && *p != '\n') p++;
    char *text = arena_take(s, (size_t)(p - start) + 1);
    while (*s->cursor != '"') {
        if (at_end(s) || *s->cursor == '\n') {
            error_at(s, t->at, "the string that starts here does not end in its line");
            leave(s);
        }
        text[t->text_bytes++] = take_byte(s);
    }
    advance(s);
    t->kind = TOKEN_STRING;
    t->text = text;
}

static void take_character(source *s, token *t) {
    advance(s);
    t->kind = TOKEN_INT;
    bool is_empty = at_end(s) || *s->cursor == '\'' || *s->cursor == '\n';
    if (!is_empty) t->int_value = (unsigned char)take_byte(s);
    if (is_empty || *s->cursor != '\'') {
        error_at(s, t->at, "expected one byte between apostrophes");
        leave(s);
    }
    advance(s);
}

static void take_sign(source *s, token *t) {
    for (int kind = TOKEN_FIRST_SIGN; kind < TOKEN_KINDS; kind++) {
        size_t bytes = strlen(token_texts[kind]);
        if (strncmp(s->cursor, token_texts[kind], bytes) != 0) continue;
        for (size_t i = 0; i < bytes; i++) advance(s);
        t->kind = (token_kind)kind;
        return;
    }
    unsigned char c = (unsigned char)*s->cursor;
    if (c > ' ' && c < 127)
        error_at(s, t->at, "the character %c has no meaning here", c);
    else
        error_at(s, t->at, "the byte 0x%02x has no meaning here", c);
    leave(s);
}

void next_token(source *s) {
    skip_blanks(s);
    token t = {.at = s->cursor_at};
    char c = *s->cursor;
    if (at_end(s))
        t.kind = TOKEN_END;
    else if (is_letter(c))
        take_name(s, &t);
    else if (is_digit(c))
        take_number(s, &t);
    else if (c == '"')
        take_string(s, &t);
    else if (c == '\'')
        take_character(s, &t);
    else
        take_sign(s, &t);
    s->token = t;
}
