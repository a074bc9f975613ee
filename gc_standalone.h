/* Generated from src/gc_standalone.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_standalone.h - collectors as libraries; a companion of gc.h, which it includes, with gc_stackmap.h.

   With it a finished program runs on another collector than the one that it was compiled with: a checked one, a profiling
   one, a newer one; the project's docs/standalone.md shows how. It stands instead of gc.h in the .c file that defines
   GC_IMPLEMENTATION:

       #define GC_IMPLEMENTATION
       #include "gc_standalone.h"

   GC_STANDALONE: functions of gc.h call the collector in force. That file must contain nothing else that calls gc.h.
   GC_STANDALONE_LIBRARY: that file alone becomes a library, with `cc -shared -fPIC`.
   Neither: the collector is part of the program as ever, and libraries may be used beside it, by their tables. */
#pragma once

#define GC__STANDALONE_FIRST 1 /* this header was included before gc.h, as GC_STANDALONE needs it */
#if defined(GC_STANDALONE_LIBRARY) && !defined(GC_IMPLEMENTATION)
#define GC_IMPLEMENTATION
#endif

/* All that a program calls of a collector: the list from which a library's table of functions is made, and everything that
   goes with it. The order is part of the protocol between programs and libraries, so the list grows at its end only, with
   each change of GC_INTERFACE_MINOR. The functions of gc_profile.h are not in it: where the collector is a library with that
   header, profiles are asked for by GC_PROFILE in the environment.

   X(kind, name): CALL is a function that is called by its name. INLINE is one that programs have inline; the table has the
   library's own, for callers that go by the table. TYPED and TYPED_INLINE are such functions that are missing where objects
   have a host's own headers (GC_MODEL_BYTES), and MACHINE those that some processors have. */

typedef struct gc_functions gc_functions; /* a collector's table of all of these */

/* clang-format off */
#define GC__INTERFACE(X) \
    X(CALL, gc_version) \
    X(CALL, gc_result_text) \
    X(CALL, gc_last_result) \
    X(CALL, gc_last_message) \
    X(CALL, gc__misuse) \
    X(CALL, gc_type_check) \
    X(CALL, gc_reason_text) \
    X(CALL, gc_heap_create) \
    X(CALL, gc_heap_destroy) \
    X(CALL, gc_heap_host) \
    X(CALL, gc_heap_stats) \
    X(CALL, gc_stats_pause_percentile) \
    X(CALL, gc_heap_print_stats) \
    X(CALL, gc_roots_add) \
    X(CALL, gc_roots_remove) \
    X(CALL, gc_thread_attach) \
    X(CALL, gc_thread_detach) \
    X(CALL, gc_thread_current) \
    X(CALL, gc_thread_heap) \
    X(CALL, gc_thread_set_name) \
    X(CALL, gc_thread_set_conservative) \
    X(CALL, gc__thread_set_mode) \
    X(CALL, gc_stack_create) \
    X(CALL, gc_stack_destroy) \
    X(CALL, gc__stack_switch) \
    X(INLINE, gc_safepoint) \
    X(CALL, gc__safepoint_slow) \
    X(CALL, gc__shadow_store) \
    X(CALL, gc__check_outside) \
    X(INLINE, gc_store) \
    X(INLINE, gc_store_value) \
    X(CALL, gc_stores_begin) \
    X(CALL, gc_stores_end) \
    X(CALL, gc_copy_refs) \
    X(CALL, gc_copy_values) \
    X(CALL, gc_barrier_current) \
    X(CALL, gc_barrier_switch) \
    X(CALL, gc_heap_take_written_pages) \
    X(INLINE, gc_allocate) \
    X(CALL, gc__allocate_slow) \
    X(TYPED_INLINE, gc_new) \
    X(TYPED_INLINE, gc_new_array) \
    X(CALL, gc__new_slow) \
    X(CALL, gc_object_add_external) \
    X(CALL, gc_collect) \
    X(CALL, gc_heap_contains) \
    X(CALL, gc_heap_object_at) \
    X(CALL, gc_object_generation) \
    X(CALL, gc_object_bytes) \
    X(CALL, gc_object_type_name) \
    X(TYPED, gc_object_type) \
    X(CALL, gc_object_visit) \
    X(CALL, gc_heap_moves) \
    X(CALL, gc_heap_walk) \
    X(CALL, gc_heap_verify) \
    X(CALL, gc_finalizer_register) \
    X(CALL, gc_finalizer_suppress) \
    X(CALL, gc_finalizer_run) \
    X(CALL, gc_finalizer_pending) \
    X(CALL, gc_finalizer_wait) \
    X(CALL, gc_finalizer_thread_start) \
    X(CALL, gc_handle_create) \
    X(CALL, gc_handle_create_dependent) \
    X(CALL, gc_handle_duplicate) \
    X(CALL, gc_handle_destroy) \
    X(CALL, gc_handle_is_valid) \
    X(CALL, gc_handle_get) \
    X(CALL, gc_handle_try_get) \
    X(CALL, gc_handle_set) \
    X(CALL, gc_handle_compare_exchange) \
    X(CALL, gc_handle_dependent) \
    X(CALL, gc_handle_set_dependent) \
    X(CALL, gc_handle_host_word) \
    X(CALL, gc_handle_set_host_word) \
    X(CALL, gc_handle_walk) \
    X(CALL, gc_handle_count) \
    X(TYPED, gc_safe_handle_new) \
    X(TYPED, gc_safe_handle_add_ref) \
    X(TYPED, gc_safe_handle_release) \
    X(TYPED, gc_safe_handle_dispose) \
    X(TYPED, gc_safe_handle_set_invalid) \
    X(TYPED, gc_safe_handle_set_value) \
    X(TYPED, gc__native_leave) \
    X(CALL, gc_stackmap_encode) \
    X(CALL, gc_stackmap_check) \
    X(CALL, gc_stackmap_live) \
    X(CALL, gc_stackmap_slot_at) \
    X(CALL, gc_stackmap_is_interruptible) \
    X(CALL, gc_stackmap_read) \
    X(CALL, gc_stackmap_dump) \
    X(CALL, gc_stackmap_explain) \
    X(CALL, gc_code_add) \
    X(CALL, gc_code_remove) \
    X(CALL, gc_code_find) \
    X(CALL, gc_code_count) \
    X(CALL, gc_code_add_llvm) \
    X(CALL, gc_code_remove_llvm) \
    X(MACHINE, gc_code_call_native) \
    X(MACHINE, gc_code_call_native_ref) \
    X(CALL, gc_code_call) \
    X(CALL, gc_code_restore) \
    X(CALL, gc_code_release) \
    X(CALL, gc_code_first) \
    X(CALL, gc_code_next) \
    X(CALL, gc_code_visit) \
    X(CALL, gc_thread_set_interruptible) \
    X(CALL, gc_code_dump) \
    X(CALL, gc_code_explain) \
    X(CALL, gc_dump_fact) \
    X(CALL, gc_dump_row) \
    X(CALL, gc_dump_text) \
    X(INLINE, gc_store_in) \
    X(INLINE, gc_store_value_in) \
    X(INLINE, gc_remember) \
    X(CALL, gc_heap_add_external) \
    X(CALL, gc_heap_limits) \
    X(CALL, gc_heap_set_limits) \
    X(TYPED, gc_trace_weak) \
    X(TYPED, gc_trace_ephemerons) \
    X(INLINE, gc_load_weak) \
    X(INLINE, gc_load_weak_value) \
    X(CALL, gc_value_stack_reserve) \
    X(CALL, gc_value_stack_free) \
    X(CALL, gc_heap_print_memory) \
    X(INLINE, gc_new_with) \
    X(CALL, gc__new_fixed) \
    X(TYPED, gc_array_grow) \
    X(CALL, gc_collection_find) \
    X(CALL, gc_finalizer_running) \
    X(CALL, gc_heap_pauses) \
    X(CALL, gc_pause_explain) \
    X(CALL, gc_heap_print_pauses) \
    X(CALL, gc_visitor_range) \
    X(CALL, gc_thread_create) \
    X(CALL, gc_thread_destroy) \
    X(CALL, gc_heap_allocated) \
    X(CALL, gc_heap_pacing) \
    X(CALL, gc_heap_set_pacing) \
    X(CALL, gc_step) \
    X(CALL, gc_object_heap) \
    X(CALL, gc_object_identity) \
    X(CALL, gc_container_bytes)
/* clang-format on */

/* Data that inline code reads. A program has its own, which the collector keeps up to date by gc_host.stomp. */
#define GC__INTERFACE_DATA(X) X(gc__tables) X(gc__barrier_calls)

/* Where GC_STANDALONE is defined, the names above are those of jumps through the table in force, and the collector that the
   program brings along has other symbols; so the unit that contains it must not call anything else by these names. */
#if defined(GC_STANDALONE) && defined(GC_IMPLEMENTATION)
#ifdef GC__EXTERN
#error "gc_standalone.h must come before gc.h where GC_STANDALONE and GC_IMPLEMENTATION are defined"
#endif
#define GC__PRAGMA(text) _Pragma(#text)
#define GC__RENAME(name) GC__PRAGMA(redefine_extname name gc__embedded_##name)
#define GC__RENAME_CALL(name) GC__RENAME(name)
#define GC__RENAME_TYPED(name) GC__RENAME(name)
#define GC__RENAME_MACHINE(name) GC__RENAME(name)
#define GC__RENAME_INLINE(name)
#define GC__RENAME_TYPED_INLINE(name)
#define GC__RENAME_KIND(kind, name) GC__RENAME_##kind(name)
GC__INTERFACE(GC__RENAME_KIND)
GC__INTERFACE_DATA(GC__RENAME)
#endif
#include "gc_stackmap.h"

