/* Phases, lives of heaps, and modes. */
#pragma once

#include "random_ops.h"

typedef enum phase { MIXED, ALLOCATION, MUTATION, CHURN, LIST, TREE, PHASES } phase;

typedef struct weighted {
    void (*op)(world *);
    const char *name;
    unsigned weights[PHASES]; /* in thousandths, more or less */
} weighted;

static void op_nest(world *w);

static const weighted ops[] = {
    {op_allocate, "allocate", {250, 700, 40, 150, 50, 100}},
    {op_list, "list", {40, 20, 5, 10, 600, 10}},
    {op_tree, "tree", {2, 2, 1, 0, 0, 20}},
    {op_churn, "churn", {20, 50, 10, 600, 10, 10}},
    {op_store, "store", {250, 60, 500, 60, 100, 300}},
    {op_copy, "copy", {60, 10, 120, 10, 10, 50}},
    {op_fill, "fill", {20, 5, 40, 5, 5, 20}},
    {op_unload, "unload", {5, 2, 10, 2, 2, 5}},
    {op_payload, "payload", {60, 20, 100, 20, 20, 60}},
    {op_root, "root", {8, 4, 8, 4, 4, 8}},
    {op_drop, "drop", {2, 2, 1, 2, 1, 2}},
    {op_drop_all, "drop all", {1, 1, 0, 1, 0, 1}},
    {op_block, "add or remove roots", {4, 2, 2, 2, 2, 2}},
    {op_handle, "handle", {10, 5, 5, 5, 5, 5}},
    {op_stack, "stack", {20, 10, 20, 10, 10, 10}},
    {op_grow, "grow", {20, 20, 10, 20, 10, 10}},
    {op_external, "external bytes", {10, 10, 10, 10, 10, 10}},
    {op_identity, "identity", {10, 10, 10, 10, 10, 10}},
    {op_safepoint, "safepoint", {20, 20, 20, 20, 20, 20}},
    {op_ask, "ask", {60, 30, 60, 30, 30, 60}},
    {op_switch, "switch the barrier", {2, 1, 2, 1, 1, 1}},
    {op_statistics, "statistics", {1, 1, 1, 1, 1, 1}},
    {op_absurd, "absurd length", {1, 1, 1, 1, 1, 1}},
    {op_nest, "frame", {4, 2, 4, 2, 4, 4}},
};
#define OPS (sizeof ops / sizeof *ops)

typedef struct mode {
    const char *name;
    void (*options)(world *w, gc_options *options);
    unsigned worlds;
    unsigned collect_every; /* operations, on average */
    unsigned share;         /* percent of the operations asked for: some modes are slow */
} mode;

static void take_marking_steps(world *w) {
#if GC__HAS_MARKER
    gc_heap *heap = w->heap;
    if (!gc__marker_work(heap, 1 + below(&w->random, 8)) && heap->marking) heap->marker->done = true;
#else
    (void)w;
#endif
}

static void perform(world *w, phase p, const mode *m) {
    run.op++;
    if (w->marks && one_in(&w->random, 2)) take_marking_steps(w);
    if (w->follows && one_in(&w->random, 300)) op_follow(w);
    if (one_in(&w->random, 400)) op_pace(w);
    if (one_in(&w->random, m->collect_every)) {
        run.doing = "collect";
        op_collect(w);
    } else {
        unsigned total = 0;
        for (size_t i = 0; i < OPS; i++) total += ops[i].weights[p];
        size_t choice = below(&w->random, total), i = 0;
        while (choice >= ops[i].weights[p]) choice -= ops[i++].weights[p];
        run.doing = ops[i].name;
        ops[i].op(w);
    }
    if (run.check_every && run.op % run.check_every == 0) check(w, false);
}

static const mode *current_mode;

/* A frame of its own, for a few operations. */
static void op_nest(world *w) {
    void *first = NULL, *second = NULL, *third = NULL;
    if (w->nested + 3 > NESTED) return;
    GC_ROOTS(w->thread, first, second, third);
    void **variables[] = {&first, &second, &third};
    root *roots = &w->roots[ROOTS - NESTED + w->nested];
    for (size_t i = 0; i < 3; i++) roots[i] = (root){.slot = (gc_word *)(void *)variables[i], .home = FRAME};
    w->nested += 3;
    for (size_t i = below(&w->random, 60); i > 0; i--) perform(w, MIXED, current_mode);
    w->nested -= 3;
    for (size_t i = 0; i < 3; i++) roots[i].slot = NULL;
    run.doing = "leaving a frame";
}

