#include "edges.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void put(edge_store *edges, unsigned byte) {
    edges->bytes = memory_grow(edges->bytes, edges->length, &edges->capacity, 1, "references");
    edges->bytes[edges->length++] = (unsigned char)byte;
}

static void begin_block(edge_store *edges) {
    edges->blocks = memory_grow(edges->blocks, edges->blocks_count, &edges->blocks_capacity, sizeof *edges->blocks,
                                "blocks of references");
    edges->blocks[edges->blocks_count++] = edges->length;
}

/* Comes to the object `to`: those before it are ended. */
static void advance(edge_store *edges, uint32_t to) {
    if (!edges->blocks_count) begin_block(edges);
    while (edges->next < to) {
        put(edges, 0);
        if (++edges->next % EDGES_BLOCK == 0) begin_block(edges);
    }
}

/* A reference to the object itself keeps nothing, and its distance of 0 would look like the end. */
void edges_add(edge_store *edges, uint32_t from, uint32_t to) {
    if (from == to) return;
    advance(edges, from);
    int64_t difference = (int64_t)to - (int64_t)from;
    uint64_t distance = (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
    for (; distance > 127; distance >>= 7) put(edges, (unsigned)(distance & 127) | 128);
    put(edges, (unsigned)distance);
}

void edges_end(edge_store *edges, uint32_t objects) {
    advance(edges, objects);
    for (int i = 0; i < 8; i++) put(edges, 0); /* edges_of reads ahead */
    edges->bytes = memory_cut(edges->bytes, edges->length, 1);
}

uint64_t edges_of(const edge_store *edges, uint32_t from) {
    const uint64_t low = 0x7F7F7F7F7F7F7F7F;
    uint64_t at = edges->blocks[from / EDGES_BLOCK];
    uint32_t skip = from % EDGES_BLOCK, ends;
    for (uint64_t word; skip > 0;
         at += 8, skip -= ends) { /* 8 bytes at a time, while they have less 0s than are to be skipped */
        memcpy(&word, edges->bytes + at, 8);
        ends = bits_count(~(((word & low) + low) | word | low));
        if (ends >= skip) break;
    }
    while (skip > 0) skip -= edges->bytes[at++] == 0;
    return at;
}

void edges_free(edge_store *edges) {
    free(edges->bytes), free(edges->blocks);
    memset(edges, 0, sizeof *edges);
}
