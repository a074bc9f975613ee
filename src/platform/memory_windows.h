/* The platform contract for memory on Windows: VirtualAlloc, and the limits of the process's job. */
#pragma once

#include "os_windows.h"

#ifdef _WIN32
#include <malloc.h>

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
static SRWLOCK gc__os_pages_lock = SRWLOCK_INIT; /* guards the reservations and the states of their pages */

GC__FN gc__os_reservation *gc__os_reservation_of(uintptr_t address) {
    for (int i = 0; i < GC__OS_RESERVATIONS_MAX; i++) {
        gc__os_reservation *each = &gc__os_reservations[i];
        uintptr_t end = __atomic_load_n(&each->end, __ATOMIC_ACQUIRE), start = __atomic_load_n(&each->start, __ATOMIC_RELAXED);
        if (end && address >= start && address < end) return each;
    }
    return NULL;
}

/* Returns whether a fault in a reservation needs no further handling: the page has been committed meanwhile, or here. */
GC__FN bool gc__os_fault_is_over(uintptr_t address, ULONG_PTR access) {
    const gc__os_reservation *reservation = gc__os_reservation_of(address);
    MEMORY_BASIC_INFORMATION part;
    bool is_over = false;
    if (!reservation || access > 1) return false;
    AcquireSRWLockExclusive(&gc__os_pages_lock);
    if (!VirtualQuery((void *)address, &part, sizeof part)) part.State = MEM_FREE;
    if (part.State == MEM_COMMIT)
        is_over = part.Protect == PAGE_READWRITE || (part.Protect == PAGE_READONLY && !access);
    else if (part.State == MEM_RESERVE && reservation->readable && !access)
        is_over = VirtualAlloc((void *)address, 1, MEM_COMMIT, PAGE_READONLY) != NULL;
    ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return is_over;
}

/* Returns false if there are too many. */
GC__COLD bool gc__os_note_reservation(char *start, size_t bytes, bool readable) {
    int i = 0;
    gc__os_handle_faults();
    AcquireSRWLockExclusive(&gc__os_pages_lock);
    while (i < GC__OS_RESERVATIONS_MAX && gc__os_reservations[i].end) i++;
    if (i < GC__OS_RESERVATIONS_MAX) {
        gc__os_reservations[i].readable = readable;
        __atomic_store_n(&gc__os_reservations[i].start, (uintptr_t)start, __ATOMIC_RELAXED);
        __atomic_store_n(&gc__os_reservations[i].end, (uintptr_t)start + bytes, __ATOMIC_RELEASE);
    }
    ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return i < GC__OS_RESERVATIONS_MAX;
}

/* Alignment beyond the system's 64 KiB is asked for where it can be. Otherwise a larger range shows where there is room,
   which another thread may take first. */
GC__COLD char *gc__os_reserve_aligned(size_t bytes, size_t alignment) {
    typedef PVOID(WINAPI * allocate)(HANDLE, PVOID, SIZE_T, ULONG, ULONG, MEM_EXTENDED_PARAMETER *, ULONG);
    allocate aligned = (allocate)(void (*)(void))gc__os_function("kernelbase.dll", "VirtualAlloc2");
    if (aligned) {
        MEM_ADDRESS_REQUIREMENTS wanted = {NULL, NULL, alignment};
        MEM_EXTENDED_PARAMETER parameter;
        memset(&parameter, 0, sizeof parameter);
        parameter.Type = MemExtendedParameterAddressRequirements;
        parameter.Pointer = &wanted;
        char *start = (char *)aligned(GetCurrentProcess(), NULL, bytes, MEM_RESERVE, PAGE_NOACCESS, &parameter, 1);
        if (start) return start;
    }
    for (int tries = 0; tries < 16; tries++) {
        char *wide = (char *)VirtualAlloc(NULL, bytes + alignment, MEM_RESERVE, PAGE_NOACCESS);
        if (!wide) return NULL;
        VirtualFree(wide, 0, MEM_RELEASE);
        char *start = (char *)(((uintptr_t)wide + alignment - 1) & ~(uintptr_t)(alignment - 1));
        if (VirtualAlloc(start, bytes, MEM_RESERVE, PAGE_NOACCESS)) return start;
    }
    return NULL;
}

GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable) {
    enum { ALIGNMENT = 1 << 16 };
    gc__os_check(NULL, bytes | alignment);
    char *start = alignment > ALIGNMENT ? gc__os_reserve_aligned(bytes, alignment)
                                        : (char *)VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_NOACCESS);
    if (!start || ((uintptr_t)start & (alignment - 1)) || gc__os_note_reservation(start, bytes, readable)) return start;
    VirtualFree(start, 0, MEM_RELEASE);
    return NULL;
}

GC__FN bool gc__os_commit(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    AcquireSRWLockExclusive(&gc__os_pages_lock);
    bool done = VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE) != NULL;
    ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return done;
}

GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible) {
    DWORD former;
    gc__os_check(address, bytes);
    return VirtualProtect(address, bytes, accessible ? PAGE_READWRITE : PAGE_NOACCESS, &former);
}

/* Another process may take the memory that is given back here, before it is asked for again: then this one waits for
   more. */
GC__FN bool gc__os_discard(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    AcquireSRWLockExclusive(&gc__os_pages_lock);
    bool given = VirtualFree(address, bytes, MEM_DECOMMIT);
    while (given && !VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE)) Sleep(1);
    ReleaseSRWLockExclusive(&gc__os_pages_lock);
    return given;
}

GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes) { gc__os_check(address, bytes); }

GC__FN void *gc__os_map(size_t bytes) { return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }

GC__OUT_OF_LINE void gc__os_unmap(void *address, size_t bytes) {
    (void)bytes;
    AcquireSRWLockExclusive(&gc__os_pages_lock);
    gc__os_reservation *reservation = gc__os_reservation_of((uintptr_t)address);
    if (reservation) __atomic_store_n(&reservation->end, (uintptr_t)0, __ATOMIC_RELEASE);
    VirtualFree(address, 0, MEM_RELEASE);
    ReleaseSRWLockExclusive(&gc__os_pages_lock);
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
    MEMORY_BASIC_INFORMATION part;
    uintptr_t at = (uintptr_t)address, end = at + bytes;
    for (; at < end; at = (uintptr_t)part.BaseAddress + part.RegionSize)
        if (!VirtualQuery((const void *)at, &part, sizeof part) || part.State != MEM_COMMIT) return false;
    return true;
}

GC__FN bool gc__os_read(void *to, const void *from, size_t bytes) {
    SIZE_T done = 0;
    return ReadProcessMemory(GetCurrentProcess(), from, to, bytes, &done) && done == bytes;
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
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;
    MEMORYSTATUSEX machine;
    size_t bytes = SIZE_MAX;
    machine.dwLength = sizeof machine;
    if (!QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &job, sizeof job, NULL)) return 0;
    DWORD limits = job.BasicLimitInformation.LimitFlags;
    if ((limits & JOB_OBJECT_LIMIT_PROCESS_MEMORY) && job.ProcessMemoryLimit < bytes) bytes = job.ProcessMemoryLimit;
    if ((limits & JOB_OBJECT_LIMIT_JOB_MEMORY) && job.JobMemoryLimit < bytes) bytes = job.JobMemoryLimit;
    return bytes < SIZE_MAX && GlobalMemoryStatusEx(&machine) && bytes < machine.ullTotalPhys ? bytes : 0;
}

GC__COLD unsigned gc__os_quota(void) {
    enum { CPU_RATE = 15, ENABLED = 1, HARD_CAP = 4, WHOLE = 10000 }; /* JobObjectCpuRateControlInformation */
    struct {
        DWORD flags, rate; /* in hundredths of a percent of all processors */
    } job = {0, 0};
    if (!QueryInformationJobObject(NULL, (JOBOBJECTINFOCLASS)CPU_RATE, &job, sizeof job, NULL)) return UINT_MAX;
    if (!(job.flags & ENABLED) || !(job.flags & HARD_CAP) || !job.rate || job.rate > WHOLE) return UINT_MAX;
    SYSTEM_INFO machine;
    GetSystemInfo(&machine);
    return (unsigned)((machine.dwNumberOfProcessors * (uint64_t)job.rate + WHOLE - 1) / WHOLE);
}

GC__COLD const char *gc__os_refusal(size_t bytes) {
    MEMORYSTATUSEX machine;
    machine.dwLength = sizeof machine;
    if (GetLastError() == ERROR_COMMITMENT_LIMIT || (GlobalMemoryStatusEx(&machine) && machine.ullAvailPageFile < bytes))
        return "the system promises no more memory than it has: enlarge the page file, or end other programs";
    return "give the machine more memory, or raise the limits of the process's job";
}
#endif
