/* Marking beside mutators. There is no thread that marks, but where a test asks for it: tests do its steps themselves, so that
   they choose what happens between two of them. Every collection is verified, and checked by a second mark. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc.h"

#include "../fixture.h"
#include "cycle.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define TESTED {.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .nursery_bytes = 1 << 20}

static bool mark_some(size_t steps) { return gc__marker_work(heap, steps); }
static void mark_all(void) {
    size_t turns = 0;
    while ((gc__marker_work(heap, 100) || gc__marker_look_at_open_chunks(heap)) && turns < 20000) turns++;
    if (turns == 20000) ok(false, "the marking ends");
    heap->marker->done = true;
}

static bool is_marked(const void *object) {
    size_t index = gc__mark_index((uintptr_t)object);
    return heap->marker->marks[index >> 6] >> (index & 63) & 1;
}

/* Returns an entry of the store buffer that the marker has not taken, if it is written, or NULL. */
static const gc__store *logged_entry(size_t i) {
    const gc__store *entry = &heap->stores->entries[i], *chunk = entry - i % GC__STORES_CHUNK;
    return entry - chunk >= GC__CHUNK_FIRST && chunk[GC__CHUNK_EPOCH] == heap->stores->epoch && *entry ? entry : NULL;
}

/* Whether it is marked, or noted for the marker by a barrier. */
static bool is_known(const void *object) {
    bool noted = false;
    for (size_t i = 0; i < gc__stores_count(heap->stores); i++) {
        const gc__store *entry = logged_entry(i);
        uintptr_t place = entry ? *entry & ~(uintptr_t)7 : 0;
        const void *stored = place && *entry & GC__STORE_TAG ? *(void **)place : (void *)place;
        noted |= entry && stored == object;
    }
    return noted || is_marked(object);
}

/* The bits in the other planes of old regions. */
static size_t count_marked(void) {
    size_t count = 0;
    for (const gc__region *region = heap->regions[2]; region; region = region->next) {
        const uint64_t *marks = &gc__the_arena.marks[region->plane ^ 1][gc__mark_index(region->base) >> 6];
        for (size_t i = 0; i < gc__mark_words(region); i++) count += (size_t)__builtin_popcountll(marks[i]);
    }
    return count;
}

#include "holes.h"
#include "races.h"
#include "huge.h"

/* An old list, of which the marker finds only a node at each step; and an old vector, which it has scanned. */
#define LENGTH 2000
static vector *scanned;
static node *list;

static node *new_list(size_t length) {
    node *first = NULL;
    GC_ROOTS(gc, first);
    for (size_t i = 0; i < length; i++) {
        node *n = new_node(i);
        n->left = first;
        first = n;
    }
    return first;
}

#include "after_marking.h"
#include "on_time.h"

static node *last_of(node *n) {
    while (n->left) n = n->left;
    return n;
}

static void scene_open(void) {
    node *hidden = NULL;
    GC_ROOTS(gc, hidden);
    gc_roots_add(heap, &scanned, 1, 0);
    gc_roots_add(heap, &list, 1, 0);
    list = new_list(LENGTH);
    scanned = new_vector(8);
    hidden = new_node(4711);
    gc_store(gc, &last_of(list)->right, hidden);
    hidden = NULL;
    full();
    full();
}

static void scene_close(void) {
    scanned = NULL;
    list = NULL;
    gc_roots_remove(heap, &scanned);
    gc_roots_remove(heap, &list);
}

static void to_the_scene(void) {
    begin_marking();
    mark_some(100);
}

/* Forms of the barrier. */
typedef struct form {
    const char *name;
    void (*store)(void *slot, void *ref);
} form;

static const gc_barrier_functions *functions(void) { return gc_barrier_functions_of(GC_BARRIER_RANK_SUM); }
static void by_gc_store(void *slot, void *ref) { gc_store(gc, slot, ref); }
static void by_gc_store_value(void *slot, void *ref) { gc_store_value(gc, slot, (uintptr_t)ref); }
static void by_gc_store_in(void *slot, void *ref) { gc_store_in(gc, scanned, slot, ref); }
static void by_copy_refs(void *slot, void *ref) { gc_copy_refs(gc, slot, &ref, 1); }
static void by_copy_values(void *slot, void *ref) { gc_copy_values(gc, slot, &ref, 1); }
static void by_stores(void *slot, void *ref) {
    gc_stores_begin(gc, slot, 1, 0);
    memcpy(slot, &ref, 8);
    gc_stores_end(gc, slot, 1, 0);
}
static void by_function(void *slot, void *ref) { functions()->store(&gc__tables, slot, ref); }
static void by_checked(void *slot, void *ref) { functions()->checked(&gc__tables, slot, ref); }
static void by_after(void *slot, void *ref) {
    *(void **)slot = ref;
    functions()->after(&gc__tables, slot, ref);
}
static void by_after_checked(void *slot, void *ref) {
    *(void **)slot = ref;
    functions()->after_checked(&gc__tables, slot, ref);
}
static void by_assign(void *slot, void *ref) {
    void *to = slot;
    const void *from = &ref;
    functions()->assign(&gc__tables, &to, &from);
}
static void by_assign_checked(void *slot, void *ref) {
    void *to = slot;
    const void *from = &ref;
    functions()->assign_checked(&gc__tables, &to, &from);
}
static void by_copy(void *slot, void *ref) { functions()->copy(&gc__tables, slot, &ref, 1); }
static void by_copy_checked(void *slot, void *ref) { functions()->copy_checked(&gc__tables, slot, &ref, 1); }
static void by_store_c(void *slot, void *ref) { gc_barrier_store_c(GC_BARRIER_RANK_SUM, &gc__tables, slot, ref); }
static void by_checked_c(void *slot, void *ref) { gc_barrier_checked_c(GC_BARRIER_RANK_SUM, &gc__tables, slot, ref); }
static void by_after_c(void *slot, void *ref) {
    *(void **)slot = ref;
    gc_barrier_after_c(GC_BARRIER_RANK_SUM, &gc__tables, slot, ref);
}

static const form forms[] = {
    {"gc_store", by_gc_store},
    {"gc_store_value", by_gc_store_value},
    {"gc_store_in", by_gc_store_in},
    {"gc_copy_refs", by_copy_refs},
    {"gc_copy_values", by_copy_values},
    {"gc_stores_begin and gc_stores_end", by_stores},
    {"the function", by_function},
    {"the checked function", by_checked},
    {"after", by_after},
    {"after, checked", by_after_checked},
    {"assign", by_assign},
    {"assign, checked", by_assign_checked},
    {"copy", by_copy},
    {"copy, checked", by_copy_checked},
    {"the store in C", by_store_c},
    {"the checked store in C", by_checked_c},
    {"after, in C", by_after_c},
};
#define FORMS (sizeof forms / sizeof *forms)

/* What is stored into a scanned object is marked, even if what led to it is overwritten without a barrier. */
static void stored_reference(const form *by, bool dirty) {
    node *young = NULL;
    GC_ROOTS(gc, young);
    scene_open();
    to_the_scene();
    if (dirty) {
        young = new_node(3);
        gc_store(gc, &scanned->items[3], young);
    }
    node *holder = last_of(list), *hidden = holder->right;
    bool before = is_known(hidden) || !is_marked(scanned);
    by->store(&scanned->items[2], hidden);
    ok(!before && is_known(hidden), "%s: what it stores is marked or noted, in a %s card", by->name, dirty ? "dirty" : "clean");
    holder->right = NULL;
    mark_all();
    finish();
    is(((node *)scanned->items[2])->value, 4711, "%s: and survives", by->name);
    scene_close();
}

static void stored_references(void) {
    for (size_t i = 0; i < FORMS; i++) {
        stored_reference(&forms[i], false);
        stored_reference(&forms[i], true);
    }
}

static size_t filled_entries(void) {
    size_t count = 0;
    for (size_t i = 0; i < gc__stores_count(heap->stores); i++) count += logged_entry(i) != NULL;
    return count;
}

/* A thread has a piece of the log, which the marker has perhaps looked at: later stores are noted there, too, and a collection takes
   what the marker has not come to. */
static void note_in_a_piece(bool looked_at, bool collects) {
    scene_open();
    to_the_scene();
    gc_store(gc, &scanned->items[6], scanned);
    node *holder = last_of(list), *hidden = holder->right;
    gc__region *region = gc__region_of((uintptr_t)hidden);
    region->candidate = false; /* or else the long way is taken */
    gc__region_set_rank(region, gc__region_age(heap, region), true);
    if (looked_at) gc__marker_look_at_open_chunks(heap);
    ok(!is_known(hidden), "nothing has led to the object");
    gc_store(gc, &scanned->items[2], hidden);
    ok(is_known(hidden), "what is stored is noted in the piece");
    holder->right = NULL;
    if (collects) gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    mark_all();
    if (collects) is(filled_entries(), 0, "the collection, or the marker before it, has emptied the log");
    ok(is_marked(hidden), "and marked, %s", collects ? "after a collection" : "before one");
    finish();
    is(((node *)scanned->items[2])->value, 4711, "and survives");
    scene_close();
}

static void notes_in_pieces(void) {
    for (int i = 0; i < 4; i++) note_in_a_piece(i & 1, i & 2);
}

/* The marker takes a chunk, and reads its slots for good, when its thread has begun the next one: then the last store of the chunk
   has been made, too. */
static void whole_chunks(void) {
    scene_open();
    to_the_scene();
    node *holder = last_of(list), *hidden = holder->right;
    gc__region *region = gc__region_of((uintptr_t)hidden);
    region->candidate = false;
    gc__region_set_rank(region, gc__region_age(heap, region), true);
    holder->right = NULL;
    for (size_t i = GC__CHUNK_FIRST + 1; i < GC__STORES_CHUNK; i++) gc_store(gc, &scanned->items[6], scanned);
    gc_store(gc, &scanned->items[2], hidden);
    if (GC__CHUNKS_OWN) ok(!heap->stores->whole, "a full chunk is not whole before its thread has another one");
    gc_store(gc, &scanned->items[6], scanned);
    if (!GC__CHUNKS_OWN) gc_store(gc, &scanned->items[6], scanned);
    ok(heap->stores->whole && !is_marked(hidden), "then it is");
    while (gc__marker_take_chunks(heap, 1)) continue;
    ok(is_marked(hidden), "the marker reads its slots");
    mark_all();
    finish();
    is(((node *)scanned->items[2])->value, 4711, "and what is stored there survives");
    scene_close();
}

