/* The platform contract for memory on Windows: VirtualAlloc, and the limits of the process's job. */
#pragma once

#include "os_windows.h"

#ifdef _WIN32
#include <malloc.h>
#include <stdio.h>

GC__FN void gc__os_check(const void *address, size_t bytes) {
    (void)address, (void)bytes;
    GC_ASSERT(bytes && !(((uintptr_t)address | bytes) & (gc__os_page_bytes() - 1)),
              "%zu bytes at %p are not whole pages: a fault of gc.h, please report it", bytes, address);
}

/* The reservations. Memory that is only reserved cannot be read, so in those that are `readable` a fault commits the page,
   read-only: barriers read the tables at few places. A page is in one of three states: reserved; committed by a fault;
   committed by gc__os_commit. It never leaves the last one, except while gc__os_discard exchanges its memory. */
enum { GC__OS_RESERVATIONS_MAX = 32 };
typedef struct gc__os_reservation {
    uintptr_t start, end; /* atomic; 0: there is none */
    bool readable;        /* written before `end` */
} gc__os_reservation;
static gc__os_reservation gc__os_reservations[GC__OS_RESERVATIONS_MAX];
/* A lock of the system, free at first, that guards the reservations and the states of their pages. */
static void *gc__os_pages_lock;

GC__FN gc__os_reservation *gc__os_reservation_of(uintptr_t address) {
    for (int i = 0; i < GC__OS_RESERVATIONS_MAX; i++) {
        gc__os_reservation *each = &gc__os_reservations[i];
        uintptr_t end = __atomic_load_n(&each->end, __ATOMIC_ACQUIRE), start = __atomic_load_n(&each->start, __ATOMIC_RELAXED);
        if (end && address >= start && address < end) return each;
    }
    return NULL;
}

/* Commits the page that is read there for the first time. If the system refuses, other programs have a second to give memory
   back: the reader cannot go on without that page. */
GC__COLD void gc__os_commit_read(uintptr_t address) {
    for (int ms = 0; !gc__call_VirtualAlloc((void *)address, 1, GC__OS_COMMIT, GC__OS_READ); ms++) {
        if (ms < 1000) {
            gc__call_Sleep(1);
            continue;
        }
        fprintf(stderr, "gc.h: the system refuses memory for the page at %p of a table that write barriers read: %s\n",
                (void *)address, gc__os_refusal(1));
        abort();
    }
}

/* Returns whether a fault in a reservation needs no further handling: the page has been committed meanwhile, or here. */
GC__FN bool gc__os_fault_is_over(uintptr_t address, uintptr_t access) {
    const gc__os_reservation *reservation = gc__os_reservation_of(address);
    gc__os_part part;
    bool is_over = false;
    if (!reservation || access > 1) return false;
    gc__call_AcquireSRWLockExclusive(&gc__os_pages_lock);
    if (!gc__call_VirtualQuery((void *)address, &part, sizeof part)) part.state = GC__OS_FREE;
    if (part.state == GC__OS_COMMIT)
        is_over = part.protection == GC__OS_WRITE || (part.protection == GC__OS_READ && !access);
    else if (part.state == GC__OS_RESERVE && reservation->readable && !access)
        gc__os_commit_read(address), is_over = true;
    gc__call_ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return is_over;
}

/* Returns false if there are too many. */
GC__COLD bool gc__os_note_reservation(char *start, size_t bytes, bool readable) {
    int i = 0;
    gc__os_handle_faults();
    gc__call_AcquireSRWLockExclusive(&gc__os_pages_lock);
    while (i < GC__OS_RESERVATIONS_MAX && gc__os_reservations[i].end) i++;
    if (i < GC__OS_RESERVATIONS_MAX) {
        gc__os_reservations[i].readable = readable;
        __atomic_store_n(&gc__os_reservations[i].start, (uintptr_t)start, __ATOMIC_RELAXED);
        __atomic_store_n(&gc__os_reservations[i].end, (uintptr_t)start + bytes, __ATOMIC_RELEASE);
    }
    gc__call_ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return i < GC__OS_RESERVATIONS_MAX;
}