GC__STYLE_BEGIN

/* Collectors as libraries: what a program and a library exchange, and using several collectors.

   A library is gc.h in a shared object, which exports GC_VersionInfo and GC_Initialize and nothing else. It gives the
   program a table of functions (gc_functions), and the program gives it one of its own (gc_host). Tables begin with their
   size and grow at their ends only. A program and a library get on if their interfaces have the same major version and
   their geometry, which inline code depends on, is the same. If the library's minor version is lower, its table lacks the
   functions that are newer; GC_LIBRARY_HAS asks for one.

   Where the program is compiled with GC_STANDALONE, gc_NAME calls go to the collector in force, by a jump through a table:
   the embedded collector, or the library that was chosen before the first of these calls. The collectors of other libraries
   are used by their tables, as in library->functions->gc_collect(heap, 2, 0); inline functions and macros that store or
   allocate are for the collector in force only. */


/* The environment variables that name a collector: one for the name of a file, which is looked for in the folder of the
   program's file alone, and one for an absolute path. A program that has rights its user lacks (setuid) ignores them. */
#ifndef GC_STANDALONE_NAME_VARIABLE
#define GC_STANDALONE_NAME_VARIABLE "GC_NAME"
#endif
#ifndef GC_STANDALONE_PATH_VARIABLE
#define GC_STANDALONE_PATH_VARIABLE "GC_PATH"
#endif
#ifndef GC_STANDALONE_CLR_VARIABLES
#define GC_STANDALONE_CLR_VARIABLES 0 /* 1: DOTNET_GCName, DOTNET_GCPath and COMPlus_GCName (either) are read, too */
#endif

#define GC_INTERFACE_MAJOR 1
#define GC_INTERFACE_MINOR 0

struct GcDacVars; /* gc_dac.h */

/* What GC_VersionInfo exchanges. */
typedef struct gc_version_info {
    uint32_t major, minor; /* GC_INTERFACE_*: the program's on entry, the library's on return */
    uint32_t build;        /* for display only */
    const char *name;      /* for display only; static storage */
} gc_version_info;

/* All that inline code depends on: name, value. */
#define GC_GEOMETRY(X)                                            \
    X(region_shift, GC_REGION_SHIFT)                              \
    X(card_shift, GC_CARD_SHIFT)                                  \
    X(card_bits, GC_CARD_BITS)                                    \
    X(bundle_shift, GC_BUNDLE_SHIFT)                              \
    X(address_bits, GC_ADDRESS_BITS)                              \
    X(barrier, (uint32_t)GC__BARRIER_CHOSEN)                      \
    X(own_values, GC_HAS_VALUES - GC_HAS_VALUE_TAG)               \
    X(own_model, GC_HAS_MODEL)                                    \
    X(generations, GC_GENERATIONS)                                \
    X(saved_registers, GC__SAVED_REGISTERS)                       \
    X(object_bytes, (uint32_t)sizeof(gc_object))                  \
    X(array_bytes, (uint32_t)sizeof(gc_array))                    \
    X(type_bytes, (uint32_t)sizeof(gc_type))                      \
    X(finalizer_bytes, (uint32_t)sizeof(gc_finalizer))            \
    X(window_bytes, (uint32_t)sizeof(gc_window))                  \
    X(frame_bytes, (uint32_t)sizeof(gc_frame))                    \
    X(frame_site_bytes, (uint32_t)sizeof(gc_frame_site))          \
    X(stack_bytes, (uint32_t)sizeof(gc_stack))                    \
    X(thread_bytes, (uint32_t)sizeof(gc_thread))                  \
    X(thread_raw, (uint32_t)offsetof(gc_thread, raw))             \
    X(thread_frames, (uint32_t)offsetof(gc_thread, frames))       \
    X(thread_poll, (uint32_t)offsetof(gc_thread, poll))           \
    X(thread_mode, (uint32_t)offsetof(gc_thread, mode))           \
    X(thread_code, (uint32_t)offsetof(gc_thread, code))           \
    X(thread_registers, (uint32_t)offsetof(gc_thread, registers)) \
    X(barrier_tables_bytes, (uint32_t)sizeof(gc_barrier_tables))  \
    X(barrier_change_bytes, (uint32_t)sizeof(gc_barrier_change))  \
    X(options_bytes, (uint32_t)sizeof(gc_options))                \
    X(collection_bytes, (uint32_t)sizeof(gc_collection))          \
    X(stats_bytes, (uint32_t)sizeof(gc_stats))                    \
    X(handle_kinds, (uint32_t)GC_HANDLE_KINDS)                    \
    X(code_bytes, (uint32_t)sizeof(gc_code))                      \
    X(code_frame_bytes, (uint32_t)sizeof(gc_code_frame))          \
    X(code_cursor_bytes, (uint32_t)sizeof(gc_code_cursor))        \
    X(code_format_bytes, (uint32_t)sizeof(gc_code_format))        \
    X(value_bytes, (uint32_t)GC_VALUE_BYTES)

typedef struct gc_geometry {
    uint32_t bytes; /* of this record */
#define GC__GEOMETRY_FIELD(name, value) uint32_t name;
    GC_GEOMETRY(GC__GEOMETRY_FIELD)
#undef GC__GEOMETRY_FIELD
} gc_geometry;

#ifdef __cplusplus
#define GC__TYPE_OF(name) __typeof__(::name)
#else
#define GC__TYPE_OF(name) __typeof__(name)
#endif
#define GC__FIELD_CALL(name) GC__TYPE_OF(name) * name;
#define GC__FIELD_INLINE(name) GC__FIELD_CALL(name)
#define GC__FIELD_MACHINE(name) GC__FIELD_CALL(name)
#if GC_HAS_MODEL
#define GC__FIELD_TYPED(name) void (*name)(void);
#else
#define GC__FIELD_TYPED(name) GC__FIELD_CALL(name)
#endif
#define GC__FIELD_TYPED_INLINE(name) GC__FIELD_TYPED(name)
#define GC__FIELD(kind, name) GC__FIELD_##kind(name)

/* The functions of a collector. */
struct gc_functions {
    uint32_t bytes; /* of this table; what lies beyond it is missing */
    uint32_t unused;
    const gc_geometry *geometry;
    GC__INTERFACE(GC__FIELD)
};

/* What a program gives to a library; 0 is allowed for each function, and means what its comment says. The other things that
   a collector needs of a host (suspend, restart, scan_roots, finalizers_ready...) are those of each heap: gc_options. */
typedef struct gc_host {
    uint32_t bytes;        /* of this table; what lies beyond it is missing */
    uint32_t major, minor; /* GC_INTERFACE_* of the program */
    uint32_t shadow_heap;  /* GC_SHADOW_HEAP: whether inline stores keep the shadow heap */
    const gc_geometry *geometry;
    uintptr_t value_mask, value_tag; /* GC_VALUE_MASK and GC_VALUE_TAG; 0: the program has none */
    void *context;                   /* handed to all of these */
    /* Is told by GC_Initialize, which then fails, why it does: a sentence. 0: is not told. */
    void (*refused)(void *context, const char *why);
    /* A setting, by the name of its environment variable; NULL: it is not set. 0: the library reads the environment. */
    const char *(*setting)(void *context, const char *name);
    /* What barriers read has changed: called before any heap's gc_options.barrier_changed, under the same rules, and first
       when the first heap is created. 0: the program does not store inline. */
    void (*stomp)(void *context, const gc_barrier_change *change);
    /* Take warnings and fatal faults of heaps whose options have no function for them. 0: to stderr. */
    void (*warning)(void *context, const char *message);
    void (*fatal)(void *context, const char *message);
} gc_host;

/* What a library exports. GC_VersionInfo comes first. GC_Initialize is called once for each process: it stores the address
   of the table, keeps that of `host`, and returns 0, or a gc_result. */
typedef void gc_version_info_function(gc_version_info *info);
typedef int32_t gc_initialize_function(const gc_host *host, const gc_functions **functions, struct GcDacVars *vars);

/* A collector that a program uses. Never unloaded once it was initialized. */
typedef struct gc_library {
    const gc_functions *functions;
    gc_version_info version;         /* the library's */
    const char *path;                /* NULL: the embedded collector */
    void *handle;                    /* of dlopen; NULL: the embedded collector */
    gc_host host;                    /* what the library was given */
    const gc_barrier_tables *tables; /* what barriers read; NULL before the first heap */
    gc_barrier barrier;              /* the one in force */
    struct GcDacVars *vars;          /* how the collector describes itself to readers: gc_dac.h. magic 0: it does not */
    struct gc_library *next;         /* in the list of those loaded */
} gc_library;

/* Whether the collector has the function, which is newer than version 1.0 of the interface. */
#define GC_LIBRARY_HAS(library, name) \
    ((library)->functions->bytes >= offsetof(gc_functions, name) + sizeof(void *) && (library)->functions->name)

/* Is asked where the collector that the environment names cannot be used, for which `why` is a paragraph: whether the program
   goes on with the embedded one. It must call nothing of gc.h. */
typedef bool gc_library_refused(void *context, const char *why);

