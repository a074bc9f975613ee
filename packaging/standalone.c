/* A collector as a library, with the settings that the command line gives: `make standalone`. */
#define GC_STANDALONE_LIBRARY
#include "gc_standalone.h"
#ifdef GC_LIBRARY_PROFILE /* for GC_PROFILE=FILE in the environment */
#include "gc_profile.h"
#endif
