/* Finalizers: which run, when, in which order, and what they may do. */
#define _GNU_SOURCE
#include "finalizing.h"

#include <setjmp.h>

/* Types that name a finalizer. */

typedef struct leaf {
    gc_object header;
    uint64_t pad, value;
} leaf;

static void note_leaf(gc_thread *thread, void *object) { (void)thread, note_value(((const leaf *)object)->value); }
static void note_length(gc_thread *thread, void *object) {
    (void)thread, note_value(((const gc_array *)object)->length);
}
static void note_left(gc_thread *thread, void *object) {
    (void)thread, note_value(((const node *)object)->left->value);
}
static void note_item(gc_thread *thread, void *object) {
    const vector *v = object;
    (void)thread, note_value(((const node *)v->items[v->header.length - 1])->value);
}

static const gc_finalizer leaf_final = {note_leaf, false, NULL}, length_final = {note_length, false, NULL},
                          left_final = {note_left, false, NULL}, item_final = {note_item, false, NULL};
static const gc_type leaf_type = GC_TYPE_LEAF_FINALIZED(leaf, leaf_final);
static const gc_type left_type = GC_TYPE_FINALIZED(node, left_final, left);
static const gc_type vector_final_type = GC_TYPE_ARRAY_WITH(vector, items, elements(refs), finalizer(item_final));
static const gc_type bytes_final_type = GC_TYPE_ARRAY_WITH(bytes, items, finalizer(length_final));

static void types(void) {
    leaf *l = gc_new(gc, &leaf_type);
    l->value = 1;
    {
        node *inner = new_node(2), *n = NULL;
        GC_ROOTS(gc, inner, n);
        n = gc_new(gc, &left_type);
        n->left = inner;
        vector *v = gc_new_array(gc, &vector_final_type, 5);
        GC_ROOTS(gc, v);
        inner = new_node(3);
        gc_store(gc, &v->items[4], inner);
        gc_new_array(gc, &bytes_final_type, 4);
        gc_new_with(gc, &bytes_final_type, 6, GC_NEW_RAW);
        gc_new_array(gc, &bytes_final_type, GC_LARGE_BYTES + 8);
        full();
        is(gc_finalizer_pending(heap), 4, "objects that a root holds are not finalized");
    }
    forget_notes();
    is(gc_finalizer_run(gc, 100), 4, "a leaf, arrays, a large one");
    ok(noted_at(1) >= 0 && noted_at(4) >= 0 && noted_at(6) >= 0 && noted_at(GC_LARGE_BYTES + 8) >= 0, "are seen whole");
    full();
    is(gc_finalizer_run(gc, 100), 2, "an object with references, an array of them");
    ok(noted_at(2) >= 0 && noted_at(3) >= 0, "and what they refer to is still there");
    full();
    is(gc_finalizer_pending(heap), 0, "once");
    is(stats().live_bytes, 0, "and then they are gone");
}

/* Registering several, suppressing. */

static void note_100(gc_thread *thread, void *object) { (void)thread, note_value(((const node *)object)->value + 100); }
static const gc_finalizer other = {note_100, false, NULL};

static void registering(void) {
    node *n = new_final(1);
    GC_ROOTS(gc, n);
    forget_notes();
    is(gc_finalizer_register(gc, n, &other), GC_OK, "another finalizer");
    n = NULL, full(), gc_finalizer_run(gc, 100);
    ok(noted() == 2 && noted_at(1) >= 0 && noted_at(101) >= 0, "runs beside that of the type");
    n = new_final(2);
    ok(gc_finalizer_suppress(gc, n), "suppressed");
    ok(!gc_finalizer_suppress(gc, n), "which is done once");
    n = NULL, full();
    is(gc_finalizer_pending(heap), 0, "so it does not run");
    n = new_final(3), gc_finalizer_suppress(gc, n);
    is(gc_finalizer_register(gc, n, &plain), GC_OK, "registered again after that");
    n = NULL, full(), gc_finalizer_run(gc, 100);
    ok(noted() == 3 && notes[2] == 3, "it runs");
    ok(!gc_finalizer_suppress(gc, NULL), "NULL has none");
    n = new_node(4);
    ok(!gc_finalizer_suppress(gc, n), "nor has an object of a type without");
    for (int i = 0; i < 5; i++) gc_finalizer_register(gc, n, i % 2 ? &plain : &critical);
    n = NULL, full();
    is(gc_finalizer_pending(heap), 5, "registered five times it is queued five times");
    is(gc_finalizer_run(gc, 100), 5, "and all run");
}

