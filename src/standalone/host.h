/* The program's side: the embedded collector, what libraries are given, and the functions of the collector in force. */
#pragma once

#include "geometry.h"
#include "../base/outside.h"
#include "../base/report.h"
#include "../diag/dac_table.h"
#include "../platform/stubs.h"

#ifndef GC_STANDALONE_LIBRARY

static gc_library gc__embedded_library;
static const gc_library *gc__library_in_force; /* NULL: not chosen yet; atomic, written under the lock */
static gc__lock gc__library_lock = GC__LOCK_INITIALIZER;
static gc__lock gc__inline_lock = GC__LOCK_INITIALIZER; /* the last one to be taken: what inline code reads is written under it */
static uint32_t gc__library_forks; /* threads in fork(), whose handlers have that lock or wait for it; atomic */

/* A library has been loaded, and the lock is free. A fork that began before calls no handlers of the library's: so none of its
   locks is taken until such forks have ended, or their children would have them without an owner. */
GC__FN void gc__library_await_forks(void) {
    for (uint32_t forks; (forks = __atomic_load_n(&gc__library_forks, __ATOMIC_SEQ_CST)) != 0;)
        gc__os_wait_for(&gc__library_forks, forks, GC__NS_PER_MS);
}

#ifdef GC_STANDALONE
/* The data of inline code, which in this unit has the names of the embedded collector's. */
GC__SHARED gc_barrier_tables gc__inline_tables __asm__("gc__tables");
GC__SHARED gc_barrier_functions gc__inline_barrier_calls __asm__("gc__barrier_calls");
GC__DATA(gc_barrier_tables gc__inline_tables);
GC__DATA(gc_barrier_functions gc__inline_barrier_calls);

/* Brings the data of inline code up to date: first the tables, then what is in use of them. */
GC__FN void gc__inline_update(const gc_library *library) {
    const gc_barrier_tables *from = library->tables;
    gc_barrier_tables *to = &gc__inline_tables;
    to->age = from->age;
    to->cards = from->cards;
    to->bundles = from->bundles;
    to->watch = from->watch;
    to->log_bits = from->log_bits;
    to->log = from->log;
    to->log_store = from->log_store;
    to->log_store_call = from->log_store_call;
    to->end = from->end;
    __atomic_store_n(&to->lowest, from->lowest, __ATOMIC_RELEASE);
    __atomic_store_n(&to->highest, from->highest, __ATOMIC_RELEASE);
    __atomic_store_n(&to->low, from->low, __ATOMIC_RELEASE);
    __atomic_store_n(&to->high, from->high, __ATOMIC_RELEASE);
    gc__inline_barrier_calls = *gc_barrier_functions_of(library->barrier);
}
#else
GC__FN void gc__inline_update(const gc_library *library) { (void)library; }
#endif

/* gc_host.stomp, under the barrier lock of the library. */
GC__FN void gc__library_stomped(void *context, const gc_barrier_change *change) {
    gc_library *library = (gc_library *)context;
    gc__lock_take(&gc__inline_lock);
    library->barrier = change->barrier;
    library->tables = change->tables;
    if (library == __atomic_load_n(&gc__library_in_force, __ATOMIC_ACQUIRE)) gc__inline_update(library);
    gc__lock_release(&gc__inline_lock);
}

/* What a library is given; the caller fills in `refused`. */
GC__FN void gc__library_host(gc_library *library) {
    gc_host *host = &library->host;
    memset(host, 0, sizeof *host);
    host->bytes = sizeof *host;
    host->major = GC_INTERFACE_MAJOR;
    host->minor = GC_INTERFACE_MINOR;
    host->shadow_heap = GC_SHADOW_HEAP;
    host->geometry = &gc__geometry_here;
    host->value_mask = GC__VALUE_MASK_HERE;
    host->value_tag = GC__VALUE_TAG_HERE;
    host->context = library;
    host->stomp = gc__library_stomped;
}

/* Lock held. */
GC__FN gc_library *gc__library_embed(void) {
    gc_library *library = &gc__embedded_library;
    if (library->functions) return library;
    gc__library_host(library);
    gc__the_outside.context = library;
    gc__the_outside.stomp = library->host.stomp;
    library->vars = gc__dac_own();
    library->version.major = GC_INTERFACE_MAJOR;
    library->version.minor = GC_INTERFACE_MINOR;
    library->version.name = "gc.h " GC_VERSION_TEXT ", embedded";
    library->functions = &gc__functions_here;
    return library;
}

GC_API gc_library *gc_library_embedded(void) {
    gc__lock_take(&gc__library_lock);
    gc_library *library = gc__library_embed();
    gc__lock_release(&gc__library_lock);
    return library;
}

#ifdef GC_STANDALONE
#define GC__STUBS ((sizeof(gc_functions) - offsetof(gc_functions, gc_version)) / sizeof(void *))

/* The i-th function of the collector; NULL: it has none. */
GC__FN void *gc__library_function(const gc_library *library, size_t i) {
    size_t at = offsetof(gc_functions, gc_version) + i * sizeof(void *);
    if (at + sizeof(void *) > library->functions->bytes) return NULL;
    return *(void *const *)(const void *)((const char *)library->functions + at);
}

/* Lock held. Puts the collector in force: from now on gc_NAME is its function. What it has not keeps leading to
   gc__stub_first. */
GC__FN void gc__library_install(const gc_library *library) {
    gc__lock_take(&gc__inline_lock);
    if (library->tables) gc__inline_update(library);
    __atomic_store_n(&gc__library_in_force, library, __ATOMIC_RELEASE);
    gc__lock_release(&gc__inline_lock);
    for (size_t i = 0; i < GC__STUBS; i++) {
        void *function = gc__library_function(library, i);
        if (function) __atomic_store_n(&gc__stub_slots[i], function, __ATOMIC_RELEASE);
    }
}
#else
GC__FN void gc__library_install(const gc_library *library) {
    __atomic_store_n(&gc__library_in_force, library, __ATOMIC_RELEASE);
}
#endif
#endif
