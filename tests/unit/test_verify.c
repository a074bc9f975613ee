/* Mistakes of a host, planted on purpose, are reported by what, where and which field. Each runs in a child process. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>

typedef struct holder {
    gc_object header;
    uint64_t fill;
    void *first, *second;
} holder;
typedef struct referent {
    gc_object header;
    uint64_t value;
} referent;

static const gc_type holder_type = GC_TYPE(holder, first, second);
static const gc_type referent_type = GC_TYPE_LEAF(referent);
static const gc_options verified = {.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER};
static char report[16384];

/* Expects the child to abort with a report that has all these words. */
static void reported(const char *what, void (*body)(void *), const char *const *words) {
    int status = tap_child(body, NULL, report, sizeof report);
    if (status == 1 && strstr(report, "ERROR: AddressSanitizer")) { /* it saw the mistake first, and named it its own way */
        ok(true, "%s: AddressSanitizer reports", what);
        return;
    }
    is(status, 256 + 6, "%s: the process aborts", what);
    for (; *words; words++) {
        if (!ok(strstr(report, *words) != NULL, "%s: the report has '%s'", what, *words)) diag("%s", report);
    }
    if (getenv("SHOW")) diag("%s:\n%s", what, report);
}
#define REPORTED(what, body, ...) reported(what, body, (const char *const[]){__VA_ARGS__, NULL})

static holder *old_holder(void) {
    holder *h = gc_new(gc, &holder_type);
    GC_ROOTS(gc, h);
    age(&h, 2);
    return h;
}

/* A bytecode VM: all instructions allocate by one line of C. */
static struct {
    uintptr_t at;
    node *stale, *held;
} script;

static uintptr_t where(void *host, gc_thread *thread, char *text, size_t bytes) {
    (void)host, (void)thread;
    if (text) snprintf(text, bytes, "script.x:%d in f", (int)script.at);
    return script.at;
}

static void missed_barrier(void *unused) {
    (void)unused;
    begin(&verified);
    holder *h = old_holder();
    GC_ROOTS(gc, h);
    referent *r = gc_new(gc, &referent_type);
    h->second = r; /* the mistake */
    gc_collect(heap, 0, 0);
}

/* Between two collections whose call stacks are known. */
static void missed_barrier_under_stress(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 1u << 30, .debug.verify = GC_VERIFY_BEFORE, .debug.location = where});
    holder *h = old_holder();
    GC_ROOTS(gc, h);
    gc_collect(heap, 2, 0);
    referent *r = gc_new(gc, &referent_type);
    h->second = r; /* the mistake */
    script.at = 42;
    gc_collect(heap, 0, 0);
}

static void missed_barrier_in_array(void *unused) {
    (void)unused;
    begin(&verified);
    vector *v = new_vector(GC_LARGE_BYTES / 8 + 100);
    GC_ROOTS(gc, v);
    age(&v, 2);
    v->items[777] = new_node(1); /* the mistake */
    gc_collect(heap, 0, 0);
}

/* The same where an object holds the array. */
static void missed_barrier_in_an_array_of_an_object(void *unused) {
    (void)unused;
    begin(&verified);
    vector *v = new_vector(3);
    holder *h = NULL;
    GC_ROOTS(gc, h, v);
    h = gc_new(gc, &holder_type);
    gc_store(gc, &h->second, v);
    age(&v, 2);
    v->items[2] = new_node(1);
    gc_collect(heap, 0, 0);
}

/* A variable that held an array which an object holds. */
static void missed_root_of_an_array(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    holder *h = gc_new(gc, &holder_type);
    GC_ROOTS(gc, h);
    vector *v = new_vector(3);
    gc_store(gc, &h->second, v);
    v->items[0] = new_node(1); /* the mistake: v is no root */
}

static void missed_barrier_to_generation_1(void *unused) {
    (void)unused;
    begin(&verified);
    holder *h = old_holder();
    referent *r = NULL;
    GC_ROOTS(gc, h, r);
    r = gc_new(gc, &referent_type);
    age(&r, 1);
    h->first = r; /* the mistake */
    gc_collect(heap, 0, 0);
}

