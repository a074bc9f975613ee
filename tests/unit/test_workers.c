/* Collections by several threads. Each shape of a heap is collected by real threads, and by threads that take turns in an order
   which follows from a number, so that a fault comes again. Every collection is verified, and checked by a second mark. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

static unsigned threads, order;

static void begin_crew(gc_options options) {
    options.collector_threads = threads;
    options.test.collectors = order;
    begin_verified(options);
}

/* A graph in which everything refers to everything: the model is the numbers of the nodes. */
#define NODES 3000
static unsigned left_of[NODES], right_of[NODES];

static void graph_store(vector *all, unsigned i, unsigned left, unsigned right) {
    node *n = all->items[i];
    gc_store(gc, &n->left, all->items[left]);
    gc_store(gc, &n->right, all->items[right]);
    left_of[i] = left, right_of[i] = right;
}

static unsigned any_node(void) { return (unsigned)(random_bits() % NODES); }

static void graph_make(vector *all, unsigned i) {
    GC_ROOTS(gc, all);
    node *n = new_node(i);
    gc_store(gc, &all->items[i], n);
}

/* A fault of the copying shows as two objects where there was one. */
static bool graph_is_whole(const vector *all) {
    for (unsigned i = 0; i < NODES; i++) {
        const node *n = all->items[i];
        if (n->value != i || n->left != all->items[left_of[i]] || n->right != all->items[right_of[i]]) return false;
    }
    return true;
}

static bool graph_survives(vector *all, int collections) {
    GC_ROOTS(gc, all);
    bool whole = true;
    for (int k = 0; k < collections && whole; k++) {
        /* Some are made anew: all that referred to them refer to others now. */
        for (int i = 0; i < 300; i++) graph_make(all, any_node());
        for (unsigned i = 0; i < NODES; i++) graph_store(all, i, left_of[i], right_of[i]);
        for (int i = 0; i < 300; i++) graph_store(all, any_node(), any_node(), any_node());
        gc_collect(heap, k % 3, k % 6 == 5 ? GC_COLLECT_COMPACTING : GC_COLLECT_BLOCKING);
        whole = graph_is_whole(all);
    }
    return whole;
}

static vector *graph(void) {
    vector *all = new_vector(NODES);
    GC_ROOTS(gc, all);
    for (unsigned i = 0; i < NODES; i++) graph_make(all, i);
    for (unsigned i = 0; i < NODES; i++) graph_store(all, i, any_node(), any_node());
    return all;
}

static void a_graph(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    all = graph();
    ok(graph_survives(all, 9), "%u threads, order %u: a graph", threads, order);
}

static node *tree(int depth, uint64_t number) {
    node *root = NULL, *left = NULL, *right = NULL;
    GC_ROOTS(gc, root, left, right);
    /* NULL: the heap is full. */
    if (depth && !(left = tree(depth - 1, 2 * number))) return NULL;
    if (depth && !(right = tree(depth - 1, 2 * number + 1))) return NULL;
    root = new_node(number);
    if (!root) return NULL;
    root->left = left;
    root->right = right;
    return root;
}

static bool tree_is_whole(const node *n, int depth, uint64_t number) {
    if (!n || n->value != number) return false;
    return !depth ||
           (tree_is_whole(n->left, depth - 1, 2 * number) && tree_is_whole(n->right, depth - 1, 2 * number + 1));
}

static void a_tree(void) {
    node *root = NULL;
    GC_ROOTS(gc, root);
    root = tree(12, 1);
    for (int i = 0; i < 4; i++) gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : GC_COLLECT_BLOCKING);
    ok(tree_is_whole(root, 12, 1), "%u threads, order %u: a tree", threads, order);
}

static void a_list(void) {
    node *first = NULL;
    GC_ROOTS(gc, first);
    for (unsigned i = 0; i < 5000; i++) {
        node *n = new_node(i);
        n->left = first;
        first = n;
    }
    for (int i = 0; i < 4; i++) gc_collect(heap, i % 3, GC_COLLECT_BLOCKING);
    unsigned length = 0;
    for (const node *n = first; n && n->value == 4999 - length; n = n->left) length++;
    is(length, 5000, "%u threads, order %u: a list", threads, order);
}

