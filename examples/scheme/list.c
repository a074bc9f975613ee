/* list.c - primitives on pairs, lists, vectors and records, and the predicates of kinds. */
#include "scheme.h"

#define PREDICATE(function, condition)                            \
    static value function(machine *m, value *a, uint32_t count) { \
        (void)m, (void)count;                                     \
        return boolean(condition);                                \
    }
PREDICATE(list_is_pair, is_pair(a[0]))
PREDICATE(list_is_null, a[0] == NIL)
PREDICATE(list_is_list, is_list(a[0]))
PREDICATE(list_is_symbol, is_kind(a[0], KIND_SYMBOL))
PREDICATE(list_is_string, is_kind(a[0], KIND_STRING))
PREDICATE(list_is_char, is_character(a[0]))
PREDICATE(list_is_boolean, a[0] == TRUE_VALUE || a[0] == FALSE_VALUE)
PREDICATE(list_is_vector, is_kind(a[0], KIND_VECTOR))
PREDICATE(list_is_eof, a[0] == END_OF_FILE)
PREDICATE(list_is_procedure, is_kind(a[0], KIND_CLOSURE) || is_kind(a[0], KIND_PRIMITIVE) || is_kind(a[0], KIND_ESCAPE))
PREDICATE(list_not, a[0] == FALSE_VALUE)
PREDICATE(list_eq, a[0] == a[1])
PREDICATE(list_eqv, is_eqv(a[0], a[1]))
PREDICATE(list_equal, is_equal(a[0], a[1]))
PREDICATE(list_is_record, is_kind(a[0], KIND_RECORD) && record_of(a[0])->type == a[1])

static value list_cons(machine *m, value *a, uint32_t count) {
    (void)count;
    pair *p = make(m, KIND_PAIR);
    p->car = a[0];
    p->cdr = a[1];
    return value_of(p);
}

static void want_pair(machine *m, const char *who, value *a) {
    if (!is_pair(a[0])) error_argument(m, who, 0, "a pair", a[0]);
}

/* A path of car and cdr: the letters of the name between c and r, the last one first. */
static value path(machine *m, const char *who, value *a) {
    value v = a[0];
    for (const char *letter = who + strlen(who) - 2; *letter != 'c'; letter--) {
        if (!is_pair(v)) error_argument(m, who, 0, "a list or tree deep enough", a[0]);
        v = *letter == 'a' ? car(v) : cdr(v);
    }
    return v;
}
#define PATH(name) \
    static value list_##name(machine *m, value *a, uint32_t count) { return (void)count, path(m, #name, a); }
/* clang-format off */
PATH(car) PATH(cdr) PATH(caar) PATH(cadr) PATH(cdar) PATH(cddr) PATH(caaar) PATH(caadr) PATH(cadar) PATH(caddr)
PATH(cdaar) PATH(cdadr) PATH(cddar) PATH(cdddr) PATH(cadddr) PATH(cddddr)
    /* clang-format on */

    static value list_set_car(machine *m, value *a, uint32_t count) {
    (void)count, want_pair(m, "set-car!", a);
    set_field(m, &pair_of(a[0])->car, a[1]);
    return NONE;
}
static value list_set_cdr(machine *m, value *a, uint32_t count) {
    (void)count, want_pair(m, "set-cdr!", a);
    set_field(m, &pair_of(a[0])->cdr, a[1]);
    return NONE;
}

static value list_list(machine *m, value *a, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) machine_push(m, a[i]);
    return machine_list(m, count);
}

static void want_list(machine *m, const char *who, value *a, uint32_t index) {
    if (!is_list(a[index])) error_argument(m, who, index, "a list", a[index]);
}

static value list_length_of(machine *m, value *a, uint32_t count) {
    (void)count, want_list(m, "length", a, 0);
    return fixnum((intptr_t)list_length(a[0]));
}

