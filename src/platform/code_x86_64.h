/* Calls between native and compiled code, on x86-64: part of the platform contract, for call.h.

   The numbers are offsets in gc_thread and gc_code_frame, which call.h asserts. Each instruction is in both dialects of
   assembly, for -masm=intel; CFI directives number registers as DWARF does: 3 is rbx, 6 is rbp, 7 is rsp. */
#pragma once

#include "../api/code.h"
#include "platform.h"

#if defined(__x86_64__) && !defined(_WIN32)
#ifdef __GCC_HAVE_DWARF2_CFI_ASM /* the compiler describes functions to unwinders */
#define GC__CFI(directive) ".cfi_" directive "\n\t"
#else
#define GC__CFI(directive)
#endif

/* clang-format off */
#define GC__CODE_MOVE(from, to) "{movq %%" from ", %%" to "|mov " to ", " from "}\n\t"
#define GC__CODE_LOAD(base, offset, to) "{movq " #offset "(%%" base "), %%" to "|mov " to ", [" base "+" #offset "]}\n\t"
#define GC__CODE_STORE(from, base, offset) "{movq %%" from ", " #offset "(%%" base ")|mov [" base "+" #offset "], " from "}\n\t"
#define GC__CODE_ADDRESS(base, offset, to) "{leaq " #offset "(%%" base "), %%" to "|lea " to ", [" base "+" #offset "]}\n\t"
#define GC__CODE_NUMBER(number, base, offset) \
    "{movl $" #number ", " #offset "(%%" base ")|mov dword ptr [" base "+" #offset "], " #number "}\n\t"
#define GC__CODE_PUSH(name) "{pushq %%" name "|push " name "}\n\t"
#define GC__CODE_POP(name) "{popq %%" name "|pop " name "}\n\t"

#define GC__CODE_STORE_VECTOR(number, offset) \
    "{movups %%xmm" #number ", " #offset "(%%rsp)|movups [rsp+" #offset "], xmm" #number "}\n\t"
#define GC__CODE_LOAD_VECTOR(number, offset) \
    "{movups " #offset "(%%rsp), %%xmm" #number "|movups xmm" #number ", [rsp+" #offset "]}\n\t"

/* Calls function(r10, return address), the first operand, and preserves the registers of a native function's
   arguments. */
#define GC__CODE_CHECK \
    "{subq $208, %%rsp|sub rsp, 208}\n\t" \
    GC__CODE_STORE("rax", "rsp", 0) GC__CODE_STORE("rdi", "rsp", 8) GC__CODE_STORE("rsi", "rsp", 16) \
    GC__CODE_STORE("rdx", "rsp", 24) GC__CODE_STORE("rcx", "rsp", 32) GC__CODE_STORE("r8", "rsp", 40) \
    GC__CODE_STORE("r9", "rsp", 48) GC__CODE_STORE("r10", "rsp", 56) GC__CODE_STORE("r11", "rsp", 64) \
    GC__CODE_STORE_VECTOR(0, 80) GC__CODE_STORE_VECTOR(1, 96) GC__CODE_STORE_VECTOR(2, 112) GC__CODE_STORE_VECTOR(3, 128) \
    GC__CODE_STORE_VECTOR(4, 144) GC__CODE_STORE_VECTOR(5, 160) GC__CODE_STORE_VECTOR(6, 176) GC__CODE_STORE_VECTOR(7, 192) \
    GC__CODE_MOVE("r10", "rdi") GC__CODE_LOAD("rbp", 8, "rsi") \
    "call %P0\n\t" \
    GC__CODE_LOAD_VECTOR(0, 80) GC__CODE_LOAD_VECTOR(1, 96) GC__CODE_LOAD_VECTOR(2, 112) GC__CODE_LOAD_VECTOR(3, 128) \
    GC__CODE_LOAD_VECTOR(4, 144) GC__CODE_LOAD_VECTOR(5, 160) GC__CODE_LOAD_VECTOR(6, 176) GC__CODE_LOAD_VECTOR(7, 192) \
    GC__CODE_LOAD("rsp", 0, "rax") GC__CODE_LOAD("rsp", 8, "rdi") GC__CODE_LOAD("rsp", 16, "rsi") \
    GC__CODE_LOAD("rsp", 24, "rdx") GC__CODE_LOAD("rsp", 32, "rcx") GC__CODE_LOAD("rsp", 40, "r8") \
    GC__CODE_LOAD("rsp", 48, "r9") GC__CODE_LOAD("rsp", 56, "r10") GC__CODE_LOAD("rsp", 64, "r11") \
    "{addq $208, %%rsp|add rsp, 208}\n\t"

