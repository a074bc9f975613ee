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

/* For slots of one old object: those in a dirty card need no barrier. */
GC__FN void gc__barrier_after_cards(gc_word *slot, size_t count, bool value) {
    while (count) {
        size_t in_card = (GC_CARD_BYTES - ((uintptr_t)slot & (GC_CARD_BYTES - 1))) / 8;
        size_t some = in_card < count ? in_card : count;
        if (!gc__card_is_dirty((uintptr_t)slot))
            for (size_t i = 0; i < some; i++) gc__barrier_after_word(&slot[i], slot[i], value);
        slot += some;
        count -= some;
    }
}

GC_API void gc_stored_range(gc_thread *thread, void *slots, size_t count, unsigned flags) {
    gc_word *slot = (gc_word *)slots;
    bool value = (flags & GC_ROOT_VALUE) != 0;
    (void)thread;
    gc__store_shadow(slots, count);
    if (!count || gc__barrier_is_idle(slots)) return;
    if (GC__BARRIER_ANYWHERE)
        gc__barrier_after_cards(slot, count, value);
    else
        for (size_t i = 0; i < count; i++) gc__barrier_after_word(&slot[i], slot[i], value);
}

GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count) {
    (void)thread;
    GC__PASTE(gc_barrier_copy_checked_, GC_BARRIER)(&gc__tables, destination, source, count);
    gc__store_shadow(destination, count);
}

GC_API void gc_copy_values(gc_thread *thread, void *destination, const void *source, size_t count) {
    if (!count) return;
    memmove(destination, source, count * 8);
    gc_stored_range(thread, destination, count, GC_ROOT_VALUE);
}
