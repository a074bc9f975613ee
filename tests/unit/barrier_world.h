/* An address space for the barriers: a small arena of regions with ages, slots outside it, and every table twice, once for
   the barrier and once for what is expected. Whatever no test needs is inaccessible, so that a stray access faults. */
#pragma once

#include "gc_barrier_x86_64.h"
#include "../tap.h"

#include <signal.h>
#include <setjmp.h>
#include <sys/mman.h>

enum { FREE, GEN0, GEN1, GEN2, LARGE, LARGE_TAIL, OTHER0, OTHER1, OTHER2, FREE_TAIL, REGIONS };
enum { RUN = 5 };
#define PAGE_BYTES ((uintptr_t)sysconf(_SC_PAGESIZE))

/* Indexed by address >> shift from a base. The slots themselves are a table of bytes from address 0. */
typedef struct table_pair {
    const char *name;
    uintptr_t base, expected;
    int shift;
} table_pair;

enum { SLOTS, CARDS, BUNDLES, WATCH, LOG_BITS, TABLES };
static table_pair table[TABLES];
static gc_barrier_tables tables;
static uint8_t *ranks;
static bool marking; /* generation 2 has age 3 */
static uintptr_t arena;

enum { LOG_WORDS = 64 };
static gc_barrier_log object_log, expected_log;
static gc_word log_words[LOG_WORDS + 2], expected_log_words[LOG_WORDS + 2];

/* Memory that a barrier may or may not write. */
typedef struct watched {
    const char *name;
    uintptr_t at, expected;
    size_t bytes;
} watched;

static watched all_watched[2048];
static size_t watched_count;

static inline uintptr_t entry(const table_pair *t, uintptr_t address) { return t->base + (address >> t->shift); }
static inline uintptr_t expected_entry(const table_pair *t, uintptr_t address) {
    return t->expected + (address >> t->shift);
}
static inline bool has_table(int index) { return index == SLOTS || table[index].shift; } /* bundles may be absent */
static inline uintptr_t region(int index) { return arena + (uintptr_t)index * GC_REGION_BYTES; }

static inline int generation_of_region(int index) {
    static const signed char generations[REGIONS] = {-1, 0, 1, 2, 2, 2, 0, 1, 2, -1};
    return generations[index];
}

/* -1: no heap there. */
static inline int generation_at(uintptr_t address) {
    return address < arena || address >= region(REGIONS)
               ? -1
               : generation_of_region((int)((address - arena) / GC_REGION_BYTES));
}

/* Only one of the two heaps is being marked. */
static inline int age_at(uintptr_t address) {
    int generation = generation_at(address);
    return generation < 0 ? 0 : generation == 2 && marking && address < region(OTHER0) ? 3 : generation;
}

static inline int youth_at(uintptr_t address) { return generation_at(address) < 0 ? 0 : 2 - generation_at(address); }

static inline void *reserve(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        printf("1..0 # skip no address space for the tables\n");
        exit(0);
    }
    return at;
}

static inline void protect(uintptr_t at, size_t bytes, int protection) {
    if (mprotect((void *)at, bytes, protection) != 0) {
        perror("mprotect");
        exit(2);
    }
}

static inline void watch_memory(const char *name, const void *at, const void *expected, size_t bytes) {
    watched w = {name, (uintptr_t)at, (uintptr_t)expected, bytes};
    if (watched_count == sizeof all_watched / sizeof *all_watched) abort();
    all_watched[watched_count++] = w;
}

/* Makes the entries of addresses from first to last accessible, and some beside them. */
static inline void open_entries(const table_pair *t, uintptr_t first, uintptr_t last) {
    uintptr_t from = (entry(t, first) - 64) & ~(uintptr_t)(PAGE_BYTES - 1), to = entry(t, last) + 64;
    for (uintptr_t page = from; page < to; page += PAGE_BYTES) {
        bool known = false;
        for (size_t i = 0; i < watched_count; i++) known |= all_watched[i].at == page;
        if (known) continue;
        uintptr_t expected = page - t->base + t->expected;
        protect(page, PAGE_BYTES, PROT_READ | PROT_WRITE);
        protect(expected, PAGE_BYTES, PROT_READ | PROT_WRITE);
        watch_memory(t->name, (void *)page, (void *)expected, PAGE_BYTES);
    }
}

/* Where the expected memory differs; NULL if nowhere. */
static inline const watched *difference(const watched *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp((void *)list[i].at, (void *)list[i].expected, list[i].bytes) != 0) return &list[i];
    return NULL;
}

static inline void show_difference(const watched *w) {
    const uint8_t *at = (const uint8_t *)w->at, *expected = (const uint8_t *)w->expected;
    size_t i = 0;
    while (at[i] == expected[i]) i++;
    diag("  %s at %p: %#x, expected %#x", w->name, (const void *)(at + i), at[i], expected[i]);
}

/* Makes the expected memory what there is. */
static inline void accept_all(void) {
    for (size_t i = 0; i < watched_count; i++)
        memcpy((void *)all_watched[i].expected, (void *)all_watched[i].at, all_watched[i].bytes);
}

/* A destination: a slot, and words around it for copies. */
typedef struct site {
    const char *name;
    uintptr_t slot, run, last; /* words run..last are one object's */
    uintptr_t delta;           /* from the words to those expected */
    bool in_arena;
    watched spans[TABLES]; /* what lies near the words and their entries */
    size_t span_count;
} site;

