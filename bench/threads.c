/* What threads cost: how long stopping them takes, and whether two of them allocate twice as much as one.

   threads stop [MILLISECONDS]: for each set of threads a line of quantiles over the collections of that time, each from the
   moment when the collector asks until the last thread has stopped. One thread asks, the others run a loop of
   gc_safepoint that allocates nothing.
   threads rate [ROUNDS [OBJECTS]]: objects of 32 bytes that die at once, by one thread, by one per core, and by as many
   with a heap for each, who share nothing of gc.h and so show what the machine gives; the ratios of the rates by wall time.
   A round counts if the system kept no thread waiting for a core for more than 1 % of the time, for else it measures what
   other programs do; it ends with ROUNDS such, or after a hundred times as many. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS_MAX = 64, SAMPLES_MAX = 1 << 20 };

typedef struct cell {
    gc_object header;
    void *ref;
    uint64_t words[2];
} cell;
static const gc_type cell_type = GC_TYPE(cell, ref);

static gc_heap *heap;
static pthread_barrier_t start;
static int ended;
static int pipe_ends[2];

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *sorted, size_t count, double fraction) {
    size_t i = (size_t)(fraction * (double)count);
    return sorted[i < count ? i : count - 1];
}

static void run_threads(unsigned count, void *(*body)(void *), void *arguments, size_t bytes, pthread_t *threads) {
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, body, (char *)arguments + i * bytes) != 0) abort();
}

static void join_threads(unsigned count, const pthread_t *threads) {
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* Stopping. */

typedef struct poller {
    char name[24];
    uint64_t stop_max_ns;
    uint64_t polls, seen; /* polls: atomic; seen: what the requester last saw of it */
    char line[128];
} poller;

static void *poll(void *argument) {
    poller *p = argument;
    gc_thread *me = gc_thread_attach(heap);
    gc_thread_set_name(me, p->name);
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        pthread_barrier_wait(&start);
    }
    uint64_t sum = 0;
    while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 20; i++) sum = sum * 31 + 7;
        __asm__ volatile("" : : "r"(sum));
        gc_safepoint(me);
        __atomic_store_n(&p->polls, p->polls + 1, __ATOMIC_RELAXED);
    }
    p->stop_max_ns = gc__record(me)->stop_max_ns;
    gc_thread_detach(me);
    return NULL;
}

static void *block(void *argument) {
    gc_thread *me = gc_thread_attach(heap);
    char byte;
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        pthread_barrier_wait(&start);
        if (read(pipe_ends[0], &byte, 1) != 1) abort();
    }
    *(uint64_t *)argument = gc__record(me)->stop_max_ns;
    gc_thread_detach(me);
    return NULL;
}

/* Until each of them has polled, so that none is still waking up from the last collection. */
static void await_polls(gc_thread *gc, poller *pollers, unsigned count) {
    struct timespec little = {0, 50000};
    for (unsigned i = 0; i < count; i++) pollers[i].seen = __atomic_load_n(&pollers[i].polls, __ATOMIC_RELAXED);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    for (unsigned i = 0; i < count; i++) do
            nanosleep(&little, NULL);
        while (__atomic_load_n(&pollers[i].polls, __ATOMIC_RELAXED) == pollers[i].seen);
}

static void stop(unsigned pollers, bool blocked, unsigned milliseconds) {
    static double times[SAMPLES_MAX];
    pthread_t threads[THREADS_MAX], reader;
    poller records[THREADS_MAX] = {0};
    uint64_t reader_max_ns = 0, slowest_ns = 0;
    size_t count = 0;
    heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    for (unsigned i = 0; i < pollers; i++) snprintf(records[i].name, sizeof records[i].name, "poller %u", i + 1);
    pthread_barrier_init(&start, NULL, pollers + blocked + 1);
    ended = 0;
    run_threads(pollers, poll, records, sizeof *records, threads);
    if (blocked && pthread_create(&reader, NULL, block, &reader_max_ns) != 0) abort();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_barrier_wait(&start);
    }
    uint64_t end_ns = gc__os_now_ns() + milliseconds * GC__NS_PER_MS;
    while (count < SAMPLES_MAX && gc__os_now_ns() < end_ns) {
        await_polls(gc, records, pollers);
        uint64_t before = heap->stats.stop_total_ns;
        gc_collect(heap, 0, 0);
        times[count++] = (double)(heap->stats.stop_total_ns - before) / 1e3;
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
    if (blocked && write(pipe_ends[1], "", 1) != 1) abort();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        join_threads(pollers, threads);
        if (blocked) pthread_join(reader, NULL);
    }
    for (unsigned i = 0; i < pollers; i++)
        if (records[i].stop_max_ns > slowest_ns) slowest_ns = records[i].stop_max_ns;
    qsort(times, count, sizeof *times, by_value);
    printf("%7u %9s %8zu %8.1f %8.1f %8.1f %8.1f %12.1f", pollers, blocked ? "1" : "-", count,
           quantile(times, count, 0.5), quantile(times, count, 0.9), quantile(times, count, 0.99), times[count - 1],
           (double)slowest_ns / 1e3);
    if (blocked) printf("   (the reader: %.1f)", (double)reader_max_ns / 1e3);
    putchar('\n');
    gc_heap_destroy(heap);
    pthread_barrier_destroy(&start);
}

/* Allocating. */

typedef struct maker {
    gc_heap *heap;
    uint64_t objects;
    uint64_t from_ns, to_ns, cpu_ns; /* the CPU time of the thread */
    uint64_t delay_ns;               /* that it was ready to run and did not */
} maker;

