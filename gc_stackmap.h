/* Generated from src/gc_stackmap.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_stackmap.h - stack maps for compiled code, and LLVM's; a companion of gc.h, which it includes.

   In the .c file that defines GC_IMPLEMENTATION include this header after gc.h, or instead of it. */
#pragma once

#include "gc.h"

GC__STYLE_BEGIN

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
typedef struct gc_dump gc_dump;

/* A kind of tables: implemented by gc.h for its own maps and for LLVM's, or by a host that has others. All of these may run
   in signal handlers: they must take no lock and no memory. */
typedef struct gc_code_format {
    const char *name;
    /* Reports, by gc_visit and gc_visit_derived, the live slots of the frame. NULL, or a sentence why it cannot. */
    const char *(*visit)(const gc_code_cursor *frame, gc_visitor *visitor);
    /* Says where the frame ends: sets its cfa, below which is the return address, and in `saved`, which is zeroed, where it
       has saved its caller's registers. Called when a walk has come to the frame. NULL, or a sentence why it cannot. */
    const char *(*layout)(gc_code_cursor *frame);
    /* Whether the thread may be stopped at the frame's pc, or after the call in it if its kind is GC_FRAME_CALLER; 0: never. */
    bool (*is_interruptible)(const gc_code_cursor *frame);
    /* The gc_return_kind of rax, and that of rdx * 4. 0: return addresses may not be replaced. If this or is_interruptible
       is not 0, `layout` must be right at every instruction of the code. */
    unsigned (*return_kinds)(const gc_code *code);
    /* Checks the tables of code that is being added. NULL, or a sentence that says what is wrong. 0: not checked. */
    const char *(*check)(const gc_code *code);
    /* Prints the tables, by gc_dump_fact, gc_dump_row and gc_dump_text. 0: they cannot be printed. */
    void (*dump)(const gc_code *code, gc_dump *dump);
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

/* Registers the functions of modules that LLVM compiled for x86-64: `section` is the contents of .llvm_stackmaps, relocated;
   several sections may follow one another. It is not read afterwards. Refuses what is malformed, and names it. flags: 0 or
   GC_LLVM_FRAMES_BY_SIZE. [any thread; never collects; NULL: GC_ERROR_FORMAT, GC_ERROR_MEMORY, GC_ERROR_OPTION] */
typedef struct gc_llvm_module gc_llvm_module;
GC_API gc_llvm_module *gc_code_add_llvm(const void *section, size_t bytes, unsigned flags);
enum {
    /* The functions need no frame pointers, for frames are unwound by the stack sizes in the section. These are wrong during
       calls with arguments on the stack, unless the code was compiled with llc's -no-x86-call-frame-opt. */
    GC_LLVM_FRAMES_BY_SIZE = 1
};
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
   that return a reference in rax, which stays a root meanwhile. The call is a safe point of the compiled code. With GC_DEBUG
   a wrong thread ends the program with a message. [compiled code, cooperative; may collect; cannot fail] */
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
/* The stub is found through the GOT, since a PLT would overwrite r11. */
#define GC__CODE_EXPORT(NAME, FUNCTION, STUB)                                                                \
    GC__STATIC_ASSERT(GC__IS_X86_64, "GC_CODE_EXPORT: compiled code calls native code by stubs on x86-64 only");  \
    GC__EXTERN GC__INTERNAL void (*const gc__code_target_##NAME)(void);                                        \
    __attribute__((used)) void (*const gc__code_target_##NAME)(void) = (void (*)(void))(FUNCTION);           \
    GC__EXTERN __attribute__((naked, noinline, no_instrument_function)) void NAME(void);                     \
    void NAME(void) {                                                                                        \
        __asm__("{movq %%rdi, %%r10|mov r10, rdi}\n\t"                                                       \
                "{movq gc__code_target_" #NAME "(%%rip), %%r11|mov r11, gc__code_target_" #NAME "[rip]}\n\t" \
                "{jmp *" STUB "@GOTPCREL(%%rip)|jmp qword ptr " STUB "@GOTPCREL[rip]}" ::                    \
                    : "memory");                                                                             \
    }                                                                                                        \
    GC__STATIC_ASSERT(1, "takes the semicolon")

/* Keeps the chain of frames right across a longjmp or a throw out of native code over compiled frames: take the mark before,
   restore it afterwards, as with gc_frames_mark. Before anything else than gc.h reads return addresses off the stack (an
   unwinder, a throw), gc_code_release puts back one that an interrupt has replaced. [its own thread, cooperative; never
   collects; cannot fail] */
static inline gc_code_frame *gc_code_mark(const gc_thread *thread) { return thread->code; }
GC_API void gc_code_restore(gc_thread *thread, gc_code_frame *mark);
GC_API void gc_code_release(gc_thread *thread);

#define GC_SAVED_SOMEWHERE INT32_MIN

/* One frame of compiled code in a walk. */
struct gc_code_cursor {
    const gc_code *code; /* NULL: the walk has ended */
    uintptr_t pc;
    uintptr_t sp;                            /* of this frame's code: after the return, if it was left by a call */
    uintptr_t cfa;                           /* its caller's sp; the return address is at cfa - 8 */
    uintptr_t *registers[GC_CODE_REGISTERS]; /* where this frame's value of each register is now; NULL: it is not known */
    int32_t saved[GC_CODE_REGISTERS];        /* where its caller's value is: at cfa + this; 0: where this frame's is; or
                                                GC_SAVED_SOMEWHERE: it is not known */
    gc_frame_kind kind;
    bool innermost;      /* the first frame of its run */
    gc_code_frame *from; /* the record at which this run of frames began */
    uintptr_t end;       /* private: the run does not go beyond this address */
    struct gc__known_places *places; /* private, and so is the next: what is known of such frames */
    struct gc__known_place *known;
    gc_thread *thread;   /* NULL: the frame is on a stack on which no thread runs */
    gc_heap *heap;
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

/* The signal that interrupts compiled code. The handler that it had before is called for signals from elsewhere. */
#ifndef GC_CODE_SIGNAL
#define GC_CODE_SIGNAL SIGURG
#endif

/* Sets whether a collection may stop the calling thread within compiled code, by GC_CODE_SIGNAL: at once where the code is
   fully interruptible, else when the innermost method returns to compiled code, whose return address is replaced meanwhile.
   Native code polls. Meanwhile all compiled code that the thread runs must be that of the thread's heap. The handler needs
   16 KiB of the thread's stack. [its own thread; never collects; GC_ERROR_MISUSE: another processor, a shadow stack, the signal
   is blocked, or the thread is interruptible in another heap] */
GC_API gc_result gc_thread_set_interruptible(gc_thread *thread, bool interruptible);
/* Stack maps as text, for the authors of compilers: which slot becomes live or dead where, beside the code; and why a variable
   is not live at an offset, in sentences. A debugger can call these as well: call gc_code_dump($pc, stdout, 0).

   Offsets are hexadecimal. A row says what holds from the instruction at its offset on, so it stands before that instruction,
   after the call if it is one of a call. Slots are registers by name, [rsp+16], [rbp-8], [cfa-24]. Source: what !gcinfo and
   !u -gcinfo show of the CLR's GC info. */


/* Where a variable is: debug information, which stack maps do not have. A variable may have several, also at a time. */
typedef struct gc_code_variable {
    const char *name;
    gc_stackmap_slot slot; /* its flags are ignored */
    uint32_t start, end;   /* the code in which the variable is there: [start, end) */
} gc_code_variable;

/* A line to print before the instruction at the offset: for instance the source. */
typedef struct gc_code_note {
    uint32_t offset;
    const char *text;
} gc_code_note;

/* Writes the text of the instruction at `code` + offset to `text`, which has `room` bytes, ended by 0, and returns the bytes
   of the instruction. 0: there is none that it knows. Implemented by the host. */
typedef size_t (*gc_code_disassemble)(void *host, const void *code, uint32_t offset, char *text, size_t room);

/* What a dump shows. All zero, or NULL instead: header and pointer table. */
typedef struct gc_dump_options {
    bool no_header, no_encoding,
        no_unwinding; /* leaves out the header, the encoded bytes, the rows of pushes and pops */
    const void *code; /* the method's: it is printed, too, and the rows between its instructions. 0: the rows alone */
    uint64_t address; /* at which the code is said to be; 0: where it is */
    const void *mark; /* an address in the code: its instruction is marked by >>>; 0: none */
    gc_code_disassemble disassemble; /* 0: instructions are shown as bytes, from one boundary to the next */
    void *host;                      /* for disassemble */
    const uint32_t *boundaries;      /* offsets of instructions, ascending; used if there is no disassemble */
    uint32_t boundary_count;         /* 0: the code is cut where rows are */
    uint32_t note_count;
    const gc_code_note *notes; /* ascending */
    const gc_code_variable *variables;
    uint32_t variable_count;
} gc_dump_options;

/* Prints a map: its header and its pointer table, the table with the code if options->code is set. [any thread; never
   collects; cannot fail] */
GC_API void gc_stackmap_dump(const void *map, FILE *to, const gc_dump_options *options);

/* Says in sentences where the variable is at `offset`, whether it is live there, from where to where, and if it is not, why,
   and what to do. NULL instead of a name: which slots and variables are live there. The offset is that of an instruction before
   which a thread may be stopped, or of one after a call. False: options have no variable of this name. [any thread; never
   collects; false: an unknown name] */
GC_API bool gc_stackmap_explain(const void *map, uint32_t offset, const char *variable, FILE *to,
                                const gc_dump_options *options);

/* The same for the registered code that covers pc, or ends there; pc is marked in it. False: there is none, or no variable of
   this name. [any thread; never collects; false: no such code or variable] */
GC_API bool gc_code_dump(const void *pc, FILE *to, const gc_dump_options *options);
GC_API bool gc_code_explain(const void *pc, const char *variable, FILE *to, const gc_dump_options *options);

/* For gc_code_format.dump: adds a line to the header, "    name = value"; begins a row of the table, in the order of offsets,
   with its bytes in hexadecimal; adds text to the row. [any thread; never collects; cannot fail] */
GC_API void gc_dump_fact(gc_dump *dump, const char *name, const char *format, ...)
    __attribute__((GC__PRINTF(3, 4)));
GC_API void gc_dump_row(gc_dump *dump, uint32_t offset, const char *encoded);
GC_API void gc_dump_text(gc_dump *dump, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));

#ifdef GC_IMPLEMENTATION
#ifndef GC__FN
#error "gc.h was included before GC_IMPLEMENTATION was defined: define it before the first include of both headers"
#endif
/* Streams of bits, and ascending lists in them.

   The lowest bit of a byte comes first. A number of varying length, "base b", is written in groups of b + 1 bits, the low
   group first; the top bit of a group says that another group follows. A signed number n is written as 2n, or -2n - 1.

   An ascending list of n numbers from 0 to max takes little more than n * (2 + log2(max / n)) bits, and any of its numbers
   is found without those before it. The low_bits lowest bits of each number are stored side by side. The rest, `high`, is in
   a row of n ones and max >> low_bits zeros, in which the number i sets bit high + i. So the zeros count how far `high` has
   come, and the numbers with that `high` are the ones between two zeros. (Elias 1974, Fano 1971.) */


/* What may be read. Beyond its end it reads as zero. */
typedef struct gc__bits {
    const uint8_t *start;
    uint64_t bytes;
} gc__bits;

#define GC__BITS_AT_ONCE 56

GC__INLINED uint64_t gc__bits_mask(unsigned width) { return ((uint64_t)1 << width) - 1; }

GC__FN uint64_t gc__bits_load_end(const gc__bits *bits, uint64_t byte) {
    uint64_t word = 0;
    for (uint64_t i = byte; i < bits->bytes; i++) word |= (uint64_t)bits->start[i] << 8 * (i - byte);
    return word;
}

/* The 8 bytes from `byte` on. */
GC__INLINED uint64_t gc__bits_load_bytes(const gc__bits *bits, uint64_t byte) {
    uint64_t word;
    if (GC__UNLIKELY(byte + 8 > bits->bytes)) return gc__bits_load_end(bits, byte);
    memcpy(&word, bits->start + byte, 8);
    return GC__LITTLE(64, word);
}

/* At least 57 bits from `at` on. */
GC__INLINED uint64_t gc__bits_load(const gc__bits *bits, uint64_t at) {
    return gc__bits_load_bytes(bits, at >> 3) >> (at & 7);
}

/* The number in the `width` bits at `at`, width <= GC__BITS_AT_ONCE. */
GC__INLINED uint64_t gc__bits_at(const gc__bits *bits, uint64_t at, unsigned width) {
    return gc__bits_load(bits, at) & gc__bits_mask(width);
}

/* The same for width <= 64. */
GC__FN uint64_t gc__bits_word(const gc__bits *bits, uint64_t at, unsigned width) {
    if (width <= GC__BITS_AT_ONCE) return gc__bits_at(bits, at, width);
    return gc__bits_at(bits, at, 32) | gc__bits_at(bits, at + 32, width - 32) << 32;
}

/* How many bits a number below `count` takes. */
GC__FN unsigned gc__bits_for(uint64_t count) { return count > 1 ? 64 - (unsigned)__builtin_clzll(count - 1) : 0; }

/* In byte i of the result: how many ones the bytes 0 to i of the word have. */
GC__INLINED uint64_t gc__bits_sums(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return ((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101;
}

GC__FN unsigned gc__bits_count(uint64_t word) { return (unsigned)(gc__bits_sums(word) >> 56); }

/* The position of the n-th one of a word that has so many, n >= 1. */
GC__INLINED unsigned gc__bits_select(uint64_t word, uint64_t sums, uint64_t n) {
    /* The top bit of each byte whose sum is n or more: the n-th one is in the first such byte. */
    uint64_t reached = (sums + (128 - n) * 0x0101010101010101) & 0x8080808080808080;
    unsigned shift = (unsigned)__builtin_ctzll(reached) & 56;
    n -= sums << 8 >> shift & 255;
    for (word &= UINT64_MAX << shift; --n;) word &= word - 1;
    return (unsigned)__builtin_ctzll(word);
}

/* The position behind the n-th bit of the given value in [at, end), n >= 1; or `end`. */
GC__INLINED uint64_t gc__bits_skip(const gc__bits *bits, uint64_t at, uint64_t end, uint64_t n, bool value) {
    uint64_t flip = value ? 0 : UINT64_MAX, mask = UINT64_MAX << (at & 7);
    for (uint64_t byte = at >> 3; byte * 8 < end; byte += 8, mask = UINT64_MAX) {
        uint64_t word = (gc__bits_load_bytes(bits, byte) ^ flip) & mask, sums = gc__bits_sums(word);
        if (sums >> 56 >= n) {
            uint64_t found = byte * 8 + gc__bits_select(word, sums, n) + 1;
            return found < end ? found : end;
        }
        n -= sums >> 56;
    }
    return end;
}

/* How many ones there are from `at` on, up to a zero; or, without one, up to `end` at least. */
GC__INLINED uint64_t gc__bits_run(const gc__bits *bits, uint64_t at, uint64_t end) {
    for (uint64_t i = at;; i += GC__BITS_AT_ONCE) {
        uint64_t zeros = ~gc__bits_load(bits, i) & gc__bits_mask(GC__BITS_AT_ONCE);
        if (GC__LIKELY(zeros)) return i - at + (unsigned)__builtin_ctzll(zeros);
        if (i >= end) return i - at;
    }
}

/* Reading one thing after another. */
typedef struct gc__bit_reader {
    gc__bits bits;
    uint64_t at;
    uint64_t word;  /* the bits from `at` on, of which */
    unsigned ahead; /* so many were loaded */
    bool malformed; /* what was read cannot have been written so */
} gc__bit_reader;

GC__INLINED gc__bit_reader gc__bits_read_from(const gc__bits *bits, uint64_t at) {
    gc__bit_reader reader = {*bits, at, 0, 0, false};
    return reader;
}

GC__INLINED void gc__bits_need(gc__bit_reader *reader, unsigned width) {
    if (reader->ahead >= width) return;
    reader->word = gc__bits_load(&reader->bits, reader->at);
    reader->ahead = GC__BITS_AT_ONCE;
}

GC__INLINED void gc__bits_pass(gc__bit_reader *reader, unsigned width) {
    reader->word >>= width;
    reader->ahead -= width;
    reader->at += width;
}

GC__INLINED uint32_t gc__bits_read(gc__bit_reader *reader, unsigned width) {
    gc__bits_need(reader, width);
    uint32_t value = (uint32_t)(reader->word & gc__bits_mask(width));
    gc__bits_pass(reader, width);
    return value;
}

GC__FN uint32_t gc__bits_read_long(gc__bit_reader *reader, unsigned base) {
    uint64_t value = 0, group;
    unsigned shift = 0;
    do {
        group = gc__bits_read(reader, base + 1);
        value |= (group & gc__bits_mask(base)) << shift;
        shift += base;
    } while (group >> base && shift < 32);
    if (GC__LIKELY(value <= UINT32_MAX && !(group >> base))) return (uint32_t)value;
    reader->malformed = true;
    return 0;
}

/* Numbers of up to four groups are read in place, for a call would force the reader into memory. */
GC__INLINED uint32_t gc__bits_read_number(gc__bit_reader *reader, unsigned base) {
    uint64_t mask = gc__bits_mask(base);
    gc__bits_need(reader, 4 * (base + 1));
    uint64_t word = reader->word, value = word & mask;
    unsigned width = base + 1;
    if (word >> base & 1) {
        value |= word >> 1 & mask << base, width += base + 1;
        if (word >> (2 * base + 1) & 1) {
            value |= word >> 2 & mask << 2 * base, width += base + 1;
            if (word >> (3 * base + 2) & 1) {
                value |= word >> 3 & mask << 3 * base, width += base + 1;
                if (GC__UNLIKELY(word >> (4 * base + 3) & 1)) {
                    gc__bit_reader copy = *reader;
                    value = gc__bits_read_long(&copy, base);
                    *reader = copy;
                    return (uint32_t)value;
                }
            }
        }
    }
    gc__bits_pass(reader, width);
    return (uint32_t)value;
}

GC__INLINED int32_t gc__bits_read_signed(gc__bit_reader *reader, unsigned base) {
    uint32_t value = gc__bits_read_number(reader, base);
    return (int32_t)(value >> 1 ^ (0 - (value & 1)));
}

/* Writing. The memory must be zero before; without memory, the bits are only counted. */
typedef struct gc__bit_writer {
    uint8_t *start;
    uint64_t at;
} gc__bit_writer;

/* Width <= GC__BITS_AT_ONCE. */
GC__FN void gc__bits_write(gc__bit_writer *writer, uint64_t value, unsigned width) {
    if (writer->start) {
        value <<= writer->at & 7;
        for (uint8_t *byte = writer->start + (writer->at >> 3); value; value >>= 8) *byte++ |= (uint8_t)value;
    }
    writer->at += width;
}

GC__FN void gc__bits_write_number(gc__bit_writer *writer, uint32_t value, unsigned base) {
    for (; value >> base; value >>= base)
        gc__bits_write(writer, (value & gc__bits_mask(base)) | (uint64_t)1 << base, base + 1);
    gc__bits_write(writer, value, base + 1);
}

GC__FN void gc__bits_write_signed(gc__bit_writer *writer, int32_t value, unsigned base) {
    gc__bits_write_number(writer, (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0), base);
}

/* An ascending list, and where it is. */
typedef struct gc__ascending {
    uint64_t lows, highs, end; /* positions of bits; the highs reach up to `end` */
    uint32_t count, max;
    unsigned low_bits;
} gc__ascending;

GC__INLINED gc__ascending gc__ascending_place(uint64_t at, uint32_t count, uint32_t max) {
    gc__ascending list = {at, at, at, count, max, 0};
    if (!count) return list;
    if (max > count) {
        list.low_bits = (unsigned)(__builtin_clz(count) - __builtin_clz(max));
        list.low_bits -= (uint64_t)count << list.low_bits > max;
    }
    list.highs = at + (uint64_t)count * list.low_bits;
    list.end = list.highs + count + (max >> list.low_bits);
    return list;
}

GC__INLINED uint32_t gc__ascending_low(const gc__ascending *list, const gc__bits *bits, uint32_t i) {
    return (uint32_t)gc__bits_at(bits, list->lows + (uint64_t)i * list->low_bits, list->low_bits);
}

/* How many numbers of the list are below `value`. *is_next is set if the next one is `value`. */
GC__FN uint32_t gc__ascending_below(const gc__ascending *list, const gc__bits *bits, uint64_t value, bool *is_next) {
    *is_next = false;
    if (!list->count || value > list->max) return list->count;
    uint64_t high = value >> list->low_bits, from = list->highs, low = value & gc__bits_mask(list->low_bits);
    if (high) from = gc__bits_skip(bits, from, list->end, high, false);
    uint64_t first = from - list->highs - high, last = first + gc__bits_run(bits, from, list->end);
    if (last > list->count) last = list->count;
    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        uint32_t found = gc__ascending_low(list, bits, (uint32_t)middle);
        if (found == low) *is_next = true;
        if (found < low)
            first = middle + 1;
        else
            last = middle;
    }
    return first < list->count ? (uint32_t)first : list->count;
}

/* Number i of the list, i < count. */
GC__FN uint32_t gc__ascending_at(const gc__ascending *list, const gc__bits *bits, uint32_t i) {
    uint64_t high = gc__bits_skip(bits, list->highs, list->end, (uint64_t)i + 1, true) - 1 - list->highs - i;
    return (uint32_t)(high << list->low_bits | gc__ascending_low(list, bits, i));
}

/* Takes the numbers in turn: begin at the position list->highs. *at is then behind the one of number i. */
GC__FN uint32_t gc__ascending_next(const gc__ascending *list, const gc__bits *bits, uint32_t i, uint64_t *at) {
    *at = gc__bits_skip(bits, *at, list->end, 1, true);
    return (uint32_t)((*at - 1 - list->highs - i) << list->low_bits | gc__ascending_low(list, bits, i));
}

/* Writes number i of a list; the writer is then anywhere. */
GC__FN void gc__ascending_put(gc__bit_writer *writer, const gc__ascending *list, uint32_t i, uint32_t number) {
    writer->at = list->lows + (uint64_t)i * list->low_bits;
    gc__bits_write(writer, number & gc__bits_mask(list->low_bits), list->low_bits);
    writer->at = list->highs + (number >> list->low_bits) + i;
    gc__bits_write(writer, 1, 1);
}

GC__FN void gc__ascending_write(gc__bit_writer *writer, const uint32_t *numbers, uint32_t count, uint32_t max) {
    gc__ascending list = gc__ascending_place(writer->at, count, max);
    for (uint32_t i = 0; i < count; i++) gc__ascending_put(writer, &list, i, numbers[i]);
    writer->at = list.end;
}
/* Reading stack maps: the facts, the slots, and which of them are live. Everything here works in constant memory, takes no
   lock, and reads no more than it needs: it may run in signal handlers. The project's docs/stackmaps.md describes the format
   bit by bit. */


/* The first byte: the version, and the processor in its two top bits. */
#define GC__STACKMAP_PROCESSOR 0
#define GC__STACKMAP_FIRST_BYTE (GC_STACKMAP_VERSION | GC__STACKMAP_PROCESSOR << 6)
#define GC__STACKMAP_BYTES_MAX ((uint32_t)1 << 27)
#define GC__PRESERVED_REGISTERS 0xF028 /* rbx, rbp, r12 to r15 */
#define GC__STACK_POINTER 4
#define GC__FRAME_POINTER 5

/* The bases of the numbers of varying length. */
enum {
    GC__BASE_CODE = 4,   /* bytes of code */
    GC__BASE_POINTS = 2, /* the number of safe points */
    GC__BASE_SLOTS = 2,  /* the number of slots */
    GC__BASE_FEW = 1,    /* what is usually 0 or 1 */
    GC__BASE_MANY = 4,   /* rows of a table */
    GC__BASE_OFFSET = 5, /* of the first stack slot of a run, in words */
    GC__BASE_GAP = 1,    /* words between the stack slots of a run */
    GC__BASE_AREA = 3    /* the size of an area of the stack, in words */
};

/* Live sets are stored as changes to the set before, and after each GC__CHANGES_APART changes there is a whole set. */
#define GC__CHANGES_APART 32

typedef enum gc__live_sets { GC__SETS_DIRECT, GC__SETS_DISTINCT, GC__SETS_CHANGES } gc__live_sets;

/* Changes of slots from dead to live or back, each with the place at which it takes effect. */
typedef struct gc__changes {
    gc__ascending places;
    uint64_t slots, sets, end; /* positions of bits */
    uint32_t columns;          /* slots of a set */
    unsigned slot_bits;
} gc__changes;

/* A map that was opened: its header, and where everything is. */
typedef struct gc__stackmap {
    gc__bits bits;
    gc_stackmap_facts facts;
    bool malformed;         /* a number of the header was too large */
    uint32_t kept_count;    /* slots that a call preserves: they come first */
    uint32_t tracked_count; /* then those which are reported of the innermost frame only; then the untracked ones */
    gc__live_sets form;
    uint32_t distinct_count;
    gc__ascending points, ranges;       /* ranges: starts and ends in turn */
    uint64_t sets;                      /* live sets of the points, or numbers of distinct ones */
    uint64_t distinct;                  /* the distinct ones */
    gc__changes at_points, in_ranges;   /* at_points is valid only with GC__SETS_CHANGES */
    uint64_t unwind, slots, header_end; /* positions of the unwind rows, and of the slots; and where the header ends */
} gc__stackmap;

GC__INLINED gc__changes gc__changes_place(uint64_t at, uint32_t count, uint32_t max, uint32_t columns) {
    gc__changes changes;
    changes.places = gc__ascending_place(at, count, max);
    changes.columns = columns;
    changes.slot_bits = gc__bits_for(columns);
    changes.slots = changes.places.end;
    changes.sets = changes.slots + (uint64_t)count * changes.slot_bits;
    changes.end = changes.sets + (uint64_t)(count / GC__CHANGES_APART) * columns;
    return changes;
}

/* A number of rows: never more than there are bits, so that no position overflows. */
GC__INLINED uint32_t gc__stackmap_count(gc__bit_reader *reader, unsigned base) {
    uint32_t count = gc__bits_read_number(reader, base);
    if (GC__LIKELY(count <= reader->bits.bytes * 8)) return count;
    reader->malformed = true;
    return 0;
}

GC__INLINED uint32_t gc__stackmap_words(gc__bit_reader *reader) {
    uint32_t words = gc__bits_read_number(reader, GC__BASE_AREA);
    if (GC__LIKELY(words <= INT32_MAX / 8)) return words * 8;
    reader->malformed = true;
    return 0;
}

GC__INLINED int32_t gc__stackmap_signed_words(gc__bit_reader *reader, unsigned base) {
    int32_t words = gc__bits_read_signed(reader, base);
    if (GC__LIKELY(words >= INT32_MIN / 8 && words <= INT32_MAX / 8)) return words * 8;
    reader->malformed = true;
    return 0;
}

/* The bytes of the map, which follow its first byte, seven bits in each byte. 0: they are malformed. */
GC__FN uint32_t gc__stackmap_bytes(const uint8_t *map, uint64_t limit, uint32_t *length) {
    uint32_t bytes = 0;
    for (uint32_t i = 1; i < limit && i <= 5; i++) {
        bytes |= (uint32_t)(map[i] & 127) << 7 * (i - 1);
        *length = i + 1;
        if (map[i] < 128) return bytes <= GC__STACKMAP_BYTES_MAX && bytes > i ? bytes : 0;
    }
    return 0;
}

/* The facts of a method that is not plain: it has interruptible ranges, or special slots, or arguments on the stack. */
GC__FN void gc__stackmap_read_special(gc__stackmap *map, gc__bit_reader *reader, uint32_t *innermost_count) {
    gc_stackmap_facts *facts = &map->facts;
    facts->flags = (uint16_t)gc__bits_read(reader, 10);
    facts->returns[1] = (uint8_t)gc__bits_read(reader, 2);
    facts->outgoing_bytes = gc__stackmap_words(reader);
    facts->argument_bytes = gc__stackmap_words(reader);
    for (unsigned i = 0; i < 5 && facts->flags >= GC_METHOD_SECURITY_OBJECT << i; i++)
        if (facts->flags & GC_METHOD_SECURITY_OBJECT << i)
            facts->extra[i] = gc__stackmap_signed_words(reader, GC__BASE_OFFSET);
    if (facts->flags & GC_METHOD_EDIT_AND_CONTINUE) facts->extra[5] = (int32_t)gc__stackmap_words(reader);
    facts->range_count = gc__stackmap_count(reader, GC__BASE_FEW);
    if (facts->range_count) facts->change_count = gc__stackmap_count(reader, GC__BASE_MANY);
    *innermost_count = gc__stackmap_count(reader, GC__BASE_FEW);
    facts->untracked_count = gc__stackmap_count(reader, GC__BASE_FEW);
}

/* Where the live sets of the safe points are; returns where they end. */
GC__FN uint64_t gc__stackmap_place_sets(gc__stackmap *map, uint32_t rows) {
    uint32_t points = map->facts.point_count, slots = map->kept_count;
    map->sets = map->distinct = map->points.end;
    if (map->form == GC__SETS_CHANGES) {
        map->at_points = gc__changes_place(map->sets, rows, points - 1, slots);
        return map->at_points.end;
    }
    if (map->form == GC__SETS_DIRECT) return map->sets + (uint64_t)points * slots;
    map->distinct = map->sets + (uint64_t)points * gc__bits_for(rows);
    return map->distinct + (uint64_t)rows * slots;
}

/* Opens a map of which at least `limit` bytes may be read, or that has passed gc_stackmap_check, which needs no limit. */
GC__FN void gc__stackmap_open(gc__stackmap *map, const void *start, uint64_t limit) {
    uint32_t header = 0, innermost_count = 0, rows = 0;
    memset(&map->facts, 0, sizeof map->facts);
    map->facts.bytes = gc__stackmap_bytes((const uint8_t *)start, limit, &header);
    gc_stackmap_facts *facts = &map->facts;
    map->bits.start = (const uint8_t *)start;
    map->bits.bytes = facts->bytes;
    gc__bit_reader reader = gc__bits_read_from(&map->bits, (uint64_t)header * 8);
    facts->code_bytes = gc__bits_read_number(&reader, GC__BASE_CODE);
    bool special = gc__bits_read(&reader, 1), unwinds = gc__bits_read(&reader, 1);
    facts->returns[0] = (uint8_t)gc__bits_read(&reader, 2);
    if (special) gc__stackmap_read_special(map, &reader, &innermost_count);
    facts->point_count = gc__stackmap_count(&reader, GC__BASE_POINTS);
    map->kept_count = gc__stackmap_count(&reader, GC__BASE_SLOTS);
    map->tracked_count = map->kept_count + innermost_count;
    facts->slot_count = map->tracked_count + facts->untracked_count;
    map->form = GC__SETS_DIRECT;
    if (facts->point_count && map->kept_count && gc__bits_read(&reader, 1)) {
        map->form = gc__bits_read(&reader, 1) ? GC__SETS_CHANGES : GC__SETS_DISTINCT;
        rows = gc__stackmap_count(&reader, GC__BASE_MANY);
    }
    map->distinct_count = map->form == GC__SETS_DISTINCT ? rows : 0;
    uint32_t unwind_bits = 0;
    if (unwinds) {
        facts->prolog_bytes = gc__bits_read_number(&reader, GC__BASE_MANY);
        facts->unwind_count = gc__stackmap_count(&reader, GC__BASE_MANY);
        if (facts->unwind_count) unwind_bits = gc__stackmap_count(&reader, GC__BASE_OFFSET);
    }
    map->malformed = reader.malformed;
    map->header_end = reader.at;
    map->points = gc__ascending_place(reader.at, facts->point_count, facts->code_bytes);
    map->ranges = gc__ascending_place(gc__stackmap_place_sets(map, rows), facts->range_count * 2, facts->code_bytes);
    map->in_ranges = gc__changes_place(map->ranges.end, facts->change_count, facts->code_bytes, map->tracked_count);
    map->unwind = map->in_ranges.end;
    map->slots = map->unwind + unwind_bits;
}

GC_API gc_stackmap_facts gc_stackmap_read(const void *start) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    return map.facts;
}

/* Takes the slots of a map in turn. They are in runs of one place and equal flags, and no run crosses from the kept slots
   to those of the innermost frame or the untracked ones. */
typedef struct gc__slot_cursor {
    gc__bit_reader reader;
    uint32_t index, section_end, run_end;
    uint32_t sections[3]; /* where each ends */
    uint32_t registers;   /* those of the run that are still to come */
    uint64_t at; /* where the bits of the last slot begin: of a run's first one they include the run's header */
    gc_stackmap_slot slot; /* the last one */
    unsigned section;
} gc__slot_cursor;

GC__FN gc__slot_cursor gc__slots_begin(const gc__stackmap *map) {
    gc__slot_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.reader = gc__bits_read_from(&map->bits, map->slots);
    cursor.sections[0] = map->kept_count;
    cursor.sections[1] = map->tracked_count;
    cursor.sections[2] = map->facts.slot_count;
    cursor.section_end = map->kept_count;
    return cursor;
}

/* Which registers a mask of them has: in the innermost frame's section the scratch ones, otherwise those preserved. */
GC__FN uint32_t gc__slot_registers(unsigned section) {
    return section == 1 ? 0xFFFF & ~(uint32_t)GC__PRESERVED_REGISTERS & ~((uint32_t)1 << GC__STACK_POINTER)
                        : GC__PRESERVED_REGISTERS;
}

/* Moves the bits of `mask` to the places of the ones of `among`, in order. */
GC__FN uint32_t gc__bits_spread(uint32_t mask, uint32_t among) {
    uint32_t result = 0;
    for (; mask; mask >>= 1, among &= among - 1)
        if (mask & 1) result |= among & (0 - among);
    return result;
}

GC__FN void gc__slots_begin_run(gc__slot_cursor *cursor) {
    gc__bit_reader *reader = &cursor->reader;
    while (cursor->index == cursor->section_end && cursor->section < 2)
        cursor->section_end = cursor->sections[++cursor->section];
    uint32_t left = cursor->section_end - cursor->index;
    memset(&cursor->slot, 0, sizeof cursor->slot);
    cursor->slot.place = (uint8_t)gc__bits_read(reader, 2);
    cursor->slot.untracked = cursor->section == 2;
    if (gc__bits_read(reader, 1)) {
        uint32_t flags = gc__bits_read(reader, 3);
        cursor->slot.flags = (uint8_t)((flags & 3) | (flags & 4) << 1);
    }
    cursor->run_end = cursor->section_end;
    if (cursor->slot.place == GC_PLACE_REGISTER) {
        uint32_t among = gc__slot_registers(cursor->section);
        cursor->registers = gc__bits_spread(gc__bits_read(reader, gc__bits_count(among)), among);
        uint32_t count = gc__bits_count(cursor->registers);
        if (count < left) cursor->run_end = cursor->index + count;
        reader->malformed |= !count || count > left;
    } else {
        if (!gc__bits_read(reader, 1)) {
            uint32_t count = gc__bits_read_number(reader, GC__BASE_POINTS);
            if (count < left) cursor->run_end = cursor->index + count + 1;
            reader->malformed |= count >= left - 1;
        }
        cursor->slot.offset = gc__stackmap_signed_words(reader, GC__BASE_OFFSET);
    }
}

/* The next slot; false: there is none. */
GC__FN bool gc__slots_next(gc__slot_cursor *cursor) {
    if (cursor->index == cursor->sections[2]) return false;
    cursor->at = cursor->reader.at;
    if (cursor->index == cursor->run_end) {
        gc__slots_begin_run(cursor);
    } else if (cursor->slot.place != GC_PLACE_REGISTER) {
        uint32_t gap = gc__bits_read_number(&cursor->reader, GC__BASE_GAP);
        uint64_t offset = (uint64_t)(cursor->slot.offset + (int64_t)8 + (int64_t)gap * 8);
        cursor->reader.malformed |= (int64_t)offset > INT32_MAX;
        cursor->slot.offset = (int32_t)(uint32_t)offset;
    }
    if (cursor->slot.place == GC_PLACE_REGISTER) {
        cursor->slot.number = cursor->registers ? (uint8_t)__builtin_ctz(cursor->registers) : 0;
        cursor->registers &= cursor->registers - 1;
    }
    cursor->index++;
    return true;
}

GC_API gc_stackmap_slot gc_stackmap_slot_at(const void *start, uint32_t i) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    gc__slot_cursor cursor = gc__slots_begin(&map);
    while (cursor.index <= i && gc__slots_next(&cursor)) continue;
    return cursor.slot;
}

/* Word `word` of the set that changes first .. last - 1 make of an empty one. A whole set that is stored between replaces
   those before it. */
GC__FN uint64_t gc__changes_word(const gc__changes *changes, const gc__bits *bits, uint32_t first, uint32_t last,
                                 uint32_t word) {
    uint64_t set = 0, index = (uint64_t)word * 64;
    uint32_t whole = last / GC__CHANGES_APART;
    if (whole * GC__CHANGES_APART > first) {
        first = whole * GC__CHANGES_APART;
        uint64_t left = changes->columns - index;
        set = gc__bits_word(bits, changes->sets + (uint64_t)(whole - 1) * changes->columns + index,
                            left < 64 ? (unsigned)left : 64);
    }
    uint32_t width = changes->slot_bits, at_once = width ? GC__BITS_AT_ONCE / width : 32;
    while (first < last) {
        uint32_t count = last - first < at_once ? last - first : at_once;
        uint64_t numbers = gc__bits_load(bits, changes->slots + (uint64_t)first * width);
        for (first += count; count; count--, numbers >>= width) {
            uint64_t slot = (numbers & gc__bits_mask(width)) - index;
            set ^= (uint64_t)(slot < 64) << (slot & 63);
        }
    }
    return set;
}

/* A live set that was found. */
typedef struct gc__live_set {
    const gc__changes *changes;
    uint32_t first, last; /* of the changes; without those the set is at the bit `at` */
    uint64_t at;
    uint32_t columns; /* how many slots it says something about */
    bool untracked;
} gc__live_set;

/* Finds the interruptible range with the offset: the changes from its start up to there. */
GC__FN bool gc__stackmap_find_in_range(const gc__stackmap *map, uint32_t offset, uint32_t *first, uint32_t *last) {
    bool next;
    uint32_t ends = gc__ascending_below(&map->ranges, &map->bits, (uint64_t)offset + 1, &next);
    if (!(ends & 1)) return false;
    const gc__ascending *places = &map->in_ranges.places;
    *last = gc__ascending_below(places, &map->bits, (uint64_t)offset + 1, &next);
    *first = 0;
    if (ends > 1)
        *first = gc__ascending_below(places, &map->bits, gc__ascending_at(&map->ranges, &map->bits, ends - 1), &next);
    return true;
}

GC__FN void gc__stackmap_point_set(const gc__stackmap *map, uint32_t point, gc__live_set *set) {
    set->columns = map->kept_count;
    if (map->form == GC__SETS_CHANGES) {
        bool next;
        set->changes = &map->at_points;
        set->last = gc__ascending_below(&set->changes->places, &map->bits, (uint64_t)point + 1, &next);
    } else if (map->form == GC__SETS_DIRECT) {
        set->at = map->sets + (uint64_t)point * map->kept_count;
    } else {
        unsigned width = gc__bits_for(map->distinct_count);
        set->at = map->distinct + gc__bits_at(&map->bits, map->sets + (uint64_t)point * width, width) * map->kept_count;
    }
}

/* Finds the live set of the innermost frame. False: the thread may not be stopped there. */
GC__FN bool gc__stackmap_find_innermost(const gc__stackmap *map, uint32_t offset, gc_frame_kind kind, gc__live_set *set) {
    bool is_point;
    memset(set, 0, sizeof *set);
    set->untracked = true;
    if (kind == GC_FRAME_INTERRUPTED) {
        set->changes = &map->in_ranges;
        set->columns = map->tracked_count;
        return gc__stackmap_find_in_range(map, offset, &set->first, &set->last);
    }
    if (!offset) return false;
    uint32_t point = gc__ascending_below(&map->points, &map->bits, offset, &is_point);
    if (is_point) {
        gc__stackmap_point_set(map, point, set);
    } else {
        set->changes = &map->in_ranges;
        set->columns = map->kept_count;
        if (!gc__stackmap_find_in_range(map, offset - 1, &set->first, &set->last)) return false;
    }
    return true;
}

/* The same for a frame that has called another one, if its kind is GC_FRAME_CALLER. */
GC__FN bool gc__stackmap_find(const gc__stackmap *map, uint32_t offset, gc_frame_kind kind, gc__live_set *set) {
    bool found = gc__stackmap_find_innermost(map, offset, kind, set);
    bool nothing = kind == GC_FRAME_CALLER && map->facts.flags & GC_METHOD_REPORT_LEAF_ONLY;
    if (nothing) set->columns = 0, set->untracked = false;
    return found;
}

/* Word `word` of a live set. */
GC__FN uint64_t gc__live_word(const gc__stackmap *map, const gc__live_set *set, uint32_t word) {
    uint64_t index = (uint64_t)word * 64, live = 0;
    if (index < set->columns) {
        uint64_t left = set->columns - index;
        unsigned width = left < 64 ? (unsigned)left : 64;
        live = set->changes ? gc__changes_word(set->changes, &map->bits, set->first, set->last, word)
                            : gc__bits_word(&map->bits, set->at + index, width);
        if (width < 64) live &= gc__bits_mask(width);
    }
    if (set->untracked && index + 64 > map->tracked_count && index < map->facts.slot_count) {
        uint64_t above = map->facts.slot_count - index;
        uint64_t mask = above < 64 ? gc__bits_mask((unsigned)above) : UINT64_MAX;
        live |= index < map->tracked_count ? mask & ~gc__bits_mask((unsigned)(map->tracked_count - index)) : mask;
    }
    return live;
}

GC_API bool gc_stackmap_live(const void *start, uint32_t offset, gc_frame_kind kind, uint64_t *live) {
    gc__stackmap map;
    gc__live_set set;
    gc__stackmap_open(&map, start, UINT64_MAX);
    if (!gc__stackmap_find(&map, offset, kind, &set)) return false;
    for (uint32_t word = 0; (uint64_t)word * 64 < map.facts.slot_count; word++)
        live[word] = gc__live_word(&map, &set, word);
    return true;
}

GC_API bool gc_stackmap_is_interruptible(const void *start, uint32_t offset) {
    gc__stackmap map;
    bool next;
    gc__stackmap_open(&map, start, UINT64_MAX);
    return gc__ascending_below(&map.ranges, &map.bits, (uint64_t)offset + 1, &next) & 1;
}

/* Takes the live slots of a frame in turn:
       gc__live_cursor live;
       if (!gc__live_begin(&live, map, offset, kind)) ... the thread may not be stopped there
       while (gc__live_next(&live)) ... live.slots.slot */
typedef struct gc__live_cursor {
    gc__stackmap map;
    gc__live_set set;
    gc__slot_cursor slots;
    uint64_t word;
} gc__live_cursor;

GC__FN void gc__live_open(gc__live_cursor *cursor, const void *start) {
    gc__stackmap_open(&cursor->map, start, UINT64_MAX);
    cursor->slots = gc__slots_begin(&cursor->map);
}

GC__FN bool gc__live_begin(gc__live_cursor *cursor, const void *start, uint32_t offset, gc_frame_kind kind) {
    gc__live_open(cursor, start);
    return gc__stackmap_find(&cursor->map, offset, kind, &cursor->set);
}

GC__FN bool gc__live_next(gc__live_cursor *cursor) {
    for (;;) {
        uint32_t index = cursor->slots.index, count = cursor->map.facts.slot_count;
        if (!(index & 63)) cursor->word = gc__live_word(&cursor->map, &cursor->set, index / 64);
        /* The slots after the last live one need not be read. */
        if (!(cursor->word >> (index & 63)) && (index | 63) >= count - 1) return false;
        if (!gc__slots_next(&cursor->slots)) return false;
        if (cursor->word >> (index & 63) & 1) return true;
    }
}
/* Where a frame's saved registers and its caller are: the unwind rows of a stack map. They may be read in signal handlers. */


/* The rows that only few methods have take five bits; a push, a pop, and an allocation take two. */
enum { GC__UNWIND_CODE_PUSH, GC__UNWIND_CODE_POP, GC__UNWIND_CODE_ALLOCATE, GC__UNWIND_CODE_OTHER };

/* The frame has at most this many bytes, so that no sum overflows. */
#define GC__FRAME_BYTES_MAX (1 << 30)

/* How to leave a frame. The return address is at CFA - 8, and the caller's stack pointer is the CFA. */
typedef struct gc__frame_layout {
    bool by_frame; /* CFA = rbp + cfa; else CFA = stack pointer + cfa */
    int32_t cfa;
    int32_t
        saved[GC_CODE_REGISTERS]; /* the caller's value of the register is at CFA + saved; 0: it is in the register */
} gc__frame_layout;

/* Takes the rows of a map in turn. */
typedef struct gc__unwind_cursor {
    gc__bit_reader reader;
    uint64_t at; /* where the bits of the last row begin */
    uint32_t left;
    gc_stackmap_unwind row; /* the last one */
} gc__unwind_cursor;

/* The bytes that the instruction of a row usually takes, which need not be stored. `before` is the row before it. */
GC__FN uint32_t gc__unwind_usual_bytes(const gc_stackmap_unwind *before, const gc_stackmap_unwind *row) {
    switch (row->op) {
    case GC_UNWIND_POP: /* the instruction `leave` is two rows */
        if (before->op == GC_UNWIND_LEAVE && row->number == GC__FRAME_POINTER) return 0;
        return row->number >= 8 && row->number < GC_CODE_REGISTERS ? 2 : 1;
    case GC_UNWIND_PUSH:
        return row->number >= 8 && row->number < GC_CODE_REGISTERS ? 2 : 1;
    case GC_UNWIND_ALLOCATE:
        return row->bytes >= -128 && row->bytes <= 127 ? 4 : 7;
    case GC_UNWIND_FRAME:
        return row->bytes ? 5 : 3;
    case GC_UNWIND_SAVE:
    case GC_UNWIND_RESTORE:
        return 5;
    case GC_UNWIND_LEAVE:
        return row->bytes ? 4 : 1;
    default:
        return 1;
    }
}

GC__FN bool gc__unwind_has_number(uint8_t op) {
    return op == GC_UNWIND_PUSH || op == GC_UNWIND_POP || op == GC_UNWIND_SAVE || op == GC_UNWIND_RESTORE;
}
GC__FN bool gc__unwind_has_bytes(uint8_t op) {
    return op == GC_UNWIND_ALLOCATE || op == GC_UNWIND_SAVE || op == GC_UNWIND_FRAME || op == GC_UNWIND_LEAVE;
}

/* Registers are written by their place in this table; 7 means that the number itself follows. */
static const uint8_t gc__unwind_registers[8] = {3, 5, 12, 13, 14, 15, GC_NO_REGISTER, 0};

GC__FN gc__unwind_cursor gc__unwind_begin(const gc__stackmap *map) {
    gc__unwind_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.reader = gc__bits_read_from(&map->bits, map->unwind);
    cursor.left = map->facts.unwind_count;
    return cursor;
}

/* The next row; false: there is none. */
GC__FN bool gc__unwind_next(gc__unwind_cursor *cursor) {
    if (!cursor->left) return false;
    gc__bit_reader *reader = &cursor->reader;
    gc_stackmap_unwind before = cursor->row, row = {0, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, 0};
    cursor->at = reader->at;
    uint32_t word = gc__bits_read(reader, 2);
    if (word <= GC__UNWIND_CODE_POP)
        row.op = word == GC__UNWIND_CODE_PUSH ? GC_UNWIND_PUSH : GC_UNWIND_POP;
    else if (word == GC__UNWIND_CODE_OTHER)
        row.op = (uint8_t)(GC_UNWIND_SAVE + gc__bits_read(reader, 3));
    if (gc__unwind_has_number(row.op)) {
        uint32_t index = gc__bits_read(reader, 3);
        row.number = index < 7 ? gc__unwind_registers[index] : (uint8_t)gc__bits_read(reader, 4);
    }
    if (gc__unwind_has_bytes(row.op)) row.bytes = gc__stackmap_signed_words(reader, GC__BASE_AREA);
    bool usual = gc__bits_read(reader, 1);
    uint64_t offset = before.offset;
    offset += usual ? gc__unwind_usual_bytes(&before, &row) : gc__bits_read_number(reader, GC__BASE_MANY);
    reader->malformed |= offset > UINT32_MAX;
    row.offset = (uint32_t)offset;
    cursor->row = row;
    cursor->left--;
    return true;
}

/* A frame while its rows act. */
typedef struct gc__unwind_frame {
    gc__frame_layout layout; /* its cfa holds only while the frame is found by rbp */
    int32_t depth;           /* CFA - stack pointer: that includes the return address */
} gc__unwind_frame;

/* Rows act on `now`; when the first one behind the prolog comes, `body` becomes a copy of it. */
typedef struct gc__unwind_state {
    gc__unwind_frame now, body;
    uint32_t prolog_bytes;
    bool in_body;
    bool dynamic; /* the method allocates stack of variable size: after the prolog, only rbp finds the frame */
    /* By these the slots of the method are checked. */
    int32_t depth_max;
    int32_t frame_cfa;                 /* CFA - rbp, wherever rbp is the frame pointer; 0: it never is */
    int32_t places[GC_CODE_REGISTERS]; /* where each register was saved last */
} gc__unwind_state;

GC__FN gc__unwind_state gc__unwind_start(uint32_t prolog_bytes, uint16_t flags) {
    gc__unwind_state state;
    memset(&state, 0, sizeof state);
    state.now.depth = state.depth_max = 8;
    state.prolog_bytes = prolog_bytes;
    state.dynamic = (flags & GC_METHOD_DYNAMIC_STACK) != 0;
    return state;
}

/* The register has its caller's value again. */
GC__INLINED void gc__unwind_take_back(gc__unwind_frame *now, unsigned number) {
    now->layout.saved[number & (GC_CODE_REGISTERS - 1)] = 0;
    if (number == GC__FRAME_POINTER) now->layout.by_frame = false;
}

/* Lets a row act that is known to be right. Sums are unsigned, since in a dynamic stack the depth may be anything. */
GC__INLINED void gc__unwind_act(gc__unwind_frame *now, const gc__unwind_frame *body, const gc_stackmap_unwind *row) {
    uint32_t depth = (uint32_t)now->depth, bytes = (uint32_t)row->bytes;
    int32_t *saved = &now->layout.saved[row->number & (GC_CODE_REGISTERS - 1)];
    switch (row->op) {
    case GC_UNWIND_PUSH:
        now->depth = (int32_t)(depth + 8);
        if (row->number != GC_NO_REGISTER) *saved = (int32_t)(0 - depth - 8);
        break;
    case GC_UNWIND_POP:
        now->depth = (int32_t)(depth - 8);
        if (row->number != GC_NO_REGISTER) gc__unwind_take_back(now, row->number);
        break;
    case GC_UNWIND_ALLOCATE:
        now->depth = (int32_t)(depth + bytes);
        break;
    case GC_UNWIND_SAVE:
        *saved = (int32_t)(bytes - depth);
        break;
    case GC_UNWIND_RESTORE:
        gc__unwind_take_back(now, row->number);
        break;
    case GC_UNWIND_FRAME:
        now->layout.by_frame = true;
        now->layout.cfa = (int32_t)(depth - bytes);
        break;
    case GC_UNWIND_LEAVE:
        now->layout.by_frame = false;
        now->depth = (int32_t)((uint32_t)now->layout.cfa + bytes);
        break;
    default:
        *now = *body;
        break;
    }
}

/* Why a row cannot save the register `number` when the stack pointer is `depth` below the CFA. */
GC__FN const char *gc__unwind_save_fault(const gc__unwind_state *state, unsigned number, int64_t depth, int64_t bytes) {
    const int32_t *saved = state->now.layout.saved;
    if (number >= GC_CODE_REGISTERS || number == GC__STACK_POINTER) return "there is no such register to save";
    if (saved[number]) return "the register is saved already";
    if (bytes < 0 || bytes > depth - 16) return "the place is outside of the frame";
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (saved[i] == bytes - depth) return "another register is saved at the same place";
    return NULL;
}

GC__FN const char *gc__unwind_take_back_fault(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    int32_t place = row->number < GC_CODE_REGISTERS ? state->now.layout.saved[row->number] : 0;
    if (!place) return "the register is not saved";
    if (row->op == GC_UNWIND_POP)
        return place == -state->now.depth ? NULL : "the register is not saved at the stack pointer";
    bool loses = state->dynamic && row->number == GC__FRAME_POINTER && state->now.layout.by_frame;
    return loses ? "only rbp finds the frame, since the stack is dynamic" : NULL;
}

GC__FN const char *gc__unwind_frame_fault(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    const gc__unwind_frame *now = &state->now;
    if (row->op == GC_UNWIND_LEAVE) return now->layout.by_frame ? NULL : "rbp is not the frame pointer here";
    if (now->layout.by_frame) return "rbp is the frame pointer already";
    if (!now->layout.saved[GC__FRAME_POINTER]) return "rbp is not saved";
    if (row->bytes < 0 || row->bytes > now->depth - 16) return "rbp would not point into the frame";
    if (state->frame_cfa && state->frame_cfa != now->depth - row->bytes)
        return "rbp would point to another place of the frame than before";
    return NULL;
}

/* Where the stack pointer is after the row, as a distance from the CFA. */
GC__FN int64_t gc__unwind_depth(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    int64_t depth = state->now.depth;
    switch (row->op) {
    case GC_UNWIND_PUSH:
        return depth + 8;
    case GC_UNWIND_POP:
        return depth - 8;
    case GC_UNWIND_ALLOCATE:
        return depth + row->bytes;
    case GC_UNWIND_LEAVE:
        return (int64_t)state->frame_cfa + row->bytes;
    default:
        return depth;
    }
}

/* Why the row cannot act; NULL: it can. */
GC__FN const char *gc__unwind_fault(const gc__unwind_state *state, const gc_stackmap_unwind *row) {
    const gc__unwind_frame *now = &state->now;
    int64_t depth = gc__unwind_depth(state, row);
    bool takes_back = row->op == GC_UNWIND_RESTORE || (row->op == GC_UNWIND_POP && row->number != GC_NO_REGISTER);
    bool saves = row->op == GC_UNWIND_SAVE || (row->op == GC_UNWIND_PUSH && row->number != GC_NO_REGISTER);
    const char *fault = NULL;
    if (row->op == GC_UNWIND_BODY) return state->in_body ? NULL : "no epilog can have ended in the prolog";
    if (row->op == GC_UNWIND_FRAME || row->op == GC_UNWIND_LEAVE) fault = gc__unwind_frame_fault(state, row);
    if (!fault && state->dynamic && state->in_body && now->layout.by_frame && row->op != GC_UNWIND_LEAVE &&
        row->op != GC_UNWIND_RESTORE)
        return saves || takes_back
                   ? "the stack pointer is not known before the frame is left, since the stack is dynamic"
                   : NULL;
    if (!fault && takes_back) fault = gc__unwind_take_back_fault(state, row);
    if (!fault && saves) fault = gc__unwind_save_fault(state, row->number, depth, row->bytes);
    if (fault) return fault;
    if (depth < 8) return "the return address would be below the stack pointer";
    if (depth > GC__FRAME_BYTES_MAX) return "the frame has more than 1 GiB";
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (now->layout.saved[i] < -depth && !(takes_back && i == row->number))
            return "a saved register would be below the stack pointer, and no row takes it back";
    return NULL;
}

GC__INLINED void gc__unwind_pass_prolog(gc__unwind_state *state, uint32_t offset) {
    if (state->in_body || offset <= state->prolog_bytes) return;
    state->in_body = true;
    state->body = state->now;
}

/* Checks a row, and lets it act. NULL, or why it cannot. */
GC__FN const char *gc__unwind_step(gc__unwind_state *state, const gc_stackmap_unwind *row) {
    gc__unwind_pass_prolog(state, row->offset);
    const char *fault = gc__unwind_fault(state, row);
    if (fault) return fault;
    bool known = !state->dynamic || !state->in_body || !state->now.layout.by_frame;
    gc__unwind_act(&state->now, &state->body, row);
    if (known && state->now.depth > state->depth_max) state->depth_max = state->now.depth;
    if (row->op == GC_UNWIND_FRAME) state->frame_cfa = state->now.layout.cfa;
    if ((row->op == GC_UNWIND_PUSH || row->op == GC_UNWIND_SAVE) && row->number != GC_NO_REGISTER)
        state->places[row->number] = state->now.layout.saved[row->number];
    return NULL;
}

/* Why the rows as a whole cannot describe the method; NULL: they can. */
GC__FN const char *gc__unwind_end_fault(const gc__unwind_state *state) {
    const gc__unwind_frame *body = state->in_body ? &state->body : &state->now;
    bool lost = state->dynamic && !body->layout.by_frame;
    return lost ? "a dynamic stack needs rbp as the frame pointer where the prolog ends: nothing else finds the return address"
                : NULL;
}

/* The layout of a frame whose pc is at `offset`: what the rows have done up to there. Without rows it is that of a method
   which has only been called: CFA = stack pointer + 8. False: `offset` is outside of the code. */
GC__FN bool gc__stackmap_layout(const void *start, uint32_t offset, gc_frame_kind kind, gc__frame_layout *layout) {
    gc__stackmap map;
    gc__unwind_frame now = {{false, 0, {0}}, 8}, body;
    gc__stackmap_open(&map, start, UINT64_MAX);
    gc__unwind_cursor rows = gc__unwind_begin(&map);
    uint64_t end = offset + (uint64_t)(kind == GC_FRAME_INTERRUPTED), prolog_bytes = map.facts.prolog_bytes;
    bool in_body = false;
    while (gc__unwind_next(&rows) && rows.row.offset < end) {
        if (!in_body && rows.row.offset > prolog_bytes) in_body = true, body = now;
        gc__unwind_act(&now, &body, &rows.row);
    }
    *layout = now.layout;
    if (!layout->by_frame) layout->cfa = now.depth;
    return kind == GC_FRAME_CALLER ? offset && offset <= map.facts.code_bytes : offset < map.facts.code_bytes;
}
/* What a stack map may say: rules for the descriptions that are encoded, and for maps that are checked. Each returns NULL, or
   what is wrong. */


GC__FN const char *gc__facts_fault(const gc_stackmap_facts *facts) {
    if (!facts->code_bytes) return "the method has no code";
    if (facts->prolog_bytes > facts->code_bytes) return "the prolog is longer than the code";
    if (facts->flags >= GC_METHOD_EDIT_AND_CONTINUE * 2) return "a flag of the method is unknown";
    if (facts->returns[0] > GC_RETURN_VALUE || facts->returns[1] > GC_RETURN_VALUE) return "a return kind is unknown";
    if (facts->outgoing_bytes > GC__FRAME_BYTES_MAX || facts->outgoing_bytes % 8)
        return "outgoing_bytes is no multiple of 8, or more than 1 GiB";
    if (facts->argument_bytes > GC__FRAME_BYTES_MAX || facts->argument_bytes % 8)
        return "argument_bytes is no multiple of 8, or more than 1 GiB";
    for (unsigned i = 0; i < 6; i++) {
        uint32_t flag = (uint32_t)(i < 5 ? GC_METHOD_SECURITY_OBJECT << i : GC_METHOD_EDIT_AND_CONTINUE);
        if (facts->extra[i] && !(facts->flags & flag)) return "an `extra` is set, but its flag is not";
        if (facts->extra[i] % 8) return "an `extra` is no multiple of 8";
    }
    if (facts->extra[5] < 0) return "the edit-and-continue area has less than no bytes";
    return NULL;
}

/* What a row may say whatever came before it. */
GC__FN const char *gc__unwind_row_fault(const gc_stackmap_unwind *row) {
    if (row->op > GC_UNWIND_BODY) return "its op is unknown";
    if (row->bytes % 8) return "its bytes are no multiple of 8";
    if (row->bytes && !gc__unwind_has_bytes(row->op)) return "its op has no bytes";
    if (!row->bytes && row->op == GC_UNWIND_ALLOCATE) return "it allocates nothing";
    return NULL;
}

/* A place by its distance from the CFA. */
GC__FN const char *gc__place_fault(int64_t place, const gc__unwind_state *frame, const gc_stackmap_facts *facts) {
    if (place == -8) return "it is the return address";
    if (place < -(int64_t)frame->depth_max || place >= (int64_t)facts->argument_bytes)
        return "it is outside of the frame";
    return NULL;
}

GC__FN const char *gc__stack_slot_fault(const gc_stackmap_slot *slot, const gc__unwind_state *frame,
                                        const gc_stackmap_facts *facts) {
    if (slot->offset % 8) return "its offset is no multiple of 8";
    if (slot->place == GC_PLACE_SP) {
        if (slot->offset < 0) return "it is below the stack pointer";
        if (slot->untracked && (uint32_t)slot->offset < facts->outgoing_bytes)
            return "it is untracked, but in the area of outgoing arguments";
        return frame->dynamic ? NULL : gc__place_fault((int64_t)slot->offset - frame->depth_max, frame, facts);
    }
    if (slot->place == GC_PLACE_FRAME && !frame->frame_cfa) return "no unwind row makes rbp the frame pointer";
    int64_t place = slot->offset - (int64_t)(slot->place == GC_PLACE_FRAME ? frame->frame_cfa : 0);
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (frame->places[i] && frame->places[i] == place) return "it is where a register is saved";
    return gc__place_fault(place, frame, facts);
}

/* `frame` is the state after all unwind rows. */
GC__FN const char *gc__slot_fault(const gc_stackmap_slot *slot, const gc__unwind_state *frame,
                                  const gc_stackmap_facts *facts) {
    if (slot->place > GC_PLACE_FRAME) return "its place is unknown";
    if (slot->flags & ~(GC_SLOT_INTERIOR | GC_SLOT_PINNED | GC_SLOT_VALUE)) return "one of its flags is unknown";
    if (slot->untracked > 1) return "untracked is neither 0 nor 1";
    if (slot->place != GC_PLACE_REGISTER) return gc__stack_slot_fault(slot, frame, facts);
    if (slot->untracked) return "a register cannot be untracked";
    if (slot->number >= GC_CODE_REGISTERS) return "there is no such register";
    if (slot->number == GC__STACK_POINTER) return "it is the stack pointer";
    if (slot->number == GC__FRAME_POINTER && frame->frame_cfa) return "rbp is the frame pointer";
    if (slot->offset) return "a register has no offset";
    return NULL;
}

/* Which section of the map a slot is in: 0, calls preserve it; 1, it is reported of the innermost frame only; 2, untracked. */
GC__FN unsigned gc__slot_section(const gc_stackmap_slot *slot, const gc_stackmap_facts *facts) {
    if (slot->untracked) return 2;
    if (slot->place == GC_PLACE_REGISTER) return GC__PRESERVED_REGISTERS >> slot->number & 1 ? 0 : 1;
    return slot->place == GC_PLACE_SP && (uint32_t)slot->offset < facts->outgoing_bytes;
}

/* The order in which a map has its slots: by section, flags, place, and number or offset. Equal only for equal slots. */
GC__FN uint64_t gc__slot_rank(const gc_stackmap_slot *slot, unsigned section) {
    uint32_t flags = (slot->flags & 3u) | (slot->flags & GC_SLOT_VALUE) >> 1;
    uint32_t where = slot->place == GC_PLACE_REGISTER ? slot->number : ((uint32_t)slot->offset ^ 0x80000000) >> 3;
    return (uint64_t)(section << 5 | flags << 2 | slot->place) << 29 | where;
}
/* Whether a stack map is whole. It may come from anywhere, so nothing is taken for granted; and it takes constant memory. */


#include <stdarg.h>

#define GC__CHECK_WORDS 64

typedef struct gc__map_check {
    gc__stackmap map;
    gc__unwind_state frame;
} gc__map_check;

static __thread char gc__map_fault[256];

GC__FN const char *gc__malformed(const char *format, ...) __attribute__((GC__PRINTF(1, 2), cold));
GC__FN const char *gc__malformed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(gc__map_fault, sizeof gc__map_fault, format, arguments);
    va_end(arguments);
    return gc__map_fault;
}

GC__FN const char *gc__check_header(gc__map_check *check, const uint8_t *start, size_t bytes) {
    if (!start) return "the map is NULL";
    if (bytes < 3) return gc__malformed("%zu bytes are no stack map", bytes);
    if ((start[0] & 63) != GC_STACKMAP_VERSION)
        return gc__malformed("the map is of version %u, and this gc.h reads version %u", start[0] & 63u,
                             GC_STACKMAP_VERSION);
    if (start[0] >> 6 != GC__STACKMAP_PROCESSOR)
        return gc__malformed("the map is for processor %u, and this gc.h reads maps for processor %u", start[0] >> 6,
                             GC__STACKMAP_PROCESSOR);
    uint32_t header, said = gc__stackmap_bytes(start, bytes, &header);
    if (!said) return "bit 8: the number of bytes of the map is malformed";
    if (said != bytes) return gc__malformed("bit 8: the map has %u bytes, but %zu are given", said, bytes);
    gc__stackmap_open(&check->map, start, bytes);
    const gc__stackmap *map = &check->map;
    const char *fault = gc__facts_fault(&map->facts);
    if (map->malformed) fault = "a number is too large";
    if (map->header_end > bytes * 8) fault = "it is incomplete";
    if (fault) return gc__malformed("the header, up to bit %llu: %s", (unsigned long long)map->header_end, fault);
    if (map->slots > bytes * 8)
        return gc__malformed("bit %zu: the tables reach to bit %llu, and the map ends", bytes * 8,
                             (unsigned long long)map->slots);
    return NULL;
}

/* Whether a list has as many numbers as it should, all of them up to its maximum, and ascending. */
GC__FN const char *gc__check_list(const gc__map_check *check, const gc__ascending *list, bool strictly,
                                  const char *what) {
    const gc__bits *bits = &check->map.bits;
    uint64_t ones = 0, at = list->highs;
    for (uint64_t i = list->highs; i < list->end; i += 32)
        ones += gc__bits_count(gc__bits_at(bits, i, list->end - i < 32 ? (unsigned)(list->end - i) : 32));
    if (ones != list->count)
        return gc__malformed("%s, bit %llu: there are %u, but %llu bits are set", what, (unsigned long long)list->highs,
                             list->count, (unsigned long long)ones);
    for (uint32_t i = 0, before = 0, number; i < list->count; i++, before = number) {
        number = gc__ascending_next(list, bits, i, &at);
        const char *fault = number > list->max                ? "is too large"
                            : i && number < before + strictly ? "comes after"
                                                              : NULL;
        if (fault)
            return gc__malformed("%s, bit %llu: number %u, %u, %s %u", what, (unsigned long long)at - 1, i, number,
                                 fault, number > list->max ? list->max : before);
    }
    return NULL;
}

/* Goes through the ranges while offsets ascend. */
typedef struct gc__range_cursor {
    const gc__stackmap *map;
    uint32_t index, start, end; /* number `index` - 1 */
    uint64_t at;
} gc__range_cursor;

GC__FN gc__range_cursor gc__ranges_begin(const gc__stackmap *map) {
    gc__range_cursor cursor = {map, 0, 0, 0, map->ranges.highs};
    return cursor;
}

GC__FN bool gc__ranges_next(gc__range_cursor *cursor) {
    const gc__stackmap *map = cursor->map;
    if (cursor->index == map->facts.range_count) return false;
    cursor->start = gc__ascending_next(&map->ranges, &map->bits, cursor->index * 2, &cursor->at);
    cursor->end = gc__ascending_next(&map->ranges, &map->bits, cursor->index * 2 + 1, &cursor->at);
    cursor->index++;
    return true;
}

/* Whether a range has the offset, which is not below those that were asked for before. */
GC__FN bool gc__ranges_have(gc__range_cursor *cursor, uint32_t offset) {
    while (cursor->end <= offset)
        if (!gc__ranges_next(cursor)) return false;
    return cursor->start <= offset;
}

GC__FN const char *gc__check_ranges(const gc__map_check *check) {
    const char *fault = gc__check_list(check, &check->map.ranges, false, "interruptible ranges");
    gc__range_cursor ranges = gc__ranges_begin(&check->map);
    while (!fault && gc__ranges_next(&ranges))
        if (ranges.start == ranges.end)
            fault = gc__malformed("interruptible range %u, bit %llu: it is empty", ranges.index - 1,
                                  (unsigned long long)ranges.at - 1);
    return fault;
}

GC__FN const char *gc__check_points(const gc__map_check *check) {
    const gc__stackmap *map = &check->map;
    const char *fault = gc__check_list(check, &map->points, true, "safe points");
    gc__range_cursor ranges = gc__ranges_begin(map);
    uint64_t at = map->points.highs;
    for (uint32_t i = 0; !fault && i < map->facts.point_count; i++) {
        uint32_t offset = gc__ascending_next(&map->points, &map->bits, i, &at);
        const char *why = !offset                                ? "it is at the start of the code"
                          : gc__ranges_have(&ranges, offset - 1) ? "it is in an interruptible range"
                                                                 : NULL;
        if (why) fault = gc__malformed("safe point %u, bit %llu: %s", i, (unsigned long long)at - 1, why);
    }
    if (fault || map->form != GC__SETS_DISTINCT) return fault;
    unsigned width = gc__bits_for(map->distinct_count);
    for (uint32_t i = 0; i < map->facts.point_count; i++)
        if (gc__bits_at(&map->bits, map->sets + (uint64_t)i * width, width) >= map->distinct_count)
            return gc__malformed("safe point %u, bit %llu: there are only %u live sets", i,
                                 (unsigned long long)(map->sets + (uint64_t)i * width), map->distinct_count);
    return NULL;
}

/* Whether the whole sets are what the changes before them make, for GC__CHECK_WORDS words of a set from `word` on. With
   `ranges`, the set is empty at the start of each range; NULL: it never becomes empty. */
GC__FN const char *gc__check_sets(const gc__stackmap *map, const gc__changes *changes, uint32_t word,
                                  gc__range_cursor *ranges) {
    uint64_t set[GC__CHECK_WORDS] = {0}, at = changes->places.highs, index = (uint64_t)word * 64;
    for (uint32_t i = 0; i < changes->places.count; i++) {
        uint32_t place = gc__ascending_next(&changes->places, &map->bits, i, &at);
        uint64_t slot_at = changes->slots + (uint64_t)i * changes->slot_bits;
        uint64_t slot = gc__bits_at(&map->bits, slot_at, changes->slot_bits);
        if (slot >= changes->columns)
            return gc__malformed("change %u, bit %llu: there is no slot %llu", i, (unsigned long long)slot_at,
                                 (unsigned long long)slot);
        if (ranges && (!ranges->index || place >= ranges->end)) {
            memset(set, 0, sizeof set);
            if (!gc__ranges_have(ranges, place))
                return gc__malformed("change %u, bit %llu: it is in no interruptible range", i,
                                     (unsigned long long)at - 1);
        }
        if (slot - index < GC__CHECK_WORDS * 64) set[(slot - index) >> 6] ^= (uint64_t)1 << (slot & 63);
        if ((i + 1) % GC__CHANGES_APART) continue;
        uint64_t whole = changes->sets + (uint64_t)(i / GC__CHANGES_APART) * changes->columns;
        for (uint64_t k = index; k < changes->columns && k - index < GC__CHECK_WORDS * 64; k += 64) {
            unsigned width = changes->columns - k < 64 ? (unsigned)(changes->columns - k) : 64;
            if (gc__bits_word(&map->bits, whole + k, width) != set[(k - index) >> 6])
                return gc__malformed("bit %llu: the set differs from what the %u changes before it make",
                                     (unsigned long long)(whole + k), i + 1);
        }
    }
    return NULL;
}

GC__FN const char *gc__check_changes(const gc__map_check *check, const gc__changes *changes, bool in_ranges,
                                     const char *what) {
    const char *fault = gc__check_list(check, &changes->places, false, what);
    for (uint32_t word = 0; !fault && (!word || (uint64_t)word * 64 < changes->columns); word += GC__CHECK_WORDS) {
        gc__range_cursor ranges = gc__ranges_begin(&check->map);
        fault = gc__check_sets(&check->map, changes, word, in_ranges ? &ranges : NULL);
    }
    return fault;
}

GC__FN const char *gc__check_unwind(gc__map_check *check) {
    const gc_stackmap_facts *facts = &check->map.facts;
    check->frame = gc__unwind_start(facts->prolog_bytes, facts->flags);
    gc__unwind_cursor rows = gc__unwind_begin(&check->map);
    while (gc__unwind_next(&rows)) {
        const char *fault = rows.reader.malformed ? "a number is too large" : gc__unwind_row_fault(&rows.row);
        if (!fault && rows.row.offset > facts->code_bytes) fault = "its offset is outside of the code";
        if (!fault && rows.reader.at > check->map.slots) fault = "it reaches beyond the rows";
        if (!fault) fault = gc__unwind_step(&check->frame, &rows.row);
        if (fault)
            return gc__malformed("unwind row %u, bit %llu: %s", facts->unwind_count - rows.left - 1,
                                 (unsigned long long)rows.at, fault);
    }
    if (rows.reader.at != check->map.slots)
        return gc__malformed("bit %llu: the unwind rows end, but not their bits", (unsigned long long)rows.reader.at);
    if (facts->outgoing_bytes > (uint32_t)check->frame.depth_max - 8)
        return "the header: outgoing_bytes are more than the frame has";
    const char *fault = gc__unwind_end_fault(&check->frame);
    return fault ? gc__malformed("the header: %s", fault) : NULL;
}

GC__FN const char *gc__check_slots(const gc__map_check *check) {
    const gc__stackmap *map = &check->map;
    gc__slot_cursor cursor = gc__slots_begin(map);
    uint64_t end = (uint64_t)map->facts.bytes * 8;
    for (uint64_t before = 0; gc__slots_next(&cursor);) {
        const char *fault = cursor.reader.malformed  ? "its run is malformed"
                            : cursor.reader.at > end ? "it is incomplete"
                                                     : NULL;
        if (!fault) fault = gc__slot_fault(&cursor.slot, &check->frame, &map->facts);
        if (!fault && gc__slot_section(&cursor.slot, &map->facts) != cursor.section)
            fault = "it belongs in another section";
        uint64_t rank = fault ? 0 : gc__slot_rank(&cursor.slot, cursor.section) + 1;
        if (!fault && rank <= before) fault = "it is not in order";
        if (fault)
            return gc__malformed("slot %u, bit %llu: %s", cursor.index - 1, (unsigned long long)cursor.at, fault);
        before = rank;
    }
    if (cursor.reader.at > end) return gc__malformed("bit %llu: the map is incomplete", (unsigned long long)end);
    if (end - cursor.reader.at >= 8 || gc__bits_at(&map->bits, cursor.reader.at, (unsigned)(end - cursor.reader.at)))
        return gc__malformed("bit %llu: something follows the slots", (unsigned long long)cursor.reader.at);
    return NULL;
}

GC_API const char *gc_stackmap_check(const void *start, size_t bytes) {
    gc__map_check check;
    const char *fault = gc__check_header(&check, (const uint8_t *)start, bytes);
    if (!fault) fault = gc__check_ranges(&check);
    if (!fault) fault = gc__check_points(&check);
    if (!fault) fault = gc__check_changes(&check, &check.map.in_ranges, true, "changes in ranges");
    if (!fault && check.map.form == GC__SETS_CHANGES)
        fault = gc__check_changes(&check, &check.map.at_points, false, "changes at safe points");
    if (!fault) fault = gc__check_unwind(&check);
    return fault ? fault : gc__check_slots(&check);
}
/* Before a stack map is written: its description is checked and put in order. */


/* Memory for one encoding, which is freed at its end. The first of it is on the stack. */
typedef struct gc__scratch_block {
    struct gc__scratch_block *previous;
    size_t bytes;
} gc__scratch_block;

typedef struct gc__scratch {
    gc__scratch_block *last;
    size_t used;
    uint64_t first[512];
} gc__scratch;

/* Zeroed memory for `count` things of `size` bytes, which are aligned as a word. NULL: it has failed. */
GC__FN void *gc__scratch_take(gc__scratch *scratch, size_t count, size_t size) {
    size_t words = (count * size + 7) / 8;
    if (words <= sizeof scratch->first / 8 - scratch->used) {
        void *memory = memset(scratch->first + scratch->used, 0, words * 8);
        scratch->used += words;
        return memory;
    }
    size_t bytes = sizeof(gc__scratch_block) + words * 8;
    gc__scratch_block *block = (gc__scratch_block *)gc__os_map(bytes);
    if (!block) {
        gc__fail(GC_ERROR_MEMORY, "gc_stackmap_encode: the system has no %zu bytes more: %s", bytes, gc__os_refusal(bytes));
        return NULL;
    }
    block->previous = scratch->last;
    block->bytes = bytes;
    scratch->last = block;
    return block + 1;
}

GC__FN void gc__scratch_free(gc__scratch *scratch) {
    while (scratch->last) {
        gc__scratch_block *block = scratch->last;
        scratch->last = block->previous;
        gc__os_unmap(block, block->bytes);
    }
}

/* Changes of slots, from dead to live or back, in the map's order of slots. */
typedef struct gc__change_list {
    uint32_t *places, *slots;
    uint32_t count;
} gc__change_list;

/* A method that is being encoded. */
typedef struct gc__encoder {
    const gc_stackmap_method *method;
    gc_stackmap_facts facts; /* those of the map */
    gc__scratch scratch;
    gc__unwind_state frame;
    uint64_t *order;           /* the method's slot that the map has as its slot i */
    uint32_t *index_of;        /* the reverse */
    uint64_t *kept;            /* a set of the method's slots: those of the map which calls preserve */
    uint64_t *live;            /* another one */
    uint32_t sections[3];      /* slots of each section */
    uint32_t set_words;        /* words of a set of the kept slots, in the map's order */
    uint32_t *points;          /* offsets of the points that are not in ranges; facts.point_count */
    uint64_t *sets;            /* their live sets */
    gc__change_list in_ranges; /* the changes that have an effect */
} gc__encoder;

#define GC__SLOT_INDEX_BITS 28

#define GC__REFUSE(...) (gc__fail(GC_ERROR_FORMAT, "gc_stackmap_encode: " __VA_ARGS__), false)

GC__FN bool gc__set_has(const uint64_t *set, uint32_t i) { return set[i >> 6] >> (i & 63) & 1; }

/* Sorts by a heap, which needs no memory. */
GC__FN void gc__sort_words(uint64_t *words, size_t count) {
    for (size_t end = count, start = count / 2; end > 1;) {
        if (start) {
            start--;
        } else {
            uint64_t largest = words[0];
            words[0] = words[--end];
            words[end] = largest;
        }
        size_t at = start, child;
        uint64_t word = words[at];
        while ((child = 2 * at + 1) < end) {
            if (child + 1 < end && words[child + 1] > words[child]) child++;
            if (words[child] <= word) break;
            words[at] = words[child];
            at = child;
        }
        words[at] = word;
    }
}

GC__FN bool gc__prepare_facts(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    gc_stackmap_facts *facts = &encoder->facts;
    facts->code_bytes = method->code_bytes;
    facts->prolog_bytes = method->prolog_bytes;
    facts->outgoing_bytes = method->outgoing_bytes;
    facts->argument_bytes = method->argument_bytes;
    facts->flags = method->flags;
    memcpy(facts->returns, method->returns, sizeof facts->returns);
    memcpy(facts->extra, method->extra, sizeof facts->extra);
    const char *fault = gc__facts_fault(facts);
    if (fault) return GC__REFUSE("%s", fault);
    if (method->slot_count >> (GC__SLOT_INDEX_BITS - 1)) return GC__REFUSE("%u slots are too many", method->slot_count);
    const char *missing = method->slot_count && !method->slots       ? "slots"
                          : method->point_count && !method->points   ? "points"
                          : method->range_count && !method->ranges   ? "ranges"
                          : method->change_count && !method->changes ? "changes"
                          : method->unwind_count && !method->unwind  ? "unwind"
                                                                     : NULL;
    return missing ? GC__REFUSE("`%s` is NULL, but its count is not 0", missing) : true;
}

GC__FN bool gc__prepare_unwind(gc__encoder *encoder) {
    static const char *const names[] = {"push", "pop", "allocate", "save", "frame", "leave", "restore", "body"};
    const gc_stackmap_method *method = encoder->method;
    encoder->frame = gc__unwind_start(method->prolog_bytes, method->flags);
    for (uint32_t i = 0; i < method->unwind_count; i++) {
        const gc_stackmap_unwind *row = &method->unwind[i];
        const char *fault = gc__unwind_row_fault(row);
        if (!fault && row->offset > method->code_bytes) fault = "its offset is outside of the code";
        if (!fault && i && row->offset < row[-1].offset) fault = "its offset is below that of the row before";
        if (!fault) fault = gc__unwind_step(&encoder->frame, row);
        const char *name = row->op <= GC_UNWIND_BODY ? names[row->op] : "?";
        if (fault)
            return GC__REFUSE("unwind row %u (%s, register %u, at offset %u): %s", i, name, row->number, row->offset,
                              fault);
    }
    encoder->facts.unwind_count = method->unwind_count;
    const char *fault = gc__unwind_end_fault(&encoder->frame);
    if (fault) return GC__REFUSE("%s", fault);
    if (method->outgoing_bytes > (uint32_t)encoder->frame.depth_max - 8)
        return GC__REFUSE("outgoing_bytes is %u, but the frame has %d bytes", method->outgoing_bytes,
                          encoder->frame.depth_max - 8);
    return true;
}

/* Two slots at one place would be visited twice if both were live. That cannot be known of untracked ones; of others it is
   for the compiler to say, which may keep there now an object, now a pointer into one. */
GC__FN bool gc__prepare_distinct(const gc__encoder *encoder, uint64_t *places) {
    const gc_stackmap_slot *slots = encoder->method->slots;
    uint32_t count = encoder->method->slot_count;
    for (uint32_t i = 0; i < count; i++) {
        gc_stackmap_slot where = slots[i];
        where.flags = 0;
        places[i] = gc__slot_rank(&where, 0) << GC__SLOT_INDEX_BITS | i;
    }
    gc__sort_words(places, count);
    for (uint32_t i = 1; i < count; i++) {
        if (places[i] >> GC__SLOT_INDEX_BITS != places[i - 1] >> GC__SLOT_INDEX_BITS) continue;
        uint32_t a = (uint32_t)(places[i - 1] & gc__bits_mask(GC__SLOT_INDEX_BITS));
        uint32_t b = (uint32_t)(places[i] & gc__bits_mask(GC__SLOT_INDEX_BITS));
        if (slots[a].untracked || slots[b].untracked)
            return GC__REFUSE("slots %u and %u are one place, and untracked", a, b);
        if (slots[a].flags == slots[b].flags) return GC__REFUSE("slots %u and %u are the same", a, b);
    }
    return true;
}

GC__FN const char *gc__place_name(unsigned place) {
    static const char *const names[] = {"", "cfa", "rsp", "rbp"};
    return place <= GC_PLACE_FRAME ? names[place] : "unknown place";
}

GC__FN bool gc__prepare_slots(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    uint32_t count = method->slot_count;
    for (uint32_t i = 0; i < count; i++) {
        const gc_stackmap_slot *slot = &method->slots[i];
        const char *fault = gc__slot_fault(slot, &encoder->frame, &encoder->facts);
        if (fault && slot->place == GC_PLACE_REGISTER)
            return GC__REFUSE("slot %u (register %u): %s", i, slot->number, fault);
        if (fault) return GC__REFUSE("slot %u ([%s%+d]): %s", i, gc__place_name(slot->place), slot->offset, fault);
    }
    encoder->order = (uint64_t *)gc__scratch_take(&encoder->scratch, count, sizeof *encoder->order);
    encoder->index_of = (uint32_t *)gc__scratch_take(&encoder->scratch, count, sizeof *encoder->index_of);
    encoder->kept = (uint64_t *)gc__scratch_take(&encoder->scratch, (count + 63) / 64, 8);
    encoder->live = (uint64_t *)gc__scratch_take(&encoder->scratch, (count + 63) / 64, 8);
    if (!encoder->order || !encoder->index_of || !encoder->kept || !encoder->live) return false;
    return gc__prepare_distinct(encoder, encoder->order);
}

GC__FN bool gc__prepare_rows(const gc_stackmap_method *method) {
    for (uint32_t i = 0; i < method->point_count; i++) {
        uint32_t offset = method->points[i].offset, slots = method->slot_count;
        const uint64_t *live = method->points[i].live;
        if (!offset || offset > method->code_bytes)
            return GC__REFUSE(
                "safe point %u: its offset %u is not that of an instruction after a call, in %u bytes of code", i,
                offset, method->code_bytes);
        if (i && offset <= method->points[i - 1].offset)
            return GC__REFUSE("safe point %u: its offset %u is not above that of the one before", i, offset);
        for (uint32_t slot = 0; live && slot < slots; slot++)
            if (method->slots[slot].untracked && gc__set_has(live, slot))
                return GC__REFUSE("safe point %u (offset %u): slot %u is untracked, so no live set names it", i, offset,
                                  slot);
        if (live && slots % 64 && live[slots / 64] >> slots % 64)
            return GC__REFUSE("safe point %u (offset %u): a slot is live that does not exist; there are %u", i, offset,
                              slots);
    }
    for (uint32_t i = 0; i < method->range_count; i++) {
        const gc_stackmap_range *range = &method->ranges[i];
        const char *fault = range->start >= range->end          ? "it is empty"
                            : range->end > method->code_bytes   ? "it is outside of the code"
                            : i && range->start < range[-1].end ? "it overlaps the range before, or comes before it"
                                                                : NULL;
        if (fault) return GC__REFUSE("interruptible range %u, from %u to %u: %s", i, range->start, range->end, fault);
    }
    if (method->range_count > UINT32_MAX / 4)
        return GC__REFUSE("%u interruptible ranges are too many", method->range_count);
    return true;
}

/* Stores to `used` which slots are live anywhere, as far as that can be reported. */
GC__FN void gc__prepare_used(const gc__encoder *encoder, uint64_t *used) {
    const gc_stackmap_method *method = encoder->method;
    for (uint32_t i = 0; i < method->slot_count; i++)
        if (!gc__slot_section(&method->slots[i], &encoder->facts)) encoder->kept[i >> 6] |= (uint64_t)1 << (i & 63);
    for (uint32_t i = 0; i < method->point_count; i++)
        for (uint32_t word = 0; method->points[i].live && word * 64 < method->slot_count; word++)
            used[word] |= method->points[i].live[word] & encoder->kept[word];
    for (uint32_t i = 0; i < method->change_count; i++)
        if (method->changes[i].live && method->changes[i].slot < method->slot_count)
            used[method->changes[i].slot >> 6] |= (uint64_t)1 << (method->changes[i].slot & 63);
}

/* Orders the slots, without those that are never live. */
GC__FN void gc__prepare_order(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    uint32_t count = 0;
    gc__prepare_used(encoder, encoder->live);
    for (uint32_t i = 0; i < method->slot_count; i++) {
        unsigned section = gc__slot_section(&method->slots[i], &encoder->facts);
        if (section < 2 && !gc__set_has(encoder->live, i)) continue;
        encoder->sections[section]++;
        encoder->order[count++] = gc__slot_rank(&method->slots[i], section) << GC__SLOT_INDEX_BITS | i;
    }
    gc__sort_words(encoder->order, count);
    for (uint32_t i = 0; i < count; i++) {
        encoder->order[i] &= gc__bits_mask(GC__SLOT_INDEX_BITS);
        encoder->index_of[encoder->order[i]] = i;
    }
    encoder->set_words = (encoder->sections[0] + 63) / 64;
    encoder->facts.slot_count = count;
    encoder->facts.untracked_count = encoder->sections[2];
}

/* Takes a safe point, in the map's order of slots. */
GC__FN void gc__prepare_point(gc__encoder *encoder, const gc_stackmap_point *point) {
    uint64_t *set = encoder->sets + (size_t)encoder->facts.point_count * encoder->set_words;
    encoder->points[encoder->facts.point_count++] = point->offset;
    for (uint32_t word = 0; point->live && word * 64 < encoder->method->slot_count; word++) {
        for (uint64_t bits = point->live[word] & encoder->kept[word]; bits; bits &= bits - 1) {
            uint32_t index = encoder->index_of[word * 64 + (unsigned)__builtin_ctzll(bits)];
            set[index >> 6] |= (uint64_t)1 << (index & 63);
        }
    }
}

/* A safe point within a range must say what the range says there, of the slots that a call preserves. */
GC__FN bool gc__prepare_agrees(const gc__encoder *encoder, uint32_t i) {
    const gc_stackmap_point *point = &encoder->method->points[i];
    for (uint32_t word = 0; word * 64 < encoder->method->slot_count; word++) {
        uint64_t differ = ((point->live ? point->live[word] : 0) ^ encoder->live[word]) & encoder->kept[word];
        if (!differ) continue;
        uint32_t slot = word * 64 + (unsigned)__builtin_ctzll(differ);
        bool here = gc__set_has(encoder->live, slot);
        return GC__REFUSE(
            "safe point %u (offset %u) is in an interruptible range, in which slot %u is %s there: the point says %s",
            i, point->offset, slot, here ? "live" : "dead", here ? "dead" : "live");
    }
    return true;
}

/* Lets a change act; those which undo each other at one offset leave nothing. */
GC__FN void gc__prepare_change(gc__encoder *encoder, const gc_stackmap_change *change) {
    gc__change_list *list = &encoder->in_ranges;
    if (gc__set_has(encoder->live, change->slot) == change->live) return;
    encoder->live[change->slot >> 6] ^= (uint64_t)1 << (change->slot & 63);
    uint32_t index = encoder->index_of[change->slot];
    for (uint32_t i = list->count; i && list->places[i - 1] == change->offset; i--) {
        if (list->slots[i - 1] != index) continue;
        memmove(list->slots + i - 1, list->slots + i, (list->count - i) * sizeof *list->slots);
        list->count--;
        return;
    }
    list->places[list->count] = change->offset;
    list->slots[list->count++] = index;
}

/* Goes through the code in the order of offsets: where in its points and changes one is. */
typedef struct gc__prepare_place {
    uint32_t point, change;
} gc__prepare_place;

GC__FN bool gc__prepare_change_fault(const gc__encoder *encoder, uint32_t i, uint32_t range) {
    const gc_stackmap_method *method = encoder->method;
    const gc_stackmap_change *change = &method->changes[i];
    if (i && change->offset < change[-1].offset)
        return GC__REFUSE("change %u: its offset %u is below that of the one before", i, change->offset);
    if (change->slot >= method->slot_count)
        return GC__REFUSE("change %u (offset %u): there is no slot %u", i, change->offset, change->slot);
    if (method->slots[change->slot].untracked)
        return GC__REFUSE("change %u (offset %u): slot %u is untracked, so no change names it", i, change->offset,
                          change->slot);
    bool at_end = range && change->offset == method->ranges[range - 1].end;
    bool in_range = range < method->range_count && change->offset >= method->ranges[range].start;
    if (!at_end && !in_range)
        return GC__REFUSE("change %u: its offset %u is in no interruptible range", i, change->offset);
    return true;
}

/* The points of a range that come before the change at `offset`, or before the end of the range there. */
GC__FN bool gc__prepare_points_below(gc__encoder *encoder, gc__prepare_place *place, uint32_t offset) {
    const gc_stackmap_method *method = encoder->method;
    for (; place->point < method->point_count && method->points[place->point].offset - 1 < offset; place->point++)
        if (!gc__prepare_agrees(encoder, place->point)) return false;
    return true;
}

GC__FN bool gc__prepare_range(gc__encoder *encoder, gc__prepare_place *place, uint32_t range) {
    const gc_stackmap_method *method = encoder->method;
    uint32_t end = method->ranges[range].end;
    memset(encoder->live, 0, ((size_t)method->slot_count + 63) / 64 * 8);
    for (; place->change < method->change_count && method->changes[place->change].offset < end; place->change++) {
        const gc_stackmap_change *change = &method->changes[place->change];
        if (!gc__prepare_change_fault(encoder, place->change, range)) return false;
        if (change->offset < method->ranges[range].start) continue; /* it is at the end of the range before */
        if (!gc__prepare_points_below(encoder, place, change->offset)) return false;
        gc__prepare_change(encoder, change);
    }
    return gc__prepare_points_below(encoder, place, end);
}

GC__FN bool gc__prepare_code(gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    gc__prepare_place place = {0, 0};
    gc__prepare_order(encoder);
    size_t set_bytes = (size_t)encoder->set_words * 8;
    encoder->points = (uint32_t *)gc__scratch_take(&encoder->scratch, method->point_count, sizeof *encoder->points);
    encoder->sets = (uint64_t *)gc__scratch_take(&encoder->scratch, method->point_count, set_bytes);
    encoder->in_ranges.places = (uint32_t *)gc__scratch_take(&encoder->scratch, method->change_count, sizeof(uint32_t));
    encoder->in_ranges.slots = (uint32_t *)gc__scratch_take(&encoder->scratch, method->change_count, sizeof(uint32_t));
    if (!encoder->points || !encoder->sets || !encoder->in_ranges.places || !encoder->in_ranges.slots) return false;
    for (uint32_t range = 0; range <= method->range_count; range++) {
        uint32_t start = range < method->range_count ? method->ranges[range].start : UINT32_MAX;
        for (; place.point < method->point_count && method->points[place.point].offset - 1 < start; place.point++)
            gc__prepare_point(encoder, &method->points[place.point]);
        if (range < method->range_count && !gc__prepare_range(encoder, &place, range)) return false;
    }
    for (; place.change < method->change_count; place.change++)
        if (!gc__prepare_change_fault(encoder, place.change, method->range_count)) return false;
    encoder->facts.range_count = method->range_count;
    encoder->facts.change_count = encoder->in_ranges.count;
    return true;
}

/* Checks the description, and puts it in order. False: gc__fail has been called. */
GC__FN bool gc__prepare(gc__encoder *encoder) {
    return gc__prepare_facts(encoder) && gc__prepare_unwind(encoder) && gc__prepare_slots(encoder) &&
           gc__prepare_rows(encoder->method) && gc__prepare_code(encoder);
}
/* Writing stack maps. */


/* The live sets of the safe points, in the form that takes the fewest bits. */
typedef struct gc__encoded_sets {
    gc__live_sets form;
    uint32_t rows;           /* distinct sets, or changes */
    uint32_t *numbers;       /* for each point, that of its distinct set */
    uint32_t *firsts;        /* for each distinct set, the first point that has it */
    gc__change_list changes; /* between one point and the next, from an empty set on */
} gc__encoded_sets;

GC__FN const uint64_t *gc__encode_set(const gc__encoder *encoder, uint32_t point) {
    return encoder->sets + (size_t)point * encoder->set_words;
}

/* Numbers the distinct sets, by a table of hashes. */
GC__FN bool gc__encode_distinct(gc__encoder *encoder, gc__encoded_sets *sets) {
    uint32_t points = encoder->facts.point_count, size = 2;
    while (size < points * (uint64_t)2 && size < (uint32_t)1 << 31) size *= 2;
    sets->numbers = (uint32_t *)gc__scratch_take(&encoder->scratch, points, sizeof *sets->numbers);
    sets->firsts = (uint32_t *)gc__scratch_take(&encoder->scratch, points, sizeof *sets->firsts);
    uint32_t *table = (uint32_t *)gc__scratch_take(&encoder->scratch, size, sizeof *table);
    if (!sets->numbers || !sets->firsts || !table) return false;
    for (uint32_t point = 0; point < points; point++) {
        const uint64_t *set = gc__encode_set(encoder, point);
        uint64_t hash = 0;
        for (uint32_t word = 0; word < encoder->set_words; word++)
            hash = (hash ^ set[word]) * 0x9E3779B97F4A7C15, hash ^= hash >> 29;
        uint32_t at = (uint32_t)hash & (size - 1);
        while (table[at] &&
               memcmp(gc__encode_set(encoder, sets->firsts[table[at] - 1]), set, (size_t)encoder->set_words * 8) != 0)
            at = (at + 1) & (size - 1);
        if (!table[at]) {
            sets->firsts[sets->rows++] = point;
            table[at] = sets->rows;
        }
        sets->numbers[point] = table[at] - 1;
    }
    return true;
}

/* The changes from one point to the next: counts them, and stores them if the list has room. */
GC__FN uint32_t gc__encode_changes(const gc__encoder *encoder, gc__change_list *list) {
    uint32_t count = 0;
    for (uint32_t point = 0; point < encoder->facts.point_count; point++) {
        const uint64_t *set = gc__encode_set(encoder, point);
        for (uint32_t word = 0; word < encoder->set_words; word++) {
            uint64_t bits = set[word] ^ (point ? gc__encode_set(encoder, point - 1)[word] : 0);
            for (; bits; bits &= bits - 1, count += count < UINT32_MAX) {
                if (!list->places) continue;
                list->places[count] = point;
                list->slots[count] = word * 64 + (unsigned)__builtin_ctzll(bits);
            }
        }
    }
    return count;
}

GC__FN uint64_t gc__number_bits(uint32_t value, unsigned base) {
    gc__bit_writer counter = {NULL, 0};
    gc__bits_write_number(&counter, value, base);
    return counter.at;
}

GC__FN bool gc__encode_choose(gc__encoder *encoder, gc__encoded_sets *sets) {
    uint32_t points = encoder->facts.point_count, slots = encoder->sections[0];
    memset(sets, 0, sizeof *sets);
    if (!points || !slots) return true;
    if (!gc__encode_distinct(encoder, sets)) return false;
    uint32_t changes = gc__encode_changes(encoder, &sets->changes);
    uint64_t direct = (uint64_t)points * slots;
    uint64_t distinct = 1 + gc__number_bits(sets->rows, GC__BASE_MANY) + (uint64_t)points * gc__bits_for(sets->rows) +
                        (uint64_t)sets->rows * slots;
    uint64_t changing =
        1 + gc__number_bits(changes, GC__BASE_MANY) + gc__changes_place(0, changes, points - 1, slots).end;
    if (direct <= distinct && direct <= changing) return true;
    if (distinct <= changing) {
        sets->form = GC__SETS_DISTINCT;
        return true;
    }
    sets->form = GC__SETS_CHANGES;
    sets->rows = sets->changes.count = changes;
    sets->changes.places = (uint32_t *)gc__scratch_take(&encoder->scratch, changes, sizeof(uint32_t));
    sets->changes.slots = (uint32_t *)gc__scratch_take(&encoder->scratch, changes, sizeof(uint32_t));
    if (!sets->changes.places || !sets->changes.slots) return false;
    gc__encode_changes(encoder, &sets->changes);
    return true;
}

GC__FN void gc__write_set(gc__bit_writer *writer, const uint64_t *set, uint32_t slots) {
    for (uint32_t i = 0; i < slots; i += 32) {
        unsigned width = slots - i < 32 ? (unsigned)(slots - i) : 32;
        gc__bits_write(writer, set[i >> 6] >> (i & 63) & gc__bits_mask(width), width);
    }
}

/* Writes changes: their places, their slots, and a whole set after each GC__CHANGES_APART. In ranges the set is empty at the
   start of each; a reader takes no whole set from before that, so this need not be known here, except for what it holds. */
GC__FN void gc__write_changes(gc__bit_writer *writer, gc__encoder *encoder, const gc__change_list *list, uint32_t max,
                              uint32_t slots) {
    gc__changes changes = gc__changes_place(writer->at, list->count, max, slots);
    gc__ascending_write(writer, list->places, list->count, max);
    for (uint32_t i = 0; i < list->count; i++) gc__bits_write(writer, list->slots[i], changes.slot_bits);
    const gc_stackmap_range *range = list == &encoder->in_ranges ? encoder->method->ranges : NULL;
    memset(encoder->live, 0, ((size_t)slots + 63) / 64 * 8);
    for (uint32_t i = 0; i < list->count && writer->start; i++) {
        if (range && list->places[i] >= range->end) {
            while (list->places[i] >= range->end) range++;
            memset(encoder->live, 0, ((size_t)slots + 63) / 64 * 8);
        }
        encoder->live[list->slots[i] >> 6] ^= (uint64_t)1 << (list->slots[i] & 63);
        if ((i + 1) % GC__CHANGES_APART == 0) gc__write_set(writer, encoder->live, slots);
    }
    writer->at = changes.end;
}

GC__FN void gc__write_sets(gc__bit_writer *writer, gc__encoder *encoder, const gc__encoded_sets *sets) {
    uint32_t points = encoder->facts.point_count, slots = encoder->sections[0];
    if (sets->form == GC__SETS_CHANGES) {
        gc__write_changes(writer, encoder, &sets->changes, points - 1, slots);
    } else if (sets->form == GC__SETS_DIRECT) {
        for (uint32_t i = 0; i < points; i++) gc__write_set(writer, gc__encode_set(encoder, i), slots);
    } else {
        for (uint32_t i = 0; i < points; i++) gc__bits_write(writer, sets->numbers[i], gc__bits_for(sets->rows));
        for (uint32_t i = 0; i < sets->rows; i++)
            gc__write_set(writer, gc__encode_set(encoder, sets->firsts[i]), slots);
    }
}

GC__FN void gc__write_ranges(gc__bit_writer *writer, const gc__encoder *encoder) {
    const gc_stackmap_method *method = encoder->method;
    gc__ascending list = gc__ascending_place(writer->at, method->range_count * 2, method->code_bytes);
    for (uint32_t i = 0; i < list.count; i++)
        gc__ascending_put(writer, &list, i, i & 1 ? method->ranges[i / 2].end : method->ranges[i / 2].start);
    writer->at = list.end;
}

GC__FN void gc__write_register(gc__bit_writer *writer, uint8_t number) {
    uint32_t index = 0;
    while (index < 7 && gc__unwind_registers[index] != number) index++;
    gc__bits_write(writer, index, 3);
    if (index == 7) gc__bits_write(writer, number, 4);
}

GC__FN void gc__write_unwind(gc__bit_writer *writer, const gc_stackmap_unwind *rows, uint32_t count) {
    gc_stackmap_unwind before = {0, GC_UNWIND_ALLOCATE, 0, 0};
    for (uint32_t i = 0; i < count; before = rows[i++]) {
        uint8_t op = rows[i].op;
        gc__bits_write(writer, op < GC_UNWIND_SAVE ? op : (uint32_t)GC__UNWIND_CODE_OTHER, 2);
        if (op >= GC_UNWIND_SAVE) gc__bits_write(writer, op - GC_UNWIND_SAVE, 3);
        if (gc__unwind_has_number(op)) gc__write_register(writer, rows[i].number);
        if (gc__unwind_has_bytes(op)) gc__bits_write_signed(writer, rows[i].bytes / 8, GC__BASE_AREA);
        uint32_t step = rows[i].offset - before.offset;
        bool usual = step == gc__unwind_usual_bytes(&before, &rows[i]);
        gc__bits_write(writer, usual, 1);
        if (!usual) gc__bits_write_number(writer, step, GC__BASE_MANY);
    }
}

/* The reverse of gc__bits_spread. */
GC__FN uint32_t gc__bits_gather(uint32_t bits, uint32_t among) {
    uint32_t result = 0;
    for (unsigned i = 0; among; among &= among - 1, i++)
        if (bits & among & (0 - among)) result |= (uint32_t)1 << i;
    return result;
}

GC__FN const gc_stackmap_slot *gc__encode_slot(const gc__encoder *encoder, uint32_t i) {
    return &encoder->method->slots[encoder->order[i]];
}

/* Writes the run of slots that begins at `i`, and returns where it ends, at `end` at the latest. */
GC__FN uint32_t gc__write_run(gc__bit_writer *writer, const gc__encoder *encoder, uint32_t i, uint32_t end,
                              unsigned section) {
    const gc_stackmap_slot *slot = gc__encode_slot(encoder, i);
    uint32_t last = i + 1, registers = 0;
    while (last < end && gc__encode_slot(encoder, last)->place == slot->place &&
           gc__encode_slot(encoder, last)->flags == slot->flags)
        last++;
    gc__bits_write(writer, slot->place, 2);
    gc__bits_write(writer, slot->flags != 0, 1);
    if (slot->flags) gc__bits_write(writer, (slot->flags & 3u) | (slot->flags & GC_SLOT_VALUE) >> 1, 3);
    if (slot->place == GC_PLACE_REGISTER) {
        uint32_t among = gc__slot_registers(section);
        for (uint32_t k = i; k < last; k++) registers |= (uint32_t)1 << gc__encode_slot(encoder, k)->number;
        gc__bits_write(writer, gc__bits_gather(registers, among), gc__bits_count(among));
        return last;
    }
    gc__bits_write(writer, last == end, 1);
    if (last < end) gc__bits_write_number(writer, last - i - 1, GC__BASE_POINTS);
    gc__bits_write_signed(writer, slot->offset / 8, GC__BASE_OFFSET);
    for (uint32_t k = i + 1; k < last; k++) {
        int64_t gap = (int64_t)gc__encode_slot(encoder, k)->offset - gc__encode_slot(encoder, k - 1)->offset;
        gc__bits_write_number(writer, (uint32_t)(gap / 8 - 1), GC__BASE_GAP);
    }
    return last;
}

GC__FN void gc__write_slots(gc__bit_writer *writer, const gc__encoder *encoder) {
    uint32_t i = 0, end = 0;
    for (unsigned section = 0; section < 3; section++) {
        end += encoder->sections[section];
        while (i < end) i = gc__write_run(writer, encoder, i, end, section);
    }
}

GC__FN bool gc__encode_is_special(const gc__encoder *encoder) {
    const gc_stackmap_facts *facts = &encoder->facts;
    return facts->flags || facts->returns[1] || facts->outgoing_bytes || facts->argument_bytes || facts->range_count ||
           encoder->sections[1] || encoder->sections[2];
}

GC__FN void gc__write_special(gc__bit_writer *writer, const gc__encoder *encoder) {
    const gc_stackmap_facts *facts = &encoder->facts;
    gc__bits_write(writer, facts->flags, 10);
    gc__bits_write(writer, facts->returns[1], 2);
    gc__bits_write_number(writer, facts->outgoing_bytes / 8, GC__BASE_AREA);
    gc__bits_write_number(writer, facts->argument_bytes / 8, GC__BASE_AREA);
    for (unsigned i = 0; i < 5; i++)
        if (facts->flags & GC_METHOD_SECURITY_OBJECT << i)
            gc__bits_write_signed(writer, facts->extra[i] / 8, GC__BASE_OFFSET);
    if (facts->flags & GC_METHOD_EDIT_AND_CONTINUE)
        gc__bits_write_number(writer, (uint32_t)facts->extra[5] / 8, GC__BASE_AREA);
    gc__bits_write_number(writer, facts->range_count, GC__BASE_FEW);
    if (facts->range_count) gc__bits_write_number(writer, facts->change_count, GC__BASE_MANY);
    gc__bits_write_number(writer, encoder->sections[1], GC__BASE_FEW);
    gc__bits_write_number(writer, encoder->sections[2], GC__BASE_FEW);
}

/* All after the bytes of the map; in the order in which gc__stackmap_open reads it. */
GC__FN void gc__write_map(gc__bit_writer *writer, gc__encoder *encoder, const gc__encoded_sets *sets) {
    const gc_stackmap_facts *facts = &encoder->facts;
    bool special = gc__encode_is_special(encoder), unwinds = facts->unwind_count || facts->prolog_bytes;
    gc__bit_writer unwind = {NULL, 0};
    gc__write_unwind(&unwind, encoder->method->unwind, facts->unwind_count);
    gc__bits_write_number(writer, facts->code_bytes, GC__BASE_CODE);
    gc__bits_write(writer, special, 1);
    gc__bits_write(writer, unwinds, 1);
    gc__bits_write(writer, facts->returns[0], 2);
    if (special) gc__write_special(writer, encoder);
    gc__bits_write_number(writer, facts->point_count, GC__BASE_POINTS);
    gc__bits_write_number(writer, encoder->sections[0], GC__BASE_SLOTS);
    if (facts->point_count && encoder->sections[0]) {
        gc__bits_write(writer, sets->form != GC__SETS_DIRECT, 1);
        if (sets->form != GC__SETS_DIRECT) {
            gc__bits_write(writer, sets->form == GC__SETS_CHANGES, 1);
            gc__bits_write_number(writer, sets->rows, GC__BASE_MANY);
        }
    }
    if (unwinds) {
        gc__bits_write_number(writer, facts->prolog_bytes, GC__BASE_MANY);
        gc__bits_write_number(writer, facts->unwind_count, GC__BASE_MANY);
        if (facts->unwind_count) gc__bits_write_number(writer, (uint32_t)unwind.at, GC__BASE_OFFSET);
    }
    gc__ascending_write(writer, encoder->points, facts->point_count, facts->code_bytes);
    gc__write_sets(writer, encoder, sets);
    gc__write_ranges(writer, encoder);
    gc__write_changes(writer, encoder, &encoder->in_ranges, facts->code_bytes,
                      encoder->sections[0] + encoder->sections[1]);
    gc__write_unwind(writer, encoder->method->unwind, facts->unwind_count);
    gc__write_slots(writer, encoder);
}

/* The first byte, and the bytes of the map. Returns how many bytes they take themselves. */
GC__FN uint32_t gc__write_size(uint8_t *map, uint64_t bytes) {
    uint32_t length = 1;
    if (map) map[0] = GC__STACKMAP_FIRST_BYTE;
    do {
        if (map) map[length] = (uint8_t)((bytes & 127) | (bytes > 127 ? 128 : 0));
        length++;
    } while (bytes >>= 7);
    return length;
}

GC__FN size_t gc__encode(gc__encoder *encoder, uint8_t *map, size_t room) {
    gc__encoded_sets sets;
    if (!gc__prepare(encoder) || !gc__encode_choose(encoder, &sets)) return 0;
    gc__bit_writer writer = {NULL, 0};
    gc__write_map(&writer, encoder, &sets);
    uint64_t body = (writer.at + 7) / 8, bytes = body + 2;
    while (body + gc__write_size(NULL, bytes) != bytes) bytes = body + gc__write_size(NULL, bytes);
    if (bytes > GC__STACKMAP_BYTES_MAX) {
        gc__fail(GC_ERROR_FORMAT, "gc_stackmap_encode: the map would have more than %u bytes", GC__STACKMAP_BYTES_MAX);
        return 0;
    }
    if (bytes > room) return bytes;
    memset(map, 0, bytes);
    writer.start = map;
    writer.at = (uint64_t)gc__write_size(map, bytes) * 8;
    gc__write_map(&writer, encoder, &sets);
    return bytes;
}

GC_API size_t gc_stackmap_encode(const gc_stackmap_method *method, void *map, size_t room) {
    if (gc__is_null(method, "gc_stackmap_encode", "method") || (room && gc__is_null(map, "gc_stackmap_encode", "map")))
        return 0;
    gc__encoder encoder;
    memset(&encoder, 0, offsetof(gc__encoder, scratch));
    memset(&encoder.scratch, 0, offsetof(gc__scratch, first));
    memset(&encoder.frame, 0, sizeof encoder - offsetof(gc__encoder, frame));
    encoder.method = method;
    size_t bytes = gc__encode(&encoder, (uint8_t *)map, room);
    gc__scratch_free(&encoder.scratch);
    return bytes;
}
/* The tree in which code is looked up by address, without a lock.

   The root has a cell for each 4 GiB of the address space. A node divides the span of the cell that refers to it among 8,
   16 .. 1024 cells. A leaf divides its span among 2, 4, 8 or 16 slices, which lie one behind the other in memory: so most of
   a tree is slices, of which a lookup reads one, and what refers to them is small enough for a cache. Neighbouring cells
   of a node may share a leaf: such a group has a power of two of cells, and is aligned. So a node that must have smaller
   cells doubles, and its leaves stay.

   Invariant: what a reader can come to is whole. A block (node or leaf) is written before a cell refers to it; afterwards
   only single cells and words of it change, each at once. A block that was replaced stays as it is until `epoch` has been
   raised, and a reader that finds another epoch than at first begins again. So a reader that has interrupted a writer on
   its own thread never does. */

/* A search among a few sorted numbers: part of the platform contract, for the tree of code. */


#define GC__SEARCH_NUMBERS 12

/* Returns the index of the first number above x, from the third on; GC__SEARCH_NUMBERS if there is none. There are
   GC__SEARCH_NUMBERS numbers, ascending, and aligned to 16 bytes. If others write them during the search, the result is
   any index, but not below 2. The search has no branches that depend on the numbers. */
GC__INLINED size_t gc__cpu_search(const int32_t *numbers, int32_t x);

#if defined(__x86_64__) && !GC__THREAD_SANITIZER
typedef int32_t __attribute__((vector_size(16), may_alias)) gc__cpu_four;

/* Later reads are not moved before the search, as with atomic reads. */
GC__INLINED size_t gc__cpu_search(const int32_t *numbers, int32_t x) {
    const gc__cpu_four *fours = (const gc__cpu_four *)(const void *)numbers;
    gc__cpu_four xs, a, b, c;
    unsigned above; /* a bit for each number */
    __asm__ volatile("{movd %[x], %[xs]|movd %[xs], %[x]}\n\t"
                     "{pshufd $0, %[xs], %[xs]|pshufd %[xs], %[xs], 0}\n\t"
                     "{movdqa %[first], %[a]|movdqa %[a], %[first]}\n\t"
                     "{movdqa %[second], %[b]|movdqa %[b], %[second]}\n\t"
                     "{movdqa %[third], %[c]|movdqa %[c], %[third]}\n\t"
                     "{pcmpgtd %[xs], %[a]|pcmpgtd %[a], %[xs]}\n\t"
                     "{pcmpgtd %[xs], %[b]|pcmpgtd %[b], %[xs]}\n\t"
                     "{pcmpgtd %[xs], %[c]|pcmpgtd %[c], %[xs]}\n\t"
                     "{packssdw %[b], %[a]|packssdw %[a], %[b]}\n\t"
                     "{packssdw %[c], %[c]|packssdw %[c], %[c]}\n\t"
                     "{packsswb %[c], %[a]|packsswb %[a], %[c]}\n\t"
                     "{pmovmskb %[a], %[above]|pmovmskb %[above], %[a]}"
                     : [xs] "=&x"(xs), [a] "=&x"(a), [b] "=&x"(b), [c] "=&x"(c), [above] "=r"(above)
                     : [first] "m"(fours[0]), [second] "m"(fours[1]), [third] "m"(fours[2]), [x] "r"(x)
                     : "memory");
    return (size_t)__builtin_ctz((above & ~3u) | 1u << GC__SEARCH_NUMBERS);
}
#else
/* Returns i + step if that number is not above x. */
GC__INLINED unsigned gc__cpu_search_step(const int32_t *numbers, unsigned i, unsigned step, int32_t x) {
    return i + (step & (0 - (unsigned)(__atomic_load_n(&numbers[i + step], __ATOMIC_ACQUIRE) <= x)));
}

GC__INLINED size_t gc__cpu_search(const int32_t *numbers, int32_t x) {
    unsigned i = gc__cpu_search_step(numbers, 1, 5, x);
    i = gc__cpu_search_step(numbers, i, 3, x);
    i = gc__cpu_search_step(numbers, i, 1, x);
    return gc__cpu_search_step(numbers, i, 1, x) + 1;
}
#endif

#define GC__TREE_ADDRESS_BITS 48
#define GC__TREE_ROOT_SHIFT 32 /* the span of a cell of the root */
#define GC__TREE_ROOT_CELLS ((size_t)1 << (GC__TREE_ADDRESS_BITS - GC__TREE_ROOT_SHIFT))
#define GC__TREE_BYTES_MAX ((size_t)1 << 32) /* of all blocks, since a cell has 32 bits */
#define GC__TREE_BYTES_MIN ((size_t)1 << 20)
#define GC__TREE_BYTES_KEPT ((size_t)1 << 20) /* while no code is registered */
#define GC__TREE_BEHIND ((size_t)1 << 16) /* readable beyond the last block, of which a reader may see only the start */
#define GC__TREE_ROOT ((size_t)4096)      /* the offset of the root */
#define GC__TREE_START (GC__TREE_ROOT + GC__TREE_ROOT_CELLS * sizeof(uint32_t)) /* the offset of further blocks */
#define GC__TREE_RETIRED 32 /* blocks that wait until they may be used again */

/* Blocks have 256, 512 .. 4096 bytes; their kinds count from 0. */
#define GC__BLOCK_SHIFT 8
#define GC__BLOCK_KINDS 5

/* A cell is an offset among the blocks, plus 8 bits.
   Of a node: the offset of its block, plus GC__CELL_NODE, plus 32 minus the log2 of its cells: so 32 bits that begin with the
   index of a cell yield it if they are shifted by the low 5 bits.
   Of a leaf: the log2 of the span of a slice, plus 32 times the log2 of 16 by the number of slices. 4 bits of the address say
   which slice it is. If there are fewer than 16, the upper bits of these 4 are the same in the whole leaf, and so are its
   first slice's; the offset is that of the block less so many slices.
   It is 0 in an empty cell: where it refers to there are 16 empty slices. */
#define GC__CELL_OFFSET (~(uint32_t)255)
#define GC__CELL_NODE 128u
#define GC__CELL_INDEX ((1u << GC__BLOCK_SHIFT) - 4) /* these bits of an offset are those of a cell within a block */
#define GC__NODE_BITS_MIN 3
#define GC__NODE_BITS_MAX 10
#define GC__LEAF_SLICES 16 /* at most */

/* A slice lists where pieces of code start, in ascending order: 2^31 less than the low 32 bits of their addresses, as signed
   numbers. For each of these keys it has a word: the address of the gc_code * 2^16, plus the piece's bytes; if these are
   2^16 or more 0, and the piece extends to the next key, or the end of the slice. A word whose address is 0 says that there
   is no code. Entries that are not used come first. What precedes the first entry is words[0], whose low bits have, in a
   leaf's first slice, the number of words with code in the leaf. Key i, from 1 on, is keys[i + 1]; keys[0] and keys[1] are
   words[10]. */
#define GC__SLICE_ENTRIES 10
#define GC__SLICE_BYTES ((uint64_t)0xFFFF) /* of a word */
typedef union gc__slice {
    uint64_t words[16];
    struct {
        uint64_t space[10];
        int32_t keys[GC__SEARCH_NUMBERS];
    } part;
} gc__slice;
GC__STATIC_ASSERT(sizeof(gc__slice) == 128, "a slice is two cache lines");

typedef struct gc__tree {
    uintptr_t limit; /* atomic; addresses below it are looked up; 0: there are no blocks yet, nor a mask */
    uint64_t epoch;  /* atomic; raised before blocks that were replaced are used again */
    char *blocks;
    uint32_t mask;     /* of the offset in a cell */
    char separate[36]; /* readers have the line above, writers those below */
    size_t count;      /* atomic; of registered code */
    /* The rest is guarded by gc__code_lock. */
    size_t bytes, committed, used;      /* of the blocks: how many are reserved, can be used, and have been used */
    uint32_t free[GC__BLOCK_KINDS];     /* the first of each list, which are linked by their first words */
    uint32_t retired[GC__TREE_RETIRED]; /* replaced in this epoch: offsets, plus kinds */
    size_t retired_count;
} gc__tree;
GC__VAR gc__tree gc__the_tree __attribute__((aligned(64)));

/* Reading and writing what readers without the lock may read. */
GC__FN uint32_t gc__cell_get(const uint32_t *cell) { return __atomic_load_n(cell, __ATOMIC_ACQUIRE); }
GC__FN void gc__cell_set(uint32_t *cell, uint32_t value) { __atomic_store_n(cell, value, __ATOMIC_RELEASE); }
GC__FN uint64_t gc__word_get(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
GC__FN void gc__word_set(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

GC__FN bool gc__cell_is_node(uint32_t cell) { return (cell & GC__CELL_NODE) != 0; }
/* What the 4 bits are, for the low bits of an address. */
GC__FN unsigned gc__cell_slice(uint32_t cell, uint32_t x) { return x >> (cell & 31) & (GC__LEAF_SLICES - 1); }
GC__FN const gc_code *gc__word_code(uint64_t word) { return (const gc_code *)(uintptr_t)(word >> 16); }

GC__FN int32_t gc__key_of(uintptr_t address) { return (int32_t)((uint32_t)address ^ 0x80000000u); }

/* Looking up. There is no jump after the first read of a slice. Its outcome could not be predicted, and so all that comes
   afterwards, such as further lookups, would wait for the read. */

GC__INLINED const gc_code *gc__slice_find(const gc__slice *slice, int32_t x) {
    __builtin_prefetch(slice);
    size_t above = gc__cpu_search(slice->part.keys, x);
    uint64_t word = gc__word_get(&slice->words[above - 2]);
    uint32_t into = (uint32_t)x - (uint32_t)__atomic_load_n(&slice->part.keys[above - 1], __ATOMIC_ACQUIRE);
    return into <= (uint32_t)(word & GC__SLICE_BYTES) - 1 ? gc__word_code(word) : NULL;
}

/* The cell of a node; the node's index is in the upper bits of `next`. */
GC__INLINED uint32_t gc__node_cell(const char *blocks, uint32_t mask, uint32_t cell, uint32_t next) {
    uint32_t at = (cell & mask) + (next >> (cell & 31)) * (uint32_t)sizeof cell; /* any, if the block is another one by now */
    return gc__cell_get((const uint32_t *)(const void *)(blocks + (at & (mask | GC__CELL_INDEX))));
}

/* Looks up an address below the limit. False: the epoch has changed. The cell may be of a block that became another one
   meanwhile: `mask` keeps all that is read within the blocks. */
GC__INLINED bool gc__tree_try(const gc__tree *tree, uintptr_t address, const gc_code **code) {
    const char *blocks = tree->blocks;
    const uint32_t *root = (const uint32_t *)(const void *)(blocks + GC__TREE_ROOT);
    uint32_t mask = tree->mask, x = (uint32_t)address;
    uint64_t epoch = gc__word_get(&tree->epoch);
    uint32_t cell = gc__cell_get(&root[address >> GC__TREE_ROOT_SHIFT]);
    if (gc__cell_is_node(cell)) cell = gc__node_cell(blocks, mask, cell, x);
    if (gc__cell_is_node(cell)) cell = gc__node_cell(blocks, mask, cell, x << GC__NODE_BITS_MAX);
    if (gc__cell_is_node(cell)) cell = gc__node_cell(blocks, mask, cell, x << 2 * GC__NODE_BITS_MAX);
    const gc__slice *first = (const gc__slice *)(const void *)(blocks + (cell & mask));
    *code = gc__slice_find(first + gc__cell_slice(cell, x), gc__key_of(address));
    return GC__LIKELY(gc__word_get(&tree->epoch) == epoch);
}

GC__OUT_OF_LINE const gc_code *gc__tree_find_again(uintptr_t address) {
    const gc_code *code;
    while (!gc__tree_try(&gc__the_tree, address, &code)) {
    }
    return code;
}

GC__INLINED const gc_code *gc__tree_find(uintptr_t address) {
    const gc_code *code;
    if (GC__UNLIKELY(address >= __atomic_load_n(&gc__the_tree.limit, __ATOMIC_ACQUIRE))) return NULL;
    return gc__tree_try(&gc__the_tree, address, &code) ? code : gc__tree_find_again(address);
}

/* Blocks. The lock is held from here on. */

GC__FN uint32_t *gc__tree_root(uintptr_t address) {
    return (uint32_t *)(void *)(gc__the_tree.blocks + GC__TREE_ROOT) + (address >> GC__TREE_ROOT_SHIFT);
}
GC__FN uint32_t *gc__block_at(uint32_t offset) { return (uint32_t *)(void *)(gc__the_tree.blocks + offset); }
GC__FN uint32_t *gc__cell_node(uint32_t cell) { return gc__block_at(cell & GC__CELL_OFFSET); }
GC__FN unsigned gc__node_bits(uint32_t cell) { return 32 - (cell & 31); }

/* Of a leaf: the log2 of 16 by the number of its slices, this number, and the log2 of the span of a slice and of the leaf. */
GC__FN unsigned gc__leaf_few(uint32_t cell) { return cell >> 5 & 3; }
GC__FN unsigned gc__leaf_slices(uint32_t cell) { return GC__LEAF_SLICES >> gc__leaf_few(cell); }
GC__FN unsigned gc__slice_shift(uint32_t cell) { return cell & 31; }
GC__FN unsigned gc__leaf_shift(uint32_t cell) { return gc__slice_shift(cell) + 4 - gc__leaf_few(cell); }

/* The slice of the leaf that has the address, and the first slice, whose leaf has it. */
GC__FN gc__slice *gc__leaf_slice(uint32_t cell, uintptr_t address) {
    return (gc__slice *)(void *)gc__block_at(cell & GC__CELL_OFFSET) + gc__cell_slice(cell, (uint32_t)address);
}
GC__FN gc__slice *gc__leaf_first(uint32_t cell, uintptr_t address) {
    return gc__leaf_slice(cell, address >> gc__leaf_shift(cell) << gc__leaf_shift(cell));
}

/* The kind of block of which a cell with these low bits is. */
GC__FN unsigned gc__block_kind(uint32_t cell) {
    if (!gc__cell_is_node(cell)) return 3 - gc__leaf_few(cell);
    unsigned bits = gc__node_bits(cell);
    return bits + 2 > GC__BLOCK_SHIFT ? bits + 2 - GC__BLOCK_SHIFT : 0;
}

/* Reserves address space for the blocks; the less is to be had, the smaller a part of it. */
GC__FN bool gc__tree_reserve(gc__tree *tree) {
    for (size_t bytes = GC__TREE_BYTES_MAX; bytes >= GC__TREE_BYTES_MIN; bytes /= 2) {
        void *spare = bytes < GC__TREE_BYTES_MAX ? gc__os_reserve(3 * bytes, GC__HUGE_PAGE_BYTES, false) : NULL;
        bool enough = spare || bytes == GC__TREE_BYTES_MAX;
        char *blocks = enough ? (char *)gc__os_reserve(bytes + GC__TREE_BEHIND, GC__HUGE_PAGE_BYTES, true) : NULL;
        if (spare) gc__os_unmap(spare, 3 * bytes);
        if (!blocks) continue;
        tree->bytes = bytes;
        tree->committed = GC__TREE_BYTES_MIN / 2;
        tree->used = GC__TREE_START;
        tree->mask = (uint32_t)(bytes - 1) & GC__CELL_OFFSET;
        if (gc__os_commit(blocks, tree->committed)) {
            tree->blocks = blocks;
            __atomic_store_n(&tree->limit, (uintptr_t)1 << GC__TREE_ADDRESS_BITS, __ATOMIC_RELEASE);
            return true;
        }
        gc__os_unmap(blocks, bytes + GC__TREE_BEHIND);
        return false;
    }
    return false;
}

/* Provides memory for further blocks: as much as they have already, but not more than 64 MiB. From 2 MiB on in huge pages,
   without which a lookup in many ranges would wait for page tables as well. */
GC__FN bool gc__tree_commit(gc__tree *tree) {
    size_t more = gc__min(gc__min(tree->committed, (size_t)1 << 26), tree->bytes - tree->committed);
    char *at = tree->blocks + tree->committed;
    if (!more || !gc__os_commit(at, more)) return false;
    if (tree->committed >= GC__HUGE_PAGE_BYTES) gc__os_prefer_huge_pages(at, more);
    tree->committed += more;
    return true;
}

GC__FN void gc__block_free(uint32_t offset, unsigned kind) {
    gc__cell_set(gc__block_at(offset), gc__the_tree.free[kind]);
    gc__the_tree.free[kind] = offset;
}

/* Begins an epoch: blocks that were replaced may be used again. */
GC__FN void gc__tree_reuse(gc__tree *tree) {
    gc__word_set(&tree->epoch, tree->epoch + 1);
    for (size_t i = 0; i < tree->retired_count; i++)
        gc__block_free(tree->retired[i] & GC__CELL_OFFSET, tree->retired[i] & ~GC__CELL_OFFSET);
    tree->retired_count = 0;
}

/* Gives up the block to which a cell referred, as a node, or as the leaf of the address. */
GC__FN void gc__block_retire(uint32_t cell, uintptr_t address) {
    gc__tree *tree = &gc__the_tree;
    char *block = (char *)gc__cell_node(cell);
    if (!gc__cell_is_node(cell)) block = (char *)gc__leaf_first(cell, address);
    if (tree->retired_count == GC__TREE_RETIRED) gc__tree_reuse(tree);
    tree->retired[tree->retired_count++] = (uint32_t)(block - tree->blocks) + gc__block_kind(cell);
}

/* A free block of the kind, if need be cut from a larger one. 0: there is none. */
GC__FN uint32_t gc__block_reuse(gc__tree *tree, unsigned kind) {
    unsigned from = kind;
    while (from < GC__BLOCK_KINDS && !tree->free[from]) from++;
    if (from == GC__BLOCK_KINDS) return 0;
    uint32_t offset = tree->free[from];
    tree->free[from] = gc__cell_get(gc__block_at(offset));
    while (from > kind) from--, gc__block_free(offset + ((uint32_t)1 << (from + GC__BLOCK_SHIFT)), from);
    return offset;
}

/* Takes a block. Returns its offset; 0: there is no memory. */
GC__FN uint32_t gc__block_take(unsigned kind) {
    gc__tree *tree = &gc__the_tree;
    size_t bytes = (size_t)1 << (kind + GC__BLOCK_SHIFT);
    for (;;) {
        uint32_t offset = gc__block_reuse(tree, kind);
        if (offset) return offset;
        if (tree->used + bytes <= tree->committed || gc__tree_commit(tree)) {
            tree->used += bytes;
            return (uint32_t)(tree->used - bytes);
        }
        if (!tree->retired_count) return 0;
        gc__tree_reuse(tree);
    }
}

/* Takes a block for a node, or for the leaf that starts at the address. Returns the cell; 0: there is no memory. */
GC__FN uint32_t gc__node_take(unsigned bits) {
    uint32_t low = GC__CELL_NODE + 32 - bits, offset = gc__block_take(gc__block_kind(low));
    return offset ? offset + low : 0;
}
GC__FN uint32_t gc__leaf_take(uintptr_t start, unsigned shift, unsigned few) {
    uint32_t low = shift | few << 5, offset = gc__block_take(gc__block_kind(low));
    return offset ? offset + low - gc__cell_slice(low, (uint32_t)start) * (uint32_t)sizeof(gc__slice) : 0;
}

/* When there is no code any more all blocks are free. Gives most of their memory back. */
GC__FN void gc__tree_clear(gc__tree *tree) {
    if (tree->used <= GC__TREE_BYTES_KEPT) return;
    gc__tree_reuse(tree);
    memset(tree->free, 0, sizeof tree->free);
    tree->used = GC__TREE_START;
    gc__os_discard(tree->blocks + GC__TREE_BYTES_KEPT, tree->committed - GC__TREE_BYTES_KEPT);
}

/* Slices, while they are changed, are lists of the pieces of code in a span of addresses. */

typedef struct gc__piece {
    uintptr_t start, end;
    const gc_code *code;
} gc__piece;

#define GC__PIECES_MAX 64
typedef struct gc__pieces {
    unsigned count;
    gc__piece piece[GC__PIECES_MAX];
} gc__pieces;

/* Appends a piece; one that continues the last one is joined to it. */
GC__FN void gc__pieces_push(gc__pieces *list, const gc_code *code, uintptr_t start, uintptr_t end) {
    gc__piece *last = list->count ? &list->piece[list->count - 1] : NULL;
    if (last && last->code == code && last->end == start) {
        last->end = end;
        return;
    }
    gc__piece piece = {start, end, code};
    list->piece[list->count++] = piece;
}

/* Inserts a piece in the order of addresses. */
GC__FN void gc__pieces_insert(gc__pieces *list, const gc_code *code, uintptr_t start, uintptr_t end) {
    unsigned i = list->count++;
    for (; i && list->piece[i - 1].start > start; i--) list->piece[i] = list->piece[i - 1];
    gc__piece piece = {start, end, code};
    list->piece[i] = piece;
}

/* Appends the pieces of the slice, which ends at `end`. */
GC__FN void gc__slice_read(const gc__slice *slice, uintptr_t end, gc__pieces *list) {
    uintptr_t base = (end - 1) >> GC__TREE_ROOT_SHIFT << GC__TREE_ROOT_SHIFT;
    for (unsigned i = 1; i <= GC__SLICE_ENTRIES; i++) {
        uint64_t word = slice->words[i], bytes = word & GC__SLICE_BYTES;
        if (!word) continue;
        uintptr_t start = base + ((uint32_t)slice->part.keys[i + 1] ^ 0x80000000u);
        uintptr_t next = i < GC__SLICE_ENTRIES ? base + ((uint32_t)slice->part.keys[i + 2] ^ 0x80000000u) : end;
        gc__pieces_push(list, gc__word_code(word), start, bytes ? start + bytes : next);
    }
}

/* Writes what the pieces are in [start, end) to a slice that no reader can come to. Returns how many words have code; more
   than GC__SLICE_ENTRIES: the slice has no room, and is as it was. */
GC__FN unsigned gc__slice_fill(gc__slice *slice, const gc__pieces *list, uintptr_t start, uintptr_t end) {
    int32_t keys[GC__SLICE_ENTRIES + 2];
    uint64_t words[GC__SLICE_ENTRIES + 2];
    uintptr_t until = 0; /* the end of a long piece */
    unsigned count = 0, live = 0;
    for (unsigned i = 0; i < list->count && count <= GC__SLICE_ENTRIES; i++) {
        uintptr_t from = list->piece[i].start > start ? list->piece[i].start : start;
        uintptr_t to = list->piece[i].end < end ? list->piece[i].end : end;
        if (from >= to) continue;
        if (until && until < from) keys[count] = gc__key_of(until), words[count++] = 0;
        bool is_long = to - from > GC__SLICE_BYTES;
        keys[count] = gc__key_of(from);
        words[count++] = (uint64_t)(uintptr_t)list->piece[i].code << 16 | (is_long ? 0 : to - from);
        until = is_long ? to : 0;
        live++;
    }
    if (until && until < end && count <= GC__SLICE_ENTRIES) keys[count] = gc__key_of(until), words[count++] = 0;
    if (count > GC__SLICE_ENTRIES) return count;
    gc__word_set(&slice->words[0], 0);
    for (unsigned i = 1, unused = GC__SLICE_ENTRIES - count; i <= GC__SLICE_ENTRIES; i++) {
        gc__word_set(&slice->words[i], i > unused ? words[i - unused - 1] : 0);
        __atomic_store_n(&slice->part.keys[i + 1], i > unused ? keys[i - unused - 1] : INT32_MIN, __ATOMIC_RELEASE);
    }
    return live;
}

/* Copies a slice to one that no reader can come to. Returns how many words have code. */
GC__FN unsigned gc__slice_copy(gc__slice *to, const gc__slice *from) {
    unsigned live = 0;
    for (unsigned i = 0; i < sizeof to->words / sizeof *to->words; i++) {
        gc__word_set(&to->words[i], from->words[i]);
        live += i && i <= GC__SLICE_ENTRIES && from->words[i];
    }
    gc__word_set(&to->words[0], 0);
    return live;
}
/* Code ranges by address: adding and removing them. */


#define GC__LEAF_SPARSE 2  /* a leaf with no more pieces than that for each slice should have fewer slices */
#define GC__LEAF_FEW_MAX 3 /* 2 slices */
#define GC__LEAF_LIVE_MAX ((unsigned)GC__LEAF_SLICES * GC__SLICE_ENTRIES)
#define GC__LEAF_MERGED 24u /* two leaves with no more pieces than that should be one */

static uint64_t gc__code_removals; /* atomic, written under the lock: how often code was removed */

GC_API const gc_code *gc_code_find(const void *pc) { return gc__tree_find((uintptr_t)pc); }
GC_API size_t gc_code_count(void) { return __atomic_load_n(&gc__the_tree.count, __ATOMIC_RELAXED); }

/* Where an address is in the tree: the group of cells that share a leaf or are all empty, and the way to it. */
typedef struct gc__place {
    uint32_t *way[4];     /* the cells that refer to the nodes on the way, and last that of the address itself */
    unsigned depth;       /* nodes on the way */
    unsigned bits;        /* log2 of the cells of the last of them */
    uint32_t *cells;      /* of the last node, or the root's cell */
    size_t first, count;  /* the group */
    uint32_t value;       /* what all of its cells are */
    uintptr_t start, end; /* the addresses that the group spans */
} gc__place;

GC__FN bool gc__cells_are(const uint32_t *cells, size_t count, uint32_t value) {
    while (count && cells[count - 1] == value) count--;
    return !count;
}

GC__FN gc__place gc__place_of(uintptr_t address) {
    gc__place place;
    memset(&place, 0, sizeof place);
    unsigned shift = GC__TREE_ROOT_SHIFT;
    place.way[0] = place.cells = gc__tree_root(address);
    while (gc__cell_is_node(place.value = *place.way[place.depth])) {
        place.bits = gc__node_bits(place.value);
        place.cells = gc__cell_node(place.value);
        shift -= place.bits;
        place.first = (address >> shift) & (((size_t)1 << place.bits) - 1);
        place.way[++place.depth] = &place.cells[place.first];
    }
    if (place.value) {
        place.count = (size_t)1 << (gc__leaf_shift(place.value) - shift);
        place.first &= ~(place.count - 1);
    } else {
        for (place.count = 1; place.count < (size_t)1 << place.bits; place.count *= 2) {
            if (!gc__cells_are(place.cells + (place.first ^ place.count), place.count, 0)) break;
            place.first &= ~place.count;
        }
    }
    place.start = (address >> (shift + place.bits) << (shift + place.bits)) + (place.first << shift);
    place.end = place.start + (place.count << shift);
    return place;
}

/* Has `count` cells refer to a leaf, or to none. */
GC__FN void gc__cells_fill(uint32_t *cells, size_t count, uint32_t value) {
    for (size_t i = 0; i < count; i++) gc__cell_set(&cells[i], value);
}

/* Makes the place's leaf another one, or none. */
GC__FN void gc__place_replace(const gc__place *place, uint32_t leaf) {
    gc__cells_fill(place->cells + place->first, place->count, leaf);
    if (place->value) gc__block_retire(place->value, place->start);
}

/* How many of the words of the leaf that has the address have code. */
GC__FN unsigned gc__leaf_live(uint32_t cell, uintptr_t address) {
    return cell ? (unsigned)(gc__leaf_first(cell, address)->words[0] & GC__SLICE_BYTES) : 0;
}

/* The slice that has the address, and its end. */
GC__FN gc__slice *gc__place_slice(const gc__place *place, uintptr_t address, uintptr_t *end) {
    unsigned shift = gc__slice_shift(place->value);
    *end = place->value ? ((address >> shift) + 1) << shift : place->end;
    return gc__leaf_slice(place->value, address);
}

/* Lists the pieces that the tree has in the slices of [start, end). `place` is where the last place was found. False: they
   are too many. */
GC__FN bool gc__tree_list(gc__place *place, uintptr_t start, uintptr_t end, gc__pieces *list) {
    for (list->count = 0; start < end;) {
        if (start < place->start || start >= place->end) *place = gc__place_of(start);
        if (list->count > GC__PIECES_MAX - GC__SLICE_ENTRIES - 1) return false;
        const gc__slice *slice = gc__place_slice(place, start, &start);
        gc__slice_read(slice, start, list);
    }
    return true;
}

/* The first code that has an address in [start, end); NULL: none has. */
GC__FN const gc_code *gc__tree_first(uintptr_t start, uintptr_t end) {
    gc__pieces list;
    for (uintptr_t at = start; at < end;) {
        gc__place place = gc__place_of(at);
        do {
            const gc__slice *slice = gc__place_slice(&place, at, &at);
            list.count = 0;
            gc__slice_read(slice, at, &list);
            for (unsigned i = 0; i < list.count; i++)
                if (list.piece[i].end > start && list.piece[i].start < end) return list.piece[i].code;
        } while (at < end && at < place.end);
    }
    return NULL;
}

typedef enum gc__built { GC__BUILT, GC__BUILT_TOO_MANY, GC__BUILT_NO_MEMORY } gc__built;

/* Makes a leaf for the span [start, end), with what the tree has there and in addition `added`. It has 16 >> few slices. 0
   if it would be empty. */
GC__FN gc__built gc__leaf_build(uintptr_t start, uintptr_t end, unsigned few, gc__piece added, uint32_t *leaf) {
    unsigned shift = (unsigned)__builtin_ctzll(end - start) - 4 + few, live = 0;
    gc__place place = gc__place_of(start);
    gc__pieces list;
    *leaf = gc__leaf_take(start, shift, few);
    if (!*leaf) return GC__BUILT_NO_MEMORY;
    gc__slice *first = gc__leaf_first(*leaf, start), *slice = first;
    for (uintptr_t at = start, next; at < end && live <= GC__LEAF_LIVE_MAX; at = next, slice++) {
        next = at + ((uintptr_t)1 << shift);
        bool adds = added.start < next && added.end > at;
        if (at < place.start || at >= place.end) place = gc__place_of(at);
        if (!adds && place.value && gc__slice_shift(place.value) == shift) {
            live += gc__slice_copy(slice, gc__leaf_slice(place.value, at));
            continue;
        }
        unsigned count = GC__SLICE_ENTRIES + 1;
        if (gc__tree_list(&place, at, next, &list)) {
            if (adds) gc__pieces_insert(&list, added.code, added.start, added.end);
            count = gc__slice_fill(slice, &list, at, next);
        }
        live += count > GC__SLICE_ENTRIES ? GC__LEAF_LIVE_MAX + 1 : count;
    }
    gc__word_set(&first->words[0], live);
    if (live && live <= GC__LEAF_LIVE_MAX) return GC__BUILT;
    gc__block_retire(*leaf, start);
    *leaf = 0;
    return live ? GC__BUILT_TOO_MANY : GC__BUILT;
}

static const gc__piece gc__piece_none = {0, 0, NULL};

/* The smallest such leaf, with at most GC__LEAF_SLICES >> few slices. */
GC__FN gc__built gc__leaf_build_small(uintptr_t start, uintptr_t end, unsigned few, uint32_t *leaf) {
    gc__built built = GC__BUILT_TOO_MANY;
    for (unsigned i = GC__LEAF_FEW_MAX + 1; built == GC__BUILT_TOO_MANY && i-- > few;)
        built = gc__leaf_build(start, end, i, gc__piece_none, leaf);
    return built;
}

/* Divides the span of the place's only cell: its node doubles, or if it has as many cells as nodes can, or is the root, the
   cell gets a node of its own. False: there is no memory. */
GC__FN bool gc__place_divide(const gc__place *place) {
    bool doubles = place->depth && place->bits < GC__NODE_BITS_MAX;
    unsigned bits = doubles ? place->bits + 1 : GC__NODE_BITS_MIN;
    uint32_t node = gc__node_take(bits);
    if (!node) return false;
    uint32_t *cells = gc__cell_node(node), *to = place->way[doubles ? place->depth - 1 : place->depth], former = *to;
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        gc__cell_set(&cells[i], doubles ? place->cells[i / 2] : place->value);
    gc__cell_set(to, node);
    if (doubles) gc__block_retire(former, place->start);
    return true;
}

/* Gives each half of the place's cells a leaf of its own. False: there is no memory. */
GC__FN bool gc__place_split(const gc__place *place) {
    if (place->count == 1) return gc__place_divide(place);
    uint32_t *cells = place->cells + place->first, leaves[2];
    uintptr_t middle = place->start + (place->end - place->start) / 2;
    if (gc__leaf_build_small(place->start, middle, 0, &leaves[0]) != GC__BUILT) return false;
    if (gc__leaf_build_small(middle, place->end, 0, &leaves[1]) != GC__BUILT) {
        if (leaves[0]) gc__block_retire(leaves[0], place->start);
        return false;
    }
    gc__cells_fill(cells, place->count / 2, leaves[0]);
    gc__cells_fill(cells + place->count / 2, place->count / 2, leaves[1]);
    gc__block_retire(place->value, place->start);
    return true;
}

/* Unites the place with the group beside it, if that has one leaf or none, and both have few pieces. Returns whether it has. */
GC__FN bool gc__place_merge(const gc__place *place) {
    uint32_t *beside = place->cells + (place->first ^ place->count), other = *beside, leaf;
    uintptr_t bytes = place->end - place->start, start = place->start & ~bytes, there = place->start ^ bytes;
    if (gc__cell_is_node(other) || (other && (uintptr_t)1 << gc__leaf_shift(other) != bytes)) return false;
    if (!other && !gc__cells_are(beside, place->count, 0)) return false;
    if (gc__leaf_live(place->value, place->start) + gc__leaf_live(other, there) > GC__LEAF_MERGED) return false;
    if (gc__leaf_build_small(start, start + 2 * bytes, 0, &leaf) != GC__BUILT) return false;
    gc__cells_fill(beside, place->count, leaf);
    if (other) gc__block_retire(other, there);
    gc__place_replace(place, leaf);
    return true;
}

/* Frees what is empty around the address, and unites what has become small, as far as there is memory for it. */
GC__FN void gc__tree_tidy(uintptr_t address) {
    for (;;) {
        gc__place place = gc__place_of(address);
        unsigned live = gc__leaf_live(place.value, address);
        if (place.value && !live) {
            gc__place_replace(&place, 0);
        } else if (!place.depth) {
            return;
        } else if (place.count == (size_t)1 << place.bits) {
            uint32_t *to = place.way[place.depth - 1], node = *to;
            gc__cell_set(to, place.value);
            gc__block_retire(node, address);
        } else if (!gc__place_merge(&place)) {
            uint32_t leaf;
            if (!place.value || live > GC__LEAF_SPARSE * gc__leaf_slices(place.value)) return;
            if (gc__leaf_build_small(place.start, place.end, gc__leaf_few(place.value) + 1, &leaf) != GC__BUILT) return;
            gc__place_replace(&place, leaf);
            return;
        }
    }
}

GC__FN void gc__tree_remove(const gc_code *code, uintptr_t start, uintptr_t end) {
    while (start < end) {
        gc__place place = gc__place_of(start);
        uint64_t live = gc__leaf_live(place.value, start);
        uintptr_t at = start;
        while (place.value && at < end && at < place.end) {
            gc__slice *slice = gc__place_slice(&place, at, &at);
            for (unsigned i = 1; i <= GC__SLICE_ENTRIES; i++)
                if (gc__word_code(slice->words[i]) == code) gc__word_set(&slice->words[i], 0), live--;
        }
        if (place.value) gc__word_set(&gc__leaf_first(place.value, start)->words[0], live);
        gc__tree_tidy(start);
        start = place.end;
    }
}

/* False: there is no memory, and a part of the code may be in the tree. */
GC__FN bool gc__tree_add(const gc_code *code, uintptr_t start, uintptr_t end) {
    gc__piece added = {start, end, code};
    for (uintptr_t at = start; at < end;) {
        gc__place place = gc__place_of(at);
        gc__built built = GC__BUILT_TOO_MANY;
        uint32_t leaf = 0;
        unsigned few = (place.value ? gc__leaf_few(place.value) : GC__LEAF_FEW_MAX) + 1;
        while (built == GC__BUILT_TOO_MANY && few-- > 0)
            built = gc__leaf_build(place.start, place.end, few, added, &leaf);
        if (built == GC__BUILT_NO_MEMORY) return false;
        if (built == GC__BUILT) {
            gc__place_replace(&place, leaf);
            at = place.end;
        } else if (!gc__place_split(&place)) {
            return false;
        }
    }
    return true;
}

/* Adding and removing. */

GC__FN const char *gc__code_name(const gc_code *code) { return code->name ? code->name : "code without a name"; }
GC__FN uintptr_t gc__code_start(const gc_code *code) { return (uintptr_t)code->start; }
GC__FN uintptr_t gc__code_end(const gc_code *code) { return (uintptr_t)code->start + code->bytes; }

/* Checks where the code is. */
GC__FN gc_result gc__code_check_range(const gc_code *code) {
    uintptr_t limit = (uintptr_t)1 << GC__TREE_ADDRESS_BITS;
    if (!code->bytes)
        return gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p has 0 bytes: set gc_code.bytes to the size of its code",
                        gc__code_name(code), code->start);
    if (gc__code_start(code) >= limit || code->bytes > limit - gc__code_start(code))
        return gc__fail(
            GC_ERROR_FORMAT,
            "gc_code_add: %s at %p with %zu bytes reaches beyond the %d bits of an address: set gc_code.start "
            "and gc_code.bytes to where its code is",
            gc__code_name(code), code->start, code->bytes, GC__TREE_ADDRESS_BITS);
    if ((uintptr_t)code >= limit)
        return gc__fail(
            GC_ERROR_FORMAT,
            "gc_code_add: the record of %s is at %p, an address of more than %d bits: pass it without a tag in "
            "its upper bits",
            gc__code_name(code), (const void *)code, GC__TREE_ADDRESS_BITS);
    return GC_OK;
}

/* Checks the map. */
GC__FN gc_result gc__code_check_map(const gc_code *code) {
    const gc_code_format *format = code->format;
    const char *wrong = NULL;
    if (!format) {
        if (gc__is_null(code->map, "gc_code_add", "code->map")) return GC_ERROR_ARGUMENT;
        wrong = gc_stackmap_check(code->map, code->map_bytes);
        uint32_t bytes = wrong ? 0 : gc_stackmap_read(code->map).code_bytes;
        if (!wrong && bytes != code->bytes)
            return gc__fail(
                GC_ERROR_FORMAT,
                "gc_code_add: %s at %p has %zu bytes, but its map is that of %u bytes of code: the map must be "
                "encoded with gc_stackmap_method.code_bytes = gc_code.bytes",
                gc__code_name(code), code->start, code->bytes, bytes);
    } else {
        if (gc__is_null((const void *)(uintptr_t)format->visit, "gc_code_add", "code->format->visit") ||
            gc__is_null((const void *)(uintptr_t)format->layout, "gc_code_add", "code->format->layout"))
            return GC_ERROR_ARGUMENT;
        GC__HOST_SCOPE;
        if (format->check) wrong = format->check(code);
    }
    if (!wrong) return GC_OK;
    return gc__fail(GC_ERROR_FORMAT, "gc_code_add: the map of %s at %p is refused: %s", gc__code_name(code),
                    code->start, wrong);
}

/* Lock held. */
GC__FN gc_result gc__code_overlaps(const gc_code *code, const gc_code *other) {
    if (code == other)
        return gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p is registered already: gc_code_remove it first",
                        gc__code_name(code), code->start);
    return gc__fail(
        GC_ERROR_FORMAT,
        "gc_code_add: %s in [%p, %p) overlaps %s in [%p, %p): call gc_code_remove for what is gone before its "
        "addresses are used again",
        gc__code_name(code), code->start, (void *)gc__code_end(code), gc__code_name(other), other->start,
        (void *)gc__code_end(other));
}

/* Lock held. */
GC__FN gc_result gc__code_insert(gc__tree *tree, const gc_code *code) {
    uintptr_t start = gc__code_start(code), end = gc__code_end(code);
    if (!tree->blocks && !gc__tree_reserve(tree))
        return gc__fail(GC_ERROR_MEMORY, "gc_code_add: cannot reserve address space for even %zu MiB: %s",
                        GC__TREE_BYTES_MIN >> 20, gc__os_refusal(GC__TREE_BYTES_MIN));
    const gc_code *other = gc__tree_first(start, end);
    if (other) return gc__code_overlaps(code, other);
    if (!gc__tree_add(code, start, end)) {
        gc__tree_remove(code, start, end);
        bool full = tree->committed == tree->bytes;
        return gc__fail(
            GC_ERROR_MEMORY, "gc_code_add: %s at %p: the registry of %zu ranges has %zu MiB and gets no more: %s",
            gc__code_name(code), code->start, tree->count, tree->committed >> 20,
            full && tree->bytes == GC__TREE_BYTES_MAX ? "remove code that is not needed" : gc__os_refusal(tree->committed));
    }
    __atomic_store_n(&tree->count, tree->count + 1, __ATOMIC_RELAXED);
    return GC_OK;
}

GC_API gc_result gc_code_add(const gc_code *code) {
    GC__API_SCOPE("gc_code_add");
    if (gc__is_null(code, "gc_code_add", "code") || gc__is_null(code->start, "gc_code_add", "code->start"))
        return GC_ERROR_ARGUMENT;
    gc_result result = gc__code_check_range(code);
    if (result == GC_OK) result = gc__code_check_map(code);
    if (result != GC_OK) return result;
    gc__lock_take(&gc__the_arena.lock);
    result = gc__fork_open("gc_code_add");
    gc__lock_release(&gc__the_arena.lock);
    if (result != GC_OK) return result;
    gc__lock_take(&gc__code_lock);
    result = gc__code_insert(&gc__the_tree, code);
    gc__lock_release(&gc__code_lock);
    if (result == GC_OK) gc__code_tell(code->start, code->bytes, gc__code_name(code), true);
    return result;
}

/* Whether the code is registered with the range that it says. */
GC__FN bool gc__code_is_registered(const gc_code *code) {
    uintptr_t start = gc__code_start(code), end = gc__code_end(code);
    return code->bytes && gc__tree_find(start) == code && gc__tree_find(end - 1) == code &&
           gc__tree_find(end) != code && gc__tree_find(start - 1) != code;
}

GC_API gc_result gc_code_remove(const gc_code *code) {
    GC__API_SCOPE("gc_code_remove");
    if (gc__is_null(code, "gc_code_remove", "code")) return GC_ERROR_ARGUMENT;
    gc__tree *tree = &gc__the_tree;
    gc__lock_take(&gc__code_lock);
    bool registered = gc__code_is_registered(code);
    gc__lock_release(&gc__code_lock);
    /* Profiles are told before: code that takes the place is told of as soon as it is there. */
    if (registered) gc__code_tell(code->start, code->bytes, gc__code_name(code), false);
    gc__lock_take(&gc__code_lock);
    registered = registered && gc__code_is_registered(code);
    if (registered) {
        gc__tree_remove(code, gc__code_start(code), gc__code_end(code));
        __atomic_store_n(&tree->count, tree->count - 1, __ATOMIC_RELAXED);
        __atomic_store_n(&gc__code_removals, gc__code_removals + 1, __ATOMIC_RELEASE);
        if (!tree->count) gc__tree_clear(tree);
    }
    gc__lock_release(&gc__code_lock);
    if (registered) return GC_OK;
    gc__fail(GC_ERROR_MISUSE,
             "gc_code_remove: %s at %p with %zu bytes is not registered, or start or bytes have changed since it was: "
             "pass the "
             "record that was added, as it was then",
             gc__code_name(code), code->start, code->bytes);
    GC_ASSERT(false, "%s", gc__last_message);
    return GC_ERROR_MISUSE;
}

/* gc__compiled_code.each. */
GC__FN void gc__code_each(void (*f)(void *context, const void *start, size_t bytes, const char *name), void *context) {
    const uintptr_t limit = (uintptr_t)1 << GC__TREE_ADDRESS_BITS;
    gc__lock_take(&gc__code_lock);
    const gc_code *code = gc__the_tree.count ? gc__tree_first(0, limit) : NULL;
    for (; code; code = gc__tree_first(gc__code_end(code), limit))
        f(context, code->start, code->bytes, gc__code_name(code));
    gc__lock_release(&gc__code_lock);
}

/* As long as there is code, as when the program ends without removing it, other threads may look it up. */
GC__AT_UNLOAD GC__FN void gc__code_unload(void) {
    gc__tree *tree = &gc__the_tree;
    gc__lock_take(&gc__code_lock);
    if (tree->blocks && !tree->count) {
        gc__os_unmap(tree->blocks, tree->bytes + GC__TREE_BEHIND);
        memset(tree, 0, sizeof *tree);
    }
    gc__lock_release(&gc__code_lock);
}
/* Replaced return addresses. A thread that was interrupted where compiled code cannot be stopped stops when that method
   returns: its return address is replaced by that of a stub, which calls gc__code_on_return.

   A thread has at most one, which it replaces and puts back itself: in the handler of the signal, in the stub, or in
   gc_code_release. So nobody else writes here; collections read while the thread is stopped. If the frame was left by a
   longjmp or an exception, the address is stale; then its slot is below the stack pointer, or holds something else. */

/* Calls between native and compiled code, on x86-64: part of the platform contract, for call.h.

   The numbers are offsets in gc_thread and gc_code_frame, which call.h asserts. Each instruction is in both dialects of
   assembly, for -masm=intel; CFI directives number registers as DWARF does: 3 is rbx, 6 is rbp, 7 is rsp. */


#if defined(__x86_64__) && !defined(_WIN32)
#ifdef __GCC_HAVE_DWARF2_CFI_ASM /* the compiler describes functions to unwinders */
#define GC__CFI(directive) ".cfi_" directive "\n\t"
#else
#define GC__CFI(directive)
#endif

/* clang-format off */
#define GC__CODE_MOVE(from, to) "{movq %%" from ", %%" to "|mov " to ", " from "}\n\t"
#define GC__CODE_LOAD(base, offset, to) "{movq " #offset "(%%" base "), %%" to "|mov " to ", [" base "+" #offset "]}\n\t"
#define GC__CODE_STORE(from, base, offset) "{movq %%" from ", " #offset "(%%" base ")|mov [" base "+" #offset "], " from "}\n\t"
#define GC__CODE_ADDRESS(base, offset, to) "{leaq " #offset "(%%" base "), %%" to "|lea " to ", [" base "+" #offset "]}\n\t"
#define GC__CODE_NUMBER(number, base, offset) \
    "{movl $" #number ", " #offset "(%%" base ")|mov dword ptr [" base "+" #offset "], " #number "}\n\t"
#define GC__CODE_PUSH(name) "{pushq %%" name "|push " name "}\n\t"
#define GC__CODE_POP(name) "{popq %%" name "|pop " name "}\n\t"

#define GC__CODE_STORE_VECTOR(number, offset) \
    "{movups %%xmm" #number ", " #offset "(%%rsp)|movups [rsp+" #offset "], xmm" #number "}\n\t"
#define GC__CODE_LOAD_VECTOR(number, offset) \
    "{movups " #offset "(%%rsp), %%xmm" #number "|movups xmm" #number ", [rsp+" #offset "]}\n\t"

/* Calls function(r10, return address), the first operand, and preserves the registers of a native function's
   arguments. */
#define GC__CODE_CHECK \
    "{subq $208, %%rsp|sub rsp, 208}\n\t" \
    GC__CODE_STORE("rax", "rsp", 0) GC__CODE_STORE("rdi", "rsp", 8) GC__CODE_STORE("rsi", "rsp", 16) \
    GC__CODE_STORE("rdx", "rsp", 24) GC__CODE_STORE("rcx", "rsp", 32) GC__CODE_STORE("r8", "rsp", 40) \
    GC__CODE_STORE("r9", "rsp", 48) GC__CODE_STORE("r10", "rsp", 56) GC__CODE_STORE("r11", "rsp", 64) \
    GC__CODE_STORE_VECTOR(0, 80) GC__CODE_STORE_VECTOR(1, 96) GC__CODE_STORE_VECTOR(2, 112) GC__CODE_STORE_VECTOR(3, 128) \
    GC__CODE_STORE_VECTOR(4, 144) GC__CODE_STORE_VECTOR(5, 160) GC__CODE_STORE_VECTOR(6, 176) GC__CODE_STORE_VECTOR(7, 192) \
    GC__CODE_MOVE("r10", "rdi") GC__CODE_LOAD("rbp", 8, "rsi") \
    "call %P0\n\t" \
    GC__CODE_LOAD_VECTOR(0, 80) GC__CODE_LOAD_VECTOR(1, 96) GC__CODE_LOAD_VECTOR(2, 112) GC__CODE_LOAD_VECTOR(3, 128) \
    GC__CODE_LOAD_VECTOR(4, 144) GC__CODE_LOAD_VECTOR(5, 160) GC__CODE_LOAD_VECTOR(6, 176) GC__CODE_LOAD_VECTOR(7, 192) \
    GC__CODE_LOAD("rsp", 0, "rax") GC__CODE_LOAD("rsp", 8, "rdi") GC__CODE_LOAD("rsp", 16, "rsi") \
    GC__CODE_LOAD("rsp", 24, "rdx") GC__CODE_LOAD("rsp", 32, "rcx") GC__CODE_LOAD("rsp", 40, "r8") \
    GC__CODE_LOAD("rsp", 48, "r9") GC__CODE_LOAD("rsp", 56, "r10") GC__CODE_LOAD("rsp", 64, "r11") \
    "{addq $208, %%rsp|add rsp, 208}\n\t"

/* The gc_code_frame lies at rbp - 160. It is complete before the thread refers to it. The preserved registers are
   restored from it, since a collection may have updated them; rbp is restored by way of the word that was pushed. */
#define GC__CODE_CALL_NATIVE(check, results) \
    GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16") \
    GC__CODE_MOVE("rsp", "rbp") GC__CFI("def_cfa_register 6") \
    "{subq $160, %%rsp|sub rsp, 160}\n\t" \
    "{andq $-16, %%rsp|and rsp, -16}\n\t" \
    check \
    GC__CODE_STORE("rbx", "rbp", -120) GC__CFI("offset 3, -136") \
    GC__CODE_LOAD("rbp", 0, "rbx") GC__CODE_STORE("rbx", "rbp", -104) GC__CFI("offset 6, -120") \
    GC__CODE_STORE("r12", "rbp", -48) GC__CFI("offset 12, -64") \
    GC__CODE_STORE("r13", "rbp", -40) GC__CFI("offset 13, -56") \
    GC__CODE_STORE("r14", "rbp", -32) GC__CFI("offset 14, -48") \
    GC__CODE_STORE("r15", "rbp", -24) GC__CFI("offset 15, -40") \
    GC__CODE_LOAD("rbp", 8, "rbx") GC__CODE_STORE("rbx", "rbp", -152) /* pc */ \
    GC__CODE_ADDRESS("rbp", 16, "rbx") GC__CODE_STORE("rbx", "rbp", -112) /* sp */ \
    GC__CODE_NUMBER(0xf038, "rbp", -16) GC__CODE_NUMBER(0, "rbp", -12) /* known; kind and results */ \
    GC__CODE_LOAD("r10", 112, "rbx") GC__CODE_STORE("rbx", "rbp", -160) \
    GC__CODE_ADDRESS("rbp", -160, "rbx") GC__CODE_STORE("rbx", "r10", 112) /* thread->code */ \
    GC__CODE_MOVE("r10", "rbx") \
    "{call *%%r11|call r11}\n\t" \
    "{cmpl $0, 88(%%rbx)|cmp dword ptr [rbx+88], 0}\n\t" /* thread->poll */ \
    "jne 2f\n" \
    "3:\t" \
    GC__CODE_LOAD("rbp", -160, "r11") GC__CODE_STORE("r11", "rbx", 112) \
    GC__CODE_LOAD("rbp", -104, "r11") GC__CODE_STORE("r11", "rbp", 0) GC__CFI("offset 6, -16") \
    GC__CODE_LOAD("rbp", -120, "rbx") GC__CFI("restore 3") \
    GC__CODE_LOAD("rbp", -48, "r12") GC__CFI("restore 12") \
    GC__CODE_LOAD("rbp", -40, "r13") GC__CFI("restore 13") \
    GC__CODE_LOAD("rbp", -32, "r14") GC__CFI("restore 14") \
    GC__CODE_LOAD("rbp", -24, "r15") GC__CFI("restore 15") \
    "leave\n\t" GC__CFI("def_cfa 7, 8") GC__CFI("restore 6") \
    "ret\n" \
    "2:\t" \
    GC__CFI("def_cfa 6, 16") GC__CFI("offset 3, -136") GC__CFI("offset 6, -120") GC__CFI("offset 12, -64") \
    GC__CFI("offset 13, -56") GC__CFI("offset 14, -48") GC__CFI("offset 15, -40") \
    GC__CODE_STORE("rax", "rbp", -144) GC__CODE_STORE("rdx", "rbp", -128) \
    GC__CODE_NUMBER(0xf03d, "rbp", -16) GC__CODE_NUMBER(results << 16, "rbp", -12) \
    "{subq $32, %%rsp|sub rsp, 32}\n\t" \
    "{movups %%xmm0, (%%rsp)|movups [rsp], xmm0}\n\t" \
    "{movups %%xmm1, 16(%%rsp)|movups [rsp+16], xmm1}\n\t" \
    GC__CODE_MOVE("rbx", "rdi") \
    "{call *120(%%rbx)|call qword ptr [rbx+120]}\n\t" /* thread->safepoint */ \
    "{movups (%%rsp), %%xmm0|movups xmm0, [rsp]}\n\t" \
    "{movups 16(%%rsp), %%xmm1|movups xmm1, [rsp+16]}\n\t" \
    GC__CODE_LOAD("rbp", -144, "rax") GC__CODE_LOAD("rbp", -128, "rdx") \
    "jmp 3b"

/* Defines the stubs: GC__CODE_NATIVE_STUBS(GC__CODE_CHECK, "i"(function)) with a check of the thread, (, ) without. */
#define GC__CODE_NATIVE_STUBS(check, function) \
    GC__NAKED void gc_code_call_native(void) { __asm__(GC__CODE_CALL_NATIVE(check, 0) :: function : "memory"); } \
    GC__NAKED void gc_code_call_native_ref(void) { __asm__(GC__CODE_CALL_NATIVE(check, 1) :: function : "memory"); }

/* Restores the preserved registers itself, so that the compiled code which it calls need not. */
GC__EXTERN GC__VISIBLE GC__NAKED uintptr_t gc__code_enter(gc_thread *thread __attribute__((unused)),
                                                          const void *start __attribute__((unused)),
                                                          const uintptr_t *arguments __attribute__((unused))) {
    __asm__(
        GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16")
        GC__CODE_PUSH("rbx") GC__CFI("def_cfa_offset 24") GC__CFI("offset 3, -24")
        GC__CODE_PUSH("r12") GC__CFI("def_cfa_offset 32") GC__CFI("offset 12, -32")
        GC__CODE_PUSH("r13") GC__CFI("def_cfa_offset 40") GC__CFI("offset 13, -40")
        GC__CODE_PUSH("r14") GC__CFI("def_cfa_offset 48") GC__CFI("offset 14, -48")
        GC__CODE_PUSH("r15") GC__CFI("def_cfa_offset 56") GC__CFI("offset 15, -56")
        GC__CODE_PUSH("rax") GC__CFI("def_cfa_offset 64") /* for alignment */
        GC__CODE_MOVE("rdi", "r15") GC__CODE_MOVE("rsi", "r11") GC__CODE_MOVE("rdx", "r10")
        GC__CODE_LOAD("r10", 0, "rdi") GC__CODE_LOAD("r10", 8, "rsi") GC__CODE_LOAD("r10", 16, "rdx")
        GC__CODE_LOAD("r10", 24, "rcx") GC__CODE_LOAD("r10", 32, "r8") GC__CODE_LOAD("r10", 40, "r9")
        "{call *%%r11|call r11}\n\t"
        GC__ASSEMBLY_LINKAGE("gc__code_entered")
        "gc__code_entered:\n\t"
        GC__CODE_POP("rcx") GC__CFI("def_cfa_offset 56")
        GC__CODE_POP("r15") GC__CFI("def_cfa_offset 48") GC__CFI("restore 15")
        GC__CODE_POP("r14") GC__CFI("def_cfa_offset 40") GC__CFI("restore 14")
        GC__CODE_POP("r13") GC__CFI("def_cfa_offset 32") GC__CFI("restore 13")
        GC__CODE_POP("r12") GC__CFI("def_cfa_offset 24") GC__CFI("restore 12")
        GC__CODE_POP("rbx") GC__CFI("def_cfa_offset 16") GC__CFI("restore 3")
        GC__CODE_POP("rbp") GC__CFI("def_cfa_offset 8") GC__CFI("restore 6")
        "ret"
        :: : "memory");
}

/* Defines a stub to which a method returns whose return address was replaced, at GC__CODE_RETURN_TO(name). That is
   behind an instruction, since unwinders search for the code before a return address; they end there. The stub calls
   function(gc_code_frame *), which stores the address at which to continue in the frame's pc. It continues there with
   the registers of the frame, as they are after the call, and preserves those of vectors and the FPU, except the parts
   of vectors beyond 16 bytes. The address to continue at is finally written to where the replaced address was, so that
   the stub returns to it without a free register. */
#define GC__CODE_RETURN_STUB(name, function) \
    GC__VAR __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) void name(void) { \
        __asm__( \
            GC__CFI("undefined 16") "nop\n\t" \
            GC__CODE_PUSH_ZERO GC__CODE_PUSH_ZERO \
            GC__CODE_PUSH("r15") GC__CODE_PUSH("r14") GC__CODE_PUSH("r13") GC__CODE_PUSH("r12") \
            GC__CODE_PUSH("r11") GC__CODE_PUSH("r10") GC__CODE_PUSH("r9") GC__CODE_PUSH("r8") \
            GC__CODE_PUSH("rdi") GC__CODE_PUSH("rsi") GC__CODE_PUSH("rbp") GC__CODE_PUSH("rsp") \
            GC__CODE_PUSH("rbx") GC__CODE_PUSH("rdx") GC__CODE_PUSH("rcx") GC__CODE_PUSH("rax") \
            GC__CODE_PUSH_ZERO GC__CODE_PUSH_ZERO \
            GC__CODE_ADDRESS("rsp", 160, "rax") GC__CODE_STORE("rax", "rsp", 48) /* sp */ \
            GC__CODE_MOVE("rsp", "rdi") \
            GC__CODE_MOVE("rsp", "rbx") \
            "{andq $-16, %%rsp|and rsp, -16}\n\t" \
            "{subq $512, %%rsp|sub rsp, 512}\n\t" \
            "{fxsave64 (%%rsp)|fxsave64 [rsp]}\n\t" \
            "emms\n\t" \
            "call %P0\n\t" \
            "{fxrstor64 (%%rsp)|fxrstor64 [rsp]}\n\t" \
            GC__CODE_MOVE("rbx", "rsp") \
            GC__CODE_LOAD("rsp", 8, "rax") GC__CODE_STORE("rax", "rsp", 152) /* pc */ \
            GC__CODE_ADDRESS("rsp", 16, "rsp") \
            GC__CODE_POP("rax") GC__CODE_POP("rcx") GC__CODE_POP("rdx") GC__CODE_POP("rbx") \
            GC__CODE_ADDRESS("rsp", 8, "rsp") \
            GC__CODE_POP("rbp") GC__CODE_POP("rsi") GC__CODE_POP("rdi") \
            GC__CODE_POP("r8") GC__CODE_POP("r9") GC__CODE_POP("r10") GC__CODE_POP("r11") \
            GC__CODE_POP("r12") GC__CODE_POP("r13") GC__CODE_POP("r14") GC__CODE_POP("r15") \
            GC__CODE_ADDRESS("rsp", 8, "rsp") \
            "ret" \
            :: "i"(function) : GC__NAKED_CLOBBERS); \
    }
