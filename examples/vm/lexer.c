/* lexer.c - from text to tokens. */
#include "compile.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

parser parsing;

static const char *const keywords[] = {"and",    "break", "class", "continue", "else", "false", "fn",
                                       "for",    "if",    "in",    "let",      "nil",  "not",   "or",
                                       "return", "self",  "super", "true",     "while"};
static const char *const pairs[] = {"==", "!=", "<=", ">=", ".."};

void syntax_error(const token *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    fflush(stdout);
    fprintf(stderr, "%s:%d: syntax error", vm.script, t->line);
    if (t->kind == TOKEN_END)
        fprintf(stderr, " at the end");
    else
        fprintf(stderr, " at '%.*s'", t->length, t->start);
    fprintf(stderr, ": ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    longjmp(parsing.failed, 1);
}

static void skip_blanks(void) {
    for (;; parsing.at++) {
        if (*parsing.at == '#')
            while (parsing.at[1] && parsing.at[1] != '\n') parsing.at++;
        else if (*parsing.at == '\n')
            parsing.line++;
        else if (!isspace((unsigned char)*parsing.at))
            return;
    }
}

static int word_kind(const char *start, int length) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if ((int)strlen(keywords[i]) == length && memcmp(keywords[i], start, (size_t)length) == 0)
            return TOKEN_AND + (int)i;
    return TOKEN_NAME;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static int number_token(void) {
    while (isdigit((unsigned char)*parsing.at)) parsing.at++;
    if (*parsing.at == '.' && isdigit((unsigned char)parsing.at[1])) {
        parsing.at++;
        while (isdigit((unsigned char)*parsing.at)) parsing.at++;
    }
    return TOKEN_NUMBER;
}

static int string_token(const token *t) {
    while (*parsing.at != '"') {
        if (!*parsing.at || *parsing.at == '\n') syntax_error(t, "the string has no end");
        parsing.at += *parsing.at == '\\' && parsing.at[1] ? 2 : 1;
    }
    parsing.at++;
    return TOKEN_STRING;
}

static int operator_token(char first) {
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (first != pairs[i][0] || *parsing.at != pairs[i][1]) continue;
        parsing.at++;
        return TOKEN_EQUAL + (int)i;
    }
    return TOKEN_PUNCTUATION + first;
}

token lexer_next(void) {
    skip_blanks();
    token t = {TOKEN_END, parsing.at, 0, parsing.line};
    if (!*parsing.at) return t;
    char first = *parsing.at++;
    if (isdigit((unsigned char)first)) {
        t.kind = number_token();
    } else if (is_word(first)) {
        while (is_word(*parsing.at)) parsing.at++;
        t.kind = word_kind(t.start, (int)(parsing.at - t.start));
    } else if (first == '"') {
        t.kind = string_token(&t);
    } else {
        t.kind = operator_token(first);
        if (!strchr("+-*/%<>=!()[]{},;:.", first)) {
            t.length = 1;
            syntax_error(&t, "there is no such operator");
        }
    }
    t.length = (int)(parsing.at - t.start);
    return t;
}

void lexer_start(const char *source) {
    parsing.at = source;
    parsing.line = 1;
    advance();
}

void advance(void) {
    parsing.previous = parsing.current;
    parsing.current = lexer_next();
}

bool match(int kind) {
    if (parsing.current.kind != kind) return false;
    advance();
    return true;
}

void expect(int kind, const char *what) {
    if (!match(kind)) syntax_error(&parsing.current, "%s is expected", what);
}

bool match_character(char c) { return match(TOKEN_PUNCTUATION + c); }

void expect_character(char c) {
    char what[] = {'\'', c, '\'', 0};
    expect(TOKEN_PUNCTUATION + c, what);
}
