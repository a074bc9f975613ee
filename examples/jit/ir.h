/* ir.h - what code is generated from: one list of instructions per function, over values. A value is a variable of the
   program, or a temporary; it may be assigned more than once. lower.c makes the list from the tree, flow.c finds out where
   values are live and gives each one a home, generate.c writes machine code. */
#pragma once

#include "ast.h"

typedef enum value_class { CLASS_INT, CLASS_FLOAT, CLASS_REF, CLASS_PINNED } value_class;

static inline bool class_is_reference(value_class class) { return class >= CLASS_REF; }

/* Delegates stay where they are while a variable holds them: so their addresses can be given to native code. */
static inline value_class class_of(const type *t) {
    return t->kind == TYPE_FLOAT      ? CLASS_FLOAT
           : t->kind == TYPE_FUNCTION ? CLASS_PINNED
           : type_is_reference(t)     ? CLASS_REF
                                      : CLASS_INT;
}

/* What an instruction does to the registers that a call need not preserve. */
typedef enum ir_effect {
    EFFECT_NONE,
    EFFECT_CLOBBERS, /* calls the barrier, which changes them */
    EFFECT_CALLS,    /* a safe point */
    EFFECT_ALLOCATES /* a safe point, unless the thread's window has room; its arguments are used after it */
} ir_effect;

/* Operands are values: a, b, c, and the result `to`. If has_constant, `constant` takes the place of the last of them. */
/* clang-format off */
#define IR_OPS(X) \
    X(CONSTANT, NONE)         /* to = constant; of any class */ \
    X(STRING, NONE)           /* to = literal number constant */ \
    X(MOVE, NONE)             /* to = a */ \
    X(ADD, NONE) X(SUBTRACT, NONE) X(MULTIPLY, NONE) X(AND, NONE) X(OR, NONE) X(XOR, NONE)  /* to = a op b */ \
    X(SHIFT_LEFT, NONE) X(SHIFT_RIGHT, NONE) X(DIVIDE, NONE) X(REMAINDER, NONE) \
    X(NEGATE, NONE) X(COMPLEMENT, NONE) /* to = op a */ \
    X(SET, NONE)              /* to = a condition b */ \
    X(FLOAT_ADD, NONE) X(FLOAT_SUBTRACT, NONE) X(FLOAT_MULTIPLY, NONE) X(FLOAT_DIVIDE, NONE) X(FLOAT_SQRT, NONE) \
    X(FLOAT_NEGATE, NONE) X(TO_FLOAT, NONE) X(TO_INT, NONE) \
    X(LABEL, NONE) X(JUMP, NONE) \
    X(BRANCH, NONE)           /* to the label if a condition b */ \
    X(FLOAT_BRANCH, NONE) \
    X(CHECK_NULL, NONE)       /* ends the program if a is null */ \
    X(CHECK_INDEX, NONE)      /* ends it unless 0 <= b < length of a */ \
    X(LOAD, NONE)             /* to = [a + offset] */ \
    X(LOAD_ELEMENT, NONE)     /* to = [a + header + b * 8] */ \
    X(LOAD_BYTE, NONE)        /* to = the byte at [a + header + b] */ \
    X(STORE, NONE)            /* [a + offset] = b */ \
    X(STORE_ELEMENT, NONE)    /* [a + header + b * 8] = c */ \
    X(STORE_REF, CLOBBERS) X(STORE_ELEMENT_REF, CLOBBERS) /* the same with the write barrier */ \
    X(NEW, ALLOCATES)         /* to = an object of a class; its first fields = arguments */ \
    X(NEW_DELEGATE, ALLOCATES) /* to = a delegate of a function, with argument 0 as its receiver */ \
    X(NEW_ARRAY, ALLOCATES)   /* to = an array of `element`, with argument 0 as its length */ \
    X(CALL, CALLS) X(CALL_NATIVE, CALLS) X(CALL_DELEGATE, CALLS) /* to = callee (arguments); a is the delegate */ \
    X(POLL, CALLS)            /* a safe point that costs little; --polls puts one into each loop */ \
    X(KEEP_ALIVE, NONE)       /* uses a */ \
    X(RETURN, NONE)           /* a */
/* clang-format on */

typedef enum ir_op {
#define X(name, effect) IR_##name,
    IR_OPS(X)
#undef X
        IR_OP_COUNT
} ir_op;

typedef struct ir {
    ir_op op;
    int to, a, b, c; /* values; -1: none */
    bool has_constant;
    uint8_t condition; /* asm_condition */
    uint8_t float_op;  /* asm_float */
    int label;
    int offset;
    int64_t constant;
    int *arguments; /* values */
    int argument_count;
    int line;
    union {
        const object_class *of_class;
        const function *callee;
        const type *element;
        native_number native;
    };
} ir;

typedef enum home_place { HOME_NONE, HOME_REGISTER, HOME_VECTOR, HOME_STACK } home_place;

/* Where a value is as long as it is live. */
typedef struct ir_home {
    home_place place;
    int number; /* of the register, or of the word on the stack */
} ir_home;

/* Positions: instruction i reads its operands at 2i, and writes its result at 2i + 1. */
typedef struct ir_value {
    value_class class;
    const local *variable; /* NULL: a temporary */
    bool is_literal;       /* `literal` in code, wherever it is used; it has no home */
    int64_t literal;
    int start, end; /* the positions between which it may be live */
    bool is_across; /* live across a call */
    int64_t weight; /* uses, each times 8 per loop around it */
    int hint;       /* a register that would save a move, or -1 */
    int partner;    /* a value whose register would, or -1 */
    ir_home home;
} ir_value;

/* One function while it is compiled. */
typedef struct ir_function {
    const function *source;
    bool is_debug;
    bool has_polls;
    ir *code;
    uint32_t count, room;
    ir_value *values; /* those of the locals first */
    uint32_t value_count, value_room;
    int label_count;

    /* Of flow_analyze. */
    uint32_t words;       /* of a set of values */
    uint64_t *live_after; /* words for each instruction */
    uint64_t *live_entry; /* when the function starts */
    bool *interruptible;  /* for each instruction */
    int *depth;           /* for each instruction: of loops around it */
    uint32_t stack_words; /* of homes */
    uint32_t preserved;   /* registers that must be saved: bit i is register i */
    bool calls;           /* it is no leaf */

    uint32_t *offsets; /* where the code of each instruction begins: of the generator */
} ir_function;

static inline bool set_has(const uint64_t *set, int i) { return set[i >> 6] >> (i & 63) & 1; }
static inline void set_add(uint64_t *set, int i) { set[i >> 6] |= (uint64_t)1 << (i & 63); }
static inline void set_remove(uint64_t *set, int i) { set[i >> 6] &= ~((uint64_t)1 << (i & 63)); }

ir_effect ir_effect_of(ir_op op);
/* Calls `each` for the values that the instruction reads, but for literals. `late`: it may read the value after a call in
   it. */
void ir_each_use(const ir_function *f, const ir *i, void (*each)(void *context, int value, bool late), void *context);

/* Makes the list. `literal` numbers the strings of the program. */
void lower(ir_function *f, const function *source, int (*literal)(const char *text, size_t bytes));
/* Fills in what is said to be its part above, and the homes of values. */
void flow_analyze(ir_function *f);
void ir_free(ir_function *f);
