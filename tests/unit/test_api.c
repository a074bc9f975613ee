/* The public API where no other test looks: its version, brackets of raw stores, NULL, questions about objects and handles. */
#include "../fixture.h"

#include <setjmp.h>

/* No call has failed yet. */
static void no_heap(void) {
    ok(!gc_thread_attach(NULL), "no thread is attached to no heap");
    is(gc_last_result(), GC_ERROR_ARGUMENT, "which is why, if gc_heap_create has not failed");
    has(gc_last_message(), "gc_thread_attach: heap is NULL", "and said");
}

static void version(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", GC_VERSION_MAJOR, GC_VERSION_MINOR, GC_VERSION_PATCH);
    is(strcmp(GC_VERSION_TEXT, text), 0, "GC_VERSION_TEXT is the three numbers");
    is(strcmp(gc_version(), GC_VERSION_TEXT), 0, "gc_version is the header's version");
}

/* Brackets of raw stores. */

static char report[4096];

static void misuse_stores(void *which) {
    void *slots[4] = {NULL, NULL, NULL, NULL};
    begin(&(gc_options){.debug.verify = GC_DEBUG >= 1 ? 0 : GC_VERIFY_BEFORE});
    switch (*(int *)which) {
    case 0: gc_stores_end(gc, slots, 4, 0); break;
    case 1: gc_stores_begin(gc, slots, 4, 0), gc_stores_end(gc, slots, 3, 0); break;
    case 2:
        gc_stores_begin(gc, slots, 4, 0), gc_stores_end(gc, slots, 4, GC_SLOT_VALUE);
        break;
    case 3: gc_stores_begin(gc, (char *)slots + 1, 1, 0); break;
    case 4: gc_stores_begin(gc, slots, 4, 0), gc_collect(heap, 0, GC_COLLECT_DEFAULT); break;
    default:
        for (int i = 0; i < 100; i++) gc_stores_begin(gc, slots, 4, 0);
    }
}

static void stores(void) {
    static const char *const messages[] = {"have no gc_stores_begin",   "have no gc_stores_begin",
                                           "have no gc_stores_begin",   "are not 8-byte aligned",
                                           "a collection runs between", "have been begun without gc_stores_end"};
    begin(NULL);
    vector *a = gc_new_array(gc, &vector_type, 8), *b = gc_new_array(gc, &vector_type, 8);
    GC_ROOTS(gc, a, b);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT), gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    void *fresh = gc_new(gc, &node_type);
    gc_stores_begin(gc, a->items, 8, 0);
    gc_stores_begin(gc, b->items, 8, 0);
    a->items[1] = b->items[1] = fresh;
    gc_stores_end(gc, a->items, 8, 0);
    gc_stores_end(gc, b->items, 8, 0);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    ok(a->items[1] == b->items[1] && gc_object_bytes(a->items[1]) == sizeof(node), "two ranges at once, ended in any order");
    end();
    for (int i = 0; i < 6; i++) {
        if (GC_DEBUG < 1 && i != 4) continue; /* verify alone finds that one */
        is(tap_child(misuse_stores, &i, report, sizeof report), 256 + 6, "misuse %d of a bracket aborts", i);
        has(report, messages[i], "and says why");
    }
}

/* NULL. */

static bool visit_object(void *context, void *object, size_t bytes, int generation) {
    (void)object, (void)bytes, (void)generation;
    return ++*(int *)context;
}
static bool visit_handle(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra) {
    (void)handle, (void)kind, (void)object, (void)extra;
    return ++*(int *)context;
}
static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer finalizer = {finalize, false, NULL};

