/* Random work of several threads on one heap, checked by sums that every object carries.

   threads [--threads=N] [--seconds=S] [--ops=N per thread] [--seed=S] [--mode=moving|non_moving|conservative|stress|limit|concurrent]

   Threads share a table behind a lock of the host's, which they wait for in preemptive mode. How they interleave is the
   system's choice, so a seed replays what each thread tries, not in which order. */
#define _GNU_SOURCE
#ifdef SHARES_INSIDE
#include "../inside.h"
#else
#define GC_IMPLEMENTATION
#endif
#include "../fixture.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { SHARED = 512, LOCAL = 16, HANDLES = 8 };

static struct {
    unsigned threads;
    double seconds;
    uint64_t ops, seed;
    const char *mode;
    bool finalizer_thread, is_concurrent;
} run_options = {8, 0, 200000, 1, "moving", false, false};

static vector *shared;                                      /* a root of the heap; its items: table_lock */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t deadline_ns;
static size_t ended_alone; /* threads that ended without detaching: atomic */
static size_t registered, suppressed, finalized; /* finalizers: atomic */
static uint32_t held = 1;                        /* whether ref-counted handles are: atomic */

typedef struct worker {
    gc_thread *thread;
    uint64_t random;
    uint64_t ops;
    unsigned number;
    void *local[LOCAL];
    gc_handle handles[HANDLES];
    bool dependent[HANDLES]; /* made by gc_handle_create_dependent */
} worker;

static uint64_t bits(worker *w) {
    w->random ^= w->random << 13, w->random ^= w->random >> 7, w->random ^= w->random << 17;
    return w->random;
}
static size_t below(worker *w, size_t n) { return (size_t)(bits(w) >> 11) % n; }

static void wrong(const char *what) {
    printf("not ok 1 - %s (seed %llu)\n", what, (unsigned long long)run_options.seed);
    fflush(stdout);
    abort();
}

/* An object is a node, whose value's upper half is a sum of the lower, an array of nodes, strong or weak, or a pair of nodes,
   which a trace function of the test's reports. */
typedef struct pair {
    gc_object header;
    node *one, *other;
} pair;
static void trace_pair(void *object, gc_visitor *visitor) { gc_visit(visitor, &((pair *)object)->one, 2, 0); }
static const gc_type pair_type = {.bytes = sizeof(pair), .name = "pair", .trace = trace_pair};
static const gc_type weak_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);

static uint64_t sealed(uint64_t value) { return (value & 0xFFFFFFFF) | (value * 0x9E3779B97F4A7C15u >> 32 << 32 ^ (uint64_t)0x5A5A << 32); }
static uint64_t seal_of(uint32_t value) { return sealed(value); }

static void check_node(const node *n) {
    if (n->header.type != &node_type) wrong("a node's type is overwritten");
    if (n->value != seal_of((uint32_t)n->value)) wrong("a node's value is overwritten");
}

static void check_object(const void *object) {
    if (!object) return;
    if (((const gc_object *)object)->type == &node_type) {
        const node *n = object;
        check_node(n);
        if (n->left) check_node(n->left);
        if (n->right && ((const gc_object *)n->right)->type == &node_type) check_node(n->right);
    } else if (((const gc_object *)object)->type == &vector_type) {
        const vector *v = object;
        if (v->header.length > GC_REGION_BYTES) wrong("an array's length is overwritten");
        if (v->header.length && v->items[0]) check_node(v->items[0]);
        if (v->header.length && v->items[v->header.length - 1]) check_node(v->items[v->header.length - 1]);
    } else if (((const gc_object *)object)->type == &weak_type) {
        const vector *v = object;
        const node *n = gc_load_weak(NULL, &v->items[v->header.length - 1]);
        if (n) check_node(n);
    } else if (((const gc_object *)object)->type == &pair_type) {
        const pair *p = object;
        if (p->one) check_node(p->one);
        if (p->other) check_node(p->other);
    } else {
        wrong("an object's type is overwritten");
    }
}

