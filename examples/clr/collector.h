/* gc.h in the configuration that the CLR's write barrier needs: it compares generations by a byte for each region, and marks cards
   of 2 KiB by a byte each. The barrier also marks bundles of 2 MiB, which are larger than these regions: nobody reads them. */
#pragma once

#include "object.h"

#define GC_CARD_SHIFT 11
#define GC_CARD_BITS 0
#define GC_BUNDLE_SHIFT 0
#define GC_BARRIER byte_region
#define GC_EMBEDDED 1 /* signals and the environment are the runtime's */

#include "gc.h"

extern gc_heap *heap;

/* A reference of the CLR's leads behind the object's header, where gc.h has its beginning. */
static inline void *gc_of(uintptr_t object) { return (void *)(object - HEADER_BYTES); }
static inline uintptr_t clr_of(const void *object) { return (uintptr_t)object + HEADER_BYTES; }