#define GC__CODE_RETURN_TO(name) ((uintptr_t)(name) + 1)
#define GC__CODE_PUSH_ZERO "{pushq $0|push 0}\n\t"
/* clang-format on */
/* Where compiled code returns to gc__code_enter. */
GC__EXTERN GC__VISIBLE const char gc__code_entered[];
#define GC__HAS_CODE_CALLS 1
#else
GC__FN uintptr_t gc__code_enter(gc_thread *thread, const void *start, const uintptr_t *arguments) {
    return (void)thread, (void)start, arguments[0];
}
static const char gc__code_entered[1] = {0};
#define GC__HAS_CODE_CALLS 0
#define GC__CODE_NATIVE_STUBS(check, function) GC__STATIC_ASSERT(1, "there are none");
#define GC__CODE_RETURN_STUB(name, function) static void name(void) { (void)(function); }
#define GC__CODE_RETURN_TO(name) ((uintptr_t)(name) + 1)
#endif
/* The platform contract for interrupts of compiled code, on Linux: a thread sends another one a signal,
   GC_CODE_SIGNAL. */


#ifdef __linux__
/* A thread to which interrupts are sent. */
typedef struct gc__os_target {
    pid_t id;      /* 0: the thread is to receive none */
    /* atomic; 0: no signal is pending; else the number of requests since it was sent, and GC__OS_SENDING */
    uint32_t sent;
    bool has_timer;
    timer_t timer;
} gc__os_target;

