/* gc.h in the configuration that the CLR's write barrier needs: it marks the page of each slot, by which objects are marked beside the
   program, compares generations by a byte for each region, and marks cards of 256 bytes by a bit each. It also marks bundles of
   2 MiB, which are larger than these regions: nobody reads them. */
#pragma once

#include "object.h"

#define GC_CARD_SHIFT 8
#define GC_CARD_BITS 1
#define GC_BUNDLE_SHIFT 0
#define GC_BARRIER write_watch_bit_region
#define GC_EMBEDDED 1 /* signals and the environment are the runtime's */

#include "gc.h"

extern gc_heap *heap;

/* A reference of the CLR's leads behind the object's header, where gc.h has its beginning. */
static inline void *gc_of(uintptr_t object) { return (void *)(object - HEADER_BYTES); }
static inline uintptr_t clr_of(const void *object) { return (uintptr_t)object + HEADER_BYTES; }
