/* object.c - the types of objects, their constructors, symbols, and what it means to be equal. */
#include "scheme.h"

const gc_type types[KINDS] = {
    [KIND_PAIR] = GC_TYPE_VALUES(pair, car, cdr),
    [KIND_SOURCE_PAIR] = GC_TYPE_VALUES(source_pair, pair.car, pair.cdr),
    [KIND_FLONUM] = GC_TYPE_LEAF(flonum),
    [KIND_STRING] = GC_TYPE_ARRAY_LEAF(string, bytes),
    [KIND_SYMBOL] = GC_TYPE_VALUES(symbol, name),
    [KIND_VECTOR] = GC_TYPE_ARRAY_VALUES(vector, items),
    [KIND_CLOSURE] = GC_TYPE_ARRAY_VALUES(closure, captures),
    [KIND_PRIMITIVE] = GC_TYPE_LEAF(primitive),
    [KIND_ESCAPE] = GC_TYPE_VALUES(escape, outer, handlers),
    [KIND_BOX] = GC_TYPE_VALUES(box, content),
    [KIND_TABLE] = GC_TYPE_VALUES(table, entries),
    [KIND_RECORD] = GC_TYPE_ARRAY_WITH(record, fields, values(type), elements(values)),
    [KIND_RECORD_TYPE] = GC_TYPE_VALUES(record_type, name, fields),
    [KIND_CONDITION] = GC_TYPE_VALUES(condition, message, irritants, where),
    [KIND_PORT] = GC_TYPE_VALUES(port, buffer, name),
    [KIND_VALUES] = GC_TYPE_VALUES(values, list),
};

value make_pair(machine *m, value car, value cdr) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, car, cdr);
    pair *p = make(m, KIND_PAIR);
    p->car = car;
    p->cdr = cdr;
    return value_of(p);
}

value make_string(machine *m, const char *bytes, size_t length) {
    string *s = checked(m, gc_new_with(m->gc, &types[KIND_STRING], length, GC_NEW_RAW));
    if (bytes) memcpy(s->bytes, bytes, length);
    return value_of(s);
}

value make_vector(machine *m, size_t length, value fill) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, fill);
    vector *v = make_array(m, KIND_VECTOR, length);
    /* A vector over GC_LARGE_BYTES is still young, so that these stores need no barrier; zeroed memory is fixnum 0. */
    if (fill != fixnum(0))
        for (size_t i = 0; i < length; i++) v->items[i] = fill;
    return value_of(v);
}

value make_primitive(machine *m, const primitive_info *info) {
    primitive *p = make(m, KIND_PRIMITIVE);
    p->info = info;
    return value_of(p);
}

value vector_grow(machine *m, value v, size_t length) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, v);
    size_t old = vector_length(v), grown = old * 2 > length ? old * 2 : length;
    vector *to = make_array(m, KIND_VECTOR, grown);
    memcpy(to->items, vector_of(v)->items, old * sizeof(value)); /* into a new object: no barrier */
    return value_of(to);
}

/* Constants live in one vector, to which instructions refer by index: code itself holds no reference. */
uint32_t literal_add(machine *m, value v) {
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, v);
    if (m->literals_count == vector_length(m->r.literals))
        m->r.literals = vector_grow(m, m->r.literals, m->literals_count + 1);
    set_field(m, &vector_of(m->r.literals)->items[m->literals_count], v);
    return (uint32_t)m->literals_count++;
}

/* FNV-1a, and a last mix because tables use the low bits. */
uint64_t hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3;
    return hash ^ hash >> 32;
}

/* The slot of the symbol index that holds the symbol of that name, or the empty one (fixnum 0) where it belongs. */
static size_t symbol_slot(value index, const char *bytes, size_t length, uint64_t hash) {
    vector *slots = vector_of(index);
    size_t mask = slots->array.length - 1, i = hash & mask;
    for (; slots->items[i] != fixnum(0); i = (i + 1) & mask) {
        symbol *s = symbol_of(slots->items[i]);
        if (s->hash == hash && string_length(s->name) == length && !memcmp(string_of(s->name)->bytes, bytes, length))
            break;
    }
    return i;
}

