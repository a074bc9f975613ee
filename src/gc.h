/* gc.h - a generational, region-based, moving garbage collector for C runtimes.

   Copy gc.h, gc_barrier_x86_64.h and gc_handles.h into your project. In one .c file

       #define GC_IMPLEMENTATION
       #include "gc.h"

   and elsewhere just include it. C11 or C++, gcc or clang, Linux or Windows; no dependency but libc.

       typedef struct cell { gc_object header; struct cell *next; int value; } cell;
       static const gc_type cell_type = GC_TYPE(cell, next);    // the fields that are references

       gc_heap *heap = gc_heap_create(NULL);                    // NULL: all defaults
       gc_thread *gc = gc_thread_attach(heap);
       cell *list = NULL;
       GC_ROOTS(gc, list);                                      // until the end of this scope
       cell *c = (cell *)gc_new(gc, &cell_type);                // may collect: only roots survive, and may move
       c->value = 1;
       gc_store(gc, &c->next, list);                            // the write barrier
       list = c;

   Contents: the write barriers (gc_barrier_x86_64.h), linkage, macros, version, results, objects and their types, heaps
   with their options and statistics, roots, weak tables, threads with their modes and GC_ROOTS, stores, stacks of values,
   allocation, collecting and walks, handles and finalizers (gc_handles.h); then the implementation. The comment of each
   function ends in [thread and mode; whether it collects; how it fails]; the project's docs/api.md is a table of them all.

   The ten calls that every host needs: gc_heap_create, gc_thread_attach, GC_ROOTS, gc_visit, gc_new, gc_store, gc_safepoint,
   GC_IN_MODE, gc_collect, gc_heap_destroy.

   Names: a function on a thing begins with that noun, gc_NOUN_VERB; a getter is gc_NOUN_PROPERTY, a setter
   gc_NOUN_set_PROPERTY. The mutator's everyday verbs stand alone: gc_new, gc_allocate, gc_store, gc_copy_refs,
   gc_collect, gc_visit, gc_safepoint, gc_keep_alive. What a thread does for itself alone takes its gc_thread:
   allocation, stores, modes, frames, its finalizers; what concerns the whole heap takes a gc_heap. A constant's prefix
   names one set: GC_SLOT_* are flags of slots, GC_ROOTS* the macros of roots.

   Rules: 1. Every variable that holds a reference across a call that may collect is a root. That includes what the
   compiler holds: never allocate inside the arguments of gc_store, nor to the right of `object->field =`. 2. From the
   first such call after an object was allocated, every store of a reference into it goes through gc_store or its kin.
   3. A call that fails returns NULL, false or a gc_result, and gc_last_message() says which limit was met and what to
   do. 4. With GC_DEBUG >= 1, misuse aborts the program with a sentence. 5. Each thread attaches itself, and polls
   gc_safepoint in loops that do not allocate; calls that block are bracketed by GC_IN_MODE(thread, GC_MODE_PREEMPTIVE).
   A signal handler may call nothing of gc.h but gc_thread_mode. Run with GC_STRESS=allocation and GC_VERIFY=1 in the
   environment to have forgotten roots and barriers reported by name. */
#pragma once

#include "api/config.h"
#include "gc_barrier_x86_64.h"

GC__STYLE_BEGIN

#include "api/version.h"
#include "api/result.h"
#include "api/types.h"
#include "api/heap.h"
#include "api/pause.h"
#include "api/roots.h"
#include "api/weak.h"
#include "api/thread.h"
#include "api/barrier.h"
#include "api/value_stack.h"
#include "api/allocate.h"
#include "api/collect.h"

