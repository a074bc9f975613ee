/* run.c - compiles a checked program, and runs it. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include "jit.h"

#include <stdio.h>

int jit_run(const program *p, const jit_options *options) {
    (void)p, (void)options;
    fputs("jit: there is no code generator yet: use --check\n", stderr);
    return 2;
}
