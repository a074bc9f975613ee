/* NaN-boxing: doubles are themselves; references have the top bits of a quiet NaN, and a kind in two bits of them. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>

#define GC_VALUE_IS_REF(word) ((word) >> 50 == 0x3FFF)
#define GC_VALUE_TO_REF(word) ((word) & 0xFFFFFFFFFFFF)
#define GC_VALUE_FROM_REF(ref, word) ((uintptr_t)(ref) | ((word) & ~(uintptr_t)0xFFFFFFFFFFFF))

static inline uintptr_t box_number(uint64_t value) {
    double number = (double)value;
    uintptr_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}
static inline uint64_t number(uintptr_t word) {
    double number;
    memcpy(&number, &word, sizeof number);
    return (uint64_t)number;
}
static inline uintptr_t box_tagged(const void *object, int tag) {
    return (uintptr_t)object | (uintptr_t)0x3FFF << 50 | (uintptr_t)tag << 48;
}
static inline uintptr_t box_ref(const void *object, uintptr_t salt) { return box_tagged(object, salt & 3); }

#define GC_IMPLEMENTATION
#include "values.h"

int main(void) { return values(); }