GC__VAR __thread gc__os_target gc__os_me;
static void (*gc__os_interrupted)(void *context); /* written once, under gc__os_end_lock, as is the next variable */
static struct sigaction gc__os_interrupt_former;

/* While a signal is pending, further requests send no second one, except after this many: the host may have lost the
   first. */
#define GC__OS_SENT_LOST 64u
/* the requester is between its decision to send a signal and its return from the system */
#define GC__OS_SENDING (1u << 31)

/* Returns the new value of `sent` when a signal has arrived: 0 only if none of gc.h's signals can still come. Several
   may have been sent, and one may have been merged with a signal of the host's; so this asks the system which signals
   it holds back while the handler runs. */
GC__FN uint32_t gc__os_interrupts_left(uint32_t sent, bool is_mine) {
    uint32_t sending = sent & GC__OS_SENDING;
    sigset_t held;
    if (is_mine && (sent ^ sending) <= GC__OS_SENT_LOST) return 0;
    if (!sending && (sigpending(&held) != 0 || sigismember(&held, GC_CODE_SIGNAL) != 1)) return 0;
    return GC__OS_SENT_LOST | sending; /* the next request sends another signal */
}

/* Returns whether a signal is gc.h's own. It is if it carries the address of this thread's gc__os_me; or if it carries
   nothing about its sender, as when too many signals are queued (RLIMIT_SIGPENDING), while one is pending. */
