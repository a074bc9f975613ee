/* ast.h - programs of the example JIT's language, as trees: what the parser makes, the checker resolves and the code
   generator compiles.

   After check_program every expression has a type and every name is resolved, so that the generator looks nothing up.
   The checker also rewrites what has a simpler form, so that the generator sees little:
     for              a block with a while whose step is set
     x += e           an assignment; the parts of a field or element are evaluated once, into hidden locals
     print(a, b)      calls of native functions, as are all operations on strings other than reading a byte or the length
     f as a value     a delegate of a small function made for it, which ignores its receiver
     fn(x: int) {...} as a value: a delegate of a method of a hidden class, whose fields hold the captured variables

   Everything is in an arena, which lives as long as the code; nothing of it is in the collected heap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct position {
    int line, column; /* from 1; 0: not in the source */
} position;

typedef struct type type;
typedef struct object_class object_class;
typedef struct function function;
typedef struct expression expression;
typedef struct statement statement;

/* Types are unique: equal types are the same pointer. References come last. */
typedef enum type_kind {
    TYPE_UNKNOWN, /* of what the checker has found an error in */
    TYPE_VOID,    /* of functions without a result, and of statements in the form of calls */
    TYPE_INT,     /* 64 bits; arithmetic wraps */
    TYPE_FLOAT,   /* 64 bits */
    TYPE_BOOL,
    TYPE_NULL, /* of the constant null where no other type is known: null == null */
    TYPE_STRING,
    TYPE_ARRAY,
    TYPE_CLASS,
    TYPE_FUNCTION /* of delegates: a function with its receiver, an object of the heap */
} type_kind;

struct type {
    type_kind kind;
    const char *name;             /* as the program writes it */
    const type *element;          /* of an array */
    const object_class *of_class; /* of a class */
    const type *result;           /* of a function; void_type: none */
    const type **parameters;      /* of a function, without the receiver */
    int parameter_count;
    const type *next; /* of the types made so far */
};

static inline bool type_is_reference(const type *t) { return t->kind >= TYPE_NULL; }

extern const type *const void_type, *const int_type, *const float_type, *const bool_type;
extern const type *const null_type, *const string_type;

/* Objects. An instance begins with a gc_object; each field has 8 bytes, also a bool. An array begins with a gc_array; each
   element has 8 bytes. A string begins with a gc_array; its elements are bytes. */
#define OBJECT_HEADER_BYTES 8
#define FIELDS_MAX 63

typedef struct field {
    const char *name;
    const type *type;
    position at;
    int offset; /* bytes from the start of the object */
    const struct type_written *type_written;
    struct field *next;
} field;

struct object_class {
    const char *name;
    const type *type;
    position at;
    field *fields;
    int field_count;
    int instance_bytes;
    function *methods;
    bool is_hidden;     /* made by the checker, for a function with captured variables */
    void *host;         /* the generator's */
    object_class *next; /* in the order of the source; the hidden ones follow */
};

/* Parameters of a function, without the receiver: so that all of them are passed in registers. */
#define PARAMETERS_MAX 5

/* A parameter or variable of a function. */
typedef struct local {
    const char *name;
    const type *type;
    int index;        /* from 0; parameters come first, and `this` before them */
    bool is_hidden;   /* made by the checker */
    position at;      /* of its declaration: the start of its scope */
    position end;     /* the end of its scope */
    bool is_captured; /* a function inside this one has a copy, so there are no assignments */
    int assignments;  /* after the declaration: 0 means that it is constant */
    struct local *next;
} local;

struct function {
    const char *name;
    const char *full_name;  /* as reports say it: main, Test.reflect, main.fn1 */
    object_class *of_class; /* of a method; NULL */
    const type *type;       /* without the receiver */
    position at, end;
    local *locals; /* by index */
    int local_count;
    int parameter_count; /* the first locals; with the receiver, if there is one */
    bool has_receiver;   /* locals[0] is `this`, which is never null, or, if it is hidden, null */
    bool is_hidden;      /* made by the checker, for a function as a value */
    int native;          /* of a declaration "native": a native_number; else -1 */
    statement *body;     /* a block; NULL: it is native */
    void *host;          /* the generator's */
    function *next;      /* in program.functions; or of the methods of a class */
    function *next_compiled;
    const struct type_written *type_written;
    function *as_value; /* made by the checker, if the function is used as a value */
};

