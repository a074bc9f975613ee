/* The barriers as machine code for AArch64.

   Calling convention. Store: x0 = slot, x1 = reference. Assign: x0 = slot, x1 = address of the reference; both are 8 higher
   on return. Copy: x0 = destination, x1 = source, x2 = count. The code may change x9 to x12 and the flags, and for assign
   and copy also x0, x1, and x13 to x16. It calls nothing, uses no stack, and preserves all vector registers. It begins with
   a target of indirect calls, since a compiler's code may lie in pages that are guarded so (PROT_BTI).

   The tables' values are words behind the code, aligned to 8 bytes, which it loads: so a patch is a store of data, and only
   emitting needs the instruction cache to be cleared (__builtin___clear_cache). Loads of bounds come before those of tables,
   so that threads may run code that is being patched. */
#pragma once

#include "emit_code.h"

enum { GC__A64_WORDS = GC_EMIT_BYTES_MAX / 4 + 16 };
typedef struct gc__a64 {
    gc_barrier_code *code;
    const gc_barrier_tables *tables;
    uint32_t words[GC__A64_WORDS], at;
    uint32_t exits[16], exit_count; /* branches to where the barrier ends */
    uint32_t dirty;                 /* the instruction that forms the address of a dirty byte; 0: none */
} gc__a64;

enum { GC__A = 9, GC__B, GC__C, GC__D, GC__TO, GC__FROM, GC__END, GC__STEP, GC__ZERO = 31 };
enum {
    GC__A64_NOP = (int)0xD503201F,
    GC__A64_TARGET = (int)0xD503245F, /* bti c */
    GC__A64_RET = (int)0xD65F03C0,
    GC__A64_ORDER_LOADS = (int)0xD50339BF, /* dmb ishld */
    GC__A64_B = 0x14000000,
    GC__A64_BEQ = 0x54000000,
    GC__A64_BNE = 0x54000001,
    GC__A64_BHS = 0x54000002,
    GC__A64_BLO = 0x54000003,
    GC__A64_BLS = 0x54000009,
    GC__A64_CBZ = 0x34000000,
    GC__A64_CBNZ = 0x35000000
};

static inline void gc__a64_put(gc__a64 *e, uint32_t word) { e->words[e->at++] = word; }

/* An instruction that changes d, and reads n and m. */
static inline void gc__a64_op(gc__a64 *e, uint32_t operation, unsigned d, unsigned n, unsigned m) {
    gc__a64_put(e, operation | m << 16 | n << 5 | d);
    if (d != GC__ZERO) e->code->clobbers |= 1u << d;
}
static inline void gc__a64_compare(gc__a64 *e, unsigned n, unsigned m) { gc__a64_op(e, 0xEB000000, GC__ZERO, n, m); }
static inline void gc__a64_compare_number(gc__a64 *e, unsigned n, unsigned number) {
    gc__a64_op(e, 0x71000000 | number << 10, GC__ZERO, n, 0);
}
static inline void gc__a64_move(gc__a64 *e, unsigned d, unsigned m) { gc__a64_op(e, 0xAA000000, d, GC__ZERO, m); }
static inline void gc__a64_shift(gc__a64 *e, unsigned d, unsigned n, unsigned shift) {
    gc__a64_op(e, 0xD340FC00 | shift << 16, d, n, 0);
}
static inline void gc__a64_add(gc__a64 *e, unsigned d, unsigned n, unsigned m, unsigned shift) { /* d = n + (m >> shift) */
    gc__a64_op(e, 0x8B400000 | shift << 10, d, n, m);
}
static inline void gc__a64_byte(gc__a64 *e, unsigned d, unsigned n) { gc__a64_op(e, 0x39400000, d, n, 0); }
static inline void gc__a64_byte_at(gc__a64 *e, unsigned d, unsigned n, unsigned m) { gc__a64_op(e, 0x38606800, d, n, m); }

