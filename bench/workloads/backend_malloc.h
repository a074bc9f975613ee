/* The backend of malloc and free, by default those of libc. */
#pragma once

#include <stdlib.h>

#ifndef MM_NAME
#define MM_NAME "malloc"
#define MM_MALLOC malloc
#define MM_CALLOC calloc
#define MM_FREE free
#endif
#define MM_MANUAL 1
#define MM_HEADER
#define MM_HEADER_WORDS 0
#define MM_TYPE(T, ...) _Static_assert(sizeof(T) > 0, "")
#define MM_NEW(mm, T) ((T *)mm_allocate(mm, sizeof(T)))
#define MM_CLEAR(slot) ((void)(*(slot) = NULL))
#define MM_STORE(mm, slot, ref) ((void)(mm), (void)(*(slot) = (ref)))
#define MM_ROOTS(mm, ...) ((void)(mm))
#define MM_ROOT_ARRAY(mm, first, n) ((void)(mm))

typedef struct mm mm;
typedef void *mm_refs;
typedef unsigned char mm_bytes;

static inline void *mm_checked(void *block) {
    if (__builtin_expect(!block, 0)) mm_exhausted("malloc returned NULL");
    return block;
}

static inline void *mm_allocate(mm *mm, size_t bytes) {
    (void)mm;
    return mm_checked(MM_MALLOC(bytes));
}

static inline mm_refs *mm_new_refs(mm *mm, size_t n) {
    (void)mm;
    return mm_checked(MM_CALLOC(n, sizeof(void *)));
}

static inline mm_bytes *mm_new_bytes(mm *mm, size_t n) { return mm_allocate(mm, n); }
static inline void **mm_refs_at(mm_refs *refs) { return refs; }
static inline void *mm_bytes_at(mm_bytes *bytes) { return bytes; }

static inline void mm_free(mm *mm, void *object) {
    (void)mm;
    MM_FREE(object);
}

static inline mm *mm_open(const mm_options *options) {
    (void)options;
    return NULL;
}

static inline void mm_close(mm *mm, const mm_options *options, mm_report *report) {
    (void)mm, (void)options, (void)report;
}