/* One array, of which workers take halves; later, only the cards to which was stored. */
static void an_array(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    size_t length = GC_LARGE_BYTES / 4;
    all = new_vector(length);
    bool whole = true;
    for (int k = 0; k < 4; k++) {
        for (size_t i = (size_t)k; i < length; i += 7) {
            node *n = new_node(i);
            gc_store(gc, &all->items[i], n);
        }
        gc_collect(heap, k % 3, GC_COLLECT_BLOCKING);
        for (size_t i = 0; i < length; i++) {
            const node *n = all->items[i];
            if (n ? n->value != i : i % 7 <= (size_t)k) whole = false;
        }
    }
    ok(whole, "%u threads, order %u: a large array", threads, order);
}

/* Old arrays, with young objects at the ends of every third. Where cards are larger than 256 bytes some arrays lie in one, and a
   worker puts the rest of such an array on its stack: who takes it must leave the card dirty. */
enum { ARRAYS = 96, ARRAY = GC_CARD_BYTES / 8 * 3 / 4, ARRAY_END = ARRAY - 8 };

static void ends_store(vector *all) {
    GC_ROOTS(gc, all);
    for (size_t i = 0; i < ARRAYS; i += 3)
        for (size_t j = ARRAY_END; j < ARRAY; j++) {
            node *n = new_node(i * ARRAY + j);
            gc_store(gc, &((vector *)all->items[i])->items[j], n);
        }
}

static bool ends_are_whole(const vector *all) {
    for (size_t i = 0; i < ARRAYS; i += 3)
        for (size_t j = ARRAY_END; j < ARRAY; j++) {
            const node *n = ((const vector *)all->items[i])->items[j];
            if (n->value != i * ARRAY + j) return false;
        }
    return true;
}

static void ends_of_arrays(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    bool whole = true;
    all = new_vector(ARRAYS);
    for (size_t i = 0; i < ARRAYS; i++) {
        vector *v = new_vector(ARRAY);
        gc_store(gc, &all->items[i], v);
    }
    full();
    full();
    for (int k = 0; k < 20 && whole; k++) {
        if (k % 2 == 0) ends_store(all);
        gc_collect(heap, k % 2, GC_COLLECT_BLOCKING);
        whole = ends_are_whole(all);
    }
    ok(whole, "%u threads, order %u: the ends of old arrays", threads, order);
}

/* Trace functions, and who may call them. */
typedef struct traced {
    gc_object header;
    void *a, *b;
} traced;
static pthread_t collects;
static unsigned by_others;

static void traced_trace(void *object, gc_visitor *visitor) {
    traced *t = object;
    if (!pthread_equal(collects, pthread_self())) __atomic_fetch_add(&by_others, 1, __ATOMIC_RELAXED);
    gc_visit(visitor, &t->a, 2, 0);
}
static const gc_type traced_type = GC_TYPE_TRACED(traced, traced_trace);

static traced *traced_tree(int depth) {
    traced *root = NULL, *a = NULL, *b = NULL;
    GC_ROOTS(gc, root, a, b);
    if (depth) a = traced_tree(depth - 1);
    if (depth) b = traced_tree(depth - 1);
    root = gc_new(gc, &traced_type);
    root->a = a, root->b = b;
    return root;
}

static size_t traced_count(const traced *t) { return t ? 1 + traced_count(t->a) + traced_count(t->b) : 0; }

static void trace_functions(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    collects = pthread_self();
    by_others = 0;
    all = new_vector(64);
    for (unsigned i = 0; i < 64; i++) {
        traced *t = traced_tree(6);
        gc_store(gc, &all->items[i], t);
    }
    for (int i = 0; i < 4; i++) gc_collect(heap, i % 3, GC_COLLECT_BLOCKING);
    size_t count = 0;
    for (unsigned i = 0; i < 64; i++) count += traced_count(all->items[i]);
    is(count, 64 * 127, "%u threads, order %u: objects with trace functions", threads, order);
}

/* No room for copies, from whichever thread: after some nurseries of which nothing survived, one of which everything does is
   expected to need less than it does. `filled`: regions of old objects. */
