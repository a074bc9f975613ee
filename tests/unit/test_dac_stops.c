/* A process that is stopped at random instants, within collections, allocations and barriers too: what the reader reports is what
   the process has counted itself, or the reader says what it cannot know; and the process goes on unharmed. DAC_STOPS=N for N
   stops of each of the three, DAC_SEED=N to replay the waiting times. And a thread that is looked at before each of its
   instructions while it allocates. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
#include "../inside.h"
#include "../fixture.h"
#include "dac_permission.h"
#include "single_step.h"

#include <pthread.h>
#include <sys/prctl.h>

enum { THREADS = 2, KEPT = 3000 };

#define SANITIZED \
    (GC_DEBUG == 2) /* by the Makefile; there each step takes long, and allocations are ten times the steps */

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
        if (round % 7 == 0) gc_new_with(self, &bytes_type, random_of(&x) % 300, GC_NEW_RAW);
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
    size_t kept, ticks, unfinished, heaps;
    uint64_t sum, last[THREADS];
} found;

static bool find_object(void *context, const gc_dac_object *object) {
    found *all = context;
    all->unfinished += (object->flags & GC_DAC_UNFINISHED) != 0;
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
    int trusted = 0, doubted = 0, wrong = 0, phases[GC_PHASE_NONE + 1] = {0};
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
        bool collecting = all.heap.phase >= GC_PHASE_PLAN && all.heap.phase <= GC_PHASE_SWEEP;
        if (fair && (whole || collecting)) continue;
        if (wrong++ < 5)
            diag("stop %d, phase %d: %zu kept, sum %llu, %zu unfinished: %s", i, all.heap.phase, all.kept,
                 (unsigned long long)all.sum, all.unfinished, why);
    }
    is(wrong, 0, "%s, %d stops: %d with all objects as they are, %d that say what is left out", name, stops, trusted,
       doubted);
    ok(trusted > doubted / 20, "most of the stops outside of collections can be trusted");
    for (int i = 0; i <= GC_PHASE_NONE; i++) diag("%d stops in phase %d", phases[i], i);
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

/* A thread that is looked at before each of its instructions, by a reader of its own process. */
static struct stepping {
    gc_dac *dac;
    size_t before, least, kept, unfinished;
    uint64_t sum, tables;
    long looks, left_out;
    char why[1000];
} stepping;

/* Reads the heap, the table of regions and single words in place, which takes less time. */
static const void *at(void *context, uint64_t address, size_t bytes) {
    const gc__arena *arena = &gc__the_arena;
    uint64_t table = (uintptr_t)arena->regions;
    bool in_table = address >= table && address + bytes <= table + arena->count * sizeof *arena->regions;
    (void)context;
    return gc__in_arena((uintptr_t)address) || in_table || bytes <= 8 ? (const void *)(uintptr_t)address : NULL;
}

static bool find_any(void *context, const gc_dac_object *object) {
    ++*(size_t *)context;
    if (object->flags & GC_DAC_UNFINISHED) stepping.unfinished++;
    if (!object->type || strcmp(object->type->name, "keeper") != 0) return true;
    stepping.kept++;
    stepping.sum += ((const keeper *)(const void *)object->contents)->id;
    return true;
}

/* Counts all objects. False: something was left out. */
static bool list_all(found *all, size_t *count) {
    memset(all, 0, sizeof *all);
    *count = stepping.kept = stepping.sum = stepping.unfinished = 0;
    stepping.looks++;
    return gc_dac_heaps(stepping.dac, find_heap, all) && gc_dac_objects(stepping.dac, &all->heap, find_any, count);
}

static void note_wrong(const found *all, size_t count) {
    if (stepping.why[0]) return;
    snprintf(stepping.why, sizeof stepping.why, "phase %d: %zu objects, %zu before, %zu kept, %zu unfinished: %s",
             all->heap.phase, count, stepping.before, stepping.kept, stepping.unfinished, gc_dac_message(stepping.dac));
}

enum { STEPPED = 40 };
static bool has_kept(void) { return stepping.kept == STEPPED && stepping.sum == STEPPED * (STEPPED - 1) / 2; }

/* In an allocation: the objects that were there before, and perhaps the new one. */
static void look_at_allocation(void) {
    found all;
    size_t count;
    bool right = list_all(&all, &count) && count >= stepping.least && count <= stepping.before + 1 &&
                 stepping.unfinished <= 1 && has_kept();
    if (!right) note_wrong(&all, count);
    stepping.least = count;
}

/* In a collection, where the tables have changed: all objects, or the reader says that some are left out. */
static void look_at_collection(void) {
    const gc__arena *arena = &gc__the_arena;
    const uint64_t *words = (const uint64_t *)(const void *)arena->regions;
    uint64_t sum = heap->phase;
    for (int g = 0; g < GC_GENERATIONS; g++) sum = sum * 31 + (uintptr_t)heap->regions[g];
    for (size_t i = 0; i < arena->used * sizeof *arena->regions / 8; i++) sum = sum * 31 + words[i];
    if (sum == stepping.tables) return;
    stepping.tables = sum;
    found all;
    size_t count;
    bool whole = list_all(&all, &count), moves = all.heap.phase >= GC_PHASE_PLAN && all.heap.phase <= GC_PHASE_SWEEP;
    stepping.left_out += !whole;
    if (whole ? !has_kept() : !moves) note_wrong(&all, count);
}

