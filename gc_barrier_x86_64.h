/* Generated from src/gc_barrier_x86_64.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_barrier_x86_64.h - the write barriers of gc.h, usable on their own.

   A generational collector must know every reference from an old object to a younger one. A write barrier is code at
   each store of a reference that records the store in a table of cards: bytes (or bits) that each stand for a small
   part of the heap. This header has sixteen barriers; GC_BARRIERS lists them and defines what each does.

   The default, rank sum, has two byte tables indexed by address >> GC_REGION_SHIFT over the whole user address space:

       age[slot]  = generation of the region that holds the slot, 0 where there is no heap
       youth[ref] = 2 - generation of the region that holds the referent, 0 where there is no heap

   A store needs its card dirtied exactly if age + youth > 2. There is one branch and no range check; null, stack and
   static slots, and referents outside the heap all come out right. The youth table lies just below the age table, so
   one base pointer reaches both.

   Each barrier NAME comes as

       gc_barrier_store_NAME(tables, slot, ref)      inline assembly (C elsewhere, or with GC_PORTABLE_BARRIERS)
       gc_barrier_checked_NAME(tables, slot, ref)    for slots that may lie outside the heap
       gc_barrier_after_NAME(tables, slot, ref)      the barrier alone, after a store
       gc_barrier_assign_NAME(tables, &to, &from)    *to = *from, and moves both; also _checked_
       gc_barrier_copy_NAME(tables, to, from, count) memmove, one pass; also _checked_
       gc_barrier_store_c(GC_BARRIER_NAME, ..)       portable C, in the same forms
       gc_barrier_functions_of(GC_BARRIER_NAME)      pointers, to call out of line
       gc_barrier_emit(.., GC_BARRIER_NAME, ..)      machine code in a buffer, for JIT compilers; gc_barrier_patch

   Without the collector: fill the fields of a gc_barrier_tables that the barrier reads, and call any of these. With it,
   gc_store uses GC_BARRIER, and the collector maintains the tables. The project's docs/barriers.md compares the
   barriers. */
#pragma once

/* Compile-time facts of the barrier. Every translation unit of a program must see the same values. */

/* A host's rules of style do not apply to gc.h: between GC__STYLE_BEGIN and GC__STYLE_END a compiler gives no warnings
   that many projects turn on, or into errors, but that show no fault. */

#include <stddef.h>

/* `#include GC__STOP` after an #error ends the compilation, so that the errors that would follow do not hide its sentence. */
#define GC__STOP <gc.h: see the error above>

#define GC__PRAGMA(text) _Pragma(#text)
#define GC__IGNORE_WARNING(name) GC__PRAGMA(GCC diagnostic ignored name)
#ifdef __cplusplus
#define GC__IGNORE_WARNINGS_OF_C
#else
#define GC__IGNORE_WARNINGS_OF_C                        \
    GC__IGNORE_WARNING("-Wdeclaration-after-statement") \
    GC__IGNORE_WARNING("-Wbad-function-cast")           \
    GC__IGNORE_WARNING("-Wmissing-prototypes")          \
    GC__IGNORE_WARNING("-Wc++-compat")
#endif
#define GC__STYLE_BEGIN                       \
    GC__PRAGMA(GCC diagnostic push)           \
    GC__IGNORE_WARNING("-Wredundant-decls")   \
    GC__IGNORE_WARNING("-Wcast-qual")         \
    GC__IGNORE_WARNING("-Wcast-align")        \
    GC__IGNORE_WARNING("-Wfloat-equal")       \
    GC__IGNORE_WARNING("-Wswitch-enum")       \
    GC__IGNORE_WARNING("-Wswitch-default")    \
    GC__IGNORE_WARNING("-Wformat-nonliteral") \
    GC__IGNORE_WARNING("-Wpadded")            \
    GC__IGNORE_WARNING("-Winline")            \
    GC__IGNORE_WARNING("-Wnull-dereference")  \
    GC__IGNORE_WARNINGS_OF_C
#define GC__STYLE_END GC__PRAGMA(GCC diagnostic pop)

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

GC__STYLE_BEGIN

/* The tables that barriers read and write, and the list of barriers. */


/* A word of the heap. It may alias any type, since slots have the host's types. */
typedef uintptr_t __attribute__((may_alias)) gc_word;

/* The buffer in which object_logging logs the slots or objects stored to: words from its start up to `limit`. */
typedef struct gc_barrier_log {
    uintptr_t next;  /* address of the next word; it keeps growing when the buffer is full */
    uintptr_t limit; /* address of the buffer's end */
} gc_barrier_log;

/* The tables. All bases are biased: base + (address >> shift) is the entry of an address. Only what a barrier reads
   needs to be filled: age (with youth below it) for filters RANK, SUM, REGION and OLD; cards and bundles for every
   mark, even for LOG, which uses them when its log is full. A card table byte is cards[address >> GC_CARD_BYTE_SHIFT];
   with bits, a card is bit (address >> GC_CARD_SHIFT) & 7. */
typedef struct gc_barrier_tables {
    uint8_t *age; /* GC_RANK_ENTRIES entries; youth is another GC_RANK_ENTRIES just below them */
    uint8_t *cards;
    uint8_t *bundles;          /* unused without bundles */
    uint8_t *watch;            /* write_watch_*: a byte per page of 2^GC_WATCH_SHIFT bytes */
    uint8_t *log_bits;         /* object_logging: bit (address >> 3) & 7 of byte address >> 6 */
    gc_barrier_log *log;       /* object_logging */
    uintptr_t low, high;       /* filters LOW, RANGE and REGION: young referents are in [low, high) */
    uintptr_t lowest, highest; /* checked forms: slots outside [lowest, highest) are not in the heap */
    /* RANK calls this, instead of its other steps, for a slot whose age has GC_AGE_LOGGED, and never for other ages.
       The assembly pushes ref and slot, calls log_store_call, which preserves every register, and pops them again. On AArch64
       they are in x17 and x16, which it may change: it then reads the word at x16, and so faults if ref is stale. The collector's
       functions are gc__store_logged and gc__store_logged_call. */
    void (*log_store)(const void *slot, const void *ref);
    void (*log_store_call)(void);
    uintptr_t end; /* of all addresses that objects may ever have, which begin at `lowest` */
} gc_barrier_tables;

/* Set in the age of a heap's regions of generation 2 while stores there are logged one by one, because objects are
   being marked concurrently, or slots are remembered instead of cards. The bits above GC_AGE_GENERATION tell the
   collector which. */
#define GC_AGE_LOGGED 0x80
#define GC_AGE_GENERATION 0x03

/* The barriers: name, enumerator, write watch, filter, mark. After *slot = ref,
     write watch  1: the byte of the slot's page becomes 0xFF if it is 0
     filter       ANY     always
                  LOW     if ref >= low
                  RANGE   if low <= ref < high
                  REGION  if age[slot] != 0, low <= ref < high, and age[ref] < age[slot]
                  RANK    if age[slot] + youth[ref] > 2; for ages with GC_AGE_LOGGED log_store is called instead, before the
                          store if the form has one. SUM is the same without a branch, and without log_store
                  OLD     if age[slot] != 0
     mark         CARD    unless the card is dirty: make it so, and the bundle unless it is
                  BYTE    as CARD, with the card table's whole byte, even where cards are bits
                  BIT     as CARD, with one bit of the byte, even where cards are bytes: a card is dirty if it is not 0
                  ALWAYS  write card and bundle without reading them
                  SELECT  as CARD, but if the filter fails, on a byte that is always dirty: no branch on ages
                  LOG     unless the object's log bit is set: set it, and append the object to the log, or if that is full
                          make the slot's card and bundle dirty
   The names are the CLR's where it has the barrier: JIT_WriteBarrier_PreGrow64, _PostGrow64, _SVR64, _Byte_Region64,
   _Bit_Region64 and JIT_WriteBarrier_WriteWatch_*. */
#define GC_BARRIERS(X)                                                   \
    X(none, NONE, 0, ANY, NOTHING)                                       \
    X(rank_sum, RANK_SUM, 0, RANK, CARD)                                 \
    X(rank_sum_branch_free, RANK_SUM_BRANCH_FREE, 0, SUM, SELECT)        \
    X(card_unconditional, CARD_UNCONDITIONAL, 0, ANY, ALWAYS)            \
    X(card_conditional, CARD_CONDITIONAL, 0, ANY, CARD)                  \
    X(pre_grow, PRE_GROW, 0, LOW, BYTE)                                  \
    X(post_grow, POST_GROW, 0, RANGE, BYTE)                              \
    X(svr, SVR, 0, ANY, BYTE)                                            \
    X(byte_region, BYTE_REGION, 0, REGION, BYTE)                         \
    X(bit_region, BIT_REGION, 0, REGION, BIT)                            \
    X(write_watch_pre_grow, WRITE_WATCH_PRE_GROW, 1, LOW, BYTE)          \
    X(write_watch_post_grow, WRITE_WATCH_POST_GROW, 1, RANGE, BYTE)      \
    X(write_watch_svr, WRITE_WATCH_SVR, 1, ANY, BYTE)                    \
    X(write_watch_byte_region, WRITE_WATCH_BYTE_REGION, 1, REGION, BYTE) \
    X(write_watch_bit_region, WRITE_WATCH_BIT_REGION, 1, REGION, BIT)    \
    X(object_logging, OBJECT_LOGGING, 0, OLD, LOG)

typedef enum gc_barrier {
#define GC__BARRIER_ENUMERATOR(name, NAME, watch, filter, mark) GC_BARRIER_##NAME,
    GC_BARRIERS(GC__BARRIER_ENUMERATOR)
#undef GC__BARRIER_ENUMERATOR
        GC_BARRIER_COUNT
} gc_barrier;

typedef enum gc__filter {
    GC__FILTER_ANY,
    GC__FILTER_LOW,
    GC__FILTER_RANGE,
    GC__FILTER_REGION,
    GC__FILTER_RANK,
    GC__FILTER_SUM,
    GC__FILTER_OLD
} gc__filter;
typedef enum gc__card_mark {
    GC__MARK_NOTHING,
    GC__MARK_CARD,
    GC__MARK_BYTE,
    GC__MARK_BIT,
    GC__MARK_ALWAYS,
    GC__MARK_SELECT,
    GC__MARK_LOG
} gc__card_mark;

typedef struct gc__barrier_parts {
    const char *name;
    uint8_t watch, filter, mark;
} gc__barrier_parts;

static inline gc__barrier_parts gc__barrier_parts_of(gc_barrier barrier) {
    static const gc__barrier_parts parts[] = {
#define GC__BARRIER_PARTS(name, NAME, watch, filter, mark) {#name, watch, GC__FILTER_##filter, GC__MARK_##mark},
        GC_BARRIERS(GC__BARRIER_PARTS)
#undef GC__BARRIER_PARTS
    };
    return parts[barrier];
}

/* Returns the barrier's name, as in GC_BARRIERS; "unknown" for other numbers. [any thread; never collects; cannot
   fail] */
static inline const char *gc_barrier_name(gc_barrier barrier) {
    return (unsigned)barrier < GC_BARRIER_COUNT ? gc__barrier_parts_of(barrier).name : "unknown";
}

/* Returns the barrier of that name; GC_BARRIER_COUNT if there is none. [any thread; never collects; GC_BARRIER_COUNT:
   there is none] */
static inline gc_barrier gc_barrier_named(const char *name) {
    int barrier = 0;
    while (barrier < GC_BARRIER_COUNT && strcmp(gc_barrier_name((gc_barrier)barrier), name) != 0) barrier++;
    return (gc_barrier)barrier;
}

/* True if barriers with this watch and filter read the slot's age first, so that any slot is correct without a
   check. */
#define GC__ANYWHERE(watch, filter) (!(watch) && (filter) >= GC__FILTER_REGION)

/* *slot = ref. Another thread that reads the reference there also sees what this thread wrote to the object before. */
static inline void gc__barrier_publish(void *slot, uintptr_t ref) { __atomic_store_n((gc_word *)slot, ref, __ATOMIC_RELEASE); }

static inline uint8_t gc__barrier_load(const uint8_t *byte) { return __atomic_load_n(byte, __ATOMIC_RELAXED); }
static inline void gc__barrier_write(uint8_t *byte) {
    __atomic_store_n(byte, (uint8_t)GC_CARD_DIRTY, __ATOMIC_RELAXED);
}
static inline void gc__barrier_set(uint8_t *byte) {
    if (gc__barrier_load(byte) != GC_CARD_DIRTY) gc__barrier_write(byte);
}

static inline uint8_t *gc__barrier_card_byte(const gc_barrier_tables *tables, uintptr_t slot) {
    return tables->cards + (slot >> GC_CARD_BYTE_SHIFT);
}

/* Returns the bit for the slot in its byte of the card table. Where cards are bytes, a bit stands for an eighth of a
   card. */
