/* Heap snapshots: texts of the host, numbers of objects, every kind of root and of reference as an independent reader sees
   them, files that cannot be written. */
#define GC_IMPLEMENTATION
#define GC_VALUE_MASK 1
#define GC_VALUE_TAG 1
#include "gc_profile.h"

#include "../fixture.h"

#include <glob.h>
#include <pthread.h>
#include <signal.h>

typedef struct mixed {
    gc_object header;
    struct mixed *plain;
    uintptr_t tagged, traced;
} mixed;

static void mixed_trace(void *object, gc_visitor *visitor) {
    gc_visit(visitor, &((mixed *)object)->traced, 1, GC_SLOT_VALUE);
}
static const gc_type mixed_type = GC_TYPE_WITH(mixed, refs(plain), values(tagged), trace(mixed_trace));

typedef struct couples {
    gc_array header;
    struct couple {
        size_t number;
        void *left, *right;
    } items[];
} couples;
static const gc_type couples_type = GC_TYPE_ARRAY_WITH(couples, items, element_refs(left, right));

typedef struct table {
    gc_array header;
    void *items[];
} table;

/* A table of weak keys, with values that it keeps. */
static void table_trace(void *object, gc_visitor *visitor) {
    table *t = object;
    gc_weak_entries entries = {t->items, t->items + 1, t->header.length / 2, 0, GC_WEAK_KEYS, 0, 0, 0, NULL, NULL};
    gc_visit_weak(visitor, &entries);
}
static const gc_type table_type = GC_TYPE_ARRAY_TRACED(table, items, table_trace);

/* Texts. */

static const char *escaped(const char *text, size_t (*put)(char *, uint32_t)) {
    static char result[512];
    size_t used = 0;
    while (*text) used += put(result + used, gc__utf8_next(&text));
    result[used] = 0;
    return result;
}

static void texts(void) {
#define FFFD "\xEF\xBF\xBD"
    static const struct {
        const char *text, *json, *xml;
    } cases[] = {
        {"plain (name)::of", "plain (name)::of", "plain (name)::of"},
        {"\"\\\n\t\x01\x7F", "\\\"\\\\\\u000a\\u0009\\u0001\\u007f", "&quot;\\\n\t" FFFD FFFD},
        {"</script>]]>&'", "\\u003c/script\\u003e]]\\u003e\\u0026'", "&lt;/script&gt;]]&gt;&amp;&#39;"},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
         "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBE", "\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBE",
         FFFD "\xDF\xBF\xE0\xA0\x80" FFFD},
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF", FFFD},
        {"\xFF\xC0\xAF\xC1\xBF", FFFD FFFD FFFD FFFD FFFD, FFFD FFFD FFFD FFFD FFFD},
        {"\xE0\x80\xAF", FFFD FFFD FFFD, FFFD FFFD FFFD},
        {"\xED\xA0\x80", FFFD FFFD FFFD, FFFD FFFD FFFD},
        {"\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD, FFFD FFFD FFFD FFFD},
        {"\xE2\x82", FFFD FFFD, FFFD FFFD},
        {"a\xF0\x9F", "a" FFFD FFFD, "a" FFFD FFFD},
        {"\xE2\x80\xA8", "\\u2028", "\xE2\x80\xA8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *json = escaped(cases[i].text, gc__json_put);
        if (!ok(strcmp(json, cases[i].json) == 0, "text %zu in JSON", i)) diag("%s", json);
        const char *xml = escaped(cases[i].text, gc__xml_put);
        if (!ok(strcmp(xml, cases[i].xml) == 0, "text %zu in XML", i)) diag("%s", xml);
    }
    char digits[GC__NUMBER_BYTES_MAX + 1] = {0}, expected[32];
    static const uint64_t numbers[] = {
        0, 7, 10, 99, 100, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX, UINT64_MAX - 9, 10000000000};
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)numbers[i]);
        wrong += strcmp(gc__digits(digits + GC__NUMBER_BYTES_MAX, numbers[i]), expected) != 0;
    }
    is(wrong, 0, "digits of numbers");
}

/* Numbers. */

typedef struct numbers {
    const gc__numbering *numbering;
    unsigned char *seen;
    size_t count, wrong;
} numbers;

