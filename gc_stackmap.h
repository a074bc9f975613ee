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

/* The signal that interrupts compiled code. The handler that it had before is called for signals from elsewhere. */
#ifndef GC_CODE_SIGNAL
#define GC_CODE_SIGNAL SIGURG
#endif

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


/* A sorted array that is never changed once it is published; readers may be anywhere, so former ones stay. */
typedef struct gc__codes {
    size_t count;
    const gc_code *items[];
} gc__codes;

static gc__codes *gc__codes_now; /* atomic */
static gc__lock gc__codes_lock = GC__LOCK_INITIALIZER;

GC__FN uintptr_t gc__code_end(const gc_code *code) { return (uintptr_t)code->start + code->bytes; }

/* The number of ranges that start at the address or below it. */
GC__FN size_t gc__codes_below(const gc__codes *codes, uintptr_t address) {
    size_t low = 0, high = codes ? codes->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)codes->items[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

GC_API const gc_code *gc_code_find(const void *pc) {
    const gc__codes *codes = __atomic_load_n(&gc__codes_now, __ATOMIC_ACQUIRE);
    size_t below = gc__codes_below(codes, (uintptr_t)pc);
    return below && (uintptr_t)pc < gc__code_end(codes->items[below - 1]) ? codes->items[below - 1] : NULL;
}

GC_API size_t gc_code_count(void) {
    const gc__codes *codes = __atomic_load_n(&gc__codes_now, __ATOMIC_ACQUIRE);
    return codes ? codes->count : 0;
}

GC__FN const char *gc__code_name(const gc_code *code) { return code->name ? code->name : "code without a name"; }

GC__FN gc_result gc__code_check(const gc_code *code) {
    if (gc__is_null(code, "gc_code_add", "code") || gc__is_null(code->start, "gc_code_add", "code->start"))
        return GC_ERROR_ARGUMENT;
    if (!code->bytes || gc__code_end(code) < (uintptr_t)code->start)
        return gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p has %zu bytes", gc__code_name(code), code->start, code->bytes);
    const char *wrong = NULL;
    if (!code->format) {
        if (gc__is_null(code->map, "gc_code_add", "code->map")) return GC_ERROR_ARGUMENT;
    } else if (code->format->check) {
        wrong = code->format->check(code);
    }
    if (!wrong) return GC_OK;
    return gc__fail(GC_ERROR_FORMAT, "gc_code_add: the map of %s at %p: %s", gc__code_name(code), code->start, wrong);
}

/* Publishes a copy of the array with `code` at index `at`, or without it. */
GC__FN gc_result gc__codes_change(const gc_code *code, size_t at, bool add) {
    const gc__codes *old = gc__codes_now;
    size_t count = old ? old->count : 0, rest = count - at - !add;
    gc__codes *codes = (gc__codes *)malloc(sizeof *codes + (count + 1) * sizeof(void *));
    if (!codes) return gc__fail(GC_ERROR_MEMORY, "the registry of code has no memory for another range");
    codes->count = add ? count + 1 : count - 1;
    if (at) memcpy(codes->items, old->items, at * sizeof(void *));
    if (add) codes->items[at] = code;
    if (rest) memcpy(codes->items + at + add, old->items + at + !add, rest * sizeof(void *));
    __atomic_store_n(&gc__codes_now, codes, __ATOMIC_RELEASE);
    return GC_OK;
}

GC_API gc_result gc_code_add(const gc_code *code) {
    gc_result result = gc__code_check(code);
    if (result != GC_OK) return result;
    gc__lock_take(&gc__codes_lock);
    size_t below = gc__codes_below(gc__codes_now, gc__code_end(code) - 1);
    const gc_code *last = below ? gc__codes_now->items[below - 1] : NULL;
    if (last && gc__code_end(last) > (uintptr_t)code->start)
        result = gc__fail(GC_ERROR_FORMAT, "gc_code_add: %s at %p overlaps %s at %p", gc__code_name(code), code->start,
                          gc__code_name(last), last->start);
    else
        result = gc__codes_change(code, below, true);
    gc__lock_release(&gc__codes_lock);
    return result;
}

GC_API gc_result gc_code_remove(const gc_code *code) {
    if (gc__is_null(code, "gc_code_remove", "code")) return GC_ERROR_ARGUMENT;
    gc__lock_take(&gc__codes_lock);
    gc_result result;
    if (gc_code_find(code->start) != code)
        result = gc__fail(GC_ERROR_MISUSE, "gc_code_remove: %s at %p is not registered", gc__code_name(code), code->start);
    else
        result = gc__codes_change(code, gc__codes_below(gc__codes_now, (uintptr_t)code->start) - 1, false);
    gc__lock_release(&gc__codes_lock);
    return result;
}
/* Replaced return addresses. A thread that was interrupted where compiled code cannot be stopped stops when that method
   returns: its return address is replaced by that of a stub, which calls gc__code_on_return.

   A thread has at most one, which it replaces and puts back itself: in the handler of the signal, in the stub, or in
   gc_code_release. So nobody else writes here; collections read while the thread is stopped. If the frame was left by a
   longjmp or an exception, the address is stale; then its slot is below the stack pointer, or holds something else. */

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

/* Defines a stub to which a method returns whose return address was replaced. It calls function(gc_code_frame *), which
   stores the address at which to go on to the frame's pc, and goes on there with the registers of the frame, as they are
   then, and what else may hold a result. The frame has all registers but the upper parts of vectors longer than 16 bytes;
   where the address of the stub was, that of the goal is written last, to return to it without a free register. The call
   has a zero where unwinders look for the stub's own return address. */
#define GC__CODE_RETURN_STUB(name, function) \
    static __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) void name(void) { \
        __asm__( \
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
            GC__CODE_PUSH_ZERO GC__CODE_PUSH_ZERO \
            "call %P0\n\t" \
            "{fxrstor64 16(%%rsp)|fxrstor64 [rsp+16]}\n\t" \
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
            :: "i"(function) : "memory"); \
    }
