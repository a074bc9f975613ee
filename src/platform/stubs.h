/* The platform contract for GC_STANDALONE: a symbol for each function of GC__INTERFACE, which jumps to the address in a
   slot, and preserves all that the caller passes. The slots are gc__stub_slots, in the order of the list. */
#pragma once

#include "../api/interface.h"
#include "code_x86_64.h"

#ifdef GC_STANDALONE
#if GC__API_IS_STATIC
#error "GC_STANDALONE makes symbols of the functions of gc.h: GC_API must not be static"
#endif
/* GC__DEFINE_STUBS(first) defines the symbols. At first each slot leads to code that calls first(void **slot), and
   jumps to the address that this returns. */
GC__EXTERN GC__VISIBLE void *gc__stub_slots[];

#define GC__STUB_DATA(...) ".pushsection .data\n\t" __VA_ARGS__ ".popsection\n\t"
#define GC__STUB_SLOTS GC__STUB_DATA(".balign 8\n\t" GC__ASSEMBLY_LINKAGE("gc__stub_slots") "gc__stub_slots:\n\t")
#define GC__STUB_INLINE(name) GC__STUB_DATA(".quad 0\n\t")
#define GC__STUB_TYPED_INLINE(name) GC__STUB_INLINE(name)
#define GC__STUB_MACHINE(name) GC__STUB_CALL(name)
#if GC_HAS_MODEL
#define GC__STUB_TYPED(name) GC__STUB_INLINE(name)
#else
#define GC__STUB_TYPED(name) GC__STUB_CALL(name)
#endif
#define GC__STUB(kind, name) GC__STUB_##kind(name)

/* clang-format off */
#if defined(__x86_64__)
/* The jump preserves r10 and r11, the operands of gc_code_call_native. The first call changes r11, but no compiled code
   makes it, since there is no thread before. */
#define GC__STUB_CALL(name) \
    GC__STUB_DATA(".Lgc__slot_" #name ": .quad .Lgc__first_" #name "\n\t") \
    GC__ASSEMBLY_LINKAGE(#name) ".type " #name ", @function\n" #name ":\n\t" \
    "{jmp *.Lgc__slot_" #name "(%%rip)|jmp qword ptr .Lgc__slot_" #name "[rip]}\n" \
    ".Lgc__first_" #name ":\t" \
    "{leaq .Lgc__slot_" #name "(%%rip), %%r11|lea r11, .Lgc__slot_" #name "[rip]}\n\t" \
    "jmp .Lgc__stub_first\n\t" \
    ".size " #name ", .-" #name "\n\t"
#define GC__STUB_VECTOR(at, number) \
    "{movups " at "(%%rsp), %%xmm" number "|movups xmm" number ", [rsp+" at "]}\n\t"
#define GC__STUB_SAVE_VECTOR(at, number) \
    "{movups %%xmm" number ", " at "(%%rsp)|movups [rsp+" at "], xmm" number "}\n\t"
#define GC__STUB_VECTORS(each) \
    each("0", "0") each("16", "1") each("32", "2") each("48", "3") \
    each("64", "4") each("80", "5") each("96", "6") each("112", "7")

/* All stubs are in one function, so that the assembly may be in both dialects. It is not called by its own name. The
   operand prevents link-time optimization from making `first` a private symbol of another unit. */
#define GC__DEFINE_STUBS(first) \
    __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) static void gc__stubs(void) { \
        __asm__( \
            GC__STUB_SLOTS \
            GC__INTERFACE(GC__STUB) \
            ".Lgc__stub_first:\n\t" \
            GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16") \
            GC__CODE_MOVE("rsp", "rbp") GC__CFI("def_cfa_register 6") \
            GC__CODE_PUSH("rdi") GC__CODE_PUSH("rsi") GC__CODE_PUSH("rdx") GC__CODE_PUSH("rcx") \
            GC__CODE_PUSH("r8") GC__CODE_PUSH("r9") GC__CODE_PUSH("rax") GC__CODE_PUSH("r10") \
            GC__CODE_ADDRESS("rsp", -128, "rsp") \
            GC__STUB_VECTORS(GC__STUB_SAVE_VECTOR) \
            GC__CODE_MOVE("r11", "rdi") \
            "call " GC__ASM_ADDRESS "\n\t" \
            GC__CODE_MOVE("rax", "r11") \
            GC__STUB_VECTORS(GC__STUB_VECTOR) \
            GC__CODE_ADDRESS("rsp", 128, "rsp") \
            GC__CODE_POP("r10") GC__CODE_POP("rax") GC__CODE_POP("r9") GC__CODE_POP("r8") \
            GC__CODE_POP("rcx") GC__CODE_POP("rdx") GC__CODE_POP("rsi") GC__CODE_POP("rdi") \
            GC__CODE_POP("rbp") GC__CFI("def_cfa 7, 8") \
            "{jmp *%%r11|jmp r11}" \
            :: GC__ASM_OPERAND(first) : "memory"); \
    }
#elif defined(__aarch64__)
/* Both addresses are targets of indirect calls (hint #34 is bti c). */
#define GC__STUB_CALL(name) \
    GC__STUB_DATA(".Lgc__slot_" #name ": .quad .Lgc__first_" #name "\n\t") \
    GC__ASSEMBLY_LINKAGE(#name) ".type " #name ", %%function\n" #name ":\n\thint #34\n\t" \
    "adrp x16, .Lgc__slot_" #name "\n\tadd x16, x16, #:lo12:.Lgc__slot_" #name "\n\tldar x16, [x16]\n\tbr x16\n" \
    ".Lgc__first_" #name ":\thint #34\n\t" \
    "adrp x17, .Lgc__slot_" #name "\n\tadd x17, x17, #:lo12:.Lgc__slot_" #name "\n\tb .Lgc__stub_first\n\t" \
    ".size " #name ", .-" #name "\n\t"
#define GC__DEFINE_STUBS(first) \
    __attribute__((used, noinline)) static void gc__stubs(void) { \
        __asm__ volatile( \
            ".pushsection .text\n\t" \
            GC__STUB_SLOTS \
            GC__INTERFACE(GC__STUB) \
            ".Lgc__stub_first:\n\t" \
            "stp x29, x30, [sp, #-224]!\n\tmov x29, sp\n\t" \
            "stp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n\t" \
            "str x8, [sp, #80]\n\t" \
            "stp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n\tstp q4, q5, [sp, #160]\n\tstp q6, q7, [sp, #192]\n\t" \
            "mov x0, x17\n\tbl " GC__ASM_ADDRESS "\n\tmov x16, x0\n\t" \
            "ldp q6, q7, [sp, #192]\n\tldp q4, q5, [sp, #160]\n\tldp q2, q3, [sp, #128]\n\tldp q0, q1, [sp, #96]\n\t" \
            "ldr x8, [sp, #80]\n\tldp x6, x7, [sp, #64]\n\tldp x4, x5, [sp, #48]\n\tldp x2, x3, [sp, #32]\n\t" \
            "ldp x0, x1, [sp, #16]\n\t" \
            "ldp x29, x30, [sp], #224\n\tbr x16\n\t" \
            ".popsection" \
            :: GC__ASM_OPERAND(first)); \
    }
#else
#error "gc.h: GC_STANDALONE calls the collector in a library by stubs for x86-64 and AArch64: here, compile it into the program"
#endif
/* clang-format on */
#endif