static void symbol_index_grow(machine *m) {
    value grown = make_vector(m, vector_length(m->r.symbol_index) * 2, fixnum(0));
    size_t mask = vector_length(grown) - 1;
    for (size_t id = 0; id < m->symbols_count; id++) {
        value s = vector_of(m->r.symbols)->items[id];
        size_t i = symbol_of(s)->hash & mask;
        while (vector_of(grown)->items[i] != fixnum(0)) i = (i + 1) & mask;
        vector_of(grown)->items[i] = s; /* still new: nothing was allocated since */
    }
    m->r.symbol_index = grown;
}

static value symbol_new(machine *m, const char *bytes, size_t length, uint64_t hash) {
    value name = make_string(m, bytes, length);
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, name);
    if (m->symbols_count == vector_length(m->r.symbols)) {
        m->r.symbols = vector_grow(m, m->r.symbols, m->symbols_count + 1);
        value globals = vector_grow(m, m->r.globals, m->symbols_count + 1);
        for (size_t i = m->symbols_count; i < vector_length(globals); i++) vector_of(globals)->items[i] = UNDEFINED;
        m->r.globals = globals;
    }
    symbol *s = make(m, KIND_SYMBOL);
    s->name = name;
    s->hash = hash;
    s->id = (uint32_t)m->symbols_count;
    set_field(m, &vector_of(m->r.symbols)->items[m->symbols_count++], value_of(s));
    return value_of(s);
}

value intern(machine *m, const char *bytes, size_t length) {
    uint64_t hash = hash_bytes(bytes, length);
    value found = vector_of(m->r.symbol_index)->items[symbol_slot(m->r.symbol_index, bytes, length, hash)];
    if (found != fixnum(0)) return found;
    if (m->symbols_count * 2 >= vector_length(m->r.symbol_index)) symbol_index_grow(m);
    value s = symbol_new(m, bytes, length, hash);
    size_t slot = symbol_slot(m->r.symbol_index, bytes, length, hash);
    set_field(m, &vector_of(m->r.symbol_index)->items[slot], s);
    return s;
}

value intern_text(machine *m, const char *text) { return intern(m, text, strlen(text)); }

/* Whether v is a proper list; the hare and tortoise end on cycles. */
bool is_list(value v) {
    for (value slow = v;; slow = cdr(slow)) {
        if (v == NIL) return true;
        if (!is_pair(v)) return false;
        v = cdr(v);
        if (v == NIL) return true;
        if (!is_pair(v)) return false;
        v = cdr(v);
        if (v == slow) return false;
    }
}

size_t list_length(value v) {
    size_t length = 0;
    for (; is_pair(v); v = cdr(v)) length++;
    return length;
}

bool is_eqv(value a, value b) {
    if (a == b) return true;
    if (!is_kind(a, KIND_FLONUM) || !is_kind(b, KIND_FLONUM)) return false;
    double x = flonum_of(a)->number, y = flonum_of(b)->number;
    return memcmp(&x, &y, sizeof x) == 0; /* 0.0 and -0.0 differ, a NaN is itself */
}

static bool equal_to_depth(value a, value b, int depth) {
    for (;; a = cdr(a), b = cdr(b)) {
        if (is_eqv(a, b)) return true;
        if (!is_object(a) || !is_object(b) || depth == 0) return false;
        if (is_pair(a)) {
            if (!is_pair(b) || !equal_to_depth(car(a), car(b), depth - 1)) return false;
            continue;
        }
        if (kind_of(a) != kind_of(b)) return false;
        if (kind_of(a) == KIND_STRING)
            return string_length(a) == string_length(b) &&
                   !memcmp(string_of(a)->bytes, string_of(b)->bytes, string_length(a));
        if (kind_of(a) != KIND_VECTOR || vector_length(a) != vector_length(b)) return false;
        for (size_t i = 0; i < vector_length(a); i++)
            if (!equal_to_depth(vector_of(a)->items[i], vector_of(b)->items[i], depth - 1)) return false;
        return true;
    }
}

/* Nesting beyond EQUAL_DEPTH_MAX counts as different, so that cyclic data cannot exhaust the native stack. */
bool is_equal(value a, value b) { return equal_to_depth(a, b, EQUAL_DEPTH_MAX); }
