/* A world: a heap, its model, and the roots that both share. */
#pragma once

#include <stdarg.h>

#include "random_model.h"

/* How the host reaches tagged values; without a seam they are plain pointers. random.c may define it before gc.h. */
#if !GC_HAS_VALUES
#define box_tagged(object, tag) ((void)(tag), (uintptr_t)(object))
#define box_number(number) ((void)(number), (uintptr_t)0)
#define VALUE_TAGS 1
#endif
#define ROOT_VALUES (GC_HAS_VALUES && VALUE_WORDS == 1) /* roots have one word each */

typedef enum root_home { FRAME, GLOBAL, SCANNED, TABLE, STACK, HANDLE, HOMES } root_home;

/* A root as both sides know it. */
typedef struct root {
    gc_word *slot;     /* NULL: not in use (a handle: its `handle` is) */
    gc_handle handle;
    gc_handle_kind handle_kind;
    uint32_t index;    /* of the model's node, or a static; 0: null */
    uint32_t tag;      /* of a tagged value */
    size_t offset;     /* into the object: interior and conservative slots */
    unsigned flags;
    char *pinned_at;   /* where it was when it was pinned */
    root_home home;
} root;

#define FRAMES 24 /* slots of the frame that lives as long as the heap */
#define BLOCKS 6  /* of global slots */
#define BLOCK_SLOTS 8
#define SCANS 40
#define WEAKS 32 /* entries of a weak table, half of them long */
#define STACKED 64 /* entries of a stack of values, at most */
#define HANDLES 48
#define NESTED 12 /* slots of frames that come and go */
#define STACK_ROOTS (FRAMES + BLOCKS * BLOCK_SLOTS + SCANS + WEAKS) /* the first of them */
#define ROOTS (STACK_ROOTS + STACKED + HANDLES + NESTED)

typedef struct block {
    bool added;
    unsigned flags;
    gc_word slots[BLOCK_SLOTS];
} block;

typedef struct world {
    gc_heap *heap;
    gc_thread *thread;
    gc_options options;
    model model;
    prng random;
    gc_word scanned[SCANS], weak[WEAKS];
    size_t weak_cleared;
    gc_value_stack stack; /* of which the entries from the `frame`-th on may be stored to without gc_value_stack_touch */
    size_t frame;
    block blocks[BLOCKS];
    root roots[ROOTS];
    size_t nested;        /* of them in use */
    size_t out_of_memory; /* calls of the hook */
    size_t collections, checked_collections;
    uint64_t identities;
    size_t live_most, bytes_most;
    bool follows;         /* heap_bytes_max follows what lives */
    bool marks;           /* the old generation is marked between operations */
    bool starting;        /* collection_start came, collection_end not yet */
    int asked_generation; /* of gc_collect, and how, while it runs */
    bool asked_compacting;
} world;

/* What is being run: printed when something is wrong. */
static struct {
    const char *program, *mode;
    unsigned long long seed, ops, op, check_every, verify, forget_barrier, forget_card, forget_root, barriers, marks, faults, concurrent, grown, weak_cleared;
    const char *doing, *barrier;
} run = {.program = "random", .mode = "all", .doing = "starting", .verify = 1};

static void print_replay(FILE *file) {
    fprintf(file, "# %s --seed=%llu --ops=%llu --mode=%s", run.program, run.seed, run.ops, run.mode);
    if (run.forget_barrier) fprintf(file, " --forget-barrier=%llu", run.forget_barrier);
    if (run.forget_card) fprintf(file, " --forget-card=%llu", run.forget_card);
    if (run.barrier) fprintf(file, " --barrier=%s", run.barrier);
    if (run.forget_root) fprintf(file, " --forget-root=%llu", run.forget_root);
    if (run.check_every) fprintf(file, " --check=%llu", run.check_every);
    if (!run.verify) fputs(" --verify=0", file);
    fputc('\n', file);
}

static void stop(const char *what) {
    fflush(stdout);
    fprintf(stderr, "# operation %llu (%s): %s\n# replay:\n", run.op, run.doing, what);
    print_replay(stderr);
    printf("not ok 1 - %s\n1..1\n", run.mode);
    fflush(stdout);
    _Exit(1);
}

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...) {
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    stop(text);
    abort();
}

static void on_fatal(void *host, const char *message) {
    (void)host;
    stop(message);
}

static gc_word encode(bool value, const void *object, uint32_t tag) {
    return value ? box_tagged(object, (int)(tag % VALUE_TAGS)) : (gc_word)object;
}

