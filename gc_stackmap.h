/* Generated from src/gc_stackmap.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_stackmap.h - stack maps for compiled code, and LLVM's; a companion of gc.h, which it includes.

   In the .c file that defines GC_IMPLEMENTATION include this header after gc.h, or instead of it. */
#pragma once

#include "gc.h"

/* Stack maps: what a compiler says of one method's code, so that a collection finds and updates the references in its
   frames, and unwinds them.

   A method is fully interruptible in ranges of its code, where a thread may be stopped at any instruction: the map lists
   which slot becomes live or dead at which offset. Elsewhere it is partially interruptible: the map has a safe point for
   each call, which is known by its return address, with the set of slots that are live after the call.

   Offsets are bytes from the start of the code. Registers have the machine's numbers: rax = 0, rcx, rdx, rbx, rsp, rbp, rsi,
   rdi, r8 .. r15 = 15. Preserved registers are rbx, rbp, r12 to r15, as in the System V calling convention; the others are
   scratch, and are reported of the innermost frame only. The CFA of a frame is the stack pointer of its caller before the
   call pushed the return address. Source: the CLR's GC info, version 2, and what `!gcinfo` shows of it. */


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
    const uint64_t *live; /* bit i: slots[i] is live after the call; (slot_count + 63) / 64 words */
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
    GC_UNWIND_LEAVE,    /* stack pointer = rbp - bytes of GC_UNWIND_FRAME: as it was then */
    GC_UNWIND_BODY      /* nothing; a return or jump has ended an epilog: the frame is as at the end of the prolog */
} gc_unwind_op;

