/* Compile-time facts. Every translation unit of a program must be compiled with the same ones. */
#pragma once

#if defined(GC_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* mmap's flags and pthread_getattr_np, also under -std=c11 */
#endif

#if defined(GC_IMPLEMENTATION) && defined(GC_STANDALONE) && !defined(GC__STANDALONE_FIRST)
#error "with GC_STANDALONE the file that defines GC_IMPLEMENTATION includes gc_standalone.h instead of gc.h"
#endif

#include "linkage.h"

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

/* What may be left out of the collector: its text is 247 KB with everything, and 146 without all three. Inline code is the same,
   so only the file that defines GC_IMPLEMENTATION needs them. Options that ask for what is left out are refused. */
#ifndef GC_CONCURRENT
#define GC_CONCURRENT 1 /* 0: nothing is marked concurrently, so full collections stop the program; saves 44 KB */
#endif
#ifndef GC_COLLECTOR_THREADS_MAX
#define GC_COLLECTOR_THREADS_MAX 32 /* 1: one thread collects alone; saves 20 KB */
#endif
#if GC_COLLECTOR_THREADS_MAX < 1 || GC_COLLECTOR_THREADS_MAX > 32
#error "GC_COLLECTOR_THREADS_MAX must be 1 to 32"
#endif
#ifndef GC_DIAGNOSTICS
/* 0: nothing is verified, stressed, explained or printed, and gc_dac.h cannot read the heap: what remains is the numbers of
   statistics, warnings and error messages; saves 36 KB */
#define GC_DIAGNOSTICS 1
#endif
#if GC_SHADOW_HEAP && !GC_DIAGNOSTICS
#error "GC_SHADOW_HEAP needs GC_DIAGNOSTICS=1"
#endif

/* The value seam, implemented by the host: what a tagged slot (GC_TYPE_VALUES, GC_SLOT_VALUE) holds.
   GC_VALUE_IS_REF(word): whether the word refers to an object. Any word must be accepted; either answer is right for 0.
   GC_VALUE_TO_REF(word): that object's address. GC_VALUE_FROM_REF(ref, word): the word that refers to ref as `word`
   referred to the object before it moved. A word is a uintptr_t.
   Or two numbers instead, by which collectors in libraries (gc_standalone.h) know values, too. GC_VALUE_MASK and
   GC_VALUE_TAG: a word refers to an object if (word & mask) == tag, and then to the object at word - tag.
   Or, where a value is a struct of a word and a tag beside it, GC_VALUE_SLOT_IS_REF(slot): whether the word at `slot` (a const
   void *) is the address of an object. Null is allowed. GC_VALUE_BYTES is the size of such a struct, a multiple of 8, whose
   first member is the word; 16 if the host does not say. Values that follow one another have that distance, and where values
   are counted, these are. With `concurrent` the marker may read the tag of one value with the word of another while a thread
   stores both: it checks what it then takes for an address, so the two may be stored in any order, but each at once. */
#ifdef GC_VALUE_SLOT_IS_REF
#if defined(GC_VALUE_TAG) || defined(GC_VALUE_IS_REF)
#error "GC_VALUE_SLOT_IS_REF is defined: define neither GC_VALUE_TAG nor GC_VALUE_IS_REF"
#endif
#define GC__VALUES_ARE_WIDE 1
#ifndef GC_VALUE_BYTES
#define GC_VALUE_BYTES 16
#endif
#define GC_VALUE_IS_REF(word) ((void)(word), 0) /* no word alone refers to an object as a value */
#define GC_VALUE_TO_REF(word) (word)
#define GC_VALUE_FROM_REF(ref, word) (ref)
#else
#ifdef GC_VALUE_BYTES
#error "GC_VALUE_BYTES is defined: define GC_VALUE_SLOT_IS_REF(slot) too"
#endif
#define GC__VALUES_ARE_WIDE 0
#define GC_VALUE_BYTES 8
#endif
#if GC_VALUE_BYTES % 8
#error "GC_VALUE_BYTES must be a multiple of 8"
#endif
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
/* Whether `word`, which was read from `slot` or is stored there, refers to an object. */
#if GC__VALUES_ARE_WIDE
#define GC__VALUES_NAME GC_VALUE_BYTES
/* A function, so that names in the host's macro are the host's. */
static inline bool gc__value_slot_is_ref(const void *gc__slot) { return GC_VALUE_SLOT_IS_REF(gc__slot); }
#define GC__VALUE_IS_REF(slot, word) (gc__value_slot_is_ref(slot) && (word))
#else
#define GC__VALUES_NAME GC_HAS_VALUES
#define GC__VALUE_IS_REF(slot, word) GC_VALUE_IS_REF(word)
#endif
#ifndef GC__VALUES_IN_USE
#define GC__VALUES_IN_USE GC_HAS_VALUES
#endif

