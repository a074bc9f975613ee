/* The barriers as machine code, written into a buffer of the host's: for JIT compilers, whose code calls it.

   Calling convention. Store: rdi = slot, rsi = reference. Assign: rdi = slot, rsi = address of the reference; both are
   8 higher on return. Copy: rdi = destination, rsi = source, rdx = count. The code may change rax, rcx, rdx, rdi, rsi,
   r8, r9 and the flags, as the CLR's helper may, and for assign and copy also r10 and r11; gc_barrier_code.clobbers
   says which of these it changes. It calls nothing, preserves all vector registers, needs no frame and no alignment of
   the stack, and uses up to 24 bytes of the red zone, or of the stack where there is no red zone. A fault in a store to a bad
   slot comes before anything else is written. The convention is the same on Windows, where its functions have the attribute
   GC_EMITTED in C.

   The code is position-independent: the buffer may be a writable alias of executable memory. The host makes memory
   executable. Every address in the code is a 64-bit immediate aligned to 8 bytes, so that gc_barrier_patch replaces it
   by one store, even while threads run the code. For a change to another barrier threads must be stopped. */
#pragma once

#include "forms.h"

/* Forms: a store, unless it is an assign or a copy; each may be checked. */
enum { GC_EMIT_STORE = 0, GC_EMIT_CHECKED = 1, GC_EMIT_ASSIGN = 2, GC_EMIT_COPY = 4 };

#define GC_EMIT_BYTES_MAX 384 /* no barrier in any form is longer */

/* The emitted code, and where its immediates are. Owned by the host; needed to patch. */
typedef struct gc_barrier_code {
    uint32_t bytes;
    uint32_t
        clobbers; /* bit n: register n of the machine's numbering, rax = 0, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8.. */
    uint32_t patches;
    struct {
        uint16_t at;    /* offset of the immediate in the code */
        uint16_t field; /* offset in gc_barrier_tables of the field that the immediate holds */
    } patch[12];
} gc_barrier_code;

typedef struct gc__emitter {
    gc_barrier_code *code;
    const gc_barrier_tables *tables;
    uint8_t bytes[GC_EMIT_BYTES_MAX + 64];
    uint32_t at;
    int leaves_by_jump; /* exits jump to the end of the form, where execution continues, instead of returning */
    uint32_t exits[12], exit_count;
} gc__emitter;

enum {
    GC__RAX = 1,
    GC__RCX = 2,
    GC__RDX = 4,
    GC__RSI = 64,
    GC__RDI = 128,
    GC__R8 = 256,
    GC__R9 = 512,
    GC__R10 = 1024,
    GC__R11 = 2048
};
enum { GC__JB = 0x72, GC__JAE = 0x73, GC__JE = 0x74, GC__JNE = 0x75, GC__JA = 0x77 };

/* Appends instructions, and adds the registers that they change to e's clobbers. */
static inline void gc__emit(gc__emitter *e, unsigned clobbers, const char *bytes, size_t count) {
    memcpy(e->bytes + e->at, bytes, count);
    e->at += (uint32_t)count;
    e->code->clobbers |= clobbers;
}
#define GC__EMIT(e, clobbers, literal) gc__emit(e, clobbers, literal, sizeof(literal) - 1)

static inline void gc__emit_byte(gc__emitter *e, int byte) { e->bytes[e->at++] = (uint8_t)byte; }

static inline void gc__emit_32(gc__emitter *e, uint32_t value) {
    memcpy(e->bytes + e->at, &value, 4);
    e->at += 4;
}

/* Returns the number of bytes until the immediate of a movabs would be aligned. */
static inline unsigned gc__emit_gap(uint32_t at) { return (6 - at) & 7; }

/* Appends no-operations up to an aligned immediate. */
static inline void gc__emit_align(gc__emitter *e) {
    static const char nops[8][8] = {"",
                                    "\x90",
                                    "\x66\x90",
                                    "\x0F\x1F\x00",
                                    "\x0F\x1F\x40\x00",
                                    "\x0F\x1F\x44\x00\x00",
                                    "\x66\x0F\x1F\x44\x00\x00",
                                    "\x0F\x1F\x80\x00\x00\x00\x00"};
    unsigned gap = gc__emit_gap(e->at);
    gc__emit(e, 0, nops[gap], gap);
}

