/* collector.c - the collector's code, in a file of its own as GC_STANDALONE needs it. */
#define GC_IMPLEMENTATION
#include "collector.h"
