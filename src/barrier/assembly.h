/* The barriers as inline assembly: gc__barrier_after_NAME (without the store) and gc_barrier_store_NAME. The texts here
   are those for x86-64.

   Each is composed of the texts of its write watch, filter and mark, in which a and b are scratch registers and label 1
   is the end. */
#pragma once

#include "assembly_aarch64.h"

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
