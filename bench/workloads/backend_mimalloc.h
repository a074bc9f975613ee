/* The backend of mimalloc. */
#pragma once

#include <mimalloc.h>

#define MM_NAME "mimalloc"
#define MM_MALLOC mi_malloc
#define MM_CALLOC mi_calloc
#define MM_FREE mi_free

#include "backend_malloc.h"