static void missed_barrier_by_request(void *unused) {
    (void)unused;
    begin(NULL);
    holder *h = old_holder();
    GC_ROOTS(gc, h);
    h->first = gc_new(gc, &referent_type); /* the mistake */
    gc_heap_verify(heap);
}

/* A root that nobody declared, used after an allocation: the README's example without its GC_ROOTS. */
static void missed_root(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    node *list = NULL; /* the mistake: no GC_ROOTS */
    for (uint64_t i = 0; i < 100; i++) {
        node *n = new_node(i);
        gc_store(gc, &n->left, list);
        if (list) n->value += list->value;
        list = n;
    }
}

static void missed_root_by_environment(void *unused) {
    (void)unused;
    setenv("GC_STRESS", "allocation", 1);
    begin(NULL);
    node *a = new_node(1);
    node *b = new_node(2);
    a->value = b->value; /* the mistake: a was not a root when b was made */
}

/* A use long after the object died: its memory was used again meanwhile, for smaller objects, and emptied again. */
static void missed_root_long_ago(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    referent *kept = NULL;
    GC_ROOTS(gc, kept);
    kept = gc_new(gc, &referent_type);
    uint64_t *item = (uint64_t *)(void *)&new_bytes(400)->items[200]; /* the mistake: not a root */
    bool again = false;
    for (int i = 0; i < 100000; i++) {
        gc_new(gc, &referent_type);
        bool in_use = gc_heap_contains(heap, item);
        if (again && !in_use) break;
        again = i && in_use;
    }
    *item = kept->value;
}

/* A missed root that is only stored: the barrier reports it, unless it is another one, or there is none. */
static void store_stale(bool with_barrier) {
    begin(&(gc_options){.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .debug.stress = GC_STRESS_ALLOCATION});
    holder *h = old_holder();
    GC_ROOTS(gc, h);
    referent *r = gc_new(gc, &referent_type); /* the mistake: not a root */
    h = gc_new(gc, &holder_type);
    if (with_barrier)
        gc_store(gc, &h->second, r);
    else
        h->second = r;
    gc_collect(heap, 2, 0);
}
static void stale_store(void *unused) {
    (void)unused;
    store_stale(true);
}
static void stale_initialization(void *unused) {
    (void)unused;
    store_stale(false);
}

static void wild_store(void *unused) {
    (void)unused;
    begin(&verified);
    holder *h = gc_new(gc, &holder_type);
    GC_ROOTS(gc, h);
    referent *r = gc_new(gc, &referent_type);
    gc_store(gc, &h->first, (char *)r + 8); /* the mistake: an interior pointer in a field */
    gc_collect(heap, 0, 0);
}

static void interior_root(void *unused) {
    (void)unused;
    begin(&verified);
    bytes *b = new_bytes(1000);
    unsigned char *inside = &b->items[500];
    GC_ROOTS(gc, inside); /* the mistake: not GC_SLOT_INTERIOR */
    gc_collect(heap, 0, 0);
}

static void wrecked_header(void *unused) {
    (void)unused;
    begin(&verified);
    bytes *b = new_bytes(20);
    node *n = NULL;
    GC_ROOTS(gc, b, n);
    n = new_node(1);
    memset(b->items, 0xAA, 200); /* the mistake: beyond the end, over the next header */
    gc_collect(heap, 0, 0);
}

/* The hook of the host gets the report, and the process aborts behind it. */
static void fatal(void *host, const char *message) {
    printf("%s: %s\n", (char *)host, message);
    fflush(stdout);
}
static void by_hook(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.verify = GC_VERIFY_BEFORE, .fatal = fatal, .host = (void *)"hooked"});
    holder *h = old_holder();
    GC_ROOTS(gc, h);
    h->first = gc_new(gc, &referent_type);
    gc_collect(heap, 0, 0);
}

/* An object whose references lie where the host likes, for its trace function to report. */
typedef struct list {
    gc_object header;
    void **items;
    size_t count;
} list;

