/* What a store costs with each write barrier: gc_barrier_x86_64.h alone, over a heap and tables of the program's own.

   A sample is a few passes over 16 K stores, with addresses and references from two arrays, by the same loop for every
   barrier. In each repetition all barriers of a case are measured in turn, and all cases, so that noise and a drifting clock
   hit all alike; reported is the median over the repetitions, and as `spread` the interquartile range. The ratio to the
   plain store is the median of the ratios within each repetition. Instructions are counted by single-stepping the loops. */
#define _GNU_SOURCE
#include "gc_barrier_x86_64.h"
#include "../tests/unit/single_step.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#ifndef __x86_64__
#error "emitted barriers can only be run on x86-64"
#endif

/* 16 K stores are more than a branch predictor learns by heart. */
enum { STORES = 16384, PASSES = 12, REPS_DEFAULT = 25, REPS_MAX = 999, COPY_WORDS = 32 };

/* Of a pass over clean cards, each chunk is timed alone: its slots have a card each, which are made clean before it. */
enum { CHUNK = 512 };

/* The loops, which all have the same parameters. `function` is what to call, for those that do. */

typedef void any_function(void);
typedef void loop_function(const gc_barrier_tables *tables, void *const *slots, const void *const *refs, size_t count,
                           any_function *function);
typedef void emitted_function(void *slot, const void *ref);
typedef void emitted_copy_function(void *to, const void *from, size_t count);

#define LOOP(name, step, statement)                                                                              \
    static __attribute__((noinline, aligned(64))) void name(const gc_barrier_tables *tables, void *const *slots, \
                                                            const void *const *refs, size_t count,               \
                                                            any_function *function) {                            \
        (void)tables, (void)function;                                                                            \
        for (size_t i = 0; i < count; i += step) {                                                               \
            statement;                                                                                           \
        }                                                                                                        \
    }
/* A copy goes to whole blocks of words. */
#define BLOCK(slot) ((void *)((uintptr_t)(slot) & ~(uintptr_t)(COPY_WORDS * 8 - 1)))
#define ASSIGN(name)             \
    void *to = slots[i];         \
    const void *from = &refs[i]; \
    gc_barrier_assign_##name(tables, &to, &from)

