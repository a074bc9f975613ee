/* Barriers chosen at run time: what hosts are told, bounds, write watch, the log, and switching. */
#define _GNU_SOURCE
#define GC_BARRIER at_run_time
#define GC_IMPLEMENTATION
#include "../fixture.h"
#include "cycle.h"

#include <pthread.h>

#define LENGTH (GC_REGION_BYTES / 32) /* of an array that is large */

typedef struct told {
    gc_barrier_change last;
    gc_barrier_tables tables; /* as they were when it came */
    int initialize, ephemeral, resize, switched, suspended, wrong;
} told;

static void on_change(void *host, const gc_barrier_change *change) {
    told *t = host;
    const gc_barrier_tables *tables = change->tables;
    switch (change->operation) {
    case GC_STOMP_INITIALIZE:
        t->initialize++;
        break;
    case GC_STOMP_EPHEMERAL:
        t->ephemeral++;
        break;
    case GC_STOMP_RESIZE:
        t->resize++;
        break;
    case GC_STOMP_SWITCH:
        t->switched++;
        break;
    }
    t->suspended += change->is_suspended;
    if (change->operation == GC_STOMP_RESIZE && tables->highest <= t->tables.highest) t->wrong++;
    if (!change->is_suspended && t->initialize && (tables->low > t->tables.low || tables->high < t->tables.high)) t->wrong++;
    t->last = *change;
    t->tables = *tables;
}

static gc_options observed(told *t) { return (gc_options){.barrier_changed = on_change, .host = t}; }

static void changes(void) {
    told *t = gc_heap_host(heap);
    is(t->initialize, 1, "a heap's creation is told");
    ok(t->last.barrier == GC_BARRIER_RANK_SUM && t->last.is_suspended && t->last.tables->age && t->last.tables->cards,
       "with rank_sum, the first barrier, and its tables");
    ok(t->tables.low >= t->tables.high, "no address is young before the first object");
    vector *old = new_vector(10), *large = NULL;
    GC_ROOTS(gc, old, large);
    ok(t->ephemeral >= 1 && t->resize >= 1, "the first region is told, as a young one and as one of the heap");
    ok((uintptr_t)old >= t->tables.low && (uintptr_t)old < t->tables.high, "it is between low and high");
    ok((uintptr_t)old >= t->tables.lowest && (uintptr_t)old < t->tables.highest, "and between lowest and highest");
    ok(t->tables.highest <= t->tables.end && t->tables.end - t->tables.lowest <= GC_ARENA_BYTES, "which never exceeds the end");
    int suspended = t->suspended, resized = t->resize;
    size_t length = gc__max(LENGTH, GC__HUGE_PAGE_BYTES / 8); /* beyond the first regions, which may be those of a huge page */
    large = new_vector(length);
    ok((uintptr_t)large + length * 8 <= t->tables.high && (uintptr_t)large + length * 8 <= t->tables.highest,
       "all of a large object is within the bounds");
    ok(t->resize > resized && t->suspended == suspended, "which were widened without suspension");
    age(&old, 2), age(&large, 2);
    ok(t->suspended > suspended, "collections tighten low and high, with mutators suspended");
    ok(t->tables.low >= t->tables.high, "nothing is young when all is old");
    ok(t->tables.lowest <= (uintptr_t)old && t->tables.highest > (uintptr_t)large, "lowest and highest stay");
    is(t->wrong, 0, "bounds only widened while mutators ran");
}