static void list_trace(void *object, gc_visitor *visitor) {
    gc_visit(visitor, ((list *)object)->items, ((list *)object)->count, 0);
}
static void list_finalize(gc_thread *thread, void *object) {
    (void)thread;
    mprotect(((list *)object)->items, 4096, PROT_NONE); /* as if freed, but not mapped again; items and count stay */
}
static const gc_finalizer list_finalizer = {.finalize = list_finalize};
static const gc_type list_type = GC_TYPE_TRACED(list, list_trace);
static const gc_type finalized_list_type = {
    .name = "list", .bytes = sizeof(list), .trace = list_trace, .finalizer = &list_finalizer};

static list *new_list(const gc_type *type, void **items, size_t count) {
    list *l = gc_new(gc, type);
    l->items = items, l->count = count;
    return l;
}

static void slots_outside_the_heap(void *unused) {
    (void)unused;
    begin(NULL);
    list *l = new_list(&list_type, calloc(2, sizeof(void *)), 2);
    GC_ROOTS(gc, l);
    gc_collect(heap, 0, 0);
}

/* The buffer belongs to the object, but the store into it is a plain one. */
static void owned_trace(void *object, gc_visitor *visitor) {
    gc_visit(visitor, ((list *)object)->items, ((list *)object)->count, GC_SLOT_OWNED);
}
static const gc_type owned_type = {.name = "list", .bytes = sizeof(list), .trace = owned_trace};

static void missed_barrier_in_buffer(void *unused) {
    (void)unused;
    begin(&verified);
    list *l = new_list(&owned_type, calloc(2, sizeof(void *)), 2);
    GC_ROOTS(gc, l);
    age(&l, 2);
    l->items[1] = gc_new(gc, &referent_type); /* the mistake */
    gc_collect(heap, 0, 0);
}

/* Collects a heap in which an object reports the slots of another one as its own. */
static void report_another_objects_slots(const gc_options *options, const gc_type *type) {
    begin(options);
    vector *v = new_vector(4);
    list *l = NULL;
    GC_ROOTS(gc, v, l);
    l = new_list(type, v->items, 4);
    gc_store(gc, &v->items[0], new_node(7));
    gc_collect(heap, 0, 0);
    if (((node *)v->items[0])->value != 7) printf("wrong\n");
    end();
}

static void owned_slots_in_another_object(void *unused) {
    (void)unused;
    report_another_objects_slots(&verified, &owned_type);
}

/* Owned slots in an object of the same region, where nothing else looks for faults; of a heap that moves without generations
   likewise. */
static void owned_slots_by_themselves(void *without_generations) {
    report_another_objects_slots(&(gc_options){.non_generational = without_generations, .non_moving = !without_generations}, &owned_type);
}

/* Nothing moves, and each collection looks at everything, so any slot is seen. */
static void owned_slots_without_either(void *unused) {
    (void)unused;
    report_another_objects_slots(&(gc_options){.non_generational = true, .non_moving = true}, &owned_type);
}

/* In the same region, so that only verify notices. */
static void slots_in_another_object(void *unused) {
    (void)unused;
    report_another_objects_slots(&verified, &list_type);
}

static void slots_beyond_the_end(void *unused) {
    (void)unused;
    begin(&verified);
    list *l = new_list(&list_type, NULL, 3);
    GC_ROOTS(gc, l);
    new_node(1);
    l->items = (void **)(void *)&l->count;
    gc_collect(heap, 0, 0);
}

/* A trace function faults: in verify, in verify by request, in the trace itself. */
static void **unmapped_items(void) {
    return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void finalizer_frees_slots(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.verify = GC_VERIFY_BEFORE, .non_generational = true});
    gc_handle hold = NULL;
    {
        void **items = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        hold = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_list(&finalized_list_type, items, 512));
    }
    gc_collect(heap, 2, 0);
    if (gc_finalizer_run(gc, 10) != 1 || !gc_handle_get(hold)) _exit(1);
    gc_collect(heap, 2, 0);
}

