/* Memory that objects hold outside the heap: counted, released at death, and a reason to collect. */
#include "../fixture.h"

#include <pthread.h>

#define MIB ((ptrdiff_t)1 << 20)

static void counted(void) {
    node *a = new_node(1), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = new_node(2);
    is(gc_object_add_external(gc, a, 10 * MIB), GC_OK, "gc_object_add_external");
    is(gc_object_add_external(gc, b, 5 * MIB), GC_OK, "of another object");
    is(stats().external_bytes, 15 * MIB, "the sum");
    is(gc_object_add_external(gc, a, -4 * MIB), GC_OK, "less");
    is(stats().external_bytes, 11 * MIB, "the sum is less");
    for (int i = 0; i < 4; i++) {
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
        is(stats().external_bytes, 11 * MIB, "the living keep theirs, %d", i);
    }
    is(gc_object_add_external(gc, a, MIB), GC_OK, "after it has moved");
    is(stats().external_bytes, 12 * MIB, "the sum after moving");
    a = NULL;
    full(), full();
    is(stats().external_bytes, 5 * MIB, "the dead have theirs taken off");
    is(gc_object_add_external(gc, b, -5 * MIB), GC_OK, "down to nothing");
    is(stats().external_bytes, 0, "is nothing");
    b = NULL;
    full();
    is(stats().external_bytes, 0, "and stays so at death");
}

static void budget(void) {
    gc_stats before = stats();
    node *n = NULL;
    GC_ROOTS(gc, n);
    size_t peak = 0;
    int failures = 0;
    for (int i = 0; i < 20000; i++) {
        n = new_node((uint64_t)i);
        failures += gc_object_add_external(gc, n, MIB / 4) != GC_OK;
        if (stats().external_bytes > peak) peak = stats().external_bytes;
    }
    is(failures, 0, "little objects with much outside");
    ok(stats().collections[0] + stats().collections[1] + stats().collections[2] > before.collections[0] + 5, "make the heap collect");
    ok(peak < ((size_t)2 << 30), "so that the dead ones go: %zu MiB at the peak of 5000", peak >> 20);
}

/* Off-heap memory has an account of its own: what counts objects does not count it, and only its growth calls for
   collections. */
static void account(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    full();
    gc_stats before = stats();
    int failures = 0;
    for (int i = 0; i < 20000; i++)
        failures += gc_object_add_external(gc, n, 100000) != GC_OK || gc_object_add_external(gc, n, -100000) != GC_OK;
    is(failures, 0, "adding and taking off the same");
    gc_stats after = stats();
    is(after.collections[0] + after.collections[1] + after.collections[2], before.collections[0] + before.collections[1] + before.collections[2],
       "collects nothing");
    is(gc_object_add_external(gc, n, 150000), GC_OK, "what stays");
    after = stats();
    is(after.live_bytes, before.live_bytes, "is not among the objects");
    is(after.generation_bytes[0], before.generation_bytes[0], "nor allocated in generation 0");
    is(gc_object_add_external(gc, n, (ptrdiff_t)1 << 39), GC_ERROR_HEAP_FULL, "more than the limit");
    after = stats();
    is(after.generation_bytes[0], before.generation_bytes[0], "is not allocated either");
    is(after.external_bytes, 150000, "nor held");
    gc_collect(heap, 0, 0);
    ok(stats().condemned_bytes < 1000, "nor condemned: %zu bytes", stats().condemned_bytes);
}

static void limit(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    is(gc_object_add_external(gc, n, 200 * MIB), GC_ERROR_HEAP_FULL, "more than heap_bytes_max");
    ok(gc_last_message()[0], "a message: %s", gc_last_message());
    is(stats().external_bytes, 0, "nothing was added");
    is(gc_object_add_external(gc, n, 80 * MIB), GC_OK, "what fits");
    is(gc_object_add_external(gc, n, 80 * MIB), GC_ERROR_HEAP_FULL, "no more");
    is(stats().external_bytes, 80 * MIB, "the first stays");
    n = new_node(2);
    is(gc_object_add_external(gc, n, 80 * MIB), GC_OK, "the first one dead, there is room");
    is(stats().external_bytes, 80 * MIB, "for the second");
    is(n->value, 2, "which is whole");
}

