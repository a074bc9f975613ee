/* A heap that is full: handles, lists, off-heap bytes and objects are refused by name, and nothing is lost. */
#ifndef GC_REGION_SHIFT
#define GC_REGION_SHIFT 18
#endif
#define GC_IMPLEMENTATION
#include "gc.h"

#include "../fixture.h"
#include "gc_handles.h"

#include <setjmp.h>

#define MIB ((size_t)1 << 20)
#define SLACK (GC__METADATA_MORE + 64 * 1024) /* what may be passed by, where a collection may free it */

/* What the heap holds of the system's memory, free regions too, and off-heap bytes. */
static size_t held(void) {
    gc_stats now = stats();
    return now.committed_bytes + now.table_bytes + now.metadata_bytes + now.external_bytes;
}

/* Handles. */

enum { MOST = 2000000 };
static gc_handle *handles;

static void refused(gc_handle_kind kind, size_t limit) {
    begin(&(gc_options){.heap_bytes_max = limit});
    node *n = new_node(7);
    GC_ROOTS(gc, n);
    full();
    size_t made = 0, most = 0;
    for (; made < MOST && (handles[made] = gc_handle_create(heap, kind, n)) != NULL; made++)
        if (made % 1000 == 0) most = gc__max(most, held());
    ok(made > limit / 32 && made < limit / sizeof(void *), "kind %d: of a heap of %zu KiB, %zu handles are made", kind, limit >> 10, made);
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "and then none");
    has(gc_last_message(), "heap_bytes_max", "by the limit's name");
    has(gc_last_message(), "handles", "which they have taken: %s", gc_last_message());
    ok(most <= limit, "%zu KiB are held at most", most >> 10);
    size_t each = sizeof(void *) * (gc__handle_has_extra(kind) ? 2 : 1);
    ok(made * each <= limit, "of %zu bytes each", each);
    full();
    ok(stats().metadata_bytes >= made * each, "which count after a collection, too");
    ok(!gc_handle_duplicate(heap, handles[0]), "no copy either");
    ok(kind != GC_HANDLE_DEPENDENT || !gc_handle_create_dependent(heap, n, n), "nor a dependent one");
    is(gc_handle_count(heap, kind), made, "all others exist");
    size_t whole = 0;
    for (size_t i = 0; i < made; i++) whole += gc_handle_get(handles[i]) == n;
    is(whole, made, "with their object");
    for (size_t i = 0; i < made; i += 2) gc_handle_destroy(heap, handles[i]);
    ok(gc_handle_create(heap, kind, n), "where some end others can be made");
    for (size_t i = 0; i < 100 && new_node(i); i++) {}
    is(n->value, 7, "the object is whole");
    end();
}

/* Handles to garbage take all that they may, and end: objects have the room of a region. */
static void ended_handles(gc_handle_kind kind, size_t limit) {
    begin(&(gc_options){.heap_bytes_max = limit});
    size_t made = 0;
    for (; made < MOST && (handles[made] = gc_handle_create(heap, kind, new_node(made))) != NULL; made++) {}
    for (size_t i = 0; i < made; i++) gc_handle_destroy(heap, handles[i]);
    full();
    size_t news = 0;
    for (; news < 100000 && new_node(news); news++) {}
    is(news, 100000, "when %zu handles of kind %d have ended in %zu KiB, objects can be allocated", made, kind, limit >> 10);
    end();
}

/* A heap full of garbage, none of which was collected yet: a collection would free it, so handles are made, and the next
   allocation collects. */