static void slots_freed(const gc_options *options) {
    begin(options);
    list *l = new_list(&list_type, unmapped_items(), 512);
    GC_ROOTS(gc, l);
    if (options->debug.verify || options->debug.checkmark)
        gc_collect(heap, 2, 0);
    else
        gc_heap_verify(heap);
}

static void slots_freed_in_trace(void *unused) {
    (void)unused;
    slots_freed(&(gc_options){.debug.verify = GC_VERIFY_AFTER, .non_generational = true});
}

static void slots_freed_by_request(void *unused) {
    (void)unused;
    slots_freed(&(gc_options){.non_generational = true});
}

/* Where every collection is a full one, slots may lie in the host's memory; and 0 slots anywhere. */
static void slots_of_the_host(void *unused) {
    (void)unused;
    begin(&(gc_options){
        .debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .debug.checkmark = true, .debug.stress = GC_STRESS_ALLOCATION, .non_generational = true});
    list *l = new_list(&list_type, calloc(1, sizeof(void *)), 1);
    GC_ROOTS(gc, l);
    for (uint64_t i = 0; i < 20; i++) {
        node *n = new_node(i);
        if (i && ((node *)l->items[0])->value != i - 1) printf("wrong\n");
        l->items[0] = n;
    }
    free(l->items);
    l = NULL;
    end();
    begin(&verified);
    list *empty = new_list(&list_type, NULL, 0);
    GC_ROOTS(gc, empty);
    empty->items = (void **)&heap;
    full();
}

/* Programs without a mistake run under every kind of stress, and say nothing. */
static gc_options quiet_options;
static const char *quiet_environment;
static void quiet(void *unused) {
    (void)unused;
    if (quiet_environment) setenv("GC_STRESS", quiet_environment, 1);
    begin(&quiet_options);
    vector *keep = new_vector(50);
    node *n = NULL;
    GC_ROOTS(gc, keep, n);
    uint64_t count = quiet_options.non_moving ? 200 : 1500; /* each collection leaves a region behind there */
    for (uint64_t i = 0; i < count; i++) {
        n = new_node(i);
        gc_store(gc, &n->left, keep->items[i % 50]);
        if (i % 10 == 0) gc_store(gc, &n->left, NULL);
        gc_store(gc, &keep->items[i % 50], n);
        if (i % 400 == 0) new_bytes(2 * GC_REGION_BYTES);
        gc_safepoint(gc);
    }
    gc_stats s = stats();
    if (s.collections[0] + s.collections[1] + s.collections[2] < 2) printf("no stress: %d collections\n", (int)s.collections[0]);
    for (uint64_t i = 0; i < 50; i++)
        if (((node *)keep->items[i])->value != count - 50 + i) printf("wrong\n");
}

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

/* Under stress the second allocation finds the first object dead, since no root holds it. */
static void lose_root(void) {
    node *lost = new_node(1);
    new_node(2);
    printf("%d\n", (int)lost->value); /* the mistake */
}

/* A host with a use of its own for faults, under stress: its handler goes on working, and so does the report. */
static char *guard;
static void on_guard(int number) {
    (void)number;
    mprotect(guard, 4096, PROT_READ | PROT_WRITE);
}

static void fault_of_the_host(void *unused) {
    (void)unused;
    handle(SIGSEGV, on_guard, 0);
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    for (int i = 0; i < 3; i++) {
        guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *guard = 1;
    }
    lose_root();
}

/* One that handles full stacks, which needs an alternate one. */
extern void __asan_init(void) __attribute__((weak));
static sigjmp_buf before_full;
static void on_full(int number) {
    (void)number;
    siglongjmp(before_full, 1);
}
static __attribute__((noinline)) int fill_stack(int depth) {
    volatile char memory[4096];
    memory[0] = 1;
    if (depth < 0) return 0;
    return fill_stack(depth + 1) + memory[0];
}

static void full_stack_of_the_host(void *unused) {
    static char alternative[1 << 16];
    struct rlimit limit = {1 << 20, 1 << 20};
    stack_t stack;
    (void)unused;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternative, stack.ss_size = sizeof alternative;
    sigaltstack(&stack, NULL);
    handle(SIGSEGV, on_full, SA_ONSTACK);
    setrlimit(RLIMIT_STACK, &limit);
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    if (!sigsetjmp(before_full, 1)) fill_stack(0);
    lose_root();
}

