/* What the programs that gc-inspect looks into share. */
#pragma once

#include "gc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct text {
    gc_array header;
    char characters[];
} text;
static const gc_type text_type = GC_TYPE_ARRAY_LEAF(text, characters);

static inline gc_heap *new_heap(const gc_options *options) {
    gc_heap *heap = gc_heap_create(options);
    if (!heap) {
        fprintf(stderr, "%s\n", gc_last_message());
        exit(1);
    }
    return heap;
}

/* NULL stands for no memory. */
static inline text *new_text(gc_thread *gc, const char *characters, size_t length) {
    text *t = (text *)gc_new_array(gc, &text_type, length);
    if (t) memcpy(t->characters, characters, strnlen(characters, length));
    return t;
}

/* Tells that all is done, and waits to be looked into: until a line comes. */
static inline void wait_for_inspection(void) {
    puts("ready");
    fflush(stdout);
    while (getchar() != '\n')
        if (feof(stdin)) exit(0);
}