/* The object-model seam, implemented by the host that has its own headers. Bit 0 of a live object's first word must be
   clear. GC_MODEL_BYTES(object): its size in bytes; GC_MODEL_TRACE(object, visitor): calls gc_visit for each of its
   slots, under the rules of gc_type.trace; GC_MODEL_NAME(object): its type's name, for reports.
   GC_MODEL_BYTES_AS(object, word): its size where `word` stands for its first word, which is not read, as another thread may be
   replacing it; the rest of the object may be read. A host that defines it may have several collector threads, with any
   options.trace_functions but ALONE, and mark concurrently, with GC_TRACE_FUNCTIONS_CONCURRENT.
   GC_MODEL_OWNS(object): whether slots outside it may be reported (GC_SLOT_OWNED), for options.initializing_barriers. */
#ifdef GC_MODEL_BYTES
#define GC_HAS_MODEL 1
#if !defined(GC_MODEL_TRACE) || !defined(GC_MODEL_NAME)
#error "GC_MODEL_BYTES is defined: define GC_MODEL_TRACE(object, visitor) and GC_MODEL_NAME(object) too"
#endif
#ifndef GC_MODEL_OWNS
#define GC_MODEL_OWNS(object) true
#endif
#else
#define GC_HAS_MODEL 0
#endif
#if !GC_HAS_MODEL || defined(GC_MODEL_BYTES_AS)
#define GC__MODEL_IS_SHARED 1 /* several threads may ask for objects' sizes while objects are copied */
#else
#define GC__MODEL_IS_SHARED 0
#endif

/* What the implementation has. */
#define GC__HAS_MARKER (GC_CONCURRENT && GC__MODEL_IS_SHARED)
#define GC__HAS_WORKERS (GC_COLLECTOR_THREADS_MAX > 1 && GC__MODEL_IS_SHARED)

#if GC_DEBUG >= 1
#define GC_ASSERT(condition, ...) ((condition) ? (void)0 : gc__misuse(__FILE__, __LINE__, __VA_ARGS__))
#else
#define GC_ASSERT(condition, ...) ((void)0)
#endif

#define GC__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GC__LIKELY(x) __builtin_expect(!!(x), 1)

GC_API void gc__misuse(const char *file, int line, const char *format, ...)
    __attribute__((GC__PRINTF(3, 4), __noreturn__, __cold__));

/* The name of one symbol lists all that inline code depends on. Every unit refers to that symbol and the implementation
   defines it, so units of different configurations do not link, and the linker's message shows both. */
#define GC__CONFIGURATION2(r, c, b, u, w, s, v, m) \
    gc_configuration_region_shift_##r##_card_shift_##c##_bits_##b##_bundle_##u##_barrier_##w##_shadow_##s##_values_##v##_model_##m
#define GC__CONFIGURATION1(...) GC__CONFIGURATION2(__VA_ARGS__)
#define GC__CONFIGURATION                                                                                         \
    GC__CONFIGURATION1(GC_REGION_SHIFT, GC_CARD_SHIFT, GC_CARD_BITS, GC_BUNDLE_SHIFT, GC_BARRIER, GC_SHADOW_HEAP, \
                       GC__VALUES_NAME, GC_HAS_MODEL)
#if !GC__API_IS_STATIC
GC__SHARED const char GC__CONFIGURATION;
static const char *const gc__configuration __attribute__((used)) = &GC__CONFIGURATION;
#endif
