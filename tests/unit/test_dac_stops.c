/* A process that is stopped at random instants, within collections, allocations and barriers too: what the reader reports is what
   the process has counted itself, or the reader says what it cannot know; and the process goes on unharmed. DAC_STOPS=N for N
   stops of each of the two, DAC_SEED=N to replay the waiting times. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
#define GC_IMPLEMENTATION
#include "../fixture.h"
#include "dac_permission.h"

#include <pthread.h>
#include <sys/prctl.h>

enum { THREADS = 2, KEPT = 3000 };

typedef struct keeper {
    gc_object header;
    struct keeper *next;
    void *garbage;
    uint64_t id;
} keeper;
typedef struct tick {
    gc_object header;
    uint64_t number;
} tick;
static const gc_type keeper_type = GC_TYPE(keeper, next, garbage);
static const gc_type tick_type = GC_TYPE_LEAF(tick);

/* Written by the process, read by this one. */
static struct shadow {
    uint64_t ticks[THREADS], rounds[THREADS];
    bool ended;
} * shadow;

static uint64_t random_of(uint64_t *x) { return *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17; }

/* Keeps KEPT objects, whose references change all the time; everything else is garbage. */
static void *churn(void *number) {
    uint64_t x = 88172645463325252 + (uintptr_t)number, me = (uintptr_t)number;
    gc_thread *self = gc_thread_attach(heap);
    vector *kept = gc_new_array(self, &vector_type, KEPT);
    keeper *one = NULL, *other = NULL;
    GC_ROOTS(self, kept, one, other);
    for (int i = 0; i < KEPT; i++) {
        one = gc_new(self, &keeper_type);
        one->id = me * KEPT + (uint64_t)i;
        gc_store(self, &kept->items[i], one);
    }
    for (uint64_t round = 0;; round++) {
        one = kept->items[random_of(&x) % KEPT];
        other = kept->items[random_of(&x) % KEPT];
        gc_store(self, &one->next, other);
        void *garbage = round % 64 ? gc_new(self, &node_type) : gc_new_array(self, &vector_type, random_of(&x) % 2000);
        gc_store(self, &one->garbage, garbage);
        if (round % 7 == 0) gc_new_array_raw(self, &bytes_type, random_of(&x) % 300);
        if (round % 50000 == 0) gc_collect(heap, 2, GC_COLLECT_COMPACTING);
        __atomic_store_n(&shadow->rounds[me], round + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Counts its objects; no collection runs. */
static void *count_ticks(void *number) {
    uintptr_t me = (uintptr_t)number;
    gc_thread *self = gc_thread_attach(heap);
    for (uint64_t i = 0;; i++) {
        tick *fresh = gc_new(self, &tick_type);
        fresh->number = i;
        __atomic_store_n(&shadow->ticks[me], i + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&shadow->rounds[me], i + 1, __ATOMIC_RELEASE);
        if (i % 64 == 0) gc_new_array(self, &bytes_type, i % 5000);
        for (volatile int wait = 0; wait < 1000; wait++) {
        }
        if (i > 2000000) usleep(1000);
    }
    return NULL;
}

static pid_t start(void *(*f)(void *), gc_options options) {
    memset(shadow, 0, sizeof *shadow);
    pid_t pid = fork();
    if (pid) return pid;
    pthread_t threads[THREADS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    heap = gc_heap_create(&options);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, f, (void *)i);
    for (;;) pause();
}

typedef struct found {
    gc_dac_heap heap;
    size_t kept, ticks, unfinished, untrusted, heaps;
    uint64_t sum, last[THREADS];
} found;

static bool find_object(void *context, const gc_dac_object *object) {
    found *all = context;
    all->unfinished += (object->flags & GC_DAC_UNFINISHED) != 0;
    all->untrusted += (object->flags & GC_DAC_LAST_OF_RAW) != 0;
    if (!object->type) return true;
    if (strcmp(object->type->name, "keeper") == 0) {
        all->kept++;
        all->sum += ((const keeper *)(const void *)object->contents)->id;
    }
    all->ticks += strcmp(object->type->name, "tick") == 0;
    return true;
}
static bool find_heap(void *context, const gc_dac_heap *each) {
    found *all = context;
    all->heap = *each;
    all->heaps++;
    return true;
}

static uint64_t seed = 20261122;

/* Lets the process run for a while, stops it, reads it. False: something could not be read; `why` says what. */
static bool look(pid_t pid, found *all, uint64_t *shadowed, char *why, size_t room) {
    memset(all, 0, sizeof *all);
    usleep((useconds_t)(random_of(&seed) % 3000));
    gc_dac *dac = gc_dac_open_process(pid, GC_DAC_STOP);
    *shadowed = shadow->ticks[0] + shadow->ticks[1];
    bool whole = gc_dac_heaps(dac, find_heap, all);
    if (whole && all->heaps == 1) whole = gc_dac_objects(dac, &all->heap, find_object, all);
    snprintf(why, room, "%s%s", gc_dac_message(dac), all->heap.doubts ? all->heap.doubts : "");
    gc_dac_close(dac);
    return whole;
}

/* Waits until each thread has gone on. */
static bool goes_on(void) {
    uint64_t before[THREADS];
    memcpy(before, shadow->rounds, sizeof before);
    for (int wait = 0; wait < 20000; wait++) {
        bool all = true;
        for (int i = 0; i < THREADS; i++) all &= __atomic_load_n(&shadow->rounds[i], __ATOMIC_ACQUIRE) > before[i] + 10;
        if (all) return true;
        usleep(1000);
    }
    return false;
}

static void end_process(pid_t pid) {
    int status;
    ok(waitpid(pid, &status, WNOHANG) == 0, "the process has not ended");
    ok(goes_on(), "its threads go on");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static const uint64_t kept_sum = (uint64_t)THREADS * KEPT * (THREADS * KEPT - 1) / 2;

static void test_churn(int stops, gc_options options, const char *name) {
    options.nursery_bytes = (size_t)4 << 20;
    pid_t pid = start(churn, options);
    int trusted = 0, doubted = 0, wrong = 0, phases[GC_DAC_CLOSING + 1] = {0};
    goes_on();
    for (int i = 0; i < stops; i++) {
        found all;
        char why[2000];
        uint64_t unused;
        bool whole = look(pid, &all, &unused, why, sizeof why);
        bool right = all.heaps == 1 && all.kept == THREADS * KEPT && all.sum == kept_sum && all.unfinished <= THREADS;
        phases[all.heap.phase]++;
        if (whole)
            trusted++;
        else
            doubted++;
        /* What is left out is said, and nothing is there twice. */
        bool fair = whole ? right : why[0] && all.kept <= 2 * THREADS * KEPT;
        bool collecting = all.heap.phase >= GC_DAC_CONDEMN && all.heap.phase <= GC_DAC_SWEEP;
        if (fair && (whole || collecting)) continue;
        if (wrong++ < 5)
            diag("stop %d, phase %d: %zu kept, sum %llu, %zu unfinished: %s", i, all.heap.phase, all.kept,
                 (unsigned long long)all.sum, all.unfinished, why);
    }
    is(wrong, 0, "%s, %d stops: %d with all objects as they are, %d that say what is left out", name, stops, trusted,
       doubted);
    ok(trusted > doubted / 20, "most of the stops outside of collections can be trusted");
    diag("phases: idle %d, opening %d, gather %d, condemn %d, trace %d, handles %d, sweep %d, closing %d", phases[0],
         phases[1], phases[2], phases[3], phases[4], phases[5], phases[6], phases[7]);
    end_process(pid);
}

static void test_ticks(int stops) {
    gc_options options = {.nursery_bytes = (size_t)1 << 40};
    pid_t pid = start(count_ticks, options);
    int wrong = 0;
    goes_on();
    for (int i = 0; i < stops; i++) {
        found all;
        char why[2000];
        uint64_t shadowed;
        bool whole = look(pid, &all, &shadowed, why, sizeof why);
        if (whole && all.ticks >= shadowed && all.ticks <= shadowed + THREADS && all.unfinished <= THREADS) continue;
        if (wrong++ < 5)
            diag("stop %d: %zu ticks, shadow %llu, %zu unfinished: %s", i, all.ticks, (unsigned long long)shadowed,
                 all.unfinished, why);
    }
    is(wrong, 0, "%d stops while threads allocate: as many objects as they have counted, none left out", stops);
    end_process(pid);
}

int main(void) {
    const char *stops = getenv("DAC_STOPS"), *given = getenv("DAC_SEED");
    int count = stops ? atoi(stops) : 50;
    if (!may_open(GC_DAC_STOP)) return ok(true, "# SKIP ptrace is not permitted here"), done();
    if (given) seed = strtoull(given, NULL, 10) | 1;
    diag("DAC_SEED=%llu", (unsigned long long)seed);
    shadow = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    gc_options moving = {0}, still = {.non_moving = true};
    test_churn(count, moving, "a heap that moves");
    test_churn(count, still, "one that does not, in whose holes threads allocate");
    test_ticks(count);
    return done();
}
