/* Clocks that step back, as in guests that are moved to another machine, and threads that come and go. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc_profile.h"

#include "../fixture.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#define SECOND_NS ((uint64_t)1000000000)
#define STEP_NS ((uint64_t)5000000)

static uint64_t calls, steps_at; /* of the clock; atomic; it steps back once, at this call */
static uint64_t cpu_ns;          /* what CPU clocks show; 0: the system's */
static bool is_mine;             /* the clock is a count of calls */
static __thread bool collects;   /* the clock steps back once this thread waits for others to stop; and counts */
static uint64_t waits;           /* its calls since then; atomic */

/* Instead of the system's, for this program. */
int clock_gettime(clockid_t id, struct timespec *time) {
    if (id == CLOCK_THREAD_CPUTIME_ID && cpu_ns) {
        *time = (struct timespec){0, (long)cpu_ns};
        return 0;
    }
    if (id != CLOCK_MONOTONIC || !is_mine) return (int)syscall(SYS_clock_gettime, id, time);
    uint64_t call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (collects && heap->threads->stopping) {
        if (!__atomic_fetch_add(&waits, 1, __ATOMIC_SEQ_CST)) steps_at = call;
    }
    uint64_t ns = SECOND_NS + call * 1000 - (call >= steps_at ? STEP_NS : 0);
    *time = (struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
    return 0;
}

static int warnings;
static void on_warning(void *host, const char *message) {
    (void)host;
    warnings++;
    diag("%s", message);
}

static uint64_t longest_event_ns;
static void on_event(void *host, const gc_profile_event *event) {
    (void)host;
    uint64_t ns = event->kind == GC_PROFILE_STOP || event->kind == GC_PROFILE_FINALIZER ? event->amount
                  : event->kind == GC_PROFILE_PHASE                                     ? event->detail
                                                                                        : 0;
    if (ns > longest_event_ns) longest_event_ns = ns;
}

static bool ends;
static void *poll(void *unused) {
    gc_thread *thread = gc_thread_attach(heap);
    while (!__atomic_load_n(&ends, __ATOMIC_SEQ_CST)) gc_safepoint(thread);
    gc_thread_detach(thread);
    return unused;
}

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer finalizer = {.finalize = finalize};

static void collect_some(void) {
    node *list = NULL;
    GC_ROOTS(gc, list);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 100; j++) {
            node *n = new_node((uint64_t)j);
            gc_store(gc, &n->left, list);
            list = j % 10 ? n : NULL;
        }
        if (i == 1) gc_finalizer_register(gc, list, &finalizer);
        if (i == 2) list = NULL;
        gc_collect(heap, i % 3, 0);
        gc_finalizer_run(gc, SIZE_MAX);
    }
}

/* The longest time that is told of. */
static uint64_t longest_ns(void) {
    gc_stats s = stats();
    gc_pause pauses[GC_PAUSES_KEPT];
    size_t count = gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, false);
    uint64_t longest = gc__max(gc__max(s.pause_total_ns, s.pause_max_ns), gc__max(s.stop_total_ns, s.stop_max_ns));
    for (int i = 0; i < GC_PHASE_COUNT; i++) longest = gc__max(longest, s.phase_total_ns[i]);
    for (size_t i = 0; i < count; i++) {
        const gc_pause *p = &pauses[i];
        longest = gc__max(longest, gc__max(gc__max(p->began_ns, p->ns), gc__max(p->help_ns, p->stop_ns)));
        longest = gc__max(longest, gc__max(p->marker_ns, p->wake_ns));
    }
    return gc__max(longest, longest_event_ns);
}

static bool utilisation_is_sound(void) {
    gc_stats s = stats();
    for (int i = 0; i < GC_WINDOWS; i++)
        if (!(s.utilisation[i] >= 0 && s.utilisation[i] <= 1)) return false;
    return true;
}

static void steps_back(const char *what, gc_options options, bool threads) {
    uint64_t worst = 0, most = 1;
    bool sound = true;
    warnings = 0;
    for (uint64_t at = 1; at <= most; at++) {
        pthread_t other;
        calls = 0, steps_at = at, is_mine = true, ends = false;
        options.warning = on_warning;
        begin(&options);
        if (threads) pthread_create(&other, NULL, poll, NULL);
        collect_some();
        __atomic_store_n(&ends, true, __ATOMIC_SEQ_CST);
        if (threads) {
            GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
            pthread_join(other, NULL);
        }
        worst = gc__max(worst, longest_ns());
        sound &= utilisation_is_sound();
        end();
        if (at == 1) most = gc__min(calls, 300);
        is_mine = false;
    }
    diag("%s: %llu steps, at most %llu ns", what, (unsigned long long)most, (unsigned long long)worst);
    ok(worst < SECOND_NS, "%s: no time becomes longer by a clock that steps back", what);
    ok(sound, "nor does the share of time that is left to the program leave its range");
    is(warnings, 0, "and nothing is warned of");
}