/* Room for external bytes is made as it is for objects: also out of many holes, each of them small. */
static void compacted(void) {
    enum { REGIONS = 16, OBJECTS = 40 };
    size_t count = 12 * OBJECTS;
    vector *keep = new_vector(count);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < count; i++) {
        bytes *b = new_bytes(GC_REGION_BYTES / OBJECTS - sizeof(bytes) - 32);
        gc_store(gc, &keep->items[i], b);
    }
    full(), full();
    for (size_t i = 0; i < count; i += 5) gc_store(gc, &keep->items[i], NULL);
    full();
    size_t left = REGIONS * GC_REGION_BYTES - stats().used_bytes;
    is(gc_object_add_external(gc, keep, (ptrdiff_t)left), GC_OK, "all of %zu KiB beside fragmented regions", left >> 10);
    uint64_t before = stats().collections[2];
    is(gc_object_add_external(gc, keep, (REGIONS + 1) * (ptrdiff_t)GC_REGION_BYTES), GC_ERROR_HEAP_FULL, "more than can ever fit");
    is(stats().collections[2], before, "is refused without a collection");
}

/* External bytes fill regions to the byte, and are taken off to the byte. */
static void edges(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    size_t step = GC_REGION_BYTES / 4, added = 0;
    while (gc_object_add_external(gc, n, (ptrdiff_t)step) == GC_OK) added += step;
    size_t most = 64 * GC_REGION_BYTES;
    ok(added >= most / 2 && added < most, "%zu of %zu bytes fit, beside tables and a region", added, most);
    is(gc_object_add_external(gc, n, -(ptrdiff_t)step), GC_OK, "a quarter of a region less");
    is(gc_object_add_external(gc, n, (ptrdiff_t)step), GC_OK, "fits again");
    is(gc_object_add_external(gc, n, PTRDIFF_MIN), GC_ERROR_MISUSE, "less than nothing is refused");
    has(gc_last_message(), "9223372036854775808", "with the number");
    is(stats().external_bytes, added, "and takes nothing off");
}

static void many(void) {
    enum { COUNT = 20000 };
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    size_t expected = 0;
    for (size_t i = 0; i < COUNT; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
        gc_object_add_external(gc, keep->items[i], (ptrdiff_t)(i % 10));
    }
    for (int round = 0; round < 3; round++) {
        for (size_t i = (size_t)round; i < COUNT; i += 5) gc_store(gc, &keep->items[i], NULL);
        full(), compact();
        expected = 0;
        for (size_t i = 0; i < COUNT; i++) expected += keep->items[i] ? i % 10 : 0;
        is(stats().external_bytes, expected, "many, of which some die, round %d", round);
    }
}

/* Bytes without an owner, as a hook in place of realloc reports them. */
static void unowned(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    is(gc_heap_add_external(heap, 3 * MIB), GC_OK, "bytes without an owner");
    is(gc_object_add_external(gc, n, 2 * MIB), GC_OK, "beside an object's");
    is(stats().external_bytes, 5 * MIB, "the sum of both");
    is(gc_heap_add_external(heap, -3 * MIB - 1), GC_ERROR_MISUSE, "more than there are without an owner");
    has(gc_last_message(), "3145729 bytes", "are refused, with the number");
    is(stats().external_bytes, 5 * MIB, "and nothing is taken off");
    is(gc_heap_add_external(heap, -MIB), GC_OK, "a part of them is taken off");
    n = NULL;
    full(), full();
    is(stats().external_bytes, 2 * MIB, "what has no owner stays when objects die");
    is(gc_heap_add_external(heap, -2 * MIB), GC_OK, "and goes");
    is(stats().external_bytes, 0, "to the last byte");
}

/* Sums that no memory has are refused, alone and beside another thread. */
static void *add_too_much(void *unused) {
    (void)unused;
    is(gc_heap_add_external(heap, PTRDIFF_MAX), GC_OK, "off-heap bytes may be as many as PTRDIFF_MAX");
    for (int i = 0; i < 2; i++) is(gc_heap_add_external(heap, PTRDIFF_MAX), GC_ERROR_TOO_LARGE, "but not more");
    is(gc_heap_add_external(heap, 1), GC_ERROR_TOO_LARGE, "not by one");
    has(gc_last_message(), "gc_heap_add_external: 1 bytes are added to 9223372036854775807", "which is said");
    is(stats().external_bytes, PTRDIFF_MAX, "and nothing was added");
    is(gc_heap_add_external(heap, -PTRDIFF_MAX), GC_OK, "all can be taken off");
    is(stats().external_bytes, 0, "and then none are left");
    is(gc_heap_add_external(heap, PTRDIFF_MIN), GC_ERROR_MISUSE, "nor can more be taken off");
    return NULL;
}

