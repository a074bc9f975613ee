/* gc_dac.h - looks into a program that uses gc.h from outside: a live process, or a core file. Needs neither gc.h nor the
   program's symbols.

   In one .c file of a tool

       #define GC_DAC_IMPLEMENTATION
       #include "gc_dac.h"

   ahead of any system header (or compile that file with -D_GNU_SOURCE), and elsewhere just include it. C11 or C++14. */
#pragma once

#include "api/dac.h"

#ifdef GC_DAC_IMPLEMENTATION
#endif