GC__FN bool gc__os_interrupt_is_mine(const siginfo_t *info) {
    bool is_nameless = info->si_code == SI_USER && info->si_pid == 0;
    bool is_marked = (info->si_code == SI_QUEUE || info->si_code == SI_TIMER) && info->si_value.sival_ptr == &gc__os_me;
    uint32_t sent = __atomic_load_n(&gc__os_me.sent, __ATOMIC_ACQUIRE);
    bool is_mine = is_marked || (is_nameless && sent);
    while (sent && !__atomic_compare_exchange_n(
                       &gc__os_me.sent, &sent, gc__os_interrupts_left(sent, is_mine && info->si_code != SI_TIMER), false,
                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
    return is_mine;
}

/* Handles a signal, and passes signals of others on to their handler. They may stop the thread as well, if a collection
   waits for it. */
GC__FN void gc__os_interrupt_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    /* comes first: while the thread waits, the next signal may be sent */
    bool is_mine = gc__os_interrupt_is_mine(info);
    gc__os_interrupted(context);
    errno = error;
    const struct sigaction *former = &gc__os_interrupt_former;
    if (is_mine || former->sa_handler == SIG_DFL || former->sa_handler == SIG_IGN) return;
    if (former->sa_flags & SA_SIGINFO)
        former->sa_sigaction(number, info, context);
    else
        former->sa_handler(number);
}

GC__FN void gc__os_interrupt_in_child(void) {
    if (gc__os_me.id) gc__os_me.id = (pid_t)syscall(SYS_gettid);
    gc__os_me.has_timer = false; /* timers are not inherited, nor are pending signals */
    gc__os_me.sent = 0;
}

/* Requires gc__os_end_lock. */
GC__FN bool gc__os_interrupts_handle(void (*f)(void *context)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = gc__os_interrupt_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (gc__os_interrupted) return true;
    gc__os_interrupted = f;
    /* The former handler is known before a signal can ask for it. */
    if (pthread_atfork(NULL, NULL, gc__os_interrupt_in_child) == 0 &&
        sigaction(GC_CODE_SIGNAL, NULL, &gc__os_interrupt_former) == 0 && sigaction(GC_CODE_SIGNAL, &action, NULL) == 0)
        return true;
    gc__os_interrupted = NULL;
    return false;
}

/* Interrupts a thread if it is in cooperative mode. The thread must exist, and only one thread at a time may call
   this. */
GC__FN void gc__os_interrupt(gc__os_target *target) {
    uint32_t sent = __atomic_load_n(&target->sent, __ATOMIC_ACQUIRE), sending;
    do sending = sent % GC__OS_SENT_LOST ? 0 : GC__OS_SENDING;
    while (!__atomic_compare_exchange_n(&target->sent, &sent, (sent + 1) | sending, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
    if (!sending) return;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = GC_CODE_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = target;
    int error = errno;
    syscall(SYS_rt_tgsigqueueinfo, info.si_pid, target->id, GC_CODE_SIGNAL, &info);
    __atomic_fetch_and(&target->sent, ~GC__OS_SENDING, __ATOMIC_ACQ_REL);
    errno = error;
}

/* Not every C library names this field. */
#ifdef sigev_notify_thread_id
#define GC__SIGEV_THREAD sigev_notify_thread_id
#else
#define GC__SIGEV_THREAD _sigev_un._tid
#endif

/* Makes the system interrupt the calling thread once, after that time; 0: cancels that. For stress; the system may
   refuse. */
GC__FN void gc__os_interrupt_later(uint64_t ns) {
    int error = errno;
    struct sigevent event;
    struct itimerspec time;
    memset(&event, 0, sizeof event);
    memset(&time, 0, sizeof time);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = GC_CODE_SIGNAL;
    event.sigev_value.sival_ptr = &gc__os_me;
    event.GC__SIGEV_THREAD = gc__os_me.id;
    time.it_value.tv_nsec = (long)ns;
    if (ns && !gc__os_me.has_timer) gc__os_me.has_timer = timer_create(CLOCK_MONOTONIC, &event, &gc__os_me.timer) == 0;
    if (gc__os_me.has_timer) timer_settime(gc__os_me.timer, 0, &time, NULL);
    if (!ns && gc__os_me.has_timer) timer_delete(gc__os_me.timer);
    gc__os_me.has_timer &= ns != 0;
    errno = error;
}

#if defined(__x86_64__)
#define GC__ARCH_SHSTK_STATUS 0x5005

/* With a shadow stack, a replaced return address would differ from the processor's copy. */
GC__FN bool gc__os_has_shadow_stack(void) {
    unsigned long features = 0;
    int error = errno;
    bool has = syscall(SYS_arch_prctl, GC__ARCH_SHSTK_STATUS, &features) == 0 && (features & 1);
    errno = error;
    return has;
}

/* Makes interrupts of the calling thread call `f` with the thread's state, which f passes to the functions below.
   Returns the target of interrupts, or NULL with the reason in *refusal. */
GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    sigset_t blocked;
    *refusal = NULL;
    gc__lock_take(&gc__os_end_lock);
    if (!gc__os_interrupts_handle(f))
        *refusal = "the system does not let GC_CODE_SIGNAL be handled: choose another signal";
    gc__lock_release(&gc__os_end_lock);
    if (gc__os_has_shadow_stack())
        *refusal = "the process runs with a shadow stack, which forbids to replace return addresses: start it with "
                   "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off";
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, GC_CODE_SIGNAL) == 1)
        *refusal = "the calling thread blocks GC_CODE_SIGNAL (SIGURG by default): unblock it by pthread_sigmask";
    if (*refusal) return NULL;
    gc__os_me.id = (pid_t)syscall(SYS_gettid);
    return &gc__os_me;
}