static void *static_object(uint32_t index) { return &statics[index - STATICS]; }

/* The word that a cell stands for; `object` is where its node is. */
static gc_word cell_word(cell c, bool value, const void *object) {
    if (c & CELL_NUMBER) return box_number(c & ~CELL_NUMBER);
    if (!cell_index(c)) return 0;
    return encode(value, is_static(cell_index(c)) ? static_object(cell_index(c)) : object, (uint32_t)(c >> 32));
}

/* Writes the words that a cell stands for: a value's tag comes second if it is not in the word. */
static void cell_words(gc_word *words, cell c, bool value, const void *object) {
    words[0] = cell_word(c, value, object);
    if (place_words(value) > 1) words[1] = c & CELL_NUMBER ? 1 : cell_index(c) ? 2 + (c >> 32) % VALUE_TAGS : 0;
}

static bool root_is_pinning(const root *r) {
    return (r->flags & (GC_SLOT_PINNED | GC_SLOT_CONSERVATIVE)) ||
           (r->home == HANDLE && r->handle_kind == GC_HANDLE_PINNED);
}
static bool root_is_weak(const root *r) {
    return r->home == TABLE || (r->home == HANDLE && r->handle_kind != GC_HANDLE_STRONG && r->handle_kind != GC_HANDLE_PINNED);
}
static bool root_in_use(const root *r) { return r->home == HANDLE ? r->handle != NULL : r->slot != NULL; }

/* The object's address; NULL for a null root and a cleared weak handle. */
static char *root_get(const root *r) {
    if (!r->index) return NULL;
    if (r->home == HANDLE) return gc_handle_get(r->handle);
    if (r->home == TABLE) return gc_load_weak(NULL, r->slot);
    gc_word word = *r->slot;
#if GC_HAS_VALUES
    if (r->flags & GC_SLOT_VALUE) return (char *)GC_VALUE_TO_REF(word);
#endif
    return (char *)word - r->offset;
}

static void root_store(world *w, root *r, gc_word word) {
    switch (below(&w->random, 3)) {
    case 0: gc_store(w->thread, r->slot, (void *)word); break;
    case 1: *r->slot = word; break;
    default:
        gc_stores_begin(w->thread, r->slot, 1, 0);
        *r->slot = word;
        gc_stores_end(w->thread, r->slot, 1, 0);
    }
}

static void root_set(world *w, root *r, uint32_t index, char *object) {
    bool whole = index && !is_static(index);
    r->index = index;
    r->tag = (uint32_t)below(&w->random, VALUE_TAGS);
    r->offset = 0;
    r->pinned_at = object;
    if (r->home == HANDLE) {
        gc_handle_set(r->handle, object);
        return;
    }
    size_t bytes = whole ? node_bytes(w->model.nodes[index]) : 0;
    if (whole && (r->flags & (GC_SLOT_INTERIOR | GC_SLOT_CONSERVATIVE)) && !one_in(&w->random, 4))
        r->offset = one_in(&w->random, 4) ? bytes - 1 : below(&w->random, bytes);
    if (r->home == STACK) {
        if (r->slot < (gc_word *)w->stack.base + w->frame) gc_value_stack_touch(&w->stack, r->slot);
        *r->slot = (gc_word)object;
        return;
    }
    if (r->flags & GC_SLOT_VALUE)
        *r->slot = index ? encode(true, object, r->tag) : 0;
    else root_store(w, r, index ? (gc_word)(object + r->offset) : 0);
}

/* A root that is in use, of any home, weak handles only if asked for. The first few, which hold large structures, less
   often. */
static root *root_any(world *w, bool weak) {
    for (;;) {
        root *r = &w->roots[below(&w->random, ROOTS)];
        if (r < w->roots + 4 && !one_in(&w->random, 8)) continue;
        if (root_in_use(r) && (weak || !root_is_weak(r))) return r;
    }
}

static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    world *w = host;
    if (thread != w->thread) wrong("scan_roots is called with thread %p instead of %p", (void *)thread, (void *)w->thread);
    for (size_t i = 0; i < ROOTS; i++) {
        root *r = &w->roots[i];
        if (r->home != SCANNED || (run.forget_root && r->slot - w->scanned + 1 == (ptrdiff_t)run.forget_root)) continue;
        gc_visit(visitor, r->slot, 1, r->flags);
    }
    gc_weak_entries entries = {.keys = w->weak, .count = WEAKS / 2, .cleared_count = &w->weak_cleared};
    gc_visit_weak(visitor, &entries);
    entries.keys = w->weak + WEAKS / 2;
    entries.flags = GC_SLOT_WEAK_LONG;
    gc_visit_weak(visitor, &entries);
    gc_visit_stack(visitor, &w->stack, (gc_word *)w->stack.base + w->frame);
}

