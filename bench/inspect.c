/* A heap of 1 GB with 30 million objects, for gc-inspect: a hash table of records, each with a text, a number, and a reference to
   the group to which it belongs. `inspect [RECORDS]`; a record and what it has are three objects of 104 bytes together. With
   `tick` as the second argument it prints the longest time, in microseconds, that its loop has stood still. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct text {
    gc_array header;
    char characters[];
} text;

typedef struct number {
    gc_object header;
    double value;
} number;

typedef struct group {
    gc_object header;
    struct group *next;
    uint64_t id;
} group;

typedef struct record {
    gc_object header;
    struct record *next; /* in its bucket */
    text *name;
    number *amount;
    group *owner;
} record;

typedef struct table {
    gc_array header;
    record *buckets[];
} table;

static const gc_type text_type = GC_TYPE_ARRAY_LEAF(text, characters);
static const gc_type number_type = GC_TYPE_LEAF(number);
static const gc_type group_type = GC_TYPE(group, next);
static const gc_type record_type = GC_TYPE(record, next, name, amount, owner);
static const gc_type table_type = GC_TYPE_ARRAY(table, buckets);

static void *must(void *object) {
    if (object) return object;
    fprintf(stderr, "%s\n", gc_last_message());
    exit(1);
}

static uint64_t mix(uint64_t n) {
    n = (n ^ n >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return n ^ n >> 29;
}

static void add_record(gc_thread *gc, table *records, group *owner, uint64_t id) {
    char characters[48];
    int length = 8 + (int)(mix(id) % 32);
    snprintf(characters, sizeof characters, "%-40llu", (unsigned long long)id);
    GC_ROOTS(gc, records, owner);
    record *fresh = (record *)must(gc_new(gc, &record_type));
    GC_ROOTS(gc, fresh);
    text *name = (text *)must(gc_new_array(gc, &text_type, (size_t)length));
    memcpy(name->characters, characters, (size_t)length);
    gc_store(gc, &fresh->name, name);
    number *amount = (number *)must(gc_new(gc, &number_type));
    amount->value = (double)id / 100;
    gc_store(gc, &fresh->amount, amount);
    gc_store(gc, &fresh->owner, owner);
    record **bucket = &records->buckets[mix(id) % records->header.length];
    gc_store(gc, &fresh->next, *bucket);
    gc_store(gc, bucket, fresh);
}

static void fill(gc_thread *gc, uint64_t count, table **result) {
    table *records = (table *)must(gc_new_array(gc, &table_type, (size_t)count));
    group *owner = NULL;
    GC_ROOTS(gc, records, owner);
    for (uint64_t id = 0; id < count; id++) {
        if (id % 10000 == 0) {
            group *fresh = (group *)must(gc_new(gc, &group_type));
            fresh->id = id;
            gc_store(gc, &fresh->next, owner);
            owner = fresh;
        }
        add_record(gc, records, owner, id);
    }
    *result = records;
}

static uint64_t now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

/* Runs until it is killed. */
static void tick(void) {
    for (uint64_t last = now_us(), longest = 0;;) {
        uint64_t now = now_us();
        if (now - last > longest) {
            longest = now - last;
            printf("stood still for %llu us\n", (unsigned long long)longest);
            fflush(stdout);
        }
        last = now;
    }
}

static table *records;

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    gc_heap *heap = (gc_heap *)must(gc_heap_create(NULL));
    gc_thread *gc = (gc_thread *)must(gc_thread_attach(heap));
    gc_roots_add(heap, &records, 1, 0);
    fill(gc, count, &records);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    uint64_t bucket = count / 2;
    while (!records->buckets[bucket]) bucket++;
    printf("ready %p\n", (void *)records->buckets[bucket]);
    fflush(stdout);
    if (argc > 2) tick();
    for (;;) pause();
}
