/* Emitted barriers: their forms, and what is known of the code. */
#pragma once

#include "forms.h"

/* Forms: a store, unless it is an assign or a copy; each may be checked. */
enum { GC_EMIT_STORE = 0, GC_EMIT_CHECKED = 1, GC_EMIT_ASSIGN = 2, GC_EMIT_COPY = 4 };

#define GC_EMIT_BYTES_MAX 384 /* no barrier in any form is longer */

/* The emitted code, and where its immediates are. Owned by the host; needed to patch. */
typedef struct gc_barrier_code {
    uint32_t bytes;
    /* bit n: register n of the machine's numbering: rax = 0, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8..; on AArch64 xn */
    uint32_t clobbers;
    uint32_t patches;
    struct {
        uint16_t at;    /* offset of the immediate in the code */
        uint16_t field; /* offset in gc_barrier_tables of the field that the immediate holds */
    } patch[12];
} gc_barrier_code;
