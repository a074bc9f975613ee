/* Looking into a process from outside: a child of this one, whose heap is known. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
#include "../inside.h"
#include "../fixture.h"
#include "dac_permission.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

static unsigned how = GC_DAC_STOP; /* its children are read; where ptrace is not permitted, without registers */
static bool first_ends;            /* whether a child's first thread ends before others */
static gc_options child_options;
static node *list;
static vector *items;

typedef struct counts {
    gc_dac *dac;
    const gc_dac_heap *heap;
    size_t nodes, vectors, bytes, others, unfinished, elements, named;
    uint64_t sum, address_of_list;
} counts;

static bool count_slot(void *context, const gc_dac_slot *slot) {
    counts *all = context;
    if (slot->index != UINT64_MAX) all->elements += slot->reference != 0;
    if (slot->name && strcmp(slot->name, "left") == 0 && slot->offset == offsetof(node, left)) all->named++;
    return true;
}

static bool count_object(void *context, const gc_dac_object *object) {
    counts *all = context;
    if (object->flags & GC_DAC_UNFINISHED) return all->unfinished++, true;
    const char *name = object->type->name;
    if (strcmp(name, "node") == 0) {
        all->nodes++;
        all->sum += ((const node *)(const void *)object->contents)->value;
        if (all->nodes == 1) gc_dac_slots(all->dac, object, count_slot, all);
    } else if (strcmp(name, "vector") == 0) {
        all->vectors++;
        if (!gc_dac_slots(all->dac, object, count_slot, all)) diag("%s", gc_dac_message(all->dac));
    } else if (strcmp(name, "bytes") == 0) {
        all->bytes += object->length;
    } else {
        all->others++;
    }
    return true;
}

static bool one_heap(void *context, const gc_dac_heap *each) {
    counts *all = context;
    static gc_dac_heap found;
    found = *each;
    all->heap = &found;
    return true;
}

static void *wait_for_ever(void *unused) {
    for (;;) pause();
    return unused;
}

static void end_before_others(void) {
    pthread_t other;
    gc_thread_detach(gc);
    if (pthread_create(&other, NULL, wait_for_ever, NULL) != 0) _exit(1);
    pthread_exit(NULL);
}

