/* Compile-time facts of the barrier. Every translation unit of a program must see the same values. */
#pragma once

#include "style.h"

#ifndef __GNUC__
#error "gc.h needs gcc or clang: it uses their attributes, built-in functions and inline assembly"
#include GC__STOP
#endif
#if !defined(__SIZEOF_POINTER__) || __SIZEOF_POINTER__ != 8
#error "gc.h needs pointers of 64 bits: compile for a 64-bit processor, without -m32 or -mx32"
#include GC__STOP
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef GC_REGION_SHIFT
/* log2 of a region's bytes: 16 to 30. Smaller regions waste less, larger ones cost less bookkeeping. */
#define GC_REGION_SHIFT 18
#endif
#ifndef GC_CARD_BITS
#define GC_CARD_BITS 0 /* 1: a card is one bit (an eighth of the table, a locked OR per dirtied card); 0: a byte */
#endif
#ifndef GC_CARD_SHIFT
#define GC_CARD_SHIFT 9 /* log2 of the bytes that one card covers: 7 to 12 */
#endif
/* log2 of the bytes that one bundle byte covers; 0: no bundles, every card is checked. It is part of a name, so it is a
   number. */
#ifndef GC_BUNDLE_SHIFT
#if GC_CARD_SHIFT < 11
#define GC_BUNDLE_SHIFT 16
#elif GC_CARD_SHIFT + 6 > GC_REGION_SHIFT
#define GC_BUNDLE_SHIFT 0
#elif GC_CARD_SHIFT == 11
#define GC_BUNDLE_SHIFT 17
#else
#define GC_BUNDLE_SHIFT 18
#endif
#endif
#ifndef GC_BARRIER
#define GC_BARRIER rank_sum /* the heap's barrier: a name from GC_BARRIERS, or at_run_time */
#endif
/* The length of user addresses, unless the program asks for higher ones. Where a system gives fewer (39 bits, on some of
   AArch64) the tables can be smaller. */
#ifndef GC_ADDRESS_BITS
#ifdef __x86_64__
#define GC_ADDRESS_BITS 47
#else
#define GC_ADDRESS_BITS 48
#endif
#endif
/* Words for the registers that calls preserve, and one for the stack pointer. Where it is not known which those are, they
   are words for a whole frame that has saved them. */
#ifdef _WIN32
#define GC__SAVED_REGISTERS 32
#elif defined(__x86_64__)
#define GC__SAVED_REGISTERS 12
#elif defined(__aarch64__)
#define GC__SAVED_REGISTERS 20
#else
#define GC__SAVED_REGISTERS 128
#endif
#define GC_WATCH_SHIFT 12 /* log2 of the bytes that one write-watch byte covers */

#define GC_REGION_BYTES ((size_t)1 << GC_REGION_SHIFT)
#define GC_CARD_BYTES ((size_t)1 << GC_CARD_SHIFT)
#define GC_RANK_ENTRIES ((size_t)1 << (GC_ADDRESS_BITS - GC_REGION_SHIFT))
#define GC_CARD_DIRTY 0xFF /* the value of a dirty byte card, of a dirty bundle and of a written page */
/* log2 of the bytes that a byte of the card table covers */
#define GC_CARD_BYTE_SHIFT (GC_CARD_SHIFT + 3 * GC_CARD_BITS)

#if GC_REGION_SHIFT < 16 || GC_REGION_SHIFT > 30
#error "GC_REGION_SHIFT must be 16 to 30: smaller regions make the rank tables exceed a 32-bit displacement"
#endif
#if defined(__x86_64__) && GC_ADDRESS_BITS - GC_REGION_SHIFT > 31
#error "GC_ADDRESS_BITS must be at most GC_REGION_SHIFT + 31: rank tables must not exceed a 32-bit displacement"
#endif
#if GC_CARD_SHIFT < 7 || GC_CARD_SHIFT > 12
#error "GC_CARD_SHIFT must be 7 to 12: a card covers 128 bytes to 4 KiB"
#endif
#if GC_CARD_BITS != 0 && GC_CARD_BITS != 1
#error "GC_CARD_BITS must be 0 (a byte per card) or 1 (a bit per card)"
#endif
#if GC_BUNDLE_SHIFT != 0 && (GC_BUNDLE_SHIFT > GC_REGION_SHIFT || GC_BUNDLE_SHIFT < GC_CARD_SHIFT + 6)
#error "GC_BUNDLE_SHIFT must be 0 or between GC_CARD_SHIFT + 6 and GC_REGION_SHIFT: a bundle covers at least 64 cards"
#endif

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(GC_PORTABLE_BARRIERS)
#define GC_HAS_ASSEMBLY 1
#else
#define GC_HAS_ASSEMBLY 0
#endif
#ifdef __x86_64__
#define GC__IS_X86_64 1
#else
#define GC__IS_X86_64 0
#endif
#ifdef __aarch64__
#define GC__IS_AARCH64 1
#else
#define GC__IS_AARCH64 0
#endif
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)) /* instructions have their lowest byte first */
#define GC_HAS_EMIT 1
#else
#define GC_HAS_EMIT 0 /* gc_barrier_emit has no machine code for this processor: calls of it do not compile */
#endif

