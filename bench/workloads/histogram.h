/* Times in nanoseconds, counted in buckets 1/64 of a power of two wide: 32 KiB whatever the number of samples, so that
   measuring ten million pushes does not show in the memory that is measured. */
#pragma once

#include <stdint.h>
#include <time.h>

#define HISTOGRAM_FRACTION_BITS 6
#define HISTOGRAM_BUCKETS ((65 - HISTOGRAM_FRACTION_BITS) << HISTOGRAM_FRACTION_BITS)

typedef struct histogram {
    uint64_t count, total, max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram;

static inline uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Values under 2 << HISTOGRAM_FRACTION_BITS have a bucket each. */
static inline unsigned histogram_shift(uint64_t value) {
    return value >> HISTOGRAM_FRACTION_BITS ? 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_FRACTION_BITS : 0;
}

static inline void histogram_add(histogram *h, uint64_t value) {
    unsigned shift = histogram_shift(value);
    h->buckets[(shift << HISTOGRAM_FRACTION_BITS) + (value >> shift)]++;
    h->count++;
    h->total += value;
    if (value > h->max) h->max = value;
}

/* The largest value of bucket `i`. */
static inline uint64_t histogram_bucket_end(unsigned i) {
    unsigned group = i >> HISTOGRAM_FRACTION_BITS;
    unsigned shift = group ? group - 1 : 0;
    return (((uint64_t)i - ((uint64_t)shift << HISTOGRAM_FRACTION_BITS) + 1) << shift) - 1;
}

/* The value that `fraction` of all did not exceed, to the end of its bucket; 0 if there is none. */
static inline uint64_t histogram_percentile(const histogram *h, double fraction) {
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen && (double)seen >= fraction * (double)h->count) {
            uint64_t end = histogram_bucket_end(i);
            return end < h->max ? end : h->max;
        }
    }
    return 0;
}
