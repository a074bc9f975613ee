/* calc.h - what all rungs share: values, the syntax tree, errors. None of it knows of the heap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A value is one word. Numbers are doubles whose bits are moved up by 2^48, so that they are all 2^48 or more; what is
   below is a pointer to an object or one of these constants. Zeroed memory is full of nil. */
typedef uintptr_t value;
#define NIL ((value)0)
#define FALSE_VALUE ((value)2)
#define TRUE_VALUE ((value)4)
#define DELETED ((value)6) /* the key of a table's entry that was removed */
#define NUMBERS ((value)1 << 48)

static inline bool is_number(value v) { return v >= NUMBERS; }
static inline bool is_object(value v) { return v > DELETED && v < NUMBERS; }
static inline bool is_true(value v) { return v != NIL && v != FALSE_VALUE; }
static inline void *object_of(value v) { return (void *)v; }
static inline value value_of(const void *object) { return (value)object; }
static inline value boolean(bool b) { return b ? TRUE_VALUE : FALSE_VALUE; }

static inline value number(double d) {
    value bits;
    memcpy(&bits, &d, sizeof bits);
    return bits + NUMBERS;
}

static inline double number_of(value v) {
    double d;
    v -= NUMBERS;
    memcpy(&d, &v, sizeof d);
    return d;
}

/* The syntax tree. It is allocated once and never freed, and holds no references: a string literal is a global that the
   interpreter fills before it starts. */
typedef enum node_kind {
    NODE_CONSTANT, /* constant */
    NODE_LOCAL,    /* variable */
    NODE_UPVALUE,  /* index: among the closure's cells */
    NODE_GLOBAL,   /* index */
    NODE_LIST,     /* items, count */
    NODE_TABLE,    /* items: keys and values by turns */
    NODE_FUNCTION, /* function */
    NODE_CALL,     /* a(items), count */
    NODE_INDEX,    /* a[b] */
    NODE_AND,
    NODE_OR,
    NODE_NOT,
    NODE_NEGATE,
    NODE_BINARY, /* a op b */
    NODE_LET,    /* let a = b: a new variable */
    NODE_ASSIGN, /* a = b */
    NODE_IF,     /* if a b else c */
    NODE_WHILE,  /* while a b */
    NODE_RETURN, /* a, or NULL */
    NODE_BLOCK,  /* items */
    NODE_DISCARD /* a */
} node_kind;

typedef struct variable {
    const char *name;
    size_t length;
    int slot;
    int depth;     /* of the block that declares it */
    bool captured; /* lives in a cell, since a closure refers to it */
    struct variable *outer;
} variable;

typedef struct node {
    node_kind kind;
    int line;
    int index;
    int count;
    char op; /* + - * / % < > = ! and, for <= and >=, l and g */
    value constant;
    variable *variable;
    struct function *function;
    struct node *a, *b, *c;
    struct node *items, *next;
} node;

typedef struct capture {
    const variable *local; /* of the enclosing function, or else NULL */
    int upvalue;           /* of the enclosing function */
} capture;

typedef struct function {
    variable **parameters;
    int parameter_count;
    int slot_count; /* the parameters' slots come first */
    capture *captures;
    int capture_count;
    node *body;
} function;

enum { GLOBALS_MAX = 4096, PARAMETERS_MAX = 16, CALLS_MAX = 4000 };

typedef struct global {
    const char *text; /* the name, or what the literal says */
    size_t length;
    bool is_literal, is_defined;
    int line;
} global;

typedef struct program {
    function *main;
    global globals[GLOBALS_MAX];
    int global_count;
} program;

/* syntax.c */
int program_global(program *p, const char *text, size_t length, bool is_literal); /* its index; new if need be */
void program_parse(program *p, const char *source);

/* host.c */
typedef struct arguments {
    const char *path;
    double n; /* the script's size, its variable `n` */
    bool stats;
} arguments;

arguments read_arguments(int argc, char **argv);
char *read_file(const char *path);
void *zeroed(size_t bytes); /* malloc'ed memory, never NULL */
_Noreturn void fail(int line, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
void print_stats_line(unsigned long long collections, unsigned long long pause_max_ns);

/* Text of any length, outside the heap: what str() and print() put together. */
typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;
void text_add(text *t, const char *bytes, size_t length);
void text_number(text *t, double d);

static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
    return x ^ x >> 32;
}
uint64_t hash_bytes(const char *bytes, size_t length); /* never 0 */