static uint64_t stayed;
static bool a_full_heap(size_t filled) {
    vector *old = NULL, *more = NULL;
    node *root = NULL;
    GC_ROOTS(gc, old, more, root);
    for (size_t bytes = 0; bytes < filled * GC_REGION_BYTES && (more = new_vector(1000)); bytes += 8016) {
        gc_store(gc, &more->items[0], old);
        old = more;
    }
    full();
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 100; k++) new_node(1);
        gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    }
    root = tree(14, 1);
    bool whole = true;
    for (int i = 0; i < 3 && root && whole; i++) {
        gc_collect(heap, i, GC_COLLECT_BLOCKING);
        whole = tree_is_whole(root, 14, 1);
    }
    stayed += stats().evacuation_failures;
    return whole;
}

static void full_heaps(void) {
    bool whole = true;
    stayed = 0;
    for (size_t filled = 8; filled < 16; filled += 4) {
        size_t limit = (size_t)5 << 20;
        if (limit < 20 * GC_REGION_BYTES) limit = 20 * GC_REGION_BYTES;
        begin_crew((gc_options){.heap_bytes_max = limit, .nursery_bytes = (size_t)2 << 20});
        whole &= a_full_heap(filled);
        end();
    }
    ok(whole && (stayed || GC_REGION_SHIFT < 18), "%u threads, order %u: heaps without room for %llu copies", threads,
       order, (unsigned long long)stayed);
}

/* Handles of each kind, to objects of which every third is dead. */
static void handles(void) {
    enum { EACH = 3000, KINDS = 4 };
    static const gc_handle_kind kinds[KINDS] = {GC_HANDLE_STRONG, GC_HANDLE_WEAK, GC_HANDLE_WEAK_LONG,
                                                GC_HANDLE_DEPENDENT};
    static gc_handle all[KINDS][EACH];
    vector *kept = NULL;
    GC_ROOTS(gc, kept);
    kept = new_vector(EACH);
    for (size_t i = 0; i < EACH; i++)
        for (unsigned k = 0; k < KINDS; k++) {
            node *n = new_node(i * KINDS + k), *extra = NULL;
            GC_ROOTS(gc, n, extra);
            if (kinds[k] == GC_HANDLE_DEPENDENT) extra = new_node(i);
            all[k][i] = extra ? gc_handle_create_dependent(heap, n, extra) : gc_handle_create(heap, kinds[k], n);
            if (i % 3 == 0) continue;
            gc_store(gc, &n->left, kept->items[i]);
            gc_store(gc, &kept->items[i], n);
        }
    size_t wrong = 0;
    for (int round = 0; round < 4; round++) {
        gc_collect(heap, (round + 2) % 3, round == 3 ? GC_COLLECT_COMPACTING : GC_COLLECT_BLOCKING);
        for (size_t i = 0; i < EACH; i++)
            for (unsigned k = 0; k < KINDS; k++) {
                const node *n = gc_handle_get(all[k][i]);
                bool lives = i % 3 != 0 || kinds[k] == GC_HANDLE_STRONG;
                if (lives ? !n || n->value != i * KINDS + k : n != NULL) wrong++;
                if (kinds[k] != GC_HANDLE_DEPENDENT || !lives) continue;
                const node *extra = gc_handle_dependent(all[k][i]);
                if (!extra || extra->value != i) wrong++;
            }
    }
    is(wrong, 0, "%u threads, order %u: handles", threads, order);
    for (size_t i = 0; i < EACH; i++)
        for (unsigned k = 0; k < KINDS; k++) gc_handle_destroy(heap, all[k][i]);
}

/* Lists that run into each other, from many roots, so that a worker often has one reference only, and others come to the same
   object at the same time; some objects have a trace function, and some lead to two others. The model is which number refers to
   which. */
#define AT_A_TIME 64 /* roots that one worker takes at a time: the next one takes the same */
#define LINKS 3000
#define HEADS 700
static node *heads[HEADS];
static unsigned next_of[LINKS], other_of[LINKS], head_of[HEADS];

static void link_trace(void *object, gc_visitor *visitor) { gc_visit(visitor, &((node *)object)->left, 2, 0); }
static const gc_type link_type = GC_TYPE_TRACED(node, link_trace);

