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
    /* Says where the frame ends: sets its cfa, below which is the return address, and in `saved`, which is zeroed, where it
       has saved its caller's registers. Called when a walk has come to the frame. NULL, or a sentence why it cannot. */
    const char *(*layout)(gc_code_cursor *frame);
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
/* The stub is found through the GOT, since a PLT would overwrite r11. */
#define GC__CODE_EXPORT(NAME, FUNCTION, STUB)                                                                \
    GC__EXTERN __attribute__((visibility("hidden"))) void (*const gc__code_target_##NAME)(void);             \
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

/* Calls between native and compiled code: the stubs are in src/platform. */

/* Calls between native and compiled code, on x86-64: part of the platform contract, for call.h.

   The numbers are offsets in gc_thread and gc_code_frame, which call.h asserts. Each instruction is in both dialects of
   assembly, for -masm=intel; CFI directives number registers as DWARF does: 3 is rbx, 6 is rbp, 7 is rsp. */


#if defined(__x86_64__)
/* No option of the compiler may add code of its own. */
#define GC__NAKED __attribute__((naked, weak, noinline, no_instrument_function, GC__NAKED_MORE))
#ifdef __clang__
#define GC__NAKED_MORE no_profile_instrument_function
#else
#define GC__NAKED_MORE no_profile_instrument_function, no_stack_protector, no_sanitize_undefined
#endif

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

/* The gc_code_frame lies at rbp - 160. It is whole before the thread has it. The preserved registers are restored from it,
   since a collection may have updated them; rbp goes through the word that was pushed. */
#define GC__CODE_CALL_NATIVE(results) \
    GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16") \
    GC__CODE_MOVE("rsp", "rbp") GC__CFI("def_cfa_register 6") \
    "{subq $160, %%rsp|sub rsp, 160}\n\t" \
    "{andq $-16, %%rsp|and rsp, -16}\n\t" \
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

GC__NAKED void gc_code_call_native(void) { __asm__(GC__CODE_CALL_NATIVE(0) :: : "memory"); }
GC__NAKED void gc_code_call_native_ref(void) { __asm__(GC__CODE_CALL_NATIVE(1) :: : "memory"); }

/* Restores the preserved registers by itself, so compiled code that is called so need not. */
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
/* clang-format on */
/* Where compiled code returns to gc__code_enter. */
GC__EXTERN GC__VISIBLE const char gc__code_entered[];
#else
GC__FN uintptr_t gc__code_enter(gc_thread *thread, const void *start, const uintptr_t *arguments) {
    (void)start, (void)arguments;
    gc__fatal(&thread->heap->options, "gc_code_call: calling compiled code is for x86-64 only, so far");
}
static const char gc__code_entered[1];
#endif

#define GC__CODE_ARGUMENTS 6 /* those that are in integer registers */

GC__STATIC_ASSERT(offsetof(gc_thread, poll) == 88 && offsetof(gc_thread, code) == 112 &&
                      offsetof(gc_thread, safepoint) == 120,
                  "src/platform/code_x86_64.h has these offsets");
GC__STATIC_ASSERT(offsetof(gc_code_frame, previous) == 0 && offsetof(gc_code_frame, pc) == 8 &&
                      offsetof(gc_code_frame, registers) == 16 && offsetof(gc_code_frame, known) == 144 &&
                      offsetof(gc_code_frame, kind) == 148 && offsetof(gc_code_frame, results) == 150 &&
                      sizeof(gc_code_frame) <= 160,
                  "src/platform/code_x86_64.h has these offsets");
GC__STATIC_ASSERT(GC_FRAME_CALLER == 0 && GC_RETURN_OBJECT == 1, "src/platform/code_x86_64.h has these values");

GC_API uintptr_t gc_code_call(gc_thread *thread, const void *start, const uintptr_t *arguments, size_t count) {
    GC_ASSERT(count <= GC__CODE_ARGUMENTS,
              "gc_code_call: %zu arguments, of which only six fit in registers: pass a pointer to the others", count);
    GC_ASSERT(gc__is_cooperative(thread), "gc_code_call: compiled code runs in cooperative mode");
    uintptr_t registers[GC__CODE_ARGUMENTS] = {0};
    for (size_t i = 0; i < count && i < GC__CODE_ARGUMENTS; i++) registers[i] = arguments[i];
    return gc__code_enter(thread, start, registers);
}

GC_API void gc_code_restore(gc_thread *thread, gc_code_frame *mark) {
    GC_ASSERT(!mark || thread->code <= mark,
              "gc_code_restore: the mark %p is that of a call which has ended: take it by gc_code_mark in the function "
              "that calls setjmp, or that catches", (void *)mark);
    thread->code = mark;
}
/* Stopping threads in compiled code. */

/* Stack maps as text. */

#endif
