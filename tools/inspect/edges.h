/* The references of all objects, by the objects' numbers, as bytes: for each reference the distance from the holder to what
   it refers to, in 7 bits each, and a 0 after the last. Most distances are short, so a reference takes one to four bytes.
   Where an object's bytes begin is stored for each 16th object; the 0s tell the others apart. */
#pragma once

#include "objects.h"

#define EDGES_BLOCK 16

typedef struct edge_store {
    unsigned char *bytes;
    size_t length, capacity;
    uint64_t *blocks; /* where the references of each EDGES_BLOCK-th object begin */
    size_t blocks_count, blocks_capacity;
    uint32_t next; /* the object that comes next */
} edge_store;

/* Adds a reference of the object `from`. Objects come in ascending order; those without references may be left out. */
void edges_add(edge_store *edges, uint32_t from, uint32_t to);
/* Ends the building: there are `objects` objects. */
void edges_end(edge_store *edges, uint32_t objects);
/* Where the references of the object begin. */
uint64_t edges_of(const edge_store *edges, uint32_t from);
void edges_free(edge_store *edges);

/* What the reference at *at refers to, and moves *at to the next; OBJECT_NONE: there are no more. */
static inline uint32_t edges_next(const edge_store *edges, uint32_t from, uint64_t *at) {
    const unsigned char *byte = edges->bytes + *at;
    uint64_t distance = *byte & 127;
    if (!*byte) return OBJECT_NONE;
    for (unsigned shift = 7; *byte++ & 128; shift += 7) distance |= (uint64_t)(*byte & 127) << shift;
    *at = (uint64_t)(byte - edges->bytes);
    return (uint32_t)((int64_t)from + (int64_t)(distance >> 1 ^ -(distance & 1)));
}
