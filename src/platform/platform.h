/* The collector's whole interface to the system and the processor. For each system and processor, one file implements
   it. */
#pragma once

#include "../api/collect.h"

#include <errno.h>

#if !defined(__linux__) && !defined(_WIN32) && !defined(GC_OS)
#error \
    "gc.h: collecting is for Linux and Windows only, so far: GC_OS may name a file with what another system must supply"
#include GC__STOP
#endif
#if defined(_WIN32) && !defined(__x86_64__)
#error "gc.h: on Windows, collecting is for x86-64 only, so far"
#include GC__STOP
#endif
#if defined(__sparc__) || defined(__ia64__)
#error "gc.h: SPARC and Itanium keep registers in a second stack, which gc.h does not know; other 64-bit processors work"
#include GC__STOP
#endif

/* The linkage of functions, and of the variables and stubs that tests read. White-box tests have another linkage, by
   which several of them share a compiled implementation. */
#ifndef GC__FN
#define GC__FN static __attribute__((unused))
#define GC__VAR static
#endif
/* For functions that work on the frame of their caller, or are part of the trace's loop. */
#define GC__INLINED static inline __attribute__((unused, always_inline))
/* For functions that hot code rarely calls, and would grow by. */
#define GC__OUT_OF_LINE __attribute__((noinline)) GC__FN
/* For reports, and for code that runs at most once in a collection: small code, apart from code that runs often.
   Compilers treat functions that call these unconditionally alike, and those that only such functions call. */
#define GC__COLD __attribute__((cold)) GC__FN
/* For loops over the contents of a heap, which such functions call. */
#define GC__HOT __attribute__((hot, noinline)) GC__FN

#define GC__NS_PER_MS ((uint64_t)1000000)

/* Memory. Address space is reserved, which takes no memory; parts of it are committed, by which the system promises
   memory for them; and memory is released in parts, or with its address space. gc__os_map reserves and commits at once.
   If the process has locked its memory (mlockall), committing provides all of the memory at once, and none is released
   before its address space is. Preconditions: addresses are those of pages; sizes are multiples of the page size,
   except for gc__os_map and gc__os_unmap, which round up; no size is 0. Calls that return nothing are advice, or cannot
   fail. None of them changes errno if it succeeds or returns nothing. */

/* Reserves address space that starts at a multiple of `alignment`, a power of two and at least a page. If `readable`,
   it reads as zero; otherwise every access faults. Core dumps leave it out. Returns NULL if the system refuses
   (gc__os_refusal says why). */
GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable);
/* Commits reserved memory: it can be read and written, is zero at first, and is in core dumps. Memory that was
   committed before does not change. Returns false if the system refuses; a part may have been committed then. */
GC__FN bool gc__os_commit(void *address, size_t bytes);
/* Releases the memory of a committed range. The range stays committed and reads as zero. Returns false if it is
   unchanged (it may be locked). */
GC__FN bool gc__os_discard(void *address, size_t bytes);
/* Makes committed memory inaccessible, with its contents, or accessible again. Returns false if the system refuses. */
GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible);
/* Leaves committed memory out of core dumps until it is committed again. */
GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes);
/* Reserves and commits zeroed memory at once. Returns NULL if the system refuses. */
GC__FN void *gc__os_map(size_t bytes);
/* Grows memory of gc__os_map, moving it if need be. Returns NULL if the system refuses; the old memory is then
   unchanged. */
GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes);
/* Releases address space, with the memory that is committed in it. */
GC__FN void gc__os_unmap(void *address, size_t bytes);
/* Allocates as malloc does, at a multiple of `alignment`. Returns false if there is no memory. gc__os_free_aligned frees
   it. */
GC__INLINED bool gc__os_new_aligned(void **memory, size_t alignment, size_t bytes);
GC__INLINED void gc__os_free_aligned(void *memory);
/* Returns the limit for which the system has just refused `bytes`, as a remedy: "raise `ulimit -v`". */
GC__FN const char *gc__os_refusal(size_t bytes);
/* Returns how much memory the process's container (its control groups) allows it, if that is less than the machine has;
   or 0. */
GC__FN size_t gc__os_container_bytes(void);