/* What dead objects leave behind: long fillers, short ones, types, forwarding words, and zero. */
static void write_garbage(bytes *object, size_t count) {
    const uint64_t words[] = {UINT64_MAX, (uintptr_t)&keeper_type, 24 << 2 | 3, (uintptr_t)object | 1, 0, 0x7ffffff3};
    for (size_t i = 0; i + 8 <= count; i += 8)
        memcpy(object->items + i, &words[random_of(&seed) % (sizeof words / sizeof *words)], 8);
}

static void *allocate_one(unsigned kind, size_t length) {
    switch (kind % 6) {
    case 0:
        return gc_new(gc, &node_type);
    case 1:
        return gc_new_with(gc, &tick_type, 0, GC_NEW_RAW);
    case 2:
        return gc_new_array(gc, &vector_type, length / 8);
    case 3:
        return gc_new_with(gc, &bytes_type, length, GC_NEW_RAW);
    case 4:
        return gc_new_array(gc, &bytes_type, length);
    default:
        return gc_new_with(gc, &bytes_type, length / 16, GC_NEW_RAW);
    }
}

static void step_allocations(const char *name) {
    const size_t lengths[] = {40, 1000, GC_LARGE_BYTES + 1000};
    found all;
    size_t after;
    stepping.looks = 0;
    single_step_each = look_at_allocation;
    for (unsigned i = 0; i < 18; i++) {
        list_all(&all, &stepping.before);
        stepping.least = stepping.before;
        single_step_begin();
        allocate_one(i, lengths[i / 6]);
        single_step_end();
        if (!list_all(&all, &after) || after != stepping.before + 1) note_wrong(&all, after);
        if (stepping.why[0]) {
            diag("allocation %u: %s", i, stepping.why);
            break;
        }
    }
    ok(!stepping.why[0], "%s: right before each of %ld instructions of allocations", name, stepping.looks);
}

static void step_collection(const char *name, int generation) {
    stepping.looks = stepping.left_out = stepping.why[0] = 0;
    single_step_each = look_at_collection;
    single_step_begin();
    gc_collect(heap, generation, GC_COLLECT_BLOCKING);
    single_step_end();
    if (stepping.why[0]) diag("%s", stepping.why);
    ok(!stepping.why[0] && stepping.left_out,
       "%s: a collection of generation %d, looked at %ld times, says %ld times what is left out", name, generation,
       stepping.looks, stepping.left_out);
}

static void test_steps(gc_options options, const char *name) {
    options.nursery_bytes = (size_t)1 << 40;
    begin(&options);
    vector *kept = new_vector(STEPPED);
    bytes *dead = NULL;
    GC_ROOTS(gc, kept, dead);
    memset(&stepping, 0, sizeof stepping);
    for (size_t i = 0; i < STEPPED; i++) {
        keeper *one = gc_new(gc, &keeper_type);
        one->id = i;
        gc_store(gc, &kept->items[i], one);
        size_t length = random_of(&seed) % (i % 8 ? 500 : 2000);
        dead = gc_new_with(gc, &bytes_type, length, GC_NEW_RAW);
        write_garbage(dead, length);
    }
    dead = gc_new_with(gc, &bytes_type, GC_LARGE_BYTES + 2000, GC_NEW_RAW);
    write_garbage(dead, GC_LARGE_BYTES + 2000);
    dead = NULL;
    full();
    stepping.dac = gc_dac_open_process(getpid(), 0);
    stepping.dac->target.at = at;
    step_allocations(name);
    if (!SANITIZED) {
        step_collection(name, 0);
        step_collection(name, 2);
    }
    single_step_each = NULL;
    gc_dac_close(stepping.dac);
    end();
}

int main(void) {
    const char *stops = getenv("DAC_STOPS"), *given = getenv("DAC_SEED");
    int count = stops ? atoi(stops) : 15;
    if (!may_open(GC_DAC_STOP)) return ok(true, "# SKIP ptrace is not permitted here"), done();
    if (given) seed = strtoull(given, NULL, 10) | 1;
    diag("DAC_SEED=%llu", (unsigned long long)seed);
    shadow = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    gc_options moving = {0}, still = {.non_moving = true}, born = {.concurrent = GC_CONCURRENT_ON, .test.born_old = true};
    test_churn(count, moving, "a heap that moves");
    test_churn(count, still, "one that does not, in whose holes threads allocate");
    test_ticks(count);
    if (single_step_available()) {
        test_steps(still, "in holes");
        if (!SANITIZED) test_steps(moving, "in fresh regions");
        if (!SANITIZED) test_steps(born, "in holes of generation 2");
    }
    return done();
}