static node *make_node(worker *w) {
    uint32_t value = (uint32_t)bits(w);
    node *n = gc_new_with(w->thread, &node_type, 0, below(w, 8) ? 0 : GC_NEW_FIXED);
    if (n) n->value = seal_of(value);
    return n;
}

/* A node for a vector's ends, a node or null for a node's fields. */
static node *local_node(worker *w) {
    void *object = w->local[below(w, LOCAL)];
    return object && ((gc_object *)object)->type == &node_type ? object : NULL;
}

static void op_node(worker *w) {
    node *n = make_node(w);
    if (!n) return;
    gc_store(w->thread, &n->left, local_node(w));
    w->local[below(w, LOCAL)] = n;
}

static void op_chain(worker *w) {
    size_t place = below(w, LOCAL);
    for (size_t i = below(w, 60); i > 0; i--) {
        node *n = make_node(w);
        if (!n) return;
        gc_store(w->thread, &n->right, w->local[place]);
        w->local[place] = n;
    }
}

static void op_vector(worker *w) {
    size_t length = below(w, 50) ? 1 + below(w, 100) : 1 + below(w, GC_REGION_BYTES / 16);
    vector *v = gc_new_with(w->thread, &vector_type, length, below(w, 8) ? 0 : GC_NEW_FIXED);
    if (!v) return;
    gc_store(w->thread, &v->items[0], local_node(w));
    gc_store(w->thread, &v->items[length - 1], local_node(w));
    w->local[below(w, LOCAL)] = v;
}

static void op_weak(worker *w) {
    size_t length = 1 + below(w, 300);
    vector *v = gc_new_array(w->thread, &weak_type, length);
    if (!v) return;
    for (size_t i = below(w, 8); i < length; i += 8) gc_store(w->thread, &v->items[i], local_node(w));
    gc_store(w->thread, &v->items[length - 1], local_node(w));
    w->local[below(w, LOCAL)] = v;
}

static void op_pair(worker *w) {
    pair *p = gc_new(w->thread, &pair_type);
    if (!p) return;
    gc_store(w->thread, &p->one, local_node(w));
    gc_store(w->thread, &p->other, local_node(w));
    w->local[below(w, LOCAL)] = p;
}

static void lock_table(worker *w) {
    GC_IN_MODE(w->thread, GC_MODE_PREEMPTIVE);
    pthread_mutex_lock(&table_lock);
}

/* Puts objects into the table, and takes some that others have put there. */
static void op_share(worker *w) {
    lock_table(w);
    for (size_t i = 1 + below(w, 8); i > 0; i--) {
        size_t place = below(w, SHARED), local = below(w, LOCAL);
        void *theirs = shared->items[place];
        check_object(theirs);
        gc_store(w->thread, &shared->items[place], below(w, 4) ? w->local[local] : NULL);
        w->local[local] = theirs;
    }
    pthread_mutex_unlock(&table_lock);
}

/* Stores into objects that others may hold, too. */
static void op_mutate(worker *w) {
    lock_table(w);
    void *object = shared->items[below(w, SHARED)];
    if (object && ((gc_object *)object)->type == &node_type) {
        gc_store(w->thread, &((node *)object)->left, local_node(w));
    } else if (object && ((gc_object *)object)->type == &pair_type) {
        gc_store(w->thread, &((pair *)object)->other, local_node(w));
    } else if (object) {
        vector *v = object;
        gc_store(w->thread, &v->items[v->header.length - 1], local_node(w));
        if (v->header.header.type == &vector_type) gc_copy_refs(w->thread, &v->items[0], &v->items[v->header.length - 1], 1);
    }
    pthread_mutex_unlock(&table_lock);
}