static inline gc_word *expected_word(const site *s, uintptr_t slot) { return (gc_word *)(slot + s->delta); }

/* A site in the arena with all of its entries. */
static inline site arena_site(const char *name, uintptr_t slot, uintptr_t run, size_t words) {
    site s = {name, slot, run, run + 8 * (words - 1), table[SLOTS].expected, true, {{NULL, 0, 0, 0}}, 0};
    for (int i = 0; i < TABLES; i++) {
        if (!has_table(i)) continue;
        open_entries(&table[i], s.run, s.last + 7);
        uintptr_t from = (entry(&table[i], s.run) & ~(uintptr_t)7) - 16, to = entry(&table[i], s.last + 7) + 16;
        watched span = {table[i].name, from, from - table[i].base + table[i].expected, to - from};
        s.spans[s.span_count++] = span;
    }
    return s;
}

/* A site elsewhere: RUN words in the middle of RUN + 4, which have no entries. */
static inline site outside_site(const char *name, gc_word *words, gc_word *expected) {
    uintptr_t run = (uintptr_t)(words + 2);
    site s = {name,  run + 8,           run, run + 8 * (RUN - 1), (uintptr_t)expected - (uintptr_t)words,
              false, {{NULL, 0, 0, 0}}, 0};
    watched span = {"slots", (uintptr_t)words, (uintptr_t)expected, (RUN + 4) * sizeof *words};
    s.spans[s.span_count++] = span;
    watch_memory("slots", words, expected, span.bytes);
    return s;
}

static inline void set_marking(bool on) {
    marking = on;
    protect((uintptr_t)ranks, 2 * GC_RANK_ENTRIES, PROT_READ | PROT_WRITE);
    for (int i = 0; i < REGIONS; i++) {
        size_t index = region(i) >> GC_REGION_SHIFT;
        ranks[GC_RANK_ENTRIES + index] = (uint8_t)age_at(region(i));
        ranks[index] = (uint8_t)youth_at(region(i));
    }
    protect((uintptr_t)ranks, 2 * GC_RANK_ENTRIES, PROT_READ);
}

static inline void set_log(size_t words_left) {
    object_log.limit = (uintptr_t)(log_words + LOG_WORDS);
    object_log.next = object_log.limit - words_left * 8;
    expected_log = object_log;
}

/* An emulator takes time for each page of address space: there, a table has only the entries of the arena and what is beside it. */
static inline void make_table(int index, const char *name, int shift) {
#ifdef __x86_64__
    size_t bytes = (size_t)1 << (GC_ADDRESS_BITS - shift);
    uintptr_t bias = 0;
#else
    size_t bytes = (((REGIONS + 2) * GC_REGION_BYTES) >> shift) + 4 * PAGE_BYTES;
    uintptr_t bias = (((arena - GC_REGION_BYTES) >> shift) & ~(uintptr_t)(PAGE_BYTES - 1)) - PAGE_BYTES;
#endif
    table_pair t = {name, (uintptr_t)reserve(bytes) - bias, (uintptr_t)reserve(bytes) - bias, shift};
    table[index] = t;
}

static inline void make_world(void) {
    uintptr_t space = (uintptr_t)reserve((REGIONS + 1) * GC_REGION_BYTES);
    arena = (space + GC_REGION_BYTES - 1) & ~(uintptr_t)(GC_REGION_BYTES - 1);
    table_pair slots = {"slots", 0, (uintptr_t)reserve(REGIONS * GC_REGION_BYTES) - arena, 0};
    table[SLOTS] = slots;
    make_table(CARDS, "cards", GC_CARD_SHIFT + (GC_CARD_BITS ? 3 : 0));
    if (GC_BUNDLE_SHIFT) make_table(BUNDLES, "bundles", GC_BUNDLE_SHIFT);
    make_table(WATCH, "watch", GC_WATCH_SHIFT);
    make_table(LOG_BITS, "log bits", 6);
    ranks = (uint8_t *)reserve(2 * GC_RANK_ENTRIES);
    set_marking(false);
    tables.age = ranks + GC_RANK_ENTRIES;
    tables.cards = (uint8_t *)table[CARDS].base;
    tables.bundles = (uint8_t *)(GC_BUNDLE_SHIFT ? table[BUNDLES].base : (uintptr_t)reserve(PAGE_BYTES));
    tables.watch = (uint8_t *)table[WATCH].base;
    tables.log_bits = (uint8_t *)table[LOG_BITS].base;
    tables.log = &object_log;
    set_log(LOG_WORDS);
    watch_memory("log", &object_log, &expected_log, sizeof object_log);
    watch_memory("log words", log_words, expected_log_words, sizeof log_words);
}

/* Faults of the code under test come back to the test. */

static sigjmp_buf fault_return;
static volatile sig_atomic_t fault_is_caught;
static volatile int fault_signal;
static volatile uintptr_t fault_address;

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)context;
    fault_signal = number;
    fault_address = (uintptr_t)info->si_addr;
    if (fault_is_caught) siglongjmp(fault_return, 1);
    signal(number, SIG_DFL);
}

static inline void catch_faults(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    for (int i = 0; i < 3; i++) sigaction(numbers[i], &action, NULL);
}

/* Runs body; whether it came through without a fault. */
static inline bool survives(void (*body)(void)) {
    bool whole = sigsetjmp(fault_return, 1) == 0;
    if (whole) {
        fault_is_caught = 1;
        body();
    }
    fault_is_caught = 0;
    return whole;
}
