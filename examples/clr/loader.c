/* The edge from an object of a collectible type to its loader allocator is no slot, and the runtime reads it from a handle that a
   collection may have updated already, or not yet. So it has a word for each type here, which is read once in a collection and
   is a slot then: whichever address was read, the trace leaves the new one. */
#include "loader.h"

#include "interface.h"
#include "report.h"

#include <stdlib.h>

typedef struct loader_word {
    struct loader_word *next;
    uintptr_t type, allocator;
    uint64_t collection;
} loader_word;

enum { LOADER_BUCKETS = 1024 };
static loader_word *buckets[LOADER_BUCKETS];
static uint64_t collection;

void loader_begin_collection(void) { collection++; }

static loader_word *loader_find(uintptr_t type) {
    loader_word **bucket = &buckets[(type >> 4) % LOADER_BUCKETS], *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE), *word = first;
    while (word && word->type != type) word = word->next;
    if (word) return word;
    word = calloc(1, sizeof *word);
    if (!word) fatal("there is no memory for a note of a collectible type");
    word->type = type;
    do
        word->next = first; /* a type may have two words: several threads trace at once */
    while (!__atomic_compare_exchange_n(bucket, &first, word, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    return word;
}

void loader_trace(uintptr_t object, uintptr_t type, gc_visitor *visitor) {
    loader_word *word = loader_find(type);
    if (__atomic_load_n(&word->collection, __ATOMIC_ACQUIRE) != collection) {
        __atomic_store_n(&word->allocator, runtime_loader_allocator(object), __ATOMIC_RELAXED);
        __atomic_store_n(&word->collection, collection, __ATOMIC_RELEASE);
    }
    gc_visit(visitor, &word->allocator, 1, GC_SLOT_VALUE | GC_SLOT_OWNED);
}