static void on_start(void *host, const gc_collection *collection) {
    world *w = host;
    if (w->starting || collection->number != w->collections + 1) wrong("collection_start of collection %llu after %zu",
                                                                      (unsigned long long)collection->number, w->collections);
    w->starting = true;
}

static void on_end(void *host, const gc_collection *collection) {
    world *w = host;
    if (!w->starting) wrong("collection_end of collection %llu without a start", (unsigned long long)collection->number);
    bool as_asked = collection->generation == w->asked_generation && collection->compacting == w->asked_compacting;
    bool ends = gc__is_mark_end(w->heap); /* which the marker's thread may ask for at any time */
    if (collection->reason == GC_REASON_INDUCED && !as_asked && !ends)
        wrong("collection_end of a%s collection of generation %d, but gc_collect was asked for a%s one of %d",
              collection->compacting ? " compacting" : "", collection->generation, w->asked_compacting ? " compacting" : "", w->asked_generation);
    w->starting = false;
    w->collections++;
    run.concurrent = w->heap ? run.concurrent + (gc__is_mark_end(w->heap)) : 0;
}

/* Sometimes drops references, and has the allocation tried again. */
static bool on_out_of_memory(void *host, size_t bytes, const char *message) {
    world *w = host;
    (void)bytes, (void)message;
    w->out_of_memory++;
    if (!one_in(&w->random, 3)) return false;
    drop_roots(w, 2);
    return true;
}

static size_t size_kib(world *w, size_t least, size_t most) { return skewed(&w->random, least, most) << 10; }

static void options_moving(world *w, gc_options *o) { o->nursery_bytes = size_kib(w, 256, 2048); }
static void options_small_nursery(world *w, gc_options *o) { o->nursery_bytes = size_kib(w, 16, 64); }
static void options_non_moving(world *w, gc_options *o) {
    options_moving(w, o);
    o->non_moving = true;
}
static void options_non_generational(world *w, gc_options *o) {
    options_moving(w, o);
    o->non_generational = true;
}
static void options_both(world *w, gc_options *o) {
    options_non_moving(w, o);
    o->non_generational = true;
}
static void options_stress(world *w, gc_options *o) {
    options_moving(w, o);
    o->debug.stress = GC_STRESS_NTH;
    o->debug.stress_interval = (unsigned)skewed(&w->random, 20, 1000);
    o->non_generational = one_in(&w->random, 6);
    o->test.scarce_memory = one_in(&w->random, 4);
    w->live_most /= 4;
}
static void options_stress_all(world *w, gc_options *o) {
    options_moving(w, o);
    o->debug.stress = one_in(&w->random, 2) ? GC_STRESS_ALLOCATION : GC_STRESS_SAFEPOINT;
    w->live_most = 200;
}
static void options_mark_stack(world *w, gc_options *o) {
    options_moving(w, o);
    o->test.scarce_memory = true;
    o->non_moving = one_in(&w->random, 3);
    o->non_generational = one_in(&w->random, 5);
}
static void options_limit(world *w, gc_options *o) {
    o->heap_bytes_max = GC_REGION_BYTES * (4 + below(&w->random, 28));
    o->nursery_bytes = skewed(&w->random, 16 << 10, o->heap_bytes_max / 4);
    o->non_moving = one_in(&w->random, 4);
    o->non_generational = one_in(&w->random, 6);
    w->bytes_most = SIZE_MAX;
    if (o->non_moving || o->non_generational || one_in(&w->random, 2)) return;
    o->concurrent = GC_CONCURRENT_ON;
    o->test.marker_steps = 1;
    w->marks = true;
}
static void options_adaptive(world *w, gc_options *o) {
    o->growth_percent = one_in(&w->random, 2) ? 50 : 0;
    o->pause_goal_us = one_in(&w->random, 2) ? 100 : 0;
}

