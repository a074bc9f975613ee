/* A part of tests/scripts/unload.t: with MAIN the program that measures what is left behind, else a library with a gc.h, which the
   program loads, uses and unloads. */
#define _GNU_SOURCE
#ifdef MAIN
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ADDRESSES, MEMORY, MALLOCED, MAPPINGS, FILES, THREADS, KEYS, TIMERS, ACTIONS, MEASURES };
static const char *const names[] = {"KiB of addresses", "KiB of memory", "bytes of malloc", "mappings", "files", "threads",
                                    "keys",             "timers",        "actions of signals"};
/* What the C library and the system keep by chance: less than a page, or a block of malloc, for each of a hundred rounds. */
static const long slack[MEASURES] = {256, 256, 1024, 5};

/* The sum of the numbers behind that word in a file of /proc/self; NULL: the number of its lines. */
static long sum_of(const char *name, const char *word) {
    char path[64], line[4096];
    long sum = 0;
    snprintf(path, sizeof path, "/proc/self/%s", name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (!word) sum++;
        if (word && strncmp(line, word, strlen(word)) == 0) sum += atol(line + strlen(word));
    }
    if (file) fclose(file);
    return sum;
}

static long files_in(const char *path) {
    long count = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

/* A thread that was joined is in the system's list a moment longer. */
static long threads(long expected) {
    for (int i = 0; i < 5000 && files_in("/proc/self/task") > expected; i++) usleep(1000);
    return files_in("/proc/self/task");
}

static long malloced(void) {
#if __GLIBC_PREREQ(2, 33)
    return (long)mallinfo2().uordblks;
#else
    return mallinfo().uordblks;
#endif
}

static long keys(void) {
    static pthread_key_t made[2048];
    int count = 0;
    while (count < 2048 && pthread_key_create(&made[count], NULL) == 0) count++;
    for (int i = 0; i < count; i++) pthread_key_delete(made[i]);
    return 2048 - count;
}

/* Signals that are handled. */
static long actions(void) {
    struct sigaction action;
    long count = 0;
    for (int i = 1; i < 65; i++)
        if (sigaction(i, NULL, &action) == 0) count += action.sa_handler != SIG_DFL;
    return count;
}

static void measure(long *measures) {
    measures[THREADS] = threads(measures[THREADS]);
    measures[FILES] = files_in("/proc/self/fd");
    measures[KEYS] = keys();
    measures[ACTIONS] = actions();
    measures[TIMERS] = sum_of("timers", NULL);
    measures[MALLOCED] = malloced();
    measures[MAPPINGS] = sum_of("maps", NULL);
    measures[ADDRESSES] = sum_of("status", "VmSize:");
    measures[MEMORY] = sum_of("smaps_rollup", "Anonymous:");
}

static char **arguments;
static void *library;
static int (*run)(const char *what, int round);

static void load(void) {
    library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
    if (library) *(void **)&run = dlsym(library, "run");
    if (!run) printf("%s\n", dlerror()), exit(2);
}

static void unload(void) {
    if (dlclose(library) == 0 && !dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return;
    puts("it is not unloaded");
    exit(2);
}

/* ROUNDS LIBRARY WHAT [kept]: does that so many times, in a library that is loaded for each, or kept. The first rounds may leave
   something, as caches of the C library. */
int main(int count, char **given) {
    long before[MEASURES] = {0}, after[MEASURES] = {0};
    int rounds = count > 3 ? atoi(given[1]) : 0, first = 20, more = 0;
    mallopt(M_MXFAST, 0);
    arguments = given;
    before[THREADS] = files_in("/proc/self/task");
    measure(before); /* which takes some for itself */
    if (count > 4) load();
    for (int i = 0; i < first + rounds; i++) {
        if (count == 4) load();
        if (run(given[3], i) != 0) return printf("round %d fails\n", i), 1;
        if (count == 4) unload();
        if (i == first - 1) measure(before), memcpy(after, before, sizeof after);
    }
    measure(after);
    for (int i = 0; i < MEASURES; i++)
        if (after[i] - before[i] > slack[i]) more += printf("%ld %s more\n", after[i] - before[i], names[i]) > 0;
    if (count > 4) unload();
    if (!more) puts("nothing is left");
    return more != 0;
}
#else
#ifdef WITH_READER
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
#endif
#define GC_IMPLEMENTATION
#include "gc_profile.h"
#ifdef WITH_CODE
#include "gc_stackmap.h"
#endif

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);

#define REQUIRE(condition) \
    if (!(condition)) return fprintf(stderr, "%s: %s\n", #condition, gc_last_message()), 1

typedef struct bytes {
    gc_object header;
    size_t length;
    char bytes[];
} bytes;
static const gc_type bytes_type = GC_TYPE_ARRAY_LEAF(bytes, bytes);

/* SCALE=N: an Nth of the objects. */
static int fill(gc_thread *gc, long most) {
    const char *scale = getenv("SCALE");
    if (scale) most /= atol(scale);
    cell *list = NULL;
    GC_ROOTS(gc, list);
    for (long i = 0; i < most; i++) {
        cell *c = (cell *)gc_new(gc, &cell_type);
        REQUIRE(c);
        gc_store(gc, &c->next, i % 100 == 0 ? NULL : list);
        list = c;
    }
    REQUIRE(gc_new_array(gc, &bytes_type, scale ? 40000 : 4 << 20));
    gc_collect(gc_thread_heap(gc), 2, GC_COLLECT_COMPACTING);
    return 0;
}

/* Threads that end without gc_thread_detach are meant to. */
static void say_nothing(void *host, const char *message) { (void)host, (void)message; }

/* A heap with one thread, that does something more. */
static int heap_with(int (*f)(gc_heap *heap, gc_thread *gc)) {
    gc_options options = {0};
    options.warning = say_nothing;
    gc_heap *heap = gc_heap_create(&options);
    REQUIRE(heap);
    gc_thread *gc = gc_thread_attach(heap);
    REQUIRE(gc);
    int result = fill(gc, 5000);
    if (!result && f) result = f(heap, gc);
    gc_thread_detach(gc);
    gc_heap_destroy(heap);
    return result;
}

static int plain(int round) {
    (void)round;
    return heap_with(NULL);
}

/* The heap's threads have work, and it ends while one of them marks. */
static int concurrent(int round) {
    gc_options options = {0};
    gc_stats stats;
    options.concurrent = GC_CONCURRENT_ON;
    options.trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT;
    options.collector_threads = 3;
    gc_heap *heap = gc_heap_create(&options);
    REQUIRE(heap);
    gc_thread *gc = gc_thread_attach(heap);
    REQUIRE(gc);
    {
        cell *list = NULL;
        GC_ROOTS(gc, list);
        for (int i = 0; i < 50000; i++) {
            cell *c = (cell *)gc_new(gc, &cell_type);
            REQUIRE(c);
            gc_store(gc, &c->next, list);
            list = c;
        }
        gc_collect(heap, 2, GC_COLLECT_DEFAULT);
        gc_collect(heap, 2, GC_COLLECT_DEFAULT);
        gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    }
    gc_heap_stats(heap, &stats);
    REQUIRE(stats.concurrent_cycles > 0);
    if (round % 2) gc_thread_detach(gc);
    gc_heap_destroy(heap);
    return 0;
}

static void *attached(void *heap) {
    gc_thread *gc = gc_thread_attach((gc_heap *)heap);
#ifdef WITH_CODE
    if (gc) gc_thread_set_interruptible(gc, true);
#endif
    return gc && fill(gc, 1000) == 0 ? heap : NULL; /* its end detaches it */
}
static int with_threads(gc_heap *heap, gc_thread *gc) {
    pthread_t threads[3];
    int failures = 0;
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < 3; i++) failures += pthread_create(&threads[i], NULL, attached, heap) != 0;
        for (int i = 0; i < 3; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            failures += !result;
        }
    }
    return failures;
}
static int threads(int round) {
    (void)round;
    return heap_with(with_threads);
}

