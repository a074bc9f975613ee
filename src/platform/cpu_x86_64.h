/* The platform contract for x86-64. */
#pragma once

#include "platform.h"

#if defined(__x86_64__)
/* A static address in an assembly without other operands: the text, the operand. */
#define GC__ASM_ADDRESS "%c0"
#define GC__ASM_OPERAND(name) "i"(&name)

GC__FN void gc__cpu_pause(void) { __builtin_ia32_pause(); }
GC__FN uint64_t gc__cpu_ticks(void) { return __builtin_ia32_rdtsc(); }

/* For functions that are all assembly, to which no option of the compiler may add code. */
#define GC__NAKED __attribute__((naked, weak, noinline, no_instrument_function, GC__NAKED_MORE))
#ifdef __clang__
#define GC__NAKED_MORE no_profile_instrument_function
/* a static function that cannot throw might otherwise have no unwind table */
#define GC__NAKED_CLOBBERS "memory", "unwind"
#else
#define GC__NAKED_MORE no_profile_instrument_function, no_stack_protector, no_sanitize_undefined
#define GC__NAKED_CLOBBERS "memory"
#endif

#ifndef _WIN32
/* For functions that run in the middle of inline assembly, which expects its vector registers to be preserved. */
#define GC__KEEPS_VECTORS target("general-regs-only")
#define GC__THREAD_POINTER() \
    __extension__({ \
        uintptr_t gc__thread_pointer; \
        __asm__("{movq %%fs:0, %0|mov %0, qword ptr fs:0}" : "=r"(gc__thread_pointer)); \
        gc__thread_pointer; \
    })

/* Defines a function that assembly calls with two words on the stack, the first argument above the return address: it
   calls function(first, second), and preserves all registers. If that returns false, the caller faults by reading
   `second`, on the stack as it was before the assembly, so that unwinders can leave it.

   The fast path comes first: it has the effect of the function, with gc__my_chunk, where gc__the_store_logging
   (`logging`) allows it and nothing unusual is met. It is as short as possible, since a processor runs ahead of a store
   that waits for memory by a limited number of instructions. It does not read the slot, since a load that waits holds up
   more than a store. `ages` is the address of the age table; 0x08 is GC__AGE_CANDIDATE, 0x20 GC__AGE_MARKING, 1 in the
   slot GC__STORE_OWNED, and 1023 the bytes of a chunk less 1. */
