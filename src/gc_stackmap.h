/* gc_stackmap.h - stack maps for compiled code, and LLVM's; a companion of gc.h, which it includes.

   In the .c file that defines GC_IMPLEMENTATION include this header after gc.h, or instead of it. */
#pragma once

#include "gc.h"

GC__STYLE_BEGIN

#include "api/stackmap.h"
#include "api/code.h"
#include "api/stackmap_dump.h"

#ifdef GC_IMPLEMENTATION
#ifndef GC__FN
#error "gc.h was included before GC_IMPLEMENTATION was defined: define it before the first include of both headers"
#endif
#include "stackmap/bits.h"      /* streams of bits */
#include "stackmap/decode.h"    /* reading stack maps */
#include "stackmap/unwind.h"    /* their unwind rows */
#include "stackmap/rules.h"     /* what a stack map may say */
#include "stackmap/check.h"     /* whether a stack map is whole */
#include "stackmap/prepare.h"   /* checking and ordering what is to be written */
#include "stackmap/encode.h"    /* writing stack maps */
#include "stackmap/tree.h"      /* code by address */
#include "stackmap/registry.h"  /* adding and removing code */
#include "stackmap/returns.h"   /* replaced return addresses */
#include "stackmap/known.h"     /* what is known of places in compiled code */
#include "stackmap/walk.h"      /* frames of compiled code */
#include "stackmap/rows.h"      /* stack maps row by row */
#include "stackmap/dump.h"      /* tables as text, beside the code */
#include "stackmap/explain.h"   /* what is live, and why not, in sentences */
#include "stackmap/llvm.h"      /* the stack maps of LLVM */
#include "stackmap/call.h"      /* calls between native and compiled code */
#include "stackmap/interrupt.h" /* stopping threads in compiled code */
#endif

GC__STYLE_END
