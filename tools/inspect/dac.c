/* The reader. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
