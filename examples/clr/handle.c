/* The table of handles: blocks of one type each, so that a collection looks at whole arrays of words. */
#include "handle.h"

#include "events.h"
#include "report.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 16384, BLOCK_HANDLES = 1000 };

typedef struct handle_block {
    struct handle_block *next;
    handle_type type;
    size_t used;        /* places that were ever in use: the first ones */
    uintptr_t *targets; /* of weak interior handles: what the words held when the collection began */
    uintptr_t words[BLOCK_HANDLES];
    uintptr_t extras[BLOCK_HANDLES]; /* dependents, locations, the runtime's words; of free places the next one */
} handle_block;
_Static_assert(sizeof(handle_block) <= BLOCK_BYTES, "a block's address is found from a handle's");

/* Guards what follows; held for a few instructions, without a safe point. */
static volatile char lock;
static handle_block *blocks[HANDLE_TYPES];
static uintptr_t *free_places[HANDLE_TYPES];
static bool collecting;
static uintptr_t **destroyed; /* in the collection that runs, whose lists name these places */
static size_t destroyed_count, destroyed_room;

static void lock_take(void) {
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
static void lock_release(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

static handle_block *block_of(const uintptr_t *handle) {
    return (handle_block *)((uintptr_t)handle & ~(uintptr_t)(BLOCK_BYTES - 1));
}
static uintptr_t *extra_of(uintptr_t *handle) { return &block_of(handle)->extras[handle - block_of(handle)->words]; }

static handle_block *block_add(handle_type type) {
    handle_block *block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
    if (!block) return NULL;
    memset(block, 0, sizeof *block);
    block->type = type;
    if (type == HANDLE_WEAK_INTERIOR) block->targets = calloc(BLOCK_HANDLES, sizeof(uintptr_t));
    block->next = blocks[type];
    blocks[type] = block;
    return block;
}

static uintptr_t *place_take(handle_type type) {
    uintptr_t *place = free_places[type];
    if (place) {
        free_places[type] = (uintptr_t *)*extra_of(place);
        return place;
    }
    handle_block *block = blocks[type];
    if (!block || block->used == BLOCK_HANDLES) block = block_add(type);
    return block ? &block->words[block->used++] : NULL;
}

static void place_give(uintptr_t *place) {
    handle_type type = block_of(place)->type;
    *extra_of(place) = (uintptr_t)free_places[type];
    free_places[type] = place;
}

static uintptr_t *handle_create(uintptr_t object, handle_type type, uintptr_t extra) {
    if ((unsigned)type >= HANDLE_TYPES) fatal("a handle of type %d, which is not known, was asked for", (int)type);
    lock_take();
    uintptr_t *handle = place_take(type);
    if (handle) {
        *extra_of(handle) = extra;
        __atomic_store_n(handle, object, __ATOMIC_RELEASE);
    }
    lock_release();
    events_handle(handle, object, type);
    return handle;
}

static void destroyed_push(uintptr_t *handle) {
    if (destroyed_count == destroyed_room) {
        destroyed_room = destroyed_room ? 2 * destroyed_room : 256;
        destroyed = realloc(destroyed, destroyed_room * sizeof *destroyed);
        if (!destroyed) fatal("there is no memory for a list of handles");
    }
    destroyed[destroyed_count++] = handle;
}

static void handle_destroy(uintptr_t *handle) {
    if (!handle) return;
    events_handle_destroyed(handle);
    lock_take();
    __atomic_store_n(handle, 0, __ATOMIC_RELEASE);
    if (collecting)
        destroyed_push(handle);
    else
        place_give(handle);
    lock_release();
}

/* Collections. */

static void note_targets(void) {
    for (handle_block *block = blocks[HANDLE_WEAK_INTERIOR]; block; block = block->next)
        if (block->targets) memcpy(block->targets, block->words, block->used * sizeof(uintptr_t));
}

void handle_begin_collection(void) {
    lock_take();
    collecting = true;
    note_targets();
    lock_release();
}

void handle_end_collection(void) {
    lock_take();
    collecting = false;
    for (size_t i = 0; i < destroyed_count; i++) {
        *destroyed[i] = 0; /* the collection may have written to it */
        place_give(destroyed[i]);
    }
    destroyed_count = 0;
    lock_release();
}

void handle_update_interior(void) {
    for (handle_block *block = blocks[HANDLE_WEAK_INTERIOR]; block; block = block->next)
        for (size_t i = 0; i < block->used; i++)
            if (block->words[i] && block->targets && block->extras[i])
                *(uintptr_t *)block->extras[i] += block->words[i] - block->targets[i];
}

static void visit_weak(gc_visitor *visitor, handle_block *block, size_t from, size_t count, gc_weak_kind kind,
                       unsigned flags) {
    gc_weak_entries entries = {
        .keys = block->words + from, .count = count, .entry_bytes = 8, .kind = kind, .flags = GC_SLOT_VALUE | flags};
    if (kind == GC_WEAK_EPHEMERONS) entries.values = block->extras + from;
    gc_visit_weak(visitor, &entries);
}

static void visit_ref_counted(gc_visitor *visitor, handle_block *block) {
    for (size_t i = 0; i < block->used; i++) {
        if (!block->words[i]) continue;
        if (runtime_holds_ref_counted(block->words[i]))
            gc_visit(visitor, &block->words[i], 1, GC_SLOT_VALUE);
        else
            visit_weak(visitor, block, i, 1, GC_WEAK_REFS, GC_SLOT_WEAK_LONG);
    }
}

/* To gc.h a key that is null keeps its value alive. The runtime sets the target of a pair to null to let go of it; threads may
   be reading pairs then, so the dependent goes in the pause. Links of free places lead elsewhere. */
static void forget_dependents(handle_block *block) {
    for (size_t i = 0; i < block->used; i++)
        if (!block->words[i] && gc_heap_contains(heap, (void *)block->extras[i])) block->extras[i] = 0;
}

static void visit_block(gc_visitor *visitor, handle_block *block) {
    switch (block->type) {
    case HANDLE_WEAK_SHORT:
    case HANDLE_WEAK_COM:
        visit_weak(visitor, block, 0, block->used, GC_WEAK_REFS, 0);
        break;
    case HANDLE_WEAK_LONG:
    case HANDLE_WEAK_INTERIOR:
        visit_weak(visitor, block, 0, block->used, GC_WEAK_REFS, GC_SLOT_WEAK_LONG);
        break;
    case HANDLE_DEPENDENT:
        forget_dependents(block);
        visit_weak(visitor, block, 0, block->used, GC_WEAK_EPHEMERONS, GC_SLOT_WEAK_LONG);
        break;
    case HANDLE_REF_COUNTED:
        visit_ref_counted(visitor, block);
        break;
    case HANDLE_PINNED:
    case HANDLE_ASYNC_PINNED:
        gc_visit(visitor, block->words, block->used, GC_SLOT_VALUE | GC_SLOT_PINNED);
        break;
    default:
        gc_visit(visitor, block->words, block->used, GC_SLOT_VALUE);
        break;
    }
}

void handle_visit(gc_visitor *visitor) {
    for (int type = 0; type < HANDLE_TYPES; type++)
        for (handle_block *block = blocks[type]; block; block = block->next)
            if (block->used) visit_block(visitor, block);
}

/* Questions. */

static void each_of(handle_type type, handle_walk_function *each, void *context) {
    for (handle_block *block = blocks[type]; block; block = block->next)
        for (size_t i = 0; i < block->used; i++)
            if (block->words[i]) each(&block->words[i], block->extras[i], type, context);
}
void handle_each(handle_walk_function *each, void *context) {
    for (int type = 0; type < HANDLE_TYPES; type++) each_of((handle_type)type, each, context);
}
void handle_each_pinned(handle_walk_function *each, void *context) {
    each_of(HANDLE_PINNED, each, context);
    each_of(HANDLE_ASYNC_PINNED, each, context);
}

static void count_one(uintptr_t *handle, uintptr_t extra, handle_type type, void *context) {
    (void)handle, (void)extra, (void)type, ++*(size_t *)context;
}
size_t handle_count(void) {
    size_t count = 0;
    handle_each(count_one, &count);
    return count;
}
size_t handle_count_pinned(void) {
    size_t count = 0;
    handle_each_pinned(count_one, &count);
    return count;
}

/* The runtime's interface: IGCHandleManager and IGCHandleStore. */

static interface handle_store;

static bool manager_initialize(interface *self) { return (void)self, true; }
static void manager_nothing(interface *self) { (void)self; }
static interface *manager_store(interface *self) { return (void)self, &handle_store; }
static uintptr_t *manager_create(interface *self, uintptr_t object, int32_t type) {
    return (void)self, handle_create(object, (handle_type)type, 0);
}
static uintptr_t *manager_duplicate(interface *self, const uintptr_t *handle) {
    return (void)self, handle_create(*handle, block_of(handle)->type, *extra_of((uintptr_t *)handle));
}
static void manager_destroy(interface *self, uintptr_t *handle) { (void)self, handle_destroy(handle); }
static void manager_set_extra(interface *self, uintptr_t *handle, int32_t type, uintptr_t extra) {
    (void)self, (void)type, *extra_of(handle) = extra;
}
static void manager_set_dependent(interface *self, uintptr_t *handle, uintptr_t object) {
    (void)self, *extra_of(handle) = object;
}
static uintptr_t manager_extra(interface *self, uintptr_t *handle) { return (void)self, *extra_of(handle); }
static void manager_set(interface *self, uintptr_t *handle, uintptr_t object) {
    (void)self, __atomic_store_n(handle, object, __ATOMIC_RELEASE);
}
static uintptr_t manager_exchange(interface *self, uintptr_t *handle, uintptr_t object, uintptr_t expected) {
    (void)self;
    __atomic_compare_exchange_n(handle, &expected, object, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}
static bool manager_set_if_null(interface *self, uintptr_t *handle, uintptr_t object) {
    return manager_exchange(self, handle, object, 0) == 0;
}
static int32_t manager_type(interface *self, const uintptr_t *handle) { return (void)self, block_of(handle)->type; }

static void manager_trace_ref_counted(interface *self, handle_function *scan, uintptr_t first, uintptr_t second) {
    (void)self;
    for (handle_block *block = blocks[HANDLE_REF_COUNTED]; block; block = block->next)
        for (size_t i = 0; i < block->used; i++)
            if (block->words[i]) scan(&block->words[i], &block->extras[i], first, second);
}

static bool store_contains(interface *self, const uintptr_t *handle) { return (void)self, handle != NULL; }
static uintptr_t *store_create_for_heap(interface *self, uintptr_t object, int32_t type, int32_t heap_number) {
    return (void)heap_number, manager_create(self, object, type);
}
static uintptr_t *store_create_with_extra(interface *self, uintptr_t object, int32_t type, uintptr_t extra) {
    return (void)self, handle_create(object, (handle_type)type, extra);
}
static uintptr_t *store_create_dependent(interface *self, uintptr_t object, uintptr_t dependent) {
    return (void)self, handle_create(object, HANDLE_DEPENDENT, dependent);
}

static void *const store_slots[STORE_SLOTS] = {manager_nothing,       store_contains,          manager_create,
                                               store_create_for_heap, store_create_with_extra, store_create_dependent,
                                               manager_nothing,       manager_nothing};
static interface handle_store = {store_slots};

static void *const manager_slots[MANAGER_SLOTS] = {
    manager_initialize,  manager_nothing,          manager_store,     manager_store,
    manager_nothing,     manager_create,           manager_duplicate, manager_destroy,
    manager_destroy,     manager_set_extra,        manager_extra,     manager_set,
    manager_set_if_null, manager_set_dependent,    manager_extra,     manager_exchange,
    manager_type,        manager_trace_ref_counted};
interface handle_manager = {manager_slots};
