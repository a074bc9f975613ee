/* Linkage: where the definitions of gc.h are visible. Every translation unit must be compiled with the same choice:

   By default the units of one program, or of one shared library, share a gc.h that is invisible elsewhere: several
   libraries of a process may have one each, of different versions and configurations. Such copies do not know each other:
   for one, a thread that waits in another is busy. So a thread must be in preemptive mode in the heaps of one when it calls
   what may wait in another; otherwise collections of both may wait for each other for ever.
   GC_API static: the unit with GC_IMPLEMENTATION has it to itself. One program may link several such units.
   GC_EXPORTED 1: a program or shared library exports its gc.h to the plugins that include the header with the same
   setting. If a process has several such exporters, the first one loaded serves all, so there must be only one.
   GC_API as any other linkage, in C++ with extern "C": exports, too, unless GC_EXPORTED is 0. */
#pragma once

#include "../gc_barrier_x86_64.h"

#ifdef __cplusplus
#define GC__EXTERN extern "C"
#define GC__STATIC_ASSERT static_assert
#else
#define GC__EXTERN extern
#define GC__STATIC_ASSERT _Static_assert
#endif

/* The first word of GC_API completes the name of a macro, which is defined, and yields 1, only for the word `static`. */
#define GC__LINKAGE_static 0, 1,
#define GC__SECOND_OF(a, b, ...) b
#define GC__SECOND(...) GC__SECOND_OF(__VA_ARGS__, 0, 0)

#ifdef GC_API
#define GC__API_IS_STATIC GC__SECOND(GC__PASTE(GC__LINKAGE_, GC_API))
#ifndef GC_EXPORTED
#define GC_EXPORTED !GC__API_IS_STATIC
#endif
#else
#define GC__API_IS_STATIC 0
#define GC_API GC__SHARED
#endif
#ifndef GC_EXPORTED
#define GC_EXPORTED 0
#endif

/* The assembly's symbols cannot be static. They are weak, so several units that are linked together may have them: all
   are alike. */
#if GC_EXPORTED
#define GC__VISIBLE GC__EXPORT
#define GC__ASSEMBLY_LINKAGE(name) ".weak " name "\n\t"
#else
#define GC__VISIBLE GC__INTERNAL
#define GC__ASSEMBLY_LINKAGE(name) ".weak " name "\n\t" GC__ASM_HIDDEN(name)
#endif

/* GC__SHARED: linkage of what inline functions use.
   GC__DATA(definition): defines data that was declared as GC__SHARED; a static declaration has defined it already. */
#if GC__API_IS_STATIC
#undef GC_API
#define GC_API static __attribute__((unused))
#define GC__SHARED GC_API
#define GC__DATA(definition) GC__STATIC_ASSERT(1, "defined where it is declared")
#else
#define GC__SHARED GC__EXTERN GC__VISIBLE
#ifndef GC__DATA
#define GC__DATA(definition) definition
#endif
#endif