/* A thread that stores to objects of two heaps, one after the other, has pieces of both. */
static void in_two_heaps(void) {
    enum { STORES = 1000, MOST = STORES + STORES / 32 + GC__STORES_CHUNK };
    gc_options options = TESTED;
    gc_heap *other = gc_heap_create(&options);
    gc_thread *me = gc_thread_attach(other);
    vector *theirs = gc_new_array(me, &vector_type, 1);
    scene_open();
    to_the_scene();
    gc_roots_add(other, &theirs, 1, 0);
    gc_collect(other, 2, GC_COLLECT_BLOCKING);
    gc_collect(other, 2, GC_COLLECT_BLOCKING);
    gc_collect(other, 2, GC_COLLECT_NON_BLOCKING);
    ok(other->marking, "two heaps are being marked");
    for (int i = 0; i < STORES; i++) {
        gc_store(gc, &scanned->items[6], scanned);
        gc_store(me, &theirs->items[0], theirs);
    }
    ok(heap->stores->count <= MOST, "%zu entries were written in one", heap->stores->count);
    ok(other->stores->count <= MOST, "and %zu in the other one", other->stores->count);
    scene_close();
    gc_heap_destroy(other);
}

/* The old regions of two heaps look the same in the tables, but for their ages while one of them is being marked. */
static uint8_t entry_of(const void *object, size_t from) { return (gc__tables.age + from)[(uintptr_t)object >> GC_REGION_SHIFT]; }
static void ages_of_two_heaps(void) {
    gc_options options = TESTED;
    gc_heap *other = gc_heap_create(&options);
    gc_thread *me = gc_thread_attach(other);
    vector *theirs = gc_new_array(me, &vector_type, 1);
    gc_roots_add(other, &theirs, 1, 0);
    gc_collect(other, 2, GC_COLLECT_BLOCKING);
    gc_collect(other, 2, GC_COLLECT_BLOCKING);
    scene_open();
    uint8_t before = entry_of(theirs, 0);
    to_the_scene();
    ok(entry_of(scanned, 0) & GC__AGE_MARKING, "a heap is being marked");
    ok(entry_of(theirs, 0) == before, "and another one's old region has the age that it had");
    mark_all();
    finish();
    ok(entry_of(theirs, 0) == before && entry_of(theirs, GC_RANK_ENTRIES) == GC__IGNORE, "nor is that condemned with the others");
    ok(!(entry_of(scanned, 0) & GC__AGE_MARKING), "which have their age again");
    scene_close();
    gc_heap_destroy(other);
}

/* Threads that note little, and have chunks that they do not fill, do not keep the marker from what others note; and what
   they note later is not lost. */
enum { NOTING = 12 };
static int noted_by; /* how many have noted something: atomic */
static void note_once(gc_thread *me, void *slot, void *ref) {
    gc_store(me, slot, ref);
    __atomic_fetch_add(&noted_by, 1, __ATOMIC_SEQ_CST);
}
static void *logging(void *patient) {
    gc_thread *me = gc_thread_attach(heap);
    note_once(me, &scanned->items[6], scanned);
    if (patient) {
        {
            GC_IN_MODE(me, GC_MODE_PREEMPTIVE);
            while (__atomic_load_n(&noted_by, __ATOMIC_SEQ_CST) <= NOTING) sched_yield();
        }
        node *holder = last_of(list), *hidden = holder->right;
        holder->right = NULL;
        note_once(me, &scanned->items[7], hidden);
    }
    gc_thread_detach(me);
    return NULL;
}

static void await_noted(int count) {
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    while (__atomic_load_n(&noted_by, __ATOMIC_SEQ_CST) < count) sched_yield();
}

static void pieces_of_many(void) {
    if (!GC__CHUNKS_OWN) return;
    pthread_t threads[NOTING];
    noted_by = 0;
    scene_open();
    node *first = last_of(list)->right, *second = new_node(1);
    GC_ROOTS(gc, first, second);
    gc_store(gc, &first->right, second);
    full(), full();
    const node *hidden[] = {first, second};
    node *holder = first;
    first = second = NULL;
    to_the_scene();
    for (int i = 0; i < NOTING; i++) {
        pthread_create(&threads[i], NULL, logging, i ? NULL : threads);
        await_noted(i + 1);
    }
    gc_store(gc, &scanned->items[5], holder->right);
    holder->right = NULL;
    __atomic_fetch_add(&noted_by, 1, __ATOMIC_SEQ_CST);
    await_noted(NOTING + 2);
    mark_all();
    ok(is_marked(hidden[1]), "what a thread notes after others is marked");
    ok(is_marked(hidden[0]), "and what one of these notes later, too");
    for (int i = 0; i < NOTING; i++) {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(threads[i], NULL);
    }
    scene_close();
}

/* A collection takes what barriers have noted to where the marker looks later, or the last collection, for which words that are
   no objects are dropped. */
static void note_before_a_collection(bool marker_looks) {
    scene_open();
    to_the_scene();
    node *holder = last_of(list), *hidden = holder->right;
    void *word = (char *)hidden + 8;
    gc_store(gc, &scanned->items[2], hidden);
    holder->right = NULL;
    by_function(&scanned->items[5], word);
    scanned->items[5] = NULL;
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    is(heap->stores->count, 0, "a collection empties the buffer");
    if (marker_looks) mark_all();
    finish();
    is(((node *)scanned->items[2])->value, 4711, "and what it had survives");
    ok(!gc__mark_get((uintptr_t)word), "but what is no object is not taken for one");
    scene_close();
}

static void noted_before_a_collection(void) {
    note_before_a_collection(true);
    note_before_a_collection(false);
}

/* What is overwritten may be in a register, where the end finds it. */
static void overwritten_references(void) {
    for (size_t i = 0; i < FORMS; i++) {
        scene_open();
        to_the_scene();
        node *holder = last_of(list), *hidden = holder->right;
        GC_ROOTS(gc, hidden);
        forms[i].store(&holder->right, NULL);
        mark_all();
        finish();
        is(hidden->value, 4711, "%s: what it overwrites survives if a root has it", forms[i].name);
        scene_close();
    }
}

/* A program takes much out of an object to which the marker has not come, while that has found much elsewhere. The cycle does not
   end with that to trace, but meets what roots refer to once more, and the marker goes on from there. */
static void hide_much(bool in_handle) {
    enum { MANY = 20000 };
    const int stops = in_handle ? 2 : 3; /* the marker itself finds what is in a handle */
    vector *many = NULL;
    node *hidden = NULL;
    GC_ROOTS(gc, many, hidden);
    scene_open();
    many = hold_many(MANY);
    hidden = new_list(MANY);
    gc_store(gc, &last_of(list)->right, hidden);
    hidden = NULL;
    full(), full();
    to_the_scene();
    node *holder = last_of(list);
    gc_handle handle = gc_handle_create(heap, GC_HANDLE_STRONG, in_handle ? holder->right : NULL);
    if (!in_handle) hidden = holder->right;
    gc_store(gc, &holder->right, NULL);
    for (int i = 0; i < stops; i++) {
        while (gc__marker_turn(heap, 100)) continue;
        const node *last = last_of(in_handle ? gc_handle_get(handle) : hidden);
        is(is_marked(last), i > 0 || in_handle, "what is hidden is marked before stop %d", i);
        if (!i) __atomic_store_n(&heap->threads->asked, true, __ATOMIC_RELAXED);
        remark();
        is(heap->marking, i < stops - 1, "the last stop of %d ends the cycle", stops);
        ok(!heap->threads->asked, "threads are not asked for a stop after one");
    }
    is(last_of(in_handle ? gc_handle_get(handle) : hidden)->value, 0, "all of it survives");
    gc_handle_destroy(heap, handle);
    scene_close();
}

static void much_is_hidden(void) {
    hide_much(false);
    hide_much(true);
}

/* What the marker finds may be new each time, so only some stops of a cycle do not end it. */
static void met_at_most(void) {
    int stops = 0;
    scene_open();
    begin_marking();
    for (; heap->marking && stops < 10; stops++) {
        mark_all();
        heap->marker->marked_bytes += 1 << 20;
        remark();
    }
    is(stops, GC__MET_MOST + 1, "a cycle ends after a few stops");
    scene_close();
}

static bool card_is_dirty(const void *slot) { return gc__card_is_dirty((uintptr_t)slot); }

/* Whether the next collection traces from the slot. */
static bool is_remembered(const void *slot) {
    bool found = card_is_dirty(slot);
    for (size_t i = 0; i < gc__stores_count(heap->stores); i++)
        found |= heap->stores->entries[i] - (uintptr_t)slot - 1 < GC__STORE_TAG;
    return found;
}

static void cards_are_as_at_other_times(void) {
    node *young = NULL;
    GC_ROOTS(gc, young);
    scene_open();
    to_the_scene();
    gc_store(gc, &scanned->items[1], list);
    ok(!is_remembered(&scanned->items[1]) || gc__is_candidate((uintptr_t)list), "a slot of an old object to which an old reference is stored is not remembered");
    young = new_node(5);
    gc_store(gc, &list->right, young);
    ok(is_remembered(&list->right), "that of a young one is");
    young = NULL;
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    is(list->right->value, 5, "which survives");
    ok(gc_object_generation(list->right) == 2 && !is_remembered(&list->right), "and not when it is old");
    mark_all();
    finish();
    is(list->right->value, 5, "it survives the end of the marking, too");
    scene_close();
}

