#include "objects.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MAX ((uint64_t)1 << 18)
#define RANK_WORDS 4
#define RANK_BYTES (RANK_WORDS * 64 * 8) /* of the heap, for each entry of `ranks` */

static size_t rank_count(const object_range *range) { return (size_t)((range->last - range->base) / RANK_BYTES + 1); }

bool objects_add_range(object_set *set, uint64_t base, uint64_t end, bool single) {
    if (base & 7 || end <= base) return false;
    set->ranges = memory_grow(set->ranges, set->count, &set->capacity, sizeof *set->ranges, "ranges");
    object_range *range = &set->ranges[set->count++];
    *range = (object_range){.base = base, .end = end, .last = single ? base : end - 1};
    return true;
}

static int by_base(const void *a, const void *b) {
    const object_range *x = a, *y = b;
    return (x->base > y->base) - (x->base < y->base);
}

static size_t drop_overlapping(object_set *set) {
    size_t kept = 0, count = set->count;
    for (size_t i = 0; i < count; i++)
        if (!kept || set->ranges[i].base >= set->ranges[kept - 1].end) set->ranges[kept++] = set->ranges[i];
    set->count = kept;
    return count - kept;
}

size_t objects_sort(object_set *set) {
    if (!set->count) return 0;
    qsort(set->ranges, set->count, sizeof *set->ranges, by_base);
    size_t dropped = drop_overlapping(set);
    for (size_t i = 0; i < set->count; i++) {
        set->ranges[i].starts = memory_zeroed(rank_count(&set->ranges[i]) * RANK_WORDS, 8, "starts of objects");
        set->ranges[i].ranks = memory_zeroed(rank_count(&set->ranges[i]), 4, "ranks of objects");
    }
    set->low = set->ranges[0].base;
    set->high = set->ranges[set->count - 1].end;
    uint64_t smallest = UINT64_MAX;
    for (size_t i = 0; i < set->count; i++)
        if (set->ranges[i].end - set->ranges[i].base < smallest) smallest = set->ranges[i].end - set->ranges[i].base;
    set->bucket_shift = 63 - (unsigned)__builtin_clzll(smallest); /* so that one or two ranges begin in a bucket */
    while ((set->high - set->low) >> set->bucket_shift >= BUCKETS_MAX) set->bucket_shift++;
    size_t buckets = (size_t)((set->high - set->low) >> set->bucket_shift) + 1, range = 0;
    set->buckets = memory_take(buckets, 4, "buckets");
    for (size_t i = 0; i < buckets; i++) {
        uint64_t at = set->low + ((uint64_t)i << set->bucket_shift);
        while (range + 1 < set->count && set->ranges[range].end <= at) range++;
        set->buckets[i] = (uint32_t)range;
    }
    return dropped;
}

/* The range of the address, or NULL. */
static object_range *range_of(const object_set *set, uint64_t address) {
    if (address - set->low >= set->high - set->low) return NULL;
    object_range *range = &set->ranges[set->buckets[(address - set->low) >> set->bucket_shift]];
    while (address >= range->end) range++; /* ends: the last range ends at `high` */
    return address >= range->base ? range : NULL;
}

bool objects_add(object_set *set, uint64_t address) {
    object_range *range = range_of(set, address);
    if (!range || address & 7 || address > range->last) return false;
    uint64_t bit = (address - range->base) / 8;
    range->starts[bit / 64] |= UINT64_C(1) << bit % 64;
    return true;
}

void objects_number(object_set *set) {
    uint64_t number = 0;
    for (size_t i = 0; i < set->count; i++) {
        object_range *range = &set->ranges[i];
        range->first = (uint32_t)number;
        for (size_t rank = 0; rank < rank_count(range); rank++) {
            range->ranks[rank] = (uint32_t)number;
            for (size_t word = 0; word < RANK_WORDS; word++)
                number += bits_count(range->starts[rank * RANK_WORDS + word]);
        }
        if (number >= OBJECT_NONE - 1) die("the heap has more than %u objects, which is too many", OBJECT_NONE - 2);
    }
    set->objects = (uint32_t)number;
}

static uint32_t number_at(const object_range *range, uint64_t bit) {
    size_t rank = (size_t)(bit / 64 / RANK_WORDS), word = rank * RANK_WORDS;
    uint32_t number = range->ranks[rank];
    for (; word < bit / 64; word++) number += bits_count(range->starts[word]);
    return number + bits_count(range->starts[word] & ((UINT64_C(1) << bit % 64) - 1));
}

size_t objects_range(const object_set *set, uint64_t address) {
    const object_range *range = range_of(set, address);
    return range ? (size_t)(range - set->ranges) : SIZE_MAX;
}

void objects_prefetch(const object_set *set, uint64_t address) {
    const object_range *range = range_of(set, address);
    if (!range || address > range->last) return;
    uint64_t word = (address - range->base) / 512;
    __builtin_prefetch(&range->starts[word]);
    __builtin_prefetch(&range->ranks[word / RANK_WORDS]);
}

uint32_t objects_find(const object_set *set, uint64_t address) {
    const object_range *range = address & 7 ? NULL : range_of(set, address);
    if (!range || address > range->last) return OBJECT_NONE;
    uint64_t bit = (address - range->base) / 8;
    return range->starts[bit / 64] >> bit % 64 & 1 ? number_at(range, bit) : OBJECT_NONE;
}

uint32_t objects_before(const object_set *set, uint64_t address) {
    const object_range *range = range_of(set, address);
    if (!range) return OBJECT_NONE;
    uint64_t bit = ((address < range->last ? address : range->last) - range->base) / 8;
    uint32_t before = number_at(range, bit) + (uint32_t)(range->starts[bit / 64] >> bit % 64 & 1);
    return before > range->first ? before - 1 : OBJECT_NONE;
}

/* The last entry in which objects begin at or before the number. */
static size_t rank_of(const object_range *range, uint32_t number) {
    size_t low = 0, high = rank_count(range);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (range->ranks[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint64_t objects_address(const object_set *set, uint32_t number) {
    size_t low = 0, high = set->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    const object_range *range = &set->ranges[low];
    size_t rank = rank_of(range, number), word = rank * RANK_WORDS;
    uint32_t left = number - range->ranks[rank];
    for (;; word++) {
        uint32_t here = bits_count(range->starts[word]);
        if (left < here) break;
        left -= here;
    }
    uint64_t bits = range->starts[word];
    while (left--) bits &= bits - 1;
    return range->base + ((uint64_t)word * 64 + (unsigned)__builtin_ctzll(bits)) * 8;
}

void objects_free(object_set *set) {
    for (size_t i = 0; i < set->count; i++) free(set->ranges[i].starts), free(set->ranges[i].ranks);
    free(set->ranges), free(set->buckets);
    memset(set, 0, sizeof *set);
}
