/* gc_handles.h - handles, finalizers, SafeHandle. Part of gc.h, which includes it.

   handle.h: references held outside the heap: weak, strong, pinned, dependent, ref-counted; gc_keep_alive. finalizer.h:
   what runs when an object has died. safe_handle.h: objects that own handles of the operating system. */
#pragma once

#include "gc.h"

#include "handles/finalizer.h"
#include "handles/handle.h"
#include "handles/safe_handle.h"

#ifdef GC_IMPLEMENTATION
#include "handles/table.h"    /* handles, and which are free */
#include "handles/queue.h"    /* which objects have finalizers, and which are due */
#include "handles/weak.h"     /* what a collection does with both */
#include "handles/finalize.h" /* running finalizers */
#include "handles/safe.h"     /* the state word of safe handles */
#endif