/* Objects that become old while the marker works are not scanned by it. What has led to them, or from them to others, is gone
   when it could find them. */
static void promoted(bool at_once) {
    node *young = NULL;
    GC_ROOTS(gc, young);
    scene_open();
    to_the_scene();
    young = new_node(1);
    gc_store(gc, &young->left, last_of(list)->right);
    gc_store(gc, &scanned->items[0], young);
    last_of(list)->right = NULL;
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    is(gc_object_generation(young), 2, "an object becomes old");
    ok(is_marked(young), "and is marked at once");
    young = NULL;
    if (!at_once) mark_all();
    ok(at_once || is_marked(((node *)scanned->items[0])->left), "what it refers to is marked");
    finish();
    is(((node *)scanned->items[0])->left->value, 4711, "and survives");
    scene_close();
}

static void promoted_objects(void) {
    promoted(false);
    promoted(true);
}

/* Objects that become old where they are: a large one, and pinned ones. */
static void promoted_in_place(void) {
    vector *large = NULL;
    node *n = NULL;
    GC_ROOTS(gc, large, n);
    scene_open();
    to_the_scene();
    large = new_vector(GC_LARGE_BYTES / 4);
    n = new_list(40);
    gc_handle pin = gc_handle_create(heap, GC_HANDLE_PINNED, n);
    gc_store(gc, &large->items[large->header.length - 1], n);
    gc_store(gc, &large->items[3], last_of(list)->right);
    gc_store(gc, &scanned->items[0], large);
    last_of(list)->right = NULL;
    n = NULL, large = NULL;
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    large = scanned->items[0];
    n = gc_handle_get(pin);
    ok(gc_object_generation(large) == 2 && is_marked(large), "a large object becomes old, and is marked at once");
    ok(gc_object_generation(n) == 2 && is_marked(n), "so is a pinned one");
    n = NULL, large = NULL;
    gc_handle_destroy(heap, pin);
    mark_all();
    finish();
    large = scanned->items[0];
    is(((node *)large->items[3])->value, 4711, "what a large object refers to survives, with it");
    size_t length = 0;
    for (n = large->items[large->header.length - 1]; n; n = n->left) length++;
    is(length, 40, "and a list that was pinned");
    full();
    scene_close();
}

static void garbage_is_freed(void) {
    node *n = NULL;
    GC_ROOTS(gc, n);
    scene_open();
    size_t before = stats().live_bytes;
    n = new_list(20000);
    full();
    full();
    n = NULL;
    to_the_scene();
    mark_all();
    finish();
    ok(stats().live_bytes <= before + 100, "what was dead when the marking began is freed: %zu bytes live of %zu", stats().live_bytes,
       before);
    gc__stale_clear(heap, SIZE_MAX);
    is(count_marked(), 0, "no former mark is left when the marker has cleared them");
    is(stats().concurrent_finished, 1, "one cycle was finished");
    is(stats().concurrent_lost, 0, "in time");
    scene_close();
}

/* The marker may be anywhere when the last collection comes. */
static void ended_early(void) {
    for (size_t steps = 0; steps < 3000; steps += 171) {
        scene_open();
        begin_marking();
        uint64_t before = stats().concurrent_marked_bytes;
        mark_some(steps);
        gc_store(gc, &scanned->items[0], last_of(list)->right);
        finish();
        uint64_t marked = stats().concurrent_marked_bytes - before;
        bool none = !steps && !heap->options.test.scarce_memory;
        ok(none ? !marked : marked <= stats().live_bytes && (marked || !steps), "what the marker has marked in %zu steps is counted: %llu bytes",
           steps, (unsigned long long)marked);
        size_t length = 0;
        for (const node *n = list; n; n = n->left) length++;
        gc__stale_clear(heap, SIZE_MAX);
        ok(length == LENGTH && ((node *)scanned->items[0])->value == 4711 && count_marked() == 0, "the end comes after %zu steps", steps);
        scene_close();
    }
}

static void planes_are_counted(void) {
    uint64_t *second = gc__the_arena.marks[1];
    scene_open();
    begin_marking();
    mark_all();
    finish();
    size_t both = gc__bytes_charged(heap), used = heap->held_regions - heap->free_count - heap->large_regions;
    gc__the_arena.marks[1] = NULL;
    is(both - gc__bytes_charged(heap), used * GC__MARK_BYTES, "the second mark plane of each region counts towards the limit");
    gc__the_arena.marks[1] = second;
    scene_close();
}

static void given_up(void) {
    scene_open();
    to_the_scene();
    full();
    is(count_marked(), 0, "a full collection that stops the world leaves no mark");
    ok(!heap->marking, "and no cycle");
    node *n = list;
    gc_store(gc, &scanned->items[3], n);
    is(stats().concurrent_finished, 0, "which was not finished");
    to_the_scene();
    compact();
    is(count_marked(), 0, "nor does one that compacts");
    begin_marking();
    mark_all();
    finish();
    is(((node *)scanned->items[3])->value, LENGTH - 1, "the next cycle is like the first");
    scene_close();
}

static void destroyed_meanwhile(void) {
    begin_verified((gc_options)TESTED);
    scene_open();
    to_the_scene();
    scanned = NULL, list = NULL;
    end();
    run(garbage_is_freed, (gc_options)TESTED);
}

/* Mutators that never stop noting what is marked already do not keep the marker from its other lists, nor from an end. */
static void noted_all_the_time(void) {
    size_t steps = 0;
    scene_open();
    to_the_scene();
    gc_store(gc, &scanned->items[6], last_of(list)->right);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT); /* takes that from the log */
    ok(heap->marker->seen.count > 0, "there is more than the log");
    for (bool more = true; more && steps < 4 * LENGTH; steps++) {
        for (int i = 0; i < 3; i++) gc_store(gc, &scanned->items[6], scanned);
        more = gc__marker_work(heap, 1);
    }
    ok(steps < 4 * LENGTH, "the marking is done after %zu steps", steps);
    scene_close();
}

/* Where the limit is low, barriers look sooner at what they note, since the log counts towards the limit. */
static void log_of_a_low_limit(void) {
    const size_t most = GC__BLIND_LEAST + 2 * GC__STORES_CHUNK;
    scene_open();
    to_the_scene();
    for (size_t i = 0; i < 3 * most; i++) gc_store(gc, &scanned->items[6], scanned);
    ok(heap->stores->count <= most, "%zu entries were written", heap->stores->count);
    scene_close();
}

/* More objects than barriers can note are found by walking their regions. Nothing else leads to them: all that the heap's roots lead
   to has been scanned. */
static void log_is_full(void) {
    const size_t count = GC__STORES_MOST + 5000;
    vector *many = NULL, *to = NULL;
    GC_ROOTS(gc, many, to);
    scene_open();
    many = new_vector(count);
    for (size_t i = 0; i < count; i++) {
        node *n = new_node(i);
        gc_store(gc, &many->items[i], n);
        n = new_node(i + 1);
        gc_store(gc, &((node *)many->items[i])->left, n);
    }
    to = new_vector(count);
    gc_store(gc, &scanned->items[0], to);
    full();
    full();
    gc_handle hidden = gc_handle_create(heap, GC_HANDLE_WEAK, many);
    many = NULL;
    to = NULL;
    begin_marking();
    mark_all();
    many = gc_handle_get(hidden);
    to = scanned->items[0];
    gc_copy_refs(gc, to->items, many->items, count);
    many = NULL;
    ok(heap->stores->count >= GC__STORES_MOST, "more objects were stored than the log has entries");
    mark_all();
    finish();
    size_t wrong = 0;
    to = scanned->items[0];
    for (size_t i = 0; i < count; i++) wrong += ((node *)to->items[i])->left->value != i + 1;
    is(wrong, 0, "all of them survive, and what they refer to");
    size_t live = stats().live_bytes;
    full();
    ok(live >= stats().live_bytes && live <= stats().live_bytes + 100, "and were counted");
    gc_handle_destroy(heap, hidden);
    scene_close();
}

/* Weak handles: what is read from one may be stored anywhere. */
static void weak_handles(void) {
    node *n = NULL;
    GC_ROOTS(gc, n);
    scene_open();
    n = new_node(9);
    full();
    full();
    gc_handle loaded = gc_handle_create(heap, GC_HANDLE_WEAK, n), left = gc_handle_create(heap, GC_HANDLE_WEAK, n);
    n = NULL;
    to_the_scene();
    mark_all();
    gc_store(gc, &scanned->items[4], gc_handle_get(loaded));
    mark_all();
    finish();
    ok(gc_handle_get(loaded) && gc_handle_get(loaded) == scanned->items[4], "an object that a weak handle alone led to survives in a scanned object");
    gc_store(gc, &scanned->items[4], NULL);
    begin_marking();
    mark_all();
    n = gc_handle_get(left);
    finish();
    ok(gc_handle_get(left) == n && n && n->value == 9, "or in a root");
    n = NULL;
    begin_marking();
    mark_all();
    finish();
    ok(!gc_handle_get(left) && !gc_handle_get(loaded), "otherwise its handles are cleared");
    gc_handle_destroy(heap, left);
    gc_handle_destroy(heap, loaded);
    scene_close();
}

static int finalized;
static void on_finalize(gc_thread *thread, void *object) {
    (void)thread;
    finalized += (int)((node *)object)->value;
}
static const gc_finalizer finalizer = {.finalize = on_finalize};

static void finalizers_and_dependents(void) {
    node *key = NULL, *other = NULL;
    GC_ROOTS(gc, key, other);
    scene_open();
    finalized = 0;
    key = new_node(1);
    other = new_node(7);
    gc_handle dependent = gc_handle_create_dependent(heap, key, other);
    gc_finalizer_register(gc, other, &finalizer);
    other = new_node(100);
    gc_finalizer_register(gc, other, &finalizer);
    other = NULL;
    full();
    gc_finalizer_run(gc, SIZE_MAX);
    finalized = 0;
    full();
    to_the_scene();
    mark_all();
    finish();
    gc_finalizer_run(gc, SIZE_MAX);
    is(finalized, 0, "a dependent lives with its key");
    is(((node *)gc_handle_dependent(dependent))->value, 7, "and is found");
    key = NULL;
    begin_marking();
    mark_all();
    finish();
    gc_finalizer_run(gc, SIZE_MAX);
    is(finalized, 7, "it is finalized when that is dead");
    gc_handle_destroy(heap, dependent);
    scene_close();
}

