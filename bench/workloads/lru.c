/* A cache with random replacement: a table of N references of which a random one is replaced M times. */
#include "workload.h"

#include <inttypes.h>

typedef struct item {
    MM_HEADER
    void *a, *b;
    uint64_t words[4];
} item;
MM_TYPE(item, a, b);

static void replace(mm *mm, mm_refs **table, uint64_t slot, uint64_t x, uint64_t i) {
    item *new_item = MM_NEW(mm, item);
    MM_CLEAR(&new_item->a);
    MM_CLEAR(&new_item->b);
    new_item->words[0] = x;
    new_item->words[1] = i;
    new_item->words[2] = slot;
    new_item->words[3] = x ^ i;
    void **place = &mm_refs_at(*table)[slot];
    mm_free(mm, *place);
    MM_STORE(mm, place, new_item);
}

static uint64_t checksum(mm_refs *table, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t slot = 0; slot < n; slot++) {
        const item *it = mm_refs_at(table)[slot];
        if (it) sum = sum * 31 + (it->words[0] + 3 * it->words[1] + 5 * it->words[2] + 7 * it->words[3]);
    }
    return sum;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    uint64_t n = args[0], m = args[1], state = RANDOM_SEED;
    mm_refs *table = NULL;
    MM_ROOTS(mm, table);
    table = mm_new_refs(mm, n);
    for (uint64_t i = 0; i < m; i++) {
        uint64_t x = next_random(&state);
        replace(mm, &table, x % n, x, i);
        step();
    }
    set_check(result, "%016" PRIx64, checksum(table, n));
    say(result, "lru checksum %s\n", result->check);
    for (uint64_t slot = 0; MM_MANUAL && slot < n; slot++) mm_free(mm, mm_refs_at(table)[slot]);
    mm_free(mm, table);
}

const workload lru_workload = {"lru", {{"N", 1, UINT64_C(1) << 32, 0}, {"M", 0, UINT64_C(1) << 48, 0}}, run};
