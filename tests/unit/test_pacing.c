/* Pacing changes while a heap runs, and a paused heap is collected only at its limit or on request. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <pthread.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static uint64_t collections(void) {
    gc_stats s = stats();
    return s.collections[0] + s.collections[1] + s.collections[2];
}

static void garbage(size_t total) {
    for (size_t i = 0; i < total; i += 1024) new_bytes(1024);
}

enum { KEPT = 20000 };
/* Gives each of its items another object, so many times. */
static void fill(vector *keep, size_t times) {
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < times * KEPT; i++) {
        bytes *b = new_bytes(512);
        gc_store(gc, &keep->items[i % KEPT], b);
    }
}

static gc_pacing pacing(void) {
    gc_pacing now;
    gc_heap_pacing(heap, &now);
    return now;
}

static void pause_heap(bool paused) {
    gc_pacing now = pacing();
    now.paused = paused;
    is(gc_heap_set_pacing(heap, &now), GC_OK, paused ? "paused" : "not paused");
}

static void paused(void) {
    garbage(MIB);
    pause_heap(true);
    uint64_t before = collections();
    is(gc_object_add_external(gc, new_bytes(64), 16 * MIB), GC_OK, "off-heap bytes");
    garbage(48 * MIB);
    is(collections(), before, "48 MiB of garbage, and no collection");
    gc_safepoint(gc);
    is(collections(), before, "nor at a safe point");
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    is(collections(), before + 1, "gc_collect collects");
    garbage(16 * MIB);
    is(collections(), before + 1, "and the heap is still paused");
    pause_heap(false);
    garbage(2 * MIB);
    ok(collections() > before + 1, "it is collected soon after the pause");
}

static void paused_at_the_limit(void) {
    pause_heap(true);
    uint64_t before = collections();
    garbage(8 * MIB);
    is(collections(), before, "no collection below the limit");
    garbage(64 * MIB);
    ok(collections() > before, "a paused heap is collected at its limit");
    ok(stats().committed_bytes_peak <= 16 * MIB, "which it keeps");
    ok(pacing().paused, "it is still paused");
    is(stats().collections_compacting, 0, "no compaction was needed");
}

/* Without generations, a nursery is by how much the heap may grow. */
static void worth_it_without_generations(void) {
    vector *keep = new_vector(KEPT);
    GC_ROOTS(gc, keep);
    fill(keep, 1), full();
    uint64_t before = collections();
    garbage(stats().nursery_bytes / 4);
    gc_collect(heap, 2, GC_COLLECT_OPTIMIZED);
    is(collections(), before, "an optional collection has not enough to do");
    garbage(stats().nursery_bytes / 8 * 5);
    is(collections(), before, "none was due");
    gc_collect(heap, 2, GC_COLLECT_OPTIMIZED);
    is(collections(), before + 1, "and then it has");
}

/* The marking that runs goes on, but does not end. */
static void paused_while_marking(void) {
    vector *keep = new_vector(KEPT);
    GC_ROOTS(gc, keep);
    fill(keep, 1);
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    pause_heap(true);
    uint64_t before = collections();
    fill(keep, 1);
    is(collections(), before, "no collection, and no end of the marking");
    usleep(300000);
    gc_safepoint(gc);
    ok(!gc->poll, "nor does the marker, which waits for it, ask at each safe point");
    pause_heap(false);
    garbage(16 * MIB);
    ok(collections() > before, "which comes after the pause");
    ok(gc_heap_verify(heap) > 0, "the heap is sound");
}

static void changed(void) {
    gc_pacing now = pacing();
    ok(!now.nursery_bytes && !now.growth_percent && !now.growth_bytes_min && !now.pause_goal_us && !now.paused, "the defaults");
    now.nursery_bytes = MIB / 2;
    is(gc_heap_set_pacing(heap, &now), GC_OK, "a fixed nursery");
    is(stats().nursery_bytes, MIB / 2, "is in force");
    uint64_t before = collections();
    garbage(16 * MIB);
    uint64_t small = collections() - before;
    ok(small >= 24 && small <= 40, "%llu collections in 16 MiB", (unsigned long long)small);
    now.nursery_bytes = 4 * MIB;
    is(gc_heap_set_pacing(heap, &now), GC_OK, "a larger one");
    before = collections();
    garbage(16 * MIB);
    ok(collections() - before <= 5, "%llu collections in 16 MiB", (unsigned long long)(collections() - before));
    now.nursery_bytes = 0;
    now.pause_goal_us = 5000;
    is(gc_heap_set_pacing(heap, &now), GC_OK, "an adaptive one");
    is(pacing().pause_goal_us, 0, "the default goal, written out, is the default");
}

