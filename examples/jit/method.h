/* method.h - compiled functions, and the memory that holds their code. */
#pragma once

#include "assembler.h"
#include "ir.h"
#include "jit.h"

#include "gc_stackmap.h"

/* Code after the epilog, and the instruction of which it is a part; -1: the prolog. */
typedef struct cold_range {
    uint32_t start, end;
    int instruction;
} cold_range;

/* A compiled function. Its code is registered with the collector. */
typedef struct method {
    gc_code code;
    const function *source;
    ir_function ir; /* names and homes of variables, for dumps */
    assembler a;    /* texts and lines of instructions, for dumps and reports */
    void *map;
    cold_range *cold_ranges;
    uint32_t cold_count;
    uint32_t epilog;     /* its offset */
    int32_t home_offset; /* of the first home from the stack pointer, or from rbp in debug code */
    struct method *next;
} method;

/* Symbols: what code refers to by a distance. First the barrier, then the runtime's functions, then the program's. */
enum { SYMBOL_STORE, SYMBOL_ENTRIES };

/* Reserves memory for code, mapped twice: writable, and executable. Ends the program on failure. */
void code_begin(void);
/* Has the barrier written again, or its addresses replaced: gc_options.barrier_changed. */
void code_barrier_changed(void *host, const gc_barrier_change *change);
/* Compiles, links and registers the whole program. */
void code_compile(const program *p, const jit_options *options);
void code_end(void);

/* Where the code at that address can be written to. */
char *code_writable(const void *pc);

method *code_methods(void);
/* The method of the function. */
method *method_of(const function *f);
/* The method and the line of the source at an address that is in code, or the return address of a call; NULL: in none. */
const method *method_at(const void *pc, int *line);
/* Whether the call that returns there is one of native code. */
bool is_native_call(const void *pc);
int symbol_of_function(const function *f);

/* Generates the code of one function: fills a, map, home_offset of the method. */
void generate(method *m);
