/* GC_DEBUG 3: damage to the collector's own structures, planted on purpose, is reported by the next collection. */
#define _GNU_SOURCE
#undef GC_DEBUG
#define GC_DEBUG 3
#define GC_IMPLEMENTATION
#include "../fixture.h"

static const gc_finalizer finalizer = {.finalize = (void (*)(gc_thread *, void *))abort};
static char report[16384];
static void *kept[4]; /* a large object, and small ones of the generations 0 to 2 */
static gc_handle handles[3];

/* A heap with something in each structure. */
static void begin_full(void) {
    begin(&(gc_options){.skip_finalizers_at_end = true});
    gc_roots_add(heap, kept, 4, 0);
    for (int g = 2; g >= 0; g--) {
        kept[1 + g] = new_node((uint64_t)g);
        for (int i = 0; i < g; i++) gc_collect(heap, i, 0);
        gc_finalizer_register(gc, kept[1 + g], &finalizer);
    }
    gc_external_add(gc, kept[3], 1000);
    kept[0] = new_bytes(GC_REGION_BYTES);
    new_bytes(GC_REGION_BYTES);
    gc_collect(heap, 0, 0); /* makes some regions free */
    for (int i = 0; i < 3; i++) handles[i] = gc_handle_create(heap, GC_HANDLE_STRONG, kept[3]);
    gc_handle_destroy(heap, handles[2]);
}

static gc__region *region_of_kept(int i) { return gc__region_of((uintptr_t)kept[i]); }

static void free_count(void) { heap->free_count++; }
static void held_regions(void) { heap->held_regions--; }
static void lost_list(void) { heap->regions[2] = NULL; }
static void lost_region(void) {
    heap->free = heap->free->next;
    heap->free_count--, heap->held_regions--;
}
static void endless_list(void) { region_of_kept(3)->next = region_of_kept(3); }
static void wrong_generation(void) { region_of_kept(3)->generation = 1; }
static void wrong_age(void) { gc__tables.age[(uintptr_t)kept[3] >> GC_REGION_SHIFT] = 1; }
static void verdict_left(void) { GC__VERDICTS[(uintptr_t)kept[3] >> GC_REGION_SHIFT] = GC__MARK; }
static void wrong_top(void) { region_of_kept(3)->top = region_of_kept(3)->base - 8; }
static void part_lost(void) { region_of_kept(0)[1].rest_index = 7; }
static void live_bytes(void) { region_of_kept(3)->live_bytes += 8; }
static void large_bytes(void) { heap->large_bytes -= 8; }
static void external_bytes(void) { heap->owned_bytes++; }
static void external_count(void) { heap->collector->external[gc_object_generation(kept[3])].count++; }
static void cursor_astray(void) { heap->cycle->cursors[1] = region_of_kept(3); }
static void handle_cache_count(void) { gc__record(gc)->handle_caches[GC_HANDLE_STRONG].count--; }
static void handle_chain(void) { *(gc_word *)gc__record(gc)->handle_caches[GC_HANDLE_STRONG].first = 0x1000 | GC__HANDLE_FREE; }
static void handle_in_use(void) { *(gc_word *)gc__record(gc)->handle_caches[GC_HANDLE_STRONG].first = 0; }
static void handle_block(void) { heap->handles->segments->kinds[0] = GC_HANDLE_KINDS; }
static void handle_kind(void) { heap->handles->segments->kinds[GC__HANDLE_BLOCKS - 1] = GC_HANDLE_PINNED; }
static void handle_extra(void) { heap->handles->segments->extras[0] = (gc_word *)(void *)heap; }
static void finalizer_order(void) { heap->finalizers->start[1] = 1000; }
static void finalizer_object(void) { heap->finalizers->registered.words[0] = (uintptr_t)&heap; }
static void finalizer_young(void) {
    heap->finalizers->start[0] = heap->finalizers->start[1] = heap->finalizers->registered.count;
}
static void finalizer_room(void) { heap->finalizers->promised = 1000000; }

static void (*damage)(void);
static void body(void *unused) {
    (void)unused;
    alarm(20);
    begin_full();
    damage();
    gc_collect(heap, 0, 0);
}

static void reported(void (*planted)(void), const char *name, const char *words) {
    damage = planted;
    int status = tap_child(body, NULL, report, sizeof report);
    is(status, 256 + 6, "%s: the process aborts", name);
    has(report, words, "%s: the report says what is wrong", name);
    has(report, "check (start of collection", "%s: before the collection", name);
}
#define REPORTED(planted, words) reported(planted, #planted, words)

static void nothing(void) {}

int main(void) {
    damage = nothing;
    is(tap_child(body, NULL, report, sizeof report), 0, "without damage nothing is reported");
    is(strcmp(report, ""), 0, "nothing at all: %s", report);
    REPORTED(free_count, "regions in the free list");
    REPORTED(held_regions, "regions in the heap's lists");
    REPORTED(lost_list, "not in its generation's list");
    REPORTED(lost_region, "regions that are the heap's");
    REPORTED(endless_list, "a list of regions has no end");
    REPORTED(wrong_generation, "another generation's list");
    REPORTED(wrong_age, "a region's age");
    REPORTED(verdict_left, "a verdict outside the trace");
    REPORTED(wrong_top, "top or hole lies outside");
    REPORTED(part_lost, "a part of a large object");
    REPORTED(live_bytes, "bytes of generation 2");
    REPORTED(large_bytes, "bytes of large objects");
    REPORTED(external_bytes, "external bytes");
    REPORTED(external_count, "objects with external bytes");
    REPORTED(cursor_astray, "to search for holes");
    REPORTED(handle_cache_count, "longer than noted");
    REPORTED(handle_chain, "leads astray");
    REPORTED(handle_in_use, "leads to one in use");
    REPORTED(handle_block, "free blocks of handles");
    REPORTED(handle_kind, "leads to another kind");
    REPORTED(handle_extra, "extra words");
    REPORTED(finalizer_order, "out of order");
    REPORTED(finalizer_object, "no object of the heap");
    REPORTED(finalizer_young, "younger than its part");
    REPORTED(finalizer_room, "no room");
    return done();
}
