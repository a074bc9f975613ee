/* The range barriers. */
#pragma once

#include "../heap/stomp.h"

GC__FN void gc__barrier_after_word(gc_word *slot, uintptr_t word, bool value) {
    if (value && !GC_VALUE_IS_REF(word)) return;
    const void *ref = (const void *)(value ? GC_VALUE_TO_REF(word) : word);
    GC__PASTE(gc_barrier_after_checked_, GC_BARRIER)(&gc__tables, slot, ref);
}

/* Whether slots there need no barrier, whatever they hold. All slots of an object have one age. */
GC__FN bool gc__barrier_is_idle(const void *slot) {
    return GC__BARRIER_ANYWHERE && gc__tables.age[(uintptr_t)slot >> GC_REGION_SHIFT] == 0;
}

GC_API void gc_stored_range(gc_thread *thread, void *slots, size_t count, unsigned flags) {
    gc_word *slot = (gc_word *)slots;
    (void)thread;
    gc__store_shadow(slots, count);
    if (!count || gc__barrier_is_idle(slots)) return;
    for (size_t i = 0; i < count; i++) gc__barrier_after_word(&slot[i], slot[i], (flags & GC_ROOT_VALUE) != 0);
}

GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count) {
    (void)thread;
    GC__PASTE(gc_barrier_copy_checked_, GC_BARRIER)(&gc__tables, destination, source, count);
    gc__store_shadow(destination, count);
}

GC__FN void gc__copy_value(gc_word *to, uintptr_t word) {
    *to = word;
    gc__barrier_after_word(to, word, true);
}

GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count) {
    gc_word *to = (gc_word *)destination;
    const gc_word *from = (const gc_word *)source;
    (void)thread;
    if (!count) return;
    if (gc__barrier_is_idle(destination))
        memmove(destination, source, count * 8);
    else if ((uintptr_t)destination - (uintptr_t)source >= count * 8)
        for (size_t i = 0; i < count; i++) gc__copy_value(&to[i], from[i]);
    else
        for (size_t i = count; i-- > 0;) gc__copy_value(&to[i], from[i]);
    gc__store_shadow(destination, count);
}
