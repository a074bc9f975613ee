/* source.h - one source file while it is read: its memory, its tokens, and its errors; shared by the lexer, the parser and
   the checker. */
#pragma once

#include "ast.h"

#include <setjmp.h>

/* The tokens, with the text by which messages name them. */
#define TOKENS(X)                 \
    X(END, "the end of the file") \
    X(NAME, "a name")             \
    X(INT, "an integer")          \
    X(FLOAT, "a number")          \
    X(STRING, "a string")         \
    X(BREAK, "break")             \
    X(CLASS, "class")             \
    X(CONTINUE, "continue")       \
    X(ELSE, "else")               \
    X(FALSE, "false")             \
    X(FN, "fn")                   \
    X(FOR, "for")                 \
    X(IF, "if")                   \
    X(NATIVE, "native")           \
    X(NEW, "new")                 \
    X(NULL, "null")               \
    X(RETURN, "return")           \
    X(TRUE, "true")               \
    X(VAR, "var")                 \
    X(WHILE, "while")             \
    X(SHIFT_LEFT, "<<")           \
    X(SHIFT_RIGHT, ">>")          \
    X(LESS_EQUAL, "<=")           \
    X(GREATER_EQUAL, ">=")        \
    X(EQUAL, "==")                \
    X(NOT_EQUAL, "!=")            \
    X(AND, "&&")                  \
    X(OR, "||")                   \
    X(PLUS_PLUS, "++")            \
    X(MINUS_MINUS, "--")          \
    X(PLUS_ASSIGN, "+=")          \
    X(MINUS_ASSIGN, "-=")         \
    X(TIMES_ASSIGN, "*=")         \
    X(OVER_ASSIGN, "/=")          \
    X(REMAINDER_ASSIGN, "%=")     \
    X(ASSIGN, "=")                \
    X(LESS, "<")                  \
    X(GREATER, ">")               \
    X(PLUS, "+")                  \
    X(MINUS, "-")                 \
    X(TIMES, "*")                 \
    X(OVER, "/")                  \
    X(REMAINDER, "%")             \
    X(AND_BITS, "&")              \
    X(OR_BITS, "|")               \
    X(XOR_BITS, "^")              \
    X(COMPLEMENT, "~")            \
    X(NOT, "!")                   \
    X(OPEN, "(")                  \
    X(CLOSE, ")")                 \
    X(OPEN_BRACE, "{")            \
    X(CLOSE_BRACE, "}")           \
    X(OPEN_BRACKET, "[")          \
    X(CLOSE_BRACKET, "]")         \
    X(COMMA, ",")                 \
    X(SEMICOLON, ";")             \
    X(COLON, ":")                 \
    X(DOT, ".")

typedef enum token_kind {
#define X(name, text) TOKEN_##name,
    TOKENS(X)
#undef X
        TOKEN_KINDS,
    TOKEN_FIRST_KEYWORD = TOKEN_BREAK,
    TOKEN_FIRST_SIGN = TOKEN_SHIFT_LEFT
} token_kind;

extern const char *const token_texts[TOKEN_KINDS];

typedef struct token {
    token_kind kind;
    position at;
    const char *text; /* of a name or a string */
    size_t text_bytes;
    uint64_t int_value;
    bool needs_minus; /* the integer is 2^63 */
    double float_value;
} token;

/* A type as the program writes it. */
typedef struct type_written {
    position at;
    const char *name;             /* of a simple type; else NULL */
    struct type_written *element; /* of an array; else NULL */
    struct type_written *result;  /* of a function; NULL: none */
    struct type_written *parameters;
    int parameter_count;
    struct type_written *next;
} type_written;

typedef struct arena_chunk arena_chunk;

typedef struct source {
    program program; /* first, so that program_free finds the rest */
    arena_chunk *chunks;
    char *text; /* ends in a 0 byte */
    size_t text_bytes;

    const char *cursor; /* the lexer's */
    position cursor_at;
    token token; /* the next one */
    int depth;   /* of nested constructs */

    int errors;
    jmp_buf *syntax_error; /* where the parser is left to */
    type *types;           /* that have been made */
} source;

/* Zeroed memory that lives as long as the program. */
void *arena_take(source *s, size_t bytes);
#define ARENA_NEW(s, T) ((T *)arena_take(s, sizeof(T)))
const char *arena_text(source *s, const char *text, size_t bytes);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
const char *
arena_format(source *s, const char *format, ...);

/* A new node of the tree; a statement is no assignment with an operator. */
expression *new_expression(source *s, expression_kind kind, position at);
statement *new_statement(source *s, statement_kind kind, position at);

/* Prints an error; the checker goes on after it. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void error_at(source *s, position at, const char *format, ...);
#define ERRORS_MAX 20

/* Reads the next token into s->token; leaves the parser if there is none. */
void next_token(source *s);
/* Sets the program's functions and classes; their types are as written. False: there was an error. */
bool parse_source(source *s);
/* Resolves and checks all that was parsed. False: there were errors. */
bool check_source(source *s);
