/* The platform contract for Windows on x86-64: processors, clocks, stacks, locks, threads, faults. It needs no library but
   kernel32 and the C library. Functions that not every Windows has are looked up when they are first called. */
#pragma once

#include "platform.h"

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <errno.h>
#include <limits.h>
#include <process.h>
#include <stdlib.h>

#define GC__NOTE_SECTION(contents) "" /* files have no notes */

/* A function of a library that is always loaded; NULL if this Windows does not have it. */
GC__COLD FARPROC gc__os_function(const char *library, const char *name) {
    HMODULE module = GetModuleHandleA(library);
    return module ? GetProcAddress(module, name) : NULL;
}

GC__FN size_t gc__os_page_bytes(void) { return 4096; }

GC__COLD size_t gc__os_l2_bytes(void) {
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION all[128];
    DWORD bytes = sizeof all;
    if (!GetLogicalProcessorInformation(all, &bytes)) bytes = 0;
    for (DWORD i = 0; i < bytes / sizeof *all; i++)
        if (all[i].Relationship == RelationCache && all[i].Cache.Level == 2 && all[i].Cache.Size) return all[i].Cache.Size;
    return (size_t)1 << 20;
}

GC__COLD unsigned gc__os_processors(void) {
    DWORD_PTR mine = 0, all = 0;
    GetProcessAffinityMask(GetCurrentProcess(), &mine, &all);
    return mine ? (unsigned)__builtin_popcountll(mine) : 1;
}

GC__FN int gc__os_processor(void) { return (int)GetCurrentProcessorNumber(); }

/* Time passes in ticks; their product with 10^9 would not fit in 64 bits. */
GC__FN uint64_t gc__os_now_ns(void) {
    static LONGLONG frequency; /* atomic; it never changes */
    LARGE_INTEGER now;
    LONGLONG per_s = __atomic_load_n(&frequency, __ATOMIC_RELAXED);
    if (!per_s) {
        QueryPerformanceFrequency(&now);
        __atomic_store_n(&frequency, per_s = now.QuadPart, __ATOMIC_RELAXED);
    }
    QueryPerformanceCounter(&now);
    return (uint64_t)(now.QuadPart / per_s) * 1000000000u + (uint64_t)(now.QuadPart % per_s) * 1000000000u / (uint64_t)per_s;
}

GC__FN uint64_t gc__os_filetime_ns(FILETIME time) {
    return (((uint64_t)time.dwHighDateTime << 32) | time.dwLowDateTime) * 100;
}

GC__FN uint64_t gc__os_cpu_ns(void) {
    FILETIME start, end, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &start, &end, &kernel, &user)) return 0;
    return gc__os_filetime_ns(kernel) + gc__os_filetime_ns(user);
}

/* Fibers are known to the system: these are the bounds of the fiber's stack while a thread runs one. The lower part is
   reserved only, until the stack reaches it. */
GC__COLD bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high) {
    MEMORY_BASIC_INFORMATION part;
    __asm__ volatile("{movq %%gs:8, %0|mov %0, qword ptr gs:8}" : "=r"(*high)); /* NT_TIB.StackBase */
    if (!VirtualQuery((const char *)*high - 1, &part, sizeof part)) return false;
    *low = (uintptr_t)part.AllocationBase;
    return true;
}

GC__FN char *gc__os_stack_base(bool *elsewhere) {
    uintptr_t low, high;
    if (!gc__os_stack_bounds(&low, &high)) return NULL;
    *elsewhere = (uintptr_t)__builtin_frame_address(0) - low >= high - low;
    return *elsewhere ? NULL : (char *)high;
}

static uint64_t gc__os_selves; /* atomic */
static __thread uint64_t gc__os_identity;
GC__OUT_OF_LINE uint64_t gc__os_self_new(void) {
    gc__os_identity = __atomic_add_fetch(&gc__os_selves, 1, __ATOMIC_RELAXED);
    return gc__os_identity;
}
GC__FN uint64_t gc__os_self(void) { return GC__LIKELY(gc__os_identity) ? gc__os_identity : gc__os_self_new(); }
GC__FN bool gc__os_is_single_threaded(void) { return false; }
GC__FN uint32_t gc__os_thread_number(void) { return GetCurrentThreadId(); }

/* Where the system has no WaitOnAddress (before Windows 8), waiting threads look at the word every millisecond. */
typedef BOOL(WINAPI *gc__os_wait_function)(volatile VOID *word, PVOID value, SIZE_T bytes, DWORD ms);
typedef VOID(WINAPI *gc__os_wake_function)(PVOID word);
static struct {
    gc__os_wait_function wait;
    gc__os_wake_function wake_one, wake_all;
    BOOLEAN(WINAPI *is_ending)(void); /* the process ends, and its other threads have been ended already */
} gc__os_waits;
static uint32_t gc__os_waits_known; /* atomic; 1: gc__os_waits is complete */

