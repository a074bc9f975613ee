/* The platform contract for Linux. */
#pragma once

#include "platform.h"

#ifdef __linux__
#include <sys/mman.h>
#if !defined(MAP_ANONYMOUS) || !defined(MREMAP_MAYMOVE)
#error "gc.h: with GC_IMPLEMENTATION, include gc.h before any other header, or compile with -D_GNU_SOURCE"
#include GC__STOP
#endif
#endif

#include "context_linux.h"
#include "sanitize.h"

#ifdef __linux__
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define GC__OS_SINGLE_THREADED __libc_single_threaded
#endif
#endif
#ifndef GC__OS_SINGLE_THREADED
#define GC__OS_SINGLE_THREADED 0
#endif

/* Not every C library has the kernel's headers, and not every kernel supports what those define. */
#define GC__FUTEX_WAIT_PRIVATE 128
#define GC__FUTEX_WAKE_PRIVATE 129
#define GC__MADV_POPULATE_WRITE 23

#define GC__MAP_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* The function is never called. It can define the note whatever the compiler calls the record, and an operand keeps the
   record with it when link-time optimization divides the program. */
#define GC__NOTE(function, record) \
    __attribute__((used, noinline)) GC__FN void function(void) { \
        __asm__ volatile(".pushsection .note.gc.h,\"a\",@note\n\t" \
                         ".balign 4\n\t" \
                         ".long 5, 8, 1\n\t" /* bytes of owner and contents, type */ \
                         ".asciz \"gc.h\"\n\t" \
                         ".balign 4\n\t" \
                         ".quad " GC__ASM_ADDRESS " - .\n\t" \
                         ".popsection" ::GC__ASM_OPERAND(record)); \
    }

GC__FN size_t gc__os_page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

GC__FN void gc__os_check(const void *address, size_t bytes) {
    (void)address, (void)bytes;
    GC_ASSERT(bytes && !(((uintptr_t)address | bytes) & (gc__os_page_bytes() - 1)),
              "%zu bytes at %p are not whole pages: a fault of gc.h, please report it", bytes, address);
}

/* Returns whether the system has taken the advice. */
GC__FN bool gc__os_advise(void *address, size_t bytes, int advice) {
    int error = errno;
    bool taken = madvise(address, bytes, advice) == 0;
    errno = error;
    return taken;
}

/* Memory is made readable after it was mapped: if the process locks its memory, the system provides everything that is
   mapped readable. */
GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable) {
    gc__os_check(NULL, bytes | alignment);
    char *mapped = (char *)mmap(NULL, bytes + alignment, PROT_NONE, GC__MAP_FLAGS, -1, 0);
    if (mapped == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (start > mapped) munmap(mapped, (size_t)(start - mapped));
    size_t tail = (size_t)(mapped + alignment - start);
    if (tail) munmap(start + bytes, tail);
    gc__os_advise(start, bytes, MADV_DONTDUMP);
    if (!readable || mprotect(start, bytes, PROT_READ) == 0) return start;
    munmap(start, bytes);
    return NULL;
}

GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible) {
    gc__os_check(address, bytes);
    return mprotect(address, bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

GC__FN bool gc__os_commit(void *address, size_t bytes) {
    if (!gc__os_access(address, bytes, true)) return false;
    gc__os_advise(address, bytes, MADV_DODUMP);
    return true;
}

GC__FN bool gc__os_discard(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    return gc__os_advise(address, bytes, MADV_DONTNEED);
}

GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__os_advise(address, bytes, MADV_DONTDUMP);
}

GC__FN void *gc__os_map(size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, GC__MAP_FLAGS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes) {
    gc__os_check(NULL, old_bytes | new_bytes);
    void *mapped = mremap(address, old_bytes, new_bytes, MREMAP_MAYMOVE);
    return mapped == MAP_FAILED ? NULL : mapped;
}

GC__OUT_OF_LINE void gc__os_unmap(void *address, size_t bytes) { munmap(address, bytes); }

GC__INLINED bool gc__os_new_aligned(void **memory, size_t alignment, size_t bytes) {
    return posix_memalign(memory, alignment, bytes) == 0;
}
GC__INLINED void gc__os_free_aligned(void *memory) { free(memory); }

GC__FN bool gc__os_is_mapped(const void *address, size_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)address & ~(page - 1);
    unsigned char resident[16];
    size_t length = (uintptr_t)address + bytes - start;
    return length <= sizeof resident * page && (mincore((void *)start, length, resident) == 0 || errno != ENOMEM);
}

