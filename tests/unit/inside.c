/* The collector and its companions for tests of the inside. */
#define _GNU_SOURCE
#define INSIDE_IS_HERE
#include "../inside.h"

#include "gc_profile.h"
#include "gc_stackmap.h"
