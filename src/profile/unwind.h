/* Native call stacks. */
#pragma once

#include "../platform/platform.h"

/* Where an unwinding starts: registers as a call of the function returns. */
typedef struct gc__unwind_start {
    uintptr_t pc, stack_pointer, frame_pointer;
} gc__unwind_start;

typedef struct gc__native_frame {
    uintptr_t pc;  /* the return address into this frame's function; of the innermost, where it is */
    uintptr_t cfa; /* the frame lies below this address: the stack pointer before the call of its function */
} gc__native_frame;

/* The frame of the calling function. */
GC__INLINED void gc__unwind_here(gc__unwind_start *start) {
    start->frame_pointer = (uintptr_t)__builtin_frame_address(0);
    start->stack_pointer = start->frame_pointer;
    start->pc = 0;
}

/* Fills in at most `most` frames, the innermost first, and returns how many there are of these. */
GC__FN size_t gc__unwind(const gc__unwind_start *start, gc__native_frame *frames, size_t most) {
    uintptr_t frame = start->frame_pointer, end = (uintptr_t)gc__os_stack_base(NULL);
    size_t count = 0;
    while (count < most && frame && frame % 8 == 0 && frame >= start->stack_pointer && frame + 16 < end) {
        const uintptr_t *link = (const uintptr_t *)frame;
        frames[count].pc = link[1];
        frames[count].cfa = link[0] + 16;
        if (!link[1]) break;
        count++;
        if (link[0] <= frame) break;
        frame = link[0];
    }
    return count;
}
