/* A native frame while a stack is unwound: its registers, and how its memory is read, which may be damaged. */
#pragma once

#include "../platform/platform.h"
#include "../platform/stack_linux.h"

typedef struct gc__native_cursor {
    uintptr_t registers[GC__CPU_REGISTERS]; /* by the numbers of DWARF */
    uint64_t known;                         /* bit i: registers[i] is that of this frame */
    bool is_call;                           /* the pc is a return address; else the next instruction */
    uintptr_t low, high;        /* what is between can be read: the thread's stack from its innermost frame on */
    uintptr_t page;             /* so can this page elsewhere; 0: none */
    uint32_t changes;           /* gc__os_file_changes when the walk began */
    struct gc__own_rule *rules; /* 1 << GC__OWN_RULES_SHIFT of them, the thread's; NULL: it has none */
} gc__native_cursor;

#define GC__NATIVE_PRESERVED ((uint64_t)1 << GC__CPU_SP | (uint64_t)1 << GC__CPU_PC)

/* Whether a word elsewhere than on the thread's own stack can be read: the program may run on a stack of its own, or handle
   a signal on one. */
GC__FN bool gc__native_probe(gc__native_cursor *frame, uintptr_t address) {
    uintptr_t page = address & ~(uintptr_t)4095, word;
    if (page && page == frame->page) return true;
    if (!page || !gc__os_read(&word, (const void *)address, sizeof word)) return false;
    frame->page = page;
    return true;
}

/* A word of the stack, without AddressSanitizer's opinion of what it is. */
__attribute__((no_sanitize("address"))) GC__FN uintptr_t gc__native_load(uintptr_t address) {
    return *(const gc_word *)address;
}

/* Reads a word of the stack. */
GC__INLINED bool gc__native_read(gc__native_cursor *frame, uintptr_t address, uintptr_t *word) {
    bool is_near = address - frame->low < frame->high - frame->low;
    if (GC__UNLIKELY(address & 7) || (GC__UNLIKELY(!is_near) && !gc__native_probe(frame, address))) return false;
    *word = gc__native_load(address);
    return true;
}

/* A register's value. False: it is not known. */
GC__FN bool gc__native_register(const gc__native_cursor *frame, uint64_t number, uintptr_t *value) {
    if (number >= GC__CPU_REGISTERS || !(frame->known >> number & 1)) return false;
    *value = frame->registers[number];
    return true;
}