static void beside_garbage(void) {
    enum { LIMIT = 8, ROUNDS = 20 };
    begin(&(gc_options){.heap_bytes_max = LIMIT * MIB, .nursery_bytes = LIMIT * MIB});
    size_t made = 0, most = 0, refusals = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < MIB / sizeof(node); i++) new_node(i);
        ptrdiff_t left = (ptrdiff_t)gc__bytes_left(heap) - 1000;
        gc_heap_add_external(heap, left);
        for (size_t i = 0; i < GC__HANDLE_PLACES; i++) refusals += !(handles[made++] = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, NULL));
        while (round == ROUNDS - 1 && gc_handle_create(heap, GC_HANDLE_WEAK_LONG, NULL)) {}
        most = gc__max(most, held());
        gc_heap_add_external(heap, -left);
    }
    is(refusals, 0, "%zu handles are made beside garbage", made);
    ok(most <= LIMIT * MIB + SLACK + LIMIT * MIB / GC__METADATA_PART, "%zu KiB are held at most", most >> 10);
    full();
    gc_heap_add_external(heap, (ptrdiff_t)gc__bytes_left(heap) - 1000);
    while (gc_handle_create(heap, GC_HANDLE_WEAK_LONG, NULL)) {}
    ok(held() <= LIMIT * MIB, "where there is none, the limit holds");
    has(gc_last_message(), "room for more handles: raise the limit, end handles", "that says what has no room: %s", gc_last_message());
    has(gc_last_message(), "KiB of it are off the heap", "and what has");
    end();
}

/* Free regions make room. */
static void beside_free_regions(void) {
    enum { LIMIT = 8 };
    begin(&(gc_options){.heap_bytes_max = LIMIT * MIB, .keep_memory = true});
    for (size_t i = 0; i < 4; i++) new_bytes(LIMIT * MIB / 2);
    size_t made = 0, most = 0;
    full();
    while (made < MOST && (handles[made] = gc_handle_create(heap, GC_HANDLE_STRONG, NULL)) != NULL)
        if (made++ % 1000 == 0) most = gc__max(most, held());
    ok(made * sizeof(void *) > LIMIT * MIB / 2, "%zu handles of NULL fill the heap", made);
    ok(most <= LIMIT * MIB, "%zu KiB are held at most", most >> 10);
    end();
}

/* Finalizers. */

static size_t ended, ended_for;
static void count_ended(gc_thread *thread, void *object) { (void)thread, ended++, ended_for += ((node *)object)->value; }
static const gc_finalizer counting = {.finalize = count_ended};
static const gc_type ended_type = GC_TYPE_FINALIZED(node, counting, left, right);

/* A hook that registers a finalizer while an object with one is being allocated: both run. */
static gc_handle kept;
static bool none_in_hook;
static size_t in_hooks;
static void register_in_hook(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (kept && !none_in_hook) in_hooks += gc_finalizer_register(gc, gc_handle_get(kept), &counting) == GC_OK;
}
static void registered_in_hooks(void) {
    enum { COUNT = 100000 };
    kept = NULL, none_in_hook = false, ended = in_hooks = 0;
    begin(&(gc_options){.nursery_bytes = 256 << 10, .collection_end = register_in_hook});
    kept = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(0));
    for (size_t i = 0; i < COUNT; i++) gc_new(gc, &ended_type);
    none_in_hook = true;
    gc_handle_destroy(heap, kept);
    for (int i = 0; i < 3; i++) full(), gc_finalizer_run(gc, SIZE_MAX);
    ok(in_hooks > 5, "%zu finalizers are registered by hooks of collections", in_hooks);
    is(ended, COUNT + in_hooks, "and run, as those of all objects do that were being allocated");
    is(heap->finalizers->promised, 0, "no room is promised any more");
    end();
}

static void registered(void) {
    enum { LIMIT = 4 };
    begin(&(gc_options){.heap_bytes_max = LIMIT * MIB});
    node *n = new_node(1), *before = n;
    GC_ROOTS(gc, n);
    full();
    before = n;
    size_t made = 0, most = 0;
    gc_result result;
    for (; (result = gc_finalizer_register(gc, n, &counting)) == GC_OK && made < MOST; made++)
        if (made % 1000 == 0) most = gc__max(most, held());
    is(result, GC_ERROR_HEAP_FULL, "registering a finalizer %zu times fails at last", made);
    has(gc_last_message(), "heap_bytes_max", "by the limit's name");
    ok(made * 4 * 2 * sizeof(void *) > LIMIT * MIB / 2, "when lists fill most of the heap");
    ok(most <= LIMIT * MIB, "%zu KiB are held at most", most >> 10);
    ok(n == before, "nothing was collected");
    ended = 0, n = NULL;
    full();
    gc_finalizer_run(gc, SIZE_MAX);
    is(ended, made, "each that was registered runs");
    end();
}

