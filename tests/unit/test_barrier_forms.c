/* Every write barrier in every form, against a model of its own: inline, in C, through pointers and as emitted code. With
   the argument "quick", without what a barrier does not ask for; with "emit NAME FORM", only writes that code to stdout. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "barrier_cases.h"
#include "barrier_threads.h"
#include "single_step.h"

static void the_list(void) {
    static const char *const names[] = {
#define NAME_OF(name, NAME, watch, filter, mark) #name,
        GC_BARRIERS(NAME_OF)};
    static const int numbers[] = {
#define NUMBER_OF(name, NAME, watch, filter, mark) GC_BARRIER_##NAME,
        GC_BARRIERS(NUMBER_OF)};
    int wrong = 0;
    for (int i = 0; i < MODELS && i < (int)GC_BARRIER_COUNT; i++)
        wrong += strcmp(names[i], models[i].name) != 0 || numbers[i] != i ||
                 strcmp(gc_barrier_name((gc_barrier)i), models[i].name) != 0 ||
                 (int)gc_barrier_named(models[i].name) != i;
    ok((int)GC_BARRIER_COUNT == MODELS && !wrong, "the model has every barrier, by name and number");
    ok(gc_barrier_named("rank") == GC_BARRIER_COUNT && gc_barrier_named("") == GC_BARRIER_COUNT,
       "and no other name is one");
}

/* Whether everything is as expected; if not, from now on it is. */
static bool all_is_as_expected(const char *what) {
    const watched *wrong = difference(all_watched, watched_count);
    if (!wrong) return true;
    diag("%s:", what);
    show_difference(wrong);
    accept_all();
    return false;
}

/* Without a compiler that optimizes, or with the sanitizers' code between, these say nothing about the assembly. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if GC_HAS_ASSEMBLY && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(SANITIZED)
#define HAS_PLAIN_ASSEMBLY 1
/* What lives in registers across an inline barrier must survive it. Four are held at a time, so that it has enough others;
   that they stay where they are between their two uses no compiler promises, but gcc does it. */
#define HOLD(name, part, r0, r1, r2, r3)                                                                           \
    static NOINLINE __attribute__((flatten)) void hold_##part##_##name(void *slot, const void *ref, uint64_t *r) { \
        register uint64_t a __asm__(r0) = r[0];                                                                    \
        register uint64_t b __asm__(r1) = r[1];                                                                    \
        register uint64_t c __asm__(r2) = r[2];                                                                    \
        register uint64_t d __asm__(r3) = r[3];                                                                    \
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));                                                 \
        gc_barrier_store_##name(&tables, slot, ref);                                                               \
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));                                                 \
        r[0] = a, r[1] = b, r[2] = c, r[3] = d;                                                                    \
    }
#define HOLD_PARTS(name, NAME, watch, filter, mark) \
    HOLD(name, 0, "rax", "rcx", "rdx", "rsi")       \
    HOLD(name, 1, "rdi", "r8", "r9", "r10")         \
    HOLD(name, 2, "r11", "rbx", "r12", "r13")       \
    HOLD(name, 3, "r14", "r15", "rbx", "r12")
GC_BARRIERS(HOLD_PARTS)

typedef void hold(void *slot, const void *ref, uint64_t *registers);

static bool survive(hold *held) {
    const uint64_t before[4] = {0xF1E2D3C4B5A69788, 0xE1D2C3B4A5968778, 0xD1C2B3A495867768, 0xC1B2A39485766758};
    uint64_t after[4];
    memcpy(after, before, sizeof after);
    prepare(&sites[now.site]);
    predict(&sites[now.site]);
    held(now_call.slot, now_source[0], after);
    return memcmp(after, before, sizeof after) == 0;
}

static void registers_survive(void) {
#define HOLDS(name, NAME, watch, filter, mark) {hold_0_##name, hold_1_##name, hold_2_##name, hold_3_##name},
    static hold *const holds[][4] = {GC_BARRIERS(HOLDS)};
    int wrong = 0;
    set_marking(false);
    set_bounds(0, 0);
    memset(&now, 0, sizeof now); /* inline stores */
    for (int barrier = 0; barrier < MODELS; barrier++)
        for (now.site = 0; now.site < HEAP_SITES; now.site++)
            for (now.ref = 0; now.ref < REFS; now.ref++)
                for (now.card = 0; now.card < CARD_STATES; now.card++)
                    for (int part = 0; part < 4; part++) {
                        now_model = &models[barrier];
                        now.room = now.card % ROOMS;
                        if (!survive(holds[barrier][part]) && !wrong++) describe();
                    }
    is(wrong, 0, "inline barriers keep the registers that the compiler uses around them");
    ok(all_is_as_expected("held registers"), "and do what they should");
}
#else
#define HAS_PLAIN_ASSEMBLY 0
static void registers_survive(void) { ok(true, "inline barriers keep registers # skip no plain assembly"); }
#endif

