/* The platform contract for AArch64. */
#pragma once

#include "platform.h"

#if defined(__aarch64__)
/* "i" accepts no address in position-independent code. */
#define GC__ASM_ADDRESS "%0"
#define GC__ASM_OPERAND(name) "S"(&name)

/* The short path that uses the thread pointer is for x86-64 only. Vector registers are saved by the code below. */

/* Defines a function that returns the address of code that assembly calls with two words in x16 and x17: it calls
   function(first, second), and preserves all other registers. It leaves in x16 the stack pointer or, if that returns false, the
   second word: its caller faults by reading there, so that unwinders see the fault in code that compilers have made.

   That code is within the function, since only an operand of assembly makes sure that `function` has a name. */
/* clang-format off */
#define GC__EACH_VECTOR_PAIR(operation) \
    operation " q0, q1, [sp, #160]\n\t" operation " q2, q3, [sp, #192]\n\t" operation " q4, q5, [sp, #224]\n\t" \
    operation " q6, q7, [sp, #256]\n\t" operation " q8, q9, [sp, #288]\n\t" operation " q10, q11, [sp, #320]\n\t" \
    operation " q12, q13, [sp, #352]\n\t" operation " q14, q15, [sp, #384]\n\t" operation " q16, q17, [sp, #416]\n\t" \
    operation " q18, q19, [sp, #448]\n\t" operation " q20, q21, [sp, #480]\n\t" operation " q22, q23, [sp, #512]\n\t" \
    operation " q24, q25, [sp, #544]\n\t" operation " q26, q27, [sp, #576]\n\t" operation " q28, q29, [sp, #608]\n\t" \
    operation " q30, q31, [sp, #640]\n\t"
#define GC__EACH_REGISTER_PAIR(operation) \
    operation " x0, x1, [sp, #16]\n\t" operation " x2, x3, [sp, #32]\n\t" operation " x4, x5, [sp, #48]\n\t" \
    operation " x6, x7, [sp, #64]\n\t" operation " x8, x9, [sp, #80]\n\t" operation " x10, x11, [sp, #96]\n\t" \
    operation " x12, x13, [sp, #112]\n\t" operation " x14, x15, [sp, #128]\n\t"
#define GC__LOG_STORE_ADDRESS(name) name##_address()
#define GC__LOG_STORE_CALL(name, function, ages, logging) \
    GC__OUT_OF_LINE void (*name##_address(void))(void) { \
        void (*code)(void); \
        __asm__( \
            "adr %0, 1f\n\tb 2f\n" \
            "1:\thint #34\n\t" /* a target of indirect calls (bti c) */ \
            "sub sp, sp, #672\n\tstp x29, x30, [sp]\n\tmov x29, sp\n\t" \
            GC__EACH_REGISTER_PAIR("stp") "stp x18, x17, [sp, #144]\n\t" GC__EACH_VECTOR_PAIR("stp") \
            "mov x0, x16\n\tmov x1, x17\n\tbl %1\n\t" \
            "ldp x18, x17, [sp, #144]\n\tadd x16, sp, #672\n\ttst w0, #255\n\tcsel x16, x16, x17, ne\n\t" \
            GC__EACH_VECTOR_PAIR("ldp") GC__EACH_REGISTER_PAIR("ldp") \
            "ldp x29, x30, [sp]\n\tadd sp, sp, #672\n\tret\n" \
            "2:" \
            : "=r"(code) : "S"(function)); \
        return code; \
    }
/* clang-format on */

GC__FN void gc__cpu_pause(void) { __asm__ volatile("yield"); }
GC__FN uint64_t gc__cpu_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* Compilers keep values that programs use as doubles in vector registers across calls, as with NaN-boxing. It begins with a
   target of indirect calls (bti c), since another library's calls may come by a jump through a register. Link-time optimization
   may put the assembly of several files into one. */
__asm__(".ifndef gc__save_registers\n\t.pushsection .text\n\t" GC__ASSEMBLY_LINKAGE("gc__save_registers")
        ".type gc__save_registers, %function\n"
        "gc__save_registers:\n\thint #34\n\t"
        "stp x19, x20, [x0]\n\tstp x21, x22, [x0, #16]\n\tstp x23, x24, [x0, #32]\n\tstp x25, x26, [x0, #48]\n\t"
        "stp x27, x28, [x0, #64]\n\tstr x29, [x0, #80]\n\t"
        "stp d8, d9, [x0, #88]\n\tstp d10, d11, [x0, #104]\n\tstp d12, d13, [x0, #120]\n\tstp d14, d15, [x0, #136]\n\t"
        "mov x1, sp\n\tstr x1, [x0, #152]\n\tret\n\t"
        ".size gc__save_registers, .-gc__save_registers\n\t.popsection\n\t.endif");
#endif