/* When finalizers have run the room that their lists took is free: as many can be registered in the next rounds, as many objects
   of a type that has one be allocated, and as many without. */
static size_t fill(int what, node **list) {
    size_t made = 0;
    node *n = NULL;
    GC_ROOTS(gc, n);
    for (;; made++) {
        if (what == 0 && n && gc_finalizer_register(gc, n, &counting) != GC_OK) break;
        if (what == 0 && n) continue;
        if (!(n = (node *)gc_new(gc, what == 1 ? &ended_type : &node_type))) break;
        gc_store(gc, &n->left, *list), *list = n;
    }
    return made;
}

static void list_memory_comes_back(void) {
    static const char *const names[] = {"registered", "of a type that has one", "objects without"};
    size_t first[3] = {0};
    node *list = NULL;
    begin(&(gc_options){.heap_bytes_max = 2 * MIB});
    GC_ROOTS(gc, list);
    for (int round = 0; round < 9; round++) {
        int what = (round + 2) % 3;
        size_t made = fill(what, &list);
        list = NULL;
        for (int i = 0; i < 2; i++) full(), gc_finalizer_run(gc, SIZE_MAX);
        if (!first[what]) first[what] = made;
        ok(made >= first[what] / 100 * 97, "%zu %s, of %zu in the first round", made, names[what], first[what]);
    }
    end();
}

/* Objects of a type that has one: there allocation fails, after it has collected and asked the host. */
static size_t asked;
static bool count_asked(void *host, size_t bytes, const char *message) { return (void)host, (void)bytes, (void)message, asked++, false; }

static void finalized_types(void) {
    enum { LIMIT = 4 };
    begin(&(gc_options){.heap_bytes_max = LIMIT * MIB, .out_of_memory = count_asked});
    node *list = NULL;
    GC_ROOTS(gc, list);
    size_t made = 0, most = 0, failed = 0;
    ended = asked = 0;
    while (failed < 3) {
        node *n = (node *)gc_new(gc, &ended_type);
        if (n) gc_store(gc, &n->left, list), list = n;
        if (made++ % 1000 == 0) most = gc__max(most, held());
        if (n) continue;
        made--, failed++, list = NULL;
        is(asked, failed, "out_of_memory is called when %zu objects with finalizers were made", made);
        is(gc_last_result(), GC_ERROR_HEAP_FULL, "then none is");
        for (int i = 0; i < 2; i++) full(), gc_finalizer_run(gc, SIZE_MAX);
        is(ended, made, "each is finalized");
    }
    ok(most <= LIMIT * MIB, "%zu KiB are held at most", most >> 10);
    is(heap->finalizers->promised, 0, "no promise is left");
    end();
}

/* The lists have to grow where garbage has taken all that is free. */
static void lists_beside_garbage(void) {
    enum { PAIRS = GC__WORDS_FIRST_BYTES / 16 };
    begin(&(gc_options){.heap_bytes_max = 4 * MIB, .nursery_bytes = 4 * MIB});
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    for (size_t i = 0; i < PAIRS; i++) gc_finalizer_register(gc, n, &counting);
    for (size_t i = 0; i < MIB / sizeof(node); i++) new_node(i);
    gc_heap_add_external(heap, (ptrdiff_t)gc__bytes_left(heap) - 1000);
    is(gc_finalizer_register(gc, n, &counting), GC_ERROR_HEAP_FULL, "to register a finalizer does not collect");
    has(gc_last_message(), "room for more finalizers", "that says what has no room: %s", gc_last_message());
    has(gc_last_message(), "KiB of it are off the heap", "and what has");
    ok(gc_new(gc, &ended_type) != NULL, "to allocate an object that has one does");
    is(gc_finalizer_register(gc, n, &counting), GC_OK, "so that there is room");
    end();
}

