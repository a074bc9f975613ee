/* The shadow model: what the heap must look like, in malloc'ed memory that the collector never sees. */
#pragma once

#include "random_types.h"

/* A slot as the model knows it: 0 is null, or a number (CELL_NUMBER), or tag << 32 | index of a node. Indices from STATICS
   on are objects outside the heap. */
typedef uint64_t cell;
#define CELL_NUMBER ((cell)1 << 63)
#define STATICS 0xFFFFFF00u
#define STATIC_COUNT 8

typedef struct node {
    kind *kind;      /* NULL: free */
    uint64_t serial; /* in the object's id word */
    uint64_t seed;   /* what the payload is derived from */
    size_t length, external;
    uint64_t identity; /* 0: nobody has asked */
    uint64_t epoch;    /* of the last check that met it */
    char *address;   /* in that check */
    char *fixed_at;  /* NULL: it may move */
    uint32_t next;   /* free */
    cell cells[];
} node;

typedef struct model {
    node **nodes; /* index 0 is none */
    size_t count, capacity, live, bytes;
    uint32_t *free;
    size_t free_count;
    uint64_t serial, epoch;
    uint32_t *stack; /* as long as nodes */
} model;

static struct {
    const gc_type *type;
    uint64_t words[3];
} statics[STATIC_COUNT];

static bool is_static(uint32_t index) { return index >= STATICS; }
static uint32_t cell_index(cell c) { return c & CELL_NUMBER ? 0 : (uint32_t)c; }
static size_t node_slots(const node *n) { return slot_count(n->kind, n->length); }
static size_t node_bytes(const node *n) { return kind_bytes(n->kind, n->length); }

static void *or_die(void *memory) {
    if (memory) return memory;
    puts("Bail out! no memory for the model");
    exit(2);
}

static void model_grow(model *m) {
    m->capacity = m->capacity ? 2 * m->capacity : 1024;
    m->nodes = or_die(realloc(m->nodes, m->capacity * sizeof *m->nodes));
    m->free = or_die(realloc(m->free, m->capacity * sizeof *m->free));
    m->stack = or_die(realloc(m->stack, m->capacity * sizeof *m->stack));
    if (!m->count) m->nodes[m->count++] = NULL;
}

static uint32_t model_add(model *m, kind *k, size_t length) {
    if (!m->free_count && m->count == m->capacity) model_grow(m);
    uint32_t index = m->free_count ? m->free[--m->free_count] : (uint32_t)m->count++;
    node *n = or_die(calloc(1, sizeof *n + slot_count(k, length) * sizeof(cell)));
    n->kind = k;
    n->length = length;
    n->serial = ++m->serial;
    n->seed = mix(m->serial);
    m->nodes[index] = n;
    m->live++;
    m->bytes += node_bytes(n);
    return index;
}

static void model_remove(model *m, uint32_t index) {
    m->live--;
    m->bytes -= node_bytes(m->nodes[index]);
    free(m->nodes[index]);
    m->nodes[index] = NULL;
    m->free[m->free_count++] = index;
}

static void model_free(model *m) {
    for (size_t i = 1; i < m->count; i++) free(m->nodes[i]);
    free(m->nodes), free(m->free), free(m->stack);
    memset(m, 0, sizeof *m);
}

/* Payload: large objects carry it at both ends and here and there, so that looking at it stays cheap. */
#define PAYLOAD_END 64
static size_t payload_next(size_t at, size_t count) {
    at++;
    if (at < PAYLOAD_END || at + PAYLOAD_END >= count) return at;
    size_t stride = (at + 508) / 509 * 509;
    return stride + PAYLOAD_END < count ? stride : count - PAYLOAD_END;
}

/* The elements of leaves in words, the last of them in part. */
static size_t leaf_bytes(const node *n) { return n->kind->element_slots ? 0 : n->length * n->kind->type.element_bytes; }

/* Calls visit for each piece of the payload; stops where it returns false, and returns the offset, else 0. */
typedef bool payload_visit(char *at, const void *expected, size_t bytes);

static size_t payload_each(const node *n, char *object, payload_visit *visit) {
    const kind *k = n->kind;
    for (size_t word = 0; word < k->type.bytes / 8; word++) {
        uint64_t expected = word * 8 == k->id_offset ? n->serial : mix(n->seed + word);
        if (!k->is_slot[word] && !visit(object + word * 8, &expected, 8)) return word * 8;
    }
    size_t words = (leaf_bytes(n) + 7) / 8;
    for (size_t i = 0; i < words; i = payload_next(i, words)) {
        size_t offset = k->type.bytes + i * 8, left = leaf_bytes(n) - i * 8;
        uint64_t expected = mix(n->seed + 1000 + i);
        if (!visit(object + offset, &expected, left < 8 ? left : 8)) return offset;
    }
    size_t per_element = k->type.element_bytes / 8;
    if (k->element_slots == per_element || !k->element_slots) return 0;
    for (size_t i = 0; i < n->length; i = payload_next(i, n->length))
        for (size_t word = 0; word < per_element; word++) {
            size_t offset = k->type.bytes + i * k->type.element_bytes + word * 8;
            uint64_t expected = mix(n->seed + 1000 + i * 8 + word);
            if (!k->element_is_slot[word] && !visit(object + offset, &expected, 8)) return offset;
        }
    return 0;
}

static bool payload_write(char *at, const void *expected, size_t bytes) { return memcpy(at, expected, bytes), true; }
static bool payload_equal(char *at, const void *expected, size_t bytes) { return memcmp(at, expected, bytes) == 0; }
