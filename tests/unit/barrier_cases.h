/* Every combination of destination, referent, bounds and state of the tables, for every barrier in every form. */
#pragma once

#include "barrier_call.h"
#include "barrier_model.h"

enum { HEAP_SITES = 12, SITES = HEAP_SITES + 3, REFS = 17, BOUNDS = 3, CARD_STATES = 4, ROOMS = 3 };
static site sites[SITES];

typedef struct ref {
    const char *name;
    uintptr_t value;
} ref;
static ref refs[REFS];
static gc_word static_words[RUN + 4], expected_static_words[RUN + 4], expected_stack_words[RUN + 4],
    expected_high_words[RUN + 4];

/* The coordinates of a case. */
static struct { int group, form, bounds, extent, site, ref, card, bundle, page, log_bit, room; } now;
static const model *now_model;
static call now_call;
static const void *now_source[RUN];
static bool thorough, compare_everything, is_wrong;
static long case_count;

static const char *const bounds_names[BOUNDS] = {"the young regions", "part of them", "the arena"};
static const char *const state_names[CARD_STATES] = {"clean", "dirty", "the slot's bit", "other bits"};
static const size_t rooms[ROOMS] = {2, 0, (size_t)-1}; /* of the log, in words; -1: it has been overrun */

static inline void describe(void) {
    diag("%s %s, %s: %s (%p) = %s (%#llx)", now_model->name, group_names[now.group], forms[now.form].name,
         sites[now.site].name, now_call.slot, refs[now.ref].name, (unsigned long long)refs[now.ref].value);
    diag("  marking: %d, bounds: %s, extent: %s, card: %s, bundle: %d, page: %d, log bit: %s, room in log: %d", marking,
         bounds_names[now.bounds], now.extent ? "one heap" : "the arena", state_names[now.card], now.bundle, now.page,
         state_names[now.log_bit], (int)rooms[now.room]);
}