/* A copy of the list front, ending in tail. It is built on the machine's stack, hence from its end. */
static value append_two(machine *m, value front, value tail) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, tail);
    size_t length = 0;
    for (; front != NIL; front = cdr(front), length++) machine_push(m, car(front));
    for (; length > 0; length--) {
        pair *p = make(m, KIND_PAIR);
        p->car = machine_pop(m);
        p->cdr = tail;
        tail = value_of(p);
    }
    return tail;
}

static value list_append(machine *m, value *a, uint32_t count) {
    if (count == 0) return NIL;
    value result = a[count - 1];
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, result);
    for (uint32_t i = count - 1; i-- > 0;) {
        want_list(m, "append", a, i);
        result = append_two(m, a[i], result);
    }
    return result;
}

static value list_reverse(machine *m, value *a, uint32_t count) {
    (void)count, want_list(m, "reverse", a, 0);
    value rest = a[0], result = NIL;
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, rest, result);
    for (; rest != NIL; rest = cdr(rest)) {
        pair *p = make(m, KIND_PAIR);
        p->car = car(rest);
        p->cdr = result;
        result = value_of(p);
    }
    return result;
}

static value list_reverse_in_place(machine *m, value *a, uint32_t count) {
    (void)count, want_list(m, "reverse!", a, 0);
    value rest = a[0], result = NIL;
    while (rest != NIL) {
        value next = cdr(rest);
        set_field(m, &pair_of(rest)->cdr, result);
        result = rest;
        rest = next;
    }
    return result;
}

static value tail_of(machine *m, const char *who, value *a) {
    intptr_t k = want_fixnum(m, who, a, 1);
    value v = a[0];
    for (intptr_t i = 0; i < k; i++, v = cdr(v))
        if (!is_pair(v)) error_range(m, who, k, (size_t)i);
    if (k < 0) error_range(m, who, k, list_length(a[0]));
    return v;
}
static value list_tail(machine *m, value *a, uint32_t count) { return (void)count, tail_of(m, "list-tail", a); }
static value list_ref(machine *m, value *a, uint32_t count) {
    (void)count;
    value v = tail_of(m, "list-ref", a);
    if (!is_pair(v)) error_range(m, "list-ref", fixnum_of(a[1]), list_length(a[0]));
    return car(v);
}

#define MEMBER(function, name, same)                              \
    static value function(machine *m, value *a, uint32_t count) { \
        (void)count;                                              \
        value v = a[1];                                           \
        for (; is_pair(v); v = cdr(v))                            \
            if (same(a[0], car(v))) return v;                     \
        if (v != NIL) error_argument(m, name, 1, "a list", a[1]); \
        return FALSE_VALUE;                                       \
    }
#define ASSOCIATION(function, name, same)                                  \
    static value function(machine *m, value *a, uint32_t count) {          \
        (void)count;                                                       \
        value v = a[1];                                                    \
        for (; is_pair(v) && is_pair(car(v)); v = cdr(v))                  \
            if (same(a[0], car(car(v)))) return car(v);                    \
        if (v != NIL) error_argument(m, name, 1, "a list of pairs", a[1]); \
        return FALSE_VALUE;                                                \
    }
#define SAME(a, b) ((a) == (b))
MEMBER(list_memq, "memq", SAME)
MEMBER(list_memv, "memv", is_eqv)
MEMBER(list_member, "member", is_equal)
ASSOCIATION(list_assq, "assq", SAME)
ASSOCIATION(list_assv, "assv", is_eqv)
ASSOCIATION(list_assoc, "assoc", is_equal)

/* Vectors. */

static void want_vector(machine *m, const char *who, value *a, uint32_t index) {
    want_kind(m, who, a, index, KIND_VECTOR, "a vector");
}

static size_t want_length(machine *m, const char *who, value *a, uint32_t index) {
    intptr_t length = want_fixnum(m, who, a, index);
    if (length < 0) error_argument(m, who, index, "a length", a[index]);
    return (size_t)length;
}

static value list_make_vector(machine *m, value *a, uint32_t count) {
    return make_vector(m, want_length(m, "make-vector", a, 0), count > 1 ? a[1] : fixnum(0));
}