/* A call of what is no code, which the host handles: what is there cannot be read. */
static void bad_call_of_the_host(void *unused) {
    (void)unused;
    handle(SIGSEGV, on_full, 0);
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*nowhere)(void);
    memcpy(&nowhere, &guard, sizeof nowhere);
    if (!sigsetjmp(before_full, 1)) nowhere();
    puts("handled");
}

/* A watchdog sends the signal of a fault, where the host has no handler. */
static void sent_fault(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    raise(SIGSEGV);
    puts("lives on");
}

/* A timer interrupts the report while it waits for the tool addr2line. */
static void on_timer(int number) { (void)number; }
static void missed_root_beside_timer(void *unused) {
    struct itimerval often = {{0, 1000}, {0, 1000}};
    (void)unused;
    handle(SIGALRM, on_timer, SA_RESTART);
    setitimer(ITIMER_REAL, &often, NULL);
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    lose_root();
}

static void misuse(void *unused) {
    (void)unused;
    begin(NULL);
    holder *h = gc_new(gc, &holder_type);
    gc_store(gc, (char *)&h->first + 4, NULL);
}

static void out_of_order(void *unused) {
    (void)unused;
    begin(NULL);
    node *a = NULL;
    GC_ROOTS(gc, a);
    gc_frames_restore(gc, NULL);
}