/* The gc_code_frame lies at rbp - 160. It is complete before the thread refers to it. The preserved registers are
   restored from it, since a collection may have updated them; rbp is restored by way of the word that was pushed. */
#define GC__CODE_CALL_NATIVE(check, results) \
    GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16") \
    GC__CODE_MOVE("rsp", "rbp") GC__CFI("def_cfa_register 6") \
    "{subq $160, %%rsp|sub rsp, 160}\n\t" \
    "{andq $-16, %%rsp|and rsp, -16}\n\t" \
    check \
    GC__CODE_STORE("rbx", "rbp", -120) GC__CFI("offset 3, -136") \
    GC__CODE_LOAD("rbp", 0, "rbx") GC__CODE_STORE("rbx", "rbp", -104) GC__CFI("offset 6, -120") \
    GC__CODE_STORE("r12", "rbp", -48) GC__CFI("offset 12, -64") \
    GC__CODE_STORE("r13", "rbp", -40) GC__CFI("offset 13, -56") \
    GC__CODE_STORE("r14", "rbp", -32) GC__CFI("offset 14, -48") \
    GC__CODE_STORE("r15", "rbp", -24) GC__CFI("offset 15, -40") \
    GC__CODE_LOAD("rbp", 8, "rbx") GC__CODE_STORE("rbx", "rbp", -152) /* pc */ \
    GC__CODE_ADDRESS("rbp", 16, "rbx") GC__CODE_STORE("rbx", "rbp", -112) /* sp */ \
    GC__CODE_NUMBER(0xf038, "rbp", -16) GC__CODE_NUMBER(0, "rbp", -12) /* known; kind and results */ \
    GC__CODE_LOAD("r10", 112, "rbx") GC__CODE_STORE("rbx", "rbp", -160) \
    GC__CODE_ADDRESS("rbp", -160, "rbx") GC__CODE_STORE("rbx", "r10", 112) /* thread->code */ \
    GC__CODE_MOVE("r10", "rbx") \
    "{call *%%r11|call r11}\n\t" \
    "{cmpl $0, 88(%%rbx)|cmp dword ptr [rbx+88], 0}\n\t" /* thread->poll */ \
    "jne 2f\n" \
    "3:\t" \
    GC__CODE_LOAD("rbp", -160, "r11") GC__CODE_STORE("r11", "rbx", 112) \
    GC__CODE_LOAD("rbp", -104, "r11") GC__CODE_STORE("r11", "rbp", 0) GC__CFI("offset 6, -16") \
    GC__CODE_LOAD("rbp", -120, "rbx") GC__CFI("restore 3") \
    GC__CODE_LOAD("rbp", -48, "r12") GC__CFI("restore 12") \
    GC__CODE_LOAD("rbp", -40, "r13") GC__CFI("restore 13") \
    GC__CODE_LOAD("rbp", -32, "r14") GC__CFI("restore 14") \
    GC__CODE_LOAD("rbp", -24, "r15") GC__CFI("restore 15") \
    "leave\n\t" GC__CFI("def_cfa 7, 8") GC__CFI("restore 6") \
    "ret\n" \
    "2:\t" \
    GC__CFI("def_cfa 6, 16") GC__CFI("offset 3, -136") GC__CFI("offset 6, -120") GC__CFI("offset 12, -64") \
    GC__CFI("offset 13, -56") GC__CFI("offset 14, -48") GC__CFI("offset 15, -40") \
    GC__CODE_STORE("rax", "rbp", -144) GC__CODE_STORE("rdx", "rbp", -128) \
    GC__CODE_NUMBER(0xf03d, "rbp", -16) GC__CODE_NUMBER(results << 16, "rbp", -12) \
    "{subq $32, %%rsp|sub rsp, 32}\n\t" \
    "{movups %%xmm0, (%%rsp)|movups [rsp], xmm0}\n\t" \
    "{movups %%xmm1, 16(%%rsp)|movups [rsp+16], xmm1}\n\t" \
    GC__CODE_MOVE("rbx", "rdi") \
    "{call *120(%%rbx)|call qword ptr [rbx+120]}\n\t" /* thread->safepoint */ \
    "{movups (%%rsp), %%xmm0|movups xmm0, [rsp]}\n\t" \
    "{movups 16(%%rsp), %%xmm1|movups xmm1, [rsp+16]}\n\t" \
    GC__CODE_LOAD("rbp", -144, "rax") GC__CODE_LOAD("rbp", -128, "rdx") \
    "jmp 3b"