/* d = a field of the tables. */
static inline void gc__a64_load(gc__a64 *e, unsigned d, size_t field) {
    e->code->patch[e->code->patches].at = (uint16_t)e->at;
    e->code->patch[e->code->patches++].field = (uint16_t)field;
    gc__a64_op(e, 0x58000000, d, 0, 0);
}
#define GC__A64_LOAD(e, d, member) gc__a64_load(e, d, offsetof(gc_barrier_tables, member))

/* A branch to the end of the barrier. */
static inline void gc__a64_exit(gc__a64 *e, uint32_t branch) {
    e->exits[e->exit_count++] = e->at;
    gc__a64_put(e, branch);
}
/* Has the branch at that place go to what comes next. */
static inline void gc__a64_land(gc__a64 *e, uint32_t branch) {
    uint32_t distance = e->at - branch;
    e->words[branch] |= (e->words[branch] & 0xFC000000) == GC__A64_B ? distance & 0x3FFFFFF : (distance & 0x7FFFF) << 5;
}
static inline void gc__a64_land_exits(gc__a64 *e) {
    while (e->exit_count) gc__a64_land(e, e->exits[--e->exit_count]);
}

/* Writes 0xFF where n leads to. */
static inline void gc__a64_write(gc__a64 *e, unsigned n) {
    gc__a64_op(e, 0x12800000, GC__B, 0, 0); /* mov w10, #-1 */
    gc__a64_put(e, 0x39000000 | n << 5 | GC__B);
}
static inline void gc__a64_set(gc__a64 *e) {
    gc__a64_byte(e, GC__B, GC__A);
    gc__a64_compare_number(e, GC__B, 255);
    gc__a64_exit(e, GC__A64_BEQ);
    gc__a64_write(e, GC__A);
}

/* Sets the bits of `bit` in the byte that n leads to, unless they are set. */
static inline void gc__a64_or(gc__a64 *e, unsigned bit, unsigned n, unsigned x, unsigned y) {
    gc__a64_op(e, 0x085F7C00, x, n, 0);    /* ldxrb */
    gc__a64_op(e, 0x2A000000, x, x, bit);  /* orr */
    gc__a64_put(e, 0x08007C00 | y << 16 | n << 5 | x); /* stxrb */
    e->code->clobbers |= 1u << y;
    gc__a64_put(e, GC__A64_CBNZ | (0x7FFFFu & (0u - 3)) << 5 | y);
}
static inline void gc__a64_set_bit(gc__a64 *e, unsigned bit, unsigned n, unsigned x, unsigned y) {
    gc__a64_byte(e, x, n);
    gc__a64_op(e, 0x6A000000, GC__ZERO, x, bit); /* tst */
    gc__a64_exit(e, GC__A64_BNE);
    gc__a64_or(e, bit, n, x, y);
}

/* d = 1 << ((n >> shift) & 7) */
static inline void gc__a64_bit(gc__a64 *e, unsigned d, unsigned spare, unsigned n, unsigned shift) {
    gc__a64_op(e, 0xD3400000 | shift << 16 | (shift + 2) << 10, d, n, 0); /* ubfx */
    gc__a64_op(e, 0x52800020, spare, 0, 0);                               /* mov spare, #1 */
    gc__a64_op(e, 0x1AC02000, d, spare, d);                               /* lsl */
}

static inline void gc__a64_card(gc__a64 *e, unsigned d) {
    GC__A64_LOAD(e, d, cards);
    gc__a64_add(e, d, d, 0, GC_CARD_BYTE_SHIFT);
}
static inline void gc__a64_bundle_entry(gc__a64 *e) {
    GC__A64_LOAD(e, GC__A, bundles);
    gc__a64_add(e, GC__A, GC__A, 0, GC_BUNDLE_SHIFT);
}
static inline void gc__a64_bundle(gc__a64 *e) {
    if (!GC_BUNDLE_SHIFT) return;
    gc__a64_bundle_entry(e);
    gc__a64_set(e);
}

