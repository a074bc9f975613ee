/* Finalizers: what is to be done once an object was found dead.

   A collection that finds an object with a finalizer dead keeps it once more and queues it; then somebody runs the
   finalizer: the heap's finalizer thread (gc_finalizer_thread_start), or the host (gc_finalizers_run). Those of objects that
   died together run in no order, but that the critical ones come last. A finalizer runs once; it may allocate, collect,
   store the object somewhere (resurrection) and register it again. Its argument is no root: it must put it into GC_ROOTS
   like any other variable before a call that may collect. The object may be visited after that: what its trace function reads
   must stay, unless the object refers to it no more. Source: Object.Finalize, CriticalFinalizerObject.

   A finalizer that is left by an exception counts as run, and the exception goes on to the caller of gc_finalizers_run,
   gc_finalizers_wait or gc_heap_destroy, which is then called again. On the heap's finalizer thread nobody catches it, which
   ends the program. The same holds for longjmp; but what was left by it, or by an exception where the unit that has
   GC_IMPLEMENTATION is C without -fexceptions, counts as running until the thread runs or counts finalizers again in the
   function that caught it or one of its callers, or detaches. */
#pragma once

#include "result.h"
#include "types.h"

/* Static or otherwise immortal; the collector keeps the address. A type that names one (gc_type.finalizer, by
   GC_TYPE_FINALIZED) has each of its objects registered by gc_new. */
struct gc_finalizer {
    void (*finalize)(gc_thread *thread, void *object); /* cooperative mode */
    bool critical; /* runs after the normal ones, and when the heap is destroyed in any case */
    /* Whether this object's is not needed, by a mark of its own: then it dies at once, and nothing has to be searched, as
       gc_finalizer_suppress must. Called during collections; must read that object only. NULL: all are needed. */
    bool (*is_suppressed)(const void *object);
};

/* Has `finalizer` run when object is found dead; also one that it has already, which gc_finalizer_suppress takes back first
   if it is to be replaced: looking for it at each registration would take long. Fails with GC_ERROR_MEMORY, and then
   nothing has changed. Source: GC.ReRegisterForFinalize. [cooperative; never collects; GC_ERROR_MEMORY, GC_ERROR_MISUSE] */
GC_API gc_result gc_finalizer_register(gc_thread *thread, void *object, const gc_finalizer *finalizer);
/* Takes the finalizer (the last registered) back, also where it is queued already. Returns false if there was none; NULL is
   allowed. Searches from the youngest: the time grows with the number of younger objects that have one. Source:
   GC.SuppressFinalize. [cooperative; never collects; false: there was none] */
GC_API bool gc_finalizer_suppress(gc_thread *thread, void *object);

/* Runs up to `most` of the queued finalizers on the calling thread; returns how many. While another thread, or the caller's
   own finalizer, runs a normal one, critical ones stay queued. [cooperative; may collect; cannot fail] */
GC_API size_t gc_finalizers_run(gc_thread *thread, size_t most);
/* How many are queued or running. [any thread; never collects; cannot fail] */
GC_API size_t gc_finalizers_pending(gc_heap *heap);
/* Returns true when no finalizer is queued nor running, false after timeout_ms. Where the heap has no finalizer thread it
   runs them itself, and looks at the time between them. Called by a finalizer it returns false at once. Cooperative mode;
   may collect; the calling thread waits in preemptive mode. Source: GC.WaitForPendingFinalizers. [cooperative; may collect;
   false] */
GC_API bool gc_finalizers_wait(gc_thread *thread, uint64_t timeout_ms);

/* Starts a thread that runs the heap's finalizers until gc_heap_destroy. Fails with GC_ERROR_MEMORY if the system gives no
   thread, with GC_ERROR_MISUSE if there is one, and with GC_ERROR_OPTION if the host stops threads itself (suspend). After
   fork() the child has no such thread, and may start one. [any thread; may wait; GC_ERROR_MEMORY, GC_ERROR_MISUSE,
   GC_ERROR_OPTION] */
GC_API gc_result gc_finalizer_thread_start(gc_heap *heap);