/* A child that has filled the heap, and waits. */
static pid_t child(void (*fill)(void)) {
    int ready[2];
    char byte;
    if (pipe(ready) != 0) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        begin(&child_options);
        gc_roots_add(heap, &list, 1, 0);
        gc_roots_add(heap, &items, 1, 0);
        fill();
        if (write(ready[1], "x", 1) != 1) _exit(1);
        if (first_ends) end_before_others();
        for (;;) pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) diag("the child has ended");
    close(ready[0]);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static counts count(gc_dac *dac) {
    counts all = {dac, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ok(gc_dac_heaps(dac, one_heap, &all), "its heaps: %s", gc_dac_message(dac));
    if (all.heap) ok(gc_dac_objects(dac, all.heap, count_object, &all), "its objects: %s", gc_dac_message(dac));
    return all;
}

static void fill(void) {
    for (uint64_t i = 0; i < 10000; i++) {
        node *fresh = new_node(i);
        gc_store(gc, &fresh->left, list);
        list = fresh;
    }
    items = new_vector(100);
    for (int i = 0; i < 10; i++) gc_store(gc, &items->items[i], list);
    void *large = new_bytes(3 * GC_REGION_BYTES);
    gc_store(gc, &items->items[50], large);
    full();
    for (uint64_t i = 10000; i < 20000; i++) {
        node *fresh = new_node(i);
        gc_store(gc, &fresh->left, list);
        list = fresh;
    }
    for (int i = 0; i < 5; i++) gc_new_with(gc, &bytes_type, 100, GC_NEW_RAW);
}

static void check(const counts *all) {
    is(all->nodes, 20000, "nodes, in windows and out of them");
    is(all->sum, 20000 * 19999 / 2, "with their contents");
    is(all->vectors, 1, "a vector");
    is(all->elements, 11, "eleven of whose elements refer to something");
    is(all->bytes, 500 + 3 * GC_REGION_BYTES, "bytes, a large object among them");
    is(all->others + all->unfinished, 0, "nothing else");
    is(all->named, 1, "a field by its name");
}

static void test_live(void) {
    pid_t pid = child(fill);
    gc_dac *dac = gc_dac_open_process(pid, how);
    counts all = count(dac);
    check(&all);
    gc_dac_close(dac);
    stop(pid);
}

/* Objects that are born in generation 2 have no marks before their thread leaves the hole. */
static void test_born_old(void) {
    child_options = (gc_options){.concurrent = GC_CONCURRENT_ON, .test.born_old = true};
    pid_t pid = child(fill);
    child_options = (gc_options){0};
    gc_dac *dac = gc_dac_open_process(pid, how);
    counts all = count(dac);
    check(&all);
    gc_dac_close(dac);
    stop(pid);
}

/* The kernel has nothing to say of a thread that has ended, and the process has that one's number. */
static void test_first_thread_ended(unsigned flags) {
    first_ends = true;
    pid_t pid = child(fill);
    first_ends = false;
    for (int wait = 0; wait < 20000 && !gc__dac_os_has_ended(pid); wait++) usleep(1000);
    gc_dac *dac = gc_dac_open_process(pid, flags);
    counts all = count(dac);
    check(&all);
    gc_dac_close(dac);
    stop(pid);
}

/* What the system says that the process does: 'D' while it waits in the kernel. */
static char state_of(pid_t pid) {
    char name[40], state = 0;
    snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(name, "r");
    if (!file) return 0;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
    fclose(file);
    return state;
}

/* Nothing stops a thread that waits for a child of vfork. It must go on behind that as if nobody had tried. */
static void test_thread_in_kernel(void) {
    char byte = 'x';
    int gate[2], after[2];
    if (pipe(gate) != 0 || pipe(after) != 0) return diag("no pipes");
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        if (vfork() == 0) _exit((int)read(gate[0], &byte, 1));
        if (write(after[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    for (int wait = 0; wait < 20000 && state_of(pid) != 'D'; wait++) usleep(1000);
    gc_dac *dac = gc_dac_open_process(pid, GC_DAC_STOP);
    has(gc_dac_message(dac), "waits in the kernel", "a thread that waits for a child of vfork");
    gc_dac_close(dac);
    close(after[1]);
    struct pollfd goes_on = {.fd = after[0], .events = POLLIN};
    ok(write(gate[1], "x", 1) == 1 && poll(&goes_on, 1, 20000) == 1 && read(after[0], &byte, 1) == 1,
       "goes on when the child has ended");
    stop(pid);
    close(gate[0]), close(gate[1]), close(after[0]);
}

/* Everything that keeps objects alive, each kind once. */

typedef struct seen {
    gc_dac *dac;
    gc_dac_heap heap;
    unsigned roots[GC_DAC_ROOT_KINDS];
    char frame[200], global[200];
    unsigned handles[GC_HANDLE_KINDS], finalizers[4], frames, threads;
    uint64_t dependent, pinned, finalized;
    char finalized_type[32], frame_names[64];
    gc_dac_thread thread;
} seen;

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer quiet = {finalize, false, NULL};

static void wait_in_frames(void) {
    node *first = new_node(1), *second = new_node(2);
    vector *third = NULL;
    void *many[3] = {NULL, NULL, NULL};
    GC_ROOTS(gc, first, second, third);
    GC_ROOTS_ARRAY(gc, many, 3, 0);
    many[2] = new_node(3);
    items = new_vector(1);
    gc_thread_set_name(gc, "the mutator");
    gc_handle_create(heap, GC_HANDLE_WEAK, first);
    gc_handle_create(heap, GC_HANDLE_STRONG, new_node(4));
    gc_handle_create(heap, GC_HANDLE_PINNED, new_node(5));
    gc_handle_create(heap, GC_HANDLE_REF_COUNTED, first);
    gc_handle_create_dependent(heap, first, second);
    gc_handle_destroy(heap, gc_handle_create(heap, GC_HANDLE_STRONG, first));
    gc_finalizer_register(gc, first, &quiet);
    gc_finalizer_register(gc, new_node(6), &quiet);
    full();
    void *past = first + 1; /* where another object may be, of which it is no root */
    GC_ROOTS_WITH(gc, GC_SLOT_DERIVED, first, past);
    GC_ROOTS_DURING(gc, 0, raise(SIGSTOP), second, first);
}

static bool see_root(void *context, const gc_dac_root *root) {
    seen *all = context;
    all->roots[root->kind]++;
    if (root->kind == GC_DAC_ROOT_FRAME)
        snprintf(all->frame + strlen(all->frame), sizeof all->frame - strlen(all->frame), "%s:%s[%d] ", root->function,
                 root->variable, (int)root->index);
    if (root->kind == GC_DAC_ROOT_HANDLE && root->pinned) all->pinned = root->reference;
    return true;
}
static bool see_handle(void *context, const gc_dac_handle *handle) {
    seen *all = context;
    all->handles[handle->kind]++;
    if (handle->kind == GC_HANDLE_DEPENDENT) all->dependent = handle->extra;
    return true;
}
static bool see_finalizer(void *context, const gc_dac_finalizer *finalizer) {
    seen *all = context;
    all->finalizers[finalizer->state]++;
    snprintf(all->finalized_type, sizeof all->finalized_type, "%s", finalizer->type);
    return true;
}
static bool see_frame(void *context, const gc_dac_frame *frame) {
    seen *all = context;
    all->frames++;
    if (frame->kind == GC_DAC_FRAME_ROOTS) snprintf(all->frame_names, sizeof all->frame_names, "%s", frame->names);
    return true;
}
static bool see_thread(void *context, const gc_dac_thread *thread) {
    seen *all = context;
    all->threads++;
    all->thread = *thread;
    return true;
}
static bool see_heap(void *context, const gc_dac_heap *each) {
    ((seen *)context)->heap = *each;
    return true;
}
static bool see_statistic(void *context, const char *name, uint64_t value) {
    if (strcmp(name, "collections[2]") == 0) *(uint64_t *)context = value;
    return true;
}

static void test_roots(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        begin(NULL);
        gc_roots_add(heap, &items, 1, 0);
        wait_in_frames();
        _exit(0);
    }
    waitpid(pid, &status, WUNTRACED);
    seen all;
    memset(&all, 0, sizeof all);
    all.dac = gc_dac_open_process(pid, how);
    ok(gc_dac_heaps(all.dac, see_heap, &all), "a heap: %s", gc_dac_message(all.dac));
    ok(gc_dac_roots(all.dac, &all.heap, see_root, &all), "its roots: %s", gc_dac_message(all.dac));
    is(all.roots[GC_DAC_ROOT_FRAME], 6, "three variables in frames, one twice, and one three times; what is derived is none");
    has(all.frame, "wait_in_frames:first[0] wait_in_frames:second[1]", "by their names");
    has(all.frame, "wait_in_frames:second[0] wait_in_frames:first[1]", "and so are copies of variables");
    has(all.frame, "wait_in_frames:many[][2]", "an array's variable by its number");
    is(all.roots[GC_DAC_ROOT_GLOBAL], 1, "a global slot");
    is(all.roots[GC_DAC_ROOT_HANDLE], 3, "three handles that keep objects");
    is(all.roots[GC_DAC_ROOT_FINALIZER], 1, "an object that waits for its finalizer");
    ok(gc_dac_handles(all.dac, &all.heap, see_handle, &all), "its handles: %s", gc_dac_message(all.dac));
    for (int kind = 0; kind < GC_HANDLE_KINDS; kind++)
        is(all.handles[kind], kind != GC_HANDLE_WEAK_LONG, "handles of kind %d", kind);
    gc_dac_object object;
    ok(gc_dac_object_at(all.dac, all.dependent, &object), "the dependent's object: %s", gc_dac_message(all.dac));
    is(((const node *)(const void *)object.contents)->value, 2, "is the second");
    ok(gc_dac_object_at(all.dac, all.pinned + 9, &object) && object.address == all.pinned,
       "an address within an object");
    ok(!gc_dac_object_at(all.dac, 4096, &object), "no object");
    has(gc_dac_message(all.dac), "in no heap", "and the reason");
    ok(gc_dac_finalizers(all.dac, &all.heap, see_finalizer, &all), "its finalizers: %s", gc_dac_message(all.dac));
    is(all.finalizers[GC_DAC_REGISTERED], 1, "one registered");
    is(all.finalizers[GC_DAC_DUE], 1, "one due");
    has(all.finalized_type, "node", "with the type of its object");
    ok(gc_dac_threads(all.dac, &all.heap, see_thread, &all), "its threads: %s", gc_dac_message(all.dac));
    is(all.threads, 1, "one thread");
    is(all.thread.tid, pid, "by its number");
    has(all.thread.name, "the mutator", "by its name");
    if (how) ok(all.thread.pc && all.thread.sp && all.thread.sp < all.thread.stack_base, "with its registers");
    ok(all.thread.running && all.thread.mode == GC_DAC_COOPERATIVE, "in cooperative mode");
    ok(gc_dac_frames(all.dac, &all.heap, &all.thread, see_frame, &all), "its frames: %s", gc_dac_message(all.dac));
    is(all.frames, 4, "four scopes of GC_ROOTS");
    has(all.frame_names, "first, second, third", "the outer one last");
    uint64_t collections = 0;
    ok(gc_dac_statistics(all.dac, &all.heap, see_statistic, &collections), "its statistics: %s",
       gc_dac_message(all.dac));
    is(collections, 1, "one full collection");
    is(all.heap.collections, 1, "as the heap says");
    has(all.heap.collection_reason, "gc_collect", "with the reason");
    gc_dac_close(all.dac);
    stop(pid);
}

/* Roots that only scan_roots knows, as it has reported them to the last collection; and weak arrays. */

typedef struct pair {
    node *key, *value;
} pair;
typedef struct pairs {
    gc_array header;
    pair items[];
} pairs;
static const gc_type names_type = GC_TYPE_ARRAY_TRACED(vector, items, gc_trace_weak);
static const gc_type pairs_type = GC_TYPE_ARRAY_TRACED(pairs, items, gc_trace_ephemerons);
static node *scanned[3];
static gc_value_stack values;

static void scan(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host;
    if (!thread) return;
    gc_visit(visitor, scanned, 3, 0);
    gc_visit_stack(visitor, &values, NULL);
}

static void wait_scanned(void) {
    static node *entries[10];
    values.base = values.top = entries;
    values.limit = entries + 10;
    for (uint64_t i = 0; i < 4; i++) {
        entries[i] = new_node(100 + i);
        values.top = entries + i + 1;
    }
    for (uint64_t i = 0; i < 3; i++) scanned[i] = new_node(i);
    vector *names = gc_new_array(gc, &names_type, 3);
    gc_store(gc, &names->items[0], scanned[0]);
    gc_store(gc, &names->items[2], scanned[1]);
    list = (node *)names;
    pairs *table = gc_new_array(gc, &pairs_type, 2);
    gc_store(gc, &table->items[1].key, scanned[1]);
    gc_store(gc, &table->items[1].value, scanned[2]);
    items = (vector *)table;
    full();
    scanned[2] = NULL;
    values.top = entries + 2;
    raise(SIGSTOP);
}

typedef struct links {
    gc_dac *dac;
    gc_dac_heap heap;
    unsigned uncertain, strong, weak, keeping;
    uint64_t kept;
} links;
static bool see_link_heap(void *context, const gc_dac_heap *each) { return ((links *)context)->heap = *each, true; }
static bool see_scanned(void *context, const gc_dac_root *root) {
    links *all = context;
    all->uncertain += root->kind == GC_DAC_ROOT_SCANNED && !root->certain;
    return true;
}
static bool see_slot(void *context, const gc_dac_slot *slot) {
    links *all = context;
    if (slot->reference && slot->flags & GC_DAC_SLOT_WEAK) all->weak++;
    if (slot->reference && !(slot->flags & GC_DAC_SLOT_WEAK)) all->strong++;
    return true;
}
static bool see_reference(void *context, uint64_t reference, bool guessed) {
    links *all = context;
    all->keeping += 1 + guessed * 100;
    all->kept = reference;
    return true;
}
static bool see_links(void *context, const gc_dac_object *object) {
    links *all = context;
    if (strcmp(object->type->name, "node") == 0) return true;
    gc_dac_slots(all->dac, object, see_slot, all);
    gc_dac_references(all->dac, object, see_reference, all);
    return true;
}

static void test_scanned(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        begin(&(gc_options){.scan_roots = scan});
        gc_roots_add(heap, &list, 1, 0);
        gc_roots_add(heap, &items, 1, 0);
        wait_scanned();
        _exit(0);
    }
    waitpid(pid, &status, WUNTRACED);
    links all;
    memset(&all, 0, sizeof all);
    all.dac = gc_dac_open_process(pid, how);
    ok(gc_dac_heaps(all.dac, see_link_heap, &all), "a heap: %s", gc_dac_message(all.dac));
    ok(!gc_dac_roots(all.dac, &all.heap, see_scanned, &all), "of its roots some may be unknown");
    has(gc_dac_message(all.dac), "scan_roots", "as the message says");
    is(all.uncertain, 2 + 2, "slots that were reported, with what they hold now, and a stack's as far as it is in use");
    ok(gc_dac_objects(all.dac, &all.heap, see_links, &all), "its objects: %s", gc_dac_message(all.dac));
    is(all.weak, 3, "weak slots are known as such: two of an array, a key of an ephemeron");
    is(all.strong, 1, "the ephemeron's value is none of them");
    is(all.keeping, 1, "it alone counts as a reference, which is not guessed");
    gc_dac_close(all.dac);
    stop(pid);
}

/* Stacks: a native one that is scanned, a fiber's that was left, and compiled code's records. */

typedef struct stacks {
    gc_dac *dac;
    gc_dac_heap heap;
    gc_dac_thread thread;
    uint64_t on_stack, in_fiber, in_code;
    unsigned uncertain, fiber_frames, native_frames;
    uint64_t pc;
} stacks;

static void __attribute__((noinline)) wait_in_stacks(void) {
    void *volatile on_stack = new_node(77);
    node *in_fiber = new_node(88);
    static gc__dac_code_frame record;
    record.pc = 0x1234;
    record.registers[3] = (uintptr_t)new_node(99);
    record.known = 1u << 3;
    gc_stack *fiber = gc_stack_create(heap, NULL);
    gc_stack_switch(gc, fiber);
    GC_ROOTS(gc, in_fiber);
    gc_stack_switch(gc, NULL);
    gc_thread_set_conservative(gc, true);
    gc->code = (struct gc_code_frame *)(void *)&record;
    raise(SIGSTOP);
    (void)on_stack;
}

static bool see_stack_root(void *context, const gc_dac_root *root) {
    stacks *all = context;
    gc_dac_object object;
    if (!gc_dac_object_at(all->dac, root->reference, &object) || object.bytes < sizeof(node)) return true;
    uint64_t value = ((const node *)(const void *)object.contents)->value;
    if (root->kind == GC_DAC_ROOT_STACK && value == 77) all->on_stack++;
    if (root->kind == GC_DAC_ROOT_FRAME && value == 88) all->in_fiber++;
    if (root->kind == GC_DAC_ROOT_COMPILED && value == 99) all->in_code++;
    all->uncertain += !root->certain;
    return true;
}
static bool see_stack_frame(void *context, const gc_dac_frame *frame) {
    stacks *all = context;
    all->native_frames += frame->kind == GC_DAC_FRAME_NATIVE;
    all->fiber_frames += frame->stack != 0;
    if (frame->kind == GC_DAC_FRAME_COMPILED) all->pc = frame->pc;
    return true;
}
static bool see_stack_thread(void *context, const gc_dac_thread *thread) {
    ((stacks *)context)->thread = *thread;
    return true;
}
static bool see_stack_heap(void *context, const gc_dac_heap *each) {
    ((stacks *)context)->heap = *each;
    return true;
}

static void test_stacks(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        begin(NULL);
        wait_in_stacks();
        _exit(0);
    }
    waitpid(pid, &status, WUNTRACED);
    stacks all;
    memset(&all, 0, sizeof all);
    all.dac = gc_dac_open_process(pid, how);
    ok(gc_dac_heaps(all.dac, see_stack_heap, &all), "a heap: %s", gc_dac_message(all.dac));
    is(gc_dac_roots(all.dac, &all.heap, see_stack_root, &all), how != 0, "its roots: %s", gc_dac_message(all.dac));
    if (how) ok(all.on_stack, "a variable on the native stack");
    is(all.in_fiber, 1, "one in a frame of a fiber that was left");
    is(all.in_code, 1, "one in a register of compiled code");
    ok(all.uncertain >= 2, "two of which are not certain");
    gc_dac_threads(all.dac, &all.heap, see_stack_thread, &all);
    ok(gc_dac_frames(all.dac, &all.heap, &all.thread, see_stack_frame, &all), "its frames: %s",
       gc_dac_message(all.dac));
    is(all.pc, 0x1234, "compiled code by its pc");
    is(all.native_frames, how != 0, "the native stack");
    is(all.fiber_frames, 0, "the fiber's frames are not the thread's");
    ok(gc_dac_frames(all.dac, &all.heap, NULL, see_stack_frame, &all), "but a stack's: %s", gc_dac_message(all.dac));
    is(all.fiber_frames, 1, "of which there is one");
    gc_dac_close(all.dac);
    stop(pid);
}

/* What a collection scans of stacks beyond that, and slots that it takes for conservative. */

static uintptr_t guesses[4], left_words[64];

static void __attribute__((noinline)) wait_in_odd_roots(void) {
    node *mine = new_node(1);
    static gc__dac_code_frame record;
    gc_roots_add(heap, guesses, 4, GC_SLOT_CONSERVATIVE);
    guesses[0] = (uintptr_t)mine, guesses[1] = (uintptr_t)mine + 12, guesses[2] = (uintptr_t)mine + 200;
    GC_ROOTS_WITH(gc, GC_SLOT_CONSERVATIVE, mine);
    gc_stack *left = gc_stack_create(heap, left_words + 64), *entered = gc_stack_create(heap, gc__record(gc)->stack_base);
    left->conservative = true;
    left->stack_pointer = (char *)(left_words + 32);
    left->registers[1] = (uintptr_t)mine;
    left_words[40] = (uintptr_t)mine;
    record.registers[4] = (uintptr_t)(left_words + 8);
    left_words[10] = (uintptr_t)mine;
    left->code = (struct gc_code_frame *)(void *)&record;
    entered->conservative = true;
    gc_stack_switch(gc, entered);
    raise(SIGSTOP);
}

typedef struct odd {
    gc_dac_heap heap;
    gc_dac_thread thread;
    unsigned globals, sure, frames, registers, left, compiled;
} odd;
static bool see_odd_heap(void *context, const gc_dac_heap *each) { return ((odd *)context)->heap = *each, true; }
static bool see_odd_thread(void *context, const gc_dac_thread *each) { return ((odd *)context)->thread = *each, true; }
static bool see_odd_root(void *context, const gc_dac_root *root) {
    odd *all = context;
    bool in_words = root->slot >= (uintptr_t)left_words && root->slot < (uintptr_t)(left_words + 64);
    bool guessed = !root->certain && root->interior && root->pinned;
    all->globals += root->kind == GC_DAC_ROOT_GLOBAL && guessed;
    all->frames += root->kind == GC_DAC_ROOT_FRAME && guessed;
    all->sure += root->certain;
    all->registers += root->kind == GC_DAC_ROOT_STACK && !root->slot && !root->thread && guessed;
    all->left += root->kind == GC_DAC_ROOT_STACK && in_words && guessed;
    all->compiled += root->kind == GC_DAC_ROOT_COMPILED && in_words && guessed;
    return true;
}

static void test_odd_roots(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        begin(NULL);
        wait_in_odd_roots();
        _exit(0);
    }
    waitpid(pid, &status, WUNTRACED);
    odd all;
    memset(&all, 0, sizeof all);
    gc_dac *dac = gc_dac_open_process(pid, how);
    ok(gc_dac_heaps(dac, see_odd_heap, &all), "a heap: %s", gc_dac_message(dac));
    is(gc_dac_roots(dac, &all.heap, see_odd_root, &all), how != 0, "its roots: %s", gc_dac_message(dac));
    is(all.globals, 3, "slots that were registered as conservative are guesses, and may point anywhere");
    is(all.frames, 1, "and so are variables");
    is(all.sure, 0, "none of which is certain");
    is(all.registers, 1, "a register of a conservative stack that was left");
    is(all.left, 1, "a word of it");
    is(all.compiled, 2, "words of the outermost compiled frame of a stack that was left, up to that stack's end");
    ok(gc_dac_threads(dac, &all.heap, see_odd_thread, &all), "its threads: %s", gc_dac_message(dac));
    ok(all.thread.conservative, "a thread that has entered a conservative stack");
    gc_dac_close(dac);
    stop(pid);
}