static const unsigned char gc__os_register_index[GC_CODE_REGISTERS] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

GC__FN uintptr_t gc__os_context_pc(const void *context) {
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}
GC__FN void gc__os_context_read(const void *context, uintptr_t *registers) {
    for (int i = 0; i < GC_CODE_REGISTERS; i++)
        registers[i] = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[gc__os_register_index[i]];
}
/* Sets the registers with which the thread continues. */
GC__FN void gc__os_context_write(void *context, const uintptr_t *registers) {
    for (int i = 0; i < GC_CODE_REGISTERS; i++)
        ((ucontext_t *)context)->uc_mcontext.gregs[gc__os_register_index[i]] = (greg_t)registers[i];
}
#else
GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    (void)f;
    *refusal = "interrupting compiled code is for x86-64 only, so far";
    return NULL;
}
GC__FN uintptr_t gc__os_context_pc(const void *context) { return (uintptr_t)context & 0; }
GC__FN void gc__os_context_read(const void *context, uintptr_t *registers) { (void)context, (void)registers; }
GC__FN void gc__os_context_write(void *context, const uintptr_t *registers) { (void)context, (void)registers; }
#endif

/* Restores the former handler when the library is unloaded, or the program ends. */
GC__AT_UNLOAD GC__FN void gc__os_interrupts_end(void) {
    struct sigaction action;
    if (!gc__os_interrupted || sigaction(GC_CODE_SIGNAL, NULL, &action) != 0) return;
    if (!(action.sa_flags & SA_SIGINFO) || action.sa_sigaction != gc__os_interrupt_signal) return;
    sigaction(GC_CODE_SIGNAL, &gc__os_interrupt_former, NULL);
}
#endif
/* The platform contract for interrupts of compiled code, on Windows: there are none. */


#ifdef _WIN32
typedef struct gc__os_target {
    uint32_t id;
} gc__os_target;

GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    (void)f;
    *refusal = "interrupting compiled code is for Linux only, so far: let it poll";
    return NULL;
}
GC__FN void gc__os_interrupt(gc__os_target *target) { (void)target; }
GC__FN void gc__os_interrupt_later(uint64_t ns) { (void)ns; }
GC__FN uintptr_t gc__os_context_pc(const void *context) { return (uintptr_t)context & 0; }
GC__FN void gc__os_context_read(const void *context, uintptr_t *registers) { (void)context, (void)registers; }
GC__FN void gc__os_context_write(void *context, const uintptr_t *registers) { (void)context, (void)registers; }
#endif

typedef struct gc__interruptee {
    uintptr_t *slot; /* where the replaced address is; NULL: none is */
    uintptr_t original;
    unsigned results; /* of the method that returns there: gc_return_kind of rax, and that of rdx * 4 */
    gc__os_target *target;
    uint64_t random; /* state of a generator, under stress; 0: it is not interrupted without need */
} gc__interruptee;

GC__VAR __thread gc__interruptee gc__my_interruptee;

#define GC__CODE_SP 4
#define GC__CODE_PRESERVED 0xF038u /* with the stack pointer */
#define GC__CODE_RESULTS 0x5u      /* rax, rdx */

/* The attachment of the calling thread whose compiled code may be stopped; NULL: none. */
GC__FN gc_thread *gc__interruptible_self(void) {
    gc_thread *thread = GC__MY_ATTACHMENTS;
    while (thread && !(thread->heap && gc__record(thread)->interruptible)) thread = gc__record(thread)->next_attachment;
    return thread;
}

/* Whether the calling thread may wait for a collection. It is in compiled code, or has just left it: so it can be in gc.h
   only if that has called the host back. */
GC__FN bool gc__code_may_stop(const gc_thread *thread) {
    if (!thread || !thread->heap || !gc__is_cooperative(thread) || gc__inside) return false;
    for (const gc_thread *mine = GC__MY_ATTACHMENTS; mine; mine = gc__record(mine)->next_attachment)
        if (mine->heap && gc__heap_is_locked(mine->heap)) return false;
    return true;
}

/* Waits for a collection at a safe point of compiled code; the frame is what is known of it. */
GC__FN void gc__code_stop(gc_thread *thread, gc_code_frame *frame) {
    frame->previous = thread->code;
    thread->code = frame;
    gc__safepoint_slow(thread);
    thread->code = frame->previous;
}

GC__FN void gc__code_return_lost(const gc_thread *thread, const void *slot) __attribute__((__noreturn__, __cold__));
GC__FN void gc__code_return_lost(const gc_thread *thread, const void *slot) {
    gc__fatal(thread && thread->heap ? &thread->heap->options : NULL,
              "the return address at %p was replaced by an interrupt, but not in this frame, or on another stack: call "
              "gc_stack_switch before each switch of stacks, and gc_code_release before frames are copied",
              slot);
}

__attribute__((used)) GC__FN void gc__code_on_return(gc_code_frame *frame) {
    gc__interruptee *self = &gc__my_interruptee;
    gc_thread *thread = gc__interruptible_self();
    uintptr_t slot = frame->registers[GC__CODE_SP] - 8;
    if ((uintptr_t)self->slot != slot) gc__code_return_lost(thread, (const void *)slot);
    frame->pc = self->original;
    frame->kind = GC_FRAME_CALLER;
    frame->results = (uint16_t)self->results;
    frame->known = GC__CODE_PRESERVED | (self->results ? GC__CODE_RESULTS : 0);
    self->slot = NULL;
    if (gc__code_may_stop(thread)) gc__code_stop(thread, frame);
}

GC__CODE_RETURN_STUB(gc__code_return_stub, gc__code_on_return)
#define GC__CODE_RETURNED GC__CODE_RETURN_TO(gc__code_return_stub)

/* The return address at the slot, in a frame of compiled code, as it was before it was replaced. `thread` runs on that
   stack; NULL: none does. */
__attribute__((no_sanitize("address"))) GC__FN uintptr_t gc__code_return_address(const gc_thread *thread,
                                                                                 const uintptr_t *slot) {
    uintptr_t address = *slot;
    if (GC__LIKELY(address != GC__CODE_RETURNED)) return address;
    const gc__interruptee *owner = thread ? gc__record(thread)->interruptible : NULL;
    if (GC__UNLIKELY(!owner || owner->slot != slot)) gc__code_return_lost(thread, slot);
    return owner->original;
}

/* Forgets the replaced address; puts it back unless its frame has been left. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_put_back(uintptr_t stack_pointer) {
    gc__interruptee *self = &gc__my_interruptee;
    if ((uintptr_t)self->slot >= stack_pointer && *self->slot == GC__CODE_RETURNED) *self->slot = self->original;
    self->slot = NULL;
}

GC_API void gc_code_release(gc_thread *thread) {
    GC__API_SCOPE("gc_code_release");
    GC_ASSERT(!thread || !thread->heap || gc__thread_self(thread->heap) == thread,
              "gc_code_release: called for another thread than the calling one");
    (void)thread;
    if (gc__my_interruptee.slot) gc__code_put_back((uintptr_t)__builtin_frame_address(0));
}
/* What collections have found out of places in compiled code: how the frames of a method are laid out that has made the call
   which returns there, and which slots are live. A stack has mostly the same frames at the next collection, and in a
   recursion many alike; it takes ten times as long to decode a map. */


#define GC__KNOWN_SHIFT 8
#define GC__KNOWN_SLOTS 12

