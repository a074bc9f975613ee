/* Roots: frames, arrays, callbacks, globals; interior slots; slots that hold no object; slots reported twice. */
#include "../fixture.h"

#include <setjmp.h>

static node outside = {{&node_type}, NULL, NULL, 42}; /* an object that is on no heap */
static node *global_slots[3];
static struct {
    void *slot;
    size_t count;
    unsigned flags;
} reported[8];
static int reports, calls;

static char *derived[4];
static void *bases[2];

static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    calls += host == &calls && thread == gc;
    for (int i = 0; i < 4; i++) gc_visit_derived(visitor, &derived[i], &bases[i / 2]);
    for (int i = 0; i < reports; i++) gc_visit(visitor, reported[i].slot, reported[i].count, reported[i].flags);
}

static void scopes(void) {
    node *a = new_node(1), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = new_node(2);
    for (uint64_t i = 0; i < 3; i++) {
        node *c = new_node(10 + i);
        GC_ROOTS(gc, c);
        compact();
        is(c->value, 10 + i, "a root of an inner scope");
    }
    ok(gc->frames->slots[0] == (void *)&a, "inner frames are left at the end of their scope");
    compact();
    is(a->value + b->value, 3, "roots of the outer scope");

    node *many[100];
    for (int i = 0; i < 100; i++) many[i] = NULL;
    GC_ROOTS_ARRAY(gc, many, 100, 0);
    for (uint64_t i = 0; i < 100; i++) many[i] = new_node(i);
    compact();
    bool kept = true;
    for (uint64_t i = 0; i < 100; i++) kept &= many[i]->value == i;
    ok(kept, "an array of roots");
}

static uint64_t sum_after(node *a) {
    GC_ROOTS_DURING(gc, 0, return (compact(), gc->frames->count), a);
}

static void during(void) {
    node *a = new_node(1), *b = NULL, *c = NULL;
    GC_ROOTS_DURING(gc, 0, b = new_node(2), a);
    const void *were[2] = {a, b};
    gc_frame *before = gc->frames;
    GC_ROOTS_DURING(gc, 0, c = new_node(3); compact(), a, b);
    is(a->value * 100 + b->value * 10 + (c != NULL), 121, "variables that are roots during an expression");
    ok(a != were[0] && b != were[1], "lead to where their objects are");
    for (uint64_t i = 0; i < 1000; i++) {
        node *n = gc_new_with(gc, &node_type, 0, GC_NEW_AT_ONCE);
        if (!n) GC_ROOTS_DURING(gc, 0, n = new_node(i), a, b);
        n->value = i;
        n->left = b;
        b = n;
        if (i % 300 == 0) GC_ROOTS_DURING(gc, 0, compact(), a, b);
    }
    uint64_t sum = 0;
    for (const node *n = b; n; n = n->left) sum += n->value;
    is(sum, 1000 * 999 / 2 + 2, "a list whose nodes were made at once, if that could be");
    is(sum_after(a), 1, "an expression may leave the function");
    a = new_node(1);
    were[0] = a;
    char *inside = (char *)&a->value, *outside = (char *)&sum;
    GC_ROOTS_DURING(gc, GC_SLOT_INTERIOR, a = NULL; compact(), inside, outside);
    ok(*(uint64_t *)(void *)inside == 1 && inside != (char *)were[0] + offsetof(node, value),
       "a pointer into an object keeps it and moves along");
    ok(outside == (char *)&sum, "one that leads elsewhere stays as it is");
    ok(gc->frames == before, "no frame is left");
}

static void jumps(void) {
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    jmp_buf buffer;
    gc_frame *mark = gc_frames_mark(gc);
    if (setjmp(buffer) == 0) {
        node *inner = new_node(2);
        GC_ROOTS(gc, inner);
        longjmp(buffer, 1);
    }
    gc_frames_restore(gc, mark);
    compact();
    is(a->value, 1, "frames after longjmp");
}

/* A frame that is in force twice would make the walk of frames endless: it is reported, and nothing waits. */
static char report[4096];

static void reported_again(void (*body)(void *), const char *names, const char *what) {
    int status = tap_child(body, NULL, report, sizeof report);
    is(status, 256 + 6, "%s: the process aborts", what);
    has(report, names, "%s: the report names the frame", what);
    has(report, "entered again", "%s: and what is wrong with it", what);
    has(report, "computed goto", "%s: and the usual cause", what);
}