static void lists_make(vector *all) {
    GC_ROOTS(gc, all);
    for (unsigned i = 0; i < LINKS; i++) {
        node *n = i % 16 ? new_node(i) : gc_new(gc, &link_type);
        n->value = i;
        next_of[i] = i ? i - 1 - (unsigned)(random_bits() % (i < 30 ? i : 30)) : 0;
        other_of[i] = i % 11 || !i ? 0 : (unsigned)(random_bits() % i);
        if (i) n->left = all->items[next_of[i]];
        if (other_of[i]) n->right = all->items[other_of[i]];
        gc_store(gc, &all->items[i], n);
    }
    for (unsigned h = 0; h < HEADS; h++) {
        head_of[h] = h & AT_A_TIME ? head_of[h - AT_A_TIME] : (unsigned)(random_bits() % LINKS);
        heads[h] = all->items[head_of[h]];
    }
}

static bool lists_are_whole(void) {
    static const node *seen[LINKS], *waiting[2 * LINKS + HEADS];
    static unsigned numbers[2 * LINKS + HEADS];
    size_t count = 0;
    memset(seen, 0, sizeof seen);
    for (; count < HEADS; count++) waiting[count] = heads[count], numbers[count] = head_of[count];
    while (count) {
        const node *n = waiting[--count];
        unsigned i = numbers[count];
        if (!n || n->value != i || (seen[i] && seen[i] != n)) return false;
        if (seen[i]) continue;
        seen[i] = n;
        if (i) waiting[count] = n->left, numbers[count++] = next_of[i];
        if (other_of[i]) waiting[count] = n->right, numbers[count++] = other_of[i];
    }
    return true;
}

static void lists(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    bool whole = true;
    gc_roots_add(heap, heads, HEADS, 0);
    for (int k = 0; k < 4 && whole; k++) {
        all = new_vector(LINKS);
        lists_make(all);
        all = NULL;
        for (int i = 0; i < 4 && whole; i++) {
            gc_collect(heap, i % 3, i >= 2 ? GC_COLLECT_COMPACTING : GC_COLLECT_BLOCKING);
            whole = lists_are_whole();
        }
    }
    ok(whole, "%u threads, order %u: lists that run into each other", threads, order);
    gc_roots_remove(heap, heads);
}

static void shapes(void) {
    static void (*const each[])(void) = {a_graph, a_tree,  a_list,          an_array, ends_of_arrays,
                                         lists,   handles, trace_functions};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        begin_crew((gc_options){0});
        each[i]();
        end();
        is(by_others, 0, "trace functions run on the thread that collects only");
    }
    begin_crew((gc_options){.trace_functions = GC_TRACE_FUNCTIONS_PARALLEL});
    trace_functions();
    end();
    by_others = 0;
    begin_crew((gc_options){.test.scarce_memory = true});
    a_graph();
    end();
    begin_crew((gc_options){.non_moving = true});
    a_graph();
    end();
    begin_crew((gc_options){.non_generational = true});
    a_graph();
    end();
    full_heaps();
}

/* Threads of this process whose name begins with "gc worker", and whether all of them leave signals to others. */
static unsigned workers(bool *quiet) {
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    *quiet = true;
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], line[256];
        unsigned long long blocked = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *status = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        bool mine = false;
        while (status && fgets(line, sizeof line, status)) {
            if (strncmp(line, "Name:\tgc worker ", 16) == 0) mine = true;
            sscanf(line, "SigBlk: %llx", &blocked);
        }
        if (status) fclose(status);
        count += mine;
        if (mine && !(blocked >> (SIGTERM - 1) & 1)) *quiet = false;
    }
    if (tasks) closedir(tasks);
    return count;
}

static void when_there_are_threads(void) {
    bool quiet;
    begin(&(gc_options){.collector_threads = 4, .nursery_bytes = (size_t)1 << 18});
    for (int i = 0; i < 20000; i++) new_node(1);
    full();
    is(workers(&quiet), 0, "a heap with little to trace has no threads");
    {
        node *root = NULL;
        GC_ROOTS(gc, root);
        root = tree(16, 1);
        full();
        is(workers(&quiet), 3, "one with more has them from the first collection that can use them");
        ok(quiet, "and they leave signals to the program");
        ok(tree_is_whole(root, 16, 1), "and they trace");
    }
    end();
    is(workers(&quiet), 0, "they are gone with the heap");
}