/* The roots that are the stack's entries, after it has changed. */
static void stack_roots(world *w) {
    size_t count = (size_t)((gc_word *)w->stack.top - (gc_word *)w->stack.base);
    for (size_t i = 0; i < STACKED; i++) {
        root *r = &w->roots[STACK_ROOTS + i];
        if (i >= count) r->index = 0;
        r->home = STACK;
        r->slot = i < count ? (gc_word *)w->stack.base + i : NULL;
    }
}

static unsigned random_flags(prng *random) {
    static const unsigned flags[] = {0,
                                     0,
                                     0,
                                     GC_SLOT_INTERIOR,
                                     GC_SLOT_PINNED,
                                     GC_SLOT_CONSERVATIVE,
                                     GC_SLOT_INTERIOR | GC_SLOT_PINNED,
                                     ROOT_VALUES ? GC_SLOT_VALUE : 0,
                                     ROOT_VALUES ? GC_SLOT_VALUE | GC_SLOT_PINNED : 0};
    return flags[below(random, sizeof flags / sizeof *flags)];
}

static void block_add(world *w, size_t i) {
    block *b = &w->blocks[i];
    memset(b->slots, 0, sizeof b->slots);
    b->added = true;
    b->flags = i < 2 ? 0 : random_flags(&w->random);
    if (gc_roots_add(w->heap, b->slots, BLOCK_SLOTS, b->flags) != GC_OK) wrong("gc_roots_add: %s", gc_last_message());
    for (size_t j = 0; j < BLOCK_SLOTS; j++)
        w->roots[FRAMES + i * BLOCK_SLOTS + j] = (root){.slot = &b->slots[j], .flags = b->flags, .home = GLOBAL};
}

/* What stays in the slots must not matter any more. */
static void block_remove(world *w, size_t i) {
    block *b = &w->blocks[i];
    if (gc_roots_remove(w->heap, b->slots) != GC_OK) wrong("gc_roots_remove: %s", gc_last_message());
    if (gc_roots_remove(w->heap, b->slots) == GC_OK) wrong("gc_roots_remove removes the same roots twice");
    b->added = false;
    for (size_t j = 0; j < BLOCK_SLOTS; j++) w->roots[FRAMES + i * BLOCK_SLOTS + j].slot = NULL;
}

static void handle_make(world *w, root *r) {
    r->handle_kind = (gc_handle_kind)below(&w->random, GC_HANDLE_KINDS);
    r->handle = gc_handle_create(w->heap, r->handle_kind, NULL);
    if (!r->handle && gc_last_result() == GC_ERROR_HEAP_FULL) { /* it does not collect by itself */
        gc_collect(w->heap, 2, GC_COLLECT_BLOCKING | GC_COLLECT_COMPACTING);
        r->handle = gc_handle_create(w->heap, r->handle_kind, NULL);
    }
    if (!r->handle && gc_last_result() != GC_ERROR_HEAP_FULL) wrong("gc_handle_create: %s", gc_last_message());
    r->index = 0;
}

/* `frame` are the slots of the frame that the caller has made. */
static void world_roots(world *w, gc_word *frame) {
    root *r = w->roots;
    memset(w->roots, 0, sizeof w->roots);
    for (size_t i = 0; i < FRAMES; i++) *r++ = (root){.slot = &frame[i], .home = FRAME};
    for (size_t i = 0; i < BLOCKS; i++) block_add(w, i);
    r += BLOCKS * BLOCK_SLOTS;
    for (size_t i = 0; i < SCANS; i++) {
        w->scanned[i] = 0;
        *r++ = (root){.slot = &w->scanned[i], .flags = i < 8 ? 0 : random_flags(&w->random), .home = SCANNED};
    }
    memset(w->weak, 0, sizeof w->weak);
    for (size_t i = 0; i < WEAKS; i++) *r++ = (root){.slot = &w->weak[i], .home = TABLE};
    w->stack = (gc_value_stack){0};
    w->frame = 0;
    stack_roots(w);
    r += STACKED;
    for (size_t i = 0; i < HANDLES; i++, r++) {
        r->home = HANDLE;
        handle_make(w, r);
    }
    w->nested = 0;
}
