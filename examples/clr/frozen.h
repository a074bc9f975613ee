/* Frozen segments: the runtime's own memory with objects that never move nor die, and lead to no others. */
#pragma once

#include "interface.h"

void *frozen_add(const segment_info *info);
void frozen_update(void *segment, uintptr_t allocated, uintptr_t committed);
void frozen_remove(void *segment);
bool frozen_contains(uintptr_t object);