/* What statistics say of collector threads: how many there are, and in how many traces they took part. */
static unsigned long long crew_stats(unsigned *count) {
    static char text[8192];
    unsigned long long traces = 0;
    FILE *file = fmemopen(text, sizeof text, "w");
    gc_heap_print_stats(heap, file);
    fclose(file);
    const char *line = strstr(text, "collectors ");
    *count = 1;
    if (line) sscanf(line, "collectors %u threads, in %llu", count, &traces);
    return traces;
}

/* A tree that takes long to trace, of which three collections suffice to have the next one shared by default. */
static void slow_trace(void *object, gc_visitor *visitor) {
    struct timespec now, start;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < 60000000);
    traced_trace(object, visitor);
}
static const gc_type slow_type = GC_TYPE_TRACED(traced, slow_trace);

static traced *slow_tree(int depth) {
    traced *root = NULL;
    GC_ROOTS(gc, root);
    root = gc_new(gc, &slow_type);
    node *below = tree(depth, 1);
    gc_store(gc, &root->a, below);
    for (int i = 0; i < 3; i++) full();
    return root;
}

/* By default collections of a few milliseconds are not shared. */
static void when_it_pays(void) {
    unsigned count;
    begin(NULL);
    {
        bytes *large = NULL;
        GC_ROOTS(gc, large);
        large = new_bytes((size_t)8 << 20);
        for (int i = 0; i < 4; i++) full();
        crew_stats(&count);
        is(count, 1, "by default a heap with much that is traced in no time has no threads");
    }
    end();
}

/* By default there are as many as processors. When some are taken away, fewer threads work. */
static void as_many_as_processors(void) {
    cpu_set_t all, one;
    unsigned count, expected;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        ok(true, "# SKIP there is one processor only");
        return;
    }
    expected = CPU_COUNT(&all) < 16 ? (unsigned)CPU_COUNT(&all) : 16;
    begin(NULL);
    {
        traced *root = NULL;
        GC_ROOTS(gc, root);
        root = slow_tree(17);
        full();
        unsigned long long before = crew_stats(&count);
        is(count, expected, "by default there are as many threads as processors");
        ok(before > 0, "and they trace");
        CPU_ZERO(&one);
        for (int i = 0; CPU_COUNT(&one) == 0; i++)
            if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
        sched_setaffinity(0, sizeof one, &one);
        usleep(700000);
        before = crew_stats(&count);
        full();
        is(crew_stats(&count), before,
           "when all processors but one are taken away, the thread that collects works alone");
        sched_setaffinity(0, sizeof all, &all);
        usleep(700000);
        full();
        ok(crew_stats(&count) > before, "and not any more when they are given back");
        ok(tree_is_whole(root->a, 17, 1), "which keeps the tree");
    }
    end();
}

/* A thread that has bound itself to one processor starts the crew, which has all of the process's. */
static bool a_worker_is_bound_to(const cpu_set_t *one) {
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], name[32] = "";
        cpu_set_t set;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && strncmp(name, "gc worker ", 10) == 0 &&
            sched_getaffinity((pid_t)atoi(task->d_name), sizeof set, &set) == 0 && CPU_EQUAL(&set, one))
            found = true;
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return found;
}

static void *bound(void *all) {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, (const cpu_set_t *)all)) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    begin(&(gc_options){0});
    {
        traced *root = NULL;
        unsigned count;
        GC_ROOTS(gc, root);
        root = slow_tree(16);
        full();
        crew_stats(&count);
        ok(count > 1, "a thread that is bound to one processor starts as many as the process has processors");
        ok(!a_worker_is_bound_to(&one), "which are not bound to that one");
        ok(tree_is_whole(root->a, 16, 1), "they trace");
    }
    end();
    return NULL;
}

static void on_any_processor(void) {
    cpu_set_t all;
    pthread_t thread;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        ok(true, "# SKIP there is one processor only");
        return;
    }
    pthread_create(&thread, NULL, bound, &all);
    pthread_join(thread, NULL);
}

/* A limit is changed in a heap whose host stops threads: one of these may hold a lock that starting a thread takes. */
static size_t before_stop, within_stop;
static void on_suspend(void *host) { before_stop = workers(host); }
static void on_restart(void *host) {
    size_t now = workers(host);
    if (now > before_stop) within_stop = now;
}

