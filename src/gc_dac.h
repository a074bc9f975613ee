/* gc_dac.h - looks into a program that uses gc.h from outside: a live process, or a core file. Needs neither gc.h nor the
   program's symbols.

   In one .c file of a tool

       #define GC_DAC_IMPLEMENTATION
       #include "gc_dac.h"

   ahead of any system header (or compile that file with -D_GNU_SOURCE), and elsewhere just include it. C11 or C++14. */
#pragma once

#include "barrier/style.h"

GC__STYLE_BEGIN

#include "api/dac.h"

#ifdef GC_DAC_IMPLEMENTATION
#include "platform/dac_linux.h" /* processes and files of the system */
#include "dac/reader.h"         /* the reader's record, memory, texts */
#include "dac/vars.h"           /* finding collectors */
#include "dac/heaps.h"          /* heaps, regions, windows */
#include "dac/types.h"          /* types of objects */
#include "dac/objects.h"        /* walks through regions */
#include "dac/slots.h"          /* slots of objects */
#include "dac/threads.h"        /* threads and frames */
#include "dac/handles.h"        /* handles, finalizers */
#include "dac/roots.h"          /* roots of all kinds */
#include "dac/process.h"        /* live processes; opening, closing */
#include "dac/core.h"           /* core files */
#endif

GC__STYLE_END