/* Functions beside the barriers. */

static void in_object(void) {
    uintptr_t object = region(GEN2), first = object + 8, second = region(GEN2) + 13 * GC_CARD_BYTES - 24,
              ref = region(GEN0);
    const model *logging = &models[GC_BARRIER_OBJECT_LOGGING];
    int wrong = 0;
    set_marking(false);
    for (int room = 0; room < 3; room++)
        for (int variant = 0; variant < 4; variant++) {
            bool dirty = variant & 1, far_first = variant & 2; /* only the first slot's card is dirtied by a full log */
            accept_all();
            for (int i = 0; i < SITES; i++)
                if (sites[i].in_arena) fill(&sites[i], CARDS, dirty ? 0xFF : 0), fill(&sites[i], LOG_BITS, 0);
            set_log((size_t)room);
            uintptr_t slots[3] = {far_first ? second : first, far_first ? first : second, first};
            for (int i = 0; i < 3; i++) {
                gc_barrier_store_in_object(&tables, (void *)object, (void *)slots[i], (void *)(ref + 8 * (uintptr_t)i));
                *(gc_word *)(slots[i] + table[SLOTS].expected) = ref + 8 * (uintptr_t)i;
                model_after(logging, object, slots[i], ref);
                wrong += !all_is_as_expected("store_in_object");
            }
            wrong += object_log.next != object_log.limit - 8 * (uintptr_t)room + 8;
            wrong += room && log_words[LOG_WORDS - room] != object;
        }
    is(wrong, 0,
       "gc_barrier_store_in_object logs the object once for all its fields; if the log is full, a field's card");
}

static void questions(void) {
    int wrong = 0;
    for (int i = 0; i < HEAP_SITES; i++)
        for (int state = 0; state < CARD_STATES; state++) {
            fill(&sites[i], CARDS, state_value(state, model_bit(sites[i].slot)));
            if (GC_BUNDLE_SHIFT) fill(&sites[i], BUNDLES, 0);
            gc__barrier_dirty_card(&tables, (void *)sites[i].slot);
            model_dirty_card(sites[i].slot, false);
            wrong += !all_is_as_expected("gc__barrier_dirty_card");
        }
    for (int mark = 0; mark < 2; mark++) {
        set_marking(mark);
        for (int i = 0; i < SITES; i++)
            for (int r = 0; r < REFS; r++)
                wrong += gc__barrier_ranks(&tables, (void *)sites[i].slot, (void *)refs[r].value) !=
                         (unsigned)(age_at(sites[i].slot) + youth_at(refs[r].value));
    }
    is(wrong, 0, "gc__barrier_dirty_card, gc__barrier_ranks");
}

/* Destinations that fault: nothing may have been written before. */

static uintptr_t bad_slot, bad_source;
static void shoot_at_bad_slot(void) {
    now_call.slot = (void *)bad_slot;
    now_call.source = now_source;
    if (now.group == EMITTED)
        call_emitted_as_c(now.form, &now_call);
    else
        shoot(now.group, now.form, &now_call);
}

static void copy_nothing(void) {
    now_call.slot = (void *)bad_slot;
    now_call.source = (const void *const *)bad_source;
    now_call.count = 0;
    if (now.group == EMITTED)
        call_emitted_as_c(now.form, &now_call);
    else
        shoot(now.group, now.form, &now_call);
}

static bool faults_first(void) {
    bool faulted =
        !survives(shoot_at_bad_slot) && fault_signal == SIGSEGV && fault_address / PAGE_BYTES == bad_slot / PAGE_BYTES;
    if (!faulted)
        diag("%s %s, %s: no fault at %#llx", now_model->name, group_names[now.group], forms[now.form].name,
             (unsigned long long)bad_slot);
    return all_is_as_expected("written before a fault") && faulted;
}