static void entered_after_longjmp(void *unused) {
    static jmp_buf buffer;
    static int times;
    (void)unused;
    alarm(20);
    begin(NULL);
    setjmp(buffer);
    if (times++ < 3) {
        node *made = new_node(1);
        GC_ROOTS(gc, made);
        longjmp(buffer, 1); /* the mistake: no gc_frames_restore */
    }
    full();
}

/* Opcodes of an interpreter that dispatches from within the scope of a frame. Clang refuses to compile that. */
#ifndef __clang__
static void computed_goto(void *unused) {
    static const unsigned char code[] = {0, 0, 0, 1};
    const unsigned char *next = code;
    void *const labels[] = {&&make, &&end_of_code};
    (void)unused;
    alarm(20);
    begin(NULL);
    goto *labels[*next++];
make : {
    node *made = new_node(1);
    GC_ROOTS(gc, made);
    goto *labels[*next++]; /* the mistake: no cleanup runs */
}
end_of_code:
    full();
}
#else
#define computed_goto entered_after_longjmp
#endif

static const gc_frame_site site_a = {"a", "cycle", "roots.c", 1, 0}, site_b = {"b", "cycle", "roots.c", 2, 0},
                           site_c = {"c", "cycle", "roots.c", 3, 0};
static gc_frame frames[3];

/* c -> a -> b -> a: the frame of a was entered again, then that of c. */
static void make_cycle(void) {
    const gc_frame_site *sites[] = {&site_a, &site_b, &site_c};
    for (int i = 0; i < 3; i++) frames[i] = (gc_frame){NULL, sites[i], gc, 0, NULL};
    frames[0].previous = &frames[1];
    frames[1].previous = &frames[0];
    frames[2].previous = &frames[0];
    gc_frames_restore(gc, &frames[2]);
}

static void cycle_collected(void *unused) {
    (void)unused;
    alarm(20);
    begin(NULL);
    make_cycle();
    full();
}

static void cycle_destroyed(void *unused) {
    (void)unused;
    alarm(20);
    begin(NULL);
    make_cycle();
    end();
}

/* A frame that was left, and what other calls have written there since. */
static void overwritten_destroyed(void *unused) {
    (void)unused;
    begin(NULL);
    memset(&frames[0], 0x55, sizeof frames[0]);
    gc_frames_restore(gc, &frames[0]);
    end();
}

static void not_objects(void) {
    node *a = &outside, *b = NULL, *c = (node *)(uintptr_t)4096;
    char *allocated = malloc(100);
    GC_ROOTS(gc, a, b, c, allocated);
    node *holder = new_node(3);
    GC_ROOTS(gc, holder);
    gc_store(gc, &holder->left, &outside);
    gc_store(gc, &holder->right, allocated);
    for (int i = 0; i < 4; i++) {
        if (i == 3)
            compact();
        else
            gc_collect(heap, i, 0);
        ok(a == &outside && !b && c == (void *)4096, "slots that refer outside the heap stay, %d", i);
        ok(holder->left == &outside && holder->right == (void *)allocated && outside.value == 42, "fields too, %d", i);
    }
    free(allocated);
}

static void globals(void) {
    is(gc_roots_add(heap, global_slots, 3, 0), GC_OK, "gc_roots_add");
    for (uint64_t i = 0; i < 3; i++) global_slots[i] = new_node(i + 1);
    compact();
    is(global_slots[0]->value + global_slots[1]->value + global_slots[2]->value, 6, "global slots are roots");
    is(gc_roots_remove(heap, global_slots + 1), GC_ERROR_MISUSE, "gc_roots_remove of an address that was not added");
    is(gc_roots_remove(heap, global_slots), GC_OK, "gc_roots_remove");
    is(gc_roots_remove(heap, global_slots), GC_ERROR_MISUSE, "gc_roots_remove twice");
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, global_slots[0]);
    full();
    ok(!gc_handle_get(weak), "slots are roots no more");

    is(gc_roots_add(heap, (char *)global_slots + 4, 1, 0), GC_ERROR_MISUSE,
       "gc_roots_add of a slot that is not aligned");
    is(gc_roots_add(heap, global_slots, 2, GC_SLOT_DERIVED), GC_ERROR_MISUSE, "gc_roots_add of derived pointers");
    const size_t counts[] = {SIZE_MAX, SIZE_MAX / sizeof(void *), SIZE_MAX / sizeof(void *) + 2, (size_t)-1 / 8 * 7};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        is(gc_roots_add(heap, global_slots, counts[i], 0), GC_ERROR_MISUSE, "gc_roots_add of %zu slots", counts[i]);
    has(gc_last_message(), "would reach beyond the end of memory", "which says why");
    is(gc_roots_add(heap, NULL, 0, 0), GC_OK, "no slots at NULL are allowed");
    is(gc_roots_add(heap, global_slots, 0, 0), GC_OK, "and elsewhere");
    compact();
    is(gc_roots_remove(heap, NULL), GC_OK, "and are removed");
    is(gc_roots_remove(heap, global_slots), GC_OK, "by their address");

    enum { MANY = 20000 };
    void **slots = calloc(MANY, sizeof *slots);
    int failures = 0;
    for (size_t i = 0; i < MANY; i++) failures += gc_roots_add(heap, &slots[i], 1, 0) != GC_OK;
    for (size_t i = 0; i < MANY; i++) slots[i] = new_node(i);
    for (size_t i = 0; i < MANY; i += 2) failures += gc_roots_remove(heap, &slots[i]) != GC_OK;
    compact();
    for (size_t i = 1; i < MANY; i += 2) failures += ((node *)slots[i])->value != i;
    for (size_t i = 1; i < MANY; i += 2) failures += gc_roots_remove(heap, &slots[i]) != GC_OK;
    is(failures, 0, "many global slots, added and removed");
    free(slots);
}