/* Defines the stubs: GC__CODE_NATIVE_STUBS(GC__CODE_CHECK, "i"(function)) with a check of the thread, (, ) without. */
#define GC__CODE_NATIVE_STUBS(check, function) \
    GC__NAKED void gc_code_call_native(void) { __asm__(GC__CODE_CALL_NATIVE(check, 0) :: function : "memory"); } \
    GC__NAKED void gc_code_call_native_ref(void) { __asm__(GC__CODE_CALL_NATIVE(check, 1) :: function : "memory"); }

/* Restores the preserved registers itself, so that the compiled code which it calls need not. */
GC__EXTERN GC__VISIBLE GC__NAKED uintptr_t gc__code_enter(gc_thread *thread __attribute__((unused)),
                                                          const void *start __attribute__((unused)),
                                                          const uintptr_t *arguments __attribute__((unused))) {
    __asm__(
        GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16")
        GC__CODE_PUSH("rbx") GC__CFI("def_cfa_offset 24") GC__CFI("offset 3, -24")
        GC__CODE_PUSH("r12") GC__CFI("def_cfa_offset 32") GC__CFI("offset 12, -32")
        GC__CODE_PUSH("r13") GC__CFI("def_cfa_offset 40") GC__CFI("offset 13, -40")
        GC__CODE_PUSH("r14") GC__CFI("def_cfa_offset 48") GC__CFI("offset 14, -48")
        GC__CODE_PUSH("r15") GC__CFI("def_cfa_offset 56") GC__CFI("offset 15, -56")
        GC__CODE_PUSH("rax") GC__CFI("def_cfa_offset 64") /* for alignment */
        GC__CODE_MOVE("rdi", "r15") GC__CODE_MOVE("rsi", "r11") GC__CODE_MOVE("rdx", "r10")
        GC__CODE_LOAD("r10", 0, "rdi") GC__CODE_LOAD("r10", 8, "rsi") GC__CODE_LOAD("r10", 16, "rdx")
        GC__CODE_LOAD("r10", 24, "rcx") GC__CODE_LOAD("r10", 32, "r8") GC__CODE_LOAD("r10", 40, "r9")
        "{call *%%r11|call r11}\n\t"
        GC__ASSEMBLY_LINKAGE("gc__code_entered")
        "gc__code_entered:\n\t"
        GC__CODE_POP("rcx") GC__CFI("def_cfa_offset 56")
        GC__CODE_POP("r15") GC__CFI("def_cfa_offset 48") GC__CFI("restore 15")
        GC__CODE_POP("r14") GC__CFI("def_cfa_offset 40") GC__CFI("restore 14")
        GC__CODE_POP("r13") GC__CFI("def_cfa_offset 32") GC__CFI("restore 13")
        GC__CODE_POP("r12") GC__CFI("def_cfa_offset 24") GC__CFI("restore 12")
        GC__CODE_POP("rbx") GC__CFI("def_cfa_offset 16") GC__CFI("restore 3")
        GC__CODE_POP("rbp") GC__CFI("def_cfa_offset 8") GC__CFI("restore 6")
        "ret"
        :: : "memory");
}

