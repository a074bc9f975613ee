/* Profiles of several threads: events keep their own stacks, a profile is written while threads run, and what is lost is
   counted. */
#define _GNU_SOURCE
#include "profile.h"

#include <malloc.h>
#include <pthread.h>
#include <time.h>

#define THREADS 8

static char names[THREADS][24];
static gc_type types[THREADS];
static __thread int me = -1;
static uint64_t seen[THREADS], strangers; /* atomic */

/* The innermost frame of the language names the thread. */
static size_t own_stack(void *host, gc_thread *thread, gc_profile_frame *frames, size_t most) {
    (void)host, (void)thread;
    if (me < 0 || most < 1) return 0;
    frames[0] = (gc_profile_frame){.function = names[me]};
    return 1;
}

static void note_sample(void *host, const gc_profile_event *event) {
    (void)host;
    if (event->kind != GC_PROFILE_SAMPLE) return;
    if (me < 0 || strcmp(event->type, types[me].name) != 0)
        __atomic_fetch_add(&strangers, 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&seen[me], 1, __ATOMIC_RELAXED);
}

typedef struct work {
    gc_heap *heap;
    int number;
    unsigned objects;
} work;

static void *allocate(void *argument) {
    const work *w = argument;
    gc_thread *self = gc_thread_attach(w->heap);
    void *kept = NULL;
    me = w->number;
    gc_thread_set_name(self, names[me]);
    {
        GC_ROOTS(self, kept);
        for (unsigned i = 0; i < w->objects; i++) {
            void *object = gc_new(self, &types[me]);
            if (i % 100 == 0) kept = object;
        }
    }
    gc_thread_detach(self);
    return NULL;
}

/* The number of lines that have the thread's type, and of those that have another thread's frame, too. */
static void check_stacks(const char *file) {
    char *text = profile_text(file), *rest, *line;
    int lines = 0, wrong = 0;
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        for (int i = 0; i < THREADS; i++) {
            char frame[256];
            snprintf(frame, sizeof frame, "%s;%s ", names[i], types[i].name);
            char *at = strstr(line, types[i].name);
            if (!at) continue;
            lines++;
            wrong += !strstr(line, frame);
        }
    }
    free(text);
    ok(lines >= THREADS, "%d stacks", lines);
    is(wrong, 0, "each type has stacks of its own thread only");
}

/* Samples in a report, and lost ones. */
static uint64_t accounted(const char *text) {
    unsigned long long sum = 0, events = 0, samples = 0;
    for (int i = 0; i < THREADS; i++) sum += report_of(text, types[i].name).events;
    const char *lost = strstr(text, "\nlost: ");
    if (lost) sscanf(lost, "\nlost: %llu events, %llu of them samples", &events, &samples);
    return sum + samples;
}

static uint64_t all_seen(void) {
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) sum += __atomic_load_n(&seen[i], __ATOMIC_RELAXED);
    return sum;
}

static void test_threads(unsigned objects) {
    pthread_t threads[THREADS];
    work works[THREADS];
    bool growing = true;
    uint64_t before = 0;
    gc_profile_host host = {own_stack, note_sample, NULL};
    gc_profile_set_host(&host);
    memset(seen, 0, sizeof seen);
    gc_profile_options options = {
        .period_bytes = 500, .seed = 5, .what = (1u << GC_PROFILE_KIND_COUNT) - 1 - GC_PROFILE_BIT(OBJECT)};
    ok(gc_profile_start(&options, NULL) == GC_OK, "a profile starts");
    begin(NULL);
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){heap, i, objects};
        if (pthread_create(&threads[i], NULL, allocate, &works[i]) != 0) abort();
    }
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int round = 0; round < 5; round++) {
            if (gc_profile_write(profile_file("meanwhile.txt")) != GC_OK) growing = false;
            char *text = profile_text("meanwhile.txt");
            uint64_t now = accounted(text);
            growing &= now >= before && now <= all_seen();
            before = now;
            free(text);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    ok(growing, "what is written while threads run grows, and never has more than there was");
    ok(stats().collections[0] + stats().collections[2] > 0, "there were collections meanwhile");
    is(gc_profile_stop(), GC_OK, "the profile ends");
    ok(gc_profile_write(profile_file("threads.txt")) == GC_OK, "it is written");
    char *text = profile_text("threads.txt");
    is(accounted(text), all_seen(), "every sample is in the report, or counted as lost");
    is(strangers, 0, "no event came on another thread");
    free(text);
    ok(gc_profile_write(profile_file("threads.folded")) == GC_OK, "its stacks are written");
    check_stacks("threads.folded");
    end();
    gc_profile_set_host(NULL);
}

/* However many threads there are, a type has so many OBJECT events in a second. */

static uint64_t object_events; /* atomic */

static void note_object(void *host, const gc_profile_event *event) {
    (void)host;
    if (event->kind == GC_PROFILE_OBJECT) __atomic_fetch_add(&object_events, 1, __ATOMIC_RELAXED);
}

static void *allocate_one_type(void *argument) {
    gc_thread *self = gc_thread_attach(argument);
    for (unsigned i = 0; i < 20000; i++) gc_new(self, &types[0]);
    gc_thread_detach(self);
    return NULL;
}

