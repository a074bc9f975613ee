/* generate.h - what the two halves of the code generator share: generate.c writes single instructions, frame.c what concerns
   the frame: prolog, epilog, calls and allocations. */
#pragma once

#include "entries.h"
#include "method.h"
#include "track.h"

#define THREAD R15 /* holds the gc_thread throughout */

typedef struct generator generator;

/* Code that is seldom run stands after the epilog. */
typedef struct cold {
    struct cold *next;
    void (*write)(generator *g, const struct cold *c);
    int label, back; /* where it begins, and where it returns to; back is -1 if it never does */
    const ir *cause; /* NULL: the prolog */
    int symbol;
    uint32_t line;
    uint8_t *holds; /* what is live after its call */
} cold;

struct generator {
    method *m;
    ir_function *f;
    assembler *a;
    tracker t;
    int *labels; /* of the assembler, by those of the list of instructions */
    int epilog;
    int32_t frame_bytes; /* below the saved registers */
    int saved_count;     /* registers that are pushed */
    uint32_t prolog_bytes;
    cold *colds, **cold_end;
    uint8_t *holds; /* room for a description of all locations */
    int index;      /* of the instruction */
};

/* The word of a home on the stack. */
asm_memory home_memory(const generator *g, ir_home home);
holding holding_of_value(const generator *g, int value);

/* The register that holds the value: its own, or `temporary`, to which it is loaded. */
int in_register(generator *g, int value, int temporary);
void into_register(generator *g, int value, int reg);
/* Moves the register to the value's home; nothing if the value is never used. */
void put(generator *g, int value, int reg);
/* Where to compute the value: its own register, or `temporary`, from which `put` will move it. */
int result_register(const generator *g, int value, int temporary);

/* What locations hold after the instruction; without its result, and with the arguments that it uses late. */
void holds_after_call(generator *g, const ir *i, uint8_t *holds);
/* A place to which the code jumps if the program fails. */
int cold_failure(generator *g, int symbol, const ir *cause);
cold *cold_add(generator *g, const ir *cause, void (*write)(generator *, const cold *));
void colds_write(generator *g);

void write_prolog(generator *g);
void write_epilog(generator *g);
void write_call(generator *g, const ir *i);
void write_new(generator *g, const ir *i);
void write_new_array(generator *g, const ir *i);
void write_poll(generator *g, const ir *i);