/* Values that are moved within an array which is being marked. */
static void moved_values(void) {
    enum { MOVED = 30 };
    vector *all = NULL;
    node *one = NULL;
    size_t right = 0;
    GC_ROOTS(gc, all, one);
    scene_open();
    all = new_vector(MOVED + 1);
    for (size_t i = 0; i < MOVED; i++) gc_store(gc, &all->items[i], one = new_node(i));
    full();
    full();
    begin_marking();
    ok(gc__is_marking((uintptr_t)all), "an array is being marked");
    gc_copy_values(gc, &all->items[1], &all->items[0], MOVED);
    for (size_t i = 0; i < MOVED; i++) right += ((node *)all->items[i + 1])->value == i;
    gc_copy_values(gc, &all->items[0], &all->items[1], MOVED);
    for (size_t i = 0; i < MOVED; i++) right += ((node *)all->items[i])->value == i;
    is(right, 2 * MOVED, "its values move up and down");
    finish();
    scene_close();
}

/* Handles that the marker has looked at are not looked at by the last collection, unless they were set since. */
enum { SETTLING = 256 };

static void mark_and_settle(void) {
    for (int turns = 0; turns < 10000 && gc__marker_turn(heap, 100); turns++) continue;
}

static size_t settled_clumps(gc_handle *handles) {
    size_t count = 0;
    for (size_t i = 0; i < SETTLING; i += GC__HANDLE_CLUMP) {
        uintptr_t place = (uintptr_t)gc__handle_at(handles[i]);
        const gc__handle_segment *segment = gc__handle_segment_of(place);
        if (place) count += segment->precleaned[gc__handle_index(segment, place) / GC__HANDLE_CLUMP] == GC__ALL_PRECLEANED;
    }
    return count;
}

/* Puts objects before a list, so that the region of what was allocated last is dense, and stays. */
static node *padded(node *first) {
    GC_ROOTS(gc, first);
    for (size_t k = 0; k < 50; k++) {
        node *next = new_node(k);
        gc_store(gc, &next->right, first);
        first = next;
    }
    return first;
}

static void settled_handles(void) {
    static gc_handle handles[GC_HANDLE_KINDS][SETTLING];
    vector *many = NULL;
    node *others = NULL;
    gc_handle lost, found;
    GC_ROOTS(gc, many, others);
    scene_open();
    others = new_list(10000);
    many = new_vector(SETTLING);
    for (size_t i = 0; i < SETTLING; i++) {
        gc_store(gc, &many->items[i], new_node(i));
        others = padded(others);
    }
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        for (size_t i = 0; i < SETTLING; i++) {
            void *other = kind == GC_HANDLE_DEPENDENT ? new_node(5000 + i) : NULL;
            handles[kind][i] = other ? gc_handle_create_dependent(heap, many->items[i], other) : gc_handle_create(heap, kind, many->items[i]);
            if (other) others = padded(others);
        }
    lost = gc_handle_create(heap, GC_HANDLE_WEAK, new_node(7));
    found = gc_handle_create(heap, GC_HANDLE_STRONG, gc_handle_get(lost));
    full();
    full();
    gc_handle_set(found, NULL); /* which leaves an old object that no cycle marks */
    begin_marking();
    mark_and_settle();
    const gc_handle_kind precleaning[] = {GC_HANDLE_STRONG, GC_HANDLE_WEAK, GC_HANDLE_WEAK_LONG, GC_HANDLE_DEPENDENT};
    for (size_t i = 0; i < 4; i++)
        ok(settled_clumps(handles[precleaning[i]]) >= SETTLING / GC__HANDLE_CLUMP / 2, "%zu clumps of kind %d are settled", settled_clumps(handles[precleaning[i]]), precleaning[i]);
    ok(is_marked(gc_handle_dependent(handles[GC_HANDLE_DEPENDENT][9])), "a dependent is marked beside the program");
    gc_handle_set(handles[GC_HANDLE_WEAK][40], gc_handle_get(lost));
    gc_handle_set_dependent(handles[GC_HANDLE_DEPENDENT][40], gc_handle_get(lost));
    gc_handle_set(handles[GC_HANDLE_WEAK_LONG][100], new_node(8));
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    finish();
    ok(gc_handle_get(lost) == gc_handle_dependent(handles[GC_HANDLE_DEPENDENT][40]) && gc_handle_get(lost), "what became a dependent lives");
    ok(gc_handle_get(handles[GC_HANDLE_WEAK][40]) == gc_handle_get(lost), "and its weak handles");
    ok(!gc_handle_get(handles[GC_HANDLE_WEAK_LONG][100]), "a handle that was set to an object that died is cleared");
    gc_handle_set_dependent(handles[GC_HANDLE_DEPENDENT][40], NULL);
    begin_marking();
    mark_and_settle();
    gc_handle_set(handles[GC_HANDLE_WEAK_LONG][200], gc_handle_get(lost));
    gc_collect(heap, 1, 0);
    finish();
    ok(!gc_handle_get(lost) && !gc_handle_get(handles[GC_HANDLE_WEAK][40]), "a weak handle of an object that was not marked is cleared");
    ok(!gc_handle_get(handles[GC_HANDLE_WEAK_LONG][200]), "though it is among settled ones, and was set late");
    size_t right = 0;
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        for (size_t i = 0; i < SETTLING; i++) {
            right += gc_handle_get(handles[kind][i]) == many->items[i];
            gc_handle_destroy(heap, handles[kind][i]);
        }
    is(right, GC_HANDLE_KINDS * SETTLING - 3, "all others are as they were");
    gc_handle_destroy(heap, lost), gc_handle_destroy(heap, found);
    scene_close();
}

/* How many passes the marker makes over handles, or slices of tables. */
static void passes(void) {
    gc__preclean all = {0};
    gc__preclean_begin(&all, 2);
    ok(!gc__preclean_is_due(&all), "no pass begins by itself");
    gc__preclean_allow(&all);
    ok(gc__preclean_is_due(&all) && gc__preclean_goes_on(&all, false) && gc__preclean_is_due(&all), "a pass goes on until it is over");
    all.stored = GC__PRECLEAN_FEW + 1;
    ok(gc__preclean_goes_on(&all, true) && gc__preclean_is_due(&all), "another one follows if there were many stores");
    all.stored = GC__PRECLEAN_FEW + 1;
    ok(!gc__preclean_goes_on(&all, true) && !gc__preclean_is_due(&all), "but not for ever");
    gc__preclean_allow(&all);
    ok(gc__preclean_is_due(&all), "a collection allows one more");
    gc__preclean_allow(&all);
    ok(!gc__preclean_goes_on(&all, true), "though not two, while that is under way");
}

#include "handles_while_marking.h"
#include "unrun_finalizers.h"
#include "finalizable_garbage.h"
#include "tables.h"

/* A weak table with a buffer of its own. */
typedef struct table {
    gc_object header;
    void **keys;
    size_t count;
} table;

static void trace_table(void *object, gc_visitor *visitor) {
    table *t = object;
    gc_weak_entries entries = {.kind = GC_WEAK_REFS, .keys = t->keys, .count = t->count, .flags = GC_SLOT_OWNED};
    gc_visit_weak(visitor, &entries);
}
static const gc_type table_type = {.bytes = sizeof(table), .name = "table", .trace = trace_table};

/* Tables that wait anew with each slot in which collections meet a leaving object are counted, and called, once. */
static void waits_once(void) {
    void *keys[4] = {NULL, NULL, NULL, NULL};
    table *t = NULL;
    GC_ROOTS(gc, t);
    scene_open();
    t = gc_new(gc, &table_type);
    t->keys = keys;
    t->count = 4;
    age(&t, 2);
    to_the_scene();
    uint64_t before = stats().concurrent_waited;
    for (int i = 0; i < 5; i++) {
        node *young = new_node(50);
        gc_store_in(gc, t, &keys[0], young);
        gc_collect(heap, i % 2, 0);
        for (int k = 0; k < 100; k++) gc__shade_wait(heap, (uintptr_t)t);
        ok(heap->options.test.scarce_memory || heap->marker->waiting.count == (i ? 2 : 1), "however often, and with others in between, it is listed once");
        gc__shade_wait(heap, (uintptr_t)scanned);
    }
    mark_all();
    finish();
    uint64_t waited = stats().concurrent_waited - before;
    ok(waited == 2 || (waited == 0 && heap->options.test.scarce_memory), "%llu objects wait for the last pause", (unsigned long long)waited);
    t = NULL;
    full();
    scene_close();
}

static void weak_tables(void) {
    void *keys[4] = {NULL, NULL, NULL, NULL};
    table *t = NULL;
    GC_ROOTS(gc, t);
    scene_open();
    for (int old = 0; old < 2; old++) {
        t = gc_new(gc, &table_type);
        t->keys = keys;
        t->count = 4;
        if (old) age(&t, 2);
        node *kept = new_node(40), *dropped = NULL;
        gc_store_in(gc, t, &keys[0], kept);
        gc_store(gc, &scanned->items[0], kept);
        dropped = new_node(41);
        gc_store_in(gc, t, &keys[1], dropped);
        dropped = NULL;
        gc_store_in(gc, t, &keys[2], scanned);
        to_the_scene();
        age(&t, 2);
        mark_all();
        finish();
        ok(keys[0] == scanned->items[0] && !keys[1] && keys[2] == scanned,
           "entries of a weak table that %s are cleared where their objects are dead", old ? "was old" : "becomes old meanwhile");
        ok(stats().concurrent_waited > 0, "tables wait for the last pause");
        t = NULL;
        memset(keys, 0, sizeof keys);
        full();
    }
    scene_close();
}