/* Asks for huge pages. The address need not be aligned. */
GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes);
/* The size of huge pages. gc__os_prefer_small_pages prevents that the system makes a huge page of the rest of one. */
#define GC__HUGE_PAGE_BYTES ((size_t)2 << 20)
GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes);
/* Makes the system provide committed memory now, which costs less than a fault for each page. */
GC__FN void gc__os_populate(void *address, size_t bytes);
/* Calls visit(context, from, end) for each part of mapped memory [from, end) that was ever written to. A part may
   include more: pages between written ones that are zero, and take no memory. The page of `from` was written to. */
GC__FN void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t), void *context);
/* Returns whether the memory at the address is mapped; true, with errno set, if the system does not say. */
GC__FN bool gc__os_is_mapped(const void *address, size_t bytes);
/* Copies memory that may not be readable, within a page or two. Returns false if it is not. */
GC__FN bool gc__os_read(void *to, const void *from, size_t bytes);
GC__FN size_t gc__os_page_bytes(void);
GC__FN size_t gc__os_l2_bytes(void);
GC__FN unsigned gc__os_processors(void); /* those that the process may use */
/* Returns the processor that the calling thread runs on; negative if the system does not say. */
GC__FN int gc__os_processor(void);
GC__FN unsigned gc__os_quota(void);      /* those that the quota of its container amounts to; UINT_MAX: no quota */
GC__FN uint64_t gc__os_now_ns(void);
GC__FN uint64_t gc__os_cpu_ns(void); /* CPU time of the calling thread */
/* Returns the time from one reading of a clock to a later one. Clocks have stepped back in guests that were moved to
   another machine: then no time has passed. */
GC__FN uint64_t gc__ns_since(uint64_t later, uint64_t earlier) { return later > earlier ? later - earlier : 0; }
/* Returns whether at least `ns` have passed, or the clock has stepped back, so that this is not known: periodic work
   would otherwise be delayed by as much as the step. */
GC__FN bool gc__ns_passed(uint64_t later, uint64_t earlier, uint64_t ns) {
    return later < earlier || later - earlier >= ns;
}
/* Stores the bounds of the calling thread's own stack, whichever it runs on. Returns false if the system does not
   say. */
GC__FN bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high);
/* Returns the end, above the highest address, of the calling thread's stack. Returns NULL if the system does not say,
   or the thread runs on another stack, as a fiber does; in that case *elsewhere is set. */
GC__FN char *gc__os_stack_base(bool *elsewhere) {
    uintptr_t low, high;
    if (!gc__os_stack_bounds(&low, &high)) return NULL;
    *elsewhere = (uintptr_t)__builtin_frame_address(0) - low >= high - low;
    return *elsewhere ? NULL : (char *)high;
}

/* A lock. The comment on the heap's lock defines the lock order, and which locks are held during callbacks. */
typedef struct gc__lock gc__lock;
GC__FN void gc__lock_take(gc__lock *lock);
GC__FN void gc__lock_release(gc__lock *lock);
GC__FN bool gc__lock_try(gc__lock *lock);
/* Waits for about that time at most. Returns whether the lock is taken. */
GC__FN bool gc__lock_take_for(gc__lock *lock, uint64_t ns);
GC__FN void gc__lock_init(gc__lock *lock);
GC__FN void gc__lock_end(gc__lock *lock);
/* Return whether the calling thread holds the lock, and whether nobody seems to hold it. */
GC__FN bool gc__lock_is_mine(const gc__lock *lock);
GC__FN bool gc__lock_is_free(const gc__lock *lock);
/* Around fork() a lock is taken, unless the calling thread holds it already, and released if the thread did not hold
   it; in the child it is first initialized again, since a thread of another process took the original. */
GC__FN void gc__lock_fork_take(gc__lock *lock);
GC__FN void gc__lock_fork_adopt(gc__lock *lock);
GC__FN void gc__lock_fork_release(gc__lock *lock);
/* Returns whether the calling thread is the only one, and no other can start before it starts one; false if that is not
   known. */
