/* scheme.h - values, objects and the machine of the example Scheme; every file of it includes this.

   How it sits on gc.h, in the order in which an embedder meets it:
     values    one tagged word; GC_VALUE_MASK and GC_VALUE_TAG tell the collector which words are references
     objects   plain structs that begin with a gc_object or gc_array; `types` describes their fields
     roots     the machine's value stack and registers are reported by a callback; C code that holds a value across
               something that may allocate names it in GC_ROOTS_WITH
     barriers  set_field() for every store into an object that may have survived a collection
   A function that takes the machine may allocate, so it may move everything: what was read before is stale after,
   unless it lives in a root. Functions that only look take values. */
#pragma once

#include "collector.h"

#include <setjmp.h>
#include <string.h>

/* A value is one word: xx..00 fixnum (so that zeroed memory reads as 0), xx..01 reference to an object, xx..10 immediate. */
typedef uintptr_t value;

/* Fixnums have 62 bits. */
#define FIXNUM_MAX (INTPTR_MAX >> 2)
#define FIXNUM_MIN (INTPTR_MIN >> 2)
static inline value fixnum(intptr_t n) { return (value)n << 2; }
static inline intptr_t fixnum_of(value v) { return (intptr_t)v >> 2; }
static inline bool is_fixnum(value v) { return (v & 3) == 0; }
static inline bool are_fixnums(value a, value b) { return ((a | b) & 3) == 0; }

/* Immediates: the third and fourth bit tell constants (00) from characters (01). */
#define CONSTANT(n) ((value)(n) << 4 | 2)
enum {
    CONSTANT_FALSE,
    CONSTANT_TRUE,
    CONSTANT_NIL,
    CONSTANT_NONE,
    CONSTANT_EOF,
    CONSTANT_UNDEFINED,
    CONSTANT_DELETED,
    CONSTANT_CALL_AGAIN
};
#define FALSE_VALUE CONSTANT(CONSTANT_FALSE)
#define TRUE_VALUE CONSTANT(CONSTANT_TRUE)
#define NIL CONSTANT(CONSTANT_NIL)
#define NONE CONSTANT(CONSTANT_NONE) /* the value of what has no value */
#define END_OF_FILE CONSTANT(CONSTANT_EOF)
#define UNDEFINED CONSTANT(CONSTANT_UNDEFINED)   /* a variable before its definition; never seen by programs */
#define DELETED CONSTANT(CONSTANT_DELETED)       /* the key of a removed table entry; never seen by programs */
#define CALL_AGAIN CONSTANT(CONSTANT_CALL_AGAIN) /* a primitive's answer: make the call that is now on the stack */
static inline value boolean(bool b) { return b ? TRUE_VALUE : FALSE_VALUE; }
static inline value character(uint32_t c) { return (value)c << 4 | 6; }
static inline bool is_character(value v) { return (v & 15) == 6; }
static inline uint32_t character_of(value v) { return (uint32_t)(v >> 4); }

/* Objects. Their kinds index `types`; the two kinds of pairs are neighbours so that one comparison finds both. */
enum {
    KIND_PAIR,
    KIND_SOURCE_PAIR,
    KIND_FLONUM,
    KIND_STRING,
    KIND_SYMBOL,
    KIND_VECTOR,
    KIND_CLOSURE,
    KIND_PRIMITIVE,
    KIND_ESCAPE,
    KIND_BOX,
    KIND_TABLE,
    KIND_RECORD,
    KIND_RECORD_TYPE,
    KIND_CONDITION,
    KIND_PORT,
    KIND_VALUES,
    KINDS
};
extern const gc_type types[KINDS];

typedef struct machine machine;
typedef struct code code; /* compiled procedures; compile.h */

typedef struct pair {
    gc_object header;
    value car, cdr;
} pair;

/* A pair that the reader made: it remembers where. */
typedef struct source_pair {
    pair pair;
    uint32_t file, line;
} source_pair;

typedef struct flonum {
    gc_object header;
    double number;
} flonum;

typedef struct string {
    gc_array array;
    char bytes[];
} string;

/* A symbol's id never changes, unlike its address: compiler tables are keyed by it, and it numbers the global
   variable of that name. */
