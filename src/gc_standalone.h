/* gc_standalone.h - collectors as libraries; a companion of gc.h, which it includes, with gc_stackmap.h.

   With it a finished program runs on another collector than the one that it was compiled with: a checked one, a profiling
   one, a newer one; the project's docs/standalone.md shows how. It stands instead of gc.h in the .c file that defines
   GC_IMPLEMENTATION:

       #define GC_IMPLEMENTATION
       #include "gc_standalone.h"

   GC_STANDALONE: functions of gc.h call the collector in force. That file must contain nothing else that calls gc.h.
   GC_STANDALONE_LIBRARY: that file alone becomes a library, with `cc -shared -fPIC`.
   Neither: the collector is part of the program as ever, and libraries may be used beside it, by their tables. */
#pragma once

#define GC__STANDALONE_FIRST 1 /* this header was included before gc.h, as GC_STANDALONE needs it */
#if defined(GC_STANDALONE_LIBRARY) && !defined(GC_IMPLEMENTATION)
#define GC_IMPLEMENTATION
#endif

#include "api/interface.h"
#include "gc_stackmap.h"

GC__STYLE_BEGIN

#include "api/standalone.h"

#ifdef GC_IMPLEMENTATION
#include "platform/stubs.h"      /* symbols that jump to the collector in force */
#include "standalone/geometry.h" /* what both sides must have in common */
#include "standalone/library.h"  /* the library's exports */
#include "standalone/host.h"     /* what libraries are given, and calls of the collector in force */
#include "standalone/load.h"     /* finding, checking and loading libraries */
#include "standalone/choose.h"   /* the collector in force */
#include "standalone/last.h"     /* what the rest of the unit must not do */
#endif

GC__STYLE_END