static void no_thread_starts_while_stopped(void) {
    static bool quiet;
    begin(&(gc_options){.collector_threads = 3,
                        .nursery_bytes = 64 << 20,
                        .suspend = on_suspend,
                        .restart = on_restart,
                        .host = &quiet});
    {
        node *root = NULL;
        GC_ROOTS(gc, root);
        root = tree(17, 1);
        gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 4 << 20});
        is(within_stop, 0, "no thread starts while the world is stopped");
        is(workers(&quiet), 2, "but before");
        ok(tree_is_whole(root, 17, 1), "for a collection, which keeps the tree");
    }
    end();
}

static char warned[300];
static void on_warning(void *host, const char *message) {
    (void)host;
    snprintf(warned, sizeof warned, "%s", message);
}

/* In a child, which has no privileges. */
static int without_threads(void) {
    if (getuid() == 0 && setuid(65534) != 0) return 77;
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0}) != 0) return 77;
    begin(&(gc_options){.collector_threads = 4, .warning = on_warning});
    node *root = NULL;
    GC_ROOTS(gc, root);
    root = tree(16, 1);
    full();
    bool right =
        tree_is_whole(root, 16, 1) && strstr(warned, "only 1 of 4 collector threads") && strstr(warned, "ulimit -u");
    warned[0] = 0;
    full();
    return right && !warned[0] ? 0 : 1;
}

/* A trace function that calls gc.h on another thread than the one that collects, which has the locks. */
typedef struct calling {
    gc_object header;
    node *next;
} calling;
static pthread_t collecting;
static int call_number;
static gc_handle old_handle;
static void call_from_trace(void) {
    if (call_number == 0) {
        if (gc_handle_create(heap, GC_HANDLE_STRONG, NULL)) _exit(3);
    } else if (call_number == 1) {
        if (gc_handle_destroy(heap, old_handle) != GC_ERROR_MISUSE) _exit(3);
    } else if (call_number == 2) {
        if (gc_collect(heap, 0, 0) != GC_ERROR_MISUSE) _exit(3);
    } else if (call_number == 3) {
        if (gc_handle_count(heap, GC_HANDLE_WEAK) != 1 || !gc_handle_is_valid(heap, old_handle)) _exit(3);
    } else if (call_number == 4) {
        gc_heap_print_stats(heap, stderr);
    }
}
static void calling_trace(void *object, gc_visitor *visitor) {
    gc_visit(visitor, &((calling *)object)->next, 1, 0);
    if (!pthread_equal(pthread_self(), collecting)) {
        call_from_trace();
        fputs(call_number == 3 ? "" : gc_last_message(), stderr);
        _exit(4);
    }
}
static const gc_type calling_type = GC_TYPE_WITH(calling, trace(calling_trace));

static void calls_from_trace(void *unused) {
    (void)unused;
    alarm(60);
    begin(&(gc_options){.collector_threads = 3, .test.collectors = 7, .trace_functions = GC_TRACE_FUNCTIONS_PARALLEL});
    collecting = pthread_self();
    vector *all = new_vector(10000);
    GC_ROOTS(gc, all);
    old_handle = gc_handle_create(heap, GC_HANDLE_WEAK, all);
    for (size_t i = 0; i < 10000; i++) {
        calling *c = gc_new(gc, &calling_type);
        gc_store(gc, &all->items[i], c);
    }
    for (int i = 0; i < 20; i++) full();
    _exit(5);
}

static void traces_that_call(void) {
    static const char *const names[] = {"gc_handle_create", "gc_handle_destroy", "gc_collect", "reads of handles", "gc_heap_print_stats"};
    static char output[4000];
    for (call_number = 0; call_number < 5; call_number++) {
        int status = tap_child(calls_from_trace, NULL, output, sizeof output);
        bool aborts = call_number == 4 || (call_number < 3 && GC_DEBUG > 0);
        is(status, aborts ? 256 + 6 : 4, "%s by a trace function on a collector's thread does not wait for ever", names[call_number]);
        if (call_number != 3) has(output, "on a thread of the collector's", "and is explained: %s", output);
    }
}

static void threads_are_refused(void) {
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) _exit(without_threads());
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        ok(true, "# SKIP threads cannot be refused here");
    else
        is(status, 0, "a system that gives no thread: a warning, once, and fewer threads");
}