static bool release(intptr_t value) { return (void)value, true; }
GC_SAFE_HANDLE_KIND(descriptor, release, gc_safe_handle_invalid_if_minus_one);

static void safe_handles(void) {
    begin(&(gc_options){.heap_bytes_max = 4 * MIB});
    vector *keep = new_vector(100000);
    GC_ROOTS(gc, keep);
    size_t made = 0;
    for (descriptor d; (d = descriptor_new(gc, 3, true)).safe; made++) gc_store(gc, &keep->items[made], d.safe);
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "%zu safe handles fill the heap", made);
    is(heap->finalizers->promised, 0, "no promise is left");
    end();
}

/* Off-heap bytes. */

static void external(void) {
    enum { LIMIT = 8 };
    begin(&(gc_options){.heap_bytes_max = LIMIT * MIB, .keep_memory = true});
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    for (size_t i = 0; i < 4; i++) new_bytes(LIMIT * MIB / 2);
    full();
    size_t added = 0, most = 0, step = 100000;
    for (; gc_object_add_external(gc, n, (ptrdiff_t)step) == GC_OK; added += step) most = gc__max(most, held());
    has(gc_last_message(), "KiB of it are off the heap", "the limit is met, and by what is said: %s", gc_last_message());
    ok(added > LIMIT * MIB / 10 * 8, "%zu KiB are added beside free regions", added >> 10);
    ok(most <= LIMIT * MIB, "%zu KiB are held at most", most >> 10);
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = LIMIT * MIB / 2}), GC_ERROR_HEAP_FULL, "the limit cannot be half of that");
    has(gc_last_message(), "KiB of it are off the heap", "and by what is said, too");
    end();
}

/* The tables of off-heap bytes count, and give their memory back. */
static void external_tables(size_t limit) {
    begin(&(gc_options){.heap_bytes_max = limit});
    node *list = NULL, *n = NULL;
    GC_ROOTS(gc, list, n);
    size_t added = 0, most = 0;
    for (; (n = new_node(added)) != NULL && gc_object_add_external(gc, n, 16) == GC_OK; added++) {
        n->left = list;
        list = n;
        most = gc__max(most, gc__bytes_charged(heap));
    }
    ok(added > limit / 300, "%zu objects have 16 bytes each off the heap", added);
    has(gc_last_message(), "heap_bytes_max", "then the limit is met: %s", gc_last_message());
    ok(most <= limit + limit / 64, "%zu KiB count at most", most >> 10);
    list = n = NULL;
    full();
    size_t news = 0;
    for (; news < 100000 && new_node(news); news++) {}
    is(news, 100000, "when they have died objects can be allocated");
    ok(stats().metadata_bytes < MIB, "and %zu KiB are beside", (size_t)stats().metadata_bytes >> 10);
    end();
}

/* All but one region is taken by off-heap bytes: its holes are memory, those between objects that live too. */
static void one_region(size_t size) {
    begin(&(gc_options){.heap_bytes_max = 32 * GC_REGION_BYTES});
    size_t count = 0, more = 0;
    vector *keep = new_vector(GC_LARGE_BYTES / sizeof(void *) - 4); /* in that region, too */
    GC_ROOTS(gc, keep);
    gc_heap_add_external(heap, (ptrdiff_t)(gc__bytes_left(heap) - GC_REGION_BYTES / 8));
    for (bytes *b; count < keep->header.length && (b = new_bytes(size - sizeof *b)) != NULL; count++) gc_store(gc, &keep->items[count], b);
    ok(count * size + size + GC_LARGE_BYTES > GC_REGION_BYTES / 8 * 7, "%zu objects of %zu bytes fill %zu regions", count, size, (size_t)stats().regions);
    for (size_t i = 0; i < count; i += 2) gc_store(gc, &keep->items[i], NULL);
    for (bytes *b; more < count && (b = new_bytes(2 * size - sizeof *b)) != NULL; more += 2) gc_store(gc, &keep->items[more], b);
    ok(more + 2 >= count / 2, "when every second has died, %zu of twice the size have room", more / 2);
    is(stats().regions, 1, "in one region");
    end();
}