/* What is queued can be reached by a long weak handle. */
static void queued(void) {
    gc_handle first = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_final(1));
    gc_handle second = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_final(2));
    gc_handle third = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_with(3, &critical));
    forget_notes();
    full();
    is(gc_finalizer_pending(heap), 3, "three are queued");
    ok(gc_finalizer_suppress(gc, gc_handle_get(first)), "a queued one is suppressed");
    is(gc_finalizer_pending(heap), 2, "it is pending no more");
    ok(gc_finalizer_suppress(gc, gc_handle_get(third)), "a critical one");
    is(gc_finalizer_pending(heap), 1, "too");
    ok(!gc_finalizer_suppress(gc, gc_handle_get(first)), "once");
    full();
    ok(!gc_handle_get(first) && !gc_handle_get(third), "and dies at the next collection");
    is(replace_finalizer(gc, gc_handle_get(second), &other), GC_OK, "one that is queued gets another finalizer");
    is(gc_finalizer_pending(heap), 0, "so it is not due now");
    full();
    is(gc_finalizer_run(gc, 100), 1, "but when it is found dead again");
    ok(noted() == 1 && notes[0] == 102, "and then that one runs");
    full();
    ok(!gc_handle_get(second), "and then it dies");
}

static bool is_marked(const void *object) { return ((const node *)object)->value & 1; }
static const gc_finalizer marked = {note, false, is_marked};

static void suppressed_by_mark(void) {
    forget_notes();
    gc_handle odd = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_with(1, &marked));
    gc_handle even = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_with(2, &marked));
    full();
    ok(!gc_handle_get(odd), "an object that says its finalizer is not needed dies at once");
    is(gc_finalizer_pending(heap), 1, "another one is queued");
    ((node *)gc_handle_get(even))->value = 3;
    is(gc_finalizer_run(gc, 100), 1, "one that says so when it is queued already is taken");
    is(noted(), 0, "but not run");
    full();
    ok(!gc_handle_get(even), "and dies");
}

/* Resurrection. */

static gc_handle saved;
static void save(gc_thread *thread, void *object) {
    note(thread, object);
    gc_handle_set(saved, object);
}
static const gc_finalizer saving = {save, false, NULL};

static void save_again(gc_thread *thread, void *object) {
    save(thread, object);
    replace_finalizer(thread, object, &saving);
}
static const gc_finalizer saving_again = {save_again, false, NULL};

/* A finalizer with data of its own, which it frees. */
typedef struct closure {
    gc_finalizer finalizer;
    uint64_t add;
} closure;
static void note_by(gc_thread *thread, void *object) {
    closure *self = (closure *)(uintptr_t)gc_finalizer_running(thread);
    note_value(((const node *)object)->value + self->add);
    free(self);
}

static void closures(void) {
    for (uint64_t i = 0; i < 3; i++) {
        closure *c = calloc(1, sizeof *c);
        c->finalizer.finalize = note_by, c->add = 1000 * i;
        is(gc_finalizer_register(gc, new_node(i), &c->finalizer), GC_OK, "a closure is registered");
    }
    forget_notes();
    full();
    is(gc_finalizer_run(gc, 10), 3, "closures run");
    ok(noted_at(0) >= 0 && noted_at(1001) >= 0 && noted_at(2002) >= 0, "each with its own data");
    ok(!gc_finalizer_running(gc), "and none runs now");
}

/* Returns an object whose finalizer stores it, and which refers to another one. */
static node *new_resurrected(void) {
    node *n = new_with(1, &saving_again), *inner = NULL;
    GC_ROOTS(gc, n, inner);
    inner = new_node(2);
    gc_store(gc, &n->left, inner);
    return n;
}