#define NULL_CALLS(X)                                                                         \
    X(gc_heap_host, heap, gc_heap_host(NULL) == NULL)                                         \
    X(gc_heap_stats, heap, (gc_heap_stats(NULL, &stats), true))                               \
    X(gc_heap_stats, stats, (gc_heap_stats(heap, NULL), true))                                \
    X(gc_heap_print_stats, heap, (gc_heap_print_stats(NULL, stdout), true))                   \
    X(gc_heap_print_memory, heap, (gc_heap_print_memory(NULL, stdout), true))                 \
    X(gc_heap_print_memory, file, (gc_heap_print_memory(heap, NULL), true))                   \
    X(gc_heap_print_stats, file, (gc_heap_print_stats(heap, NULL), true))                     \
    X(gc_heap_pauses, heap, gc_heap_pauses(NULL, &pause, 1, false) == 0)                      \
    X(gc_heap_pauses, longest, gc_heap_pauses(heap, NULL, 1, false) == 0)                     \
    X(gc_pause_explain, pause, gc_pause_explain(NULL, text, 1) == 0)                          \
    X(gc_pause_explain, text, gc_pause_explain(&pause, NULL, 1) == 0)                         \
    X(gc_heap_print_pauses, heap, (gc_heap_print_pauses(NULL, stdout), true))                 \
    X(gc_heap_print_pauses, file, (gc_heap_print_pauses(heap, NULL), true))                   \
    X(gc_heap_limits, heap, (gc_heap_limits(NULL, &limits), true))                            \
    X(gc_heap_limits, limits, (gc_heap_limits(heap, NULL), true))                             \
    X(gc_heap_set_limits, heap, gc_heap_set_limits(NULL, &limits) == null)                    \
    X(gc_heap_set_limits, limits, gc_heap_set_limits(heap, NULL) == null)                     \
    X(gc_heap_pacing, heap, (gc_heap_pacing(NULL, &pacing), true))                            \
    X(gc_heap_pacing, pacing, (gc_heap_pacing(heap, NULL), true))                             \
    X(gc_heap_set_pacing, heap, gc_heap_set_pacing(NULL, &pacing) == null)                    \
    X(gc_heap_set_pacing, pacing, gc_heap_set_pacing(heap, NULL) == null)                     \
    X(gc_step, heap, !gc_step(NULL, 1))                                                       \
    X(gc_stats_pause_percentile, stats, gc_stats_pause_percentile(NULL, 0.5) == 0)            \
    X(gc_heap_moves, heap, gc_heap_moves(NULL) == 0)                                          \
    X(gc_stack_create, heap, gc_stack_create(NULL, NULL) == NULL)                             \
    X(gc_thread_current, heap, gc_thread_current(NULL) == NULL)                               \
    X(gc_thread_heap, thread, gc_thread_heap(NULL) == NULL)                                   \
    X(gc_thread_set_name, thread, (gc_thread_set_name(NULL, "x"), true))                      \
    X(gc_thread_set_conservative, thread, (gc_thread_set_conservative(NULL, false), true))    \
    X(gc_collect, heap, (gc_collect(NULL, 0, GC_COLLECT_DEFAULT), true))                      \
    X(gc_heap_contains, heap, !gc_heap_contains(NULL, object))                                \
    X(gc_heap_object_at, heap, gc_heap_object_at(NULL, object) == NULL)                       \
    X(gc_object_bytes, object, gc_object_bytes(NULL) == 0)                                    \
    X(gc_object_type_name, object, gc_object_type_name(NULL) == NULL)                         \
    X(gc_object_type, object, gc_object_type(NULL) == NULL)                                   \
    X(gc_object_visit, object, (gc_object_visit(NULL, &nobody), true))                        \
    X(gc_object_visit, visitor, (gc_object_visit(object, NULL), true))                        \
    X(gc_heap_walk, heap, (gc_heap_walk(NULL, visit_object, &visits), visits == 0))           \
    X(gc_heap_walk, visit, (gc_heap_walk(heap, NULL, &visits), visits == 0))                  \
    X(gc_heap_verify, heap, gc_heap_verify(NULL) == 0)                                        \
    X(gc_object_add_external, thread, gc_object_add_external(NULL, object, 1) == null)        \
    X(gc_object_add_external, object, gc_object_add_external(gc, NULL, 1) == null)            \
    X(gc_roots_add, heap, gc_roots_add(NULL, &object, 1, 0) == null)                          \
    X(gc_roots_add, slots, gc_roots_add(heap, NULL, 1, 0) == null)                            \
    X(gc_roots_remove, heap, gc_roots_remove(NULL, &object) == null)                          \
    X(gc_heap_take_written_pages, heap, gc_heap_take_written_pages(NULL, &object, 1) == 0)    \
    X(gc_heap_take_written_pages, pages, gc_heap_take_written_pages(heap, NULL, 1) == 0)      \
    X(gc_handle_create, heap, gc_handle_create(NULL, GC_HANDLE_STRONG, object) == NULL)       \
    X(gc_handle_create_dependent, heap, !gc_handle_create_dependent(NULL, object, object))    \
    X(gc_handle_duplicate, heap, gc_handle_duplicate(NULL, handle) == NULL)                   \
    X(gc_handle_duplicate, handle, gc_handle_duplicate(heap, NULL) == NULL)                   \
    X(gc_handle_is_valid, heap, !gc_handle_is_valid(NULL, handle))                            \
    X(gc_handle_get, handle, gc_handle_get(NULL) == NULL)                                     \
    X(gc_handle_try_get, object, gc_handle_try_get(handle, NULL) == null)                     \
    X(gc_handle_set, handle, gc_handle_set(NULL, object) == null)                             \
    X(gc_handle_compare_exchange, handle, !gc_handle_compare_exchange(NULL, object, object))  \
    X(gc_handle_dependent, handle, gc_handle_dependent(NULL) == NULL)                         \
    X(gc_handle_set_dependent, handle, gc_handle_set_dependent(NULL, object) == null)         \
    X(gc_handle_host_word, handle, gc_handle_host_word(NULL) == NULL)                         \
    X(gc_handle_set_host_word, handle, gc_handle_set_host_word(NULL, object) == null)         \
    X(gc_handle_walk, heap, (gc_handle_walk(NULL, visit_handle, &visits), visits == 0))       \
    X(gc_handle_walk, visit, (gc_handle_walk(heap, NULL, &visits), visits == 0))              \
    X(gc_handle_count, heap, gc_handle_count(NULL, GC_HANDLE_STRONG) == 0)                    \
    X(gc_finalizer_register, thread, gc_finalizer_register(NULL, object, &finalizer) == null) \
    X(gc_finalizer_register, object, gc_finalizer_register(gc, NULL, &finalizer) == null)     \
    X(gc_finalizer_register, finalizer, gc_finalizer_register(gc, object, NULL) == null)      \
    X(gc_finalizer_suppress, thread, !gc_finalizer_suppress(NULL, object))                    \
    X(gc_finalizer_run, thread, gc_finalizer_run(NULL, 1) == 0)                             \
    X(gc_finalizer_pending, heap, gc_finalizer_pending(NULL) == 0)                          \
    X(gc_finalizer_wait, thread, !gc_finalizer_wait(NULL, 0))                               \
    X(gc_finalizer_thread_start, heap, gc_finalizer_thread_start(NULL) == null)               \
    X(gc_safe_handle_new, thread, gc_safe_handle_new(NULL, &safe_kind, 0, false) == NULL)     \
    X(gc_safe_handle_new, kind, gc_safe_handle_new(gc, NULL, 0, false) == NULL)

