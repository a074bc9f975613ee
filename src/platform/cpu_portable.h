/* The platform contract for other processors, by means of gcc and clang alone. Stacks grow downwards. */
#pragma once

#include "platform.h"

#include <stdlib.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#define GC__ASM_ADDRESS "%0"
#define GC__ASM_OPERAND(name) "i"(&name)

GC__FN void gc__cpu_pause(void) { __asm__ volatile("" : : : "memory"); }
GC__FN uint64_t gc__cpu_ticks(void) { return gc__os_now_ns(); }

/* Copies the caller's frame, which ends at `end`. Its own frame, if it has one, begins below the caller's. */
GC__OUT_OF_LINE __attribute__((no_sanitize("address", "thread", "undefined"))) void gc__cpu_copy_frame(
    uintptr_t *registers, uintptr_t end) {
    uintptr_t from = (uintptr_t)__builtin_frame_address(0) & ~(sizeof from - 1);
    size_t count = (end - from) / sizeof from;
    if (from > end || count > GC__SAVED_STACK_POINTER) {
        fprintf(stderr, "gc.h: the registers take more room on the stack than %d words: a fault of gc.h, please report it\n",
                GC__SAVED_STACK_POINTER);
        abort();
    }
    for (size_t i = 0; i < GC__SAVED_STACK_POINTER; i++) registers[i] = i < count ? ((const gc_word *)from)[i] : 0;
    registers[GC__SAVED_STACK_POINTER] = end;
}

/* The compiler saves all registers that calls preserve in the frame of this function. Their values may not come from
   setjmp, since C libraries disguise some. */
GC__EXTERN GC__VISIBLE __attribute__((weak, noinline, no_instrument_function, no_sanitize("address", "thread", "undefined"))) void
gc__save_registers(uintptr_t *registers) {
    __builtin_unwind_init();
    gc__cpu_copy_frame(registers, (uintptr_t)__builtin_dwarf_cfa());
    gc__cpu_keep_frame();
}
#endif
