/* Random methods: each is encoded, and the decoder compared with uncompressed tables at every offset, for both kinds of frames;
   and the layouts of frames with a machine that runs the instructions of the unwind rows.

   stackmaps [--count=N] [--seed=S]      Case i of seed S is case 0 of seed S + i.
   stackmaps --sizes [--count=N]         Compares sizes with those of the CLR's format.
   stackmaps --times                     Measures how long queries take. */
#ifdef SHARES_INSIDE
#include "../inside.h"
#else
#define GC_IMPLEMENTATION
#endif
#include "stackmap_clr.h"

#include <time.h>

static model m;
static uint64_t seed, now;     /* the seed of the case that is running */
static uint32_t of[SLOTS_MAX]; /* for each slot of the map, the method's */

static _Noreturn void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("not ok 1 - ");
    vprintf(format, arguments);
    printf("\n1..1\n# build/tests/stackmaps-VARIANT --count=1 --seed=%llu repeats it\n", (unsigned long long)now);
    fflush(stdout);
    exit(1);
}

#define CHECK(condition, ...) ((condition) ? (void)0 : wrong(__VA_ARGS__))

/* A machine with a stack, whose values say where they come from. Addresses are distances from the CFA. */
enum { STACK_WORDS = 4096, CALLERS = 1 << 20, JUNK = 2 << 20, RETURN = 3 << 20 };

typedef struct machine {
    int64_t sp, registers[GC_CODE_REGISTERS];
    int64_t stack[STACK_WORDS]; /* at -8 * (index + 1) */
} machine;

static int64_t *at(machine *k, int64_t address) {
    CHECK(address < 0 && address >= -8 * STACK_WORDS && address % 8 == 0, "the machine's stack has no address %lld",
          (long long)address);
    return &k->stack[-address / 8 - 1];
}

/* What is below the stack pointer may be overwritten at any time. */
static void move_sp(machine *k, int64_t sp) {
    for (int64_t address = k->sp; address < sp; address += 8) *at(k, address) = JUNK;
    k->sp = sp;
}

static void run_row(machine *k, const gc_stackmap_unwind *row) {
    static int64_t places[GC_CODE_REGISTERS];
    switch (row->op) {
    case GC_UNWIND_PUSH:
        move_sp(k, k->sp - 8);
        *at(k, k->sp) = row->number == GC_NO_REGISTER ? JUNK : k->registers[row->number];
        if (row->number != GC_NO_REGISTER) k->registers[row->number] = JUNK;
        break;
    case GC_UNWIND_POP:
        if (row->number != GC_NO_REGISTER) k->registers[row->number] = *at(k, k->sp);
        move_sp(k, k->sp + 8);
        break;
    case GC_UNWIND_ALLOCATE:
        move_sp(k, k->sp - row->bytes);
        break;
    case GC_UNWIND_SAVE:
        places[row->number] = k->sp + row->bytes;
        *at(k, places[row->number]) = k->registers[row->number];
        k->registers[row->number] = JUNK;
        break;
    case GC_UNWIND_RESTORE:
        k->registers[row->number] = *at(k, places[row->number]);
        break;
    case GC_UNWIND_FRAME:
        k->registers[5] = k->sp + row->bytes;
        break;
    case GC_UNWIND_LEAVE:
        move_sp(k, k->registers[5] - row->bytes);
        break;
    default:
        wrong("there is no op %u", row->op);
    }
}

static void compare_layout(machine *k, const void *map, uint32_t offset, gc_frame_kind kind) {
    gc__frame_layout layout;
    bool inside = kind == GC_FRAME_CALLER ? offset > 0 && offset <= m.method.code_bytes : offset < m.method.code_bytes;
    CHECK(gc__stackmap_layout(map, offset, kind, &layout) == inside, "layout at %u, kind %d: not %d", offset, kind,
          inside);
    int64_t cfa = (layout.by_frame ? k->registers[5] : k->sp) + layout.cfa;
    CHECK(cfa == 0, "layout at %u, kind %d: the CFA is wrong by %lld", offset, kind, (long long)cfa);
    CHECK(*at(k, -8) == RETURN, "the machine has lost its return address");
    for (int i = 0; i < GC_CODE_REGISTERS; i++) {
        if (i == 4) continue;
        int64_t value = layout.saved[i] ? *at(k, layout.saved[i]) : k->registers[i];
        CHECK(value == CALLERS + i, "layout at %u, kind %d: register %d is not the caller's", offset, kind, i);
    }
}