#define GC__CODE_PUSH_ZERO "{pushq $0|push 0}\n\t"
/* clang-format on */
/* Where compiled code returns to gc__code_enter. */
GC__EXTERN GC__VISIBLE const char gc__code_entered[];
#else
GC__FN uintptr_t gc__code_enter(gc_thread *thread, const void *start, const uintptr_t *arguments) {
    (void)start, (void)arguments;
    gc__fatal(&thread->heap->options, "gc_code_call: calling compiled code is for x86-64 only, so far");
}
static const char gc__code_entered[1];
#define GC__CODE_RETURN_STUB(name, function) static void name(void) { (void)(function); }
#endif
/* The platform contract for interrupts of compiled code, on Linux: a thread sends another one a signal, GC_CODE_SIGNAL. */


/* Where interrupts are sent: to a thread. */
typedef struct gc__os_target {
    pid_t id; /* 0: it is to receive none */
} gc__os_target;

static __thread gc__os_target gc__os_me;
static void (*gc__os_interrupted)(void *context); /* written once, under gc__os_end_lock; so is the next */
static struct sigaction gc__os_interrupt_former;

/* A signal is gc.h's own if it carries the address of the variable that belongs to this thread. All others are handed on;
   they may stop the thread as well, if a collection waits for it. */
GC__FN void gc__os_interrupt_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    gc__os_interrupted(context);
    errno = error;
    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &gc__os_me) return;
    if (gc__os_interrupt_former.sa_flags & SA_SIGINFO)
        gc__os_interrupt_former.sa_sigaction(number, info, context);
    else if (gc__os_interrupt_former.sa_handler != SIG_DFL && gc__os_interrupt_former.sa_handler != SIG_IGN)
        gc__os_interrupt_former.sa_handler(number);
}

GC__FN void gc__os_interrupt_in_child(void) {
    if (gc__os_me.id) gc__os_me.id = (pid_t)syscall(SYS_gettid);
}

/* gc__os_end_lock is held. */
GC__FN bool gc__os_interrupts_handle(void (*f)(void *context)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = gc__os_interrupt_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (gc__os_interrupted) return true;
    gc__os_interrupted = f;
    if (pthread_atfork(NULL, NULL, gc__os_interrupt_in_child) == 0 &&
        sigaction(GC_CODE_SIGNAL, &action, &gc__os_interrupt_former) == 0)
        return true;
    gc__os_interrupted = NULL;
    return false;
}

/* Has a thread interrupted if it is in cooperative mode. It must exist. */
GC__FN void gc__os_interrupt(gc__os_target *target) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = GC_CODE_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = target;
    int error = errno;
    syscall(SYS_rt_tgsigqueueinfo, info.si_pid, target->id, GC_CODE_SIGNAL, &info);
    errno = error;
}

#if defined(__x86_64__)
#define GC__ARCH_SHSTK_STATUS 0x5005

