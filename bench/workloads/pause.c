/* A ring of N references to byte arrays: M pushes, each timed, so that the longest shows what a user would wait. */
#include "workload.h"

#include <inttypes.h>
#include <string.h>

#define CHECKED_BYTE 512

static void push(mm *mm, mm_refs **ring, uint64_t slot, uint64_t i, size_t bytes) {
    mm_bytes *array = mm_new_bytes(mm, bytes);
    memset(mm_bytes_at(array), (int)(i & 255), bytes);
    void **place = &mm_refs_at(*ring)[slot];
    mm_free(mm, *place);
    MM_STORE(mm, place, array);
}

static uint64_t checksum(mm_refs *ring, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t slot = 0; slot < n; slot++) {
        mm_bytes *array = mm_refs_at(ring)[slot];
        if (array) sum = sum * 31 + ((const unsigned char *)mm_bytes_at(array))[CHECKED_BYTE];
    }
    return sum;
}

static void run(mm *mm, const uint64_t *args, workload_result *result) {
    static histogram pushes;
    uint64_t n = args[0], m = args[1], slot = 0;
    mm_refs *ring = NULL;
    MM_ROOTS(mm, ring);
    ring = mm_new_refs(mm, n);
    uint64_t before_ns = clock_ns();
    for (uint64_t i = 0; i < m; i++) {
        push(mm, &ring, slot, i, args[2]);
        if (++slot == n) slot = 0;
        uint64_t now_ns = clock_ns();
        histogram_add(&pushes, now_ns - before_ns);
        before_ns = now_ns;
    }
    result->pushes = &pushes;
    set_check(result, "%016" PRIx64, checksum(ring, n));
    say(result, "pause checksum %s\n", result->check);
    for (slot = 0; MM_MANUAL && slot < n; slot++) mm_free(mm, mm_refs_at(ring)[slot]);
    mm_free(mm, ring);
}

const workload pause_workload = {
    "pause",
    {{"N", 1, UINT64_C(1) << 32, 0}, {"M", 0, UINT64_C(1) << 48, 0}, {"BYTES", CHECKED_BYTE + 1, UINT64_C(1) << 30, 0}},
    run};