/* The highest page that is to be had: its ranks are the tables' last. */
static inline gc_word *map_high_page(void) {
    const int bits = GC_ADDRESS_BITS < 47 ? GC_ADDRESS_BITS : 47;
    for (uintptr_t at = ((uintptr_t)1 << bits) - 2 * PAGE_BYTES; at > (uintptr_t)1 << (bits - 1); at -= 16 * PAGE_BYTES) {
        void *page = mmap((void *)at, PAGE_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (page == (void *)at) return (gc_word *)page;
        if (page != MAP_FAILED) munmap(page, PAGE_BYTES);
    }
    abort();
}

/* Slots at both ends of regions, and in the middle of cards, at different bits. A run in a large object crosses regions. */
static inline void make_sites(gc_word *stack_words) {
    uintptr_t to_last = GC_REGION_BYTES - 8, to_run = (RUN - 1) * 8;
    uintptr_t gen0 = region(GEN0) + 3 * GC_CARD_BYTES + 40, gen2 = region(GEN2) + 13 * GC_CARD_BYTES - 24;
    uintptr_t other1 = region(OTHER1) + 6 * GC_CARD_BYTES, other2 = region(OTHER2) + 10 * GC_CARD_BYTES;
    site list[SITES] = {
        arena_site("generation 0, first word", region(GEN0), region(GEN0), RUN),
        arena_site("generation 0", gen0, gen0 - 8, RUN),
        arena_site("generation 1, last word", region(GEN1) + to_last, region(GEN1) + to_last - to_run, RUN),
        arena_site("generation 2, first word", region(GEN2), region(GEN2), RUN),
        arena_site("generation 2", gen2, gen2, RUN),
        arena_site("generation 2, last word", region(GEN2) + to_last, region(GEN2) + to_last - to_run, RUN),
        arena_site("large object, end of first region", region(LARGE) + to_last, region(LARGE) + to_last - 8, RUN),
        arena_site("large object, second region", region(LARGE_TAIL), region(LARGE_TAIL) - 24, RUN),
        arena_site("large object, last word", region(LARGE_TAIL) + to_last, region(LARGE_TAIL) + to_last - to_run, RUN),
        arena_site("other heap's generation 0, first word", region(OTHER0), region(OTHER0), RUN),
        arena_site("other heap's generation 1", other1, other1 - 16, RUN),
        arena_site("other heap's generation 2", other2, other2 - 8, RUN),
        outside_site("stack", stack_words, expected_stack_words),
        outside_site("static", static_words, expected_static_words),
        outside_site("high address", map_high_page() + PAGE_BYTES / 8 - (RUN + 4), expected_high_words),
    };
    memcpy(sites, list, sizeof sites);
}

static inline void make_refs(void) {
    ref list[REFS] = {
        {"null", 0},
        {"1", 1},
        {"7", 7},
        {"a static", (uintptr_t)&static_words},
        {"a stack slot", sites[HEAP_SITES].slot},
        {"the last user address", ((uintptr_t)1 << GC_ADDRESS_BITS) - 8},
        {"generation 0", region(GEN0)},
        {"generation 0, tagged", (region(GEN0) + 64) | 1},
        {"generation 1", region(GEN1) + 4096},
        {"generation 1, last word", region(GEN2) - 8},
        {"generation 2", region(GEN2) + 8},
        {"other heap's generation 0", region(OTHER0) + 16},
        {"other heap's generation 2", region(OTHER2) + 16},
        {"low - 8", tables.low - 8},
        {"low", tables.low},
        {"high - 8", tables.high - 8},
        {"high", tables.high},
    };
    memcpy(refs, list, sizeof refs);
}

static inline void set_bounds(int bounds, int extent) {
    uintptr_t low[BOUNDS] = {region(GEN0), region(GEN0) + 0x1230, region(FREE)};
    uintptr_t high[BOUNDS] = {region(GEN2), region(GEN1) + 0x4560, region(REGIONS)};
    tables.low = low[bounds], tables.high = high[bounds];
    tables.lowest = extent ? region(GEN0) : region(FREE);
    tables.highest = extent ? region(OTHER0) : region(REGIONS);
    make_refs();
}

static inline void fill(const site *s, int t, uint8_t value) {
    const uintptr_t from = entry(&table[t], s->run), to = entry(&table[t], s->last);
    for (uintptr_t at = from; at <= to; at++)
        *(uint8_t *)at = *(uint8_t *)(at - table[t].base + table[t].expected) = value;
}

static inline uint8_t state_value(int state, uint8_t bit) {
    return (uint8_t)(state == 0 ? 0 : state == 1 ? 0xFF : state == 2 ? bit : ~bit);
}

/* Puts tables and words, real and expected, into the case's state. */
static inline void prepare(const site *s) {
    for (uintptr_t slot = s->run; slot <= s->last; slot += 8)
        *(gc_word *)slot = *expected_word(s, slot) = 0xBADF00D0BADF00D0;
    if (s->in_arena) {
        fill(s, CARDS, state_value(now.card, model_bit(s->slot)));
        if (GC_BUNDLE_SHIFT) fill(s, BUNDLES, now.bundle ? 0xFF : 0);
        if (now_model->watch) fill(s, WATCH, now.page ? 1 : 0); /* any value but 0 stays */
        if (now_model->mark == MARK_LOG) fill(s, LOG_BITS, state_value(now.log_bit, (uint8_t)(1 << s->slot / 8 % 8)));
    }
    if (now_model->mark == MARK_LOG) set_log(rooms[now.room]);
    for (int i = 0; i < RUN; i++) now_source[i] = (const void *)refs[(now.ref + 5 * i) % REFS].value;
    now_call.slot = (void *)(forms[now.form].count > 1 ? s->run : s->slot);
    now_call.source = now_source;
    now_call.count = forms[now.form].count;
}

/* A copy that overlaps nothing goes upwards, which shows in the order of a log alone. */
static inline void predict(const site *s) {
    for (size_t i = 0; i < now_call.count; i++) {
        uintptr_t slot = (uintptr_t)now_call.slot + 8 * i, value = (uintptr_t)now_source[i];
        *expected_word(s, slot) = value;
        model_barrier(now_model, forms[now.form].checked, slot, value);
    }
}

static inline void check(const site *s) {
    const watched *wrong =
        compare_everything ? difference(all_watched, watched_count) : difference(s->spans, s->span_count);
    if (!wrong && now_model->mark == MARK_LOG) wrong = difference(all_watched, 2);
    bool moved = !forms[now.form].assigns ||
                 (now_call.to == (char *)now_call.slot + 8 && now_call.from == (const void *)(now_call.source + 1));
    if (!wrong && moved) return;
    is_wrong = true;
    describe();
    if (wrong) show_difference(wrong);
    if (!moved) diag("  the pointers became %p and %p", now_call.to, now_call.from);
}

/* All states of the tables for this destination, referent and bounds; until one is wrong. Whether the page or the object is
   dirty is crossed with the states of the card in thorough runs only. */
static inline void all_states(void) {
    const site *s = &sites[now.site];
    bool logs = now_model->mark == MARK_LOG;
    int cards = s->in_arena ? CARD_STATES : 1, bundles = s->in_arena && GC_BUNDLE_SHIFT ? 2 : 1;
    for (now.card = 0; now.card < cards; now.card++) {
        bool crossed = s->in_arena && (thorough || !now.card);
        int pages = now_model->watch && crossed ? 2 : 1, log_bits = logs && crossed ? CARD_STATES : 1;
        for (now.bundle = 0; now.bundle < bundles; now.bundle++)
            for (now.page = 0; now.page < pages; now.page++)
                for (now.log_bit = 0; now.log_bit < log_bits; now.log_bit++)
                    for (now.room = 0; now.room < (logs ? ROOMS : 1); now.room++) {
                        prepare(s);
                        predict(s);
                        shoot(now.group, now.form, &now_call);
                        check(s);
                        case_count++;
                        if (is_wrong) return;
                    }
    }
}

static inline void all_destinations(void) {
    if (now.group == EMITTED) emit_and_patch(now_call.barrier, forms[now.form].emitted);
    for (now.site = 0; now.site < SITES && !is_wrong; now.site++) {
        if (!sites[now.site].in_arena && !forms[now.form].checked && !model_anywhere(now_model)) continue;
        for (now.ref = 0; now.ref < REFS && !is_wrong; now.ref++) all_states();
    }
}

/* In thorough runs also what the barrier does not ask for is varied. In others, where the code is the inline barrier's or the
   constant one's again, one pair of bounds has to do. */
static void all_bounds(void) {
    bool again = now.group == POINTERS || now.group == AT_RUN_TIME;
    bool asks_bounds = model_asks_bounds(now_model) || (thorough && now_model->mark != MARK_LOG);
    int from = asks_bounds && !thorough && again ? 1 : 0, to = asks_bounds && (thorough || !again) ? BOUNDS : from + 1;
    int marks = thorough || model_asks_ages(now_model) ? 2 : 1, extents = forms[now.form].checked ? 2 : 1;
    for (int mark = 0; mark < marks; mark++) {
        set_marking(mark);
        for (now.bounds = from; now.bounds < to; now.bounds++)
            for (now.extent = 0; now.extent < extents && !is_wrong; now.extent++) {
                set_bounds(now.bounds, now.extent);
                all_destinations();
            }
    }
}

/* Emitted code changes only the registers that it says; over all cases, each of them. A copy of one word need not move on. */
static inline void check_registers(void) {
    if (now.group != EMITTED || !GC_HAS_ASSEMBLY || !CAN_EXECUTE || is_wrong) return;
    uint32_t undeclared = changed_registers & ~emitted.clobbers, unchanged = emitted.clobbers & ~changed_registers;
    bool kept_stack = private_stack_is_whole();
    if (!undeclared && (!unchanged || now.form == COPY_ONE || now.form == COPY_ONE_CHECKED) && kept_stack) return;
    is_wrong = true;
    diag("%s emitted, %s: registers %#x change, it says %#x; the stack is %s", now_model->name, forms[now.form].name,
         changed_registers, emitted.clobbers, kept_stack ? "kept" : "spoilt");
    memset(private_stack, STACK_FILL, sizeof private_stack);
}

/* One form of one barrier. Memory far from the slot is compared at the end; if it is wrong, again after each case. */
static inline bool form_is_right(void) {
    changed_registers = 0;
    for (compare_everything = false, is_wrong = false;; compare_everything = true) {
        if (!survives(all_bounds)) {
            is_wrong = true;
            describe();
            diag("  signal %d at %p", fault_signal, (void *)fault_address);
        }
        const watched *wrong = difference(all_watched, watched_count);
        if (wrong && compare_everything && !is_wrong) diag("a case does not go wrong twice"), is_wrong = true;
        if (wrong) accept_all();
        if (!wrong) check_registers();
        if (is_wrong || !wrong) return !is_wrong;
    }
}

/* One line for each barrier and way to call it. */
static inline void all_combinations(void) {
    for (int i = 0; i < MODELS; i++)
        for (now.group = 0; now.group < GROUPS; now.group++) {
            if (now.group == EMITTED && !CAN_EXECUTE) continue;
            bool right = true;
            now_model = &models[i];
            now_call.barrier = (gc_barrier)i;
            case_count = 0;
            for (now.form = 0; now.form < FORMS; now.form++)
                if (group_has(now.group, now.form) && !form_is_right()) right = false;
            ok(right, "%s, %s: %ld cases as specified", models[i].name, group_names[now.group], case_count);
        }
}