static inline uint8_t gc__barrier_card_bit(uintptr_t slot) {
    return (uint8_t)(1u << ((slot >> (GC_CARD_BYTE_SHIFT - 3)) & 7));
}

/* Makes the bits in `mask` of the slot's card byte dirty if they are not, and then its bundle. Invariant: the bundle of
   a dirty card is dirty; so nothing needs to be done for a dirty card. */
static inline void gc__barrier_dirty_at(const gc_barrier_tables *tables, uint8_t *card, uintptr_t slot, uint8_t mask) {
    if ((gc__barrier_load(card) & mask) == mask) return;
    if (mask == GC_CARD_DIRTY)
        gc__barrier_write(card);
    else
        __atomic_fetch_or(card, mask, __ATOMIC_RELAXED);
    if (GC_BUNDLE_SHIFT) gc__barrier_set(tables->bundles + (slot >> GC_BUNDLE_SHIFT));
}
static inline void gc__barrier_dirty(const gc_barrier_tables *tables, uintptr_t slot, uint8_t mask) {
    gc__barrier_dirty_at(tables, gc__barrier_card_byte(tables, slot), slot, mask);
}

/* SELECT reads this byte where no card is needed. */
static const uint8_t gc__barrier_dirty_byte = GC_CARD_DIRTY;

/* Dirties the card that covers slot, and its bundle, if the card is not dirty yet. [any thread; never collects;
   cannot fail] */
static inline void gc__barrier_dirty_card(const gc_barrier_tables *tables, const void *slot) {
    gc__barrier_dirty(tables, (uintptr_t)slot,
                      GC_CARD_BITS ? gc__barrier_card_bit((uintptr_t)slot) : (uint8_t)GC_CARD_DIRTY);
}

static inline uint8_t gc__barrier_age(const gc_barrier_tables *tables, uintptr_t address) {
    return gc__barrier_load(&tables->age[address >> GC_REGION_SHIFT]);
}

/* Returns age[slot] + youth[ref]: a card is needed if this is more than 2, for an age with no other bits than
   GC_AGE_GENERATION. Both must be user addresses, or small. [any thread; never collects; cannot fail] */
static inline unsigned gc__barrier_ranks(const gc_barrier_tables *tables, const void *slot, const void *ref) {
    ptrdiff_t youth = (ptrdiff_t)((uintptr_t)ref >> GC_REGION_SHIFT) - (ptrdiff_t)GC_RANK_ENTRIES;
    return (unsigned)gc__barrier_age(tables, (uintptr_t)slot) + gc__barrier_load(&tables->age[youth]);
}

/* Bounds may widen while mutators run. */
static inline uintptr_t gc__barrier_bound(const uintptr_t *bound) { return __atomic_load_n(bound, __ATOMIC_RELAXED); }

/* Returns whether the slot may have a card at all. */
static inline int gc__barrier_in_heap(const gc_barrier_tables *tables, const void *slot) {
    uintptr_t lowest = gc__barrier_bound(&tables->lowest);
    return (uintptr_t)slot - lowest < gc__barrier_bound(&tables->highest) - lowest;
}
/* The barriers in C: for other processors, and as the specification of the assembly. */


#define GC__BARRIER_INLINE static inline __attribute__((always_inline))

/* Bounds are compared after the reference was read, since it may lie where they have just widened to; by ranks, whose address
   comes from the reference, that is so anyway. */
GC__BARRIER_INLINE int gc__barrier_is_above(const gc_barrier_tables *tables, uintptr_t ref) {
    GC__ORDER_LOADS();
    return ref >= gc__barrier_bound(&tables->low);
}
GC__BARRIER_INLINE int gc__barrier_in_range(const gc_barrier_tables *tables, uintptr_t ref) {
    GC__ORDER_LOADS();
    return ref >= gc__barrier_bound(&tables->low) && ref < gc__barrier_bound(&tables->high);
}

GC__BARRIER_INLINE int gc__barrier_passes(const gc_barrier_tables *tables, gc__filter filter, uintptr_t slot,
                                          uintptr_t ref) {
    switch (filter) {
    case GC__FILTER_LOW:
        return gc__barrier_is_above(tables, ref);
    case GC__FILTER_RANGE:
        return gc__barrier_in_range(tables, ref);
    case GC__FILTER_REGION: {
        uint8_t age = gc__barrier_age(tables, slot);
        return age && gc__barrier_in_range(tables, ref) && gc__barrier_age(tables, ref) < age;
    }
    case GC__FILTER_SUM:
        return gc__barrier_ranks(tables, (void *)slot, (void *)ref) > 2;
    case GC__FILTER_OLD:
        return gc__barrier_age(tables, slot) != 0;
    default:
        return 1;
    }
}

GC__BARRIER_INLINE void gc__barrier_log(const gc_barrier_tables *tables, uintptr_t object, uintptr_t slot) {
    uint8_t *bits = tables->log_bits + (object >> 6), bit = (uint8_t)(1u << ((object >> 3) & 7));
    if (gc__barrier_load(bits) & bit) return;
    __atomic_fetch_or(bits, bit, __ATOMIC_RELAXED);
    uintptr_t place = __atomic_fetch_add(&tables->log->next, 8, __ATOMIC_ACQUIRE);
    if (place < tables->log->limit)
        __atomic_store_n((gc_word *)place, object, __ATOMIC_RELAXED);
    else
        gc__barrier_dirty_card(tables, (void *)slot);
}

/* Dirties the card if `needed`. The choice is arithmetic, since compilers would make a branch of a conditional. */
GC__BARRIER_INLINE void gc__barrier_select(const gc_barrier_tables *tables, uintptr_t slot, int needed) {
    uintptr_t mask = 0 - (uintptr_t)needed, card = (uintptr_t)gc__barrier_card_byte(tables, slot);
    uint8_t *chosen = (uint8_t *)((card & mask) | ((uintptr_t)&gc__barrier_dirty_byte & ~mask));
    gc__barrier_dirty_at(tables, chosen, slot, GC_CARD_BITS ? gc__barrier_card_bit(slot) : (uint8_t)GC_CARD_DIRTY);
}

GC__BARRIER_INLINE void gc__barrier_always(const gc_barrier_tables *tables, uintptr_t slot) {
    uint8_t *card = gc__barrier_card_byte(tables, slot);
    if (GC_CARD_BITS)
        __atomic_fetch_or(card, gc__barrier_card_bit(slot), __ATOMIC_RELAXED);
    else
        gc__barrier_write(card);
    if (GC_BUNDLE_SHIFT) gc__barrier_write(tables->bundles + (slot >> GC_BUNDLE_SHIFT));
}

/* The step of RANK before *slot = ref: calls log_store where the assembly does, also for a stale ref, which must not be
   stored. Returns whether nothing is left to do after the store. */
GC__BARRIER_INLINE int gc__barrier_before_c(const gc_barrier_tables *tables, uintptr_t slot, uintptr_t ref) {
    unsigned ranks = gc__barrier_ranks(tables, (void *)slot, (void *)ref);
    if (ranks <= 2) return 1;
    if (!(ranks & GC_AGE_LOGGED)) return 0;
    tables->log_store((const void *)slot, (const void *)ref);
    return 1;
}

/* The barrier's steps after *slot = ref. With a constant `barrier` the compiler keeps only that barrier's steps.
   object_logging logs `object`: the object's address or, where that is not known, the slot's. */
GC__BARRIER_INLINE void gc__barrier_after_c(gc_barrier barrier, const gc_barrier_tables *tables, uintptr_t object,
                                            uintptr_t slot, uintptr_t ref) {
    gc__barrier_parts parts = gc__barrier_parts_of(barrier);
    if (parts.watch && !gc__barrier_load(tables->watch + (slot >> GC_WATCH_SHIFT)))
        gc__barrier_write(tables->watch + (slot >> GC_WATCH_SHIFT));
    if (parts.filter == GC__FILTER_RANK) {
        unsigned ranks = gc__barrier_ranks(tables, (void *)slot, (void *)ref);
        if (ranks > 2 && ranks & GC_AGE_LOGGED)
            tables->log_store((const void *)slot, (const void *)ref);
        else if (ranks > 2)
            gc__barrier_dirty_card(tables, (void *)slot);
        return;
    }
    int passes = gc__barrier_passes(tables, (gc__filter)parts.filter, slot, ref);
    if (parts.mark == GC__MARK_SELECT) {
        gc__barrier_select(tables, slot, passes);
        return;
    }
    if (!passes) return;
    switch (parts.mark) {
    case GC__MARK_CARD:
        gc__barrier_dirty_card(tables, (void *)slot);
        break;
    case GC__MARK_BYTE:
        gc__barrier_dirty(tables, slot, GC_CARD_DIRTY);
        break;
    case GC__MARK_BIT:
        gc__barrier_dirty(tables, slot, gc__barrier_card_bit(slot));
        break;
    case GC__MARK_ALWAYS:
        gc__barrier_always(tables, slot);
        break;
    case GC__MARK_LOG:
        gc__barrier_log(tables, object, slot);
        break;
    default:
        break;
    }
}
/* The barriers as AArch64 inline assembly: the texts that take the place of those for x86-64.

   The store is a release: what an object holds comes before the reference to it. Bounds are read after a barrier of loads,
   since they may have widened just before the reference was stored. Youth and age are read by addresses that come from the
   reference and the slot, which is order enough. Cards need none: threads stop before they are read. */


/* clang-format off */
#define GC__A64(instruction) instruction "\n\t"
#define GC__A64_STORE GC__A64("stlr %[ref], [%[slot]]")
#define GC__A64_ENTRY(address, shift, base, to) /* to = base + (address >> shift) */ \
    GC__A64("ldr %[" to "], %[" base "]") GC__A64("add %[" to "], %[" to "], %[" address "], lsr #(" GC__TEXT(shift) ")")
#define GC__A64_INDEX(address, to) GC__A64("lsr %[" to "], %[" address "], #" GC__TEXT(GC_REGION_SHIFT))
#define GC__A64_AGE(of, to) GC__A64("ldrb %w[" to "], [%[age], %[" of "]]")
#define GC__A64_BIT(address, shift, to, spare) /* to = 1 << ((address >> shift) & 7) */ \
    GC__A64("ubfx %[" to "], %[" address "], #(" GC__TEXT(shift) "), #3") GC__A64("mov %w[" spare "], #1") \
    GC__A64("lsl %w[" to "], %w[" spare "], %w[" to "]")
#ifdef __ARM_FEATURE_ATOMICS
#define GC__A64_OR(bit, at, x, y) GC__A64("stsetb %w[" bit "], [%[" at "]]")
#define GC__A64_TAKE(at, to, x, y) /* to = the word there, which grows by 8 */ \
    GC__A64("mov %[" x "], #8") GC__A64("ldadd %[" x "], %[" to "], [%[" at "]]")
#else
#define GC__A64_OR(bit, at, x, y) \
    "5:\t" GC__A64("ldxrb %w[" x "], [%[" at "]]") GC__A64("orr %w[" x "], %w[" x "], %w[" bit "]") \
    GC__A64("stxrb %w[" y "], %w[" x "], [%[" at "]]") GC__A64("cbnz %w[" y "], 5b")
#define GC__A64_TAKE(at, to, x, y) \
    "6:\t" GC__A64("ldxr %[" to "], [%[" at "]]") GC__A64("add %[" x "], %[" to "], #8") \
    GC__A64("stxr %w[" y "], %[" x "], [%[" at "]]") GC__A64("cbnz %w[" y "], 6b")
#endif

#define GC__A64_WATCH_0
#define GC__A64_WATCH_1 \
    GC__A64_ENTRY("slot", GC_WATCH_SHIFT, "watch", "a") GC__A64("ldrb %w[b], [%[a]]") GC__A64("cbnz %w[b], 2f") \
    GC__A64("mov %w[b], #-1") GC__A64("strb %w[b], [%[a]]") "2:\n\t"

#define GC__A64_BELOW GC__A64("ldr %[b], %[low]") GC__A64("cmp %[ref], %[b]") GC__A64("b.lo 1f")
#define GC__A64_ABOVE GC__A64("ldr %[b], %[high]") GC__A64("cmp %[ref], %[b]") GC__A64("b.hs 1f")
#define GC__A64_FILTER_ANY
#define GC__A64_FILTER_LOW GC__A64("dmb ishld") GC__A64_BELOW
#define GC__A64_FILTER_RANGE GC__A64_FILTER_LOW GC__A64_ABOVE
#define GC__A64_FILTER_OLD GC__A64_INDEX("slot", "a") GC__A64_AGE("a", "a") GC__A64("cbz %w[a], 1f")
#define GC__A64_FILTER_REGION \
    GC__A64_FILTER_OLD GC__A64_FILTER_RANGE GC__A64_INDEX("ref", "b") GC__A64_AGE("b", "b") \
    GC__A64("cmp %w[b], %w[a]") GC__A64("b.hs 1f")