/* clang-format off */
#if defined(__PIC__) && !defined(__PIE__)
#define GC__LOG_STORE_SHORT
#define GC__LOG_STORE_OPERANDS(ages, logging)
#else
#define GC__LOG_STORE_OPERANDS(ages, logging) , "i"(&logging), "i"(&ages)
#define GC__LOG_STORE_SHORT \
    "{push %%rax|push rax}\n\t" "{push %%rcx|push rcx}\n\t" "{push %%rdx|push rdx}\n\t" "{push %%rsi|push rsi}\n\t" \
    "{movq %c1+8(%%rip), %%rcx|mov rcx, qword ptr [rip+%c1+8]}\n\t" /* rcx: the chunk - the thread pointer */ \
    "{movq %c1(%%rip), %%rsi|mov rsi, qword ptr [rip+%c1]}\n\t" \
    "{movq 40(%%rsp), %%rax|mov rax, qword ptr [rsp+40]}\n\t" /* rax: the slot */ \
    "{movq 48(%%rsp), %%rdx|mov rdx, qword ptr [rsp+48]}\n\t" \
    "{cmpq %%fs:(%%rcx), %%rsi|cmp rsi, qword ptr fs:[rcx]}\n\t" "jne 8f\n\t" \
    "{shrq $" GC__TEXT(GC_REGION_SHIFT) ", %%rdx|shr rdx, " GC__TEXT(GC_REGION_SHIFT) "}\n\t" \
    "{addq %c2(%%rip), %%rdx|add rdx, qword ptr [rip+%c2]}\n\t" /* rdx: the age of the stored object */ \
    "{movzbl -" GC__ASM_RANKS "(%%rdx), %%esi|movzx esi, byte ptr [rdx-" GC__ASM_RANKS "]}\n\t" /* esi: its youth */ \
    "{testb $0x08, (%%rdx)|test byte ptr [rdx], 0x08}\n\t" "jne 8f\n\t" \
    "{cmpb %c1+16(%%rip), %%sil|cmp sil, byte ptr [rip+%c1+16]}\n\t" "jb 9f\n\t" \
    "{cmpl $2, %%esi|cmp esi, 2}\n\t" "ja 8f\n\t" \
    "{testb $1, %%al|test al, 1}\n\t" "jne 8f\n\t" \
    "{testl %%esi, %%esi|test esi, esi}\n\t" "jne 6f\n\t" /* without a tag: what is stored, if that is marked, too */ \
    "{testb $0x20, (%%rdx)|test byte ptr [rdx], 0x20}\n\t" "je 9f\n\t" \
    "{movq 48(%%rsp), %%rax|mov rax, qword ptr [rsp+48]}\n\t" "{andq $-8, %%rax|and rax, -8}\n\t" \
    "{movl $4, %%esi|mov esi, 4}\n" \
    "6:\t" "{orq %%rax, %%rsi|or rsi, rax}\n\t" \
    "{movq %%fs:8(%%rcx), %%rdx|mov rdx, qword ptr fs:[rcx+8]}\n\t" /* rdx: the entry */ \
    "{testl $1023, %%edx|test edx, 1023}\n\t" "je 8f\n\t" \
    "{movq %%rsi, (%%rdx)|mov qword ptr [rdx], rsi}\n\t" \
    "{addq $8, %%fs:8(%%rcx)|add qword ptr fs:[rcx+8], 8}\n" \
    "9:\t" "{pop %%rsi|pop rsi}\n\t" "{pop %%rdx|pop rdx}\n\t" "{pop %%rcx|pop rcx}\n\t" "{pop %%rax|pop rax}\n\t" "ret\n" \
    "8:\t" "{pop %%rsi|pop rsi}\n\t" "{pop %%rdx|pop rdx}\n\t" "{pop %%rcx|pop rcx}\n\t" "{pop %%rax|pop rax}\n\t"
#endif
#define GC__LOG_STORE_CALL(name, function, ages, logging) \
    static __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) void name(void) { \
        __asm__( \
            "endbr64\n\t" GC__LOG_STORE_SHORT \
            "{push %%rax|push rax}\n\t" "{push %%rcx|push rcx}\n\t" "{push %%rdx|push rdx}\n\t" \
            "{push %%rsi|push rsi}\n\t" "{push %%rdi|push rdi}\n\t" "{push %%r8|push r8}\n\t" \
            "{push %%r9|push r9}\n\t" "{push %%r10|push r10}\n\t" "{push %%r11|push r11}\n\t" \
            "{push %%rbp|push rbp}\n\t" \
            "{movq 88(%%rsp), %%rdi|mov rdi, [rsp+88]}\n\t" \
            "{movq 96(%%rsp), %%rsi|mov rsi, [rsp+96]}\n\t" \
            "{movq %%rsp, %%rbp|mov rbp, rsp}\n\t" \
            "{andq $-16, %%rsp|and rsp, -16}\n\t" \
            "call %P0\n\t" \
            "{testb %%al, %%al|test al, al}\n\t" \
            "{movq %%rbp, %%rsp|mov rsp, rbp}\n\t" \
            "{pop %%rbp|pop rbp}\n\t" "{pop %%r11|pop r11}\n\t" "{pop %%r10|pop r10}\n\t" \
            "{pop %%r9|pop r9}\n\t" "{pop %%r8|pop r8}\n\t" "{pop %%rdi|pop rdi}\n\t" \
            "{pop %%rsi|pop rsi}\n\t" "{pop %%rdx|pop rdx}\n\t" "{pop %%rcx|pop rcx}\n\t" \
            "{pop %%rax|pop rax}\n\t" \
            "jz 1f\n\t" \
            "ret\n" \
            "1:\t" \
            "{movq (%%rsp), %%rax|mov rax, [rsp]}\n\t" "{movq 16(%%rsp), %%rcx|mov rcx, [rsp+16]}\n\t" \
            "{leaq 144(%%rsp), %%rsp|lea rsp, [rsp+144]}\n\t" "{movq %%rax, (%%rsp)|mov [rsp], rax}\n\t" \
            "{movq (%%rcx), %%rax|mov rax, [rcx]}\n\t" \
            "ud2" \
            :: "i"(function) GC__LOG_STORE_OPERANDS(ages, logging) : "memory"); \
    }
