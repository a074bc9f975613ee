/* gc_barrier_x86_64.h - the write barrier of gc.h, usable on its own.

   A generational collector must know every reference from an old object to a younger one. The rank-sum barrier finds
   them with two byte tables indexed by address >> GC_REGION_SHIFT over the whole user address space:

       age[slot]  = generation of the region that holds the slot, 0 where there is no heap
       youth[ref] = 2 - generation of the region that holds the referent, 0 where there is no heap

   A store needs its card dirtied exactly if age + youth > 2. There is one branch and no range check; null, stack and
   static slots, and referents outside the heap all come out right. The youth table lies just below the age table, so
   one base pointer reaches both.

   Without the collector: fill a gc_barrier_tables and call gc_barrier_store().  Needs x86-64 with gcc or clang for the
   assembly; elsewhere, or with GC_BARRIER_PORTABLE defined, the same barrier in C. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Geometry. Every translation unit of a program must see the same values. */

#ifndef GC_REGION_SHIFT
#define GC_REGION_SHIFT 22 /* log2 of a region's bytes: 16 to 30. Smaller wastes less, larger costs less bookkeeping. */
#endif
#ifndef GC_CARD_BITS
#define GC_CARD_BITS 0 /* 1: a card is one bit (an eighth of the table, a locked OR per dirtied card); 0: a byte */
#endif
#ifndef GC_CARD_SHIFT
#define GC_CARD_SHIFT 9 /* log2 of the bytes that one card covers: 7 to 12 */
#endif
#ifndef GC_BUNDLE_SHIFT
#define GC_BUNDLE_SHIFT 16 /* log2 of the bytes that one bundle byte covers; 0: no bundles, every card is looked at */
#endif
#define GC_ADDRESS_BITS 47 /* user addresses on x86-64 Linux with 4-level paging, and on AArch64 Linux by default */

#define GC_REGION_BYTES ((size_t)1 << GC_REGION_SHIFT)
#define GC_CARD_BYTES ((size_t)1 << GC_CARD_SHIFT)
#define GC_RANK_ENTRIES ((size_t)1 << (GC_ADDRESS_BITS - GC_REGION_SHIFT))
#define GC_CARD_DIRTY 0xFF /* the value of a dirty byte card and of a dirty bundle */

#if GC_REGION_SHIFT < 16 || GC_REGION_SHIFT > 30
#error "GC_REGION_SHIFT must be 16 to 30: smaller regions make the rank tables exceed a 32-bit displacement"
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

#if defined(__x86_64__) && defined(__GNUC__) && !defined(GC_BARRIER_PORTABLE)
#define GC_BARRIER_ASSEMBLY 1
#else
#define GC_BARRIER_ASSEMBLY 0
#endif

/* A word of the heap. It may alias any type, since slots have the host's types. */
typedef uintptr_t __attribute__((may_alias)) gc_word;

/* The tables that the barrier reads. All bases are biased: base + (address >> shift) is the entry of an address.
   With GC_CARD_BITS the card's byte is cards[address >> (GC_CARD_SHIFT + 3)], its bit (address >> GC_CARD_SHIFT) & 7. */
typedef struct gc_barrier_tables {
    uint8_t *age; /* GC_RANK_ENTRIES entries; youth is the GC_RANK_ENTRIES entries below */
    uint8_t *cards;
    uint8_t *bundles; /* unused without bundles */
} gc_barrier_tables;

#define GC_BARRIER_CARD_BYTE_SHIFT (GC_CARD_SHIFT + (GC_CARD_BITS ? 3 : 0))