/* The same, where the object holds the description of its entries. */
typedef struct described {
    gc_object header;
    gc_weak_entries entries;
} described;

static void trace_described(void *object, gc_visitor *visitor) { gc_visit_weak(visitor, &((described *)object)->entries); }
static const gc_type described_type = {.bytes = sizeof(described), .name = "described", .trace = trace_described};

static void described_tables(void) {
    void *keys[2] = {NULL, NULL};
    described *t = NULL;
    GC_ROOTS(gc, t);
    scene_open();
    t = gc_new(gc, &described_type);
    t->entries = (gc_weak_entries){.kind = GC_WEAK_REFS, .keys = keys, .count = 2, .flags = GC_SLOT_OWNED};
    gc_store_in(gc, t, &keys[0], new_node(41));
    gc_store_in(gc, t, &keys[1], scanned);
    age(&t, 2);
    begin_marking();
    mark_all();
    finish();
    ok(!keys[0] && keys[1] == scanned, "a table that holds the description of its entries is looked at in the last pause");
    t = NULL;
    scene_close();
}

/* Tables that become old while objects are marked: what they refer to was old before, and is dead. */
static const gc_type dying_names_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);
static void promoted_tables(void) {
    void *keys[1] = {NULL};
    node *dead = NULL, *before = NULL, *behind = NULL; /* so that its region is dense, and stays */
    described *t = NULL;
    vector *names = NULL, *holder = NULL;
    GC_ROOTS(gc, dead, before, behind, holder);
    scene_open();
    before = new_list(20000);
    dead = new_node(43);
    behind = new_list(20000);
    age(&dead, 2), age(&behind, 2);
    for (int i = 0; i < 4; i++) new_list(20000), gc_collect(heap, 0, 0); /* so that objects are born young */
    holder = new_vector(2);
    names = gc_new_array(gc, &dying_names_type, 2);
    gc_store(gc, &holder->items[0], names);
    gc_store(gc, &names->items[0], dead);
    t = gc_new(gc, &described_type);
    gc_store(gc, &holder->items[1], t);
    t->entries = (gc_weak_entries){.kind = GC_WEAK_REFS, .keys = keys, .count = 1, .flags = GC_SLOT_OWNED};
    gc_store_in(gc, t, &keys[0], dead);
    dead = NULL;
    is(gc_object_generation(t), 0, "young tables");
    begin_marking();
    while (heap->marking && gc_object_generation(holder->items[1]) < 2) gc_collect(heap, 1, 0);
    ok(heap->marking && gc_object_generation(holder->items[0]) == 2, "tables become old during a marking");
    mark_all();
    finish();
    names = holder->items[0];
    ok(!keys[0] && !gc_load_weak(gc, &names->items[0]), "and are looked at in the last pause");
    holder = NULL;
    scene_close();
}

/* One that gets its slots outside of the heap, and stores into them, when the marker has called its trace function. */
typedef struct growing {
    gc_object header;
    void **slots;
    size_t count;
} growing;

static void trace_growing(void *object, gc_visitor *visitor) {
    const growing *g = object;
    if (g->count) gc_visit(visitor, g->slots, g->count - 1, GC_SLOT_OWNED);
    if (g->count) gc_visit_weak(visitor, &(gc_weak_entries){.keys = g->slots + g->count - 1, .count = 1, .flags = GC_SLOT_OWNED});
}
static const gc_type growing_type = {.bytes = sizeof(growing), .name = "growing", .trace = trace_growing};

static void growing_objects(bool weak) {
    void *slots[2] = {NULL, NULL};
    growing *g = NULL;
    node *before = NULL, *behind = NULL; /* so that its region is dense, and stays */
    GC_ROOTS(gc, g, before, behind);
    scene_open();
    before = new_list(20000);
    g = gc_new(gc, &growing_type);
    behind = new_list(20000);
    full();
    full();
    begin_marking();
    mark_all();
    bool leaves = gc__is_candidate((uintptr_t)last_of(list)) && !gc__is_candidate((uintptr_t)g);
    ok(leaves || GC_REGION_SHIFT < 18, leaves ? "a region leaves, and another one stays" : "# SKIP the list fills small regions, which stay");
    g->slots = slots;
    g->count = 2;
    gc_store_in(gc, g, &slots[weak], last_of(list));
    gc_collect(heap, 0, 0);
    finish();
    ok(slots[weak] == last_of(list), "%s slots that an object has got beside the marking are updated", weak ? "weak" : "strong");
    g = NULL;
    scene_close();
}

static void strongly_growing_objects(void) { growing_objects(false); }
static void weakly_growing_objects(void) { growing_objects(true); }

/* Objects with trace functions, more than there is room to note, some of which become old meanwhile. */
typedef struct traced {
    gc_object header;
    void *next, *other;
} traced;

static void trace_traced(void *object, gc_visitor *visitor) { gc_visit(visitor, &((traced *)object)->next, 2, 0); }
static const gc_type traced_type = {.bytes = sizeof(traced), .name = "traced", .trace = trace_traced};

static traced *new_traced(size_t length) {
    traced *first = NULL;
    node *other = NULL;
    GC_ROOTS(gc, first, other);
    for (size_t i = 0; i < length; i++) {
        other = new_node(i);
        traced *t = gc_new(gc, &traced_type);
        gc_store(gc, &t->other, other);
        gc_store(gc, &t->next, first);
        first = t;
    }
    return first;
}

/* One that a collection meets while it is white, and that only another one leads to, whose trace function waits for the
   last pause. */
static void met_while_white(void) {
    void *slots[3] = {NULL, NULL, NULL};
    growing *owner = NULL;
    traced *leads = NULL;
    node *lost = NULL;
    GC_ROOTS(gc, owner, leads, lost);
    scene_open();
    owner = gc_new(gc, &growing_type);
    leads = new_traced(1);
    gc_store(gc, &leads->next, owner);
    gc_store(gc, &scanned->items[0], lost = new_node(2));
    gc_finalizer_register(gc, lost, &counting); /* so that there is a remark */
    full();
    full();
    owner->slots = slots;
    owner->count = 3;
    lost = last_of(list)->right;
    gc_handle h = gc_handle_create(heap, GC_HANDLE_WEAK, lost);
    gc_store_in(gc, owner, &slots[0], lost);
    gc_store(gc, &last_of(list)->right, NULL);
    full();
    owner = NULL, lost = NULL;
    gc_store(gc, &scanned->items[0], NULL);
    begin_marking();
    bool leaves = gc__is_candidate((uintptr_t)slots[0]);
    node *young = new_node(1);
    gc_store_in(gc, leads->next, &slots[1], young);
    gc_collect(heap, 0, 0);
    const gc__words *waiting = &heap->marker->waiting;
    ok(!leaves || (waiting->count && waiting->words[0] == (uintptr_t)leads->next && !is_marked(leads->next)),
       "a white object waits%s", leaves ? "" : ": no region leaves");
    mark_and_settle_all();
    remark();
    ok(heap->marking && slots[0] && gc_handle_get(h) == slots[0], "and what its slots refer to lives when it is marked in the last pause");
    finish();
    gc_handle_destroy(heap, h);
    gc_finalizer_run(gc, SIZE_MAX);
    leads = NULL;
    scene_close();
}

/* A table whose entries are weak when it is marked, and strong when its slices are looked at, the first time or again. One
   entry lies in two slices. */
typedef struct changing {
    gc_object header;
    void *pairs[16];
    bool strong;
} changing;

static void trace_changing(void *object, gc_visitor *visitor) {
    changing *c = object;
    gc_weak_entries entries = {.kind = GC_WEAK_PAIRS, .keys = &c->pairs[0], .values = &c->pairs[1], .count = 8, .entry_bytes = 16};
    if (c->strong)
        gc_visit(visitor, c->pairs, 16, 0);
    else
        gc_visit_weak(visitor, &entries);
}
static const gc_type changing_type = {.bytes = sizeof(changing), .name = "changing", .trace = trace_changing};

static void no_longer_weak_in(size_t first, bool late) {
    changing *c = NULL;
    vector *keep = NULL;
    node *before = NULL, *behind = NULL; /* so that its region is dense, and stays */
    GC_ROOTS(gc, c, keep, before, behind);
    scene_open();
    before = new_list(20000);
    c = gc_new(gc, &changing_type);
    behind = new_list(20000);
    keep = new_vector(16);
    for (size_t i = first; i < 16; i++) {
        node *n = new_node(i);
        gc_store(gc, &keep->items[i], n);
        gc_store(gc, &c->pairs[i], n);
    }
    full();
    full();
    keep = NULL;
    begin_marking();
    while (!heap->marker->tables.count && gc__marker_work(heap, 1)) continue;
    ok(heap->marker->tables.count && !is_marked(c->pairs[15]), "a table is weak when it is marked");
    if (late) mark_and_settle_all();
    c->strong = true;
    mark_and_settle_all();
    finish();
    size_t wrong = 0;
    for (size_t i = first; i < 16; i++) wrong += gc_heap_object_at(heap, c->pairs[i]) != c->pairs[i];
    is(wrong, 0, "when it has become strong, its objects live");
    c = NULL;
    scene_close();
}

static void no_longer_weak(void) {
    for (size_t i = 0; i < 4; i++) no_longer_weak_in(i % 2 * 15, i / 2);
}

/* Keys and values apart, weak when a collection meets one that leaves, strong before and after. */
typedef struct spread {
    gc_object header;
    void *keys[32], *values[32];
    bool weak;
} spread;

static void trace_spread(void *object, gc_visitor *visitor) {
    spread *a = object;
    gc_weak_entries entries = {.kind = GC_WEAK_PAIRS, .keys = a->keys, .values = a->values, .count = 32, .entry_bytes = 8};
    if (a->weak)
        gc_visit_weak(visitor, &entries);
    else
        gc_visit(visitor, a->keys, 64, 0);
}
static const gc_type spread_type = {.bytes = sizeof(spread), .name = "spread", .trace = trace_spread};