typedef struct symbol {
    gc_object header;
    value name;
    uint64_t hash;
    uint32_t id;
} symbol;

typedef struct vector {
    gc_array array;
    value items[];
} vector;

typedef struct closure {
    gc_array array;
    const code *code;
    value captures[];
} closure;

/* Arguments are on the machine's stack, which is scanned: arguments[i] stays right whatever the primitive allocates. */
typedef value (*primitive_function)(machine *m, value *arguments, uint32_t count);

typedef struct primitive_info {
    const char *name;
    primitive_function function;
    int16_t arguments_min, arguments_max; /* arguments_max -1: any number */
} primitive_info;

typedef struct primitive {
    gc_object header;
    const primitive_info *info;
} primitive;

/* An escape continuation: returning from the frame that made it. It dies when that frame is left. */
typedef struct escape {
    gc_object header;
    value outer; /* the escape that was innermost before this one */
    value handlers;
    size_t frame; /* index of the frame in the machine's stack */
    bool alive;
} escape;

typedef struct box {
    gc_object header;
    value content;
} box;

typedef struct table {
    gc_object header;
    value entries; /* a vector of keys and values in turn; see table.c */
    size_t count;  /* live entries */
    size_t used;   /* live and deleted entries */
    uint64_t collections;
    bool by_content, by_address;
} table;

typedef struct record {
    gc_array array;
    value type;
    value fields[];
} record;

typedef struct record_type {
    gc_object header;
    value name;
    value fields; /* a list of symbols */
} record_type;

typedef struct condition {
    gc_object header;
    value message;
    value irritants;
    value where; /* "file:line", or #f */
} condition;

typedef struct port {
    gc_object header;
    value buffer; /* a string */
    value name;
    FILE *file; /* standard input or output; NULL for what is all in the buffer */
    size_t position, end;
    uint32_t line, file_id;
    bool input;
} port;

/* What (values ...) returns unless it is one value. */
typedef struct values {
    gc_object header;
    value list;
} values;

static inline void *object_of(value v) { return (void *)GC_VALUE_TO_REF(v); }
static inline value value_of(const void *object) { return (value)object + 1; }
static inline bool is_object(value v) { return GC_VALUE_IS_REF(v); }
static inline bool is_kind(value v, int kind) {
    return is_object(v) && ((gc_object *)object_of(v))->type == &types[kind];
}
static inline bool is_pair(value v) {
    return is_object(v) &&
           (uintptr_t)((gc_object *)object_of(v))->type - (uintptr_t)&types[KIND_PAIR] <= sizeof types[0];
}
static inline int kind_of(value v) { return (int)(((gc_object *)object_of(v))->type - types); }

static inline pair *pair_of(value v) { return object_of(v); }
static inline value car(value v) { return pair_of(v)->car; }
static inline value cdr(value v) { return pair_of(v)->cdr; }
static inline value cadr(value v) { return car(cdr(v)); }
static inline value cddr(value v) { return cdr(cdr(v)); }
static inline flonum *flonum_of(value v) { return object_of(v); }
static inline string *string_of(value v) { return object_of(v); }
static inline size_t string_length(value v) { return string_of(v)->array.length; }
static inline symbol *symbol_of(value v) { return object_of(v); }
static inline vector *vector_of(value v) { return object_of(v); }
static inline size_t vector_length(value v) { return vector_of(v)->array.length; }
static inline closure *closure_of(value v) { return object_of(v); }
static inline record *record_of(value v) { return object_of(v); }
static inline port *port_of(value v) { return object_of(v); }

typedef struct text { /* a growing buffer in malloc'ed memory */
    char *bytes;
    size_t length, capacity;
} text;

/* The machine's registers that are roots, beside the stack. */
typedef struct registers {
    value literals;         /* vector: the constants of all code */
    value globals;          /* vector: global variables by symbol id */
    value symbols;          /* vector: symbols by id */
    value symbol_index;     /* vector: symbols by hash */
    value handlers;         /* list of exception handlers, innermost first */
    value winds;            /* list of the after thunks of dynamic-winds, innermost first */
    value escapes;          /* the innermost escape, or NIL */
    value thrown;           /* on its way from a primitive to its handler */
    value memory_exhausted; /* a condition, made beforehand */
    value reserve;          /* memory to handle its exhaustion with: see machine_unwound */
    value output;           /* port: current output */
    value input;
    value arguments; /* the command line */
} registers;

