/* Stack maps: what a compiler says of one method's code, so that a collection finds and updates the references in its
   frames, and unwinds them.

   A method is fully interruptible in ranges of its code, where a thread may be stopped at any instruction: the map lists
   which slot becomes live or dead at which offset. Elsewhere it is partially interruptible: the map has a safe point for
   each call, which is known by its return address, with the set of slots that are live after the call.

   Offsets are bytes from the start of the code. Registers have the machine's numbers: rax = 0, rcx, rdx, rbx, rsp, rbp, rsi,
   rdi, r8 .. r15 = 15. Preserved registers are rbx, rbp, r12 to r15, as in the System V calling convention; the others are
   scratch, and are reported of the innermost frame only. The CFA of a frame is the stack pointer of its caller before the
   call pushed the return address. Source: the CLR's GC info, version 2, and what `!gcinfo` shows of it. */
#pragma once

#include "config.h"

#define GC_STACKMAP_VERSION 1
#define GC_CODE_REGISTERS 16
#define GC_NO_REGISTER 0xFF

/* Where a slot is. */
typedef enum gc_stackmap_place {
    GC_PLACE_REGISTER, /* in register `number` */
    GC_PLACE_CFA,      /* in memory, at CFA + offset: negative for the frame's own, 0 and above for stack arguments */
    GC_PLACE_SP,       /* at the stack pointer + offset */
    GC_PLACE_FRAME     /* at the frame pointer, rbp, + offset */
} gc_stackmap_place;

typedef struct gc_stackmap_slot {
    uint8_t place;     /* gc_stackmap_place */
    uint8_t number;    /* of the register */
    uint8_t flags;     /* GC_SLOT_INTERIOR, GC_SLOT_PINNED, GC_SLOT_VALUE */
    uint8_t untracked; /* 1: on the stack, and live wherever the frame is reported; no safe point or change names it */
    int32_t offset;    /* a multiple of 8 */
} gc_stackmap_slot;

/* A call that may collect, or at the end of which the thread may be stopped. */
typedef struct gc_stackmap_point {
    uint32_t offset;      /* the return address's: that of the instruction after the call */
    const uint64_t *live; /* bit i: slots[i] is live after the call; (slot_count + 63) / 64 words; NULL: none is */
} gc_stackmap_point;

/* Code that is fully interruptible, [start, end). */
typedef struct gc_stackmap_range {
    uint32_t start, end;
} gc_stackmap_range;

/* From the instruction at `offset` on the slot is live, or dead. A slot is dead at the start of each range. */
typedef struct gc_stackmap_change {
    uint32_t offset; /* in a range, or the end of one, where changes have no effect */
    uint32_t slot;
    bool live;
} gc_stackmap_change;

/* What one instruction does to the frame. */
typedef enum gc_unwind_op {
    GC_UNWIND_PUSH,     /* pushes register `number`, saving it, or with GC_NO_REGISTER anything else */
    GC_UNWIND_POP,      /* the reverse */
    GC_UNWIND_ALLOCATE, /* subtracts `bytes` from the stack pointer; negative: adds */
    GC_UNWIND_SAVE,     /* saves register `number` at the stack pointer + bytes */
    GC_UNWIND_FRAME,    /* rbp = stack pointer + bytes: from now on the frame is found by rbp */
    GC_UNWIND_LEAVE,    /* stack pointer = rbp - bytes; from now on the frame is found by the stack pointer */
    GC_UNWIND_RESTORE,  /* loads register `number` from where it was saved: it has its caller's value again */
    GC_UNWIND_BODY      /* nothing; a return or jump has ended an epilog: the frame is as at the end of the prolog */
} gc_unwind_op;

typedef struct gc_stackmap_unwind {
    uint32_t offset; /* that of the next instruction; several may have the same one, and act in their order */
    uint8_t op;      /* gc_unwind_op */
    uint8_t number; /* of PUSH, POP, SAVE, RESTORE */
    int32_t bytes;  /* of ALLOCATE, SAVE, FRAME, LEAVE: a multiple of 8 */
} gc_stackmap_unwind;

typedef enum gc_return_kind { GC_RETURN_SCALAR, GC_RETURN_OBJECT, GC_RETURN_INTERIOR, GC_RETURN_VALUE } gc_return_kind;