/* A replaced return address would differ from the copy that the processor keeps. */
GC__FN bool gc__os_has_shadow_stack(void) {
    unsigned long features = 0;
    int error = errno;
    bool has = syscall(SYS_arch_prctl, GC__ARCH_SHSTK_STATUS, &features) == 0 && (features & 1);
    errno = error;
    return has;
}

/* Has `f` called whenever the calling thread is interrupted, with the state in which it was: handed to the functions below.
   Returns where to send interrupts; or NULL, and *refusal says why. */
GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    sigset_t blocked;
    *refusal = NULL;
    gc__lock_take(&gc__os_end_lock);
    if (!gc__os_interrupts_handle(f)) *refusal = "the system does not let GC_CODE_SIGNAL be handled: choose another signal";
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
/* The thread goes on with these registers. */
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

/* The library is unloaded, or the program ends. */
GC__AT_UNLOAD GC__FN void gc__os_interrupts_end(void) {
    struct sigaction action;
    if (!gc__os_interrupted || sigaction(GC_CODE_SIGNAL, NULL, &action) != 0) return;
    if (!(action.sa_flags & SA_SIGINFO) || action.sa_sigaction != gc__os_interrupt_signal) return;
    sigaction(GC_CODE_SIGNAL, &gc__os_interrupt_former, NULL);
}

typedef struct gc__interruptee {
    uintptr_t *slot; /* where the replaced address is; NULL: none is */
    uintptr_t original;
    unsigned results; /* of the method that returns there: gc_return_kind of rax, and that of rdx * 4 */
    gc__os_target *target;
} gc__interruptee;

static __thread gc__interruptee gc__my_interruptee;

#define GC__CODE_SP 4
#define GC__CODE_PRESERVED 0xF038u /* with the stack pointer */
#define GC__CODE_RESULTS 0x5u      /* rax, rdx */

/* The attachment of the calling thread whose compiled code may be stopped; NULL: none. */
GC__FN gc_thread *gc__interruptible_self(void) {
    gc_thread *thread = gc__my_attachments;
    while (thread && !gc__record(thread)->interruptible) thread = gc__record(thread)->next_attachment;
    return thread;
}

/* Whether the calling thread may wait for a collection. It is in compiled code, or has just left it: so it can be in gc.h
   only if that has called the host back. */
