/* What profilers and tools that write dumps of the heap are told: objects, references, roots, what survived and where it is, and
   where generations lie. IGCHeap's functions for them are these. */
#pragma once

#include "collector.h"
#include "interface.h"

typedef bool walk_function(uintptr_t object, void *context);
typedef bool walk_slots_function(uintptr_t object, uintptr_t *slot, void *context);
typedef void range_function(void *context, int generation, uintptr_t start, uintptr_t end, uintptr_t reserved);
typedef void survivor_function(uintptr_t begin, uintptr_t end, ptrdiff_t by, void *context, bool moved, bool beside);
typedef void finalizable_function(bool critical, uintptr_t object);
typedef void root_function(uintptr_t *slot, scan_context *context, uint32_t flags);
typedef void handle_root_function(uintptr_t *handle, uintptr_t secondary, uint32_t flags, scan_context *context, bool dependent);

void diagnose_object(interface *self, uintptr_t object, walk_function *each, void *context);
void diagnose_slots(interface *self, uintptr_t object, walk_slots_function *each, void *context);
void diagnose_heap(interface *self, walk_function *each, void *context, int32_t generation, bool with_large);
void diagnose_survivors(interface *self, void *of_collection, survivor_function *each, void *context, int32_t type,
                        int32_t generation);
void diagnose_finalizable(interface *self, void *of_collection, finalizable_function *each);
void diagnose_finalizer_roots(interface *self, root_function *each, scan_context *context);
void diagnose_handles(interface *self, handle_root_function *each, int32_t generation, scan_context *context);
void diagnose_dependent_handles(interface *self, handle_root_function *each, int32_t generation, scan_context *context);
void diagnose_generations(interface *self, range_function *each, void *context);

/* Calls `each` for each run of regions of one generation. */
void diagnose_ranges(range_function *each, void *context);
/* A collection begins; an object's finalizer is due; it is known what survives. */
void diagnose_begin(int generation);
void diagnose_note_finalizable(uintptr_t object);
void diagnose_traced(void);