#define GC__A64_FILTER_SUM /* a = age[slot] + youth[ref] */ \
    GC__A64_INDEX("slot", "a") GC__A64_INDEX("ref", "b") GC__A64_AGE("a", "a") GC__A64("ldrb %w[b], [%[youth], %[b]]") \
    GC__A64("add %w[a], %w[a], %w[b]")
/* GC_AGE_LOGGED is bit 7 of the sum. The called code leaves in x16 where to read, which is memory unless ref is stale. */
#define GC__A64_FILTER_RANK \
    GC__A64_FILTER_SUM GC__A64("cmp %w[a], #2") GC__A64("b.ls 4f") GC__A64("tbz %w[a], #7, 3f") \
    GC__A64("ldr %[a], %[note]") GC__A64("mov x16, %[slot]") GC__A64("mov x17, %[ref]") GC__A64("blr %[a]") \
    GC__A64("ldr xzr, [x16]") GC__A64("b 4f") "3:\n\t"

#if GC_BUNDLE_SHIFT
#define GC__A64_BUNDLE(steps) GC__A64_ENTRY("slot", GC_BUNDLE_SHIFT, "bundles", "a") steps
#else
#define GC__A64_BUNDLE(steps)
#endif
#define GC__A64_WRITE GC__A64("mov %w[b], #-1") GC__A64("strb %w[b], [%[a]]")
#define GC__A64_SET GC__A64("ldrb %w[b], [%[a]]") GC__A64("cmp %w[b], #255") GC__A64("b.eq 1f") GC__A64_WRITE
#define GC__A64_CARD_BYTE(to) GC__A64_ENTRY("slot", GC_CARD_BYTE_SHIFT, "cards", to)
#define GC__A64_CARD_BIT GC__A64_BIT("slot", GC_CARD_BYTE_SHIFT-3, "b", "c") GC__A64_CARD_BYTE("a")
/* Sets the bit, unless it is set. */
#define GC__A64_SET_BIT(bit, at, x, y) \
    GC__A64("ldrb %w[" x "], [%[" at "]]") GC__A64("tst %w[" x "], %w[" bit "]") GC__A64("b.ne 1f") GC__A64_OR(bit, at, x, y)

#define GC__A64_MARK_NOTHING
#define GC__A64_MARK_BYTE GC__A64_CARD_BYTE("a") GC__A64_SET GC__A64_BUNDLE(GC__A64_SET)
#define GC__A64_MARK_BIT GC__A64_CARD_BIT GC__A64_SET_BIT("b", "a", "c", "d") GC__A64_BUNDLE(GC__A64_SET)
#define GC__A64_MARK_LOG \
    GC__A64_BIT("object", 3, "b", "c") GC__A64_ENTRY("object", 6, "log_bits", "a") GC__A64_SET_BIT("b", "a", "c", "d") \
    GC__A64("ldr %[a], %[log]") GC__A64_TAKE("a", "c", "b", "d") GC__A64("ldr %[b], [%[a], #8]") \
    GC__A64("cmp %[c], %[b]") GC__A64("b.hs 2f") GC__A64("str %[object], [%[c]]") GC__A64("b 1f") "2:\n\t" GC__A64_MARK_CARD
/* b = the card's byte, or one that is dirty if the ranks in a need no card */
#define GC__A64_SELECT GC__A64_CARD_BYTE("b") GC__A64("cmp %w[a], #3") GC__A64("csel %[b], %[dirty], %[b], lo")
#if GC_CARD_BITS
#define GC__A64_MARK_CARD GC__A64_MARK_BIT
#define GC__A64_MARK_ALWAYS GC__A64_CARD_BIT GC__A64_OR("b", "a", "c", "d") GC__A64_BUNDLE(GC__A64_WRITE)
#define GC__A64_MARK_SELECT \
    GC__A64_SELECT GC__A64_BIT("slot", GC_CARD_BYTE_SHIFT-3, "c", "d") GC__A64_SET_BIT("c", "b", "d", "a") \
    GC__A64_BUNDLE(GC__A64_SET)
#else
#define GC__A64_MARK_CARD GC__A64_MARK_BYTE
#define GC__A64_MARK_ALWAYS GC__A64_CARD_BYTE("a") GC__A64_WRITE GC__A64_BUNDLE(GC__A64_WRITE)
#define GC__A64_MARK_SELECT \
    GC__A64_SELECT GC__A64("ldrb %w[a], [%[b]]") GC__A64("cmp %w[a], #255") GC__A64("b.eq 1f") GC__A64("mov %w[a], #-1") \
    GC__A64("strb %w[a], [%[b]]") GC__A64_BUNDLE(GC__A64_SET)
#endif

/* Operands beside those of x86-64. */
#define GC__A64_IN_ANY
#define GC__A64_IN_LOW
#define GC__A64_IN_RANGE
#define GC__A64_IN_REGION
#define GC__A64_IN_OLD
#define GC__A64_IN_SUM , [youth] "r"(tables->age - GC_RANK_ENTRIES)
#define GC__A64_IN_RANK GC__A64_IN_SUM
#define GC__A64_CLOBBERS_ANY
#define GC__A64_CLOBBERS_LOW
#define GC__A64_CLOBBERS_RANGE
#define GC__A64_CLOBBERS_REGION
#define GC__A64_CLOBBERS_OLD
#define GC__A64_CLOBBERS_SUM
#define GC__A64_CLOBBERS_RANK , "x16", "x17", "x30"
#define GC__A64_LOCALS_NOTHING
#define GC__A64_LOCALS_CARD uintptr_t a, b, c, d;
#define GC__A64_LOCALS_BYTE uintptr_t a, b;
#define GC__A64_LOCALS_BIT GC__A64_LOCALS_CARD
#define GC__A64_LOCALS_ALWAYS GC__A64_LOCALS_CARD
#define GC__A64_LOCALS_LOG GC__A64_LOCALS_CARD
#define GC__A64_LOCALS_SELECT GC__A64_LOCALS_CARD
#define GC__A64_OUT_NOTHING
#define GC__A64_OUT_BYTE [a] "=&r"(a), [b] "=&r"(b)
#define GC__A64_OUT_CARD GC__A64_OUT_BYTE, [c] "=&r"(c), [d] "=&r"(d)
#define GC__A64_OUT_BIT GC__A64_OUT_CARD
#define GC__A64_OUT_ALWAYS GC__A64_OUT_CARD
#define GC__A64_OUT_LOG GC__A64_OUT_CARD
#define GC__A64_OUT_SELECT GC__A64_OUT_CARD
/* clang-format on */
/* The barriers as inline assembly: gc__barrier_after_NAME (without the store) and gc_barrier_store_NAME. The texts here
   are those for x86-64.

   Each is composed of the texts of its write watch, filter and mark, in which a and b are scratch registers and label 1
   is the end. */


/* clang-format off */
/* Instructions in both dialects of assembly, since no macro says which one the compiler uses (-masm=intel). */
#define GC__ASM(instruction) instruction "\n\t"
#define GC__ASM_BOTH(att, intel) "{" att "|" intel "}\n\t"
#define GC__ASM_OP(operation, from, to) GC__ASM_BOTH(operation " " from ", " to, operation " " to ", " from)
#define GC__ASM_NUMBER(operation, number, to) GC__ASM_BOTH(operation " $" number ", " to, operation " " to ", " number)
#define GC__ASM_AT(operation, from, at) /* operation between the byte at the address in a register, and a register */ \
    GC__ASM_BOTH(operation " " from ", (%[" at "])", operation " byte ptr [%[" at "]], " from)
#define GC__ASM_NUMBER_AT(operation, number, at) \
    GC__ASM_BOTH(operation "b $" number ", (%[" at "])", operation " byte ptr [%[" at "]], " number)

#define GC__ASM_ENTRY(address, shift, base, to) /* to = base + (address >> shift) */ \
    GC__ASM_OP("mov", "%[" address "]", "%[" to "]") GC__ASM_NUMBER("shr", GC__TEXT(shift), "%[" to "]") \
    GC__ASM_OP("add", "%[" base "]", "%[" to "]")
#define GC__ASM_INDEX(address, to) \
    GC__ASM_OP("mov", "%[" address "]", "%[" to "]") GC__ASM_NUMBER("shr", GC__TEXT(GC_REGION_SHIFT), "%[" to "]")
#define GC__ASM_BIT(address, shift) /* b = 1 << ((address >> shift) & 7) */ \
    GC__ASM_OP("mov", "%k[" address "]", "%k[a]") GC__ASM_NUMBER("shr", GC__TEXT(shift), "%k[a]") \
    GC__ASM_NUMBER("and", "7", "%k[a]") GC__ASM_OP("xor", "%k[b]", "%k[b]") GC__ASM_OP("bts", "%k[a]", "%k[b]")

#define GC__ASM_WATCH_0
#define GC__ASM_WATCH_1 \
    GC__ASM_ENTRY("slot", GC_WATCH_SHIFT, "watch", "a") \
    GC__ASM_NUMBER_AT("cmp", "0", "a") GC__ASM("jne 2f") GC__ASM_NUMBER_AT("mov", "-1", "a") "2:\n\t"

#define GC__ASM_FILTER_ANY
#define GC__ASM_FILTER_LOW GC__ASM_OP("cmp", "%[low]", "%[ref]") GC__ASM("jb 1f")
#define GC__ASM_FILTER_RANGE GC__ASM_FILTER_LOW GC__ASM_OP("cmp", "%[high]", "%[ref]") GC__ASM("jae 1f")
#define GC__ASM_FILTER_OLD \
    GC__ASM_INDEX("slot", "a") GC__ASM_BOTH("cmpb $0, (%[age],%[a])", "cmp byte ptr [%[age]+%[a]], 0") GC__ASM("je 1f")
#define GC__ASM_AGE(of, to) GC__ASM_BOTH("movzbl (%[age],%[" of "]), %k[" to "]", "movzx %k[" to "], byte ptr [%[age]+%[" of "]]")
#define GC__ASM_FILTER_REGION \
    GC__ASM_FILTER_OLD GC__ASM_FILTER_RANGE GC__ASM_INDEX("ref", "b") GC__ASM_AGE("b", "b") \
    GC__ASM_BOTH("cmp (%[age],%[a]), %b[b]", "cmp %b[b], byte ptr [%[age]+%[a]]") GC__ASM("jae 1f")
#define GC__ASM_RANKS "(1<<(" GC__TEXT(GC_ADDRESS_BITS) "-" GC__TEXT(GC_REGION_SHIFT) "))"
#define GC__ASM_FILTER_SUM /* a = age[slot] + youth[ref] */ \
    GC__ASM_INDEX("slot", "a") GC__ASM_INDEX("ref", "b") GC__ASM_AGE("a", "a") \
    GC__ASM_BOTH("add -" GC__ASM_RANKS "(%[age],%[b]), %b[a]", "add %b[a], byte ptr [%[age]+%[b]-" GC__ASM_RANKS "]")
#define GC__ASM_FILTER_RANK /* GC_AGE_LOGGED is the sum's sign */ \
    GC__ASM_FILTER_SUM GC__ASM_NUMBER("cmp", "2", "%b[a]") GC__ASM("jbe 4f") GC__ASM("jns 3f") \
    GC__ASM_OP("mov", "%[note]", "%[a]") GC__ASM_BOTH("lea -128(%%rsp), %%rsp", "lea rsp, [rsp-128]") \
    GC__ASM("push %[ref]") GC__ASM("push %[slot]") GC__ASM_BOTH("call *%[a]", "call %[a]") \
    GC__ASM_BOTH("lea 144(%%rsp), %%rsp", "lea rsp, [rsp+144]") GC__ASM("jmp 4f") "3:\n\t"

#if GC_BUNDLE_SHIFT
#define GC__ASM_BUNDLE(steps) GC__ASM_ENTRY("slot", GC_BUNDLE_SHIFT, "bundles", "a") steps
#else
#define GC__ASM_BUNDLE(steps)
#endif
#define GC__ASM_WRITE GC__ASM_NUMBER_AT("mov", "-1", "a")
#define GC__ASM_SET GC__ASM_NUMBER_AT("cmp", "-1", "a") GC__ASM("je 1f") GC__ASM_WRITE
#define GC__ASM_SELECT /* b = the card's byte, or one that is dirty if the ranks in a need no card */ \
    GC__ASM_ENTRY("slot", GC_CARD_BYTE_SHIFT, "cards", "b") GC__ASM_NUMBER("cmp", "3", "%b[a]") \
    GC__ASM_OP("cmovb", "%[dirty]", "%[b]")
#define GC__ASM_CARD_BYTE GC__ASM_ENTRY("slot", GC_CARD_BYTE_SHIFT, "cards", "a")
#define GC__ASM_CARD_BIT GC__ASM_BIT("slot", (GC_CARD_BYTE_SHIFT-3)) GC__ASM_CARD_BYTE

