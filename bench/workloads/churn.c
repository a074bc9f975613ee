/* A hash table under churn: of 2 N keys a random one is inserted with a value of 16 to 208 bytes, or removed if it is there;
   M times. */
#include "workload.h"

#include <inttypes.h>
#include <string.h>

typedef struct entry {
    MM_HEADER
    struct entry *next;
    mm_bytes *value;
    uint64_t key, value_bytes;
} entry;
MM_TYPE(entry, next, value);

static void insert(mm *mm, mm_refs **table, uint64_t bucket, uint64_t key, uint64_t x) {
    size_t bytes = 16 + x % 25 * 8;
    mm_bytes *value = mm_new_bytes(mm, bytes);
    memset(mm_bytes_at(value), (int)(key & 255), bytes);
    MM_ROOTS(mm, value);
    entry *e = MM_NEW(mm, entry);
    e->next = mm_refs_at(*table)[bucket];
    e->value = value;
    e->key = key;
    e->value_bytes = bytes;
    MM_STORE(mm, &mm_refs_at(*table)[bucket], e);
}

/* Removes the key; false if it is not there. */
static bool remove_key(mm *mm, mm_refs *table, uint64_t bucket, uint64_t key) {
    entry *before = NULL, *e = mm_refs_at(table)[bucket];
    for (; e && e->key != key; e = e->next) before = e;
    if (!e) return false;
    if (before)
        MM_STORE(mm, &before->next, e->next);
    else
        MM_STORE(mm, &mm_refs_at(table)[bucket], e->next);
    mm_free(mm, e->value);
    mm_free(mm, e);
    return true;
}

static uint64_t checksum(mm_refs *table, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t bucket = 0; bucket < n; bucket++)
        for (const entry *e = mm_refs_at(table)[bucket]; e; e = e->next)
            sum = sum * 31 + e->key + ((const unsigned char *)mm_bytes_at(e->value))[e->value_bytes - 1];
    return sum;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    uint64_t n = args[0], m = args[1], state = RANDOM_SEED;
    mm_refs *table = NULL;
    MM_ROOTS(mm, table);
    table = mm_new_refs(mm, n);
    for (uint64_t i = 0; i < m; i++) {
        uint64_t x = next_random(&state);
        uint64_t key = x % (2 * n), bucket = key * UINT64_C(0x9E3779B97F4A7C15) % n;
        if (!remove_key(mm, table, bucket, key)) insert(mm, &table, bucket, key, x >> 40);
        step();
    }
    set_check(result, "%016" PRIx64, checksum(table, n));
    say(result, "churn checksum %s\n", result->check);
    for (uint64_t bucket = 0; MM_MANUAL && bucket < n; bucket++)
        for (entry *e; (e = mm_refs_at(table)[bucket]);) remove_key(mm, table, bucket, e->key);
    mm_free(mm, table);
}

const workload churn_workload = {"churn", {{"N", 1, UINT64_C(1) << 32, 0}, {"M", 0, UINT64_C(1) << 48, 0}}, run};