static void finalize(gc_thread *gc, void *object) { (void)gc, (void)object; }
static const gc_finalizer finalizer = {finalize, false, NULL};
static bool close_value(intptr_t value) { return value != 0; }
GC_SAFE_HANDLE_KIND(number, close_value, gc_safe_handle_invalid_if_zero);

/* Handles, finalizers, off-heap bytes, stacks: all are left to gc_heap_destroy. */
static int with_all(gc_heap *heap, gc_thread *gc) {
    cell *one = NULL, *other = NULL;
    GC_ROOTS(gc, one, other);
    REQUIRE(gc_finalizer_thread_start(heap) == GC_OK);
    gc_thread_set_name(gc, "main");
    for (int i = 0; i < 300; i++) {
        one = (cell *)gc_new(gc, &cell_type);
        other = (cell *)gc_new(gc, &cell_type);
        REQUIRE(gc_handle_create(heap, (gc_handle_kind)(i % 3), other));
        REQUIRE(gc_handle_create_dependent(heap, one, other));
        REQUIRE(gc_finalizer_register(gc, one, &finalizer) == GC_OK);
        REQUIRE(gc_object_add_external(gc, one, 1000) == GC_OK);
        REQUIRE(number_new(gc, i, true).safe);
    }
    static cell *slots[10];
    REQUIRE(gc_roots_add(heap, slots, 10, 0) == GC_OK);
    REQUIRE(gc_stack_create(heap, NULL));
    gc_value_stack values = {0};
    ptrdiff_t moved;
    REQUIRE(gc_value_stack_reserve(heap, &values, 1 << 16, &moved) == GC_OK);
    gc_value_stack_free(heap, &values);
    gc_collect(heap, 1, GC_COLLECT_DEFAULT);
    return gc_heap_verify(heap) == 0;
}
static int all(int round) {
    (void)round;
    return heap_with(with_all);
}

