/* IGCHeap, the interface by which the runtime uses the collector. */
#pragma once

#include "interface.h"

extern interface heap_interface;

/* Where objects may be, and GCSettings.LatencyMode. */
uintptr_t heap_lowest(void);
uintptr_t heap_highest(void);
int32_t heap_latency_mode(void);
