/* The handle table, and what collections do with handles: every kind, misuse, ages, reuse, threads, lack of memory, dependent
   chains, and in which order weak handles, finalizers and dependents see an object die. */
#define _GNU_SOURCE
#include "../tap.h"

#include <pthread.h>

/* The table's allocations, which a test can have fail: by calloc, and by what the system has for aligned memory. */
static size_t allocations, allocations_most = SIZE_MAX;
static bool has_memory(void) { return allocations++ < allocations_most; }
#define calloc(count, bytes) (has_memory() ? calloc(count, bytes) : NULL)
#define posix_memalign(memory, alignment, bytes) (has_memory() ? posix_memalign(memory, alignment, bytes) : 12)
#define _aligned_malloc(bytes, alignment) (has_memory() ? _aligned_malloc(bytes, alignment) : NULL)

#define GC_IMPLEMENTATION
#include "../fixture.h"
#undef calloc
#undef posix_memalign
#undef _aligned_malloc

static const char *const kind_names[] = {"weak", "weak long", "strong", "pinned", "dependent", "ref-counted"};

/* Every place of a block in use is a handle, or in exactly one chain of its kind. */
static void check_table(const char *when) {
    gc__handles *all = heap->handles;
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++) {
        size_t blocks = 0, chained = 0, wrong = 0;
        for (gc__handle_segment *s = all->segments; s; s = s->next)
            for (size_t b = 0; b < GC__HANDLE_BLOCKS; b++) {
                blocks += s->kinds[b] == kind;
                if (s->kinds[b] == kind) wrong += gc__handle_has_extra((gc_handle_kind)kind) != (s->extras[b] != NULL);
            }
        gc_thread *thread = heap->threads->first;
        for (gc__handle_cache *cache = &all->free[kind]; cache;) {
            size_t count = 0;
            for (uintptr_t at = cache->first; at; at = *(gc_word *)at - GC__HANDLE_FREE, count++) {
                gc__handle_segment *s = gc__handle_segment_of(at);
                wrong +=
                    (int)gc__handle_kind(s, gc__handle_index(s, at)) != kind || !(*(gc_word *)at & GC__HANDLE_FREE);
            }
            wrong += count != cache->count;
            chained += count;
            cache = thread ? &gc__record(thread)->handle_caches[kind] : NULL;
            if (thread) thread = gc__record(thread)->next;
        }
        if (wrong || blocks * GC__HANDLE_BLOCK != chained + gc_handle_count(heap, (gc_handle_kind)kind))
            ok(false, "%s: %s: %zu blocks, %zu free, %zu in use, %zu wrong", when, kind_names[kind], blocks, chained,
               gc_handle_count(heap, (gc_handle_kind)kind), wrong);
    }
}

static bool unchecked; /* the second mark takes long chains link by link */

static size_t segments(void) {
    size_t count = 0;
    for (gc__handle_segment *s = heap->handles->segments; s; s = s->next) count++;
    return count;
}

/* Checked after each test: the table is sound. */
static void test(const char *name, void (*body)(void), gc_options options) {
    diag("%s", name);
    options.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER;
    options.debug.checkmark = !unchecked;
    begin(&options);
    body();
    check_table(name);
    end();
}

static bool held;
static size_t asked;
static bool handle_is_held(void *host, gc_handle handle, void *object, void *word) {
    (void)host, (void)handle, (void)word;
    asked += object != NULL;
    return held;
}

static void every_kind(void) {
    node *a = NULL, *b = NULL, *c = NULL;
    GC_ROOTS(gc, a, b, c);
    held = true;
    for (int k = 0; k < GC_HANDLE_KINDS; k++) {
        gc_handle_kind kind = (gc_handle_kind)k;
        const char *name = kind_names[k];
        a = new_node(1), b = new_node(2), c = new_node(3);
        gc_handle h = gc_handle_create(heap, kind, NULL), other = gc_handle_create(heap, kind, a);
        ok(h && other && h != other, "%s: created", name);
        ok(!gc_handle_get(h) && gc_handle_get(other) == a, "%s: read", name);
        is(gc_handle_set(h, b), GC_OK, "%s: set", name);
        ok(gc_handle_compare_exchange(h, c, a) == b && gc_handle_get(h) == b, "%s: not exchanged", name);
        ok(gc_handle_compare_exchange(h, c, b) == b && gc_handle_get(h) == c, "%s: exchanged", name);
        if (kind == GC_HANDLE_DEPENDENT) is(gc_handle_set_dependent(h, b), GC_OK, "its dependent is set");
        if (kind == GC_HANDLE_REF_COUNTED) is(gc_handle_set_host_word(h, &held), GC_OK, "its host word is set");
        gc_handle twin = gc_handle_duplicate(heap, h);
        ok(twin && twin != h && gc_handle_get(twin) == c, "%s: duplicated", name);
        if (kind == GC_HANDLE_DEPENDENT) {
            ok(gc_handle_dependent(twin) == b, "with its dependent");
            gc_handle_set(twin, NULL);
            ok(!gc_handle_dependent(twin), "which it has not without an object");
            gc_handle_set(twin, c), gc_handle_set_dependent(twin, b);
        }
        if (kind == GC_HANDLE_REF_COUNTED) ok(gc_handle_host_word(twin) == &held, "with its host word");
        is(gc_handle_count(heap, kind), 3, "%s: counted", name);
        compact();
        gc_collect(heap, 0, 0);
        ok(gc_handle_get(h) == c && gc_handle_get(twin) == c && gc_handle_get(other) == a, "%s: follows", name);
        if (kind == GC_HANDLE_DEPENDENT) ok(gc_handle_dependent(h) == b, "and its dependent");
        void *was = c;
        c = NULL, full();
        bool keeps = kind == GC_HANDLE_STRONG || kind == GC_HANDLE_PINNED || kind == GC_HANDLE_REF_COUNTED;
        ok((gc_handle_get(h) != NULL) == keeps && (gc_handle_get(twin) != NULL) == keeps, "%s: keeps, or is cleared",
           name);
        if (kind == GC_HANDLE_PINNED) compact(), ok(gc_handle_get(h) == was, "and the object stays where it is");
        if (kind == GC_HANDLE_DEPENDENT) ok(!gc_handle_dependent(h) && b, "a dead object has no dependent");
        gc_handle_destroy(heap, h), gc_handle_destroy(heap, twin), gc_handle_destroy(heap, other);
        is(gc_handle_count(heap, kind), 0, "%s: destroyed", name);
    }
    ok(!gc_handle_create(heap, (gc_handle_kind)77, NULL) && gc_last_result() == GC_ERROR_OPTION, "there is no kind 77");
    gc_handle_destroy(heap, NULL);
}