static bool copies_nothing(void) {
    if (survives(copy_nothing)) return all_is_as_expected("a copy of nothing");
    diag("%s %s, %s: a copy of nothing faults", now_model->name, group_names[now.group], forms[now.form].name);
    return false;
}

/* A page of generation 2 and one near the end of address space, which are not there. */
static void make_bad_slots(uintptr_t *bad) {
    gc_word *page = map_high_page();
    bad[0] = region(GEN2) + GC_REGION_BYTES / 2;
    bad[1] = (uintptr_t)page + 16;
    for (int i = CARDS; i < TABLES; i++) {
        if (!has_table(i)) continue;
        open_entries(&table[i], bad[0], bad[0] + 64);
        memset((void *)entry(&table[i], bad[0]), 0, 8);
    }
    munmap(page, PAGE_BYTES);
    accept_all();
}

static void bad_destinations(void) {
    uintptr_t bad[2];
    int wrong = 0, wrong_nothing = 0, cases = 0;
    make_bad_slots(bad);
    set_marking(false);
    set_bounds(0, 0);
    set_log(2);
    for (int i = 0; i < RUN; i++) now_source[i] = (const void *)region(GEN0);
    for (int barrier = 0; barrier < MODELS; barrier++)
        for (now.group = 0; now.group < GROUPS; now.group++)
            for (now.form = 0; now.form < FORMS; now.form++) {
                if (!group_has(now.group, now.form) || (now.group == EMITTED && !CAN_EXECUTE)) continue;
                now_model = &models[barrier];
                now_call.barrier = (gc_barrier)barrier;
                if (now.group == EMITTED) emit_and_patch(now_call.barrier, forms[now.form].emitted);
                for (int outside = 0; outside < 2; outside++) {
                    if (outside && !forms[now.form].checked && !model_anywhere(now_model)) continue;
                    now_call.count = forms[now.form].count;
                    bad_slot = bad[outside], bad_source = bad[1 - outside];
                    wrong += !faults_first(), cases++;
                    if (forms[now.form].copies) wrong_nothing += !copies_nothing();
                }
            }
    is(wrong, 0, "stores to addresses that are not mapped fault before a table is written: %d cases", cases);
    is(wrong_nothing, 0, "copies of nothing touch nothing");
}

/* Copies that overlap. */

enum { ARRAY_WORDS = 96 };
static site array;