#define LOOPS(name, NAME, watch, filter, mark)                                           \
    LOOP(inline_##name, 1, gc_barrier_store_##name(tables, slots[i], refs[i]))           \
    LOOP(c_##name, 1, gc_barrier_store_c(GC_BARRIER_##NAME, tables, slots[i], refs[i]))  \
    LOOP(inline_checked_##name, 1, gc_barrier_checked_##name(tables, slots[i], refs[i])) \
    LOOP(inline_assign_##name, 1, ASSIGN(name))                                          \
    LOOP(inline_copy_##name, COPY_WORDS, gc_barrier_copy_##name(tables, BLOCK(slots[i]), &refs[i], COPY_WORDS))
GC_BARRIERS(LOOPS)
LOOP(call, 1, ((gc_barrier_store_function *)function)(tables, slots[i], refs[i]))
LOOP(emitted, 1, ((emitted_function *)function)(slots[i], refs[i]))
LOOP(emitted_assign, 1, ((emitted_function *)function)(slots[i], &refs[i]))
LOOP(emitted_copy, COPY_WORDS, ((emitted_copy_function *)function)(BLOCK(slots[i]), &refs[i], COPY_WORDS))

typedef struct form {
    const char *name;
    int emits;       /* what gc_barrier_emit is asked for; -1: nothing */
    bool everywhere; /* measured in every case, or only where the case says so */
} form;
enum {
    INLINE,
    C,
    CALL,
    EMITTED,
    INLINE_CHECKED,
    EMITTED_CHECKED,
    INLINE_ASSIGN,
    EMITTED_ASSIGN,
    INLINE_COPY,
    EMITTED_COPY,
    FORMS
};
static const form forms[FORMS] = {
    [INLINE] = {"inline", -1, true},
    [C] = {"c", -1, true},
    [CALL] = {"call", -1, true},
    [EMITTED] = {"emitted", GC_EMIT_STORE, true},
    [INLINE_CHECKED] = {"inline-checked", -1, true},
    [EMITTED_CHECKED] = {"emitted-checked", GC_EMIT_CHECKED, true},
    [INLINE_ASSIGN] = {"inline-assign", -1, false},
    [EMITTED_ASSIGN] = {"emitted-assign", GC_EMIT_ASSIGN, false},
    [INLINE_COPY] = {"inline-copy", -1, false},
    [EMITTED_COPY] = {"emitted-copy", GC_EMIT_COPY, false},
};

static loop_function *const loops[GC_BARRIER_COUNT][FORMS] = {
#define LOOPS_OF(name, NAME, watch, filter, mark)                                                                    \
    {inline_##name,  c_##name,           call,        emitted, inline_checked_##name, emitted, inline_assign_##name, \
     emitted_assign, inline_copy_##name, emitted_copy},
    GC_BARRIERS(LOOPS_OF)};

/* Cases. The lower half of the heap is old and the upper half young; or ages are random: of the regions, for slots and
   referents alike, half are old, a quarter generation 1, a quarter young. The marks (cards, bundles, log and write watch)
   are clean at each store, or else all dirty, as an earlier pass leaves them. */

typedef enum kind { OLD, YOUNG, MIX, NOTHING } kind;
typedef struct test_case {
    const char *name;
    kind slot, ref;
    size_t window; /* bytes that the slots are spread over */
    bool clean, all_forms, ages_random;
} test_case;

#define HEAP_BYTES ((size_t)1 << 30)
#define REGIONS (HEAP_BYTES >> GC_REGION_SHIFT)
/* Near slots have a card for each store of a chunk, and fit into a level-2 cache: so a plain store mostly waits for that.
   Cached slots fit into the level-1 cache, so that every instruction beside the store shows. Those all over the heap miss
   the caches and the TLB. */
#define NEAR ((size_t)CHUNK << GC_CARD_BYTE_SHIFT)
#define CACHED ((size_t)16384)

/* In a mix half of the referents are young, half old, in no order: no branch on their age can be predicted. */
static const test_case cases[] = {
    {"old<-young-clean", OLD, YOUNG, NEAR, true, false, false},
    {"old<-young-set", OLD, YOUNG, NEAR, false, true, false},
    {"young<-young", YOUNG, YOUNG, NEAR, false, false, false},
    {"old<-old", OLD, OLD, NEAR, false, true, false},
    {"old<-null", OLD, NOTHING, NEAR, false, false, false},
    {"old<-old-cached", OLD, OLD, CACHED, false, false, false},
    {"old<-mix", OLD, MIX, NEAR, false, false, false},
    {"old<-mix-clean", OLD, MIX, NEAR, true, false, false},
    {"random-1GiB-old", OLD, OLD, HEAP_BYTES, false, false, false},
    {"random-1GiB", MIX, MIX, HEAP_BYTES, false, false, true},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* The heap, the tables, and the two arrays. Nothing is freed before the program ends. */

static char *heap;
static gc_barrier_tables tables[GC_BARRIER_COUNT]; /* they differ in low and high */
static gc_barrier_log log_;
static uintptr_t log_buffer[STORES];
static double clock_overhead_ns;
static void *slots[STORES];
static const void *refs[STORES];
static char *code; /* of all barriers in all forms, GC_EMIT_BYTES_MAX each */
static uint64_t random_state;

static uint64_t random_below(uint64_t limit) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

static char *reserve(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        fprintf(stderr, "barriers: no address space for %zu MiB\n", bytes >> 20);
        exit(1);
    }
    return at;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What reading the clock adds to an interval. */
static double clock_ns(void) {
    double values[101];
    for (int i = 0; i < 101; i++) values[i] = now_ns(), values[i] = now_ns() - values[i];
    qsort(values, 101, sizeof *values, by_value);
    return values[50];
}

/* A table with a byte per 2^shift bytes of the heap, biased. */
static uint8_t *table(int shift) {
    return (uint8_t *)((uintptr_t)reserve((HEAP_BYTES >> shift) + 1) - ((uintptr_t)heap >> shift));
}

static void set_up(void) {
    heap = reserve(HEAP_BYTES + GC_REGION_BYTES);
    heap = (char *)(((uintptr_t)heap + GC_REGION_BYTES - 1) & ~(GC_REGION_BYTES - 1));
    gc_barrier_tables all = {.age = (uint8_t *)reserve(2 * GC_RANK_ENTRIES) + GC_RANK_ENTRIES,
                             .cards = table(GC_CARD_BYTE_SHIFT),
                             .watch = table(GC_WATCH_SHIFT),
                             .log_bits = table(6),
                             .log = &log_,
                             .lowest = (uintptr_t)heap,
                             .highest = (uintptr_t)heap + HEAP_BYTES};
    if (GC_BUNDLE_SHIFT) all.bundles = table(GC_BUNDLE_SHIFT);
    for (int b = 0; b < GC_BARRIER_COUNT; b++) tables[b] = all;
    clock_overhead_ns = clock_ns();
    code = reserve((size_t)GC_BARRIER_COUNT * FORMS * GC_EMIT_BYTES_MAX);
}

static char *region_of(kind kind) {
    size_t half = REGIONS / 2, first = kind == YOUNG || (kind == MIX && random_below(2)) ? half : 0;
    return heap + ((first + random_below(half)) << GC_REGION_SHIFT);
}

static void set_age(const char *region, unsigned age) {
    uint8_t *entry = &tables[0].age[(uintptr_t)region >> GC_REGION_SHIFT];
    *entry = (uint8_t)age;
    *(entry - GC_RANK_ENTRIES) = (uint8_t)(2 - age);
}

static void choose_ages(const test_case *c) {
    static const unsigned mix[4] = {2, 2, 1, 0};
    for (size_t i = 0; i < REGIONS; i++)
        set_age(heap + (i << GC_REGION_SHIFT), c->ages_random ? mix[random_below(4)] : i < REGIONS / 2 ? 2 : 0);
}

/* Segments of young objects have a range of their own; with regions, and where ages are random, it is the whole heap. */
static void choose_ranges(const test_case *c) {
    for (int b = 0; b < GC_BARRIER_COUNT; b++) {
        bool whole = c->ages_random || strstr(gc_barrier_name((gc_barrier)b), "region");
        tables[b].low = (uintptr_t)heap + (whole ? 0 : HEAP_BYTES / 2);
        tables[b].high = (uintptr_t)heap + HEAP_BYTES;
    }
}

/* Every chunk visits all cards of the window once, in an order of its own. */
static void choose_stores(const test_case *c) {
    char *window = c->slot == YOUNG ? heap + HEAP_BYTES / 2 : heap;
    size_t order[CHUNK], stride = c->window / CHUNK;
    for (size_t i = 0; i < STORES; i++) {
        if (i % CHUNK == 0)
            for (size_t j = 0, k; j < CHUNK; j++) k = random_below(j + 1), order[j] = order[k], order[k] = j;
        size_t at = c->window < NEAR ? random_below(c->window) : order[i % CHUNK] * stride + random_below(stride);
        slots[i] = window + (at & ~(size_t)7);
        refs[i] = c->ref == NOTHING ? NULL : region_of(c->ref) + (random_below(GC_REGION_BYTES) & ~(size_t)7);
    }
}

static void emit_all(void) {
    size_t bytes = (size_t)GC_BARRIER_COUNT * FORMS * GC_EMIT_BYTES_MAX;
    mprotect(code, bytes, PROT_READ | PROT_WRITE);
    for (int b = 0; b < GC_BARRIER_COUNT; b++)
        for (int f = 0; f < FORMS; f++) {
            gc_barrier_code info;
            if (forms[f].emits >= 0)
                gc_barrier_emit(&info, code + (b * FORMS + f) * GC_EMIT_BYTES_MAX, GC_EMIT_BYTES_MAX, (gc_barrier)b,
                                (unsigned)forms[f].emits, &tables[b]);
        }
    mprotect(code, bytes, PROT_READ | PROT_EXEC);
}

/* Makes what barriers mark clean or dirty, for a window of the heap. */
static void set_marks(const test_case *c, int value) {
    const gc_barrier_tables *t = &tables[0];
    uintptr_t at = (uintptr_t)(c->slot == YOUNG ? heap + HEAP_BYTES / 2 : heap);
    memset(t->cards + (at >> GC_CARD_BYTE_SHIFT), value, c->window >> GC_CARD_BYTE_SHIFT);
    if (GC_BUNDLE_SHIFT) memset(t->bundles + (at >> GC_BUNDLE_SHIFT), value, (c->window >> GC_BUNDLE_SHIFT) + 1);
    memset(t->watch + (at >> GC_WATCH_SHIFT), value, c->window >> GC_WATCH_SHIFT);
    memset(t->log_bits + (at >> 6), value, c->window >> 6);
    log_.next = (uintptr_t)log_buffer;
    log_.limit = (uintptr_t)(log_buffer + STORES);
}

static void begin_case(const test_case *c) {
    random_state = 0x9E3779B97F4A7C15u; /* the same stores in each repetition */
    choose_ages(c);
    choose_ranges(c);
    choose_stores(c);
    emit_all();
    set_marks(c, c->clean ? 0 : GC_CARD_DIRTY);
}

/* Measuring. */

static any_function *function_of(int b, int f) {
    if (forms[f].emits < 0) return (any_function *)gc_barrier_functions_of((gc_barrier)b)->store;
    any_function *function;
    void *at = code + (b * FORMS + f) * GC_EMIT_BYTES_MAX;
    memcpy(&function, &at, sizeof function);
    return function;
}

/* A busy neighbour on the same core makes a sample up to twice as slow, and not all barriers alike. So a loop of additions
   is timed around each sample, and if it took longer than when the core was quiet, the sample is taken again; but in all
   no more than DISTURBED_NS_MAX are spent so. */
#define DISTURBED_NS_MAX 60e9
static double quiet_ns = 1e18, disturbed_ns;

static bool is_quiet(void) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    double start = now_ns();
    for (int i = 0; i < 2000; i++)
        __asm__ volatile("addq $1, %0\n\taddq $1, %1\n\taddq $1, %2\n\taddq $1, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    double ns = now_ns() - start;
    if (ns < quiet_ns) quiet_ns = ns;
    return ns < quiet_ns * 1.2;
}

/* ns per store. Timed are only the loops; where cards must be clean, each over one chunk, and cleaning is not timed. The
   first pass, which is not timed either, fetches code and tables. */
static double sample_once(const test_case *c, int b, int f) {
    loop_function *loop = loops[b][f];
    any_function *function = function_of(b, f);
    size_t count = c->clean ? CHUNK : STORES;
    double sum = 0;
    for (int pass = 0; pass <= PASSES; pass++)
        for (size_t at = 0; at < STORES; at += count) {
            if (c->clean) set_marks(c, 0);
            double start = now_ns();
            loop(&tables[b], slots + at, refs + at, count, function);
            if (pass) sum += now_ns() - start - clock_overhead_ns;
        }
    return sum / ((double)PASSES * STORES);
}

static double sample(const test_case *c, int b, int f) {
    for (;;) {
        double start = now_ns(), ns = 0;
        bool quiet = is_quiet() || disturbed_ns > DISTURBED_NS_MAX;
        if (quiet) ns = sample_once(c, b, f);
        if (quiet && (is_quiet() || disturbed_ns > DISTURBED_NS_MAX)) return ns;
        if (!quiet) nanosleep(&(struct timespec){0, 1000000}, NULL);
        disturbed_ns += now_ns() - start;
    }
}

static double steps(const test_case *c, int b, int f, size_t count) {
    if (c->clean) set_marks(c, 0);
    single_step_begin();
    loops[b][f](&tables[b], slots, refs, count, function_of(b, f));
    return (double)single_step_end();
}

/* Instructions per turn of the loop, by the difference of two lengths, which takes out what is beside the loop. */
static double steps_each(const test_case *c, int b, int f) {
    size_t few = COPY_WORDS, many = few + (c->ref == MIX ? 8 : 2) * COPY_WORDS;
    return (steps(c, b, f, many) - steps(c, b, f, few)) / (double)(many - few);
}

/* Results. */

typedef struct result {
    double ns, spread, ratio; /* ratio: to the plain store */
    char instructions[16];    /* "-": unknown */
} result;

static double samples[CASES][GC_BARRIER_COUNT][FORMS][REPS_MAX];

static struct {
    bool tsv;
    size_t reps;
    const char *only;
} options = {false, REPS_DEFAULT, ""};

/* Whether a row is wanted; plain stores are measured also where only others are. */
static bool shown(const test_case *c, int b, int f) {
    char text[128];
    snprintf(text, sizeof text, "%s %s %s", gc_barrier_name((gc_barrier)b), forms[f].name, c->name);
    return (forms[f].everywhere || c->all_forms) && strstr(text, options.only);
}

static bool any_shown(const test_case *c, int f) {
    for (int b = 0; b < GC_BARRIER_COUNT; b++)
        if (shown(c, b, f)) return true;
    return false;
}

static bool any_form_shown(const test_case *c, int first, int end) {
    for (int f = first; f < end; f++)
        if (any_shown(c, f)) return true;
    return false;
}

static bool measured(const test_case *c, int b, int f) {
    return shown(c, b, f) || (b == GC_BARRIER_NONE && any_shown(c, f));
}

static result summarize(const double *values, const double *plain, size_t count) {
    double sorted[REPS_MAX], ratios[REPS_MAX];
    for (size_t i = 0; i < count; i++) ratios[i] = values[i] / plain[i];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    qsort(ratios, count, sizeof *ratios, by_value);
    return (result){sorted[count / 2], sorted[count * 3 / 4] - sorted[count / 4], ratios[count / 2], "-"};
}

/* Counted is what is beside the loop around a plain store: for a call also the call, the return and the arguments. A copy
   is a loop itself, so all of it counts. */
static void count_instructions(const test_case *c, result results[GC_BARRIER_COUNT][FORMS]) {
    if (!single_step_available()) return;
    double loop_overhead = steps_each(c, GC_BARRIER_NONE, INLINE) - 1;
    for (int b = 0; b < GC_BARRIER_COUNT; b++)
        for (int f = 0; f < FORMS; f++)
            if (shown(c, b, f))
                snprintf(results[b][f].instructions, sizeof results[b][f].instructions, "%.1f",
                         steps_each(c, b, f) - (f == INLINE_COPY || f == EMITTED_COPY ? 0 : loop_overhead));
}

/* All repetitions of all cases; a case that is begun again is what it was before. */
static void measure(void) {
    for (size_t rep = 0; rep < options.reps; rep++)
        for (int i = 0; i < CASES; i++) {
            if (!any_form_shown(&cases[i], 0, FORMS)) continue;
            begin_case(&cases[i]);
            for (int f = 0; f < FORMS; f++)
                for (int b = 0; b < GC_BARRIER_COUNT; b++)
                    if (measured(&cases[i], b, f)) samples[i][b][f][rep] = sample(&cases[i], b, f);
        }
}

static void summarize_case(int i, result results[GC_BARRIER_COUNT][FORMS]) {
    begin_case(&cases[i]);
    for (int b = 0; b < GC_BARRIER_COUNT; b++)
        for (int f = 0; f < FORMS; f++)
            if (shown(&cases[i], b, f))
                results[b][f] = summarize(samples[i][b][f], samples[i][GC_BARRIER_NONE][f], options.reps);
    count_instructions(&cases[i], results);
}

static void print_rows(const test_case *c, result results[GC_BARRIER_COUNT][FORMS]) {
    for (int b = 0; b < GC_BARRIER_COUNT; b++)
        for (int f = 0; f < FORMS; f++) {
            const result *r = &results[b][f];
            if (shown(c, b, f))
                printf("%s\t%s\t%s\t%.3f\t%.3f\t%s\n", gc_barrier_name((gc_barrier)b), forms[f].name, c->name, r->ns,
                       r->spread, r->instructions);
        }
}

/* The forms [first, end) side by side. */
static void print_block(const test_case *c, result results[GC_BARRIER_COUNT][FORMS], int first, int end) {
    printf("\n%-24s", c->name);
    for (int f = first; f < end; f++)
        if (any_shown(c, f)) printf("  | %-25s", forms[f].name);
    printf("\n%-24s", "");
    for (int f = first; f < end; f++)
        if (any_shown(c, f)) printf("  | %6s %5s %6s %5s", "ns", "+-", "ratio", "instr");
    putchar('\n');
    for (int b = 0; b < GC_BARRIER_COUNT; b++) {
        bool any = false;
        for (int f = first; f < end; f++) any |= shown(c, b, f);
        if (!any) continue;
        printf("%-24s", gc_barrier_name((gc_barrier)b));
        for (int f = first; f < end; f++) {
            const result *r = &results[b][f];
            if (shown(c, b, f))
                printf("  | %6.2f %5.2f %5.2fx %5s", r->ns, r->spread, r->ratio, r->instructions);
            else if (any_shown(c, f))
                printf("  | %-25s", "");
        }
        putchar('\n');
    }
}

static void print_tables(const test_case *c, result results[GC_BARRIER_COUNT][FORMS]) {
    static const int bounds[] = {INLINE, INLINE_CHECKED, INLINE_ASSIGN, FORMS};
    for (int i = 0; i < 3; i++)
        if (any_form_shown(c, bounds[i], bounds[i + 1])) print_block(c, results, bounds[i], bounds[i + 1]);
}

/* The command line. */

static void print_usage(FILE *file) {
    fputs("usage: barriers [--tsv] [--reps=N] [--only=SUBSTRING]\n"
          "  --tsv     rows for programs instead of tables\n"
          "  --reps=N  repetitions, of which medians are reported: 1 to 999\n"
          "  --only=S  only rows of which \"variant form case\" contains S\n",
          file);
}

static void parse(const char *text) {
    char *end = NULL;
    if (strcmp(text, "--tsv") == 0) {
        options.tsv = true;
    } else if (strncmp(text, "--only=", 7) == 0) {
        options.only = text + 7;
    } else if (strncmp(text, "--reps=", 7) == 0) {
        options.reps = strtoul(text + 7, &end, 10);
        if (*end || text[7] < '0' || text[7] > '9' || options.reps < 1 || options.reps > REPS_MAX) {
            fprintf(stderr, "barriers: --reps must be 1 to %d, not '%s'\n", REPS_MAX, text + 7);
            exit(2);
        }
    } else if (strcmp(text, "--help") == 0) {
        print_usage(stdout);
        exit(0);
    } else {
        fprintf(stderr, "barriers: unknown option '%s'\n", text);
        print_usage(stderr);
        exit(2);
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) parse(argv[i]);
    bool any = false;
    for (int i = 0; i < CASES; i++) any |= any_form_shown(&cases[i], 0, FORMS);
    if (!any) {
        fprintf(stderr, "barriers: no \"variant form case\" contains '%s'\n", options.only);
        return 2;
    }
    set_up();
    for (int i = 0; i < 1000; i++) (void)is_quiet();
    measure();
    if (disturbed_ns > DISTURBED_NS_MAX)
        fputs("barriers: the core was hardly ever quiet; the results are disturbed by what else runs on it\n", stderr);
    puts(options.tsv
             ? "variant\tform\tcase\tns_per_store\tspread\tinstructions"
             : "Per store: median ns, interquartile range, ratio to the plain store in the same form, instructions.");
    for (int i = 0; i < CASES; i++) {
        static result results[GC_BARRIER_COUNT][FORMS];
        if (!any_form_shown(&cases[i], 0, FORMS)) continue;
        summarize_case(i, results);
        (options.tsv ? print_rows : print_tables)(&cases[i], results);
    }
    return fflush(stdout) ? 1 : 0;
}