static void switching(void) {
    told *t = gc_heap_host(heap);
    vector *old = new_vector(100);
    GC_ROOTS(gc, old);
    age(&old, 2);
    for (int barrier = GC_BARRIER_RANK_SUM; barrier < GC_BARRIER_COUNT; barrier++) {
        const char *name = gc_barrier_name((gc_barrier)barrier);
        int told_before = t->switched;
        is(gc_barrier_switch((gc_barrier)barrier), GC_OK, "a switch to %s", name);
        ok(gc_barrier_current() == (gc_barrier)barrier && t->last.barrier == (gc_barrier)barrier &&
               t->switched == told_before + 1 && t->last.is_suspended && t->last.operation == GC_STOMP_SWITCH,
           "%s: is in force, and told", name);
        ok(!gc__barrier_parts_of((gc_barrier)barrier).watch || t->tables.watch, "%s: its tables came before", name);
        gc_store(gc, &old->items[barrier], new_node((uint64_t)barrier));
        gc_store_value(gc, &old->items[50], (uintptr_t)old->items[barrier]);
        void *elsewhere[3] = {NULL, NULL, NULL}; /* stack slots, by every entry point */
        gc_store(gc, &elsewhere[0], old->items[barrier]);
        gc_store_value(gc, &elsewhere[1], (uintptr_t)old->items[barrier]);
        gc_copy_refs(gc, &elsewhere[2], &old->items[barrier], 1);
        gc_stores_begin(gc, elsewhere, 3, 0);
        gc_stores_end(gc, elsewhere, 3, 0);
        ok(elsewhere[0] == old->items[barrier] && elsewhere[1] == elsewhere[0] && elsewhere[2] == elsewhere[0], "%s: slots on the stack",
           name);
        gc_copy_refs(gc, &old->items[60], &old->items[barrier], 1);
        gc_collect(heap, 0, 0);
        node *kept = old->items[barrier];
        ok(kept->value == (uint64_t)barrier && old->items[50] == kept && old->items[60] == kept, "%s: what old slots refer to lives",
           name);
    }
    is(gc_barrier_switch(GC_BARRIER_NONE), GC_ERROR_OPTION, "a heap with generations refuses none");
    has(gc_last_message(), "has generations, and needs a write barrier", "and says why");
    is(gc_barrier_switch(GC_BARRIER_COUNT), GC_ERROR_OPTION, "there is no barrier beyond the list");
    has(gc_last_message(), "there is no barrier 16", "which is said");
    is(gc_barrier_current(), GC_BARRIER_OBJECT_LOGGING, "a refused switch changes nothing");
    is(gc_barrier_switch(GC_BARRIER_RANK_SUM), GC_OK, "back to rank_sum");
}

static void without_barrier(void) {
    is(gc_barrier_switch(GC_BARRIER_NONE), GC_OK, "a heap without generations needs no barrier");
    vector *a = new_vector(10);
    GC_ROOTS(gc, a);
    full();
    gc_store(gc, &a->items[3], new_node(7));
    full();
    is(((node *)a->items[3])->value, 7, "and loses nothing");
    gc_heap *second = gc_heap_create(NULL);
    ok(!second, "while it is in force, no heap with generations can be created");
    has(gc_last_message(), "gc_barrier_switch", "and the message says what to do");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

/* More slots than the log holds, in several arrays. */
static void log_overflow(void) {
    enum { ARRAYS = 6 };
    size_t length = GC__LOG_ENTRIES / 4, wrong = 0;
    vector *arrays[ARRAYS] = {NULL};
    GC_ROOTS_ARRAY(gc, arrays, ARRAYS, 0);
    for (int i = 0; i < ARRAYS; i++) arrays[i] = new_vector(length);
    for (int i = 0; i < ARRAYS; i++) age(&arrays[i], 2);
    gc_barrier_switch(GC_BARRIER_OBJECT_LOGGING);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < ARRAYS; i++)
            for (size_t k = 0; k < length; k += 1 + (k & 1)) gc_store(gc, &arrays[i]->items[k], new_node(k + (size_t)round));
        ok(gc__the_log.next > gc__the_log.limit || stats().collections[0] > 0, "the log has filled");
        gc_collect(heap, 0, 0);
        ok(gc__the_log.next == gc__log_start, "a collection empties it");
        gc_collect(heap, 1, 0); /* after which no card is dirty */
        for (int i = 0; i < ARRAYS; i++)
            for (size_t k = 0; k < length; k += 1 + (k & 1)) wrong += ((node *)arrays[i]->items[k])->value != k + (size_t)round;
    }
    is(wrong, 0, "what did not fit in the log is remembered by cards");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