/* The marking of generation 2 goes on by some steps between operations. */
static void options_concurrent(world *w, gc_options *o) {
    o->nursery_bytes = size_kib(w, 16, 512);
    o->growth_percent = one_in(&w->random, 2) ? 30 : 0;
    o->concurrent = GC_CONCURRENT_ON;
    o->test.marker_steps = 1;
    o->test.candidates = one_in(&w->random, 2);
    o->test.born_old = one_in(&w->random, 2);
    o->trace_functions = one_in(&w->random, 2) ? GC_TRACE_FUNCTIONS_CONCURRENT : GC_TRACE_FUNCTIONS_ALONE;
    if (one_in(&w->random, 2)) o->barrier_changed = NULL; /* young collections do less where no code is emitted */
    o->test.scarce_memory = one_in(&w->random, 4);
    if (one_in(&w->random, 4)) o->debug.stress = GC_STRESS_NTH, o->debug.stress_interval = (unsigned)skewed(&w->random, 20, 1000);
    if (one_in(&w->random, 3)) o->collector_threads = 3, o->test.collectors = 1 + (unsigned)below(&w->random, 100);
    w->marks = true;
}

static void options_follow(world *w, gc_options *o) {
    o->heap_bytes_max = 64 * GC_REGION_BYTES;
    if (one_in(&w->random, 2)) o->nursery_bytes = skewed(&w->random, 16 << 10, o->heap_bytes_max / 16);
    o->non_moving = one_in(&w->random, 6);
    o->non_generational = one_in(&w->random, 6);
    w->follows = true;
}

static const mode modes[] = {
    {"moving", options_moving, 1, 600, 100},
    {"non_moving", options_non_moving, 1, 600, 100},
    {"non_generational", options_non_generational, 1, 600, 100},
    {"both", options_both, 1, 600, 100},
    {"small_nursery", options_small_nursery, 1, 2000, 100},
    {"stress", options_stress, 1, 1000, 20},
    {"stress_all", options_stress_all, 1, 1000, 2},
    {"mark_stack", options_mark_stack, 1, 600, 100},
    {"limit", options_limit, 1, 1000, 30},
    {"two_heaps", options_moving, 2, 600, 100},
    {"adaptive", options_adaptive, 1, 5000, 60},
    {"follow", options_follow, 1, 1500, 10},
    {"concurrent", options_concurrent, 1, 600, 100},
    {"two_concurrent", options_concurrent, 2, 2000, 50},
};
#define MODES (sizeof modes / sizeof *modes)

/* Takes back what the collector was compiled without, or is told to leave out. */
static void leave_out(gc_options *o) {
    if (!run.verify) o->debug.verify = 0, o->debug.checkmark = false;
    if (!GC_DIAGNOSTICS) o->debug.stress = GC_STRESS_OFF, o->debug.verify = 0, o->debug.checkmark = false;
    if (!GC_CONCURRENT) o->concurrent = GC_CONCURRENT_OFF, o->test.marker_steps = 0;
    if (GC_COLLECTOR_THREADS_MAX == 1) o->collector_threads = o->test.collectors = 0;
}

static void world_open(world *w, const mode *m, uint64_t seed) {
    memset(w, 0, sizeof *w);
    w->random.state = mix(seed);
    w->live_most = one_in(&w->random, 4) ? 4000 : 300 + below(&w->random, 1200);
    w->bytes_most = GC_REGION_BYTES * 6 > (8 << 20) ? GC_REGION_BYTES * 6 : 8 << 20;
    w->options = (gc_options){.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .debug.checkmark = true, .scan_roots = scan_roots, .fatal = on_fatal,
                              .collection_start = on_start, .collection_end = on_end, .out_of_memory = on_out_of_memory,
                              .barrier_changed = on_barrier_changed, .host = w};
    w->options.keep_memory = one_in(&w->random, 3);
    m->options(w, &w->options);
    leave_out(&w->options);
    if (GC__BARRIER_CHOSEN == GC_BARRIER_NONE) w->options.non_generational = true;
    if (GC__BARRIER_CHOSEN == GC_BARRIER_COUNT && gc_barrier_current() == GC_BARRIER_NONE)
        gc_barrier_switch(GC_BARRIER_RANK_SUM);
    if (run.barrier && gc_barrier_switch(gc_barrier_named(run.barrier)) != GC_OK)
        wrong("--barrier: %s", gc_last_message());
    w->heap = gc_heap_create(&w->options);
    w->thread = w->heap ? gc_thread_attach(w->heap) : NULL;
    if (!w->thread) wrong("gc_heap_create: %s", gc_last_message());
    if (w->options.barrier_changed && jit.barrier != gc_barrier_current()) wrong("the code is for barrier %d", jit.barrier);
}

