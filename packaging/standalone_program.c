/* The collector of a program that can load another one. Such a file contains nothing else. */
#define GC_STANDALONE
#define GC_IMPLEMENTATION
#include "gc_standalone.h"
