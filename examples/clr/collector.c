/* The collector. */
#define GC_IMPLEMENTATION
#include "collector.h"
