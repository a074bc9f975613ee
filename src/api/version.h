/* Which gc.h this is. Until 1.0.0 a minor version may change the API; the project's CHANGELOG.md says how. */
#pragma once

#include "config.h"

#define GC_VERSION_MAJOR 0
#define GC_VERSION_MINOR 1
#define GC_VERSION_PATCH 0
#define GC_VERSION_TEXT "0.1.0"

/* The version of the implementation that the program was linked with; GC_VERSION_TEXT is that of the header which the
   caller was compiled with. Static storage. [any thread; never collects; cannot fail] */
GC_API const char *gc_version(void);