static bool look(void *context, void *object, size_t bytes, int generation) {
    numbers *all = context;
    (void)generation;
    size_t number = gc__number_of(all->numbering, (uintptr_t)object);
    all->count++;
    all->wrong += number >= all->numbering->count || all->seen[number]++;
    all->wrong += !gc__is_numbered(all->numbering, (uintptr_t)object);
    all->wrong += gc__is_numbered(all->numbering, (uintptr_t)object + 8) ||
                  gc__is_numbered(all->numbering, (uintptr_t)object + 1);
    all->wrong += gc__is_numbered(all->numbering, (uintptr_t)object + bytes / 2 + 4);
    return true;
}

static void check_numbers(const char *when) {
    gc__numbering numbering;
    gc__world_stop(heap);
    gc__heap_flush(heap);
    ok(gc__numbering_make(&numbering, &heap, 1), "there is memory for numbers");
    numbers all = {&numbering, calloc(numbering.count + 1, 1), 0, 0};
    gc_heap_walk(heap, look, &all);
    is(all.count, numbering.count, "as many numbers as objects %s", when);
    is(all.wrong, 0, "each object has one of its own %s", when);
    free(all.seen);
    gc__numbering_free(&numbering);
    gc__world_resume(heap);
}

static void numbered(void) {
    vector *keep = new_vector(3000);
    GC_ROOTS(gc, keep);
    check_numbers("before any collection");
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < 3000; i++) {
            if (random_bits() % 3 == 0) continue;
            size_t length = random_bits() % 50 ? random_bits() % 200 : random_bits() % 300000;
            bytes *b = i % 2 ? new_bytes(length) : (bytes *)new_node(i);
            gc_store(gc, &keep->items[i], b);
        }
        check_numbers("among the dead");
        if (round % 2) full();
        gc_heap_stats(heap, &(gc_stats){0});
        check_numbers("after a collection");
    }
}

/* The snapshot, as the reader tells it. */

static char path[64], facts[1 << 24];

static bool write_to(const char *name) { return gc_profile_write(name) == GC_OK; }

static int read_back(void) {
    char command[128];
    snprintf(command, sizeof command, "perl tests/profile/snapshot.pl %s 2>&1", path);
    FILE *from = popen(command, "r");
    facts[fread(facts, 1, sizeof facts - 1, from)] = 0;
    return pclose(from);
}

static void fact(const char *text) {
    char line[512];
    snprintf(line, sizeof line, "\n%s\n", text);
    has(facts, line, "%s", text);
}

static bool in_thread_go_on;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void turn_set(bool *flag, bool value) {
    pthread_mutex_lock(&turn);
    *flag = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&turn);
}

static void turn_await(const bool *flag, bool value) {
    pthread_mutex_lock(&turn);
    while (*flag != value) pthread_cond_wait(&changed, &turn);
    pthread_mutex_unlock(&turn);
}

static bool ready;

static void *in_thread(void *unused) {
    gc_thread *mine = gc_thread_attach(heap);
    gc_thread_set_name(mine, "other \"\xFF</script>");
    {
        node *hers = gc_new(mine, &node_type);
        GC_ROOTS(mine, hers);
        GC_IN_MODE(mine, GC_MODE_PREEMPTIVE);
        turn_set(&ready, true);
        turn_await(&in_thread_go_on, true);
    }
    gc_thread_detach(mine);
    return unused;
}

static void *globals[2];

static bool held(void *host, gc_handle handle, void *object, void *word) {
    (void)host, (void)handle, (void)object;
    return word != NULL;
}

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer last_words = {.finalize = finalize};

static void deep(int depth) {
    node *local = new_node(0);
    GC_ROOTS(gc, local);
    if (depth) {
        deep(depth - 1);
        return;
    }
    bool written = false;
    bytes *copied = gc_new_array(gc, &bytes_type, 3);
    GC_ROOTS_DURING(gc, 0, written = write_to(path), local, copied);
    ok(written, "a snapshot is written");
    is(read_back(), 0, "the reader finds no fault");
    if (strstr(facts, "broken")) diag("%s", facts);
}

