/* The same numbers on every machine and over every memory manager. */
#pragma once

#include <stdint.h>

#define RANDOM_SEED UINT64_C(88172645463325252)

/* Marsaglia's xorshift64. The state must not be 0. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}
