/* malloc's and mimalloc's part of a run: they have neither options nor pauses. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

const char backend_name[] = BACKEND_NAME;

_Noreturn void backend_exhausted(void) {
    fputs("workloads: out of memory\n", stderr);
    exit(1);
}

void backend_start(run *run) { run->mutator = NULL; }
void backend_stop(run *run) { run->generations = 0; }
