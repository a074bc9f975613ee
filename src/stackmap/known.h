/* What collections have found out of places in compiled code: how the frames of a method are laid out that has made the call
   which returns there, and which slots are live. A stack has mostly the same frames at the next collection, and in a
   recursion many alike; it takes ten times as long to decode a map. */
#pragma once

#include "unwind.h"
#include "registry.h"

#define GC__KNOWN_SHIFT 8
#define GC__KNOWN_SLOTS 12

typedef struct gc__known_place {
    uintptr_t pc; /* a return address; 0: nothing is known here */
    const gc_code *code;
    gc__frame_layout layout;
    uint32_t live_count; /* more than GC__KNOWN_SLOTS: the live slots are not known */
    gc_stackmap_slot live[GC__KNOWN_SLOTS];
} gc__known_place;

/* Used by one collection at a time; others do without. */
typedef struct gc__known_places {
    bool taken;        /* atomic */
    uint64_t removals; /* gc__code_removals when the table was empty: what is known of removed code is wrong */
    gc__known_place places[1 << GC__KNOWN_SHIFT];
} gc__known_places;

static gc__known_places gc__the_known_places;

/* The table, for the calling thread to use; NULL: another one uses it. */
GC__FN gc__known_places *gc__known_take(void) {
    gc__known_places *known = &gc__the_known_places;
    if (__atomic_exchange_n(&known->taken, true, __ATOMIC_ACQUIRE)) return NULL;
    uint64_t removals = __atomic_load_n(&gc__code_removals, __ATOMIC_ACQUIRE);
    if (known->removals != removals) memset(known->places, 0, sizeof known->places);
    known->removals = removals;
    return known;
}

GC__FN void gc__known_give(gc__known_places *known) {
    if (known) __atomic_store_n(&known->taken, false, __ATOMIC_RELEASE);
}

/* Where something about that return address is, or may be stored. */
GC__FN gc__known_place *gc__known_at(gc__known_places *known, uintptr_t pc) {
    return &known->places[pc * UINT64_C(0x9E3779B97F4A7C15) >> (64 - GC__KNOWN_SHIFT)];
}