static inline void gc__a64_mark_byte(gc__a64 *e) {
    gc__a64_card(e, GC__A);
    gc__a64_set(e);
    gc__a64_bundle(e);
}
static inline void gc__a64_mark_bit(gc__a64 *e) {
    gc__a64_bit(e, GC__B, GC__C, 0, GC_CARD_BYTE_SHIFT - 3);
    gc__a64_card(e, GC__A);
    gc__a64_set_bit(e, GC__B, GC__A, GC__C, GC__D);
    gc__a64_bundle(e);
}
static inline void gc__a64_mark_card(gc__a64 *e) {
    if (GC_CARD_BITS)
        gc__a64_mark_bit(e);
    else
        gc__a64_mark_byte(e);
}
static inline void gc__a64_mark_always(gc__a64 *e) {
    if (GC_CARD_BITS) {
        gc__a64_bit(e, GC__B, GC__C, 0, GC_CARD_BYTE_SHIFT - 3);
        gc__a64_card(e, GC__A);
        gc__a64_or(e, GC__B, GC__A, GC__C, GC__D);
    } else {
        gc__a64_card(e, GC__A);
        gc__a64_write(e, GC__A);
    }
    if (!GC_BUNDLE_SHIFT) return;
    gc__a64_bundle_entry(e);
    gc__a64_write(e, GC__A);
}
/* The ranks are in A. */
static inline void gc__a64_mark_select(gc__a64 *e) {
    gc__a64_card(e, GC__B);
    e->dirty = e->at;
    gc__a64_op(e, 0x10000000, GC__C, 0, 0); /* adr */
    gc__a64_compare_number(e, GC__A, 3);
    gc__a64_op(e, 0x9A803000, GC__A, GC__C, GC__B); /* csel x9, x11, x10, lo */
    if (GC_CARD_BITS) {
        gc__a64_bit(e, GC__B, GC__C, 0, GC_CARD_BYTE_SHIFT - 3);
        gc__a64_set_bit(e, GC__B, GC__A, GC__C, GC__D);
    } else {
        gc__a64_set(e);
    }
    gc__a64_bundle(e);
}
static inline void gc__a64_mark_log(gc__a64 *e) {
    gc__a64_bit(e, GC__B, GC__C, 0, 3);
    GC__A64_LOAD(e, GC__A, log_bits);
    gc__a64_add(e, GC__A, GC__A, 0, 6);
    gc__a64_set_bit(e, GC__B, GC__A, GC__C, GC__D);
    GC__A64_LOAD(e, GC__A, log);
    gc__a64_op(e, 0xC85F7C00, GC__C, GC__A, 0);                         /* ldxr x11, [x9] */
    gc__a64_op(e, 0x91002000, GC__B, GC__C, 0);                         /* add x10, x11, #8 */
    gc__a64_put(e, 0xC8007C00 | GC__D << 16 | GC__A << 5 | GC__B);      /* stxr w12, x10, [x9] */
    e->code->clobbers |= 1u << GC__D;
    gc__a64_put(e, GC__A64_CBNZ | (0x7FFFFu & (0u - 3)) << 5 | GC__D);
    gc__a64_op(e, 0xF9400400, GC__B, GC__A, 0);                         /* ldr x10, [x9, #8] */
    gc__a64_compare(e, GC__C, GC__B);
    uint32_t full = e->at;
    gc__a64_put(e, GC__A64_BHS);
    gc__a64_put(e, 0xF9000000 | GC__C << 5); /* str x0, [x11] */
    gc__a64_exit(e, GC__A64_B);
    gc__a64_land(e, full);
    gc__a64_mark_card(e);
}

static inline void gc__a64_bound(gc__a64 *e, unsigned n, size_t field, uint32_t branch) {
    gc__a64_load(e, GC__B, field);
    gc__a64_compare(e, n, GC__B);
    gc__a64_exit(e, branch);
}
static inline void gc__a64_range(gc__a64 *e, int has_end) {
    gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
    gc__a64_bound(e, 1, offsetof(gc_barrier_tables, low), GC__A64_BLO);
    if (has_end) gc__a64_bound(e, 1, offsetof(gc_barrier_tables, high), GC__A64_BHS);
    gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
}

