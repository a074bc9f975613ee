/* Finalization: the collector finds what is due, and the runtime's finalizer thread takes it. */
#pragma once

#include "collector.h"

/* The heap was created. False: there is no memory. */
bool finalize_initialize(void);
/* For a new object. False: there is no memory for it. */
bool finalize_register(gc_thread *thread, uintptr_t object);
/* For an object to which the caller has the address alone, so that nothing here may wait for a collection. */
bool finalize_register_again(uintptr_t object);
/* The next object whose finalizer is due, normal ones first; 0: there is none. Called by the finalizer thread only. */
uintptr_t finalize_next(gc_thread *thread);
size_t finalize_count(void);
/* Reports critical objects that wait for the normal ones. */
void finalize_visit(gc_visitor *visitor);