static void too_much(void) {
    add_too_much(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, add_too_much, NULL);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

/* Hooks may not add bytes, for which the heap may have to collect. */
static node *owner_in_hook;
static gc_result result_in_hook;
static void add_in_hook(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    result_in_hook = gc_object_add_external(gc, owner_in_hook, 30 * (ptrdiff_t)MIB);
}

static void within_hooks(void) {
    GC_ROOTS(gc, owner_in_hook);
    owner_in_hook = new_node(1);
    full();
    is(result_in_hook, GC_ERROR_MISUSE, "bytes that a hook adds are refused");
}

/* More than there are addresses for, though the limit would allow it. */
static void beyond_the_arena(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    ok(!gc_new_array(gc, &vector_type, (size_t)1 << 42) && strstr(gc_last_message(), "GC_ARENA_BYTES"), "it is said: %s",
       gc_last_message());
    is(gc_object_add_external(gc, n, (ptrdiff_t)1 << 45), GC_ERROR_TOO_LARGE, "nor off the heap");
}

/* The tables of objects with bytes count towards the limit, also those that a collection has made. */
static void tables_within_the_limit(void) {
    enum { COUNT = 200000 };
    vector *all = NULL;
    GC_ROOTS(gc, all);
    all = new_vector(COUNT);
    size_t i = 0;
    for (; i < COUNT; i++) {
        node *n = new_node(i);
        if (!n) break;
        gc_store(gc, &all->items[i], n);
        if (gc_object_add_external(gc, n, 1) != GC_OK) break;
    }
    full();
    gc_stats now = stats();
    ok(now.committed_bytes + now.table_bytes + now.metadata_bytes <= now.heap_bytes_max, "%zu KiB of %zu with bytes of %zu objects",
       (now.committed_bytes + now.table_bytes + now.metadata_bytes) >> 10, now.heap_bytes_max >> 10, i);
}

static void too_much_of_objects(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    gc_heap_add_external(heap, PTRDIFF_MAX - 100);
    is(gc_object_add_external(gc, n, 101), GC_ERROR_TOO_LARGE, "an object has no more than what others leave");
    is(gc_object_add_external(gc, n, 100), GC_OK, "but that");
    is(stats().external_bytes, PTRDIFF_MAX, "which is all");
    gc_value_stack stack = {0};
    ptrdiff_t moved;
    is(gc_value_stack_reserve(heap, &stack, 100, &moved), GC_ERROR_MEMORY, "a stack of values has none");
    ok(!stack.base, "and is as it was");
    is(gc_object_add_external(gc, n, -100), GC_OK, "all is taken off");
    is(gc_heap_add_external(heap, -(PTRDIFF_MAX - 100)), GC_OK, "again");
    is(stats().external_bytes, 0, "and none is left");
}

/* Two threads at once, neither of which is attached: a hook in place of realloc is called anywhere. */
static uint32_t threads_there; /* atomic */
static void *add_and_take(void *unused) {
    uint64_t refused = 0;
    __atomic_fetch_add(&threads_there, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&threads_there, __ATOMIC_SEQ_CST) < 2) {}
    for (int i = 0; i < 3000000; i++) {
        gc_heap_add_external(heap, i % 100 + 1);
        refused += gc_heap_add_external(heap, -(i % 100)) != GC_OK;
    }
    return refused ? heap : unused;
}

static void unowned_by_threads(void) {
    pthread_t threads[2];
    void *refused[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add_and_take, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], &refused[i]);
    ok(!refused[0] && !refused[1], "what was added can be taken off, whatever other threads do");
    is(stats().external_bytes, 6000000, "no byte is lost among threads");
    is(gc_heap_add_external(heap, -6000001), GC_ERROR_MISUSE, "nor won");
    is(gc_heap_add_external(heap, -6000000), GC_OK, "they are all without an owner");
}

/* A few objects with much memory of the host's: the next allocation collects. */
static void unowned_budget(void) {
    uint64_t before = stats().collections[0] + stats().collections[1] + stats().collections[2];
    new_node(1);
    gc_heap_add_external(heap, 200 * MIB);
    is(stats().collections[0] + stats().collections[1] + stats().collections[2], before, "gc_heap_add_external does not collect");
    new_node(2);
    ok(stats().collections[0] + stats().collections[1] + stats().collections[2] > before, "but the next allocation does");
    gc_heap_add_external(heap, -200 * MIB);
}