/* Pages of the first 64 KiB of the object's region that the system has provided. */
static size_t resident_pages(const void *object) {
    unsigned char resident[16] = {0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    mincore((void *)((uintptr_t)object & ~(uintptr_t)(GC_REGION_BYTES - 1)), 65536, resident);
    for (size_t i = 0; i < 65536 / page; i++) count += resident[i] & 1;
    return count;
}

static bool always_huge_pages(void) {
    char line[100] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (!file) return false;
    if (!fgets(line, sizeof line, file)) line[0] = 0;
    fclose(file);
    return strstr(line, "[always]") != NULL;
}

/* Under stress a region is left after a few objects; providing more of its memory took three quarters of the time. */
static void takes_what_it_needs(void) {
    begin(&(gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    {
        node *moved = new_node(1);
        GC_ROOTS(gc, moved);
        node *fresh = new_node(2);
        is(resident_pages(fresh), 1, "stress: memory for one new object");
        is(resident_pages(moved), 1, "stress: memory for one that moved");
    }
    end();
}

static void step(uintptr_t at, bool errs) {
    script.at = at;
    node *n = new_node(at);
    if (errs) script.stale = n;
    script.held = n;
}

static size_t collected(gc_stress stress, uintptr_t first) {
    begin(&(gc_options){.debug.stress = stress, .debug.location = where});
    gc_roots_add(heap, &script.held, 1, 0);
    for (int round = 0; round < 20; round++)
        for (uintptr_t at = first; at < 10; at++) step(at, false);
    size_t count = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) count += stats().collections[g];
    end();
    return count;
}

static void locations(void) {
    is(collected(GC_STRESS_LOCATION, 1), 9, "GC_STRESS_LOCATION collects once at each location");
    is(collected(GC_STRESS_LOCATION, 0), 9, "but not where there is none");
    ok(collected(GC_STRESS_STACK, 1) < 4, "the native stack shows hardly any difference");
    ok(!gc_heap_create(&(gc_options){.debug.stress = GC_STRESS_LOCATION}), "it needs options.debug.location");
    is(gc_last_result(), GC_ERROR_OPTION, "GC_ERROR_OPTION");
    has(gc_last_message(), "options.debug.location", "and says so");
}

/* Instruction 7 keeps a reference in a variable that is no root, which 9 uses; both have allocated at the same native place. */
static void missed_root_in_bytecode(void *unused) {
    (void)unused;
    setenv("GC_STRESS", "location", 1);
    begin(&(gc_options){.debug.location = where});
    gc_roots_add(heap, &script.held, 1, 0);
    for (uintptr_t at = 1; at < 10; at++) step(at, at == 7);
    script.at = 42;
    script.held->value = script.stale->value; /* the mistake */
}

/* What may not allocate: a window has room. */
static enum { IN_START, IN_SCAN_ROOTS, IN_WALK } callback;
static void *made;
static void make(int where_now) {
    if (where_now == (int)callback) made = gc_new(gc, &referent_type);
}
static void make_at_start(void *host, const gc_collection *collection) { (void)host, (void)collection, make(IN_START); }
static void make_at_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread, (void)visitor, make(IN_SCAN_ROOTS);
}
static bool make_at_object(void *context, void *object, size_t bytes, int generation) {
    (void)context, (void)object, (void)bytes, (void)generation, make(IN_WALK);
    return false;
}

static void allocation_in_callback(void *unused) {
    (void)unused;
    begin(&(gc_options){.collection_start = make_at_start, .scan_roots = make_at_roots});
    made = NULL;
    new_node(1);
    if (callback == IN_WALK)
        gc_heap_walk(heap, make_at_object, NULL);
    else
        gc_collect(heap, 0, 0);
    printf("# %s was made\n", made ? "an object" : "nothing");
}

static void allocations_in_callbacks(void) {
    for (int i = 0; i < 3; i++) {
        callback = i;
        is(tap_child(allocation_in_callback, NULL, report, sizeof report), GC_DEBUG >= 1 ? 256 + 6 : 0,
           "an allocation in callback %d", i);
        ok(strstr(report, "an allocation during a collection or a walk"), "is said: %s", report);
        ok(GC_DEBUG >= 1 || strstr(report, "nothing was made"), "and fails");
    }
}

int main(void) {
    setenv("GC_STRESS", "", 1), unsetenv("GC_STRESS");
    REPORTED("a missed barrier", missed_barrier, "holder", "second", "referent", "barrier");
    REPORTED("a missed barrier under stress", missed_barrier_under_stress, "holder", "was stored without a barrier between collection 3",
             "collection 3 was here", "this collection is here", "script.x:42 in f");
    REPORTED("a missed barrier in an array", missed_barrier_in_array, "vector", "777", "node", "barrier");
    REPORTED("a missed barrier in an array of an object", missed_barrier_in_an_array_of_an_object, "element 2",
             "That `vector` is in field `second` (offset 24) of `holder`");
    REPORTED("a missed root of an array", missed_root_of_an_array, "used a `vector`", "moved away",
             "That `vector` is in field `second` (offset 24) of `holder`");
    REPORTED("a missed barrier from 2 to 1", missed_barrier_to_generation_1, "holder", "first", "referent", "barrier");
    REPORTED("a missed barrier by gc_heap_verify", missed_barrier_by_request, "holder", "first", "referent");
    REPORTED("a missed root", missed_root, "missed root", "GC_ROOTS");
    REPORTED("a missed root long ago", missed_root_long_ago, "missed root", "where no object was", "a register holds 0x");
    ok(!strstr(report, "used a `"), "a missed root long ago: no type is named");
    REPORTED("a missed root after faults of the host's own", fault_of_the_host, "missed root", "GC_ROOTS");
    bool has_lines = strstr(report, "test_verify.c:") != NULL; /* not of other processors' programs */
    if (!__asan_init) /* AddressSanitizer cannot start the tool addr2line from another stack */
        REPORTED("a missed root after a full stack, which the host handles", full_stack_of_the_host, "missed root", "the use is here");
    REPORTED("a missed root beside a timer", missed_root_beside_timer, "missed root", has_lines ? "test_verify.c:" : "");
    is(tap_child(bad_call_of_the_host, NULL, report, sizeof report), 0, "a call of what is no code reaches the host's handler");
    is(strcmp(report, "handled\n"), 0, "which handles it: %s", report);
    ok(tap_child(sent_fault, NULL, report, sizeof report) != 0, "the signal of a fault, sent to the program, ends it: %s", report);
    REPORTED("a missed root by environment", missed_root_by_environment, "missed root", "GC_ROOTS");
    REPORTED("a stale reference stored", stale_store, "stored a reference to a `referent`", "was found dead", "the store is here");
    REPORTED("a stale reference stored without a barrier", stale_initialization, "holder", "second", "is stale since collection", "is here:");
    REPORTED("an interior pointer in a field", wild_store, "holder", "first");
    REPORTED("an interior pointer in a plain root", interior_root, "inside", "test_verify.c");
    REPORTED("a header overwritten", wrecked_header, "gc.h");
    REPORTED("a missed barrier, by hook", by_hook, "hooked: ", "holder", "first");
    REPORTED("slots outside the heap", slots_outside_the_heap, "trace function of `list`", "2 slots", "GC_SLOT_OWNED", "non_generational");
    REPORTED("a missed barrier in a buffer", missed_barrier_in_buffer, "`list`", "generation 2", "referent", "gc_store_in", "gc_remember");
    REPORTED("owned slots in another object", owned_slots_in_another_object, "trace function of `list`", "4 slots", "of another object");
    for (int i = 0; i < 2; i++) {
        int status = tap_child(owned_slots_by_themselves, i ? &i : NULL, report, sizeof report);
        ok(status && strstr(report, "slots of another object are not its own, even with GC_SLOT_OWNED"), "and without verify, case %d: %s", i, report);
    }
    is(tap_child(owned_slots_without_either, NULL, report, sizeof report), 0, "but they may be where nothing moves or ages");
    is(strcmp(report, ""), 0, "and are traced: %s", report);
    REPORTED("slots in another object", slots_in_another_object, "trace function of `list`", "4 slots");
    REPORTED("slots beyond the end", slots_beyond_the_end, "trace function of `list`", "3 slots");
    REPORTED("a finalizer frees what is traced", finalizer_frees_slots, "trace function of `list`", "faults", "finalizer");
    REPORTED("freed slots, in the trace", slots_freed_in_trace, "trace function of `list`", "faults");
    REPORTED("freed slots, by gc_heap_verify", slots_freed_by_request, "trace function of `list`", "faults");
    locations();
    allocations_in_callbacks();
    REPORTED("a missed root of bytecode", missed_root_in_bytecode, "missed root", "script.x:8 in f",
             "script.x:42 in f");
    is(tap_child(slots_of_the_host, NULL, report, sizeof report), 0, "slots of the host's, without generations");
    is(strcmp(report, ""), 0, "are updated: %s", report);

    const gc_stress kinds[] = {GC_STRESS_ALLOCATION, GC_STRESS_SAFEPOINT, GC_STRESS_NTH, GC_STRESS_STACK};
    for (int i = is_quick() ? 6 : 0; i < 8; i++) {
        quiet_options = (gc_options){.debug.stress = kinds[i % 4],
                                     .debug.stress_interval = i < 4 ? 0 : 7,
                                     .non_moving = i >= 4,
                                     .debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER,
                                     .debug.checkmark = true};
        int status = tap_child(quiet, NULL, report, sizeof report);
        ok(status == 0 && !report[0], "stress %d, non_moving %d: status %d, %s", kinds[i % 4], i >= 4, status, report);
    }
    const char *const environment[] = {"allocation", "safepoint", "stack", "50"};
    for (int i = 0; i < 4; i++) {
        quiet_options = (gc_options){0}, quiet_environment = environment[i];
        int status = tap_child(quiet, NULL, report, sizeof report);
        ok(status == 0 && !report[0], "GC_STRESS=%s: status %d, %s", environment[i], status, report);
    }
    quiet_environment = "nonsense";
    tap_child(quiet, NULL, report, sizeof report);
    ok(strstr(report, "GC_STRESS") != NULL, "GC_STRESS=nonsense is warned of: %s", report);

    if (GC_DEBUG >= 1) {
        REPORTED("an unaligned slot", misuse, "gc_store", "aligned");
        REPORTED("frames out of order", out_of_order, "GC_ROOTS(a)", "out of order");
    }
    if (!always_huge_pages()) takes_what_it_needs(); /* last, for it sets the handler of faults in this process */
    return done();
}
