/* The registers of code that a signal has interrupted, on Linux: where its context has them as words, and the numbers of
   some among these. Processors that are not listed show none of them. */
#pragma once

#if defined(GC_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* declares REG_RIP and its kin, also under -std=c11 */
#endif

#ifdef __linux__
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
#define GC__OS_CONTEXT_WORDS(context) (context)->uc_mcontext.gregs
enum { GC__OS_FAULT_WORDS = 17, GC__OS_FAULT_PC = REG_RIP, GC__OS_FAULT_SP = REG_RSP, GC__OS_FRAME_POINTER = REG_RBP };
#elif defined(__aarch64__) /* after 31 registers come the stack pointer and the pc */
#define GC__OS_CONTEXT_WORDS(context) (context)->uc_mcontext.regs
enum { GC__OS_FAULT_WORDS = 31, GC__OS_FAULT_PC = 32, GC__OS_FAULT_SP = 31, GC__OS_FRAME_POINTER = 29 };
#elif defined(__riscv) /* the pc takes the place of register 0 */
#define GC__OS_CONTEXT_WORDS(context) (context)->uc_mcontext.__gregs
enum { GC__OS_FAULT_WORDS = 32, GC__OS_FAULT_PC = 0, GC__OS_FAULT_SP = 2, GC__OS_FRAME_POINTER = 8 };
#elif defined(__s390x__) /* before 16 registers come the mask and the address of the program status word */
#define GC__OS_CONTEXT_WORDS(context) &(context)->uc_mcontext
enum { GC__OS_FAULT_WORDS = 18, GC__OS_FAULT_PC = 1, GC__OS_FAULT_SP = 17, GC__OS_FRAME_POINTER = 13 };
#else
static const uintptr_t gc__os_context_words[1] = {0};
#define GC__OS_CONTEXT_WORDS(context) ((void)(context), gc__os_context_words)
enum { GC__OS_FAULT_WORDS = 0, GC__OS_FAULT_PC = 0, GC__OS_FAULT_SP = 0, GC__OS_FRAME_POINTER = 0 };
#endif
/* From a frame pointer to the words with the caller's frame pointer and the return address. */
#if defined(__riscv)
#define GC__OS_FRAME_RECORD ((uintptr_t)-16)
#else
#define GC__OS_FRAME_RECORD ((uintptr_t)0)
#endif
#endif
