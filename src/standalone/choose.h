/* Choosing the collector in force. */
#pragma once

#include "load.h"

#ifndef GC_STANDALONE_LIBRARY
/* The status of a program that ends because its collector cannot be loaded: that of one which lacks a library. */
#define GC__LOAD_STATUS 127

/* The collector that the environment names, or the embedded one. Lock of libraries held. */
GC__FN const gc_library *gc__library_named_or_embedded(gc_library_refused *refused, void *context) {
    gc_library *named;
    if (gc__library_named(&named) == GC_OK) return named ? named : gc__library_embed();
    if (refused && refused(context, gc__last_message)) return gc__library_embed();
    fflush(stdout);
    fprintf(stderr, "gc.h: %s\n", gc__last_message);
    _Exit(GC__LOAD_STATUS);
}

static const gc_library *gc__library_chosen; /* to be in force soon; NULL: not yet; lock of libraries */

GC_API const gc_library *gc_library_choose(gc_library_refused *refused, void *context) {
    const gc_library *library = __atomic_load_n(&gc__library_in_force, __ATOMIC_ACQUIRE);
    if (library) return library;
    if (gc__lock_is_mine(&gc__library_lock))
        gc__fatal(
            NULL,
            "a function of gc.h was called by the function that gc_library_choose was given, or by a library that is "
            "being loaded: at that time no collector has been chosen yet");
    gc__lock_take(&gc__library_lock);
    gc__the_outside.can_be_chosen = true; /* the embedded collector's */
    if (!gc__library_chosen) gc__library_chosen = gc__library_named_or_embedded(refused, context);
    gc__lock_release(&gc__library_lock);
    gc__library_await_forks();
    gc__lock_take(&gc__library_lock);
    if (!gc__library_in_force) gc__library_install(gc__library_chosen);
    gc__lock_release(&gc__library_lock);
    return gc__library_in_force;
}

/* Around fork: the child of a thread that forks while another one loads a library must be able to load one, too. */
GC__FN void gc__library_fork_begin(void) {
    __atomic_add_fetch(&gc__library_forks, 1, __ATOMIC_SEQ_CST);
    gc__lock_fork_take(&gc__library_lock);
}
GC__FN void gc__library_fork_end(void) {
    gc__lock_fork_release(&gc__library_lock);
    __atomic_sub_fetch(&gc__library_forks, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&gc__library_forks);
}
GC__FN void gc__library_fork_end_child(void) {
    __atomic_store_n(&gc__library_forks, 0u, __ATOMIC_SEQ_CST);
    gc__lock_fork_adopt(&gc__library_lock);
    gc__lock_fork_release(&gc__library_lock);
}
GC__AT_LOAD GC__FN void gc__library_at_load(void) {
    gc__os_library_at_fork(gc__library_fork_begin, gc__library_fork_end, gc__library_fork_end_child);
}

#ifdef GC_STANDALONE
GC__FN const char *gc__stub_name(size_t i) {
    static const char *const names[] = {
#define GC__STUB_NAME(kind, name) #name,
        GC__INTERFACE(GC__STUB_NAME)
#undef GC__STUB_NAME
    };
    return names[i];
}

/* Called instead of gc_NAME until the collector is chosen, and later for a function that it has not. */
GC__EXTERN GC__VISIBLE void *gc__stub_first(void **slot);
GC__EXTERN void *gc__stub_first(void **slot) {
    size_t i = (size_t)(slot - gc__stub_slots);
    const gc_library *library = gc_library_choose(NULL, NULL);
    if (!gc__library_function(library, i))
        gc__fatal(
            NULL,
            "%s is newer than the collector in use, %s (%s), whose interface is %u.%u and the program's %d.%d: ask "
            "GC_LIBRARY_HAS before the call, or use a newer library",
            gc__stub_name(i), library->version.name, library->path ? library->path : "embedded",
            (unsigned)library->version.major, (unsigned)library->version.minor, GC_INTERFACE_MAJOR, GC_INTERFACE_MINOR);
    return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* all functions in one string, which the C standard need not allow */
GC__DEFINE_STUBS(gc__stub_first)
#pragma GCC diagnostic pop
#endif
#endif
