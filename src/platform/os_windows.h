/* The platform contract for Windows on x86-64: processors, clocks, stacks, locks, threads, faults. It needs no library but
   kernel32 and the C library. Functions that not every Windows has are looked up when they are first called. */
#pragma once

#include "calls_windows.h"

#ifdef _WIN32
#include <errno.h>
#include <limits.h>
#include <process.h>
#include <stdlib.h>

#define GC__OS_PATH_BYTES 1024

#define GC__NOTE(function, record) /* files have no notes */

/* A function of a library that is always loaded; NULL if this Windows does not have it. */
GC__COLD gc__os_any_function *gc__os_function(const char *library, const char *name) {
    void *module = gc__call_GetModuleHandleA(library);
    return module ? gc__call_GetProcAddress(module, name) : NULL;
}

GC__FN size_t gc__os_page_bytes(void) { return 4096; }

GC__COLD size_t gc__os_l2_bytes(void) {
    gc__os_unit all[128];
    uint32_t bytes = sizeof all;
    if (!gc__call_GetLogicalProcessorInformation(all, &bytes)) bytes = 0;
    for (uint32_t i = 0; i < bytes / sizeof *all; i++)
        if (all[i].relation == 2 && all[i].level == 2 && all[i].bytes) return all[i].bytes;
    return (size_t)1 << 20;
}

GC__COLD unsigned gc__os_processors(void) {
    uintptr_t mine = 0, all = 0;
    gc__call_GetProcessAffinityMask(gc__call_GetCurrentProcess(), &mine, &all);
    return mine ? (unsigned)__builtin_popcountll(mine) : 1;
}

GC__FN int gc__os_processor(void) { return (int)gc__call_GetCurrentProcessorNumber(); }

/* Time passes in ticks; their product with 10^9 would not fit in 64 bits. */
GC__FN uint64_t gc__os_now_ns(void) {
    static int64_t frequency; /* atomic; it never changes */
    int64_t now, per_s = __atomic_load_n(&frequency, __ATOMIC_RELAXED);
    if (!per_s) {
        gc__call_QueryPerformanceFrequency(&per_s);
        __atomic_store_n(&frequency, per_s, __ATOMIC_RELAXED);
    }
    gc__call_QueryPerformanceCounter(&now);
    return (uint64_t)(now / per_s) * 1000000000u + (uint64_t)(now % per_s) * 1000000000u / (uint64_t)per_s;
}

GC__FN uint64_t gc__os_cpu_ns(void) {
    uint64_t start, end, kernel = 0, user = 0; /* in units of 100 ns */
    gc__call_GetThreadTimes(gc__call_GetCurrentThread(), &start, &end, &kernel, &user);
    return (kernel + user) * 100;
}

/* The end above the highest address of the stack in use, a fiber's if the thread runs one. */
GC__FN uintptr_t gc__os_stack_end(void) {
    uintptr_t end;
    __asm__ volatile("{movq %%gs:8, %0|mov %0, qword ptr gs:8}" : "=r"(end)); /* NT_TIB.StackBase */
    return end;
}

/* Fibers are known to the system: these are the bounds of the fiber's stack while a thread runs one. The lower part is
   reserved only, until the stack reaches it. */
GC__COLD bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high) {
    gc__os_part part;
    *high = gc__os_stack_end();
    if (!gc__call_VirtualQuery((const char *)*high - 1, &part, sizeof part)) return false;
    *low = (uintptr_t)part.reserved_at;
    return true;
}

GC__FN bool gc__os_is_single_threaded(void) { return false; }
GC__FN uint32_t gc__os_thread_number(void) { return gc__call_GetCurrentThreadId(); }

/* Where the system has no WaitOnAddress (before Windows 8), waiting threads look at the word every millisecond. */
static struct {
    int (*wait)(const volatile void *word, const void *value, size_t bytes, uint32_t ms);
    void (*wake_one)(const void *word);
    void (*wake_all)(const void *word);
    uint8_t (*is_ending)(void); /* the process ends, and its other threads have been ended already */
} gc__os_waits;
static uint32_t gc__os_waits_known; /* atomic; 1: gc__os_waits is complete */