/* Several threads may store the same. A function without a prototype is cast by way of one type for all of them. */
GC__COLD void gc__os_waits_find(void) {
    typedef void (*any)(void);
    any wait = (any)gc__os_function("kernelbase.dll", "WaitOnAddress"),
        one = (any)gc__os_function("kernelbase.dll", "WakeByAddressSingle"),
        all = (any)gc__os_function("kernelbase.dll", "WakeByAddressAll");
    bool found = wait && one && all;
    gc__os_waits.wait = found ? (gc__os_wait_function)wait : NULL;
    gc__os_waits.wake_one = found ? (gc__os_wake_function)one : NULL;
    gc__os_waits.wake_all = found ? (gc__os_wake_function)all : NULL;
    gc__os_waits.is_ending = (BOOLEAN(WINAPI *)(void))(any)gc__os_function("ntdll.dll", "RtlDllShutdownInProgress");
    __atomic_store_n(&gc__os_waits_known, 1, __ATOMIC_RELEASE);
}
GC__FN bool gc__os_has_waits(void) {
    if (!__atomic_load_n(&gc__os_waits_known, __ATOMIC_ACQUIRE)) gc__os_waits_find();
    return gc__os_waits.wait != NULL;
}

GC__OUT_OF_LINE void gc__os_wake(const uint32_t *word) {
    if (gc__os_has_waits()) gc__os_waits.wake_all((PVOID)(uintptr_t)word);
}

GC__FN void gc__os_wait_ms(const uint32_t *word, uint32_t value, DWORD ms) {
    if (gc__os_has_waits())
        gc__os_waits.wait((volatile VOID *)(uintptr_t)word, &value, sizeof value, ms);
    else if (__atomic_load_n(word, __ATOMIC_RELAXED) == value)
        Sleep(1);
}

GC__OUT_OF_LINE void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns) {
    uint64_t ms = (ns + GC__NS_PER_MS - 1) / GC__NS_PER_MS;
    gc__os_wait_ms(word, value, ms < INFINITE ? (DWORD)ms : INFINITE - 1);
}

struct gc__lock {
    uint32_t state; /* atomic; 0: free; 1: taken; 2: taken, and a thread may wait */
    uint64_t owner; /* atomic; the owner's gc__os_self; 0: nobody */
};
#define GC__LOCK_INITIALIZER \
    { 0, 0 }

GC__FN void gc__lock_own(gc__lock *lock, uint64_t owner) { __atomic_store_n(&lock->owner, owner, __ATOMIC_RELAXED); }
GC__FN bool gc__lock_is_mine(const gc__lock *lock) {
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == gc__os_self();
}
GC__FN bool gc__lock_is_free(const gc__lock *lock) { return !__atomic_load_n(&lock->owner, __ATOMIC_RELAXED); }

GC__FN bool gc__lock_grab(gc__lock *lock, uint32_t state) {
    uint32_t free = 0;
    return __atomic_compare_exchange_n(&lock->state, &free, state, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Waits until `end_ns`. Returns whether the lock is taken. When the process ends, the system has ended other threads
   wherever they were: then a lock that they held is not waited for. */
GC__COLD bool gc__lock_wait(gc__lock *lock, uint64_t end_ns) {
    enum { SPINS = 100, ENDING_MS = 100 };
    for (int i = 0; i < SPINS; i++) {
        YieldProcessor();
        if (gc__lock_grab(lock, 1)) return true;
    }
    while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0) {
        uint64_t now = end_ns == UINT64_MAX ? 0 : gc__os_now_ns(), left = end_ns > now ? end_ns - now : 0;
        if (!left) return false;
        if (gc__os_has_waits() && gc__os_waits.is_ending && gc__os_waits.is_ending()) return true;
        gc__os_wait_for(&lock->state, 2, left < ENDING_MS * GC__NS_PER_MS ? left : ENDING_MS * GC__NS_PER_MS);
    }
    return true;
}

GC__OUT_OF_LINE void gc__lock_take(gc__lock *lock) {
    GC_ASSERT(!gc__lock_is_mine(lock),
              "the thread waits for a lock of gc.h that it holds itself, called in a signal handler, or the heap was "
              "destroyed already");
    if (!gc__lock_grab(lock, 1)) gc__lock_wait(lock, UINT64_MAX);
    gc__lock_own(lock, gc__os_self());
}
GC__FN void gc__lock_release(gc__lock *lock) {
    gc__lock_own(lock, 0);
    if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2 && gc__os_has_waits())
        gc__os_waits.wake_one((PVOID)&lock->state);
}
GC__OUT_OF_LINE bool gc__lock_try(gc__lock *lock) {
    bool taken = gc__lock_grab(lock, 1);
    if (taken) gc__lock_own(lock, gc__os_self());
    return taken;
}
GC__COLD bool gc__lock_take_for(gc__lock *lock, uint64_t ns) {
    bool taken = gc__lock_grab(lock, 1) || gc__lock_wait(lock, gc__os_now_ns() + ns);
    if (taken) gc__lock_own(lock, gc__os_self());
    return taken;
}
GC__FN void gc__lock_init(gc__lock *lock) {
    static const gc__lock fresh = GC__LOCK_INITIALIZER;
    *lock = fresh;
}
GC__FN void gc__lock_end(gc__lock *lock) { (void)lock; }