/* Loads the collector at the absolute path and starts it, for use by its table beside those in use. If it cannot be used,
   *why is a paragraph, valid until the next failure on this thread; `why` may be NULL. [any thread; waits; NULL: *why] */
GC_API gc_library *gc_library_load(const char *path, const char **why);
/* Returns the collector in force. The first call chooses it: the one that the environment names (GC_STANDALONE_NAME_VARIABLE
   and GC_STANDALONE_PATH_VARIABLE), or else the embedded one. If it cannot be used, `refused` decides; 0: the program ends
   with the message. With GC_STANDALONE any other call of gc.h chooses as well, as if `refused` were 0. [any thread; waits;
   cannot fail] */
GC_API const gc_library *gc_library_choose(gc_library_refused *refused, void *context);

/* The embedded collector. [any thread; never collects; cannot fail] */
GC_API gc_library *gc_library_embedded(void);

#ifdef GC_IMPLEMENTATION
/* The platform contract for GC_STANDALONE: a symbol for each function of GC__INTERFACE, which jumps to the address in a
   slot, and preserves all that the caller passes. The slots are gc__stub_slots, in the order of the list. */


#ifdef GC_STANDALONE
#if GC__API_IS_STATIC
#error "GC_STANDALONE makes symbols of the functions of gc.h: GC_API must not be static"
#endif
/* GC__DEFINE_STUBS(first) defines the symbols. At first each slot leads to code that calls first(void **slot), and
   jumps to the address that this returns. */
GC__EXTERN GC__VISIBLE void *gc__stub_slots[];

#define GC__STUB_DATA(...) ".pushsection .data\n\t" __VA_ARGS__ ".popsection\n\t"
#define GC__STUB_SLOTS GC__STUB_DATA(".balign 8\n\t" GC__ASSEMBLY_LINKAGE("gc__stub_slots") "gc__stub_slots:\n\t")
#define GC__STUB_INLINE(name) GC__STUB_DATA(".quad 0\n\t")
#define GC__STUB_TYPED_INLINE(name) GC__STUB_INLINE(name)
#define GC__STUB_MACHINE(name) GC__STUB_CALL(name)
#if GC_HAS_MODEL
#define GC__STUB_TYPED(name) GC__STUB_INLINE(name)
#else
#define GC__STUB_TYPED(name) GC__STUB_CALL(name)
#endif
#define GC__STUB(kind, name) GC__STUB_##kind(name)

/* clang-format off */
#if defined(__x86_64__)
/* The jump preserves r10 and r11, the operands of gc_code_call_native. The first call changes r11, but no compiled code
   makes it, since there is no thread before. */
