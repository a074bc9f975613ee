/* The calls of Windows that gc.h makes, all of kernel32, with the structures that they fill. They have names of gc.h's own
   here: the system's header would define thousands of names in the host's file. Files may include that header, too. */
#pragma once

#include "platform.h"

#ifdef _WIN32
#define GC__CALL(result, name, arguments) GC__EXTERN result gc__call_##name arguments __asm__(#name)

typedef struct gc__os_part { /* MEMORY_BASIC_INFORMATION */
    void *start, *reserved_at;
    uint32_t reserved_protection, partition;
    size_t bytes;
    uint32_t state, protection, type;
} gc__os_part;
enum { GC__OS_COMMIT = 0x1000, GC__OS_RESERVE = 0x2000, GC__OS_FREE = 0x10000 }; /* states of a part */
enum { GC__OS_DECOMMIT = 0x4000, GC__OS_RELEASE = 0x8000 };
enum { GC__OS_IMAGE = 0x1000000 }; /* the type of memory that a program or library is loaded to */
enum { GC__OS_NO_ACCESS = 1, GC__OS_READ = 2, GC__OS_WRITE = 4, GC__OS_COPY = 8, GC__OS_EXECUTE = 0xF0 };
GC__CALL(void *, VirtualAlloc, (void *address, size_t bytes, uint32_t how, uint32_t protection));
GC__CALL(int, VirtualFree, (void *address, size_t bytes, uint32_t how));
GC__CALL(int, VirtualProtect, (void *address, size_t bytes, uint32_t protection, uint32_t *former));
GC__CALL(size_t, VirtualQuery, (const void *address, gc__os_part *part, size_t bytes));
GC__CALL(int, ReadProcessMemory, (void *process, const void *from, void *to, size_t bytes, size_t *done));

typedef struct gc__os_alignment { /* MEM_EXTENDED_PARAMETER for MEM_ADDRESS_REQUIREMENTS, which follow */
    uint64_t type;                /* 1 */
    const void *requirements;     /* of `low` */
    void *low, *high;
    size_t alignment;
} gc__os_alignment;
typedef void *(*gc__os_virtual_alloc_2)(void *process, void *address, size_t bytes, uint32_t how, uint32_t protection,
                                        const gc__os_alignment *parameters, uint32_t count);

typedef struct gc__os_memory { /* MEMORYSTATUSEX */
    uint32_t bytes, used_percent;
    uint64_t total, available, promised_total, promised_available, others[3];
} gc__os_memory;
GC__CALL(int, GlobalMemoryStatusEx, (gc__os_memory * memory));

typedef struct gc__os_job { /* JOBOBJECT_EXTENDED_LIMIT_INFORMATION */
    uint64_t times[2];
    uint32_t limits, unused;
    uint64_t others[11], process_bytes, job_bytes, peaks[2];
} gc__os_job;
enum { GC__OS_JOB_LIMITS = 9, GC__OS_JOB_CPU = 15 };
GC__CALL(int, QueryInformationJobObject, (void *job, int what, void *information, uint32_t bytes, uint32_t *needed));

typedef struct gc__os_unit { /* SYSTEM_LOGICAL_PROCESSOR_INFORMATION; relation 2 is a cache */
    uintptr_t processors;
    uint32_t relation, unused;
    uint8_t level, ways;
    uint16_t line;
    uint32_t bytes, type, rest;
} gc__os_unit;
GC__CALL(int, GetLogicalProcessorInformation, (gc__os_unit * units, uint32_t *bytes));
GC__CALL(uint32_t, GetActiveProcessorCount, (uint16_t group));
GC__CALL(int, GetProcessAffinityMask, (void *process, uintptr_t *mine, uintptr_t *all));
GC__CALL(uintptr_t, SetThreadAffinityMask, (void *thread, uintptr_t mask));
GC__CALL(uint32_t, GetCurrentProcessorNumber, (void));

GC__CALL(int, QueryPerformanceFrequency, (int64_t * per_s));
GC__CALL(int, QueryPerformanceCounter, (int64_t * ticks));
GC__CALL(int, GetThreadTimes, (void *thread, uint64_t *start, uint64_t *end, uint64_t *kernel, uint64_t *user));
GC__CALL(void, Sleep, (uint32_t ms));

GC__CALL(void *, GetCurrentProcess, (void));
GC__CALL(uint32_t, GetCurrentProcessId, (void));
GC__CALL(void *, GetCurrentThread, (void));
GC__CALL(uint32_t, GetCurrentThreadId, (void));
GC__CALL(int, SetThreadPriorityBoost, (void *thread, int is_off));
GC__CALL(uint32_t, WaitForSingleObject, (void *handle, uint32_t ms));
GC__CALL(int, CloseHandle, (void *handle));
GC__CALL(uint32_t, FlsAlloc, (void (*at_end)(void *value)));
GC__CALL(int, FlsSetValue, (uint32_t index, void *value));
GC__CALL(int, FlsFree, (uint32_t index));
GC__CALL(uint32_t, TlsAlloc, (void));
GC__CALL(void *, TlsGetValue, (uint32_t index));
GC__CALL(int, TlsSetValue, (uint32_t index, void *value));
GC__CALL(int, TlsFree, (uint32_t index));
GC__CALL(void, AcquireSRWLockExclusive, (void **lock));
GC__CALL(void, ReleaseSRWLockExclusive, (void **lock));
GC__CALL(uint32_t, GetLastError, (void));
GC__CALL(void, SetLastError, (uint32_t error));

GC__CALL(void *, GetModuleHandleA, (const char *name));
GC__CALL(uint32_t, GetModuleFileNameA, (void *module, char *name, uint32_t bytes));
typedef void gc__os_any_function(void);
GC__CALL(gc__os_any_function *, GetProcAddress, (void *module, const char *name));

/* The words are Rax to R15, in the order of the processor's numbers, and Rip. */
enum { GC__OS_WORDS = 17, GC__OS_STACK_POINTER = 4, GC__OS_FRAME_POINTER = 5, GC__OS_FAULT_PC = 16 };
typedef struct __attribute__((aligned(16))) gc__os_context { /* CONTEXT */
    uint64_t before[15];
    uintptr_t words[GC__OS_WORDS];
    uint64_t after[122];
} gc__os_context;
GC__STATIC_ASSERT(sizeof(gc__os_context) == 1232, "Windows has another CONTEXT");
typedef struct gc__os_exception { /* EXCEPTION_RECORD */
    uint32_t code, flags;
    void *next, *at;
    uint32_t count, unused;
    uintptr_t words[15]; /* for an access violation: 0: read, 1: write, 8: execute; the address */
} gc__os_exception;
typedef struct gc__os_exception_at { /* EXCEPTION_POINTERS */
    const gc__os_exception *exception;
    gc__os_context *context;
} gc__os_exception_at;
#define GC__OS_ACCESS_VIOLATION 0xC0000005u
typedef int32_t gc__os_exception_handler(gc__os_exception_at *at); /* returns -1 to continue there, 0 to search on */
GC__CALL(void *, AddVectoredExceptionHandler, (uint32_t is_first, gc__os_exception_handler *handler));
GC__CALL(uint32_t, RemoveVectoredExceptionHandler, (void *handle));
GC__CALL(void, RtlCaptureContext, (gc__os_context * context));
GC__CALL(void *, RtlLookupFunctionEntry, (uintptr_t pc, uintptr_t *base, void *history));
GC__CALL(void *, RtlVirtualUnwind,
         (uint32_t handlers, uintptr_t base, uintptr_t pc, void *function, gc__os_context *context, void **data,
          uintptr_t *frame, void *pointers));
#endif
