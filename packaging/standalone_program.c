/* The collector of a program that can load another one. Such a file contains nothing else. */
#define GC_STANDALONE 1
#define GC_IMPLEMENTATION
#include "gc_standalone.h"