enum {
#define NULL_NUMBER(name, argument, call) null_##name##_##argument,
    NULL_CALLS(NULL_NUMBER) null_calls
};

static const gc_safe_handle_kind safe_kind = {"nothing", gc_safe_handle_invalid_if_zero,
                                              gc_safe_handle_invalid_if_zero};
static void *object;
static gc_handle handle;

/* Exits with 1 if the call returned something else than is expected. */
static void null_call(void *which) {
    const gc_result null = GC_ERROR_ARGUMENT;
    gc_visitor nobody = {NULL};
    gc_stats stats;
    gc_limits limits = {0};
    gc_pacing pacing = {0};
    gc_pause pause = {0};
    char text[64];
    int visits = 0;
    bool expected = false;
    switch (*(int *)which) {
#define NULL_CASE(name, argument, call) \
    case null_##name##_##argument: expected = call; break;
        NULL_CALLS(NULL_CASE)
    }
    if (!expected) exit(1);
    if (gc_last_result() != GC_ERROR_ARGUMENT) exit(2);
    puts(gc_last_message());
}

static void nulls(void) {
    static const char *const messages[] = {
#define NULL_MESSAGE(name, argument, call) #name ": " #argument " is NULL",
        NULL_CALLS(NULL_MESSAGE)};
    begin(NULL);
    object = gc_new(gc, &node_type);
    handle = gc_handle_create(heap, GC_HANDLE_STRONG, object);
    for (int i = 0; i < null_calls; i++) {
        int status = tap_child(null_call, &i, report, sizeof report);
        ok(status == (GC_DEBUG >= 1 ? 256 + 6 : 0) && strstr(report, messages[i]), "%s: %s", messages[i], GC_DEBUG >= 1 ? "asserted" : "an error");
    }
    gc_heap_destroy(NULL), gc_thread_detach(NULL), gc_stack_destroy(NULL);
    ok(!gc_finalizer_suppress(gc, NULL), "nothing has no finalizer to suppress");
    is(gc_handle_destroy(heap, NULL), GC_OK, "what ends or releases a thing accepts NULL");
    is(gc_object_generation(NULL), GC_GENERATIONS, "questions about addresses may be about NULL");
    ok(!gc_heap_contains(heap, NULL) && !gc_heap_object_at(heap, NULL), "which is on no heap");
    end();
}