static void test_rate(void) {
    pthread_t threads[THREADS];
    struct timespec from, to;
    gc_profile_host host = {NULL, note_object, NULL};
    gc_profile_set_host(&host);
    gc_profile_options options = {.what = GC_PROFILE_BIT(OBJECT), .per_second = 3};
    ok(gc_profile_start(&options, NULL) == GC_OK, "a profile starts");
    begin(NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, allocate_one_type, heap) != 0) abort();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    uint64_t seconds = (uint64_t)(to.tv_sec - from.tv_sec) + 1;
    ok(object_events >= 1 && object_events <= 3 * (seconds + 1),
       "%llu events of %d threads in %llu s, at most 3 in each", (unsigned long long)object_events, THREADS,
       (unsigned long long)seconds);
    gc_profile_stop();
    end();
    gc_profile_set_host(NULL);
}

/* A thread whose buffer nobody empties, since an event of another heap's collection is being told. */

static uint32_t held, release; /* atomic */

static void hold(void *host, const gc_profile_event *event) {
    note_sample(host, event);
    if (event->kind != GC_PROFILE_COLLECTION_END || me >= 0) return;
    __atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&release, __ATOMIC_SEQ_CST)) usleep(1000);
}

static void *collect_other(void *argument) {
    gc_heap *other = argument;
    gc_thread *self = gc_thread_attach(other);
    gc_collect(other, 2, GC_COLLECT_BLOCKING);
    gc_thread_detach(self);
    return NULL;
}

static void test_losses(void) {
    pthread_t thread;
    gc_profile_host host = {NULL, hold, NULL};
    gc_profile_set_host(&host);
    memset(seen, 0, sizeof seen);
    gc_profile_options options = {.period_bytes = 1, .seed = 5, .buffer_bytes = 4096};
    ok(gc_profile_start(&options, NULL) == GC_OK, "a profile starts");
    gc_heap *other = gc_heap_create(NULL);
    begin(NULL);
    for (int i = 0; i < 10; i++) new_node(1);
    if (pthread_create(&thread, NULL, collect_other, other) != 0) abort();
    while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST)) usleep(1000);
    me = 0;
    for (int i = 0; i < 1000; i++) gc_new(gc, &types[0]);
    __atomic_store_n(&release, 1, __ATOMIC_SEQ_CST);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(thread, NULL);
    }
    full();
    is(gc_profile_write(profile_file("lost.txt")), GC_OK, "the profile is written");
    char *text = profile_text("lost.txt");
    reported all = report_of(text, types[0].name);
    ok(all.events > 0 && all.events < 1000, "%llu of 1000 samples had room", all.events);
    is(accounted(text), 1000, "the others are counted as lost");
    free(text);
    gc_profile_stop();
    me = -1;
    end();
    gc_heap_destroy(other);
    gc_profile_set_host(NULL);
}

/* Threads that are detached after the profile has ended. */

static pthread_barrier_t ending;

static void *detach_late(void *argument) {
    gc_thread *self = gc_thread_attach(argument);
    gc_thread_set_name(self, "late");
    for (int i = 0; i < 1000; i++) gc_new(self, &types[0]);
    gc_thread_set_mode(self, GC_MODE_PREEMPTIVE);
    pthread_barrier_wait(&ending);
    pthread_barrier_wait(&ending);
    gc_thread_set_mode(self, GC_MODE_COOPERATIVE);
    gc_thread_detach(self);
    return NULL;
}

static void test_detached(void) {
    pthread_t thread;
#ifdef M_PERTURB
    mallopt(M_PERTURB, 0x5a); /* what is freed is overwritten, so whoever reads it fails */
#endif
    gc_profile_options options = {.period_bytes = 1, .seed = 5};
    gc_heap *other = gc_heap_create(NULL);
    if (pthread_barrier_init(&ending, NULL, 2) != 0) abort();
    ok(gc_profile_start(&options, NULL) == GC_OK, "a profile starts");
    if (pthread_create(&thread, NULL, detach_late, other) != 0) abort();
    pthread_barrier_wait(&ending);
    is(gc_profile_stop(), GC_OK, "it ends before its thread");
    pthread_barrier_wait(&ending);
    pthread_join(thread, NULL);
    is(gc_profile_write(profile_file("late.txt")), GC_OK, "the profile is written");
    char *text = profile_text("late.txt");
    is(report_of(text, types[0].name).count, 1000, "with what the thread had allocated");
    free(text);
    is(gc_profile_start(&options, NULL), GC_OK, "another profile starts");
    gc_heap_destroy(other);
    is(gc_profile_stop(), GC_OK, "and ends");
    pthread_barrier_destroy(&ending);
}

int main(int argc, char **argv) {
    unsigned objects = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    if (!objects) objects = 30000;
    for (int i = 0; i < THREADS; i++) {
        snprintf(names[i], sizeof names[i], "thread%d", i);
        types[i] = (gc_type)GC_TYPE_LEAF(node);
        types[i].name = strdup(names[i]);
        types[i].bytes = 16 + 8 * (unsigned)i;
        snprintf(names[i], sizeof names[i], "frame%d", i);
    }
    test_threads(objects);
    test_rate();
    test_losses();
    test_detached();
    profile_clean();
    return done();
}