static void weak_for_a_while(void) {
    spread *a = NULL;
    node *before = NULL, *behind = NULL; /* so that its region is dense, and stays */
    GC_ROOTS(gc, a, before, behind);
    scene_open();
    before = new_list(20000);
    a = gc_new(gc, &spread_type);
    behind = new_list(20000);
    full();
    full();
    begin_marking();
    mark_all();
    bool leaves = gc__is_candidate((uintptr_t)last_of(list)) && !gc__is_candidate((uintptr_t)a);
    ok(leaves || GC_REGION_SHIFT < 18, leaves ? "a region leaves, and another one stays" : "# SKIP the list fills small regions, which stay");
    a->weak = true;
    gc_store(gc, &a->values[0], last_of(list));
    gc_collect(heap, 0, 0);
    a->weak = false;
    finish();
    ok(a->values[0] == last_of(list), "a value is updated, whatever it was when the collection has met it");
    a = NULL;
    scene_close();
}

#include "born.h"

/* What is stored may be any address outside the heap, or a small number. */
static void strange_words_are_stored(void) {
    static char text[16] __attribute__((aligned(8)));
    node *first = NULL;
    GC_ROOTS(gc, first);
    first = new_node(1);
    full();
    full();
    begin_marking();
    for (uintptr_t i = 0; i < 8; i++) {
        gc_store(gc, &first->left, (node *)(void *)(text + i));
        gc_store(gc, &first->right, (node *)i);
    }
    size_t tagged = 0;
    for (size_t i = 0; i < gc__stores_count(heap->stores); i++)
        tagged += logged_entry(i) && *logged_entry(i) & GC__STORE_TAG;
    is(tagged, 0, "they are not taken for slots");
    mark_all();
    gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    first->left = first->right = NULL;
    finish();
    ok(gc_heap_verify(heap), "and all is in order");
}

/* However many objects a collection has met, the marker scans what it has marked. */
static void many_are_met(void) {
    node *first = NULL;
    GC_ROOTS(gc, first);
    first = new_node(1);
    first->left = new_node(2);
    full();
    full();
    begin_marking();
    for (size_t i = 0; i < GC__SEEN_MOST + 100; i++) gc__words_push(&heap->marker->seen, (uintptr_t)first);
    ok(!mark_some(100000), "the marking ends after many objects were met");
    ok(is_marked(first) && is_marked(first->left), "and all is marked");
    finish();
}

static size_t count_traced(const traced *t) {
    size_t count = 0;
    for (; t; t = t->next) count += ((const node *)t->other)->value < 1000;
    return count;
}

static void trace_functions(void) {
    vector *many = NULL;
    GC_ROOTS(gc, many);
    scene_open();
    many = new_vector(300);
    for (size_t i = 0; i < 300; i++) {
        traced *t = new_traced(2);
        gc_store(gc, &many->items[i], t);
    }
    full();
    full();
    to_the_scene();
    uint64_t waited = stats().concurrent_waited;
    traced *young = new_traced(200);
    gc_store(gc, &scanned->items[0], young);
    gc_collect(heap, 0, 0);
    gc_collect(heap, 1, 0);
    mark_some(50);
    gc_store(gc, &((traced *)many->items[0])->other, new_node(7)); /* which may have been called already */
    gc_collect(heap, 1, 0);
    mark_all();
    size_t marked = 0;
    for (size_t i = 1; i < 300; i++) marked += is_marked(((traced *)many->items[i])->next);
    is(marked, heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT ? 299 : 0, "what they refer to is marked beside the program, or in the last pause");
    finish();
    bool any = stats().concurrent_waited > waited || heap->options.test.scarce_memory;
    ok(heap->options.trace_functions == GC_TRACE_FUNCTIONS_CONCURRENT ? stats().concurrent_waited == waited : any, "they wait, unless the marker may call them");
    size_t count = count_traced(scanned->items[0]);
    for (size_t i = 0; i < 300; i++) count += count_traced(many->items[i]);
    is(count, 800, "objects with trace functions survive, and what they refer to");
    scene_close();
}

/* What the pauses of a cycle had to do. */
static gc_pause the_pause(void) {
    gc_pause pauses[GC_PAUSES_KEPT];
    is(gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true), 1, "one pause");
    return pauses[0];
}

static void reported_pauses(void) {
    gc_pause pauses[GC_PAUSES_KEPT];
    char why[500];
    scene_open();
    traced *t = new_traced(2);
    gc_store(gc, &scanned->items[1], t);
    full();
    full();
    gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true);
    begin_marking();
    gc_pause pause = the_pause();
    ok(pause.concurrent_begun && !pause.concurrent && pause.generation == 1, "the pause in which it begins");
    mark_some(100);
    gc_collect(heap, 0, 0);
    pause = the_pause();
    ok(!pause.concurrent_begun && !pause.concurrent, "a pause in between");
    gc_store(gc, &scanned->items[0], last_of(list));
    finish();
    pause = the_pause();
    ok(pause.concurrent && pause.degenerated && pause.generation == 2, "the pause in which it ends too early");
    is(pause.stored_objects, 1, "an object was shown by the barrier");
    gc_pause_explain(&pause, why, sizeof why);
    has(why, "degenerated cycle: its end was asked for", "in words");
    begin_marking();
    mark_all();
    gc_heap_pauses(heap, pauses, GC_PAUSES_KEPT, true);
    finish();
    pause = the_pause();
    ok(pause.concurrent && !pause.degenerated, "and one in which it is done");
    ok(pause.trace_calls >= 1, "but an object with a trace function waited, which was called");
    gc_pause_explain(&pause, why, sizeof why);
    has(why, "final mark of a concurrent cycle", "in words");
    scene_close();
}

/* Arrays grow where they are, and bytes that they have grown by are counted, whether the marker has come before or after. */
static void grown_arrays(void) {
    vector *small = NULL, *large = NULL;
    GC_ROOTS(gc, small, large);
    scene_open();
    large = new_vector(GC_LARGE_BYTES / 8 + 1000);
    small = gc_new_with(gc, &vector_type, 10, GC_NEW_FIXED);
    full();
    full();
    for (int late = 0; late < 2; late++) {
        to_the_scene();
        if (late) mark_all();
        size_t length = small->header.length, large_length = large->header.length;
        ok(gc_array_grow(gc, small, length + 500) && gc_array_grow(gc, large, large_length + 200), "old arrays grow");
        gc_store(gc, &small->items[length + 400], last_of(list)->right);
        gc_store(gc, &large->items[large_length + 100], last_of(list)->right);
        last_of(list)->right = NULL;
        mark_all();
        finish();
        node *hidden = small->items[length + 400];
        ok(hidden->value == 4711 && large->items[large_length + 100] == hidden, "what is stored there survives");
        size_t live = stats().live_bytes;
        full();
        is(live, stats().live_bytes, "all bytes were counted");
        gc_store(gc, &last_of(list)->right, small->items[length + 400]);
    }
    scene_close();
}

/* The barrier's slow part is in the middle of the host's code, and must leave its registers alone. */
static void registers_stay(void) {
#if defined(__x86_64__) && !defined(GC_PORTABLE_BARRIERS)
    double in[16], out[16];
    uint64_t words[6] = {1, 2, 3, 4, 5, 6}, sum = 0;
    scene_open();
    to_the_scene();
    void *slot = &scanned->items[5], *ref = last_of(list)->right;
    for (int i = 0; i < 16; i++) in[i] = 1.5 * i;
    __asm__ volatile(
        "movupd 0(%[in]), %%xmm0\n\tmovupd 16(%[in]), %%xmm1\n\tmovupd 32(%[in]), %%xmm7\n\tmovupd 48(%[in]), %%xmm15\n\t"
        "movq $7, %%r8\n\tmovq $8, %%r9\n\tmovq $9, %%r10\n\tmovq $10, %%r11\n\tmovq $0x5A5A, -8(%%rsp)\n\t"
        "leaq -128(%%rsp), %%rsp\n\tpushq %[ref]\n\tpushq %[slot]\n\tcall *%[call]\n\tleaq 144(%%rsp), %%rsp\n\t"
        "movupd %%xmm0, 0(%[out])\n\tmovupd %%xmm1, 16(%[out])\n\tmovupd %%xmm7, 32(%[out])\n\tmovupd %%xmm15, 48(%[out])\n\t"
        "addq %%r8, %%r9\n\taddq %%r10, %%r9\n\taddq %%r11, %%r9\n\taddq -8(%%rsp), %%r9\n\tmovq %%r9, %[sum]\n\t"
        : [sum] "=&m"(sum)
        : [in] "r"(in), [out] "r"(out), [slot] "r"(slot), [ref] "r"(ref), [call] "r"(gc__tables.log_store_call)
        : "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm7", "xmm15", "cc", "memory");
    *(void **)slot = ref;
    is(sum, 7 + 8 + 9 + 10 + 0x5A5A, "general registers and the red zone stay");
    ok(memcmp(in, out, 64) == 0, "vectors stay");
    ok(is_known(ref), "and the reference was seen");
    for (int i = 0; i < 6; i++) sum += words[i];
    mark_all();
    finish();
    scene_close();
#elif defined(__aarch64__) && !defined(GC_PORTABLE_BARRIERS)
    double in[64], out[64];
    uint64_t sum = 0;
    uintptr_t read = 0;
    scene_open();
    to_the_scene();
    void *slot = &scanned->items[5], *ref = last_of(list)->right;
    for (int i = 0; i < 64; i++) in[i] = 1.5 * i + 1;
    memset(out, 0, sizeof out);
    register uintptr_t from __asm__("x19") = (uintptr_t)in, to __asm__("x20") = (uintptr_t)out;
    register uintptr_t call __asm__("x21") = (uintptr_t)gc__tables.log_store_call;
    register uintptr_t first __asm__("x22") = (uintptr_t)slot, second __asm__("x23") = (uintptr_t)ref;
#define EACH_PAIR(operation, at)                                                                                                  \
    operation " q0, q1, [" at "]\n\t" operation " q2, q3, [" at ", #32]\n\t" operation " q6, q7, [" at ", #96]\n\t"               \
    operation " q8, q9, [" at ", #128]\n\t" operation " q14, q15, [" at ", #224]\n\t" operation " q16, q17, [" at ", #256]\n\t" \
    operation " q30, q31, [" at ", #480]\n\t"
    __asm__ volatile(
        EACH_PAIR("ldp", "x19")
        "mov x0, #1\n\tmov x1, #2\n\tmov x2, #4\n\tmov x3, #8\n\tmov x7, #16\n\tmov x8, #32\n\tmov x9, #64\n\tmov x10, #128\n\t"
        "mov x11, #256\n\tmov x14, #512\n\tmov x15, #1024\n\tmov x16, x22\n\tmov x17, x23\n\tblr x21\n\t"
        "mov %[read], x16\n\tadd x0, x0, x1\n\tadd x0, x0, x2\n\tadd x0, x0, x3\n\tadd x0, x0, x7\n\tadd x0, x0, x8\n\tadd x0, x0, x9\n\t"
        "add x0, x0, x10\n\tadd x0, x0, x11\n\tadd x0, x0, x14\n\tadd %[sum], x0, x15\n\t" EACH_PAIR("stp", "x20")
        : [sum] "=&r"(sum), [read] "=&r"(read)
        : "r"(from), "r"(to), "r"(call), "r"(first), "r"(second)
        : "x0", "x1", "x2", "x3", "x7", "x8", "x9", "x10", "x11", "x14", "x15", "x16", "x17", "x30", "v0", "v1", "v2", "v3", "v6",
          "v7", "v8", "v9", "v14", "v15", "v16", "v17", "v30", "v31", "cc", "memory");
    *(void **)slot = ref;
    is(sum, 2047, "general registers stay");
    bool same = true;
    static const unsigned char pairs[] = {0, 1, 3, 4, 7, 8, 15};
    for (unsigned i = 0; i < sizeof pairs; i++) same &= memcmp(in + 4 * pairs[i], out + 4 * pairs[i], 32) == 0;
    ok(same, "vectors stay");
    ok(read && read != (uintptr_t)ref && is_known(ref), "and the reference was seen");
    mark_all();
    finish();
    scene_close();
#else
    ok(true, "# SKIP barriers are in C");
#endif
}

