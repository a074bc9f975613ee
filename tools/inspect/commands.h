/* The commands. Each prints its answer about one heap, in text or JSON; with --json into an object of that heap's. */
#pragma once

#include "target.h"

typedef struct command_options {
    const char *argument; /* TYPE or ADDRESS; NULL: none was given */
    uint64_t address;     /* of an argument that is an address */
    uint64_t limit;       /* of rows; UINT64_MAX: all */
    int generation;       /* -1: all */
    int heap;             /* its number; -1: all */
    const char *svg;      /* file to write a map to; NULL: none */
} command_options;

typedef void command_function(inspected *target, const gc_dac_heap *heap, const command_options *options);
command_function command_summary, command_types, command_objects, command_handles, command_finalizers, command_threads;
command_function command_object, command_path, command_retained, command_regions, command_verify;

/* Compares the types of two targets. */
void command_diff(inspected *before, inspected *after, const command_options *options);

/* Counts the heap's objects and their bytes by type: of one generation, or of all (-1). Returns how many objects there are. */
uint64_t count_types(inspected *target, const gc_dac_heap *heap, int generation);
/* The types, those with most bytes first. The caller frees the array, not what it refers to. */
type_count **sorted_types(const inspected *target);

/* What is written in the host's language, or else "": in one of a few static buffers. */
const char *shown(const inspected *target, uint64_t object);
/* "pair (1 2 3)" or "node"; in one of a few static buffers. */
const char *described(inspected *target, uint64_t object);
