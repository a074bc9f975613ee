/* jit.h - what the command line asks for, and the half of the JIT that does it: compiles a checked program, and runs it. */
#pragma once

#include "ast.h"

typedef struct jit_options {
    bool is_release; /* else debug: fully interruptible code, in which variables live until their scope ends */
    bool has_polls;  /* loops poll, instead of being interrupted */
    bool has_torture; /* another thread collects all the time */
    bool has_steps;   /* another thread collects before each instruction of the main thread */
    bool dump;       /* print the code of each function with its GC info */
    const char *dump_function; /* NULL: of every function */
    const char *why;           /* a question that is answered, instead of running the program: dump_why */
    bool stats;                /* print the collector's statistics at the end, to standard error */
    size_t heap_bytes;         /* the most that the heap may hold; 0: as much as there is */
    size_t nursery_bytes;      /* 0: as the collector chooses */
    size_t stack_bytes; /* of compiled code, before it is a stack overflow; 0: 512 KiB less than the thread has */
    int argument_count; /* of the program's: arg(0, ...) is the first */
    const int64_t *arguments;
} jit_options;

/* Compiles and runs the program, with its output on standard output. Returns the exit status: 0, or 1 after a runtime error,
   of which a message has been printed. */
int jit_run(const program *p, const jit_options *options);
