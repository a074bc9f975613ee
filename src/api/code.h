/* Compiled code: the registry of code ranges with their stack maps, calls between native and compiled code, walking the
   frames of compiled code, and stopping threads in it.

   A host registers each method's code (gc_code_add), or a module that LLVM compiled (gc_code_add_llvm). Compiled code calls
   native code that may collect through gc_code_call_native, which leaves a gc_code_frame: the pc and the registers of the
   compiled caller. From there a collection walks frame by frame, until it comes to a return address in no registered code.
   That is the native code which called the compiled code, and what native frames hold is in GC_ROOTS; the walk goes on at
   the previous gc_code_frame.

   Calling, walking and interrupting are for x86-64. */
#pragma once

#include "stackmap.h"
#include "thread.h"

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
