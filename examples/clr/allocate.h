/* Allocation in the windows of the runtime's threads. */
#pragma once

#include "collector.h"
#include "interface.h"

/* IGCHeap's function of that name; NULL: there is no memory. */
uintptr_t allocate(alloc_context *context, size_t bytes, uint32_t flags);
/* The collector's record of the calling thread; NULL: there is no memory. */
gc_thread *allocate_thread(alloc_context *context);
/* Takes the thread's window back: its next allocation calls the collector. The other threads are stopped, or it is the caller's. */
void allocate_close(alloc_context *context, void *argument);
/* The thread ends. */
void allocate_end(alloc_context *context);
/* What all threads were given so far: what is left of their windows included, and what was left to those that have ended. */
uint64_t allocate_given(void);
