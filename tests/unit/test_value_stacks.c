/* Stacks of values: coroutines whose stacks change without a barrier, grow, and are left; which parts of a deep stack a
   collection reads. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A coroutine as a bytecode interpreter has it: a stack of values, and frames, which refer to their functions. */
typedef struct frame {
    node *function;
    node **slots;
} frame;

typedef struct coroutine {
    gc_object header;
    gc_value_stack values, frames;
} coroutine;

static frame *frame_of(coroutine *co) { return co->frames.top ? (frame *)co->frames.top - 1 : NULL; }

static void coroutine_trace(void *object, gc_visitor *visitor) {
    coroutine *co = object;
    frame *top = co->frames.top == co->frames.base ? NULL : frame_of(co);
    gc_visit_stack(visitor, &co->values, top ? top->slots : NULL);
    gc_visit_stack(visitor, &co->frames, top);
}

static size_t ended;
static void coroutine_end(gc_thread *thread, void *object) {
    coroutine *co = object;
    gc_value_stack_free(gc_thread_heap(thread), &co->values);
    gc_value_stack_free(gc_thread_heap(thread), &co->frames);
    ended++;
}
static const gc_finalizer coroutine_finalizer = {.finalize = coroutine_end};
static const gc_type coroutine_type = GC_TYPE_WITH(coroutine, trace(coroutine_trace), finalizer(coroutine_finalizer));

static coroutine *current;

static coroutine *new_coroutine(void) {
    coroutine *co = gc_new(gc, &coroutine_type);
    co->frames.entry_bytes = sizeof(frame);
    return co;
}

static void push(node *n) {
    ptrdiff_t moved;
    if (gc_value_stack_reserve(heap, &current->values, sizeof n, &moved) != GC_OK) abort();
    if (moved)
        for (frame *f = current->frames.base; f < (frame *)current->frames.top; f++) f->slots = (node **)((uintptr_t)f->slots + (uintptr_t)moved);
    *(node **)current->values.top = n;
    current->values.top = (node **)current->values.top + 1;
}

static void call(node *function) {
    ptrdiff_t moved;
    if (gc_value_stack_reserve(heap, &current->frames, sizeof(frame), &moved) != GC_OK) abort();
    *(frame *)current->frames.top = (frame){function, current->values.top};
    current->frames.top = (frame *)current->frames.top + 1;
}

/* Returns to the frame below. */
static void leave(void) {
    current->values.top = frame_of(current)->slots;
    current->frames.top = frame_of(current);
    bool last = current->frames.top == current->frames.base;
    gc_value_stack_touch(&current->values, last ? current->values.base : frame_of(current)->slots);
    gc_value_stack_touch(&current->frames, last ? current->frames.base : frame_of(current));
}

/* What the stacks should hold: numbers of values, and where frames begin. */
enum { COROUTINES = 5, DEPTH = 3000 };
static struct {
    uint64_t values[DEPTH];
    size_t frames[DEPTH], count, frame_count;
} models[COROUTINES];

static int compare(coroutine *co, int k) {
    node **values = co->values.base;
    frame *frames = co->frames.base;
    int wrong = (size_t)((node **)co->values.top - values) != models[k].count || (size_t)((frame *)co->frames.top - frames) != models[k].frame_count;
    for (size_t i = 0; !wrong && i < models[k].count; i++) wrong += values[i]->value != models[k].values[i];
    for (size_t i = 0; !wrong && i < models[k].frame_count; i++) {
        wrong += frames[i].function->value != models[k].frames[i];
        wrong += (size_t)(frames[i].slots - values) != models[k].frames[i];
    }
    return wrong;
}

