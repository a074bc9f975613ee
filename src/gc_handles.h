/* gc_handles.h - handles, finalizers, SafeHandle. Part of gc.h, which includes it.

   Handles: references held outside the heap: weak, strong, pinned, dependent, ref-counted; gc_keep_alive. Finalizers: what
   runs when an object has died. Safe handles: objects that own handles of the operating system. */
#include "gc.h"

/* Not #pragma once: gc.h includes this file in its midst, also where this file has included gc.h. */
#ifndef GC_HANDLES_H
#define GC_HANDLES_H

#include "api/finalizer.h"
#include "api/handle.h"
#include "api/safe_handle.h"

#ifdef GC_IMPLEMENTATION
#include "handles/table.h"      /* handles, and which are free */
#include "handles/finalizers.h" /* which objects have finalizers, and which are due */
#include "handles/weak.h"       /* what a collection does with both */
#include "handles/safe.h"       /* the state word of safe handles */
#endif
#endif
