/* All that the collector needs of the system and the processor. For each of them, one file implements it. */
#pragma once

#include "../api/collect.h"

#ifndef __linux__
#error "gc.h: collecting is for Linux only, so far: the project's src/platform/ has what another system must supply"
#endif
#if !defined(__x86_64__) && !defined(__aarch64__)
#error \
    "gc.h: collecting is for x86-64 and AArch64 only, so far: the project's src/platform/ has what others must supply"
#endif

/* The linkage of functions, and of the variables and stubs that tests look at. Tests of the inside have another one, by which
   several of them share a compiled implementation. */
#ifndef GC__FN
#define GC__FN static __attribute__((unused))
#define GC__VAR static
#endif
/* For functions that work on the frame of their caller, or are a part of the trace's loop. */
#define GC__INLINED static inline __attribute__((unused, always_inline))
/* For functions that hot code hardly ever calls, and would grow by. */
#define GC__OUT_OF_LINE __attribute__((noinline)) GC__FN
/* For reports, and what runs once in a collection at most: small code, away from what runs often. Compilers make the same of
   functions that call these unconditionally, and of those that only such ones call. */
#define GC__COLD __attribute__((cold)) GC__FN
/* For loops over what a heap holds, which such functions call. */
#define GC__HOT __attribute__((hot, noinline)) GC__FN

#define GC__NS_PER_MS ((uint64_t)1000000)

/* Memory. Address space is reserved, which takes no memory; parts of it are committed, by which the system promises memory
   for them; and memory is given back in parts, or with its address space. gc__os_map reserves and commits at once.
   If the process has locked its memory (mlockall), committing provides all of the memory at once, and none is given back
   before its address space is.
   Preconditions: addresses are those of pages; sizes are multiples of the page size, but for gc__os_map and gc__os_unmap,
   which round up; no size is 0. Calls that return nothing are advice, or cannot fail. None of them changes errno if it
   succeeds or returns nothing. */

/* Reserves address space that starts at a multiple of `alignment`, a power of two and at least a page. If `readable`, it
   reads as zero; otherwise every access faults. Core dumps leave it out. NULL: the system refuses (gc__os_refusal says
   why). */
GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable);
/* Commits reserved memory: it can be read and written, is zero at first, and is in core dumps. Memory that was committed
   before stays as it was. False: the system refuses, and a part may have been committed. */
GC__FN bool gc__os_commit(void *address, size_t bytes);
/* Gives the memory of a committed range back. The range stays committed and reads as zero. False: it is as it was (it may
   be locked). */
GC__FN bool gc__os_discard(void *address, size_t bytes);
/* Makes committed memory inaccessible, with its contents, or accessible again. False: the system refuses. */
GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible);
/* Leaves committed memory out of core dumps until it is committed again. */
GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes);
/* Reserves and commits zeroed memory at once. NULL: the system refuses. */
GC__FN void *gc__os_map(size_t bytes);
/* Grows memory of gc__os_map, moving it if need be. NULL: the system refuses, and the old memory is as it was. */
GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes);
/* Gives address space back, with the memory that is committed in it. */
GC__FN void gc__os_unmap(void *address, size_t bytes);
/* Which limit the system has just refused `bytes` for, and so what to do: "raise `ulimit -v`". */
GC__FN const char *gc__os_refusal(size_t bytes);
/* How much memory the process's container (its control groups) lets it have, if that is less than the machine has; or 0. */
GC__FN size_t gc__os_container_bytes(void);

/* Asks for larger pages. The address need not be aligned. */
GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes);
/* The size of such pages, and the opposite: the system is not to make one of what is left of one. */
#define GC__HUGE_PAGE_BYTES ((size_t)2 << 20)
GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes);
/* Has the system provide committed memory now, which takes less than a fault for each page. */
GC__FN void gc__os_populate(void *address, size_t bytes);
/* Calls visit(context, from, end) for each part of mapped memory [from, end) that was ever written to, perhaps for more: what is
   in between is zero, and takes no memory. The page of `from` was written to. */
