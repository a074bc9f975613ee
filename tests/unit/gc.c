#define GC_IMPLEMENTATION
#include "gc_profile.h"