struct machine {
    gc_heap *heap;
    gc_thread *gc;
    value *sp; /* first free slot of the stack: what lies below is scanned */
    value *fp; /* current frame; fp[-1] caller's fp, fp[-2] return pc, fp[-3] closure, below that the arguments */
    const uint32_t *pc;
    value *stack, *stack_end;
    value *stack_limit; /* calls fail beyond; stack_end less a reserve for handling that failure */
    registers r;
    size_t literals_count, symbols_count;
    uint64_t collections; /* so far; a table hashed by address is stale when this has changed */
    jmp_buf recover;
    uint32_t call_count; /* with CALL_AGAIN: how many arguments the call to be made has */
    void *loop;          /* the frame of the C function that runs instructions */
    bool running;        /* errors go to Scheme handlers, not straight to the user */
    bool interactive;
    char **files; /* names of source files by id; 0 is the prelude */
    uint32_t files_count;
    struct arena *arena;
    code *codes;        /* all of them, newest first */
    text token;         /* scratch of the reader and of printing */
    uint64_t redefined; /* bit i: the global of operation i no longer is what its instruction does; see expand.c */
    uint64_t start_ns;
    bool stats;
};

#define EQUAL_DEPTH_MAX 10000
enum { RECOVER_RAISE = 1, RECOVER_ABORT = 2 }; /* what longjmp(recover) brings */

/* Stores. An object that was just made, with no allocation since, may be filled by plain assignment. */
static inline void set_field(machine *m, value *slot, value v) { gc_store_value(m->gc, slot, v); }