/* Misuse: `use` says how, of a handle that was destroyed, NULL, or of the wrong kind. */
static gc_handle misused;
static gc_heap *misused_heap;
static gc_result misused_result;
static void misuse(void *which) {
    switch (*(int *)which) {
    case 0:
        gc_handle_destroy(heap, misused);
        break;
    case 1:
        ok(!gc_handle_get(misused), "get gives nothing");
        break;
    case 2:
        is(gc_handle_set(misused, NULL), misused_result, "set fails");
        break;
    case 3:
        ok(!gc_handle_compare_exchange(misused, heap, NULL), "exchange gives nothing");
        break;
    case 4:
        ok(!gc_handle_duplicate(heap, misused), "duplicate gives none");
        break;
    case 5:
        ok(!gc_handle_dependent(misused), "dependent gives nothing");
        break;
    case 6:
        is(gc_handle_set_dependent(misused, heap), misused_result, "set_dependent fails");
        break;
    case 7:
        ok(!gc_handle_host_word(misused), "host_word gives nothing");
        break;
    case 8:
        is(gc_handle_set_host_word(misused, heap), misused_result, "set_host_word fails");
        break;
    default:
        ok(!gc_handle_duplicate(misused_heap, misused), "duplicate gives none in another heap");
        break;
    }
}

/* Each ends the process with a message, or, without GC_DEBUG, fails and changes nothing. */
static void check_misuse(gc_handle handle, int from, int to, const char *message) {
    static char report[4096];
    misused = handle;
    misused_result = handle ? GC_ERROR_HANDLE : GC_ERROR_ARGUMENT;
    for (int which = from; which <= to; which++) {
        if (GC_DEBUG >= 1) {
            is(tap_child(misuse, &which, report, sizeof report), 256 + 6, "misuse %d aborts", which);
            has(report, message, "and says why");
            continue;
        }
        gc__fail(GC_OK, "-");
        misuse(&which);
        is(gc_last_result(), misused_result, "misuse %d: %s", which, gc_result_text(misused_result));
        has(gc_last_message(), message, "and the message says why");
    }
}

/* An object is passed where a collection may move it meanwhile. */
static void pass_in_preemptive_mode(void *object) {
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    gc_handle_create(heap, GC_HANDLE_STRONG, object);
}

static void *pass_unattached(void *object) {
    gc_handle_create_dependent(heap, NULL, object);
    return NULL;
}
static void pass_from_outside(void *object) {
    pthread_t thread;
    pthread_create(&thread, NULL, pass_unattached, object);
    pthread_join(thread, NULL);
}

static void passes(void) {
    static char report[4096];
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    gc_handle_destroy(heap, gc_handle_create(heap, GC_HANDLE_STRONG, a));
    for (int outside = 0; GC_DEBUG >= 1 && outside < 2; outside++) {
        is(tap_child(outside ? pass_from_outside : pass_in_preemptive_mode, a, report, sizeof report), 256 + 6,
           "an object passed to a handle %s aborts",
           outside ? "by a thread that is not attached" : "in preemptive mode");
        has(report, "GC_MODE_COOPERATIVE", "and the message shows the remedy");
    }
}

