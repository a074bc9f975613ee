/* The card table: it shows which parts of old regions may hold references to younger ones.

   Invariant, outside a collection: a slot whose age plus its referent's youth exceeds 2 lies in a dirty card, and with
   bundles that card lies in a dirty bundle; or the slot is remembered. */
#pragma once

#include "../api/barrier.h"
#include "../platform/platform.h"

#define GC__CARD_BYTE_SPAN ((size_t)1 << GC_CARD_BYTE_SHIFT) /* bytes that a byte of the card table covers */

GC__FN bool gc__card_is_dirty(uintptr_t address) {
    uint8_t byte = gc__tables.cards[address >> GC_CARD_BYTE_SHIFT];
    return GC_CARD_BITS ? byte >> ((address >> GC_CARD_SHIFT) & 7) & 1 : byte != 0;
}

GC__FN bool gc__bundle_is_dirty(uintptr_t address) {
    return !GC_BUNDLE_SHIFT || gc__tables.bundles[address >> GC_BUNDLE_SHIFT] != 0;
}

GC__FN void gc__bundle_clear(uintptr_t address) {
    __atomic_store_n(&gc__tables.bundles[address >> GC_BUNDLE_SHIFT], (uint8_t)0, __ATOMIC_RELAXED);
}

GC__FN void gc__card_clear(uintptr_t address) {
    uint8_t *byte = gc__tables.cards + (address >> GC_CARD_BYTE_SHIFT);
    *byte = (uint8_t)(GC_CARD_BITS ? *byte & ~(1u << ((address >> GC_CARD_SHIFT) & 7)) : 0);
}

/* Returns the end of the page of write watch. */
GC__FN uintptr_t gc__watched_end(uintptr_t address) { return (address | (((uintptr_t)1 << GC_WATCH_SHIFT) - 1)) + 1; }

/* Returns the start of the first dirty card in [from, end), both card-aligned; or end. Skips 8 bytes at a time. */
GC__FN uintptr_t gc__card_next_dirty(uintptr_t from, uintptr_t end) {
    while (from < end) {
        if (from % (8 * GC__CARD_BYTE_SPAN) == 0) {
            uint64_t word;
            memcpy(&word, gc__tables.cards + (from >> GC_CARD_BYTE_SHIFT), 8);
            if (!word) {
                from += 8 * GC__CARD_BYTE_SPAN;
                continue;
            }
        }
        if (gc__card_is_dirty(from)) return from;
        from += GC_CARD_BYTES;
    }
    return end;
}

/* Cleans the cards of [from, end), which is bundle-aligned. */
GC__FN void gc__cards_clear(uintptr_t from, uintptr_t end) {
#if GC_BUNDLE_SHIFT
    for (uintptr_t at = from; at < end; at += (size_t)1 << GC_BUNDLE_SHIFT) {
        if (!gc__bundle_is_dirty(at)) continue;
        gc__bundle_clear(at);
        memset(gc__tables.cards + (at >> GC_CARD_BYTE_SHIFT), 0, ((size_t)1 << GC_BUNDLE_SHIFT) >> GC_CARD_BYTE_SHIFT);
    }
#else
    memset(gc__tables.cards + (from >> GC_CARD_BYTE_SHIFT), 0, (end - from) >> GC_CARD_BYTE_SHIFT);
#endif
}