/* Frames of one site in a row, whose names begin anew with each. */
static int second(int first, int second) { return (void)first, second; }
static void named(int depth) {
    node *base = new_node(7), *other = new_node(8), *two[2] = {NULL, new_node(9)};
    void *past = base + 1;
    GC_ROOTS(gc, two[second(0, 1)], other);
    GC_ROOTS_WITH(gc, GC_SLOT_DERIVED, base, past);
    if (depth)
        named(depth - 1);
    else
        deep(3);
}
static void derived(int depth) {
    node *from = new_node(7);
    void *past = from + 1;
    GC_ROOTS_WITH(gc, GC_SLOT_DERIVED, from, past);
    if (depth)
        derived(depth - 1);
    else
        named(1);
}

static void kinds(void) {
    mixed *m = gc_new(gc, &mixed_type);
    couples *c = NULL;
    vector *big = NULL;
    table *weak_keys = NULL;
    void *array[4] = {0};
    GC_ROOTS(gc, m, c, big, weak_keys);
    GC_ROOTS_ARRAY(gc, array, 4, 0);
    mixed *inner = gc_new(gc, &mixed_type);
    gc_store(gc, &m->plain, inner);
    node *n = new_node(1);
    gc_store_value(gc, &m->tagged, (uintptr_t)n + 1);
    n = new_node(2);
    gc_store_value(gc, &m->traced, (uintptr_t)n + 1);
    m->plain->tagged = 40; /* a number */
    c = gc_new_array(gc, &couples_type, 3);
    gc_store(gc, &c->items[2].right, m);
    gc_store(gc, &c->items[1].left, c);
    big = new_vector(100000);
    for (size_t i = 0; i < 100000; i += 25000) gc_store(gc, &big->items[i], m);
    array[2] = new_bytes(10);
    weak_keys = gc_new_array(gc, &table_type, 2);
    gc_store(gc, &weak_keys->items[0], m);
    bytes *b = new_bytes(11);
    gc_store(gc, &weak_keys->items[1], b);
    globals[1] = new_node(5);
    gc_roots_add(heap, globals, 2, 0);
    gc_handle strong = gc_handle_create(heap, GC_HANDLE_STRONG, new_bytes(1));
    gc_handle pinned = gc_handle_create(heap, GC_HANDLE_PINNED, new_bytes(2));
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, m);
    gc_handle counted = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, new_bytes(3));
    gc_handle_set_host_word(counted, heap);
    gc_handle dropped = gc_handle_create(heap, GC_HANDLE_REF_COUNTED, m);
    gc_handle dependent = gc_handle_create_dependent(heap, m, NULL);
    n = new_node(6);
    gc_handle_set_dependent(dependent, n);
    bytes *dying = new_bytes(20);
    gc_finalizer_register(gc, dying, &last_words);
    dying = NULL;
    full();
    derived(2);
    fact("unreachable 0");
    fact("edge mixed property plain mixed 1");
    fact("edge mixed property tagged node 1");
    fact("edge mixed property +24 node 1");
    fact("edge mixed internal dependent node 1");
    fact("edge couples element [] mixed 1");
    fact("edge couples element [] couples 1");
    fact("edge vector element [] mixed 4");
    fact("edge table weak weak mixed 1");
    fact("edge table element [] bytes 1");
    fact("edge (weak handles) weak handle mixed 1");
    fact("edge (strong handles) element [] bytes 1");
    fact("edge (pinned handles) element [] bytes 1");
    fact("edge (ref-counted handles) element [] bytes 1");
    fact("edge (ref-counted handles) weak handle mixed 1");
    fact("edge (objects due for finalizers) element [] bytes 1");
    fact("edge (global slot) element [] node 1");
    has(facts, "internal hers node 1", "a variable of another thread");
    has(facts, "other \"\xEF\xBF\xBD</script>, ", "whose name is as far as possible what it was");
    has(facts, "(frame of deep at ", "the frames of a function");
    has(facts, "internal local node 4", "are one group, whatever the depth");
    has(facts, "internal from node 3", "what is derived has no edge of its own");
    has(facts, "internal two[second(0, 1)] node 2", "a name may have a comma");
    has(facts, "internal other node 2", "and another one follows it");
    has(facts, "internal big vector 1", "one variable of four");
    has(facts, "internal copied bytes 1", "a copy of a variable");
    fact("type vector 1 800016 800016");
    gc_handle_destroy(heap, strong), gc_handle_destroy(heap, pinned), gc_handle_destroy(heap, weak);
    gc_handle_destroy(heap, counted), gc_handle_destroy(heap, dropped), gc_handle_destroy(heap, dependent);
    gc_roots_remove(heap, globals);
}

