/* The names of gc.h in the rest of the unit that contains the embedded collector: they would mean that one, whichever is in
   force, so using them is an error. */
#pragma once

#include "../api/interface.h"

#ifdef GC_STANDALONE
#define GC__POISON(kind, name) GC__PRAGMA(GCC poison name)
GC__INTERFACE(GC__POISON)
#endif
