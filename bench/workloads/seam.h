/* The seam between the workloads and the memory managers that they are measured on. Each backend header implements it
   inline; -DBACKEND_... chooses one, so that no compilation sees two managers' macros.

   BACKEND_HEADER             the first member of an object's struct, or nothing
   BACKEND_TYPE(T, fields)    declares what the collector must know of struct T, whose `fields` are references
   BACKEND_REF_ARRAY(T, E)    declares T with `E *at[]`; BACKEND_LEAF_ARRAY(T, E): with `E at[]`, without references
   BACKEND_ROOTS(m, variables)                 roots until the end of the scope
   BACKEND_NEW(m, T)                           an object; zeroed only if BACKEND_ZEROED
   BACKEND_NEW_REFS(m, T, length)              a reference array, all null
   BACKEND_NEW_LEAF(m, T, length)              an array that the caller fills
   backend_store(m, slot, ref)                 *slot = ref, with the write barrier
   backend_free(object)                        only if BACKEND_MANUAL: elsewhere nothing

   No allocation returns NULL: the program says why and exits instead. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void backend_exhausted(void); /* implemented by backend_*.c */

static inline void *backend_given(void *memory) {
    if (__builtin_expect(!memory, 0)) backend_exhausted();
    return memory;
}

/* Makes the compiler believe that the object is used. */
static inline void backend_sink(const void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }

#if defined BACKEND_GC
#include "backend_gc.h"
#elif defined BACKEND_MALLOC || defined BACKEND_MIMALLOC
#include "backend_manual.h"
#elif defined BACKEND_BDWGC
#include "backend_bdwgc.h"
#else
#error "define BACKEND_GC, BACKEND_MALLOC, BACKEND_MIMALLOC or BACKEND_BDWGC"
#endif