static void with_thread(gc_options options) {
    pthread_t thread;
    options.handle_is_held = held;
    options.finalizers_ready = NULL;
    begin(&options);
    ready = in_thread_go_on = false;
    pthread_create(&thread, NULL, in_thread, NULL);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        turn_await(&ready, true);
    }
    kinds();
    turn_set(&in_thread_go_on, true);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, NULL);
    }
    end();
}

static void survivors(void) {
    node *list = NULL;
    GC_ROOTS(gc, list);
    for (size_t i = 0; i < 20000; i++) {
        node *n = new_node(i);
        if (i % 7) continue;
        n->left = list;
        list = n;
    }
    ok(write_to(path), "a snapshot without a collection before");
    is(read_back(), 0, "the reader finds no fault");
    fact("type node 2858 91456 91456");
    fact("edge node property left node 2857");
}

/* Strings, which have what they contain for a name. */

typedef struct string {
    gc_array header;
    char text[];
} string;
static const gc_type string_type = GC_TYPE_STRING(string, text), characters_type = GC_TYPE_ARRAY_LEAF(string, text);

static void add_string(vector *v, size_t at, const gc_type *type, const char *text, size_t length) {
    string *s = gc_new_array(gc, type, length);
    memcpy(s->text, text, length);
    gc_store(gc, &v->items[at], s);
}

static void strings(void) {
    char longer[200];
    vector *v = new_vector(10);
    GC_ROOTS(gc, v);
    memset(longer, 'x', sizeof longer);
    memcpy(longer + 79, "\xE2\x82\xAC", 3);
    add_string(v, 0, &string_type, "hello \"you\"", 11);
    add_string(v, 1, &string_type, "hello \"you\"", 11);
    add_string(v, 2, &string_type, "cut\0here", 8);
    add_string(v, 3, &string_type, longer, sizeof longer);
    add_string(v, 4, &string_type, longer, 79);
    add_string(v, 5, &string_type, "", 0);
    add_string(v, 6, &characters_type, "secret", 6);
    ok(write_to(path), "a snapshot of strings");
    is(read_back(), 0, "the reader finds no fault");
    fact("type \"hello \"you\"\" 2 64 64");
    fact("type \"cut\" 1 32 32");
    fact("type \"\" 1 24 24");
    fact("type string 1 24 24");
    longer[79] = 0;
    char line[300];
    snprintf(line, sizeof line, "type \"%s\" 1 96 96", longer);
    fact(line);
    snprintf(line, sizeof line, "type \"%s...\" 1 224 224", longer);
    fact(line);
    ok(!strstr(facts, "secret"), "an array that is no string has a type only");
    gc_profile_options hidden = {.hides_texts = true};
    ok(gc_profile_start(&hidden, NULL) == GC_OK && gc_profile_stop() == GC_OK, "a profile that hides them");
    ok(write_to(path), "a snapshot");
    is(read_back(), 0, "the reader finds no fault");
    ok(!strstr(facts, "hello") && strstr(facts, "type string 7 "), "they are objects of their type");
    ok(gc_profile_start(NULL, NULL) == GC_OK && gc_profile_stop() == GC_OK, "one that does not");
    enum { MANY = 30000 };
    vector *all = new_vector(MANY);
    GC_ROOTS(gc, all);
    for (size_t i = 0; i < MANY; i++) {
        char text[80];
        snprintf(text, sizeof text, "string number %zu of many that all differ, and are rather long", i);
        add_string(all, i, &string_type, text, strlen(text));
    }
    ok(write_to(path), "a snapshot of many");
    is(read_back(), 0, "the reader finds no fault");
    has(facts, "\nedge vector element [] \"string number ", "some are shown");
    const char *rest = strstr(facts, "\ntype string ");
    int left = 0;
    ok(rest && sscanf(rest, "\ntype string %d", &left) == 1 && left > MANY / 10 && left < MANY,
       "others, %d of %d, are objects of their type, so that they take little memory", left, (int)MANY);
}