/* A list as most interpreters have it: its items are in memory from malloc, which grows by realloc. */
typedef struct list {
    gc_object header;
    node **items;
    size_t count, capacity;
} list;

static void list_trace(void *object, gc_visitor *visitor) {
    list *l = object;
    gc_visit(visitor, l->items, l->count, GC_SLOT_OWNED);
}

static size_t lists_ended;
static void list_finalize(gc_thread *thread, void *object) {
    list *l = object;
    (void)thread;
    lists_ended++;
    free(l->items);
    l->items = NULL, l->count = l->capacity = 0; /* it is still traced */
}

static const gc_finalizer list_finalizer = {.finalize = list_finalize};
static const gc_type list_type = GC_TYPE_WITH(list, trace(list_trace), finalizer(list_finalizer));

static void list_push(list *l, uint64_t value, bool raw) {
    GC_ROOTS(gc, l);
    node *n = new_node(value);
    if (l->count == l->capacity) {
        l->capacity = 2 * l->capacity + 1;
        l->items = realloc(l->items, l->capacity * sizeof *l->items);
    }
    if (raw) {
        gc_remember(gc, l);
        l->items[l->count] = n;
    } else {
        gc_store_in(gc, l, &l->items[l->count], n);
    }
    l->count++;
}

static void buffers(void) {
    enum { LISTS = 30, ROUNDS = 3000 };
    static uint64_t expected[LISTS][200];
    static size_t counts[LISTS];
    int wrong = 0;
    size_t made = 0, rounds = GC_DEBUG ? ROUNDS / 4 : ROUNDS;
    lists_ended = 0;
    vector *lists = new_vector(LISTS);
    GC_ROOTS(gc, lists);
    for (size_t i = 0; i < rounds; i++) {
        size_t k = random_bits() % LISTS;
        if (!lists->items[k] || counts[k] == 200 || i % 50 == 0) {
            list *l = gc_new(gc, &list_type);
            gc_store(gc, &lists->items[k], l);
            counts[k] = 0;
            made++;
        }
        list_push(lists->items[k], i, i % 3 == 0);
        expected[k][counts[k]++] = i;
        if (i % 40 == 0) gc_collect(heap, (int)(i / 40 % 3), i % 80 ? 0 : GC_COLLECT_COMPACTING);
        k = random_bits() % LISTS;
        list *l = lists->items[k];
        for (size_t j = 0; l && j < counts[k]; j++) wrong += l->items[j]->value != expected[k][j];
        if (i % 20 == 0) gc_finalizer_run(gc, 100);
    }
    is(wrong, 0, "objects with buffers keep what is in them");
    lists = NULL;
    full(), full();
    gc_finalizer_run(gc, SIZE_MAX);
    is(lists_ended, made, "and all are finalized, once");
    full();
    ok(stats().live_bytes < 100, "and nothing stays: %zu bytes", stats().live_bytes);
}

/* An object that has been remembered needs no more of it when nothing in its buffer is young. */
static void forgotten(void) {
    list *l = gc_new(gc, &list_type);
    GC_ROOTS(gc, l);
    list_push(l, 1, false);
    age(&l, 2);
    is(gc_object_generation(l), 2, "an old owner");
    list_push(l, 2, true);
    is(gc_object_generation(l->items[1]), 0, "of a young object");
    gc_collect(heap, 0, 0);
    is(l->items[1]->value, 2, "which survives a young collection");
    is(gc_object_generation(l->items[1]), 1, "and is still younger than its owner");
    gc_collect(heap, 1, 0);
    is(l->items[1]->value, 2, "so it survives the next one too");
    is(gc_object_generation(l->items[1]), 2, "and is as old then");
}