/* Several threads may store the same. */
GC__COLD void gc__os_waits_find(void) {
    gc__os_any_function *wait = gc__os_function("kernelbase.dll", "WaitOnAddress"),
                        *one = gc__os_function("kernelbase.dll", "WakeByAddressSingle"),
                        *all = gc__os_function("kernelbase.dll", "WakeByAddressAll");
    bool found = wait && one && all;
    gc__os_waits.wake_one = found ? (void (*)(const void *))one : NULL;
    gc__os_waits.wake_all = found ? (void (*)(const void *))all : NULL;
    gc__os_waits.wait = found ? (int (*)(const volatile void *, const void *, size_t, uint32_t))wait : NULL;
    gc__os_waits.is_ending = (uint8_t(*)(void))gc__os_function("ntdll.dll", "RtlDllShutdownInProgress");
    __atomic_store_n(&gc__os_waits_known, 1, __ATOMIC_RELEASE);
}
GC__FN bool gc__os_has_waits(void) {
    if (!__atomic_load_n(&gc__os_waits_known, __ATOMIC_ACQUIRE)) gc__os_waits_find();
    return gc__os_waits.wait != NULL;
}

/* Other threads of the process have been ended already. */
GC__COLD bool gc__os_is_ending(void) {
    gc__os_has_waits();
    return gc__os_waits.is_ending && gc__os_waits.is_ending();
}

GC__OUT_OF_LINE void gc__os_wake(const uint32_t *word) {
    if (gc__os_has_waits()) gc__os_waits.wake_all(word);
}

/* A host's native code asks for its last error after it has come back from there, and may have waited here. */
GC__FN void gc__os_wait_ms(const uint32_t *word, uint32_t value, uint32_t ms) {
    uint32_t error = gc__call_GetLastError();
    if (gc__os_has_waits())
        gc__os_waits.wait(word, &value, sizeof value, ms);
    else if (__atomic_load_n(word, __ATOMIC_RELAXED) == value)
        gc__call_Sleep(1);
    gc__call_SetLastError(error);
}

GC__OUT_OF_LINE void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns) {
    uint64_t ms = (ns + GC__NS_PER_MS - 1) / GC__NS_PER_MS;
    gc__os_wait_ms(word, value, ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX - 1);
}

struct gc__lock {
    uint32_t state; /* atomic; 0: free; 1: taken; 2: taken, and a thread may wait */
    uint64_t owner; /* atomic; the owner's gc__os_self; 0: nobody */
};
#define GC__LOCK_INITIALIZER \
    { 0, 0 }

GC__FN void gc__lock_own(gc__lock *lock, uint64_t owner) { __atomic_store_n(&lock->owner, owner, __ATOMIC_RELAXED); }
GC__FN bool gc__lock_is_mine(const gc__lock *lock) {
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == gc__os_identity;
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
        gc__cpu_pause();
        if (gc__lock_grab(lock, 1)) return true;
    }
    while (__atomic_exchange_n(&lock->state, 2, __ATOMIC_ACQUIRE) != 0) {
        uint64_t now = end_ns == UINT64_MAX ? 0 : gc__os_now_ns(), left = end_ns > now ? end_ns - now : 0;
        if (!left) return false;
        if (gc__os_is_ending()) return true;
        gc__os_wait_for(&lock->state, 2, left < ENDING_MS * GC__NS_PER_MS ? left : ENDING_MS * GC__NS_PER_MS);
    }
    return true;
}

GC__OUT_OF_LINE void gc__lock_take(gc__lock *lock) {
    GC_ASSERT(!gc__lock_is_mine(lock),
              "the thread waits for a lock of gc.h that it holds itself, called in a hook or signal handler, or the heap was "
              "destroyed already");
    if (!gc__lock_grab(lock, 1)) gc__lock_wait(lock, UINT64_MAX);
    gc__lock_own(lock, gc__os_self());
}
GC__OUT_OF_LINE void gc__lock_release(gc__lock *lock) {
    gc__lock_own(lock, 0);
    if (__atomic_exchange_n(&lock->state, 0, __ATOMIC_RELEASE) == 2 && gc__os_has_waits())
        gc__os_waits.wake_one(&lock->state);
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
    void *handle;
    uint64_t self; /* gc__os_self of the thread, once it runs; atomic */
    void (*f)(void *context);
    void *context;
};

