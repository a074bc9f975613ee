/* Stopping threads in compiled code: at every instruction and at random ones, by the signal and by replaced return addresses,
   with every object moved each time. With --count=N, a thread is stopped N times in each loop. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include "../fixture.h"
#include "code.h"
#include "plain_map.h"
#include "step_code.h"

#include <pthread.h>
#include <setjmp.h>

#define LENGTH 5 /* of the list that the methods go through */
#define VALUE ((int32_t)offsetof(node, value))
#define LEFT ((int32_t)offsetof(node, left))
#define RIGHT ((int32_t)offsetof(node, right))

/* What loops read and write besides objects. */
typedef struct control {
    uint64_t stop, rounds;
} control;

static bool plain; /* use the uncompressed tables */

static method *finish(method *m) {
    if (!plain) return method_end(m);
    method_protect(m);
    m->code.format = &plain_format, m->code.host = m, m->code.map = m, m->code.map_bytes = sizeof *m;
    if (gc_code_add(&m->code) == GC_OK) return m;
    printf("Bail out! %s\n", gc_last_message());
    exit(2);
}

/* list -> node -> ... -> NULL, with the values 1000, 1001 ... */
static node *new_list(void) {
    node *first = NULL;
    GC_ROOTS(gc, first);
    for (uint64_t i = LENGTH; i-- > 0;) {
        node *next = new_node(1000 + i);
        gc_store(gc, &next->left, first);
        first = next;
    }
    return first;
}

static bool list_is(const node *list, uint64_t added) {
    uint64_t i = 0;
    for (; list; list = list->left, i++)
        if (list->value != 1000 + i + added) return false;
    return i == LENGTH;
}

static void compare_zero(method *m, unsigned reg, unsigned scratch) { clear(m, scratch), compare(m, reg, scratch); }

/* The end of a round: counts it, and loops unless control, in `reg`, says stop. */
static void next_round(method *m, unsigned reg, uint32_t loop) {
    load(m, RCX, reg, (int32_t)offsetof(control, rounds));
    add_number(m, RCX, 1);
    store(m, reg, (int32_t)offsetof(control, rounds), RCX);
    load(m, RCX, reg, (int32_t)offsetof(control, stop));
    compare_zero(m, RCX, RDX);
    jump_back(m, IF_ZERO, loop);
}

/* uintptr_t f(node *list, control *): fully interruptible, with neither calls nor polls. In each round it adds up the values
   and increments each. `everywhere`: even in its prolog and epilog. */
static method *full_loop(bool everywhere) {
    method *m = method_begin("full_loop");
    unsigned list = slot(m, GC_PLACE_REGISTER, RDI, 0), home = slot(m, GC_PLACE_CFA, -64, 0),
             object = slot(m, GC_PLACE_REGISTER, RBX, 0), value = slot(m, GC_PLACE_REGISTER, R12, GC_SLOT_INTERIOR),
             next = slot(m, GC_PLACE_REGISTER, R8, 0), pushed = slot(m, GC_PLACE_SP, 0, 0),
             popped = slot(m, GC_PLACE_REGISTER, R9, 0), inner_value = slot(m, GC_PLACE_REGISTER, R10, GC_SLOT_INTERIOR);
    if (everywhere) range_begin(m), change(m, list, true);
    enter(m), save(m, RBX), save(m, R12), save(m, R13), save(m, R14), allocate(m, 16);
    prolog_end(m);
    if (!everywhere) range_begin(m), change(m, list, true);
    store(m, RBP, -48, RDI), change(m, home, true), change(m, list, false);
    move(m, R13, RSI), clear(m, R14);
    uint32_t loop = m->at;
    load(m, R8, RBP, -48), change(m, next, true);
    uint32_t inner = m->at;
    move(m, RBX, R8), change(m, object, true);
    address(m, R12, RBX, VALUE), change(m, value, true);
    address(m, R10, RBX, VALUE), change(m, inner_value, true);
    push(m, R8), change(m, pushed, true);
    clear(m, R8), change(m, next, false);
    load(m, RAX, R12, 0), add(m, R14, RAX), add_number(m, RAX, 1);
    store(m, R10, 0, RAX), change(m, inner_value, false);
    pop(m, R9), change(m, pushed, false), change(m, popped, true);
    load(m, R8, R9, LEFT), change(m, next, true), change(m, popped, false);
    compare_zero(m, R8, RAX), jump_back(m, IF_NOT_ZERO, inner);
    next_round(m, R13, loop);
    move(m, RAX, R14);
    if (everywhere) change(m, object, false), change(m, value, false), change(m, next, false), change(m, home, false);
    if (!everywhere) range_end(m);
    allocate(m, -16), restore(m, R14), restore(m, R13), restore(m, R12), restore(m, RBX), restore(m, RBP), ret(m);
    if (everywhere) range_end(m);
    return finish(m);
}