/* Defines a stub to which a method returns whose return address was replaced, at GC__CODE_RETURN_TO(name). That is
   behind an instruction, since unwinders search for the code before a return address; they end there. The stub calls
   function(gc_code_frame *), which stores the address at which to continue in the frame's pc. It continues there with
   the registers of the frame, as they are after the call, and preserves those of vectors and the FPU, except the parts
   of vectors beyond 16 bytes. The address to continue at is finally written to where the replaced address was, so that
   the stub returns to it without a free register. */
#define GC__CODE_RETURN_STUB(name, function) \
    GC__VAR __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) void name(void) { \
        __asm__( \
            GC__CFI("undefined 16") "nop\n\t" \
            GC__CODE_PUSH_ZERO GC__CODE_PUSH_ZERO \
            GC__CODE_PUSH("r15") GC__CODE_PUSH("r14") GC__CODE_PUSH("r13") GC__CODE_PUSH("r12") \
            GC__CODE_PUSH("r11") GC__CODE_PUSH("r10") GC__CODE_PUSH("r9") GC__CODE_PUSH("r8") \
            GC__CODE_PUSH("rdi") GC__CODE_PUSH("rsi") GC__CODE_PUSH("rbp") GC__CODE_PUSH("rsp") \
            GC__CODE_PUSH("rbx") GC__CODE_PUSH("rdx") GC__CODE_PUSH("rcx") GC__CODE_PUSH("rax") \
            GC__CODE_PUSH_ZERO GC__CODE_PUSH_ZERO \
            GC__CODE_ADDRESS("rsp", 160, "rax") GC__CODE_STORE("rax", "rsp", 48) /* sp */ \
            GC__CODE_MOVE("rsp", "rdi") \
            GC__CODE_MOVE("rsp", "rbx") \
            "{andq $-16, %%rsp|and rsp, -16}\n\t" \
            "{subq $512, %%rsp|sub rsp, 512}\n\t" \
            "{fxsave64 (%%rsp)|fxsave64 [rsp]}\n\t" \
            "emms\n\t" \
            "call %P0\n\t" \
            "{fxrstor64 (%%rsp)|fxrstor64 [rsp]}\n\t" \
            GC__CODE_MOVE("rbx", "rsp") \
            GC__CODE_LOAD("rsp", 8, "rax") GC__CODE_STORE("rax", "rsp", 152) /* pc */ \
            GC__CODE_ADDRESS("rsp", 16, "rsp") \
            GC__CODE_POP("rax") GC__CODE_POP("rcx") GC__CODE_POP("rdx") GC__CODE_POP("rbx") \
            GC__CODE_ADDRESS("rsp", 8, "rsp") \
            GC__CODE_POP("rbp") GC__CODE_POP("rsi") GC__CODE_POP("rdi") \
            GC__CODE_POP("r8") GC__CODE_POP("r9") GC__CODE_POP("r10") GC__CODE_POP("r11") \
            GC__CODE_POP("r12") GC__CODE_POP("r13") GC__CODE_POP("r14") GC__CODE_POP("r15") \
            GC__CODE_ADDRESS("rsp", 8, "rsp") \
            "ret" \
            :: "i"(function) : GC__NAKED_CLOBBERS); \
    }
#define GC__CODE_RETURN_TO(name) ((uintptr_t)(name) + 1)
#define GC__CODE_PUSH_ZERO "{pushq $0|push 0}\n\t"
/* clang-format on */
/* Where compiled code returns to gc__code_enter. */
GC__EXTERN GC__VISIBLE const char gc__code_entered[];
#define GC__HAS_CODE_CALLS 1
#else
GC__FN uintptr_t gc__code_enter(gc_thread *thread, const void *start, const uintptr_t *arguments) {
    return (void)thread, (void)start, arguments[0];
}
static const char gc__code_entered[1] = {0};
#define GC__HAS_CODE_CALLS 0
#define GC__CODE_NATIVE_STUBS(check, function) GC__STATIC_ASSERT(1, "there are none");
#define GC__CODE_RETURN_STUB(name, function) static void name(void) { (void)(function); }
#define GC__CODE_RETURN_TO(name) ((uintptr_t)(name) + 1)
#endif
