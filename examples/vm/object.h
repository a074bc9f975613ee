/* object.h - what lies on the heap. */
#pragma once

#include "value.h"

typedef enum kind {
    KIND_STRING,
    KIND_FUNCTION,
    KIND_NATIVE,
    KIND_CLOSURE,
    KIND_UPVALUE,
    KIND_CLASS,
    KIND_INSTANCE,
    KIND_BOUND,
    KIND_ARRAY,
    KIND_TABLE,
    KIND_COROUTINE,
    KIND_COUNT
} kind;

/* The header of every object. */
struct object {
    uint32_t kind;
    bool is_marked;
    object *next; /* in the list of all objects */
};

/* Strings are interned: two that have the same bytes are one object. */
typedef struct string {
    object header;
    size_t length;
    uint32_t hash;
    char bytes[]; /* with a 0 behind them */
} string;

/* A buffer of values that belongs to one object. */
typedef struct values {
    size_t length;
    value items[];
} values;

/* A hash table: pairs of key and value in one buffer. A place that was never used has the key ABSENT, a removed one NIL. */
typedef struct map {
    values *pairs;
    size_t count; /* of pairs in use */
    size_t used;  /* those, and removed ones */
} map;

/* The code of a function, as the compiler has made it. */
typedef struct function {
    object header;
    string *name;
    uint8_t *code;
    int *lines; /* one for each byte of code */
    value *constants;
    int code_count, code_capacity, constant_count, constant_capacity;
    int arity, upvalue_count;
    int stack_size; /* how many values a call needs at most */
} function;

/* Leaves its result in arguments[-1]. False: it has failed, and vm.error says how. */
typedef bool (*native_call)(int count, value *arguments);

typedef struct native {
    object header;
    const char *name;
    int arity; /* -1: any number of arguments */
    native_call call;
} native;

/* A variable that a closure has captured: open while the variable is on a stack, then closed. */
typedef struct upvalue {
    object header;
    value *location;
    value closed;
    struct upvalue *next;      /* of the same coroutine, further down */
    struct coroutine *running; /* while it is open, the coroutine on whose stack the variable is */
} upvalue;

typedef struct closure {
    object header;
    size_t length; /* of upvalues */
    function *function;
    upvalue *upvalues[];
} closure;

typedef struct class {
    object header;
    string *name;
    struct class *base;
    map methods;
} class;

typedef struct instance {
    object header;
    class *class;
    map fields;
} instance;

/* A method together with the instance that it was taken from. */
typedef struct bound {
    object header;
    value receiver;
    closure *method;
} bound;

typedef struct array {
    object header;
    values *values;
    size_t count;
} array;

typedef struct table {
    object header;
    map map;
} table;

typedef struct frame {
    closure *closure;
    const uint8_t *ip;
    value *slots; /* on the stack: the function or the receiver, the arguments, then variables */
} frame;

typedef enum state { STATE_NEW, STATE_SUSPENDED, STATE_RUNNING, STATE_DONE } state;

/* The main program is a coroutine, too. */
typedef struct coroutine {
    object header;
    value *stack, *top, *limit;
    frame *frames;
    int frame_count, frame_capacity;
    upvalue *open;             /* innermost first */
    struct coroutine *resumer; /* who waits for it */
    state state;
    bool catches; /* an error ends here, and its resumer gets it as a value */
} coroutine;

static inline kind kind_of(value v) { return (kind)((object *)object_of(v))->kind; }
static inline bool is_kind(value v, kind k) { return is_object(v) && kind_of(v) == k; }