static void compare_layouts(const void *map) {
    static machine k, body;
    const gc_stackmap_method *method = &m.method;
    bool in_body = false;
    k.sp = -8;
    *at(&k, -8) = RETURN;
    for (int i = 0; i < GC_CODE_REGISTERS; i++) k.registers[i] = CALLERS + i;
    for (uint32_t offset = 0, i = 0; offset <= method->code_bytes + 1; offset++) {
        compare_layout(&k, map, offset, GC_FRAME_CALLER);
        for (; i < method->unwind_count && m.rows[i].offset == offset; i++) {
            if (!in_body && offset > method->prolog_bytes) {
                in_body = true;
                if (method->flags & GC_METHOD_DYNAMIC_STACK) k.sp -= 8 * below(&m, 20);
                body = k;
            }
            if (m.rows[i].op == GC_UNWIND_BODY)
                k = body;
            else
                run_row(&k, &m.rows[i]);
        }
        compare_layout(&k, map, offset, GC_FRAME_INTERRUPTED);
    }
}

static void compare_rows(const void *start) {
    gc__stackmap map;
    gc__stackmap_open(&map, start, UINT64_MAX);
    gc__unwind_cursor rows = gc__unwind_begin(&map);
    for (uint32_t i = 0; i < m.method.unwind_count; i++) {
        const gc_stackmap_unwind *row = &m.rows[i];
        CHECK(gc__unwind_next(&rows), "unwind row %u is missing", i);
        bool same = rows.row.offset == row->offset && rows.row.op == row->op && rows.row.bytes == row->bytes;
        if (gc__unwind_has_number(row->op)) same &= rows.row.number == row->number;
        CHECK(same, "unwind row %u is another one", i);
    }
    CHECK(!gc__unwind_next(&rows), "there are too many unwind rows");
}

/* The facts; and which slot of the map is which one of the method. */
static void compare_facts(const void *map, size_t bytes) {
    const gc_stackmap_method *method = &m.method;
    gc_stackmap_facts facts = gc_stackmap_read(map);
    CHECK(facts.bytes == bytes, "the map says that it has %u bytes, not %zu", facts.bytes, bytes);
    CHECK(facts.code_bytes == method->code_bytes && facts.prolog_bytes == method->prolog_bytes &&
              facts.flags == method->flags && facts.outgoing_bytes == method->outgoing_bytes &&
              facts.argument_bytes == method->argument_bytes && facts.range_count == method->range_count &&
              facts.unwind_count == method->unwind_count &&
              memcmp(facts.returns, method->returns, sizeof facts.returns) == 0 &&
              memcmp(facts.extra, method->extra, sizeof facts.extra) == 0,
          "the facts differ");
    uint32_t changes = 0;
    for (uint32_t r = 0; r < method->range_count; r++) {
        set before = {{0}};
        for (uint32_t offset = m.ranges[r].start; offset < m.ranges[r].end; before = m.live[offset++])
            for (uint32_t i = 0; i < WORDS; i++) changes += gc__bits_count(before.words[i] ^ m.live[offset].words[i]);
    }
    CHECK(facts.change_count == changes, "the map has %u changes, not %u", facts.change_count, changes);
    bool taken[SLOTS_MAX] = {false};
    for (uint32_t i = 0; i < facts.slot_count; i++) {
        gc_stackmap_slot slot = gc_stackmap_slot_at(map, i);
        uint32_t k = 0;
        while (k < method->slot_count && (taken[k] || memcmp(&slot, &m.slots[k], sizeof slot) != 0)) k++;
        CHECK(k < method->slot_count, "slot %u of the map is none of the method", i);
        taken[k] = true, of[i] = k;
        CHECK(slot.untracked == (i >= facts.slot_count - facts.untracked_count),
              "slot %u of the map is at the wrong place", i);
    }
}