GC__FN bool gc__os_read(void *to, const void *from, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    ssize_t done = process_vm_readv((pid_t)gc__os_thread_number(), &local, 1, &remote, 1, 0);
    if (done >= 0 || errno == EFAULT) return done == (ssize_t)bytes;
    errno = 0;
    if (!gc__os_is_mapped(from, bytes) || errno)
        return false; /* a sandbox forbids process_vm_readv; mapped memory is mostly readable */
    memcpy(to, from, bytes);
    return true;
}

GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes) {
    uintptr_t page = gc__os_page_bytes(), start = ((uintptr_t)address + page - 1) & ~(page - 1);
    gc__os_advise((void *)start, bytes - (start - (uintptr_t)address), MADV_HUGEPAGE);
}

GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__os_advise(address, bytes, MADV_NOHUGEPAGE);
}

GC__FN void gc__os_populate(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__os_advise(address, bytes, GC__MADV_POPULATE_WRITE);
}

GC__COLD size_t gc__os_l2_bytes(void) {
#ifdef _SC_LEVEL2_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (bytes > 0) return (size_t)bytes;
#endif
    return (size_t)1 << 20;
}

/* Gets the processors of the calling thread and of the process's first one, since either may be bound to some of them.
   Returns false if the system does not say. The set has room for 1024 processors; on a machine with more the system
   refuses to fill it. */
GC__COLD bool gc__os_processor_set(cpu_set_t *set) {
    cpu_set_t first;
    if (sched_getaffinity(0, sizeof *set, set) != 0) return false;
    if (sched_getaffinity(getpid(), sizeof first, &first) == 0) CPU_OR(set, set, &first);
    return true;
}

GC__COLD unsigned gc__os_processors(void) {
    cpu_set_t set;
    if (gc__os_processor_set(&set)) return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

GC__FN int gc__os_processor(void) { return sched_getcpu(); }

GC__OUT_OF_LINE uint64_t gc__os_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
GC__FN uint64_t gc__os_now_ns(void) { return gc__os_clock_ns(CLOCK_MONOTONIC); }
GC__FN uint64_t gc__os_cpu_ns(void) { return gc__os_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

GC__COLD bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    *low = (uintptr_t)lowest;
    *high = *low + bytes;
    return true;
}

GC__FN bool gc__os_is_single_threaded(void) { return GC__OS_SINGLE_THREADED; }
GC__FN uint32_t gc__os_thread_number(void) { return (uint32_t)syscall(SYS_gettid); }

struct gc__lock {
    pthread_mutex_t mutex;
    uint64_t owner; /* atomic; the owner's gc__os_self; 0: nobody */
    bool forked;    /* the thread that forks owned the lock before */
};
#if GC_DEBUG >= 1 && defined(PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP)
#define GC__MUTEX_INITIALIZER PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#else
#define GC__MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#endif
#define GC__LOCK_INITIALIZER \
    { GC__MUTEX_INITIALIZER, 0, false }

GC__FN void gc__lock_own(gc__lock *lock, uint64_t owner) { __atomic_store_n(&lock->owner, owner, __ATOMIC_RELAXED); }
GC__FN bool gc__lock_is_mine(const gc__lock *lock) {
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == gc__os_identity;
}
GC__FN bool gc__lock_is_free(const gc__lock *lock) { return !__atomic_load_n(&lock->owner, __ATOMIC_RELAXED); }

GC__OUT_OF_LINE void gc__lock_take(gc__lock *lock) {
    int error = pthread_mutex_lock(&lock->mutex);
    (void)error;
    GC_ASSERT(!error,
              "the thread waits for a lock of gc.h that it holds itself, called in a hook or signal handler, or the heap was "
              "destroyed already");
    gc__lock_own(lock, gc__os_self());
}
GC__OUT_OF_LINE void gc__lock_release(gc__lock *lock) {
    gc__lock_own(lock, 0);
    pthread_mutex_unlock(&lock->mutex);
}
GC__OUT_OF_LINE bool gc__lock_try(gc__lock *lock) {
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    if (taken) gc__lock_own(lock, gc__os_self());
    return taken;
}
GC__COLD bool gc__lock_take_for(gc__lock *lock, uint64_t ns) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    ns += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(ns / (1000 * GC__NS_PER_MS));
    until.tv_nsec = (long)(ns % (1000 * GC__NS_PER_MS));
    int error = pthread_mutex_timedlock(&lock->mutex, &until);
    GC_ASSERT(!error || error == ETIMEDOUT, "the heap was destroyed already");
    if (!error) gc__lock_own(lock, gc__os_self());
    return !error;
}
GC__FN void gc__lock_init(gc__lock *lock) {
    static const gc__lock fresh = GC__LOCK_INITIALIZER;
    *lock = fresh;
}
GC__FN void gc__lock_end(gc__lock *lock) { pthread_mutex_destroy(&lock->mutex); }

