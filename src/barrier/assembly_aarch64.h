/* The barriers as AArch64 inline assembly: the texts that take the place of those for x86-64.

   The store is a release: what an object holds comes before the reference to it. Bounds are read after a barrier of loads,
   since they may have widened just before the reference was stored. Youth and age are read by addresses that come from the
   reference and the slot, which is order enough. Cards need none: threads stop before they are read. */
#pragma once

#include "portable.h"

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