static int with_fork(gc_heap *heap, gc_thread *gc) {
    int status = 1;
    (void)heap;
    pid_t child = fork();
    if (child == 0) _exit(fill(gc, 1000));
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
/* A child is forked with the heap, and after it. */
static int forks(int round) {
    (void)round;
    int status = heap_with(with_fork);
    pid_t child = fork();
    if (child == 0) _exit(0);
    return status || child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

/* Options, one after another. */
static int options(int round) {
    gc_options options = {0};
    options.non_moving = round % 3 == 1;
    options.non_generational = round % 5 == 1;
    options.conservative_stack = round % 3 == 2;
    options.keep_memory = round % 2;
    options.pause_goal_us = round % 4 == 3 ? 1000 : 0;
    options.heap_bytes_soft = round % 4 == 2 ? 8 << 20 : 0;
    options.warning = say_nothing;
    gc_heap *heap = gc_heap_create(&options);
    REQUIRE(heap);
    gc_thread *gc = gc_thread_attach(heap);
    REQUIRE(gc);
    int result = fill(gc, 20000);
    gc_heap_destroy(heap);
    return result;
}

/* A heap that gets full, the reports on one, and every barrier. */
static int with_reports(gc_heap *heap, gc_thread *gc) {
    FILE *nowhere = fopen("/dev/null", "w");
    REQUIRE(nowhere);
    gc_heap_print_stats(heap, nowhere);
    gc_heap_print_memory(heap, nowhere);
    gc_heap_print_pauses(heap, nowhere);
    fclose(nowhere);
    if (gc_barrier_current() != GC_BARRIER_NONE)
        for (int i = 1; i < GC_BARRIER_COUNT; i++)
            if (gc_barrier_switch((gc_barrier)i) == GC_OK && fill(gc, 1000) != 0) return 1;
    REQUIRE(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 48 << 20}) == GC_OK);
    for (void *c; (c = gc_new_array(gc, &bytes_type, 1 << 20)) != NULL;) REQUIRE(gc_handle_create(heap, GC_HANDLE_STRONG, c));
    return gc_last_result() != GC_ERROR_HEAP_FULL;
}
static int reports(int round) {
    (void)round;
    return heap_with(with_reports);
}