typedef struct gc__known_place {
    uintptr_t pc; /* a return address; 0: nothing is known here */
    const gc_code *code;
    gc__frame_layout layout;
    uint32_t live_count; /* more than GC__KNOWN_SLOTS: the live slots are not known */
    gc_stackmap_slot live[GC__KNOWN_SLOTS];
} gc__known_place;

/* Used by one collection at a time; others do without. */
typedef struct gc__known_places {
    bool taken;        /* atomic */
    uint64_t removals; /* gc__code_removals when the table was empty: what is known of removed code is wrong */
    gc__known_place places[1 << GC__KNOWN_SHIFT];
} gc__known_places;

static gc__known_places gc__the_known_places;

/* The table, for the calling thread to use; NULL: another one uses it. */
GC__FN gc__known_places *gc__known_take(void) {
    gc__known_places *known = &gc__the_known_places;
    if (__atomic_exchange_n(&known->taken, true, __ATOMIC_ACQUIRE)) return NULL;
    uint64_t removals = __atomic_load_n(&gc__code_removals, __ATOMIC_ACQUIRE);
    if (known->removals != removals) memset(known->places, 0, sizeof known->places);
    known->removals = removals;
    return known;
}

GC__FN void gc__known_give(gc__known_places *known) {
    if (known) __atomic_store_n(&known->taken, false, __ATOMIC_RELEASE);
}

/* Where something about that return address is, or may be stored. */
GC__FN gc__known_place *gc__known_at(gc__known_places *known, uintptr_t pc) {
    return &known->places[pc * UINT64_C(0x9E3779B97F4A7C15) >> (64 - GC__KNOWN_SHIFT)];
}
/* Walking frames of compiled code.

   Native and compiled code call each other, so the compiled frames of a stack form runs. A run begins at a gc_code_frame, a
   record that compiled code left on the stack when it called native code or was stopped, and goes on caller by caller while
   return addresses are in registered code. Where one is not, native code has called compiled code: the run ends, and the
   next record, farther from the stack pointer, begins the next run.

   Invariant: on one stack, records and the frames of runs lie in the order of the walk, at ascending addresses. */


GC__STATIC_ASSERT(offsetof(gc_code_frame, previous) == offsetof(gc__dac_code_frame, previous) &&
                      offsetof(gc_code_frame, pc) == offsetof(gc__dac_code_frame, pc) &&
                      offsetof(gc_code_frame, registers) == offsetof(gc__dac_code_frame, registers) &&
                      offsetof(gc_code_frame, known) == offsetof(gc__dac_code_frame, known) &&
                      GC_CODE_REGISTERS == GC__DAC_CODE_REGISTERS,
                  "readers in other processes are told of this layout");

#define GC__RUN_BYTES_MAX ((uintptr_t)1 << 40) /* of a run on a stack whose base is not known */
#define GC__PRESERVED_COUNT 6
static const uint8_t gc__preserved[GC__PRESERVED_COUNT] = {3, 5, 12, 13, 14, 15};
#define GC__SCRATCH_MASK 0x0FC7u

GC__FN const char *gc__register_name(unsigned number) {
    static const char *const names[GC_CODE_REGISTERS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    return number < GC_CODE_REGISTERS ? names[number] : "(no register)";
}

GC__FN size_t gc__code_offset(const gc_code_cursor *frame) { return frame->pc - (uintptr_t)frame->code->start; }

GC__FN void gc__walk_fault(const gc_code_cursor *frame, const char *fault) __attribute__((__noreturn__, __cold__));
GC__FN void gc__walk_fault(const gc_code_cursor *frame, const char *fault) {
    gc__fatal(&frame->heap->options, "the compiled frame of `%s` at +0x%zx (pc %p, stack pointer %p): %s",
              gc__code_name(frame->code), gc__code_offset(frame), (void *)frame->pc, (void *)frame->sp, fault);
}

/* Applies the layout of a frame of gc_stackmap_encode's maps. */
GC__FN const char *gc__walk_apply(gc_code_cursor *frame, const gc__frame_layout *layout) {
    uintptr_t base = frame->sp;
    if (layout->by_frame) {
        if (GC__UNLIKELY(!frame->registers[GC__FRAME_POINTER]))
            return "its frame is found by rbp, and a frame that it has called does not say where it saved rbp: list "
                   "that in "
                   "its unwind rows";
        base = *frame->registers[GC__FRAME_POINTER];
    }
    frame->cfa = base + (uintptr_t)(intptr_t)layout->cfa;
    memcpy(frame->saved, layout->saved, sizeof frame->saved);
    return NULL;
}

GC__FN const char *gc__walk_lay_out(gc_code_cursor *frame) {
    gc__frame_layout layout;
    if (!gc__stackmap_layout(frame->code->map, (uint32_t)gc__code_offset(frame), frame->kind, &layout))
        return "the pc is outside of the code";
    if (frame->known) {
        frame->known->pc = frame->pc;
        frame->known->code = frame->code;
        frame->known->layout = layout;
        frame->known->live_count = UINT32_MAX;
    }
    return gc__walk_apply(frame, &layout);
}

/* Finds the code and the layout of the frame, unless they are known. Its code is NULL if that is no compiled frame. */
GC__FN const char *gc__walk_find(gc_code_cursor *frame) {
    bool caller = frame->kind == GC_FRAME_CALLER;
    frame->known = caller && frame->places ? gc__known_at(frame->places, frame->pc) : NULL;
    if (frame->known && frame->known->pc == frame->pc) {
        frame->code = frame->known->code;
        return gc__walk_apply(frame, &frame->known->layout);
    }
    frame->code = gc_code_find((const void *)(frame->pc - caller));
    if (!frame->code) return NULL;
    if (!frame->code->format) return gc__walk_lay_out(frame);
    frame->known = NULL; /* another format's tables may tell apart what is alike to gc.h */
    memset(frame->saved, 0, sizeof frame->saved);
    return frame->code->format->layout(frame);
}

/* Completes a cursor that has the pc, the stack pointer and the registers of a frame. */
GC__FN void gc__walk_enter(gc_code_cursor *frame) {
    const char *fault = gc__walk_find(frame);
    if (fault) gc__walk_fault(frame, fault);
    if (!frame->code || GC__LIKELY(frame->cfa > frame->sp && frame->cfa <= frame->end && !(frame->cfa & 7))) return;
    gc__walk_fault(frame, "its unwind rows contradict the stack: its return address would lie below its stack pointer, "
                          "beyond the stack, or beyond the native code that called it. The rows must say what each "
                          "instruction does to the frame, or the code has overwritten rbp or the stack");
}

/* Whether mistakes are looked for that make walks slower. */
GC__FN bool gc__walks_are_checked(const gc_heap *heap) {
    return GC_DEBUG >= 1 || gc__verify_of(heap) || gc__stress_of(heap);
}

/* The run has ended: whoever called that frame must be native code. */
GC__FN void gc__walk_check_end(const gc_heap *heap, const gc_code *callee, uintptr_t pc) {
    if (pc == (uintptr_t)gc__code_entered || !gc__walks_are_checked(heap) || gc__os_is_file_code((const void *)pc))
        return;
    gc__fatal(
        &heap->options,
        "the compiled method `%s` seems to have been called from %p, which is neither in registered code nor in a "
        "loaded file: either its unwind rows are wrong, so that its return address is looked for in the wrong place "
        "(each push, pop and change of the stack pointer needs a row); or what is compiled there is not registered: "
        "code must be registered by gc_code_add until its last call has returned, also if it holds no references",
        gc__code_name(callee), (void *)pc);
}

/* Moves the cursor to the caller's frame, if that is compiled code; else code is NULL. */
GC__FN void gc__walk_leave(gc_code_cursor *frame) {
    if (frame->innermost)
        for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
            if (GC__SCRATCH_MASK >> i & 1) frame->registers[i] = NULL;
    for (unsigned i = 0; i < GC__PRESERVED_COUNT; i++) {
        int32_t saved = frame->saved[gc__preserved[i]];
        if (GC__UNLIKELY(saved == GC_SAVED_SOMEWHERE))
            frame->registers[gc__preserved[i]] = NULL;
        else if (saved)
            frame->registers[gc__preserved[i]] = (uintptr_t *)(frame->cfa + (uintptr_t)(intptr_t)saved);
    }
    const gc_code *callee = frame->code;
    frame->sp = frame->cfa;
    frame->pc = gc__code_return_address(frame->thread, (const uintptr_t *)(frame->cfa - 8));
    frame->kind = GC_FRAME_CALLER;
    frame->innermost = false;
    gc__walk_enter(frame);
    if (!frame->code) gc__walk_check_end(frame->heap, callee, frame->pc);
}

GC__FN void gc__walk_report_record(const gc_heap *heap, const gc_code_frame *record)
    __attribute__((__noreturn__, __cold__));
GC__FN void gc__walk_report_record(const gc_heap *heap, const gc_code_frame *record) {
    gc__fatal(&heap->options,
              "the record at %p of a call out of compiled code (pc %p, stack pointer %p, next record %p) is not whole, "
              "or below "
              "the stack pointer: the call was left by longjmp or by an exception, or the stack was switched "
              "meanwhile. Restore "
              "by gc_code_restore what gc_code_mark has returned before, and switch stacks by gc_stack_switch",
              (const void *)record, (void *)record->pc, (void *)record->registers[GC__STACK_POINTER],
              (const void *)record->previous);
}

/* A record that was left on a stack, which other calls have used since, may hold anything. */
GC__FN void gc__walk_check_record(const gc_heap *heap, const gc_code_frame *record, uintptr_t end) {
    uintptr_t at = (uintptr_t)record, sp = record->registers[GC__STACK_POINTER];
    bool whole = !(at & 7) && sp > at && sp <= end && record->kind <= GC_FRAME_INTERRUPTED;
    if (GC__UNLIKELY(!whole)) gc__walk_report_record(heap, record);
}

/* The first frame of the record's run, which is empty if gc_code_call has called a stub of GC_CODE_EXPORT. */
GC__FN gc_code_cursor gc__walk_begin(gc_heap *heap, const gc_stack *stack, gc_code_frame *record,
                                     gc__known_places *places) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    uintptr_t base = (uintptr_t)stack->base;
    frame.end = record->previous           ? (uintptr_t)record->previous
                : base > (uintptr_t)record ? base
                                           : (uintptr_t)record + GC__RUN_BYTES_MAX;
    gc__walk_check_record(heap, record, frame.end);
    frame.heap = heap;
    frame.thread = stack->thread && stack->thread->stack == stack ? stack->thread : NULL;
    frame.from = record;
    frame.places = places;
    frame.sp = record->registers[GC__STACK_POINTER];
    frame.pc = record->pc;
    if (GC__UNLIKELY(frame.pc == GC__CODE_RETURNED)) /* it has jumped to native code, which returns there */
        frame.pc = gc__code_return_address(frame.thread, (const uintptr_t *)(frame.sp - 8));
    frame.kind = (gc_frame_kind)record->kind;
    frame.innermost = true;
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        frame.registers[i] = record->known >> i & 1 ? &record->registers[i] : NULL;
    gc__walk_enter(&frame);
    if (!frame.code && frame.pc != (uintptr_t)gc__code_entered)
        gc__fatal(
            &heap->options,
            "the code at %p, which has called gc_code_call_native or was stopped, is in no registered code: register "
            "it by gc_code_add, and keep it registered until its last call has returned",
            (void *)record->pc);
    return frame;
}

/* The first compiled frame from the record on. */
GC__FN gc_code_cursor gc__walk_first(gc_heap *heap, const gc_stack *stack, gc_code_frame *record) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    for (; record && !frame.code; record = record->previous) frame = gc__walk_begin(heap, stack, record, NULL);
    return frame;
}

GC_API gc_code_cursor gc_code_first(gc_thread *thread) {
    return gc__walk_first(thread->heap, thread->stack, thread->code);
}

GC_API void gc_code_next(gc_code_cursor *frame) {
    gc__walk_leave(frame);
    if (!frame->code) *frame = gc__walk_first(frame->heap, frame->thread->stack, frame->from->previous);
}

/* What a call has just returned. */
GC__FN void gc__walk_visit_results(gc_code_frame *record, gc_visitor *visitor) {
    static const unsigned flags[] = {0, 0, GC_SLOT_INTERIOR, GC_SLOT_VALUE};
    if (GC__LIKELY(!record->results)) return;
    if (record->results & 3) gc_visit(visitor, &record->registers[0], 1, flags[record->results & 3]);
    if (record->results >> 2 & 3) gc_visit(visitor, &record->registers[2], 1, flags[record->results >> 2 & 3]);
}

/* Where a live slot is; NULL: it is in a register that the walk does not know. */
GC__FN void *gc__walk_slot_address(const gc_code_cursor *frame, const gc_stackmap_slot *slot) {
    uintptr_t offset = (uintptr_t)(intptr_t)slot->offset;
    if (slot->place == GC_PLACE_REGISTER) return frame->registers[slot->number];
    if (slot->place == GC_PLACE_CFA) return (void *)(frame->cfa + offset);
    if (slot->place == GC_PLACE_SP) return (void *)(frame->sp + offset);
    return frame->registers[GC__FRAME_POINTER] ? (void *)(*frame->registers[GC__FRAME_POINTER] + offset) : NULL;
}

GC__FN void gc__walk_visit_slot(const gc_code_cursor *frame, const gc_stackmap_slot *slot, gc_visitor *visitor) {
    void *at = gc__walk_slot_address(frame, slot);
    if (GC__LIKELY(at != NULL)) {
        gc_visit(visitor, at, 1, slot->flags);
        return;
    }
    char fault[320];
    snprintf(
        fault, sizeof fault,
        "%s is live in it, and a frame that it has called does not say where it saved that register: list each "
        "preserved register that a method saves in its unwind rows, or keep what is live across calls on the stack",
        gc__register_name(slot->place == GC_PLACE_REGISTER ? slot->number : 5));
    gc__walk_fault(frame, fault);
}

/* Begins with the live slots of the frame. False: it may not be stopped there. */
GC__FN bool gc__walk_live_begin(gc__live_cursor *live, const gc_code_cursor *frame) {
    uint32_t offset = (uint32_t)gc__code_offset(frame);
    if (!frame->innermost) return gc__live_begin(live, frame->code->map, offset, frame->kind);
    gc__live_open(live, frame->code->map);
    return gc__stackmap_find_innermost(&live->map, offset, frame->kind, &live->set);
}

/* Reports the frame by a map of gc_stackmap_encode. */
GC__FN const char *gc__walk_visit_map(const gc_code_cursor *frame, gc_visitor *visitor) {
    gc__known_place *known = frame->innermost ? NULL : frame->known; /* more may be live there than in a caller */
    if (known && known->live_count <= GC__KNOWN_SLOTS) {
        for (uint32_t i = 0; i < known->live_count; i++) gc__walk_visit_slot(frame, &known->live[i], visitor);
        return NULL;
    }
    gc__live_cursor live;
    if (GC__UNLIKELY(!gc__walk_live_begin(&live, frame)))
        return frame->kind == GC_FRAME_CALLER
                   ? "the call that returns there is no safe point: name it in the points of the method, with the "
                     "slots "
                     "that are live after it"
                   : "the thread was stopped where the code is not interruptible: a fault of gc_stackmap.h, please "
                     "report it";
    uint32_t count = 0;
    for (; gc__live_next(&live); count++) {
        if (known && count < GC__KNOWN_SLOTS) known->live[count] = live.slots.slot;
        gc__walk_visit_slot(frame, &live.slots.slot, visitor);
    }
    if (known) known->live_count = count;
    return NULL;
}

GC__FN bool gc__walk_is_interruptible(const gc_code_cursor *frame) {
    gc__live_cursor live;
    return gc__walk_live_begin(&live, frame);
}

GC__FN unsigned gc__code_return_kinds(const gc_code *code) {
    gc_stackmap_facts facts = gc_stackmap_read(code->map);
    return facts.returns[0] | (unsigned)facts.returns[1] << 2;
}

static const gc_code_format gc__own_format = {"gc_stackmap_encode",
                                              gc__walk_visit_map,
                                              gc__walk_lay_out,
                                              gc__walk_is_interruptible,
                                              gc__code_return_kinds,
                                              NULL,
                                              NULL};

GC__FN const gc_code_format *gc__code_format(const gc_code *code) {
    return code->format ? code->format : &gc__own_format;
}

GC_API void gc_code_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    gc__threads *threads = frame->heap->threads;
    threads->root_method = gc__code_name(frame->code);
    threads->root_offset = gc__code_offset(frame);
    const char *fault = gc__code_format(frame->code)->visit(frame, visitor);
    if (fault) gc__walk_fault(frame, fault);
    if (frame->innermost) gc__walk_visit_results(frame->from, visitor);
    threads->root_method = NULL;
}

/* With GC_DEBUG, finds a record that was left, although nothing has overwritten it yet. */
GC__FN void gc__walk_check_left(const gc_heap *heap, const gc_stack *stack, const gc_code_frame *record) {
    const gc_thread *thread = stack->thread;
    const char *stack_pointer = stack->stack_pointer;
    if (thread && thread->stack == stack)
        stack_pointer = thread == gc__thread_self(heap) ? (const char *)__builtin_frame_address(0)
                                                        : gc__record(thread)->stack_pointer;
    if (GC_DEBUG >= 1 && (const char *)record < stack_pointer) gc__walk_report_record(heap, record);
}

/* Visits the roots in all compiled frames of a stack, whose innermost record is given. */
GC__FN void gc__code_visit_stack(gc_heap *heap, const gc_stack *stack, gc_code_frame *record, gc_visitor *visitor) {
    gc__walk_check_left(heap, stack, record);
    gc__known_places *places = gc__known_take();
    for (; record; record = record->previous) {
        gc_code_cursor frame = gc__walk_begin(heap, stack, record, places);
        if (!frame.code) gc__walk_visit_results(record, visitor);
        for (; frame.code; gc__walk_leave(&frame)) gc_code_visit(&frame, visitor);
    }
    gc__known_give(places);
}

/* gc__compiled_code.lay_out. */
GC__FN bool gc__code_lay_out(uintptr_t pc, bool is_call, uintptr_t *registers, uintptr_t end, uint32_t *known,
                             uintptr_t *cfa, int32_t *saved) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    frame.kind = is_call ? GC_FRAME_CALLER : GC_FRAME_INTERRUPTED;
    frame.pc = pc;
    frame.sp = registers[GC__STACK_POINTER];
    frame.end = end;
    frame.innermost = !is_call;
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++) frame.registers[i] = *known >> i & 1 ? &registers[i] : NULL;
    if (gc__walk_find(&frame) || !frame.code) return false;
    for (unsigned i = 0; i < GC__PRESERVED_COUNT; i++) {
        int32_t place = frame.saved[gc__preserved[i]];
        saved[gc__preserved[i]] = place == GC_SAVED_SOMEWHERE ? 0 : place;
        if (place == GC_SAVED_SOMEWHERE) *known &= ~(1u << gc__preserved[i]);
    }
    *cfa = frame.cfa;
    return true;
}

/* gc__compiled_code.original. */
GC__FN uintptr_t gc__code_original(uintptr_t address) {
    return address == GC__CODE_RETURNED && gc__my_interruptee.slot ? gc__my_interruptee.original : address;
}

#define GC__PRINTED_FRAMES 8

/* For a report. */
GC__FN void gc__code_print(gc_thread *thread) {
    unsigned count = 0;
    fprintf(stderr, "gc.h:   compiled frames, innermost first:\n");
    for (gc_code_cursor frame = gc_code_first(thread); frame.code && count < GC__PRINTED_FRAMES;
         gc_code_next(&frame), count++)
        fprintf(stderr, "gc.h:     `%s` at +0x%zx, %s\n", gc__code_name(frame.code), gc__code_offset(&frame),
                frame.kind == GC_FRAME_CALLER ? "after a call" : "interrupted");
}
/* What a stack map says, row by row in the order of offsets, with the bits of each row. Nothing here takes memory. */


/* Rows of one offset come in this order. */
typedef enum gc__row_kind {
    GC__ROW_CALL,      /* a safe point */
    GC__ROW_UNWIND,    /* `unwind` */
    GC__ROW_DEAD,      /* slot number `slot` dies */
    GC__ROW_ENDED,     /* the same, since the range ends: no change says so */
    GC__ROW_RANGE_END, /* of a fully interruptible range */
    GC__ROW_RANGE,     /* one starts */
    GC__ROW_LIVE,      /* slot number `slot` becomes live */
    GC__ROW_NONE
} gc__row_kind;

/* What a row alone has of the map. What it shares with others, such as the high bits of offsets, is not in it. */
typedef struct gc__row_bits {
    uint8_t bytes[8];
    unsigned count; /* of bits; more than 64: the rest is left out */
} gc__row_bits;

typedef struct gc__row {
    gc__row_kind kind;
    uint32_t offset, slot;
    gc_stackmap_unwind unwind;
    gc__row_bits bits;
} gc__row;

/* A cursor for each kind of rows. */
typedef struct gc__rows {
    gc__stackmap map;
    const void *start;
    gc__unwind_cursor unwind;
    bool has_unwind;
    uint32_t point, range_end, change; /* the next ones; range_end counts starts and ends */
    uint32_t range_change;             /* the first change of the range */
    uint32_t dying;                    /* at the end of a range: the next slot that may die */
} gc__rows;

GC__FN void gc__row_add_bits(gc__row *row, const gc__bits *bits, uint64_t at, uint64_t count) {
    for (uint64_t i = 0; i < count; i++, row->bits.count++)
        if (row->bits.count < 64)
            row->bits.bytes[row->bits.count / 8] |= (uint8_t)(gc__bits_at(bits, at + i, 1) << row->bits.count % 8);
}

GC__FN void gc__row_add_low_bits(gc__row *row, const gc__bits *bits, const gc__ascending *list, uint32_t i) {
    gc__row_add_bits(row, bits, list->lows + (uint64_t)i * list->low_bits, list->low_bits);
}

GC__FN gc__rows gc__rows_begin(const void *map) {
    gc__rows rows;
    memset(&rows, 0, sizeof rows);
    rows.start = map;
    gc__stackmap_open(&rows.map, map, UINT64_MAX);
    rows.unwind = gc__unwind_begin(&rows.map);
    rows.has_unwind = gc__unwind_next(&rows.unwind);
    return rows;
}

/* Offers a row, which is taken unless `row` comes before it. */
GC__FN void gc__row_offer(gc__row *row, gc__row_kind kind, uint32_t offset, uint32_t slot) {
    if (row->kind != GC__ROW_NONE && (offset > row->offset || (offset == row->offset && kind >= row->kind))) return;
    row->kind = kind;
    row->offset = offset;
    row->slot = slot;
}

/* Whether the slot is live after the changes of the range up to number `last`. */
GC__FN bool gc__rows_is_live(const gc__rows *rows, uint32_t last, uint32_t slot) {
    uint64_t word = gc__changes_word(&rows->map.in_ranges, &rows->map.bits, rows->range_change, last, slot / 64);
    return word >> (slot & 63) & 1;
}

/* The next change, or what takes the place of changes at the end of a range: that each live slot dies. */
GC__FN void gc__rows_offer_change(gc__rows *rows, gc__row *row) {
    const gc__stackmap *map = &rows->map;
    if (!(rows->range_end & 1)) return;
    uint32_t end = gc__ascending_at(&map->ranges, &map->bits, rows->range_end);
    const gc__changes *changes = &map->in_ranges;
    if (rows->change < map->facts.change_count) {
        uint32_t offset = gc__ascending_at(&changes->places, &map->bits, rows->change);
        uint32_t slot = (uint32_t)gc__bits_at(&map->bits, changes->slots + (uint64_t)rows->change * changes->slot_bits,
                                              changes->slot_bits);
        if (offset < end) {
            bool was_live = gc__rows_is_live(rows, rows->change, slot);
            gc__row_offer(row, was_live ? GC__ROW_DEAD : GC__ROW_LIVE, offset, slot);
            return;
        }
    }
    while (rows->dying < map->tracked_count && !gc__rows_is_live(rows, rows->change, rows->dying)) rows->dying++;
    if (rows->dying < map->tracked_count) gc__row_offer(row, GC__ROW_ENDED, end, rows->dying);
}

/* The bits of the set of live slots. */
GC__FN void gc__row_add_set(gc__row *row, const gc__stackmap *map, uint32_t point) {
    if (map->form == GC__SETS_DIRECT) {
        gc__row_add_bits(row, &map->bits, map->sets + (uint64_t)point * map->kept_count, map->kept_count);
    } else if (map->form == GC__SETS_DISTINCT) {
        unsigned width = gc__bits_for(map->distinct_count);
        gc__row_add_bits(row, &map->bits, map->sets + (uint64_t)point * width, width);
    } else {
        const gc__changes *changes = &map->at_points;
        bool next;
        uint32_t i = gc__ascending_below(&changes->places, &map->bits, point, &next);
        for (; i < changes->places.count && gc__ascending_at(&changes->places, &map->bits, i) == point; i++)
            gc__row_add_bits(row, &map->bits, changes->slots + (uint64_t)i * changes->slot_bits, changes->slot_bits);
    }
}

/* Moves the cursor behind the row, and adds the row's bits. */
GC__FN void gc__rows_take(gc__rows *rows, gc__row *row) {
    const gc__stackmap *map = &rows->map;
    const gc__changes *changes = &map->in_ranges;
    bool is_there;
    switch (row->kind) {
    case GC__ROW_CALL:
        gc__row_add_low_bits(row, &map->bits, &map->points, rows->point);
        gc__row_add_set(row, map, rows->point++);
        break;
    case GC__ROW_UNWIND:
        row->unwind = rows->unwind.row;
        gc__row_add_bits(row, &map->bits, rows->unwind.at, rows->unwind.reader.at - rows->unwind.at);
        rows->has_unwind = gc__unwind_next(&rows->unwind);
        break;
    case GC__ROW_RANGE:
        rows->change = gc__ascending_below(&changes->places, &map->bits, row->offset, &is_there);
        rows->range_change = rows->change;
        rows->dying = 0;
        gc__row_add_low_bits(row, &map->bits, &map->ranges, rows->range_end++);
        break;
    case GC__ROW_RANGE_END:
        gc__row_add_low_bits(row, &map->bits, &map->ranges, rows->range_end++);
        break;
    case GC__ROW_ENDED:
        rows->dying = row->slot + 1;
        break;
    case GC__ROW_DEAD:
    case GC__ROW_LIVE:
        gc__row_add_low_bits(row, &map->bits, &changes->places, rows->change);
        gc__row_add_bits(row, &map->bits, changes->slots + (uint64_t)rows->change * changes->slot_bits,
                         changes->slot_bits);
        rows->change++;
        break;
    case GC__ROW_NONE:
        break;
    }
}

/* The next row; false: there is none. */
GC__FN bool gc__rows_next(gc__rows *rows, gc__row *row) {
    const gc__stackmap *map = &rows->map;
    memset(row, 0, sizeof *row);
    row->kind = GC__ROW_NONE;
    if (rows->point < map->facts.point_count)
        gc__row_offer(row, GC__ROW_CALL, gc__ascending_at(&map->points, &map->bits, rows->point), 0);
    if (rows->has_unwind) gc__row_offer(row, GC__ROW_UNWIND, rows->unwind.row.offset, 0);
    if (rows->range_end < map->facts.range_count * 2)
        gc__row_offer(row, rows->range_end & 1 ? GC__ROW_RANGE_END : GC__ROW_RANGE,
                      gc__ascending_at(&map->ranges, &map->bits, rows->range_end), 0);
    gc__rows_offer_change(rows, row);
    gc__rows_take(rows, row);
    return row->kind != GC__ROW_NONE;
}
/* Stack maps as text: the header, the pointer table, and both beside the code. */


/* A dump that is being printed. */
struct gc_dump {
    FILE *to;
    const gc_dump_options *options;
    const uint8_t *code;             /* NULL: rows are printed alone */
    uint32_t code_bytes, at;         /* the code before `at` has been printed */
    uint32_t note, boundary;         /* the next ones */
    bool row_is_open, row_is_inside; /* the last row has no line end yet; it is inside of an instruction */
    bool in_table;
    bool is_muted, is_found;
    bool only_one;                  /* all are muted but the row at `wanted` */
    uint32_t wanted, before, after; /* and the rows next to it: 0, and UINT32_MAX, if there are none */
    gc__unwind_state frame;
};

/* rbx, [rsp+16], [rbp-8], [cfa-24] */
GC__FN gc__text gc__slot_place(const gc_stackmap_slot *slot) {
    static const char *const bases[] = {"", "cfa", "rsp", "rbp"};
    gc__text text = {"", 0};
    if (slot->place == GC_PLACE_REGISTER)
        gc__text_add(&text, "%s", gc__register_name(slot->number));
    else
        gc__text_add(&text, "[%s%+d]", bases[slot->place & 3], (int)slot->offset);
    return text;
}

GC__FN bool gc__slot_is_at(const gc_stackmap_slot *slot, const gc_stackmap_slot *place) {
    if (slot->place != place->place) return false;
    return slot->place == GC_PLACE_REGISTER ? slot->number == place->number : slot->offset == place->offset;
}

/* The name of the variable that is in the slot at the offset; NULL: the host has named none. */
GC__FN const char *gc__slot_variable(const gc_dump_options *options, const gc_stackmap_slot *slot, uint32_t offset) {
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        if (gc__slot_is_at(slot, &variable->slot) && variable->start <= offset && offset < variable->end)
            return variable->name;
    }
    return NULL;
}

/* The slot with its variable and its flags: "rbx=list (interior)". */
GC__FN gc__text gc__slot_text(const gc_dump_options *options, const gc_stackmap_slot *slot, uint32_t offset) {
    gc__text text = gc__slot_place(slot);
    const char *name = gc__slot_variable(options, slot, offset);
    if (name) gc__text_add(&text, "=%s", name);
    if (slot->flags & GC_SLOT_INTERIOR) gc__text_add(&text, " (interior)");
    if (slot->flags & GC_SLOT_PINNED) gc__text_add(&text, " (pinned)");
    if (slot->flags & GC_SLOT_VALUE) gc__text_add(&text, " (value)");
    if (slot->untracked) gc__text_add(&text, " (untracked)");
    return text;
}

GC_API void gc_dump_text(gc_dump *dump, const char *format, ...) {
    va_list arguments;
    if (dump->is_muted) return;
    va_start(arguments, format);
    vfprintf(dump->to, format, arguments);
    va_end(arguments);
}

GC_API void gc_dump_fact(gc_dump *dump, const char *name, const char *format, ...) {
    va_list arguments;
    if (dump->options->no_header || dump->is_muted) return;
    fprintf(dump->to, "    %-19s= ", name);
    va_start(arguments, format);
    vfprintf(dump->to, format, arguments);
    va_end(arguments);
    fputc('\n', dump->to);
}

/* The bytes of the instruction at the offset, and its text. Without a disassembler or boundaries it reaches up to `limit`. */
GC__FN uint32_t gc__dump_instruction(const gc_dump *dump, uint32_t offset, uint32_t limit, char *text, size_t room) {
    const gc_dump_options *options = dump->options;
    uint32_t bytes = limit - offset, left = dump->code_bytes - offset;
    *text = 0;
    if (options->disassemble) {
        size_t found = options->disassemble(options->host, dump->code, offset, text, room);
        if (found && found <= left) return (uint32_t)found;
        snprintf(text, room, "(bad)");
        return 1;
    }
    if (options->boundary_count) {
        uint32_t i = dump->boundary;
        while (i < options->boundary_count && options->boundaries[i] <= offset) i++;
        bytes = (i < options->boundary_count ? options->boundaries[i] : dump->code_bytes) - offset;
    }
    return bytes < left ? bytes : left;
}

/* Prints the notes for the instruction at dump->at, between empty lines. */
GC__FN void gc__dump_notes(gc_dump *dump) {
    const gc_dump_options *options = dump->options;
    uint32_t first = dump->note;
    for (; dump->note < options->note_count && options->notes[dump->note].offset <= dump->at; dump->note++)
        fprintf(dump->to, "%s%s\n", dump->note == first ? "\n" : "", options->notes[dump->note].text);
    if (dump->note > first) fputc('\n', dump->to);
}

/* One line: address, bytes, text; what has many bytes and no text takes several lines. */
GC__FN void gc__dump_instruction_line(const gc_dump *dump, uint32_t bytes, const char *text) {
    const gc_dump_options *options = dump->options;
    uint64_t address = (options->address ? options->address : (uintptr_t)dump->code) + dump->at;
    uintptr_t mark = (uintptr_t)options->mark - ((uintptr_t)dump->code + dump->at);
    fprintf(dump->to, "%s%08llx ", options->mark && mark < bytes ? ">>> " : "", (unsigned long long)address);
    for (uint32_t i = 0; i < bytes; i++) {
        if (i && i % 16 == 0) fprintf(dump->to, "\n%08llx ", (unsigned long long)address + i);
        fprintf(dump->to, "%02x", dump->code[dump->at + i]);
    }
    int pad = 21 - (int)(2 * bytes);
    if (*text) fprintf(dump->to, "%*s%s", pad > 1 ? pad : 1, "", text);
    fputc('\n', dump->to);
}

/* Prints the code up to the offset. */
GC__FN void gc__dump_code(gc_dump *dump, uint32_t offset) {
    char text[GC__TEXT_BYTES];
    while (dump->at < offset && dump->at < dump->code_bytes) {
        uint32_t bytes = gc__dump_instruction(dump, dump->at, offset, text, sizeof text);
        if (bytes > offset - dump->at) {
            dump->row_is_inside = true;
            return;
        }
        gc__dump_notes(dump);
        gc__dump_instruction_line(dump, bytes, text);
        dump->at += bytes;
    }
}

GC__FN void gc__dump_end_row(gc_dump *dump) {
    if (dump->row_is_open) fputs(dump->row_is_inside ? " (inside of the next instruction!)\n" : "\n", dump->to);
    dump->row_is_open = dump->row_is_inside = false;
}

GC__FN void gc__dump_begin_table(gc_dump *dump) {
    if (!dump->in_table && !dump->options->no_header)
        fprintf(dump->to, "\n%s:\n", dump->code ? "Code and pointer table" : "Pointer table");
    dump->in_table = true;
}

/* In search of one row: only that one is not muted. */
GC__FN void gc__dump_pass_row(gc_dump *dump, uint32_t offset) {
    dump->is_muted = offset != dump->wanted;
    dump->is_found |= !dump->is_muted;
    if (offset < dump->wanted) dump->before = offset;
    if (offset > dump->wanted && offset < dump->after) dump->after = offset;
}

GC_API void gc_dump_row(gc_dump *dump, uint32_t offset, const char *encoded) {
    if (dump->only_one) {
        gc__dump_pass_row(dump, offset);
        return;
    }
    gc__dump_begin_table(dump);
    gc__dump_end_row(dump);
    dump->row_is_open = true;
    if (dump->code) {
        gc__dump_code(dump, offset);
        fprintf(dump->to, "    GCInfo:      %04X        ", offset);
    } else if (dump->options->no_encoding) {
        fprintf(dump->to, "%04X        ", offset);
    } else {
        fprintf(dump->to, "%-15s| %04X        ", encoded ? encoded : "", offset);
    }
}

GC__FN void gc__dump_slot(gc_dump *dump, const gc_stackmap_slot *slot, uint32_t offset) {
    gc__text text = gc__slot_text(dump->options, slot, offset);
    gc_dump_text(dump, "%s", text.text);
}

/* Slots that are live: "[ rbx, [rsp+16]=list ]". */
GC__FN void gc__dump_live(gc_dump *dump, const gc__stackmap *map, uint32_t offset, gc_frame_kind kind) {
    gc__live_cursor live;
    gc_dump_text(dump, "[");
    if (gc__live_begin(&live, map->bits.start, offset, kind)) {
        for (const char *joint = " "; gc__live_next(&live);) {
            if (live.slots.slot.untracked) continue;
            gc_dump_text(dump, "%s", joint);
            joint = ", ";
            gc__dump_slot(dump, &live.slots.slot, offset);
        }
    }
    gc_dump_text(dump, " ]");
}

GC__FN void gc__dump_unwind(gc_dump *dump, const gc_stackmap_unwind *row) {
    const char *name = row->number == GC_NO_REGISTER ? "" : gc__register_name(row->number);
    const char *space = *name ? " " : "";
    switch (row->op) {
    case GC_UNWIND_PUSH:
        gc_dump_text(dump, "push%s%s", space, name);
        break;
    case GC_UNWIND_POP:
        gc_dump_text(dump, "pop%s%s", space, name);
        break;
    case GC_UNWIND_ALLOCATE:
        gc_dump_text(dump, "rsp%+d", (int)-row->bytes);
        break;
    case GC_UNWIND_SAVE:
        gc_dump_text(dump, "save %s at [rsp%+d]", name, (int)row->bytes);
        break;
    case GC_UNWIND_RESTORE:
        gc_dump_text(dump, "restore %s", name);
        break;
    case GC_UNWIND_FRAME:
        gc_dump_text(dump, "rbp = rsp%+d, the frame pointer", (int)row->bytes);
        break;
    case GC_UNWIND_LEAVE:
        gc_dump_text(dump, "rsp = rbp%+d", (int)-row->bytes);
        break;
    default:
        gc_dump_text(dump, "the frame is that of the body again");
        break;
    }
}

GC__FN gc_stackmap_slot gc__slot_number(const gc__stackmap *map, uint32_t i) {
    gc__slot_cursor cursor = gc__slots_begin(map);
    while (cursor.index <= i && gc__slots_next(&cursor)) continue;
    return cursor.slot;
}