/* Emits movabs to rax or, if `r9`, to r9, of the value of the tables' field. */
static inline void gc__emit_load(gc__emitter *e, int r9, size_t field) {
    gc__emit_align(e);
    if (r9)
        GC__EMIT(e, GC__R9, "\x49\xB9");
    else
        GC__EMIT(e, GC__RAX, "\x48\xB8");
    e->code->patch[e->code->patches].at = (uint16_t)e->at;
    e->code->patch[e->code->patches++].field = (uint16_t)field;
    memcpy(e->bytes + e->at, (const char *)e->tables + field, 8);
    e->at += 8;
}
#define GC__EMIT_LOAD_RAX(e, member) gc__emit_load(e, 0, offsetof(gc_barrier_tables, member))
#define GC__EMIT_LOAD_R9(e, member) gc__emit_load(e, 1, offsetof(gc_barrier_tables, member))

/* Ends the barrier by `ret`, or by a jump that gc__emit_land completes. */
static inline void gc__emit_exit(gc__emitter *e) {
    if (e->leaves_by_jump) {
        gc__emit_byte(e, 0xE9);
        e->exits[e->exit_count++] = e->at;
        gc__emit_32(e, 0);
    } else {
        gc__emit_byte(e, 0xC3);
    }
}

static inline void gc__emit_land(gc__emitter *e) {
    for (uint32_t i = 0; i < e->exit_count; i++) {
        uint32_t distance = e->at - (e->exits[i] + 4);
        memcpy(e->bytes + e->exits[i], &distance, 4);
    }
    e->exit_count = 0;
}

/* Ends the barrier unless the condition holds. `aligned`: a load comes next, and the padding that it needs is put
   behind the return, where it costs nothing. A return that a branch jumps over is the two-byte `rep ret` unless that
   spoils the alignment, so that bit_region is the CLR's code byte for byte. */
static inline void gc__emit_unless(gc__emitter *e, int condition, int aligned) {
    uint32_t jump = e->at;
    gc__emit_byte(e, condition);
    gc__emit_byte(e, 0);
    if (!e->leaves_by_jump && (!aligned || gc__emit_gap(e->at + 1) >= 1)) gc__emit_byte(e, 0xF3);
    gc__emit_exit(e);
    if (aligned) gc__emit_align(e);
    e->bytes[jump + 1] = (uint8_t)(e->at - jump - 2);
}

/* Slots outside the heap need only the store. */
static inline void gc__emit_check(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, lowest);
    GC__EMIT(e, 0, "\x48\x39\xC7"); /* cmp rdi, rax */
    gc__emit_unless(e, GC__JAE, 1);
    GC__EMIT_LOAD_RAX(e, highest);
    GC__EMIT(e, 0, "\x48\x39\xC7");
    gc__emit_unless(e, GC__JB, 0);
}

static inline void gc__emit_watch(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, watch);
    GC__EMIT(e, GC__R9, "\x49\x89\xF9\x49\xC1\xE9"); /* mov r9, rdi; shr r9, .. */
    gc__emit_byte(e, GC_WATCH_SHIFT);
    GC__EMIT(e, 0,
             "\x41\x80\x3C\x01\x00\x75\x05\x41\xC6\x04\x01\xFF"); /* cmp byte [r9+rax], 0; jne; mov byte [r9+rax], -1 */
}

static inline void gc__emit_low(gc__emitter *e) {
    GC__EMIT_LOAD_R9(e, low);
    GC__EMIT(e, 0, "\x4C\x39\xCE"); /* cmp rsi, r9 */
    gc__emit_unless(e, GC__JAE, 1);
}

static inline void gc__emit_range(gc__emitter *e) {
    gc__emit_low(e);
    GC__EMIT_LOAD_R9(e, high);
    GC__EMIT(e, 0, "\x4C\x39\xCE");
}

