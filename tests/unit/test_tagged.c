/* Low-bit tags: odd words are numbers; references carry a kind in bits 1 and 2. */
#define _GNU_SOURCE
#include <stdint.h>

#define GC_VALUE_IS_REF(word) (((word) & 1) == 0 && (word) > 6)
#define GC_VALUE_TO_REF(word) ((word) & ~(uintptr_t)7)
#define GC_VALUE_FROM_REF(ref, word) ((uintptr_t)(ref) | ((word) & 7))

static inline uintptr_t box_number(uint64_t value) { return (uintptr_t)value << 1 | 1; }
static inline uint64_t number(uintptr_t word) { return word >> 1; }
static inline uintptr_t box_tagged(const void *object, int tag) { return (uintptr_t)object | (uintptr_t)tag << 1; }
static inline uintptr_t box_ref(const void *object, uintptr_t salt) { return box_tagged(object, salt >> 1 & 3); }

#define GC_IMPLEMENTATION
#include "values.h"

int main(void) { return values(); }