/* With no root left the heap has no object, and no region but free ones. */
static void check_empty(const world *w) {
    gc_stats s;
    gc_heap_stats(w->heap, &s);
    if (w->model.live) wrong("the model has %zu objects, but no root", w->model.live);
    if (s.regions || s.used_bytes || s.live_bytes || s.large_bytes || s.external_bytes || s.fragmentation_bytes)
        wrong("an empty heap has %zu regions, %zu bytes in use, %zu live, %zu large, %zu external, %zu of holes", s.regions, s.used_bytes,
              s.live_bytes, s.large_bytes, s.external_bytes, s.fragmentation_bytes);
}

static void world_close(world *w) {
    run.doing = "the last collection";
    check(w, false);
    collect(w, 2, one_in(&w->random, 2) ? GC_COLLECT_COMPACTING : 0);
    check(w, true);
    collect(w, 2, 0);
    check(w, true);
    run.doing = "dropping everything";
    drop_roots(w, 1);
    gc_value_stack_free(w->heap, &w->stack);
    w->frame = 0;
    stack_roots(w);
    collect(w, 2, one_in(&w->random, 2) ? GC_COLLECT_COMPACTING : 0);
    check(w, true);
    check_empty(w);
    run.weak_cleared += w->weak_cleared;
    gc_heap_destroy(w->heap);
    model_free(&w->model);
}

/* The heaps' lives: phases until `count` operations are done. */
static void live(world *worlds, const mode *m, size_t count) {
    gc_word frames[2][FRAMES] = {{0}};
    GC_ROOTS_ARRAY(worlds[0].thread, frames[0], FRAMES, 0);
    GC_ROOTS_ARRAY(worlds[m->worlds - 1].thread, frames[m->worlds - 1], m->worlds > 1 ? FRAMES : 0, 0);
    for (unsigned i = 0; i < m->worlds; i++) world_roots(&worlds[i], frames[i]);
    phase phases[2] = {MIXED, MIXED};
    for (unsigned long long end = run.op + count; run.op < end;) {
        size_t i = below(&worlds[0].random, m->worlds);
        if (one_in(&worlds[i].random, 3000)) phases[i] = (phase)below(&worlds[i].random, PHASES);
        perform(&worlds[i], phases[i], m);
    }
    for (unsigned i = 0; i < m->worlds; i++) world_close(&worlds[i]);
}

static void run_mode(const mode *m, size_t number) {
    static world worlds[2];
    unsigned long long count = run.ops * m->share / 100, end = run.op + count, collections = 0;
    current_mode = m;
    run.concurrent = run.grown = run.weak_cleared = 0;
    prng random = {mix(run.seed + 77 * (size_t)(m - modes))};
    size_t lives = 0;
    while (run.op < end) {
        size_t length = 50000 + below(&random, 200000);
        if (length > end - run.op) length = end - run.op;
        for (unsigned i = 0; i < m->worlds; i++) world_open(&worlds[i], m, bits(&random));
        live(worlds, m, length);
        for (unsigned i = 0; i < m->worlds; i++) collections += worlds[i].collections;
        lives++;
    }
    /* How soon a cycle ends depends on when the system lets the marker run: a short run on a busy machine may see none. */
    if (GC_CONCURRENT && m->options == options_concurrent && GC__BARRIER_CHOSEN == GC_BARRIER_RANK_SUM && count >= 100000 && run.concurrent == 0) wrong("no marking beside operations has ended");
    if (count >= 10000 && !run.grown) wrong("no array has grown");
    if (count >= 10000 && !run.weak_cleared) wrong("no entry of a weak table was cleared");
    printf("ok %zu - %s: %llu operations, %zu heaps, %llu collections (%llu concurrent), %llu objects on average, %llu stores from old "
           "to young, %llu arrays have grown, %llu weak entries were cleared\n",
           number, m->name, count, lives, collections, run.concurrent, checks.objects / (checks.count + !checks.count), run.barriers,
           run.grown, run.weak_cleared);
    fflush(stdout);
}
