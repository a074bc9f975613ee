/* Finalizers: functions that run when an object has been found dead.

   A collection that finds an object with a finalizer dead keeps the object once more and queues it. The heap's finalizer
   thread (gc_finalizer_thread_start) or the host (gc_finalizer_run) then runs the finalizer. Finalizers of objects that
   died together run in no particular order, except that critical ones come last. A finalizer runs once; it may allocate,
   collect, store the object somewhere (resurrection) and register it again. Its argument is no root: before a call that may
   collect it must put the object into GC_ROOTS, like any other variable. The object may be visited even after its finalizer
   has run, so anything that its trace function reads through the object must stay, or be removed from the object. Source:
   Object.Finalize, CriticalFinalizerObject.

   A finalizer that is left by an exception counts as run, and the exception goes on to the caller of gc_finalizer_run,
   gc_finalizer_wait or gc_heap_destroy, which has to be called again. On the heap's finalizer thread nobody catches the
   exception, and the program ends. The same holds for longjmp. But a finalizer that was left by longjmp, or by an exception
   where the unit that has GC_IMPLEMENTATION is C without -fexceptions, counts as running for a while: until the thread
   detaches, or runs or counts finalizers again in the function that caught the exception or in one of its callers. */
#pragma once

#include "result.h"
#include "types.h"

/* Has `finalizer` run when `object` is found dead, in addition to those that are registered for it, even the same one: to
   replace one, call gc_finalizer_suppress first. On failure nothing has changed: with GC_ERROR_HEAP_FULL the lists have no
   room under heap_bytes_max, though gc_collect may make some. Source: GC.ReRegisterForFinalize. [cooperative; never collects;
   GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY; GC_ERROR_MISUSE: the address is on no heap or another one, or there is no function] */
GC_API gc_result gc_finalizer_register(gc_thread *thread, void *object, const gc_finalizer *finalizer);
/* Takes back the object's finalizer, the last one registered, even if it is queued already. Returns false if there was
   none; NULL is allowed. Searches from the youngest object: the time grows with the number of younger objects that have
   finalizers. Source: GC.SuppressFinalize. [cooperative; never collects; false: there was none] */
GC_API bool gc_finalizer_suppress(gc_thread *thread, void *object);

/* Runs up to `most` of the queued finalizers on the calling thread; returns how many. While another thread, or the caller's
   own finalizer, runs a normal one, critical ones stay queued. [cooperative; may collect; cannot fail] */
GC_API size_t gc_finalizer_run(gc_thread *thread, size_t most);
/* The record by which the finalizer that the thread runs now was registered. It may be the first member of a larger one, which
   has what a closure has captured, and which the finalizer may free: gc.h reads it no more. [its own thread; never collects;
   NULL: none runs] */
GC_API const gc_finalizer *gc_finalizer_running(gc_thread *thread);
/* How many finalizers are queued or running. [any thread; never collects; cannot fail] */
GC_API size_t gc_finalizer_pending(gc_heap *heap);
/* Returns true once no finalizer is queued or running, false after timeout_ms. In a heap without a finalizer thread it runs
   them itself, and looks at the clock between two of them. Returns false at once if a finalizer calls it. The calling
   thread waits in preemptive mode. Source: GC.WaitForPendingFinalizers. [cooperative; may collect; false] */
GC_API bool gc_finalizer_wait(gc_thread *thread, uint64_t timeout_ms);

/* Starts a thread that runs the heap's finalizers until gc_heap_destroy. Fails with GC_ERROR_MEMORY if the system gives no
   thread, with GC_ERROR_MISUSE if there is one, and with GC_ERROR_OPTION if the host stops threads itself (suspend). After
   fork() the child has no such thread, and may start one. [any thread; may wait; GC_ERROR_MEMORY, GC_ERROR_MISUSE,
   GC_ERROR_OPTION] */
GC_API gc_result gc_finalizer_thread_start(gc_heap *heap);
