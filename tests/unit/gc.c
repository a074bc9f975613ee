#define GC_IMPLEMENTATION
#include "gc.h"
