/* The range barriers, and the pages that write watch has seen. */
#pragma once

#include "../space/cards.h"
#include "../threads/stop.h"
#include "../trace/shade.h"

GC__FN void gc__barrier_after_word(gc_word *slot, uintptr_t word, bool value) {
    if (value && !GC__VALUE_IS_REF(slot, word)) return;
    const void *ref = (const void *)(value ? GC_VALUE_TO_REF(word) : word);
    GC__THE_BARRIER(after_checked)(&gc__tables, slot, ref);
}

GC__INLINED void gc__barrier_after_words(gc_word *slots, size_t count, bool value) {
    for (size_t i = 0; i < count; i++) {
        gc_word *slot = gc__slot_at(slots, i, value);
        gc__barrier_after_word(slot, *slot, value);
    }
}

/* Runs the barrier for slots of one old object, except slots in a dirty card, which need none unless old objects are
   being marked. */
GC__FN void gc__barrier_after_cards(gc_word *slot, size_t count, bool value) {
    bool marking = gc__is_marking((uintptr_t)slot);
    size_t bytes = value ? GC_VALUE_BYTES : 8;
    while (count) {
        size_t in_card = (GC_CARD_BYTES - ((uintptr_t)slot & (GC_CARD_BYTES - 1)) + bytes - 8) / bytes;
        size_t some = gc__min(in_card, count);
        if (marking || !gc__card_is_dirty((uintptr_t)slot)) gc__barrier_after_words(slot, some, value);
        slot = gc__slot_at(slot, some, value);
        count -= some;
    }
}

GC__FN void gc__stored(void *slots, size_t count, bool value) {
    gc__store_shadow(slots, count * (value ? GC_VALUE_BYTES / 8 : 1));
    /* All slots of an object have one age, and those of a young one need no barrier, whatever they hold. */
    if (!count || (GC__BARRIER_ANYWHERE && gc__tables.age[(uintptr_t)slots >> GC_REGION_SHIFT] == 0)) return;
    if (GC__BARRIER_ANYWHERE)
        gc__barrier_after_cards((gc_word *)slots, count, value);
    else
        gc__barrier_after_words((gc_word *)slots, count, value);
}

/* Brackets of raw stores that the calling thread has begun and not ended; recorded only with GC_DEBUG, verify or
   stress. */
#define GC__STORES_MAX 8
typedef struct gc__stores {
    const void *slots;
    size_t count;
    unsigned flags;
} gc__stores;
static __thread gc__stores gc__stores_begun[GC__STORES_MAX];
static __thread unsigned gc__stores_depth;

GC__FN bool gc__brackets_are_logged(const gc_thread *thread) {
    return GC_DEBUG >= 1 || (thread && thread->heap && (gc__verify_of(thread->heap) || gc__stress_of(thread->heap)));
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

/* Fails if a collection starts within a bracket: it would move the slots, or their referents, and verify would
   report that as a missing barrier. */
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
    GC__ORDER_STORES();
}

GC_API void gc_stores_end(gc_thread *thread, void *slots, size_t count, unsigned flags) {
    gc__stores range = {slots, count, flags};
    if (gc__brackets_are_logged(thread)) gc__stores_pop(range);
    gc__stored(slots, count, gc__flags_value(flags));
}

GC_API void gc_copy_refs(gc_thread *thread, void *destination, const void *source, size_t count) {
    (void)thread;
    GC__THE_BARRIER(copy_checked)(&gc__tables, destination, source, count);
    gc__store_shadow(destination, count);
}

/* Does what memmove does, but in whole words while the marker may be reading them. */
GC__FN void gc__values_move(gc_word *to, const gc_word *from, size_t count) {
    GC__ORDER_STORES();
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
    gc__values_move((gc_word *)destination, (const gc_word *)source, count * (GC_VALUE_BYTES / 8));
    gc__stored(destination, count, true);
}

/* Takes the pages of a region to which barriers have seen stores. While the heap is being marked they are the marker's, too.
   The world is stopped: a thread might otherwise make a store, and read that its page is known, before others see the
   store. */
GC__FN size_t gc__region_take_written(gc__region *region, void **pages, size_t most) {
    uintptr_t end = gc__region_end(region);
    size_t count = 0;
    for (uintptr_t page = region->base; page < end && count < most; page = gc__watched_end(page)) {
        uint8_t *watch = &gc__tables.watch[page >> GC_WATCH_SHIFT];
        if (!*watch) continue;
        *watch = 0;
        if (pages) pages[count] = (void *)page;
        count++;
        if (!gc__heap_is_marking(region->heap) || region->generation < 2) continue;
        if (!gc__shade_push(region->heap, &region->heap->marker->pages, page)) gc__shade_left(region, GC__UNSCANNED);
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
    gc__world_stop(heap);
    bool in_hook = gc__lock_is_mine(&heap->marker->lock); /* of a collection */
    if (!in_hook) gc__lock_take(&heap->marker->lock); /* the marker takes them, too */
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region && count < most; region = region->next)
            count += gc__region_take_written(region, pages + count, most - count);
    if (!in_hook) gc__lock_release(&heap->marker->lock);
    gc__world_resume(heap);
    return count;
}