static uint64_t random_bits(void) {
    static uint64_t x = 88172645463325252;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

static int compare_words(const void *a, const void *b) {
    gc_word x = *(const gc_word *)a, y = *(const gc_word *)b;
    return x < y ? -1 : x > y;
}

static void random_state(const site *s) {
    for (int t = CARDS; t < TABLES; t++) {
        if (!has_table(t)) continue;
        for (uintptr_t at = entry(&table[t], s->run); at <= entry(&table[t], s->last); at++) {
            uint64_t random = random_bits();
            *(uint8_t *)at = (uint8_t)(random & 1 ? 0 : random & 2 ? 0xFF : t == BUNDLES ? 0 : random >> 8);
            *(uint8_t *)(at - table[t].base + table[t].expected) = *(uint8_t *)at;
        }
    }
    for (uintptr_t slot = s->run; slot <= s->last; slot += 8)
        *(gc_word *)slot = *expected_word(s, slot) = refs[random_bits() % REFS].value;
    set_log(LOG_WORDS);
}

/* One copy. Which way it goes, and so the order of a log, is its own affair. */
static bool copy_is_right(const model *m) {
    size_t count = random_bits() % (LOG_WORDS - 16), from, to;
    from = random_bits() % (ARRAY_WORDS - count), to = random_bits() % (ARRAY_WORDS - count);
    if (random_bits() % 4 == 0 && from) to = from - 1;
    random_state(&array);
    gc_word *expected = expected_word(&array, array.run);
    memmove(expected + to, expected + from, count * 8);
    for (size_t i = 0; i < count; i++)
        model_barrier(m, forms[now.form].checked, array.run + 8 * (to + i), expected[to + i]);
    now_call.slot = (void *)(array.run + 8 * to);
    now_call.source = (const void *const *)(array.run + 8 * from);
    now_call.count = count;
    shoot(now.group, now.form, &now_call);
    size_t logged = (expected_log.next - (uintptr_t)log_words) / 8; /* all of them fit */
    qsort(log_words, logged, 8, compare_words);
    qsort(expected_log_words, logged, 8, compare_words);
    const watched *wrong = difference(array.spans, array.span_count);
    if (!wrong) wrong = difference(all_watched, 2);
    if (!wrong) return true;
    diag("%s %s, %s of %zu words from %zu to %zu", m->name, group_names[now.group], forms[now.form].name, count, from,
         to);
    show_difference(wrong);
    return false;
}

static void overlaps(void) {
    int rounds = thorough ? 300 : 100;
    memset(log_words, 0, sizeof log_words);
    memset(expected_log_words, 0, sizeof expected_log_words);
    array = arena_site("array", region(LARGE_TAIL), region(LARGE_TAIL) - ARRAY_WORDS / 2 * 8, ARRAY_WORDS);
    for (int barrier = 0; barrier < MODELS; barrier++) {
        bool right = true;
        now_call.barrier = (gc_barrier)barrier;
        for (int mark = 0; mark < 2; mark++) {
            set_marking(mark);
            set_bounds(mark, mark);
            for (now.group = 0; now.group < GROUPS; now.group++)
                for (now.form = COPY_RUN; now.form <= COPY_RUN_CHECKED; now.form++) {
                    if (!group_has(now.group, now.form) || (now.group == EMITTED && !CAN_EXECUTE)) continue;
                    if (now.group == EMITTED) emit_and_patch(now_call.barrier, forms[now.form].emitted);
                    for (int i = 0; i < rounds && right; i++) right = copy_is_right(&models[barrier]);
                }
        }
        right &= all_is_as_expected(models[barrier].name);
        ok(right, "%s: copies like memmove, however they overlap", models[barrier].name);
    }
}

/* Emitted code as bytes. */

static const unsigned emitted_forms[] = {GC_EMIT_STORE,  GC_EMIT_CHECKED,
                                         GC_EMIT_ASSIGN, GC_EMIT_ASSIGN | GC_EMIT_CHECKED,
                                         GC_EMIT_COPY,   GC_EMIT_COPY | GC_EMIT_CHECKED};
enum { EMITTED_FORMS = sizeof emitted_forms / sizeof *emitted_forms, BUFFER_BYTES = 1024 };
typedef struct buffer {
    uint8_t bytes[BUFFER_BYTES] __attribute__((aligned(8)));
} buffer;

/* Tables of which each field is another number. */
static gc_barrier_tables numbered_tables(uint64_t number) {
    gc_barrier_tables result;
    uint64_t fields[sizeof result / 8];
    for (size_t i = 0; i < sizeof result / 8; i++) fields[i] = number * (i + 1);
    memcpy(&result, fields, sizeof result);
    return result;
}
static const uint64_t old_number = 0x0101010101010101, new_number = 0x1010101010101011;

static bool is_filled(const uint8_t *bytes, size_t count, uint8_t value) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value) return false;
    return true;
}

/* A buffer that will not do stays as it is, and code->bytes says what would. */
static bool refuses(gc_barrier barrier, unsigned form, size_t needed) {
    gc_barrier_tables t = numbered_tables(old_number);
    gc_barrier_code code;
    buffer b;
    memset(&b, 0xEE, sizeof b);
    bool refused = gc_barrier_emit(&code, b.bytes, needed - 1, barrier, form, &t) == 0 && code.bytes == needed;
    for (int shift = 1; shift < 8; shift++)
        refused &=
            gc_barrier_emit(&code, b.bytes + shift, BUFFER_BYTES - 8, barrier, form, &t) == 0 && code.bytes == needed;
    refused &= gc_barrier_emit(&code, b.bytes, 0, barrier, form, &t) == 0 && is_filled(b.bytes, sizeof b, 0xEE);
    return refused && gc_barrier_emit(&code, b.bytes, needed, barrier, form, &t) == needed &&
           is_filled(b.bytes + needed, BUFFER_BYTES - needed, 0xEE);
}

/* Outside its immediates the code depends on nothing; there it holds the tables' fields. */
static bool immediates_are_right(const gc_barrier_code *code, const buffer *old_code, const buffer *new_code) {
    gc_barrier_tables before = numbered_tables(old_number), after = numbered_tables(new_number);
    buffer masked = *old_code;
    bool right = code->patches <= sizeof code->patch / sizeof *code->patch;
    for (uint32_t i = 0; i < code->patches; i++) {
        size_t at = code->patch[i].at, field = code->patch[i].field;
        right &= at % 8 == 0 && at + 8 <= code->bytes && field % 8 == 0 && field < sizeof before;
        right &= memcmp(old_code->bytes + at, (const char *)&before + field, 8) == 0;
        right &= memcmp(new_code->bytes + at, (const char *)&after + field, 8) == 0;
        memcpy(masked.bytes + at, new_code->bytes + at, 8);
    }
    return right && memcmp(&masked, new_code, sizeof masked) == 0;
}