/* A heap that goes on with a full collection for each few objects, or gives up. */

static uint64_t ms(void) { return gc__os_now_ns() / 1000000; }

/* Replaces objects at random for up to so long, or until one is refused. Returns how many were made. */
static size_t replace(vector *keep, uint64_t most_ms, bool *fails) {
    GC_ROOTS(gc, keep);
    size_t made = 0;
    bytes *b = NULL;
    for (uint64_t start = ms(); ms() - start < most_ms; made++) {
        size_t at = made < keep->header.length ? made : random_bits() % keep->header.length;
        b = new_bytes(512 - sizeof *b - sizeof(void *));
        if (!b) break;
        gc_store(gc, &keep->items[at], b);
    }
    *fails = b == NULL;
    return made;
}

static size_t crawl(unsigned percent_max, size_t live, uint64_t most_ms, bool *fails) {
    begin(&(gc_options){.heap_bytes_max = 5 * GC_REGION_BYTES, .overhead_percent_max = percent_max});
    size_t made = replace(new_vector(live / 512), most_ms, fails);
    diag("%zu of %zu bytes live: %zu objects, %zu full collections", (size_t)stats().live_bytes, 5 * GC_REGION_BYTES, made, (size_t)stats().collections[2]);
    return made;
}

/* It has gone on so for nearly as long as it may, and then most of what lived has died. */
static void goes_on(size_t usable) {
    begin(&(gc_options){.heap_bytes_max = 5 * GC_REGION_BYTES, .overhead_percent_max = 1});
    vector *keep = new_vector(usable / 1000 * 985 / 512);
    GC_ROOTS(gc, keep);
    bool fails;
    size_t refused = 0;
    replace(keep, 700, &fails);
    memset(keep->items, 0, keep->header.length * sizeof *keep->items);
    usleep(400000);
    for (size_t i = 0; i < 2 * usable / 512; i++) refused += !new_bytes(480);
    is(refused, 0, "a heap that was nearly full until now does not give up");
    end();
}

/* The heap has gone on so for two seconds, of which collections took all, and a thread has given a window back that it had before. */
static void gives_back(size_t usable) {
    gc__overhead spent;
    begin(&(gc_options){.heap_bytes_max = 5 * GC_REGION_BYTES, .overhead_percent_max = 30});
    heap->full_bytes = usable;
    heap->stats.allocated_bytes = GC__WINDOW_BYTES;
    gc__overhead_is_met(heap, &spent);
    heap->stats.pause_total_ns += 2 * GC__OVERHEAD_NS;
    heap->stats.collections[2] += GC__OVERHEAD_COLLECTIONS;
    heap->pace->overhead.ns -= 2 * GC__OVERHEAD_NS;
    heap->stats.allocated_bytes = 0;
    ok(gc__overhead_is_met(heap, &spent), "what threads give back is not taken for progress");
    end();
}

static void gives_up(void) {
    size_t usable = 4 * GC_REGION_BYTES;
    bool fails;
    size_t made = crawl(30, usable / 1000 * 985, 20000, &fails);
    ok(fails, "a nearly full heap gives up after %zu objects", made);
    has(gc_last_message(), "overhead_percent_max is 30", "and says why: %s", gc_last_message());
    is(gc_last_result(), GC_ERROR_HEAP_FULL, "as a full heap does");
    end();
    crawl(0, usable / 1000 * 985, 1500, &fails);
    ok(!fails, "without the option it does not");
    end();
    begin(&(gc_options){.heap_bytes_max = 5 * GC_REGION_BYTES});
    vector *keep = new_vector(usable / 1000 * 985 / 512);
    GC_ROOTS(gc, keep);
    replace(keep, 500, &fails);
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 5 * GC_REGION_BYTES, .overhead_percent_max = 30}), GC_OK, "the option can be set later");
    replace(keep, 20000, &fails);
    ok(fails, "and then it does");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 5 * GC_REGION_BYTES, .overhead_percent_max = 101}), GC_ERROR_OPTION, "more than 100 %% are none");
    has(gc_last_message(), "overhead_percent_max is 101: it must be", "and that is said");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 5 * GC_REGION_BYTES, .overhead_percent_max = 0}), GC_OK, "and can be taken back");
    replace(keep, 1500, &fails);
    ok(!fails, "and then it does not");
    end();
    crawl(1, usable / 4 * 3, 1500, &fails);
    ok(!fails, "nor where a quarter is free, however long that takes");
    end();
    goes_on(usable);
    gives_back(usable);
}

