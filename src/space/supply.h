/* The source of address space and memory for regions and tables: the system, or functions of the host (gc_memory). */
#pragma once

#include "../api/heap.h"
#include "../platform/platform.h"

static gc_memory gc__supply; /* all zero: the system; written under the arena lock while there is no arena */

GC__FN bool gc__supply_is_host(void) { return gc__supply.reserve != NULL; }

/* As gc__os_reserve. The address that a host returns is its own choice, so it is checked. */
GC__FN void *gc__supply_reserve(size_t bytes, size_t alignment, bool readable) {
    if (!gc__supply_is_host()) return gc__os_reserve(bytes, alignment, readable);
    void *start = gc__supply.reserve(gc__supply.context, bytes, alignment, readable);
    if (!((uintptr_t)start & (alignment - 1))) return start;
    gc__supply.release(gc__supply.context, start, bytes);
    return NULL;
}

GC__FN bool gc__supply_commit(void *address, size_t bytes) {
    return gc__supply_is_host() ? gc__supply.commit(gc__supply.context, address, bytes) : gc__os_commit(address, bytes);
}

GC__FN bool gc__supply_discard(void *address, size_t bytes) {
    if (!gc__supply_is_host()) return gc__os_discard(address, bytes);
    return gc__supply.discard && gc__supply.discard(gc__supply.context, address, bytes);
}

/* Releases all that one call has reserved. */
GC__OUT_OF_LINE void gc__supply_release(void *address, size_t bytes) {
    if (gc__supply_is_host())
        gc__supply.release(gc__supply.context, address, bytes);
    else
        gc__os_unmap(address, bytes);
}

/* Returns which source has just refused `bytes`, and the remedy. */
GC__FN const char *gc__supply_refusal(size_t bytes) {
    return gc__supply_is_host() ? "options.memory of the host refuses it" : gc__os_refusal(bytes);
}

/* Gives this advice for the system's memory only; a host advises for its own. */
GC__FN void gc__supply_prefer_huge_pages(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_prefer_huge_pages(address, bytes);
}
GC__FN void gc__supply_populate(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_populate(address, bytes);
}