/* A switch away from logging keeps what was logged. */
static void log_switched(void) {
    vector *old = new_vector(10);
    GC_ROOTS(gc, old);
    age(&old, 2);
    gc_barrier_switch(GC_BARRIER_OBJECT_LOGGING);
    gc_store(gc, &old->items[0], new_node(5));
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
    gc_collect(heap, 0, 0);
    is(((node *)old->items[0])->value, 5, "what was logged before a switch is remembered after it");
    gc_barrier_switch(GC_BARRIER_OBJECT_LOGGING);
    gc_store(gc, &old->items[0], new_node(6));
    is(gc_heap_verify(heap) > 0, true, "gc_heap_verify sees logged slots as remembered");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

/* An entry that another heap's mutator has taken but not written yet must not hide the entries after it. */
static void log_gap(void) {
    vector *old = new_vector(100);
    GC_ROOTS(gc, old);
    age(&old, 2);
    gc_barrier_switch(GC_BARRIER_OBJECT_LOGGING);
    gc_store(gc, &old->items[0], new_node(1));
    uintptr_t gap = __atomic_fetch_add(&gc__the_log.next, 8, __ATOMIC_RELAXED);
    gc_store(gc, &old->items[1], new_node(2));
    gc_collect(heap, 0, 0);
    is(((node *)old->items[0])->value + ((node *)old->items[1])->value, 3, "entries around one that is not written yet");
    gc_store(gc, &old->items[2], new_node(4));
    *(gc_word *)gap = (uintptr_t)&old->items[50];
    gc_collect(heap, 0, 0);
    is(((node *)old->items[2])->value, 4, "entries after it");
    ok(gc__the_log.next == gc__log_start, "and when it is written, the log can be emptied");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

static void watch(void) {
    void *pages[64];
    vector *large = new_vector(LENGTH), *young = NULL;
    GC_ROOTS(gc, large, young);
    gc_store(gc, &large->items[0], large);
    is(gc_heap_take_written_pages(heap, pages, 64), 0, "without write watch no page is known to be written");
    gc_barrier_switch(GC_BARRIER_WRITE_WATCH_SVR);
    is(gc_heap_take_written_pages(heap, pages, 64), 0, "nor before the first store with it");
    size_t first = 4096 / 8;
    for (size_t i = 0; i < 5; i++) gc_store(gc, &large->items[first + i * 512], large);
    gc_store(gc, &large->items[first], NULL);
    young = new_vector(100);
    is(gc_heap_take_written_pages(heap, pages, 0), 0, "no room takes none");
    is(gc_heap_take_written_pages(heap, pages, 3), 3, "as many pages as there is room for");
    is(gc_heap_take_written_pages(heap, pages + 3, 61), 2, "then the rest, once each");
    int wrong = 0;
    for (size_t i = 0; i < 5; i++) {
        int found = 0;
        for (int k = 0; k < 5; k++) found += (uintptr_t)pages[k] == ((uintptr_t)&large->items[first + i * 512] & ~(uintptr_t)4095);
        wrong += found != 1;
    }
    is(wrong, 0, "they are those of the slots");
    is(gc_heap_take_written_pages(heap, pages, 64), 0, "taken pages are forgotten");
    gc_copy_refs(gc, &young->items[0], &large->items[first], 3);
    is(gc_heap_take_written_pages(heap, pages, 64), 1, "copies are seen, into young objects too");
    void *stack_slot = NULL;
    gc_store(gc, &stack_slot, large);
    is(gc_heap_take_written_pages(heap, pages, 64), 0, "stores outside the heap are not");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

static void two_heaps(void) {
    told first = {0}, second = {0};
    gc_options options = observed(&first);
    gc_heap *a = gc_heap_create(&options);
    gc_thread *in_a = gc_thread_attach(a);
    gc_new(in_a, &node_type);
    options = observed(&second);
    gc_heap *b = gc_heap_create(&options);
    gc_thread *in_b = gc_thread_attach(b);
    is(second.initialize + first.initialize, 2, "each heap is told of its own creation alone");
    int before = first.ephemeral;
    gc_new(in_b, &node_type);
    ok(first.ephemeral > before, "a heap is told of another's regions, since the tables are the process's");
    uintptr_t low = gc__tables.low, high = gc__tables.high;
    gc_collect(a, 2, 0);
    ok(gc__tables.low == low && gc__tables.high == high, "one heap's collection does not narrow another's bounds");
    gc_barrier_switch(GC_BARRIER_BIT_REGION);
    ok(first.last.barrier == GC_BARRIER_BIT_REGION && second.last.barrier == GC_BARRIER_BIT_REGION, "both are told of a switch");
    gc_heap_destroy(a);
    before = first.switched;
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
    is(first.switched, before, "a destroyed heap is told nothing");
    gc_collect(b, 2, 0);
    ok(gc__tables.low >= gc__tables.high, "alone again, a heap narrows the bounds");
    is(first.wrong + second.wrong, 0, "bounds only widened while mutators ran");
    gc_heap_destroy(b);
}

/* A heap of its own, on its own thread, whose old slots get young referents all the time. */
/* What only handles hold, among which the last collection passes over those that the marker has looked at. */
static void switched_while_marking(void) {
    enum { COUNT = 20000 }; /* so many that regions are dense, and stay */
    static gc_handle handles[COUNT];
    size_t wrong = 0;
    for (uint64_t i = 0; i < COUNT; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_STRONG, new_node(i));
    full();
    full();
    begin_marking();
    ok(heap->marking, "a marking begins");
    for (int turns = 0; turns < 10000 && gc__marker_turn(heap, 100); turns++) continue;
    is(gc_barrier_switch(GC_BARRIER_PRE_GROW), GC_OK, "and the barrier is switched when it is done");
    finish();
    ok(!heap->marking, "it ends, by a collection that stops the program");
    for (int i = 0; i < 2 * COUNT; i++) new_node(COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        const node *n = gc_handle_get(handles[i]);
        wrong += !n || n->value != i;
        gc_handle_destroy(heap, handles[i]);
    }
    is(wrong, 0, "what strong handles refer to survives");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

/* What a heap with a goal for pauses has learned of its nurseries is of no use to one without, nor the other way round. */
static void goal_comes_and_goes(void) {
    gc__pace *pace = heap->pace;
    pace->tenures_at_once = true;
    pace->tenured_percent = 95;
    heap->born_left = 7;
    gc_barrier_switch(GC_BARRIER_BYTE_REGION);
    gc_collect(heap, 2, 0);
    is(heap->options.concurrent, GC_CONCURRENT_OFF, "a barrier that shows too little ends concurrent cycles");
    ok(!pace->tenures_at_once && !heap->born_left && !pace->tenured_percent, "and nurseries are looked at anew");
    pace->nursery_grows = (size_t)64 << 20;
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
    gc_collect(heap, 2, 0);
    is(heap->options.concurrent, GC_CONCURRENT_ON, "another barrier brings them back");
    is(pace->nursery_grows, 0, "and nurseries keep to the goal");
}

static void *live_alone(void *wrong) {
    gc_options options = {.nursery_bytes = 64 << 10, .debug.verify = GC_VERIFY_BEFORE};
    gc_heap *mine = gc_heap_create(&options);
    gc_thread *me = gc_thread_attach(mine);
    vector *old = gc_new_array(me, &vector_type, 1000);
    {
        GC_ROOTS(me, old);
        gc_collect(mine, 2, 0);
        gc_collect(mine, 2, 0);
        for (size_t i = 0; i < 200000; i++) {
            node *n = gc_new(me, &node_type);
            n->value = i;
            gc_store(me, &old->items[i % 1000], n);
            node *kept = old->items[i * 7 % 1000];
            if (kept && kept->value % 1000 != i * 7 % 1000) ++*(int *)wrong;
        }
    }
    gc_heap_destroy(mine);
    return NULL;
}

static void two_threads(gc_barrier barrier) {
    pthread_t threads[2];
    int wrong[2] = {0, 0};
    is(gc_barrier_switch(barrier), GC_OK, "a switch without heaps");
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, live_alone, &wrong[i]) != 0) abort();
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    is(wrong[0] + wrong[1], 0, "%s: two heaps on two threads do not disturb each other", gc_barrier_name(barrier));
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
}

static int warnings;
static void on_warning(void *host, const char *message) {
    (void)host, (void)message;
    warnings++;
}

/* A heap that was to be marked beside mutators is paced like any other while the barrier does not allow that. */
static void stands_against_marking(void) {
    gc_barrier before = gc_barrier_current();
    gc_barrier_switch(GC_BARRIER_BYTE_REGION);
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .warning = on_warning});
    ok(warnings == 1 && !gc__has_pause_goal(heap), "a barrier that shows too little stands against marking beside mutators");
    is(gc_barrier_switch(before), GC_OK, "until another one");
    gc_collect(heap, 2, 0);
    ok(gc__has_pause_goal(heap) && gc__marking_is_on(heap), "and after a full collection it is in force");
    gc_barrier_switch(GC_BARRIER_BYTE_REGION);
    gc_collect(heap, 2, 0);
    ok(!gc__has_pause_goal(heap), "until that one comes back");
    end();
    gc_barrier_switch(before);
}