static void misuses(void) {
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    gc_handle strong = gc_handle_create(heap, GC_HANDLE_STRONG, a), gone = gc_handle_create_dependent(heap, a, a);
    gc_handle_destroy(heap, gone);
    check_misuse(gone, 0, 8, "was destroyed");
    gc_handle again = gc_handle_create_dependent(heap, a, NULL);
    ok(again != gone, "the place is used again, by another handle");
    check_misuse(gone, 0, 8, "was destroyed");
    ok(gc_handle_get(again) == a && !gc_handle_dependent(again), "misuse of the former one leaves it alone");
    check_misuse(NULL, 1, 8, "is NULL");
    check_misuse(strong, 5, 8, "another kind");
    ok(gc_handle_get(strong) == a, "a strong handle has no other word to overwrite");
    gc_handle_destroy(heap, again);
    full(), full(); /* the block becomes another kind's */
    gc_handle kinds[GC_HANDLE_KINDS];
    for (int k = 0; k < GC_HANDLE_KINDS; k++) kinds[k] = gc_handle_create(heap, (gc_handle_kind)k, a);
    check_misuse(gone, 0, 8, "was destroyed");
    check_misuse(again, 0, 8, "was destroyed");
    for (int k = 0; k < GC_HANDLE_KINDS; k++) ok(gc_handle_get(kinds[k]) == a, "and leaves %s alone", kind_names[k]);
    gc_options none = {0};
    misused_heap = gc_heap_create(&none);
    check_misuse(strong, 9, 9, "another heap");
    gc_heap_destroy(misused_heap);
}

/* A place that is used 65,536 times has the first handle's value again, and no sooner. */
static void tags_wrap(void) {
    gc_handle first = gc_handle_create(heap, GC_HANDLE_STRONG, NULL), handle = first;
    size_t same = 0;
    for (int i = 0; i < 65535; i++) {
        gc_handle_destroy(heap, handle);
        handle = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
        same += handle == first;
    }
    is(same, 0, "a value does not come back in 65,535 reuses");
    gc_handle_destroy(heap, handle);
}

static void ages(void) {
    enum { COUNT = 256 };
    static gc_handle handles[COUNT];
    gc_handle weak[4];
    held = true;
    for (size_t i = 0; i < COUNT; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, new_node(i));
    asked = 0, gc_collect(heap, 0, 0);
    is(asked, COUNT, "handles of young objects are all looked at");
    asked = 0, gc_collect(heap, 0, 0);
    is(asked, 0, "those of survivors are not, by a young collection");
    asked = 0, gc_collect(heap, 1, 0);
    is(asked, COUNT, "but by the next older");
    asked = 0, gc_collect(heap, 1, 0);
    is(asked, 0, "and not again");
    asked = 0, full();
    is(asked, COUNT, "a full collection looks at all");
    gc_handle_set(handles[100], new_node(7));
    asked = 0, gc_collect(heap, 0, 0);
    /* Without moving, what is left of a region may be young again. */
    is(asked, heap->options.non_moving ? COUNT : GC__HANDLE_CLUMP,
       "an old handle set to a young object has its clump looked at");
    is(((node *)gc_handle_get(handles[100]))->value, 7, "and keeps it");
    node *young = new_node(8);
    ok(gc_handle_compare_exchange(handles[50], young, gc_handle_get(handles[50])) != young, "exchanged");
    gc_collect(heap, 0, 0);
    is(((node *)gc_handle_get(handles[50]))->value, 8, "so does one that a young object was exchanged into");
    node *old = new_node(9);
    GC_ROOTS(gc, old);
    for (int i = 0; i < 4; i++) weak[i] = gc_handle_create(heap, (gc_handle_kind)(i % 2), old);
    gc_handle dependent = gc_handle_create_dependent(heap, old, NULL);
    full(), full();
    gc_handle_set(weak[0], new_node(1)), gc_handle_set(weak[1], new_node(1));
    gc_handle_set_dependent(dependent, new_node(10));
    gc_collect(heap, 0, 0);
    ok(!gc_handle_get(weak[0]) && !gc_handle_get(weak[1]), "old weak handles of the young dead are cleared");
    ok(gc_handle_get(weak[2]) == old && gc_handle_get(weak[3]) == old, "others of the clump are not");
    node *value = gc_handle_dependent(dependent);
    ok(value && value->value == 10, "an old handle keeps a young dependent of an old object");
    for (int i = 0; i < 4; i++) gc_handle_destroy(heap, weak[i]);
    gc_handle_destroy(heap, dependent);
}

/* Stores into a handle's place without raising the clump's youth. */
static void store_behind(void *kind) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    gc_handle handle = *(int *)kind == GC_HANDLE_DEPENDENT ? gc_handle_create_dependent(heap, n, n)
                                                           : gc_handle_create(heap, *(gc_handle_kind *)kind, n);
    full(), full();
    gc_word *place = gc__handle_find(handle, ""), *slot = *(int *)kind == GC_HANDLE_DEPENDENT ? gc__place_extra(place) : place;
    *slot = (gc_word)new_node(2);
    gc_heap_verify(heap);
}

static void behind_the_back(void) {
    static char report[4096];
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++) {
        if (kind == GC_HANDLE_PINNED) continue; /* what is pinned stays young */
        is(tap_child(store_behind, &kind, report, sizeof report), 256 + 6, "verify aborts: %s", kind_names[kind]);
        has(report, "gc_handle_set", "a store behind the back of the table");
    }
}