static void coroutines(void) {
    int wrong = 0, at = 0;
    size_t made = COROUTINES;
    vector *all = new_vector(COROUTINES);
    memset(models, 0, sizeof models);
    ended = 0;
    current = NULL;
    gc_roots_add(heap, &current, 1, GC_SLOT_ACTIVE);
    GC_ROOTS(gc, all);
    for (int i = 0; i < COROUTINES; i++) {
        coroutine *co = new_coroutine();
        gc_store(gc, &all->items[i], co);
    }
    current = all->items[0];
    for (uint64_t step = 0; step < (GC_DEBUG || is_quick() ? 20000 : 80000); step++) {
        unsigned what = (unsigned)(random_bits() % 100), phase = (unsigned)(step / 3000 % 2);
        if (what < 3) { /* a switch */
            at = (int)(random_bits() % COROUTINES);
            gc_remember(gc, current);
            current = all->items[at];
        } else if (models[at].frame_count == 0 || (what < (phase ? 40 : 20) && models[at].frame_count < DEPTH / 8)) {
            node *n = new_node(models[at].count);
            models[at].frames[models[at].frame_count++] = models[at].count;
            call(n);
        } else if (what < 40) {
            models[at].count = models[at].frames[--models[at].frame_count];
            leave();
        } else if (what < 80 && models[at].count < DEPTH) {
            node *n = new_node(step);
            models[at].values[models[at].count++] = step;
            push(n);
        } else if (what < 90 && models[at].count > models[at].frames[models[at].frame_count - 1]) { /* a store to a variable */
            size_t first = models[at].frames[models[at].frame_count - 1], i = first + random_bits() % (models[at].count - first);
            node *n = new_node(step);
            models[at].values[i] = step;
            ((node **)current->values.base)[i] = n;
        } else if (what < 96) { /* a store through an open upvalue, to any stack */
            int other = (int)(random_bits() % COROUTINES);
            if (!models[other].count) continue;
            size_t i = random_bits() % models[other].count;
            node *n = new_node(step);
            coroutine *co = all->items[other];
            models[other].values[i] = step;
            gc_remember(gc, co);
            ((node **)co->values.base)[i] = n;
            gc_value_stack_touch(&co->values, (node **)co->values.base + i);
        } else if (what == 96) {
            gc_collect(heap, (int)(random_bits() % 3), random_bits() % 8 ? 0 : GC_COLLECT_COMPACTING);
        } else if (step % 50 == 0) { /* a coroutine dies, another begins */
            int other = (int)(random_bits() % COROUTINES);
            if (other == at) continue;
            coroutine *co = new_coroutine();
            gc_store(gc, &all->items[other], co);
            models[other].count = models[other].frame_count = 0;
            made++;
        }
        if (step % 200 == 0)
            for (int i = 0; i < COROUTINES; i++) wrong += compare(all->items[i], i);
        if (step % 500 == 0) gc_finalizer_run(gc, 10);
    }
    is(wrong, 0, "coroutines agree with a model");
    current = NULL, all = NULL;
    full();
    gc_finalizer_run(gc, SIZE_MAX);
    is(ended, made, "all have ended");
    is(stats().external_bytes, 0, "with their memory");
    gc_roots_remove(heap, &current);
}

/* A stack in pages that can be made inaccessible: what a collection reads of it. */
#define PAGES 64
#define PAGE ((size_t)sysconf(_SC_PAGESIZE)) /* 4 to 64 KiB */
#define PER_PAGE (PAGE / sizeof(node *))
static coroutine *deep;
static node **pages;

static void deep_push(size_t count) {
    for (size_t i = 0; i < count; i++) {
        node *n = new_node(i);
        *(node **)deep->values.top = n;
        deep->values.top = (node **)deep->values.top + 1;
    }
}

/* Collects while only the pages [from, to) can be read. */
static void read_only_between(int generation, size_t from, size_t to) {
    mprotect(pages, PAGES * PAGE, PROT_NONE);
    mprotect(pages + from * PER_PAGE, (to - from) * PAGE, PROT_READ | PROT_WRITE);
    gc_collect(heap, generation, 0);
    mprotect(pages, PAGES * PAGE, PROT_READ | PROT_WRITE);
}

static void deep_leave(size_t page) {
    frame *f = deep->frames.base;
    f->slots = pages + page * PER_PAGE;
    gc_value_stack_touch(&deep->values, f->slots);
}

static void deep_stack(void) {
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    current = deep = NULL;
    gc_roots_add(heap, &deep, 1, GC_SLOT_ACTIVE);
    deep = new_coroutine();
    deep->values.base = deep->values.top = pages;
    deep->values.limit = pages + PAGES * PER_PAGE;
    ptrdiff_t moved;
    gc_value_stack_reserve(heap, &deep->frames, sizeof(frame), &moved);
    deep->frames.top = (frame *)deep->frames.base + 1;
    *(frame *)deep->frames.base = (frame){NULL, pages + 40 * PER_PAGE};
    deep_push(50 * PER_PAGE);
    read_only_between(0, 0, 50);
    ok(true, "a collection reads nothing beyond the top");
    deep_push(PER_PAGE);
    read_only_between(0, 40, 51);
    ok(true, "a second young one nothing below the frame");
    read_only_between(1, 0, 51);
    read_only_between(1, 40, 51);
    ok(true, "nor does one of generation 1 when everything there is old");
    deep_leave(30);
    node *n = new_node(7);
    pages[35 * PER_PAGE] = n;
    read_only_between(0, 30, 51);
    is(pages[35 * PER_PAGE]->value, 7, "after a return, nothing below that frame");
    deep_leave(45);
    read_only_between(0, 30, 51); /* where frames were that were stored to */
    read_only_between(0, 45, 51);
    read_only_between(1, 35, 51); /* what was stored there is in generation 1 */
    read_only_between(1, 45, 51);
    ok(true, "and then less again");
    read_only_between(2, 0, 51);
    int wrong = 0;
    for (size_t i = 0; i < 50 * PER_PAGE; i++) wrong += i != 35 * PER_PAGE && pages[i]->value != i;
    is(wrong, 0, "every object is where the stack says");
    deep->values.base = deep->values.top = deep->values.limit = NULL;
    deep = NULL;
    gc_roots_remove(heap, &deep);
    munmap(pages, PAGES * PAGE);
}