/* Sets rdi to the slot's region, and rax to the age table. */
static inline void gc__emit_slot_region(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, age);
    GC__EMIT(e, GC__RDI, "\x48\xC1\xEF"); /* shr rdi, .. */
    gc__emit_byte(e, GC_REGION_SHIFT);
}

static inline void gc__emit_ref_region(gc__emitter *e) {
    GC__EMIT(e, GC__RSI, "\x48\xC1\xEE"); /* shr rsi, .. */
    gc__emit_byte(e, GC_REGION_SHIFT);
}

static inline void gc__emit_is_old(gc__emitter *e, int aligned) {
    gc__emit_slot_region(e);
    GC__EMIT(e, 0, "\x80\x3C\x07\x00"); /* cmp byte [rdi+rax], 0 */
    gc__emit_unless(e, GC__JNE, aligned);
}

static inline void gc__emit_region(gc__emitter *e) {
    gc__emit_is_old(e, 1);
    gc__emit_range(e);
    gc__emit_unless(e, GC__JB, 0);
    gc__emit_ref_region(e);
    GC__EMIT(e, GC__RDX, "\x8A\x14\x06\x3A\x14\x07"); /* mov dl, [rsi+rax]; cmp dl, [rdi+rax] */
    gc__emit_unless(e, GC__JB, 1);
}

/* Sets dl to age[slot] + youth[ref]. */
static inline void gc__emit_sum(gc__emitter *e) {
    gc__emit_slot_region(e);
    gc__emit_ref_region(e);
    GC__EMIT(e, GC__RDX, "\x8A\x14\x07\x02\x94\x06"); /* mov dl, [rdi+rax]; add dl, [rsi+rax-..] */
    gc__emit_32(e, (uint32_t)0 - (uint32_t)GC_RANK_ENTRIES);
}

static inline void gc__emit_filter(gc__emitter *e, int filter) {
    switch (filter) {
    case GC__FILTER_LOW:
        gc__emit_low(e);
        break;
    case GC__FILTER_RANGE:
        gc__emit_range(e);
        gc__emit_unless(e, GC__JB, 1);
        break;
    case GC__FILTER_REGION:
        gc__emit_region(e);
        break;
    case GC__FILTER_RANK:
        gc__emit_sum(e);
        GC__EMIT(e, 0, "\x80\xFA\x02"); /* cmp dl, 2 */
        gc__emit_unless(e, GC__JA, 1);
        break;
    case GC__FILTER_SUM:
        gc__emit_sum(e);
        break;
    case GC__FILTER_OLD:
        gc__emit_is_old(e, 0);
        break;
    default:
        break;
    }
}

static inline void gc__emit_shift_slot(gc__emitter *e, int shift) {
    GC__EMIT(e, GC__R8, "\x49\xC1\xE8"); /* shr r8, .. */
    gc__emit_byte(e, shift);
}

/* Sets dl to the bit of r8 >> shift within its byte. */
static inline void gc__emit_bit_index(gc__emitter *e, int shift) {
    GC__EMIT(e, GC__RCX, "\xC1\xE9"); /* shr ecx, .. */
    gc__emit_byte(e, shift);
    GC__EMIT(e, GC__RCX, "\x83\xE1\x07"); /* and ecx, 7 */
}

/* Writes the byte at [r8+rax]. */
static inline void gc__emit_write(gc__emitter *e) {
    GC__EMIT(e, 0, "\x41\xC6\x04\x00\xFF");
} /* mov byte [r8+rax], -1 */

static inline void gc__emit_set(gc__emitter *e, int aligned) {
    GC__EMIT(e, 0, "\x41\x80\x3C\x00\xFF"); /* cmp byte [r8+rax], -1 */
    gc__emit_unless(e, GC__JNE, aligned);
    gc__emit_write(e);
}

/* r8 is the slot >> GC_CARD_BYTE_SHIFT; afterwards [r8+rax] is its bundle. */
static inline void gc__emit_bundle_entry(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, bundles);
    gc__emit_shift_slot(e, GC_BUNDLE_SHIFT - GC_CARD_BYTE_SHIFT);
}

