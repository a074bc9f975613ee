/* interpret.h - runs a program without compiling it. */
#pragma once

#include "jit.h"

/* Runs the program. Returns the exit status; a runtime error ends the process, with status 1. */
int interpret(const program *p, const jit_options *options);
