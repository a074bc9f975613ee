/* compile.h - what the three stages of compilation share: expand.c turns a datum into nodes, compile.c decides where
   variables live and writes instructions, vm.c runs them. Nodes are malloc'ed and hold no references: variables are
   known by symbol id, constants by literal index. */
#pragma once

#include "scheme.h"

/* Instructions are 32-bit words, the opcode in the low 8 bits, a signed operand above. */
/* clang-format off */
#define OPCODES(X) \
    X(IMMEDIATE) X(LITERAL) X(LOCAL) X(LOCAL_CHECKED) X(LOCAL_BOX) X(CAPTURE) X(CAPTURE_BOX) X(GLOBAL) \
    X(SET_LOCAL) X(SET_LOCAL_BOX) X(SET_CAPTURE_BOX) X(SET_GLOBAL) X(DEFINE) X(BOX_LOCAL) X(POP) X(SLIDE) \
    X(JUMP) X(JUMP_IF_FALSE) X(JUMP_IF_TRUE) X(JUMP_OR_POP) X(JUMP_UNLESS_PAIR) X(JUMP_UNLESS_NULL) \
    X(JUMP_UNLESS_EQ) X(JUMP_UNLESS_LESS) X(JUMP_UNLESS_NUMBER_EQUAL) X(JUMP_UNLESS_GREATER) \
    X(JUMP_UNLESS_LESS_EQUAL) X(JUMP_UNLESS_GREATER_EQUAL) X(LOOP) X(CLOSURE) X(PATCH) X(CALL) X(TAIL_CALL) \
    X(CALL_GLOBAL) X(TAIL_CALL_GLOBAL) X(RETURN) X(ESCAPE_NEW) X(CAR) X(CDR) X(CADR) X(CONS) X(SET_CAR) \
    X(SET_CDR) X(ADD) X(SUBTRACT) X(MULTIPLY) X(ADD_IMMEDIATE) X(QUOTIENT) X(REMAINDER) X(NUMBER_EQUAL) \
    X(LESS) X(GREATER) X(LESS_EQUAL) X(GREATER_EQUAL) X(EQ) X(EQV) X(NOT) X(IS_NULL) X(IS_PAIR) X(VECTOR_REF) \
    X(VECTOR_SET) X(STRING_REF) X(RECORD_REF) X(RECORD_SET)
/* clang-format on */

enum {
    OP_HALT, /* returns from vm_resume; no compiled procedure contains it */
#define OPCODE_NAME(name) OP_##name,
    OPCODES(OPCODE_NAME)
#undef OPCODE_NAME
        OPCODE_COUNT
};

static inline uint32_t instruction(int opcode, int32_t operand) { return (uint32_t)operand << 8 | (uint32_t)opcode; }
static inline int32_t operand_of(uint32_t word) { return (int32_t)word >> 8; }

/* A compiled lambda expression. Immortal: closures and return addresses point here. */
struct code {
    uint32_t *instructions;
    uint32_t *lines; /* of each instruction */
    uint32_t length;
    uint32_t parameters; /* the rest parameter included */
    bool rest;
    uint32_t slots; /* the most that it pushes above its frame */
    uint32_t file;
    uint32_t name;   /* symbol id, or NO_NAME */
    code **children; /* operands of OP_CLOSURE */
    code *next;      /* all code there is, from machine.codes */
};

#define NO_NAME UINT32_MAX
#define FRAME_SLOTS 3 /* closure, return pc, caller's fp: between the arguments and fp */

typedef struct node node;
typedef struct function function;
typedef struct loop loop;

typedef struct variable {
    uint32_t name;
    bool assigned, captured;
    bool boxed;   /* lives in a box: captured, and changed (or captured before its first value is there) */
    bool pending; /* while analysing: its initial value is not there yet */
    bool run;     /* while analysing: belongs to the group of lambdas being created together */
    int32_t slot; /* relative to fp */
    function *owner;
    loop *loop; /* it names a named let, or NULL */
} variable;

/* A named let. It becomes a jump, not a closure, if its name is only ever called, from tail positions of its body. */
struct loop {
    variable *name;
    uint32_t depth;
    uint32_t arguments;
    uint32_t opened_at, used_at; /* on the expander's clock of uses */
    bool escapes;
    uint32_t label;
    int32_t base; /* its first variable's slot */
    loop *outer;
};

struct function {
    function *outer;
    uint32_t name;
    variable **parameters;
    uint32_t parameters_count;
    bool rest;
    node *body;
    variable **captures;
    uint32_t captures_count, captures_capacity;
};

enum node_kind {
    NODE_IMMEDIATE,
    NODE_LITERAL,
    NODE_LOCAL,
    NODE_GLOBAL,
    NODE_SET_LOCAL,
    NODE_SET_GLOBAL,
    NODE_DEFINE,
    NODE_IF,
    NODE_OR,
    NODE_SEQUENCE,
    NODE_LAMBDA,
    NODE_CALL,
    NODE_OPERATION,
    NODE_LET,
    NODE_LETREC,
    NODE_LOOP
};

struct node {
    enum node_kind kind;
    uint32_t line;
    union {
        value immediate;
        uint32_t index; /* LITERAL; GLOBAL */
        struct {
            variable *variable;
            bool checked;
        } local;
        struct {
            variable *variable;
            uint32_t global;
            node *value;
        } set; /* SET_LOCAL, SET_GLOBAL, DEFINE */
        struct {
            node *test, *then, *otherwise;
        } branch; /* IF; OR is test, otherwise */
        struct {
            node **items;
            uint32_t count;
            int opcode;
            node *callee;
        } list;             /* SEQUENCE, CALL, OPERATION */
        function *function; /* LAMBDA */
        struct {
            variable **variables;
            node **values;
            uint32_t count;
            node *body;
        } let; /* LET, LETREC */
        struct {
            loop *loop;
            function *function;
            node **values;
            uint32_t count;
        } loop; /* LOOP */
    };
};