static void resurrection(void) {
    forget_notes();
    saved = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    gc_handle brief = gc_handle_create(heap, GC_HANDLE_WEAK, NULL),
              lasting = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, NULL);
    {
        node *n = new_resurrected();
        gc_handle_set(brief, n), gc_handle_set(lasting, n);
    }
    full();
    ok(!gc_handle_get(brief) && gc_handle_get(lasting), "weak handles before the finalizer: short cleared, long not");
    is(gc_finalizer_run(gc, 100), 1, "an object's finalizer stores it");
    full();
    const node *again = gc_handle_get(saved);
    ok(again && again->left->value == 2, "so it lives, with what it refers to");
    is(gc_finalizer_pending(heap), 0, "its finalizer is not due");
    gc_handle_set(saved, NULL), full();
    is(gc_finalizer_run(gc, 100), 1, "registered by its finalizer it runs a second time, and is stored again");
    full();
    ok(gc_handle_get(saved) && gc_handle_get(lasting) == gc_handle_get(saved), "and lives again");
    gc_handle_set(saved, NULL), full();
    is(gc_finalizer_run(gc, 100), 0, "it does not run a third time");
    ok(!gc_handle_get(lasting), "but the object dies");
    is(noted(), 2, "after two runs");
}

/* A buffer of an object that a resurrected one refers to; it goes with the object's memory. */
static gc_handle owner;
static void *owned;
static void free_owned(void *unused, const gc_collection *collection) {
    (void)unused, (void)collection;
    void *object;
    if (!owned || gc_handle_try_get(owner, &object) != GC_OK || object) return;
    free(owned), owned = NULL;
    gc_handle_destroy(heap, owner);
}

static void buffers(void) {
    saved = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    owner = gc_handle_create(heap, GC_HANDLE_WEAK_LONG, new_resurrected()->left);
    owned = malloc(100);
    for (int i = 0; i < 2; i++) {
        full();
        is(gc_finalizer_run(gc, 100), 1, "a finalizer stores what refers to an owner");
        full();
        ok(owned && gc_handle_get(owner) == ((node *)gc_handle_get(saved))->left, "whose buffer is left");
        gc_handle_set(saved, NULL);
    }
    full();
    ok(!owned && !gc_handle_is_valid(heap, owner), "until the owner's memory goes");
}

/* Order. */

static void order(void) {
    forget_notes();
    for (uint64_t i = 0; i < 40; i++) new_with(i, i % 2 ? &plain : &critical);
    full();
    is(gc_finalizer_run(gc, 100), 40, "forty");
    int wrong = 0;
    for (int i = 0; i < 40; i++) wrong += notes[i] % 2 != (i < 20);
    is(wrong, 0, "normal ones run before critical ones that died with them");
    forget_notes();
    new_with(2, &critical), full();
    new_with(1, &plain), full();
    new_with(4, &critical), full();
    new_with(3, &plain), full();
    gc_finalizer_run(gc, 100);
    ok(noted() == 4 && notes[0] == 1 && notes[1] == 3 && notes[2] == 2 && notes[3] == 4,
       "and before those that died earlier");
    forget_notes();
    new_with(6, &critical), new_with(5, &plain), full();
    is(gc_finalizer_run(gc, 1), 1, "one");
    is(notes[0], 5, "is the normal one");
    new_with(7, &plain), full();
    gc_finalizer_run(gc, 100);
    ok(noted() == 3 && notes[1] == 7 && notes[2] == 6, "a normal one that comes meanwhile precedes the critical one");
}

static void circles(void) {
    forget_notes();
    {
        node *a = new_final(1), *b = NULL, *c = NULL;
        GC_ROOTS(gc, a, b, c);
        b = new_final(2), gc_store(gc, &b->left, a), gc_store(gc, &a->left, b);
        c = new_with(3, &critical), gc_store(gc, &c->left, a), gc_store(gc, &b->right, c);
    }
    full();
    is(gc_finalizer_run(gc, 100), 3, "objects that refer to each other are finalized together");
    is(noted_at(3), 2, "critical ones last");
    forget_notes();
    for (uint64_t i = 0; i < 100; i++) {
        node *chain = NULL;
        GC_ROOTS(gc, chain);
        for (uint64_t k = 0; k < 2; k++) {
            node *n = new_final(2 * i + k);
            gc_store(gc, &n->left, chain);
            chain = n;
        }
    }
    do full();
    while (gc_finalizer_run(gc, 1000));
    is(noted(), 200, "so are chains, at the latest when those ran that refer to them");
}

/* Generations. */