/* Native functions: implemented by the runtime, as native_NAME. The first ones are called by what the checker rewrites, or
   by a builtin; programs declare the others: "native sleep(ms: int);". A null string is like an empty one to them, except that
   equal tells them apart, and write_string writes "null". */
#define NATIVES(X)                                                                                            \
    X(write_int, "fn(int)")                                                                                   \
    X(write_float, "fn(float)")                                                                               \
    X(write_bool, "fn(bool)")                                                                                 \
    X(write_string, "fn(string)")                                                                             \
    X(concat, "fn(string, string): string")                                                                   \
    X(compare, "fn(string, string): int") /* negative, 0 or positive */                                       \
    X(equal, "fn(string, string): bool")                                                                      \
    X(int_to_string, "fn(int): string")                                                                       \
    X(float_to_string, "fn(float): string")                                                                   \
    X(bool_to_string, "fn(bool): string")                                                                     \
    X(char_to_string, "fn(int): string")         /* a string of one byte, the low 8 bits */                   \
    X(substring, "fn(string, int, int): string") /* from, and the end; a bounds error if they are outside */  \
    X(arg, "fn(int, int): int")                  /* the command line's argument i; otherwise the second */    \
    X(fail, "fn(string)")                        /* ends the program as a runtime error does */               \
    X(new_thread, "fn(fn(int): int)") /* a thread that will call the delegate; native code forgets nothing */ \
    X(join_threads, "fn()")           /* waits until all of them have ended */                                \
    X(sleep, "fn(int)")               /* milliseconds */                                                      \
    X(collect, "fn()")                /* a complete collection, which moves what can move */                  \
    X(collections, "fn(): int")       /* how many there have been */                                          \
    X(clock_ns, "fn(): int")

typedef enum native_number {
#define X(name, type) NATIVE_##name,
    NATIVES(X)
#undef X
        NATIVE_COUNT,
    NATIVE_FIRST_DECLARED = NATIVE_new_thread
} native_number;

typedef enum unary_op {
    UNARY_NEGATE,     /* int or float */
    UNARY_COMPLEMENT, /* int */
    UNARY_NOT,        /* bool */
    UNARY_TO_FLOAT,   /* int to float */
    UNARY_TO_INT,     /* float to int, towards 0; what does not fit becomes the least int */
    UNARY_SQRT        /* float */
} unary_op;

/* Both operands have one type, or one is null and the other a reference. */
typedef enum binary_op {
    BINARY_ADD, /* int or float, also the next three */
    BINARY_SUBTRACT,
    BINARY_MULTIPLY,
    BINARY_DIVIDE,    /* int: towards 0, an error by 0, and the least int / -1 is the least int */
    BINARY_REMAINDER, /* int: likewise; the least int % -1 is 0 */
    BINARY_AND_BITS,  /* int, also the next four */
    BINARY_OR_BITS,
    BINARY_XOR_BITS,
    BINARY_SHIFT_LEFT,  /* by the count's low 6 bits */
    BINARY_SHIFT_RIGHT, /* keeps the sign */
    BINARY_EQUAL,       /* int, float, bool, reference: the same object; strings that are compared are calls of equal */
    BINARY_NOT_EQUAL,
    BINARY_LESS, /* int or float, also the next three; false if one is no number */
    BINARY_LESS_EQUAL,
    BINARY_GREATER,
    BINARY_GREATER_EQUAL,
    BINARY_AND, /* bool: the right operand is evaluated if it decides */
    BINARY_OR
} binary_op;