GC__FN bool gc__code_may_stop(const gc_thread *thread) {
    if (!thread || !thread->heap || !gc__is_cooperative(thread) || gc__inside) return false;
    for (const gc_thread *mine = gc__my_attachments; mine; mine = gc__record(mine)->next_attachment)
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

__attribute__((used)) GC__FN void gc__code_on_return(gc_code_frame *frame) {
    gc__interruptee *self = &gc__my_interruptee;
    gc_thread *thread = gc__interruptible_self();
    if ((uintptr_t)self->slot + 8 != frame->registers[GC__CODE_SP])
        gc__fatal(thread && thread->heap ? &thread->heap->options : NULL,
                  "compiled code returned to an address that an interrupt had replaced in another frame, or on another "
                  "stack: call gc_stack_switch before each switch of stacks, and gc_code_release before return "
                  "addresses are copied");
    frame->pc = self->original;
    frame->kind = GC_FRAME_CALLER;
    frame->results = (uint16_t)self->results;
    frame->known = GC__CODE_PRESERVED | (self->results ? GC__CODE_RESULTS : 0);
    self->slot = NULL;
    if (gc__code_may_stop(thread)) gc__code_stop(thread, frame);
}

GC__CODE_RETURN_STUB(gc__code_returned, gc__code_on_return)

/* The return address at the slot, in a frame of compiled code, as it was before it was replaced. `thread` runs on that
   stack; NULL: none does. */
__attribute__((no_sanitize("address"))) GC__FN uintptr_t gc__code_return_address(const gc_thread *thread,
                                                                                 const uintptr_t *slot) {
    uintptr_t address = *slot;
    if (GC__LIKELY(address != (uintptr_t)gc__code_returned)) return address;
    const gc__interruptee *owner = thread ? gc__record(thread)->interruptible : NULL;
    return owner && owner->slot == slot ? owner->original : address;
}

/* Forgets the replaced address; puts it back unless its frame has been left. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_put_back(uintptr_t stack_pointer) {
    gc__interruptee *self = &gc__my_interruptee;
    if ((uintptr_t)self->slot >= stack_pointer && *self->slot == (uintptr_t)gc__code_returned)
        *self->slot = self->original;
    self->slot = NULL;
}

GC_API void gc_code_release(gc_thread *thread) {
    GC__API_SCOPE("gc_code_release");
    GC_ASSERT(!thread || !thread->heap || gc__thread_self(thread->heap) == thread,
              "gc_code_release: called for another thread than the calling one");
    (void)thread;
    if (gc__my_interruptee.slot) gc__code_put_back((uintptr_t)__builtin_frame_address(0));
}
/* Walking frames of compiled code. */

/* The stack maps of LLVM. */

/* Calls between native and compiled code: the stubs are in src/platform. */


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
/* Stopping threads in compiled code. A signal that lands on an instruction of registered code is as if that code had called
   a function there: no lock is held, and nothing of libc's or gc.h's is in progress. So its handler may wait for the
   collection, if the stack map says what lives at that instruction; if not, the method's return address is replaced. A signal
   that lands elsewhere does nothing: the thread polls, or a later one finds it in compiled code. */


#define GC__SIGNAL_FRAME_BYTES ((uintptr_t)1 << 16) /* at most: the signal's frame and the handler's */

/* The signal has interrupted this very stack: it is handled neither later, nor on a stack for signals. */
GC__FN bool gc__code_is_on_stack(uintptr_t handler, const void *context, uintptr_t stack_pointer) {
    return handler < (uintptr_t)context && (uintptr_t)context < stack_pointer &&
           stack_pointer - handler < GC__SIGNAL_FRAME_BYTES;
}

GC__FN bool gc__code_is_interruptible(const gc_code_cursor *at) {
    return at->code && at->code->format->is_interruptible && at->code->format->is_interruptible(at);
}

/* Replaces the return address of the innermost frame, if its caller may be stopped at the call. A native caller polls by
   itself. */
__attribute__((no_sanitize("address"))) GC__FN void gc__code_hijack(gc_code_cursor *at, uintptr_t stack_pointer) {
    gc__interruptee *self = &gc__my_interruptee;
    const gc_code_format *format = at->code->format;
    if (!format->return_kinds || format->layout(at)) return;
    uintptr_t *slot = (uintptr_t *)(at->cfa - 8);
    unsigned results = format->return_kinds(at->code);
    if (self->slot == slot && *slot == (uintptr_t)gc__code_returned) return;
    at->pc = *slot;
    at->sp = at->cfa;
    at->kind = GC_FRAME_CALLER;
    at->innermost = false;
    at->code = gc_code_find((const void *)(at->pc - 1));
    if (!gc__code_is_interruptible(at)) return;
    gc__code_put_back(stack_pointer);
    self->original = at->pc;
    self->results = results;
    self->slot = slot;
    *slot = (uintptr_t)gc__code_returned;
}

/* Runs in a signal handler. */
GC__FN void gc__code_interrupted(void *context) {
    gc_code_frame frame;
    gc_code_cursor at;
    frame.pc = gc__os_context_pc(context);
    const gc_code *code = gc_code_find((const void *)frame.pc);
    if (!code) return;
    gc_thread *thread = gc__interruptible_self();
    if (!gc__code_may_stop(thread) || !__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) return;
    gc__os_context_read(context, frame.registers);
    uintptr_t stack_pointer = frame.registers[GC__CODE_SP];
    if (!gc__code_is_on_stack((uintptr_t)__builtin_frame_address(0), context, stack_pointer)) return;
    frame.known = 0xFFFF;
    frame.kind = GC_FRAME_INTERRUPTED;
    frame.results = 0;
    memset(&at, 0, sizeof at);
    at.code = code;
    at.pc = frame.pc;
    at.sp = stack_pointer;
    for (int i = 0; i < GC_CODE_REGISTERS; i++) at.registers[i] = &frame.registers[i];
    at.kind = GC_FRAME_INTERRUPTED;
    at.from = &frame;
    at.innermost = true;
    at.thread = thread;
    at.heap = thread->heap;
    if (gc__code_is_interruptible(&at)) {
        gc__code_put_back(stack_pointer);
        gc__code_stop(thread, &frame);
        gc__os_context_write(context, frame.registers);
    } else {
        gc__code_hijack(&at, stack_pointer);
    }
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
            return gc__fail(GC_ERROR_MISUSE,
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
    __atomic_store_n(&gc__record(thread)->interruptible, self, __ATOMIC_RELEASE);
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
/* Stack maps as text. */

#endif
