/* map.c - buffers of values, and hash tables in them. */
#include "vm.h"

values *values_new(size_t length) {
    values *v = reallocate(NULL, 0, sizeof *v + length * sizeof(value));
    v->length = length;
    for (size_t i = 0; i < length; i++) v->items[i] = ABSENT;
    return v;
}

/* A buffer of another length, with what fits into it of the old one, which is gone then. */
values *values_resize(values *old, size_t length) {
    size_t before = old ? old->length : 0;
    values *v = reallocate(old, old ? sizeof *v + before * sizeof(value) : 0, sizeof *v + length * sizeof(value));
    v->length = length;
    for (size_t i = before; i < length; i++) v->items[i] = ABSENT;
    return v;
}

void values_free(values **v) {
    if (*v) reallocate(*v, sizeof **v + (*v)->length * sizeof(value), 0);
    *v = NULL;
}

static size_t hash(value key) {
    if (is_kind(key, KIND_STRING)) return ((string *)object_of(key))->hash;
    key ^= key >> 32;
    key *= 0x9E3779B97F4A7C15u;
    return (size_t)(key ^ key >> 29);
}

/* The pair with this key, or else the one where it would be added. */
static value *find(const map *m, value key) {
    size_t mask = m->pairs->length / 2 - 1;
    value *removed = NULL;
    for (size_t i = hash(key) & mask;; i = (i + 1) & mask) {
        value *pair = &m->pairs->items[2 * i];
        if (pair[0] == key) return pair;
        if (pair[0] == ABSENT) return removed ? removed : pair;
        if (pair[0] == NIL && !removed) removed = pair;
    }
}

bool map_get(map *m, value key, value *found) {
    if (!m->count || key == NIL) return false; /* the mark of a removed place is no key */
    const value *pair = find(m, key);
    if (pair[0] != key) return false;
    *found = pair[1];
    return true;
}

static void map_add(map *m, value key, value v) {
    value *pair = find(m, key);
    m->used += pair[0] == ABSENT;
    m->count += pair[0] != key;
    pair[0] = key;
    pair[1] = v;
}

static void map_grow(map *m) {
    map grown = {0};
    size_t pairs = m->pairs ? m->pairs->length / 2 : 0;
    grown.pairs = values_new(2 * (m->count * 2 < pairs ? pairs : pairs ? pairs * 2 : 4));
    map_copy(&grown, m);
    values_free(&m->pairs);
    *m = grown;
}

bool map_set(map *m, value key, value v) {
    size_t before = m->count;
    if (!m->pairs || (m->used + 1) * 4 > m->pairs->length / 2 * 3) map_grow(m);
    map_add(m, key, v);
    return m->count > before;
}

bool map_remove(map *m, value key) {
    value *pair = m->count && key != NIL ? find(m, key) : NULL;
    if (!pair || pair[0] != key) return false;
    pair[0] = NIL;
    pair[1] = NIL;
    m->count--;
    return true;
}

void map_copy(map *to, const map *from) {
    size_t at = 0;
    value key, v;
    while (map_next(from, &at, &key, &v)) map_set(to, key, v);
}

/* Begin with *at 0. */
bool map_next(const map *m, size_t *at, value *key, value *v) {
    for (size_t length = m->pairs ? m->pairs->length : 0; *at < length; *at += 2) {
        const value *pair = &m->pairs->items[*at];
        if (pair[0] == ABSENT || pair[0] == NIL) continue;
        *key = pair[0];
        *v = pair[1];
        *at += 2;
        return true;
    }
    return false;
}