static inline void gc__emit_bundle(gc__emitter *e) {
    if (!GC_BUNDLE_SHIFT) return;
    gc__emit_bundle_entry(e);
    gc__emit_set(e, 0);
}

static inline void gc__emit_mark_byte(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, cards);
    gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
    gc__emit_set(e, 0);
    gc__emit_bundle(e);
}

/* Sets dl to the card's bit; [r8+rax] is its byte. */
static inline void gc__emit_card_bit(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, cards);
    GC__EMIT(e, GC__RCX, "\x44\x89\xC1"); /* mov ecx, r8d */
    gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
    gc__emit_bit_index(e, GC_CARD_BYTE_SHIFT - 3);
    GC__EMIT(e, GC__RDX, "\xB2\x01\xD2\xE2"); /* mov dl, 1; shl dl, cl */
}

static inline void gc__emit_mark_bit(gc__emitter *e) {
    gc__emit_card_bit(e);
    GC__EMIT(e, 0, "\x41\x84\x14\x00"); /* test [r8+rax], dl */
    gc__emit_unless(e, GC__JE, 0);
    GC__EMIT(e, 0, "\xF0\x41\x08\x14\x00"); /* lock or [r8+rax], dl */
    gc__emit_bundle(e);
}

static inline void gc__emit_mark_card(gc__emitter *e) {
    if (GC_CARD_BITS)
        gc__emit_mark_bit(e);
    else
        gc__emit_mark_byte(e);
}

static inline void gc__emit_mark_always(gc__emitter *e) {
    if (GC_CARD_BITS) {
        gc__emit_card_bit(e);
        GC__EMIT(e, 0, "\xF0\x41\x08\x14\x00");
    } else {
        GC__EMIT_LOAD_RAX(e, cards);
        gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
        gc__emit_write(e);
    }
    if (!GC_BUNDLE_SHIFT) return;
    gc__emit_bundle_entry(e);
    gc__emit_write(e);
}

static inline void gc__emit_mark_select(gc__emitter *e) {
    GC__EMIT(e, GC__R9, "\x4C\x8D\x0D\xFF\xFF\xFF\xFF"); /* lea r9, [rip-1]: its own last byte, which is 0xFF */
    GC__EMIT_LOAD_RAX(e, cards);
    if (GC_CARD_BITS) {
        GC__EMIT(e, GC__RCX, "\x44\x89\xC1"); /* mov ecx, r8d */
        gc__emit_bit_index(e, GC_CARD_BYTE_SHIFT - 3);
        GC__EMIT(e, GC__RSI, "\xBE\x01\x00\x00\x00\xD3\xE6"); /* mov esi, 1; shl esi, cl */
    }
    gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
    /* lea rdi, [r8+rax]; cmp dl, 3; cmovb rdi, r9: the card, or the byte 0xFF if the ranks need no card */
    GC__EMIT(e, GC__RDI, "\x49\x8D\x3C\x00\x80\xFA\x03\x49\x0F\x42\xF9");
    if (GC_CARD_BITS) {
        GC__EMIT(e, 0, "\x40\x84\x37"); /* test [rdi], sil */
        gc__emit_unless(e, GC__JE, 0);
        GC__EMIT(e, 0, "\xF0\x40\x08\x37"); /* lock or [rdi], sil */
    } else {
        GC__EMIT(e, 0, "\x80\x3F\xFF"); /* cmp byte [rdi], -1 */
        gc__emit_unless(e, GC__JNE, 0);
        GC__EMIT(e, 0, "\xC6\x07\xFF"); /* mov byte [rdi], -1 */
    }
    gc__emit_bundle(e);
}

