/* For tests that look inside the collector: included before gc.h, it has them read the implementation, whose functions and variables
   are those of inside.c. So the collector is compiled once for all of them, not for each. */
#pragma once

#define GC_IMPLEMENTATION
#ifndef _WIN32 /* where a definition that another file replaces must have one itself: there each test compiles the collector */
#define GC__HIDDEN __attribute__((visibility("hidden")))
#ifdef INSIDE_IS_HERE
#define GC__FN GC__HIDDEN __attribute__((unused))
#define GC__VAR GC__HIDDEN
#else
#define GC__FN extern __inline__ __attribute__((gnu_inline, unused)) GC__HIDDEN
#define GC__VAR __attribute__((weak)) GC__HIDDEN /* the one in inside.o counts */
#define GC_API GC__FN
#define GC_EXPORTED 0
#define GC__DATA(definition) _Static_assert(1, "inside.o has it")
#endif
#endif