/* There is no fork. */
GC__FN void gc__lock_fork_take(gc__lock *lock) { (void)lock; }
GC__FN void gc__lock_fork_adopt(gc__lock *lock) { (void)lock; }
GC__FN void gc__lock_fork_release(gc__lock *lock) { (void)lock; }
GC__COLD bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    return (void)before, (void)in_parent, (void)in_child, true;
}

struct gc__os_thread {
    HANDLE handle;
    uint64_t self; /* gc__os_self of the thread, once it runs; atomic */
    void (*f)(void *context);
    void *context;
};

GC__FN unsigned WINAPI gc__os_thread_main(void *thread) {
    gc__os_thread *self = (gc__os_thread *)thread;
    __atomic_store_n(&self->self, gc__os_self(), __ATOMIC_RELAXED);
    self->f(self->context);
    return 0;
}
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context) {
    thread->f = f;
    thread->context = context;
    thread->self = 0;
    thread->handle = (HANDLE)_beginthreadex(NULL, 0, gc__os_thread_main, thread, 0, NULL);
    return thread->handle != NULL;
}
/* Not every Windows gives names to threads. */
GC__COLD bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context) {
    typedef HRESULT(WINAPI * set)(HANDLE thread, PCWSTR name);
    set describe = (set)(void (*)(void))gc__os_function("kernelbase.dll", "SetThreadDescription");
    WCHAR wide[32];
    size_t length = 0;
    if (!gc__os_thread_start(thread, f, context)) return false;
    for (; name[length] && length < 31; length++) wide[length] = (WCHAR)name[length];
    wide[length] = 0;
    if (describe) describe(thread->handle, wide);
    return true;
}
GC__FN void gc__os_thread_join(gc__os_thread *thread) {
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
}
GC__FN void gc__os_thread_is_patient(void) { SetThreadPriorityBoost(GetCurrentThread(), TRUE); }
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread) {
    return __atomic_load_n(&thread->self, __ATOMIC_RELAXED) == gc__os_self();
}
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor) {
    DWORD_PTR mine = 0, all = 0;
    (void)self;
    if (processor < 0 || processor > 63 || !GetProcessAffinityMask(GetCurrentProcess(), &mine, &all)) return;
    mine &= ~((DWORD_PTR)1 << processor);
    if (mine) SetThreadAffinityMask(GetCurrentThread(), mine);
}
GC__FN void gc__os_thread_abandon(gc__os_thread *thread) { CloseHandle(thread->handle); }

static bool (*gc__os_end)(void); /* atomic; NULL: none */
static __thread bool gc__os_ends; /* it is to be called at the end of this thread */

/* The loader calls this at the end of each thread: after the destructors of keys of pthread_key_create and of fiber-local
   storage, and before it ends thread-local variables. It comes too early for those that C++ destroys there, so the second
   call of gc__os_end follows the first. */
GC__COLD void NTAPI gc__os_loader_event(PVOID module, DWORD reason, PVOID reserved) {
    (void)module, (void)reserved;
    bool (*end)(void) = reason == DLL_THREAD_DETACH ? __atomic_load_n(&gc__os_end, __ATOMIC_ACQUIRE) : NULL;
    if (end && gc__os_ends && end()) end();
}
/* The linker sorts these sections by name: the C library's own entries for the start of a thread are in C, and for its
   end in D. */
__attribute__((section(".CRT$XLCZ"), used)) static const PIMAGE_TLS_CALLBACK gc__os_loader_entry = gc__os_loader_event;

GC__COLD bool gc__os_at_thread_end(bool (*f)(void)) {
    __atomic_store_n(&gc__os_end, f, __ATOMIC_RELEASE);
    gc__os_ends = true;
    return true;
}

/* The registers are those of a CONTEXT from Rax to Rip, in the order of the processor's numbers. */
enum { GC__OS_WORDS = 17, GC__OS_STACK_POINTER = 4, GC__OS_FRAME_POINTER = 5, GC__OS_FAULT_PC = 16 };
GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words) { return words[GC__OS_FAULT_PC]; }