#define GC__ASM_MARK_NOTHING
#define GC__ASM_MARK_BYTE GC__ASM_CARD_BYTE GC__ASM_SET GC__ASM_BUNDLE(GC__ASM_SET)
#define GC__ASM_MARK_BIT \
    GC__ASM_CARD_BIT GC__ASM_AT("test", "%b[b]", "a") GC__ASM("jne 1f") GC__ASM_AT("lock or", "%b[b]", "a") \
    GC__ASM_BUNDLE(GC__ASM_SET)
#define GC__ASM_MARK_LOG \
    GC__ASM_BIT("object", 3) GC__ASM_ENTRY("object", 6, "log_bits", "a") \
    GC__ASM_AT("test", "%b[b]", "a") GC__ASM("jne 1f") GC__ASM_AT("lock or", "%b[b]", "a") \
    GC__ASM_OP("mov", "%[log]", "%[a]") GC__ASM_NUMBER("mov", "8", "%k[b]") \
    GC__ASM_BOTH("lock xadd %[b], (%[a])", "lock xadd qword ptr [%[a]], %[b]") \
    GC__ASM_BOTH("cmp 8(%[a]), %[b]", "cmp %[b], qword ptr [%[a]+8]") GC__ASM("jae 2f") \
    GC__ASM_BOTH("mov %[object], (%[b])", "mov qword ptr [%[b]], %[object]") GC__ASM("jmp 1f") "2:\n\t" GC__ASM_MARK_CARD
#if GC_CARD_BITS
#define GC__ASM_MARK_CARD GC__ASM_MARK_BIT
#define GC__ASM_MARK_ALWAYS GC__ASM_CARD_BIT GC__ASM_AT("lock or", "%b[b]", "a") GC__ASM_BUNDLE(GC__ASM_WRITE)
#define GC__ASM_MARK_SELECT \
    GC__ASM_SELECT GC__ASM_OP("mov", "%k[slot]", "%k[a]") \
    GC__ASM_NUMBER("shr", "(" GC__TEXT(GC_CARD_BYTE_SHIFT) "-3)", "%k[a]") \
    GC__ASM_NUMBER("and", "7", "%k[a]") GC__ASM_OP("xor", "%k[c]", "%k[c]") GC__ASM_OP("bts", "%k[a]", "%k[c]") \
    GC__ASM_AT("test", "%b[c]", "b") GC__ASM("jne 1f") GC__ASM_AT("lock or", "%b[c]", "b") GC__ASM_BUNDLE(GC__ASM_SET)
#else
#define GC__ASM_MARK_CARD GC__ASM_MARK_BYTE
#define GC__ASM_MARK_ALWAYS GC__ASM_CARD_BYTE GC__ASM_WRITE GC__ASM_BUNDLE(GC__ASM_WRITE)
#define GC__ASM_MARK_SELECT \
    GC__ASM_SELECT GC__ASM_NUMBER_AT("cmp", "-1", "b") GC__ASM("je 1f") GC__ASM_NUMBER_AT("mov", "-1", "b") \
    GC__ASM_BUNDLE(GC__ASM_SET)
#endif

/* Operands: scratch registers and locals by mark, inputs by each part. */
#define GC__ASM_IN_WATCH_0
#define GC__ASM_IN_WATCH_1 , [watch] "m"(tables->watch)
#define GC__ASM_IN_ANY
#define GC__ASM_IN_LOW , [low] "m"(tables->low)
#define GC__ASM_IN_RANGE GC__ASM_IN_LOW, [high] "m"(tables->high)
#define GC__ASM_IN_OLD , [age] "r"(tables->age)
#define GC__ASM_IN_REGION GC__ASM_IN_OLD GC__ASM_IN_RANGE
#define GC__ASM_IN_RANK GC__ASM_IN_OLD, [note] "m"(tables->log_store_call)
#define GC__ASM_IN_SUM GC__ASM_IN_OLD
#define GC__ASM_IN_NOTHING
#define GC__ASM_IN_CARD , [cards] "m"(tables->cards), [bundles] "m"(tables->bundles)
#define GC__ASM_IN_BYTE GC__ASM_IN_CARD
#define GC__ASM_IN_BIT GC__ASM_IN_CARD
#define GC__ASM_IN_ALWAYS GC__ASM_IN_CARD
#define GC__ASM_IN_SELECT GC__ASM_IN_CARD, [dirty] "r"(&gc__barrier_dirty_byte)
#define GC__ASM_IN_LOG GC__ASM_IN_CARD, [log_bits] "m"(tables->log_bits), [log] "m"(tables->log), [object] "r"(object)
#define GC__ASM_LOCALS_NOTHING
#define GC__ASM_LOCALS_CARD uintptr_t a, b;
#define GC__ASM_LOCALS_BYTE uintptr_t a, b;
#define GC__ASM_LOCALS_BIT uintptr_t a, b;
#define GC__ASM_LOCALS_ALWAYS uintptr_t a, b;
#define GC__ASM_LOCALS_LOG uintptr_t a, b;
#define GC__ASM_LOCALS_SELECT uintptr_t a, b, c;
#define GC__ASM_OUT_NOTHING
#define GC__ASM_OUT_CARD [a] "=&r"(a), [b] "=&r"(b)
#define GC__ASM_OUT_BYTE GC__ASM_OUT_CARD
#define GC__ASM_OUT_BIT GC__ASM_OUT_CARD
#define GC__ASM_OUT_ALWAYS GC__ASM_OUT_CARD
#define GC__ASM_OUT_LOG GC__ASM_OUT_CARD
#define GC__ASM_OUT_SELECT GC__ASM_OUT_CARD, [c] "=&r"(c)

/* The order of the steps. RANK calls before it stores. But a store that faults must come before cards are written. */
#define GC__ASM_STORE_FIRST(store, filter, mark) store filter mark
#define GC__ASM_STEPS_ANY GC__ASM_STORE_FIRST
#define GC__ASM_STEPS_LOW GC__ASM_STORE_FIRST
#define GC__ASM_STEPS_RANGE GC__ASM_STORE_FIRST
#define GC__ASM_STEPS_REGION GC__ASM_STORE_FIRST
#define GC__ASM_STEPS_SUM GC__ASM_STORE_FIRST
#define GC__ASM_STEPS_OLD GC__ASM_STORE_FIRST
#define GC__ASM_STEPS_RANK(store, filter, mark) filter store "\n\t" mark GC__ASM(GC__BARRIER_JUMP " 1f") "4:\n\t" store "\n\t"
/* clang-format on */

/* The operands are listed by name, so an operand that a text does not mention costs at most a register. The memory
   clobber declares that the tables are written. */
#if GC__IS_AARCH64
#define GC__BARRIER_ASSEMBLY(store, watch, filter, mark)                                                        \
    GC__A64_LOCALS_##mark __asm__ volatile(                                                                     \
        GC__ASM_STEPS_##filter(store, GC__A64_WATCH_##watch GC__A64_FILTER_##filter, GC__A64_MARK_##mark) "1:"  \
        : GC__A64_OUT_##mark                                                                                    \
        : [slot] "r"(slot), [ref] "r"(ref)GC__ASM_IN_WATCH_##watch GC__ASM_IN_##filter GC__A64_IN_##filter GC__ASM_IN_##mark \
        : "cc", "memory" GC__A64_CLOBBERS_##filter)
#define GC__BARRIER_STORE GC__A64_STORE
#define GC__BARRIER_JUMP "b"
#else
#define GC__BARRIER_JUMP "jmp"
#define GC__BARRIER_STORE GC__ASM_BOTH("mov %[ref], (%[slot])", "mov qword ptr [%[slot]], %[ref]")
#define GC__BARRIER_ASSEMBLY(store, watch, filter, mark)                                                  \
    GC__ASM_LOCALS_##mark __asm__ volatile(                                                               \
        GC__ASM_STEPS_##filter(store, GC__ASM_WATCH_##watch GC__ASM_FILTER_##filter, GC__ASM_MARK_##mark) "1:" \
        : GC__ASM_OUT_##mark                                                                              \
        : [slot] "r"(slot), [ref] "r"(ref)GC__ASM_IN_WATCH_##watch GC__ASM_IN_##filter GC__ASM_IN_##mark  \
        : "cc", "memory")
#endif

#define GC__BARRIER_IN_ASSEMBLY(name, NAME, watch, filter, mark)                                                       \
    static inline void gc__barrier_after_##name(const gc_barrier_tables *tables, const void *object, const void *slot, \
                                                const void *ref) {                                                     \
        (void)tables, (void)object;                                                                                    \
        GC__BARRIER_ASSEMBLY("", watch, filter, mark);                                                                 \
    }                                                                                                                  \
    static inline void gc_barrier_store_##name(const gc_barrier_tables *tables, void *slot, const void *ref) {         \
        void *object = slot;                                                                                           \
        (void)tables, (void)object;                                                                                    \
        GC__BARRIER_ASSEMBLY(GC__BARRIER_STORE, watch, filter, mark);                                                  \
    }
#define GC__BARRIER_IN_C(name, NAME, watch, filter, mark)                                                              \
    static inline void gc__barrier_after_##name(const gc_barrier_tables *tables, const void *object, const void *slot, \
                                                const void *ref) {                                                     \
        gc__barrier_after_c(GC_BARRIER_##NAME, tables, (uintptr_t)object, (uintptr_t)slot, (uintptr_t)ref);            \
    }                                                                                                                  \
    static inline void gc_barrier_store_##name(const gc_barrier_tables *tables, void *slot, const void *ref) {         \
        int seen = GC__FILTER_##filter == GC__FILTER_RANK && gc__barrier_before_c(tables, (uintptr_t)slot, (uintptr_t)ref); \
        gc__barrier_publish(slot, (uintptr_t)ref);                                                               \
        if (!seen) gc__barrier_after_##name(tables, slot, slot, ref);                                                  \
    }

/* Where the assembly cannot call log_store, as what it calls does not preserve all vector registers, RANK is in C. */
#if GC_HAS_ASSEMBLY
#define GC__BARRIER_OF_ANY GC__BARRIER_IN_ASSEMBLY
#else
#define GC__BARRIER_OF_ANY GC__BARRIER_IN_C
#endif
#if GC_HAS_ASSEMBLY && GC__ASM_CAN_LOG
#define GC__BARRIER_OF_RANK GC__BARRIER_IN_ASSEMBLY
#else
#define GC__BARRIER_OF_RANK GC__BARRIER_IN_C
#endif
#define GC__BARRIER_OF_LOW GC__BARRIER_OF_ANY
#define GC__BARRIER_OF_RANGE GC__BARRIER_OF_ANY
#define GC__BARRIER_OF_REGION GC__BARRIER_OF_ANY
#define GC__BARRIER_OF_SUM GC__BARRIER_OF_ANY
#define GC__BARRIER_OF_OLD GC__BARRIER_OF_ANY
#define GC__BARRIER_BASE(name, NAME, watch, filter, mark) GC__BARRIER_OF_##filter(name, NAME, watch, filter, mark)
GC_BARRIERS(GC__BARRIER_BASE)
/* The forms of every barrier: store, after, checked, assign, copy.

   In all of them slot is 8-byte aligned, in the heap; ref is null, an object, or any user address, which must be less
   than 2^GC_ADDRESS_BITS for rank_sum and its branch-free form. None of them collects. */


/* Copies word by word, upwards or downwards as the overlap requires, with the barrier after each store, in one pass. */
#define GC__BARRIER_COPY(store)                                                          \
    gc_word *to = (gc_word *)destination;                                                \
    const gc_word *from = (const gc_word *)source;                                       \
    if ((uintptr_t)destination - (uintptr_t)source >= count * 8)                         \
        for (size_t i = 0; i < count; i++) store(tables, &to[i], (const void *)from[i]); \
    else                                                                                 \
        for (size_t i = count; i-- > 0;) store(tables, &to[i], (const void *)from[i])

/* Stores a word by `store`, and moves both pointers to the next word. */
#define GC__BARRIER_ASSIGN(store)                                         \
    store(tables, *destination, (const void *)*(const gc_word *)*source); \
    *destination = (char *)*destination + 8;                              \
    *source = (const char *)*source + 8

/* Moves words that need no barrier. */
static inline void gc__barrier_move(void *destination, const void *source, size_t count) {
    GC__ORDER_STORES();
    if (count) memmove(destination, source, count * 8);
}

/* Returns whether the slot may lie in the heap. A page that is watched may be one of those that have just been added; a
   slot there needs no card, since all that is new is young. */
GC__BARRIER_INLINE int gc__barrier_is_in(int watch, const gc_barrier_tables *tables, const void *slot) {
    if (watch) GC__ORDER_LOADS();
    return gc__barrier_in_heap(tables, slot);
}

