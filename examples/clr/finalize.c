/* gc.h queues objects in one order; critical ones, which are known by their types, wait here until all others have been taken. An
   object is registered before the runtime has stored its type. */
#include "finalize.h"

#include "diagnose.h"
#include "interface.h"
#include "pause.h"
#include "report.h"

#include <stdlib.h>

static uintptr_t taken; /* by the finalizer thread, which runs no managed code meanwhile */
static uintptr_t *critical;
static size_t critical_count, critical_room;

static void take(gc_thread *thread, void *object) {
    (void)thread;
    taken = clr_of(object);
}

/* Whether the object needs no finalizer. In a collection, where it has been found dead, the runtime finalizes some itself, and the
   mark of suppression has done its work. Objects of which gc.h decides beside the program come to finalize_next. */
static bool is_suppressed(const void *gc_object) {
    uintptr_t object = clr_of(gc_object);
    uint32_t *header = object_header(object);
    if (!pause_is_running()) return false; /* the runtime looks at the mark itself */
    if (runtime_finalizes_eagerly(object)) return true;
    if (!(__atomic_load_n(header, __ATOMIC_RELAXED) & HEADER_FINALIZED)) {
        diagnose_note_finalizable(object);
        return false;
    }
    __atomic_fetch_and(header, ~HEADER_FINALIZED, __ATOMIC_RELAXED);
    return true;
}

static const gc_finalizer finalizer = {take, false, is_suppressed};

bool finalize_register(gc_thread *thread, uintptr_t object) {
    return gc_finalizer_register(thread, gc_of(object), &finalizer) == GC_OK;
}

/* A record that no thread needs to have: one thread at a time registers by it. */
static gc_thread *registrar;
static char registrar_lock;

bool finalize_initialize(void) { return (registrar = gc_thread_create(heap)) != NULL; }

bool finalize_register_again(uintptr_t object) {
    while (__atomic_test_and_set(&registrar_lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
    bool registered = finalize_register(registrar, object);
    __atomic_clear(&registrar_lock, __ATOMIC_RELEASE);
    return registered;
}

static void critical_push(uintptr_t object) {
    if (critical_count == critical_room) {
        critical_room = critical_room ? 2 * critical_room : 256;
        critical = realloc(critical, critical_room * sizeof *critical);
        if (!critical) fatal("there is no memory for a list of critical finalizers");
    }
    critical[critical_count++] = object;
}

uintptr_t finalize_next(gc_thread *thread) {
    while (gc_finalizer_run(thread, 1)) {
        uintptr_t object = taken;
        taken = 0;
        if (!object || runtime_finalizes_eagerly(object)) continue;
        if (!object_has_critical_finalizer(object)) return object;
        critical_push(object);
    }
    return critical_count ? critical[--critical_count] : 0;
}

size_t finalize_count(void) { return gc_finalizer_pending(heap) + critical_count; }

void finalize_visit(gc_visitor *visitor) { gc_visit(visitor, critical, critical_count, GC_SLOT_VALUE); }