/* Elements of which masks know a word, and a trace function another. */
typedef struct entries {
    gc_array header;
    struct entry {
        void *known, *traced;
    } items[];
} entries;
static void trace_entries(void *object, gc_visitor *visitor) {
    entries *all = object;
    for (size_t i = 0; i < all->header.length; i++) gc_visit(visitor, &all->items[i].traced, 1, 0);
}
static const gc_type entries_type = GC_TYPE_ARRAY_WITH(entries, items, element_refs(known), trace(trace_entries));

static void fill_entries(void) {
    entries *all = gc_new_array(gc, &entries_type, 3);
    items = (vector *)all;
    for (int i = 0; i < 3; i++) {
        gc_store(gc, &all->items[i].known, new_node(1));
        gc_store(gc, &all->items[i].traced, new_node(2));
    }
}
static bool see_entry(void *context, uint64_t reference, bool guessed) {
    links *all = context;
    (void)reference;
    all->strong += !guessed;
    all->uncertain += guessed;
    return true;
}
static bool see_entries(void *context, const gc_dac_object *object) {
    links *all = context;
    if (strcmp(object->type->name, "entries") == 0) gc_dac_references(all->dac, object, see_entry, all);
    return true;
}
static void test_entries(void) {
    pid_t pid = child(fill_entries);
    links all;
    memset(&all, 0, sizeof all);
    all.dac = gc_dac_open_process(pid, how);
    ok(gc_dac_heaps(all.dac, see_link_heap, &all), "a heap: %s", gc_dac_message(all.dac));
    ok(gc_dac_objects(all.dac, &all.heap, see_entries, &all), "its objects: %s", gc_dac_message(all.dac));
    is(all.strong, 3, "words of elements that a mask knows");
    is(all.uncertain, 3, "and guessed ones that it does not");
    gc_dac_close(all.dac);
    stop(pid);
}

/* A process that runs on. */
static void test_moving(void) {
    pid_t pid = child(fill);
    gc_dac *dac = gc_dac_open_process(pid, 0);
    counts all = count(dac);
    check(&all);
    has(all.heap->doubts, "runs on while it is read", "what is doubtful");
    gc_dac_close(dac);
    stop(pid);
}

int main(void) {
    if (!may_open(0)) return ok(true, "# SKIP no process may be read here"), done();
    if (!may_open(GC_DAC_STOP)) how = 0, diag("ptrace is not permitted here: registers are not tested");
    test_live();
    test_first_thread_ended(how);
    test_first_thread_ended(0);
    if (how) test_thread_in_kernel();
    test_roots();
    test_scanned();
    test_stacks();
    test_odd_roots();
    test_entries();
    test_born_old();
    test_moving();
    return done();
}