/* fork() in a trace function, while others trace. */
static pid_t forked;
static bool forks;
static void forking_trace(void *object, gc_visitor *visitor) {
    traced_trace(object, visitor);
    if (!forks) return;
    forks = false;
    forked = fork();
}
static const gc_type forking_type = GC_TYPE_TRACED(traced, forking_trace);

static void a_fork_in_a_trace(void) {
    begin_crew((gc_options){0});
    {
        traced *root = NULL;
        GC_ROOTS(gc, root);
        root = gc_new(gc, &forking_type);
        node *left = tree(10, 1);
        gc_store(gc, &root->a, left);
        forks = true;
        fflush(stdout);
        full();
        bool whole = tree_is_whole(root->a, 10, 1);
        for (int i = 0; i < 3; i++) full();
        whole = whole && tree_is_whole(root->a, 10, 1);
        if (!forked) {
            bool quiet;
            _exit(whole && workers(&quiet) == threads - 1 ? 0 : 1);
        }
        int status = 1;
        waitpid(forked, &status, 0);
        ok(whole, "%u threads, order %u: fork in a trace function: the parent goes on", threads, order);
        is(status, 0, "and so does the child, with new threads");
    }
    end();
}

/* A heap that is collected over and over while others, with threads of their own, come and go. */
static bool goes_on = true;

static void *collected(void *unused) {
    gc_heap *own = gc_heap_create(&(gc_options){.collector_threads = 3, .test.collectors = 1});
    gc_thread *self = gc_thread_attach(own);
    {
        node *first = NULL;
        GC_ROOTS(self, first);
        for (unsigned i = 0; i < 20000; i++) {
            node *n = gc_new(self, &node_type);
            n->left = first;
            n->value = i;
            first = n;
        }
        while (__atomic_load_n(&goes_on, __ATOMIC_RELAXED)) gc_collect(own, 2, GC_COLLECT_COMPACTING);
        unsigned length = 0;
        for (const node *n = first; n && n->value == 19999 - length; n = n->left) length++;
        is(length, 20000, "a list is whole after collections beside which other heaps came and went");
    }
    gc_thread_detach(self);
    gc_heap_destroy(own);
    return unused;
}

static void heaps_that_go(void) {
    pthread_t other;
    bool whole = pthread_create(&other, NULL, collected, NULL) == 0;
    threads = 2, order = 1;
    for (int i = 0; i < 10; i++) {
        begin_crew((gc_options){0});
        {
            node *root = NULL;
            GC_ROOTS(gc, root);
            root = tree(9, 1);
            gc_collect(heap, i % 3, GC_COLLECT_COMPACTING);
            whole &= tree_is_whole(root, 9, 1);
        }
        end();
    }
    __atomic_store_n(&goes_on, false, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    ok(whole, "heaps are collected and destroyed while another one is collected");
}

static void limits(void) {
    ok(!gc_heap_create(&(gc_options){.collector_threads = 33}), "33 collector threads are too many");
    has(gc_last_message(), "at most 32", "and the message says how many may be");
    setenv("GC_COLLECTOR_THREADS", "two", 1);
    ok(!gc_heap_create(NULL), "the environment asks for a number of threads that is none");
    has(gc_last_message(), "GC_COLLECTOR_THREADS=two", "and the message names the variable");
    unsetenv("GC_COLLECTOR_THREADS");
    begin(&(gc_options){.collector_threads = 32, .test.collectors = 1});
    {
        vector *all = NULL;
        GC_ROOTS(gc, all);
        all = graph();
        ok(graph_survives(all, 3), "32 are not");
    }
    end();
}

int main(void) {
    static const unsigned crews[][2] = {{2, 1}, {3, 7}, {8, 1}, {8, 12345}};
    for (size_t i = is_quick() ? 3 : 0; i < sizeof crews / sizeof *crews; i++) {
        threads = crews[i][0], order = crews[i][1];
        shapes();
    }
    when_there_are_threads();
    when_it_pays();
    as_many_as_processors();
    on_any_processor();
    no_thread_starts_while_stopped();
    threads_are_refused();
    traces_that_call();
    /* With GC_DEBUG it is reported as misuse. */
    for (order = 1; order < 3 && GC_DEBUG == 0; order++) threads = 3, a_fork_in_a_trace();
    heaps_that_go();
    limits();
    return done();
}