/* Whether assembly can call log_store: what it calls preserves all registers but the upper parts of SVE's, which compilers keep
   values in where they may use SVE. */
#if defined(_WIN32) || defined(__ARM_FEATURE_SVE)
#define GC__ASM_CAN_LOG 0
#else
#define GC__ASM_CAN_LOG 1
#endif

/* GC__INTERNAL, GC__EXPORT: attributes of symbols that other libraries do not see, or do; GC__ASM_HIDDEN is the same in
   assembly. In Windows' files a symbol is visible only where it is exported.

   GC_EMITTED: the attribute of the type of emitted barriers (gc_barrier_emit), for calls from C. */
#ifdef _WIN32
#define GC__HAS_RED_ZONE 0 /* faults that are handled overwrite what is below the stack pointer */
#define GC_EMITTED __attribute__((sysv_abi))
#define GC__INTERNAL
#define GC__EXPORT __declspec(dllexport)
#define GC__ASM_HIDDEN(name) ""
#else
#define GC__HAS_RED_ZONE 1
#define GC_EMITTED
#define GC__INTERNAL __attribute__((visibility("hidden")))
#define GC__EXPORT __attribute__((visibility("default")))
#define GC__ASM_HIDDEN(name) ".hidden " name "\n\t"
#endif
/* The attribute of functions like printf. On Windows there is more than one printf, and the C library says which one is in
   force. */
#ifdef __MINGW32__
#define GC__PRINTF(format_at, arguments_at) format(__MINGW_PRINTF_FORMAT, format_at, arguments_at)
#else
#define GC__PRINTF(format_at, arguments_at) format(printf, format_at, arguments_at)
#endif

/* The order that x86-64 keeps by itself, and other processors only where they are told: what comes before is read, or read and
   written, before what comes after is read, or written. */
#if defined(__x86_64__)
#define GC__ORDER_LOADS() __asm__ volatile("" ::: "memory")
#define GC__ORDER_STORES() __asm__ volatile("" ::: "memory")
#elif defined(__aarch64__)
#define GC__ORDER_LOADS() __asm__ volatile("dmb ishld" ::: "memory")
#define GC__ORDER_STORES() __asm__ volatile("dmb ish" ::: "memory")
#else
#define GC__ORDER_LOADS() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define GC__ORDER_STORES() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

#define GC__TEXT(x) GC__TEXT_(x)
#define GC__TEXT_(x) #x
#define GC__PASTE(a, b) GC__PASTE_(a, b)
#define GC__PASTE_(a, b) a##b

/* The values that GC_BARRIER may have. */
#define GC__IS_BARRIER_none 1
#define GC__IS_BARRIER_rank_sum 1
#define GC__IS_BARRIER_rank_sum_branch_free 1
#define GC__IS_BARRIER_card_unconditional 1
#define GC__IS_BARRIER_card_conditional 1
#define GC__IS_BARRIER_pre_grow 1
#define GC__IS_BARRIER_post_grow 1
#define GC__IS_BARRIER_svr 1
#define GC__IS_BARRIER_byte_region 1
#define GC__IS_BARRIER_bit_region 1
#define GC__IS_BARRIER_write_watch_pre_grow 1
#define GC__IS_BARRIER_write_watch_post_grow 1
#define GC__IS_BARRIER_write_watch_svr 1
#define GC__IS_BARRIER_write_watch_byte_region 1
#define GC__IS_BARRIER_write_watch_bit_region 1
#define GC__IS_BARRIER_object_logging 1
#define GC__IS_BARRIER_at_run_time 2
#if !GC__PASTE(GC__IS_BARRIER_, GC_BARRIER)
#error "GC_BARRIER must be a name from the list GC_BARRIERS, such as rank_sum or bit_region, or at_run_time"
#undef GC_BARRIER
#define GC_BARRIER rank_sum
#endif