/* Operands are evaluated from left to right. Only statements assign, so a local does not change within an expression. */
typedef enum expression_kind {
    EXPRESSION_INT,           /* int_value */
    EXPRESSION_FLOAT,         /* float_value */
    EXPRESSION_BOOL,          /* int_value */
    EXPRESSION_STRING,        /* text, text_bytes */
    EXPRESSION_NULL,          /* its type is the type of what it is compared with or stored to */
    EXPRESSION_LOCAL,         /* local */
    EXPRESSION_FIELD,         /* left . field; an error if left is null */
    EXPRESSION_ELEMENT,       /* left [right], of an array, or a byte of a string; an error if null or out of bounds */
    EXPRESSION_LENGTH,        /* of left, an array or a string; an error if null */
    EXPRESSION_UNARY,         /* op left */
    EXPRESSION_BINARY,        /* left op right */
    EXPRESSION_CALL,          /* function (arguments); of a method, the receiver is first; an error if that is null */
    EXPRESSION_CALL_NATIVE,   /* native (arguments) */
    EXPRESSION_CALL_DELEGATE, /* left (arguments); an error if left is null */
    EXPRESSION_NEW,           /* an object of type->of_class; the arguments are its first fields, other fields are 0 */
    EXPRESSION_NEW_ARRAY,     /* of left elements, all 0; an error if negative or too large */
    EXPRESSION_DELEGATE, /* of function, with left as its receiver; left is null if the receiver is hidden; else an error */
    EXPRESSION_KEEP_ALIVE, /* uses left, and does nothing */

    /* Only before the checker. */
    EXPRESSION_NAME,     /* text */
    EXPRESSION_MEMBER,   /* left . text */
    EXPRESSION_INVOKE,   /* left (arguments) */
    EXPRESSION_NEW_TYPE, /* new type_written (arguments) */
    EXPRESSION_FUNCTION  /* function */
} expression_kind;

struct expression {
    expression_kind kind;
    int op; /* unary_op or binary_op */
    const type *type;
    position at; /* of the operator or the opening parenthesis, otherwise of the start */
    expression *left, *right;
    expression *arguments; /* linked by next */
    int argument_count;
    native_number native;
    union {
        int64_t int_value;
        double float_value;
        local *local;
        const field *field;
        function *function;
        size_t text_bytes;
    };
    const char *text; /* of a string without its end's 0; of a name with it */
    const struct type_written *type_written;
    expression *next;
};

typedef enum statement_kind {
    STATEMENT_BLOCK,    /* first, linked by next */
    STATEMENT_VARIABLE, /* local = value: where its scope starts, each time control comes here */
    STATEMENT_ASSIGN,   /* target = value; target: a local, a field or an element of an array, whose parts are evaluated
                             before the value, but checked after it */
    STATEMENT_EXPRESSION, /* value; its result, if any, is dropped */
    STATEMENT_IF,         /* if (value) body; else otherwise, unless that is NULL */
    STATEMENT_WHILE,      /* while (value) body; continue goes to step, unless that is NULL, and then to the value */
    STATEMENT_RETURN,     /* value; NULL if there is none */
    STATEMENT_BREAK,      /* of the innermost while */
    STATEMENT_CONTINUE,
    STATEMENT_FOR /* only before the checker: first; value; step; body */
} statement_kind;

struct statement {
    statement_kind kind;
    int op; /* before the checker: the binary_op of an assignment, or -1 */
    position at;
    position end; /* of a block: the closing brace */
    local *local;
    const struct type_written *type_written;
    expression *target, *value;
    statement *first; /* of a block, and of a for */
    statement *body, *otherwise;
    statement *step;
    statement *next;
};

typedef struct program {
    const char *path;
    object_class *classes;
    function *functions; /* top-level functions, by next */
    function *compiled;  /* every function that has code, methods and hidden ones too, by next_compiled */
    function *main;      /* without parameters or a result */
} program;

/* Parses and checks a file. On failure prints messages, "FILE:LINE:COLUMN: error: what was expected", and returns NULL. A
   function that returns a value ends by returning, as the checker has made sure. */
program *program_read(const char *path);
/* Prints the checked program, as the generator sees it. */
void program_print(const program *p);
/* Frees everything that program_read has made. */
void program_free(program *p);