static uint64_t full_sum(uint64_t rounds) { /* of values 1000 + i + k in round k */
    return LENGTH * (rounds * 1000 + rounds * (rounds - 1) / 2) + rounds * (LENGTH * (LENGTH - 1) / 2);
}

/* Leaves, partially interruptible: the address of an object's value; the object with that address; the object's successor. */
static method *value_leaf, *both_leaf, *next_leaf;

static void leaves_create(void) {
    method *m = value_leaf = method_begin("value_leaf");
    m->map.returns[0] = GC_RETURN_INTERIOR;
    save(m, RBX), prolog_end(m);
    move(m, RBX, RDI), address(m, RAX, RBX, VALUE), clear(m, RBX), restore(m, RBX), ret(m);
    finish(m);
    m = both_leaf = method_begin("both_leaf");
    m->map.returns[0] = GC_RETURN_OBJECT, m->map.returns[1] = GC_RETURN_INTERIOR;
    enter(m), save(m, R12), allocate(m, 24), prolog_end(m);
    store(m, RSP, 8, RDI), load(m, RAX, RSP, 8), address(m, RDX, RAX, VALUE), clear(m, R12);
    allocate(m, -24), restore(m, R12), leave(m), ret(m);
    finish(m);
    m = next_leaf = method_begin("next_leaf");
    m->map.returns[0] = GC_RETURN_OBJECT;
    load(m, RAX, RDI, LEFT), ret(m);
    finish(m);
}

static void leaves_free(void) { method_free(value_leaf), method_free(both_leaf), method_free(next_leaf); }

/* The same as full_loop, partially interruptible: objects are in preserved registers, and leaves are called. Each value is
   added twice, once after it was incremented. */
static method *partial_loop(void) {
    method *m = method_begin("partial_loop");
    unsigned object = slot(m, GC_PLACE_REGISTER, RBX, 0), list = slot(m, GC_PLACE_REGISTER, R12, 0);
    save(m, RBX), save(m, R12), save(m, R13), save(m, R14), save(m, RBP), prolog_end(m);
    move(m, R12, RDI), move(m, R13, RSI), clear(m, R14);
    uint32_t loop = m->at;
    move(m, RBX, R12);
    uint32_t inner = m->at;
    move(m, RDI, RBX), call_method(m, value_leaf, BIT(object) | BIT(list));
    load(m, RCX, RAX, 0), add(m, R14, RCX), add_number(m, RCX, 1), store(m, RAX, 0, RCX);
    move(m, RDI, RBX), call_method(m, both_leaf, BIT(list));
    load(m, RCX, RDX, 0), add(m, R14, RCX);
    move(m, RDI, RAX), call_method(m, next_leaf, BIT(list));
    move(m, RBX, RAX), compare_zero(m, RBX, RCX), jump_back(m, IF_NOT_ZERO, inner);
    next_round(m, R13, loop);
    move(m, RAX, R14), restore(m, RBP), restore(m, R14), restore(m, R13), restore(m, R12), restore(m, RBX), ret(m);
    return finish(m);
}

static uint64_t partial_sum(uint64_t rounds) { return 2 * full_sum(rounds) + rounds * LENGTH; }

/* At every instruction. */

static long stops, replacements;

static void interrupt_here(void *context) {
    uintptr_t pc = gc__os_context_pc(context);
    const gc_code *code = gc_code_find((const void *)pc);
    uint64_t before = heap->collection.number;
    const uintptr_t *slot = gc__my_interruptee.slot;
    gc__code_interrupted(context);
    if (code && heap->collection.number != before) stops++;
    if (gc__my_interruptee.slot && gc__my_interruptee.slot != slot) replacements++;
    if (!code && (heap->collection.number != before || gc__my_interruptee.slot != slot)) diag("stopped at %p", (void *)pc), abort();
}

/* Collections that did not move the whole list. */
static unsigned left_in_place, collections;
static void count_moves(void *host, const gc_collection *collection) {
    (void)host;
    collections++;
    left_in_place += collection->moved_bytes < LENGTH * sizeof(node);
}

