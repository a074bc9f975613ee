/* dump.h - compiled functions as text. */
#pragma once

#include "method.h"

/* Prints the code of all functions, or of the one of that name, between the lines of the source and the rows of its stack map. */
void dump_program(const program *p, const char *function_name, FILE *to);
/* Says whether a variable is live at a place, FUNCTION+OFFSET:VARIABLE, and if not, why; without :VARIABLE which ones are.
   False: there is no such function, instruction or variable, of which a message was printed. */
bool dump_why(const program *p, const char *question, FILE *to);
/* Says of each delegate of the method's variables whether it is live at the offset, that of an instruction after a call. */
void dump_delegates(const program *p, const method *m, uint32_t offset, FILE *to);
