/* The barriers as x86-64 inline assembly: gc__barrier_after_NAME (all after the store) and gc_barrier_store_NAME.

   Each is put together from the texts of its write watch, filter and mark, in which a and b are scratch registers and
   label 1 is the end. */
#pragma once

#include "portable.h"

#define GC__TEXT(x) GC__TEXT_(x)
#define GC__TEXT_(x) #x

/* clang-format off */
#define GC__ASM(instruction) instruction "\n\t"
#define GC__ASM_ENTRY(address, shift, base, to) /* to = base + (address >> shift) */ \
    GC__ASM("movq %[" address "], %[" to "]") GC__ASM("shrq $" GC__TEXT(shift) ", %[" to "]") \
    GC__ASM("addq %[" base "], %[" to "]")
#define GC__ASM_INDEX(address, to) \
    GC__ASM("movq %[" address "], %[" to "]") GC__ASM("shrq $" GC__TEXT(GC_REGION_SHIFT) ", %[" to "]")
#define GC__ASM_BIT(address, shift) /* b = 1 << ((address >> shift) & 7) */ \
    GC__ASM("movl %k[" address "], %k[a]") GC__ASM("shrl $" GC__TEXT(shift) ", %k[a]") GC__ASM("andl $7, %k[a]") \
    GC__ASM("xorl %k[b], %k[b]") GC__ASM("btsl %k[a], %k[b]")

#define GC__ASM_WATCH_0
#define GC__ASM_WATCH_1 \
    GC__ASM_ENTRY("slot", GC_WATCH_SHIFT, "watch", "a") \
    GC__ASM("cmpb $0, (%[a])") GC__ASM("jne 2f") GC__ASM("movb $-1, (%[a])") "2:\n\t"

#define GC__ASM_FILTER_ANY
#define GC__ASM_FILTER_LOW GC__ASM("cmpq %[low], %[ref]") GC__ASM("jb 1f")
#define GC__ASM_FILTER_RANGE GC__ASM_FILTER_LOW GC__ASM("cmpq %[high], %[ref]") GC__ASM("jae 1f")
#define GC__ASM_FILTER_OLD GC__ASM_INDEX("slot", "a") GC__ASM("cmpb $0, (%[age],%[a])") GC__ASM("je 1f")
#define GC__ASM_FILTER_REGION \
    GC__ASM_FILTER_OLD GC__ASM_FILTER_RANGE GC__ASM_INDEX("ref", "b") \
    GC__ASM("movzbl (%[age],%[b]), %k[b]") GC__ASM("cmpb (%[age],%[a]), %b[b]") GC__ASM("jae 1f")
#define GC__ASM_FILTER_SUM /* a = age[slot] + youth[ref] */ \
    GC__ASM_INDEX("slot", "a") GC__ASM_INDEX("ref", "b") GC__ASM("movzbl (%[age],%[a]), %k[a]") \
    GC__ASM("addb -(1<<(" GC__TEXT(GC_ADDRESS_BITS) "-" GC__TEXT(GC_REGION_SHIFT) "))(%[age],%[b]), %b[a]")
#define GC__ASM_FILTER_RANK GC__ASM_FILTER_SUM GC__ASM("cmpb $2, %b[a]") GC__ASM("jbe 1f")

#if GC_BUNDLE_SHIFT
#define GC__ASM_BUNDLE(steps) GC__ASM_ENTRY("slot", GC_BUNDLE_SHIFT, "bundles", "a") steps
#else
#define GC__ASM_BUNDLE(steps)
#endif
#define GC__ASM_SET GC__ASM("cmpb $-1, (%[a])") GC__ASM("je 1f") GC__ASM("movb $-1, (%[a])")
#define GC__ASM_SELECT /* b = the card's byte, or one that is dirty if the ranks in a need no card */ \
    GC__ASM_ENTRY("slot", GC_BARRIER_CARD_BYTE_SHIFT, "cards", "b") GC__ASM("cmpb $3, %b[a]") GC__ASM("cmovbq %[dirty], %[b]")
#define GC__ASM_CARD_BYTE GC__ASM_ENTRY("slot", GC_BARRIER_CARD_BYTE_SHIFT, "cards", "a")
#define GC__ASM_CARD_BIT GC__ASM_BIT("slot", (GC_BARRIER_CARD_BYTE_SHIFT-3)) GC__ASM_CARD_BYTE

#define GC__ASM_MARK_NOTHING
#define GC__ASM_MARK_BYTE GC__ASM_CARD_BYTE GC__ASM_SET GC__ASM_BUNDLE(GC__ASM_SET)
#define GC__ASM_MARK_BIT \
    GC__ASM_CARD_BIT GC__ASM("testb %b[b], (%[a])") GC__ASM("jne 1f") GC__ASM("lock orb %b[b], (%[a])") \
    GC__ASM_BUNDLE(GC__ASM_SET)
