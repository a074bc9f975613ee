/* gc_profile.h - what allocates, what lives, when it paused, in the formats that people's tools read; a companion of gc.h,
   which it includes.

   In the .c file that defines GC_IMPLEMENTATION include this header after gc.h, or instead of it. Then the environment
   GC_PROFILE=FILE has the program write a profile, and gc_profile_start and gc_profile_write do so from within. */
#pragma once

#include "gc.h"

GC__STYLE_BEGIN

#include "api/profile.h"

#ifdef GC_IMPLEMENTATION
#ifndef GC__FN
#error "gc.h was included before GC_IMPLEMENTATION was defined: define it before the first include of both headers"
#endif
#include "platform/file_linux.h" /* files of the system */
#include "stacks/bytes.h"        /* reading tables */
#include "stacks/frame.h"        /* a native frame */
#include "stacks/expression.h"   /* expressions in tables */
#include "stacks/cfi.h"          /* the tables of .eh_frame */
#include "stacks/rule.h"         /* how frames are left, kept by pc */
#include "stacks/native.h"       /* native call stacks */
#include "profile/output.h"      /* writing files */
#include "profile/model.h"       /* what a profile holds */
#include "profile/store.h"       /* texts, stacks, types and entries, each kept once */
#include "profile/modules.h"     /* files that are loaded */
#include "profile/chance.h"      /* which bytes are sampled */
#include "profile/state.h"       /* what is kept of heaps and threads */
#include "profile/buffer.h"      /* what happened on a thread */
#include "profile/live.h"        /* sampled objects, followed until they die */
#include "profile/drain.h"       /* emptying buffers into the profile */
#include "profile/sample.h"      /* what an allocating thread does */
#include "profile/collections.h" /* what a collecting thread does */
#include "profile/perf.h"        /* compiled code for perf */
#include "profile/codes.h"       /* code that the host has named */
#include "profile/names.h"       /* names of native code */
#include "profile/folded.h"      /* stacks as lines of text */
#include "profile/totals.h"      /* sums over entries */
#include "profile/report.h"      /* types with their stacks, as text */
#include "profile/text.h"        /* texts of the host in JSON and XML */
#include "profile/pprof.h"       /* pprof's format */
#include "profile/nettrace.h"    /* the container of .NET's events */
#include "profile/clr.h"         /* events as those of the CLR */
#include "profile/numbering.h"   /* numbers for all objects */
#include "profile/roots.h"       /* what keeps objects alive */
#include "profile/snapshot.h"    /* all objects, in V8's format */
#include "profile/page.h"        /* what pages are put together from */
#include "profile/trace.h"       /* pauses, for Perfetto and chrome://tracing */
#include "profile/flame.h"       /* frames of flame graphs */
#include "profile/svg_script.h"  /* style and script of flame graphs */
#include "profile/svg.h"         /* flame graphs in SVG */
#include "profile/html_script.h" /* style and script of the page */
#include "profile/html.h"        /* the whole profile as a page */
#include "profile/formats.h"     /* formats by the ending of a file's name */
#include "profile/control.h"     /* starting, stopping, writing */
#include "profile/environment.h" /* GC_PROFILE */
#endif

GC__STYLE_END
