/* Loader allocators: an object of a collectible type keeps the object that owns its type's code alive. */
#pragma once

#include "collector.h"

/* Has each type's loader allocator read anew. */
void loader_begin_collection(void);
void loader_trace(uintptr_t object, uintptr_t type, gc_visitor *visitor);
