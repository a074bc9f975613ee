/* Tools want to know of each object that a collection has condemned whether it survives, and where it is then. Old addresses
   cannot be listed amid a collection, so they are listed when it begins, but only if somebody asks for them. */
#include "diagnose.h"

#include "finalize.h"
#include "handle.h"
#include "heap.h"
#include "report.h"

#include <stdlib.h>

/* References and objects. */

typedef struct reference_walk {
    gc_visitor visitor;
    walk_function *each;
    walk_slots_function *each_slot; /* instead of that */
    void *context;
    uintptr_t object;
    bool ended;
} reference_walk;

static void walk_slots(gc_visitor *visitor, void *slots_of, size_t count, unsigned flags) {
    reference_walk *walk = (reference_walk *)visitor;
    (void)flags;
    for (uintptr_t *slot = slots_of; count && !walk->ended; slot++, count--)
        if (*slot)
            walk->ended = walk->each_slot ? !walk->each_slot(walk->object, slot, walk->context)
                                          : !walk->each(*slot, walk->context);
}
void diagnose_object(interface *self, uintptr_t object, walk_function *each, void *context) {
    reference_walk walk = {{walk_slots}, each, NULL, context, object, false};
    (void)self, gc_object_visit(gc_of(object), &walk.visitor);
}
void diagnose_slots(interface *self, uintptr_t object, walk_slots_function *each, void *context) {
    reference_walk walk = {{walk_slots}, NULL, each, context, object, false};
    (void)self, gc_object_visit(gc_of(object), &walk.visitor);
}

typedef struct heap_walk {
    walk_function *each;
    void *context;
    int generation; /* the oldest */
} heap_walk;

static bool walk_one(void *context, void *object, size_t bytes, int generation) {
    const heap_walk *walk = context;
    (void)bytes;
    if (generation > walk->generation || object_type(clr_of(object)) == runtime_free_type()) return true;
    return walk->each(clr_of(object), walk->context);
}
void diagnose_heap(interface *self, walk_function *each, void *context, int32_t generation, bool with_large) {
    heap_walk walk = {each, context, generation};
    (void)self, (void)with_large, gc_heap_walk(heap, walk_one, &walk);
}

/* Survivors. */

typedef struct condemned_object {
    uintptr_t from, to; /* without their headers; `to` is 0 if it died */
} condemned_object;

static condemned_object *condemned;
static size_t condemned_count, condemned_room;
static uintptr_t *finalizable;
static size_t finalizable_count, finalizable_room;
static bool asking, wanted; /* whether the runtime wants survivors, which it says by asking for them */
static bool moved;          /* whether one of them has */

static void *grown(void *list, size_t count, size_t *room, size_t item_bytes) {
    if (count < *room) return list;
    *room = *room ? 2 * *room : 1024;
    list = realloc(list, *room * item_bytes);
    if (!list) fatal("there is no memory for a list of objects that somebody traces");
    return list;
}

static bool note_condemned(void *context, void *object, size_t bytes, int generation) {
    (void)bytes;
    if (generation > *(const int *)context) return true;
    condemned = grown(condemned, condemned_count, &condemned_room, sizeof *condemned);
    condemned[condemned_count++] = (condemned_object){clr_of(object), 0};
    return true;
}

void diagnose_begin(int generation) {
    wanted = false;
    asking = true;
    runtime_walk_survivors(true);
    asking = false;
    condemned_count = finalizable_count = 0;
    if (wanted) gc_heap_walk(heap, note_condemned, &generation);
}

void diagnose_note_finalizable(uintptr_t object) {
    if (!wanted) return;
    finalizable = grown(finalizable, finalizable_count, &finalizable_room, sizeof *finalizable);
    finalizable[finalizable_count++] = object;
}

void diagnose_traced(void) {
    if (!wanted) return;
    moved = false;
    for (condemned_object *one = condemned; one < condemned + condemned_count; one++) {
        void *now = gc_collection_find(heap, gc_of(one->from));
        one->to = now ? clr_of(now) : 0;
        moved |= now && one->to != one->from;
    }
    runtime_walk_finalizable();
    runtime_walk_survivors(moved);
    free(condemned);
    condemned = NULL;
    condemned_count = condemned_room = 0;
}

