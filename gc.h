/* Generated from src/gc.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc.h - a generational, region-based, moving garbage collector for C runtimes.

   Copy gc.h, gc_barrier_x86_64.h and gc_handles.h into your project. In one .c file

       #define GC_IMPLEMENTATION
       #include "gc.h"

   and elsewhere just include it. C11 or C++, gcc or clang, Linux; no dependency but libc.

       typedef struct cell { gc_object header; struct cell *next; int value; } cell;
       static const gc_type cell_type = GC_TYPE(cell, next);    // the fields that are references

       gc_heap *heap = gc_heap_create(NULL);                    // NULL: all defaults
       gc_thread *gc = gc_thread_attach(heap);
       cell *list = NULL;
       GC_ROOTS(gc, list);                                      // until the end of this scope
       cell *c = (cell *)gc_new(gc, &cell_type);                // may collect: only roots survive, and may move
       c->value = 1;
       gc_store(gc, &c->next, list);                            // the write barrier
       list = c;

   Contents: the write barriers (gc_barrier_x86_64.h), linkage, macros, version, results, objects and their types, heaps
   with their options and statistics, roots, weak tables, threads with their modes and GC_ROOTS, stores, stacks of values,
   allocation, collecting and walks, handles and finalizers (gc_handles.h); then the implementation. The comment of each
   function ends in [thread and mode; whether it collects; how it fails]; the project's docs/api.md is a table of them all.

   Names: a function on a thing begins with that noun, gc_NOUN_VERB; a getter is gc_NOUN_PROPERTY, a setter
   gc_NOUN_set_PROPERTY. The mutator's everyday verbs stand alone: gc_new, gc_allocate, gc_store, gc_copy_refs,
   gc_collect, gc_visit, gc_safepoint, gc_keep_alive. What a thread does for itself alone takes its gc_thread:
   allocation, stores, modes, frames, its finalizers; what concerns the whole heap takes a gc_heap. A constant's prefix
   names one set: GC_SLOT_* are flags of slots, GC_ROOTS* the macros of roots.

   Rules: 1. Every variable that holds a reference across a call that may collect is a root. That includes what the
   compiler holds: never allocate inside the arguments of gc_store, nor to the right of `object->field =`. 2. From the
   first such call after an object was allocated, every store of a reference into it goes through gc_store or its kin.
   3. A call that fails returns NULL, false or a gc_result, and gc_last_message() says which limit was met and what to
   do. 4. With GC_DEBUG >= 1, misuse aborts the program with a sentence. 5. Each thread attaches itself, and polls
   gc_safepoint in loops that do not allocate; calls that block are bracketed by GC_IN_MODE(thread, GC_MODE_PREEMPTIVE).
   A signal handler may call nothing of gc.h but gc_thread_mode. Run with GC_STRESS=allocation and GC_VERIFY=1 in the
   environment to have forgotten roots and barriers reported by name. */
#pragma once

/* Compile-time facts. Every translation unit of a program must be compiled with the same ones. */

#if defined(GC_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* mmap's flags and pthread_getattr_np, also under -std=c11 */
#endif

#if defined(GC_IMPLEMENTATION) && defined(GC_STANDALONE) && !defined(GC__STANDALONE_FIRST)
#error "with GC_STANDALONE the file that defines GC_IMPLEMENTATION includes gc_standalone.h instead of gc.h"
#endif

/* Linkage: where the definitions of gc.h are visible. Every translation unit must be compiled with the same choice:

   By default the units of one program, or of one shared library, share a gc.h that is invisible elsewhere: several
   libraries of a process may have one each, of different versions and configurations. Such copies do not know each other:
   for one, a thread that waits in another is busy. So a thread must be in preemptive mode in the heaps of one when it calls
   what may wait in another; otherwise collections of both may wait for each other for ever.
   GC_API static: the unit with GC_IMPLEMENTATION has it to itself. One program may link several such units.
   GC_EXPORTED 1: a program or shared library exports its gc.h to the plugins that include the header with the same
   setting. If a process has several such exporters, the first one loaded serves all, so there must be only one.
   GC_API as any other linkage, in C++ with extern "C": exports, too, unless GC_EXPORTED is 0. */

#include "gc_barrier_x86_64.h"

#ifdef __cplusplus
#define GC__EXTERN extern "C"
#define GC__STATIC_ASSERT static_assert
#else
#define GC__EXTERN extern
#define GC__STATIC_ASSERT _Static_assert
#endif

/* The first word of GC_API completes the name of a macro, which is defined, and yields 1, only for the word `static`. */
#define GC__LINKAGE_static 0, 1,
#define GC__SECOND_OF(a, b, ...) b
#define GC__SECOND(...) GC__SECOND_OF(__VA_ARGS__, 0, 0)

#ifdef GC_API
#define GC__API_IS_STATIC GC__SECOND(GC__PASTE(GC__LINKAGE_, GC_API))
#ifndef GC_EXPORTED
#define GC_EXPORTED !GC__API_IS_STATIC
#endif
#else
#define GC__API_IS_STATIC 0
#define GC_API GC__SHARED
#endif
#ifndef GC_EXPORTED
#define GC_EXPORTED 0
#endif

/* The assembly's symbols cannot be static. They are weak, so several units that are linked together may have them: all
   are alike. */
#if GC_EXPORTED
#define GC__VISIBLE __attribute__((visibility("default")))
#define GC__ASSEMBLY_LINKAGE(name) ".weak " name "\n\t"
#else
#define GC__VISIBLE __attribute__((visibility("hidden")))
#define GC__ASSEMBLY_LINKAGE(name) ".weak " name "\n\t.hidden " name "\n\t"
#endif

/* GC__SHARED: linkage of what inline functions use.
   GC__DATA(definition): defines data that was declared as GC__SHARED; a static declaration has defined it already. */
#if GC__API_IS_STATIC
#undef GC_API
#define GC_API static __attribute__((unused))
#define GC__SHARED GC_API
#define GC__DATA(definition) GC__STATIC_ASSERT(1, "defined where it is declared")
#else
#define GC__SHARED GC__EXTERN GC__VISIBLE
#ifndef GC__DATA
#define GC__DATA(definition) definition
#endif
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* GC__REQUIRE(name, condition) is 1 where the condition holds, and elsewhere does not compile: the compiler then shows
   GC__TEXT_name. Each name is introduced by GC__REQUIREMENT(name). */
#ifdef __cplusplus
#define GC__IS_POLYMORPHIC(T) __is_polymorphic(T)
#define GC__REQUIREMENT(name)                   \
    template <bool is_met> struct gc__##name {  \
        static_assert(is_met, GC__TEXT_##name); \
        enum { one = 1 };                       \
    };
#define GC__REQUIRE(name, condition) (size_t) gc__##name<(condition)>::one
#else
#define GC__IS_POLYMORPHIC(T) 0
#define GC__REQUIREMENT(name)
#define GC__REQUIRE(name, condition) \
    sizeof(struct { _Static_assert(condition, GC__TEXT_##name); char one; })
#endif

#ifndef GC_ARENA_BYTES
#define GC_ARENA_BYTES ((size_t)1 << 40) /* address space that all heaps of the process share; reserved, not used */
#endif
#ifndef GC_DEBUG
#define GC_DEBUG 0 /* 1: misuse is checked on slow paths; 2: on fast paths too; 3: structures check themselves */
#endif
#ifndef GC_SHADOW_HEAP
#define GC_SHADOW_HEAP \
    0 /* 1: each collection and gc_heap_verify report stores without barrier, which a copy of old slots shows */
#endif
#ifndef GC_EMBEDDED
#define GC_EMBEDDED 0 /* 1: gc.h installs no handler of faults and reads no environment. Reports of faults are missing then */
#endif
#ifndef GC_ENVIRONMENT
#define GC_ENVIRONMENT !GC_EMBEDDED /* 0: gc_heap_create does not read GC_STRESS, GC_VERIFY and GC_CHECKMARK */
#endif

/* The value seam, implemented by the host: what a tagged slot (GC_TYPE_VALUES, GC_SLOT_VALUE) holds.
   GC_VALUE_IS_REF(word): whether the word refers to an object. Any word must be accepted; either answer is right for 0.
   GC_VALUE_TO_REF(word): that object's address. GC_VALUE_FROM_REF(ref, word): the word that refers to ref as `word`
   referred to the object before it moved. A word is a uintptr_t.
   Or two numbers instead, by which collectors in libraries (gc_standalone.h) know values, too. GC_VALUE_MASK and
   GC_VALUE_TAG: a word refers to an object if (word & mask) == tag, and then to the object at word - tag. */
#if defined(GC_STANDALONE_LIBRARY) && !defined(GC_VALUE_TAG) && !defined(GC_VALUE_IS_REF)
static uintptr_t gc__value_mask, gc__value_tag; /* of the program, which says it when the library is initialized */
#define GC__VALUES_OF_PROGRAM 1
#define GC__VALUES_IN_USE (gc__value_mask != 0)
#define GC_VALUE_MASK gc__value_mask
#define GC_VALUE_TAG gc__value_tag
#endif
#ifdef GC_VALUE_TAG
#define GC_HAS_VALUE_TAG 1
#if defined(GC_VALUE_IS_REF) || !defined(GC_VALUE_MASK)
#error "GC_VALUE_TAG is defined: define GC_VALUE_MASK too, but not GC_VALUE_IS_REF"
#endif
#define GC_VALUE_IS_REF(word) (((word) & (uintptr_t)(GC_VALUE_MASK)) == (uintptr_t)(GC_VALUE_TAG))
#define GC_VALUE_TO_REF(word) ((word) - (uintptr_t)(GC_VALUE_TAG))
#define GC_VALUE_FROM_REF(ref, word) ((uintptr_t)(ref) + (uintptr_t)(GC_VALUE_TAG))
#else
#define GC_HAS_VALUE_TAG 0
#endif
#ifdef GC_VALUE_IS_REF
#define GC_HAS_VALUES 1
#if !defined(GC_VALUE_TO_REF) || !defined(GC_VALUE_FROM_REF)
#error "GC_VALUE_IS_REF is defined: define GC_VALUE_TO_REF(word) and GC_VALUE_FROM_REF(ref, word) too"
#endif
#else
#define GC_HAS_VALUES 0
#define GC_VALUE_IS_REF(word) ((word) != 0)
#define GC_VALUE_TO_REF(word) (word)
#define GC_VALUE_FROM_REF(ref, word) (ref)
#endif
#ifndef GC__VALUES_IN_USE
#define GC__VALUES_IN_USE GC_HAS_VALUES
#endif

/* The object-model seam, implemented by the host that has its own headers. Bit 0 of a live object's first word must be
   clear. GC_MODEL_BYTES(object): its size in bytes; GC_MODEL_TRACE(object, visitor): calls gc_visit for each of its
   slots, under the rules of gc_type.trace; GC_MODEL_NAME(object): its type's name, for reports. */
#ifdef GC_MODEL_BYTES
#define GC_HAS_MODEL 1
#if !defined(GC_MODEL_TRACE) || !defined(GC_MODEL_NAME)
#error "GC_MODEL_BYTES is defined: define GC_MODEL_TRACE(object, visitor) and GC_MODEL_NAME(object) too"
#endif
#else
#define GC_HAS_MODEL 0
#endif

#if GC_DEBUG >= 1
#define GC_ASSERT(condition, ...) ((condition) ? (void)0 : gc__misuse(__FILE__, __LINE__, __VA_ARGS__))
#else
#define GC_ASSERT(condition, ...) ((void)0)
#endif

#define GC__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GC__LIKELY(x) __builtin_expect(!!(x), 1)

GC_API void gc__misuse(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), __noreturn__, __cold__));

/* The name of one symbol lists all that inline code depends on. Every unit refers to that symbol and the implementation
   defines it, so units of different configurations do not link, and the linker's message shows both. */
#define GC__CONFIGURATION2(r, c, b, u, w, s, v, m) \
    gc_configuration_region_shift_##r##_card_shift_##c##_bits_##b##_bundle_##u##_barrier_##w##_shadow_##s##_values_##v##_model_##m
#define GC__CONFIGURATION1(...) GC__CONFIGURATION2(__VA_ARGS__)
#define GC__CONFIGURATION                                                                                         \
    GC__CONFIGURATION1(GC_REGION_SHIFT, GC_CARD_SHIFT, GC_CARD_BITS, GC_BUNDLE_SHIFT, GC_BARRIER, GC_SHADOW_HEAP, \
                       GC_HAS_VALUES, GC_HAS_MODEL)
#if !GC__API_IS_STATIC
GC__SHARED const char GC__CONFIGURATION;
static const char *const gc__configuration __attribute__((used)) = &GC__CONFIGURATION;
#endif
/* Which gc.h this is. Until 1.0.0 a minor version may change the API; the project's CHANGELOG.md says how. */


#define GC_VERSION_MAJOR 0
#define GC_VERSION_MINOR 1
#define GC_VERSION_PATCH 0
#define GC_VERSION_TEXT "0.1.0"

/* The version of the implementation that the program was linked with; GC_VERSION_TEXT is that of the header which the
   caller was compiled with. Static storage. [any thread; never collects; cannot fail] */
GC_API const char *gc_version(void);
/* What can fail, and the texts. */


/* Why a call failed. X(NAME, text). */
#define GC_RESULTS(X)                                                 \
    X(GC_OK, "success")                                               \
    X(GC_ERROR_OPTION, "an option is out of range")                   \
    X(GC_ERROR_RESERVE, "address space could not be reserved")        \
    X(GC_ERROR_MEMORY, "the system has no more memory")               \
    X(GC_ERROR_HEAP_FULL, "the heap has reached heap_bytes_max")      \
    X(GC_ERROR_TOO_LARGE, "the size overflows, or exceeds the heap")  \
    X(GC_ERROR_TYPE, "the type is misdeclared")                       \
    X(GC_ERROR_ATTACHED, "the thread is attached already")            \
    X(GC_ERROR_HANDLE, "the handle is not one of this kind and heap") \
    X(GC_ERROR_ARGUMENT, "an argument is NULL")                       \
    X(GC_ERROR_DISPOSED, "the safe handle has been closed")           \
    X(GC_ERROR_MISUSE, "the call is not allowed here")                \
    X(GC_ERROR_FORMAT, "a table is malformed, or of another version") \
    X(GC_ERROR_LIBRARY, "the library of a collector cannot be used")  \
    X(GC_ERROR_FILE, "a file cannot be written")

typedef enum gc_result {
#define GC__RESULT_NAME(name, text) name,
    GC_RESULTS(GC__RESULT_NAME)
#undef GC__RESULT_NAME
} gc_result;

/* NULL arguments: a function that ends or releases a thing accepts NULL and does nothing. Any other function that needs
   the argument fails with GC_ERROR_ARGUMENT: it returns that, or NULL, false or 0, and aborts if GC_DEBUG >= 1. Inline
   fast paths do not check. Exceptions: after gc_thread_attach of NULL the failure of gc_heap_create stays the last one;
   and the functions of safe handles never abort, for a guest program's NULL is not the host's fault. */

/* The text of a result; static storage. [any thread; never collects; cannot fail] */
GC_API const char *gc_result_text(gc_result result);

/* The result of the last failed call on this native thread, and a sentence that names the limit that was met and the
   remedy. Valid until the next failure on the same thread. Calls that succeed leave both as they are. [any thread;
   never collects; cannot fail] */
GC_API gc_result gc_last_result(void);
GC_API const char *gc_last_message(void);
/* Objects and their types.

   By default an object begins with `const gc_type *`; one that has elements continues with `size_t length`.

   In C++ too the header is the first member, and so is the base of a hierarchy, whose fields are named through it:
       struct circle { shape base; circle *next; };    // struct shape { gc_object header; shape *owner; };
       static const gc_type circle_type = GC_TYPE(circle, base.owner, next);
   A type that inherits the header or a base works too, but the macros find fields by offsetof, which is then an
   extension that gcc and clang warn of: put `#pragma GCC diagnostic ignored "-Winvalid-offsetof"` before the types. A
   type with virtual functions does not compile: the pointer to them would be where the header must be. Constructors do
   not run. */


typedef struct gc_heap gc_heap;
typedef struct gc_thread gc_thread;
typedef struct gc_type gc_type;
typedef struct gc_finalizer gc_finalizer;

/* Receives the slots that a trace function or a root callback reports: pass it on to gc_visit. For gc_object_visit a
   host makes visitors of its own. */
typedef struct gc_visitor gc_visitor;
struct gc_visitor {
    void (*visit)(gc_visitor *visitor, void *slot, size_t count, unsigned flags);
};

typedef struct gc_object {
    const gc_type *type;
} gc_object;

typedef struct gc_array {
    gc_object header;
    size_t length;
} gc_array;

/* Static, or kept by the host until it has run; the collector keeps the address. A type that names one (gc_type.finalizer, by
   GC_TYPE_FINALIZED) has each of its objects registered by gc_new. */
struct gc_finalizer {
    void (*finalize)(gc_thread *thread, void *object); /* cooperative mode */
    bool critical; /* runs after the normal ones, and when the heap is destroyed in any case */
    /* Whether this object says, by a mark of its own, that it needs no finalizer: then it dies at once, without the search
       that gc_finalizer_suppress makes. Called during collections, before the finalizer runs, and with
       concurrent_trace_functions beside the program; must read that object only. NULL: every object needs it. */
    bool (*is_suppressed)(const void *object);
};

/* Of a type whose objects need none. */
static const gc_finalizer gc_no_finalizer __attribute__((unused)) = {0, false, 0};

/* Flags of a type. */
enum {
    GC_TYPE_FIXED = 1 /* its objects never move: gc_new is gc_new_fixed */
};

/* What the collector must know of a type. Static or otherwise immortal; the collector never copies or frees it. It may
   be the first member of a record of the host's own, which an object then leads to at no cost:
       struct class { gc_type gc; const char *display_name; };
       static const struct class cell_class = {GC_TYPE(cell, next), "cell"};    // gc_new(gc, &cell_class.gc)
       const struct class *class = (const struct class *)((gc_object *)object)->type;
   Bit i of a mask stands for the 8-byte word i of the fixed part or of an element, so masks reach the first 512 bytes;
   a type with references further in needs a trace function. */
struct gc_type {
    const char *name;
    uint32_t bytes;         /* the fixed part, header included; elements start here */
    uint32_t element_bytes; /* 0: no elements, and no length word */
    uint64_t refs;          /* words of the fixed part that hold plain pointers to objects, or null */
    uint64_t values;        /* words of the fixed part that hold tagged values (GC_VALUE_IS_REF) */
    uint64_t element_refs;  /* the same two masks for each element */
    uint64_t element_values;
    /* Visits, by gc_visit, the slots that no mask shows; may be NULL. Slots in memory of the host's that belongs to the
       object are visited with GC_SLOT_OWNED, and stored to by gc_store_in, or after gc_remember; where the heap is
       non_generational neither is needed. It must not allocate, nor read other heap objects. It is called from the
       object's allocation on, and also after its finalizer has run. */
    void (*trace)(void *object, gc_visitor *visitor);
    const gc_finalizer *finalizer; /* runs when an object of the type has been found dead; may be NULL */
    const char *fields;            /* the names behind the masks, "next, value"; of a GC_TYPE_STRING that of the member
                                      with its characters; for reports only; may be NULL */
    uint16_t field_offsets[17];    /* their offsets, in an element with GC_ELEMENT_FIELD, in that order; and a 0 */
    uint32_t flags; /* GC_TYPE_FIXED, which goes with a finalizer, gc_no_finalizer if there is none; or 0 */
};

#define GC_ELEMENT_FIELD 0x8000

/* Checks a type declared by hand. Returns NULL if it is sound, else a sentence that says what is wrong with it. gc_new
   checks on its slow path, and always if GC_DEBUG >= 2. [any thread; never collects; cannot fail] */
GC_API const char *gc_type_check(const gc_type *type);

/* Declares, as an initializer, a type of fixed size whose named fields (at most 16) are references:
       static const gc_type cell_type = GC_TYPE(cell, next);
   A field that is not 8-byte aligned or lies beyond 512 bytes does not compile. */
#define GC_TYPE(T, ...) GC__TYPE(T, GC_FIELDS(T, __VA_ARGS__), 0, 0, GC__NAMES(T, __VA_ARGS__))
/* GC_TYPE for fields that are tagged values. */
#define GC_TYPE_VALUES(T, ...) GC__TYPE(T, 0, GC_FIELDS(T, __VA_ARGS__), 0, GC__NAMES(T, __VA_ARGS__))
/* A type of fixed size without references. */
#define GC_TYPE_LEAF(T) GC__TYPE(T, 0, 0, 0, GC__NO_NAMES)
/* GC_TYPE and GC_TYPE_LEAF with a finalizer (a static const gc_finalizer). */
#define GC_TYPE_FINALIZED(T, finalizer, ...) \
    GC__TYPE(T, GC_FIELDS(T, __VA_ARGS__), 0, &(finalizer), GC__NAMES(T, __VA_ARGS__))
#define GC_TYPE_LEAF_FINALIZED(T, finalizer) GC__TYPE(T, 0, 0, &(finalizer), GC__NO_NAMES)
/* A type of fixed size by clauses in any order; those of elements are for GC_TYPE_ARRAY_WITH only:
       GC_TYPE_WITH(pair, refs(first, second), values(tag), trace(pair_trace), finalizer(pair_end))
   refs(FIELD, ...)            fields that are references (at most 16 names in all, those of elements included)
   values(FIELD, ...)          fields that are tagged values
   elements(refs)              each element is a reference; elements(values): a tagged value
   element_refs(FIELD, ...)    fields of each element, a struct, that are references
   element_values(FIELD, ...)  the same that are tagged values
   trace(FUNCTION)             visits the slots that no other clause names
   finalizer(NAME)             a static const gc_finalizer
   flags(FLAGS)                GC_TYPE_FIXED
   The preprocessor reads these names, so the host must undefine any macro of its own that has such a name. */
#define GC_TYPE_WITH(T, ...) GC__TYPE_WITH(T, GC__BYTES(T), 0, struct gc__no_elements, __VA_ARGS__)

/* Types with elements: T starts with a gc_array (or a header and a size_t length) and ends in a flexible array member
   whose elements are references, tagged values, or neither. No other field of T holds a reference. Elements that are
   structs are declared by clauses. */
#define GC_TYPE_ARRAY(T, member) GC__TYPE_ARRAY(T, member, GC__WORD_SIZED(((T *)0)->member[0]), 0, 0)
#define GC_TYPE_ARRAY_VALUES(T, member) GC__TYPE_ARRAY(T, member, 0, GC__WORD_SIZED(((T *)0)->member[0]), 0)
#define GC_TYPE_ARRAY_LEAF(T, member) GC__TYPE_ARRAY(T, member, 0, 0, 0)
/* An array of characters, or of other small numbers, with room for one 0 more behind its elements. gc_new_array has it zeroed;
   who calls gc_new_array_raw writes it. */
#define GC_TYPE_STRING(T, member)                                                                              \
    {                                                                                                          \
#T, GC__FIXED(T, member) + sizeof(((T *)0)->member[0]), sizeof(((T *)0)->member[0]), 0, 0, 0, 0, 0, 0, \
            #member, {offsetof(T, member) }, 0                                                                 \
    }
/* A type with elements by clauses: GC_TYPE_ARRAY_WITH(closure, captured, refs(code), elements(values)). */
#define GC_TYPE_ARRAY_WITH(T, member, ...) \
    GC__TYPE_WITH(T, GC__FIXED(T, member), sizeof(((T *)0)->member[0]), __typeof__(((T *)0)->member[0]), __VA_ARGS__)
/* A type whose slots only its trace function knows. */
#define GC_TYPE_TRACED(T, trace) \
    { #T, GC__BYTES(T), 0, 0, 0, 0, 0, trace, 0, GC__NO_NAMES }
#define GC_TYPE_ARRAY_TRACED(T, member, trace) GC__TYPE_ARRAY(T, member, 0, 0, trace)

/* The mask of the named fields of T, for types that are declared by hand; masks combine by |. */
#define GC_FIELDS(T, ...) (GC__EACH(GC__FIELD_BIT, T, __VA_ARGS__) 0)

#define GC__TYPE(T, refs, values, finalizer, names) \
    { #T, GC__BYTES(T), 0, refs, values, 0, 0, 0, finalizer, names }
#define GC__TYPE_ARRAY(T, member, refs, values, trace) \
    { #T, GC__FIXED(T, member), sizeof(((T *)0)->member[0]), 0, 0, refs, values, trace, 0, GC__NO_NAMES }
#define GC__NAMES(T, ...) #__VA_ARGS__, {GC__EACH(GC__FIELD_OFFSET, T, __VA_ARGS__) }, 0
#define GC__NO_NAMES 0, {0}, 0

#define GC__TEXT_field_is_word \
    "GC_TYPE: a field is no single word. Name each element of an array, GC_TYPE(T, f[0], f[1]), or use GC_TYPE_TRACED"
#define GC__TEXT_field_is_aligned "GC_TYPE: a field is not at a multiple of 8 bytes. Do not pack the struct"
#define GC__TEXT_field_is_near "GC_TYPE: a field is beyond the first 512 bytes. Move it up, or use GC_TYPE_TRACED"
#define GC__TEXT_element_is_word \
    "GC_TYPE_ARRAY: elements are no single words. Use a clause, GC_TYPE_ARRAY_WITH(T, items, element_refs(f))"
#define GC__TEXT_clauses_are_few \
    "GC_TYPE_WITH: the clauses have more than 16 names, or two of them are of a kind that may occur once"
#define GC__TEXT_no_virtual_functions \
    "GC_TYPE: a type with virtual functions begins with a pointer to them, and not with its header"
GC__REQUIREMENT(field_is_word)
GC__REQUIREMENT(field_is_aligned)
GC__REQUIREMENT(field_is_near)
GC__REQUIREMENT(element_is_word)
GC__REQUIREMENT(clauses_are_few)
GC__REQUIREMENT(no_virtual_functions)

/* A C++ type with virtual functions begins with a pointer to them, and not with its header. */
#define GC__HAS_NO_VIRTUAL_FUNCTIONS(T) GC__REQUIRE(no_virtual_functions, !GC__IS_POLYMORPHIC(T))
#define GC__BYTES(T) (sizeof(T) * GC__HAS_NO_VIRTUAL_FUNCTIONS(T))
#define GC__FIXED(T, member) (offsetof(T, member) * GC__HAS_NO_VIRTUAL_FUNCTIONS(T))
#define GC__FIELD_OK(T, f)                                                                                           \
    (GC__REQUIRE(field_is_word, sizeof(((T *)0)->f) == 8) * GC__REQUIRE(field_is_aligned, offsetof(T, f) % 8 == 0) * \
     GC__REQUIRE(field_is_near, offsetof(T, f) < 512))
#define GC__FIELD_BIT(T, f) ((uint64_t)GC__FIELD_OK(T, f) << (offsetof(T, f) / 8 % 64)) |
#define GC__FIELD_OFFSET(T, f) offsetof(T, f),
#define GC__ELEMENT_OFFSET(E, f) GC_ELEMENT_FIELD | offsetof(E, f),
#define GC__EACH(m, T, ...) GC__COUNT(__VA_ARGS__)(m, T, __VA_ARGS__)
#define GC__COUNT(...)                                                                                           \
    GC__PICK(__VA_ARGS__, GC__E16, GC__E15, GC__E14, GC__E13, GC__E12, GC__E11, GC__E10, GC__E9, GC__E8, GC__E7, \
             GC__E6, GC__E5, GC__E4, GC__E3, GC__E2, GC__E1, 0)
#define GC__PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, x, ...) x
#define GC__E1(m, T, a) m(T, a)
#define GC__E2(m, T, a, ...) m(T, a) GC__E1(m, T, __VA_ARGS__)
#define GC__E3(m, T, a, ...) m(T, a) GC__E2(m, T, __VA_ARGS__)
#define GC__E4(m, T, a, ...) m(T, a) GC__E3(m, T, __VA_ARGS__)
#define GC__E5(m, T, a, ...) m(T, a) GC__E4(m, T, __VA_ARGS__)
#define GC__E6(m, T, a, ...) m(T, a) GC__E5(m, T, __VA_ARGS__)
#define GC__E7(m, T, a, ...) m(T, a) GC__E6(m, T, __VA_ARGS__)
#define GC__E8(m, T, a, ...) m(T, a) GC__E7(m, T, __VA_ARGS__)
#define GC__E9(m, T, a, ...) m(T, a) GC__E8(m, T, __VA_ARGS__)
#define GC__E10(m, T, a, ...) m(T, a) GC__E9(m, T, __VA_ARGS__)
#define GC__E11(m, T, a, ...) m(T, a) GC__E10(m, T, __VA_ARGS__)
#define GC__E12(m, T, a, ...) m(T, a) GC__E11(m, T, __VA_ARGS__)
#define GC__E13(m, T, a, ...) m(T, a) GC__E12(m, T, __VA_ARGS__)
#define GC__E14(m, T, a, ...) m(T, a) GC__E13(m, T, __VA_ARGS__)
#define GC__E15(m, T, a, ...) m(T, a) GC__E14(m, T, __VA_ARGS__)
#define GC__E16(m, T, a, ...) m(T, a) GC__E15(m, T, __VA_ARGS__)

/* Clauses. A clause `kind(arguments)` is a row of columns, each in parentheses: the terms of the masks refs, values,
   element_refs and element_values; trace function; finalizer; names; their offsets; the clause's weight: 1 for each name,
   of which there may be 16, or 1 in a hexadecimal digit of its own for a kind that may occur once; and flags. An
   initializer is made column by column. */
#define GC__TYPE_WITH(T, bytes, element_bytes, E, ...)                                                    \
    {                                                                                                     \
#T, bytes *GC__WEIGHED(GC__CLAUSES(GC__WEIGHT, T, E, __VA_ARGS__) 0), element_bytes,              \
            (GC__CLAUSES(GC__REFS, T, E, __VA_ARGS__) 0), (GC__CLAUSES(GC__VALUES, T, E, __VA_ARGS__) 0), \
            (GC__CLAUSES(GC__ELEMENT_REFS, T, E, __VA_ARGS__) 0),                                         \
            (GC__CLAUSES(GC__ELEMENT_VALUES, T, E, __VA_ARGS__) 0),                                       \
            GC__FIRST(GC__CLAUSES(GC__TRACE, T, E, __VA_ARGS__) 0, 0),                                    \
            GC__FIRST(GC__CLAUSES(GC__FINALIZER, T, E, __VA_ARGS__)                                       \
                          GC__FINALIZER_BY(GC__CLAUSES(GC__FLAGS, T, E, __VA_ARGS__) 0),                  \
                      0),                                                                                 \
            "" GC__CLAUSES(GC__TEXT_OF, T, E, __VA_ARGS__),                                               \
            {GC__CLAUSES(GC__OFFSETS, T, E, __VA_ARGS__) 0 }, GC__CLAUSES(GC__FLAGS, T, E, __VA_ARGS__) 0 \
    }
#define GC__FINALIZER_BY(flags) ((flags) ? &gc_no_finalizer : 0)
#define GC__WEIGHED(weight) GC__REQUIRE(clauses_are_few, ((weight)&0xFF) <= 16 && !((weight)&0xEEEE00))
#define GC__FIRST(...) GC__FIRST2(__VA_ARGS__)
#define GC__FIRST2(a, ...) a

#define GC__ROW_refs(T, E, ...)                                                         \
    (GC__EACH(GC__FIELD_BIT, T, __VA_ARGS__)), (), (), (), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__FIELD_OFFSET, T, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, T, __VA_ARGS__)), ()
#define GC__ROW_values(T, E, ...)                                                       \
    (), (GC__EACH(GC__FIELD_BIT, T, __VA_ARGS__)), (), (), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__FIELD_OFFSET, T, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, T, __VA_ARGS__)), ()
#define GC__ROW_elements(T, E, what) GC__ROW_elements_##what(E)
#define GC__ROW_elements_refs(E) (), (), (GC__WORD_SIZED(E) |), (), (), (), (), (), (0x10000 +), ()
#define GC__ROW_elements_values(E) (), (), (), (GC__WORD_SIZED(E) |), (), (), (), (), (0x10000 +), ()
#define GC__ROW_element_refs(T, E, ...)                                                 \
    (), (), (GC__EACH(GC__FIELD_BIT, E, __VA_ARGS__)), (), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__ELEMENT_OFFSET, E, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, E, __VA_ARGS__)), ()
#define GC__ROW_element_values(T, E, ...)                                               \
    (), (), (), (GC__EACH(GC__FIELD_BIT, E, __VA_ARGS__)), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__ELEMENT_OFFSET, E, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, E, __VA_ARGS__)), ()
#define GC__ROW_trace(T, E, function) (), (), (), (), (function, ), (), (), (), (0x100 +), ()
#define GC__ROW_finalizer(T, E, name) (), (), (), (), (), (&(name), ), (), (), (0x1000 +), ()
#define GC__ROW_flags(T, E, flags) (), (), (), (), (), (), (), (), (0x100000 +), ((flags) |)
#define GC__FIELD_ONE(T, f) 1 +
#define GC__WORD_SIZED(E) (uint64_t) GC__REQUIRE(element_is_word, sizeof(E) == 8)

#define GC__CLAUSE_refs(...) refs, __VA_ARGS__
#define GC__CLAUSE_values(...) values, __VA_ARGS__
#define GC__CLAUSE_elements(...) elements, __VA_ARGS__
#define GC__CLAUSE_element_refs(...) element_refs, __VA_ARGS__
#define GC__CLAUSE_element_values(...) element_values, __VA_ARGS__
#define GC__CLAUSE_trace(...) trace, __VA_ARGS__
#define GC__CLAUSE_finalizer(...) finalizer, __VA_ARGS__
#define GC__CLAUSE_flags(...) flags, __VA_ARGS__
#define GC__CLAUSE(column, T, E, clause) GC__ROUTE(column, T, E, GC__CLAUSE_##clause)
#define GC__ROUTE(column, T, E, ...) GC__ROUTE2(column, T, E, __VA_ARGS__)
#define GC__ROUTE2(column, T, E, kind, ...) GC__COLUMN(column, GC__ROW_##kind(T, E, __VA_ARGS__), GC__NO_ROW)
/* Follows each row: an unknown clause, which has no row, takes its columns from here. */
#define GC__NO_ROW                                                                                                \
    (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), \
        (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause)
#define GC__COLUMN(column, ...) column(__VA_ARGS__)
#define GC__UNWRAP(...) __VA_ARGS__
#define GC__REFS(a, ...) GC__UNWRAP a
#define GC__VALUES(a, b, ...) GC__UNWRAP b
#define GC__ELEMENT_REFS(a, b, c, ...) GC__UNWRAP c
#define GC__ELEMENT_VALUES(a, b, c, d, ...) GC__UNWRAP d
#define GC__TRACE(a, b, c, d, e, ...) GC__UNWRAP e
#define GC__FINALIZER(a, b, c, d, e, f, ...) GC__UNWRAP f
#define GC__TEXT_OF(a, b, c, d, e, f, g, ...) GC__UNWRAP g
#define GC__OFFSETS(a, b, c, d, e, f, g, h, ...) GC__UNWRAP h
#define GC__WEIGHT(a, b, c, d, e, f, g, h, i, ...) GC__UNWRAP i
#define GC__FLAGS(a, b, c, d, e, f, g, h, i, j, ...) GC__UNWRAP j

/* Not GC__EACH: a clause uses that for its fields, and a macro is not expanded within itself. */
#define GC__CLAUSES(column, T, E, ...)                                                                            \
    GC__PICK(__VA_ARGS__, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C6, \
             GC__C5, GC__C4, GC__C3, GC__C2, GC__C1, 0)                                                           \
    (column, T, E, __VA_ARGS__)
#define GC__C1(column, T, E, a) GC__CLAUSE(column, T, E, a)
#define GC__C2(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C1(column, T, E, __VA_ARGS__)
#define GC__C3(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C2(column, T, E, __VA_ARGS__)
#define GC__C4(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C3(column, T, E, __VA_ARGS__)
#define GC__C5(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C4(column, T, E, __VA_ARGS__)
#define GC__C6(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C5(column, T, E, __VA_ARGS__)
/* Heaps: options, creation, statistics. */

/* The phases of a collection: what its time is divided among, and what readers in other processes see of it. */

/* Two shipped headers have this part, and a program may include both. */
#ifndef GC_PHASES

/* In their order; those from ROOTS to FINALIZERS may take turns. Until PLAN nothing has changed. From there to SWEEP roots
   and fields may be old or new, and objects in condemned regions cannot be listed. X(NAME, text). */
#define GC_PHASES(X)                                                                   \
    X(GC_PHASE_OPEN, "open")             /* the start hook, verification */            \
    X(GC_PHASE_GATHER, "gather roots")   /* asks the host for roots */                 \
    X(GC_PHASE_PLAN, "plan")             /* chooses regions to move, mark or ignore */ \
    X(GC_PHASE_ROOTS, "mark roots")      /* traces from roots */                       \
    X(GC_PHASE_CARDS, "cards")           /* traces from dirty cards */                 \
    X(GC_PHASE_REMARK, "remark")         /* what concurrent marking has left */        \
    X(GC_PHASE_AMBIGUOUS, "ambiguous")   /* traces from conservative words */          \
    X(GC_PHASE_HANDLES, "handles")       /* dependent and weak handles */              \
    X(GC_PHASE_FINALIZERS, "finalizers") /* queues finalizers, and traces from them */ \
    X(GC_PHASE_SWEEP, "sweep")           /* frees regions */                           \
    X(GC_PHASE_CLOSE, "close")           /* pacing, verification, statistics */

typedef enum gc_phase {
#define GC__PHASE_NAME(name, text) name,
    GC_PHASES(GC__PHASE_NAME)
#undef GC__PHASE_NAME
        GC_PHASE_COUNT,
    GC_PHASE_NONE = GC_PHASE_COUNT /* no collection runs */
} gc_phase;

#endif

#define GC_GENERATIONS 3

/* Why a collection runs. */
#define GC_REASONS(X)                                   \
    X(GC_REASON_NURSERY, "nursery budget spent")        \
    X(GC_REASON_GROWTH, "heap grew past its threshold") \
    X(GC_REASON_LIMIT, "heap limit reached")            \
    X(GC_REASON_INDUCED, "gc_collect")                  \
    X(GC_REASON_STRESS, "stress")

typedef enum gc_reason {
#define GC__REASON_NAME(name, text) name,
    GC_REASONS(GC__REASON_NAME)
#undef GC__REASON_NAME
} gc_reason;

/* The text of a reason; static storage. [any thread; never collects; cannot fail] */
GC_API const char *gc_reason_text(gc_reason reason);

/* One collection, as its start and end hooks see it. */
typedef struct gc_collection {
    uint64_t number; /* 1 for the heap's first */
    int generation;  /* the oldest condemned generation */
    gc_reason reason;
    bool compacting;
    bool left_out; /* at the end: the lists of roots found no memory, so nothing has changed and nothing is counted */
    uint64_t pause_ns;         /* until the end hook, the time to stop included; 0 at the start */
    size_t promoted_bytes;     /* survivors, moved or not; 0 at the start */
    size_t moved_bytes;        /* the part of them that was copied; 0 at the start */
    size_t conservative_bytes; /* the part of them that conservative words alone keep; 0 at the start */
} gc_collection;

typedef enum gc_stress {
    GC_STRESS_OFF,
    GC_STRESS_ALLOCATION, /* collect at every allocation */
    GC_STRESS_SAFEPOINT,  /* collect at every gc_safepoint and slow path of an allocation, and at random instructions of
                             compiled code that may be interrupted (gc_stackmap.h) */
    GC_STRESS_NTH,        /* collect at every stress_interval-th allocation */
    GC_STRESS_STACK,      /* collect at the first allocation from each distinct native call stack; when 10,000 allocations
                             have shown no new one, one in 16 is looked at until there is one */
    GC_STRESS_LOCATION    /* collect at the first allocation from each location of the host's program (gc_options.location) */
} gc_stress;

enum { GC_VERIFY_BEFORE = 1, GC_VERIFY_AFTER = 2 }; /* gc_options.verify */

/* Whether a full collection's marking runs beside mutators. */
typedef enum gc_concurrent {
    GC_CONCURRENT_DEFAULT, /* on in heaps with a pause_goal_us */
    GC_CONCURRENT_ON,
    GC_CONCURRENT_OFF
} gc_concurrent;

struct gc_barrier_change;
struct gc__handle;

/* Implemented by the host: address space and memory for objects and the tables beside them, instead of mmap and its kin.
   Sizes and addresses are multiples of the page size. A refusal is handled as that of the system: a smaller arena, another
   collection, GC_ERROR_RESERVE or GC_ERROR_MEMORY. They are called under a lock of gc.h, by any thread, and must call nothing
   of it. Small records and lists (gc_stats.metadata_bytes) are still malloc's and the system's. */
typedef struct gc_memory {
    /* Reserves address space that starts at a multiple of `alignment`, a power of two: GC_REGION_BYTES, or 2 MiB for tables.
       If `readable`, all of it reads as zero from the start; otherwise nothing is touched before it was committed. First
       GC_ARENA_BYTES are asked for, then half of that, and so on. NULL: refused. */
    void *(*reserve)(void *context, size_t bytes, size_t alignment, bool readable);
    /* Makes reserved memory readable and writable. What was not committed before is zero, what was stays as it is. Stress
       takes access from such pages for a while (mprotect). False: refused. */
    bool (*commit)(void *context, void *address, size_t bytes);
    /* The contents of committed memory are needed no more: the memory may be given back, but the range stays committed, and
       reads as zero. False: it is as it was. 0: never. */
    bool (*discard)(void *context, void *address, size_t bytes);
    /* Ends what one call of `reserve` began, when the last heap is destroyed. */
    void (*release)(void *context, void *address, size_t bytes);
    void *context;
} gc_memory;

/* Options of a heap. All zero is the default; each field says what 0 means. */
typedef struct gc_options {
    size_t heap_bytes_max;   /* memory the heap may hold, tables and handles included; at least 4 regions. From 8 on a
                                   region and a 256th of it is kept for evacuation while that helps, unless non_moving;
                                   a 32nd if `concurrent`. 0: three quarters of what the container (control group) lets
                                   the process have, if any; SIZE_MAX: no limit */
    size_t heap_bytes_soft;  /* as it comes near this, the heap is collected more often; it may hold more. 0: none */
    /* An allocation that meets heap_bytes_max also fails where full collections have taken at least this part of the last
       second or longer, each making room for less than a 64th of the limit, while more than seven eighths of what objects can
       have live: 60, say, for a program that would rather end than crawl. The allocations after it go on, until that is so
       once more. 0: it goes on as long as there is any room */
    unsigned collecting_percent_max;
    size_t nursery_bytes;    /* allocation between young collections; 0: adapting to survival and to what lives */
    unsigned growth_percent; /* how much more than what lives the heap may hold, besides a nursery; 0: 100 */
    unsigned pause_goal_us;  /* what an adaptive nursery keeps young pauses under; 0: 5000. See also `concurrent` */
    bool non_moving;         /* objects never move; survivors stay in place with holes between them */
    bool non_generational;   /* the host has no write barriers: every collection is a full one */
    bool conservative_stack; /* also scan the native stack and registers of attached threads, pinning what they hold */
    /* Threads that work together in a collection, the one that collects included: 1 to 32, or 0 for as many as there are
       processors for the process (by its affinity and the quota of its container, which it asks for again twice a second), at
       most 16. The others are started when a collection can use them (with 0 and no goal for pauses, one that should take 30 ms),
       and end with the heap. No more work at a time than there are processors. With a model (GC_MODEL_BYTES) there is one. */
    unsigned collector_threads;
    bool
        parallel_trace_functions; /* trace functions may be called by several collector threads, for several objects, at
                                      once; they must not fork. Otherwise only the thread that collects calls them */
    /* GC_CONCURRENT_ON: objects of generation 2 are marked by a thread of the heap's while mutators run, so that no pause
       grows with their number. A full collection that is due begins that, and another one, short, ends it later; it copies
       only what the goal for pauses allows. That takes room: with a limit of less than 1.5 times what lives, full collections
       stop the program. Best with the barrier rank_sum: with others, and with code by gc_barrier_emit, whose host must set
       barrier_changed, young collections take longer; barriers with the filters LOW, RANGE, REGION and OLD do not do. A warning
       says what stands against it; it is off until that changes. If nobody allocates for a tenth of a second, a thread that comes
       to a safe point ends it; if all are in preemptive mode, and `suspend` is 0, that thread of the heap's does, and makes the
       collection's callbacks. By default it is on in heaps with a pause_goal_us, unless something stands against it or
       collector_threads is 1. */
    gc_concurrent concurrent;
    /* Trace functions may be called by that thread, while mutators change their objects: what they read of these besides slots
       must be atomic, and what they follow must stay until the next collection. They must take no lock that is held at a safe
       point. Otherwise, and if they report weak entries or slots outside of their objects, they are called in the last pause. */
    bool concurrent_trace_functions;
    bool abort_when_exhausted;    /* an allocation that fails calls the fatal hook, instead of returning NULL */
    bool keep_memory;             /* never return free memory to the system before gc_heap_destroy */
    /* Memory from the host. All heaps that exist at the same time have the same one; it must stay as long as they. 0: from
       the system. */
    const gc_memory *memory;

    /* Callbacks of a collection, and trace functions, must return: an exception or longjmp that leaves one ends the program
       with a message, at once or when it next calls gc_collect or ends a thread or the heap; until then nothing can be
       allocated. */
    /* All callbacks but out_of_memory may run while other threads are stopped and locks of gc.h are held. So they must not
       wait for a lock that another thread may hold while it calls gc.h, in whichever mode. */

    /* Implemented by the host. Reports every root of the host's own that is not a frame, a global slot or a handle, by
       gc_visit(visitor, slot, count, flags). Called for each attached thread, or once with NULL if there is none: report
       roots that belong to no thread in any one of these calls. Runs with the world stopped; must not allocate or collect.
       0: none. */
    void (*scan_roots)(void *host, gc_thread *thread, gc_visitor *visitor);
    /* Implemented by a host that stops threads by itself. suspend returns when every other thread that is attached to the
       heap and in cooperative mode (gc_thread_mode) is stopped at a safe point (a thread that waits within gc.h is, too);
       restart lets them go on. 0: gc.h stops them by gc_safepoint. */
    void (*suspend)(void *host);
    void (*restart)(void *host);
    void (*collection_start)(void *host, const gc_collection *collection); /* must not allocate; 0: none */
    void (*collection_end)(void *host, const gc_collection *collection);   /* must not allocate; 0: none */
    /* Called in a collection when it is known what survives, but before anything is freed: gc_collection_find then answers what
       became of an object. For tables of the host's own whose entries go with their objects. Must not allocate; 0: none. */
    void (*collection_traced)(void *host, const gc_collection *collection);
    /* Called when an allocation of `bytes` has failed, before that returns NULL. Returns true to have it tried once more,
       after the hook has dropped references, say. It may also be left by longjmp or an exception: the allocation has not been
       then, and nothing is lost; gc_frames_restore drops the frames of GC_ROOTS that longjmp skips. Must not allocate from this
       heap, nor end it. 0: none. */
    bool (*out_of_memory)(void *host, size_t bytes, const char *message);
    /* For hosts that compile their own write barriers: called when what barriers read has changed (gc_barrier_change), and
       first from within gc_heap_create. It runs under a lock of gc.h, so it must call nothing of gc.h but gc_barrier_emit
       and gc_barrier_patch, or it waits forever. 0: none. */
    void (*barrier_changed)(void *host, const struct gc_barrier_change *change);
    /* Whether a ref-counted handle (gc_handles.h) keeps its object now; word is the handle's host word. Called during
       collections, for handles to objects that may be condemned. Must call nothing of gc.h. 0: no handle keeps its
       object. */
    bool (*handle_is_held)(void *host, struct gc__handle *handle, void *object, void *word);
    /* Where the thread is in the host's program, for stress: the address of an instruction of its bytecode, say; 0: nowhere.
       If `text` is not NULL, also describes the place there, "script.x:12 in f", for reports of what moved there, and of what
       is used there. Called at allocations, in collections, and in the handler of a fault: must not allocate, nor lock. 0:
       unknown; then there is no GC_STRESS_LOCATION. */
    uintptr_t (*location)(void *host, gc_thread *thread, char *text, size_t bytes);
    /* Called when a collection has queued finalizers: the host should call gc_finalizers_run soon. Runs in the collection,
       so it must not allocate. 0: none; a heap with a finalizer thread needs none. */
    void (*finalizers_ready)(void *host);
    unsigned stop_patience_ms;   /* if a collection waits longer for a thread, a warning names the thread; 0: 10,000 */
    bool skip_finalizers_at_end; /* gc_heap_destroy runs critical finalizers only */
    /* A finalizer that runs for longer than this is reported as a warning, and gc_heap_destroy does not wait longer for it.
       0: 10,000. */
    unsigned finalizer_patience_ms;
    void (*warning)(void *host, const char *message); /* may run in a collection: must not allocate; 0: to stderr */
    void (*fatal)(void *host, const char *message);   /* the process aborts if it returns; 0: to stderr */
    void *host;                                       /* handed to all of these */

    unsigned verify;          /* GC_VERIFY_BEFORE | GC_VERIFY_AFTER: walk and check the whole heap; 0: do not */
    bool checkmark;           /* after each trace, check it by a second, simple mark */
    gc_stress stress;         /* 0: off. Environment GC_STRESS=allocation|safepoint|stack|location|N overrides */
    unsigned stress_interval; /* for GC_STRESS_NTH; 0: 100 */
    bool test_scarce_memory;  /* for tests: the mark stack holds 64 entries, so that it overflows */
    /* For tests: 1: all collector threads trace in each collection, however small; above that: one at a time, in an order
       that follows from the number; 0: off. */
    unsigned test_collectors;
    bool test_wholesale;          /* for tests: every other nursery may be kept as it is */
    bool test_candidates;          /* for tests: any region may be evacuated at the end of a concurrent marking */
    unsigned test_marker_steps; /* for tests: concurrent marking without a thread, so many steps at a time; 0: off */
} gc_options;

/* Creates a heap; options may be NULL for all defaults. The caller owns it and ends it by gc_heap_destroy. Returns NULL on
   failure: gc_last_message() then names the limit and the remedy. Unless GC_ENVIRONMENT is 0, the environment overrides
   options: GC_STRESS (see there), GC_VERIFY=1 (before and after), GC_CHECKMARK=1, GC_COLLECTOR_THREADS=N,
   GC_CONCURRENT=0|1. GC_VERBOSE=pauses has each heap call gc_heap_print_pauses when it is destroyed. [any thread; never
   collects; NULL: GC_ERROR_OPTION, GC_ERROR_RESERVE, GC_ERROR_MEMORY] */
GC_API gc_heap *gc_heap_create(const gc_options *options);

/* Runs the finalizers of all objects that are left (but see skip_finalizers_at_end), then frees the heap, its objects,
   handles and attached threads. No other thread may be using it: each has detached, or is in preemptive mode, which is
   asserted if GC_DEBUG >= 1. After it has returned gc.h calls no callback, trace function or finalizer for this heap. If a
   finalizer outlasts finalizer_patience_ms, the heap's memory stays for it (its allocations fail), and the library that has
   this gc.h must stay loaded; otherwise that may be unloaded once its heaps are destroyed. [any thread, the last of the
   heap; may collect; cannot fail] */
GC_API void gc_heap_destroy(gc_heap *heap);

/* Changes heap_bytes_max; 0 means what it means there, by the container's limit at the time of the call. A heap that holds
   more is collected and compacted first. If what lives needs more, that fails with GC_ERROR_HEAP_FULL, and the former
   limit stays. [cooperative; may collect; GC_ERROR_HEAP_FULL, GC_ERROR_OPTION, GC_ERROR_MISUSE] */
GC_API gc_result gc_heap_set_bytes_max(gc_heap *heap, size_t bytes);
/* Changes heap_bytes_soft; 0: none. [cooperative; never collects; GC_ERROR_MISUSE] */
GC_API gc_result gc_heap_set_bytes_soft(gc_heap *heap, size_t bytes);
/* Changes collecting_percent_max; 0: the heap goes on as long as there is any room. The time that collections have taken before
   the call counts. [cooperative; may wait; GC_ERROR_OPTION: above 100, GC_ERROR_MISUSE] */
GC_API gc_result gc_heap_set_collecting_percent_max(gc_heap *heap, unsigned percent);

/* The host pointer of the heap's options. [any thread; never collects; cannot fail] */
GC_API void *gc_heap_host(const gc_heap *heap);

#define GC_PAUSE_BUCKETS 32
#define GC_WINDOWS 3 /* gc_stats.utilisation */

typedef struct gc_stats {
    uint64_t collections[GC_GENERATIONS]; /* by oldest condemned generation */
    uint64_t collections_compacting;
    uint64_t collections_moving; /* those that moved an object: gc_heap_moves */
    uint64_t pause_total_ns, pause_max_ns, pause_last_ns; /* the time to stop included: gc_heap_pauses */
    uint64_t pauses[GC_PAUSE_BUCKETS];       /* bucket i counts pauses of [2^i, 2^(i+1)) ns, the last one longer ones, too */
    uint64_t allocated_bytes;                /* by mutators since creation */
    uint64_t promoted_bytes;                 /* survivors of all collections, by age */
    uint64_t moved_bytes;                    /* the part of them that was copied */
    size_t survived_bytes;                   /* by the last collection */
    size_t condemned_bytes;                  /* by the last collection */
    size_t live_bytes;                       /* objects in use as far as known: exact just after a full collection; after
                                                one that ended a marking, with what has died since that began */
    size_t generation_bytes[GC_GENERATIONS]; /* the same, for each generation */
    size_t used_bytes;                       /* of the memory for objects, holes included */
    size_t committed_bytes;                  /* memory that the heap holds, free regions included */
    size_t committed_bytes_peak;
    size_t large_bytes;         /* in large objects */
    size_t external_bytes;      /* gc_external_add, gc_heap_external_add */
    size_t table_bytes;         /* card table, mark bits and region table for what is committed */
    size_t metadata_bytes;        /* handles, lists of finalizers, the collector's lists */
    size_t heap_bytes_max;      /* the limit in force; 0: none */
    size_t fragmentation_bytes; /* used_bytes - live_bytes */
    size_t regions;             /* those that hold objects */
    size_t nursery_bytes;       /* the current budget */
    uint64_t stops;             /* of several threads, for collections and walks */
    uint64_t stop_total_ns;     /* from asking the threads until the last one had stopped */
    uint64_t stop_max_ns;       /* the longest that one thread has taken */
    char stop_slowest[32];      /* its name */
    uint64_t mark_stack_overflows;
    /* What conservative words alone keep, in condemned generations: objects that such words found and nothing else reached,
       and (in bytes) also what only those objects lead to. An upper bound of what is kept falsely, for such a word may be a
       reference after all. */
    size_t conservative_objects;       /* found by the last collection */
    size_t conservative_bytes;         /* kept by the last collection */
    uint64_t conservative_total_bytes; /* the sum over all collections */
    uint64_t evacuation_failures;      /* objects that stayed in place because there was no room for a copy */
    uint64_t phase_total_ns[GC_PHASE_COUNT]; /* the part of the pauses that each phase took */
    double utilisation[GC_WINDOWS]; /* the least share of any 1, 10 and 100 ms that pauses left to the program (MMU), at most
                                       0.032 too low; 1: all. Since gc_heap_pauses has forgotten, if it has */
    /* Of marking beside mutators (gc_options.concurrent). */
    uint64_t concurrent_cycles;      /* that were begun */
    uint64_t concurrent_finished;    /* full collections that ended one: the others stopped the world for all of their marking */
    uint64_t concurrent_lost;        /* of those, how many came before all was marked, because the heap had grown too far */
    uint64_t concurrent_marked_bytes; /* that the marker had found alive before the last pauses */
    uint64_t concurrent_waited;      /* objects whose trace functions were called in a last pause instead */
    uint64_t concurrent_cpu_ns;      /* CPU time of the marker's thread */
    uint64_t remembered_slots;       /* of old objects, that young collections looked at instead of cards */
} gc_stats;

/* Fills *stats. Where several threads are attached, it is a safe point. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_stats(gc_heap *heap, gc_stats *stats);
/* The pause that `fraction` (0..1) of all pauses did not exceed, in ns: the upper end of its bucket. [any thread; never
   collects; cannot fail] */
GC_API uint64_t gc_stats_pause_percentile(const gc_stats *stats, double fraction);
/* A readable page of gc_heap_stats, and a safe point likewise. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_print_stats(gc_heap *heap, FILE *file);
/* A picture of where the heap's memory goes, in text: live objects, holes, nursery, large objects' waste, free regions, tables,
   handles; and its regions, one character each. It is a safe point, as gc_heap_print_stats is. [cooperative; may wait; cannot
   fail] */
GC_API void gc_heap_print_memory(gc_heap *heap, FILE *file);
/* Pauses: the longest ones, where their time went, and why. */


#define GC_PAUSES_KEPT 10

/* Where a concurrent cycle has given up. Its final mark then comes at once, and traces what is left while the program is stopped;
   or, where that is said, a full collection takes the place of the cycle. X(NAME, text). */
#define GC_DEGENERATIONS(X)                                                                                     \
    X(GC_DEGENERATED_NOT, "")                                                                                   \
    X(GC_DEGENERATED_GROWTH, "the heap had grown to its bound before all was marked")                           \
    X(GC_DEGENERATED_LIMIT, "an allocation met the limit before all was marked")                                \
    X(GC_DEGENERATED_REQUEST, "its end was asked for before all was marked")                                    \
    X(GC_DEGENERATED_THREAD, "there was no thread to mark")                                                     \
    X(GC_DEGENERATED_BARRIER, "the barrier was switched, so stores were missed: a full collection")             \
    X(GC_DEGENERATED_HOLES, "the heap held much more than its goal, most of the excess in holes: a full collection")

typedef enum gc_degenerated {
#define GC__DEGENERATED_NAME(name, text) name,
    GC_DEGENERATIONS(GC__DEGENERATED_NAME)
#undef GC__DEGENERATED_NAME
} gc_degenerated;

/* A pause for a collection: where its time went, and what there was to do. */
typedef struct gc_pause {
    uint64_t number;   /* of the collection */
    uint64_t began_ns; /* since the heap was created */
    uint64_t ns;       /* its length, all of the following but cpu_ns included; the rest are hooks at its end */
    uint64_t help_ns;  /* first, that thread has waited for the marking beside it, since it allocates faster than is marked */
    uint64_t stop_ns;  /* until all threads had stopped */
    uint64_t slowest_ns;               /* until the last of them had, if gc.h has stopped them */
    uint64_t marker_ns;                /* until the thread that marks beside the program rested */
    uint64_t phase_ns[GC_PHASE_COUNT]; /* in each phase of the collection */
    uint64_t wake_ns; /* until the thread that marks was woken */
    uint64_t cpu_ns;  /* CPU time of the thread that collects, in all phases; 0: not known. Less than theirs: it did not run */
    char slowest[32];                  /* the name of the thread that was the last to stop; "": none */
    gc_reason reason;
    int generation;          /* the oldest condemned one */
    bool compacting;         /* everything that could move was to be moved */
    bool concurrent;         /* it has ended a marking beside the program */
    bool concurrent_begun;   /* it has begun one */
    gc_degenerated degenerated; /* why it has ended a marking too early, or stopped the program for one */
    size_t roots;            /* slots that were roots */
    size_t pins;             /* roots that pin their objects, conservative words among them */
    size_t dirty_cards;      /* of generations that were not condemned */
    size_t remembered_slots; /* of generation 2, instead of more cards */
    size_t condemned_bytes;  /* of objects that might have died */
    size_t survived_bytes;   /* the part that has not */
    size_t moved_bytes;      /* the part of that which was copied */
    size_t regions;          /* condemned */
    size_t trace_calls;      /* of trace functions */
    size_t ambiguous;         /* objects that only conservative words have found */
    size_t finalizers;       /* that have become due */
    size_t finalizers_left;  /* of objects that are most likely dead, which are looked at after the pause */
    size_t left_objects;     /* that the marker, or this collection, had found and nobody scanned when the marking ended */
    size_t waiting_objects;  /* whose trace functions waited for the end of the marking */
    size_t stored_objects;   /* that barriers (of several collector threads, they, too) have noted since the collection before */
    size_t held_bytes;       /* in use when it began, holes included, and off the heap */
    size_t goal_bytes;       /* what should be in use at most */
} gc_pause;

/* Copies the longest pauses of the heap, at most GC_PAUSES_KEPT of them, to `longest`, which has room for `count`: the
   longest first. Returns how many. forget: they are not told again, and gc_stats.utilisation begins anew, so that regular
   calls tell of the time between: ask for the statistics first. A safe point, as gc_heap_stats is. [cooperative; may wait;
   cannot fail] */
GC_API size_t gc_heap_pauses(gc_heap *heap, gc_pause *longest, size_t count, bool forget);
/* Writes why the pause was as long as it was, in words: "12,044 dirty cards, 3.1 MiB survived". The text ends with 0 if
   `bytes` is not 0. Returns its length, as snprintf does. [any thread; never collects; cannot fail] */
GC_API size_t gc_pause_explain(const gc_pause *pause, char *text, size_t bytes);
/* A readable report: the histogram of pauses, the least share of any 1, 10 and 100 ms that they left to the program, and the
   longest ones with their phases and reasons. It is a safe point, as gc_heap_print_stats is. [cooperative; may wait; cannot
   fail] */
GC_API void gc_heap_print_pauses(gc_heap *heap, FILE *file);
/* Root slots: flags, visiting, globals. */


/* Flags of a slot. The first three have the CLR's values. */
enum {
    GC_SLOT_INTERIOR = 1,     /* the slot may point anywhere into an object, or to its end - 1 */
    GC_SLOT_PINNED = 2,       /* the object stays where it is for this collection */
    GC_SLOT_CONSERVATIVE = 4, /* the word may be no reference at all: implies both of the above; never written */
    GC_SLOT_VALUE = 8,        /* the slot holds a tagged value (GC_VALUE_IS_REF), not a plain pointer */
    GC_SLOT_OWNED = 64,       /* of a trace function: the slots may lie in memory of the host's that the object owns */
    GC__SLOT_CONTIGUOUS = 16, /* for a frame: `slots` is the address of the first of `count` variables */
    GC_SLOT_WEAK = 128,       /* of a weak table (gc_visit_weak): only visitors of gc_object_visit see this one */
    GC_SLOT_WEAK_LONG = 256,  /* of weak entries: not cleared before the object is gone for good */
    GC_SLOT_ACTIVE = 1024,    /* of roots: each collection looks at all that the object owns (GC_SLOT_OWNED) */
    GC__SLOT_DERIVED = 32,    /* `slot` is the address of a gc__derived */
    GC__SLOT_ENTRIES = 512,   /* of a gc_weak_entries */
    GC__SLOT_STACK = 2048     /* of a gc__stack_part */
};

/* Reports `count` contiguous slots starting at `slot`, 8-byte aligned. Called by scan_roots and by trace functions; a
   trace function passes only GC_SLOT_VALUE and GC_SLOT_OWNED as flags, and without the latter only slots within its object
   (gc_type.trace). The collector may rewrite the slots. [trace functions, scan_roots; never collects; cannot fail] */
static inline void gc_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    visitor->visit(visitor, slot, count, flags);
}

typedef struct gc__derived {
    void *slot, *base;
} gc__derived;

typedef struct gc__stack_part {
    struct gc_value_stack *stack;
    void *frame;
} gc__stack_part;

/* Reports a slot that holds an address computed from the object to which the slot `base` refers, even one outside of it: it
   keeps its distance from the object. `base` must be reported as well, by gc_visit, in any order. While `base` holds null the
   slot stays as it is. [scan_roots; never collects; cannot fail] */
static inline void gc_visit_derived(gc_visitor *visitor, void *slot, void *base) {
    gc__derived pair = {slot, base};
    visitor->visit(visitor, &pair, 1, GC__SLOT_DERIVED);
}

/* Makes `count` slots outside the heap roots until gc_roots_remove of the same address. The memory stays the caller's.
   A count of 0 is allowed, also at NULL. Fails with GC_ERROR_MEMORY, and with GC_ERROR_MISUSE if the slots are not
   8-byte aligned or would reach beyond the end of memory. [cooperative; never collects; GC_ERROR_MEMORY, GC_ERROR_MISUSE] */
GC_API gc_result gc_roots_add(gc_heap *heap, void *slots, size_t count, unsigned flags);
/* Ends what gc_roots_add of the same address began; GC_ERROR_MISUSE if nothing did. [cooperative; never collects;
   GC_ERROR_MISUSE] */
GC_API gc_result gc_roots_remove(gc_heap *heap, void *slots);
/* Weak arrays and tables on the heap: entries that do not keep their objects alive, and are cleared by the collector.

   A trace function reports them by gc_visit_weak, each time anew, so a table may become weak, or cease to be, as it likes.
   For arrays of nothing but weak references, or of pairs, there are ready-made trace functions:
       static const gc_type names_type = GC_TYPE_ARRAY_TRACED(names, items, gc_trace_weak);
   Stores into weak slots have the write barrier as all others do: gc_store, or gc_store_in for a buffer outside the heap.
   Loads use gc_load_weak. In the words of gc_handles.h: weak slots are like weak handles, ephemerons like dependent ones. */


typedef enum gc_weak_kind {
    GC_WEAK_REFS,      /* each entry is one weak reference, the key */
    GC_WEAK_KEYS,      /* pairs of a weak key and a value that the table keeps alive */
    GC_WEAK_VALUES,    /* pairs of a key that the table keeps alive and a weak value */
    GC_WEAK_PAIRS,     /* pairs of two weak references; an entry ends with either */
    GC_WEAK_EPHEMERONS /* pairs of a weak key and a value that lives, as far as the table goes, as long as the key does */
} gc_weak_kind;

/* Entries of a table, all of one kind, at equal distances. A key or value that is no reference (null, an address outside the
   heap, a tagged number) never dies. */
typedef struct gc_weak_entries {
    void *keys;   /* the first entry's key */
    void *values; /* the first entry's value, if there are pairs */
    size_t count;
    size_t entry_bytes; /* from one entry to the next, a multiple of 8; 0: 8, or of pairs 16 */
    gc_weak_kind kind;
    unsigned flags;        /* GC_SLOT_VALUE, GC_SLOT_OWNED, GC_SLOT_WEAK_LONG */
    uintptr_t cleared_key; /* both words of a cleared entry: no references to objects of a heap; a tombstone, say */
    uintptr_t cleared_value;
    size_t *cleared_count; /* increased by the number of entries that a collection clears; NULL: nobody counts */
} gc_weak_entries;

/* Reports entries of a weak table. An entry whose weak part has died is cleared as a whole in the collection that finds it
   dead: before the dead object's finalizer runs, or with GC_SLOT_WEAK_LONG, and in ephemerons, when the object is gone for
   good. If there is no memory for a note of the entries, the collection treats them as strong. For gc_object_visit's visitors
   all are slots with the flag GC_SLOT_WEAK. scan_roots may report a table of the host's so, which every collection then looks
   at as a whole. [trace functions, scan_roots; never collects; cannot fail] */
static inline void gc_visit_weak(gc_visitor *visitor, const gc_weak_entries *entries) {
    gc_weak_entries given = *entries; /* which may be in the object, where slots are */
    visitor->visit(visitor, &given, 1, GC__SLOT_ENTRIES);
}

#if !GC_HAS_MODEL
/* Trace functions of types with elements: of one weak reference each, and of ephemerons, which are two references each, the
   key first. Cleared elements are null. [as gc_type.trace; never collects; cannot fail] */
GC_API void gc_trace_weak(void *object, gc_visitor *visitor);
GC_API void gc_trace_ephemerons(void *object, gc_visitor *visitor);
#endif

/* The object to which a weak slot refers: null, or what the slot was cleared to, once that is dead. One load. Weak slots, and
   values of ephemerons, are read in no other way. [cooperative; never collects; cannot fail] */
static inline void *gc_load_weak(gc_thread *thread, const void *slot) {
    (void)thread;
    return (void *)*(const gc_word *)slot;
}
/* The same for a tagged value. [cooperative; never collects; cannot fail] */
static inline uintptr_t gc_load_weak_value(gc_thread *thread, const void *slot) {
    (void)thread;
    return *(const gc_word *)slot;
}
/* Mutator threads, their modes, and shadow-stack frames.

   A thread in cooperative mode may touch the heap; a collection waits until it comes to a safe point: gc_safepoint, an
   allocation's slow path, or a change of mode. In preemptive mode it must not touch the heap, nor roots that a collection
   may update, and a collection does not wait for it. Every call that may block brackets itself with preemptive mode.

   A thread may end by pthread_exit, or by a cancellation that finds it in preemptive mode. Its scopes of GC_ROOTS and
   GC_IN_MODE must be left then, as they are in C that is compiled with -fexceptions. Otherwise collections find frames on a
   stack that other code uses, and where they notice that they stop the program with a sentence.

   fork() is a safe point of all heaps: it waits for their other threads as a collection does (options.suspend is called,
   and options.restart in both processes), and for locks of gc.h that other threads hold. The child has copies of the heaps,
   in which only the thread that forked is attached: the roots of the others are dropped, and the finalizers that they were
   running are not run again. So do not call fork in a signal handler, and use _Fork, vfork and clone only for children that
   call exec or _exit. With musl, and with glibc before 2.36, a second thread that calls fork meanwhile waits in the C
   library, where gc.h cannot stop it: there threads call fork in preemptive mode, if several do. While a callback of a
   collection or walk calls fork, no other thread may, nor start or end a profile: the two would wait for each other.

   Signal handlers may run at any time, and may read the mode (gc_thread_mode), but call nothing else of gc.h: the thread
   may be in the middle of an allocation or a collection, or hold a lock. Let the handler set a flag, and test it where the
   thread calls gc_safepoint. GC_DEBUG >= 1 reports calls by a handler that has interrupted a slow path, GC_DEBUG >= 2 also
   stores. */


#include <string.h>

/* Whether a thread may touch objects. */
typedef enum gc_mode {
    GC_MODE_COOPERATIVE, /* it may: collections wait for its next safe point */
    GC_MODE_PREEMPTIVE   /* it may not: collections go on without it */
} gc_mode;

#define GC__SAVED_REGISTERS 12

/* What reports say of a frame: static data that GC_ROOTS makes. */
typedef struct gc_frame_site {
    const char *names; /* "list, cell" */
    const char *function;
    const char *file;
    unsigned line;
    unsigned flags; /* GC_SLOT_* of all slots of the frame */
} gc_frame_site;

/* One shadow-stack frame: the addresses of C variables that are roots. */
typedef struct gc_frame {
    struct gc_frame *previous;
    const gc_frame_site *site;
    gc_thread *thread; /* NULL: its heap was destroyed */
    size_t count;
    void **slots; /* count addresses of variables */
} gc_frame;

/* A stack and, while no thread runs on it, the state in which it was left. Written by the thread that leaves it. */
typedef struct gc_stack {
    struct gc_stack *next; /* in the heap's list: roots lock */
    gc_heap *heap;
    struct gc_thread *thread; /* runs on this stack; NULL: none does */
    struct gc_thread *last;   /* has last run on it; its frames name that thread */
    gc_frame *frames;
    struct gc_code_frame *code; /* compiled frames that were left on it (gc_stackmap.h) */
    bool
        conservative; /* a fiber's: a thread whose native stacks are scanned has run on it, so it is scanned ever after */
    char *base;       /* the highest address; NULL: not scanned conservatively */
    char *stack_pointer; /* below it nothing is in use */
    uintptr_t registers[GC__SAVED_REGISTERS];
} gc_stack;

/* A piece of memory in which objects are allocated by moving a pointer. Inline code, and compiled code of a host's, uses
   the first two fields only: bytes fit if they are at most limit - next, and then next moves by them. */
typedef struct gc_window {
    char *next;                /* next free byte */
    char *limit;               /* next <= limit */
    char *end;                 /* the furthest to which the limit can be moved */
    char *start;               /* objects from here on are not accounted for yet */
    struct gc__region *region; /* NULL: none is open, and next == limit */
} gc_window;

/* A mutator, as inline code sees it: the collector's record has more. All fields are written by the owning thread, or by
   the collector while that thread is stopped, unless they say otherwise. */
struct gc_thread {
    gc_window window; /* zeroed memory */
    gc_window raw;    /* for contents that are not zeroed */
    gc_frame *frames; /* innermost first */
    uint32_t poll;    /* nonzero: the next safe point calls gc__safepoint_slow; atomic, written under the heap's lock */
    uint32_t mode;    /* gc_mode; atomic, written by the owning thread */
    gc_heap *heap;    /* NULL: it was destroyed, and the owning thread still has to forget this record */
    gc_stack *stack;  /* on which it runs: its own, or one of gc_stack_create */
    struct gc_code_frame *code;               /* where compiled code was left (gc_stackmap.h), innermost first */
    void (*safepoint)(struct gc_thread *);    /* what gc_safepoint calls if poll is not 0; for assembly */
    uintptr_t registers[GC__SAVED_REGISTERS]; /* in preemptive mode: what callee-saved registers held */
};

/* Makes the calling native thread a mutator of heap, in cooperative mode, after waiting for a collection that runs. A
   native thread may be attached to several heaps, once to each; a call that may wait for one is a safe point of all. Detach
   on the same native thread, at the latest in a destructor of thread-specific data; a thread that ends attached is detached
   with a warning. If native stacks are scanned conservatively, attach on the native thread's own stack, not on a fiber's.
   Returns NULL on failure; if heap is NULL, gc_last_message stays that of gc_heap_create. [any thread; may wait; NULL:
   GC_ERROR_MEMORY, GC_ERROR_ATTACHED, GC_ERROR_MISUSE] */
GC_API gc_thread *gc_thread_attach(gc_heap *heap);
/* Ends the attachment; NULL is allowed. Leave the scopes of GC_ROOTS first, as GC_DEBUG >= 1 asserts: otherwise their
   variables cease to be roots. [its own thread; may wait; cannot fail] */
GC_API void gc_thread_detach(gc_thread *thread);
/* The calling native thread's attachment to the heap, NULL if it has none. [any thread; never collects; NULL: not
   attached] */
GC_API gc_thread *gc_thread_current(const gc_heap *heap);
/* The heap that the thread is attached to; NULL: it was destroyed. [any thread; never collects; cannot fail] */
GC_API gc_heap *gc_thread_heap(const gc_thread *thread);
/* A name for statistics and reports; the string stays the caller's and must outlive the attachment. [any thread; never
   collects; cannot fail] */
GC_API void gc_thread_set_name(gc_thread *thread, const char *name);
/* Sets whether the native stacks on which the calling thread runs are scanned conservatively; options.conservative_stack is
   the initial value. A fiber's stack on which such a thread has run is scanned ever after. Ends the program if the bounds
   of the stack on which the thread was attached are unknown. [its own thread; never collects; cannot fail] */
GC_API void gc_thread_set_conservative(gc_thread *thread, bool conservative);

/* Changes the calling thread's mode. Returns the former mode, which the caller sets again later: so brackets nest, even
   those of callbacks that need cooperative mode within a preemptive call. Entering cooperative mode waits for a collection
   that runs; entering preemptive mode never waits. Neither collects by itself. Source: EnablePreemptiveGC,
   DisablePreemptiveGC. [its own thread; may wait; cannot fail] */
static inline __attribute__((always_inline)) gc_mode gc_thread_set_mode(gc_thread *thread, gc_mode mode);
/* The thread's mode now; a signal handler may ask, too. [any thread; never collects; cannot fail] */
static inline gc_mode gc_thread_mode(const gc_thread *thread) {
    return (gc_mode)__atomic_load_n(&thread->mode, __ATOMIC_SEQ_CST);
}
/* Puts the rest of the scope into that mode. The scope must end before the heap does. Where native stacks are scanned
   conservatively, callbacks from preemptive mode use this rather than gc_thread_set_mode: it keeps the registers that the
   outer call has saved. */
#define GC_IN_MODE(thread, mode) GC__IN_MODE(__COUNTER__, thread, mode)
#define GC__IN_MODE(id, thread, mode)                                                        \
    gc__mode_scope GC__NAME(gc__mode, id) __attribute__((cleanup(gc__mode_leave), unused)) = \
        gc__mode_enter((thread), (mode))

GC__EXTERN GC__VISIBLE void gc__save_registers(uintptr_t *registers);
GC_API gc_mode gc__thread_set_mode(gc_thread *thread, gc_mode mode);
static inline __attribute__((always_inline)) gc_mode gc_thread_set_mode(gc_thread *thread, gc_mode mode) {
    /* First of all, while the registers still hold what the caller holds. In preemptive mode they were saved before. */
    if (mode == GC_MODE_PREEMPTIVE && gc_thread_mode(thread) != GC_MODE_PREEMPTIVE)
        gc__save_registers(thread->registers);
    return gc__thread_set_mode(thread, mode);
}

typedef struct gc__mode_scope {
    gc_thread *thread;
    gc_mode former;
    uintptr_t registers[GC__SAVED_REGISTERS]; /* those that were saved when the former mode was entered */
} gc__mode_scope;

static inline __attribute__((always_inline)) gc__mode_scope gc__mode_enter(gc_thread *thread, gc_mode mode) {
    gc__mode_scope scope;
    for (int i = 0; i < GC__SAVED_REGISTERS; i++) scope.registers[i] = thread->registers[i];
    scope.thread = thread;
    scope.former = gc_thread_set_mode(thread, mode);
    return scope;
}

static inline void gc__mode_leave(gc__mode_scope *scope) {
    gc_thread *thread = scope->thread;
    if (scope->former == GC_MODE_PREEMPTIVE && gc_thread_mode(thread) != GC_MODE_PREEMPTIVE)
        for (int i = 0; i < GC__SAVED_REGISTERS; i++) thread->registers[i] = scope->registers[i];
    gc__thread_set_mode(thread, scope->former);
}

/* A stack for a coroutine or fiber. It has frames (GC_ROOTS) of its own, which stay roots while it does not run. If threads
   are scanned conservatively, so is the native stack, from where it was left to `base`, its highest address; otherwise
   `base` may be NULL. The caller owns the gc_stack, and destroys it when the fiber will not run again, on any thread in
   cooperative mode. Returns NULL when memory is exhausted. [any thread; never collects; NULL: GC_ERROR_MEMORY] */
GC_API gc_stack *gc_stack_create(gc_heap *heap, void *base);
/* Ends the stack; NULL is allowed. The frames that are left on it cease to be roots. [cooperative; never collects; cannot
   fail] */
GC_API void gc_stack_destroy(gc_stack *stack);
/* Leaves the stack on which the thread runs, and enters `stack`, or with NULL the thread's own. Call it just before the
   native switch: between the two nothing may allocate or poll. Some ten stores; more if `stack` was left by another thread
   of the heap. [cooperative; never collects; cannot fail] */
static inline void gc_stack_switch(gc_thread *thread, gc_stack *stack);

GC_API void gc__stack_switch(gc_thread *thread, gc_stack *stack);
static inline void gc_stack_switch(gc_thread *thread, gc_stack *stack) {
    gc__save_registers(thread->stack->registers);
    gc__stack_switch(thread, stack);
}

/* A place where a collection may run. One load and one predicted branch. [cooperative; may collect; cannot fail] */
static inline void gc_safepoint(gc_thread *thread);
GC_API void gc__safepoint_slow(gc_thread *thread);
static inline void gc_safepoint(gc_thread *thread) {
    if (GC__UNLIKELY(__atomic_load_n(&thread->poll, __ATOMIC_RELAXED) != 0)) gc__safepoint_slow(thread);
}

/* Makes the named variables (1 to 16 pointers to objects, each initialized) roots of `thread` until the end of the
   enclosing scope. A collection updates them when their objects move. One frame: a few stores in, one store out.
   A computed goto (goto *label) must not leave the scope: gcc runs no cleanup there, and clang refuses to compile it. In an
   interpreter's loop all labels lie in the scope of one GC_ROOTS before the loop, whose variables the opcodes use by turns. */
#define GC_ROOTS(thread, ...) GC__ROOTS(__COUNTER__, thread, 0, __VA_ARGS__)
/* The same for variables of tagged values. */
#define GC_ROOTS_VALUES(thread, ...) GC__ROOTS(__COUNTER__, thread, GC_SLOT_VALUE, __VA_ARGS__)
/* GC_ROOTS for pointers that may lead anywhere into objects, from their first byte to their last. Addresses outside the heap
   are allowed, and stay as they are. The object is kept, and the pointer moves with it. */
#define GC_ROOTS_INTERIOR(thread, ...) GC__ROOTS(__COUNTER__, thread, GC_SLOT_INTERIOR, __VA_ARGS__)
/* Makes `base`, a pointer to an object or null, a root, and `address` keep its distance from that object wherever it leads:
   one past the object's end, say. An address outside the heap belongs to a null base, which leaves it as it is. */
#define GC_ROOTS_DERIVED(thread, address, base) \
    GC_ROOTS(thread, base);                     \
    GC__ROOTS_OF(__COUNTER__, thread, GC_SLOT_INTERIOR | GC__SLOT_DERIVED, 1, #address, address, base)
/* Makes the array of `count` variables at `first` roots, until the end of the enclosing scope. */
#define GC_ROOTS_ARRAY(thread, first, count, flags) \
    GC__ROOTS_CONTIGUOUS(__COUNTER__, thread, first, count, flags, #first "[]")
/* Evaluates an expression with the named variables (1 to 16 pointers to objects) as roots, and then has them lead to where
   their objects are: GC_ROOTS_DURING(gc, ok = grow(f), f). For what a function seldom does: the rest of it pays nothing, since
   the variables stay in registers. Within the expression the variables themselves are not updated. */
#define GC_ROOTS_DURING(thread, expression, ...)     \
    do {                                             \
        GC__DURING_BEGIN(thread, 0, __VA_ARGS__)     \
        expression;                                  \
        GC__DURING_END(__VA_ARGS__)                  \
    } while (0)
/* The same for variables of tagged values. */
#define GC_ROOTS_VALUES_DURING(thread, expression, ...)      \
    do {                                                     \
        GC__DURING_BEGIN(thread, GC_SLOT_VALUE, __VA_ARGS__) \
        expression;                                          \
        GC__DURING_END(__VA_ARGS__)                          \
    } while (0)
/* The same for pointers into objects, as GC_ROOTS_INTERIOR takes them. */
#define GC_ROOTS_INTERIOR_DURING(thread, expression, ...)       \
    do {                                                        \
        GC__DURING_BEGIN(thread, GC_SLOT_INTERIOR, __VA_ARGS__) \
        expression;                                             \
        GC__DURING_END(__VA_ARGS__)                             \
    } while (0)
#define GC__DURING_BEGIN(thread, flags, ...)                                                                        \
    gc_word gc__copies[GC__EACH(GC__FIELD_ONE, , __VA_ARGS__) 0], *gc__copy = gc__copies;                           \
    GC__EACH(GC__COPY_IN, gc__copy, __VA_ARGS__) {                                                                  \
        GC__ROOTS_CONTIGUOUS(__COUNTER__, thread, gc__copies, sizeof gc__copies / sizeof gc__copies[0], flags,      \
                             #__VA_ARGS__);
#define GC__DURING_END(...) \
    }                       \
    gc__copy = gc__copies;  \
    GC__EACH(GC__COPY_OUT, gc__copy, __VA_ARGS__)
/* By memcpy, for values of any type, which does not take a variable out of its register. */
#define GC__COPY_IN(copy, variable) memcpy(copy++, GC__ADDRESS_OF(variable), 8);
#define GC__COPY_OUT(copy, variable) memcpy(GC__ADDRESS_OF(variable), copy++, 8);

#define GC__ROOTS_CONTIGUOUS(id, thread, first, count, flags, names) \
    GC__ROOTS_ARRAY(id, thread, first, count, flags, names)
#define GC__ROOTS_ARRAY(id, thread, first, count_, flags_, names_)                                   \
    static const gc_frame_site GC__NAME(gc__site, id) = {names_, __func__, __FILE__, __LINE__,            \
                                                         (flags_) | GC__SLOT_CONTIGUOUS};                 \
    gc_frame GC__NAME(gc__frame, id) __attribute__((cleanup(gc__frame_leave))) = {                        \
        (thread)->frames, &GC__NAME(gc__site, id), (thread), (size_t)(count_), (void **)(void *)(first)}; \
    (thread)->frames = gc__frame_written(&GC__NAME(gc__frame, id))

#define GC__ROOTS(id, thread, flags, ...)                                                                             \
    GC__ROOTS_OF(id, thread, flags, sizeof GC__NAME(gc__slots, id) / sizeof GC__NAME(gc__slots, id)[0], #__VA_ARGS__, \
                 __VA_ARGS__)
#define GC__ROOTS_OF(id, thread_, flags_, count_, names_, ...)                                            \
    void *GC__NAME(gc__slots, id)[] = {GC__EACH(GC__ADDRESS, , __VA_ARGS__)};                             \
    static const gc_frame_site GC__NAME(gc__site, id) = {names_, __func__, __FILE__, __LINE__, (flags_)}; \
    gc_frame GC__NAME(gc__frame, id) __attribute__((cleanup(gc__frame_leave))) = {                        \
        (thread_)->frames, &GC__NAME(gc__site, id), (thread_), (count_), GC__NAME(gc__slots, id)};        \
    (thread_)->frames = gc__frame_written(&GC__NAME(gc__frame, id))
/* A variable that is not one word, an array for example, does not compile: GC_ROOTS_ARRAY takes those. */
#define GC__ADDRESS(unused, variable) GC__ADDRESS_OF(variable),
#define GC__ADDRESS_OF(variable) \
    (void *)((char *)&(variable) + 0 * sizeof(char[sizeof(variable) == sizeof(void *) ? 1 : -1]))
#define GC__FRAME_AGAIN                                                                                                \
    "the frame of GC_ROOTS(%s) at %s:%u was entered again while it was in force: its scope was left without its end. " \
    "A "                                                                                                               \
    "computed goto (goto *label) runs no cleanup: end the scope before it. After longjmp, gc_frames_restore must "     \
    "restore "                                                                                                         \
    "what gc_frames_mark returned before"
/* Has the frame written to memory before it is in force. The compiler could otherwise write it after a load that faults,
   and the report of such a fault lists frames. */
static inline gc_frame *gc__frame_written(gc_frame *frame) {
    GC_ASSERT(frame->previous != frame, GC__FRAME_AGAIN, frame->site->names, frame->site->file, frame->site->line);
    __asm__("" : "+r"(frame) : "m"(*frame));
    return frame;
}
#define GC__NAME(prefix, id) prefix##id /* `id`: __COUNTER__, so that several may stand on a line */

static inline void gc__frame_leave(gc_frame *frame) {
    if (GC__UNLIKELY(!frame->thread)) return; /* the heap was destroyed within the scope */
    GC_ASSERT(
        frame->thread->frames == frame,
        "the frame of GC_ROOTS(%s) at %s:%u is left out of order: after longjmp, or an exception through C code, "
        "gc_frames_restore must restore what gc_frames_mark returned before; and a scope must end before a computed "
        "goto (goto *label) leaves it",
        frame->site->names, frame->site->file, frame->site->line);
    GC_ASSERT(GC_DEBUG < 2 || gc_thread_mode(frame->thread) == GC_MODE_COOPERATIVE,
              "the frame of GC_ROOTS(%s) at %s:%u is left in preemptive mode, while a collection may be reading it: "
              "return to cooperative mode before the scope ends, as GC_IN_MODE within it does",
              frame->site->names, frame->site->file, frame->site->line);
    frame->thread->frames = frame->previous;
}

/* Keep the list of frames right across a longjmp: take the mark before setjmp and restore it afterwards. Do the same around
   a try whose exceptions pass C functions that were compiled without -fexceptions; C++ exceptions leave all other scopes as
   they unwind. [its own thread; never collects; cannot fail] */
static inline gc_frame *gc_frames_mark(const gc_thread *thread) { return thread->frames; }
static inline void gc_frames_restore(gc_thread *thread, gc_frame *mark) { thread->frames = mark; }
/* Stores of references: every store into a heap object after its first safe point goes through one of these functions.
   Stores that initialize a new object need none of them until the next call that may collect. Slots outside the heap (on
   the stack, static, malloc'ed) may be stored to either way, except those that an object owns and reports with
   GC_SLOT_OWNED: gc_store_in and gc_remember are for these. None of these functions collects.

   The barrier in them is GC_BARRIER, a compile-time choice from GC_BARRIERS (gc_barrier_x86_64.h). With GC_BARRIER
   at_run_time they call it out of line, and gc_barrier_switch chooses. */


GC__SHARED gc_barrier_tables gc__tables; /* ranks and cards: with the world stopped; bounds: under the barrier lock */
GC__SHARED gc_barrier_functions gc__barrier_calls; /* GC_BARRIER at_run_time: written with the world stopped */
GC_API void gc__shadow_store(void *slot, size_t count);
GC_API void gc__check_outside(const char *name); /* of any function of gc.h */

/* What the stores below call where GC_BARRIER is at_run_time. [cooperative; never collects; cannot fail] */
static inline void gc_barrier_store_at_run_time(const gc_barrier_tables *tables, void *slot, const void *ref) {
    gc__barrier_calls.store(tables, slot, ref);
}
static inline void gc_barrier_checked_at_run_time(const gc_barrier_tables *tables, void *slot, const void *ref) {
    gc__barrier_calls.checked(tables, slot, ref);
}
static inline void gc_barrier_after_checked_at_run_time(const gc_barrier_tables *tables, const void *slot,
                                                        const void *ref) {
    gc__barrier_calls.after_checked(tables, slot, ref);
}
static inline void gc_barrier_copy_checked_at_run_time(const gc_barrier_tables *tables, void *destination,
                                                       const void *source, size_t count) {
    gc__barrier_calls.copy_checked(tables, destination, source, count);
}

/* The heap's barrier, in its form for slots anywhere: barriers that ask for the slot's age first need no check. */
enum {
#define GC__BARRIER_FACTS(name, NAME, watch, filter, mark) \
    gc__barrier_is_##name = GC_BARRIER_##NAME, gc__anywhere_##name = GC__ANYWHERE(watch, GC__FILTER_##filter),
    GC_BARRIERS(GC__BARRIER_FACTS)
#undef GC__BARRIER_FACTS
        gc__barrier_is_at_run_time = GC_BARRIER_COUNT,
    gc__anywhere_at_run_time = 0
};
#define GC__BARRIER_CHOSEN ((int)GC__PASTE(gc__barrier_is_, GC_BARRIER))
#define GC__BARRIER_ANYWHERE GC__PASTE(gc__anywhere_, GC_BARRIER)

static inline void gc__barrier_store(void *slot, const void *ref) {
    if (GC__BARRIER_ANYWHERE)
        GC__PASTE(gc_barrier_store_, GC_BARRIER)(&gc__tables, slot, ref);
    else
        GC__PASTE(gc_barrier_checked_, GC_BARRIER)(&gc__tables, slot, ref);
}

static inline void gc__store_shadow(void *slot, size_t count) {
#if GC_SHADOW_HEAP
    gc__shadow_store(slot, count);
#else
    (void)slot, (void)count;
#endif
}

/* *slot = ref, with the write barrier. ref: an object of the same heap, null, or any address outside the heaps.
   [cooperative; never collects; cannot fail] */
static inline void gc_store(gc_thread *thread, void *slot, const void *ref) {
    (void)thread;
    GC_ASSERT(((uintptr_t)slot & 7) == 0, "gc_store: the slot %p is not 8-byte aligned", slot);
    if (GC_DEBUG >= 2) gc__check_outside("gc_store");
    gc__barrier_store(slot, ref);
    gc__store_shadow(slot, 1);
}

/* *slot = value, a tagged value, with the write barrier if it refers to an object. [cooperative; never collects; cannot
   fail] */
static inline void gc_store_value(gc_thread *thread, void *slot, uintptr_t value) {
    (void)thread;
    __atomic_store_n((gc_word *)slot, value, __ATOMIC_RELAXED); /* the marker may be reading it */
    if (GC_VALUE_IS_REF(value))
        GC__PASTE(gc_barrier_after_checked_, GC_BARRIER)(&gc__tables, slot, (const void *)GC_VALUE_TO_REF(value));
    gc__store_shadow(slot, 1);
}

/* *slot = ref, where the slot lies in a buffer outside the heap that belongs to `owner` and that its trace function visits
   with GC_SLOT_OWNED. [cooperative; never collects; cannot fail] */
static inline void gc_store_in(gc_thread *thread, const void *owner, void *slot, const void *ref) {
    (void)thread;
    if (GC_DEBUG >= 2) gc__check_outside("gc_store_in");
    *(gc_word *)slot = (uintptr_t)ref;
    GC__PASTE(gc_barrier_after_checked_, GC_BARRIER)(&gc__tables, owner, ref);
}

/* gc_store_in for a tagged value. [cooperative; never collects; cannot fail] */
static inline void gc_store_value_in(gc_thread *thread, const void *owner, void *slot, uintptr_t value) {
    (void)thread;
    *(gc_word *)slot = value;
    if (GC_VALUE_IS_REF(value))
        GC__PASTE(gc_barrier_after_checked_, GC_BARRIER)(&gc__tables, owner, (const void *)GC_VALUE_TO_REF(value));
}

/* Has the next collection look at all slots that the object owns (GC_SLOT_OWNED). So raw stores to these may follow, as many
   as there are before the next call that may collect. Two loads if it was remembered before. A buffer that only moves (realloc),
   shrinks or loses references needs no call. [cooperative; never collects; cannot fail] */
static inline void gc_remember(gc_thread *thread, const void *object) {
    (void)thread;
    if (gc__barrier_age(&gc__tables, (uintptr_t)object)) gc_barrier_dirty_card(&gc__tables, object);
}

/* The barrier alone, around raw stores of whole words (by memcpy, say) into `count` slots of one object, or outside the heap.
   No safe point may come between the two calls. With `concurrent` the marker may read the slots meanwhile: no word is torn,
   but to C and ThreadSanitizer memcpy is a race then, where gc_copy_refs and gc_copy_values are none. flags: 0 or
   GC_SLOT_VALUE, the same in both. Pairs may nest, for different ranges. GC_DEBUG >= 1 asserts all of this but that the slots
   are of one object. [cooperative; never collects; cannot fail] */
GC_API void gc_stores_begin(gc_thread *thread, void *slots, size_t count, unsigned flags);
GC_API void gc_stores_end(gc_thread *thread, void *slots, size_t count, unsigned flags);
/* Copies `count` references from source to destination, which may overlap, as memmove does; with the barrier, in one pass.
   The destination lies in one object, or outside the heap. [cooperative; never collects; cannot fail] */
GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count);
/* gc_copy_refs for tagged values. A second pass looks at them, but only at those in clean cards of an old object.
   [cooperative; never collects; cannot fail] */
GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count);

/* Hosts that compile barriers of their own (gc_barrier_emit) learn by gc_options.barrier_changed of changes to what
   barriers read, as the CLR does by IGCToCLR::StompWriteBarrier. All heaps share the tables, so every host is told of each
   change. */
typedef enum gc_stomp {
    GC_STOMP_INITIALIZE, /* the heap was created: emit code, from these tables */
    GC_STOMP_EPHEMERAL,  /* low and high changed: patch */
    GC_STOMP_RESIZE,     /* highest grew; the tables already cover what is new: patch */
    GC_STOMP_SWITCH      /* another barrier: emit anew; the tables that it reads are in place */
} gc_stomp;

typedef struct gc_barrier_change {
    gc_stomp operation;
    gc_barrier barrier; /* the one in force */
    bool is_suspended;  /* mutators are stopped; while they are not, bounds only widen, and patching is safe too */
    const gc_barrier_tables *tables; /* valid until gc.h is unloaded; for gc_barrier_emit and gc_barrier_patch */
} gc_barrier_change;

/* The barrier in force; GC_BARRIER unless that is at_run_time. [any thread; never collects; cannot fail] */
GC_API gc_barrier gc_barrier_current(void);
/* Has every heap of the process use another barrier from now on. Only with GC_BARRIER at_run_time; rank_sum is the first.
   Call it while no other thread runs mutator code. Fails with GC_ERROR_OPTION if the barrier was chosen at compile time or
   if `barrier` is GC_BARRIER_NONE and a heap has generations, and with GC_ERROR_RESERVE if there is no address space for
   its tables; then nothing has changed. Source: SwitchToWriteWatchBarrier. [any thread, while no other runs mutator code;
   never collects; GC_ERROR_OPTION, GC_ERROR_RESERVE] */
GC_API gc_result gc_barrier_switch(gc_barrier barrier);
/* Under a write_watch barrier: stores the addresses of up to `most` pages of 4 KiB of this heap that the barrier has seen
   stored to since they were last taken, and forgets them. Returns their number: `most` means that there may be more; 0
   under any other barrier. Only stores by barriers are seen, neither what initializes new objects nor what a collection
   moves; a page whose objects have moved away is forgotten. So take pages before each collection, or use non_moving.
   Source: GetWriteWatch with reset. [cooperative; may wait; cannot fail] */
GC_API size_t gc_heap_take_written_pages(gc_heap *heap, void **pages, size_t most);
/* Stacks of values, or of records that begin with one, as interpreters have them: one for each coroutine, in memory outside
   the heap, which belongs to the coroutine's object. While the coroutine runs, its stack is stored to without a barrier.

       typedef struct coroutine { gc_object header; gc_value_stack values; frame *frame; ... } coroutine;

       static void coroutine_trace(void *object, gc_visitor *visitor) {
           coroutine *co = (coroutine *)object;
           gc_visit_stack(visitor, &co->values, co->frame ? co->frame->slots : NULL);
       }

       gc_visit(visitor, &vm.current, 1, GC_SLOT_ACTIVE);         // scan_roots; or gc_roots_add with this flag

       gc_remember(gc, vm.current);                               // a switch: the one that is left, then the other
       vm.current = other;

       co->frame = caller;                                        // a return
       gc_value_stack_touch(&co->values, caller->slots);

   A young collection looks at the slots from the frame at that time up to the top, and further down as far as the stack was
   touched, or still refers to young objects; so calls that are deep in the stack cost it nothing. */


/* The host writes base, top, limit and the two below before the first visit; all zero is an empty stack of plain references.
   The record lies in the object that the stack belongs to, or outside the heap. */
typedef struct gc_value_stack {
    void *base;           /* the first entry; NULL: there is no memory yet */
    void *top;            /* behind the last entry that is in use; beyond it nothing is read */
    void *limit;          /* the end of the memory; only gc_value_stack_reserve and gc_value_stack_free use it */
    uint32_t entry_bytes; /* the size of an entry, a multiple of 8, whose first word is its slot; 0: 8 */
    uint32_t flags;       /* 0 or GC_SLOT_VALUE */
    void *untouched;      /* entries below were not stored to since the last collection */
    void *settled[2];     /* by collections: entries below the n-th refer to no object of generations 0 to n */
} gc_value_stack;

/* Reports a stack. Entries from `frame` on may be stored to at any time; those below it after gc_value_stack_touch. NULL, or
   the base: every entry is looked at by every collection. [trace functions, scan_roots; never collects; cannot fail] */
static inline void gc_visit_stack(gc_visitor *visitor, gc_value_stack *stack, void *frame) {
    gc__stack_part part = {stack, frame};
    visitor->visit(visitor, &part, 1, GC__SLOT_STACK);
}

/* From now on entries from `entry` on may be stored to: after a return to the frame that begins there, or before a store
   through an open upvalue. If another coroutine's stack is stored to, call gc_remember for its owner as well. [cooperative;
   never collects; cannot fail] */
static inline void gc_value_stack_touch(gc_value_stack *stack, const void *entry) {
    if ((uintptr_t)entry < (uintptr_t)stack->untouched) stack->untouched = (void *)(uintptr_t)entry;
}

/* Makes room for `bytes` above the top, by realloc. *moved: the distance in bytes by which the entries have moved, which the
   host adds to its own pointers into the stack. The memory counts as gc_heap_external_add's. [cooperative; never collects;
   GC_ERROR_MEMORY: nothing has changed] */
GC_API gc_result gc_value_stack_reserve(gc_heap *heap, gc_value_stack *stack, size_t bytes, ptrdiff_t *moved);
/* Frees the memory; the stack is empty then. [any thread; never collects; cannot fail] */
GC_API void gc_value_stack_free(gc_heap *heap, gc_value_stack *stack);
/* Allocation. All of these functions may collect, so every live reference must be in a root. When memory is exhausted they
   call the out_of_memory hook, and then return NULL (gc_last_message says which limit was met); nothing is lost. That holds if
   the hook is left by longjmp or an exception, too.
   The owning thread calls them, in cooperative mode. */


#include <string.h>

#define GC_LARGE_BYTES \
    (GC_REGION_BYTES / 8) /* objects over this own regions, hold the pages they need, and never move */
#define GC_OBJECT_BYTES_MIN ((size_t)16)

GC_API void *gc__allocate_slow(gc_thread *thread, size_t bytes, bool zeroed);
GC_API void *gc__new_slow(gc_thread *thread, const gc_type *type, size_t length, bool zeroed);

/* An object's size from its parts: at least 16 bytes, a multiple of 8. */
static inline size_t gc__align(size_t bytes) {
    return bytes < GC_OBJECT_BYTES_MIN ? GC_OBJECT_BYTES_MIN : (bytes + 7) & ~(size_t)7;
}

/* A reader in another process may stop the thread at any instruction. What it finds before a window's `next` is a whole
   object, or one whose header is zero: headers are written last, or else before `next` is moved. The fence keeps the compiler
   from changing that order. */
#define GC__WRITTEN() __atomic_signal_fence(__ATOMIC_RELEASE)

/* `bytes` of zeroed heap memory, for hosts with an object model of their own (GC_MODEL_BYTES): the caller writes the header
   before the next call that may collect. [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY,
   GC_ERROR_TOO_LARGE] */
static inline void *gc_allocate(gc_thread *thread, size_t bytes) {
    size_t size = gc__align(bytes);
    char *object = thread->window.next;
    if (GC__UNLIKELY(size > (size_t)(thread->window.limit - object) || size < bytes))
        return gc__allocate_slow(thread, bytes, true);
    thread->window.next = object + size;
    return object;
}

#if !GC_HAS_MODEL
/* gc_new as far as it never collects: the object, or NULL if more would have to be done for it. So variables are roots only
   where that is so, which makes constructors in hot loops faster:
       cell *c = (cell *)gc_new_at_once(gc, &cell_type);
       if (!c) GC_ROOTS_DURING(gc, c = (cell *)gc_new(gc, &cell_type), next);
   [cooperative; never collects; NULL: call gc_new] */
static inline void *gc_new_at_once(gc_thread *thread, const gc_type *type) {
    size_t size = gc__align(type->bytes);
    char *object = thread->window.next;
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || size > (size_t)(thread->window.limit - object))) return NULL;
    thread->window.next = object + size;
    ((gc_object *)object)->type = type;
    return object;
}

/* A new object of a type without elements, zeroed but for its header. [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL,
   GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_TYPE] */
static inline void *gc_new(gc_thread *thread, const gc_type *type) {
    void *object = gc_new_at_once(thread, type);
    return GC__LIKELY(object != NULL) ? object : gc__new_slow(thread, type, 0, true);
}

/* gc_new with undefined contents after the header, for a type without references: the caller fills it. [cooperative; may
   collect; NULL: GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_TYPE] */
static inline void *gc_new_raw(gc_thread *thread, const gc_type *type) {
    size_t size = gc__align(type->bytes);
    char *object = thread->raw.next;
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || size > (size_t)(thread->raw.limit - object)))
        return gc__new_slow(thread, type, 0, false);
    ((gc_object *)object)->type = type;
    GC__WRITTEN();
    thread->raw.next = object + size;
    return object;
}

/* gc_new_at_once for a type with elements. [cooperative; never collects; NULL: call gc_new_array] */
static inline void *gc_new_array_at_once(gc_thread *thread, const gc_type *type, size_t length) {
    char *object = thread->window.next;
    size_t room = (size_t)(thread->window.limit - object);
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || length > room)) return NULL;
    size_t size = gc__align(type->bytes + length * type->element_bytes);
    if (GC__UNLIKELY(size > room)) return NULL;
    thread->window.next = object + size;
    ((gc_array *)object)->length = length;
    GC__WRITTEN();
    ((gc_array *)object)->header.type = type;
    return object;
}

/* A new object of a type with elements, of `length` elements (0 is allowed), zeroed but for its header and length. Fails
   with GC_ERROR_TOO_LARGE if the size overflows or could never fit. [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL,
   GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_TYPE] */
static inline void *gc_new_array(gc_thread *thread, const gc_type *type, size_t length) {
    void *object = gc_new_array_at_once(thread, type, length);
    return GC__LIKELY(object != NULL) ? object : gc__new_slow(thread, type, length, true);
}

/* gc_new_array with undefined contents after header and length, for a type without references: the caller fills it.
   [cooperative; may collect; NULL: GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_TYPE] */
static inline void *gc_new_array_raw(gc_thread *thread, const gc_type *type, size_t length) {
    char *object = thread->raw.next;
    size_t room = (size_t)(thread->raw.limit - object);
    if (GC__UNLIKELY(GC_DEBUG >= 2 || type->finalizer || length > room))
        return gc__new_slow(thread, type, length, false);
    size_t size = gc__align(type->bytes + length * type->element_bytes);
    if (GC__UNLIKELY(size > room)) return gc__new_slow(thread, type, length, false);
    ((gc_array *)object)->header.type = type;
    ((gc_array *)object)->length = length;
    GC__WRITTEN();
    thread->raw.next = object + size;
    return object;
}
#endif

/* gc_allocate, gc_new and gc_new_array for an object that never moves, as strings are that C code keeps, or stacks of fibers:
   it is marked in place, in regions of its kind, and its address may be kept as long as it lives. Takes a lock, and objects
   that stay leave holes among them, so it is for such objects only. [cooperative; may collect; NULL: as those] */
GC_API void *gc_allocate_fixed(gc_thread *thread, size_t bytes);
#if !GC_HAS_MODEL
GC_API void *gc_new_fixed(gc_thread *thread, const gc_type *type);
GC_API void *gc_new_array_fixed(gc_thread *thread, const gc_type *type, size_t length);

/* Makes an array longer where it is, with zeroed elements, if the memory behind it is free: at the end of what the thread has
   just allocated, in a hole, or in the pages of a large object. False: it is not, or `length` is less than before, or
   another thread has the heap's lock; then nothing has changed, and a new array is what remains. [cooperative; never collects;
   false] */
GC_API bool gc_array_grow(gc_thread *thread, void *array, size_t length);
#endif

/* Adds `bytes` (may be negative) to the memory that the object holds outside the heap, which counts towards budgets and
   heap_bytes_max until the object dies. May collect, so the object must be in a root. On failure nothing was added; the
   out_of_memory hook is not called.
   [cooperative; may collect; GC_ERROR_HEAP_FULL, GC_ERROR_MEMORY, GC_ERROR_TOO_LARGE, GC_ERROR_MISUSE] */
GC_API gc_result gc_external_add(gc_thread *thread, void *object, ptrdiff_t bytes);
/* The same for memory of no particular object, as a hook in place of realloc sees it; -bytes takes it off when it is freed.
   If a collection is due then, the calling thread's next allocation collects. heap_bytes_max does not refuse the bytes, but
   what is allocated on the heap after them. Takes no lock. [any thread; never collects;
   GC_ERROR_MISUSE: less than 0, GC_ERROR_TOO_LARGE: the sum exceeds PTRDIFF_MAX] */
GC_API gc_result gc_heap_external_add(gc_heap *heap, ptrdiff_t bytes);
/* Collecting on request, and looking at the heap. */


/* How to collect; the CLR's bits. Without gc_options.concurrent every collection is complete on return. */
enum {
    GC_COLLECT_DEFAULT = 0,
    GC_COLLECT_NON_BLOCKING = 1, /* generation 2 may be marked beside mutators, and freed by a later collection */
    GC_COLLECT_BLOCKING = 2,     /* must be complete on return; wins over NON_BLOCKING */
    GC_COLLECT_OPTIMIZED = 4,    /* only if the generation has spent a part of its budget that makes it worth while */
    GC_COLLECT_COMPACTING = 8    /* move everything that can move, as far as heap_bytes_max has room for it; with generation 2,
                                    leaves no holes then but at pins */
};

/* Within gc_options.collection_traced: where the object is now, and NULL if it was not reached and dies. `object` is an address
   from before the collection, or any that is on no heap, which is returned. [collection_traced; never collects; cannot fail] */
GC_API void *gc_collection_find(gc_heap *heap, const void *object);

/* Collects generations 0..generation (0, 1 or 2) now. Call from an attached thread in cooperative mode (or with no
   thread attached), not from a hook or callback: that fails with GC_ERROR_MISUSE, as does another generation. Fails with
   GC_ERROR_MEMORY if there is no memory for the list of roots; then nothing has changed. Source:
   GC.Collect(generation, mode). [cooperative; may collect; GC_ERROR_MEMORY, GC_ERROR_MISUSE] */
GC_API gc_result gc_collect(gc_heap *heap, int generation, unsigned mode);

/* The functions below change nothing. Call them in cooperative mode or while the world is stopped. They never collect
   themselves, but gc_heap_object_at, gc_heap_walk, gc_heap_verify and gc_heap_stats stop the other threads, and may
   wait for a collection by one of these: where several threads are attached they are safe points. */

/* Whether the address, which may be any, points into memory that may hold objects of this heap. [cooperative; never
   collects; cannot fail] */
GC_API bool gc_heap_contains(gc_heap *heap, const void *address);
/* The object that covers the address, which may be any. [cooperative; may wait; NULL: no object] */
GC_API void *gc_heap_object_at(gc_heap *heap, const void *address);
/* The object's generation: 0, 1 or 2; GC_GENERATIONS for any address that is on no heap. [cooperative; never collects;
   cannot fail] */
GC_API int gc_object_generation(const void *object);
/* The object's size on the heap in bytes, header included. [cooperative; never collects; cannot fail] */
GC_API size_t gc_object_bytes(const void *object);
/* The name of the object's type; static storage, or the host's. [cooperative; never collects; cannot fail] */
GC_API const char *gc_object_type_name(const void *object);
#if !GC_HAS_MODEL
/* The type that gc_new was given. [cooperative; never collects; cannot fail] */
GC_API const gc_type *gc_object_type(const void *object);
#endif
/* Calls visitor->visit for the object's slots, in runs of one or more, with flags 0 or, for a tagged value
   (GC_VALUE_IS_REF), GC_SLOT_VALUE: for tools of the host's that draw graphs or find what keeps an object alive. The
   visitor is the host's, maybe the first member of a larger record. [cooperative; never collects; cannot fail] */
GC_API void gc_object_visit(void *object, gc_visitor *visitor);

/* The number of collections so far that moved an object. A table keyed by the addresses of live objects is stale when
   this number has changed since the table was made. One load, no safe point. In cooperative mode the answer holds until
   the next call that may collect; in preemptive mode it may be out of date at once, as may any address. [any thread;
   never collects; cannot fail] */
GC_API uint64_t gc_heap_moves(const gc_heap *heap);

/* Calls `visit` for each object of the heap, in no particular order: those that survived the last collection and those
   allocated since, dead ones among them included. Stops when `visit` returns false. `visit` must not allocate or
   collect. [cooperative; may wait; cannot fail] */
GC_API void gc_heap_walk(gc_heap *heap, bool (*visit)(void *context, void *object, size_t bytes, int generation),
                         void *context);

/* Verifies the whole heap now; a fault is reported to the fatal hook. Returns the number of objects. [cooperative; may
   wait; cannot fail] */
GC_API size_t gc_heap_verify(gc_heap *heap);

#ifdef GC_IMPLEMENTATION
/* All that the collector needs of the system and the processor. For each of them, one file implements it. */


#ifndef __linux__
#error "gc.h: collecting is for Linux only, so far: the project's src/platform/ has what another system must supply"
#endif
#if !defined(__x86_64__) && !defined(__aarch64__)
#error \
    "gc.h: collecting is for x86-64 and AArch64 only, so far: the project's src/platform/ has what others must supply"
#endif

/* The linkage of functions, and of the variables and stubs that tests look at. Tests of the inside have another one, by which
   several of them share a compiled implementation. */
#ifndef GC__FN
#define GC__FN static __attribute__((unused))
#define GC__VAR static
#endif
/* For functions that work on the frame of their caller, or are a part of the trace's loop. */
#define GC__INLINED static inline __attribute__((unused, always_inline))
/* For functions that hot code hardly ever calls, and would grow by. */
#define GC__OUT_OF_LINE __attribute__((noinline)) GC__FN
/* For reports, and what runs once in a collection at most: small code, away from what runs often. Compilers make the same
   of functions that call these unconditionally, and of those that only such ones call. */
#define GC__COLD __attribute__((cold)) GC__FN
/* For loops over what a heap holds, which such functions call. */
#define GC__HOT __attribute__((hot, noinline)) GC__FN

#define GC__NS_PER_MS ((uint64_t)1000000)

/* Memory. Address space is reserved, which takes no memory; parts of it are committed, by which the system promises memory
   for them; and memory is given back in parts, or with its address space. gc__os_map reserves and commits at once.
   If the process has locked its memory (mlockall), committing provides all of the memory at once, and none is given back
   before its address space is.
   Preconditions: addresses are those of pages; sizes are multiples of the page size, but for gc__os_map and gc__os_unmap,
   which round up; no size is 0. Calls that return nothing are advice, or cannot fail. None of them changes errno if it
   succeeds or returns nothing. */

/* Reserves address space that starts at a multiple of `alignment`, a power of two and at least a page. If `readable`, it
   reads as zero; otherwise every access faults. Core dumps leave it out. NULL: the system refuses (gc__os_refusal says
   why). */
GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable);
/* Commits reserved memory: it can be read and written, is zero at first, and is in core dumps. Memory that was committed
   before stays as it was. False: the system refuses, and a part may have been committed. */
GC__FN bool gc__os_commit(void *address, size_t bytes);
/* Gives the memory of a committed range back. The range stays committed and reads as zero. False: it is as it was (it may
   be locked). */
GC__FN bool gc__os_discard(void *address, size_t bytes);
/* Makes committed memory inaccessible, with its contents, or accessible again. False: the system refuses. */
GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible);
/* Leaves committed memory out of core dumps until it is committed again. */
GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes);
/* Reserves and commits zeroed memory at once. NULL: the system refuses. */
GC__FN void *gc__os_map(size_t bytes);
/* Grows memory of gc__os_map, moving it if need be. NULL: the system refuses, and the old memory is as it was. */
GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes);
/* Gives address space back, with the memory that is committed in it. */
GC__FN void gc__os_unmap(void *address, size_t bytes);
/* Which limit the system has just refused `bytes` for, and so what to do: "raise `ulimit -v`". */
GC__FN const char *gc__os_refusal(size_t bytes);
/* How much memory the process's container (its control groups) lets it have, if that is less than the machine has; or 0. */
GC__FN size_t gc__os_container_bytes(void);

/* Asks for larger pages. The address need not be aligned. */
GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes);
/* The size of such pages, and the opposite: the system is not to make one of what is left of one. */
#define GC__HUGE_PAGE_BYTES ((size_t)2 << 20)
GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes);
/* Has the system provide committed memory now, which takes less than a fault for each page. */
GC__FN void gc__os_populate(void *address, size_t bytes);
/* Calls visit(context, from, end) for each part of mapped memory [from, end) that was ever written to, perhaps for more: what is
   in between is zero, and takes no memory. The page of `from` was written to. */
GC__FN void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t), void *context);
/* Whether the memory at the address is mapped; for reports about wild pointers. */
GC__FN bool gc__os_is_mapped(const void *address, size_t bytes);
/* Copies memory that perhaps cannot be read, within a page or two. False: it cannot. */
GC__FN bool gc__os_read(void *to, const void *from, size_t bytes);
GC__FN size_t gc__os_page_bytes(void);
GC__FN size_t gc__os_l2_bytes(void);
GC__FN unsigned gc__os_processors(void); /* those that the process may use */
/* The one that the calling thread runs on; negative: the system does not say. */
GC__FN int gc__os_processor(void);
GC__FN unsigned gc__os_quota(void);      /* those that the quota of its container amounts to; UINT_MAX: there is none */
GC__FN uint64_t gc__os_now_ns(void);
GC__FN uint64_t gc__os_cpu_ns(void); /* CPU time of the calling thread */
/* From one time to a later one by the same clock. Clocks have stepped back in guests that were moved to another machine: then
   no time has passed. */
GC__FN uint64_t gc__ns_since(uint64_t later, uint64_t earlier) { return later > earlier ? later - earlier : 0; }
/* Whether that was at least `ns`, or is not known, since the clock has stepped back: what is due at intervals would otherwise
   not come for as long as it has. */
GC__FN bool gc__ns_passed(uint64_t later, uint64_t earlier, uint64_t ns) {
    return later < earlier || later - earlier >= ns;
}
/* The end, above the highest address, of the calling thread's stack. NULL: the system does not say, or the thread runs on
   another stack, as a fiber does; in that case *elsewhere is set. */
GC__FN char *gc__os_stack_base(bool *elsewhere);
/* The bounds of the calling thread's own stack, whichever it runs on. False: the system does not say. */
GC__FN bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high);

/* A lock. The comment on the heap's lock says in which order locks are taken, and which are held during callbacks. */
typedef struct gc__lock gc__lock;
GC__FN void gc__lock_take(gc__lock *lock);
GC__FN void gc__lock_release(gc__lock *lock);
GC__FN bool gc__lock_try(gc__lock *lock);
GC__FN void gc__lock_init(gc__lock *lock);
GC__FN void gc__lock_end(gc__lock *lock);
/* Whether the calling thread holds it; and whether nobody seems to. */
GC__FN bool gc__lock_is_mine(const gc__lock *lock);
GC__FN bool gc__lock_is_free(const gc__lock *lock);
/* Around fork(): taken, unless the calling thread holds it already, and given back if it did not; in the child first made
   anew, since the copy was taken by a thread of another process. */
GC__FN void gc__lock_fork_take(gc__lock *lock);
GC__FN void gc__lock_fork_adopt(gc__lock *lock);
GC__FN void gc__lock_fork_release(gc__lock *lock);
/* Whether the calling thread is the only one, and no other can start before it lets one: false where that is not known. */
GC__FN bool gc__os_is_single_threaded(void);
/* Stands for the calling thread, and for no other that there was or will be. Not 0. */
GC__FN uint64_t gc__os_self(void);
/* The system's number of the calling thread, by which others name it, until it ends. */
GC__FN uint32_t gc__os_thread_number(void);

/* gc__os_wait_for waits until *word differs from `value`, at most for `ns`; it may return too early. gc__os_wake,
   called after a change of the word, wakes the threads that wait. */
GC__FN void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns);
GC__FN void gc__os_wake(const uint32_t *word);

/* A thread of the collector's own. gc__os_thread_start returns false if the system gives none. */
typedef struct gc__os_thread gc__os_thread;
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context);
/* The same for a thread that runs none of the host's code but trace functions: it has a name, and signals go to others. */
GC__FN bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context);
GC__FN void gc__os_thread_join(gc__os_thread *thread);
/* Has the calling thread, when it is woken, leave those that run where they are, if the system can do that. */
GC__FN void gc__os_thread_is_patient(void);
/* Has the calling thread run on other processors from now on, until it leaves another one, if it may use any. */
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor);
/* Gives a thread up that may never end, instead of joining it. */
GC__FN void gc__os_thread_abandon(gc__os_thread *thread);
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread);
/* Tells the CPU that the calling thread spins. */
GC__FN void gc__cpu_pause(void);
GC__FN uint64_t gc__cpu_ticks(void); /* a count at a steady rate, unknown, that takes less time to ask for than the clock */

/* Has `f` called at the end of the calling thread, and once more, after other destructors, if it returns true. False: the
   system has no room for that. */
GC__FN bool gc__os_at_thread_end(bool (*f)(void));
/* Has `before` called when the process forks, on the thread that forks, and then `in_parent` and `in_child`. False: the
   system has no room for that. */
GC__FN bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

/* Undoes gc__os_at_thread_end and gc__os_on_fault. */
GC__FN void gc__os_leave(void);
/* The attribute of a function that is called when the program, or the library with this gc.h, is loaded. */
#define GC__AT_LOAD __attribute__((constructor(101)))
/* The attribute of a function that is called when the library with this gc.h is unloaded, and at the end of the program,
   after the host's own destructors. */
#define GC__AT_UNLOAD __attribute__((destructor(101)))

/* Stores the callee-saved registers, and then the stack pointer of the caller, to `registers`. */
GC__EXTERN GC__VISIBLE void gc__save_registers(uintptr_t *registers);
#define GC__SAVED_STACK_POINTER (GC__SAVED_REGISTERS - 1)

/* Keeps the calling function's frame until here: without it a call at the function's end might be a jump, and the frame
   gone by then. */
GC__INLINED void gc__cpu_keep_frame(void) { __asm__ volatile("" : : : "memory"); }

/* gc__os_on_fault has a handler called when the program touches inaccessible memory. If the handler returns false, the
   address is none of its business, and the fault takes its former course. `words` are the registers at the fault. */
typedef bool (*gc__fault_handler)(uintptr_t address, const uintptr_t *words, size_t count, uintptr_t stack_pointer);
GC__FN void gc__os_on_fault(gc__fault_handler f);
/* The pc among them. */
GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words);
/* Writes the native call stack to stderr: function, file and offset, without the collector's own functions. Safe in a fault
   handler, like all up to gc__os_name_data, once gc__os_stack_frames has been called. */
GC__FN void gc__os_print_stack(void);
#define GC__STACK_FRAMES 32 /* of a native stack, the innermost, are looked at */
/* Stores the native call stack's return addresses. Returns how many there are. */
GC__FN int gc__os_stack_frames(void **frames);
/* In a fault handler, which has been given `words`: the first is the instruction that faults. */
GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames);
/* Writes such frames to stderr: function, file and line if the tool addr2line is there, otherwise as gc__os_print_stack;
   without the collector's own functions. `exact`: which of them is no return address, but the instruction itself. */
GC__FN void gc__os_name_frames(void *const *frames, int count, uintptr_t exact);
/* Calls f for each piece of static data that the program and its libraries may write. */
GC__FN void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context);
/* Names the static variable at the address. */
GC__FN void gc__os_name_data(char *text, size_t bytes, uintptr_t address);
/* Whether the address is in the code of the program or of a loaded library. */
GC__FN bool gc__os_is_file_code(const void *address);
/* A hash of the native call stack. With C libraries other than glibc, the hash and the printed stack reach only as far as
   functions have frame pointers (-fno-omit-frame-pointer). */
GC__FN uint64_t gc__os_stack_hash(void);

/* A variable of the environment. NULL: it is not set, or empty, or the program has rights that its user lacks (setuid). */
GC__FN const char *gc__os_setting(const char *variable);
/* The program's name, without its folder, and the number of the process. */
GC__FN const char *gc__os_program_name(void);
GC__FN uint32_t gc__os_process_number(void);

/* Tells AddressSanitizer, in builds with it, that the memory is free, or in use again. */
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free);

/* The platform contract for Linux on x86-64 and AArch64. */


#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define GC__OS_SINGLE_THREADED __libc_single_threaded
#endif
#endif
#ifndef GC__OS_SINGLE_THREADED
#define GC__OS_SINGLE_THREADED 0
#endif

#if !defined(MAP_ANONYMOUS) || !defined(MREMAP_MAYMOVE)
#error "gc.h: with GC_IMPLEMENTATION, include gc.h before any other header, or compile with -D_GNU_SOURCE"
#endif

/* Not every C library comes with the kernel's headers, and not every kernel has what those define. */
#define GC__FUTEX_WAIT_PRIVATE 128
#define GC__FUTEX_WAKE_PRIVATE 129
#define GC__MADV_POPULATE_WRITE 23

#define GC__MAP_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

GC__FN size_t gc__os_page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

GC__FN void gc__os_check(const void *address, size_t bytes) {
    (void)address, (void)bytes;
    GC_ASSERT(bytes && !(((uintptr_t)address | bytes) & (gc__os_page_bytes() - 1)),
              "%zu bytes at %p are not whole pages: a fault of gc.h, please report it", bytes, address);
}

/* Whether the system has taken the advice. */
GC__FN bool gc__os_advise(void *address, size_t bytes, int advice) {
    int error = errno;
    bool taken = madvise(address, bytes, advice) == 0;
    errno = error;
    return taken;
}

/* Memory is made readable after it was mapped: if memory is locked, the system provides all that is mapped readable. */
GC__FN void *gc__os_reserve(size_t bytes, size_t alignment, bool readable) {
    gc__os_check(NULL, bytes | alignment);
    char *mapped = (char *)mmap(NULL, bytes + alignment, PROT_NONE, GC__MAP_FLAGS, -1, 0);
    if (mapped == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (start > mapped) munmap(mapped, (size_t)(start - mapped));
    size_t tail = (size_t)(mapped + alignment - start);
    if (tail) munmap(start + bytes, tail);
    gc__os_advise(start, bytes, MADV_DONTDUMP);
    if (!readable || mprotect(start, bytes, PROT_READ) == 0) return start;
    munmap(start, bytes);
    return NULL;
}

GC__FN bool gc__os_access(void *address, size_t bytes, bool accessible) {
    gc__os_check(address, bytes);
    return mprotect(address, bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

GC__FN bool gc__os_commit(void *address, size_t bytes) {
    if (!gc__os_access(address, bytes, true)) return false;
    gc__os_advise(address, bytes, MADV_DODUMP);
    return true;
}

GC__FN bool gc__os_discard(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    return gc__os_advise(address, bytes, MADV_DONTNEED);
}

GC__FN void gc__os_leave_out_of_dumps(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__os_advise(address, bytes, MADV_DONTDUMP);
}

GC__FN void *gc__os_map(size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, GC__MAP_FLAGS, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

GC__FN void *gc__os_remap(void *address, size_t old_bytes, size_t new_bytes) {
    gc__os_check(NULL, old_bytes | new_bytes);
    void *mapped = mremap(address, old_bytes, new_bytes, MREMAP_MAYMOVE);
    return mapped == MAP_FAILED ? NULL : mapped;
}

GC__OUT_OF_LINE void gc__os_unmap(void *address, size_t bytes) { munmap(address, bytes); }

GC__FN bool gc__os_is_mapped(const void *address, size_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)address & ~(page - 1);
    unsigned char resident[16];
    size_t length = (uintptr_t)address + bytes - start;
    return length <= sizeof resident * page && mincore((void *)start, length, resident) == 0;
}

GC__FN bool gc__os_read(void *to, const void *from, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    ssize_t done = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (done >= 0 || errno == EFAULT) return done == (ssize_t)bytes;
    if (!gc__os_is_mapped(from, bytes))
        return false; /* a sandbox forbids the call: what is mapped is mostly readable */
    memcpy(to, from, bytes);
    return true;
}

GC__FN void gc__os_prefer_huge_pages(void *address, size_t bytes) {
    uintptr_t page = gc__os_page_bytes(), start = ((uintptr_t)address + page - 1) & ~(page - 1);
    gc__os_advise((void *)start, bytes - (start - (uintptr_t)address), MADV_HUGEPAGE);
}

GC__FN void gc__os_prefer_small_pages(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__os_advise(address, bytes, MADV_NOHUGEPAGE);
}

GC__FN void gc__os_populate(void *address, size_t bytes) {
    gc__os_check(address, bytes);
    gc__os_advise(address, bytes, GC__MADV_POPULATE_WRITE);
}

GC__COLD size_t gc__os_l2_bytes(void) {
#ifdef _SC_LEVEL2_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (bytes > 0) return (size_t)bytes;
#endif
    return (size_t)1 << 20;
}

/* The processors of the calling thread and of the process's first one: either may have bound itself to one of them. False: the
   system does not say. The set has room for 1024 processors; on a machine with more the system refuses to fill it. */
GC__COLD bool gc__os_processor_set(cpu_set_t *set) {
    cpu_set_t first;
    if (sched_getaffinity(0, sizeof *set, set) != 0) return false;
    if (sched_getaffinity(getpid(), sizeof first, &first) == 0) CPU_OR(set, set, &first);
    return true;
}

GC__COLD unsigned gc__os_processors(void) {
    cpu_set_t set;
    if (gc__os_processor_set(&set)) return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

GC__FN int gc__os_processor(void) { return sched_getcpu(); }

GC__OUT_OF_LINE uint64_t gc__os_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
GC__FN uint64_t gc__os_now_ns(void) { return gc__os_clock_ns(CLOCK_MONOTONIC); }
GC__FN uint64_t gc__os_cpu_ns(void) { return gc__os_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

GC__COLD bool gc__os_stack_bounds(uintptr_t *low, uintptr_t *high) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    *low = (uintptr_t)lowest;
    *high = *low + bytes;
    return true;
}

GC__FN char *gc__os_stack_base(bool *elsewhere) {
    uintptr_t low, high;
    if (!gc__os_stack_bounds(&low, &high)) return NULL;
    *elsewhere = (uintptr_t)__builtin_frame_address(0) - low >= high - low;
    return *elsewhere ? NULL : (char *)high;
}

static uint64_t gc__os_selves; /* atomic */
static __thread uint64_t gc__os_identity;
GC__OUT_OF_LINE uint64_t gc__os_self_new(void) {
    gc__os_identity = __atomic_add_fetch(&gc__os_selves, 1, __ATOMIC_RELAXED);
    return gc__os_identity;
}
GC__FN uint64_t gc__os_self(void) { return GC__LIKELY(gc__os_identity) ? gc__os_identity : gc__os_self_new(); }
GC__FN bool gc__os_is_single_threaded(void) { return GC__OS_SINGLE_THREADED; }
GC__FN uint32_t gc__os_thread_number(void) { return (uint32_t)syscall(SYS_gettid); }

struct gc__lock {
    pthread_mutex_t mutex;
    uint64_t owner; /* atomic; gc__os_self; 0: nobody */
    bool forked;    /* by its owner, who held it before */
};
#if GC_DEBUG >= 1 && defined(PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP)
#define GC__MUTEX_INITIALIZER PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#else
#define GC__MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#endif
#define GC__LOCK_INITIALIZER \
    { GC__MUTEX_INITIALIZER, 0, false }

GC__FN void gc__lock_own(gc__lock *lock, uint64_t owner) { __atomic_store_n(&lock->owner, owner, __ATOMIC_RELAXED); }
GC__FN bool gc__lock_is_mine(const gc__lock *lock) {
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == gc__os_self();
}
GC__FN bool gc__lock_is_free(const gc__lock *lock) { return !__atomic_load_n(&lock->owner, __ATOMIC_RELAXED); }

GC__OUT_OF_LINE void gc__lock_take(gc__lock *lock) {
    int error = pthread_mutex_lock(&lock->mutex);
    (void)error;
    GC_ASSERT(!error,
              "the thread waits for a lock of gc.h that it holds itself, called in a signal handler, or the heap was "
              "destroyed already");
    gc__lock_own(lock, gc__os_self());
}
GC__FN void gc__lock_release(gc__lock *lock) {
    gc__lock_own(lock, 0);
    pthread_mutex_unlock(&lock->mutex);
}
GC__OUT_OF_LINE bool gc__lock_try(gc__lock *lock) {
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    if (taken) gc__lock_own(lock, gc__os_self());
    return taken;
}
GC__FN void gc__lock_init(gc__lock *lock) {
    static const gc__lock fresh = GC__LOCK_INITIALIZER;
    *lock = fresh;
}
GC__FN void gc__lock_end(gc__lock *lock) { pthread_mutex_destroy(&lock->mutex); }

GC__FN void gc__lock_fork_take(gc__lock *lock) {
    if (gc__lock_is_mine(lock))
        lock->forked = true;
    else
        gc__lock_take(lock);
}
GC__FN void gc__lock_fork_adopt(gc__lock *lock) {
    bool forked = lock->forked;
    gc__lock_init(lock);
    gc__lock_take(lock);
    lock->forked = forked;
}
GC__FN void gc__lock_fork_release(gc__lock *lock) {
    if (lock->forked)
        lock->forked = false;
    else
        gc__lock_release(lock);
}

GC__OUT_OF_LINE void gc__os_wake(const uint32_t *word) {
    syscall(SYS_futex, word, GC__FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

GC__OUT_OF_LINE void gc__os_wait_for(const uint32_t *word, uint32_t value, uint64_t ns) {
    struct timespec time;
    time.tv_sec = (time_t)(ns / 1000000000u);
    time.tv_nsec = (long)(ns % 1000000000u);
    syscall(SYS_futex, word, GC__FUTEX_WAIT_PRIVATE, value, &time, NULL, 0);
}

struct gc__os_thread {
    pthread_t id;
    uint64_t self; /* gc__os_self of the thread, once it runs; atomic */
    cpu_set_t all, others; /* processors before and after it last left one */
    void (*f)(void *context);
    void *context;
};

GC__FN void *gc__os_thread_main(void *thread) {
    gc__os_thread *self = (gc__os_thread *)thread;
    __atomic_store_n(&self->self, gc__os_self(), __ATOMIC_RELAXED);
    self->f(self->context);
    return NULL;
}
GC__FN bool gc__os_thread_start(gc__os_thread *thread, void (*f)(void *context), void *context) {
    thread->f = f;
    thread->context = context;
    thread->self = 0;
    return pthread_create(&thread->id, NULL, gc__os_thread_main, thread) == 0;
}
/* Faults are the thread's own. */
GC__COLD bool gc__os_worker_start(gc__os_thread *thread, const char *name, void (*f)(void *context), void *context) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = gc__os_thread_start(thread, f, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) return false;
    pthread_setname_np(thread->id, name);
    cpu_set_t set;
    if (gc__os_processor_set(&set)) pthread_setaffinity_np(thread->id, sizeof set, &set);
    return true;
}
GC__FN void gc__os_thread_join(gc__os_thread *thread) { pthread_join(thread->id, NULL); }
/* Threads of a real-time priority stay what they are. */
GC__FN void gc__os_thread_is_patient(void) {
    struct sched_param none = {0};
    if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}
GC__FN bool gc__os_thread_is_self(const gc__os_thread *thread) {
    return __atomic_load_n(&thread->self, __ATOMIC_RELAXED) == gc__os_self();
}
GC__FN void gc__os_leave_processor(gc__os_thread *self, int processor) {
    cpu_set_t now;
    if (processor < 0 || sched_getaffinity(0, sizeof now, &now) != 0) return;
    if (!CPU_EQUAL(&now, &self->others)) self->all = now; /* or only this function has changed them */
    now = self->all;
    CPU_CLR((unsigned)processor, &now);
    if (CPU_COUNT(&now) && sched_setaffinity(0, sizeof now, &now) == 0) self->others = now;
}
GC__FN void gc__os_thread_abandon(gc__os_thread *thread) { pthread_detach(thread->id); }

static gc__lock gc__os_end_lock = GC__LOCK_INITIALIZER; /* guards the variables below */
static pthread_key_t gc__os_end_key;
static bool gc__os_end_ok;
static bool (*gc__os_end)(void); /* atomic */

GC__FN void gc__os_end_call(void *unused) {
    (void)unused;
    if (__atomic_load_n(&gc__os_end, __ATOMIC_ACQUIRE)()) pthread_setspecific(gc__os_end_key, &gc__os_end_key);
}
GC__COLD bool gc__os_at_thread_end(bool (*f)(void)) {
    gc__lock_take(&gc__os_end_lock);
    __atomic_store_n(&gc__os_end, f, __ATOMIC_RELEASE);
    if (!gc__os_end_ok) gc__os_end_ok = pthread_key_create(&gc__os_end_key, gc__os_end_call) == 0;
    bool ok = gc__os_end_ok && pthread_setspecific(gc__os_end_key, &gc__os_end_key) == 0;
    gc__lock_release(&gc__os_end_lock);
    return ok;
}

static void (*gc__os_forked)(void);

GC__FN void gc__os_in_child(void) {
    gc__lock_init(&gc__os_end_lock);
    gc__os_forked();
}
GC__COLD bool gc__os_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    gc__os_forked = in_child;
    return pthread_atfork(before, in_parent, gc__os_in_child) == 0;
}

#if defined(__x86_64__)
enum { GC__OS_FAULT_PC = REG_RIP, GC__OS_FRAME_POINTER = REG_RBP };
#else
enum { GC__OS_FAULT_PC = 32, GC__OS_FRAME_POINTER = 29 }; /* the pc is after 31 registers and the stack pointer */
#endif
GC__FN uintptr_t gc__os_fault_pc(const uintptr_t *words) { return words[GC__OS_FAULT_PC]; }

static gc__fault_handler gc__os_fault; /* written once, under the arena's lock */
static struct sigaction gc__os_fault_former;

GC__COLD void gc__os_fault_signal(int number, siginfo_t *info, void *context) {
    const ucontext_t *at = (const ucontext_t *)context;
#if defined(__x86_64__)
    const uintptr_t *words = (const uintptr_t *)(const void *)at->uc_mcontext.gregs;
    size_t count = 17;
    uintptr_t stack_pointer = (uintptr_t)at->uc_mcontext.gregs[REG_RSP];
#else
    const uintptr_t *words = (const uintptr_t *)(const void *)at->uc_mcontext.regs;
    size_t count = 31;
    uintptr_t stack_pointer = (uintptr_t)at->uc_mcontext.sp;
#endif
    if (gc__os_fault((uintptr_t)info->si_addr, words, count, stack_pointer)) return;
    if (gc__os_fault_former.sa_flags & SA_SIGINFO)
        gc__os_fault_former.sa_sigaction(number, info, context);
    else if (gc__os_fault_former.sa_handler != SIG_DFL && gc__os_fault_former.sa_handler != SIG_IGN)
        gc__os_fault_former.sa_handler(number);
    else /* the instruction runs again on return, and the former action follows */
        sigaction(number, &gc__os_fault_former, NULL);
}

GC__COLD void gc__os_on_fault(gc__fault_handler f) {
    if (gc__os_fault) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = gc__os_fault_signal;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    gc__os_fault = f;
    sigaction(SIGSEGV, &action, &gc__os_fault_former);
}

GC__COLD void gc__os_leave(void) {
    gc__lock_take(&gc__os_end_lock);
    if (gc__os_end_ok) pthread_key_delete(gc__os_end_key);
    gc__os_end_ok = false;
    gc__lock_release(&gc__os_end_lock);
    struct sigaction action;
    if (!gc__os_fault || sigaction(SIGSEGV, NULL, &action) != 0) return;
    if (!(action.sa_flags & SA_SIGINFO) || action.sa_sigaction != gc__os_fault_signal) return;
    sigaction(SIGSEGV, &gc__os_fault_former, NULL);
    gc__os_fault = NULL;
}

GC__COLD int gc__os_file_has_code(struct dl_phdr_info *file, size_t bytes, void *address) {
    (void)bytes;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) &&
            (uintptr_t)address - (file->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return 1;
    }
    return 0;
}

GC__FN bool gc__os_is_file_code(const void *address) {
    return dl_iterate_phdr(gc__os_file_has_code, (void *)(uintptr_t)address) != 0;
}

#ifdef __GLIBC__
GC__FN int gc__os_stack_frames(void **frames) { return backtrace(frames, GC__STACK_FRAMES); }

GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames) {
    int count = gc__os_stack_frames(frames), first = 0;
    while (first < count && (uintptr_t)frames[first] != gc__os_fault_pc(words)) first++;
    if (first == count) first = 0;
    memmove(frames, frames + first, (size_t)(count - first) * sizeof *frames);
    return count - first;
}
#else
/* Without the C library's help: follows the chain of frame pointers, which ends at a function that has none. There the
   register may hold any number. */
GC__FN int gc__os_follow_frames(uintptr_t pointer, void **frames, int count) {
    while (count < GC__STACK_FRAMES && pointer % 8 == 0 && gc__os_is_mapped((const void *)pointer, 16)) {
        const gc_word *frame = (const gc_word *)pointer;
        if (!gc__os_is_file_code((const void *)frame[1])) break;
        frames[count++] = (void *)frame[1];
        if (frame[0] <= pointer || frame[0] - pointer > (uintptr_t)1 << 20) break;
        pointer = frame[0];
    }
    return count;
}

GC__FN int gc__os_stack_frames(void **frames) {
    return gc__os_follow_frames((uintptr_t)__builtin_frame_address(0), frames, 0);
}

GC__FN int gc__os_fault_frames(const uintptr_t *words, void **frames) {
    frames[0] = (void *)gc__os_fault_pc(words);
    return gc__os_follow_frames(words[GC__OS_FRAME_POINTER], frames, 1);
}
#endif

GC__FN uint64_t gc__os_stack_hash(void) {
    void *frames[GC__STACK_FRAMES];
    int count = gc__os_stack_frames(frames);
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < count; i++) hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    return hash;
}

GC__FN const char *gc__os_setting(const char *variable) {
    const char *value = secure_getenv(variable);
    return value && *value ? value : NULL;
}

GC__FN const char *gc__os_program_name(void) { return program_invocation_short_name; }
GC__FN uint32_t gc__os_process_number(void) { return (uint32_t)getpid(); }
/* How much memory and how many processors the process may have: the limits of its control groups and its own. */

/* Files and pipes line by line, without memory of the C library's: a thread may be stopped that holds its lock. */

/* Files of programs in memory, on Linux: their sections, symbols and build ids. Nothing is believed of what they say: a damaged
   file has fewer of these. */

/* Two shipped headers have this part, and a program may include both. */
#ifndef GC__IMAGE_FN
#define GC__IMAGE_FN static __attribute__((unused, cold))

#if (defined(GC_DAC_IMPLEMENTATION) || defined(GC_IMPLEMENTATION)) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* O_CLOEXEC, also under -std=c11 */
#endif

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GC__IMAGE_PATH 4096

#if defined(__x86_64__)
#define GC__IMAGE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define GC__IMAGE_MACHINE EM_AARCH64
#else
#define GC__IMAGE_MACHINE EM_NONE
#endif

/* A file in memory, read only. */
typedef struct gc__image {
    const uint8_t *bytes;
    size_t size;
} gc__image;

#define GC__IMAGE_NO_FILE (-1) /* it is no regular file */
#define GC__IMAGE_EMPTY (-2)

/* Maps a regular file. 0, or the number of the system's error, or one of these. Safe in a fault handler. */
GC__IMAGE_FN int gc__image_open(const char *path, gc__image *image) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), fault = fd < 0 ? errno : 0;
    image->bytes = NULL;
    image->size = 0;
    if (!fault && fstat(fd, &status) != 0) fault = errno;
    if (!fault && !S_ISREG(status.st_mode)) fault = GC__IMAGE_NO_FILE;
    if (!fault && status.st_size == 0) fault = GC__IMAGE_EMPTY;
    if (!fault) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) fault = errno;
        if (!fault) image->bytes = (const uint8_t *)bytes, image->size = (size_t)status.st_size;
    }
    if (fd >= 0) close(fd);
    return fault;
}

/* Maps a regular file. NULL, or why that is impossible. */
GC__IMAGE_FN const char *gc__image_map(const char *path, gc__image *image) {
    int fault = gc__image_open(path, image);
    if (fault == GC__IMAGE_NO_FILE) return "it is no regular file";
    if (fault == GC__IMAGE_EMPTY) return "it is empty";
    return fault ? strerror(fault) : NULL;
}

GC__IMAGE_FN void gc__image_unmap(gc__image *image) {
    if (image->bytes) munmap((void *)(uintptr_t)image->bytes, image->size);
    image->bytes = NULL;
    image->size = 0;
}

GC__IMAGE_FN bool gc__image_has(const gc__image *image, uint64_t offset, uint64_t bytes) {
    return offset <= image->size && bytes <= image->size - offset;
}

/* The build id among notes; NULL: there is none. */
GC__IMAGE_FN const uint8_t *gc__image_id_in(const uint8_t *notes, uint64_t bytes, uint64_t alignment, size_t *length) {
    const uint64_t unit = alignment == 8 ? 8 : 4;
    uint64_t from = 0;
    Elf64_Nhdr note;
    while (from <= bytes && bytes - from >= sizeof note) {
        memcpy(&note, notes + from, sizeof note);
        uint64_t name = from + sizeof note, contents = name + ((note.n_namesz + unit - 1) & ~(unit - 1));
        if (contents > bytes || note.n_descsz > bytes - contents) return NULL;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            *length = note.n_descsz;
            return notes + contents;
        }
        from = contents + ((note.n_descsz + unit - 1) & ~(unit - 1));
    }
    return NULL;
}

/* Part `i` of the program headers; false: there are not so many. */
GC__IMAGE_FN bool gc__image_part(const gc__image *image, unsigned i, Elf64_Phdr *part) {
    Elf64_Ehdr header;
    if (!gc__image_has(image, 0, sizeof header)) return false;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t at = header.e_phoff + (uint64_t)i * sizeof *part;
    if (i >= header.e_phnum || header.e_phentsize != sizeof *part || at < header.e_phoff) return false;
    if (!gc__image_has(image, at, sizeof *part)) return false;
    memcpy(part, image->bytes + at, sizeof *part);
    return true;
}

/* The build id of the file; NULL: it has none. The image may be only the beginning of the file. */
GC__IMAGE_FN const uint8_t *gc__image_build_id(const gc__image *image, size_t *length) {
    Elf64_Phdr part;
    for (unsigned i = 0; gc__image_part(image, i, &part); i++) {
        if (part.p_type != PT_NOTE || !gc__image_has(image, part.p_offset, part.p_filesz)) continue;
        const uint8_t *id = gc__image_id_in(image->bytes + part.p_offset, part.p_filesz, part.p_align, length);
        if (id) return id;
    }
    return NULL;
}

/* Section `i`, whose contents are in the file; false: there are not so many, or the file is no ELF file for 64 bits. One
   whose contents are not whole has none. */
GC__IMAGE_FN bool gc__image_section(const gc__image *image, uint64_t i, Elf64_Shdr *section) {
    Elf64_Ehdr header;
    if (!gc__image_has(image, 0, sizeof header)) return false;
    memcpy(&header, image->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof *section || !header.e_shoff)
        return false;
    uint64_t count = header.e_shnum;
    if (!gc__image_has(image, header.e_shoff, sizeof *section)) return false;
    memcpy(section, image->bytes + header.e_shoff, sizeof *section);
    if (!count) count = section->sh_size; /* more than a half word can say */
    if (i >= count || i > image->size / sizeof *section) return false;
    if (!gc__image_has(image, header.e_shoff, (i + 1) * sizeof *section)) return false;
    memcpy(section, image->bytes + header.e_shoff + i * sizeof *section, sizeof *section);
    if (section->sh_type == SHT_NOBITS || !gc__image_has(image, section->sh_offset, section->sh_size))
        section->sh_size = section->sh_offset = 0;
    return true;
}

/* The first section of that type; false: there is none. */
GC__IMAGE_FN bool gc__image_section_of_type(const gc__image *image, uint32_t type, Elf64_Shdr *section) {
    for (uint64_t i = 0; gc__image_section(image, i, section); i++)
        if (section->sh_type == type && section->sh_size) return true;
    return false;
}

/* A text in a section of texts; NULL: there is none. */
GC__IMAGE_FN const char *gc__image_text(const gc__image *image, const Elf64_Shdr *texts, uint64_t offset) {
    if (offset >= texts->sh_size) return NULL;
    const char *text = (const char *)image->bytes + texts->sh_offset + offset;
    return memchr(text, 0, texts->sh_size - offset) ? text : NULL;
}

GC__IMAGE_FN bool gc__image_section_named(const gc__image *image, const char *name, Elf64_Shdr *section) {
    Elf64_Ehdr header;
    Elf64_Shdr texts;
    if (!gc__image_section(image, 0, section)) return false;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t names = header.e_shstrndx == SHN_XINDEX ? section->sh_link : header.e_shstrndx;
    if (!gc__image_section(image, names, &texts)) return false;
    for (uint64_t i = 0; gc__image_section(image, i, section); i++) {
        const char *text = gc__image_text(image, &texts, section->sh_name);
        if (text && strcmp(text, name) == 0) return true;
    }
    return false;
}

/* A table of symbols. */
typedef struct gc__image_symbols {
    const gc__image *image;
    Elf64_Shdr table, texts;
    uint64_t count;
} gc__image_symbols;

/* Opens the file's .symtab, or if it has none its .dynsym; false: it has neither. */
GC__IMAGE_FN bool gc__image_symbols_open(gc__image_symbols *symbols, const gc__image *image) {
    symbols->image = image;
    symbols->count = 0;
    if (!gc__image_section_of_type(image, SHT_SYMTAB, &symbols->table) &&
        !gc__image_section_of_type(image, SHT_DYNSYM, &symbols->table))
        return false;
    if (!gc__image_section(image, symbols->table.sh_link, &symbols->texts)) return false;
    symbols->count = symbols->table.sh_size / sizeof(Elf64_Sym);
    return true;
}

/* Sets of types of symbols, which have a bit each. */
#define GC__IMAGE_CODE (1u << STT_FUNC | 1u << STT_GNU_IFUNC | 1u << STT_NOTYPE)
#define GC__IMAGE_DATA (1u << STT_OBJECT)

/* Symbol `i`, and its name; NULL: it has none, or is of no such type. */
GC__IMAGE_FN const char *gc__image_symbol(const gc__image_symbols *symbols, uint64_t i, unsigned types,
                                          Elf64_Sym *symbol) {
    memcpy(symbol, symbols->image->bytes + symbols->table.sh_offset + i * sizeof *symbol, sizeof *symbol);
    if (!(types >> ELF64_ST_TYPE(symbol->st_info) & 1) || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
        return NULL;
    const char *name = gc__image_text(symbols->image, &symbols->texts, symbol->st_name);
    return name && *name ? name : NULL;
}
#endif

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct gc__os_lines {
    int file;
    int patience_ms; /* after which a pipe that says nothing has ended; 0: it is a file */
    size_t next, end;
    char bytes[2048];
} gc__os_lines;

/* Whether something can be read before the patience ends. The header of poll() declares more names than programs expect here. */
static inline bool gc__os_lines_wait(const gc__os_lines *lines) {
    struct {
        int file;
        short wanted, ready;
    } of = {lines->file, 1 /* POLLIN */, 0};
    struct timespec time = {lines->patience_ms / 1000, (long)(lines->patience_ms % 1000) * 1000000};
    return !lines->patience_ms || syscall(SYS_ppoll, &of, 1, &time, NULL, (size_t)8) > 0;
}

/* The next line, without its end, cut to `bytes`. False: there is none. */
GC__IMAGE_FN bool gc__os_line(gc__os_lines *lines, char *line, size_t bytes) {
    size_t length = 0;
    for (bool any = false;; any = true) {
        if (lines->next == lines->end) {
            ssize_t got = gc__os_lines_wait(lines) ? read(lines->file, lines->bytes, sizeof lines->bytes) : 0;
            lines->next = 0, lines->end = got > 0 ? (size_t)got : 0;
            if (got <= 0 && !any) return false;
        }
        char byte = lines->end ? lines->bytes[lines->next++] : '\n';
        if (byte == '\n') break;
        if (length + 1 < bytes) line[length++] = byte;
    }
    line[length] = 0;
    return true;
}

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

GC__VAR const char *gc__os_root = ""; /* goes before the names of the files below; tests have a folder of their own */

#define GC__OS_NAME_BYTES 1024

/* The hierarchy of control groups that has a controller: "memory" or "cpu". */
typedef struct gc__os_groups {
    const char *controller;
    char group[GC__OS_NAME_BYTES];  /* the process's, as /proc/self/cgroup names it */
    char root[GC__OS_NAME_BYTES];   /* the group that is at the mount point */
    char folder[GC__OS_NAME_BYTES]; /* the mount point; then the folder of the process's group */
    size_t mount_bytes;             /* length of the mount point */
    bool first;                     /* version 1 */
} gc__os_groups;

GC__COLD bool gc__os_lines_open(gc__os_lines *lines, const char *folder, const char *file) {
    char name[2 * GC__OS_NAME_BYTES];
    snprintf(name, sizeof name, "%s%s/%s", gc__os_root, folder, file);
    lines->next = lines->end = 0;
    lines->patience_ms = 0;
    lines->file = open(name, O_RDONLY | O_CLOEXEC);
    return lines->file >= 0;
}

/* The first line of a small file; empty if there is none. */
GC__COLD void gc__os_read_line(const char *folder, const char *file, char *line, size_t bytes) {
    gc__os_lines lines;
    *line = 0;
    if (!gc__os_lines_open(&lines, folder, file)) return;
    if (!gc__os_line(&lines, line, bytes)) *line = 0;
    close(lines.file);
}

/* The number in a file; SIZE_MAX if there is none, as where the file says "max". */
GC__COLD size_t gc__os_number_in(const char *folder, const char *file) {
    char line[64], *end;
    gc__os_read_line(folder, file, line, sizeof line);
    unsigned long long number = strtoull(line, &end, 10);
    return end == line ? SIZE_MAX : (size_t)number;
}

/* Whether `word` is in a list that is separated by commas. */
GC__COLD bool gc__os_lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ',')) return true;
    return false;
}

/* Lines are "4:memory:/group" in version 1, "0::/group" in version 2. Where both are in use, version 1 has the controller. */
GC__COLD bool gc__os_find_group(gc__os_groups *groups) {
    gc__os_lines lines;
    char line[GC__OS_NAME_BYTES];
    bool found = false;
    if (!gc__os_lines_open(&lines, "/proc/self", "cgroup")) return false;
    while (!(found && groups->first) && gc__os_line(&lines, line, sizeof line)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        bool first = gc__os_lists(controllers, groups->controller);
        if (!first && (*controllers || found)) continue;
        memcpy(groups->group, group, strlen(group) + 1);
        groups->first = first;
        found = true;
    }
    close(lines.file);
    return found;
}

/* Lines are "31 23 0:28 /root /mount/point options [more] - type source options". */
GC__COLD bool gc__os_find_mount(gc__os_groups *groups) {
    gc__os_lines lines;
    char line[2 * GC__OS_NAME_BYTES], type[32], options[GC__OS_NAME_BYTES];
    bool found = false;
    if (!gc__os_lines_open(&lines, "/proc/self", "mountinfo")) return false;
    while (!found && gc__os_line(&lines, line, sizeof line)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(rest, " - %31s %*s %1023s", type, options) != 2) continue;
        if (strcmp(type, groups->first ? "cgroup" : "cgroup2") != 0) continue;
        if (groups->first && !gc__os_lists(options, groups->controller)) continue;
        found = sscanf(line, "%*s %*s %*s %1023s %1023s", groups->root, groups->folder) == 2;
    }
    close(lines.file);
    return found;
}

/* The process's group below the mount point; that itself if the process does not see its group's name, as in a container. */
GC__COLD void gc__os_enter_group(gc__os_groups *groups) {
    size_t root = strcmp(groups->root, "/") == 0 ? 0 : strlen(groups->root);
    const char *rest = groups->group + root;
    groups->mount_bytes = strlen(groups->folder);
    if (strncmp(groups->group, groups->root, root) != 0 || *rest != '/' || !rest[1] || strstr(rest, "/..")) return;
    snprintf(groups->folder + groups->mount_bytes, sizeof groups->folder - groups->mount_bytes, "%s", rest);
}

/* The least of what `limit` finds in the folder of the process's group and of those around it; SIZE_MAX if there is none. */
GC__COLD size_t gc__os_group_least(const char *controller, size_t (*limit)(const gc__os_groups *groups)) {
    gc__os_groups groups;
    size_t least = SIZE_MAX;
    groups.controller = controller;
    if (!gc__os_find_group(&groups) || !gc__os_find_mount(&groups)) return least;
    gc__os_enter_group(&groups);
    for (;;) {
        size_t here = limit(&groups);
        if (here < least) least = here;
        char *slash = strrchr(groups.folder, '/');
        if (!slash || slash < groups.folder + groups.mount_bytes) return least;
        *slash = 0;
    }
}

GC__COLD size_t gc__os_group_bytes(const gc__os_groups *groups) {
    static const char *const first[] = {"memory.limit_in_bytes", NULL}, *const second[] = {"memory.max", "memory.high",
                                                                                           NULL};
    size_t least = SIZE_MAX;
    for (const char *const *file = groups->first ? first : second; *file; file++) {
        size_t bytes = gc__os_number_in(groups->folder, *file);
        if (bytes < least) least = bytes;
    }
    return least;
}

/* The processors that the group's quota amounts to, at least 1: it gives microseconds of all of them in each period. */
GC__COLD size_t gc__os_group_processors(const gc__os_groups *groups) {
    char line[64];
    unsigned long long quota, period;
    if (groups->first) {
        quota = gc__os_number_in(groups->folder, "cpu.cfs_quota_us"); /* -1: none */
        period = gc__os_number_in(groups->folder, "cpu.cfs_period_us");
        if (quota > (unsigned long long)INT64_MAX || period == SIZE_MAX) return SIZE_MAX;
    } else {
        gc__os_read_line(groups->folder, "cpu.max", line, sizeof line);
        if (sscanf(line, "%llu %llu", &quota, &period) != 2) return SIZE_MAX;
    }
    return period ? (size_t)((quota + period - 1) / period) + !quota : SIZE_MAX;
}

GC__COLD unsigned gc__os_quota(void) {
    int error = errno;
    size_t quota = gc__os_group_least("cpu", gc__os_group_processors);
    errno = error;
    return quota < UINT_MAX ? (unsigned)quota : UINT_MAX;
}

#define GC__OS_PAGE_HELD 61 /* this bit of a page's entry and those above it are 0 if it has no memory, and none in swap */

GC__HOT void gc__os_each_written(uintptr_t from, uintptr_t end, void (*visit)(void *, uintptr_t, uintptr_t),
                                 void *context) {
    uint64_t entries[512];
    size_t page = gc__os_page_bytes(), most = sizeof entries / sizeof *entries;
    uintptr_t at = from / page, last = (end + page - 1) / page, run = 0; /* 0: `at` is in none */
    bool any = false;
    int error = errno, file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && at < last) {
        size_t count = last - at < most ? last - at : most, bytes = count * sizeof *entries;
        if (pread(file, entries, bytes, (off_t)(at * sizeof *entries)) != (ssize_t)bytes) break;
        for (size_t i = 0; i < count; i++, at++) {
            bool held = entries[i] >> GC__OS_PAGE_HELD;
            any |= held;
            if (held && !run) run = at;
            if (held || !run) continue;
            visit(context, run * page > from ? run * page : from, at * page);
            run = 0;
        }
    }
    if (file >= 0) close(file);
    errno = error;
    if (!any) run = from / page; /* without any page, the table cannot be right */
    if (!run && at < last) run = at;
    if (run) visit(context, run * page > from ? run * page : from, end);
}

GC__COLD size_t gc__os_machine_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? (size_t)pages * gc__os_page_bytes() : SIZE_MAX;
}

GC__COLD size_t gc__os_container_bytes(void) {
    int error = errno;
    size_t bytes = gc__os_group_least("memory", gc__os_group_bytes);
    errno = error;
    return bytes < gc__os_machine_bytes() ? bytes : 0;
}

/* Whether a limit of which `used` pages are in use has no room for `bytes` more. */
GC__FN bool gc__os_exceeds(const struct rlimit *limit, unsigned long used, size_t bytes) {
    return limit->rlim_cur != RLIM_INFINITY && used * gc__os_page_bytes() + bytes > limit->rlim_cur;
}

GC__COLD const char *gc__os_refusal(size_t bytes) {
    if (errno == EAGAIN)
        return "raise `ulimit -l`, which counts address space too once the program has called mlockall";
    char line[256];
    unsigned long size = 0, data = 0;
    gc__os_read_line("/proc/self", "statm", line, sizeof line);
    if (sscanf(line, "%lu %*u %*u %*u %*u %lu", &size, &data) != 2) size = data = 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && gc__os_exceeds(&limit, size, bytes)) return "raise `ulimit -v`";
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && gc__os_exceeds(&limit, data, bytes)) return "raise `ulimit -d`";
    if (gc__os_number_in("/proc/sys/vm", "overcommit_memory") == 2)
        return "vm.overcommit_memory is 2, so the system promises no more memory than it has: raise "
               "vm.overcommit_ratio";
    return "raise `ulimit -v`, or vm.max_map_count if the process has many mappings, or give the machine more memory";
}
/* The platform contract for reports, on Linux: names of code and static data, by the symbols of the files that are loaded.
   Lines and inlined functions are those of the tool addr2line, if it is there.

   All of it is safe in a fault handler, even if the fault was within malloc: it takes no lock of the C library but that of
   stderr, and memory from the system alone. */

/* The symbols of one file of native code, by address: for reports, and for profiles. All of it is safe in a fault handler: it
   takes no lock, and memory from the system alone. */


#include <stdio.h>

typedef struct gc__symbol {
    uint64_t start, bytes; /* addresses of the file; 0 bytes: the file does not say how many */
    const char *name;
    uint32_t rank; /* of symbols with the same address, that of the lowest rank is taken */
} gc__symbol;

typedef struct gc__symbols {
    gc__image image, debug; /* the file, and the one with its debugging symbols, if it has one */
    gc__symbol *list;       /* ascending */
    size_t count, capacity_bytes;
} gc__symbols;

/* Where debugging symbols are installed. */
#ifndef GC__VAR
#define GC__VAR static
#endif
GC__VAR const char *gc__symbols_folder = "/usr/lib/debug";

GC__IMAGE_FN uint32_t gc__symbol_rank(const Elf64_Sym *symbol, const char *name) {
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    uint32_t rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
    while (*name == '_' && rank < 64) name++, rank += 4;
    return rank + (ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 128 : 0);
}

GC__IMAGE_FN bool gc__symbol_is_before(const gc__symbol *a, const gc__symbol *b) {
    return a->start != b->start ? a->start < b->start : a->rank < b->rank;
}

/* Has the symbol at `i` sink in a heap of `count` symbols, none of which is before those at 2 i + 1 and 2 i + 2. */
GC__IMAGE_FN void gc__symbols_sink(gc__symbol *list, size_t i, size_t count) {
    gc__symbol sinks = list[i];
    for (size_t below; (below = 2 * i + 1) < count; i = below) {
        if (below + 1 < count && gc__symbol_is_before(&list[below], &list[below + 1])) below++;
        if (!gc__symbol_is_before(&sinks, &list[below])) break;
        list[i] = list[below];
    }
    list[i] = sinks;
}

/* Sorts them by address and rank. In place, unlike qsort of some C libraries. */
GC__IMAGE_FN void gc__symbols_sort(gc__symbols *symbols) {
    for (size_t i = symbols->count / 2; i-- > 0;) gc__symbols_sink(symbols->list, i, symbols->count);
    for (size_t last = symbols->count; last-- > 1;) {
        gc__symbol highest = symbols->list[0];
        symbols->list[0] = symbols->list[last];
        symbols->list[last] = highest;
        gc__symbols_sink(symbols->list, 0, last);
    }
}

/* The sum that a link to a file with debugging symbols has of it. */
GC__IMAGE_FN uint32_t gc__symbols_sum(const gc__image *image) {
    uint32_t table[256], sum = UINT32_MAX;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
    for (size_t i = 0; i < image->size; i++) sum = sum >> 8 ^ table[(sum ^ image->bytes[i]) & 255];
    return ~sum;
}

GC__IMAGE_FN bool gc__symbols_same_id(const gc__image *a, const gc__image *b) {
    size_t length, other;
    const uint8_t *id = gc__image_build_id(a, &length), *id_of_other = gc__image_build_id(b, &other);
    return id && id_of_other && length == other && memcmp(id, id_of_other, length) == 0;
}

/* Opens the file with debugging symbols if it is there, and the right one: by its build id, or by the sum. */
GC__IMAGE_FN bool gc__symbols_try(gc__symbols *symbols, const char *path, const uint32_t *sum) {
    Elf64_Shdr table;
    if (gc__image_open(path, &symbols->debug)) return false;
    bool right =
        gc__symbols_same_id(&symbols->image, &symbols->debug) || (sum && gc__symbols_sum(&symbols->debug) == *sum);
    if (right && gc__image_section_of_type(&symbols->debug, SHT_SYMTAB, &table)) return true;
    gc__image_unmap(&symbols->debug);
    return false;
}

GC__IMAGE_FN bool gc__symbols_try_id(gc__symbols *symbols) {
    char path[GC__IMAGE_PATH];
    size_t length = 0;
    const uint8_t *id = gc__image_build_id(&symbols->image, &length);
    if (!id || length < 2 || length > 64) return false;
    int at = snprintf(path, sizeof path, "%s/.build-id/%02x/", gc__symbols_folder, id[0]);
    if (at < 0 || (size_t)at + 2 * length + sizeof ".debug" > sizeof path) return false;
    for (size_t i = 1; i < length; i++) at += snprintf(path + at, 3, "%02x", id[i]);
    strcpy(path + at, ".debug");
    return gc__symbols_try(symbols, path, NULL);
}

/* By the section that names the other file, which is beside the first one, in a folder there, or among installed ones. */
GC__IMAGE_FN bool gc__symbols_try_link(gc__symbols *symbols, const char *file) {
    static const char *const forms[] = {"%s%.*s%s", "%s%.*s.debug/%s", "%s%.*s%s"};
    Elf64_Shdr section;
    char path[GC__IMAGE_PATH];
    uint32_t sum;
    if (!gc__image_section_named(&symbols->image, ".gnu_debuglink", &section)) return false;
    const char *name = gc__image_text(&symbols->image, &section, 0), *slash = strrchr(file, '/');
    if (!name || !*name || strchr(name, '/')) return false;
    uint64_t at = (strlen(name) + 4) & ~(uint64_t)3;
    if (at + sizeof sum > section.sh_size) return false;
    memcpy(&sum, symbols->image.bytes + section.sh_offset + at, sizeof sum);
    int folder = slash ? (int)(slash - file) + 1 : 0;
    for (int i = 0; i < 3; i++) {
        int length = snprintf(path, sizeof path, forms[i], i == 2 ? gc__symbols_folder : "", folder, file, name);
        if (length < 0 || (size_t)length >= sizeof path || strcmp(path, file) == 0) continue;
        if (gc__symbols_try(symbols, path, &sum)) return true;
    }
    return false;
}

GC__IMAGE_FN void gc__symbols_close(gc__symbols *symbols) {
    if (symbols->list) munmap(symbols->list, symbols->capacity_bytes);
    gc__image_unmap(&symbols->debug);
    gc__image_unmap(&symbols->image);
    memset(symbols, 0, sizeof *symbols);
}

/* Takes labels within functions out of the list. */
GC__IMAGE_FN void gc__symbols_drop_labels(gc__symbols *symbols) {
    size_t kept = 0;
    uint64_t start = 0, bytes = 0; /* of the last function */
    for (size_t i = 0; i < symbols->count; i++) {
        gc__symbol symbol = symbols->list[i];
        if (!symbol.bytes && symbol.start != start && symbol.start - start < bytes) continue;
        if (symbol.bytes) start = symbol.start, bytes = symbol.bytes;
        symbols->list[kept++] = symbol;
    }
    symbols->count = kept;
}

/* Lists the symbols, of a set of types, of the file that was mapped from the path. What is damaged in it is left out. */
GC__IMAGE_FN void gc__symbols_list(gc__symbols *symbols, const char *path, unsigned types) {
    gc__image_symbols table;
    Elf64_Shdr own;
    bool has_own = gc__image_section_of_type(&symbols->image, SHT_SYMTAB, &own);
    bool elsewhere = !has_own && (gc__symbols_try_id(symbols) || gc__symbols_try_link(symbols, path));
    if (!gc__image_symbols_open(&table, elsewhere ? &symbols->debug : &symbols->image) || !table.count) return;
    size_t bytes = table.count * sizeof *symbols->list;
    void *list = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED) return;
    symbols->list = (gc__symbol *)list;
    symbols->capacity_bytes = bytes;
    for (uint64_t i = 0; i < table.count; i++) {
        Elf64_Sym found;
        const char *name = gc__image_symbol(&table, i, types, &found);
        if (!name) continue;
        gc__symbol symbol = {found.st_value, found.st_size, name, gc__symbol_rank(&found, name)};
        symbols->list[symbols->count++] = symbol;
    }
    gc__symbols_sort(symbols);
    gc__symbols_drop_labels(symbols);
}

/* The address in the file's own numbering of what is at an offset in it; 0: nothing is loaded from there. */
GC__IMAGE_FN uint64_t gc__symbols_address(const gc__symbols *symbols, uint64_t offset) {
    Elf64_Phdr part;
    for (unsigned i = 0; gc__image_part(&symbols->image, i, &part); i++)
        if (part.p_type == PT_LOAD && offset - part.p_offset < part.p_filesz)
            return part.p_vaddr + (offset - part.p_offset);
    return 0;
}

#define GC__SYMBOLS_BACK 256 /* symbols that begin between a function's start and a place in it */

/* The symbol that the address belongs to; NULL: there is none. One without a size reaches to the next symbol, unless another
   one covers the address. */
GC__IMAGE_FN const gc__symbol *gc__symbols_find(const gc__symbols *symbols, uint64_t address) {
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->list[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const gc__symbol *best = NULL;
    for (size_t i = low; i-- > 0 && low - i <= GC__SYMBOLS_BACK && (!best || symbols->list[i].start == best->start);)
        if (address - symbols->list[i].start < symbols->list[i].bytes) best = &symbols->list[i];
    for (size_t i = low; !best && i-- > 0 && symbols->list[i].start == symbols->list[low - 1].start;)
        if (!symbols->list[i].bytes) best = &symbols->list[i];
    return best;
}

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The file of which an address is a part. */
typedef struct gc__os_place {
    uintptr_t address, offset; /* the offset is what the file's symbols say */
    char path[512];
} gc__os_place;

GC__COLD int gc__os_place_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    gc__os_place *place = (gc__os_place *)context;
    (void)bytes;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = file->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || place->address - start >= part->p_memsz) continue;
        place->offset = place->address - file->dlpi_addr;
        if (*file->dlpi_name)
            snprintf(place->path, sizeof place->path, "%s", file->dlpi_name);
        else
            snprintf(place->path, sizeof place->path, "/proc/%ld/exe", (long)getpid());
        return 1;
    }
    return 0;
}

/* False: the address is a part of no file. */
GC__COLD bool gc__os_place_of(uintptr_t address, gc__os_place *place) {
    place->address = address;
    return dl_iterate_phdr(gc__os_place_in, place) != 0;
}

/* The symbols of the file that was asked for last: addresses that follow each other are mostly of the same file. */
typedef struct gc__os_names {
    gc__os_place place;
    gc__symbols symbols;
    char opened[512]; /* the path of that file */
} gc__os_names;

GC__COLD void gc__os_names_close(gc__os_names *names) {
    gc__symbols_close(&names->symbols);
    *names->opened = 0;
}

/* The symbol at the address, whose place is stored then; NULL: there is none. `types` is always the same. */
GC__COLD const gc__symbol *gc__os_names_find(gc__os_names *names, uintptr_t address, unsigned types) {
    gc__os_place *place = &names->place;
    *place->path = 0;
    if (!gc__os_place_of(address, place)) return NULL;
    if (strcmp(names->opened, place->path) != 0) {
        gc__os_names_close(names);
        memcpy(names->opened, place->path, sizeof names->opened);
        if (gc__image_open(place->path, &names->symbols.image) == 0)
            gc__symbols_list(&names->symbols, place->path, types);
    }
    return gc__symbols_find(&names->symbols, place->offset);
}

/* Prints where in a file an address is. */
GC__COLD void gc__os_print_place(const gc__os_place *place) {
    char program[sizeof place->path];
    ssize_t length = strncmp(place->path, "/proc/", 6) == 0 ? readlink(place->path, program, sizeof program - 1) : -1;
    program[length < 0 ? 0 : length] = 0;
    fprintf(stderr, "%s+%#zx", length < 0 ? place->path : program, (size_t)place->offset);
}

/* Prints a frame, unless it is one of the collector's. Returns whether it has. */
GC__COLD bool gc__os_print_frame(gc__os_names *names, uintptr_t pc) {
    const gc__symbol *symbol = gc__os_names_find(names, pc, GC__IMAGE_CODE);
    if (symbol && strncmp(symbol->name, "gc__", 4) == 0) return false;
    if (symbol) {
        fprintf(stderr, "gc.h:     %s+%#zx (", symbol->name, (size_t)(names->place.offset - symbol->start));
        gc__os_print_place(&names->place);
        fputs(")\n", stderr);
        return true;
    }
    fputs("gc.h:     ", stderr);
    if (*names->place.path)
        gc__os_print_place(&names->place);
    else
        fprintf(stderr, "%p, which is in no file", (void *)pc);
    fputs("\n", stderr);
    return true;
}

#define GC__OS_TOOL_MS 5000 /* a tool that says nothing for so long is given up */

/* Starts a tool, as popen does, but without a shell, locks and memory; its output goes to the file. 0: the system refuses. */
GC__COLD pid_t gc__os_tool_start(char *const *arguments, int *from) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    pid_t pid = vfork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (dup2(ends[1], 1) >= 0 && dup2(nowhere, 2) >= 0) execvp(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    if (pid < 0) close(ends[0]);
    *from = ends[0];
    return pid < 0 ? 0 : pid;
}

static bool gc__os_has_no_sites; /* addr2line has said nothing, so that it is not started again; atomic */

/* What addr2line says of addresses in one file: for each a line that begins with it, and one for each function that it was
   inlined into. */
typedef struct gc__os_sites {
    pid_t tool; /* 0: it does not run */
    gc__os_lines lines;
    char line[512]; /* the next one; "": there is none */
} gc__os_sites;

GC__COLD void gc__os_sites_read(gc__os_sites *sites) {
    if (!sites->tool || !gc__os_line(&sites->lines, sites->line, sizeof sites->line)) *sites->line = 0;
}

GC__COLD void gc__os_sites_open(gc__os_sites *sites, char *path, const uintptr_t *offsets, int count) {
    enum { OPTIONS = 4, ROOM = 20 };
    char name[] = "addr2line", options[] = "-aCfip", of[] = "-e", texts[GC__STACK_FRAMES][ROOM];
    char *arguments[OPTIONS + GC__STACK_FRAMES + 1] = {name, options, of, path};
    for (int i = 0; i < count; i++) {
        snprintf(texts[i], ROOM, "%#zx", (size_t)offsets[i]);
        arguments[OPTIONS + i] = texts[i];
    }
    memset(sites, 0, sizeof *sites);
    sites->lines.patience_ms = GC__OS_TOOL_MS;
    if (!count || __atomic_load_n(&gc__os_has_no_sites, __ATOMIC_RELAXED) || access(path, R_OK) != 0) return;
    sites->tool = gc__os_tool_start(arguments, &sites->lines.file);
    gc__os_sites_read(sites);
    if (!*sites->line) __atomic_store_n(&gc__os_has_no_sites, true, __ATOMIC_RELAXED);
}

GC__COLD void gc__os_sites_close(gc__os_sites *sites) {
    if (!sites->tool) return;
    close(sites->lines.file);
    kill(sites->tool, SIGKILL);
    while (syscall(SYS_wait4, sites->tool, NULL, 0, NULL) < 0 && errno == EINTR) continue;
}

/* Goes on to the next address, and prints what is said of it, but for functions of gc.h. False: nothing is known of it. */
GC__COLD bool gc__os_sites_print(gc__os_sites *sites, int *shown, int most) {
    static const char into[] = " (inlined by) ";
    const char *name = strchr(sites->line, ' ');
    bool is_known = name && !strchr(name, '?');
    while (name) {
        name += strspn(name, " ");
        if (is_known && strncmp(name, "gc__", 4) != 0 && *shown < most)
            *shown += fprintf(stderr, "gc.h:     %s\n", name) > 0;
        gc__os_sites_read(sites);
        name = strncmp(sites->line, into, strlen(into)) == 0 ? sites->line + strlen(into) : NULL;
    }
    return is_known;
}

/* How many of the frames, from the first on, are in the same file. Stores the addresses of their calls in that, and its path. */
GC__COLD int gc__os_alike(void *const *frames, int count, uintptr_t exact, uintptr_t *offsets, char *path) {
    gc__os_place place;
    for (int same = 0; same < count; same++) {
        uintptr_t pc = (uintptr_t)frames[same];
        if (!gc__os_place_of(pc, &place) || (same && strcmp(place.path, path) != 0)) return same;
        memcpy(path, place.path, sizeof place.path);
        offsets[same] = place.offset - (pc != exact); /* a return address is that of the next instruction */
    }
    return count;
}

/* Names as many frames as are in the same file. Returns how many they are. */
GC__COLD int gc__os_name_alike(gc__os_names *names, void *const *frames, int count, uintptr_t exact, int *shown) {
    enum { LINES_MAX = 16 };
    gc__os_sites sites;
    uintptr_t offsets[GC__STACK_FRAMES];
    char path[sizeof names->opened];
    int same = gc__os_alike(frames, count, exact, offsets, path), named = same ? same : 1;
    gc__os_sites_open(&sites, path, offsets, same);
    for (int i = 0; i < named; i++)
        if (!gc__os_sites_print(&sites, shown, LINES_MAX) && *shown < LINES_MAX)
            *shown += gc__os_print_frame(names, (uintptr_t)frames[i] - ((uintptr_t)frames[i] != exact));
    gc__os_sites_close(&sites);
    return named;
}

GC__COLD void gc__os_name_frames(void *const *frames, int count, uintptr_t exact) {
    gc__os_names names;
    int shown = 0;
    memset(&names, 0, sizeof names);
    for (int i = 0; i < count;) i += gc__os_name_alike(&names, frames + i, count - i, exact, &shown);
    gc__os_names_close(&names);
}

GC__COLD void gc__os_print_stack(void) {
    void *frames[GC__STACK_FRAMES];
    int count = gc__os_stack_frames(frames);
    gc__os_names names;
    memset(&names, 0, sizeof names);
    for (int i = 0; i < count; i++) gc__os_print_frame(&names, (uintptr_t)frames[i] - 1);
    gc__os_names_close(&names);
}

GC__COLD void gc__os_name_data(char *text, size_t bytes, uintptr_t address) {
    gc__os_names names;
    memset(&names, 0, sizeof names);
    const gc__symbol *symbol = gc__os_names_find(&names, address, GC__IMAGE_DATA);
    if (symbol)
        snprintf(text, bytes, "the static variable `%s` (offset %zu)", symbol->name,
                 (size_t)(names.place.offset - symbol->start));
    else
        snprintf(text, bytes, "static data at %p", (void *)address);
    gc__os_names_close(&names);
}

typedef struct gc__os_data_search {
    void (*f)(void *context, uintptr_t start, uintptr_t end);
    void *context;
} gc__os_data_search;

GC__COLD int gc__os_data_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    const gc__os_data_search *search = (const gc__os_data_search *)context;
    uintptr_t page = gc__os_page_bytes(), hidden = 0, hidden_end = 0;
    (void)bytes;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_GNU_RELRO) continue;
        hidden = (file->dlpi_addr + part->p_vaddr) & ~(page - 1);
        hidden_end = (file->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
    }
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = (file->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7,
                  end = (file->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(uintptr_t)7;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        if (start - hidden < hidden_end - hidden) start = hidden_end; /* written before the program began */
        if (start < end) search->f(search->context, start, end);
    }
    return 0;
}

GC__COLD void gc__os_each_data(void (*f)(void *context, uintptr_t start, uintptr_t end), void *context) {
    gc__os_data_search search = {f, context};
    dl_iterate_phdr(gc__os_data_in, &search);
}
/* The platform contract for x86-64. */


#if defined(__x86_64__)
/* The address of static data in an assembly without other operands: an attribute of its definition, the text, the operand. */
#define GC__ASM_NAMED(name)
#define GC__ASM_ADDRESS(name) "%c0"
#define GC__ASM_OPERAND(name) "i"(&name)

GC__FN void gc__cpu_pause(void) { __builtin_ia32_pause(); }
GC__FN uint64_t gc__cpu_ticks(void) { return __builtin_ia32_rdtsc(); }

/* For functions that are all assembly, to which no option of the compiler may add code of its own. */
#define GC__NAKED __attribute__((naked, weak, noinline, no_instrument_function, GC__NAKED_MORE))
#ifdef __clang__
#define GC__NAKED_MORE no_profile_instrument_function
#define GC__NAKED_CLOBBERS "memory", "unwind" /* a static function that cannot throw might have no unwind table */
#else
#define GC__NAKED_MORE no_profile_instrument_function, no_stack_protector, no_sanitize_undefined
#define GC__NAKED_CLOBBERS "memory"
#endif

/* For functions that run in the middle of inline assembly, whose vectors must stay as they are. */
#define GC__KEEPS_VECTORS target("general-regs-only")
#define GC__THREAD_POINTER() \
    __extension__({ \
        uintptr_t gc__thread_pointer; \
        __asm__("{movq %%fs:0, %0|mov %0, qword ptr fs:0}" : "=r"(gc__thread_pointer)); \
        gc__thread_pointer; \
    })

/* Defines what assembly calls with two words on the stack, the first argument above the return address: calls
   function(first, second), and keeps all registers. If that returns false, the caller faults by reading `second`, on a stack
   as it was before the assembly, so that unwinders can leave it.

   The short way comes first: it does what the function would, with gc__my_chunks, where gc__the_store_logging (`noting`) allows it and
   nothing unusual is met. It is as short as can be: a processor works ahead of a store that waits for memory by so many
   instructions. `ages` is where the ages are; 0x20 and 0x08 are GC__AGE_MARKING and GC__AGE_CANDIDATE. A place of the log is
   written to only where it is taken for good, so that the marker finds no word that another one replaces. */
/* clang-format off */
#if defined(__PIC__) && !defined(__PIE__)
#define GC__LOG_STORE_SHORT
#define GC__LOG_STORE_OPERANDS(ages, logging)
#else
#define GC__LOG_STORE_OPERANDS(ages, logging) , "i"(&logging), "i"(&ages)
#define GC__LOG_STORE_SHORT \
    "{push %%rax|push rax}\n\t" "{push %%rcx|push rcx}\n\t" "{push %%rdx|push rdx}\n\t" "{push %%rsi|push rsi}\n\t" \
    "{movq %c1+8(%%rip), %%rcx|mov rcx, qword ptr [rip+%c1+8]}\n\t" /* rcx: this thread's pieces, less its thread pointer */ \
    "{movq %c1(%%rip), %%rsi|mov rsi, qword ptr [rip+%c1]}\n\t" \
    "{movq 40(%%rsp), %%rax|mov rax, qword ptr [rsp+40]}\n\t" /* rax: the slot */ \
    "{cmpq %%fs:(%%rcx), %%rsi|cmp rsi, qword ptr fs:[rcx]}\n\t" "jne 8f\n\t" \
    "{movq 48(%%rsp), %%rdx|mov rdx, qword ptr [rsp+48]}\n\t" \
    "{shrq $" GC__TEXT(GC_REGION_SHIFT) ", %%rdx|shr rdx, " GC__TEXT(GC_REGION_SHIFT) "}\n\t" \
    "{addq %c2(%%rip), %%rdx|add rdx, qword ptr [rip+%c2]}\n\t" /* rdx: the age of what is stored */ \
    "{movzbl -" GC__ASM_RANKS "(%%rdx), %%esi|movzx esi, byte ptr [rdx-" GC__ASM_RANKS "]}\n\t" /* esi: its youth */ \
    "{cmpl $2, %%esi|cmp esi, 2}\n\t" "ja 8f\n\t" \
    "{cmpb $1, %c1+16(%%rip)|cmp byte ptr [rip+%c1+16], 1}\n\t" "je 4f\n\t" "ja 8f\n" \
    "2:\t" "{testl %%esi, %%esi|test esi, esi}\n\t" "je 9f\n\t" \
    "{cmpb $0, %c1+17(%%rip)|cmp byte ptr [rip+%c1+17], 0}\n\t" "je 8f\n\t" \
    "{movq %%fs:8(%%rcx), %%rdx|mov rdx, qword ptr fs:[rcx+8]}\n\t" \
    "{cmpq %%fs:16(%%rcx), %%rdx|cmp rdx, qword ptr fs:[rcx+16]}\n\t" "je 8f\n\t" \
    "{movq %%rax, (%%rdx)|mov qword ptr [rdx], rax}\n\t" \
    "{addq $8, %%fs:8(%%rcx)|add qword ptr fs:[rcx+8], 8}\n" \
    "9:\t" "{pop %%rsi|pop rsi}\n\t" "{pop %%rdx|pop rdx}\n\t" "{pop %%rcx|pop rcx}\n\t" "{pop %%rax|pop rax}\n\t" "ret\n" \
    "4:\t" "{push %%rdi|push rdi}\n\t" "{push %%rbx|push rbx}\n\t" \
    "{movzbl (%%rdx), %%edx|movzx edx, byte ptr [rdx]}\n\t" \
    "{movq %%fs:24(%%rcx), %%rdi|mov rdi, qword ptr fs:[rcx+24]}\n\t" \
    "{testb $0x08, %%dl|test dl, 0x08}\n\t" "jne 7f\n\t" \
    "{cmpq %%fs:32(%%rcx), %%rdi|cmp rdi, qword ptr fs:[rcx+32]}\n\t" "jae 7f\n\t" \
    "{movq (%%rax), %%rbx|mov rbx, qword ptr [rax]}\n\t" \
    "{notq %%rbx|not rbx}\n\t" "{movq %%rbx, (%%rdi)|mov qword ptr [rdi], rbx}\n\t" \
    "{testb $0x20, %%dl|test dl, 0x20}\n\t" "je 5f\n\t" \
    "{movq 64(%%rsp), %%rbx|mov rbx, qword ptr [rsp+64]}\n\t" \
    "{notq %%rbx|not rbx}\n\t" "{movq %%rbx, 8(%%rdi)|mov qword ptr [rdi+8], rbx}\n\t" \
    "{addq $8, %%rdi|add rdi, 8}\n" \
    "5:\t" "{addq $8, %%rdi|add rdi, 8}\n\t" "{movq %%rdi, %%fs:24(%%rcx)|mov qword ptr fs:[rcx+24], rdi}\n\t" \
    "{pop %%rbx|pop rbx}\n\t" "{pop %%rdi|pop rdi}\n\t" "jmp 2b\n" \
    "7:\t" "{pop %%rbx|pop rbx}\n\t" "{pop %%rdi|pop rdi}\n" \
    "8:\t" "{pop %%rsi|pop rsi}\n\t" "{pop %%rdx|pop rdx}\n\t" "{pop %%rcx|pop rcx}\n\t" "{pop %%rax|pop rax}\n\t"
#endif
#define GC__LOG_STORE_CALL(name, function, ages, logging) \
    static __attribute__((naked, used, noinline, no_instrument_function, GC__NAKED_MORE)) void name(void) { \
        __asm__( \
            "endbr64\n\t" GC__LOG_STORE_SHORT \
            "{push %%rax|push rax}\n\t" "{push %%rcx|push rcx}\n\t" "{push %%rdx|push rdx}\n\t" \
            "{push %%rsi|push rsi}\n\t" "{push %%rdi|push rdi}\n\t" "{push %%r8|push r8}\n\t" \
            "{push %%r9|push r9}\n\t" "{push %%r10|push r10}\n\t" "{push %%r11|push r11}\n\t" \
            "{push %%rbp|push rbp}\n\t" \
            "{movq 88(%%rsp), %%rdi|mov rdi, [rsp+88]}\n\t" \
            "{movq 96(%%rsp), %%rsi|mov rsi, [rsp+96]}\n\t" \
            "{movq %%rsp, %%rbp|mov rbp, rsp}\n\t" \
            "{andq $-16, %%rsp|and rsp, -16}\n\t" \
            "call %P0\n\t" \
            "{testb %%al, %%al|test al, al}\n\t" \
            "{movq %%rbp, %%rsp|mov rsp, rbp}\n\t" \
            "{pop %%rbp|pop rbp}\n\t" "{pop %%r11|pop r11}\n\t" "{pop %%r10|pop r10}\n\t" \
            "{pop %%r9|pop r9}\n\t" "{pop %%r8|pop r8}\n\t" "{pop %%rdi|pop rdi}\n\t" \
            "{pop %%rsi|pop rsi}\n\t" "{pop %%rdx|pop rdx}\n\t" "{pop %%rcx|pop rcx}\n\t" \
            "{pop %%rax|pop rax}\n\t" \
            "jz 1f\n\t" \
            "ret\n" \
            "1:\t" \
            "{movq (%%rsp), %%rax|mov rax, [rsp]}\n\t" "{movq 16(%%rsp), %%rcx|mov rcx, [rsp+16]}\n\t" \
            "{leaq 144(%%rsp), %%rsp|lea rsp, [rsp+144]}\n\t" "{movq %%rax, (%%rsp)|mov [rsp], rax}\n\t" \
            "{movq (%%rcx), %%rax|mov rax, [rcx]}\n\t" \
            "ud2" \
            :: "i"(function) GC__LOG_STORE_OPERANDS(ages, logging) : "memory"); \
    }
/* clang-format on */

/* In both dialects of assembly, for -masm=intel. Weak, for GC__ASSEMBLY_LINKAGE; also, no caller of a weak function relies
   on which registers its body leaves alone. */
GC__EXTERN GC__VISIBLE GC__NAKED void gc__save_registers(uintptr_t *registers __attribute__((unused))) {
    __asm__("{movq %%rbx, 0(%%rdi)|mov [rdi], rbx}\n\t"
            "{movq %%rbp, 8(%%rdi)|mov [rdi+8], rbp}\n\t"
            "{movq %%r12, 16(%%rdi)|mov [rdi+16], r12}\n\t"
            "{movq %%r13, 24(%%rdi)|mov [rdi+24], r13}\n\t"
            "{movq %%r14, 32(%%rdi)|mov [rdi+32], r14}\n\t"
            "{movq %%r15, 40(%%rdi)|mov [rdi+40], r15}\n\t"
            "{leaq 8(%%rsp), %%rax|lea rax, [rsp+8]}\n\t"
            "{movq %%rax, 88(%%rdi)|mov [rdi+88], rax}\n\t"
            "ret" ::
                : "memory");
}
#endif
/* The platform contract for AArch64. */


#if defined(__aarch64__)
/* Compilers for AArch64 take the address of data for no operand of assembly in code that can be placed anywhere, so the data
   has a name of its own there. */
#define GC__ASM_NAMED(name) __asm__(#name)
#define GC__ASM_ADDRESS(name) #name
#define GC__ASM_OPERAND(name)

/* Barriers are in C there, and call C functions. */
#define GC__KEEPS_VECTORS unused
#define GC__THREAD_POINTER() ((uintptr_t)0)
#define GC__LOG_STORE_CALL(name, function, ages, logging) \
    GC__FN void name(void) {}

GC__FN void gc__cpu_pause(void) { __asm__ volatile("yield"); }
GC__FN uint64_t gc__cpu_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

__asm__(".pushsection .text\n\t" GC__ASSEMBLY_LINKAGE(
    "gc__save_registers") ".type gc__save_registers, %function\n"
                          "gc__save_registers:\n\t"
                          "stp x19, x20, [x0]\n\tstp x21, x22, [x0, #16]\n\tstp x23, x24, [x0, #32]\n\tstp x25, x26, "
                          "[x0, #48]\n\t"
                          "stp x27, x28, [x0, #64]\n\tstr x29, [x0, #80]\n\tmov x1, sp\n\tstr x1, [x0, #88]\n\tret\n\t"
                          ".size gc__save_registers, .-gc__save_registers\n\t.popsection");
#endif
/* The platform contract for sanitizers. */


#ifndef __has_feature
#define GC__HAS_FEATURE(name) 0
#else
#define GC__HAS_FEATURE(name) __has_feature(name)
#endif
#if defined(__SANITIZE_THREAD__) || GC__HAS_FEATURE(thread_sanitizer)
#define GC__THREAD_SANITIZER 1
#else
#define GC__THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || GC__HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free) {
    if (is_free)
        __asan_poison_memory_region((void *)address, bytes);
    else
        __asan_unpoison_memory_region((void *)address, bytes);
}
#else
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free) {
    (void)address, (void)bytes, (void)is_free;
}
#endif
/* With GC_DEBUG, finds a signal handler that calls gc.h although it has interrupted gc.h on the same thread: the
   interrupted function may be in the middle of any change, and may hold any lock. */


/* The function of gc.h in which the calling thread is; NULL: in none, or in a callback of the host that may call gc.h. */
static __thread const char *volatile gc__inside;

GC_API void gc__check_outside(const char *name) {
    const char *inside = gc__inside;
    (void)name, (void)inside;
    GC_ASSERT(!inside,
              "%s was called while the same thread is within %s: by a signal handler, or by a callback that must not. "
              "Have the handler set a flag, and look at it where the thread calls gc_safepoint",
              name, inside);
}

GC__FN const char *gc__scope_enter(const char *name) {
    const char *outer = gc__inside;
    if (GC_DEBUG >= 1) gc__inside = name;
    return outer;
}

GC__FN void gc__scope_leave(const char **outer) {
    if (GC_DEBUG >= 1) gc__inside = *outer;
}

#define GC__SCOPE(name) const char *gc__outer __attribute__((cleanup(gc__scope_leave), unused)) = gc__scope_enter(name)
/* The rest of the scope belongs to the named function, which must not have been called from within gc.h. */
#define GC__API_SCOPE(name)                     \
    if (GC_DEBUG >= 1) gc__check_outside(name); \
    GC__SCOPE(name)
/* The rest of the scope is a callback, which may call gc.h. */
#define GC__HOST_SCOPE GC__SCOPE(NULL)
/* What the collector takes from the program around it where it is a library, or one of several: implemented by
   gc_standalone.h. All zero is a collector that is part of its program. */


typedef struct gc__outside {
    void *context;
    const char *(*setting)(void *context, const char *name); /* 0: the environment */
    void (*stomp)(void *context, const gc_barrier_change *change);
    void (*warning)(void *context, const char *message);
    void (*fatal)(void *context, const char *message);
    bool stores_no_shadow; /* inline stores of the program do not keep the shadow heap */
    bool can_be_chosen;    /* the environment names the collector of this program */
    const char *name;      /* of a library; NULL: the collector is part of the program */
    const char *settings;  /* those of a library, "NAME=VALUE NAME=VALUE", for what is not set; NULL: none */
} gc__outside;

static gc__outside gc__the_outside; /* written before the first heap is created */

/* A setting by its name; NULL: it is not set, or empty. */
GC__FN const char *gc__setting(const char *name) {
    static __thread char value[32];
    const char *set = gc__the_outside.setting ? gc__the_outside.setting(gc__the_outside.context, name) : gc__os_setting(name);
    size_t length = strlen(name);
    for (const char *at = set ? NULL : gc__the_outside.settings; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
        return value;
    }
    return set;
}

GC__FN void gc__outside_stomp(const gc_barrier_change *change) {
    if (gc__the_outside.stomp) gc__the_outside.stomp(gc__the_outside.context, change);
}
/* Failures, warnings and fatal faults, each as a sentence. */


#include <stdarg.h>

#define GC__MESSAGE_BYTES 1024

GC__DATA(const char GC__CONFIGURATION = 1);

static __thread gc_result gc__last_result;
static __thread char gc__last_message[GC__MESSAGE_BYTES];

GC__COLD void gc__fatal(const gc_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3), __noreturn__, __cold__));
GC__COLD gc_result gc__fail(gc_result result, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Records why a call fails, and returns `result`. */
GC__COLD gc_result gc__fail(gc_result result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    gc__last_result = result;
    vsnprintf(gc__last_message, sizeof gc__last_message, format, arguments);
    va_end(arguments);
    return result;
}

/* Adds to the sentence of the last gc__fail. */
GC__COLD void gc__fail_more(const char *format, ...) __attribute__((format(printf, 1, 2), cold));
GC__COLD void gc__fail_more(const char *format, ...) {
    size_t length = strlen(gc__last_message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(gc__last_message + length, sizeof gc__last_message - length, format, arguments);
    va_end(arguments);
}

/* Hands the sentence to the host's fatal hook, or stderr, and aborts. */
GC__COLD void gc__fatal(const gc_options *options, const char *format, ...) {
    char message[4 * GC__MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (options && options->fatal) {
        options->fatal(options->host, message);
    } else if (gc__the_outside.fatal) {
        gc__the_outside.fatal(gc__the_outside.context, message);
    } else {
        fflush(stdout);
        fprintf(stderr, "gc.h: %s\n", message);
    }
    abort();
}

GC__COLD void gc__warn(const gc_options *options, const char *message) {
    GC__HOST_SCOPE;
    if (options->warning)
        options->warning(options->host, message);
    else if (gc__the_outside.warning)
        gc__the_outside.warning(gc__the_outside.context, message);
    else
        fprintf(stderr, "gc.h: warning: %s\n", message);
}

GC_API void gc__misuse(const char *file, int line, const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "gc.h: misuse at %s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\ngc.h: the call is here (addr2line -e PROGRAM shows the line):\n", stderr);
    gc__os_print_stack();
    abort();
}

/* Returns whether an argument is NULL that must not be; if so, it has recorded the failure of the call. */
GC__COLD bool gc__is_null(const void *argument, const char *caller, const char *name) {
    if (GC__LIKELY(argument != NULL)) return false;
    gc__fail(GC_ERROR_ARGUMENT, "%s: %s is NULL", caller, name);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

GC_API const char *gc_version(void) { return GC_VERSION_TEXT; }

GC_API const char *gc_result_text(gc_result result) {
    static const char *const texts[] = {
#define GC__RESULT_TEXT(name, text) text,
        GC_RESULTS(GC__RESULT_TEXT)
#undef GC__RESULT_TEXT
    };
    return (size_t)result < sizeof texts / sizeof *texts ? texts[result] : "unknown result";
}

static const char *const gc__reason_texts[] = {
#define GC__REASON_TEXT(name, text) text,
    GC_REASONS(GC__REASON_TEXT)
#undef GC__REASON_TEXT
};
GC_API const char *gc_reason_text(gc_reason reason) {
    bool known = (size_t)reason < sizeof gc__reason_texts / sizeof *gc__reason_texts;
    return known ? gc__reason_texts[reason] : "unknown reason";
}

GC_API gc_result gc_last_result(void) { return gc__last_result; }
GC_API const char *gc_last_message(void) { return gc__last_message; }
/* Growing arrays of words outside the heap. */


GC__FN size_t gc__min(size_t a, size_t b) { return a < b ? a : b; }
GC__FN size_t gc__max(size_t a, size_t b) { return a > b ? a : b; }

/* Programs set limits by any number, and SIZE_MAX means that there is none. Sums and products with them must not overflow, so a
   limit is cut to this, */
#define GC__LIMIT_MOST (SIZE_MAX / 4 * 3)
#define GC__BUDGET_MOST (SIZE_MAX / 64) /* a nursery, a soft limit and the growth of a heap to this, */
#define GC__EXTERNAL_MOST (SIZE_MAX / 2) /* and the sum of off-heap bytes is never more than this. */

GC__FN size_t gc__times_at_most(size_t a, size_t b, size_t most) {
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? most : gc__min(product, most);
}

/* Adds to a counter that threads add to without the lock. */
GC__FN void gc__count(size_t *counter, size_t amount) { __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED); }
GC__FN size_t gc__counted(const size_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

#define GC__WORDS_FIRST_BYTES ((size_t)1 << 16) /* what a list takes at first */

typedef struct gc__words {
    uintptr_t *words;
    size_t count, capacity;
} gc__words;

/* What the list's memory is to be for so many words: doubled, or, if `close`, about a 16th more. */
GC__FN size_t gc__words_room(const gc__words *list, size_t count, bool close) {
    size_t bytes = list->capacity ? list->capacity * sizeof(uintptr_t) : GC__WORDS_FIRST_BYTES, least = count * sizeof(uintptr_t);
    if (close && least > bytes) return (least + least / 16 + GC__WORDS_FIRST_BYTES) & ~(GC__WORDS_FIRST_BYTES - 1);
    while (bytes < least) bytes *= 2;
    return bytes;
}

/* On failure nothing has changed. */
GC__FN bool gc__words_remap(gc__words *list, size_t bytes) {
    size_t old_bytes = list->capacity * sizeof(uintptr_t);
    void *words = old_bytes ? gc__os_remap(list->words, old_bytes, bytes) : gc__os_map(bytes);
    if (!words) return false;
    list->words = (uintptr_t *)words;
    list->capacity = bytes / sizeof(uintptr_t);
    return true;
}

GC__FN bool gc__words_resize(gc__words *list, size_t bytes) {
    return bytes <= list->capacity * sizeof(uintptr_t) || gc__words_remap(list, bytes);
}

/* Gives memory back if the list has at least twice what so many words, of which it holds none beyond, are to have. */
GC__FN void gc__words_shrink(gc__words *list, size_t count) {
    const gc__words none = {NULL, 0, 0};
    size_t bytes = gc__words_room(&none, count, true);
    if (list->capacity * sizeof(uintptr_t) / 2 >= bytes) gc__words_remap(list, bytes);
}

GC__FN bool gc__words_reserve(gc__words *list, size_t count) {
    return list->capacity >= count || gc__words_resize(list, gc__words_room(list, count, false));
}

GC__OUT_OF_LINE bool gc__words_grow(gc__words *list) { return gc__words_reserve(list, list->count + 1); }

GC__FN bool gc__words_push(gc__words *list, uintptr_t word) {
    if (GC__UNLIKELY(list->count == list->capacity) && !gc__words_grow(list)) return false;
    list->words[list->count++] = word;
    return true;
}

/* What so many bytes of a list count for: its first piece is hardly touched, as a rule. */
GC__FN size_t gc__words_charged(size_t bytes) { return bytes > GC__WORDS_FIRST_BYTES ? bytes : bytes / 16; }

/* The memory that the list takes. */
GC__FN size_t gc__words_bytes(const gc__words *list) { return gc__words_charged(list->capacity * sizeof(uintptr_t)); }

GC__OUT_OF_LINE void gc__words_free(gc__words *list) {
    if (list->capacity) gc__os_unmap(list->words, list->capacity * sizeof(uintptr_t));
    memset(list, 0, sizeof *list);
}
/* Text of limited length, written piece by piece. */


#include <stdarg.h>

#define GC__TEXT_BYTES 640

typedef struct gc__text {
    char text[GC__TEXT_BYTES];
    size_t length;
} gc__text;

GC__FN void gc__text_add(gc__text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
GC__FN void gc__text_add(gc__text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->text + text->length, sizeof text->text - text->length, format, arguments);
    va_end(arguments);
    text->length = gc__min(text->length + (size_t)(length > 0 ? length : 0), sizeof text->text - 1);
}
/* Maps from an object's address to a word, by open addressing. The owner of a map follows the objects as they move: during
   a collection it takes the entries of condemned generations out (gc__map_take) and puts the survivors back, for which
   there is room. */


typedef struct gc__map {
    uintptr_t *keys; /* 0: free */
    uintptr_t *values;
    size_t count, capacity;
} gc__map;

GC__FN size_t gc__map_bytes(const gc__map *map) { return map->capacity * 2 * sizeof(uintptr_t); }

GC__FN void gc__map_free(gc__map *map) {
    if (map->capacity) gc__os_unmap(map->keys, gc__map_bytes(map));
    memset(map, 0, sizeof *map);
}

/* The index at which the key is or would be. The map must have some capacity. */
GC__FN size_t gc__map_place(const gc__map *map, uintptr_t key) {
    size_t at = (size_t)(((uint64_t)key >> 3) * 0x9E3779B97F4A7C15u >> 20);
    for (;; at++) {
        at &= map->capacity - 1;
        if (!map->keys[at] || map->keys[at] == key) return at;
    }
}

/* The address of the key's value; NULL if the map has no such key. */
GC__FN uintptr_t *gc__map_find(const gc__map *map, uintptr_t key) {
    size_t at = map->capacity ? gc__map_place(map, key) : 0;
    return map->capacity && map->keys[at] ? &map->values[at] : NULL;
}

/* The address of the key's value, which is 0 if the key is new. There must be room. */
GC__FN uintptr_t *gc__map_put(gc__map *map, uintptr_t key) {
    size_t at = gc__map_place(map, key);
    if (!map->keys[at]) {
        map->keys[at] = key;
        map->values[at] = 0;
        map->count++;
    }
    return &map->values[at];
}

/* For so many entries at half load. */
GC__FN size_t gc__map_capacity(size_t count) {
    size_t capacity = 512;
    while (capacity < 2 * count) capacity *= 2;
    return capacity;
}

/* Moves the entries to memory of another size. On failure nothing has changed. */
GC__HOT bool gc__map_resize(gc__map *map, size_t capacity) {
    gc__map other = {NULL, NULL, 0, capacity};
    other.keys = (uintptr_t *)gc__os_map(gc__map_bytes(&other));
    if (!other.keys) return false;
    other.values = other.keys + capacity;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->keys[i]) *gc__map_put(&other, map->keys[i]) = map->values[i];
    gc__map_free(map);
    *map = other;
    return true;
}

GC__FN bool gc__map_has_room(const gc__map *map, size_t count) { return map->capacity >= 2 * count && map->capacity; }

/* Makes room for `count` entries. On failure nothing has changed. */
GC__FN bool gc__map_reserve(gc__map *map, size_t count) {
    return gc__map_has_room(map, count) || gc__map_resize(map, gc__map_capacity(count));
}

/* By how many bytes another entry makes the map larger. */
GC__FN size_t gc__map_growth(const gc__map *map) {
    gc__map larger = {NULL, NULL, 0, map->capacity};
    if (!gc__map_has_room(map, map->count + 1)) larger.capacity = gc__map_capacity(map->count + 1);
    return gc__map_bytes(&larger) - gc__map_bytes(map);
}

#define GC__MAP_SLACK 4

/* Gives memory back if the map was made for far more than it holds. */
GC__FN void gc__map_shrink(gc__map *map) {
    size_t capacity = gc__map_capacity(map->count);
    if (!map->count)
        gc__map_free(map);
    else if (map->capacity > GC__MAP_SLACK * capacity)
        gc__map_resize(map, capacity);
}

GC__FN void gc__map_clear(gc__map *map) {
    if (map->count) memset(map->keys, 0, map->capacity * sizeof(uintptr_t));
    map->count = 0;
}

/* Empties the map. A map that was made for far more than it last held takes longer to clear than to make again. */
GC__FN void gc__map_reset(gc__map *map) {
    if (map->capacity > 4096 && map->capacity / 64 > map->count)
        gc__map_free(map);
    else
        gc__map_clear(map);
}

/* Appends all entries to the list as key, value, and clears the map. The list must have room. */
GC__FN void gc__map_take(gc__map *map, gc__words *list) {
    for (size_t i = 0; map->count && i < map->capacity; i++) {
        if (!map->keys[i]) continue;
        list->words[list->count++] = map->keys[i];
        list->words[list->count++] = map->values[i];
    }
    gc__map_clear(map);
}
/* Regions, the arena that they come from, and the tables beside them.

   The arena is one reserved address range for all heaps of the process. A region is in exactly one of these places:
   the arena (heap == NULL), a heap's free list, a heap's list of its generation, or a heap's quarantine (stress).
   A region in a generation's list is either *linear* (its objects follow one another from base to top, with fillers in
   the gaps) or its mark bits are exactly the starts of its objects. Generations 1 and 2 are never linear. */


enum { GC__FREE, GC__SMALL, GC__LARGE, GC__LARGE_REST, GC__QUARANTINED };

/* What a collection does with a region. The verdict table has it in the two lowest bits of the region's entry, and above
   them the generation that copies go to. Entries are 0 elsewhere, and between collections. */
enum {
    GC__IGNORE,     /* not condemned: references into it are not followed */
    GC__MARK,       /* objects stay; a mark bit shows that one lives */
    GC__MOVE,       /* objects are copied; a forwarding word shows that one lives */
    GC__MOVE_MARKED /* as MOVE, but objects with a mark bit stay */
};
#define GC__VERDICT_BITS 2
#define GC__VERDICT_MASK ((1 << GC__VERDICT_BITS) - 1)
#define GC__VERDICT_NEXT_MARKS 0x80 /* in an entry, with GC__MARK: the mark bits are those of gc__next_marks */
/* The entry of an old region in the last collection of a cycle, which is condemned with what is marked in it. */
#define GC__OLD_CONDEMNED (GC__MARK | GC__VERDICT_NEXT_MARKS)
#define GC__VERDICT_SLID (GC__VERDICT_NEXT_MARKS | GC__MOVE_MARKED) /* in an entry: all objects were copied before the trace */

/* Fields are written by a mutator that allocates in the region, and by the collector with the world stopped, unless they
   say otherwise. The pauses that begin and end a marking beside mutators go through all old regions, and wait for memory there:
   what they need is in the first 64 bytes, which is a line of the cache. */
typedef struct gc__region {
    gc_heap *heap; /* written under the arena's lock; atomic for threads that neither hold it nor use this heap */
    uintptr_t base;
    struct gc__region *next;     /* in its list */
    size_t live_bytes;           /* bytes of objects that the last trace found alive, and of those copied in since */
    size_t next_live_bytes;          /* the same of the marking that goes on beside mutators */
    uint32_t span;               /* a large object's number of regions */
    uint8_t kind;                /* arena lock while no heap has the region */
    uint8_t generation;
    uint8_t target; /* during a collection: the generation its survivors will be in */
    uint8_t verdict;
    bool linear;
    bool formatted;  /* linear, with fillers in its holes; an allocation in a hole makes the index start anew */
    bool overflowed; /* holds marked objects that did not fit on the mark stack */
    uint8_t unscanned; /* what the marking beside mutators has left there: GC__UNSCANNED and others; atomic */
    bool pinned;     /* during a collection: holds objects that must stay */
    bool fixed;      /* its objects never move */
    bool candidate;    /* it is evacuated when the marking beside mutators ends: changes with the world stopped */
    bool retained;      /* it is leaving, but too many slots refer to it: marker's lock */
    uint8_t flip;  /* GC__FLIP_DUE or GC__FLIPPING: its mark bits are in gc__next_marks; else 0; atomic */
    bool sparing;    /* its first part is not populated: a small heap may need no more */
    bool is_slid_into; /* during a collection: objects of packed regions were copied there */
    bool accessible; /* this and the next two: as `kind` */
    bool left_out;   /* core dumps leave the region out; its memory is zero */
    bool populated;  /* the system has provided all of its memory, perhaps, though nothing was written there */
    bool finalizer_marks;  /* it may have bits in gc__finalizer_marks: marker's lock, or who settles it */
    uintptr_t hole;              /* the search for holes goes on here */
    uintptr_t indexed_end;       /* a linear region's mark bits are object starts up to here; base: none */
    uint64_t condemned;          /* number of the last collection that condemned it */
    /* During a collection: for each 512 bytes, where the first object has slid to. NULL: the region does not slide. */
    uintptr_t *offset_table;
    uintptr_t top;               /* objects of a linear region lie in [base, top); a large object ends there */
    uintptr_t dirty_end;         /* memory from here to the region's end is zero; atomic where windows are extended */
    size_t taken_bytes;          /* bytes of its holes in which mutators allocate, since the last collection */
    struct gc__region *previous; /* in the list of free regions */
    size_t spare;        /* bytes at its end that take no memory: of a large object's last region, or a free one */
    uint32_t rest_index; /* GC__LARGE_REST: the number of regions back to the object's first */
    uint32_t rset_slots;      /* slots that are noted because they referred to this leaving region: marker's lock */
} __attribute__((aligned(64))) gc__region;

typedef struct gc__arena {
    gc__lock lock;
    uintptr_t base; /* this and the next three: written by the first heap, 0 again when gc.h is unloaded */
    size_t bytes;
    size_t count; /* number of regions */
    gc__region *regions;
    uint64_t *marks; /* an object's bit is number address / 8: biased, like the card table that barriers see */
    uint8_t *cards;  /* the tables, unbiased */
    uint8_t *bundles;
    uint8_t *taken;   /* a byte for each region: 0 if it is free, in the arena or a heap's list; atomic */
    size_t used;      /* regions below this number have been in use; atomic, written under the lock */
    size_t free_from; /* every region below this number has a heap: lock */
    size_t heaps;     /* number of heaps that exist or are being created: lock */
    size_t huge_waits; /* how many times no huge page is asked for now, and how many the last slow one has cost: lock */
    size_t huge_paid;
} gc__arena;

/* Which objects of generation 2 the marking beside mutators has reached; biased like the mark bits. NULL: never used yet. All
   are 0 but those of regions of a heap that is being marked, and of those that are `beside`: since the last collection of a
   cycle these bits are the starts of the region's objects, until gc__region_flip moves them to where mark bits are. */
GC__VAR uint64_t *gc__next_marks;
/* Which objects the marker has reached only from dead ones with finalizers: they are *reprieved*. NULL: none ever was. From the
   last collection of the cycle on they are marked by these bits, too. All are 0 but those of regions that say so. */
GC__VAR uint64_t *gc__finalizer_marks;
#define GC__FLIP_DUE 1
#define GC__FLIPPING 2 /* a thread moves them */

GC__VAR gc__arena gc__the_arena = {GC__LOCK_INITIALIZER, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0};
GC__DATA(gc_barrier_tables gc__tables);

#define GC__VERDICTS (gc__tables.age + GC_RANK_ENTRIES)

GC__FN bool gc__in_arena(uintptr_t address) { return address - gc__the_arena.base < gc__the_arena.bytes; }

/* Precondition: gc__in_arena(address). */
GC__FN gc__region *gc__region_of(uintptr_t address) {
    return &gc__the_arena.regions[(address - gc__the_arena.base) >> GC_REGION_SHIFT];
}

/* The end of a region, or of all the regions of a large object. */
GC__FN uintptr_t gc__region_end(const gc__region *region) { return region->base + region->span * GC_REGION_BYTES; }

/* Objects start below this address. A large one starts at the base, and no other mark bit of its regions means anything. */
GC__FN uintptr_t gc__region_starts_end(const gc__region *region) {
    return region->base + (region->kind == GC__LARGE ? 8 : GC_REGION_BYTES);
}

/* Whether the region belongs to the heap. Others may come and go at any time, so nothing else of them may be read. */
GC__FN bool gc__region_is_of(const gc__region *region, const gc_heap *heap) {
    return __atomic_load_n(&region->heap, __ATOMIC_RELAXED) == heap;
}

/* Notes for the search for free regions that `span` of them are taken, or free. */
GC__FN void gc__region_note_taken(const gc__region *region, size_t span, bool taken) {
    uint8_t *table = gc__the_arena.taken + (region - gc__the_arena.regions);
    for (size_t i = 0; i < span; i++) __atomic_store_n(table + i, (uint8_t)taken, __ATOMIC_RELAXED);
}

GC__FN size_t gc__regions_used(void) { return __atomic_load_n(&gc__the_arena.used, __ATOMIC_RELAXED); }

/* The first region of the large object of which `region` is a part; for other regions, `region`. */
GC__FN gc__region *gc__region_first(gc__region *region) {
    return region->kind == GC__LARGE_REST ? region - region->rest_index : region;
}
/* Where address space and memory for regions and their tables come from: the system, or functions of the host (gc_memory). */


static gc_memory gc__supply; /* all zero: the system; written under the arena's lock while there is no arena */

GC__FN bool gc__supply_is_host(void) { return gc__supply.reserve != NULL; }

/* As gc__os_reserve. What the host has reserved is at an address of its choice, so that is checked. */
GC__FN void *gc__supply_reserve(size_t bytes, size_t alignment, bool readable) {
    if (!gc__supply_is_host()) return gc__os_reserve(bytes, alignment, readable);
    void *start = gc__supply.reserve(gc__supply.context, bytes, alignment, readable);
    if (!((uintptr_t)start & (alignment - 1))) return start;
    gc__supply.release(gc__supply.context, start, bytes);
    return NULL;
}

GC__FN bool gc__supply_commit(void *address, size_t bytes) {
    return gc__supply_is_host() ? gc__supply.commit(gc__supply.context, address, bytes) : gc__os_commit(address, bytes);
}

GC__FN bool gc__supply_discard(void *address, size_t bytes) {
    if (!gc__supply_is_host()) return gc__os_discard(address, bytes);
    return gc__supply.discard && gc__supply.discard(gc__supply.context, address, bytes);
}

/* Takes all of what one call has reserved. */
GC__OUT_OF_LINE void gc__supply_release(void *address, size_t bytes) {
    if (gc__supply_is_host())
        gc__supply.release(gc__supply.context, address, bytes);
    else
        gc__os_unmap(address, bytes);
}

/* Who has just refused `bytes`, and so what to do. */
GC__FN const char *gc__supply_refusal(size_t bytes) {
    return gc__supply_is_host() ? "options.memory of the host refuses it" : gc__os_refusal(bytes);
}

/* Advice that is the host's to give for its own memory. */
GC__FN void gc__supply_prefer_huge_pages(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_prefer_huge_pages(address, bytes);
}
GC__FN void gc__supply_prefer_small_pages(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_prefer_small_pages(address, bytes);
}
GC__FN void gc__supply_populate(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_populate(address, bytes);
}
GC__FN void gc__supply_leave_out_of_dumps(void *address, size_t bytes) {
    if (!gc__supply_is_host()) gc__os_leave_out_of_dumps(address, bytes);
}
/* The tables beside the arena, with an entry or more for each region.

   Each is reserved for the whole arena, and reads as zero wherever nothing was written. Only the part for regions that have
   been in use is writable and takes memory. The rest counts for no limit, is not locked with the program's memory, and is
   not in core dumps. */


enum {
    GC__SIDE_REGIONS,
    GC__SIDE_MARKS,
    GC__SIDE_CARDS,
    GC__SIDE_BUNDLES,
    GC__SIDE_TAKEN,
    GC__SIDE_ALWAYS, /* the tables before this are reserved together with the arena */
    GC__SIDE_YOUTH = GC__SIDE_ALWAYS,
    GC__SIDE_AGE,
    GC__SIDE_VERDICT,
    GC__SIDE_WATCH,
    GC__SIDE_LOG_BITS,
    GC__SIDE_SHADOW,
    GC__SIDE_NEXT_MARKS,
    GC__SIDE_FINALIZER_MARKS,
    GC__SIDES
};

static const size_t gc__side_bytes_per_region[GC__SIDES] = {
    sizeof(gc__region),
    GC_REGION_BYTES / 64,
    GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT,
    GC_BUNDLE_SHIFT ? GC_REGION_BYTES >> GC_BUNDLE_SHIFT : 0,
    1,
    1,
    1,
    1,
    GC_REGION_BYTES >> GC_WATCH_SHIFT,
    GC_REGION_BYTES / 64,
    GC_REGION_BYTES,
    GC_REGION_BYTES / 64,
    GC_REGION_BYTES / 64,
};

/* Written under the arena lock. */
typedef struct gc__side {
    char *start;          /* page-aligned; NULL: the table is not in use */
    size_t lead;          /* bytes from there to the first region's entries */
    size_t bytes, opened; /* how many bytes from `start` on are reserved; how many are writable */
} gc__side;
static gc__side gc__sides[GC__SIDES];
static size_t gc__sides_opened; /* number of regions for which all tables are writable */

#define GC__SIDE_BYTES_SMALL ((size_t)2 << 20)

/* What a table of `bytes` takes. Its start is all that a small heap needs; the rest is opened in parts that may be huge
   pages. */
GC__COLD size_t gc__side_round(size_t bytes) {
    size_t unit = bytes > GC__SIDE_BYTES_SMALL ? GC__SIDE_BYTES_SMALL : gc__os_page_bytes();
    return (bytes + unit - 1) & ~(unit - 1);
}

/* What the table takes for the whole arena. */
GC__FN size_t gc__side_bytes(int which, size_t lead) {
    return gc__side_round(lead + gc__the_arena.count * gc__side_bytes_per_region[which]);
}

/* The table's entries for the first region are at `first`, in reserved readable memory. */
GC__COLD void gc__side_place(int which, char *first) {
    size_t lead = (uintptr_t)first & (gc__os_page_bytes() - 1);
    gc__side side = {first - lead, lead, gc__side_bytes(which, lead), 0};
    gc__sides[which] = side;
}

/* Asks for huge pages, but for the start of the table. In a large heap most marks and cards lie in pages that are in no
   TLB, and then finding the page takes longer than reading the entry. */
GC__COLD void gc__side_huge_pages(int which) {
    const gc__side *side = &gc__sides[which];
    if (side->bytes > GC__SIDE_BYTES_SMALL)
        gc__supply_prefer_huge_pages(side->start + GC__SIDE_BYTES_SMALL, side->bytes - GC__SIDE_BYTES_SMALL);
}

/* Makes the table writable for the first `regions` regions. False: the system refuses. */
GC__COLD bool gc__side_open(int which, size_t regions) {
    gc__side *side = &gc__sides[which];
    size_t end = side->start ? gc__side_round(side->lead + regions * gc__side_bytes_per_region[which]) : 0;
    if (end > side->bytes) end = side->bytes;
    if (end <= side->opened) return true;
    if (!gc__supply_commit(side->start + side->opened, end - side->opened)) return false;
    side->opened = end;
    return true;
}

GC__COLD bool gc__sides_open_exactly(size_t regions) {
    for (int which = 0; which < GC__SIDES; which++)
        if (!gc__side_open(which, regions)) return false;
    gc__sides_opened = regions;
    return true;
}

/* Makes all tables writable for the first `regions` regions, and if possible for half as many more, so that this happens
   seldom. False: the system refuses. */
GC__COLD bool gc__sides_open(size_t regions) {
    if (regions <= gc__sides_opened) return true;
    size_t more = regions + regions / 2 + 8;
    if (more > gc__the_arena.count) more = gc__the_arena.count;
    return gc__sides_open_exactly(more) || gc__sides_open_exactly(regions);
}

/* Reserves a table that only some barriers or the shadow heap need, and opens it as far as the others. NULL: the system
   refuses. */
GC__COLD char *gc__side_reserve(int which) {
    size_t bytes = gc__side_bytes(which, 0);
    char *start = (char *)gc__supply_reserve(bytes, GC__SIDE_BYTES_SMALL, true);
    if (!start) return NULL;
    gc__side_place(which, start);
    if (gc__side_open(which, gc__sides_opened)) return start;
    gc__sides[which].start = NULL;
    gc__supply_release(start, bytes);
    return NULL;
}

/* The same of a table of bits, one for each 8 bytes; biased like the mark bits. */
GC__COLD uint64_t *gc__side_reserve_bits(int which) {
    char *start = gc__side_reserve(which);
    return start ? (uint64_t *)(void *)(start - (gc__the_arena.base >> 6)) : NULL;
}

/* Gives back the tables that were reserved together with the arena. */
GC__COLD void gc__sides_release(void) {
    size_t metadata = 0;
    for (int i = 0; i < GC__SIDE_ALWAYS; i++) metadata += gc__sides[i].bytes;
    gc__supply_release(gc__sides[0].start, metadata);
}

/* Zeroes the table. */
GC__FN void gc__side_zero(int which) {
    const gc__side *side = &gc__sides[which];
    if (side->opened && !gc__supply_discard(side->start, side->opened)) memset(side->start, 0, side->opened);
}
/* What barriers read beside ranks and cards (bounds, write watch, log), and informing hosts of its changes.

   Invariants, for mutators: every region of generation 0 or 1 lies in [low, high), and every region that is or was in use
   lies in [lowest, highest). Both hold whichever barrier is in force, since a host's own code may use any. */


#define GC__LOG_ENTRIES ((size_t)1 << 16)

/* A heap, which is told of changes. */
typedef struct gc__barrier_observer {
    struct gc__barrier_observer *next;
    void (*changed)(void *host, const gc_barrier_change *change); /* NULL: need not be told */
    void *host;
    bool needs_barrier; /* its heap has generations */
} gc__barrier_observer;

/* Guards all variables of this part. Only the arena's lock is taken under it; hosts are called under it, too. */
static gc__lock gc__barrier_lock = GC__LOCK_INITIALIZER;
static gc__barrier_observer *gc__barrier_observers;
static gc_barrier gc__barrier_in_force =
    GC__BARRIER_CHOSEN < (int)GC_BARRIER_COUNT ? (gc_barrier)GC__BARRIER_CHOSEN : GC_BARRIER_RANK_SUM;
static unsigned gc__barrier_switches; /* atomic */
static uintptr_t gc__log_start, gc__log_flushed; /* entries below gc__log_flushed are dirty cards already */
GC__VAR gc_barrier_log gc__the_log;

GC__DATA(gc_barrier_functions gc__barrier_calls);

/* Hosts are told on threads of theirs only. What a collector thread has changed they are told before mutators go on. */
static __thread bool gc__tells_later;
static unsigned gc__untold; /* a bit for each gc_stomp */

/* Lock held. */
GC__FN void gc__barrier_tell(gc_stomp operation, bool is_suspended) {
    if (gc__tells_later) {
        gc__untold |= 1u << operation;
        return;
    }
    gc_barrier_change change = {operation, gc__barrier_in_force, is_suspended, &gc__tables};
    gc__outside_stomp(&change);
    for (const gc__barrier_observer *each = gc__barrier_observers; each; each = each->next)
        if (each->changed) each->changed(each->host, &change);
}

/* Lock held. Mutators of other heaps may be reading the bounds. */
GC__FN void gc__bounds_set(uintptr_t low, uintptr_t high) {
    __atomic_store_n(&gc__tables.low, low, __ATOMIC_RELEASE);
    __atomic_store_n(&gc__tables.high, high, __ATOMIC_RELEASE);
}

GC__FN gc_result gc__barrier_no_tables(gc_barrier barrier) {
    return gc__fail(
        GC_ERROR_RESERVE,
        "the system gives no address space for the tables of barrier %s: %s, or compile with a smaller GC_ARENA_BYTES",
        gc_barrier_name(barrier), gc__supply_refusal(gc__the_arena.bytes >> GC_WATCH_SHIFT));
}

/* Reserves a table beside the arena for a barrier; returns its biased base, or NULL. */
GC__FN uint8_t *gc__barrier_side(int which, int shift) {
    gc__lock_take(&gc__the_arena.lock);
    char *side = gc__side_reserve(which);
    gc__lock_release(&gc__the_arena.lock);
    return side ? (uint8_t *)((uintptr_t)side - (gc__the_arena.base >> shift)) : NULL;
}

GC__FN void gc__barrier_side_zero(int which) {
    gc__lock_take(&gc__the_arena.lock);
    gc__side_zero(which);
    gc__lock_release(&gc__the_arena.lock);
}

/* Reserves the tables of a barrier that has its own. Nothing has changed on failure. */
GC__FN gc_result gc__barrier_reserve(gc_barrier barrier) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    if (parts.watch && !gc__tables.watch) {
        gc__tables.watch = gc__barrier_side(GC__SIDE_WATCH, GC_WATCH_SHIFT);
        if (!gc__tables.watch) return gc__barrier_no_tables(barrier);
    }
    if (parts.mark == GC__MARK_LOG && !gc__tables.log) {
        size_t bytes = GC__LOG_ENTRIES * 8;
        void *log = gc__os_map(bytes);
        uint8_t *bits = log ? gc__barrier_side(GC__SIDE_LOG_BITS, 6) : NULL;
        if (!bits) {
            gc_result refused = gc__barrier_no_tables(barrier);
            if (log) gc__os_unmap(log, bytes);
            return refused;
        }
        gc__log_start = gc__log_flushed = gc__the_log.next = (uintptr_t)log;
        gc__the_log.limit = gc__log_start + bytes;
        gc__tables.log_bits = bits;
        gc__tables.log = &gc__the_log;
    }
    return GC_OK;
}

/* The log goes with the arena. */
GC__FN void gc__log_close(void) {
    if (gc__tables.log) gc__os_unmap((void *)gc__log_start, GC__LOG_ENTRIES * 8);
}

GC__FN bool gc__barrier_watches(void) { return gc__barrier_parts_of(gc__barrier_in_force).watch != 0; }

/* From now on gc_store calls this barrier. If it begins to watch, all pages are clean at first. Where the barrier was chosen at
   compile time nothing calls it, and so the functions of all barriers are no part of the program. */
GC__FN void gc__barrier_use(gc_barrier barrier) {
    if (gc__tables.watch && !gc__barrier_watches()) gc__barrier_side_zero(GC__SIDE_WATCH);
    if (GC__BARRIER_CHOSEN == (int)GC_BARRIER_COUNT) gc__barrier_calls = *gc_barrier_functions_of(barrier);
    gc__barrier_in_force = barrier;
}

GC__FN gc_result gc__barrier_refuses(const gc__barrier_observer *observer) {
    if (gc__barrier_in_force != GC_BARRIER_NONE || !observer->needs_barrier) return GC_OK;
    return gc__fail(GC_ERROR_OPTION,
                    "a heap with generations needs a write barrier, and the barrier in force is \"none\": set "
                    "options.non_generational, or choose another barrier by GC_BARRIER or gc_barrier_switch");
}

/* From now on the observer is told of changes. */
GC__FN gc_result gc__barrier_attach(gc__barrier_observer *observer) {
    gc__lock_take(&gc__barrier_lock);
    gc_result result = gc__barrier_refuses(observer);
    if (result == GC_OK) result = gc__barrier_reserve(gc__barrier_in_force);
    if (result == GC_OK) {
        gc_barrier_change change = {GC_STOMP_INITIALIZE, gc__barrier_in_force, true, &gc__tables};
        gc__barrier_use(gc__barrier_in_force);
        if (!gc__barrier_observers) gc__bounds_set(UINTPTR_MAX, 0);
        gc__outside_stomp(&change);
        observer->next = gc__barrier_observers;
        gc__barrier_observers = observer;
        if (observer->changed) observer->changed(observer->host, &change);
    }
    gc__lock_release(&gc__barrier_lock);
    return result;
}

GC__FN void gc__barrier_detach(gc__barrier_observer *observer) {
    gc__lock_take(&gc__barrier_lock);
    gc__barrier_observer **link = &gc__barrier_observers;
    while (*link != observer) link = &(*link)->next;
    *link = observer->next;
    gc__lock_release(&gc__barrier_lock);
}

/* Tells of what collector threads have changed. */
GC__FN void gc__barrier_tell_untold(void) {
    gc__lock_take(&gc__barrier_lock);
    unsigned untold = gc__untold;
    gc__untold = 0;
    if (untold >> GC_STOMP_RESIZE & 1) gc__barrier_tell(GC_STOMP_RESIZE, false);
    if (untold >> GC_STOMP_EPHEMERAL & 1) gc__barrier_tell(GC_STOMP_EPHEMERAL, false);
    gc__lock_release(&gc__barrier_lock);
}

/* From now on young objects may lie in [from, end), too. */
GC__FN void gc__bounds_widen(uintptr_t from, uintptr_t end) {
    gc__lock_take(&gc__barrier_lock);
    gc__bounds_set(from < gc__tables.low ? from : gc__tables.low, end > gc__tables.high ? end : gc__tables.high);
    gc__barrier_tell(GC_STOMP_EPHEMERAL, false);
    gc__lock_release(&gc__barrier_lock);
}

/* Regions below `highest` are or have been in use. */
GC__FN void gc__bounds_grow(uintptr_t highest) {
    gc__lock_take(&gc__barrier_lock);
    if (highest > gc__tables.highest) {
        __atomic_store_n(&gc__tables.highest, highest, __ATOMIC_RELEASE);
        gc__barrier_tell(GC_STOMP_RESIZE, false);
    }
    gc__lock_release(&gc__barrier_lock);
}

/* After a collection: young objects of the heap lie in [low, high) only. With several heaps the bounds can only widen,
   since mutators of other heaps may be running. */
GC__FN void gc__bounds_tighten(const gc__barrier_observer *observer, uintptr_t low, uintptr_t high) {
    gc__lock_take(&gc__barrier_lock);
    if (gc__barrier_observers == observer && !observer->next && (low != gc__tables.low || high != gc__tables.high)) {
        gc__bounds_set(low, high);
        gc__barrier_tell(GC_STOMP_EPHEMERAL, true);
    }
    gc__lock_release(&gc__barrier_lock);
}

#define GC__LOG_DONE 1 /* an entry whose card is dirty; 0: a mutator of another heap is about to write the entry */

/* Empties the log, unless another heap's mutator is about to write an entry, or has just begun one. */
GC__FN void gc__log_reset(uintptr_t next, uintptr_t end) {
    memset((void *)gc__log_start, 0, end - gc__log_start);
    gc__log_flushed = end;
    if (__atomic_compare_exchange_n(&gc__the_log.next, &next, gc__log_start, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        gc__log_flushed = gc__log_start;
}

/* Turns the log into dirty cards, whatever the slots hold now: they may belong to another heap, whose mutators run. */
GC__HOT void gc__log_flush(void) {
    if (!gc__tables.log) return;
    gc__lock_take(&gc__barrier_lock);
    uintptr_t next = __atomic_load_n(&gc__the_log.next, __ATOMIC_ACQUIRE), gap = 0;
    uintptr_t end = next < gc__the_log.limit ? next : gc__the_log.limit;
    for (uintptr_t entry = gc__log_flushed; entry < end; entry += 8) {
        uintptr_t slot = __atomic_load_n((gc_word *)entry, __ATOMIC_ACQUIRE);
        if (!slot && !gap) gap = entry;
        if (slot <= GC__LOG_DONE) continue;
        uint8_t bit = (uint8_t)(1u << ((slot >> 3) & 7));
        __atomic_store_n((gc_word *)entry, (uintptr_t)GC__LOG_DONE, __ATOMIC_RELAXED);
        __atomic_fetch_and(gc__tables.log_bits + (slot >> 6), (uint8_t)~bit, __ATOMIC_ACQ_REL);
        gc_barrier_dirty_card(&gc__tables, (const void *)slot);
    }
    /* A slot that was stored to while the log was full has its bit set and its card dirty, but no entry. */
    if (next > gc__the_log.limit) gc__barrier_side_zero(GC__SIDE_LOG_BITS);
    if (gap)
        gc__log_flushed = gap;
    else
        gc__log_reset(next, end);
    gc__lock_release(&gc__barrier_lock);
}

GC_API gc_barrier gc_barrier_current(void) { return gc__barrier_in_force; }

GC__FN gc_result gc__barrier_check(gc_barrier barrier) {
    if (GC__BARRIER_CHOSEN != (int)GC_BARRIER_COUNT)
        return gc__fail(GC_ERROR_OPTION,
                        "gc_barrier_switch: %s was chosen at compile time: compile with GC_BARRIER=at_run_time",
                        gc_barrier_name(gc__barrier_in_force));
    if ((unsigned)barrier >= GC_BARRIER_COUNT)
        return gc__fail(GC_ERROR_OPTION, "gc_barrier_switch: there is no barrier %d: see GC_BARRIERS", (int)barrier);
    for (const gc__barrier_observer *each = gc__barrier_observers; each && barrier == GC_BARRIER_NONE;
         each = each->next)
        if (each->needs_barrier)
            return gc__fail(GC_ERROR_OPTION, "gc_barrier_switch: a heap of the process has generations, and needs a "
                                             "write barrier: \"none\" is for heaps with "
                                             "options.non_generational only");
    return gc__barrier_observers ? gc__barrier_reserve(barrier) : GC_OK;
}

GC_API gc_result gc_barrier_switch(gc_barrier barrier) {
    gc__lock_take(&gc__barrier_lock);
    gc_result result = gc__barrier_check(barrier);
    if (result == GC_OK) {
        gc__barrier_use(barrier);
        __atomic_fetch_add(&gc__barrier_switches, 1, __ATOMIC_RELAXED);
        gc__barrier_tell(GC_STOMP_SWITCH, true);
    }
    gc__lock_release(&gc__barrier_lock);
    return result;
}
/* The ranks and the verdict of a region, in the tables that barriers and the trace read. */


/* Ages with GC_AGE_LOGGED have GC__AGE_LOGGED_TOO, too: so their sums with GC__YOUTH_STALE have the sign, as all others with that. */
#define GC__AGE_LOGGED_TOO 0x40
#define GC__AGE_MARKING 0x20   /* besides: the object is being marked beside mutators */
#define GC__AGE_REMEMBERS 0x10 /* its slots are remembered */
#define GC__AGE_CANDIDATE 0x08   /* slots that refer to it are noted, since it will be copied */
#define GC__RANKS 0x07         /* of a sum: what generations alone would yield */

/* Invariant: age and youth are those of the generation that the region's survivors are or will be in. */
GC__FN void gc__region_set_rank(const gc__region *region, int age, bool ranked) {
    uint8_t *entry = gc__tables.age + (region->base >> GC_REGION_SHIFT);
    int generation = age & GC_AGE_GENERATION;
    for (uint32_t i = 0; i < region->span; i++) {
        __atomic_store_n(entry + i, (uint8_t)age, __ATOMIC_RELAXED); /* a marker may be looking */
        *(entry + i - GC_RANK_ENTRIES) = (uint8_t)(ranked ? 2 - generation : 0);
    }
    uintptr_t end = gc__region_end(region);
    if (ranked && generation < 2 &&
        (region->base < gc__barrier_bound(&gc__tables.low) || end > gc__barrier_bound(&gc__tables.high)))
        gc__bounds_widen(region->base, end);
}

/* Stress: the youth of a region that a collection has emptied, and that is inaccessible. A store of a reference to it is noted by
   the sign of its sum, and needs no card. */
#define GC__YOUTH_STALE (GC_AGE_LOGGED | GC__AGE_LOGGED_TOO)

GC__FN void gc__region_set_stale(const gc__region *region) {
    *(gc__tables.age + (region->base >> GC_REGION_SHIFT) - GC_RANK_ENTRIES) = GC__YOUTH_STALE;
}

/* Whether the object is of generation 2, and that is being marked beside mutators. */
GC__FN bool gc__is_marking(uintptr_t object) {
    return gc__in_arena(object) && gc__barrier_age(&gc__tables, object) & GC__AGE_MARKING;
}

/* Whether a slot of this age needs a card for a referent of this youth: their sum. */
GC__FN bool gc__ranks_need_card(unsigned ranks) {
    return (ranks & GC__RANKS) > 2;
}

/* Whether the slot needs a card for this referent. */
GC__FN bool gc__needs_card(const void *slot, uintptr_t ref) {
    return gc__ranks_need_card(gc_barrier_ranks(&gc__tables, slot, (const void *)ref));
}

/* 2 - the generation of an object; 0 for an address on no heap. */
GC__FN uint8_t gc__youth(uintptr_t ref) {
    return *(gc__tables.age - GC_RANK_ENTRIES + (ref >> GC_REGION_SHIFT)) & GC_AGE_GENERATION;
}

/* Sets the entries of a region in the verdict table; most are of one, for which a call would take longer than the rest. */
GC__INLINED void gc__region_set_entries(const gc__region *region, int entry) {
    uint8_t *first = GC__VERDICTS + (region->base >> GC_REGION_SHIFT);
    if (GC__LIKELY(region->span == 1))
        *first = (uint8_t)entry;
    else
        memset(first, entry, region->span);
}

/* `copies`: the generation to which the region's objects are copied, if the verdict says so. */
GC__OUT_OF_LINE void gc__region_set_verdict(gc__region *region, uint8_t verdict, int copies) {
    region->verdict = verdict;
    int entry = verdict < GC__MOVE ? verdict : verdict | copies << GC__VERDICT_BITS;
    gc__region_set_entries(region, entry);
}

/* The verdict is GC__MOVE, and the objects are elsewhere already. */
GC__FN void gc__region_set_slid(const gc__region *region) {
    gc__region_set_entries(region, GC__VERDICT_SLID);
}
/* Mark bits: one per 8 bytes. */


GC__FN size_t gc__mark_index(uintptr_t address) { return address >> 3; }

/* The mark bits of regions that are beside mean nothing, nor do those of old regions in the last collection of a cycle. */
GC__FN bool gc__mark_means_nothing(uintptr_t address) {
    bool condemned = GC__VERDICTS[address >> GC_REGION_SHIFT] == GC__OLD_CONDEMNED;
    return condemned || __atomic_load_n(&gc__region_of(address)->flip, __ATOMIC_RELAXED) == GC__FLIP_DUE;
}

GC__FN void gc__mark_check(uintptr_t address) {
    GC_ASSERT(GC_DEBUG < 3 || !gc__mark_means_nothing(address),
              "gc.h: mark bits of the region of %p were used before it was settled", (void *)address);
    (void)address;
}

/* Other threads may be setting bits beside this one. */
GC__FN bool gc__bit_get(const uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    return __atomic_load_n(&marks[index >> 6], __ATOMIC_RELAXED) >> (index & 63) & 1;
}

GC__FN bool gc__mark_get(uintptr_t address) {
    gc__mark_check(address);
    return gc__bit_get(gc__the_arena.marks, address);
}

/* Sets the bit; returns whether it was clear. */
GC__FN bool gc__mark_set(uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &gc__the_arena.marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    gc__mark_check(address);
    bool clear = !(*word & bit);
    *word |= bit;
    return clear;
}

/* The same among `marks`, where several threads set bits of a word. */
GC__INLINED bool gc__bit_set_shared(uint64_t *marks, uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &marks[index >> 6], bit = (uint64_t)1 << (index & 63);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) return false;
    return !(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit);
}

/* Sets the bit of a word that no other thread writes. A thread that finds the bit finds the object whole. */
GC__FN void gc__mark_publish(uintptr_t address) {
    size_t index = gc__mark_index(address);
    uint64_t *word = &gc__the_arena.marks[index >> 6];
    __atomic_store_n(word, *word | (uint64_t)1 << (index & 63), __ATOMIC_RELEASE);
}

/* The words of bits at which the region's objects may start. Of a large object's bits there is only one, so that they take
   hardly any memory. */
GC__FN size_t gc__mark_words(const gc__region *region) {
    return (gc__region_starts_end(region) - region->base + 511) / 512;
}

GC__FN bool gc__flip_is_due(const gc__region *region) { return __atomic_load_n(&region->flip, __ATOMIC_ACQUIRE); }

/* Where the region's mark bits are, while nobody can settle it. */
GC__FN uint64_t *gc__region_marks(const gc__region *region) {
    return gc__flip_is_due(region) ? gc__next_marks : gc__the_arena.marks;
}

/* Moves what is marked and what is reprieved to where mark bits are. What was marked, too, is reprieved no more. */
GC__FN void gc__marks_take_both(const gc__region *region) {
    size_t from = gc__mark_index(region->base) >> 6, end = from + gc__mark_words(region);
    for (size_t i = from; i < end; i++) {
        gc__the_arena.marks[i] = gc__next_marks[i] | gc__finalizer_marks[i];
        gc__finalizer_marks[i] &= ~gc__next_marks[i];
        gc__next_marks[i] = 0;
    }
}

/* Moves the marker's bits to where mark bits are, or drops them. */
GC__FN void gc__marks_take(const gc__region *region, bool keep) {
    size_t from = gc__mark_index(region->base) >> 6, bytes = gc__mark_words(region) * sizeof(uint64_t);
    if (keep && region->finalizer_marks) {
        gc__marks_take_both(region);
        return;
    }
    if (keep) memcpy(&gc__the_arena.marks[from], &gc__next_marks[from], bytes);
    memset(&gc__next_marks[from], 0, bytes);
}

/* No object of the region is reprieved any more. */
GC__OUT_OF_LINE void gc__finalizer_marks_clear(gc__region *region) {
    if (!region->finalizer_marks) return;
    memset(&gc__finalizer_marks[gc__mark_index(region->base) >> 6], 0, gc__mark_words(region) * sizeof(uint64_t));
    region->finalizer_marks = false;
}

/* Whether the object has that bit, of a region that stays while it is looked at. */
GC__FN bool gc__is_finalizer_marked(uintptr_t object) {
    return gc__region_of(object)->finalizer_marks && gc__bit_get(gc__finalizer_marks, object);
}

GC__OUT_OF_LINE void gc__region_flip_now(gc__region *region) {
    uint8_t due = GC__FLIP_DUE;
    if (__atomic_compare_exchange_n(&region->flip, &due, GC__FLIPPING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        gc__marks_take(region, true);
        __atomic_store_n(&region->flip, 0, __ATOMIC_RELEASE);
    }
    while (gc__flip_is_due(region)) gc__cpu_pause(); /* another thread moves them, in less than a microsecond */
}

/* Before mark bits of a region of generation 2 are looked at, but in the last collection of a cycle. */
GC__FN void gc__region_flip(gc__region *region) {
    if (GC__UNLIKELY(gc__flip_is_due(region))) gc__region_flip_now(region);
}

/* The same when nobody needs to know any more what was reprieved. */
GC__FN void gc__region_flip_whole(gc__region *region) {
    gc__region_flip(region);
    gc__finalizer_marks_clear(region);
}

GC__FN void gc__marks_clear(const gc__region *region) {
    memset(&gc__the_arena.marks[gc__mark_index(region->base) >> 6], 0, gc__mark_words(region) * sizeof(uint64_t));
}

GC__HOT size_t gc__marks_count(const gc__region *region) {
    const uint64_t *words = &gc__region_marks(region)[gc__mark_index(region->base) >> 6];
    size_t count = 0;
    for (size_t i = 0; i < gc__mark_words(region); i++) count += (size_t)__builtin_popcountll(words[i]);
    return count;
}

/* A word of bits, which another thread may be adding to. */
GC__FN uint64_t gc__marks_load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

/* The first address in [from, end) that has a bit among `marks`, or end. */
GC__FN uintptr_t gc__bit_next(const uint64_t *marks, uintptr_t from, uintptr_t end) {
    if (from >= end) return end;
    size_t index = gc__mark_index(from), last = gc__mark_index(end - 1) >> 6, word = index >> 6;
    uint64_t bits = gc__marks_load(&marks[word]) & (~(uint64_t)0 << (index & 63));
    while (!bits) {
        if (++word > last) return end;
        bits = gc__marks_load(&marks[word]);
    }
    uintptr_t found = ((word << 6) + (size_t)__builtin_ctzll(bits)) * 8;
    return found < end ? found : end;
}

/* The first marked address in [from, end), or end. */
GC__FN uintptr_t gc__mark_next(uintptr_t from, uintptr_t end) {
    if (from < end) gc__mark_check(from);
    return gc__bit_next(gc__the_arena.marks, from, end);
}

/* The last address in [start, at] that has a bit among `marks`, or 0. */
GC__FN uintptr_t gc__bit_previous(const uint64_t *marks, uintptr_t start, uintptr_t at) {
    size_t index = gc__mark_index(at), first = gc__mark_index(start) >> 6, word = index >> 6;
    uint64_t bits = gc__marks_load(&marks[word]) & (~(uint64_t)0 >> (63 - (index & 63)));
    while (!bits) {
        if (word == first) return 0;
        bits = gc__marks_load(&marks[--word]);
    }
    uintptr_t found = ((word << 6) + 63 - (size_t)__builtin_clzll(bits)) * 8;
    return found >= start ? found : 0;
}

/* The last marked address in [start, at], or 0. */
GC__FN uintptr_t gc__mark_previous(uintptr_t start, uintptr_t at) {
    gc__mark_check(start);
    return gc__bit_previous(gc__the_arena.marks, start, at);
}
/* The card table: which parts of old regions may hold references to younger ones.

   Invariant, outside a collection: a slot whose age + its referent's youth exceeds 2 lies in a dirty card, and with
   bundles that card lies in a dirty bundle; or the slot is remembered. */


#define GC__CARD_BYTE_SPAN ((size_t)1 << GC_CARD_BYTE_SHIFT) /* bytes that a byte of the card table covers */

GC__FN bool gc__card_is_dirty(uintptr_t address) {
    uint8_t byte = gc__tables.cards[address >> GC_CARD_BYTE_SHIFT];
    return GC_CARD_BITS ? byte >> ((address >> GC_CARD_SHIFT) & 7) & 1 : byte != 0;
}

GC__FN bool gc__bundle_is_dirty(uintptr_t address) {
    return !GC_BUNDLE_SHIFT || gc__tables.bundles[address >> GC_BUNDLE_SHIFT] != 0;
}

GC__FN void gc__bundle_clear(uintptr_t address) {
    __atomic_store_n(&gc__tables.bundles[address >> GC_BUNDLE_SHIFT], (uint8_t)0, __ATOMIC_RELAXED);
}

GC__FN void gc__card_clear(uintptr_t address) {
    uint8_t *byte = gc__tables.cards + (address >> GC_CARD_BYTE_SHIFT);
    *byte = (uint8_t)(GC_CARD_BITS ? *byte & ~(1u << ((address >> GC_CARD_SHIFT) & 7)) : 0);
}

/* The start of the first dirty card in [from, end), both card-aligned; or end. Skips 8 table bytes at a time. */
GC__FN uintptr_t gc__card_next_dirty(uintptr_t from, uintptr_t end) {
    while (from < end) {
        if (from % (8 * GC__CARD_BYTE_SPAN) == 0) {
            uint64_t word;
            memcpy(&word, gc__tables.cards + (from >> GC_CARD_BYTE_SHIFT), 8);
            if (!word) {
                from += 8 * GC__CARD_BYTE_SPAN;
                continue;
            }
        }
        if (gc__card_is_dirty(from)) return from;
        from += GC_CARD_BYTES;
    }
    return end;
}

/* Cleans [from, end), bundle-aligned. */
GC__FN void gc__cards_clear(uintptr_t from, uintptr_t end) {
#if GC_BUNDLE_SHIFT
    for (uintptr_t at = from; at < end; at += (size_t)1 << GC_BUNDLE_SHIFT) {
        if (!gc__bundle_is_dirty(at)) continue;
        gc__bundle_clear(at);
        memset(gc__tables.cards + (at >> GC_CARD_BYTE_SHIFT), 0, ((size_t)1 << GC_BUNDLE_SHIFT) >> GC_CARD_BYTE_SHIFT);
    }
#else
    memset(gc__tables.cards + (from >> GC_CARD_BYTE_SHIFT), 0, (end - from) >> GC_CARD_BYTE_SHIFT);
#endif
}
/* Objects as the collector sees them: the object-model seam, forwarding words and fillers. The default model is implemented
   here; a host implements its own by the GC_MODEL_ macros. */


/* The first word of an object that was copied away is the copy's address + 1; that of a filler, its size * 4 + 3. */
#define GC__WORD(address) (*(gc_word *)(address))
#define GC__FORWARD_TAG ((uintptr_t)1)
#define GC__FILLER_TAG ((uintptr_t)3)

GC__FN void gc__filler_write(uintptr_t at, size_t bytes) {
    if (bytes) GC__WORD(at) = (uintptr_t)bytes << 2 | GC__FILLER_TAG;
}
GC__FN size_t gc__filler_bytes(uintptr_t at) { return GC__WORD(at) >> 2; }
GC__FN bool gc__is_filler(uintptr_t at) { return (GC__WORD(at) & 3) == GC__FILLER_TAG; }

#if GC_HAS_MODEL
GC__FN size_t gc__object_bytes(uintptr_t object) { return gc__align(GC_MODEL_BYTES((void *)object)); }
GC__FN bool gc__object_is_leaf(uintptr_t object) { return (void)object, false; }
GC__FN size_t gc__object_bytes_as(uintptr_t object, uintptr_t header) { return (void)header, gc__object_bytes(object); }
GC__FN bool gc__header_is_leaf(uintptr_t header) { return (void)header, false; }
GC__FN bool gc__header_has_size(uintptr_t header) { return (void)header, false; }
GC__FN const char *gc__object_name(uintptr_t object) { return GC_MODEL_NAME((void *)object); }
#else
GC__FN const gc_type *gc__object_type(uintptr_t object) { return (const gc_type *)GC__WORD(object); }
GC__FN size_t gc__object_length(uintptr_t object) {
    return __atomic_load_n(&GC__WORD(object + sizeof(gc_object)), __ATOMIC_RELAXED);
}

/* An array has grown, in memory that is zeroed already: a marker may be looking at it. */
GC__FN void gc__object_set_length(uintptr_t object, size_t length) {
    __atomic_store_n(&GC__WORD(object + sizeof(gc_object)), length, __ATOMIC_RELEASE);
}

/* `header`: the object's first word. It is read once, where another thread may replace it by the address of a copy. */
GC__FN size_t gc__object_bytes_as(uintptr_t object, uintptr_t header) {
    const gc_type *type = (const gc_type *)header;
    size_t bytes = type->bytes;
    if (type->element_bytes) bytes += gc__object_length(object) * type->element_bytes;
    return gc__align(bytes);
}
GC__FN size_t gc__object_bytes(uintptr_t object) { return gc__object_bytes_as(object, GC__WORD(object)); }

GC__FN bool gc__type_is_leaf(const gc_type *type) {
    return !type->refs && !(type->element_refs | type->values | type->element_values | (uintptr_t)type->trace);
}
GC__FN bool gc__header_is_leaf(uintptr_t header) { return gc__type_is_leaf((const gc_type *)header); }
GC__FN bool gc__object_is_leaf(uintptr_t object) { return gc__header_is_leaf(GC__WORD(object)); }

/* Whether all objects with that first word are of one size. */
GC__FN bool gc__header_has_size(uintptr_t header) { return !((const gc_type *)header)->element_bytes; }

GC__FN const char *gc__object_name(uintptr_t object) {
    const char *name = gc__object_type(object)->name;
    return name ? name : "(unnamed type)";
}
#endif

GC__FN const char *gc__mask_fault(uint64_t mask, size_t bytes, size_t first) {
    if (!mask) return NULL;
    size_t last = (size_t)(63 - __builtin_clzll(mask));
    if ((last + 1) * 8 > bytes) return "a reference mask reaches beyond the size";
    if ((size_t)__builtin_ctzll(mask) < first)
        return "a reference mask covers the header, which must be the first member, "
               "or the length, which must be the next";
    return NULL;
}

GC_API const char *gc_type_check(const gc_type *type) {
    if (!type) return "the type is NULL";
    if ((uintptr_t)type & 7) return "the type is not 8-byte aligned";
    if (type->bytes == 0) return "its size is 0";
    if (type->bytes < sizeof(gc_object)) return "its size is less than the header's 8 bytes";
    if (type->element_bytes && type->bytes < sizeof(gc_array)) return "it has elements but no room for the length word";
    if (!type->element_bytes && (type->element_refs | type->element_values))
        return "it has element masks but no elements";
    const char *fault = gc__mask_fault(type->refs | type->values, type->bytes, type->element_bytes ? 2 : 1);
    if (!fault) fault = gc__mask_fault(type->element_refs | type->element_values, type->element_bytes, 0);
    if (fault) return fault;
    if ((type->refs & type->values) || (type->element_refs & type->element_values))
        return "a word is declared both a reference and a value";
    if ((type->element_refs | type->element_values) && (type->bytes % 8 || type->element_bytes % 8))
        return "its elements hold references but are not 8-byte aligned";
    if (type->flags & ~(unsigned)GC_TYPE_FIXED) return "it has flags that are none of GC_TYPE_*";
    if ((type->flags & GC_TYPE_FIXED) && !type->finalizer)
        return "it has GC_TYPE_FIXED but no finalizer: without one, gc_new makes its objects in line, where they move. Name "
               "gc_no_finalizer";
    return NULL;
}
/* The slots of an object: where they are, and what they hold. All code that looks at slots walks them by these functions,
   which inline the function that handles a slot. */


/* The object's address in a slot's word, 0 if it holds none. */
GC__FN uintptr_t gc__slot_decode(uintptr_t word, bool value) {
#if GC_HAS_VALUES
    if (value) return GC_VALUE_IS_REF(word) ? (uintptr_t)GC_VALUE_TO_REF(word) : 0;
#endif
    (void)value;
    return word;
}

GC__FN uintptr_t gc__slot_encode(uintptr_t ref, uintptr_t word, bool value) {
#if GC_HAS_VALUES
    if (value) return (uintptr_t)GC_VALUE_FROM_REF(ref, word);
#endif
    (void)value, (void)word;
    return ref;
}

/* The object whose trace function the calling thread runs; 0: none. For reports of slots outside it, and of faults. */
static __thread uintptr_t gc__traced;

/* The fence keeps the store in its place: the fault handler must find the object exactly while its trace function runs. */
GC__INLINED void gc__traced_set(uintptr_t object) {
    gc__traced = object;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Calls the object's trace function. The visitor may call that of another object. */
GC__INLINED void gc__object_trace(uintptr_t object, gc_visitor *visitor) {
    uintptr_t outer = gc__traced;
    gc__traced_set(object);
#if GC_HAS_MODEL
    GC_MODEL_TRACE((void *)object, visitor);
#else
    gc__object_type(object)->trace((void *)object, visitor);
#endif
    gc__traced_set(outer);
}

/* Weak entries as walks see them. */

GC__FN size_t gc__entry_bytes(const gc_weak_entries *entries) {
    if (entries->entry_bytes) return entries->entry_bytes;
    return entries->kind == GC_WEAK_REFS ? 8 : 16;
}

/* The slot of entry `i`. */
GC__FN gc_word *gc__entry_key(const gc_weak_entries *entries, size_t i) {
    return (gc_word *)((uintptr_t)entries->keys + i * gc__entry_bytes(entries));
}
GC__FN gc_word *gc__entry_value(const gc_weak_entries *entries, size_t i) {
    return (gc_word *)((uintptr_t)entries->values + i * gc__entry_bytes(entries));
}

/* Where the slots of the first entry begin and end. */
GC__FN uintptr_t gc__entry_low(const gc_weak_entries *entries) {
    bool pairs = entries->kind != GC_WEAK_REFS && entries->values < entries->keys;
    return (uintptr_t)(pairs ? entries->values : entries->keys);
}
GC__FN uintptr_t gc__entry_high(const gc_weak_entries *entries) {
    bool pairs = entries->kind != GC_WEAK_REFS && entries->values > entries->keys;
    return (uintptr_t)(pairs ? entries->values : entries->keys) + 8;
}

/* Calls the visitor for each slot of the entries, as if they were no weak ones. */
GC__FN void gc__entries_visit(gc_visitor *visitor, const gc_weak_entries *entries) {
    unsigned flags = (entries->flags & (unsigned)(GC_SLOT_VALUE | GC_SLOT_OWNED)) | (unsigned)GC_SLOT_WEAK;
    for (size_t i = 0; i < entries->count; i++) {
        gc_visit(visitor, gc__entry_key(entries, i), 1, flags);
        if (entries->kind != GC_WEAK_REFS) gc_visit(visitor, gc__entry_value(entries, i), 1, flags);
    }
}

#if !GC_HAS_MODEL
GC__FN void gc__trace_elements(void *object, gc_visitor *visitor, gc_weak_kind kind, size_t value_at) {
    gc_weak_entries entries;
    memset(&entries, 0, sizeof entries);
    entries.keys = (char *)object + gc__object_type((uintptr_t)object)->bytes;
    entries.values = (char *)entries.keys + value_at;
    entries.count = gc__object_length((uintptr_t)object);
    entries.entry_bytes = gc__object_type((uintptr_t)object)->element_bytes;
    entries.kind = kind;
    gc_visit_weak(visitor, &entries);
}

GC_API void gc_trace_weak(void *object, gc_visitor *visitor) { gc__trace_elements(object, visitor, GC_WEAK_REFS, 0); }
GC_API void gc_trace_ephemerons(void *object, gc_visitor *visitor) {
    gc__trace_elements(object, visitor, GC_WEAK_EPHEMERONS, 8);
}

/* Whether the function is one of these, which may run beside mutators. */
GC__FN bool gc__trace_is_own(void (*trace)(void *object, gc_visitor *visitor)) {
    return trace == gc_trace_weak || trace == gc_trace_ephemerons;
}

/* For readers in other processes, which cannot call them. Not const: core files leave constant data out. */
GC__VAR void (*gc__weak_traces[2])(void *object, gc_visitor *visitor) = {gc_trace_weak, gc_trace_ephemerons};
#else
GC__VAR void (*gc__weak_traces[2])(void *object, gc_visitor *visitor); /* that such hosts have none of */
#endif

/* Stacks of values as walks see them. */

GC__FN size_t gc__stack_entry_bytes(const gc_value_stack *stack) { return stack->entry_bytes ? stack->entry_bytes : 8; }

/* Calls the visitor for each slot of the stack. */
GC__FN void gc__stack_visit_slots(gc_visitor *visitor, const gc_value_stack *stack) {
    unsigned flags = (stack->flags & (unsigned)GC_SLOT_VALUE) | (unsigned)GC_SLOT_OWNED;
    for (char *at = (char *)stack->base; at < (char *)stack->top; at += gc__stack_entry_bytes(stack))
        gc_visit(visitor, at, 1, flags);
}

/* Calls the visitor for each slot of what a visitor is handed by an address that is no slot's. False: it is a slot's. */
GC__FN bool gc__visit_slots_of(gc_visitor *visitor, void *slot, unsigned flags) {
    if (flags & GC__SLOT_ENTRIES)
        gc__entries_visit(visitor, (const gc_weak_entries *)slot);
    else if (flags & GC__SLOT_STACK)
        gc__stack_visit_slots(visitor, ((const gc__stack_part *)slot)->stack);
    else
        return false;
    return true;
}

/* Handles a slot. */
typedef void (*gc__slot_function)(void *context, gc_word *slot, bool value);

#if !GC_HAS_MODEL
/* The slot of the mask's lowest bit. */
GC__FN gc_word *gc__mask_slot(uintptr_t words, uint64_t mask) {
    return (gc_word *)(words + 8 * (unsigned)__builtin_ctzll(mask));
}

GC__INLINED void gc__slots_of_mask(uintptr_t words, uint64_t mask, bool value, gc__slot_function f, void *context) {
    for (; mask; mask &= mask - 1) f(context, gc__mask_slot(words, mask), value);
}

/* The slots of `count` elements. */
GC__INLINED void gc__slots_of_elements(const gc_type *type, uintptr_t first, size_t count, gc__slot_function f, void *context) {
    if (type->element_bytes == 8) {
        bool value = GC_HAS_VALUES && type->element_values;
        for (gc_word *slot = (gc_word *)first, *end = slot + count; slot < end; slot++) f(context, slot, value);
        return;
    }
    for (size_t i = 0; i < count; i++, first += type->element_bytes) {
        gc__slots_of_mask(first, type->element_refs, false, f, context);
        gc__slots_of_mask(first, type->element_values, GC_HAS_VALUES, f, context);
    }
}

GC__FN bool gc__type_has_slots_in_elements(const gc_type *type) { return type->element_refs | type->element_values; }

GC__FN uint64_t gc__mask_clip(uint64_t mask, uintptr_t object, uintptr_t from, uintptr_t to) {
    if (from > object) mask = from - object >= 512 ? 0 : mask & (~(uint64_t)0 << ((from - object) / 8));
    if (to - object < 512) mask &= ((uint64_t)1 << ((to - object) / 8)) - 1;
    return mask;
}

/* The slots of the object that masks show. */
GC__INLINED void gc__slots_of(uintptr_t object, gc__slot_function f, void *context) {
    const gc_type *type = gc__object_type(object);
    gc__slots_of_mask(object, type->refs, false, f, context);
    gc__slots_of_mask(object, type->values, GC_HAS_VALUES, f, context);
    if (gc__type_has_slots_in_elements(type))
        gc__slots_of_elements(type, object + type->bytes, gc__object_length(object), f, context);
}

/* Those in [from, to), but for those of elements. */
GC__INLINED void gc__slots_of_head(uintptr_t object, uintptr_t from, uintptr_t to, gc__slot_function f, void *context) {
    const gc_type *type = gc__object_type(object);
    gc__slots_of_mask(object, gc__mask_clip(type->refs, object, from, to), false, f, context);
    gc__slots_of_mask(object, gc__mask_clip(type->values, object, from, to), GC_HAS_VALUES, f, context);
}

/* How many elements with slots lie in [from, to) at least partly; the first of them is at *first. */
GC__FN size_t gc__elements_in(uintptr_t object, uintptr_t from, uintptr_t to, uintptr_t *first) {
    const gc_type *type = gc__object_type(object);
    if (!gc__type_has_slots_in_elements(type)) return 0;
    uintptr_t start = object + type->bytes;
    size_t length = gc__object_length(object), begin = from > start ? (from - start) / type->element_bytes : 0;
    size_t end = to > start ? (to - start + type->element_bytes - 1) / type->element_bytes : 0;
    *first = start + begin * type->element_bytes;
    if (end > length) end = length;
    return begin < end ? end - begin : 0;
}
#endif

GC__FN void gc__slot_visit(void *visitor, gc_word *slot, bool value) {
    gc_visit((gc_visitor *)visitor, slot, 1, value && GC__VALUES_IN_USE ? GC_SLOT_VALUE : 0);
}

/* Calls visitor->visit for every slot of the object, or for the entries and stacks that slots belong to. */
GC__FN void gc__object_visit_entries(uintptr_t object, gc_visitor *visitor) {
#if !GC_HAS_MODEL
    gc__slots_of(object, gc__slot_visit, visitor);
    if (!gc__object_type(object)->trace) return;
#endif
    gc__object_trace(object, visitor);
}

/* Hands slots on to a visitor that does not know entries and stacks. */
typedef struct gc__slot_visitor {
    gc_visitor visitor, *inner;
} gc__slot_visitor;

GC__FN void gc__slot_visitor_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc_visitor *inner = ((gc__slot_visitor *)visitor)->inner;
    if (!gc__visit_slots_of(inner, slot, flags)) gc_visit(inner, slot, count, flags);
}

/* Calls visitor->visit for every slot of the object. */
GC__FN void gc__object_visit(uintptr_t object, gc_visitor *visitor) {
    gc__slot_visitor outer = {{gc__slot_visitor_visit}, visitor};
    gc__object_visit_entries(object, &outer.visitor);
}
/* The arena: reserving the address range, handing out and taking back runs of regions. */


#define GC__ARENA_BYTES_MIN ((size_t)16 * GC_REGION_BYTES)
GC__STATIC_ASSERT(GC_ARENA_BYTES >= GC__ARENA_BYTES_MIN,
                  "GC_ARENA_BYTES must hold 16 regions: raise it, or choose a smaller GC_REGION_SHIFT");

/* Reserves an arena of `bytes` and its tables, or nothing. */
GC__COLD bool gc__arena_try(size_t bytes) {
    gc__arena *arena = &gc__the_arena;
    size_t alignment = gc__max(GC_REGION_BYTES, GC__HUGE_PAGE_BYTES);
    arena->count = bytes >> GC_REGION_SHIFT;
    size_t metadata = 0;
    for (int i = 0; i < GC__SIDE_ALWAYS; i++) metadata += gc__side_bytes(i, 0);
    char *sides = (char *)gc__supply_reserve(metadata, GC__SIDE_BYTES_SMALL, true);
    char *base = sides ? (char *)gc__supply_reserve(arena->count << GC_REGION_SHIFT, alignment, false) : NULL;
    if (!base) {
        if (sides) gc__supply_release(sides, metadata);
        return false;
    }
    arena->base = (uintptr_t)base;
    arena->bytes = arena->count << GC_REGION_SHIFT;
    for (int i = 0; i < GC__SIDE_ALWAYS; sides += gc__sides[i++].bytes) gc__side_place(i, sides);
    return true;
}

/* The rank tables have no entries for addresses beyond GC_ADDRESS_BITS. */
GC__COLD gc_result gc__arena_check(void) {
    gc__arena *arena = &gc__the_arena;
    uintptr_t base = arena->base;
    if (base + arena->bytes <= (uintptr_t)1 << GC_ADDRESS_BITS) return GC_OK;
    gc__supply_release((void *)base, arena->bytes);
    gc__sides_release();
    arena->base = arena->bytes = arena->count = 0;
    return gc__fail(
        GC_ERROR_RESERVE,
        "the system has placed the arena at %p, beyond the %d bits of an address that gc.h expects: it does "
        "not know this kind of system yet, please report it",
        (void *)base, GC_ADDRESS_BITS);
}

/* Says where the tables are, in the form in which their readers need it. */
GC__COLD void gc__arena_publish(uint8_t *ranks) {
    gc__arena *arena = &gc__the_arena;
    char *marks = gc__sides[GC__SIDE_MARKS].start;
    arena->regions = (gc__region *)(void *)gc__sides[GC__SIDE_REGIONS].start;
    arena->marks = (uint64_t *)((uintptr_t)marks - (arena->base >> 9) * sizeof(uint64_t));
    arena->cards = (uint8_t *)gc__sides[GC__SIDE_CARDS].start;
    arena->bundles = (uint8_t *)gc__sides[GC__SIDE_BUNDLES].start;
    arena->taken = (uint8_t *)gc__sides[GC__SIDE_TAKEN].start;
    gc__tables.cards = (uint8_t *)((uintptr_t)arena->cards - (arena->base >> GC_CARD_BYTE_SHIFT));
    gc__tables.bundles = (uint8_t *)((uintptr_t)arena->bundles - (arena->base >> GC_BUNDLE_SHIFT));
    gc__tables.lowest = gc__tables.highest = arena->base;
    gc__tables.low = UINTPTR_MAX; /* no address is in [low, high) */
    gc__tables.age = ranks + GC_RANK_ENTRIES;
    for (int i = GC__SIDE_YOUTH; i <= GC__SIDE_VERDICT; i++)
        gc__side_place(i, (char *)ranks + (size_t)(i - GC__SIDE_YOUTH) * GC_RANK_ENTRIES +
                              (arena->base >> GC_REGION_SHIFT));
    gc__side_huge_pages(GC__SIDE_MARKS);
    gc__side_huge_pages(GC__SIDE_CARDS);
}

/* Reserves the largest arena that the system grants. */
GC__COLD gc_result gc__arena_reserve(void) {
    for (size_t bytes = GC_ARENA_BYTES; bytes >= GC__ARENA_BYTES_MIN; bytes /= 2) {
        /* If address space is short, as much again must be left for the host and the collector's own lists. */
        bool is_short = bytes < GC_ARENA_BYTES && !gc__supply_is_host();
        void *spare = is_short ? gc__os_reserve(bytes, GC_REGION_BYTES, false) : NULL;
        bool opened = (spare || !is_short) && gc__arena_try(bytes);
        if (spare) gc__os_unmap(spare, bytes);
        if (opened) return GC_OK;
    }
    return gc__fail(GC_ERROR_RESERVE,
                    "cannot reserve address space for even 16 regions (%zu MiB, and their tables): %s",
                    GC__ARENA_BYTES_MIN >> 20, gc__supply_refusal(2 * GC__ARENA_BYTES_MIN));
}

/* The size of youth, age and verdict tables; the last part that is opened of them may reach beyond their end. */
#define GC__RANKS_BYTES (3 * GC_RANK_ENTRIES + GC__SIDE_BYTES_SMALL)

GC__FN void gc__arena_close(void);

/* Has memory come from these functions; NULL: from the system. Lock held. */
GC__FN gc_result gc__arena_supply(const gc_memory *memory) {
    static const gc_memory of_system = {NULL, NULL, NULL, NULL, NULL};
    const gc_memory *from = memory ? memory : &of_system;
    if (memory && (!memory->reserve || !memory->commit || !memory->release))
        return gc__fail(GC_ERROR_OPTION, "options.memory has no reserve, commit or release: only discard may be NULL");
    if (from->reserve == gc__supply.reserve && from->commit == gc__supply.commit &&
        from->discard == gc__supply.discard && from->release == gc__supply.release &&
        from->context == gc__supply.context)
        return GC_OK;
    if (gc__the_arena.heaps)
        return gc__fail(GC_ERROR_OPTION, "options.memory differs from that of the heaps that are there: all heaps of a "
                                         "process share one address range, so destroy them first");
    gc__arena_close();
    gc__supply = *from;
    return GC_OK;
}

/* Reserves the rank and verdict tables and the arena. Lock held. */
GC__COLD gc_result gc__arena_open(void) {
    if (gc__the_arena.base) return GC_OK;
    size_t ranks = GC__RANKS_BYTES;
    uint8_t *tables = (uint8_t *)gc__supply_reserve(ranks, GC__SIDE_BYTES_SMALL, true);
    if (!tables)
        return gc__fail(GC_ERROR_RESERVE,
                        "cannot reserve %zu MiB of address space for the rank tables: %s, or compile with a larger "
                        "GC_REGION_SHIFT (now %d)",
                        ranks >> 20, gc__supply_refusal(ranks), GC_REGION_SHIFT);
    gc_result result = gc__arena_reserve();
    if (result == GC_OK) result = gc__arena_check();
    if (result == GC_OK)
        gc__arena_publish(tables);
    else
        gc__supply_release(tables, ranks);
    return result;
}

/* Gives the arena and its tables back to the system. Lock held; there is no heap. */
GC__COLD void gc__arena_close(void) {
    gc__arena *arena = &gc__the_arena;
    if (!arena->base) return;
    for (size_t i = 0; i < arena->used; i++)
        if (arena->regions[i].base) gc__os_mark_free(arena->regions[i].base, GC_REGION_BYTES, false);
    gc__supply_release((void *)arena->base, arena->bytes);
    gc__supply_release(gc__tables.age - GC_RANK_ENTRIES, GC__RANKS_BYTES);
    gc__sides_release();
    for (int i = 0; i < GC__SIDES; i++) {
        bool is_alone = i > GC__SIDE_VERDICT && gc__sides[i].start && gc__sides[i].bytes;
        if (is_alone) gc__supply_release(gc__sides[i].start, gc__sides[i].bytes);
        gc__sides[i].start = NULL;
        gc__sides[i].bytes = gc__sides[i].opened = 0;
    }
    gc__sides_opened = 0;
    memset(&gc__tables, 0, sizeof gc__tables);
    gc__next_marks = gc__finalizer_marks = NULL;
    arena->base = arena->bytes = arena->count = arena->used = arena->free_from = 0;
}

/* Whether the region can become part of a run for `heap`. */
GC__FN bool gc__arena_takes(const gc__region *region, const gc_heap *heap) {
    return !region->heap || (region->heap == heap && region->kind == GC__FREE);
}

/* The index of the first region at or after `from` that may be free, `used` if there is none. Most of a large heap is taken,
   so it goes through the table eight regions at a time. */
GC__FN size_t gc__arena_next_free(size_t from, size_t used) {
    const uint8_t *taken = gc__the_arena.taken;
    const uint64_t ones = UINT64_MAX / 255;
    while (from < used) {
        uint64_t word = 0;
        if (from % 8 == 0) word = __atomic_load_n((const uint64_t *)(const void *)(taken + from), __ATOMIC_RELAXED);
        if (word == ones) {
            from += 8;
            continue;
        }
        if (!__atomic_load_n(taken + from, __ATOMIC_RELAXED)) return from;
        from++;
    }
    return used;
}

/* The index of the first of `span` regions in a row that are free for `heap`; arena->count if there are none. Lock held. */
GC__FN size_t gc__arena_find(const gc_heap *heap, size_t span) {
    const gc__arena *arena = &gc__the_arena;
    size_t used = arena->used, first = gc__arena_next_free(span > 1 ? 0 : arena->free_from, used), end = first;
    while (end < used) {
        bool takes = gc__arena_takes(&arena->regions[end++], heap);
        if (takes && end - first == span) return first;
        if (!takes) first = end = gc__arena_next_free(end, used);
    }
    return first + span <= arena->count ? first : arena->count;
}

/* Provides memory for the region. False: the system refuses. Lock held. */
GC__FN bool gc__arena_commit(gc__region *region) {
    if (!region->base) {
        region->base = gc__the_arena.base + ((uintptr_t)(region - gc__the_arena.regions) << GC_REGION_SHIFT);
        region->dirty_end = region->base;
    }
    if (region->accessible && !region->left_out) return true;
    if (!gc__supply_commit((void *)region->base, GC_REGION_BYTES)) return false;
    region->accessible = true;
    region->left_out = false;
    return true;
}

GC__FN void gc__bounds_grow(uintptr_t highest); /* the end of the regions that have been in use */

/* Gives regions to the heap. False: the system gives no memory for them. Lock held. */
GC__FN bool gc__arena_grant(gc_heap *heap, size_t first, size_t span) {
    gc__arena *arena = &gc__the_arena;
    bool found = gc__sides_open(first + span);
    for (size_t i = first; found && i < first + span; i++) found = gc__arena_commit(&arena->regions[i]);
    for (size_t i = first; found && i < first + span; i++) {
        gc__region *region = &arena->regions[i];
        if (region->heap != heap) region->kind = GC__SMALL;
        __atomic_store_n(&region->heap, heap, __ATOMIC_RELAXED);
    }
    if (!found) return false;
    gc__region_note_taken(&arena->regions[first], span, true);
    if (first + span > arena->used) __atomic_store_n(&arena->used, first + span, __ATOMIC_RELAXED);
    return true;
}

/* Takes `span` contiguous regions for the heap, from the arena or, if it is more than one, from the heap's own free ones, too,
   which are GC__FREE still.
   Returns the first, or NULL with gc__fail. */
GC__FN gc__region *gc__arena_acquire(gc_heap *heap, size_t span) {
    gc__arena *arena = &gc__the_arena;
    gc__lock_take(&arena->lock);
    size_t first = span <= arena->count ? gc__arena_find(span > 1 ? heap : NULL, span) : arena->count;
    bool found = first < arena->count && gc__arena_grant(heap, first, span);
    if (found && span == 1) arena->free_from = first + 1;
    gc__lock_release(&arena->lock);
    if (found) {
        gc__bounds_grow(arena->base + ((first + span) << GC_REGION_SHIFT));
        return &arena->regions[first];
    }
    if (first < arena->count)
        gc__fail(GC_ERROR_MEMORY, "the system gives no memory for %zu more regions of %zu KiB: %s", span,
                 GC_REGION_BYTES >> 10, gc__supply_refusal(span * GC_REGION_BYTES));
    else
        gc__fail(GC_ERROR_MEMORY,
                 "the arena of %zu MiB has no %zu free regions in a row: raise `ulimit -v` or GC_ARENA_BYTES",
                 arena->bytes >> 20, span);
    return NULL;
}

/* Core dumps leave out memory that was given back, but not that of every region: if every second region were left out, each
   would be a mapping of its own, and a process may have only some 65,000 mappings. */
#define GC__ARENA_LEFT_OUT_MAX ((size_t)8192)

/* Gives a region back to the arena, its memory to the system. */
GC__FN void gc__arena_release(gc__region *region) {
    bool resident = region->dirty_end > region->base || region->populated;
    bool zero = !resident || gc__supply_discard((void *)region->base, GC_REGION_BYTES);
    bool left_out = zero && region->accessible && (size_t)(region - gc__the_arena.regions) < GC__ARENA_LEFT_OUT_MAX;
    if (left_out) gc__supply_leave_out_of_dumps((void *)region->base, GC_REGION_BYTES);
    if (left_out && region->populated) gc__supply_prefer_small_pages((void *)region->base, GC_REGION_BYTES);
    gc__lock_take(&gc__the_arena.lock);
    if (zero) region->dirty_end = region->base;
    region->populated &= !zero;
    region->left_out = left_out;
    region->kind = GC__FREE;
    size_t index = (size_t)(region - gc__the_arena.regions);
    if (index < gc__the_arena.free_from) gc__the_arena.free_from = index;
    gc__region_note_taken(region, 1, false);
    __atomic_store_n(&region->heap, (gc_heap *)NULL, __ATOMIC_RELAXED);
    gc__lock_release(&gc__the_arena.lock);
}
/* Huge pages for regions. A heap that will grow by as much as one takes all regions of one together: one fault instead of 512,
   and the trace, which goes from object to object at random, waits less for the processor to find where pages are. Some
   systems take long for a huge page now and then: a guest whose free memory goes back to its host 5 ms, where small pages
   for as much take 0.7. So it is timed, and after a slow one regions are taken singly for a while. */


#define GC__HUGE_REGIONS (GC_REGION_SHIFT < 21 ? GC__HUGE_PAGE_BYTES >> GC_REGION_SHIFT : 1) /* 1: not used */
#define GC__HUGE_SLOW_NS ((uint64_t)2000000)
#define GC__HUGE_PAUSE ((size_t)32 << 20 >> GC_REGION_SHIFT) /* regions until the next, after the first slow one; then more */
#define GC__HUGE_PAUSE_GROWTH 16
#define GC__HUGE_PAUSE_FALL 4 /* and less after one that was not */

/* The first region of a huge page; arena->count if there is none. The system provides one only where there have been no small
   pages before, and regions that have been in use are used again first. Lock held. */
GC__FN size_t gc__huge_find(void) {
    const gc__arena *arena = &gc__the_arena;
    size_t first = gc__arena_next_free(arena->free_from, arena->used);
    while (first < arena->used && arena->regions[first].heap) first = gc__arena_next_free(first + 1, arena->used);
    bool begins = first == arena->used && first % GC__HUGE_REGIONS == 0;
    return begins && first + GC__HUGE_REGIONS <= arena->count ? first : arena->count;
}

/* Whether a page that took so long is followed by a pause, and how long that is. */
GC__FN void gc__huge_note(gc__arena *arena, uint64_t ns) {
    bool slow = ns > GC__HUGE_SLOW_NS;
    size_t more = gc__max(arena->huge_paid * GC__HUGE_PAUSE_GROWTH, GC__HUGE_PAUSE);
    arena->huge_paid = slow ? more : arena->huge_paid / GC__HUGE_PAUSE_FALL;
    arena->huge_waits = slow ? more : 0;
}

/* Has the system provide the huge page. Lock held. */
GC__FN void gc__huge_touch(gc__region *region) {
    uint64_t before = gc__os_cpu_ns();
    gc__supply_prefer_huge_pages((void *)region->base, GC__HUGE_PAGE_BYTES);
    __atomic_fetch_or((uint8_t *)region->base, (uint8_t)0, __ATOMIC_RELAXED);
    gc__huge_note(&gc__the_arena, gc__ns_since(gc__os_cpu_ns(), before));
    for (size_t i = 0; i < GC__HUGE_REGIONS; i++) region[i].populated = true;
}

/* Takes the regions of a huge page for the heap; NULL: there is none, or none is wanted now. */
GC__FN gc__region *gc__huge_acquire(gc_heap *heap) {
    gc__arena *arena = &gc__the_arena;
    gc__lock_take(&arena->lock);
    size_t first = arena->huge_waits ? arena->count : gc__huge_find();
    if (arena->huge_waits) arena->huge_waits--;
    bool found = first < arena->count && gc__arena_grant(heap, first, GC__HUGE_REGIONS);
    if (found) gc__huge_touch(&arena->regions[first]);
    gc__lock_release(&arena->lock);
    if (!found) return NULL;
    gc__bounds_grow(arena->base + ((first + GC__HUGE_REGIONS) << GC_REGION_SHIFT));
    return &arena->regions[first];
}
/* The heap: one instance of everything that heaps of a process do not share. */


#define GC__SMALL_HEAP_BYTES ((size_t)4 << 20)
#define GC__REGIONS_MIN 4 /* heap_bytes_max must allow two windows, survivors, and room to copy them */
#define GC__RESERVE 256     /* a region, and this part of the limit, is kept for evacuation at most */
#define GC__RESERVE_MARKING 32 /* this part where pauses are short: the last one of a cycle evacuates while mutators wait */
#define GC__RESERVE_MIN 8      /* under a limit of fewer regions a region would be too much */
#define GC__HOLE_LOG2_MIN 4
#define GC__HOLE_BYTES_MIN_MUTATOR ((size_t)1 << GC__HOLE_LOG2_MIN)
#define GC__HOLE_LOG2_EXACT 8 /* smaller holes have a list for each size */
#define GC__HOLE_SIZES ((1 << (GC__HOLE_LOG2_EXACT - 3)) - (1 << (GC__HOLE_LOG2_MIN - 3)))
#define GC__HOLE_LISTS (GC__HOLE_SIZES + (GC_REGION_SHIFT - GC__HOLE_LOG2_EXACT + 1) * 4)

typedef struct gc__profiler gc__profiler;

/* Holes in lists by size, one for each size below 256 bytes, then four for each power of two, linked by their second words.
   The first word is a filler's. */
typedef struct gc__holes {
    gc_word first[GC__HOLE_LISTS];
    uint64_t listed[2]; /* bits of the lists that are not empty */
    size_t bytes;       /* atomic */
} gc__holes;

/* Holes that a thread has to itself, linked by their second words. They count as allocated. */
typedef struct gc__local_spans {
    gc_word first;
    size_t bytes;      /* of these */
    gc_word left;      /* holes, linked in the same way, that its windows have left */
    size_t left_bytes; /* of these, and of those too small to be one */
    size_t most;       /* bytes that were asked for */
} gc__local_spans;

/* Fields are written under the heap's lock, or by its collector, unless they say otherwise. What later rooms of src/ keep
   of a heap they define themselves. */
struct gc_heap {
    gc_options options;
    gc__barrier_observer observer;
    gc__region *regions[GC_GENERATIONS];
    gc__region *free, *free_last; /* last freed first, so that a small nursery stays in cache */
    size_t free_count;
    size_t free_for_copies; /* so many mutators leave to the next collection, if there are others */
    gc__region *quarantine, *quarantine_last; /* stress: moved-from regions, inaccessible, oldest first */
    size_t quarantine_count;
    gc__region *recycled;          /* in the list regions[0]: the next one whose holes mutators get */
    gc_window fixed;               /* where objects that never move are allocated; each has a mark bit at once */
    gc__region *fixed_search;      /* in the list regions[0]: where the search for holes for them goes on */
    size_t fixed_unmarked;         /* such objects that have no header and no mark yet; atomic */
    gc__holes holes;               /* for mutators */
    gc_word small_spans;                 /* the first of the other holes for mutators, small ones, linked by their second words */
    gc__holes old_holes;           /* of generation 2, for promotion, while it fills them; under the marker's lock */
    gc__region *old_unflipped;     /* in the list regions[2]: the next one that may be `beside`; NULL: none is; atomic */
    gc__region *old_unlisted;      /* in the list regions[2]: the next one whose holes are not in these lists; atomic */
    size_t unlisted_bytes;         /* about how much is free in that one and those after it; atomic */
    size_t held_regions;           /* in the lists, the free list included; not the quarantine */
    size_t held_peak_bytes;
    size_t limit_bytes;  /* heap_bytes_max, or what the arena has */
    bool reserve_open;   /* compaction gained nothing, so mutators have the reserve, until a full collection frees more */
    bool limit_is_share; /* heap_bytes_max is 0, and the limit a share of the container's memory */
    bool limit_is_open;  /* heap_bytes_max is 0, and the container was not looked at yet */
    bool asked_concurrent; /* options.concurrent was on; it is off while it would have no effect */
    size_t metadata_bytes; /* of memory beside regions: handles, finalizers, the collector's lists; atomic */
    size_t large_bytes;
    size_t external_bytes;                /* off-heap bytes, with and without an owner; atomic */
    size_t owned_bytes;                   /* those of objects */
    size_t unowned_bytes;                 /* those of gc_heap_external_add; atomic */
    size_t large_regions;                 /* that large objects own */
    size_t free_least_bytes;              /* the least that was free since `uncommitted_ns` */
    size_t fresh_regions;                 /* never written to, that were taken since the stock was looked at; atomic */
    size_t uncommit_bytes;                    /* of what is free, what is to be given back to the system */
    bool uncommit_waits;                      /* only what is still free after a while */
    uint64_t uncommitted_ns;                  /* when that was decided last */
    size_t spare_bytes, free_spare_bytes; /* the sum of `spare` of regions in use; of free ones */
    size_t slack_bytes;                   /* what could be spare if it were given back to the system */
    size_t
        generation_bytes[GC_GENERATIONS]; /* survivors; of generation 0, atomic: allocated since the last collection */
    size_t nursery_survivor_bytes;        /* survivors in generation 0: recycled and pinned regions */
    size_t goal_bytes;                    /* what the heap should hold at most, short of its limit */
    size_t full_bytes;                    /* bytes of objects that the last full collection left */
    size_t budget_bytes; /* a collection is due when generation 0 and the growth of off-heap bytes reach it; atomic */
    bool collecting;
    uintptr_t frame; /* below it are the frames of a collection's callbacks; 0: none runs */
    bool marking; /* generation 2 is being marked beside mutators: written with the world stopped */
    bool finalizer_marks; /* the collection that runs ends a marking, and objects that are reprieved count as reached by now */
    bool remembers_slots; /* stores into generation 2 are remembered by slots instead of cards: the same */
    uint32_t phase;           /* a gc_phase, also for readers in other processes; atomic */
    uint64_t phase_since;     /* when the collection that runs began the phase that it is in, by gc__cpu_ticks */
    gc_phase phase_counted;   /* that phase */
    uint64_t phase_ticks[GC_PHASE_COUNT]; /* that its phases have taken */
    gc_collection collection; /* the last one, or the one that runs; its number is atomic */
    gc_stats stats;           /* allocated_bytes and collections_moving are atomic */
    gc_pause pause;           /* the last one, or the one that runs; counted as it goes on */

    struct gc__threads *threads;
    struct gc__collector *collector;
    struct gc__pace *pace;
    struct gc__cycle *cycle;
    struct gc__marker *marker;
    struct gc__remembered *remembered;
    struct gc__handles *handles;
    struct gc__finalizers *finalizers;
    struct gc__stress *stress;
    struct gc__pauses *pauses;
    const gc__profiler *profiler;       /* atomic; NULL: no profile is being taken */
    struct gc__profiled_heap *profiled; /* what gc_profile.h keeps of it; written under that header's lock */
};

/* What barriers read as the age of the heap's regions of that generation. */
GC__FN int gc__age_of(const gc_heap *heap, int generation) {
    if (generation < 2 || !(heap->marking || heap->remembers_slots)) return generation;
    return 2 | GC_AGE_LOGGED | GC__AGE_LOGGED_TOO | (heap->marking ? GC__AGE_MARKING : 0) |
           (heap->remembers_slots ? GC__AGE_REMEMBERS : 0);
}

/* The age of a region of generation 2. */
GC__FN int gc__region_age(const gc_heap *heap, const gc__region *region) {
    return gc__age_of(heap, 2) | (region->candidate ? GC__AGE_CANDIDATE : 0);
}

/* Regions of the heap. */

/* What the heap takes of the system's memory. */
GC__FN size_t gc__held_bytes(const gc_heap *heap) {
    return (heap->held_regions << GC_REGION_SHIFT) - heap->spare_bytes - heap->free_spare_bytes;
}

/* Ends the quarantine of the region that has been there longest. */
GC__FN void gc__quarantine_pop(gc_heap *heap) {
    gc__region *region = heap->quarantine;
    heap->quarantine = region->next;
    if (!heap->quarantine) heap->quarantine_last = NULL;
    heap->quarantine_count--;
    region->accessible = gc__os_access((void *)region->base, GC_REGION_BYTES, true);
    gc__region_set_rank(region, 0, false);
    gc__arena_release(region);
}

GC__FN void gc__region_fresh(gc__region *region, int generation, uint32_t span) {
    region->span = span;
    region->top = region->hole = region->indexed_end = region->base;
    region->live_bytes = region->taken_bytes = region->spare = region->next_live_bytes = 0;
    region->generation = region->target = (uint8_t)generation;
    region->linear = region->formatted = region->overflowed = region->pinned = region->fixed = false;
    region->unscanned = 0;
    region->is_slid_into = false;
    region->offset_table = NULL;
}

/* Puts a region on the heap's free list, or takes it out; `spare` bytes at its end take no memory. */
GC__FN void gc__heap_list_free(gc_heap *heap, gc__region *region, size_t spare) {
    region->kind = GC__FREE;
    region->spare = spare;
    region->previous = NULL;
    region->next = heap->free;
    if (heap->free)
        heap->free->previous = region;
    else
        heap->free_last = region;
    heap->free = region;
    heap->free_count++;
    heap->free_spare_bytes += spare;
}

/* The same, so that the others are used first. */
GC__FN void gc__heap_list_free_last(gc_heap *heap, gc__region *region) {
    if (!heap->free) {
        gc__heap_list_free(heap, region, 0);
        return;
    }
    region->kind = GC__FREE;
    region->spare = 0;
    region->next = NULL;
    region->previous = heap->free_last;
    heap->free_last->next = region;
    heap->free_last = region;
    heap->free_count++;
}

/* The memory that free regions take. */
GC__FN size_t gc__free_bytes(const gc_heap *heap) {
    return (heap->free_count << GC_REGION_SHIFT) - heap->free_spare_bytes;
}

GC__FN void gc__heap_unlist_free(gc_heap *heap, gc__region *region) {
    if (region->previous)
        region->previous->next = region->next;
    else
        heap->free = region->next;
    if (region->next)
        region->next->previous = region->previous;
    else
        heap->free_last = region->previous;
    heap->free_count--;
    heap->free_spare_bytes -= region->spare;
    region->spare = 0;
    if (gc__free_bytes(heap) < heap->free_least_bytes) heap->free_least_bytes = gc__free_bytes(heap);
}

/* Gives one free region back to the arena and the system. */
GC__FN void gc__heap_release_free(gc_heap *heap) {
    gc__region *region = heap->free;
    gc__heap_unlist_free(heap, region);
    heap->held_regions--;
    gc__arena_release(region);
}

GC__FN size_t gc__limit_regions(const gc_heap *heap) { return heap->limit_bytes >> GC_REGION_SHIFT; }

GC__FN size_t gc__external_bytes(const gc_heap *heap) {
    return __atomic_load_n(&heap->external_bytes, __ATOMIC_RELAXED);
}

/* Of all regions that are not free, without what is spare, and off the heap. */
GC__FN size_t gc__bytes_in_use(const gc_heap *heap) {
    return ((heap->held_regions - heap->free_count) << GC_REGION_SHIFT) - heap->spare_bytes + gc__external_bytes(heap);
}

#define GC__MARK_BYTES (GC_REGION_BYTES / 64) /* a region's mark bits */

/* What the tables take for so many regions. Of the mark bits of large objects only one each is ever touched. */
GC__FN size_t gc__table_bytes(size_t regions, size_t large_regions) {
    size_t each = (GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT) + sizeof(gc__region) + 4;
    if (GC_BUNDLE_SHIFT) each += GC_REGION_BYTES >> GC_BUNDLE_SHIFT;
    if (gc__tables.watch) each += GC_REGION_BYTES >> GC_WATCH_SHIFT;
    if (gc__tables.log) each += GC__MARK_BYTES;
    return regions * each + (regions - large_regions) * GC__MARK_BYTES;
}

/* The bytes that count towards the limit: those in use, their tables, and what is beside. */
GC__FN size_t gc__bytes_charged(const gc_heap *heap) {
    return gc__bytes_in_use(heap) + gc__table_bytes(heap->held_regions - heap->free_count, heap->large_regions) +
           __atomic_load_n(&heap->metadata_bytes, __ATOMIC_RELAXED);
}

GC__OUT_OF_LINE size_t gc__bytes_left(const gc_heap *heap) {
    size_t used = gc__bytes_charged(heap);
    return used < heap->limit_bytes ? heap->limit_bytes - used : 0;
}

GC__FN size_t gc__bytes_to_goal(const gc_heap *heap) {
    size_t used = gc__bytes_in_use(heap);
    return used < heap->goal_bytes ? heap->goal_bytes - used : 0;
}

GC__FN size_t gc__regions_left(const gc_heap *heap) { return gc__bytes_left(heap) >> GC_REGION_SHIFT; }

/* The number of regions under the limit that only the collector takes, so that it can compact a full heap whose holes are too
   small for what lives. They are few, since mutators have the better use for memory: with more, collections come sooner. At most
   half of what is not live, and no more than there are regions whose objects can be copied. */
GC__FN size_t gc__evacuation_reserve_of(const gc_heap *heap, size_t live_bytes) {
    size_t limit = gc__limit_regions(heap), live = live_bytes >> GC_REGION_SHIFT;
    size_t movable = heap->held_regions - heap->free_count - heap->large_regions;
    if (heap->options.non_moving || live >= limit || limit < GC__RESERVE_MIN) return 0;
    size_t most = limit / (heap->options.concurrent == GC_CONCURRENT_ON ? GC__RESERVE_MARKING : GC__RESERVE) + 1;
    if (most > movable) most = movable;
    return gc__min((limit - live) / 2, most);
}

/* What mutators may not take of it now. Where objects are marked beside them that is half of it, so that those that wait for
   the end of a cycle, or for the holes that it leaves, need not stand still. In the last resort nothing is kept: packing needs no
   room. */
GC__OUT_OF_LINE size_t gc__evacuation_reserve(const gc_heap *heap) {
    if (heap->collecting || heap->reserve_open) return 0;
    size_t reserve = gc__evacuation_reserve_of(heap, heap->full_bytes);
    return heap->options.concurrent == GC_CONCURRENT_ON ? reserve - reserve / 2 : reserve;
}

/* The limit as programs are told it; 0: none. */
GC__FN size_t gc__limit_told(const gc_heap *heap) {
    return heap->options.heap_bytes_max == SIZE_MAX ? 0 : heap->options.heap_bytes_max;
}

GC__FN const char *gc__limit_name(const gc_heap *heap) {
    return heap->limit_is_share ? "three quarters of the container's memory" : "heap_bytes_max";
}

#define GC__METADATA_MUCH 8 /* this part of the limit is worth a word */

/* Adds to a sentence about a full heap what besides objects fills it, as far as that is much. */
GC__COLD void gc__heap_fail_with_others(const gc_heap *heap) {
    size_t metadata = gc__counted(&heap->metadata_bytes), external = gc__external_bytes(heap);
    if (metadata > heap->limit_bytes / GC__METADATA_MUCH)
        gc__fail_more("; handles, lists of finalizers and the collector's take %zu KiB of it", metadata >> 10);
    if (external > heap->limit_bytes / GC__METADATA_MUCH)
        gc__fail_more("; %zu KiB of it are off the heap (gc_external_add, gc_heap_external_add), until their objects are freed, "
                      "or the program says that it has freed them", external >> 10);
}

GC__OUT_OF_LINE void gc__heap_fail_full(const gc_heap *heap, size_t bytes) {
    gc__fail(GC_ERROR_HEAP_FULL,
             "the heap holds %zu KiB of at most %zu (%s), of which %zu are kept for evacuation, and needs %zu more: "
             "raise %s, "
             "or drop references",
             gc__bytes_charged(heap) >> 10, heap->limit_bytes >> 10, gc__limit_name(heap),
             gc__evacuation_reserve(heap) * (GC_REGION_BYTES >> 10), (bytes + 1023) >> 10,
             heap->limit_is_share ? "the container's limit, or set heap_bytes_max" : "heap_bytes_max");
    gc__heap_fail_with_others(heap);
}

/* The ends of large objects' last regions, beyond the pages that the objects need. While nothing was written there, an end
   takes no memory; then it is *spare*, and does not count. An end that earlier objects have written to is *slack*: it
   counts until its memory is given back to the system. That takes time, so it is done for objects that survive a
   collection, if room is short, and if there is much slack. */

GC__FN uintptr_t gc__page_end(uintptr_t address) {
    uintptr_t page = gc__os_page_bytes();
    return (address + page - 1) & ~(page - 1);
}

GC__FN size_t gc__large_slack(const gc__region *region) {
    return gc__region_end(region) - gc__page_end(region->top) - region->spare;
}

/* Makes the end spare, unless the system refuses. */
GC__FN void gc__large_uncommit(gc_heap *heap, gc__region *region) {
    gc__region *last = region + region->span - 1;
    uintptr_t from = gc__page_end(region->top), to = gc__region_end(region);
    size_t slack = gc__large_slack(region);
    if (!slack || !gc__supply_discard((void *)from, to - from)) return;
    if (last->dirty_end > from) last->dirty_end = from;
    region->spare += slack;
    heap->spare_bytes += slack;
    heap->slack_bytes -= slack;
}

GC__FN void gc__large_uncommit_all(gc_heap *heap) {
    for (int g = 0; heap->slack_bytes && g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            if (region->kind == GC__LARGE) gc__large_uncommit(heap, region);
}

/* Whether `bytes` more may be used. False with gc__fail. */
GC__FN bool gc__heap_has_room(gc_heap *heap, size_t bytes) {
    if (!heap->options.heap_bytes_max) return true;
    size_t needed = bytes + (gc__evacuation_reserve(heap) << GC_REGION_SHIFT);
    if (needed > gc__bytes_left(heap)) gc__large_uncommit_all(heap);
    if (needed <= gc__bytes_left(heap)) return true;
    gc__heap_fail_full(heap, bytes);
    return false;
}

/* Has the system provide memory for the region's part of tables now rather than in a pause. */
GC__FN void gc__tables_touch(const gc__region *region) {
    size_t word = gc__mark_index(region->base) >> 6;
    __atomic_fetch_or(&gc__the_arena.marks[word], (uint64_t)0, __ATOMIC_RELAXED);
    __atomic_fetch_or(gc__tables.cards + (region->base >> GC_CARD_BYTE_SHIFT), (uint8_t)0, __ATOMIC_RELAXED);
    uint64_t *next = __atomic_load_n(&gc__next_marks, __ATOMIC_ACQUIRE); /* another heap may be opening it */
    if (next) __atomic_fetch_or(&next[word], (uint64_t)0, __ATOMIC_RELAXED);
}

/* A region for a mutator whose memory may not be there yet, in a heap whose free regions are no more than the next collection's
   copies may take: those were written to before, so to copy there needs no page. NULL: there are more, or the limit is near. */
GC__FN gc__region *gc__heap_take_untouched(gc_heap *heap) {
    if (heap->collecting || heap->free_count >= heap->free_for_copies) return NULL;
    if (gc__free_bytes(heap) + 2 * GC_REGION_BYTES >= gc__bytes_left(heap)) return NULL;
    return gc__arena_acquire(heap, 1);
}

/* Whether the heap will soon take as much as a huge page, as far as its goal and its limit tell: so it holds no more because
   of one. Where pauses are to be short none may take milliseconds. */
GC__FN bool gc__heap_wants_huge(const gc_heap *heap) {
    size_t kept = (gc__evacuation_reserve(heap) + 2) << GC_REGION_SHIFT;
    bool suits = GC__HUGE_REGIONS > 1 && !heap->options.stress && !gc__supply_is_host();
    if (!suits || heap->options.pause_goal_us || heap->options.concurrent == GC_CONCURRENT_ON) return false;
    return gc__bytes_to_goal(heap) >= GC__HUGE_PAGE_BYTES / 4 * 5 && gc__bytes_left(heap) >= GC__HUGE_PAGE_BYTES + kept;
}

/* Puts the regions of a huge page on the free list, the first one to be taken first. */
GC__FN void gc__heap_take_huge(gc_heap *heap) {
    gc__region *region = gc__huge_acquire(heap);
    if (!region) return;
    gc__region_note_taken(region, GC__HUGE_REGIONS, false);
    for (size_t i = GC__HUGE_REGIONS; i-- > 0; heap->held_regions++) gc__heap_list_free(heap, &region[i], 0);
}

/* A run of `span` regions for objects of `generation`; not in a list yet. *clean: how many bytes at the end of the run take no
   memory. NULL with gc__fail at a limit. */
GC__FN gc__region *gc__heap_take_run(gc_heap *heap, int generation, size_t span, size_t *clean) {
    gc__region *region = span == 1 ? gc__heap_take_untouched(heap) : NULL;
    if (region) {
        heap->held_regions++;
        gc__heap_list_free(heap, region, 0);
    }
    if (span == 1 && !heap->free && gc__heap_wants_huge(heap)) gc__heap_take_huge(heap);
    region = heap->free;
    if (span == 1 && region) {
        gc__region_note_taken(region, 1, true);
    } else {
        while (!(region = gc__arena_acquire(heap, span))) {
            if (!heap->quarantine) return NULL;
            gc__quarantine_pop(heap);
        }
    }
    const gc__region *last = region + span - 1;
    if (span == 1 && region->dirty_end == region->base) gc__count(&heap->fresh_regions, 1);
    *clean = last->dirty_end == last->base && !last->populated ? GC_REGION_BYTES : last->spare;
    for (uint32_t i = 0; i < span; i++) {
        gc__region *part = region + i;
        if (part->kind == GC__FREE)
            gc__heap_unlist_free(heap, part);
        else
            heap->held_regions++;
        part->kind = i ? GC__LARGE_REST : GC__SMALL;
        part->rest_index = i;
    }
    gc__os_mark_free(region->base, span * GC_REGION_BYTES, false);
    gc__region_fresh(region, generation, (uint32_t)span);
    region->sparing = heap->options.stress || heap->held_regions << GC_REGION_SHIFT < GC__SMALL_HEAP_BYTES;
    if (gc__tables.watch) /* earlier stores there do not concern the objects to come */
        memset(gc__tables.watch + (region->base >> GC_WATCH_SHIFT), 0, span * GC_REGION_BYTES >> GC_WATCH_SHIFT);
    gc__region_set_rank(region, gc__age_of(heap, generation), true);
    if (heap->free_for_copies && !heap->collecting) gc__tables_touch(region);
    return region;
}

/* Something was taken: keeps what is free under the limit, too, with its tables. */
GC__FN void gc__heap_note_held(gc_heap *heap) {
    while (heap->free &&
           gc__free_bytes(heap) + gc__table_bytes(heap->free_count, 0) + gc__bytes_charged(heap) > heap->limit_bytes)
        gc__heap_release_free(heap);
    if (gc__held_bytes(heap) > heap->held_peak_bytes) heap->held_peak_bytes = gc__held_bytes(heap);
}

/* What was free all the time is not needed, so it goes back to the system: looked at after some time, as regions are taken, and
   not all at once, since the thread that allocates waits for it. */
#define GC__UNCOMMIT_NS ((uint64_t)200000000)
#define GC__UNCOMMIT_REGIONS_MIN 4   /* given back at a time */
#define GC__UNCOMMIT_REGIONS_MAX 64
#define GC__UNCOMMIT_PART 8          /* this part at a time */

GC__FN void gc__heap_plan_uncommit(gc_heap *heap, uint64_t now) {
    size_t kept = gc__max(GC__UNCOMMIT_REGIONS_MIN, heap->free_for_copies) * GC_REGION_BYTES, least = heap->free_least_bytes;
    size_t unneeded = least - gc__min(least, kept);
    if (heap->uncommit_waits || unneeded > heap->uncommit_bytes) heap->uncommit_bytes = unneeded;
    heap->uncommit_waits = false;
    heap->free_least_bytes = gc__free_bytes(heap);
    heap->uncommitted_ns = now;
}

GC__COLD void gc__heap_uncommit(gc_heap *heap) {
    if (heap->options.keep_memory) return;
    uint64_t now = gc__os_now_ns();
    if (gc__ns_passed(now, heap->uncommitted_ns, GC__UNCOMMIT_NS)) gc__heap_plan_uncommit(heap, now);
    if (heap->uncommit_waits) return;
    size_t count = heap->uncommit_bytes / GC__UNCOMMIT_PART >> GC_REGION_SHIFT;
    if (count < GC__UNCOMMIT_REGIONS_MIN) count = GC__UNCOMMIT_REGIONS_MIN;
    if (count > GC__UNCOMMIT_REGIONS_MAX) count = GC__UNCOMMIT_REGIONS_MAX;
    for (; count && heap->uncommit_bytes >= GC_REGION_BYTES; count--) {
        if (heap->free_count <= GC__UNCOMMIT_REGIONS_MIN) heap->uncommit_bytes = 0;
        if (!heap->uncommit_bytes) return;
        gc__heap_release_free(heap);
        heap->uncommit_bytes -= GC_REGION_BYTES;
    }
}

/* A region for objects of `generation`; not in a list yet. NULL with gc__fail at a limit. */
GC__FN gc__region *gc__heap_take(gc_heap *heap, int generation) {
    size_t clean;
    gc__region *region =
        gc__heap_has_room(heap, GC_REGION_BYTES) ? gc__heap_take_run(heap, generation, 1, &clean) : NULL;
    if (region) gc__heap_note_held(heap);
    return region;
}

/* The same for one large object of `bytes`: as many regions as it needs. */
GC__FN gc__region *gc__heap_take_large(gc_heap *heap, size_t bytes) {
    size_t clean, span = (bytes + GC_REGION_BYTES - 1) >> GC_REGION_SHIFT;
    gc__region *region = gc__heap_has_room(heap, gc__page_end(bytes)) ? gc__heap_take_run(heap, 0, span, &clean) : NULL;
    if (!region) return NULL;
    region->kind = GC__LARGE;
    region->top = region->base + bytes;
    size_t end = gc__large_slack(region);
    region->spare = end < clean ? end : clean;
    heap->large_regions += span;
    heap->spare_bytes += region->spare;
    heap->slack_bytes += end - region->spare;
    bool much = heap->slack_bytes > __atomic_load_n(&heap->budget_bytes, __ATOMIC_RELAXED) / 4;
    if (much || gc__bytes_charged(heap) > heap->limit_bytes) gc__large_uncommit(heap, region);
    gc__heap_note_held(heap);
    return region;
}

GC__FN void gc__large_end(gc_heap *heap, const gc__region *region) {
    heap->slack_bytes -= gc__large_slack(region);
    heap->spare_bytes -= region->spare;
    heap->large_regions -= region->span;
}

#define GC__POPULATE_BYTES ((uintptr_t)1 << (GC_REGION_SHIFT < 17 ? GC_REGION_SHIFT : 17)) /* requested at a time */

GC__FN uintptr_t gc__populate_end(uintptr_t address) {
    return (address + GC__POPULATE_BYTES - 1) & ~(GC__POPULATE_BYTES - 1);
}

/* Has the system provide memory of the region up to `to`, before it is written; nothing beyond `written` was written yet. */
GC__FN void gc__region_populate(const gc__region *region, uintptr_t written, uintptr_t to) {
    uintptr_t from = gc__populate_end(written);
    if (from < to && (from % GC_REGION_BYTES || !region->sparing))
        gc__supply_populate((void *)from, gc__populate_end(to) - from);
}

/* Puts a region (all regions of a large object) on the free list; its memory stays with the heap. */
GC__HOT void gc__heap_give(gc_heap *heap, gc__region *region) {
    size_t spare = region->spare;
    gc__region_set_rank(region, 0, false);
    gc__region_set_verdict(region, GC__IGNORE, 0);
    gc__os_mark_free(region->base, region->span * GC_REGION_BYTES, true);
    if (region->kind == GC__LARGE) gc__large_end(heap, region);
    gc__region_note_taken(region, region->span, false);
    for (uint32_t i = region->span; i-- > 0; spare = 0) gc__heap_list_free(heap, region + i, spare);
}

GC__FN void gc__heap_push(gc_heap *heap, gc__region *region) {
    region->next = heap->regions[region->generation];
    /* A reader in another process may see this at any time: a region in a list is complete. */
    __atomic_store_n(&heap->regions[region->generation], region, __ATOMIC_RELEASE);
}
/* What a profile is told of a heap: implemented by gc_profile.h. A heap has no profiler unless a profile is being taken, and
   then no more is done for one than to look whether there is one. */


/* Functions are called by the thread that allocates, in cooperative mode, or by the one that collects, unless they say
   otherwise. None of them waits for another thread. */
struct gc__profiler {
    /* A window is about to be extended by `extra` bytes, of which the object to be allocated needs `needed`. Returns how far
       to extend it: less than `extra`, if a sampled byte comes before. raw: 1 for the window of that name, 2 for a large
       object. */
    size_t (*extend)(gc_thread *thread, int raw, size_t room, size_t needed, size_t extra);
    /* The last `bytes` by which a window was extended are not used. May be called by another thread, for one that has
       stopped. */
    void (*unused)(gc_thread *thread, int raw, size_t bytes);
    /* An object was allocated by a slow path; caller: the return address of gc.h's function. typed: its header is written. */
    void (*allocated)(gc_thread *thread, void *object, size_t bytes, const void *caller, bool typed);
    void (*stopped)(gc_heap *heap, uint64_t asked_ns); /* the world has; the threads were asked at that time */
    void (*resumed)(gc_heap *heap);                    /* it goes on */
    void (*phase)(gc_heap *heap, gc_phase phase);      /* a collection begins it; the first one begins the collection */
    void (*ended)(gc_heap *heap);                      /* the collection has ended */
    /* Everything that survives a collection of that generation has been reached, and nothing was freed yet. */
    void (*traced)(gc_heap *heap, int generation);
    void (*finalized)(gc_thread *thread, const char *type, uint64_t started_ns);
    void (*handle)(gc_heap *heap, const void *handle, unsigned kind, bool created); /* any thread */
    void (*attached)(gc_thread *thread, bool attached); /* heap's lock held, windows closed */
};

/* What gc_profile.h does for all heaps, set when the program is loaded; NULL: that header is not part of it. */
typedef struct gc__profiling_calls {
    void (*created)(gc_heap *heap);   /* it is in the list of heaps, and has no thread yet; may set heap->profiler */
    void (*destroyed)(gc_heap *heap); /* no thread uses it any more; its objects are there still */
    /* The thread, of which a profile has kept something, is detached after that has ended; heap's lock held. */
    void (*detached)(gc_thread *thread);
    void (*forked)(void); /* in the child, with all locks held */
} gc__profiling_calls;
GC__VAR const gc__profiling_calls *gc__the_profiling;

/* Any thread may ask. */
GC__FN const gc__profiler *gc__profiler_of(const gc_heap *heap) {
    return __atomic_load_n(&heap->profiler, __ATOMIC_ACQUIRE);
}

static const char *const gc__phase_texts[] = {
#define GC__PHASE_TEXT(name, text) text,
    GC_PHASES(GC__PHASE_TEXT)
#undef GC__PHASE_TEXT
};

GC__FN const char *gc__phase_text(gc_phase phase) {
    return (unsigned)phase < GC_PHASE_COUNT ? gc__phase_texts[phase] : "unknown phase";
}

/* Ends the phase that a collection is in, and begins another. Ticks of two processors may differ: then less is counted. */
GC__FN void gc__phase_count(gc_heap *heap, gc_phase phase) {
    uint64_t now = gc__cpu_ticks();
    if (phase == GC_PHASE_OPEN)
        memset(heap->phase_ticks, 0, sizeof heap->phase_ticks);
    else if (now > heap->phase_since)
        heap->phase_ticks[heap->phase_counted] += now - heap->phase_since;
    heap->phase_since = now;
    heap->phase_counted = phase;
}

/* Divides the time of a collection among its phases, the last of which is about to end. */
GC__FN void gc__phases_share(gc_heap *heap, uint64_t all_ns) {
    uint64_t ticks = 0;
    gc__phase_count(heap, GC_PHASE_CLOSE);
    for (int i = 0; i < GC_PHASE_COUNT; i++) ticks += heap->phase_ticks[i];
    double ns = (double)all_ns / (double)(ticks + !ticks);
    for (int i = 0; i < GC_PHASE_COUNT; i++) {
        heap->pause.phase_ns[i] = (uint64_t)((double)heap->phase_ticks[i] * ns);
        heap->stats.phase_total_ns[i] += heap->pause.phase_ns[i];
    }
}

/* A collection begins this phase; or, with GC_PHASE_NONE, it has ended. */
GC__FN void gc__phase_begin(gc_heap *heap, gc_phase phase) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    __atomic_store_n(&heap->phase, (uint32_t)phase, __ATOMIC_SEQ_CST);
    if (phase != GC_PHASE_NONE) gc__phase_count(heap, phase);
    if (profiler && phase == GC_PHASE_NONE) profiler->ended(heap);
    if (profiler && phase != GC_PHASE_NONE) profiler->phase(heap, phase);
}

GC__FN void gc__traced_note(gc_heap *heap, int generation) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (profiler) profiler->traced(heap, generation);
}
/* Finding objects by address: the starts of a region's objects. */


GC__FN size_t gc__marked_object_bytes(const gc__region *region) {
    const uint64_t *marks = gc__region_marks(region);
    size_t bytes = 0;
    uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marks, region->base, end);
    for (; at < end; at = gc__bit_next(marks, at + GC_OBJECT_BYTES_MIN, end)) bytes += gc__object_bytes(at);
    if (!region->finalizer_marks || !gc__flip_is_due(region)) return bytes;
    for (at = gc__bit_next(gc__finalizer_marks, region->base, end); at < end;
         at = gc__bit_next(gc__finalizer_marks, at + GC_OBJECT_BYTES_MIN, end))
        bytes += gc__bit_get(marks, at) ? 0 : gc__object_bytes(at);
    return bytes;
}

/* Sets the mark bits of the objects in [at, end), which follow one another. Returns their bytes. Most are of the same type as the
   one before: the processor goes on with its size while it waits for the header. */
GC__FN size_t gc__index_range(uintptr_t at, uintptr_t end) {
    uintptr_t known = GC__FORWARD_TAG;
    size_t known_bytes = 0, sum = 0, word = gc__mark_index(at) >> 6;
    uint64_t bits = 0;
    while (at < end) {
        uintptr_t header = GC__WORD(at);
        size_t bytes = known_bytes, index = gc__mark_index(at);
        if (header != known) {
            if (gc__is_filler(at)) {
                at += gc__filler_bytes(at);
                continue;
            }
            bytes = gc__object_bytes_as(at, header);
            if (gc__header_has_size(header)) {
                known = header;
                known_bytes = bytes;
            }
        }
        if (index >> 6 != word) {
            gc__the_arena.marks[word] |= bits;
            bits = 0;
            word = index >> 6;
        }
        bits |= (uint64_t)1 << (index & 63);
        sum += bytes;
        at += bytes;
    }
    if (bits) gc__the_arena.marks[word] |= bits;
    return sum;
}

/* Has objects of the region be found by address: sets the mark bits of a linear one's between indexed_end and top. */
GC__FN void gc__region_index(gc__region *region) {
    gc__region_flip(region);
    if (!region->linear || (region->indexed_end == region->top && region->top > region->base)) return;
    if (region->indexed_end == region->base) gc__marks_clear(region);
    gc__index_range(region->indexed_end, region->top);
    region->indexed_end = region->top;
}

/* Has all objects of a young region be found by address. Returns their bytes. */
GC__FN size_t gc__region_index_all(gc__region *region) {
    if (!region->linear) return gc__marked_object_bytes(region);
    gc__marks_clear(region);
    region->indexed_end = region->top;
    return gc__index_range(region->base, region->top);
}

/* The object that covers the address, or 0. The region's allocation window must be flushed. */
GC__FN uintptr_t gc__object_covering(gc__region *region, uintptr_t address) {
    region = gc__region_first(region);
    if (region->kind != GC__SMALL && region->kind != GC__LARGE) return 0;
    gc__region_index(region);
    uintptr_t object = region->kind == GC__LARGE ? region->base : gc__mark_previous(region->base, address);
    if (!object || !gc__mark_get(object)) return 0;
    return address < object + gc__object_bytes(object) ? object : 0;
}

/* Calls visit(context, object) for each object of the region, until it returns false. */
GC__HOT bool gc__region_walk(gc__region *region, bool (*visit)(void *context, uintptr_t object), void *context) {
    gc__region_flip(region);
    if (!region->linear) {
        uintptr_t end = gc__region_starts_end(region), at = gc__mark_next(region->base, end);
        for (; at < end; at = gc__mark_next(at + GC_OBJECT_BYTES_MIN, end))
            if (!visit(context, at)) return false;
        return true;
    }
    for (uintptr_t at = region->base; at < region->top;) {
        if (gc__is_filler(at)) {
            at += gc__filler_bytes(at);
            continue;
        }
        if (!visit(context, at)) return false;
        at += gc__object_bytes(at);
    }
    return true;
}

/* The heap's object that covers the address, 0 if there is none. Windows must be flushed. */
GC__FN uintptr_t gc__heap_covering(gc_heap *heap, uintptr_t address) {
    if (!gc__in_arena(address)) return 0;
    gc__region *region = gc__region_of(address);
    return gc__region_is_of(region, heap) ? gc__object_covering(region, address) : 0;
}
/* Holes: free runs inside regions that hold survivors. Mutators allocate in the holes of generation 0 (regions that a
   non-moving or non-generational collection recycled), promotion in those of generations 1 and 2. */


#define GC__HOLE_BYTES_MIN ((size_t)256)   /* for promotion: smaller ones are left until the region is evacuated */
#define GC__HOLE_BYTES_LISTED ((size_t)32) /* or until they are filled, if so many are left that they are listed */
#define GC__LOCAL_SPAN_MOST ((size_t)256)    /* holes up to that are chained */
#define GC__LOCAL_SPANS_BYTES ((size_t)8192)     /* a thread takes about so much of a chain at a time */
#define GC__LOCAL_SPANS_ROOM 3                   /* while there is this part of what lives beyond it */

/* Changes the sum, which has one writer at a time. */
GC__FN void gc__holes_count(gc__holes *holes, size_t bytes) {
    __atomic_store_n(&holes->bytes, holes->bytes + bytes, __ATOMIC_RELAXED);
}

/* Whether its mark bits are its objects, and those include all that live: the ones that have died since the last full collection,
   too. */
GC__FN bool gc__is_by_marks(const gc__region *region) {
    return region->kind == GC__SMALL && !region->linear && !region->fixed;
}

/* A hole that is taken from the lists is as small as possible; what a window leaves of it is listed again. */

GC__FN unsigned gc__hole_class(size_t bytes) {
    unsigned log2 = 63 - (unsigned)__builtin_clzl(bytes);
    if (log2 < GC__HOLE_LOG2_EXACT) return (unsigned)(bytes - GC__HOLE_BYTES_MIN_MUTATOR) / 8;
    return GC__HOLE_SIZES + (log2 - GC__HOLE_LOG2_EXACT) * 4 + (unsigned)(bytes >> (log2 - 2) & 3);
}

/* Where nothing is listed the lists need not be cleared. */
GC__FN void gc__holes_forget(gc__holes *holes) {
    if (holes->listed[0] | holes->listed[1]) memset(holes->first, 0, sizeof holes->first);
    holes->listed[0] = holes->listed[1] = 0;
    __atomic_store_n(&holes->bytes, 0, __ATOMIC_RELAXED);
}

/* Adds a filler to the lists, unless it is too small for that. */
GC__FN void gc__hole_list(gc__holes *holes, uintptr_t at, size_t bytes) {
    if (bytes < GC__HOLE_BYTES_MIN_MUTATOR) return;
    unsigned list = gc__hole_class(bytes);
    GC__WORD(at + 8) = holes->first[list];
    holes->first[list] = at;
    holes->listed[list / 64] |= (uint64_t)1 << list % 64;
    gc__holes_count(holes, bytes);
}

/* Writes a filler into the hole between two objects. Small holes become part of the chain, whose end is *link; others are
   listed. */
GC__INLINED gc_word *gc__hole_format(gc__holes *holes, gc_word *link, uintptr_t from, uintptr_t to) {
    size_t bytes = to - from;
    gc__filler_write(from, bytes);
    if (bytes < GC__HOLE_BYTES_MIN_MUTATOR) return link;
    if (bytes > GC__LOCAL_SPAN_MOST) {
        gc__hole_list(holes, from, bytes);
        return link;
    }
    *link = from;
    return &GC__WORD(from + 8);
}

/* Makes a region linear by writing a filler into each of its holes, and chains or lists these. */
GC__FN void gc__region_format(gc_heap *heap, gc__region *region) {
    uintptr_t end = gc__region_end(region), at = region->base;
    const uint64_t *marks = &gc__the_arena.marks[gc__mark_index(at) >> 6];
    gc_word *link = &heap->small_spans, rest = heap->small_spans;
    for (uintptr_t word = at; word < end; word += 512) {
        for (unsigned line = 0; line < 512; line += 64) __builtin_prefetch((const void *)(word + 1024 + line), 1);
        for (uint64_t bits = *marks++; bits; bits &= bits - 1) {
            uintptr_t object = word + 8 * (unsigned)__builtin_ctzll(bits);
            if (object > at) link = gc__hole_format(&heap->holes, link, at, object);
            at = object + gc__object_bytes(object);
        }
    }
    if (at < end) link = gc__hole_format(&heap->holes, link, at, end);
    *link = rest;
    region->top = region->dirty_end = end;
    region->indexed_end = region->base;
    region->taken_bytes = 0;
    region->formatted = true;
    __atomic_store_n(&region->linear, true, __ATOMIC_RELEASE); /* until here its mark bits are its objects */
}

/* The first list that is not empty, from `list` on; GC__HOLE_LISTS if there is none. */
GC__FN unsigned gc__holes_from(const gc__holes *holes, unsigned list) {
    for (unsigned word = list / 64; word < 2; word++) {
        uint64_t listed = holes->listed[word];
        if (word == list / 64) listed &= ~(uint64_t)0 << list % 64;
        if (listed) return word * 64 + (unsigned)__builtin_ctzl(listed);
    }
    return GC__HOLE_LISTS;
}

#define GC__FLIPPED_AT_ONCE 32 /* regions */
#define GC__HOLE_TRIES 8 /* holes of a list that are looked at */

/* Takes a hole of at least `bytes` from the lists; 0 if there is none. Those in the list of its own size may be too small. */
GC__FN uintptr_t gc__hole_take(gc__holes *holes, size_t bytes) {
    if (bytes < GC__HOLE_BYTES_MIN_MUTATOR) bytes = GC__HOLE_BYTES_MIN_MUTATOR;
    unsigned list = gc__hole_class(bytes);
    gc_word *link = &holes->first[list];
    for (int tries = GC__HOLE_TRIES; *link && gc__filler_bytes(*link) < bytes; link = &GC__WORD(*link + 8))
        if (--tries == 0) break;
    if (!*link || gc__filler_bytes(*link) < bytes) {
        list = gc__holes_from(holes, list + 1);
        if (list == GC__HOLE_LISTS) return 0;
        link = &holes->first[list];
    }
    uintptr_t hole = *link;
    *link = GC__WORD(hole + 8);
    __builtin_prefetch((const void *)*link, 1); /* probably the next hole that is taken */
    if (!holes->first[list]) holes->listed[list / 64] &= ~((uint64_t)1 << list % 64);
    gc__holes_count(holes, 0 - gc__filler_bytes(hole));
    return hole;
}

/* Appends a hole to a thread's chain, whose end is *link; returns the new end. */
GC__FN gc_word *gc__local_spans_add(gc__local_spans *spans, gc_word *link, uintptr_t hole, size_t room) {
    *link = hole;
    spans->bytes += room;
    gc__region_of(hole)->taken_bytes += room;
    return &GC__WORD(hole + 8);
}

/* Moves holes of at least `bytes` from *from to the end of a thread's chain, and lists smaller ones. */
GC__FN void gc__local_spans_fill(gc_heap *heap, gc__local_spans *spans, uintptr_t *from, size_t bytes) {
    gc_word *link = &spans->first;
    uintptr_t hole = *from;
    while (hole && spans->bytes < spans->most) {
        uintptr_t next = GC__WORD(hole + 8);
        size_t room = gc__filler_bytes(hole);
        if (room < bytes)
            gc__hole_list(&heap->holes, hole, room);
        else
            link = gc__local_spans_add(spans, link, hole, room);
        hole = next;
    }
    *link = 0;
    *from = hole;
}

/* The same with those of the list of holes of this size. */
GC__FN void gc__local_spans_fill_listed(gc_heap *heap, gc__local_spans *spans, size_t bytes) {
    gc__holes *holes = &heap->holes;
    unsigned list = gc__hole_class(bytes);
    gc_word *link = &spans->first;
    while (holes->first[list] && gc__filler_bytes(holes->first[list]) >= bytes && spans->bytes < spans->most) {
        uintptr_t hole = holes->first[list];
        holes->first[list] = GC__WORD(hole + 8);
        link = gc__local_spans_add(spans, link, hole, gc__filler_bytes(hole));
    }
    *link = 0;
    if (!holes->first[list]) holes->listed[list / 64] &= ~((uint64_t)1 << list % 64);
    gc__holes_count(holes, 0 - spans->bytes);
}

GC__FN void gc__local_spans_list(gc_heap *heap) {
    for (gc_word hole = heap->small_spans, next; hole; hole = next) {
        next = GC__WORD(hole + 8);
        gc__hole_list(&heap->holes, hole, gc__filler_bytes(hole));
    }
    heap->small_spans = 0;
}

/* Finds holes of at least `bytes` for mutators: a chain for the thread if one is given, which is empty, or one hole. False: there
   are none. Regions are formatted when there are no others. */
GC__FN bool gc__holes_find(gc_heap *heap, gc__local_spans *spans, size_t bytes, uintptr_t *found) {
    for (;;) {
        if (spans) {
            gc__local_spans_fill_listed(heap, spans, bytes);
            if (!spans->first && heap->small_spans) gc__local_spans_fill(heap, spans, &heap->small_spans, bytes);
            if (spans->first) return true;
        } else if (bytes <= GC__LOCAL_SPAN_MOST) {
            gc__local_spans_list(heap);
        }
        if ((*found = gc__hole_take(&heap->holes, bytes)) != 0) return true;
        gc__region *region = heap->recycled;
        if (!region) return false;
        heap->recycled = region->next;
        if (gc__is_by_marks(region)) gc__region_format(heap, region);
    }
}

/* Mutators will allocate in the hole, which was taken from the lists. */
GC__FN gc__region *gc__hole_enter(uintptr_t hole, uintptr_t *end) {
    gc__region *region = gc__region_of(hole);
    size_t taken = gc__filler_bytes(hole);
    *end = hole + taken;
    region->taken_bytes += taken;
    return region;
}

/* Lists what a window has left of its hole, in which a filler was written. */
GC__FN void gc__hole_return(gc_heap *heap, gc__region *region, uintptr_t from, uintptr_t end) {
    region->taken_bytes -= end - from;
    gc__hole_list(&heap->holes, from, end - from);
}

/* The next hole of at least so many bytes in a region whose mark bits are its objects, from region->hole on. Sizes are looked
   up only where two marks are far enough apart. */
GC__FN uintptr_t gc__hole_by_marks(gc__region *region, size_t least, uintptr_t *limit) {
    uintptr_t end = gc__region_end(region), at = region->hole;
    gc__region_flip(region);
    while (at < end) {
        bool object = gc__mark_get(at);
        uintptr_t next = gc__mark_next(object ? at + GC_OBJECT_BYTES_MIN : at, end);
        uintptr_t start = at;
        for (unsigned line = 0; line < 128; line += 64) __builtin_prefetch((const void *)(next + 512 + line));
        if (next - start >= least && object) start += gc__object_bytes(at);
        region->hole = at = next;
        if (next - start >= least && next > start) {
            *limit = next;
            return start;
        }
    }
    return 0;
}

/* Lists a hole of a region by marks, for promotion. */
GC__FN void gc__hole_list_old(gc_heap *heap, gc__region *region, uintptr_t from, uintptr_t end) {
    if (end - from < GC__HOLE_BYTES_LISTED) return;
    gc__filler_write(from, end - from);
    gc__hole_list(&heap->old_holes, from, end - from);
    if (region->dirty_end < from + 2 * sizeof(gc_word)) region->dirty_end = from + 2 * sizeof(gc_word);
}

/* Lists the region's holes of at least so many bytes, from region->hole on. */
GC__FN void gc__region_list_holes(gc_heap *heap, gc__region *region, size_t least) {
    uintptr_t from, end;
    while ((from = gc__hole_by_marks(region, least, &end)) != 0) gc__hole_list_old(heap, region, from, end);
}

/* Settles some of the regions that need it. Which finalizers are due has been found out. False: none does. */
GC__FN bool gc__holes_flip_next(gc_heap *heap) {
    for (int i = 0; i < GC__FLIPPED_AT_ONCE && heap->old_unflipped; i++) {
        gc__region_flip_whole(heap->old_unflipped);
        __atomic_store_n(&heap->old_unflipped, heap->old_unflipped->next, __ATOMIC_RELAXED);
    }
    return heap->old_unflipped != NULL;
}

/* Lists the holes of the next region of generation 2, unless it is nearly full: each object there would be looked at. False:
   there is none. */
GC__FN bool gc__holes_list_next(gc_heap *heap) {
    gc__region *region = heap->old_unlisted;
    if (!region) return false;
    __atomic_store_n(&heap->old_unlisted, region->next, __ATOMIC_RELAXED);
    if (!gc__is_by_marks(region)) return true; /* a large object may be growing */
    size_t unlisted = heap->unlisted_bytes, holes = GC_REGION_BYTES - region->live_bytes;
    __atomic_store_n(&heap->unlisted_bytes, unlisted - gc__min(unlisted, holes), __ATOMIC_RELAXED);
    bool full = region->live_bytes > GC_REGION_BYTES - GC_REGION_BYTES / 16;
    if (!full) gc__region_list_holes(heap, region, GC__HOLE_BYTES_LISTED);
    return true;
}

GC__FN void gc__old_holes_forget(gc_heap *heap) {
    gc__holes_forget(&heap->old_holes);
    heap->old_unlisted = NULL;
    __atomic_store_n(&heap->unlisted_bytes, (size_t)0, __ATOMIC_RELAXED);
}
/* Windows: pieces of a region in which objects are allocated by moving a pointer. A thread has two of them; a worker of the
   collector has one for each generation that it copies to.

   A window lies in a span: the free end of a fresh region, or a hole. Its limit moves within the span. A thread's window
   (unless it is the raw one) is zeroed a piece at a time just ahead of the pointer, which brings that memory into the
   cache. A worker's limit stops where memory was never written, so that no memory is taken before it is needed.

   The objects between start and next are not accounted for in the region yet, so a region cannot be walked before its
   windows are flushed. */


#define GC__WINDOW_BYTES (GC_LARGE_BYTES < 16384 ? GC_LARGE_BYTES : (size_t)16384)

GC__FN size_t gc__window_room(const gc_window *window) { return (size_t)(window->limit - window->next); }
GC__FN size_t gc__span_room(const gc_window *window) { return (size_t)(window->end - window->next); }

GC__FN void gc__window_set(gc_window *window, gc__region *region, uintptr_t from, uintptr_t end) {
    window->region = region;
    window->start = window->next = window->limit = (char *)from;
    window->end = (char *)end;
}

GC__FN gc_window *gc__thread_window(gc_thread *thread, bool zeroed) { return zeroed ? &thread->window : &thread->raw; }
GC__FN gc_thread *gc__window_thread(gc_window *window, bool zeroed) {
    return (gc_thread *)(void *)((char *)window - (zeroed ? offsetof(gc_thread, window) : offsetof(gc_thread, raw)));
}

/* What is left of the window will not be used. */
GC__FN void gc__allocation_note_unused(gc_heap *heap, gc_window *window, bool zeroed) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    size_t rest = gc__window_room(window);
    if (GC__UNLIKELY(profiler != NULL) && rest) profiler->unused(gc__window_thread(window, zeroed), !zeroed, rest);
}

/* Gives the rest of a thread's window back to its span: the first word of the rest is a filler now, not zero. */
GC__FN void gc__allocation_shrink(gc_window *window, bool zeroed) {
    gc_heap *heap = window->region->heap;
    size_t rest = gc__window_room(window);
    if (!rest) return; /* as in most holes */
    gc__allocation_note_unused(heap, window, zeroed);
    window->limit = window->next;
    gc__count(&heap->generation_bytes[0], 0 - rest);
    gc__count(&heap->stats.allocated_bytes, 0 - rest);
}

/* Objects were allocated in a hole, so the region's index starts anew: another thread may be doing the same. */
GC__FN void gc__index_anew(gc__region *region) {
    if (__atomic_load_n(&region->indexed_end, __ATOMIC_RELAXED) != region->base)
        __atomic_store_n(&region->indexed_end, region->base, __ATOMIC_RELAXED);
}

/* Makes the region of a thread's window walkable. The window stays open. */
GC__FN void gc__allocation_flush(gc_window *window, bool zeroed) {
    gc__region *region = window->region;
    if (!region || window->start == window->next) return;
    uintptr_t next = (uintptr_t)window->next;
    window->start = window->next;
    if (region->formatted) {
        gc__filler_write(next, (uintptr_t)window->end - next);
        gc__index_anew(region);
        if (zeroed) gc__allocation_shrink(window, true);
    } else {
        region->top = next;
    }
}

/* Lock held. */
GC__FN void gc__allocation_close(gc_window *window, bool zeroed) {
    gc__allocation_flush(window, zeroed);
    gc__region *region = window->region;
    if (region && region->formatted) {
        gc__allocation_shrink(window, zeroed);
        gc__hole_return(region->heap, region, (uintptr_t)window->next, (uintptr_t)window->end);
    } else if (region) {
        gc__allocation_note_unused(region->heap, window, zeroed);
    }
    gc__window_set(window, NULL, 0, 0);
}

GC__FN void gc__thread_flush_windows(gc_thread *thread) {
    gc__allocation_flush(&thread->window, true);
    gc__allocation_flush(&thread->raw, false);
}

/* Has the thread's next allocation take the slow path. The windows stay open. */
GC__FN void gc__thread_shrink_windows(gc_thread *thread) {
    if (thread->window.region) gc__allocation_shrink(&thread->window, true);
    if (thread->raw.region) gc__allocation_shrink(&thread->raw, false);
}

GC__FN void gc__thread_close_windows(gc_thread *thread) {
    gc__allocation_close(&thread->window, true);
    gc__allocation_close(&thread->raw, false);
}

/* Takes one of the first holes with room for `bytes` out of a thread's chain; 0 if none of these has. */
GC__FN uintptr_t gc__local_spans_take(gc__local_spans *spans, size_t bytes) {
    gc_word *link = &spans->first;
    for (int tries = GC__HOLE_TRIES; *link && tries; link = &GC__WORD(*link + 8), tries--) {
        uintptr_t hole = *link;
        size_t room = gc__filler_bytes(hole);
        if (room < bytes) continue;
        *link = GC__WORD(hole + 8);
        spans->bytes -= room;
        return hole;
    }
    return 0;
}

/* Opens the thread's window, in which there is no room, in a hole of its chain that has room for `bytes`. Without the lock: so
   what is left of the old hole is kept for when there is one. False: there is none, or the window does not lie in a hole. */
GC__FN bool gc__local_spans_open(gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    uintptr_t rest = (uintptr_t)window->next;
    gc__region *region = window->region;
    if (!spans->first || window->limit != window->end || (region && !region->formatted)) return false;
    uintptr_t hole = gc__local_spans_take(spans, bytes);
    if (!hole) return false;
    size_t room = gc__filler_bytes(hole), left = gc__window_room(window);
    if (region) {
        gc__filler_write(rest, left);
        gc__index_anew(region);
    }
    spans->left_bytes += left;
    if (left >= GC__HOLE_BYTES_MIN_MUTATOR) {
        GC__WORD(rest + 8) = spans->left;
        spans->left = rest;
    }
    __builtin_prefetch((const void *)spans->first, 1);
    gc__window_set(window, gc__region_of(hole), hole, hole + room);
    window->start = NULL; /* flushing makes even an empty span walkable */
    if (zeroed) memset((void *)hole, 0, room);
    window->limit = window->end;
    return true;
}

/* Has the thread's next allocation take the lock. */
GC__FN void gc__local_spans_retire(gc__local_spans *spans) {
    gc_word *link = &spans->left;
    while (*link) link = &GC__WORD(*link + 8);
    *link = spans->first;
    spans->left_bytes += spans->bytes;
    spans->first = spans->bytes = 0;
}

/* Lists the holes, which count as allocated. */
GC__FN void gc__local_spans_return(gc_heap *heap, gc_word hole) {
    while (hole) {
        gc_word next = GC__WORD(hole + 8);
        gc__hole_return(heap, gc__region_of(hole), hole, hole + gc__filler_bytes(hole));
        hole = next;
    }
}

/* Lists what is left of the thread's chain and of the holes that its windows were in. */
GC__FN void gc__local_spans_close(gc_heap *heap, gc__local_spans *spans) {
    size_t bytes = spans->bytes + spans->left_bytes;
    if (!bytes) return;
    gc__local_spans_return(heap, spans->left);
    gc__local_spans_return(heap, spans->first);
    memset(spans, 0, sizeof *spans);
    gc__count(&heap->generation_bytes[0], 0 - bytes);
    gc__count(&heap->stats.allocated_bytes, 0 - bytes);
}

/* Fills the thread's chain with holes for objects of `bytes`, with more of them if it has used all that it had. False: there
   are none, or only *hole. */
GC__FN bool gc__local_spans_renew(gc_heap *heap, gc__local_spans *spans, size_t bytes, uintptr_t *hole) {
    size_t most = spans->first ? GC__LOCAL_SPANS_BYTES / 16 : gc__min(2 * spans->most, GC__LOCAL_SPANS_BYTES);
    gc__local_spans_close(heap, spans);
    spans->most = gc__max(most, GC__LOCAL_SPANS_BYTES / 16);
    if (!gc__holes_find(heap, spans, bytes, hole)) return false;
    gc__count(&heap->generation_bytes[0], spans->bytes);
    gc__count(&heap->stats.allocated_bytes, spans->bytes);
    return spans->first != 0;
}

/* Whether threads get chains of holes for objects of `bytes`. Where objects differ in size, some then lie in holes that were much
   larger than needed, so a heap that has little more than what lives gives each the smallest that suffices. */
GC__FN bool gc__is_in_local_span(const gc_heap *heap, size_t bytes) {
    size_t live = heap->full_bytes + gc__external_bytes(heap);
    bool tight = live / GC__LOCAL_SPANS_ROOM > heap->limit_bytes - gc__min(heap->limit_bytes, live);
    return bytes <= GC__LOCAL_SPAN_MOST && !tight && !heap->options.stress && !gc__profiler_of(heap);
}

/* Opens a thread's window in a span with room for `bytes`. Heap lock held. */
GC__FN bool gc__allocation_open(gc_heap *heap, gc__local_spans *spans, gc_window *window, bool zeroed, size_t bytes) {
    uintptr_t from = 0, end = 0;
    gc__allocation_close(window, zeroed);
    bool in_span = gc__is_in_local_span(heap, bytes);
    if (in_span && gc__local_spans_renew(heap, spans, bytes, &from)) return gc__local_spans_open(spans, window, zeroed, bytes);
    if (!in_span) gc__holes_find(heap, NULL, bytes, &from);
    gc__region *region = from ? gc__hole_enter(from, &end) : NULL;
    if (!region) {
        region = gc__heap_take(heap, 0);
        if (!region) return false;
        gc__heap_uncommit(heap);
        region->linear = true;
        gc__heap_push(heap, region);
        from = region->base;
        end = gc__region_end(region);
    }
    gc__window_set(window, region, from, end);
    window->start = NULL; /* flushing makes even an empty span walkable */
    return true;
}

/* Extends a thread's window so that it holds `bytes`, which the span has room for. Spends budget. */
GC__FN void gc__allocation_extend(gc_heap *heap, gc_window *window, bool zeroed, size_t bytes) {
    size_t extra = bytes - gc__window_room(window);
    if (!heap->options.stress && extra < GC__WINDOW_BYTES) extra = GC__WINDOW_BYTES;
    if (extra > (size_t)(window->end - window->limit)) extra = (size_t)(window->end - window->limit);
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (GC__UNLIKELY(profiler != NULL)) {
        size_t room = gc__window_room(window);
        extra = profiler->extend(gc__window_thread(window, zeroed), !zeroed, room, bytes - room, extra);
    }
    gc__region *region = window->region;
    uintptr_t from = (uintptr_t)window->limit, to = from + extra;
    /* Other threads may have windows in other holes of the region. Only the window in the last hole moves the end. */
    uintptr_t dirty_end = __atomic_load_n(&region->dirty_end, __ATOMIC_RELAXED),
              dirty = to < dirty_end ? to : dirty_end;
    if (zeroed && from < dirty) memset((void *)from, 0, dirty - from);
    if (dirty_end < to) {
        gc__region_populate(region, dirty_end, to);
        __atomic_store_n(&region->dirty_end, to, __ATOMIC_RELAXED);
    }
    window->limit = (char *)to;
    gc__count(&heap->generation_bytes[0], extra);
    gc__count(&heap->stats.allocated_bytes, extra);
}

/* Ends a worker's window; returns the bytes of the copies in it. */
GC__FN size_t gc__copies_close(gc_window *window) {
    gc__region *region = window->region;
    if (!region) return 0;
    size_t bytes = (size_t)(window->next - window->start);
    region->live_bytes += bytes;
    region->hole = (uintptr_t)window->next;
    if (region->dirty_end < region->hole) region->dirty_end = region->hole;
    gc__window_set(window, NULL, 0, 0);
    return bytes;
}

/* Moves a worker's limit so that `bytes` fit: up to where memory has been written, or a little further, but not to the end
   of the span at once. */
GC__FN bool gc__copies_extend(gc_window *window, size_t bytes) {
    if (bytes > gc__span_room(window)) return false;
    uintptr_t written = window->region->dirty_end, to = (uintptr_t)window->next + bytes, end = (uintptr_t)window->end;
    if (written < (uintptr_t)window->limit) written = (uintptr_t)window->limit;
    gc__region_populate(window->region, written, to);
    to = gc__populate_end(to);
    if (to < written) to = written;
    window->limit = (char *)(to < end ? to : end);
    return true;
}
/* Attached threads, and their modes: how a thread becomes preemptive, and how a thread that stops the others sees that.

   A thread that waits in gc.h is parked: meanwhile it is in preemptive mode in all heaps to which it is attached. So no
   collection waits for a thread that waits itself. */


/* What gc.h keeps of an attached thread. The rules for writing the fields of gc_thread hold here, too, unless a field says
   otherwise. */
typedef struct gc__thread_record {
    gc_thread thread;           /* first: a thread's address is its record's */
    gc_thread *next;            /* in the heap's list: its lock */
    gc_thread *next_attachment; /* in the native thread's list, which only that thread uses */
    bool parked;                /* atomic; a function of gc.h waits, and returns to cooperative mode before it ends */
    bool conservative;          /* the native stack is a root, too */
    unsigned asking;            /* calls of out_of_memory, each within the one before, as far as is known: see gc__asking_look */
    uintptr_t asking_frame;     /* below it are the frames of the innermost one */
    const gc_stack *asking_stack;
    unsigned promised;          /* rooms for finalizers: of the object being allocated, and of one that a hook registers */
    const char *name;           /* for statistics and reports; atomic */
    uint32_t tid;               /* the system's number of the native thread, for readers in other processes */
    char *stack_pointer;        /* in preemptive mode: the stack below is none of the heap's business */
    char *stack_base;           /* the highest address of the native stack in use, for conservative scanning */
    gc_stack own_stack;
    uint64_t stopped_at_ns;                     /* atomic; when it last stopped for a collection that waited */
    uint64_t stop_max_ns, stop_total_ns, stops; /* time that collections have waited for it */
    struct gc__handle_cache *handle_caches;     /* free handles, by kind; used in cooperative mode */
    uint64_t stress_countdown;
    gc__local_spans local_spans;                            /* for both windows */
    struct gc__profiled_thread *profiled;  /* what gc_profile.h keeps of it; NULL: nothing */
    struct gc__interruptee *interruptible; /* atomic, written by the thread; NULL: nothing interrupts it */
} gc__thread_record;

GC__FN gc__thread_record *gc__record(const gc_thread *thread) { return (gc__thread_record *)thread; }

GC__FN const char *gc__thread_name(const gc_thread *thread) {
    const char *name = __atomic_load_n(&gc__record(thread)->name, __ATOMIC_ACQUIRE);
    return name ? name : "(unnamed)";
}

/* What threads that run compiled code need: implemented by gc_stackmap.h, which sets gc__compiled before any thread has a
   gc_code_frame or is interruptible. */
typedef struct gc__compiled_code {
    /* Calls the visitor for the roots in the compiled frames of the stack, from `innermost` on. It sets root_method. */
    void (*visit)(gc_heap *heap, const gc_stack *stack, struct gc_code_frame *innermost, gc_visitor *visitor);
    /* Has a thread in cooperative mode stop soon. May be called again while it has not. */
    void (*interrupt)(gc_thread *thread);
    /* Prints the innermost compiled frames of the calling thread to stderr, for a report. */
    void (*print)(gc_thread *thread);
    /* Prints which compiled method the pc is in, if any, for a report of the use of a stale reference there. */
    void (*print_use)(uintptr_t pc);
    /* The record of an interruptible attachment of the calling thread ends. */
    void (*forget)(gc_thread *thread);
    /* The calling thread leaves the stack that it runs on. */
    void (*leave_stack)(gc_thread *thread);
    /* For walks of the calling thread's native stack, also in signal handlers. Whether the pc (a return address if `is_call`) is
       in compiled code; if so, sets the cfa of its frame and where registers are saved, as a gc_code_cursor has them, and
       takes those whose caller's value is lost out of `known`. Nothing from `end` on is read. */
    bool (*lay_out)(uintptr_t pc, bool is_call, uintptr_t *registers, uintptr_t end, uint32_t *known, uintptr_t *cfa,
                    int32_t *saved);
    /* The return address, read from a compiled frame of the calling thread, as it was before it was replaced. */
    uintptr_t (*original)(uintptr_t address);
    /* Calls f for all registered code, which is neither added nor removed meanwhile. */
    void (*each)(void (*f)(void *context, const void *start, size_t bytes, const char *name), void *context);
} gc__compiled_code;
static const gc__compiled_code *gc__compiled;

/* Called after compiled code was registered, and before it is removed. Set by gc_profile.h while a profile is taken; atomic; 0:
   nobody wants to know. */
typedef void (*gc__code_watch_call)(const void *start, size_t bytes, const char *name, bool is_added);
static gc__code_watch_call gc__code_watcher;

GC__FN void gc__code_tell(const void *start, size_t bytes, const char *name, bool is_added) {
    gc__code_watch_call watcher = __atomic_load_n(&gc__code_watcher, __ATOMIC_ACQUIRE);
    if (watcher) watcher(start, bytes, name, is_added);
}

/* The threads of a heap. */
typedef struct gc__threads {
    gc__lock lock; /* the heap's */
    unsigned lock_depth;
    gc__lock roots_lock;    /* global slots and stacks */
    uint32_t stopping;      /* atomic; a collection waits for the threads, or runs */
    uint32_t stopped_count; /* atomic; changes when a thread that a collection may wait for has stopped */
    bool asked;             /* atomic; the next one at a safe point is to end the marking beside mutators, which is done */
    bool crowded;           /* atomic; the last stop was of more running threads than there are processors */
    unsigned stop_depth;
    uint64_t stop_started_ns;  /* when they were asked to; 0: the last stop was of no other thread, or its time was counted */
    uint64_t slowest_ns;       /* until the last one had stopped */
    const gc_thread *slowest;  /* that one, while they are stopped; NULL: the host has stopped them */
    unsigned processors; /* asked for once */
    gc_thread *first;
    uint32_t
        abandoned;   /* atomic, written under the lock: destroyed while a finalizer runs, so no callbacks from now on */
    uint32_t asking; /* atomic; number of threads in out_of_memory, which is called without the lock */
    gc_heap *next_heap;    /* in the list of all heaps: that list's lock */
    gc_stack *stacks;      /* made by gc_stack_create: roots lock */
    const char *root_kind; /* while roots are visited: what reports them */
    const gc_frame_site *root_site;
    const char *root_method; /* of a compiled frame; NULL: it is none; with the offset of its pc */
    size_t root_offset;
} gc__threads;

static __thread gc_thread *gc__my_attachments; /* attachments of the calling native thread */
static __thread unsigned gc__my_parked;        /* the number of attachments that are parked */
/* Saved by the function that took a heap's lock, or waits, before it did so. */
GC__VAR __thread uintptr_t gc__my_registers[GC__SAVED_REGISTERS];

GC__FN bool gc__heap_is_locked(const gc_heap *heap) { return gc__lock_is_mine(&heap->threads->lock); }

GC__FN bool gc__is_abandoned(const gc_heap *heap) {
    return __atomic_load_n(&heap->threads->abandoned, __ATOMIC_SEQ_CST) != 0;
}

GC__FN gc_thread *gc__thread_self(const gc_heap *heap) {
    gc_thread *thread = gc__my_attachments;
    while (thread && thread->heap != heap) thread = gc__record(thread)->next_attachment;
    return thread;
}

GC__FN bool gc__is_cooperative(const gc_thread *thread) {
    return __atomic_load_n(&thread->mode, __ATOMIC_SEQ_CST) == GC_MODE_COOPERATIVE;
}

GC__FN void gc__set_parked(gc_thread *thread, bool parked) {
    __atomic_store_n(&gc__record(thread)->parked, parked, __ATOMIC_RELAXED);
}

/* From here on a collection may run. The store and load here and those of gc__world_stop are in one order: either the
   collector sees this thread preemptive, or this thread sees that the collector waits, and wakes it. */
GC__FN void gc__thread_stop(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST))
        __atomic_store_n(&gc__record(thread)->stopped_at_ns, gc__os_now_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&thread->mode, (uint32_t)GC_MODE_PREEMPTIVE, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST)) return;
    __atomic_fetch_add(&heap->threads->stopped_count, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&heap->threads->stopped_count);
}

/* Puts the calling thread's cooperative attachments, but for that to `heap`, into preemptive mode while the thread waits.
   gc__my_registers must be those of a function that is on the stack until the attachments are cooperative again. */
GC__FN void gc__park(const gc_heap *heap) {
    for (gc_thread *thread = gc__my_attachments; thread; thread = gc__record(thread)->next_attachment) {
        if (!thread->heap || thread->heap == heap || !gc__is_cooperative(thread)) continue;
        memcpy(thread->registers, gc__my_registers, sizeof thread->registers);
        gc__record(thread)->stack_pointer = (char *)thread->registers[GC__SAVED_STACK_POINTER];
        gc__set_parked(thread, true);
        gc__my_parked++;
        gc__thread_stop(thread);
    }
}

GC__FN void gc__unpark(gc_thread *thread) {
    gc__set_parked(thread, false);
    gc__my_parked--;
}
/* The heap's lock.

   Whatever the threads of a heap share is guarded by one lock, which the thread that collects holds from before it stops
   the others until they may go on. So waiting for a collection and waiting for the lock are the same.

   Invariant: the function that takes the lock outermost is on the stack until gc__heap_unlock has released it and returned.
   Other heaps may scan the thread conservatively until then: whatever the thread does meanwhile, what the function's
   callers hold is in gc__my_registers, or on the stack above the stack pointer that is saved there. So taking and releasing
   the lock are inlined into that function.

   Taking the lock may wait for a collection, so the caller must have its references in roots. Handles, finalizers and
   global slots, which are made from references that are in no root yet, have locks of their own, under which nothing waits.

   Lock order: the list of heaps; a heap's lock; its handles' lock; its finalizers' or roots lock, or the barrier lock; the
   arena's lock; the lock of the profile; that of the registry of code. No thread waits for a heap's lock while it holds
   another heap's, except a thread that forks: it is parked in all its heaps then, and no owner of such a lock waits for it.

   In callbacks of the host the calling thread holds
       finalizers, releases of safe handles, out_of_memory: none;
       collection_start, collection_end, finalizers_ready, suspend, restart, the visits of gc_heap_walk: the heap's lock;
       scan_roots, trace functions, handle_is_held, the visits of gc_handle_walk: the handles' lock, too;
       is_suppressed, in a collection: the finalizers' lock, too; after one that lock, and perhaps the marker's;
       barrier_changed: the barrier lock, and the heap's in most cases;
       warning, fatal: what their callers hold of these. */


#define GC__LEFT_BYTES ((uintptr_t)1 << 20) /* of a stack above a collection's frame: what is further away is another stack */
#define GC__LOCK_SPINS 400 /* polls before a thread sleeps that waits for the lock: the time of a short collection */

/* Takes the lock. To sleep and be woken takes longer than many collections, so the thread polls first, unless another
   thread, for which the lock's owner waits, may need the processor. */
GC__FN void gc__lock_take_soon(gc_heap *heap) {
    unsigned spins = __atomic_load_n(&heap->threads->crowded, __ATOMIC_RELAXED) ? GC__LOCK_SPINS : 0;
    for (; spins < GC__LOCK_SPINS; spins++) {
        if (gc__lock_is_free(&heap->threads->lock) && gc__lock_try(&heap->threads->lock)) return;
        gc__cpu_pause();
    }
    gc__lock_take(&heap->threads->lock);
}

/* Whether the calling thread is one of the collector's, which runs a trace function: who collects waits for it, and keeps locks
   meanwhile. */
GC__FN bool gc__is_tracing_elsewhere(const gc_heap *heap) {
    uintptr_t traced = gc__traced;
    return traced && gc__in_arena(traced) && gc__region_is_of(gc__region_of(traced), heap) && !gc__heap_is_locked(heap);
}

#define GC__TRACING_ELSEWHERE \
    "called by the trace function of a `%s`, on a thread of the collector's (parallel_trace_functions, " \
    "concurrent_trace_functions): it would wait for ever. Have the function set a flag and return, and make the call afterwards"

/* Refuses such a call. */
GC__COLD bool gc__refuse_in_trace(const char *function) {
    gc__fail(GC_ERROR_MISUSE, "%s: " GC__TRACING_ELSEWHERE, function, gc__object_name(gc__traced));
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

/* Waits for the lock. While the thread has it no collection runs, so its attachment to this heap is cooperative again. */
GC__COLD void gc__heap_wait(gc_heap *heap) {
    if (gc__is_tracing_elsewhere(heap))
        gc__fatal(&heap->options, "%s: " GC__TRACING_ELSEWHERE, gc__inside ? gc__inside : "a function of gc.h",
                  gc__object_name(gc__traced));
    gc__park(NULL);
    gc__lock_take_soon(heap);
    gc_thread *self = gc__thread_self(heap);
    if (!self || !gc__record(self)->parked) return;
    gc__unpark(self);
    __atomic_store_n(&self->mode, (uint32_t)GC_MODE_COOPERATIVE, __ATOMIC_SEQ_CST);
}

/* Below this address are the frames of what the caller calls. */
GC__OUT_OF_LINE uintptr_t gc__stack_below(void) { return (uintptr_t)__builtin_frame_address(0); }

/* Called by the thread in a function of gc.h with that frame: if the calls of out_of_memory that are noted are not on the stack
   above it, they were left by longjmp or an exception, and end. */
GC__OUT_OF_LINE void gc__asking_look(gc_thread *thread, uintptr_t frame) {
    gc__thread_record *record = gc__record(thread);
    if (!record->asking || (record->asking_stack == thread->stack && frame < record->asking_frame)) return;
    record->asking = 0;
    __atomic_fetch_sub(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
}

/* Whether `function`, which ends the thread's attachment or its heap, is called by out_of_memory, whose caller needs both. */
GC__FN bool gc__is_called_by_asked(gc_thread *thread, const char *function, uintptr_t frame) {
    if (!thread || !gc__record(thread)->asking) return false;
    gc__asking_look(thread, frame);
    if (!gc__record(thread)->asking) return false;
    gc__fail(GC_ERROR_MISUSE,
             "%s: called by the out_of_memory hook: return from that, or leave it by longjmp or an exception, first",
             function);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

/* A callback of the collection did not return, so its thread has the locks for ever. */
GC__FN void gc__collection_was_left(const gc_heap *heap) {
    gc__fatal(&heap->options,
              "collection %llu was left by an exception, by longjmp or by the end of the thread, out of scan_roots, a trace "
              "function or a hook: these must return",
              (unsigned long long)heap->collection.number);
}

/* Refuses what was called in that frame, while this thread has stopped the program. */
GC__COLD bool gc__refuse_in_hook(const gc_heap *heap, const char *function, uintptr_t frame) {
    if (heap->frame && frame > heap->frame && frame - heap->frame < GC__LEFT_BYTES) gc__collection_was_left(heap);
    gc__fail(GC_ERROR_MISUSE,
             "%s: called by a hook or callback of a collection, by a callback of a walk, or after one of them was left by "
             "longjmp or an exception: have it set a flag and return, and make the call afterwards",
             function);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

/* Whether `function`, which needs the program to run and inlines this, is called while this thread has stopped it. */
GC__INLINED bool gc__is_called_by_hook(const gc_heap *heap, const char *function) {
    if (gc__is_tracing_elsewhere(heap)) return gc__refuse_in_trace(function);
    return gc__heap_is_locked(heap) && gc__refuse_in_hook(heap, function, (uintptr_t)__builtin_frame_address(0));
}

/* Takes the lock, once the caller has saved its registers. */
GC__OUT_OF_LINE void gc__heap_lock_or_wait(gc_heap *heap) {
    if (!gc__lock_try(&heap->threads->lock)) gc__heap_wait(heap);
}

/* Takes the lock; its owner may take it again. Not for signal handlers. */
GC__INLINED void gc__heap_lock(gc_heap *heap) {
    if (!gc__heap_is_locked(heap)) {
        gc__save_registers(gc__my_registers);
        gc__heap_lock_or_wait(heap);
    }
    heap->threads->lock_depth++;
}

GC__FN void gc__thread_resume(gc_thread *thread);

/* Returns to the parked attachments one after the other; to wait for one parks those again that are back. */
GC__FN void gc__unpark_all(void) {
    for (gc_thread *thread = gc__my_attachments; thread && gc__my_parked;
         thread = gc__record(thread)->next_attachment) {
        if (!gc__record(thread)->parked) continue;
        gc__unpark(thread);
        gc__thread_resume(thread);
    }
}

/* Leaves the lock once. Returns whether it is free now. */
GC__FN bool gc__heap_let_go(gc_heap *heap) {
    if (--heap->threads->lock_depth) return false;
    gc__lock_release(&heap->threads->lock);
    return true;
}

GC__OUT_OF_LINE void gc__heap_release(gc_heap *heap) {
    if (gc__heap_let_go(heap)) gc__unpark_all();
}

GC__INLINED void gc__heap_unlock(gc_heap *heap) {
    gc__heap_release(heap);
    gc__cpu_keep_frame();
}

/* gc__heap_lock for callers that have a new reference in no root when they unlock. No attachment is parked then, so
   gc__heap_unlock need not return to one; that could wait, and let a collection pass. */
GC__INLINED void gc__heap_lock_unparked(gc_heap *heap) {
    for (;;) {
        gc__heap_lock(heap);
        if (!gc__my_parked) return;
        gc__heap_unlock(heap);
    }
}

/* The same for callers that hold references in no root: no collection passes. False: another thread has the lock. */
GC__INLINED bool gc__heap_lock_unless_taken(gc_heap *heap) {
    if (!gc__heap_is_locked(heap) && !gc__lock_try(&heap->threads->lock)) return false;
    heap->threads->lock_depth++;
    return true;
}

/* Returns to cooperative mode, after waiting for a collection that runs. */
GC__FN void gc__thread_resume(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    __atomic_store_n(&thread->mode, (uint32_t)GC_MODE_COOPERATIVE, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST) || gc__heap_is_locked(heap)) return;
    gc__thread_stop(thread);
    gc__set_parked(thread, true);
    gc__my_parked++;
    gc__heap_lock(heap);
    gc__heap_unlock(heap); /* returns to the heap, unless waiting for the lock has done so */
}

/* All heaps that are not being created or destroyed. A thread that forks holds the lock of the list while it stops all
   other threads, so a thread must be parked while it waits for this lock. */
static gc__lock gc__heaps_lock = GC__LOCK_INITIALIZER;
GC__VAR gc_heap *gc__heaps;

static gc__lock gc__code_lock = GC__LOCK_INITIALIZER;    /* guards the registry of code, of gc_stackmap.h */
static gc__lock gc__profile_lock = GC__LOCK_INITIALIZER; /* guards the profile, of gc_profile.h */

GC__INLINED void gc__heaps_lock_take(void) {
    if (gc__lock_try(&gc__heaps_lock)) return;
    gc__save_registers(gc__my_registers);
    gc__park(NULL);
    gc__lock_take(&gc__heaps_lock);
}

GC__INLINED void gc__heaps_lock_release(void) {
    gc__lock_release(&gc__heaps_lock);
    gc__unpark_all();
    gc__cpu_keep_frame();
}

GC__FN void gc__heaps_add(gc_heap *heap) {
    gc__heaps_lock_take();
    heap->threads->next_heap = gc__heaps;
    gc__heaps = heap;
    gc__heaps_lock_release();
}

GC__FN void gc__heaps_remove(const gc_heap *heap) {
    gc__heaps_lock_take();
    gc_heap **link = &gc__heaps;
    while (*link != heap) link = &(*link)->threads->next_heap;
    *link = heap->threads->next_heap;
    gc__heaps_lock_release();
}
/* Stopping the heap's threads.

   Invariant: while stop_depth > 0, no thread of the heap but the lock's owner is in cooperative mode.

   Two threads allocate 1.75 times as fast as one because threads poll before they sleep, and because the nursery grows with
   the number of threads that allocate (0.8 times without): a collection in which nothing survives takes microseconds
   only. */


#define GC__STOP_SPINS \
    200 /* polls before the collector sleeps: about the time in which a running thread comes to a poll */

/* A thread that has not stopped is interrupted again after this time; after so many tries, less and less often. */
#define GC__INTERRUPT_NS ((uint64_t)200000)
#define GC__INTERRUPT_TRIES 32

/* Names a thread that does not stop; nothing else would show why the program stands still. */
GC__FN void gc__world_complain(const gc_heap *heap, const gc_thread *thread, uint64_t waited_ms) {
    char message[320];
    snprintf(
        message, sizeof message,
        "a collection has waited for %llu ms for the thread `%s` to come to a safe point: have it call gc_safepoint in "
        "loops that do not allocate, and bracket calls that block by GC_IN_MODE(thread, GC_MODE_PREEMPTIVE)",
        (unsigned long long)waited_ms, gc__thread_name(thread));
    gc__warn(&heap->options, message);
}

/* Compiled code need not poll: a signal stops it. */
GC__FN bool gc__world_interrupt(gc_thread *thread) {
    if (!__atomic_load_n(&gc__record(thread)->interruptible, __ATOMIC_ACQUIRE) || !gc__is_cooperative(thread))
        return false;
    gc__compiled->interrupt(thread);
    return true;
}

GC__FN void gc__world_await(gc_heap *heap, gc_thread *thread) {
    const uint64_t patience_ms = heap->options.stop_patience_ms;
    bool complained = false;
    for (unsigned spins = 0; gc__is_cooperative(thread); spins++) {
        uint32_t count = __atomic_load_n(&heap->threads->stopped_count, __ATOMIC_SEQ_CST);
        if (spins < GC__STOP_SPINS) {
            gc__cpu_pause();
            continue;
        }
        uint64_t wait_ns = patience_ms * GC__NS_PER_MS, waited_ns = gc__ns_since(gc__os_now_ns(), heap->threads->stop_started_ns);
        /* An interrupt has no effect in native code, nor where the code cannot be stopped. */
        if (gc__world_interrupt(thread)) wait_ns = GC__INTERRUPT_NS + waited_ns / GC__INTERRUPT_TRIES;
        if (gc__is_cooperative(thread)) gc__os_wait_for(&heap->threads->stopped_count, count, wait_ns);
        if (complained) continue;
        uint64_t waited_ms = gc__ns_since(gc__os_now_ns(), heap->threads->stop_started_ns) / GC__NS_PER_MS;
        complained = waited_ms >= patience_ms && gc__is_cooperative(thread);
        if (complained) gc__world_complain(heap, thread, waited_ms);
    }
    uint64_t stopped = __atomic_load_n(&gc__record(thread)->stopped_at_ns, __ATOMIC_RELAXED),
             waited = gc__ns_since(stopped, heap->threads->stop_started_ns);
    gc__record(thread)->stops++;
    gc__record(thread)->stop_total_ns += waited;
    if (waited > gc__record(thread)->stop_max_ns) gc__record(thread)->stop_max_ns = waited;
    if (waited > heap->threads->slowest_ns) {
        heap->threads->slowest_ns = waited;
        heap->threads->slowest = thread;
    }
    if (waited <= heap->stats.stop_max_ns) return;
    heap->stats.stop_max_ns = waited;
    snprintf(heap->stats.stop_slowest, sizeof heap->stats.stop_slowest, "%s", gc__thread_name(thread));
}

GC__FN void gc__stop_note(gc_heap *heap) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (profiler) profiler->stopped(heap, heap->threads->stop_started_ns);
}

GC__FN void gc__world_stop_others(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    gc__park(heap);
    heap->threads->stop_started_ns = gc__os_now_ns();
    heap->threads->slowest_ns = 0;
    heap->threads->slowest = NULL;
    __atomic_store_n(&heap->threads->stopping, 1u, __ATOMIC_SEQ_CST);
    if (heap->options.suspend) {
        GC__HOST_SCOPE;
        heap->options.suspend(heap->options.host);
        gc__stop_note(heap);
        return;
    }
    unsigned running = 1;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        if (thread == self) continue;
        __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
        gc__world_interrupt(thread);
        running += gc__is_cooperative(thread);
    }
    __atomic_store_n(&heap->threads->crowded, running > heap->threads->processors, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        if (thread != self) gc__world_await(heap, thread);
    uint64_t waited = gc__ns_since(gc__os_now_ns(), heap->threads->stop_started_ns);
    heap->stats.stops++;
    heap->stats.stop_total_ns += waited;
    gc__stop_note(heap);
}

GC__FN void gc__world_stop_locked(gc_heap *heap) {
    if (heap->threads->stop_depth++) return;
    bool alone = !heap->threads->first ||
                 (heap->threads->first == gc__thread_self(heap) && !gc__record(heap->threads->first)->next);
    heap->threads->stop_started_ns = 0;
    if (heap->options.suspend || !alone) gc__world_stop_others(heap);
}

/* Takes the lock and stops the heap's threads, except the calling one. Nests. */
GC__INLINED void gc__world_stop(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__world_stop_locked(heap);
}

GC__FN void gc__world_restart(gc_heap *heap) {
    GC__HOST_SCOPE;
    if (heap->options.restart) heap->options.restart(heap->options.host);
}

GC__FN void gc__world_resume_locked(gc_heap *heap) {
    const gc__profiler *profiler = gc__profiler_of(heap);
    if (--heap->threads->stop_depth) return;
    if (profiler) profiler->resumed(heap);
    gc__world_restart(heap);
    __atomic_store_n(&heap->threads->stopping, 0u, __ATOMIC_SEQ_CST);
    bool polls = heap->options.stress == GC_STRESS_SAFEPOINT || __atomic_load_n(&heap->threads->asked, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        __atomic_store_n(&thread->poll, (uint32_t)polls, __ATOMIC_RELAXED);
}

GC__INLINED void gc__world_resume(gc_heap *heap) {
    gc__world_resume_locked(heap);
    gc__heap_unlock(heap);
}

/* While the world is stopped: makes the regions of all windows walkable. */
GC__FN void gc__heap_flush(gc_heap *heap) {
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        gc__thread_flush_windows(thread);
}

/* The same, and from here on each thread's next allocation takes the slow path, which finds callbacks that allocate. */
GC__FN void gc__heap_flush_for_callbacks(gc_heap *heap) {
    gc__heap_flush(heap);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__thread_shrink_windows(thread);
        gc__local_spans_close(heap, &gc__record(thread)->local_spans);
    }
}
/* Frames of GC_ROOTS: walking them, and noticing those that were left without their end. */


#define GC__STACK_BYTES_MAX ((size_t)1 << 30) /* frames farther from the base than this are not on that stack */

/* Frames form a list, innermost first. If a scope was left without its end, and then entered again, the list becomes a
   cycle. Brent's method finds it, by one compare for each frame. Comparing addresses would not do: compilers place the
   frames of one function as they like. */
typedef struct gc__frame_search {
    const gc_heap *heap;
    const gc_frame *first, *kept;
    size_t left, span; /* after so many another frame is kept, which stays for twice as many */
} gc__frame_search;

/* Reports the cycle that the frame is in. The innermost of its frames is the one that was entered again. */
GC__OUT_OF_LINE void gc__frames_report_cycle(const gc__frame_search *search, const gc_frame *within) {
    const gc_frame *again = search->first, *ahead = again, *each = within;
    do {
        ahead = ahead->previous;
        each = each->previous;
    } while (each != within);
    while (again != ahead) {
        again = again->previous;
        ahead = ahead->previous;
    }
    gc__fatal(&search->heap->options, GC__FRAME_AGAIN, again->site->names, again->site->file, again->site->line);
}

GC__FN gc__frame_search gc__frames_begin(const gc_heap *heap, const gc_frame *frames) {
    gc__frame_search search = {heap, frames, NULL, 1, 1};
    return search;
}

/* The next frame of the walk. */
GC__FN void gc__frames_seen(gc__frame_search *search, const gc_frame *frame) {
    if (GC__UNLIKELY(frame == search->kept)) gc__frames_report_cycle(search, frame);
    if (GC__LIKELY(--search->left)) return;
    search->kept = frame;
    search->left = search->span *= 2;
}

#define GC__FRAME_LEFT                                                                            \
    "was left without its end, by longjmp, by a computed goto (goto *label), by an exception "    \
    "through C code or by a switch of stacks: restore the frames by gc_frames_restore, end "      \
    "the scope before the goto, or call gc_stack_switch"

/* A frame that is not of the thread whose list it is in was left without its end, and other calls have overwritten it. */
GC__FN void gc__frame_check_thread(const gc_heap *heap, const gc_frame *frame, const gc_thread *thread) {
    if (GC__UNLIKELY(frame->thread != thread))
        gc__fatal(&heap->options, "a frame of GC_ROOTS, at %p, " GC__FRAME_LEFT, (const void *)frame);
}

/* Makes the frames of one thread belong to another one; NULL: to none, since their heap is destroyed. */
GC__FN void gc__frames_assign(const gc_heap *heap, gc_frame *frames, const gc_thread *from, gc_thread *to) {
    gc__frame_search search = gc__frames_begin(heap, frames);
    for (gc_frame *frame = frames; frame; frame = frame->previous) {
        gc__frames_seen(&search, frame);
        if (frame->thread != to) gc__frame_check_thread(heap, frame, from); /* a cycle comes here again */
        frame->thread = to;
    }
}

/* A frame that other calls have overwritten, or that lies below the stack pointer, was left without its end. Stack pointers
   are compared with GC_DEBUG only. */
GC__FN void gc__frame_check(const gc_heap *heap, const gc_frame *frame, const gc_stack *stack,
                            const char *stack_pointer) {
    gc__frame_check_thread(heap, frame, stack->last);
    bool below = GC_DEBUG >= 1 && (const char *)frame < stack_pointer &&
                 (size_t)(stack->base - (const char *)frame) < GC__STACK_BYTES_MAX;
    if (below)
        gc__fatal(&heap->options, "the frame of GC_ROOTS(%s) at %s:%u " GC__FRAME_LEFT, frame->site->names, frame->site->file,
                  frame->site->line);
}

/* Where the frames of a thread in native code, and what they point to, may lie: on its stack, and wherever the system says
   that there is memory. The system is not asked again about a page that was found lately. */
typedef struct gc__frame_memory {
    const gc_thread *thread;
    uintptr_t pages[8]; /* pages that are memory; the index is the lowest bits of the page number */
} gc__frame_memory;

GC__FN bool gc__frame_memory_has(gc__frame_memory *memory, const void *address, size_t bytes) {
    uintptr_t at = (uintptr_t)address, from = (uintptr_t)gc__record(memory->thread)->stack_pointer,
              base = (uintptr_t)gc__record(memory->thread)->stack_base;
    if ((at & 7) || at < 4096) return false;
    if (base && at - from < base - from) return bytes <= base - at;
    uintptr_t page = at >> 12, *known = &memory->pages[page & 7];
    if (*known == page && (at + bytes - 1) >> 12 == page) return true;
    if (!gc__os_is_mapped(address, 8) || !gc__os_is_mapped((const void *)(at + bytes - 8), 8)) return false;
    *known = page;
    return true;
}

GC__FN bool gc__frame_is_whole(gc__frame_memory *memory, const gc_frame *frame) {
    if (!gc__frame_memory_has(memory, frame, sizeof *frame) || frame->thread != memory->thread) return false;
    if (!gc__frame_memory_has(memory, frame->site, sizeof *frame->site) || frame->count > SIZE_MAX / 16) return false;
    if (frame->count && !gc__frame_memory_has(memory, frame->slots, frame->count * 8)) return false;
    bool whole = true;
    if (!(frame->site->flags & GC__SLOT_CONTIGUOUS))
        for (size_t i = 0; whole && i < frame->count; i++) whole = gc__frame_memory_has(memory, frame->slots[i], 8);
    return whole;
}

/* A thread that ends in native code without leaving its scopes may overwrite its frames while collections run. */
GC__FN void gc__frame_check_native(const gc_heap *heap, gc__frame_memory *memory, const gc_frame *frame) {
    if (gc__frame_is_whole(memory, frame)) return;
    gc__fatal(
        &heap->options,
        "the frame of GC_ROOTS at %p of the thread `%s`, which is in preemptive mode, was overwritten: the thread "
        "has ended by pthread_exit or a cancellation, or called longjmp, and has not left its scopes. Compile with "
        "-fexceptions, so that a thread that ends leaves them, or restore frames by gc_frames_restore",
        (const void *)frame, gc__thread_name(memory->thread));
}

/* `native`: the thread that runs native code on that stack, if one does. */
GC__HOT void gc__frames_visit(gc_heap *heap, gc_frame *frames, gc_visitor *visitor, const gc_stack *stack,
                             const char *stack_pointer, const gc_thread *native) {
    gc__frame_search search = gc__frames_begin(heap, frames);
    gc__frame_memory memory = {native, {0}};
    gc__threads *threads = heap->threads;
    threads->root_kind = "frame";
    for (gc_frame *frame = frames; frame; frame = frame->previous) {
        gc__frames_seen(&search, frame);
        if (native) gc__frame_check_native(heap, &memory, frame);
        gc__frame_check(heap, frame, stack, stack_pointer);
        unsigned flags = frame->site->flags;
        threads->root_site = frame->site;
        if (flags & GC__SLOT_CONTIGUOUS) {
            gc_visit(visitor, (void *)frame->slots, frame->count, flags & ~(unsigned)GC__SLOT_CONTIGUOUS);
        } else if (flags & GC__SLOT_DERIVED) {
            gc_visit_derived(visitor, frame->slots[0], frame->slots[1]);
        } else {
            for (size_t i = 0; i < frame->count; i++) gc_visit(visitor, (void *)frame->slots[i], 1, flags);
        }
    }
    threads->root_site = NULL;
}
/* Stacks that threads run on: their own, fibers, coroutines. */


GC_API gc_stack *gc_stack_create(gc_heap *heap, void *base) {
    if (gc__is_null(heap, "gc_stack_create", "heap")) return NULL;
    gc_stack *stack = (gc_stack *)calloc(1, sizeof *stack);
    if (!stack) {
        gc__fail(GC_ERROR_MEMORY, "gc_stack_create: the system gives no memory for the stack's record");
        return NULL;
    }
    stack->heap = heap;
    stack->base = (char *)base;
    stack->conservative = heap->options.conservative_stack;
    gc__lock_take(&heap->threads->roots_lock);
    stack->next = heap->threads->stacks;
    heap->threads->stacks = stack;
    gc__lock_release(&heap->threads->roots_lock);
    return stack;
}

GC_API void gc_stack_destroy(gc_stack *stack) {
    if (!stack) return;
    GC_ASSERT(!stack->thread, "gc_stack_destroy: the stack is running");
    gc__frames_assign(stack->heap, stack->frames, stack->last, NULL);
    gc__lock_take(&stack->heap->threads->roots_lock);
    gc_stack **link = &stack->heap->threads->stacks;
    while (*link != stack) link = &(*link)->next;
    *link = stack->next;
    gc__lock_release(&stack->heap->threads->roots_lock);
    free(stack);
}

GC_API void gc__stack_switch(gc_thread *thread, gc_stack *stack) {
    GC__API_SCOPE("gc_stack_switch");
    gc_stack *left = thread->stack;
    if (!stack) stack = &gc__record(thread)->own_stack;
    GC_ASSERT(!stack->thread || stack->thread == thread, "gc_stack_switch: the stack runs on another thread");
    GC_ASSERT(stack->heap == thread->heap, "gc_stack_switch: the stack belongs to another heap");
    GC_ASSERT(
        stack->base || !gc__record(thread)->conservative,
        "gc_stack_switch: the thread's native stacks are scanned conservatively, but gc_stack_create was not told "
        "this one's highest address");
    if (GC__UNLIKELY(stack->code && stack->last != thread))
        gc__fatal(&thread->heap->options,
                  "gc_stack_switch: the thread `%s` enters a stack on which another thread has left compiled code: that "
                  "code holds its gc_thread, so the same thread must enter the stack again",
                  gc__thread_name(thread));
    if (gc__record(thread)->interruptible) gc__compiled->leave_stack(thread);
    left->frames = thread->frames;
    left->code = thread->code;
    left->stack_pointer = (char *)left->registers[GC__SAVED_STACK_POINTER];
    left->thread = left == &gc__record(thread)->own_stack ? thread : NULL;
    left->conservative |= gc__record(thread)->conservative && left != &gc__record(thread)->own_stack;
    if (stack->last != thread) gc__frames_assign(thread->heap, stack->frames, stack->last, thread);
    stack->thread = stack->last = thread;
    thread->stack = stack;
    thread->frames = stack->frames;
    thread->code = stack->code;
    stack->frames = NULL; /* while the thread runs there the frames are in its own list */
    stack->code = NULL;
    gc__record(thread)->stack_base = stack->base;
}

GC_API gc_mode gc__thread_set_mode(gc_thread *thread, gc_mode mode) {
    GC__API_SCOPE("gc_thread_set_mode");
    gc_mode former = gc_thread_mode(thread);
    if (GC__UNLIKELY(!thread->heap)) return former; /* it was destroyed */
    GC_ASSERT(gc__thread_self(thread->heap) == thread,
              "gc_thread_set_mode: called for another thread than the calling one");
    if (mode == former) return former;
    GC_ASSERT(!gc__heap_is_locked(thread->heap),
              "gc_thread_set_mode: called by a hook or callback of a collection or a walk, which runs in its caller's mode");
    if (mode == GC_MODE_PREEMPTIVE) {
        gc__record(thread)->stack_pointer = (char *)thread->registers[GC__SAVED_STACK_POINTER];
        gc__thread_stop(thread);
    } else {
        gc__thread_resume(thread);
    }
    return former;
}
/* What a collection is for, and how it goes about it: decided by policy, and constant from condemning on. */


/* What a collection is for. */
typedef enum gc__purpose {
    GC__YOUNG,           /* traces young generations */
    GC__YOUNG_WHOLESALE, /* promotes the nursery untraced, since nearly all of it would survive */
    GC__MARK_BEGIN,      /* a young collection with which a concurrent cycle begins */
    GC__MARK_END,        /* a young collection, then the final mark of the cycle, which frees old objects */
    GC__FULL,            /* stops the program to mark all generations; sparse regions are evacuated */
    GC__FULL_REUSE,      /* the same, but nothing moves, and mutators get the holes */
    GC__COMPACT,         /* evacuates all that can move, as far as there is room */
    GC__SLIDE            /* slides objects together within their regions, which needs no free region */
} gc__purpose;

/* A collection that is called for, before the heap was looked at. */
typedef struct gc__request {
    gc__purpose purpose;
    int generation; /* the oldest one that it frees objects of */
    gc_reason reason;
    gc_degenerated degenerated; /* where a cycle that this ends, or takes the place of, has given up */
    bool compacting;       /* all that can move is to move */
    bool large_holes_only; /* copies into holes go to large ones, since they did not find the room that small ones promised */
    size_t room_for;       /* it is to make room for an object of this size; 0: of any; SIZE_MAX: for a whole region */
} gc__request;

/* Only policy writes to a plan, and only until regions are condemned. */
typedef struct gc__plan {
    gc__request request;
    gc__purpose purpose; /* the requested one; but the end of a cycle that missed stores is a full collection */
    int condemned; /* the oldest generation whose regions are condemned at first */
    bool moves;          /* no: all objects stay, in a heap that moves nothing */
    bool moves_all;      /* under stress all regions are evacuated that can be */
    uint8_t promote_to[GC_GENERATIONS]; /* where survivors of each generation go */
    bool promotes_huge;                 /* those of huge objects go to generation 2: to scan one again would be a long pause */
    bool ages_all;                      /* a full collection makes all survivors old, since young collections do not pay */
    bool promotes_in_place;             /* young regions that are nearly full stay, since nearly all objects in them survive */
    bool tight;                         /* room is short: a young region counts by its memory, not by its objects */
    bool pin_fragmented;                /* pins are in most regions, so they stay */
    bool recycles_young;                /* mutators get the holes of sparse young regions, in a heap that moves nothing */
    int evacuate_old, evacuate_young;   /* regions are evacuated if at most this percentage of them is predicted to live */
    int evacuate_partly;                /* of regions with exactly this percentage, only as many as fit into these bytes: */
    size_t evacuate_partly_bytes;
    bool evacuate_old_partly, evacuate_young_partly; /* of old ones, and of young ones */
    int recycle_below; /* mutators get the holes of regions that stay with less than this percentage */
    size_t into_holes;      /* copies go to holes of at least so many bytes in regions that stay; 0: to fresh regions */
    size_t into_holes_mean; /* what a hole must have to count as room */
    unsigned predicted[GC_GENERATIONS]; /* percent of a generation that is expected to survive */
} gc__plan;

/* Whether a concurrent cycle begins or ends with the collection. */
GC__FN bool gc__is_of_cycle(const gc__plan *plan) {
    return plan->purpose == GC__MARK_BEGIN || plan->purpose == GC__MARK_END;
}
/* What the collector keeps of a heap: between collections, and of the collection that runs. */


/* What was counted at a time when an allocation met the limit. */
typedef struct gc__overhead {
    uint64_t ns, paused_ns, collections; /* full ones */
} gc__overhead;

/* When to collect, as of the last collection. */
typedef struct gc__pace {
    size_t nursery_bytes; /* budget of generation 0 */
    size_t nursery_grows; /* bytes that generation 0 may reach while young collections are not worth their time; or 0 */
    size_t cache_bytes;   /* size of the L2 cache, asked for once: the CPU takes long to answer */
    size_t young_regions; /* of generation 1 */
    unsigned allocating;  /* threads that had a window when the last collection began: at least 1, at most processors */
    size_t full_live_bytes;            /* what the last full collection left, off-heap bytes included */
    gc__overhead overhead;             /* since then full collections have hardly made room */
    size_t overhead_allocated_bytes;   /* had been allocated when an allocation met the limit last */
    size_t full_copied_bytes;          /* what copies took in the last full collection that did not compact */
    size_t full_threshold;             /* bytes in generation 2 that start a full collection */
    uint64_t young_ns_per_mib; /* of what a young collection condemns, in CPU time; 0: not known yet */
    uint64_t copy_ns_per_mib;  /* of what survives one, and */
    uint64_t slot_ns;          /* of what it finds in remembered slots; both with all that comes with it */
    uint64_t filling_young_ns, filling_slot_ns; /* the most of both since copies have begun to fill holes; 0: not known */
    uint64_t trace_ns_per_mib[2]; /* of what survives a young collection, and a full one, in CPU time of all collector threads */
    bool has_huge;             /* a new object becomes generation 2 in the next collection of generation 1 */
    bool tenures_at_once;      /* most of each nursery survives, and becomes generation 2 in its first collection */
    /* Nurseries that may be promoted untraced before one is traced, and those that have been. */
    unsigned wholesale_most, wholesale_count;
    unsigned tenured_percent;  /* how much of what the last young collection condemned has survived */
    bool fills_holes; /* a fifth of generation 2 is holes, or room is short, and no collection will evacuate its regions */
    unsigned degenerated;      /* full collections to come that stop the program, as the limit leaves no room to mark beside it */
    unsigned degenerated_next; /* how many that are the next time */
    size_t external_bytes;             /* off-heap bytes that the last collection left; atomic */
    unsigned survival[GC_GENERATIONS]; /* percent, averaged over the last collections that condemned it */
    unsigned old_survival;             /* the same of generation 2 alone, of which the last full collection has kept so much */
    uint64_t stopped_cpu_ns;           /* thread CPU time when the collection that runs began; 0: it is not timed */
    uint64_t resumed_cpu_ns;           /* and when the last one ended */
    uint64_t workers_cpu_ns;              /* that of collector threads when the last one ended */
    uint64_t resumed_by;               /* the native thread that ran the last one, by whose clock that is; 0: not known */
} gc__pace;

/* What the trace has seen of weak tables: a gc_weak_entries after the other. */
typedef struct gc__discovered {
    gc__words words;
    size_t waited;   /* the ephemerons before this word have become waits */
    size_t cleared;  /* the entries before this word that are not long have been cleared */
    gc__words ended; /* for checkmark: what survives only as the strong part of an entry that was cleared */
} gc__discovered;
#define GC__DISCOVERED_WORDS (sizeof(gc_weak_entries) / sizeof(uintptr_t))

GC__FN void gc__discovered_begin(gc__discovered *notes) {
    notes->words.count = notes->ended.count = notes->waited = notes->cleared = 0;
}

GC__FN bool gc__discovered_push(gc__discovered *notes, const gc_weak_entries *entries) {
    size_t count = notes->words.count;
    if (!gc__words_reserve(&notes->words, count + GC__DISCOVERED_WORDS)) return false;
    memcpy(notes->words.words + count, entries, sizeof *entries);
    notes->words.count += GC__DISCOVERED_WORDS;
    return true;
}

/* What regions of small objects hold. */
typedef struct gc__small_regions {
    size_t used_bytes, live_bytes;
} gc__small_regions;

GC__FN void gc__small_regions_add(gc__small_regions *regions, const gc__region *region) {
    if (region->kind != GC__SMALL) return;
    regions->used_bytes += GC_REGION_BYTES;
    regions->live_bytes += region->live_bytes;
}

#define GC__STACK_WORDS 5 /* stack, begin, frame; numbers of the roots from the one up to the other */

/* One collection. The lists keep their memory for the next one. */
typedef struct gc__cycle {
    gc__words roots;                    /* slots | 1 if of tagged values */
    gc__words reported;                 /* pairs of numbers: roots from the one up to the other are scan_roots'; for readers */
    gc__words interior;                 /* triples: slot | 1 if of a tagged value, offset, object */
    gc__words pins;                     /* objects | 1 if found by a conservative word */
    gc__map ambiguous;                   /* objects that only conservative words found */
    gc__words external_moving;          /* pairs: object, bytes */
    gc__discovered entries;                  /* of weak tables */
    gc__words stacks;                   /* of values, that scan_roots has reported, GC__STACK_WORDS of each */
    gc__plan planned;                   /* by policy; others read it through */
    const gc__plan *plan;
    bool recycles;                      /* some regions will be in generation 0 again */
    size_t evacuate_left_bytes;         /* of plan->evacuate_partly_bytes, while regions are condemned */
    size_t fixed_holes_bytes;           /* in regions of objects that never move that will be allocated in again */
    gc__words offsets;                  /* where the objects go that slide */
    size_t copied_bytes[GC_GENERATIONS], marked_bytes[GC_GENERATIONS], condemned_bytes[GC_GENERATIONS];
    size_t large_bytes, large_kept_bytes; /* of young large objects that were condemned, and of those that live */
    size_t young_staying_bytes, young_kept_bytes; /* in regions of generation 0 that stay: before the collection, and after it */
    size_t staying_bytes, staying_kept_bytes; /* in regions of generation 2 that stay: before the collection, and after it */
    gc__small_regions old_small;         /* of generation 2, after a full collection */
    bool condemns_old;                   /* old regions are, with what the marker has marked, until the sweep */
    gc__region *condemned_old;           /* the list that they were in */
    gc__region *cursors[GC_GENERATIONS]; /* the search for holes goes on here, in the list of the generation */
    bool no_room[GC_GENERATIONS];        /* the heap gives no more regions for copies */
} gc__cycle;

/* What the collection has copied, or left where it was, in all generations. */
GC__FN size_t gc__survived_bytes(const gc__cycle *cycle) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += cycle->copied_bytes[g] + cycle->marked_bytes[g];
    return bytes;
}

typedef struct gc__collector {
    gc__words mark_stack;                                   /* its memory, kept for the next collection */
    gc__words globals;                                      /* triples: first slot, count, flags; roots lock */
    gc__map external[GC_GENERATIONS];                       /* off-heap bytes of objects */
    struct gc__workers *workers;                                  /* NULL: there are no collector threads yet */
    unsigned processors;                                    /* for collector threads, when that was asked last */
    uint64_t processors_asked_ns;                           /* when that was; 0: never */
    bool workers_refused;                                      /* the system has given fewer threads than were asked for */
    uint64_t finished[GC_GENERATIONS], finished_compacting; /* the last collection of that generation or an older */
} gc__collector;

/* Heaps that are marked beside mutators keep to a goal for pauses, unless they have no room for that. */
GC__FN bool gc__has_pause_goal(const gc_heap *heap) {
    return heap->options.concurrent == GC_CONCURRENT_ON && !heap->pace->degenerated;
}

/* The generation that compaction copies to. */
GC__FN unsigned gc__oldest(const gc_heap *heap) { return heap->options.non_generational ? 0 : 2; }

/* From this size on objects with references grow old at once where pauses are to be short: so they are scanned once. */
#define GC__HUGE_BYTES ((size_t)1 << 20)

GC__FN bool gc__is_huge(const gc__region *region) {
    return region->kind == GC__LARGE && region->top - region->base >= GC__HUGE_BYTES;
}

/* The generation up to which roots are looked at. A marking begins with all of them. */
GC__FN int gc__roots_generation(const gc_heap *heap) {
    return heap->cycle->plan->purpose == GC__MARK_BEGIN ? 2 : heap->collection.generation;
}

/* Whether the collection that runs is the final mark of a concurrent cycle. */
GC__FN bool gc__is_mark_end(const gc_heap *heap) { return heap->cycle->plan->purpose == GC__MARK_END; }
/* All regions of generation 2 at once. Pauses of heaps that are marked beside mutators must hardly grow with them, so what can be
   is done to their entries in the tables: 8 of these take as long as the descriptor of one region, for which memory is waited. */


#define GC__WALK_AHEAD ((size_t)8) /* regions */
#define GC__WALK_PART 4 /* of the process's regions, from which on a heap goes through the table to find its own */

/* A walk through the regions of generation 2 that have an entry in the verdict table, against the order of addresses: then their
   memory comes in time, and a list that is made of them is in that order. In the order in which they were taken each is waited
   for, 30 ns. A heap that has few of the process's regions goes by a list of those that it looks for. */
typedef struct gc__old_walk {
    const gc_heap *heap;
    gc__region *region, *begin; /* in the table, the one above the next one; else the next one, and `begin` is NULL */
    uint8_t entry;
} gc__old_walk;

GC__FN bool gc__has_many_regions(const gc_heap *heap) { return heap->held_regions >= gc__regions_used() / GC__WALK_PART; }

GC__FN gc__old_walk gc__old_begin(const gc_heap *heap, gc__region *list, uint8_t entry) {
    gc__region *regions = gc__the_arena.regions;
    gc__old_walk by_list = {heap, list, NULL, entry}, by_table = {heap, regions + gc__regions_used(), regions, entry};
    return gc__has_many_regions(heap) ? by_table : by_list;
}

/* The walk goes on before the caller puts the region into another list. NULL: that was all. */
GC__FN gc__region *gc__old_next(gc__old_walk *walk) {
    gc__region *region = walk->region;
    if (!walk->begin) {
        walk->region = region ? region->next : NULL;
        return region;
    }
    while (region > walk->begin) {
        region--;
        const char *ahead = (const char *)(region - gc__min((size_t)(region - walk->begin), GC__WALK_AHEAD));
        __builtin_prefetch(ahead, 1);
        __builtin_prefetch(ahead + 64, 1);
        if (!gc__region_is_of(region, walk->heap) || region->generation < 2) continue;
        if (region->kind != GC__SMALL && region->kind != GC__LARGE) continue;
        if (GC__VERDICTS[region->base >> GC_REGION_SHIFT] != walk->entry) continue;
        walk->region = region;
        return region;
    }
    walk->region = region;
    return NULL;
}

/* Every entry of an old region that is not condemned gets this age, and this verdict; those of leaving regions go on to say that.
   There is one heap. */
GC__HOT void gc__old_rank_all(uint8_t age, uint8_t verdict) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint8_t *ages = gc__tables.age + (gc__the_arena.base >> GC_REGION_SHIFT), *verdicts = ages + GC_RANK_ENTRIES;
    for (size_t i = 0, used = gc__regions_used(); i < used;) {
        uint64_t eight = 0, condemned = 0, ranks = each * age, entries = each * verdict;
        if (used - i >= 8) {
            memcpy(&eight, ages + i, sizeof eight);
            memcpy(&condemned, verdicts + i, sizeof condemned);
        }
        if (!condemned && (eight & each * (GC_AGE_GENERATION | GC__AGE_CANDIDATE)) == each * 2) {
            memcpy(ages + i, &ranks, sizeof ranks);
            memcpy(verdicts + i, &entries, sizeof entries);
            i += 8;
            continue;
        }
        if ((ages[i] & GC_AGE_GENERATION) == 2 && !verdicts[i]) {
            ages[i] = (uint8_t)(age | (ages[i] & GC__AGE_CANDIDATE));
            verdicts[i] = verdict;
        }
        i++;
    }
}

/* Has the ages of old regions say what barriers are to do now, and condemns those that are not yet, or does not:
   GC__OLD_CONDEMNED or GC__IGNORE. Another heap's regions look the same in the tables; while the lock is held there is no other.
   The world is stopped. */
GC__HOT void gc__old_rank(const gc_heap *heap, uint8_t verdict) {
    gc__lock_take(&gc__the_arena.lock);
    bool alone = gc__the_arena.heaps == 1;
    if (alone) gc__old_rank_all((uint8_t)gc__age_of(heap, 2), verdict);
    gc__lock_release(&gc__the_arena.lock);
    if (alone) return;
    gc__old_walk walk = gc__old_begin(heap, heap->regions[2], GC__IGNORE);
    for (gc__region *region; (region = gc__old_next(&walk)) != NULL;) {
        gc__region_set_rank(region, gc__region_age(heap, region), true);
        gc__region_set_entries(region, verdict);
    }
}
/* Stacks of values: which part of a stack a collection has to look at.

   untouched: entries below it were not stored to since the last collection. settled[n]: entries below it referred, after the
   last collection that looked at them, to no object of generations 0 to n. So a collection of generation n begins at the
   lower of untouched and settled[n]; a full one at the base. */


GC__FN uintptr_t gc__stack_ref(const gc_value_stack *stack, uintptr_t at) {
    uintptr_t word = __atomic_load_n((const gc_word *)at, __ATOMIC_RELAXED); /* another worker may be updating it */
    return gc__slot_decode(word, GC_HAS_VALUES && (stack->flags & GC_SLOT_VALUE));
}

/* A mark in the stack, whose memory may have changed since it was made. */
GC__FN uintptr_t gc__stack_bound(const gc_value_stack *stack, const void *mark) {
    uintptr_t base = (uintptr_t)stack->base, top = (uintptr_t)stack->top, at = (uintptr_t)mark;
    return at < base ? base : at > top ? top : at;
}

/* The first entry that a collection of that generation looks at. */
GC__FN uintptr_t gc__stack_begin(const gc_value_stack *stack, int generation) {
    if (generation >= 2) return (uintptr_t)stack->base;
    return gc__min(gc__stack_bound(stack, stack->untouched), gc__stack_bound(stack, stack->settled[generation]));
}

/* In or after the collection that looks at the entries from `from` on: ranks are those of the time after it. */
GC__FN void gc__stack_note_bounds(gc_value_stack *stack, uintptr_t from, const void *frame) {
    uintptr_t lowest[3]; /* the first entry of at least that youth */
    lowest[0] = lowest[1] = lowest[2] = (uintptr_t)stack->top;
    for (uintptr_t at = (uintptr_t)stack->top; at > from;) {
        at -= gc__stack_entry_bytes(stack);
        for (int youth = gc__youth(gc__stack_ref(stack, at)); youth > 0; youth--) lowest[youth] = at;
    }
    for (int g = 0; g < 2; g++) {
        uintptr_t mark = gc__stack_bound(stack, stack->settled[g]);
        stack->settled[g] = (void *)(mark < from ? mark : lowest[2 - g]);
    }
    stack->untouched = (void *)gc__stack_bound(stack, frame);
}

/* The youth of the youngest object to which an entry refers, or a higher one. */
GC__FN unsigned gc__stack_youth(const gc_value_stack *stack) {
    uintptr_t top = (uintptr_t)stack->top;
    return gc__stack_bound(stack, stack->settled[0]) < top ? 2 : gc__stack_bound(stack, stack->settled[1]) < top;
}

/* For verify: the first entry that refers to a younger object than is noted; 0: none does. */
GC__FN uintptr_t gc__stack_fault(const gc_value_stack *stack) {
    for (int g = 0; g < 2; g++) {
        uintptr_t end = gc__stack_begin(stack, g);
        for (uintptr_t at = (uintptr_t)stack->base; at < end; at += gc__stack_entry_bytes(stack))
            if (gc__youth(gc__stack_ref(stack, at)) >= 2 - g) return at;
    }
    return 0;
}
/* Phase "gather": every root is visited once, into three lists, before anything is condemned, because pins decide
   verdicts and interior pointers are resolved by the mark bits that the trace is about to clear.

   roots: slots, bit 0 set if tagged values; interior: triples {slot, bit 0 as well; offset in its object; object};
   pins: objects, bit 0 set if a conservative word found it. */


#define GC__PIN_CONSERVATIVE 1

typedef struct gc__root_visitor {
    gc_visitor visitor;
    gc_heap *heap;
    bool failed; /* no memory for the lists */
} gc__root_visitor;

/* Plain references and tagged values, as nearly all roots are. */
GC__FN bool gc__root_gather_plain(gc__cycle *cycle, gc_word *slots, size_t count, bool value) {
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        if (gc__in_arena(gc__slot_decode(slots[i], value)))
            ok &= gc__words_push(&cycle->roots, (uintptr_t)&slots[i] | value);
    return ok;
}

/* The object that a root's word refers to, 0 if it refers to none; *ref is the address in the word. */
GC__FN uintptr_t gc__root_object(gc_heap *heap, uintptr_t word, unsigned flags, uintptr_t *ref) {
    bool value = GC_HAS_VALUES && (flags & GC_SLOT_VALUE), guess = flags & GC_SLOT_CONSERVATIVE;
    bool boxed = GC_HAS_VALUES && guess && !gc__in_arena(word);
    *ref = gc__slot_decode(word, boxed || (value && !guess));
    if (!gc__in_arena(*ref)) return 0;
    return flags & (GC_SLOT_INTERIOR | GC_SLOT_CONSERVATIVE) ? gc__heap_covering(heap, *ref) : *ref;
}

/* Words that may lie anywhere in an object, or that pin it. */
GC__FN bool gc__root_gather_other(gc_heap *heap, gc_word *slots, size_t count, unsigned flags) {
    gc__cycle *cycle = heap->cycle;
    bool value = GC_HAS_VALUES && (flags & GC_SLOT_VALUE), guess = flags & GC_SLOT_CONSERVATIVE, ok = true;
    for (size_t i = 0; i < count; i++) {
        uintptr_t ref, object = gc__root_object(heap, slots[i], flags, &ref);
        if (!object) continue; /* on no heap, or an address between objects */
        if (flags & (GC_SLOT_PINNED | GC_SLOT_CONSERVATIVE)) {
            ok &= gc__words_push(&cycle->pins, object | (guess ? GC__PIN_CONSERVATIVE : 0));
        } else {
            ok &= gc__words_push(&cycle->interior, (uintptr_t)&slots[i] | value);
            ok &= gc__words_push(&cycle->interior, ref - object);
            ok &= gc__words_push(&cycle->interior, object);
        }
    }
    return ok;
}

/* A slot at a distance from an object, which may be any. The slot of the object is not updated before the trace. */
GC__FN bool gc__root_gather_derived(gc__cycle *cycle, const gc__derived *pair) {
    uintptr_t object = *(gc_word *)pair->base;
    if (!gc__in_arena(object)) return true;
    return gc__words_push(&cycle->interior, (uintptr_t)pair->slot) &&
           gc__words_push(&cycle->interior, *(gc_word *)pair->slot - object) &&
           gc__words_push(&cycle->interior, object);
}

/* One slot among others that are none, out of the way of plain ones. */
GC__OUT_OF_LINE bool gc__root_gather_slot(gc__cycle *cycle, gc_word *slot, bool value) {
    return gc__root_gather_plain(cycle, slot, 1, value);
}

/* A weak table of the host's: its strong slots are roots. */
GC__FN bool gc__root_gather_entries(gc__cycle *cycle, const gc_weak_entries *entries) {
    bool value = GC_HAS_VALUES && (entries->flags & GC_SLOT_VALUE), ok = gc__discovered_push(&cycle->entries, entries);
    if (entries->kind != GC_WEAK_VALUES && entries->kind != GC_WEAK_KEYS) return ok;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->kind == GC_WEAK_VALUES) ok &= gc__root_gather_slot(cycle, gc__entry_key(entries, i), value);
        if (entries->kind == GC_WEAK_KEYS) ok &= gc__root_gather_slot(cycle, gc__entry_value(entries, i), value);
    }
    return ok;
}

/* A stack of the host's. Which ages its entries refer to then is known after the trace. */
GC__FN bool gc__root_gather_stack(gc_heap *heap, const gc__stack_part *part) {
    gc__cycle *cycle = heap->cycle;
    bool value = GC_HAS_VALUES && (part->stack->flags & GC_SLOT_VALUE), ok = true;
    uintptr_t from = gc__stack_begin(part->stack, gc__roots_generation(heap)), first = cycle->roots.count;
    for (uintptr_t at = from; at < (uintptr_t)part->stack->top; at += gc__stack_entry_bytes(part->stack))
        ok &= gc__root_gather_slot(cycle, (gc_word *)at, value);
    return ok && gc__words_push(&cycle->stacks, (uintptr_t)part->stack) && gc__words_push(&cycle->stacks, from) &&
           gc__words_push(&cycle->stacks, (uintptr_t)part->frame) && gc__words_push(&cycle->stacks, first) &&
           gc__words_push(&cycle->stacks, cycle->roots.count);
}

GC__HOT void gc__root_stacks_note_bounds(gc__cycle *cycle) {
    const uintptr_t *words = cycle->stacks.words;
    for (size_t i = 0; i < cycle->stacks.count; i += GC__STACK_WORDS)
        gc__stack_note_bounds((gc_value_stack *)words[i], words[i + 1], (const void *)words[i + 2]);
}

/* Remembers the objects that are active: what they own is stored to without a barrier. */
GC__FN void gc__root_remember(const gc_word *slots, size_t count, bool value) {
    for (size_t i = 0; i < count; i++) {
        uintptr_t object = gc__slot_decode(slots[i], value);
        if (gc__in_arena(object)) gc_remember(NULL, (void *)object);
    }
}

/* What is not just some slots. False: it was just that. */
GC__OUT_OF_LINE bool gc__root_gather_special(gc__root_visitor *roots, void *slot, size_t count, unsigned flags) {
    gc__cycle *cycle = roots->heap->cycle;
    bool ok = true;
    if (flags & GC__SLOT_ENTRIES)
        ok = gc__root_gather_entries(cycle, (const gc_weak_entries *)slot);
    else if (flags & GC__SLOT_STACK)
        ok = gc__root_gather_stack(roots->heap, (const gc__stack_part *)slot);
    else if (flags & GC__SLOT_DERIVED)
        ok = gc__root_gather_derived(cycle, (const gc__derived *)slot);
    else if (flags & GC_SLOT_ACTIVE)
        gc__root_remember((const gc_word *)slot, count, GC_HAS_VALUES && (flags & GC_SLOT_VALUE));
    if (!ok) roots->failed = true;
    return flags & (GC__SLOT_ENTRIES | GC__SLOT_STACK | GC__SLOT_DERIVED);
}

GC__FN void gc__root_gather(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__root_visitor *roots = (gc__root_visitor *)visitor;
    if (GC__UNLIKELY(flags >= 2 * GC_SLOT_VALUE) && gc__root_gather_special(roots, slot, count, flags)) return;
    bool plain = !(flags & (GC_SLOT_INTERIOR | GC_SLOT_PINNED | GC_SLOT_CONSERVATIVE));
    bool ok = plain ? gc__root_gather_plain(roots->heap->cycle, (gc_word *)slot, count,
                                            GC_HAS_VALUES && (flags & GC_SLOT_VALUE))
                    : gc__root_gather_other(roots->heap, (gc_word *)slot, count, flags);
    if (!ok) roots->failed = true;
}

/* A native stack that is scanned conservatively, from the stack pointer to `base`. */
typedef struct gc__stack_scan {
    gc_visitor *visitor;
    const uintptr_t *registers;
    const char *base;
} gc__stack_scan;

GC__HOT void gc__stack_word(gc__stack_scan *scan, uintptr_t word) {
    if (gc__in_arena(word) || (GC_HAS_VALUES && gc__in_arena(gc__slot_decode(word, true))))
        gc_visit(scan->visitor, &word, 1, GC_SLOT_CONSERVATIVE);
}

/* The scan reads whole stack frames, redzones included, which AddressSanitizer would report; and frames of a thread in
   preemptive mode, whose native code may be writing to variables that are no references, which ThreadSanitizer would
   report. */
__attribute__((no_sanitize("address", "thread"))) GC__FN void gc__stack_visit(gc__stack_scan *scan,
                                                                              char *stack_pointer) {
    for (int i = 0; i < GC__SAVED_STACK_POINTER; i++) gc__stack_word(scan, scan->registers[i]);
    for (char *at = stack_pointer; at + 8 <= scan->base; at += 8) {
        gc__stack_word(scan, *(gc_word *)(void *)at);
    }
}

GC__FN void gc__code_visit_all(gc_heap *heap, const gc_stack *stack, struct gc_code_frame *innermost,
                               gc_visitor *visitor) {
    if (!innermost) return;
    heap->threads->root_kind = "compiled frame";
    gc__compiled->visit(heap, stack, innermost, visitor);
}

/* The roots of a stack that does not run. */
GC__FN void gc__stack_visit_left(gc_heap *heap, const gc_stack *stack, bool conservative, gc_visitor *visitor) {
    gc__stack_scan scan = {visitor, stack->registers, stack->base};
    if (stack->thread && stack->thread->stack == stack) return;
    gc__frames_visit(heap, stack->frames, visitor, stack, stack->stack_pointer, NULL);
    gc__code_visit_all(heap, stack, stack->code, visitor);
    heap->threads->root_kind = "native stack";
    if (conservative && stack->base && stack->stack_pointer) gc__stack_visit(&scan, stack->stack_pointer);
}

/* Has the host report roots, and notes which of those that were gathered are its own. Without memory for that a reader in
   another process knows less. `thread` NULL: none is attached. */
GC__FN void gc__host_roots_visit(gc_heap *heap, gc_thread *thread, gc_visitor *visitor) {
    gc__cycle *cycle = heap->cycle;
    size_t first = cycle->roots.count;
    if (!heap->options.scan_roots) return;
    heap->threads->root_kind = "scan_roots callback";
    heap->options.scan_roots(heap->options.host, thread, visitor);
    if (cycle->roots.count == first || !gc__words_reserve(&cycle->reported, cycle->reported.count + 2)) return;
    gc__words_push(&cycle->reported, first);
    gc__words_push(&cycle->reported, cycle->roots.count);
}

GC__FN void gc__thread_visit(gc_heap *heap, gc_thread *thread, gc_visitor *visitor) {
    bool self = thread == gc__thread_self(heap),
         parked = __atomic_load_n(&gc__record(thread)->parked, __ATOMIC_RELAXED);
    bool native = !self && !parked && !gc__is_cooperative(thread);
    uintptr_t mine[GC__SAVED_REGISTERS] = {0};
    if (self) gc__save_registers(mine);
    gc__stack_scan scan = {visitor, self ? mine : thread->registers, gc__record(thread)->stack_base};
    char *stack_pointer = self ? (char *)mine[GC__SAVED_STACK_POINTER] : gc__record(thread)->stack_pointer;
    gc__frames_visit(heap, thread->frames, visitor, thread->stack, stack_pointer, native ? thread : NULL);
    gc__code_visit_all(heap, thread->stack, thread->code, visitor);
    heap->threads->root_kind = "native stack";
    if (gc__record(thread)->conservative || thread->stack->conservative) gc__stack_visit(&scan, stack_pointer);
    gc__stack_visit_left(heap, &gc__record(thread)->own_stack, gc__record(thread)->conservative, visitor);
    gc__host_roots_visit(heap, thread, visitor);
}

/* Calls the visitor for the roots of the heap that are no thread's, but for handles and queued finalizers. */
GC__HOT void gc__roots_visit_shared(gc_heap *heap, gc_visitor *visitor) {
    gc__lock_take(&heap->threads->roots_lock);
    for (const gc_stack *stack = heap->threads->stacks; stack; stack = stack->next)
        gc__stack_visit_left(heap, stack, stack->conservative, visitor);
    gc__lock_release(&heap->threads->roots_lock);
    if (!heap->threads->first) gc__host_roots_visit(heap, NULL, visitor);
    heap->threads->root_kind = "global slot";
    const gc__words *globals = &heap->collector->globals;
    gc__lock_take(&heap->threads->roots_lock);
    for (size_t i = 0; i < globals->count; i += 3)
        gc_visit(visitor, (void *)globals->words[i], globals->words[i + 1], (unsigned)globals->words[i + 2]);
    gc__lock_release(&heap->threads->roots_lock);
    heap->threads->root_kind = NULL;
}

/* Calls the visitor for every root of the heap but handles and queued finalizers.
   heap->threads->root_kind and root_site show meanwhile what reports the root. */
GC__HOT void gc__roots_visit(gc_heap *heap, gc_visitor *visitor) {
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        gc__thread_visit(heap, thread, visitor);
    gc__roots_visit_shared(heap, visitor);
}

GC_API gc_result gc_roots_add(gc_heap *heap, void *slots, size_t count, unsigned flags) {
    GC__API_SCOPE("gc_roots_add");
    if (gc__is_null(heap, "gc_roots_add", "heap") || (count && gc__is_null(slots, "gc_roots_add", "slots")))
        return GC_ERROR_ARGUMENT;
    if ((uintptr_t)slots & 7)
        return gc__fail(GC_ERROR_MISUSE, "gc_roots_add: the slots at %p are not 8-byte aligned", slots);
    if (count > (UINTPTR_MAX - (uintptr_t)slots) / sizeof(gc_word))
        return gc__fail(GC_ERROR_MISUSE,
                        "gc_roots_add: %zu slots at %p would reach beyond the end of memory: give the number of slots, which "
                        "is not their size in bytes, and cannot be negative",
                        count, slots);
    gc__lock_take(&heap->threads->roots_lock);
    bool reserved = gc__words_reserve(&heap->collector->globals, heap->collector->globals.count + 3);
    if (reserved) {
        gc__words_push(&heap->collector->globals, (uintptr_t)slots);
        gc__words_push(&heap->collector->globals, count);
        gc__words_push(&heap->collector->globals, flags);
    }
    gc__lock_release(&heap->threads->roots_lock);
    if (reserved) return GC_OK;
    return gc__fail(GC_ERROR_MEMORY, "gc_roots_add: the system gives no memory for the list of global roots");
}

GC__FN bool gc__roots_remove(gc__words *globals, uintptr_t slots) {
    for (size_t i = globals->count; i > 0; i -= 3) {
        uintptr_t *entry = &globals->words[i - 3];
        if (entry[0] != slots) continue;
        memmove(entry, entry + 3, (globals->count - i) * sizeof *entry);
        globals->count -= 3;
        return true;
    }
    return false;
}

GC_API gc_result gc_roots_remove(gc_heap *heap, void *slots) {
    GC__API_SCOPE("gc_roots_remove");
    if (gc__is_null(heap, "gc_roots_remove", "heap")) return GC_ERROR_ARGUMENT;
    gc__lock_take(&heap->threads->roots_lock);
    bool found = gc__roots_remove(&heap->collector->globals, (uintptr_t)slots);
    gc__lock_release(&heap->threads->roots_lock);
    if (found) return GC_OK;
    return gc__fail(GC_ERROR_MISUSE, "gc_roots_remove: no roots were added at %p", slots);
}
/* Suspects: condemned objects that conservative words found. Their mark bits are set before the trace, for they must stay;
   but they are scanned only when a reference reaches them, or when everything else has been traced. What is then still
   unreached is kept by conservative words alone, and so is what only it leads to: statistics count both.

   heap->cycle->suspects maps each to whether it was reached. */


/* Empties the map and makes room for every conservative pin. False: no memory. */
GC__HOT bool gc__ambiguous_reserve(gc_heap *heap) {
    size_t found = 0;
    for (size_t i = 0; i < heap->cycle->pins.count; i++) found += heap->cycle->pins.words[i] & GC__PIN_CONSERVATIVE;
    gc__map_reset(&heap->cycle->ambiguous);
    return !found || gc__map_reserve(&heap->cycle->ambiguous, found);
}
/* The trace: from the roots and dirty cards to everything reachable in condemned regions.

   A slot found is prefetched into a small FIFO and processed some slots later, when its referent has reached the cache.
   Processing marks or copies the referent and pushes it, unless it has no references, on the mark stack. The depth of
   the C stack never depends on the data. If the mark stack cannot grow, the object's region is noted as overflowed, and
   its marked objects are scanned again at the end: scanning is idempotent.

   The functions of the trace are written once and compiled twice. Their argument `many` is a constant: false where one
   worker runs, and no atomic instruction is needed; true where several may run at once. */


#define GC__FIFO 32     /* slots between prefetch and use; a power of two */
#define GC__CARD_FIFO 4 /* the same for dirty cards, and for dirty bundles */
#define GC__CHUNK 32    /* elements of an array that are scanned at a time */
#define GC__SMALL_MARK_STACK 64
/* Tags of mark stack entries. A part of an array is an end and an index, both * 4 + NUMBER, and above them the array | CONTINUED.
   So a stack can be read from its bottom, too. */
#define GC__CONTINUED 1
#define GC__NUMBER 2

/* Slots of older objects are scanned: keep their cards dirty as needed. */
#define GC__EDGES_REMEMBER 1
/* Generation 2 is being marked beside mutators: note its objects; also those that slots of older objects refer to. */
#define GC__EDGES_SHADE 2
#define GC__EDGES_SHADE_CARDS 4
/* Note slots of old objects that refer to leaving regions. */
#define GC__EDGES_CANDIDATE 8

/* What is done if the slots' object may be dead. */
GC__FN uint8_t gc__edges_of_dead(uint8_t edges) { return GC__EDGES_REMEMBER | (edges & GC__EDGES_CANDIDATE); }

/* The parts of the arena in which several workers count what they mark. */
#define GC__STRIPE_SHIFT (GC_REGION_SHIFT < 16 ? GC_REGION_SHIFT : 16)

struct gc__workers;

/* What each worker of a collection has to itself. What the collection has once is in gc__cycle. */
typedef struct gc__worker {
    gc_visitor visitor; /* for trace functions */
    gc_heap *heap;
    gc__cycle *cycle;
    const uint8_t *verdicts;
    gc_window windows[GC_GENERATIONS]; /* where it copies survivors to */
    uintptr_t fifo[GC__FIFO];          /* slot | 1 if a tagged value; a ring */
    size_t fifo_next, fifo_drained;    /* counts up; what it was when nothing was in the ring. It may be empty otherwise */
    uintptr_t *stack, *top, *limit;    /* the mark stack: its start, its end, and the end of its memory */
    gc__words *memory;                 /* that memory. `stack` lies above its start where others took entries */
    uintptr_t cards[GC__CARD_FIFO], bundles[GC__CARD_FIFO];
    unsigned cards_next, bundles_next;
    bool remember_all; /* objects may survive in different generations: slots of those may need cards, too */
    uint8_t edges;    /* what is done with slots whose referents are not condemned: GC__EDGES_* */
    bool overflowed;
    bool whole_stacks; /* slots of stacks were refused, and not listed: where they are scanned again, from the base on */
    const gc__map *ambiguous; /* objects that only conservative words found; NULL: none */
    const gc__map
        *awaited;     /* objects that dependent handles wait for: a reached one's number goes to `found`; NULL: none */
    gc__words *found; /* has room for all of them */
    size_t copied_bytes[GC_GENERATIONS];
    uint64_t mark_stack_overflows, evacuation_failures, trace_calls;

    struct gc__workers *workers;                /* where several workers run; NULL: one */
    unsigned number;                      /* 0: the worker of the thread that collects */
    unsigned until_poll;                  /* objects until it looks at what the crew needs */
    bool exclusive;                           /* no other worker has anything, or finds anything until this one shares it */
    unsigned listed;                      /* regions whose holes this collection has listed */
    gc__region *searched[GC_GENERATIONS]; /* only this worker fills the region's holes in this collection */
    size_t *live;                         /* bytes that it has marked, by address >> GC__STRIPE_SHIFT */
    uint64_t *own_marks;                  /* what it has marked, as the arena's marks; NULL: it marks by locked instructions */
    uint64_t lost;                        /* copies that another worker had made first */
} gc__worker;

GC__FN bool gc__worker_remembers(const gc__worker *worker) { return worker->edges & GC__EDGES_REMEMBER; }
GC__FN void gc__worker_remember(gc__worker *worker, bool remember) {
    worker->edges = (uint8_t)((worker->edges & ~GC__EDGES_REMEMBER) | (remember ? GC__EDGES_REMEMBER : 0));
}

GC__OUT_OF_LINE void gc__slot_dirty(const void *slot, unsigned ranks) {
    if (gc__ranks_need_card(ranks)) gc_barrier_dirty_card(&gc__tables, slot);
}

GC__INLINED void gc__slot_remember(const void *slot, uintptr_t ref) {
    unsigned ranks = gc_barrier_ranks(&gc__tables, slot, (const void *)ref);
    if (GC__UNLIKELY(ranks > 2)) gc__slot_dirty(slot, ranks);
}

/* Notes that an object could not be pushed: its region is scanned again at the end. */
GC__FN void gc__trace_overflow(gc__worker *worker, uintptr_t object) {
    __atomic_store_n(&gc__region_of(object)->overflowed, true, __ATOMIC_RELAXED);
    worker->overflowed = true;
    worker->mark_stack_overflows++;
}

/* Makes room for some more words on the mark stack, if there is memory. */
GC__OUT_OF_LINE bool gc__trace_stack_grow(gc__worker *worker) {
    gc__words *memory = worker->memory;
    bool small = worker->heap->options.test_scarce_memory;
    size_t count = (size_t)(worker->top - worker->stack);
    if (worker->stack && worker->stack != memory->words)
        memmove(memory->words, worker->stack, count * sizeof *memory->words);
    size_t capacity = worker->stack ? count + (memory->capacity >> 2) + 1 : GC__SMALL_MARK_STACK;
    if (worker->stack && small) capacity = memory->capacity;
    bool reserved = gc__words_reserve(memory, capacity);
    if (!memory->capacity) return false;
    worker->stack = memory->words;
    worker->top = worker->stack + count;
    worker->limit = worker->stack + (small ? GC__SMALL_MARK_STACK : memory->capacity);
    return reserved && worker->limit - worker->top >= 3;
}

GC__FN bool gc__trace_stack_room(gc__worker *worker, size_t words) {
    return GC__LIKELY((size_t)(worker->limit - worker->top) >= words) || gc__trace_stack_grow(worker);
}

GC__OUT_OF_LINE void gc__trace_push_slow(gc__worker *worker, uintptr_t object) {
    if (gc__trace_stack_grow(worker))
        *worker->top++ = object;
    else
        gc__trace_overflow(worker, object);
}

GC__INLINED void gc__trace_push(gc__worker *worker, uintptr_t object) {
    if (GC__LIKELY(worker->top != worker->limit))
        *worker->top++ = object;
    else
        gc__trace_push_slow(worker, object);
}
/* The crew: several workers of one collection, how they share work, and when they are done.

   Each worker has a mark stack of its own. What is for all lies in a few shared pieces under one lock: a worker that holds
   much gives half of it away, but only while others wait for work. So the lock is taken seldom, and everything
   that says whether the collection is done is under it: *a worker is busy while it may hold work, it becomes busy and
   stops being so under the lock, and what it gives away it gives while it is busy. Hence if none is busy and nothing is
   shared, nothing is left.*

   Threads that wait sleep, each on a word of its own; they are the same to the crew between collections and within one.
   Nobody wakes them before there is something to share, so a collection wakes as many as its work can use. */


#define GC__WORKERS_MAX 32      /* workers */
#define GC__SHARED_WORDS 128 /* of a mark stack, in a piece that is shared */
#define GC__SHARED_PACKETS 16
#define GC__POLL 64 /* objects between two looks at what the crew needs, at first */
#define GC__POLL_MAX 4096
#define GC__OWN_MARKS_MAX 4     /* workers, if each is to have marks of its own */
#define GC__SEED_LOCKED 2       /* tests: a bit of the seed: none has */
#define GC__FOR_HOST 64         /* objects handed over at a time */
#define GC__WORKERS_LOCK_SPINS 100 /* polls before a thread sleeps that waits for the lock */
#define GC__WORKERS_SPIN_NS 20000  /* a worker that waits for work in a run polls so long before it sleeps */
#define GC__UNITS_PER_CALL 4    /* another worker is woken while there are so many units for each */

typedef struct gc__shared {
    size_t count;
    bool remember; /* as that of the worker who shared it */
    uintptr_t words[GC__SHARED_WORDS];
} gc__shared;

/* An object whose trace function only the thread that collects may call; of the object, [from, to), or all of it if `to` is
   0. */
typedef struct gc__for_host {
    uintptr_t object, from, to;
} gc__for_host;

/* What a thread of the crew has, and counts over all collections. */
typedef struct gc__worker_thread {
    gc__worker worker; /* written by the thread that collects, between runs */
    struct gc__workers *workers;
    unsigned number;
    gc__os_thread os_thread;
    gc__words stack;
    gc__words live, own_marks; /* the memory of the worker's: both begin with the arena */
    gc__words stale;           /* pieces of the arena for which own marks are left of an earlier run */
    size_t own_stripes;         /* those for which there were any since that memory was mapped, in each run */
    uint32_t woken;    /* changes when the member is woken; atomic */
    int called_from;   /* the processor of the thread that last woke it; lock */
    bool busy;         /* lock */
    uint32_t poll;     /* objects between its looks */
    uint32_t polled;   /* those of the present one */
    uint64_t taken_at; /* `objects` when it last took what others shared */
    gc__words refused; /* slots whose referents found no room: entries as in the FIFO */
    gc__words seen;    /* objects of generation 2 that it has met while that is being marked beside mutators */
    size_t for_host_count;
    gc__for_host for_host[GC__FOR_HOST];
    uint64_t objects, shared, steals, steps_asleep, asleep_ns;
    uint64_t bytes, lost; /* of collections that have ended */
    uint64_t cpu_ns;      /* of a thread other than the one that collects, when it last went to sleep; atomic */
} gc__worker_thread;

typedef struct gc__workers {
    gc__lock lock;  /* guards what follows, unless it says otherwise. Leaf */
    gc__lock space; /* guards taking regions, while several workers run; before the barrier lock */
    gc_heap *heap;
    void (*job)(void *context, size_t unit); /* what a run does with its units; NULL: it traces */
    void *job_context;
    unsigned count; /* members, the thread that collects included */
    unsigned most;  /* so many of them work, at most: processors may have been taken away */
    bool fits;      /* atomic: each of them may have a processor to itself, so those that wait poll for a while */
    unsigned busy;
    uint32_t asleep;         /* bits of members that wait */
    uint32_t called;         /* bits of those that are woken when the lock is released */
    bool runs;               /* there is a trace to share in */
    bool remember_all;       /* that of workers which hold nothing that cards have led to */
    bool ending;             /* atomic, too */
    bool rests;              /* atomic: no run is to come in the collection, so that polling for one is in vain */
    uint32_t stop;           /* atomic: the trace goes on with one worker */
    uint32_t idle;         /* atomic: more members wait than pieces are shared */
    size_t next_unit, units; /* of roots and cards; the first is atomic, the second written between runs */
    size_t shared_count;
    gc__shared shared[GC__SHARED_PACKETS];
    gc__words for_host;                        /* triples, as in gc__for_host */
    gc__words cards;                           /* dirty cards that were cleaned, to be scanned by any worker */
    size_t root_units, card_units, slot_units; /* of the run's work: these come in this order */
    bool forked;                               /* the process is a child, without the other threads */
    uint32_t seed;     /* tests: members run one at a time, in an order that follows from it; 0: all at once */
    uint32_t random;   /* of that order */
    uint32_t turn;     /* whose turn it is; atomic */
    uint64_t steps;    /* rounds of turns */
    uint64_t began_ns; /* when the last run began; atomic */
    uint64_t traces;   /* that the crew took part in */
    gc__worker_thread threads[GC__WORKERS_MAX];
} gc__workers;

GC__FN uint32_t gc__workers_random(gc__workers *workers) {
    workers->random ^= workers->random << 13;
    workers->random ^= workers->random >> 17;
    return workers->random ^= workers->random << 5;
}

/* The lock is held for less time than a thread takes to sleep and be woken. */
GC__FN void gc__workers_lock(gc__workers *workers) {
    unsigned spins = __atomic_load_n(&workers->fits, __ATOMIC_RELAXED) ? GC__WORKERS_LOCK_SPINS : 0;
    for (; spins; spins--) {
        if (gc__lock_is_free(&workers->lock) && gc__lock_try(&workers->lock)) return;
        gc__cpu_pause();
    }
    gc__lock_take(&workers->lock);
}

/* About how much memory own marks take; gives it back, between runs. */
GC__FN size_t gc__own_marks_bytes(const gc__worker_thread *thread) {
    return gc__min(thread->own_stripes << (GC__STRIPE_SHIFT - 6), thread->own_marks.capacity * sizeof(uint64_t));
}
GC__FN void gc__own_marks_free(gc__worker_thread *thread) {
    gc__words_free(&thread->own_marks);
    thread->stale.count = thread->own_stripes = 0;
}

/* Lock held from here on, unless a comment says otherwise. */

/* The members that wait and may work. */
GC__FN uint32_t gc__workers_waiting(const gc__workers *workers) {
    return workers->asleep & (uint32_t)(((uint64_t)1 << workers->most) - 1);
}

/* Says how many members there are, and how many of them may work. */
GC__FN void gc__workers_resize(gc__workers *workers, unsigned count, unsigned most) {
    workers->count = count;
    workers->most = most;
    __atomic_store_n(&workers->fits, gc__min(count, most) <= workers->heap->threads->processors, __ATOMIC_RELAXED);
}

GC__FN void gc__workers_count_idle(gc__workers *workers) {
    unsigned asleep = (unsigned)__builtin_popcount(gc__workers_waiting(workers));
    __atomic_store_n(&workers->idle, (uint32_t)(asleep > workers->shared_count), __ATOMIC_RELAXED);
}

/* Releases the lock, and wakes those that were called meanwhile. */
GC__OUT_OF_LINE void gc__workers_unlock(gc__workers *workers) {
    uint32_t called = workers->called;
    workers->called = 0;
    gc__lock_release(&workers->lock);
    for (; called; called &= called - 1) gc__os_wake(&workers->threads[__builtin_ctz(called)].woken);
}

/* Wakes a member that sleeps. */
GC__FN void gc__workers_wake(gc__workers *workers, unsigned number) {
    workers->asleep &= ~(1u << number);
    gc__workers_count_idle(workers);
    if (workers->seed) return; /* its turn will come */
    workers->threads[number].called_from = gc__os_processor();
    __atomic_fetch_add(&workers->threads[number].woken, 1, __ATOMIC_SEQ_CST);
    workers->called |= 1u << number;
}

GC__FN void gc__workers_wake_one(gc__workers *workers) {
    uint32_t waiting = gc__workers_waiting(workers);
    if (waiting && !workers->forked) gc__workers_wake(workers, (unsigned)__builtin_ctz(waiting));
}

/* With a seed: chooses whose turn is next, among those that do not sleep. */
GC__FN unsigned gc__workers_turn_after(gc__workers *workers, unsigned number) {
    unsigned next = number;
    do {
        next = (next + 1) % workers->count;
        if (!next) {
            workers->steps++;
            for (unsigned i = 0; i < workers->count; i++) workers->threads[i].steps_asleep += workers->asleep >> i & 1;
        }
    } while (workers->asleep >> next & 1 && next != number);
    return next;
}

/* Not under the lock. */
GC__FN void gc__workers_await_turn(gc__workers *workers, unsigned number) {
    gc__worker_thread *thread = &workers->threads[number];
    for (;;) {
        uint32_t woken = __atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&workers->turn, __ATOMIC_SEQ_CST) == number) return;
        if (__atomic_load_n(&workers->ending, __ATOMIC_SEQ_CST)) return;
        gc__os_wait_for(&thread->woken, woken, 1000 * GC__NS_PER_MS);
    }
}

/* Gives the turn to another member, and waits for the next. Leaves and takes the lock. */
GC__FN void gc__workers_pass_turn(gc__workers *workers, unsigned number) {
    unsigned next = gc__workers_turn_after(workers, number);
    if (next == number && !(workers->asleep >> number & 1)) return;
    __atomic_store_n(&workers->turn, next, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&workers->threads[next].woken, 1, __ATOMIC_SEQ_CST);
    workers->called |= 1u << next;
    gc__workers_unlock(workers);
    gc__workers_await_turn(workers, number);
    gc__workers_lock(workers);
}

/* Waits, outside of the lock, until the member has been woken since `woken` was read. Polls first, `polls_ns` from `start_ns` on.

   A thread that is woken on the processor of the one that woke it would have that wait, and both go on in turns. Systems do that
   which are guests: an idle processor is not theirs until it is woken. So the thread leaves; one of the host stays. */
GC__FN void gc__worker_thread_wait(gc__worker_thread *thread, uint32_t woken, uint64_t start_ns, uint64_t polls_ns) {
    while (!gc__ns_passed(gc__os_now_ns(), start_ns, polls_ns) && !__atomic_load_n(&thread->workers->rests, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 16; i++) gc__cpu_pause();
        if (__atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST) != woken) return;
    }
    if (thread->number) __atomic_store_n(&thread->cpu_ns, gc__os_cpu_ns(), __ATOMIC_RELAXED);
    while (__atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST) == woken)
        gc__os_wait_for(&thread->woken, woken, 60000 * GC__NS_PER_MS);
    if (thread->number && __atomic_load_n(&thread->workers->fits, __ATOMIC_RELAXED) &&
        gc__os_processor() == thread->called_from)
        gc__os_leave_processor(&thread->os_thread, thread->called_from);
}

/* Waits until the member is woken. Leaves and takes the lock. */
GC__FN void gc__workers_sleep(gc__workers *workers, unsigned number) {
    gc__worker_thread *thread = &workers->threads[number];
    uint32_t woken = __atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST);
    bool polls = workers->runs && workers->fits;
    workers->asleep |= 1u << number;
    gc__workers_count_idle(workers);
    if (workers->seed) {
        gc__workers_pass_turn(workers, number);
        return;
    }
    gc__workers_unlock(workers);
    uint64_t start = gc__os_now_ns();
    gc__worker_thread_wait(thread, woken, start, polls ? GC__WORKERS_SPIN_NS : 0);
    uint64_t woke = gc__os_now_ns();
    start =
        gc__max(start, __atomic_load_n(&workers->began_ns, __ATOMIC_RELAXED)); /* to wait between runs is not to be idle */
    gc__workers_lock(workers);
    thread->asleep_ns += gc__ns_since(woke, start);
}

/* The CPU time of all threads but the one that collects. */
GC__FN uint64_t gc__workers_cpu_ns(const gc__workers *workers) {
    uint64_t sum = 0;
    for (unsigned i = 1; workers && i < workers->count; i++)
        sum += __atomic_load_n(&workers->threads[i].cpu_ns, __ATOMIC_RELAXED);
    return sum;
}

/* Puts an entry of a mark stack on this worker's. */
GC__FN void gc__workers_push(gc__worker *worker, const uintptr_t *entry, size_t words) {
    if (gc__trace_stack_room(worker, words)) {
        for (size_t i = 0; i < words; i++) *worker->top++ = entry[i];
    } else {
        gc__trace_overflow(worker, entry[words - 1] & ~(uintptr_t)GC__CONTINUED);
    }
}

/* The words of the entry that begins there, from the bottom of a stack. */
GC__FN size_t gc__entry_words(const uintptr_t *entry) { return *entry & GC__NUMBER ? 3 : 1; }

/* From now on the worker's slots may be those of older objects, found by dirty cards, and may need these again; or they are
   not. Before it stops remembering, its stack and its FIFO must be empty. */
GC__FN void gc__workers_remember(gc__worker *worker, bool remember) {
    gc__worker_remember(worker, remember);
    worker->remember_all = remember || worker->workers->remember_all;
}

/* Takes a piece that others have shared. */
GC__FN bool gc__workers_take_packet(gc__workers *workers, gc__worker *worker) {
    if (!workers->shared_count) return false;
    const gc__shared *piece = &workers->shared[--workers->shared_count];
    gc__workers_remember(worker, piece->remember);
    for (size_t i = 0; i < piece->count; i += gc__entry_words(&piece->words[i]))
        gc__workers_push(worker, &piece->words[i], gc__entry_words(&piece->words[i]));
    gc__workers_count_idle(workers);
    gc__worker_thread *thread = &workers->threads[worker->number];
    thread->taken_at = thread->objects;
    thread->steals++;
    return true;
}

/* The thread that collects takes objects whose trace functions it is to call. */
GC__FN bool gc__workers_take_for_host(gc__workers *workers, const gc__worker *worker) {
    gc__worker_thread *thread = &workers->threads[worker->number];
    if (worker->number || !workers->for_host.count) return false;
    while (workers->for_host.count && thread->for_host_count < GC__FOR_HOST) {
        const uintptr_t *words = &workers->for_host.words[workers->for_host.count -= 3];
        const gc__for_host item = {words[0], words[1], words[2]};
        thread->for_host[thread->for_host_count++] = item;
    }
    return true;
}

GC__FN bool gc__workers_units_left(const gc__workers *workers) {
    return __atomic_load_n(&workers->next_unit, __ATOMIC_RELAXED) < workers->units;
}

/* While a worker is alone nobody finds work. */
GC__FN void gc__workers_check(const gc__workers *workers, unsigned number) {
    for (unsigned i = 0; i < workers->count; i++)
        if (i != number && workers->threads[i].busy && workers->threads[i].worker.exclusive)
            gc__fatal(&workers->heap->options, "collector thread %u has found work beside %u, which claims as if alone",
                      number, i);
}

/* Looks for work. A worker that finds some is busy from now on. A thread looks when it starts, too, even if it may not work. */
GC__FN bool gc__workers_find(gc__workers *workers, gc__worker *worker) {
    if (!workers->runs || worker->number >= workers->most || __atomic_load_n(&workers->stop, __ATOMIC_RELAXED)) return false;
    bool found = gc__workers_take_for_host(workers, worker) || gc__workers_units_left(workers) ||
                 gc__workers_take_packet(workers, worker);
    if (found) workers->threads[worker->number].busy = true;
    if (GC_DEBUG >= 3 && found) gc__workers_check(workers, worker->number);
    workers->busy += found;
    return found;
}

/* The worker has nothing left. If it had little since it last took something, workers share less often from now on:
   what they share is worth less than waking somebody for it. */
GC__FN void gc__workers_go_idle(gc__workers *workers, gc__worker_thread *thread) {
    if (!thread->busy) return;
    thread->busy = false;
    workers->busy--;
    if (!workers->busy && workers->asleep & 1) gc__workers_wake(workers, 0); /* the run is over */
    if (!thread->number) return;
    uint64_t had = thread->objects - thread->taken_at;
    for (unsigned i = 0; i < workers->count; i++) {
        uint32_t poll = __atomic_load_n(&workers->threads[i].poll, __ATOMIC_RELAXED);
        poll = had < 8 * GC__POLL ? poll * 2 : poll / 2;
        poll = poll < GC__POLL ? GC__POLL : poll > GC__POLL_MAX ? GC__POLL_MAX : poll;
        __atomic_store_n(&workers->threads[i].poll, poll, __ATOMIC_RELAXED);
    }
}

/* The rest is called without the lock. */

/* Waits for work, and takes it. False: there is no more; for other workers than the first, in any collection. */
GC__FN bool gc__workers_next(gc__worker_thread *thread) {
    gc__workers *workers = thread->workers;
    bool found;
    gc__workers_lock(workers);
    gc__workers_go_idle(workers, thread);
    while (!(found = gc__workers_find(workers, &thread->worker)) && (thread->number ? !workers->ending : workers->busy != 0))
        gc__workers_sleep(workers, thread->number);
    gc__workers_unlock(workers);
    return found;
}

/* Hands over objects whose trace functions this worker may not call. */
GC__FN void gc__workers_give_host(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    gc__worker_thread *thread = &workers->threads[worker->number];
    if (!worker->number || !thread->for_host_count) return;
    gc__workers_lock(workers);
    worker->exclusive = false;
    for (; thread->for_host_count; thread->for_host_count--) {
        const gc__for_host *item = &thread->for_host[thread->for_host_count - 1];
        if (!gc__words_reserve(&workers->for_host, workers->for_host.count + 3)) {
            gc__trace_overflow(worker, item->object);
            continue;
        }
        gc__words_push(&workers->for_host, item->object);
        gc__words_push(&workers->for_host, item->from);
        gc__words_push(&workers->for_host, item->to);
    }
    if (workers->asleep & 1) gc__workers_wake(workers, 0);
    gc__workers_unlock(workers);
}

GC__OUT_OF_LINE void gc__workers_hand_over(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__worker_thread *thread = &worker->workers->threads[worker->number];
    const gc__for_host item = {object, from, to};
    if (thread->for_host_count == GC__FOR_HOST) gc__workers_give_host(worker);
    thread->for_host[thread->for_host_count++] = item;
}

/* Splits the rest of a long array between two entries. */
GC__FN bool gc__entry_halve(const uintptr_t *entry, uintptr_t *lower, uintptr_t *upper) {
    if (!(*entry & GC__NUMBER)) return false;
    size_t end = entry[0] >> 2, index = entry[1] >> 2, middle = index + (end - index) / 2;
    if (end - index < 2 * GC__CHUNK) return false;
    lower[0] = middle << 2 | GC__NUMBER;
    upper[0] = entry[0];
    lower[1] = entry[1];
    upper[1] = lower[0];
    lower[2] = upper[2] = entry[2];
    return true;
}

/* Moves every second entry of the older part of the stack into the piece, but not the newest; and of each long array the second
   half. What lies deeper in the stack mostly leads to more: so each has half of the large ones and half of the small. Were all
   of an array given away, who gives it would soon have nothing, and take it back. */
GC__FN void gc__workers_fill(gc__worker *worker, gc__shared *piece) {
    size_t words = (size_t)(worker->top - worker->stack), seen = 0, kept = 0, given = 0;
    uintptr_t keeps[GC__SHARED_WORDS], *from = worker->stack;
    bool give = true;
    piece->remember = gc__worker_remembers(worker);
    while (seen < words) {
        size_t entry = gc__entry_words(from + seen);
        if (given + entry > GC__SHARED_WORDS || kept + entry > GC__SHARED_WORDS) break;
        if (gc__entry_halve(from + seen, keeps + kept, piece->words + given)) {
            kept += entry;
            given += entry;
        } else {
            if (give && seen + entry == words) break;
            memcpy(give ? piece->words + given : keeps + kept, from + seen, entry * sizeof *from);
            *(give ? &given : &kept) += entry;
            give = !give;
        }
        seen += entry;
    }
    piece->count = given;
    worker->stack += seen - kept;
    memcpy(worker->stack, keeps, kept * sizeof *keeps);
}

/* A worker that has nothing to share is alone if no other one is busy and nothing is left to be found: what another one
   could find, this one must share first. */
GC__FN void gc__workers_look_exclusive(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (worker->exclusive) return;
    gc__workers_lock(workers);
    bool left = gc__workers_units_left(workers) || workers->shared_count || workers->for_host.count;
    worker->exclusive = workers->busy == 1 && !left;
    gc__workers_unlock(workers);
}

/* Shares work, if there is more than one entry, and calls a member for it. */
GC__FN void gc__workers_share(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (worker->top - worker->stack < 2) {
        gc__workers_look_exclusive(worker);
        return;
    }
    gc__workers_lock(workers);
    if (workers->shared_count < GC__SHARED_PACKETS && __atomic_load_n(&workers->idle, __ATOMIC_RELAXED)) {
        gc__workers_fill(worker, &workers->shared[workers->shared_count]);
        if (workers->shared[workers->shared_count].count) {
            workers->shared_count++;
            worker->exclusive = false;
            workers->threads[worker->number].shared++;
            gc__workers_wake_one(workers);
            gc__workers_count_idle(workers);
        }
    }
    gc__workers_unlock(workers);
}

/* Where a seed decides: lets others work. */
GC__FN void gc__workers_step(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (!workers || !workers->seed || !workers->runs) return;
    gc__workers_lock(workers);
    gc__workers_pass_turn(workers, worker->number);
    gc__workers_unlock(workers);
}

/* Called every so many objects. False: the worker must return, with what it holds. */
GC__OUT_OF_LINE bool gc__workers_poll(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    gc__worker_thread *thread = &workers->threads[worker->number];
    thread->objects += thread->polled;
    worker->until_poll = __atomic_load_n(&thread->poll, __ATOMIC_RELAXED);
    bool later = workers->seed && gc__workers_random(workers) % 2; /* others work before this one shares, or after that */
    if (!later) gc__workers_step(worker);
    if (workers->seed) worker->until_poll = 1 + gc__workers_random(workers) % 16;
    thread->polled = worker->until_poll;
    if (__atomic_load_n(&workers->stop, __ATOMIC_RELAXED)) {
        worker->until_poll = 1;
        return false;
    }
    if (__atomic_load_n(&workers->idle, __ATOMIC_RELAXED)) gc__workers_share(worker);
    if (later) gc__workers_step(worker);
    return true;
}

/* While many units are left: calls another member. */
GC__FN void gc__workers_call(gc__workers *workers) {
    if (!__atomic_load_n(&workers->idle, __ATOMIC_RELAXED)) return;
    size_t next = __atomic_load_n(&workers->next_unit, __ATOMIC_RELAXED);
    if (next + GC__UNITS_PER_CALL > workers->units) return;
    gc__workers_lock(workers);
    gc__workers_wake_one(workers);
    gc__workers_unlock(workers);
}

/* Claims the next unit of roots and cards. False: all are claimed. */
GC__FN bool gc__workers_claim_unit(gc__workers *workers, size_t *unit) {
    if (!gc__workers_units_left(workers)) return false;
    *unit = __atomic_fetch_add(&workers->next_unit, 1, __ATOMIC_RELAXED);
    return *unit < workers->units;
}

/* A run begins, with the first worker busy. */
GC__FN void gc__workers_begin(gc__workers *workers, size_t units) {
    gc__workers_lock(workers);
    workers->runs = true;
    workers->asleep &= ~1u;
    workers->busy = 1;
    workers->threads[0].busy = true;
    workers->units = units;
    workers->random = workers->seed;
    __atomic_store_n(&workers->next_unit, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&workers->stop, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&workers->turn, 0u, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < workers->count; i++) {
        workers->threads[i].polled = workers->threads[i].worker.until_poll = workers->seed ? 1 : GC__POLL;
        workers->threads[i].worker.exclusive = false;
    }
    __atomic_store_n(&workers->began_ns, gc__os_now_ns(), __ATOMIC_RELAXED);
    gc__workers_count_idle(workers);
    gc__workers_unlock(workers);
}

/* It has ended: no worker is busy. */
GC__FN void gc__workers_run_end(gc__workers *workers) {
    gc__workers_lock(workers);
    workers->runs = false;
    gc__workers_unlock(workers);
}

/* Stops the run, and waits until no other worker is busy. Called within a trace function of the thread that collects. */
GC__FN void gc__workers_stop(gc__workers *workers) {
    gc__workers_lock(workers);
    __atomic_store_n(&workers->stop, 1u, __ATOMIC_RELAXED);
    while (workers->runs && workers->busy > 1) {
        if (workers->seed) {
            gc__workers_pass_turn(workers, 0);
            continue;
        }
        gc__workers_unlock(workers);
        gc__os_wait_for(&workers->stop, 1, GC__NS_PER_MS / 10);
        gc__workers_lock(workers);
    }
    gc__workers_unlock(workers);
}
/* Remembered slots: in a heap that keeps to a goal for pauses, the slots of old objects to which young references are stored
   one at a time. A dirty card has its collection read all of the card; a remembered slot, one word.

   It costs a call for each store into an old object, so it is done only while it pays. Then each region of generation 2 has
   GC__AGE_REMEMBERS in its age, and the barrier calls gc__store_logged for each store there.

   Invariant, outside a collection: a slot whose age + its referent's youth exceeds 2 lies in a dirty card, or is in the list,
   even if its card is clean. The list may have a slot twice, or one that holds something else by now, or 0.

   A thread takes places one *piece* at a time, so that to fill one takes no atomic operation: that would wait until all stores
   before it have found their memory. */


#define GC__REMEMBERED_MOST ((size_t)1 << 16)
#define GC__REMEMBERED_CHUNK ((size_t)64) /* slots */

typedef struct gc__remembered {
    uintptr_t *slots; /* NULL until they are first remembered */
    size_t count;     /* of places that were taken, some of which may be 0; atomic */
    uint64_t epoch;  /* a number that no list has had before; another one when pieces are not their threads' any more. The
                         marker's log has the same */
    bool notes;       /* stores to old objects are noted; under the arena's lock */
    size_t enough;    /* places from which a collection is due, since more slots would take longer than its goal */
    size_t most;      /* the most that were ever in the list: they take memory */
    size_t found;     /* that the last collection has scanned */
    unsigned few;     /* collections in a row that found few, and few cards */
    bool again;       /* cards were dirtied for slots of objects with trace functions; atomic */
} gc__remembered;

/* These run in the middle of a barrier, on the mutator's registers: no vector may be touched, and nothing called that
   might do so, such as what sanitizers put in. */
#define GC__IN_BARRIER __attribute__((GC__KEEPS_VECTORS, no_instrument_function, no_sanitize("address", "thread", "undefined")))

static uint64_t gc__remembered_epochs; /* the last of them; atomic */

/* What the short way of GC__LOG_STORE_CALL goes by: while one heap of the process has its stores noted, a thread that has
   pieces of this period need not ask of which heap a slot is. */
typedef struct gc__store_logging {
    uint64_t epoch;   /* of that heap; 0: there is no short way; atomic */
    uintptr_t offset;  /* of a thread's gc__own_chunks from its thread pointer */
    uint8_t marks;     /* it is being marked; 2: and words may be tagged */
    uint8_t remembers; /* its slots are remembered */
    unsigned heaps;    /* whose stores are noted; under the arena's lock */
} gc__store_logging;

GC__VAR gc__store_logging gc__the_store_logging;

/* From now on threads take new pieces. The world is stopped. */
GC__FN void gc__remembered_renew(gc__remembered *remembered) {
    if (remembered->notes) __atomic_store_n(&gc__the_store_logging.epoch, 0, __ATOMIC_RELAXED); /* until the collection ends */
    remembered->epoch = __atomic_add_fetch(&gc__remembered_epochs, 1, __ATOMIC_RELAXED);
}

/* Takes a piece, whose other places are 0. NULL: there is no room. Any thread. */
GC__IN_BARRIER GC__FN uintptr_t *gc__remembered_take(gc__remembered *remembered) {
    if (__atomic_load_n(&remembered->count, __ATOMIC_RELAXED) >= GC__REMEMBERED_MOST) return NULL;
    size_t place = __atomic_fetch_add(&remembered->count, GC__REMEMBERED_CHUNK, __ATOMIC_RELAXED);
    if (place >= GC__REMEMBERED_MOST) return NULL;
    for (size_t i = 0; i < GC__REMEMBERED_CHUNK; i++)
        __atomic_store_n(&remembered->slots[place + i], (uintptr_t)0, __ATOMIC_RELAXED);
    return &remembered->slots[place];
}

#if defined(__PIC__) && !defined(__PIE__)
#define GC__CHUNKS_OWN 0 /* a function would be called to find what a thread has */
#else
#define GC__CHUNKS_OWN 1

/* What a thread has to itself: of the list of slots, and of what the marker's log has room for. GC__LOG_STORE_CALL knows it. */
typedef struct gc__own_chunks {
    uint64_t epoch;              /* of the heap's list */
    uintptr_t *slot, *slot_end;   /* the rest of a piece of the list; both NULL: none */
    uintptr_t *word, *word_short; /* the rest of a piece of the log; up to where there is room for two more, or NULL: words are
                                     looked at first */
    uintptr_t *word_end;
} gc__own_chunks;

/* Of no heap at first; nor is 0 of any, which gc__store_logging may have. The second ones are those that a thread in several heaps had
   before: else it would take new ones at each store. */
static __thread gc__own_chunks gc__my_chunks = {~(uint64_t)0, NULL, NULL, NULL, NULL, NULL};
static __thread gc__own_chunks gc__my_former_chunks = {~(uint64_t)0, NULL, NULL, NULL, NULL, NULL};

GC__IN_BARRIER GC__FN void gc__chunk_swap(uintptr_t **one, uintptr_t **other) {
    uintptr_t *place = *one;
    *one = *other;
    *other = place;
}

GC__IN_BARRIER GC__OUT_OF_LINE void gc__chunks_change(uint64_t period) {
    gc__own_chunks *mine = &gc__my_chunks, *former = &gc__my_former_chunks;
    bool known = former->epoch == period;
    former->epoch = mine->epoch;
    mine->epoch = period;
    gc__chunk_swap(&mine->slot, &former->slot);
    gc__chunk_swap(&mine->slot_end, &former->slot_end);
    gc__chunk_swap(&mine->word, &former->word);
    gc__chunk_swap(&mine->word_short, &former->word_short);
    gc__chunk_swap(&mine->word_end, &former->word_end);
    if (known) return;
    mine->slot = mine->slot_end = NULL;
    mine->word = mine->word_short = mine->word_end = NULL;
}

/* The thread's pieces of that heap's lists. */
GC__IN_BARRIER GC__FN gc__own_chunks *gc__chunks_of(const gc__remembered *remembered) {
    if (gc__my_chunks.epoch != remembered->epoch) gc__chunks_change(remembered->epoch);
    return &gc__my_chunks;
}
#endif

/* False: there is no room. Any thread; none is stopped meanwhile. */
GC__IN_BARRIER GC__FN bool gc__remember_slot(uintptr_t slot) {
    const gc_heap *heap = gc__the_arena.regions[(slot - gc__the_arena.base) >> GC_REGION_SHIFT].heap;
    gc__remembered *remembered = heap->remembered;
#if GC__CHUNKS_OWN
    gc__own_chunks *mine = gc__chunks_of(remembered);
    if (mine->slot == mine->slot_end) {
        uintptr_t *piece = gc__remembered_take(remembered);
        if (!piece) return false;
        mine->slot = piece;
        mine->slot_end = piece + GC__REMEMBERED_CHUNK;
    }
    __atomic_store_n(mine->slot++, slot, __ATOMIC_RELAXED);
#else
    if (__atomic_load_n(&remembered->count, __ATOMIC_RELAXED) >= GC__REMEMBERED_MOST) return false;
    size_t place = __atomic_fetch_add(&remembered->count, 1, __ATOMIC_RELAXED);
    if (place >= GC__REMEMBERED_MOST) return false;
    __atomic_store_n(&remembered->slots[place], slot, __ATOMIC_RELAXED);
#endif
    return true;
}

/* A collection ends, or the heap does: says which way the next stores take. The world is stopped. */
GC__FN void gc__store_logging_publish(gc_heap *heap, bool notes) {
    gc__store_logging *logging = &gc__the_store_logging;
    gc__lock_take(&gc__the_arena.lock);
    logging->heaps += (unsigned)notes - (unsigned)heap->remembered->notes;
    heap->remembered->notes = notes;
    if (logging->heaps != 1) __atomic_store_n(&logging->epoch, 0, __ATOMIC_RELAXED);
#if GC__CHUNKS_OWN
    if (logging->heaps == 1 && notes) {
        logging->marks = heap->marking ? (uint8_t)(GC_HAS_VALUES ? 2 : 1) : 0;
        logging->remembers = heap->remembers_slots;
        logging->offset = (uintptr_t)&gc__my_chunks - GC__THREAD_POINTER();
        __atomic_store_n(&logging->epoch, heap->remembered->epoch, __ATOMIC_RELAXED);
    }
#endif
    gc__lock_release(&gc__the_arena.lock);
}

/* The world is stopped. */
GC__FN size_t gc__remembered_count(const gc_heap *heap) { return gc__min(heap->remembered->count, GC__REMEMBERED_MOST); }

/* Whether so many slots are remembered that a collection is due. */
GC__FN bool gc__remembered_enough(const gc_heap *heap) {
    return __atomic_load_n(&heap->remembered->count, __ATOMIC_RELAXED) > heap->remembered->enough;
}

/* How many of those are slots. */
GC__HOT size_t gc__remembered_slots(const gc_heap *heap) {
    size_t places = gc__remembered_count(heap), count = 0;
    for (size_t i = 0; i < places; i++) count += heap->remembered->slots[i] != 0;
    return count;
}

/* The collection that runs has traced from all of them, or from the objects that they are in. */
GC__FN void gc__remembered_forget(gc_heap *heap) {
    if (!heap->remembered->slots) return;
    heap->remembered->found = gc__remembered_slots(heap);
    heap->remembered->most = gc__max(heap->remembered->most, gc__remembered_count(heap));
    heap->remembered->count = 0;
    gc__remembered_renew(heap->remembered);
    heap->pause.remembered_slots = heap->remembered->found;
    heap->stats.remembered_slots += heap->remembered->found;
}

GC__FN size_t gc__remembered_bytes(const gc__remembered *remembered) {
    return remembered->most * sizeof *remembered->slots;
}

/* Puts the slots in order, for gc__is_remembered. */
GC__FN void gc__remembered_sort(gc_heap *heap) {
    uintptr_t *slots = heap->remembered->slots;
    size_t count = gc__remembered_count(heap), gap = 1;
    if (count) gc__remembered_renew(heap->remembered); /* what is left of pieces is moved as well */
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap; gap /= 3)
        for (size_t i = gap; i < count; i++) {
            uintptr_t slot = slots[i];
            size_t at = i;
            for (; at >= gap && slots[at - gap] > slot; at -= gap) slots[at] = slots[at - gap];
            slots[at] = slot;
        }
}

/* Whether the slot is in the list, which is in order. */
GC__FN bool gc__is_remembered(const gc_heap *heap, uintptr_t slot) {
    const uintptr_t *slots = heap->remembered->slots;
    size_t from = 0, end = gc__remembered_count(heap);
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (slots[middle] == slot) return true;
        if (slots[middle] < slot)
            from = middle + 1;
        else
            end = middle;
    }
    return false;
}
/* What the marking of generation 2 beside mutators keeps, and how an object becomes known to it.

   An object is *white* until its bit in gc__next_marks is set, then *grey* until its slots were read. Grey objects are in
   one of four places: `grey`, the marker's stack; `log`, which barriers have found, and `seen`, which a collection has met or
   taken from there, where they may still be white; `waiting`, whose trace functions must not run beside mutators. An object for
   which there was no room is in none of them: its region is *unscanned*, and all marked objects there are scanned again; or,
   if the object should wait, the region is *unasked*, and they are scanned by the last collection. Where a collection has kept
   all objects as they were, the region is *unread*, and they are grey.

   Invariants while heap->marking: each region of generation 2 has GC__AGE_MARKING in its age, so each store into it comes
   here. What becomes generation 2 in a collection has been scanned by it or is unread, and it is marked. So at any time a
   white object to which a scanned one refers is grey by then, or about to be shaded by the thread that stores the reference.
   References from roots, young objects and waiting ones are looked at when the world is stopped for the last time. */


#define GC__MARK_BUFFER_WORDS ((size_t)1 << 18) /* objects that barriers may note between two collections */
#define GC__MARK_BUFFER_BLIND_MOST (GC__MARK_BUFFER_WORDS / 4) /* so many of them may be marked already, or be no objects; */
#define GC__MARK_BUFFER_BLIND_LEAST (GC__MARK_BUFFER_WORDS / 16) /* in a heap whose limit is low, that is so many */
#define GC__MARK_BUFFER_CHUNK 64              /* entries of the log, a power of two, which a thread fills in their order */
#define GC__MARK_BUFFER_CHUNKS (GC__MARK_BUFFER_WORDS / GC__MARK_BUFFER_CHUNK)
#define GC__MARK_BUFFER_BYTES ((GC__MARK_BUFFER_WORDS + GC__MARK_BUFFER_CHUNKS) * sizeof(uintptr_t))
#define GC__MARK_BUFFER_OPEN 16               /* pieces that are being filled, and to which the marker comes again */
#define GC__NEXT 8                      /* a power of two */
#define GC__TABLE_SLICE ((size_t)128)    /* bytes of a weak table */
#define GC__TABLE_WORDS ((size_t)1 << 16) /* with more words for pieces, whole tables are left to the last collection */
#define GC__UNSCANNED 1                 /* gc__region.unscanned: marked objects were not noted */
#define GC__UNCOUNTED 2                 /* nor were their bytes, or some have grown since */
#define GC__UNASKED 4                   /* marked objects with trace functions were not noted */
#define GC__UNREAD 8                    /* a collection has kept all objects there, which are marked and counted, as they were */
#define GC__UNSEEN (GC__UNSCANNED | GC__UNASKED | GC__UNREAD)

typedef struct gc__marker {
    gc__lock lock;  /* held by the thread that marks, and throughout collections */
    gc__words grey; /* objects; or the index of an element, and above it the array | GC__CONTINUED; or an object | GC__NUMBER,
                       of which all but what its trace function reports was scanned and counted */
    gc__words seen, waiting;
    char apart[64];  /* what mutators write is not in the same line of memory as what the marker does */
    uintptr_t *log;  /* the complements of words that may be white objects, or nothing; an entry is 0 until it was written */
    size_t logged;   /* entries that threads have taken to fill; atomic */
    size_t blind;    /* from so many entries on, barriers look before they note a word */
    char apart_too[64];
    size_t log_most;              /* the most entries that were ever used: they take memory */
    size_t taken;                 /* entries that the marker has taken, but for the rest of open pieces */
    size_t open[GC__MARK_BUFFER_OPEN];  /* the first entry of each of these that was not taken */
    unsigned open_count, left_count;
    size_t taken_words;                 /* words that were taken from the log since the last collection began */
    size_t *left;                 /* the same of pieces that are left to the next collection; behind the log */
    unsigned turns;               /* of the marker's; atomic */
    size_t marked_bytes, likely_bytes; /* that the marker has found alive in this cycle, atomic; that it is likely to find */
    size_t last_bytes, last_old_bytes; /* the former in the last cycle, and what generation 2 held then; 0: not known */
    size_t most_bytes;                /* what generation 2 may grow to */
    size_t began_growth, began_room;  /* how much it could grow when the cycle began, by that and by the limit */
    bool unscanned;               /* some region is; atomic */
    bool unasked;                 /* some region is */
    struct gc__handle_segment *precleaning; /* of which handles are looked at, from that clump on; NULL: of none */
    size_t preclean_from, preclean_passes; /* how many more such passes there may be */
    size_t stored, stored_before;      /* clumps that this pass, and the last one, has found stored to */
    bool preclean_again;            /* this one has shaded an object, so another one may find more */
    gc__words tables, pieces;     /* objects with weak entries; what is not settled of them: an object, and an address in it */
    size_t table_next, table_from; /* what is looked at next: an index there, and an offset in that object */
    size_t slice_next, slice_kept; /* of those that are looked at again */
    unsigned table_passes;        /* how many more such passes there may be */
    bool table_again;             /* the last one has shaded an object */
    size_t rescans;               /* the number of the region from which such ones are looked for; 0: not yet */
    gc__words slots;              /* of old objects, that refer to leaving regions */
    size_t slots_most;            /* how many are noted at most */
    gc__region *candidates_begin;    /* the first of the leaving regions, which follow one another in their list; NULL: none */
    gc__region *candidates_behind;   /* what they follow; NULL: they were all that there was */
    gc__words finalizer_grey;          /* the same as `grey` of reprieved objects */
    gc__words held;               /* those that the last collection scans */
    bool holds;                   /* the object that is being scanned is one of these */
    bool no_finalizer_marks, finalizer_marks; /* in this cycle nothing is reprieved any more; something is */
    uintptr_t fifo[GC__FIFO];     /* objects between the prefetch of their bits and its use */
    uintptr_t next[GC__NEXT];     /* grey objects between their prefetch and being scanned */
    unsigned fifo_next, next_next; /* count up */
    uint64_t began;               /* number of the collection that began it */
    unsigned switches;            /* how often the barrier had been switched then */
    size_t began_old_bytes;       /* what generation 2 held then */
    size_t grown_bytes;           /* by how much that grew during the last marking, or would have if nobody had waited */
    uint64_t began_ns, waited_ns; /* when it began; how long mutators have waited for it */
    unsigned starved;             /* waits one after the other in which it has done nothing */
    uint64_t late_ns;             /* by how much later than they had asked for they were woken lately */
    size_t provided, provided_end; /* regions below this number have memory for the marker's bits, and those below that should */
    bool done;                    /* nothing is left to scan but what waits for the last stop; atomic */
    gc_reason reason;             /* of that collection */
    bool gives_back;              /* memory is left to give back to the system; atomic */
    void (*rests)(gc_heap *);     /* called by the thread when it has rested for a while, and is done or is to give back */
    bool looks;                   /* it looks from time to time what free regions were taken; atomic */
    bool is_closing;              /* the heap is being destroyed: written under its lock */
    bool refused;                 /* the system gave no memory or no thread: not tried again */
    bool has_thread, is_ending;   /* the second is atomic */
    uint64_t cpu_ns;              /* of the thread; atomic */
    uint32_t awaited;             /* a mutator waits until the marking is done: atomic */
    size_t quantum_bytes;            /* of a nursery, after which a mutator waits for the marker */
    size_t undivided_bytes;       /* what follows after the part that is being spent */
    uint32_t wanted;              /* a collection waits for the lock: atomic */
    uint32_t turn;                /* changes when there may be something to do; atomic */
    gc__os_thread thread;
} gc__marker;

GC__FN uint64_t gc__marker_cpu_ns(const gc_heap *heap) { return __atomic_load_n(&heap->marker->cpu_ns, __ATOMIC_RELAXED); }

/* Objects of the region were marked, and are in no list. */
GC__IN_BARRIER GC__FN void gc__shade_left(gc__region *region, uint8_t flags) {
    __atomic_fetch_or(&region->unscanned, flags, __ATOMIC_RELEASE); /* after their bits */
    __atomic_store_n(&region->heap->marker->unscanned, true, __ATOMIC_RELEASE);
}
GC__IN_BARRIER GC__FN void gc__shade_unscanned(gc__region *region) {
    gc__shade_left(region, GC__UNSCANNED | GC__UNCOUNTED);
}

GC__IN_BARRIER GC__FN bool gc__shade_bit(const uint64_t *marks, uintptr_t word) {
    return __atomic_load_n(&marks[word >> 9], __ATOMIC_RELAXED) >> (word >> 3 & 63) & 1;
}

/* Whether a word that refers to generation 2 is an object. */
GC__IN_BARRIER GC__FN bool gc__shade_is_object(uintptr_t word) {
    const gc__region *region = &gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT];
    if (region->kind != GC__SMALL && (region->kind != GC__LARGE || word != region->base)) return false;
    return gc__shade_bit(gc__the_arena.marks, word);
}

/* There is no room in the log. */
GC__IN_BARRIER GC__OUT_OF_LINE void gc__shade_at_once(uintptr_t word) {
    uint64_t bit = (uint64_t)1 << (word >> 3 & 63);
    if (!gc__shade_is_object(word)) return;
    if (!(__atomic_fetch_or(&gc__next_marks[word >> 9], bit, __ATOMIC_RELAXED) & bit))
        gc__shade_unscanned(&gc__the_arena.regions[(word - gc__the_arena.base) >> GC_REGION_SHIFT]);
}

/* Appends the word to the log of that heap, of which it has the marker. Any thread. */
GC__IN_BARRIER GC__FN bool gc__mark_buffer_append(gc__marker *marker, const gc__remembered *remembered, uintptr_t word,
                                                  bool looked) {
#if GC__CHUNKS_OWN
    gc__own_chunks *mine = gc__chunks_of(remembered);
    if (mine->word == mine->word_end) {
        if (__atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= GC__MARK_BUFFER_WORDS) return false;
        size_t place = __atomic_fetch_add(&marker->logged, GC__MARK_BUFFER_CHUNK, __ATOMIC_RELAXED);
        if (place >= GC__MARK_BUFFER_WORDS) return false;
        mine->word = &marker->log[place];
        mine->word_end = mine->word + GC__MARK_BUFFER_CHUNK;
        mine->word_short = looked ? NULL : mine->word_end - 1;
    }
    __atomic_store_n(mine->word++, ~word, __ATOMIC_RELEASE);
#else
    (void)remembered, (void)looked;
    if (__atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= GC__MARK_BUFFER_WORDS) return false;
    size_t place = __atomic_fetch_add(&marker->logged, 1, __ATOMIC_RELAXED);
    if (place >= GC__MARK_BUFFER_WORDS) return false;
    __atomic_store_n(&marker->log[place], ~word, __ATOMIC_RELEASE);
#endif
    return true;
}

/* Makes the object grey if the word refers to a white one. Any thread. To look at the object and its bits is left to who takes
   the word from the log, since it means to wait for memory; but for its bit where many are noted, or nearly all are marked. */
GC__IN_BARRIER GC__FN void gc__shade_word(uintptr_t word) {
    uintptr_t offset = word - gc__the_arena.base;
    if (offset >= gc__the_arena.bytes || word & 7) return;
    if (!(__atomic_load_n(&gc__tables.age[word >> GC_REGION_SHIFT], __ATOMIC_RELAXED) & GC__AGE_MARKING)) return;
    const gc_heap *heap = gc__the_arena.regions[offset >> GC_REGION_SHIFT].heap;
    gc__marker *marker = heap->marker;
    bool looks = __atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= marker->blind ||
                 __atomic_load_n(&marker->done, __ATOMIC_RELAXED);
    if (looks && gc__shade_bit(gc__next_marks, word)) return;
    if (!gc__mark_buffer_append(marker, heap->remembered, word, looks)) gc__shade_at_once(word);
}

/* What is about to be overwritten is shaded, so that nothing can be hidden from the marker while it works; and what is about
   to be stored, so that nothing is hidden from the last stop, however it was found. */
GC__IN_BARRIER GC__FN void gc__shade_store(const void *slot, const void *ref) {
    uintptr_t old = __atomic_load_n((const gc_word *)slot, __ATOMIC_RELAXED);
    gc__shade_word(old);
#if GC_HAS_VALUES
    if (GC_VALUE_IS_REF(old)) gc__shade_word((uintptr_t)GC_VALUE_TO_REF(old));
#endif
    gc__shade_word((uintptr_t)ref);
}

static uintptr_t gc__stale_stored; /* stress: such a reference, which a store has come with; atomic */

/* The barrier of a slot whose age has GC_AGE_LOGGED. False: `ref` is stale, and reading it faults. */
GC__IN_BARRIER GC__FN bool gc__store_look(const void *slot, const void *ref) {
    uintptr_t place = (uintptr_t)slot;
    const uint8_t *ages = gc__tables.age, *stored = ages + ((uintptr_t)ref >> GC_REGION_SHIFT);
    unsigned age = __atomic_load_n(&ages[place >> GC_REGION_SHIFT], __ATOMIC_RELAXED), youth = *(stored - GC_RANK_ENTRIES);
    if (youth == GC__YOUTH_STALE) {
        __atomic_store_n(&gc__stale_stored, (uintptr_t)ref, __ATOMIC_RELAXED);
        return false;
    }
    if (age & GC__AGE_MARKING) gc__shade_store(slot, ref);
    unsigned ranks = (age & GC_AGE_GENERATION) + youth;
    bool candidate = __atomic_load_n(stored, __ATOMIC_RELAXED) & GC__AGE_CANDIDATE; /* the next collection notes the slot */
    if ((ranks <= 2 && !candidate) || (age & GC__AGE_REMEMBERS && gc__remember_slot(place))) return true;
    uint8_t *card = gc__tables.cards + (place >> GC_CARD_BYTE_SHIFT);
    uint8_t mask = (uint8_t)(GC_CARD_BITS ? 1u << ((place >> GC_CARD_SHIFT) & 7) : GC_CARD_DIRTY);
    if ((__atomic_load_n(card, __ATOMIC_RELAXED) & mask) == mask) return true;
    if (GC_CARD_BITS)
        __atomic_fetch_or(card, mask, __ATOMIC_RELAXED);
    else
        __atomic_store_n(card, mask, __ATOMIC_RELAXED);
    if (GC_BUNDLE_SHIFT)
        __atomic_store_n(&gc__tables.bundles[place >> GC_BUNDLE_SHIFT], (uint8_t)GC_CARD_DIRTY, __ATOMIC_RELAXED);
    return true;
}

GC__IN_BARRIER GC__FN void gc__store_logged(const void *slot, const void *ref) {
    if (!gc__store_look(slot, ref)) (void)*(volatile const gc_word *)ref;
}

GC__LOG_STORE_CALL(gc__store_logged_call, gc__store_look, gc__tables.age, gc__the_store_logging)

/* Makes room for some more words on one of the marker's lists. False: there is no memory. */
GC__FN bool gc__shade_room(const gc_heap *heap, gc__words *list, size_t words) {
    if (heap->options.test_scarce_memory && list->count + words > GC__SMALL_MARK_STACK) return false;
    return gc__words_reserve(list, list->count + words);
}
GC__FN bool gc__shade_push(const gc_heap *heap, gc__words *list, uintptr_t word) {
    return gc__shade_room(heap, list, 1) && gc__words_push(list, word);
}

/* A collection of a younger generation has met the object in a slot, root or pin. It may be a copy that this collection has made,
   whose bit and bytes come later: so no bit is set here, unless there is no memory for its name, and then nothing is counted. */
GC__OUT_OF_LINE void gc__shade(const gc__worker *worker, uintptr_t object) {
    if (!gc__is_marking(object)) return;
    gc__words *seen = worker->number ? &worker->workers->threads[worker->number].seen : &worker->heap->marker->seen;
    if (gc__shade_push(worker->heap, seen, object)) return;
    __atomic_fetch_or(&gc__region_of(object)->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    gc__shade_word(object);
}

/* Several workers have stopped: what each of them has met. */
GC__FN void gc__shade_met(gc__workers *workers, const gc__worker *first) {
    for (unsigned i = 1; i < workers->count; i++) {
        gc__words *seen = &workers->threads[i].seen;
        for (size_t k = 0; k < seen->count; k++) gc__shade(first, seen->words[k]);
        seen->count = 0;
    }
}

GC__FN void gc__shade_unask(gc__region *region) {
    __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNASKED, __ATOMIC_RELAXED);
    region->heap->marker->unasked = true;
}

/* The object, which is marked, is appended to a list, so that its trace function is called again. Without memory, or where others
   of its region are in no list, the last collection calls it. */
GC__FN void gc__shade_ask(gc_heap *heap, gc__words *list, uintptr_t object, uintptr_t tag) {
    gc__region *region = gc__region_of(object);
    bool unasked = __atomic_load_n(&region->unscanned, __ATOMIC_RELAXED) & GC__UNASKED;
    if (unasked || !gc__shade_push(heap, list, object | tag)) gc__shade_unask(region);
}

/* It is left to the last collection. The same object comes for each of its slots, one after another. */
GC__FN void gc__shade_wait(gc_heap *heap, uintptr_t object) {
    gc__words *waiting = &heap->marker->waiting;
    if (!waiting->count || waiting->words[waiting->count - 1] != object) gc__shade_ask(heap, waiting, object, 0);
}

/* Whether the marker may call the object's trace function: the host says so, or the function is gc.h's own. */
GC__FN bool gc__shade_may_trace(const gc_heap *heap, uintptr_t object) {
#if GC_HAS_MODEL
    (void)object;
    return heap->options.concurrent_trace_functions;
#else
    return heap->options.concurrent_trace_functions || gc__trace_is_own(gc__object_type(object)->trace);
#endif
}

/* The same for a piece of a weak table whose entries lie in the object. The same piece comes for each of its entries. */
GC__FN void gc__shade_slice(gc_heap *heap, uintptr_t table, uintptr_t from) {
    gc__words *pieces = &heap->marker->pieces;
    size_t count = pieces->count;
    if (count && pieces->words[count - 2] == table && pieces->words[count - 1] == from) return;
    if (count < GC__TABLE_WORDS && gc__shade_room(heap, pieces, 2)) {
        gc__words_push(pieces, table);
        gc__words_push(pieces, from);
    } else {
        gc__shade_wait(heap, table);
    }
}

/* The objects that start in [from, to) are of generation 2 from now on, and were scanned. The world is stopped. */
GC__FN void gc__shade_born(gc__region *region, uintptr_t from, uintptr_t to, size_t bytes) {
    uintptr_t end = gc__min(to, gc__region_starts_end(region));
    region->next_live_bytes += bytes;
    if (from >= end) return;
    size_t first = gc__mark_index(from), last = gc__mark_index(end - 1);
    for (size_t word = first >> 6; word <= last >> 6; word++) {
        uint64_t bits = gc__the_arena.marks[word];
        if (word == first >> 6) bits &= ~(uint64_t)0 << (first & 63);
        if (word == last >> 6) bits &= ~(uint64_t)0 >> (63 - (last & 63));
        if (bits) __atomic_fetch_or(&gc__next_marks[word], bits, __ATOMIC_RELAXED); /* other workers shade beside it */
    }
}
/* Packing: the last resort of a full heap whose holes are too small for what is wanted, and that has no free region to copy to.

   Regions are copied one after the other to fresh ones, object by object in the order of addresses, before the trace begins.
   What has been copied goes back to the system 16 KiB at a time, so all of it takes no more memory than before. Nothing is left
   there, no forwarding words either: an object's new place is found by its old mark bit, which stays as it was, and by where the
   first object of the same 512 bytes has gone. The objects are those that the last collection left. Those that have died since
   are copied, too, but not marked; so their memory is a hole after this collection. */


#define GC__SLIDE_BYTES ((size_t)16384) /* given back at a time */
#define GC__SLIDE_WORTH 64              /* a heap is packed if at least this part of it is holes */

/* Where a region's objects go: to `next` and on, up to `end`. */
typedef struct gc__sliding {
    gc_heap *heap;
    gc__region *into;      /* NULL: none yet */
    gc__region *spare;     /* the region after that; NULL: not taken yet */
    uintptr_t next, end;
    gc__region *condemned; /* the regions that are filled, with those that were condemned before */
    bool refused;          /* the system keeps the memory that it is given back, or gives no more regions */
} gc__sliding;

/* Where an object of a packed region is. */
GC__FN uintptr_t gc__slid_address(const gc__region *region, uintptr_t object) {
    size_t index = gc__mark_index(object);
    uint64_t below = gc__the_arena.marks[index >> 6] & (((uint64_t)1 << (index & 63)) - 1);
    uintptr_t at = region->offset_table[(object - region->base) / 512];
    for (; below; below &= below - 1) at += gc__object_bytes(at);
    return at;
}

/* The memory of an object that the trace has not reached. */
GC__FN uintptr_t gc__memory_of_dead(uintptr_t object) {
    const gc__region *region = gc__region_of(object);
    return region->offset_table ? gc__slid_address(region, object) : object;
}

/* The bytes of the objects that begin in these 512. */
GC__FN size_t gc__slide_bytes(uintptr_t from, uint64_t bits) {
    size_t bytes = 0;
    for (; bits; bits &= bits - 1) bytes += gc__object_bytes(from + 8 * (unsigned)__builtin_ctzll(bits));
    return bytes;
}

GC__FN void gc__slide_close(gc__sliding *packing) {
    if (packing->into && packing->into->dirty_end < packing->next) packing->into->dirty_end = packing->next;
}

/* Goes on in the next region. */
GC__FN void gc__slide_open(gc__sliding *packing) {
    gc__region *region = packing->spare;
    gc__slide_close(packing);
    packing->spare = NULL;
    packing->into = region;
    packing->next = region->base;
    packing->end = gc__region_end(region);
    region->is_slid_into = true;
    region->target = (uint8_t)gc__oldest(packing->heap);
    region->condemned = packing->heap->collection.number;
    gc__region_set_verdict(region, GC__MARK, region->target);
    region->next = packing->condemned;
    packing->condemned = region;
}

/* Copies the objects of 512 bytes; returns the end of the last one. */
GC__FN uintptr_t gc__slide_copy(gc__sliding *packing, uintptr_t from, uint64_t bits) {
    uintptr_t end = from;
    for (; bits; bits &= bits - 1) {
        uintptr_t object = from + 8 * (unsigned)__builtin_ctzll(bits);
        size_t bytes = gc__object_bytes(object);
        memcpy((void *)packing->next, (const void *)object, bytes);
        packing->next += bytes;
        end = object + bytes;
    }
    return end;
}

/* Copies all objects of a region, for which there is room, and notes where they go. */
GC__FN void gc__slide_region(gc__sliding *packing, gc__region *region, uintptr_t *places) {
    const uint64_t *marks = &gc__the_arena.marks[gc__mark_index(region->base) >> 6];
    size_t step = gc__max(GC__SLIDE_BYTES, gc__os_page_bytes());
    uintptr_t given = region->base, end = gc__region_end(region);
    for (uintptr_t at = region->base; at < end; at += 512, places++) {
        uint64_t bits = *marks++;
        if (!bits) continue;
        if (gc__slide_bytes(at, bits) > packing->end - packing->next) gc__slide_open(packing);
        *places = packing->next;
        uintptr_t until = gc__slide_copy(packing, at, bits) & ~(uintptr_t)(step - 1);
        if (until <= given || packing->refused) continue;
        packing->refused = !gc__supply_discard((void *)given, until - given);
        given = until;
    }
    bool clean = !packing->refused && (given == end || gc__supply_discard((void *)given, end - given));
    packing->refused = !clean;
    if (clean) region->dirty_end = region->base;
    if (clean) region->spare = GC_REGION_BYTES;
}

/* Whether there is a region to go on in when the one that is being filled is full: one suffices for all of another's objects. */
GC__FN bool gc__slide_has_room(gc__sliding *packing) {
    size_t clean;
    if (!packing->refused && !packing->spare)
        packing->spare = gc__heap_take_run(packing->heap, (int)gc__oldest(packing->heap), 1, &clean);
    packing->refused |= !packing->spare;
    return !packing->refused;
}

/* Packs the condemned regions that are to be moved; or leaves them where they are, if the system refuses memory. Returns the list
   of condemned regions with those that have been filled. */
GC__HOT gc__region *gc__slide(gc_heap *heap, gc__region *condemned) {
    gc__sliding packing = {heap, NULL, NULL, 0, 0, condemned, false};
    gc__words *places = &heap->cycle->offsets;
    size_t count = 0, each = GC_REGION_BYTES / 512;
    for (const gc__region *region = condemned; region; region = region->next) count += region->verdict == GC__MOVE;
    packing.refused = !gc__words_reserve(places, count * each);
    count = 0;
    for (gc__region *region = condemned; region; region = region->next) {
        if (region->verdict != GC__MOVE) continue;
        if (!gc__slide_has_room(&packing)) {
            gc__region_set_verdict(region, GC__MARK, region->target);
            continue;
        }
        if (!packing.into) gc__slide_open(&packing);
        region->offset_table = &places->words[each * count++];
        gc__slide_region(&packing, region, region->offset_table);
        gc__region_set_slid(region);
    }
    gc__slide_close(&packing);
    if (packing.spare) {
        packing.spare->spare = packing.spare->dirty_end == packing.spare->base ? GC_REGION_BYTES : 0;
        gc__heap_give(heap, packing.spare);
    }
    return packing.condemned;
}
/* The state of a condemned object. Invariant: from condemning to sweeping only this part writes mark bits and forwarding
   words of condemned regions, and mark bits of copies.

   Where a few workers run, each has marks of its own beside those of the arena, and sets an object's bit in both, by plain
   stores. Two workers that write a word of the arena's marks at the same time may lose each other's bits; what is lost is in
   their own marks, and is added when the run is over. So two may mark the same object, and scan it, which does no harm; it is
   counted once. Where there are many, or no memory for their marks, marking is an atomic OR.

   Copying is a compare-and-exchange of the first word, after the copy is whole: a worker that loses takes its copy back, which
   is the last in its window, and to which nothing refers yet. The copy's mark bit is set only by the winner, since a worker
   that looks for objects in a card would take a copy that is then taken back for an object.

   A worker that is alone (gc__workers_look_exclusive) claims without locked instructions. */


/* A reference leads to a marked object: if it is a suspect that was not reached before, it is scanned now. */
GC__OUT_OF_LINE void gc__ambiguous_reached(gc__worker *worker, uintptr_t object) {
    uintptr_t *reached = gc__map_find(worker->ambiguous, object);
    if (!reached || __atomic_exchange_n(reached, true, __ATOMIC_RELAXED)) return;
    if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
}

/* The object that was at this address has been reached; if dependent handles wait for it, they are ready. */
GC__OUT_OF_LINE void gc__awaited_reached(gc__worker *worker, uintptr_t object) {
    const uintptr_t *number = gc__map_find(worker->awaited, object);
    if (number) gc__words_push(worker->found, *number);
}

/* Marks the object where other workers may be writing the same word of the arena's marks. Returns whether this one had not
   marked it yet, nor seen another one's mark. */
GC__INLINED bool gc__claim_mark_twice(gc__worker *worker, uintptr_t object) {
    size_t index = gc__mark_index(object);
    uint64_t *word = &gc__the_arena.marks[index >> 6], *own = &worker->own_marks[index >> 6];
    uint64_t bit = (uint64_t)1 << (index & 63), seen = __atomic_load_n(word, __ATOMIC_RELAXED), before = *own;
    if (seen & bit) return false;
    if (GC_DEBUG >= 3) gc__workers_step(worker);
    __atomic_store_n(word, seen | bit, __ATOMIC_RELAXED);
    *own = before | bit;
    return !(before & bit);
}

GC__INLINED bool gc__claim_mark_many(gc__worker *worker, uintptr_t object) {
    if (GC__LIKELY(worker->own_marks != NULL)) return gc__claim_mark_twice(worker, object);
    return worker->exclusive ? gc__mark_set(object) : gc__bit_set_shared(gc__the_arena.marks, object);
}

/* Marks the object, whose region's mark bits are the marker's if it is `beside`; returns whether it had no mark yet. One that is
   reprieved was counted. */
GC__INLINED bool gc__claim_mark_as(gc__worker *worker, uintptr_t object, bool many, bool next_plane) {
    bool finalizer_marked = next_plane && gc__is_finalizer_marked(object);
    if (finalizer_marked && worker->heap->finalizer_marks) return false;
    bool fresh = next_plane ? gc__bit_set_shared(gc__next_marks, object)
                 : many ? gc__claim_mark_many(worker, object)
                        : gc__mark_set(object);
    if (finalizer_marked) return fresh;
    if (fresh && many)
        worker->live[object >> GC__STRIPE_SHIFT] += gc__object_bytes(object);
    else if (fresh)
        *(next_plane ? &gc__region_of(object)->next_live_bytes : &gc__region_of(object)->live_bytes) += gc__object_bytes(object);
    return fresh;
}
GC__FN bool gc__claim_mark(gc__worker *worker, uintptr_t object, bool many) {
    return gc__claim_mark_as(worker, object, many, false);
}

GC__INLINED void gc__mark_object_as(gc__worker *worker, uintptr_t object, bool many, bool next_plane) {
    if (gc__claim_mark_as(worker, object, many, next_plane)) {
        if (!many && GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
        if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
    } else if (GC__UNLIKELY(worker->ambiguous != NULL)) {
        gc__ambiguous_reached(worker, object);
    }
}
GC__INLINED void gc__mark_object(gc__worker *worker, uintptr_t object, bool many) {
    gc__mark_object_as(worker, object, many, false);
}
/* Marks the object where it is, in a region that has no mark bits of its own, or was packed. Returns its place. */
GC__INLINED uintptr_t gc__mark_elsewhere_as(gc__worker *worker, uintptr_t object, uint8_t verdict, bool many) {
    if (verdict != GC__VERDICT_SLID) {
        gc__mark_object_as(worker, object, many, true);
        return object;
    }
    uintptr_t place = gc__slid_address(gc__region_of(object), object);
    if (!gc__claim_mark(worker, place, many)) return place;
    if (!many && GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
    if (!gc__object_is_leaf(place)) gc__trace_push(worker, place);
    return place;
}
GC__OUT_OF_LINE uintptr_t gc__mark_elsewhere(gc__worker *worker, uintptr_t object, uint8_t verdict) {
    return gc__mark_elsewhere_as(worker, object, verdict, false);
}
GC__OUT_OF_LINE uintptr_t gc__mark_elsewhere_many(gc__worker *worker, uintptr_t object, uint8_t verdict) {
    return gc__mark_elsewhere_as(worker, object, verdict, true);
}

/* The object is old and stays, in the last collection of a cycle. */
GC__FN void gc__mark_old(gc__worker *worker, uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    if (verdict & GC__VERDICT_NEXT_MARKS)
        gc__mark_elsewhere(worker, object, verdict);
    else
        gc__mark_object(worker, object, false);
}

/* Records that the object, whose first word was `header`, was copied, and where to. Returns the object's first word if
   another worker has copied it first; otherwise that which refers to this copy. */
GC__INLINED uintptr_t gc__claim_copied(const gc__worker *worker, uintptr_t object, uintptr_t header, uintptr_t copy,
                                       bool many) {
    uintptr_t forward = copy | GC__FORWARD_TAG;
    if (!many || worker->exclusive) {
        gc__mark_set(copy);
        GC__WORD(object) = forward;
    } else if (__atomic_compare_exchange_n(&GC__WORD(object), &header, forward, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE)) {
        gc__mark_publish(copy);
    } else {
        return header;
    }
    return forward;
}

/* From now on objects of the region may stay: those without a forwarding word are marked as they are reached. */
GC__FN void gc__claim_in_place(gc__region *region, unsigned target) {
    if (region->verdict != GC__MOVE) return;
    gc__marks_clear(region);
    gc__region_set_verdict(region, GC__MOVE_MARKED, (int)target);
}

/* The same of a region that has no mark bits of its own, or was packed. */
GC__OUT_OF_LINE uintptr_t gc__reached_elsewhere(uintptr_t object, uint8_t entry) {
    if (entry != GC__VERDICT_SLID) {
        if (gc__bit_get(gc__next_marks, object)) return object;
        return gc__is_finalizer_marked(object) && gc__region_of(object)->heap->finalizer_marks ? object : 0;
    }
    uintptr_t place = gc__slid_address(gc__region_of(object), object);
    return gc__mark_get(place) ? place : 0;
}

/* Where a condemned object is now; 0 if it has not been reached. `entry`: of the verdict table. */
GC__FN uintptr_t gc__reached(uintptr_t object, uint8_t entry) {
    uint8_t verdict = entry & GC__VERDICT_MASK;
    if (entry & GC__VERDICT_NEXT_MARKS) return gc__reached_elsewhere(object, entry);
    if (verdict != GC__MOVE && gc__mark_get(object)) return object;
    if (verdict == GC__MARK) return 0;
    uintptr_t header = GC__WORD(object);
    return header & GC__FORWARD_TAG ? header - GC__FORWARD_TAG : 0;
}

/* The same is about to be asked of the object, which marks tell if it is old. */
GC__FN void gc__reached_await(uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    bool next_plane = verdict & GC__VERDICT_NEXT_MARKS && gc__next_marks; /* not so where regions are packed */
    const uint64_t *marks = next_plane ? gc__next_marks : gc__the_arena.marks;
    if (verdict) __builtin_prefetch(&marks[gc__mark_index(object) >> 6]);
}

/* Where an object is after the trace; 0 if it is dead, or none. */
GC__FN uintptr_t gc__address_after_trace(uintptr_t object) {
    uint8_t verdict = GC__VERDICTS[object >> GC_REGION_SHIFT];
    return verdict ? gc__reached(object, verdict) : object;
}
/* Copying survivors. */


#define GC__LISTED_MOST 4     /* regions whose holes a collection lists */
#define GC__REGIONS_MANY 8     /* this part of the limit, and more */
#define GC__REGIONS_SCARCE 16 /* so few that are left, besides those for evacuation */

/* Whether what is copied goes to listed holes, and what windows leave is listed. Several workers keep to regions of their
   own. */
GC__FN bool gc__worker_lists_holes(const gc__worker *worker, unsigned generation) {
    const gc_heap *heap = worker->heap;
    if (worker->cycle->plan->into_holes) return generation == gc__oldest(heap);
    bool young = heap->collection.generation < 2 || heap->marking;
    return generation == 2 && heap->pace->fills_holes && young && !worker->workers;
}

/* Ends the window. The sweep adds copies to what is marked in a condemned region, so copies in its holes must not be
   counted twice. */
GC__FN void gc__worker_close_window(gc__worker *worker, unsigned generation) {
    gc__region *region = worker->windows[generation].region;
    uintptr_t from = (uintptr_t)worker->windows[generation].start, to = (uintptr_t)worker->windows[generation].next;
    uintptr_t end = (uintptr_t)worker->windows[generation].end;
    size_t bytes = gc__copies_close(&worker->windows[generation]);
    if (GC__UNLIKELY(worker->heap->marking) && generation == 2 && bytes)
        gc__shade_born(gc__region_of(from), from, to, bytes);
    worker->copied_bytes[generation] += bytes;
    if (region && gc__worker_lists_holes(worker, generation)) {
        gc__hole_list_old(worker->heap, region, to, end);
        region->hole = gc__region_end(region);
    }
    if (region && region->verdict) worker->cycle->marked_bytes[generation] -= bytes;
}

/* Opens the window in a hole, of which all may be written to. */
GC__FN void gc__worker_open_in(gc__worker *worker, unsigned generation, gc__region *region, uintptr_t from, uintptr_t end) {
    gc__window_set(&worker->windows[generation], region, from, end);
    worker->windows[generation].limit = (char *)end;
}

/* Opens the window in a hole of the region. */
GC__FN bool gc__worker_open_hole_in(gc__worker *worker, unsigned generation, gc__region *region, size_t bytes) {
    uintptr_t end = 0;
    if (region->kind != GC__SMALL || region->linear || region->candidate) return false;
    if (region->fixed && worker->heap->options.stress)
        return false; /* the copy could not move any more, as it should */
    if (region->hole == region->base && region->live_bytes > GC_REGION_BYTES / 8 * 7) return false;
    uintptr_t from = gc__hole_by_marks(region, gc__max(bytes, GC__HOLE_BYTES_MIN), &end);
    if (!from) return false;
    gc__worker_open_in(worker, generation, region, from, end);
    return true;
}

/* So few regions are left that copies should go to holes, or else mutators would find none. */
GC__FN size_t gc__regions_scarce(const gc_heap *heap) {
    return gc__evacuation_reserve_of(heap, heap->full_bytes) + GC__REGIONS_SCARCE;
}

/* Lists the holes of another region, to which the marker has not come yet: in few regions in a pause, unless free ones are
   scarce. False: no. */
GC__FN bool gc__worker_list_more(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    if (worker->listed++ >= GC__LISTED_MOST && gc__regions_left(heap) > gc__regions_scarce(heap)) return false;
    return gc__holes_list_next(heap);
}

/* Opens the window in the smallest listed hole that suffices. */
GC__FN bool gc__worker_open_listed(gc__worker *worker, unsigned generation, size_t bytes) {
    uintptr_t hole;
    while ((hole = gc__hole_take(&worker->heap->old_holes, bytes)) == 0 || gc__region_of(hole)->candidate)
        if (!hole && !gc__worker_list_more(worker)) return false;
    gc__worker_open_in(worker, generation, gc__region_of(hole), hole, hole + gc__filler_bytes(hole));
    return true;
}

/* Whether copies had better go to fresh regions, since pauses are to be short and memory suffices: where old objects have died
   one by one, each hole has room for one copy, and to find it takes longer than to copy. */
GC__FN bool gc__worker_leaves_holes(const gc__worker *worker, unsigned generation) {
    const gc_heap *heap = worker->heap;
    bool old = generation == 2 && heap->collection.generation < 2 && !heap->pace->fills_holes;
    return old && gc__has_pause_goal(heap) && gc__regions_left(heap) > gc__limit_regions(heap) / GC__REGIONS_MANY;
}

/* Opens the window in a hole of the generation's regions. */
GC__FN bool gc__worker_open_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation];
    if (gc__worker_leaves_holes(worker, generation)) return false;
    if (gc__worker_lists_holes(worker, generation)) return gc__worker_open_listed(worker, generation, bytes);
    for (; *cursor; *cursor = (*cursor)->next)
        if (gc__worker_open_hole_in(worker, generation, *cursor, bytes)) return true;
    return false;
}

/* The same where several workers run: each has regions to itself, so no other one writes their mark bits, bounds and
   counts. */
GC__FN bool gc__worker_open_own_hole(gc__worker *worker, unsigned generation, size_t bytes) {
    gc__region **cursor = &worker->cycle->cursors[generation], **own = &worker->searched[generation];
    for (bool next = !*own;; next = true) {
        gc__lock_take(&worker->workers->space); /* others take regions now */
        bool leaves = gc__worker_leaves_holes(worker, generation);
        if (next && !leaves) {
            *own = *cursor;
            if (*cursor) *cursor = (*cursor)->next;
        }
        gc__lock_release(&worker->workers->space);
        if (leaves || !*own) return false;
        if (gc__worker_open_hole_in(worker, generation, *own, bytes)) return true;
    }
}

/* A region for copies, in the heap's list; NULL: there is no room. */
GC__FN gc__region *gc__worker_take(gc__worker *worker, unsigned generation) {
    if (worker->cycle->no_room[generation]) return NULL;
    gc__region *region = gc__heap_take(worker->heap, (int)generation);
    worker->cycle->no_room[generation] = !region;
    if (!region) return NULL;
    gc__marks_clear(region);
    gc__heap_push(worker->heap, region);
    region->hole = gc__region_end(region);
    return region;
}

/* Makes room for `bytes` in the generation's window, or opens it in a hole or a fresh region. False: there is no room. */
GC__INLINED bool gc__worker_find_room(gc__worker *worker, unsigned generation, size_t bytes, bool many) {
    gc_window *window = &worker->windows[generation];
    if (window->region && gc__copies_extend(window, bytes)) return true;
    gc__worker_close_window(worker, generation);
    if (many ? gc__worker_open_own_hole(worker, generation, bytes) : gc__worker_open_hole(worker, generation, bytes))
        return true;
    if (many) gc__lock_take(&worker->workers->space);
    gc__region *region = gc__worker_take(worker, generation);
    if (many) gc__lock_release(&worker->workers->space);
    if (!region) return false;
    if (!many) worker->cycle->cursors[generation] = region;
    gc__window_set(window, region, region->base, gc__region_end(region));
    return gc__copies_extend(window, bytes);
}

GC__OUT_OF_LINE bool gc__worker_window(gc__worker *worker, unsigned generation, size_t bytes) {
    return gc__worker_find_room(worker, generation, bytes, false);
}
GC__OUT_OF_LINE bool gc__worker_window_many(gc__worker *worker, unsigned generation, size_t bytes) {
    return gc__worker_find_room(worker, generation, bytes, true);
}

/* Hands in what the worker has counted. */
GC__FN void gc__worker_end(gc__worker *worker) {
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        gc__worker_close_window(worker, g);
        worker->cycle->copied_bytes[g] += worker->copied_bytes[g];
    }
    worker->heap->stats.mark_stack_overflows += worker->mark_stack_overflows;
    worker->heap->stats.evacuation_failures += worker->evacuation_failures;
    worker->heap->pause.trace_calls += worker->trace_calls;
}

/* Copies an object of so many bytes, at least 16, but for the first 0 or 16: 16 at a time, of which the last may overlap those
   before, and then do not reach the first word. */
GC__INLINED void gc__copy_words(uintptr_t to, uintptr_t from, size_t first, size_t bytes) {
    if (GC__UNLIKELY(bytes > 128)) {
        memcpy((void *)(to + first), (const void *)(from + first), bytes - first);
        return;
    }
    size_t last = bytes - 16;
    for (size_t i = first; i < last; i += 16) memcpy((void *)(to + i), (const void *)(from + i), 16);
    if (!first || last) memcpy((void *)(to + last), (const void *)(from + last), 16);
}

/* The same of all bytes where another worker may be replacing the first word, which was `header`: it is not read again. */
GC__INLINED void gc__copy_body(uintptr_t to, uintptr_t from, uintptr_t header, size_t bytes) {
    GC__WORD(to) = header;
    GC__WORD(to + 8) = GC__WORD(from + 8);
    gc__copy_words(to, from, 16, bytes);
}

/* Another worker's copy came first, to which the object's first word `forward` refers: takes this worker's back. */
GC__OUT_OF_LINE uintptr_t gc__copy_lost(gc__worker *worker, gc_window *window, size_t bytes, uintptr_t forward) {
    gc__region *region = window->region;
    if (region->dirty_end < (uintptr_t)window->next) region->dirty_end = (uintptr_t)window->next;
    window->next -= bytes;
    worker->lost++;
    return forward - GC__FORWARD_TAG;
}

/* There was no room for a copy: from now on the region's objects may stay. */
__attribute__((noinline)) GC__COLD uintptr_t gc__evacuation_failed(gc__worker *worker, uintptr_t object,
                                                                   unsigned target) {
    gc__claim_in_place(gc__region_of(object), target);
    worker->evacuation_failures++;
    gc__mark_object(worker, object, false);
    return object;
}

/* Copies the object, whose first word is `header`, to the target generation. Returns the copy, or if there is no room the
   object itself; where several workers run, 0. */
GC__INLINED uintptr_t gc__evacuate(gc__worker *worker, uintptr_t object, uintptr_t header, unsigned target, bool many) {
    gc_window *window = &worker->windows[target];
    size_t bytes = gc__object_bytes_as(object, header);
    if (GC__UNLIKELY(bytes > gc__window_room(window))) {
        if (many ? !gc__worker_window_many(worker, target, bytes) : !gc__worker_window(worker, target, bytes))
            return many ? 0 : gc__evacuation_failed(worker, object, target);
    }
    uintptr_t copy = (uintptr_t)window->next;
    window->next += bytes;
    if (many)
        gc__copy_body(copy, object, header, bytes);
    else
        gc__copy_words(copy, object, 0, bytes);
    if (GC_DEBUG >= 3 && many) gc__workers_step(worker);
    uintptr_t forward = gc__claim_copied(worker, object, header, copy, many);
    if (many && GC__UNLIKELY(forward != (copy | GC__FORWARD_TAG))) return gc__copy_lost(worker, window, bytes, forward);
    if (!many && GC__UNLIKELY(worker->awaited != NULL)) gc__awaited_reached(worker, object);
    if (!gc__header_is_leaf(header)) gc__trace_push(worker, copy);
    return copy;
}

/* The same for an object that is reached now, in a region that is evacuated or whose mark bits are the marker's. */
GC__INLINED uintptr_t gc__move_object(gc__worker *worker, uintptr_t object, uint8_t verdict, bool many) {
    if (verdict & GC__MARK) { /* as in GC__MOVE_MARKED */
        if (verdict & GC__VERDICT_NEXT_MARKS)
            return many ? gc__mark_elsewhere_many(worker, object, verdict) : gc__mark_elsewhere(worker, object, verdict);
        if (gc__mark_get(object)) {
            if (GC__UNLIKELY(worker->ambiguous != NULL)) gc__ambiguous_reached(worker, object);
            return object;
        }
    }
    uintptr_t header = many ? __atomic_load_n(&GC__WORD(object), __ATOMIC_ACQUIRE) : GC__WORD(object);
    if (header & GC__FORWARD_TAG) return header - GC__FORWARD_TAG;
    return gc__evacuate(worker, object, header, verdict >> GC__VERDICT_BITS, many);
}
/* Regions that are evacuated when the marking of generation 2 beside mutators ends.

   They are chosen when it begins, sparse ones, as many as can be copied within the goal for pauses. From then on they are
   *leaving*: GC__AGE_CANDIDATE is in their ages, and nothing is promoted into them. The marker notes each slot that refers to
   one, and barriers have the cards of such stores looked at, so that collections note those. In the last collection leaving
   regions are condemned together with the young ones, and what the trace reaches there is copied: from roots, cards and
   young objects, from the noted slots, and from what the marker has left to scan.

   Invariant: a slot of an old object that refers to a leaving region is noted, or remembered by a card or in the list, or its
   object is grey, or waits for its trace function to be called, or is in a leaving region itself; or the region stays. */


#define GC__CANDIDATES_NS 5     /* for each byte that is copied, slots included */
#define GC__CANDIDATES_HURRY 4  /* times the goal, where the next nursery may not find room */
#define GC__CANDIDATES_DENSE 80 /* percent live from which evacuation frees too little */
#define GC__CANDIDATES_SLOT 16  /* bytes that are copied in the time in which a noted slot is looked at */
#define GC__CANDIDATES_NOTES 64 /* the part of the limit that the noted slots take at most */

GC__FN bool gc__is_candidate(uintptr_t object) {
    return gc__in_arena(object) && gc__barrier_age(&gc__tables, object) & GC__AGE_CANDIDATE;
}

/* The leaving region to an object of which the slot refers now, if that may leave; NULL otherwise. */
GC__FN gc__region *gc__candidates_referent(const gc_word *slot) {
    uintptr_t word = __atomic_load_n(slot, __ATOMIC_RELAXED);
#if GC_HAS_VALUES
    if (!gc__is_candidate(word)) word = gc__slot_decode(word, true);
#endif
    gc__region *region = gc__is_candidate(word) ? gc__region_of(word) : NULL;
    return region && !region->retained ? region : NULL;
}

/* There are too many notes: the region to which most slots refer stays. Drops the notes of these slots, and of those that refer
   elsewhere by now: a barrier has seen to it that they are noted again if need be. */
GC__HOT void gc__candidates_keep(gc_heap *heap) {
    gc__words *slots = &heap->marker->slots;
    gc__region *most = NULL;
    size_t kept = 0;
    for (gc__region *region = heap->regions[2]; region; region = region->next)
        if (region->candidate && !region->retained && (!most || region->rset_slots > most->rset_slots)) most = region;
    if (most) most->retained = true;
    for (gc__region *region = heap->regions[2]; region; region = region->next) region->rset_slots = 0;
    for (size_t i = 0; i < slots->count; i++) {
        __builtin_prefetch((const void *)slots->words[gc__min(i + GC__FIFO, slots->count - 1)]);
        gc__region *region = gc__candidates_referent((const gc_word *)slots->words[i]);
        if (!region) continue;
        region->rset_slots++;
        slots->words[kept++] = slots->words[i];
    }
    slots->count = kept;
}

/* The slot, of an old object, refers to an object in a leaving region. The marker's lock is held. Any number of slots may refer
   to one object, so the notes have an end. A region stays of which one is missing. */
GC__FN void gc__candidates_note(gc_heap *heap, uintptr_t slot, uintptr_t ref) {
    gc__marker *marker = heap->marker;
    gc__region *region = gc__region_of(ref);
    while (!region->retained && marker->slots.count >= marker->slots_most) {
        if (!marker->slots.count) region->retained = true;
        gc__candidates_keep(heap);
    }
    if (region->retained) return;
    if (gc__shade_push(heap, &marker->slots, slot))
        region->rset_slots++;
    else
        region->retained = true;
}

/* A collection has met the slot, whose referent is old; outside of the heap it is one of the object's that is traced. */
GC__OUT_OF_LINE void gc__candidates_meet(const gc__worker *worker, uintptr_t slot, uintptr_t ref) {
    uintptr_t place = gc__in_arena(slot) ? slot : gc__traced; /* the owner's trace function is called in the last pause */
    if (!gc__is_candidate(ref) || !gc__is_marking(place)) return;
    if (worker->workers) gc__lock_take(&worker->workers->space);
    if (place == slot)
        gc__candidates_note(worker->heap, slot, ref);
    else
        gc__shade_wait(worker->heap, place);
    if (worker->workers) gc__lock_release(&worker->workers->space);
}

/* How much of a small region lives, in percent, if it may leave; otherwise 100. */
GC__FN unsigned gc__candidates_percent(const gc__region *region) {
    bool may = gc__is_by_marks(region) && region->live_bytes;
    return may ? (unsigned)(region->live_bytes / (GC_REGION_BYTES / 100 + 1)) : 100;
}

/* Puts chosen regions behind the first one of the list that was not chosen, so that the last collection need not look for them:
   a list grows at its begin. Searches for holes go on behind them. */
GC__HOT void gc__candidates_move(gc_heap *heap, unsigned most, size_t budget) {
    gc__region **link = &heap->regions[2], *chosen = NULL, *last = NULL, *before = NULL, *region;
    while ((region = *link) != NULL) {
        unsigned percent = gc__candidates_percent(region);
        if (percent > most || percent >= GC__CANDIDATES_DENSE || (percent == most && region->live_bytes > budget)) {
            if (!before) before = region;
            link = &region->next;
            continue;
        }
        if (percent == most) budget -= region->live_bytes;
        if (heap->cycle->cursors[2] == region) heap->cycle->cursors[2] = region->next;
        if (heap->old_unlisted == region) heap->old_unlisted = region->next;
        *link = region->next;
        region->next = chosen;
        chosen = region;
        if (!last) last = region;
        region->candidate = true;
        region->retained = false;
        region->rset_slots = 0;
        gc__region_set_rank(region, gc__region_age(heap, region), true);
    }
    heap->marker->candidates_begin = chosen;
    heap->marker->candidates_behind = before;
    if (!chosen) return;
    link = before ? &before->next : &heap->regions[2];
    last->next = *link;
    *link = chosen;
}

/* A cycle has begun: chooses the sparsest regions, of which so many bytes can be copied. */
GC__HOT void gc__candidates_choose(gc_heap *heap, size_t budget) {
    size_t bytes[101] = {0};
    unsigned most = 0;
    size_t notes = heap->limit_bytes / GC__CANDIDATES_NOTES / sizeof(uintptr_t);
    heap->marker->slots_most = gc__min(budget / GC__CANDIDATES_SLOT, notes);
    for (const gc__region *region = heap->regions[2]; region; region = region->next)
        bytes[gc__candidates_percent(region)] += region->live_bytes;
    for (; most < GC__CANDIDATES_DENSE && bytes[most] <= budget; most++) budget -= bytes[most];
    gc__candidates_move(heap, most, budget);
}

/* In the last collection: condemns those of which no note is missing. Returns `condemned` with them; the searches for holes
   must not follow them there. */
GC__HOT gc__region *gc__candidates_condemn(gc_heap *heap, gc__region *condemned) {
    gc__region *behind = heap->marker->candidates_behind, **link = behind ? &behind->next : &heap->regions[2], *region;
    bool any = heap->marker->candidates_begin != NULL;
    while (any && *link != heap->marker->candidates_begin) link = &(*link)->next; /* if all were chosen, and others have come */
    while (any && (region = *link) != NULL && region->candidate) {
        bool leaves = !region->retained && !region->pinned;
        gc__region_set_rank(region, gc__age_of(heap, 2), true);
        if (!leaves) {
            region->candidate = false;
            link = &region->next;
            continue;
        }
        *link = region->next;
        region->target = 2;
        region->condemned = heap->collection.number;
        region->overflowed = false;
        region->live_bytes = 0;
        gc__region_set_verdict(region, GC__MOVE, 2);
        region->next = condemned;
        condemned = region;
    }
    heap->cycle->cursors[2] = heap->regions[2];
    heap->old_unlisted = NULL;
    return condemned;
}
/* Scanning objects for slots. */


/* Slots of objects that overlap two cards may be handled by two workers, with the same result. */
GC__INLINED uintptr_t gc__slot_read(const gc_word *slot, bool many) {
    return many ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : *slot;
}
GC__INLINED void gc__slot_write(gc_word *slot, uintptr_t word, bool many) {
    if (many)
        __atomic_store_n(slot, word, __ATOMIC_RELEASE);
    else
        *slot = word;
}

/* Where several workers run there was no room for the slot's referent: the trace goes on with one worker, who handles the
   slot. If even the list of such slots finds no memory, the object that is being traced is scanned again, with all of its
   stacks, which are settled already. */
__attribute__((noinline)) GC__COLD void gc__refuse(gc__worker *worker, uintptr_t entry) {
    __atomic_store_n(&worker->workers->stop, 1u, __ATOMIC_RELAXED);
    worker->until_poll = 1;
    if (gc__words_push(&worker->workers->threads[worker->number].refused, entry)) return;
    worker->whole_stacks = true;
    gc__trace_overflow(worker, gc__traced);
}

/* Handles one slot whose referent was prefetched. */
GC__INLINED void gc__process(gc__worker *worker, uintptr_t entry, bool many) {
    bool value = GC_HAS_VALUES && (entry & 1);
    gc_word *slot = (gc_word *)(entry - value);
    uintptr_t word = gc__slot_read(slot, many), ref = gc__slot_decode(word, value);
    uint8_t verdict = worker->verdicts[ref >> GC_REGION_SHIFT];
    if (verdict == GC__MARK) {
        gc__mark_object(worker, ref, many);
    } else if (verdict) {
        ref = gc__move_object(worker, ref, verdict, many);
        if (many && GC__UNLIKELY(!ref)) {
            gc__refuse(worker, entry);
            return;
        }
        gc__slot_write(slot, gc__slot_encode(ref, word, value), many);
    }
    if (worker->remember_all) gc__slot_remember(slot, ref);
}

/* The same as a call, for all but the hottest loops. */
GC__OUT_OF_LINE void gc__process_one(gc__worker *worker, uintptr_t entry) { gc__process(worker, entry, false); }
GC__OUT_OF_LINE void gc__process_one_many(gc__worker *worker, uintptr_t entry) { gc__process(worker, entry, true); }
#define GC__PROCESS_ONE(many) ((many) ? gc__process_one_many : gc__process_one)

/* Prefetches the slot's referent, which is condemned, and puts the slot in the FIFO. Returns the slot that has waited
   longest; 0: none. */
GC__INLINED uintptr_t gc__prefetch(gc__worker *worker, gc_word *slot, uintptr_t ref, uint8_t verdict, bool value,
                                   bool many) {
    /* Objects straddle cache lines: the first slots may be in another, and what is copied beside them. Verdicts come in no
       order, so a jump here would be mispredicted: mark bits are fetched for copies, too. */
    __builtin_prefetch((const void *)ref, 1);
    __builtin_prefetch((const void *)(ref + 24 + 24 * (verdict != GC__MARK)), 1);
    __builtin_prefetch(&gc__the_arena.marks[gc__mark_index(ref) >> 6], 1);
    if (many && verdict == GC__MARK)
        __builtin_prefetch((const void *)((uintptr_t)worker->own_marks + (gc__mark_index(ref) >> 6) * sizeof(uint64_t)), 1);
    uintptr_t *place = &worker->fifo[worker->fifo_next++ % GC__FIFO];
    uintptr_t oldest = *place;
    *place = (uintptr_t)slot | value;
    return oldest;
}

/* What is done with a slot whose referent is not condemned, where that is anything. */
GC__INLINED void gc__edge(gc__worker *worker, const gc_word *slot, uintptr_t ref) {
    if (worker->edges & GC__EDGES_REMEMBER) gc__slot_remember(slot, ref);
    if (GC__UNLIKELY(worker->edges & GC__EDGES_SHADE)) gc__shade(worker, ref);
    if (GC__UNLIKELY(worker->edges & GC__EDGES_CANDIDATE)) gc__candidates_meet(worker, (uintptr_t)slot, ref);
}

/* Takes note of a slot that may refer to a condemned object. Returns a slot that is to be handled now; 0: none. */
GC__INLINED uintptr_t gc__exchange(gc__worker *worker, gc_word *slot, bool value, bool many) {
    uintptr_t ref = gc__slot_decode(gc__slot_read(slot, many), value);
    uint8_t verdict = worker->verdicts[ref >> GC_REGION_SHIFT];
    if (verdict) return gc__prefetch(worker, slot, ref, verdict, value, many);
    if (worker->edges) gc__edge(worker, slot, ref);
    return 0;
}

GC__INLINED void gc__enqueue_inline(gc__worker *worker, gc_word *slot, bool value, bool many) {
    uintptr_t oldest = gc__exchange(worker, slot, value, many);
    if (oldest) gc__process(worker, oldest, many);
}

GC__INLINED void gc__enqueue_as(gc__worker *worker, gc_word *slot, bool value, bool many) {
    uintptr_t oldest = gc__exchange(worker, slot, value, many);
    if (oldest) GC__PROCESS_ONE(many)(worker, oldest);
}
GC__FN void gc__enqueue(gc__worker *worker, gc_word *slot, bool value) { gc__enqueue_as(worker, slot, value, false); }
GC__FN void gc__enqueue_many(gc__worker *worker, gc_word *slot, bool value) {
    gc__enqueue_as(worker, slot, value, true);
}

/* The same as functions of slots. */
GC__FN void gc__slot_enqueue(void *worker, gc_word *slot, bool value) { gc__enqueue((gc__worker *)worker, slot, value); }
GC__FN void gc__slot_enqueue_many(void *worker, gc_word *slot, bool value) {
    gc__enqueue_many((gc__worker *)worker, slot, value);
}
#define GC__SLOT_ENQUEUE(many) ((many) ? gc__slot_enqueue_many : gc__slot_enqueue)

/* With generations, slots that a trace function reports must lie in its object, or in memory that the object owns: a store
   elsewhere dirties no card that would lead a young collection to the object. */
GC__OUT_OF_LINE void gc__traced_check(const gc_heap *heap, const void *slot, size_t count, unsigned flags) {
    uintptr_t object = gc__traced, offset = (uintptr_t)slot - object;
    if (!count || heap->options.non_generational || (flags & GC_SLOT_OWNED && !gc__in_arena((uintptr_t)slot))) return;
    size_t bytes = gc__object_bytes(object);
    if (offset < bytes && count <= (bytes - offset) / 8) return;
    gc__fatal(
        &heap->options,
        "the trace function of `%s` reports %zu slots at %p, but its object lies at %p and has %zu bytes: with "
        "generations, slots must lie in the object, since a young collection does not see stores elsewhere. If they "
        "are in a buffer of the object's, visit them with GC_SLOT_OWNED and store to them by gc_store_in, or after "
        "gc_remember; or keep the references in an array on the heap (GC_TYPE_ARRAY), report them from scan_roots, or "
        "set options.non_generational",
        gc__object_name(object), count, slot, (void *)object, bytes);
}

/* An object reports slots outside of itself, which it may not have had when the marker called its trace function. Raw stores
   there have only dirtied its card, so it waits for the last pause. One that is not marked yet was not scanned either. */
__attribute__((noinline)) GC__COLD void gc__owner_waits(const gc__worker *worker) {
    uintptr_t owner = gc__traced;
    if (!worker->heap->options.concurrent_trace_functions) return; /* or else it waits since it was marked */
    if (!gc__is_marking(owner) || !gc__shade_bit(gc__next_marks, owner)) return;
    if (worker->workers) gc__lock_take(&worker->workers->space);
    gc__shade_wait(worker->heap, owner);
    if (worker->workers) gc__lock_release(&worker->workers->space);
}

/* Dirties the card of a slot of the object that is traced if that will be needed, before it is known where the referent will
   be: its rank is at most too high until then. Slots that an object owns have no cards: the card of the object's first word
   stands for all of them. */
GC__FN void gc__slot_remember_early(const gc_word *slot, bool value) {
    const void *place = gc__in_arena((uintptr_t)slot) ? (const void *)slot : (const void *)gc__traced;
    gc__slot_remember(place, gc__slot_decode(gc__slot_read(slot, true), value));
}

GC__OUT_OF_LINE void gc__owner_remember(const gc__worker *worker, const gc_word *slots, size_t count, bool value) {
    if (gc__in_arena((uintptr_t)slots)) return;
    if (count && worker->edges & GC__EDGES_CANDIDATE) gc__owner_waits(worker);
    for (size_t i = 0; i < count; i++) gc__slot_remember_early(&slots[i], value);
}

/* A table that holds an object that leaves is needed once more, wherever its entries are: if they are in it, and its other pieces
   may be settled, only that piece is. */
GC__OUT_OF_LINE void gc__candidates_meet_entry(const gc__worker *worker, const gc_weak_entries *entries, size_t i, bool value) {
    uintptr_t low = gc__entry_low(entries) + i * gc__entry_bytes(entries), table = gc__traced;
    bool pairs = entries->kind != GC_WEAK_REFS;
    if (!gc__is_candidate(gc__slot_decode(gc__slot_read(gc__entry_key(entries, i), true), value)) &&
        !(pairs && gc__is_candidate(gc__slot_decode(gc__slot_read(gc__entry_value(entries, i), true), value))))
        return;
    if (!gc__is_marking(table)) return;
    if (worker->workers) gc__lock_take(&worker->workers->space);
    if (gc__in_arena(low) && gc__shade_may_trace(worker->heap, table))
        gc__shade_slice(worker->heap, table, table + (low - table) / GC__TABLE_SLICE * GC__TABLE_SLICE);
    else
        gc__shade_wait(worker->heap, table);
    if (worker->workers) gc__lock_release(&worker->workers->space);
}

/* Takes a note of the entries of a weak table, for when the trace is done (gc__discovered_clear), and enqueues their strong
   slots. Without memory for the note all slots are strong. */
GC__INLINED void gc__trace_entries_as(gc__worker *worker, const gc_weak_entries *entries, bool many) {
    bool value = GC_HAS_VALUES && (entries->flags & GC_SLOT_VALUE), pairs = entries->kind != GC_WEAK_REFS;
    uintptr_t low = gc__entry_low(entries), last = (entries->count - 1) * gc__entry_bytes(entries);
    if (!entries->count) return;
    gc__traced_check(worker->heap, (void *)low, (last + gc__entry_high(entries) - low) / 8, entries->flags);
    if (many) gc__lock_take(&worker->workers->space);
    bool listed = gc__discovered_push(&worker->cycle->entries, entries);
    if (many) gc__lock_release(&worker->workers->space);
    bool strong_keys = !listed || entries->kind == GC_WEAK_VALUES;
    bool strong_values = pairs && (!listed || entries->kind == GC_WEAK_KEYS);
    const uintptr_t bytes = gc__entry_bytes(entries), keys = (uintptr_t)entries->keys;
    if (GC__UNLIKELY(worker->edges & GC__EDGES_CANDIDATE) && !gc__in_arena(low)) gc__owner_waits(worker);
    for (size_t i = 0; i < entries->count; i++) {
        gc_word *key = (gc_word *)(keys + i * bytes);
        if (GC__UNLIKELY(worker->edges & GC__EDGES_CANDIDATE)) gc__candidates_meet_entry(worker, entries, i, value);
        if (gc__in_arena(gc__slot_decode(gc__slot_read(key, many), value)))
            gc__slot_remember_early(key, value);
        else if (!pairs)
            continue; /* as most places of a hash table that is not full */
        if (pairs) gc__slot_remember_early(gc__entry_value(entries, i), value);
        if (strong_keys) GC__SLOT_ENQUEUE(many)(worker, key, value);
        if (strong_values) GC__SLOT_ENQUEUE(many)(worker, gc__entry_value(entries, i), value);
    }
}

GC__OUT_OF_LINE void gc__trace_entries(gc__worker *worker, const gc_weak_entries *entries) {
    gc__trace_entries_as(worker, entries, false);
}
GC__OUT_OF_LINE void gc__trace_entries_many(gc__worker *worker, const gc_weak_entries *entries) {
    gc__trace_entries_as(worker, entries, true);
}

/* Enqueues the slots of a stack that this collection has to look at. */
GC__INLINED void gc__trace_stack_as(gc__worker *worker, const gc__stack_part *part, bool many) {
    gc_value_stack *stack = part->stack;
    bool value = GC_HAS_VALUES && (stack->flags & GC_SLOT_VALUE);
    uintptr_t top = (uintptr_t)stack->top;
    gc__traced_check(worker->heap, stack->base, (top - (uintptr_t)stack->base) / 8, GC_SLOT_OWNED);
    if (GC__UNLIKELY(worker->edges & GC__EDGES_CANDIDATE)) gc__owner_waits(worker);
    if (many) gc__lock_take(&worker->workers->space); /* two workers may have marked the same owner */
    uintptr_t from = gc__stack_begin(stack, worker->whole_stacks ? 2 : gc__roots_generation(worker->heap));
    gc__stack_note_bounds(stack, from, part->frame);
    unsigned youth = gc__stack_youth(stack);
    if (many) gc__lock_release(&worker->workers->space);
    if (gc__ranks_need_card(gc__barrier_age(&gc__tables, gc__traced) + youth))
        gc_barrier_dirty_card(&gc__tables, (void *)gc__traced);
    for (uintptr_t at = from; at < top; at += gc__stack_entry_bytes(stack))
        GC__SLOT_ENQUEUE(many)(worker, (gc_word *)at, value);
}

GC__OUT_OF_LINE void gc__trace_stack(gc__worker *worker, const gc__stack_part *part) {
    gc__trace_stack_as(worker, part, false);
}
GC__OUT_OF_LINE void gc__trace_stack_many(gc__worker *worker, const gc__stack_part *part) {
    gc__trace_stack_as(worker, part, true);
}

/* Accepts any slot in the object's region, unless GC_DEBUG or verify looks closer. */
GC__INLINED void gc__trace_visit_as(gc_visitor *visitor, void *slot, size_t count, unsigned flags, bool many) {
    gc__worker *worker = (gc__worker *)visitor;
    gc_word *slots = (gc_word *)slot;
    bool value = GC_HAS_VALUES && (flags & GC_SLOT_VALUE);
    if (GC__UNLIKELY(((uintptr_t)slot ^ gc__traced) >> GC_REGION_SHIFT != 0) || GC_DEBUG >= 1) {
        if (flags & GC__SLOT_ENTRIES) {
            const gc_weak_entries *entries = (const gc_weak_entries *)slot;
            many ? gc__trace_entries_many(worker, entries) : gc__trace_entries(worker, entries);
            return;
        }
        if (flags & GC__SLOT_STACK) {
            const gc__stack_part *part = (const gc__stack_part *)slot;
            many ? gc__trace_stack_many(worker, part) : gc__trace_stack(worker, part);
            return;
        }
        gc__traced_check(worker->heap, slot, count, flags);
        if (flags & GC_SLOT_OWNED) gc__owner_remember(worker, slots, count, value);
    }
    for (size_t i = 0; i < count; i++) GC__SLOT_ENQUEUE(many)(worker, &slots[i], value);
}

GC__FN void gc__trace_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__trace_visit_as(visitor, slot, count, flags, false);
}
GC__FN void gc__trace_visit_many(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__trace_visit_as(visitor, slot, count, flags, true);
}

/* For trace functions of objects of which only [from, to) is scanned. Slots outside the heap belong to the part with the
   object's first word. */
typedef struct gc__part_visitor {
    gc_visitor visitor;
    gc__worker *worker;
    uintptr_t from, to;
} gc__part_visitor;

/* Which of `count` things, each from `low` to `high` and `bytes` further on than the one before it, are in the part at least
   partly: *first, and as many as are returned. */
GC__FN size_t gc__part_clip(const gc__part_visitor *part, uintptr_t low, uintptr_t high, size_t bytes, size_t count,
                            size_t *first) {
    size_t end = part->to > low ? (part->to - low + bytes - 1) / bytes : 0;
    *first = 0;
    if (!gc__in_arena(low)) return gc__traced >= part->from ? count : 0;
    if (part->from >= high) *first = (part->from - high) / bytes + 1;
    end = gc__min(end, count);
    return end > *first ? end - *first : 0;
}

GC__FN void gc__trace_visit_part(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    const gc__part_visitor *part = (const gc__part_visitor *)visitor;
    size_t first;
    if (flags & GC__SLOT_ENTRIES) {
        gc_weak_entries entries = *(const gc_weak_entries *)slot;
        entries.count = gc__part_clip(part, gc__entry_low(&entries), gc__entry_high(&entries),
                                      gc__entry_bytes(&entries), entries.count, &first);
        entries.keys = gc__entry_key(&entries, first);
        if (entries.kind != GC_WEAK_REFS) entries.values = gc__entry_value(&entries, first);
        part->worker->visitor.visit(&part->worker->visitor, &entries, 1, flags);
    } else if (flags & GC__SLOT_STACK) {
        if (gc__traced >= part->from) part->worker->visitor.visit(&part->worker->visitor, slot, count, flags);
    } else {
        count = gc__part_clip(part, (uintptr_t)slot, (uintptr_t)slot + 8, 8, count, &first);
        part->worker->visitor.visit(&part->worker->visitor, (gc_word *)slot + first, count, flags);
    }
}

GC__FN void gc__object_trace_part(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__part_visitor part = {{gc__trace_visit_part}, worker, from, to};
    worker->trace_calls++;
    gc__object_trace(object, &part.visitor);
}

GC__INLINED void gc__object_trace_all(gc__worker *worker, uintptr_t object) {
    worker->trace_calls++;
    gc__object_trace(object, &worker->visitor);
}

#if GC_HAS_MODEL
GC__FN void gc__scan(gc__worker *worker, uintptr_t object) { gc__object_trace_all(worker, object); }
GC__FN void gc__scan_inline(gc__worker *worker, uintptr_t object, bool many, bool apart) {
    (void)many, (void)apart;
    gc__scan(worker, object);
}
GC__FN void gc__scan_many(gc__worker *worker, uintptr_t object) { gc__scan(worker, object); }

GC__FN void gc__scan_range(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__object_trace_part(worker, object, from, to);
}
GC__FN void gc__scan_range_many(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__scan_range(worker, object, from, to);
}
#else
/* Loops of its own rather than functions of slots: gcc inlines those at -O2 and refuses to at -Og. */
GC__INLINED void gc__scan_elements_as(gc__worker *worker, const gc_type *type, uintptr_t first, size_t count,
                                      bool many) {
    bool value = GC_HAS_VALUES && type->element_values;
    if (type->element_bytes != 8) {
        gc__slots_of_elements(type, first, count, GC__SLOT_ENQUEUE(many), worker);
        return;
    }
    for (gc_word *slot = (gc_word *)first, *end = slot + count; slot < end; slot++)
        gc__enqueue_inline(worker, slot, value, many);
}
GC__OUT_OF_LINE void gc__scan_elements(gc__worker *worker, const gc_type *type, uintptr_t first, size_t count) {
    gc__scan_elements_as(worker, type, first, count, false);
}
GC__OUT_OF_LINE void gc__scan_elements_many(gc__worker *worker, const gc_type *type, uintptr_t first, size_t count) {
    gc__scan_elements_as(worker, type, first, count, true);
}
#define GC__SCAN_ELEMENTS(many) ((many) ? gc__scan_elements_many : gc__scan_elements)

/* Enqueues the slots in [from, to) that the type's masks show, whole elements at the least. */
GC__INLINED void gc__scan_masks_in_as(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to, bool many) {
    uintptr_t first;
    gc__slots_of_head(object, from, to, GC__SLOT_ENQUEUE(many), worker);
    size_t count = gc__elements_in(object, from, to, &first);
    if (count) GC__SCAN_ELEMENTS(many)(worker, gc__object_type(object), first, count);
}
GC__OUT_OF_LINE void gc__scan_masks_in(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__scan_masks_in_as(worker, object, from, to, false);
}
GC__OUT_OF_LINE void gc__scan_masks_in_many(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__scan_masks_in_as(worker, object, from, to, true);
}

/* Scans some of the elements in [index, end), and pushes the rest, so that their referents are scanned while they are in cache,
   and the mark stack stays short. Where several workers run, others may take the rest, or half of it. */
GC__INLINED void gc__scan_chunk_as(gc__worker *worker, uintptr_t object, size_t index, size_t end, bool many) {
    const gc_type *type = gc__object_type(object);
    if (end - index > GC__CHUNK && gc__trace_stack_room(worker, 3)) {
        *worker->top++ = end << 2 | GC__NUMBER;
        *worker->top++ = (index + GC__CHUNK) << 2 | GC__NUMBER;
        *worker->top++ = object | GC__CONTINUED;
        end = index + GC__CHUNK;
    }
    GC__SCAN_ELEMENTS(many)(worker, type, object + type->bytes + index * type->element_bytes, end - index);
}

GC__FN void gc__scan_chunk(gc__worker *worker, uintptr_t object, size_t index, size_t end) {
    gc__scan_chunk_as(worker, object, index, end, false);
}
GC__FN void gc__scan_chunk_many(gc__worker *worker, uintptr_t object, size_t index, size_t end) {
    gc__scan_chunk_as(worker, object, index, end, true);
}

typedef struct gc__written {
    gc__worker *worker;
    uintptr_t array;
    size_t next; /* the first element that was not scanned */
    bool many;
} gc__written;

/* Scans the elements of a huge array that are in a part of it. */
GC__FN void gc__scan_written_part(void *context, uintptr_t from, uintptr_t end) {
    gc__written *written = (gc__written *)context;
    const gc_type *type = gc__object_type(written->array);
    uintptr_t first = written->array + type->bytes;
    size_t index = gc__max((from - first) / type->element_bytes, written->next);
    written->next = gc__max((end - first + type->element_bytes - 1) / type->element_bytes, index);
    if (written->next == index) return;
    if (written->many)
        gc__scan_chunk_many(written->worker, written->array, index, written->next);
    else
        gc__scan_chunk(written->worker, written->array, index, written->next);
}

/* Scans the elements of a huge array; where pauses are to be short, those that were ever written to. To read the others would
   have the system find pages for them. */
GC__OUT_OF_LINE void gc__scan_huge(gc__worker *worker, uintptr_t array, bool many) {
    const gc_type *type = gc__object_type(array);
    uintptr_t first = array + type->bytes, end = first + gc__object_length(array) * type->element_bytes;
    gc__written written = {worker, array, 0, many};
    bool mapped = !worker->heap->options.memory; /* not by the host: the system may forget where shared pages are */
    if (mapped && gc__has_pause_goal(worker->heap) && !type->element_values)
        gc__os_each_written(first, end, gc__scan_written_part, &written);
    else
        gc__scan_written_part(&written, first, end);
}

/* Whether a worker must leave trace functions to the thread that collects. */
GC__FN bool gc__trace_is_for_host(const gc__worker *worker) {
    return worker->number && !worker->heap->options.parallel_trace_functions;
}

/* The trace function of an object that has just become generation 2 was called. What it reports of weak entries and values
   outside the heap is needed once more by the collection that ends the marking. If the marker may call it, that finds out whether
   there are any. */
GC__OUT_OF_LINE void gc__shade_waits(const gc__worker *worker, uintptr_t object) {
    if (!gc__is_marking(object) || gc__is_mark_end(worker->heap)) return;
    if (worker->workers) gc__lock_take(&worker->workers->space);
    if (gc__shade_may_trace(worker->heap, object))
        gc__shade_ask(worker->heap, &worker->heap->marker->grey, object, GC__NUMBER);
    else
        gc__shade_wait(worker->heap, object);
    if (worker->workers) gc__lock_release(&worker->workers->space);
}

/* Enqueues the slots that are not in the mask of references. */
GC__INLINED void gc__scan_rest_as(gc__worker *worker, uintptr_t object, bool many) {
    const gc_type *type = gc__object_type(object);
    gc__slots_of_mask(object, type->values, GC_HAS_VALUES, GC__SLOT_ENQUEUE(many), worker);
    if (gc__type_has_slots_in_elements(type)) {
        size_t length = gc__object_length(object);
        if (GC__UNLIKELY(length >= GC__HUGE_BYTES / sizeof(gc_word)))
            gc__scan_huge(worker, object, many);
        else
            many ? gc__scan_chunk_many(worker, object, 0, length) : gc__scan_chunk(worker, object, 0, length);
    }
    if (!type->trace) return;
    if (GC__UNLIKELY(worker->edges & GC__EDGES_SHADE)) gc__shade_waits(worker, object);
    if (many && gc__trace_is_for_host(worker))
        gc__workers_hand_over(worker, object, 0, 0);
    else
        gc__object_trace_all(worker, object);
}

GC__FN void gc__scan_rest(gc__worker *worker, uintptr_t object) { gc__scan_rest_as(worker, object, false); }
GC__FN void gc__scan_rest_many(gc__worker *worker, uintptr_t object) { gc__scan_rest_as(worker, object, true); }

/* `apart`: slots are handled by calls. */
GC__INLINED void gc__scan_inline(gc__worker *worker, uintptr_t object, bool many, bool apart) {
    const gc_type *type = gc__object_type(object);
    for (uint64_t mask = type->refs; mask; mask &= mask - 1)
        if (apart)
            gc__enqueue_as(worker, gc__mask_slot(object, mask), false, many);
        else
            gc__enqueue_inline(worker, gc__mask_slot(object, mask), false, many);
    if (type->values | type->element_refs | type->element_values | (uintptr_t)type->trace)
        many ? gc__scan_rest_many(worker, object) : gc__scan_rest(worker, object);
}

/* Enqueues every slot of the object. */
GC__FN void gc__scan(gc__worker *worker, uintptr_t object) { gc__scan_inline(worker, object, false, false); }
GC__FN void gc__scan_many(gc__worker *worker, uintptr_t object) { gc__scan_inline(worker, object, true, true); }

/* Enqueues the object's slots in [from, to), whole elements at the least. */
GC__INLINED void gc__scan_range_as(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to, bool many) {
    many ? gc__scan_masks_in_many(worker, object, from, to) : gc__scan_masks_in(worker, object, from, to);
    if (!gc__object_type(object)->trace) return;
    if (many && gc__trace_is_for_host(worker))
        gc__workers_hand_over(worker, object, from, to);
    else
        gc__object_trace_part(worker, object, from, to);
}

GC__FN void gc__scan_range(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__scan_range_as(worker, object, from, to, false);
}
GC__FN void gc__scan_range_many(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__scan_range_as(worker, object, from, to, true);
}
#endif

GC__INLINED void gc__fifo_drain(gc__worker *worker, bool many) {
    if (worker->fifo_drained == worker->fifo_next) return;
    for (unsigned i = 0; i < GC__FIFO; i++) {
        uintptr_t *place = &worker->fifo[worker->fifo_next++ % GC__FIFO];
        uintptr_t oldest = *place;
        *place = 0;
        if (oldest) GC__PROCESS_ONE(many)(worker, oldest);
    }
    worker->fifo_drained = worker->fifo_next;
}

/* Scans until the mark stack is empty; the FIFO may still hold slots. */
GC__FN void gc__stack_drain(gc__worker *worker) {
    while (worker->top != worker->stack) {
        uintptr_t object = *--worker->top;
#if !GC_HAS_MODEL
        if (object & GC__CONTINUED) {
            worker->top -= 2;
            gc__scan_chunk(worker, object - GC__CONTINUED, worker->top[1] >> 2, worker->top[0] >> 2);
            continue;
        }
#endif
        gc__scan_inline(worker, object, false, false);
    }
}

#if !GC_HAS_MODEL
/* The same where several workers run. False: the worker must stop, with what it holds. */
GC__FN bool gc__stack_drain_many(gc__worker *worker) {
    while (worker->top != worker->stack) {
        if (GC__UNLIKELY(--worker->until_poll == 0)) {
            if (!gc__workers_poll(worker)) return false;
            if (worker->top == worker->stack) break; /* all of it was shared */
        }
        uintptr_t object = *--worker->top;
        if (object & GC__CONTINUED) {
            worker->top -= 2;
            gc__scan_chunk_many(worker, object - GC__CONTINUED, worker->top[1] >> 2, worker->top[0] >> 2);
        } else {
            gc__scan_inline(worker, object, true, false);
        }
    }
    return true;
}
#else
/* One worker alone runs there. */
GC__FN bool gc__stack_drain_many(gc__worker *worker) {
    gc__stack_drain(worker);
    return true;
}
#endif

GC__FN void gc__rescan_marked(gc__worker *worker, const gc__region *region, const uint64_t *marks) {
    uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(marks, region->base, end);
    for (; at < end; at = gc__bit_next(marks, at + GC_OBJECT_BYTES_MIN, end)) {
        gc__scan(worker, at);
        gc__stack_drain(worker);
    }
}

/* Scans again every marked object of each overflowed region. */
GC__HOT void gc__rescan_overflowed(gc__worker *worker) {
    worker->overflowed = false;
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, worker->heap)) continue;
        uint8_t verdict = worker->verdicts[region->base >> GC_REGION_SHIFT];
        bool next_plane = verdict == GC__OLD_CONDEMNED && region->kind != GC__LARGE_REST;
        if (!region->overflowed && !(next_plane && region->unscanned & GC__UNSEEN)) continue;
        region->overflowed = false;
        if (next_plane) region->unscanned &= (uint8_t)~GC__UNSEEN;
        gc__rescan_marked(worker, region, next_plane ? gc__next_marks : gc__the_arena.marks);
        if (worker->heap->finalizer_marks && region->finalizer_marks) gc__rescan_marked(worker, region, gc__finalizer_marks);
    }
}

/* Whether mark stack and FIFO are empty and no region has overflowed. */
GC__FN bool gc__trace_is_done(const gc__worker *worker) {
    return worker->top == worker->stack && worker->fifo_drained == worker->fifo_next && !worker->overflowed;
}

/* Scans until that is so. */
GC__HOT void gc__trace_drain(gc__worker *worker) {
    for (;;) {
        do {
            gc__stack_drain(worker);
            gc__fifo_drain(worker, false);
        } while (worker->top != worker->stack);
        if (!worker->overflowed) return;
        gc__rescan_overflowed(worker);
    }
}
/* Tracing from roots, and last from what only conservative words have found. */


/* Sets the mark bits of the suspects. */
GC__HOT void gc__ambiguous_mark(gc__worker *worker) {
    gc__cycle *cycle = worker->cycle;
    for (size_t i = 0; i < cycle->pins.count; i++) {
        uintptr_t pin = cycle->pins.words[i], object = pin - GC__PIN_CONSERVATIVE;
        if (!(pin & GC__PIN_CONSERVATIVE) || !worker->verdicts[object >> GC_REGION_SHIFT]) continue;
        if (!gc__claim_mark(worker, object, false)) continue; /* by another word */
        gc__map_put(&cycle->ambiguous, object);
        worker->ambiguous = &cycle->ambiguous;
    }
}

/* Marks pinned objects, before anything could copy them. */
GC__HOT void gc__trace_pins(gc__worker *worker) {
    const gc__cycle *cycle = worker->cycle;
    gc__ambiguous_mark(worker);
    for (size_t i = 0; i < cycle->pins.count; i++) {
        uintptr_t object = cycle->pins.words[i];
        if (!(object & GC__PIN_CONSERVATIVE) && worker->verdicts[object >> GC_REGION_SHIFT])
            gc__mark_object(worker, object, false);
        else if (worker->edges & GC__EDGES_SHADE)
            gc__shade(worker, object & ~(uintptr_t)GC__PIN_CONSERVATIVE);
    }
}

/* Enqueues the objects of interior slots. */
GC__HOT void gc__trace_interior(gc__worker *worker) {
    const gc__cycle *cycle = worker->cycle;
    for (size_t i = 0; i < cycle->interior.count; i += 3)
        gc__enqueue(worker, (gc_word *)&cycle->interior.words[i + 2], false);
}

/* Traces from the gathered roots [from, end). */
GC__HOT void gc__trace_slots(gc__worker *worker, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) {
        uintptr_t root = worker->cycle->roots.words[i];
        gc__enqueue_inline(worker, (gc_word *)(root & ~(uintptr_t)1), root & 1, false);
        if (worker->top != worker->stack) gc__stack_drain(worker);
    }
}

/* Traces from the gathered roots. */
GC__FN void gc__trace_roots(gc__worker *worker) {
    gc__trace_pins(worker);
    gc__trace_slots(worker, 0, worker->cycle->roots.count);
    gc__trace_interior(worker);
    gc__trace_drain(worker);
}

/* After the trace: makes interior slots point into their objects where these are now. */
GC__HOT void gc__roots_update_interior(const gc__cycle *cycle) {
    for (size_t i = 0; i < cycle->interior.count; i += 3) {
        const uintptr_t *triple = &cycle->interior.words[i];
        gc_word *slot = (gc_word *)(triple[0] & ~(uintptr_t)1);
        *slot = gc__slot_encode(triple[2] + triple[1], *slot, triple[0] & 1);
    }
}

/* The bytes that the worker has copied. */
GC__FN size_t gc__worker_copied(const gc__worker *worker) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        bytes += worker->copied_bytes[g] + (size_t)(worker->windows[g].next - worker->windows[g].start);
    return bytes;
}

/* What all workers have copied to the generation; their windows are closed. */
GC__FN size_t gc__copied_to(const gc__worker *worker, unsigned generation) {
    size_t bytes = worker->workers ? 0 : worker->copied_bytes[generation];
    for (unsigned i = 0; worker->workers && i < worker->workers->count; i++)
        bytes += worker->workers->threads[i].worker.copied_bytes[generation];
    return bytes;
}

GC__HOT size_t gc__traced_bytes(const gc__worker *worker, const gc__region *condemned) {
    size_t bytes = worker->workers ? 0 : gc__worker_copied(worker);
    for (unsigned i = 0; worker->workers && i < worker->workers->count; i++)
        bytes += gc__worker_copied(&worker->workers->threads[i].worker);
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += worker->cycle->marked_bytes[g];
    for (; condemned; condemned = condemned->next) bytes += condemned->live_bytes;
    return bytes;
}
/* Tracing from dirty cards and remembered slots. */


/* Where the starts of an old region's objects are, until something is copied. After a cycle the first slots and cards lead to
   many regions, of which each has few: to settle all of these would make that pause as long as the heap is large. Several workers
   settle them, since one of these may look for a hole in a region in which another one looks for objects. So does one where some
   objects are marked by other bits. */
GC__INLINED const uint64_t *gc__old_starts(gc__region *region, bool many) {
    if (many || GC__UNLIKELY(region->finalizer_marks)) gc__region_flip(region);
    return gc__region_marks(region);
}

/* They are about to be asked for what lies at that address. */
GC__INLINED void gc__old_starts_await(const gc__worker *worker, uintptr_t at) {
    const uint64_t *marks = worker->heap->old_unflipped ? gc__next_marks : gc__the_arena.marks;
    __builtin_prefetch(&marks[gc__mark_index(at) >> 6]);
}

/* Scans the objects of an older region that overlap the card [from, to). */
GC__INLINED void gc__trace_card(gc__worker *worker, gc__region *region, uintptr_t from, uintptr_t to, bool many) {
    bool large = region->kind == GC__LARGE;
    uint8_t edges = worker->edges;
    uintptr_t object = gc__bit_previous(gc__old_starts(region, many), region->base, large ? region->base : from);
    if (!(edges & GC__EDGES_SHADE_CARDS)) worker->edges = gc__edges_of_dead(edges);
    if (!object) object = large ? to : gc__bit_next(gc__old_starts(region, many), from, to);
    while (object < to) {
        uintptr_t end = object + gc__object_bytes(object);
        uintptr_t until = to < end ? to : end;
        if (object >= from && end <= to)
            many ? gc__scan_many(worker, object) : gc__scan(worker, object);
        else if (end > from)
            many ? gc__scan_range_many(worker, object, from, until) : gc__scan_range(worker, object, from, until);
        object = large ? to : gc__bit_next(gc__old_starts(region, many), object + GC_OBJECT_BYTES_MIN, to);
    }
    worker->edges = edges;
}

/* Prefetches the card's memory and puts the card in the FIFO; scans the card that has waited longest. False: the worker must
   stop. */
GC__INLINED bool gc__card_prefetch_as(gc__worker *worker, uintptr_t card, bool many) {
    uintptr_t *place = &worker->cards[worker->cards_next++ % GC__CARD_FIFO], oldest = *place;
    *place = card;
    if (card) {
        gc__old_starts_await(worker, card);
        for (size_t line = 0; line < GC_CARD_BYTES; line += 64) __builtin_prefetch((const void *)(card + line));
    }
    if (!oldest) return true;
    gc__trace_card(worker, gc__region_first(gc__region_of(oldest)), oldest, oldest + GC_CARD_BYTES, many);
    if (many) return gc__stack_drain_many(worker);
    gc__stack_drain(worker);
    return true;
}

GC__HOT void gc__card_prefetch(gc__worker *worker, uintptr_t card) { gc__card_prefetch_as(worker, card, false); }
GC__FN bool gc__card_prefetch_many(gc__worker *worker, uintptr_t card) {
    return gc__card_prefetch_as(worker, card, true);
}

/* Cleans the dirty cards of [from, end), which lies in one region or bundle, and scans them; or appends them to a list, if
   there is one, and memory for it. */
GC__HOT void gc__trace_cards_of(gc__worker *worker, uintptr_t from, uintptr_t end, gc__words *list) {
    for (uintptr_t card = from; (card = gc__card_next_dirty(card, end)) < end; card += GC_CARD_BYTES) {
        gc__card_clear(card);
        if (list && gc__words_push(list, card)) continue;
        gc__card_prefetch(worker, card);
    }
}

#if GC_BUNDLE_SHIFT
/* Prefetches the bundle's part of the card table and puts the bundle in the FIFO; goes through the one that has waited
   longest. */
GC__INLINED void gc__bundle_prefetch(gc__worker *worker, uintptr_t bundle, gc__words *list) {
    const size_t bytes = (size_t)1 << GC_BUNDLE_SHIFT;
    uintptr_t *place = &worker->bundles[worker->bundles_next++ % GC__CARD_FIFO], oldest = *place;
    *place = bundle;
    if (bundle)
        for (size_t line = 0; line < bytes; line += 64 * GC__CARD_BYTE_SPAN)
            __builtin_prefetch(gc__tables.cards + ((bundle + line) >> GC_CARD_BYTE_SHIFT), 1);
    if (oldest) gc__trace_cards_of(worker, oldest, oldest + bytes, list);
}

/* Goes through the bundles of all heaps, eight at a time, which is faster than going from region to region. */
GC__HOT void gc__trace_bundles(gc__worker *worker, int condemned, gc__words *list) {
    const size_t bytes = (size_t)1 << GC_BUNDLE_SHIFT;
    size_t count = gc__regions_used() << (GC_REGION_SHIFT - GC_BUNDLE_SHIFT);
    for (size_t i = 0; i < count; i += 8) {
        uint64_t dirty = __atomic_load_n((const uint64_t *)(const void *)(gc__the_arena.bundles + i), __ATOMIC_RELAXED);
        for (; dirty; dirty &= ~((uint64_t)0xFF << (__builtin_ctzll(dirty) & 56))) {
            uintptr_t bundle = gc__the_arena.base + (i + (size_t)__builtin_ctzll(dirty) / 8) * bytes;
            gc__region *region = gc__region_of(bundle);
            if (!gc__region_is_of(region, worker->heap)) continue;
            region = gc__region_first(region);
            if (region->generation <= condemned) continue;
            if (region->kind != GC__SMALL && region->kind != GC__LARGE) continue;
            gc__bundle_clear(bundle);
            gc__bundle_prefetch(worker, bundle, list);
        }
    }
    for (int i = 0; i < GC__CARD_FIFO; i++) gc__bundle_prefetch(worker, 0, list);
}

/* How many bundles of all heaps are dirty. */
GC__HOT size_t gc__count_dirty_bundles(void) {
    size_t bits = 0, count = gc__regions_used() << (GC_REGION_SHIFT - GC_BUNDLE_SHIFT);
    for (size_t i = 0; i < count; i += 8)
        bits += (size_t)__builtin_popcountll(
            __atomic_load_n((const uint64_t *)(const void *)(gc__the_arena.bundles + i), __ATOMIC_RELAXED));
    return bits / 8;
}
#else
GC__HOT void gc__trace_bundles(gc__worker *worker, int condemned, gc__words *list) {
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, worker->heap) || region->generation <= condemned) continue;
        if (region->kind == GC__SMALL || region->kind == GC__LARGE)
            gc__trace_cards_of(worker, region->base, gc__region_end(region), list);
    }
}

GC__HOT size_t gc__count_dirty_bundles(void) { return 0; }
#endif

#if !GC_HAS_MODEL
/* Enqueues the slots in the word, as the type of its object says. Most are elements of arrays of references, or in the mask. */
GC__INLINED void gc__trace_word(gc__worker *worker, uintptr_t object, uintptr_t slot, bool many) {
    const gc_type *type = gc__object_type(object);
    size_t index = (slot - object - type->bytes) / sizeof(gc_word), word = (slot - object) / sizeof(gc_word);
    bool element = slot - object >= type->bytes && type->element_bytes == sizeof(gc_word) && type->element_refs &&
                   index < gc__object_length(object);
    if (element || (word < 64 && type->refs >> word & 1))
        GC__SLOT_ENQUEUE(many)(worker, (gc_word *)slot, false);
    else
        many ? gc__scan_masks_in_many(worker, object, slot, slot + sizeof(gc_word))
             : gc__scan_masks_in(worker, object, slot, slot + sizeof(gc_word));
}
#endif

/* Enqueues a remembered slot, as the type of its object says. A trace function would be called for each slot, so its object's
   card is dirtied instead. */
GC__INLINED void gc__trace_slot(gc__worker *worker, uintptr_t slot, bool many) {
#if !GC_HAS_MODEL
    gc__region *region = gc__region_first(gc__region_of(slot));
    if (region->candidate && worker->verdicts[slot >> GC_REGION_SHIFT]) return; /* its copy is scanned */
    uintptr_t last = region->kind == GC__LARGE ? region->base : slot;
    uintptr_t object = gc__bit_previous(gc__old_starts(region, many), region->base, last);
    if (!gc__object_type(object)->trace) {
        uint8_t edges = worker->edges;
        worker->edges = gc__edges_of_dead(edges);
        gc__trace_word(worker, object, slot, many);
        worker->edges = edges;
        return;
    }
    gc_barrier_dirty_card(&gc__tables, (const void *)slot);
    __atomic_store_n(&worker->heap->remembered->again, true, __ATOMIC_RELAXED);
#else
    (void)worker, (void)slot, (void)many;
#endif
}

/* Traces from the slots [from, end) of a list. False: the worker must stop. */
GC__INLINED bool gc__trace_slots_of_as(gc__worker *worker, const uintptr_t *slots, size_t from, size_t end, bool many) {
    for (size_t i = from; i < end + GC__FIFO; i++) {
        if (i < end) {
            __builtin_prefetch((const void *)slots[i]);
            gc__old_starts_await(worker, slots[i]);
        }
        if (i < from + GC__FIFO || !slots[i - GC__FIFO]) continue;
        gc__trace_slot(worker, slots[i - GC__FIFO], many);
        if (!many)
            gc__stack_drain(worker);
        else if (!gc__stack_drain_many(worker))
            return false;
    }
    return true;
}
GC__HOT void gc__trace_slots_of(gc__worker *worker, const uintptr_t *slots, size_t from, size_t end) {
    gc__trace_slots_of_as(worker, slots, from, end, false);
}
GC__HOT bool gc__trace_slots_of_many(gc__worker *worker, const uintptr_t *slots, size_t from, size_t end) {
    return gc__trace_slots_of_as(worker, slots, from, end, true);
}

/* Traces from the dirty cards of the generations above `condemned`, and then from so many remembered slots. Cards that are still
   needed become dirty again, as do those of such slots. */
GC__FN void gc__trace_cards(gc__worker *worker, int condemned, size_t slots) {
    unsigned before = worker->cards_next;
    worker->remember_all = true;
    gc__worker_remember(worker, true);
    gc__trace_bundles(worker, condemned, NULL);
    worker->heap->pause.dirty_cards += worker->cards_next - before;
    for (int i = 0; i < GC__CARD_FIFO; i++) gc__card_prefetch(worker, 0);
    gc__trace_drain(worker);
    if (slots) {
        gc__trace_slots_of(worker, worker->heap->remembered->slots, 0, slots);
        gc__trace_drain(worker);
    }
    gc__worker_remember(worker, false);
}

/* In the last collection of a cycle: traces from the slots that refer to leaving regions. */
GC__FN void gc__trace_candidates(gc__worker *worker) {
    const gc__marker *marker = worker->heap->marker;
    bool *again = &worker->heap->remembered->again;
    if (!gc__is_mark_end(worker->heap)) return;
    *again = false;
    gc__trace_slots_of(worker, marker->slots.words, 0, marker->slots.count);
    gc__trace_drain(worker);
    if (*again) gc__trace_cards(worker, worker->heap->cycle->plan->condemned, 0);
}

/* Cleans the dirty cards and lists them, to be scanned by any worker. All are clean before the first is scanned: what a
   worker copies into a hole dirties its card, and no other worker cleans that card afterwards. Whether there was no memory for
   some, which are scanned at once. */
GC__FN bool gc__list_cards(gc__worker *worker, int condemned, gc__words *list) {
    unsigned scanned = worker->cards_next;
    bool before = worker->remember_all;
    list->count = 0;
    worker->remember_all = true;
    gc__worker_remember(worker, true);
    gc__trace_bundles(worker, condemned, list);
    bool some = worker->cards_next != scanned;
    for (int i = 0; i < GC__CARD_FIFO; i++) gc__card_prefetch(worker, 0);
    worker->remember_all = before;
    return some;
}
/* The trace by several workers: what each of them does, how a run begins and ends, and what happens if there is no room
   for a copy in the middle of it. Units of roots and cards are claimed by a counter; all else is on mark stacks, which
   the crew shares.

   No room for a copy: every worker stops where it is, and the thread that collects goes on alone, with each worker's
   stack and windows in turn, and with all roots and cards once more. Scanning is idempotent, so nothing needs to be
   known about how far a unit was. */


#define GC__UNIT_ROOTS 64
#define GC__UNIT_CARDS 32
#define GC__UNIT_SLOTS 256
#define GC__REFUSED_RESERVE 4096 /* more slots than a worker handles before it looks whether to stop */

#if !GC_HAS_MODEL
/* The units of roots come first, then those of cards, then those of remembered slots. False: the worker must stop. */
GC__FN bool gc__work_unit(gc__worker *worker, size_t unit) {
    const gc__workers *workers = worker->workers;
    size_t slots = workers->root_units + workers->card_units;
    if (unit < workers->root_units) {
        const gc__words *roots = &worker->cycle->roots;
        size_t from = unit * GC__UNIT_ROOTS, end = gc__min(from + GC__UNIT_ROOTS, roots->count);
        for (size_t i = from; i < end; i++) {
            gc__enqueue_many(worker, (gc_word *)(roots->words[i] & ~(uintptr_t)1), roots->words[i] & 1);
            if (!gc__stack_drain_many(worker)) return false;
        }
        return true;
    }
    gc__workers_remember(worker, true);
    if (unit >= slots) {
        size_t first = (unit - slots) * GC__UNIT_SLOTS, count = gc__remembered_count(worker->heap);
        size_t end = gc__min(first + GC__UNIT_SLOTS, count);
        return gc__trace_slots_of_many(worker, worker->heap->remembered->slots, first, end);
    }
    size_t from = (unit - workers->root_units) * GC__UNIT_CARDS, end = gc__min(from + GC__UNIT_CARDS, workers->cards.count);
    for (size_t i = from; i < end + GC__CARD_FIFO; i++)
        if (!gc__card_prefetch_many(worker, i < end ? workers->cards.words[i] : 0)) return false;
    return true;
}

/* Calls the trace function of an object that was handed over. */
GC__FN void gc__work_for_host_once(gc__worker *worker) {
    gc__worker_thread *thread = &worker->workers->threads[worker->number];
    const gc__for_host item = thread->for_host[--thread->for_host_count];
    if (item.to)
        gc__object_trace_part(worker, item.object, item.from, item.to);
    else
        gc__object_trace_all(worker, item.object);
}

/* Calls the trace functions of objects that others have handed over. */
GC__FN bool gc__work_for_host(gc__worker *worker) {
    gc__worker_thread *thread = &worker->workers->threads[worker->number];
    while (!worker->number && thread->for_host_count) {
        if (worker->workers->cards.count || worker->workers->slot_units) gc__workers_remember(worker, true);
        gc__work_for_host_once(worker);
        if (!gc__stack_drain_many(worker)) return false;
    }
    return true;
}

/* Works until nothing is left of what the worker can find or holds. False: it must stop. */
GC__FN bool gc__work_some(gc__worker *worker) {
    size_t unit;
    if (!gc__work_for_host(worker)) return false;
    const gc__workers *workers = worker->workers;
    while (gc__workers_claim_unit(worker->workers, &unit)) {
        gc__workers_call(worker->workers);
        if (GC__UNLIKELY(workers->job != NULL)) {
            workers->job(workers->job_context, unit);
            gc__workers_step(worker);
        } else if (!gc__work_unit(worker, unit)) {
            return false;
        }
    }
    do {
        if (!gc__stack_drain_many(worker)) return false;
        gc__fifo_drain(worker, true);
    } while (worker->top != worker->stack);
    return true;
}

#define GC__STRIPE_WORDS ((size_t)1 << (GC__STRIPE_SHIFT - 9)) /* of marks */

GC__FN void gc__own_marks_clear_stripe(gc__worker_thread *thread, size_t piece) {
    size_t first = (piece - (gc__the_arena.base >> GC__STRIPE_SHIFT)) * GC__STRIPE_WORDS;
    memset(&thread->own_marks.words[first], 0, GC__STRIPE_WORDS * sizeof(uint64_t));
}

/* The worker's marks in the piece are not needed any more. */
GC__FN void gc__own_marks_drop(gc__worker_thread *thread, size_t piece) {
    thread->own_stripes++;
    if (!gc__words_push(&thread->stale, piece)) gc__own_marks_clear_stripe(thread, piece);
}

/* Called by a worker before it marks: its own marks of earlier runs are in its processor's cache. */
GC__FN void gc__own_marks_clear(gc__worker_thread *thread) {
    while (thread->stale.count) gc__own_marks_clear_stripe(thread, thread->stale.words[--thread->stale.count]);
}

/* Works until nobody has any work. */
GC__HOT void gc__work(gc__worker *worker) {
    do {
        gc__own_marks_clear(&worker->workers->threads[worker->number]);
        gc__work_some(worker);
        gc__workers_give_host(worker);
    } while (gc__workers_next(&worker->workers->threads[worker->number]));
}

/* Whether the pause is to be short and marks little, so that memory for own marks would take longer than locked instructions. */
GC__FN bool gc__workers_marks_little(const gc_heap *heap) {
    return gc__has_pause_goal(heap) && (heap->collection.generation < 2 || gc__is_mark_end(heap));
}

/* Gives each worker marks of its own, if there are few workers, and memory for that. */
GC__FN void gc__workers_open_marks(gc__workers *workers, const gc_heap *heap) {
    size_t words = gc__regions_used() * (GC_REGION_BYTES / 512), base = (gc__the_arena.base >> 9) * sizeof(uint64_t);
    unsigned count = (unsigned)gc__min(workers->count, workers->most);
    bool all = count <= GC__OWN_MARKS_MAX && !(workers->seed & GC__SEED_LOCKED) && !gc__workers_marks_little(heap);
    for (unsigned i = 0; i < count && all; i++) {
        gc__words *marks = &workers->threads[i].own_marks;
        if (marks->capacity >= words) continue;
        gc__own_marks_free(&workers->threads[i]);
        all = gc__words_reserve(marks, words);
        if (all && words * sizeof(uint64_t) > GC__SIDE_BYTES_SMALL)
            gc__os_prefer_huge_pages(marks->words, words * sizeof(uint64_t));
    }
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        thread->worker.own_marks = all && i < count ? (uint64_t *)((uintptr_t)thread->own_marks.words - base) : NULL;
    }
}

/* Makes the members ready for the collection. False: no memory. */
GC__FN bool gc__workers_open(gc__workers *workers, const gc__worker *first) {
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        if (!gc__words_reserve(&thread->live, gc__regions_used() << (GC_REGION_SHIFT - GC__STRIPE_SHIFT)) ||
            !gc__words_reserve(&thread->refused, GC__REFUSED_RESERVE))
            return false;
    }
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        gc__worker *worker = &thread->worker;
        if (i) *worker = *first;
        if (i) worker->memory = &thread->stack;
        worker->workers = workers;
        worker->number = i;
        worker->live = (size_t *)((uintptr_t)thread->live.words - (gc__the_arena.base >> GC__STRIPE_SHIFT) * sizeof(size_t));
        thread->poll = GC__POLL;
    }
    gc__workers_open_marks(workers, first->heap);
    __atomic_store_n(&workers->rests, false, __ATOMIC_RELAXED);
    return true;
}

/* Adds the own marks of two workers, or more, to a word of the arena's. An object that two have marked was counted by both. */
GC__FN void gc__own_marks_add(uint64_t *const *own, unsigned count, gc__region *region, size_t index) {
    uint64_t *word = &gc__the_arena.marks[index], seen = own[0][index];
    for (unsigned i = 1; i < count; i++) {
        for (uint64_t twice = own[i][index] & seen; twice; twice &= twice - 1)
            region->live_bytes -= gc__object_bytes((index * 64 + (size_t)__builtin_ctzll(twice)) * 8);
        seen |= own[i][index];
    }
    if (seen & ~*word) *word |= seen;
}

/* Adds what the workers have marked in a piece of the region to its count. If only one has, no mark was lost. */
GC__HOT void gc__workers_merge_stripe(gc__workers *workers, gc__region *region, size_t piece, size_t words) {
    gc__worker_thread *marked[GC__WORKERS_MAX];
    uint64_t *own[GC__WORKERS_MAX];
    unsigned count = 0;
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        if (!thread->worker.live[piece]) continue;
        region->live_bytes += thread->worker.live[piece];
        thread->worker.live[piece] = 0;
        own[count] = thread->worker.own_marks;
        marked[count++] = thread;
    }
    if (!count || !own[0]) return;
    for (size_t i = 0; count > 1 && i < words; i++) gc__own_marks_add(own, count, region, piece * GC__STRIPE_WORDS + i);
    for (unsigned i = 0; i < count; i++) gc__own_marks_drop(marked[i], piece);
}

/* The same for a condemned region. */
GC__HOT void gc__workers_merge_marks(gc__region *region) {
    size_t words = gc__mark_words(region), piece = region->base >> GC__STRIPE_SHIFT;
    if (region->verdict == GC__MOVE) return;
    for (size_t i = 0; i < words; i += GC__STRIPE_WORDS)
        gc__workers_merge_stripe(region->heap->collector->workers, region, piece++, gc__min(words - i, GC__STRIPE_WORDS));
}

/* The same for all old regions, in the last collection of a cycle. */
GC__HOT void gc__workers_merge_old(const gc_heap *heap) {
    gc__old_walk walk = gc__old_begin(heap, heap->cycle->condemned_old, GC__OLD_CONDEMNED);
    for (gc__region *region; (region = gc__old_next(&walk)) != NULL; region->next_live_bytes = region->live_bytes) {
        region->live_bytes = region->next_live_bytes;
        gc__workers_merge_marks(region);
    }
}

/* Traces from what a stopped worker holds. */
GC__HOT void gc__trace_left_by(gc__worker *worker, gc__worker *left) {
    gc__words *refused = &worker->workers->threads[left->number].refused;
    for (int i = 0; i < GC__FIFO; i++) {
        if (left->fifo[i]) gc__process_one(worker, left->fifo[i]);
        left->fifo[i] = 0;
    }
    for (size_t i = 0; i < refused->count; i++) gc__process_one(worker, refused->words[i]);
    refused->count = 0;
    while (left != worker && left->top != left->stack) {
        uintptr_t entry = *--left->top;
        if (entry & GC__CONTINUED) {
            left->top -= 2;
            gc__scan_chunk(worker, entry - GC__CONTINUED, left->top[1] >> 2, left->top[0] >> 2);
        } else {
            gc__scan(worker, entry);
        }
        gc__stack_drain(worker);
    }
    memset(left->cards, 0, sizeof left->cards);
}

/* Goes on alone after the run was stopped. */
GC__FN void gc__trace_with_one(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    gc__worker_thread *self = &workers->threads[0];
    bool remembers = gc__worker_remembers(worker);
    gc__workers_lock(workers); /* others may be on their way to sleep */
    while (gc__workers_take_packet(workers, worker)) continue;
    gc__workers_unlock(workers);
    gc__workers_remember(worker, remembers); /* whoever shared the last piece may not have had to */
    for (unsigned i = 0; i < workers->count; i++) gc__trace_left_by(worker, &workers->threads[i].worker);
    gc__trace_drain(worker);
    while (self->for_host_count || gc__workers_take_for_host(workers, worker)) {
        gc__work_for_host_once(worker);
        gc__trace_drain(worker);
    }
    if (!workers->units) return;
    gc__trace_slots(worker, 0, worker->cycle->roots.count);
    for (size_t i = 0; i < workers->cards.count + GC__CARD_FIFO; i++)
        gc__card_prefetch(worker, i < workers->cards.count ? workers->cards.words[i] : 0);
    const gc_heap *heap = worker->heap;
    if (workers->slot_units) gc__trace_slots_of(worker, heap->remembered->slots, 0, gc__remembered_count(heap));
    gc__trace_drain(worker);
}

GC__FN void gc__workers_set_visit(gc__workers *workers, void (*visit)(gc_visitor *, void *, size_t, unsigned)) {
    for (unsigned i = 0; i < workers->count; i++) workers->threads[i].worker.visitor.visit = visit;
}

/* Between runs no window is open: in a run each worker has regions to itself, which it takes from the same lists as the
   first one does between runs. */
GC__FN void gc__workers_close_windows(gc__workers *workers) {
    for (unsigned i = 0; i < workers->count; i++)
        for (unsigned g = 0; g < GC_GENERATIONS; g++) {
            gc__worker_close_window(&workers->threads[i].worker, g);
            workers->threads[i].worker.searched[g] = NULL;
        }
}

/* Lets the crew trace from what the first worker holds, and from `units`, until nothing is left. */
GC__FN void gc__workers_run(gc__worker *worker, size_t units, gc__region *condemned) {
    gc__workers *workers = worker->workers;
    bool overflowed = worker->overflowed;
    workers->remember_all = worker->remember_all;
    gc__workers_close_windows(workers);
    gc__workers_set_visit(workers, gc__trace_visit_many);
    for (unsigned i = 1; i < workers->count; i++) {
        gc__worker *other = &workers->threads[i].worker;
        gc__workers_remember(other, false);
        other->ambiguous = worker->ambiguous;
        other->edges |= worker->edges & (GC__EDGES_SHADE | GC__EDGES_SHADE_CARDS | GC__EDGES_CANDIDATE);
    }
    gc__workers_remember(worker, gc__worker_remembers(worker));
    workers->traces++;
    gc__workers_begin(workers, units);
    gc__work(worker);
    gc__workers_run_end(workers);
    gc__workers_close_windows(workers);
    gc__workers_set_visit(workers, gc__trace_visit);
    gc__shade_met(workers, worker);
    for (gc__region *region = condemned; region; region = region->next) gc__workers_merge_marks(region);
    if (worker->cycle->condemns_old) gc__workers_merge_old(worker->heap);
    for (unsigned i = 0; i < workers->count; i++) {
        overflowed |= workers->threads[i].worker.overflowed;
        workers->threads[i].worker.overflowed = false;
        worker->whole_stacks |= workers->threads[i].worker.whole_stacks;
    }
    /* What is left may have come from cards and slots. */
    if (workers->cards.count || workers->slot_units) gc__workers_remember(worker, true);
    if (__atomic_load_n(&workers->stop, __ATOMIC_RELAXED)) gc__trace_with_one(worker);
    worker->overflowed |= overflowed;
    gc__trace_drain(worker);
    gc__barrier_tell_untold();
}
#endif

/* Calls the job for each unit below `units`, on any thread. Several units should take longer than to wake a thread. */
GC__OUT_OF_LINE void gc__workers_each(gc__worker *worker, size_t units, void (*job)(void *context, size_t unit),
                                   void *context) {
#if !GC_HAS_MODEL
    gc__workers *workers = worker->workers;
    if (workers && !workers->forked && (units >= GC__UNITS_PER_CALL || workers->seed)) {
        workers->job = job;
        workers->job_context = context;
        gc__workers_begin(workers, units);
        gc__work(worker);
        gc__workers_run_end(workers);
        workers->job = NULL;
        return;
    }
#endif
    (void)worker;
    for (size_t i = 0; i < units; i++) job(context, i);
}

/* The same outside of a collection's trace. Heap lock held. */
GC__FN void gc__workers_each_of(gc_heap *heap, size_t units, void (*job)(void *context, size_t unit), void *context) {
    gc__workers *workers = heap->collector->workers;
    gc__worker alone, *worker = workers ? &workers->threads[0].worker : &alone;
    memset(&alone, 0, sizeof alone);
    struct gc__workers *before = worker->workers;
    worker->workers = workers && !workers->runs && gc__min(workers->count, workers->most) > 1 ? workers : NULL;
    gc__workers_each(worker, units, job, context);
    worker->workers = before;
}

#define GC__UNIT_REGIONS 64

typedef struct gc__condemned_job {
    const gc_heap *heap;
    void (*f)(gc__region *region);
} gc__condemned_job;

GC__FN void gc__condemned_unit(void *context, size_t unit) {
    const gc__condemned_job *job = (const gc__condemned_job *)context;
    size_t from = unit * GC__UNIT_REGIONS, end = gc__min(from + GC__UNIT_REGIONS, gc__regions_used());
    for (size_t i = from; i < end; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (gc__region_is_of(region, job->heap) && region->verdict) job->f(region);
    }
}

/* Calls f for each condemned region, on any thread: in a full collection, since units are parts of the arena. */
GC__HOT void gc__each_condemned(gc__worker *worker, gc__region *condemned, void (*f)(gc__region *region)) {
    if (worker->workers && worker->heap->cycle->plan->condemned == 2) {
        gc__condemned_job job = {worker->heap, f};
        size_t units = (gc__regions_used() + GC__UNIT_REGIONS - 1) / GC__UNIT_REGIONS;
        gc__workers_each(worker, units, gc__condemned_unit, &job);
        return;
    }
    for (; condemned; condemned = condemned->next) f(condemned);
}

/* Clears mark bits and cards, which is most of the work of condemning where there are many regions. */
GC__FN void gc__region_clear(gc__region *region) {
    if (region->generation > 0) gc__cards_clear(region->base, gc__region_end(region));
    if (gc__flip_is_due(region)) gc__marks_take(region, false);
    region->flip = 0;
    if (region->verdict != GC__MOVE) gc__marks_clear(region);
}

/* Keeps all objects of a young region: its mark bits become their starts. */
GC__FN void gc__region_promote_whole(gc__region *region) {
    if (region->generation > 0) gc__cards_clear(region->base, gc__region_end(region));
    region->live_bytes = gc__region_index_all(region);
}

/* Traces from what the worker holds. */
GC__FN void gc__trace_held(gc__worker *worker, gc__region *condemned) {
#if !GC_HAS_MODEL
    if (worker->workers) {
        gc__workers_run(worker, 0, condemned);
        return;
    }
#endif
    (void)condemned;
    gc__trace_drain(worker);
}

/* Traces from roots, dirty cards and remembered slots. */
GC__FN void gc__trace_all(gc__worker *worker, gc__region *condemned) {
    int above = worker->heap->cycle->plan->condemned;
    /* Then no slot refers to a young object, or to an evacuation candidate. */
    bool keeps = worker->cycle->plan->purpose == GC__YOUNG_WHOLESALE && !worker->heap->marking;
    size_t slots = above == 2 || keeps ? 0 : gc__remembered_count(worker->heap);
    worker->heap->remembered->again = false;
#if !GC_HAS_MODEL
    gc__workers *workers = worker->workers;
    if (workers) {
        gc__trace_pins(worker);
        workers->cards.count = 0;
        if (above < 2) gc__worker_remember(worker, gc__list_cards(worker, above, &workers->cards));
        gc__trace_interior(worker);
        workers->root_units = (worker->cycle->roots.count + GC__UNIT_ROOTS - 1) / GC__UNIT_ROOTS;
        workers->card_units = (workers->cards.count + GC__UNIT_CARDS - 1) / GC__UNIT_CARDS;
        workers->slot_units = (slots + GC__UNIT_SLOTS - 1) / GC__UNIT_SLOTS;
        worker->heap->pause.dirty_cards = workers->cards.count;
        gc__workers_run(worker, workers->root_units + workers->card_units + workers->slot_units, condemned);
        gc__worker_remember(worker, false);
        worker->remember_all |= above < 2;
        if (worker->heap->remembered->again) gc__trace_cards(worker, above, 0);
        workers->slot_units = 0;
        return;
    }
#endif
    (void)condemned;
    gc__trace_roots(worker);
    if (above == 2) return;
    gc__phase_begin(worker->heap, GC_PHASE_CARDS);
    gc__trace_cards(worker, above, slots);
    if (worker->heap->remembered->again) gc__trace_cards(worker, above, 0);
}

/* Traces, after everything else, from the suspects that nothing else has reached, and counts what they keep. (If the mark
   stack overflowed, some of them may have been scanned before, and their referents are not counted.) */
GC__HOT void gc__trace_ambiguous(gc__worker *worker, gc__region *condemned) {
    gc_heap *heap = worker->heap;
    gc__map *ambiguous = &worker->cycle->ambiguous;
    size_t objects = 0, bytes = 0;
    if (worker->ambiguous) {
        gc__phase_begin(heap, GC_PHASE_AMBIGUOUS);
        size_t before = gc__traced_bytes(worker, condemned);
        for (size_t i = 0; i < ambiguous->capacity; i++) {
            uintptr_t object = ambiguous->keys[i];
            if (!object || ambiguous->values[i]) continue;
            ambiguous->values[i] = true;
            objects++;
            bytes += gc__object_bytes(object);
            if (!gc__object_is_leaf(object)) gc__trace_push(worker, object);
        }
        gc__trace_held(worker, condemned);
        bytes += gc__traced_bytes(worker, condemned) - before;
    }
    heap->collection.conservative_bytes = heap->stats.conservative_bytes = bytes;
    heap->stats.conservative_objects = objects;
    heap->stats.conservative_total_bytes += bytes;
}
/* The marking of generation 2 beside mutators: what the marker does, and what collections do for it.

   A *cycle* begins in a collection of generation 1, which notes every object of generation 2 that roots and survivors refer
   to. The marker goes on from these while mutators run, and while young collections come and go: it rests in them, and
   between them holds nothing but objects of generation 2, which do not move meanwhile. The cycle ends in a collection of
   all generations, of which the old one is marked already: its regions stay, with the marker's bits instead of their former
   ones, and the trace goes on with what is grey, and with what roots, dirty cards and young objects refer to. */


#define GC__SEEN_MOST ((size_t)1 << 13) /* objects that collections have met, from which these come before grey ones */
#define GC__MARK_CHUNK 128 /* elements of an array that are scanned at a time */
#define GC__MARK_BUFFER_TAKEN ((size_t)1 << 10) /* words of the log that are taken at a time: a collection may be waiting */

/* What it takes of memory outside the regions. */
GC__FN size_t gc__marker_bytes(const gc__marker *marker) {
    return marker->log_most * sizeof *marker->log + gc__words_bytes(&marker->grey) + gc__words_bytes(&marker->seen) +
           gc__words_bytes(&marker->waiting) + gc__words_bytes(&marker->slots) + gc__words_bytes(&marker->tables) +
           gc__words_bytes(&marker->pieces) + gc__words_bytes(&marker->finalizer_grey) + gc__words_bytes(&marker->held);
}

/* Whether mutators have had another barrier meanwhile, which did not log. */
GC__FN bool gc__marker_is_spoilt(const gc_heap *heap) {
    return heap->marker->switches != __atomic_load_n(&gc__barrier_switches, __ATOMIC_RELAXED);
}

GC__FN void gc__marker_push(gc_heap *heap, uintptr_t object) {
    if (!gc__shade_push(heap, &heap->marker->grey, object)) gc__shade_unscanned(gc__region_of(object));
}

/* The word refers to generation 2: makes its object grey if it is white. The marker's lock is held. */
GC__FN void gc__marker_shade(gc_heap *heap, uintptr_t word) {
    if (gc__shade_bit(gc__next_marks, word) || !gc__shade_is_object(word)) return;
    if (gc__bit_set_shared(gc__next_marks, word)) gc__marker_push(heap, word);
}

#if !GC_HAS_MODEL
/* The bytes were found alive. The marker's lock is held. */
GC__INLINED void gc__marker_add(gc_heap *heap, uintptr_t object) {
    size_t bytes = gc__object_bytes(object), *marked = &heap->marker->marked_bytes;
    gc__region_of(object)->next_live_bytes += bytes;
    __atomic_store_n(marked, *marked + bytes, __ATOMIC_RELAXED);
}

/* The same of a marked object; what is reprieved was counted by that already. */
GC__INLINED void gc__marker_count(gc_heap *heap, uintptr_t object) {
    if (!GC__UNLIKELY(gc__is_finalizer_marked(object))) gc__marker_add(heap, object);
}

/* The object's bit has reached the cache. */
GC__INLINED void gc__marker_reach(gc_heap *heap, uintptr_t object) {
    if (gc__bit_set_shared(gc__next_marks, object)) gc__marker_push(heap, object);
}

/* Bits wait in a FIFO for their words of memory, and grey objects, once they are taken from the stack, in another: from the
   stack an object may come a long time after it was found. */
GC__INLINED void gc__marker_prefetch(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    __builtin_prefetch(&gc__next_marks[gc__mark_index(object) >> 6], 1);
    uintptr_t *place = &marker->fifo[marker->fifo_next++ % GC__FIFO], oldest = *place;
    *place = object;
    if (oldest) gc__marker_reach(heap, oldest);
}

/* Puts an object, or nothing, into the second FIFO. Returns what has waited longest there; 0: nothing. */
GC__INLINED uintptr_t gc__marker_await_next(gc__marker *marker, uintptr_t object) {
    __builtin_prefetch((const void *)object);
    uintptr_t *place = &marker->next[marker->next_next++ % GC__NEXT], oldest = *place;
    *place = object;
    return oldest;
}

/* Each slot is read once, while mutators may be storing to it. */
GC__INLINED void gc__marker_slot(void *heap, gc_word *slot, bool value) {
    uintptr_t object = gc__slot_decode(__atomic_load_n(slot, __ATOMIC_RELAXED), value);
    unsigned age = gc__in_arena(object) ? gc__barrier_age(&gc__tables, object) : 0;
    if (!(age & GC__AGE_MARKING)) return;
    if (GC__UNLIKELY(age & GC__AGE_CANDIDATE)) gc__candidates_note((gc_heap *)heap, (uintptr_t)slot, object);
    gc__marker_prefetch((gc_heap *)heap, object);
}

/* What an object's trace function reports beside mutators. Stores to slots in the object come to barriers, so that weak entries
   there can be settled when all else is marked; what lies elsewhere is for the last pause. */
typedef struct gc__marker_visitor {
    gc_visitor visitor;
    gc_heap *heap;
    gc__slot_function slot;
    bool waits, has_entries;
} gc__marker_visitor;

/* Whether the slots of all entries are in the object that is traced, those of each close together: a part of the object would
   have most entries of two long arrays. */
GC__FN bool gc__entries_are_own(const gc_weak_entries *entries) {
    uintptr_t low = gc__entry_low(entries), bytes = gc__object_bytes(gc__traced), own = gc__traced;
    uintptr_t high = gc__entry_high(entries) + (entries->count - 1) * gc__entry_bytes(entries);
    bool close = gc__entry_high(entries) - low <= GC__TABLE_SLICE;
    return close && low >= own && low < own + bytes && high > low && high <= own + bytes;
}

GC__FN void gc__marker_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__marker_visitor *concurrent = (gc__marker_visitor *)visitor;
    uintptr_t offset = (uintptr_t)slot - gc__traced, bytes = gc__object_bytes(gc__traced);
    bool value = GC_HAS_VALUES && (flags & GC_SLOT_VALUE);
    if (flags & GC__SLOT_ENTRIES) {
        const gc_weak_entries *entries = (const gc_weak_entries *)slot;
        if (entries->count) *(gc__entries_are_own(entries) ? &concurrent->has_entries : &concurrent->waits) = true;
        return;
    }
    if (offset >= bytes || count > (bytes - offset) / sizeof(gc_word)) {
        concurrent->waits |= count != 0;
        return;
    }
    for (size_t i = 0; i < count; i++) concurrent->slot(concurrent->heap, (gc_word *)slot + i, value);
}

/* Calls the object's trace function, if it may, or has the object wait for the last pause; or both. Returns whether it may. */
GC__FN bool gc__marker_trace(gc_heap *heap, uintptr_t object) {
    bool may = gc__shade_may_trace(heap, object);
    gc__marker_visitor concurrent = {{gc__marker_visit}, heap, gc__marker_slot, !may, false};
    if (may) gc__object_trace(object, &concurrent.visitor);
    if (concurrent.waits)
        gc__shade_wait(heap, object);
    else if (concurrent.has_entries)
        gc__shade_ask(heap, &heap->marker->tables, object, 0);
    return may;
}

/* Elements from `index` on; the rest is pushed on the stack. An array may be growing: what it grows by was stored to by
   barriers. */
GC__INLINED void gc__marker_elements_to(gc_heap *heap, gc__words *grey, gc__slot_function slot, uintptr_t array, size_t index) {
    const gc_type *type = gc__object_type(array);
    size_t length = __atomic_load_n(&GC__WORD(array + sizeof(gc_object)), __ATOMIC_ACQUIRE);
    size_t count = length > index ? length - index : 0;
    if (count > GC__MARK_CHUNK && gc__shade_room(heap, grey, 2)) {
        count = GC__MARK_CHUNK;
        gc__words_push(grey, index + count);
        gc__words_push(grey, array | GC__CONTINUED);
    }
    gc__slots_of_elements(type, array + type->bytes + index * type->element_bytes, count, slot, heap);
}
GC__FN void gc__marker_elements(gc_heap *heap, uintptr_t array, size_t index) {
    gc__marker_elements_to(heap, &heap->marker->grey, gc__marker_slot, array, index);
}

GC__FN void gc__marker_read(gc_heap *heap, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    if (type->trace && !gc__marker_trace(heap, object)) return;
    gc__slots_of_mask(object, type->refs, false, gc__marker_slot, heap);
    gc__slots_of_mask(object, type->values, GC_HAS_VALUES, gc__marker_slot, heap);
    if (gc__type_has_slots_in_elements(type)) gc__marker_elements(heap, object, 0);
}

GC__FN void gc__marker_scan(gc_heap *heap, uintptr_t object) {
    gc__marker_count(heap, object);
    gc__marker_read(heap, object);
}

/* An object of an unscanned region. It may be waiting already, so those with trace functions are not noted one by one. */
GC__FN void gc__marker_scan_again(gc_heap *heap, gc__region *region, uintptr_t object) {
    if (gc__object_type(object)->trace)
        gc__shade_unask(region);
    else if (!gc__object_is_leaf(object))
        gc__marker_scan(heap, object);
}

/* Scans every marked object of the next region for which there was no room. False: there is none. */
GC__FN bool gc__marker_rescan(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!marker->rescans && !__atomic_exchange_n(&marker->unscanned, false, __ATOMIC_ACQUIRE)) return false;
    for (size_t i = marker->rescans, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        uintptr_t base = gc__the_arena.base + (i << GC_REGION_SHIFT); /* a thread may be writing that of a region it takes */
        if (!(gc__barrier_age(&gc__tables, base) & GC__AGE_MARKING) || !gc__region_is_of(region, heap)) continue;
        uint8_t left = GC__UNSCANNED | GC__UNREAD, was = __atomic_fetch_and(&region->unscanned, (uint8_t)~left, __ATOMIC_ACQ_REL);
        if (!(was & left)) continue;
        uintptr_t end = gc__region_starts_end(region), at = gc__bit_next(gc__next_marks, base, end);
        for (; at < end; at = gc__bit_next(gc__next_marks, at + GC_OBJECT_BYTES_MIN, end))
            was & GC__UNREAD ? gc__marker_read(heap, at) : gc__marker_scan_again(heap, region, at);
        marker->rescans = i + 1;
        return true;
    }
    marker->rescans = 0;
    return true;
}

GC__INLINED void gc__marker_await(uintptr_t object) {
    __builtin_prefetch((const void *)object);
    __builtin_prefetch(&gc__next_marks[gc__mark_index(object) >> 6], 1);
    __builtin_prefetch(&gc__the_arena.marks[gc__mark_index(object) >> 6]);
}

/* Whether a word of the log refers to what is being marked. Ages are as they were when it was written. */
GC__FN bool gc__marker_wants(const gc_heap *heap, uintptr_t word) {
    return !(word & 7) && gc__is_marking(word) && gc__region_is_of(gc__region_of(word), heap);
}

/* Empties that entry of the log. Returns what it was; 0: its thread is about to write it, or will some time. */
GC__INLINED uintptr_t gc__marker_take_entry(gc__marker *marker, size_t at) {
    uintptr_t entry = __atomic_load_n(&marker->log[at], __ATOMIC_ACQUIRE);
    if (!entry) return 0;
    __atomic_store_n(&marker->log[at], (uintptr_t)0, __ATOMIC_RELAXED);
    marker->taken_words++;
    return entry;
}

/* Takes what was written of one piece of the log, from that entry on. Returns the first that was not. */
GC__FN size_t gc__marker_take_chunk(gc_heap *heap, size_t from, size_t end) {
    gc__marker *marker = heap->marker;
    for (; from < end; from++) {
        uintptr_t entry = gc__marker_take_entry(marker, from), ahead = 0;
        if (!entry) break;
        if (from + GC__FIFO < GC__MARK_BUFFER_WORDS) ahead = __atomic_load_n(&marker->log[from + GC__FIFO], __ATOMIC_RELAXED);
        if (ahead && gc__is_marking(~ahead)) gc__marker_await(~ahead);
        if (gc__marker_wants(heap, ~entry)) gc__marker_shade(heap, ~entry);
    }
    return from;
}

GC__FN size_t gc__marker_chunk_end(size_t entry) { return (entry | (GC__MARK_BUFFER_CHUNK - 1)) + 1; }

/* The marker will come again to the rest of a piece. If there are many, those whose threads have not filled them for longest are
   left to the next collection: else threads that do nothing would keep it from what others note. */
GC__FN void gc__marker_open_chunk(gc__marker *marker, size_t from) {
    if (marker->open_count == GC__MARK_BUFFER_OPEN) {
        unsigned first = 0;
        for (unsigned i = 1; i < GC__MARK_BUFFER_OPEN; i++)
            if (marker->open[i] < marker->open[first]) first = i;
        marker->left[marker->left_count++] = marker->open[first];
        marker->open[first] = marker->open[--marker->open_count];
    }
    marker->open[marker->open_count++] = from;
}

/* Takes what barriers have noted, about so many words at most, until a collection waits. Whether more is left of what was noted
   before. */
GC__FN bool gc__marker_take_buffer(gc_heap *heap, size_t most) {
    gc__marker *marker = heap->marker;
    size_t logged = gc__min(__atomic_load_n(&marker->logged, __ATOMIC_RELAXED), GC__MARK_BUFFER_WORDS);
    for (unsigned i = marker->open_count; i-- > 0;) {
        size_t from = marker->open[i], end = gc__marker_chunk_end(from), to = gc__marker_take_chunk(heap, from, end);
        marker->open[i] = to < end ? to : marker->open[--marker->open_count];
    }
    size_t last = gc__min(logged, marker->taken + most);
    while (marker->taken < last && !__atomic_load_n(&marker->wanted, __ATOMIC_RELAXED)) {
        size_t from = marker->taken, end = gc__marker_chunk_end(from), to = gc__marker_take_chunk(heap, from, end);
        if (to < end) gc__marker_open_chunk(marker, to);
        marker->taken = end;
    }
    return marker->taken < logged;
}

/* The log, all entries of which are empty, is as new. The world is stopped. */
GC__FN void gc__marker_renew_buffer(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->log_most = gc__max(marker->log_most, gc__min(marker->logged, GC__MARK_BUFFER_WORDS));
    marker->logged = marker->taken = 0;
    marker->open_count = marker->left_count = 0;
    gc__remembered_renew(heap->remembered);
}

/* Has the marker look at what is left in a part of the log. */
GC__HOT void gc__marker_move(gc_heap *heap, size_t from, size_t end) {
    gc__marker *marker = heap->marker;
    bool room = gc__shade_room(heap, &marker->seen, end - from);
    for (; from < end; from++) {
        uintptr_t entry = gc__marker_take_entry(marker, from);
        if (!entry || !gc__marker_wants(heap, ~entry)) continue;
        if (room)
            gc__words_push(&marker->seen, ~entry);
        else
            gc__marker_shade(heap, ~entry);
    }
}

/* Takes what barriers have noted, so that the log is empty. The world is stopped, and the marker is left to look at it. */
GC__FN void gc__marker_empty_buffer(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t end = gc__min(marker->logged, GC__MARK_BUFFER_WORDS);
    for (unsigned i = 0; i < marker->open_count; i++)
        gc__marker_move(heap, marker->open[i], gc__marker_chunk_end(marker->open[i]));
    for (unsigned i = 0; i < marker->left_count; i++)
        gc__marker_move(heap, marker->left[i], gc__marker_chunk_end(marker->left[i]));
    if (marker->taken < end) gc__marker_move(heap, marker->taken, gc__marker_chunk_end(end - 1));
    heap->pause.stored_objects += marker->taken_words;
    marker->taken_words = 0;
    if (end) gc__marker_renew_buffer(heap);
}

/* Takes some of what collections have met, and barriers before. */
GC__FN void gc__marker_take_seen(gc_heap *heap) {
    gc__words *seen = &heap->marker->seen;
    size_t from = seen->count - gc__min(seen->count, GC__FIFO);
    for (size_t i = from; i < seen->count; i++) gc__marker_await(seen->words[i]);
    for (; seen->count > from; seen->count--) gc__marker_shade(heap, seen->words[seen->count - 1]);
}

/* Has all bits that wait in the FIFO set. */
GC__FN void gc__marker_reach_all(gc_heap *heap) {
    for (unsigned i = 0; i < GC__FIFO; i++) {
        uintptr_t *place = &heap->marker->fifo[i], oldest = *place;
        *place = 0;
        if (oldest) gc__marker_reach(heap, oldest);
    }
}

/* Scans what waits in the second FIFO, until that has led to something. */
GC__FN void gc__marker_scan_waiting(gc_heap *heap) {
    const gc__words *grey = &heap->marker->grey;
    for (unsigned i = 0; i < GC__NEXT && !grey->count; i++) {
        uintptr_t object = gc__marker_await_next(heap->marker, 0);
        if (!object) continue;
        gc__marker_scan(heap, object);
        gc__marker_reach_all(heap);
    }
}

/* Finds something to scan where the stack is empty, by looking at some words. False: there is nothing. The log comes last:
   where mutators never stop noting what is marked already, the rest would never have its turn. */
GC__FN bool gc__marker_refill(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__marker_take_seen(heap);
    if (marker->seen.count) return true;
    gc__marker_reach_all(heap);
    gc__marker_scan_waiting(heap);
    if (marker->grey.count) return true;
    bool more = gc__marker_take_buffer(heap, GC__MARK_BUFFER_CHUNK);
    return more || marker->grey.count || gc__marker_rescan(heap);
}

/* Scans some objects or parts of arrays, until a collection waits. The marker's lock is held. False: nothing is left but what
   waits for the last one. */
GC__FN bool gc__marker_work(gc_heap *heap, size_t steps) {
    gc__words *grey = &heap->marker->grey;
    for (; steps && heap->marking && !__atomic_load_n(&heap->marker->wanted, __ATOMIC_RELAXED); steps--) {
        if (!grey->count || heap->marker->seen.count > GC__SEEN_MOST) {
            if (!gc__marker_refill(heap)) return false;
            continue;
        }
        uintptr_t object = grey->words[--grey->count];
        if (object & GC__CONTINUED)
            gc__marker_elements(heap, object - GC__CONTINUED, grey->words[--grey->count]);
        else if (object & GC__NUMBER)
            gc__marker_trace(heap, object - GC__NUMBER);
        else if ((object = gc__marker_await_next(heap->marker, object)) != 0)
            gc__marker_scan(heap, object);
    }
    return heap->marking;
}

/* Collections. The world is stopped, and the marker rests. */

/* Has memory for the cycle, whose tables are the same for all heaps. */
GC__FN bool gc__marker_open(gc__marker *marker) {
    if (!marker->log) marker->log = (uintptr_t *)gc__os_map(GC__MARK_BUFFER_BYTES);
    marker->left = marker->log + GC__MARK_BUFFER_WORDS;
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__next_marks) __atomic_store_n(&gc__next_marks, gc__side_reserve_bits(GC__SIDE_NEXT_MARKS), __ATOMIC_RELEASE);
    bool opened = marker->log && gc__next_marks;
    gc__lock_release(&gc__the_arena.lock);
    return opened;
}

/* A cycle begins with the collection that runs, which has not condemned anything yet. */
GC__FN void gc__marker_begin(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (heap->marking || marker->refused) return;
    if (!gc__marker_open(marker)) {
        marker->refused = true;
        gc__warn(&heap->options, "the system gives no memory to mark objects beside the program: full collections stop "
                                 "it for as long as they take");
        return;
    }
    heap->marking = true;
    size_t entries = heap->limit_bytes / 64 / sizeof *marker->log;
    marker->blind = gc__min(gc__max(entries, GC__MARK_BUFFER_BLIND_LEAST), GC__MARK_BUFFER_BLIND_MOST);
    gc__remembered_renew(heap->remembered);
    heap->stats.concurrent_cycles++;
    marker->began = heap->collection.number;
    marker->reason = heap->collection.reason;
    marker->switches = __atomic_load_n(&gc__barrier_switches, __ATOMIC_RELAXED);
    marker->began_old_bytes = heap->generation_bytes[2];
    marker->began_ns = gc__os_now_ns();
    marker->waited_ns = 0;
    marker->starved = 0;
    marker->candidates_begin = NULL;
    marker->no_finalizer_marks = marker->finalizer_marks = false;
    marker->provided_end = gc__has_many_regions(heap) ? gc__regions_used() : 0;
    for (gc__region *region = heap->old_unflipped; region; region = region->next) gc__region_flip_whole(region);
    heap->old_unflipped = NULL;
    for (const gc__region *region = heap->regions[2]; region && GC_DEBUG >= 3; region = region->next)
        GC_ASSERT(!gc__flip_is_due(region) && !region->unscanned && !region->finalizer_marks,
                  "gc.h: the region at %p keeps something of the last marking", (void *)region->base);
    gc__old_rank(heap, GC__IGNORE);
}

/* The cycle is over, by its last collection or because it is given up: forgets what was grey. */
GC__FN void gc__marker_forget(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->grey.count = marker->waiting.count = 0;
    marker->tables.count = marker->pieces.count = 0;
    marker->table_next = marker->table_from = marker->slice_next = marker->slice_kept = 0;
    memset(marker->fifo, 0, sizeof marker->fifo);
    memset(marker->next, 0, sizeof marker->next);
    gc__marker_empty_buffer(heap);
    marker->seen.count = 0;
    marker->slots.count = 0;
    marker->unscanned = marker->unasked = false;
    marker->rescans = 0;
    __atomic_store_n(&marker->done, false, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->threads->asked, false, __ATOMIC_RELAXED);
}

/* Gives a cycle up; all regions are in the heap's lists. */
GC__FN void gc__marker_abort(gc_heap *heap) {
    if (!heap->marking) return;
    heap->marking = false;
    for (gc__region *region = heap->regions[2]; region; region = region->next) {
        gc__marks_take(region, false);
        gc__finalizer_marks_clear(region);
        region->next_live_bytes = 0;
        region->unscanned = 0;
        region->candidate = false;
        gc__region_set_rank(region, gc__age_of(heap, 2), true);
    }
    heap->marker->finalizer_grey.count = heap->marker->held.count = 0;
    heap->marker->finalizer_marks = false;
    gc__marker_forget(heap);
}

/* Drops from `seen` what is no object of those that the cycle began with, and what is marked already, as most of it is. */
GC__HOT void gc__marker_sift_seen(gc_heap *heap) {
    gc__words *seen = &heap->marker->seen;
    size_t kept = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (i + GC__FIFO < seen->count) gc__marker_await(seen->words[i + GC__FIFO]);
        uintptr_t word = seen->words[i];
        if (!gc__shade_bit(gc__next_marks, word) && gc__shade_is_object(word)) seen->words[kept++] = word;
    }
    seen->count = kept;
}

/* An object waits anew in each collection that meets a leaving object in its slots elsewhere: most repetitions are dropped. */
GC__HOT void gc__marker_sift_waiting(gc_heap *heap) {
    gc__words *waiting = &heap->marker->waiting;
    uintptr_t met[256] = {0}; /* by a hash of the address */
    size_t kept = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        uintptr_t object = waiting->words[i], *place = &met[(object >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 56];
        if (*place != object) waiting->words[kept++] = object;
        *place = object;
    }
    waiting->count = kept;
}

#define GC__WAITED_MOST 8 /* times what it has grown by */

/* By how much generation 2 would have grown during the marking if mutators had not waited for it. */
GC__FN size_t gc__marker_growth(const gc__marker *marker, size_t grown) {
    uint64_t took = gc__ns_since(gc__os_now_ns(), marker->began_ns), ran = took - gc__min(took, marker->waited_ns);
    return (size_t)((double)grown * (double)took / (double)gc__max(ran, took / GC__WAITED_MOST + 1));
}

/* The last collection has traced the young generations. From now on barriers and the collector are as at other times. */
GC__FN void gc__marker_finish(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t old = heap->generation_bytes[2];
    marker->grown_bytes = gc__marker_growth(marker, old - gc__min(old, marker->began_old_bytes));
    gc__marker_empty_buffer(heap);
    gc__marker_sift_seen(heap);
    gc__marker_sift_waiting(heap);
    heap->stats.concurrent_finished++;
    heap->stats.concurrent_lost += !marker->done;
    heap->stats.concurrent_marked_bytes += marker->marked_bytes;
    marker->last_bytes = marker->done ? marker->marked_bytes : 0;
    marker->last_old_bytes = marker->done ? marker->began_old_bytes : 0;
    heap->stats.concurrent_waited += marker->waiting.count;
    heap->pause.waiting_objects = marker->waiting.count;
    heap->pause.left_objects = marker->grey.count + marker->seen.count;
    if (!marker->done) heap->pause.degenerated = heap->cycle->plan->request.degenerated;
    heap->marking = false;
}

/* What is known of a leaving region's objects is of no use any more: those that live are copied. Of regions that have just become
   old nothing is left to do. */
GC__FN void gc__marker_drop_bits(gc__region *region) {
    if (region->generation < 2) return;
    gc__marks_take(region, false);
    region->next_live_bytes = 0;
    region->unscanned = 0;
}

/* In the last collection the regions of generation 2 that do not leave are condemned with what was marked in them: the marker's
   bits are their mark bits, and `next_live_bytes` counts them. Their descriptors are as they were until the sweep. */
GC__FN void gc__marker_condemn_old(gc_heap *heap) {
    heap->cycle->condemned_old = heap->regions[2];
    heap->cycle->condemns_old = true;
    gc__old_rank(heap, GC__OLD_CONDEMNED);
    heap->regions[2] = NULL;
}

/* Whether what lives of the object's region is copied, and scanned then. */
GC__FN bool gc__marker_evacuates(uintptr_t object) { return gc__region_of(object)->candidate; }

/* An entry of the stack. What was not begun was not counted either. */
GC__FN void gc__marker_hand_grey_over(gc__worker *worker, uintptr_t entry) {
    uintptr_t object = entry & ~(uintptr_t)(GC__CONTINUED | GC__NUMBER);
    gc__region *region = gc__region_of(object);
    if (region->candidate) return;
    if (entry == object && !gc__is_finalizer_marked(object)) region->next_live_bytes += gc__object_bytes(object);
    gc__trace_push(worker, object);
}

/* The last collection goes on with what is grey. */
GC__HOT void gc__marker_hand_over(gc__worker *worker) {
    gc__marker *marker = worker->heap->marker;
    for (unsigned i = 0; i < GC__FIFO; i++)
        if (marker->fifo[i] && !gc__marker_evacuates(marker->fifo[i])) gc__mark_old(worker, marker->fifo[i]);
    for (size_t i = 0; i < marker->seen.count; i++)
        if (!gc__marker_evacuates(marker->seen.words[i])) gc__mark_old(worker, marker->seen.words[i]);
    for (unsigned i = 0; i < GC__NEXT; i++)
        if (marker->next[i]) gc__marker_hand_grey_over(worker, marker->next[i]);
    for (size_t i = marker->grey.count; i > 0; i--) {
        uintptr_t entry = marker->grey.words[i - 1];
        if (entry & GC__CONTINUED) i--;
        gc__marker_hand_grey_over(worker, entry);
    }
    for (size_t i = 0; i < marker->waiting.count; i++) /* but for dead ones, which a dirty card has led to */
        if (!gc__marker_evacuates(marker->waiting.words[i]) && gc__address_after_trace(marker->waiting.words[i]))
            gc__trace_push(worker, marker->waiting.words[i]);
    worker->overflowed |= marker->unscanned || marker->unasked || marker->rescans;
    gc__marker_forget(worker->heap);
}
#endif
/* Objects that live on only since dead ones with finalizers refer to them, or are these: they are *reprieved*.

   When the marker has reached all that it can, what is white and has a finalizer will most likely become due. So it goes on
   from there, and sets bits in gc__finalizer_marks, not among its marks: whether such an object is dead the last collection of the
   cycle finds out, after which references to it from weak handles are gone. From when finalizers have their turn there, those
   bits count as marks, and what they show need not be traced.

   Invariant: by then each reprieved object's referents are young, marked, or reprieved, or leave, and it was counted in its
   region; or it is in `reprieved`, the marker's stack of those that it has not scanned, or in `held`: of these some refer to
   leaving regions, and those with trace functions may report weak entries, or must not be scanned beside mutators. A store into
   a reprieved object, which a mutator can only have found by a weak handle, shades both references as any other does. */


#if !GC_HAS_MODEL
/* Has the bits. False: nothing can be reprieved in this cycle. The marker's lock is held. */
GC__FN bool gc__finalizer_marks_open(gc__marker *marker) {
    if (marker->no_finalizer_marks) return false;
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__finalizer_marks) gc__finalizer_marks = gc__side_reserve_bits(GC__SIDE_FINALIZER_MARKS);
    gc__lock_release(&gc__the_arena.lock);
    marker->no_finalizer_marks = !gc__finalizer_marks;
    return gc__finalizer_marks != NULL;
}

/* Reprieves an object of generation 2 that stays, unless it is marked. */
GC__FN void gc__finalizer_mark(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    gc__region *region = gc__region_of(object);
    if (gc__bit_get(gc__next_marks, object) || gc__is_finalizer_marked(object)) return;
    region->finalizer_marks = marker->finalizer_marks = true;
    gc__finalizer_marks[gc__mark_index(object) >> 6] |= (uint64_t)1 << (gc__mark_index(object) & 63);
    __builtin_prefetch((const void *)object);
    if (!gc__shade_push(heap, &marker->finalizer_grey, object)) marker->no_finalizer_marks = true;
}

GC__INLINED void gc__finalizer_mark_slot(void *heap, gc_word *slot, bool value) {
    uintptr_t object = gc__slot_decode(__atomic_load_n(slot, __ATOMIC_RELAXED), value);
    if (!gc__is_marking(object)) return;
    if (gc__is_candidate(object))
        ((gc_heap *)heap)->marker->holds = true;
    else
        gc__finalizer_mark((gc_heap *)heap, object);
}

GC__FN void gc__finalizer_mark_elements(gc_heap *heap, uintptr_t array, size_t index) {
    gc__marker_elements_to(heap, &heap->marker->finalizer_grey, gc__finalizer_mark_slot, array, index);
}

/* What the object reports or, if the marker must not ask it, whether all is left to the last collection. */
GC__FN bool gc__finalizer_mark_trace(gc_heap *heap, uintptr_t object) {
    gc__marker_visitor concurrent = {{gc__marker_visit}, heap, gc__finalizer_mark_slot, false, false};
    if (!gc__shade_may_trace(heap, object)) return false;
    gc__object_trace(object, &concurrent.visitor);
    heap->marker->holds |= concurrent.waits || concurrent.has_entries;
    return true;
}

/* The object, or a part of it, was scanned. */
GC__FN void gc__finalizer_mark_hold(gc_heap *heap, uintptr_t object) {
    gc__marker *marker = heap->marker;
    if (marker->holds && !gc__shade_push(heap, &marker->held, object)) marker->no_finalizer_marks = true;
    marker->holds = false;
}

GC__FN void gc__finalizer_mark_scan(gc_heap *heap, uintptr_t object) {
    const gc_type *type = gc__object_type(object);
    if (!type->trace || gc__finalizer_mark_trace(heap, object)) {
        gc__slots_of_mask(object, type->refs, false, gc__finalizer_mark_slot, heap);
        gc__slots_of_mask(object, type->values, GC_HAS_VALUES, gc__finalizer_mark_slot, heap);
        if (gc__type_has_slots_in_elements(type)) gc__finalizer_mark_elements(heap, object, 0);
    } else {
        heap->marker->holds = true;
    }
    gc__finalizer_mark_hold(heap, object);
}

/* Counts the object, which is scanned unless it was marked since. */
GC__FN void gc__finalizer_mark_look(gc_heap *heap, uintptr_t object) {
    gc__marker_add(heap, object);
    if (!gc__bit_get(gc__next_marks, object)) gc__finalizer_mark_scan(heap, object);
}

/* Scans some of what is reprieved, until a collection waits. The marker's lock is held. Returns whether more is left. */
GC__FN bool gc__finalizer_marks_work(gc_heap *heap, size_t steps) {
    gc__marker *marker = heap->marker;
    gc__words *grey = &marker->finalizer_grey;
    for (; steps && grey->count && !__atomic_load_n(&marker->wanted, __ATOMIC_RELAXED); steps--) {
        uintptr_t object = grey->words[--grey->count];
        if (!(object & GC__CONTINUED)) {
            gc__finalizer_mark_look(heap, object);
            continue;
        }
        object -= GC__CONTINUED;
        gc__finalizer_mark_elements(heap, object, grey->words[--grey->count]);
        gc__finalizer_mark_hold(heap, object);
    }
    return grey->count != 0;
}

/* There is no memory: what is not marked is left to the last collection. The marker's lock is held, or the world is stopped. */
GC__FN void gc__finalizer_marks_drop(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->finalizer_grey.count = marker->held.count = 0;
    marker->finalizer_marks = false;
    for (size_t i = 0, used = gc__regions_used(); i < used; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, heap) || !region->finalizer_marks) continue;
        gc__finalizer_marks_clear(region);
        __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    }
}

/* A full collection that stops the program is about to condemn everything, and knows all objects by their marks alone. */
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) {
    for (gc__region *region = heap->regions[2]; region; region = region->next)
        if (region->finalizer_marks) gc__region_flip_whole(region);
}

/* In the last collection of a cycle: from now on what is reprieved counts as reached, and the trace goes on with what the marker
   has not scanned of it. */
GC__FN void gc__finalizer_marks_count(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    gc__marker *marker = heap->marker;
    gc__words *grey = &marker->finalizer_grey;
    heap->finalizer_marks = marker->finalizer_marks;
    while (grey->count) {
        uintptr_t entry = grey->words[--grey->count], object = entry & ~(uintptr_t)GC__CONTINUED;
        if (entry != object)
            grey->count--;
        else
            gc__region_of(object)->next_live_bytes += gc__object_bytes(object);
        gc__trace_push(worker, object);
    }
    for (size_t i = 0; i < marker->held.count; i++) gc__trace_push(worker, marker->held.words[i]);
    marker->held.count = 0;
}
#else
GC__HOT void gc__finalizer_marks_end(const gc_heap *heap) { (void)heap; }
GC__FN void gc__finalizer_marks_count(gc__worker *worker) { (void)worker; }
#endif
/* Phase "condemn": which regions this collection looks at, and what it does with each. */


#define GC__SURVIVAL_HIGH 60   /* percent predicted to survive from which a region is promoted in place, not copied */
#define GC__SURVIVAL_FULL 90   /* and from which full regions are, where survivors become old at once */
#define GC__DENSITY_SPARSE 25  /* percent live up to which an old region is evacuated */
#define GC__DENSITY_TIGHT 75   /* the same where the heap is near its limit or a fifth of it is holes */
#define GC__HOLE_COST 6        /* times what marking them costs, to allocate bytes in holes */
#define GC__DENSITY_RECYCLE 85 /* percent live below which a region that cannot be evacuated is allocated into again */

GC__FN unsigned gc__density(const gc__region *region) {
    size_t percent = region->live_bytes * 100 / GC_REGION_BYTES;
    return percent < 100 ? (unsigned)percent : 100;
}

/* Whether the nursery and copying its survivors will soon not fit under the limit any more. */
GC__FN bool gc__is_tight(const gc_heap *heap) {
    return heap->options.heap_bytes_max &&
           gc__regions_left(heap) < gc__limit_regions(heap) / 4 + 2 * (heap->pace->nursery_bytes >> GC_REGION_SHIFT);
}

/* Expects as much of each generation to survive as did lately. A full collection knows no difference between generations 1 and 2.
   It also expects, of the objects that the last one left, no more to be dead than was allocated and kept since: so right after a
   full collection densities are exact. */
GC__FN void gc__predict_survival(gc_heap *heap, gc__plan *plan) {
    int generation = plan->condemned;
    size_t old = heap->generation_bytes[1] + heap->generation_bytes[2] + heap->nursery_survivor_bytes;
    size_t since = old + gc__counted(&heap->generation_bytes[0]);
    unsigned least = heap->full_bytes < since ? (unsigned)(heap->full_bytes / (since / 100 + 1)) : 100;
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        plan->predicted[g] = heap->pace->survival[g && generation == 2 ? 2 : g];
        if (g && generation == 2 && plan->predicted[g] < least) plan->predicted[g] = least;
    }
}

/* The bytes that the region's objects take at most. */
GC__FN size_t gc__used_bytes(const gc__region *region) {
    if (!region->linear) return region->live_bytes;
    if (!region->formatted) return region->top - region->base;
    return region->live_bytes + region->taken_bytes;
}

/* The part of them that has survived a collection, in a region of generation 0 where mutators allocate in holes. */
GC__FN size_t gc__survivor_bytes(const gc_heap *heap, const gc__region *region) {
    return region->formatted && !heap->options.non_generational ? region->live_bytes : 0;
}

/* How many of the region's bytes are expected to survive. */
GC__FN size_t gc__predicted_bytes(const gc_heap *heap, const gc__region *region) {
    size_t survivors = gc__survivor_bytes(heap, region);
    return survivors / 100 * heap->cycle->plan->predicted[2] +
           (gc__used_bytes(region) - survivors) / 100 * heap->cycle->plan->predicted[region->generation];
}

/* The same, but rather too many than too few. */
GC__FN size_t gc__most_bytes(const gc_heap *heap, const gc__region *region) {
    size_t used = gc__used_bytes(region), survivors = gc__survivor_bytes(heap, region);
    return region->linear ? survivors + (used - survivors) / 200 * (100 + heap->cycle->plan->predicted[0]) : used;
}

/* The share of the region's memory that is expected to survive; of a young region's objects, unless room is short. */
GC__FN unsigned gc__predicted_percent(const gc_heap *heap, const gc__region *region) {
    const gc__plan *plan = heap->cycle->plan;
    bool young = region->linear && !region->formatted;
    if (young && !plan->tight && !plan->promotes_in_place) return plan->predicted[0];
    return (unsigned)gc__min(100, gc__predicted_bytes(heap, region) / (GC_REGION_BYTES / 100));
}

/* Whether the region's objects have survived a collection, so that its density is known. */
GC__FN bool gc__is_survivor(const gc_heap *heap, const gc__region *region) {
    return region->generation == 2 || (heap->options.non_generational && (!region->linear || region->formatted));
}

/* The room for copies in the region's holes of at least so many bytes: something of each stays unused. */
GC__HOT size_t gc__hole_room(gc__region *region, size_t least) {
    size_t bytes = 0;
    uintptr_t from, end;
    if (!gc__is_by_marks(region)) return 0;
    region->hole = region->base;
    while ((from = gc__hole_by_marks(region, least, &end)) != 0) bytes += (end - from) - least / 2;
    region->hole = region->base;
    return bytes;
}

/* The bytes of objects, as the last collection has left them, and of those allocated since. */
GC__FN size_t gc__objects_bytes(const gc_heap *heap) {
    return gc__counted(&heap->generation_bytes[0]) + heap->nursery_survivor_bytes + heap->generation_bytes[1] +
           heap->generation_bytes[2];
}

/* The bytes that copies may take up to the goal, but enough to free some of the holes: a 24th of what lives, or where the heap
   grows by less than as much, and comes near its goal often, an 8th. As many as they like if all is to be compacted. */
GC__FN size_t gc__goal_left(const gc_heap *heap) {
    if (heap->collection.compacting || heap->collection.generation < 2) return SIZE_MAX;
    size_t used = gc__bytes_in_use(heap) - gc__external_bytes(heap), holes = used - gc__min(used, gc__objects_bytes(heap));
    bool grows = heap->pace->full_threshold - heap->pace->full_live_bytes >= heap->pace->full_live_bytes / 8 * 7;
    return gc__max(gc__bytes_to_goal(heap), gc__min(heap->full_bytes / (grows ? 24 : 8), holes) + GC_REGION_BYTES);
}

/* Whether packing regions makes room for `bytes`, and not too little for its time. */
GC__HOT bool gc__is_worth_sliding(const gc_heap *heap, size_t bytes) {
    size_t holes = 0, used = 0;
    bool moves = !heap->options.non_moving && !heap->options.stress, gives = !gc__supply_is_host() || gc__supply.discard != NULL;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next)
            if (gc__is_by_marks(region)) holes += GC_REGION_BYTES - region->live_bytes, used += GC_REGION_BYTES;
    return moves && gives && holes >= gc__max(bytes, used / GC__SLIDE_WORTH);
}

/* How much small objects are together: the sum of the squares of each region's bytes, in regions' worth of bytes. A compaction
   that makes it grow brings the next ones nearer to a free region, if it has not made one. */
GC__HOT size_t gc__clustered_bytes(const gc_heap *heap) {
    size_t packed = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next)
            if (region->kind == GC__SMALL && !region->fixed)
                packed += gc__used_bytes(region) * gc__used_bytes(region) >> GC_REGION_SHIFT;
    return packed;
}

/* Decides the generation that survivors of each generation will be in: one older; the oldest, if the heap is compacted
   because it is full, since regions of another generation would be filled in part only, and if that spares most of them a
   second pause. */
GC__COLD void gc__plan_tenuring(const gc_heap *heap, gc__plan *plan) {
    bool for_limit = plan->into_holes || (plan->request.reason == GC_REASON_LIMIT && plan->request.compacting);
    bool at_once = heap->collection.generation > 0 && heap->pace->tenures_at_once;
    bool all = for_limit || at_once || plan->ages_all || plan->purpose == GC__YOUNG_WHOLESALE;
    bool ages = !heap->options.non_generational;
    for (int g = 0; g < GC_GENERATIONS; g++) plan->promote_to[g] = (uint8_t)(!ages ? 0 : all || g == 2 ? 2 : g + 1);
    plan->promotes_huge = ages && heap->collection.generation > 0 && gc__has_pause_goal(heap);
}

GC__FN uint8_t gc__target_generation(const gc__plan *plan, const gc__region *region) {
    bool huge = plan->promotes_huge && gc__is_huge(region) && GC__WORD(region->base) && !gc__object_is_leaf(region->base);
    return huge ? 2 : plan->promote_to[region->generation];
}

/* The small regions of a heap, by the percentage of them that is predicted to live. */
typedef struct gc__space {
    size_t live[101], regions[101];
    size_t likely[101];            /* of the former, what is expected to live */
    size_t rooms[101];             /* in their holes, if copies may go there */
    size_t staying, staying_holes; /* bytes of objects and of holes in regions that stay because of pins */
    size_t staying_gaps;           /* of those holes, no more than the objects between them */
    size_t wanted;                 /* bytes of what should be evacuated */
    size_t young;                  /* the part of all of them that goes to generation 1 */
} gc__space;

/* Whether pins are in most regions. Then to evacuate the others' objects there would free next to no region, only holes, which
   mutators can have without that. A compaction does it all the same, since it makes large holes of small ones. */
GC__HOT bool gc__is_pin_fragmented(const gc_heap *heap, const gc__plan *plan) {
    size_t pinned = 0, regions = 0;
    if (!heap->cycle->pins.count || plan->condemned < 2 || plan->request.compacting) return false;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            if (region->kind != GC__SMALL) continue;
            regions++;
            pinned += region->pinned;
        }
    return pinned > regions / 4 * 3;
}

/* Whether the region stays because of that. */
GC__FN bool gc__is_staying(const gc_heap *heap, const gc__region *region) {
    return heap->cycle->plan->pin_fragmented && region->pinned && (!region->linear || region->formatted);
}

/* Surveys the generations that will be condemned. */
GC__HOT void gc__space_survey(const gc_heap *heap, const gc__plan *plan, gc__space *space) {
    memset(space, 0, sizeof *space);
    for (int g = 0; g <= plan->condemned; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            if (region->kind != GC__SMALL || region->fixed) continue;
            size_t bytes = gc__most_bytes(heap, region);
            int percent = (int)gc__predicted_percent(heap, region);
            if (gc__is_staying(heap, region)) {
                space->staying += bytes;
                space->staying_holes += GC_REGION_BYTES - bytes;
                space->staying_gaps += gc__min(GC_REGION_BYTES - bytes, bytes);
                continue;
            }
            space->live[percent] += bytes;
            space->likely[percent] += gc__predicted_bytes(heap, region);
            space->regions[percent]++;
            if (percent <= plan->evacuate_old || percent <= plan->evacuate_young) space->wanted += bytes;
            if (g == 0 && plan->promote_to[0] == 1) space->young += bytes;
        }
}

/* The bytes of holes for the survivors of a young collection: half of what was not searched yet, for the rest may be in
   holes that are too small. */
GC__HOT size_t gc__holes_for_copies(const gc_heap *heap, int generation) {
    size_t bytes = heap->old_holes.bytes / 2;
    for (int g = generation + 1; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next)
            if (region->kind == GC__SMALL && !region->linear)
                bytes += (gc__region_end(region) - region->hole) / 200 * (100 - gc__density(region));
    return bytes;
}

/* The mean size of survivors. */
GC__HOT size_t gc__mean_bytes(const gc_heap *heap) {
    size_t bytes = 0, objects = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            if (!gc__is_by_marks(region)) continue;
            bytes += region->live_bytes;
            objects += gc__marks_count(region);
        }
    return objects ? bytes / objects : 0;
}

/* Has copies go to holes of regions that stay. A region is evacuated at the price of the room that its own holes would be. */
GC__HOT size_t gc__plan_holes(gc_heap *heap, gc__plan *plan, gc__space *space) {
    size_t least = GC__HOLE_BYTES_LISTED, room = 0;
    if (plan->request.large_holes_only) least = gc__max(least, GC_REGION_BYTES / 16);
    plan->into_holes = least;
    plan->into_holes_mean = gc__max(least, gc__mean_bytes(heap));
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next) {
            size_t bytes = gc__hole_room(region, plan->into_holes_mean);
            if (!bytes) continue;
            room += bytes;
            space->rooms[gc__predicted_percent(heap, region)] += bytes;
        }
    return room;
}

/* Limits evacuation to copies that fit under the limit, the sparsest regions first; of the regions at the last percentage,
   as many as fit. An object that finds no room stays in place, and if that happened in every region, none would come free.
   Copies of the youngest objects go to a region of their own, whose free end nothing else can use. Only if there are too
   few regions for all that a compaction should move do copies go to holes. What is expected to be copied must fit into the goal,
   too. */
GC__HOT void gc__fit_evacuation(gc_heap *heap, gc__plan *plan, gc__space *space) {
    size_t left = gc__regions_left(heap) << GC_REGION_SHIFT;
    size_t unused = (GC_REGION_BYTES - space->young % GC_REGION_BYTES) % GC_REGION_BYTES;
    if (plan->condemned < 2) {
        left += gc__holes_for_copies(heap, plan->condemned);
    } else if (plan->request.compacting && plan->moves && !plan->moves_all && space->wanted + unused > left) {
        left += gc__plan_holes(heap, plan, space);
        unused = 0;
    }
    left -= gc__min(left, unused);
    size_t goal = gc__goal_left(heap);
    int percent = 0;
    for (; percent <= 100; percent++) {
        size_t takes = space->live[percent] + space->rooms[percent];
        if (takes > left || space->likely[percent] > goal) break;
        left -= takes;
        goal -= space->likely[percent];
    }
    size_t bytes = left; /* of those at the last percentage, the part that the goal has room for */
    if (percent <= 100 && space->likely[percent] > goal)
        bytes = gc__min(left, (size_t)((double)goal / (double)space->likely[percent] * (double)space->live[percent]));
    plan->evacuate_partly = percent;
    plan->evacuate_partly_bytes = bytes;
    plan->evacuate_old_partly = percent <= plan->evacuate_old;
    plan->evacuate_young_partly = percent <= plan->evacuate_young;
    if (plan->evacuate_old >= percent) plan->evacuate_old = percent - 1;
    if (plan->evacuate_young >= percent) plan->evacuate_young = percent - 1;
}

/* Whether this full collection is the last one that stops the program, for want of room, before marking beside it is tried
   again. */
GC__FN bool gc__plan_resumes_cycles(const gc_heap *heap) {
    return heap->options.concurrent == GC_CONCURRENT_ON && heap->pace->degenerated == 1;
}

/* Whether mutators should allocate in holes, which costs some times what marking as many bytes does: if that is less than what
   collections cost that come sooner because only what evacuation frees is allocated. Then they have all holes. A heap with a goal
   for pauses keeps them for promotion: young collections would have to look at them all. */
GC__HOT void gc__plan_recycling(const gc_heap *heap, gc__plan *plan, const gc__space *space) {
    if (plan->request.room_for > GC_LARGE_BYTES || gc__has_pause_goal(heap) || gc__plan_resumes_cycles(heap)) return;
    size_t live = space->staying, copied = 0, holes = space->staying_holes, gaps = space->staying_gaps;
    size_t freed = gc__regions_left(heap) << GC_REGION_SHIFT;
    if (plan->pin_fragmented) freed = gc__min(freed, gc__bytes_to_goal(heap));
    for (int percent = 0; percent <= 100; percent++) {
        size_t free = (space->regions[percent] << GC_REGION_SHIFT) - space->live[percent];
        bool evacuated = percent <= plan->evacuate_old;
        live += space->live[percent];
        copied += evacuated ? space->live[percent] : 0;
        freed += evacuated ? free : 0;
        holes += evacuated || percent == 100 ? 0 : free;
        gaps += evacuated || percent == 100 ? 0 : gc__min(free, space->live[percent]);
    }
    if (heap->options.heap_bytes_max) freed -= gc__min(freed, gc__evacuation_reserve_of(heap, live) << GC_REGION_SHIFT);
    double often = (double)(live + copied), seldom = (double)live + GC__HOLE_COST * (double)gaps;
    if (holes && often * (double)(freed + holes) > seldom * (double)freed) plan->recycle_below = 100;
}

/* Whether more than a fifth of what small old objects take is holes. */
GC__FN bool gc__is_mostly_used(const gc__small_regions *old) { return 4 * old->used_bytes <= 5 * old->live_bytes; }

GC__HOT bool gc__is_fragmented(const gc_heap *heap) {
    gc__small_regions old = {0, 0};
    for (const gc__region *region = heap->regions[2]; region; region = region->next) gc__small_regions_add(&old, region);
    return !gc__is_mostly_used(&old);
}

/* Whether a heap that moves nothing is spread over much more memory than its objects take. Until then, and under stress, which
   is to find stores into old objects, survivors grow older as in any heap. */
GC__FN bool gc__is_spread(const gc_heap *heap) {
    size_t used = gc__bytes_in_use(heap) - gc__external_bytes(heap);
    return used > gc__objects_bytes(heap) + heap->pace->nursery_bytes + 4 * GC_REGION_BYTES;
}

/* Whether all objects that could be moved are old and in one region, so that copies of them would take as much. */
GC__FN bool gc__is_one_region(const gc_heap *heap) {
    unsigned found = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region && found < 2; region = region->next)
            if (region->kind == GC__SMALL && !region->fixed) found += g == 2 ? 1 : 2;
    return found == 1;
}

/* Whether it is the limit that the heap meets, rather than its goal. */
GC__FN bool gc__is_limited(const gc_heap *heap) {
    return heap->options.heap_bytes_max &&
           (heap->goal_bytes >= heap->limit_bytes || heap->collection.reason == GC_REASON_LIMIT);
}

/* Whether nearly all young objects are likely to survive, and to become old at once. Then regions that are full of them are
   promoted as they are, unless holes are to be filled: copies take three times as long, and memory that may not be there. */
GC__FN bool gc__plan_in_place(const gc_heap *heap, const gc__plan *plan) {
    const gc__pace *pace = heap->pace;
    return plan->condemned == 1 && pace->tenures_at_once && !pace->fills_holes && pace->tenured_percent >= GC__SURVIVAL_FULL &&
           !plan->request.compacting;
}

#define GC__WHOLESALE_WASTE 8 /* at most this part of young regions has no objects: what follows them would be holes */
/* The largest region that is promoted untraced while objects are being marked: the marker reads it at once. */
#define GC__WHOLESALE_BYTES ((size_t)256 << 10)

/* Whether a collection that a spent nursery calls for keeps all of it, since nearly all of the last ones has survived: to trace
   it takes ten times longer than to find where objects start. What has died waits for the next full collection. Every few times
   it is traced, to see whether that still holds. A sparse region of objects that never move is used again while it is
   young: old, it would be a hole until the next full collection, and another one would follow. */
GC__HOT bool gc__plan_wholesale(const gc_heap *heap, const gc__plan *plan) {
    const gc__pace *pace = heap->pace;
    bool spent = plan->request.reason == GC_REASON_NURSERY && plan->condemned == 1;
    bool large = heap->marking && GC_REGION_BYTES > GC__WHOLESALE_BYTES;
    bool may = spent && plan->purpose == GC__YOUNG && !large && !plan->moves_all;
    if (!may || heap->options.test_wholesale) return may && heap->collection.number % 2;
    if (pace->wholesale_count >= pace->wholesale_most || pace->has_huge || !gc__plan_in_place(heap, plan)) return false;
    size_t held = 0, used = gc__counted(&heap->generation_bytes[0]);
    for (const gc__region *region = heap->regions[0]; region; region = region->next) {
        if (region->fixed && region->live_bytes < GC_REGION_BYTES / 100 * GC__DENSITY_RECYCLE) return false;
        held += region->kind == GC__SMALL ? GC_REGION_BYTES : region->top - region->base;
    }
    return held <= used + used / GC__WHOLESALE_WASTE;
}

/* Whether all that survives a full collection becomes generation 2: while young collections do not pay, objects grow old in full
   ones only, and a trace after which there is one generation has no slots to remember. How much of the nursery lives is seen in
   its regions that stay. So does the last one that stops the program before objects are marked beside it again: young collections
   keep to a goal from then on, and could not condemn all that lives. */
GC__COLD bool gc__plan_ages_all(const gc_heap *heap, const gc__plan *plan) {
    const gc_options *options = &heap->options;
    if (plan->condemned < 2 || gc__plan_resumes_cycles(heap)) return plan->condemned == 2;
    bool stays = heap->pace->nursery_grows && heap->pace->survival[0] > GC__SURVIVAL_HIGH;
    return stays && plan->request.reason == GC_REASON_GROWTH && plan->moves && !options->non_generational &&
           options->concurrent != GC_CONCURRENT_ON;
}

/* Young regions are evacuated unless most of what they hold is likely to survive. To look at them one by one costs more as the
   heap grows, so that is done only where room is short. */
GC__COLD void gc__plan_young(gc_heap *heap, gc__plan *plan) {
    gc__space space;
    if (!plan->tight) return;
    plan->evacuate_old = plan->request.compacting ? 100 : GC__DENSITY_TIGHT;
    gc__space_survey(heap, plan, &space);
    gc__fit_evacuation(heap, plan, &space);
}

/* Of old regions sparse ones are evacuated, and more of them where room is short or much of it is in holes. */
GC__COLD void gc__plan_full(gc_heap *heap, gc__plan *plan) {
    gc__space space;
    if (!plan->request.compacting && gc__is_one_region(heap)) return;
    bool more = plan->tight || gc__is_fragmented(heap);
    plan->evacuate_old = plan->request.compacting ? 100 : more ? GC__DENSITY_TIGHT : GC__DENSITY_SPARSE;
    gc__space_survey(heap, plan, &space);
    gc__fit_evacuation(heap, plan, &space);
    if (!plan->into_holes && (gc__is_limited(heap) || plan->pin_fragmented)) gc__plan_recycling(heap, plan, &space);
}

/* Up to which predicted percentage of survival young regions are evacuated. */
GC__COLD int gc__plan_young_percent(const gc_heap *heap, const gc__plan *plan) {
    bool fills = (heap->pace->fills_holes || heap->pace->tenures_at_once) && plan->condemned == 1;
    if (plan->promotes_in_place) return GC__DENSITY_TIGHT;
    return plan->request.compacting || fills ? 100 : GC__SURVIVAL_HIGH;
}

/* Opens the collection that was requested. The end of a cycle that stores were hidden from becomes a full collection
   before roots are gathered, since that needs all of them. */
GC__COLD void gc__policy_open(gc_heap *heap, const gc__request *request) {
    gc__plan *plan = &heap->cycle->planned;
    memset(plan, 0, sizeof *plan);
    plan->request = *request;
    plan->purpose = request->purpose;
    if (heap->options.non_generational) {
        plan->request.generation = 2;
        if (plan->purpose == GC__YOUNG) plan->purpose = request->compacting ? GC__COMPACT : GC__FULL;
    }
    if (plan->purpose == GC__MARK_END && gc__marker_is_spoilt(heap)) plan->purpose = GC__FULL;
    plan->condemned = plan->purpose == GC__MARK_END ? 1 : plan->request.generation;
}

/* Plans the collection. Its pins are known, and windows are closed. */
GC__COLD void gc__policy_plan(gc_heap *heap) {
    gc__plan *plan = &heap->cycle->planned;
    plan->moves = !heap->options.non_moving;
    plan->moves_all = heap->options.stress != GC_STRESS_OFF;
    plan->ages_all = gc__plan_ages_all(heap, plan);
    if (gc__plan_wholesale(heap, plan)) plan->purpose = GC__YOUNG_WHOLESALE;
    gc__predict_survival(heap, plan);
    plan->promotes_in_place = gc__plan_in_place(heap, plan);
    if (plan->promotes_in_place) plan->predicted[0] = heap->pace->tenured_percent;
    plan->evacuate_young = gc__plan_young_percent(heap, plan);
    plan->evacuate_old = plan->evacuate_partly = -1;
    plan->recycles_young = !plan->moves && !plan->moves_all && gc__is_spread(heap);
    plan->tight = gc__is_tight(heap);
    plan->pin_fragmented = gc__is_pin_fragmented(heap, plan);
    gc__plan_tenuring(heap, plan);
    if (plan->purpose == GC__FULL_REUSE) {
        plan->evacuate_young = -1;
        plan->recycle_below = 100;
    } else if (plan->condemned < 2) {
        gc__plan_young(heap, plan);
    } else if (plan->purpose != GC__SLIDE) {
        gc__plan_full(heap, plan);
        gc__plan_tenuring(heap, plan);
    }
}

/* Regions with pins stay, and those that are full already. */
GC__FN uint8_t gc__verdict_for_sliding(gc__region *region) {
    bool full = region->live_bytes > GC_REGION_BYTES - GC_REGION_BYTES / GC__SLIDE_WORTH;
    if (region->pinned || region->candidate || full || !gc__is_by_marks(region)) return GC__MARK;
    gc__region_flip(region);
    return GC__MOVE;
}

/* By how much of the region is predicted to live. Of the regions at the last percentage only as many as fit are evacuated. */
GC__FN uint8_t gc__verdict_by_density(gc_heap *heap, gc__region *region, uint8_t move) {
    const gc__plan *plan = heap->cycle->plan;
    int percent = (int)gc__predicted_percent(heap, region);
    bool old = gc__is_survivor(heap, region);
    if (percent <= (old ? plan->evacuate_old : plan->evacuate_young)) return move;
    bool partly = old ? plan->evacuate_old_partly : plan->evacuate_young_partly;
    if (!partly || percent != plan->evacuate_partly) return GC__MARK;
    size_t bytes = gc__most_bytes(heap, region), *left = &heap->cycle->evacuate_left_bytes;
    if (plan->into_holes) bytes += gc__hole_room(region, plan->into_holes_mean);
    bool worthwhile = percent <= GC__DENSITY_TIGHT || plan->request.compacting;
    if (!worthwhile || bytes > *left) return GC__MARK;
    *left -= bytes;
    return move;
}

GC__FN uint8_t gc__verdict_for(gc_heap *heap, gc__region *region) {
    const gc__plan *plan = heap->cycle->plan;
    bool stays = region->kind == GC__LARGE || region->fixed || !plan->moves;
    uint8_t move = (uint8_t)(region->pinned ? GC__MOVE_MARKED : GC__MOVE);
    if (stays || plan->purpose == GC__YOUNG_WHOLESALE) return GC__MARK;
    if (plan->moves_all) return move;
    if (plan->purpose == GC__SLIDE) return gc__verdict_for_sliding(region);
    if (gc__is_staying(heap, region)) return GC__MARK;
    return gc__verdict_by_density(heap, region, move);
}

/* Whether mutators should allocate in the holes of a region of objects that never move. There should be such holes for a
   nursery, but few regions that each young collection has to look at. Under stress such objects grow old by turns, even where
   they are few: a store to a young object needs no barrier, so that one that was forgotten would not show. */
GC__FN bool gc__is_fixed_recycled(gc_heap *heap, const gc__region *region) {
    if (heap->cycle->plan->moves_all && heap->collection.number / GC_GENERATIONS % 2) return false;
    unsigned percent = gc__predicted_percent(heap, region);
    size_t enough = gc__max(heap->pace->nursery_bytes, 2 * GC_REGION_BYTES);
    if (percent >= GC__DENSITY_RECYCLE || heap->cycle->fixed_holes_bytes >= enough) return false;
    heap->cycle->fixed_holes_bytes += GC_REGION_BYTES / 100 * (100 - percent);
    return true;
}

/* Whether mutators should allocate in the holes of a region that stays: a young one that stays only because of pins, or near
   the limit any such; where the plan says so, a sparse one; and in a heap that cannot evacuate, one that is not dense, or
   any if memory is short. */
GC__FN bool gc__is_recycled(gc_heap *heap, const gc__region *region, uint8_t verdict) {
    const gc__plan *plan = heap->cycle->plan;
    if (region->kind != GC__SMALL || plan->purpose == GC__YOUNG_WHOLESALE) return false;
    if (region->fixed) return gc__is_fixed_recycled(heap, region);
    if (plan->moves) {
        if (verdict == GC__MOVE_MARKED) return region->generation == 0 || plan->tight;
        return (int)gc__predicted_percent(heap, region) < plan->recycle_below;
    }
    if (plan->request.reason == GC_REASON_LIMIT) return true;
    return (region->generation == 2 || plan->recycles_young) &&
           gc__predicted_percent(heap, region) < GC__DENSITY_RECYCLE;
}

GC__HOT void gc__region_condemn(gc_heap *heap, gc__region *region) {
    uint8_t verdict = gc__verdict_for(heap, region);
    uint8_t older = gc__target_generation(heap->cycle->plan, region);
    region->target = gc__is_recycled(heap, region, verdict) ? 0 : older; /* if the region itself stays */
    if (region->kind == GC__LARGE && region->generation < 2) heap->cycle->large_bytes += region->live_bytes;
    if (region->generation == 2 && verdict == GC__MARK) heap->cycle->staying_bytes += region->live_bytes;
    if (region->generation == 0 && verdict == GC__MARK) heap->cycle->young_staying_bytes += gc__used_bytes(region);
    heap->cycle->recycles |= region->target == 0;
    region->condemned = heap->collection.number;
    region->overflowed = false;
    region->live_bytes = 0;
    gc__region_set_verdict(region, verdict, older);
    gc__region_set_rank(region, gc__age_of(heap, region->target), true);
}

/* Lists the holes of the regions that stay, while their mark bits are those of the last collection. */
GC__HOT void gc__list_into_holes(gc_heap *heap, gc__region *condemned) {
    for (gc__region *region = condemned; region; region = region->next) {
        if (region->verdict != GC__MARK || !gc__is_by_marks(region) || region->target != gc__oldest(heap)) continue;
        region->hole = region->base;
        gc__region_list_holes(heap, region, heap->cycle->plan->into_holes);
    }
}

/* Condemns the collection's generations; returns their regions, which are in no list now. Invariant from here to the end of
   the collection: ranks are those of the time after it. */
GC__FN gc__region *gc__condemn(gc_heap *heap) {
    gc__region *condemned = NULL;
    for (size_t i = 0; i < heap->cycle->pins.count; i++) gc__region_of(heap->cycle->pins.words[i])->pinned = true;
    gc__policy_plan(heap);
    int generation = heap->cycle->plan->condemned;
    heap->cycle->evacuate_left_bytes = heap->cycle->plan->evacuate_partly_bytes;
    heap->cycle->recycles = false;
    heap->cycle->fixed_holes_bytes = 0;
    for (int g = 0; g <= generation; g++) {
        gc__region *region = heap->regions[g];
        heap->regions[g] = NULL;
        heap->cycle->cursors[g] = NULL;
        heap->cycle->condemned_bytes[g] = heap->generation_bytes[g] + (g ? 0 : heap->nursery_survivor_bytes);
        while (region) {
            gc__region *next = region->next;
            gc__region_condemn(heap, region);
            region->next = condemned;
            condemned = region;
            region = next;
        }
    }
    if (gc__is_mark_end(heap)) condemned = gc__candidates_condemn(heap, condemned);
    for (size_t i = 0; i < heap->cycle->pins.count; i++) gc__region_of(heap->cycle->pins.words[i])->pinned = false;
    heap->recycled = heap->fixed_search = NULL;
    gc__window_set(&heap->fixed, NULL, 0, 0);
    gc__holes_forget(&heap->holes);
    heap->small_spans = 0;
    if (generation == 2) gc__old_holes_forget(heap);
    if (heap->cycle->plan->into_holes) gc__list_into_holes(heap, condemned);
    if (generation == 2) heap->old_unflipped = NULL;
    return condemned;
}
/* Off-heap memory that belongs to objects: it counts towards budgets and the limit until its object dies. There is one
   table for each generation, so that a young collection looks at young objects only. */


/* Takes the entries of the condemned generations out of their tables, after making room for them in every table to which
   they may return. On failure nothing has changed. */
GC__HOT bool gc__external_gather(gc_heap *heap, int generation) {
    gc__words *moving = &heap->cycle->external_moving;
    size_t count = 0;
    moving->count = 0;
    for (int g = 0; g <= generation; g++) count += heap->collector->external[g].count;
    if (!count) return true;
    if (!gc__words_reserve(moving, 2 * count)) return false;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        size_t stay = g > generation ? heap->collector->external[g].count : 0;
        if (!gc__map_reserve(&heap->collector->external[g], stay + count)) return false;
    }
    for (int g = 0; g <= generation; g++) gc__map_take(&heap->collector->external[g], moving);
    return true;
}

/* Adds to the sum of off-heap bytes. False with gc__fail: so many there cannot be. */
GC__FN bool gc__external_count(gc_heap *heap, size_t bytes, const char *function) {
    size_t before = gc__external_bytes(heap);
    do {
        if (bytes <= GC__EXTERNAL_MOST - gc__min(before, GC__EXTERNAL_MOST)) continue;
        gc__fail(GC_ERROR_TOO_LARGE,
                 "%s: %zu bytes are added to %zu that are off the heap already, more than any memory holds: add what is "
                 "allocated, and take it off when it is freed",
                 function, bytes, before);
        return false;
    } while (!__atomic_compare_exchange_n(&heap->external_bytes, &before, before + bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return true;
}

/* Takes bytes of objects off. Lock held. */
GC__FN void gc__external_disown(gc_heap *heap, size_t bytes) {
    heap->owned_bytes -= bytes;
    __atomic_fetch_sub(&heap->external_bytes, bytes, __ATOMIC_RELAXED);
}

/* After the trace, before regions are freed: forgets the bytes of dead objects, and follows the others. */
GC__HOT void gc__external_update(gc_heap *heap) {
    const gc__words *moving = &heap->cycle->external_moving;
    for (size_t i = 0; i < moving->count; i += 2) {
        uintptr_t object = gc__address_after_trace(moving->words[i]);
        if (object)
            *gc__map_put(&heap->collector->external[gc__region_of(object)->target], object) = moving->words[i + 1];
        else
            gc__external_disown(heap, moving->words[i + 1]);
    }
}

/* By how much `bytes` exceeds the off-heap bytes that the last collection left, or 0: only that counts towards the budget, so
   to add and take off again is free. */
GC__FN size_t gc__external_growth(const gc_heap *heap, size_t bytes) {
    size_t left = __atomic_load_n(&heap->pace->external_bytes, __ATOMIC_RELAXED);
    return bytes > left ? bytes - left : 0;
}

/* After a collection. */
GC__FN void gc__external_count_left(gc_heap *heap) {
    __atomic_store_n(&heap->pace->external_bytes, gc__external_bytes(heap), __ATOMIC_RELAXED);
}

GC__FN bool gc__external_fits(gc_heap *heap, size_t bytes) {
    if (bytes <= gc__the_arena.bytes) return gc__heap_has_room(heap, bytes);
    gc__fail(GC_ERROR_TOO_LARGE, "gc_external_add: %zu bytes are more than the heap can ever hold", bytes);
    return false;
}

GC__FN gc_result gc__external_remove(gc_heap *heap, gc__map *table, uintptr_t object, size_t bytes) {
    uintptr_t *held = gc__map_find(table, object);
    if (!held || *held < bytes)
        return gc__fail(GC_ERROR_MISUSE, "gc_external_add: %zu bytes are taken off, more than the object has", bytes);
    *held -= bytes;
    gc__external_disown(heap, bytes);
    return GC_OK;
}
/* Pacing: when to collect which generation, how large the nursery is, what memory to keep. */


#define GC__MARKING_WORTH ((size_t)2 << 20) /* bytes in generation 2 from which stopping for them takes notable time */
#define GC__NURSERY_MIN ((size_t)256 << 10)
#define GC__NURSERY_MAX ((size_t)32 << 20)
#define GC__GOAL_EXTRA ((size_t)3 << 19) /* for the nursery and regions that are not full, beyond growth: at most so much, or */
#define GC__GOAL_EXTRA_MOST ((size_t)9 << 18) /* up to that, if it is */
#define GC__GOAL_EXTRA_PART 5                 /* no more than this part of the growth */
#define GC__GOAL_UNSEEN 48 /* this part of the goal is left for the huge pages in which tables end, and mark stacks, */
#define GC__GOAL_SEEN ((size_t)32 << 20) /* beyond this */
#define GC__TIMED_BYTES ((size_t)1 << 20) /* in generation 2, from which a full collection that was asked for is timed */
#define GC__SOFT_PART 8      /* a heap grows by this part of what lives at least, beyond the soft limit if need be */
#define GC__NURSERY_GROWTH 4 /* if most of a nursery survived, it may grow to so many times its size before the next */
#define GC__GC_SHARE_HIGH 8  /* percent of the time in young collections above which the nursery grows */

GC__FN unsigned gc__growth_percent(const gc_heap *heap) {
    return heap->options.growth_percent ? heap->options.growth_percent : 100;
}

/* By how much the heap may grow beyond what lives. */
GC__OUT_OF_LINE size_t gc__growth_of(const gc_heap *heap, size_t live_bytes) {
    size_t growth = gc__times_at_most(live_bytes / 100, gc__growth_percent(heap), GC__BUDGET_MOST);
    size_t soft = heap->options.heap_bytes_soft;
    size_t least = live_bytes / GC__SOFT_PART, used = live_bytes + soft / GC__SOFT_PART; /* and room for copies */
    if (soft) growth = gc__min(growth, gc__max(soft - gc__min(soft, used), least));
    return gc__max(growth, GC__NURSERY_MIN);
}

/* The largest nursery: half of that growth, so that it stays in proportion to what lives. */
GC__COLD size_t gc__nursery_most(const gc_heap *heap) {
    size_t old = heap->generation_bytes[1] + heap->generation_bytes[2], limit = heap->options.heap_bytes_max;
    size_t most = gc__min(gc__growth_of(heap, gc__max(old, heap->full_bytes)) / 2, GC__NURSERY_MAX);
    return gc__max(limit ? gc__min(most, limit / 6) : most, GC__NURSERY_MIN);
}

/* The same, of a heap that is marked beside mutators: half of what is left to the limit is for what they allocate meanwhile. */
GC__COLD size_t gc__growth_concurrent(const gc_heap *heap, size_t live_bytes) {
    size_t growth = gc__growth_of(heap, live_bytes), left = heap->limit_bytes - gc__min(heap->limit_bytes, live_bytes);
    return gc__has_pause_goal(heap) ? gc__max(gc__min(growth, left / 2), GC__NURSERY_MIN) : growth;
}

/* After a full collection: what the heap should hold at most until the next one has ended, less what tables take of that. */
GC__COLD void gc__pace_goal(gc_heap *heap, size_t live_bytes) {
    size_t growth = gc__growth_of(heap, live_bytes), nursery = heap->options.nursery_bytes;
    size_t extra = gc__max(GC__GOAL_EXTRA, gc__min(growth / GC__GOAL_EXTRA_PART, GC__GOAL_EXTRA_MOST));
    if (heap->options.non_moving) extra = GC__GOAL_EXTRA / 3 * 2; /* evacuation cannot make good what was too much */
    if (!nursery) nursery = gc__min(growth, extra);
    if (nursery > heap->limit_bytes) nursery = heap->limit_bytes;
    heap->pace->full_live_bytes = live_bytes;
    heap->pace->full_threshold = live_bytes + gc__growth_concurrent(heap, live_bytes);
    size_t goal = live_bytes + growth + nursery, soft = heap->options.heap_bytes_soft;
    if (gc__has_pause_goal(heap)) goal = gc__min(goal, heap->limit_bytes);
    if (soft && goal > soft) goal = gc__max(soft, live_bytes + live_bytes / GC__SOFT_PART);
    goal -= gc__table_bytes(goal >> GC_REGION_SHIFT, 0) + (goal - gc__min(goal, GC__GOAL_SEEN)) / GC__GOAL_UNSEEN;
    heap->goal_bytes = gc__max(goal, GC__REGIONS_MIN * GC_REGION_BYTES);
}

GC__FN size_t gc__old_bytes(const gc_heap *heap) { return heap->generation_bytes[2] + gc__external_bytes(heap); }

/* The same, and survivors between which mutators allocate. */
GC__FN size_t gc__grown_bytes(const gc_heap *heap) { return gc__old_bytes(heap) + heap->nursery_survivor_bytes; }

/* By how much it may grow from one full collection to the next. */
GC__COLD size_t gc__growth_due(const gc_heap *heap) { return heap->pace->full_threshold - heap->pace->full_live_bytes; }

/* The memory that is in use, but for holes that promotion will fill. */
GC__COLD size_t gc__pace_used(const gc_heap *heap) {
    return gc__bytes_in_use(heap) - gc__counted(&heap->old_holes.bytes);
}

/* The part of it that no object takes. */
GC__COLD size_t gc__pace_holes(const gc_heap *heap) {
    size_t used = gc__pace_used(heap);
    size_t bytes = gc__grown_bytes(heap) + heap->generation_bytes[1] + gc__counted(&heap->generation_bytes[0]);
    return used - gc__min(used, bytes);
}

/* What copies of a full collection will take: as much as those of the last one and an eighth, or a quarter of what there is in
   holes; at most a quarter of the growth. And the regions that they begin; a heap may have few in all. */
GC__COLD size_t gc__pace_copies(const gc_heap *heap) {
    if (heap->options.non_moving) return 0;
    size_t growth = gc__growth_due(heap), begun = gc__min(2 * GC_REGION_BYTES, growth / 8);
    size_t last = heap->pace->full_copied_bytes, holes = gc__pace_holes(heap);
    return gc__min(gc__max(last + last / 8, holes / 4), growth / 4) + begun;
}

/* The least that a nursery falls to as the heap comes near its goal. */
GC__COLD size_t gc__nursery_near_goal(const gc_heap *heap) {
    return gc__min(heap->pace->nursery_bytes / 2, gc__max(gc__growth_due(heap) / 8, GC__NURSERY_MIN));
}

/* By how much a nursery grows at a time: little, so that the heap comes near its goal. */
GC__COLD size_t gc__pace_step(const gc_heap *heap) { return gc__min(heap->pace->nursery_bytes, GC__NURSERY_MIN); }

/* Whether the heap will exceed its goal unless it is collected as a whole now that a nursery is spent: a young collection
   leaves the nursery's survivors, and the full collection that comes next, a smaller nursery later if need be, takes room for
   copies. It must also be worth its time: enough was promoted for it to free a part of that; or less, if it can free holes. */
GC__COLD bool gc__pace_is_full(const gc_heap *heap) {
    size_t spent = gc__counted(&heap->generation_bytes[0]);
    size_t old = gc__grown_bytes(heap) + heap->generation_bytes[1], live = heap->pace->full_live_bytes;
    size_t used = gc__pace_used(heap), growth = gc__growth_due(heap);
    bool grows = heap->pace->nursery_grows != 0;
    size_t holes = heap->options.non_moving ? 0 : gc__pace_holes(heap), enough = growth / (holes > growth / 4 ? 8 : 4);
    if (holes > growth / 2) enough = gc__min(enough, gc__max(growth / 32, GC__NURSERY_MIN));
    size_t promoted = old + (grows ? spent : 0), next = grows ? gc__pace_step(heap) : spent / 100 * heap->pace->survival[0];
    if (!grows) used -= gc__min(used, spent - gc__min(spent, gc__nursery_near_goal(heap)));
    return promoted >= live + enough && used + next + gc__pace_copies(heap) > heap->goal_bytes;
}

/* Whether a collection of the young generations frees enough, and at less than half the cost per byte of the full one that is
   due: where objects that have become old live on. */
GC__COLD bool gc__pace_is_for_young(const gc_heap *heap) {
    const gc__pace *pace = heap->pace;
    size_t growth = gc__growth_due(heap), young = heap->generation_bytes[1], old = gc__grown_bytes(heap);
    if (gc__has_pause_goal(heap) || old > pace->full_live_bytes + growth / 8) return false;
    size_t nursery = gc__counted(&heap->generation_bytes[0]), of_nursery = nursery / 100 * pace->survival[0];
    size_t of_young = young / 100 * pace->survival[1], of_old = old / 100 * pace->old_survival, live = of_nursery + of_young;
    size_t freed = young - of_young + (pace->nursery_grows ? nursery - of_nursery : 0), dead = nursery + young - live;
    return freed >= growth / 4 && (double)dead * (double)(live + of_old) >= 2 * (double)(dead + old - of_old) * (double)live;
}

/* Bytes that were taken since the last collection, on the heap and off it. */
GC__FN size_t gc__spent_bytes(const gc_heap *heap) {
    return gc__counted(&heap->generation_bytes[0]) + gc__external_growth(heap, gc__external_bytes(heap));
}

/* Whether a young collection would look at most of the heap, since mutators allocate in the holes of old regions: then a full
   one costs little more, and frees more, so that comes when the limit or the goal is met. */
GC__COLD bool gc__pace_is_all_young(const gc_heap *heap) {
    return !heap->options.non_moving && !heap->options.non_generational &&
           heap->nursery_survivor_bytes > heap->generation_bytes[1] + gc__old_bytes(heap);
}

/* Which of the young generations a spent nursery calls for. */
GC__COLD int gc__pace_young(const gc_heap *heap) {
    size_t young = heap->generation_bytes[1], budget = 2 * heap->pace->nursery_bytes;
    if (heap->pace->tenures_at_once || heap->pace->has_huge) return 1;
    bool sparse = heap->pace->young_regions * GC_REGION_BYTES > 2 * young + budget + 4 * GC_REGION_BYTES;
    return young >= budget || sparse ? 1 : 0;
}

/* Whether generation 2 has grown by as much as it may, or the heap will exceed its goal. */
GC__COLD bool gc__pace_is_due(const gc_heap *heap) {
    size_t old = gc__grown_bytes(heap);
    if (heap->pace->nursery_grows) old += heap->generation_bytes[1] + gc__counted(&heap->generation_bytes[0]);
    return old >= heap->pace->full_threshold || gc__pace_is_full(heap);
}

/* Which generation a spent nursery calls for. */
GC__COLD int gc__pace_generation(const gc_heap *heap) {
    if (heap->options.non_generational || gc__pace_is_all_young(heap)) return 2;
    if (gc__pace_is_due(heap)) return gc__pace_is_for_young(heap) ? 1 : 2;
    return gc__pace_young(heap);
}

/* Whether the nursery grows instead: most of it is likely to survive. */
GC__COLD bool gc__pace_waits(const gc_heap *heap, int generation) {
    return generation < 2 && gc__spent_bytes(heap) < heap->pace->nursery_grows && !gc__pace_is_due(heap);
}

GC__COLD uint64_t gc__pace_goal_ns(const gc_heap *heap) {
    return heap->options.pause_goal_us ? heap->options.pause_goal_us * (uint64_t)1000 : 5000000;
}

/* What a collection should take that takes as long as those before it: the same work may take twice as long for once. */
GC__COLD uint64_t gc__pace_aim_ns(const gc_heap *heap) { return gc__pace_goal_ns(heap) / 2; }

#define GC__TENURE_PERCENT ((size_t)60) /* of a nursery's survivors, from which they are promoted at once */
#define GC__NURSERY_LEAST ((size_t)64 << 10)
#define GC__NURSERY_PART 32 /* a nursery takes at most this part of the limit in such heaps: promotion needs the rest */
#define GC__YOUNG_NS_FIRST ((uint64_t)1 << 20) /* for each MiB that is condemned, before it was measured */
#define GC__COPY_NS_PER_MIB ((uint64_t)200000) /* of survivors, at least, */
#define GC__COPY_MEASURED ((size_t)256 << 10)  /* if there are so many bytes of them */
#define GC__SLOT_NS ((uint64_t)40)             /* for each remembered slot, at least, */
#define GC__SLOTS_MEASURED 1024                /* if there are so many */
#define GC__COST_GROWTH 2                      /* a cost is at most so many times the one measured before */
#define GC__FILL_NS_PER_MIB ((uint64_t)12000000) /* of what is condemned, at first, where survivors are copied to holes */
#define GC__FILL_SLOT_NS ((uint64_t)800)         /* and of remembered slots: each hole may have room for one object only */
#define GC__FILL_COST 4 /* times what copies take otherwise, where they go to holes at first */

/* The bytes of young objects that a collection has condemned, but for large ones: to keep these takes little time. */
GC__COLD size_t gc__condemned_small(const gc_heap *heap) {
    size_t condemned = heap->cycle->condemned_bytes[0] + heap->cycle->condemned_bytes[1];
    return condemned - gc__min(condemned, heap->cycle->large_bytes);
}

#define GC__WHOLESALE_MOST 7
#define GC__WHOLESALE_PART 8 /* what they keep is no more than such a part of the growth */

/* How many collections may keep all that was allocated before one looks again for what lives. */
GC__COLD unsigned gc__pace_wholesale_most(const gc_heap *heap) {
    size_t kept = gc__growth_due(heap) / GC__WHOLESALE_PART;
    return (unsigned)gc__min(kept / gc__max(heap->pace->nursery_bytes, 1), GC__WHOLESALE_MOST);
}

/* The survivors of all that a young collection has condemned. */
GC__COLD void gc__pace_tenure(gc_heap *heap, int generation) {
    const gc__cycle *cycle = heap->cycle;
    size_t condemned = gc__condemned_small(heap);
    if (generation == 2 || !gc__has_pause_goal(heap) || condemned < GC__NURSERY_LEAST) return;
    size_t percent = (gc__survived_bytes(cycle) - cycle->large_kept_bytes) / (condemned / 100 + 1);
    heap->pace->tenured_percent = (unsigned)gc__min(percent, 100);
    unsigned most = (unsigned)gc__min(2 * heap->pace->wholesale_most + 1, gc__pace_wholesale_most(heap));
    heap->pace->wholesale_most = percent >= GC__SURVIVAL_FULL ? most : 0;
    heap->pace->wholesale_count = 0;
    heap->pace->tenures_at_once =
        percent >= (heap->pace->tenures_at_once ? GC__TENURE_PERCENT - 20 : GC__TENURE_PERCENT);
}

/* The nursery that is collected within the goal, by what was measured. Without tenuring at once, a collection of generation 1
   condemns three nurseries at most. All of one may survive for once, which should not take much longer than the goal. */
GC__COLD size_t gc__nursery_in_time(const gc_heap *heap) {
    const gc__pace *pace = heap->pace;
    uint64_t aim = gc__pace_aim_ns(heap), each = gc__max(pace->young_ns_per_mib, 1);
    size_t bytes = (size_t)((aim << 20) / each), most = (size_t)((aim / 4 * 5 << 20) / pace->copy_ns_per_mib);
    most = gc__min(gc__min(pace->tenures_at_once ? bytes : bytes / 3, most), heap->limit_bytes / GC__NURSERY_PART);
    return gc__max(most, GC__NURSERY_LEAST);
}

/* A cost that is measured anew if there were `enough` units, and falls until then, slowly: what is in cache for once is not the
   next time. Now and then the system takes milliseconds for something else. */
GC__COLD void gc__cost_note(uint64_t *cost, uint64_t ns, size_t units, size_t enough, uint64_t least) {
    uint64_t each = units >= enough ? gc__min(ns / units, GC__COST_GROWTH * *cost) : *cost / 4 * 3;
    *cost = gc__max(gc__max(each, (7 * *cost + each) / 8), least);
}

/* What a young collection took for survivors, and for remembered slots with what they lead to. */
GC__COLD void gc__pace_costs(gc_heap *heap, uint64_t pause_ns) {
    const gc__cycle *cycle = heap->cycle;
    size_t survived = gc__survived_bytes(cycle), slots = heap->pause.remembered_slots;
    survived -= gc__min(survived, cycle->large_kept_bytes);
    gc__cost_note(&heap->pace->copy_ns_per_mib, pause_ns << 10, survived >> 10, GC__COPY_MEASURED >> 10, GC__COPY_NS_PER_MIB);
    gc__cost_note(&heap->pace->slot_ns, pause_ns, slots, GC__SLOTS_MEASURED, GC__SLOT_NS);
    if (heap->pace->fills_holes && !heap->marking && slots >= GC__SLOTS_MEASURED)
        heap->pace->filling_slot_ns = gc__max(heap->pace->filling_slot_ns, pause_ns / slots);
}

/* The same, measured anew: by what the last young collections took for each byte; a quarter is left for those that take more
   than usual. */
GC__COLD size_t gc__nursery_for_goal(gc_heap *heap, uint64_t pause_ns) {
    gc__pace *pace = heap->pace;
    size_t condemned = gc__condemned_small(heap);
    if (!gc__has_pause_goal(heap)) return SIZE_MAX;
    if (condemned < GC__NURSERY_LEAST)
        pace->young_ns_per_mib -= pace->young_ns_per_mib / 16; /* until it is measured anew */
    if (!gc__is_of_cycle(heap->cycle->plan)) gc__pace_costs(heap, pause_ns);
    if (condemned >= GC__NURSERY_LEAST && !gc__is_of_cycle(heap->cycle->plan)) {
        uint64_t each = (pause_ns << 10) / (condemned >> 10);
        pace->young_ns_per_mib = gc__max(each, (3 * pace->young_ns_per_mib + each) / 4);
        if (pace->fills_holes && !heap->marking) pace->filling_young_ns = gc__max(pace->filling_young_ns, each);
    }
    return gc__nursery_in_time(heap);
}

/* After a full collection, which does not tell survivors of generation 1 from those of generation 2: how much of the latter has
   survived in regions that stayed, from which the rest follows. */
GC__COLD void gc__pace_survival_old(gc_heap *heap, size_t survivors) {
    const gc__cycle *cycle = heap->cycle;
    gc__pace *pace = heap->pace;
    size_t young = cycle->condemned_bytes[1], old = cycle->condemned_bytes[2];
    if (gc__is_of_cycle(cycle->plan) || heap->collection.compacting || cycle->staying_bytes < old / 8) return;
    pace->old_survival = (unsigned)gc__min(100, cycle->staying_kept_bytes / (cycle->staying_bytes / 100 + 1) + 1);
    size_t of_old = old / 100 * pace->old_survival;
    if (young) pace->survival[1] = (unsigned)gc__min(100, (survivors - gc__min(survivors, of_old)) / (young / 100 + 1));
}

/* How much of generation 0 has survived where all survivors became generation 2: as much as in regions that stayed. */
GC__COLD size_t gc__young_percent(const gc_heap *heap) {
    size_t staying = heap->cycle->young_staying_bytes;
    return staying ? gc__min(100, heap->cycle->young_kept_bytes / (staying / 100 + 1)) : heap->pace->survival[0];
}

GC__COLD void gc__pace_survival(gc_heap *heap, int generation) {
    const size_t *copied = heap->cycle->copied_bytes, *marked = heap->cycle->marked_bytes;
    size_t survivors[3] = {copied[1] + marked[1] + copied[0] + marked[0], copied[2] + marked[2], copied[2] + marked[2]};
    if (heap->cycle->plan->ages_all) {
        survivors[0] = heap->cycle->condemned_bytes[0] / 100 * gc__young_percent(heap);
        survivors[2] -= gc__min(survivors[2], survivors[0]);
    }
    for (int g = 0; g <= generation; g++) {
        if (g == 1 && generation == 2) continue; /* the old generation's survivors are in the same sum */
        size_t condemned = heap->cycle->condemned_bytes[g] + (g == 2 ? heap->cycle->condemned_bytes[1] : 0);
        if (!condemned || (g < 2 && heap->pace->tenures_at_once)) continue; /* their survivors are in that sum, too */
        unsigned percent = (unsigned)gc__min(100, survivors[g] / (condemned / 100 + 1));
        heap->pace->survival[g] = (heap->pace->survival[g] + 3 * percent) / 4;
    }
    if (generation == 2) gc__pace_survival_old(heap, survivors[2]);
}

/* The nursery of a heap without generations: a share of what is live. */
GC__COLD size_t gc__nursery_non_generational(const gc_heap *heap) {
    size_t bytes = gc__growth_of(heap, heap->nursery_survivor_bytes);
    size_t left = gc__regions_left(heap) << GC_REGION_SHIFT;
    return heap->options.heap_bytes_max ? gc__min(bytes, gc__max(left, GC__NURSERY_MIN)) : bytes;
}

/* Whether the time that the collection takes says nothing of the nursery. */
GC__COLD bool gc__pace_ignores_time(int generation, gc_reason reason) {
    return generation == 2 && reason == GC_REASON_INDUCED;
}

/* Whether the clock of the thread, a call of the system, is read: a program may collect a nearly empty heap thousands of
   times. */
GC__COLD bool gc__pace_is_timed(const gc_heap *heap, int generation, gc_reason reason) {
    return !gc__pace_ignores_time(generation, reason) || heap->generation_bytes[2] >= GC__TIMED_BYTES;
}

#define GC__TRACE_NS_FIRST ((uint64_t)100000) /* for each MiB that survives, before it was measured */
#define GC__TRACE_MEASURED ((size_t)256 << 10) /* it is, if there are so many bytes of them */

/* What a collection took for each byte that survived it. */
GC__COLD void gc__pace_trace_note(gc_heap *heap, int generation, uint64_t ns) {
    size_t survived = gc__survived_bytes(heap->cycle);
    uint64_t *each = &heap->pace->trace_ns_per_mib[generation == 2];
    if (ns && survived >= GC__TRACE_MEASURED) *each = (*each + (ns << 10) / (survived >> 10)) / 2;
}

/* Doubles the nursery while collections take a notable share of the time and objects survive: survivors and dirty cards are
   then looked at less often. Halves it towards the cache's size when pauses exceed the goal or little survives, but not
   below the cache's size for each thread that allocates. Both are measured in CPU time, so that other load on the machine has
   no influence: the share in that of all threads that collect, and the pause in that of the first. If another thread ran the
   last collection, or its time was ignored, the share is unknown. */
GC__COLD void gc__pace_nursery(gc_heap *heap) {
    uint64_t stopped = heap->pace->stopped_cpu_ns, now = stopped ? gc__os_cpu_ns() : 0, pause = gc__ns_since(now, stopped);
    uint64_t workers_ns = gc__workers_cpu_ns(heap->collector->workers),
             helped_ns = gc__ns_since(workers_ns, heap->pace->workers_cpu_ns);
    heap->pause.cpu_ns = pause;
    heap->pace->workers_cpu_ns = workers_ns;
    if (heap->cycle->plan->purpose == GC__YOUNG_WHOLESALE) {
        heap->pace->resumed_by = 0;
        return;
    }
    if (stopped) gc__pace_trace_note(heap, heap->collection.generation, pause + helped_ns);
    if (heap->options.nursery_bytes) return;
    if (heap->options.non_generational) {
        heap->pace->nursery_bytes = gc__nursery_non_generational(heap);
        return;
    }
    if (gc__pace_ignores_time(heap->collection.generation, heap->collection.reason)) {
        heap->pace->resumed_by = 0;
        return;
    }
    uint64_t since = gc__ns_since(now, heap->pace->resumed_cpu_ns);
    bool known = heap->pace->resumed_by == gc__os_self();
    uint64_t share = known ? (pause + helped_ns) * 100 / (since + helped_ns + 1) : GC__GC_SHARE_HIGH;
    heap->pace->resumed_cpu_ns = now;
    heap->pace->resumed_by = gc__os_self();
    if (heap->collection.generation == 2) return;
    size_t cached = gc__max(heap->pace->cache_bytes * heap->pace->allocating, GC__NURSERY_MIN),
           most = gc__min(gc__nursery_most(heap), gc__nursery_for_goal(heap, pause));
    uint64_t goal = gc__pace_goal_ns(heap);
    if (share > GC__GC_SHARE_HIGH && pause < 4 * goal)
        heap->pace->nursery_bytes = gc__min(2 * heap->pace->nursery_bytes, most);
    else if (pause > goal || share < GC__GC_SHARE_HIGH / 4)
        heap->pace->nursery_bytes = heap->pace->nursery_bytes / 2;
    heap->pace->nursery_bytes = gc__min(gc__max(heap->pace->nursery_bytes, gc__min(cached, most)), most);
}

/* About how much of the holes mutators have. */
GC__COLD size_t gc__pace_recycled(const gc_heap *heap) {
    size_t recycled = heap->nursery_survivor_bytes, all = gc__grown_bytes(heap) + heap->generation_bytes[1];
    return (size_t)((double)gc__pace_holes(heap) * (double)recycled / (double)gc__max(all, 1));
}

/* The nursery until the next collection: within the goal, if that leaves enough of it. Small regions are spent whole, since their
   memory is taken whole; where pauses have a goal, time is short, unless nurseries are kept. */
GC__COLD size_t gc__nursery_in_goal(const gc_heap *heap) {
    size_t nursery = heap->pace->nursery_bytes, step = gc__min(GC_REGION_BYTES, GC__NURSERY_MIN);
    if (heap->options.nursery_bytes || heap->options.non_generational) return nursery;
    size_t used = gc__bytes_in_use(heap) + gc__pace_copies(heap), left = heap->goal_bytes;
    if (heap->options.non_moving) left += gc__pace_recycled(heap) / 6;
    left -= gc__min(left, used);
    if (gc__pace_is_all_young(heap)) { /* holes are a nursery, too */
        size_t growth = gc__growth_of(heap, heap->full_bytes);
        return gc__min(growth, gc__max(left + gc__pace_holes(heap), growth / 4));
    }
    nursery = gc__min(nursery, gc__max(gc__max(left, gc__nursery_near_goal(heap)), GC__NURSERY_LEAST));
    return gc__has_pause_goal(heap) && !heap->pace->wholesale_most ? nursery : (nursery + step - 1) & ~(step - 1);
}

/* If most of the nursery survives a young collection, that costs more than it frees: the full collection that the survivors
   call for looks at them again. Then the nursery grows until a full collection is due, as long as full collections still
   find much of it alive; but only to some times what has survived, which may have been a burst. */
GC__COLD void gc__pace_worth(gc_heap *heap, int generation) {
    if (gc__has_pause_goal(heap)) return; /* the pause would grow with it */
    if (heap->options.nursery_bytes || heap->cycle->condemned_bytes[0] < heap->pace->nursery_bytes / 2) return;
    size_t percent =
        (heap->cycle->copied_bytes[1] + heap->cycle->marked_bytes[1]) / (heap->cycle->condemned_bytes[0] / 100 + 1);
    if (heap->cycle->plan->ages_all) percent = gc__young_percent(heap);
    bool grows = percent >= GC__SURVIVAL_HIGH;
    if (generation == 2) grows = heap->pace->nursery_grows && percent >= GC__SURVIVAL_HIGH / 2;
    heap->pace->nursery_grows = grows ? GC__NURSERY_GROWTH * heap->cycle->condemned_bytes[0] : 0;
}

/* Keeps free regions for what will soon be allocated, and returns the others to the system: at once if the program has asked
   for the collection, else a part now and the rest as mutators take regions, so that the pause does not grow by it. After a
   marking beside mutators nothing is returned for a while, since as much as died may be needed while the next one runs; then
   mutators return what is still free, or the thread that marks when it rests. */
GC__COLD void gc__pace_release(gc_heap *heap, int generation) {
    if (heap->options.keep_memory || generation < 2) return;
    size_t soon = heap->pace->nursery_bytes + GC__UNCOMMIT_REGIONS_MIN * GC_REGION_BYTES +
                  (heap->pace->full_threshold - gc__min(heap->pace->full_threshold, gc__old_bytes(heap)));
    size_t least = heap->pace->nursery_bytes + GC__UNCOMMIT_REGIONS_MIN * GC_REGION_BYTES;
    soon = gc__min(soon, gc__max(gc__bytes_to_goal(heap), least));
    bool concurrent = gc__is_mark_end(heap) && heap->marker->has_thread;
    size_t most = concurrent ? 0 : heap->collection.reason == GC_REASON_INDUCED ? SIZE_MAX : GC__UNCOMMIT_REGIONS_MAX;
    heap->uncommit_bytes = gc__free_bytes(heap) - gc__min(gc__free_bytes(heap), soon);
    for (size_t i = 0; heap->uncommit_bytes && heap->free && i < most; i++) {
        gc__heap_release_free(heap);
        heap->uncommit_bytes = gc__free_bytes(heap) - gc__min(gc__free_bytes(heap), soon);
    }
    heap->uncommit_waits = concurrent;
    if (!concurrent) return;
    heap->free_least_bytes = gc__free_bytes(heap);
    heap->uncommitted_ns = gc__os_now_ns();
    __atomic_store_n(&heap->marker->gives_back, heap->uncommit_bytes >= GC_REGION_BYTES, __ATOMIC_RELAXED);
}

#define GC__DEGENERATED_FIRST 4
#define GC__DEGENERATED_MOST 64
#define GC__DEGENERATED_ROOM 5 /* only heaps whose limit leaves less than such a part of it beside what lives */

/* Whether what lives leaves so little that each marking beside mutators would have them wait for most of the time. */
GC__COLD bool gc__pace_is_cramped(const gc_heap *heap) {
    size_t lives = heap->full_bytes + gc__external_bytes(heap) + gc__counted(&heap->metadata_bytes);
    return lives > heap->limit_bytes - heap->limit_bytes / GC__DEGENERATED_ROOM;
}

/* The program is stopped for the last time: what it has left is generation 2, and nurseries keep to the goal again. */
GC__COLD void gc__pace_return(gc_heap *heap) {
    heap->pace->nursery_grows = 0;
    if (!heap->options.nursery_bytes)
        heap->pace->nursery_bytes = gc__min(heap->pace->nursery_bytes, gc__nursery_in_time(heap));
}

/* After a full collection: if a cramped heap that is marked beside mutators has met its limit, some full collections stop the
   program, which takes less room and time. Then marking is tried again, and if less lives when it ends, that is forgotten. Other
   heaps have lost a race for once: their next cycle begins at once, with what this collection has freed. How much lives a marking
   that has ended early does not tell. */
GC__COLD void gc__pace_room(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    bool cramped = gc__pace_is_cramped(heap), ends = gc__is_mark_end(heap);
    if (heap->options.concurrent != GC_CONCURRENT_ON) return;
    if (pace->degenerated) {
        pace->degenerated--;
        if (!pace->degenerated) gc__pace_return(heap);
    } else if (heap->collection.reason == GC_REASON_LIMIT && cramped && !ends) {
        pace->degenerated = pace->degenerated_next > GC__DEGENERATED_FIRST ? pace->degenerated_next : GC__DEGENERATED_FIRST;
        pace->degenerated_next = pace->degenerated < GC__DEGENERATED_MOST ? 2 * pace->degenerated : GC__DEGENERATED_MOST;
    } else if (ends && !cramped) {
        pace->degenerated_next /= 2;
    }
}

/* From now on survivors are copied into holes: at what that took at most the last time, and if it has not been done before, at
   more than is likely. While a cycle runs holes may be used up, and copies cost less. */
GC__COLD void gc__pace_fill(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    uint64_t young = pace->filling_young_ns, slot = pace->filling_slot_ns;
    if (!young) young = gc__max(GC__FILL_COST * gc__min(pace->young_ns_per_mib, GC__FILL_NS_PER_MIB), GC__FILL_NS_PER_MIB);
    pace->young_ns_per_mib = gc__max(pace->young_ns_per_mib, young);
    pace->slot_ns = gc__max(pace->slot_ns, slot ? slot : GC__FILL_SLOT_NS);
    pace->filling_young_ns = pace->filling_slot_ns = 0;
    if (!heap->options.nursery_bytes) pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_in_time(heap));
}

GC__FN void gc__policy_learn(gc_heap *heap) {
    int generation = heap->collection.generation;
    size_t promoted[GC_GENERATIONS];
    /* Otherwise nothing is known of survival, or of what it costs. */
    bool traced = heap->cycle->plan->purpose != GC__YOUNG_WHOLESALE;
    heap->pace->wholesale_count += !traced;
    if (traced) gc__pace_survival(heap, generation);
    if (generation) heap->pace->has_huge = false;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        promoted[g] = heap->cycle->copied_bytes[g] + heap->cycle->marked_bytes[g];
        heap->generation_bytes[g] = g ? (g <= generation ? 0 : heap->generation_bytes[g]) + promoted[g] : 0;
    }
    heap->nursery_survivor_bytes = promoted[0];
    if (traced) {
        gc__pace_worth(heap, generation);
        gc__pace_tenure(heap, generation);
    }
    gc__pace_nursery(heap);
    if (generation == 2) {
        heap->full_bytes = heap->generation_bytes[1] + heap->generation_bytes[2] + heap->nursery_survivor_bytes;
        if (gc__regions_left(heap) > gc__evacuation_reserve_of(heap, heap->full_bytes)) heap->reserve_open = false;
        gc__pace_room(heap);
        if (!heap->collection.compacting)
            heap->pace->full_copied_bytes = heap->cycle->copied_bytes[1] + heap->cycle->copied_bytes[2];
        gc__pace_goal(heap, heap->full_bytes + gc__external_bytes(heap));
        bool fills = gc__has_pause_goal(heap) && (!gc__is_mostly_used(&heap->cycle->old_small) || gc__is_tight(heap));
        if (fills) gc__pace_fill(heap);
        heap->pace->fills_holes = fills;
        heap->old_unlisted = fills ? heap->regions[2] : NULL;
        heap->unlisted_bytes = fills ? gc__pace_holes(heap) : 0;
    }
    heap->budget_bytes = gc__nursery_in_goal(heap);
    size_t copies = (heap->budget_bytes >> GC_REGION_SHIFT) + 2;
    heap->free_for_copies = gc__has_pause_goal(heap) ? gc__min(copies, heap->held_regions / 8) : 0;
    gc__external_count_left(heap);
    gc__pace_release(heap, generation);
}
/* Concurrent cycles: which heaps can have them, when one begins and ends, and whether the marker is on time. */


#define GC__MARKING_ROOM 4                  /* a heap may grow by such a part while it is marked, though that was due before */
#define GC__MARKING_SOON 16                 /* a cycle may begin once the heap has grown by such a part of what it may */
#define GC__MARKING_LOST 2                  /* times that room, beyond which a heap grows until the program is stopped */

/* Whether each store into an object that is being marked comes to the collector's notice: by a call, or by a dirty card. */
GC__FN bool gc__barrier_is_seen(gc_barrier barrier) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    return parts.filter == GC__FILTER_RANK || parts.filter == GC__FILTER_SUM ||
           (parts.filter == GC__FILTER_ANY && parts.mark != GC__MARK_NOTHING);
}

/* Why generation 2 of such a heap cannot be marked beside mutators; NULL: it can. */
GC__OUT_OF_LINE const char *gc__marking_obstacle(const gc_options *options) {
    if (GC_HAS_MODEL) return "objects are traced by the host's own functions (GC_MODEL_BYTES)";
    if (options->non_generational) return "options.non_generational is set, so stores have no barrier";
    if (options->non_moving) return "options.non_moving is set, so holes are given to mutators by stopping collections";
    if (gc__barrier_is_seen(gc_barrier_current())) return NULL;
    return "the barrier shows no stores of old references: rank_sum does, and those do that dirty cards whatever is "
           "stored";
}

/* The same with what may change while the heap runs. With a goal for pauses that is what was asked for, and in so small a heap
   the goal is kept all the same. */
GC__FN const char *gc__marking_obstacle_now(const gc_heap *heap) {
    const gc_options *options = &heap->options;
    const char *obstacle = gc__marking_obstacle(options);
    if (obstacle || options->pause_goal_us || options->test_marker_steps || heap->limit_bytes >= GC__MARKING_WORTH)
        return obstacle;
    return "options.heap_bytes_max is less than the 2 MiB of old objects for which marking beside them begins";
}

/* An option without effect must not change how the heap is paced either. It comes into force once nothing stands against it any
   more, as with another barrier or a higher limit. `may_end`: the heap is about to be paced anew after a full collection, as it
   must be when the option ends. The world is stopped. */
GC__FN void gc__marking_resolve(gc_heap *heap, bool may_end) {
    bool stands = heap->asked_concurrent && gc__marking_obstacle_now(heap);
    if (heap->asked_concurrent && !stands) heap->options.concurrent = GC_CONCURRENT_ON;
    if (stands && may_end && !heap->marking) heap->options.concurrent = GC_CONCURRENT_OFF;
}

/* The barrier may have been switched since the heap was created. */
GC__FN bool gc__marking_is_on(const gc_heap *heap) {
    if (!gc__has_pause_goal(heap) || heap->marker->refused) return false;
    return !gc__marking_obstacle(&heap->options);
}

/* Whether each store into an old object can come to gc__store_logged: other barriers than rank_sum, and code that the host has
   had emitted, dirty the card instead. */
GC__FN bool gc__stores_are_logged(const gc_heap *heap) {
    return !heap->options.barrier_changed && gc_barrier_current() == GC_BARRIER_RANK_SUM;
}

/* How many bytes the last collection of the cycle that begins may copy from leaving regions. */
GC__FN size_t gc__candidates_budget(const gc_heap *heap) {
    size_t goal = gc__pace_goal_ns(heap) / GC__CANDIDATES_NS, scarce = gc__regions_scarce(heap) + GC__REGIONS_SCARCE;
    if (heap->options.test_candidates) return SIZE_MAX;
    if (!heap->pace->fills_holes) return 0;
    return gc__regions_left(heap) < scarce ? GC__CANDIDATES_HURRY * goal : goal;
}

/* By how much generation 2 is likely to grow while it is marked: as much as last time, and half of that. */
GC__FN size_t gc__marking_growth(const gc_heap *heap) {
    return heap->marker->grown_bytes + heap->marker->grown_bytes / 2 + heap->pace->nursery_bytes;
}

/* What is left to the limit beside a nursery: free regions, most of the listed holes, and half of those that are not listed yet,
   some of which are too small. */
GC__FN size_t gc__marking_room(const gc_heap *heap) {
    size_t left = gc__regions_left(heap), reserve = gc__evacuation_reserve_of(heap, heap->full_bytes);
    reserve += 1 + (heap->pace->nursery_bytes >> GC_REGION_SHIFT);
    size_t holes = gc__counted(&heap->old_holes.bytes) / 4 * 3 + gc__counted(&heap->unlisted_bytes) / 2;
    return ((left - gc__min(left, reserve)) << GC_REGION_SHIFT) + holes;
}

/* How much it may grow meanwhile. */
GC__FN size_t gc__marking_reserve(const gc_heap *heap) {
    size_t growth = gc__growth_due(heap);
    return gc__min(gc__max(gc__marking_growth(heap), growth / 8), growth / 2);
}

/* Whether that may not suffice for as much growth. If the marker has not settled all regions yet, which the first collection of a
   cycle would have to do, that one comes later: but not until nothing is left where the marker gets no processor. */
GC__FN bool gc__marking_is_short(const gc_heap *heap) {
    size_t growth = gc__marking_growth(heap);
    return gc__marking_room(heap) < (__atomic_load_n(&heap->old_unflipped, __ATOMIC_RELAXED) ? growth / 2 : growth);
}

/* Whether it has grown by some times what it had room for. Mutators wait when that room is spent, so it is not their allocation
   that was too fast. */
GC__FN bool gc__marking_is_lost(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    return gc__grown_bytes(heap) >= marker->most_bytes + GC__MARKING_LOST * marker->began_growth;
}

/* The part of the room to grow that a cycle had when it began and that is left, in 64ths. */
GC__FN unsigned gc__marking_left(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    size_t most = marker->most_bytes, growth = most - gc__min(most, gc__grown_bytes(heap));
    size_t room = gc__marking_room(heap) / gc__max(marker->began_room / 64, GC__WINDOW_BYTES);
    return (unsigned)gc__min(gc__min(growth / gc__max(marker->began_growth / 64, 1), room), 64);
}

/* How long a mutator has to wait for the marker, in eighths of the goal; 0: not at all. The marker is on time while the part of
   the room that is spent is no larger than the part that it has marked of what it is likely to mark. When hardly any room is left
   it may have more to mark than was likely. */
GC__COLD unsigned gc__marking_lateness(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    size_t marked = __atomic_load_n(&marker->marked_bytes, __ATOMIC_RELAXED);
    unsigned done = (unsigned)gc__min(marked / (marker->likely_bytes / 56 + 1), 56);
    unsigned left = gc__marking_left(heap), spent = 64 - left;
    if (left < 64 / 8) return 8;
    return spent > done ? (unsigned)gc__min(1 + (spent - done) / 2, 8) : 0;
}

/* Whether the heap holds so much more than its goal, in holes that are too small, that it is better compacted: that stops the
   program for as long as it takes. */
GC__FN bool gc__marking_is_no_use(const gc_heap *heap) {
    return heap->pace->fills_holes && gc__bytes_in_use(heap) > heap->goal_bytes + heap->goal_bytes / 2;
}
/* When to collect, and for what. The chain of a cycle that cannot go on is here, too: concurrent, degenerated, full. */


/* What has happened that may call for a collection. */
typedef enum gc__event {
    GC__NURSERY_SPENT,     /* a mutator has spent its budget */
    GC__REGION_MISSED,     /* an allocation finds no region */
    GC__YOUNG_FREED_NONE,  /* and not after a young collection either */
    GC__LIMIT_MET,         /* nor after waiting for the marker */
    GC__MARKER_DONE,       /* the marker has nothing left but what waits for the final mark */
    GC__STRESS_POINT       /* the host wants collections as often as that */
} gc__event;

GC__COLD gc__request gc__request_of(gc__purpose purpose, int generation, gc_reason reason) {
    const gc__request request = {purpose, generation, reason, GC_DEGENERATED_NOT, purpose == GC__COMPACT || purpose == GC__SLIDE,
                                 false, 0};
    return request;
}

/* One that stops the program for generations up to this one. */
GC__COLD gc__request gc__request_stopped(int generation, gc_reason reason, bool compacting) {
    gc__purpose full = compacting ? GC__COMPACT : GC__FULL;
    gc__request request = gc__request_of(generation == 2 ? full : GC__YOUNG, generation, reason);
    request.compacting = compacting;
    return request;
}

GC__COLD gc__request gc__request_mark_begin(gc_reason reason) { return gc__request_of(GC__MARK_BEGIN, 1, reason); }

/* Why the cycle that runs cannot go on until all is marked; GC_DEGENERATED_NOT: it can. */
GC__COLD gc_degenerated gc__cycle_degenerates(const gc_heap *heap) {
    const gc__marker *marker = heap->marker;
    if (gc__marker_is_spoilt(heap)) return GC_DEGENERATED_BARRIER;
    if (!marker->has_thread && !heap->options.test_marker_steps) return GC_DEGENERATED_THREAD;
    return gc__marking_is_lost(heap) ? GC_DEGENERATED_GROWTH : GC_DEGENERATED_NOT;
}

/* Requests the end of the cycle that runs. If the marker is not done, the final mark has to trace what it has left: the
   cycle degenerates. */
GC__COLD gc__request gc__request_mark_end(const gc_heap *heap, gc_reason reason, gc_degenerated point) {
    gc__request request = gc__request_of(GC__MARK_END, 2, reason);
    if (!__atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE)) request.degenerated = point;
    return request;
}

/* Whether a cycle is due. `full`: without one, a full collection would be. */
GC__COLD bool gc__cycle_is_due(const gc_heap *heap, bool full) {
    size_t old = gc__grown_bytes(heap) + heap->generation_bytes[1];
    if (!gc__marking_is_on(heap) || (old < GC__MARKING_WORTH && !heap->options.test_marker_steps)) return false;
    bool grown = old >= heap->pace->full_live_bytes + gc__growth_due(heap) / GC__MARKING_SOON;
    return full || (grown && gc__marking_is_short(heap)) || old + gc__marking_reserve(heap) >= heap->pace->full_threshold;
}

/* A nursery has been spent. False: it grows instead. */
GC__COLD bool gc__next_for_nursery(gc_heap *heap, gc__request *request) {
    int generation = gc__pace_generation(heap);
    gc_degenerated point = heap->marking ? gc__cycle_degenerates(heap) : GC_DEGENERATED_NOT;
    if (heap->marking && (point || __atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE))) {
        *request = gc__request_mark_end(heap, GC_REASON_GROWTH, point);
        return true;
    }
    if (heap->marking) {
        if (generation == 2) generation = gc__pace_young(heap);
    } else if (gc__cycle_is_due(heap, generation == 2)) {
        bool no_use = gc__marking_is_no_use(heap);
        *request = no_use ? gc__request_stopped(2, GC_REASON_GROWTH, false) : gc__request_mark_begin(GC_REASON_GROWTH);
        if (no_use) request->degenerated = GC_DEGENERATED_HOLES;
        return true;
    }
    if (gc__pace_waits(heap, generation)) {
        gc__count(&heap->budget_bytes, gc__pace_step(heap));
        return false;
    }
    *request = gc__request_stopped(generation, generation == 2 ? GC_REASON_GROWTH : GC_REASON_NURSERY, false);
    return true;
}

/* Whether a mutator that finds no region ends its nursery early, where pauses have a goal: the survivors may find room in holes,
   and then the regions that they were in are free. A nursery that is hardly begun would gain too little. */
GC__COLD bool gc__next_ends_nursery(const gc_heap *heap) {
    return gc__marking_is_on(heap) && !heap->options.stress && gc__counted(&heap->generation_bytes[0]) >= GC__NURSERY_LEAST;
}

/* Whether a mutator that finds no region begins a cycle rather than stop the program: nothing is being marked, and enough has
   become old for a cycle to free some of it. */
GC__COLD bool gc__next_begins_cycle(const gc_heap *heap) {
    size_t old = gc__grown_bytes(heap), enough = heap->pace->full_live_bytes + gc__growth_due(heap) / GC__MARKING_SOON;
    bool worth = old >= enough && old >= GC__MARKING_WORTH && !heap->options.stress && !heap->options.test_marker_steps;
    return worth && !heap->marking && gc__marking_is_on(heap) && !gc__pace_is_cramped(heap);
}

/* Each generation in turn; where the old one can be marked concurrently, a cycle begins and ends instead of every other full
   collection. */
GC__COLD gc__request gc__next_under_stress(const gc_heap *heap) {
    uint64_t number = heap->collection.number;
    bool full = number % GC_GENERATIONS == 2, concurrent = gc__marking_is_on(heap) && number / GC_GENERATIONS % 2;
    if (full && heap->marking && !gc__marker_is_spoilt(heap))
        return gc__request_mark_end(heap, GC_REASON_STRESS, GC_DEGENERATED_REQUEST);
    if (full && concurrent) return gc__request_mark_begin(GC_REASON_STRESS);
    return gc__request_stopped((int)(number % GC_GENERATIONS), GC_REASON_STRESS, true);
}

/* Requests the collection that the event calls for. False: none. The heap's lock is held. */
GC__COLD bool gc__policy_next(gc_heap *heap, gc__event event, gc__request *request) {
    switch (event) {
    case GC__NURSERY_SPENT: return gc__next_for_nursery(heap, request);
    case GC__REGION_MISSED: return gc__next_ends_nursery(heap) && gc__next_for_nursery(heap, request);
    case GC__YOUNG_FREED_NONE: *request = gc__request_mark_begin(GC_REASON_GROWTH); return gc__next_begins_cycle(heap);
    case GC__MARKER_DONE: *request = gc__request_mark_end(heap, heap->marker->reason, GC_DEGENERATED_REQUEST); break;
    case GC__STRESS_POINT: *request = gc__next_under_stress(heap); break;
    case GC__LIMIT_MET:
        *request = heap->marking ? gc__request_mark_end(heap, GC_REASON_LIMIT, GC_DEGENERATED_LIMIT)
                                 : gc__request_stopped(2, GC_REASON_LIMIT, false);
        break;
    }
    return true;
}
#endif

#include "gc_handles.h"

#ifdef GC_IMPLEMENTATION
/* With GC_DEBUG 3, structures check themselves at the start and the end of each collection: numbers that are kept twice
   must agree, and every list must hold what its name says. Verify looks at objects and their slots; this part, at all the
   rest. */


typedef struct gc__checker {
    gc_heap *heap;
    const char *when;
    size_t regions;                    /* number of regions in the heap's lists */
    size_t live_bytes[GC_GENERATIONS]; /* the sum over the regions of each generation */
    size_t large_bytes, large_regions, spare_bytes, slack_bytes;
    const gc__handle_segment *segment; /* the segment that was last found to be the heap's */
    size_t free_places[GC_HANDLE_KINDS], free_blocks;
} gc__checker;

#define GC__CHECK_REMEDY                                                                                          \
    "either a fault of the collector, or the program has stored to memory that is not its own: AddressSanitizer " \
    "finds "                                                                                                      \
    "the second; the first, please report"

GC__COLD void gc__check_true(const gc__checker *checker, bool holds, const void *where, const char *what) {
    if (holds) return;
    gc__fatal(&checker->heap->options, "check (%s of collection %llu): %s (%p): " GC__CHECK_REMEDY, checker->when,
              (unsigned long long)checker->heap->collection.number, what, where);
}

GC__COLD void gc__check_equal(const gc__checker *checker, size_t counted, size_t recorded, const char *what) {
    if (counted == recorded) return;
    gc__fatal(&checker->heap->options,
              "check (%s of collection %llu): %s: %zu were counted, %zu are noted: " GC__CHECK_REMEDY, checker->when,
              (unsigned long long)checker->heap->collection.number, what, counted, recorded);
}

/* Regions. */

/* A region's entries in the tables that are indexed by address. */
GC__COLD void gc__region_check_tables(const gc__checker *checker, const gc__region *region) {
    for (uint32_t i = 0; i < region->span; i++) {
        const gc__region *part = region + i;
        size_t entry = (region->base >> GC_REGION_SHIFT) + i;
        gc__check_true(checker, gc__region_is_of(part, checker->heap), part,
                       "a region in a list belongs to another heap");
        gc__check_true(checker, !i || (part->kind == GC__LARGE_REST && part->rest_index == i), part,
                       "a part of a large object is none");
        int age = gc__tables.age[entry] & ~GC__AGE_CANDIDATE;
        gc__check_true(checker, age == gc__age_of(checker->heap, region->generation), part,
                       "a region's age is not its generation's");
        gc__check_true(checker, *(gc__tables.age + entry - GC_RANK_ENTRIES) == 2 - region->generation, part,
                       "a region's youth is not its generation's");
        gc__check_true(checker, GC__VERDICTS[entry] == GC__IGNORE, part, "a region has a verdict outside the trace");
    }
}

GC__COLD void gc__region_check(const gc__checker *checker, const gc__region *region, int generation) {
    uintptr_t end = gc__region_end(region);
    bool large = region->kind == GC__LARGE;
    gc__check_true(checker, large || region->kind == GC__SMALL, region,
                   "a region in a generation's list is of another kind");
    gc__check_true(checker, region->generation == generation, region, "a region is in another generation's list");
    gc__check_true(checker, large ? region->span >= 1 : region->span == 1, region, "a region's span is wrong");
    gc__check_true(checker, !region->linear || generation == 0, region, "a region of an old generation is linear");
    gc__check_true(checker, !region->formatted || region->linear, region, "a formatted region is not linear");
    gc__check_true(checker, !region->pinned && !region->overflowed, region, "a flag of a collection is left over");
    gc__check_true(checker,
                   region->top - region->base <= end - region->base && region->hole - region->base <= GC_REGION_BYTES,
                   region, "a region's top or hole lies outside it");
    gc__check_true(checker, region->indexed_end >= region->base && region->indexed_end <= end, region,
                   "a region's index lies outside it");
    gc__check_true(checker, region->dirty_end >= region->base && region->dirty_end <= end, region,
                   "a region's written part lies outside it");
    gc__check_true(checker, large || region->live_bytes <= GC_REGION_BYTES, region,
                   "a region holds more than its size");
    if (generation == 2 && !large && !region->linear)
        gc__check_equal(checker, gc__marked_object_bytes(region), region->live_bytes, "bytes of objects in an old region");
    gc__region_check_tables(checker, region);
}

GC__COLD void gc__large_check(gc__checker *checker, const gc__region *region) {
    size_t bytes = gc__object_bytes(region->base), end = gc__region_end(region) - gc__page_end(region->top);
    gc__check_equal(checker, region->top - region->base, bytes, "bytes of a large object");
    gc__check_true(checker, end < GC_REGION_BYTES && region->spare <= end, region, "the end of a large object is amiss");
    checker->large_bytes += bytes;
    checker->large_regions += region->span;
    checker->spare_bytes += region->spare;
    checker->slack_bytes += end - region->spare;
}

GC__COLD void gc__region_list_check(gc__checker *checker, int generation) {
    size_t most = gc__regions_used(), count = 0;
    for (const gc__region *region = checker->heap->regions[generation]; region; region = region->next) {
        gc__check_true(checker, count++ < most, region, "a list of regions has no end");
        gc__region_check(checker, region, generation);
        checker->regions += region->span;
        checker->live_bytes[generation] += region->live_bytes;
        if (region->kind == GC__LARGE) gc__large_check(checker, region);
    }
}

/* Checks the free list, or the quarantine: `count` regions of a kind. */
GC__COLD void gc__region_chain_check(const gc__checker *checker, const gc__region *first, size_t count, uint8_t kind,
                                   const char *what) {
    size_t found = 0;
    for (const gc__region *region = first; region && found <= count; region = region->next, found++)
        gc__check_true(checker, gc__region_is_of(region, checker->heap) && region->kind == kind, region, what);
    gc__check_equal(checker, found, count, what);
}

GC__COLD bool gc__region_is_listed(const gc__region *region, const gc__region *first) {
    while (first && first != region) first = first->next;
    return !region || first;
}

GC__COLD void gc__regions_check(gc__checker *checker) {
    const gc_heap *heap = checker->heap;
    size_t owned = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        gc__region_list_check(checker, g);
        gc__check_true(checker, gc__region_is_listed(heap->cycle->cursors[g], heap->regions[g]),
                       heap->cycle->cursors[g], "the region to search for holes is not in its generation's list");
    }
    gc__check_true(checker, gc__region_is_listed(heap->recycled, heap->regions[0]), heap->recycled,
                   "the region to search for holes is not in the list of generation 0");
    gc__region_chain_check(checker, heap->free, heap->free_count, GC__FREE, "regions in the free list");
    gc__region_chain_check(checker, heap->quarantine, heap->quarantine_count, GC__QUARANTINED,
                           "regions in the quarantine");
    gc__check_equal(checker, checker->regions + heap->free_count, heap->held_regions, "regions in the heap's lists");
    gc__check_equal(checker, checker->large_regions, heap->large_regions, "regions of large objects");
    gc__check_equal(checker, checker->spare_bytes, heap->spare_bytes, "spare bytes of large objects");
    gc__check_equal(checker, checker->slack_bytes, heap->slack_bytes, "slack of large objects");
    for (size_t i = 0, used = gc__regions_used(); i < used; i++)
        owned += gc__region_is_of(&gc__the_arena.regions[i], heap);
    gc__check_equal(checker, owned, heap->held_regions + heap->quarantine_count, "regions that are the heap's");
}

/* Bytes. Objects allocated in generation 0 since the last collection are counted in generation_bytes[0] alone. */
GC__COLD void gc__bytes_check(const gc__checker *checker, bool collected) {
    const gc_heap *heap = checker->heap;
    size_t external = 0;
    gc__check_equal(checker, checker->live_bytes[1], heap->generation_bytes[1], "bytes of generation 1");
    gc__check_equal(checker, checker->live_bytes[2], heap->generation_bytes[2], "bytes of generation 2");
    if (collected)
        gc__check_equal(checker, checker->live_bytes[0], heap->nursery_survivor_bytes, "bytes kept in generation 0");
    gc__check_equal(checker, checker->large_bytes, heap->large_bytes, "bytes of large objects");
    for (int g = 0; g < GC_GENERATIONS; g++) {
        const gc__map *map = &heap->collector->external[g];
        size_t count = 0;
        for (size_t i = 0; i < map->capacity; i++) {
            if (!map->keys[i]) continue;
            count++;
            external += map->values[i];
            gc__check_true(checker, gc__in_arena(map->keys[i]) && gc__region_of(map->keys[i])->generation == g,
                           (void *)map->keys[i], "an object with external bytes is of another generation");
        }
        gc__check_equal(checker, count, map->count, "objects with external bytes");
    }
    gc__check_equal(checker, external, heap->owned_bytes, "external bytes");
}

GC__COLD void gc__threads_check(const gc__checker *checker, bool collected) {
    for (const gc_thread *thread = checker->heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__check_true(checker, thread->heap == checker->heap, thread, "a thread in the list is another heap's");
        gc__check_true(checker,
                       !collected || (!thread->window.region && !thread->raw.region && !thread->window.limit &&
                                      !thread->raw.limit),
                       thread, "a thread has a window open");
    }
}

/* Handles. */

GC__COLD bool gc__handle_segment_is_known(gc__checker *checker, uintptr_t place) {
    const gc__handle_segment *segment = checker->segment;
    if (!segment || segment != gc__handle_segment_of(place)) segment = checker->heap->handles->segments;
    while (segment && segment != gc__handle_segment_of(place)) segment = segment->next;
    checker->segment = segment;
    return segment && gc__handle_index(segment, place) < GC__HANDLE_PLACES && place % sizeof(gc_word) == 0;
}

/* `kind`: GC_HANDLE_KINDS for the chain of free blocks. */
GC__COLD void gc__handle_cache_check(gc__checker *checker, const gc__handle_cache *cache, int kind) {
    uintptr_t place = cache->first;
    for (size_t i = 0; i < cache->count; i++) {
        gc__check_true(checker, gc__handle_segment_is_known(checker, place), (void *)place,
                       "a chain of free handles leads astray");
        size_t index = gc__handle_index(checker->segment, place);
        gc__check_true(checker, checker->segment->kinds[index / GC__HANDLE_BLOCK] == kind, (void *)place,
                       "a chain of free handles leads to another kind");
        gc_word next = *(const gc_word *)place;
        gc__check_true(checker, (next & GC__HANDLE_FREE) != 0, (void *)place,
                       "a chain of free handles leads to one in use");
        place = next - GC__HANDLE_FREE;
    }
    gc__check_true(checker, !place, (void *)place, "a chain of free handles is longer than noted");
    *(kind < GC_HANDLE_KINDS ? &checker->free_places[kind] : &checker->free_blocks) += cache->count;
}

GC__COLD void gc__handle_segment_check(const gc__checker *checker, const gc__handle_segment *segment, size_t *free_places,
                                     size_t *free_blocks) {
    gc__check_true(checker, segment->heap == checker->heap, segment, "a segment of handles is another heap's");
    for (size_t block = 0; block < GC__HANDLE_BLOCKS; block++) {
        uint8_t kind = segment->kinds[block];
        gc__check_true(checker, kind <= GC_HANDLE_KINDS, segment, "a block of handles is of no kind");
        bool extra = kind < GC_HANDLE_KINDS && gc__handle_has_extra((gc_handle_kind)kind);
        gc__check_true(checker, extra == (segment->extras[block] != NULL), segment,
                       "a block of handles lacks its extra words, or has some");
        if (kind == GC_HANDLE_KINDS) ++*free_blocks;
        for (size_t i = 0; kind < GC_HANDLE_KINDS && i < GC__HANDLE_BLOCK; i++)
            free_places[kind] += segment->places[block * GC__HANDLE_BLOCK + i] & GC__HANDLE_FREE;
    }
}

/* Handles lock held. */
GC__COLD void gc__handles_check(gc__checker *checker) {
    const gc__handles *handles = checker->heap->handles;
    size_t free_places[GC_HANDLE_KINDS] = {0}, free_blocks = 0;
    for (const gc__handle_segment *segment = handles->segments; segment; segment = segment->next)
        gc__handle_segment_check(checker, segment, free_places, &free_blocks);
    gc__handle_cache_check(checker, &handles->free_blocks, GC_HANDLE_KINDS);
    gc__check_equal(checker, checker->free_blocks, free_blocks, "free blocks of handles");
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++) {
        gc__handle_cache_check(checker, &handles->free[kind], kind);
        for (const gc_thread *thread = checker->heap->threads->first; thread; thread = gc__record(thread)->next)
            gc__handle_cache_check(checker, &gc__record(thread)->handle_caches[kind], kind);
        gc__check_equal(checker, checker->free_places[kind], free_places[kind], "free handles of a kind, in chains");
    }
}

/* Finalizers. */

/* Finalizers lock held. */
GC__COLD void gc__finalizers_check(const gc__checker *checker) {
    const gc__finalizers *all = checker->heap->finalizers;
    const gc__words *registered = &all->registered;
    size_t room = registered->count + 2 * all->promised, empty = 0;
    gc__check_true(
        checker, all->start[2] <= all->start[1] && all->start[1] <= all->start[0] && all->start[0] <= registered->count,
        all->start, "the parts of the finalizers' list are out of order");
    for (size_t i = 0; i < registered->count; i += 2) {
        uintptr_t object = registered->words[i];
        int part = i < all->start[1] ? 2 : i < all->start[0] ? 1 : 0;
        if (part == 2 && !object && !registered->words[i + 1]) {
            empty += 2;
            continue;
        }
        gc__check_true(checker, gc__in_arena(object) && gc__region_is_of(gc__region_of(object), checker->heap),
                       (void *)object, "a finalizer is registered for what is no object of the heap");
        gc__check_true(checker, gc__region_of(object)->generation >= part, (void *)object,
                       "an object with a finalizer is younger than its part of the list");
    }
    gc__check_equal(checker, empty, all->empty, "words of pairs that have ended");
    gc__check_true(checker, all->packed <= all->packing && all->packing <= all->start[1] && all->looked <= all->start[1], all,
                   "the finalizers' list is packed, or looked at, outside of its old part");
    bool fits = registered->capacity >= room && all->moving.capacity >= room - empty;
    room -= empty;
    for (int i = 0; i < 2; i++) {
        const gc__due *due = &all->due[i];
        gc__check_true(checker, due->head <= due->pairs.count && due->head % 2 == 0, due,
                       "a queue of finalizers has its head outside");
        fits = fits && due->pairs.capacity >= room + due->pairs.count;
    }
    gc__check_true(checker, fits, all, "a list of finalizers has no room for all there are");
}

/* The world is stopped, and windows are flushed. `collected`: they are closed, and nothing was allocated since. */
GC__COLD void gc__check_heap(gc_heap *heap, const char *when, bool collected) {
    gc__checker checker;
    memset(&checker, 0, sizeof checker);
    checker.heap = heap;
    checker.when = when;
    gc__regions_check(&checker);
    gc__bytes_check(&checker, collected);
    gc__threads_check(&checker, collected);
    gc__lock_take(&heap->handles->lock);
    gc__handles_check(&checker);
    gc__lock_release(&heap->handles->lock);
    gc__lock_take(&heap->finalizers->lock);
    gc__finalizers_check(&checker);
    gc__lock_release(&heap->finalizers->lock);
}
/* Under stress, where in the program each of the last collections was: for reports on references that it has made stale. */


#define GC__STRESS_KEPT 512u /* so many collections' places are kept */

typedef struct gc__stress {
    gc__map seen;       /* GC_STRESS_STACK, GC_STRESS_LOCATION: keys are what has collected; roots lock */
    size_t allocations; /* since the last new stack; atomic */
    gc__words kept;     /* for each of the last collections a gc__stress_place */
} gc__stress;

/* Where a collection was. */
typedef struct gc__stress_place {
    uintptr_t number; /* of the collection; 0: none */
    int count;
    void *frames[GC__STACK_FRAMES];
    char location[104]; /* in the host's program */
} gc__stress_place;

GC__STATIC_ASSERT(sizeof(gc__stress_place) % sizeof(uintptr_t) == 0, "places are kept among words");

/* Describes where the calling thread is in the host's program, "" if that is not known. */
GC__COLD void gc__stress_location(gc_heap *heap, char *text, size_t bytes) {
    GC__HOST_SCOPE;
    gc_thread *thread = gc__thread_self(heap);
    *text = 0;
    if (heap->options.location && thread) heap->options.location(heap->options.host, thread, text, bytes);
    text[bytes - 1] = 0;
}

GC__COLD gc__stress_place *gc__stress_place_of(const gc_heap *heap, uint64_t number) {
    uintptr_t *words = heap->stress->kept.words;
    return words ? (gc__stress_place *)(void *)words + number % GC__STRESS_KEPT : NULL;
}

/* Keeps where the collection is that begins, for reports of what it has moved or found dead. */
GC__COLD void gc__stress_keep_place(gc_heap *heap) {
    if (!gc__words_reserve(&heap->stress->kept, GC__STRESS_KEPT * sizeof(gc__stress_place) / sizeof(uintptr_t))) return;
    gc__stress_place *place = gc__stress_place_of(heap, heap->collection.number);
    place->number = heap->collection.number;
    place->count = gc__os_stack_frames(place->frames);
    gc__stress_location(heap, place->location, sizeof place->location);
}

GC__COLD void gc__stress_print_place(const gc_heap *heap, uint64_t number) {
    const gc__stress_place *place = gc__stress_place_of(heap, number);
    if (!number || !place || place->number != number) return;
    fprintf(stderr, "gc.h: collection %llu was here:\n", (unsigned long long)number);
    if (*place->location) fprintf(stderr, "gc.h:     %s\n", place->location);
    gc__os_name_frames(place->frames, place->count, 0);
}
/* Verify: walks everything and reports the first reference that breaks the collector's invariants. */


typedef struct gc__verifier {
    gc_visitor visitor;
    gc_heap *heap;
    const char *by, *when; /* for reports: the check, and its time */
    uintptr_t holder;      /* 0: a root */
    size_t objects;
    const gc_type *sound_types[256]; /* found in this pass, by a hash of the address: checking one asks the system */
    uint8_t *reached;                /* checkmark: a bit per 8 bytes of the arena in use; NULL when verifying */
    gc__words stack;
    size_t reached_count;
    bool *unsound; /* several threads verify: faults are noted there, for one thread to find again and report */
    bool *traced;  /* likewise that there are trace functions to be called */
    bool rest;     /* only these are */
} gc__verifier;

/* Whether a fault is only noted. */
GC__COLD bool gc__verify_discovered(const gc__verifier *verifier) {
    if (verifier->unsound) __atomic_store_n(verifier->unsound, true, __ATOMIC_RELAXED);
    return verifier->unsound != NULL;
}

/* The name of the object's field at an offset, or of an element's if that is there; *length is that of the name. NULL: its type
   has none for it. */
GC__COLD const char *gc__field_name(uintptr_t object, size_t offset, size_t *length) {
#if !GC_HAS_MODEL
    const gc_type *type = gc__object_type(object);
    const char *name = type->fields;
    bool is_element = type->element_bytes && offset >= type->bytes;
    size_t at = is_element ? (offset - type->bytes) % type->element_bytes : offset;
    for (unsigned i = 0; name && *name && at < GC_ELEMENT_FIELD && i < 16; i++) {
        *length = strcspn(name, ", ");
        if (type->field_offsets[i] == (is_element ? GC_ELEMENT_FIELD | at : at)) return name;
        name += *length;
        name += strspn(name, ", ");
    }
#endif
    (void)object, (void)offset, (void)length;
    return NULL;
}

/* Which element is at the offset. False: it is in the fixed part. */
GC__COLD bool gc__element_of(uintptr_t object, size_t offset, size_t *element) {
#if !GC_HAS_MODEL
    const gc_type *type = gc__object_type(object);
    *element = type->element_bytes && offset >= type->bytes ? (offset - type->bytes) / type->element_bytes : 0;
    return type->element_bytes && offset >= type->bytes;
#else
    (void)object, (void)offset, (void)element;
    return false;
#endif
}

/* Writes a field's name to `text`, or its offset where the type has no name for it. */
GC__COLD void gc__describe_field(char *text, size_t bytes, uintptr_t holder, size_t offset) {
    if (offset >= gc__object_bytes(holder)) {
        snprintf(text, bytes, "the slot at %p, which the trace function reported,", (void *)(holder + offset));
        return;
    }
    size_t length = 0, element = 0;
    const char *name = gc__field_name(holder, offset, &length);
    bool is_element = gc__element_of(holder, offset, &element);
    if (name && is_element)
        snprintf(text, bytes, "field `%.*s` of element %zu (offset %zu)", (int)length, name, element, offset);
    else if (name)
        snprintf(text, bytes, "field `%.*s` (offset %zu)", (int)length, name, offset);
    else if (is_element)
        snprintf(text, bytes, "element %zu (offset %zu)", element, offset);
    else
        snprintf(text, bytes, "the slot at offset %zu", offset);
}

/* "field `next` (offset 8) of `cell` 0x.. (generation 2)" or "the root .. in frame main (x.c:12)". */
GC__COLD void gc__describe_slot(char *text, size_t bytes, const gc__verifier *verifier, const void *slot) {
    const gc__threads *threads = verifier->heap->threads;
    const gc_frame_site *site = threads->root_site;
    char field[160];
    if (verifier->holder) {
        gc__describe_field(field, sizeof field, verifier->holder, (uintptr_t)slot - verifier->holder);
        snprintf(text, bytes, "%s of `%s` %p (generation %d)", field, gc__object_name(verifier->holder),
                 (void *)verifier->holder, gc__region_of(verifier->holder)->generation);
    } else if (site) {
        snprintf(text, bytes, "the root at %p, one of (%s) of frame %s (%s:%u)", slot, site->names, site->function,
                 site->file, site->line);
    } else if (threads->root_method) {
        snprintf(text, bytes, "the root at %p, in the compiled frame of `%s` at +0x%zx,", slot, threads->root_method,
                 threads->root_offset);
    } else {
        snprintf(text, bytes, "the root at %p (%s)", slot, threads->root_kind);
    }
}

/* Whose an array is. There are many arrays of the same few types, and no others refer to most of them. */
typedef struct gc__owner_search {
    gc_visitor visitor;
    gc__verifier found; /* where the slot is; its holder is 0 until one is found */
    uintptr_t array, looked_at;
    const void *slot;
} gc__owner_search;

GC__COLD void gc__owner_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__owner_search *search = (gc__owner_search *)visitor;
    for (size_t i = 0; i < count && !search->found.holder; i++) {
        gc_word *word = (gc_word *)slot + i;
        if (gc__slot_decode(*word, GC_HAS_VALUES && (flags & GC_SLOT_VALUE)) != search->array) continue;
        search->found.holder = search->looked_at;
        search->slot = word;
    }
}

GC__COLD bool gc__owner_object(void *context, uintptr_t object) {
    gc__owner_search *search = (gc__owner_search *)context;
    search->looked_at = object;
    gc__object_visit(object, &search->visitor);
    return !search->found.holder;
}

/* Writes "That `values` is in field `items` (offset 8) of `list` 0x.. (generation 2)" to `text`, or nothing where the object is
   no array, or no object holds it. Without `young` the objects since the last collection are left out. */
GC__COLD void gc__describe_owner(char *text, size_t bytes, gc_heap *heap, uintptr_t array, bool young) {
    gc__owner_search search;
    size_t element = 0;
    *text = 0;
    if (!array || !gc__element_of(array, gc__object_bytes(array), &element)) return;
    memset(&search, 0, sizeof search);
    search.visitor.visit = gc__owner_visit;
    search.found.heap = heap;
    search.array = array;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region && !search.found.holder; region = region->next)
            if (young || !region->linear) gc__region_walk(region, gc__owner_object, &search);
    if (!search.found.holder) return;
    char place[512];
    gc__describe_slot(place, sizeof place, &search.found, search.slot);
    snprintf(text, bytes, "That `%s` is in %s", gc__object_name(array), place);
}

/* Under stress: behind which call a stale reference has become so, and between which collections it was stored, or any other
   without its barrier. */
GC__COLD void gc__verify_print_places(const gc__verifier *verifier, uintptr_t ref, bool unseen) {
    const gc_heap *heap = verifier->heap;
    const gc__region *region = gc__in_arena(ref) ? gc__region_of(ref) : NULL;
    bool stale = region && region->kind == GC__QUARANTINED;
    if (!heap->stress->kept.words || !(stale || (unseen && heap->options.verify))) return;
    uint64_t last = heap->collection.number - (strcmp(verifier->when, "before") == 0);
    if (stale)
        fprintf(stderr,
                "gc.h: %p is stale since collection %llu. If a variable's value was stored, it was read before that "
                "collection, and stored between collection %llu and this one:\n",
                (void *)ref, (unsigned long long)region->condemned, (unsigned long long)last);
    else
        fprintf(stderr, "gc.h: %p was stored without a barrier between collection %llu and this one:\n", (void *)ref,
                (unsigned long long)last);
    if (stale) gc__stress_print_place(heap, region->condemned);
    if (!stale || region->condemned != last) gc__stress_print_place(heap, last);
    void *frames[GC__STACK_FRAMES];
    char location[sizeof(((gc__stress_place *)0)->location)];
    fprintf(stderr, "gc.h: this collection is here:\n");
    gc__stress_location(verifier->heap, location, sizeof location);
    if (*location) fprintf(stderr, "gc.h:     %s\n", location);
    gc__os_name_frames(frames, gc__os_stack_frames(frames), 0);
}

/* `unseen`: what is wrong is that no barrier has seen the store. */
GC__COLD void gc__verify_fault(const gc__verifier *verifier, const void *slot, uintptr_t ref, const char *fault, bool unseen) {
    char holder[512], owner[640];
    gc__describe_slot(holder, sizeof holder, verifier, slot);
    gc__describe_owner(owner, sizeof owner, verifier->heap, verifier->holder, true);
    gc__verify_print_places(verifier, ref, unseen);
    gc__fatal(&verifier->heap->options, "%s (%s collection %llu): %s holds %p: %s%s%s", verifier->by, verifier->when,
              (unsigned long long)verifier->heap->collection.number, holder, (void *)ref, fault, *owner ? ". " : "", owner);
}

/* What is wrong with a reference into the arena, NULL if nothing. */
GC__COLD const char *gc__reference_fault(gc_heap *heap, uintptr_t ref) {
    gc__region *region = gc__region_of(ref);
    if (region->kind == GC__QUARANTINED || region->kind == GC__FREE)
        return "that object was moved or freed by an earlier collection, and this slot was not updated: "
               "what was stored came from a variable that is no root (GC_ROOTS, or gc_roots_add for a static one), "
               "or the slot itself was not reported as a root, or the store into it had no write barrier (gc_store)";
    if (!gc__region_is_of(region, heap))
        return "that object belongs to another heap: references must stay within one heap";
    if (ref & 7) return "that address is not 8-byte aligned: the slot does not hold a plain reference";
    if (region->kind == GC__LARGE_REST || ref >= gc__region_starts_end(region))
        return "that address lies within a large object, not at its start";
    gc__region_index(region);
    if (!gc__mark_get(ref))
        return "no object starts there: it points into an object (which only a root may, that has GC_SLOT_INTERIOR), "
               "or to "
               "one that a collection has freed or moved because this slot was not reported as a root, or was stored "
               "to "
               "without the write barrier (gc_store)";
    return NULL;
}

GC__COLD void gc__verify_slot(gc__verifier *verifier, gc_word *slot, bool value) {
    uintptr_t ref = gc__slot_decode(*slot, value);
    if (!ref || !gc__in_arena(ref)) return;
    const char *fault = gc__reference_fault(verifier->heap, ref);
    if (fault && gc__verify_discovered(verifier)) return;
    if (fault) gc__verify_fault(verifier, slot, ref, fault, false);
    bool owned = !gc__in_arena((uintptr_t)slot);
    uintptr_t place =
        owned ? verifier->holder : (uintptr_t)slot; /* whose card shows that the slot is to be looked at */
    if (!verifier->holder || !gc__needs_card((void *)place, ref)) return;
    if (gc__card_is_dirty(place) && gc__bundle_is_dirty(place)) return;
    if (gc__is_remembered(verifier->heap, place) || gc__verify_discovered(verifier)) return;
    char text[256];
    snprintf(text, sizeof text,
             "a `%s` of generation %d, but the %s card is clean: a missing write barrier. Store it by %s",
             gc__object_name(ref), gc__region_of(ref)->generation, owned ? "owner's" : "slot's",
             owned ? "gc_store_in (or gc_store_value_in), or call gc_remember for the owner"
                   : "gc_store (or gc_store_value, gc_copy_refs, gc_stores_begin)");
    gc__verify_fault(verifier, slot, ref, text, true);
}

GC__COLD void gc__verify_stack(const gc__verifier *verifier, const gc_value_stack *stack) {
    uintptr_t fault = gc__stack_fault(stack), ref = fault ? gc__stack_ref(stack, fault) : 0;
    char text[256];
    if (!fault) return;
    snprintf(text, sizeof text,
             "a `%s` of generation %d, in entry %zu of a stack, below what the host says was stored to. Call "
             "gc_value_stack_touch at each return, and before stores through open upvalues",
             gc__object_name(ref), gc__region_of(ref)->generation,
             (fault - (uintptr_t)stack->base) / gc__stack_entry_bytes(stack));
    gc__verify_fault(verifier, (void *)fault, ref, text, true);
}

GC__COLD void gc__verify_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__verifier *verifier = (gc__verifier *)visitor;
    if (flags & (GC_SLOT_CONSERVATIVE | GC_SLOT_INTERIOR | GC__SLOT_DERIVED)) return;
    if (flags & GC__SLOT_STACK) gc__verify_stack(verifier, ((const gc__stack_part *)slot)->stack);
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    if (gc__traced) gc__traced_check(verifier->heap, slot, count, flags);
    for (size_t i = 0; i < count; i++)
        gc__verify_slot(verifier, (gc_word *)slot + i, GC_HAS_VALUES && (flags & GC_SLOT_VALUE));
}

/* Checks an object's header, before anything asks it for a size. */
GC__COLD bool gc__verify_header(void *context, uintptr_t object) {
    gc__verifier *verifier = (gc__verifier *)context;
#if !GC_HAS_MODEL
    const gc_type *type = gc__object_type(object);
    const gc_type **sound = &verifier->sound_types[((uintptr_t)type >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 56];
    if (type == *sound) return true;
    const char *fault = gc__os_is_mapped(type, sizeof *type) ? gc_type_check(type) : "it points to nothing";
    if (fault && gc__verify_discovered(verifier)) return false;
    if (fault)
        gc__fatal(&verifier->heap->options,
                  "verify (%s collection %llu): the object %p has a bad type: %s. Its header was overwritten, by a "
                  "store beyond the end of the object before it perhaps, or its type is misdeclared",
                  verifier->when, (unsigned long long)verifier->heap->collection.number, (void *)object, fault);
    *sound = type;
#else
    (void)verifier, (void)object;
#endif
    return true;
}

GC__COLD bool gc__verify_object(void *context, uintptr_t object) {
    gc__verifier *verifier = (gc__verifier *)context;
    verifier->objects += !verifier->rest;
    verifier->holder = object;
#if !GC_HAS_MODEL
    bool traced = gc__object_type(object)->trace != NULL;
    if (traced && verifier->traced) __atomic_store_n(verifier->traced, true, __ATOMIC_RELAXED);
    if (traced ? verifier->traced != NULL : verifier->rest) return true;
#endif
    gc__object_visit_entries(object, &verifier->visitor);
    return true;
}

/* The bounds of barriers, and the headers of the region's objects. */
GC__COLD void gc__verify_region(gc__verifier *verifier, gc__region *region) {
    const gc_barrier_tables *tables = &gc__tables; /* other heaps may be widening the bounds */
    uintptr_t end = gc__region_end(region);
    bool young = region->generation < 2;
    if (region->base < gc__barrier_bound(&tables->lowest) || end > gc__barrier_bound(&tables->highest) ||
        (young && (region->base < gc__barrier_bound(&tables->low) || end > gc__barrier_bound(&tables->high)))) {
        if (gc__verify_discovered(verifier)) return;
        gc__fatal(&verifier->heap->options,
                  "verify (%s collection %llu): the region at %p (generation %d) lies outside the bounds of barriers: "
                  "a fault of the collector, please report it",
                  verifier->when, (unsigned long long)verifier->heap->collection.number, (void *)region->base,
                  region->generation);
    }
    gc__region_walk(region, gc__verify_header, verifier);
}

/* What active objects own is stored to without a barrier, so they count as remembered. */
GC__COLD void gc__verify_visit_active(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    (void)visitor;
    if (flags & GC_SLOT_ACTIVE)
        gc__root_remember((const gc_word *)slot, count, GC_HAS_VALUES && (flags & GC_SLOT_VALUE));
}

/* What several threads verify: of each region the headers first, and then the slots. */
typedef struct gc__verify_job {
    const gc__verifier *verifier;
    gc__words regions;
    bool slots, unsound, traced; /* the last two are atomic */
    size_t objects;              /* atomic */
} gc__verify_job;

GC__COLD void gc__verify_unit(void *context, size_t unit) {
    gc__verify_job *job = (gc__verify_job *)context;
    gc__region *region = (gc__region *)job->regions.words[unit];
    gc__verifier verifier = *job->verifier;
    if (__atomic_load_n(&job->unsound, __ATOMIC_RELAXED)) return;
    verifier.unsound = &job->unsound;
    verifier.traced = &job->traced;
    if (job->slots) {
        gc__region_walk(region, gc__verify_object, &verifier);
        __atomic_fetch_add(&job->objects, verifier.objects, __ATOMIC_RELAXED);
        return;
    }
    gc__verify_region(&verifier, region);
    if (!__atomic_load_n(&job->unsound, __ATOMIC_RELAXED)) gc__region_index(region);
}

/* Verifies the regions on all threads of the crew, but for what trace functions would report. False: something is wrong, or
   there is no memory for the list. */
GC__COLD bool gc__verify_shared(gc__verifier *verifier) {
    gc_heap *heap = verifier->heap;
    gc__verify_job job;
    memset(&job, 0, sizeof job);
    job.verifier = verifier;
    bool sound = heap->collector->workers != NULL;
    for (int g = 0; sound && g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; sound && region; region = region->next)
            sound = gc__words_push(&job.regions, (uintptr_t)region);
    for (int pass = 0; pass < 2 && sound; pass++) {
        job.slots = pass;
        gc__workers_each_of(heap, job.regions.count, gc__verify_unit, &job);
        sound = !job.unsound;
    }
    gc__words_free(&job.regions);
    verifier->objects = sound ? job.objects : 0;
    verifier->rest = sound;
    return sound && !job.traced;
}

static uint64_t gc__verifications; /* that found no fault, in all heaps; atomic */

/* Windows must be closed or flushed. */
GC__COLD size_t gc__verify_heap(gc_heap *heap, const char *when) {
    gc__verifier verifier;
    memset(&verifier, 0, sizeof verifier);
    verifier.visitor.visit = gc__verify_visit;
    verifier.heap = heap;
    verifier.by = "verify";
    verifier.when = when;
    gc__remembered_sort(heap);
    gc_visitor active = {gc__verify_visit_active};
    gc__roots_visit(heap, &active);
    bool shared = gc__verify_shared(&verifier);
    for (int g = 0; !verifier.rest && g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next) gc__verify_region(&verifier, region);
    for (int g = 0; !shared && g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            gc__region_walk(region, gc__verify_object, &verifier);
    verifier.holder = 0;
    gc__roots_visit(heap, &verifier.visitor);
    heap->threads->root_kind = "handle";
    gc__handles_verify(heap, &verifier.visitor);
    heap->threads->root_kind = NULL;
    __atomic_add_fetch(&gc__verifications, 1, __ATOMIC_RELAXED);
    return verifier.objects;
}
/* Checkmark: after a trace, a second, simple mark of everything, whose result must agree. */


GC__COLD size_t gc__checkmark_index(uintptr_t object) { return (object - gc__the_arena.base) >> 3; }

GC__COLD void gc__checkmark_reach(gc__verifier *verifier, uintptr_t ref, const void *slot) {
    if (!ref || !gc__in_arena(ref)) return;
    size_t index = gc__checkmark_index(ref);
    uint8_t bit = (uint8_t)(1u << (index & 7));
    if (gc__region_of(ref)->heap == verifier->heap && (verifier->reached[index >> 3] & bit)) return;
    const char *fault = gc__reference_fault(verifier->heap, ref);
    if (fault) {
        verifier->when = "after";
        gc__verify_fault(verifier, slot, ref, fault, false);
    }
    verifier->reached[index >> 3] |= bit;
    verifier->reached_count++;
    if (!gc__words_push(&verifier->stack, ref))
        gc__fatal(&verifier->heap->options, "checkmark: the system gives no memory for its stack");
}

/* Visits those slots of a weak table that keep their objects alive; of ephemerons the collection has taken notes. */
GC__COLD void gc__checkmark_entries(gc_visitor *visitor, const gc_weak_entries *entries) {
    unsigned flags = entries->flags & (unsigned)GC_SLOT_VALUE;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->kind == GC_WEAK_VALUES) gc_visit(visitor, gc__entry_key(entries, i), 1, flags);
        if (entries->kind == GC_WEAK_KEYS) gc_visit(visitor, gc__entry_value(entries, i), 1, flags);
    }
}

GC__COLD void gc__checkmark_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__verifier *verifier = (gc__verifier *)visitor;
    if (flags & GC__SLOT_ENTRIES) {
        gc__checkmark_entries(visitor, (const gc_weak_entries *)slot);
        return;
    }
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    for (size_t i = 0; i < count; i++)
        gc__checkmark_reach(verifier, gc__slot_decode(((gc_word *)slot)[i], GC_HAS_VALUES && (flags & GC_SLOT_VALUE)),
                            (gc_word *)slot + i);
}

GC__COLD size_t gc__count_marks(const gc_heap *heap) {
    size_t count = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next) {
            gc__region_flip(region);
            count += gc__marks_count(region);
        }
    return count;
}

GC__COLD bool gc__checkmark_has_reached(gc_visitor *visitor, uintptr_t object) {
    const gc__verifier *verifier = (const gc__verifier *)visitor;
    size_t index = gc__checkmark_index(object);
    return !gc__in_arena(object) || (verifier->reached[index >> 3] >> (index & 7) & 1);
}

/* After the sweep: everything reachable must have survived; and nothing else, if the whole heap was traced at once. */
GC__COLD void gc__checkmark(gc_heap *heap, bool exact) {
    size_t bytes = (gc__regions_used() + 1) * (GC_REGION_BYTES / 64);
    gc__verifier verifier;
    memset(&verifier, 0, sizeof verifier);
    verifier.visitor.visit = gc__checkmark_visit;
    verifier.by = "checkmark";
    verifier.heap = heap;
    verifier.reached = (uint8_t *)gc__os_map(bytes);
    if (!verifier.reached) {
        gc__warn(&heap->options, "checkmark was left out: the system gives no memory for its bits");
        return;
    }
    for (size_t i = 0; i < heap->cycle->roots.count; i++) {
        gc_word *slot = (gc_word *)(heap->cycle->roots.words[i] & ~(uintptr_t)1);
        gc__checkmark_reach(&verifier, gc__slot_decode(*slot, heap->cycle->roots.words[i] & 1), slot);
    }
    for (size_t i = 0; i < heap->cycle->pins.count; i++)
        gc__checkmark_reach(&verifier, heap->cycle->pins.words[i] & ~(uintptr_t)GC__PIN_CONSERVATIVE, NULL);
    for (size_t i = 0; i < heap->cycle->interior.count; i += 3)
        gc__checkmark_reach(&verifier, heap->cycle->interior.words[i + 2], NULL);
    for (size_t i = 0; i < heap->cycle->entries.ended.count; i++)
        gc__checkmark_reach(&verifier, heap->cycle->entries.ended.words[i], NULL);
    gc__finalizers_visit_queued(heap, &verifier.visitor);
    do {
        while (verifier.stack.count) {
            verifier.holder = verifier.stack.words[--verifier.stack.count];
            gc__object_visit_entries(verifier.holder, &verifier.visitor);
        }
    } while (gc__handles_checkmark(heap, &verifier.visitor, gc__checkmark_has_reached) ||
             gc__discovered_checkmark(heap, &verifier.visitor, gc__checkmark_has_reached));
    size_t survivors = gc__count_marks(heap);
    if (exact && survivors != verifier.reached_count)
        gc__fatal(&heap->options,
                  "checkmark after collection %llu: %zu objects survived but %zu are reachable: a fault of the "
                  "collector, please report it",
                  (unsigned long long)heap->collection.number, survivors, verifier.reached_count);
    gc__words_free(&verifier.stack);
    gc__os_unmap(verifier.reached, bytes);
}
/* The shadow heap (GC_SHADOW_HEAP): a second copy of what old slots hold, written by the barrier and brought up to date
   after each collection. A slot that differs from its shadow was stored to without the barrier, whether or not its card
   happens to be dirty. */


static char *gc__shadow; /* the shadow of the arena's first byte; written under the arena's lock */

GC__COLD gc_word *gc__shadow_of(const void *slot) {
    return (gc_word *)(void *)(gc__shadow + ((uintptr_t)slot - gc__the_arena.base));
}

/* Lock held. */
GC__COLD gc_result gc__shadow_open(void) {
    if (!GC_SHADOW_HEAP || gc__shadow || gc__the_outside.stores_no_shadow) return GC_OK;
    gc__shadow = gc__side_reserve(GC__SIDE_SHADOW);
    if (gc__shadow) return GC_OK;
    return gc__fail(
        GC_ERROR_RESERVE,
        "cannot reserve %zu MiB for the shadow heap: %s, or compile with a smaller GC_ARENA_BYTES, or without "
        "GC_SHADOW_HEAP",
        gc__the_arena.bytes >> 20, gc__supply_refusal(gc__the_arena.bytes));
}

/* The shadow is unmapped with the arena. */
GC__COLD void gc__shadow_close(void) { gc__shadow = NULL; }

GC_API void gc__shadow_store(void *slot, size_t count) {
    if (count && gc__shadow && gc__in_arena((uintptr_t)slot)) memcpy(gc__shadow_of(slot), slot, count * 8);
}

GC__COLD void gc__shadow_sync_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    (void)visitor, (void)flags;
    if (gc__in_arena((uintptr_t)slot)) memcpy(gc__shadow_of(slot), slot, count * 8);
}

GC__COLD void gc__shadow_check_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    if (gc__traced) gc__traced_check(((gc__verifier *)visitor)->heap, slot, count, flags);
    if (!gc__in_arena((uintptr_t)slot)) return; /* an object owns it */
    for (size_t i = 0; i < count; i++) {
        gc_word *word = (gc_word *)slot + i;
        uintptr_t ref = gc__slot_decode(*word, GC_HAS_VALUES && (flags & GC_SLOT_VALUE));
        if (*word == *gc__shadow_of(word) || !ref || !gc__in_arena(ref)) continue;
        gc__verify_fault(
            (gc__verifier *)visitor, word, ref,
            "it was stored there without the write barrier (the shadow heap holds another value): store it by gc_store "
            "(or gc_store_value, gc_copy_refs, gc_stores_begin)",
            true);
    }
}

GC__COLD bool gc__shadow_object(void *context, uintptr_t object) {
    gc__verifier *verifier = (gc__verifier *)context;
    verifier->holder = object;
    gc__object_visit(object, &verifier->visitor);
    return true;
}

GC__COLD void gc__shadow_walk(gc_heap *heap, void (*visit)(gc_visitor *, void *, size_t, unsigned)) {
    if (!GC_SHADOW_HEAP || !gc__shadow) return;
    gc__verifier verifier;
    memset(&verifier, 0, sizeof verifier);
    verifier.visitor.visit = visit;
    verifier.heap = heap;
    verifier.by = "shadow heap";
    verifier.when = "before";
    for (int g = 1; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            gc__region_walk(region, gc__shadow_object, &verifier);
}

/* Before a collection, and by gc_heap_verify: reports the first old slot that was stored to without the barrier. */
GC__COLD void gc__shadow_check(gc_heap *heap) { gc__shadow_walk(heap, gc__shadow_check_visit); }
/* After a collection: the shadow is what the slots hold now. */
GC__COLD void gc__shadow_sync(gc_heap *heap) { gc__shadow_walk(heap, gc__shadow_sync_visit); }
/* Stress: collecting far more often than needed, with every survivor moved and the memory it left made inaccessible, so
   that a reference that no root reported faults at its first use. The fault handler then says which object it meant. */


/* Walking the stack takes a microsecond or more. After so many allocations from stacks that were seen, only some are looked
   at. */
#define GC__STRESS_WARM 10000
#define GC__STRESS_SKIPPED 16

/* Whether the key, which is not 0, comes for the first time. */
GC__COLD bool gc__stress_is_new(gc_heap *heap, uintptr_t key) {
    gc__map *seen = &heap->stress->seen;
    gc__lock_take(&heap->threads->roots_lock);
    bool is_new = !gc__map_find(seen, key) && gc__map_reserve(seen, seen->count + 1);
    if (is_new) gc__map_put(seen, key);
    gc__lock_release(&heap->threads->roots_lock);
    return is_new;
}

GC__COLD bool gc__stack_is_new(gc_heap *heap) {
    size_t allocations = __atomic_add_fetch(&heap->stress->allocations, 1, __ATOMIC_RELAXED);
    if (allocations > GC__STRESS_WARM && allocations % GC__STRESS_SKIPPED) return false;
    bool is_new = gc__stress_is_new(heap, (uintptr_t)gc__os_stack_hash() | 1);
    if (is_new) __atomic_store_n(&heap->stress->allocations, 0, __ATOMIC_RELAXED);
    return is_new;
}

GC__COLD bool gc__location_is_new(gc_thread *thread) {
    GC__HOST_SCOPE;
    const gc_options *options = &thread->heap->options;
    uintptr_t location = options->location(options->host, thread, NULL, 0);
    return location && gc__stress_is_new(thread->heap, location);
}

/* The header word of an object that may have moved several times. The quarantine must be accessible. */
GC__FN uintptr_t gc__follow_forwarding(uintptr_t object) {
    while ((GC__WORD(object) & 3) == GC__FORWARD_TAG && gc__in_arena(GC__WORD(object))) {
        uintptr_t next = GC__WORD(object) - GC__FORWARD_TAG;
        const gc__region *region = gc__region_of(next);
        if (!region->accessible || region->kind == GC__FREE || next >= gc__region_starts_end(region)) return 0;
        if (!gc__bit_get(gc__region_marks(region), next)) return 0; /* that memory was used again */
        object = next;
    }
    return object;
}

/* Finds the heap slots that still hold the stale address: the store into such a slot lacked a barrier. */
typedef struct gc__holder_search {
    gc_visitor visitor;
    uintptr_t object, first, last; /* the search is for addresses in [first, last] */
    uintptr_t slots[8];            /* those of the object that hold it and are visited */
    unsigned slot_count, shown;
} gc__holder_search;

GC__COLD bool gc__is_searched(const gc__holder_search *search, uintptr_t word) {
    return word - search->first <= search->last - search->first;
}

/* How a report names what a slot or register holds: the object, or one of several addresses. */
GC__COLD const char *gc__held_text(const gc__holder_search *search, uintptr_t word, char text[24]) {
    if (search->first == search->last) return "it";
    snprintf(text, 24, "%p", (void *)word);
    return text;
}

GC__COLD void gc__holder_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__holder_search *search = (gc__holder_search *)visitor;
    for (size_t i = 0; i < count; i++) {
        gc_word *word = (gc_word *)slot + i;
        uintptr_t ref = gc__slot_decode(*word, GC_HAS_VALUES && (flags & GC_SLOT_VALUE));
        if (!gc__is_searched(search, ref)) continue;
        char field[160], held[24];
        gc__describe_field(field, sizeof field, search->object, (uintptr_t)word - search->object);
        fprintf(stderr, "gc.h:   %s of `%s` %p in the heap holds %s: a store there had no write barrier (gc_store)\n",
                field, gc__object_name(search->object), (void *)search->object, gc__held_text(search, ref, held));
        if (search->slot_count < 8) search->slots[search->slot_count++] = (uintptr_t)word;
    }
}

/* The searched address if the word holds it, plainly or as a tagged value, otherwise 0. */
GC__COLD uintptr_t gc__holder_word(const gc__holder_search *search, uintptr_t word) {
    if (gc__is_searched(search, word)) return word;
    uintptr_t ref = gc__slot_decode(word, GC_HAS_VALUES);
    return gc__is_searched(search, ref) ? ref : 0;
}

/* Words of the object that hold the address, though neither its type nor its trace function has reported them. */
GC__COLD void gc__holder_unnamed(gc__holder_search *search) {
    uintptr_t end = search->object + gc__object_bytes(search->object);
    for (uintptr_t at = search->object + 8; at + 8 <= end; at += 8) {
        uintptr_t ref = gc__holder_word(search, *(gc_word *)at);
        bool visited = !ref;
        for (unsigned i = 0; i < search->slot_count; i++) visited |= search->slots[i] == at;
        if (visited || search->slot_count == 8) continue;
        char held[24];
        fprintf(stderr, "gc.h:   offset %zu of `%s` %p in the heap holds %s: its type names no reference there\n",
                (size_t)(at - search->object), gc__object_name(search->object), (void *)search->object,
                gc__held_text(search, ref, held));
    }
}

GC__COLD bool gc__holder_object(void *context, uintptr_t object) {
    gc__holder_search *search = (gc__holder_search *)context;
    search->object = object;
    search->slot_count = 0;
    gc__object_visit(object, &search->visitor);
    gc__holder_unnamed(search);
    return true;
}

/* Static data, which is read as it is, with what AddressSanitizer leaves between variables. */
__attribute__((no_sanitize("address"))) GC__COLD void gc__holder_data(void *context, uintptr_t start, uintptr_t end) {
    enum { MOST = 4 };
    gc__holder_search *search = (gc__holder_search *)context;
    for (uintptr_t at = start; at < end && search->shown < MOST; at += 8) {
        uintptr_t ref = gc__holder_word(search, *(gc_word *)at);
        char name[256], held[24];
        if (!ref) continue;
        gc__os_name_data(name, sizeof name, at);
        if (strstr(name, "`gc__")) continue;
        fprintf(stderr, "gc.h:   %s holds %s: gc_roots_add, or scan_roots, must report it\n", name,
                gc__held_text(search, ref, held));
        search->shown++;
    }
}

/* Reads whole stack frames, with what AddressSanitizer leaves between variables. */
__attribute__((no_sanitize("address"))) GC__COLD void gc__report_holders(gc_heap *heap, uintptr_t first, uintptr_t last,
                                                                       const uintptr_t *words, size_t count,
                                                                       uintptr_t stack_pointer) {
    gc__holder_search search = {{gc__holder_visit}, 0, first, last, {0}, 0, 0};
    char held[24];
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            if (!region->linear) gc__region_walk(region, gc__holder_object, &search);
    gc__os_each_data(gc__holder_data, &search);
    for (size_t i = 0; i < count; i++)
        if (words[i] - first < last - first + 16)
            fprintf(stderr, "gc.h:   a register holds %s\n", gc__held_text(&search, words[i], held));
    if (gc__compiled) gc__compiled->print_use(gc__os_fault_pc(words));
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        bool is_mine = thread == gc__thread_self(heap);
        unsigned shown = 0;
        for (uintptr_t at = stack_pointer & ~(uintptr_t)7;
             is_mine && at + 8 <= (uintptr_t)gc__record(thread)->stack_base && shown < 4; at += 8) {
            if (!gc__is_searched(&search, *(gc_word *)at)) continue;
            fprintf(stderr, "gc.h:   the native stack holds %s at %p, %zu bytes above the stack pointer\n",
                    gc__held_text(&search, *(gc_word *)at, held), (void *)at, (size_t)(at - stack_pointer));
            shown++;
        }
        fprintf(stderr, "gc.h:   frames in force%s%s, innermost first:\n", is_mine ? "" : " in thread ",
                is_mine ? "" : gc__thread_name(thread));
        shown = 0;
        for (const gc_frame *frame = thread->frames; frame && shown < 8; frame = frame->previous, shown++)
            fprintf(stderr, "gc.h:     %s (%s:%u) roots: %s\n", frame->site->function, frame->site->file,
                    frame->site->line, frame->site->names);
        if (!thread->frames) fprintf(stderr, "gc.h:     none\n");
        /* A thread in cooperative mode may be changing its own meanwhile. */
        if (thread->code && (is_mine || gc_thread_mode(thread) == GC_MODE_PREEMPTIVE)) gc__compiled->print(thread);
    }
}

/* Prints the native stack at a fault. */
GC__COLD void gc__print_fault(const uintptr_t *words) {
    void *frames[GC__STACK_FRAMES];
    gc__os_name_frames(frames, gc__os_fault_frames(words, frames), gc__os_fault_pc(words));
}

/* Whether what faults is a barrier, to which a stale reference came. */
GC__COLD bool gc__is_stored(uintptr_t address) {
    return address == __atomic_load_n(&gc__stale_stored, __ATOMIC_RELAXED);
}

/* Reports which object was used; or that the memory has been used again, and no object covers the address. The stale
   reference points into [*first, result]: the object, or memory to which no reference should point. */
__attribute__((no_sanitize("address"))) GC__COLD uintptr_t gc__report_use(const gc__region *region, uintptr_t address,
                                                                        uintptr_t *first) {
    uintptr_t object = gc__mark_previous(region->base, address);
    uintptr_t now = object ? gc__follow_forwarding(object) : 0;
    bool moved = object && (GC__WORD(object) & 3) == GC__FORWARD_TAG;
    *first = region->base;
    if (!object || (now && address - object >= gc__object_bytes(now))) {
        fprintf(
            stderr,
            "gc.h: missed root or barrier: the program used the address %p, where no object was when collection %llu "
            "emptied that memory: the object that it belonged to died or moved away in an earlier collection, and "
            "that memory may have been used again since.\n",
            (void *)address, (unsigned long long)region->condemned);
        return address;
    }
    fprintf(stderr,
            "gc.h: missed root or barrier: the program %s a `%s` at %p (offset %zu), but that object %s in "
            "collection %llu.\n",
            gc__is_stored(address) ? "stored a reference to" : "used",
            now ? gc__object_name(now) : "(freed since)", (void *)object, (size_t)(address - object),
            moved ? "moved away" : "was found dead", (unsigned long long)region->condemned);
    char owner[640] = "";
    if (moved && now) gc__describe_owner(owner, sizeof owner, region->heap, now, false);
    if (*owner) fprintf(stderr, "gc.h: %s now.\n", owner);
    return *first = object;
}

/* The fault handler: says which object was used after it moved or died. */
__attribute__((no_sanitize("address"))) GC__COLD bool gc__stress_fault(uintptr_t address, const uintptr_t *words,
                                                                     size_t count, uintptr_t stack_pointer) {
    if (!gc__in_arena(address)) return false;
    gc__region *region = gc__region_of(address);
    gc_heap *heap = __atomic_load_n(&region->heap, __ATOMIC_RELAXED);
    if (region->kind != GC__QUARANTINED || !heap) return false;
    for (gc__region *each = heap->quarantine; each; each = each->next)
        if (!gc__os_access((void *)each->base, GC_REGION_BYTES, true)) return false;
    uintptr_t first, last;
    fflush(stdout);
    last = gc__report_use(region, address, &first);
    fprintf(stderr, "gc.h: the variable or field that holds that address was not reported as a root then. Put the "
                    "variable into GC_ROOTS "
                    "(or report it from\n"
                    "gc.h: scan_roots) before the call that may collect; an address such as &x->field that was "
                    "computed before it is stale too.\n"
                    "gc.h: If it was read from an object, name that field in the object's gc_type; if from a static "
                    "variable, gc_roots_add:\n");
    gc__report_holders(heap, first, last, words, count, stack_pointer);
    gc__stress_print_place(heap, region->condemned);
    fprintf(stderr, "gc.h: the %s is here:\n", gc__is_stored(address) ? "store" : "use");
    char location[sizeof(((gc__stress_place *)0)->location)];
    gc__stress_location(heap, location, sizeof location);
    if (*location) fprintf(stderr, "gc.h:     %s\n", location);
    gc__print_fault(words);
    if (heap->options.fatal) heap->options.fatal(heap->options.host, "missed root or barrier: see stderr");
    abort();
}

/* A fault while a trace function runs. */
GC__COLD bool gc__trace_fault(uintptr_t address, const uintptr_t *words) {
    uintptr_t object = gc__traced;
    if (!object) return false;
    const gc_heap *heap = gc__in_arena(object) ? gc__region_of(object)->heap : NULL;
    gc__traced_set(0); /* a fault while reporting is none of the trace function's */
    fflush(stdout);
    fprintf(stderr, "gc.h: a trace function faults here:\n");
    gc__print_fault(words);
    gc__fatal(
        heap ? &heap->options : NULL,
        "the trace function of `%s` faults at %p, for the object %p: what it reads was freed, or is not there yet. "
        "An object is visited from its allocation on, and also after its finalizer has run: a finalizer that frees "
        "what the trace function reads must leave a NULL and a count of 0 in the object",
        gc__object_name(object), (void *)address, (void *)object);
}

GC__COLD bool gc__fault(uintptr_t address, const uintptr_t *words, size_t count, uintptr_t stack_pointer) {
    return gc__stress_fault(address, words, count, stack_pointer) || gc__trace_fault(address, words);
}

/* From now on gc__fault reports faults. */
GC__COLD void gc__faults_watch(void) {
    void *frames[GC__STACK_FRAMES];
    if (GC_EMBEDDED) return;
    gc__os_stack_frames(frames); /* the first call may load a library */
    gc__lock_take(&gc__the_arena.lock);
    gc__os_on_fault(gc__fault);
    gc__lock_release(&gc__the_arena.lock);
}

/* Before a stress collection: sets the mark bits of all objects, by which the fault handler finds them. */
GC__COLD void gc__stress_index(gc_heap *heap) {
    gc__stress_keep_place(heap);
    for (gc__region *region = heap->regions[0]; region; region = region->next) gc__region_index(region);
}
/* What pauses were spent on: the longest ones, and the least share of any 1, 10 and 100 ms that they have left to the program.

   A pause begins when the thread that collects asks the others to stop, or earlier, when it begins to wait for the marker; it
   ends when they may go on. Of several collections in one stop each is a pause, and the first has the time to stop. Parts of the
   collector note in heap->pause what they had to do, as sums and not piece by piece. */


#define GC__WINDOW_PARTS 64

/* Pauses from `began` to `ended`, of `ns` together; the first one until `first_ended`. */
typedef struct gc__paused {
    uint64_t began, first_ended, ended, ns;
} gc__paused;

/* The most time that pauses took in any window of that length. A window that holds as much as any other can be moved so that it
   ends with a pause, so only those are looked at. Pauses that begin within a 64th of the window's length are one entry, so a ring
   of 66 has all that a window can meet; where a window begins within an entry, its pauses count as if they were at its end, so
   that the sum may be too large by a 64th of the window, and is never too small. */
typedef struct gc__window_share {
    uint64_t window_ns, most_ns;
    uint64_t ns; /* of all entries */
    unsigned first, count;
    gc__paused ring[GC__WINDOW_PARTS + 2];
} gc__window_share;

typedef struct gc__pauses {
    uint64_t created_ns; /* when the heap was */
    uint64_t began_ns;   /* the pause that runs */
    uint64_t stopped_ns; /* when all threads had stopped */
    uint64_t help_ns;    /* of the next pause */
    unsigned count;
    gc_pause longest[GC_PAUSES_KEPT]; /* the longest first */
    gc__paused recent;                /* all within a 64th of the shortest window, or one; the windows do not have them yet */
    gc__window_share windows[GC_WINDOWS];
} gc__pauses;

GC__COLD void gc__pauses_open(gc__pauses *pauses) {
    uint64_t window_ns = GC__NS_PER_MS;
    pauses->created_ns = gc__os_now_ns();
    for (int i = 0; i < GC_WINDOWS; i++, window_ns *= 10) pauses->windows[i].window_ns = window_ns;
}

GC__COLD gc__paused *gc__window_entry(gc__window_share *share, unsigned i) {
    return &share->ring[(share->first + i) % (GC__WINDOW_PARTS + 2)];
}

/* Some pauses have ended, later than all before. If they have not, the clock has stepped back, and all begins anew. */
GC__COLD void gc__window_note(gc__window_share *share, const gc__paused *paused) {
    if (share->count && paused->ended < gc__window_entry(share, share->count - 1)->ended) share->ns = share->count = 0;
    uint64_t from = paused->first_ended - gc__min(paused->first_ended, share->window_ns); /* of the earliest such window */
    while (share->count && gc__window_entry(share, 0)->ended <= from) {
        share->ns -= gc__window_entry(share, 0)->ns;
        share->first++;
        share->count--;
    }
    share->ns += paused->ns;
    gc__paused *last = share->count ? gc__window_entry(share, share->count - 1) : NULL;
    if (last && gc__ns_since(paused->began, last->began) < share->window_ns / GC__WINDOW_PARTS) {
        last->ended = paused->ended;
        last->ns += paused->ns;
    } else {
        *gc__window_entry(share, share->count++) = *paused;
    }
    const gc__paused *oldest = gc__window_entry(share, 0);
    uint64_t ns = share->ns, after = oldest->ended - gc__min(oldest->ended, from);
    if (oldest->began < from) ns -= oldest->ns - gc__min(oldest->ns, after);
    share->most_ns = gc__max(share->most_ns, gc__min(ns, share->window_ns));
}

/* Has the windows know of all pauses. */
GC__COLD void gc__pauses_close_windows(gc__pauses *pauses) {
    if (pauses->recent.ns)
        for (int i = 0; i < GC_WINDOWS; i++) gc__window_note(&pauses->windows[i], &pauses->recent);
    memset(&pauses->recent, 0, sizeof pauses->recent);
}

/* A pause has ended. Many short ones in a row, as of a program that collects at each allocation, take some instructions each. */
GC__COLD void gc__pauses_note(gc__pauses *pauses, uint64_t began, uint64_t ended) {
    gc__paused *recent = &pauses->recent;
    if (recent->ns && ended >= recent->ended && gc__ns_since(ended, recent->began) < GC__NS_PER_MS / GC__WINDOW_PARTS) {
        recent->ended = ended;
        recent->ns += gc__ns_since(ended, began);
        return;
    }
    gc__pauses_close_windows(pauses);
    recent->began = began;
    recent->first_ended = recent->ended = ended;
    recent->ns = gc__ns_since(ended, began);
}

/* The least part of any window that pauses have left. */
GC__COLD double gc__window_utilisation(const gc__window_share *share) {
    return 1 - (double)share->most_ns / (double)share->window_ns;
}

/* The world is stopped. */
GC__COLD void gc__pause_begin(gc_heap *heap) {
    gc_pause *pause = &heap->pause;
    gc__threads *threads = heap->threads;
    gc__pauses *pauses = heap->pauses;
    uint64_t now = gc__os_now_ns(), asked = threads->stop_started_ns ? threads->stop_started_ns : now;
    memset(pause, 0, sizeof *pause);
    pause->help_ns = pauses->help_ns;
    pause->stop_ns = gc__ns_since(now, asked);
    if (pause->stop_ns) pause->slowest_ns = threads->slowest_ns;
    pauses->began_ns = gc__ns_since(asked, pause->help_ns);
    pauses->stopped_ns = now;
    pause->held_bytes = gc__bytes_in_use(heap);
    pause->goal_bytes = heap->goal_bytes;
    pauses->help_ns = threads->stop_started_ns = 0;
}

GC__COLD uint64_t gc__pause_until_now(const gc_heap *heap) {
    return gc__ns_since(gc__os_now_ns(), heap->pauses->began_ns);
}
/* What of the pause came before the collection's phases. */
GC__COLD uint64_t gc__pause_before_phases(const gc_heap *heap) {
    return gc__ns_since(heap->pauses->stopped_ns, heap->pauses->began_ns) + heap->pause.marker_ns;
}

/* Of the collection that has just run. */
GC__COLD void gc__pause_describe(gc_heap *heap) {
    gc_pause *pause = &heap->pause;
    const gc_collection *collection = &heap->collection;
    const gc__cycle *cycle = heap->cycle;
    const gc__plan *plan = cycle->plan;
    const gc_thread *slowest = pause->stop_ns ? heap->threads->slowest : NULL;
    if (slowest) snprintf(pause->slowest, sizeof pause->slowest, "%s", gc__thread_name(slowest));
    pause->number = collection->number;
    pause->generation = collection->generation;
    pause->reason = collection->reason;
    pause->compacting = collection->compacting;
    pause->concurrent = plan->purpose == GC__MARK_END;
    pause->concurrent_begun = plan->purpose == GC__MARK_BEGIN;
    if (plan->purpose == GC__FULL) pause->degenerated = plan->request.degenerated;
    pause->roots = cycle->roots.count + cycle->interior.count / 3;
    pause->pins = cycle->pins.count;
    pause->condemned_bytes = heap->stats.condemned_bytes;
    pause->survived_bytes = heap->stats.survived_bytes;
    pause->moved_bytes = collection->moved_bytes;
    pause->ambiguous = heap->stats.conservative_objects;
}

/* Keeps the pause among the longest ones, of which it is one. */
GC__COLD void gc__pause_keep(gc_heap *heap) {
    gc__pauses *pauses = heap->pauses;
    gc__pause_describe(heap);
    unsigned place = pauses->count < GC_PAUSES_KEPT ? pauses->count++ : GC_PAUSES_KEPT - 1;
    for (; place && pauses->longest[place - 1].ns < heap->pause.ns; place--)
        pauses->longest[place] = pauses->longest[place - 1];
    pauses->longest[place] = heap->pause;
}

/* A thread has waited for the marker between two collections, while others may have run: no pause, but time that is taken. */
GC__COLD void gc__pauses_note_wait(gc_heap *heap, uint64_t began_ns, uint64_t ended_ns) {
    heap->stats.pause_total_ns += gc__ns_since(ended_ns, began_ns);
    gc__pauses_note(heap->pauses, began_ns, ended_ns);
}

/* The threads are about to go on. woken_ns: when the thread that marks was about to; 0: there is none. */
GC__COLD void gc__pause_end(gc_heap *heap, uint64_t woken_ns) {
    gc_stats *stats = &heap->stats;
    gc__pauses *pauses = heap->pauses;
    uint64_t now = gc__os_now_ns(), ns = gc__ns_since(now, pauses->began_ns);
    unsigned bucket = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;
    stats->pauses[bucket < GC_PAUSE_BUCKETS ? bucket : GC_PAUSE_BUCKETS - 1]++;
    stats->pause_total_ns += ns;
    stats->pause_last_ns = ns;
    if (ns > stats->pause_max_ns) stats->pause_max_ns = ns;
    gc__pauses_note(pauses, pauses->began_ns, now);
    heap->pause.ns = ns;
    heap->pause.wake_ns = woken_ns ? gc__ns_since(now, woken_ns) : 0;
    heap->pause.began_ns = gc__ns_since(pauses->began_ns, pauses->created_ns);
    if (pauses->count < GC_PAUSES_KEPT || ns > pauses->longest[GC_PAUSES_KEPT - 1].ns) gc__pause_keep(heap);
}

/* What has been told is not told again. Windows that begin before now and end later keep what they have seen. */
GC__COLD void gc__pauses_forget(gc__pauses *pauses) {
    gc__pauses_close_windows(pauses);
    pauses->count = 0;
    for (int i = 0; i < GC_WINDOWS; i++) pauses->windows[i].most_ns = 0;
}

GC_API size_t gc_heap_pauses(gc_heap *heap, gc_pause *longest, size_t count, bool forget) {
    GC__API_SCOPE("gc_heap_pauses");
    if (gc__is_null(heap, "gc_heap_pauses", "heap") || gc__is_null(longest, "gc_heap_pauses", "longest")) return 0;
    gc__heap_lock(heap);
    size_t told = gc__min(count, heap->pauses->count);
    memcpy(longest, heap->pauses->longest, told * sizeof *longest);
    if (forget) gc__pauses_forget(heap->pauses);
    gc__heap_unlock(heap);
    return told;
}
/* Statistics. */


GC__COLD void gc__stats_stopped(gc_heap *heap, gc_stats *stats) {
    size_t open_bytes = 0;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__thread_flush_windows(thread);
        const gc__local_spans *spans = &gc__record(thread)->local_spans;
        open_bytes += gc__window_room(&thread->window) + gc__window_room(&thread->raw) + spans->bytes + spans->left_bytes;
    }
    *stats = heap->stats;
    stats->allocated_bytes -= open_bytes;
    stats->generation_bytes[0] =
        heap->generation_bytes[0] - gc__min(open_bytes, heap->generation_bytes[0]) + heap->nursery_survivor_bytes;
    stats->generation_bytes[1] = heap->generation_bytes[1];
    stats->generation_bytes[2] = heap->generation_bytes[2];
    stats->large_bytes = heap->large_bytes;
    stats->external_bytes = gc__external_bytes(heap);
    stats->nursery_bytes = heap->pace->nursery_bytes;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        stats->live_bytes += stats->generation_bytes[g];
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            stats->regions += region->span;
            if (region->kind == GC__LARGE)
                stats->used_bytes += gc__region_end(region) - region->base - region->spare;
            else
                stats->used_bytes += region->linear ? region->top - region->base : GC_REGION_BYTES;
        }
    }
    stats->fragmentation_bytes = stats->used_bytes > stats->live_bytes ? stats->used_bytes - stats->live_bytes : 0;
    stats->committed_bytes = gc__held_bytes(heap);
    stats->committed_bytes_peak = heap->held_peak_bytes;
    stats->table_bytes = gc__table_bytes(heap->held_regions, heap->large_regions);
    stats->metadata_bytes = __atomic_load_n(&heap->metadata_bytes, __ATOMIC_RELAXED);
    stats->heap_bytes_max = gc__limit_told(heap);
    stats->concurrent_cpu_ns = gc__marker_cpu_ns(heap);
    gc__pauses_close_windows(heap->pauses);
    for (int i = 0; i < GC_WINDOWS; i++) stats->utilisation[i] = gc__window_utilisation(&heap->pauses->windows[i]);
}

GC_API void gc_heap_stats(gc_heap *heap, gc_stats *stats) {
    GC__API_SCOPE("gc_heap_stats");
    if (gc__is_null(heap, "gc_heap_stats", "heap") || gc__is_null(stats, "gc_heap_stats", "stats")) return;
    gc__world_stop(heap);
    gc__stats_stopped(heap, stats);
    gc__world_resume(heap);
}

GC_API uint64_t gc_heap_moves(const gc_heap *heap) {
    if (gc__is_null(heap, "gc_heap_moves", "heap")) return 0;
    return __atomic_load_n(&heap->stats.collections_moving, __ATOMIC_RELAXED);
}

GC_API uint64_t gc_stats_pause_percentile(const gc_stats *stats, double fraction) {
    if (gc__is_null(stats, "gc_stats_pause_percentile", "stats")) return 0;
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) total += stats->pauses[i];
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) {
        seen += stats->pauses[i];
        if (seen && (double)seen >= fraction * (double)total) {
            uint64_t end = (uint64_t)2 << i; /* the last bucket has no end */
            return end < stats->pause_max_ns && i < GC_PAUSE_BUCKETS - 1 ? end : stats->pause_max_ns;
        }
    }
    return 0;
}

GC__COLD void gc__print_pauses_line(const gc_stats *s, FILE *file) {
    const double ms = (double)GC__NS_PER_MS;
    fprintf(file,
            "pauses       total %.3f ms, longest %.3f ms, p99 %.3f ms, p99.9 %.3f ms; at least %.1f %% of any 1 ms is left "
            "to the program, %.1f %% of any 10 ms, %.1f %% of any 100 ms\n",
            (double)s->pause_total_ns / ms, (double)s->pause_max_ns / ms,
            (double)gc_stats_pause_percentile(s, 0.99) / ms, (double)gc_stats_pause_percentile(s, 0.999) / ms,
            100 * s->utilisation[0], 100 * s->utilisation[1], 100 * s->utilisation[2]);
}

/* The share of the pauses that each phase took. */
GC__COLD void gc__print_phases(const gc_stats *stats, FILE *file) {
    uint64_t total = 0;
    for (int i = 0; i < GC_PHASE_COUNT; i++) total += stats->phase_total_ns[i];
    fprintf(file, "phases      ");
    const char *between = "";
    for (int i = 0; i < GC_PHASE_COUNT; i++) {
        double percent = total ? 100 * (double)stats->phase_total_ns[i] / (double)total : 0;
        if (percent < 0.05) continue;
        fprintf(file, "%s %s %.1f %%", between, gc__phase_text((gc_phase)i), percent);
        between = ",";
    }
    fprintf(file, "\n");
}

/* What each collector thread has done: a line for each. */
GC__COLD void gc__print_workers(gc_heap *heap, FILE *file) {
    gc__heap_lock(heap);
    gc__workers *workers = heap->collector->workers;
    if (workers) gc__lock_take(&workers->lock);
    if (workers)
        fprintf(file, "collectors   %u threads, in %llu of the traces\n", workers->count,
                (unsigned long long)workers->traces);
    for (unsigned i = 0; workers && i < workers->count; i++) {
        const gc__worker_thread *thread = &workers->threads[i];
        fprintf(
            file,
            "  %-11u%llu objects, %.2f MiB copied, %llu pieces shared, %llu taken; %llu copies lost; waited %.3f ms, "
            "CPU %.3f ms\n",
            i, (unsigned long long)thread->objects, (double)thread->bytes / 1048576.0,
            (unsigned long long)thread->shared, (unsigned long long)thread->steals, (unsigned long long)thread->lost,
            (double)thread->asleep_ns / (double)GC__NS_PER_MS,
            (double)__atomic_load_n(&thread->cpu_ns, __ATOMIC_RELAXED) / (double)GC__NS_PER_MS);
        if (workers->seed)
            fprintf(file, "             %llu of %llu turns idle\n", (unsigned long long)thread->steps_asleep,
                    (unsigned long long)workers->steps);
    }
    if (workers) gc__lock_release(&workers->lock);
    gc__heap_unlock(heap);
}

GC_API __attribute__((cold)) void gc_heap_print_stats(gc_heap *heap, FILE *file) {
    if (gc__is_null(heap, "gc_heap_print_stats", "heap") || gc__is_null(file, "gc_heap_print_stats", "file")) return;
    gc_stats s;
    gc_heap_stats(heap, &s);
    const double mib = 1048576.0, ms = (double)GC__NS_PER_MS;
    fprintf(file, "collections  gen0 %llu, gen1 %llu, gen2 %llu (%llu compacting); %llu moved objects\n",
            (unsigned long long)s.collections[0], (unsigned long long)s.collections[1],
            (unsigned long long)s.collections[2], (unsigned long long)s.collections_compacting,
            (unsigned long long)s.collections_moving);
    gc__print_pauses_line(&s, file);
    gc__print_phases(&s, file);
    fprintf(file, "allocated    %.2f MiB\n", (double)s.allocated_bytes / mib);
    fprintf(file, "promoted     %.2f MiB, of which moved %.2f MiB\n", (double)s.promoted_bytes / mib,
            (double)s.moved_bytes / mib);
    fprintf(file, "last         %.2f of %.2f MiB condemned survived\n", (double)s.survived_bytes / mib,
            (double)s.condemned_bytes / mib);
    fprintf(file, "live         %.2f MiB (gen0 %.2f, gen1 %.2f, gen2 %.2f; large objects %.2f)\n",
            (double)s.live_bytes / mib, (double)s.generation_bytes[0] / mib, (double)s.generation_bytes[1] / mib,
            (double)s.generation_bytes[2] / mib, (double)s.large_bytes / mib);
    fprintf(file, "regions      %zu of %zu KiB; used %.2f MiB, holes %.2f MiB\n", s.regions, GC_REGION_BYTES >> 10,
            (double)s.used_bytes / mib, (double)s.fragmentation_bytes / mib);
    fprintf(file, "committed    %.2f MiB, at most %.2f MiB; tables %.2f MiB; off-heap %.2f MiB\n",
            (double)s.committed_bytes / mib, (double)s.committed_bytes_peak / mib, (double)s.table_bytes / mib,
            (double)s.external_bytes / mib);
    if (s.stops)
        fprintf(file, "stops        %llu, %.1f us each; the slowest thread took %.1f us: %s\n",
                (unsigned long long)s.stops, (double)s.stop_total_ns / 1e3 / (double)s.stops,
                (double)s.stop_max_ns / 1e3, s.stop_slowest);
    if (s.concurrent_cycles)
        fprintf(file,
                "concurrent   %llu cycles, %llu finished, of which %llu too late; %.2f MiB marked in %.3f ms of the marker's; "
                "%llu objects waited for the last pause\n",
                (unsigned long long)s.concurrent_cycles, (unsigned long long)s.concurrent_finished,
                (unsigned long long)s.concurrent_lost, (double)s.concurrent_marked_bytes / mib,
                (double)s.concurrent_cpu_ns / ms, (unsigned long long)s.concurrent_waited);
    else if (heap->options.concurrent == GC_CONCURRENT_ON)
        fprintf(file, "concurrent   no cycle: one begins when a full collection is due and %zu MiB or more are old\n",
                GC__MARKING_WORTH >> 20);
    if (s.conservative_total_bytes)
        fprintf(
            file,
            "conservative %zu objects, %.2f MiB, at the last collection kept by conservative words alone; %.2f MiB in "
            "all collections\n",
            s.conservative_objects, (double)s.conservative_bytes / mib, (double)s.conservative_total_bytes / mib);
    fprintf(file, "nursery      %.2f MiB\n", (double)s.nursery_bytes / mib);
    gc__print_workers(heap, file);
}
/* Why a pause was long, in words; and the report of pauses. */


#define GC__REASONS_MAX 3 /* parts of a pause that are explained */
#define GC__REASON_PART 5 /* each takes at least this part of it */

/* The parts of a pause that are no phases of the collection. */
enum { GC__PAUSE_HELP = GC_PHASE_COUNT, GC__PAUSE_STOP, GC__PAUSE_MARKER, GC__PAUSE_WAKE, GC__PAUSE_HOOKS, GC__PAUSE_PARTS };

/* 12044 as "12,044". */
GC__COLD void gc__text_add_number(gc__text *text, uint64_t number) {
    if (number >= 1000) gc__text_add_number(text, number / 1000);
    gc__text_add(text, number >= 1000 ? ",%03u" : "%u", (unsigned)(number % 1000));
}

/* The number with a word, "12,044 dirty cards"; nothing if it is 0. */
GC__COLD void gc__reason_count(gc__text *text, uint64_t number, const char *one, const char *many) {
    if (!number) return;
    gc__text_add(text, ", ");
    gc__text_add_number(text, number);
    gc__text_add(text, " %s", number == 1 ? one : many);
}

GC__COLD void gc__reason_bytes(gc__text *text, size_t bytes, const char *what) {
    if (bytes >= (size_t)1 << 20)
        gc__text_add(text, ", %.1f MiB %s", (double)bytes / 1048576.0, what);
    else
        gc__text_add(text, ", %zu KiB %s", (bytes + 1023) >> 10, what);
}

GC__COLD void gc__reason_us(gc__text *text, const char *before, uint64_t ns, const char *after) {
    gc__text_add(text, ", %s", before);
    gc__text_add_number(text, (ns + 500) / 1000);
    gc__text_add(text, " us %s", after);
}

GC__COLD uint64_t gc__pause_part_ns(const gc_pause *pause, int part) {
    uint64_t rest = pause->ns;
    if (part < GC_PHASE_COUNT) return pause->phase_ns[part];
    if (part == GC__PAUSE_HELP) return pause->help_ns;
    if (part == GC__PAUSE_STOP) return pause->stop_ns;
    if (part == GC__PAUSE_MARKER) return pause->marker_ns;
    if (part == GC__PAUSE_WAKE) return pause->wake_ns;
    for (int i = 0; i < GC__PAUSE_HOOKS; i++) rest -= gc__min(rest, gc__pause_part_ns(pause, i));
    return rest;
}

GC__COLD const char *gc__pause_part_name(int part) {
    static const char *const names[] = {"help", "stop", "wait for the marker", "wake the marker", "hooks"};
    return part < GC_PHASE_COUNT ? gc__phase_text((gc_phase)part) : names[part - GC_PHASE_COUNT];
}

static const char *const gc__degenerated_texts[] = {
#define GC__DEGENERATED_TEXT(name, text) text,
    GC_DEGENERATIONS(GC__DEGENERATED_TEXT)
#undef GC__DEGENERATED_TEXT
};

/* What kind of collection it was, where that is a reason. */
GC__COLD void gc__reason_kind(gc__text *text, const gc_pause *pause) {
    double held = pause->goal_bytes ? (double)pause->held_bytes / (double)pause->goal_bytes : 0;
    if (pause->degenerated == GC_DEGENERATED_HOLES)
        gc__text_add(text, ", full collection: the heap held %.1f times its goal, most of the excess in holes", held);
    else if (pause->degenerated)
        gc__text_add(text, ", degenerated cycle: %s", gc__degenerated_texts[pause->degenerated]);
    else if (pause->compacting && pause->generation == 2)
        gc__text_add(text, ", compaction of all generations");
    else if (pause->concurrent)
        gc__text_add(text, ", final mark of a concurrent cycle");
    else if (pause->generation == 2)
        gc__text_add(text, ", all generations with the program stopped");
    else if (pause->concurrent_begun)
        gc__text_add(text, ", begin of a concurrent cycle");
}

/* What the traces from roots and cards had to do. */
GC__COLD void gc__reason_trace(gc__text *text, const gc_pause *pause) {
    gc__reason_count(text, pause->dirty_cards, "dirty card", "dirty cards");
    gc__reason_count(text, pause->remembered_slots, "remembered slot", "remembered slots");
    if (pause->concurrent) /* all that was marked beside the program has survived, too */
        gc__reason_bytes(text, pause->moved_bytes, "copied");
    else
        gc__reason_bytes(text, pause->survived_bytes, "survived");
    gc__reason_count(text, pause->trace_calls, "call of a trace function", "calls of trace functions");
}

GC__COLD void gc__reason_remark(gc__text *text, const gc_pause *pause) {
    gc__reason_count(text, pause->left_objects, "object left to scan", "objects left to scan");
    gc__reason_count(text, pause->stored_objects, "object stored or overwritten", "objects stored or overwritten");
    gc__reason_count(text, pause->waiting_objects, "object with a trace function", "objects with trace functions");
    gc__reason_count(text, pause->regions, "region marked", "regions marked");
}

GC__COLD void gc__reason_stop(gc__text *text, const gc_pause *pause) {
    if (!pause->slowest[0]) {
        gc__reason_us(text, "waited ", pause->stop_ns, "for the threads to stop");
        return;
    }
    gc__reason_us(text, "waited ", pause->slowest_ns, "for the thread `");
    gc__text_add(text, "%s` to stop", pause->slowest);
}

GC__COLD void gc__reason_part(gc__text *text, const gc_pause *pause, int part) {
    uint64_t ns = gc__pause_part_ns(pause, part);
    switch (part) {
    case GC__PAUSE_HELP:
        gc__reason_us(text, "waited ", ns, "for the marking, since the program allocates faster than is marked");
        break;
    case GC__PAUSE_STOP: gc__reason_stop(text, pause); break;
    case GC__PAUSE_MARKER: gc__reason_us(text, "waited ", ns, "for the thread that marks"); break;
    case GC__PAUSE_WAKE: gc__reason_us(text, "", ns, "in waking the thread that marks"); break;
    case GC__PAUSE_HOOKS: gc__reason_us(text, "", ns, "in hooks at the end"); break;
    case GC_PHASE_OPEN: gc__reason_us(text, "", ns, "before anything was collected (start hook, verification)"); break;
    case GC_PHASE_GATHER:
        gc__reason_count(text, pause->roots, "root", "roots");
        gc__reason_count(text, pause->pins, "pin", "pins");
        gc__reason_us(text, "", ns, "in gathering them");
        break;
    case GC_PHASE_ROOTS:
    case GC_PHASE_CARDS: gc__reason_trace(text, pause); break;
    case GC_PHASE_REMARK: gc__reason_remark(text, pause); break;
    case GC_PHASE_AMBIGUOUS:
        gc__reason_count(text, pause->ambiguous, "object that a conservative word alone keeps",
                         "objects that conservative words alone keep");
        break;
    case GC_PHASE_FINALIZERS:
        gc__reason_count(text, pause->finalizers, "finalizer is due", "finalizers are due");
        gc__reason_count(text, pause->finalizers_left, "more left for later", "more left for later");
        break;
    case GC_PHASE_PLAN:
    case GC_PHASE_SWEEP:
        gc__reason_count(text, pause->regions, "region", "regions");
        gc__reason_us(text, "", ns, part == GC_PHASE_PLAN ? "in planning" : "in freeing memory");
        break;
    case GC_PHASE_HANDLES: gc__reason_us(text, "", ns, "in handles and weak tables"); break;
    default: gc__reason_us(text, "", ns, "in pacing, verification or giving memory back"); break;
    }
}

/* The part of the pause that took longest, of those that are not in the set `done`. */
GC__COLD int gc__pause_longest_part(const gc_pause *pause, unsigned done) {
    int longest = -1;
    for (int part = 0; part < GC__PAUSE_PARTS; part++)
        if (!(done >> part & 1) &&
            (longest < 0 || gc__pause_part_ns(pause, part) > gc__pause_part_ns(pause, longest)))
            longest = part;
    return longest;
}

/* For how long the thread that collects had no processor, or waited. */
GC__COLD uint64_t gc__pause_idle_ns(const gc_pause *pause) {
    uint64_t ns = 0;
    for (int i = 0; i < GC_PHASE_COUNT; i++) ns += pause->phase_ns[i];
    return pause->cpu_ns ? ns - gc__min(ns, pause->cpu_ns) : 0;
}

/* Returns the words, which lie in `text`. */
GC__COLD const char *gc__pause_reasons(gc__text *text, const gc_pause *pause) {
    const unsigned trace = 1u << GC_PHASE_ROOTS | 1u << GC_PHASE_CARDS;
    unsigned done = 0;
    gc__reason_kind(text, pause);
    for (int i = 0; i < GC__REASONS_MAX; i++) {
        int part = gc__pause_longest_part(pause, done);
        uint64_t ns = gc__pause_part_ns(pause, part);
        if (!ns || (i && ns < pause->ns / GC__REASON_PART)) break;
        gc__reason_part(text, pause, part);
        done |= trace >> part & 1 ? trace : 1u << part;
    }
    if (gc__pause_idle_ns(pause) > pause->ns / GC__REASON_PART)
        gc__reason_us(text, "", gc__pause_idle_ns(pause), "in which the thread that collects did not run");
    return text->length ? text->text + 2 : ""; /* each reason begins with ", " */
}

GC_API size_t gc_pause_explain(const gc_pause *pause, char *text, size_t bytes) {
    gc__text reasons = {"", 0};
    if (gc__is_null(pause, "gc_pause_explain", "pause") || (bytes && gc__is_null(text, "gc_pause_explain", "text"))) return 0;
    return (size_t)snprintf(text, bytes, "%s", gc__pause_reasons(&reasons, pause));
}

/* How many pauses there were, by their length: each line is twice as long as the one before. */
GC__COLD void gc__print_histogram(const gc_stats *stats, FILE *file) {
    uint64_t total = 0, seen = 0;
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) total += stats->pauses[i];
    fprintf(file, "%14s%14s%12s%12s\n", "from us", "to us", "pauses", "all until");
    for (int i = 0; i < GC_PAUSE_BUCKETS; i++) {
        if (!stats->pauses[i]) continue;
        seen += stats->pauses[i];
        fprintf(file, "%14.1f%14.1f%12llu%11.3f%%\n", (double)((uint64_t)1 << i) / 1e3, (double)((uint64_t)2 << i) / 1e3,
                (unsigned long long)stats->pauses[i], 100 * (double)seen / (double)total);
    }
}

GC__COLD void gc__print_pause(const gc_pause *pause, FILE *file) {
    gc__text reasons = {"", 0};
    fprintf(file, "%10.3f ms at %.3f s, collection %llu of generation %d (%s): %s\n", (double)pause->ns / (double)GC__NS_PER_MS,
            (double)pause->began_ns / 1e9, (unsigned long long)pause->number, pause->generation,
            gc_reason_text(pause->reason), gc__pause_reasons(&reasons, pause));
    fprintf(file, "              us:");
    const char *between = "";
    const int first = GC__PAUSE_MARKER + 1 - GC_PHASE_COUNT; /* so many parts are before the collection */
    for (int i = 0; i < GC__PAUSE_PARTS; i++) {
        int part = i < first ? GC_PHASE_COUNT + i : i < GC_PHASE_COUNT + first ? i - first : i;
        uint64_t ns = gc__pause_part_ns(pause, part);
        if (ns < 500) continue;
        fprintf(file, "%s %s %.0f", between, gc__pause_part_name(part), (double)ns / 1e3);
        between = ",";
    }
    fputc('\n', file);
}

GC_API __attribute__((cold)) void gc_heap_print_pauses(gc_heap *heap, FILE *file) {
    if (gc__is_null(heap, "gc_heap_print_pauses", "heap") || gc__is_null(file, "gc_heap_print_pauses", "file")) return;
    gc_stats stats;
    gc_pause longest[GC_PAUSES_KEPT];
    gc_heap_stats(heap, &stats);
    size_t count = gc_heap_pauses(heap, longest, GC_PAUSES_KEPT, false);
    gc__print_pauses_line(&stats, file);
    gc__print_histogram(&stats, file);
    if (count) fprintf(file, "the longest\n");
    for (size_t i = 0; i < count; i++) gc__print_pause(&longest[i], file);
}
/* Where the memory of a heap goes: sums, and a picture of its regions. */


#define GC__MAP_WIDTH 64
#define GC__MAP_CELLS ((size_t)32 * GC__MAP_WIDTH)
#define GC__BAR_WIDTH 40

/* Bytes of the memory that a heap holds; the first six sum up to that. */
typedef struct gc__memory {
    size_t live, holes, nursery, nursery_rest, large_waste, free;
    size_t tables, metadata, external, held;
} gc__memory;

GC__COLD void gc__memory_add(gc__memory *memory, const gc__region *region) {
    size_t bytes = gc__region_end(region) - region->base;
    if (region->kind == GC__LARGE) {
        memory->live += region->top - region->base;
        memory->large_waste += gc__region_end(region) - region->top - region->spare;
    } else if (region->linear && !region->formatted) {
        memory->nursery += region->top - region->base;
        memory->nursery_rest += gc__region_end(region) - region->top;
    } else {
        size_t taken = region->linear ? region->taken_bytes : 0;
        memory->live += region->live_bytes;
        memory->nursery += taken;
        memory->holes += bytes - gc__min(bytes, region->live_bytes + taken);
    }
}

GC__COLD void gc__memory_sum(const gc_heap *heap, gc__memory *memory) {
    memset(memory, 0, sizeof *memory);
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) gc__memory_add(memory, region);
    memory->free = gc__free_bytes(heap);
    memory->tables = gc__table_bytes(heap->held_regions, heap->large_regions);
    memory->metadata = __atomic_load_n(&heap->metadata_bytes, __ATOMIC_RELAXED);
    memory->external = gc__external_bytes(heap);
    memory->held = gc__held_bytes(heap);
}

/* What a region is in the picture. */
GC__COLD char gc__memory_symbol(const gc__region *region) {
    if (region->kind == GC__FREE) return '.';
    if (region->kind == GC__LARGE || region->kind == GC__LARGE_REST) return 'L';
    if (region->linear && !region->formatted) return 'n';
    size_t tenths = region->live_bytes * 10 / GC_REGION_BYTES;
    return (char)('0' + gc__min(tenths, 9));
}

/* Fills the picture with the heap's regions, by address. Returns how many there are, maybe more than it has room for. */
GC__COLD size_t gc__memory_map(const gc_heap *heap, char *map) {
    size_t count = 0, used = gc__regions_used();
    for (size_t i = 0; i < used; i++) {
        const gc__region *region = &gc__the_arena.regions[i];
        if (!gc__region_is_of(region, heap) || region->kind == GC__QUARANTINED) continue;
        if (count < GC__MAP_CELLS) map[count] = gc__memory_symbol(region);
        count++;
    }
    return count;
}

GC__COLD void gc__memory_line(FILE *file, const char *name, size_t bytes, size_t all, const char *meaning) {
    static const char bar[] = "########################################";
    double length = all ? (double)bytes / (double)all * GC__BAR_WIDTH + 0.5 : 0;
    fprintf(file, "%-14s %10.2f MiB  %-*.*s  %s\n", name, (double)bytes / 1048576.0, GC__BAR_WIDTH,
            length < GC__BAR_WIDTH ? (int)length : GC__BAR_WIDTH, bar, meaning);
}

GC_API __attribute__((cold)) void gc_heap_print_memory(gc_heap *heap, FILE *file) {
    GC__API_SCOPE("gc_heap_print_memory");
    if (gc__is_null(heap, "gc_heap_print_memory", "heap") || gc__is_null(file, "gc_heap_print_memory", "file")) return;
    char map[GC__MAP_CELLS];
    gc__memory m;
    gc__world_stop(heap);
    gc__heap_flush(heap);
    gc__memory_sum(heap, &m);
    size_t regions = gc__memory_map(heap, map), limit = gc__limit_told(heap);
    gc__world_resume(heap);
    size_t all = m.held + m.tables + m.metadata + m.external;
    gc__memory_line(file, "live", m.live, all, "objects that the last collections left, large ones included");
    gc__memory_line(file, "holes", m.holes, all, "between them");
    gc__memory_line(file, "nursery", m.nursery, all, "allocated since the last collection");
    gc__memory_line(file, "nursery, rest", m.nursery_rest, all, "not allocated yet");
    gc__memory_line(file, "large, waste", m.large_waste, all, "ends of large objects' last pages, and what is kept beyond");
    gc__memory_line(file, "free", m.free, all, "regions");
    gc__memory_line(file, "tables", m.tables, all, "mark bits, cards, regions");
    gc__memory_line(file, "beside", m.metadata, all, "handles, finalizers, the collector's lists");
    gc__memory_line(file, "off-heap", m.external, all, "gc_external_add, gc_heap_external_add");
    gc__memory_line(file, "all", all, all, limit ? "" : "no limit");
    if (limit) gc__memory_line(file, "limit", limit, all, "heap_bytes_max in force");
    fprintf(file, "regions of %zu KiB: . free, n nursery, L large, 0 to 9 tenths that live\n", GC_REGION_BYTES >> 10);
    for (size_t i = 0; i < gc__min(regions, GC__MAP_CELLS); i += GC__MAP_WIDTH)
        fprintf(file, "%.*s\n", (int)gc__min(regions - i, GC__MAP_WIDTH), map + i);
    if (regions > GC__MAP_CELLS) fprintf(file, "and %zu more\n", regions - GC__MAP_CELLS);
}
/* Looking at the heap: walks and questions about addresses. */


GC_API bool gc_heap_contains(gc_heap *heap, const void *address) {
    if (gc__is_null(heap, "gc_heap_contains", "heap")) return false;
    if (!gc__in_arena((uintptr_t)address)) return false;
    const gc__region *region = gc__region_of((uintptr_t)address);
    return gc__region_is_of(region, heap) && region->kind != GC__FREE && region->kind != GC__QUARANTINED;
}

/* Whether `function`, which looks at objects, is called while the collection has them in two places. */
GC__COLD bool gc__is_amid_collection(gc_heap *heap, const char *function) {
    if (!gc__heap_is_locked(heap) || !heap->collecting || heap->phase < GC_PHASE_PLAN || heap->phase >= GC_PHASE_CLOSE)
        return false;
    gc__fail(GC_ERROR_MISUSE,
             "%s: called within options.collection_traced or a trace function, where objects cannot be listed: call "
             "gc_collection_find, or have options.collection_end call %s",
             function, function);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

GC_API void *gc_heap_object_at(gc_heap *heap, const void *address) {
    GC__API_SCOPE("gc_heap_object_at");
    if (gc__is_null(heap, "gc_heap_object_at", "heap")) return NULL;
    if (!gc_heap_contains(heap, address) || gc__is_amid_collection(heap, "gc_heap_object_at")) return NULL;
    gc__world_stop(heap);
    gc__heap_flush(heap);
    uintptr_t object = gc__heap_covering(heap, (uintptr_t)address);
    gc__world_resume(heap);
    return (void *)object;
}

GC_API int gc_object_generation(const void *object) {
    if (!gc__in_arena((uintptr_t)object)) return GC_GENERATIONS;
    gc__region *region = gc__region_of((uintptr_t)object);
    if (gc__region_is_of(region, NULL) || region->kind == GC__FREE || region->kind == GC__QUARANTINED)
        return GC_GENERATIONS;
    return gc__region_first(region)->generation;
}

GC_API size_t gc_object_bytes(const void *object) {
    return gc__is_null(object, "gc_object_bytes", "object") ? 0 : gc__object_bytes((uintptr_t)object);
}

GC_API const char *gc_object_type_name(const void *object) {
    return gc__is_null(object, "gc_object_type_name", "object") ? NULL : gc__object_name((uintptr_t)object);
}

#if !GC_HAS_MODEL
GC_API const gc_type *gc_object_type(const void *object) {
    return gc__is_null(object, "gc_object_type", "object") ? NULL : gc__object_type((uintptr_t)object);
}
#endif

GC_API void gc_object_visit(void *object, gc_visitor *visitor) {
    if (gc__is_null(object, "gc_object_visit", "object") || gc__is_null(visitor, "gc_object_visit", "visitor")) return;
    gc__object_visit((uintptr_t)object, visitor);
}

typedef struct gc__walk {
    bool (*visit)(void *context, void *object, size_t bytes, int generation);
    void *context;
    int generation;
} gc__walk;

GC__FN bool gc__walk_object(void *context, uintptr_t object) {
    const gc__walk *walk = (const gc__walk *)context;
    return walk->visit(walk->context, (void *)object, gc__object_bytes(object), walk->generation);
}

GC_API void gc_heap_walk(gc_heap *heap, bool (*visit)(void *context, void *object, size_t bytes, int generation),
                         void *context) {
    if (gc__is_null(heap, "gc_heap_walk", "heap") || gc__is_null(visit ? heap : NULL, "gc_heap_walk", "visit")) return;
    if (gc__is_amid_collection(heap, "gc_heap_walk")) return;
    gc__walk walk = {visit, context, 0};
    bool on = true;
    gc__world_stop(heap);
    gc__heap_flush_for_callbacks(heap);
    for (; on && walk.generation < GC_GENERATIONS; walk.generation++)
        for (gc__region *region = heap->regions[walk.generation]; on && region; region = region->next)
            on = gc__region_walk(region, gc__walk_object, &walk);
    gc__world_resume(heap);
}

GC_API size_t gc_heap_verify(gc_heap *heap) {
    GC__API_SCOPE("gc_heap_verify");
    if (gc__is_null(heap, "gc_heap_verify", "heap") || gc__is_amid_collection(heap, "gc_heap_verify")) return 0;
    if (gc__handles_are_mine(heap) && gc__is_called_by_hook(heap, "gc_heap_verify")) return 0;
    gc__faults_watch();
    gc__world_stop(heap);
    gc__heap_flush(heap);
    gc__log_flush();
    if (!gc__is_abandoned(heap)) gc__shadow_check(heap);
    size_t objects = gc__is_abandoned(heap) ? 0 : gc__verify_heap(heap, "after");
    gc__world_resume(heap);
    return objects;
}
/* How this collector describes itself to readers in other processes, and the note by which they find that. */

/* GcDacVars: how a collector describes itself to readers in other processes, which need no headers of it.

   The note ".note.gc.h" of a program or library (owner "gc.h", type 1) contains one signed number of 8 bytes, which added to its
   own address gives that of the record. So it is found without symbols, in a stripped file as well as in a core file. The record
   is in written memory, which core files have.

   Version rules: a reader rejects another major version. It accepts any minor version: entries are only ever appended to the
   lists below, and a reader uses none that a record does not have. */

/* Two shipped headers have this part, and a program may include both. */
#ifndef GC_DAC_MAJOR

#include <stddef.h>
#include <stdint.h>

#define GC_DAC_MAJOR 2
#define GC_DAC_MINOR 0
#define GC__DAC_MAGIC 0x7363615668636744 /* of 8 bytes */
#define GC__DAC_NOTE_OWNER "gc.h"
#define GC__DAC_NOTE_TYPE 1

/* X(NAME, address): variables of the collector. */
#define GC__DAC_VARIABLES(X)     \
    X(ARENA, &gc__the_arena)     \
    X(HEAPS, &gc__heaps)         \
    X(REASONS, gc__reason_texts) \
    X(TABLES, &gc__tables)       \
    X(WEAK_TRACES, gc__weak_traces)

/* X(NAME, number): geometry, sizes, tags. */
#define GC__DAC_FACTS(X)                                           \
    X(REGION_SHIFT, GC_REGION_SHIFT)                               \
    X(GENERATIONS, GC_GENERATIONS)                                 \
    X(DEBUG, GC_DEBUG)                                             \
    X(HAS_VALUES, GC_HAS_VALUES)                                   \
    X(HAS_MODEL, GC_HAS_MODEL)                                     \
    X(REGION_BYTES, sizeof(gc__region))                            \
    X(MARK_SHIFT, 3)                                               \
    X(OBJECT_BYTES_MIN, GC_OBJECT_BYTES_MIN)                       \
    X(FORWARD_TAG, GC__FORWARD_TAG)                                \
    X(FILLER_TAG, GC__FILLER_TAG)                                  \
    X(FILLER_SHIFT, 2)                                             \
    X(KIND_FREE, GC__FREE)                                         \
    X(KIND_SMALL, GC__SMALL)                                       \
    X(KIND_LARGE, GC__LARGE)                                       \
    X(KIND_LARGE_REST, GC__LARGE_REST)                             \
    X(KIND_QUARANTINED, GC__QUARANTINED)                           \
    X(MODE_PREEMPTIVE, GC_MODE_PREEMPTIVE)                         \
    X(SLOT_INTERIOR, GC_SLOT_INTERIOR)                             \
    X(SLOT_PINNED, GC_SLOT_PINNED)                                 \
    X(SLOT_VALUE, GC_SLOT_VALUE)                                   \
    X(SLOT_CONTIGUOUS, GC__SLOT_CONTIGUOUS)                        \
    X(REGISTERS, GC__SAVED_REGISTERS)                              \
    X(SAVED_STACK_POINTER, GC__SAVED_STACK_POINTER)                \
    X(TYPE_BYTES, sizeof(gc_type))                                 \
    X(TYPE_OFFSETS, 17)                                            \
    X(HANDLE_KINDS, GC_HANDLE_KINDS)                               \
    X(HANDLE_WEAK, GC_HANDLE_WEAK)                                 \
    X(HANDLE_WEAK_LONG, GC_HANDLE_WEAK_LONG)                       \
    X(HANDLE_STRONG, GC_HANDLE_STRONG)                             \
    X(HANDLE_PINNED, GC_HANDLE_PINNED)                             \
    X(HANDLE_DEPENDENT, GC_HANDLE_DEPENDENT)                       \
    X(HANDLE_REF_COUNTED, GC_HANDLE_REF_COUNTED)                   \
    X(SEGMENT_BYTES, sizeof(gc__handle_segment))                   \
    X(SEGMENT_PLACES, GC__HANDLE_PLACES)                           \
    X(SEGMENT_BLOCK, GC__HANDLE_BLOCK)                             \
    X(HANDLE_FREE, GC__HANDLE_FREE)                                \
    X(HANDLE_TAG_SHIFT, GC__HANDLE_TAG_SHIFT)                      \
    X(DUE_BYTES, sizeof(gc__due))                                  \
    X(CODE_REGISTERS, GC__DAC_CODE_REGISTERS)                      \
    X(CODE_STACK_POINTER, 4)                                       \
    X(REASONS, sizeof gc__reason_texts / sizeof *gc__reason_texts) \
    X(CARD_SHIFT, GC_CARD_SHIFT)                                   \
    X(CARD_BITS, GC_CARD_BITS)                                     \
    X(CARD_BYTE_SHIFT, GC_CARD_BYTE_SHIFT)                         \
    X(BUNDLE_SHIFT, GC_BUNDLE_SHIFT)                               \
    X(STACK_WORDS, GC__STACK_WORDS)

/* X(structure, member, type, path): offsets of members. */
#define GC__DAC_MEMBERS(X)                                           \
    X(arena, base, gc__arena, base)                                  \
    X(arena, bytes, gc__arena, bytes)                                \
    X(arena, count, gc__arena, count)                                \
    X(arena, regions, gc__arena, regions)                            \
    X(arena, marks, gc__arena, marks)                                \
    X(arena, used, gc__arena, used)                                  \
    X(region, heap, gc__region, heap)                                \
    X(region, base, gc__region, base)                                \
    X(region, top, gc__region, top)                                  \
    X(region, dirty_end, gc__region, dirty_end)                      \
    X(region, next, gc__region, next)                                \
    X(region, live_bytes, gc__region, live_bytes)                    \
    X(region, span, gc__region, span)                                \
    X(region, rest_index, gc__region, rest_index)                    \
    X(region, kind, gc__region, kind)                                \
    X(region, generation, gc__region, generation)                    \
    X(region, target, gc__region, target)                            \
    X(region, verdict, gc__region, verdict)                          \
    X(region, linear, gc__region, linear)                            \
    X(region, formatted, gc__region, formatted)                      \
    X(region, accessible, gc__region, accessible)                    \
    X(heap, heap_bytes_max, gc_heap, options.heap_bytes_max)         \
    X(heap, non_moving, gc_heap, options.non_moving)                 \
    X(heap, non_generational, gc_heap, options.non_generational)     \
    X(heap, conservative_stack, gc_heap, options.conservative_stack) \
    X(heap, scan_roots, gc_heap, options.scan_roots)                 \
    X(heap, stress, gc_heap, options.stress)                         \
    X(heap, regions, gc_heap, regions)                               \
    X(heap, free, gc_heap, free)                                     \
    X(heap, held_regions, gc_heap, held_regions)                     \
    X(heap, held_peak_bytes, gc_heap, held_peak_bytes)               \
    X(heap, large_bytes, gc_heap, large_bytes)                       \
    X(heap, external_bytes, gc_heap, external_bytes)                 \
    X(heap, generation_bytes, gc_heap, generation_bytes)             \
    X(heap, nursery_survivor_bytes, gc_heap, nursery_survivor_bytes) \
    X(heap, budget_bytes, gc_heap, budget_bytes)                     \
    X(heap, phase, gc_heap, phase)                                   \
    X(heap, collection_number, gc_heap, collection.number)           \
    X(heap, collection_generation, gc_heap, collection.generation)   \
    X(heap, collection_reason, gc_heap, collection.reason)           \
    X(heap, stats, gc_heap, stats)                                   \
    X(heap, threads, gc_heap, threads)                               \
    X(heap, collector, gc_heap, collector)                           \
    X(heap, handles, gc_heap, handles)                               \
    X(heap, finalizers, gc_heap, finalizers)                         \
    X(threads, owner, gc__threads, lock.owner)                       \
    X(threads, stopping, gc__threads, stopping)                      \
    X(threads, first, gc__threads, first)                            \
    X(threads, next_heap, gc__threads, next_heap)                    \
    X(threads, stacks, gc__threads, stacks)                          \
    X(collector, globals, gc__collector, globals)                    \
    X(thread, window, gc__thread_record, thread.window)              \
    X(thread, raw, gc__thread_record, thread.raw)                    \
    X(thread, frames, gc__thread_record, thread.frames)              \
    X(thread, mode, gc__thread_record, thread.mode)                  \
    X(thread, stack, gc__thread_record, thread.stack)                \
    X(thread, code, gc__thread_record, thread.code)                  \
    X(thread, registers, gc__thread_record, thread.registers)        \
    X(thread, next, gc__thread_record, next)                         \
    X(thread, parked, gc__thread_record, parked)                     \
    X(thread, conservative, gc__thread_record, conservative)         \
    X(thread, name, gc__thread_record, name)                         \
    X(thread, stack_pointer, gc__thread_record, stack_pointer)       \
    X(thread, stack_base, gc__thread_record, stack_base)             \
    X(thread, own_stack, gc__thread_record, own_stack)               \
    X(thread, stop_total_ns, gc__thread_record, stop_total_ns)       \
    X(thread, stops, gc__thread_record, stops)                       \
    X(thread, tid, gc__thread_record, tid)                           \
    X(window, next, gc_window, next)                                 \
    X(window, limit, gc_window, limit)                               \
    X(window, end, gc_window, end)                                   \
    X(window, region, gc_window, region)                             \
    X(stack, next, gc_stack, next)                                   \
    X(stack, thread, gc_stack, thread)                               \
    X(stack, frames, gc_stack, frames)                               \
    X(stack, code, gc_stack, code)                                   \
    X(stack, conservative, gc_stack, conservative)                   \
    X(stack, base, gc_stack, base)                                   \
    X(stack, stack_pointer, gc_stack, stack_pointer)                 \
    X(stack, registers, gc_stack, registers)                         \
    X(frame, previous, gc_frame, previous)                           \
    X(frame, site, gc_frame, site)                                   \
    X(frame, count, gc_frame, count)                                 \
    X(frame, slots, gc_frame, slots)                                 \
    X(site, names, gc_frame_site, names)                             \
    X(site, function, gc_frame_site, function)                       \
    X(site, file, gc_frame_site, file)                               \
    X(site, line, gc_frame_site, line)                               \
    X(site, flags, gc_frame_site, flags)                             \
    X(code, previous, gc__dac_code_frame, previous)                  \
    X(code, pc, gc__dac_code_frame, pc)                              \
    X(code, registers, gc__dac_code_frame, registers)                \
    X(code, known, gc__dac_code_frame, known)                        \
    X(words, words, gc__words, words)                                \
    X(words, count, gc__words, count)                                \
    X(type, name, gc_type, name)                                     \
    X(type, bytes, gc_type, bytes)                                   \
    X(type, element_bytes, gc_type, element_bytes)                   \
    X(type, refs, gc_type, refs)                                     \
    X(type, values, gc_type, values)                                 \
    X(type, element_refs, gc_type, element_refs)                     \
    X(type, element_values, gc_type, element_values)                 \
    X(type, trace, gc_type, trace)                                   \
    X(type, finalizer, gc_type, finalizer)                           \
    X(type, fields, gc_type, fields)                                 \
    X(type, field_offsets, gc_type, field_offsets)                   \
    X(object, length, gc_array, length)                              \
    X(handles, segments, gc__handles, segments)                      \
    X(segment, next, gc__handle_segment, next)                       \
    X(segment, kinds, gc__handle_segment, kinds)                     \
    X(segment, extras, gc__handle_segment, extras)                   \
    X(segment, tags, gc__handle_segment, tags)                       \
    X(segment, places, gc__handle_segment, places)                   \
    X(finalizers, registered, gc__finalizers, registered)            \
    X(finalizers, due, gc__finalizers, due)                          \
    X(finalizers, running, gc__finalizers, running)                  \
    X(due, pairs, gc__due, pairs)                                    \
    X(due, head, gc__due, head)                                      \
    X(finalizing, next, gc__finalizing, next)                        \
    X(finalizing, thread, gc__finalizing, thread)                    \
    X(finalizing, type, gc__finalizing, type)                        \
    X(finalizing, started_ns, gc__finalizing, started_ns)            \
    X(tables, cards, gc_barrier_tables, cards)                       \
    X(tables, bundles, gc_barrier_tables, bundles)                   \
    X(tables, log_bits, gc_barrier_tables, log_bits)                 \
    X(heap, spare_bytes, gc_heap, spare_bytes)                       \
    X(heap, free_spare_bytes, gc_heap, free_spare_bytes)             \
    X(heap, cycle, gc_heap, cycle)                                   \
    X(cycle, roots, gc__cycle, roots)                                \
    X(cycle, reported, gc__cycle, reported)                          \
    X(cycle, stacks, gc__cycle, stacks)                              \
    X(value_stack, base, gc_value_stack, base)                       \
    X(value_stack, top, gc_value_stack, top)                         \
    X(value_stack, entry_bytes, gc_value_stack, entry_bytes)         \
    X(value_stack, flags, gc_value_stack, flags)

/* X(name, count): the numbers of gc_stats that are kept up to date, in its first members. */
#define GC__DAC_STATISTICS(X)      \
    X(collections, GC_GENERATIONS) \
    X(collections_compacting, 1)   \
    X(collections_moving, 1)       \
    X(pause_total_ns, 1)           \
    X(pause_max_ns, 1)             \
    X(pause_last_ns, 1)            \
    X(pauses, GC_PAUSE_BUCKETS)    \
    X(allocated_bytes, 1)          \
    X(promoted_bytes, 1)           \
    X(moved_bytes, 1)              \
    X(survived_bytes, 1)           \
    X(condemned_bytes, 1)          \
    X(stops, 1)                    \
    X(stop_total_ns, 1)            \
    X(stop_max_ns, 1)              \
    X(mark_stack_overflows, 1)     \
    X(conservative_objects, 1)     \
    X(conservative_bytes, 1)       \
    X(conservative_total_bytes, 1) \
    X(evacuation_failures, 1)

enum {
#define GC__DAC_NUMBER(name, address) GC__DAC_VARIABLE_##name,
    GC__DAC_VARIABLES(GC__DAC_NUMBER) GC__DAC_VARIABLE_COUNT
#undef GC__DAC_NUMBER
};
enum {
#define GC__DAC_NUMBER(name, number) GC__DAC_FACT_##name,
    GC__DAC_FACTS(GC__DAC_NUMBER) GC__DAC_FACT_COUNT
#undef GC__DAC_NUMBER
};
enum {
#define GC__DAC_NUMBER(structure, member, type, path) GC__DAC_AT_##structure##_##member,
    GC__DAC_MEMBERS(GC__DAC_NUMBER) GC__DAC_AT_COUNT
#undef GC__DAC_NUMBER
};
enum {
#define GC__DAC_NUMBER(name, count) GC__DAC_STATISTIC_##name,
    GC__DAC_STATISTICS(GC__DAC_NUMBER) GC__DAC_STATISTIC_COUNT
#undef GC__DAC_NUMBER
};

/* The record. The lists follow one another without gaps, each as long as its count says, so a reader finds them in a record of
   any minor version. */
typedef struct GcDacVars {
    uint64_t magic;
    uint16_t major, minor;
    uint16_t variable_count, fact_count, member_count, statistic_count;
    uint32_t bytes;   /* of the record */
    char version[16]; /* of gc.h */
    const void *variables[GC__DAC_VARIABLE_COUNT];
    uint32_t facts[GC__DAC_FACT_COUNT];
    uint16_t members[GC__DAC_AT_COUNT];
    uint16_t statistics[GC__DAC_STATISTIC_COUNT][2]; /* offset in gc_heap.stats, and count */
} GcDacVars;
#endif

/* The layout of gc_code_frame, which gc.h alone does not know; gc_stackmap.h asserts that it is the same. */
#define GC__DAC_CODE_REGISTERS 16
typedef struct gc__dac_code_frame {
    void *previous;
    uintptr_t pc;
    uintptr_t registers[GC__DAC_CODE_REGISTERS];
    uint32_t known;
} gc__dac_code_frame;

/* Not const, though nothing writes to it: core files leave constant data out. */
GC__VAR GcDacVars gc__dac_vars GC__ASM_NAMED(gc__dac_vars)
    __attribute__((used)) = {GC__DAC_MAGIC,
                             GC_DAC_MAJOR,
                             GC_DAC_MINOR,
                             GC__DAC_VARIABLE_COUNT,
                             GC__DAC_FACT_COUNT,
                             GC__DAC_AT_COUNT,
                             GC__DAC_STATISTIC_COUNT,
                             sizeof(GcDacVars),
                             GC_VERSION_TEXT,
#define GC__DAC_VARIABLE(name, address) address,
                             {GC__DAC_VARIABLES(GC__DAC_VARIABLE)},
#undef GC__DAC_VARIABLE
#define GC__DAC_FACT(name, number) (uint32_t)(number),
                             {GC__DAC_FACTS(GC__DAC_FACT)},
#undef GC__DAC_FACT
#define GC__DAC_MEMBER(structure, member, type, path) (uint16_t) offsetof(type, path),
                             {GC__DAC_MEMBERS(GC__DAC_MEMBER)},
#undef GC__DAC_MEMBER
#define GC__DAC_STATISTIC(name, count) {(uint16_t)offsetof(gc_stats, name), (uint16_t)(count)},
                             {GC__DAC_STATISTICS(GC__DAC_STATISTIC)}
#undef GC__DAC_STATISTIC
};
GC__STATIC_ASSERT(sizeof(GcDacVars) < 2048, "the record is small");
GC__STATIC_ASSERT(sizeof(gc__handle_segment) < 65536, "offsets have 16 bits");

/* Appends the first entries of a list, as many as the reader has room for, and counts them in *room. */
GC__COLD char *gc__dac_append(char *to, uint16_t *room, const void *list, unsigned count, size_t entry_bytes) {
    if (*room > count) *room = (uint16_t)count;
    memcpy(to, list, *room * entry_bytes);
    return to + *room * entry_bytes;
}

/* Describes this collector in a record of a reader in this process, whose numbers say what it knows and has room for. */
GC__COLD void gc__dac_describe(GcDacVars *to) {
    size_t room = offsetof(GcDacVars, variables) + to->variable_count * sizeof *to->variables +
                  to->fact_count * sizeof *to->facts + to->member_count * sizeof *to->members +
                  to->statistic_count * sizeof *to->statistics;
    bool known = to->major == GC_DAC_MAJOR && to->bytes >= room;
    to->major = GC_DAC_MAJOR;
    to->minor = GC_DAC_MINOR;
    if (!known) return;
    char *at = (char *)to + offsetof(GcDacVars, variables);
    at = gc__dac_append(at, &to->variable_count, gc__dac_vars.variables, GC__DAC_VARIABLE_COUNT, sizeof *to->variables);
    at = gc__dac_append(at, &to->fact_count, gc__dac_vars.facts, GC__DAC_FACT_COUNT, sizeof *to->facts);
    at = gc__dac_append(at, &to->member_count, gc__dac_vars.members, GC__DAC_AT_COUNT, sizeof *to->members);
    gc__dac_append(at, &to->statistic_count, gc__dac_vars.statistics, GC__DAC_STATISTIC_COUNT, sizeof *to->statistics);
    memcpy(to->version, gc__dac_vars.version, sizeof to->version);
    to->magic = GC__DAC_MAGIC; /* last: now it is a description */
}

GC__COLD GcDacVars *gc__dac_own(void) { return &gc__dac_vars; }

/* Never called. It is there for the note, which a function can make whatever the compiler calls the record. */
__attribute__((used, noinline)) GC__FN void gc__dac_note(void) {
    __asm__ volatile(".pushsection .note.gc.h,\"a\",@note\n\t"
                     ".balign 4\n\t"
                     ".long 5, 8, 1\n\t" /* bytes of owner and contents, type */
                     ".asciz \"gc.h\"\n\t"
                     ".balign 4\n\t"
                     ".quad " GC__ASM_ADDRESS(gc__dac_vars) " - .\n\t"
                                                            ".popsection" ::GC__ASM_OPERAND(gc__dac_vars));
}
/* The range barriers, and what write watch has seen. */


GC__FN void gc__barrier_after_word(gc_word *slot, uintptr_t word, bool value) {
    if (value && !GC_VALUE_IS_REF(word)) return;
    const void *ref = (const void *)(value ? GC_VALUE_TO_REF(word) : word);
    GC__PASTE(gc_barrier_after_checked_, GC_BARRIER)(&gc__tables, slot, ref);
}

/* Whether the slots of that object need no barrier, whatever they hold: all slots of an object have one age. */
GC__FN bool gc__barrier_is_idle(const void *slot) {
    return GC__BARRIER_ANYWHERE && gc__tables.age[(uintptr_t)slot >> GC_REGION_SHIFT] == 0;
}

/* The barrier for slots of one old object, but not for those in a dirty card, which need none, unless old objects are being
   marked. */
GC__FN void gc__barrier_after_cards(gc_word *slot, size_t count, bool value) {
    bool marking = gc__is_marking((uintptr_t)slot);
    while (count) {
        size_t in_card = (GC_CARD_BYTES - ((uintptr_t)slot & (GC_CARD_BYTES - 1))) / 8;
        size_t some = in_card < count ? in_card : count;
        if (marking || !gc__card_is_dirty((uintptr_t)slot))
            for (size_t i = 0; i < some; i++) gc__barrier_after_word(&slot[i], slot[i], value);
        slot += some;
        count -= some;
    }
}

/* The slots are about to be overwritten. */
GC__FN void gc__stored_before(const void *slots, size_t count) {
    if (GC__LIKELY(!gc__is_marking((uintptr_t)slots))) return;
    for (const gc_word *slot = (const gc_word *)slots; count; count--, slot++) gc__shade_store(slot, NULL);
}

GC__FN void gc__stored(void *slots, size_t count, bool value) {
    gc_word *slot = (gc_word *)slots;
    gc__store_shadow(slots, count);
    if (!count || gc__barrier_is_idle(slots)) return;
    if (GC__BARRIER_ANYWHERE)
        gc__barrier_after_cards(slot, count, value);
    else
        for (size_t i = 0; i < count; i++) gc__barrier_after_word(&slot[i], slot[i], value);
}

/* Brackets of raw stores that the calling thread has begun and not ended. Only with GC_DEBUG, verify and stress. */
#define GC__STORES_MAX 8
typedef struct gc__stores {
    const void *slots;
    size_t count;
    unsigned flags;
} gc__stores;
static __thread gc__stores gc__stores_begun[GC__STORES_MAX];
static __thread unsigned gc__stores_depth;

GC__FN bool gc__brackets_are_logged(const gc_thread *thread) {
    return GC_DEBUG >= 1 || (thread && thread->heap && (thread->heap->options.verify || thread->heap->options.stress));
}

GC__FN void gc__stores_push(gc__stores range) {
    GC_ASSERT(((uintptr_t)range.slots & 7) == 0, "gc_stores_begin: the slots at %p are not 8-byte aligned",
              range.slots);
    GC_ASSERT(gc__stores_depth < GC__STORES_MAX,
              "gc_stores_begin: %u ranges have been begun without gc_stores_end, first %zu slots at %p",
              gc__stores_depth, gc__stores_begun[0].count, gc__stores_begun[0].slots);
    if (gc__stores_depth < GC__STORES_MAX) gc__stores_begun[gc__stores_depth++] = range;
}

GC__FN void gc__stores_pop(gc__stores range) {
    unsigned i = gc__stores_depth;
    const gc__stores *begun = gc__stores_begun;
    while (i > 0 && (begun[i - 1].slots != range.slots || begun[i - 1].count != range.count ||
                     begun[i - 1].flags != range.flags))
        i--;
    GC_ASSERT(
        i > 0,
        "gc_stores_end: the %zu slots at %p (flags %u) have no gc_stores_begin of the same range and flags before "
        "them",
        range.count, range.slots, range.flags);
    if (i > 0) gc__stores_begun[i - 1] = gc__stores_begun[--gc__stores_depth];
}

/* Called at the start of a collection, which would move the slots, or their referents, within a bracket. Verify would blame
   a missing barrier for that. */
GC__FN void gc__stores_check(const gc_heap *heap) {
    if (gc__stores_depth)
        gc__fatal(&heap->options,
                  "a collection runs between gc_stores_begin and gc_stores_end of %zu slots at %p: allocate nothing there, "
                  "and do not poll",
                  gc__stores_begun[0].count, gc__stores_begun[0].slots);
}

GC_API void gc_stores_begin(gc_thread *thread, void *slots, size_t count, unsigned flags) {
    gc__stores range = {slots, count, flags};
    if (gc__brackets_are_logged(thread)) gc__stores_push(range);
    gc__stored_before(slots, count);
}

GC_API void gc_stores_end(gc_thread *thread, void *slots, size_t count, unsigned flags) {
    gc__stores range = {slots, count, flags};
    if (gc__brackets_are_logged(thread)) gc__stores_pop(range);
    gc__stored(slots, count, (flags & GC_SLOT_VALUE) != 0);
}

GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count) {
    (void)thread;
    GC__PASTE(gc_barrier_copy_checked_, GC_BARRIER)(&gc__tables, destination, source, count);
    gc__store_shadow(destination, count);
}

/* memmove, in whole words where the marker may be reading them. */
GC__FN void gc__values_move(gc_word *to, const gc_word *from, size_t count) {
    bool up = (uintptr_t)to - (uintptr_t)from >= count * 8;
    if (!gc__is_marking((uintptr_t)to)) {
        memmove(to, from, count * 8);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = up ? i : count - 1 - i;
        __atomic_store_n(&to[at], from[at], __ATOMIC_RELAXED);
    }
}

GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count) {
    (void)thread;
    if (!count) return;
    gc__stored_before(destination, count);
    gc__values_move((gc_word *)destination, (const gc_word *)source, count);
    gc__stored(destination, count, true);
}

/* Heap's lock held. The bytes are exchanged, so that a store meanwhile is reported now or the next time. */
GC__FN size_t gc__region_take_written(const gc__region *region, void **pages, size_t most) {
    uintptr_t end = gc__region_end(region);
    size_t count = 0;
    for (uintptr_t page = region->base; page < end && count < most; page += (size_t)1 << GC_WATCH_SHIFT) {
        uint8_t *watch = &gc__tables.watch[page >> GC_WATCH_SHIFT];
        if (!__atomic_load_n(watch, __ATOMIC_RELAXED) || !__atomic_exchange_n(watch, 0, __ATOMIC_ACQUIRE)) continue;
        pages[count++] = (void *)page;
    }
    return count;
}

GC_API size_t gc_heap_take_written_pages(gc_heap *heap, void **pages, size_t most) {
    if (gc__is_null(heap, "gc_heap_take_written_pages", "heap") ||
        (most && gc__is_null(pages, "gc_heap_take_written_pages", "pages")))
        return 0;
    GC__API_SCOPE("gc_heap_take_written_pages");
    size_t count = 0;
    if (!gc__barrier_watches()) return 0;
    gc__heap_lock(heap);
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (const gc__region *region = heap->regions[g]; region && count < most; region = region->next)
            count += gc__region_take_written(region, pages + count, most - count);
    gc__heap_unlock(heap);
    return count;
}
/* The limit of a heap, and what it takes beside its regions, which counts towards the limit. */


/* The bytes of a list that is empty between collections, which keeps its memory unless that is to be released. */
GC__OUT_OF_LINE size_t gc__list_bytes(gc__words *list, bool release) {
    size_t bytes = gc__words_bytes(list);
    if (release) gc__words_free(list);
    return bytes;
}

GC__COLD size_t gc__workers_lists_bytes(gc__workers *workers, bool release) {
    if (!workers) return 0;
    size_t bytes = sizeof *workers + gc__list_bytes(&workers->for_host, release) + gc__list_bytes(&workers->cards, release);
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        size_t own = gc__own_marks_bytes(thread);
        if (release) gc__own_marks_free(thread);
        bytes += own + gc__list_bytes(&thread->stack, release) + gc__list_bytes(&thread->live, release) +
                 gc__list_bytes(&thread->refused, release) + gc__list_bytes(&thread->seen, release);
    }
    return bytes;
}

/* Those of all such lists of the collector. */
GC__COLD size_t gc__collection_lists_bytes(const gc_heap *heap, bool release) {
    gc__cycle *cycle = heap->cycle;
    gc__words *all[] = {&cycle->roots,           &cycle->interior,        &cycle->pins,
                        &cycle->stacks,          &cycle->external_moving, &cycle->entries.words,
                        &cycle->entries.ended,   &cycle->offsets,          &cycle->reported,
                        &heap->handles->waiting, &heap->handles->ready,   &heap->collector->mark_stack};
    size_t bytes = gc__workers_lists_bytes(heap->collector->workers, release);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bytes += gc__list_bytes(all[i], release);
    return bytes;
}

/* Those of off-heap bytes. */
GC__FN size_t gc__external_table_bytes(const gc_heap *heap) {
    size_t bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) bytes += gc__map_bytes(&heap->collector->external[g]);
    return bytes;
}

GC__FN size_t gc__lasting_lists_bytes(const gc_heap *heap) {
    size_t bytes = gc__words_bytes(&heap->collector->globals) + gc__map_bytes(&heap->cycle->ambiguous) +
                   gc__map_bytes(&heap->handles->keys) + gc__finalizers_bytes(heap->finalizers) +
                   gc__marker_bytes(heap->marker) + gc__remembered_bytes(heap->remembered) + gc__external_table_bytes(heap);
    return bytes + heap->handles->segment_count * GC__HANDLE_SEGMENT_BYTES + heap->handles->extra_count * GC__HANDLE_EXTRA_BYTES;
}

/* After a collection: counts anew. Near the limit objects have the better use for the memory of the collector's lists, which
   the next collection makes again, and for what tables of off-heap bytes and lists of finalizers have had for more. The world is
   stopped. */
GC__COLD void gc__metadata_count(gc_heap *heap) {
    size_t much = heap->limit_bytes / 64, lists = gc__collection_lists_bytes(heap, false);
    if (gc__external_table_bytes(heap) > much)
        for (int g = 0; g < GC_GENERATIONS; g++) gc__map_shrink(&heap->collector->external[g]);
    if (gc__finalizers_bytes(heap->finalizers) > much) gc__finalizers_shrink(heap->finalizers);
    size_t lasting = gc__lasting_lists_bytes(heap);
    if (lists > much) {
        gc__collection_lists_bytes(heap, true);
        lists = gc__collection_lists_bytes(heap, false);
    }
    __atomic_store_n(&heap->metadata_bytes, lasting + lists, __ATOMIC_RELAXED);
}

/* The share of a container's memory that a heap takes without heap_bytes_max: the rest is for the program's other memory. */
GC__COLD size_t gc__container_share(void) { return gc__os_container_bytes() / 4 * 3; }

/* `share`: the limit if `bytes` is 0; if it is 0, too, there is none. */
GC__COLD void gc__limit_set(gc_heap *heap, size_t bytes, size_t share) {
    heap->limit_is_open = false;
    heap->limit_is_share = !bytes && share;
    if (heap->limit_is_share) bytes = gc__max(share, GC__REGIONS_MIN * GC_REGION_BYTES);
    heap->options.heap_bytes_max = bytes;
    heap->limit_bytes = bytes ? gc__min(bytes, GC__LIMIT_MOST) : gc__the_arena.bytes;
}

/* To read the system's files takes longer than to create a heap, so that is done once the heap has grown a little. The world is
   stopped. */
GC__COLD void gc__limit_look(gc_heap *heap) {
    if (heap->limit_is_open && gc__held_bytes(heap) >= GC__SMALL_HEAP_BYTES)
        gc__limit_set(heap, 0, gc__container_share());
}
/* A stock of free regions whose memory the system has provided already.

   A page that is touched for the first time takes the system 0.3 us, in a guest whose host provides it only then even ten; a huge
   page of a table up to 5 ms. In a heap that grows, copies and nurseries would wait for that. So the thread that marks takes
   regions ahead of them, twice as many as were taken lately, and has the system provide their memory and that of their tables
   while it holds no lock. */


#define GC__PREFAULT_MOST 32    /* regions */
#define GC__PREFAULT_PART 16    /* at most this part of what the heap has */
#define GC__PREFAULT_AHEAD 512  /* tables are provided for so many regions ahead, at most: what a huge page has marks for */

/* Lists another free region, if more of them are wanted. A collection that finds few others may take it before its memory is
   there, so they are listed one by one. NULL: no. The lock is held. */
GC__FN gc__region *gc__prefault_take(gc_heap *heap) {
    size_t used = gc__counted(&heap->fresh_regions), most = gc__min(heap->held_regions / GC__PREFAULT_PART, GC__PREFAULT_MOST);
    bool wanted = heap->free_count < gc__min(2 * used, most);
    bool fits = gc__free_bytes(heap) + 2 * GC_REGION_BYTES < gc__bytes_left(heap);
    gc__region *region = wanted && fits ? gc__arena_acquire(heap, 1) : NULL;
    if (!region) {
        __atomic_store_n(&heap->fresh_regions, 0, __ATOMIC_RELAXED);
        return NULL;
    }
    gc__region_note_taken(region, 1, false);
    gc__os_mark_free(region->base, GC_REGION_BYTES, true);
    heap->held_regions++;
    gc__heap_list_free_last(heap, region);
    gc__heap_note_held(heap);
    return region;
}

GC__FN void gc__prefault_table(int which, size_t region) {
    uintptr_t page = gc__os_page_bytes();
    gc__lock_take(&gc__the_arena.lock);
    bool opened = region < gc__the_arena.count && gc__sides_open(region + 1);
    const gc__side *side = &gc__sides[which];
    uintptr_t start = (uintptr_t)side->start + side->lead + region * gc__side_bytes_per_region[which];
    bool exists = opened && side->start;
    gc__lock_release(&gc__the_arena.lock);
    if (exists) gc__supply_populate((void *)(start & ~(page - 1)), page);
}

/* No lock is held: the region may be in use by now, or with the system again, and then this has no effect on it but that it takes
   memory earlier. */
GC__FN void gc__prefault_region(const gc__region *region) {
    size_t number = (size_t)(region - gc__the_arena.regions), ahead = gc__min(gc__max(number / 4, 128), GC__PREFAULT_AHEAD);
    for (size_t i = number; i <= number + ahead; i += ahead) {
        gc__prefault_table(GC__SIDE_MARKS, i);
        gc__prefault_table(GC__SIDE_CARDS, i);
        gc__prefault_table(GC__SIDE_NEXT_MARKS, i);
    }
    gc__supply_populate((void *)region->base, GC_REGION_BYTES);
}

/* On the marker's thread: replaces some of what was taken. False: nothing was. */
GC__FN bool gc__prefault_next(gc_heap *heap) {
    if (!gc__counted(&heap->fresh_regions) || !gc__heap_lock_unless_taken(heap)) return false;
    bool may = !heap->options.stress && !gc__supply_is_host();
    gc__region *region = may ? gc__prefault_take(heap) : NULL;
    gc__heap_unlock(heap);
    if (region) gc__prefault_region(region);
    return true;
}
/* Phase "sweep": what becomes of each condemned region. Objects are not touched. */


/* Stress: an evacuated region stays inaccessible for a while, so that a missed root faults at once. */
#define GC__QUARANTINE_REGIONS \
    ((GC_REGION_SHIFT < 26 ? (size_t)256 << 20 : (size_t)4 << GC_REGION_SHIFT) >> GC_REGION_SHIFT)

GC__FN void gc__quarantine_push(gc_heap *heap, gc__region *region) {
    gc__region_set_rank(region, 0, false);
    gc__region_set_verdict(region, GC__IGNORE, 0);
    heap->held_regions--;
    region->kind = GC__QUARANTINED;
    region->next = NULL;
    if (heap->quarantine_last)
        heap->quarantine_last->next = region;
    else
        heap->quarantine = region;
    heap->quarantine_last = region;
    /* Where the system refuses, no misuse is seen there. Other barriers, and code of the host's, would take the ranks for
       those of a slot that needs a card, which slots outside the heap do not have. */
    bool hidden = gc__os_access((void *)region->base, GC_REGION_BYTES, false), seen = GC__BARRIER_CHOSEN == GC_BARRIER_RANK_SUM;
    if (hidden && seen && !GC_EMBEDDED && !heap->options.barrier_changed) gc__region_set_stale(region);
    if (++heap->quarantine_count > GC__QUARANTINE_REGIONS) gc__quarantine_pop(heap);
}

/* The region stays, in the generation that it is for. */
GC__FN void gc__sweep_keep(gc_heap *heap, gc__region *region) {
    if (GC__UNLIKELY(heap->marking) && region->target == 2 && region->generation < 2) {
        gc__shade_born(region, region->base, gc__region_end(region), region->live_bytes);
        if (heap->cycle->plan->purpose == GC__YOUNG_WHOLESALE) gc__shade_left(region, GC__UNREAD);
    }
    region->generation = region->target;
    gc__region_set_verdict(region, GC__IGNORE, 0);
    gc__heap_push(heap, region);
    if (region->generation == 2) gc__small_regions_add(&heap->cycle->old_small, region);
}

GC__FN void gc__sweep_large(gc_heap *heap, gc__region *region) {
    if (gc__mark_get(region->base)) {
        if (region->generation < 2) heap->cycle->large_kept_bytes += region->live_bytes;
        gc__sweep_keep(heap, region);
        if (!heap->options.keep_memory) gc__large_uncommit(heap, region);
    } else {
        heap->large_bytes -= gc__object_bytes(region->base);
        gc__heap_give(heap, region);
    }
}

GC__FN void gc__sweep_small(gc_heap *heap, gc__region *region) {
    if (region->verdict == GC__MOVE && heap->options.stress) {
        gc__quarantine_push(heap, region);
    } else if (region->verdict == GC__MOVE || region->live_bytes == 0) {
        GC_ASSERT(GC_DEBUG < 3 || !region->flip ||
                      gc__bit_next(gc__next_marks, region->base, gc__region_end(region)) == gc__region_end(region),
                  "gc.h: an object was marked in the region at %p, which has no live ones", (void *)region->base);
        region->flip = 0;
        gc__heap_give(heap, region);
    } else {
        region->linear = region->formatted = false;
        region->hole = region->indexed_end = region->base;
        gc__sweep_keep(heap, region);
    }
}

/* Of a region in which the marker has marked: its bits are the region's mark bits where they are, and moved beside mutators
   later. To do that for all of a large heap would be a long pause. */
GC__FN void gc__sweep_marked(gc_heap *heap, gc__region *region) {
    bool counted = !(region->unscanned & GC__UNCOUNTED);
    region->live_bytes = region->next_live_bytes;
    region->next_live_bytes = 0;
    region->unscanned = 0;
    region->target = 2;
    region->condemned = heap->collection.number;
    if (region->kind == GC__LARGE) {
        gc__region_set_verdict(region, GC__MARK, 2);
        gc__marks_take(region, true);
    } else {
        __atomic_store_n(&region->flip, GC__FLIP_DUE, __ATOMIC_RELEASE);
    }
    if (!counted) region->live_bytes = gc__marked_object_bytes(region);
    heap->cycle->marked_bytes[2] += region->live_bytes;
    heap->cycle->staying_kept_bytes += region->live_bytes;
    if (region->kind == GC__LARGE)
        gc__sweep_large(heap, region);
    else
        gc__sweep_small(heap, region);
}

GC__FN void gc__sweep_old(gc_heap *heap) {
    gc__old_walk walk = gc__old_begin(heap, heap->cycle->condemned_old, GC__OLD_CONDEMNED);
    for (gc__region *region; (region = gc__old_next(&walk)) != NULL; heap->pause.regions++) gc__sweep_marked(heap, region);
    heap->cycle->condemned_old = NULL;
    heap->cycle->condemns_old = false;
}

GC__HOT void gc__sweep(gc_heap *heap, gc__region *condemned) {
    gc__small_regions *old = &heap->cycle->old_small;
    old->used_bytes = old->live_bytes = 0;
    if (heap->collection.generation == 2) /* what is listed has just been copied there */
        for (const gc__region *region = heap->regions[2]; region; region = region->next) gc__small_regions_add(old, region);
    for (; condemned; heap->pause.regions++) {
        gc__region *next = condemned->next;
        size_t *bytes = condemned->is_slid_into ? heap->cycle->copied_bytes : heap->cycle->marked_bytes;
        bytes[condemned->target] += condemned->live_bytes;
        condemned->is_slid_into = false;
        condemned->offset_table = NULL;
        if (condemned->generation == 2 && condemned->verdict == GC__MARK)
            heap->cycle->staying_kept_bytes += condemned->live_bytes;
        if (condemned->generation == 0 && condemned->verdict == GC__MARK)
            heap->cycle->young_kept_bytes += condemned->live_bytes;
        condemned->candidate = false;
        if (condemned->kind == GC__LARGE)
            gc__sweep_large(heap, condemned);
        else
            gc__sweep_small(heap, condemned);
        condemned = next;
    }
    if (heap->cycle->condemns_old) gc__sweep_old(heap);
    for (int g = 0; g < GC_GENERATIONS; g++) heap->cycle->cursors[g] = heap->regions[g];
    if (gc__is_mark_end(heap)) heap->old_unflipped = heap->regions[2];
    heap->recycled = heap->fixed_search = heap->regions[0];
}

/* Tells barriers where young regions are now, and counts those of generation 1. */
GC__HOT void gc__sweep_bounds(gc_heap *heap) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    heap->pace->young_regions = 0;
    for (int g = 0; g < 2; g++)
        for (const gc__region *region = heap->regions[g]; region; region = region->next) {
            uintptr_t end = gc__region_end(region);
            if (region->base < low) low = region->base;
            if (end > high) high = end;
            heap->pace->young_regions += g == 1 ? region->span : 0;
        }
    gc__bounds_tighten(&heap->observer, low, high);
}
/* The threads of the crew: when there are any, and which collections they share in. */


#define GC__WORKERS_WORTH ((size_t)1 << 20) /* bytes that are expected to survive from which a trace is shared */
#define GC__WORKERS_WORTH_NS ((uint64_t)30 * GC__NS_PER_MS) /* and where nobody asked for threads or short pauses, time */
#define GC__WORKERS_WORTH_BUNDLES 512       /* dirty ones */
#define GC__WORKERS_WORTH_HANDLES 16        /* segments of them */
#define GC__WORKERS_DEFAULT 16              /* threads, where the program names no number */
#define GC__PROCESSORS_ASK_NS ((uint64_t)500 * GC__NS_PER_MS)

/* The processors of the process, which may be taken away, or given, while the program runs. */
GC__COLD unsigned gc__workers_processors(gc_heap *heap) {
    gc__collector *collector = heap->collector;
    uint64_t now = gc__os_now_ns();
    if (!collector->processors_asked_ns || gc__ns_passed(now, collector->processors_asked_ns, GC__PROCESSORS_ASK_NS)) {
        unsigned quota = gc__os_quota();
        collector->processors = gc__os_processors();
        if (quota < collector->processors) collector->processors = quota;
        collector->processors_asked_ns = now;
    }
    return collector->processors;
}

/* How many threads there should be, and how many of them may work in the collection that is to come: with more than there are
   processors for, each would wait for another. */
GC__FN unsigned gc__workers_wanted(gc_heap *heap) {
    unsigned wanted = heap->options.collector_threads;
    return wanted ? wanted : (unsigned)gc__min(gc__workers_processors(heap), GC__WORKERS_DEFAULT);
}
GC__COLD unsigned gc__workers_most(gc_heap *heap, unsigned wanted) {
    return heap->options.test_collectors ? wanted : (unsigned)gc__min(gc__workers_processors(heap), wanted);
}

/* Whether the collection that is due ends a marking that is done, so that it traces no more than one of young objects, and the
   heap has not many handles, at which several threads look. */
GC__FN bool gc__workers_finds_marked(const gc_heap *heap, gc__purpose purpose) {
    bool done = __atomic_load_n(&heap->marker->done, __ATOMIC_RELAXED);
    return purpose == GC__MARK_END && done && heap->handles->segment_count < GC__WORKERS_WORTH_HANDLES;
}

GC__FN bool gc__workers_leaves_holes(const gc_heap *heap, int generation) {
    return generation < 2 && heap->pace->fills_holes;
}

/* Whether a collection is expected to have enough to do that can be shared: copies of young objects are not where they go to
   listed holes. Two threads take up to 40 % more CPU time than one for traces of up to 25 ms, and end no sooner, so by default
   only longer ones are shared. Called before it stops the world, too. */
GC__COLD bool gc__workers_is_worth(const gc_heap *heap, gc__purpose purpose, int generation) {
    size_t survivors = 0;
    if (gc__workers_finds_marked(heap, purpose)) generation = 1;
    for (int g = 0; g <= generation; g++)
        survivors += gc__counted(&heap->generation_bytes[g]) / 100 * heap->pace->survival[g];
    if (heap->options.test_collectors) return true;
    if (survivors < GC__WORKERS_WORTH || gc__workers_leaves_holes(heap, generation)) return false;
    bool wanted = heap->options.collector_threads || gc__has_pause_goal(heap);
    return wanted || (survivors >> 10) * heap->pace->trace_ns_per_mib[generation == 2] >> 10 >= GC__WORKERS_WORTH_NS;
}

#if GC_HAS_MODEL
GC__COLD void gc__workers_start(gc_heap *heap, const gc__request *request) { (void)heap, (void)request; }
GC__COLD void gc__workers_enter(gc__worker *worker) { (void)worker; }
GC__COLD void gc__workers_leave(gc__worker *worker) { (void)worker; }
GC__COLD void gc__workers_end(gc_heap *heap) { (void)heap; }
GC__COLD void gc__workers_forget(gc_heap *heap) { (void)heap; }
#else
GC__COLD void gc__workers_thread(void *context) {
    gc__worker_thread *thread = (gc__worker_thread *)context;
    gc__workers *workers = thread->workers;
    gc__tells_later = true;
    if (workers->seed) gc__workers_await_turn(workers, thread->number);
    if (gc__workers_next(thread)) gc__work(&thread->worker);
}

/* The crew's record, with one member; NULL: no memory. */
GC__COLD gc__workers *gc__workers_new(gc_heap *heap) {
    gc__workers *workers = (gc__workers *)gc__os_map(sizeof *workers);
    if (!workers) return NULL;
    gc__lock_init(&workers->lock);
    gc__lock_init(&workers->space);
    workers->heap = heap;
    workers->seed = heap->options.test_collectors > 1 ? heap->options.test_collectors : 0;
    workers->count = workers->most = 1;
    workers->threads[0].workers = workers;
    __atomic_fetch_add(&heap->metadata_bytes, sizeof *workers, __ATOMIC_RELAXED);
    return workers;
}

/* False: the system gives no thread. */
GC__COLD bool gc__workers_start_one(gc__workers *workers, unsigned number) {
    gc__worker_thread *thread = &workers->threads[number];
    char name[16];
    snprintf(name, sizeof name, "gc worker %u", number % 100);
    thread->workers = workers;
    thread->number = number;
    thread->worker.workers = workers;
    thread->worker.number = number;
    gc__workers_lock(workers);
    workers->asleep |= 1u << number;
    gc__lock_release(&workers->lock);
    bool started = gc__os_worker_start(&thread->os_thread, name, gc__workers_thread, thread);
    gc__workers_lock(workers);
    if (started)
        gc__workers_resize(workers, workers->count + 1, workers->most);
    else
        workers->asleep &= ~(1u << number);
    gc__lock_release(&workers->lock);
    return started;
}

/* In a child of fork(), after the collection in which that was called. */
GC__FN void gc__workers_reset(gc__workers *workers) {
    workers->forked = false;
    gc__workers_resize(workers, 1, workers->most);
    workers->asleep = 0;
}

GC__COLD void gc__workers_set_most(gc__workers *workers, unsigned most) {
    gc__workers_lock(workers);
    gc__workers_resize(workers, workers->count, most);
    gc__lock_release(&workers->lock);
}

/* Starts the collector's threads, if the collection that is to come can use them. Before the world is stopped: a thread that
   the host has suspended may hold a lock of the C library. Heap lock held. */
GC__COLD void gc__workers_start(gc_heap *heap, const gc__request *request) {
    gc__collector *collector = heap->collector;
    if (collector->workers && collector->workers->forked && !heap->collecting) gc__workers_reset(collector->workers);
    if (heap->options.collector_threads == 1 || heap->collecting || gc__is_abandoned(heap)) return;
    if (heap->threads->stop_depth || !gc__workers_is_worth(heap, request->purpose, request->generation)) return;
    unsigned wanted = gc__workers_wanted(heap), most = gc__workers_most(heap, wanted);
    unsigned have = collector->workers ? collector->workers->count : 1;
    if (collector->workers && collector->workers->most != most) gc__workers_set_most(collector->workers, most);
    if (GC__LIKELY(have >= wanted) || collector->workers_refused) return;
    size_t kept = gc__evacuation_reserve(heap) << GC_REGION_SHIFT; /* to compact with is worth more than to be fast */
    if (!collector->workers && gc__bytes_left(heap) < kept + sizeof(gc__workers)) return;
    if (!collector->workers) collector->workers = gc__workers_new(heap);
    gc__workers *workers = collector->workers;
    if (workers) gc__workers_set_most(workers, most);
    bool started = workers != NULL;
    for (unsigned i = have; started && i < wanted; i++) started = gc__workers_start_one(workers, i);
    if (started) return;
    char message[160];
    collector->workers_refused = true;
    snprintf(message, sizeof message,
             "the system gives only %u of %u collector threads: raise `ulimit -u`, or set options.collector_threads",
             workers ? workers->count : 1, wanted);
    gc__warn(&heap->options, message);
}

/* Has the crew take part in the collection, if it is worth it. Where room is short there is one window for each generation
   only, so that none is left half full. */
GC__COLD void gc__workers_enter(gc__worker *worker) {
    gc_heap *heap = worker->heap;
    const gc__plan *plan = heap->cycle->plan;
    int generation = heap->collection.generation;
    gc__workers *workers = heap->collector->workers;
    if (!workers || gc__min(workers->count, workers->most) < 2 || workers->forked || plan->into_holes) return;
    if (plan->purpose == GC__YOUNG_WHOLESALE) return; /* hardly anything is traced */
    if (plan->tight && !heap->options.test_collectors) return;
    bool worth = gc__workers_is_worth(heap, plan->purpose, generation);
    if (!worth && generation < 2 && !gc__workers_leaves_holes(heap, generation))
        worth = gc__count_dirty_bundles() >= GC__WORKERS_WORTH_BUNDLES;
    if (!worth || !gc__workers_open(workers, worker)) worker->workers = NULL;
}

/* The trace is over: hands in what the other workers have counted. */
GC__COLD void gc__workers_leave(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (!workers) return;
    for (unsigned i = 0; i < workers->count; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        if (i) gc__worker_end(&thread->worker);
        for (int g = 0; g < GC_GENERATIONS; g++) thread->bytes += thread->worker.copied_bytes[g];
        thread->lost += thread->worker.lost;
    }
    __atomic_store_n(&workers->rests, true, __ATOMIC_RELAXED);
    worker->workers = NULL;
}

/* In the child of fork(): the threads do not exist. Locks held. */
GC__COLD void gc__workers_forget(gc_heap *heap) {
    gc__workers *workers = heap->collector->workers;
    if (!workers) return;
    workers->forked = true;
    workers->asleep = ~(uint32_t)1; /* nobody waits for them, or wakes them */
}

/* Ends the threads. */
GC__COLD void gc__workers_end(gc_heap *heap) {
    gc__workers *workers = heap->collector->workers;
    if (!workers) return;
    gc__workers_lock(workers);
    __atomic_store_n(&workers->ending, true, __ATOMIC_SEQ_CST);
    if (workers->forked) gc__workers_reset(workers);
    for (unsigned i = 1; i < workers->count; i++) {
        __atomic_fetch_add(&workers->threads[i].woken, 1, __ATOMIC_SEQ_CST);
        workers->called |= 1u << i;
    }
    gc__workers_unlock(workers);
    for (unsigned i = 0; i < GC__WORKERS_MAX; i++) {
        gc__worker_thread *thread = &workers->threads[i];
        gc__words *lists[] = {&thread->stack, &thread->live, &thread->own_marks, &thread->stale, &thread->refused, &thread->seen};
        if (i && i < workers->count) gc__os_thread_join(&thread->os_thread);
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) gc__words_free(lists[k]);
    }
    gc__words_free(&workers->for_host);
    gc__words_free(&workers->cards);
    gc__lock_end(&workers->lock);
    gc__lock_end(&workers->space);
    gc__os_unmap(workers, sizeof *workers);
    heap->collector->workers = NULL;
}
#endif
/* Marking beside mutators: which heaps do it, when a cycle begins and ends, and the thread that marks. */


#define GC__MARKING_PATIENCE_MS ((uint64_t)100) /* from when the marking is done until the program is asked to end it */
#define GC__GIVE_BACK_MS ((uint64_t)20)         /* between two pieces of memory that are given back beside mutators */
#define GC__MARKING_STEPS 64                /* objects between two looks at whether a collection waits */
#define GC__MARKING_QUANTA 4                 /* of a nursery at least, after which a mutator may have to wait for the marker */
#define GC__MARKING_STARVED 100             /* waits in which the marker has done nothing, after which the program is stopped */
#define GC__MARKING_LITTLE 4096             /* objects that the last collection traces without others */
#define GC__MARKING_TIMED 64                /* turns, after which the CPU time of the thread is noted */
/* While objects are being marked it provides memory once in so many turns: what mutators allocate until the marking ends is held
   until the next one has ended. */
#define GC__PREFAULT_TURNS 256
#define GC__PREFAULT_LOOKS 20 /* so often in vain the thread looks whether free regions were taken, */
#define GC__PREFAULT_NS ((uint64_t)1000000) /* once in this time */
#define GC__MARKER_SPINS 1500 /* polls of a collection until the marker rests, before it sleeps: about 50 us */

/* What barriers call, which those of other heaps may be doing. Arena's lock held. */
GC__COLD void gc__marking_tables(void) {
    if (gc__tables.log_store) return;
    gc__tables.log_store = gc__store_logged;
    gc__tables.log_store_call = gc__store_logged_call;
}

/* What the collection's workers do with the objects of generation 2 that they meet: GC__EDGES_*. Where stores are not noted,
   what they store into old objects is not shaded, but the card is dirty. So whoever cleans a card shades all that its slots
   refer to. */
GC__FN uint8_t gc__marking_edges(const gc_heap *heap) {
    bool of_cards = !gc__stores_are_logged(heap);
    uint8_t candidate = gc__is_mark_end(heap) ? 0 : GC__EDGES_CANDIDATE;
    if (!heap->marking) return 0;
    if (heap->collection.generation == 0 && !of_cards) return candidate;
    return candidate | (of_cards ? GC__EDGES_SHADE | GC__EDGES_SHADE_CARDS : GC__EDGES_SHADE);
}

/* At creation: says why not, if it was asked for. */
GC__COLD void gc__marking_explain(const gc_heap *heap) {
    const char *obstacle = heap->asked_concurrent ? gc__marking_obstacle_now(heap) : NULL;
    char message[240];
    if (!obstacle) return;
    snprintf(message, sizeof message, "options.concurrent has no effect, and full collections stop the program: %s",
             obstacle);
    gc__warn(&heap->options, message);
}

/* Before a collection gathers roots: nothing is left of the last cycle. */
GC__FN void gc__marking_decide(gc_heap *heap) {
    const gc__plan *plan = heap->cycle->plan;
    bool full = plan->request.generation == 2 || gc__is_of_cycle(plan);
    if (!heap->marking && full) gc__finalizers_decide_all(heap->finalizers);
}

#if GC_HAS_MODEL
GC__FN void gc__marker_rest(gc_heap *heap) { (void)heap; }
GC__FN void gc__marker_go_on(gc_heap *heap) { (void)heap; }
GC__COLD void gc__marking_start_thread(gc_heap *heap, void (*rests)(gc_heap *heap)) { (void)heap, (void)rests; }
GC__COLD void gc__marking_end_thread(gc_heap *heap) { (void)heap; }
GC__FN void gc__marking_take_turn(gc_heap *heap) { (void)heap; }
GC__FN bool gc__marking_await_quantum(const gc_heap *heap) { return (void)heap, false; }
GC__FN bool gc__marking_await_turn(const gc_heap *heap) { return (void)heap, false; }
GC__FN void gc__marking_await_before(const gc_heap *heap) { (void)heap; }
GC__COLD void gc__marking_divide_nursery(const gc_heap *heap) { (void)heap; }
GC__COLD void gc__marking_step(gc_heap *heap) { (void)heap; }
GC__FN void gc__marking_trace_old(gc__worker *worker, gc__region *condemned) { (void)worker, (void)condemned; }
#else
/* Marks; or, where nothing is being marked, lists the holes that it has left. The marker's lock is held. False: nothing is left
   to do. */
GC__HOT bool gc__marker_turn(gc_heap *heap, size_t steps) {
    if (!heap->marking)
        return gc__finalizers_decide_next(heap) || gc__holes_flip_next(heap) || gc__holes_list_next(heap) ||
               gc__finalizers_compact_next(heap);
    gc__marker *marker = heap->marker;
    __atomic_store_n(&marker->turns, marker->turns + 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&marker->logged, __ATOMIC_RELAXED) >= marker->taken + GC__MARK_BUFFER_TAKEN)
        gc__marker_take_buffer(heap, GC__MARK_BUFFER_TAKEN); /* or the next collection waits for that */
    bool more = gc__marker_work(heap, steps) || gc__due_preclean(heap) || gc__handles_preclean(heap) ||
                gc__finalizers_preclean(heap) || gc__tables_preclean(heap) || gc__finalizers_mark_on(heap);
    if (more) return true;
    __atomic_store_n(&marker->done, true, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&marker->awaited, 0u, __ATOMIC_SEQ_CST)) gc__os_wake(&marker->awaited);
    return false;
}

/* The number of a region whose part of the marker's bits should be provided, or SIZE_MAX: as many follow as have theirs in the
   same huge page. If the marker met them first, it would wait for that while a collection waits for it. Marker's lock held. */
GC__FN size_t gc__marker_unprovided(gc_heap *heap) {
    size_t number = heap->marker->provided;
    if (!heap->marking || number >= heap->marker->provided_end || gc__supply_is_host()) return SIZE_MAX;
    heap->marker->provided += GC__PREFAULT_AHEAD;
    return number;
}

GC__COLD void gc__marker_thread(void *context) {
    gc_heap *heap = (gc_heap *)context;
    gc__marker *marker = heap->marker;
    unsigned looks = 0;
    gc__os_thread_is_patient(); /* or else to wake it could stop the thread that has collected, and with it the world */
    while (!__atomic_load_n(&marker->is_ending, __ATOMIC_ACQUIRE)) {
        uint32_t turn = __atomic_load_n(&marker->turn, __ATOMIC_ACQUIRE);
        bool more = true, marks = false;
        if (!__atomic_load_n(&marker->wanted, __ATOMIC_ACQUIRE)) {
            gc__lock_take(&marker->lock);
            size_t number = gc__marker_unprovided(heap);
            if (number == SIZE_MAX) more = gc__marker_turn(heap, GC__MARKING_STEPS);
            marks = more && heap->marking;
            gc__lock_release(&marker->lock);
            if (number != SIZE_MAX) gc__prefault_table(GC__SIDE_NEXT_MARKS, number);
        } else {
            gc__os_wait_for(&marker->wanted, 1, 1000 * GC__NS_PER_MS);
        }
        if (!marks || marker->turns % GC__PREFAULT_TURNS == 0) looks = gc__prefault_next(heap) ? GC__PREFAULT_LOOKS : looks;
        if (!more || marker->turns % GC__MARKING_TIMED == 0)
            __atomic_store_n(&marker->cpu_ns, gc__os_cpu_ns(), __ATOMIC_RELAXED);
        if (more) continue;
        __atomic_store_n(&marker->looks, looks != 0, __ATOMIC_RELAXED);
        if (looks) {
            looks--;
            gc__os_wait_for(&marker->turn, turn, GC__PREFAULT_NS);
            continue;
        }
        bool gives = __atomic_load_n(&marker->gives_back, __ATOMIC_RELAXED);
        bool asks = gives || __atomic_load_n(&marker->done, __ATOMIC_RELAXED);
        uint64_t patience_ms = gives ? GC__GIVE_BACK_MS : asks ? GC__MARKING_PATIENCE_MS : 1000;
        gc__os_wait_for(&marker->turn, turn, patience_ms * GC__NS_PER_MS);
        if (asks && __atomic_load_n(&marker->turn, __ATOMIC_ACQUIRE) == turn) marker->rests(heap);
    }
}

/* Between these two no object is marked beside the collection. The world is stopped, and the lock of the heap is held. The
   marker looks often whether it is to rest: to wait for that in the system would take longer. */
GC__FN void gc__marker_rest(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    unsigned spins = heap->threads->processors > 1 ? GC__MARKER_SPINS : 0;
    if (marker->has_thread) __atomic_store_n(&marker->wanted, 1u, __ATOMIC_SEQ_CST);
    while (spins && !gc__lock_try(&marker->lock)) {
        gc__cpu_pause();
        spins--;
    }
    if (!spins) gc__lock_take(&marker->lock);
    if (heap->marking) gc__marker_empty_buffer(heap);
}
GC__FN void gc__marker_go_on(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    bool prefaults = gc__counted(&heap->fresh_regions) && !__atomic_load_n(&marker->looks, __ATOMIC_RELAXED);
    bool is_needed = heap->marking || heap->old_unflipped || heap->old_unlisted || prefaults;
    if (heap->marking) {
        __atomic_store_n(&marker->done, false, __ATOMIC_RELAXED); /* the collection may have noted more */
        marker->preclean_passes = gc__max(marker->preclean_passes, 1);
    }
    gc__lock_release(&marker->lock);
    if (!marker->has_thread) return;
    __atomic_store_n(&marker->wanted, 0u, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&marker->turn, 1, __ATOMIC_SEQ_CST);
    if (!is_needed) return;
    gc__os_wake(&marker->wanted);
    gc__os_wake(&marker->turn);
}

/* Has a thread that marks, if a cycle may begin; before the world is stopped, since a thread that the host has suspended may
   hold a lock of the C library. */
GC__COLD void gc__marking_start_thread(gc_heap *heap, void (*rests)(gc_heap *heap)) {
    gc__marker *marker = heap->marker;
    if (marker->has_thread || marker->refused || heap->options.test_marker_steps) return;
    marker->rests = rests;
    marker->has_thread = gc__os_worker_start(&marker->thread, "gc marker", gc__marker_thread, heap);
    if (marker->has_thread) return;
    marker->refused = true;
    gc__warn(&heap->options,
             "the system gives no thread to mark objects beside the program, so full collections stop it "
             "for as long as they take: raise `ulimit -u`");
}

/* Ends the thread, and the cycle. The heap is being destroyed. */
GC__COLD void gc__marking_end_thread(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    __atomic_store_n(&marker->is_ending, true, __ATOMIC_RELEASE);
    __atomic_fetch_add(&marker->turn, 1, __ATOMIC_SEQ_CST);
    gc__os_wake(&marker->wanted); /* the last collection may not have woken it */
    gc__os_wake(&marker->turn);
    if (marker->has_thread) gc__os_thread_join(&marker->thread);
    marker->has_thread = false;
    gc__marker_abort(heap);
    for (gc__region *region = heap->regions[2]; region; region = region->next) gc__region_flip_whole(region);
    gc__words_free(&marker->grey);
    gc__words_free(&marker->seen);
    gc__words_free(&marker->waiting);
    gc__words_free(&marker->slots);
    gc__words_free(&marker->tables);
    gc__words_free(&marker->pieces);
    gc__words_free(&marker->finalizer_grey);
    gc__words_free(&marker->held);
}

/* For tests, where there is no thread: the calling mutator does some of its work. */
GC__FN void gc__marking_take_turn(gc_heap *heap) {
    if (!heap->options.test_marker_steps) return;
    gc__lock_take(&heap->marker->lock);
    gc__marker_turn(heap, heap->options.test_marker_steps);
    gc__lock_release(&heap->marker->lock);
}

/* A cycle begins. */
GC__COLD void gc__marking_count_room(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t grown = gc__grown_bytes(heap), most = heap->pace->full_threshold + gc__growth_due(heap);
    marker->most_bytes = gc__max(most, grown + grown / GC__MARKING_ROOM);
    marker->began_growth = marker->most_bytes - grown;
    marker->began_room = gc__marking_room(heap);
    double larger = marker->last_old_bytes ? (double)marker->began_old_bytes / (double)marker->last_old_bytes : 1;
    size_t likely = marker->last_old_bytes ? (size_t)((double)marker->last_bytes * larger) : SIZE_MAX;
    marker->likely_bytes = gc__min(likely, marker->began_old_bytes); /* where it is not known, that all is alive */
    __atomic_store_n(&marker->marked_bytes, (size_t)0, __ATOMIC_RELAXED);
    marker->quantum_bytes = 0;
}

/* Before a collection condemns anything. */
GC__COLD void gc__marking_step(gc_heap *heap) {
    const gc__plan *plan = heap->cycle->plan;
    if (plan->purpose == GC__MARK_BEGIN) {
        gc__marker_begin(heap);
        if (heap->marking) gc__marking_count_room(heap);
        if (heap->marking) gc__handles_preclean_begin(heap);
        if (heap->marking) gc__due_preclean_begin(heap->finalizers);
        gc__finalizers_preclean_begin(heap->finalizers);
        size_t budget = gc__candidates_budget(heap);
        if (heap->marking && budget && gc__stores_are_logged(heap)) gc__candidates_choose(heap, budget);
    } else if (plan->condemned == 2) {
        gc__marker_abort(heap);
        gc__finalizer_marks_end(heap);
    }
}

/* Whether what the last collection has to trace of the old generation is too little to be shared: the marker had nothing left,
   and no object waited whose trace function may lead to what nobody has met. To share it takes 20 ns for each region. */
GC__FN bool gc__marking_left_little(const gc__worker *worker) {
    const gc_heap *heap = worker->heap;
    bool little = !heap->pause.degenerated && !heap->pause.waiting_objects && !worker->overflowed;
    return little && (size_t)(worker->top - worker->stack) < GC__MARKING_LITTLE && !heap->options.test_collectors;
}

/* In the last collection, after a trace like that of a young one: the old generation is condemned with what is marked in it,
   and traced from what is grey or was noted. All young objects have been reached; what is copied from here on, out of leaving
   regions or for finalizers, goes to fresh regions. */
GC__FN void gc__marking_trace_old(gc__worker *worker, gc__region *condemned) {
    gc_heap *heap = worker->heap;
    if (!gc__is_mark_end(heap)) return;
    for (unsigned g = 0; g < GC_GENERATIONS; g++) gc__worker_close_window(worker, g);
    heap->cycle->marked_bytes[2] -= gc__copied_to(worker, 2); /* the sweep counts them with their regions */
    gc__phase_begin(heap, GC_PHASE_REMARK);
    gc__old_holes_forget(heap);
    gc__marker_finish(heap);
    for (gc__region *region = condemned; region; region = region->next) {
        if (region->target == 2) gc__region_set_rank(region, gc__age_of(heap, 2), true);
        gc__marker_drop_bits(region);
    }
    heap->cycle->condemned_bytes[2] = heap->generation_bytes[2];
    heap->cycle->cursors[2] = NULL;
    gc__marker_condemn_old(heap);
    worker->edges = 0;
    gc__tables_hand_over(worker);
    gc__marker_hand_over(worker);
    if (gc__marking_left_little(worker))
        gc__trace_drain(worker);
    else
        gc__trace_held(worker, condemned);
}

/* The thread waits for the marker, which it would only hinder if it marked, too. Returns when it began to. The system wakes it
   late, by 60 us, or by 500 where other programs run: so much less is asked for. */
GC__FN uint64_t gc__marking_await(gc_heap *heap, uint64_t ns) {
    gc__marker *marker = heap->marker;
    uint64_t start = gc__os_now_ns(), asked = gc__max(ns - gc__min(ns, marker->late_ns), ns / 16);
    __atomic_store_n(&marker->awaited, 1u, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&marker->done, __ATOMIC_SEQ_CST)) gc__os_wait_for(&marker->awaited, 1, asked);
    uint64_t took = gc__ns_since(gc__os_now_ns(), start);
    uint64_t late = gc__min(took - gc__min(took, asked), ns);
    marker->late_ns = (7 * marker->late_ns + late) / 8;
    marker->waited_ns += took;
    return start;
}

/* A mutator that allocates faster than the marker works waits before it collects, for as long as the goal leaves beside that. */
GC__FN void gc__marking_await_before(gc_heap *heap) {
    uint64_t goal = gc__pace_goal_ns(heap), together = goal / 4 * 3, most = goal / 8 * gc__marking_lateness(heap);
    size_t condemned = gc__spent_bytes(heap) + (gc__pace_young(heap) ? heap->generation_bytes[1] : 0);
    uint64_t takes = (condemned >> 10) * heap->pace->young_ns_per_mib >> 10;
    uint64_t start = gc__marking_await(heap, gc__max(gc__min(most, together - gc__min(together, takes)), goal / 16));
    heap->pauses->help_ns += gc__ns_since(gc__os_now_ns(), start);
}

/* The same where a mutator can do nothing else. False: the marker has done nothing in many such waits. */
GC__FN bool gc__marking_await_turn(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    unsigned turns = __atomic_load_n(&marker->turns, __ATOMIC_RELAXED);
    uint64_t start = gc__marking_await(heap, gc__pace_goal_ns(heap));
    gc__pauses_note_wait(heap, start, gc__os_now_ns());
    marker->starved = turns == __atomic_load_n(&marker->turns, __ATOMIC_RELAXED) ? marker->starved + 1 : 0;
    return marker->starved < GC__MARKING_STARVED;
}

/* After a wait: the parts become smaller while a wait of the goal is too little for each, as small as windows are. */
GC__FN void gc__marking_divide_quantum(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t most = heap->pace->nursery_bytes / GC__MARKING_QUANTA, late = gc__marking_lateness(heap);
    size_t part = late == 8 ? marker->quantum_bytes / 2 : late < 4 ? 2 * marker->quantum_bytes : marker->quantum_bytes;
    marker->quantum_bytes = gc__max(gc__min(part, most), GC__WINDOW_BYTES);
}

/* And after each of some parts of its nursery. Returns whether it may go on; otherwise a collection is due. The lock is held. */
GC__FN bool gc__marking_await_quantum(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    size_t part = gc__min(marker->quantum_bytes, marker->undivided_bytes), late = gc__marking_lateness(heap);
    if (!part || !heap->marking || __atomic_load_n(&marker->done, __ATOMIC_ACQUIRE)) return false;
    marker->undivided_bytes -= part;
    gc__count(&heap->budget_bytes, part);
    if (!late) return true;
    uint64_t start = gc__marking_await(heap, gc__pace_goal_ns(heap) / 8 * late);
    gc__pauses_note_wait(heap, start, gc__os_now_ns());
    gc__marking_divide_quantum(heap);
    return true;
}

/* After a collection: whether the next nursery has such parts. */
GC__COLD void gc__marking_divide_nursery(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    marker->undivided_bytes = 0;
    if (!heap->marking || !marker->has_thread || !gc__marking_lateness(heap)) return;
    size_t most = gc__max(heap->budget_bytes / GC__MARKING_QUANTA, GC__WINDOW_BYTES);
    marker->quantum_bytes = marker->quantum_bytes ? gc__min(marker->quantum_bytes, most) : most;
    marker->undivided_bytes = heap->budget_bytes - gc__min(heap->budget_bytes, marker->quantum_bytes);
    heap->budget_bytes -= marker->undivided_bytes;
}

#endif
/* When slots are remembered instead of cards. */


#define GC__REMEMBERING_SHARE 8 /* slots are remembered where scanning cards takes this part of a pause within the goal */
#define GC__REMEMBERING_CARD_NS 250
#define GC__REMEMBERING_FEW 64     /* slots in a collection which are not worth a call for each store into an old object */
#define GC__REMEMBERING_PATIENCE 8 /* collections in a row with so few */

GC__FN void gc__remembering_switch(gc_heap *heap, bool on) {
    gc__remembered *remembered = heap->remembered;
    if (on && !remembered->slots) {
        remembered->slots = (uintptr_t *)gc__os_map(GC__REMEMBERED_MOST * sizeof *remembered->slots);
        gc__remembered_renew(remembered);
    }
    if (on && !remembered->slots) return;
    heap->remembers_slots = on;
    remembered->few = 0;
    gc__old_rank(heap, GC__IGNORE);
}

/* After a collection. The world is stopped. */
GC__FN void gc__remembering_choose(gc_heap *heap) {
    gc__remembered *remembered = heap->remembered;
    bool possible = gc__marking_is_on(heap) && gc__stores_are_logged(heap);
    size_t dear = gc__pace_goal_ns(heap) / GC__REMEMBERING_SHARE / GC__REMEMBERING_CARD_NS;
    bool fixed = heap->options.nursery_bytes != 0; /* by the host, and no time is measured */
    remembered->enough = fixed ? SIZE_MAX : gc__pace_aim_ns(heap) / heap->pace->slot_ns;
    if (heap->options.test_marker_steps) dear = 1;
    if (heap->remembers_slots) {
        remembered->few = remembered->found + heap->pause.dirty_cards < GC__REMEMBERING_FEW ? remembered->few + 1 : 0;
        if (!possible || remembered->few >= GC__REMEMBERING_PATIENCE) gc__remembering_switch(heap, false);
    } else if (possible && heap->pause.dirty_cards >= dear) {
        gc__remembering_switch(heap, true);
    }
}

/* Gives back what barriers write to: no thread uses the heap. */
GC__FN void gc__remembering_end(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__store_logging_publish(heap, false);
    if (marker->log) gc__os_unmap(marker->log, GC__MARK_BUFFER_BYTES);
    marker->log = NULL;
    if (heap->remembered->slots) gc__os_unmap(heap->remembered->slots, GC__REMEMBERED_MOST * sizeof *heap->remembered->slots);
    heap->remembered->slots = NULL;
}
/* One collection, start to end. */


GC__FN void gc__cycle_open(gc_heap *heap) {
    const gc__request *request = &heap->cycle->plan->request;
    heap->collecting = true;
    heap->finalizer_marks = false;
    gc__phase_begin(heap, GC_PHASE_OPEN);
    if (heap->marker->has_thread) heap->pause.marker_ns = gc__ns_since(gc__os_now_ns(), heap->pauses->stopped_ns);
    __atomic_store_n(&heap->collection.number, heap->collection.number + 1, __ATOMIC_RELAXED);
    heap->collection.generation = request->generation;
    heap->collection.reason = request->reason;
    heap->collection.compacting = request->compacting;
    heap->collection.pause_ns = heap->collection.promoted_bytes = heap->collection.moved_bytes = 0;
    heap->collection.conservative_bytes = 0;
    heap->collection.left_out = false;
    memset(heap->cycle->copied_bytes, 0, sizeof heap->cycle->copied_bytes);
    memset(heap->cycle->marked_bytes, 0, sizeof heap->cycle->marked_bytes);
    memset(heap->cycle->condemned_bytes, 0, sizeof heap->cycle->condemned_bytes);
    heap->cycle->large_bytes = heap->cycle->large_kept_bytes = 0;
    heap->cycle->staying_bytes = heap->cycle->staying_kept_bytes = 0;
    heap->cycle->young_staying_bytes = heap->cycle->young_kept_bytes = 0;
    gc__heap_flush_for_callbacks(heap);
    gc__log_flush();
    GC__HOST_SCOPE;
    if (heap->options.collection_start) heap->options.collection_start(heap->options.host, &heap->collection);
}

GC__FN void gc__cycle_statistics(gc_heap *heap) {
    gc_stats *stats = &heap->stats;
    gc_collection *collection = &heap->collection;
    stats->survived_bytes = gc__survived_bytes(heap->cycle);
    stats->condemned_bytes = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        stats->condemned_bytes += heap->cycle->condemned_bytes[g];
        collection->moved_bytes += heap->cycle->copied_bytes[g];
    }
    if (collection->moved_bytes)
        __atomic_store_n(&stats->collections_moving, stats->collections_moving + 1, __ATOMIC_RELAXED);
    collection->pause_ns = gc__pause_until_now(heap);
    gc__phases_share(heap, gc__ns_since(collection->pause_ns, gc__pause_before_phases(heap)));
    collection->promoted_bytes = stats->survived_bytes;
    stats->promoted_bytes += stats->survived_bytes;
    stats->moved_bytes += collection->moved_bytes;
    stats->collections[collection->generation]++;
    stats->collections_compacting += collection->compacting;
}

/* Fills the three lists with all roots that may refer to generations up to the given one. On failure nothing has changed,
   and the collection cannot run. */
GC__FN bool gc__roots_gather(gc_heap *heap) {
    gc__root_visitor roots = {{gc__root_gather}, heap, false};
    heap->cycle->roots.count = heap->cycle->interior.count = heap->cycle->pins.count = 0;
    heap->cycle->stacks.count = heap->cycle->reported.count = 0;
    gc__discovered_begin(&heap->cycle->entries);
    gc__roots_visit(heap, &roots.visitor);
    gc__handles_visit(heap, &roots.visitor, gc__roots_generation(heap));
    return !roots.failed;
}

/* Does all that needs memory, before the collection changes anything. False: there is none. */
GC__FN bool gc__cycle_gather(gc_heap *heap, int generation) {
    return gc__roots_gather(heap) && gc__ambiguous_reserve(heap) && gc__external_gather(heap, generation);
}

/* Done only after gathering, since threads go on in their windows after a collection that is left out. */
GC__FN void gc__cycle_close_windows(gc_heap *heap) {
    unsigned allocating = 0;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        allocating += thread->window.region != NULL;
        gc__thread_close_windows(thread);
    }
    heap->pace->allocating = (unsigned)gc__max(1, gc__min(allocating, heap->threads->processors));
}

/* Everything between gathering the roots and the last freed region. */
GC__FN void gc__cycle_run(gc_heap *heap) {
    const gc__plan *plan = heap->cycle->plan;
    int generation = heap->collection.generation;
    gc__worker alone, *worker = heap->collector->workers ? &heap->collector->workers->threads[0].worker : &alone;
    gc__cycle_close_windows(heap);
    gc__phase_begin(heap, GC_PHASE_PLAN);
    memset(worker, 0, sizeof *worker);
    worker->visitor.visit = gc__trace_visit;
    worker->heap = heap;
    worker->cycle = heap->cycle;
    worker->memory = &heap->collector->mark_stack;
    memset(worker->cycle->no_room, 0, sizeof worker->cycle->no_room);
    /* The roots are in their lists: nothing below asks the host for them again. */
    gc__marking_step(heap);
    gc__region *condemned = gc__condemn(heap);
    if (plan->purpose == GC__SLIDE) condemned = gc__slide(heap, condemned);
    worker->verdicts = GC__VERDICTS;
    worker->edges = gc__marking_edges(heap);
    worker->remember_all = (generation > 0 && !plan->ages_all) || heap->cycle->recycles;
    gc__workers_enter(worker);
    gc__each_condemned(worker, condemned, plan->purpose == GC__YOUNG_WHOLESALE ? gc__region_promote_whole : gc__region_clear);
    /* Every condemned region has a verdict, and its ranks are those of the time after the collection. */
    gc__phase_begin(heap, GC_PHASE_ROOTS);
    gc__trace_all(worker, condemned);
    gc__trace_candidates(worker);
    gc__remembered_forget(heap);
    gc__marking_trace_old(worker, condemned);
    gc__trace_ambiguous(worker, condemned);
    gc__phase_begin(heap, GC_PHASE_HANDLES);
    gc__handles_trace(worker, generation);
    if (heap->options.collection_traced) {
        GC__HOST_SCOPE;
        heap->options.collection_traced(heap->options.host, &heap->collection);
    }
    /* Every condemned object that stays is marked or has a forwarding word; every slot refers to where it is now. */
    gc__phase_begin(heap, GC_PHASE_SWEEP);
    gc__worker_end(worker);
    gc__workers_leave(worker);
    if (plan->into_holes) gc__old_holes_forget(heap);
    gc__roots_update_interior(worker->cycle);
    gc__root_stacks_note_bounds(worker->cycle);
    gc__external_update(heap);
    gc__sweep(heap, condemned);
    gc__sweep_bounds(heap);
    gc__phase_begin(heap, GC_PHASE_CLOSE);
    /* No verdict is set any more; moved-from and empty regions are free. */
}

GC_API void *gc_collection_find(gc_heap *heap, const void *object) {
    if (gc__is_null(heap, "gc_collection_find", "heap")) return NULL;
    GC_ASSERT(heap->collecting && (heap->phase == GC_PHASE_HANDLES || heap->phase == GC_PHASE_FINALIZERS),
              "gc_collection_find: called outside of options.collection_traced: in other hooks nobody knows yet what "
              "survives, or everything else is gone");
    return (void *)gc__address_after_trace((uintptr_t)object);
}

/* The scope of a collection, which a callback can leave only by returning. */
GC__FN void gc__cycle_leave(gc_heap **left) {
    if (*left) gc__collection_was_left(*left);
}

/* After a collection that ran. */
GC__FN void gc__cycle_done(gc_heap *heap) {
    int generation = heap->collection.generation;
    gc__collector *collector = heap->collector;
    if (heap->options.verify & GC_VERIFY_AFTER) gc__verify_heap(heap, "after");
    gc__shadow_sync(heap);
    gc__limit_look(heap);
    if (generation == 2) gc__marking_resolve(heap, true);
    gc__policy_learn(heap);
    gc__marking_divide_nursery(heap);
    gc__remembering_choose(heap);
    for (int g = 0; g <= generation; g++) collector->finished[g] = heap->collection.number;
    if (gc__is_mark_end(heap)) collector->finished[2] = heap->marker->began;
    if (heap->collection.compacting && generation == 2) collector->finished_compacting = heap->collection.number;
}

GC__COLD void gc__fail_left_out(void) {
    gc__fail(GC_ERROR_MEMORY, "a collection was left out: the system gives no memory for the list of roots. Raise "
                              "`ulimit -v` or the memory limit of the process");
}

/* The collection is left out: nothing has changed and nothing is counted. The next attempt comes a nursery later. */
GC__COLD void gc__cycle_leave_out(gc_heap *heap) {
    heap->collection.left_out = true;
    __atomic_store_n(&heap->budget_bytes, gc__spent_bytes(heap) + heap->pace->nursery_bytes, __ATOMIC_RELAXED);
    gc__fail_left_out();
    gc__warn(&heap->options, gc__last_message);
}

/* What gc__collect_stopped does while the marker rests. */
GC__FN bool gc__collect_at_rest(gc_heap *heap, const gc__request *request) {
    gc_heap *unfinished __attribute__((cleanup(gc__cycle_leave))) = heap;
    heap->frame = gc__stack_below();
    gc__stores_check(heap);
    gc__policy_open(heap, request);
    gc__marking_decide(heap);
    gc__cycle_open(heap);
    int generation = heap->collection.generation;
    /* What a profile does first is not the collector's work: the nursery must not grow for it. */
    heap->pace->stopped_cpu_ns = gc__pace_is_timed(heap, generation, request->reason) ? gc__os_cpu_ns() : 0;
    if (GC_DEBUG >= 3) gc__check_heap(heap, "start", false);
    if (heap->options.stress) gc__stress_index(heap);
    if (heap->options.verify & GC_VERIFY_BEFORE) gc__verify_heap(heap, "before");
    gc__shadow_check(heap);
    gc__phase_begin(heap, GC_PHASE_GATHER);
    gc__handles_keep(heap);
    bool gathered = gc__cycle_gather(heap, generation);
    if (gathered) gc__cycle_run(heap);
    /* Checkmark reads the places of handles that were roots: they must not be destroyed yet. */
    bool exact = generation == 2 && !gc__is_mark_end(heap);
    if (gathered && heap->options.checkmark) gc__checkmark(heap, exact);
    if (gathered) gc__metadata_count(heap);
    gc__handles_release(heap);
    if (gathered)
        gc__cycle_done(heap);
    else
        gc__cycle_leave_out(heap);
    if (GC_DEBUG >= 3) gc__check_heap(heap, "end", gathered);
    if (gathered) gc__cycle_statistics(heap);
    heap->collecting = false;
    gc__phase_begin(heap, GC_PHASE_NONE);
    GC__HOST_SCOPE;
    if (gathered) gc__finalizers_announce(heap);
    if (heap->options.collection_end) heap->options.collection_end(heap->options.host, &heap->collection);
    unfinished = NULL;
    heap->frame = 0;
    if (!gathered) __atomic_store_n(&heap->collection.number, heap->collection.number - 1, __ATOMIC_RELAXED);
    return gathered;
}

/* The world is stopped. False: the collection was left out, for want of memory. */
GC__FN bool gc__collect_stopped(gc_heap *heap, const gc__request *request) {
    if (gc__is_abandoned(heap)) return true;
    gc__pause_begin(heap);
    if (heap->collecting)
        gc__fatal(&heap->options,
                  "a collection was asked for during collection %llu (from a hook, a trace function or "
                  "scan_roots), where allocating and collecting is not allowed, or after one of them was left by "
                  "longjmp or an exception instead of returning",
                  (unsigned long long)heap->collection.number);
    gc__marker_rest(heap);
    bool ran = gc__collect_at_rest(heap, request);
    uint64_t before = heap->marker->has_thread ? gc__os_now_ns() : 0;
    gc__store_logging_publish(heap, heap->marking || heap->remembers_slots);
    gc__marker_go_on(heap);
    if (ran) gc__pause_end(heap, before);
    return ran;
}

GC__FN bool gc__collect(gc_heap *heap, const gc__request *request) {
    gc__heap_lock(heap);
    gc__workers_start(heap, request);
    gc__world_stop_locked(heap);
    bool ran = gc__collect_stopped(heap, request);
    gc__world_resume(heap);
    return ran;
}

/* Ends a marking that is done, and waits for that. The lock is held. */
GC__FN void gc__marking_end_done(gc_heap *heap) {
    gc__request request;
    if (!heap->marking || !__atomic_load_n(&heap->marker->done, __ATOMIC_ACQUIRE)) return;
    if (gc__policy_next(heap, GC__MARKER_DONE, &request)) gc__collect(heap, &request);
}

/* Ends a marking that is done where all threads are in preemptive mode, as in a server that waits for requests. Otherwise one
   of them does when it comes to a safe point or has spent its window: hosts that suspend threads themselves know nothing of the
   marker's. The lock is held. */
GC__FN void gc__marking_end_or_ask(gc_heap *heap) {
    bool asks = heap->options.suspend != NULL;
    for (const gc_thread *thread = heap->threads->first; thread && !asks; thread = gc__record(thread)->next)
        asks = gc__is_cooperative(thread);
    if (!asks) {
        gc__marking_end_done(heap);
        return;
    }
    __atomic_store_n(&heap->threads->asked, true, __ATOMIC_RELAXED);
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        __atomic_store_n(&thread->poll, 1u, __ATOMIC_RELAXED);
}

/* On the marker's thread, when it has rested for a while: has the marking ended, or gives memory back. */
GC__COLD void gc__marking_rests(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    if (!gc__heap_lock_unless_taken(heap)) return;
    if (!heap->marking) {
        gc__heap_uncommit(heap);
        bool gives = heap->uncommit_waits || heap->uncommit_bytes >= GC_REGION_BYTES;
        __atomic_store_n(&marker->gives_back, gives, __ATOMIC_RELAXED);
    } else if (!marker->is_closing) {
        gc__marking_end_or_ask(heap);
    }
    gc__heap_unlock(heap);
}

/* Collects as requested; a cycle that begins has a thread that marks. The lock is held. */
GC__FN bool gc__collect_requested(gc_heap *heap, const gc__request *request) {
    if (request->purpose == GC__MARK_BEGIN && !heap->collecting) gc__marking_start_thread(heap, gc__marking_rests);
    return gc__collect(heap, request);
}

/* Collects as the event calls for. Returns whether it did. The lock is held. */
GC__FN bool gc__collect_for(gc_heap *heap, gc__event event) {
    gc__request request;
    return gc__policy_next(heap, event, &request) && gc__collect_requested(heap, &request);
}

/* From now on the marker's thread does not collect. */
GC__COLD void gc__marking_close(gc_heap *heap) {
    gc__heap_lock(heap);
    heap->marker->is_closing = true;
    gc__heap_unlock(heap);
}

/* Collects what is due where a nursery has been spent; before that the mutator waits for a marker that is late. The lock is
   held. */
GC__FN void gc__collect_nursery(gc_heap *heap, gc__event event) {
    if (heap->marking && heap->marker->has_thread && gc__marking_lateness(heap)) gc__marking_await_before(heap);
    gc__collect_for(heap, event);
}

/* Whether the nursery is spent, by its bytes or by the slots that refer to it, once an object of so many bytes is allocated. */
GC__FN bool gc__nursery_is_spent(const gc_heap *heap, size_t large) {
    size_t spent = gc__spent_bytes(heap);
    return spent && (spent + large >= gc__counted(&heap->budget_bytes) || gc__remembered_enough(heap));
}

/* Collects, unless another thread has found the same budget spent and collected meanwhile. */
GC__FN void gc__collect_for_budget(gc_heap *heap) {
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__heap_lock(heap);
    bool again = heap->collection.number != before || (!gc__remembered_enough(heap) && gc__marking_await_quantum(heap));
    if (!again) gc__collect_nursery(heap, GC__NURSERY_SPENT);
    gc__heap_unlock(heap);
}

/* A mutator finds no region, and may end its nursery early. Returns whether it did. */
GC__FN bool gc__collect_for_region(gc_heap *heap) {
    bool ends = gc__next_ends_nursery(heap);
    if (ends) gc__collect_nursery(heap, GC__REGION_MISSED);
    return ends;
}

/* A mutator that finds no region while objects are being marked waits for the marker, for as long as the goal at a time, so that
   other threads can collect meanwhile. The collection that ends the cycle then is a short one; if it came now it would take as
   long as that, and stop all threads. Returns whether to look again for a region: not if nothing is being marked, or by a thread
   that gets no processor, nor where the collection was left out for want of memory. */
GC__FN bool gc__collect_after_marking(gc_heap *heap) {
    gc__marker *marker = heap->marker;
    gc__heap_lock(heap);
    bool waits = heap->marking && marker->has_thread && !gc__marker_is_spoilt(heap);
    if (waits && __atomic_load_n(&marker->done, __ATOMIC_ACQUIRE))
        waits = gc__collect_for(heap, GC__MARKER_DONE) && !heap->marking;
    else if (waits)
        waits = gc__marking_await_turn(heap);
    gc__heap_unlock(heap);
    return waits;
}

/* A mutator finds no region, and may begin a cycle rather than stop the program. */
GC__FN void gc__collect_before_marking(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__collect_for(heap, GC__YOUNG_FREED_NONE);
    gc__heap_unlock(heap);
}

/* Whether a generation has spent enough of its budget for an optional collection of it. */
GC__FN bool gc__worth_collecting(const gc_heap *heap, int generation) {
    if (generation == 2) return gc__old_bytes(heap) + heap->generation_bytes[1] >= heap->pace->full_threshold / 4 * 3;
    if (generation == 1) return heap->generation_bytes[1] >= heap->pace->nursery_bytes;
    return gc__spent_bytes(heap) >= heap->pace->nursery_bytes / 4;
}

/* Whether `function` must not be called now. */
GC__INLINED bool gc__collect_is_misuse(gc_heap *heap, const char *function) {
    const gc_thread *self = gc__thread_self(heap);
    if (!self || gc__is_cooperative(self)) return gc__is_called_by_hook(heap, function);
    gc__fail(GC_ERROR_MISUSE,
             "%s: the calling thread is attached and in preemptive mode: bracket the call by "
             "GC_IN_MODE(thread, GC_MODE_COOPERATIVE)",
             function);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

/* Has the heap marked beside mutators, if that is possible and the caller need not wait. */
GC__FN bool gc__collect_concurrently(gc_heap *heap, unsigned mode) {
    const unsigned ways = GC_COLLECT_NON_BLOCKING | GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING;
    if ((mode & ways) != GC_COLLECT_NON_BLOCKING || !gc__marking_is_on(heap)) return false;
    gc__heap_lock(heap);
    bool wanted = !heap->marking && (!(mode & GC_COLLECT_OPTIMIZED) || gc__worth_collecting(heap, 2));
    const gc__request begin = gc__request_mark_begin(GC_REASON_INDUCED);
    bool done = !wanted || (gc__collect_requested(heap, &begin) && heap->marking);
    gc__heap_unlock(heap);
    return done;
}

GC_API gc_result gc_collect(gc_heap *heap, int generation, unsigned mode) {
    GC__API_SCOPE("gc_collect");
    if (gc__is_null(heap, "gc_collect", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_collect")) return GC_ERROR_MISUSE;
    if (generation < 0 || generation >= GC_GENERATIONS) {
        gc__fail(GC_ERROR_MISUSE, "gc_collect: there is no generation %d, only 0 to 2", generation);
        GC_ASSERT(false, "%s", gc__last_message);
        return GC_ERROR_MISUSE;
    }
    bool compacting = (mode & GC_COLLECT_COMPACTING) != 0;
    if (generation == 2 && gc__collect_concurrently(heap, mode)) return GC_OK;
    const gc__request request = gc__request_stopped(generation, GC_REASON_INDUCED, compacting);
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__heap_lock(heap);
    gc__workers_start(heap, &request);
    gc__world_stop_locked(heap);
    /* Of several threads that ask at once one collects: a collection that began after this thread asked is enough. */
    bool ran = true, joined = heap->collector->finished[generation] > before &&
                              (!compacting || heap->collector->finished_compacting > before);
    if (!joined && (!(mode & GC_COLLECT_OPTIMIZED) || gc__worth_collecting(heap, generation)))
        ran = gc__collect_stopped(heap, &request);
    gc__world_resume(heap);
    return ran ? GC_OK : GC_ERROR_MEMORY;
}

GC__COLD void gc__collect_under_stress(gc_heap *heap) {
    gc__heap_lock(heap);
    gc__collect_for(heap, GC__STRESS_POINT);
    gc__heap_unlock(heap);
}

GC__FN void gc__safepoint_run(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (gc__heap_is_locked(heap)) return;
    if (__atomic_load_n(&heap->threads->stopping, __ATOMIC_SEQ_CST)) {
        gc__heap_lock(heap); /* the thread that collects holds it until the end */
        gc__heap_unlock(heap);
    }
    if (__atomic_load_n(&heap->threads->asked, __ATOMIC_RELAXED)) {
        gc__heap_lock(heap);
        gc__marking_end_done(heap);
        gc__heap_unlock(heap);
    }
    if (heap->options.stress == GC_STRESS_SAFEPOINT)
        gc__collect_under_stress(heap);
}

GC_API void gc__safepoint_slow(gc_thread *thread) {
    GC__API_SCOPE("gc_safepoint");
    gc__safepoint_run(thread);
}
/* Asking the host for room, by its out_of_memory hook. */


/* If nobody runs finalizers, a heap fills up: adds that to the sentence. */
GC__COLD void gc__explain_full(gc_heap *heap) {
    size_t finalizers = gc__last_result == GC_ERROR_HEAP_FULL ? gc__finalizers_neglected(heap) : 0;
    if (finalizers)
        gc__fail_more("; %zu finalizers are queued, for objects that stay until these have run, and no thread runs them now: "
                      "call gc_finalizers_run more often, or gc_finalizer_thread_start",
                      finalizers);
}

#define GC__ASKING_MAX 64

/* Whether the hook allocates, and calls itself by that, without end. One that was left by longjmp deeper and deeper in the
   stack looks like it, but not so often. */
GC__COLD bool gc__asks_itself(const gc__thread_record *record) {
    if (record->asking < GC__ASKING_MAX) return false;
    gc__fail(GC_ERROR_MISUSE,
             "an allocation in the out_of_memory hook, which must not allocate from this heap: it has called itself %d "
             "times by that",
             GC__ASKING_MAX);
    GC_ASSERT(false, "%s", gc__last_message);
    return true;
}

/* Calls the hook. It may be left by longjmp or an exception, so nothing is held here, and what is noted of the call can be found
   to be over: gc.h is called from above its frame then. */
GC__COLD bool gc__call_out_of_memory(gc_thread *thread, size_t bytes, const char *message) {
    const gc_options *options = &thread->heap->options;
    gc__thread_record *record = gc__record(thread);
    uintptr_t frame = gc__stack_below(), outer_frame = record->asking_frame;
    const gc_stack *outer_stack = record->asking_stack;
    unsigned outer = record->asking;
    if (!outer) __atomic_fetch_add(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
    record->asking = outer + 1;
    record->asking_frame = frame;
    record->asking_stack = thread->stack;
    GC__HOST_SCOPE;
    bool again = options->out_of_memory(options->host, bytes, message);
    record->asking = outer;
    record->asking_frame = outer_frame;
    record->asking_stack = outer_stack;
    if (!outer) __atomic_fetch_sub(&thread->heap->threads->asking, 1, __ATOMIC_SEQ_CST);
    return again;
}

GC__COLD bool gc__ask_host(gc_thread *thread, size_t bytes) {
    gc_heap *heap = thread->heap;
    gc__thread_record *record = gc__record(thread);
    if (!heap->options.out_of_memory || gc__is_abandoned(heap)) return false;
    gc__asking_look(thread, gc__stack_below());
    if (gc__asks_itself(record)) return false;
    gc_result result = gc__last_result;
    char message[GC__MESSAGE_BYTES];
    memcpy(message, gc__last_message, sizeof message);
    bool promised = record->promised;
    if (promised) gc__finalizer_withdraw(thread);
    bool again = gc__call_out_of_memory(thread, bytes, message);
    if (again && promised) return gc__finalizer_promise(thread);
    if (!again) gc__fail(result, "%s", message); /* whatever has failed in the hook */
    return again;
}
/* Giving up: a heap that is nearly full can go on for ever, with a full collection for each few objects. A program that would
   rather fail says by options.collecting_percent_max what part of its time that may take. */


#define GC__OVERHEAD_NS ((uint64_t)1000000000) /* it must have gone on for so long, */
#define GC__OVERHEAD_COLLECTIONS 16            /* in so many full collections, */
#define GC__OVERHEAD_PART 64                   /* each of which has made room for less than this part of the limit, */
#define GC__OVERHEAD_FREE 8                    /* while all that is free is less than this part */

GC__COLD bool gc__overhead_is_percent(unsigned percent) {
    if (percent <= 100) return true;
    gc__fail(GC_ERROR_OPTION, "collecting_percent_max is %u: it must be 0, for none, or 1 to 100", percent);
    return false;
}

/* Whether what lives leaves less than that, in whole regions, since tables may have the rest. */
GC__FN bool gc__is_nearly_full(const gc_heap *heap) {
    size_t others = gc__external_bytes(heap) + gc__counted(&heap->metadata_bytes);
    size_t room = heap->limit_bytes - gc__min(heap->limit_bytes, others);
    size_t usable = room / (GC_REGION_BYTES + gc__table_bytes(1, 0)) * GC_REGION_BYTES;
    return heap->full_bytes >= usable - usable / GC__OVERHEAD_FREE;
}

/* An allocation has met the limit. Whether that has been so for long, and nearly all that time was spent collecting: *spent says
   how long, and how. Lock held. */
GC__FN bool gc__overhead_is_met(gc_heap *heap, gc__overhead *spent) {
    gc__overhead *before = &heap->pace->overhead, now = {gc__os_now_ns(), heap->stats.pause_total_ns, heap->stats.collections[2]};
    unsigned most = heap->options.collecting_percent_max;
    if (!most || !heap->options.heap_bytes_max) return false;
    size_t allocated = gc__counted(&heap->stats.allocated_bytes); /* less than before where windows were given back */
    size_t more = allocated - gc__min(allocated, heap->pace->overhead_allocated_bytes);
    bool goes_on = before->ns && before->ns <= now.ns && more < heap->limit_bytes / GC__OVERHEAD_PART && gc__is_nearly_full(heap);
    heap->pace->overhead_allocated_bytes = allocated;
    spent->ns = gc__ns_since(now.ns, before->ns);
    spent->paused_ns = now.paused_ns - before->paused_ns;
    spent->collections = now.collections - before->collections;
    bool enough = goes_on && spent->ns >= GC__OVERHEAD_NS && spent->collections >= GC__OVERHEAD_COLLECTIONS;
    if (!goes_on || enough) *before = now;
    return enough && spent->paused_ns >= spent->ns / 100 * most;
}

/* Whether such an allocation fails, with gc__fail: there has been a full collection since, and the heap is as full as before. */
GC__COLD bool gc__overhead_fails(const gc_heap *heap, const gc__overhead *spent) {
    if (!gc__is_nearly_full(heap)) return false;
    gc__fail(GC_ERROR_HEAP_FULL,
             "%llu full collections have taken %llu %% of the last %llu ms (collecting_percent_max is %u), since %zu KiB "
             "live of at most %zu (%s): raise that, or drop references",
             (unsigned long long)spent->collections, (unsigned long long)(spent->paused_ns / (spent->ns / 100)),
             (unsigned long long)(spent->ns / GC__NS_PER_MS), heap->options.collecting_percent_max, heap->full_bytes >> 10,
             heap->limit_bytes >> 10, gc__limit_name(heap));
    return true;
}
/* Allocation's slow paths. */


GC__FN void gc__region_zero(gc__region *region, size_t bytes) {
    if (region->dirty_end <= region->base) return;
    size_t dirty = region->dirty_end - region->base;
    memset((void *)region->base, 0, dirty < bytes ? dirty : bytes);
}

GC__FN void *gc__allocate_large(gc_heap *heap, size_t bytes, bool zeroed) {
    gc__region *region = gc__heap_take_large(heap, bytes);
    if (!region) return NULL;
    gc__marks_clear(region);
    gc__mark_set(region->base);
    for (size_t i = 0, rest = bytes; i < region->span; i++) {
        size_t part = rest < GC_REGION_BYTES ? rest : GC_REGION_BYTES;
        if (zeroed) gc__region_zero(region + i, part);
        uintptr_t end = gc__page_end(region[i].base + part);
        if (region[i].dirty_end < end) region[i].dirty_end = end;
        rest -= part;
    }
    region->live_bytes = bytes;
    GC__WORD(region->base) = 0;
    if (zeroed && gc__is_huge(region) && gc__has_pause_goal(heap)) heap->pace->has_huge = true;
    gc__heap_push(heap, region);
    heap->large_bytes += bytes;
    gc__count(&heap->generation_bytes[0], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
    return (void *)region->base;
}

/* What an allocation is for. */
enum { GC__FOR_RAW, GC__FOR_ZEROED, GC__FOR_FIXED };

/* Opens the window for objects that never move: in a hole of a region of theirs, or in a fresh one. Lock held. */
GC__FN bool gc__fixed_open(gc_heap *heap, size_t bytes) {
    uintptr_t from = 0, end = 0;
    for (; heap->fixed_search; heap->fixed_search = heap->fixed_search->next)
        if (heap->fixed_search->fixed &&
            (from = gc__hole_by_marks(heap->fixed_search, gc__max(bytes, GC__HOLE_BYTES_MIN), &end)) != 0)
            break;
    gc__region *region = from ? heap->fixed_search : gc__heap_take(heap, 0);
    if (!region) return false;
    if (!from) {
        gc__marks_clear(region);
        region->fixed = true;
        region->hole = end = gc__region_end(region);
        from = region->base;
        gc__heap_push(heap, region);
    }
    gc__window_set(&heap->fixed, region, from, end);
    heap->fixed.limit = (char *)end;
    return true;
}

/* Lock held. */
GC__FN void *gc__allocate_fixed(gc_heap *heap, size_t bytes) {
    gc_window *window = &heap->fixed;
    if (bytes > gc__window_room(window) && !gc__fixed_open(heap, bytes)) return NULL;
    char *object = window->next;
    gc__region *region = window->region;
    window->next += bytes;
    memset(object, 0, bytes);
    if (region->dirty_end < (uintptr_t)window->next) region->dirty_end = (uintptr_t)window->next;
    region->live_bytes += bytes;
    gc__count(&heap->fixed_unmarked, 1);
    gc__count(&heap->generation_bytes[0], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
    return object;
}

/* From now on the object, which has its header, is one of its region's. Other threads may do the same beside it. */
GC__FN void gc__fixed_begin(void *object) {
    size_t index = gc__mark_index((uintptr_t)object);
    gc__region *region = gc__region_of((uintptr_t)object);
    if (!region->fixed) return;
    __atomic_fetch_or(&gc__the_arena.marks[index >> 6], (uint64_t)1 << (index & 63), __ATOMIC_RELEASE);
    __atomic_fetch_sub(&region->heap->fixed_unmarked, 1, __ATOMIC_RELEASE);
}

/* Allocates in the window's span, which has room. */
GC__FN void *gc__window_allocate(gc_heap *heap, gc_window *window, size_t bytes, bool zeroed) {
    if (bytes > gc__window_room(window)) gc__allocation_extend(heap, window, zeroed, bytes);
    char *object = window->next;
    if (!zeroed) GC__WORD(object) = 0; /* until the header is written */
    GC__WRITTEN();
    window->next = object + bytes;
    return object;
}

/* The same in the thread's other window, if no region is left for the right one: a heap with a single free region would
   otherwise collect each time that the two take turns. NULL: the other window has no room either. */
GC__FN void *gc__allocate_in_other(gc_thread *thread, size_t bytes, bool zeroed) {
    gc_window *other = gc__thread_window(thread, !zeroed);
    if (bytes > gc__span_room(other)) return NULL;
    void *object = gc__window_allocate(thread->heap, other, bytes, !zeroed);
    return zeroed ? memset(object, 0, bytes) : object;
}

/* Allocates without collecting; NULL with gc__fail at a limit. */
GC__FN void *gc__allocate_try(gc_thread *thread, size_t bytes, unsigned kind) {
    gc_heap *heap = thread->heap;
    bool zeroed = kind != GC__FOR_RAW;
    gc_window *window = gc__thread_window(thread, zeroed);
    if (kind == GC__FOR_FIXED && bytes <= GC_LARGE_BYTES) {
        gc__heap_lock_unparked(heap);
        void *fixed = gc__allocate_fixed(heap, bytes);
        gc__heap_unlock(heap);
        return fixed;
    }
    if (bytes > GC_LARGE_BYTES || bytes > gc__span_room(window)) {
        gc__heap_lock_unparked(heap); /* a collection could free the object that is allocated here */
        void *large = bytes > GC_LARGE_BYTES ? gc__allocate_large(heap, bytes, zeroed) : NULL;
        gc__local_spans *spans = &gc__record(thread)->local_spans;
        bool opened = bytes <= GC_LARGE_BYTES && gc__allocation_open(heap, spans, window, zeroed, bytes);
        gc__heap_unlock(heap);
        const gc__profiler *profiler = gc__profiler_of(heap);
        if (large && profiler) profiler->extend(thread, 2, 0, bytes, bytes);
        if (bytes > GC_LARGE_BYTES) return large;
        if (!opened) return gc__allocate_in_other(thread, bytes, zeroed);
    }
    return gc__window_allocate(heap, window, bytes, zeroed);
}

GC__COLD void gc__stress_at_allocation(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    bool now = heap->options.stress == GC_STRESS_ALLOCATION;
    if (heap->options.stress == GC_STRESS_STACK) now = gc__stack_is_new(heap);
    if (heap->options.stress == GC_STRESS_LOCATION) now = gc__location_is_new(thread);
    if (heap->options.stress == GC_STRESS_NTH) {
        now = gc__record(thread)->stress_countdown <= 1;
        gc__record(thread)->stress_countdown =
            now ? heap->options.stress_interval : gc__record(thread)->stress_countdown - 1;
    }
    if (now) gc__collect_under_stress(heap);
}

#define GC__ROOM_STEP (GC_REGION_BYTES / 8) /* a compaction that packs objects by so much more is worth another one */

/* Compacts. Returns whether that gained a whole region, or packed objects so that the next one may. */
GC__COLD bool gc__compact_once(gc_heap *heap, const gc__request *request) {
    size_t regions = gc__regions_left(heap), packed = gc__clustered_bytes(heap);
    gc__collect(heap, request);
    return gc__regions_left(heap) > regions || gc__clustered_bytes(heap) >= packed + GC__ROOM_STEP;
}

/* Compacts the heap for an object of so many bytes. Returns whether that gained enough. If copies did not find the room that
   holes should have had for them, it tries again with few copies, to large holes. */
GC__COLD bool gc__compact_for_room(gc_heap *heap, size_t bytes) {
    gc__request request = gc__request_of(GC__COMPACT, 2, GC_REASON_LIMIT);
    request.room_for = bytes;
    gc__world_stop(heap);
    uint64_t failures = heap->stats.evacuation_failures;
    bool gained = gc__compact_once(heap, &request);
    request.large_holes_only = true;
    if (!gained && heap->cycle->plan->into_holes && heap->stats.evacuation_failures > failures)
        gained = gc__compact_once(heap, &request);
    gc__world_resume(heap);
    return gained;
}

/* A full collection at the limit. */
GC__FN void gc__collect_at_limit(gc_heap *heap, gc__purpose purpose) {
    const gc__request request = gc__request_of(purpose, 2, GC_REASON_LIMIT);
    gc__collect(heap, &request);
}

/* Compacts; packs, once, if that gains nothing and holes have room for `bytes`. Returns whether either was of use. */
GC__COLD bool gc__compact_or_slide(gc_heap *heap, size_t bytes, bool *packed) {
    if (gc__compact_for_room(heap, SIZE_MAX)) return true;
    gc__world_stop(heap);
    bool slides = !*packed && gc__is_worth_sliding(heap, bytes);
    if (slides) gc__collect_at_limit(heap, GC__SLIDE);
    gc__world_resume(heap);
    *packed = true;
    return slides;
}

/* Gives mutators what was kept for evacuation, since that frees nothing more. Returns whether there was any of it. */
GC__COLD bool gc__reserve_give(gc_heap *heap) {
    gc__heap_lock(heap);
    size_t before = gc__evacuation_reserve(heap);
    heap->reserve_open = true;
    bool given = gc__evacuation_reserve(heap) < before;
    gc__heap_unlock(heap);
    return given;
}

/* Makes room for bytes that are not an object's: collects at the limit, and compacts for as long as that makes room, as
   allocations do. */
GC__COLD bool gc__room_make(gc_heap *heap, size_t bytes) {
    bool packed = false;
    gc__collect_at_limit(heap, GC__FULL);
    while (!gc__heap_has_room(heap, bytes))
        if (!gc__compact_or_slide(heap, bytes, &packed)) break;
    bool fits = gc__heap_has_room(heap, bytes) || (gc__reserve_give(heap) && gc__heap_has_room(heap, bytes));
    if (!fits && heap->collection.left_out) gc__fail_left_out();
    return fits;
}

/* An allocation that finds no region waits until a marking has ended. NULL: nothing is being marked, or in vain. */
GC__FN void *gc__allocate_after_marking(gc_thread *thread, size_t bytes, unsigned kind) {
    void *object = NULL;
    gc__collect_before_marking(thread->heap);
    while (!object && gc__collect_after_marking(thread->heap)) object = gc__allocate_try(thread, bytes, kind);
    return object;
}

/* Collects, and compacts as long as that makes room, if only a part of a region: each compaction moves only as much as
   there was room for, so the region that the allocation needs may come free some compactions later. If that is not enough, the
   heap is packed, and then there are the holes that are left, and the reserve. */
GC__COLD void *gc__allocate_collecting(gc_thread *thread, size_t bytes, unsigned kind) {
    gc_heap *heap = thread->heap;
    uint64_t before = __atomic_load_n(&heap->collection.number, __ATOMIC_RELAXED);
    gc__overhead spent;
    gc__heap_lock(heap);
    bool overhead = gc__overhead_is_met(heap, &spent);
    bool young = !overhead && heap->collection.number == before && gc__collect_for_region(heap);
    gc__heap_unlock(heap);
    void *early = young ? gc__allocate_try(thread, bytes, kind) : NULL;
    if (!early) early = gc__allocate_after_marking(thread, bytes, kind);
    if (early) return early;
    before += young;
    gc__heap_lock(heap);
    if ((heap->marking && heap->marker->has_thread) || heap->collection.number == before) gc__collect_for(heap, GC__LIMIT_MET);
    bool gives_up = overhead && gc__overhead_fails(heap, &spent);
    gc__heap_unlock(heap);
    if (gives_up) return NULL;
    bool packed = false;
    size_t room_for = bytes; /* at first in holes, where it may fit; then compaction gives no holes away */
    for (;;) {
        void *object = gc__allocate_try(thread, bytes, kind);
        if (object) return object;
        bool strict = room_for == SIZE_MAX;
        bool gained = strict ? gc__compact_or_slide(heap, bytes, &packed) : gc__compact_for_room(heap, bytes);
        room_for = SIZE_MAX;
        if (gained || !strict) continue;
        if (bytes <= GC_LARGE_BYTES) gc__collect_at_limit(heap, GC__FULL_REUSE); /* what compaction has left in holes */
        object = gc__allocate_try(thread, bytes, kind);
        if (!object && gc__reserve_give(heap)) object = gc__allocate_try(thread, bytes, kind);
        if (!object && heap->collection.left_out) gc__fail_left_out();
        return object;
    }
}

/* What is tried when a limit was met: harder collections, then the host's hook, and collections again. */
GC__COLD void *gc__allocate_last_resort(gc_thread *thread, size_t bytes, unsigned kind) {
    void *object = gc__allocate_collecting(thread, bytes, kind);
    if (object) return object;
    gc__explain_full(thread->heap);
    if (!gc__ask_host(thread, bytes)) return NULL;
    object = gc__allocate_collecting(thread, bytes, kind);
    if (!object) gc__explain_full(thread->heap);
    return object;
}

/* gc__finalizer_promise by an allocation, which collects and asks the host before it fails. */
GC__COLD bool gc__finalizer_promise_collecting(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    if (gc__finalizer_promise(thread)) return true;
    for (int again = 0; gc__last_result == GC_ERROR_HEAP_FULL && !gc__heap_is_locked(heap); again++) {
        size_t bytes = gc__finalizer_bytes_needed(heap);
        gc__heap_lock(heap);
        gc__room_make(heap, bytes);
        gc__heap_unlock(heap);
        if (gc__finalizer_promise(thread)) return true;
        gc__explain_full(heap);
        if (again || !gc__ask_host(thread, bytes)) return false;
        if (gc__finalizer_promise(thread)) return true;
    }
    return false;
}

GC__FN void *gc__allocate_any(gc_thread *thread, size_t bytes, unsigned kind) {
    gc_heap *heap = thread->heap;
    if (gc__heap_is_locked(heap)) { /* no part of gc.h allocates under the lock: this is a callback */
        gc__fail(GC_ERROR_MISUSE,
                 "an allocation during a collection or a walk: in a hook, a trace function, scan_roots or a signal handler, "
                 "or after one of them was left by longjmp or an exception instead of returning");
        GC_ASSERT(false, "%s", gc__last_message);
        gc__warn(&heap->options, gc__last_message); /* few callers expect it */
        return NULL;
    }
    if (GC__UNLIKELY(gc__is_abandoned(heap))) {
        gc__fail(GC_ERROR_MISUSE,
                 "an allocation by a finalizer that outlasted finalizer_patience_ms, in a heap that was destroyed "
                 "meanwhile: have the finalizer return");
        return NULL;
    }
    if (GC__UNLIKELY(gc__record(thread)->asking)) gc__asking_look(thread, gc__stack_below());
    GC__API_SCOPE("an allocation");
    GC_ASSERT(gc__thread_self(heap) == thread,
              "an allocation for the thread `%s` by another native thread, or after gc_thread_detach: "
              "gc_thread_current(heap) is the calling thread's own, gc_thread_attach makes it",
              gc__thread_name(thread));
    GC_ASSERT(gc__is_cooperative(thread),
              "an allocation in preemptive mode, in which a thread must not touch the heap: bracket it by "
              "GC_IN_MODE(thread, GC_MODE_COOPERATIVE)");
    if (bytes > gc__the_arena.bytes || gc__align(bytes) > heap->limit_bytes) {
        gc__fail(GC_ERROR_TOO_LARGE,
                 "an object of %zu bytes can never fit into the heap, whose limit is %zu bytes (%s)", bytes,
                 heap->limit_bytes,
                 heap->limit_is_share           ? "three quarters of the container's memory, since heap_bytes_max is 0"
                 : heap->options.heap_bytes_max ? "heap_bytes_max"
                                                : "GC_ARENA_BYTES");
        return NULL;
    }
    size_t size = gc__align(bytes);
    if (kind == GC__FOR_FIXED && heap->options.non_moving) kind = GC__FOR_ZEROED; /* as all objects there */
    gc__marking_take_turn(heap);
    if (heap->options.stress)
        gc__stress_at_allocation(thread);
    else if (kind != GC__FOR_FIXED && size <= gc__window_room(gc__thread_window(thread, kind != GC__FOR_RAW)))
        return gc__allocate_try(thread, size, kind);
    if (__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) gc__safepoint_run(thread);
    if (gc__nursery_is_spent(heap, size > GC_LARGE_BYTES ? size : 0)) gc__collect_for_budget(heap);
    void *object = gc__allocate_try(thread, size, kind);
    return object ? object : gc__allocate_last_resort(thread, size, kind);
}

/* `caller`: the return address of the function that a program has called, for the profile. */
GC__FN void gc__allocation_note(gc_thread *thread, void *object, size_t bytes, const void *caller, bool typed) {
    const gc__profiler *profiler = gc__profiler_of(thread->heap);
    if (GC__UNLIKELY(profiler != NULL) && object) profiler->allocated(thread, object, gc__align(bytes), caller, typed);
}

/* What a function for programs returns. Those are never inlined, so that their return address is in the program. */
GC__FN void *gc__allocated(const gc_thread *thread, void *object) {
    if (!object && thread->heap->options.abort_when_exhausted)
        gc__fatal(&thread->heap->options, "an allocation failed, and options.abort_when_exhausted is set: %s",
                  gc__last_message);
    return object;
}

/* Opens a window in a hole of the thread's chain, and returns where the object begins. NULL: that needs more. The budget was
   spent when the chain was filled. */
GC__FN char *gc__local_spans_next(gc_thread *thread, size_t bytes, bool zeroed) {
    gc__local_spans *spans = &gc__record(thread)->local_spans;
    gc_window *window = gc__thread_window(thread, zeroed);
    if (!spans->first || bytes > GC__LOCAL_SPAN_MOST || GC_DEBUG >= 2 || gc__profiler_of(thread->heap)) return NULL;
    if (__atomic_load_n(&thread->poll, __ATOMIC_RELAXED)) return NULL;
    return gc__local_spans_open(spans, window, zeroed, bytes) ? window->next : NULL;
}

GC_API __attribute__((noinline)) void *gc__allocate_slow(gc_thread *thread, size_t bytes, bool zeroed) {
    size_t size = gc__align(bytes);
    char *found = bytes <= size ? gc__local_spans_next(thread, size, zeroed) : NULL;
    if (found) {
        if (!zeroed) GC__WORD(found) = 0; /* until the header is written */
        GC__WRITTEN();
        gc__thread_window(thread, zeroed)->next = found + size;
        return found;
    }
    void *object = gc__allocate_any(thread, bytes, zeroed ? GC__FOR_ZEROED : GC__FOR_RAW);
    gc__allocation_note(thread, object, bytes, __builtin_return_address(0), false);
    return gc__allocated(thread, object);
}

GC_API __attribute__((noinline)) void *gc_allocate_fixed(gc_thread *thread, size_t bytes) {
    void *object = gc__allocate_any(thread, bytes, GC__FOR_FIXED);
    if (object) gc__fixed_begin(object);
    gc__allocation_note(thread, object, bytes, __builtin_return_address(0), false);
    return gc__allocated(thread, object);
}

#if !GC_HAS_MODEL
GC__OUT_OF_LINE void *gc__new(gc_thread *thread, const gc_type *type, size_t length, unsigned kind,
                              const void *caller) {
    const char *fault = gc_type_check(type);
    if (!fault && length && !type->element_bytes)
        fault = "it has no elements: gc_new makes its objects, not gc_new_array";
    if (fault) {
        const char *name = type && ((uintptr_t)type & 7) == 0 && type->name ? type->name : "(unnamed)";
        gc__fail(GC_ERROR_TYPE, "type `%s` is misdeclared: %s", name, fault);
        GC_ASSERT(false, "%s", gc__last_message);
        return NULL;
    }
    size_t bytes;
    if (__builtin_mul_overflow(length, (size_t)type->element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)type->bytes, &bytes) || bytes > SIZE_MAX - 7) {
        gc__fail(GC_ERROR_TOO_LARGE, "the size of `%s` with %zu elements of %u bytes overflows",
                 type->name ? type->name : "(unnamed)", length, type->element_bytes);
        return NULL;
    }
    bool ends = type->finalizer && type->finalizer->finalize;
    if (ends && !gc__finalizer_promise_collecting(thread)) return NULL;
    if (type->flags & GC_TYPE_FIXED) kind = GC__FOR_FIXED;
    void *object = gc__allocate_any(thread, bytes, kind);
    GC__SCOPE("an allocation"); /* a handler that allocated now would find an object without its header */
    if (ends) gc__finalizer_add(thread, object, type->finalizer);
    if (!object) return NULL;
    if (type->element_bytes) ((gc_array *)object)->length = length;
    GC__WRITTEN();
    ((gc_object *)object)->type = type;
    if (kind == GC__FOR_FIXED) gc__fixed_begin(object);
    gc__allocation_note(thread, object, bytes, caller, true);
    return object;
}

/* An object in a hole of the thread's chain; NULL: that needs more. */
GC__FN void *gc__new_in_span(gc_thread *thread, const gc_type *type, size_t length, bool zeroed) {
    if (!gc__record(thread)->local_spans.first || !type || type->finalizer || length > GC__LOCAL_SPAN_MOST) return NULL;
    size_t bytes = gc__align(type->bytes + length * type->element_bytes);
    char *object = gc__local_spans_next(thread, bytes, zeroed);
    if (!object) return NULL;
    if (type->element_bytes) ((gc_array *)object)->length = length;
    ((gc_object *)object)->type = type;
    GC__WRITTEN();
    gc__thread_window(thread, zeroed)->next = object + bytes;
    return object;
}

GC_API __attribute__((noinline)) void *gc__new_slow(gc_thread *thread, const gc_type *type, size_t length,
                                                    bool zeroed) {
    unsigned kind = zeroed || (type && !gc__type_is_leaf(type)) ? GC__FOR_ZEROED : GC__FOR_RAW;
    void *object = gc__new_in_span(thread, type, length, kind == GC__FOR_ZEROED);
    if (object) return object;
    return gc__allocated(thread, gc__new(thread, type, length, kind, __builtin_return_address(0)));
}

GC_API __attribute__((noinline)) void *gc_new_fixed(gc_thread *thread, const gc_type *type) {
    return gc__allocated(thread, gc__new(thread, type, 0, GC__FOR_FIXED, __builtin_return_address(0)));
}

GC_API __attribute__((noinline)) void *gc_new_array_fixed(gc_thread *thread, const gc_type *type, size_t length) {
    return gc__allocated(thread, gc__new(thread, type, length, GC__FOR_FIXED, __builtin_return_address(0)));
}
#endif

#if !GC_HAS_MODEL
/* Counts what an object has grown by. Lock held. */
GC__FN void gc__growth_count(gc_heap *heap, gc__region *region, size_t bytes) {
    region->live_bytes += bytes;
    if (heap->marking && region->generation == 2)
        __atomic_fetch_or(&region->unscanned, (uint8_t)GC__UNCOUNTED, __ATOMIC_RELAXED);
    gc__count(&heap->generation_bytes[region->generation], bytes);
    gc__count(&heap->stats.allocated_bytes, bytes);
}

/* Whether the heap has room for the spare pages that a large object takes if it grows to `to`. */
GC__FN bool gc__large_has_room(gc_heap *heap, const gc__region *region, uintptr_t to) {
    size_t left = gc__region_end(region) - gc__page_end(to), before;
    do { /* room may have been made of the object's own slack, which is spare then */
        before = region->spare;
        if (!gc__heap_has_room(heap, before - gc__min(before, left))) return false;
    } while (region->spare != before);
    return true;
}

/* Takes the pages behind a large object: first those that were written to before, and then spare ones. */
GC__FN bool gc__large_grow(gc_heap *heap, gc__region *region, size_t bytes) {
    gc__region *last = region + region->span - 1;
    uintptr_t end = region->top, to = region->base + bytes;
    if (to > gc__region_end(region) || to < end || !gc__large_has_room(heap, region, to)) return false;
    uintptr_t clean = gc__region_end(region) - region->spare;
    size_t slack = gc__large_slack(region), spare = gc__min(region->spare, gc__region_end(region) - gc__page_end(to));
    if (end < clean) memset((void *)end, 0, gc__min(to, clean) - end);
    if (last->dirty_end < gc__page_end(to)) last->dirty_end = gc__page_end(to);
    heap->spare_bytes -= region->spare - spare;
    region->spare = spare;
    region->top = to;
    heap->slack_bytes -= slack - gc__large_slack(region);
    heap->large_bytes += to - end;
    gc__growth_count(heap, region, to - end);
    gc__heap_note_held(heap);
    return true;
}

/* Takes the beginning of the hole behind an object, in a region whose mark bits are its objects. Behind an object that never
   moves there may be another thread's, which has no mark yet, unless the window begins there. */
GC__FN bool gc__hole_grow(gc_heap *heap, gc__region *region, uintptr_t end, size_t bytes) {
    gc_window *fixed = &heap->fixed;
    if (heap->pace->fills_holes && region->generation == 2) return false; /* the hole may be in a list */
    gc__region_flip(region);
    bool at_window = fixed->region == region && (uintptr_t)fixed->next == end;
    if (region->fixed && !at_window && __atomic_load_n(&heap->fixed_unmarked, __ATOMIC_ACQUIRE)) return false;
    if (gc__mark_next(end, gc__region_end(region)) < end + bytes || end + bytes > gc__region_end(region)) return false;
    if (fixed->region == region && (uintptr_t)fixed->next < end + bytes && (uintptr_t)fixed->limit > end) {
        if ((uintptr_t)fixed->next != end || gc__window_room(fixed) < bytes) return false;
        fixed->next += bytes;
    }
    if (region->hole >= end && region->hole < end + bytes) region->hole = end + bytes;
    if (region->dirty_end < end + bytes) region->dirty_end = end + bytes;
    memset((void *)end, 0, bytes);
    gc__growth_count(heap, region, bytes);
    return true;
}

/* The object was the last one in a window of the thread's. */
GC__FN bool gc__window_grow(gc_thread *thread, uintptr_t end, size_t bytes) {
    for (int zeroed = 0; zeroed < 2; zeroed++) {
        gc_window *window = gc__thread_window(thread, zeroed);
        if ((uintptr_t)window->next != end || gc__span_room(window) < bytes) continue;
        gc__region *region = window->region;
        void *more = gc__window_allocate(thread->heap, window, bytes, zeroed);
        if (!zeroed) memset(more, 0, bytes);
        /* No object starts there. The index of a formatted region, in which others may have windows, starts anew. */
        if (!region->formatted && region->indexed_end == end) region->indexed_end += bytes;
        return true;
    }
    return false;
}

/* The length is written under the lock, too: from then on other threads that look for holes ask the array for its size. To wait
   for the lock could be to wait for a collection, which would move the array. */
GC__FN bool gc__array_grow(gc_thread *thread, uintptr_t array, size_t from, size_t to, size_t length) {
    gc_heap *heap = thread->heap;
    gc__region *region = gc__region_of(array);
    if (region->kind == GC__SMALL && (to > GC_LARGE_BYTES || gc__window_grow(thread, array + from, to - from)))
        return to <= GC_LARGE_BYTES;
    bool grown = false;
    if (!gc__heap_lock_unless_taken(heap)) return false;
    if (region->kind == GC__LARGE) grown = gc__large_grow(heap, region, to);
    if (region->kind == GC__SMALL && !region->linear) grown = gc__hole_grow(heap, region, array + from, to - from);
    if (grown) gc__object_set_length(array, length);
    gc__heap_unlock(heap);
    return grown;
}

GC_API bool gc_array_grow(gc_thread *thread, void *array, size_t length) {
    if (gc__is_null(thread, "gc_array_grow", "thread") || gc__is_null(array, "gc_array_grow", "array")) return false;
    const gc_type *type = gc__object_type((uintptr_t)array);
    size_t from = gc__object_bytes((uintptr_t)array), bytes;
    if (!type->element_bytes || !gc__in_arena((uintptr_t)array)) {
        gc__fail(GC_ERROR_MISUSE, "gc_array_grow: the object %p, a `%s`, is no array on the heap", array,
                 gc__object_name((uintptr_t)array));
        GC_ASSERT(false, "%s", gc__last_message);
        return false;
    }
    if (length < ((gc_array *)array)->length || __builtin_mul_overflow(length, (size_t)type->element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)type->bytes, &bytes) || bytes > gc__the_arena.bytes)
        return false;
    size_t to = gc__align(bytes), used = type->bytes + ((gc_array *)array)->length * type->element_bytes;
    if (to > from && !gc__array_grow(thread, (uintptr_t)array, from, to, length)) return false;
    memset((char *)array + used, 0, from - used); /* what the old size was rounded up by */
    gc__object_set_length((uintptr_t)array, length);
    return true;
}
#endif

/* Collects if `bytes` more off-heap bytes, and so many of their table, call for that; *object follows the object. */
GC__COLD gc_result gc__external_make_room(gc_heap *heap, void **object, size_t bytes, size_t table_bytes) {
    bool fits = gc__external_fits(heap, bytes + table_bytes);
    size_t spent =
        gc__counted(&heap->generation_bytes[0]) + gc__external_growth(heap, gc__external_bytes(heap) + bytes);
    if (fits && spent < gc__counted(&heap->budget_bytes)) return GC_OK;
    if (bytes > heap->limit_bytes) return gc__last_result; /* they can never fit */
    if (gc_roots_add(heap, object, 1, 0) != GC_OK) return gc__last_result;
    if (fits)
        gc__collect_for_budget(heap);
    else
        fits = gc__room_make(heap, bytes + table_bytes);
    gc_roots_remove(heap, object);
    if (!fits) gc__explain_full(heap);
    return fits ? GC_OK : gc__last_result;
}

/* Lock held. */
GC__FN gc_result gc__external_add(gc_heap *heap, void *object, ptrdiff_t bytes) {
    if (!gc__in_arena((uintptr_t)object) || !gc__region_is_of(gc__region_of((uintptr_t)object), heap))
        return gc__fail(GC_ERROR_MISUSE, "gc_external_add: %p is not an object of this heap", object);
    gc__map *table = &heap->collector->external[gc__region_of((uintptr_t)object)->generation];
    if (bytes <= 0)
        return bytes ? gc__external_remove(heap, table, (uintptr_t)object, (size_t)0 - (size_t)bytes) : GC_OK;
    size_t tables = GC_GENERATIONS * gc__map_growth(table); /* collections make as much room in each */
    gc_result result = gc__external_make_room(heap, &object, (size_t)bytes, tables);
    if (result != GC_OK) return result;
    table = &heap->collector->external[gc__region_of((uintptr_t)object)->generation];
    size_t growth = gc__map_growth(table);
    if (!gc__map_reserve(table, table->count + 1))
        return gc__fail(GC_ERROR_MEMORY, "gc_external_add: the system gives no memory for the table");
    if (!gc__external_count(heap, (size_t)bytes, "gc_external_add")) return GC_ERROR_TOO_LARGE;
    gc__count(&heap->metadata_bytes, growth);
    *gc__map_put(table, (uintptr_t)object) += (size_t)bytes;
    heap->owned_bytes += (size_t)bytes;
    gc__heap_note_held(heap);
    return GC_OK;
}

GC_API gc_result gc_external_add(gc_thread *thread, void *object, ptrdiff_t bytes) {
    if (gc__is_null(thread, "gc_external_add", "thread") || gc__is_null(object, "gc_external_add", "object"))
        return GC_ERROR_ARGUMENT;
    if (GC_DEBUG >= 1) gc__check_outside("gc_external_add");
    GC_ROOTS(thread, object); /* waiting for the lock may be waiting for a collection */
    gc__heap_lock(thread->heap);
    gc_result result = gc__external_add(thread->heap, object, bytes);
    gc__heap_unlock(thread->heap);
    return result;
}

/* Takes bytes without an owner off. False with gc__fail: there are not as many. */
GC__FN bool gc__unowned_remove(gc_heap *heap, size_t bytes) {
    size_t before = gc__counted(&heap->unowned_bytes);
    do {
        if (before >= bytes) continue;
        gc__fail(GC_ERROR_MISUSE, "gc_heap_external_add: %zu bytes are taken off, more than were added without an owner",
                 bytes);
        return false;
    } while (!__atomic_compare_exchange_n(&heap->unowned_bytes, &before, before - bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    __atomic_fetch_sub(&heap->external_bytes, bytes, __ATOMIC_RELAXED);
    return true;
}

/* Changes the bytes without an owner. False with gc__fail: there are not as many, or cannot be. */
GC__FN bool gc__unowned_add(gc_heap *heap, ptrdiff_t bytes) {
    size_t unowned = gc__counted(&heap->unowned_bytes), all = gc__external_bytes(heap);
    bool fits = bytes < 0 ? unowned >= (size_t)0 - (size_t)bytes : (size_t)bytes <= GC__EXTERNAL_MOST - all;
    if (fits && gc__os_is_single_threaded()) { /* two locked instructions would cost an interpreter's realloc a tenth */
        __atomic_store_n(&heap->unowned_bytes, unowned + (size_t)bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&heap->external_bytes, all + (size_t)bytes, __ATOMIC_RELAXED);
        return true;
    }
    if (bytes < 0) return gc__unowned_remove(heap, (size_t)0 - (size_t)bytes);
    if (!gc__external_count(heap, (size_t)bytes, "gc_heap_external_add")) return false;
    gc__count(&heap->unowned_bytes, (size_t)bytes);
    return true;
}

/* Has the calling thread's next allocation look at the budget, unless the thread has no window that it may touch now. */
GC__FN void gc__allocation_interrupt(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    if (!self || !gc__is_cooperative(self) || gc__heap_is_locked(heap)) return;
    gc__local_spans_retire(&gc__record(self)->local_spans);
    gc__thread_shrink_windows(self);
}

/* The same if a collection is due, now that off-heap bytes were added. */
GC__FN void gc__external_interrupt(gc_heap *heap) {
    if (gc__spent_bytes(heap) >= gc__counted(&heap->budget_bytes)) gc__allocation_interrupt(heap);
}

GC_API gc_result gc_heap_external_add(gc_heap *heap, ptrdiff_t bytes) {
    if (gc__is_null(heap, "gc_heap_external_add", "heap")) return GC_ERROR_ARGUMENT;
    if (!gc__unowned_add(heap, bytes)) return gc__last_result;
    if (bytes > 0) gc__external_interrupt(heap);
    return GC_OK;
}

GC_API gc_result gc_value_stack_reserve(gc_heap *heap, gc_value_stack *stack, size_t bytes, ptrdiff_t *moved) {
    uintptr_t before = (uintptr_t)stack->base;
    size_t used = (uintptr_t)stack->top - before, old = (uintptr_t)stack->limit - before, size = gc__max(old, 1024);
    *moved = 0;
    if (bytes <= old - used) return GC_OK;
    while (size - used < bytes && size < SIZE_MAX / 4) size *= 2;
    bool counted = size - used >= bytes && gc__unowned_add(heap, (ptrdiff_t)(size - old));
    char *base = counted ? (char *)realloc(stack->base, size) : NULL;
    if (counted && !base) gc__unowned_add(heap, -(ptrdiff_t)(size - old));
    if (!base)
        return gc__fail(GC_ERROR_MEMORY,
                        "gc_value_stack_reserve: the system gives no memory for %zu bytes more than the %zu in use",
                        bytes, used);
    *moved = (ptrdiff_t)((uintptr_t)base - before);
    stack->base = base;
    stack->top = base + used;
    stack->limit = base + size;
    void **marks[] = {&stack->untouched, &stack->settled[0], &stack->settled[1]};
    for (int i = 0; i < 3; i++)
        if (*marks[i]) *marks[i] = (void *)((uintptr_t)*marks[i] + (uintptr_t)*moved);
    gc__external_interrupt(heap);
    return GC_OK;
}

GC_API void gc_value_stack_free(gc_heap *heap, gc_value_stack *stack) {
    gc_heap_external_add(heap, (ptrdiff_t)((uintptr_t)stack->base - (uintptr_t)stack->limit));
    free(stack->base);
    stack->base = stack->top = stack->limit = stack->untouched = stack->settled[0] = stack->settled[1] = NULL;
}
/* Limits that are changed while the heap runs. */


GC__COLD bool gc__limit_is_least(size_t bytes) {
    size_t least = GC__REGIONS_MIN * GC_REGION_BYTES;
    if (!bytes || bytes >= least) return true;
    gc__fail(GC_ERROR_OPTION,
             "heap_bytes_max is %zu bytes, but a heap needs %zu: %d regions of %zu KiB. Raise it, or compile with a "
             "smaller GC_REGION_SHIFT",
             bytes, least, GC__REGIONS_MIN, GC_REGION_BYTES >> 10);
    return false;
}

/* Collects, compacts for as long as that makes room, and packs, until the heap needs no more than `bytes`. The world is
   stopped. */
GC__COLD bool gc__limit_reach(gc_heap *heap, size_t bytes) {
    bool packed = false;
    if (gc__bytes_charged(heap) > bytes) gc__collect_at_limit(heap, GC__FULL);
    while (gc__bytes_charged(heap) > bytes)
        if (!gc__compact_or_slide(heap, 0, &packed)) break;
    gc__large_uncommit_all(heap);
    return gc__bytes_charged(heap) <= bytes;
}

/* Adapts to another limit, hard or soft, what was chosen by the former one. The world is stopped. */
GC__COLD void gc__limit_adapt(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    gc__pace_goal(heap, pace->full_live_bytes);
    if (!heap->options.nursery_bytes && !heap->options.non_generational)
        pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_most(heap));
    __atomic_store_n(&heap->budget_bytes, gc__nursery_in_goal(heap), __ATOMIC_RELAXED);
    gc__heap_note_held(heap);
}

GC__COLD gc_result gc__limit_change(gc_heap *heap, size_t bytes) {
    size_t share = bytes ? 0 : gc__container_share(), wanted = bytes + share;
    if (!gc__limit_is_least(bytes)) return GC_ERROR_OPTION;
    if (wanted && !gc__limit_reach(heap, wanted)) {
        gc__fail(GC_ERROR_HEAP_FULL,
                 "gc_heap_set_bytes_max: the heap needs %zu KiB, for what lives or cannot be moved, so the limit "
                 "stays, and does not become %zu KiB: drop references first",
                 gc__bytes_charged(heap) >> 10, wanted >> 10);
        gc__heap_fail_with_others(heap);
        return GC_ERROR_HEAP_FULL;
    }
    gc__limit_set(heap, bytes, share);
    gc__marking_resolve(heap, false);
    gc__limit_adapt(heap);
    return GC_OK;
}

GC_API gc_result gc_heap_set_bytes_max(gc_heap *heap, size_t bytes) {
    GC__API_SCOPE("gc_heap_set_bytes_max");
    if (gc__is_null(heap, "gc_heap_set_bytes_max", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_heap_set_bytes_max")) return GC_ERROR_MISUSE;
    const gc__request request = gc__request_of(GC__FULL, 2, GC_REASON_LIMIT);
    gc__heap_lock(heap);
    gc__workers_start(heap, &request);
    gc__world_stop_locked(heap);
    gc_result result = gc__limit_change(heap, bytes);
    gc__world_resume(heap);
    return result;
}

GC_API gc_result gc_heap_set_bytes_soft(gc_heap *heap, size_t bytes) {
    GC__API_SCOPE("gc_heap_set_bytes_soft");
    if (gc__is_null(heap, "gc_heap_set_bytes_soft", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_heap_set_bytes_soft")) return GC_ERROR_MISUSE;
    gc__world_stop(heap);
    heap->options.heap_bytes_soft = gc__min(bytes, GC__BUDGET_MOST);
    gc__limit_adapt(heap);
    gc__world_resume(heap);
    return GC_OK;
}

/* Allocations that meet the limit read it with the lock held. */
GC_API gc_result gc_heap_set_collecting_percent_max(gc_heap *heap, unsigned percent) {
    GC__API_SCOPE("gc_heap_set_collecting_percent_max");
    if (gc__is_null(heap, "gc_heap_set_collecting_percent_max", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__collect_is_misuse(heap, "gc_heap_set_collecting_percent_max")) return GC_ERROR_MISUSE;
    if (!gc__overhead_is_percent(percent)) return GC_ERROR_OPTION;
    gc__heap_lock(heap);
    heap->options.collecting_percent_max = percent;
    gc__heap_unlock(heap);
    return GC_OK;
}
/* Mutator threads. */


GC__COLD void gc__thread_close_frames(gc_thread *thread) {
    gc__frames_assign(thread->heap, thread->frames, thread, NULL);
    gc__frames_assign(thread->heap, gc__record(thread)->own_stack.frames, thread, NULL);
}

GC__OUT_OF_LINE void gc__thread_forget(gc_thread *thread) {
    if (gc__record(thread)->interruptible) gc__compiled->forget(thread);
    gc_thread **link = &gc__my_attachments;
    while (*link != thread) link = &gc__record(*link)->next_attachment;
    *link = gc__record(thread)->next_attachment;
    free(thread);
}

GC__COLD void gc__attach_note(gc_thread *thread, bool attached) {
    const gc__profiler *profiler = gc__profiler_of(thread->heap);
    if (profiler)
        profiler->attached(thread, attached);
    else if (gc__record(thread)->profiled)
        gc__the_profiling->detached(thread);
}

/* Takes the thread out of its heap's list, in which `link` points to it. The heap's lock is held. */
GC__COLD void gc__thread_unlist(gc_thread *thread, gc_thread **link) {
    gc__thread_close_windows(thread);
    gc__local_spans_close(thread->heap, &gc__record(thread)->local_spans);
    gc__attach_note(thread, false);
    gc__thread_close_frames(thread);
    gc__handles_return_cached(thread);
    thread->stack->thread = NULL; /* a fiber's, maybe */
    *link = gc__record(thread)->next;
}

/* Ends the calling thread's attachment, in whichever mode it is. */
GC__COLD void gc__thread_leave(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    gc__finalizing_forget(thread);
    gc__asking_look(thread, UINTPTR_MAX);
    gc__heap_lock(heap);
    gc_thread **link = &heap->threads->first;
    while (*link != thread) link = &gc__record(*link)->next;
    gc__thread_unlist(thread, link);
    gc__heap_unlock(heap);
    gc__thread_forget(thread);
}

/* Forgets the thread's stacks, whose contents are gone. */
GC__COLD void gc__thread_leave_stacks(gc_thread *thread) {
    thread->stack->thread = NULL; /* a fiber's, maybe */
    thread->stack = &gc__record(thread)->own_stack;
    gc__record(thread)->stack_base = gc__record(thread)->own_stack.base;
    thread->frames = gc__record(thread)->own_stack.frames = NULL;
    thread->code = gc__record(thread)->own_stack.code = NULL;
    gc__record(thread)->conservative = false;
}

/* Drops the roots of a thread that ends. If it is in preemptive mode, a collection may be reading its stacks. */
GC__COLD void gc__thread_drop_roots(gc_thread *thread) {
    bool within = thread->frames != NULL, preemptive = !gc__is_cooperative(thread);
    if (preemptive) gc__heap_lock(thread->heap);
    gc__thread_leave_stacks(thread);
    if (preemptive) gc__heap_unlock(thread->heap);
    if (!within || !preemptive) return;
    char message[384];
    snprintf(
        message, sizeof message,
        "the thread `%s` ended within a scope of GC_ROOTS in preemptive mode, so that a collection could have read "
        "what has overwritten its stack: compile with -fexceptions what pthread_exit or a cancellation leaves, and "
        "it leaves scopes in their order",
        gc__thread_name(thread));
    gc__warn(&thread->heap->options, message);
}

static __thread bool gc__ending; /* the native thread's end has begun */

/* A native thread ends. Returns true to be called again, after other destructors, each of which may detach the thread. */
GC__COLD bool gc__thread_ended(void) {
    if (!gc__ending) {
        gc__ending = true;
        for (gc_thread *thread = gc__my_attachments; thread; thread = gc__record(thread)->next_attachment)
            if (thread->heap) gc__thread_drop_roots(thread);
        return gc__my_attachments != NULL;
    }
    while (gc__my_attachments) {
        gc_thread *thread = gc__my_attachments;
        if (!thread->heap) {
            gc__thread_forget(thread);
            continue;
        }
        char message[256];
        snprintf(message, sizeof message, "the thread `%s` ended without gc_thread_detach; its roots are dropped",
                 gc__thread_name(thread));
        gc__warn(&thread->heap->options, message);
        gc__thread_leave(thread);
    }
    return false;
}

GC__COLD gc_result gc__thread_prepare(gc_thread *thread) {
    if (!gc__os_at_thread_end(gc__thread_ended))
        return gc__fail(GC_ERROR_MEMORY,
                        "gc_thread_attach: the system has no thread-specific key left, by which the end of a "
                        "thread is noticed");
    bool elsewhere = false;
    gc__record(thread)->stack_base = gc__os_stack_base(&elsewhere);
    thread->stack = &gc__record(thread)->own_stack;
    gc__record(thread)->own_stack.heap = thread->heap;
    gc__record(thread)->own_stack.thread = gc__record(thread)->own_stack.last = thread;
    gc__record(thread)->own_stack.base = gc__record(thread)->stack_base;
    if (gc__record(thread)->stack_base || !gc__record(thread)->conservative) return GC_OK;
    if (elsewhere)
        return gc__fail(GC_ERROR_MISUSE,
                        "gc_thread_attach: conservative_stack is set, and the calling thread does not run on its own "
                        "stack, but on a fiber's, whose end is not known: attach before the first switch to a fiber, "
                        "then enter each by gc_stack_switch to a stack of gc_stack_create");
    return gc__fail(GC_ERROR_MISUSE,
                    "gc_thread_attach: conservative_stack is set, but the system does not tell where the "
                    "thread's stack is: is /proc mounted?");
}

/* The record of a thread, with the caches of its handles. */
typedef struct gc__attachment {
    gc__thread_record record;
    gc__handle_cache handle_caches[GC_HANDLE_KINDS];
} gc__attachment;

GC__COLD gc_thread *gc__thread_new(void) {
    gc__attachment *all = (gc__attachment *)calloc(1, sizeof *all);
    if (!all) return NULL;
    all->record.handle_caches = all->handle_caches;
    return &all->record.thread;
}

GC_API gc_thread *gc_thread_attach(gc_heap *heap) {
    GC__API_SCOPE("gc_thread_attach");
    if (!heap) { /* gc_last_message() is why gc_heap_create failed, if it has */
        if (gc__last_result == GC_OK) gc__fail(GC_ERROR_ARGUMENT, "gc_thread_attach: heap is NULL");
        return NULL;
    }
    if (gc__thread_self(heap)) {
        gc__fail(GC_ERROR_ATTACHED,
                 "gc_thread_attach: this thread is attached to the heap already; gc_thread_current returns it");
        return NULL;
    }
    gc_thread *thread = gc__thread_new();
    if (!thread) {
        gc__fail(GC_ERROR_MEMORY, "gc_thread_attach: the system gives no memory for the thread's record");
        return NULL;
    }
    thread->heap = heap;
    gc__record(thread)->conservative = heap->options.conservative_stack;
    if (gc__thread_prepare(thread) != GC_OK) {
        free(thread);
        return NULL;
    }
    gc__record(thread)->tid = gc__os_thread_number();
    thread->safepoint = gc__safepoint_slow;
    thread->poll = heap->options.stress == GC_STRESS_SAFEPOINT;
    gc__record(thread)->stress_countdown = heap->options.stress_interval;
    gc__heap_lock(heap);
    gc__record(thread)->next = heap->threads->first;
    heap->threads->first = thread;
    gc__record(thread)->next_attachment = gc__my_attachments;
    gc__my_attachments = thread;
    gc__attach_note(thread, true);
    gc__heap_unlock(heap);
    return thread;
}

/* Whether the thread is an attachment of the caller's. Does not read *thread, which may have ended. */
GC__COLD bool gc__thread_is_mine(const gc_thread *thread) {
    const gc_thread *mine = gc__my_attachments;
    while (mine && mine != thread) mine = gc__record(mine)->next_attachment;
    return mine != NULL;
}

GC_API void gc_thread_detach(gc_thread *thread) {
    GC__API_SCOPE("gc_thread_detach");
    if (!thread) return;
    if (!gc__thread_is_mine(thread)) {
        GC_ASSERT(false,
                  "gc_thread_detach: that is no attachment of the calling thread: it is another thread's, or has "
                  "ended");
        return;
    }
    if (!thread->heap) { /* it was destroyed */
        gc__thread_forget(thread);
        return;
    }
    GC_ASSERT(!thread->frames, "gc_thread_detach: the frame of GC_ROOTS(%s) at %s:%u has not been left",
              thread->frames->site->names, thread->frames->site->file, thread->frames->site->line);
    GC_ASSERT(!thread->code, "gc_thread_detach: called by a native function that returns to compiled code");
    GC_ASSERT(thread->stack == &gc__record(thread)->own_stack,
              "gc_thread_detach: called on a stack of gc_stack_create: switch back first");
    if (gc__is_called_by_hook(thread->heap, "gc_thread_detach")) return;
    if (gc__is_called_by_asked(thread, "gc_thread_detach", (uintptr_t)__builtin_frame_address(0))) return;
    gc__thread_leave(thread);
}

GC_API gc_thread *gc_thread_current(const gc_heap *heap) {
    return gc__is_null(heap, "gc_thread_current", "heap") ? NULL : gc__thread_self(heap);
}
GC_API gc_heap *gc_thread_heap(const gc_thread *thread) {
    return gc__is_null(thread, "gc_thread_heap", "thread") ? NULL : thread->heap;
}
GC_API void gc_thread_set_name(gc_thread *thread, const char *name) {
    if (gc__is_null(thread, "gc_thread_set_name", "thread")) return;
    __atomic_store_n(&gc__record(thread)->name, name, __ATOMIC_RELEASE);
}

GC_API void gc_thread_set_conservative(gc_thread *thread, bool conservative) {
    if (gc__is_null(thread, "gc_thread_set_conservative", "thread")) return;
    if (conservative && (!gc__record(thread)->own_stack.base || !gc__record(thread)->stack_base))
        gc__fatal(
            &thread->heap->options,
            "gc_thread_set_conservative: where the stack of the thread `%s` ends is not known: attach on the native "
            "thread's own stack, not on a fiber's, and hand gc_stack_create the highest address of each fiber's",
            gc__thread_name(thread));
    gc__record(thread)->conservative = conservative;
}
/* Running finalizers: on the host's threads, on a thread of the heap's, and when the heap is destroyed. */


#define GC__TEARDOWN_ROUNDS 16 /* at the end of a heap, for finalizers that register others while they run */

/* Takes the next pair; a critical one only if no normal one is queued or runs. Lock held. */
GC__FN const gc_finalizer *gc__due_take(gc__finalizers *all, uintptr_t *object) {
    gc__due *due = &all->due[GC__NORMAL];
    while (!gc__due_count(due) && all->deciding) gc__finalizers_decide(all, GC__FIFO, false);
    if (!gc__due_count(due)) {
        due = &all->due[GC__CRITICAL];
        for (const gc__finalizing *record = all->running; record; record = record->next)
            if (!record->critical) return NULL;
    }
    if (!gc__due_count(due)) return NULL;
    const uintptr_t *pair = &due->pairs.words[due->head];
    gc__due_shade(due, due->head);
    due->head += 2;
    *object = pair[0];
    return (const gc_finalizer *)pair[1];
}

GC__FN void gc__finalizing_end(gc__finalizers *all, const gc__finalizing *record) {
    gc__lock_take(&all->lock);
    bool critical = record->critical;
    gc__finalizing **link = &all->running;
    while (*link && *link != record) link = &(*link)->next;
    if (*link) gc__finalizing_remove(all, link);
    bool left = !critical || !gc__due_count(&all->due[GC__CRITICAL]);
    left = left && !all->running && !gc__due_count(&all->due[GC__NORMAL]);
    left |= all->ending;
    gc__lock_release(&all->lock);
    /* To wake threads costs more than most finalizers, and threads wait only for the last one, or the last normal one. */
    if (left) gc__finalizers_notify(all);
}

/* Takes a finalizer that is due, and records that it runs. */
GC__FN const gc_finalizer *gc__finalizing_begin(gc__finalizing *record, gc__finalizers *all, uintptr_t *object) {
    const gc_finalizer *finalizer = gc__due_take(all, object);
    if (!finalizer) return NULL;
    record->type = gc__object_name(*object);
    record->started_ns = gc__os_now_ns();
    record->critical = finalizer->critical;
    record->finalizer = finalizer;
    record->reported = false;
    return finalizer;
}

/* The scope in which a finalizer runs. It is left when the finalizer returns, or by an exception. */
typedef struct gc__finalizing_scope {
    gc__finalizers *all;
    gc__finalizing *record;
} gc__finalizing_scope;

GC__FN void gc__finalizing_leave(gc__finalizing_scope *scope) {
    if (scope->record) gc__finalizing_end(scope->all, scope->record);
}

/* Runs a finalizer, if one is due. `frame`: the frame of the public function that calls this one. */
GC__HOT bool gc__finalizer_run(gc_thread *thread, const void *frame) {
    gc__finalizers *all = thread->heap->finalizers;
    gc__finalizing_scope scope __attribute__((cleanup(gc__finalizing_leave))) = {all, NULL};
    const gc_finalizer *finalizer = NULL;
    uintptr_t object = 0;
    gc__lock_take(&all->lock);
    gc__finalizing_drop(all, thread, frame);
    gc__finalizing *record = gc__is_abandoned(thread->heap) ? NULL : gc__finalizing_new(all);
    if (record) {
        finalizer = gc__finalizing_begin(record, all, &object);
        record->thread = thread;
        record->stack = thread->stack;
        record->frame = (const char *)frame;
        record->next = all->running;
        all->running = record;
        if (!finalizer) gc__finalizing_remove(all, &all->running);
    }
    gc__lock_release(&all->lock);
    if (!finalizer) return false;
    scope.record = record;
    if (gc__is_suppressed(object, (uintptr_t)finalizer)) return true;
    const gc__profiler *profiler = gc__profiler_of(thread->heap);
    const char *type = record->type;
    uint64_t started_ns = record->started_ns;
    finalizer->finalize(thread, (void *)object);
    if (profiler) profiler->finalized(thread, type, started_ns);
    return true;
}

GC_API const gc_finalizer *gc_finalizer_running(gc_thread *thread) {
    if (gc__is_null(thread, "gc_finalizer_running", "thread") || !thread->heap) return NULL;
    gc__finalizers *all = thread->heap->finalizers;
    gc__lock_take(&all->lock);
    const gc__finalizing *record = all->running;
    while (record && record->thread != thread) record = record->next;
    const gc_finalizer *running = record ? record->finalizer : NULL;
    gc__lock_release(&all->lock);
    return running;
}

GC_API size_t gc_finalizers_run(gc_thread *thread, size_t most) {
    if (gc__is_null(thread, "gc_finalizers_run", "thread")) return 0;
    if (gc__is_called_by_hook(thread->heap, "gc_finalizers_run")) return 0;
    size_t count = 0;
    while (count < most && gc__finalizer_run(thread, __builtin_frame_address(0))) count++;
    return count;
}

GC_API size_t gc_finalizers_pending(gc_heap *heap) {
    if (gc__is_null(heap, "gc_finalizers_pending", "heap")) return 0;
    gc__finalizers *all = heap->finalizers;
    const gc_thread *self = gc__thread_self(heap);
    gc__lock_take(&all->lock);
    if (self) gc__finalizing_drop(all, self, __builtin_frame_address(0));
    gc__finalizers_decide(all, SIZE_MAX, false);
    size_t count = gc__due_total(all);
    for (const gc__finalizing *record = all->running; record; record = record->next) count++;
    gc__lock_release(&all->lock);
    return count;
}

/* Waits, in preemptive mode in all heaps of the thread, until `event` has changed or until `deadline_ns`. Then reports
   finalizers that run for too long. */
GC__COLD void gc__finalizers_await(gc_heap *heap, uint32_t event, uint64_t deadline_ns) {
    uint64_t now = gc__os_now_ns(), patience = heap->options.finalizer_patience_ms * GC__NS_PER_MS;
    uint64_t wait = gc__ns_since(deadline_ns, now);
    gc__save_registers(gc__my_registers);
    gc__park(NULL);
    gc__os_wait_for(&heap->finalizers->event, event, wait < patience ? wait : patience);
    gc__unpark_all();
    gc__finalizers_watch(heap);
}

/* Whether the thread runs a finalizer. `frame`: the frame of the public function in which the thread asks, or NULL. */
GC__FN bool gc__is_finalizing(gc__finalizers *all, const gc_thread *thread, const void *frame) {
    gc__lock_take(&all->lock);
    if (frame) gc__finalizing_drop(all, thread, frame);
    const gc__finalizing *record = all->running;
    while (record && record->thread != thread) record = record->next;
    gc__lock_release(&all->lock);
    return record != NULL;
}

GC__FN uint64_t gc__deadline(uint64_t timeout_ms) {
    uint64_t now = gc__os_now_ns();
    return timeout_ms < (UINT64_MAX - now) / GC__NS_PER_MS ? now + timeout_ms * GC__NS_PER_MS : UINT64_MAX;
}

GC_API bool gc_finalizers_wait(gc_thread *thread, uint64_t timeout_ms) {
    if (gc__is_null(thread, "gc_finalizers_wait", "thread")) return false;
    gc_heap *heap = thread->heap;
    gc__finalizers *all = heap->finalizers;
    uint64_t deadline = gc__deadline(timeout_ms);
    if (gc__is_finalizing(all, thread, __builtin_frame_address(0))) return false;
    for (;;) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        if (!gc_finalizers_pending(heap)) return true;
        if (gc__os_now_ns() >= deadline) return false;
        bool others = __atomic_load_n(&all->state, __ATOMIC_SEQ_CST) != GC__FINALIZERS_NONE;
        if (others || !gc__finalizer_run(thread, __builtin_frame_address(0)))
            gc__finalizers_await(heap, event, deadline);
    }
}

/* The heap's own thread. */

GC__FN void gc__finalizer_thread(void *context) {
    gc_heap *heap = (gc_heap *)context;
    gc__finalizers *all = heap->finalizers;
    gc_thread *thread = gc_thread_attach(heap);
    if (thread) gc_thread_set_name(thread, "finalizers");
    __atomic_store_n(&all->state, (uint32_t)(thread ? GC__FINALIZERS_RUN : GC__FINALIZERS_ENDED), __ATOMIC_SEQ_CST);
    gc__finalizers_notify(all);
    while (thread) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&all->state, __ATOMIC_SEQ_CST) == GC__FINALIZERS_STOP) break;
        if (!gc__finalizer_run(thread, __builtin_frame_address(0))) gc__finalizers_await(heap, event, UINT64_MAX);
    }
    if (!thread) return;
    gc_thread_detach(thread);
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_ENDED, __ATOMIC_SEQ_CST);
    gc__finalizers_notify(all);
}

/* Waits while the thread's state is `state`. */
GC__COLD bool gc__finalizer_thread_await(gc_heap *heap, uint32_t state, uint64_t deadline_ns) {
    gc__finalizers *all = heap->finalizers;
    for (;;) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&all->state, __ATOMIC_SEQ_CST) != state) return true;
        if (gc__os_now_ns() >= deadline_ns) return false;
        gc__finalizers_await(heap, event, deadline_ns);
    }
}

GC_API gc_result gc_finalizer_thread_start(gc_heap *heap) {
    if (gc__is_null(heap, "gc_finalizer_thread_start", "heap")) return GC_ERROR_ARGUMENT;
    if (gc__is_called_by_hook(heap, "gc_finalizer_thread_start")) return GC_ERROR_MISUSE;
    gc__finalizers *all = heap->finalizers;
    uint32_t none = GC__FINALIZERS_NONE;
    if (heap->options.suspend)
        return gc__fail(GC_ERROR_OPTION,
                        "gc_finalizer_thread_start: options.suspend is set, and does not know a thread of gc.h's: have "
                        "a thread of the host's call gc_finalizers_run");
    if (!__atomic_compare_exchange_n(&all->state, &none, (uint32_t)GC__FINALIZERS_START, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return gc__fail(GC_ERROR_MISUSE, "gc_finalizer_thread_start: the heap has its finalizer thread already");
    bool started = gc__os_thread_start(&all->thread, gc__finalizer_thread, heap);
    if (started) gc__finalizer_thread_await(heap, GC__FINALIZERS_START, UINT64_MAX);
    if (started && __atomic_load_n(&all->state, __ATOMIC_SEQ_CST) == GC__FINALIZERS_RUN) return GC_OK;
    if (started) gc__os_thread_join(&all->thread);
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_NONE, __ATOMIC_SEQ_CST);
    return gc__fail(GC_ERROR_MEMORY, "gc_finalizer_thread_start: the system gives no thread");
}

/* The end of the heap. */

/* False: a finalizer does not return, so the heap's memory must stay. */
GC__COLD bool gc__finalizer_thread_stop(gc_heap *heap, uint64_t deadline_ns) {
    gc__finalizers *all = heap->finalizers;
    if (__atomic_load_n(&all->state, __ATOMIC_SEQ_CST) == GC__FINALIZERS_NONE) return true;
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_STOP, __ATOMIC_SEQ_CST);
    gc__finalizers_notify(all);
    if (!gc__finalizer_thread_await(heap, GC__FINALIZERS_STOP, deadline_ns)) {
        gc__os_thread_abandon(&all->thread);
        return false;
    }
    gc__os_thread_join(&all->thread);
    __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_NONE, __ATOMIC_SEQ_CST);
    return true;
}

/* Waits for finalizers that threads of the host's run. False: one does not return. */
GC__COLD bool gc__finalizers_stop(gc_heap *heap, uint64_t deadline_ns) {
    gc__finalizers *all = heap->finalizers;
    for (;;) {
        uint32_t event = __atomic_load_n(&all->event, __ATOMIC_SEQ_CST);
        gc__lock_take(&all->lock);
        bool runs = all->running != NULL;
        all->ending = true;
        gc__lock_release(&all->lock);
        if (!runs) return true;
        if (gc__os_now_ns() >= deadline_ns) return false;
        gc__finalizers_await(heap, event, deadline_ns);
    }
}

/* Queues all registered finalizers, except, if `skip`, the normal ones, which it forgets. Returns how many are queued. */
GC__COLD size_t gc__finalizers_queue_all(gc_heap *heap, bool skip) {
    gc__finalizers *all = heap->finalizers;
    gc__lock_take(&all->lock);
    gc__finalizers_compact(all);
    for (size_t i = 0; i < all->registered.count; i += 2) {
        gc__shade_word(all->registered.words[i]); /* it was not queued when a cycle began, and may be dead */
        gc__pair_push(&gc__due_of(all, all->registered.words[i + 1])->pairs, all->registered.words[i],
                      all->registered.words[i + 1]);
    }
    all->registered.count = 0;
    memset(all->start, 0, sizeof all->start);
    if (skip) all->due[GC__NORMAL].head = all->due[GC__NORMAL].pairs.count;
    size_t count = gc__due_total(all);
    gc__lock_release(&all->lock);
    return count;
}

/* In cooperative mode: runs finalizers in some rounds, each of those that are queued when it begins, since finalizers can
   register and queue others. */
GC__COLD void gc__finalizers_run_all(gc_thread *thread) {
    gc_heap *heap = thread->heap;
    for (int round = 0; round < GC__TEARDOWN_ROUNDS; round++) {
        size_t count = gc__finalizers_queue_all(heap, heap->options.skip_finalizers_at_end);
        if (!count) return;
        gc_finalizers_run(thread, count);
    }
    gc__warn(&heap->options,
             "finalizers that run as the heap is destroyed keep registering others: only critical ones run now, once");
    gc_finalizers_run(thread, gc__finalizers_queue_all(heap, true));
}

/* Runs the finalizers that are left. False: the heap cannot be freed. */
GC__COLD bool gc__finalizers_end(gc_heap *heap, const void *frame) {
    gc_thread *self = gc__thread_self(heap);
    bool finalizing = self && gc__is_finalizing(heap->finalizers, self, frame);
    (void)finalizing;
    GC_ASSERT(!finalizing, "gc_heap_destroy: called by a finalizer");
    uint64_t deadline = gc__deadline(heap->options.finalizer_patience_ms);
    bool stopped = gc__finalizer_thread_stop(heap, deadline) && gc__finalizers_stop(heap, deadline);
    if (!stopped)
        gc__warn(&heap->options,
                 "gc_heap_destroy: a finalizer does not return: the heap's memory is left as it is, and the "
                 "finalizers of objects that are still there do not run");
    if (!stopped || !gc__finalizers_queue_all(heap, heap->options.skip_finalizers_at_end)) return stopped;
    gc_thread *thread = self ? self : gc_thread_attach(heap);
    if (!thread) {
        gc__warn(&heap->options, "gc_heap_destroy: finalizers do not run: the calling thread could not be attached");
        return true;
    }
    GC_IN_MODE(thread, GC_MODE_COOPERATIVE);
    gc__finalizers_run_all(thread);
    return true;
}

GC__COLD void gc__finalizers_free(gc_heap *heap) {
    gc__finalizers *all = heap->finalizers;
    gc__words *lists[GC__FINALIZER_LISTS];
    gc__finalizers_lists(all, lists);
    while (all->spare) {
        gc__finalizing *record = all->spare;
        all->spare = record->next;
        if (record != &all->first) free(record);
    }
    for (int i = 0; i < GC__FINALIZER_LISTS; i++) gc__words_free(lists[i]);
}
/* fork(): before it all other threads of all heaps are stopped and every lock is taken, so the child has a copy of heaps
   between two steps of their threads. In the child these do not exist, and are forgotten.

   If fork is called in a callback, the calling thread holds some of the locks already, and still holds them afterwards. */


#define GC__EACH_HEAP(heap) for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap)

/* Calls f for each lock but those that stop threads, in the order in which locks are taken. */
GC__COLD void gc__fork_each_leaf(void (*f)(gc__lock *lock)) {
    GC__EACH_HEAP(heap) {
        f(&heap->marker->lock);
        f(&heap->handles->lock);
        f(&heap->finalizers->lock);
        f(&heap->threads->roots_lock);
        if (!heap->collector->workers) continue;
        f(&heap->collector->workers->space);
        f(&heap->collector->workers->lock);
    }
    f(&gc__barrier_lock);
    f(&gc__the_arena.lock);
    f(&gc__code_lock);
    f(&gc__profile_lock);
}

/* All that is locked here stays locked until gc__fork_end. The caller's registers and stack pointer are saved, and its
   frames lie above that, so other heaps may scan this thread meanwhile although this function returns. */
GC__COLD void gc__fork_begin(void) {
    if (GC_DEBUG >= 1) gc__check_outside("fork");
    gc__heaps_lock_take();
    GC__EACH_HEAP(heap) {
        gc__world_stop(heap);
        if (heap->collecting && heap->collector->workers) gc__workers_stop(heap->collector->workers);
    }
    gc__fork_each_leaf(gc__lock_fork_take);
}

/* Forgets the finalizers that other threads were running, and the finalizer thread, unless it has forked itself. */
GC__COLD void gc__fork_forget_finalizers(gc__finalizers *all, const gc_thread *self) {
    gc__finalizing **link = &all->running;
    while (*link) {
        if ((*link)->thread == self)
            link = &(*link)->next;
        else
            gc__finalizing_remove(all, link);
    }
    bool mine = all->state != GC__FINALIZERS_NONE && gc__os_thread_is_self(&all->thread);
    if (!mine) __atomic_store_n(&all->state, (uint32_t)GC__FINALIZERS_NONE, __ATOMIC_SEQ_CST);
}

/* In the child: the threads that were not copied. Their stacks will be those of other threads. A callback of a collection
   or walk may have been called while that goes through their list: then they stay in it, without roots. */
GC__COLD void gc__fork_forget_threads(gc_heap *heap) {
    gc_thread *self = gc__thread_self(heap);
    gc_thread **link = &heap->threads->first;
    if (self) gc__record(self)->tid = gc__os_thread_number();
    while (*link) {
        gc_thread *thread = *link;
        if (thread != self) {
            thread->stack->stack_pointer = NULL; /* a fiber that it runs is lost */
            gc__thread_leave_stacks(thread);
            /* It has not stopped if the fork is in the callback of the warning that it does not stop. */
            __atomic_store_n(&thread->mode, (uint32_t)GC_MODE_PREEMPTIVE, __ATOMIC_RELAXED);
        }
        if (thread == self || heap->threads->lock_depth > 1) {
            link = &gc__record(thread)->next;
        } else {
            gc__thread_unlist(thread, link);
            free(thread);
        }
    }
    gc__fork_forget_finalizers(heap->finalizers, self);
    gc__workers_forget(heap);
    heap->marker->has_thread = false; /* what it has found stays, and the next collection goes on with that */
    heap->marker->wanted = 0;
    heap->marker->undivided_bytes = 0; /* nobody waits for it: the end of this part of a nursery ends the marking */
    heap->pace->stopped_cpu_ns = heap->pace->resumed_cpu_ns = gc__os_cpu_ns(); /* the clock has begun anew */
    heap->pace->resumed_by = gc__os_self();
}

GC__COLD void gc__fork_end(bool in_child) {
    gc__fork_each_leaf(gc__lock_fork_release);
    GC__EACH_HEAP(heap) {
        if (in_child) gc__fork_forget_threads(heap);
        gc__world_resume_locked(heap);
        gc__heap_let_go(heap);
    }
    gc__lock_release(&gc__heaps_lock);
    gc__unpark_all();
}

GC__COLD void gc__fork_end_parent(void) { gc__fork_end(false); }
GC__COLD void gc__fork_end_child(void) {
    gc__lock_fork_adopt(&gc__heaps_lock);
    GC__EACH_HEAP(heap) gc__lock_fork_adopt(&heap->threads->lock);
    gc__fork_each_leaf(gc__lock_fork_adopt);
    if (gc__the_profiling) gc__the_profiling->forked();
    gc__fork_end(true);
}

static bool gc__fork_is_open;

/* The system is asked before there is a second thread: one that forks while another creates the first heap would leave its
   child with locks that nobody releases. */
GC__AT_LOAD GC__FN void gc__fork_at_load(void) {
    gc__fork_is_open = gc__os_at_fork(gc__fork_begin, gc__fork_end_parent, gc__fork_end_child);
}

/* Asks once more if the system had no memory then. Arena's lock held. */
GC__COLD gc_result gc__fork_open(void) {
    if (!gc__fork_is_open) gc__fork_at_load();
    if (gc__fork_is_open) return GC_OK;
    return gc__fail(GC_ERROR_MEMORY, "gc_heap_create: the system gives no memory to have gc.h told of fork()");
}
/* What a process says of its collector: when the first heap is created, settings of the environment that nothing in the process
   heeds; at the end, where GC_VERBOSE asks for it, that the collector was there and what it found. */


static uint32_t gc__announced_by; /* number of the process that created the first heap; atomic; 0: there was none */
static bool gc__is_verbose;       /* written by the thread that creates the first heap */
static bool gc__shows_pauses;     /* so is this: GC_VERBOSE=pauses */

GC__COLD void gc__warn_unheeded(const gc_options *options, const char *variable, const char *why) {
    char message[GC__MESSAGE_BYTES];
    const char *value = gc__setting(variable);
    if (!value) return;
    snprintf(message, sizeof message,
             "environment %s=%.300s: the program `%.60s` (process %u) does not heed it, for %s; or unset %s for this "
             "program, if another one is meant",
             variable, value, gc__os_program_name(), gc__os_process_number(), why, variable);
    gc__warn(options, message);
}

/* Called when a heap was created. A process that was forked has been told by its parent. */
GC__COLD void gc__announce(const gc_options *options) {
    uint32_t nobody = 0;
    if (!GC_ENVIRONMENT || !__atomic_compare_exchange_n(&gc__announced_by, &nobody, gc__os_process_number(), false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    const char *verbose = gc__setting("GC_VERBOSE");
    gc__is_verbose = verbose && strcmp(verbose, "0") != 0;
    gc__shows_pauses = verbose && strcmp(verbose, "pauses") == 0;
    for (int i = 0; i < 2 && !gc__the_outside.can_be_chosen; i++)
        gc__warn_unheeded(options, i ? "GC_PATH" : "GC_NAME",
                          "its collector was compiled without GC_STANDALONE: define that, and include gc_standalone.h "
                          "instead of gc.h, in the file that defines GC_IMPLEMENTATION");
    if (!gc__the_profiling)
        gc__warn_unheeded(options, "GC_PROFILE",
                          gc__the_outside.can_be_chosen
                              ? "the collector in force was compiled without gc_profile.h: set GC_PATH to libgc-profile.so"
                              : "its collector was compiled without gc_profile.h: include that, after gc.h, in the file "
                                "that defines GC_IMPLEMENTATION");
}

/* The heap is about to be destroyed. */
GC__COLD void gc__announce_pauses(gc_heap *heap) {
    if (!gc__shows_pauses) return;
    fprintf(stderr, "gc.h: the pauses of heap %p of `%s` (process %u)\n", (void *)heap, gc__os_program_name(),
            gc__os_process_number());
    gc_heap_print_pauses(heap, stderr);
}

/* At the end of the process, or of a library with this collector. */
GC__COLD void gc__announce_end(void) {
    uint64_t count = __atomic_load_n(&gc__verifications, __ATOMIC_RELAXED);
    const char *name = gc__the_outside.name ? gc__the_outside.name : "gc.h " GC_VERSION_TEXT;
    if (!gc__is_verbose || gc__announced_by != gc__os_process_number()) return;
    fprintf(stderr, "gc.h: `%s` (process %u) ran on the collector `%s`, which ", gc__os_program_name(),
            gc__os_process_number(), name);
    if (count)
        fprintf(stderr, "verified its heaps %llu time%s and found no fault\n", (unsigned long long)count,
                count == 1 ? "" : "s");
    else
        fputs("was not asked to verify its heaps\n", stderr);
}
/* Creating and destroying heaps. */


/* Leaves *number as it is if the environment has no such variable. False with gc__fail: it is no number. */
GC__COLD bool gc__number_from_environment(const char *name, unsigned *number) {
    const char *text = gc__setting(name);
    if (!text || !*text) return true;
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value > ~0u)
        return gc__fail(GC_ERROR_OPTION, "environment %s=%s: it must be a number", name, text) == GC_OK;
    *number = (unsigned)value;
    return true;
}

/* Reads GC_STRESS, GC_VERIFY, GC_CHECKMARK, GC_COLLECTOR_THREADS and GC_CONCURRENT. */
GC__FN gc_result gc__options_from_environment(gc_options *options) {
    if (!GC_ENVIRONMENT) return GC_OK;
    const char *verify = gc__setting("GC_VERIFY");
    if (verify && strcmp(verify, "0") != 0) options->verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    const char *checkmark = gc__setting("GC_CHECKMARK");
    if (checkmark && strcmp(checkmark, "0") != 0) options->checkmark = true;
    if (!gc__number_from_environment("GC_COLLECTOR_THREADS", &options->collector_threads) ||
        !gc__number_from_environment("GC_TEST_COLLECTORS", &options->test_collectors))
        return GC_ERROR_OPTION;
    const char *concurrent = gc__setting("GC_CONCURRENT");
    if (concurrent && *concurrent)
        options->concurrent = strcmp(concurrent, "0") == 0 ? GC_CONCURRENT_OFF : GC_CONCURRENT_ON;
    const char *stress = gc__setting("GC_STRESS");
    if (!stress || !*stress) return GC_OK;
    char *end;
    unsigned long every = strtoul(stress, &end, 10);
    if (strcmp(stress, "allocation") == 0)
        options->stress = GC_STRESS_ALLOCATION;
    else if (strcmp(stress, "safepoint") == 0)
        options->stress = GC_STRESS_SAFEPOINT;
    else if (strcmp(stress, "stack") == 0)
        options->stress = GC_STRESS_STACK;
    else if (strcmp(stress, "location") == 0)
        options->stress = GC_STRESS_LOCATION;
    else if (*end == 0 && every <= 0xFFFFFFFF) {
        options->stress = every ? GC_STRESS_NTH : GC_STRESS_OFF;
        options->stress_interval = (unsigned)every;
    } else {
        return gc__fail(
            GC_ERROR_OPTION,
            "environment GC_STRESS=%s: it must be allocation, safepoint, stack, location, or a number N to collect at "
            "every Nth allocation",
            stress);
    }
    return GC_OK;
}

GC__FN gc_result gc__options_check(gc_options *options) {
    if (!gc__limit_is_least(options->heap_bytes_max)) return GC_ERROR_OPTION;
    if ((unsigned)options->stress > GC_STRESS_LOCATION)
        return gc__fail(GC_ERROR_OPTION, "options.stress is %d, which is none of GC_STRESS_*", (int)options->stress);
    if (options->stress == GC_STRESS_LOCATION && !options->location)
        return gc__fail(GC_ERROR_OPTION, "GC_STRESS=location needs options.location, by which the host says where it is");
    if (options->verify & ~(unsigned)(GC_VERIFY_BEFORE | GC_VERIFY_AFTER))
        return gc__fail(GC_ERROR_OPTION,
                        "options.verify is %u, which is not a sum of GC_VERIFY_BEFORE and GC_VERIFY_AFTER",
                        options->verify);
    if (options->collector_threads > GC__WORKERS_MAX)
        return gc__fail(GC_ERROR_OPTION, "options.collector_threads is %u: at most %u threads trace together",
                        options->collector_threads, GC__WORKERS_MAX);
    if ((unsigned)options->concurrent > GC_CONCURRENT_OFF)
        return gc__fail(GC_ERROR_OPTION, "options.concurrent is %d, which is none of GC_CONCURRENT_*",
                        (int)options->concurrent);
    if (!gc__overhead_is_percent(options->collecting_percent_max)) return GC_ERROR_OPTION;
    bool wanted = options->pause_goal_us && options->collector_threads != 1;
    if (options->concurrent == GC_CONCURRENT_DEFAULT)
        options->concurrent = wanted && !gc__marking_obstacle(options) ? GC_CONCURRENT_ON : GC_CONCURRENT_OFF;
    options->heap_bytes_soft = gc__min(options->heap_bytes_soft, GC__BUDGET_MOST);
    options->nursery_bytes = gc__min(options->nursery_bytes, GC__BUDGET_MOST);
    if (options->stress_interval == 0) options->stress_interval = 100;
    if (options->finalizer_patience_ms == 0) options->finalizer_patience_ms = 10000;
    if (options->stop_patience_ms == 0) options->stop_patience_ms = 10000;
    return GC_OK;
}

/* Gives back what all heaps share. Lock held; there is no heap. */
GC__COLD void gc__arena_end(void) {
    gc__log_close();
    gc__shadow_close();
    gc__arena_close();
}

/* One heap less, or one that was not created after all. */
GC__COLD void gc__arena_left(void) {
    gc__lock_take(&gc__the_arena.lock);
    if (!--gc__the_arena.heaps && gc__supply_is_host()) gc__arena_end();
    gc__lock_release(&gc__the_arena.lock);
}

/* A heap, with the structures that the rooms of src/ keep of it. */
typedef struct gc__instance {
    gc_heap heap;
    gc__threads threads;
    gc__collector collector;
    gc__pace pace;
    gc__cycle cycle;
    gc__handles handles;
    gc__finalizers finalizers;
    gc__stress stress;
    gc__marker marker;
    gc__pauses pauses;
    gc__remembered remembered;
} gc__instance;

GC__COLD void gc__heap_start_pace(gc_heap *heap) {
    gc__pace *pace = heap->pace;
    pace->cache_bytes = gc__os_l2_bytes();
    pace->allocating = 1;
    pace->nursery_bytes = heap->options.nursery_bytes;
    if (!pace->nursery_bytes)
        pace->nursery_bytes = gc__min(gc__max(pace->cache_bytes, GC__NURSERY_MIN), gc__nursery_most(heap));
    pace->young_ns_per_mib = GC__YOUNG_NS_FIRST;
    pace->copy_ns_per_mib = GC__COPY_NS_PER_MIB;
    pace->slot_ns = GC__SLOT_NS;
    pace->trace_ns_per_mib[0] = pace->trace_ns_per_mib[1] = GC__TRACE_NS_FIRST;
    if (!heap->options.nursery_bytes && gc__has_pause_goal(heap))
        pace->nursery_bytes = gc__min(pace->nursery_bytes, gc__nursery_in_time(heap));
    heap->budget_bytes = pace->nursery_bytes;
    pace->resumed_cpu_ns = gc__os_cpu_ns();
    pace->resumed_by = gc__os_self();
    gc__pace_goal(heap, 0);
    pace->survival[0] = 20;
    pace->survival[1] = pace->survival[2] = 100; /* not known yet: promoting in place is the cheaper mistake */
    pace->old_survival = 100;
}

/* The record of a heap that holds nothing yet; NULL with gc__fail. */
GC__COLD gc_heap *gc__heap_new(const gc_options *options) {
    gc__instance *all = (gc__instance *)calloc(1, sizeof *all);
    if (!all) {
        gc__fail(GC_ERROR_MEMORY, "gc_heap_create: the system gives no memory for the heap's record");
        return NULL;
    }
    gc_heap *heap = &all->heap;
    heap->options = *options;
    heap->threads = &all->threads;
    heap->collector = &all->collector;
    heap->pace = &all->pace;
    heap->cycle = &all->cycle;
    heap->cycle->plan = &heap->cycle->planned;
    heap->phase = GC_PHASE_NONE;
    heap->handles = &all->handles;
    heap->finalizers = &all->finalizers;
    heap->stress = &all->stress;
    heap->marker = &all->marker;
    heap->pauses = &all->pauses;
    gc__pauses_open(heap->pauses);
    heap->remembered = &all->remembered;
    gc__lock_init(&heap->threads->lock);
    gc__lock_init(&heap->threads->roots_lock);
    gc__lock_init(&heap->handles->lock);
    gc__lock_init(&heap->finalizers->lock);
    gc__lock_init(&heap->marker->lock);
    heap->threads->processors = gc__os_processors();
    heap->threads->crowded = heap->threads->processors == 1;
    heap->observer.changed = options->barrier_changed;
    heap->observer.host = options->host;
    heap->observer.needs_barrier = !options->non_generational;
    gc__limit_set(heap, options->heap_bytes_max, 0);
    heap->limit_is_open = !options->heap_bytes_max;
    heap->asked_concurrent = options->concurrent == GC_CONCURRENT_ON;
    gc__marking_resolve(heap, true);
    gc__heap_start_pace(heap);
    return heap;
}

GC__COLD void gc__heap_end_locks(gc_heap *heap) {
    gc__lock_end(&heap->threads->lock);
    gc__lock_end(&heap->threads->roots_lock);
    gc__lock_end(&heap->handles->lock);
    gc__lock_end(&heap->finalizers->lock);
    gc__lock_end(&heap->marker->lock);
}

GC_API gc_heap *gc_heap_create(const gc_options *given) {
    GC__API_SCOPE("gc_heap_create");
    gc_options options;
    memset(&options, 0, sizeof options);
    if (given) options = *given;
    if (gc__options_from_environment(&options) != GC_OK || gc__options_check(&options) != GC_OK) return NULL;
    gc__lock_take(&gc__the_arena.lock);
    gc_result opened = gc__arena_supply(options.memory);
    if (opened == GC_OK) opened = gc__arena_open();
    if (opened == GC_OK) opened = gc__shadow_open();
    if (opened == GC_OK) opened = gc__fork_open();
    if (opened == GC_OK) gc__marking_tables();
    gc__the_arena.heaps += opened == GC_OK;
    gc__lock_release(&gc__the_arena.lock);
    if (opened == GC_OK && (options.stress || options.verify || options.checkmark)) gc__faults_watch();
    gc_heap *heap = opened == GC_OK ? gc__heap_new(&options) : NULL;
    if (heap && gc__barrier_attach(&heap->observer) != GC_OK) {
        gc__heap_end_locks(heap);
        free(heap);
        heap = NULL;
    }
    if (heap) gc__marking_explain(heap);
    if (heap)
        gc__heaps_add(heap);
    else if (opened == GC_OK)
        gc__arena_left();
    if (heap && gc__the_profiling) gc__the_profiling->created(heap);
    if (heap) gc__announce(&heap->options);
    return heap;
}

GC__COLD void gc__heap_free_regions(gc_heap *heap) {
    while (heap->quarantine) gc__quarantine_pop(heap);
    for (int g = 0; g < GC_GENERATIONS; g++) {
        while (heap->regions[g]) {
            gc__region *region = heap->regions[g];
            heap->regions[g] = region->next;
            if (g) gc__cards_clear(region->base, gc__region_end(region));
            gc__heap_give(heap, region);
        }
    }
    while (heap->free) gc__heap_release_free(heap);
}

/* Asserts that no other thread is in cooperative mode, and that no compiled code is left, which would go on. A thread that
   has ended is not in the list; one in preemptive mode learns that the heap is gone when it leaves that mode. */
GC__COLD void gc__heap_check_left(const gc_heap *heap) {
    for (const gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        GC_ASSERT(
            thread == gc__thread_self(heap) || !gc__is_cooperative(thread),
            "gc_heap_destroy: the thread `%s` is attached and in cooperative mode, in which it may touch the heap: "
            "have it call gc_thread_detach first, or wait in preemptive mode",
            gc__thread_name(thread));
        GC_ASSERT(!thread->code,
                  "gc_heap_destroy: the thread `%s` is in a native function that returns to compiled code",
                  gc__thread_name(thread));
    }
}

/* Separates the thread, which is in the heap's list no more, from the heap. */
GC__COLD void gc__thread_dismiss(gc_heap *heap, gc_thread *thread) {
    gc__attach_note(thread, false);
    gc__thread_close_frames(thread);
    if (gc__thread_self(heap) == thread)
        gc__thread_forget(thread);
    else
        thread->heap = NULL; /* its native thread frees it when it ends */
}

/* Dismisses all threads but those that run a finalizer, or have run one and are about to detach. */
GC__COLD void gc__heap_dismiss_idle(gc_heap *heap) {
    const gc_thread *self = gc__thread_self(heap);
    for (gc_thread **link = &heap->threads->first; *link;) {
        gc_thread *thread = *link;
        bool stays = thread != self && (gc__record(thread)->parked || gc__is_cooperative(thread));
        if (stays || gc__is_finalizing(heap->finalizers, thread, NULL)) {
            link = &gc__record(thread)->next;
        } else {
            *link = gc__record(thread)->next;
            gc__thread_dismiss(heap, thread);
        }
    }
}

/* Ends a heap whose memory a finalizer still uses. Callbacks that run under the lock are removed under the lock; code that
   makes a callback without it asks gc__is_abandoned first. */
GC__COLD void gc__heap_abandon(gc_heap *heap) {
    gc_options *options = &heap->options;
    uint64_t deadline = gc__deadline(options->finalizer_patience_ms);
    gc__heap_lock(heap); /* after a collection that the finalizer has begun */
    __atomic_store_n(&heap->threads->abandoned, 1u, __ATOMIC_SEQ_CST);
    options->scan_roots = NULL;
    options->suspend = options->restart = NULL;
    options->collection_start = options->collection_end = options->collection_traced = NULL;
    options->handle_is_held = NULL;
    options->location = NULL;
    if (options->stress == GC_STRESS_LOCATION) options->stress = GC_STRESS_OFF;
    options->finalizers_ready = NULL;
    options->warning = options->fatal = NULL;
    gc__heap_dismiss_idle(heap);
    gc__workers_end(heap);
    gc__marking_end_thread(heap);
    gc__store_logging_publish(heap, false); /* what barriers write to stays, since the finalizer may be storing */
    gc__heap_unlock(heap);
    gc__barrier_detach(&heap->observer);
    while (__atomic_load_n(&heap->threads->asking, __ATOMIC_SEQ_CST) && gc__os_now_ns() < deadline) {
        gc__save_registers(gc__my_registers);
        gc__park(NULL);
        gc__os_wait_for(&heap->threads->abandoned, 1, GC__NS_PER_MS);
        gc__unpark_all();
    }
}

GC_API void gc_heap_destroy(gc_heap *heap) {
    if (!heap) return;
    if (GC_DEBUG >= 1) gc__check_outside("gc_heap_destroy");
    if (gc__is_called_by_hook(heap, "gc_heap_destroy")) return;
    if (gc__is_called_by_asked(gc__thread_self(heap), "gc_heap_destroy", (uintptr_t)__builtin_frame_address(0))) return;
    gc__marking_close(heap);
    bool ended = gc__finalizers_end(heap, __builtin_frame_address(0));
    if (ended) gc__announce_pauses(heap);
    gc__heaps_remove(heap);
    if (ended && gc__the_profiling) gc__the_profiling->destroyed(heap);
    if (!ended) {
        gc__heap_abandon(heap);
        return;
    }
    gc__heap_check_left(heap);
    while (heap->threads->first) {
        gc_thread *thread = heap->threads->first;
        heap->threads->first = gc__record(thread)->next;
        gc__thread_dismiss(heap, thread);
    }
    while (heap->threads->stacks) {
        heap->threads->stacks->thread = NULL;
        gc_stack_destroy(heap->threads->stacks);
    }
    gc__workers_end(heap);
    gc__marking_end_thread(heap);
    gc__remembering_end(heap);
    gc__log_flush();
    gc__heap_free_regions(heap);
    gc__barrier_detach(&heap->observer);
    gc__handles_free_all(heap);
    gc__finalizers_free(heap);
    for (int g = 0; g < GC_GENERATIONS; g++) gc__map_free(&heap->collector->external[g]);
    gc__map_free(&heap->cycle->ambiguous);
    gc__map_free(&heap->stress->seen);
    gc__words *lists[] = {&heap->cycle->roots,        &heap->cycle->interior,        &heap->cycle->pins,
                          &heap->collector->globals,  &heap->cycle->external_moving, &heap->collector->mark_stack,
                          &heap->cycle->entries.words,   &heap->cycle->entries.ended,
                          &heap->cycle->stacks,        &heap->stress->kept,      &heap->cycle->reported,
                          &heap->cycle->offsets};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) gc__words_free(lists[i]);
    gc__heap_end_locks(heap);
    free(heap);
    gc__arena_left();
}

/* Without this function a library that is unloaded would leave its arena behind, and a call into itself at the end of each
   thread that ever attached. If there still is a heap, as when the program ends without destroying it, all of that may be
   in use. */
GC__AT_UNLOAD GC__FN void gc__unload(void) {
    gc__announce_end();
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__the_arena.heaps) {
        gc__os_leave();
        gc__arena_end();
    }
    gc__lock_release(&gc__the_arena.lock);
}

GC_API void *gc_heap_host(const gc_heap *heap) {
    return gc__is_null(heap, "gc_heap_host", "heap") ? NULL : heap->options.host;
}
#endif