/* clang-format off */
#define GC__BARRIER_FORMS(name, NAME, watch, filter, mark) \
    /* The barrier alone, for a slot that has just been stored to. */ \
    static inline void gc_barrier_after_##name(const gc_barrier_tables *tables, const void *slot, const void *ref) { \
        gc__barrier_after_##name(tables, slot, slot, ref); \
    } \
    static inline void gc_barrier_after_checked_##name(const gc_barrier_tables *tables, const void *slot, const void *ref) { \
        if (gc__barrier_is_in(watch, tables, slot)) gc__barrier_after_##name(tables, slot, slot, ref); \
    } \
    /* The store with the barrier; slots outside [lowest, highest) are only stored to. */ \
    static inline void gc_barrier_checked_##name(const gc_barrier_tables *tables, void *slot, const void *ref) { \
        if (gc__barrier_is_in(watch, tables, slot)) gc_barrier_store_##name(tables, slot, ref); \
        else gc__barrier_publish(slot, (uintptr_t)ref); \
    } \
    /* Stores **source to **destination and moves both to the next word. */ \
    static inline void gc_barrier_assign_##name(const gc_barrier_tables *tables, void **destination, const void **source) { \
        GC__BARRIER_ASSIGN(gc_barrier_store_##name); \
    } \
    static inline void gc_barrier_assign_checked_##name(const gc_barrier_tables *tables, void **destination, \
                                                        const void **source) { \
        GC__BARRIER_ASSIGN(gc_barrier_checked_##name); \
    } \
    /* memmove of `count` references within or into one object. */ \
    static inline void gc_barrier_copy_##name(const gc_barrier_tables *tables, void *destination, const void *source, \
                                              size_t count) { \
        if (GC__ANYWHERE(watch, GC__FILTER_##filter) && (!count || !gc__barrier_age(tables, (uintptr_t)destination))) { \
            gc__barrier_move(destination, source, count); \
            return; \
        } \
        GC__BARRIER_COPY(gc_barrier_store_##name); \
    } \
    static inline void gc_barrier_copy_checked_##name(const gc_barrier_tables *tables, void *destination, const void *source, \
                                                      size_t count) { \
        if (gc__barrier_is_in(watch, tables, destination)) gc_barrier_copy_##name(tables, destination, source, count); \
        else gc__barrier_move(destination, source, count); \
    }
/* clang-format on */
GC_BARRIERS(GC__BARRIER_FORMS)

/* *slot = ref, where slot is a field of `object`. Logs the object, once for all its fields. Only for tables of your
   own: the collector would take the logged address for that of a slot. [any thread; never collects; cannot fail] */
static inline void gc_barrier_store_in_object(const gc_barrier_tables *tables, void *object, void *slot,
                                              const void *ref) {
    gc__barrier_publish(slot, (uintptr_t)ref);
    gc__barrier_after_object_logging(tables, object, slot, ref);
}

/* The same forms in portable C, with the barrier as an argument: a constant compiles to that barrier's steps only. */

GC__BARRIER_INLINE void gc_barrier_after_c(gc_barrier barrier, const gc_barrier_tables *tables, const void *slot,
                                           const void *ref) {
    gc__barrier_after_c(barrier, tables, (uintptr_t)slot, (uintptr_t)slot, (uintptr_t)ref);
}

GC__BARRIER_INLINE void gc_barrier_store_c(gc_barrier barrier, const gc_barrier_tables *tables, void *slot,
                                           const void *ref) {
    int ranks = gc__barrier_parts_of(barrier).filter == GC__FILTER_RANK;
    int seen = ranks && gc__barrier_before_c(tables, (uintptr_t)slot, (uintptr_t)ref);
    gc__barrier_publish(slot, (uintptr_t)ref);
    if (!seen) gc_barrier_after_c(barrier, tables, slot, ref);
}

GC__BARRIER_INLINE void gc_barrier_checked_c(gc_barrier barrier, const gc_barrier_tables *tables, void *slot,
                                             const void *ref) {
    if (gc__barrier_is_in(gc__barrier_parts_of(barrier).watch, tables, slot))
        gc_barrier_store_c(barrier, tables, slot, ref);
    else
        gc__barrier_publish(slot, (uintptr_t)ref);
}

#define GC__STORE_C(tables, slot, ref) gc_barrier_store_c(barrier, tables, slot, ref)
#define GC__CHECKED_C(tables, slot, ref) gc_barrier_checked_c(barrier, tables, slot, ref)

GC__BARRIER_INLINE void gc_barrier_assign_c(gc_barrier barrier, const gc_barrier_tables *tables, void **destination,
                                            const void **source) {
    GC__BARRIER_ASSIGN(GC__STORE_C);
}

GC__BARRIER_INLINE void gc_barrier_assign_checked_c(gc_barrier barrier, const gc_barrier_tables *tables,
                                                    void **destination, const void **source) {
    GC__BARRIER_ASSIGN(GC__CHECKED_C);
}

GC__BARRIER_INLINE void gc_barrier_copy_c(gc_barrier barrier, const gc_barrier_tables *tables, void *destination,
                                          const void *source, size_t count) {
    GC__BARRIER_COPY(GC__STORE_C);
}

GC__BARRIER_INLINE void gc_barrier_copy_checked_c(gc_barrier barrier, const gc_barrier_tables *tables,
                                                  void *destination, const void *source, size_t count) {
    GC__BARRIER_COPY(GC__CHECKED_C);
}

/* Functions to call out of line. */

typedef void gc_barrier_store_function(const gc_barrier_tables *tables, void *slot, const void *ref);
typedef void gc_barrier_after_function(const gc_barrier_tables *tables, const void *slot, const void *ref);
typedef void gc_barrier_assign_function(const gc_barrier_tables *tables, void **destination, const void **source);
typedef void gc_barrier_copy_function(const gc_barrier_tables *tables, void *destination, const void *source,
                                      size_t count);

typedef struct gc_barrier_functions {
    gc_barrier_store_function *store, *checked;
    gc_barrier_after_function *after, *after_checked;
    gc_barrier_assign_function *assign, *assign_checked;
    gc_barrier_copy_function *copy, *copy_checked;
} gc_barrier_functions;

/* Returns the functions of a barrier, this translation unit's own. [any thread; never collects; cannot fail] */
static inline const gc_barrier_functions *gc_barrier_functions_of(gc_barrier barrier) {
    static const gc_barrier_functions functions[] = {
#define GC__BARRIER_FUNCTIONS(name, NAME, watch, filter, mark)                                         \
    {gc_barrier_store_##name,         gc_barrier_checked_##name,     gc_barrier_after_##name,          \
     gc_barrier_after_checked_##name, gc_barrier_assign_##name,      gc_barrier_assign_checked_##name, \
     gc_barrier_copy_##name,          gc_barrier_copy_checked_##name},
        GC_BARRIERS(GC__BARRIER_FUNCTIONS)
#undef GC__BARRIER_FUNCTIONS
    };
    return &functions[barrier];
}
/* Emitted barriers: their forms, and what is known of the code. */


/* Forms: a store, unless it is an assign or a copy; each may be checked. */
enum { GC_EMIT_STORE = 0, GC_EMIT_CHECKED = 1, GC_EMIT_ASSIGN = 2, GC_EMIT_COPY = 4 };

#define GC_EMIT_BYTES_MAX 384 /* no barrier in any form is longer */

/* The emitted code, and where its immediates are. Owned by the host; needed to patch. */
typedef struct gc_barrier_code {
    uint32_t bytes;
    /* bit n: register n of the machine's numbering: rax = 0, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8..; on AArch64 xn */
    uint32_t clobbers;
    uint32_t patches;
    struct {
        uint16_t at;    /* offset of the immediate in the code */
        uint16_t field; /* offset in gc_barrier_tables of the field that the immediate holds */
    } patch[12];
} gc_barrier_code;
/* The barriers as machine code for AArch64.

   Calling convention. Store: x0 = slot, x1 = reference. Assign: x0 = slot, x1 = address of the reference; both are 8 higher
   on return. Copy: x0 = destination, x1 = source, x2 = count. The code may change x9 to x12 and the flags, and for assign
   and copy also x0, x1, and x13 to x16. It calls nothing, uses no stack, and preserves all vector registers. It begins with
   a target of indirect calls, since a compiler's code may lie in pages that are guarded so (PROT_BTI).

   The tables' values are words behind the code, aligned to 8 bytes, which it loads: so a patch is a store of data, and only
   emitting needs the instruction cache to be cleared (__builtin___clear_cache). Loads of bounds come before those of tables,
   so that threads may run code that is being patched. */


enum { GC__A64_WORDS = GC_EMIT_BYTES_MAX / 4 + 16 };
typedef struct gc__a64 {
    gc_barrier_code *code;
    const gc_barrier_tables *tables;
    uint32_t words[GC__A64_WORDS], at;
    uint32_t exits[16], exit_count; /* branches to where the barrier ends */
    uint32_t dirty;                 /* the instruction that forms the address of a dirty byte; 0: none */
} gc__a64;

enum { GC__A = 9, GC__B, GC__C, GC__D, GC__TO, GC__FROM, GC__END, GC__STEP, GC__ZERO = 31 };
enum {
    GC__A64_NOP = (int)0xD503201F,
    GC__A64_TARGET = (int)0xD503245F, /* bti c */
    GC__A64_RET = (int)0xD65F03C0,
    GC__A64_ORDER_LOADS = (int)0xD50339BF, /* dmb ishld */
    GC__A64_B = 0x14000000,
    GC__A64_BEQ = 0x54000000,
    GC__A64_BNE = 0x54000001,
    GC__A64_BHS = 0x54000002,
    GC__A64_BLO = 0x54000003,
    GC__A64_BLS = 0x54000009,
    GC__A64_CBZ = 0x34000000,
    GC__A64_CBNZ = 0x35000000
};

static inline void gc__a64_put(gc__a64 *e, uint32_t word) { e->words[e->at++] = word; }

/* An instruction that changes d, and reads n and m. */
static inline void gc__a64_op(gc__a64 *e, uint32_t operation, unsigned d, unsigned n, unsigned m) {
    gc__a64_put(e, operation | m << 16 | n << 5 | d);
    if (d != GC__ZERO) e->code->clobbers |= 1u << d;
}
static inline void gc__a64_compare(gc__a64 *e, unsigned n, unsigned m) { gc__a64_op(e, 0xEB000000, GC__ZERO, n, m); }
static inline void gc__a64_compare_number(gc__a64 *e, unsigned n, unsigned number) {
    gc__a64_op(e, 0x71000000 | number << 10, GC__ZERO, n, 0);
}
static inline void gc__a64_move(gc__a64 *e, unsigned d, unsigned m) { gc__a64_op(e, 0xAA000000, d, GC__ZERO, m); }
static inline void gc__a64_shift(gc__a64 *e, unsigned d, unsigned n, unsigned shift) {
    gc__a64_op(e, 0xD340FC00 | shift << 16, d, n, 0);
}
static inline void gc__a64_add(gc__a64 *e, unsigned d, unsigned n, unsigned m, unsigned shift) { /* d = n + (m >> shift) */
    gc__a64_op(e, 0x8B400000 | shift << 10, d, n, m);
}
static inline void gc__a64_byte(gc__a64 *e, unsigned d, unsigned n) { gc__a64_op(e, 0x39400000, d, n, 0); }
static inline void gc__a64_byte_at(gc__a64 *e, unsigned d, unsigned n, unsigned m) { gc__a64_op(e, 0x38606800, d, n, m); }

/* d = a field of the tables. */
static inline void gc__a64_load(gc__a64 *e, unsigned d, size_t field) {
    e->code->patch[e->code->patches].at = (uint16_t)e->at;
    e->code->patch[e->code->patches++].field = (uint16_t)field;
    gc__a64_op(e, 0x58000000, d, 0, 0);
}
#define GC__A64_LOAD(e, d, member) gc__a64_load(e, d, offsetof(gc_barrier_tables, member))

/* A branch to the end of the barrier. */
static inline void gc__a64_exit(gc__a64 *e, uint32_t branch) {
    e->exits[e->exit_count++] = e->at;
    gc__a64_put(e, branch);
}
/* Has the branch at that place go to what comes next. */
static inline void gc__a64_land(gc__a64 *e, uint32_t branch) {
    uint32_t distance = e->at - branch;
    e->words[branch] |= (e->words[branch] & 0xFC000000) == GC__A64_B ? distance & 0x3FFFFFF : (distance & 0x7FFFF) << 5;
}
static inline void gc__a64_land_exits(gc__a64 *e) {
    while (e->exit_count) gc__a64_land(e, e->exits[--e->exit_count]);
}

/* Writes 0xFF where n leads to. */
static inline void gc__a64_write(gc__a64 *e, unsigned n) {
    gc__a64_op(e, 0x12800000, GC__B, 0, 0); /* mov w10, #-1 */
    gc__a64_put(e, 0x39000000 | n << 5 | GC__B);
}
static inline void gc__a64_set(gc__a64 *e) {
    gc__a64_byte(e, GC__B, GC__A);
    gc__a64_compare_number(e, GC__B, 255);
    gc__a64_exit(e, GC__A64_BEQ);
    gc__a64_write(e, GC__A);
}

/* Sets the bits of `bit` in the byte that n leads to, unless they are set. */
static inline void gc__a64_or(gc__a64 *e, unsigned bit, unsigned n, unsigned x, unsigned y) {
    gc__a64_op(e, 0x085F7C00, x, n, 0);    /* ldxrb */
    gc__a64_op(e, 0x2A000000, x, x, bit);  /* orr */
    gc__a64_put(e, 0x08007C00 | y << 16 | n << 5 | x); /* stxrb */
    e->code->clobbers |= 1u << y;
    gc__a64_put(e, GC__A64_CBNZ | (0x7FFFFu & (0u - 3)) << 5 | y);
}
static inline void gc__a64_set_bit(gc__a64 *e, unsigned bit, unsigned n, unsigned x, unsigned y) {
    gc__a64_byte(e, x, n);
    gc__a64_op(e, 0x6A000000, GC__ZERO, x, bit); /* tst */
    gc__a64_exit(e, GC__A64_BNE);
    gc__a64_or(e, bit, n, x, y);
}

/* d = 1 << ((n >> shift) & 7) */
static inline void gc__a64_bit(gc__a64 *e, unsigned d, unsigned spare, unsigned n, unsigned shift) {
    gc__a64_op(e, 0xD3400000 | shift << 16 | (shift + 2) << 10, d, n, 0); /* ubfx */
    gc__a64_op(e, 0x52800020, spare, 0, 0);                               /* mov spare, #1 */
    gc__a64_op(e, 0x1AC02000, d, spare, d);                               /* lsl */
}

static inline void gc__a64_card(gc__a64 *e, unsigned d) {
    GC__A64_LOAD(e, d, cards);
    gc__a64_add(e, d, d, 0, GC_CARD_BYTE_SHIFT);
}
static inline void gc__a64_bundle_entry(gc__a64 *e) {
    GC__A64_LOAD(e, GC__A, bundles);
    gc__a64_add(e, GC__A, GC__A, 0, GC_BUNDLE_SHIFT);
}
static inline void gc__a64_bundle(gc__a64 *e) {
    if (!GC_BUNDLE_SHIFT) return;
    gc__a64_bundle_entry(e);
    gc__a64_set(e);
}

static inline void gc__a64_mark_byte(gc__a64 *e) {
    gc__a64_card(e, GC__A);
    gc__a64_set(e);
    gc__a64_bundle(e);
}
static inline void gc__a64_mark_bit(gc__a64 *e) {
    gc__a64_bit(e, GC__B, GC__C, 0, GC_CARD_BYTE_SHIFT - 3);
    gc__a64_card(e, GC__A);
    gc__a64_set_bit(e, GC__B, GC__A, GC__C, GC__D);
    gc__a64_bundle(e);
}
static inline void gc__a64_mark_card(gc__a64 *e) {
    if (GC_CARD_BITS)
        gc__a64_mark_bit(e);
    else
        gc__a64_mark_byte(e);
}
static inline void gc__a64_mark_always(gc__a64 *e) {
    if (GC_CARD_BITS) {
        gc__a64_bit(e, GC__B, GC__C, 0, GC_CARD_BYTE_SHIFT - 3);
        gc__a64_card(e, GC__A);
        gc__a64_or(e, GC__B, GC__A, GC__C, GC__D);
    } else {
        gc__a64_card(e, GC__A);
        gc__a64_write(e, GC__A);
    }
    if (!GC_BUNDLE_SHIFT) return;
    gc__a64_bundle_entry(e);
    gc__a64_write(e, GC__A);
}
/* The ranks are in A. */
static inline void gc__a64_mark_select(gc__a64 *e) {
    gc__a64_card(e, GC__B);
    e->dirty = e->at;
    gc__a64_op(e, 0x10000000, GC__C, 0, 0); /* adr */
    gc__a64_compare_number(e, GC__A, 3);
    gc__a64_op(e, 0x9A803000, GC__A, GC__C, GC__B); /* csel x9, x11, x10, lo */
    if (GC_CARD_BITS) {
        gc__a64_bit(e, GC__B, GC__C, 0, GC_CARD_BYTE_SHIFT - 3);
        gc__a64_set_bit(e, GC__B, GC__A, GC__C, GC__D);
    } else {
        gc__a64_set(e);
    }
    gc__a64_bundle(e);
}
static inline void gc__a64_mark_log(gc__a64 *e) {
    gc__a64_bit(e, GC__B, GC__C, 0, 3);
    GC__A64_LOAD(e, GC__A, log_bits);
    gc__a64_add(e, GC__A, GC__A, 0, 6);
    gc__a64_set_bit(e, GC__B, GC__A, GC__C, GC__D);
    GC__A64_LOAD(e, GC__A, log);
    gc__a64_op(e, 0xC85F7C00, GC__C, GC__A, 0);                         /* ldxr x11, [x9] */
    gc__a64_op(e, 0x91002000, GC__B, GC__C, 0);                         /* add x10, x11, #8 */
    gc__a64_put(e, 0xC8007C00 | GC__D << 16 | GC__A << 5 | GC__B);      /* stxr w12, x10, [x9] */
    e->code->clobbers |= 1u << GC__D;
    gc__a64_put(e, GC__A64_CBNZ | (0x7FFFFu & (0u - 3)) << 5 | GC__D);
    gc__a64_op(e, 0xF9400400, GC__B, GC__A, 0);                         /* ldr x10, [x9, #8] */
    gc__a64_compare(e, GC__C, GC__B);
    uint32_t full = e->at;
    gc__a64_put(e, GC__A64_BHS);
    gc__a64_put(e, 0xF9000000 | GC__C << 5); /* str x0, [x11] */
    gc__a64_exit(e, GC__A64_B);
    gc__a64_land(e, full);
    gc__a64_mark_card(e);
}

static inline void gc__a64_bound(gc__a64 *e, unsigned n, size_t field, uint32_t branch) {
    gc__a64_load(e, GC__B, field);
    gc__a64_compare(e, n, GC__B);
    gc__a64_exit(e, branch);
}
static inline void gc__a64_range(gc__a64 *e, int has_end) {
    gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
    gc__a64_bound(e, 1, offsetof(gc_barrier_tables, low), GC__A64_BLO);
    if (has_end) gc__a64_bound(e, 1, offsetof(gc_barrier_tables, high), GC__A64_BHS);
    gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
}

/* C = the age table, A = the slot's age. */
static inline void gc__a64_age(gc__a64 *e) {
    GC__A64_LOAD(e, GC__C, age);
    gc__a64_shift(e, GC__A, 0, GC_REGION_SHIFT);
    gc__a64_byte_at(e, GC__A, GC__C, GC__A);
}

static inline void gc__a64_filter(gc__a64 *e, int filter) {
    enum { SHIFT = GC_ADDRESS_BITS - GC_REGION_SHIFT };
    switch (filter) {
    case GC__FILTER_LOW:
        gc__a64_range(e, 0);
        break;
    case GC__FILTER_RANGE:
        gc__a64_range(e, 1);
        break;
    case GC__FILTER_OLD:
        gc__a64_age(e);
        gc__a64_exit(e, (int)GC__A64_CBZ | (int)GC__A);
        break;
    case GC__FILTER_REGION:
        gc__a64_age(e);
        gc__a64_exit(e, (int)GC__A64_CBZ | (int)GC__A);
        gc__a64_range(e, 1);
        gc__a64_shift(e, GC__B, 1, GC_REGION_SHIFT);
        gc__a64_byte_at(e, GC__B, GC__C, GC__B);
        gc__a64_compare(e, GC__B, GC__A);
        gc__a64_exit(e, GC__A64_BHS);
        break;
    case GC__FILTER_RANK:
    case GC__FILTER_SUM:
        gc__a64_age(e);
        gc__a64_op(e, 0xD2800000 | (uint32_t)(SHIFT / 16) << 21 | (1u << SHIFT % 16) << 5, GC__D, 0, 0); /* mov x12, #entries */
        gc__a64_op(e, 0xCB000000, GC__C, GC__C, GC__D);                                                  /* sub */
        gc__a64_shift(e, GC__B, 1, GC_REGION_SHIFT);
        gc__a64_byte_at(e, GC__B, GC__C, GC__B);
        gc__a64_op(e, 0x0B000000, GC__A, GC__A, GC__B); /* add */
        if (filter == GC__FILTER_SUM) break;
        gc__a64_compare_number(e, GC__A, 2);
        gc__a64_exit(e, GC__A64_BLS);
        break;
    default:
        break;
    }
}

static inline void gc__a64_watch(gc__a64 *e) {
    GC__A64_LOAD(e, GC__A, watch);
    gc__a64_add(e, GC__A, GC__A, 0, GC_WATCH_SHIFT);
    gc__a64_byte(e, GC__B, GC__A);
    uint32_t known = e->at;
    gc__a64_put(e, (int)GC__A64_CBNZ | (int)GC__B);
    gc__a64_write(e, GC__A);
    gc__a64_land(e, known);
}

/* Emits the store and everything after it, up to the exit. */
static inline void gc__a64_body(gc__a64 *e, gc__barrier_parts parts, unsigned form) {
    gc__a64_put(e, 0xC89FFC01); /* stlr x1, [x0] */
    if (parts.mark == GC__MARK_NOTHING) return;
    if (form & GC_EMIT_CHECKED) {
        gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
        gc__a64_bound(e, 0, offsetof(gc_barrier_tables, lowest), GC__A64_BLO);
        gc__a64_bound(e, 0, offsetof(gc_barrier_tables, highest), GC__A64_BHS);
        gc__a64_put(e, (uint32_t)GC__A64_ORDER_LOADS);
    }
    if (parts.watch) gc__a64_watch(e);
    gc__a64_filter(e, parts.filter);
    switch (parts.mark) {
    case GC__MARK_CARD:
        gc__a64_mark_card(e);
        break;
    case GC__MARK_BYTE:
        gc__a64_mark_byte(e);
        break;
    case GC__MARK_BIT:
        gc__a64_mark_bit(e);
        break;
    case GC__MARK_ALWAYS:
        gc__a64_mark_always(e);
        break;
    case GC__MARK_SELECT:
        gc__a64_mark_select(e);
        break;
    default:
        gc__a64_mark_log(e);
        break;
    }
}

static inline void gc__a64_assign(gc__a64 *e, gc__barrier_parts parts, unsigned form) {
    gc__a64_op(e, 0x91002000, GC__FROM, 1, 0); /* add x14, x1, #8 */
    gc__a64_op(e, 0xF9400000, 1, 1, 0);        /* ldr x1, [x1] */
    gc__a64_body(e, parts, form);
    gc__a64_land_exits(e);
    gc__a64_op(e, 0x91002000, 0, 0, 0); /* add x0, x0, #8 */
    gc__a64_move(e, 1, GC__FROM);
}

/* Emits a loop upwards or downwards: x13 = slot, x14 = source - destination, x15 = the end, x16 = 8 or -8. */
static inline void gc__a64_copy(gc__a64 *e, gc__barrier_parts parts, unsigned form) {
    uint32_t nothing = e->at;
    gc__a64_put(e, 0xB4000002);                                /* cbz x2 */
    gc__a64_op(e, 0xCB000000, GC__FROM, 1, 0);                 /* sub x14, x1, x0 */
    gc__a64_op(e, 0x8B000C00, GC__END, 0, 2);                  /* add x15, x0, x2, lsl #3 */
    gc__a64_op(e, 0xD2800100, GC__STEP, 0, 0);                 /* mov x16, #8 */
    gc__a64_move(e, GC__TO, 0);
    gc__a64_op(e, 0xCB000000, GC__A, 0, 1);                    /* sub x9, x0, x1 */
    gc__a64_op(e, 0xD37DF000, GC__B, 2, 0);                    /* lsl x10, x2, #3 */
    gc__a64_compare(e, GC__A, GC__B);
    uint32_t upwards = e->at;
    gc__a64_put(e, GC__A64_BHS);
    gc__a64_op(e, 0xD1002000, GC__TO, GC__END, 0);             /* sub x13, x15, #8 */
    gc__a64_op(e, 0xD1002000, GC__END, 0, 0);                  /* sub x15, x0, #8 */
    gc__a64_op(e, 0x928000E0, GC__STEP, 0, 0);                 /* mov x16, #-8 */
    gc__a64_land(e, upwards);
    uint32_t loop = e->at;
    gc__a64_move(e, 0, GC__TO);
    gc__a64_op(e, 0xF8606800, 1, GC__TO, GC__FROM); /* ldr x1, [x13, x14] */
    gc__a64_body(e, parts, form);
    gc__a64_land_exits(e);
    gc__a64_op(e, 0x8B000000, GC__TO, GC__TO, GC__STEP);
    gc__a64_compare(e, GC__TO, GC__END);
    gc__a64_put(e, GC__A64_BNE | (0x7FFFF & (loop - e->at)) << 5);
    gc__a64_land(e, nothing);
}

/* Returns the code's words, and the number of its bytes in code->bytes. */
static inline const void *gc__a64_emit(gc__a64 *e, gc_barrier_code *code, gc__barrier_parts parts, unsigned form,
                                       const gc_barrier_tables *tables) {
    memset(e, 0, sizeof *e);
    e->code = code;
    e->tables = tables;
    gc__a64_put(e, (uint32_t)GC__A64_TARGET);
    if (form & GC_EMIT_COPY)
        gc__a64_copy(e, parts, form);
    else if (form & GC_EMIT_ASSIGN)
        gc__a64_assign(e, parts, form);
    else
        gc__a64_body(e, parts, form);
    gc__a64_land_exits(e);
    gc__a64_put(e, (uint32_t)GC__A64_RET);
    if (e->at % 2) gc__a64_put(e, (uint32_t)GC__A64_NOP);
    for (uint32_t i = 0; i < code->patches; i++, e->at += 2) {
        gc__a64_land(e, code->patch[i].at);
        code->patch[i].at = (uint16_t)(e->at * 4);
        memcpy(&e->words[e->at], (const char *)tables + code->patch[i].field, 8);
    }
    if (e->dirty) {
        gc__a64_land(e, e->dirty);
        memset(&e->words[e->at], 0xFF, 8);
        e->at += 2;
    }
    code->bytes = e->at * 4;
    return e->words;
}
/* The barriers as machine code, written into a buffer of the host's: for JIT compilers, whose code calls it. What follows
   is for x86-64.

   Calling convention. Store: rdi = slot, rsi = reference. Assign: rdi = slot, rsi = address of the reference; both are
   8 higher on return. Copy: rdi = destination, rsi = source, rdx = count. The code may change rax, rcx, rdx, rdi, rsi,
   r8, r9 and the flags, as the CLR's helper may, and for assign and copy also r10 and r11; gc_barrier_code.clobbers
   says which of these it changes. It calls nothing, preserves all vector registers, needs no frame and no alignment of
   the stack, and uses up to 24 bytes of the red zone, or of the stack where there is no red zone. A fault in a store to a bad
   slot comes before anything else is written. The convention is the same on Windows, where its functions have the attribute
   GC_EMITTED in C.

   The code is position-independent: the buffer may be a writable alias of executable memory. The host makes memory
   executable. Every address in the code is a 64-bit immediate aligned to 8 bytes, so that gc_barrier_patch replaces it
   by one store, even while threads run the code. For a change to another barrier threads must be stopped. */


typedef struct gc__emitter {
    gc_barrier_code *code;
    const gc_barrier_tables *tables;
    uint8_t bytes[GC_EMIT_BYTES_MAX + 64];
    uint32_t at;
    int leaves_by_jump; /* exits jump to the end of the form, where execution continues, instead of returning */
    uint32_t exits[12], exit_count;
} gc__emitter;

enum {
    GC__RAX = 1,
    GC__RCX = 2,
    GC__RDX = 4,
    GC__RSI = 64,
    GC__RDI = 128,
    GC__R8 = 256,
    GC__R9 = 512,
    GC__R10 = 1024,
    GC__R11 = 2048
};
enum { GC__JB = 0x72, GC__JAE = 0x73, GC__JE = 0x74, GC__JNE = 0x75, GC__JA = 0x77 };

/* Appends instructions, and adds the registers that they change to e's clobbers. */
static inline void gc__emit(gc__emitter *e, unsigned clobbers, const char *bytes, size_t count) {
    memcpy(e->bytes + e->at, bytes, count);
    e->at += (uint32_t)count;
    e->code->clobbers |= clobbers;
}
#define GC__EMIT(e, clobbers, literal) gc__emit(e, clobbers, literal, sizeof(literal) - 1)

static inline void gc__emit_byte(gc__emitter *e, int byte) { e->bytes[e->at++] = (uint8_t)byte; }

static inline void gc__emit_32(gc__emitter *e, uint32_t value) {
    memcpy(e->bytes + e->at, &value, 4);
    e->at += 4;
}

/* Returns the number of bytes until the immediate of a movabs would be aligned. */
static inline unsigned gc__emit_gap(uint32_t at) { return (6 - at) & 7; }

/* Appends no-operations up to an aligned immediate. */
static inline void gc__emit_align(gc__emitter *e) {
    static const char nops[8][8] = {"",
                                    "\x90",
                                    "\x66\x90",
                                    "\x0F\x1F\x00",
                                    "\x0F\x1F\x40\x00",
                                    "\x0F\x1F\x44\x00\x00",
                                    "\x66\x0F\x1F\x44\x00\x00",
                                    "\x0F\x1F\x80\x00\x00\x00\x00"};
    unsigned gap = gc__emit_gap(e->at);
    gc__emit(e, 0, nops[gap], gap);
}

/* Emits movabs to rax or, if `r9`, to r9, of the value of the tables' field. */
static inline void gc__emit_load(gc__emitter *e, int r9, size_t field) {
    gc__emit_align(e);
    if (r9)
        GC__EMIT(e, GC__R9, "\x49\xB9");
    else
        GC__EMIT(e, GC__RAX, "\x48\xB8");
    e->code->patch[e->code->patches].at = (uint16_t)e->at;
    e->code->patch[e->code->patches++].field = (uint16_t)field;
    memcpy(e->bytes + e->at, (const char *)e->tables + field, 8);
    e->at += 8;
}
#define GC__EMIT_LOAD_RAX(e, member) gc__emit_load(e, 0, offsetof(gc_barrier_tables, member))
#define GC__EMIT_LOAD_R9(e, member) gc__emit_load(e, 1, offsetof(gc_barrier_tables, member))

/* Ends the barrier by `ret`, or by a jump that gc__emit_land completes. */
static inline void gc__emit_exit(gc__emitter *e) {
    if (e->leaves_by_jump) {
        gc__emit_byte(e, 0xE9);
        e->exits[e->exit_count++] = e->at;
        gc__emit_32(e, 0);
    } else {
        gc__emit_byte(e, 0xC3);
    }
}

static inline void gc__emit_land(gc__emitter *e) {
    for (uint32_t i = 0; i < e->exit_count; i++) {
        uint32_t distance = e->at - (e->exits[i] + 4);
        memcpy(e->bytes + e->exits[i], &distance, 4);
    }
    e->exit_count = 0;
}

/* Ends the barrier unless the condition holds. `aligned`: a load comes next, and the padding that it needs is put
   behind the return, where it costs nothing. A return that a branch jumps over is the two-byte `rep ret` unless that
   spoils the alignment, so that bit_region is the CLR's code byte for byte. */
static inline void gc__emit_unless(gc__emitter *e, int condition, int aligned) {
    uint32_t jump = e->at;
    gc__emit_byte(e, condition);
    gc__emit_byte(e, 0);
    if (!e->leaves_by_jump && (!aligned || gc__emit_gap(e->at + 1) >= 1)) gc__emit_byte(e, 0xF3);
    gc__emit_exit(e);
    if (aligned) gc__emit_align(e);
    e->bytes[jump + 1] = (uint8_t)(e->at - jump - 2);
}

/* Slots outside the heap need only the store. */
static inline void gc__emit_check(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, lowest);
    GC__EMIT(e, 0, "\x48\x39\xC7"); /* cmp rdi, rax */
    gc__emit_unless(e, GC__JAE, 1);
    GC__EMIT_LOAD_RAX(e, highest);
    GC__EMIT(e, 0, "\x48\x39\xC7");
    gc__emit_unless(e, GC__JB, 0);
}

static inline void gc__emit_watch(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, watch);
    GC__EMIT(e, GC__R9, "\x49\x89\xF9\x49\xC1\xE9"); /* mov r9, rdi; shr r9, .. */
    gc__emit_byte(e, GC_WATCH_SHIFT);
    GC__EMIT(e, 0,
             "\x41\x80\x3C\x01\x00\x75\x05\x41\xC6\x04\x01\xFF"); /* cmp byte [r9+rax], 0; jne; mov byte [r9+rax], -1 */
}

