/* collector.h - what the collector must know of values, and the collector.

   A word refers to an object if its lowest bit is set, and then to the object at word - 1. Compiled with GC_STANDALONE the
   program runs on the collector that it brings along, or on one in a library, which the environment names; otherwise
   GC_PROFILE=FILE in the environment writes a profile of the program in Scheme. */
#pragma once

#define GC_VALUE_MASK 1
#define GC_VALUE_TAG 1

#ifdef GC_STANDALONE
#include "gc_standalone.h"
#else
#include "gc_profile.h"
#endif
