/* The seam over malloc and free, of the C library or of mimalloc: objects have no header, and the workload frees them. */
#pragma once

#if defined BACKEND_MIMALLOC
#include <mimalloc.h>
#define BACKEND_NAME "mimalloc"
#define backend__malloc mi_malloc
#define backend__calloc mi_calloc
#define backend__free mi_free
#else
#include <stdlib.h>
#define BACKEND_NAME "malloc"
#define backend__malloc malloc
#define backend__calloc calloc
#define backend__free free
#endif

typedef void *mutator;

#define BACKEND_MANUAL true
#define BACKEND_ZEROED false
#define BACKEND_HEADER
#define BACKEND_TYPE(T, ...) _Static_assert(sizeof(T) > 0, "only a collector needs types")
/* A struct cannot consist of a flexible array alone, so one element stands for all. */
#define BACKEND_REF_ARRAY(T, E) typedef struct T { E *at[1]; } T
#define BACKEND_LEAF_ARRAY(T, E) typedef struct T { E at[1]; } T
#define BACKEND_ROOTS(m, ...) ((void)(m))
#define BACKEND_NEW(m, T) ((T *)backend_given(((void)(m), backend__malloc(sizeof(T)))))
#define BACKEND_NEW_REFS(m, T, length) ((T *)backend_given(((void)(m), backend__calloc(length, sizeof(T)))))
#define BACKEND_NEW_LEAF(m, T, length) ((T *)backend_given(((void)(m), backend__malloc((length) * sizeof(T)))))

static inline void backend_store(mutator m, void *slot, void *ref) {
    (void)m;
    *(void **)slot = ref;
}
static inline void backend_free(void *object) { backend__free(object); }