/* Where gc_collect must not be called. */

static gc_result collect_result;

static void collect_here(void) {
    if (collect_result == GC_OK) collect_result = gc_collect(heap, 0, GC_COLLECT_DEFAULT);
}
static void collect_at_end(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    collect_here();
}
static int finalizing_how;
static void finalize_at_end(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (finalizing_how == 6 && gc_finalizer_run(gc, 1)) exit(1);
    collect_result = finalizing_how == 7 ? gc_finalizer_thread_start(heap) : gc_last_result();
}
static bool collect_in_walk(void *context, void *an_object, size_t bytes, int generation) {
    (void)context, (void)an_object, (void)bytes, (void)generation;
    collect_here();
    return false;
}

static void collect_wrongly(void *which) {
    begin(&(gc_options){.collection_end = *(int *)which == 2 ? collect_at_end : *(int *)which >= 6 ? finalize_at_end : NULL,
                        .collection_traced = *(int *)which == 5 ? collect_at_end : NULL});
    finalizing_how = *(int *)which;
    switch (*(int *)which) {
    case 0: collect_result = gc_collect(heap, 3, GC_COLLECT_DEFAULT); break;
    case 1: collect_result = gc_collect(heap, -1, GC_COLLECT_DEFAULT); break;
    case 2:
    case 5:
    case 6:
    case 7: gc_collect(heap, 0, GC_COLLECT_DEFAULT); break;
    case 3: gc_new(gc, &node_type), gc_heap_walk(heap, collect_in_walk, NULL); break;
    default: gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE), collect_here();
    }
    if (collect_result != GC_ERROR_MISUSE) exit(1);
    puts(gc_last_message());
}

static void collecting(void) {
    static const char *const messages[] = {"no generation 3", "no generation -1", "called by a hook", "a callback of a walk",
                                           "in preemptive mode", "gc_collect: called by a hook", "gc_finalizer_run: called by a hook",
                                           "gc_finalizer_thread_start: called by a hook"};
    for (int i = 0; i < 8; i++) {
        int status = tap_child(collect_wrongly, &i, report, sizeof report);
        is(status, GC_DEBUG >= 1 ? 256 + 6 : 0, "misuse %d: %s", i, GC_DEBUG >= 1 ? "asserted" : "an error");
        has(report, messages[i], "and says why");
    }
}

/* What must not be called while a collection has objects in two places. */

static int which_look;
static gc_handle looked_at;
static bool look_at_handle(void *context, gc_handle handle, gc_handle_kind kind, void *an_object, void *extra) {
    (void)context, (void)handle, (void)kind, (void)an_object, (void)extra;
    exit(1);
}
static bool look_in_walk(void *context, void *an_object, size_t bytes, int generation) {
    (void)context, (void)an_object, (void)bytes, (void)generation;
    exit(1);
}
static void look_when_traced(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    switch (which_look) {
    case 0:
        if (gc_heap_object_at(heap, object)) exit(1);
        break;
    case 1: gc_heap_walk(heap, look_in_walk, NULL); break;
    case 2:
        if (gc_heap_verify(heap)) exit(1);
        break;
    case 3:
        if (gc_handle_create(heap, GC_HANDLE_WEAK, NULL)) exit(1);
        break;
    case 4:
        if (!gc_handle_is_valid(heap, looked_at) || gc_handle_count(heap, GC_HANDLE_STRONG) != 1) exit(2);
        if (gc_handle_destroy(heap, looked_at) != GC_ERROR_MISUSE || !gc_handle_is_valid(heap, looked_at)) exit(1);
        break;
    case 5: gc_handle_walk(heap, look_at_handle, NULL); break;
    case 6: gc_thread_detach(gc); break;
    default: gc_heap_destroy(heap);
    }
}
static bool look_in_handles(void *context, gc_handle handle, gc_handle_kind kind, void *an_object, void *extra) {
    (void)context, (void)kind, (void)an_object, (void)extra;
    if (!gc_handle_is_valid(heap, handle)) exit(2);
    if (gc_handle_create(heap, GC_HANDLE_STRONG, NULL)) exit(1);
    return true;
}