GC__FN void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t), void *context);
/* Whether the memory at the address is mapped; for reports about wild pointers. */
GC__FN bool gc__os_is_mapped(const void *address, size_t bytes);
/* Copies memory that perhaps cannot be read, within a page or two. False: it cannot. */
GC__FN bool gc__os_read(void *to, const void *from, size_t bytes);
GC__FN size_t gc__os_page_bytes(void);
GC__FN size_t gc__os_l2_bytes(void);
GC__FN unsigned gc__os_processors(void); /* those that the process may use */
/* The one that the calling thread runs on; negative: the system does not say. */
GC__FN int gc__os_processor(void);
GC__FN unsigned gc__os_quota(void);      /* those that the quota of its container amounts to; UINT_MAX: there is none */
GC__FN uint64_t gc__os_now_ns(void);
GC__FN uint64_t gc__os_cpu_ns(void); /* CPU time of the calling thread */
/* From one time to a later one by the same clock. Clocks have stepped back in guests that were moved to another machine: then
   no time has passed. */
GC__FN uint64_t gc__ns_since(uint64_t later, uint64_t earlier) { return later > earlier ? later - earlier : 0; }
/* Whether that was at least `ns`, or is not known, since the clock has stepped back: what is due at intervals would otherwise
   not come for as long as it has. */
GC__FN bool gc__ns_passed(uint64_t later, uint64_t earlier, uint64_t ns) {
    return later < earlier || later - earlier >= ns;
}
/* The end, above the highest address, of the calling thread's stack. NULL: the system does not say, or the thread runs on
   another stack, as a fiber does; in that case *elsewhere is set. */
GC__FN char *gc__os_stack_base(bool *elsewhere);
/* The bounds of the calling thread's own stack, whichever it runs on. False: the system does not say. */
GC__FN bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high);

/* A lock. The comment on the heap's lock says in which order locks are taken, and which are held during callbacks. */
typedef struct gc__lock gc__lock;
GC__FN void gc__lock_take(gc__lock *lock);
GC__FN void gc__lock_release(gc__lock *lock);
GC__FN bool gc__lock_try(gc__lock *lock);
/* Waits for about that time at most. Returns whether the lock is taken. */
GC__FN bool gc__lock_take_for(gc__lock *lock, uint64_t ns);
GC__FN void gc__lock_init(gc__lock *lock);
GC__FN void gc__lock_end(gc__lock *lock);
/* Whether the calling thread holds it; and whether nobody seems to. */
GC__FN bool gc__lock_is_mine(const gc__lock *lock);
GC__FN bool gc__lock_is_free(const gc__lock *lock);
/* Around fork(): taken, unless the calling thread holds it already, and given back if it did not; in the child first made
   anew, since the copy was taken by a thread of another process. */
GC__FN void gc__lock_fork_take(gc__lock *lock);
GC__FN void gc__lock_fork_adopt(gc__lock *lock);
GC__FN void gc__lock_fork_release(gc__lock *lock);
/* Whether the calling thread is the only one, and no other can start before it lets one: false where that is not known. */
GC__FN bool gc__os_is_single_threaded(void);
/* Stands for the calling thread, and for no other that there was or will be. Not 0. */
GC__FN uint64_t gc__os_self(void);
/* The system's number of the calling thread, by which others name it, until it ends. */
GC__FN uint32_t gc__os_thread_number(void);

/* gc__os_wait_for waits until *word differs from `value`, at most for `ns`; it may return too early. gc__os_wake,
   called after a change of the word, wakes the threads that wait. */
GC__FN void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns);
GC__FN void gc__os_wake(const uint32_t *word);

/* A thread of the collector's own. gc__os_thread_start returns false if the system gives none. */
typedef struct gc__os_thread gc__os_thread;
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context);
/* The same for a thread that runs none of the host's code but trace functions: it has a name, and signals go to others. */
GC__FN bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context);
GC__FN void gc__os_thread_join(gc__os_thread *thread);
/* Has the calling thread, when it is woken, leave those that run where they are, if the system can do that. */
GC__FN void gc__os_thread_is_patient(void);
/* Has the calling thread run on other processors from now on, until it leaves another one, if it may use any. */
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor);
/* Gives a thread up that may never end, instead of joining it. */
GC__FN void gc__os_thread_abandon(gc__os_thread *thread);
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread);
/* Tells the CPU that the calling thread spins. */
GC__FN void gc__cpu_pause(void);
GC__FN uint64_t gc__cpu_ticks(void); /* a count at a steady rate, unknown, that takes less time to ask for than the clock */