GC__FN unsigned __stdcall gc__os_thread_main(void *thread) {
    gc__os_thread *self = (gc__os_thread *)thread;
    __atomic_store_n(&self->self, gc__os_self(), __ATOMIC_RELAXED);
    self->f(self->context);
    return 0;
}
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context) {
    thread->f = f;
    thread->context = context;
    thread->self = 0;
    thread->handle = (void *)_beginthreadex(NULL, 0, gc__os_thread_main, thread, 0, NULL);
    return thread->handle != NULL;
}
/* Not every Windows gives names to threads. */
GC__COLD bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context) {
    gc__os_any_function *describe = gc__os_function("kernelbase.dll", "SetThreadDescription");
    uint16_t wide[32];
    size_t length = 0;
    if (!gc__os_thread_start(thread, f, context)) return false;
    for (; name[length] && length < 31; length++) wide[length] = (uint16_t)name[length];
    wide[length] = 0;
    if (describe) ((int32_t(*)(void *, const uint16_t *))describe)(thread->handle, wide);
    return true;
}
GC__FN void gc__os_thread_join(gc__os_thread *thread) {
    gc__call_WaitForSingleObject(thread->handle, UINT32_MAX);
    gc__call_CloseHandle(thread->handle);
}
GC__FN void gc__os_thread_is_patient(void) { gc__call_SetThreadPriorityBoost(gc__call_GetCurrentThread(), 1); }
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread) {
    return __atomic_load_n(&thread->self, __ATOMIC_RELAXED) == gc__os_self();
}
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor) {
    uintptr_t mine = 0, all = 0;
    (void)self;
    if (processor < 0 || processor > 63 || !gc__call_GetProcessAffinityMask(gc__call_GetCurrentProcess(), &mine, &all)) return;
    mine &= ~((uintptr_t)1 << processor);
    if (mine) gc__call_SetThreadAffinityMask(gc__call_GetCurrentThread(), mine);
}
GC__FN void gc__os_thread_abandon(gc__os_thread *thread) { gc__call_CloseHandle(thread->handle); }

#define GC__OS_NO_INDEX UINT32_MAX
static bool (*gc__os_end)(void);                     /* atomic; NULL: none */
static uint32_t gc__os_end_index = GC__OS_NO_INDEX;  /* of fiber-local storage */
static uint32_t gc__os_kept_index = GC__OS_NO_INDEX; /* of thread-local storage; atomic */
/* A lock of the system, free at first: one thread makes the indices and the key below, and no other goes on without them. */
static void *gc__os_end_lock;

/* gcc for mingw-w64 keeps thread-local variables in memory that a destructor of its pthreads frees, most often before all others:
   from then on the thread has fresh ones. Where it has no such pthreads they live longer. */
GC__FN void gc__os_keep(void *value) { gc__call_TlsSetValue(__atomic_load_n(&gc__os_kept_index, __ATOMIC_ACQUIRE), value); }
GC__OUT_OF_LINE void *gc__os_recall(void *variable) {
    uint32_t index = __atomic_load_n(&gc__os_kept_index, __ATOMIC_ACQUIRE);
    gc_word *word = (gc_word *)variable;
    if (*word || index == GC__OS_NO_INDEX) return variable;
    uint32_t error = gc__call_GetLastError(); /* which the next call clears */
    *word = (uintptr_t)gc__call_TlsGetValue(index);
    gc__call_SetLastError(error);
    return variable;
}
#define GC__OS_KEEP(value) gc__os_keep(value)
#define GC__OS_KEPT(variable) (*(__typeof__(variable) *)gc__os_recall(&(variable)))

/* NULL: the thread needs no call. Then its variables are not touched, which would give them memory again. */
GC__COLD bool (*gc__os_end_of_thread(void))(void) {
    uint32_t index = __atomic_load_n(&gc__os_kept_index, __ATOMIC_ACQUIRE);
    bool any = index != GC__OS_NO_INDEX && gc__call_TlsGetValue(index);
    return any ? __atomic_load_n(&gc__os_end, __ATOMIC_ACQUIRE) : NULL;
}