static void compare_live(const void *map, uint32_t count, uint32_t offset, gc_frame_kind kind) {
    set expected;
    uint64_t words[WORDS], got[WORDS] = {0};
    for (uint32_t i = 0; i < WORDS; i++) words[i] = 0x5555555555555555;
    bool found = model_live(&m, offset, kind, &expected), says = gc_stackmap_live(map, offset, kind, words);
    CHECK(found == says, "at %u, kind %d: gc_stackmap_live returns %d", offset, kind, says);
    for (uint32_t i = found ? (count + 63) / 64 : 0; i < WORDS; i++)
        CHECK(words[i] == 0x5555555555555555, "at %u, kind %d: gc_stackmap_live stores too much", offset, kind);
    if (kind == GC_FRAME_INTERRUPTED)
        CHECK(gc_stackmap_is_interruptible(map, offset) == found, "at %u: is_interruptible", offset);
    gc__live_cursor live;
    CHECK(gc__live_begin(&live, map, offset, kind) == found, "at %u, kind %d: gc__live_begin", offset, kind);
    if (!found) return;
    while (gc__live_next(&live)) {
        uint32_t i = live.slots.index - 1;
        CHECK(memcmp(&live.slots.slot, &m.slots[of[i]], sizeof m.slots[0]) == 0, "at %u: gc__live_next, slot %u",
              offset, i);
        CHECK(set_has(&expected, of[i]), "at %u, kind %d: gc__live_next says that slot %u is live", offset, kind,
              of[i]);
        got[i / 64] |= (uint64_t)1 << i % 64;
        set_put(&expected, of[i], false);
    }
    for (uint32_t i = 0; i < m.method.slot_count; i++)
        CHECK(!set_has(&expected, i), "at %u, kind %d: slot %u is dead", offset, kind, i);
    CHECK(memcmp(words, got, (count + 63) / 64 * 8) == 0, "at %u, kind %d: gc_stackmap_live differs from gc__live_next",
          offset, kind);
}

/* A map that was changed is refused, or at least read within its bounds, which the sanitizers see. */
static void damage(const uint8_t *map, size_t bytes) {
    uint8_t *copy = (uint8_t *)malloc(bytes);
    for (int i = 0; i < 4; i++) {
        memcpy(copy, map, bytes);
        copy[below(&m, (uint32_t)bytes)] ^= (uint8_t)(1 << below(&m, 8));
        if (gc_stackmap_check(copy, bytes)) continue;
        gc_stackmap_facts facts = gc_stackmap_read(copy);
        uint64_t *words = (uint64_t *)malloc((facts.slot_count + 63) / 64 * 8 + 8);
        uint32_t offset = below(&m, facts.code_bytes + 2 ? facts.code_bytes + 2 : 1);
        gc_stackmap_live(copy, offset, GC_FRAME_CALLER, words);
        gc_stackmap_live(copy, offset, GC_FRAME_INTERRUPTED, words);
        free(words);
    }
    CHECK(gc_stackmap_check(map, bytes - 1), "a map without its last byte is taken for whole");
    free(copy);
}

/* Most cases are small, so that there are many. */
static void one_case(void) {
    static const shape shapes[16] = {
        SMALL,         SMALL,         SMALL,         SMALL,    SMALL,  SMALL,  INTERRUPTIBLE, INTERRUPTIBLE,
        INTERRUPTIBLE, INTERRUPTIBLE, INTERRUPTIBLE, ANYTHING, MEDIUM, MEDIUM, LARGE,         INTERRUPTIBLE_LARGE};
    make_method(&m, shapes[below(&m, 16)]);
    size_t bytes = gc_stackmap_encode(&m.method, NULL, 0);
    CHECK(bytes, "%s", gc_last_message());
    uint8_t *map = (uint8_t *)malloc(bytes);
    memset(map, 0xA5, bytes);
    CHECK(gc_stackmap_encode(&m.method, map, bytes - 1) == bytes && map[0] == 0xA5,
          "a map was written to too little room");
    CHECK(gc_stackmap_encode(&m.method, map, bytes) == bytes, "the size of the map changes");
    const char *fault = gc_stackmap_check(map, bytes);
    CHECK(!fault, "gc_stackmap_check: %s", fault);
    compare_facts(map, bytes);
    uint32_t count = gc_stackmap_read(map).slot_count;
    for (uint32_t offset = 0; offset <= m.method.code_bytes + 2; offset++)
        compare_live(map, count, offset, GC_FRAME_CALLER), compare_live(map, count, offset, GC_FRAME_INTERRUPTED);
    compare_live(map, count, UINT32_MAX, GC_FRAME_CALLER), compare_live(map, count, UINT32_MAX, GC_FRAME_INTERRUPTED);
    compare_layouts(map);
    compare_rows(map);
    damage(map, bytes);
    free(map);
}