#define GC__STUB_CALL(name) \
    GC__STUB_DATA(".Lgc__slot_" #name ": .quad .Lgc__first_" #name "\n\t") \
    GC__ASSEMBLY_LINKAGE(#name) ".type " #name ", @function\n" #name ":\n\t" \
    "{jmp *.Lgc__slot_" #name "(%%rip)|jmp qword ptr .Lgc__slot_" #name "[rip]}\n" \
    ".Lgc__first_" #name ":\t" \
    "{leaq .Lgc__slot_" #name "(%%rip), %%r11|lea r11, .Lgc__slot_" #name "[rip]}\n\t" \
    "jmp .Lgc__stub_first\n\t" \
    ".size " #name ", .-" #name "\n\t"
#define GC__STUB_VECTOR(at, number) \
    "{movups " at "(%%rsp), %%xmm" number "|movups xmm" number ", [rsp+" at "]}\n\t"
#define GC__STUB_SAVE_VECTOR(at, number) \
    "{movups %%xmm" number ", " at "(%%rsp)|movups [rsp+" at "], xmm" number "}\n\t"
#define GC__STUB_VECTORS(each) \
    each("0", "0") each("16", "1") each("32", "2") each("48", "3") \
    each("64", "4") each("80", "5") each("96", "6") each("112", "7")

/* All stubs are in one function, so that the assembly may be in both dialects. It is not called by its own name. The
   operand prevents link-time optimization from making `first` a private symbol of another unit. */
#define GC__DEFINE_STUBS(first) \
    __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) static void gc__stubs(void) { \
        __asm__( \
            GC__STUB_SLOTS \
            GC__INTERFACE(GC__STUB) \
            ".Lgc__stub_first:\n\t" \
            GC__CODE_PUSH("rbp") GC__CFI("def_cfa_offset 16") GC__CFI("offset 6, -16") \
            GC__CODE_MOVE("rsp", "rbp") GC__CFI("def_cfa_register 6") \
            GC__CODE_PUSH("rdi") GC__CODE_PUSH("rsi") GC__CODE_PUSH("rdx") GC__CODE_PUSH("rcx") \
            GC__CODE_PUSH("r8") GC__CODE_PUSH("r9") GC__CODE_PUSH("rax") GC__CODE_PUSH("r10") \
            GC__CODE_ADDRESS("rsp", -128, "rsp") \
            GC__STUB_VECTORS(GC__STUB_SAVE_VECTOR) \
            GC__CODE_MOVE("r11", "rdi") \
            "call " GC__ASM_ADDRESS "\n\t" \
            GC__CODE_MOVE("rax", "r11") \
            GC__STUB_VECTORS(GC__STUB_VECTOR) \
            GC__CODE_ADDRESS("rsp", 128, "rsp") \
            GC__CODE_POP("r10") GC__CODE_POP("rax") GC__CODE_POP("r9") GC__CODE_POP("r8") \
            GC__CODE_POP("rcx") GC__CODE_POP("rdx") GC__CODE_POP("rsi") GC__CODE_POP("rdi") \
            GC__CODE_POP("rbp") GC__CFI("def_cfa 7, 8") \
            "{jmp *%%r11|jmp r11}" \
            :: GC__ASM_OPERAND(first) : "memory"); \
    }
#elif defined(__aarch64__)
/* Both addresses are targets of indirect calls (hint #34 is bti c). */
#define GC__STUB_CALL(name) \
    GC__STUB_DATA(".Lgc__slot_" #name ": .quad .Lgc__first_" #name "\n\t") \
    GC__ASSEMBLY_LINKAGE(#name) ".type " #name ", %%function\n" #name ":\n\thint #34\n\t" \
    "adrp x16, .Lgc__slot_" #name "\n\tadd x16, x16, #:lo12:.Lgc__slot_" #name "\n\tldar x16, [x16]\n\tbr x16\n" \
    ".Lgc__first_" #name ":\thint #34\n\t" \
    "adrp x17, .Lgc__slot_" #name "\n\tadd x17, x17, #:lo12:.Lgc__slot_" #name "\n\tb .Lgc__stub_first\n\t" \
    ".size " #name ", .-" #name "\n\t"
#define GC__DEFINE_STUBS(first) \
    __attribute__((used, noinline)) static void gc__stubs(void) { \
        __asm__ volatile( \
            ".pushsection .text\n\t" \
            GC__STUB_SLOTS \
            GC__INTERFACE(GC__STUB) \
            ".Lgc__stub_first:\n\t" \
            "stp x29, x30, [sp, #-224]!\n\tmov x29, sp\n\t" \
            "stp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n\t" \
            "str x8, [sp, #80]\n\t" \
            "stp q0, q1, [sp, #96]\n\tstp q2, q3, [sp, #128]\n\tstp q4, q5, [sp, #160]\n\tstp q6, q7, [sp, #192]\n\t" \
            "mov x0, x17\n\tbl " GC__ASM_ADDRESS "\n\tmov x16, x0\n\t" \
            "ldp q6, q7, [sp, #192]\n\tldp q4, q5, [sp, #160]\n\tldp q2, q3, [sp, #128]\n\tldp q0, q1, [sp, #96]\n\t" \
            "ldr x8, [sp, #80]\n\tldp x6, x7, [sp, #64]\n\tldp x4, x5, [sp, #48]\n\tldp x2, x3, [sp, #32]\n\t" \
            "ldp x0, x1, [sp, #16]\n\t" \
            "ldp x29, x30, [sp], #224\n\tbr x16\n\t" \
            ".popsection" \
            :: GC__ASM_OPERAND(first)); \
    }
#else
#error "gc.h: GC_STANDALONE calls the collector in a library by stubs for x86-64 and AArch64: here, compile it into the program"
#endif
/* clang-format on */
#endif
/* Whether a program and a library were compiled with the same geometry, which inline code depends on. */


static const gc_geometry gc__geometry_here = {sizeof(gc_geometry),
#define GC__GEOMETRY_VALUE(name, value) value,
                                              GC_GEOMETRY(GC__GEOMETRY_VALUE)
#undef GC__GEOMETRY_VALUE
};

/* GC_VALUE_MASK and GC_VALUE_TAG of this unit; 0: it has none. */
#if GC_HAS_VALUE_TAG
#define GC__VALUE_MASK_HERE ((uintptr_t)(GC_VALUE_MASK))
#define GC__VALUE_TAG_HERE ((uintptr_t)(GC_VALUE_TAG))
#else
#define GC__VALUE_MASK_HERE ((uintptr_t)0)
#define GC__VALUE_TAG_HERE ((uintptr_t)0)
#endif

/* Makes a clause of the first few facts in which the two differ, those of the program first. False: they are the same, as
   far as both know of them. */
GC__FN bool gc__geometry_differs(const gc_geometry *program, const gc_geometry *library, char *text, size_t bytes) {
    static const char *const names[] = {
#define GC__GEOMETRY_NAME(name, value) #name,
        GC_GEOMETRY(GC__GEOMETRY_NAME)
#undef GC__GEOMETRY_NAME
    };
    const uint32_t *mine = &program->bytes + 1, *other = &library->bytes + 1;
    size_t known = program->bytes < library->bytes ? program->bytes : library->bytes, used = 0, differences = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && (i + 2) * sizeof *mine <= known; i++) {
        if (mine[i] == other[i]) continue;
        if (differences++ < 4 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s is %u in the program and %u in the library",
                                     used ? ", " : "", names[i], (unsigned)mine[i], (unsigned)other[i]);
    }
    if (differences > 4 && used < bytes)
        snprintf(text + used, bytes - used, ", and %zu more differences", differences - 4);
    return differences != 0;
}

/* The functions of the collector in this unit. */
#define GC__ENTRY_CALL(name) name,
#define GC__ENTRY_INLINE(name) name,
#define GC__ENTRY_MACHINE(name) GC__HAS_CODE_CALLS ? name : NULL,
#if GC_HAS_MODEL
#define GC__ENTRY_TYPED(name) NULL,
#else
#define GC__ENTRY_TYPED(name) name,
#endif
#define GC__ENTRY_TYPED_INLINE(name) GC__ENTRY_TYPED(name)
#define GC__ENTRY(kind, name) GC__ENTRY_##kind(name)
static const gc_functions gc__functions_here
    __attribute__((unused)) = {sizeof(gc_functions), 0, &gc__geometry_here, GC__INTERFACE(GC__ENTRY)};
/* The library's side of the protocol: its two exports. */


#ifdef GC_STANDALONE_LIBRARY
#ifndef GC_LIBRARY_NAME
#define GC_LIBRARY_NAME "gc.h " GC_VERSION_TEXT
#endif
#ifndef GC_LIBRARY_BUILD
#define GC_LIBRARY_BUILD 0
#endif
#ifndef GC_LIBRARY_SETTINGS
#define GC_LIBRARY_SETTINGS NULL /* "GC_STRESS=stack GC_VERIFY=1", say: for what the program's settings leave open */
#endif
#define GC__LIBRARY_EXPORT GC__EXTERN GC__EXPORT

GC__LIBRARY_EXPORT gc_version_info_function GC_VersionInfo;
GC__LIBRARY_EXPORT gc_initialize_function GC_Initialize;

GC__LIBRARY_EXPORT void GC_VersionInfo(gc_version_info *info) {
    info->major = GC_INTERFACE_MAJOR;
    info->minor = GC_INTERFACE_MINOR;
    info->build = GC_LIBRARY_BUILD;
    info->name = GC_LIBRARY_NAME;
}

static bool gc__library_serves; /* GC_Initialize has succeeded */

/* Takes over which values are references. False: they were compiled in, and are other ones. */
GC__FN bool gc__library_take_values(const gc_host *host) {
#ifdef GC__VALUES_OF_PROGRAM
    gc__value_mask = host->value_mask;
    gc__value_tag = host->value_tag;
#endif
    return GC__VALUE_MASK_HERE == host->value_mask && GC__VALUE_TAG_HERE == host->value_tag;
}

/* Whether this library can serve the program; `why` is a sentence if not. */
GC__FN bool gc__library_accepts(const gc_host *host, char *why, size_t bytes) {
    size_t used = (size_t)snprintf(why, bytes, "the geometries differ, which inline code depends on: ");
    if (host->major != GC_INTERFACE_MAJOR)
        snprintf(why, bytes, "the program's interface is %u.%u, and the library's is %d.%d", (unsigned)host->major,
                 (unsigned)host->minor, GC_INTERFACE_MAJOR, GC_INTERFACE_MINOR);
    else if (gc__library_serves)
        snprintf(why, bytes, "the library is in use already, and serves one host: copy the file for another");
    else if (gc__geometry_differs(host->geometry, &gc__geometry_here, why + used, bytes - used))
        return false;
    else if (!gc__library_take_values(host))
        snprintf(why, bytes,
                 "the library was compiled with a GC_VALUE_MASK and GC_VALUE_TAG, and the program with others");
    else
        return true;
    return false;
}

GC__LIBRARY_EXPORT int32_t GC_Initialize(const gc_host *given, const gc_functions **functions, struct GcDacVars *vars) {
    gc_host host; /* fields that an older program does not know of are 0 */
    char why[768];
    memset(&host, 0, sizeof host);
    memcpy(&host, given, given->bytes < sizeof host ? given->bytes : sizeof host);
    if (!gc__library_accepts(&host, why, sizeof why)) {
        if (host.refused) host.refused(host.context, why);
        return GC_ERROR_LIBRARY;
    }
    gc__library_serves = true;
    gc__the_outside.context = host.context;
    gc__the_outside.setting = host.setting;
    gc__the_outside.stomp = host.stomp;
    gc__the_outside.warning = host.warning;
    gc__the_outside.fatal = host.fatal;
    gc__the_outside.stores_no_shadow = !host.shadow_heap;
    gc__the_outside.can_be_chosen = true;
    gc__the_outside.name = GC_LIBRARY_NAME;
    gc__the_outside.settings = GC_LIBRARY_SETTINGS;
    *functions = &gc__functions_here;
    if (vars) gc__dac_describe(vars);
    return 0;
}
#endif
/* The program's side: the embedded collector, what libraries are given, and the functions of the collector in force. */


#ifndef GC_STANDALONE_LIBRARY

static gc_library gc__embedded_library;
static const gc_library *gc__library_in_force; /* NULL: not chosen yet; atomic, written under the lock */
static gc__lock gc__library_lock = GC__LOCK_INITIALIZER;
static gc__lock gc__inline_lock = GC__LOCK_INITIALIZER; /* the last one to be taken: what inline code reads is written under it */
static uint32_t gc__library_forks; /* threads in fork(), whose handlers have that lock or wait for it; atomic */

/* A library has been loaded, and the lock is free. A fork that began before calls no handlers of the library's: so none of its
   locks is taken until such forks have ended, or their children would have them without an owner. */
GC__FN void gc__library_await_forks(void) {
    for (uint32_t forks; (forks = __atomic_load_n(&gc__library_forks, __ATOMIC_SEQ_CST)) != 0;)
        gc__os_wait_for(&gc__library_forks, forks, GC__NS_PER_MS);
}

#ifdef GC_STANDALONE
/* The data of inline code, which in this unit has the names of the embedded collector's. */
GC__SHARED gc_barrier_tables gc__inline_tables __asm__("gc__tables");
GC__SHARED gc_barrier_functions gc__inline_barrier_calls __asm__("gc__barrier_calls");
GC__DATA(gc_barrier_tables gc__inline_tables);
GC__DATA(gc_barrier_functions gc__inline_barrier_calls);

/* Brings the data of inline code up to date: first the tables, then what is in use of them. */
GC__FN void gc__inline_update(const gc_library *library) {
    const gc_barrier_tables *from = library->tables;
    gc_barrier_tables *to = &gc__inline_tables;
    to->age = from->age;
    to->cards = from->cards;
    to->bundles = from->bundles;
    to->watch = from->watch;
    to->log_bits = from->log_bits;
    to->log = from->log;
    to->log_store = from->log_store;
    to->log_store_call = from->log_store_call;
    to->end = from->end;
    __atomic_store_n(&to->lowest, from->lowest, __ATOMIC_RELEASE);
    __atomic_store_n(&to->highest, from->highest, __ATOMIC_RELEASE);
    __atomic_store_n(&to->low, from->low, __ATOMIC_RELEASE);
    __atomic_store_n(&to->high, from->high, __ATOMIC_RELEASE);
    gc__inline_barrier_calls = *gc_barrier_functions_of(library->barrier);
}
#else
GC__FN void gc__inline_update(const gc_library *library) { (void)library; }
#endif

/* gc_host.stomp, under the barrier lock of the library. */
GC__FN void gc__library_stomped(void *context, const gc_barrier_change *change) {
    gc_library *library = (gc_library *)context;
    gc__lock_take(&gc__inline_lock);
    library->barrier = change->barrier;
    library->tables = change->tables;
    if (library == __atomic_load_n(&gc__library_in_force, __ATOMIC_ACQUIRE)) gc__inline_update(library);
    gc__lock_release(&gc__inline_lock);
}

/* What a library is given; the caller fills in `refused`. */
GC__FN void gc__library_host(gc_library *library) {
    gc_host *host = &library->host;
    memset(host, 0, sizeof *host);
    host->bytes = sizeof *host;
    host->major = GC_INTERFACE_MAJOR;
    host->minor = GC_INTERFACE_MINOR;
    host->shadow_heap = GC_SHADOW_HEAP;
    host->geometry = &gc__geometry_here;
    host->value_mask = GC__VALUE_MASK_HERE;
    host->value_tag = GC__VALUE_TAG_HERE;
    host->context = library;
    host->stomp = gc__library_stomped;
}

/* Lock held. */
GC__FN gc_library *gc__library_embed(void) {
    gc_library *library = &gc__embedded_library;
    if (library->functions) return library;
    gc__library_host(library);
    gc__the_outside.context = library;
    gc__the_outside.stomp = library->host.stomp;
    library->vars = gc__dac_own();
    library->version.major = GC_INTERFACE_MAJOR;
    library->version.minor = GC_INTERFACE_MINOR;
    library->version.name = "gc.h " GC_VERSION_TEXT ", embedded";
    library->functions = &gc__functions_here;
    return library;
}

GC_API gc_library *gc_library_embedded(void) {
    gc__lock_take(&gc__library_lock);
    gc_library *library = gc__library_embed();
    gc__lock_release(&gc__library_lock);
    return library;
}

#ifdef GC_STANDALONE
#define GC__STUBS ((sizeof(gc_functions) - offsetof(gc_functions, gc_version)) / sizeof(void *))

/* The i-th function of the collector; NULL: it has none. */
GC__FN void *gc__library_function(const gc_library *library, size_t i) {
    size_t at = offsetof(gc_functions, gc_version) + i * sizeof(void *);
    if (at + sizeof(void *) > library->functions->bytes) return NULL;
    return *(void *const *)(const void *)((const char *)library->functions + at);
}

/* Lock held. Puts the collector in force: from now on gc_NAME is its function. What it has not keeps leading to
   gc__stub_first. */
GC__FN void gc__library_install(const gc_library *library) {
    gc__lock_take(&gc__inline_lock);
    if (library->tables) gc__inline_update(library);
    __atomic_store_n(&gc__library_in_force, library, __ATOMIC_RELEASE);
    gc__lock_release(&gc__inline_lock);
    for (size_t i = 0; i < GC__STUBS; i++) {
        void *function = gc__library_function(library, i);
        if (function) __atomic_store_n(&gc__stub_slots[i], function, __ATOMIC_RELEASE);
    }
}
#else
GC__FN void gc__library_install(const gc_library *library) {
    __atomic_store_n(&gc__library_in_force, library, __ATOMIC_RELEASE);
}
#endif
#endif
/* Finding, checking and loading the library that the environment names. */

/* The platform contract for loaded libraries, on Linux: checks the header of a file before the dynamic linker reads it,
   whose messages say less. */

/* The platform contract for libraries that are loaded by the names of their files, on Linux: finds and opens a file. */


#ifndef __linux__
#error "gc_standalone.h: collectors as libraries are for Linux only, so far: on Windows, include gc.h or gc_stackmap.h instead"
#include GC__STOP
#endif
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#define GC__OS_LINKS_MAX 8 /* symbolic links that a name may lead through */
#define GC__OS_OWNERS_MAX 16
#define GC__OS_PATH_SHOWN 160
#define GC__OS_OPENAT2 437 /* the system call, which C libraries may not declare yet, and its RESOLVE_NO_MAGICLINKS */
#define GC__OS_NO_MAGIC_LINKS 2

/* A file that is checked before it is loaded. The checked file is the loaded one: only those who could also exchange
   the program can exchange it in between. */
typedef struct gc__os_library {
    int folder, file;    /* descriptors; -1: not open */
    char path[PATH_MAX]; /* the file's path; absolute, without symbolic links */
    uint64_t bytes;
    bool is_started;   /* it names a dynamic linker, as an executable program does */
    void *handle;      /* NULL: not loaded */
    char trouble[440]; /* why a call returned false, followed by a sentence with the remedy */
    const char *remedy;
} gc__os_library;

/* Records what is wrong. Returns false. */
GC__FN bool gc__os_trouble(gc__os_library *library, const char *remedy, const char *format, ...)
    __attribute__((GC__PRINTF(3, 4), cold));
GC__FN bool gc__os_trouble(gc__os_library *library, const char *remedy, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(library->trouble, sizeof library->trouble, format, arguments);
    va_end(arguments);
    library->remedy = remedy;
    return false;
}

/* Returns the end of a long path, which says more than its beginning. */
GC__FN const char *gc__os_path_end(const char *path) {
    size_t length = strlen(path);
    return length > GC__OS_PATH_SHOWN ? path + length - GC__OS_PATH_SHOWN : path;
}

/* Writes the folder of the program's file, with a slash at its end; empty if the system does not say. */
GC__FN void gc__os_program_folder(char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size);
    if (length < 0 || (size_t)length == size || *path != '/') length = 0;
    while (length && path[length - 1] != '/') length--;
    path[length] = 0;
}

/* Calls f for an open folder and each one above it, until f returns false. Returns whether it reached the root. */
GC__FN bool gc__os_each_above(int folder, bool (*f)(void *context, const struct stat *facts, int depth),
                              void *context) {
    struct stat facts, above;
    int at = openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool ok = at >= 0 && fstat(at, &facts) == 0, is_root = false;
    for (int depth = 0; ok && !is_root && (ok = f(context, &facts, depth)); depth++) {
        int next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = next;
        ok = at >= 0 && fstat(at, &above) == 0;
        is_root = ok && above.st_dev == facts.st_dev && above.st_ino == facts.st_ino;
        facts = above;
    }
    if (at >= 0) close(at);
    return ok;
}

/* The users who could exchange the program: root, its user, and the owners of its file and of all folders above
   that. */
typedef struct gc__os_owners {
    uid_t ids[GC__OS_OWNERS_MAX];
    int count;
} gc__os_owners;

GC__FN bool gc__os_owners_have(const gc__os_owners *owners, uid_t id) {
    for (int i = 0; i < owners->count; i++)
        if (owners->ids[i] == id) return true;
    return false;
}

GC__FN bool gc__os_owners_add(void *owners_of_program, const struct stat *facts, int depth) {
    gc__os_owners *owners = (gc__os_owners *)owners_of_program;
    (void)depth;
    if (owners->count < GC__OS_OWNERS_MAX && !gc__os_owners_have(owners, facts->st_uid))
        owners->ids[owners->count++] = facts->st_uid;
    return true;
}

GC__FN void gc__os_owners_find(gc__os_owners *owners) {
    char program[PATH_MAX];
    struct stat facts;
    owners->ids[0] = 0;
    owners->ids[1] = geteuid();
    owners->count = 2;
    if (stat("/proc/self/exe", &facts) == 0) gc__os_owners_add(owners, &facts, 0);
    gc__os_program_folder(program, sizeof program);
    int folder = open(program, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    gc__os_each_above(folder, gc__os_owners_add, owners);
    close(folder);
}

typedef struct gc__os_guard {
    gc__os_library *library;
    gc__os_owners owners;
} gc__os_guard;

/* Returns whether only those who could exchange the program can change a file or folder. A group with the number of the
   owner counts as the owner's own, since many systems give each user such a group. */
GC__FN bool gc__os_is_guarded(gc__os_guard *guard, const struct stat *facts, const char *which) {
    bool by_group = (facts->st_mode & S_IWGRP) && facts->st_gid != facts->st_uid;
    if (by_group || (facts->st_mode & S_IWOTH))
        return gc__os_trouble(
            guard->library, "Run `chmod go-w` on it, or copy the library into a folder that is yours alone",
            "%s is writable by %s (mode %04o, owner %u, group %u), who could have any code run in this "
            "program",
            which, facts->st_mode & S_IWOTH ? "everybody" : "a group", (unsigned)facts->st_mode & 07777,
            (unsigned)facts->st_uid, (unsigned)facts->st_gid);
    if (!gc__os_owners_have(&guard->owners, facts->st_uid))
        return gc__os_trouble(
            guard->library, "Copy the library into a folder of yours, or of root",
            "%s belongs to user %u, who could have any code run in this program: he is neither root, nor "
            "the program's user %u, nor an owner of the program's file or of a folder above that",
            which, (unsigned)facts->st_uid, (unsigned)geteuid());
    return true;
}

/* In folders with the sticky bit, like /tmp, users cannot exchange what belongs to others. In the library's own folder
   that is not enough: anybody could supply a library that is missing. */
GC__FN bool gc__os_folder_is_guarded(void *context, const struct stat *facts, int depth) {
    gc__os_guard *guard = (gc__os_guard *)context;
    struct stat seen = *facts;
    char which[80];
    if (depth && (seen.st_mode & S_ISVTX)) seen.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    if (depth)
        snprintf(which, sizeof which, "the folder that is %d above it", depth + 1);
    else
        snprintf(which, sizeof which, "its folder");
    return gc__os_is_guarded(guard, &seen, which);
}

/* Returns whether the path to the folder leads through a link of /proc to a process's open file or working folder: such
   a path begins with a slash, but means another folder in each process. Systems before Linux 5.6 do not reveal paths
   that reach /proc by a symbolic link. */
GC__FN bool gc__os_is_of_process(const char *folder) {
    struct gc__os_open_how {
        uint64_t flags, mode, resolve;
    } how = {O_PATH | O_DIRECTORY | O_CLOEXEC, 0, GC__OS_NO_MAGIC_LINKS};
    int at = (int)syscall(GC__OS_OPENAT2, AT_FDCWD, folder, &how, sizeof how);
    bool refused = at < 0 && errno == ELOOP;
    if (at >= 0) close(at);
    while (*folder == '/' || (folder[0] == '.' && folder[1] == '/')) folder++;
    return refused || strncmp(folder, "proc/", 5) == 0 || strncmp(folder, "dev/fd/", 7) == 0;
}

GC__FN bool gc__os_library_open_folder(gc__os_library *library, const char *folder) {
    if (realpath(folder, library->path)) library->folder = open(library->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (library->folder >= 0 && gc__os_is_of_process(folder))
        return gc__os_trouble(library, "Name the folder itself",
                              "the path leads through a link of /proc, and would depend on the current folder, or on what the "
                              "process has open");
    if (library->folder >= 0) return true;
    int error = errno;
    snprintf(library->path, sizeof library->path, "%s", folder);
    return gc__os_trouble(library, "Name a file whose folder exists and can be entered",
                          "its folder cannot be opened: %s", strerror(error));
}

GC__FN int gc__os_library_open_link(gc__os_library *library, char *name) {
    size_t length = strlen(library->path);
    int links = 0;
    do {
        if (strlen(name) > NAME_MAX || length + strlen(name) >= sizeof library->path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        strcpy(library->path + length, name);
        int file = openat(library->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (file >= 0 || errno != ELOOP) return file;
        ssize_t bytes = readlinkat(library->folder, library->path + length, name, NAME_MAX + 1);
        name[bytes < 0 ? 0 : bytes] = 0;
    } while (!strchr(name, '/') && strcmp(name, "..") != 0 && ++links < GC__OS_LINKS_MAX);
    errno = ELOOP;
    return -1;
}

/* Opens the file, following symbolic links to other files of the same folder. */
GC__FN bool gc__os_library_open_file(gc__os_library *library, const char *name) {
    char target[NAME_MAX + 2];
    size_t length = strlen(library->path);
    if (library->path[length - 1] != '/') strcpy(library->path + length, "/");
    snprintf(target, sizeof target, "%s", name);
    library->file = gc__os_library_open_link(library, target);
    if (library->file >= 0) return true;
    int error = errno;
    if (error == ELOOP && (strchr(target, '/') || strcmp(target, "..") == 0))
        return gc__os_trouble(library, "Name the file that the link leads to by its own path",
                              "it is a symbolic link that leaves its folder, to `%s`", gc__os_path_end(target));
    if (error == ENOENT) return gc__os_trouble(library, "Build it there, or correct the name", "there is no such file");
    return gc__os_trouble(library,
                          error == EACCES ? "Allow the user of the program to enter its folder and to read it"
                                          : "Name another file",
                          "it cannot be opened: %s", strerror(error));
}

/* Finds the file `name` in the folder, and opens it. */
GC__FN bool gc__os_library_find(gc__os_library *library, const char *folder, const char *name) {
    struct stat facts;
    if (!gc__os_library_open_folder(library, folder) || !gc__os_library_open_file(library, name)) return false;
    memset(&facts, 0, sizeof facts);
    if (fstat(library->file, &facts) != 0) facts.st_mode = 0;
    library->bytes = (uint64_t)facts.st_size;
    if (!S_ISREG(facts.st_mode))
        return gc__os_trouble(library, "Name the file of a library", "it is %s, no file",
                              S_ISDIR(facts.st_mode)    ? "a folder"
                              : S_ISFIFO(facts.st_mode) ? "a FIFO"
                                                        : "a device");
    return facts.st_size > 0 ||
           gc__os_trouble(library, "Build the library again, or copy it again", "the file is empty");
}

/* Returns whether only those who could exchange the program can change the file, or replace it by another one. */
GC__FN bool gc__os_library_check_rights(gc__os_library *library) {
    gc__os_guard guard;
    struct stat facts;
    guard.library = library;
    gc__os_owners_find(&guard.owners);
    gc__os_trouble(library, "Give the program the right to enter all folders above the file",
                   "a folder above it cannot be entered");
    return fstat(library->file, &facts) == 0 && gc__os_is_guarded(&guard, &facts, "the file") &&
           gc__os_each_above(library->folder, gc__os_folder_is_guarded, &guard);
}

/* Returns the linker's message without the library's path, with which it begins. */
GC__FN const char *gc__os_linker_words(const gc__os_library *library) {
    const char *words = dlerror();
    size_t length = strlen(library->path);
    if (!words) return "";
    return strncmp(words, library->path, length) == 0 && strncmp(words + length, ": ", 2) == 0 ? words + length + 2
                                                                                               : words;
}

/* Returns whether the path still leads to the file that was checked. */
GC__FN bool gc__os_library_is_same(const gc__os_library *library) {
    struct stat checked, named;
    return fstat(library->file, &checked) == 0 && lstat(library->path, &named) == 0 && checked.st_dev == named.st_dev &&
           checked.st_ino == named.st_ino && checked.st_size == named.st_size;
}

/* Loads the file that was checked. The linker is given the file's path rather than that of its descriptor, by which
   neither a debugger nor the printed stack could find it. */
GC__FN bool gc__os_library_load(gc__os_library *library) {
    void *loaded = dlopen(library->path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded) {
        dlclose(loaded);
        return gc__os_trouble(
            library, "Copy the file, and name the copy, for a second instance of the collector",
            "this program has loaded it already, perhaps by another name, and a library serves one host");
    }
    library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return gc__os_trouble(
            library,
            library->is_started
                ? "Name a collector's library, such as libgc-checked.so: this is a program, which one starts"
                : "Install the libraries that it needs, or build it again on this system; if memory cannot be "
                  "mapped, its file system may be mounted with noexec",
            "the dynamic linker says: %s", gc__os_linker_words(library));
    if (gc__os_library_is_same(library)) return true;
    return gc__os_trouble(library, "Start the program again", "the file was replaced while the program was loading it");
}

/* Returns the address of a symbol; NULL if the library has none. */
GC__FN void *gc__os_library_symbol(gc__os_library *library, const char *symbol) {
    void *found = dlsym(library->handle, symbol);
    if (!found)
        gc__os_trouble(library,
                       "Build it from gc_standalone.h, which exports the symbol, and strip at most debug symbols",
                       "the dynamic linker says: %s", gc__os_linker_words(library));
    return found;
}

/* Closes the descriptors, and unloads the library unless it is to stay. */
GC__FN void gc__os_library_close(gc__os_library *library, bool stays) {
    if (library->folder >= 0) close(library->folder);
    if (library->file >= 0) close(library->file);
    if (library->handle && !stays) dlclose(library->handle);
    library->folder = library->file = -1;
}

/* Registers functions around fork for the lock of libraries, as gc__os_at_fork does. */
GC__FN bool gc__os_library_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    return pthread_atfork(before, in_parent, in_child) == 0;
}

typedef struct gc__elf_name {
    uint16_t number;
    const char *text;
} gc__elf_name;

GC__FN const char *gc__elf_machine_text(uint16_t machine) {
    static const gc__elf_name names[] = {{EM_386, "i386"},        {EM_ARM, "ARM"},       {EM_X86_64, "x86-64"},
                                         {EM_AARCH64, "AArch64"}, {EM_PPC64, "PowerPC"}, {EM_S390, "S/390"},
                                         {GC__IMAGE_RISCV, "RISC-V"},         {EM_MIPS, "MIPS"},     {258, "LoongArch"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == machine) return names[i].text;
    return "an unknown machine";
}

GC__FN const char *gc__elf_type_text(uint16_t type) {
    static const gc__elf_name names[] = {
        {ET_REL, "an object file, not linked yet"}, {ET_EXEC, "a program"}, {ET_CORE, "a core dump"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == type) return names[i].text;
    return "a file of an unknown kind";
}

GC__FN bool gc__elf_is_cut(gc__os_library *library, uint64_t bytes) {
    return gc__os_trouble(library, "Build the library again, or copy it again",
                          "the file is truncated: it has %llu bytes, and its header speaks of %llu",
                          (unsigned long long)library->bytes, (unsigned long long)bytes);
}

/* Returns whether the file has `bytes` bytes from the offset on. */
GC__FN bool gc__elf_has(gc__os_library *library, uint64_t offset, uint64_t bytes) {
    uint64_t end = offset + bytes < offset ? UINT64_MAX : offset + bytes;
    return end <= library->bytes || gc__elf_is_cut(library, end);
}

GC__FN bool gc__elf_read(gc__os_library *library, void *to, size_t bytes, uint64_t offset) {
    if (!gc__elf_has(library, offset, bytes)) return false;
    return pread(library->file, to, bytes, (off_t)offset) == (ssize_t)bytes || gc__elf_is_cut(library, offset + bytes);
}

GC__FN bool gc__elf_is_elf(gc__os_library *library, const unsigned char *ident, size_t bytes) {
    char shown[9] = "";
    if (bytes >= SELFMAG && memcmp(ident, ELFMAG, SELFMAG) == 0) return true;
    for (size_t i = 0; i < bytes && i < sizeof shown - 1; i++)
        shown[i] = ident[i] > ' ' && ident[i] < 127 ? (char)ident[i] : '.';
    return gc__os_trouble(library, "Name a shared library, which `gcc -shared` makes",
                          "it is no ELF file: it begins with `%s`", shown);
}

/* Returns whether the file is for this machine. The first 20 bytes of headers are alike for all word sizes. */
GC__FN bool gc__elf_is_for_us(gc__os_library *library, const unsigned char *start) {
    bool is_big = start[EI_DATA] == ELFDATA2MSB;
    uint16_t type = (uint16_t)(start[is_big ? 17 : 16] | start[is_big ? 16 : 17] << 8);
    uint16_t machine = (uint16_t)(start[is_big ? 19 : 18] | start[is_big ? 18 : 19] << 8);
    if (machine != GC__IMAGE_MACHINE || start[EI_CLASS] != ELFCLASS64 || start[EI_DATA] != GC__IMAGE_ORDER)
        return gc__os_trouble(
            library, "Build the library by the compiler that the program was built by",
            "it is for %s (machine %u) with words of %s bits, the %s byte first, and this program for %s "
            "with words of 64 bits, the %s byte first",
            gc__elf_machine_text(machine), machine,
            start[EI_CLASS] == ELFCLASS64   ? "64"
            : start[EI_CLASS] == ELFCLASS32 ? "32"
                                            : "unknown",
            is_big ? "highest" : "lowest", gc__elf_machine_text(GC__IMAGE_MACHINE),
            GC__IMAGE_ORDER == ELFDATA2LSB ? "lowest" : "highest");
    if (type == ET_DYN) return true;
    return gc__os_trouble(library, "Link it by `gcc -shared`", "it is %s (type %u), no shared library",
                          gc__elf_type_text(type), type);
}

/* Returns whether the file contains everything that its header refers to. */
GC__FN bool gc__elf_is_whole(gc__os_library *library) {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    if (!gc__elf_read(library, &header, sizeof header, 0)) return false;
    if (header.e_phentsize != sizeof part || header.e_phnum == 0)
        return gc__os_trouble(library, "Build the library again", "its header is damaged: %u parts of %u bytes each",
                              header.e_phnum, header.e_phentsize);
    for (uint64_t i = 0; i < header.e_phnum; i++) {
        uint64_t at = header.e_phoff + i * sizeof part;
        if (at < header.e_phoff) return gc__elf_is_cut(library, UINT64_MAX);
        if (!gc__elf_read(library, &part, sizeof part, at)) return false;
        if (!gc__elf_has(library, part.p_offset, part.p_filesz)) return false;
        library->is_started |= part.p_type == PT_INTERP;
    }
    return !header.e_shoff || gc__elf_has(library, header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize);
}

/* Checks the header of an open library. */
GC__FN bool gc__elf_check(gc__os_library *library) {
    unsigned char start[20] = {0};
    ssize_t bytes = pread(library->file, start, sizeof start, 0);
    if (bytes < 0)
        return gc__os_trouble(library, "Copy the library to another disk", "it cannot be read: %s", strerror(errno));
    if (!gc__elf_is_elf(library, start, (size_t)bytes)) return false;
    if ((size_t)bytes < sizeof start) return gc__elf_is_cut(library, sizeof(Elf64_Ehdr));
    return gc__elf_is_for_us(library, start) && gc__elf_is_whole(library);
}

#ifndef GC_STANDALONE_LIBRARY
#define GC__INTERFACE_LAST gc_container_bytes /* of version 1.0 */
GC__STATIC_ASSERT(GC_INTERFACE_MAJOR > 1 || GC_INTERFACE_MINOR > 0 ||
                      offsetof(gc_functions, GC__INTERFACE_LAST) + sizeof(void *) == sizeof(gc_functions),
                  "GC__INTERFACE_LAST is not the last function of version 1.0");

/* A library on its way into the program. Its path and what is wrong with it are in `file`. */
typedef struct gc__load {
    const char *variable, *value; /* which setting named it; variable NULL: gc_library_load; value NULL: none */
    const char *step;             /* the one that failed, as a clause */
    gc__os_library file;
    void *version_info, *initialize; /* the two symbols */
    gc_version_info version;         /* of the library */
    bool is_version_known;
    char why[320]; /* what GC_Initialize had to say */
} gc__load;

typedef struct gc__load_setting {
    const char *variable;
    bool is_name, is_path; /* what it may be */
} gc__load_setting;

GC__FN bool gc__load_has_parent(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2])) return true;
    return false;
}

/* Whether the value is a name in the program's folder or an absolute path, whichever the setting takes. */
GC__FN bool gc__load_check_value(gc__load *load, const gc__load_setting *setting) {
    const char *value = load->value;
    if (*value == '/' && !setting->is_path)
        return gc__os_trouble(&load->file, "Set " GC_STANDALONE_PATH_VARIABLE " to the path instead",
                              "it is a path, and the variable takes the name of a file beside the program");
    if (*value != '/' && !setting->is_name)
        return gc__os_trouble(&load->file, "Begin the path with a slash",
                              "it is a relative path, which would depend on the current folder");
    if (*value != '/' && strchr(value, '/'))
        return gc__os_trouble(&load->file,
                              "Set " GC_STANDALONE_PATH_VARIABLE " to the absolute path of the file instead",
                              "a name must not contain a slash, for it is looked for beside the program alone");
    if (gc__load_has_parent(value))
        return gc__os_trouble(&load->file, "Write the path without `..`", "it leaves its folder by `..`");
    if (value[strlen(value) - 1] == '/')
        return gc__os_trouble(&load->file, "Name the file", "it ends in a slash, so it names a folder");
    return true;
}

/* Reads the settings. True: at most one names a library. */
GC__FN bool gc__load_read_settings(gc__load *load) {
    static const gc__load_setting settings[] = {{GC_STANDALONE_NAME_VARIABLE, true, false},
                                                {GC_STANDALONE_PATH_VARIABLE, false, true},
                                                {"DOTNET_GCName", true, false},
                                                {"DOTNET_GCPath", false, true},
                                                {"COMPlus_GCName", true, true}};
    const gc__load_setting *found = NULL;
    for (size_t i = 0; i < (GC_STANDALONE_CLR_VARIABLES ? sizeof settings / sizeof *settings : 2); i++) {
        const char *value = gc__os_setting(settings[i].variable);
        if (value && found)
            return gc__os_trouble(&load->file, "Unset one of them", "%s is set, too, to `%s`", settings[i].variable,
                                  gc__os_path_end(value));
        if (!value) continue;
        found = &settings[i];
        load->variable = found->variable;
        load->value = value;
    }
    return !found || gc__load_check_value(load, found);
}

/* Opens the file and checks it. A name without a folder is looked for in `beside`, the program's. */
GC__FN bool gc__load_open(gc__load *load, const char *beside) {
    char folder[PATH_MAX];
    const char *name = strrchr(load->value, '/');
    size_t length = name ? (size_t)(name + 1 - load->value) : strlen(beside);
    name = name ? name + 1 : load->value;
    load->step = "Finding the file";
    if (length == 0)
        return gc__os_trouble(&load->file,
                              "Mount /proc, or set " GC_STANDALONE_PATH_VARIABLE " to the absolute path of the file",
                              "the system does not say in which folder the program is");
    if (length >= sizeof folder) return gc__os_trouble(&load->file, "Move it", "its path is too long");
    memcpy(folder, name == load->value ? beside : load->value, length);
    folder[length] = 0;
    if (!gc__os_library_find(&load->file, folder, name)) return false;
    load->step = "Checking who may change it";
    if (!gc__os_library_check_rights(&load->file)) return false;
    load->step = "Reading its header";
    return gc__elf_check(&load->file);
}

/* Loads the library, and looks up the symbols by which the protocol starts. */
GC__FN bool gc__load_symbols(gc__load *load) {
    load->step = "Loading it";
    if (!gc__os_library_load(&load->file)) return false;
    load->step = "Looking up GC_VersionInfo";
    load->version_info = gc__os_library_symbol(&load->file, "GC_VersionInfo");
    if (!load->version_info) return false;
    load->step = "Looking up GC_Initialize";
    load->initialize = gc__os_library_symbol(&load->file, "GC_Initialize");
    return load->initialize != NULL;
}

/* The versions of both sides as a sentence. */
GC__FN void gc__load_print_versions(const gc__load *load, char *text, size_t bytes) {
    const gc_version_info *version = &load->version;
    size_t used =
        (size_t)snprintf(text, bytes, "The program has version %d.%d of the interface (gc.h " GC_VERSION_TEXT "), ",
                         GC_INTERFACE_MAJOR, GC_INTERFACE_MINOR);
    if (load->is_version_known)
        snprintf(text + used, bytes - used, "the library version %u.%u (%.60s, build %u).", (unsigned)version->major,
                 (unsigned)version->minor, version->name ? version->name : "without a name", (unsigned)version->build);
    else
        snprintf(text + used, bytes - used, "and the library has not been asked for its own.");
}

/* Asks the library for its version. With the same major version both sides know all that the lower minor version has. */
GC__FN bool gc__load_ask_version(gc__load *load) {
    gc_version_info_function *version_info;
    memcpy(&version_info, &load->version_info, sizeof version_info);
    load->step = "Comparing the versions";
    load->version.major = GC_INTERFACE_MAJOR;
    load->version.minor = GC_INTERFACE_MINOR;
    load->version.name = "gc.h " GC_VERSION_TEXT;
    version_info(&load->version);
    load->is_version_known = true;
    return load->version.major == GC_INTERFACE_MAJOR ||
           gc__os_trouble(&load->file,
                          "Use a library whose version begins with the same number, or compile the program again",
                          "the first numbers of the versions differ, so the two do not understand each other");
}

static gc__load *gc__load_now; /* that for which GC_Initialize runs; written under the lock of libraries */

/* gc_host.refused. */
GC__FN void gc__load_refused(void *context, const char *why) {
    (void)context;
    if (gc__load_now && why) snprintf(gc__load_now->why, sizeof gc__load_now->why, ": %s", why);
}

/* Whether what GC_Initialize has given is what the program was compiled for. */
GC__FN bool gc__load_check_functions(gc__load *load, const gc_functions *functions) {
    const char *remedy = "Build the library from an unchanged gc_standalone.h";
    size_t least = offsetof(gc_functions, GC__INTERFACE_LAST) + sizeof(void *);
    char differences[320];
    if (!functions) return gc__os_trouble(&load->file, remedy, "it gives no table of functions");
    if (functions->bytes < least)
        return gc__os_trouble(&load->file, remedy, "it gives a table of %u bytes, and version 1.0 has at least %zu",
                              (unsigned)functions->bytes, least);
    if (!functions->geometry) return gc__os_trouble(&load->file, remedy, "its table lacks the geometry");
    if (!gc__geometry_differs(&gc__geometry_here, functions->geometry, differences, sizeof differences)) return true;
    return gc__os_trouble(&load->file, "Compile both with the same GC_ macros", "the geometries differ: %s",
                          differences);
}

/* What the program knows of descriptions, which the library then fills in. */
GC__FN void gc__load_ask_description(GcDacVars *vars) {
    vars->major = GC_DAC_MAJOR;
    vars->minor = GC_DAC_MINOR;
    vars->bytes = sizeof *vars;
    vars->variable_count = GC__DAC_VARIABLE_COUNT;
    vars->fact_count = GC__DAC_FACT_COUNT;
    vars->member_count = GC__DAC_AT_COUNT;
    vars->statistic_count = GC__DAC_STATISTIC_COUNT;
}

/* Starts the library's collector. */
GC__FN bool gc__load_initialize(gc__load *load, gc_library *library) {
    gc_initialize_function *initialize;
    const gc_functions *functions = NULL;
    memcpy(&initialize, &load->initialize, sizeof initialize);
    load->step = "Calling GC_Initialize";
    gc__library_host(library);
    gc__load_ask_description(library->vars);
    library->host.refused = gc__load_refused;
    gc__load_now = load;
    int32_t result = initialize(&library->host, &functions, library->vars);
    gc__load_now = NULL;
    if (result)
        return gc__os_trouble(&load->file,
                              "Use a library that was compiled with the GC_ macros of the program, or ask its author",
                              "it returns %d%s", (int)result, load->why);
    library->functions = functions;
    library->version = load->version;
    library->handle = load->file.handle;
    return gc__load_check_functions(load, functions);
}

/* Makes a paragraph of what is wrong, as gc_last_message. */
GC__FN void gc__load_fail(gc__load *load) {
    const char *path = load->file.path;
    char versions[240];
    gc__load_print_versions(load, versions, sizeof versions);
    if (load->variable)
        gc__fail(GC_ERROR_LIBRARY, "%s=%s: ", load->variable, gc__os_path_end(load->value));
    else
        gc__fail(GC_ERROR_LIBRARY, "gc_library_load of %s: ", gc__os_path_end(load->value));
    if (*path && strcmp(path, load->value) != 0)
        gc__fail_more("the collector %s is not used. ", gc__os_path_end(path));
    else
        gc__fail_more("the collector is not used. ");
    gc__fail_more("%s: %s. %s %s.", load->step, load->file.trouble, versions, load->file.remedy);
}

/* Loads what `load` names. Lock of libraries held. NULL with gc__fail. */
GC__FN gc_library *gc__load_run(gc__load *load) {
    char beside[PATH_MAX];
    /* Together, since both live as long as the library. */
    gc_library *library = (gc_library *)calloc(1, sizeof *library + sizeof(GcDacVars));
    char *path = NULL;
    if (library) library->vars = (GcDacVars *)(library + 1);
    gc__os_program_folder(beside, sizeof beside);
    bool ok = gc__load_open(load, beside) && gc__load_symbols(load) && gc__load_ask_version(load);
    if (ok) path = strdup(load->file.path);
    if (ok && (!path || !library))
        ok = gc__os_trouble(&load->file, "Free some memory", "the system has no more memory");
    ok = ok && gc__load_initialize(load, library);
    if (!ok) gc__load_fail(load);
    gc__os_library_close(&load->file, ok);
    if (ok) {
        library->path = path;
        return library;
    }
    free(path);
    free(library);
    return NULL;
}

GC__FN void gc__load_init(gc__load *load, const char *step) {
    memset(load, 0, sizeof *load);
    load->file.folder = load->file.file = -1;
    load->step = step;
}

/* Loads the collector that the environment names. *library: NULL if it names none. Lock of libraries held. */
GC__FN gc_result gc__library_named(gc_library **library) {
    gc__load load;
    gc__load_init(&load, "Reading the environment");
    *library = NULL;
    if (!gc__load_read_settings(&load)) {
        gc__load_fail(&load);
        return GC_ERROR_LIBRARY;
    }
    if (!load.value) return GC_OK;
    *library = gc__load_run(&load);
    return *library ? GC_OK : GC_ERROR_LIBRARY;
}

GC_API gc_library *gc_library_load(const char *path, const char **why) {
    static const gc__load_setting setting = {NULL, false, true};
    gc_library *library = NULL;
    gc__load load;
    if (gc__is_null(path, "gc_library_load", "path")) return NULL;
    gc__load_init(&load, "Reading the path");
    load.value = path;
    gc__lock_take(&gc__library_lock);
    if (gc__load_check_value(&load, &setting))
        library = gc__load_run(&load);
    else
        gc__load_fail(&load);
    gc__lock_release(&gc__library_lock);
    gc__library_await_forks();
    if (!library && why) *why = gc__last_message;
    return library;
}
#endif
/* Choosing the collector in force. */


#ifndef GC_STANDALONE_LIBRARY
/* The status of a program that ends because its collector cannot be loaded: that of one which lacks a library. */
#define GC__LOAD_STATUS 127

/* The collector that the environment names, or the embedded one. Lock of libraries held. */
GC__FN const gc_library *gc__library_named_or_embedded(gc_library_refused *refused, void *context) {
    gc_library *named;
    if (gc__library_named(&named) == GC_OK) return named ? named : gc__library_embed();
    if (refused && refused(context, gc__last_message)) return gc__library_embed();
    fflush(stdout);
    fprintf(stderr, "gc.h: %s\n", gc__last_message);
    _Exit(GC__LOAD_STATUS);
}

static const gc_library *gc__library_chosen; /* to be in force soon; NULL: not yet; lock of libraries */

GC_API const gc_library *gc_library_choose(gc_library_refused *refused, void *context) {
    const gc_library *library = __atomic_load_n(&gc__library_in_force, __ATOMIC_ACQUIRE);
    if (library) return library;
    if (gc__lock_is_mine(&gc__library_lock))
        gc__fatal(
            NULL,
            "a function of gc.h was called by the function that gc_library_choose was given, or by a library that is "
            "being loaded: at that time no collector has been chosen yet");
    gc__lock_take(&gc__library_lock);
    gc__the_outside.can_be_chosen = true; /* the embedded collector's */
    if (!gc__library_chosen) gc__library_chosen = gc__library_named_or_embedded(refused, context);
    gc__lock_release(&gc__library_lock);
    gc__library_await_forks();
    gc__lock_take(&gc__library_lock);
    if (!gc__library_in_force) gc__library_install(gc__library_chosen);
    gc__lock_release(&gc__library_lock);
    return gc__library_in_force;
}

/* Around fork: the child of a thread that forks while another one loads a library must be able to load one, too. */
GC__FN void gc__library_fork_begin(void) {
    __atomic_add_fetch(&gc__library_forks, 1, __ATOMIC_SEQ_CST);
    gc__lock_fork_take(&gc__library_lock);
}
GC__FN void gc__library_fork_end(void) {
    gc__lock_fork_release(&gc__library_lock);
    __atomic_sub_fetch(&gc__library_forks, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&gc__library_forks);
}
GC__FN void gc__library_fork_end_child(void) {
    __atomic_store_n(&gc__library_forks, 0u, __ATOMIC_SEQ_CST);
    gc__lock_fork_adopt(&gc__library_lock);
    gc__lock_fork_release(&gc__library_lock);
}
GC__AT_LOAD GC__FN void gc__library_at_load(void) {
    gc__os_library_at_fork(gc__library_fork_begin, gc__library_fork_end, gc__library_fork_end_child);
}

#ifdef GC_STANDALONE
GC__FN const char *gc__stub_name(size_t i) {
    static const char *const names[] = {
#define GC__STUB_NAME(kind, name) #name,
        GC__INTERFACE(GC__STUB_NAME)
#undef GC__STUB_NAME
    };
    return names[i];
}

/* Called instead of gc_NAME until the collector is chosen, and later for a function that it has not. */
GC__EXTERN GC__VISIBLE void *gc__stub_first(void **slot);
GC__EXTERN void *gc__stub_first(void **slot) {
    size_t i = (size_t)(slot - gc__stub_slots);
    const gc_library *library = gc_library_choose(NULL, NULL);
    if (!gc__library_function(library, i))
        gc__fatal(
            NULL,
            "%s is newer than the collector in use, %s (%s), whose interface is %u.%u and the program's %d.%d: ask "
            "GC_LIBRARY_HAS before the call, or use a newer library",
            gc__stub_name(i), library->version.name, library->path ? library->path : "embedded",
            (unsigned)library->version.major, (unsigned)library->version.minor, GC_INTERFACE_MAJOR, GC_INTERFACE_MINOR);
    return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* all functions in one string, which the C standard need not allow */
GC__DEFINE_STUBS(gc__stub_first)
#pragma GCC diagnostic pop
#endif
#endif
/* The names of gc.h in the rest of the unit that contains the embedded collector: they would mean that one, whichever is in
   force, so using them is an error. */


#ifdef GC_STANDALONE
#define GC__POISON(kind, name) GC__PRAGMA(GCC poison name)
GC__INTERFACE(GC__POISON)
#endif
#endif

GC__STYLE_END