/* What a row of a stack map means. */
GC__FN void gc__dump_meaning(gc_dump *dump, const gc__stackmap *map, const gc__row *row) {
    gc__unwind_state *frame = &dump->frame;
    gc_stackmap_slot slot;
    switch (row->kind) {
    case GC__ROW_CALL:
        gc_dump_text(dump, "call %d ", frame->in_body ? (int)(frame->now.depth - frame->body.depth) / 8 : 0);
        gc__dump_live(dump, map, row->offset, GC_FRAME_CALLER);
        break;
    case GC__ROW_UNWIND:
        gc__dump_unwind(dump, &row->unwind);
        break;
    case GC__ROW_RANGE:
        gc_dump_text(dump, "fully interruptible from here on");
        break;
    case GC__ROW_RANGE_END:
        gc_dump_text(dump, "partially interruptible from here on");
        break;
    case GC__ROW_NONE:
        break;
    case GC__ROW_DEAD:
    case GC__ROW_ENDED:
    case GC__ROW_LIVE:
        slot = gc__slot_number(map, row->slot);
        gc_dump_text(dump, slot.place == GC_PLACE_REGISTER ? "reg " : "");
        gc__dump_slot(dump, &slot, row->kind == GC__ROW_LIVE || !row->offset ? row->offset : row->offset - 1);
        gc_dump_text(dump, row->kind == GC__ROW_LIVE ? " becoming live" : " becoming dead");
    }
}

/* "4B 02": the bits of a row, of which the first is the lowest of the first byte. */
GC__FN gc__text gc__row_encoded(const gc__row *row) {
    gc__text text = {"", 0};
    unsigned bytes = (row->bits.count + 7) / 8;
    for (unsigned i = 0; i < bytes && i < 4; i++) gc__text_add(&text, "%s%02X", i ? " " : "", row->bits.bytes[i]);
    if (bytes > 4) gc__text_add(&text, " ..");
    return text;
}

GC__FN void gc__dump_table(gc_dump *dump, const void *start) {
    gc__rows rows = gc__rows_begin(start);
    gc__row row;
    gc__slot_cursor slots = gc__slots_begin(&rows.map);
    dump->frame = gc__unwind_start(rows.map.facts.prolog_bytes, rows.map.facts.flags);
    while (rows.map.facts.untracked_count && gc__slots_next(&slots)) {
        if (!slots.slot.untracked) continue;
        gc_dump_row(dump, 0, "");
        gc__dump_slot(dump, &slots.slot, 0);
    }
    while (gc__rows_next(&rows, &row)) {
        if (row.kind != GC__ROW_UNWIND || !dump->options->no_unwinding) {
            gc__text encoded = gc__row_encoded(&row);
            gc_dump_row(dump, row.offset, encoded.text);
            gc__dump_meaning(dump, &rows.map, &row);
        }
        if (row.kind == GC__ROW_UNWIND) gc__unwind_step(&dump->frame, &row.unwind);
    }
}

/* What the unwind rows say of the frame as a whole. */
typedef struct gc__frame_facts {
    gc__unwind_state state;
    uint32_t saved; /* bit i: register i is */
    uint32_t epilog_count, epilog_at;
    bool in_epilog; /* at the end of the code */
} gc__frame_facts;

GC__FN gc__frame_facts gc__frame_facts_of(const gc__stackmap *map) {
    gc__frame_facts facts;
    gc__unwind_cursor rows = gc__unwind_begin(map);
    memset(&facts, 0, sizeof facts);
    facts.state = gc__unwind_start(map->facts.prolog_bytes, map->facts.flags);
    while (gc__unwind_next(&rows)) {
        gc__unwind_step(&facts.state, &rows.row);
        for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
            facts.saved |= (uint32_t)(facts.state.now.layout.saved[i] != 0) << i;
        bool leaves = rows.row.op == GC_UNWIND_LEAVE || rows.row.op == GC_UNWIND_RESTORE ||
                      facts.state.now.depth < facts.state.body.depth;
        if (facts.state.in_body && leaves && !facts.in_epilog) {
            facts.in_epilog = true;
            facts.epilog_count++;
            if (!facts.epilog_at) facts.epilog_at = rows.row.offset;
        }
        if (rows.row.op == GC_UNWIND_BODY) facts.in_epilog = false;
    }
    if (!facts.state.in_body) facts.state.body = facts.state.now;
    return facts;
}

/* The start of the first epilog, of which only the end of its first instruction is known; exact with a disassembler. */
GC__FN void gc__dump_epilog(gc_dump *dump, uint32_t behind) {
    char text[GC__TEXT_BYTES];
    uint32_t at = 0, bytes = 0;
    bool exact = dump->code && (dump->options->disassemble || dump->options->boundary_count);
    while (exact && at + bytes < behind) {
        at += bytes;
        bytes = gc__dump_instruction(dump, at, dump->code_bytes, text, sizeof text);
    }
    gc_dump_fact(dump, "epilog        at", exact ? "%04X" : "before %04X", exact ? at : behind);
}

GC__FN const char *gc__yes_or_no(bool yes) { return yes ? "yes" : "no"; }

/* The offset from the CFA of one of the five special slots. */
GC__FN void gc__dump_special(gc_dump *dump, const char *name, const gc_stackmap_facts *facts, unsigned i) {
    if (facts->flags & GC_METHOD_SECURITY_OBJECT << i)
        gc_dump_fact(dump, name, "[cfa%+d]", (int)facts->extra[i]);
    else
        gc_dump_fact(dump, name, "no");
}

GC__FN void gc__dump_header(gc_dump *dump, const gc__stackmap *map) {
    static const char *const kinds[] = {"scalar", "object", "interior", "value"};
    const gc_stackmap_facts *facts = &map->facts;
    gc__frame_facts frame = gc__frame_facts_of(map);
    uint32_t start = facts->range_count ? gc__ascending_at(&map->ranges, &map->bits, 0) : 0;
    uint32_t end = facts->range_count ? gc__ascending_at(&map->ranges, &map->bits, facts->range_count * 2 - 1) : 0;
    gc__text saved = {"", 0};
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        if (frame.saved >> i & 1) gc__text_add(&saved, "%s%s", saved.length ? " " : "", gc__register_name(i));
    gc_dump_fact(dump, "method      size", "%04X", facts->code_bytes);
    gc_dump_fact(dump, "prolog      size", "%3u", facts->prolog_bytes);
    gc_dump_fact(dump, "epilog     count", "%3u", frame.epilog_count);
    gc_dump_fact(dump, "epilog      end", "%s", gc__yes_or_no(frame.in_epilog));
    gc_dump_fact(dump, "saved registers", "%s", saved.length ? saved.text : "none");
    gc_dump_fact(dump, "rbp frame", "%s", gc__yes_or_no(frame.state.frame_cfa != 0));
    if (facts->range_count)
        gc_dump_fact(dump, "fully interruptible", "yes, %04X to %04X%s", start, end,
                     facts->range_count > 1 ? ", in parts" : "");
    else
        gc_dump_fact(dump, "fully interruptible", "no");
    gc__dump_special(dump, "security object", facts, 0);
    gc__dump_special(dump, "stack guard", facts, 1);
    gc__dump_special(dump, "previous frame", facts, 2);
    gc__dump_special(dump, "generics context", facts, 3);
    gc__dump_special(dump, "reverse call", facts, 4);
    gc_dump_fact(dump, "exception handlers", "%s", gc__yes_or_no(facts->flags & GC_METHOD_HANDLERS));
    gc_dump_fact(dump, "local alloc", "%s", gc__yes_or_no(facts->flags & GC_METHOD_DYNAMIC_STACK));
    if (facts->flags & GC_METHOD_EDIT_AND_CONTINUE)
        gc_dump_fact(dump, "edit & continue", "yes, %d bytes", (int)facts->extra[5]);
    else
        gc_dump_fact(dump, "edit & continue", "no");
    gc_dump_fact(dump, "varargs", "%s", gc__yes_or_no(facts->flags & GC_METHOD_VARARGS));
    gc_dump_fact(dump, "innermost only", "%s", gc__yes_or_no(facts->flags & GC_METHOD_REPORT_LEAF_ONLY));
    gc_dump_fact(dump, "argument   count", "%3u", facts->argument_bytes / 8);
    gc_dump_fact(dump, "outgoing   count", "%3u", facts->outgoing_bytes / 8);
    gc_dump_fact(dump, "stack frame size", "%3d", (int)frame.state.body.depth / 8 - 1);
    gc_dump_fact(dump, "return      kind", "%s%s%s", kinds[facts->returns[0] & 3], facts->returns[1] ? ", " : "",
                 facts->returns[1] ? kinds[facts->returns[1] & 3] : "");
    gc_dump_fact(dump, "slot       count", "%3u", facts->slot_count);
    gc_dump_fact(dump, "untracked  count", "%3u", facts->untracked_count);
    if (frame.epilog_count) gc__dump_epilog(dump, frame.epilog_at);
}

GC__FN gc_dump_options gc__dump_options(const gc_dump_options *options) {
    gc_dump_options none;
    memset(&none, 0, sizeof none);
    return options ? *options : none;
}

GC__FN gc_dump gc__dump_of(const gc_dump_options *options, const void *code, size_t code_bytes, FILE *to) {
    gc_dump dump;
    memset(&dump, 0, sizeof dump);
    dump.to = to;
    dump.options = options;
    dump.code = (const uint8_t *)code;
    dump.code_bytes = code_bytes < UINT32_MAX ? (uint32_t)code_bytes : UINT32_MAX;
    return dump;
}

/* What `!u` begins with. */
GC__FN void gc__dump_begin(gc_dump *dump, const char *name) {
    const gc_dump_options *options = dump->options;
    uintptr_t start = (uintptr_t)dump->code, shown = options->address ? (uintptr_t)options->address : start;
    if (options->no_header) return;
    if (options->mark && (uintptr_t)options->mark - start < dump->code_bytes)
        fprintf(dump->to, "Will print '>>> ' at address: %08llx\n",
                (unsigned long long)(shown + ((uintptr_t)options->mark - start)));
    if (name) fprintf(dump->to, "%s\n", name);
    if (dump->code) fprintf(dump->to, "Begin %08llx, size %x\n", (unsigned long long)shown, dump->code_bytes);
}

GC__FN void gc__dump_end(gc_dump *dump) {
    gc__dump_begin_table(dump);
    gc__dump_end_row(dump);
    if (dump->code) gc__dump_code(dump, dump->code_bytes);
}

/* The bytes in which the header is, the last of which it may share with the table. */
GC__FN void gc__dump_header_bytes(gc_dump *dump, const gc__stackmap *map) {
    if (dump->options->no_header || dump->options->no_encoding) return;
    for (uint64_t i = 0; i < (map->header_end + 7) / 8; i++) fprintf(dump->to, "%02X ", map->bits.start[i]);
    fputs("   |\n", dump->to);
}

GC__FN void gc__dump_map(gc_dump *dump, const void *start) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    if (!dump->options->no_header) fputs("Method info block:\n", dump->to);
    gc__dump_header(dump, &map);
    gc__dump_header_bytes(dump, &map);
    gc__dump_table(dump, start);
}

GC_API void gc_stackmap_dump(const void *map, FILE *to, const gc_dump_options *options) {
    if (gc__is_null(map, "gc_stackmap_dump", "map") || gc__is_null(to, "gc_stackmap_dump", "to")) return;
    gc_dump_options all = gc__dump_options(options);
    gc_dump dump = gc__dump_of(&all, all.code, gc_stackmap_read(map).code_bytes, to);
    gc__dump_begin(&dump, NULL);
    gc__dump_map(&dump, map);
    gc__dump_end(&dump);
}

/* The code with the address, which may also be the one behind its last instruction: a return address, if that is a call. */
GC__FN const gc_code *gc__code_with(const void *pc) {
    const gc_code *code = gc_code_find(pc);
    return code ? code : gc_code_find((const void *)((uintptr_t)pc - 1));
}

GC_API bool gc_code_dump(const void *pc, FILE *to, const gc_dump_options *options) {
    const gc_code *code = gc__code_with(pc);
    if (!code || gc__is_null(to, "gc_code_dump", "to")) return false;
    gc_dump_options marked = gc__dump_options(options);
    marked.mark = pc == code->start ? NULL : pc;
    gc_dump dump = gc__dump_of(&marked, code->start, code->bytes, to);
    gc__dump_begin(&dump, code->name);
    if (!code->format) {
        gc__dump_map(&dump, code->map);
    } else if (code->format->dump) {
        gc_dump_fact(&dump, "tables", "%s", code->format->name);
        code->format->dump(code, &dump);
    } else {
        gc_dump_fact(&dump, "tables", "%s, which have no dump", code->format->name);
    }
    gc__dump_end(&dump);
    return true;
}
/* Where a variable is live, and why it is not elsewhere, in sentences. */


/* What is to be explained, and to whom. */
typedef struct gc__question {
    gc__stackmap map;
    uint32_t offset;
    FILE *to;
    gc_dump_options options;
    bool is_stop;       /* a thread may be stopped at the offset */
    gc_frame_kind kind; /* then: how */
} gc__question;

#define GC__OFFSET "+0x%02x"

GC__FN gc__question gc__question_at(const gc__question *question, uint32_t offset) {
    gc__live_set set;
    gc__question at = *question;
    at.offset = offset;
    at.kind = gc_stackmap_is_interruptible(at.map.bits.start, offset) ? GC_FRAME_INTERRUPTED : GC_FRAME_CALLER;
    at.is_stop = gc__stackmap_find(&at.map, offset, at.kind, &set);
    return at;
}

GC__FN bool gc__slot_is_live(const gc__stackmap *map, uint32_t slot, uint32_t offset, gc_frame_kind kind) {
    gc__live_set set;
    return gc__stackmap_find(map, offset, kind, &set) && gc__live_word(map, &set, slot / 64) >> (slot & 63) & 1;
}

GC__FN bool gc__is_scratch(const gc_stackmap_slot *slot) {
    return slot->place == GC_PLACE_REGISTER && !(GC__PRESERVED_REGISTERS >> slot->number & 1);
}

/* The safe points next to the offset: the last one before it, and the first one behind it; 0: there is none. */
GC__FN void gc__question_neighbours(const gc__question *question, uint32_t *before, uint32_t *behind) {
    const gc__stackmap *map = &question->map;
    bool is_point;
    uint32_t i = gc__ascending_below(&map->points, &map->bits, question->offset, &is_point);
    *before = i ? gc__ascending_at(&map->points, &map->bits, i - 1) : 0;
    i += is_point;
    *behind = i < map->facts.point_count ? gc__ascending_at(&map->points, &map->bits, i) : 0;
}

/* The next offset in that direction at which a thread may be stopped as at the question's; false: there is none. */
GC__FN bool gc__question_step(const gc__question *question, uint32_t *offset, bool forward) {
    gc__question at = *question;
    uint32_t before, behind;
    if (question->kind == GC_FRAME_INTERRUPTED) {
        *offset += forward ? 1u : ~0u;
        return gc_stackmap_is_interruptible(question->map.bits.start, *offset);
    }
    at.offset = *offset;
    gc__question_neighbours(&at, &before, &behind);
    *offset = forward ? behind : before;
    return *offset != 0;
}

/* How far in one direction a slot stays live, or dead, as it is at the offset. */
typedef struct gc__reach {
    uint32_t last, beyond; /* the last offset at which it is so, and the first one at which it is otherwise */
    bool changes;          /* there is such a one */
} gc__reach;

GC__FN gc__reach gc__slot_reach(const gc__question *question, uint32_t slot, bool is_live, bool forward) {
    gc__reach reach = {question->offset, question->offset, false};
    while (gc__question_step(question, &reach.beyond, forward)) {
        if (gc__slot_is_live(&question->map, slot, reach.beyond, question->kind) != is_live) {
            reach.changes = true;
            break;
        }
        reach.last = reach.beyond;
    }
    return reach;
}

/* What becomes of a variable. */
typedef enum gc__life { GC__LIFE_LIVE, GC__LIFE_NOT_BEGUN, GC__LIFE_ENDED, GC__LIFE_UNKNOWN } gc__life;

/* Completes "`t` is in rdi at +0x30". */
GC__FN void gc__explain_live(const gc__question *question, uint32_t number, const gc_stackmap_slot *slot) {
    FILE *to = question->to;
    if (slot->untracked) {
        fputs(", untracked: live wherever a thread is stopped in the method.\n", to);
        return;
    }
    uint32_t first = gc__slot_reach(question, number, true, false).last;
    uint32_t last = gc__slot_reach(question, number, true, true).last;
    if (question->kind == GC_FRAME_INTERRUPTED) {
        bool at_end = last + 1 == question->map.facts.code_bytes;
        fprintf(to, ", live from " GC__OFFSET " to " GC__OFFSET "%s.", first, last + 1,
                at_end ? ", the end of the code" : "");
        if (gc__is_scratch(slot))
            fputs(" Only the innermost frame has it, since a call does not preserve the register.", to);
        fputc('\n', to);
    } else if (first == last) {
        fputs(", live across the call that returns there.\n", to);
    } else {
        fprintf(to,
                ", live across all calls from that which returns to " GC__OFFSET " to that which returns to " GC__OFFSET
                ".\n",
                first, last);
    }
}

/* Says why a slot is dead: when it was live for the last time, or will be for the first time. */
GC__FN gc__life gc__explain_dead(const gc__question *question, uint32_t number, const char *place) {
    FILE *to = question->to;
    gc__reach before = gc__slot_reach(question, number, false, false),
              after = gc__slot_reach(question, number, false, true);
    if (question->kind == GC_FRAME_CALLER) {
        if (before.changes)
            fprintf(to, "the last call across which %s was live returns to " GC__OFFSET, place, before.beyond);
        else if (after.changes)
            fprintf(to, "the first call across which %s is live returns to " GC__OFFSET, place, after.beyond);
        else
            fprintf(to, "%s is live across no call", place);
    } else if (before.changes) {
        fprintf(to, "%s died at " GC__OFFSET, place, before.last);
    } else if (after.changes) {
        fprintf(to, "%s becomes live at " GC__OFFSET, place, after.beyond);
    } else {
        fprintf(to, "%s is live nowhere in this interruptible code", place);
    }
    if (before.changes) fputs(", and the compiler saw no later use", to);
    return before.changes || !after.changes ? GC__LIFE_ENDED : GC__LIFE_NOT_BEGUN;
}

/* The number of the map's slot at that place, preferably of a live one: different flags make different slots. UINT32_MAX:
   it has none. */
GC__FN uint32_t gc__question_slot(const gc__question *question, gc_stackmap_slot *place) {
    gc__slot_cursor slots = gc__slots_begin(&question->map);
    gc_stackmap_slot wanted = *place;
    uint32_t found = UINT32_MAX;
    while (gc__slots_next(&slots)) {
        if (!gc__slot_is_at(&slots.slot, &wanted)) continue;
        bool is_live = gc__slot_is_live(&question->map, slots.index - 1, question->offset, question->kind);
        if (found != UINT32_MAX && !is_live) continue;
        found = slots.index - 1;
        *place = slots.slot;
        if (is_live) break;
    }
    return found;
}

/* A caller's frame may keep at the offset what an interrupted one does not, and the reverse: what counts for it is the call
   that returns there. */
GC__FN void gc__explain_call(const gc__question *question, uint32_t number, const gc_stackmap_slot *slot,
                             bool is_live) {
    gc__live_set set;
    if (question->kind == GC_FRAME_CALLER || gc__is_scratch(slot)) return;
    if (!gc__stackmap_find(&question->map, question->offset, GC_FRAME_CALLER, &set)) return;
    if (gc__slot_is_live(&question->map, number, question->offset, GC_FRAME_CALLER) == is_live) return;
    fprintf(question->to, "A call that returns there %s.\n", is_live ? "does not keep it" : "still keeps it");
}

/* A place that the variable has at the offset. */
GC__FN gc__life gc__explain_place(const gc__question *question, const gc_code_variable *variable) {
    FILE *to = question->to;
    gc_stackmap_slot slot = variable->slot;
    uint32_t number = gc__question_slot(question, &slot);
    gc__text place = gc__slot_place(&slot);
    gc__life life = GC__LIFE_UNKNOWN;
    if (number != UINT32_MAX && gc__slot_is_live(&question->map, number, question->offset, question->kind)) {
        fprintf(to, "`%s` is in %s at " GC__OFFSET, variable->name, place.text, question->offset);
        gc__explain_live(question, number, &slot);
        gc__explain_call(question, number, &slot, true);
        return GC__LIFE_LIVE;
    }
    fprintf(to, "`%s` is not live at " GC__OFFSET ": ", variable->name, question->offset);
    if (number == UINT32_MAX)
        fprintf(to,
                "it is in %s, which the map never has live: it holds no reference, or none that any safe point needs",
                place.text);
    else if (question->kind == GC_FRAME_CALLER && gc__is_scratch(&slot))
        fprintf(to, "it is in %s, which a call does not preserve; rbx, rbp, r12 to r15 and the stack outlive calls",
                place.text);
    else
        life = gc__explain_dead(question, number, place.text);
    fputs(".\n", to);
    if (number != UINT32_MAX) gc__explain_call(question, number, &slot, false);
    return life;
}

/* A variable that has no place at the offset: when it had its last one before, or has its first one after. */
GC__FN gc__life gc__explain_elsewhere(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    const gc_code_variable *last = NULL, *first = NULL;
    FILE *to = question->to;
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        if (strcmp(variable->name, name) != 0) continue;
        if (variable->start > question->offset) {
            if (!first || variable->start < first->start) first = variable;
        } else if (!last || variable->end > last->end) {
            last = variable;
        }
    }
    gc_stackmap_slot slot = last ? last->slot : first->slot;
    gc__text place = gc__slot_place(&slot);
    fprintf(to, "`%s` is not live at " GC__OFFSET ": ", name, question->offset);
    if (!last) {
        fprintf(to, "it is first in %s from " GC__OFFSET " on.\n", place.text, first->start);
        return GC__LIFE_NOT_BEGUN;
    }
    fprintf(to, "it was in %s until " GC__OFFSET, place.text, last->end);
    if (first) {
        gc__text again = gc__slot_place(&first->slot);
        fprintf(to, ", and from " GC__OFFSET " on it is in %s.\n", first->start, again.text);
        return GC__LIFE_UNKNOWN;
    }
    uint32_t number = gc__question_slot(question, &slot);
    bool is_dead = number != UINT32_MAX && !gc__is_scratch(&slot) &&
                   !gc__slot_is_live(&question->map, number, question->offset, question->kind);
    fputs(is_dead ? "; " : ", and the compiler saw no later use", to);
    if (is_dead) gc__explain_dead(question, number, place.text);
    fputs(".\n", to);
    return GC__LIFE_ENDED;
}

/* The variable's places at the offset. */
GC__FN gc__life gc__explain_variable(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    gc__life life = GC__LIFE_UNKNOWN;
    bool is_there = false;
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        bool covers = variable->start <= question->offset && question->offset < variable->end;
        if (!covers || strcmp(variable->name, name) != 0) continue;
        gc__life there = gc__explain_place(question, variable);
        if (!is_there || there == GC__LIFE_LIVE) life = there;
        is_there = true;
    }
    return is_there ? life : gc__explain_elsewhere(question, name);
}

/* "Live at +0x30: rbx=list, [rsp+16]." And what is not, of the variables that have a place there. */
GC__FN void gc__explain_all(const gc__question *question) {
    const gc_dump_options *options = &question->options;
    gc__live_cursor live;
    const char *joint = "";
    fprintf(question->to, "Live at " GC__OFFSET ": ", question->offset);
    if (gc__live_begin(&live, question->map.bits.start, question->offset, question->kind)) {
        for (; gc__live_next(&live); joint = ", ") {
            gc__text text = gc__slot_text(options, &live.slots.slot, question->offset);
            fprintf(question->to, "%s%s", joint, text.text);
        }
    }
    fputs(*joint ? ".\n" : "nothing.\n", question->to);
    for (uint32_t i = 0; i < options->variable_count; i++) {
        const gc_code_variable *variable = &options->variables[i];
        gc_stackmap_slot slot = variable->slot;
        if (variable->start > question->offset || question->offset >= variable->end) continue;
        uint32_t number = gc__question_slot(question, &slot);
        if (number != UINT32_MAX && gc__slot_is_live(&question->map, number, question->offset, question->kind))
            continue;
        gc__explain_place(question, variable);
    }
}

/* Why no collection sees the frame at the offset; returns the safe point to look at instead, 0 if there is none. */
GC__FN uint32_t gc__explain_no_stop(const gc__question *question) {
    uint32_t before, behind;
    FILE *to = question->to;
    gc__question_neighbours(question, &before, &behind);
    fprintf(to, "No thread is stopped at " GC__OFFSET ": the code there is partially interruptible", question->offset);
    if (question->offset < question->map.facts.prolog_bytes) fputs(", a part of the prolog", to);
    fputs(", where only calls are safe points. ", to);
    if (before)
        fprintf(to, "In the code, the last one before it returns to " GC__OFFSET "%s", before, behind ? ", " : ".\n");
    if (behind)
        fprintf(to, "%she next one %sto " GC__OFFSET ".\n", before ? "t" : "T", before ? "" : "in the code returns ",
                behind);
    if (!before && !behind) fputs("The method has none.\n", to);
    return behind ? behind : before;
}

/* What may happen at the offset. */
GC__FN void gc__explain_stop(const gc__question *question) {
    fputs(question->kind == GC_FRAME_INTERRUPTED
              ? "The code there is fully interruptible: a collection may come before each instruction.\n"
              : "The code there is partially interruptible: only calls are safe points.\n",
          question->to);
    if (question->kind == GC_FRAME_CALLER && question->map.facts.flags & GC_METHOD_REPORT_LEAF_ONLY)
        fputs("The method reports nothing unless it is the innermost one.\n", question->to);
}

/* Whether the options have the variable; if not, it says which they have. */
GC__FN bool gc__explain_name(const gc__question *question, const char *name) {
    const gc_dump_options *options = &question->options;
    for (uint32_t i = 0; i < options->variable_count; i++)
        if (strcmp(options->variables[i].name, name) == 0) return true;
    fprintf(question->to, "No variable is called `%s`", name);
    for (uint32_t i = 0, count = 0; i < options->variable_count; i++) {
        uint32_t same = 0;
        while (strcmp(options->variables[same].name, options->variables[i].name) != 0) same++;
        if (same == i) fprintf(question->to, "%s`%s`", count++ ? ", " : "; there are ", options->variables[i].name);
    }
    fputs(".\n", question->to);
    return false;
}

GC_API bool gc_stackmap_explain(const void *map, uint32_t offset, const char *variable, FILE *to,
                                const gc_dump_options *options) {
    gc__question question;
    if (gc__is_null(map, "gc_stackmap_explain", "map") || gc__is_null(to, "gc_stackmap_explain", "to")) return false;
    memset(&question, 0, sizeof question);
    gc__stackmap_open(&question.map, map, UINT64_MAX);
    question.to = to;
    question.options = gc__dump_options(options);
    question = gc__question_at(&question, offset);
    if (variable && !gc__explain_name(&question, variable)) return false;
    if (offset > question.map.facts.code_bytes) {
        fprintf(to, GC__OFFSET " is outside of the method, which has 0x%x bytes of code.\n", offset,
                question.map.facts.code_bytes);
        return true;
    }
    if (!question.is_stop) {
        uint32_t instead = gc__explain_no_stop(&question);
        if (!instead) return true;
        question = gc__question_at(&question, instead);
    }
    gc__life life = GC__LIFE_UNKNOWN;
    if (variable)
        life = gc__explain_variable(&question, variable);
    else
        gc__explain_all(&question);
    if (life != GC__LIFE_LIVE && question.offset == offset) gc__explain_stop(&question);
    if (life == GC__LIFE_ENDED)
        fprintf(to, "A later use of `%s` extends its life: what gc_keep_alive is in C.\n", variable);
    return true;
}

/* What the tables of another format have at the offset: the dump of one row. */
GC__FN void gc__explain_row(const gc_code *code, uint32_t offset, FILE *to, const gc_dump_options *options) {
    gc_dump dump = gc__dump_of(options, NULL, code->bytes, to);
    dump.only_one = dump.is_muted = true;
    dump.wanted = offset;
    dump.after = UINT32_MAX;
    fprintf(to, "The tables of %s have at " GC__OFFSET ": ", code->format->name, offset);
    code->format->dump(code, &dump);
    if (!dump.is_found) fputs("nothing", to);
    if (dump.before) fprintf(to, "; the row before it is at " GC__OFFSET, dump.before);
    if (dump.after != UINT32_MAX) fprintf(to, "; the row after it is at " GC__OFFSET, dump.after);
    fputs(".\n", to);
}

/* What the map says of the last safe point before the use of a stale reference, where the slot that held it was left out. */
GC__FN void gc__code_print_use(uintptr_t pc) {
    const gc_code *code = gc_code_find((const void *)pc);
    if (!code) return;
    uint32_t at = (uint32_t)(pc - gc__code_start(code));
    fprintf(stderr, "gc.h:   the use is in compiled code: `%s` at +0x%x\n", gc__code_name(code), at);
    if (code->format) return;
    gc__live_cursor live;
    while (at && !gc__live_begin(&live, code->map, at, GC_FRAME_CALLER)) at--;
    if (!at) return;
    fprintf(stderr, "gc.h:   its map must name the slot that held the reference. Of the last safe point it says:\n");
    gc_stackmap_explain(code->map, at, NULL, stderr, NULL);
}

GC_API bool gc_code_explain(const void *pc, const char *variable, FILE *to, const gc_dump_options *options) {
    const gc_code *code = gc__code_with(pc);
    gc_dump_options all = gc__dump_options(options);
    if (!code || gc__is_null(to, "gc_code_explain", "to")) return false;
    uint32_t offset = (uint32_t)((uintptr_t)pc - (uintptr_t)code->start);
    fprintf(to, "In %s:\n", gc__code_name(code));
    if (!code->format) return gc_stackmap_explain(code->map, offset, variable, to, options);
    if (code->format->dump)
        gc__explain_row(code, offset, to, &all);
    else
        fprintf(to, "The tables of %s cannot be printed.\n", code->format->name);
    return true;
}
/* The stack maps of LLVM: version 3 of the section, with the records of statepoints, for x86-64.

   A section is a header, functions, constants, and the records of all functions in their order. The record of a statepoint
   belongs to a return address, and has locations: the calling convention, flags and the number of deopt operands, as
   constants; the deopt operands; and pairs of a base and a derived pointer. A location is named by many pairs, in any order.

   What is read once, when a module is added, is kept in a form that needs no checks, memory or search for what is equal when
   frames are visited: for each return address the distinct places of bases, and then pairs of a derived place and its base's. */


#define GC__LLVM_VERSION 3
#define GC__LLVM_HEADER_BYTES 16
#define GC__LLVM_FUNCTION_BYTES 24
#define GC__LLVM_RECORD_BYTES 16
#define GC__LLVM_LOCATION_BYTES 12
#define GC__LLVM_RECORD_BYTES_MIN 64 /* three locations and no live-outs */
#define GC__LLVM_UNKNOWN \
    UINT64_MAX /* the stack size of a function that realigns its stack, or allocates from it at run time */
#define GC__LLVM_STACK_BYTES_MAX ((uint64_t)1 << 30)

enum { GC__LLVM_REGISTER = 1, GC__LLVM_DIRECT, GC__LLVM_INDIRECT, GC__LLVM_CONSTANT, GC__LLVM_CONSTANT_INDEX };
enum {
    GC__LLVM_RSP = 4,
    GC__LLVM_RBP = 5,
    GC__LLVM_PRESERVED = 0xF028
}; /* the machine's numbers; rbx, rbp, r12 to r15 */

/* `count` words at register + offset that hold references; 0: the register holds one itself. */
typedef struct gc__llvm_place {
    int32_t offset;
    uint16_t count;
    uint16_t number; /* the machine's, of the register */
} gc__llvm_place;

/* A call: at places[first] are `bases` places, and then `pairs` pairs of a derived place and that of its base. */
typedef struct gc__llvm_point {
    uint32_t offset; /* the return address's, from the start of the function */
    uint16_t bases, pairs;
    size_t first;
} gc__llvm_point;

typedef struct gc__llvm_function {
    gc_code code;
    char name[36]; /* the section has none */
    const gc_llvm_module *module;
    size_t first, count; /* its points, ascending */
    uint64_t stack_bytes;
} gc__llvm_function;

struct gc_llvm_module {
    gc__llvm_function *functions; /* ascending */
    gc__llvm_point *points;
    gc__llvm_place *places;
    size_t function_count, point_count, place_count, registered;
    unsigned flags;
};

/* One section after another is read, each to its end. Offsets are from the start of the first. */
typedef struct gc__llvm_reader {
    const unsigned char *section;
    size_t bytes;
    size_t start; /* of the section that is being read */
    size_t at;
    uint32_t constants; /* their number in this section */
    gc_llvm_module *module;
} gc__llvm_reader;

/* Every refusal names the byte at which the fault is. */
#define GC__LLVM_REFUSE(at, ...)                                                                \
    (gc__fail(GC_ERROR_FORMAT, "gc_code_add_llvm: at byte %zu of the section, ", (size_t)(at)), \
     gc__fail_more(__VA_ARGS__), false)

GC__FN uint64_t gc__llvm_read(const gc__llvm_reader *reader, size_t at, size_t bytes) {
    uint64_t word = 0;
    memcpy(&word, reader->section + at, bytes);
    return GC__LITTLE(64, word); /* as x86-64 writes the section */
}

GC__FN uint32_t gc__llvm_u32(const gc__llvm_reader *reader, size_t at) {
    return (uint32_t)gc__llvm_read(reader, at, 4);
}
GC__FN uint16_t gc__llvm_u16(const gc__llvm_reader *reader, size_t at) {
    return (uint16_t)gc__llvm_read(reader, at, 2);
}

GC__FN bool gc__llvm_need(const gc__llvm_reader *reader, uint64_t bytes, const char *what) {
    size_t left = reader->bytes - reader->at;
    if (bytes <= left) return true;
    return GC__LLVM_REFUSE(reader->at, "%s takes %llu bytes, but only %zu are left: the section was cut off", what,
                           (unsigned long long)bytes, left);
}

/* The machine's number of a register that DWARF numbers so; GC_NO_REGISTER: none of the sixteen. */
GC__FN unsigned gc__llvm_register(uint16_t dwarf) {
    static const uint8_t numbers[] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};
    return dwarf < sizeof numbers ? numbers[dwarf] : GC_NO_REGISTER;
}

typedef struct gc__llvm_location {
    uint8_t type;
    uint16_t bytes, dwarf;
    int32_t offset;
} gc__llvm_location;

/* The location at `at`, whose bytes are there. */
GC__FN bool gc__llvm_read_location(const gc__llvm_reader *reader, size_t at, gc__llvm_location *location) {
    location->type = (uint8_t)gc__llvm_read(reader, at, 1);
    location->bytes = gc__llvm_u16(reader, at + 2);
    location->dwarf = gc__llvm_u16(reader, at + 4);
    location->offset = (int32_t)gc__llvm_u32(reader, at + 8);
    if (location->type < GC__LLVM_REGISTER || location->type > GC__LLVM_CONSTANT_INDEX)
        return GC__LLVM_REFUSE(at, "a location has type %u, which is none of version 3", location->type);
    if (gc__llvm_read(reader, at + 1, 1) || gc__llvm_u16(reader, at + 6))
        return GC__LLVM_REFUSE(at, "reserved bytes of a location are not 0");
    if (location->type == GC__LLVM_CONSTANT_INDEX && (uint32_t)location->offset >= reader->constants)
        return GC__LLVM_REFUSE(at, "a location names constant %u, but the section has %u", (unsigned)location->offset,
                               (unsigned)reader->constants);
    return true;
}

/* A location that a pair may have. *is_place: it is a place, and no constant. */
GC__FN bool gc__llvm_read_place(const gc__llvm_reader *reader, size_t at, gc__llvm_place *place, bool *is_place) {
    gc__llvm_location location;
    if (!gc__llvm_read_location(reader, at, &location)) return false;
    *is_place = location.type < GC__LLVM_CONSTANT;
    if (!*is_place) return true;
    if (location.type == GC__LLVM_DIRECT)
        return GC__LLVM_REFUSE(at, "a pair is the address of a variable on the stack (Direct): list what the variable "
                                   "holds in \"gc-live\", not the alloca, and run mem2reg before the rewrite");
    unsigned number = gc__llvm_register(location.dwarf);
    bool held = location.type == GC__LLVM_REGISTER;
    if (number == GC_NO_REGISTER)
        return GC__LLVM_REFUSE(at,
                               "a reference is in, or at an offset from, DWARF's register %u, which is no general one",
                               location.dwarf);
    if (number == GC__LLVM_RSP ? held : !(GC__LLVM_PRESERVED >> number & 1))
        return GC__LLVM_REFUSE(at, "a reference depends on %s, which the call does not preserve",
                               gc__register_name(number));
    if (held ? location.bytes != 8 || location.offset : !location.bytes || location.bytes % 8 || location.offset % 8)
        return GC__LLVM_REFUSE(at, "a reference of %u bytes at offset %d is not made of aligned words of 8 bytes",
                               location.bytes, (int)location.offset);
    place->offset = location.offset;
    place->count = held ? 0 : location.bytes / 8;
    place->number = (uint16_t)number;
    return true;
}

