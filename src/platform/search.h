/* A search among a few sorted numbers: part of the platform contract, for the tree of code. */
#pragma once

#include "sanitize.h"

#define GC__SEARCH_NUMBERS 12

/* Returns the index of the first number above x, from the third on; GC__SEARCH_NUMBERS if there is none. There are
   GC__SEARCH_NUMBERS numbers, ascending, and aligned to 16 bytes. If others write them during the search, the result is
   any index, but not below 2. The search has no branches that depend on the numbers. */
GC__INLINED size_t gc__cpu_search(const int32_t *numbers, int32_t x);

#if defined(__x86_64__) && !GC__THREAD_SANITIZER
typedef int32_t __attribute__((vector_size(16), may_alias)) gc__cpu_four;

/* Later reads are not moved before the search, as with atomic reads. */
GC__INLINED size_t gc__cpu_search(const int32_t *numbers, int32_t x) {
    const gc__cpu_four *fours = (const gc__cpu_four *)(const void *)numbers;
    gc__cpu_four xs, a, b, c;
    unsigned above; /* a bit for each number */
    __asm__ volatile("{movd %[x], %[xs]|movd %[xs], %[x]}\n\t"
                     "{pshufd $0, %[xs], %[xs]|pshufd %[xs], %[xs], 0}\n\t"
                     "{movdqa %[first], %[a]|movdqa %[a], %[first]}\n\t"
                     "{movdqa %[second], %[b]|movdqa %[b], %[second]}\n\t"
                     "{movdqa %[third], %[c]|movdqa %[c], %[third]}\n\t"
                     "{pcmpgtd %[xs], %[a]|pcmpgtd %[a], %[xs]}\n\t"
                     "{pcmpgtd %[xs], %[b]|pcmpgtd %[b], %[xs]}\n\t"
                     "{pcmpgtd %[xs], %[c]|pcmpgtd %[c], %[xs]}\n\t"
                     "{packssdw %[b], %[a]|packssdw %[a], %[b]}\n\t"
                     "{packssdw %[c], %[c]|packssdw %[c], %[c]}\n\t"
                     "{packsswb %[c], %[a]|packsswb %[a], %[c]}\n\t"
                     "{pmovmskb %[a], %[above]|pmovmskb %[above], %[a]}"
                     : [xs] "=&x"(xs), [a] "=&x"(a), [b] "=&x"(b), [c] "=&x"(c), [above] "=r"(above)
                     : [first] "m"(fours[0]), [second] "m"(fours[1]), [third] "m"(fours[2]), [x] "r"(x)
                     : "memory");
    return (size_t)__builtin_ctz((above & ~3u) | 1u << GC__SEARCH_NUMBERS);
}
#else
/* Returns i + step if that number is not above x. */
GC__INLINED unsigned gc__cpu_search_step(const int32_t *numbers, unsigned i, unsigned step, int32_t x) {
    return i + (step & (0 - (unsigned)(__atomic_load_n(&numbers[i + step], __ATOMIC_ACQUIRE) <= x)));
}

GC__INLINED size_t gc__cpu_search(const int32_t *numbers, int32_t x) {
    unsigned i = gc__cpu_search_step(numbers, 1, 5, x);
    i = gc__cpu_search_step(numbers, i, 3, x);
    i = gc__cpu_search_step(numbers, i, 1, x);
    return gc__cpu_search_step(numbers, i, 1, x) + 1;
}
#endif