/* The marking of the old generation may be looking at the array. */
static void op_grow(worker *w) {
    lock_table(w);
    vector *v = shared->items[below(w, SHARED)];
    if (v && v->header.header.type == &vector_type) {
        size_t length = v->header.length, more = 1 + below(w, 200);
        node *n = local_node(w);
        if (length + more < GC_REGION_BYTES && gc_array_grow(w->thread, v, length + more))
            for (size_t i = length; i < length + more; i++) gc_store(w->thread, &v->items[i], n);
    }
    pthread_mutex_unlock(&table_lock);
}

static void op_check(worker *w) {
    lock_table(w); /* for objects in w->local may be shared */
    for (int i = 0; i < LOCAL; i++) check_object(w->local[i]);
    pthread_mutex_unlock(&table_lock);
}

static void op_compute(worker *w) {
    for (size_t i = below(w, 2000); i > 0; i--) gc_safepoint(w->thread);
}

static void op_native(worker *w) {
    GC_IN_MODE(w->thread, GC_MODE_PREEMPTIVE);
    struct timespec little = {0, (long)below(w, 50000)};
    if (below(w, 4) == 0) nanosleep(&little, NULL);
    if (below(w, 3)) return;
    GC_IN_MODE(w->thread, GC_MODE_COOPERATIVE); /* a callback */
    op_node(w);
    {
        GC_IN_MODE(w->thread, GC_MODE_PREEMPTIVE);
        if (below(w, 2) == 0) sched_yield();
    }
    op_chain(w);
}

static void op_collect(worker *w) {
    static const unsigned modes[] = {0, GC_COLLECT_NON_BLOCKING, GC_COLLECT_NON_BLOCKING, GC_COLLECT_COMPACTING};
    if (below(w, 30)) return;
    unsigned mode = modes[below(w, 4)];
    gc_collect(heap, (int)below(w, 3), !run_options.is_concurrent || below(w, 4) == 0 ? mode : GC_COLLECT_NON_BLOCKING);
}

/* A dependent handle's object and dependent are nodes whose values have the same lowest bit. */
static void check_handle(gc_handle handle, bool dependent) {
    const node *object = gc_handle_get(handle);
    check_object(object);
    if (!dependent) return;
    const node *value = gc_handle_dependent(handle);
    if (!object != !value) wrong("a dependent handle has lost its object or its dependent");
    if (!value) return;
    check_node(value);
    if ((object->value ^ value->value) & 1) wrong("a dependent handle has a dependent that is not its own");
}

static void handle_drop(worker *w, size_t i) {
    if (!w->handles[i]) return;
    lock_table(w);
    check_handle(w->handles[i], w->dependent[i]);
    pthread_mutex_unlock(&table_lock);
    if (below(w, 3)) {
        gc_handle_destroy(heap, w->handles[i]);
    } else {
        GC_IN_MODE(w->thread, GC_MODE_PREEMPTIVE);
        gc_handle_destroy(heap, w->handles[i]);
    }
    w->handles[i] = NULL;
}

static void op_handle(worker *w) {
    size_t i = below(w, HANDLES);
    handle_drop(w, i);
    w->dependent[i] = false;
    gc_handle_kind kind = (gc_handle_kind)below(w, GC_HANDLE_KINDS);
    if (kind != GC_HANDLE_DEPENDENT) {
        w->handles[i] = gc_handle_create(heap, kind, w->local[below(w, LOCAL)]);
        if (kind == GC_HANDLE_REF_COUNTED && w->handles[i]) gc_handle_set_host_word(w->handles[i], &held); /* the limit may refuse it */
        return;
    }
    node *value = make_node(w);
    if (!value) return;
    node *key = local_node(w);
    if (!key || ((key->value ^ value->value) & 1)) return;
    w->handles[i] = gc_handle_create_dependent(heap, key, value);
    w->dependent[i] = true;
}