static value list_vector(machine *m, value *a, uint32_t count) {
    value v = make_vector(m, count, fixnum(0));
    memcpy(vector_of(v)->items, a, count * sizeof(value));
    return v;
}

static value list_vector_length(machine *m, value *a, uint32_t count) {
    (void)count, want_vector(m, "vector-length", a, 0);
    return fixnum((intptr_t)vector_length(a[0]));
}

static size_t want_item(machine *m, const char *who, value *a) {
    want_vector(m, who, a, 0);
    size_t index = want_index(m, who, a, 1, vector_length(a[0]));
    if (index == vector_length(a[0])) error_range(m, who, (intptr_t)index, index);
    return index;
}
static value list_vector_ref(machine *m, value *a, uint32_t count) {
    (void)count;
    size_t i = want_item(m, "vector-ref", a);
    return vector_of(a[0])->items[i];
}
static value list_vector_set(machine *m, value *a, uint32_t count) {
    (void)count;
    size_t i = want_item(m, "vector-set!", a);
    set_field(m, &vector_of(a[0])->items[i], a[2]);
    return NONE;
}

static value list_vector_fill(machine *m, value *a, uint32_t count) {
    want_vector(m, "vector-fill!", a, 0);
    span s = want_span(m, "vector-fill!", a, count, 2, vector_length(a[0]));
    for (size_t i = s.start; i < s.end; i++) set_field(m, &vector_of(a[0])->items[i], a[1]);
    return NONE;
}

static value list_vector_copy(machine *m, value *a, uint32_t count) {
    want_vector(m, "vector-copy", a, 0);
    span s = want_span(m, "vector-copy", a, count, 1, vector_length(a[0]));
    value copy = make_vector(m, s.end - s.start, fixnum(0));
    memcpy(vector_of(copy)->items, vector_of(a[0])->items + s.start, (s.end - s.start) * sizeof(value));
    return copy;
}

/* (vector-copy! to at from start end): overlapping too; the barrier for the whole range at once. */
static value list_vector_copy_in(machine *m, value *a, uint32_t count) {
    want_vector(m, "vector-copy!", a, 0);
    size_t at = want_index(m, "vector-copy!", a, 1, vector_length(a[0]));
    want_vector(m, "vector-copy!", a, 2);
    span s = want_span(m, "vector-copy!", a, count, 3, vector_length(a[2]));
    if (s.end - s.start > vector_length(a[0]) - at)
        error_range(m, "vector-copy!", (intptr_t)(at + s.end - s.start), vector_length(a[0]));
    gc_copy_values(m->gc, vector_of(a[0])->items + at, vector_of(a[2])->items + s.start, s.end - s.start);
    return NONE;
}

static value list_vector_append(machine *m, value *a, uint32_t count) {
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        want_vector(m, "vector-append", a, i);
        length += vector_length(a[i]);
    }
    value all = make_vector(m, length, fixnum(0));
    value *to = vector_of(all)->items;
    for (uint32_t i = 0; i < count; to += vector_length(a[i]), i++)
        memcpy(to, vector_of(a[i])->items, vector_length(a[i]) * sizeof(value));
    return all;
}

static value list_vector_to_list(machine *m, value *a, uint32_t count) {
    want_vector(m, "vector->list", a, 0);
    span s = want_span(m, "vector->list", a, count, 1, vector_length(a[0]));
    value list = NIL;
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, list);
    for (size_t i = s.end; i-- > s.start;) {
        pair *p = make(m, KIND_PAIR);
        p->car = vector_of(a[0])->items[i];
        p->cdr = list;
        list = value_of(p);
    }
    return list;
}

static value list_to_vector(machine *m, value *a, uint32_t count) {
    (void)count, want_list(m, "list->vector", a, 0);
    value v = make_vector(m, list_length(a[0]), fixnum(0)), list = a[0];
    for (size_t i = 0; list != NIL; list = cdr(list)) vector_of(v)->items[i++] = car(list);
    return v;
}