static void step(method *m, uint64_t sum, const char *name, long stops_wanted, long replacements_wanted) {
    node *list = new_list(), *same = list;
    GC_ROOTS(gc, list);
    control control = {1, 0};
    uintptr_t arguments[4] = {(uintptr_t)list, (uintptr_t)&control};
    stops = replacements = 0, left_in_place = collections = 0;
    is(gc_thread_set_interruptible(gc, true), GC_OK, "%s: interruptible", name);
    is(step_through(gc, m->start, arguments, interrupt_here), sum, "%s: the sum is right", name);
    is(gc_thread_set_interruptible(gc, false), GC_OK, "%s: not interruptible", name);
    ok(list_is(list, 1), "%s: every value was incremented", name);
    ok(list != same && !gc__my_interruptee.slot && !gc->code, "%s: objects have moved, and no frame is left", name);
    is(stops, stops_wanted, "%s: of %ld steps it was stopped at all that are interruptible", name, step_count);
    is(replacements, replacements_wanted, "%s: return addresses were replaced in each call of compiled code", name);
    is(collections, stops_wanted + replacements_wanted, "%s: each of them led to a collection", name);
    is(left_in_place, 0, "%s: objects moved in each", name);
}

static void every_instruction(void) {
    leaves_create();
    method *body = full_loop(false), *everywhere = full_loop(true), *partial = partial_loop();
    step(body, full_sum(1), "full", 82, 0);
    step(everywhere, full_sum(1), "full, everywhere", 96, 0);
    step(partial, partial_sum(1), "partial", 0, 3 * LENGTH);
    method_free(body), method_free(everywhere), method_free(partial);
    leaves_free();
}

/* At random instructions: a second thread collects all the time. */

static uint64_t count_wanted = 300;
static control loop_control;

static void note_offset(void *host, const gc_collection *collection) {
    count_moves(host, collection);
    const gc_code_frame *frame = gc->code;
    if (frame && frame->kind == GC_FRAME_INTERRUPTED) stops++;
    if (frame && frame->kind == GC_FRAME_CALLER && frame->results) replacements++;
}

static void *collect_always(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < count_wanted; i++) compact();
    __atomic_store_n(&loop_control.stop, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void loop(method *m, uint64_t (*sum)(uint64_t rounds), const char *name) {
    node *list = new_list();
    GC_ROOTS(gc, list);
    uintptr_t arguments[2] = {(uintptr_t)list, (uintptr_t)&loop_control};
    pthread_t collector;
    stops = replacements = 0, left_in_place = collections = 0;
    loop_control.stop = loop_control.rounds = 0;
    gc_thread_set_interruptible(gc, true);
    pthread_create(&collector, NULL, collect_always, NULL);
    uint64_t got = gc_code_call(gc, m->start, arguments, 2);
    gc_thread_set_mode(gc, GC_MODE_PREEMPTIVE);
    pthread_join(collector, NULL);
    gc_thread_set_mode(gc, GC_MODE_COOPERATIVE);
    gc_thread_set_interruptible(gc, false);
    is(got, sum(loop_control.rounds), "%s: the sum of %llu rounds is right", name, (unsigned long long)loop_control.rounds);
    ok(list_is(list, loop_control.rounds), "%s: every value was incremented as often", name);
    ok(collections >= count_wanted && left_in_place == 0, "%s: objects moved in each of %u collections", name, collections);
    diag("%s: %ld stops at instructions, %ld at returns", name, stops, replacements);
    ok(stops + replacements >= (long)count_wanted * 9 / 10, "%s: compiled code was stopped", name);
}

static void random_instructions(void) {
    leaves_create();
    method *body = full_loop(false), *everywhere = full_loop(true), *partial = partial_loop();
    loop(body, full_sum, "full");
    loop(everywhere, full_sum, "full, everywhere");
    loop(partial, partial_sum, "partial");
    method_free(body), method_free(everywhere), method_free(partial);
    leaves_free();
}

int main(int count, char **arguments) {
    if (count > 1 && strncmp(arguments[1], "--count=", 8) == 0) count_wanted = strtoull(arguments[1] + 8, NULL, 10);
    gc_options stress = {.stress = GC_STRESS_SAFEPOINT, .non_generational = true, .collection_end = count_moves},
               quarantine = {.stress = GC_STRESS_NTH, .stress_interval = 1u << 30, .collection_end = note_offset};
    for (int i = 0; i < 2; i++) {
        plain = i != 0;
        run(every_instruction, stress);
    }
    run(random_instructions, quarantine);
    return done();
}