static void generations(void) {
    forget_notes();
    for (int g = 1; g < 3; g++) {
        node *n = new_final((uint64_t)g);
        {
            GC_ROOTS(gc, n);
            age(&n, g);
            is(gc_object_generation(n), g, "an object of generation %d", g);
        }
        for (int younger = 0; younger < g; younger++) gc_collect(heap, younger, 0);
        is(gc_finalizer_pending(heap), 0, "is not found dead by a younger collection, %d", g);
        gc_collect(heap, g, 0);
        is(gc_finalizer_run(gc, 100), 1, "but by one of its generation, %d", g);
    }
    node *old = new_node(9);
    {
        GC_ROOTS(gc, old);
        age(&old, 2);
        replace_finalizer(gc, old, &plain);
        new_final(10);
        gc_collect(heap, 0, 0);
        is(gc_finalizer_run(gc, 100), 1, "registering an old object is no reason to look at it");
        gc_collect(heap, 1, 0), gc_collect(heap, 0, 0);
    }
    gc_collect(heap, 1, 0);
    is(gc_finalizer_pending(heap), 0, "nor to find it dead");
    full();
    is(gc_finalizer_run(gc, 100), 1, "until a full collection does");
    is(notes[noted() - 1], 9, "this is it");
}

/* Many, at random, against a model: what is registered when its object dies runs, once. */
enum { RANDOM = 3000, SLOTS = 200 };
static struct {
    bool registered, queued, dropped;
    int ran;
} model[RANDOM];
static void note_model(gc_thread *thread, void *object) { (void)thread, model[((const node *)object)->value].ran++; }
static const gc_finalizer model_plain = {note_model, false, NULL}, model_critical = {note_model, true, NULL};
static const gc_type model_type = GC_TYPE_FINALIZED(node, model_plain, left, right);

static void random_step(vector *keep, uint64_t *next) {
    uint64_t bits = random_bits(), slot = bits % SLOTS;
    node *n = keep->items[slot];
    uint64_t value = n ? n->value : 0;
    switch (bits >> 20 & 7) {
    case 0:
        if (n && gc_finalizer_suppress(gc, n) != model[value].registered) model[value].ran += 1000;
        if (n) model[value].registered = false;
        break;
    case 1:
        if (n && replace_finalizer(gc, n, bits >> 30 & 1 ? &model_plain : &model_critical) == GC_OK)
            model[value].registered = true;
        break;
    case 2:
        if (n) model[value].dropped = true;
        keep->items[slot] = NULL;
        break;
    case 3:
        if (bits >> 40 & 7) break;
        gc_collect(heap, (int)(bits >> 30 & 0xFF) % 3, bits >> 50 & 1 ? GC_COLLECT_COMPACTING : 0);
        if (bits >> 51 & 1) gc_finalizer_run(gc, bits >> 52 & 15);
        break;
    default:
        if (*next == RANDOM) break;
        if (n) model[value].dropped = true;
        keep->items[slot] = NULL;
        {
            GC_ROOTS(gc, keep);
            n = gc_new(gc, bits >> 30 & 1 ? &model_type : &node_type);
        }
        n->value = *next;
        model[*next].registered = bits >> 30 & 1;
        gc_store(gc, &keep->items[slot], n);
        ++*next;
    }
}

static void at_random(void) {
    uint64_t next = 0;
    int wrong = 0;
    memset(model, 0, sizeof model);
    vector *keep = new_vector(SLOTS);
    GC_ROOTS(gc, keep);
    while (next < RANDOM) random_step(keep, &next);
    full(), gc_finalizer_run(gc, SIZE_MAX);
    for (size_t i = 0; i < RANDOM; i++) wrong += model[i].ran != (model[i].dropped && model[i].registered);
    is(wrong, 0, "at random: the finalizers of what was dropped ran once");
    keep = NULL, full(), gc_finalizer_run(gc, SIZE_MAX);
    for (size_t i = 0; i < RANDOM; i++) wrong += model[i].ran != model[i].registered;
    is(wrong, 0, "and then all others");
    full();
    is(stats().live_bytes, 0, "nothing stays");
}

/* Running them. */

static int ready;
static bool waits_in_hook, waited_in_hook;
static void on_ready(void *host) {
    (void)host, ready++;
    if (waits_in_hook) waited_in_hook = gc_finalizer_wait(gc, 1000) || gc_last_result() != GC_ERROR_MISUSE;
}