/* Returns how many full collections there are while a list grows. */
static uint64_t full_of(unsigned percent) {
    gc_pacing now = pacing();
    now.growth_percent = percent;
    is(gc_heap_set_pacing(heap, &now), GC_OK, "growth of %u %%", percent);
    vector *keep = new_vector(KEPT);
    GC_ROOTS(gc, keep);
    uint64_t before = stats().collections[2];
    fill(keep, 3);
    return stats().collections[2] - before;
}

static void growth(void) {
    uint64_t often = full_of(25), seldom = full_of(400);
    ok(often > 2 * seldom, "%llu full collections, and %llu", (unsigned long long)often, (unsigned long long)seldom);
}

/* Steps do all that a cycle needs, in a heap that nobody allocates in. */
static void steps_of_a_cycle(void) {
    vector *keep = new_vector(KEPT);
    GC_ROOTS(gc, keep);
    fill(keep, 1);
    pause_heap(true);
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    uint64_t before = stats().collections[2];
    unsigned steps = 0;
    while (gc_step(heap, 100) && steps < 1000000) steps++;
    is(stats().collections[2], before + 1, "a cycle ends after steps, though the heap is paused");
    ok(!gc_step(heap, 0), "then there is no more to do");
    ok(gc_heap_verify(heap) > 0, "the heap is sound");
}

/* With nothing left to mark, a step of no time ends the cycle. */
static void steps_of_no_time(void) {
    vector *keep = new_vector(KEPT);
    GC_ROOTS(gc, keep);
    fill(keep, 1);
    full(), full();
    uint64_t before = stats().collections[2];
    gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
    int steps = 0;
    for (; steps < 300 && gc_step(heap, 0); steps++) usleep(100000); /* in which the marker's thread marks */
    ok(steps < 300, "once all is marked, a step of no time has no more to do");
    is(stats().collections[2], before + 1, "as it ends the cycle");
}

/* Another thread collects while this one makes steps only. */
static void *collect_meanwhile(void *ended) {
    gc_thread *thread = gc_thread_attach(heap);
    for (int i = 0; i < 300; i++) {
        usleep(500);
        gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    }
    gc_thread_detach(thread);
    __atomic_store_n((bool *)ended, true, __ATOMIC_RELEASE);
    return NULL;
}
static void steps_beside_a_collection(void) {
    pthread_t thread;
    bool ended = false;
    vector *keep = new_vector(KEPT);
    GC_ROOTS(gc, keep);
    fill(keep, 1);
    full(), full();
    pthread_create(&thread, NULL, collect_meanwhile, &ended);
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
        while (gc_step(heap, 1000)) {}
    }
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
    ok(true, "steps let another thread's collections begin");
}

/* A nursery that was never to be spent, in a heap that was collected by hand. */
static void adapts_without_generations(void) {
    gc_pacing pacing;
    gc_heap_pacing(heap, &pacing);
    pacing.nursery_bytes = 0;
    is(gc_heap_set_pacing(heap, &pacing), GC_OK, "a nursery of its own choice, without generations");
    uint64_t before = collections();
    garbage(64 * MIB);
    ok(collections() > before, "is in force at once");
}

static void steps_of_a_nursery(void) {
    uint64_t before = collections();
    ok(!gc_step(heap, 1000), "nothing to do in an empty heap");
    is(collections(), before, "nor is anything collected");
    garbage(MIB / 2);
    gc_step(heap, 1000);
    is(stats().collections[0], 1, "a nursery that is half spent is collected");
    gc_step(heap, 1000);
    is(collections(), before + 1, "and not again");
}

int main(void) {
    run(paused, (gc_options){0});
    run(paused, (gc_options){.non_moving = true});
    run(paused, (gc_options){.non_generational = true});
    run(paused_at_the_limit, (gc_options){.heap_bytes_max = 16 * MIB});
    run(paused_at_the_limit, (gc_options){.heap_bytes_max = 16 * MIB, .concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000});
    run(worth_it_without_generations, (gc_options){.non_generational = true});
    run(paused_while_marking, (gc_options){.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000});
    run(changed, (gc_options){0});
    run(growth, (gc_options){0});
    run(steps_of_a_cycle, (gc_options){.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000});
    run(steps_of_no_time, (gc_options){.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000});
    alarm(200);
    run(steps_beside_a_collection, (gc_options){.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000});
    alarm(0);
    run(adapts_without_generations, (gc_options){.non_generational = true, .nursery_bytes = SIZE_MAX});
    run(steps_of_a_nursery, (gc_options){.nursery_bytes = MIB});
    return done();
}