static inline void gc__emit_mark_log(gc__emitter *e) {
    GC__EMIT(e, GC__RCX, "\x44\x89\xC1"); /* mov ecx, r8d */
    gc__emit_bit_index(e, 3);
    GC__EMIT(e, GC__RDX | GC__R9,
             "\xB2\x01\xD2\xE2\x4D\x89\xC1\x49\xC1\xE9\x06"); /* mov dl, 1; shl dl, cl; mov r9, r8; shr r9, 6 */
    GC__EMIT_LOAD_RAX(e, log_bits);
    GC__EMIT(e, 0, "\x41\x84\x14\x01"); /* test [r9+rax], dl */
    gc__emit_unless(e, GC__JE, 0);
    GC__EMIT(e, 0, "\xF0\x41\x08\x14\x01"); /* lock or [r9+rax], dl */
    GC__EMIT_LOAD_RAX(e, log);
    GC__EMIT(e, GC__RCX, "\xB9\x08\x00\x00\x00\xF0\x48\x0F\xC1\x08"); /* mov ecx, 8; lock xadd [rax], rcx */
    GC__EMIT(e, 0, "\x48\x3B\x48\x08\x73\x00");                       /* cmp rcx, [rax+8]; jae */
    uint32_t full = e->at;
    GC__EMIT(e, 0, "\x4C\x89\x01"); /* mov [rcx], r8 */
    gc__emit_exit(e);
    e->bytes[full - 1] = (uint8_t)(e->at - full);
    gc__emit_mark_card(e);
}

/* Emits the store and everything after it, up to the exit. */
static inline void gc__emit_body(gc__emitter *e, gc__barrier_parts parts, unsigned form) {
    GC__EMIT(e, 0, "\x48\x89\x37"); /* mov [rdi], rsi */
    if (parts.mark == GC__MARK_NOTHING) return;
    if (form & GC_EMIT_CHECKED) gc__emit_check(e);
    GC__EMIT(e, GC__R8, "\x49\x89\xF8"); /* mov r8, rdi */
    if (parts.watch) gc__emit_watch(e);
    gc__emit_filter(e, parts.filter);
    switch (parts.mark) {
    case GC__MARK_CARD:
        gc__emit_mark_card(e);
        break;
    case GC__MARK_BYTE:
        gc__emit_mark_byte(e);
        break;
    case GC__MARK_BIT:
        gc__emit_mark_bit(e);
        break;
    case GC__MARK_ALWAYS:
        gc__emit_mark_always(e);
        break;
    case GC__MARK_SELECT:
        gc__emit_mark_select(e);
        break;
    default:
        gc__emit_mark_log(e);
        break;
    }
}

static inline void gc__emit_assign(gc__emitter *e, gc__barrier_parts parts, unsigned form) {
    GC__EMIT(e, GC__R10 | GC__R11 | GC__RSI,
             "\x4C\x8D\x57\x08\x4C\x8D\x5E\x08\x48\x8B\x36"); /* lea r10, [rdi+8]; lea r11, [rsi+8]; mov rsi, [rsi] */
    gc__emit_body(e, parts, form);
    gc__emit_land(e);
    GC__EMIT(e, GC__RDI | GC__RSI, "\x4C\x89\xD7\x4C\x89\xDE\xC3"); /* mov rdi, r10; mov rsi, r11; ret */
}

/* Emits a loop upwards or downwards: r10 = slot, r11 = source - destination, [rsp-8] = the end, [rsp-16] = 8 or -8; or at
   [rsp+16] and [rsp+8], once 24 bytes are reserved. */