static void emitted_bytes(void) {
    uint32_t store_clobbers = 1 << RAX | 1 << RCX | 1 << RDX | 1 << RDI | 1 << RSI | 1 << R8 | 1 << R9;
    uint32_t all_clobbers = store_clobbers | 1 << R10 | 1 << R11, longest = 0;
    int refused = 0, immediates = 0, patched = 0, clobbers = 0;
    gc_barrier_tables before = numbered_tables(old_number), after = numbered_tables(new_number);
    for (int barrier = 0; barrier < MODELS; barrier++)
        for (int f = 0; f < EMITTED_FORMS; f++) {
            gc_barrier_code code, other;
            buffer old_code, new_code;
            memset(&old_code, 0, sizeof old_code), memset(&new_code, 0, sizeof new_code);
            gc_barrier_emit(&code, old_code.bytes, BUFFER_BYTES, (gc_barrier)barrier, emitted_forms[f], &before);
            gc_barrier_emit(&other, new_code.bytes, BUFFER_BYTES, (gc_barrier)barrier, emitted_forms[f], &after);
            if (code.bytes > longest) longest = code.bytes;
            refused += refuses((gc_barrier)barrier, emitted_forms[f], code.bytes);
            immediates += immediates_are_right(&code, &old_code, &new_code);
            gc_barrier_patch(&code, old_code.bytes, &after);
            patched += memcmp(&old_code, &new_code, sizeof old_code) == 0 && memcmp(&code, &other, sizeof code) == 0;
            clobbers += !(code.clobbers & ~(emitted_forms[f] >= GC_EMIT_ASSIGN ? all_clobbers : store_clobbers));
        }
    int all = MODELS * EMITTED_FORMS;
    ok(longest <= GC_EMIT_BYTES_MAX, "no emitted code is longer than GC_EMIT_BYTES_MAX");
    diag("the longest has %u bytes", longest);
    is(refused, all, "a buffer that is too short or not aligned is refused and left alone");
    is(immediates, all, "all that depends on the tables are immediates that are aligned to 8 bytes");
    is(patched, all, "patched code is what would have been emitted");
    is(clobbers, all, "emitted code clobbers no more than it may");
}

/* The order of patches: after each instruction of gc_barrier_patch. */

static gc_barrier_tables patch_before, patch_after;
static int patch_torn, patch_disordered;

static void look_at_patches(void) {
    int old_tables = 0, new_bounds = 0;
    for (uint32_t i = 0; i < emitted.patches; i++) {
        size_t at = emitted.patch[i].at, field = emitted.patch[i].field;
        bool is_old = memcmp(code_alias + at, (char *)&patch_before + field, 8) == 0;
        if (!is_old && memcmp(code_alias + at, (char *)&patch_after + field, 8) != 0) patch_torn++;
        bool is_bound = field == offsetof(gc_barrier_tables, low) || field == offsetof(gc_barrier_tables, high) ||
                        field == offsetof(gc_barrier_tables, lowest) || field == offsetof(gc_barrier_tables, highest);
        old_tables += is_old && !is_bound;
        new_bounds += !is_old && is_bound;
    }
    patch_disordered += old_tables && new_bounds;
}

static void order_of_patches(void) {
    if (!single_step_available()) {
        ok(true, "the order of patches # skip no single steps");
        return;
    }
    long steps = 0;
    patch_before = numbered_tables(old_number), patch_after = numbered_tables(new_number);
    patch_torn = patch_disordered = 0;
    for (int barrier = 0; barrier < MODELS; barrier++)
        for (int f = 0; f < EMITTED_FORMS; f++) {
            gc_barrier_emit(&emitted, code_alias, CODE_BYTES, (gc_barrier)barrier, emitted_forms[f], &patch_before);
            single_step_each = look_at_patches;
            single_step_begin();
            gc_barrier_patch(&emitted, code_alias, &patch_after);
            steps += single_step_end();
            single_step_each = NULL;
        }
    ok(steps > 0 && !patch_torn, "each immediate is patched at once, in %ld steps", steps);
    is(patch_disordered, 0, "no bound is new before all tables are");
}