/* Profiles. What the host has named stays named. */
static size_t no_frames(void *host, gc_thread *thread, gc_profile_frame *frames, size_t most) {
    return (void)host, (void)thread, (void)frames, most & 0;
}
static int profiled(const char *ending, unsigned interval_s, bool is_ended) {
    gc_profile_options options = {0};
    gc_profile_host host = {no_frames, NULL, NULL};
    gc_profile_line line = {(uintptr_t)0x10000, 1, "a.file"};
    char file[4096], code[40];
    snprintf(file, sizeof file, "%s/profile%s", getenv("FOLDER"), ending);
    gc_profile_set_host(&host);
    for (int i = 0; i < 20; i++) {
        snprintf(code, sizeof code, "code %d", i);
        REQUIRE(gc_profile_code_add((const char *)0x10000 + 100 * i, 100, code, &line, 1) == GC_OK);
    }
    options.period_bytes = 1000;
    options.interval_s = interval_s;
    options.what = GC_PROFILE_DEFAULT | GC_PROFILE_BIT(TICK) | GC_PROFILE_BIT(OBJECT) | GC_PROFILE_BIT(HANDLE_CREATED);
    options.perf = GC_PROFILE_JITDUMP;
    REQUIRE(gc_profile_start(&options, file) == GC_OK);
    REQUIRE(heap_with(with_all) == 0);
    REQUIRE(heap_with(with_threads) == 0);
    if (is_ended) REQUIRE(gc_profile_stop() == GC_OK);
    gc_profile_set_host(NULL);
    return 0;
}
static int profile(int round) {
    static const char *const endings[] = {".folded", ".txt", ".pb", ".svg", ".html", ".json", ".nettrace", ".heapsnapshot"};
    return profiled(endings[round % 8], round % 3, true);
}
/* The library is unloaded, or the program ends, without gc_profile_stop. */
static int profile_left(int round) { return profiled(round % 2 ? ".txt" : ".nettrace", 1, false); }

#ifdef WITH_CODE
static uint32_t section[10] = {3, 1}; /* LLVM's version; one function, without calls */

static int with_code(gc_heap *heap, gc_thread *gc) {
    static const unsigned char bytes[100];
    gc_stackmap_method method = {0};
    char map[200];
    method.code_bytes = sizeof bytes;
    size_t map_bytes = gc_stackmap_encode(&method, map, sizeof map);
    REQUIRE(map_bytes && map_bytes <= sizeof map);
    gc_code code = {bytes, sizeof bytes, map, map_bytes, NULL, "code", NULL};
    REQUIRE(gc_code_add(&code) == GC_OK);
    REQUIRE(gc_code_find(bytes + 99) == &code);
    FILE *nowhere = fopen("/dev/null", "w");
    REQUIRE(nowhere && gc_code_dump(bytes, nowhere, NULL));
    fclose(nowhere);
    const char *function = (const char *)section; /* as good as any address */
    memcpy(section + 4, &function, sizeof function);
    gc_llvm_module *module = gc_code_add_llvm(section, sizeof section, 0);
    REQUIRE(module);
    REQUIRE(gc_thread_set_interruptible(gc, true) == GC_OK);
    REQUIRE(with_threads(heap, gc) == 0);
    gc_code_remove_llvm(module);
    return gc_code_remove(&code) != GC_OK;
}
static int code(int round) {
    (void)round;
    return heap_with(with_code);
}
#endif

#ifdef WITH_READER
static bool nothing(void *context, const gc_dac_object *object) { return (void)context, object != NULL; }
static bool look(void *dac, const gc_dac_heap *heap) { return gc_dac_objects((gc_dac *)dac, heap, nothing, NULL); }

/* A reader of this process, and one of a process that there is not. */
static int with_reader(gc_heap *heap, gc_thread *gc) {
    gc_dac *dac = gc_dac_open_process(getpid(), 0);
    (void)heap, (void)gc;
    if (!gc_dac_heaps(dac, look, dac)) return fprintf(stderr, "%s\n", gc_dac_message(dac)), 1;
    gc_dac_close(dac);
    dac = gc_dac_open_process(0x7FFFFFF, GC_DAC_STOP);
    gc_dac_heaps(dac, look, dac);
    gc_dac_close(dac);
    dac = gc_dac_open_core(getenv("FOLDER"), NULL);
    gc_dac_close(dac);
    return 0;
}
static int reader(int round) {
    (void)round;
    return heap_with(with_reader);
}
#endif

static const struct {
    const char *name;
    int (*f)(int round);
} features[] = {
    {"plain", plain},     {"concurrent", concurrent}, {"threads", threads},           {"all", all},
    {"forks", forks},     {"options", options},       {"reports", reports},           {"profile", profile},
    {"profile_left", profile_left},
#ifdef WITH_CODE
    {"code", code},
#endif
#ifdef WITH_READER
    {"reader", reader},
#endif
};

__attribute__((visibility("default"))) int run(const char *what, int round);
int run(const char *what, int round) {
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (strcmp(features[i].name, what) == 0) return features[i].f(round);
    return 2;
}
#endif