static void reuse(void) {
    enum { COUNT = 3 * GC__HANDLE_PLACES };
    static gc_handle handles[COUNT];
    static char seen[GC_HANDLE_KINDS];
    size_t most = 0, wrong = 0;
    for (int round = 0; round < 2 * GC_HANDLE_KINDS; round++) {
        gc_handle_kind kind = (gc_handle_kind)(round % GC_HANDLE_KINDS);
        for (size_t i = 0; i < COUNT; i++) handles[i] = gc_handle_create(heap, kind, NULL);
        if (round == 0) most = segments();
        is(gc_handle_count(heap, kind), COUNT, "%s: many", kind_names[kind]);
        check_table("many");
        /* All but one in a thousand, so that few blocks can change their kind. */
        for (size_t i = 0; i < COUNT; i++)
            if (i % 1000) gc_handle_destroy(heap, handles[i]);
        full();
        check_table("after a full collection");
        for (size_t i = 0; i < COUNT; i += 1000) wrong += gc_handle_get(handles[i]) != NULL;
        for (size_t i = 0; i < COUNT; i += 1000) gc_handle_destroy(heap, handles[i]);
        gc_collect(heap, 0, 0);
        check_table("after a young one");
        full();
        seen[kind]++;
    }
    is(wrong, 0, "handles that stay are not disturbed");
    is(segments(), most, "blocks without handles become any kind's: no more segments than for one kind");
    is(most, 3, "three segments hold three segments' handles");
    is(heap->handles->free_blocks.count, 3 * GC__HANDLE_BLOCKS, "and at the end all are free");
}

typedef struct walked {
    size_t count, most, objects, extras;
    int last_kind;
    bool grouped;
} walked;
static bool walk_one(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra) {
    walked *w = context;
    if ((int)kind < w->last_kind) w->grouped = false;
    w->last_kind = (int)kind;
    w->objects += object && object == gc_handle_get(handle);
    if (kind == GC_HANDLE_DEPENDENT)
        w->extras += extra && extra == gc_handle_dependent(handle);
    else if (kind == GC_HANDLE_REF_COUNTED)
        w->extras += extra && extra == gc_handle_host_word(handle);
    else
        w->extras += extra != NULL;
    return ++w->count < w->most;
}

static void walk(void) {
    enum { COUNT = 300 };
    gc_handle handles[COUNT];
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    for (size_t i = 0; i < COUNT; i++) {
        handles[i] = gc_handle_create(heap, (gc_handle_kind)(i % GC_HANDLE_KINDS), i % 7 ? n : NULL);
        if (i % GC_HANDLE_KINDS == GC_HANDLE_DEPENDENT && i % 7) gc_handle_set_dependent(handles[i], n);
        if (i % GC_HANDLE_KINDS == GC_HANDLE_REF_COUNTED) gc_handle_set_host_word(handles[i], n);
    }
    for (size_t i = 0; i < COUNT; i += 10) gc_handle_destroy(heap, handles[i]);
    size_t objects = 0, extras = 0;
    for (size_t i = 0; i < COUNT; i++) {
        objects += i % 10 && i % 7;
        extras += i % 10 && ((i % 6 == GC_HANDLE_DEPENDENT && i % 7) || i % 6 == GC_HANDLE_REF_COUNTED);
    }
    walked all = {.most = SIZE_MAX, .grouped = true}, few = {.most = 5, .grouped = true};
    gc_handle_walk(heap, walk_one, &all);
    is(all.count, COUNT - COUNT / 10, "a walk visits all handles");
    is(all.objects, objects, "with their objects");
    is(all.extras, extras, "and their other words");
    ok(all.grouped, "grouped by kind");
    gc_handle_walk(heap, walk_one, &few);
    is(few.count, 5, "until it is told to stop");
}

/* Threads. */

enum { PER_THREAD = 10000 };
typedef struct destroyer {
    pthread_t thread;
    gc_handle *handles;
    bool attached;
    size_t wrong;
} destroyer;
static size_t running, collected; /* atomic */
enum { COLLECTIONS = 24 };