#ifdef GC_IMPLEMENTATION
#include "platform/platform.h"      /* the contract with the system and the CPU */
#include "base/entry.h"             /* finds signal handlers that interrupt gc.h and call it */
#include "base/outside.h"           /* services of the program around a library */
#include "base/report.h"            /* failures as sentences */
#include "base/words.h"             /* growing arrays outside the heap */
#include "base/text.h"              /* text of limited length */
#include "base/map.h"               /* maps from objects to words */
#include "space/region.h"           /* regions, mark planes, verdicts */
#include "space/side.h"             /* side tables of the arena */
#include "space/barrier_state.h"    /* the state that barriers read, and notification of compiled code */
#include "space/rank.h"             /* ranks and verdicts in the tables */
#include "space/mark_bits.h"        /* mark bits */
#include "space/cards.h"            /* the card table */
#include "space/object.h"           /* sizes, forwarding, fillers: the object-model seam */
#include "space/slots.h"            /* the slots of an object */
#include "space/arena.h"            /* address space for all heaps */
#include "space/huge.h"             /* huge pages for regions */
#include "space/heap.h"             /* one heap and its regions */
#include "space/profiler.h"         /* the events that a profile receives */
#include "space/index.h"            /* finds the object that covers an address */
#include "space/holes.h"            /* free runs inside regions */
#include "space/window.h"           /* windows, in which threads and the collector allocate */
#include "threads/mode.h"           /* attached threads, cooperative or preemptive */
#include "threads/window.h"         /* the windows of threads, also in generation 2 */
#include "threads/lock.h"           /* the heap's lock */
#include "threads/stop.h"           /* stops threads */
#include "threads/frames.h"         /* frames of GC_ROOTS */
#include "threads/stack.h"          /* stacks and fibers */
#include "trace/collector.h"        /* what a collection knows */
#include "trace/old_regions.h"      /* all old regions at once */
#include "trace/value_stacks.h"     /* stacks of values */
#include "trace/roots.h"            /* gathering roots */
#include "trace/worker.h"           /* one worker: mark stack, FIFO */
#include "trace/workers.h"          /* how several workers share the trace */
#include "trace/store_buffer.h"     /* logged stores: remembered slots, and references for the marker */
#include "trace/shade.h"            /* the concurrent marker's state, and shading objects for it */
#include "trace/slide.h"            /* sliding objects together before the trace */
#include "trace/claim.h"            /* marks and forwarding words */
#include "trace/copy.h"             /* copying survivors */
#include "trace/candidates.h"       /* regions that the final mark evacuates */
#include "trace/edge.h"             /* what a trace does with an edge */
#include "trace/scan.h"             /* scanning objects: the trace's loop */
#include "trace/cards.h"            /* tracing from dirty cards */
#include "trace/parallel.h"         /* the trace by several workers */
#include "trace/trace.h"            /* the trace of a collection, from roots and cards */
#include "cycle/marker.h"           /* concurrent marking */
#include "policy/plan.h"            /* which regions are evacuated, marked or ignored */
#include "policy/external.h"        /* off-heap memory of objects */
#include "policy/pace.h"            /* budgets, goals, and learning from each collection */
#include "policy/cycles.h"          /* when a concurrent cycle begins, and whether its marker keeps up */
#include "policy/limits.h"          /* the limit, and what may exceed it */
#include "policy/next.h"            /* when to collect, and for what purpose */
#endif

#include "gc_handles.h"

#ifdef GC_IMPLEMENTATION
#include "diag/check.h"             /* structures check themselves */
#include "diag/places.h"            /* where in the program collections ran */
#include "diag/verify.h"            /* walks everything, checks every reference */
#include "diag/checkmark.h"         /* a second mark, to check the trace */
#include "diag/shadow.h"            /* finds stores without the barrier */
#include "diag/stress.h"            /* reports on faults under stress */
#include "diag/pauses.h"            /* records of pauses */
#include "diag/stats.h"             /* statistics */
#include "diag/reasons.h"           /* why a pause was long, in words */
#include "diag/memory.h"            /* where memory goes */
#include "diag/walk.h"              /* walks of the heap and questions about addresses */
#include "diag/dac_table.h"         /* the description for readers in other processes */
#include "collection/store.h"       /* stores of ranges, written pages */
#include "collection/components.h"  /* what the components of a heap own outside regions */
#include "collection/sweep.h"       /* what becomes of condemned regions */
#include "collection/worker_threads.h" /* the workers' threads */
#include "collection/concurrent.h"  /* concurrent cycles in collections, and the marker's thread */
#include "collection/collection.h"  /* one collection from start to end */
#include "mutator/allocate_try.h"   /* allocation without collecting */
#include "mutator/limits.h"         /* where a limit is met, and changing limits */
#include "mutator/allocate.h"       /* allocation's slow paths */
#include "mutator/attach.h"         /* mutator threads */
#include "mutator/finalize.h"       /* running finalizers */
#include "mutator/fork.h"           /* processes that fork */
#include "mutator/create.h"         /* creating and destroying heaps */
#endif

GC__STYLE_END