static inline void gc__emit_copy(gc__emitter *e, gc__barrier_parts parts, unsigned form) {
    GC__EMIT(e, GC__R10 | GC__R11 | GC__RCX | GC__RDX | GC__RAX | GC__RDI | GC__RSI,
             "\x48\x85\xD2\x75\x01\xC3"                 /* test rdx, rdx; jne; ret */
             "\x49\x89\xFA\x49\x89\xF3\x49\x29\xFB"     /* mov r10, rdi; mov r11, rsi; sub r11, rdi */
             "\x48\x8D\x0C\xD7\x48\xC1\xE2\x03"         /* lea rcx, [rdi+rdx*8]; shl rdx, 3 */
             "\x48\x89\xF8\x48\x29\xF0"                 /* mov rax, rdi; sub rax, rsi */
             "\x48\x39\xD0\xBA\x08\x00\x00\x00\x73\x0C" /* cmp rax, rdx; mov edx, 8; jae */
             "\x4C\x8D\x51\xF8\x48\x8D\x4F\xF8"         /* lea r10, [rcx-8]; lea rcx, [rdi-8] */
             "\x48\xF7\xDA\x90" /* neg rdx; nop */);
    if (!GC__HAS_RED_ZONE) GC__EMIT(e, 0, "\x48\x83\xEC\x18"); /* sub rsp, 24 */
    GC__EMIT(e, 0, "\x48\x89\x4C\x24");                        /* mov [rsp-8], rcx */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -8 : 16);
    GC__EMIT(e, 0, "\x48\x89\x54\x24"); /* mov [rsp-16], rdx */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -16 : 8);
    uint32_t loop = e->at;
    GC__EMIT(e, 0, "\x4C\x89\xD7\x4B\x8B\x34\x1A"); /* mov rdi, r10; mov rsi, [r10+r11] */
    gc__emit_body(e, parts, form);
    gc__emit_land(e);
    GC__EMIT(e, 0, "\x4C\x03\x54\x24"); /* add r10, [rsp-16] */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -16 : 8);
    GC__EMIT(e, 0, "\x4C\x3B\x54\x24"); /* cmp r10, [rsp-8]; jne */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -8 : 16);
    GC__EMIT(e, 0, "\x0F\x85");
    gc__emit_32(e, loop - (e->at + 4));
    if (!GC__HAS_RED_ZONE) GC__EMIT(e, 0, "\x48\x83\xC4\x18"); /* add rsp, 24 */
    GC__EMIT(e, 0, "\xC3");
}

void gc__emit_declined(void)
    __attribute__((error("gc.h: gc_barrier_emit has no machine code for this processor: call gc_barrier_functions_of")));

/* Writes the barrier in that form, with the tables' present values, into `buffer`, which must be aligned to 8 bytes.
   Returns the number of bytes, and fills *code; 0 if the buffer is too short or not aligned (code->bytes is then the
   length that it must have; GC_EMIT_BYTES_MAX is always enough). Processors without it have GC_HAS_EMIT 0. [any
   thread; never collects; 0] */
static inline size_t gc_barrier_emit(gc_barrier_code *code, void *buffer, size_t bytes, gc_barrier barrier,
                                     unsigned form, const gc_barrier_tables *tables) {
    gc__emitter e;
    if (!GC_HAS_EMIT) gc__emit_declined();
    memset(&e, 0, sizeof e);
    memset(code, 0, sizeof *code);
    if ((unsigned)barrier >= GC_BARRIER_COUNT) return 0;
    e.code = code;
    e.tables = tables;
    e.leaves_by_jump = form & (GC_EMIT_ASSIGN | GC_EMIT_COPY) ? 1 : 0;
    if (form & GC_EMIT_COPY) {
        gc__emit_copy(&e, gc__barrier_parts_of(barrier), form);
    } else if (form & GC_EMIT_ASSIGN) {
        gc__emit_assign(&e, gc__barrier_parts_of(barrier), form);
    } else {
        gc__emit_body(&e, gc__barrier_parts_of(barrier), form);
        gc__emit_exit(&e);
    }
    code->bytes = e.at;
    if (e.at > bytes || ((uintptr_t)buffer & 7)) return 0;
    memcpy(buffer, e.bytes, e.at);
    return e.at;
}

/* Makes emitted code use the tables' present values. New tables are published before new bounds: a thread that runs the
   code at the same time sees old bounds with old or new tables, both of which are right. `buffer`: where the code is,
   or a writable alias of it. No instruction needs flushing on x86-64, since each immediate changes by one aligned
   store. [any thread; never collects; cannot fail] */
static inline void gc_barrier_patch(const gc_barrier_code *code, void *buffer, const gc_barrier_tables *tables) {
    for (int bounds = 0; bounds < 2; bounds++)
        for (uint32_t i = 0; i < code->patches; i++) {
            size_t field = code->patch[i].field;
            if ((field >= offsetof(gc_barrier_tables, low)) != bounds) continue;
            uint64_t value;
            memcpy(&value, (const char *)tables + field, 8);
            __atomic_store_n((uint64_t __attribute__((may_alias)) *)(void *)((char *)buffer + code->patch[i].at), value,
                             __ATOMIC_RELEASE);
        }
}