GC__FN bool gc__os_is_single_threaded(void);
static uint64_t gc__os_selves; /* atomic */
static __thread uint64_t gc__os_identity = UINT64_MAX; /* UINT64_MAX: none yet, so the thread holds no lock */
GC__OUT_OF_LINE uint64_t gc__os_self_new(void) {
    gc__os_identity = __atomic_add_fetch(&gc__os_selves, 1, __ATOMIC_RELAXED);
    return gc__os_identity;
}
/* Returns a number that stands for the calling thread, and for no other that ever was or will be. Not 0. */
GC__FN uint64_t gc__os_self(void) { return GC__LIKELY(gc__os_identity != UINT64_MAX) ? gc__os_identity : gc__os_self_new(); }
/* Returns the system's number of the calling thread, by which other processes name it, until it ends. */
GC__FN uint32_t gc__os_thread_number(void);

/* gc__os_wait_for waits until *word differs from `value`, at most for `ns`; it may return too early. gc__os_wake,
   called after a change of the word, wakes the waiting threads. */
GC__FN void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns);
GC__FN void gc__os_wake(const uint32_t *word);

/* A thread of the collector's own. gc__os_thread_start returns false if the system refuses one. */
typedef struct gc__os_thread gc__os_thread;
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context);
/* Starts a named thread that runs no code of the host except trace functions; other threads receive the process's
   signals. */
GC__FN bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context);
GC__FN void gc__os_thread_join(gc__os_thread *thread);
/* Makes the calling thread, when it is woken, not preempt running threads, if the system can do that. */
GC__FN void gc__os_thread_is_patient(void);
/* Makes the calling thread run on other processors from now on, until it leaves another one, if it may use any. */
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor);
/* Abandons a thread that may never end, instead of joining it. */
GC__FN void gc__os_thread_abandon(gc__os_thread *thread);
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread);
/* Hints to the CPU that the calling thread spins. */
GC__FN void gc__cpu_pause(void);
GC__FN uint64_t gc__cpu_ticks(void); /* a counter with a steady but unknown rate, faster to read than the clock */

/* Arranges that `f` is called at the end of the calling thread, and once more, after other destructors, if it returns
   true. Returns false if the system has no room for that. */
GC__FN bool gc__os_at_thread_end(bool (*f)(void));
/* GC__OS_KEPT(variable) is a thread-local pointer that outlives the thread's other variables, where the system frees these before
   it calls that function. GC__OS_KEEP(value) comes after each change of it. If it is NULL, `f` may not be called. */
/* Arranges that fork calls `before` on the thread that forks, and then `in_parent` and `in_child`. Returns false if the
   system has no room for that. */
GC__FN bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Undoes gc__os_at_thread_end and gc__os_on_fault. */
GC__FN void gc__os_leave(void);
/* The attribute of a function that is called when the program, or the library with this gc.h, is loaded. */
#define GC__AT_LOAD __attribute__((constructor(101)))
/* The attribute of a function that is called when the library with this gc.h is unloaded, and at the end of the
   program, after the host's own destructors. */
#define GC__AT_UNLOAD __attribute__((destructor(101)))

/* GC__NOTE(function, record) defines a note in the program's file, by which readers of processes find the record. */

/* Stores the callee-saved registers, and after them the stack pointer of the caller, in `registers`. */
GC__EXTERN GC__VISIBLE void gc__save_registers(uintptr_t *registers);
#define GC__SAVED_STACK_POINTER (GC__SAVED_REGISTERS - 1)

/* Keeps the calling function's frame until here: without it a call at the function's end might become a jump, which
   drops the frame first. */
GC__INLINED void gc__cpu_keep_frame(void) { __asm__ volatile("" : : : "memory"); }

/* Returns the address in a return address from the stack, which code for AArch64 may have signed (-mbranch-protection). */
GC__INLINED uintptr_t gc__cpu_return_address(uintptr_t stored) {
#ifdef __aarch64__
    __asm__("mov x30, %0\n\thint #7\n\tmov %0, x30" : "+r"(stored) : : "x30"); /* xpaclri */
#endif
    return stored;
}

/* A number of 16, 32 or 64 bits that is, or is to be, in memory with its lowest byte first. */
#define GC__LITTLE(bits, number) \
    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? (number) : __builtin_bswap##bits(number))