static void look_wrongly(void *which) {
    which_look = *(int *)which;
    begin(&(gc_options){.collection_traced = look_when_traced});
    object = gc_new(gc, &node_type);
    looked_at = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    if (which_look < 8)
        gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    else
        gc_handle_walk(heap, look_in_handles, NULL);
    if (gc_last_result() != GC_ERROR_MISUSE) exit(1);
    puts(gc_last_message());
}

static void looking(void) {
    static const char *const names[] = {"gc_heap_object_at", "gc_heap_walk",      "gc_heap_verify",
                                        "gc_handle_create",  "gc_handle_destroy", "gc_handle_walk",
                                        "gc_thread_detach",  "gc_heap_destroy",   "gc_handle_create"};
    for (int i = 0; i < 9; i++) {
        int status = tap_child(look_wrongly, &i, report, sizeof report);
        is(status, GC_DEBUG >= 1 ? 256 + 6 : 0, "%s in %s: %s", names[i], i < 8 ? "collection_traced" : "gc_handle_walk",
           GC_DEBUG >= 1 ? "asserted" : "an error");
        has(report, names[i], "is named");
        has(report, i < 3 ? "call gc_collection_find" : "and make the call afterwards", "with the remedy");
    }
}

/* A hook that ends by a call of gc.h, to which compilers jump: it has the place of the hook's frame. */

#ifdef __clang__
#define JUMPS /* it does so in any case */
#else
#define JUMPS __attribute__((optimize("optimize-sibling-calls")))
#endif
JUMPS static void collect_at_last(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
}

static void jump_wrongly(void *which) {
    bool at_end = *(int *)which;
    begin(&(gc_options){.collection_start = at_end ? NULL : collect_at_last, .collection_end = at_end ? collect_at_last : NULL});
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    if (gc_last_result() != GC_ERROR_MISUSE) exit(1);
    puts(gc_last_message());
}

static void jumping(void) {
    for (int i = 0; i < 2; i++) {
        is(tap_child(jump_wrongly, &i, report, sizeof report), GC_DEBUG >= 1 ? 256 + 6 : 0, "a hook that jumps to gc_collect, %d", i);
        has(report, "and make the call afterwards", "is told the remedy");
    }
}

/* A callback of a collection that is left by longjmp: whatever is called next, by the function that caught it, says so. */

static jmp_buf left;
static void leave_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread, (void)visitor;
    longjmp(left, 1);
}
static void leave_traced(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    longjmp(left, 1);
}

static void leave_and_go_on(void *which) {
    int how = *(int *)which;
    begin(&(gc_options){.scan_roots = how % 2 ? leave_roots : NULL, .collection_traced = how % 2 ? NULL : leave_traced});
    if (!setjmp(left)) gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    switch (how / 2) {
    case 0: gc_collect(heap, 0, GC_COLLECT_DEFAULT); break;
    case 1: gc_thread_detach(gc); break;
    case 2: gc_handle_create(heap, GC_HANDLE_WEAK, NULL); break;
    default: gc_heap_destroy(heap);
    }
    exit(1);
}

static void leaving(void) {
    for (int i = 0; i < 8; i++) {
        int status = tap_child(leave_and_go_on, &i, report, sizeof report);
        is(status, 256 + 6, "a collection that was left, %d, ends the program", i);
        if (GC_DEBUG < 1) has(report, "collection 1 was left by", "and is named"); /* or the call is, and where it was made */
    }
}