/* Effect: dirties the card (and bundle) that covers slot, if it is not dirty yet. Never collects. */
static inline void gc_barrier_dirty_card(const gc_barrier_tables *tables, const void *slot) {
    uintptr_t address = (uintptr_t)slot;
    uint8_t *card = tables->cards + (address >> GC_BARRIER_CARD_BYTE_SHIFT);
#if GC_CARD_BITS
    uint8_t bit = (uint8_t)(1u << ((address >> GC_CARD_SHIFT) & 7));
    if (!(__atomic_load_n(card, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(card, bit, __ATOMIC_RELAXED);
#else
    if (__atomic_load_n(card, __ATOMIC_RELAXED) != GC_CARD_DIRTY)
        __atomic_store_n(card, GC_CARD_DIRTY, __ATOMIC_RELAXED);
#endif
#if GC_BUNDLE_SHIFT
    uint8_t *bundle = tables->bundles + (address >> GC_BUNDLE_SHIFT);
    if (__atomic_load_n(bundle, __ATOMIC_RELAXED) != GC_CARD_DIRTY)
        __atomic_store_n(bundle, GC_CARD_DIRTY, __ATOMIC_RELAXED);
#endif
}

/* age[slot] + youth[ref]: a card is needed if this is more than 2. Both must be user addresses, or small. */
static inline unsigned gc_barrier_rank_sum(const gc_barrier_tables *tables, const void *slot, const void *ref) {
    const uint8_t *age = tables->age;
    return (unsigned)__atomic_load_n(&age[(uintptr_t)slot >> GC_REGION_SHIFT], __ATOMIC_RELAXED) +
           (unsigned)__atomic_load_n(&age[(intptr_t)((uintptr_t)ref >> GC_REGION_SHIFT) - (intptr_t)GC_RANK_ENTRIES],
                                     __ATOMIC_RELAXED);
}

#if GC_BARRIER_ASSEMBLY
#define GC__TEXT(x) GC__TEXT_(x)
#define GC__TEXT_(x) #x
#if GC_CARD_BITS
#define GC__BARRIER_CARD                                                                         \
    "movl %k[slot], %%ecx\n\t"                                                                   \
    "shrl $" GC__TEXT(GC_CARD_SHIFT) ", %%ecx\n\t"                                               \
                                     "andl $7, %%ecx\n\t"                                        \
                                     "movl $1, %k[a]\n\t"                                        \
                                     "shll %%cl, %k[a]\n\t"                                      \
                                     "movq %[slot], %[b]\n\t"                                    \
                                     "shrq $" GC__TEXT(GC_CARD_SHIFT) "+3, %[b]\n\t"             \
                                                                      "addq %[cards], %[b]\n\t"  \
                                                                      "testb %b[a], (%[b])\n\t"  \
                                                                      "jne 2f\n\t"               \
                                                                      "lock orb %b[a], (%[b])\n" \
                                                                      "2:\n\t"
#else
#define GC__BARRIER_CARD                                       \
    "movq %[slot], %[a]\n\t"                                   \
    "shrq $" GC__TEXT(GC_CARD_SHIFT) ", %[a]\n\t"              \
                                     "addq %[cards], %[a]\n\t" \
                                     "cmpb $-1, (%[a])\n\t"    \
                                     "je 2f\n\t"               \
                                     "movb $-1, (%[a])\n"      \
                                     "2:\n\t"
#endif
#if GC_BUNDLE_SHIFT
#define GC__BARRIER_BUNDLE                                         \
    "movq %[slot], %[b]\n\t"                                       \
    "shrq $" GC__TEXT(GC_BUNDLE_SHIFT) ", %[b]\n\t"                \
                                       "addq %[bundles], %[b]\n\t" \
                                       "cmpb $-1, (%[b])\n\t"      \
                                       "je 1f\n\t"                 \
                                       "movb $-1, (%[b])\n"
#else
#define GC__BARRIER_BUNDLE ""
#endif
#endif

/* Effect: *slot = ref, and the slot's card is dirtied if slot is in an older generation than ref, or is being marked.
   slot: 8-byte aligned, anywhere. ref: null, an object, or any user address. Never collects. */
static inline void gc_barrier_store(const gc_barrier_tables *tables, void *slot, const void *ref) {
#if GC_BARRIER_ASSEMBLY
    uintptr_t a, b;
    __asm__ volatile(
        "movq %[ref], %[cell]\n\t"
        "movq %[slot], %[a]\n\t"
        "shrq $" GC__TEXT(
            GC_REGION_SHIFT) ", %[a]\n\t"
                             "movq %[ref], %[b]\n\t"
                             "shrq $" GC__TEXT(
                                 GC_REGION_SHIFT) ", %[b]\n\t"
                                                  "movzbl (%[age],%[a]), %k[a]\n\t"
                                                  "addb -(1<<(47-" GC__TEXT(
                                                      GC_REGION_SHIFT) "))(%[age],%[b]), %b[a]\n\t"
                                                                       "cmpb $2, %b[a]\n\t"
                                                                       "jbe 1f\n\t" GC__BARRIER_CARD GC__BARRIER_BUNDLE
                                                                       "1:"
        : [cell] "=m"(*(gc_word *)slot), [a] "=&q"(a), [b] "=&r"(b)
        : [slot] "r"(slot), [ref] "r"(ref), [age] "r"(tables->age), [cards] "m"(tables->cards),
          [bundles] "m"(tables->bundles)
        : "cc"
#if GC_CARD_BITS
          ,
          "rcx"
#endif
    );
#else
    __atomic_store_n((gc_word *)slot, (uintptr_t)ref, __ATOMIC_RELAXED);
    if (gc_barrier_rank_sum(tables, slot, ref) > 2) gc_barrier_dirty_card(tables, slot);
#endif
}
