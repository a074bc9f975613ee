/* What each barrier must do: the list in src/barrier/tables.h, read as a specification and written down again, so that a
   slip in the header's own table, C or assembly does not repeat itself here. */
#pragma once

#include "barrier_world.h"

typedef enum model_filter { FILTER_ANY, FILTER_LOW, FILTER_RANGE, FILTER_REGION, FILTER_RANK, FILTER_OLD } model_filter;
typedef enum model_mark { MARK_NOTHING, MARK_CARD, MARK_BYTE, MARK_BIT, MARK_ALWAYS, MARK_SELECT, MARK_LOG } model_mark;

typedef struct model {
    const char *name;
    bool watch;
    model_filter filter;
    model_mark mark;
} model;

enum { MODELS = 16 };
static const model models[MODELS] = {
    {"none", false, FILTER_ANY, MARK_NOTHING},
    {"rank_sum", false, FILTER_RANK, MARK_CARD},
    {"rank_sum_branch_free", false, FILTER_RANK, MARK_CARD},
    {"card_unconditional", false, FILTER_ANY, MARK_ALWAYS},
    {"card_conditional", false, FILTER_ANY, MARK_CARD},
    {"pre_grow", false, FILTER_LOW, MARK_BYTE},
    {"post_grow", false, FILTER_RANGE, MARK_BYTE},
    {"svr", false, FILTER_ANY, MARK_BYTE},
    {"byte_region", false, FILTER_REGION, MARK_BYTE},
    {"bit_region", false, FILTER_REGION, MARK_BIT},
    {"write_watch_pre_grow", true, FILTER_LOW, MARK_BYTE},
    {"write_watch_post_grow", true, FILTER_RANGE, MARK_BYTE},
    {"write_watch_svr", true, FILTER_ANY, MARK_BYTE},
    {"write_watch_byte_region", true, FILTER_REGION, MARK_BYTE},
    {"write_watch_bit_region", true, FILTER_REGION, MARK_BIT},
    {"object_logging", false, FILTER_OLD, MARK_LOG},
};

/* Whether the slot's age is asked for before anything else is done, so that a slot anywhere is right without a check. */
static inline bool model_anywhere(const model *m) {
    return !m->watch && (m->filter == FILTER_REGION || m->filter == FILTER_RANK || m->filter == FILTER_OLD);
}

static inline bool model_asks_ages(const model *m) { return m->filter >= FILTER_REGION; }
static inline bool model_asks_bounds(const model *m) { return m->filter >= FILTER_LOW && m->filter <= FILTER_REGION; }

/* Whether it sets single bits of card table bytes, which threads share. */
static inline bool model_sets_bits(const model *m) {
    return m->mark == MARK_BIT ||
           (GC_CARD_BITS && (m->mark == MARK_CARD || m->mark == MARK_ALWAYS || m->mark == MARK_SELECT));
}

static inline bool model_passes(const model *m, uintptr_t slot, uintptr_t ref) {
    bool from_low = ref >= tables.low, below_high = ref < tables.high;
    switch (m->filter) {
    case FILTER_LOW:
        return from_low;
    case FILTER_RANGE:
        return from_low && below_high;
    case FILTER_REGION:
        return age_at(slot) != 0 && from_low && below_high && age_at(ref) < age_at(slot);
    case FILTER_RANK:
        return age_at(slot) + youth_at(ref) > 2;
    case FILTER_OLD:
        return age_at(slot) != 0;
    default:
        return true;
    }
}

static inline uint8_t *model_card(uintptr_t slot) { return (uint8_t *)expected_entry(&table[CARDS], slot); }

/* The slot's bit in its byte of the card table, which covers eight equal parts. */
static inline uint8_t model_bit(uintptr_t slot) {
    uintptr_t quantum_bytes = ((uintptr_t)1 << table[CARDS].shift) / 8;
    return (uint8_t)(1 << slot / quantum_bytes % 8);
}

static inline void model_bundle(uintptr_t slot) {
    if (GC_BUNDLE_SHIFT) *(uint8_t *)expected_entry(&table[BUNDLES], slot) = 0xFF;
}

static inline void model_dirty(uintptr_t slot, uint8_t bits, bool even_if_dirty) {
    uint8_t *card = model_card(slot);
    if ((*card & bits) == bits && !even_if_dirty) return;
    *card |= bits;
    model_bundle(slot);
}

static inline void model_dirty_card(uintptr_t slot, bool even_if_dirty) {
    model_dirty(slot, GC_CARD_BITS ? model_bit(slot) : 0xFF, even_if_dirty);
}

static inline void model_log(uintptr_t object, uintptr_t slot) {
    uint8_t *bits = (uint8_t *)expected_entry(&table[LOG_BITS], object), bit = (uint8_t)(1 << object / 8 % 8);
    if (*bits & bit) return;
    *bits |= bit;
    if (expected_log.next < expected_log.limit)
        expected_log_words[(expected_log.next - (uintptr_t)log_words) / 8] = object;
    else
        model_dirty_card(slot, false);
    expected_log.next += 8;
}

/* What the tables hold after a store of ref to slot, a field of object. */
static inline void model_after(const model *m, uintptr_t object, uintptr_t slot, uintptr_t ref) {
    if (m->watch) {
        uint8_t *page = (uint8_t *)expected_entry(&table[WATCH], slot);
        if (!*page) *page = 0xFF;
    }
    if (!model_passes(m, slot, ref)) return;
    switch (m->mark) {
    case MARK_CARD:
    case MARK_SELECT:
        model_dirty_card(slot, false);
        break;
    case MARK_BYTE:
        model_dirty(slot, 0xFF, false);
        break;
    case MARK_BIT:
        model_dirty(slot, model_bit(slot), false);
        break;
    case MARK_ALWAYS:
        model_dirty_card(slot, true);
        break;
    case MARK_LOG:
        model_log(object, slot);
        break;
    default:
        break;
    }
}

/* The same with what the checked forms leave out. */
static inline void model_barrier(const model *m, bool checked, uintptr_t slot, uintptr_t ref) {
    if (!checked || (slot >= tables.lowest && slot < tables.highest)) model_after(m, slot, slot, ref);
}
