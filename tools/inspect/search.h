/* Breadth first search from the roots: the shortest way to an object. Takes 4 bytes per object, and the front's 4. */
#pragma once

#include "edges.h"

typedef struct search_path {
    uint32_t *objects; /* from one of the starts to the object that was looked for */
    size_t count;      /* 0: no way leads there */
} search_path;

/* Starts are tried in the order given, so of two ways of one length that from the earlier start is found. */
search_path search_shortest(const edge_store *edges, uint32_t objects, const uint32_t *starts, size_t starts_count,
                            uint32_t to);