static void *destroy_and_create(void *argument) {
    destroyer *d = argument;
    gc_thread *thread = d->attached ? gc_thread_attach(heap) : NULL;
    if (thread) gc_thread_set_mode(thread, GC_MODE_PREEMPTIVE);
    /* As many as collections have passed, so that all of these have some destroyed meanwhile. */
    for (size_t i = 0, n = 0; i < PER_THREAD; n++) {
        if (i < PER_THREAD / COLLECTIONS * __atomic_load_n(&collected, __ATOMIC_SEQ_CST))
            gc_handle_destroy(heap, d->handles[i++]);
        gc_handle_kind kind = (gc_handle_kind)(n % GC_HANDLE_KINDS);
        gc_handle one = gc_handle_create(heap, kind, NULL), two = gc_handle_create(heap, kind, NULL);
        d->wrong += !one || !two || one == two || gc_handle_get(one) || gc_handle_get(two);
        gc_handle_destroy(heap, one);
        gc_handle_destroy(heap, two);
    }
    if (thread) gc_thread_set_mode(thread, GC_MODE_COOPERATIVE), gc_thread_detach(thread);
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void other_threads(void) {
    enum { THREADS = 3 };
    static gc_handle handles[THREADS][PER_THREAD];
    destroyer d[THREADS];
    size_t wrong = 0;
    node *n = NULL, *kept = new_node(1);
    GC_ROOTS(gc, n, kept);
    for (size_t t = 0; t < THREADS; t++)
        for (size_t i = 0; i < PER_THREAD; i++) {
            n = i % 4 ? new_node(i) : kept;
            handles[t][i] = i % 3 ? gc_handle_create(heap, (gc_handle_kind)(i % GC_HANDLE_KINDS), n)
                                  : gc_handle_create_dependent(heap, kept, n);
        }
    n = NULL;
    running = THREADS, collected = 0;
    for (size_t t = 0; t < THREADS; t++) {
        d[t] = (destroyer){.handles = handles[t], .attached = t == 1};
        if (pthread_create(&d[t].thread, NULL, destroy_and_create, &d[t]) != 0) abort();
    }
    for (int i = 0; __atomic_load_n(&running, __ATOMIC_SEQ_CST); i++) {
        gc_handle h = gc_handle_create_dependent(heap, kept, new_node(5));
        gc_collect(heap, i % 3, i % 5 ? 0 : GC_COLLECT_COMPACTING);
        __atomic_fetch_add(&collected, 1, __ATOMIC_SEQ_CST);
        node *value = gc_handle_dependent(h);
        wrong += !value || value->value != 5;
        gc_handle_destroy(heap, h);
    }
    for (size_t t = 0; t < THREADS; t++) {
        gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
        pthread_join(d[t].thread, NULL);
        gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
        wrong += d[t].wrong;
    }
    diag("%zu collections meanwhile", collected);
    is(wrong, 0, "handles are destroyed and created by other threads while collections run");
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        is(gc_handle_count(heap, (gc_handle_kind)kind), 0, "none is left: %s", kind_names[kind]);
    full();
}

static void *leave_places(void *argument) {
    gc_handle handles[GC__HANDLE_BLOCK];
    gc_thread *thread = gc_thread_attach(heap);
    for (size_t i = 0; i < GC__HANDLE_BLOCK; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_PINNED, NULL);
    for (size_t i = 0; i < GC__HANDLE_BLOCK; i++) gc_handle_destroy(heap, handles[i]);
    *(size_t *)argument = gc__record(thread)->handle_caches[GC_HANDLE_PINNED].count;
    gc_thread_detach(thread);
    return NULL;
}

static void detaching(void) {
    pthread_t thread;
    size_t cached = 0;
    if (pthread_create(&thread, NULL, leave_places, &cached) != 0) abort();
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    is(cached, GC__HANDLE_BLOCK, "a thread keeps free places");
    is(heap->handles->free[GC_HANDLE_PINNED].count, cached, "and gives them back as it detaches");
    check_table("after a thread has detached");
    enum { MANY = 3 * GC__HANDLE_CACHE_MAX };
    static gc_handle handles[MANY];
    for (size_t i = 0; i < MANY; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_WEAK, NULL);
    for (size_t i = 0; i < MANY; i++) gc_handle_destroy(heap, handles[i]);
    ok(gc__record(gc)->handle_caches[GC_HANDLE_WEAK].count <= GC__HANDLE_CACHE_MAX,
       "a thread does not hoard free places");
    ok(heap->handles->free[GC_HANDLE_WEAK].count >= MANY - GC__HANDLE_CACHE_MAX, "others can have them");
}

static void no_memory(void) {
    for (size_t most = 0; most < 3; most++) {
        for (int k = 0; k < GC_HANDLE_KINDS; k++) {
            size_t before = gc_handle_count(heap, (gc_handle_kind)k), count = 0;
            static gc_handle handles[GC__HANDLE_PLACES * 20]; /* each round may add segments to those of the last */
            allocations = 0, allocations_most = most;
            while ((handles[count] = gc_handle_create(heap, (gc_handle_kind)k, NULL)) != NULL) count++;
            is(gc_last_result(), GC_ERROR_MEMORY, "%s, %zu allocations: GC_ERROR_MEMORY", kind_names[k], most);
            is(gc_handle_count(heap, (gc_handle_kind)k), before + count, "and all others exist");
            check_table("without memory");
            ok(!gc_handle_create_dependent(heap, NULL, NULL) || k != GC_HANDLE_DEPENDENT, "no dependent one either");
            allocations_most = SIZE_MAX;
            while (count) gc_handle_destroy(heap, handles[--count]);
            full();
        }
    }
    gc_handle h = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(1));
    ok(h != NULL, "with memory again they can be created");
    ok(((node *)gc_handle_get(h))->value == 1, "and used");
}

static void ref_counted(void) {
    held = true;
    gc_handle h = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, new_node(1));
    for (int i = 0; i < 5; i++) gc_collect(heap, i % 3, 0);
    node *n = gc_handle_get(h);
    ok(n && n->value == 1, "a ref-counted handle that is held is strong");
    GC_ROOTS(gc, n);
    held = false;
    full();
    ok(gc_handle_get(h) == n, "not held it is weak: the object lives otherwise");
    n = NULL;
    gc_collect(heap, 0, 0);
    full();
    ok(!gc_handle_get(h), "and dies");
    gc_handle_set(h, new_node(2));
    gc_collect(heap, 0, 0);
    ok(!gc_handle_get(h), "young, too");
    asked = 0, full();
    is(asked, 0, "nobody is asked about a handle of nothing");
}

