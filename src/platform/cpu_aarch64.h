/* The platform contract for AArch64. */
#pragma once

#include "platform.h"

#if defined(__aarch64__)
/* Compilers for AArch64 accept no address of data as an operand of assembly in position-independent code, so the data
   has a symbol of its own there. */
#define GC__ASM_NAMED(name) __asm__(#name)
#define GC__ASM_ADDRESS(name) #name
#define GC__ASM_OPERAND(name)

/* Barriers are in C on AArch64, and call C functions. */
#define GC__KEEPS_VECTORS unused
#define GC__THREAD_POINTER() ((uintptr_t)0)
#define GC__LOG_STORE_CALL(name, function, ages, logging) \
    GC__FN void name(void) {}

GC__FN void gc__cpu_pause(void) { __asm__ volatile("yield"); }
GC__FN uint64_t gc__cpu_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

__asm__(".pushsection .text\n\t" GC__ASSEMBLY_LINKAGE(
    "gc__save_registers") ".type gc__save_registers, %function\n"
                          "gc__save_registers:\n\t"
                          "stp x19, x20, [x0]\n\tstp x21, x22, [x0, #16]\n\tstp x23, x24, [x0, #32]\n\tstp x25, x26, "
                          "[x0, #48]\n\t"
                          "stp x27, x28, [x0, #64]\n\tstr x29, [x0, #80]\n\tmov x1, sp\n\tstr x1, [x0, #88]\n\tret\n\t"
                          ".size gc__save_registers, .-gc__save_registers\n\t.popsection");
#endif