/* Code that a host has had emitted only dirties cards: whoever cleans one shades what is there. */
#if defined(__x86_64__)
static uint8_t *buffer;
static void on_change(void *host, const gc_barrier_change *change) {
    static gc_barrier_code code;
    (void)host;
    if (!buffer) buffer = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gc_barrier_emit(&code, buffer, 4096, change->barrier, GC_EMIT_STORE, change->tables);
}

static void emitted_code(void) {
    void (*store)(void *, const void *) = (void (*)(void *, const void *))(uintptr_t)buffer;
    for (int generation = -1; generation < 2; generation++) {
        scene_open();
        to_the_scene();
        node *holder = last_of(list), *hidden = holder->right;
        bool before = is_known(hidden) || !is_marked(scanned);
        store(&scanned->items[2], hidden);
        holder->right = NULL;
        if (generation >= 0) gc_collect(heap, generation, 0);
        mark_all();
        finish();
        ok(!before && ((node *)scanned->items[2])->value == 4711, "emitted code stores a reference, then a collection of generation %d comes",
           generation);
        scene_close();
    }
}
static void stored_by_emitted_code(void) { stored_when_settled_by((void (*)(void *, void *))(uintptr_t)buffer); }
#else
static void on_change(void *host, const gc_barrier_change *change) { (void)host, (void)change; }
static void stored_by_emitted_code(void) {}
static void emitted_code(void) { ok(true, "# SKIP no code is emitted"); }
#endif

static int warnings;
static char warned[512];
static void on_warning(void *host, const char *message) {
    (void)host;
    warnings++;
    snprintf(warned, sizeof warned, "%s", message);
}


/* What options.concurrent 0 means. */
static void by_default(void) {
    const gc_options options[] = {{.pause_goal_us = 1000}, {.pause_goal_us = 0}, {.pause_goal_us = 1000, .collector_threads = 1},
                                  {.pause_goal_us = 1000, .non_moving = true}, {.pause_goal_us = 1000, .concurrent = GC_CONCURRENT_OFF}, {.pause_goal_us = 5000}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        gc_options chosen = options[i];
        chosen.warning = on_warning;
        warnings = 0;
        begin(&chosen);
        is(heap->options.concurrent, i ? GC_CONCURRENT_OFF : GC_CONCURRENT_ON, "by default a heap %s", i ? "without a goal of its own, or that cannot, stops" : "with a goal is marked beside the program");
        if (chosen.pause_goal_us == 5000) is(heap->options.pause_goal_us, 0, "the default goal is none of its own when it is written out");
        is(warnings, 0, "and nobody is warned");
        end();
    }
}

static void obstacles(void) {
    gc_options options[2] = {{.non_moving = true}, {.non_generational = true}};
    const char *why[] = {"non_moving", "non_generational"};
    for (int i = 0; i < 2; i++) {
        warnings = 0;
        options[i].concurrent = GC_CONCURRENT_ON;
        options[i].warning = on_warning;
        begin(&options[i]);
        is(warnings, 1, "%s stands against it", why[i]);
        has(warned, why[i], "and the warning says so");
        is(gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING), GC_OK, "a full collection runs all the same");
        ok(!heap->marking && stats().collections[2] == 1, "and is complete on return");
        end();
    }
    warnings = 0;
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .warning = on_warning, .heap_bytes_max = GC__MARKING_WORTH - 1});
    is(warnings, 1, "so does a limit below what is worth it");
    has(warned, "heap_bytes_max is less than the 2 MiB of old objects", "and the warning says so");
    end();
    warnings = 0;
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .warning = on_warning, .heap_bytes_max = GC__MARKING_WORTH});
    is(warnings, 0, "but not that itself");
    end();
    gc_options wrong = {.concurrent = (gc_concurrent)7};
    ok(!gc_heap_create(&wrong), "options.concurrent 7 is refused");
    has(gc_last_message(), "options.concurrent is 7", "by a sentence");
}

/* Collections of a program whose heap has these options. */
static gc_stats collections_of(gc_options options, bool concurrent) {
    options.concurrent = concurrent ? GC_CONCURRENT_ON : GC_CONCURRENT_OFF;
    options.warning = on_warning;
    begin(&options);
    size_t kept = options.heap_bytes_max && options.heap_bytes_max < GC__MARKING_WORTH ? 200 : 20000;
    vector *keep = new_vector(kept);
    GC_ROOTS(gc, keep);
    for (size_t i = 0; i < 200000; i++) {
        bytes *b = new_bytes(1000);
        if (i < kept || i % 16 == 0) gc_store(gc, &keep->items[i % kept], b);
    }
    gc_stats s = stats();
    end();
    return s;
}

/* The time that collections take has no influence here: the nursery's size is given, or follows from what lives. */
static void without_effect(void) {
    const gc_options options[] = {{.non_generational = true, .heap_bytes_max = 40 << 20},
                                  {.non_generational = true},
                                  {.non_generational = true, .non_moving = true, .pause_goal_us = 500},
                                  {.non_moving = true, .nursery_bytes = 256 << 10},
                                  {.nursery_bytes = 128 << 10, .heap_bytes_max = GC__MARKING_WORTH - 1}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        warnings = 0;
        gc_stats off = collections_of(options[i], false), on = collections_of(options[i], true);
        is(warnings, 1, "an option without effect is warned of");
        for (int g = 0; g < GC_GENERATIONS; g++)
            is(on.collections[g], off.collections[g], "and changes no number of collections of generation %d", g);
    }
}

/* What stands against it may go. */
static void obstacle_goes(void) {
    warnings = 0;
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .warning = on_warning, .heap_bytes_max = GC__MARKING_WORTH - 1});
    ok(warnings == 1 && !gc__has_pause_goal(heap), "a small limit stands against it");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = 64 << 20}), GC_OK, "until it is raised");
    ok(gc__has_pause_goal(heap) && gc__marking_is_on(heap), "and then it is in force");
    is(gc_heap_set_limits(heap, &(gc_limits){.heap_bytes_max = GC__MARKING_WORTH - 1}), GC_OK, "and lowered again");
    full();
    ok(!gc__has_pause_goal(heap), "and then it is not");
    end();
}

/* With a thread that marks. */
#define TABLE 60000
static void churn(vector *all, size_t stores) {
    GC_ROOTS(gc, all);
    for (size_t i = 0; i < stores; i++) {
        node *n = new_node(i);
        size_t at = random_bits() % TABLE, other = random_bits() % TABLE;
        gc_store(gc, &n->left, all->items[other]);
        if (n->left) gc_store(gc, &n->left->left, NULL);
        gc_store(gc, &all->items[at], n);
    }
}

/* The program never rests, and takes fresh regions all the time. */
static void time_of_the_thread(void) {
    node *list = NULL;
    GC_ROOTS(gc, list);
    uint64_t before = 0;
    for (int round = 0; round < 4; round++) {
        uint64_t finished = stats().concurrent_finished;
        for (int i = 0; i < 1000 && stats().concurrent_finished < finished + 1; i++)
            for (int k = 0; k < 10000; k++) {
                node *n = new_node(1);
                n->left = list, list = n;
            }
        gc_stats s = stats();
        ok(s.concurrent_finished > finished && s.concurrent_cpu_ns > before, "%llu us of the marker's thread after %llu cycles",
           (unsigned long long)s.concurrent_cpu_ns / 1000, (unsigned long long)s.concurrent_finished);
        before = s.concurrent_cpu_ns;
    }
}