/* Objects that nobody asks for their numbers take no memory; numbers stay, though objects move, die, and have bytes. */
static void identities(void) {
    enum { COUNT = 3000 };
    static uint64_t numbers[COUNT];
    size_t wrong = 0, same = 0;
    vector *keep = new_vector(COUNT);
    GC_ROOTS(gc, keep);
    uint64_t first = gc_object_identity(gc, keep);
    is(first, 1, "the first object that is asked for has the number 1");
    is(gc_object_add_external(gc, keep, 1000), GC_OK, "it may hold bytes, too");
    memset(numbers, 0, sizeof numbers);
    for (uint64_t round = 0, last = first; round < 12; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            if (keep->items[i]) continue;
            node *n = new_node(i);
            gc_store(gc, &keep->items[i], n);
            numbers[i] = 0;
        }
        for (size_t i = round % 2; i < COUNT; i += 2) {
            uint64_t number = gc_object_identity(gc, keep->items[i]);
            if (!numbers[i]) wrong += number != ++last, numbers[i] = number;
            wrong += number != numbers[i];
        }
        gc_collect(heap, (int)(round % 3), round % 2 ? GC_COLLECT_COMPACTING : 0);
        for (size_t i = 0; i < COUNT; i++) {
            if (numbers[i]) wrong += gc_object_identity(gc, keep->items[i]) != numbers[i];
            if (random_bits() % 3 == 0) gc_store(gc, &keep->items[i], NULL);
        }
        same += gc_object_identity(gc, keep) == first;
    }
    is(wrong, 0, "objects keep their numbers, which no other has");
    is(same, 12, "so does an array, whose bytes are counted beside it");
    is(stats().external_bytes, 1000, "and are still");
    is(gc_object_add_external(gc, keep, -1000), GC_OK, "until they are taken off");
    is(gc_object_identity(gc, keep), first, "which leaves the number");
    uint64_t local;
    is(gc_object_identity(gc, &local), 0, "what is no object has none");
    has(gc_last_message(), "no object of this heap", "as a message says");
}

/* Within a collection numbers are not known. */
static uint64_t asked_within;
static void asks_within(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    asked_within = gc_object_identity(gc, *(void **)host);
}
static void within(void) {
    static void *object;
    if (GC_DEBUG) return; /* such a call ends the program then */
    begin(&(gc_options){.collection_traced = asks_within, .host = &object});
    object = new_node(1);
    gc_roots_add(heap, &object, 1, 0);
    uint64_t number = gc_object_identity(gc, object);
    asked_within = 7;
    gc_collect(heap, 2, 0);
    ok(asked_within == 0 && number == 1 && gc_object_identity(gc, object) == 1, "within a collection no number is said, and none is lost");
    gc_roots_remove(heap, &object);
    end();
}

/* The budget is in proportion to all that lives, not to what is small on the heap. */
static void owners(void) {
    enum { OWNERS = 500 };
    vector *keep = new_vector(OWNERS);
    GC_ROOTS(gc, keep);
    uint64_t before = 0;
    for (int i = 0; i < 2 * OWNERS; i++) {
        if (i == OWNERS) full(), before = stats().collections[2];
        node *n = new_node(0);
        gc_store(gc, &keep->items[i % OWNERS], n);
        gc_object_add_external(gc, n, MIB);
    }
    ok(stats().collections[2] - before <= 4, "%llu full collections while %d owners of 1 MiB are replaced",
       (unsigned long long)(stats().collections[2] - before), OWNERS);
}

int main(void) {
    within();
    run(identities, (gc_options){0});
    run(identities, (gc_options){.non_moving = true});
    run(identities, (gc_options){.non_generational = true});
    run(identities, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 50});
    run(unowned, (gc_options){0});
    begin(NULL), unowned_budget(), end();
    begin(NULL), too_much_of_objects(), end();
    begin(NULL), too_much(), end();
    if (!GC_DEBUG) run(within_hooks, (gc_options){.collection_end = add_in_hook});
    run(beyond_the_arena, (gc_options){.heap_bytes_max = SIZE_MAX / 4});
    run(tables_within_the_limit, (gc_options){.heap_bytes_max = 24 * (size_t)MIB});
    run(unowned_by_threads, (gc_options){0});
    run(unowned, (gc_options){0}); /* with locked instructions, since there have been threads */
    run(buffers, (gc_options){0});
    run(buffers, (gc_options){.non_moving = true});
    run(buffers, (gc_options){.non_generational = true});
    run(buffers, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 7});
    run(buffers, (gc_options){.nursery_bytes = 4096, .test.scarce_memory = true});
    run(forgotten, (gc_options){0});
    run(counted, (gc_options){0});
    run(counted, (gc_options){.non_moving = true});
    begin(NULL), budget(), end();
    begin(&(gc_options){.non_generational = true}), budget(), end();
    run(account, (gc_options){.heap_bytes_max = 128 * (size_t)MIB});
    run(limit, (gc_options){.heap_bytes_max = 128 * (size_t)MIB});
    run(compacted, (gc_options){.heap_bytes_max = 16 * GC_REGION_BYTES});
    run(edges, (gc_options){.heap_bytes_max = 64 * GC_REGION_BYTES});
    run(many, (gc_options){0});
    run(owners, (gc_options){0});
    run(owners, (gc_options){.non_generational = true});
    return done();
}