/* The system calls this at the end of the thread before the callbacks of libraries, for which it holds a lock that other
   threads need to end, too: waiting for a collection there could wait for ever. It also calls this when another fiber than
   the running one is deleted, which ends no thread, and when the process ends, which needs nothing. */
GC__COLD void gc__os_end_call(void *stack_end) {
    bool (*end)(void) = gc__os_end_of_thread();
    if (end && (uintptr_t)stack_end == gc__os_stack_end() && !gc__os_is_ending() && end()) end();
}

/* The destructors of mingw-w64's pthreads run before all that, without a lock. Programs that have no pthreads do not have
   these functions. */
#define GC__CALL_IF_THERE(name, arguments) GC__EXTERN __attribute__((weak)) int gc__call_##name arguments __asm__(#name)
GC__CALL_IF_THERE(pthread_key_create, (uint32_t * key, void (*f)(void *value)));
GC__CALL_IF_THERE(pthread_key_delete, (uint32_t key));
GC__CALL_IF_THERE(pthread_setspecific, (uint32_t key, const void *value));
static uint32_t gc__os_key;
static bool gc__os_key_made;

/* When gc__os_end is called again, it may have lost the variable by which it knows that. */
GC__COLD void gc__os_key_call(void *value) {
    bool (*end)(void) = gc__os_end_of_thread();
    if (end && end() && (value == &gc__os_key || end())) gc__call_pthread_setspecific(gc__os_key, &gc__os_key_made);
}

GC__COLD void gc__os_key_set(void) {
    if (!gc__call_pthread_key_create || !gc__call_pthread_key_delete || !gc__call_pthread_setspecific) return;
    if (!gc__os_key_made) gc__os_key_made = gc__call_pthread_key_create(&gc__os_key, gc__os_key_call) == 0;
    if (gc__os_key_made) gc__call_pthread_setspecific(gc__os_key, &gc__os_key);
}

GC__COLD bool gc__os_at_thread_end(bool (*f)(void)) {
    gc__call_AcquireSRWLockExclusive(&gc__os_end_lock);
    __atomic_store_n(&gc__os_end, f, __ATOMIC_RELEASE);
    if (gc__os_end_index == GC__OS_NO_INDEX) gc__os_end_index = gc__call_FlsAlloc(gc__os_end_call);
    if (gc__os_kept_index == GC__OS_NO_INDEX) __atomic_store_n(&gc__os_kept_index, gc__call_TlsAlloc(), __ATOMIC_RELEASE);
    bool ok = gc__os_end_index != GC__OS_NO_INDEX && gc__os_kept_index != GC__OS_NO_INDEX &&
              gc__call_FlsSetValue(gc__os_end_index, (void *)gc__os_stack_end());
    if (ok) gc__os_key_set();
    gc__call_ReleaseSRWLockExclusive(&gc__os_end_lock);
    return ok;
}

GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words) { return words[GC__OS_FAULT_PC]; }

static gc__fault_handler gc__os_fault; /* written once, under the arena's lock */
static void *gc__os_fault_handle;      /* of the handler that the system calls; atomic */

GC__FN bool gc__os_fault_is_over(uintptr_t address, uintptr_t access);

/* The system calls this for every exception. Those of others are passed on, and the last error is that of the code that
   they interrupted. */
GC__COLD int32_t gc__os_on_exception(gc__os_exception_at *at) {
    const gc__os_exception *exception = at->exception;
    if (exception->code != GC__OS_ACCESS_VIOLATION || exception->count < 2) return 0;
    const uintptr_t *words = at->context->words;
    uintptr_t address = exception->words[1];
    uint32_t error = gc__call_GetLastError();
    bool handled = gc__os_fault_is_over(address, exception->words[0]) ||
                   (gc__os_fault && gc__os_fault(address, words, GC__OS_WORDS, words[GC__OS_STACK_POINTER]));
    gc__call_SetLastError(error);
    return handled ? -1 : 0;
}

