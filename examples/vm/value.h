/* value.h - values: a double, or in the bits of a quiet NaN a constant or the address of an object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t value;
typedef struct object object;

#define QUIET_NAN 0x7FFC000000000000u
#define OBJECT_BITS 0xFFFC000000000000u /* the sign as well */

#define NIL (QUIET_NAN | 1)
#define FALSE_VALUE (QUIET_NAN | 2)
#define TRUE_VALUE (QUIET_NAN | 3)
#define ABSENT (QUIET_NAN | 4) /* no value of a program: an undefined global, an empty place of a map */

static inline bool is_number(value v) { return (v & QUIET_NAN) != QUIET_NAN; }
static inline bool is_object(value v) { return (v & OBJECT_BITS) == OBJECT_BITS; }
static inline bool is_true(value v) { return v != NIL && v != FALSE_VALUE; }

static inline value number(double d) {
    value v;
    memcpy(&v, &d, sizeof v);
    return v;
}

static inline double number_of(value v) {
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

/* -0 is the key 0. */
static inline value as_key(value v) { return is_number(v) ? number(number_of(v) + 0.0) : v; }

static inline value boolean(bool b) { return b ? TRUE_VALUE : FALSE_VALUE; }
static inline void *object_of(value v) { return (void *)(uintptr_t)(v & ~OBJECT_BITS); }
static inline value value_of(const void *o) { return (value)(uintptr_t)o | OBJECT_BITS; }
