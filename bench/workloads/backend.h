/* The seam between the workloads and memory managers. Each workload is written once, over these names; the build
   chooses one manager by -DMM_BACKEND=\"backend_gc.h\" and so on. A backend implements:

   MM_NAME                       what the reports call it
   MM_MANUAL                     1: the workload frees what it drops, by mm_free
   MM_HEADER, MM_HEADER_WORDS    what an object begins with, and its size in words
   MM_TYPE(T, fields...)         declares what the manager must know of T, whose named fields are references
   mm                            the manager's state, passed wherever it may allocate or collect
   MM_NEW(mm, T)                 a new T; references not set by the workload are null after MM_CLEAR
   MM_CLEAR(slot)                *slot = NULL in a new object; nothing where objects are born zeroed
   MM_STORE(mm, slot, ref)       *slot = ref in an object; one that is new is initialized by plain stores
   MM_ROOTS(mm, variables...)    these references are live until the scope ends, and may move
   MM_ROOT_ARRAY(mm, first, n)   the same for an array of references
   mm_refs, mm_new_refs(mm, n), mm_refs_at(refs)      an array of n null references; the address of its first
   mm_bytes, mm_new_bytes(mm, n), mm_bytes_at(bytes)  n bytes of undefined contents, 8-byte aligned; their address
   mm_free(mm, object)           frees any of these; nothing where a collector does
   mm_open(options), mm_close(mm, options, report)    once per process

   Allocation does not return NULL: it ends the program by mm_exhausted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MM_GENERATIONS_MAX 3

typedef struct mm_options {
    size_t nursery_bytes;  /* 0: the manager's default; ignored by managers without a nursery */
    size_t heap_bytes_max; /* 0: no limit; ignored by managers without a heap of their own */
    size_t collector_threads; /* 0: the manager's default; ignored by managers without */
    size_t growth_percent; /* 0: the manager's default; ignored by managers that do not collect */
    size_t pause_goal_us;  /* 0: the manager's default; ignored by managers without */
    size_t concurrent;     /* whether a thread marks beside the program; ignored where none can */
    size_t print_pauses;   /* whether the manager prints a report of pauses to stderr; ignored by managers without */
    /* gc_options of these names; ignored by other managers. */
    size_t non_moving, non_generational, conservative_stack, keep_memory, heap_bytes_soft, growth_bytes_min, overhead_percent_max;
    size_t trace_functions;
} mm_options;

/* What a collector did. */
typedef struct mm_report {
    int generations; /* 0: nothing collects */
    uint64_t collections[MM_GENERATIONS_MAX];
    double pause_total_s, pause_max_s, pause_p999_s;
    double utilisation[3]; /* the least share of any 1, 10 and 100 ms that was the program's; 0: not known */
    uint64_t live_peak_bytes; /* the most that a full collection has left; 0: not known */
} mm_report;

/* Ends the program with a message and status 1. */
void mm_exhausted(const char *detail) __attribute__((noreturn, cold));

#include MM_BACKEND
