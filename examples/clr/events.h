/* Events of collections, for tools that trace the runtime. */
#pragma once

#include "pause.h"

/* What tools want to be told now. */
void events_control(int32_t keywords, int32_t level);

void events_collection_begins(const gc_collection *collection);
void events_collection_ends(const pause_record *record, gc_reason reason);
/* A thread was given so many bytes more, this object among them. `kind`: 0 small, 1 large, 2 pinned. */
void events_allocation(unsigned kind, int64_t given, uintptr_t object, size_t bytes);
/* A handle of this type was created; and destroyed. */
void events_handle(const uintptr_t *handle, uintptr_t object, int type);
void events_handle_destroyed(const uintptr_t *handle);
