/* compile.h - what the files of the compiler know of each other. It makes one pass, from text to bytecode. */
#pragma once

#include "vm.h"

#include <setjmp.h>

/* clang-format off */
#define OPCODES(X)                                                                                                     \
    X(CONSTANT, 1) X(NIL, 1) X(TRUE, 1) X(FALSE, 1) X(POP, -1) X(GET_LOCAL, 1) X(SET_LOCAL, 0) X(GET_GLOBAL, 1)        \
    X(SET_GLOBAL, 0) X(DEFINE_GLOBAL, -1) X(GET_UPVALUE, 1) X(SET_UPVALUE, 0) X(GET_FIELD, 0) X(SET_FIELD, -1)         \
    X(GET_INDEX, -1) X(SET_INDEX, -2) X(GET_SUPER, 0) X(EQUAL, -1) X(NOT_EQUAL, -1) X(LESS, -1) X(LESS_EQUAL, -1)      \
    X(GREATER, -1) X(GREATER_EQUAL, -1) X(ADD, -1) X(SUBTRACT, -1) X(MULTIPLY, -1) X(DIVIDE, -1) X(MODULO, -1)         \
    X(NEGATE, 0) X(NOT, 0) X(JUMP, 0) X(JUMP_IF_FALSE, -1) X(AND, -1) X(OR, -1) X(LOOP, 0) X(FOR_RANGE, 1)             \
    X(FOR_EACH, 1) X(CALL, 0) X(INVOKE, 0) X(INVOKE_SUPER, 0) X(CLOSURE, 1) X(CLOSE_UPVALUE, -1) X(RETURN, -1)         \
    X(ARRAY, 0) X(TABLE, 0) X(CLASS, 1) X(INHERIT, 0) X(METHOD, -1)
/* clang-format on */

/* The number behind each is by how much it changes the height of the stack, apart from what its operands say. */
typedef enum opcode {
#define X(name, effect) OP_##name,
    OPCODES(X)
#undef X
        OPCODE_COUNT
} opcode;

typedef enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING,
    /* Keywords, in the order of their texts in lexer.c. */
    TOKEN_AND,
    TOKEN_BREAK,
    TOKEN_CLASS,
    TOKEN_CONTINUE,
    TOKEN_ELSE,
    TOKEN_FALSE,
    TOKEN_FN,
    TOKEN_FOR,
    TOKEN_IF,
    TOKEN_IN,
    TOKEN_LET,
    TOKEN_NIL,
    TOKEN_NOT,
    TOKEN_OR,
    TOKEN_RETURN,
    TOKEN_SELF,
    TOKEN_SUPER,
    TOKEN_TRUE,
    TOKEN_WHILE,
    /* Operators of two characters, then those of one. */
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER_EQUAL,
    TOKEN_RANGE,
    TOKEN_PUNCTUATION /* + the character */
} token_kind;

typedef struct token {
    int kind;
    const char *start;
    int length, line;
} token;

typedef struct parser {
    const char *at; /* behind the current token */
    int line;
    token previous, current;
    jmp_buf failed;
} parser;

typedef enum function_kind { FUNCTION_MAIN, FUNCTION_PLAIN, FUNCTION_METHOD, FUNCTION_INIT } function_kind;

enum { LOCALS_MAX = 240, CAPTURES_MAX = 240, JUMPS_MAX = 64 };

typedef struct local {
    const char *name; /* NULL: the compiler's own */
    int length;
    int depth; /* -1: its initializer is being compiled */
    bool is_captured;
} local;

typedef struct loop {
    struct loop *outer;
    int start, local_count; /* what continue goes back to, and the locals that are left then */
    int breaks[JUMPS_MAX], break_count;
} loop;

/* One for each function that is being compiled. */
typedef struct compiler {
    struct compiler *outer;
    function *function;
    function_kind kind;
    bool has_base; /* within a class that has a base */
    local locals[LOCALS_MAX];
    struct {
        uint8_t index;
        bool is_local;
    } captures[CAPTURES_MAX];
    int local_count, depth;
    int height; /* of the stack, where the code is at present */
    loop *loop;
} compiler;

extern parser parsing;

/* lexer.c */
void lexer_start(const char *source);
token lexer_next(void);
_Noreturn void syntax_error(const token *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void advance(void);
bool match(int kind);
void expect(int kind, const char *what);
bool match_character(char c);
void expect_character(char c);

/* emit.c */
void emit_byte(int byte);
void emit(opcode op);
void emit_with_byte(opcode op, int operand);
void emit_with_short(opcode op, int operand);
int emit_jump(opcode op);
void patch_jump(int at);
void emit_loop(int start);
void height_changes(int by);
int constant(value v);
int name_constant(const token *name);

/* scope.c */
void compiler_open(compiler *c, function_kind kind, string *name);
function *compiler_close(void);
void scope_open(void);
void scope_close(void);
void locals_drop(int down_to);
int local_add(const char *name, int length);
void local_ready(void);
void variable_get(const token *name);
void variable_set(const token *name);

/* expression.c and statement.c */
void expression(void);
void function_literal(function_kind kind, string *name);
void statement(void);