/* Records; the definitions that define-record-type makes call these. */

static value list_make_record_type(machine *m, value *a, uint32_t count) {
    (void)count;
    record_type *type = make(m, KIND_RECORD_TYPE);
    type->name = a[0];
    type->fields = a[1];
    return value_of(type);
}

static value list_make_record(machine *m, value *a, uint32_t count) {
    record *r = make_array(m, KIND_RECORD, count - 1);
    r->type = a[0];
    memcpy(r->fields, a + 1, (count - 1) * sizeof(value));
    return value_of(r);
}

static const primitive_info primitives[] = {
    {"pair?", list_is_pair, 1, 1},
    {"null?", list_is_null, 1, 1},
    {"list?", list_is_list, 1, 1},
    {"symbol?", list_is_symbol, 1, 1},
    {"string?", list_is_string, 1, 1},
    {"char?", list_is_char, 1, 1},
    {"boolean?", list_is_boolean, 1, 1},
    {"vector?", list_is_vector, 1, 1},
    {"eof-object?", list_is_eof, 1, 1},
    {"procedure?", list_is_procedure, 1, 1},
    {"not", list_not, 1, 1},
    {"eq?", list_eq, 2, 2},
    {"eqv?", list_eqv, 2, 2},
    {"equal?", list_equal, 2, 2},
    {"cons", list_cons, 2, 2},
    {"car", list_car, 1, 1},
    {"cdr", list_cdr, 1, 1},
    {"caar", list_caar, 1, 1},
    {"cadr", list_cadr, 1, 1},
    {"cdar", list_cdar, 1, 1},
    {"cddr", list_cddr, 1, 1},
    {"caaar", list_caaar, 1, 1},
    {"caadr", list_caadr, 1, 1},
    {"cadar", list_cadar, 1, 1},
    {"caddr", list_caddr, 1, 1},
    {"cdaar", list_cdaar, 1, 1},
    {"cdadr", list_cdadr, 1, 1},
    {"cddar", list_cddar, 1, 1},
    {"cdddr", list_cdddr, 1, 1},
    {"cadddr", list_cadddr, 1, 1},
    {"cddddr", list_cddddr, 1, 1},
    {"set-car!", list_set_car, 2, 2},
    {"set-cdr!", list_set_cdr, 2, 2},
    {"list", list_list, 0, -1},
    {"length", list_length_of, 1, 1},
    {"append", list_append, 0, -1},
    {"%append", list_append, 0, -1},
    {"reverse", list_reverse, 1, 1},
    {"reverse!", list_reverse_in_place, 1, 1},
    {"list-tail", list_tail, 2, 2},
    {"list-ref", list_ref, 2, 2},
    {"memq", list_memq, 2, 2},
    {"memv", list_memv, 2, 2},
    {"%member", list_member, 2, 2},
    {"assq", list_assq, 2, 2},
    {"assv", list_assv, 2, 2},
    {"%assoc", list_assoc, 2, 2},
    {"make-vector", list_make_vector, 1, 2},
    {"vector", list_vector, 0, -1},
    {"vector-length", list_vector_length, 1, 1},
    {"vector-ref", list_vector_ref, 2, 2},
    {"vector-set!", list_vector_set, 3, 3},
    {"vector-fill!", list_vector_fill, 2, 4},
    {"vector-copy", list_vector_copy, 1, 3},
    {"subvector", list_vector_copy, 3, 3},
    {"vector-copy!", list_vector_copy_in, 3, 5},
    {"vector-append", list_vector_append, 0, -1},
    {"vector->list", list_vector_to_list, 1, 3},
    {"list->vector", list_to_vector, 1, 1},
    {"%list->vector", list_to_vector, 1, 1},
    {"%make-record-type", list_make_record_type, 2, 2},
    {"%make-record", list_make_record, 1, -1},
    {"%record?", list_is_record, 2, 2},
};

void list_init(machine *m) { machine_define(m, primitives, sizeof primitives / sizeof *primitives); }
