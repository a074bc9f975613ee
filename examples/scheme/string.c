/* string.c - primitives on strings, characters and symbols. Strings are bytes; UTF-8 passes through. */
#include "scheme.h"

#include <ctype.h>

static const char *bytes_of(value v) { return string_of(v)->bytes; }

/* A part of the string a[index] as a new string. Where its bytes are is asked after the allocation. */
static value copy_part(machine *m, value *a, uint32_t index, span s) {
    value copy = make_string(m, NULL, s.end - s.start);
    memcpy(string_of(copy)->bytes, bytes_of(a[index]) + s.start, s.end - s.start);
    return copy;
}

static value string_copy(machine *m, value *a, uint32_t count) {
    want_string(m, "substring", a, 0);
    return copy_part(m, a, 0, want_span(m, "substring", a, count, 1, string_length(a[0])));
}

static value string_make(machine *m, value *a, uint32_t count) {
    intptr_t length = want_fixnum(m, "make-string", a, 0);
    if (length < 0) error_argument(m, "make-string", 0, "a length", a[0]);
    if (count > 1 && !is_character(a[1])) error_argument(m, "make-string", 1, "a character", a[1]);
    value s = make_string(m, NULL, (size_t)length);
    memset(string_of(s)->bytes, count > 1 ? (int)character_of(a[1]) : ' ', (size_t)length);
    return s;
}

static uint32_t want_character(machine *m, const char *who, value *a, uint32_t index) {
    if (!is_character(a[index])) error_argument(m, who, index, "a character", a[index]);
    return character_of(a[index]);
}

static value string_string(machine *m, value *a, uint32_t count) {
    m->token.length = 0;
    for (uint32_t i = 0; i < count; i++) {
        char bytes[4];
        text_add(&m->token, bytes, print_character_bytes(want_character(m, "string", a, i), bytes));
    }
    return make_string(m, count ? m->token.bytes : NULL, m->token.length);
}

static value string_length_of(machine *m, value *a, uint32_t count) {
    (void)count, want_string(m, "string-length", a, 0);
    return fixnum((intptr_t)string_length(a[0]));
}

static size_t want_place(machine *m, const char *who, value *a) {
    want_string(m, who, a, 0);
    size_t i = want_index(m, who, a, 1, string_length(a[0]));
    if (i == string_length(a[0])) error_range(m, who, (intptr_t)i, i);
    return i;
}

static value string_ref(machine *m, value *a, uint32_t count) {
    (void)count;
    size_t i = want_place(m, "string-ref", a);
    return character((unsigned char)bytes_of(a[0])[i]);
}

static value string_set(machine *m, value *a, uint32_t count) {
    (void)count;
    size_t i = want_place(m, "string-set!", a);
    uint32_t c = want_character(m, "string-set!", a, 2);
    if (c > 255) error_argument(m, "string-set!", 2, "a character of one byte", a[2]);
    string_of(a[0])->bytes[i] = (char)c;
    return NONE;
}

static value string_append(machine *m, value *a, uint32_t count) {
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        want_string(m, "string-append", a, i);
        length += string_length(a[i]);
    }
    value s = make_string(m, NULL, length);
    char *to = string_of(s)->bytes;
    for (uint32_t i = 0; i < count; to += string_length(a[i]), i++) memcpy(to, bytes_of(a[i]), string_length(a[i]));
    return s;
}

static int compare(value a, value b) {
    size_t x = string_length(a), y = string_length(b);
    int order = memcmp(bytes_of(a), bytes_of(b), x < y ? x : y);
    return order ? order : (x > y) - (x < y);
}

#define STRING_ORDER(function, name, condition)                          \
    static value function(machine *m, value *a, uint32_t count) {        \
        bool holds = true;                                               \
        for (uint32_t i = 0; i < count; i++) want_string(m, name, a, i); \
        for (uint32_t i = 0; i + 1 < count; i++) {                       \
            int order = compare(a[i], a[i + 1]);                         \
            holds = holds && (condition);                                \
        }                                                                \
        return boolean(holds);                                           \
    }