static bool handle_is_held(void *host, gc_handle handle, void *object, void *word) {
    (void)host, (void)handle, (void)object;
    return word && __atomic_load_n((uint32_t *)word, __ATOMIC_RELAXED);
}

/* Objects with a finalizer are no nodes of the table's: a finalizer checks its object, and may keep what that refers to. */
static vector *resurrected; /* a root of the heap; its only item: table_lock */
static void finalize(gc_thread *thread, void *object) {
    GC_ROOTS(thread, object);
    __atomic_fetch_add(&finalized, 1, __ATOMIC_RELAXED);
    {
        GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
        pthread_mutex_lock(&table_lock);
    }
    check_object(((node *)object)->left);
    gc_store(thread, &resurrected->items[0], ((node *)object)->left);
    pthread_mutex_unlock(&table_lock);
    gc_new(thread, &node_type);
}
static const gc_finalizer normal = {finalize, false, NULL}, critical = {finalize, true, NULL};
static const gc_type finalized_type = GC_TYPE_FINALIZED(node, normal, left, right);

static void op_finalizer(worker *w) {
    node *n = gc_new(w->thread, below(w, 2) ? &finalized_type : &node_type);
    if (!n) return;
    n->value = seal_of((uint32_t)bits(w));
    gc_store(w->thread, &n->left, local_node(w));
    bool has = n->header.type == &finalized_type;
    if (!has && gc_finalizer_register(w->thread, n, below(w, 2) ? &normal : &critical) == GC_OK) has = true;
    __atomic_fetch_add(&registered, has, __ATOMIC_RELAXED);
    if (has && below(w, 4) == 0) {
        if (!gc_finalizer_suppress(w->thread, n)) wrong("a finalizer that was registered is not there");
        __atomic_fetch_add(&suppressed, 1, __ATOMIC_RELAXED);
    }
    if (below(w, 50) == 0) gc_finalizer_wait(w->thread, 1);
    if (below(w, 50) == 0) __atomic_fetch_xor(&held, 1, __ATOMIC_RELAXED);
    if (!run_options.finalizer_thread && below(w, 10) == 0) gc_finalizer_run(w->thread, below(w, 5));
}

static void op_look(worker *w) {
    if (below(w, 40)) return;
    gc_stats s = stats();
    if (s.used_bytes > s.committed_bytes) wrong("more is used than committed");
    void *pages[4];
    if (gc_heap_take_written_pages(heap, pages, 4) > 4) wrong("more pages are taken than there is room for");
    if (below(w, 10) == 0) gc_heap_verify(heap);
}

static void work(worker *w);