/* clang-format on */

#endif
#ifdef _WIN32
/* Compilers keep references in vector registers across calls, too, where functions preserve those. */
#define GC__SAVE_VECTOR(number, offset) \
    "{movups %%xmm" #number ", " #offset "(%%rcx)|movups [rcx+" #offset "], xmm" #number "}\n\t"
/* The linker keeps one of the functions of that name; what is weak here could not be called from another file. */
GC__EXTERN __attribute__((naked, noinline, no_instrument_function, section(".text$gc__save_registers"), GC__NAKED_MORE)) void
gc__save_registers(uintptr_t *registers __attribute__((unused))) {
    __asm__(".linkonce discard\n\t"
            "{movq %%rbx, 0(%%rcx)|mov [rcx], rbx}\n\t"
            "{movq %%rbp, 8(%%rcx)|mov [rcx+8], rbp}\n\t"
            "{movq %%r12, 16(%%rcx)|mov [rcx+16], r12}\n\t"
            "{movq %%r13, 24(%%rcx)|mov [rcx+24], r13}\n\t"
            "{movq %%r14, 32(%%rcx)|mov [rcx+32], r14}\n\t"
            "{movq %%r15, 40(%%rcx)|mov [rcx+40], r15}\n\t"
            "{movq %%rdi, 48(%%rcx)|mov [rcx+48], rdi}\n\t"
            "{movq %%rsi, 56(%%rcx)|mov [rcx+56], rsi}\n\t"
            GC__SAVE_VECTOR(6, 64) GC__SAVE_VECTOR(7, 80) GC__SAVE_VECTOR(8, 96) GC__SAVE_VECTOR(9, 112)
            GC__SAVE_VECTOR(10, 128) GC__SAVE_VECTOR(11, 144) GC__SAVE_VECTOR(12, 160) GC__SAVE_VECTOR(13, 176)
            GC__SAVE_VECTOR(14, 192) GC__SAVE_VECTOR(15, 208)
            "{leaq 8(%%rsp), %%rax|lea rax, [rsp+8]}\n\t"
            "{movq %%rax, 248(%%rcx)|mov [rcx+248], rax}\n\t"
            "ret" ::
                : "memory");
}
#else
/* The code is in both dialects of assembly, for -masm=intel. The function is weak, for GC__ASSEMBLY_LINKAGE; also, no
   caller of a weak function relies on which registers its body leaves alone. */
GC__EXTERN GC__VISIBLE GC__NAKED void gc__save_registers(uintptr_t *registers __attribute__((unused))) {
    __asm__("{movq %%rbx, 0(%%rdi)|mov [rdi], rbx}\n\t"
            "{movq %%rbp, 8(%%rdi)|mov [rdi+8], rbp}\n\t"
            "{movq %%r12, 16(%%rdi)|mov [rdi+16], r12}\n\t"
            "{movq %%r13, 24(%%rdi)|mov [rdi+24], r13}\n\t"
            "{movq %%r14, 32(%%rdi)|mov [rdi+32], r14}\n\t"
            "{movq %%r15, 40(%%rdi)|mov [rdi+40], r15}\n\t"
            "{leaq 8(%%rsp), %%rax|lea rax, [rsp+8]}\n\t"
            "{movq %%rax, 88(%%rdi)|mov [rdi+88], rax}\n\t"
            "ret" ::
                : "memory");
}
#endif
#endif
