/* collector.c - the implementation of gc.h for rungs 2 to 6. Rung 1, with its own object headers, compiles its own. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "collector.h"