/* Reads eight bytes, at a multiple of 8, as a number of which the first byte is the lowest. */
GC__INLINED uint64_t gc__cpu_eight(const uint8_t *bytes) {
    uint64_t word = __atomic_load_n((const uint64_t *)(const void *)bytes, __ATOMIC_RELAXED);
    return GC__LITTLE(64, word);
}

/* gc__os_on_fault installs a handler, which is called when the program accesses inaccessible memory. If the handler
   returns false, it does not handle that address, and the fault takes its former course. `words` are the registers at
   the fault. */
typedef bool (*gc__fault_handler)(uintptr_t address, const uintptr_t *words, size_t count, uintptr_t stack_pointer);
GC__FN void gc__os_on_fault(gc__fault_handler f);
/* Returns the pc among them. */
GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words);
/* Writes the native call stack to stderr: function, file and offset, without the collector's own functions. Once
   gc__os_stack_frames has been called, this and all functions up to gc__os_name_data are safe in a fault handler. */
GC__FN void gc__os_print_stack(void);
#define GC__STACK_FRAMES 32 /* the innermost frames of a native stack that are read */
/* Stores the native call stack's return addresses. Returns their number. */
GC__FN int gc__os_stack_frames(void **frames);
/* The same for at most `most` of them. */
GC__FN int gc__os_list_frames(void **frames, int most);
/* For a fault handler, which passes its `words`: the first frame is the faulting instruction. */
GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames);
/* Writes such frames to stderr: function, file and line if the tool addr2line is installed, otherwise as
   gc__os_print_stack; without the collector's own functions. `exact` is the frame that is not a return address, but the
   instruction itself. */
GC__FN void gc__os_name_frames(void *const *frames, int count, uintptr_t exact);
/* Calls f for each range of static data that the program and its libraries may write. */
GC__FN void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context);
/* Names the static variable at the address. */
GC__FN void gc__os_name_data(char *text, size_t bytes, uintptr_t address);
/* Returns whether the address is in the code of the program or of a loaded library. */
GC__FN bool gc__os_is_file_code(const void *address);
/* Returns a hash of the native call stack. With C libraries other than glibc, the hash and the printed stack reach only
   as far as functions have frame pointers (-fno-omit-frame-pointer). */
GC__FN uint64_t gc__os_stack_hash(void) {
    void *frames[GC__STACK_FRAMES];
    int count = gc__os_stack_frames(frames);
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < count; i++) hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    return hash;
}

/* Returns a variable of the environment; NULL if it is unset or empty, or the program has rights that its user lacks
   (setuid). */
GC__FN const char *gc__os_setting(const char *variable);
/* Return the program's name, without its folder, and the number of the process. */
GC__FN const char *gc__os_program_name(void);
GC__FN uint32_t gc__os_process_number(void);

/* Tells AddressSanitizer, in builds with it, that the memory is free, or in use again. */
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free);

#include "os_linux.h"
#include "memory_linux.h"
#include "names_linux.h"
#include "calls_windows.h"
#include "os_windows.h"
#include "memory_windows.h"
#include "names_windows.h"
#include "os_other.h"
#include "cpu_x86_64.h"
#include "cpu_aarch64.h"
#include "cpu_portable.h"
#if !defined(__x86_64__) || defined(_WIN32)
#define GC__KEEPS_VECTORS unused
#define GC__THREAD_POINTER() ((uintptr_t)0)
#ifndef __aarch64__
/* The barrier that calls a function is in C. */
#define GC__LOG_STORE_CALL(name, function, ages, logging) \
    GC__FN void name(void) {}
#endif
#endif
/* What a processor need not define. */
#ifndef GC__LOG_STORE_ADDRESS
#define GC__LOG_STORE_ADDRESS(name) name
#endif
#ifndef GC__OS_KEPT
#define GC__OS_KEPT(variable) (variable)
#define GC__OS_KEEP(value) ((void)(value))
#endif
/* In the calling function's frame, above its variables: the same address in each function that another calls from one
   place. The frame pointer of most processors leads to the lowest word of a frame; that of x86-64 costs less code. */
#ifdef __x86_64__
#define GC__FRAME_TOP() ((uintptr_t)__builtin_frame_address(0))
#else
#define GC__FRAME_TOP() ((uintptr_t)__builtin_dwarf_cfa())
#endif
#include "sanitize.h"