static gc__fault_handler gc__os_fault; /* written once, under the arena's lock */
static PVOID gc__os_fault_handle;      /* of the handler that the system calls; atomic */

GC__FN bool gc__os_fault_is_over(uintptr_t address, ULONG_PTR access);

/* The system calls this for every exception. Those of others are passed on, and the last error is that of the code that
   they interrupted. */
GC__COLD LONG CALLBACK gc__os_exception(EXCEPTION_POINTERS *at) {
    const EXCEPTION_RECORD *record = at->ExceptionRecord;
    if (record->ExceptionCode != EXCEPTION_ACCESS_VIOLATION || record->NumberParameters < 2) return EXCEPTION_CONTINUE_SEARCH;
    uintptr_t address = record->ExceptionInformation[1];
    const uintptr_t *words = (const uintptr_t *)(const void *)&at->ContextRecord->Rax;
    DWORD error = GetLastError();
    bool handled = gc__os_fault_is_over(address, record->ExceptionInformation[0]) ||
                   (gc__os_fault && gc__os_fault(address, words, GC__OS_WORDS, words[GC__OS_STACK_POINTER]));
    SetLastError(error);
    return handled ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

GC__COLD void gc__os_handle_faults(void) {
    if (__atomic_load_n(&gc__os_fault_handle, __ATOMIC_ACQUIRE)) return;
    PVOID mine = AddVectoredExceptionHandler(1, gc__os_exception), none = NULL;
    if (!__atomic_compare_exchange_n(&gc__os_fault_handle, &none, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        RemoveVectoredExceptionHandler(mine);
}

GC__COLD void gc__os_on_fault(gc__fault_handler f) {
    gc__os_fault = f;
    gc__os_handle_faults();
}

GC__COLD void gc__os_leave(void) {
    PVOID handle = __atomic_exchange_n(&gc__os_fault_handle, NULL, __ATOMIC_ACQ_REL);
    if (handle) RemoveVectoredExceptionHandler(handle);
    gc__os_fault = NULL;
    __atomic_store_n(&gc__os_end, NULL, __ATOMIC_RELEASE);
}

GC__FN bool gc__os_is_file_code(const void *address) {
    MEMORY_BASIC_INFORMATION part;
    return VirtualQuery(address, &part, sizeof part) && part.Type == MEM_IMAGE && (part.Protect & 0xF0); /* executable */
}

/* Follows the call stack from those registers on, by the tables that the linker keeps for exceptions. A function without
   an entry there calls nothing, so that its return address is at the stack pointer. */
GC__COLD int gc__os_unwind(CONTEXT *context, void **frames) {
    int count = 0;
    while (count < GC__STACK_FRAMES && context->Rip) {
        frames[count++] = (void *)(uintptr_t)context->Rip;
        DWORD64 base, establisher;
        PVOID data;
        PRUNTIME_FUNCTION function = RtlLookupFunctionEntry(context->Rip, &base, NULL);
        uintptr_t before = (uintptr_t)context->Rsp;
        if (function) {
            RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context->Rip, function, context, &data, &establisher, NULL);
        } else {
            if (count > 1 || before % 8) break;
            context->Rip = *(const gc_word *)before;
            context->Rsp += 8;
        }
        if ((uintptr_t)context->Rsp <= before || !gc__os_is_file_code((const void *)(uintptr_t)context->Rip)) break;
    }
    return count;
}

GC__OUT_OF_LINE int gc__os_stack_frames(void **frames) {
    CONTEXT context;
    RtlCaptureContext(&context);
    int count = gc__os_unwind(&context, frames);
    memmove(frames, frames + 1, (size_t)(count > 0 ? count - 1 : 0) * sizeof *frames); /* without this function */
    return count > 0 ? count - 1 : 0;
}

GC__COLD int gc__os_fault_frames(const uintptr_t *words, void **frames) {
    CONTEXT context;
    RtlCaptureContext(&context);
    memcpy(&context.Rax, words, GC__OS_WORDS * sizeof *words);
    return gc__os_unwind(&context, frames);
}

GC__FN uint64_t gc__os_stack_hash(void) {
    void *frames[GC__STACK_FRAMES];
    int count = gc__os_stack_frames(frames);
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < count; i++) hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    return hash;
}

GC__FN const char *gc__os_setting(const char *variable) {
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* The name is without the folder and, like a command, without ".exe". */
GC__COLD const char *gc__os_program_name(void) {
    static char path[MAX_PATH];
    DWORD length = GetModuleFileNameA(NULL, path, MAX_PATH - 1);
    if (length > 4 && path[length - 4] == '.') path[length - 4] = 0;
    const char *folder = strrchr(path, '\\');
    return folder ? folder + 1 : path;
}
GC__FN uint32_t gc__os_process_number(void) { return GetCurrentProcessId(); }
#endif