STRING_ORDER(string_equal, "string=?", order == 0)
STRING_ORDER(string_less, "string<?", order < 0)
STRING_ORDER(string_greater, "string>?", order > 0)
STRING_ORDER(string_less_equal, "string<=?", order <= 0)
STRING_ORDER(string_greater_equal, "string>=?", order >= 0)

static value map_bytes(machine *m, const char *who, value *a, int (*change)(int)) {
    want_string(m, who, a, 0);
    value s = copy_part(m, a, 0, (span){0, string_length(a[0])});
    for (size_t i = 0; i < string_length(s); i++) {
        unsigned char c = (unsigned char)string_of(s)->bytes[i];
        if (c < 128) string_of(s)->bytes[i] = (char)change(c);
    }
    return s;
}
static value string_upcase(machine *m, value *a, uint32_t n) {
    return (void)n, map_bytes(m, "string-upcase", a, toupper);
}
static value string_downcase(machine *m, value *a, uint32_t n) {
    return (void)n, map_bytes(m, "string-downcase", a, tolower);
}

static value string_to_list(machine *m, value *a, uint32_t count) {
    want_string(m, "string->list", a, 0);
    span s = want_span(m, "string->list", a, count, 1, string_length(a[0]));
    for (size_t i = s.start; i < s.end; i++) machine_push(m, character((unsigned char)bytes_of(a[0])[i]));
    return machine_list(m, s.end - s.start);
}

static value string_from_list(machine *m, value *a, uint32_t count) {
    (void)count;
    if (!is_list(a[0])) error_argument(m, "list->string", 0, "a list of characters", a[0]);
    m->token.length = 0;
    for (value v = a[0]; v != NIL; v = cdr(v)) {
        char bytes[4];
        if (!is_character(car(v))) error_argument(m, "list->string", 0, "a list of characters", a[0]);
        text_add(&m->token, bytes, print_character_bytes(character_of(car(v)), bytes));
    }
    return make_string(m, m->token.length ? m->token.bytes : NULL, m->token.length);
}

/* (string-search text pattern start): the first place of the pattern at or after start, or #f. */
static value string_search(machine *m, value *a, uint32_t count) {
    want_string(m, "string-search", a, 0);
    want_string(m, "string-search", a, 1);
    size_t length = string_length(a[0]), wanted = string_length(a[1]);
    size_t i = count > 2 ? want_index(m, "string-search", a, 2, length) : 0;
    for (; i + wanted <= length; i++)
        if (!memcmp(bytes_of(a[0]) + i, bytes_of(a[1]), wanted)) return fixnum((intptr_t)i);
    return FALSE_VALUE;
}

static value string_to_symbol(machine *m, value *a, uint32_t count) {
    (void)count, want_string(m, "string->symbol", a, 0);
    m->token.length = 0; /* the name must be off the heap while the symbol is made */
    text_add(&m->token, bytes_of(a[0]), string_length(a[0]));
    return intern(m, m->token.bytes, m->token.length);
}

/* The name itself is shared by all who ask, so it is copied. */
static value string_from_symbol(machine *m, value *a, uint32_t count) {
    (void)count;
    want_kind(m, "symbol->string", a, 0, KIND_SYMBOL, "a symbol");
    value s = make_string(m, NULL, string_length(symbol_of(a[0])->name));
    memcpy(string_of(s)->bytes, bytes_of(symbol_of(a[0])->name), string_length(s));
    return s;
}

static value string_gensym(machine *m, value *a, uint32_t count) {
    static unsigned number;
    (void)a, (void)count;
    char name[40];
    snprintf(name, sizeof name, "g%u", ++number);
    return intern_text(m, name);
}

/* Characters. */

#define CHARACTER_ORDER(function, name, relation)                                         \
    static value function(machine *m, value *a, uint32_t count) {                         \
        bool holds = true;                                                                \
        for (uint32_t i = 0; i < count; i++) want_character(m, name, a, i);               \
        for (uint32_t i = 0; i + 1 < count; i++) holds = holds && a[i] relation a[i + 1]; \
        return boolean(holds);                                                            \
    }