static void draining(void) {
    forget_notes();
    ready = 0;
    full();
    is(ready, 0, "finalizers_ready is not called without need");
    for (uint64_t i = 0; i < 10; i++) new_final(i);
    full();
    is(ready, 1, "and once for ten");
    full();
    is(ready, 1, "not again for the same");
    is(gc_finalizer_run(gc, 0), 0, "none");
    is(gc_finalizer_run(gc, 3), 3, "three");
    is(gc_finalizer_pending(heap), 7, "leave seven");
    ok(gc_finalizer_wait(gc, 10000), "waiting");
    is(noted(), 10, "runs the rest");
    ok(gc_finalizer_wait(gc, 0), "nothing is pending: no time is needed");
    waits_in_hook = GC_DEBUG == 0; /* which ends the program otherwise */
    new_final(11), full();
    ok(!waited_in_hook, "a hook cannot wait for finalizers, as it cannot run them");
    waits_in_hook = false;
    ok(!gc_finalizer_wait(gc, 0), "no time for one that is");
    is(noted(), 10, "so it does not run");
    gc_finalizer_run(gc, 10);
}

static void tardy(gc_thread *thread, void *object) {
    note(thread, object);
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    sleep_us(20000);
}
static const gc_finalizer late = {tardy, false, NULL};

static void limited(void) {
    forget_notes();
    for (uint64_t i = 0; i < 50; i++) new_with(i, &late);
    full();
    uint64_t start = now_ms();
    ok(!gc_finalizer_wait(gc, 50), "a wait ends at its limit");
    uint64_t took = now_ms() - start;
    ok(took >= 50, "and not before: after %llu ms", (unsigned long long)took);
    ok(noted() >= 1 && noted() < 50, "with a finalizer, and not with all: %d ran", noted());
    for (int i = 0; i < 50; i++) gc_finalizer_run(gc, 0);
    gc_handle_destroy(heap, NULL);
}

static bool nested_wait;
static void wait_within(gc_thread *thread, void *object) {
    note(thread, object);
    nested_wait = gc_finalizer_wait(thread, 100000);
}
static const gc_finalizer waiter = {wait_within, false, NULL};

static void from_within(void) {
    for (int round = 0; round < 2; round++) {
        nested_wait = true;
        new_with(1, &waiter), full();
        ok(gc_finalizer_wait(gc, 10000), "a finalizer that waits for finalizers, %d", round);
        ok(!nested_wait, "is told false at once");
        if (round == 0) is(gc_finalizer_thread_start(heap), GC_OK, "the same on the finalizer thread");
    }
}

/* A finalizer that does what finalizers may do. */

static gc_handle made, late_registered;
static void busy(gc_thread *thread, void *object) {
    node *self = object, *fresh = NULL;
    GC_ROOTS(thread, self, fresh);
    for (uint64_t i = 0; i < 300; i++) {
        fresh = gc_new(thread, &node_type);
        fresh->value = i;
        if (i % 100 == 0) gc_collect(gc_thread_heap(thread), (int)(i / 100), GC_COLLECT_COMPACTING);
    }
    if (!made) made = gc_handle_create(gc_thread_heap(thread), GC_HANDLE_STRONG, NULL);
    gc_handle_set(made, fresh);
    gc_handle brief = gc_handle_create(gc_thread_heap(thread), GC_HANDLE_WEAK, fresh);
    gc_handle_destroy(gc_thread_heap(thread), brief);
    fresh = gc_new(thread, &final_type);
    fresh->value = self->value + 1000;
    gc_handle_set(late_registered, fresh);
    replace_finalizer(thread, fresh, &critical);
    gc_store(thread, &fresh->left, self);
    note_value(self->value);
}
static const gc_finalizer busy_final = {busy, false, NULL};

static void busy_finalizers(void) {
    forget_notes();
    made = NULL;
    late_registered = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    for (uint64_t i = 0; i < 8; i++) new_with(i, &busy_final);
    full();
    ok(gc_finalizer_wait(gc, 60000), "finalizers that allocate, collect, make handles, register others");
    const node *last = gc_handle_get(late_registered);
    ok(last && last->left && last->value == last->left->value + 1000, "and store their object");
    is(((const node *)gc_handle_get(made))->value, 299, "and what they made");
    gc_handle_set(late_registered, NULL);
    full();
    ok(gc_finalizer_wait(gc, 60000), "again");
    full();
    ok(gc_finalizer_wait(gc, 60000), "and again");
    is(noted(), 16, "what they registered is finalized too");
    for (uint64_t i = 0; i < 8; i++) ok(noted_at(i) >= 0 && noted_at(i + 1000) >= 0, "object %d", (int)i);
    gc_handle_destroy(heap, made), gc_handle_destroy(heap, late_registered);
}

