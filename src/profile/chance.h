/* Which bytes are sampled: each with the probability p, independently of all others, so that the number of bytes before the
   next sampled one has the geometric distribution. It has no memory: the count may begin anew at any byte. */
#pragma once

#include "../platform/platform.h"

typedef struct gc__chance {
    uint64_t state;
    uint64_t period; /* 1 / p */
    double scale;    /* 1 / ln(1 - p) */
} gc__chance;

GC__FN uint64_t gc__chance_bits(gc__chance *chance) {
    uint64_t z = chance->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* The natural logarithm of x > 0, without the library of mathematics, which programs would have to be linked with. The
   mantissa m is in [0.7, 1.4], and ln m = 2 artanh((m - 1) / (m + 1)). */
GC__FN double gc__logarithm(double x) {
    static const double series[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                    1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
    memcpy(&x, &bits, sizeof bits);
    if (x > 1.4) {
        x /= 2;
        exponent++;
    }
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) sum = sum * square + series[i];
    return 2 * s * sum + exponent * 0.69314718055994530942;
}

GC__FN void gc__chance_start(gc__chance *chance, uint64_t seed, uint64_t period) {
    chance->state = seed;
    chance->period = period;
    chance->scale = period > 1 ? 1 / gc__logarithm(1 - 1 / (double)period) : 0;
}

/* The number of bytes that are not sampled before the next one that is. */
GC__FN uint64_t gc__chance_gap(gc__chance *chance) {
    if (chance->period <= 1) return 0;
    double uniform = ((double)(gc__chance_bits(chance) >> 11) + 1) / 9007199254740992.0; /* in (0, 1] */
    double gap = gc__logarithm(uniform) * chance->scale;
    return gap < 1e18 ? (uint64_t)gap : (uint64_t)1e18;
}

/* The number of objects for which a sample of an object of `bytes` stands: 1 / (1 - (1 - p) ^ bytes). */
GC__FN double gc__chance_weight(uint64_t period, uint64_t bytes) {
    double missed = 1, power = 1 - 1 / (double)period;
    for (; bytes; bytes >>= 1, power *= power)
        if (bytes & 1) missed *= power;
    return 1 / (1 - missed);
}