/* error.c */
_Noreturn void error_throw(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
_Noreturn void error_throw_at(machine *m, uint32_t file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
_Noreturn void error_throw_value(machine *m, value v) __attribute__((cold));
_Noreturn void error_argument(machine *m, const char *who, uint32_t index, const char *expected, value got)
    __attribute__((cold));
_Noreturn void error_range(machine *m, const char *who, intptr_t index, size_t length) __attribute__((cold));
_Noreturn void error_memory(machine *m) __attribute__((cold));
_Noreturn void error_abort(machine *m, value v) __attribute__((cold)); /* reports to the user, back to the top level */
bool error_where(machine *m, char *buffer, size_t bytes);
/* Runs body(m, context) with errors handled: in Scheme if that is running, else reported. false: it was reported. */
bool error_protect(machine *m, value (*body)(machine *m, void *context), void *context, value *result);

/* The result of an allocation, which is never NULL afterwards. */
static inline void *checked(machine *m, void *object) {
    if (__builtin_expect(object == NULL, 0)) error_memory(m);
    return object;
}
static inline void *make(machine *m, int kind) { return checked(m, gc_new(m->gc, &types[kind])); }
static inline void *make_array(machine *m, int kind, size_t length) {
    return checked(m, gc_new_array(m->gc, &types[kind], length));
}

static inline value make_flonum(machine *m, double number) {
    flonum *f = make(m, KIND_FLONUM);
    f->number = number;
    return value_of(f);
}

/* object.c. Those that take values keep them in roots while they allocate. */
value make_pair(machine *m, value car, value cdr);
value make_string(machine *m, const char *bytes, size_t length); /* bytes: not in the heap; NULL: undefined contents */
value make_vector(machine *m, size_t length, value fill);
value make_primitive(machine *m, const primitive_info *info);
value intern(machine *m, const char *bytes, size_t length); /* bytes: not in the heap */
value intern_text(machine *m, const char *text);
value vector_grow(machine *m, value v, size_t length); /* a copy, at least that long */
uint32_t literal_add(machine *m, value v);
uint64_t hash_bytes(const char *bytes, size_t length);
bool is_list(value v);
size_t list_length(value v);
bool is_eqv(value a, value b);
bool is_equal(value a, value b);

/* machine.c */
void profile_init(machine *m); /* before the heap is made: profile.c */
void machine_init(machine *m, const gc_options *options);
void machine_destroy(machine *m);
void machine_push(machine *m, value v);
_Noreturn void machine_overflow(machine *m) __attribute__((cold)); /* the stack is at its limit */
void machine_unwound(machine *m); /* to be called when the stack has become shorter than by returning */
static inline value machine_pop(machine *m) { return *--m->sp; }
value machine_list(machine *m, size_t count); /* pops the top `count` values and returns the list of them */
_Noreturn void machine_exit(machine *m, int status);
void machine_define(machine *m, const primitive_info *infos, size_t count);
value *machine_global(machine *m, uint32_t id);

/* vm.c */
value vm_call(machine *m, uint32_t count);   /* the procedure is on top of the stack, its arguments below */
value vm_resume(machine *m, uint32_t count); /* the same call, made by the frame that m->pc and m->fp tell */

/* read.c */
value read_datum(machine *m, value port,
                 bool located); /* END_OF_FILE at the end; located: pairs remember their lines */

/* print.c. None of these allocates on the heap. */
void text_add(text *t, const char *bytes, size_t length);
void text_free(text *t);
void print_value(text *t, value v, bool write);
size_t print_character_bytes(uint32_t c, char *out);   /* at most 4 */
void print_brief(char *buffer, size_t bytes, value v); /* as write does, cut short to fit */

/* port.c */
value port_open_file(machine *m, const char *path);
value port_open_string(machine *m, value string, const char *name);
value port_standard(machine *m, FILE *file, bool input);
int port_peek(machine *m, value port); /* -1 at the end */
int port_next(machine *m, value port);
void port_write(machine *m, value port, const char *bytes, size_t length); /* bytes: not in the heap */
uint32_t file_id(machine *m, const char *name);

/* expand.c, compile.c */
/* A thunk that evaluates datum. file, line: where it is from if its pairs do not tell. */
value compile_datum(machine *m, value datum, uint32_t file, uint32_t line);

/* number.c */
bool is_number(value v);
double number_double(value v);              /* of a number */
value number_integer(machine *m, double d); /* fixnum if it fits, else flonum */
value number_add(machine *m, value a, value b);
value number_subtract(machine *m, value a, value b);
value number_multiply(machine *m, value a, value b);
value number_quotient(machine *m, value a, value b);
value number_remainder(machine *m, value a, value b);
int number_compare(machine *m, const char *who, value a, value b); /* -1, 0, 1; 2 with a NaN */
size_t number_format(value v, int radix, char buffer[80]);
bool number_parse(machine *m, const char *bytes, size_t length, int radix, value *result);

/* Argument checks for primitives: index is that of the argument, from 0. */
static inline intptr_t want_fixnum(machine *m, const char *who, value *arguments, uint32_t index) {
    if (!is_fixnum(arguments[index])) error_argument(m, who, index, "an exact integer", arguments[index]);
    return fixnum_of(arguments[index]);
}
static inline void want_kind(machine *m, const char *who, value *arguments, uint32_t index, int kind,
                             const char *name) {
    if (!is_kind(arguments[index], kind)) error_argument(m, who, index, name, arguments[index]);
}
static inline void want_string(machine *m, const char *who, value *arguments, uint32_t index) {
    want_kind(m, who, arguments, index, KIND_STRING, "a string");
}
/* An index argument that must lie in [0, limit]. */
static inline size_t want_index(machine *m, const char *who, value *arguments, uint32_t index, size_t limit) {
    intptr_t i = want_fixnum(m, who, arguments, index);
    if (i < 0 || (size_t)i > limit) error_range(m, who, i, limit);
    return (size_t)i;
}
/* Optional start and end arguments at `index` and after. */
typedef struct span {
    size_t start, end;
} span;
static inline span want_span(machine *m, const char *who, value *arguments, uint32_t count, uint32_t index,
                             size_t length) {
    span s = {0, length};
    if (count > index + 1) s.end = want_index(m, who, arguments, index + 1, length);
    if (count > index) s.start = want_index(m, who, arguments, index, s.end);
    return s;
}

void list_init(machine *m);
void number_init(machine *m);
void string_init(machine *m);
void table_init(machine *m);
void port_init(machine *m);
void control_init(machine *m);
extern const char prelude_source[];
