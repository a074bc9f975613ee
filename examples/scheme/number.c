/* number.c - fixnums and flonums. An exact result that does not fit a fixnum becomes a flonum.

   Operands are decoded before a result is allocated, so none of this needs roots. */
#include "scheme.h"

#include <math.h>
#include <stdlib.h>

bool is_number(value v) { return is_fixnum(v) || is_kind(v, KIND_FLONUM); }

double number_double(value v) { return is_fixnum(v) ? (double)fixnum_of(v) : flonum_of(v)->number; }

value number_integer(machine *m, double d) {
    return d >= (double)FIXNUM_MIN && d < -(double)FIXNUM_MIN && d == floor(d) ? fixnum((intptr_t)d)
                                                                               : make_flonum(m, d);
}

static value from_wide(machine *m, __int128 n) {
    return n >= FIXNUM_MIN && n <= FIXNUM_MAX ? fixnum((intptr_t)n) : make_flonum(m, (double)n);
}

static double operand(machine *m, const char *who, uint32_t index, value v) {
    if (!is_number(v)) error_argument(m, who, index, "a number", v);
    return number_double(v);
}

value number_add(machine *m, value a, value b) {
    if (are_fixnums(a, b)) return from_wide(m, (__int128)fixnum_of(a) + fixnum_of(b));
    double x = operand(m, "+", 0, a);
    return make_flonum(m, x + operand(m, "+", 1, b));
}

value number_subtract(machine *m, value a, value b) {
    if (are_fixnums(a, b)) return from_wide(m, (__int128)fixnum_of(a) - fixnum_of(b));
    double x = operand(m, "-", 0, a);
    return make_flonum(m, x - operand(m, "-", 1, b));
}

value number_multiply(machine *m, value a, value b) {
    if (are_fixnums(a, b)) return from_wide(m, (__int128)fixnum_of(a) * fixnum_of(b));
    double x = operand(m, "*", 0, a);
    return make_flonum(m, x * operand(m, "*", 1, b));
}

static value divide(machine *m, value a, value b) {
    double x = operand(m, "/", 0, a), y = operand(m, "/", 1, b);
    if (b == fixnum(0)) error_throw(m, "/: division by zero");
    if (are_fixnums(a, b) && fixnum_of(a) % fixnum_of(b) == 0)
        return from_wide(m, (__int128)fixnum_of(a) / fixnum_of(b));
    return make_flonum(m, x / y);
}

enum division { QUOTIENT, REMAINDER, MODULO };