/* The same stack reported by scan_roots. */
static gc_value_stack own;
static void scan_own(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread;
    gc_visit_stack(visitor, &own, pages + 40 * PER_PAGE);
}

static void stack_of_the_host(void) {
    for (size_t i = 0; i < 50 * PER_PAGE; i++) {
        node *n = new_node(i);
        *(node **)own.top = n;
        own.top = (node **)own.top + 1;
    }
    read_only_between(0, 0, 50);
    read_only_between(0, 40, 50);
    read_only_between(1, 0, 50);
    read_only_between(1, 40, 50);
    int wrong = 0;
    for (size_t i = 0; i < 50 * PER_PAGE; i++) wrong += pages[i]->value != i;
    is(wrong, 0, "a stack of the host's, which scan_roots reports");
}

/* Where several workers run there is no room for many of a stack's referents, nor memory for the list of such slots. */
static size_t lists_refused, refuses;
void *mremap(void *address, size_t old_bytes, size_t bytes, int flags, ...) {
    if (__atomic_load_n(&refuses, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&lists_refused, 1, __ATOMIC_RELAXED);
        errno = ENOMEM;
        return MAP_FAILED;
    }
    va_list rest;
    va_start(rest, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    return (void *)syscall(SYS_mremap, address, old_bytes, bytes, flags, wanted);
}

enum { LIMIT_KIB = 6 << 10 };
static void no_room(size_t room_kib) {
    enum { DEEP = 36000, FRAME = 35000 };
    begin(&(gc_options){.debug.verify = GC_VERIFY_AFTER,
                        .heap_bytes_max = (size_t)LIMIT_KIB << 10,
                        .nursery_bytes = (size_t)4 << 20,
                        .collector_threads = 3,
                        .test.collectors = 1});
    vector *old = NULL, *more = NULL;
    GC_ROOTS(gc, old, more);
    gc_roots_add(heap, &current, 1, GC_SLOT_ACTIVE);
    for (size_t bytes = 0; bytes < (LIMIT_KIB - room_kib) << 10 && (more = new_vector(1000)); bytes += 8016) {
        gc_store(gc, &more->items[0], old);
        old = more;
    }
    current = new_coroutine();
    full(), full();
    for (int i = 0; i < 6; i++) { /* nurseries of which nothing survives */
        for (int k = 0; k < 100; k++) new_node(1);
        gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    }
    for (size_t i = 0; i < DEEP; i++) {
        if (i == FRAME) call(NULL);
        node *n = new_node(i);
        push(n);
    }
    refuses = 1, lists_refused = 0;
    gc_collect(heap, 0, GC_COLLECT_BLOCKING);
    refuses = 0;
    int wrong = 0;
    for (size_t i = 0; i < DEEP; i++) wrong += ((node **)current->values.base)[i]->value != i;
    is(wrong, 0, "%zu KiB free: every object is where the stack says; %zu slots were not listed, %zu objects stayed", room_kib, lists_refused,
       (size_t)stats().evacuation_failures);
    ok(lists_refused > 0, "there were some");
    gc_roots_remove(heap, &current);
    current = NULL, old = more = NULL;
    end();
}

/* A mistake: a store below the frame that nobody was told of. */
static char report[4096];
static void untouched(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.verify = GC_VERIFY_BEFORE});
    gc_roots_add(heap, &current, 1, GC_SLOT_ACTIVE);
    current = new_coroutine();
    node *n = new_node(1);
    for (int i = 0; i < 10; i++) push(n);
    call(n);
    full(), full();
    n = new_node(2);
    ((node **)current->values.base)[3] = n;
    gc_collect(heap, 0, 0);
}

/* The host does not say which object is active. */
static void not_active(void *unused) {
    (void)unused;
    begin(&(gc_options){.debug.verify = GC_VERIFY_BEFORE});
    gc_roots_add(heap, &current, 1, 0);
    current = new_coroutine();
    full(), full();
    node *n = new_node(1);
    push(n);
    gc_collect(heap, 0, 0);
}

static void reported(void (*body)(void *), const char *what, const char *word) {
    int status = tap_child(body, NULL, report, sizeof report);
    is(status, 256 + 6, "%s: the process aborts", what);
    has(report, word, "%s: %s", what, report);
}

int main(void) {
    run(coroutines, (gc_options){0});
    run(coroutines, (gc_options){.non_moving = true});
    run(coroutines, (gc_options){.non_generational = true});
    run(coroutines, (gc_options){.nursery_bytes = 4096, .test.scarce_memory = true});
    run(coroutines, (gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 30});
    for (size_t room_kib = 3300; room_kib >= 2700; room_kib -= 200) no_room(room_kib);
    begin(NULL), deep_stack(), end();
    begin(&(gc_options){.non_moving = true}), deep_stack(), end();
    pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own.base = own.top = pages;
    begin(&(gc_options){.scan_roots = scan_own}), stack_of_the_host(), end();
    reported(untouched, "a store below the frame", "gc_value_stack_touch");
    reported(not_active, "a stack that nobody remembers", "gc_remember");
    return done();
}
