/* IGCHeap, the interface by which the runtime uses the collector. */
#pragma once

#include "interface.h"

extern interface heap_interface;
