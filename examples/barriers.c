/* The write barriers without the collector: gc_barrier_x86_64.h alone, over tables of our own.

   A toy heap of two regions, the first old and the second young. Some barriers store the same references; the cards that
   each dirties are printed. Then the same by machine code, as a JIT compiler would use it. */
#define _GNU_SOURCE
#include "gc_barrier_x86_64.h"

#include <stdio.h>
#include <sys/mman.h>

static gc_barrier_tables tables;
static uint8_t *cards, *bundles;
static char *heap; /* region 0 is old (generation 2), region 1 young (generation 0) */
static void *outside;

static char *reserve(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static uint8_t *bias(uint8_t *table, int shift) { return (uint8_t *)((uintptr_t)table - ((uintptr_t)heap >> shift)); }

static int set_up(void) {
    /* The rank tables cover the whole address space: what no heap owns is 0, so that any slot and any reference can be asked
       about. They take memory only where they are touched. */
    uint8_t *ranks = (uint8_t *)reserve(2 * GC_RANK_ENTRIES);
    char *space = reserve(3 * GC_REGION_BYTES);
    cards = (uint8_t *)reserve(2 * GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT);
    bundles = (uint8_t *)reserve(4096);
    if (!ranks || !space || !cards || !bundles) return 0;
    heap = (char *)(((uintptr_t)space + GC_REGION_BYTES - 1) & ~(GC_REGION_BYTES - 1));
    size_t first = (uintptr_t)heap >> GC_REGION_SHIFT;
    tables.age = ranks + GC_RANK_ENTRIES;
    tables.age[first] = 2;
    ranks[first + 1] = 2; /* youth of generation 0 */
    tables.cards = bias(cards, GC_CARD_BYTE_SHIFT);
    tables.bundles = bias(bundles, GC_BUNDLE_SHIFT);
    tables.lowest = (uintptr_t)heap;
    tables.highest = (uintptr_t)heap + 2 * GC_REGION_BYTES;
    tables.low = (uintptr_t)heap + GC_REGION_BYTES; /* what is younger lies in [low, high) */
    tables.high = tables.highest;
    return 1;
}

/* A heap has one barrier, so a real program names it: gc_barrier_store_rank_sum(&tables, slot, ref) is inlined, without a
   call. To compare them all, this calls each. */
static void show(const char *how, const char *name, void (*store)(void *slot, void *ref)) {
    void *old = heap, *young = heap + GC_REGION_BYTES;
    void **slots[] = {(void **)heap + 1, (void **)heap + 1001, (void **)young + 1, &outside};
    void *refs[] = {young, old, young, young};
    static const char *const stores[] = {"old<-young", "old<-old", "young<-young", "outside<-young"};
    printf("%-9s %-22s", how, name);
    for (int i = 0; i < 4; i++) {
        memset(cards, 0, 2 * GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT);
        memset(bundles, 0, 4096);
        store(slots[i], refs[i]);
        int dirty = 0;
        for (size_t c = 0; c < 2 * GC_REGION_BYTES >> GC_CARD_BYTE_SHIFT; c++) dirty += cards[c] != 0;
        printf(" %s:%s", stores[i], *slots[i] != refs[i] ? "lost" : dirty ? "card" : "-");
    }
    printf("\n");
}

static gc_barrier chosen;
static void call(void *slot, void *ref) { gc_barrier_functions_of(chosen)->checked(&tables, slot, ref); }

static void *code;
static void jump(void *slot, void *ref) { ((void (*)(void *, void *))(uintptr_t)code)(slot, ref); }

int main(void) {
    static const gc_barrier barriers[] = {GC_BARRIER_RANK_SUM, GC_BARRIER_RANK_SUM_BRANCH_FREE, GC_BARRIER_CARD_CONDITIONAL,
                                          GC_BARRIER_POST_GROW, GC_BARRIER_BIT_REGION};
    if (!set_up()) return 1;
    for (size_t i = 0; i < sizeof barriers / sizeof *barriers; i++) {
        chosen = barriers[i];
        show("function", gc_barrier_name(chosen), call);
    }
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 1;
    for (size_t i = 0; GC_HAS_EMIT && i < sizeof barriers / sizeof *barriers; i++) {
        gc_barrier_code emitted;
        mprotect(code, 4096, PROT_READ | PROT_WRITE);
        if (!gc_barrier_emit(&emitted, code, 4096, barriers[i], GC_EMIT_CHECKED, &tables)) return 1;
        mprotect(code, 4096, PROT_READ | PROT_EXEC);
#if defined(__x86_64__)
        show("emitted", gc_barrier_name(barriers[i]), jump);
#else
        (void)jump;
#endif
    }
    return 0;
}