static void nobody_holds(void) {
    gc_handle h = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, new_node(1));
    full();
    ok(!gc_handle_get(h), "without handle_is_held none is held");
}

static void pinned(void) {
    enum { COUNT = 100 };
    gc_handle handles[COUNT];
    node *at[COUNT];
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; i++) {
        for (int k = 0; k < 50; k++) new_node(0);
        handles[i] = gc_handle_create(heap, GC_HANDLE_PINNED, new_node(i));
        at[i] = gc_handle_get(handles[i]);
    }
    for (int i = 0; i < 6; i++) {
        gc_collect(heap, i % 3, GC_COLLECT_COMPACTING);
        for (size_t k = 0; k < COUNT; k++) wrong += gc_handle_get(handles[k]) != at[k] || at[k]->value != k;
        new_node(1);
    }
    is(wrong, 0, "pinned objects stay in place");
    for (size_t i = 0; i < COUNT; i += 2) gc_handle_destroy(heap, handles[i]);
    full();
    is(stats().live_bytes, COUNT / 2 * sizeof(node), "and die with their handles");
}

/* Dependent handles. */

static node *dependent_node(gc_handle handle) { return gc_handle_dependent(handle); }

static void dependents(void) {
    node *key = new_node(1), *value = NULL, *other = NULL;
    GC_ROOTS(gc, key, value, other);
    gc_handle h = gc_handle_create_dependent(heap, key, new_node(2));
    full();
    ok(dependent_node(h) && dependent_node(h)->value == 2, "the dependent of a living object lives");
    gc_collect(heap, 0, 0), compact();
    ok(gc_handle_get(h) == key && dependent_node(h)->value == 2, "and both are followed as they move");
    value = dependent_node(h);
    key = NULL, full();
    ok(!gc_handle_get(h) && !gc_handle_dependent(h) && value->value == 2,
       "a dead object clears both, the dependent lives on");
    gc_handle_set(h, value), gc_handle_set_dependent(h, value), full();
    ok(gc_handle_dependent(h) == value, "an object may be its own dependent");
    value = NULL, full();
    ok(!gc_handle_get(h), "which does not keep it");
    gc_handle_set(h, new_node(3)), value = new_node(4);
    gc_store(gc, &value->left, gc_handle_get(h)), gc_handle_set_dependent(h, value);
    value = NULL, full();
    ok(!gc_handle_get(h) && stats().live_bytes == 0, "nor does one that refers to its object");
    /* Two that keep one another's object. */
    gc_handle back = gc_handle_create(heap, GC_HANDLE_DEPENDENT, NULL);
    for (int rooted = 0; rooted < 2; rooted++) {
        key = new_node(5), other = new_node(6);
        gc_handle_set(h, key), gc_handle_set_dependent(h, other);
        gc_handle_set(back, other), gc_handle_set_dependent(back, key);
        if (rooted)
            key = NULL;
        else
            key = NULL, other = NULL;
        gc_collect(heap, 0, 0), full();
        is(gc_handle_get(h) != NULL, rooted, "a cycle through two handles %s", rooted ? "lives from one root" : "dies");
        is(gc_handle_dependent(back) != NULL, rooted, "as a whole");
        key = other = NULL;
    }
    gc_handle_set(h, NULL), gc_handle_set_dependent(h, new_node(7)), full();
    ok(!gc_handle_dependent(h), "nothing has no dependent");
    static node outside;
    gc_handle_set(h, &outside), gc_handle_set_dependent(h, new_node(8));
    gc_collect(heap, 0, 0), full();
    ok(dependent_node(h) && dependent_node(h)->value == 8, "the dependent of what is on no heap lives");
    gc_handle_set_dependent(h, &outside), gc_handle_set(h, new_node(1)), full();
    ok(!gc_handle_get(h) && !gc_handle_dependent(h), "a dependent may be on no heap");
}

