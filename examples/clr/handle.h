/* Handles. A handle is the address of a word that holds the object's address, which the runtime and compiled code read without
   a call. */
#pragma once

#include "collector.h"
#include "interface.h"

typedef enum handle_type {
    HANDLE_WEAK_SHORT,
    HANDLE_WEAK_LONG,
    HANDLE_STRONG,
    HANDLE_PINNED,
    HANDLE_VARIABLE,
    HANDLE_REF_COUNTED,
    HANDLE_DEPENDENT,
    HANDLE_ASYNC_PINNED,
    HANDLE_SIZED,
    HANDLE_WEAK_COM,
    HANDLE_WEAK_INTERIOR,
    HANDLE_CROSS_REFERENCE,
    HANDLE_TYPES
} handle_type;

extern interface handle_manager;

/* For tools that trace the program. `each` is called for handles that are not null, with their second words, by
   a thread that has stopped the others. */
typedef void handle_walk_function(uintptr_t *handle, uintptr_t extra, handle_type type, void *context);
void handle_each(handle_walk_function *each, void *context);
void handle_each_pinned(handle_walk_function *each, void *context);
size_t handle_count(void);
size_t handle_count_pinned(void);

/* Reports all handles as roots and weak entries. */
void handle_visit(gc_visitor *visitor);
/* A collection begins: until it ends, destroyed handles are not used again. */
void handle_begin_collection(void);
/* It is known where objects are now: moves what leads into the targets of weak interior handles. */
void handle_update_interior(void);
void handle_end_collection(void);