/* arena: what one compilation allocates, freed at once. */
void *arena_allocate(machine *m, size_t bytes);
void arena_reset(machine *m);

/* expand.c: one expansion, and where in it. */
typedef struct environment {
    variable *variable;
    struct environment *outer;
} environment;

typedef struct expander {
    machine *m;
    uint32_t file;
    loop *loops; /* those whose bodies are being expanded, innermost first */
    uint32_t loops_depth;
    uint32_t loop_uses; /* so far: a clock */
    uintptr_t stack;    /* about where the native stack was when it began */
} expander;

typedef struct scope {
    environment *variables;
    uint32_t line;
    uint32_t jump_depth; /* loops at least this deep can be continued by a jump from here */
    bool top;            /* definitions here are global */
} scope;

/* The symbols that the expander knows, which have these ids. */
/* clang-format off */
#define FORMS(X) \
    X(QUOTE, "quote", quote, 2, 2) X(IF, "if", if, 3, 4) X(DEFINE, "define", define, 2, 0) \
    X(SET, "set!", set, 3, 3) X(LAMBDA, "lambda", lambda, 3, 0) X(BEGIN, "begin", begin, 1, 0) \
    X(LET, "let", let, 3, 0) X(LET_STAR, "let*", let_star, 3, 0) X(LETREC, "letrec", letrec, 3, 0) \
    X(LETREC_STAR, "letrec*", letrec, 3, 0) X(AND, "and", and, 1, 0) X(OR, "or", or, 1, 0) \
    X(WHEN, "when", when, 2, 0) X(UNLESS, "unless", when, 2, 0) X(COND, "cond", cond, 2, 0) \
    X(CASE, "case", case, 3, 0) X(DO, "do", do, 3, 0) X(QUASIQUOTE, "quasiquote", quasiquote, 2, 2) \
    X(GUARD, "guard", guard, 3, 0) X(RECEIVE, "receive", receive, 4, 0) \
    X(LET_VALUES, "let-values", let_values, 3, 0) X(LET_STAR_VALUES, "let*-values", let_values, 3, 0) \
    X(DELAY, "delay", delay, 2, 2) X(RECORD_TYPE, "define-record-type", record_type, 3, 0) \
    X(DEFINE_SYNTAX, "define-syntax", define_syntax, 1, 0) X(ESCAPE_NEW, "%escape-new", escape_new, 1, 1)
/* clang-format on */
enum {
#define FORM_ID(id, name, function, min, max) FORM_##id,
    FORMS(FORM_ID)
#undef FORM_ID
        FORM_COUNT,
    KEYWORD_ELSE = FORM_COUNT,
    KEYWORD_ARROW,
    KEYWORD_UNQUOTE,
    KEYWORD_UNQUOTE_SPLICING,
    KEYWORD_APPEND,
    KEYWORD_LIST_TO_VECTOR,
    KEYWORD_GUARD,
    KEYWORD_RAISE_CONTINUABLE,
    KEYWORD_CALL_WITH_VALUES,
    KEYWORD_MAKE_PROMISE,
    KEYWORD_MAKE_RECORD_TYPE,
    KEYWORD_MAKE_RECORD,
    KEYWORD_IS_RECORD,
    OPERATION_FIRST, /* then those of expand.c's table, of which others need to know two */
    KEYWORD_RECORD_REF = OPERATION_FIRST,
    KEYWORD_RECORD_SET
};
#define FORM_DECLARE(id, name, function, min, max) node *expand_##function(expander *x, value form, scope s);
FORMS(FORM_DECLARE)
#undef FORM_DECLARE

node *expand_datum(machine *m, value datum, uint32_t *file, uint32_t line);
void expand_init(machine *m);
node *expand(expander *x, value form, scope s);
node *expand_sequence(expander *x, value forms, scope s);
node *expand_body(expander *x, value forms, scope s);
node *expand_function(expander *x, value parameters, value body, scope s, uint32_t name);
node *expand_constant(expander *x, value v, scope s);
bool expand_is_keyword(value v, uint32_t id, scope s); /* the symbol with that id, not bound to a variable here */
void expand_check_depth(expander *x, scope s);         /* to be called by what recurses along a form */
_Noreturn void expand_fail(expander *x, scope s, const char *form, const char *problem);
value expand_record_definitions(expander *x, value form, scope s);
node *expand_local(expander *x, variable *v, scope s);

node *node_new(expander *x, enum node_kind kind, scope s);
node *node_if(expander *x, node *test, node *then, node *otherwise, scope s);
node *node_call(expander *x, node *callee, uint32_t count, scope s); /* its items are still to be filled in */
node *node_call_global(expander *x, uint32_t id, uint32_t count, scope s);
node *node_operation(expander *x, int opcode, node *a, node *b, scope s);
node *node_let(expander *x, variable *v, node *value, node *body, scope s);
node *node_none(expander *x, scope s);
variable *variable_new(expander *x, uint32_t name);
scope scope_with(expander *x, scope s, variable *v);
/* Where the value is used by what follows, so that no loop can be continued. */
static inline scope scope_inner(expander *x, scope s) {
    s.jump_depth = x->loops_depth + 1;
    s.top = false;
    return s;
}
loop *loop_open(expander *x, uint32_t name, uint32_t arguments);
void loop_use(expander *x, loop *l);
node *loop_close(expander *x, loop *l, function *f, node **values, scope s);
