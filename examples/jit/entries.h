/* entries.h - what compiled code refers to: the runtime's functions, layouts of objects, string literals. */
#pragma once

#include "runtime.h"

/* The runtime's functions, by number; those of the language follow, by native_number. */
#define ENTRIES(X)                                                                      \
    X(allocate)       /* a thread, a layout; returns an object */                       \
    X(allocate_array) /* a thread, a layout, a length; an error if that is not right */ \
    X(poll)                                                                             \
    X(fail_null) /* from here on: a thread; never returns */                            \
    X(fail_bounds)                                                                      \
    X(fail_division)                                                                    \
    X(fail_stack)

typedef enum entry_number {
#define X(name) ENTRY_##name,
    ENTRIES(X)
#undef X
        ENTRY_NATIVES, /* + native_number */
    ENTRY_COUNT = ENTRY_NATIVES + NATIVE_COUNT
} entry_number;

typedef struct entry {
    const char *name;
    void (*stub)(void); /* of GC_CODE_EXPORT */
} entry;

extern const entry entries[ENTRY_COUNT];

/* The layout of a class's instances; made when it is first asked for. */
const gc_type *layout_of_class(const object_class *c);
const gc_type *layout_of_array(const type *element);
void layouts_free(const program *p);

/* Numbers a literal. Its slot holds the string from literals_make on, and is a root. */
int literal_number(const char *text, size_t bytes);
void **literal_slot(int number);
/* False, with gc_last_message, when memory is exhausted. */
bool literals_make(gc_thread *thread);
void literals_free(void);