CHARACTER_ORDER(char_equal, "char=?", ==)
CHARACTER_ORDER(char_less, "char<?", <)
CHARACTER_ORDER(char_greater, "char>?", >)
CHARACTER_ORDER(char_less_equal, "char<=?", <=)
CHARACTER_ORDER(char_greater_equal, "char>=?", >=)

#define CHARACTER_CLASS(function, name, condition)                \
    static value function(machine *m, value *a, uint32_t count) { \
        (void)count;                                              \
        uint32_t c = want_character(m, name, a, 0);               \
        return boolean(c < 128 && condition((int)c));             \
    }
CHARACTER_CLASS(char_is_alphabetic, "char-alphabetic?", isalpha)
CHARACTER_CLASS(char_is_numeric, "char-numeric?", isdigit)
CHARACTER_CLASS(char_is_whitespace, "char-whitespace?", isspace)
CHARACTER_CLASS(char_is_upper, "char-upper-case?", isupper)
CHARACTER_CLASS(char_is_lower, "char-lower-case?", islower)

static value char_upcase(machine *m, value *a, uint32_t count) {
    (void)count;
    uint32_t c = want_character(m, "char-upcase", a, 0);
    return c < 128 ? character((uint32_t)toupper((int)c)) : a[0];
}
static value char_downcase(machine *m, value *a, uint32_t count) {
    (void)count;
    uint32_t c = want_character(m, "char-downcase", a, 0);
    return c < 128 ? character((uint32_t)tolower((int)c)) : a[0];
}
static value char_to_integer(machine *m, value *a, uint32_t count) {
    (void)count;
    return fixnum((intptr_t)want_character(m, "char->integer", a, 0));
}
static value char_from_integer(machine *m, value *a, uint32_t count) {
    (void)count;
    intptr_t code = want_fixnum(m, "integer->char", a, 0);
    if (code < 0 || code > 0x10ffff) error_argument(m, "integer->char", 0, "a character code", a[0]);
    return character((uint32_t)code);
}
static value char_digit(machine *m, value *a, uint32_t count) {
    (void)count;
    uint32_t c = want_character(m, "digit-value", a, 0);
    return c >= '0' && c <= '9' ? fixnum((intptr_t)c - '0') : FALSE_VALUE;
}

static const primitive_info primitives[] = {
    {"substring", string_copy, 1, 3},
    {"string-copy", string_copy, 1, 3},
    {"make-string", string_make, 1, 2},
    {"string", string_string, 0, -1},
    {"string-length", string_length_of, 1, 1},
    {"string-ref", string_ref, 2, 2},
    {"string-set!", string_set, 3, 3},
    {"string-append", string_append, 0, -1},
    {"string=?", string_equal, 1, -1},
    {"string<?", string_less, 1, -1},
    {"string>?", string_greater, 1, -1},
    {"string<=?", string_less_equal, 1, -1},
    {"string>=?", string_greater_equal, 1, -1},
    {"string-upcase", string_upcase, 1, 1},
    {"string-downcase", string_downcase, 1, 1},
    {"string->list", string_to_list, 1, 3},
    {"list->string", string_from_list, 1, 1},
    {"string-search", string_search, 2, 3},
    {"string->symbol", string_to_symbol, 1, 1},
    {"symbol->string", string_from_symbol, 1, 1},
    {"gensym", string_gensym, 0, 0},
    {"char=?", char_equal, 1, -1},
    {"char<?", char_less, 1, -1},
    {"char>?", char_greater, 1, -1},
    {"char<=?", char_less_equal, 1, -1},
    {"char>=?", char_greater_equal, 1, -1},
    {"char-alphabetic?", char_is_alphabetic, 1, 1},
    {"char-numeric?", char_is_numeric, 1, 1},
    {"char-whitespace?", char_is_whitespace, 1, 1},
    {"char-upper-case?", char_is_upper, 1, 1},
    {"char-lower-case?", char_is_lower, 1, 1},
    {"char-upcase", char_upcase, 1, 1},
    {"char-downcase", char_downcase, 1, 1},
    {"char->integer", char_to_integer, 1, 1},
    {"integer->char", char_from_integer, 1, 1},
    {"digit-value", char_digit, 1, 1},
};

void string_init(machine *m) { machine_define(m, primitives, sizeof primitives / sizeof *primitives); }