GC__COLD void gc__os_handle_faults(void) {
    if (__atomic_load_n(&gc__os_fault_handle, __ATOMIC_ACQUIRE)) return;
    void *mine = gc__call_AddVectoredExceptionHandler(1, gc__os_on_exception), *none = NULL;
    if (!__atomic_compare_exchange_n(&gc__os_fault_handle, &none, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        gc__call_RemoveVectoredExceptionHandler(mine);
}

GC__COLD void gc__os_on_fault(gc__fault_handler f) {
    gc__os_fault = f;
    gc__os_handle_faults();
}

GC__COLD void gc__os_leave(void) {
    void *handle = __atomic_exchange_n(&gc__os_fault_handle, NULL, __ATOMIC_ACQ_REL);
    if (handle) gc__call_RemoveVectoredExceptionHandler(handle);
    gc__os_fault = NULL;
    __atomic_store_n(&gc__os_end, NULL, __ATOMIC_RELEASE);
    if (gc__os_key_made) gc__call_pthread_key_delete(gc__os_key);
    gc__os_key_made = false;
    uint32_t index = gc__os_end_index;
    gc__os_end_index = GC__OS_NO_INDEX;
    uint32_t kept = __atomic_exchange_n(&gc__os_kept_index, GC__OS_NO_INDEX, __ATOMIC_ACQ_REL);
    if (kept != GC__OS_NO_INDEX) gc__call_TlsFree(kept);
    if (index != GC__OS_NO_INDEX) gc__call_FlsFree(index); /* calls gc__os_end_call for every thread */
}

GC__FN bool gc__os_is_file_code(const void *address) {
    gc__os_part part;
    return gc__call_VirtualQuery(address, &part, sizeof part) && part.type == GC__OS_IMAGE && (part.protection & GC__OS_EXECUTE);
}

/* Follows the call stack from those registers on, by the tables that the linker keeps for exceptions. A function without
   an entry there calls nothing, so that its return address is at the stack pointer. */
GC__COLD int gc__os_unwind(gc__os_context *context, void **frames, int most) {
    uintptr_t *pc = &context->words[GC__OS_FAULT_PC], *sp = &context->words[GC__OS_STACK_POINTER], base, frame;
    int count = 0;
    while (count < most && *pc) {
        frames[count++] = (void *)*pc;
        void *data, *function = gc__call_RtlLookupFunctionEntry(*pc, &base, NULL);
        uintptr_t before = *sp;
        if (function) {
            gc__call_RtlVirtualUnwind(0, base, *pc, function, context, &data, &frame, NULL);
        } else {
            if (count > 1 || before % 8) break;
            *pc = *(const gc_word *)before;
            *sp += 8;
        }
        if (*sp <= before || !gc__os_is_file_code((const void *)*pc)) break;
    }
    return count;
}

/* The first frame is this function's own. */
GC__OUT_OF_LINE int gc__os_list_frames(void **frames, int most) {
    gc__os_context context;
    gc__call_RtlCaptureContext(&context);
    int count = gc__os_unwind(&context, frames, most);
    if (count) memmove(frames, frames + 1, (size_t)--count * sizeof *frames);
    return count;
}
GC__FN int gc__os_stack_frames(void **frames) { return gc__os_list_frames(frames, GC__STACK_FRAMES); }

GC__COLD int gc__os_fault_frames(const uintptr_t *words, void **frames) {
    gc__os_context context;
    gc__call_RtlCaptureContext(&context);
    memcpy(context.words, words, sizeof context.words);
    return gc__os_unwind(&context, frames, GC__STACK_FRAMES);
}

GC__FN const char *gc__os_setting(const char *variable) {
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* The name is without the folder and, like a command, without ".exe". */
GC__COLD const char *gc__os_program_name(void) {
    static char path[GC__OS_PATH_BYTES];
    uint32_t length = gc__call_GetModuleFileNameA(NULL, path, GC__OS_PATH_BYTES - 1);
    if (length > 4 && path[length - 4] == '.') path[length - 4] = 0;
    const char *folder = strrchr(path, '\\');
    return folder ? folder + 1 : path;
}
GC__FN uint32_t gc__os_process_number(void) { return gc__call_GetCurrentProcessId(); }
#endif
