/* The dominator tree of the objects: an object's dominator is the last one, before the object itself, that all ways from the
   roots have in common; so it is what keeps the object alive. All roots hang on one root above them, number 0.

   The algorithm is semi-NCA: a depth-first search numbers the objects; the semidominator of each is found in descending order
   of numbers, from its predecessors, by path compression; then its dominator, in ascending order, is the first one at or above
   the semidominator on the way up from its parent. All is iterative, so neither depth nor degree is limited.

   Memory, at the highest: 12 bytes per object, for its number, its parent and what the compression needs; 4 for each reference
   to it but the one by which the search has come; and half a byte for degrees. */
#pragma once

#include "edges.h"

#define GRAPH_ROOT UINT32_MAX /* as what a reference comes from: it is a root */

/* Receives references. */
typedef void graph_sink(void *context, uint32_t from, uint32_t to);
/* Calls the sink for each reference and each root; those that come again, of a holder to itself, or of holders that are not
   reached, do no harm. It is called twice, and must find the same references. */
typedef void graph_walk(void *graph, graph_sink *sink, void *context);

/* Objects that no root leads to have a place in the tree all the same: nothing may refer to them but what is lost as well. */
typedef struct dominators {
    uint32_t objects;
    uint32_t rooted;     /* roots lead to the numbers below this one */
    uint32_t *number;    /* by object: 1 to `objects` */
    uint32_t *dominator; /* by number: the number of its dominator, which is lower */
} dominators;

/* The references of `objects` objects. It takes the edges, which it frees; `walk` yields the same ones, and those that come
   from GRAPH_ROOT. The search begins at the roots `starts`; then at lost objects to which nothing refers, by the bits of
   `referred`, and at last at any that are left. */
void dominators_find(dominators *tree, edge_store *edges, uint32_t objects, const uint32_t *starts, size_t starts_count,
                     const uint64_t *referred, graph_walk *walk, void *graph);
void dominators_free(dominators *tree);