/* Has `f` called at the end of the calling thread, and once more, after other destructors, if it returns true. False: the
   system has no room for that. */
GC__FN bool gc__os_at_thread_end(bool (*f)(void));
/* Has `before` called when the process forks, on the thread that forks, and then `in_parent` and `in_child`. False: the
   system has no room for that. */
GC__FN bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Undoes gc__os_at_thread_end and gc__os_on_fault. */
GC__FN void gc__os_leave(void);
/* The attribute of a function that is called when the program, or the library with this gc.h, is loaded. */
#define GC__AT_LOAD __attribute__((constructor(101)))
/* The attribute of a function that is called when the library with this gc.h is unloaded, and at the end of the program,
   after the host's own destructors. */
#define GC__AT_UNLOAD __attribute__((destructor(101)))

/* Stores the callee-saved registers, and then the stack pointer of the caller, to `registers`. */
GC__EXTERN GC__VISIBLE void gc__save_registers(uintptr_t *registers);
#define GC__SAVED_STACK_POINTER (GC__SAVED_REGISTERS - 1)

/* Keeps the calling function's frame until here: without it a call at the function's end might be a jump, and the frame
   gone by then. */
GC__INLINED void gc__cpu_keep_frame(void) { __asm__ volatile("" : : : "memory"); }

/* gc__os_on_fault has a handler called when the program touches inaccessible memory. If the handler returns false, the
   address is none of its business, and the fault takes its former course. `words` are the registers at the fault. */
typedef bool (*gc__fault_handler)(uintptr_t address, const uintptr_t *words, size_t count, uintptr_t stack_pointer);
GC__FN void gc__os_on_fault(gc__fault_handler f);
/* The pc among them. */
GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words);
/* Writes the native call stack to stderr: function, file and offset, without the collector's own functions. Safe in a fault
   handler, like all up to gc__os_name_data, once gc__os_stack_frames has been called. */
GC__FN void gc__os_print_stack(void);
#define GC__STACK_FRAMES 32 /* of a native stack, the innermost, are looked at */
/* Stores the native call stack's return addresses. Returns how many there are. */
GC__FN int gc__os_stack_frames(void **frames);
/* In a fault handler, which has been given `words`: the first is the instruction that faults. */
GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames);
/* Writes such frames to stderr: function, file and line if the tool addr2line is there, otherwise as gc__os_print_stack;
   without the collector's own functions. `exact`: which of them is no return address, but the instruction itself. */
GC__FN void gc__os_name_frames(void *const *frames, int count, uintptr_t exact);
/* Calls f for each piece of static data that the program and its libraries may write. */
GC__FN void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context);
/* Names the static variable at the address. */
GC__FN void gc__os_name_data(char *text, size_t bytes, uintptr_t address);
/* Whether the address is in the code of the program or of a loaded library. */
GC__FN bool gc__os_is_file_code(const void *address);
/* A hash of the native call stack. With C libraries other than glibc, the hash and the printed stack reach only as far as
   functions have frame pointers (-fno-omit-frame-pointer). */
GC__FN uint64_t gc__os_stack_hash(void);

/* A variable of the environment. NULL: it is not set, or empty, or the program has rights that its user lacks (setuid). */
GC__FN const char *gc__os_setting(const char *variable);
/* The program's name, without its folder, and the number of the process. */
GC__FN const char *gc__os_program_name(void);
GC__FN uint32_t gc__os_process_number(void);

/* Tells AddressSanitizer, in builds with it, that the memory is free, or in use again. */
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free);

#include "os_linux.h"
#include "memory_linux.h"
#include "names_linux.h"
#include "cpu_x86_64.h"
#include "cpu_aarch64.h"
#include "sanitize.h"