/* out_of_memory is left, as an interpreter does that raises an exception of its own. */

static jmp_buf caught;
static unsigned leaves;
static bool leave(void *host, size_t bytes, const char *message) {
    (void)host, (void)bytes, (void)message;
    leaves++;
    longjmp(caught, 1);
}

static void fill_all(vector *table, const gc_type *type) {
    GC_ROOTS(gc, table);
    for (size_t i = 0;; i = (i + 1) % table->header.length) {
        node *n = (node *)gc_new(gc, type);
        if (!n) return;
        n->left = (node *)table->items[i];
        gc_store(gc, &table->items[i], n);
    }
}

__attribute__((noinline)) static void deeper(vector *table, size_t depth, const gc_type *type) {
    volatile char room[512];
    room[0] = 1;
    if (depth)
        deeper(table, depth - 1, type);
    else
        fill_all(table, type);
    room[1] = room[0];
}

static void left(bool deep) {
    begin(&(gc_options){.heap_bytes_max = 4 * MIB, .out_of_memory = leave, .debug.verify = GC_VERIFY_AFTER});
    vector *table = new_vector(100);
    GC_ROOTS(gc, table);
    leaves = 0;
    const unsigned most = is_quick() ? 5 : 20;
    volatile unsigned rounds = 0;
    gc_frame *frames = gc_frames_mark(gc);
    for (; rounds < most; rounds++) {
        if (!setjmp(caught)) deeper(table, deep ? 2 * rounds : 40 - 2 * rounds, rounds % 2 ? &ended_type : &node_type);
        gc_frames_restore(gc, frames);
        if (leaves != rounds + 1) break;
        if (rounds % 3) continue;
        for (size_t i = 0; i < table->header.length; i++) gc_store(gc, &table->items[i], NULL);
        for (int i = 0; i < 2; i++) full(), gc_finalizer_run(gc, SIZE_MAX);
    }
    is(rounds, most, "out_of_memory is left %u times, %s in the stack", leaves, deep ? "deeper and deeper" : "less and less deep");
    is(heap->finalizers->promised, 0, "no promise is left");
    for (size_t i = 0; i < table->header.length; i++) gc_store(gc, &table->items[i], NULL);
    for (int i = 0; i < 2; i++) full(), gc_finalizer_run(gc, SIZE_MAX);
    size_t made = 0;
    for (; made < 10000 && new_node(made); made++) {}
    is(made, 10000, "the thread can allocate");
    is(heap->threads->asking, 0, "and counts as asking no more");
    end();
    ok(true, "the heap can be destroyed");
}

static void (*in_hook)(void);
static bool call_in_hook(void *host, size_t bytes, const char *message) {
    (void)host, (void)bytes, (void)message;
    in_hook();
    puts(gc_last_message());
    fflush(stdout);
    return false;
}
static void destroy(void) { gc_heap_destroy(heap); }
static void detach(void) { gc_thread_detach(gc); }

static void ends_in_hook(void *what) {
    in_hook = *(void (**)(void))what;
    begin(&(gc_options){.heap_bytes_max = 4 * MIB, .out_of_memory = call_in_hook});
    vector *table = new_vector(100);
    GC_ROOTS(gc, table);
    fill_all(table, &node_type);
    _exit(gc_last_result() == GC_ERROR_HEAP_FULL ? 0 : 1);
}

