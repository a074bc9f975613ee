/* The phases of a collection: what its time is divided among, and what readers in other processes see of it. */
#pragma once

/* Two shipped headers have this part, and a program may include both. */
#ifndef GC_PHASES

/* In their order; those from ROOTS to FINALIZERS may take turns. Until PLAN nothing has changed. From there to SWEEP roots
   and fields may be old or new, and objects in condemned regions cannot be listed. X(NAME, text). */
#define GC_PHASES(X)                                                                   \
    X(GC_PHASE_OPEN, "open")             /* the start hook, verification */            \
    X(GC_PHASE_GATHER, "gather roots")   /* asks the host for roots */                 \
    X(GC_PHASE_PLAN, "plan")             /* chooses regions to move, mark or ignore */ \
    X(GC_PHASE_ROOTS, "mark roots")      /* traces from roots */                       \
    X(GC_PHASE_CARDS, "cards")           /* traces from dirty cards */                 \
    X(GC_PHASE_REMARK, "remark")         /* what concurrent marking has left */        \
    X(GC_PHASE_AMBIGUOUS, "ambiguous")   /* traces from conservative words */          \
    X(GC_PHASE_HANDLES, "handles")       /* dependent and weak handles */              \
    X(GC_PHASE_FINALIZERS, "finalizers") /* queues finalizers, and traces from them */ \
    X(GC_PHASE_SWEEP, "sweep")           /* frees regions */                           \
    X(GC_PHASE_CLOSE, "close")           /* pacing, verification, statistics */

typedef enum gc_phase {
#define GC__PHASE_NAME(name, text) name,
    GC_PHASES(GC__PHASE_NAME)
#undef GC__PHASE_NAME
        GC_PHASE_COUNT,
    GC_PHASE_NONE = GC_PHASE_COUNT /* no collection runs */
} gc_phase;

#endif