/* Integer division; flonums take part if they are whole. */
static value integer_divide(machine *m, const char *who, value a, value b, enum division kind) {
    double x = operand(m, who, 0, a), y = operand(m, who, 1, b);
    if (y == 0) error_throw(m, "%s: division by zero", who);
    if (are_fixnums(a, b)) {
        intptr_t p = fixnum_of(a), q = fixnum_of(b), rest = p % q;
        if (kind == QUOTIENT) return from_wide(m, (__int128)p / q);
        return fixnum(kind == MODULO && rest != 0 && (rest < 0) != (q < 0) ? rest + q : rest);
    }
    if (x != floor(x)) error_argument(m, who, 0, "an integer", a);
    if (y != floor(y)) error_argument(m, who, 1, "an integer", b);
    if (kind == QUOTIENT) return make_flonum(m, trunc(x / y));
    double rest = fmod(x, y);
    return make_flonum(m, kind == MODULO && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

value number_quotient(machine *m, value a, value b) { return integer_divide(m, "quotient", a, b, QUOTIENT); }
value number_remainder(machine *m, value a, value b) { return integer_divide(m, "remainder", a, b, REMAINDER); }

int number_compare(machine *m, const char *who, value a, value b) {
    if (are_fixnums(a, b)) return ((intptr_t)a > (intptr_t)b) - ((intptr_t)a < (intptr_t)b);
    double x = operand(m, who, 0, a), y = operand(m, who, 1, b);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

/* Text. */

static size_t format_integer(intptr_t n, int radix, char buffer[80]) {
    char digits[72];
    size_t count = 0, length = 0;
    uintptr_t rest = n < 0 ? -(uintptr_t)n : (uintptr_t)n;
    do digits[count++] = "0123456789abcdefghijklmnopqrstuvwxyz"[rest % (uintptr_t)radix];
    while (rest /= (uintptr_t)radix);
    if (n < 0) buffer[length++] = '-';
    while (count) buffer[length++] = digits[--count];
    return length;
}

/* The shortest digits that read back as the same number, and a mark that it is not an exact integer. */
static size_t format_double(double d, char buffer[80]) {
    if (isnan(d)) return (size_t)snprintf(buffer, 80, "+nan.0");
    if (isinf(d)) return (size_t)snprintf(buffer, 80, d < 0 ? "-inf.0" : "+inf.0");
    size_t length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = (size_t)snprintf(buffer, 80, "%.*g", digits, d);
        if (strtod(buffer, NULL) == d) break;
    }
    if (!strpbrk(buffer, ".e")) length += (size_t)snprintf(buffer + length, 80 - length, ".0");
    return length;
}

size_t number_format(value v, int radix, char buffer[80]) {
    return is_fixnum(v) ? format_integer(fixnum_of(v), radix, buffer) : format_double(flonum_of(v)->number, buffer);
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

/* An integer; false if there is anything but a sign and digits. One too large for a fixnum becomes a flonum. */
static bool parse_integer(machine *m, const char *bytes, size_t length, int radix, value *result) {
    size_t i = bytes[0] == '-' || bytes[0] == '+';
    if (i == length) return false;
    double wide = 0;
    intptr_t n = 0;
    bool fits = true;
    for (; i < length; i++) {
        int digit = digit_of(bytes[i]);
        if (digit >= radix) return false;
        wide = wide * radix + digit;
        fits = fits && n <= (FIXNUM_MAX - digit) / radix;
        if (fits) n = n * radix + digit;
    }
    if (bytes[0] == '-') n = -n, wide = -wide;
    *result = fits ? fixnum(n) : make_flonum(m, wide);
    return true;
}

static bool is_decimal(const char *bytes, size_t length) {
    bool digit = false;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        if (c >= '0' && c <= '9')
            digit = true;
        else if (c == 'e' || c == 'E') {
            if (!digit || i + 1 == length) return false;
        } else if (c == '+' || c == '-') {
            if (i != 0 && bytes[i - 1] != 'e' && bytes[i - 1] != 'E') return false;
        } else if (c != '.')
            return false;
    }
    return digit;
}

bool number_parse(machine *m, const char *bytes, size_t length, int radix, value *result) {
    char copy[400], *end;
    if (length == 0 || length >= sizeof copy) return false;
    if (parse_integer(m, bytes, length, radix, result)) return true;
    if (radix != 10) return false;
    double d;
    if (length == 6 && !memcmp(bytes + 1, "inf.0", 5) && (*bytes == '+' || *bytes == '-'))
        d = *bytes == '-' ? -INFINITY : INFINITY;
    else if (length == 6 && (!memcmp(bytes, "+nan.0", 6) || !memcmp(bytes, "-nan.0", 6)))
        d = NAN;
    else {
        if (!is_decimal(bytes, length)) return false;
        memcpy(copy, bytes, length);
        copy[length] = 0;
        d = strtod(copy, &end);
        if (end != copy + length) return false;
    }
    *result = make_flonum(m, d);
    return true;
}

/* Primitives. */

static value fold(machine *m, value *arguments, uint32_t count, value (*combine)(machine *, value, value),
                  value first) {
    value result = first; /* fresh numbers only: nothing older is held across combine */
    for (uint32_t i = 0; i < count; i++) result = combine(m, result, arguments[i]);
    return result;
}

static value number_sum(machine *m, value *arguments, uint32_t count) {
    return fold(m, arguments, count, number_add, fixnum(0));
}

static value number_product(machine *m, value *arguments, uint32_t count) {
    return fold(m, arguments, count, number_multiply, fixnum(1));
}

static value number_difference(machine *m, value *arguments, uint32_t count) {
    if (count == 1) return number_subtract(m, fixnum(0), arguments[0]);
    return fold(m, arguments + 1, count - 1, number_subtract, arguments[0]);
}

static value number_ratio(machine *m, value *arguments, uint32_t count) {
    if (count == 1) return divide(m, fixnum(1), arguments[0]);
    return fold(m, arguments + 1, count - 1, divide, arguments[0]);
}

#define CHAIN(function, name, condition)                                         \
    static value function(machine *m, value *arguments, uint32_t count) {        \
        bool holds = true;                                                       \
        if (count == 1) operand(m, name, 0, arguments[0]);                       \
        for (uint32_t i = 0; i + 1 < count; i++) {                               \
            int order = number_compare(m, name, arguments[i], arguments[i + 1]); \
            holds = holds && (condition);                                        \
        }                                                                        \
        return boolean(holds);                                                   \
    }
CHAIN(number_equal, "=", order == 0)
CHAIN(number_less, "<", order == -1)
CHAIN(number_greater, ">", order == 1)
CHAIN(number_less_equal, "<=", order <= 0)
CHAIN(number_greater_equal, ">=", order == 0 || order == 1)

static value number_quotient_of(machine *m, value *a, uint32_t count) {
    (void)count;
    return number_quotient(m, a[0], a[1]);
}
static value number_remainder_of(machine *m, value *a, uint32_t count) {
    (void)count;
    return number_remainder(m, a[0], a[1]);
}
static value number_modulo(machine *m, value *a, uint32_t count) {
    (void)count;
    return integer_divide(m, "modulo", a[0], a[1], MODULO);
}

static value extreme(machine *m, const char *who, value *arguments, uint32_t count, int wanted) {
    uint32_t best = 0;
    bool inexact = false;
    for (uint32_t i = 0; i < count; i++) {
        operand(m, who, i, arguments[i]);
        inexact = inexact || !is_fixnum(arguments[i]);
        if (number_compare(m, who, arguments[i], arguments[best]) == wanted) best = i;
    }
    return inexact ? make_flonum(m, number_double(arguments[best])) : arguments[best];
}
static value number_max(machine *m, value *arguments, uint32_t count) { return extreme(m, "max", arguments, count, 1); }
static value number_min(machine *m, value *arguments, uint32_t count) {
    return extreme(m, "min", arguments, count, -1);
}

static value number_is_number(machine *m, value *a, uint32_t count) {
    (void)m, (void)count;
    return boolean(is_number(a[0]));
}
static value number_is_integer(machine *m, value *a, uint32_t count) {
    (void)m, (void)count;
    return boolean(is_number(a[0]) && number_double(a[0]) == floor(number_double(a[0])) && !isinf(number_double(a[0])));
}
static value number_is_exact(machine *m, value *a, uint32_t count) {
    (void)count, operand(m, "exact?", 0, a[0]);
    return boolean(is_fixnum(a[0]));
}
static value number_is_inexact(machine *m, value *a, uint32_t count) {
    (void)count, operand(m, "inexact?", 0, a[0]);
    return boolean(!is_fixnum(a[0]));
}
static value number_is_exact_integer(machine *m, value *a, uint32_t count) {
    (void)m, (void)count;
    return boolean(is_fixnum(a[0]));
}
static value number_is_nan(machine *m, value *a, uint32_t count) {
    (void)count;
    return boolean(isnan(operand(m, "nan?", 0, a[0])));
}

static value number_to_exact(machine *m, value *a, uint32_t count) {
    (void)count;
    if (is_fixnum(a[0])) return a[0];
    double d = operand(m, "exact", 0, a[0]);
    value v = number_integer(m, d);
    if (!is_fixnum(v)) error_argument(m, "exact", 0, "a whole number that fits a fixnum", a[0]);
    return v;
}
static value number_to_inexact(machine *m, value *a, uint32_t count) {
    (void)count;
    return make_flonum(m, operand(m, "inexact", 0, a[0]));
}

/* Functions that leave integers alone. */
#define ROUNDING(function, name, c_function)                           \
    static value function(machine *m, value *a, uint32_t count) {      \
        (void)count;                                                   \
        double d = operand(m, name, 0, a[0]);                          \
        return is_fixnum(a[0]) ? a[0] : make_flonum(m, c_function(d)); \
    }
ROUNDING(number_floor, "floor", floor)
ROUNDING(number_ceiling, "ceiling", ceil)
ROUNDING(number_round, "round", nearbyint)
ROUNDING(number_truncate, "truncate", trunc)

#define REAL_FUNCTION(function, name, c_function)                     \
    static value function(machine *m, value *a, uint32_t count) {     \
        (void)count;                                                  \
        return make_flonum(m, c_function(operand(m, name, 0, a[0]))); \
    }
REAL_FUNCTION(number_exp, "exp", exp)
REAL_FUNCTION(number_sin, "sin", sin)
REAL_FUNCTION(number_cos, "cos", cos)
REAL_FUNCTION(number_tan, "tan", tan)
REAL_FUNCTION(number_asin, "asin", asin)
REAL_FUNCTION(number_acos, "acos", acos)

static value number_log(machine *m, value *a, uint32_t count) {
    double d = log(operand(m, "log", 0, a[0]));
    return make_flonum(m, count == 2 ? d / log(operand(m, "log", 1, a[1])) : d);
}
static value number_atan(machine *m, value *a, uint32_t count) {
    double d = operand(m, "atan", 0, a[0]);
    return make_flonum(m, count == 2 ? atan2(d, operand(m, "atan", 1, a[1])) : atan(d));
}

static value number_sqrt(machine *m, value *a, uint32_t count) {
    (void)count;
    double root = sqrt(operand(m, "sqrt", 0, a[0]));
    return is_fixnum(a[0]) && root * root == (double)fixnum_of(a[0]) && root < 0x1p31 ? number_integer(m, root)
                                                                                      : make_flonum(m, root);
}

static value number_exact_integer_sqrt(machine *m, value *a, uint32_t count) {
    (void)count;
    intptr_t n = want_fixnum(m, "isqrt", a, 0);
    if (n < 0) error_argument(m, "isqrt", 0, "not negative", a[0]);
    intptr_t root = (intptr_t)sqrt((double)n);
    while (root * root > n) root--;
    while ((root + 1) * (root + 1) <= n) root++;
    return fixnum(root);
}

static value number_expt(machine *m, value *a, uint32_t count) {
    (void)count;
    double x = operand(m, "expt", 0, a[0]), y = operand(m, "expt", 1, a[1]);
    if (!are_fixnums(a[0], a[1]) || fixnum_of(a[1]) < 0) return make_flonum(m, pow(x, y));
    intptr_t result = 1, base = fixnum_of(a[0]);
    for (intptr_t exponent = fixnum_of(a[1]); exponent > 0; exponent >>= 1) {
        if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) return make_flonum(m, pow(x, y));
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return make_flonum(m, pow(x, y));
    }
    return result >= FIXNUM_MIN && result <= FIXNUM_MAX ? fixnum(result) : make_flonum(m, pow(x, y));
}

static int want_radix(machine *m, const char *who, value *a, uint32_t count) {
    intptr_t radix = count > 1 ? want_fixnum(m, who, a, 1) : 10;
    if (radix < 2 || radix > 36) error_argument(m, who, 1, "a radix from 2 to 36", a[1]);
    return (int)radix;
}

static value number_to_string(machine *m, value *a, uint32_t count) {
    operand(m, "number->string", 0, a[0]);
    char buffer[80];
    size_t length = number_format(a[0], want_radix(m, "number->string", a, count), buffer);
    return make_string(m, buffer, length);
}

static value number_from_string(machine *m, value *a, uint32_t count) {
    want_string(m, "string->number", a, 0);
    char bytes[400];
    size_t length = string_length(a[0]);
    if (length >= sizeof bytes) return FALSE_VALUE;
    memcpy(bytes, string_of(a[0])->bytes, length);
    value result;
    return number_parse(m, bytes, length, want_radix(m, "string->number", a, count), &result) ? result : FALSE_VALUE;
}

/* Bit operations on fixnums. */
#define BITWISE(function, name, operation)                                              \
    static value function(machine *m, value *a, uint32_t count) {                       \
        (void)count;                                                                    \
        return fixnum(want_fixnum(m, name, a, 0) operation want_fixnum(m, name, a, 1)); \
    }
BITWISE(number_and, "bitwise-and", &)
BITWISE(number_or, "bitwise-or", |)
BITWISE(number_xor, "bitwise-xor", ^)

static value number_shift(machine *m, value *a, uint32_t count) {
    (void)count;
    intptr_t n = want_fixnum(m, "arithmetic-shift", a, 0), by = want_fixnum(m, "arithmetic-shift", a, 1);
    if (by <= 0) return fixnum(n >> (by < -62 ? 62 : -by));
    return by > 64 ? make_flonum(m, ldexp((double)n, by > 5000 ? 5000 : (int)by))
                   : from_wide(m, (__int128)n * ((__int128)1 << by));
}

static const primitive_info primitives[] = {
    {"+", number_sum, 0, -1},
    {"*", number_product, 0, -1},
    {"-", number_difference, 1, -1},
    {"/", number_ratio, 1, -1},
    {"=", number_equal, 1, -1},
    {"<", number_less, 1, -1},
    {">", number_greater, 1, -1},
    {"<=", number_less_equal, 1, -1},
    {">=", number_greater_equal, 1, -1},
    {"quotient", number_quotient_of, 2, 2},
    {"remainder", number_remainder_of, 2, 2},
    {"modulo", number_modulo, 2, 2},
    {"truncate-quotient", number_quotient_of, 2, 2},
    {"truncate-remainder", number_remainder_of, 2, 2},
    {"floor-remainder", number_modulo, 2, 2},
    {"max", number_max, 1, -1},
    {"min", number_min, 1, -1},
    {"number?", number_is_number, 1, 1},
    {"real?", number_is_number, 1, 1},
    {"integer?", number_is_integer, 1, 1},
    {"exact?", number_is_exact, 1, 1},
    {"inexact?", number_is_inexact, 1, 1},
    {"exact-integer?", number_is_exact_integer, 1, 1},
    {"nan?", number_is_nan, 1, 1},
    {"exact", number_to_exact, 1, 1},
    {"inexact->exact", number_to_exact, 1, 1},
    {"inexact", number_to_inexact, 1, 1},
    {"exact->inexact", number_to_inexact, 1, 1},
    {"floor", number_floor, 1, 1},
    {"ceiling", number_ceiling, 1, 1},
    {"round", number_round, 1, 1},
    {"truncate", number_truncate, 1, 1},
    {"exp", number_exp, 1, 1},
    {"log", number_log, 1, 2},
    {"sin", number_sin, 1, 1},
    {"cos", number_cos, 1, 1},
    {"tan", number_tan, 1, 1},
    {"asin", number_asin, 1, 1},
    {"acos", number_acos, 1, 1},
    {"atan", number_atan, 1, 2},
    {"sqrt", number_sqrt, 1, 1},
    {"isqrt", number_exact_integer_sqrt, 1, 1},
    {"expt", number_expt, 2, 2},
    {"number->string", number_to_string, 1, 2},
    {"string->number", number_from_string, 1, 2},
    {"bitwise-and", number_and, 2, 2},
    {"bitwise-or", number_or, 2, 2},
    {"bitwise-xor", number_xor, 2, 2},
    {"arithmetic-shift", number_shift, 2, 2},
};

void number_init(machine *m) { machine_define(m, primitives, sizeof primitives / sizeof *primitives); }