static void refused_in_hook(void) {
    static void (*calls[])(void) = {destroy, detach};
    static char output[4000];
    for (size_t i = 0; i < 2; i++) {
        is(tap_child(ends_in_hook, &calls[i], output, sizeof output), GC_DEBUG >= 1 ? 256 + 6 : 0, "%s in out_of_memory is refused",
           i ? "gc_thread_detach" : "gc_heap_destroy");
        if (GC_DEBUG == 0 || !i) has(output, "called by the out_of_memory hook", "by name: %s", output);
    }
}

/* What GC_DEBUG asserts. */

static node *within;
static void make_handle(size_t back) { gc_handle_create(heap, GC_HANDLE_WEAK, (char *)within + back); }
static void young_interior(void) { make_handle(offsetof(node, value)); }
static void young_field(void) { make_handle(offsetof(node, left)); }
static void old_interior(void) { age(&within, 2), make_handle(offsetof(node, value)); }
static void odd(void) { make_handle(1); }
static void dependent_interior(void) { age(&within, 1), gc_handle_create_dependent(heap, within, &within->right); }
static void set_interior(void) { age(&within, 1), gc_handle_set(gc_handle_create(heap, GC_HANDLE_STRONG, within), &within->right); }
static void large_interior(void) { gc_handle_create(heap, GC_HANDLE_WEAK, new_bytes(GC_LARGE_BYTES + 1)->items); }
static void stale(void) {
    node *n = within;
    for (int i = 0; i < 3; i++) compact();
    gc_handle_create(heap, GC_HANDLE_WEAK, n);
}
static void change_mode(void) { gc_collect(heap, 2, GC_COLLECT_BLOCKING); }

static void mode_in_hook(void *host, const gc_collection *collection) { (void)host, (void)collection, gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE); }

static void misuse(void *what) {
    begin(&(gc_options){.collection_end = *(void (**)(void))what == change_mode ? mode_in_hook : NULL});
    gc_roots_add(heap, &within, 1, 0);
    within = new_node(3);
    node *n = new_node(4);
    gc_store(gc, &within->left, n);
    (*(void (**)(void))what)();
}

static void asserted(void) {
    static const struct {
        void (*call)(void);
        const char *name, *says;
    } cases[] = {
        {young_interior, "a young object's inside in a handle", "no object begins there"},
        {young_field, "its field", "no object begins there"},
        {odd, "an odd address", "no object begins there"},
        {old_interior, "an old object's inside", "no object begins there"},
        {dependent_interior, "as a dependent", "no object begins there"},
        {set_interior, "by gc_handle_set", "no object begins there"},
        {large_interior, "a large object's inside", "no object begins there"},
        {stale, "an address where no object is any more", "no object begins there"},
        {change_mode, "gc_thread_set_mode in a hook", "gc_thread_set_mode: called by a hook"},
    };
    static char output[4000];
    for (size_t i = 0; GC_DEBUG >= 1 && i < sizeof cases / sizeof *cases; i++) {
        is(tap_child(misuse, (void *)(uintptr_t)&cases[i].call, output, sizeof output), 256 + 6, "%s is asserted", cases[i].name);
        has(output, cases[i].says, "by name");
    }
}

int main(void) {
    asserted();
    handles = (gc_handle *)calloc(MOST, sizeof *handles);
    refused_in_hook();
    for (int k = 0; k < GC_HANDLE_KINDS; k++) refused((gc_handle_kind)k, k % 2 ? 2 * MIB : 5 * MIB);
    for (size_t limit = 8; limit < 16; limit++) ended_handles(limit % 2 ? GC_HANDLE_WEAK : GC_HANDLE_DEPENDENT, limit * MIB / 8);
    beside_garbage();
    beside_free_regions();
    registered();
    list_memory_comes_back();
    registered_in_hooks();
    finalized_types();
    lists_beside_garbage();
    safe_handles();
    external();
    for (size_t limit = 4; limit <= 8; limit++) external_tables(limit * MIB);
    one_region(80);
    one_region(1000);
    gives_up();
    left(true);
    left(false);
    free(handles);
    return done();
}