static void with_a_thread(void) {
    vector *all = NULL;
    GC_ROOTS(gc, all);
    all = new_vector(TABLE);
    for (int i = 0; i < 400 && stats().concurrent_finished < 5; i++) churn(all, 20000);
    gc_stats s = stats();
    ok(s.concurrent_finished >= 5, "cycles end by themselves: %llu of %llu, %llu too late", (unsigned long long)s.concurrent_finished,
       (unsigned long long)s.concurrent_cycles, (unsigned long long)s.concurrent_lost);
    pid_t child = fork();
    if (!child) {
        churn(all, 200000);
        full();
        _exit(gc_heap_verify(heap) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    is(status, 0, "a child of fork goes on");
    churn(all, 100000);
    begin_marking();
}

/* A program that does not allocate any more still has its marking ended, and its memory given back. */
static uint64_t ended_by;
static size_t left_to_give; /* when the last collection ended */
static void on_end(void *host, const gc_collection *collection) {
    (void)host;
    if (collection->generation == 2) ended_by = gc__os_self();
    left_to_give = heap->uncommit_bytes;
}

static uint64_t finished(void) { return stats().concurrent_finished; }

static void leave_garbage(void) {
    node *first = new_list(300000);
    GC_ROOTS(gc, first);
    full();
    full();
    first = NULL;
    begin_marking();
}

static void ends_when_idle(void) {
    leave_garbage();
    uint64_t before = finished();
    ok(heap->marking, "a full collection begins to mark");
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < 5000 && finished() == before; i++) usleep(1000);
    }
    ok(finished() == before + 1 && ended_by != gc__os_self(), "it ends beside a program in native code");
    ok(stats().live_bytes < 1 << 20, "and frees what died");
    size_t left = left_to_give, held = SIZE_MAX;
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        for (int i = 0; i < 5000 && held > left / 2; i++, usleep(1000)) {
            gc__heap_lock(heap);
            held = gc__held_bytes(heap);
            gc__heap_unlock(heap);
        }
    }
    ok(left > 4 << 20 && held <= left / 2, "its pause leaves %zu KiB to be given back, of which %zu are held some time later", left >> 10, held >> 10);
    leave_garbage();
    before = finished();
    for (int i = 0; i < 5000 && finished() == before; i++) {
        gc_safepoint(gc);
        usleep(1000);
    }
    ok(finished() == before + 1 && ended_by == gc__os_self(), "or at a safe point of a program that does not allocate");
    leave_garbage();
    before = finished();
    bool *asked = &heap->threads->asked;
    for (int i = 0; i < 20000 && !__atomic_load_n(asked, __ATOMIC_RELAXED); i++) usleep(1000);
    ok(__atomic_load_n(asked, __ATOMIC_RELAXED), "when it is done a thread is asked to end it");
    usleep(50000);
    is(finished(), before, "not while a thread may hold references");
    for (int i = 0; i < 2000; i++) new_node(1);
    is(finished(), before + 1, "or at the next allocation, long before the nursery is spent");
    leave_garbage(); /* and the heap ends meanwhile */
}

static void refused(void) {
    struct rlimit before, none;
    getrlimit(RLIMIT_NPROC, &before);
    none = before;
    none.rlim_cur = 0;
    if (geteuid() == 0) {
        ok(true, "# SKIP root may start any number of threads");
        return;
    }
    setrlimit(RLIMIT_NPROC, &none);
    warnings = 0;
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .warning = on_warning});
    is(gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING), GC_OK, "without a thread a full collection stops the world");
    is(warnings, 1, "with one warning");
    has(warned, "ulimit -u", "that names the limit");
    end();
    setrlimit(RLIMIT_NPROC, &before);
}

int main(void) {
    const gc_options tested = TESTED;
    gc_options scarce = TESTED, workers = TESTED;
    scarce.test.scarce_memory = true;
    workers.collector_threads = 3, workers.test.collectors = 7;
    static void (*const tests[])(void) = {stored_references, much_is_hidden, met_at_most, notes_in_pieces, whole_chunks, pieces_of_many, in_two_heaps, ages_of_two_heaps, noted_all_the_time, noted_before_a_collection, overwritten_references, cards_are_as_at_other_times, promoted_objects, promoted_in_place,
                                          garbage_is_freed, ended_early, planes_are_counted, given_up, log_is_full, weak_handles, finalizers_and_dependents, moved_values, passes, settled_handles, emptied_dependents, dead_dependents, settled_finalizers, remarked_finalizers, packed_finalizers, due_finalizers, due_at_the_end, weak_tables, waits_once,
                                          settled_references, settled_ephemerons, chained_ephemerons, settled_in_a_second_pass, stored_when_settled, random_tables,
                                          registers_stay, trace_functions, promoted_tables, grown_arrays, huge_arrays, reported_pauses};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        run(tests[i], tested);
        if ((GC_DEBUG || is_quick()) && tests[i] == log_is_full) continue; /* which stores half a million times */
        run(tests[i], scarce);
        run(tests[i], workers);
    }
    gc_options staying = TESTED; /* hardly anything is evacuated in so short a pause */
    staying.pause_goal_us = 1;
    run(finalizable_garbage, staying), run(undecided_objects, staying);
    staying.collector_threads = 3, staying.test.collectors = 7;
    run(finalizable_garbage, staying), run(undecided_objects, staying);
    staying.test.scarce_memory = true;
    run(finalizable_garbage, staying), run(undecided_objects, staying);
    gc_options beside = TESTED;
    beside.trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT;
    for (int i = 0; i < 2; i++, beside.collector_threads = 3, beside.test.collectors = 7)
        run(trace_functions, beside), run(weak_tables, beside), run(waits_once, beside), run(described_tables, beside), run(promoted_tables, beside), run(settled_kinds, beside), run(arrays_apart, beside),
            run(owned_later, beside);
    on_time();
    starts(&tested);
    starts(&workers);
    run(holes_are_filled, tested);
    run(holes_are_filled, scarce);
    gc_options born = TESTED;
    born.test.born_old = true;
    run(born_in_a_smaller_heap, tested), run(many_are_met, tested), run(strange_words_are_stored, tested);
    run(objects_are_born_old, born), run(born_refer_to_young, born), run(born_in_all_of_a_hole, born), run(holes_are_born_into, born);
    run(born_while_marking, born), run(born_are_counted, born);
    run(born_arrays_grow, born);
    born.collector_threads = 3, born.test.collectors = 7;
    run(objects_are_born_old, born);
    gc_options candidate = TESTED;
    candidate.test.candidates = true;
    run(regions_leave, candidate);
    run(emptied_dependents, candidate);
    run(settled_finalizers, candidate);
    run(remarked_finalizers, candidate);
    run(due_finalizers, candidate);
    run(finalizable_garbage, candidate), run(undecided_objects, candidate);
    run(met_when_settled, candidate), run(met_while_white, candidate);
    run(settled_references, candidate);
    run(settled_ephemerons, candidate);
    run(random_tables, candidate);
    candidate.trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT;
    run(no_longer_weak, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .trace_functions = GC_TRACE_FUNCTIONS_CONCURRENT});
    run(owned_later, candidate), run(weak_for_a_while, candidate);
    run(strongly_growing_objects, candidate);
    run(weakly_growing_objects, candidate);
    candidate.trace_functions = GC_TRACE_FUNCTIONS_ALONE;
    run(strongly_growing_objects, candidate);
    run(unlisted_regions_leave, candidate);
    candidate.test.scarce_memory = true;
    run(regions_stay, candidate);
    candidate.test.scarce_memory = false;
    gc_options limited = candidate;
    limited.heap_bytes_max = 4 << 20;
    run(log_of_a_low_limit, limited);
    limited.heap_bytes_max = 16 << 20;
    run(notes_are_few, limited);
    candidate.collector_threads = 3, candidate.test.collectors = 7;
    run(regions_leave, candidate);
    run(settled_finalizers, candidate);
    run(remarked_finalizers, candidate);
    run(due_finalizers, candidate);
    run(settled_references, candidate);
    run(settled_ephemerons, candidate);
    run(random_tables, candidate);
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 256, .heap_bytes_max = 14 << 20});
    keeps_to_the_limit();
    end();
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 256, .nursery_bytes = 128 << 10, .heap_bytes_max = 14 << 20});
    lost_once();
    end();
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 256, .nursery_bytes = 128 << 10, .heap_bytes_max = 7 << 20});
    returns();
    end();
    run(what_follows, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .heap_bytes_max = 14 << 20});
    run(room_is_estimated, (gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .heap_bytes_max = 14 << 20});
    run(begins_for_a_region, (gc_options){.concurrent = GC_CONCURRENT_ON, .nursery_bytes = 1 << 20, .heap_bytes_max = 20 << 20});
    run(waits_for_the_marker, (gc_options){.concurrent = GC_CONCURRENT_ON, .pause_goal_us = 100});
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON, .test.marker_steps = 32, .heap_bytes_max = 1 << 20});
    small_limit();
    end();
    gc_options emitting = TESTED;
    emitting.barrier_changed = on_change;
    run(emitted_code, emitting);
    run(stored_by_emitted_code, emitting);
    emitting.collector_threads = 3, emitting.test.collectors = 7;
    run(stored_by_emitted_code, emitting);
    destroyed_meanwhile();
    written_memory();
    begin(&tested);
    scattered();
    end();
    obstacles();
    without_effect();
    obstacle_goes();
    by_default();
    begin(&(gc_options){.concurrent = GC_CONCURRENT_ON});
    time_of_the_thread();
    end();
    run(with_a_thread, (gc_options){.concurrent = GC_CONCURRENT_ON, .nursery_bytes = 1 << 20, .growth_percent = 30});
    run(ends_when_idle, (gc_options){.concurrent = GC_CONCURRENT_ON, .nursery_bytes = 1 << 20, .collection_end = on_end});
    refused();
    return done();
}