/* Locks are taken here in an order of their own, in which no other thread can be because of the locks of heaps. From waits with
   an end ThreadSanitizer concludes nothing about the order of locks. */
GC__FN void gc__lock_fork_take(gc__lock *lock) {
    lock->forked = gc__lock_is_mine(lock);
    while (!lock->forked && !gc__lock_take_for(lock, 1000 * GC__NS_PER_MS)) continue;
}
GC__FN void gc__lock_fork_adopt(gc__lock *lock) {
    bool forked = lock->forked;
    gc__lock_init(lock);
    gc__lock_take(lock);
    lock->forked = forked;
}
GC__FN void gc__lock_fork_release(gc__lock *lock) {
    if (lock->forked)
        lock->forked = false;
    else
        gc__lock_release(lock);
}

__attribute__((noinline)) GC__COLD void gc__os_wake(const uint32_t *word) {
    syscall(SYS_futex, word, GC__FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

GC__COLD void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns) {
    struct timespec time;
    time.tv_sec = (time_t)(ns / 1000000000u);
    time.tv_nsec = (long)(ns % 1000000000u);
    syscall(SYS_futex, word, GC__FUTEX_WAIT_PRIVATE, value, &time, NULL, 0);
}

struct gc__os_thread {
    pthread_t id;
    uint64_t self; /* gc__os_self of the thread, once it runs; atomic */
    cpu_set_t all, others; /* the allowed processors, before and after the thread last left one */
    void (*f)(void *context);
    void *context;
};

GC__FN void *gc__os_thread_main(void *thread) {
    gc__os_thread *self = (gc__os_thread *)thread;
    __atomic_store_n(&self->self, gc__os_self(), __ATOMIC_RELAXED);
    self->f(self->context);
    return NULL;
}
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context) {
    thread->f = f;
    thread->context = context;
    thread->self = 0;
    return pthread_create(&thread->id, NULL, gc__os_thread_main, thread) == 0;
}
/* Signals of faults are not blocked, since they concern the thread itself. */
GC__COLD bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = gc__os_thread_start(thread, f, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) return false;
    pthread_setname_np(thread->id, name);
    cpu_set_t set;
    if (gc__os_processor_set(&set)) pthread_setaffinity_np(thread->id, sizeof set, &set);
    return true;
}
GC__FN void gc__os_thread_join(gc__os_thread *thread) { pthread_join(thread->id, NULL); }
/* Threads with a real-time priority are left unchanged. */
GC__FN void gc__os_thread_is_patient(void) {
    struct sched_param none = {0};
    if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread) {
    return __atomic_load_n(&thread->self, __ATOMIC_RELAXED) == gc__os_self();
}
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor) {
    cpu_set_t now;
    if (processor < 0 || sched_getaffinity(0, sizeof now, &now) != 0) return;
    if (!CPU_EQUAL(&now, &self->others)) self->all = now; /* otherwise only this function has changed them */
    now = self->all;
    CPU_CLR((unsigned)processor, &now);
    if (CPU_COUNT(&now) && sched_setaffinity(0, sizeof now, &now) == 0) self->others = now;
}
GC__FN void gc__os_thread_abandon(gc__os_thread *thread) { pthread_detach(thread->id); }