static bool switches;
static void on_start(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (switches) gc_barrier_switch(GC_BARRIER_BYTE_REGION);
}

static void switched_as_marking_begins(void) {
    vector *old = new_vector(10);
    GC_ROOTS(gc, old);
    age(&old, 2);
    switches = true;
    begin_marking();
    switches = false;
    ok(gc_barrier_current() == GC_BARRIER_BYTE_REGION && !heap->marking, "a hook's barrier, which shows too little, has no marking begin");
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
    full();
    begin_marking();
    ok(heap->marking, "which begins beneath another one");
    finish();
}

int main(void) {
    told t = {0};
    gc_options options = observed(&t);
    options.nursery_bytes = (size_t)1 << 30;
    run(changes, options);
    t = (told){0};
    run(switching, observed(&t));
    run(switching, (gc_options){.barrier_changed = on_change, .host = &t, .non_moving = true});
    run(without_barrier, (gc_options){.non_generational = true});
    run(log_overflow, (gc_options){.nursery_bytes = (size_t)1 << 30});
    run(log_overflow, (gc_options){0});
    run(log_switched, (gc_options){0});
    run(log_gap, (gc_options){0});
    run(watch, (gc_options){.nursery_bytes = (size_t)1 << 30});
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1}); /* checkmark would look at all handles */
    switched_while_marking();
    end();
    run(goal_comes_and_goes, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1});
    run(switched_as_marking_begins, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .collection_start = on_start});
    stands_against_marking();
    two_heaps();
    two_threads(GC_BARRIER_OBJECT_LOGGING);
    two_threads(GC_BARRIER_POST_GROW);
    return done();
}