/* Sizes: sums over methods of each shape, in bytes. Unwind rows are counted apart, on neither side. */
typedef struct sizes {
    double ours, unwind, clr, methods;
} sizes;

static void add_sizes(sizes *to, const sizes *from, double weight) {
    to->ours += weight * from->ours, to->unwind += weight * from->unwind, to->clr += weight * from->clr,
        to->methods += weight * from->methods;
}

static void measure(sizes *sum, shape s) {
    gc_stackmap_method bare;
    make_method(&m, s);
    double whole = (double)gc_stackmap_encode(&m.method, NULL, 0);
    CHECK(whole > 0, "%s", gc_last_message());
    /* What the unwind rows take is what goes when the method has none; frames and slots are checked by them, so bits are counted. */
    static uint8_t map[1 << 16];
    gc__stackmap opened;
    CHECK(gc_stackmap_encode(&m.method, map, sizeof map) <= sizeof map, "a map is too large");
    gc__stackmap_open(&opened, map, UINT64_MAX);
    bare = m.method;
    uint64_t bits = 0, rows = opened.slots - opened.unwind;
    if (bare.unwind_count || bare.prolog_bytes)
        bits += gc__number_bits(bare.prolog_bytes, GC__BASE_MANY) + gc__number_bits(bare.unwind_count, GC__BASE_MANY);
    if (bare.unwind_count) bits += gc__number_bits((uint32_t)rows, GC__BASE_OFFSET) + rows;
    sum->unwind += (double)bits / 8;
    sum->ours += whole - (double)bits / 8;
    sum->clr += (double)clr_bytes(&m);
    sum->methods += 1;
}

static void show(const char *name, const sizes *s) {
    printf("# %-36s %8.1f bytes, the CLR's %8.1f: %.2f times; and %5.1f bytes of unwind rows\n", name,
           s->ours / s->methods, s->clr / s->methods, s->ours / s->clr, s->unwind / s->methods);
}

static int compare_sizes(uint64_t count) {
    static const struct kind {
        const char *name;
        double share;
    } kinds[SHAPES] = {{"small, few slots, several calls", 0.55},
                       {"medium", 0.25},
                       {"large", 0.05},
                       {"fully interruptible", 0.10},
                       {"fully interruptible, large", 0.05},
                       {"anything, slots and sets at random", 0}};
    sizes all = {0, 0, 0, 0}, mix = {0, 0, 0, 0}, of_shape[SHAPES] = {{0, 0, 0, 0}};
    for (uint64_t i = 0; i < count; i++) {
        now = m.random = seed + i;
        measure(&of_shape[i % SHAPES], (shape)(i % SHAPES));
    }
    for (int s = 0; s < SHAPES; s++) {
        show(kinds[s].name, &of_shape[s]);
        add_sizes(&all, &of_shape[s], 1);
        add_sizes(&mix, &of_shape[s], kinds[s].share);
    }
    show("all of these", &all);
    show("a program's mix of them", &mix);
    ok(all.ours <= all.clr, "random methods: %.3f times the size of the CLR's format", all.ours / all.clr);
    ok(mix.ours <= mix.clr, "a program's mix of methods: %.3f times the size of the CLR's format", mix.ours / mix.clr);
    return done();
}

/* Times: medians of many batches, over maps of which each batch asks in turn, each time at a random offset; in CPU time, since
   other programs may run. */
enum { MAPS = 200, QUESTIONS = 16, BATCHES = 101 };

typedef struct question {
    const uint8_t *map;
    uint32_t offset;
    gc_frame_kind kind;
} question;