/* Alignment beyond the system's 64 KiB is asked for where it can be. Otherwise a larger range shows where there is room,
   which another thread may take first. */
GC__COLD char *gc__os_reserve_aligned(size_t bytes, size_t alignment) {
    gc__os_any_function *allocate = gc__os_function("kernelbase.dll", "VirtualAlloc2");
    gc__os_alignment wanted = {1, &wanted.low, NULL, NULL, alignment};
    char *aligned = allocate ? (char *)((gc__os_virtual_alloc_2)allocate)(gc__call_GetCurrentProcess(), NULL, bytes,
                                                                          GC__OS_RESERVE, GC__OS_NO_ACCESS, &wanted, 1)
                             : NULL;
    if (aligned) return aligned;
    for (int tries = 0; tries < 16; tries++) {
        char *wide = (char *)gc__call_VirtualAlloc(NULL, bytes + alignment, GC__OS_RESERVE, GC__OS_NO_ACCESS);
        if (!wide) return NULL;
        gc__call_VirtualFree(wide, 0, GC__OS_RELEASE);
        char *start = (char *)(((uintptr_t)wide + alignment - 1) & ~(uintptr_t)(alignment - 1));
        if (gc__call_VirtualAlloc(start, bytes, GC__OS_RESERVE, GC__OS_NO_ACCESS)) return start;
    }
    return NULL;
}

GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable) {
    enum { ALIGNMENT = 1 << 16 };
    gc__os_check(NULL, bytes | alignment);
    char *start = alignment > ALIGNMENT ? gc__os_reserve_aligned(bytes, alignment)
                                        : (char *)gc__call_VirtualAlloc(NULL, bytes, GC__OS_RESERVE, GC__OS_NO_ACCESS);
    if (!start || ((uintptr_t)start & (alignment - 1)) || gc__os_note_reservation(start, bytes, readable)) return start;
    gc__call_VirtualFree(start, 0, GC__OS_RELEASE);
    return NULL;
}

GC__FN bool gc__os_commit(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__call_AcquireSRWLockExclusive(&gc__os_pages_lock);
    bool done = gc__call_VirtualAlloc(address, bytes, GC__OS_COMMIT, GC__OS_WRITE) != NULL;
    gc__call_ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return done;
}

GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible) {
    uint32_t former;
    gc__os_check(address, bytes);
    return gc__call_VirtualProtect(address, bytes, accessible ? GC__OS_WRITE : GC__OS_NO_ACCESS, &former);
}

/* Another process may take the memory that is given back here, before it is asked for again: then this one waits for
   more. */
GC__FN bool gc__os_discard(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__call_AcquireSRWLockExclusive(&gc__os_pages_lock);
    bool given = gc__call_VirtualFree(address, bytes, GC__OS_DECOMMIT);
    while (given && !gc__call_VirtualAlloc(address, bytes, GC__OS_COMMIT, GC__OS_WRITE)) gc__call_Sleep(1);
    gc__call_ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return given;
}

GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes) { gc__os_check(address, bytes); }

GC__FN void *gc__os_map(size_t bytes) { return gc__call_VirtualAlloc(NULL, bytes, GC__OS_RESERVE | GC__OS_COMMIT, GC__OS_WRITE); }

GC__OUT_OF_LINE void gc__os_unmap(void *address, size_t bytes) {
    (void)bytes;
    gc__call_AcquireSRWLockExclusive(&gc__os_pages_lock);
    gc__os_reservation *reservation = gc__os_reservation_of((uintptr_t)address);
    if (reservation) __atomic_store_n(&reservation->end, (uintptr_t)0, __ATOMIC_RELEASE);
    gc__call_VirtualFree(address, 0, GC__OS_RELEASE);
    gc__call_ReleaseSRWLockExclusive(&gc__os_pages_lock);
}

GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes) {
    gc__os_check(NULL, old_bytes | new_bytes);
    void *mapped = gc__os_map(new_bytes);
    if (!mapped) return NULL;
    memcpy(mapped, address, old_bytes < new_bytes ? old_bytes : new_bytes);
    gc__os_unmap(address, old_bytes);
    return mapped;
}

GC__INLINED bool gc__os_new_aligned(void **memory, size_t alignment, size_t bytes) {
    *memory = _aligned_malloc(bytes, alignment);
    return *memory != NULL;
}
GC__INLINED void gc__os_free_aligned(void *memory) { _aligned_free(memory); }

GC__FN bool gc__os_is_mapped(const void *address, size_t bytes) {
    gc__os_part part;
    uintptr_t at = (uintptr_t)address, end = at + bytes;
    for (; at < end; at = (uintptr_t)part.start + part.bytes)
        if (!gc__call_VirtualQuery((const void *)at, &part, sizeof part) || part.state != GC__OS_COMMIT) return false;
    return true;
}

GC__FN bool gc__os_read(void *to, const void *from, size_t bytes) {
    size_t done = 0;
    return gc__call_ReadProcessMemory(gc__call_GetCurrentProcess(), from, to, bytes, &done) && done == bytes;
}

/* Huge pages need a right that few users have, and cannot be given back in parts. */
GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes) { (void)address, (void)bytes; }
GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes) { gc__os_check(address, bytes); }

GC__FN void gc__os_populate(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    for (size_t i = 0; i < bytes; i += gc__os_page_bytes()) __atomic_fetch_or((uint8_t *)address + i, 0, __ATOMIC_RELAXED);
}

/* The system does not say which pages were written to. */
GC__FN void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t), void *context) {
    if (from < end) visit(context, from, end);
}

GC__COLD size_t gc__os_container_bytes(void) {
    enum { PROCESS = 0x100, JOB = 0x200 };
    gc__os_job job;
    gc__os_memory machine;
    size_t bytes = SIZE_MAX;
    machine.bytes = sizeof machine;
    if (!gc__call_QueryInformationJobObject(NULL, GC__OS_JOB_LIMITS, &job, sizeof job, NULL)) return 0;
    if ((job.limits & PROCESS) && job.process_bytes < bytes) bytes = job.process_bytes;
    if ((job.limits & JOB) && job.job_bytes < bytes) bytes = job.job_bytes;
    return bytes < SIZE_MAX && gc__call_GlobalMemoryStatusEx(&machine) && bytes < machine.total ? bytes : 0;
}

GC__COLD unsigned gc__os_quota(void) {
    enum { ENABLED = 1, HARD_CAP = 4, WHOLE = 10000, ALL_GROUPS = 0xFFFF };
    struct {
        uint32_t flags, rate; /* in hundredths of a percent of all processors */
    } job = {0, 0};
    if (!gc__call_QueryInformationJobObject(NULL, GC__OS_JOB_CPU, &job, sizeof job, NULL)) return UINT_MAX;
    if (!(job.flags & ENABLED) || !(job.flags & HARD_CAP) || !job.rate || job.rate > WHOLE) return UINT_MAX;
    return (unsigned)((gc__call_GetActiveProcessorCount(ALL_GROUPS) * (uint64_t)job.rate + WHOLE - 1) / WHOLE);
}

GC__COLD const char *gc__os_refusal(size_t bytes) {
    enum { TOO_MUCH = 1455 }; /* ERROR_COMMITMENT_LIMIT */
    gc__os_memory machine;
    machine.bytes = sizeof machine;
    if (gc__call_GetLastError() == TOO_MUCH || (gc__call_GlobalMemoryStatusEx(&machine) && machine.promised_available < bytes))
        return "the system promises no more memory than it has: enlarge the page file, or end other programs";
    return "give the machine more memory, or raise the limits of the process's job";
}
#endif