static gc__lock gc__os_end_lock = GC__LOCK_INITIALIZER; /* guards the variables below */
static pthread_key_t gc__os_end_key;
static bool gc__os_end_ok;
static bool (*gc__os_end)(void); /* atomic */

GC__FN void gc__os_end_call(void *unused) {
    (void)unused;
    if (__atomic_load_n(&gc__os_end, __ATOMIC_ACQUIRE)()) pthread_setspecific(gc__os_end_key, &gc__os_end_key);
}
GC__COLD bool gc__os_at_thread_end(bool (*f)(void)) {
    gc__lock_take(&gc__os_end_lock);
    __atomic_store_n(&gc__os_end, f, __ATOMIC_RELEASE);
    if (!gc__os_end_ok) gc__os_end_ok = pthread_key_create(&gc__os_end_key, gc__os_end_call) == 0;
    bool ok = gc__os_end_ok && pthread_setspecific(gc__os_end_key, &gc__os_end_key) == 0;
    gc__lock_release(&gc__os_end_lock);
    return ok;
}

static void (*gc__os_forked)(void);

GC__FN void gc__os_in_child(void) {
    gc__lock_init(&gc__os_end_lock);
    gc__os_forked();
}
GC__COLD bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    gc__os_forked = in_child;
    return pthread_atfork(before, in_parent, gc__os_in_child) == 0;
}

GC__FN const uintptr_t *gc__os_context(const ucontext_t *context) {
    return (const uintptr_t *)(const void *)GC__OS_CONTEXT_WORDS(context);
}

/* Returns the address at which a fault was. S/390 says only in which page that is. The instruction has the rest: a base
   register, sometimes an index, and a distance of 12 or 20 bits; or two addresses, one of which is in that page. */
#if defined(__s390x__)
GC__COLD uintptr_t gc__os_fault_address(uintptr_t page, const uintptr_t *words) {
    uint8_t code[6];
    if (!gc__os_read(code, (const void *)words[GC__OS_FAULT_PC], sizeof code)) return page;
    bool is_indexed = (*code >= 0x40 && *code < 0x80) || *code == 0xE3 || *code == 0xE7 || *code == 0xED;
    bool is_far = *code == 0xE3 || *code == 0xEB || *code == 0xED;
    uintptr_t registers[16], at[3];
    memcpy(registers, words + 2, sizeof registers);
    registers[0] = 0; /* as a base or an index it means none */
    at[0] = registers[code[2] >> 4] + ((code[2] & 15u) << 8 | code[3]) + (is_indexed ? registers[code[1] & 15] : 0);
    at[1] = at[0] + (uintptr_t)((intptr_t)(int8_t)code[4] * 4096);
    at[2] = registers[code[4] >> 4] + ((code[4] & 15u) << 8 | code[5]);
    if (is_far && at[1] >> 12 == page >> 12) return at[1];
    for (int i = 0; i < 3; i += 2)
        if (at[i] >> 12 == page >> 12) return at[i];
    return page;
}
#else
GC__FN uintptr_t gc__os_fault_address(uintptr_t address, const uintptr_t *words) { return (void)words, address; }
#endif

GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words) { return words[GC__OS_FAULT_PC]; }

static gc__fault_handler gc__os_fault; /* written once, under the arena's lock */
static struct sigaction gc__os_fault_former;

GC__COLD void gc__os_fault_signal(int number, siginfo_t *info, void *context) {
    const uintptr_t *words = gc__os_context((const ucontext_t *)context);
    uintptr_t stack_pointer = GC__OS_FAULT_WORDS > 0 ? words[GC__OS_FAULT_SP] : (uintptr_t)__builtin_frame_address(0);
    uintptr_t address = gc__os_fault_address((uintptr_t)info->si_addr, words);
    if (gc__os_fault(address, words, GC__OS_FAULT_WORDS, stack_pointer)) return;
    if (gc__os_fault_former.sa_flags & SA_SIGINFO)
        gc__os_fault_former.sa_sigaction(number, info, context);
    else if (gc__os_fault_former.sa_handler != SIG_DFL && gc__os_fault_former.sa_handler != SIG_IGN)
        gc__os_fault_former.sa_handler(number);
    else { /* after the return the instruction runs again, and the former action handles the fault */
        sigaction(number, &gc__os_fault_former, NULL);
        if (info->si_code <= 0) raise(number); /* a process has sent it */
    }
}