/* An object's type and length are in its old place still. */
void diagnose_survivors(interface *self, void *of_collection, survivor_function *each, void *context, int32_t type,
                        int32_t generation) {
    (void)self, (void)of_collection, (void)type, (void)generation;
    if (asking) wanted = true;
    if (asking || !wanted) return;
    for (size_t i = 0, next; i < condemned_count; i = next) {
        uintptr_t begin = condemned[i].from, end = begin + object_bytes(begin), by = condemned[i].to - begin;
        next = i + 1;
        if (!condemned[i].to) continue;
        for (; next < condemned_count && condemned[next].from == end && condemned[next].to - end == by; next++)
            end += object_bytes(end);
        each(begin, end, (ptrdiff_t)by, context, moved, false);
    }
}

void diagnose_finalizable(interface *self, void *of_collection, finalizable_function *each) {
    (void)self, (void)of_collection;
    for (size_t i = 0; i < finalizable_count; i++) each(object_has_critical_finalizer(finalizable[i]), finalizable[i]);
}

/* Roots. */

enum { ROOT_PINNED = 1, ROOT_WEAK = 2, ROOT_REF_COUNTED = 8 };

typedef struct root_walk {
    handle_root_function *each;
    scan_context *context;
} root_walk;

static void walk_handle(uintptr_t *handle, uintptr_t extra, handle_type type, void *context) {
    const root_walk *walk = context;
    uint32_t flags = 0;
    (void)extra;
    if (type == HANDLE_DEPENDENT) return;
    if (type == HANDLE_PINNED || type == HANDLE_ASYNC_PINNED) flags = ROOT_PINNED;
    if (type == HANDLE_REF_COUNTED) flags = ROOT_REF_COUNTED | (runtime_holds_ref_counted(*handle) ? 0 : ROOT_WEAK);
    if (type == HANDLE_WEAK_SHORT || type == HANDLE_WEAK_LONG || type == HANDLE_WEAK_COM || type == HANDLE_WEAK_INTERIOR)
        flags = ROOT_WEAK;
    walk->each(handle, 0, flags, walk->context, false);
}
void diagnose_handles(interface *self, handle_root_function *each, int32_t generation, scan_context *context) {
    root_walk walk = {each, context};
    (void)self, (void)generation, handle_each(walk_handle, &walk);
}

static void walk_dependent(uintptr_t *handle, uintptr_t extra, handle_type type, void *context) {
    const root_walk *walk = context;
    if (type == HANDLE_DEPENDENT) walk->each(handle, extra, ROOT_WEAK, walk->context, true);
}
void diagnose_dependent_handles(interface *self, handle_root_function *each, int32_t generation, scan_context *context) {
    root_walk walk = {each, context};
    (void)self, (void)generation, handle_each(walk_dependent, &walk);
}

typedef struct finalizer_walk {
    gc_visitor visitor;
    root_function *each;
    scan_context *context;
} finalizer_walk;

static void walk_critical(gc_visitor *visitor, void *slots_of, size_t count, unsigned flags) {
    finalizer_walk *walk = (finalizer_walk *)visitor;
    (void)flags;
    for (uintptr_t *slot = slots_of; count; slot++, count--) walk->each(slot, walk->context, 0);
}
void diagnose_finalizer_roots(interface *self, root_function *each, scan_context *context) {
    finalizer_walk walk = {{walk_critical}, each, context};
    (void)self, finalize_visit(&walk.visitor);
}

/* Generations. */

void diagnose_ranges(range_function *each, void *context) {
    uintptr_t start = 0;
    int generation = GC_GENERATIONS;
    for (uintptr_t at = heap_lowest(); at <= heap_highest(); at += GC_REGION_BYTES) {
        int now = at < heap_highest() && gc_heap_contains(heap, (void *)at) ? gc_object_generation((void *)at) : GC_GENERATIONS;
        if (now == generation) continue;
        if (generation < GC_GENERATIONS) each(context, generation, start, at, at);
        start = at;
        generation = now;
    }
}
void diagnose_generations(interface *self, range_function *each, void *context) { (void)self, diagnose_ranges(each, context); }