/* Objects of all sorts, each the dependent of the one before, so that each is found only by waiting for it. */
static void sorts_of_keys(void) {
    enum { SORTS = 6, EACH = 3 };
    void *keys[SORTS + 1] = {NULL};
    GC_ROOTS_ARRAY(gc, keys, SORTS + 1, 0);
    gc_handle handles[SORTS][EACH], pin;
    for (int round = 0; round < 4; round++) {
        keys[0] = new_node(0);
        age(&keys[0], round % 3);
        keys[1] = new_bytes(10);                  /* a leaf */
        keys[2] = new_bytes(GC_LARGE_BYTES * 2);  /* large */
        keys[3] = new_vector(GC_LARGE_BYTES / 4); /* large, and long */
        keys[4] = new_node(4);
        pin = gc_handle_create(heap, GC_HANDLE_PINNED, keys[4]);
        keys[5] = new_node(5);
        keys[6] = new_bytes(20);
        for (size_t i = SORTS; i-- > 0;)
            for (size_t k = 0; k < EACH; k++) {
                /* Several for each; the first has the next key, and the others something of their own. */
                void *value = k ? (void *)new_node(i * 10 + k) : keys[i + 1];
                handles[i][k] = gc_handle_create_dependent(heap, keys[i], value);
            }
        memset(&keys[1], 0, sizeof keys - sizeof keys[0]);
        if (round == 3) gc_handle_destroy(heap, pin), pin = NULL;
        for (int c = 0; c < 5; c++) {
            gc_collect(heap, c % 3, c % 2 ? GC_COLLECT_COMPACTING : 0);
            size_t wrong = 0;
            void *expected = keys[0];
            for (size_t i = 0; i < SORTS; i++) {
                for (size_t k = 0; k < EACH; k++) wrong += gc_handle_get(handles[i][k]) != expected;
                for (size_t k = 1; k < EACH; k++)
                    wrong += !dependent_node(handles[i][k]) || dependent_node(handles[i][k])->value != i * 10 + k;
                expected = gc_handle_dependent(handles[i][0]);
                wrong += !expected;
            }
            is(wrong, 0, "keys of all sorts, round %d, collection %d", round, c);
        }
        keys[0] = NULL;
        full();
        size_t left = 0;
        for (size_t i = 0; i < SORTS; i++)
            for (size_t k = 0; k < EACH; k++)
                left += gc_handle_get(handles[i][k]) || gc_handle_dependent(handles[i][k]);
        is(left, pin ? 2 * EACH : 0, "and die with the first of them, but for what is pinned");
        gc_handle_destroy(heap, pin);
        for (size_t i = 0; i < SORTS; i++)
            for (size_t k = 0; k < EACH; k++) gc_handle_destroy(heap, handles[i][k]);
    }
}

/* A chain of dependents whose handles were created in some order. Were all that wait looked at for each link, it would take
   minutes. */
static size_t chain_count = 100000;
enum { IN_ORDER, REVERSED, SHUFFLED, ORDERS };

static void chain(int order) {
    gc_handle *handles = malloc(chain_count * sizeof *handles);
    size_t *links = malloc(chain_count * sizeof *links), wrong = 0;
    node *first = new_node(0);
    vector *nodes = new_vector(chain_count + 1);
    GC_ROOTS(gc, first, nodes);
    for (size_t i = 0; i <= chain_count; i++) {
        node *n = i ? new_node(i) : first;
        gc_store(gc, &nodes->items[i], n);
    }
    for (size_t i = 0; i < chain_count; i++) links[i] = order == REVERSED ? chain_count - 1 - i : i;
    for (size_t i = chain_count; order == SHUFFLED && i > 1; i--) {
        size_t k = random_bits() % i, link = links[k];
        links[k] = links[i - 1], links[i - 1] = link;
    }
    for (size_t i = 0; i < chain_count; i++)
        handles[links[i]] = gc_handle_create_dependent(heap, nodes->items[links[i]], nodes->items[links[i] + 1]);
    nodes = NULL;
    for (int collection = 0; collection < 3; collection++) {
        gc_collect(heap, collection, 0);
        node *expected = first;
        for (size_t i = 0; expected && i < chain_count; i++) {
            wrong += gc_handle_get(handles[i]) != expected;
            expected = dependent_node(handles[i]);
            wrong += !expected || expected->value != i + 1;
        }
    }
    is(wrong, 0, "a chain of %zu, order %d", chain_count, order);
    first = NULL;
    full();
    for (size_t i = 0; i < chain_count; i++) wrong += gc_handle_get(handles[i]) || gc_handle_dependent(handles[i]);
    is(wrong, 0, "dies as a whole");
    is(stats().live_bytes, 0, "and leaves nothing");
    for (size_t i = 0; i < chain_count; i++) gc_handle_destroy(heap, handles[i]);
    free(handles), free(links);
}

static void chains(void) {
    for (int order = 0; order < ORDERS; order++) chain(order);
    gc_handle few = gc_handle_create_dependent(heap, new_node(1), new_node(2));
    full();
    gc_handle_set(few, new_node(3)), gc_handle_set_dependent(few, new_node(4));
    full();
    ok(heap->handles->keys.capacity < 100000, "a later collection does not clear a map for so many");
}

/* The order within one collection: dependents, short weak, finalizers, dependents again, long weak and dead dependents. */
static gc_handle in_finalizer_weak, in_finalizer_long, in_finalizer_dependent, in_finalizer_held, keeper;
static int finalized;
static void note_order(gc_thread *thread, void *object) {
    (void)thread;
    finalized++;
    ok(!gc_handle_get(in_finalizer_weak), "short weak handles are cleared before the finalizer");
    ok(!gc_handle_get(in_finalizer_held), "and ref-counted ones that are not held");
    ok(gc_handle_get(in_finalizer_long) == object, "long ones are not");
    node *value = gc_handle_dependent(in_finalizer_dependent);
    ok(value && value->value == 2, "the dependent of an object that is finalized lives");
    node *field = ((node *)object)->left;
    ok(field && field->value == 3, "and what it refers to");
    gc_handle_set(keeper, finalized == 1 ? object : NULL);
}
static const gc_finalizer order_finalizer = {note_order, false, NULL};

