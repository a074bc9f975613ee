/* A program that reads lines into an index, of which it never drops one, until its heap is full; then it aborts. */
#include "inspect.h"

typedef struct posting {
    gc_object header;
    struct posting *next;
    uint64_t line;
} posting;

typedef struct word {
    gc_object header;
    struct word *next;
    text *spelling;
    posting *postings;
} word;

typedef struct word_index {
    gc_array header;
    word *buckets[];
} word_index;

static const gc_type posting_type = GC_TYPE(posting, next);
static const gc_type word_type = GC_TYPE(word, next, spelling, postings);
static const gc_type index_type = GC_TYPE_ARRAY(word_index, buckets);

enum { BUCKETS = 1024, WORDS = 3000 };

static bool full(void *host, size_t bytes, const char *message) {
    (void)host;
    fprintf(stderr, "no memory for %zu bytes: %s\n", bytes, message);
    fflush(stderr);
    if (getenv("STOP_WHEN_FULL")) wait_for_inspection(); /* for tests without core files of the kernel */
    abort();
}

static void add_posting(gc_thread *gc, word_index *words, uint64_t line) {
    word *found;
    char spelling[16];
    uint64_t number = line * 7919 % WORDS;
    int length = snprintf(spelling, sizeof spelling, "word%llu", (unsigned long long)number);
    GC_ROOTS(gc, words);
    for (found = words->buckets[number % BUCKETS]; found; found = found->next)
        if (found->spelling->header.length == (size_t)length &&
            memcmp(found->spelling->characters, spelling, (size_t)length) == 0)
            break;
    GC_ROOTS(gc, found);
    if (!found) {
        found = (word *)gc_new(gc, &word_type);
        text *t = new_text(gc, spelling, (size_t)length);
        gc_store(gc, &found->spelling, t);
        gc_store(gc, &found->next, words->buckets[number % BUCKETS]);
        gc_store(gc, &words->buckets[number % BUCKETS], found);
    }
    posting *fresh = (posting *)gc_new(gc, &posting_type);
    fresh->line = line;
    gc_store(gc, &fresh->next, found->postings);
    gc_store(gc, &found->postings, fresh);
}

static void index_lines(gc_thread *gc) {
    word_index *words = (word_index *)gc_new_array(gc, &index_type, BUCKETS);
    GC_ROOTS(gc, words);
    for (uint64_t line = 0;; line++) add_posting(gc, words, line);
}

int main(void) {
    gc_options options = {.heap_bytes_max = 48 << 20, .out_of_memory = full};
    gc_thread *gc = gc_thread_attach(new_heap(&options));
    gc_thread_set_name(gc, "indexer");
    index_lines(gc);
}