static inline void gc__emit_low(gc__emitter *e) {
    GC__EMIT_LOAD_R9(e, low);
    GC__EMIT(e, 0, "\x4C\x39\xCE"); /* cmp rsi, r9 */
    gc__emit_unless(e, GC__JAE, 1);
}

static inline void gc__emit_range(gc__emitter *e) {
    gc__emit_low(e);
    GC__EMIT_LOAD_R9(e, high);
    GC__EMIT(e, 0, "\x4C\x39\xCE");
}

/* Sets rdi to the slot's region, and rax to the age table. */
static inline void gc__emit_slot_region(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, age);
    GC__EMIT(e, GC__RDI, "\x48\xC1\xEF"); /* shr rdi, .. */
    gc__emit_byte(e, GC_REGION_SHIFT);
}

static inline void gc__emit_ref_region(gc__emitter *e) {
    GC__EMIT(e, GC__RSI, "\x48\xC1\xEE"); /* shr rsi, .. */
    gc__emit_byte(e, GC_REGION_SHIFT);
}

static inline void gc__emit_is_old(gc__emitter *e, int aligned) {
    gc__emit_slot_region(e);
    GC__EMIT(e, 0, "\x80\x3C\x07\x00"); /* cmp byte [rdi+rax], 0 */
    gc__emit_unless(e, GC__JNE, aligned);
}