static uint64_t ask_nothing(const question *q) { return q->offset; }
static uint64_t ask_live(const question *q) {
    uint64_t live[WORDS];
    return gc_stackmap_live(q->map, q->offset, q->kind, live) ? live[0] : 0;
}
static uint64_t ask_each(const question *q) {
    gc__live_cursor live;
    uint64_t sum = 0;
    if (gc__live_begin(&live, q->map, q->offset, q->kind))
        while (gc__live_next(&live)) sum += (uint64_t)live.slots.slot.offset;
    return sum;
}
static uint64_t ask_layout(const question *q) {
    gc__frame_layout there;
    gc__stackmap_layout(q->map, q->offset, q->kind, &there);
    return (uint64_t)there.cfa;
}
static uint64_t ask_interruptible(const question *q) { return gc_stackmap_is_interruptible(q->map, q->offset); }

static int by_size(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static volatile uint64_t answers; /* so that no question is asked in vain */

/* Nanoseconds for a question. */
static double measure_time(uint64_t (*ask)(const question *), const question *questions) {
    double times[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        struct timespec start, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        for (int i = 0; i < MAPS * QUESTIONS; i++) answers += ask(&questions[i]);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        times[batch] =
            ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / (MAPS * QUESTIONS);
    }
    qsort(times, BATCHES, sizeof *times, by_size);
    return times[BATCHES / 2];
}

static void show_times(shape s, const char *name) {
    static question questions[MAPS * QUESTIONS];
    double slots = 0, lives = 0;
    for (int i = 0; i < MAPS; i++) {
        do make_method(&m, s);
        while (!(s == SMALL || s == MEDIUM || s == LARGE ? m.method.point_count : m.method.range_count) ||
               m.method.slot_count < 2);
        size_t bytes = gc_stackmap_encode(&m.method, NULL, 0);
        uint8_t *map = (uint8_t *)malloc(bytes);
        CHECK(gc_stackmap_encode(&m.method, map, bytes) == bytes, "%s", gc_last_message());
        slots += gc_stackmap_read(map).slot_count;
        for (int k = 0; k < QUESTIONS; k++) {
            question *q = &questions[k * MAPS + i];
            const gc_stackmap_range *range = m.method.range_count ? &m.ranges[below(&m, m.method.range_count)] : NULL;
            q->map = map;
            q->kind = range ? GC_FRAME_INTERRUPTED : GC_FRAME_CALLER;
            q->offset =
                range ? from_to(&m, range->start, range->end - 1) : m.points[below(&m, m.method.point_count)].offset;
            gc__live_cursor live;
            if (gc__live_begin(&live, map, q->offset, q->kind))
                while (gc__live_next(&live)) lives++;
        }
    }
    double empty = measure_time(ask_nothing, questions);
    printf("# %-27s %4.1f slots: live set %3.0f ns; each of %3.1f live slots %3.0f ns; layout of the frame %3.0f ns; "
           "interruptible? %3.0f ns\n",
           name, slots / MAPS, measure_time(ask_live, questions) - empty, lives / (MAPS * QUESTIONS),
           measure_time(ask_each, questions) - empty, measure_time(ask_layout, questions) - empty,
           measure_time(ask_interruptible, questions) - empty);
}

static int show_all_times(void) {
    m.random = seed;
    show_times(SMALL, "small");
    show_times(MEDIUM, "medium");
    show_times(LARGE, "large");
    show_times(INTERRUPTIBLE, "fully interruptible");
    show_times(INTERRUPTIBLE_LARGE, "fully interruptible, large");
    return 0;
}

int main(int argc, char **argv) {
    uint64_t count = 20000;
    bool sizes_only = false, times_only = false;
    seed = 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--count=", 8) == 0)
            count = strtoull(argv[i] + 8, NULL, 10);
        else if (strncmp(argv[i], "--seed=", 7) == 0)
            seed = strtoull(argv[i] + 7, NULL, 10);
        else if (strcmp(argv[i], "--sizes") == 0)
            sizes_only = true;
        else if (strcmp(argv[i], "--times") == 0)
            times_only = true;
        else
            return printf("Bail out! unknown argument %s\n", argv[i]), 2;
    }
    if (sizes_only) return compare_sizes(count);
    if (times_only) return show_all_times();
    for (uint64_t i = 0; i < count; i++) {
        now = m.random = seed + i;
        one_case();
    }
    ok(true, "%llu methods from seed %llu on", (unsigned long long)count, (unsigned long long)seed);
    return done();
}