/* Facts that a collection does not use, but debuggers and the dump do: those of the CLR's header. */
enum {
    GC_METHOD_VARARGS = 1,
    GC_METHOD_REPORT_LEAF_ONLY = 2, /* the frame reports nothing unless it is the innermost: a filter or funclet */
    GC_METHOD_HANDLERS = 4,         /* has exception handlers */
    GC_METHOD_DYNAMIC_STACK = 8,    /* allocates stack of variable size: needs a frame pointer */
    GC_METHOD_SECURITY_OBJECT = 16, /* these five have an offset from the CFA, in gc_stackmap_method.extra */
    GC_METHOD_STACK_GUARD = 32,
    GC_METHOD_PREVIOUS_FRAME = 64,
    GC_METHOD_GENERICS_CONTEXT = 128,
    GC_METHOD_REVERSE_CALL = 256,
    GC_METHOD_EDIT_AND_CONTINUE = 512 /* extra[5]: the bytes of its area */
};

/* One method, uncompressed: what gc_stackmap_encode takes. All zero but code_bytes: a leaf without a frame of its own.
   Everything in it is the caller's, and is read during the call only. */
typedef struct gc_stackmap_method {
    uint32_t code_bytes;
    uint32_t prolog_bytes;   /* unwind rows up to this offset are the prolog's */
    uint32_t outgoing_bytes; /* slots at SP + 0 up to here are arguments of calls: reported of the innermost frame only */
    uint32_t argument_bytes; /* of its own, on the stack */
    uint16_t flags;          /* GC_METHOD_* */
    uint8_t returns[2];      /* gc_return_kind of rax and of rdx */
    int32_t extra[6];        /* by flags: security object, stack guard, previous frame, generics context, reverse call; and
                                the edit-and-continue area */
    const gc_stackmap_slot *slots;
    uint32_t slot_count;
    uint32_t point_count;
    const gc_stackmap_point *points; /* ascending */
    const gc_stackmap_range *ranges; /* ascending, disjoint */
    uint32_t range_count;
    uint32_t change_count;
    const gc_stackmap_change *changes; /* ascending */
    const gc_stackmap_unwind *unwind;  /* ascending */
    uint32_t unwind_count;
} gc_stackmap_method;

/* Writes the method's stack map to `map`, which has `room` bytes, and returns its bytes. If they are more than `room`,
   nothing was written: so room 0 asks for the size. Returns 0 if the description is wrong; gc_last_message names the row and
   the reason. A safe point in an interruptible range must agree with it, and is left out. [any thread; never collects; 0:
   GC_ERROR_FORMAT, GC_ERROR_MEMORY] */
GC_API size_t gc_stackmap_encode(const gc_stackmap_method *method, void *map, size_t room);

/* Checks a map from anywhere. Returns NULL if it is whole, of this version and processor, and consistent; otherwise a
   sentence that says what is malformed, at which bit. Other functions take only maps that have passed. [any thread; never
   collects; cannot fail] */
GC_API const char *gc_stackmap_check(const void *map, size_t bytes);

/* What a map says of a method as a whole. */
typedef struct gc_stackmap_facts {
    uint32_t bytes; /* of the map */
    uint32_t code_bytes, prolog_bytes, outgoing_bytes, argument_bytes;
    uint16_t flags;
    uint8_t returns[2];
    int32_t extra[6];
    uint32_t slot_count, untracked_count, point_count, range_count, change_count, unwind_count;
} gc_stackmap_facts;

/* Reads the facts of a map. [any thread, also in signal handlers; never collects; cannot fail] */
GC_API gc_stackmap_facts gc_stackmap_read(const void *map);
/* Slot i of a map, i < slot_count: the encoder has sorted the slots, and left out those that are never live. [any thread, also
   in signal handlers; never collects; cannot fail] */
GC_API gc_stackmap_slot gc_stackmap_slot_at(const void *map, uint32_t i);

/* How a frame was left. */
typedef enum gc_frame_kind {
    GC_FRAME_CALLER,     /* by a call: pc is the return address */
    GC_FRAME_INTERRUPTED /* pc is the next instruction, before which the thread was stopped: all registers are known */
} gc_frame_kind;

/* Stores which slots are live in a frame whose pc is at `offset` to `live`, (slot_count + 63) / 64 words; bit i is that of
   gc_stackmap_slot_at(i), and untracked slots are live. False: that is no place where the thread may be stopped, and nothing
   was stored. [any thread, also in signal handlers; never collects; false: no safe point] */
GC_API bool gc_stackmap_live(const void *map, uint32_t offset, gc_frame_kind kind, uint64_t *live);
/* Whether a thread may be stopped before the instruction at `offset`. [any thread, also in signal handlers; never collects;
   cannot fail] */
GC_API bool gc_stackmap_is_interruptible(const void *map, uint32_t offset);