static void callback(void) {
    static node *slots[4];
    static uint64_t *inside;
    static unsigned char *last;
    memset(slots, 0, sizeof slots);
    reports = 0;
    slots[0] = new_node(7);
    reported[reports].slot = slots, reported[reports].count = 4, reported[reports++].flags = 0;
    slots[1] = new_node(8);
    inside = &slots[1]->value;
    reported[reports].slot = &inside, reported[reports].count = 1, reported[reports++].flags = GC_SLOT_INTERIOR;
    bytes *text = new_bytes(1000);
    text->items[999] = 99;
    last = &text->items[999];
    reported[reports].slot = &last, reported[reports].count = 1, reported[reports++].flags = GC_SLOT_INTERIOR;
    text = NULL;
    int before = calls;
    for (int i = 0; i < 5; i++) {
        if (i == 4)
            compact();
        else
            gc_collect(heap, i % 3, 0);
        is(slots[0]->value, 7, "a root of the callback, %d", i);
        ok(inside == &slots[1]->value && *inside == 8, "an interior root follows its object, %d", i);
        is(*last, 99, "an interior root at an object's last byte, %d", i);
    }
    ok(calls >= before + 5, "the callback gets host and thread");
    slots[1] = NULL;
    full();
    is(*inside, 8, "an interior root alone keeps its object");
    inside = NULL, last = NULL;
    full();

    /* The same slots by all the ways at once. */
    GC_ROOTS(gc, slots[0]);
    gc_roots_add(heap, slots, 4, 0);
    slots[2] = slots[0];
    reported[reports++] = reported[0];
    for (int i = 0; i < 4; i++) {
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
        ok(slots[0]->value == 7 && slots[2] == slots[0], "slots reported more than once, %d", i);
    }
    gc_roots_remove(heap, slots);
    inside = &slots[0]->value;
    reported[reports++] = reported[1];
    for (int i = 0; i < 4; i++) {
        gc_collect(heap, i % 3, i == 3 ? GC_COLLECT_COMPACTING : 0);
        ok(inside == &slots[0]->value, "an interior slot reported twice, %d", i);
    }
    reports = 0;
}

static void large_interior(void) {
    static unsigned char *inside;
    reports = 0;
    reported[reports].slot = &inside, reported[reports].count = 1, reported[reports++].flags = GC_SLOT_INTERIOR;
    bytes *large = new_bytes(3 * GC_REGION_BYTES);
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, large);
    for (size_t at = 0; at < 3 * GC_REGION_BYTES; at += GC_REGION_BYTES / 2 + 1) {
        inside = &((bytes *)gc_handle_get(weak))->items[at];
        compact();
        ok(gc_handle_get(weak) != NULL, "an interior root at byte %zu keeps a large object", at);
    }
    inside = &((bytes *)gc_handle_get(weak))->items[3 * GC_REGION_BYTES - 1];
    full();
    ok(gc_handle_get(weak) != NULL, "an interior root at the last byte keeps a large object");
    inside = NULL;
    full();
    ok(!gc_handle_get(weak), "and it dies without");
    reports = 0;
}

/* Addresses computed from an object, also beyond its ends, follow it; those of null stay. The slot of the object may be
   reported later, as here, or by somebody else. */
