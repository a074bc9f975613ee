/* The list of frozen segments. */
#include "frozen.h"

#include <stdlib.h>

typedef struct frozen_segment {
    struct frozen_segment *next;
    uintptr_t base, allocated, committed; /* `allocated` changes at any time */
} frozen_segment;

static frozen_segment *segments;
static char lock;

static void lock_take(void) {
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
static void lock_release(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

void *frozen_add(const segment_info *info) {
    frozen_segment *segment = malloc(sizeof *segment);
    if (!segment) return NULL;
    segment->base = info->base;
    segment->allocated = info->base + info->allocated;
    segment->committed = info->base + info->committed;
    lock_take();
    segment->next = segments;
    segments = segment;
    lock_release();
    return segment;
}

void frozen_update(void *of, uintptr_t allocated, uintptr_t committed) {
    frozen_segment *segment = of;
    segment->committed = committed;
    __atomic_store_n(&segment->allocated, allocated, __ATOMIC_RELEASE);
}

void frozen_remove(void *segment) {
    lock_take();
    frozen_segment **link = &segments;
    while (*link && *link != segment) link = &(*link)->next;
    if (*link) *link = (*link)->next;
    lock_release();
    free(segment);
}

bool frozen_contains(uintptr_t object) {
    lock_take();
    const frozen_segment *segment = segments;
    while (segment && !(object >= segment->base && object < __atomic_load_n(&segment->allocated, __ATOMIC_ACQUIRE)))
        segment = segment->next;
    lock_release();
    return segment != NULL;
}