/* A thread of a few operations, which may end without detaching. */
static void *visitor_thread(void *argument) {
    worker w = {.random = (uint64_t)(uintptr_t)argument | 1, .ops = 200, .number = 99};
    w.thread = gc_thread_attach(heap);
    if (!w.thread) wrong(gc_last_message());
    gc_thread_set_name(w.thread, "visitor");
    {
        GC_ROOTS_ARRAY(w.thread, w.local, LOCAL, 0);
        work(&w);
    }
    for (int i = 0; i < HANDLES; i++) gc_handle_destroy(heap, w.handles[i]);
    if (below(&w, 2)) gc_thread_detach(w.thread);
    else __atomic_fetch_add(&ended_alone, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void op_visitor(worker *w) {
    pthread_t other;
    if (w->number == 99 || below(w, 100)) return;
    GC_IN_MODE(w->thread, GC_MODE_PREEMPTIVE);
    if (pthread_create(&other, NULL, visitor_thread, (void *)(uintptr_t)bits(w)) == 0) pthread_join(other, NULL);
}

static void work(worker *w) {
    static const struct {
        void (*op)(worker *);
        unsigned weight;
    } ops[] = {{op_node, 300}, {op_chain, 60}, {op_vector, 40}, {op_weak, 10}, {op_pair, 20}, {op_share, 120}, {op_mutate, 80}, {op_grow, 20},
               {op_check, 20}, {op_compute, 20}, {op_native, 40}, {op_collect, 10}, {op_handle, 30}, {op_finalizer, 10}, {op_look, 5},
               {op_visitor, 5}};
    unsigned total = 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) total += ops[i].weight;
    for (uint64_t n = 0; n < w->ops; n++) {
        size_t choice = below(w, total), i = 0;
        while (choice >= ops[i].weight) choice -= ops[i++].weight;
        ops[i].op(w);
        if (deadline_ns && n % 256 == 0 && gc__os_now_ns() > deadline_ns) return;
    }
}

static void *worker_thread(void *argument) {
    worker *w = argument;
    char name[16];
    snprintf(name, sizeof name, "worker %u", w->number);
    while (w->ops) {
        w->thread = gc_thread_attach(heap);
        if (!w->thread) wrong(gc_last_message());
        gc_thread_set_name(w->thread, name);
        uint64_t all = w->ops;
        w->ops = 1 + below(w, 60000) < all ? 1 + below(w, 60000) : all;
        if (w->ops > all) w->ops = all;
        {
            GC_ROOTS_ARRAY(w->thread, w->local, LOCAL, 0);
            work(w);
            memset(w->local, 0, sizeof w->local);
        }
        gc_thread_detach(w->thread);
        w->ops = all - w->ops;
        if (deadline_ns && gc__os_now_ns() > deadline_ns) break;
    }
    for (int i = 0; i < HANDLES; i++) gc_handle_destroy(heap, w->handles[i]);
    return NULL;
}

static size_t warned;
static void on_warning(void *host, const char *message) {
    (void)host;
    if (strstr(message, "ended without gc_thread_detach")) __atomic_fetch_add(&warned, 1, __ATOMIC_RELAXED);
    else wrong(message);
}

/* A thread that is not attached: it makes handles of NULL, and destroys them. */
static int workers_done; /* atomic */
static void *outsider_thread(void *unused) {
    for (int kind = 0; !__atomic_load_n(&workers_done, __ATOMIC_RELAXED); kind = (kind + 1) % GC_HANDLE_KINDS) {
        gc_handle handles[8];
        for (int i = 0; i < 8; i++) handles[i] = gc_handle_create(heap, (gc_handle_kind)kind, NULL);
        sched_yield();
        for (int i = 0; i < 8; i++) gc_handle_destroy(heap, handles[i]);
    }
    return unused;
}

/* What the seed draws of the options of the mode. */
static uint64_t drawn(unsigned most) {
    static uint64_t left;
    if (!left) left = run_options.seed * 0x9E3779B97F4A7C15u | (uint64_t)1 << 63;
    uint64_t result = left % most;
    left /= most;
    return result;
}

static void draw_concurrent(gc_options *options) {
    static const unsigned goals_us[] = {20, 20, 200, 1000}, growths[] = {40, 40, 20, 100};
    options->concurrent = GC_CONCURRENT_ON;
    options->pause_goal_us = goals_us[drawn(4)];
    options->growth_percent = growths[drawn(4)];
    if (drawn(4) == 0) options->heap_bytes_max = (24 + drawn(100)) * GC_REGION_BYTES;
    if (drawn(4) == 0) options->nursery_bytes = 0;
    options->test.candidates = drawn(3) == 0;
}

static gc_options mode_options(void) {
    gc_options options = {.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .warning = on_warning, .nursery_bytes = 512 << 10,
                          .handle_is_held = handle_is_held};
    const char *mode = run_options.mode;
    if (strcmp(mode, "non_moving") == 0) options.non_moving = true;
    else if (strcmp(mode, "conservative") == 0) options.conservative_stack = true;
    else if (strcmp(mode, "stress") == 0) options.debug.stress = GC_STRESS_NTH, options.debug.stress_interval = 500;
    else if (strcmp(mode, "limit") == 0) options.heap_bytes_max = 24 * GC_REGION_BYTES;
    else if (strcmp(mode, "concurrent") == 0) draw_concurrent(&options);
    else if (strcmp(mode, "moving") != 0) exit(2);
    options.trace_functions = (gc_trace_functions)drawn(3);
    run_options.is_concurrent = options.concurrent == GC_CONCURRENT_ON;
    options.test.born_old = run_options.is_concurrent && run_options.seed / 2 % 2;
    return options;
}

int main(int count, char **arguments) {
    static worker workers[64];
    pthread_t threads[64], outsider;
    unsigned long long number;
    for (int i = 1; i < count; i++) {
        if (sscanf(arguments[i], "--threads=%llu", &number) == 1) run_options.threads = number > 64 ? 64 : (unsigned)number;
        else if (sscanf(arguments[i], "--seconds=%lf", &run_options.seconds) == 1) continue;
        else if (sscanf(arguments[i], "--ops=%llu", &number) == 1) run_options.ops = number;
        else if (sscanf(arguments[i], "--seed=%llu", &number) == 1) run_options.seed = number;
        else if (strncmp(arguments[i], "--mode=", 7) == 0) run_options.mode = arguments[i] + 7;
        else return 2;
    }
    gc_options options = mode_options();
    begin(&options);
    shared = new_vector(SHARED);
    gc_roots_add(heap, &shared, 1, 0);
    resurrected = new_vector(1);
    gc_roots_add(heap, &resurrected, 1, 0);
    /* Odd seeds: the heap's own thread runs finalizers; else the workers do. */
    run_options.finalizer_thread = run_options.seed % 2;
    if (run_options.finalizer_thread && gc_finalizer_thread_start(heap) != GC_OK) wrong(gc_last_message());
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    if (run_options.seconds > 0) {
        deadline_ns = gc__os_now_ns() + (uint64_t)(run_options.seconds * 1e9);
        run_options.ops = UINT64_MAX;
    }
    for (unsigned i = 0; i < run_options.threads; i++) {
        workers[i] = (worker){.random = (run_options.seed * 64 + i + 1) * 0x9E3779B97F4A7C15u, .ops = run_options.ops, .number = i};
        if (pthread_create(&threads[i], NULL, worker_thread, &workers[i]) != 0) abort();
    }
    if (pthread_create(&outsider, NULL, outsider_thread, NULL) != 0) abort();
    for (unsigned i = 0; i < run_options.threads; i++) pthread_join(threads[i], NULL);
    __atomic_store_n(&workers_done, 1, __ATOMIC_RELAXED);
    pthread_join(outsider, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    full();
    if (!gc_finalizer_wait(gc, 10000)) wrong("finalizers do not end");
    full();
    gc_heap_verify(heap);
    gc_stats s = stats();
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        if (gc_handle_count(heap, (gc_handle_kind)kind)) wrong("handles are left that were destroyed");
    if (warned != ended_alone) wrong("threads that ended without detaching were not all reported");
    end();
    bool goes_on = run_options.is_concurrent && !options.heap_bytes_max && s.collections[0] > 300;
    if (goes_on && !s.concurrent_finished) wrong("no marking beside threads has ended");
    if (goes_on && !s.remembered_slots) wrong("no slots were remembered");
    if (finalized + suppressed != registered) wrong("finalizers have not run once each");
    printf("ok 1 - %s: %llu collections (%llu concurrent), %llu stops of %.1f us on average, at most %.1f us by %s; %zu threads ended without detaching\n1..1\n",
           run_options.mode, (unsigned long long)(s.collections[0] + s.collections[1] + s.collections[2]),
           (unsigned long long)s.concurrent_finished, (unsigned long long)s.stops,
           (double)s.stop_total_ns / 1e3 / (double)(s.stops + !s.stops), (double)s.stop_max_ns / 1e3, s.stop_slowest, warned);
    return 0;
}