/* Questions about objects. */

typedef struct seen {
    gc_visitor visitor;
    void *slots[8];
    unsigned flags[8];
    int count;
} seen;

static void see(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    seen *s = (seen *)visitor;
    for (; count--; slot = (char *)slot + 8)
        if (s->count < 8) s->flags[s->count] = flags, s->slots[s->count++] = slot;
}

static void trace_right(void *object, gc_visitor *visitor) { gc_visit(visitor, &((node *)object)->right, 1, 0); }

static void objects(void) {
    static const gc_type mixed = GC_TYPE_WITH(node, refs(left), values(value));
    static const gc_type traced = GC_TYPE_TRACED(node, trace_right);
    begin(NULL);
    node *a = gc_new(gc, &mixed), *b = gc_new(gc, &traced);
    vector *v = gc_new_array(gc, &vector_type, 3);
    bytes *leaf = gc_new_array(gc, &bytes_type, 100);
    ok(gc_object_type(a) == &mixed && gc_object_type(v) == &vector_type, "gc_object_type: what gc_new was given");
    seen of_a = {.visitor = {see}}, of_b = {.visitor = {see}}, of_v = {.visitor = {see}}, of_leaf = {.visitor = {see}};
    gc_object_visit(a, &of_a.visitor), gc_object_visit(b, &of_b.visitor);
    gc_object_visit(v, &of_v.visitor), gc_object_visit(leaf, &of_leaf.visitor);
    ok(of_a.count == 2 && of_a.slots[0] == &a->left && of_a.flags[0] == 0, "gc_object_visit: a reference by mask");
    ok(of_a.slots[1] == &a->value && of_a.flags[1] == (GC_HAS_VALUES ? GC_SLOT_VALUE : 0), "a tagged value");
    ok(of_b.count == 1 && of_b.slots[0] == &b->right, "what a trace function visits");
    ok(of_v.count == 3 && of_v.slots[2] == &v->items[2], "elements");
    is(of_leaf.count, 0, "a leaf has no slots");
    end();
}

/* Contents are what a dead object left there, once memory is used again. */
static void raw(void) {
    static const gc_type leaf_type = GC_TYPE_LEAF(node);
    begin(NULL);
    node *last = NULL, *n = NULL;
    GC_ROOTS(gc, last);
    int stale = 0, wrong = 0;
    for (int i = 0; i < 1000000; i++) {
        n = gc_new_with(gc, &leaf_type, 0, GC_NEW_RAW);
        stale += n->value == 0x5A5A;
        wrong += gc_object_type(n) != &leaf_type || gc_object_bytes(n) != sizeof(node);
        n->value = 0x5A5A;
        if (i % 1000 == 0) last = n;
    }
    is(wrong, 0, "GC_NEW_RAW: header and size");
    ok(GC_DEBUG >= 2 || stale > 100000, "GC_NEW_RAW does not clear memory that was in use (%d of 1000000)", stale);
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    is(last->value, 0x5A5A, "and the contents move with it");
    node *full = gc_new_with(gc, &node_type, 0, GC_NEW_RAW);
    ok(!full->left && !full->right, "a type with references is cleared on the slow path");
    end();
}