/* As many heaps as there are. */
static void many_heaps(void) {
    enum { HEAPS = 70 };
    gc_heap *heaps[HEAPS];
    for (int i = 0; i < HEAPS; i++) {
        begin(NULL);
        heaps[i] = heap;
        gc_handle_create(heap, GC_HANDLE_STRONG, new_node(1));
        gc_thread_detach(gc);
    }
    ok(write_to(path), "a snapshot of %d heaps", (int)HEAPS);
    is(read_back(), 0, "the reader finds no fault");
    fact("type node 70 2240 2240");
    for (int i = 0; i < HEAPS; i++) gc_heap_destroy(heaps[i]);
}

/* A heap that is created while a profile starts is part of it: the start may come just before or after the heap is told of. */
static const gc__profiling_calls *told;
static bool starts_before;

static void *start_profile(void *result) {
    *(gc_result *)result = gc_profile_start(NULL, NULL);
    return result;
}

static void start_now(void) {
    gc_result result = GC_ERROR_MISUSE;
    pthread_t other;
    if (pthread_create(&other, NULL, start_profile, &result) != 0 || pthread_join(other, NULL) != 0) abort();
    ok(result == GC_OK, "another thread starts a profile");
}

static void tell_of(gc_heap *created) {
    if (starts_before) start_now();
    told->created(created);
    if (!starts_before) start_now();
}

/* scan_roots is asked for each thread, but as by collections not for records of gc_thread_create. */
static gc_thread *created;
static size_t asked, asked_for_created;
static void scan(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)visitor;
    asked++;
    asked_for_created += thread == created;
}
static void nobody(void *host) { (void)host; }

static void created_records(void) {
    begin(&(gc_options){.scan_roots = scan, .suspend = nobody, .restart = nobody});
    created = gc_thread_create(heap);
    full();
    size_t by_collection = asked;
    ok(write_to(path), "a snapshot of a heap with a record of gc_thread_create");
    ok(asked > by_collection, "asks for the roots of threads");
    is(asked_for_created, 0, "and not for those of that record");
    gc_thread_destroy(created);
    end();
}

static void created_meanwhile(void) {
    told = gc__the_profiling;
    gc__profiling_calls calls = *told;
    calls.created = tell_of;
    for (int i = 0; i < 2; i++) {
        gc__the_profiling = &calls;
        starts_before = i;
        begin(NULL);
        gc__the_profiling = told;
        full();
        is(gc__the_profile.profile.heaps_count, 1, "the heap is in the profile, once");
        is(gc__the_profile.profile.collections_count, 1, "and its collection");
        gc_profile_stop();
        end();
    }
}

/* Files. */

static void file_too_large(void) {
    struct rlimit before, limit = {5000, 5000};
    getrlimit(RLIMIT_FSIZE, &before);
    limit.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    ok(!write_to(path), "a file that grows too large");
    has(gc_last_message(), "File too large", "the message says why");
    has(gc_last_message(), path, "and which file");
    setrlimit(RLIMIT_FSIZE, &before);
}

static void files(void) {
    vector *v = new_vector(1000);
    GC_ROOTS(gc, v);
    for (size_t i = 0; i < 1000; i++) {
        node *n = new_node(i);
        gc_store(gc, &v->items[i], n);
    }
    ok(!write_to("/nonexistent/x.heapsnapshot"), "no such folder");
    FILE *old = fopen(path, "w");
    fputs("old", old);
    fclose(old);
    file_too_large();
    glob_t found;
    char pattern[80];
    snprintf(pattern, sizeof pattern, "%s.*", path);
    is(glob(pattern, 0, NULL, &found), GLOB_NOMATCH, "nothing is left of it");
    old = fopen(path, "r");
    is(fread(facts, 1, 100, old), 3, "the old file is as it was");
    fclose(old);
    ok(write_to(path), "afterwards another one is written");
    is(read_back(), 0, "and is right");
    is(gc_heap_verify(heap), 1001, "the heap is whole");
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/gc-snapshot-%d.heapsnapshot", (int)getpid());
    texts();
    run(numbered, (gc_options){0});
    run(numbered, (gc_options){.non_moving = true});
    with_thread((gc_options){0});
    with_thread((gc_options){.non_moving = true});
    run(survivors, (gc_options){0});
    run(survivors, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 500});
    run(strings, (gc_options){0});
    many_heaps();
    created_meanwhile();
    created_records();
    run(files, (gc_options){0});
    remove(path);
    return done();
}
