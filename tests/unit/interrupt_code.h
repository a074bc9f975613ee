/* Methods whose threads are interrupted, and the list that they work on. After gc_stackmap.h, fixture.h and code.h. */
#pragma once

#include "plain_map.h"

#define LENGTH 5 /* of the list that the methods go through */
#define VALUE ((int32_t)offsetof(node, value))
#define LEFT ((int32_t)offsetof(node, left))

/* What loops read and write besides objects. */
typedef struct control {
    uint64_t stop, rounds;
} control;

static bool plain; /* use the uncompressed tables */

static inline method *finish(method *m) {
    if (!plain) return method_end(m);
    method_protect(m);
    m->code.format = &plain_format, m->code.host = m, m->code.map = m, m->code.map_bytes = sizeof *m;
    if (gc_code_add(&m->code) == GC_OK) return m;
    printf("Bail out! %s\n", gc_last_message());
    exit(2);
}

/* list -> node -> ... -> NULL, with the values 1000, 1001 ... */
static inline node *new_list(gc_thread *thread) {
    node *first = NULL;
    GC_ROOTS(thread, first);
    for (uint64_t i = LENGTH; i-- > 0;) {
        node *next = (node *)gc_new(thread, &node_type);
        next->value = 1000 + i;
        gc_store(thread, &next->left, first);
        first = next;
    }
    return first;
}

static inline bool list_is(const node *list, uint64_t added) {
    uint64_t i = 0;
    for (; list; list = list->left, i++)
        if (list->value != 1000 + i + added) return false;
    return i == LENGTH;
}

static inline void compare_zero(method *m, unsigned reg, unsigned scratch) {
    clear(m, scratch), compare(m, reg, scratch);
}

/* The end of a round: counts it, and loops unless control, in `reg`, says stop. */
static inline void next_round(method *m, unsigned reg, uint32_t loop) {
    load(m, RCX, reg, (int32_t)offsetof(control, rounds));
    add_number(m, RCX, 1);
    store(m, reg, (int32_t)offsetof(control, rounds), RCX);
    load(m, RCX, reg, (int32_t)offsetof(control, stop));
    compare_zero(m, RCX, RDX);
    jump_back(m, IF_ZERO, loop);
}

/* uintptr_t f(node *list, control *): fully interruptible, with neither calls nor polls. In each round it adds up the values
   and increments each. `everywhere`: even in its prolog and epilog. `wrong`: during one instruction the map does not say
   that a register is live. */
static inline method *full_loop_of(bool everywhere, bool wrong) {
    method *m = method_begin("full_loop");
    unsigned list = slot(m, GC_PLACE_REGISTER, RDI, 0), home = slot(m, GC_PLACE_CFA, -64, 0),
             object = slot(m, GC_PLACE_REGISTER, RBX, 0), value = slot(m, GC_PLACE_REGISTER, R12, GC_SLOT_INTERIOR),
             next = slot(m, GC_PLACE_REGISTER, R8, 0), pushed = slot(m, GC_PLACE_SP, 0, 0),
             popped = slot(m, GC_PLACE_REGISTER, R9, 0),
             inner_value = slot(m, GC_PLACE_REGISTER, R10, GC_SLOT_INTERIOR);
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
    pop(m, R9), change(m, pushed, false), change(m, popped, !wrong);
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

static inline method *full_loop(bool everywhere) { return full_loop_of(everywhere, false); }

static inline uint64_t full_sum(uint64_t rounds) { /* of values 1000 + i + k in round k */
    return LENGTH * (rounds * 1000 + rounds * (rounds - 1) / 2) + rounds * (LENGTH * (LENGTH - 1) / 2);
}

/* uintptr_t f(node *, control *): fully interruptible rounds that do nothing. */
static inline method *empty_loop(void) {
    method *m = method_begin("empty_loop");
    range_begin(m);
    uint32_t loop = m->at;
    next_round(m, RSI, loop), ret(m);
    range_end(m);
    return finish(m);
}

/* Leaves, partially interruptible: the address of an object's value; the object with that address; the object's successor. */
static method *value_leaf, *both_leaf, *next_leaf;

static inline void leaves_create(void) {
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

static inline void leaves_free(void) { method_free(value_leaf), method_free(both_leaf), method_free(next_leaf); }

/* The same as full_loop, partially interruptible: objects are in preserved registers, and leaves are called. Each value is
   added twice, once after it was incremented. */
static inline method *partial_loop(void) {
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

static inline uint64_t partial_sum(uint64_t rounds) { return 2 * full_sum(rounds) + rounds * LENGTH; }