#define GC__ASM_MARK_LOG \
    GC__ASM_BIT("object", 3) GC__ASM_ENTRY("object", 6, "log_bits", "a") \
    GC__ASM("testb %b[b], (%[a])") GC__ASM("jne 1f") GC__ASM("lock orb %b[b], (%[a])") \
    GC__ASM("movq %[log], %[a]") GC__ASM("movl $8, %k[b]") GC__ASM("lock xaddq %[b], (%[a])") \
    GC__ASM("cmpq 8(%[a]), %[b]") GC__ASM("jae 2f") GC__ASM("movq %[object], (%[b])") GC__ASM("jmp 1f") "2:\n\t" GC__ASM_MARK_CARD
#if GC_CARD_BITS
#define GC__ASM_MARK_CARD GC__ASM_MARK_BIT
#define GC__ASM_MARK_ALWAYS GC__ASM_CARD_BIT GC__ASM("lock orb %b[b], (%[a])") GC__ASM_BUNDLE(GC__ASM("movb $-1, (%[a])"))
#define GC__ASM_MARK_SELECT \
    GC__ASM_SELECT GC__ASM("movl %k[slot], %k[a]") GC__ASM("shrl $(" GC__TEXT(GC_BARRIER_CARD_BYTE_SHIFT) "-3), %k[a]") \
    GC__ASM("andl $7, %k[a]") GC__ASM("xorl %k[c], %k[c]") GC__ASM("btsl %k[a], %k[c]") GC__ASM("testb %b[c], (%[b])") \
    GC__ASM("jne 1f") GC__ASM("lock orb %b[c], (%[b])") GC__ASM_BUNDLE(GC__ASM_SET)
#else
#define GC__ASM_MARK_CARD GC__ASM_MARK_BYTE
#define GC__ASM_MARK_ALWAYS GC__ASM_CARD_BYTE GC__ASM("movb $-1, (%[a])") GC__ASM_BUNDLE(GC__ASM("movb $-1, (%[a])"))
#define GC__ASM_MARK_SELECT \
    GC__ASM_SELECT GC__ASM("cmpb $-1, (%[b])") GC__ASM("je 1f") GC__ASM("movb $-1, (%[b])") GC__ASM_BUNDLE(GC__ASM_SET)
#endif

/* Operands: scratch registers and locals by mark, inputs by each part. */
#define GC__ASM_IN_WATCH_0
#define GC__ASM_IN_WATCH_1 , [watch] "m"(tables->watch)
#define GC__ASM_IN_ANY
#define GC__ASM_IN_LOW , [low] "m"(tables->low)
#define GC__ASM_IN_RANGE GC__ASM_IN_LOW, [high] "m"(tables->high)
#define GC__ASM_IN_OLD , [age] "r"(tables->age)
#define GC__ASM_IN_REGION GC__ASM_IN_OLD GC__ASM_IN_RANGE
#define GC__ASM_IN_RANK GC__ASM_IN_OLD
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
/* clang-format on */

/* The operands are listed by name, so those that a text does not mention cost at most a register. The tables are written
   behind the compiler's back, which the memory clobber says. */
#define GC__BARRIER_ASSEMBLY(store, watch, filter, mark)                                                 \
    GC__ASM_LOCALS_##mark __asm__ volatile(                                                              \
        store GC__ASM_WATCH_##watch GC__ASM_FILTER_##filter GC__ASM_MARK_##mark "1:"                     \
        : GC__ASM_OUT_##mark                                                                             \
        : [slot] "r"(slot), [ref] "r"(ref)GC__ASM_IN_WATCH_##watch GC__ASM_IN_##filter GC__ASM_IN_##mark \
        : "cc", "memory")

#if GC_BARRIER_ASSEMBLY
#define GC__BARRIER_BASE(name, NAME, watch, filter, mark)                                                              \
    static inline void gc__barrier_after_##name(const gc_barrier_tables *tables, const void *object, const void *slot, \
                                                const void *ref) {                                                     \
        (void)tables, (void)object;                                                                                    \
        GC__BARRIER_ASSEMBLY("", watch, filter, mark);                                                                 \
    }                                                                                                                  \
    static inline void gc_barrier_store_##name(const gc_barrier_tables *tables, void *slot, const void *ref) {         \
        void *object = slot;                                                                                           \
        (void)tables, (void)object;                                                                                    \
        GC__BARRIER_ASSEMBLY(GC__ASM("movq %[ref], (%[slot])"), watch, filter, mark);                                  \
    }
#else
#define GC__BARRIER_BASE(name, NAME, watch, filter, mark)                                                              \
    static inline void gc__barrier_after_##name(const gc_barrier_tables *tables, const void *object, const void *slot, \
                                                const void *ref) {                                                     \
        gc__barrier_after_c(GC_BARRIER_##NAME, tables, (uintptr_t)object, (uintptr_t)slot, (uintptr_t)ref);            \
    }                                                                                                                  \
    static inline void gc_barrier_store_##name(const gc_barrier_tables *tables, void *slot, const void *ref) {         \
        __atomic_store_n((gc_word *)slot, (uintptr_t)ref, __ATOMIC_RELAXED);                                           \
        gc__barrier_after_##name(tables, slot, slot, ref);                                                             \
    }
#endif
GC_BARRIERS(GC__BARRIER_BASE)
