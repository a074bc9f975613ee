/* Names of the program's variables, from the symbol tables of its files: so a root is called by its name. */
#pragma once

#include "gc_dac.h"

/* Writes the name of the variable that has the address, "table" or "table+8"; "" if it is not known: the file is stripped, or
   not there. */
void symbol_name(gc_dac *dac, const char *root, uint64_t address, char *name, size_t room);