static void busy_on_thread(void) {
    is(gc_finalizer_thread_start(heap), GC_OK, "on the heap's thread");
    busy_finalizers();
}

/* A finalizer that is left by longjmp no longer runs, whichever function is asked next by the function that caught it. */

static jmp_buf left;
static void leave(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    longjmp(left, 1);
}
static const gc_finalizer leaving = {leave, false, NULL};

static void left_finalizers(void) {
    for (volatile int which = 0; which < 3; which++) {
        forget_warnings();
        begin(&(gc_options){.warning = on_warning, .patience_ms = 100});
        new_with(1, &leaving);
        full();
        if (!setjmp(left)) gc_finalizer_run(gc, 1);
        if (which == 0) is(gc_finalizer_pending(heap), 0, "a finalizer that was left is not pending");
        if (which == 1) ok(gc_finalizer_wait(gc, 1000), "nor waited for");
        gc_heap_destroy(heap); /* from a frame farther in, which end() has, the finalizer might run */
        is(warning_count, 0, "nor is it as its heap ends");
    }
}

static void misuse(void *object) {
    begin(NULL);
    node *n = new_node(1);
    static const gc_finalizer none = {NULL, false, NULL};
    is(replace_finalizer(gc, object ? object : n, object ? &plain : &none), GC_ERROR_MISUSE, "refused: %s",
       gc_last_message());
    end();
}

static void refused(void) {
    static node outside;
    static char report[4000];
    gc_heap *first = heap;
    if (GC_DEBUG) {
        tap_child(misuse, &outside, report, sizeof report);
        has(report, "the object is not one of this heap", "an object outside the heap is reported");
        tap_child(misuse, NULL, report, sizeof report);
        has(report, "there is no function", "so is a finalizer without a function");
    } else {
        misuse(&outside), misuse(NULL);
    }
    heap = first;
}

/* Registering by hand must not take long where many are registered. */
static void many(void) {
    enum { COUNT = 20000 };
    forget_notes();
    uint64_t start = now_ms();
    for (uint64_t i = 0; i < COUNT; i++) new_with(i, &plain);
    uint64_t took = now_ms() - start;
    full();
    is(gc_finalizer_run(gc, SIZE_MAX), COUNT, "%d registered by hand, in %llu ms", COUNT, (unsigned long long)took);
    for (uint64_t i = 0; i < COUNT; i++) new_final(i);
    full();
    is(gc_finalizer_run(gc, SIZE_MAX), COUNT, "and by type");
}

/* They read the heap, so a thread in preemptive mode runs none. */
static void preemptive(void) {
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    is(gc_finalizer_run(gc, 1), 0, "a thread in preemptive mode runs no finalizers");
    is(gc_last_result(), GC_ERROR_MISUSE, "since that is a misuse");
    ok(!gc_finalizer_wait(gc, 1), "nor does it wait for them");
}

int main(void) {
    const gc_options kinds[] = {{0},
                                {.non_moving = true},
                                {.non_generational = true},
                                {.debug.stress = GC_STRESS_ALLOCATION},
                                {.test.scarce_memory = true}};
    for (int i = 0; i < 5; i++) {
        diag("options %d", i);
        run(types, kinds[i]);
        run(registering, kinds[i]);
        run(queued, kinds[i]);
        run(suppressed_by_mark, kinds[i]);
        run(closures, kinds[i]);
        run(resurrection, kinds[i]);
        gc_options freeing = kinds[i];
        freeing.collection_end = free_owned;
        run(buffers, freeing);
        run(order, kinds[i]);
        run(circles, kinds[i]);
        run(busy_finalizers, kinds[i]);
        if (i != 3) run(at_random, kinds[i]);
    }
    for (int i = 0; i < 2; i++) run(generations, kinds[i]);
    if (!GC_DEBUG) run(preemptive, kinds[0]);
    run(draining, (gc_options){.finalizers_ready = on_ready});
    run(limited, (gc_options){.skip_finalizers_at_end = true});
    run(from_within, (gc_options){0});
    run(busy_on_thread, (gc_options){0});
    run(busy_on_thread, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 50});
    run(busy_on_thread, (gc_options){.debug.stress = GC_STRESS_SAFEPOINT});
    refused();
    left_finalizers();
    begin(&(gc_options){0}), many(), end();
    return done();
}