typedef struct gc_stackmap_unwind {
    uint32_t offset; /* that of the next instruction; several may have the same one, and act in their order */
    uint8_t op;      /* gc_unwind_op */
    uint8_t number;
    int32_t bytes;
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
/* Slot i of a map, i < slot_count; the encoder may have sorted the slots. [any thread, also in signal handlers; never
   collects; cannot fail] */
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
/* Compiled code: the registry of code ranges with their stack maps, calls between native and compiled code, walking the
   frames of compiled code, and stopping threads in it.

   A host registers each method's code (gc_code_add), or a module that LLVM compiled (gc_code_add_llvm). Compiled code calls
   native code that may collect through gc_code_call_native, which leaves a gc_code_frame: the pc and the registers of the
   compiled caller. From there a collection walks frame by frame, until it comes to a return address in no registered code.
   That is the native code which called the compiled code, and what native frames hold is in GC_ROOTS; the walk goes on at
   the previous gc_code_frame.

   Calling, walking and interrupting are for x86-64. */


typedef struct gc_code gc_code;
typedef struct gc_code_cursor gc_code_cursor;

/* A kind of tables: implemented by gc.h for its own maps and for LLVM's, or by a host that has others. All of these may run
   in signal handlers: they must take no lock and no memory. */
typedef struct gc_code_format {
    const char *name;
    /* Reports, by gc_visit and gc_visit_derived, the live slots of the frame. NULL, or a sentence why it cannot. */
    const char *(*visit)(const gc_code_cursor *frame, gc_visitor *visitor);
    /* Moves the cursor to the caller's frame: sets pc, sp, kind, and the registers that this frame has saved. NULL, or a
       sentence why it cannot. */
    const char *(*unwind)(gc_code_cursor *frame);
    /* Whether the thread may be stopped at the frame's pc; 0: never. */
    bool (*is_interruptible)(const gc_code_cursor *frame);
    /* The gc_return_kind of rax, and that of rdx * 4, if the return address of a frame may be replaced; 0: it may not. */
    unsigned (*return_kinds)(const gc_code *code);
    /* Checks the tables of code that is being added. NULL, or a sentence that says what is wrong. 0: not checked. */
    const char *(*check)(const gc_code *code);
} gc_code_format;

/* A range of code. Owned by the host, for instance as the first member of its record of a method; it and its tables must
   stay as they are until gc_code_remove. */
struct gc_code {
    const void *start;
    size_t bytes;
    const void *map; /* of gc_stackmap_encode, or what `format` reads */
    size_t map_bytes;
    const gc_code_format *format; /* NULL: gc_stackmap_encode's */
    const char *name;             /* for reports; may be NULL */
    void *host;
};

/* Registers code, checking its map first. Refuses, with GC_ERROR_FORMAT, a malformed map, one of another size than the code,
   and code that overlaps registered code. [any thread; never collects; GC_ERROR_FORMAT, GC_ERROR_MEMORY] */
GC_API gc_result gc_code_add(const gc_code *code);
/* Ends what gc_code_add of the same record began. No frame of that code may be on any stack. [any thread; never collects;
   GC_ERROR_MISUSE: it is not registered] */
GC_API gc_result gc_code_remove(const gc_code *code);
/* The registered code that covers the address; NULL: none does. Takes no lock. [any thread, also in signal handlers; never
   collects; NULL: none] */
GC_API const gc_code *gc_code_find(const void *pc);
/* The number of registered ranges. [any thread; never collects; cannot fail] */
GC_API size_t gc_code_count(void);

/* Registers the functions of modules that LLVM compiled: `section` is the contents of .llvm_stackmaps, relocated; several
   sections may follow one another. It must stay until it is removed. Refuses what is malformed, and names it. NULL on
   failure. [any thread; never collects; NULL: GC_ERROR_FORMAT, GC_ERROR_MEMORY] */
typedef struct gc_llvm_module gc_llvm_module;
GC_API gc_llvm_module *gc_code_add_llvm(const void *section, size_t bytes);
/* Ends what gc_code_add_llvm began; NULL is allowed. [any thread; never collects; cannot fail] */
GC_API void gc_code_remove_llvm(gc_llvm_module *module);

/* Where compiled code was left: by a call to native code, by a replaced return address, or by an interrupt. It lies on the
   stack of the thread, which links it; innermost first. */
typedef struct gc_code_frame {
    struct gc_code_frame *previous;
    uintptr_t pc;                           /* the return address, or the next instruction */
    uintptr_t registers[GC_CODE_REGISTERS]; /* of the compiled code there; a collection may update them. [4] is its sp */
    uint32_t known;                         /* bit i: registers[i] is valid */
    uint16_t kind;                          /* gc_frame_kind */
    uint16_t results; /* what a call has just returned: gc_return_kind of rax, and that of rdx * 4 */
} gc_code_frame;

/* Called by compiled code, not by C: calls a native function that may collect. r10 = the gc_thread, r11 = the function; its
   arguments are in registers (up to six integers, eight vectors), not on the stack. Saves the compiled code's preserved
   registers in a gc_code_frame, which the thread has until the function returns; polls then. The second form is for functions
   that return a reference in rax, which stays a root meanwhile. The call is a safe point of the compiled code. [compiled
   code, cooperative; may collect; cannot fail] */
GC__EXTERN GC__VISIBLE void gc_code_call_native(void);
GC__EXTERN GC__VISIBLE void gc_code_call_native_ref(void);

/* Calls compiled code: loads the first six of `arguments` into the integer registers of the System V convention, and
   `thread` into r15. Returns rax. Compiled code may be called without it as well, by a pointer to a function. [cooperative;
   may collect; cannot fail] */
GC_API uintptr_t gc_code_call(gc_thread *thread, const void *start, const uintptr_t *arguments, size_t count);

/* A symbol for compiled code to call: NAME calls the C function FUNCTION through gc_code_call_native (or _ref), with the
   first argument, which must be the gc_thread, as r10. */
#define GC_CODE_EXPORT(NAME, FUNCTION) GC__CODE_EXPORT(NAME, FUNCTION, "gc_code_call_native")
#define GC_CODE_EXPORT_REF(NAME, FUNCTION) GC__CODE_EXPORT(NAME, FUNCTION, "gc_code_call_native_ref")

/* Keeps the chain of frames right across a longjmp or a throw out of native code over compiled frames: take the mark before,
   restore it afterwards, as with gc_frames_mark. Before anything else than gc.h reads return addresses off the stack (an
   unwinder, a throw), gc_code_release puts back one that an interrupt has replaced. [its own thread, cooperative; never
   collects; cannot fail] */
static inline gc_code_frame *gc_code_mark(const gc_thread *thread) { return thread->code; }
GC_API void gc_code_restore(gc_thread *thread, gc_code_frame *mark);
GC_API void gc_code_release(gc_thread *thread);

/* One frame of compiled code in a walk. */
struct gc_code_cursor {
    const gc_code *code; /* NULL: the walk has ended */
    uintptr_t pc;
    uintptr_t sp;                             /* of this frame's code: after the return, if it was left by a call */
    uintptr_t cfa;                            /* sp of the caller before the call; valid after gc_code_next */
    uintptr_t *registers[GC_CODE_REGISTERS]; /* where this frame's value of each register is now; NULL: it is not known */
    gc_frame_kind kind;
    gc_code_frame *from;  /* the record at which this run of frames began */
    gc_thread *thread;
};

/* Walks the compiled frames of a thread that is the caller's own, or is stopped; innermost first:
       for (gc_code_cursor frame = gc_code_first(thread); frame.code; gc_code_next(&frame)) ...
   Tables that contradict the stack end the program with a message that names the frame. [its own thread, or the world is
   stopped; never collects; cannot fail] */
GC_API gc_code_cursor gc_code_first(gc_thread *thread);
GC_API void gc_code_next(gc_code_cursor *frame);
/* Calls gc_visit for the live slots of the frame at the cursor. Collections do so by themselves. [its own thread, or the
   world is stopped; never collects; cannot fail] */
GC_API void gc_code_visit(const gc_code_cursor *frame, gc_visitor *visitor);

/* Sets whether a collection may stop the calling thread within compiled code, by a signal (GC_CODE_SIGNAL): at once where the
   code is fully interruptible, else when its innermost compiled method returns, whose return address is replaced. Otherwise,
   and in native code, the thread must poll. The handler runs on the thread's own stack, which needs 16 KiB of room.
   GC_ERROR_MISUSE: another processor, or the signal cannot be handled. [its own thread; never collects; GC_ERROR_MISUSE] */
GC_API gc_result gc_thread_set_interruptible(gc_thread *thread, bool interruptible);

#ifdef GC_IMPLEMENTATION
/* Streams of bits. */

/* Reading stack maps. */

/* Where a frame's saved registers and its caller are: the unwind rows of a stack map. */


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
/* What makes a stack map whole. */

/* Writing stack maps. */

/* Code ranges by address. */

/* Walking frames of compiled code. */

/* The stack maps of LLVM. */

/* Calls between native and compiled code. */

/* Stopping threads in compiled code. */

/* Stack maps as text. */

#endif