GC__COLD void gc__os_on_fault(gc__fault_handler f) {
    if (gc__os_fault) return;
    sigaction(SIGSEGV, NULL, &gc__os_fault_former);
    struct sigaction action = gc__os_fault_former; /* its stack, too: on the thread's own a full stack could not be handled */
    action.sa_sigaction = gc__os_fault_signal;
    action.sa_flags |= SA_SIGINFO;
    if (GC__ADDRESS_SANITIZER) action.sa_flags &= ~SA_ONSTACK; /* it cannot start the tool addr2line from another stack */
    gc__os_fault = f;
    sigaction(SIGSEGV, &action, NULL);
}

GC__COLD void gc__os_leave(void) {
    gc__lock_take(&gc__os_end_lock);
    if (gc__os_end_ok) pthread_key_delete(gc__os_end_key);
    gc__os_end_ok = false;
    gc__lock_release(&gc__os_end_lock);
    struct sigaction action;
    if (!gc__os_fault || sigaction(SIGSEGV, NULL, &action) != 0) return;
    if (!(action.sa_flags & SA_SIGINFO) || action.sa_sigaction != gc__os_fault_signal) return;
    sigaction(SIGSEGV, &gc__os_fault_former, NULL);
    gc__os_fault = NULL;
}

GC__COLD int gc__os_file_has_code(struct dl_phdr_info *file, size_t bytes, void *address) {
    (void)bytes;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) &&
            (uintptr_t)address - (file->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return 1;
    }
    return 0;
}

GC__FN bool gc__os_is_file_code(const void *address) {
    return dl_iterate_phdr(gc__os_file_has_code, (void *)(uintptr_t)address) != 0;
}

#ifdef __GLIBC__
GC__FN int gc__os_stack_frames(void **frames) { return backtrace(frames, GC__STACK_FRAMES); }
GC__FN int gc__os_list_frames(void **frames, int most) { return backtrace(frames, most); }

GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames) {
    int count = gc__os_stack_frames(frames), first = 0;
    while (first < count && (uintptr_t)frames[first] != gc__os_fault_pc(words)) first++;
    if (first == count) first = 0;
    /* Where the registers are not known, what a signal has put on the stack comes before the fault: code in no file. */
    for (int i = 0; GC__OS_FAULT_WORDS == 0 && first == 0 && i < count; i++)
        if (!gc__os_is_file_code(frames[i])) first = i + 1;
    memmove(frames, frames + first, (size_t)(count - first) * sizeof *frames);
    return count - first;
}
#else
/* Follows the list of frame pointers without the C library's help. The list ends at a function that has none, where the
   register may hold any number. */
GC__FN int gc__os_follow_frames(uintptr_t pointer, void **frames, int count, int most) {
    uintptr_t frame[2];
    while (count < most && pointer % 8 == 0 &&
           gc__os_read(frame, (const void *)(pointer + GC__OS_FRAME_RECORD), sizeof frame)) {
        frame[1] = gc__cpu_return_address(frame[1]);
        if (!gc__os_is_file_code((const void *)frame[1])) break;
        frames[count++] = (void *)frame[1];
        if (frame[0] <= pointer || frame[0] - pointer > (uintptr_t)1 << 20) break;
        pointer = frame[0];
    }
    return count;
}

GC__FN int gc__os_list_frames(void **frames, int most) {
    return gc__os_follow_frames((uintptr_t)__builtin_frame_address(0), frames, 0, most);
}
GC__FN int gc__os_stack_frames(void **frames) {
    return gc__os_list_frames(frames, GC__STACK_FRAMES);
}

GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames) {
    frames[0] = (void *)gc__os_fault_pc(words);
    return gc__os_follow_frames(words[GC__OS_FRAME_POINTER], frames, 1, GC__STACK_FRAMES);
}
#endif

GC__FN const char *gc__os_setting(const char *variable) {
    const char *value = secure_getenv(variable);
    return value && *value ? value : NULL;
}

GC__FN const char *gc__os_program_name(void) { return program_invocation_short_name; }
GC__FN uint32_t gc__os_process_number(void) { return (uint32_t)getpid(); }
#endif