static void derived_slots(void) {
    static char elsewhere;
    reports = 0;
    reported[reports].slot = bases, reported[reports].count = 2, reported[reports++].flags = 0;
    for (int distance = -1000; distance <= 100000; distance += 33667) {
        new_bytes(100); /* dies, so that the next one moves */
        bytes *object = new_bytes(100);
        bases[0] = object, bases[1] = NULL;
        derived[0] = (char *)object + distance, derived[1] = (char *)object;
        derived[2] = &elsewhere, derived[3] = NULL;
        compact();
        ok(bases[0] != object, "the object has moved");
        is(derived[0] - (char *)bases[0], distance, "a derived slot keeps its distance");
        ok(derived[1] == (char *)bases[0], "one without distance, too");
        ok(derived[2] == &elsewhere && !derived[3], "what is derived from null stays");
    }
    memset(derived, 0, sizeof derived);
    memset(bases, 0, sizeof bases);
    reports = 0;
}

/* The macros for addresses within objects. */
static void interior_macros(void) {
    static uint64_t constant = 5;
    char *from = (char *)new_bytes(40)->items, *end, *past_constant = (char *)(&constant + 1);
    const uint64_t *fixed = &constant;
    bytes *base = gc_heap_object_at(heap, from), *none = NULL;
    from[39] = 'z';
    end = (char *)base->items + 40;
    GC_ROOTS_WITH(gc, GC_SLOT_INTERIOR, from, fixed);
    {
        char *first = from;
        GC_ROOTS_WITH(gc, GC_SLOT_DERIVED, base, end);
        GC_ROOTS_WITH(gc, GC_SLOT_DERIVED, none, past_constant);
        base = NULL; /* for one collection the address is nobody's */
        char *former = end;
        compact();
        ok(end == former, "an address stays as it is while its base is null");
        ok(from != first && from[39] == 'z', "a root that leads into an object moves with it");
        base = gc_heap_object_at(heap, from);
        end = (char *)base->items + 40;
        first = from;
        new_bytes(1000);
        compact();
        ok(from != first && end == from + 40, "an address past its object's end keeps its distance");
        ok((char *)base->items == from, "and its base is a root, too");
        ok(past_constant == (char *)(&constant + 1), "one that belongs to no object stays");
    }
    base = NULL;
    compact();
    ok(from[39] == 'z', "an interior root alone keeps its object");
    ok(fixed == &constant, "an address outside the heap stays as it is");
}

/* The form for interpreters' loops: all labels lie in the scope of one frame. */
static void loop_of_opcodes(void) {
    static const unsigned char code[] = {0, 0, 1, 0, 1, 2};
    const unsigned char *next = code;
    void *const labels[] = {&&make, &&add, &&end_of_code};
    uint64_t sum = 0;
    node *held = NULL;
    gc_frame *mark = gc_frames_mark(gc);
    GC_ROOTS(gc, held);
    goto *labels[*next++];
make:
    held = new_node(20);
    compact();
    held->value++;
    goto *labels[*next++];
add:
    compact();
    sum += held->value;
    goto *labels[*next++];
end_of_code:
    is(sum, 42, "roots of a loop that dispatches by a computed goto");
    ok(gc_frames_mark(gc)->previous == mark, "its frame is in force once");
}

int main(void) {
    reported_again(computed_goto, "(made)", "a frame left by a computed goto");
    reported_again(entered_after_longjmp, "(made)", "a frame left by longjmp");
    reported_again(cycle_collected, "(a)", "a cycle of frames, in a collection");
    reported_again(cycle_destroyed, "(a)", "a cycle of frames, where the heap ends");
    is(tap_child(overwritten_destroyed, NULL, report, sizeof report), 256 + 6, "an overwritten frame, where the heap ends: the process aborts");
    has(report, "was left without its end", "an overwritten frame, where the heap ends: the report says why");
    gc_options hosted = {.scan_roots = scan_roots, .host = &calls};
    run(scopes, (gc_options){0});
    run(during, (gc_options){0});
    run(during, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 7, .debug.verify = GC_VERIFY_BEFORE});
    run(jumps, (gc_options){0});
    run(interior_macros, (gc_options){0});
    run(interior_macros, (gc_options){.debug.verify = GC_VERIFY_BEFORE | GC_VERIFY_AFTER, .debug.checkmark = true});
    run(loop_of_opcodes, (gc_options){0});
    run(not_objects, (gc_options){0});
    run(globals, (gc_options){0});
    run(callback, hosted);
    run(large_interior, hosted);
    run(derived_slots, hosted);
    hosted.non_moving = true;
    run(callback, hosted);
    return done();
}