/* Stops once the thread that collects has looked at the clock so often. */
static void *stop_after(void *looks) {
    gc_thread *thread = gc_thread_attach(heap);
    __atomic_fetch_add(&calls, 1000, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&waits, __ATOMIC_SEQ_CST) < *(uint64_t *)looks) {}
    while (!__atomic_load_n(&ends, __ATOMIC_SEQ_CST)) gc_safepoint(thread);
    gc_thread_detach(thread);
    return NULL;
}

/* The first to stop wakes the thread that collects, which asks how long it has waited for the other one. */
static void waits_for_others(void) {
    uint64_t looks[2] = {1, 2};
    pthread_t others[2];
    warnings = 0, calls = 0, steps_at = UINT64_MAX, waits = 0, is_mine = true, ends = false;
    for (uint64_t i = 0; i < 2; i++) {
        pthread_create(&others[i], NULL, stop_after, &looks[i]);
        while (__atomic_load_n(&calls, __ATOMIC_SEQ_CST) < 1000 * (i + 1)) {}
    }
    collects = true;
    gc_collect(heap, 0, 0);
    collects = false;
    __atomic_store_n(&ends, true, __ATOMIC_SEQ_CST);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
    }
    is_mine = false;
    ok(waits >= 2, "a collection has looked twice at the clock while it waited");
    is(warnings, 0, "and complains of nobody when the clock steps back");
}

/* The windows of the least share hold no more than a ring has room for. */
static void windows_after_a_step(void) {
    static gc__pauses pauses;
    unsigned most = 0;
    gc__pauses_open(&pauses);
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t hour = 3600 * SECOND_NS, began = (i < 1000 || i >= 2000 ? 2 * hour : hour) + i * 100000;
        gc__pauses_note(&pauses, began, began + 10000);
        for (int w = 0; w < GC_WINDOWS; w++) most = most > pauses.windows[w].count ? most : pauses.windows[w].count;
    }
    gc__pauses_close_windows(&pauses);
    ok(most <= GC__WINDOW_PARTS + 2, "the windows have at most %d entries, with a clock that steps back by an hour: %u",
       GC__WINDOW_PARTS + 2, most);
    for (int w = 0; w < GC_WINDOWS; w++) {
        double share = gc__window_utilisation(&pauses.windows[w]);
        ok(share > 0.85 && share < 0.91, "and a tenth of the time is a tenth: %f", share);
    }
}

static void *note_self(void *self) {
    *(uint64_t *)self = gc__os_self();
    return NULL;
}

static void threads_are_told_apart(void) {
    enum { THREADS = 50 };
    uint64_t selves[THREADS + 1] = {gc__os_self()};
    unsigned same = 0, nobody = 0;
    for (int i = 1; i <= THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, note_self, &selves[i]);
        pthread_join(thread, NULL);
        for (int j = 0; j < i; j++) same += selves[i] == selves[j];
        nobody += !selves[i];
    }
    is(same + nobody, 0, "a new thread is none that has ended, wherever its variables are");
    is(gc__os_self(), selves[0], "and a thread stays what it was");
}

/* A thread for each request. */
static void *request(void *collections) {
    gc_thread *self = gc_thread_attach(heap);
    uint64_t before = stats().collections[0];
    while (stats().collections[0] == before)
        if (!gc_new(self, &node_type)) break;
    *(uint64_t *)collections += stats().collections[0] - before;
    gc_thread_detach(self);
    return NULL;
}

/* A new thread's clock begins anew: each has used a nanosecond less than the one before had when it ended. */
static void threads_have_clocks_of_their_own(void) {
    uint64_t collections = 0;
    size_t nursery = stats().nursery_bytes;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        cpu_ns = 500000 - (uint64_t)i;
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_create(&thread, NULL, request, &collections);
        pthread_join(thread, NULL);
    }
    cpu_ns = 0;
    ok(collections >= 20, "20 threads have collected, one after the other");
    is(stats().nursery_bytes, nursery, "and the nursery is as it was, since the share of their time is not known");
}

int main(void) {
    const gc_profile_host host = {.event = on_event};
    threads_are_told_apart();
    begin(&(gc_options){.heap_bytes_max = 4 << 20});
    threads_have_clocks_of_their_own();
    end();
    windows_after_a_step();
    steps_back("a thread", (gc_options){0}, false);
    steps_back("two threads", (gc_options){0}, true);
    steps_back("marking beside", (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 64}, false);
    begin(&(gc_options){.warning = on_warning});
    waits_for_others();
    end();
    gc_profile_set_host(&host);
    gc_profile_start(&(gc_profile_options){.what = (1u << GC_PROFILE_KIND_COUNT) - 1}, NULL);
    steps_back("a profile", (gc_options){0}, true);
    gc_profile_stop();
    return done();
}