/* What gc_new_with makes of its flags, constant or not, and of a type without elements. */
static void with_flags(void) {
    begin(NULL);
    volatile size_t none = 0, three = 3;
    volatile unsigned plain = 0, raw = GC_NEW_RAW, fixed = GC_NEW_FIXED, at_once = GC_NEW_AT_ONCE;
    node *n = gc_new_with(gc, &node_type, none, plain);
    ok(gc_object_type(n) == &node_type && gc_object_bytes(n) == sizeof(node) && !n->left && !n->value, "gc_new_with: an object without elements");
    vector *v = gc_new_with(gc, &vector_type, three, plain);
    ok(v->header.length == 3 && !v->items[2], "an array");
    v = gc_new_with(gc, &vector_type, 0, 0);
    ok(gc_object_type(v) == &vector_type && v->header.length == 0, "an empty array");
    bytes *b = gc_new_with(gc, &bytes_type, three, raw);
    ok(gc_object_type(b) == &bytes_type && b->header.length == 3, "a raw array");
    GC_ROOTS(gc, v);
    v = gc_new_with(gc, &vector_type, three, fixed);
    uintptr_t address = (uintptr_t)v;
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    ok((uintptr_t)v == address && v->header.length == 3, "an array that stays where it is");
    ok(!gc_new_with(gc, &node_type, 0, fixed | at_once), "which nothing makes at once");
    gc_new(gc, &node_type), gc_new_with(gc, &bytes_type, 9, raw); /* memory is ready */
    uint64_t collections = stats().collections[0];
    size_t made = 0;
    while ((n = gc_new_with(gc, &node_type, none, at_once)) != NULL) made++;
    ok(stats().collections[0] == collections && (made > 10 || GC_DEBUG >= 2), "at once, %zu are made before something has to be done", made);
    made = 0;
    while (made < 100000 && (b = gc_new_with(gc, &bytes_type, 9, at_once | raw)) != NULL) made += b->header.length == 9;
    ok(stats().collections[0] == collections && made < 100000 && (made > 10 || GC_DEBUG >= 2), "raw ones likewise: %zu", made);
    struct header { const gc_type *type; } *h = gc_new_with(gc, NULL, sizeof(node), plain);
    h->type = &node_type;
    is(gc_object_bytes(h), sizeof(node), "bytes whose header the caller writes");
    collections = stats().collections[0], made = 0;
    while ((h = gc_new_with(gc, NULL, sizeof(node), at_once)) != NULL) h->type = &node_type, made++;
    ok(stats().collections[0] == collections && made > 0, "these are made at once, too: %zu", made);
    h = gc_new_with(gc, NULL, sizeof(node), fixed);
    h->type = &node_type;
    ok(gc_heap_contains(heap, h), "and stay where they are");
    end();
}

/* Which handles are. */

static void handles(void) {
    void *held = &held;
    begin(NULL);
    gc_heap *other = gc_heap_create(NULL);
    node *a = gc_new(gc, &node_type);
    GC_ROOTS(gc, a);
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, a), strong = gc_handle_create(heap, GC_HANDLE_STRONG, a);
    ok(gc_handle_is_valid(heap, weak) && gc_handle_is_valid(heap, strong), "gc_handle_is_valid: those that exist");
    ok(!gc_handle_is_valid(other, weak), "not in another heap");
    ok(!gc_handle_is_valid(heap, NULL) && !gc_handle_is_valid(heap, (gc_handle)(uintptr_t)0x1234567890), "nor any value");
    ok(!gc_handle_is_valid(heap, (gc_handle)((uintptr_t)weak + 1)), "nor an address within");
    is(gc_handle_try_get(weak, &held), GC_OK, "gc_handle_try_get: one that holds an object");
    ok(held == a, "gives it");
    a = NULL;
    is(gc_handle_destroy(heap, strong), GC_OK, "gc_handle_destroy");
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    is(gc_handle_try_get(weak, &held), GC_OK, "one that was cleared is no misuse");
    ok(held == NULL && gc_handle_is_valid(heap, weak), "but holds nothing");
    held = &held;
    is(gc_handle_try_get(strong, &held), GC_ERROR_HANDLE, "one that was destroyed");
    ok(held == NULL && !gc_handle_is_valid(heap, strong), "gives nothing");
    gc_handle again = gc_handle_create(heap, GC_HANDLE_STRONG, NULL);
    ok(!gc_handle_is_valid(heap, strong) && gc_handle_is_valid(heap, again), "also when its place is used again");
    is(gc_handle_try_get(strong, &held), GC_ERROR_HANDLE, "by another handle");
    is(gc_handle_try_get(NULL, &held), GC_ERROR_ARGUMENT, "NULL");
    uintptr_t place = (uintptr_t)weak & (((uintptr_t)1 << 48) - 1);
    ok(!gc_handle_is_valid(heap, (gc_handle)(place + 8 * 1000)), "a place that was never used");
    gc_heap_destroy(other);
    end();
}

int main(void) {
    no_heap();
    version();
    stores();
    nulls();
    collecting();
    looking();
    jumping();
    leaving();
    objects();
    raw();
    with_flags();
    handles();
    return done();
}
