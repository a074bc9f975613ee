/* The set of all objects: a bit for each 8 bytes of the regions, set where an object begins, and the number of bits before
   each 256. So an object has a number, by which other tables are indexed, and neither its address nor its number is stored:
   one follows from the other. The set takes 1/57 of the regions' bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_NONE UINT32_MAX

/* How many bits are 1. Processors differ in what they have for it, so the compiler's function would be a call. */
static inline uint32_t bits_count(uint64_t word) {
    word -= word >> 1 & 0x5555555555555555;
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
    return (uint32_t)(((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101 >> 56);
}

typedef struct object_range {
    uint64_t base, end; /* ranges ascend and do not overlap */
    uint64_t last;      /* beyond it no object begins, and there are no bits: in a range of one object, `base` */
    uint64_t *starts;
    uint32_t *ranks; /* of each 4 words of `starts`: the number of the first object in them */
    uint32_t first;  /* the number of the first object in the range */
} object_range;

typedef struct object_set {
    object_range *ranges;
    size_t count, capacity;
    uint32_t objects;
    uint32_t *buckets; /* the range in which a bucket of addresses begins, or the next one */
    uint64_t low, high;
    unsigned bucket_shift;
} object_set;

/* Adds a range, in any order; `single`: at most one object is in it, at its base. False: it is empty, or its base is not a
   multiple of 8. */
bool objects_add_range(object_set *set, uint64_t base, uint64_t end, bool single);
/* Call it after the last range, before the first object. Returns how many ranges it has dropped, since they overlap others. */
size_t objects_sort(object_set *set);
/* Adds an object. False: the address is in no range, or is none of an object. */
bool objects_add(object_set *set, uint64_t address);
/* Gives objects their numbers, by ascending addresses. */
void objects_number(object_set *set);
/* The object that begins at the address; OBJECT_NONE: none does. */
uint32_t objects_find(const object_set *set, uint64_t address);
/* Which range, in ascending order, has the address; SIZE_MAX: none. */
size_t objects_range(const object_set *set, uint64_t address);
/* Has the memory fetched that objects_find will read for the address. */
void objects_prefetch(const object_set *set, uint64_t address);
/* The last object that begins at or before the address in the address's range; OBJECT_NONE: none does. */
uint32_t objects_before(const object_set *set, uint64_t address);
uint64_t objects_address(const object_set *set, uint32_t number);
void objects_free(object_set *set);