/* A total order. Places in a register come before those in memory. */
GC__FN int gc__llvm_order(const void *a, const void *b) {
    const gc__llvm_place *x = (const gc__llvm_place *)a, *y = (const gc__llvm_place *)b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (!x->count != !y->count) return x->count ? 1 : -1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

GC__FN bool gc__llvm_overlap(const gc__llvm_place *a, const gc__llvm_place *b) {
    if (a->number != b->number || !a->count != !b->count) return false;
    if (!a->count) return true;
    return a->offset < (int64_t)b->offset + 8 * b->count && b->offset < (int64_t)a->offset + 8 * a->count;
}

/* Makes `count` sorted places, or with step 2 pairs, distinct. Returns how many are left; SIZE_MAX: two overlap. */
GC__FN size_t gc__llvm_distinct(gc__llvm_place *places, size_t count, size_t step) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const gc__llvm_place *next = &places[i * step], *last = kept ? &places[(kept - 1) * step] : NULL;
        if (last && gc__llvm_order(last, next) == 0) continue;
        if (last && gc__llvm_overlap(last, next)) return SIZE_MAX;
        memmove(&places[kept++ * step], next, step * sizeof *next);
    }
    return kept;
}

/* The one of the sorted places, which are disjoint, that `place` overlaps; NULL: none. */
GC__FN const gc__llvm_place *gc__llvm_covering(const gc__llvm_place *places, size_t count,
                                               const gc__llvm_place *place) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (gc__llvm_overlap(&places[middle], place)) return &places[middle];
        if (gc__llvm_order(&places[middle], place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

GC__FN bool gc__llvm_refuse_overlap(size_t at) {
    return GC__LLVM_REFUSE(at, "references of one record overlap on the stack");
}

/* Reads the bases of `count` pairs to the end of the module's places. */
GC__FN bool gc__llvm_read_bases(gc__llvm_reader *reader, size_t at, size_t count, gc__llvm_point *point) {
    gc__llvm_place *bases = reader->module->places + point->first;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_place;
        if (!gc__llvm_read_place(reader, at + i * 2 * GC__LLVM_LOCATION_BYTES, &bases[found], &is_place)) return false;
        found += is_place;
    }
    qsort(bases, found, sizeof *bases, gc__llvm_order);
    found = gc__llvm_distinct(bases, found, 1);
    if (found == SIZE_MAX) return gc__llvm_refuse_overlap(at);
    point->bases = (uint16_t)found;
    return true;
}

/* Reads the derived pointers of the pairs, after the bases. One that is also a base needs no update of its own, and neither
   does one whose base is a constant: null, or the address of what is no object. */
GC__FN bool gc__llvm_read_derived(gc__llvm_reader *reader, size_t first, size_t count, gc__llvm_point *point) {
    gc__llvm_place *bases = reader->module->places + point->first, *pairs = bases + point->bases;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        gc__llvm_place *derived = &pairs[2 * found], *base = derived + 1;
        size_t at = first + i * 2 * GC__LLVM_LOCATION_BYTES;
        bool is_place, has_base;
        if (!gc__llvm_read_place(reader, at, base, &has_base)) return false;
        if (!gc__llvm_read_place(reader, at + GC__LLVM_LOCATION_BYTES, derived, &is_place)) return false;
        if (!is_place || !has_base) continue;
        const gc__llvm_place *covering = gc__llvm_covering(bases, point->bases, derived);
        if (covering && gc__llvm_order(covering, derived) != 0) return gc__llvm_refuse_overlap(at);
        if (covering) continue;
        if ((derived->count ? derived->count : 1) != (base->count ? base->count : 1))
            return GC__LLVM_REFUSE(at, "a pair has a base and a derived pointer of different sizes");
        found++;
    }
    qsort(pairs, found, 2 * sizeof *pairs, gc__llvm_order);
    found = gc__llvm_distinct(pairs, found, 2);
    if (found == SIZE_MAX) return gc__llvm_refuse_overlap(first);
    point->pairs = (uint16_t)found;
    reader->module->place_count = point->first + point->bases + 2 * found;
    return true;
}

/* Constant `i` of the three that begin the record of a statepoint. */
GC__FN bool gc__llvm_read_prefix(const gc__llvm_reader *reader, size_t at, int i, uint32_t *value) {
    static const char *const names[] = {"calling convention", "flags", "number of deopt operands"};
    gc__llvm_location location;
    if (!gc__llvm_read_location(reader, at, &location)) return false;
    *value = (uint32_t)location.offset;
    if (location.type == GC__LLVM_CONSTANT && location.offset >= 0) return true;
    return GC__LLVM_REFUSE(at,
                           "the record's %s is no constant: it is not of a statepoint, but perhaps of "
                           "llvm.experimental.stackmap or patchpoint, for which gc.h has no use",
                           names[i]);
}

/* The locations of a record. */
GC__FN bool gc__llvm_read_locations(gc__llvm_reader *reader, size_t at, size_t count, gc__llvm_point *point) {
    uint32_t prefix[3];
    if (count < 3) return GC__LLVM_REFUSE(at, "the record has %zu locations: a statepoint's has at least 3", count);
    for (int i = 0; i < 3; i++, at += GC__LLVM_LOCATION_BYTES)
        if (!gc__llvm_read_prefix(reader, at, i, &prefix[i])) return false;
    if (prefix[1] > 3) return GC__LLVM_REFUSE(at, "the statepoint's flags are %u: unknown ones", (unsigned)prefix[1]);
    if (prefix[2] > count - 3)
        return GC__LLVM_REFUSE(at, "the statepoint has %u deopt operands, but the record only %zu locations",
                               (unsigned)prefix[2], count);
    for (uint32_t i = 0; i < prefix[2]; i++, at += GC__LLVM_LOCATION_BYTES) {
        gc__llvm_location operand;
        if (!gc__llvm_read_location(reader, at, &operand)) return false;
    }
    size_t rest = count - 3 - prefix[2];
    if (rest % 2) return GC__LLVM_REFUSE(at, "%zu locations are left for pairs of base and derived pointer: odd", rest);
    return gc__llvm_read_bases(reader, at, rest / 2, point) && gc__llvm_read_derived(reader, at, rest / 2, point);
}

/* The record at reader->at, which it passes. */
GC__FN bool gc__llvm_read_record(gc__llvm_reader *reader) {
    size_t at = reader->at;
    if (!gc__llvm_need(reader, GC__LLVM_RECORD_BYTES, "a record")) return false;
    size_t count = gc__llvm_u16(reader, at + 14);
    size_t bytes = (GC__LLVM_RECORD_BYTES + GC__LLVM_LOCATION_BYTES * count + 7) & ~(size_t)7;
    if (!gc__llvm_need(reader, bytes + 8, "a record with its locations")) return false;
    size_t live_outs = gc__llvm_u16(reader, at + bytes + 2);
    size_t tail = (4 + 4 * live_outs + 7) & ~(size_t)7;
    if (!gc__llvm_need(reader, bytes + tail, "a record with its live-outs")) return false;
    if (gc__llvm_u16(reader, at + 12) || gc__llvm_u16(reader, at + bytes))
        return GC__LLVM_REFUSE(at, "reserved bytes of a record are not 0");
    gc__llvm_point point = {gc__llvm_u32(reader, at + 8), 0, 0, reader->module->place_count};
    if (point.offset == 0) return GC__LLVM_REFUSE(at, "the return address of a call is the start of its function");
    if (!gc__llvm_read_locations(reader, at + GC__LLVM_RECORD_BYTES, count, &point)) return false;
    reader->module->points[reader->module->point_count++] = point;
    reader->at = at + bytes + tail;
    return true;
}

GC__FN int gc__llvm_point_order(const void *a, const void *b) {
    uint32_t x = ((const gc__llvm_point *)a)->offset, y = ((const gc__llvm_point *)b)->offset;
    return (x > y) - (x < y);
}

/* The function whose entry is at `entry`, with its records, which start at reader->at. */
GC__FN bool gc__llvm_read_function(gc__llvm_reader *reader, size_t entry) {
    gc_llvm_module *module = reader->module;
    uint64_t address = gc__llvm_read(reader, entry, 8), stack_bytes = gc__llvm_read(reader, entry + 8, 8),
             count = gc__llvm_read(reader, entry + 16, 8);
    if (!address)
        return GC__LLVM_REFUSE(entry,
                               "the address of a function is 0: relocations must be applied to the section first (in a "
                               "linked program they are; an object file's R_X86_64_64 are symbol + addend)");
    if (address > ((uint64_t)1 << GC__TREE_ADDRESS_BITS) - UINT32_MAX)
        return GC__LLVM_REFUSE(entry, "%#llx is not the address of a function", (unsigned long long)address);
    if (stack_bytes != GC__LLVM_UNKNOWN && (stack_bytes % 8 || stack_bytes > GC__LLVM_STACK_BYTES_MAX))
        return GC__LLVM_REFUSE(entry, "a function has a stack size of %llu bytes", (unsigned long long)stack_bytes);
    if (!count) return true;
    gc__llvm_function *function = &module->functions[module->function_count];
    memset(function, 0, sizeof *function);
    function->module = module;
    function->first = module->point_count;
    function->count = (size_t)count;
    function->stack_bytes = stack_bytes;
    for (uint64_t i = 0; i < count; i++)
        if (!gc__llvm_read_record(reader)) return false;
    gc__llvm_point *points = module->points + function->first;
    qsort(points, function->count, sizeof *points, gc__llvm_point_order);
    for (size_t i = 1; i < function->count; i++)
        if (points[i - 1].offset == points[i].offset)
            return GC__LLVM_REFUSE(entry, "the function has two records for the return address at its byte %u",
                                   (unsigned)points[i].offset);
    function->code.start = (const void *)(uintptr_t)address;
    function->code.bytes = points[function->count - 1].offset;
    snprintf(function->name, sizeof function->name, "LLVM's function %p", function->code.start);
    function->code.map_bytes = sizeof *function;
    module->function_count++;
    return true;
}

/* The section at reader->start, which it passes. */
GC__FN bool gc__llvm_read_section(gc__llvm_reader *reader) {
    size_t start = reader->at;
    reader->start = start;
    if (!gc__llvm_need(reader, GC__LLVM_HEADER_BYTES, "the header")) return false;
    unsigned version = (unsigned)gc__llvm_read(reader, start, 1);
    if (version != GC__LLVM_VERSION)
        return GC__LLVM_REFUSE(start, "the version is %u: gc.h reads version %d of LLVM's stack maps", version,
                               GC__LLVM_VERSION);
    if (gc__llvm_read(reader, start + 1, 3)) return GC__LLVM_REFUSE(start, "reserved bytes of the header are not 0");
    uint64_t functions = gc__llvm_u32(reader, start + 4), records = gc__llvm_u32(reader, start + 12), counted = 0;
    reader->constants = gc__llvm_u32(reader, start + 8);
    reader->at += GC__LLVM_HEADER_BYTES;
    if (!gc__llvm_need(reader, functions * GC__LLVM_FUNCTION_BYTES + 8ull * reader->constants,
                       "the list of functions and constants"))
        return false;
    size_t entry = reader->at;
    for (uint64_t i = 0; i < functions; i++) {
        uint64_t count = gc__llvm_read(reader, entry + i * GC__LLVM_FUNCTION_BYTES + 16, 8);
        counted = count > records - counted ? records + 1 : counted + count;
        if (counted > records) break;
    }
    if (counted != records)
        return GC__LLVM_REFUSE(start, "the functions have %s than the %llu records that the header counts",
                               counted > records ? "more" : "less", (unsigned long long)records);
    reader->at += functions * GC__LLVM_FUNCTION_BYTES + 8ull * reader->constants;
    for (uint64_t i = 0; i < functions; i++, entry += GC__LLVM_FUNCTION_BYTES)
        if (!gc__llvm_read_function(reader, entry)) return false;
    return true;
}

GC__FN int gc__llvm_function_order(const void *a, const void *b) {
    const char *x = (const char *)((const gc__llvm_function *)a)->code.start,
               *y = (const char *)((const gc__llvm_function *)b)->code.start;
    return (x > y) - (x < y);
}

GC__FN bool gc__llvm_is_same(const gc__llvm_function *a, const gc__llvm_function *b) {
    const gc__llvm_point *x = a->module->points + a->first, *y = b->module->points + b->first;
    if (a->count != b->count || a->stack_bytes != b->stack_bytes) return false;
    for (size_t i = 0; i < a->count; i++) {
        if (x[i].offset != y[i].offset || x[i].bases != y[i].bases || x[i].pairs != y[i].pairs) return false;
        if (memcmp(a->module->places + x[i].first, a->module->places + y[i].first,
                   (x[i].bases + 2u * x[i].pairs) * sizeof *a->module->places))
            return false;
    }
    return true;
}

/* Sorts the functions. Modules that were linked together may each list a function of which the linker kept one copy. */
GC__FN bool gc__llvm_merge(gc_llvm_module *module) {
    gc__llvm_function *functions = module->functions;
    size_t kept = 0;
    qsort(functions, module->function_count, sizeof *functions, gc__llvm_function_order);
    for (size_t i = 0; i < module->function_count; i++) {
        bool again = kept && functions[kept - 1].code.start == functions[i].code.start;
        if (again && !gc__llvm_is_same(&functions[kept - 1], &functions[i])) {
            gc__fail(
                GC_ERROR_FORMAT,
                "gc_code_add_llvm: two modules have different records for the function at %p: of its copies, which "
                "were not compiled alike, the linker kept one (linkonce_odr): compile all modules by the same options",
                functions[i].code.start);
            return false;
        }
        if (!again) functions[kept++] = functions[i];
    }
    module->function_count = kept;
    for (size_t i = 0; i < kept; i++) {
        functions[i].code.map = &functions[i];
        functions[i].code.name = functions[i].name;
    }
    return true;
}

/* Gives back what of `capacity` items is not used. */
GC__FN void *gc__llvm_shrink(void *items, size_t bytes) {
    void *shorter = realloc(items, bytes ? bytes : 1);
    return shorter ? shorter : items;
}

/* Memory for all that sections of so many bytes can hold. */
GC__FN bool gc__llvm_reserve(gc_llvm_module *module, size_t bytes) {
    size_t records = bytes / GC__LLVM_RECORD_BYTES_MIN, pairs = bytes / (2 * GC__LLVM_LOCATION_BYTES);
    module->functions = (gc__llvm_function *)malloc((records + 1) * sizeof *module->functions);
    module->points = (gc__llvm_point *)malloc((records + 1) * sizeof *module->points);
    module->places = (gc__llvm_place *)malloc((3 * pairs + 1) * sizeof *module->places);
    if (module->functions && module->points && module->places) return true;
    gc__fail(GC_ERROR_MEMORY, "gc_code_add_llvm: the system gives no memory for a section of %zu bytes", bytes);
    return false;
}

GC__FN bool gc__llvm_load(gc_llvm_module *module, const void *section, size_t bytes) {
    gc__llvm_reader reader = {(const unsigned char *)section, bytes, 0, 0, 0, module};
    if (!gc__llvm_reserve(module, bytes)) return false;
    while (reader.at < bytes)
        if (!gc__llvm_read_section(&reader)) return false;
    module->points = (gc__llvm_point *)gc__llvm_shrink(module->points, module->point_count * sizeof *module->points);
    module->places = (gc__llvm_place *)gc__llvm_shrink(module->places, module->place_count * sizeof *module->places);
    module->functions =
        (gc__llvm_function *)gc__llvm_shrink(module->functions, module->function_count * sizeof *module->functions);
    return gc__llvm_merge(module);
}

GC__FN const gc__llvm_function *gc__llvm_of(const gc_code_cursor *frame) {
    return (const gc__llvm_function *)frame->code->map;
}

GC__FN const gc__llvm_point *gc__llvm_find(const gc__llvm_function *function, uintptr_t pc) {
    const gc__llvm_point *points = function->module->points + function->first;
    uintptr_t offset = pc - (uintptr_t)function->code.start;
    size_t low = 0, high = function->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (points[middle].offset == offset) return &points[middle];
        if (points[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Makes the sentence why a frame cannot be visited or laid out. */
#define GC__LLVM_CANNOT(...) (gc__fail(GC_ERROR_FORMAT, __VA_ARGS__), gc_last_message())

/* Where the place is in the frame; NULL: it depends on a register whose value is not known. */
GC__FN void *gc__llvm_address(const gc_code_cursor *frame, const gc__llvm_place *place) {
    uintptr_t *held = frame->registers[place->number];
    if (place->number == GC__LLVM_RSP) return (void *)(frame->sp + (uintptr_t)(intptr_t)place->offset);
    if (!held || !place->count) return held;
    return (void *)(*held + (uintptr_t)(intptr_t)place->offset);
}

GC__FN const char *gc__llvm_cannot_visit(const gc__llvm_place *place) {
    const char *name = gc__register_name(place->number);
    if (place->count)
        return GC__LLVM_CANNOT("references lie at an offset from %s, and where its value was saved is not known: "
                               "compile with frame pointers (llc --frame-pointer=all)",
                               name);
    return GC__LLVM_CANNOT("a reference is in %s, and where a callee saved that is not known: compile without llc's "
                           "-max-registers-for-gc-values, so that references are on the stack",
                           name);
}

GC__FN const char *gc__llvm_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    const gc__llvm_function *function = gc__llvm_of(frame);
    const gc__llvm_point *point = gc__llvm_find(function, frame->pc);
    if (!point)
        return GC__LLVM_CANNOT("the call there is no statepoint, and must not collect: is it, or the function that it "
                               "calls, \"gc-leaf-function\"?");
    const gc__llvm_place *place = function->module->places + point->first, *derived = place + point->bases;
    for (; place < derived; place++) {
        void *slot = gc__llvm_address(frame, place);
        if (!slot) return gc__llvm_cannot_visit(place);
        gc_visit(visitor, slot, place->count ? place->count : 1, 0);
    }
    for (const gc__llvm_place *end = derived + 2 * point->pairs; derived < end; derived += 2) {
        char *slot = (char *)gc__llvm_address(frame, derived), *base = (char *)gc__llvm_address(frame, derived + 1);
        if (!slot) return gc__llvm_cannot_visit(derived);
        for (size_t i = 0; i == 0 || i < derived->count; i++) gc_visit_derived(visitor, slot + 8 * i, base + 8 * i);
    }
    return NULL;
}

/* Whether the function has `push rbp; mov rbp, rsp` before the call. */
GC__FN bool gc__llvm_has_frame_pointer(const gc_code_cursor *frame) {
    static const unsigned char prolog[] = {0x55, 0x48, 0x89, 0xE5};
    const unsigned char *code = (const unsigned char *)frame->code->start, *end = (const unsigned char *)frame->pc;
    for (; code + sizeof prolog < end; code++)
        if (memcmp(code, prolog, sizeof prolog) == 0) return true;
    return false;
}

/* The end of the frame by its frame pointer: the address of the return address; 0: rbp holds no frame pointer.
   Without frame pointers rbp often holds one of a caller, which would silently leave out the frames between. The stack size
   tells which one it is, but for what a call has pushed. */
GC__FN uintptr_t gc__llvm_end_by_pointer(const gc_code_cursor *frame) {
    uint64_t size = gc__llvm_of(frame)->stack_bytes;
    if (!frame->registers[GC__LLVM_RBP]) return 0;
    uintptr_t end = *frame->registers[GC__LLVM_RBP] + 8;
    if (size != GC__LLVM_UNKNOWN && end == frame->sp + size) return end;
    uintptr_t least = frame->sp + (size == GC__LLVM_UNKNOWN ? 8 : size);
    if (end % 8 || end < least || end >= frame->end) return 0;
    return size == GC__LLVM_UNKNOWN || gc__llvm_has_frame_pointer(frame) ? end : 0;
}

/* Whether a call instruction is before the address: near and relative, or by any operand. */
GC__FN bool gc__llvm_follows_call(uintptr_t pc) {
    unsigned char before[7], *code = before + sizeof before;
    if (pc < sizeof before || !gc__os_read(before, (const void *)(pc - sizeof before), sizeof before)) return false;
    if (code[-5] == 0xE8) return true;
    for (int length = 2; length <= 7; length++)
        if (code[-length] == 0xFF && (code[1 - length] >> 3 & 7) == 2) return true;
    return false;
}

/* The end of the frame by the stack size; 0: no return address is there. The size is wrong where a call has pushed
   arguments, and the walk would take what it then finds for a return to native code, and end early. */
GC__FN uintptr_t gc__llvm_end_by_size(const gc_code_cursor *frame) {
    uintptr_t end = frame->sp + gc__llvm_of(frame)->stack_bytes;
    if (end >= frame->end) return 0;
    uintptr_t pc = *(uintptr_t *)end;
    return gc_code_find((const void *)(pc - 1)) || gc__llvm_follows_call(pc) ? end : 0;
}

GC__FN const char *gc__llvm_cannot_lay_out(const gc_code_cursor *frame) {
    const gc__llvm_function *function = gc__llvm_of(frame);
    bool by_size = function->module->flags & GC_LLVM_FRAMES_BY_SIZE;
    if (by_size && function->stack_bytes != GC__LLVM_UNKNOWN)
        return GC__LLVM_CANNOT("the stack size of %llu bytes leads to no return address: where a call has arguments on "
                               "the stack, compile with llc's -no-x86-call-frame-opt or with frame pointers",
                               (unsigned long long)function->stack_bytes);
    return GC__LLVM_CANNOT("rbp holds no frame pointer of its frame: compile LLVM's functions with frame pointers (llc "
                           "--frame-pointer=all, or the attribute \"frame-pointer\"=\"all\")%s",
                           by_size ? "; the size of this frame is not known"
                                   : ", or add them with GC_LLVM_FRAMES_BY_SIZE");
}

/* Where preserved registers other than rbp were saved, the section does not say. */
GC__FN const char *gc__llvm_layout(gc_code_cursor *frame) {
    const gc__llvm_function *function = gc__llvm_of(frame);
    bool by_size = function->module->flags & GC_LLVM_FRAMES_BY_SIZE && function->stack_bytes != GC__LLVM_UNKNOWN;
    uintptr_t pointed = gc__llvm_end_by_pointer(frame),
              end = !pointed && by_size ? gc__llvm_end_by_size(frame) : pointed;
    if (!end) return frame->heap ? gc__llvm_cannot_lay_out(frame) : ""; /* a profile's walk sets no error */
    frame->cfa = end + 8;
    for (int i = 0; i < GC_CODE_REGISTERS; i++)
        if (GC__LLVM_PRESERVED >> i & 1) frame->saved[i] = GC_SAVED_SOMEWHERE;
    if (pointed) frame->saved[GC__LLVM_RBP] = -16;
    return NULL;
}

GC__FN void gc__llvm_dump_place(gc_dump *dump, const gc__llvm_place *place) {
    const char *name = gc__register_name(place->number);
    if (!place->count) gc_dump_text(dump, "%s", name);
    for (uint16_t i = 0; i < place->count; i++)
        gc_dump_text(dump, "%s[%s%+d]", i ? ", " : "", name, (int)(place->offset + 8 * i));
}

/* A row for each statepoint: places of bases, and derived ones with that of their base. */
GC__FN void gc__llvm_dump(const gc_code *code, gc_dump *dump) {
    const gc__llvm_function *function = (const gc__llvm_function *)code->map;
    gc_dump_fact(dump, "stack frame size", function->stack_bytes == GC__LLVM_UNKNOWN ? "not known" : "%llu bytes",
                 (unsigned long long)function->stack_bytes);
    gc_dump_fact(dump, "statepoints", "%zu", function->count);
    const gc__llvm_point *point = function->module->points + function->first;
    for (const gc__llvm_point *end = point + function->count; point < end; point++) {
        const gc__llvm_place *place = function->module->places + point->first;
        gc_dump_row(dump, point->offset, NULL);
        gc_dump_text(dump, "call [");
        for (unsigned i = 0; i < point->bases; i++, place++) {
            gc_dump_text(dump, i ? ", " : " ");
            gc__llvm_dump_place(dump, place);
        }
        for (unsigned i = 0; i < point->pairs; i++, place += 2) {
            gc_dump_text(dump, point->bases || i ? ", " : " ");
            gc__llvm_dump_place(dump, place);
            gc_dump_text(dump, " derived from ");
            gc__llvm_dump_place(dump, place + 1);
        }
        gc_dump_text(dump, " ]");
    }
}

static const gc_code_format gc__llvm_format = {"LLVM", gc__llvm_visit, gc__llvm_layout, NULL,
                                               NULL,   NULL,           gc__llvm_dump};

GC_API void gc_code_remove_llvm(gc_llvm_module *module) {
    if (!module) return;
    while (module->registered) gc_code_remove(&module->functions[--module->registered].code);
    free(module->functions);
    free(module->points);
    free(module->places);
    free(module);
}

GC_API gc_llvm_module *gc_code_add_llvm(const void *section, size_t bytes, unsigned flags) {
    if (bytes && gc__is_null(section, "gc_code_add_llvm", "section")) return NULL;
    if (flags & ~(unsigned)GC_LLVM_FRAMES_BY_SIZE) {
        gc__fail(GC_ERROR_OPTION, "gc_code_add_llvm: the flags %#x are not known: GC_LLVM_FRAMES_BY_SIZE or 0", flags);
        return NULL;
    }
    if (bytes >> GC__TREE_ADDRESS_BITS) {
        gc__fail(GC_ERROR_FORMAT, "gc_code_add_llvm: %zu bytes is the size of no section: it is its end - its start",
                 bytes);
        return NULL;
    }
    gc_llvm_module *module = (gc_llvm_module *)calloc(1, sizeof *module);
    if (!module) {
        gc__fail(GC_ERROR_MEMORY, "gc_code_add_llvm: the system gives no memory for the module's record");
        return NULL;
    }
    module->flags = flags;
    bool added = gc__llvm_load(module, section, bytes);
    while (added && module->registered < module->function_count) {
        gc_code *code = &module->functions[module->registered].code;
        code->format = &gc__llvm_format;
        added = gc_code_add(code) == GC_OK;
        module->registered += added;
    }
    if (added) return module;
    gc_code_remove_llvm(module);
    return NULL;
}
/* Calls between native and compiled code: the stubs are in src/platform. */


#define GC__CODE_ARGUMENTS 6 /* those that are in integer registers */

GC__STATIC_ASSERT(offsetof(gc_thread, poll) == 88 && offsetof(gc_thread, code) == 112 &&
                      offsetof(gc_thread, safepoint) == 120,
                  "the assembly of the stubs has these offsets");
GC__STATIC_ASSERT(offsetof(gc_code_frame, previous) == 0 && offsetof(gc_code_frame, pc) == 8 &&
                      offsetof(gc_code_frame, registers) == 16 && offsetof(gc_code_frame, known) == 144 &&
                      offsetof(gc_code_frame, kind) == 148 && offsetof(gc_code_frame, results) == 150 &&
                      sizeof(gc_code_frame) <= 160,
                  "the assembly of the stubs has these offsets");
GC__STATIC_ASSERT(GC_FRAME_CALLER == 0 && GC_RETURN_OBJECT == 1, "the assembly of the stubs has these values");

/* The units of a program that have a static gc.h each share the stubs, but know their own threads only. */
#if GC_DEBUG >= 1 && !GC__API_IS_STATIC
/* Compiled code has called a stub with `thread` in r10. */
__attribute__((used)) GC__FN void gc__code_check_thread(const gc_thread *thread, uintptr_t return_address) {
    const gc_thread *mine = GC__MY_ATTACHMENTS;
    while (mine && (mine != thread || !gc_thread_heap(mine))) mine = gc__record(mine)->next_attachment;
    if (mine && gc__is_cooperative(mine)) return;
    const gc_code *code = gc_code_find((const void *)(return_address - 1));
    const char *name = code ? gc__code_name(code) : "code that is not registered";
    size_t offset = code ? return_address - (uintptr_t)code->start : 0;
    GC_ASSERT(
        mine,
        "gc_code_call_native: the call in `%s` that returns to %p (+0x%zx) has %p in r10, which is no attached "
        "gc_thread of the calling thread: load into r10 what gc_code_call has put into r15, or pass it as the first "
        "argument (rdi) to what GC_CODE_EXPORT has defined",
        name, (void *)return_address, offset, (const void *)thread);
    GC_ASSERT(false,
              "gc_code_call_native: the call in `%s` that returns to %p (+0x%zx) is in preemptive mode: compiled code "
              "runs in "
              "cooperative mode",
              name, (void *)return_address, offset);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* the C standard need not allow the string of their assembly */
GC__CODE_NATIVE_STUBS(GC__CODE_CHECK, "i"(gc__code_check_thread))
#pragma GCC diagnostic pop
#else
GC__CODE_NATIVE_STUBS(, )
#endif

GC_API uintptr_t gc_code_call(gc_thread *thread, const void *start, const uintptr_t *arguments, size_t count) {
    if (!GC__HAS_CODE_CALLS)
        gc__fatal(&thread->heap->options, "gc_code_call: compiled code can be called on x86-64 Linux only, so far");
    GC_ASSERT(count <= GC__CODE_ARGUMENTS,
              "gc_code_call: %zu arguments, of which only six fit in registers: pass a pointer to the others", count);
    GC_ASSERT(gc__is_cooperative(thread), "gc_code_call: compiled code runs in cooperative mode");
    GC_ASSERT(
        !thread->code || (const char *)thread->code > (const char *)__builtin_frame_address(0),
        "gc_code_call: a call out of compiled code was left by longjmp or by an exception: restore by gc_code_restore "
        "what gc_code_mark has returned before");
    uintptr_t registers[GC__CODE_ARGUMENTS] = {0};
    for (size_t i = 0; i < count && i < GC__CODE_ARGUMENTS; i++) registers[i] = arguments[i];
    return gc__code_enter(thread, start, registers);
}

GC_API void gc_code_restore(gc_thread *thread, gc_code_frame *mark) {
    GC_ASSERT(!mark || thread->code <= mark,
              "gc_code_restore: the mark %p is that of a call which has ended: take it by gc_code_mark in the function "
              "that calls setjmp, or that catches",
              (void *)mark);
    thread->code = mark;
}
/* Stopping threads in compiled code. A signal that lands on an instruction of registered code is as if that code had called
   a function there: no lock is held, and nothing of libc's or gc.h's is in progress. So its handler may wait for the
   collection, if the stack map says what lives at that instruction; if not, the method's return address is replaced. A signal
   that lands elsewhere does nothing: the thread polls, or a later one finds it in compiled code. */


#define GC__STRESS_NS_MAX 200000                    /* between two interrupts */
#define GC__SIGNAL_FRAME_BYTES ((uintptr_t)1 << 16) /* at most: the signal's frame and the handler's */

/* The signal has interrupted this very stack: it is handled neither later, nor on a stack for signals. */
GC__FN bool gc__code_is_on_stack(uintptr_t handler, const void *context, uintptr_t stack_pointer) {
    return handler < (uintptr_t)context && (uintptr_t)context < stack_pointer &&
           stack_pointer - handler < GC__SIGNAL_FRAME_BYTES;
}

/* Whether tables of this format say more than what lives after calls; else not even frames may be right elsewhere. */
GC__FN bool gc__code_may_be_interrupted(const gc_code *code) {
    return gc__code_format(code)->is_interruptible || gc__code_format(code)->return_kinds;
}

GC__FN bool gc__code_is_interruptible(const gc_code_cursor *at) {
    const gc_code_format *format = gc__code_format(at->code);
    return format->is_interruptible && format->is_interruptible(at);
}

/* Replaces the return address of the innermost frame whose caller may be stopped at its call; a caller whose call is no safe
   point is passed over. A native caller polls by itself. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_hijack(gc_code_cursor *at, uintptr_t stack_pointer) {
    gc__interruptee *self = &gc__my_interruptee;
    uintptr_t *slot;
    unsigned results;
    do {
        const gc_code_format *format = gc__code_format(at->code);
        if (!format->return_kinds) return;
        results = format->return_kinds(at->code);
        slot = (uintptr_t *)(at->cfa - 8);
        if (*slot == GC__CODE_RETURNED) return;
        gc__walk_leave(at);
        if (!at->code) return;
    } while (!gc__code_is_interruptible(at));
    gc__code_put_back(stack_pointer);
    self->original = at->pc;
    self->results = results;
    self->slot = slot;
    *slot = GC__CODE_RETURNED;
}

/* Under stress: the next interrupt comes after some hundred or thousand instructions. */
GC__FN void gc__code_interrupt_soon(void) {
    uint64_t *x = &gc__my_interruptee.random;
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    gc__os_interrupt_later(1 + *x % GC__STRESS_NS_MAX);
}

/* The frame must lie on the stack, and AddressSanitizer might put it elsewhere. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_interrupt_at(void *context) {
    gc_code_frame frame;
    frame.pc = gc__os_context_pc(context);
    const gc_code *code = gc_code_find((const void *)frame.pc);
    if (!code || !gc__code_may_be_interrupted(code)) return;
    gc_thread *thread = gc__interruptible_self();
    if (!gc__code_may_stop(thread) || !__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) return;
    gc__os_context_read(context, frame.registers);
    uintptr_t stack_pointer = frame.registers[GC__CODE_SP];
    if (!gc__code_is_on_stack((uintptr_t)__builtin_frame_address(0), context, stack_pointer)) return;
    frame.previous = thread->code;
    frame.known = 0xFFFF;
    frame.kind = GC_FRAME_INTERRUPTED;
    frame.results = 0;
    gc_code_cursor at = gc__walk_begin(thread->heap, thread->stack, &frame, NULL);
    if (!gc__code_is_interruptible(&at)) {
        gc__code_hijack(&at, stack_pointer);
        return;
    }
    gc__code_put_back(stack_pointer);
    gc__code_stop(thread, &frame);
    gc__os_context_write(context, frame.registers);
}

/* Runs in the signal's handler. */
GC__FN void gc__code_interrupted(void *context) {
    gc__code_interrupt_at(context);
    if (gc__my_interruptee.random && gc__interruptible_self()) gc__code_interrupt_soon();
}

/* Under GC_STRESS_SAFEPOINT a thread does not wait for a collection of another's: it collects wherever it can be stopped. */
GC__FN void gc__code_stress(const gc_heap *heap, bool interruptible) {
    bool stress = interruptible && heap && gc__stress_of(heap) == GC_STRESS_SAFEPOINT;
    gc__my_interruptee.random = 0;
    gc__os_interrupt_later(0);
    if (!stress) return;
    gc__os_interrupt_later(GC__STRESS_NS_MAX); /* makes the timer while no interrupt would make another one */
    gc__my_interruptee.random = gc__os_now_ns() | 1;
    gc__code_interrupt_soon();
}

/* A collection that waits for the calling thread already looks at it again. */
GC__FN void gc__code_tell_collector(gc_thread *thread) {
    uint32_t *count = &thread->heap->threads->stopped_count;
    if (!__atomic_load_n(&thread->heap->threads->stopping, __ATOMIC_SEQ_CST)) return;
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(count);
}

GC_API gc_result gc_thread_set_interruptible(gc_thread *thread, bool interruptible) {
    GC__API_SCOPE("gc_thread_set_interruptible");
    if (gc__is_null(thread, "gc_thread_set_interruptible", "thread")) return GC_ERROR_ARGUMENT;
    GC_ASSERT(!thread->heap || gc__thread_self(thread->heap) == thread,
              "gc_thread_set_interruptible: called for another thread than the calling one");
    gc__interruptee *self = NULL;
    if (interruptible) {
        const gc_thread *other = gc__interruptible_self();
        if (other && other != thread)
            return gc__fail(
                GC_ERROR_MISUSE,
                "gc_thread_set_interruptible: the calling thread is interruptible as `%s`, attached to another "
                "heap, and compiled code does not show whose it is: end that first",
                gc__thread_name(other));
        const char *refusal;
        self = &gc__my_interruptee;
        self->target = gc__os_interruptible(gc__code_interrupted, &refusal);
        if (!self->target) return gc__fail(GC_ERROR_MISUSE, "gc_thread_set_interruptible: %s", refusal);
    } else if (gc__record(thread)->interruptible) {
        gc__code_put_back((uintptr_t)__builtin_frame_address(0));
    }
    bool was = gc__record(thread)->interruptible != NULL;
    __atomic_store_n(&gc__record(thread)->interruptible, self, __ATOMIC_SEQ_CST);
    if (interruptible || was)
        gc__code_stress(thread->heap, interruptible); /* last: what it arms rearms itself only then */
    if (self && thread->heap) gc__code_tell_collector(thread);
    return GC_OK;
}

/* What the world's stop does to a thread. */
GC__FN void gc__code_interrupt(gc_thread *thread) {
    const gc__interruptee *it = __atomic_load_n(&gc__record(thread)->interruptible, __ATOMIC_ACQUIRE);
    if (it) gc__os_interrupt(it->target);
}

GC__FN void gc__code_leave_stack(gc_thread *thread) {
    (void)thread;
    gc__code_put_back((uintptr_t)__builtin_frame_address(0));
}

GC__FN void gc__code_forget(gc_thread *thread) {
    gc__code_stress(thread->heap, false);
    __atomic_store_n(&gc__record(thread)->interruptible, NULL, __ATOMIC_SEQ_CST);
}

static const gc__compiled_code gc__compiled_by_stackmap = {
    gc__code_visit_stack, gc__code_interrupt,   gc__code_print,   gc__code_print_use,
    gc__code_forget,      gc__code_leave_stack, gc__code_lay_out, gc__code_original, gc__code_each};

GC__AT_LOAD GC__FN void gc__compiled_open(void) { gc__compiled = &gc__compiled_by_stackmap; }
#endif

GC__STYLE_END