static inline void gc__emit_region(gc__emitter *e) {
    gc__emit_is_old(e, 1);
    gc__emit_range(e);
    gc__emit_unless(e, GC__JB, 0);
    gc__emit_ref_region(e);
    GC__EMIT(e, GC__RDX, "\x8A\x14\x06\x3A\x14\x07"); /* mov dl, [rsi+rax]; cmp dl, [rdi+rax] */
    gc__emit_unless(e, GC__JB, 1);
}

/* Sets dl to age[slot] + youth[ref]. */
static inline void gc__emit_sum(gc__emitter *e) {
    gc__emit_slot_region(e);
    gc__emit_ref_region(e);
    GC__EMIT(e, GC__RDX, "\x8A\x14\x07\x02\x94\x06"); /* mov dl, [rdi+rax]; add dl, [rsi+rax-..] */
    gc__emit_32(e, (uint32_t)0 - (uint32_t)GC_RANK_ENTRIES);
}

static inline void gc__emit_filter(gc__emitter *e, int filter) {
    switch (filter) {
    case GC__FILTER_LOW:
        gc__emit_low(e);
        break;
    case GC__FILTER_RANGE:
        gc__emit_range(e);
        gc__emit_unless(e, GC__JB, 1);
        break;
    case GC__FILTER_REGION:
        gc__emit_region(e);
        break;
    case GC__FILTER_RANK:
        gc__emit_sum(e);
        GC__EMIT(e, 0, "\x80\xFA\x02"); /* cmp dl, 2 */
        gc__emit_unless(e, GC__JA, 1);
        break;
    case GC__FILTER_SUM:
        gc__emit_sum(e);
        break;
    case GC__FILTER_OLD:
        gc__emit_is_old(e, 0);
        break;
    default:
        break;
    }
}

static inline void gc__emit_shift_slot(gc__emitter *e, int shift) {
    GC__EMIT(e, GC__R8, "\x49\xC1\xE8"); /* shr r8, .. */
    gc__emit_byte(e, shift);
}

/* Sets dl to the bit of r8 >> shift within its byte. */
static inline void gc__emit_bit_index(gc__emitter *e, int shift) {
    GC__EMIT(e, GC__RCX, "\xC1\xE9"); /* shr ecx, .. */
    gc__emit_byte(e, shift);
    GC__EMIT(e, GC__RCX, "\x83\xE1\x07"); /* and ecx, 7 */
}

/* Writes the byte at [r8+rax]. */
static inline void gc__emit_write(gc__emitter *e) {
    GC__EMIT(e, 0, "\x41\xC6\x04\x00\xFF");
} /* mov byte [r8+rax], -1 */

static inline void gc__emit_set(gc__emitter *e, int aligned) {
    GC__EMIT(e, 0, "\x41\x80\x3C\x00\xFF"); /* cmp byte [r8+rax], -1 */
    gc__emit_unless(e, GC__JNE, aligned);
    gc__emit_write(e);
}