static uint64_t delay_ns(void) {
    unsigned long long ran, delayed = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%llu %llu", &ran, &delayed) != 2) delayed = 0;
    if (file) fclose(file);
    return delayed;
}

static __attribute__((noinline)) void make(gc_thread *me, uint64_t objects) {
    for (uint64_t i = 0; i < objects; i++) {
        cell *c = gc_new(me, &cell_type);
        c->words[0] = i;
        __asm__ volatile("" : : "r"(c) : "memory");
    }
}

static void *make_objects(void *argument) {
    maker *m = argument;
    gc_thread *me = gc_thread_attach(m->heap);
    {
        GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
        pthread_barrier_wait(&start);
    }
    uint64_t delayed_ns = delay_ns();
    m->from_ns = gc__os_now_ns();
    uint64_t cpu_ns = gc__os_cpu_ns();
    make(me, m->objects);
    m->cpu_ns = gc__os_cpu_ns() - cpu_ns;
    m->to_ns = gc__os_now_ns();
    m->delay_ns = delay_ns() - delayed_ns;
    gc_thread_detach(me);
    return NULL;
}

/* Objects per microsecond; and what each cost in CPU time, in ns. Sets *disturbed, or leaves it. */
static double rate(unsigned count, unsigned heaps, uint64_t objects, double *cpu, bool *disturbed) {
    maker makers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    gc_heap *of[THREADS_MAX];
    uint64_t from_ns = UINT64_MAX, to_ns = 0;
    for (unsigned i = 0; i < heaps; i++) of[i] = gc_heap_create(NULL);
    for (unsigned i = 0; i < count; i++) makers[i] = (maker){.heap = of[i % heaps], .objects = objects};
    pthread_barrier_init(&start, NULL, count);
    run_threads(count, make_objects, makers, sizeof *makers, threads);
    join_threads(count, threads);
    *cpu = 0;
    for (unsigned i = 0; i < count; i++) {
        if (makers[i].from_ns < from_ns) from_ns = makers[i].from_ns;
        if (makers[i].to_ns > to_ns) to_ns = makers[i].to_ns;
        *cpu += (double)makers[i].cpu_ns / (double)(count * objects);
        if (makers[i].delay_ns > (makers[i].to_ns - makers[i].from_ns) / 100) *disturbed = true;
    }
    for (unsigned i = 0; i < heaps; i++) gc_heap_destroy(of[i]);
    pthread_barrier_destroy(&start);
    return (double)(count * objects) * 1e3 / (double)(to_ns - from_ns);
}

static void rates(unsigned cores, unsigned rounds, uint64_t objects) {
    enum { ONE, ALL, APART, SETS, ROUNDS_MAX = 1000 };
    static const char *const names[SETS] = {"1 thread", "all, 1 heap", "all, apart"};
    static double rates[SETS][ROUNDS_MAX], cpu[SETS][ROUNDS_MAX], ratio[SETS][ROUNDS_MAX];
    unsigned threads[SETS] = {1, cores, cores}, heaps[SETS] = {1, 1, cores}, count = 0, tries = 0;
    bool disturbed;
    if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
    rate(cores, 1, objects, &cpu[0][0], &disturbed); /* to warm up */
    for (; count < rounds && tries < 100 * rounds; tries++) {
        disturbed = false;
        for (int i = 0; i < SETS; i++) {
            rates[i][count] = rate(threads[i], heaps[i], objects, &cpu[i][count], &disturbed);
            ratio[i][count] = rates[i][count] / rates[ONE][count];
        }
        count += !disturbed;
    }
    printf("allocating on %u cores: %u rounds, of %u, were not disturbed; %llu objects of 32 bytes for each thread\n",
           cores, count, tries, (unsigned long long)objects);
    if (!count) return;
    printf("%-14s %22s %8s %16s %16s %8s\n", "", "objects/us: median", "best", "CPU ns/object", "ratio: median",
           "best");
    for (int i = 0; i < SETS; i++) {
        qsort(rates[i], count, sizeof(double), by_value);
        qsort(ratio[i], count, sizeof(double), by_value);
        qsort(cpu[i], count, sizeof(double), by_value);
        printf("%-14s %22.1f %8.1f %16.2f %16.2f %8.2f\n", names[i], quantile(rates[i], count, 0.5),
               rates[i][count - 1], quantile(cpu[i], count, 0.5), quantile(ratio[i], count, 0.5), ratio[i][count - 1]);
    }
}

int main(int count, char **arguments) {
    cpu_set_t set;
    unsigned cores = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
    unsigned long amount = count > 2 ? strtoul(arguments[2], NULL, 10) : 0;
    if (cores > THREADS_MAX) cores = THREADS_MAX;
    if (count > 1 && strcmp(arguments[1], "stop") == 0) {
        if (pipe(pipe_ends) != 0) abort();
        if (!amount) amount = 5000;
        printf("time to stop, in us, on %u cores; each thread's own longest in the last column\n", cores);
        printf("%7s %9s %8s %8s %8s %8s %8s %12s\n", "polling", "in read()", "stops", "median", "p90", "p99", "longest",
               "one thread");
        if (cores > 1) stop(cores - 1, false, (unsigned)amount), stop(cores - 1, true, (unsigned)amount);
        stop(cores, false, (unsigned)amount);
        stop(8, false, (unsigned)amount);
        stop(8, true, (unsigned)amount);
        return 0;
    }
    if (count > 1 && strcmp(arguments[1], "rate") == 0) {
        rates(cores, amount ? (unsigned)amount : 21, count > 3 ? strtoull(arguments[3], NULL, 10) : 10000000);
        return 0;
    }
    fputs("usage: threads stop [MILLISECONDS] | rate [ROUNDS [OBJECTS]]\n", stderr);
    return 2;
}