/* C = the age table, A = the slot's age. */
static inline void gc__a64_age(gc__a64 *e) {
    GC__A64_LOAD(e, GC__C, age);
    gc__a64_shift(e, GC__A, 0, GC_REGION_SHIFT);
    gc__a64_byte_at(e, GC__A, GC__C, GC__A);
}

static inline void gc__a64_filter(gc__a64 *e, int filter) {
    enum { SHIFT = GC_ADDRESS_BITS - GC_REGION_SHIFT };
    switch (filter) {
    case GC__FILTER_LOW:
        gc__a64_range(e, 0);
        break;
    case GC__FILTER_RANGE:
        gc__a64_range(e, 1);
        break;
    case GC__FILTER_OLD:
        gc__a64_age(e);
        gc__a64_exit(e, (int)GC__A64_CBZ | (int)GC__A);
        break;
    case GC__FILTER_REGION:
        gc__a64_age(e);
        gc__a64_exit(e, (int)GC__A64_CBZ | (int)GC__A);
        gc__a64_range(e, 1);
        gc__a64_shift(e, GC__B, 1, GC_REGION_SHIFT);
        gc__a64_byte_at(e, GC__B, GC__C, GC__B);
        gc__a64_compare(e, GC__B, GC__A);
        gc__a64_exit(e, GC__A64_BHS);
        break;
    case GC__FILTER_RANK:
    case GC__FILTER_SUM:
        gc__a64_age(e);
        gc__a64_op(e, 0xD2800000 | (uint32_t)(SHIFT / 16) << 21 | (1u << SHIFT % 16) << 5, GC__D, 0, 0); /* mov x12, #entries */
        gc__a64_op(e, 0xCB000000, GC__C, GC__C, GC__D);                                                  /* sub */
        gc__a64_shift(e, GC__B, 1, GC_REGION_SHIFT);
        gc__a64_byte_at(e, GC__B, GC__C, GC__B);
        gc__a64_op(e, 0x0B000000, GC__A, GC__A, GC__B); /* add */
        if (filter == GC__FILTER_SUM) break;
        gc__a64_compare_number(e, GC__A, 2);
        gc__a64_exit(e, GC__A64_BLS);
        break;
    default:
        break;
    }
}

static inline void gc__a64_watch(gc__a64 *e) {
    GC__A64_LOAD(e, GC__A, watch);
    gc__a64_add(e, GC__A, GC__A, 0, GC_WATCH_SHIFT);
    gc__a64_byte(e, GC__B, GC__A);
    uint32_t known = e->at;
    gc__a64_put(e, (int)GC__A64_CBNZ | (int)GC__B);
    gc__a64_write(e, GC__A);
    gc__a64_land(e, known);
}

/* Emits the store and everything after it, up to the exit. */
static inline void gc__a64_body(gc__a64 *e, gc__barrier_parts parts, unsigned form) {
    gc__a64_put(e, 0xC89FFC01); /* stlr x1, [x0] */
    if (parts.mark == GC__MARK_NOTHING) return;
    if (form & GC_EMIT_CHECKED) {
        gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
        gc__a64_bound(e, 0, offsetof(gc_barrier_tables, lowest), GC__A64_BLO);
        gc__a64_bound(e, 0, offsetof(gc_barrier_tables, highest), GC__A64_BHS);
        gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
    }
    if (parts.watch) gc__a64_watch(e);
    gc__a64_filter(e, parts.filter);
    switch (parts.mark) {
    case GC__MARK_CARD:
        gc__a64_mark_card(e);
        break;
    case GC__MARK_BYTE:
        gc__a64_mark_byte(e);
        break;
    case GC__MARK_BIT:
        gc__a64_mark_bit(e);
        break;
    case GC__MARK_ALWAYS:
        gc__a64_mark_always(e);
        break;
    case GC__MARK_SELECT:
        gc__a64_mark_select(e);
        break;
    default:
        gc__a64_mark_log(e);
        break;
    }
}