/* Instructions. */

static NOINLINE void store_inline(const gc_barrier_tables *t, void *slot, const void *ref) {
    gc_barrier_store_rank_sum(t, slot, ref);
}
static NOINLINE void store_not(const gc_barrier_tables *t, void *slot, const void *ref) {
    __asm__ volatile("" : : "r"(t), "r"(slot), "r"(ref) : "memory");
}

static long steps_of(gc_barrier_store_function *f, void *slot, const void *ref) {
    gc_barrier_store_function *volatile function = f;
    gc_barrier_store_function *now_function = function;
    single_step_begin();
    now_function(&tables, slot, ref);
    return single_step_end();
}

static long steps_of_emitted(const uint8_t *code, void *slot, const void *ref) {
    const uint8_t *volatile where = code;
    emitted_store *function = (emitted_store *)(uintptr_t)where;
    single_step_begin();
    function(slot, ref);
    return single_step_end();
}

/* Stores that need no card, which most are. */
static void instructions(void) {
    if (!single_step_available()) {
        ok(true, "instructions # skip no single steps");
        return;
    }
    static const struct {
        const char *name;
        int site, ref;
    } stores[] = {{"young <- young", 0, 6}, {"old <- old", 3, 10}, {"old <- null", 3, 0}, {"stack <- young", 12, 6}};
    enum { RETURN_AT = 1024 };
    long inline_most = 0, emitted_most = 0, inline_least = 99, emitted_least = 99;
    set_marking(false);
    set_bounds(0, 0);
    emit_and_patch(GC_BARRIER_RANK_SUM, GC_EMIT_STORE);
    code_alias[RETURN_AT] = 0xC3;
    code_changed();
    for (int i = 0; i < 4; i++) {
        void *slot = (void *)sites[stores[i].site].slot;
        const void *ref = (const void *)refs[stores[i].ref].value;
        long in_line = steps_of(store_inline, slot, ref) - steps_of(store_not, slot, ref);
        long out_of_line = steps_of_emitted(code_page, slot, ref) - steps_of_emitted(code_page + RETURN_AT, slot, ref);
        if (in_line > inline_most) inline_most = in_line;
        if (in_line < inline_least) inline_least = in_line;
        if (out_of_line > emitted_most) emitted_most = out_of_line;
        if (out_of_line < emitted_least) emitted_least = out_of_line;
    }
    diag("rank_sum without a card: %ld to %ld instructions inline, %ld to %ld emitted", inline_least, inline_most,
         emitted_least, emitted_most);
    if (HAS_PLAIN_ASSEMBLY)
        ok(inline_most <= 11 && inline_least > 5, "rank_sum inline: at most 11 instructions if no card is needed");
    ok(emitted_most <= 11 && emitted_least > 5, "rank_sum emitted: at most 11 instructions if no card is needed");
}

static int emit_to_stdout(const char *name, const char *form) {
    gc_barrier_tables t = numbered_tables(new_number);
    gc_barrier_code code;
    static buffer b;
    gc_barrier barrier = gc_barrier_named(name);
    size_t bytes = 0;
    if (barrier == GC_BARRIER_COUNT) return 2;
    if (GC_HAS_EMIT) bytes = gc_barrier_emit(&code, b.bytes, sizeof b, barrier, (unsigned)atoi(form), &t);
    return fwrite(b.bytes, 1, bytes, stdout) != bytes;
}

int main(int argc, char **argv) {
    gc_word stack_words[RUN + 4] = {0};
    if (argc == 4 && strcmp(argv[1], "emit") == 0) return emit_to_stdout(argv[2], argv[3]);
    thorough = argc < 2 || strcmp(argv[1], "quick") != 0;
    alarm(thorough ? 120 : 900); /* a barrier that loops forever; emulators are slow */
    make_world();
    make_code_page();
    make_sites(stack_words);
    catch_faults();
    the_list();
    memset(private_stack, STACK_FILL, sizeof private_stack);
    all_combinations();
    registers_survive();
    in_object();
    questions();
    bad_destinations();
    overlaps();
    if (GC_HAS_EMIT) emitted_bytes();
    if (GC_HAS_EMIT) order_of_patches();
    instructions();
    threads();
    return done();
}