static void weak_order(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    held = false, finalized = 0;
    gc_store(gc, &n->left, new_node(3));
    in_finalizer_weak = gc_handle_create(heap, GC_HANDLE_WEAK, n);
    in_finalizer_long = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, n);
    in_finalizer_held = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, n);
    in_finalizer_dependent = gc_handle_create_dependent(heap, n, NULL);
    gc_handle_set_dependent(in_finalizer_dependent, new_node(2));
    keeper = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    gc_finalizer_register(gc, n, &order_finalizer);
    gc_handle deep = gc_handle_create(heap, GC_HANDLE_WEAK, n->left),
              deep_long = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, n->left);
    n = NULL;
    gc_collect(heap, 0, 0);
    is(gc_finalizer_pending(heap), 1, "one is due");
    full(), compact();
    ok(!gc_handle_get(deep) && gc_handle_get(deep_long), "what only a finalizer can reach: short cleared, long not");
    is(gc_finalizer_run(gc, 10), 1, "and runs");
    full();
    ok(gc_handle_get(in_finalizer_long) && gc_handle_get(in_finalizer_long) == gc_handle_get(keeper), "resurrected");
    ok(dependent_node(in_finalizer_dependent)->value == 2, "with its dependent");
    gc_finalizer_register(gc, gc_handle_get(keeper), &order_finalizer);
    gc_handle_set(keeper, NULL);
    full();
    is(gc_finalizer_run(gc, 10), 1, "registered again, it runs again");
    ok(gc_handle_get(in_finalizer_long) && gc_handle_dependent(in_finalizer_dependent), "until the memory goes");
    full();
    ok(!gc_handle_get(in_finalizer_long) && !gc_handle_dependent(in_finalizer_dependent) && !gc_handle_get(deep_long),
       "then all are cleared");
    is(stats().live_bytes, 0, "and nothing is left");
}

static void suppressed(void) {
    node *n = new_node(1);
    GC_ROOTS(gc, n);
    ok(!gc_finalizer_suppress(gc, n), "there is none to suppress");
    gc_handle h = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, n);
    gc_finalizer_register(gc, n, &order_finalizer);
    n = NULL, full();
    is(gc_finalizer_pending(heap), 1, "queued");
    ok(gc_finalizer_suppress(gc, gc_handle_get(h)), "taken back from the queue");
    is(gc_finalizer_pending(heap), 0, "none is pending");
    ok(!gc_finalizer_suppress(gc, gc_handle_get(h)) && !gc_finalizer_suppress(gc, NULL), "nor there to suppress");
    full();
    ok(!gc_handle_get(h), "and the object dies");
    is(gc_finalizer_run(gc, 10), 0, "without it");
}

/* Each registration adds a finalizer, without looking for others: a hundred thousand take no time. */
static void count_finalizers(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    finalized++;
}
static void registered_often(void) {
    static const gc_finalizer counting = {count_finalizers, false, NULL};
    node *n = NULL;
    GC_ROOTS(gc, n);
    finalized = 0;
    for (int i = 0; i < 100000; i++) n = new_node(1), gc_finalizer_register(gc, n, &counting);
    for (int i = 0; i < 3; i++) gc_finalizer_register(gc, n, &counting);
    ok(gc_finalizer_suppress(gc, n), "one of four taken back");
    n = NULL;
    full();
    is(gc_finalizer_run(gc, SIZE_MAX), 100002, "finalizers of many objects, and several of one");
    is(finalized, 100002, "each runs");
}

int main(void) {
    const gc_options asking = {.handle_is_held = handle_is_held};
    const gc_options staying = {.handle_is_held = handle_is_held, .non_moving = true};
    const gc_options simple = {.handle_is_held = handle_is_held, .non_generational = true};
    test("every kind", every_kind, asking);
    test("every kind, non-moving", every_kind, staying);
    test("every kind, non-generational", every_kind, simple);
    test("misuse", misuses, (gc_options){0});
    test("an object from elsewhere", passes, (gc_options){0});
    test("tags", tags_wrap, (gc_options){0});
    test("ages", ages, asking);
    test("ages, non-moving", ages, staying);
    test("behind the back", behind_the_back, (gc_options){0});
    test("reuse", reuse, (gc_options){0});
    test("walk", walk, (gc_options){0});
    test("other threads", other_threads, (gc_options){0});
    test("detaching", detaching, (gc_options){0});
    test("no memory", no_memory, (gc_options){0});
    test("ref-counted", ref_counted, asking);
    test("nobody holds", nobody_holds, (gc_options){0});
    test("pinned", pinned, (gc_options){0});
    test("dependents", dependents, (gc_options){0});
    test("sorts of keys", sorts_of_keys, (gc_options){0});
    test("sorts of keys, non-moving", sorts_of_keys, (gc_options){.non_moving = true});
    test("sorts of keys, without memory", sorts_of_keys, (gc_options){.test.scarce_memory = true});
    unchecked = true;
    test("chains", chains, (gc_options){0});
    unchecked = false, chain_count = 300;
    test("chains without memory", chains, (gc_options){.test.scarce_memory = true});
    test("dependents without memory", dependents, (gc_options){.test.scarce_memory = true});
    test("order", weak_order, asking);
    test("order, non-moving", weak_order, staying);
    test("suppressed", suppressed, (gc_options){0});
    test("registered often", registered_often, (gc_options){0});
    return done();
}
