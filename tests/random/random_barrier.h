/* Barriers as a JIT compiler uses them: machine code in a buffer, kept up to date by the heap's callback. And cards, to leave
   one out on purpose. */
#pragma once

#include <sys/mman.h>

#include "random_check.h"

static struct {
    uint8_t *buffer;
    gc_barrier_code code;
    gc_barrier barrier;
    uint64_t emitted, patched;
} jit;

#if defined(__x86_64__)
static void emitted_store(void *slot, const void *ref) { ((GC_EMITTED void (*)(void *, const void *))(uintptr_t)jit.buffer)(slot, ref); }
#else
static void emitted_store(void *slot, const void *ref) { gc_store(NULL, slot, ref); }
#endif

static void on_barrier_changed(void *host, const gc_barrier_change *change) {
    (void)host;
    if (!jit.buffer) jit.buffer = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (jit.buffer == MAP_FAILED) wrong("no executable memory");
    if (change->operation == GC_STOMP_INITIALIZE || change->operation == GC_STOMP_SWITCH) {
        if (!change->is_suspended) wrong("code cannot be replaced while it runs");
        jit.barrier = change->barrier;
        jit.emitted++;
        if (GC_HAS_EMIT && !gc_barrier_emit(&jit.code, jit.buffer, 4096, change->barrier, GC_EMIT_STORE, change->tables))
            wrong("gc_barrier_emit");
    } else {
        if (change->barrier != jit.barrier) wrong("barrier %d became %d without a switch", jit.barrier, change->barrier);
        jit.patched++;
        gc_barrier_patch(&jit.code, jit.buffer, change->tables);
    }
}

/* What stands for a slot in the remembered set. */
typedef struct card_state {
    uint8_t card;
    bool dirty, logged;
} card_state;

static bool is_logging(void) { return gc_barrier_current() == GC_BARRIER_OBJECT_LOGGING; }

static uint8_t *log_byte(const void *slot) { return gc__tables.log_bits + ((uintptr_t)slot >> 6); }
static uint8_t log_bit(const void *slot) { return (uint8_t)(1 << ((uintptr_t)slot >> 3 & 7)); }

static card_state card_of(const void *slot) {
    card_state state = {0, false, false};
    if (!gc__in_arena((uintptr_t)slot)) return state;
    state.card = *gc__barrier_card_byte(&gc__tables, (uintptr_t)slot);
    state.dirty = gc__card_is_dirty((uintptr_t)slot);
    state.logged = is_logging() && (*log_byte(slot) & log_bit(slot));
    return state;
}

/* Whether the store that has just dirtied the card of an old slot, which needs it, is the one to be forgotten. */
static bool forget_card(const card_state *before, const void *slot, const void *owner, uint32_t index, const char *address) {
    if (!index || is_static(index) || gc_object_generation(owner) <= gc_object_generation(address)) return false;
    card_state now = card_of(slot);
    if (before->dirty || before->logged || (!now.dirty && !now.logged)) return false;
    return ++run.marks == run.forget_card;
}

static void card_restore(const card_state *before, const void *slot) {
    *gc__barrier_card_byte(&gc__tables, (uintptr_t)slot) = before->card;
    if (!is_logging()) return;
    *log_byte(slot) &= (uint8_t)~log_bit(slot);
    gc__the_log.next -= 8;
}

/* Under write watch the page of a slot that got a reference is known to be written. */
static void check_watch(const void *slot) {
    if (!gc__barrier_parts_of(gc_barrier_current()).watch || !gc__in_arena((uintptr_t)slot)) return;
    if (!gc__tables.watch[(uintptr_t)slot >> GC_WATCH_SHIFT]) wrong("the page of slot %p was stored to, but is not watched", slot);
}