static inline void gc__a64_assign(gc__a64 *e, gc__barrier_parts parts, unsigned form) {
    gc__a64_op(e, 0x91002000, GC__FROM, 1, 0); /* add x14, x1, #8 */
    gc__a64_op(e, 0xF9400000, 1, 1, 0);        /* ldr x1, [x1] */
    gc__a64_body(e, parts, form);
    gc__a64_land_exits(e);
    gc__a64_op(e, 0x91002000, 0, 0, 0); /* add x0, x0, #8 */
    gc__a64_move(e, 1, GC__FROM);
}

/* Emits a loop upwards or downwards: x13 = slot, x14 = source - destination, x15 = the end, x16 = 8 or -8. */
static inline void gc__a64_copy(gc__a64 *e, gc__barrier_parts parts, unsigned form) {
    uint32_t nothing = e->at;
    gc__a64_put(e, 0xB4000002);                                /* cbz x2 */
    gc__a64_op(e, 0xCB000000, GC__FROM, 1, 0);                 /* sub x14, x1, x0 */
    gc__a64_op(e, 0x8B000C00, GC__END, 0, 2);                  /* add x15, x0, x2, lsl #3 */
    gc__a64_op(e, 0xD2800100, GC__STEP, 0, 0);                 /* mov x16, #8 */
    gc__a64_move(e, GC__TO, 0);
    gc__a64_op(e, 0xCB000000, GC__A, 0, 1);                    /* sub x9, x0, x1 */
    gc__a64_op(e, 0xD37DF000, GC__B, 2, 0);                    /* lsl x10, x2, #3 */
    gc__a64_compare(e, GC__A, GC__B);
    uint32_t upwards = e->at;
    gc__a64_put(e, GC__A64_BHS);
    gc__a64_op(e, 0xD1002000, GC__TO, GC__END, 0);             /* sub x13, x15, #8 */
    gc__a64_op(e, 0xD1002000, GC__END, 0, 0);                  /* sub x15, x0, #8 */
    gc__a64_op(e, 0x928000E0, GC__STEP, 0, 0);                 /* mov x16, #-8 */
    gc__a64_land(e, upwards);
    uint32_t loop = e->at;
    gc__a64_move(e, 0, GC__TO);
    gc__a64_op(e, 0xF8606800, 1, GC__TO, GC__FROM); /* ldr x1, [x13, x14] */
    gc__a64_body(e, parts, form);
    gc__a64_land_exits(e);
    gc__a64_op(e, 0x8B000000, GC__TO, GC__TO, GC__STEP);
    gc__a64_compare(e, GC__TO, GC__END);
    gc__a64_put(e, GC__A64_BNE | (0x7FFFF & (loop - e->at)) << 5);
    gc__a64_land(e, nothing);
}

/* Returns the code's words, and the number of its bytes in code->bytes. */
static inline const void *gc__a64_emit(gc__a64 *e, gc_barrier_code *code, gc__barrier_parts parts, unsigned form,
                                       const gc_barrier_tables *tables) {
    memset(e, 0, sizeof *e);
    e->code = code;
    e->tables = tables;
    gc__a64_put(e, (uint32_t)GC__A64_TARGET);
    if (form & GC_EMIT_COPY)
        gc__a64_copy(e, parts, form);
    else if (form & GC_EMIT_ASSIGN)
        gc__a64_assign(e, parts, form);
    else
        gc__a64_body(e, parts, form);
    gc__a64_land_exits(e);
    gc__a64_put(e, (uint32_t)GC__A64_RET);
    if (e->at % 2) gc__a64_put(e, (uint32_t)GC__A64_NOP);
    for (uint32_t i = 0; i < code->patches; i++, e->at += 2) {
        gc__a64_land(e, code->patch[i].at);
        code->patch[i].at = (uint16_t)(e->at * 4);
        memcpy(&e->words[e->at], (const char *)tables + code->patch[i].field, 8);
    }
    if (e->dirty) {
        gc__a64_land(e, e->dirty);
        memset(&e->words[e->at], 0xFF, 8);
        e->at += 2;
    }
    code->bytes = e->at * 4;
    return e->words;
}
