/* A small arena, which several heaps exhaust and share. */
#define _GNU_SOURCE
#include "../tap.h"

#include <sched.h>

#define GC_ARENA_BYTES ((size_t)(GC_REGION_SHIFT < 20 ? 64 : 256) << 20)
#define GC_IMPLEMENTATION
#include "../fixture.h"

static size_t fill(gc_thread *thread, node **list) {
    size_t count = 0;
    for (node *n; (n = gc_new(thread, &node_type)) != NULL; *list = n, count++) gc_store(thread, &n->left, *list);
    return count;
}

/* A thread of the collector leaves a processor, and then another one, to which it may come back from a third. */
static void processors(void) {
    cpu_set_t all, now;
    gc__os_thread self;
    int last = -1;
    memset(&self, 0, sizeof self);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        ok(true, "# SKIP there is one processor only");
        return;
    }
    for (int i = 0, left = 0; left < 3 && i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all)) continue;
        gc__os_leave_processor(&self, last = i);
        sched_getaffinity(0, sizeof now, &now);
        ok(CPU_COUNT(&now) == CPU_COUNT(&all) - 1 && !CPU_ISSET(i, &now), "a thread leaves processor %d for all others", i);
        left++;
    }
    CPU_ZERO(&now);
    CPU_SET(last, &now);
    sched_setaffinity(0, sizeof now, &now);
    gc__os_leave_processor(&self, last);
    sched_getaffinity(0, sizeof now, &now);
    ok(CPU_COUNT(&now) == 1 && CPU_ISSET(last, &now), "if it has been given one only meanwhile, it stays there");
    sched_setaffinity(0, sizeof all, &all);
}

int main(void) {
    processors();
    gc_heap *heaps[2];
    gc_thread *threads[2];
    static node *lists[2];
    size_t counts[2];
    for (int h = 0; h < 2; h++) {
        heaps[h] = gc_heap_create(NULL), threads[h] = gc_thread_attach(heaps[h]);
        gc_roots_add(heaps[h], &lists[h], 1, 0);
    }
    counts[0] = fill(threads[0], &lists[0]);
    ok(counts[0] * sizeof(node) > GC_ARENA_BYTES / 4, "one heap fills the arena: %zu of %zu MiB", counts[0] * sizeof(node) >> 20, GC_ARENA_BYTES >> 20);
    is(gc_last_result(), GC_ERROR_MEMORY, "GC_ERROR_MEMORY");
    ok(strstr(gc_last_message(), "GC_ARENA_BYTES") != NULL, "a message that names the limit: %s", gc_last_message());
    counts[1] = fill(threads[1], &lists[1]);
    lists[0] = NULL;
    gc_collect(heaps[0], 2, 0);
    gc_collect(heaps[0], 2, 0);
    size_t more = 0;
    lists[1] = NULL;
    more = fill(threads[1], &lists[1]);
    ok(more > counts[1] && more * sizeof(node) > 8 * GC_REGION_BYTES, "what one heap frees, another gets: %zu regions after %zu",
       more * sizeof(node) / GC_REGION_BYTES, counts[1] * sizeof(node) / GC_REGION_BYTES);
    size_t length = 0;
    for (node *n = lists[1]; n; n = n->left) length++;
    is(length, more, "whole");
    gc_heap_destroy(heaps[1]);
    size_t again = fill(threads[0], &lists[0]);
    ok(again > counts[0] * 3 / 4, "as much as at first, when the other is gone: %zu, %zu", again, counts[0]);
    gc_heap_destroy(heaps[0]);
    int failures = 0;
    for (int i = 0; i < 200; i++) {
        begin(NULL);
        failures += !new_bytes(20 * GC_REGION_BYTES) || !new_node(1);
        end();
    }
    is(failures, 0, "destroyed heaps leave nothing behind");
    return done();
}
