/* gc_handles.h - handles, finalizers, SafeHandle. Part of gc.h, which includes it.

   Handles are references held outside the heap: weak, strong, pinned, dependent, ref-counted. Finalizers run when an
   object has died. Safe handles are objects that own handles of the operating system. gc_keep_alive is here, too. */
#include "gc.h"

/* Not #pragma once: gc.h includes this file in its middle, even where this file has included gc.h. */
#ifndef GC_HANDLES_H
#define GC_HANDLES_H

GC__STYLE_BEGIN

#include "api/finalizer.h"
#include "api/handle.h"
#include "api/safe_handle.h"

#ifdef GC_IMPLEMENTATION
#include "weak/handle_table.h"    /* the handle table */
#include "weak/finalizers.h"      /* objects with finalizers, and queues of those that are due */
#include "weak/entries.h"         /* entries of weak tables, and slots that wait for a key */
#include "weak/safe.h"            /* the state word of safe handles */
#include "weak/preclean.h"        /* precleaning of handles, finalizers and weak tables */
#include "weak/weak.h"            /* handles and weak tables in a collection */
#endif

GC__STYLE_END
#endif