/* r8 is the slot >> GC_CARD_BYTE_SHIFT; afterwards [r8+rax] is its bundle. */
static inline void gc__emit_bundle_entry(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, bundles);
    gc__emit_shift_slot(e, GC_BUNDLE_SHIFT - GC_CARD_BYTE_SHIFT);
}

static inline void gc__emit_bundle(gc__emitter *e) {
    if (!GC_BUNDLE_SHIFT) return;
    gc__emit_bundle_entry(e);
    gc__emit_set(e, 0);
}

static inline void gc__emit_mark_byte(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, cards);
    gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
    gc__emit_set(e, 0);
    gc__emit_bundle(e);
}

/* Sets dl to the card's bit; [r8+rax] is its byte. */
static inline void gc__emit_card_bit(gc__emitter *e) {
    GC__EMIT_LOAD_RAX(e, cards);
    GC__EMIT(e, GC__RCX, "\x44\x89\xC1"); /* mov ecx, r8d */
    gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
    gc__emit_bit_index(e, GC_CARD_BYTE_SHIFT - 3);
    GC__EMIT(e, GC__RDX, "\xB2\x01\xD2\xE2"); /* mov dl, 1; shl dl, cl */
}

static inline void gc__emit_mark_bit(gc__emitter *e) {
    gc__emit_card_bit(e);
    GC__EMIT(e, 0, "\x41\x84\x14\x00"); /* test [r8+rax], dl */
    gc__emit_unless(e, GC__JE, 0);
    GC__EMIT(e, 0, "\xF0\x41\x08\x14\x00"); /* lock or [r8+rax], dl */
    gc__emit_bundle(e);
}

static inline void gc__emit_mark_card(gc__emitter *e) {
    if (GC_CARD_BITS)
        gc__emit_mark_bit(e);
    else
        gc__emit_mark_byte(e);
}

static inline void gc__emit_mark_always(gc__emitter *e) {
    if (GC_CARD_BITS) {
        gc__emit_card_bit(e);
        GC__EMIT(e, 0, "\xF0\x41\x08\x14\x00");
    } else {
        GC__EMIT_LOAD_RAX(e, cards);
        gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
        gc__emit_write(e);
    }
    if (!GC_BUNDLE_SHIFT) return;
    gc__emit_bundle_entry(e);
    gc__emit_write(e);
}

static inline void gc__emit_mark_select(gc__emitter *e) {
    GC__EMIT(e, GC__R9, "\x4C\x8D\x0D\xFF\xFF\xFF\xFF"); /* lea r9, [rip-1]: its own last byte, which is 0xFF */
    GC__EMIT_LOAD_RAX(e, cards);
    if (GC_CARD_BITS) {
        GC__EMIT(e, GC__RCX, "\x44\x89\xC1"); /* mov ecx, r8d */
        gc__emit_bit_index(e, GC_CARD_BYTE_SHIFT - 3);
        GC__EMIT(e, GC__RSI, "\xBE\x01\x00\x00\x00\xD3\xE6"); /* mov esi, 1; shl esi, cl */
    }
    gc__emit_shift_slot(e, GC_CARD_BYTE_SHIFT);
    /* lea rdi, [r8+rax]; cmp dl, 3; cmovb rdi, r9: the card, or the byte 0xFF if the ranks need no card */
    GC__EMIT(e, GC__RDI, "\x49\x8D\x3C\x00\x80\xFA\x03\x49\x0F\x42\xF9");
    if (GC_CARD_BITS) {
        GC__EMIT(e, 0, "\x40\x84\x37"); /* test [rdi], sil */
        gc__emit_unless(e, GC__JE, 0);
        GC__EMIT(e, 0, "\xF0\x40\x08\x37"); /* lock or [rdi], sil */
    } else {
        GC__EMIT(e, 0, "\x80\x3F\xFF"); /* cmp byte [rdi], -1 */
        gc__emit_unless(e, GC__JNE, 0);
        GC__EMIT(e, 0, "\xC6\x07\xFF"); /* mov byte [rdi], -1 */
    }
    gc__emit_bundle(e);
}

static inline void gc__emit_mark_log(gc__emitter *e) {
    GC__EMIT(e, GC__RCX, "\x44\x89\xC1"); /* mov ecx, r8d */
    gc__emit_bit_index(e, 3);
    GC__EMIT(e, GC__RDX | GC__R9,
             "\xB2\x01\xD2\xE2\x4D\x89\xC1\x49\xC1\xE9\x06"); /* mov dl, 1; shl dl, cl; mov r9, r8; shr r9, 6 */
    GC__EMIT_LOAD_RAX(e, log_bits);
    GC__EMIT(e, 0, "\x41\x84\x14\x01"); /* test [r9+rax], dl */
    gc__emit_unless(e, GC__JE, 0);
    GC__EMIT(e, 0, "\xF0\x41\x08\x14\x01"); /* lock or [r9+rax], dl */
    GC__EMIT_LOAD_RAX(e, log);
    GC__EMIT(e, GC__RCX, "\xB9\x08\x00\x00\x00\xF0\x48\x0F\xC1\x08"); /* mov ecx, 8; lock xadd [rax], rcx */
    GC__EMIT(e, 0, "\x48\x3B\x48\x08\x73\x00");                       /* cmp rcx, [rax+8]; jae */
    uint32_t full = e->at;
    GC__EMIT(e, 0, "\x4C\x89\x01"); /* mov [rcx], r8 */
    gc__emit_exit(e);
    e->bytes[full - 1] = (uint8_t)(e->at - full);
    gc__emit_mark_card(e);
}

/* Emits the store and everything after it, up to the exit. */
static inline void gc__emit_body(gc__emitter *e, gc__barrier_parts parts, unsigned form) {
    GC__EMIT(e, 0, "\x48\x89\x37"); /* mov [rdi], rsi */
    if (parts.mark == GC__MARK_NOTHING) return;
    if (form & GC_EMIT_CHECKED) gc__emit_check(e);
    GC__EMIT(e, GC__R8, "\x49\x89\xF8"); /* mov r8, rdi */
    if (parts.watch) gc__emit_watch(e);
    gc__emit_filter(e, parts.filter);
    switch (parts.mark) {
    case GC__MARK_CARD:
        gc__emit_mark_card(e);
        break;
    case GC__MARK_BYTE:
        gc__emit_mark_byte(e);
        break;
    case GC__MARK_BIT:
        gc__emit_mark_bit(e);
        break;
    case GC__MARK_ALWAYS:
        gc__emit_mark_always(e);
        break;
    case GC__MARK_SELECT:
        gc__emit_mark_select(e);
        break;
    default:
        gc__emit_mark_log(e);
        break;
    }
}

static inline void gc__emit_assign(gc__emitter *e, gc__barrier_parts parts, unsigned form) {
    GC__EMIT(e, GC__R10 | GC__R11 | GC__RSI,
             "\x4C\x8D\x57\x08\x4C\x8D\x5E\x08\x48\x8B\x36"); /* lea r10, [rdi+8]; lea r11, [rsi+8]; mov rsi, [rsi] */
    gc__emit_body(e, parts, form);
    gc__emit_land(e);
    GC__EMIT(e, GC__RDI | GC__RSI, "\x4C\x89\xD7\x4C\x89\xDE\xC3"); /* mov rdi, r10; mov rsi, r11; ret */
}

/* Emits a loop upwards or downwards: r10 = slot, r11 = source - destination, [rsp-8] = the end, [rsp-16] = 8 or -8; or at
   [rsp+16] and [rsp+8], once 24 bytes are reserved. */
static inline void gc__emit_copy(gc__emitter *e, gc__barrier_parts parts, unsigned form) {
    GC__EMIT(e, GC__R10 | GC__R11 | GC__RCX | GC__RDX | GC__RAX | GC__RDI | GC__RSI,
             "\x48\x85\xD2\x75\x01\xC3"                 /* test rdx, rdx; jne; ret */
             "\x49\x89\xFA\x49\x89\xF3\x49\x29\xFB"     /* mov r10, rdi; mov r11, rsi; sub r11, rdi */
             "\x48\x8D\x0C\xD7\x48\xC1\xE2\x03"         /* lea rcx, [rdi+rdx*8]; shl rdx, 3 */
             "\x48\x89\xF8\x48\x29\xF0"                 /* mov rax, rdi; sub rax, rsi */
             "\x48\x39\xD0\xBA\x08\x00\x00\x00\x73\x0C" /* cmp rax, rdx; mov edx, 8; jae */
             "\x4C\x8D\x51\xF8\x48\x8D\x4F\xF8"         /* lea r10, [rcx-8]; lea rcx, [rdi-8] */
             "\x48\xF7\xDA\x90" /* neg rdx; nop */);
    if (!GC__HAS_RED_ZONE) GC__EMIT(e, 0, "\x48\x83\xEC\x18"); /* sub rsp, 24 */
    GC__EMIT(e, 0, "\x48\x89\x4C\x24");                        /* mov [rsp-8], rcx */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -8 : 16);
    GC__EMIT(e, 0, "\x48\x89\x54\x24"); /* mov [rsp-16], rdx */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -16 : 8);
    uint32_t loop = e->at;
    GC__EMIT(e, 0, "\x4C\x89\xD7\x4B\x8B\x34\x1A"); /* mov rdi, r10; mov rsi, [r10+r11] */
    gc__emit_body(e, parts, form);
    gc__emit_land(e);
    GC__EMIT(e, 0, "\x4C\x03\x54\x24"); /* add r10, [rsp-16] */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -16 : 8);
    GC__EMIT(e, 0, "\x4C\x3B\x54\x24"); /* cmp r10, [rsp-8]; jne */
    gc__emit_byte(e, GC__HAS_RED_ZONE ? -8 : 16);
    GC__EMIT(e, 0, "\x0F\x85");
    gc__emit_32(e, loop - (e->at + 4));
    if (!GC__HAS_RED_ZONE) GC__EMIT(e, 0, "\x48\x83\xC4\x18"); /* add rsp, 24 */
    GC__EMIT(e, 0, "\xC3");
}

void gc__emit_declined(void)
    __attribute__((error("gc.h: gc_barrier_emit has no machine code for this processor: call gc_barrier_functions_of")));

/* Writes the barrier in that form, with the tables' present values, into `buffer`, which must be aligned to 8 bytes.
   Returns the number of bytes, and fills *code; 0 if the buffer is too short or not aligned (code->bytes is then the
   length that it must have; GC_EMIT_BYTES_MAX is always enough). Processors without it have GC_HAS_EMIT 0. [any
   thread; never collects; 0] */
static inline size_t gc_barrier_emit(gc_barrier_code *code, void *buffer, size_t bytes, gc_barrier barrier,
                                     unsigned form, const gc_barrier_tables *tables) {
    if (!GC_HAS_EMIT) gc__emit_declined();
    memset(code, 0, sizeof *code);
    if ((unsigned)barrier >= GC_BARRIER_COUNT) return 0;
#if GC__IS_AARCH64
    gc__a64 e;
    const void *words = gc__a64_emit(&e, code, gc__barrier_parts_of(barrier), form, tables);
#else
    gc__emitter e;
    memset(&e, 0, sizeof e);
    e.code = code;
    e.tables = tables;
    e.leaves_by_jump = form & (GC_EMIT_ASSIGN | GC_EMIT_COPY) ? 1 : 0;
    if (form & GC_EMIT_COPY) {
        gc__emit_copy(&e, gc__barrier_parts_of(barrier), form);
    } else if (form & GC_EMIT_ASSIGN) {
        gc__emit_assign(&e, gc__barrier_parts_of(barrier), form);
    } else {
        gc__emit_body(&e, gc__barrier_parts_of(barrier), form);
        gc__emit_exit(&e);
    }
    code->bytes = e.at;
    const void *words = e.bytes;
#endif
    if (code->bytes > bytes || ((uintptr_t)buffer & 7)) return 0;
    memcpy(buffer, words, code->bytes);
    return code->bytes;
}

/* Makes emitted code use the tables' present values. New tables are published before new bounds: a thread that runs the
   code at the same time sees old bounds with old or new tables, both of which are right. `buffer`: where the code is,
   or a writable alias of it. No instruction needs flushing, since each immediate changes by one aligned store, and
   on AArch64 is no part of an instruction. [any thread; never collects; cannot fail] */
static inline void gc_barrier_patch(const gc_barrier_code *code, void *buffer, const gc_barrier_tables *tables) {
    for (int bounds = 0; bounds < 2; bounds++)
        for (uint32_t i = 0; i < code->patches; i++) {
            size_t field = code->patch[i].field;
            if ((field >= offsetof(gc_barrier_tables, low)) != bounds) continue;
            uint64_t value;
            memcpy(&value, (const char *)tables + field, 8);
            __atomic_store_n((uint64_t __attribute__((may_alias)) *)(void *)((char *)buffer + code->patch[i].at), value,
                             __ATOMIC_RELEASE);
        }
}

GC__STYLE_END
